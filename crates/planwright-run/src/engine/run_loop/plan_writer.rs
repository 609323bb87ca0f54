//! The current and the intended status of each task in the plan file, and the updates between them.

use std::collections::HashMap;
use std::time::Instant;

use planwright_core::plan::lifecycle::OnFailure;
use planwright_core::plan::{Machine, State, Verb};

use super::super::status_updates::{PendingUpdates, StatusUpdate, WrittenUpdates, plain, way_back, why};
use super::super::{PlanSnapshot, RunError};
use super::RunLoop;
use crate::clock;
use crate::revise::ReviseError;
use crate::runs::{PlanWriteRecord, RemarkKind, RunEvent, SkippedTask};

pub(super) struct PlanWriter {
    pending: PendingUpdates,
    /// The last update of tasks that have ended, if it is more than a state.
    settled: HashMap<u32, StatusUpdate>,
    written: Vec<State>,
    /// The state of each task in the file after all updates are written.
    intended: Vec<State>,
    /// Why the last write of the file failed.
    unwritten: Option<Box<ReviseError>>,
}

impl PlanWriter {
    pub(super) fn new(written: Vec<State>) -> Self {
        PlanWriter {
            pending: PendingUpdates::default(),
            settled: HashMap::new(),
            intended: written.clone(),
            written,
            unwritten: None,
        }
    }

    pub(super) fn n_tasks(&self) -> u32 {
        self.intended.len() as u32
    }

    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.pending.due()
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = u32> {
        self.pending.tasks()
    }

    pub(super) fn concerns(&self, task: u32) -> bool {
        self.pending.concerns(task)
    }

    pub(super) fn written(&self, task: u32) -> Option<State> {
        self.written.get(task as usize).copied()
    }

    pub(super) fn intended(&self, task: u32) -> Option<State> {
        self.intended.get(task as usize).copied()
    }

    /// Sets the state that a task will have in the file without an update of its own.
    pub(super) fn intend(&mut self, task: u32, state: State) {
        if let Some(intended) = self.intended.get_mut(task as usize) {
            *intended = state;
        }
    }

    /// Adds an update. A task that was removed from the plan gets none.
    fn add(&mut self, update: StatusUpdate, machine: &Machine) {
        let Some(intended) = self.intended.get_mut(update.task as usize) else {
            return;
        };
        let to = match update.verb {
            // A run that tries a failed task again starts it.
            Verb::Retry => Some(State::Running),
            verb => machine.outcome(*intended, verb, true),
        };
        *intended = to.unwrap_or(*intended);
        let says_more = update.note.is_some() || update.output.is_some() || !update.files.is_empty();
        if says_more && matches!(update.verb, Verb::Done | Verb::Fail | Verb::Skip) {
            self.settled.insert(update.task, update.clone());
        }
        self.pending.add(update);
    }

    /// Adds the updates that bring a task from the state in the file to its intended one.
    pub(super) fn restore(&mut self, task: u32, found: State, plain: impl Fn(Verb) -> StatusUpdate) {
        let intended = self.intended(task).unwrap_or(found);
        if found == intended {
            return;
        }
        for &verb in way_back(found, intended) {
            let known = self.settled.get(&task).filter(|update| update.verb == verb).cloned();
            self.pending.add(known.unwrap_or_else(|| plain(verb)));
        }
    }

    fn wrote(&mut self, written: &WrittenUpdates, snapshot: &PlanSnapshot) {
        self.unwritten = None;
        for (name, state) in &written.moved {
            if let Ok(task) = snapshot.named(name) {
                self.written[task as usize] = *state;
                self.intended[task as usize] = *state;
            }
        }
        // The run still knows a refused update: another process was first, and the next read decides about its edit.
    }

    /// Takes over an edited plan. `holds` is what other processes may have set, task by task; where it has none, what the run knows
    /// holds.
    pub(super) fn renumber(
        &mut self,
        new_of: &HashMap<u32, u32>,
        old_of: &[Option<u32>],
        edited: &PlanSnapshot,
        holds: impl Fn(usize) -> Option<State>,
    ) {
        super::renumber(&mut self.settled, new_of);
        for (task, update) in &mut self.settled {
            update.task = *task;
        }
        self.pending.renumber(|task| new_of.get(&task).copied());
        let intended = |(task, old): (usize, &Option<u32>)| match (holds(task), old) {
            (Some(state), _) => state,
            (None, Some(old)) => self.intended[*old as usize],
            (None, None) => State::Pending,
        };
        self.intended = old_of.iter().enumerate().map(intended).collect();
        self.written = (0..old_of.len() as u32).map(|task| edited.state(task)).collect();
    }

    /// Returns why the file lacks updates of the run.
    pub(super) fn into_unwritten(self) -> Option<Box<ReviseError>> {
        self.unwritten
    }
}

impl RunLoop<'_> {
    pub(super) fn update_plan(&mut self, mut update: StatusUpdate) {
        if let Some(site) = self.folders.workplace.site() {
            let texts = update.note.iter_mut().chain(&mut update.output);
            for text in texts.chain(&mut update.work.reflection) {
                *text = site.checkouts().without_folders(text);
            }
        }
        update.redact(self.agents.chosen.redaction());
        let machine = &self.snapshot.plan().lifecycle.machine;
        self.plan_file.writer.add(update, machine);
    }

    pub(super) fn plain_update(&self, task: u32, verb: Verb) -> StatusUpdate {
        plain(self.request, task, verb)
    }

    pub(super) fn write_plan_if_due(&mut self) -> Result<(), RunError> {
        match self.plan_file.writer.due() {
            Some(due) if due <= clock::instant() => self.write_plan(),
            _ => Ok(()),
        }
    }

    /// Writes all updates into the plan file. A failed write is tried again later.
    pub(super) fn write_plan(&mut self) -> Result<(), RunError> {
        // Another task may have got a name: edits of the file come first.
        self.follow_plan()?;
        if self.plan_file.edits.is_held() || self.plan_file.writer.is_idle() {
            return Ok(());
        }
        match self.plan_file.writer.pending.write(&mut self.snapshot) {
            Ok(written) => {
                self.plan_file.writer.wrote(&written, &self.snapshot);
                self.record_written(written)
            }
            Err(error) => {
                let is_news = self.plan_file.writer.unwritten.is_none();
                let text = format!(
                    "the plan file cannot be written now; the run tries again: {}",
                    why(&error)
                );
                self.plan_file.writer.unwritten = Some(Box::new(error));
                match is_news {
                    true => self.remark_kind(None, RemarkKind::PlanUnwritten, text),
                    false => Ok(()),
                }
            }
        }
    }

    fn record_written(&mut self, written: WrittenUpdates) -> Result<(), RunError> {
        for (update, why) in &written.refused {
            let text = format!("the plan file was not changed (`{}`): {why}", update.verb.as_str());
            self.remark_kind(Some(update.task), RemarkKind::PlanUnwritten, text)?;
        }
        for text in written.remarks {
            self.remark(None, text)?;
        }
        let mut tasks: Vec<String> = written.moved.into_iter().map(|(name, _)| name).collect();
        tasks.sort_unstable();
        tasks.dedup();
        if tasks.is_empty() {
            return Ok(());
        }
        let change = written.change;
        self.record(RunEvent::PlanWritten(PlanWriteRecord { tasks, change }))
    }

    pub(super) fn skip(&mut self, task: u32, because: u32) -> Result<(), RunError> {
        let name = |task: u32| self.snapshot.name(task).to_owned();
        let event = SkippedTask {
            task: name(task),
            because: name(because),
        };
        if self.snapshot.plan().lifecycle.on_failure == OnFailure::DependentsSkipped {
            // The update of the failed task skips its dependents.
            self.plan_file.writer.intend(task, State::Skipped);
        } else {
            let note = Some(format!("skipped because `{}` failed", event.because));
            self.update_plan(StatusUpdate {
                note,
                ..self.plain_update(task, Verb::Skip)
            });
        }
        self.record(RunEvent::Skipped(event))
    }
}
