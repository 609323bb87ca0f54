//! What earlier runs of a plan left behind: the one that was interrupted, what was running in it, and what it knew and could not
//! write into the plan file any more.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::RunError;
use crate::clock::{self, milliseconds, milliseconds_of};
use crate::fallback::{MAX_PROVIDER_WAIT, ProviderLimits};
use crate::files::DiskFiles;
use crate::git::Repository;
use crate::journal::JournalError;
use crate::place::PlanPlace;
use crate::runs::Spent;
use crate::runs::state::RunState;
use crate::runs::{self, Finished, RunEvent, RunPlace, RunRecord};
use crate::worker::Process;

/// How many earlier runs are asked for outputs and failures.
const MAX_RUNS: usize = 20;

/// What earlier runs tell.
#[derive(Default)]
pub(super) struct Past {
    /// The run that never ended, and goes on.
    pub(super) interrupted: Option<RunPlace>,
    /// What became of each task in the last run that had it.
    pub(super) stories: BTreeMap<String, Story>,
    /// How often each task was tried in the run that goes on.
    pub(super) attempts: HashMap<String, u32>,
    /// The processes that the interrupted run had started.
    pub(super) processes: Vec<Process>,
    /// How many of the tasks that the run that goes on has finished nothing has verified.
    pub(super) n_unverified: u64,
    /// What the run that goes on has spent so far.
    pub(super) spent: Spent,
    /// What the command that began it had spent before.
    pub(super) earlier: Spent,
    /// What it has spent on each task.
    pub(super) spent_on: HashMap<String, Spent>,
    /// Which of its agents were told to wait, and have to yet.
    pub(super) limits: ProviderLimits,
}

/// The time between a beginning of the run and its next interruption, in milliseconds since 1970.
#[derive(Default)]
struct Part {
    began: Option<u64>,
    last: Option<u64>,
    /// When the attempts began that are under way.
    open: HashMap<String, Option<u64>>,
}

fn between(began: Option<u64>, ended: Option<u64>) -> Option<u64> {
    Some(ended?.saturating_sub(began?))
}

/// One task, as a log tells it.
#[derive(Clone, Debug, Default)]
pub(super) struct Story {
    pub(super) stage: Stage,
    /// The last attempt.
    pub(super) attempt: u32,
    /// Its agent.
    pub(super) agent: String,
    /// Whether what it made passed for itself; where it has a branch, that is to be merged yet.
    pub(super) is_proven: bool,
    /// The branch that it worked on.
    pub(super) branch: Option<String>,
    /// The worktree that it worked in.
    pub(super) folder: Option<String>,
    /// What was made, and the files that were touched.
    pub(super) output: Option<String>,
    pub(super) files: Vec<String>,
    /// The task whose failure had it left out.
    pub(super) skipped_for: Option<String>,
    /// Why the last attempt failed.
    pub(super) why: Option<String>,
    /// Whether the plan file knows it.
    pub(super) is_projected: bool,
    /// When the last of this happened.
    pub(super) at: String,
    /// Whether its run came to its end.
    pub(super) is_of_ended_run: bool,
}

/// How far a task got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// Something is known of it, but not how it ended.
    #[default]
    Unknown,
    /// An attempt was running, or being verified.
    Running,
    /// An attempt had failed, and another one was to follow.
    Resting,
    /// Done, but for somebody's approval.
    Review,
    Done,
    Failed,
}

impl Past {
    /// Reads the logs of the plan's earlier runs.
    pub(super) fn of(plan: &PlanPlace, id: Option<&str>) -> Result<Self, RunError> {
        let own = runs::of_plan(&DiskFiles, plan, id).map_err(RunError::io("the runs cannot be listed"))?;
        let mut past = Past::default();
        for (nth, place) in own.take(MAX_RUNS).enumerate() {
            let records = match runs::records(&DiskFiles, &place.log()) {
                Ok(records) => records,
                // Only the newest one matters for what to do; an old one that is damaged is none of this run's business.
                Err(_) if nth > 0 => continue,
                Err(JournalError::Corrupt { path, offset, what }) => return Err(damaged(&path, offset, what)),
                Err(error) => return Err(error.into()),
            };
            let last = records.iter().rev().find_map(|record| match &record.event {
                RunEvent::Ended(ended) => Some(Some(ended)),
                RunEvent::Begun(_) => Some(None),
                _ => None,
            });
            let mut stories = stories(&records);
            if let Some(Some(ended)) = last {
                // Whoever ended has written all that was to be written, but for what it says.
                for (task, story) in &mut stories {
                    story.is_of_ended_run = true;
                    story.is_projected = !ended.unwritten.contains(task);
                }
            }
            if nth == 0 && last == Some(None) {
                past.attempts = stories
                    .iter()
                    .map(|(task, story)| (task.clone(), story.attempt))
                    .collect();
                past.processes = processes(&records);
                past.limits = limits(&records, milliseconds(), clock::instant());
                past.add_up(&records);
                past.interrupted = Some(place);
            }
            for (task, story) in stories {
                past.stories.entry(task).or_insert(story);
            }
        }
        Ok(past)
    }
}

impl Past {
    /// Adds up what was spent, by attempts and by arbiters.
    fn add_up(&mut self, records: &[RunRecord]) {
        self.n_unverified = RunState::of(records).counts.n_unverified;
        let mut part = Part::default();
        for record in records {
            let time = milliseconds_of(&record.time);
            if let RunEvent::Begun(begun) = &record.event {
                if let Some(earlier) = &begun.earlier {
                    self.earlier.clone_from(earlier);
                }
                self.close(&mut part);
                part.began = time;
            }
            part.last = time.or(part.last);
            match &record.event {
                RunEvent::Starting(attempt) => {
                    self.spent.n_attempts += 1;
                    self.spent_on.entry(attempt.task.clone()).or_default().n_attempts += 1;
                    part.open.insert(attempt.task.clone(), time);
                }
                RunEvent::Finished(finished) => {
                    let began = part.open.remove(&finished.task);
                    let passed = finished.milliseconds.or_else(|| between(began?, time));
                    self.finish(finished, passed.unwrap_or(0));
                }
                RunEvent::Chosen(chosen) => self.spent.pay(chosen.cost_usd, chosen.tokens),
                _ => {}
            }
        }
        self.close(&mut part);
    }

    /// Adds an attempt that is over.
    fn finish(&mut self, finished: &Finished, milliseconds: u64) {
        let does_not_count = matches!(finished.outcome.as_str(), "rate-limited" | "broken");
        let of_task = self.spent_on.entry(finished.task.clone()).or_default();
        of_task.pass(milliseconds);
        for spent in [of_task, &mut self.spent] {
            spent.pay(finished.cost_usd, finished.tokens);
            spent.n_attempts = spent.n_attempts.saturating_sub(u64::from(does_not_count));
        }
    }

    /// Adds the time of a part of the run that is over, and that of the attempts which it did not see the end of.
    fn close(&mut self, part: &mut Part) {
        self.spent.pass(between(part.began, part.last).unwrap_or(0));
        for (task, began) in part.open.drain() {
            let passed = between(began, part.last).unwrap_or(0);
            self.spent_on.entry(task).or_default().pass(passed);
        }
        part.began = None;
    }

    /// Looks whether what was proven was merged before the log could say so.
    pub(super) fn look_for_merges(&mut self, root: &Path) {
        let is_open = |story: &Story| story.stage == Stage::Running && story.is_proven && story.branch.is_some();
        if !self.stories.values().any(is_open) {
            return;
        }
        let Ok(Some(repository)) = Repository::around(root) else {
            return;
        };
        let Ok(Some(target)) = repository.branch() else {
            return;
        };
        for story in self.stories.values_mut().filter(|story| is_open(story)) {
            let branch = story.branch.as_deref().unwrap_or_default();
            if repository.is_merged(branch, &target).unwrap_or(false) {
                story.stage = Stage::Done;
            }
        }
    }
}

impl Story {
    /// Returns what was made and proven, and waits to be merged.
    pub(super) fn proven(&self) -> Option<Proven> {
        let is_open = self.stage == Stage::Running && self.is_proven;
        is_open.then_some(())?;
        Some(Proven {
            branch: self.branch.clone()?,
            folder: self.folder.as_ref()?.into(),
            agent: self.agent.clone(),
            output: self.output.clone().unwrap_or_default(),
        })
    }
}

/// What an attempt made in its worktree that nobody could merge any more.
#[derive(Clone, Debug)]
pub(super) struct Proven {
    pub(super) branch: String,
    pub(super) folder: PathBuf,
    pub(super) agent: String,
    pub(super) output: String,
}

/// Returns whether a plan has a run that was interrupted, and that somebody has to go on with.
pub(super) fn is_interrupted(plan: &PlanPlace, id: Option<&str>) -> bool {
    Past::of(plan, id).is_ok_and(|past| past.interrupted.is_some())
}

fn damaged(path: &Path, offset: usize, what: &str) -> RunError {
    let folder = path.parent().unwrap_or(path).display();
    RunError::Damaged {
        message: format!(
            "the log of the last run is damaged at byte {offset}: {what} (`{}`)",
            path.display()
        ),
        help: format!(
            "what the plan file says still holds. Move the log away and run again: mv {folder} {folder}.damaged"
        ),
    }
}

/// Returns the processes that may have outlived their run.
fn processes(records: &[RunRecord]) -> Vec<Process> {
    let started = records.iter().filter_map(|record| match &record.event {
        RunEvent::Started(started) => Some(Process {
            pid: started.pid,
            start_time: started.start_time.clone()?,
            command: String::new(),
        }),
        _ => None,
    });
    started.collect()
}

/// Returns which agents were told to wait for longer than until now.
fn limits(records: &[RunRecord], now: u64, instant: Instant) -> ProviderLimits {
    let mut takers: HashMap<&str, &str> = HashMap::new();
    let mut limits = ProviderLimits::new();
    for record in records {
        match &record.event {
            RunEvent::Starting(attempt) => {
                takers.insert(&attempt.task, &attempt.agent);
            }
            RunEvent::Finished(finished) if finished.outcome == "rate-limited" => {
                let Some(agent) = takers.get(finished.task.as_str()) else {
                    continue;
                };
                let at = milliseconds_of(&record.time);
                let until = at.zip(finished.limited_for).map(|(at, wait)| at.saturating_add(wait));
                let left = Duration::from_millis(until.unwrap_or(0).saturating_sub(now)).min(MAX_PROVIDER_WAIT);
                // The last word counts, also where it names no time.
                match left.is_zero() {
                    true => limits.remove(*agent),
                    false => limits.insert((*agent).to_owned(), instant + left),
                };
            }
            _ => {}
        }
    }
    limits
}

/// Returns what became of each task.
fn stories(records: &[RunRecord]) -> BTreeMap<String, Story> {
    let mut stories: BTreeMap<String, Story> = BTreeMap::new();
    for record in records {
        let Some(task) = task_of(&record.event) else {
            if let RunEvent::Projected(projected) = &record.event {
                for task in &projected.tasks {
                    stories.entry(task.clone()).or_default().is_projected = true;
                }
            }
            continue;
        };
        let story = stories.entry(task.to_owned()).or_default();
        if story.take(&record.event) {
            story.is_projected = false;
            story.at.clone_from(&record.time);
        }
    }
    stories
}

fn task_of(event: &RunEvent) -> Option<&str> {
    Some(match event {
        RunEvent::Starting(attempt) => &attempt.task,
        RunEvent::Finished(finished) => &finished.task,
        RunEvent::Verified(verified) => &verified.task,
        RunEvent::Skipped(skipped) => &skipped.task,
        RunEvent::Merged(merged) => &merged.task,
        RunEvent::Resting(resting) => &resting.task,
        RunEvent::Review(review) => &review.task,
        RunEvent::Approved(approved) => &approved.task,
        _ => return None,
    })
}

impl Story {
    /// Takes in an event; returns whether the plan file has to learn of it.
    fn take(&mut self, event: &RunEvent) -> bool {
        match event {
            RunEvent::Starting(attempt) => {
                self.stage = Stage::Running;
                self.attempt = attempt.attempt;
                self.agent = attempt.agent.clone();
                self.branch = attempt.branch.clone();
                self.folder = attempt.folder.clone();
                self.is_proven = false;
                self.skipped_for = None;
            }
            RunEvent::Finished(finished) => self.finish(finished),
            RunEvent::Verified(verified) if verified.passed => {
                self.is_proven = true;
                if self.branch.is_none() {
                    self.stage = Stage::Done;
                }
            }
            RunEvent::Merged(merged) if merged.passed => self.stage = Stage::Done,
            RunEvent::Verified(_) | RunEvent::Merged(_) => self.stage = Stage::Failed,
            // What waits for an agent before its first attempt has not begun.
            RunEvent::Resting(_) if self.attempt == 0 => return false,
            RunEvent::Resting(_) => self.stage = Stage::Resting,
            RunEvent::Skipped(skipped) => {
                self.skipped_for = Some(skipped.because.clone());
                return false;
            }
            RunEvent::Review(_) => self.stage = Stage::Review,
            RunEvent::Approved(_) => self.stage = Stage::Done,
            _ => return false,
        }
        true
    }

    fn finish(&mut self, finished: &Finished) {
        self.output = finished.output.clone();
        self.files = finished.files.clone();
        self.why = finished.why.clone();
        match finished.outcome.as_str() {
            // It counts when it is verified.
            "done" => {}
            "failed" | "stopped" => self.stage = Stage::Failed,
            _ => self.stage = Stage::Running,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Attempt;

    #[test]
    fn an_agent_is_held_up_as_its_provider_said_last() {
        let now = milliseconds_of("2026-11-16T10:30:00.000Z").expect("a time");
        let instant = clock::instant();
        let hours = |n: u64| n * 3_600_000;
        let record = |time: &str, event: RunEvent| RunRecord {
            seq: 1,
            time: format!("2026-11-16T{time}:00.000Z"),
            event,
        };
        let starting = RunEvent::Starting(Attempt {
            task: "t1".to_owned(),
            agent: "one".to_owned(),
            ..Attempt::default()
        });
        let limited = |limited_for: Option<u64>| {
            RunEvent::Finished(Finished {
                task: "t1".to_owned(),
                outcome: "rate-limited".to_owned(),
                limited_for,
                ..Finished::default()
            })
        };
        let mut records = vec![record("10:00", starting), record("10:00", limited(Some(hours(5))))];
        let until = |records: &[RunRecord]| held_up(records, now, instant).get("one").copied();
        assert_eq!(until(&records), Some(instant + Duration::from_secs(9 * 1800)));
        records.push(record("10:10", limited(Some(hours(1)))));
        assert_eq!(until(&records), Some(instant + Duration::from_secs(40 * 60)));
        records.push(record("10:20", limited(None)));
        assert_eq!(until(&records), None);
        records.push(record("10:25", limited(Some(60_000))));
        assert_eq!(until(&records), None, "the minute is over");
    }
}
