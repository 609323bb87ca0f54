//! Ends a run: writes to the plan file what the log has, and the result to the log.

use std::collections::BTreeSet;
use std::time::Duration;

use planwright_core::plan::lifecycle::OnFailure;
use planwright_core::plan::{State, Verb};
use planwright_core::schedule::{Phase, ScheduleStatus, Stop};

use super::super::RunError;
use super::super::attempt::mark_of_run;
use super::super::held_tasks::HeldTask;
use super::super::naming::listed;
use super::super::prepare::wanted_tasks;
use super::super::status_updates::StatusUpdate;
use super::reconcile::interrupted_updates;
use super::working::processes;
use super::{RunLoop, RunOutcome};
use crate::agent_output::{LEFTOVER_GRACE, end_all};
use crate::files::write_own;
use crate::runs::state::RunState;
use crate::runs::{RunEndRecord, RunEvent, RunStanding};
use crate::shell::{argument, shell_word, task_command, with_file};
use crate::store::load;

/// How often the plan file is tried at the end, and the wait in between.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(500);

impl RunLoop<'_> {
    /// Writes all updates to the plan file, and reads the edits of other processes.
    pub(super) fn settle(&mut self) -> Result<(), RunError> {
        self.settle_resting();
        self.settle_held();
        for nth in 0..TRIES {
            if self.plan_file.writer.is_idle() {
                break;
            }
            if nth > 0 {
                std::thread::sleep(PAUSE);
            }
            self.write_plan()?;
        }
        // An edit in the last moment may have undone the write.
        for _ in 0..TRIES {
            self.follow_plan()?;
            if self.plan_file.writer.is_idle() || self.plan_file.edits.is_held() {
                break;
            }
            self.write_plan()?;
        }
        Ok(())
    }

    pub(super) fn end(mut self) -> Result<RunOutcome, RunError> {
        self.close_landing()?;
        let n_marked = end_all(&mark_of_run(self.live.place.id(), &self.snapshot.place().target));
        let n_ended = n_marked + self.workers.end_left(LEFTOVER_GRACE);
        if n_ended > 0 {
            let text = format!("ended processes that were left running: {}", processes(n_ended));
            self.remark(None, text)?;
        }
        let status = self.tasks.schedule.status();
        let ended = self.ended(status);
        let spent = self.all_spent();
        // An edit that cannot be read may have changed statuses, and nothing was set back: the next run settles that, as after a crash.
        if !self.plan_file.edits.is_held() {
            self.record(RunEvent::RunEnded(ended.clone()))?;
        }
        self.commit()?;
        self.keep_plan();
        let state = self.recorder.finish(&self.live.place.log());
        Ok(RunOutcome {
            place: self.live.place,
            status,
            ended,
            spent,
            unwritten: self.plan_file.writer.into_unwritten(),
            is_hindered: self.user.stops.is_hindered(),
            state,
        })
    }

    /// A task between two attempts when the run stopped counts as interrupted.
    fn settle_resting(&mut self) {
        let policy = self.request.config.run.on_interrupted;
        for task in 0..self.plan_file.writer.n_tasks() {
            // Its wait may have ended just then.
            let is_between = matches!(self.phase(task), Phase::Resting | Phase::Waiting);
            let is_open = is_between && self.plan_file.writer.intended(task) == Some(State::Running);
            if is_open {
                let updates = interrupted_updates(self.request, self.snapshot.plan(), task, policy);
                let why = self.failure_of(task).map(str::to_owned);
                for update in updates {
                    let note = update.note.map(|note| why.clone().unwrap_or(note));
                    self.update_plan(StatusUpdate { note, ..update });
                }
            }
        }
    }

    /// Skips the tasks that the plan marks, after everything else has ended. Until then a person may unmark them.
    fn settle_held(&mut self) {
        let is_over = matches!(
            self.tasks.schedule.status(),
            ScheduleStatus::Finished | ScheduleStatus::Stuck
        );
        let is_finished = is_over && !self.request.options.lands_only;
        // If the user named a task that was removed, no task is skipped.
        let wanted = wanted_tasks(self.request, &self.snapshot).unwrap_or_default();
        let wanted = (0..).zip(wanted).filter(|(_, is_wanted)| is_finished && *is_wanted);
        let held = wanted.filter(|(task, _)| self.snapshot.plan().tasks()[*task as usize].held);
        let open = held.filter(|(task, _)| {
            matches!(
                self.plan_file.writer.intended(*task),
                Some(State::Pending | State::Failed)
            )
        });
        let updates: Vec<StatusUpdate> = open.map(|(task, _)| self.plain_update(task, Verb::Skip)).collect();
        for update in updates {
            self.update_plan(update);
        }
    }

    /// Saves the present plan for reports of this run. Without it they show the plan of their own time.
    fn keep_plan(&self) {
        if let Ok(loaded) = load(&self.snapshot.place().target) {
            write_own(&self.live.place.plan_at_end(), loaded.source.as_str().as_bytes()).ok();
        }
    }

    fn ended(&self, status: ScheduleStatus) -> RunEndRecord {
        let RunState { spent, counts, .. } = self.state();
        let unwritten = self.plan_file.writer.waiting();
        let mut ended = RunEndRecord {
            standing: run_standing(status),
            n_unverified: counts.n_accepted_unverified,
            n_unchanged: counts.n_unchanged,
            milliseconds: spent.milliseconds.saturating_add(self.waits.clock.milliseconds()),
            cost_usd: spent.cost_usd,
            tokens: spent.tokens,
            why: self.why(status),
            next: self.next(status),
            unwritten: unwritten.map(|task| self.snapshot.name(task).to_owned()).collect(),
            ..RunEndRecord::default()
        };
        for task in (0..self.plan_file.writer.n_tasks()).filter(|&task| self.tasks.in_scope[task as usize]) {
            match self.phase(task) {
                Phase::Over(State::Done) => ended.n_done += 1,
                Phase::Over(State::Failed) => ended.n_failed += 1,
                Phase::Over(State::Skipped) => ended.n_skipped += 1,
                Phase::Review => ended.n_review += 1,
                _ => ended.n_left += 1,
            }
        }
        ended
    }

    fn why(&self, status: ScheduleStatus) -> Option<String> {
        let name = |task: u32| self.snapshot.name(task);
        match status {
            ScheduleStatus::Finished | ScheduleStatus::Busy => None,
            ScheduleStatus::Paused => Some("the run is paused".to_owned()),
            ScheduleStatus::AwaitsReview => {
                let waiting: Vec<&str> = self.in_phase(Phase::Review).map(name).collect();
                Some(format!(
                    "approve or reject {}, then run the plan again",
                    listed(&waiting)
                ))
            }
            ScheduleStatus::Stopped(Stop::Failure { task }) => {
                let way = self.snapshot.plan().lifecycle.wording.after_failure;
                let way = if way.is_empty() {
                    String::new()
                } else {
                    format!("; {way}")
                };
                Some(format!("`{}` failed{way}", name(task)))
            }
            ScheduleStatus::Stopped(Stop::Condition { task }) => {
                let condition = self.user.stops.why().unwrap_or_default();
                Some(format!("`{}` met its stop condition: {condition}", name(task)))
            }
            ScheduleStatus::Stopped(Stop::MaxTasks) => {
                Some("the limit of started tasks was reached (--max-tasks)".to_owned())
            }
            ScheduleStatus::Stopped(_) => self.user.stops.why().map(str::to_owned),
            ScheduleStatus::Stuck => {
                let failed: Vec<&str> = self.in_phase(Phase::Over(State::Failed)).map(name).collect();
                if failed.is_empty() {
                    return Some(self.obstacle_words());
                }
                Some(format!("{} failed", listed(&failed)))
            }
        }
    }

    fn next(&self, status: ScheduleStatus) -> Option<String> {
        let plan = argument(&self.snapshot.path().to_string_lossy());
        let words = |first: &[&str]| {
            let own = self
                .request
                .options
                .again
                .iter()
                .filter(|word| !first.contains(&word.as_str()));
            let words = first
                .iter()
                .map(|word| (*word).to_owned())
                .chain(own.map(|word| shell_word(word)));
            words.chain([plan.clone()]).collect::<Vec<_>>().join(" ")
        };
        let again = words(&["planwright", "run"]);
        let has_failed = self.in_phase(Phase::Over(State::Failed)).next().is_some();
        let retries_anyway = self.snapshot.plan().lifecycle.on_failure == OnFailure::DependentsSkipped;
        match status {
            ScheduleStatus::Finished => None,
            // The help names the plan.
            ScheduleStatus::Stopped(Stop::Condition { .. }) => {
                let help = self.snapshot.plan().lifecycle.wording.after_stop;
                Some(with_file(help, &self.snapshot.path().to_string_lossy()))
            }
            ScheduleStatus::AwaitsReview => {
                let task = self.in_phase(Phase::Review).next()?;
                let path = self.snapshot.path().to_string_lossy();
                Some(task_command("approve", self.snapshot.name(task), &path, ""))
            }
            _ if has_failed && self.snapshot.plan().lifecycle.on_failure == OnFailure::Replan => {
                (!self.request.options.replanning.is_last).then(|| format!("planwright replan {plan}"))
            }
            _ if has_failed && !retries_anyway => Some(words(&["planwright", "run", "--retry-failed"])),
            ScheduleStatus::Stuck if !has_failed => Some(self.way_out().unwrap_or(again)),
            _ => Some(again),
        }
    }

    /// Returns the unfinished tasks outside this run that its remaining tasks depend on.
    fn obstacles(&self) -> Vec<u32> {
        let is_left = |task: u32| self.tasks.in_scope[task as usize] && self.phase(task) == Phase::Waiting;
        let left = (0..self.plan_file.writer.n_tasks()).filter(|&task| is_left(task));
        let needed = left.flat_map(|task| self.snapshot.links().of(task as usize).iter().map(|edge| edge.to));
        let is_obstacle = |task: &u32| !is_left(*task) && self.snapshot.state(*task) != State::Done;
        let found: BTreeSet<u32> = needed.filter(is_obstacle).collect();
        found.into_iter().collect()
    }

    /// Returns why the remaining tasks cannot start although none has failed.
    fn obstacle_words(&self) -> String {
        let obstacles = self.obstacles();
        let held = obstacles
            .iter()
            .find(|&&task| self.snapshot.state(task) == State::Running);
        match (held, obstacles.as_slice()) {
            (Some(&task), _) => HeldTask::of(&self.snapshot, task).words(),
            (None, []) => "the remaining tasks cannot start".to_owned(),
            (None, tasks) => {
                let names: Vec<&str> = tasks.iter().map(|&task| self.snapshot.name(task)).collect();
                let names = listed(&names);
                format!("the remaining tasks depend on tasks outside this run that are not done: {names}")
            }
        }
    }

    /// Returns the command that removes the first obstacle.
    fn way_out(&self) -> Option<String> {
        let task = *self.obstacles().first()?;
        let words = |verb: &str| {
            let path = self.snapshot.path().to_string_lossy();
            task_command(verb, self.snapshot.name(task), &path, "")
        };
        Some(match self.snapshot.state(task) {
            State::Running => HeldTask::of(&self.snapshot, task).release,
            State::Blocked | State::Skipped => words("reset"),
            State::Pending | State::Failed | State::Done => words("why"),
        })
    }

    fn in_phase(&self, phase: Phase) -> impl Iterator<Item = u32> {
        (0..self.plan_file.writer.n_tasks()).filter(move |&task| self.phase(task) == phase)
    }
}

fn run_standing(status: ScheduleStatus) -> RunStanding {
    match status {
        ScheduleStatus::Finished => RunStanding::Finished,
        ScheduleStatus::Stuck => RunStanding::Stuck,
        ScheduleStatus::Stopped(_) => RunStanding::Stopped,
        ScheduleStatus::Paused | ScheduleStatus::Busy => RunStanding::Paused,
        ScheduleStatus::AwaitsReview => RunStanding::AwaitsReview,
    }
}
