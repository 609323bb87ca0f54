//! Maps an unknown status word to one of the dialect's words: other spellings, typing errors, words of other tools.

/// Returns whether two texts are spellings of one word: `InProgress`, `in_progress`, `In progress`; `complete`, `completed`.
pub(super) fn is_same_word(a: &str, b: &str) -> bool {
    let plain = |word: &str| {
        let letters: String = word
            .chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect();
        letters.strip_suffix('d').map_or(letters.clone(), str::to_owned)
    };
    plain(a) == plain(b)
}

/// Returns the probable word: the only one with this prefix, otherwise the nearest.
pub(super) fn nearest<'w>(written: &str, words: &[&'w str]) -> Option<&'w str> {
    let lower = written.to_lowercase();
    let mut longer = words
        .iter()
        .filter(|word| lower.len() >= 3 && word.to_lowercase().starts_with(&lower));
    match (longer.next(), longer.next()) {
        (Some(word), None) => Some(word),
        _ => crate::diagnostic::nearest(written, words.iter().copied()),
    }
}

/// Words for a status that people and language models use, by the index of the canonical one.
const STATUS_WORDS: [&[&str]; 5] = [
    &[
        "pending",
        "todo",
        "to_do",
        "open",
        "new",
        "not_started",
        "queued",
        "ready",
        "waiting",
    ],
    &[
        "running",
        "in_progress",
        "inprogress",
        "started",
        "active",
        "doing",
        "wip",
        "executing",
    ],
    &[
        "done",
        "completed",
        "complete",
        "finished",
        "success",
        "succeeded",
        "passed",
        "closed",
        "ok",
    ],
    &["failed", "error", "failure", "errored"],
    &["skipped", "cancelled", "canceled", "ignored", "wontfix"],
];

/// Returns the status that a foreign word means.
pub(super) fn meant_status(written: &str, words: &[&'static str; 5]) -> Option<usize> {
    let lower = written.trim().to_lowercase().replace([' ', '-'], "_");
    let synonym = STATUS_WORDS
        .iter()
        .position(|synonyms| synonyms.contains(&lower.as_str()));
    synonym
        .or_else(|| {
            let near = nearest(written, words)?;
            words.iter().position(|word| *word == near)
        })
        .filter(|&at| !words[at].is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_tolerates_only_small_typos() {
        let words = ["research", "edit", "create"];
        assert_eq!(nearest("reserach", &words), Some("research"));
        assert_eq!(nearest("Edits", &words), Some("edit"));
        assert_eq!(nearest("refactor", &words), None);
    }
}
