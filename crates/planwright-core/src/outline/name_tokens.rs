//! Reads one name of a task in a sentence: an id, a number or a letter, with its noun and its range. Does not know sentences.

use std::ops::Range;

use super::dependency_words::Strength;

/// Returns whether a letter belongs to a script without spaces between words.
fn is_unspaced(c: char) -> bool {
    c >= '\u{2e80}'
}

pub(super) fn starts_with_words(text: &str, words: &str) -> bool {
    let after = text.strip_prefix(words);
    after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/')))
}

/// Skips a noun before a name, as in "step 2" and "tasks #3".
pub(super) fn skip_noun(lower: &str, at: usize) -> (usize, Option<&str>) {
    #[rustfmt::skip]
    const NOUNS: [&str; 38] = [
        "schritte", "schritten", "schritt", "aufgaben", "aufgabe", "étapes", "étape", "tâches", "tâche", "pasos",
        "paso", "tareas", "tarea", "etapas", "etapa", "passos", "passo", "passi", "tarefas", "tarefa", "steps",
        "step", "tasks", "task", "items", "item", "stories", "story", "tickets", "ticket", "issues", "issue",
        "phases", "phase", "stages", "stage", "milestone", "no.",
    ];
    let rest = lower.get(at..).unwrap_or("");
    #[rustfmt::skip]
    let articles = [
        "the ", "den ", "dem ", "l'", "l’", "la ", "las ", "los ", "el ", "les ", "o ", "os ", "as ", "lo ", "gli ",
    ];
    let rest = articles
        .iter()
        .find_map(|article| rest.strip_prefix(article))
        .unwrap_or(rest);
    let start = lower.len() - rest.len();
    for noun in ["タスク", "ステップ", "任务", "步骤", "第"] {
        if let Some(after) = rest.strip_prefix(noun) {
            return (
                lower.len() - after.trim_start().len(),
                lower.get(start..start + noun.len()),
            );
        }
    }
    let Some(noun) = NOUNS.iter().find(|noun| {
        rest.strip_prefix(**noun)
            .is_some_and(|after| after.starts_with([' ', '#']))
    }) else {
        return (at, None);
    };
    let after = start + noun.len();
    let gap = lower.get(after..).unwrap_or("");
    let trimmed = gap.trim_start();
    (after + (gap.len() - trimmed.len()), lower.get(start..after))
}

/// Reads "the previous two steps". Returns how many are meant, and the length of the words.
pub(super) fn previous_several(lower: &str) -> Option<(usize, usize)> {
    const COUNTS: [(&str, usize); 8] = [
        ("two", 2),
        ("2", 2),
        ("three", 3),
        ("3", 3),
        ("four", 4),
        ("4", 4),
        ("five", 5),
        ("5", 5),
    ];
    const WORDS: [&str; 3] = ["previous", "preceding", "last"];
    let mut rest = lower.strip_prefix("the ").unwrap_or(lower);
    let take = |rest: &str| {
        let word = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        word.len()
    };
    let (mut count, mut has_word) = (None, false);
    for _ in 0..2 {
        let word = rest.get(..take(rest))?;
        match COUNTS.iter().find(|(own, _)| *own == word) {
            Some((_, n)) if count.is_none() => count = Some(*n),
            None if !has_word && WORDS.contains(&word) => has_word = true,
            _ => return None,
        }
        rest = rest.get(word.len()..)?;
        rest = rest.strip_prefix(' ').unwrap_or(rest);
    }
    let noun = ["steps", "tasks", "items"]
        .iter()
        .find(|noun| starts_with_words(rest, noun));
    rest = noun.and_then(|noun| rest.strip_prefix(noun)).unwrap_or(rest);
    let n_bytes = lower.get(..lower.len() - rest.len())?.trim_end().len();
    count
        .filter(|_| has_word && (noun.is_some() || ends_here(lower, n_bytes)))
        .map(|n| (n, n_bytes))
}

/// Letters and digits in the form of an id: `T001`, `US-1`, `2.1`.
pub(super) struct IdForm {
    pub(super) letters: usize,
    /// The number of digits after the letters; 0 without an id.
    pub(super) n_digits: usize,
    /// The end, with the numbers after dots.
    pub(super) end: usize,
}

impl IdForm {
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let digits = |from: usize| {
            let rest = bytes.get(from..).unwrap_or_default();
            rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let letters = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let has_mark = letters > 0 && matches!(bytes.get(letters), Some(b'-' | b'_'));
        let start = letters + usize::from(has_mark);
        let n_digits = digits(start);
        let mut end = start + n_digits;
        while n_digits > 0 && bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        IdForm { letters, n_digits, end }
    }
}

pub(super) struct NameToken {
    pub(super) end: usize,
    pub(super) is_certain: bool,
    /// Only digits: may be a quantity.
    pub(super) is_number: bool,
}

/// Reads an id or a number: `T001`, `US-1`, `2.1`, `#3`, or a single capital letter.
pub(super) fn token(text: &str, at: usize, strength: Strength) -> Option<NameToken> {
    let rest = text.get(at..)?;
    let body = rest.trim_start_matches(['`', '*', '"', '#', '[']);
    let n_marks = rest.len() - body.len();
    if n_marks > 4 {
        return None;
    }
    let is_marked = rest.get(..n_marks)?.contains('#');
    let bytes = body.as_bytes();
    let IdForm {
        letters,
        n_digits,
        mut end,
    } = IdForm::of(body);
    if n_digits == 0 {
        let is_letter = letters == 1 && bytes.first().is_some_and(u8::is_ascii_uppercase);
        let after = body.get(1..)?;
        let is_alone = !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '\'' | '’'));
        // A small letter may be a word: "after a while".
        let is_small = letters == 1
            && (after.trim_end().is_empty()
                || after.starts_with([')', ',', ';', '.', ']', '}'])
                || joins_letters(after));
        // I, II, III: only valid if a task has this number, so `is_certain` stays false.
        let is_roman = (2..=5).contains(&letters)
            && body
                .get(..letters)?
                .bytes()
                .all(|byte| matches!(byte, b'I' | b'V' | b'X'))
            && !body.get(letters..)?.starts_with(|c: char| c.is_alphanumeric());
        if is_roman {
            return Some(NameToken {
                end: at + n_marks + letters + closing_marks(body.get(letters..).unwrap_or("")),
                is_certain: false,
                is_number: false,
            });
        }
        let is_letter = is_letter || is_small;
        let is_name = is_letter && is_alone;
        return is_name.then(|| NameToken {
            end: at + n_marks + 1 + closing_marks(body.get(1..).unwrap_or("")),
            is_certain: false,
            is_number: false,
        });
    }
    if bytes.get(end).is_some_and(u8::is_ascii_lowercase) && !bytes.get(end + 1).is_some_and(u8::is_ascii_alphanumeric)
    {
        end += 1;
    }
    let after = body.get(end..)?;
    let goes_on = |c: char| c.is_alphanumeric() && !is_unspaced(c) || matches!(c, '_' | '%' | '/');
    if after.starts_with(goes_on) || n_digits > 9 {
        return None;
    }
    let word = body.get(..letters)?;
    let is_short = letters <= 2 || word.bytes().all(|byte| byte.is_ascii_uppercase());
    // `auth-1` is a name if there is such a task; `utf-8` is none.
    let is_id = is_short || strength != Strength::Weak;
    if letters > 12 || !is_id && !matches!(bytes.get(letters), Some(b'-' | b'_')) {
        return None;
    }
    Some(NameToken {
        end: at + n_marks + end + closing_marks(after),
        is_certain: is_id,
        is_number: letters == 0 && !is_marked,
    })
}

/// A name in a list of names: "2" of "steps 1 and 2", "1-3", "phase 2".
pub(super) struct ListedName {
    pub(super) text: String,
    pub(super) range: Range<usize>,
    pub(super) is_certain: bool,
    pub(super) is_number: bool,
}

/// Reads a name with its range. `noun` is the one before it, or before the first name of its list.
pub(super) fn name_at(
    text: &str,
    lower: &str,
    at: usize,
    noun: Option<&str>,
    strength: Strength,
) -> Option<ListedName> {
    let first = token(text, at, strength)?;
    let end = range_end(text, lower, first.end, strength).map_or(first.end, |to| to.end);
    let written = text.get(at..end)?.trim_matches(['`', '*', '"', '[', ']']);
    let is_phase = |noun: &&str| matches!(*noun, "phase" | "phases" | "stage" | "stages" | "milestone");
    Some(ListedName {
        text: match noun.filter(is_phase) {
            Some(noun) => format!("{} {written}", noun.trim_end_matches('s')),
            None => written.to_owned(),
        },
        range: at..end,
        is_certain: first.is_certain,
        is_number: first.is_number,
    })
}

/// Returns whether another small letter follows: "b and c".
fn joins_letters(after: &str) -> bool {
    let rest = ["and ", "& ", "+ ", "or "]
        .iter()
        .find_map(|word| after.trim_start().strip_prefix(word))
        .unwrap_or("");
    let mut chars = rest.chars();
    chars.next().is_some_and(|c| c.is_ascii_lowercase()) && chars.next().is_none_or(|c| !c.is_alphanumeric())
}

fn closing_marks(after: &str) -> usize {
    after.len() - after.trim_start_matches(['`', '*', '"']).len()
}

/// Reads the end of a range: "–3" of "1–3".
fn range_end(text: &str, lower: &str, at: usize, strength: Strength) -> Option<NameToken> {
    let rest = lower.get(at..)?;
    let body = rest.trim_start();
    let marks = ["-", "–", "—", "..", "to ", "through "];
    let after = marks.iter().find_map(|mark| body.strip_prefix(mark))?;
    let after = after.trim_start();
    token(text, lower.len() - after.len(), strength)
}

/// Skips the text between two names.
pub(super) fn skip_separator(lower: &str, at: usize) -> Option<usize> {
    let rest = lower.get(at..)?;
    let body = rest.trim_start();
    let mut after = body.trim_start_matches([',', ';', '&', '+', '/', ']', '、', '，', 'と', '和']);
    let has_mark = after.len() < body.len();
    after = after.trim_start();
    for word in ["and ", "or ", "plus ", "und ", "et ", "y ", "e "] {
        if let Some(rest) = after.strip_prefix(word) {
            return Some(lower.len() - rest.trim_start().len());
        }
    }
    has_mark.then(|| lower.len() - after.len())
}

/// Returns whether a clause can end at an offset, so that a number before it is a name.
pub(super) fn ends_here(lower: &str, at: usize) -> bool {
    let rest = lower.get(at..).unwrap_or("").trim_start();
    #[rustfmt::skip]
    let verbs = [
        "is ", "are ", "has ", "have ", "was ", "land", "pass", "complete", "done", "finish", "merge", "but ",
        "except", "ab", "est ", "ist ", "está", "to be ", "to finish", "to complete", "to land", "to pass", "first",
        "succeed", "can ", "may ", "start", "begin",
    ];
    rest.is_empty()
        || rest.starts_with([')', '.', ',', ';', ']', '}', ':', '*', '_', '|', '–', '—', '-', '('])
        || rest.starts_with(is_unspaced)
        || verbs.iter().any(|verb| rest.starts_with(verb))
}
