//! Edits of the plan file by other processes: the run follows them, or pauses until the plan is valid again.

mod edited_plan;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use planwright_core::plan::State;
use planwright_core::prompt::Template;
use planwright_core::schedule::{Jobs, Phase, ScheduleAction, ScheduleEvent};

use super::super::naming::{and_more, listed};
use super::super::status_updates::{NOT_SKIPPED, plain, set_back_remark};
use super::super::{PlanSnapshot, RunError};
use super::RunLoop;
use crate::clock;
use crate::revise::next_record;
use crate::runs::{MovedTask, PlanEditRecord, RemarkKind, RenamedTask, RequestRecord, RunEvent};
use edited_plan::{EditedPlan, EditedTask, StatusSource, is_same_shape};

/// The name of planwright itself as the one who paused a run.
const OURSELVES: &str = "planwright";

/// Whether the plan is valid, and when it was read.
pub(super) struct EditWatch {
    invalid: Option<String>,
    last_look: Instant,
    /// The number of the first journal record that can belong to a verb called during this run.
    since: u64,
    /// For each task, the record of the last verb whose state was seen in the file.
    followed: HashMap<String, u64>,
    /// The last reported remark about statuses that were set back.
    last_set_back: Option<String>,
    /// Tasks whose criteria or type a verb changed: the new ones verify their next attempt.
    renewed: HashSet<u32>,
}

impl EditWatch {
    /// Watches a plan from now on. Records already in its journal are from before the run.
    pub(super) fn new(snapshot: &PlanSnapshot) -> Self {
        EditWatch {
            invalid: None,
            last_look: clock::instant(),
            since: next_record(snapshot.path(), snapshot.plan()),
            followed: HashMap::new(),
            last_set_back: None,
            renewed: HashSet::new(),
        }
    }

    /// Returns, once, whether a verb changed what verifies a task.
    pub(super) fn take_renewed(&mut self, task: u32) -> bool {
        self.renewed.remove(&task)
    }

    /// Returns whether nothing starts because the plan is invalid now.
    pub(super) fn is_held(&self) -> bool {
        self.invalid.is_some()
    }

    pub(super) fn is_due(&mut self, now: Instant, every: Duration) -> bool {
        let is_due = now.duration_since(self.last_look) >= every;
        if is_due {
            self.last_look = now;
        }
        is_due
    }
}

impl RunLoop<'_> {
    /// Reads the plan file if it may have changed, and follows the change.
    pub(super) fn follow_plan(&mut self) -> Result<(), RunError> {
        match self.snapshot.reread() {
            // An invalid edit was undone.
            Ok(None) if self.plan_file.edits.invalid.is_some() && self.snapshot.is_as_known() => self.release(),
            Ok(None) => Ok(()),
            Ok(Some(new)) => self.follow_edit(new),
            Err(unreadable) => {
                self.snapshot.overlook(&unreadable);
                self.hold(unreadable.why)
            }
        }
    }

    /// Starts nothing new until the plan is valid again.
    fn hold(&mut self, why: String) -> Result<(), RunError> {
        let is_news = self.plan_file.edits.invalid.as_ref() != Some(&why);
        if self.plan_file.edits.invalid.replace(why.clone()).is_none() && !self.user.control.is_paused() {
            self.happened(ScheduleEvent::Paused);
        }
        match is_news {
            true => self.record_held(&why),
            false => Ok(()),
        }
    }

    fn record_held(&mut self, why: &str) -> Result<(), RunError> {
        let why = format!("the plan has errors now, and the run continues when they are fixed: {why}");
        // The user paused it, and the user resumes it.
        if self.user.control.is_paused() {
            return self.remark(None, why);
        }
        self.record(RunEvent::Paused(RequestRecord {
            by: Some(OURSELVES.to_owned()),
            why: Some(why),
        }))
    }

    /// Continues with a plan that is valid again, unless the user paused the run.
    fn release(&mut self) -> Result<(), RunError> {
        if self.plan_file.edits.invalid.take().is_none() {
            return Ok(());
        }
        if self.user.control.is_paused() {
            return self.remark(None, "the plan file can be used again; the run is still paused");
        }
        self.happened(ScheduleEvent::Resumed);
        let why = Some("the plan file can be used again".to_owned());
        self.record(RunEvent::Resumed(RequestRecord { by: None, why }))
    }

    /// Continues after the user resumed the run, unless the plan is invalid.
    pub(super) fn resumed(&mut self) -> Result<(), RunError> {
        match self.plan_file.edits.invalid.clone() {
            Some(why) => self.record_held(&why),
            None => {
                self.happened(ScheduleEvent::Resumed);
                Ok(())
            }
        }
    }

    /// Takes over an edited plan, or holds if it is invalid.
    fn follow_edit(&mut self, new: PlanSnapshot) -> Result<(), RunError> {
        match self.read_edit(new) {
            Ok(edited) => {
                self.release()?;
                self.take_over(edited)
            }
            Err(why) => self.hold(why),
        }
    }

    fn take_over(&mut self, mut edited: EditedPlan) -> Result<(), RunError> {
        self.set_states(&mut edited);
        let is_same = is_same_shape(self.tasks.schedule.jobs(), &edited.jobs, &edited.old_of);
        let claimed = (0..).zip(&edited.tasks);
        let claimed = claimed.filter(|(_, task)| task.source == StatusSource::Claim);
        let claimed: Vec<u32> = claimed.map(|(task, _)| task).collect();
        // A new task is not moved: it starts in its written state.
        let moves = (0..).zip(edited.tasks.iter().zip(&edited.old_of));
        let moved = moves.filter_map(|(ix, (task, old))| Some((ix, old.and(task.moved_to)?)));
        let moved: Vec<(u32, State)> = moved.collect();
        let is_begun = |task: &u32| edited.old_of[*task as usize].is_some_and(|old| self.is_begun(old));
        let begun: HashSet<u32> = moved.iter().map(|(task, _)| *task).filter(is_begun).collect();
        let event = self.edit_event(&edited, &moved, is_same);
        self.renumber(&edited);
        let EditedPlan {
            snapshot,
            jobs,
            agents,
            weights,
            old_of,
            tasks,
            contracts,
            renewed,
            skips,
            followed,
            ..
        } = edited;
        self.plan_file.edits.renewed.extend(renewed);
        self.plan_file.edits.followed.extend(followed);
        let is_other_dialect = self.snapshot.plan().dialect != snapshot.plan().dialect;
        let template = (self.request.options.template.is_none() && is_other_dialect)
            .then(|| Template::built_in(snapshot.linked().dialect.prompt()));
        self.agents.chosen.replace(agents, template);
        self.tasks.weights = weights;
        self.snapshot = snapshot;
        if let Some(event) = event {
            self.record(RunEvent::PlanEdited(event))?;
        }
        if !is_same {
            let (schedule, actions) = self.tasks.schedule.over(Jobs::new(jobs), &old_of);
            self.tasks.schedule = schedule;
            self.tasks.actions.extend(actions);
        }
        for (task, to) in moved {
            // A new schedule has the states of tasks that are not active.
            if is_same || begun.contains(&task) {
                self.follow(task, to);
            }
        }
        self.report_contracts(&contracts)?;
        for task in skips {
            self.remark_kind(Some(task), RemarkKind::StatusSetBack, NOT_SKIPPED.to_owned())?;
        }
        self.set_back(&claimed, &tasks)
    }

    /// Sets the states in which the tasks of an edited plan are scheduled.
    fn set_states(&self, edited: &mut EditedPlan) {
        for (ix, (job, task)) in edited.jobs.iter_mut().zip(&edited.tasks).enumerate() {
            if task.source == StatusSource::Claim {
                let is_held = edited.snapshot.plan().tasks()[ix].held;
                let holds = task.moved_to.unwrap_or(State::Pending);
                job.state = if is_held { State::Skipped } else { holds };
            }
            let old = edited.old_of[ix].filter(|_| task.moved_to.is_none());
            job.state = match old.map(|old| (self.phase(old), self.plan_file.writer.intended(old))) {
                // Only the plan skipped it, and the new plan may not.
                Some((Phase::Over(State::Skipped), Some(State::Pending))) => job.state,
                Some((Phase::Over(state), _)) => state,
                Some((Phase::Running | Phase::Resting | Phase::Review, _)) => State::Pending,
                Some((Phase::Waiting, _)) | None => job.state,
            };
        }
    }

    /// Returns the record of an edit for the log; none if the edit does not concern the run.
    fn edit_event(&self, edited: &EditedPlan, moved: &[(u32, State)], is_same: bool) -> Option<PlanEditRecord> {
        let new = &edited.snapshot;
        let names: Vec<String> = moved.iter().map(|&(task, _)| new.name(task).to_owned()).collect();
        let states: Vec<State> = moved.iter().map(|&(_, to)| to).collect();
        let gone = (0..self.plan_file.writer.n_tasks()).filter(|task| !edited.new_of.contains_key(task));
        let gone: Vec<&str> = gone.map(|task| self.snapshot.name(task)).collect();
        let come = (0..).zip(&edited.old_of).filter(|(_, old)| old.is_none());
        let come: Vec<&str> = come.map(|(task, _)| new.name(task)).collect();
        // The state of the run follows its tasks by these records.
        let was_found = |name: &str| {
            let found = self.state().found_states();
            found.is_some_and(|found| found.contains_key(name))
        };
        let is_known = |name: &str| self.state().task(name).is_some() || was_found(name);
        let removed = gone.iter().filter(|name| is_known(name)).map(|name| (*name).to_owned());
        let removed: Vec<String> = removed.collect();
        let both = edited.new_of.iter();
        let both = both.map(|(old, task)| (self.snapshot.name(*old), new.name(*task)));
        let renamed = both.filter(|(from, to)| from != to && is_known(from));
        let mut renamed: Vec<RenamedTask> = renamed.map(|(from, to)| RenamedTask::new(from, to)).collect();
        renamed.sort_by(|one, other| one.from.cmp(&other.from));
        let fields = self.edited_fields(edited);
        if is_same && names.is_empty() && renamed.is_empty() && fields.is_empty() {
            return None;
        }
        let edits = [("without", gone), ("with the new", come)];
        let edits = edits.iter().filter(|(_, names)| !names.is_empty());
        let edits: Vec<String> = edits.map(|(how, names)| format!(" {how} {}", listed(names))).collect();
        let fields = and_more(fields.into_iter());
        let fields = match fields.is_empty() {
            true => String::new(),
            false => format!(": {fields}"),
        };
        let edits = format!("{}{fields}", edits.join(" and"));
        let what = match (is_same, names.is_empty()) {
            (true, false) if fields.is_empty() => format!("another process moved {}", where_to(&names, &states)),
            (_, true) => format!("the plan was edited{edits}"),
            (_, false) => format!("the plan was edited{edits}; {}", where_to(&names, &states)),
        };
        let verbs = moved.iter().map(|&(task, to)| MovedTask {
            task: new.name(task).to_owned(),
            to: to.as_str().to_owned(),
            by: edited.tasks[task as usize].mover.clone(),
            verified: edited.tasks[task as usize].verified,
        });
        Some(PlanEditRecord {
            what,
            moved: verbs.collect(),
            tasks: names,
            renamed,
            removed,
        })
    }

    /// Writes the valid states back into the file, and reports the invalid ones.
    fn set_back(&mut self, claimed: &[u32], tasks: &[EditedTask]) -> Result<(), RunError> {
        if claimed.is_empty() {
            return Ok(());
        }
        let request = self.request;
        for &task in claimed {
            let found = tasks[task as usize].found;
            self.plan_file
                .writer
                .restore(task, found, |verb| plain(request, task, verb));
        }
        let words = |&task: &u32| {
            let found = tasks[task as usize].found;
            let holds = self.plan_file.writer.intended(task).unwrap_or(found);
            (self.snapshot.name(task), found, holds)
        };
        let set_back: Vec<(&str, State, State)> = claimed.iter().map(words).collect();
        let remark = set_back_remark(&set_back);
        // A process that writes the same repeatedly is reported once.
        if self.plan_file.edits.last_set_back.as_ref() == Some(&remark.text) {
            return Ok(());
        }
        self.plan_file.edits.last_set_back = Some(remark.text.clone());
        self.record(RunEvent::Remark(remark))
    }

    /// Reports criteria and types of started tasks that were edited without a verb: those of their start verify them.
    fn report_contracts(&mut self, tasks: &[u32]) -> Result<(), RunError> {
        for &task in tasks {
            let text = "its criteria or its type were edited in the plan file after it started: this run verifies it by those of \
                        its start";
            self.remark_kind(Some(task), RemarkKind::ContractEdited, text.to_owned())?;
        }
        Ok(())
    }

    fn follow(&mut self, task: u32, to: State) {
        if self.landing.follow(task, to, self.workers) || self.attempts.follow(task, to, self.workers) {
            return;
        }
        let is_news = match self.phase(task) {
            Phase::Waiting => to != State::Pending,
            // Between two attempts, and during a review, the task is running in the file.
            Phase::Resting | Phase::Review | Phase::Running => to != State::Running,
            Phase::Over(state) => to != state,
        };
        if is_news {
            self.waits.rests.forget(task);
            self.happened(ScheduleEvent::Moved { task, to });
        }
    }

    /// Gives all data by task number the new numbers.
    fn renumber(&mut self, edited: &EditedPlan) {
        let new_of = &edited.new_of;
        self.landing.renumber(new_of, self.workers);
        self.folders.checkouts.renumber(new_of);
        self.landing.conflicts.renumber(new_of);
        super::renumber(&mut self.waits.budget, new_of);
        self.waits.rests.renumber(new_of);
        self.agents.fallbacks.renumber(new_of);
        self.agents.earlier.renumber(new_of);
        super::renumber(&mut self.folders.watched, new_of);
        self.agents.arbiter.renumber(new_of, self.workers);
        self.plan_file
            .writer
            .renumber(new_of, &edited.old_of, &edited.snapshot, |task| {
                edited.tasks[task].moved_to
            });
        let in_scope = |(task, old): (usize, &Option<u32>)| match old {
            Some(old) => self.tasks.in_scope[*old as usize],
            None => {
                let task = &edited.tasks[task];
                task.found == State::Pending || task.source == StatusSource::Claim
            }
        };
        self.tasks.in_scope = edited.old_of.iter().enumerate().map(in_scope).collect();
        let renewed = std::mem::take(&mut self.plan_file.edits.renewed).into_iter();
        self.plan_file.edits.renewed = renewed.filter_map(|task| new_of.get(&task).copied()).collect();
        let actions = std::mem::take(&mut self.tasks.actions).into_iter();
        let new = |task: u32| new_of.get(&task).copied();
        self.tasks.actions = actions.filter_map(|action| renumbered(action, new)).collect();
        self.attempts.renumber(new_of, self.workers);
    }
}

/// Returns an action with the task's new number; none if the task was removed.
fn renumbered(action: ScheduleAction, new: impl Fn(u32) -> Option<u32>) -> Option<ScheduleAction> {
    Some(match action {
        ScheduleAction::Start { task, attempt } => ScheduleAction::Start {
            task: new(task)?,
            attempt,
        },
        ScheduleAction::Rest { task, attempt } => ScheduleAction::Rest {
            task: new(task)?,
            attempt,
        },
        ScheduleAction::Review { task } => ScheduleAction::Review { task: new(task)? },
        ScheduleAction::Skip { task, because } => ScheduleAction::Skip {
            task: new(task)?,
            because: new(because)?,
        },
    })
}

fn where_to(names: &[String], states: &[State]) -> String {
    let moved = names.iter().zip(states);
    and_more(moved.map(|(name, state)| format!("`{name}` to {}", state.as_str())))
}
