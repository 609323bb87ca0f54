//! Plans out of a model's answer, for `import` and `plan --from`: shown as a table with every guess, and confirmed.

use std::path::Path;

use planwright_core::diagnostic::Diagnostic;
use planwright_core::dialect::Dialect;
use planwright_core::inspect::LinkedPlan;
use planwright_core::outline::rules::{GUESS, IN_DESCRIPTION};
use planwright_core::outline::{Outline, OutlineTask};
use planwright_core::plan::Task;
use planwright_core::planning::draft::Unusable;
use planwright_core::text::{LineIndex, SourceText};
use planwright_run::inspect_file::inspect_file;
use planwright_run::shell::argument;
use serde::Serialize;

use super::answers;
use super::create::evidence;
use super::exit::Failure;
use super::output::Output;
use super::planner::save;
use crate::render::run::columns::columns;
use crate::render::terminal::{cut, one_line};
use crate::render::wrap::{cut_at_word, hanging};

/// How many characters of a title the table shows.
const MAX_TITLE: usize = 60;

/// A task of an outline, for programs.
#[derive(Serialize)]
pub(crate) struct OutlineRow {
    /// Its place in the plan, counted from 1.
    n: usize,
    /// Its id as the answer writes it.
    id: Option<String>,
    /// What it is called in the plan.
    name: Option<String>,
    title: String,
    status: &'static str,
    /// The phase or parent that it belongs to.
    group: Option<String>,
    /// The places of the tasks that it depends on.
    after: Vec<usize>,
    /// The line that it was read from.
    line: usize,
}

/// Returns the tasks of an outline as a table for programs.
pub(crate) fn rows(outline: &Outline, source: &SourceText, names: &[String]) -> Vec<OutlineRow> {
    let index = source.line_index();
    let tasks = outline.tasks.iter().enumerate();
    let row = |(ix, task): (usize, &OutlineTask)| OutlineRow {
        n: ix + 1,
        id: task.id.clone(),
        name: names.get(ix).cloned(),
        title: task.title.clone(),
        status: task.state.map_or("pending", |state| state.as_str()),
        group: task.group.clone(),
        after: task.dependencies.iter().map(|place| place + 1).collect(),
        line: line_of(&index, task),
    };
    tasks.map(row).collect()
}

fn line_of(index: &LineIndex<'_>, task: &OutlineTask) -> usize {
    index.position(task.place.start).line
}

/// Returns what the tasks of a written plan are called, in order.
pub(crate) fn task_names(text: &str, dialect: &'static dyn Dialect) -> Vec<String> {
    let inspection = inspect_file(&SourceText::new(text), None, Some(dialect)).inspection;
    let linked = inspection.plan.iter();
    let names =
        linked.flat_map(|linked| (0..linked.plan.tasks().len()).map(|ix| linked.plan.task_name(ix).into_owned()));
    names.collect()
}

/// Shows an outline as a table, with every guess below it. Tasks have the names that they have in the plan.
pub(crate) fn show(outline: &Outline, source: &SourceText, names: &[String], output: &mut Output) {
    let index = source.line_index();
    let name = |ix: usize| names.get(ix).cloned().unwrap_or_else(|| (ix + 1).to_string());
    let row = |(ix, task): (usize, &OutlineTask)| TaskRow {
        name: name(ix),
        title: task.title.clone(),
        state: task.state.map_or("", |state| state.as_str()),
        after: task.dependencies.iter().map(|&place| name(place)).collect(),
        line: Some(line_of(&index, task)),
    };
    let rows: Vec<TaskRow> = outline.tasks.iter().enumerate().map(row).collect();
    let mut text = table(&rows, output);
    let paint = output.paint_beside();
    let width = output.width_beside();
    for guess in &outline.guesses {
        let word = if guess.rule.id == IN_DESCRIPTION.id {
            "note"
        } else {
            "guess"
        };
        let place = guess.span.map_or_else(String::new, |span| {
            format!(" (line {})", index.position(span.start).line)
        });
        let words = format!("{}{place}", one_line(&guess.message));
        text.push_str(&hanging(&format!("{}: ", paint.warning(word)), &words, width));
        text.push('\n');
    }
    output.note(&text);
}

/// Shows the tasks of a new plan as a table.
pub(crate) fn show_tasks(linked: &LinkedPlan, output: &mut Output) {
    let plan = &linked.plan;
    let row = |(ix, task): (usize, &Task)| TaskRow {
        name: plan.task_name(ix).into_owned(),
        title: plan.task_subject(task).to_owned(),
        state: "",
        after: {
            let on = linked.links.of(ix).iter();
            on.map(|edge| plan.task_name(edge.to as usize).into_owned()).collect()
        },
        line: None,
    };
    let rows: Vec<TaskRow> = plan.tasks().iter().enumerate().map(row).collect();
    let text = table(&rows, output);
    output.note(&text);
}

/// A line of the table of tasks.
struct TaskRow {
    name: String,
    title: String,
    state: &'static str,
    after: Vec<String>,
    /// The line of the answer that it was read from.
    line: Option<usize>,
}

/// How many columns the title of a task has at least.
const MIN_TITLE: usize = 16;

fn table(rows: &[TaskRow], output: &Output) -> String {
    let cells = rows.iter().map(|row| {
        let after = match row.after.is_empty() {
            true => "–".to_owned(),
            false => cut(&one_line(&row.after.join(", ")), 24),
        };
        let line = row.line.map_or_else(String::new, |line| format!("line {line}"));
        [cut(&one_line(&row.name), 36), after, line]
    });
    let cells: Vec<[String; 3]> = cells.collect();
    let head_line = if rows.iter().any(|row| row.line.is_some()) {
        "read from"
    } else {
        ""
    };
    let head = ["", "after", head_line].map(str::to_owned);
    let widths = [0, 1, 2].map(|column| {
        let cells = cells.iter().chain([&head]).filter_map(|row| row.get(column));
        cells.map(|cell| columns(cell)).max().unwrap_or(0)
    });
    let others: usize = widths.iter().sum();
    let room = output
        .width_beside()
        .saturating_sub(others + 6)
        .clamp(MIN_TITLE, MAX_TITLE);
    let title_of = |row: &TaskRow| {
        let state = match row.state {
            "" | "pending" => String::new(),
            state => format!(" ({state})"),
        };
        format!(
            "{}{state}",
            cut_at_word(&one_line(&row.title), room.saturating_sub(state.len()))
        )
    };
    let titles: Vec<String> = rows.iter().map(title_of).collect();
    let w_title = titles.iter().map(|title| columns(title)).max().unwrap_or(0).max(4);
    let padded = |text: &str, width: usize| format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))));
    let drawn = |[name, after, line]: &[String; 3], title: &str| {
        let [w_name, w_after, _] = widths;
        let drawn = format!(
            "{}  {}  {}  {line}",
            padded(name, w_name),
            padded(title, w_title),
            padded(after, w_after)
        );
        drawn.trim_end().to_owned()
    };
    let mut text = format!("{}\n", output.paint_beside().dim(&drawn(&head, "task")));
    for (row, title) in cells.iter().zip(&titles) {
        text.push_str(&drawn(row, title));
        text.push('\n');
    }
    text
}

/// Returns the notes that are not among the guesses of an outline, which its table shows.
pub(crate) fn other_notes(notes: &[Diagnostic]) -> Vec<Diagnostic> {
    let is_other = |note: &&Diagnostic| note.rule.id != GUESS.id && note.rule.id != IN_DESCRIPTION.id;
    notes.iter().filter(is_other).cloned().collect()
}

/// Asks whether an outline is to be imported. Refused where there is no terminal to ask on; `command` is what imports it without a
/// question.
pub(crate) fn confirmed(outline: &Outline, out: &Path, command: &str, output: &mut Output) -> anyhow::Result<bool> {
    if !answers::may_ask() {
        let n_guesses = outline.guesses.len();
        let guesses = match n_guesses {
            0 => "no guess".to_owned(),
            1 => "1 guess".to_owned(),
            n => format!("{n} guesses"),
        };
        return Err(Failure::usage(
            format!("the plan was read out of an answer with {guesses}, and there is no terminal to confirm it on"),
            format!("confirm it with --yes: {command}"),
        ));
    }
    let tasks = match outline.tasks.len() {
        1 => "this task".to_owned(),
        n => format!("these {n} tasks"),
    };
    let place = match out.as_os_str().is_empty() {
        true => String::new(),
        false => format!(" as {}", one_line(&out.to_string_lossy())),
    };
    output.note(&format!("Import {tasks}{place}? [Y/n] "));
    let answer = answers::line().map(|line| line.to_lowercase());
    Ok(matches!(answer.as_deref(), Some("" | "y" | "yes")))
}

/// Returns why an answer is not imported. What came by standard input is kept in `.planwright/unusable`.
pub(crate) fn refusal(
    path: &Path,
    source: &SourceText,
    mut found: Vec<Diagnostic>,
    is_stdin: bool,
    output: &mut Output,
) -> anyhow::Error {
    // The advice of the first finding is printed once, at the bottom.
    let first = found.iter_mut().find(|found| !found.help.is_empty());
    let mut help = first.map_or_else(String::new, |found| std::mem::take(&mut found.help));
    let mut shown = path.to_owned();
    if is_stdin {
        let unusable = Unusable {
            text: source.as_str().to_owned(),
            findings: found.clone(),
            reasoning: String::new(),
        };
        if let Ok([text, _]) = save(&unusable, Path::new("answer")) {
            let kept = text.to_string_lossy().into_owned();
            output.remark(&format!("the text is kept as {}", one_line(&kept)));
            let next = format!("edit it, then: planwright import {}", argument(&kept));
            help = if help.is_empty() {
                next
            } else {
                format!("{help}; {next}")
            };
            shown = text;
        }
    }
    let message = match found.len() {
        1 => "the answer is not imported".to_owned(),
        n => format!("the answer is not imported: it has {n} errors"),
    };
    Failure::shown(message, help, evidence(&shown, source, found))
}
