//! Reads dependencies in a sentence, such as "(depends on 1, 2)", "after step 2" and "blocked by: 1-3".

use std::ops::Range;

use super::dependency_words::{
    MARKERS, MARKERS_AFTER, MARKERS_WITHOUT_SPACES, Markers, OTHER_WORDS, PHRASES, Strength,
};
use super::name_tokens::{
    IdForm, ListedName, ends_here, name_at, previous_several, skip_noun, skip_separator, starts_with_words, token,
};
use super::names::is_none_word;
use super::raw::Reference;
use crate::text::Span;

/// A name of a task in a sentence.
#[derive(Debug, PartialEq)]
pub(super) struct Mention {
    pub(super) text: String,
    pub(super) range: Range<usize>,
    /// Whether it has the form of an id or a number.
    pub(super) is_certain: bool,
    /// Whether the named task depends on the sentence's task.
    pub(super) is_reverse: bool,
}

impl Mention {
    pub(super) fn reference(&self, place: Span) -> Reference {
        Reference {
            text: self.text.clone(),
            place,
            is_certain: self.is_certain,
        }
    }
}

/// The dependencies in a sentence.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Mentions {
    pub(super) found: Vec<Mention>,
    /// Whether it states that there are none.
    pub(super) says_none: bool,
    /// Parts that look like a dependency in an unknown form.
    pub(super) doubts: Vec<Range<usize>>,
    /// The parts of the text with no other content.
    pub(super) clauses: Vec<Range<usize>>,
}

/// How much of a text is searched: one item's dependencies are short.
const MAX_BYTES: usize = 2_000;

/// Finds the dependencies that a text names.
pub(super) fn mentions(text: &str) -> Mentions {
    let text = text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or(text);
    let lower = text.to_ascii_lowercase();
    let mut out = Mentions::default();
    let mut at = 0;
    while at < lower.len() {
        let rest = lower.get(at..).unwrap_or("");
        let is_start = at == 0
            || !lower
                .get(..at)
                .is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '-'));
        if let Some(words) = MARKERS_AFTER.iter().find(|words| rest.starts_with(**words)) {
            read_before(text, at, at + words.len(), &mut out);
            at += words.len();
            continue;
        }
        if let Some(end) = arrow_at_end(text, at, &mut out) {
            at = end;
            continue;
        }
        if let Some(words) = MARKERS_WITHOUT_SPACES.iter().find(|words| rest.starts_with(**words)) {
            let after = at + words.len();
            at = read_after(text, &lower, at, after, (Strength::Label, false), &mut out).max(after);
            continue;
        }
        let found = |markers: &'static Markers| {
            let words = markers.words.iter().find(|words| starts_with_words(rest, words))?;
            Some((*words, markers.strength, markers.is_reverse))
        };
        let Some((words, strength, is_reverse)) = MARKERS.iter().filter(|_| is_start).find_map(found) else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        let after = at + words.len();
        let end = match sense_of(&lower, at, words, strength) {
            Sense::Plain => read_after(text, &lower, at, after, (strength, is_reverse), &mut out),
            // "must not start before 4" is "after 4".
            Sense::Wait => read_after(text, &lower, at, after, (strength, false), &mut out),
            sense => {
                let mut trial = Mentions::default();
                let end = read_after(text, &lower, at, after, (strength, is_reverse), &mut trial);
                let is_named = trial.found.iter().any(|mention| mention.is_certain);
                match sense {
                    Sense::Negated => out.says_none |= is_named || is_own_clause(&lower, at, after),
                    _ if is_named => out.doubts.push(at..end),
                    _ => {}
                }
                end
            }
        };
        at = end.max(after);
    }
    out
}

/// Reads an arrow back to ids that ends a text: "Enable the checks <- 2, 3". Returns where it ends.
fn arrow_at_end(text: &str, at: usize, out: &mut Mentions) -> Option<usize> {
    let rest = text.get(at..)?;
    let arrow = ["<--", "<-", "←"].iter().find(|arrow| rest.starts_with(**arrow))?;
    let before = text.get(..at)?;
    let start = at + arrow.len();
    let names = ids_within(text.get(start..)?, start)?;
    if !before.ends_with([' ', '\t']) || before.trim().is_empty() {
        return None;
    }
    out.found.extend(names.into_iter().map(|(text, range)| Mention {
        text,
        range,
        is_certain: true,
        is_reverse: false,
    }));
    out.clauses.push(before.trim_end().len()..text.len());
    Some(text.len())
}

/// Returns the ids and numbers that a text lists, where it has nothing else.
fn ids_within(text: &str, offset: usize) -> Option<Vec<(String, Range<usize>)>> {
    let mut found = Vec::new();
    let mut at = offset;
    for part in text.split_inclusive([',', ';', '&', '+']) {
        let name = part.trim_matches([',', ';', '&', '+', ' ', '\t', '`', '#', '.']);
        let form = IdForm::of(name);
        if form.n_digits == 0 || form.end != name.len() || name.len() > 16 {
            return None;
        }
        let start = at + part.find(name)?;
        found.push((name.to_owned(), start..start + name.len()));
        at += part.len();
    }
    (!found.is_empty()).then_some(found)
}

/// Returns the ids in brackets at the end of a text that has nothing else in them: "Ship both (A1, A2)", `Test it [1]`. One number in
/// round brackets is more often a remark.
pub(super) fn bracketed_ids(text: &str) -> Option<Vec<(String, Range<usize>)>> {
    let body = text.trim_end().trim_end_matches('.');
    let (open, inner) = [('(', ')'), ('[', ']')].iter().find_map(|&(open, close)| {
        let inner = body.strip_suffix(close)?;
        let at = inner.rfind(open)?;
        Some((at, inner.get(at + 1..)?))
    })?;
    let ids = ids_within(inner, open + 1)?;
    let is_number = |(id, _): &(String, Range<usize>)| id.bytes().all(|byte| byte.is_ascii_digit());
    let is_remark = body.ends_with(')') && ids.len() == 1 && ids.iter().all(is_number);
    (!is_remark && !text.get(..open)?.trim().is_empty()).then_some(ids)
}

/// Reads the names right before a marker: "1、2に依存".
fn read_before(text: &str, at: usize, end: usize, out: &mut Mentions) {
    let before = text.get(..at).unwrap_or("");
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '#') || is_list_mark(c);
    let names = before.trim_end_matches(is_part);
    let start = names.len();
    let mut at = start;
    let mut found = false;
    for part in before.get(start..).unwrap_or("").split_inclusive(is_list_mark) {
        let name = part.trim_matches(is_list_mark);
        if name.contains(|c: char| c.is_ascii_digit()) {
            let from = at + part.find(name).unwrap_or(0);
            out.found.push(Mention {
                text: name.to_owned(),
                range: from..from + name.len(),
                is_certain: true,
                is_reverse: false,
            });
            found = true;
        }
        at += part.len();
    }
    if found {
        out.clauses.extend(clause(text, start, end));
    }
}

fn is_list_mark(c: char) -> bool {
    matches!(c, ' ' | ',' | '、' | '，' | 'と' | '和' | '与')
}

/// Returns the numbers of a bracket at the end of a text, with words before or after them: "(zależy od 3)".
pub(super) fn hints(text: &str) -> Vec<(String, Range<usize>)> {
    let body = text.trim_end().trim_end_matches(['.', '。']);
    let inner = body.strip_suffix([')', '）']).unwrap_or("");
    let Some(open) = inner.rfind(['(', '（']) else {
        return Vec::new();
    };
    let start = open
        + inner
            .get(open..)
            .and_then(|rest| rest.chars().next())
            .map_or(1, char::len_utf8);
    let inner = inner.get(start..).unwrap_or("");
    let (mut found, mut n_words, mut at) = (Vec::new(), 0, start);
    for part in inner.split_inclusive([' ', ',', ':', '：', '、', ';']) {
        let word = part.trim_end_matches([' ', ',', ':', '：', '、', ';']);
        let is_number = !word.is_empty() && word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
        if is_number {
            found.push((word.to_owned(), at..at + word.len()));
        } else if !word.is_empty() {
            let is_word = word.chars().all(char::is_alphabetic) && !OTHER_WORDS.contains(&word.to_lowercase().as_str());
            // Other content than words and numbers makes this a remark.
            if !is_word {
                return Vec::new();
            }
            n_words += 1;
        }
        at += part.len();
    }
    if n_words == 0 || n_words > 4 { Vec::new() } else { found }
}

/// How the words before a marker change its meaning.
#[derive(Clone, Copy, PartialEq)]
enum Sense {
    Plain,
    /// "does not depend on 1".
    Negated,
    /// "must not start before 4", "blocked until 3 is done".
    Wait,
    /// "keep it until 5".
    Unclear,
}

fn sense_of(lower: &str, at: usize, marker: &str, strength: Strength) -> Sense {
    let clause = lower.get(..at).unwrap_or("");
    let clause = clause.rsplit(['.', ';', ',', '(', '[', ':', '\n']).next().unwrap_or("");
    let is_not = |word: &str| {
        let is_word = ["not", "no", "never", "cannot", "without", "nicht", "pas", "non"].contains(&word);
        is_word || word.ends_with("n't") || word.ends_with("n’t")
    };
    let mut words = clause.split_whitespace().rev();
    match marker {
        "before" => match words.take(4).any(is_not) {
            true => Sense::Wait,
            false => Sense::Plain,
        },
        "until" => {
            #[rustfmt::skip]
            let waits = [
                "blocked", "wait", "waits", "hold", "held", "deferred", "postponed", "only",
            ];
            match words.take(4).any(|word| is_not(word) || waits.contains(&word)) {
                true => Sense::Wait,
                false => Sense::Unclear,
            }
        }
        _ => {
            let n_words = if strength == Strength::Weak { 1 } else { 2 };
            match words.by_ref().take(n_words).any(is_not) {
                true => Sense::Negated,
                false => Sense::Plain,
            }
        }
    }
}

/// Returns whether "no" and a marker are a whole clause: "(no dependencies)".
fn is_own_clause(lower: &str, start: usize, end: usize) -> bool {
    let before = lower.get(..start).unwrap_or("").trim_end();
    let Some(before) = before.strip_suffix("no") else {
        return false;
    };
    let after = lower.get(end..).unwrap_or("").trim_start();
    let before = before.trim_end();
    (before.is_empty() || before.ends_with(['.', ';', ',', '(', '[', '-', '–', '—']))
        && (after.is_empty() || after.starts_with(['.', ';', ',', ')', ']']))
}

/// Reads the text after a marker. Returns its end.
fn read_after(
    text: &str,
    lower: &str,
    start: usize,
    after: usize,
    (strength, is_reverse): (Strength, bool),
    out: &mut Mentions,
) -> usize {
    let at = skip_filler(lower, after);
    let has_colon = lower.get(after..at).is_some_and(|gap| gap.contains([':', '：', '=']));
    let mut names = NamesAfterMarker {
        at,
        end: at,
        found: Vec::new(),
        may_be_quantity: true,
    };
    names.read(text, lower, (strength, is_reverse));
    let NamesAfterMarker {
        at,
        mut end,
        found,
        may_be_quantity,
    } = names;
    if found.is_empty() {
        if !has_colon && let Some((found, end)) = names_of_part(text, lower, at) {
            let reversed = |mention| Mention { is_reverse, ..mention };
            out.found.extend(found.into_iter().map(reversed));
            return end;
        }
        if strength != Strength::Strong && !has_colon {
            return after;
        }
        end = clause_end(text, at);
        let words = text.get(at..end).unwrap_or("").trim();
        if is_none_word(words) && (has_colon || !words.is_empty()) {
            out.says_none = true;
        } else if words.is_empty() {
            return after;
        } else {
            out.found.push(Mention {
                text: words.to_owned(),
                range: at..at + words.len(),
                is_certain: false,
                is_reverse,
            });
        }
    } else if may_be_quantity && !ends_here(lower, end) {
        // "after 2 hours", "needs 3 approvals".
        if !is_quantity(lower, end) {
            out.doubts.push(start..end);
        }
        return after;
    }
    out.found.extend(found);
    out.clauses.extend(clause(text, start, end));
    end
}

/// Reads the tasks in "the interface from step 1", up to the end of the clause: only those with a noun. Returns where they end.
fn names_of_part(text: &str, lower: &str, at: usize) -> Option<(Vec<Mention>, usize)> {
    let clause = lower.get(at..clause_end(text, at))?;
    let preposition = [" from ", " of ", " in "].into_iter().find_map(|word| {
        let start = at + clause.find(word)? + word.len();
        let (next, noun) = skip_noun(lower, start);
        (next > start && noun.is_some()).then_some(start)
    });
    let mut names = NamesAfterMarker {
        at: preposition?,
        end: at,
        found: Vec::new(),
        may_be_quantity: true,
    };
    names.read(text, lower, (Strength::Strong, false));
    let is_named = !names.found.is_empty() && names.found.iter().all(|mention| mention.is_certain);
    is_named.then_some((names.found, names.end))
}

/// The names that follow a marker, in progress.
struct NamesAfterMarker {
    at: usize,
    /// The end of the last name.
    end: usize,
    found: Vec<Mention>,
    /// Whether they are numbers without a noun.
    may_be_quantity: bool,
}

impl NamesAfterMarker {
    fn read(&mut self, text: &str, lower: &str, (strength, is_reverse): (Strength, bool)) {
        let mut word: Option<&str> = None;
        loop {
            let (next, noun) = skip_noun(lower, self.at);
            word = noun.or(word);
            self.at = next;
            let phrase = phrase_at(text, lower, next);
            let Some(name) = phrase.or_else(|| name_at(text, lower, next, word, strength)) else {
                break;
            };
            // "step 2 of phase 1".
            let group = group_after(lower, name.range.end).filter(|_| name.is_number);
            let (text_of_name, range) = match group {
                Some(end) => (
                    text.get(name.range.start..end).unwrap_or("").to_owned(),
                    name.range.start..end,
                ),
                None => (name.text, name.range),
            };
            self.end = range.end;
            self.may_be_quantity &= name.is_number && group.is_none();
            self.found.push(Mention {
                text: text_of_name,
                range,
                is_certain: name.is_certain,
                is_reverse,
            });
            match skip_separator(lower, self.end) {
                Some(next) => self.at = next,
                None => break,
            }
        }
        self.may_be_quantity &= word.is_none();
    }
}

/// Returns the end of " of phase 1" at a place.
fn group_after(lower: &str, at: usize) -> Option<usize> {
    let rest = lower.get(at..)?;
    let after = [" of phase ", " in phase ", " from phase "]
        .iter()
        .find_map(|words| rest.strip_prefix(words))?;
    let n_digits = after.bytes().take_while(u8::is_ascii_digit).count();
    (n_digits > 0).then(|| lower.len() - after.len() + n_digits)
}

/// Reads a phrase that names several tasks, such as "all of the above" and "everything except 3".
fn phrase_at(text: &str, lower: &str, at: usize) -> Option<ListedName> {
    let rest = lower.get(at..)?;
    if let Some((_, n_bytes)) = previous_several(rest) {
        return Some(ListedName {
            text: rest.get(..n_bytes)?.to_owned(),
            range: at..at + n_bytes,
            is_certain: true,
            is_number: false,
        });
    }
    PHRASES.iter().find_map(|phrase| {
        let end = at + phrase.len();
        let except = || exception(text, lower, end);
        let is_bare = ["all", "everything"].contains(phrase);
        if !starts_with_words(rest, phrase) || is_bare && !ends_here(lower, end) && except().is_none() {
            return None;
        }
        let (text, end) = match except() {
            Some((names, last)) => (format!("{phrase} except {names}"), last),
            None => ((*phrase).to_owned(), end),
        };
        Some(ListedName {
            text,
            range: at..end,
            is_certain: true,
            is_number: false,
        })
    })
}

/// Reads "except 3 and 4". Returns the names and their end.
fn exception(text: &str, lower: &str, at: usize) -> Option<(String, usize)> {
    let rest = lower
        .get(at..)?
        .trim_start()
        .trim_start_matches([',', '('])
        .trim_start();
    #[rustfmt::skip]
    let words = [
        "except for", "except", "but not", "but", "apart from", "other than", "excluding",
    ];
    let word = words.iter().find(|word| starts_with_words(rest, word))?;
    let mut at = lower.len() - rest.len() + word.len();
    at += lower.get(at..)?.len() - lower.get(at..)?.trim_start().len();
    let mut names: Vec<&str> = Vec::new();
    let mut end = at;
    loop {
        at = skip_noun(lower, at).0;
        let Some(token) = token(text, at, Strength::Strong) else {
            break;
        };
        names.push(text.get(at..token.end)?.trim_matches(['`', '*', '"', '[', ']']));
        end = token.end;
        match skip_separator(lower, end) {
            Some(next) => at = next,
            None => break,
        }
    }
    (!names.is_empty()).then(|| (names.join(", "), end))
}

/// Returns whether the word after a number counts something, as in "2 hours".
fn is_quantity(lower: &str, at: usize) -> bool {
    let word: String = lower
        .get(at..)
        .unwrap_or("")
        .trim_start()
        .chars()
        .take_while(|c| c.is_alphanumeric())
        .collect();
    // Plurals count; so do units of time.
    let units = [
        "second", "minute", "hour", "day", "week", "month", "year", "ms", "min", "h", "am", "pm", "x",
    ];
    word.len() > 3 && word.ends_with('s') || units.contains(&word.as_str())
}

/// Skips marks and small words between a marker and the names.
fn skip_filler(lower: &str, mut at: usize) -> usize {
    #[rustfmt::skip]
    const SMALL: [&str; 9] = [
        "the completion of", "completion of", "completing", "finishing", "on", "both", "only on", "only", "also",
    ];
    loop {
        let rest = lower.get(at..).unwrap_or("");
        let trimmed = rest.trim_start_matches([' ', '\t', ':', '：', '=', '*', '_', '`', '→', '←', '[']);
        let word = SMALL.iter().find(|word| starts_with_words(trimmed, word));
        at += rest.len() - trimmed.len();
        match word {
            Some(word) => at += word.len(),
            None => return at,
        }
    }
}

/// Returns the end of the clause at an offset.
fn clause_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or("");
    let mut chars = rest.char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let is_over = match c {
            ')' | ']' | '}' | ';' | '\n' | '|' | '）' | '。' => true,
            '.' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if is_over {
            return at + offset;
        }
    }
    text.len()
}

/// Returns the part of a text that only concerns dependencies: a parenthesis, or the end of a sentence.
fn clause(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let before = text.get(..start)?;
    let after = text.get(end..)?;
    let width = |text: &str| text.chars().next().map_or(1, char::len_utf8);
    if let Some(open) = before.rfind(['(', '[', '{', '（']) {
        let gap = before.get(open + width(before.get(open..)?)..)?;
        let close = after.find([')', ']', '}', '）']);
        let is_closed = close.is_some_and(|close| close <= 30);
        if gap.len() <= 16 && !gap.contains([')', ']', '}', '）']) && is_closed {
            return Some(open..end + close? + width(after.get(close?..)?));
        }
    }
    let trimmed = before.trim_end_matches([' ', '*', '_']);
    let lower = trimmed.to_ascii_lowercase();
    let trimmed = trimmed
        .get(
            ..["also", " is"]
                .iter()
                .find_map(|word| lower.strip_suffix(word))
                .map_or(trimmed.len(), str::len),
        )?
        .trim_end();
    let is_boundary = trimmed.ends_with(['.', ';', '-', '–', '—', ',', '→', '←', '|', '!']);
    let rest = after.trim_start_matches(['.', ')', ']', '*', '_', ' ', ',', ';']);
    let begins_sentence = after.starts_with(['.', ';']) || rest.is_empty();
    let from = trimmed
        .trim_end_matches(['<', '-', '–', '—', ',', '→', '←', '|', ';', ' '])
        .len();
    (is_boundary && begins_sentence).then(|| from..end + (after.len() - after.trim_start_matches(['.', ';']).len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = mentions(text);
        let names: Vec<String> = found
            .found
            .iter()
            .map(|mention| format!("{}{}", if mention.is_reverse { "!" } else { "" }, mention.text))
            .collect();
        assert_eq!(names, expected, "{text}: {found:?}");
    }

    #[test]
    fn names_of_tasks_are_found_in_sentences() {
        check("Generate types from the schema (needs step 1).", &["1"]);
        check("Migrate the reader. Depends on 2.", &["2"]);
        check("Delete them once steps 3 and 4 are in.", &["3", "4"]);
        check("Implement it (depends on T001, T003)", &["T001", "T003"]);
        check("Ship it, after steps 1-3", &["1-3"]);
        check("Ship it [after: T1, T2 & T3]", &["T1", "T2", "T3"]);
        check("Ship it (blocked by #4)", &["#4"]);
        check("Dependencies: none", &[]);
        check("**Depends on:** 1, 2", &["1", "2"]);
        check("Depends on: Task 1, Task 2", &["1", "2"]);
        check("Deploy (requires 2.1 and 2.2)", &["2.1", "2.2"]);
        check("Deploy after all of the above", &["all of the above"]);
        check("Begin after Phase 1", &["phase 1"]);
        check("Search box (depends on the API client)", &["the API client"]);
        check("Parse dates (blocks ab-3)", &["!ab-3"]);
        check("Write (depends on A and B)", &["A", "B"]);
        check("Contract test (needs b and c)", &["b", "c"]);
        check("Reset form (needs auth-1 and auth-2)", &["auth-1", "auth-2"]);
        check("Modal component ← 1, 2", &["1", "2"]);
        check("Fill in content {after: 2}", &["2"]);
        check("Port it (depends on I and III)", &["I", "III"]);
    }

    #[test]
    fn negated_dependencies_are_none() {
        for text in [
            "Build UI (does not depend on 1)",
            "Build UI (no dependency on 3; start at once)",
            "Build UI. Does not depend on 2. No dependencies.",
            "Build UI (doesn't need anything; not after 2)",
            "Build UI (no dependencies)",
        ] {
            check(text, &[]);
            let found = mentions(text);
            assert!(found.says_none && found.clauses.is_empty(), "{text}: {found:?}");
        }
        assert!(!mentions("Write a parser with no dependencies on libc").says_none);
        check("Ship it (after 5 but not after 8)", &["5"]);
        check("Depends on everything except 3", &["everything except 3"]);
        check("Ship it (after all tasks except 3 and 4)", &["all tasks except 3, 4"]);
    }

    #[test]
    fn dependencies_are_read_in_other_languages() {
        check("Baue die API (hängt ab von 3)", &["3"]);
        check("Baue die API (hängt von 3 ab)", &["3"]);
        check("Baue die API (nach Schritt 2 und 3)", &["2", "3"]);
        check("Construire l'API (dépend de 3)", &["3"]);
        check("Construire l'API (après l'étape 2)", &["2"]);
        check("Construir la API (depende de 2)", &["2"]);
        check("Construir la API (después de la tarea 2)", &["2"]);
        check("APIを作る（依存: 1）", &["1"]);
        check("APIを作る（1、2に依存）", &["1", "2"]);
        check("APIを作る（タスク1に依存）", &["1"]);
        check("构建接口（依赖 1、2）", &["1", "2"]);
        check("构建接口（1完成后）", &["1"]);
        check("Реализовать (зависит от 1)", &["1"]);
        check("Baue die API (hängt nicht ab von 3)", &[]);
        check("Reise nach Berlin", &[]);
    }

    #[test]
    fn words_for_waiting_name_dependencies() {
        check("Ship it (blocked until 3 is complete)", &["3"]);
        check("Ship it; must not start before 4", &["4"]);
        check("Ship it. Do not start before 3 is done", &["3"]);
        check("Ship it (must come before 7)", &["!7"]);
        check("Ship it (wait for 2)", &["2"]);
        check("Ship it once 2 is done", &["2"]);
        check("Ship it as soon as 3 is merged", &["3"]);
        check("Wait for 2 to finish", &["2"]);
        check("Keep the old reader until 5", &[]);
        assert_eq!(mentions("Keep the old reader until 5").doubts.len(), 1);
        assert!(mentions("Retry after 2 seconds").doubts.is_empty());
    }

    #[test]
    fn ordinary_words_name_no_task() {
        for text in [
            "Sleep and retry after 2 seconds",
            "Merge it, needs 3 approvals",
            "Show a spinner after login",
            "This requires care",
            "Once upon a time",
            "Update the dependency graph of the docs",
            "Look after the cache",
        ] {
            let found = mentions(text);
            assert!(
                found.found.iter().all(|mention| !mention.is_certain),
                "{text}: {found:?}"
            );
        }
        assert!(mentions("Depends on: –").says_none);
        assert!(mentions("(no dependencies)").found.is_empty());
    }

    #[test]
    fn dependency_clauses_are_separated_from_the_title() {
        for (text, rest) in [
            ("Implement it (depends on T001, T003)", "Implement it"),
            ("Migrate the reader. Depends on 2.", "Migrate the reader"),
            ("Migrate the writer. Also depends on 2.", "Migrate the writer"),
            ("Ship it — after 3", "Ship it"),
            (
                "Delete them once steps 3 and 4 are in.",
                "Delete them once steps 3 and 4 are in.",
            ),
        ] {
            let mut kept = text.to_owned();
            for clause in mentions(text).clauses.into_iter().rev() {
                kept.replace_range(clause, "");
            }
            assert_eq!(
                kept.trim().trim_end_matches(if kept == text { "" } else { "." }),
                rest,
                "{text}"
            );
        }
    }
}
