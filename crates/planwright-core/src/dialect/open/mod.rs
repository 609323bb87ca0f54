//! From a text to a plan: its format, its dialect, and its wrapping.

mod carrier;
mod choice;
mod conflict;
mod wrapping;

use self::carrier::CarriedDocument;
use self::choice::{CERTAIN, fits};
use self::wrapping::unwrapping;
use super::rules::{AMBIGUOUS_DIALECT, EMPTY_FILE, UNKNOWN_DIALECT};
use super::{Dialect, DialectInput, DiskFacts, Fit, PlanReading};
use crate::diagnostic::{Diagnostic, sort};
use crate::document::rules::{BINARY_FILE, INVALID_UTF8};
use crate::document::{NodeKind, NodeRef, Parsed};
use crate::text::SourceText;
pub use choice::Choice;

/// Reads a text as a plan, in the dialect that matches it best.
pub fn read(source: &SourceText, choice: &Choice<'_>) -> PlanReading {
    read_keeping(source, choice, None).0
}

/// Like `read`, and returns the document as well. Uses the document if the text was parsed before.
pub(crate) fn read_keeping(
    source: &SourceText,
    choice: &Choice<'_>,
    parsed: Option<Parsed>,
) -> (PlanReading, Option<Parsed>) {
    let stop = unreadable(source);
    if !stop.is_empty() {
        let reading = PlanReading {
            diagnostics: stop,
            ..PlanReading::default()
        };
        return (reading, None);
    }
    let opened = match parsed {
        Some(parsed) => CarriedDocument::of(parsed, choice),
        None => CarriedDocument::new(source, choice),
    };
    let reading = read_opened(source, choice, &opened);
    (reading, opened.parsed)
}

fn read_opened(source: &SourceText, choice: &Choice<'_>, opened: &CarriedDocument) -> PlanReading {
    let input = opened.input(source, choice);
    let mut found = opened.syntax_errors();
    found.extend(damage(source));
    let mut reading = match decide(&input, choice, &mut found) {
        Some(dialect) => {
            found.extend(opened.prose_finding(choice, dialect));
            let reading = dialect.read(&input);
            if let (Some(plan), Some(path)) = (&reading.plan, choice.path) {
                found.extend(dialect.check_name(plan, path));
            }
            PlanReading {
                dialect: Some(dialect),
                carrier: reading
                    .carrier
                    .or(Some((opened.carrier, opened.prose.unwrap_or(source.span())))),
                ..reading
            }
        }
        None => PlanReading::default(),
    };
    reading.diagnostics.append(&mut found);
    sort(&mut reading.diagnostics);
    reading
}

/// Returns why a text is not parsed at all.
fn unreadable(source: &SourceText) -> Vec<Diagnostic> {
    match no_text(source) {
        Some(finding) => vec![finding],
        None => conflict::conflicts(source),
    }
}

fn no_text(source: &SourceText) -> Option<Diagnostic> {
    let text = source.as_str();
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let what = if source.is_empty() {
            "the file is empty"
        } else {
            "the file holds nothing but white space"
        };
        return Some(
            Diagnostic::of_file(&EMPTY_FILE, what)
                .with_help("restore it, or write a plan: `planwright schema` shows how"),
        );
    }
    let damage = source.damage()?;
    text.as_bytes().contains(&0).then(|| {
        Diagnostic::of_file(
            &BINARY_FILE,
            format!(
                "this is not text: NUL bytes, and bytes that are not UTF-8 from offset {}",
                damage.byte_offset
            ),
        )
        .with_help("check the path")
    })
}

fn damage(source: &SourceText) -> Option<Diagnostic> {
    let damage = source.damage()?;
    let more = match damage.n_sequences {
        1 => String::new(),
        2 => " (and in one more place)".to_owned(),
        n => format!(" (and in {} more places)", n - 1),
    };
    Some(
        Diagnostic::new(
            &INVALID_UTF8,
            damage.span,
            format!("not UTF-8: bad byte at offset {}{more}", damage.byte_offset),
        )
        .with_help("save the file as UTF-8"),
    )
}

/// Returns whether a text has this heading, at the second level. Searches for the words first: most of a long text does not contain them.
pub(super) fn has_heading(text: &str, title: &str) -> bool {
    memchr::memmem::find_iter(text.as_bytes(), title.as_bytes()).any(|at| {
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[start..].lines().next().unwrap_or("");
        line.strip_prefix("##")
            .is_some_and(|rest| rest.starts_with(' ') && rest.trim() == title)
    })
}

/// Returns the lines between the first line of a text and the next `---`.
pub(super) fn frontmatter_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().skip(1).take_while(|line| line.trim_end() != "---")
}

/// Chooses the dialect: the forced one, otherwise the best fit, with the path as tie-break.
fn decide(input: &DialectInput<'_>, choice: &Choice<'_>, found: &mut Vec<Diagnostic>) -> Option<&'static dyn Dialect> {
    let whole = input.parsed.and_then(|parsed| parsed.document.root());
    let decided = choice.forced.or_else(|| sniff(input, choice, found));
    if let (Some(outer), Some(inner), Some(_)) = (whole, input.root, decided)
        && outer.row() != inner.row()
    {
        found.push(unwrapping(outer, inner));
    }
    decided
}

fn sniff(input: &DialectInput<'_>, choice: &Choice<'_>, found: &mut Vec<Diagnostic>) -> Option<&'static dyn Dialect> {
    let fits: Vec<(Fit, &'static dyn Dialect)> = fits(input, choice).collect();
    let best = fits.iter().map(|&(fit, _)| fit).max().unwrap_or(0);
    let equals = fits.iter().filter(|&&(fit, _)| fit == best);
    let mut equals: Vec<_> = equals.map(|&(_, dialect)| dialect).collect();
    // A path decides between equal fits; it decides alone only if the content shows nothing.
    let at_home = |dialect: &&dyn Dialect| input.path.is_some_and(|path| dialect.lives_at(path));
    if best == 0 || (equals.len() > 1 && equals.iter().any(at_home)) {
        equals.retain(at_home);
    }
    match equals.as_slice() {
        [only] => Some(*only),
        [] => {
            found.push(no_dialect(input, choice));
            None
        }
        several => {
            let names: Vec<_> = several.iter().map(|dialect| format!("`{}`", dialect.name())).collect();
            found.push(
                Diagnostic::of_file(&AMBIGUOUS_DIALECT, format!("this could be {}", names.join(" or ")))
                    .with_help("name one with --dialect"),
            );
            None
        }
    }
}

fn no_dialect(input: &DialectInput<'_>, choice: &Choice<'_>) -> Diagnostic {
    let names: Vec<_> = choice.dialects.iter().map(|dialect| dialect.name()).collect();
    let what = match input.root.map(NodeRef::kind) {
        Some(NodeKind::Object) | None => "this is no plan in a dialect planwright knows".to_owned(),
        Some(NodeKind::String) => "this is text, not a plan".to_owned(),
        Some(_) => format!(
            "this is no plan: the root is {}, not an object",
            input.root.map_or("", NodeRef::describe)
        ),
    };
    let diagnostic = Diagnostic::of_file(&UNKNOWN_DIALECT, what).with_help(format!(
        "known dialects: {}; force one with --dialect",
        names.join(", ")
    ));
    Diagnostic {
        span: input.root.map(super::reader::opening),
        ..diagnostic
    }
}

/// Returns whether a path matches one of these patterns, at any depth.
pub(super) fn fits_place(places: &[&str], path: &str) -> bool {
    places.iter().any(|place| {
        let mut parts = path.rsplit('/');
        place
            .rsplit('/')
            .all(|pattern| parts.next().is_some_and(|part| glob(pattern, part)))
    })
}

/// Returns the dialect of a text that is certainly a plan.
pub fn recognise(source: &SourceText, path: Option<&str>) -> Option<&'static str> {
    let facts = DiskFacts::default();
    let choice = Choice {
        path,
        ..Choice::by_content(&facts)
    };
    if !unreadable(source).is_empty() {
        return None;
    }
    let opened = CarriedDocument::new(source, &choice);
    let input = opened.input(source, &choice);
    let certain = fits(&input, &choice).filter(|&(fit, _)| fit >= CERTAIN);
    // A document that merely quotes a plan is none.
    if opened.prose.is_some() {
        return None;
    }
    certain
        .map(|(fit, dialect)| (fit, dialect.name()))
        .max()
        .map(|(_, name)| name)
}

/// Matches a pattern with at most one star.
fn glob(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((prefix, suffix)) => {
            name.len() >= prefix.len() + suffix.len() && name.starts_with(prefix) && name.ends_with(suffix)
        }
        None => pattern == name,
    }
}
