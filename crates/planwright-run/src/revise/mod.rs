//! Takes a verb from a path to a durable change: newest text, new text by the core, write by the store. Decides nothing about
//! plans.

mod batch;
mod called_verbs;
mod edit;
mod error;
mod pending_change;
mod plan_states;
mod pointer;
mod revision;
mod transition;
mod undo;
mod version;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use planwright_core::change::{self, Problem};
use planwright_core::dialect::Dialect;
use planwright_core::edit::{PlanMove, PlanRequest};
use planwright_core::inspect::Inspection;
use planwright_core::plan::{Plan, PlanVerb, State, TaskName};
use planwright_core::text::SourceText;

use crate::gate::GatePolicy;
use crate::journal::{ChangeRecord, JournalRepair};
pub use batch::{BatchRequest, transitions};
pub use called_verbs::note_take_overs;
pub(crate) use called_verbs::{CalledVerbs, LastVerb, last_verbs, last_verbs_of, next_record, was_started_by_hand};
pub use edit::{edit, edit_text};
pub use error::ReviseError;
pub(crate) use plan_states::names_in;
pub use plan_states::{moves_between, take_states};
pub use pointer::{PointerError, point_at_new};
use revision::revise;
pub use transition::{PreviewedChange, VerbCall, expired_names, preview_change, transition, transition_by};
pub use undo::{UndoCall, undo};
pub use version::{VersionContent, VersionRequest, WrittenVersion, new_version_of, newest_version};

/// A plan file to change.
#[derive(Clone, Copy)]
pub struct ChangeTarget<'a> {
    pub path: &'a Path,
    /// The dialect to read it in, if the user forces one.
    pub forced: Option<&'static dyn Dialect>,
    /// Whether to stop before anything is written.
    pub dry: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum TaskSelector<'a> {
    Named(&'a [String]),
    /// The next ready ones, at most this many.
    Next(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskTransition {
    pub task: String,
    pub from: State,
    pub to: State,
    /// The task whose move caused it.
    pub cause: Option<String>,
    /// The number of the failed attempt and the limit, if the dialect counts them.
    pub attempt: Option<(u64, u64)>,
}

/// A change that was made, or would be in a dry run.
pub struct RevisedPlan {
    pub before: SourceText,
    pub text: SourceText,
    /// The plan after the change, with the states that only the journal holds. Its spans refer to [`Inspection::source`], which may be the
    /// text before: then names, titles and dependencies are the same in both.
    pub after: Inspection,
    pub steps: Vec<TaskTransition>,
    /// The transition of the whole plan, if requested.
    pub plan_step: Option<PlanMove>,
    pub record: ChangeRecord,
    /// The number of the record in the journal; none if nothing was written.
    pub change: Option<u64>,
    /// The number of the change in the plan's history; none if nothing was written.
    pub number: Option<u64>,
    /// The bytes of the journal that were added.
    pub recorded: Range<u64>,
    /// Repairs and discoveries while the journal was opened.
    pub notices: Vec<JournalRepair>,
    /// Further effects of the edits, and remarks for the user, in words.
    pub notes: Vec<String>,
    /// Why the pointer file was not updated.
    pub pointer: Option<PointerError>,
}

/// Applies a verb to a whole plan. If the configuration requires an approval that the file cannot store, the journal stores it.
pub fn transition_plan(
    target: ChangeTarget<'_>,
    request: &PlanRequest<'_>,
    policy: GatePolicy,
) -> Result<RevisedPlan, ReviseError> {
    revise(target, request.verb.as_str(), |pending| {
        pending.refuse_broken()?;
        let dialect = pending.linked()?.dialect;
        let has_place = dialect.plan_machine().has(PlanVerb::Approve);
        match request.verb {
            PlanVerb::Approve if policy.approval_required && !has_place && pending.history.is_approved() => {
                pending.is_idle = true;
            }
            PlanVerb::Approve | PlanVerb::Reject if policy.approval_required && !has_place => {
                pending.change.approval = Some(request.verb == PlanVerb::Approve);
            }
            _ => {
                let step = pending.make(|open, choice| change::transition_plan(open, choice, request))?;
                pending.plan_step = Some(step);
            }
        }
        pending.change.by = request.by.map(str::to_owned);
        pending.change.note = request.note.map(str::to_owned);
        Ok(())
    })
}

pub fn task_named(plan: &Plan, name: &str) -> Result<usize, ReviseError> {
    let tasks = 0..plan.tasks().len();
    let same: Vec<usize> = tasks.filter(|&ix| plan.task_name(ix) == name).collect();
    if same.len() > 1 {
        let index = plan.source().line_index();
        let line = |&ix: &usize| index.position(plan.tasks()[ix].span.start).line;
        return Err(ReviseError::SeveralTasks {
            name: name.to_owned(),
            lines: same.iter().map(line).collect(),
        });
    }
    plan.find_task(name).ok_or_else(|| no_such_task(plan, name))
}

/// Returns the names that the plan has for some tasks: a position is valid only until the next edit, so it is never stored.
fn lasting_names(plan: &Plan, names: &[String]) -> Vec<String> {
    let lasting = names.iter().map(|name| {
        let task_ix = plan.find_task(name).filter(|task_ix| {
            let name = plan.tasks().get(*task_ix).map(|task| task.name);
            matches!(name, Some(TaskName::Words(_)))
        });
        task_ix.map_or_else(|| name.clone(), |task_ix| plan.task_name(task_ix).into_owned())
    });
    each_once(&lasting.collect::<Vec<_>>())
}

/// Returns why a group cannot be used like a task.
fn group_refused(plan: &Plan, group_ix: usize) -> Problem {
    let tasks: Vec<_> = plan
        .tasks_of_group(group_ix)
        .take(8)
        .map(|ix| plan.short_name(ix).into_owned())
        .collect();
    Problem::Field {
        message: format!(
            "`{}` is a group: its state follows from its tasks",
            plan.str(plan.groups()[group_ix].name)
        ),
        help: format!("name one of its tasks: {}", tasks.join(", ")),
    }
}

fn no_such_task(plan: &Plan, name: &str) -> ReviseError {
    if let Some(group_ix) = plan.find_group(name) {
        return ReviseError::Problem(group_refused(plan, group_ix));
    }
    if plan.is_doubtful {
        let name = name.to_owned();
        return ReviseError::DoubtfulPlan { name };
    }
    ReviseError::NoSuchTask {
        name: name.to_owned(),
        known: (0..plan.tasks().len())
            .map(|ix| plan.task_name(ix).into_owned())
            .collect(),
    }
}

/// Returns names in their order, without duplicates.
pub fn each_once<'n>(names: impl IntoIterator<Item = &'n String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|name| seen.insert(*name)).cloned().collect()
}
