//! Text of plans and agents that is safe to show: without terminal control sequences, and with long text cut.

use std::borrow::Cow;

use planwright_core::text::{is_visible, visible};

/// Returns a shortened commit id.
pub fn short_commit(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// Returns text with all control characters shown as escapes; newlines stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| is_visible(c) || c == '\n') {
        return Cow::Borrowed(text);
    }
    let lines: Vec<_> = text.split('\n').map(visible).collect();
    Cow::Owned(lines.join("\n"))
}

/// Removes terminal control sequences. Of an unfinished one, only the start is removed.
pub fn without_sequences(text: &str) -> Cow<'_, str> {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, part)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = behind_sequence(part);
    }
    match rest.len() == text.len() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(out + rest),
    }
}

/// Returns the text after a sequence whose escape character is already removed.
fn behind_sequence(part: &str) -> &str {
    let mut chars = part.chars();
    let first = chars.next();
    let inner = chars.as_str();
    match first {
        // Parameters, then one letter.
        Some('[') => {
            let is_end = |c: char| c == '\u{1b}' || ('\u{40}'..='\u{7e}').contains(&c);
            let behind = inner.find(is_end).and_then(|at| inner.get(at..));
            behind
                .and_then(|behind| behind.strip_prefix(|c: char| c != '\u{1b}'))
                .unwrap_or(inner)
        }
        // A string for the terminal, such as a title or a link: up to a bell, or an escape and a backslash.
        Some(']' | 'P' | '_' | '^' | 'X') => {
            let behind = inner.find(['\u{7}', '\u{1b}']).and_then(|at| inner.get(at..));
            behind
                .and_then(|behind| behind.strip_prefix('\u{7}').or_else(|| behind.strip_prefix("\u{1b}\\")))
                .unwrap_or(inner)
        }
        // The choice of a character set has one more letter.
        Some('(' | ')' | '#') => {
            chars.next();
            chars.as_str()
        }
        // The end of a string that never began, and switches of one character.
        Some('\\' | '=' | '>' | '7' | '8' | 'c') => inner,
        _ => part,
    }
}

/// Returns text on one line, as [`printable`] does: line breaks and tabs become spaces.
pub fn one_line(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c })
        .collect();
    let words: Vec<&str> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
    printable(&words.join(" ")).into_owned()
}

/// Returns a task's name for people: in quotes and with escapes if it would look like another name, or like none.
pub fn shown_name(name: &str) -> String {
    let is_tidy = !name.is_empty() && !name.starts_with('"') && name.trim() == name && !name.contains("  ");
    if is_tidy && name.chars().all(|c| c == ' ' || (is_visible(c) && !c.is_whitespace())) {
        return name.to_owned();
    }
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' ' => out.push(c),
            // Unusual spaces would look like a normal one.
            c if c.is_whitespace() && is_visible(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push_str(&visible(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out.push('"');
    out
}

/// Returns text cut to a number of characters, with an ellipsis.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(most.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(printable("a\u{9b}31m"), "a\\u{9b}31m");
        assert_eq!(printable("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(printable("é😀\nx"), "é😀\nx");
    }

    #[test]
    fn misleading_names_are_quoted() {
        for plain in ["t1", "US-001", "a b", "#3", "é😀", "a\\b", "it's", "say \"x\""] {
            assert_eq!(shown_name(plain), plain);
        }
        for (name, shown) in [
            ("", r#""""#),
            ("  ", r#""  ""#),
            (" t1", r#"" t1""#),
            ("t1 ", r#""t1 ""#),
            ("a  b", r#""a  b""#),
            ("a\nb\t", r#""a\nb\t""#),
            ("t1\u{a0}", r#""t1\u{a0}""#),
            ("a\u{3000}b", r#""a\u{3000}b""#),
            ("t1\u{200b}", r#""t1\u{200b}""#),
            ("\u{1b}[2J\\", r#""\u{1b}[2J\\""#),
            ("\"t1\"", r#""\"t1\"""#),
        ] {
            assert_eq!(shown_name(name), shown);
        }
    }

    #[test]
    fn long_text_is_cut_at_characters() {
        assert_eq!(cut("éééé", 3), "éé…");
        assert_eq!(cut("ééé", 3), "ééé");
        assert_eq!(one_line("a\n  b\tc"), "a b c");
    }
}
