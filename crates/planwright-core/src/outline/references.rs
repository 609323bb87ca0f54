//! Reads dependencies in a sentence, such as "(depends on 1, 2)", "after step 2" and "blocked by: 1-3".

use std::ops::Range;

use super::dependency_words::{
    MARKERS, MARKERS_AFTER, MARKERS_WITHOUT_SPACES, Markers, OTHER_WORDS, PHRASES, Strength,
};
use super::name_tokens::{
    IdForm, ListedName, each_name, ends_here, name_at, previous_several, skip_noun, skip_words, token,
};
use super::names::{is_none_word, range_from};
use super::raw::Reference;
use super::words::{after_any, ends_sentence, start_of, words_at};
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
    /// Returns an id or a number that the sentence's task depends on.
    fn certain((text, range): NameInText) -> Self {
        Mention {
            text,
            range,
            is_certain: true,
            is_reverse: false,
        }
    }

    pub(super) fn reference(&self, place: Span) -> Reference {
        Reference {
            text: self.text.clone(),
            place,
            is_certain: self.is_certain,
        }
    }
}

pub(super) type NameInText = (String, Range<usize>);

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
    let mut reader = MentionReader {
        text,
        lower: &lower,
        out: Mentions::default(),
    };
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        at = reader.marker(at).unwrap_or(at + c.len_utf8());
    }
    reader.out
}

/// Reads a text from marker to marker.
struct MentionReader<'t> {
    text: &'t str,
    lower: &'t str,
    out: Mentions,
}

impl MentionReader<'_> {
    /// Reads a marker at an offset, with the names next to it. Returns their end.
    fn marker(&mut self, at: usize) -> Option<usize> {
        let (before, rest) = self.lower.split_at_checked(at)?;
        if let Some(words) = start_of(rest, MARKERS_AFTER) {
            self.names_before(at, at + words.len());
            return Some(at + words.len());
        }
        if let Some(end) = self.arrow_at_end(at) {
            return Some(end);
        }
        if let Some(words) = start_of(rest, MARKERS_WITHOUT_SPACES) {
            return Some(self.names_after(at, at + words.len(), (Strength::Label, false)));
        }
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '-') {
            return None;
        }
        let found = |markers: &Markers| Some((words_at(rest, markers.words)?, markers.in_task?, markers.is_reverse));
        let (words, strength, is_reverse) = MARKERS.iter().find_map(found)?;
        let after = at + words.len();
        let sense = match sense_of(before, words, strength) {
            Sense::Plain => return Some(self.names_after(at, after, (strength, is_reverse))),
            // "must not start before 4" is "after 4".
            Sense::Wait => return Some(self.names_after(at, after, (strength, false))),
            sense => sense,
        };
        let mut trial = MentionReader {
            out: Mentions::default(),
            ..*self
        };
        let end = trial.names_after(at, after, (strength, is_reverse));
        let is_named = trial.out.found.iter().any(|mention| mention.is_certain);
        match sense {
            Sense::Negated => self.out.says_none |= is_named || is_own_clause(self.lower, at, after),
            _ if is_named => self.out.doubts.push(at..end),
            _ => {}
        }
        Some(end)
    }

    /// Reads an arrow back to ids that ends a text: "Enable the checks <- 2, 3". Returns where it ends.
    fn arrow_at_end(&mut self, at: usize) -> Option<usize> {
        let (before, rest) = self.text.split_at_checked(at)?;
        let start = at + start_of(rest, &["<--", "<-", "←"])?.len();
        let names = ids_within(self.text.get(start..)?, start)?;
        if !before.ends_with([' ', '\t']) || before.trim().is_empty() {
            return None;
        }
        self.out.found.extend(names.into_iter().map(Mention::certain));
        self.out.clauses.push(before.trim_end().len()..self.text.len());
        Some(self.text.len())
    }

    /// Reads the names right before a marker: "1、2に依存".
    fn names_before(&mut self, at: usize, end: usize) {
        let before = self.text.get(..at).unwrap_or("");
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '#') || is_list_mark(c);
        let start = before.trim_end_matches(is_part).len();
        let n_before = self.out.found.len();
        let mut at = start;
        for part in before.get(start..).unwrap_or("").split_inclusive(is_list_mark) {
            let name = part.trim_matches(is_list_mark);
            if name.contains(|c: char| c.is_ascii_digit()) {
                let from = at + part.find(name).unwrap_or(0);
                let mention = Mention::certain((name.to_owned(), range_from(from, name)));
                self.out.found.push(mention);
            }
            at += part.len();
        }
        if self.out.found.len() > n_before {
            self.out.clauses.extend(clause(self.text, start, end));
        }
    }

    /// Reads the text after a marker. Returns its end.
    fn names_after(&mut self, start: usize, after: usize, (strength, is_reverse): (Strength, bool)) -> usize {
        let at = skip_filler(self.lower, after);
        let has_colon = self
            .lower
            .get(after..at)
            .is_some_and(|gap| gap.contains([':', '：', '=']));
        let names = NamesAfterMarker::read(self.text, self.lower, at, (strength, is_reverse));
        let mut end = names.end;
        if names.found.is_empty() {
            let at = skip_noun(self.lower, at).0;
            if !has_colon && let Some(names) = names_of_part(self.text, self.lower, at, is_reverse) {
                self.out.found.extend(names.found);
                return names.end;
            }
            if strength != Strength::Strong && !has_colon {
                return after;
            }
            end = clause_end(self.text, at);
            let words = self.text.get(at..end).unwrap_or("").trim();
            if is_none_word(words) && (has_colon || !words.is_empty()) {
                self.out.says_none = true;
            } else if words.is_empty() {
                return after;
            } else {
                self.out.found.push(Mention {
                    text: words.to_owned(),
                    range: range_from(at, words),
                    is_certain: false,
                    is_reverse,
                });
            }
        } else if names.may_be_quantity && !ends_here(self.lower, end) {
            // "after 2 hours", "needs 3 approvals".
            if !is_quantity(self.lower, end) {
                self.out.doubts.push(start..end);
            }
            return after;
        }
        self.out.found.extend(names.found);
        self.out.clauses.extend(clause(self.text, start, end));
        end
    }
}

/// Returns the ids and numbers that a text lists, where it has nothing else.
fn ids_within(text: &str, offset: usize) -> Option<Vec<NameInText>> {
    let mut found = Vec::new();
    let mut at = offset;
    for part in text.split_inclusive([',', ';', '&', '+']) {
        let name = part.trim_matches([',', ';', '&', '+', ' ', '\t', '`', '#', '.']);
        let form = IdForm::of(name);
        if form.n_digits == 0 || form.end != name.len() || name.len() > 16 {
            return None;
        }
        found.push((name.to_owned(), range_from(at + part.find(name)?, name)));
        at += part.len();
    }
    (!found.is_empty()).then_some(found)
}

/// Returns the ids in brackets at the end of a text that has nothing else in them: "Ship both (A1, A2)", `Test it [1]`. One number in
/// round brackets is more often a remark.
pub(super) fn bracketed_ids(text: &str) -> Option<Vec<NameInText>> {
    let body = text.trim_end().trim_end_matches('.');
    let (open, inner) = [('(', ')'), ('[', ']')].iter().find_map(|&(open, close)| {
        let inner = body.strip_suffix(close)?;
        let at = inner.rfind(open)?;
        Some((at, inner.get(at + 1..)?))
    })?;
    let ids = ids_within(inner, open + 1)?;
    let is_number = |(id, _): &NameInText| id.bytes().all(|byte| byte.is_ascii_digit());
    let is_remark = body.ends_with(')') && ids.len() == 1 && ids.iter().all(is_number);
    (!is_remark && !text.get(..open)?.trim().is_empty()).then_some(ids)
}

fn is_list_mark(c: char) -> bool {
    matches!(c, ' ' | ',' | '、' | '，' | 'と' | '和' | '与')
}

/// Returns the numbers of a bracket at the end of a text, with words before or after them: "(zależy od 3)".
pub(super) fn hints(text: &str) -> Vec<NameInText> {
    let body = text.trim_end().trim_end_matches(['.', '。']);
    let inner = body.strip_suffix([')', '）']).unwrap_or("");
    let Some((open, bracket)) = inner.rmatch_indices(['(', '（']).next() else {
        return Vec::new();
    };
    let mut at = open + bracket.len();
    let marks = [' ', ',', ':', '：', '、', ';'];
    let (mut found, mut n_words) = (Vec::new(), 0);
    for part in inner.get(at..).unwrap_or("").split_inclusive(marks) {
        let word = part.trim_end_matches(marks);
        let is_number = !word.is_empty() && word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
        let is_word = word.chars().all(char::is_alphabetic) && !OTHER_WORDS.contains(&word.to_lowercase().as_str());
        if is_number {
            found.push((word.to_owned(), range_from(at, word)));
        } else if !is_word {
            // Other content than words and numbers makes this a remark.
            return Vec::new();
        } else {
            n_words += usize::from(!word.is_empty());
        }
        at += part.len();
    }
    if (1..=4).contains(&n_words) { found } else { Vec::new() }
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

/// Returns the sense of a marker after a text.
fn sense_of(before: &str, marker: &str, strength: Strength) -> Sense {
    const NEGATIONS: [&str; 8] = ["not", "no", "never", "cannot", "without", "nicht", "pas", "non"];
    #[rustfmt::skip]
    const WAITS: [&str; 8] = [
        "blocked", "wait", "waits", "hold", "held", "deferred", "postponed", "only",
    ];
    let clause = before.rsplit(['.', ';', ',', '(', '[', ':', '\n']).next().unwrap_or("");
    let is_not = |word: &str| NEGATIONS.contains(&word) || word.ends_with("n't") || word.ends_with("n’t");
    let waits = |word: &str| is_not(word) || WAITS.contains(&word);
    let mut words = clause.split_whitespace().rev();
    match marker {
        "before" if words.clone().take(4).any(is_not) => Sense::Wait,
        "until" if words.clone().take(4).any(waits) => Sense::Wait,
        "before" => Sense::Plain,
        "until" => Sense::Unclear,
        _ if words.next().is_some_and(is_not) => Sense::Negated,
        _ if strength != Strength::Weak && words.next().is_some_and(is_not) => Sense::Negated,
        _ => Sense::Plain,
    }
}

/// Returns whether "no" and a marker are a whole clause: "(no dependencies)".
fn is_own_clause(lower: &str, start: usize, end: usize) -> bool {
    let before = lower.get(..start).unwrap_or("").trim_end();
    let Some(before) = before.strip_suffix("no").map(str::trim_end) else {
        return false;
    };
    let after = lower.get(end..).unwrap_or("").trim_start();
    (before.is_empty() || before.ends_with(['.', ';', ',', '(', '[', '-', '–', '—']))
        && (after.is_empty() || after.starts_with(['.', ';', ',', ')', ']']))
}

/// Reads the tasks in "the interface from step 1", up to the end of the clause: only those with a noun.
fn names_of_part(text: &str, lower: &str, at: usize, is_reverse: bool) -> Option<NamesAfterMarker> {
    let clause = lower.get(at..clause_end(text, at))?;
    let preposition = [" from ", " of ", " in "].into_iter().find_map(|word| {
        let start = at + clause.find(word)? + word.len();
        let (next, noun) = skip_noun(lower, start);
        (next > start && noun.is_some()).then_some(start)
    });
    let names = NamesAfterMarker::read(text, lower, preposition?, (Strength::Strong, is_reverse));
    let is_named = !names.found.is_empty() && names.found.iter().all(|mention| mention.is_certain);
    is_named.then_some(names)
}

struct NamesAfterMarker {
    found: Vec<Mention>,
    end: usize,
    /// Whether they are numbers without a noun.
    may_be_quantity: bool,
}

impl NamesAfterMarker {
    fn read(text: &str, lower: &str, at: usize, (strength, is_reverse): (Strength, bool)) -> Self {
        let (mut found, mut are_numbers) = (Vec::new(), true);
        let (end, noun) = each_name(lower, at, &[], |at, noun| {
            let name = phrase_at(text, lower, at).or_else(|| name_at(text, lower, at, noun, strength))?;
            // "step 2 of phase 1".
            let group_end = group_after(lower, name.range.end).filter(|_| name.is_number);
            let end = group_end.unwrap_or(name.range.end);
            are_numbers &= name.is_number && group_end.is_none();
            found.push(Mention {
                text: match group_end {
                    Some(end) => text.get(name.range.start..end)?.to_owned(),
                    None => name.text,
                },
                range: name.range.start..end,
                is_certain: name.is_certain,
                is_reverse,
            });
            Some(end)
        });
        NamesAfterMarker {
            found,
            end,
            may_be_quantity: are_numbers && noun.is_none(),
        }
    }
}

/// Returns the end of " of phase 1" at a place.
fn group_after(lower: &str, at: usize) -> Option<usize> {
    let after = after_any(lower.get(at..)?, &[" of phase ", " in phase ", " from phase "])?;
    let n_digits = after.bytes().take_while(u8::is_ascii_digit).count();
    (n_digits > 0).then(|| lower.len() - after.len() + n_digits)
}

/// Reads a phrase that names several tasks, such as "all of the above" and "everything except 3".
fn phrase_at(text: &str, lower: &str, at: usize) -> Option<ListedName> {
    let rest = lower.get(at..)?;
    let phrase = |text: String, end: usize| ListedName {
        text,
        range: at..end,
        is_certain: true,
        is_number: false,
    };
    if let Some((_, n_bytes)) = previous_several(rest) {
        return Some(phrase(rest.get(..n_bytes)?.to_owned(), at + n_bytes));
    }
    PHRASES.iter().find_map(|words| {
        words_at(rest, &[*words])?;
        let end = at + words.len();
        let is_bare = ["all", "everything"].contains(words);
        match exception(text, lower, end) {
            Some((names, last)) => Some(phrase(format!("{words} except {names}"), last)),
            None if is_bare && !ends_here(lower, end) => None,
            None => Some(phrase((*words).to_owned(), end)),
        }
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
    let after = rest.get(words_at(rest, &words)?.len()..)?.trim_start();
    let mut names: Vec<&str> = Vec::new();
    let (end, _) = each_name(lower, lower.len() - after.len(), &[], |at, _| {
        let end = token(text, at, Strength::Strong)?.end;
        names.push(text.get(at..end)?.trim_matches(['`', '*', '"', '[', ']']));
        Some(end)
    });
    (!names.is_empty()).then(|| (names.join(", "), end))
}

/// Returns whether the word after a number counts something, as in "2 hours".
fn is_quantity(lower: &str, at: usize) -> bool {
    #[rustfmt::skip]
    const UNITS: [&str; 13] = [
        "second", "minute", "hour", "day", "week", "month", "year", "ms", "min", "h", "am", "pm", "x",
    ];
    let rest = lower.get(at..).unwrap_or("").trim_start();
    let word = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    // Plurals count; so do units of time.
    word.len() > 3 && word.ends_with('s') || UNITS.contains(&word)
}

/// Skips marks and small words between a marker and the names.
fn skip_filler(lower: &str, at: usize) -> usize {
    #[rustfmt::skip]
    const SMALL: [&str; 9] = [
        "the completion of", "completion of", "completing", "finishing", "on", "both", "only on", "only", "also",
    ];
    let marks = [' ', '\t', ':', '：', '=', '*', '_', '`', '→', '←', '['];
    skip_words(lower, at, &marks, |rest| words_at(rest, &SMALL))
}

/// Returns the end of the clause at an offset.
fn clause_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or("");
    let mut ends = rest.char_indices().filter(|&(offset, c)| {
        let after = rest.get(offset + c.len_utf8()..).unwrap_or("");
        matches!(c, ')' | ']' | '}' | '|' | '）') || ends_sentence(c, after)
    });
    ends.next().map_or(text.len(), |(offset, _)| at + offset)
}

/// Returns the part of a text that only concerns dependencies: a parenthesis, or the end of a sentence.
fn clause(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let before = text.get(..start)?;
    let after = text.get(end..)?;
    if let Some((open, bracket)) = before.rmatch_indices(['(', '[', '{', '（']).next() {
        let closing = [')', ']', '}', '）'];
        let gap = before.get(open + bracket.len()..)?;
        let close = after.match_indices(closing).next().filter(|(close, _)| *close <= 30);
        if let Some((close, bracket)) = close.filter(|_| gap.len() <= 16 && !gap.contains(closing)) {
            return Some(open..end + close + bracket.len());
        }
    }
    let trimmed = before.trim_end_matches([' ', '*', '_']);
    let lower = trimmed.to_ascii_lowercase();
    let words = lower.strip_suffix("also").or_else(|| lower.strip_suffix(" is"));
    let trimmed = trimmed.get(..words.map_or(trimmed.len(), str::len))?.trim_end();
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
