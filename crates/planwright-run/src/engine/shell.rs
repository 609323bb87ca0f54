//! Words as a shell would have to read them, for commands that users are told to type.

/// Returns a word as a shell would have to read it, where it is no option.
pub(super) fn argument(word: &str) -> String {
    match word.starts_with('-') {
        true => format!("'{}'", word.replace('\'', "'\\''")),
        false => shell_word(word),
    }
}

/// Returns a word as a shell would have to read it.
pub(super) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:+@%=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
