//! Removes the additions of terminals, chat windows and reasoning models from an answer: escape sequences, zero widths, HTML tags,
//! thoughts.

use std::borrow::Cow;
use std::ops::Range;

use super::mapped_text::MappedText;
use super::names::without;

/// Tags around a model's thoughts before its answer.
#[rustfmt::skip]
const THOUGHTS: [&str; 7] = [
    "think", "thinking", "thought", "thoughts", "reasoning", "scratchpad", "analysis",
];

/// HTML tags without text, and their replacements.
#[rustfmt::skip]
const TAGS: [(&str, &str); 10] = [
    ("<br>", " "), ("<br/>", " "), ("<br />", " "), ("<details>", ""), ("<details open>", ""), ("</details>", ""),
    ("<summary>", ""), ("</summary>", ""), ("<p>", ""), ("</p>", ""),
];

/// Returns an answer without these parts; none if it has none.
pub(super) fn cleaned(text: &str) -> Option<MappedText> {
    let may_have = |c: char| matches!(c, '\u{1b}' | '<' | '⎿') || space_or_nothing(c).is_some();
    if !text.contains(may_have) && !text.contains("&nbsp;") && !text.contains("[0m") {
        return None;
    }
    let mut thoughts = thoughts_within(text).into_iter().peekable();
    let has_bare_escapes = text.contains("[0m");
    let mut is_data = is_line_of_data(text);
    let (cleaned, is_changed) = MappedText::replaced(text, |rest, at| {
        let c = rest.chars().next()?;
        if let Some(span) = thoughts.next_if(|span| span.start == at) {
            return Some((span.len(), Cow::Borrowed("")));
        }
        let (n_bytes, with) = match c {
            '\u{1b}' => (escape_len(rest), ""),
            '[' if has_bare_escapes => (bare_escape_len(rest)?, ""),
            '<' if !is_data && !text.get(..at).is_some_and(|before| before.ends_with('`')) => tag_at(rest)?,
            '&' if rest.starts_with("&nbsp;") => (6, " "),
            // The mark before the first line of a tool's output.
            '⎿' => (c.len_utf8(), " "),
            '\u{feff}' if at == 0 => return None,
            '\n' => {
                is_data = is_line_of_data(rest.get(1..)?);
                return None;
            }
            _ => (c.len_utf8(), space_or_nothing(c)?),
        };
        Some((n_bytes, Cow::Borrowed(with)))
    });
    is_changed.then_some(cleaned)
}

/// Returns the replacement of a character that looks like a space or like nothing.
fn space_or_nothing(c: char) -> Option<&'static str> {
    match c {
        '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' => Some(" "),
        '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}' | '\u{feff}' => Some(""),
        _ => None,
    }
}

/// Returns whether a line is one of JSON, whose texts keep their tags.
fn is_line_of_data(text: &str) -> bool {
    text.trim_start_matches([' ', '\t']).starts_with(['"', '{'])
}

/// Returns the length of the escape sequence at the start of a text.
fn escape_len(text: &str) -> usize {
    const MAX_SEQUENCE: usize = 64;
    let head = text.get(..text.floor_char_boundary(MAX_SEQUENCE)).unwrap_or(text);
    let body = head.get(1..).unwrap_or("");
    match body.chars().next() {
        Some('[') => {
            let rest = body.get(1..).unwrap_or("");
            rest.find(|c: char| ('@'..='~').contains(&c)).map_or(2, |end| end + 3)
        }
        Some(']') => body.find('\u{7}').map_or(2, |end| end + 2),
        Some(c) if c.is_ascii_graphic() => 2,
        _ => 1,
    }
}

/// Returns the length of a sequence without its escape character: `[32m`.
fn bare_escape_len(text: &str) -> Option<usize> {
    let body = text.strip_prefix('[')?;
    let n_digits = body
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b';')
        .count();
    let is_sequence = (1..=12).contains(&n_digits) && body.as_bytes().get(n_digits) == Some(&b'm');
    is_sequence.then_some(n_digits + 2)
}

fn tag_at(text: &str) -> Option<(usize, &'static str)> {
    let is_start = |tag: &str| {
        text.get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag))
    };
    let (tag, with) = TAGS.iter().find(|(tag, _)| is_start(tag))?;
    let is_code = text.get(tag.len()..).is_some_and(|rest| rest.starts_with('`'));
    (!is_code).then_some((tag.len(), with))
}

/// Returns the thoughts in an answer; none if there is nothing else.
fn thoughts_within(text: &str) -> Vec<Range<usize>> {
    if !text.contains("</") {
        return Vec::new();
    }
    let lower = text.to_ascii_lowercase();
    let mut found: Vec<Range<usize>> = Vec::new();
    // Some templates give the opening tag to the model, so that the answer only has the closing one.
    if let Some(end) = lone_end(&lower) {
        found.push(0..end);
    }
    let mut without_end: Vec<&str> = Vec::new();
    let mut at = 0;
    for line in lower.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        if found.last().is_some_and(|span| span.end > start) {
            continue;
        }
        let body = lower.get(start..).unwrap_or("");
        let is_open = |tag: &&str| {
            body.strip_prefix('<')
                .and_then(|rest| rest.strip_prefix(*tag))
                .is_some_and(|rest| rest.starts_with('>'))
        };
        let Some(tag) = THOUGHTS
            .into_iter()
            .find(is_open)
            .filter(|tag| !without_end.contains(tag))
        else {
            continue;
        };
        let close = format!("</{tag}>");
        match body.find(&close) {
            Some(end) => found.push(start..start + end + close.len()),
            None => without_end.push(tag),
        }
    }
    match without(text, &found).contains(char::is_alphanumeric) {
        true => found,
        false => Vec::new(),
    }
}

/// Returns the end of a closing tag without an opening one before it.
fn lone_end(lower: &str) -> Option<usize> {
    ["think", "thinking"].iter().find_map(|tag| {
        let close = format!("</{tag}>");
        let at = lower.find(&close)?;
        let before = lower.get(..at)?;
        let after = lower.get(at + close.len()..)?;
        let ends_line = before.ends_with('\n') || after.trim_start_matches(' ').starts_with(['\n', '\r']);
        (ends_line && !before.contains(&format!("<{tag}>"))).then_some(at + close.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Span;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = cleaned(text).map_or_else(|| text.to_owned(), |cleaned| cleaned.text);
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn marks_of_terminals_and_chats_are_removed() {
        check("\u{1b}[32m1.\u{1b}[0m Add", "1. Add");
        check("[32m1.[0m Add", "1. Add");
        check("1.\u{a0}Add\u{200b} it", "1. Add it");
        check("| Depends&nbsp;On |", "| Depends On |");
        check("| a<br>b | <BR/>c |", "| a b |  c |");
        check("Replace `<br>` with a line", "Replace `<br>` with a line");
        check("{\"title\": \"Write <br>\"}", "{\"title\": \"Write <br>\"}");
        check("<details><summary>Plan</summary>\n1. a\n</details>", "Plan\n1. a\n");
        check("[1m] is no sequence here", "[1m] is no sequence here");
        check("a < b", "a < b");
        check("\u{feff}1. a", "\u{feff}1. a");
    }

    #[test]
    fn thinking_blocks_are_removed_from_answers() {
        check("<think>\n1. a\n</think>\n1. b\n", "\n1. b\n");
        check("<Thinking>a</Thinking> b", " b");
        check("1. a\n</think>\n\n1. b\n", "\n\n1. b\n");
        check("<think>\n1. a\n</think>\n", "<think>\n1. a\n</think>\n");
        check("<think>\n1. a\n", "<think>\n1. a\n");
        check(
            "1. Parse `<think>` and `</think>` tags",
            "1. Parse `<think>` and `</think>` tags",
        );
    }

    #[test]
    fn spans_of_cleaned_text_map_to_the_original_text() {
        let text = "<think>x</think>\n1.\u{a0}Größe\u{200b} messen";
        let cleaned = cleaned(text).expect("it has thoughts");
        for word in ["Größe", "messen"] {
            let at = cleaned.text.find(word).expect("a word");
            let span = cleaned.span_before(Span::new(at, at + word.len()), text);
            assert_eq!(text.get(span.range()), Some(word));
        }
        for at in 0..=cleaned.text.len() {
            let span = cleaned.span_before(Span::new(at, cleaned.text.len()), text);
            assert!(text.get(span.range()).is_some(), "{at}");
        }
    }
}
