//! Reads one name of a task in a sentence: an id, a number or a letter, with its noun and its range. Does not know sentences.

use std::ops::Range;

use super::dependency_words::Strength;
use super::names::range_from;
use super::words::{after_any, start_of, starts_with_any, words_at};

/// Returns whether a letter belongs to a script without spaces between words.
fn is_unspaced(c: char) -> bool {
    c >= '\u{2e80}'
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
    let rest = after_any(rest, &articles).unwrap_or(rest);
    let start = lower.len() - rest.len();
    let is_noun = |noun: &&str| {
        rest.strip_prefix(*noun)
            .is_some_and(|after| after.starts_with([' ', '#']))
    };
    let unspaced = start_of(rest, &["タスク", "ステップ", "任务", "步骤", "第"]);
    let Some(noun) = unspaced.or_else(|| NOUNS.into_iter().find(is_noun)) else {
        return (at, None);
    };
    let after = rest.get(noun.len()..).unwrap_or("").trim_start();
    (lower.len() - after.len(), lower.get(range_from(start, noun)))
}

/// Reads "the previous two steps". Returns how many are meant, and the length of the words.
pub(super) fn previous_several(lower: &str) -> Option<(usize, usize)> {
    const WORDS: [&str; 3] = ["previous", "preceding", "last"];
    let mut rest = lower.strip_prefix("the ").unwrap_or(lower);
    let (mut count, mut has_word) = (None, false);
    for _ in 0..2 {
        let word = rest.split(|c: char| !c.is_alphanumeric()).next()?;
        let n = match word {
            "two" | "2" => Some(2),
            "three" | "3" => Some(3),
            "four" | "4" => Some(4),
            "five" | "5" => Some(5),
            _ => None,
        };
        match n {
            Some(_) if count.is_none() => count = n,
            None if !has_word && WORDS.contains(&word) => has_word = true,
            _ => return None,
        }
        rest = rest.get(word.len()..)?;
        rest = rest.strip_prefix(' ').unwrap_or(rest);
    }
    let noun = words_at(rest, &["steps", "tasks", "items"]);
    let rest = rest.get(noun.map_or(0, str::len)..)?;
    let n_bytes = lower.get(..lower.len() - rest.len())?.trim_end().len();
    let is_whole = has_word && (noun.is_some() || ends_here(lower, n_bytes));
    Some((count.filter(|_| is_whole)?, n_bytes))
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

/// Reads an id or a number: `T001`, `US-1`, `2.1`, `#3`, a single capital letter, or a Roman number.
pub(super) fn token(text: &str, at: usize, strength: Strength) -> Option<NameToken> {
    let rest = text.get(at..)?;
    let body = rest.trim_start_matches(['`', '*', '"', '#', '[']);
    let n_marks = rest.len() - body.len();
    if n_marks > 4 {
        return None;
    }
    let form = IdForm::of(body);
    let (n_bytes, is_certain) = match form.n_digits {
        0 => (letters_len(body, form.letters)?, false),
        _ => id_len(body, &form, strength)?,
    };
    let after = body.get(n_bytes..)?;
    let n_closing = after.len() - after.trim_start_matches(['`', '*', '"']).len();
    Some(NameToken {
        end: at + n_marks + n_bytes + n_closing,
        is_certain,
        is_number: form.n_digits > 0 && form.letters == 0 && !rest.get(..n_marks)?.contains('#'),
    })
}

/// Returns the length of a name without digits at the start of a text: `B`, `III`. It is one only if there is such a task.
fn letters_len(body: &str, n_letters: usize) -> Option<usize> {
    let (letters, after) = body.split_at_checked(n_letters)?;
    let is_roman = (2..=5).contains(&n_letters)
        && letters.bytes().all(|byte| matches!(byte, b'I' | b'V' | b'X'))
        && !after.starts_with(|c: char| c.is_alphanumeric());
    // A small letter may be a word: "after a while".
    let is_letter = || {
        letters.bytes().all(|byte| byte.is_ascii_uppercase())
            || after.trim_end().is_empty()
            || after.starts_with([')', ',', ';', '.', ']', '}'])
            || joins_letters(after)
    };
    let is_alone = || !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '\'' | '’'));
    (is_roman || n_letters == 1 && is_letter() && is_alone()).then_some(n_letters)
}

/// Returns the length of an id or a number at the start of a text, and whether it certainly is one.
fn id_len(body: &str, form: &IdForm, strength: Strength) -> Option<(usize, bool)> {
    let bytes = body.as_bytes();
    let has_letter_after = bytes.get(form.end).is_some_and(u8::is_ascii_lowercase)
        && !bytes.get(form.end + 1).is_some_and(u8::is_ascii_alphanumeric);
    let end = form.end + usize::from(has_letter_after);
    let goes_on = |c: char| c.is_alphanumeric() && !is_unspaced(c) || matches!(c, '_' | '%' | '/');
    if body.get(end..)?.starts_with(goes_on) || form.n_digits > 9 {
        return None;
    }
    let is_short = form.letters <= 2 || body.get(..form.letters)?.bytes().all(|byte| byte.is_ascii_uppercase());
    // `auth-1` is a name if there is such a task; `utf-8` is none.
    let is_id = is_short || strength != Strength::Weak;
    let is_name = is_id || matches!(bytes.get(form.letters), Some(b'-' | b'_'));
    (form.letters <= 12 && is_name).then_some((end, is_id))
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
    let rest = after_any(after.trim_start(), &["and ", "& ", "+ ", "or "]).unwrap_or("");
    let mut chars = rest.chars();
    chars.next().is_some_and(|c| c.is_ascii_lowercase()) && chars.next().is_none_or(|c| !c.is_alphanumeric())
}

/// Reads the end of a range: "–3" of "1–3".
fn range_end(text: &str, lower: &str, at: usize, strength: Strength) -> Option<NameToken> {
    let marks = ["-", "–", "—", "..", "to ", "through "];
    let after = after_any(lower.get(at..)?.trim_start(), &marks)?.trim_start();
    token(text, lower.len() - after.len(), strength)
}

/// Skips the text between two names.
fn skip_separator(lower: &str, at: usize) -> Option<usize> {
    let body = lower.get(at..)?.trim_start();
    let after = body.trim_start_matches([',', ';', '&', '+', '/', ']', '、', '，', 'と', '和']);
    let has_mark = after.len() < body.len();
    let words = ["and ", "or ", "plus ", "und ", "et ", "y ", "e "];
    let next = after_any(after.trim_start(), &words).or(has_mark.then_some(after))?;
    Some(lower.len() - next.trim_start().len())
}

/// Reads a list of names such as "steps 1, 2 and T3", and skips `small` words before each. `read` gets the place of a name and the noun
/// before it or before an earlier one, and returns where the name ends. Returns the end of the last name, and the last noun.
pub(super) fn each_name<'t>(
    lower: &'t str,
    start: usize,
    small: &[&str],
    mut read: impl FnMut(usize, Option<&'t str>) -> Option<usize>,
) -> (usize, Option<&'t str>) {
    let (mut at, mut end, mut noun) = (start, start, None);
    loop {
        for word in small {
            let is_next = lower.get(at..).is_some_and(|rest| rest.starts_with(word));
            at += if is_next { word.len() } else { 0 };
        }
        let (next, own) = skip_noun(lower, at);
        noun = own.or(noun);
        let Some(after) = read(next, noun) else {
            return (end, noun);
        };
        end = after;
        match skip_separator(lower, end) {
            Some(next) => at = next,
            None => return (end, noun),
        }
    }
}

/// Skips marks, and words that `word_at` finds, from an offset on.
pub(super) fn skip_words<'w>(
    lower: &str,
    mut at: usize,
    marks: &[char],
    word_at: impl Fn(&str) -> Option<&'w str>,
) -> usize {
    loop {
        let rest = lower.get(at..).unwrap_or("");
        let trimmed = rest.trim_start_matches(marks);
        at += rest.len() - trimmed.len();
        match word_at(trimmed) {
            Some(word) => at += word.len(),
            None => return at,
        }
    }
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
        || starts_with_any(rest, &verbs)
}
