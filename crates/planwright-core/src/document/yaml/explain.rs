//! Explains syntax errors of YAML: the error, the open structure at that place, and a fix for the most common mistake.

use granit_parser::{ErrorKind, ScanError};

use super::{EVENT_DEPTH, YamlReader};
use crate::diagnostic::{Diagnostic, Replacement, push_bounded};
use crate::document::gap::{self, GapToken};
use crate::document::rules;
use crate::text::Span;

impl YamlReader<'_> {
    /// Reports the error that stopped the parser.
    pub(super) fn syntax_error(&mut self, error: &ScanError) {
        self.is_cut = true;
        let at = self.base + error.marker().byte_offset().unwrap_or(0);
        let at = at.min(self.text.len());
        let width = self.text[at..].chars().next().map_or(0, char::len_utf8);
        let span = Span::new(at, at + width);
        if *error.kind() == ErrorKind::RecursionLimitExceeded {
            let message = format!("nested more than {EVENT_DEPTH} levels deep: the rest is not read");
            return self.report(&rules::TOO_DEEP, span, message);
        }
        let (message, help) = explain(error.kind());
        let mut diagnostic = Diagnostic::new(&rules::YAML_SYNTAX, span, message);
        if !help.is_empty() {
            diagnostic = diagnostic.with_help(help);
        }
        if let Some((opened, what)) = self.opened_before(at) {
            diagnostic = diagnostic.with_related(opened, what);
        }
        if *error.kind() == ErrorKind::MappingValueNotAllowed
            && let Some(fix) = self.quoting_fix(at)
        {
            diagnostic = diagnostic.with_safe_fix("put the text in quotes", vec![fix]);
        }
        if let Some(tab) = self.indenting_tab(at) {
            let message = "a tab where only spaces may indent";
            diagnostic = Diagnostic::new(&rules::YAML_SYNTAX, tab, message).with_help("indent with spaces");
        }
        push_bounded(&mut self.diagnostics, || diagnostic);
    }

    /// Returns a fix for `key: text: more text`, the most common error: the value in quotes.
    fn quoting_fix(&self, at: usize) -> Option<Replacement> {
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.text[start..].lines().next()?;
        let value_at = line.find(": ")? + 2;
        let value = line.get(value_at..)?.trim_end();
        // With quotes, comments or brackets in the value, its end is uncertain.
        let is_plain = !value.contains(['"', '\'', '\\', '#', '[', '{', '&', '*', '|', '>']) && value.contains(": ");
        let span = Span::new(start + value_at, start + value_at + value.len());
        (is_plain && start + value_at < at).then(|| Replacement::new(span, format!("\"{value}\"")))
    }

    /// Returns a tab that indents the line of an error or the next one: the parser fails before it reports the tab.
    fn indenting_tab(&self, at: usize) -> Option<Span> {
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let mut line_start = start;
        for line in self.text[start..].split_inclusive('\n').take(2) {
            let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
            if let Some(tab) = line[..indent].find('\t').filter(|_| !line.trim().is_empty()) {
                return Some(Span::new(line_start + tab, line_start + tab + 1));
            }
            line_start += line.len();
        }
        None
    }

    /// Returns the open quote or bracket at the place of an error, if known.
    fn opened_before(&self, at: usize) -> Option<(Span, &'static str)> {
        let gap = Span::new(self.last_end, at);
        let mut brackets: Vec<usize> = Vec::new();
        let mut quote = None;
        for (token, at) in gap::tokens(self.text, gap) {
            match token {
                GapToken::Open => brackets.push(at),
                GapToken::Close => {
                    brackets.pop();
                }
                GapToken::UnclosedQuote => quote = Some(at),
                _ => {}
            }
        }
        if let Some(quote) = quote {
            return Some((Span::new(quote, quote + 1), "this quote is not closed before that"));
        }
        let bracket = brackets.last().copied().or_else(|| self.open_bracket())?;
        (bracket < at).then(|| (Span::new(bracket, bracket + 1), "inside the brackets opened here"))
    }
}

/// Returns a headline and help for a syntax error.
fn explain(kind: &ErrorKind) -> (String, &'static str) {
    let (message, help) = match kind {
        ErrorKind::UnclosedFlowCollection { open } => {
            return (
                format!("`{open}` is never closed"),
                "close it, or put text that begins with a bracket in quotes",
            );
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            return (format!("`{close}` does not close `{open}`"), "");
        }
        ErrorKind::UnexpectedCharacter { character } => {
            return (
                format!("`{}` cannot begin a value", character.escape_debug()),
                "put the text in quotes",
            );
        }
        ErrorKind::UnclosedQuotedScalar => ("the quote is never closed", "close it on its line"),
        ErrorKind::InvalidQuotedScalarIndent => (
            "the text in quotes continues at the left margin",
            "close the quote, or indent the lines that follow",
        ),
        ErrorKind::MappingValueNotAllowed => (
            "a second `: ` in one value",
            "put the text in quotes, or begin the mapping on a line of its own",
        ),
        ErrorKind::InvalidColonPlacement | ErrorKind::ExpectedFlowSequenceSeparator => (
            "expected `,` or `]`",
            "close the list, or put a comma between its entries",
        ),
        ErrorKind::ExpectedFlowMappingSeparator => (
            "expected `,` or `}`",
            "close the mapping, or put a comma between its members",
        ),
        ErrorKind::SimpleKeyExpected => ("expected `:` after the key", "write `key: value`"),
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation => (
            "the line fits no mapping above it",
            "indent it exactly like the keys it belongs to",
        ),
        ErrorKind::ExpectedBlockSequenceEntry => (
            "expected `- `: the line fits no list above it",
            "begin it with a dash, or indent it like the keys it belongs to",
        ),
        ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation | ErrorKind::TabNotAllowed => {
            ("a tab where only spaces may indent", "indent with spaces")
        }
        ErrorKind::MisplacedFlowCollectionEnd => (
            "a closing bracket without an opening one",
            "remove it, or put the text in quotes",
        ),
        ErrorKind::InvalidTrailingDoubleQuotedScalar | ErrorKind::InvalidTrailingSingleQuotedScalar => (
            "text after the closing quote",
            "put the whole text in quotes, and quotes inside it as `''` or `\\\"`",
        ),
        ErrorKind::UnknownQuotedScalarEscape => (
            "not an escape YAML knows",
            "write a backslash as \\\\, or use single quotes",
        ),
        other => return (other.to_string(), ""),
    };
    (message.to_owned(), help)
}
