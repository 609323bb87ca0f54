//! Writes a whole new checklist: ids, explicit dependencies, criteria and files as lines below their task.

use super::super::draft::{DraftState, DraftTask, PlanDraft};
use super::super::id_source::IdSource;
use super::super::writer::{
    Composed, DialectWriter, Import, Resets, WriterReport, member, named, one_line, report_new_ids, slug, take_file_id,
    take_notes, take_title_and_body, task_ids, text,
};
use super::details;
use super::ids;
use super::tags::{self, NEEDS};
use super::variant::Marker;
use crate::document::patch::PlainValue;
use crate::plan::Field;
use crate::text::visible;

/// Writes checklists.
pub(super) struct ChecklistWriter;

static RESETS: Resets<'static> = Resets {
    answered: &[Field::Status],
    ..Resets::NONE
};

/// The initial values of a planner's plan.
static PLANNED: Resets<'static> = Resets {
    head: &[Field::Id, Field::Order],
    task: &[Field::Status],
    fresh: &[" "],
    ..RESETS
};

/// Longer ids are given by programs, and are no names for people.
const MAX_ID_CHARS: usize = 24;

impl DialectWriter for ChecklistWriter {
    fn compose(&self, draft: &mut PlanDraft, id_source: &mut IdSource<'_>, report: &mut WriterReport) -> Composed {
        let is_number = |id: &str| id.bytes().all(|byte| byte.is_ascii_digit());
        let fits = |id: &str| ids::is_own_id(id) && id.len() <= MAX_ID_CHARS && !is_number(id);
        let ids = task_ids(&draft.tasks, fits, |n| format!("T{n}"));
        let was_number = |task: &DraftTask| task.id.as_deref().is_some_and(is_number);
        if !draft.tasks.iter().all(was_number) {
            report_new_ids(&draft.tasks, &ids, "id", report);
        }
        let head = head(draft, id_source, report);
        let tasks = draft.tasks.iter_mut().enumerate();
        Composed {
            head,
            tasks_key: "tasks",
            tasks: tasks.map(|(ix, task)| compose_task(task, ix, &ids, report)).collect(),
        }
    }

    fn lay_out(&self, composed: Composed) -> String {
        lay_out(&composed)
    }

    fn structure(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (&[], &["id", "needs"])
    }

    fn carries_originals(&self) -> bool {
        false
    }

    fn import(&self) -> Import {
        Import::Anew(&RESETS)
    }

    fn planned(&self) -> &'static Resets<'static> {
        &PLANNED
    }
}

fn head(draft: &mut PlanDraft, id_source: &IdSource<'_>, report: &mut WriterReport) -> Vec<(String, PlainValue)> {
    let head = &mut draft.head;
    head.drop(Field::Order);
    let given: Vec<String> = [Field::Title, Field::Project, Field::Goal, Field::Description]
        .into_iter()
        .filter_map(|field| head.take_text(field))
        .collect();
    let mut parts: Vec<&str> = Vec::new();
    for part in given.iter().map(String::as_str) {
        if !parts.iter().any(|known| known.starts_with(part)) {
            parts.retain(|known| !part.starts_with(known.trim_end_matches('…')));
            parts.push(part);
        }
    }
    report_spaces(None, "title", given.iter().map(String::as_str), report);
    let title = given.first().map_or_else(
        || {
            report.invented(None, "title", "the plan has no goal");
            "Untitled plan".to_owned()
        },
        |first| one_line(&clean(first.trim().lines().next().unwrap_or(first))),
    );
    let about: Vec<&str> = parts.into_iter().filter(|part| one_line(part) != title).collect();
    let about = clean_block(&about.join("\n\n"));
    let old = head.text(Field::Id).map(one_line);
    let id = take_file_id(head).unwrap_or_else(|| {
        let usual = usual_id(&title);
        let id = id_source.plan_id(usual.clone(), |n| format!("{usual}-{n}"));
        if let Some(old) = old {
            report.changed(
                None,
                "id",
                format!("`{}` is no name: the id of the plan is `{id}`", visible(&old)),
            );
        }
        id
    });
    let mut members = vec![member("id", text(id)), member("title", text(title))];
    if !about.is_empty() {
        members.push(member("description", text(about)));
    }
    members.push(member("tasks", PlainValue::Null));
    members
}

/// Returns a description without the title at its beginning; none if it begins with something else.
fn without_title(about: &str, title: &str) -> Option<String> {
    let rest = about.strip_prefix(title)?;
    let marks = ["\n", ": ", " – ", " — ", " - ", ". "];
    let is_end = rest.trim_matches([':', '.', ' ']).is_empty();
    let rest = marks.iter().find_map(|mark| rest.strip_prefix(mark));
    match is_end {
        true => Some(String::new()),
        false => Some(clean_block(rest?.trim_start_matches(' '))),
    }
}

/// Returns the first words of a title as the id of a plan.
fn usual_id(title: &str) -> String {
    const MAX_CHARS: usize = 40;
    let words = slug(title, MAX_CHARS + 1);
    let whole = match words.len() > MAX_CHARS {
        true => words.rsplit_once('-').map_or(words.as_str(), |(whole, _)| whole),
        false => &words,
    };
    if whole.is_empty() { "plan" } else { whole }.to_owned()
}

fn compose_task(
    task: &mut DraftTask,
    task_ix: usize,
    ids: &[(String, bool)],
    report: &mut WriterReport,
) -> Vec<(String, PlainValue)> {
    let notes = take_notes(&mut task.fields, &task.state);
    let (title, body) = take_title_and_body(&mut task.fields).unwrap_or_else(|| {
        report.invented(Some(task_ix), "title", "it has no description");
        ("Untitled task".to_owned(), String::new())
    });
    report_spaces(Some(task_ix), "title", [title.as_str(), body.as_str()], report);
    if title.trim().contains('\n') && title.trim() != body.trim() {
        report.changed(Some(task_ix), "title", "its lines are one line");
    }
    let short = one_line(&clean(&title));
    let short = if short.is_empty() {
        "Untitled task".to_owned()
    } else {
        short
    };
    let mut about = clean_block(&body);
    if let Some(rest) = without_title(&about, &short) {
        about = rest;
    }
    report_spaces(Some(task_ix), "notes", notes.as_deref(), report);
    if let Some(notes) = notes.map(|notes| clean_block(&notes)).filter(|notes| !notes.is_empty()) {
        report.changed(Some(task_ix), "description", "its notes are the end of the description");
        let lead = if about.is_empty() { "" } else { "\n\n" };
        about = format!("{about}{lead}Notes: {notes}");
    }
    if let Some(section) = task.fields.take_text(Field::Section) {
        let lead = if about.is_empty() { "" } else { "\n\n" };
        about = format!("{about}{lead}Part of: {}", one_line(&clean(&section)));
    }
    if let Some(text) = task.fields.take_text(Field::SectionText).map(|text| clean_block(&text)) {
        let lead = if about.is_empty() { "" } else { "\n\n" };
        about = format!("{about}{lead}{text}");
    }
    let mut members = vec![member("status", text(mark(task, task_ix, report)))];
    if task.held {
        members.push(member("optional", PlainValue::Bool(true)));
        task.fields.drop(Field::Skip);
    }
    members.push(member("id", text(ids.get(task_ix).map_or("", |(id, _)| id))));
    members.push(member("title", text(short)));
    if !task.dependencies.is_empty() {
        members.push(member("needs", named(&task.dependencies, ids)));
    }
    let files = take_files(task, task_ix, &mut about, report);
    if !about.is_empty() {
        members.push(member("description", text(about)));
    }
    if let Some(criteria) = task.fields.take_texts(Field::Criteria) {
        let written = lines(criteria.clone());
        if written != criteria {
            report.changed(
                Some(task_ix),
                "criteria",
                "each is one line, without control characters",
            );
        }
        members.push(member("criteria", PlainValue::Array(written)));
    }
    if !files.is_empty() {
        members.push(member("files", PlainValue::Array(files)));
    }
    members
}

/// Takes the files of a task. Names that a line of files cannot hold go to the description.
fn take_files(task: &mut DraftTask, task_ix: usize, about: &mut String, report: &mut WriterReport) -> Vec<PlainValue> {
    let is_file = |file: &PlainValue| matches!(file, PlainValue::String(name) if details::is_file(name));
    let files = task.fields.take_texts(Field::Files).unwrap_or_default();
    let (files, odd): (Vec<PlainValue>, Vec<PlainValue>) = files.into_iter().partition(is_file);
    let odd: Vec<String> = odd.into_iter().filter_map(as_line).collect();
    if !odd.is_empty() {
        report.changed(
            Some(task_ix),
            "files",
            "names of files with commas or line breaks are in the description",
        );
        let lead = if about.is_empty() { "" } else { "\n\n" };
        *about = format!("{about}{lead}Files: {}", odd.join("; "));
    }
    files
}

/// Returns the mark of a task's box.
fn mark(task: &DraftTask, task_ix: usize, report: &mut WriterReport) -> &'static str {
    match &task.state {
        DraftState::Done => return "x",
        DraftState::Pending => {}
        DraftState::Blocked(reason) => {
            let message = format!("it was blocked ({}) and is pending again", one_line(reason));
            report.changed(Some(task_ix), "status", message);
        }
        state => {
            let message = format!(
                "it was {} and is pending again: a box is only open or done",
                state.as_str()
            );
            report.changed(Some(task_ix), "status", message);
        }
    }
    " "
}

/// Returns texts as single lines, without empty ones.
fn lines(items: Vec<PlainValue>) -> Vec<PlainValue> {
    items.into_iter().filter_map(as_line).map(text).collect()
}

fn as_line(item: PlainValue) -> Option<String> {
    match item {
        PlainValue::String(item) => Some(one_line(&clean(&item))).filter(|line| !line.is_empty()),
        _ => None,
    }
}

/// Reports texts whose control characters or tabs become spaces, or that begin or end with white space.
fn report_spaces<'t>(
    task: Option<usize>,
    field: &'static str,
    texts: impl IntoIterator<Item = &'t str>,
    report: &mut WriterReport,
) {
    if texts.into_iter().any(|text| clean_block(text) != text) {
        report.changed(task, field, "white space and control characters in it are spaces");
    }
}

/// Replaces control characters, which a line of Markdown cannot hold.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns a text of several lines without control characters, trailing white space and blank lines around it.
fn clean_block(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| clean(&line.replace('\t', "    ")).trim_end().to_owned())
        .collect();
    let is_text = |line: &String| !line.is_empty();
    let (Some(first), Some(last)) = (lines.iter().position(is_text), lines.iter().rposition(is_text)) else {
        return String::new();
    };
    lines[first..=last].join("\n")
}

/// Returns the text of a checklist.
fn lay_out(composed: &Composed) -> String {
    let string = |members: &[(String, PlainValue)], key: &str| {
        members
            .iter()
            .find(|(own, _)| own == key)
            .and_then(|(_, value)| match value {
                PlainValue::String(text) => Some(text.clone()),
                _ => None,
            })
    };
    let title = string(&composed.head, "title").unwrap_or_else(|| "Plan".to_owned());
    let marker = Marker::line(string(&composed.head, "id").as_deref(), true, None);
    let mut out = format!("# {title}\n\n{marker}\n\n");
    if let Some(about) = string(&composed.head, "description") {
        for line in details::description_lines(&about) {
            out.push_str(&line);
            out.push('\n');
        }
        out.push('\n');
    }
    for task in &composed.tasks {
        let texts = |key: &str| match task.iter().find(|(own, _)| own == key) {
            Some((_, PlainValue::Array(items))) => items
                .iter()
                .filter_map(|item| match item {
                    PlainValue::String(text) => Some(text.as_str()),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        let is_done = matches!(string(task, "status").as_deref(), Some("x" | "X"));
        let is_optional = task
            .iter()
            .any(|(key, value)| key == "optional" && *value == PlainValue::Bool(true));
        out.push_str(if is_done { "- [x]" } else { "- [ ]" });
        out.push_str(if is_optional { "* " } else { " " });
        let id = string(task, "id");
        if let Some(id) = &id {
            out.push_str(&format!("{id}: "));
        }
        out.push_str(&tags::escaped_title(
            &string(task, "title").unwrap_or_default(),
            id.is_some(),
        ));
        let needs: Vec<&str> = texts("needs");
        if !needs.is_empty() {
            out.push_str(&format!(" ({NEEDS} {})", needs.join(", ")));
        }
        out.push('\n');
        if let Some(about) = string(task, "description") {
            for line in details::description_lines(&about) {
                out.push_str(if line.is_empty() { "" } else { "  " });
                out.push_str(&line);
                out.push('\n');
            }
        }
        for criterion in texts("criteria") {
            out.push_str(&format!("  - {}\n", details::criterion_text(criterion)));
        }
        let files: Vec<&str> = texts("files");
        if !files.is_empty() {
            out.push_str(&format!("  - files: {}\n", files.join(", ")));
        }
    }
    out
}
