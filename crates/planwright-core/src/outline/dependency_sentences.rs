//! Reads sentences that name both ends of a dependency, such as "T2 depends on T1" and "1 → 3". Does not know which names are
//! tasks.

use std::ops::Range;

use super::dependency_words::{ARROWS, FILLERS, MARKERS, Markers, Strength};
use super::name_tokens::{each_name, ends_here, name_at, skip_words};
use super::names::{is_none_word, range_from};
use super::words::{ends_sentence, has_any, start_of, starts_with_any, words_at};

/// How much of a line is read.
const MAX_BYTES: usize = 2_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct SentenceName {
    pub(super) text: String,
    pub(super) range: Range<usize>,
    /// Whether it has the form of an id or a number, and not of words.
    pub(super) is_id: bool,
}

/// One statement about the order of tasks.
#[derive(Debug, PartialEq)]
pub(super) struct Link {
    /// The tasks that depend on the others.
    pub(super) after: Vec<SentenceName>,
    pub(super) before: Vec<SentenceName>,
    /// Whether it is an arrow, which is drawn in both directions.
    pub(super) is_arrow: bool,
}

/// The statements of a line about the order of tasks.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Statements {
    pub(super) links: Vec<Link>,
    /// Tasks that can run next to each other.
    pub(super) parallel: Vec<SentenceName>,
    /// Parts that name tasks in an unknown way.
    pub(super) doubts: Vec<Range<usize>>,
}

impl Statements {
    /// Returns whether the line only states the order of tasks, by their ids and numbers.
    pub(super) fn is_link(&self) -> bool {
        let mut names = self.links.iter().flat_map(|link| link.after.iter().chain(&link.before));
        !self.links.is_empty() && self.doubts.is_empty() && names.all(|name| name.is_id)
    }
}

/// Returns the statements of a line. `is_section` is whether the line is in a list of dependencies, so that "T2: T1" is one, and titles are
/// names.
pub(super) fn statements(text: &str, is_section: bool) -> Statements {
    let text = text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or(text);
    let mut out = Statements::default();
    let mut both: Vec<SentenceName> = Vec::new();
    for sentence in sentences(text) {
        let body = text.get(sentence.clone()).unwrap_or("");
        // Text in brackets explains a name.
        let bare = without_brackets(body);
        if has_any(&bare, &ARROWS) || bare.contains('←') {
            arrows(&bare, sentence.start, is_section, &mut out);
            continue;
        }
        for part in clauses(&bare) {
            let clause = bare.get(part.clone()).unwrap_or("").trim_end_matches([' ', ',']);
            let mut ends = [" and", " while", " but"].into_iter();
            let clause = ends.find_map(|word| clause.strip_suffix(word)).unwrap_or(clause);
            clause_links(clause, sentence.start + part.start, is_section, &mut both, &mut out);
        }
    }
    out
}

/// Splits a line at full stops and semicolons.
fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let next = at + c.len_utf8();
        if ends_sentence(c, text.get(next..).unwrap_or("")) {
            out.push(start..at);
            start = next;
        }
    }
    out.push(start..text.len());
    out.retain(|range| text.get(range.clone()).is_some_and(|part| !part.trim().is_empty()));
    out
}

/// Returns a text of the same length with brackets and their content replaced by spaces.
fn without_brackets(text: &str) -> String {
    let mut depth = 0usize;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        depth += usize::from(c == '(');
        match depth {
            0 if c != '*' && c != '`' => out.push(c),
            _ => out.extend(std::iter::repeat_n(' ', c.len_utf8())),
        }
        depth = depth.saturating_sub(usize::from(c == ')'));
    }
    // An unclosed bracket does not count: the text after it is kept.
    if depth > 0 { text.to_owned() } else { out }
}

/// Splits a sentence so that each part has one verb: "2 depends on 1 and 3 depends on 2".
fn clauses(text: &str) -> Vec<Range<usize>> {
    let mut cuts = vec![0];
    let lower = text.to_ascii_lowercase();
    for word in [",", " and ", " while ", " but "] {
        cuts.extend(lower.match_indices(word).map(|(at, _)| at + word.len()));
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts.push(text.len());
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut has_verb = false;
    for pair in cuts.windows(2) {
        let &[start, end] = pair else {
            continue;
        };
        let own = verb_in(lower.get(start..end).unwrap_or("")).is_some();
        match out.last_mut() {
            // A part without a verb belongs to the previous one; before the first verb, to the next one.
            Some(last) if !own || !has_verb => {
                last.end = end;
                has_verb |= own;
            }
            _ => {
                out.push(start..end);
                has_verb = own;
            }
        }
    }
    out
}

/// Returns the first verb of a clause: its span, and whether the text before it depends on the text after it.
fn verb_in(lower: &str) -> Option<(Range<usize>, bool)> {
    let mut before = ' ';
    for (at, c) in lower.char_indices() {
        if !before.is_alphanumeric() && before != '-' && c.is_ascii_lowercase() {
            let rest = lower.get(at..).unwrap_or("");
            let found = |markers: &Markers| Some((words_at(rest, markers.words)?, !markers.is_reverse));
            let mut markers = MARKERS.iter().filter(|markers| markers.is_between);
            if let Some((words, is_after)) = markers.find_map(found) {
                return Some((range_from(at, words), is_after));
            }
        }
        before = c;
    }
    None
}

fn clause_links(clause: &str, offset: usize, is_section: bool, both: &mut Vec<SentenceName>, out: &mut Statements) {
    let lower = clause.to_ascii_lowercase();
    let Some((verb, is_after)) = verb_in(&lower) else {
        return without_verb(clause, &lower, offset, is_section, out);
    };
    let verb_words = lower.get(verb.clone()).unwrap_or("");
    let (left, end) = names_at(clause, &lower, label_len(&lower), offset);
    // In prose, words name tasks only with a certain verb.
    let takes_titles = is_section || ["depends on", "depend on", "blocked by"].contains(&verb_words);
    let gap = lower.get(end..verb.start).unwrap_or("");
    let mut words = gap
        .split(|c: char| c.is_whitespace() || matches!(c, ':' | '–' | '—' | ','))
        .filter(|word| !word.is_empty() && *word != "-");
    let is_plain = !left.is_empty() && words.clone().all(|word| FILLERS.contains(&word));
    let left = match is_plain {
        true => left,
        // "Write the API depends on Create the schema".
        false if takes_titles => title(clause, 0, verb.start, offset).into_iter().collect(),
        false => return,
    };
    let waits = words.any(|word| ["not", "cannot", "can't"].contains(&word));
    let is_after = match verb_words {
        "before" if waits => true,
        // "2 does not depend on 1".
        _ if waits && verb_words != "until" => return,
        _ => is_after,
    };
    let start = skip_small(&lower, verb.end);
    let (right, end) = names_at(clause, &lower, start, offset);
    let rest = lower.get(start..).unwrap_or("");
    let right = if words_at(rest, &["both"]).is_some() && right.is_empty() {
        both.clone()
    } else if is_none_word(rest) || starts_with_any(rest, &["nothing", "no "]) {
        return;
    } else if !right.is_empty() && (ends_here(&lower, end) || is_remark(&lower, end)) {
        right
    } else if takes_titles {
        title(clause, start, clause.len(), offset).into_iter().collect()
    } else {
        Vec::new()
    };
    if left.is_empty() || right.is_empty() {
        if is_section {
            out.doubts.push(offset..offset + clause.trim_end().len());
        }
        return;
    }
    if lower.get(..verb.start).is_some_and(|words| words.contains("parallel")) {
        out.parallel.extend(left.iter().cloned());
    }
    *both = left.clone();
    let (after, before) = if is_after { (left, right) } else { (right, left) };
    out.links.push(Link {
        after,
        before,
        is_arrow: false,
    });
}

/// Reads a clause without a verb: "tasks 2 and 3 in parallel", or "T2: T1" in a list of dependencies.
fn without_verb(clause: &str, lower: &str, offset: usize, is_section: bool, out: &mut Statements) {
    let (left, end) = names_at(clause, lower, 0, offset);
    let rest = lower.get(end..).unwrap_or("");
    let is_parallel = has_any(rest, &["in parallel", "concurrently", "simultaneously", "independent"]);
    if left.len() > 1 && is_parallel && left.iter().all(|name| name.is_id) {
        return out.parallel.extend(left);
    }
    if !is_section || left.is_empty() {
        return;
    }
    let is_phase = left.iter().any(|name| name.text.contains(' '));
    let Some(list) = rest.trim_start().strip_prefix(':').filter(|_| !is_phase) else {
        return;
    };
    let start = skip_small(lower, lower.len() - list.len());
    let (right, end) = names_at(clause, lower, start, offset);
    let rest = lower.get(end..).unwrap_or("");
    let is_whole = rest.trim_matches([' ', ',', '.']).is_empty();
    if !right.is_empty() && is_whole {
        out.links.push(Link {
            after: left,
            before: right,
            is_arrow: false,
        });
    }
}

/// Names, and the direction of the arrow before them: whether it points to the right.
type ArrowEnd = (Vec<SentenceName>, Option<bool>);

/// Reads "A → B → D, A → C". A part without an arrow continues the earlier names, or starts the later ones.
fn arrows(text: &str, offset: usize, is_section: bool, out: &mut Statements) {
    let mut pending: Vec<SentenceName> = Vec::new();
    let mut last_left: Vec<SentenceName> = Vec::new();
    let mut start = 0;
    for segment in text.split_inclusive(',') {
        let from = start;
        start += segment.len();
        let body = segment.trim_end_matches(',');
        let mut chain = arrow_ends(text, from..from + body.len(), offset, is_section);
        if chain.iter().any(|(names, _)| names.is_empty()) {
            if is_section {
                out.doubts.push(offset + from..offset + from + body.trim_end().len());
            }
            continue;
        }
        match chain.as_mut_slice() {
            [(names, _)] if last_left.is_empty() => pending.append(names),
            [(names, _)] => chain = vec![(last_left.clone(), None), (std::mem::take(names), Some(true))],
            [(first, _), ..] => {
                first.splice(0..0, pending.drain(..));
                last_left = chain
                    .iter()
                    .rev()
                    .nth(1)
                    .map(|(names, _)| names.clone())
                    .unwrap_or_default();
            }
            [] => {}
        }
        for pair in chain.windows(2) {
            let [(left, _), (right, arrow)] = pair else {
                continue;
            };
            let (before, after) = match arrow {
                Some(false) => (right, left),
                _ => (left, right),
            };
            out.links.push(Link {
                after: after.clone(),
                before: before.clone(),
                // Authors of an arrow to the left know which task comes first.
                is_arrow: *arrow == Some(true),
            });
        }
    }
}

/// Returns the names before, between and after the arrows of a part of a text.
fn arrow_ends(text: &str, part: Range<usize>, offset: usize, is_section: bool) -> Vec<ArrowEnd> {
    let mut ends = Vec::new();
    let (mut at, mut start, mut arrow) = (part.start, part.start, None);
    while let Some(c) = text.get(at..part.end).and_then(|rest| rest.chars().next()) {
        let found = text.get(at..part.end).and_then(|rest| start_of(rest, &ARROWS));
        let Some(words) = found.or((c == '←').then_some("←")) else {
            at += c.len_utf8();
            continue;
        };
        ends.push((node_names(text, start, at, offset, is_section), arrow));
        at += words.len();
        (start, arrow) = (at, Some(words != "←"));
    }
    ends.push((node_names(text, start, part.end, offset, is_section), arrow));
    ends
}

/// Returns the names of one end of an arrow: ids, or a title.
fn node_names(text: &str, start: usize, end: usize, offset: usize, is_section: bool) -> Vec<SentenceName> {
    let node = text.get(..end).unwrap_or("");
    let lower = node.to_ascii_lowercase();
    let from = lower.len() - lower.get(start..).unwrap_or("").trim_start().len();
    let (names, at) = names_at(node, &lower, from, offset);
    let rest = lower.get(at..).unwrap_or("");
    // "T1: the schema" and "T1 schema" name T1.
    let is_named = rest.trim_matches([' ', '.', ')', ']', '[', ':']).is_empty()
        || is_section && rest.trim_start().starts_with(':');
    if !names.is_empty() && is_named {
        return names;
    }
    let title = title(node, from, end, offset).filter(|_| is_section);
    title.into_iter().collect()
}

/// Returns a part of a text as a title.
fn title(text: &str, start: usize, end: usize, offset: usize) -> Option<SentenceName> {
    let part = text.get(start..end)?;
    let words = part.trim().trim_matches(['"', '“', '”', '\'', ':', ',', '.']).trim();
    let at = start + part.find(words)?;
    (!words.is_empty()).then(|| SentenceName {
        text: words.to_owned(),
        range: offset + at..offset + at + words.len(),
        is_id: false,
    })
}

/// Reads names at an offset: "Tasks 2 and 3". Returns their end.
fn names_at(text: &str, lower: &str, start: usize, offset: usize) -> (Vec<SentenceName>, usize) {
    let rest = lower.get(start..).unwrap_or("");
    let from = lower.len() - rest.trim_start_matches([' ', '"', '[', '-', '•', '\t']).len();
    let mut names = Vec::new();
    let (end, _) = each_name(lower, from, &["both ", "all of ", "the "], |at, noun| {
        let name = name_at(text, lower, at, noun, Strength::Strong)?;
        names.push(SentenceName {
            text: name.text.replace('#', ""),
            range: offset + at..offset + name.range.end,
            is_id: true,
        });
        Some(name.range.end)
    });
    let end = if names.is_empty() { start } else { end };
    (names, end)
}

/// Returns the length of a label before a sentence: "Note: ".
fn label_len(lower: &str) -> usize {
    let rest = lower.trim_start();
    let label = words_at(rest, &["note:", "notes:", "important:", "also:", "so", "here,"]);
    label.map_or(0, |label| lower.len() - rest.len() + label.len())
}

fn skip_small(lower: &str, at: usize) -> usize {
    let small = ["completion of ", "completing ", "only ", "on ", "finishing "];
    skip_words(lower, at, &[' ', ':', '"', '='], |rest| start_of(rest, &small))
}

/// Returns whether the text after a name explains it: "T1: the schema", "T1 because …".
fn is_remark(lower: &str, at: usize) -> bool {
    #[rustfmt::skip]
    const STARTS: &[&str] = &[
        "as well", "too", "because", "since", "so ", "for ", "being", "will ", "to ", "as ",
    ];
    starts_with_any(lower.get(at..).unwrap_or("").trim_start(), STARTS)
}

/// Returns whether prose states that an arrow points to a dependency.
pub(super) fn arrows_lead_to_dependencies(text: &str) -> bool {
    #[rustfmt::skip]
    const VERBS: &[&str] = &[
        "depends on", "depend on", "dependency of the", "requires", "needs", "depends upon",
    ];
    const OTHER_VERBS: &[&str] = &["before", "depended", "blocks", "enables", "unblocks"];
    const SIGNS: &[&str] = &[" mean", "=", " read", " indicate", " point", ":", " denote", " show"];
    let lower = text.to_ascii_lowercase();
    // The next bytes of the line.
    let window = |at: usize, most: usize| {
        let line = lower.get(at..).and_then(|rest| rest.lines().next()).unwrap_or("");
        line.get(..line.floor_char_boundary(most)).unwrap_or(line)
    };
    let says_so = |at: usize| has_any(window(at, 60), VERBS) && !has_any(window(at, 60), OTHER_VERBS);
    let mut arrows = lower.match_indices("arrow").map(|(at, _)| at + "arrow".len()).take(50);
    let mut drawn = lower.match_indices("→").chain(lower.match_indices("->")).take(200);
    arrows.any(|at| has_any(window(at, 24), SIGNS) && says_so(at))
        // "A → B means A depends on B".
        || drawn.any(|(at, _)| {
            let last = |text: &str| text.split_whitespace().next_back().map(str::to_owned);
            let left = lower.get(..at).and_then(last);
            let line = window(at, usize::MAX);
            let subject = line.split_once(" depends on ").and_then(|(before, _)| last(before));
            let means = window(at, 16).find(" mean");
            left.is_some() && left == subject && means.is_some_and(|mean| says_so(at + mean))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, is_section: bool, expected: &[&str]) {
        let said = statements(text, is_section);
        let names = |names: &[SentenceName]| names.iter().map(|name| name.text.clone()).collect::<Vec<_>>().join("+");
        let found: Vec<String> = said
            .links
            .iter()
            .map(|link| format!("{} after {}", names(&link.after), names(&link.before)))
            .collect();
        assert_eq!(found, expected, "{text}: {said:?}");
        for name in said.links.iter().flat_map(|link| link.after.iter().chain(&link.before)) {
            assert!(
                text.get(name.range.clone())
                    .is_some_and(|own| own.contains(name.text.rsplit(' ').next().unwrap_or("")))
            );
        }
    }

    #[test]
    fn both_ends_of_a_dependency_are_read() {
        check("T005 before T006", false, &["T006 after T005"]);
        check("Task 2 depends on Task 1", false, &["2 after 1"]);
        check(
            "Task 2 depends on task 1. Task 4 depends on tasks 2 and 3.",
            false,
            &["2 after 1", "4 after 2+3"],
        );
        check("2 depends on 1; 3 depends on 1.", false, &["2 after 1", "3 after 1"]);
        check(
            "T2 depends on T1 and T3 depends on T2",
            false,
            &["T2 after T1", "T3 after T2"],
        );
        check("Tasks 2 and 3 depend on 1", false, &["2+3 after 1"]);
        check("Task 2 (the API) requires Task 1 (the schema)", false, &["2 after 1"]);
        check("T3 cannot start before T2", false, &["T3 after T2"]);
        check("T3 must come before T4", false, &["T4 after T3"]);
        check("T3 must wait for T2 to finish", false, &["T3 after T2"]);
        check("1 → 3", false, &["3 after 1"]);
        check("A → B → D, A → C", true, &["B after A", "D after B", "C after A"]);
        check("1, 2 → 3", true, &["3 after 1+2"]);
        check("1 -> 2, 3", true, &["2 after 1", "3 after 1"]);
        check("T2 ← T1", true, &["T2 after T1"]);
        check("Note: task 4 needs task 1 as well", false, &["4 after 1"]);
        check("b depends on a", true, &["b after a"]);
        check("T2: T1, T3", true, &["T2 after T1+T3"]);
        check("Phase 2 depends on Phase 1", true, &["phase 2 after phase 1"]);
        check(
            "Write the API depends on Create the schema",
            true,
            &["Write the API after Create the schema"],
        );
        check(
            "Tasks 2 and 3 can be done in parallel once task 1 is finished; task 4 needs both.",
            false,
            &["2+3 after 1", "4 after 2+3"],
        );
    }

    #[test]
    fn other_sentences_are_no_dependencies() {
        for text in [
            "Setup: No dependencies",
            "Commit after each task",
            "Task 2 does not depend on task 1",
            "We need 2 servers before 3 o'clock",
            "Depends on: T1",
            "Step 2 needs care",
            "Phase 1: T001, T002",
        ] {
            check(text, false, &[]);
        }
        assert_eq!(statements("Tasks 2 and 3 can run in parallel", false).parallel.len(), 2);
    }

    #[test]
    fn arrows_are_explained() {
        assert!(arrows_lead_to_dependencies("Arrows mean \"depends on\":"));
        assert!(arrows_lead_to_dependencies("(arrow = depends on)"));
        assert!(arrows_lead_to_dependencies("A → B means A depends on B"));
        assert!(!arrows_lead_to_dependencies(
            "An arrow means \"must be finished before\"."
        ));
        assert!(!arrows_lead_to_dependencies(
            "Task 2 depends on Task 1. The arrow keys work."
        ));
        assert!(!arrows_lead_to_dependencies("A → B means B depends on A"));
    }
}
