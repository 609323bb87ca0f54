//! Questions about the words of a text: which of several it has, or begins with.

pub(super) fn has_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

pub(super) fn starts_with_any(text: &str, starts: &[&str]) -> bool {
    start_of(text, starts).is_some()
}

/// Returns the first of several starts with which a text begins.
pub(super) fn start_of<'w>(text: &str, starts: &[&'w str]) -> Option<&'w str> {
    starts.iter().copied().find(|start| text.starts_with(start))
}

/// Returns the text after the first of several starts with which it begins.
pub(super) fn after_any<'t>(text: &'t str, starts: &[&str]) -> Option<&'t str> {
    starts.iter().find_map(|start| text.strip_prefix(start))
}

/// Returns the first of several words or phrases with which a text begins, if none of their letters continues it.
pub(super) fn words_at<'w>(text: &str, words: &[&'w str]) -> Option<&'w str> {
    let continues = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/');
    let is_start = |words: &&str| {
        text.strip_prefix(*words)
            .is_some_and(|after| !after.starts_with(continues))
    };
    words.iter().copied().find(is_start)
}

/// Returns whether a character ends a sentence or a line, by the text after it.
pub(super) fn ends_sentence(c: char, after: &str) -> bool {
    match c {
        ';' | '。' | '\n' => true,
        '.' => after.chars().next().is_none_or(char::is_whitespace),
        _ => false,
    }
}
