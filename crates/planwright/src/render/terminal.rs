//! Text that is safe to print: plans are strangers' text and must not drive the terminal.

use std::borrow::Cow;

/// Returns text with control characters, bidirectional overrides and the like shown as escapes; newlines stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| is_plain(c) || c == '\n') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push('\n'),
            c if is_plain(c) => out.push(c),
            c => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    Cow::Owned(out)
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

/// Returns false for characters that a terminal acts on instead of showing.
pub(crate) fn is_plain(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
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
    fn long_text_is_cut_at_characters() {
        assert_eq!(cut("éééé", 3), "éé…");
        assert_eq!(cut("ééé", 3), "ééé");
        assert_eq!(one_line("a\n  b\tc"), "a b c");
    }
}
