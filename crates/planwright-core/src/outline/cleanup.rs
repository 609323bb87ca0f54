//! Removes the additions of terminals, chat windows and reasoning models from an answer: escape sequences, zero widths, HTML tags,
//! thoughts.

use std::ops::Range;

use super::mapped_text::MappedText;

/// Tags around a model's thoughts before its answer.
#[rustfmt::skip]
const THOUGHTS: [&str; 7] = [
    "think", "thinking", "thought", "thoughts", "reasoning", "scratchpad", "analysis",
];

/// HTML tags without text, and their replacements.
const TAGS: [(&str, &str); 10] = [
    ("<br>", " "),
    ("<br/>", " "),
    ("<br />", " "),
    ("<details>", ""),
    ("<details open>", ""),
    ("</details>", ""),
    ("<summary>", ""),
    ("</summary>", ""),
    ("<p>", ""),
    ("</p>", ""),
];

/// Returns an answer without these parts; none if it has none.
pub(super) fn cleaned(text: &str) -> Option<MappedText> {
    let may_have = |c: char| matches!(c, '\u{1b}' | '<' | '⎿') || space_or_nothing(c).is_some();
    if !text.contains(may_have) && !text.contains("&nbsp;") && !text.contains("[0m") {
        return None;
    }
    let mut out = MappedText::default();
    let mut thoughts = thoughts_within(text).into_iter().peekable();
    let has_bare_escapes = text.contains("[0m");
    let (mut at, mut copied) = (0, 0);
    let mut is_data = is_line_of_data(text);
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or("");
        let found = match c {
            _ if thoughts.peek().is_some_and(|span| span.start == at) => thoughts.next().map(|span| (span.len(), "")),
            '\u{1b}' => Some((escape_len(rest), "")),
            '[' if has_bare_escapes => bare_escape_len(rest).map(|n_bytes| (n_bytes, "")),
            '<' if !is_data && !text.get(..at).is_some_and(|before| before.ends_with('`')) => tag_at(rest),
            '&' if rest.starts_with("&nbsp;") => Some((6, " ")),
            // The mark before the first line of a tool's output.
            '⎿' => Some((c.len_utf8(), " ")),
            '\u{feff}' if at == 0 => None,
            _ => space_or_nothing(c).map(|with| (c.len_utf8(), with)),
        };
        match found {
            Some((n_bytes, with)) => {
                out.copy(text.get(copied..at).unwrap_or(""), copied);
                out.replace(with, at);
                at += n_bytes;
                copied = at;
            }
            None => at += c.len_utf8(),
        }
        if c == '\n' {
            is_data = is_line_of_data(text.get(at..).unwrap_or(""));
        }
    }
    if copied == 0 {
        return None;
    }
    out.copy(text.get(copied..).unwrap_or(""), copied);
    Some(out)
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
            let end = body
                .get(1..)
                .and_then(|rest| rest.find(|c: char| ('@'..='~').contains(&c)));
            end.map_or(2, |end| end + 3)
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
    let found = TAGS.iter().find(|(tag, _)| starts_with_tag(text, tag))?;
    let is_code = text.get(found.0.len()..).is_some_and(|rest| rest.starts_with('`'));
    (!is_code).then_some((found.0.len(), found.1))
}

fn starts_with_tag(text: &str, tag: &str) -> bool {
    text.get(..tag.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(tag))
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
    let mut without_end = [false; THOUGHTS.len()];
    let mut at = 0;
    for line in lower.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        if found.last().is_some_and(|span| span.end > start) {
            continue;
        }
        let body = lower.get(start..).unwrap_or("");
        let tag = THOUGHTS.iter().position(|tag| is_tag(body, "<", tag));
        let Some(ix) = tag.filter(|&ix| without_end.get(ix) == Some(&false)) else {
            continue;
        };
        let close = format!("</{}>", THOUGHTS.get(ix).unwrap_or(&""));
        match body.find(&close) {
            Some(end) => found.push(start..start + end + close.len()),
            None => without_end
                .iter_mut()
                .skip(ix)
                .take(1)
                .for_each(|is_open| *is_open = true),
        }
    }
    let mut rest_at = 0;
    let mut has_rest = false;
    for span in &found {
        has_rest |= has_words(text.get(rest_at..span.start).unwrap_or(""));
        rest_at = span.end;
    }
    has_rest |= has_words(text.get(rest_at..).unwrap_or(""));
    if has_rest { found } else { Vec::new() }
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

fn is_tag(text: &str, open: &str, name: &str) -> bool {
    let rest = text.strip_prefix(open).and_then(|rest| rest.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with('>'))
}

fn has_words(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
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
