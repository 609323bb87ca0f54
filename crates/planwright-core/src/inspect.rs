//! Inspects one text, from its first byte to its last finding: reads, links and checks it. The entrance for every view; has no
//! rule of its own.
//!
//! ```
//! use planwright_core::diagnostic::Severity;
//! use planwright_core::dialect::{Choice, DiskFacts};
//! use planwright_core::inspect::inspect;
//! use planwright_core::text::SourceText;
//!
//! let text = SourceText::new(
//!     r#"{"goal": "Try it", "tasks": [
//!   {"id": "t1", "description": "Read", "depends_on": ["t9"]}
//! ]}"#,
//! );
//! let facts = DiskFacts::default();
//! let inspection = inspect(&text, &Choice::by_content(&facts));
//! assert_eq!(inspection.count(Severity::Error), 1);
//!
//! let found = &inspection.diagnostics[0];
//! assert_eq!(found.rule.id, "unknown-dependency");
//! let place = text.line_index().position(found.span.expect("a place").start);
//! assert_eq!((place.line, place.column), (2, 54));
//! ```

use crate::check;
use crate::diagnostic::{Diagnostic, Rule, Severity, TOO_MANY_FINDINGS, sort};
use crate::dialect::{self, CarrierKind, Choice, DIALECTS, Dialect, DiskFacts, PlanReading, Questions};
use crate::document::{self, Parsed};
use crate::plan::{Links, Plan};
use crate::text::{SourceText, Span};

/// The inspection of one text.
pub struct Inspection {
    /// The text.
    pub source: SourceText,
    /// The dialect it was read in.
    pub dialect: Option<&'static dyn Dialect>,
    /// The format of the text, and the span of its document.
    pub carrier: Option<(CarrierKind, Span)>,
    /// The plan with its edges, as far as it could be read.
    pub plan: Option<LinkedPlan>,
    /// All findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The facts on disk that complete the findings.
    pub questions: Questions,
}

/// A plan, its edges and its dialect.
pub struct LinkedPlan {
    /// The dialect it was read in.
    pub dialect: &'static dyn Dialect,
    /// The plan.
    pub plan: Plan,
    /// Its dependencies, resolved.
    pub links: Links,
}

impl Inspection {
    /// Returns the name of the dialect it was read in.
    pub fn dialect_name(&self) -> Option<&'static str> {
        self.dialect.map(|dialect| dialect.name())
    }

    /// Returns the first syntax error: the text after it may be misread, and is not changed.
    pub fn syntax_error(&self) -> Option<&Diagnostic> {
        let is_syntax = |found: &&Diagnostic| {
            let id = found.rule.id;
            found.severity == Severity::Error
                && id != document::rules::DUPLICATE_KEY.id
                && document::rules::ALL.iter().any(|rule| rule.id == id)
        };
        self.diagnostics.iter().find(is_syntax)
    }

    /// Returns the number of findings of at least this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity >= severity)
            .count()
    }
}

/// Reads and checks a text.
pub fn inspect(source: &SourceText, choice: &Choice<'_>) -> Inspection {
    let reading = dialect::read(source, choice);
    judge(source, reading)
}

/// Like `inspect`, for a plan of one dialect: without a path, and without facts from the disk.
pub fn inspect_as(source: &SourceText, dialect: &'static dyn Dialect) -> Inspection {
    let choice = Choice {
        dialects: &[dialect],
        forced: Some(dialect),
        path: None,
        facts: &DiskFacts::default(),
    };
    inspect(source, &choice)
}

/// Like `inspect`, and returns the document as well. Uses the document if the text was parsed before.
pub(crate) fn inspect_keeping(
    source: &SourceText,
    choice: &Choice<'_>,
    parsed: Option<Parsed>,
) -> (Inspection, Option<Parsed>) {
    let (reading, parsed) = dialect::read_keeping(source, choice, parsed);
    (judge(source, reading), parsed)
}

fn judge(source: &SourceText, reading: PlanReading) -> Inspection {
    let mut diagnostics = reading.diagnostics;
    let plan = reading.plan.zip(reading.dialect).map(|(plan, dialect)| {
        let links = Links::new(&plan);
        let mut found = check::check(&plan, &links);
        if !found.is_empty() {
            diagnostics.append(&mut found);
            sort(&mut diagnostics);
        }
        LinkedPlan { dialect, plan, links }
    });
    for found in &mut diagnostics {
        found.keep_fix_honest(source);
    }
    Inspection {
        source: source.clone(),
        dialect: reading.dialect,
        carrier: reading.carrier,
        plan,
        diagnostics,
        questions: reading.questions,
    }
}

/// Returns every rule that a text can break, in the order of the documentation.
pub fn rules() -> Vec<&'static Rule> {
    let own = DIALECTS.iter().flat_map(|dialect| dialect.rules());
    let shared = check::rules::ALL
        .iter()
        .chain(dialect::rules::ALL)
        .chain(document::rules::ALL);
    shared.chain(own).copied().chain([&TOO_MANY_FINDINGS]).collect()
}
