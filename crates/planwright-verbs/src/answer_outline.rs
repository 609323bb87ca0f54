//! Plans that are read out of a model's answer, for `import` and `plan`: their tasks, and why an answer is not imported.

use std::path::Path;

use planwright_core::diagnostic::Diagnostic;
use planwright_core::dialect::Dialect;
use planwright_core::outline::rules::{GUESS, IN_DESCRIPTION};
use planwright_core::outline::{Outline, OutlineTask};
use planwright_core::planning::draft::Unusable;
use planwright_core::text::{LineIndex, SourceText};
use planwright_run::inspect_file::inspect_file;
use planwright_run::shell::argument;
use serde::Serialize;

use crate::create_plan::{NamedText, evidence};
use crate::failure::Failure;
use crate::plain_text::one_line;
use crate::unusable_answer::keep_unusable;
use crate::workspace::Workspace;

/// A task of an outline.
#[derive(Serialize)]
pub struct OutlineRow {
    /// Its place in the plan, counted from 1.
    pub n: usize,
    /// Its id as the answer writes it.
    pub id: Option<String>,
    /// Its name in the plan.
    pub name: Option<String>,
    pub title: String,
    pub status: &'static str,
    /// The phase or parent that it belongs to.
    pub group: Option<String>,
    /// The places of the tasks that it depends on.
    pub after: Vec<usize>,
    /// The line that it was read from.
    pub line: usize,
}

/// A plan that was read out of an answer.
pub struct OutlineReading<'a> {
    pub outline: &'a Outline,
    /// The answer.
    pub source: &'a SourceText,
    /// The names of its tasks in the plan.
    pub names: &'a [String],
}

/// Whether a user wants what was read out of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    Yes,
    No,
    /// The face has no way to ask.
    CannotAsk,
}

/// A face, while a plan is read out of an answer.
pub trait OutlineObserver {
    /// Shows the tasks, with every guess.
    fn shows_outline(&mut self, reading: &OutlineReading<'_>);

    /// Asks whether the plan is to be written; `out` is its file, where that is known.
    fn confirms_outline(&mut self, reading: &OutlineReading<'_>, out: Option<&Path>) -> Confirmation;
}

impl OutlineReading<'_> {
    /// Returns the tasks as a table.
    pub fn rows(&self) -> Vec<OutlineRow> {
        let index = self.source.line_index();
        let tasks = self.outline.tasks.iter().enumerate();
        let row = |(ix, task): (usize, &OutlineTask)| OutlineRow {
            n: ix + 1,
            id: task.id.clone(),
            name: self.names.get(ix).cloned(),
            title: task.title.clone(),
            status: task.state.map_or("pending", |state| state.as_str()),
            group: task.group.clone(),
            after: task.dependencies.iter().map(|place| place + 1).collect(),
            line: line_of(&index, task),
        };
        tasks.map(row).collect()
    }
}

/// Returns the line that a task was read from.
pub fn line_of(index: &LineIndex<'_>, task: &OutlineTask) -> usize {
    index.position(task.place.start).line
}

/// Returns the names of the tasks of a text, in order.
pub(crate) fn task_names(text: &str, dialect: &'static dyn Dialect) -> Vec<String> {
    let inspection = inspect_file(&SourceText::new(text), None, Some(dialect)).inspection;
    let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
    let names = plan.map(|plan| (0..plan.tasks().len()).map(|ix| plan.task_name(ix).into_owned()));
    names.into_iter().flatten().collect()
}

/// Returns the notes that are not among the guesses of an outline.
pub(crate) fn other_notes(notes: &[Diagnostic]) -> Vec<Diagnostic> {
    let is_other = |note: &&Diagnostic| note.rule.id != GUESS.id && note.rule.id != IN_DESCRIPTION.id;
    notes.iter().filter(is_other).cloned().collect()
}

/// Returns why an answer is not imported. One that came from the input of the face is kept.
pub(crate) fn refused_answer(workspace: &Workspace, answer: &NamedText, mut found: Vec<Diagnostic>) -> Failure {
    // The advice of the first finding is printed once, at the bottom.
    let first = found.iter_mut().find(|found| !found.help.is_empty());
    let mut help = first.map_or_else(String::new, |found| std::mem::take(&mut found.help));
    let mut shown = answer.path.clone();
    if answer.file().is_none() {
        let unusable = Unusable {
            text: answer.source.as_str().to_owned(),
            findings: found.clone(),
            reasoning: String::new(),
        };
        if let Ok([text, _]) = keep_unusable(workspace, &unusable, Path::new("answer")) {
            let kept = text.to_string_lossy();
            workspace.remark(&format!("the text is kept as {}", one_line(&kept)));
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
    Failure::shown(message, help, evidence(&shown, &answer.source, found))
}
