//! Lines of Markdown: headings, list items, table rows, and the rest.

use std::collections::BTreeSet;

use super::task_keys::state_of;
use super::words::{after_any, starts_with_any};
use crate::document::prose::TakenParts;
use crate::text::Span;

/// A line, or its relevant part.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkdownLine<'t> {
    pub(super) kind: LineKind<'t>,
    /// Its indentation in columns.
    pub(super) indent: usize,
    /// Its text without marks, and the start of that.
    pub(super) text: &'t str,
    pub(super) at: usize,
    /// Whether it stands in a block quote.
    pub(super) is_quoted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LineKind<'t> {
    Blank,
    Heading(usize),
    /// An item, with its number and its checkbox's mark.
    Item {
        number: Option<&'t str>,
        checkbox: Option<&'t str>,
    },
    TableRow,
    Text,
}

impl LineKind<'_> {
    /// An item without a number and a checkbox.
    pub(super) const BULLET: Self = LineKind::Item {
        number: None,
        checkbox: None,
    };
}

impl<'t> MarkdownLine<'t> {
    pub(super) const fn blank(at: usize) -> Self {
        MarkdownLine {
            kind: LineKind::Blank,
            indent: 0,
            text: "",
            at,
            is_quoted: false,
        }
    }

    pub(super) fn is_item(&self) -> bool {
        matches!(self.kind, LineKind::Item { .. })
    }

    /// Returns the number of an item.
    pub(super) fn number(&self) -> Option<&'t str> {
        match self.kind {
            LineKind::Item { number, .. } => number,
            _ => None,
        }
    }

    /// Returns the mark in the checkbox of an item.
    pub(super) fn checkbox(&self) -> Option<&'t str> {
        match self.kind {
            LineKind::Item { checkbox, .. } => checkbox,
            _ => None,
        }
    }

    pub(super) fn span(&self) -> Span {
        Span::new(self.at, self.at + self.text.trim_end().len())
    }
}

/// Returns the lines of a part of a text. Lines in `taken` have another reader: each of them is a blank line.
pub(super) fn lines<'t>(text: &'t str, part: Span, taken: &[Span]) -> Vec<MarkdownLine<'t>> {
    let mut out = Vec::new();
    let mut at = part.start as usize;
    let mut taken = TakenParts::new(taken);
    for line in text.get(part.range()).unwrap_or("").split_inclusive('\n') {
        out.push(match taken.overlaps(at, line) {
            true => MarkdownLine::blank(at),
            false => line_of(line.trim_end_matches(['\n', '\r']), at),
        });
        at += line.len();
    }
    read_lines_with_ids(&mut out);
    read_other_boxes(&mut out);
    read_roman_numbers(&mut out);
    read_rows_without_outer_bars(&mut out, text);
    out
}

/// Reads "T1: Create it" as an item where a text has nothing but such lines for items: each with the same letters and another number.
fn read_lines_with_ids(lines: &mut [MarkdownLine<'_>]) {
    if lines
        .iter()
        .any(|line| line.is_item() || line.kind == LineKind::TableRow)
    {
        return;
    }
    let id_of = |line: &MarkdownLine<'_>| {
        let (id, words) = line.text.split_once(':').filter(|_| line.kind == LineKind::Text)?;
        let letters = id.trim_end_matches(|c: char| c.is_ascii_digit());
        let name = letters.trim_end_matches(['-', '_']);
        let is_id = (1..=10).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_uppercase())
            && (1..=6).contains(&(id.len() - letters.len()));
        let is_task = is_id && words.starts_with(' ') && words.trim().contains(' ');
        is_task.then(|| (letters.len(), id.to_owned()))
    };
    let ids: Vec<Option<(usize, String)>> = lines.iter().map(id_of).collect();
    let found = || ids.iter().flatten();
    let prefix = |(n_letters, id): &(usize, String)| id.get(..*n_letters).unwrap_or("").to_owned();
    let different: BTreeSet<&String> = found().map(|(_, id)| id).collect();
    let prefixes: BTreeSet<String> = found().map(prefix).collect();
    if different.len() < 2 || different.len() < found().count() || prefixes.len() > 1 {
        return;
    }
    for (line, _) in lines.iter_mut().zip(&ids).filter(|(_, id)| id.is_some()) {
        line.kind = LineKind::BULLET;
    }
}

/// Reads "II. Add the engine" as an item if "I. …" comes before it.
fn read_roman_numbers(lines: &mut [MarkdownLine<'_>]) {
    const NUMBERS: [&str; 20] = [
        "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV", "XV", "XVI", "XVII",
        "XVIII", "XIX", "XX",
    ];
    let mut last = 0;
    for line in lines {
        let expected = NUMBERS.get(last).copied().unwrap_or("");
        match line.number() {
            Some("I") => last = 1,
            Some(number) if number == expected => last += 1,
            None if line.kind == LineKind::Text && last > 0 && !expected.is_empty() => {
                let rest = line.text.strip_prefix(expected).unwrap_or("");
                if let Some(body) = after_any(rest, &[". ", ") "]).map(str::trim_start) {
                    line.kind = LineKind::Item {
                        number: line.text.get(..expected.len()),
                        checkbox: None,
                    };
                    line.at += line.text.len() - body.len();
                    line.text = body;
                    last += 1;
                }
            }
            _ => {}
        }
    }
}

/// Reads the rows of a table whose lines neither begin nor end with a bar: `ID | Task`, `---|---`.
fn read_rows_without_outer_bars<'t>(lines: &mut [MarkdownLine<'t>], text: &'t str) {
    let is_rule = |line: &MarkdownLine<'_>| {
        line.kind == LineKind::Text
            && line.text.contains('|')
            && line.text.contains('-')
            && line.text.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
    };
    let mut next = 1;
    while let Some(n_before) = lines.get(next..).and_then(|rest| rest.iter().position(is_rule)) {
        let header = next + n_before - 1;
        next += n_before + 1;
        for (ix, line) in lines.iter_mut().enumerate().skip(header) {
            next = next.max(ix + 1);
            // The whole line, including an apparent item mark.
            let start = text
                .get(..line.at)
                .and_then(|before| before.rfind('\n'))
                .map_or(0, |at| at + 1);
            let whole = text.get(start..line.at + line.text.len()).unwrap_or("");
            if line.kind == LineKind::Blank || !whole.contains('|') {
                break;
            }
            let trimmed = whole.trim_start();
            line.kind = LineKind::TableRow;
            line.text = trimmed;
            line.at = start + (whole.len() - trimmed.len());
        }
    }
}

/// Reads `[D]` and `[done]` as checkboxes if other items of the text have checkboxes.
fn read_other_boxes(lines: &mut [MarkdownLine<'_>]) {
    if !lines.iter().any(|line| line.checkbox().is_some()) {
        return;
    }
    for line in lines {
        if let LineKind::Item { number, checkbox: None } = line.kind
            && let Some((mark, after)) = bracketed(line.text)
            && (is_letter_mark(mark) || mark.chars().count() > 1 && state_of(mark).is_some())
        {
            line.kind = LineKind::Item {
                number,
                checkbox: Some(mark),
            };
            line.at += line.text.len() - after.len();
            line.text = after;
        }
    }
}

/// Returns whether a mark is a letter that is neither a state nor `[P]`.
fn is_letter_mark(mark: &str) -> bool {
    mark.chars().count() == 1 && mark.chars().all(|c| c.is_alphabetic() && !matches!(c, 'P' | 'p'))
}

fn line_of(line: &str, at: usize) -> MarkdownLine<'_> {
    // Quoted text is text.
    let unquoted = line.trim_start().strip_prefix("> ").unwrap_or(line);
    let trimmed = unquoted.trim_start();
    let columns = |text: &str| -> usize {
        let before = text.chars().take_while(|c| c.is_whitespace());
        before.map(|c| if c == '\t' { 4 } else { 1 }).sum()
    };
    // A quotation inside an item has the indentation of its mark.
    let is_quoted = unquoted.len() < line.trim_start().len();
    let mut indent = columns(unquoted) + if is_quoted { columns(line) } else { 0 };
    if trimmed.is_empty() || is_rule(trimmed) {
        return MarkdownLine::blank(at);
    }
    let (kind, text) = if let Some((level, mark, text)) = org_item(trimmed) {
        indent += 2 * (level - 1);
        let (number, checkbox) = (None, Some(mark));
        (LineKind::Item { number, checkbox }, text)
    } else if let Some((level, text)) = heading(trimmed) {
        (LineKind::Heading(level), text)
    } else if trimmed.starts_with(['|', '│']) && trimmed.len() > 1 || is_border(trimmed) {
        (LineKind::TableRow, trimmed)
    } else if let Some((number, checkbox, text)) = item(trimmed) {
        (LineKind::Item { number, checkbox }, text)
    } else {
        (LineKind::Text, trimmed)
    };
    MarkdownLine {
        kind,
        indent,
        text,
        at: at + line.len() - text.len(),
        is_quoted,
    }
}

fn is_rule(line: &str) -> bool {
    let line = line.trim_end();
    let is_made_of = |mark| line.chars().all(|c| c == mark || c == ' ');
    line.len() >= 3 && ['-', '*', '_'].into_iter().any(is_made_of) && !line.starts_with("- ")
}

/// Returns whether a line is the border of a table: `+----+----+`, `├────┼────┤`.
fn is_border(line: &str) -> bool {
    let line = line.trim_end();
    let is_ascii = line.starts_with("+-") || line.starts_with("+=");
    let is_drawn = line.starts_with(['┌', '├', '└', '╞', '┏', '┣', '┗', '╔', '╠', '╚']);
    is_ascii && line.chars().all(|c| matches!(c, '+' | '-' | '=' | ' '))
        || is_drawn && line.len() > 6 && line.chars().all(|c| ('\u{2500}'..='\u{257f}').contains(&c) || c == ' ')
}

/// Reads a heading of Org mode with its state: `** DONE Choose a library`. Returns its level and the mark of the state.
fn org_item(line: &str) -> Option<(usize, &'static str, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'*').count();
    let rest = line
        .get(level..)?
        .strip_prefix(' ')
        .filter(|_| (1..=9).contains(&level))?;
    let (word, text) = rest.split_once(' ')?;
    let mark = match word {
        "TODO" | "NEXT" | "WAITING" => "",
        "DOING" | "STARTED" => "~",
        "DONE" => "x",
        "CANCELLED" | "CANCELED" | "KILL" => "-",
        _ => return None,
    };
    Some((level, mark, text.trim_start()))
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(level..)?;
    let is_heading = (1..=6).contains(&level) && rest.starts_with([' ', '\t']);
    is_heading.then(|| (level, rest.trim_start()))
}

/// Reads the mark of an item and its checkbox.
fn item(line: &str) -> Option<(Option<&str>, Option<&str>, &str)> {
    let (number, mut rest) = item_mark(line)?;
    let checkbox = checkbox(rest).or_else(|| unknown_box(rest));
    if let Some((_, after)) = checkbox {
        rest = after;
    }
    Some((number, checkbox.map(|(mark, _)| mark), rest))
}

fn item_mark(line: &str) -> Option<(Option<&str>, &str)> {
    if let Some(rest) = after_any(line, &["- ", "* ", "+ ", "• ", "– ", "‣ ", "◦ ", "-\t", "*\t"]) {
        return Some((None, rest.trim_start()));
    }
    // A checkbox without a mark before it.
    if checkbox(line).is_some() {
        return Some((None, line));
    }
    // "📋 **Your plan**" is a heading.
    let is_title = line.strip_prefix('📋').is_some_and(|rest| {
        let rest = rest.trim();
        rest.ends_with(':') || rest.starts_with("**") && rest.ends_with("**")
    });
    if begins_with_symbol(line) && !is_title {
        return Some((None, line));
    }
    if let Some(found) = keycap(line) {
        return Some(found);
    }
    // "(1) Sort the photos".
    let in_brackets = line.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    if let Some((number, rest)) = in_brackets
        && (1..=3).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Some((Some(number), rest.trim_start()));
    }
    let n_digits = line
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
        .count();
    let number = line.get(..n_digits)?.trim_end_matches('.');
    let rest = line.get(number.len()..)?;
    if number.is_empty() || number.len() > 9 {
        let (letter, rest) = line.split_at_checked(1)?;
        let is_letter = letter.bytes().all(|byte| byte.is_ascii_alphabetic());
        let after = after_any(rest, &[". ", ") "]).filter(|_| is_letter)?;
        return Some((Some(letter), after.trim_start()));
    }
    let is_marked = number.contains('.');
    let after = rest.strip_prefix(['.', ')', ':']).or(is_marked.then_some(rest))?;
    after
        .starts_with([' ', '\t'])
        .then(|| (Some(number), after.trim_start()))
}

/// Reads a keycap number: "1️⃣ Add the model".
fn keycap(line: &str) -> Option<(Option<&str>, &str)> {
    if let Some(rest) = line.strip_prefix('🔟') {
        return Some((Some("10"), rest.trim_start()));
    }
    let n_digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line.get(n_digits..).filter(|_| n_digits == 1)?;
    let rest = rest.strip_prefix('\u{fe0f}').unwrap_or(rest).strip_prefix('\u{20e3}')?;
    let rest = rest.trim_start_matches([':', '.', ')', '-', '–']);
    Some((line.get(..n_digits), rest.trim_start()))
}

/// Symbols used as checkboxes, each for a state.
pub(super) const SYMBOLS: [&str; 14] = [
    "☐", "☒", "☑️", "☑", "✅", "⬜", "🔲", "🔄", "⏳", "🚧", "✔️", "✔", "✓", "📋",
];

/// Returns whether a line begins with a symbol used as a checkbox.
pub(super) fn begins_with_symbol(line: &str) -> bool {
    starts_with_any(line, &SYMBOLS)
}

/// Reads a checkbox such as `[ ]`, `[x]`, `[ x ]` and `\[ \]`.
fn checkbox(text: &str) -> Option<(&str, &str)> {
    bracketed(text).filter(|(mark, _)| matches!(*mark, "" | "x" | "X" | "✓" | "✔" | "~" | "/" | "-" | ">"))
}

/// Reads a checkbox with an unknown mark, such as `[?]` and `[!]`.
fn unknown_box(text: &str) -> Option<(&str, &str)> {
    let is_mark = |c: char| !c.is_alphanumeric() && !matches!(c, '`' | '"' | '\'' | '\\');
    bracketed(text).filter(|(mark, _)| mark.chars().count() <= 2 && mark.chars().all(is_mark))
}

/// Reads a short text in brackets, and the rest. The explanation of a mark does not count.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let body = text.strip_prefix("\\[").or_else(|| text.strip_prefix('['))?;
    let (mark, after) = body.split_once(']')?;
    let mark = mark.strip_suffix('\\').unwrap_or(mark);
    let rest = after.trim_start();
    let is_legend = rest.starts_with(['=', ':', '–', '—']) || rest.starts_with("means ");
    let is_apart = after.is_empty() || after.starts_with([' ', '\t', '*']);
    let is_known = matches!(mark.trim(), "" | "x" | "X");
    (mark.len() <= 16 && is_apart && (is_known || !is_legend)).then(|| (mark.trim(), after))
}
