//! Names of tasks in the form for comparison: without marks, case and small words.

use std::ops::Range;

use crate::text::visible;

/// Returns a text without Markdown marks around words, quotes around it and punctuation at its end.
pub(super) fn plain(text: &str) -> String {
    let unmarked = without(text, &emphasis(text)).replace('`', "");
    let quotes = ['"', '\'', '“', '”', '‘', '’', '_'];
    let trimmed = unmarked.trim().trim_matches(quotes).trim();
    trimmed.trim_end_matches(['.', ':', ';', ',', ' ']).trim().to_owned()
}

/// Returns a text without some parts, which are in order.
pub(super) fn without(text: &str, parts: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for part in parts {
        out.push_str(text.get(at..part.start).unwrap_or(""));
        at = part.end;
    }
    out.push_str(text.get(at..).unwrap_or(""));
    out
}

/// Returns the stars that mark words: neither those of code and of paths, as in `src/*.ts`, nor those that stand alone.
pub(super) fn emphasis(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let last_tick = text.rfind('`');
    let mut found: Vec<Range<usize>> = Vec::new();
    let (mut at, mut in_code) = (0, false);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'`' => in_code = !in_code && last_tick > Some(start),
            b'*' if !in_code => {
                at += bytes.iter().skip(at).take_while(|byte| **byte == b'*').count();
                let before = start
                    .checked_sub(1)
                    .and_then(|at| bytes.get(at))
                    .copied()
                    .unwrap_or(b' ');
                let (after, second) = (bytes.get(at).copied().unwrap_or(b' '), bytes.get(at + 1).copied());
                let is_path = before == b'/'
                    || after == b'/'
                    || after == b'.'
                        && !before.is_ascii_alphanumeric()
                        && second.is_some_and(|c| c.is_ascii_alphanumeric());
                let is_apart = before == b' ' && after == b' ' && start > 0 && at < bytes.len();
                if !is_path && !is_apart {
                    found.push(start..at);
                }
            }
            _ => {}
        }
    }
    // A single star without another one marks nothing: `*args`.
    if found.iter().filter(|stars| stars.len() == 1).count() == 1 {
        let is_bold = |stars: &Range<usize>| stars.len() != 1 || stars.end == text.len();
        found.retain(is_bold);
    }
    found
}

/// Returns the range of a text that begins at an offset.
pub(super) fn range_from(at: usize, text: &str) -> Range<usize> {
    at..at + text.len()
}

/// Returns a text in the form for comparison: lower case, one space between words.
pub(super) fn folded(text: &str) -> String {
    let words: Vec<String> = plain(text).split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

/// Returns the words of a name, sorted, without those that have no meaning.
pub(super) fn key_words(text: &str) -> Vec<String> {
    const SMALL: [&str; 14] = [
        "a", "an", "the", "of", "to", "for", "in", "on", "and", "with", "from", "step", "task", "is",
    ];
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && !SMALL.contains(word));
    let mut words: Vec<String> = words.map(str::to_owned).collect();
    words.sort();
    words.dedup();
    words
}

/// Returns an id without common variations: letters in lower case, and numbers without leading zeros.
pub(super) fn bare_id(text: &str) -> String {
    let mut out = String::new();
    let mut is_leading = true;
    for c in text.chars().filter(|c| c.is_alphanumeric() || *c == '.') {
        if c == '0' && is_leading {
            continue;
        }
        is_leading = !c.is_ascii_digit();
        out.extend(c.to_lowercase());
    }
    out
}

/// Returns the number at the end of an id: 12 of `T-012`.
pub(super) fn last_number(id: &str) -> Option<u64> {
    let digits = id.bytes().rev().take_while(u8::is_ascii_digit).count();
    let number = id.get(id.len() - digits..)?;
    number.parse().ok()
}

/// Returns whether a text means "none".
pub(super) fn is_none_word(text: &str) -> bool {
    let bare = plain(text);
    let bare = bare.trim_matches(['(', ')', '[', ']', ' ']);
    // Dashes alone, or nothing at all.
    let is_dash = bare
        .chars()
        .all(|c| matches!(c, '-' | '–' | '—' | '−' | '/' | '∅' | 'ø' | 'Ø'));
    #[rustfmt::skip]
    let words = [
        "none", "no", "nothing", "n/a", "na", "null", "nil", "no dependencies", "no dependency", "independent",
        "keine", "keiner", "nichts", "aucune", "aucun", "rien", "nada", "ninguna", "ninguno", "nenhuma", "nenhum", "nessuna", "nessuno", "нет", "なし", "无",
        "無",
    ];
    is_dash || words.contains(&bare.to_lowercase().as_str())
}

/// Returns the longest start of a text that is one line of at most `most` bytes.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.floor_char_boundary(most);
    match line.get(..end) {
        Some(start) if end < line.len() => format!("{start}…"),
        _ => line,
    }
}

/// Returns a text as messages show it: in one line of at most `most` bytes.
pub(super) fn shown(text: &str, most: usize) -> String {
    visible(&one_line(text, most)).into_owned()
}
