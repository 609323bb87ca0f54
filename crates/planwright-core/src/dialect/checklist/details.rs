//! The lines below a task line: description, criteria, files, dependencies. How they are read, and how planwright writes them.

use super::lines::bullet_len;
use super::variant::Variant;
use crate::document::markdown::fence_mark;
use crate::text::{SourceText, Span};

/// A text below a task, and the lines that hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DetailText {
    /// The characters of the text, for one in a single line; otherwise its lines without indentation before the first.
    pub(super) span: Span,
    /// The whole lines, without the last line break.
    pub(super) lines: Span,
    /// The text.
    pub(super) text: String,
}

/// A list in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListLine {
    /// The whole line, without its line break.
    pub(super) lines: Span,
    /// The items.
    pub(super) items: Vec<Span>,
}

/// The lines below a task line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Details {
    pub(super) description: Option<DetailText>,
    pub(super) criteria: Vec<DetailText>,
    pub(super) files: Option<ListLine>,
    /// The line `_Depends: 1.2, 2.3_` of cc-sdd.
    pub(super) depends: Option<ListLine>,
    /// Whether other lines stand between those of the description, so that it cannot be replaced as a whole.
    pub(super) is_description_split: bool,
}

/// The beginning of the line with a task's files.
const FILES: &str = "files:";

/// One line of a text.
#[derive(Clone, Copy)]
struct Line<'t> {
    start: usize,
    content: &'t str,
    content_start: usize,
}

impl Line<'_> {
    fn indent(&self) -> usize {
        self.content_start - self.start
    }

    fn end(&self) -> usize {
        self.content_start + self.content.len()
    }

    fn span(&self) -> Span {
        Span::new(self.start, self.end())
    }
}

fn lines_of(source: &SourceText, block: Span) -> impl Iterator<Item = Line<'_>> {
    let mut at = block.start as usize;
    source.slice(block).split('\n').map(move |line| {
        let start = at;
        at += line.len() + 1;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let content = line.trim_start_matches([' ', '\t']);
        Line {
            start,
            content,
            content_start: start + line.len() - content.len(),
        }
    })
}

/// Reads the lines below a task.
pub(super) fn read(source: &SourceText, block: Span, variant: Variant) -> Details {
    let mut details = Details::default();
    if block.is_empty() {
        return details;
    }
    let mut description: Vec<Line<'_>> = Vec::new();
    let mut base = None;
    let mut last = LastLine::Description;
    let mut fence: Option<&str> = None;
    for line in lines_of(source, block) {
        let is_blank = line.content.trim_end().is_empty();
        if fence.is_none() && !is_blank {
            let base = *base.get_or_insert(line.indent());
            match list_line(&line, variant) {
                Some((ListPart::Files, list)) if details.files.is_none() => {
                    details.files = Some(list);
                    last = LastLine::Other;
                    continue;
                }
                Some((ListPart::Depends, list)) if details.depends.is_none() => {
                    details.depends = Some(list);
                    last = LastLine::Other;
                    continue;
                }
                _ => {}
            }
            if variant == Variant::Own
                && line.indent() <= base + 1
                && let Some(n_bullet) = bullet_len(line.content)
            {
                details.criteria.push(criterion(&line, n_bullet));
                last = LastLine::Criterion;
                continue;
            }
        }
        if last == LastLine::Criterion
            && !is_blank
            && let Some(criterion) = details.criteria.last_mut()
        {
            criterion.text.push(' ');
            criterion.text.push_str(line.content.trim());
            criterion.span = Span::new(criterion.span.start as usize, line.end());
            criterion.lines = Span::new(criterion.lines.start as usize, line.end());
            continue;
        }
        match (fence, fence_mark(line.content)) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if mark.starts_with(open) => fence = None,
            _ => {}
        }
        if is_blank && (description.is_empty() || last != LastLine::Description) {
            continue;
        }
        details.is_description_split |= last == LastLine::Other && !description.is_empty();
        last = LastLine::Description;
        description.push(line);
    }
    details.description = joined(&description);
    details
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LastLine {
    Description,
    Criterion,
    Other,
}

enum ListPart {
    Files,
    Depends,
}

/// Reads a line with a list: `- files: a, b`, or `- _Depends: 1.2_`.
fn list_line(line: &Line<'_>, variant: Variant) -> Option<(ListPart, ListLine)> {
    let n_bullet = bullet_len(line.content)?;
    let rest = &line.content[n_bullet..];
    let (listed, start, text) = match strip_word(rest, FILES) {
        Some(text) => (ListPart::Files, n_bullet + FILES.len(), text.trim_end()),
        None if variant == Variant::Kiro => {
            let text = rest.trim_end().strip_prefix("_Depends:")?.strip_suffix('_')?;
            (ListPart::Depends, n_bullet + "_Depends:".len(), text)
        }
        None => return None,
    };
    let mut at = line.content_start + start;
    let mut items = Vec::new();
    for part in text.split(',') {
        let item = part.trim().trim_matches('`');
        let start = at + part.find(item).unwrap_or(0);
        at += part.len() + 1;
        if !item.is_empty() {
            items.push(Span::new(start, start + item.len()));
        }
    }
    let lines = line.span();
    (!items.is_empty()).then_some((listed, ListLine { lines, items }))
}

fn strip_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

fn criterion(line: &Line<'_>, n_bullet: usize) -> DetailText {
    let start = line.content_start + n_bullet;
    let text = line.content[n_bullet..].trim_end();
    DetailText {
        span: Span::new(start, start + text.len()),
        lines: line.span(),
        text: unescaped(text).to_owned(),
    }
}

/// Removes the backslash before a text that would be read as something else.
fn unescaped(text: &str) -> &str {
    match text.strip_prefix('\\') {
        Some(rest) if is_special(rest) => rest,
        _ => text,
    }
}

/// Returns whether a criterion would be read as a box, as the list of files, or without its first backslash.
fn is_special(text: &str) -> bool {
    text.starts_with(['[', '\\']) || strip_word(text, FILES).is_some() || text.starts_with("_Depends:")
}

/// Joins lines of a description, without their common indentation and the marks of a quote.
fn joined(lines: &[Line<'_>]) -> Option<DetailText> {
    let n_lines = lines.iter().rposition(|line| !line.content.trim_end().is_empty())? + 1;
    let lines = &lines[..n_lines];
    let (first, last) = (lines.first()?, lines.last()?);
    let is_text = |line: &&Line<'_>| !line.content.trim_end().is_empty();
    let common = lines.iter().filter(is_text).map(Line::indent).min().unwrap_or(0);
    let is_quote = lines.iter().all(|line| line.content.starts_with('>'));
    let mut text = String::new();
    for (ix, line) in lines.iter().enumerate() {
        if ix > 0 {
            text.push('\n');
        }
        if is_quote {
            let inner = &line.content[1..];
            text.push_str(inner.strip_prefix(' ').unwrap_or(inner));
        } else {
            text.extend(std::iter::repeat_n(' ', line.indent().saturating_sub(common).min(64)));
            text.push_str(line.content.trim_end());
        }
    }
    Some(DetailText {
        span: Span::new(first.content_start, last.end()),
        lines: Span::new(first.start, last.end()),
        text,
    })
}

/// Reads an introduction: the text before the first task.
pub(super) fn introduction(source: &SourceText, span: Span) -> Option<DetailText> {
    let lines: Vec<Line<'_>> = lines_of(source, span).collect();
    joined(&lines)
}

/// Returns whether a text can be one line of a checklist and is read back unchanged.
pub(super) fn is_line(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.chars().any(char::is_control)
}

/// Returns whether a name of a file can be in the line of files.
pub(super) fn is_file(name: &str) -> bool {
    is_line(name) && !name.contains([',', '`'])
}

/// Returns whether a description can be written and is read back unchanged.
pub(super) fn is_description(text: &str) -> bool {
    let mut lines = text.split('\n');
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let ends_well = |line: Option<&str>| line.is_some_and(|line| !line.is_empty() && line.trim_end() == line);
    !text.chars().any(is_odd)
        && ends_well(text.rsplit('\n').next())
        && lines.next().is_some_and(|line| !line.trim().is_empty())
}

/// Returns the lines of a description: plain where they are read back as they are, otherwise as a quote.
pub(super) fn description_lines(text: &str) -> Vec<String> {
    let is_plain = |line: &str| {
        let first = line.trim_start();
        line.trim_end() == line
            && (line.is_empty() || first.len() == line.len())
            && bullet_len(first).is_none()
            && !first.starts_with(['#', '>', '<', '*'])
            && fence_mark(first).is_none()
    };
    match text.split('\n').all(is_plain) {
        true => text.split('\n').map(str::to_owned).collect(),
        false => text
            .split('\n')
            .map(|line| format!("> {line}").trim_end_matches(' ').to_owned())
            .collect(),
    }
}

/// Returns the line of a criterion, without indentation.
pub(super) fn criterion_text(text: &str) -> String {
    match is_special(text) {
        true => format!("\\{text}"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::checklist::lines::Lines;

    fn read_first(text: &str, variant: Variant) -> (SourceText, Details) {
        let source = SourceText::new(text);
        let lines = Lines::read(&source);
        let details = read(&source, lines.items[0].details, variant);
        (source, details)
    }

    #[test]
    fn own_details_are_description_criteria_and_files() {
        let (source, details) = read_first(
            "- [ ] T1: a\n  More about it.\n\n  And more.\n  - works\n    well\n  - \\[ ] is a box\n  - files: a.rs, `b c.rs`\n",
            Variant::Own,
        );
        assert_eq!(
            details.description.map(|found| found.text).as_deref(),
            Some("More about it.\n\nAnd more.")
        );
        let criteria: Vec<&str> = details.criteria.iter().map(|found| found.text.as_str()).collect();
        assert_eq!(criteria, ["works well", "[ ] is a box"]);
        let files: Vec<&str> = details
            .files
            .iter()
            .flat_map(|list| &list.items)
            .map(|span| source.slice(*span))
            .collect();
        assert_eq!(files, ["a.rs", "b c.rs"]);
    }

    #[test]
    fn foreign_details_are_one_description() {
        let (source, details) = read_first(
            "- [ ] 1.1 a\n  - one\n    - two\n  - _Requirements: 1.1_\n  - _Depends: 1.2, 2_\n",
            Variant::Kiro,
        );
        assert_eq!(
            details.description.map(|found| found.text).as_deref(),
            Some("- one\n  - two\n- _Requirements: 1.1_")
        );
        let depends: Vec<&str> = details
            .depends
            .iter()
            .flat_map(|list| &list.items)
            .map(|span| source.slice(*span))
            .collect();
        assert_eq!(depends, ["1.2", "2"]);
    }

    #[test]
    fn descriptions_are_read_back_as_they_were_written() {
        for text in [
            "a",
            "a\n\nb",
            "- a\n- [ ] b",
            "# a\n```\nx\n```",
            "  a\n b",
            "> a",
            "a\n   b",
            "a\n\n\nb",
        ] {
            assert!(is_description(text), "{text}");
            let lines: String = description_lines(text)
                .iter()
                .map(|line| format!("  {line}\n"))
                .collect();
            let (_, details) = read_first(&format!("- [ ] T1: a\n{lines}- [ ] T2: b\n"), Variant::Own);
            assert_eq!(details.description.map(|found| found.text).as_deref(), Some(text));
        }
        for text in ["", " ", "a\n", "a ", "a\rb", "\na"] {
            assert!(!is_description(text), "{text:?}");
        }
    }
}
