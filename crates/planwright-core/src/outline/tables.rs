//! Plans written as tables: a column with the task, and perhaps columns with ids, dependencies and states.

use super::OutlineTask;
use super::item_text::read_item;
use super::markdown_lines::{Line, LineKind};
use super::names::{is_none_word, one_line, plain};
use super::raw::{RawGroup, RawPlan, RawTask, Reference};
use super::rules::GUESS;
use super::task_keys as keys;
use super::value::plain_key;
use crate::diagnostic::Diagnostic;
use crate::text::Span;

/// Columns that name the task, the surest first.
const TITLES: &[&str] = &[
    "task",
    "title",
    "tasktitle",
    "taskname",
    "todo",
    "action",
    "actionitem",
    "workitem",
    "activity",
    "item",
    "work",
    "deliverable",
    "name",
    "summary",
    "story",
    "issue",
    "step",
    "what",
    "description",
    "taskdescription",
];

/// Columns that say what else is to be known.
const DESCRIPTIONS: &[&str] = &[
    "description",
    "details",
    "detail",
    "notes",
    "note",
    "what",
    "summary",
    "comment",
    "comments",
];

const IDS: &[&str] = &[
    "id", "taskid", "#", "no", "nr", "number", "num", "key", "ref", "step", "task", "order", "stepid", "code",
];

struct Cell<'t> {
    text: &'t str,
    at: usize,
}

impl Cell<'_> {
    fn span(&self) -> Span {
        Span::new(self.at, self.at + self.text.len())
    }
}

/// Reads the tables of a text as plans, each with its place and the text of the heading before it.
pub(super) fn plans_of<'t>(lines: &[Line<'t>]) -> Vec<(RawPlan, Span)> {
    let mut found = Vec::new();
    let mut rows: Vec<Vec<Cell<'t>>> = Vec::new();
    let mut label: Option<Line<'t>> = None;
    for line in lines.iter().chain([&END]) {
        match line.kind {
            LineKind::TableRow => rows.push(cells(line)),
            kind => {
                let table = std::mem::take(&mut rows);
                found.extend(plan_of(&table, label));
                if matches!(kind, LineKind::Heading(_)) {
                    label = Some(*line);
                }
            }
        }
    }
    found
}

const END: Line<'static> = Line {
    kind: LineKind::Blank,
    indent: 0,
    text: "",
    at: 0,
};

/// Splits a row at its bars; one after a backslash, or in a span of code, belongs to a cell.
fn cells<'t>(line: &Line<'t>) -> Vec<Cell<'t>> {
    let mut out = Vec::new();
    let (mut start, mut is_escaped, mut in_code) = (0, false, false);
    let bars = line.text.char_indices().filter_map(|(at, c)| {
        let is_bar = c == '|' && !is_escaped && !in_code;
        in_code ^= c == '`' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_bar.then_some(at)
    });
    for at in bars.chain([line.text.len()]) {
        let text = line.text.get(start..at).unwrap_or("");
        let trimmed = text.trim_start();
        out.push(Cell {
            text: trimmed.trim_end(),
            at: line.at + start + (text.len() - trimmed.len()),
        });
        start = at + 1;
    }
    out.remove(0);
    if out.last().is_some_and(|cell| cell.text.is_empty()) {
        out.pop();
    }
    out
}

struct Columns {
    title: usize,
    id: Option<usize>,
    dependencies: Option<usize>,
    blocks: Option<usize>,
    state: Option<usize>,
    group: Option<usize>,
    files: Option<usize>,
    description: Option<usize>,
}

impl Columns {
    fn of(header: &[Cell<'_>], rows: &[Vec<Cell<'_>>]) -> Option<Self> {
        let names: Vec<String> = header.iter().map(|cell| plain_key(&plain(cell.text))).collect();
        let named = |keys: &[&str]| keys.iter().find_map(|key| names.iter().position(|name| name == key));
        let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
        let is_short =
            |column: &usize| cells(*column).all(|cell| !plain(cell.text).contains(' ') && cell.text.len() <= 16);
        // `Step` and `Task` are ids where another column has the words.
        let titles: Vec<usize> = TITLES
            .iter()
            .filter_map(|key| names.iter().position(|name| name == key))
            .collect();
        let title = titles
            .iter()
            .copied()
            .find(|column| !is_short(column))
            .or(titles.first().copied())?;
        let others = |keys: &[&str]| {
            keys.iter().find_map(|key| {
                names
                    .iter()
                    .position(|name| name == key)
                    .filter(|column| *column != title)
            })
        };
        let columns = Columns {
            title,
            id: others(IDS).filter(|column| is_short(column)),
            dependencies: names
                .iter()
                .position(|name| keys::is_dependency(name))
                .filter(|column| *column != title),
            blocks: others(keys::BLOCKS),
            state: others(keys::STATES),
            group: others(keys::GROUPS),
            files: others(keys::FILES),
            description: others(DESCRIPTIONS),
        };
        let is_sure = named(&[
            "task",
            "title",
            "tasktitle",
            "taskname",
            "todo",
            "action",
            "actionitem",
            "workitem",
            "activity",
        ]) == Some(title);
        let has_other = columns.id.is_some()
            || columns.dependencies.is_some()
            || columns.state.is_some()
            || columns.blocks.is_some();
        (is_sure || has_other).then_some(columns)
    }
}

fn plan_of(rows: &[Vec<Cell<'_>>], label: Option<Line<'_>>) -> Option<(RawPlan, Span)> {
    let (header, rows) = rows.split_first()?;
    let (rule, rows) = rows.split_first()?;
    let is_rule = |cell: &Cell<'_>| !cell.text.is_empty() && cell.text.chars().all(|c| matches!(c, '-' | ':' | ' '));
    if rule.is_empty() || !rule.iter().all(is_rule) {
        return None;
    }
    let columns = Columns::of(header, rows)?;
    let mut plan = RawPlan::default();
    let own_group = label.map(|label| {
        plan.groups.push(RawGroup {
            name: plain(label.text),
            place: label.span(),
            ..RawGroup::default()
        });
        0
    });
    for row in rows {
        let cell = |column: Option<usize>| row.get(column?).filter(|cell| !is_none_word(cell.text));
        let Some(title) = cell(Some(columns.title)) else {
            continue;
        };
        let read = read_item(title.text, None, title.at);
        let group = match cell(columns.group) {
            Some(cell) => {
                let name = plain(cell.text);
                let known = plan.groups.iter().position(|group| group.name == name);
                Some(known.unwrap_or_else(|| {
                    plan.groups.push(RawGroup {
                        name,
                        place: cell.span(),
                        ..RawGroup::default()
                    });
                    plan.groups.len() - 1
                }))
            }
            None => own_group,
        };
        let references = |column: Option<usize>| -> Option<Vec<Reference>> {
            let found = row
                .get(column?)
                .filter(|cell| !is_none_word(cell.text))
                .map(|cell| Reference {
                    text: plain(cell.text),
                    place: cell.span(),
                    is_certain: true,
                });
            Some(found.into_iter().collect())
        };
        let texts = |column| -> Vec<String> {
            let files = cell(column).map_or("", |cell| cell.text).split(',').map(plain);
            files.filter(|file| !file.is_empty()).collect()
        };
        let status = cell(columns.state);
        let (state, guess) = status.map_or((None, None), |cell| keys::read_status(cell.text));
        let note = status.zip(guess);
        plan.notes
            .extend(note.map(|(cell, guess)| Diagnostic::new(&GUESS, cell.span(), guess)));
        plan.notes.extend(read.notes);
        let dependencies = references(columns.dependencies).or(read.dependencies);
        plan.tasks.push(RawTask {
            task: OutlineTask {
                id: cell(columns.id).map(|cell| plain(cell.text)).or(read.task.id),
                title: one_line(&read.task.title, 500),
                description: cell(columns.description).map_or(read.task.description, |cell| cell.text.to_owned()),
                state: state.or(read.task.state),
                files: texts(columns.files),
                place: title.span(),
                is_optional: read.task.is_optional,
                is_parallel: read.task.is_parallel,
                ..OutlineTask::default()
            },
            group,
            dependencies,
            blocks: references(columns.blocks).unwrap_or_default(),
            ..RawTask::default()
        });
    }
    let place = plan.tasks.first()?.task.place;
    Some((plan, place))
}
