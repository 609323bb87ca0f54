//! Text in terminal columns: its width, and the part that fits. Foreign text becomes one harmless line.

use unicode_width::UnicodeWidthChar as _;

use super::{one_line, without_sequences};

/// How many zero-width marks may follow one character. Languages need three; pranks use hundreds.
const MAX_MARKS: usize = 4;

/// How many characters of a line are read.
const MAX_CHARS: usize = 2_000;

pub fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// A mark that turns a symbol into an emoji makes it wider on many terminals; a too wide guess is harmless.
fn columns_of(c: char) -> usize {
    match c {
        '\u{fe0f}' => 1,
        c => c.width().unwrap_or(0),
    }
}

/// Returns as much of a text as fits, with an ellipsis if it was cut.
pub fn fit(text: &str, most: usize) -> String {
    let mut out = String::new();
    let (mut taken, mut n_marks) = (0, 0);
    // Where to cut if more text follows than fits next to an ellipsis.
    let mut cut_at = 0;
    for c in text.chars() {
        let wide = columns_of(c);
        n_marks = if wide == 0 { n_marks + 1 } else { 0 };
        if n_marks > MAX_MARKS {
            continue;
        }
        if taken + wide > most {
            out.truncate(cut_at);
            let end = out.trim_end().len();
            out.truncate(end);
            if most > 0 {
                out.push('…');
            }
            return out;
        }
        out.push(c);
        taken += wide;
        if taken < most {
            cut_at = out.len();
        }
    }
    out
}

/// Returns as much of a text as fits, padded with spaces.
pub fn fill(text: &str, width: usize) -> String {
    let mut out = fit(text, width);
    let missing = width.saturating_sub(columns(&out));
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

/// Returns a line of a program's output for people: control sequences are removed, or shown as escapes.
pub fn tame(line: &str) -> String {
    let short = match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => line.get(..end).unwrap_or(line),
        None => line,
    };
    one_line(&without_sequences(short))
}

/// Returns the part of a line that a terminal would finally show: progress output overwrites earlier text.
pub fn last_drawn(line: &str) -> &str {
    line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, most: usize, expected: &str) {
        let fitted = fit(text, most);
        assert_eq!(fitted, expected);
        assert!(columns(&fitted) <= most, "{fitted}");
    }

    #[test]
    fn text_is_cut_to_the_width() {
        check("abc", 3, "abc");
        check("abcd", 3, "ab…");
        check("ab cd", 4, "ab…");
        check("abc", 0, "");
        check("abc", 1, "…");
        check("", 0, "");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        check("日本語", 6, "日本語");
        check("日本語", 5, "日本…");
        check("日本語", 4, "日…");
        check("😀😀", 3, "😀…");
        assert_eq!(fill("日本", 6), "日本  ");
        assert_eq!(fill("日本語", 4), "日… ");
    }

    #[test]
    fn marks_do_not_pile_up() {
        let prank = format!("a{}b", "\u{301}".repeat(10_000));
        assert_eq!(fit(&prank, 2).chars().count(), 2 + MAX_MARKS);
        check("e\u{301}e", 2, "e\u{301}e");
    }

    #[test]
    fn control_characters_are_removed_from_output() {
        for (line, tamed) in [
            ("\u{1b}[1;31merror\u{1b}[0m: no", "error: no"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\ on", "link on"),
            ("\u{1b}(Bplain", "plain"),
            ("a\tb  c\u{7}", "a b c\\u{7}"),
            ("\u{9b}2J\u{202e}x", "\\u{9b}2J\\u{202e}x"),
            ("\u{1b}[", ""),
            ("\u{1b}", ""),
        ] {
            assert_eq!(tame(line), tamed);
        }
        assert!(tame(&"x".repeat(1_000_000)).len() <= MAX_CHARS);
    }

    #[test]
    fn the_last_drawn_text_of_a_line_counts() {
        assert_eq!(last_drawn("10 %\r20 %\r30 %"), "30 %");
        assert_eq!(last_drawn("done\r"), "done");
        assert_eq!(last_drawn("\r\r"), "");
        assert_eq!(last_drawn("plain"), "plain");
    }
}
