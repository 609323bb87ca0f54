//! Reads plans written as tables: a column with the task, and possibly columns with ids, dependencies and states.

use super::OutlineTask;
use super::item_text::read_item;
use super::markdown_lines::{LineKind, MarkdownLine};
use super::names::{is_none_word, one_line, plain};
use super::phrases::is_left_out;
use super::raw::{RawPlan, RawTask, Reference};
use super::task_fields::labelled;
use super::task_keys as keys;
use super::value::plain_key;
use crate::text::Span;

/// Columns with the task's name, the most certain first.
#[rustfmt::skip]
const TITLES: &[&str] = &[
    "task", "title", "tasktitle", "taskname", "todo", "action", "actionitem", "workitem", "activity", "item", "work",
    "deliverable", "name", "summary", "story", "issue", "step", "what", "description", "taskdescription", "aufgabe",
    "schritt", "titel", "tâche", "tache", "étape", "titre", "tarea", "paso", "título", "titulo", "tarefa", "etapa",
    "attività", "compito", "passo", "задача", "タスク", "作業", "任务", "beschreibung", "descripción", "descrição",
    "descrizione",
];

/// How many of these only name tasks.
const N_SURE_TITLES: usize = 9;

/// Columns with further text about a task.
#[rustfmt::skip]
const DESCRIPTIONS: &[&str] = &[
    "description", "details", "detail", "notes", "note", "what", "summary", "comment", "comments",
];

const IDS: &[&str] = &[
    "id", "taskid", "#", "no", "nr", "number", "num", "key", "ref", "step", "task", "order", "stepid", "code", "nº",
    "n", "schritt", "étape", "paso", "etapa", "passo",
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

pub(super) struct PlanTable {
    pub(super) plan: RawPlan,
    pub(super) place: Span,
    /// Where its last row is cut off.
    pub(super) cut: Option<Span>,
}

/// Reads the tables of a text as plans.
pub(super) fn plans_of(lines: &[MarkdownLine<'_>]) -> Vec<PlanTable> {
    let mut found = Vec::new();
    let mut rows: Vec<MarkdownLine<'_>> = Vec::new();
    let mut label: Option<MarkdownLine<'_>> = None;
    let last = lines.iter().rposition(|line| line.kind != LineKind::Blank);
    for (ix, line) in lines.iter().chain([&MarkdownLine::blank(0)]).enumerate() {
        match line.kind {
            LineKind::TableRow => rows.push(*line),
            kind => {
                let table = std::mem::take(&mut rows);
                let cells: Vec<Vec<Cell<'_>>> = table.iter().map(cells).collect();
                if let Some((mut plan, place)) = plan_of(&cells, label) {
                    let cut = broken_row(&table).filter(|_| ix.checked_sub(1) >= last);
                    if let Some(cut) = cut
                        && plan.tasks.last().is_some_and(|raw| cut.contains(raw.task.place))
                    {
                        plan.tasks.pop();
                    }
                    found.push(PlanTable { plan, place, cut });
                }
                if matches!(kind, LineKind::Heading(_)) {
                    label = Some(*line);
                }
            }
        }
    }
    found.extend(separated_plans(lines));
    found
}

/// Reads the tables of a text whose columns stand between commas, semicolons or tabs, below a line with their names.
fn separated_plans(lines: &[MarkdownLine<'_>]) -> Vec<PlanTable> {
    let mut found = Vec::new();
    let is_row = |line: &&MarkdownLine<'_>| line.kind == LineKind::Text;
    let mut rest = lines;
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        let Some((separator, header)) = separated_header(first) else {
            continue;
        };
        let n_rows = others.iter().take_while(is_row).count();
        let (rows, after) = others.split_at(n_rows);
        rest = after;
        // A cell in quotes continues in the next line: by lines, its end would be lost.
        if rows.iter().any(|line| line.text.matches('"').count() % 2 == 1) {
            continue;
        }
        let rows: Vec<Vec<Cell<'_>>> = rows.iter().map(|line| separated_cells(line, separator)).collect();
        if let Some((plan, place)) = plan_of_rows(&header, &rows, None) {
            found.push(PlanTable { plan, place, cut: None });
        }
    }
    found
}

/// Reads a line as the names of columns: those of the tasks, and of their ids or dependencies.
fn separated_header<'t>(line: &MarkdownLine<'t>) -> Option<(char, Vec<Cell<'t>>)> {
    let separator = ['\t', ',', ';']
        .into_iter()
        .find(|separator| line.text.contains(*separator))?;
    if line.kind != LineKind::Text || line.text.len() > MAX_HEADER {
        return None;
    }
    let cells = separated_cells(line, separator);
    let names: Vec<String> = cells.iter().map(|cell| plain_key(cell.text)).collect();
    let is_title = |name: &String| TITLES.contains(&name.as_str());
    let is_other = |name: &String| IDS.contains(&name.as_str()) || keys::is_dependency(name);
    let is_named = cells.iter().all(|cell| !cell.text.is_empty() && cell.text.len() <= 24);
    let title = names.iter().position(is_title)?;
    let has_other = names.iter().enumerate().any(|(ix, name)| ix != title && is_other(name));
    (is_named && has_other).then_some((separator, cells))
}

/// How long the names of columns are together, in bytes.
const MAX_HEADER: usize = 400;

/// Splits a row at a separator; one in quotes belongs to a cell.
fn separated_cells<'t>(line: &MarkdownLine<'t>, separator: char) -> Vec<Cell<'t>> {
    let mut out = Vec::new();
    let (mut start, mut in_quotes) = (0, false);
    let ends = line.text.char_indices().filter_map(|(at, c)| {
        in_quotes ^= c == '"';
        (c == separator && !in_quotes).then_some(at)
    });
    for end in ends.chain([line.text.len()]) {
        let text = line.text.get(start..end).unwrap_or("");
        let inner = text.trim_matches(|c: char| c.is_whitespace() || c == '"');
        out.push(Cell {
            text: inner,
            at: line.at + start + text.find(inner).unwrap_or(0),
        });
        start = end + separator.len_utf8();
    }
    out
}

/// Returns the last row of a table if only it has no bar at its end: the text was cut off there.
fn broken_row(rows: &[MarkdownLine<'_>]) -> Option<Span> {
    let (last, others) = rows.split_last()?;
    let is_closed = |line: &MarkdownLine<'_>| line.text.trim_end().ends_with(['|', '│', '+']);
    (others.len() > 1 && others.iter().all(is_closed) && !is_closed(last)).then(|| last.span())
}

/// Splits a row at its bars; a bar after a backslash, or in a code span, belongs to a cell.
fn cells<'t>(line: &MarkdownLine<'t>) -> Vec<Cell<'t>> {
    let mut out = Vec::new();
    let (mut start, mut is_escaped, mut in_code) = (0, false, false);
    // A border is a row of rules.
    let is_border = line
        .text
        .starts_with(['+', '├', '┌', '└', '╞', '┣', '╠', '┏', '╔', '┗', '╚']);
    let is_joint = |c: char| "+├┼┤┌┬┐└┴┘╞╪╡┣╋┫╠╬╣┏┳┓╔╦╗┗┻┛╚╩╝".contains(c);
    let is_drawn = line.text.starts_with('│');
    let bars = line.text.char_indices().filter_map(|(at, c)| {
        let is_bar = match is_border {
            true => is_joint(c),
            false => (c == '|' || c == '│' && is_drawn) && !is_escaped && !in_code,
        };
        in_code ^= c == '`' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_bar.then_some((at, c.len_utf8()))
    });
    for (at, n_bytes) in bars.chain([(line.text.len(), 1)]) {
        let text = line.text.get(start..at).unwrap_or("");
        let trimmed = text.trim_start();
        out.push(Cell {
            text: trimmed.trim_end(),
            at: line.at + start + (text.len() - trimmed.len()),
        });
        start = at + n_bytes;
    }
    if is_border || line.text.starts_with(['|', '│']) {
        out.remove(0);
    }
    if out.last().is_some_and(|cell| cell.text.is_empty()) {
        out.pop();
    }
    out
}

/// A field of a task with a column of its own.
#[derive(Clone, Copy, PartialEq)]
enum TableField {
    Title,
    Id,
    Dependencies,
    Blocks,
    State,
    Group,
    Files,
    Criteria,
    Description,
}

/// The names of the columns of fields.
const FIELDS: [(TableField, &[&str]); 7] = [
    (TableField::Id, IDS),
    (TableField::Blocks, keys::BLOCKS),
    (TableField::State, keys::STATES),
    (TableField::Group, keys::GROUPS),
    (TableField::Files, keys::FILES),
    (TableField::Criteria, keys::CRITERIA),
    (TableField::Description, DESCRIPTIONS),
];

struct Columns {
    fields: Vec<(TableField, usize)>,
    /// All other columns, with their names.
    others: Vec<(usize, String)>,
}

impl Columns {
    fn of(header: &[Cell<'_>], rows: &[Vec<Cell<'_>>]) -> Option<Self> {
        let names: Vec<String> = header.iter().map(|cell| plain_key(&plain(cell.text))).collect();
        let rows = || rows.iter().filter(|row| !is_rule(row));
        let cells = |column: usize| rows().filter_map(move |row| row.get(column));
        let is_short =
            |column: &usize| cells(*column).all(|cell| !plain(cell.text).contains(' ') && cell.text.len() <= 16);
        // `Step` and `Task` are ids if another column has the words.
        let column_of = |key: &&str| names.iter().position(|name| name == key);
        let mut titles = TITLES.iter().filter_map(column_of);
        let with_words = titles.clone().find(|column| !is_short(column));
        let title = with_words.or_else(|| titles.next())?;
        let is_other = |column: &usize| *column != title;
        let mut fields = vec![(TableField::Title, title)];
        let dependencies = names.iter().position(|name| keys::is_dependency(name)).filter(is_other);
        fields.extend(dependencies.map(|column| (TableField::Dependencies, column)));
        for (field, keys) in FIELDS {
            let column = keys.iter().filter_map(column_of).find(is_other);
            let column = column.filter(|column| field != TableField::Id || is_short(column));
            fields.extend(column.map(|column| (field, column)));
        }
        let is_unknown = |column: &usize| fields.iter().all(|(_, own)| own != column);
        let other = |column: usize| Some((column, plain(header.get(column)?.text)));
        let others = (0..header.len()).filter(is_unknown).filter_map(other).collect();
        let columns = Columns { fields, others };
        let is_sure = TITLES.iter().take(N_SURE_TITLES).find_map(column_of) == Some(title);
        let signs = [
            TableField::Id,
            TableField::Dependencies,
            TableField::State,
            TableField::Blocks,
        ];
        (is_sure || signs.into_iter().any(|field| columns.get(field).is_some())).then_some(columns)
    }

    fn get(&self, field: TableField) -> Option<usize> {
        self.fields
            .iter()
            .find(|(own, _)| *own == field)
            .map(|(_, column)| *column)
    }
}

/// Returns whether a row is a rule below the header, or a border.
fn is_rule(row: &Vec<Cell<'_>>) -> bool {
    let is_mark = |c: char| matches!(c, '-' | ':' | ' ' | '=') || ('\u{2500}'..='\u{257f}').contains(&c);
    !row.is_empty()
        && row
            .iter()
            .all(|cell| !cell.text.is_empty() && cell.text.chars().all(is_mark))
}

fn plan_of(rows: &[Vec<Cell<'_>>], label: Option<MarkdownLine<'_>>) -> Option<(RawPlan, Span)> {
    let n_borders = rows.iter().take_while(|row| is_rule(row)).count();
    let (header, rows) = rows.get(n_borders..)?.split_first()?;
    let (rule, rows) = rows.split_first()?;
    if !is_rule(rule) {
        return None;
    }
    // With borders between rows, a row of several lines would be read as several tasks.
    let parts = rows.split(is_rule).map(<[_]>::len).filter(|n_rows| *n_rows > 0);
    let (n_parts, longest) = parts.fold((0, 0), |(n, most), own| (n + 1, most.max(own)));
    if n_parts > 1 && longest > 1 {
        return None;
    }
    plan_of_rows(header, rows, label)
}

/// Reads rows below the names of their columns.
fn plan_of_rows(
    header: &[Cell<'_>],
    rows: &[Vec<Cell<'_>>],
    label: Option<MarkdownLine<'_>>,
) -> Option<(RawPlan, Span)> {
    let columns = Columns::of(header, rows)?;
    let mut plan = RawPlan::default();
    let own_group = label.map(|label| plan.group_named(plain(label.text), label.span()));
    for row in rows.iter().filter(|row| !is_rule(row)) {
        let row = TableRow {
            cells: row,
            columns: &columns,
        };
        row.read(own_group, &mut plan);
    }
    let place = plan.tasks.first()?.task.place;
    Some((plan, place))
}

struct TableRow<'r, 't> {
    cells: &'r [Cell<'t>],
    columns: &'r Columns,
}

impl<'r, 't> TableRow<'r, 't> {
    /// Returns the cell of a column, if it is not blank.
    fn cell_of(&self, column: usize) -> Option<&'r Cell<'t>> {
        self.cells.get(column).filter(|cell| !is_none_word(cell.text))
    }

    /// Returns the cell of a field, if it is not blank.
    fn cell(&self, field: TableField) -> Option<&'r Cell<'t>> {
        self.cell_of(self.columns.get(field)?)
    }

    fn words(&self, field: TableField) -> Option<String> {
        self.cell(field).map(|cell| plain(cell.text))
    }

    /// Returns the tasks named in a cell; none without such a column.
    fn references(&self, field: TableField) -> Option<Vec<Reference>> {
        let cell = self.cell_of(self.columns.get(field)?);
        Some(
            cell.map(|cell| Reference::certain(&plain(cell.text), cell.span()))
                .into_iter()
                .collect(),
        )
    }

    /// Returns the cells of the columns that are no fields of a task, with their names.
    fn details(&self) -> impl Iterator<Item = String> {
        self.columns.others.iter().filter_map(|(column, name)| {
            let cell = self.cell_of(*column).filter(|cell| !cell.text.is_empty())?;
            // The number of the row adds nothing.
            let is_id = IDS.contains(&plain_key(name).as_str()) || name.is_empty();
            let is_order = is_id && !cell.text.contains(' ');
            (!is_order).then(|| labelled(name, cell.text))
        })
    }

    /// Adds the task of the row to a plan.
    fn read(&self, own_group: Option<usize>, plan: &mut RawPlan) {
        let Some(title) = self.cell(TableField::Title) else {
            return;
        };
        if is_left_out(title.text) {
            plan.elided.get_or_insert(title.span());
            return;
        }
        let sums = ["total", "totals", "subtotal", "sum", "summe", "gesamt"];
        let id = self.columns.get(TableField::Id).and_then(|id| self.cells.get(id));
        if sums.contains(&plain(title.text).to_lowercase().as_str()) && id.is_none_or(|id| id.text.is_empty()) {
            return plan.guess(title.span(), "the row with the sums is not read as a task");
        }
        let read = read_item(title.text, None, title.at);
        let group = match self.cell(TableField::Group) {
            Some(cell) => Some(plan.group_named(plain(cell.text), cell.span())),
            None => own_group,
        };
        let status = self.cell(TableField::State);
        let (state, guess) = status.map_or((None, None), |cell| keys::read_status(cell.text));
        if let Some((cell, guess)) = status.zip(guess) {
            plan.guess(cell.span(), guess);
        }
        plan.notes.extend(read.notes);
        let files = self
            .cell(TableField::Files)
            .map_or("", |cell| cell.text)
            .split(',')
            .map(plain);
        plan.tasks.push(RawTask {
            task: OutlineTask {
                id: self.words(TableField::Id).or(read.task.id),
                title: one_line(&read.task.title, 500),
                description: match self.cell(TableField::Description) {
                    Some(cell) if read.task.description.is_empty() => cell.text.to_owned(),
                    Some(cell) => format!("{}\n{}", read.task.description, cell.text),
                    None => read.task.description,
                },
                criteria: self.words(TableField::Criteria).into_iter().collect(),
                details: self.details().chain(read.task.details).collect(),
                state: state.or(read.task.state),
                files: files.filter(|file| !file.is_empty()).collect(),
                place: title.span(),
                is_optional: read.task.is_optional,
                is_parallel: read.task.is_parallel,
                ..OutlineTask::default()
            },
            group,
            dependencies: self.references(TableField::Dependencies).or(read.dependencies),
            blocks: self.references(TableField::Blocks).unwrap_or_default(),
            ..RawTask::default()
        });
    }
}
