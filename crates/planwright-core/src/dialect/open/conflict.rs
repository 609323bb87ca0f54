//! Merge conflicts of git in a file: one finding with both sides of each.

use super::super::rules::MERGE_CONFLICT;
use crate::diagnostic::Diagnostic;
use crate::text::{SourceText, Span, visible};

const OURS: &str = "<<<<<<< ";
const BASE: &str = "||||||| ";
const BETWEEN: &str = "=======";
const THEIRS: &str = ">>>>>>> ";

/// Tracks Markdown code fences: their content is an example, unless it is the JSON of a contract.
#[derive(Default)]
struct FenceTracker {
    /// The marker that closes the open fence, and whether its content is JSON.
    open: Option<(String, bool)>,
}

impl FenceTracker {
    /// Returns whether the next line is part of an example.
    fn is_example(&mut self, line: &str) -> bool {
        let marks: String = line
            .chars()
            .take_while(|c| line.starts_with(*c) && matches!(c, '`' | '~'))
            .collect();
        match &self.open {
            None if marks.len() >= 3 => {
                let is_json = line[marks.len()..].trim().eq_ignore_ascii_case("json");
                self.open = Some((marks, is_json));
                false
            }
            None => false,
            Some((open, _)) if marks.starts_with(open.as_str()) && line.trim_end() == marks => {
                self.open = None;
                false
            }
            Some((_, is_json)) => !is_json,
        }
    }
}

/// How many conflicts are reported.
const MAX_FOUND: usize = 20;

#[derive(Clone, Copy)]
struct NumberedLine<'s> {
    number: usize,
    text: &'s str,
    span: Span,
}

pub(super) fn conflicts(source: &SourceText) -> Vec<Diagnostic> {
    let text = source.as_str();
    if memchr::memmem::find(text.as_bytes(), OURS.as_bytes()).is_none() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut start = 0;
    let mut fence = FenceTracker::default();
    let lines = text.split_inclusive('\n').zip(1..).map(|(line, number)| {
        let text = line.trim_end_matches(['\n', '\r']);
        let span = Span {
            start,
            end: start + text.len() as u32,
        };
        start += line.len() as u32;
        NumberedLine { number, text, span }
    });
    let mut lines = lines.filter(|line| !fence.is_example(line.text));
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

fn finding(
    ours: NumberedLine<'_>,
    middle: NumberedLine<'_>,
    between: NumberedLine<'_>,
    theirs: NumberedLine<'_>,
) -> Diagnostic {
    let name = |line: NumberedLine<'_>| visible(line.text[OURS.len()..].trim()).into_owned();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_in_fences_are_no_conflicts() {
        let conflict = "<<<<<<< HEAD\none\n=======\nother\n>>>>>>> feature\n";
        for (text, expected) in [
            (conflict.to_owned(), 1),
            (conflict.replace('\n', "\r\n"), 1),
            (format!("{conflict}{conflict}"), 2),
            (format!("```text\n{conflict}```\n"), 0),
            (format!("~~~\n```json\n{conflict}```\n~~~\n"), 0),
            (format!("````md\n```\n{conflict}```\n````\n{conflict}"), 1),
            (format!("```json\n{{\n{conflict}}}\n```\n"), 1),
            ("Title\n=======\ntext\n".to_owned(), 0),
        ] {
            let found = conflicts(&SourceText::new(text.as_str()));
            assert_eq!(found.len(), expected, "{text}");
        }
    }
}
