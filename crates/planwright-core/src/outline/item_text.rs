//! Reads the text of one list item: its id, marks, title, and the dependencies that it names.

use std::ops::Range;

use super::OutlineTask;
use super::markdown_lines::SYMBOLS;
use super::name_tokens::IdForm;
use super::names::{emphasis, one_line, plain, shown, without};
use super::phrases::STEP_NOUNS;
use super::raw::{RawTask, Reference, guess, not_understood};
use super::references::{bracketed_ids, hints, mentions};
use super::task_keys::{read_status, state_of};
use crate::plan::State;
use crate::text::Span;

/// Reads the text of an item. Its spans are `whole`, or are relative to `offset` if that is none.
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
        let reference = mention.reference(span_of(mention.range.clone()));
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
        raw.notes.push(guess(span_of(doubt.clone()), not_understood(words)));
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
        if let Some(ids) = bracketed_ids(text) {
            raw.are_ids = true;
            raw.hints = ids
                .into_iter()
                .map(|(name, range)| Reference::certain(&name, span_of(range)))
                .collect();
        }
    }
    let mut words = without_clauses(text, start, &said.clauses);
    if let Some((id, place)) = written_id(text).filter(|_| raw.task.id.is_none()) {
        raw.task.id = Some(id.to_owned());
        words = words.replace(text.get(place).unwrap_or("("), "");
    }
    let has_clause = said.clauses.iter().any(|clause| clause.start >= start);
    let words = read_remarks(&words, &mut raw.task);
    title_and_rest(&words, &mut raw.task);
    if struck_through(words.trim()).is_some() && raw.task.state == Some(State::Skipped) {
        let message = format!(
            "`{}` is struck through: it counts as skipped",
            shown(&raw.task.title, 60)
        );
        raw.notes.push(guess(raw.task.place, message));
    }
    // A title has only its first words, without the addresses of links.
    let is_shortened = words.contains("](") || words.len() > MAX_TITLE_BYTES;
    if has_clause || is_shortened || !raw.task.description.is_empty() {
        // The text as written, so that nothing is lost.
        let whole = text.get(start..).unwrap_or("");
        let bold = emphasis(whole).into_iter().filter(|stars| stars.len() > 1);
        let whole = without(whole, &bold.collect::<Vec<_>>());
        let whole = if whole.contains('`') {
            whole
        } else {
            whole.replace("__", "")
        };
        raw.task.description = whole.trim().to_owned();
    }
    raw
}

/// Returns a text from `start` on without some clauses, or with them if nothing else is left.
fn without_clauses(text: &str, start: usize, clauses: &[Range<usize>]) -> String {
    let mut words = String::new();
    let mut at = start;
    for clause in clauses.iter().filter(|clause| clause.start >= start) {
        words.push_str(text.get(at..clause.start).unwrap_or(""));
        at = clause.end.max(at);
    }
    words.push_str(text.get(at..).unwrap_or(""));
    match words.trim().is_empty() {
        true => text.get(start..).unwrap_or("").to_owned(),
        false => words,
    }
}

/// Reads an id in brackets: "Add CI (id: ci)". Returns it with its brackets, or with what begins these where they say more.
fn written_id(text: &str) -> Option<(&str, Range<usize>)> {
    let start = ["(id: ", "[id: ", "(ID: ", "[ID: "]
        .iter()
        .find_map(|open| text.find(open))?;
    let rest = text.get(start + "(id: ".len()..)?;
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '#');
    let id = rest
        .get(..rest.find(|c: char| !is_part(c))?)
        .filter(|id| !id.is_empty())?;
    let end = start + "(id: ".len() + id.len();
    let after = text.get(end..)?;
    let is_whole = after.starts_with([')', ']']);
    (is_whole || after.starts_with([',', ';'])).then(|| (id, start..end + usize::from(is_whole)))
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
        let (state, doubt) = read_status(word);
        let place = Span::new(offset, offset + text.trim_end().len());
        if doubt.is_some() {
            push_line(text, &mut raw.task.description);
        }
        raw.notes.extend(doubt.map(|message| guess(place, message)));
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
        push_line(text, &mut raw.task.description);
    }
}

/// The word limit of a label before dependencies: "Depends on tasks".
const MAX_LABEL_WORDS: usize = 3;

pub(super) fn push_line(text: &str, description: &mut String) {
    if !description.is_empty() {
        description.push('\n');
    }
    description.push_str(text.trim());
}

/// Reads an item below a label such as "Dependencies:" as a dependency.
pub(super) fn read_dependency(text: &str, offset: usize, raw: &mut RawTask) {
    const LABEL: &str = "depends on: ";
    let said = mentions(&format!("{LABEL}{text}"));
    let place = |at: usize| offset + at.saturating_sub(LABEL.len()).min(text.len());
    let found = said.found.iter().map(|mention| {
        let place = Span::new(place(mention.range.start), place(mention.range.end));
        mention.reference(place)
    });
    raw.dependencies.get_or_insert_default().extend(found);
}

/// Reads the marks before the words of an item. Returns the start of the words.
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
    match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((tag, after)) => read_tag(tag, after, task),
        None if task.id.is_some() => None,
        None => {
            let (id, n_bytes) = leading_id(text)?;
            task.id = Some(id.to_owned());
            Some(n_bytes)
        }
    }
}

/// Reads a mark in brackets, unless it is a link. Returns its length.
fn read_tag(tag: &str, after: &str, task: &mut OutlineTask) -> Option<usize> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_tag = (1..=12).contains(&tag.len()) && tag.chars().all(is_part);
    if !is_tag || after.starts_with('(') {
        return None;
    }
    let is_id = task.id.is_none() && tag.contains(|c: char| c.is_ascii_digit()) && !tag.starts_with("US");
    match tag {
        "P" | "p" | "parallel" => task.is_parallel = true,
        "optional" => task.is_optional = true,
        tag if is_id => task.id = Some(tag.to_owned()),
        tag => match state_of(tag).filter(|_| tag.len() > 1) {
            Some(state) => task.state = task.state.or(Some(state)),
            None if tag.eq_ignore_ascii_case("x") => {}
            None => task.details.push(format!("Label: {tag}")),
        },
    }
    Some(tag.len() + 2)
}

/// Returns the length in bytes of some characters at the start of a text.
fn n_leading(text: &str, marks: &[char]) -> usize {
    text.len() - text.trim_start_matches(marks).len()
}

/// Returns the id at the start of an item, and the start of the words after it.
fn leading_id(text: &str) -> Option<(&str, usize)> {
    const NOUNS: [&str; 7] = ["TASK ", "STEP ", "Story ", "Issue ", "Ticket ", "task ", "step "];
    let n_opening = n_leading(text, &['*', '`', '_']);
    let body = text.get(n_opening..)?;
    // "#12 Parser drops comments": the number of an issue.
    let n_digits = body
        .strip_prefix('#')
        .map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    if (1..=9).contains(&n_digits)
        && body
            .get(1 + n_digits..)
            .is_some_and(|rest| rest.starts_with([' ', ':']))
    {
        let after = body.get(1 + n_digits..)?.trim_start_matches([':', ' ']);
        return Some((body.get(..1 + n_digits)?, text.len() - after.len()));
    }
    let after_noun = NOUNS.iter().chain(STEP_NOUNS).find_map(|noun| {
        let rest = body.strip_prefix(noun.trim_end())?;
        (!noun.ends_with(' ') || rest.starts_with([' ', '#', '-'])).then_some(rest)
    });
    let named = after_noun.map_or(body, |rest| rest.trim_start_matches([' ', '#', '-']));
    let (id, n_id) = id_at(named)?;
    let after = named.get(n_id..)?;
    let n_closing = n_leading(after, &['*', '`', '_']);
    let rest = after.get(n_closing..)?;
    let rest = rest.strip_prefix('步').filter(|_| after_noun.is_some()).unwrap_or(rest);
    let n_separator = match rest.chars().next()? {
        ':' | ')' | '.' => 1,
        c @ ('：' | '、') => c.len_utf8(),
        ' ' => {
            let has_letters = id.contains(|c: char| c.is_ascii_alphabetic());
            let is_capital = id.starts_with(|c: char| c.is_ascii_uppercase());
            // A number alone needs a mark that ends it.
            let is_id = has_letters && is_capital && n_opening == n_closing
                || id.contains('.')
                || after_noun.is_some()
                || n_closing > 0;
            let dashed = rest.trim_start().strip_prefix(['-', '–', '—', ':', '|']);
            match dashed {
                Some(words) => rest.len() - words.len(),
                None if is_id => 1,
                None => return None,
            }
        }
        _ => return None,
    };
    let rest = rest.get(n_separator..)?;
    // `**1. Title**`: the marks belong to the title, and `title_and_rest` finds the closing ones without the opening ones.
    let words = match n_opening > 0 && n_closing == 0 {
        // `**Step 1:** Title`: they close before it.
        true => rest.trim_start_matches(['*', '_']).trim_start(),
        false => rest,
    };
    Some((id, text.len() - words.len()))
}

/// Returns the id at the start of a text, and its length.
fn id_at(text: &str) -> Option<(&str, usize)> {
    let form = IdForm::of(text);
    let is_id = match form.n_digits {
        // A single capital letter, as in `A. Choose` and `B) Build`.
        0 => {
            text.starts_with(|c: char| c.is_ascii_uppercase())
                && matches!(text.as_bytes().get(1), Some(b'.' | b')' | b':'))
        }
        n_digits => form.letters <= 8 && n_digits <= 6,
    };
    let end = if form.n_digits == 0 { 1 } else { form.end };
    Some((text.get(..end).filter(|_| is_id)?, end))
}

/// Removes remarks such as "(optional)" and "(done)" from a text.
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

/// Splits a text at a mark that is none of code.
fn split_at_mark<'t>(text: &'t str, mark: &str) -> Option<(&'t str, &'t str)> {
    if mark != "**" {
        return text.split_once(mark);
    }
    let stars = emphasis(text).into_iter().find(|stars| stars.len() > 1)?;
    Some((text.get(..stars.start)?, text.get(stars.start + 2..)?))
}

/// Splits words that begin with struck-through ones: "~~Poll it~~ (dropped)".
fn struck_through(words: &str) -> Option<(&str, &str)> {
    let (struck, rest) = words.strip_prefix("~~")?.split_once("~~")?;
    (!struck.trim().is_empty()).then_some((struck, rest))
}

/// Splits the words of an item into its title and its description.
fn title_and_rest(words: &str, task: &mut OutlineTask) {
    let words = words.trim();
    if let Some((struck, rest)) = struck_through(words) {
        task.state = task.state.or(Some(State::Skipped));
        task.title = one_line(&plain(struck), MAX_TITLE_BYTES);
        task.description = rest.trim().to_owned();
        return;
    }
    for mark in ["**", "__"] {
        let Some((bold, rest)) = words.strip_prefix(mark).and_then(|rest| split_at_mark(rest, mark)) else {
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
    // `1. Title** – text`, with the opening marks before the number.
    let (title, rest) = match split_at_mark(line, "**") {
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

const MAX_TITLE_BYTES: usize = 500;

/// How much of a title is read: more is never shown.
const MAX_TITLE: usize = 1_000;

/// Returns a title without the addresses of links, and without empty code marks.
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
