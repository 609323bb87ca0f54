//! Shared by the verbs that edit the list of tasks and change no other byte of the file.

use planwright_core::change::tasks::Edit;
use planwright_core::inspect::LinkedPlan;
use planwright_run::clock;
use planwright_run::revise::{ReviseError, edit, task_named};
use serde::Deserialize;

use super::{ChangeMode, ChangeReport, ChangeWords, refuse_in_review, revise_failure};
use crate::failure::Result;
use crate::plans::PlanChoice;
use crate::workspace::Workspace;

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
    /// Returns the position as an index among the tasks.
    pub(crate) fn index(&self, linked: &LinkedPlan) -> Result<usize, ReviseError> {
        let plan = &linked.plan;
        Ok(match self {
            TaskPlace::First => 0,
            TaskPlace::Before(task) => task_named(plan, task)?,
            TaskPlace::After(task) => task_named(plan, task)? + 1,
            TaskPlace::Last => plan.tasks().len(),
        })
    }

    /// Returns the task that a new one is placed next to; none at the end of the list.
    pub(crate) fn beside(&self, linked: &LinkedPlan) -> Result<Option<usize>, ReviseError> {
        let plan = &linked.plan;
        Ok(match self {
            TaskPlace::First => (!plan.tasks().is_empty()).then_some(0),
            TaskPlace::Before(task) | TaskPlace::After(task) => Some(task_named(plan, task)?),
            TaskPlace::Last => None,
        })
    }
}

/// One call of a verb that edits the list of tasks.
pub(crate) struct TaskEdit<'a> {
    pub(crate) verb: &'static str,
    /// The tasks that it names, for the history.
    pub(crate) names: Vec<String>,
    pub(crate) plan: &'a PlanChoice,
    pub(crate) change: &'a ChangeMode,
}

impl TaskEdit<'_> {
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

pub(crate) fn tasks_named(linked: &LinkedPlan, names: &[String]) -> Result<Vec<usize>, ReviseError> {
    names.iter().map(|name| task_named(&linked.plan, name)).collect()
}
