//! Findings about a text: rule, severity, places, advice, fix. Prints nothing, and does not know plans.

use std::collections::HashSet;

use crate::text::{SourceText, Span};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; never fails a check.
    Note,
    /// Probably a mistake; fails only with `--deny warnings`.
    Warning,
    /// The plan breaks a rule of its dialect.
    Error,
}

impl Severity {
    /// Returns the word users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A kind of finding. Its id is stable: people put it into configurations and searches.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Kebab-case id, also its anchor in the documentation.
    pub id: &'static str,
    /// The default severity.
    pub severity: Severity,
    /// One sentence: what the rule finds.
    pub summary: &'static str,
    /// Why it matters and what to do.
    pub details: &'static str,
    /// A short example that triggers it.
    pub wrong: &'static str,
    /// The same example, fixed.
    pub right: &'static str,
}

/// Another place that belongs to a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// Its span.
    pub span: Span,
    /// Its relation to the finding.
    pub message: String,
}

/// Whether a fix certainly keeps the author's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safety {
    /// Applied by `--fix`: it drops no words that its finding does not name.
    Safe,
    /// Applied only by `--fix --unsafe`: it may change the meaning of the plan.
    Unsafe,
}

/// A text that replaces a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The replaced span; empty for an insertion.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// A fix that can be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does, in the imperative: "remove the trailing comma".
    pub title: String,
    /// Whether it may be applied without asking.
    pub safety: Safety,
    /// Replacements that do not overlap, in any order.
    pub edits: Vec<Replacement>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which rule found it.
    pub rule: &'static Rule,
    /// Its severity here.
    pub severity: Severity,
    /// Its primary span; none only for findings about a whole file, such as an unreadable one.
    pub span: Option<Span>,
    /// The headline: the error, with names.
    pub message: String,
    /// A few words under the caret; empty if the headline is enough.
    pub label: String,
    /// Other places.
    pub related: Vec<Related>,
    /// The next step for the user; may be empty.
    pub help: String,
    /// The original tool's own code for it, if it has one.
    pub origin: Option<String>,
    /// The missing key, for findings about missing keys.
    pub missing: Option<&'static str>,
    /// A fix, if one is known.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Returns a finding of a rule at a place.
    pub fn new(rule: &'static Rule, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            span: Some(span),
            ..Diagnostic::of_file(rule, message)
        }
    }

    /// Returns a finding about a whole file.
    pub fn of_file(rule: &'static Rule, message: impl Into<String>) -> Self {
        Diagnostic {
            rule,
            severity: rule.severity,
            span: None,
            message: message.into(),
            label: String::new(),
            related: Vec::new(),
            help: String::new(),
            origin: None,
            missing: None,
            fix: None,
        }
    }

    /// Returns it with another severity.
    #[must_use]
    pub fn with_severity(self, severity: Severity) -> Self {
        Diagnostic { severity, ..self }
    }

    /// Returns it without its spans and its fix: for a text that the user does not have.
    #[must_use]
    pub fn without_places(self) -> Self {
        Diagnostic {
            span: None,
            related: Vec::new(),
            fix: None,
            ..self
        }
    }

    /// Returns it with words under the caret.
    #[must_use]
    pub fn with_label(self, label: impl Into<String>) -> Self {
        Diagnostic {
            label: label.into(),
            ..self
        }
    }

    /// Returns it with one more related span.
    #[must_use]
    pub fn with_related(mut self, span: Span, message: impl Into<String>) -> Self {
        self.related.push(Related {
            span,
            message: message.into(),
        });
        self
    }

    /// Returns it with advice.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Diagnostic {
            help: help.into(),
            ..self
        }
    }

    /// Returns it with the original tool's code.
    #[must_use]
    pub fn with_origin(self, origin: impl Into<String>) -> Self {
        Diagnostic {
            origin: Some(origin.into()),
            ..self
        }
    }

    /// Returns it with a fix that keeps the meaning.
    #[must_use]
    pub fn with_safe_fix(self, title: impl Into<String>, edits: Vec<Replacement>) -> Self {
        self.with_fix(title, Safety::Safe, edits)
    }

    /// Returns it with a fix that may change the meaning.
    #[must_use]
    pub fn with_unsafe_fix(self, title: impl Into<String>, edits: Vec<Replacement>) -> Self {
        self.with_fix(title, Safety::Unsafe, edits)
    }

    /// Returns the first word that its fix removes from a text and that neither the new text nor the finding contains. White space,
    /// punctuation and code fence lines are not content. Neither is an invalid value that is replaced.
    pub fn dropped_content<'t>(&self, source: &'t SourceText) -> Option<&'t str> {
        let fix = self.fix.as_ref()?;
        let is_other_value = |edit: &Replacement| Some(edit.span) == self.span && !edit.text.is_empty();
        let removed = fix.edits.iter().filter(|edit| !is_other_value(edit));
        let removed = removed.map(|edit| source.slice(edit.span));
        let mut removed = removed.flat_map(content_words).peekable();
        removed.peek()?;
        let said = [&self.message, &self.label, &self.help, &fix.title];
        // A finding names its subject in backticks.
        let named = said.into_iter().flat_map(|text| text.split('`').skip(1).step_by(2));
        let kept: HashSet<&str> = named
            .chain(fix.edits.iter().map(|edit| edit.text.as_str()))
            .flat_map(content_words)
            .collect();
        removed.find(|word| !kept.contains(word))
    }

    /// Makes its fix unsafe if it would drop content of the text, even if the rule calls it safe.
    pub(crate) fn keep_fix_honest(&mut self, source: &SourceText) {
        let drops = self.dropped_content(source).is_some();
        if let Some(fix) = self.fix.as_mut().filter(|_| drops) {
            fix.safety = Safety::Unsafe;
        }
    }

    fn with_fix(self, title: impl Into<String>, safety: Safety, edits: Vec<Replacement>) -> Self {
        Diagnostic {
            fix: Some(Fix {
                title: title.into(),
                safety,
                edits,
            }),
            ..self
        }
    }
}

impl Replacement {
    /// Returns a replacement of a span.
    pub fn new(span: Span, text: impl Into<String>) -> Self {
        Replacement {
            span,
            text: text.into(),
        }
    }

    /// Returns a removal.
    pub fn delete(span: Span) -> Self {
        Replacement::new(span, "")
    }

    /// Returns an insertion.
    pub fn insert(at: u32, text: impl Into<String>) -> Self {
        Replacement::new(Span::at(at as usize), text)
    }
}

/// Returns the words of a text: runs of characters that are neither white space nor ASCII punctuation. Fence lines have none.
fn content_words(text: &str) -> impl Iterator<Item = &str> {
    let is_content = |c: char| !(c.is_whitespace() || c.is_control() || c.is_ascii_punctuation() || c == '\u{feff}');
    let lines = text.lines().filter(|line| !is_fence_line(line));
    lines
        .flat_map(move |line| line.split(move |c: char| !is_content(c)))
        .filter(|word| !word.is_empty())
}

/// Returns whether a line starts or ends a code fence, with at most the name of a language.
fn is_fence_line(line: &str) -> bool {
    let line = line.trim();
    let mark = if line.starts_with('~') { '~' } else { '`' };
    let language = line.trim_start_matches(mark);
    line.len() >= language.len() + 3 && language.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The limit of findings for reading a text, and for checking its plan.
pub const MAX_FINDINGS: usize = 100_000;

/// A text has more errors than planwright lists.
pub static TOO_MANY_FINDINGS: Rule = Rule {
    id: "too-many-findings",
    severity: Severity::Error,
    summary: "There are more findings than are listed.",
    details: "planwright lists up to 100,000 findings of a kind and leaves the rest out, so that a file with millions of errors stays cheap to check. Fix the first ones and check again.",
    wrong: "{\"goal\": \"x\", \"tasks\": [0, 0, 0, … a million times … ]}",
    right: "{\"goal\": \"x\", \"tasks\": []}",
};

/// Adds a finding to a bounded list. The finding is only built if there is room for it.
pub(crate) fn push_bounded(list: &mut Vec<Diagnostic>, finding: impl FnOnce() -> Diagnostic) {
    match list.len() {
        ..MAX_FINDINGS => list.push(finding()),
        MAX_FINDINGS => list.push(too_many()),
        _ => {}
    }
}

/// Returns the finding that represents all findings beyond the limit.
pub(crate) fn too_many() -> Diagnostic {
    let message = format!("more than {MAX_FINDINGS} findings: the rest are not listed");
    Diagnostic::of_file(&TOO_MANY_FINDINGS, message)
}

/// Sorts findings by span, the most severe first at one span, and drops exact duplicates.
pub fn sort(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| {
        let at = |d: &Diagnostic| d.span.map_or((0, 0), |span| (span.start + 1, span.end));
        at(a)
            .cmp(&at(b))
            .then(b.severity.cmp(&a.severity))
            .then(a.rule.id.cmp(b.rule.id))
            .then(a.message.cmp(&b.message))
    });
    diagnostics.dedup();
}

/// Returns the known word that an unknown one probably means: few letters differ, ignoring case.
pub fn nearest<'w>(written: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    /// Longer words are no typing errors, and are slow to compare.
    const MAX_BYTES: usize = 64;
    if written.len() > MAX_BYTES {
        return None;
    }
    let lower = written.to_lowercase();
    let scored = words
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(&lower, &word.to_lowercase()), word));
    scored
        .filter(|&(distance, word)| distance <= word.len().max(3) / 3)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, word)| word)
}

/// Declares rules as statics, and a list of them all.
macro_rules! rules {
    ($($name:ident = $id:literal, $severity:ident, $summary:literal, $details:literal, $wrong:literal, $right:literal;)*) => {
        $(
            #[doc = $summary]
            pub static $name: $crate::diagnostic::Rule = $crate::diagnostic::Rule {
                id: $id,
                severity: $crate::diagnostic::Severity::$severity,
                summary: $summary,
                details: $details,
                wrong: $wrong,
                right: $right,
            };
        )*
        /// All rules of this file.
        pub static ALL: &[&$crate::diagnostic::Rule] = &[$(&$name),*];
    };
}
pub(crate) use rules;
