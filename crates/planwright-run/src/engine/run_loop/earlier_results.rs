//! Outputs and failures of tasks in earlier runs, for the prompts of this run. The results of this run are in its state.

use std::collections::HashMap;

use super::super::PlanSnapshot;
use super::super::recovery::Recovered;
use super::RunLoop;
use crate::runs::state::WorkProgress;

#[derive(Default)]
pub(super) struct EarlierResults {
    outputs: HashMap<u32, String>,
    failures: HashMap<u32, String>,
}

impl EarlierResults {
    pub(super) fn of(recovered: &Recovered, snapshot: &PlanSnapshot) -> Self {
        let mut results = EarlierResults::default();
        for (name, found) in recovered.earlier_tasks() {
            let Ok(task) = snapshot.named(name) else {
                continue;
            };
            let known = |text: &Option<String>| text.clone().map(|text| (task, text));
            match found.progress() {
                WorkProgress::Done | WorkProgress::Review => results.outputs.extend(known(&found.run.results.output)),
                WorkProgress::Failed | WorkProgress::Resting => {
                    results.failures.extend(known(&found.run.results.failure))
                }
                WorkProgress::Unknown | WorkProgress::Running => {}
            }
        }
        results
    }

    /// Forgets why a task failed, because it was accepted since.
    pub(super) fn accepted(&mut self, task: u32) {
        self.failures.remove(&task);
    }

    pub(super) fn renumber(&mut self, new_of: &HashMap<u32, u32>) {
        super::renumber(&mut self.outputs, new_of);
        super::renumber(&mut self.failures, new_of);
    }
}

impl RunLoop<'_> {
    pub(super) fn output_of(&self, task: u32) -> Option<&str> {
        let run = self.state().task(self.snapshot.name(task));
        let own = run.and_then(|run| run.results.output.as_deref());
        own.or_else(|| self.agents.earlier.outputs.get(&task).map(String::as_str))
    }

    /// Returns why the last attempt at a task failed, in this run or an earlier one.
    pub(super) fn failure_of(&self, task: u32) -> Option<&str> {
        let run = self.state().task(self.snapshot.name(task));
        let own = run.and_then(|run| run.results.failure.as_deref());
        own.or_else(|| self.agents.earlier.failures.get(&task).map(String::as_str))
    }
}
