//! The verb `undo`: undoes the last change that was made through planwright.

use planwright_run::revise;
use planwright_run::revise::UndoCall;
use serde::Deserialize;

use crate::changes::{ChangeMode, ChangeReport, ChangeWords, UndoneReport, refuse_without_note, revise_failure};
use crate::text::{cut, one_line, printable};
use crate::{PlanChoice, Result, Workspace};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UndoRequest {
    pub plan: PlanChoice,
    pub note: Option<String>,
    /// Takes the tasks over from their holder; needs a note.
    pub take_over: bool,
    pub change: ChangeMode,
}

pub fn undo(workspace: &Workspace, request: &UndoRequest) -> Result<ChangeReport> {
    refuse_without_note("--take-over", request.take_over, request.note.as_deref())?;
    let found = request.plan.find(workspace, "name its file")?;
    let call = UndoCall {
        by: request.change.by.as_deref(),
        takes_over: request.take_over,
        note: request.note.as_deref(),
    };
    let target = found.target(request.change.is_dry());
    let (past, revised) = revise::undo(target, call).map_err(|error| revise_failure(&found, &error))?;
    let tasks = &past.change.tasks;
    let names = match tasks.is_empty() {
        true => String::new(),
        false => format!(" {}", cut(&one_line(&tasks.join(", ")), 40)),
    };
    let what = format!("{}{names} (change {})", printable(&past.change.verb), past.number);
    let words = ChangeWords::new(format!("took back {what}"), format!("would take back {what}"));
    let subject = (found.path.as_path(), "undo");
    let report = ChangeReport::of(workspace, subject, &revised, &request.change, tasks, words);
    Ok(ChangeReport {
        undone: Some(UndoneReport {
            number: past.number,
            verb: past.change.verb.clone(),
            tasks: tasks.clone(),
            by: past.change.by.clone(),
            time: past.time.clone(),
        }),
        ..report
    })
}
