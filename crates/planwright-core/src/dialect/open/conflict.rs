//! Conflicts that git left in a file: both sides of each, in one finding.

use super::super::rules::MERGE_CONFLICT;
use crate::diagnostic::Diagnostic;
use crate::text::{SourceText, Span, visible};

const OURS: &str = "<<<<<<< ";
const BASE: &str = "||||||| ";
const BETWEEN: &str = "=======";
const THEIRS: &str = ">>>>>>> ";

/// How many are reported.
const MAX_FOUND: usize = 20;

/// A line with its place.
#[derive(Clone, Copy)]
struct Line<'s> {
    number: usize,
    text: &'s str,
    span: Span,
}

/// Returns the conflicts in a text.
pub(super) fn conflicts(source: &SourceText) -> Vec<Diagnostic> {
    let text = source.as_str();
    if memchr::memmem::find(text.as_bytes(), OURS.as_bytes()).is_none() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut start = 0;
    let mut lines = text.split_inclusive('\n').zip(1..).map(|(line, number)| {
        let text = line.trim_end_matches(['\n', '\r']);
        let span = Span {
            start,
            end: start + text.len() as u32,
        };
        start += line.len() as u32;
        Line { number, text, span }
    });
    while let Some(ours) = lines.by_ref().find(|line| line.text.starts_with(OURS)) {
        let middle = lines
            .by_ref()
            .find(|line| line.text == BETWEEN || line.text.starts_with(BASE));
        let between = match middle {
            Some(base) if base.text != BETWEEN => lines.by_ref().find(|line| line.text == BETWEEN),
            between => between,
        };
        let theirs = lines.by_ref().find(|line| line.text.starts_with(THEIRS));
        if let (Some(middle), Some(between), Some(theirs)) = (middle, between, theirs)
            && found.len() < MAX_FOUND
        {
            found.push(finding(ours, middle, between, theirs));
        }
    }
    found
}

fn finding(ours: Line<'_>, middle: Line<'_>, between: Line<'_>, theirs: Line<'_>) -> Diagnostic {
    let name = |line: Line<'_>| visible(line.text[OURS.len()..].trim()).into_owned();
    let lines = |from: usize, to: usize| match to.saturating_sub(from) {
        0 => "nothing".to_owned(),
        1 => format!("line {from}"),
        _ => format!("lines {from} to {}", to - 1),
    };
    let one = lines(ours.number + 1, middle.number);
    let other = lines(between.number + 1, theirs.number);
    let message = format!("a merge left a conflict here: `{}` or `{}`", name(ours), name(theirs));
    Diagnostic::new(&MERGE_CONFLICT, ours.span, message)
        .with_label(format!("one side: {one}"))
        .with_related(between.span, format!("the other side: {other}"))
        .with_help("keep one side or join both, remove the three marks, and check again")
}
