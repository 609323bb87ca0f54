//! Text laid out for a number of columns: lines break between words, never within a command in backticks that fits a line.

use super::run::columns::columns;

/// Returns text as lines of at most this many columns. A word that is wider than a line has a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text, width) {
        let needed = columns(&line) + usize::from(!line.is_empty()) + columns(word);
        if needed > width && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Breaks each line of a text that is wider than this; what follows a break is indented as its line is.
pub(crate) fn wrapped_lines(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| {
        let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
        match columns(line) <= width || indent.len() * 2 > width {
            true => line.to_owned(),
            false => format!(
                "{indent}{}",
                wrapped(line, width - indent.len()).join(&format!("\n{indent}"))
            ),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns text cut to a number of columns at the end of a word, with an ellipsis; within a word where that is longer than half a
/// line.
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

/// Returns the beginning of a text that takes at most this many columns.
fn fit(text: &str, width: usize) -> &str {
    let mut taken = 0;
    let beyond = text.char_indices().find(|(_, c)| {
        taken += columns(c.encode_utf8(&mut [0; 4]));
        taken > width
    });
    beyond.map_or(text, |(at, _)| &text[..at])
}

/// Splits text at spaces, but not between backticks, so that a command can be copied from one line.
fn words(text: &str, width: usize) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(' ');
    while !rest.is_empty() {
        let space = rest.find(' ').unwrap_or(rest.len());
        let quoted = || {
            let open = rest[..space].find('`')?;
            let close = open + 1 + rest[open + 1..].find('`')?;
            let end = close + rest[close..].find(' ').unwrap_or(rest.len() - close);
            (end > space && columns(&rest[..end]) <= width).then_some(end)
        };
        let end = quoted().unwrap_or(space);
        let (word, behind) = rest.split_at(end);
        words.push(word);
        rest = behind.trim_start_matches(' ');
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
        assert_eq!(wrapped("an open ` tick here", 9), ["an open `", "tick here"]);
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
