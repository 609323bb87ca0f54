//! Wraps text at a number of columns: between words, and never inside a command that users type.

use planwright_verbs::text::{columns, without_sequences};

/// Returns text as lines of at most this many columns. A word that is wider than a line has a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    wrapped_after(text, width, width)
}

/// Returns a line that begins with `start`, wrapped. Wrapped text is aligned with the text. After a start that takes more than half of the
/// width, it is indented by four columns. Neither text contains line breaks.
pub(crate) fn hanging(start: &str, text: &str, width: usize) -> String {
    let used = shown_columns(start);
    let indent = if used > width / 2 { 4 } else { used };
    let lines = wrapped_after(text, width.saturating_sub(used), width.saturating_sub(indent));
    let is_alone = lines.first().is_none_or(String::is_empty);
    let start = if is_alone { start.trim_end() } else { start };
    format!("{start}{}", lines.join(&format!("\n{}", " ".repeat(indent))))
}

/// Returns a wrapped text; further lines are indented.
pub(crate) fn below(text: &str, indent: &str, width: usize) -> String {
    let lines = wrapped_after(text, width, width.saturating_sub(indent.len()));
    lines.join(&format!("\n{indent}"))
}

/// Returns text as lines; the first one has a different width. It is empty if the first word only fits a later line.
fn wrapped_after(text: &str, first_width: usize, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut most = first_width;
    for (gap, word) in words(text, width) {
        let is_begun = !line.is_empty();
        let gap = if is_begun { gap } else { "" };
        let needed = shown_columns(&line) + gap.len() + shown_columns(word);
        if needed > most && (is_begun || most < width) {
            lines.push(std::mem::take(&mut line));
            most = width;
        } else {
            line.push_str(gap);
        }
        line.push_str(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Returns the width in columns of a text with our own colours.
fn shown_columns(text: &str) -> usize {
    columns(&without_sequences(text))
}

/// Wraps each line of a text that is wider than this; further lines have the indentation of their line.
pub(crate) fn wrapped_lines(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| {
        let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
        match shown_columns(line) <= width || indent.len() * 2 > width {
            true => line.to_owned(),
            false => format!(
                "{indent}{}",
                wrapped(line, width - indent.len()).join(&format!("\n{indent}"))
            ),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns text cut to a number of columns at the end of a word, with an ellipsis; inside a word that is longer than half a line.
pub(crate) fn cut_at_word(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let fits = fit(text, width.saturating_sub(1));
    let at_word = match text[fits.len()..].starts_with(' ') {
        true => fits,
        false => fits.rfind(' ').map_or(fits, |at| &fits[..at]),
    };
    let kept = if columns(at_word) * 2 < width { fits } else { at_word };
    format!("{}…", kept.trim_end_matches([' ', ',', ';', ':']))
}

/// Returns the start of a text that takes at most this many columns.
fn fit(text: &str, width: usize) -> &str {
    let mut taken = 0;
    let beyond = text.char_indices().find(|(_, c)| {
        taken += columns(c.encode_utf8(&mut [0; 4]));
        taken > width
    });
    beyond.map_or(text, |(at, _)| &text[..at])
}

/// The start of commands that users type: they are never wrapped.
const TYPED: [&str; 3] = ["planwright ", "git ", "rm "];

/// Splits text at spaces, but not between backticks, so that a command can be copied from one line. Each word comes with the spaces before
/// it.
fn words(text: &str, width: usize) -> Vec<(&str, &str)> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(' ');
    let mut gap = "";
    while !rest.is_empty() {
        let space = rest.find(' ').unwrap_or(rest.len());
        let quoted = || {
            let open = rest[..space].find('`')?;
            let close = open + 1 + rest[open + 1..].find('`')?;
            let end = close + rest[close..].find(' ').unwrap_or(rest.len() - close);
            let is_typed = TYPED.iter().any(|program| rest[open + 1..].starts_with(program));
            (end > space && (is_typed || shown_columns(&rest[..end]) <= width)).then_some(end)
        };
        let end = quoted().unwrap_or(space);
        let (word, behind) = rest.split_at(end);
        words.push((gap, word));
        rest = behind.trim_start_matches(' ');
        gap = &behind[..behind.len() - rest.len()];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three four", 9), ["one two", "three", "four"]);
        assert_eq!(wrapped("a verylongwordindeed b", 8), ["a", "verylongwordindeed", "b"]);
        assert_eq!(wrapped("日本 語の 文書", 9), ["日本 語の", "文書"]);
        assert_eq!(wrapped("", 9), [""]);
        assert_eq!(wrapped_lines("a b\n  one two three\n", 9), "a b\n  one two\n  three\n");
    }

    #[test]
    fn commands_stay_whole() {
        let text = "see `planwright show x`, then go";
        assert_eq!(wrapped(text, 22), ["see", "`planwright show x`,", "then go"]);
        assert_eq!(wrapped("`a b c d e`", 5), ["`a b", "c d", "e`"]);
        assert_eq!(wrapped("do `git rm -r a` now", 5), ["do", "`git rm -r a`", "now"]);
        assert_eq!(wrapped("an open ` tick here", 9), ["an open `", "tick here"]);
    }

    #[test]
    fn wrapped_lines_are_indented_to_the_text() {
        let below_a_wide_start = "12:00  t1  one two\n    three";
        assert_eq!(hanging("12:00  t1  ", "one two three", 20), below_a_wide_start);
        assert_eq!(hanging("a: ", "one two  three", 11), "a: one two\n   three");
        assert_eq!(hanging("a: ", "one  two three", 13), "a: one  two\n   three");
        assert_eq!(hanging("  ", "", 20), "");
        // A word that fits a line of its own is not squeezed in after the start.
        assert_eq!(
            hanging("a long start  ", "unbreakable", 16),
            "a long start\n    unbreakable"
        );
        let coloured = "\u{1b}[1mone\u{1b}[0m two";
        assert_eq!(hanging("", coloured, 7), coloured);
    }

    #[test]
    fn text_is_cut_at_the_end_of_a_word() {
        assert_eq!(cut_at_word("one two three", 13), "one two three");
        assert_eq!(cut_at_word("one two three", 12), "one two…");
        assert_eq!(cut_at_word("one, two three", 6), "one…");
        assert_eq!(cut_at_word("verylongword indeed", 8), "verylon…");
        assert_eq!(cut_at_word("日本語の文書", 6), "日本…");
    }
}
