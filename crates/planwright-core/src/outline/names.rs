//! Names of tasks in the form for comparison: without marks, case and small words.

/// Returns a text without Markdown marks around words, quotes around it and punctuation at its end.
pub(super) fn plain(text: &str) -> String {
    let unmarked: String = text.chars().filter(|c| !matches!(c, '`' | '*')).collect();
    let quotes = ['"', '\'', '“', '”', '‘', '’', '_'];
    let trimmed = unmarked.trim().trim_matches(quotes).trim();
    trimmed.trim_end_matches(['.', ':', ';', ',', ' ']).trim().to_owned()
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
    let words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let mut words: Vec<String> = words.filter(|word| !SMALL.contains(word)).map(str::to_owned).collect();
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
    let is_dash = !bare.is_empty()
        && bare
            .chars()
            .all(|c| matches!(c, '-' | '–' | '—' | '−' | '/' | '∅' | 'ø' | 'Ø'));
    #[rustfmt::skip]
    let words = [
        "", "none", "no", "nothing", "n/a", "na", "null", "nil", "no dependencies", "no dependency", "independent",
        "keine", "aucune", "aucun", "ninguna", "ninguno", "nenhuma", "nenhum", "nessuna", "nessuno", "нет", "なし", "无",
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
