//! Notes about a landing: tasks that are no longer done, and work of other plans.

use crate::plans::open_file;
use crate::run_history::{RunScope, judged};
use crate::text::{count, one_line, shown_name, some_of};
use crate::workspace::Workspace;
use planwright_core::plan::State;
use planwright_run::runs::state::{TaskRun, TaskState};
use planwright_run::shell::{argument, task_command};

use super::Landing;

impl Landing {
    pub(super) fn nothing_words(&self) -> String {
        let has_landed = |task: &TaskRun| task.attempts.iter().any(|attempt| attempt.landed().is_some());
        let has_earlier = self.conditions.start != self.conditions.base;
        if has_earlier || self.state.tasks().iter().any(has_landed) {
            let (branch, into) = (one_line(&self.conditions.branch), one_line(&self.into));
            return format!("nothing to land: all work of `{branch}` is in `{into}`");
        }
        let path = argument(&self.run.header.path);
        let mut in_review = self.state.tasks().iter().filter(|task| task.state == TaskState::Review);
        match in_review.next() {
            Some(task) => format!(
                "nothing to land: {} waits for review: `{}` lets it land",
                shown_name(&task.task),
                task_command("approve", &task.task, &self.run.header.path, "")
            ),
            None => format!(
                "nothing to land: the last run of {} has no verified work; `planwright summary -p {path}` shows why",
                one_line(&self.run.header.path)
            ),
        }
    }

    /// Reports tasks whose work lands although they are no longer done in the plan.
    pub(super) fn note_undone(&self, workspace: &Workspace) {
        let Some(opened) = open_file(&self.place().target).ok() else {
            return;
        };
        let Ok(linked) = opened.linked() else {
            return;
        };
        let plan = &linked.plan;
        let is_undone = |task: &&String| {
            let own = plan.find_task(task).and_then(|ix| plan.tasks().get(ix));
            own.is_none_or(|own| own.status.state() != Some(State::Done))
        };
        let undone: Vec<String> = self
            .tasks
            .iter()
            .filter(is_undone)
            .map(|task| shown_name(task))
            .collect();
        if !undone.is_empty() {
            workspace.remark(&format!(
                "note: the plan does not have {} as done any more, and the work is on `{}`",
                some_of(undone.iter(), 8),
                one_line(&self.conditions.branch)
            ));
        }
    }

    /// Returns the other plans whose work is not in a commit, with the command that lands it.
    pub(super) fn other_plans(&self, workspace: &Workspace, commit: &str) -> Vec<String> {
        let Ok(scope) = RunScope::of(workspace, None) else {
            return Vec::new();
        };
        let mut seen = vec![self.run.header.path.clone()];
        let mut lines = Vec::new();
        for run in scope.runs().into_iter().flatten().flatten() {
            if seen.contains(&run.header.path) {
                continue;
            }
            let Some(conditions) = judged(&run).ok().and_then(|(state, _)| state.settings.fixed) else {
                continue;
            };
            seen.push(run.header.path.clone());
            let tip = self.repository.tip(&conditions.branch).ok().flatten();
            let tasks = tip.and_then(|tip| self.repository.tasks_beyond(&tip, commit).ok());
            let n_tasks = tasks.map_or(0, |tasks| tasks.len());
            if n_tasks > 0 && !conditions.is_current {
                let plan = argument(&run.header.path);
                let what = count(n_tasks as u64, "task");
                lines.push(format!(
                    "not landed yet: {what} of another plan; `planwright land -p {plan}`"
                ));
            }
        }
        lines
    }
}
