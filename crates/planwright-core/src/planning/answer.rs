//! Finds the parts of a planner's answer that may be a plan. The dialect decides whether a candidate is a plan.
//!
//! ```
//! use planwright_core::planning::answer::candidates;
//!
//! let answer = "Perhaps:\n~~~\n{\"tasks\": []}\n~~~\nThis is better:\n~~~\n{\"tasks\": [1]}\n~~~\n";
//! let found = candidates(answer);
//! assert_eq!(found[0].text.trim(), "{\"tasks\": [1]}");
//! assert!(found[0].reasoning.ends_with("This is better:"));
//! ```

use crate::convert::owned;
use crate::document::prose::{around, fences, objects, yaml_blocks};
use crate::document::{DocumentFormat, NodeKind, NodeRef, json, write, yaml};
use crate::text::{SourceText, Span};

pub use crate::outline::MAX_ANSWER_BYTES;

/// How many parts of an answer are examined.
const MAX_CANDIDATES: usize = 24;

/// The keys with which a plan is next to its reasons.
const PLAN_KEYS: [&str; 2] = ["newPlan", "plan"];

/// The keys with which programs that ask models wrap the whole answer.
const WRAPPING_KEYS: [&str; 6] = ["result", "response", "output", "text", "content", "message"];

/// How many wrappers around an answer are removed, and their deepest nesting.
const MAX_WRAPPINGS: usize = 3;
const MAX_DEPTH: usize = 5;

/// A part of an answer that may be a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerCandidate {
    /// The part.
    pub text: String,
    /// The text around it.
    pub reasoning: String,
    /// The planner's own summary of its changes, if it is separate.
    pub changes: Option<String>,
}

/// Returns the parts of an answer that may be a plan, the most probable first. The last of several is the most probable, because planners
/// think aloud.
pub fn candidates(answer: &str) -> Vec<AnswerCandidate> {
    let mut found = Vec::new();
    look_through(answer, MAX_WRAPPINGS, &mut found);
    found.truncate(MAX_CANDIDATES);
    found
}

fn look_through(answer: &str, n_wrappings: usize, found: &mut Vec<AnswerCandidate>) {
    let fences = fences(answer);
    let whole = answer.trim();
    // A fence inside a text that is data as a whole belongs to one of its strings.
    if !fences.is_empty() && is_sound_yaml(whole) {
        add(found, whole, "", n_wrappings);
    }
    for fence in fences.iter().take(MAX_CANDIDATES).rev() {
        let body = fence.lines_of(answer);
        add(found, &body, &around(answer, fence.whole), n_wrappings);
    }
    if begins_as_data(whole) {
        add(found, whole, "", n_wrappings);
    }
    for object in outer_objects(answer).into_iter().rev() {
        add(found, object, &answer.replacen(object, "", 1), n_wrappings);
    }
    if let Some(lines) = yaml_lines(answer) {
        let body = answer.get(lines.range()).unwrap_or("");
        add(found, body, &around(answer, lines), n_wrappings);
    }
    if found.is_empty() && !whole.is_empty() {
        add(found, whole, "", 0);
    }
}

fn add(found: &mut Vec<AnswerCandidate>, text: &str, around: &str, n_wrappings: usize) {
    let is_known = |known: &AnswerCandidate| known.text.trim() == text.trim();
    if text.trim().is_empty() || found.len() >= MAX_CANDIDATES || found.iter().any(is_known) {
        return;
    }
    if let (Some(inner), Some(n_left)) = (wrapped(text), n_wrappings.checked_sub(1)) {
        look_through(&inner, n_left, found);
    }
    let own = AnswerCandidate {
        text: text.to_owned(),
        reasoning: around.trim().to_owned(),
        changes: None,
    };
    // The content is more probable than its wrapper.
    found.extend(enclosed(text, around));
    found.push(own);
}

/// Returns the plan inside an object that also has its reasons.
fn enclosed(text: &str, around: &str) -> Option<AnswerCandidate> {
    let source = SourceText::new(text);
    let parsed = match text.trim_start().starts_with('{') {
        true => json::parse(&source),
        false if begins_as_data(text.trim_start()) => yaml::parse(&source),
        false => return None,
    };
    let root = parsed.document.root()?;
    let plan = PLAN_KEYS.iter().find_map(|key| root.get(key))?.resolved();
    let said = |key: &str| {
        let value = root.get(key)?;
        Some(words(value)).filter(|words| !words.trim().is_empty())
    };
    let text = match plan.kind() {
        NodeKind::String => plan.value().into_owned(),
        NodeKind::Object => match parsed.document.format() {
            DocumentFormat::Json | DocumentFormat::Own(_) => plan.slice().to_owned(),
            DocumentFormat::Yaml => write::yaml(&owned(plan, &mut 0)),
        },
        _ => return None,
    };
    Some(AnswerCandidate {
        text,
        reasoning: said("reasoning").unwrap_or_else(|| around.trim().to_owned()),
        changes: said("changes"),
    })
}

/// Returns the answer in a program's wrapper object, if it may contain a plan.
fn wrapped(text: &str) -> Option<String> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let parsed = json::parse(&SourceText::new(text));
    let inner = unwrapped(parsed.document.root()?, MAX_DEPTH)?;
    let has_data = inner.contains('{') || !fences(&inner).is_empty() || yaml_lines(&inner).is_some();
    has_data.then_some(inner)
}

/// Returns the text in a value: its own, that of the last element, or that of one of the wrapping keys.
fn unwrapped(value: NodeRef<'_>, depth: usize) -> Option<String> {
    let value = value.resolved();
    match value.kind() {
        NodeKind::String => Some(value.value().into_owned()),
        _ if depth == 0 => None,
        NodeKind::Array => unwrapped(value.elements().last()?, depth - 1),
        NodeKind::Object => {
            let mut values = WRAPPING_KEYS.iter().filter_map(|key| value.get(key));
            values.find_map(|value| unwrapped(value, depth - 1))
        }
        _ => None,
    }
}

/// Returns a text, or a list of texts one to a line.
fn words(value: NodeRef<'_>) -> String {
    let value = value.resolved();
    match value.kind() {
        NodeKind::String => value.value().into_owned(),
        NodeKind::Array => {
            let lines = value.elements().map(|element| format!("- {}\n", element.value()));
            lines.collect::<String>().trim_end().to_owned()
        }
        _ => String::new(),
    }
}

/// Returns whether a text starts like JSON, YAML or Markdown with frontmatter.
fn begins_as_data(text: &str) -> bool {
    let first = text.lines().next().unwrap_or("");
    text.starts_with(['{', '[']) || first.trim_end() == "---" || yaml::is_member_line(first)
}

/// Returns whether a text is YAML from its first line to its last, with keys at the root.
pub(super) fn is_sound_yaml(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    if !lines.next().is_some_and(yaml::is_member_line) {
        return false;
    }
    let parsed = yaml::parse(&SourceText::new(text));
    let is_object = parsed
        .document
        .root()
        .is_some_and(|root| root.kind() == NodeKind::Object);
    is_object && parsed.diagnostics.is_empty()
}

/// Returns the outermost objects in braces; the last may not be closed.
fn outer_objects(answer: &str) -> Vec<&str> {
    let mut is_over = false;
    let outer = objects(answer).take_while(|object| !std::mem::replace(&mut is_over, !object.is_closed));
    outer.map(|object| object.text).take(MAX_CANDIDATES).collect()
}

/// Returns the first lines that look like YAML.
fn yaml_lines(answer: &str) -> Option<Span> {
    let blocks = yaml_blocks(answer, Span::new(0, answer.len()), &[]);
    blocks.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(answer: &str) -> (String, String) {
        let found = candidates(answer).into_iter().next().expect("a candidate");
        (found.text.trim().to_owned(), found.reasoning)
    }

    #[test]
    fn plans_are_found_anywhere_in_an_answer() {
        for (answer, text, reasoning) in [
            ("{\"a\": 1}", "{\"a\": 1}", ""),
            ("Why.\n```json\n{\"a\": 1}\n```\nEnd.", "{\"a\": 1}", "Why.\n\nEnd."),
            ("Why {that}.\n~~~\na: 1\nb: 2\n~~~", "a: 1\nb: 2", "Why {that}."),
            (
                "First:\n```\n{\"a\": 1}\n```\nBetter:\n```\n{\"a\": 2}\n```",
                "{\"a\": 2}",
                "First:\n```\n{\"a\": 1}\n```\nBetter:",
            ),
            ("````md\n# A\n```json\n{}\n```\n````", "# A\n```json\n{}\n```", ""),
            ("- so\n  ```yaml\n  a:\n    b: 1\n  ```\n", "a:\n  b: 1", "- so"),
            ("Cut off:\n```json\n{\"a\": [1,", "{\"a\": [1,", "Cut off:"),
            ("It is {\"a\": \"}\"} I think", "{\"a\": \"}\"}", "It is  I think"),
            (
                "Here you are.\n\ntask: x\nsteps:\n  - a\n\nGood luck!",
                "task: x\nsteps:\n  - a",
                "Here you are.\n\nGood luck!",
            ),
            ("{\"plan\": {\"a\": 1}, \"reasoning\": \"so\"}", "{\"a\": 1}", "so"),
            (
                "{\"newPlan\": \"a: 1\", \"reasoning\": [\"x\", \"y\"]}",
                "a: 1",
                "- x\n- y",
            ),
            ("plan:\n  a: 1\nreasoning: so\n", "a: 1", "so"),
            (
                "task: x\nsteps:\n  - say: |\n      ```json\n      {\"a\": 1}\n      ```\nend: 1\n",
                "task: x\nsteps:\n  - say: |\n      ```json\n      {\"a\": 1}\n      ```\nend: 1",
                "",
            ),
            (
                "So:\n```yaml\ntask: x\nsay: |\n    ```\n    {\"a\": 1}\n    ```\nend: 1\n```\n",
                "task: x\nsay: |\n    ```\n    {\"a\": 1}\n    ```\nend: 1",
                "So:",
            ),
            ("no plan at all", "no plan at all", ""),
            (
                r#"{"type":"result","result":"Why.\n```json\n{\"a\": 1}\n```\n"}"#,
                "{\"a\": 1}",
                "Why.",
            ),
            (r#"{"response":"{\"a\": 1}"}"#, "{\"a\": 1}", ""),
            (
                "{\"output\":\"{\\\"text\\\": \\\"a: 1\\\\nb: 2\\\"}\"}",
                "a: 1\nb: 2",
                "",
            ),
            (
                r#"{"message":{"content":[{"type":"text","text":"Here {\"plan\": {\"a\": 1}, \"reasoning\": \"so\"}"}]}}"#,
                "{\"a\": 1}",
                "so",
            ),
            (
                "{\"a\": 1, \"text\": \"of the plan\"}",
                "{\"a\": 1, \"text\": \"of the plan\"}",
                "",
            ),
        ] {
            assert_eq!(first(answer), (text.to_owned(), reasoning.to_owned()), "{answer}");
        }
    }

    #[test]
    fn there_are_few_candidates_however_long_an_answer_is() {
        for piece in [
            "{",
            "{}",
            "```\nx\n",
            "a:\n",
            "{\"plan\":{}}",
            "~~~",
            "\"{\\\"",
            "{\"text\":",
        ] {
            let answer = piece.repeat(20_000);
            assert!(candidates(&answer).len() <= MAX_CANDIDATES, "{piece}");
        }
        assert!(candidates(" \n").is_empty());
    }
}
