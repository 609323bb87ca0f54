//! Outputs and failures of earlier runs, for the prompts of this run. The results of this run are in its state.

use std::collections::HashMap;
use std::path::Path;

use super::super::PlanSnapshot;
use super::super::protected::WatchedFiles;
use super::super::recovery::Recovered;
use super::RunLoop;
use crate::runs::state::WorkProgress;

#[derive(Default)]
pub(super) struct Memory {
    outputs: HashMap<u32, String>,
    failures: HashMap<u32, String>,
    /// The files that verify a task, as they were before its first attempt, if tasks share the folder.
    watched: HashMap<u32, WatchedFiles>,
}

impl Memory {
    pub(super) fn of(recovered: &Recovered, snapshot: &PlanSnapshot) -> Self {
        let mut memory = Memory::default();
        for (name, found) in recovered.earlier_tasks() {
            let Ok(task) = snapshot.named(name) else {
                continue;
            };
            let known = |text: &Option<String>| text.clone().map(|text| (task, text));
            match found.progress() {
                WorkProgress::Done | WorkProgress::Review => memory.outputs.extend(known(&found.run.results.output)),
                WorkProgress::Failed | WorkProgress::Resting => {
                    memory.failures.extend(known(&found.run.results.failure))
                }
                WorkProgress::Unknown | WorkProgress::Running => {}
            }
        }
        memory
    }

    /// Forgets why a task failed, because it was accepted since.
    pub(super) fn accepted(&mut self, task: u32) {
        self.failures.remove(&task);
    }

    /// Returns whether the files that verify a task were recorded.
    pub(super) fn is_watched(&self, task: u32) -> bool {
        self.watched.contains_key(&task)
    }

    pub(super) fn watch(&mut self, task: u32, files: WatchedFiles) {
        self.watched.insert(task, files);
    }

    pub(super) fn watched(&self, task: u32) -> Option<&WatchedFiles> {
        self.watched.get(&task)
    }

    pub(super) fn changed(&self, task: u32, root: &Path) -> Vec<String> {
        self.watched
            .get(&task)
            .map_or_else(Vec::new, |files| files.changed(root))
    }

    pub(super) fn renumber(&mut self, new_of: &HashMap<u32, u32>) {
        super::renumber(&mut self.watched, new_of);
        super::renumber(&mut self.outputs, new_of);
        super::renumber(&mut self.failures, new_of);
    }
}

impl RunLoop<'_> {
    pub(super) fn output_of(&self, task: u32) -> Option<&str> {
        let run = self.state().task(self.snapshot.name(task));
        let own = run.and_then(|run| run.results.output.as_deref());
        own.or_else(|| self.agents.memory.outputs.get(&task).map(String::as_str))
    }

    /// Returns why the last attempt at a task failed, in this run or an earlier one.
    pub(super) fn failure_of(&self, task: u32) -> Option<&str> {
        let run = self.state().task(self.snapshot.name(task));
        let own = run.and_then(|run| run.results.failure.as_deref());
        own.or_else(|| self.agents.memory.failures.get(&task).map(String::as_str))
    }
}
