//! The rules for templates.

use crate::diagnostic::rules;

rules! {
    TEMPLATE_UNKNOWN_NAME = "template-unknown-name", Error,
        "A template uses a placeholder that does not exist.",
        "docs/prompts.md lists all placeholders. An unknown one is an error, so that a slip of the pen does not leave an agent without its criteria.",
        "Criteria: {{criterias}}",
        "Criteria: {{criteria}}";
    TEMPLATE_SYNTAX = "template-syntax", Error,
        "A template's braces do not match.",
        "A placeholder is {{name}}; a section is {{#name}} … {{/name}} and stands in the prompt only where the name has a value. Sections may stand inside each other, but not overlap.",
        "{{#notes}}Notes: {{notes}}",
        "{{#notes}}Notes: {{notes}}{{/notes}}";
    TEMPLATE_TOO_LARGE = "template-too-large", Error,
        "A template is too large.",
        "A template may have up to 64 KiB. What belongs to every task of a project is better kept in the files that its agents read by themselves.",
        "prompt = \"… a whole handbook …\"",
        "Read HANDBOOK.md before you begin.";
}
