//! Reads the text of one list item: its id, marks, title, and the dependencies that it names.

use std::ops::Range;

use super::OutlineTask;
use super::markdown_lines::SYMBOLS;
use super::names::{one_line, plain};
use super::raw::{RawTask, Reference};
use super::references::{hints, mentions};
use super::rules::GUESS;
use super::task_keys::{read_status, state_of};
use crate::diagnostic::Diagnostic;
use crate::plan::State;
use crate::text::{Span, visible};

/// Reads the text of an item. Its places are `whole`, or count from `offset` where that is none.
pub(super) fn read_item(text: &str, whole: Option<Span>, offset: usize) -> RawTask {
    let span_of = |range: Range<usize>| whole.unwrap_or(Span::new(offset + range.start, offset + range.end));
    let mut raw = RawTask {
        task: OutlineTask {
            place: span_of(0..text.trim_end().len()),
            ..OutlineTask::default()
        },
        ..RawTask::default()
    };
    let start = read_marks(text, &mut raw.task);
    let said = mentions(text);
    for mention in &said.found {
        let reference = Reference {
            text: mention.text.clone(),
            place: span_of(mention.range.clone()),
            is_certain: mention.is_certain,
        };
        match mention.is_reverse {
            true => raw.blocks.push(reference),
            false => raw.dependencies.get_or_insert_default().push(reference),
        }
    }
    if said.says_none {
        raw.dependencies.get_or_insert_default();
    }
    for doubt in &said.doubts {
        let words = text.get(doubt.clone()).unwrap_or("");
        let message = format!("`{}` is not understood as a dependency", visible(&one_line(words, 60)));
        raw.notes.push(Diagnostic::new(&GUESS, span_of(doubt.clone()), message));
    }
    if said.found.is_empty() && !said.says_none && said.doubts.is_empty() {
        raw.hints = hints(text)
            .into_iter()
            .map(|(name, range)| Reference {
                text: name,
                place: span_of(range),
                is_certain: false,
            })
            .collect();
    }
    let mut words = String::new();
    let mut at = start;
    for clause in said.clauses.iter().filter(|clause| clause.start >= start) {
        words.push_str(text.get(at..clause.start).unwrap_or(""));
        at = clause.end.max(at);
    }
    words.push_str(text.get(at..).unwrap_or(""));
    if words.trim().is_empty() {
        words = text.get(start..).unwrap_or("").to_owned();
    }
    let has_clause = said.clauses.iter().any(|clause| clause.start >= start);
    let words = read_remarks(&words, &mut raw.task);
    title_and_rest(&words, &mut raw.task);
    // A title has neither addresses of links nor more than its first words.
    let is_shortened = words.contains("](") || words.len() > MAX_TITLE_BYTES;
    if has_clause || is_shortened || !raw.task.description.is_empty() {
        // The text as it is written, so that nothing of it is lost.
        let whole = text.get(start..).unwrap_or("").replace("**", "").replace("__", "");
        raw.task.description = whole.trim().to_owned();
    }
    raw
}

/// Reads the lines below an item: they belong to its description, and may name dependencies.
pub(super) fn read_detail(text: &str, offset: usize, raw: &mut RawTask) {
    let detail = read_item(text, None, offset);
    let is_about_dependencies = detail.dependencies.is_some() || !detail.blocks.is_empty();
    let n_words = |text: &str| text.split_whitespace().count();
    let references = detail.dependencies.iter().flatten().chain(&detail.blocks);
    let certain = references.filter(|reference| reference.is_certain);
    let n_named: usize = certain.map(|reference| n_words(&reference.text) + 1).sum();
    // "Depends on: 2, since the schema must be frozen" has more than names.
    let gives_reason = n_words(text) > n_named + MAX_LABEL_WORDS;
    if let Some(found) = detail.dependencies {
        raw.dependencies.get_or_insert_default().extend(found);
    }
    raw.blocks.extend(detail.blocks);
    raw.notes.extend(detail.notes);
    let bare = plain(text);
    let lower = bare.to_lowercase();
    if let Some(word) = lower.strip_prefix("status:").map(str::trim) {
        let (state, guess) = read_status(word);
        let place = Span::new(offset, offset + text.trim_end().len());
        if guess.is_some() {
            push_line(text, &mut raw.task);
        }
        raw.notes
            .extend(guess.map(|guess| Diagnostic::new(&GUESS, place, guess)));
        raw.task.state = state.or(raw.task.state);
        return;
    }
    let is_label = |label: &str| lower.starts_with(label);
    if is_about_dependencies
        && !gives_reason
        && [
            "depend", "blocked", "after", "needs", "prereq", "deps", "blocks", "requires",
        ]
        .into_iter()
        .any(is_label)
    {
        return;
    }
    if let Some(files) = lower.strip_prefix("files:").or_else(|| lower.strip_prefix("file:")) {
        let written = bare.get(bare.len() - files.len()..).unwrap_or("");
        raw.task.files.extend(
            written
                .split(',')
                .map(|file| file.trim().to_owned())
                .filter(|file| !file.is_empty()),
        );
        return;
    }
    if !bare.is_empty() {
        push_line(text, &mut raw.task);
    }
}

/// How many words the label of a line with dependencies has: "Depends on tasks".
const MAX_LABEL_WORDS: usize = 4;

/// Adds a line to the description of a task.
pub(super) fn push_line(text: &str, task: &mut OutlineTask) {
    if !task.description.is_empty() {
        task.description.push('\n');
    }
    task.description.push_str(text.trim());
}

/// Reads an item below a label such as "Dependencies:" as what a task depends on.
pub(super) fn read_dependency(text: &str, offset: usize, raw: &mut RawTask) {
    const LABEL: &str = "depends on: ";
    let said = mentions(&format!("{LABEL}{text}"));
    let found = said.found.into_iter().map(|mention| {
        let place = |at: usize| offset + at.saturating_sub(LABEL.len()).min(text.len());
        Reference {
            text: mention.text,
            place: Span::new(place(mention.range.start), place(mention.range.end)),
            is_certain: mention.is_certain,
        }
    });
    raw.dependencies.get_or_insert_default().extend(found);
}

/// Reads what stands before the words of an item. Returns where they begin.
fn read_marks(text: &str, task: &mut OutlineTask) -> usize {
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or("");
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        let Some(n_bytes) = read_mark(trimmed, task) else {
            return at;
        };
        at += n_bytes;
    }
}

/// Reads one mark: an id, `[P]`, `[US1]`, a word like `Task 3:`, a symbol of a state. Returns its length.
fn read_mark(text: &str, task: &mut OutlineTask) -> Option<usize> {
    if let Some(symbol) = SYMBOLS.iter().find(|symbol| text.starts_with(**symbol)) {
        task.state = task.state.or(state_of(symbol));
        return Some(symbol.len());
    }
    if let Some(tag) = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .map(|(tag, _)| tag)
    {
        let is_tag = !tag.is_empty()
            && tag.len() <= 12
            && tag
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        let is_link = text.get(tag.len() + 2..).is_some_and(|rest| rest.starts_with('('));
        if !is_tag || is_link {
            return None;
        }
        match tag {
            "P" | "p" | "parallel" => task.is_parallel = true,
            "optional" => task.is_optional = true,
            tag if task.id.is_none() && tag.contains(|c: char| c.is_ascii_digit()) && !tag.starts_with("US") => {
                task.id = Some(tag.to_owned());
            }
            tag => match state_of(tag).filter(|_| tag.len() > 1) {
                Some(state) => task.state = task.state.or(Some(state)),
                None if tag.eq_ignore_ascii_case("x") => {}
                None => task.details.push(format!("Label: {tag}")),
            },
        }
        return Some(tag.len() + 2);
    }
    if task.id.is_some() {
        return None;
    }
    let marks = text.len() - text.trim_start_matches(['*', '`', '_']).len();
    let body = text.get(marks..)?;
    let noun = [
        "Task", "Step", "TASK", "STEP", "Story", "Issue", "Ticket", "task", "step",
    ]
    .iter()
    .find(|noun| {
        body.strip_prefix(**noun)
            .is_some_and(|rest| rest.starts_with([' ', '#', '-']))
    });
    let n_noun = noun.map_or(0, |noun| {
        let rest = body.get(noun.len()..).unwrap_or("");
        noun.len() + (rest.len() - rest.trim_start_matches([' ', '#', '-']).len())
    });
    let (id, n_id) = id_at(body.get(n_noun..)?)?;
    let after = body.get(n_noun + n_id..)?;
    let n_closing = after.len() - after.trim_start_matches(['*', '`', '_']).len();
    let rest = after.get(n_closing..)?;
    let has_letters = id.contains(|c: char| c.is_ascii_alphabetic());
    let separator = rest.chars().next();
    let n_separator = match separator {
        Some(':' | ')' | '.') => 1,
        Some(' ') => {
            let dash = rest
                .trim_start()
                .chars()
                .next()
                .filter(|c| matches!(c, '-' | '–' | '—' | ':' | '|'));
            let is_capital = id.starts_with(|c: char| c.is_ascii_uppercase());
            match dash {
                Some(dash) => rest.len() - rest.trim_start().len() + dash.len_utf8(),
                None if has_letters && is_capital && marks == n_closing
                    || id.contains('.')
                    || noun.is_some()
                    || n_closing > 0 =>
                {
                    1
                }
                None => return None,
            }
        }
        _ => return None,
    };
    // A number alone needs a mark after it that ends it.
    if !has_letters
        && !id.contains('.')
        && noun.is_none()
        && separator == Some(' ')
        && n_separator == 1
        && n_closing == 0
    {
        return None;
    }
    // `**1. Title**`: the marks are those of the title.
    let opened = if marks > 0 && n_closing == 0 { marks } else { 0 };
    let n_bytes = marks + n_noun + n_id + n_closing + n_separator;
    task.id = Some(id.to_owned());
    if opened > 0 {
        // What is left is the title up to the closing marks; `title_and_rest` finds them without the opening ones.
        let rest = text.get(n_bytes..)?;
        // `**Step 1:** Title`: they close before it.
        let n_closed = rest.len() - rest.trim_start_matches(['*', '_']).len();
        let rest = rest.get(n_closed..)?;
        let n_space = rest.len() - rest.trim_start().len();
        return Some(n_bytes + n_closed + n_space);
    }
    Some(n_bytes)
}

/// Returns the id that a text begins with, and its length.
fn id_at(text: &str) -> Option<(&str, usize)> {
    let bytes = text.as_bytes();
    let letters = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let mut end = letters;
    if letters > 0 && matches!(bytes.get(end), Some(b'-' | b'_')) {
        end += 1;
    }
    let digits = |from: usize| {
        bytes
            .get(from..)
            .map_or(0, |rest| rest.iter().take_while(|byte| byte.is_ascii_digit()).count())
    };
    let n_digits = digits(end);
    if n_digits == 0 {
        // A single capital letter, as in `A. Choose` and `B) Build`.
        let is_letter = letters == 1
            && bytes.first().is_some_and(u8::is_ascii_uppercase)
            && matches!(bytes.get(1), Some(b'.' | b')' | b':'));
        return is_letter.then_some((text.get(..1)?, 1));
    }
    if letters > 8 || n_digits > 6 {
        return None;
    }
    end += n_digits;
    while bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    Some((text.get(..end)?, end))
}

/// Takes remarks such as "(optional)" and "(done)" out of a text.
fn read_remarks(text: &str, task: &mut OutlineTask) -> String {
    let mut out = text.to_owned();
    let mut from = 0;
    while let Some(open) = out
        .get(from..)
        .and_then(|rest| rest.find(['(', '[']))
        .map(|at| at + from)
    {
        let Some(close) = out
            .get(open..)
            .and_then(|rest| rest.find([')', ']']))
            .map(|at| at + open)
        else {
            break;
        };
        let inner = out.get(open + 1..close).unwrap_or("").trim().to_lowercase();
        let state = match inner.as_str() {
            "done" | "completed" | "complete" | "in progress" | "in-progress" | "wip" | "skipped" => state_of(&inner),
            _ => None,
        };
        let is_mark = match inner.as_str() {
            "optional" => {
                task.is_optional = true;
                true
            }
            "parallel" | "p" | "can run in parallel" => {
                task.is_parallel = true;
                true
            }
            _ => state.is_some(),
        };
        task.state = task.state.or(state);
        if !is_mark {
            from = close + 1;
            continue;
        }
        out.replace_range(open..=close, "");
        from = open;
    }
    for symbol in ["✅", "✔️", "✔", "✓"] {
        if let Some(rest) = out.trim_end().strip_suffix(symbol) {
            task.state = task.state.or(Some(State::Done));
            out = rest.to_owned();
        }
    }
    out
}

/// Splits the words of an item into its title and its description.
fn title_and_rest(words: &str, task: &mut OutlineTask) {
    let words = words.trim();
    if let Some(struck) = words.strip_prefix("~~").and_then(|rest| rest.strip_suffix("~~")) {
        task.state = task.state.or(Some(State::Skipped));
        task.title = one_line(&plain(struck), MAX_TITLE_BYTES);
        return;
    }
    for mark in ["**", "__"] {
        let Some((bold, rest)) = words.strip_prefix(mark).and_then(|rest| rest.split_once(mark)) else {
            continue;
        };
        let label = plain(bold).to_lowercase();
        if ["task", "step", "title", "todo", "action"].contains(&label.as_str()) {
            return title_and_rest(rest.trim_start_matches([':', ' ', '-', '–', '—']), task);
        }
        task.title = one_line(&without_links(&plain(bold)), MAX_TITLE_BYTES);
        let rest = rest.trim().trim_start_matches([':', '-', '–', '—', '.']).trim();
        task.description = rest.to_owned();
        return;
    }
    let line = words.lines().next().unwrap_or("");
    // `1. Title** – text`, where the opening marks stood before the number.
    let (title, rest) = match line.split_once("**") {
        Some((title, rest)) if !rest.contains("**") => (title, rest.trim_start_matches([':', ' ', '-', '–', '—'])),
        _ => (line, ""),
    };
    let title = without_links(title);
    task.title = one_line(
        title.trim().trim_end_matches(['.', ':', ';', ',', '–', '—', '-', ' ']),
        MAX_TITLE_BYTES,
    );
    task.description = rest.trim().to_owned();
    if words.lines().count() > 1 {
        task.description = words.to_owned();
    }
}

/// How long a title is.
const MAX_TITLE_BYTES: usize = 500;

/// How much of a title is looked at: more is never shown.
const MAX_TITLE: usize = 1_000;

/// Returns a title without the addresses of links, and without marks of code around nothing.
fn without_links(title: &str) -> String {
    let mut out = String::with_capacity(title.len());
    let mut rest = title.get(..title.floor_char_boundary(MAX_TITLE)).unwrap_or(title);
    while let Some(open) = rest.find('[') {
        let (before, link) = rest.split_at(open);
        out.push_str(before);
        let text = link.get(1..).and_then(|body| body.split_once("]("));
        let Some((text, (_, after))) = text
            .filter(|(text, _)| !text.contains(['[', ']']))
            .and_then(|(text, rest)| Some((text, rest.split_once(')')?)))
        else {
            out.push('[');
            rest = link.get(1..).unwrap_or("");
            continue;
        };
        out.push_str(text);
        rest = after;
    }
    out.push_str(rest);
    if out.contains("``") && !out.contains("```") {
        out = out.replace("``", "");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_have_ids_titles_and_marks() {
        for (text, id, title) in [
            ("T001 Create the package", Some("T001"), "Create the package"),
            ("T002 [P] Add lint config", Some("T002"), "Add lint config"),
            ("[P] [US1] Contract test", None, "Contract test"),
            ("2.1 Session store", Some("2.1"), "Session store"),
            ("**T1**: Parse it", Some("T1"), "Parse it"),
            ("**T1: Parse it** – soon", Some("T1"), "Parse it"),
            ("Task 3: Ship it.", Some("3"), "Ship it"),
            ("**Step 2 – Ship it**", Some("2"), "Ship it"),
            ("**Freeze** the schema", None, "Freeze"),
            ("3 retries for the client", None, "3 retries for the client"),
            ("A. Choose", Some("A"), "Choose"),
            ("A library is chosen", None, "A library is chosen"),
            ("~~Old way~~", None, "Old way"),
            ("Build it (optional)", None, "Build it"),
            ("[Link](x) to it", None, "Link to it"),
            ("Read [the docs](https://a.b/c) first", None, "Read the docs first"),
            ("**Step 1:** Back up", Some("1"), "Back up"),
            ("**A.** Choose", Some("A"), "Choose"),
            ("[T4] Test it", Some("T4"), "Test it"),
        ] {
            let raw = read_item(text, None, 0);
            assert_eq!((raw.task.id.as_deref(), raw.task.title.as_str()), (id, title), "{text}");
        }
        assert!(read_item("Build it (optional)", None, 0).task.is_optional);
        assert!(read_item("T002 [P] Add", None, 0).task.is_parallel);
        assert_eq!(read_item("✅ Build it", None, 0).task.state, Some(State::Done));
    }
}
