//! The verbs `set`, `remove`, `rename`, `move`, `depend` and `undepend`, and what `add` shares with them: edits of the list of
//! tasks, which change no other byte of the file.

use std::collections::BTreeSet;

use planwright_core::change::tasks::Edit;
use planwright_core::inspect::LinkedPlan;
use planwright_run::clock;
use planwright_run::revise::{ReviseError, each_once, edit, task_named};
use serde::Deserialize;

use crate::change_report::{ChangeMode, ChangeReport, ChangeWords};
use crate::failure::Result;
use crate::find_plan::PlanChoice;
use crate::plain_text::shown_name;
use crate::revise_failure::{refuse_in_review, revise_failure};
use crate::workspace::Workspace;

/// Where a task stands in the list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskPlace {
    First,
    /// Right before this task.
    Before(String),
    /// Right after this task; it does not depend on it.
    After(String),
    #[default]
    Last,
}

impl TaskPlace {
    /// Returns the place as an index among the tasks.
    pub(crate) fn index(&self, linked: &LinkedPlan) -> Result<usize, ReviseError> {
        let plan = &linked.plan;
        Ok(match self {
            TaskPlace::First => 0,
            TaskPlace::Before(task) => task_named(plan, task)?,
            TaskPlace::After(task) => task_named(plan, task)? + 1,
            TaskPlace::Last => plan.tasks().len(),
        })
    }
}

/// One call of a verb that edits the list of tasks.
pub(crate) struct TaskEdit<'a> {
    verb: &'static str,
    /// The tasks that it names, for the history.
    names: Vec<String>,
    plan: &'a PlanChoice,
    change: &'a ChangeMode,
}

impl<'a> TaskEdit<'a> {
    pub(crate) fn new(verb: &'static str, names: Vec<String>, plan: &'a PlanChoice, change: &'a ChangeMode) -> Self {
        TaskEdit {
            verb,
            names,
            plan,
            change,
        }
    }

    /// Makes the edits that `edit_of` returns by their number, until it returns none. `words` returns the tasks and the words of the
    /// report.
    pub(crate) fn run<'e>(
        &self,
        workspace: &Workspace,
        edit_of: impl FnMut(&LinkedPlan, usize) -> Result<Option<Edit<'e>>, ReviseError>,
        words: impl FnOnce(&LinkedPlan) -> (Vec<String>, ChangeWords),
    ) -> Result<ChangeReport> {
        let found = self.plan.find(workspace, "name its file with --plan")?;
        if matches!(self.verb, "rename" | "remove") {
            refuse_in_review(&found, &self.names, self.verb)?;
        }
        let (target, now) = (found.target(self.change.is_dry()), clock::now());
        let by = self.change.by.as_deref();
        let revised =
            edit(target, self.verb, &now, &self.names, by, edit_of).map_err(|error| revise_failure(&found, &error))?;
        let is_same = revised.before.as_str() == revised.text.as_str();
        let (names, words) = match &revised.after.plan {
            Some(linked) if !is_same => words(linked),
            _ => (self.names.clone(), ChangeWords::nothing()),
        };
        let subject = (found.path.as_path(), self.verb);
        Ok(ChangeReport::of(
            workspace,
            subject,
            &revised,
            self.change,
            &names,
            words,
        ))
    }

    /// Makes one edit, whose words do not depend on the result.
    pub(crate) fn run_once<'e>(
        &self,
        workspace: &Workspace,
        edit_of: impl Fn(&LinkedPlan) -> Result<Edit<'e>, ReviseError>,
        (name, words): (&str, ChangeWords),
    ) -> Result<ChangeReport> {
        let edit_of = |linked: &LinkedPlan, n: usize| (n == 0).then(|| edit_of(linked)).transpose();
        self.run(workspace, edit_of, |_| (vec![name.to_owned()], words))
    }
}

/// Returns the tasks with these names.
pub(crate) fn tasks_named(linked: &LinkedPlan, names: &[String]) -> Result<Vec<usize>, ReviseError> {
    names.iter().map(|name| task_named(&linked.plan, name)).collect()
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetRequest {
    #[serde(default)]
    pub plan: PlanChoice,
    pub task: String,
    /// Fields by the dialect's own names, with their values: text, or a list as JSON or one item per line.
    #[serde(default)]
    pub fields: Vec<(String, String)>,
    /// Fields to remove.
    #[serde(default)]
    pub unset: Vec<String>,
    #[serde(default)]
    pub change: ChangeMode,
}

/// Gives fields of a task other values.
pub fn set(workspace: &Workspace, request: &SetRequest) -> Result<ChangeReport> {
    let fields = request.fields.iter().map(|(key, value)| (&**key, Some(&**value)));
    let unset = request.unset.iter().map(|key| (&**key, None));
    let all: Vec<(&str, Option<&str>)> = fields.chain(unset).collect();
    let task_edit = TaskEdit::new("set", vec![request.task.clone()], &request.plan, &request.change);
    let edit_of = |linked: &LinkedPlan, n: usize| {
        let Some(&(key, value)) = all.get(n) else {
            return Ok(None);
        };
        let task_ix = task_named(&linked.plan, &request.task)?;
        Ok(Some(Edit::Set { task_ix, key, value }))
    };
    let keys: Vec<&str> = all.iter().map(|&(key, _)| key).collect();
    let line = format!("set {} of {}", keys.join(", "), shown_name(&request.task));
    let words = ChangeWords::new(line.clone(), format!("would {line}"));
    task_edit.run(workspace, edit_of, |_| (vec![request.task.clone()], words))
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoveRequest {
    pub plan: PlanChoice,
    pub tasks: Vec<String>,
    /// Removes them from the dependencies of other tasks.
    pub detach: bool,
    pub change: ChangeMode,
}

/// Removes tasks.
pub fn remove(workspace: &Workspace, request: &RemoveRequest) -> Result<ChangeReport> {
    let tasks = each_once(&request.tasks);
    let task_edit = TaskEdit::new("remove", tasks.clone(), &request.plan, &request.change);
    let mut order = Vec::new();
    let edit_of = |linked: &LinkedPlan, n: usize| {
        if n == 0 {
            order = removals(linked, tasks_named(linked, &tasks)?);
        }
        let removal = order.get(n).map(|&(task_ix, is_needed)| Edit::Remove {
            task_ix,
            detach: request.detach || !is_needed,
        });
        Ok(removal)
    };
    let names: Vec<_> = tasks.iter().map(|name| shown_name(name)).collect();
    let names = names.join(", ");
    let words = ChangeWords::new(format!("removed {names}"), format!("would remove {names}"));
    task_edit.run(workspace, edit_of, |_| (tasks.clone(), words))
}

/// Returns the tasks that go, and for each whether a task that stays depends on it. The last is first: what stands behind a removed
/// task gets another place.
fn removals(linked: &LinkedPlan, going: Vec<usize>) -> Vec<(usize, bool)> {
    let going: BTreeSet<usize> = going.into_iter().collect();
    let staying = (0..linked.plan.tasks().len()).filter(|ix| !going.contains(ix));
    let edges = staying.flat_map(|ix| linked.links.of(ix));
    let needed: BTreeSet<usize> = edges.map(|edge| edge.to as usize).collect();
    going.into_iter().rev().map(|ix| (ix, needed.contains(&ix))).collect()
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenameRequest {
    #[serde(default)]
    pub plan: PlanChoice,
    pub task: String,
    /// Its new id.
    pub to: String,
    #[serde(default)]
    pub change: ChangeMode,
}

/// Gives a task another id.
pub fn rename(workspace: &Workspace, request: &RenameRequest) -> Result<ChangeReport> {
    let task_edit = TaskEdit::new(
        "rename",
        vec![request.task.clone(), request.to.clone()],
        &request.plan,
        &request.change,
    );
    let (from, to) = (shown_name(&request.task), shown_name(&request.to));
    let words = ChangeWords::new(
        format!("renamed {from} to {to}"),
        format!("would rename {from} to {to}"),
    );
    task_edit.run_once(
        workspace,
        |linked| {
            let task_ix = task_named(&linked.plan, &request.task)?;
            Ok(Edit::Rename {
                task_ix,
                to: &request.to,
            })
        },
        (&request.to, words),
    )
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveRequest {
    #[serde(default)]
    pub plan: PlanChoice,
    pub task: String,
    pub place: TaskPlace,
    #[serde(default)]
    pub change: ChangeMode,
}

/// Moves a task in the list.
pub fn move_task(workspace: &Workspace, request: &MoveRequest) -> Result<ChangeReport> {
    let task_edit = TaskEdit::new("move", vec![request.task.clone()], &request.plan, &request.change);
    let name = shown_name(&request.task);
    let words = ChangeWords::new(format!("moved {name}"), format!("would move {name}"));
    task_edit.run_once(
        workspace,
        |linked| {
            let task_ix = task_named(&linked.plan, &request.task)?;
            let place = request.place.index(linked)?;
            // Its old place is free by the time it arrives.
            let to = if place > task_ix { place - 1 } else { place };
            Ok(Edit::Move { task_ix, to })
        },
        (&request.task, words),
    )
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DependRequest {
    #[serde(default)]
    pub plan: PlanChoice,
    pub task: String,
    /// The other tasks.
    pub on: Vec<String>,
    #[serde(default)]
    pub change: ChangeMode,
}

impl DependRequest {
    fn edit(&self, verb: &'static str) -> TaskEdit<'_> {
        TaskEdit::new(verb, vec![self.task.clone()], &self.plan, &self.change)
    }

    fn words(&self, does: &str, would: &str) -> (&str, ChangeWords) {
        let others: Vec<_> = self.on.iter().map(|name| shown_name(name)).collect();
        let (name, others) = (shown_name(&self.task), others.join(", "));
        let words = ChangeWords::new(format!("{name} {does} {others}"), format!("{name} {would} {others}"));
        (&self.task, words)
    }
}

/// Makes a task depend on others.
pub fn depend(workspace: &Workspace, request: &DependRequest) -> Result<ChangeReport> {
    request.edit("depend").run_once(
        workspace,
        |linked| {
            let task_ix = task_named(&linked.plan, &request.task)?;
            let on = tasks_named(linked, &request.on)?;
            Ok(Edit::Depend { task_ix, on })
        },
        request.words("depends on", "would depend on"),
    )
}

/// Removes dependencies of a task on others.
pub fn undepend(workspace: &Workspace, request: &DependRequest) -> Result<ChangeReport> {
    request.edit("undepend").run_once(
        workspace,
        |linked| {
            let task_ix = task_named(&linked.plan, &request.task)?;
            let on = tasks_named(linked, &request.on)?;
            Ok(Edit::Undepend { task_ix, on })
        },
        request.words("no longer depends on", "would no longer depend on"),
    )
}
