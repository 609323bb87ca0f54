//! The possible dialects of a text, and what its path and its first bytes show without parsing.

use super::super::{CarrierKind, DIALECTS, Dialect, DialectInput, DiskFacts, Fit};

/// What the caller knows about a text before it is read.
pub struct Choice<'a> {
    /// The dialects to choose from.
    pub dialects: &'a [&'static dyn Dialect],
    /// The dialect to use regardless of the content.
    pub forced: Option<&'static dyn Dialect>,
    /// The path of the text, with `/` as separator.
    pub path: Option<&'a str>,
    /// Facts from the disk.
    pub facts: &'a DiskFacts,
}

impl<'a> Choice<'a> {
    /// Returns the choice among all dialects by the content of the text alone.
    pub fn by_content(facts: &'a DiskFacts) -> Self {
        Choice {
            dialects: DIALECTS,
            forced: None,
            path: None,
            facts,
        }
    }
}

/// The fit from which on a file is a plan at any path.
pub(super) const CERTAIN: Fit = 70;

/// Returns the dialects that use the text's format, each with its fit.
pub(super) fn fits<'c>(
    input: &'c DialectInput<'_>,
    choice: &'c Choice<'_>,
) -> impl Iterator<Item = (Fit, &'static dyn Dialect)> + 'c {
    let dialects = choice.dialects.iter().copied();
    let carried = dialects.filter(|dialect| dialect.carriers().contains(&input.carrier));
    carried.map(|dialect| (dialect.sniff(input), dialect))
}

pub(super) fn best_fit(input: &DialectInput<'_>, choice: &Choice<'_>) -> Fit {
    fits(input, choice).map(|(fit, _)| fit).max().unwrap_or(0)
}

/// Returns the carrier that a path's extension names.
pub(super) fn named(path: Option<&str>) -> Option<CarrierKind> {
    CarrierKind::of_path(path?)
}

/// Returns whether a text is JSON from its first character on. A leading comment is an error in JSON, not prose about it.
pub(super) fn begins_as_json(text: &str) -> bool {
    let body = text.trim_start_matches('\u{feff}').trim_start();
    ["{", "[", "//", "/*"].iter().any(|begin| body.starts_with(begin))
}
