//! Decides which syntax errors make the nesting uncertain, and which later findings and fixes to hold back.

use super::recover::is_key_char;
use super::{JsonParser, NodeKind, rules};
use crate::diagnostic::{Diagnostic, Fix, Replacement, Safety, Severity};
use crate::text::Span;

impl JsonParser<'_> {
    /// Makes the fixes after a guess, or on its line, unsafe, because they depend on it. Returns whether there was one, or the text was cut
    /// off.
    pub(super) fn doubt_what_follows_a_guess(&mut self) -> bool {
        let guesses = self.diagnostics.iter().filter(|found| is_guess(found));
        let Some(first) = guesses.filter_map(|found| found.span).map(|span| span.start).min() else {
            return self.is_cut;
        };
        let line = memchr::memrchr(b'\n', &self.bytes[..first as usize]).map_or(0, |newline| newline + 1);
        for found in &mut self.diagnostics {
            let follows = found.span.is_some_and(|span| span.start as usize >= line);
            if let Some(fix) = found.fix.as_mut().filter(|_| follows) {
                fix.safety = Safety::Unsafe;
            }
        }
        true
    }

    /// Reports text after the value; offers to remove it only if that removes nothing of the plan.
    pub(super) fn trailing_text(&mut self) {
        self.skip_space();
        // Other kinds of space are not white space in JSON.
        let rest = self.text[self.at..].trim_end_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() || self.builder.nodes.is_empty() {
            return;
        }
        let span = Span::new(self.at, self.at + rest.len());
        let after_brackets = rest.trim_start_matches(|c: char| matches!(c, '}' | ']') || c.is_whitespace());
        let after_word = after_brackets.trim_start_matches(is_key_char);
        // A surplus bracket closed the value early: its missing part is here.
        let goes_on = after_brackets.starts_with([',', ':', '"']) || after_word.starts_with("\":");
        self.is_cut |= goes_on;
        let was_guessed = self.diagnostics.iter().any(is_guess);
        let diagnostic = Diagnostic::new(&rules::JSON_TRAILING_TEXT, span, "text after the end of the JSON value");
        // After prose the "value" is its first word and the text after it the plan: never remove that.
        let follows_collection = matches!(self.builder.nodes[0].kind(), NodeKind::Object | NodeKind::Array);
        let is_value = rest.starts_with(['{', '[', '}', ']']);
        let cut = vec![Replacement::delete(Span::new(self.last_end, self.at + rest.len()))];
        let title = "remove the text after the JSON value";
        self.diagnostics.push(match () {
            () if goes_on => diagnostic.with_help("a bracket before it closes the value too early"),
            () if is_value || was_guessed || !follows_collection => {
                diagnostic.with_help("a file holds one value: remove what does not belong")
            }
            // Text with brackets or keys in it may be more of a plan.
            () if rest.contains(['{', '[', '}', ']']) || rest.contains("\":") => diagnostic
                .with_help("remove it, unless it belongs to the plan")
                .with_unsafe_fix(title, cut),
            () => diagnostic
                .with_help("remove it: only the JSON value belongs in the file")
                .with_safe_fix(title, cut),
        });
    }
}

/// Returns whether an error makes the nesting uncertain. Errors with a safe fix do not, and neither do errors inside a single value.
fn is_guess(found: &Diagnostic) -> bool {
    let is_of_one_value = [
        &rules::DUPLICATE_KEY,
        &rules::JSON_LITERAL,
        &rules::JSON_NUMBER,
        &rules::JSON_SURROGATE,
        &rules::TOO_DEEP,
    ]
    .contains(&found.rule);
    let has_safe_fix = |fix: &Fix| fix.safety == Safety::Safe;
    found.severity == Severity::Error && !is_of_one_value && !found.fix.as_ref().is_some_and(has_safe_fix)
}
