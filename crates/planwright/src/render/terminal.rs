//! Text that is safe to print: plans are strangers' text and must not drive the terminal.

use std::borrow::Cow;

use planwright_core::text::{is_visible, visible};
use serde::Serialize;

/// Returns text with everything that a terminal acts on shown as escapes; newlines stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| is_visible(c) || c == '\n') {
        return Cow::Borrowed(text);
    }
    let lines: Vec<_> = text.split('\n').map(visible).collect();
    Cow::Owned(lines.join("\n"))
}

/// Returns a value as JSON over several lines, ending with one; nothing in its strings can drive a terminal.
pub(crate) fn json_text(value: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    let mut out = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if is_visible(c) || c == '\n' {
            out.push(c);
            continue;
        }
        // Such characters stand in strings only, where JSON has an escape for each.
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out.push('\n');
    Ok(out)
}

/// The same on one line: line breaks and tabs become spaces.
pub(crate) fn one_line(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c })
        .collect();
    let words: Vec<&str> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
    printable(&words.join(" ")).into_owned()
}

/// Returns text cut to a number of characters, with an ellipsis.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(most.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

/// Colours, or none.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    pub(crate) fn new(is_on: bool) -> Self {
        Paint { is_on }
    }

    pub(crate) fn is_on(self) -> bool {
        self.is_on
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.is_on {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn error(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.with("1;33", text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn active(self, text: &str) -> String {
        self.with("36", text)
    }

    pub(crate) fn help(self, text: &str) -> String {
        self.with("1;36", text)
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
    fn json_stays_json() {
        let text = json_text(&"a\u{9b}\u{7f}\u{202e}é").expect("serializes");
        assert_eq!(text, "\"a\\u009b\\u007f\\u202eé\"\n");
        assert_eq!(
            serde_json::from_str::<String>(&text).expect("parses"),
            "a\u{9b}\u{7f}\u{202e}é"
        );
    }

    #[test]
    fn long_text_is_cut_at_characters() {
        assert_eq!(cut("éééé", 3), "éé…");
        assert_eq!(cut("ééé", 3), "ééé");
        assert_eq!(one_line("a\n  b\tc"), "a b c");
    }
}
