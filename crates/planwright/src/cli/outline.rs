//! Plans that are read out of a model's answer, for `import` and `plan --from`: shown as a table with every guess, and confirmed.

use std::path::Path;

use planwright_core::diagnostic::Diagnostic;
use planwright_core::outline::rules::{GUESS, LEFT_OUT};
use planwright_core::outline::{Outline, OutlineTask};
use planwright_core::planning::draft::Unusable;
use planwright_core::text::{LineIndex, SourceText};
use planwright_run::shell::argument;
use serde::Serialize;

use super::answers;
use super::exit::Failure;
use super::making::evidence;
use super::output::Output;
use super::planner::save;
use crate::render::terminal::{cut, one_line};

/// How many characters of a title the table shows.
const MAX_TITLE: usize = 60;

/// A task of an outline, for programs.
#[derive(Serialize)]
pub(crate) struct OutlineRow {
    /// Its place in the plan, counted from 1.
    n: usize,
    /// Its id as the answer writes it.
    id: Option<String>,
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
pub(crate) fn rows(outline: &Outline, source: &SourceText) -> Vec<OutlineRow> {
    let index = source.line_index();
    let tasks = outline.tasks.iter().enumerate();
    let row = |(ix, task): (usize, &OutlineTask)| OutlineRow {
        n: ix + 1,
        id: task.id.clone(),
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

/// Shows an outline as a table, with every guess below it.
pub(crate) fn show(outline: &Outline, source: &SourceText, output: &mut Output) {
    let index = source.line_index();
    let rows: Vec<[String; 4]> = outline
        .tasks
        .iter()
        .enumerate()
        .map(|(ix, task)| {
            let state = task.state.map_or("", |state| match state.as_str() {
                "pending" => "",
                word => word,
            });
            let title = cut(&one_line(&task.title), MAX_TITLE);
            let title = if state.is_empty() {
                title
            } else {
                format!("{title} ({state})")
            };
            let after: Vec<String> = task.dependencies.iter().map(|place| (place + 1).to_string()).collect();
            let after = if after.is_empty() {
                "–".to_owned()
            } else {
                cut(&after.join(", "), 24)
            };
            [
                (ix + 1).to_string(),
                title,
                after,
                format!("line {}", line_of(&index, task)),
            ]
        })
        .collect();
    let head = ["", "task", "after", "read from"].map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().chain([&head]).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths = [0, 1, 2].map(width);
    let paint = output.paint_beside();
    let mut text = String::new();
    for (row_ix, [number, title, after, line]) in [&head].into_iter().chain(&rows).enumerate() {
        let [w_number, w_title, w_after] = widths;
        let drawn = format!("{number:>w_number$}  {title:w_title$}  {after:w_after$}  {line}");
        let drawn = if row_ix == 0 { paint.dim(&drawn) } else { drawn };
        text.push_str(&format!("{drawn}\n"));
    }
    for guess in &outline.guesses {
        let word = if guess.rule.id == LEFT_OUT.id {
            "left out"
        } else {
            "guess"
        };
        let place = guess.span.map_or_else(String::new, |span| {
            format!(" (line {})", index.position(span.start).line)
        });
        text.push_str(&format!(
            "{}: {}{place}\n",
            paint.warning(word),
            one_line(&guess.message)
        ));
    }
    output.note(&text);
}

/// Returns the notes that are not among the guesses of an outline, which its table shows.
pub(crate) fn other_notes(notes: &[Diagnostic]) -> Vec<Diagnostic> {
    let is_other = |note: &&Diagnostic| note.rule.id != GUESS.id && note.rule.id != LEFT_OUT.id;
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
    found: Vec<Diagnostic>,
    is_stdin: bool,
    output: &mut Output,
) -> anyhow::Error {
    let help = found.iter().find(|found| !found.help.is_empty());
    let mut help = help.map_or_else(String::new, |found| found.help.clone());
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
