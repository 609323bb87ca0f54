//! The language of templates: `{{name}}` is a value, `{{#name}}…{{/name}}` is kept only if the value exists. Knows names, but not their
//! values.

use super::placeholder::PLACEHOLDERS;
use super::rules::{TEMPLATE_SYNTAX, TEMPLATE_TOO_LARGE, TEMPLATE_UNKNOWN_NAME};
use crate::diagnostic::{Diagnostic, nearest, push_bounded, sort};
use crate::text::{Span, visible};

/// The longest template, in bytes.
pub const MAX_TEMPLATE_BYTES: usize = 64 * 1024;

/// The common start and end of every built-in template: earlier work, general rules, and how to report.
const OPENING: &str = include_str!("templates/opening.md");
const ENDING: &str = include_str!("templates/ending.md");

/// The part for dialects without their own.
const GENERAL: &str = include_str!("templates/general.md");

#[derive(Clone, Debug)]
enum TemplatePart {
    Text(Span),
    /// The value of a placeholder.
    Value(usize),
    /// A section: its placeholder, and the part that ends it.
    Begin {
        placeholder: usize,
        end: usize,
    },
    End,
}

/// The purpose of templates for attempts at tasks.
pub(super) const TASKS: &str = "task";

/// The names that templates for one purpose may use.
#[derive(Clone, Debug)]
pub(crate) struct TemplateNames {
    /// The purpose, in one word.
    pub(crate) purpose: &'static str,
    /// The names, in the order of their values.
    pub(crate) names: Vec<&'static str>,
}

impl TemplateNames {
    fn of_tasks() -> Self {
        TemplateNames {
            purpose: TASKS,
            names: PLACEHOLDERS.iter().map(|placeholder| placeholder.name).collect(),
        }
    }

    fn get(&self, placeholder: usize) -> &'static str {
        self.names.get(placeholder).copied().unwrap_or("")
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| *known == name)
    }
}

/// A parsed template.
#[derive(Clone, Debug)]
pub struct Template {
    text: String,
    parts: Vec<TemplatePart>,
    names: TemplateNames,
}

/// The values of all placeholders, in their order; empty if missing.
pub(super) struct PlaceholderValues(Vec<String>);

impl PlaceholderValues {
    pub(super) fn new(values: impl Iterator<Item = String>) -> Self {
        PlaceholderValues(values.collect())
    }

    fn get(&self, placeholder: usize) -> &str {
        self.0.get(placeholder).map_or("", String::as_str)
    }
}

impl Template {
    /// Parses a template for attempts at tasks; returns all of its errors, with their spans.
    pub fn parse(text: &str) -> Result<Template, Vec<Diagnostic>> {
        Template::parse_with(TemplateNames::of_tasks(), text)
    }

    /// Parses a template that may use these names; returns all of its errors, with their spans.
    pub(crate) fn parse_with(names: TemplateNames, text: &str) -> Result<Template, Vec<Diagnostic>> {
        if text.len() > MAX_TEMPLATE_BYTES {
            let message = format!(
                "the template has {} bytes, and may have {MAX_TEMPLATE_BYTES}",
                text.len()
            );
            return Err(vec![Diagnostic::of_file(&TEMPLATE_TOO_LARGE, message)]);
        }
        let (template, mut findings) = Template::read(names, text);
        sort(&mut findings);
        if findings.is_empty() {
            Ok(template)
        } else {
            Err(findings)
        }
    }

    /// Parses one of planwright's own templates, which a test proves to have no errors.
    pub(crate) fn own(names: TemplateNames, text: &str) -> Template {
        Template::read(names, text).0
    }

    fn read(names: TemplateNames, text: &str) -> (Template, Vec<Diagnostic>) {
        let mut parser = TemplateParser::new(text, &names);
        parser.run();
        let (parts, findings) = (parser.parts, parser.findings);
        let text = text.to_owned();
        (Template { text, parts, names }, findings)
    }

    /// Returns the built-in template, with the part of a dialect or the general one.
    pub fn built_in(part: Option<&str>) -> Template {
        Template::own(TemplateNames::of_tasks(), &Template::built_in_text(part))
    }

    /// Returns whether it was parsed for this purpose: only then its indexes and the values have the same order.
    pub(crate) fn is_for(&self, purpose: &str) -> bool {
        self.names.purpose == purpose
    }

    /// Returns the text of the built-in template with this part, as a start for one's own.
    pub fn built_in_text(part: Option<&str>) -> String {
        [OPENING, part.unwrap_or(GENERAL), ENDING].concat()
    }

    pub(super) fn uses(&self, placeholder: usize) -> bool {
        let is_it = |part: &TemplatePart| matches!(part, TemplatePart::Value(used) if *used == placeholder);
        self.parts.iter().any(is_it)
    }

    pub(crate) fn uses_name(&self, name: &str) -> bool {
        self.names
            .position(name)
            .is_some_and(|placeholder| self.uses(placeholder))
    }

    pub(super) fn name(&self, placeholder: usize) -> &'static str {
        self.names.get(placeholder)
    }

    pub(super) fn render(&self, values: &PlaceholderValues) -> String {
        let mut out = String::new();
        let mut at = 0;
        while let Some(part) = self.parts.get(at) {
            at += 1;
            match part {
                TemplatePart::Text(span) => out.push_str(self.text.get(span.range()).unwrap_or("")),
                TemplatePart::Value(placeholder) => out.push_str(values.get(*placeholder)),
                TemplatePart::Begin { placeholder, end } if values.get(*placeholder).is_empty() => at = *end,
                TemplatePart::Begin { .. } | TemplatePart::End => {}
            }
        }
        out
    }
}

/// The content of double braces.
#[derive(Clone, Copy, PartialEq)]
enum Tag {
    Value,
    Begin,
    End,
}

struct TemplateParser<'t> {
    text: &'t str,
    names: &'t TemplateNames,
    at: usize,
    parts: Vec<TemplatePart>,
    /// The open sections: the part that starts each, its placeholder, its span.
    open: Vec<(usize, usize, Span)>,
    findings: Vec<Diagnostic>,
}

impl<'t> TemplateParser<'t> {
    fn new(text: &'t str, names: &'t TemplateNames) -> Self {
        TemplateParser {
            text,
            names,
            at: 0,
            parts: Vec::new(),
            open: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn run(&mut self) {
        while let Some(offset) = self.rest(self.at).find("{{") {
            let start = self.at + offset;
            let Some(length) = self.rest(start).find("}}") else {
                self.syntax(Span::new(start, start + 2), "these braces are never closed".to_owned());
                break;
            };
            self.tag(Span::new(start, start + length + 2));
        }
        self.push_text(self.text.len());
        for (_, placeholder, span) in std::mem::take(&mut self.open) {
            let name = self.names.get(placeholder);
            self.syntax(span, format!("the section `{name}` is never closed"));
        }
    }

    fn rest(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or("")
    }

    fn syntax(&mut self, span: Span, message: String) {
        let help = "write {{name}}, or {{#name}} and {{/name}} around a part";
        push_bounded(&mut self.findings, || {
            Diagnostic::new(&TEMPLATE_SYNTAX, span, message).with_help(help)
        });
    }

    fn push_text(&mut self, end: usize) {
        if end > self.at {
            self.parts.push(TemplatePart::Text(Span::new(self.at, end)));
        }
        self.at = end;
    }

    fn tag(&mut self, span: Span) {
        let (start, end) = (span.start as usize, span.end as usize);
        let inner = self.text.get(start + 2..end - 2).unwrap_or("").trim();
        let (tag, name) = match (inner.strip_prefix('#'), inner.strip_prefix('/')) {
            (Some(name), _) => (Tag::Begin, name.trim()),
            (_, Some(name)) => (Tag::End, name.trim()),
            _ => (Tag::Value, inner),
        };
        let whole = if tag == Tag::Value {
            (start, end)
        } else {
            self.own_line(start, end)
        };
        self.push_text(whole.0.max(self.at));
        self.at = whole.1;
        match (self.names.position(name), tag) {
            (None, _) if name.is_empty() => self.syntax(span, "these braces name nothing".to_owned()),
            (None, _) => self.unknown(span, name),
            (Some(placeholder), Tag::Value) => self.parts.push(TemplatePart::Value(placeholder)),
            (Some(placeholder), Tag::Begin) => {
                self.open.push((self.parts.len(), placeholder, span));
                self.parts.push(TemplatePart::Begin { placeholder, end: 0 });
            }
            (Some(placeholder), Tag::End) => self.close(placeholder, span),
        }
    }

    fn close(&mut self, placeholder: usize, span: Span) {
        match self.open.pop() {
            Some((begin, opened, _)) if opened == placeholder => {
                let end = self.parts.len();
                if let Some(TemplatePart::Begin { end: open_end, .. }) = self.parts.get_mut(begin) {
                    *open_end = end;
                }
                self.parts.push(TemplatePart::End);
            }
            Some((begin, opened, at)) => {
                let name = self.names.get(opened);
                self.open.push((begin, opened, at));
                self.syntax(span, format!("this closes another section than the open one, `{name}`"));
            }
            None => self.syntax(span, "this closes a section that is not open".to_owned()),
        }
    }

    /// Extends a tag that is alone on its line to the whole line, so that sections leave no blank lines.
    fn own_line(&self, start: usize, end: usize) -> (usize, usize) {
        let before = self.text.get(self.at..start).unwrap_or("");
        let blank_before = before.len() - before.trim_end_matches([' ', '\t']).len();
        let line_start = start - blank_before;
        let begins_line = line_start == 0 || self.text.as_bytes().get(line_start - 1) == Some(&b'\n');
        let after = self.rest(end).trim_start_matches([' ', '\t']);
        let ends_line = after.strip_prefix('\n').or_else(|| after.strip_prefix("\r\n"));
        match ends_line {
            Some(next) if begins_line => (line_start, self.text.len() - next.len()),
            _ => (start, end),
        }
    }

    fn unknown(&mut self, span: Span, name: &str) {
        let shown: String = name.chars().take(40).collect();
        let nearest = nearest(name, self.names.names.iter().copied());
        push_bounded(&mut self.findings, || {
            let message = format!("there is no placeholder called `{}`", visible(&shown));
            let finding = Diagnostic::new(&TEMPLATE_UNKNOWN_NAME, span, message);
            match nearest {
                Some(name) => finding.with_help(format!("did you mean `{name}`?")),
                None => finding.with_help("docs/prompts.md lists them all"),
            }
        });
    }
}
