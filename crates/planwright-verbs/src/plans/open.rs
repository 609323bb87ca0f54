//! A plan that was found and read: its inspection, the reasons of its tasks' states, and their holders.

use std::collections::BTreeMap;
use std::path::Path;

use planwright_core::dialect::Dialect;
use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_core::plan::{Field, FieldValue, Plan, Status, Task};
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::JournalTaskState;
use planwright_run::revise::take_states;
use planwright_run::store;

use super::PlanAccess;
use crate::failure::{Drawn, Evidence, Failure, Result};

/// A readable plan that was found.
pub struct OpenedPlan {
    /// Its path as shown.
    pub path: String,
    pub inspection: Inspection,
    /// The reasons that only the journal has.
    pub reasons: TaskReasons,
    /// The holders of its tasks, and its gates.
    pub access: PlanAccess,
}

/// The notes of tasks whose states only the journal has, by their names.
#[derive(Default)]
pub struct TaskReasons {
    notes: BTreeMap<String, String>,
    /// The errors of the last attempts in the file, by the indexes of their tasks.
    attempts: BTreeMap<usize, String>,
}

impl TaskReasons {
    fn new(states: BTreeMap<String, JournalTaskState>, inspection: &Inspection) -> Self {
        let notes = states.into_iter().filter_map(|(task, known)| {
            let said = known.note.or(known.output)?;
            (!said.trim().is_empty()).then_some((task, said))
        });
        let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
        let failed = plan.into_iter().flat_map(|plan| {
            let tasks = plan.tasks().iter().enumerate();
            let failed = tasks.filter(|(_, task)| task.status == Status::Failed);
            failed.filter_map(move |(ix, task)| Some((ix, error_of_last_attempt(plan, task)?)))
        });
        TaskReasons {
            notes: notes.collect(),
            attempts: failed.collect(),
        }
    }

    /// Returns the reason of a task's state, from the journal.
    pub fn recorded(&self, plan: &Plan, task_ix: usize) -> Option<&str> {
        self.notes.get(&*plan.task_name(task_ix)).map(String::as_str)
    }

    /// Returns why a task has failed: from the journal, otherwise from its file.
    pub(crate) fn of_failure<'a>(&'a self, plan: &'a Plan, task_ix: usize) -> Option<&'a str> {
        let task = plan.tasks().get(task_ix)?;
        let written = || {
            let fields = [Field::Error, Field::Notes];
            let text = fields.into_iter().find_map(|field| plan.task_str(task, field))?;
            // Notes may begin with the user's own.
            let last = text.rfind("\nfailed on ").map_or(text, |at| &text[at + 1..]);
            Some(last)
        };
        let recorded = self.recorded(plan, task_ix).or_else(written);
        let reason = recorded.or_else(|| self.attempts.get(&task_ix).map(String::as_str));
        reason.filter(|reason| !reason.trim().is_empty())
    }
}

/// Returns the error of the last attempt in the file, if the dialect has a list of attempts.
fn error_of_last_attempt(plan: &Plan, task: &Task) -> Option<String> {
    let FieldValue::List(attempts) = plan.value(task, Field::History)? else {
        return None;
    };
    let last = *plan.items(attempts).last()?;
    let attempt: serde_json::Value = serde_json::from_str(plan.source().slice(plan.span(last))).ok()?;
    attempt.get("error")?.as_str().map(str::to_owned)
}

impl OpenedPlan {
    pub fn linked(&self) -> Result<&LinkedPlan> {
        self.inspection.plan.as_ref().ok_or_else(|| {
            Failure::shown(
                format!("`{}` holds no plan that can be read", self.path),
                "see `planwright check` for its errors",
                Evidence {
                    path: self.path.clone(),
                    source: self.inspection.source.clone(),
                    span: None,
                    findings: self.inspection.diagnostics.clone(),
                    drawn: Drawn::Findings,
                },
            )
        })
    }
}

/// Opens a plan file, in its probable dialect.
pub fn open_file(path: &Path) -> Result<OpenedPlan> {
    open_as(path, None)
}

/// Opens a plan file, in the forced dialect, or in its probable one.
pub(crate) fn open_as(path: &Path, forced: Option<&'static dyn Dialect>) -> Result<OpenedPlan> {
    let loaded = store::load(path)?;
    let shown = path.to_string_lossy();
    let mut inspection = inspect_file(&loaded.source, Some(path), forced).inspection;
    let states = states_of(&mut inspection, path)?;
    Ok(OpenedPlan {
        access: PlanAccess::of(&inspection, path),
        reasons: TaskReasons::new(states, &inspection),
        path: shown.strip_prefix("./").unwrap_or(&shown).to_owned(),
        inspection,
    })
}

/// Gives a plan the states that only the journal holds.
pub fn states_of(inspection: &mut Inspection, path: &Path) -> Result<BTreeMap<String, JournalTaskState>> {
    Ok(take_states(inspection, path)?)
}
