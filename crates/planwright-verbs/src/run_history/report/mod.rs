//! The result of a run: what is done, what failed and why, its duration and cost, and the command that continues.

mod changes;
mod setting;

use std::collections::BTreeMap;
use std::path::Path;

use planwright_run::git::{Diffstat, Repository};
use planwright_run::runs::state::{RunState, TaskCounts, TaskRun, TaskState};
use planwright_run::shell::argument;
use serde::Serialize;

pub use self::changes::TaskChangeReport;
use self::changes::{changes, look_first};
pub use self::setting::Setting;
use crate::run_history::{first_useful_line, why_of};
use crate::text::short_commit;

/// The result of a run, the last output of `planwright run --json`.
#[derive(Debug, Serialize)]
pub struct RunReport {
    pub schema_version: &'static str,
    pub run: String,
    pub plan: String,
    /// How it ended: `finished`, `stuck`, `stopped`, `paused`, `awaits-review`, `reviewed`; `running` or `interrupted` before it has ended.
    pub standing: String,
    pub why: Option<String>,
    pub counts: CountsReport,
    pub milliseconds: Option<u64>,
    pub cost_usd: Option<f64>,
    pub tokens: Option<TokensReport>,
    pub failed: Vec<FailedReport>,
    pub skipped: Vec<SkippedReport>,
    pub review: Vec<ReviewReport>,
    /// Tasks that are done, or wait for review, without verification.
    pub unverified: Vec<String>,
    /// Criteria of these tasks without a rule.
    pub unverified_criteria: Vec<CriteriaReport>,
    /// Tasks that are done or wait for review although no file was changed.
    pub unchanged: Vec<String>,
    /// Tasks that were ended or interrupted.
    pub stopped: Vec<StoppedReport>,
    /// Tasks that another process took over while the run worked on them.
    pub taken_over: Vec<TakenOverReport>,
    pub drift: Vec<DriftReport>,
    /// Tasks whose last attempt was made by a fallback agent.
    pub fallbacks: Vec<FallbackReport>,
    /// The changes of the accepted tasks.
    pub changes: Vec<TaskChangeReport>,
    /// The tasks to look at first, with the reason.
    pub look_first: Vec<LookReport>,
    /// Further remarks for the user.
    pub remarks: Vec<RemarkReport>,
    /// Where work has landed; none if it has not, or tasks share the folder.
    pub landed: Option<LandedReport>,
    pub next: Option<String>,
    /// The command that has a planner change the plan, if a task failed.
    pub replan: Option<String>,
    pub paused: bool,
    /// The newest run of the plan, if there is a later one.
    pub later_run: Option<String>,
}

/// A task to review first.
#[derive(Debug, Serialize)]
pub struct LookReport {
    pub task: String,
    pub why: &'static str,
}

#[derive(Debug, Serialize)]
pub struct LandedReport {
    pub branch: String,
    /// The start commit of the branch.
    pub start: String,
    pub tasks: usize,
    /// The command that shows it.
    pub review: String,
    /// The command that merges it into the checked-out branch; none if it is merged.
    pub land: Option<String>,
    /// The checked-out branch, if `land` has merged all of it there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// Whether the branch no longer exists.
    #[serde(skip)]
    pub is_gone: bool,
}

#[derive(Debug, Serialize)]
pub struct CountsReport {
    pub done: u64,
    pub failed: u64,
    pub skipped: u64,
    pub left: u64,
    pub review: u64,
    pub verified: u64,
    pub unverified: u64,
    /// Done or waiting for review, and no file was changed.
    pub unchanged: u64,
}

/// Tokens sent and received.
#[derive(Debug, Serialize)]
pub struct TokensReport {
    pub input: u64,
    pub output: u64,
}

#[derive(Debug, Serialize)]
pub struct FailedReport {
    pub task: String,
    pub title: Option<String>,
    pub attempts: usize,
    /// The first useful line of the reason.
    pub why: String,
    pub log: String,
    /// The checkout of its last attempt.
    pub checkout: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct SkippedReport {
    pub task: String,
    /// The task that failed.
    pub because: String,
}

#[derive(Debug, Serialize)]
pub struct ReviewReport {
    pub task: String,
    pub title: Option<String>,
    pub approve: String,
    pub reject: String,
    /// The command that shows the work that waits to land.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look: Option<String>,
    /// The files that verify it and that it changed or removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
}

/// The criteria of a task without a rule.
#[derive(Debug, Serialize)]
pub struct CriteriaReport {
    pub task: String,
    pub criteria: Vec<String>,
}

/// A task that did not finish.
#[derive(Debug, Serialize)]
pub struct StoppedReport {
    pub task: String,
    pub why: Option<String>,
    pub log: String,
    /// The checkout of its last attempt.
    pub checkout: Option<String>,
}

/// A task that another process took over while the run worked on it.
#[derive(Debug, Serialize)]
pub struct TakenOverReport {
    pub task: String,
    pub title: Option<String>,
    /// The user, if the history has one.
    pub by: Option<String>,
    /// Its new state.
    pub to: String,
}

/// A task that touched files which it does not declare.
#[derive(Debug, Serialize)]
pub struct DriftReport {
    pub task: String,
    pub files: Vec<String>,
}

/// A task that a fallback agent took.
#[derive(Debug, Serialize)]
pub struct FallbackReport {
    pub task: String,
    pub agent: String,
    pub instead_of: String,
}

/// A remark for the user.
#[derive(Debug, Serialize)]
pub struct RemarkReport {
    pub task: Option<String>,
    pub text: String,
}

impl RunReport {
    /// Sets the status of a run that has not ended.
    pub fn standing(self, standing: &str) -> Self {
        let is_running = standing == "running";
        RunReport {
            standing: standing.to_owned(),
            next: self.next.filter(|_| !is_running),
            // `land` waits for the end of the run.
            landed: self.landed.map(|landed| LandedReport {
                land: landed.land.filter(|_| !is_running),
                ..landed
            }),
            ..self
        }
    }

    /// Sets the command that continues with the present plan, and the later run of the plan.
    pub fn continued(self, next: Option<String>, later_run: Option<String>) -> Self {
        RunReport {
            next,
            later_run,
            ..self
        }
    }

    /// Sets the size of each commit.
    pub(crate) fn with_diffstats(mut self, stats: &BTreeMap<String, Diffstat>) -> Self {
        self.changes.iter_mut().for_each(|change| change.take(stats));
        let weakening = self.changes.iter().filter(|change| change.weakens_tests());
        let is_known = |task: &str| self.look_first.iter().any(|look| look.task == task);
        let new: Vec<LookReport> = weakening
            .filter(|change| !is_known(&change.task))
            .map(|change| LookReport {
                task: change.task.clone(),
                why: "removed lines of tests",
            })
            .collect();
        self.look_first.extend(new);
        self
    }

    /// Sets the branch into which the work was merged.
    pub(crate) fn landed_into(self, branch: String) -> Self {
        let landed = self.landed.map(|landed| LandedReport {
            land: None,
            into: Some(branch),
            ..landed
        });
        RunReport { landed, ..self }
    }

    /// Marks the branch as missing, and sets the command that restores it.
    pub(crate) fn without_branch(self, last_commit: &str) -> Self {
        let landed = self.landed.map(|landed| LandedReport {
            land: None,
            review: format!("git branch {} {last_commit}", argument(&landed.branch)),
            is_gone: true,
            ..landed
        });
        RunReport { landed, ..self }
    }

    pub fn new(setting: &Setting, run_state: &RunState) -> Self {
        let ended = run_state.ended.as_ref();
        let used = ended.and_then(|ended| ended.tokens).or(run_state.spent.tokens);
        let names = |is_one: fn(&TaskRun) -> bool| -> Vec<String> {
            let tasks = accepted(run_state).filter(|task| is_one(task));
            tasks.map(|task| task.task.clone()).collect()
        };
        let (taken_over, stopped) = unfinished(setting, run_state);
        let look_first = look_first(run_state).into_iter();
        let remarks = run_state.remarks.iter();
        RunReport {
            schema_version: "planwright.run/v1",
            run: setting.run.clone(),
            plan: setting.plan.clone(),
            standing: ended.map_or("interrupted", |ended| ended.standing.as_str()).to_owned(),
            why: ended.and_then(|ended| ended.why.clone()),
            counts: CountsReport::new(run_state),
            milliseconds: ended.map(|ended| ended.milliseconds),
            cost_usd: ended.and_then(|ended| ended.cost_usd).or(run_state.spent.cost_usd),
            tokens: used.map(|[input, output]| TokensReport { input, output }),
            failed: failed(setting, run_state),
            skipped: skipped(run_state),
            review: review(setting, run_state),
            unverified: names(|task| !task.is_verified()),
            unverified_criteria: unverified_criteria(run_state),
            unchanged: names(TaskRun::is_unchanged),
            stopped,
            taken_over,
            drift: drift(run_state),
            fallbacks: fallbacks(run_state),
            changes: changes(setting, run_state),
            look_first: look_first.map(|(task, why)| LookReport { task, why }).collect(),
            remarks: remarks
                .map(|noted| RemarkReport {
                    task: noted.task.clone(),
                    text: noted.text.clone(),
                })
                .collect(),
            landed: landed(setting, run_state),
            next: match ended {
                Some(ended) => ended.next.clone(),
                None => Some(setting.plan_command("run")),
            },
            replan: (ended.is_some() && !setting.is_derived)
                .then(|| setting.plan_command("replan"))
                .filter(|_| run_state.tasks().iter().any(|task| task.state == TaskState::Failed)),
            paused: run_state.halt.paused.is_some(),
            later_run: None,
        }
    }
}

/// Returns the tasks that are done or wait for review.
fn accepted(run_state: &RunState) -> impl Iterator<Item = &TaskRun> {
    let is_over = |task: &&TaskRun| matches!(task.current_state(), TaskState::Done | TaskState::Review);
    run_state.tasks().iter().filter(is_over)
}

fn failed(setting: &Setting, run_state: &RunState) -> Vec<FailedReport> {
    let is_failed = |task: &&TaskRun| task.state == TaskState::Failed && task.current_state() == TaskState::Failed;
    let failed = run_state.tasks().iter().filter(is_failed);
    let failed = failed.map(|task| FailedReport {
        task: task.task.clone(),
        title: setting.titles.get(&task.task).cloned(),
        attempts: task.n_tries(),
        why: why_of(task),
        log: log_command(setting, task),
        checkout: checkout_of(task),
    });
    failed.collect()
}

fn skipped(run_state: &RunState) -> Vec<SkippedReport> {
    let skipped = run_state.tasks().iter().filter_map(|task| match &task.state {
        TaskState::Skipped { because } => Some(SkippedReport {
            task: task.task.clone(),
            because: because.clone(),
        }),
        _ => None,
    });
    skipped.collect()
}

fn review(setting: &Setting, run_state: &RunState) -> Vec<ReviewReport> {
    let waiting = run_state.tasks().iter();
    let waiting = waiting.filter(|task| task.current_state() == TaskState::Review);
    let waiting = waiting.map(|task| {
        let held = task.held.as_deref();
        let kept = task.last().and_then(|last| last.landing.candidate.as_ref());
        let candidate = held.map(|held| &held.candidate).or(kept);
        let commit = held.map(|held| short_commit(&held.candidate.commit));
        ReviewReport {
            task: task.task.clone(),
            title: setting.titles.get(&task.task).cloned(),
            approve: setting.task_command("approve", &task.task, ""),
            reject: setting.task_command("reject", &task.task, "--note \"…\""),
            look: commit.map(|commit| format!("git show {commit}")),
            protected: candidate.map_or_else(Vec::new, |candidate| candidate.protected.clone()),
        }
    });
    waiting.collect()
}

/// Returns the unfinished tasks: those that another process took over, and the rest.
fn unfinished(setting: &Setting, run_state: &RunState) -> (Vec<TakenOverReport>, Vec<StoppedReport>) {
    let is_stopped = |task: &&TaskRun| matches!(task.state, TaskState::Stopped | TaskState::Interrupted);
    let (mut taken_over, mut stopped) = (Vec::new(), Vec::new());
    for task in run_state.tasks().iter().filter(is_stopped) {
        match &task.taken_over {
            Some(moved) => taken_over.push(TakenOverReport {
                task: task.task.clone(),
                title: setting.titles.get(&task.task).cloned(),
                by: moved.by.clone(),
                to: moved.to.clone(),
            }),
            None => stopped.push(StoppedReport {
                task: task.task.clone(),
                why: task.why().and_then(first_useful_line),
                log: setting.log_command(&task.task, ""),
                checkout: checkout_of(task),
            }),
        }
    }
    (taken_over, stopped)
}

fn unverified_criteria(run_state: &RunState) -> Vec<CriteriaReport> {
    let unverified = accepted(run_state).filter_map(|task| {
        let criteria = task.last().map(|last| last.verification.unverified.clone())?;
        (!criteria.is_empty()).then(|| CriteriaReport {
            task: task.task.clone(),
            criteria,
        })
    });
    unverified.collect()
}

fn drift(run_state: &RunState) -> Vec<DriftReport> {
    let drifted = run_state.tasks().iter().filter(|task| !task.results.drift.is_empty());
    let drifted = drifted.map(|task| DriftReport {
        task: task.task.clone(),
        files: task.results.drift.clone(),
    });
    drifted.collect()
}

fn fallbacks(run_state: &RunState) -> Vec<FallbackReport> {
    let fallbacks = run_state.tasks().iter().filter_map(|task| {
        let last = task.last()?;
        Some(FallbackReport {
            task: task.task.clone(),
            agent: last.agent.clone(),
            instead_of: last.instead_of.clone()?,
        })
    });
    fallbacks.collect()
}

/// Returns the command that shows why a task failed: the log of its failed verification, otherwise that of its agent.
pub(crate) fn log_command(setting: &Setting, task: &TaskRun) -> String {
    let option = match task.last().and_then(|last| last.verification.passed) {
        Some(false) => "--checks",
        _ => "",
    };
    setting.log_command(&task.task, option)
}

fn landed(setting: &Setting, run_state: &RunState) -> Option<LandedReport> {
    let conditions = run_state.settings.fixed.as_ref()?;
    let has_landed = |task: &&TaskRun| task.landed().is_some_and(|landed| landed.commit.is_some());
    let tasks = run_state.tasks().iter().filter(has_landed).count();
    // The branch began with work of earlier runs.
    let has_earlier = conditions.uncommitted.is_none() && conditions.start != conditions.base;
    let start = short_commit(&conditions.start).to_owned();
    let base = short_commit(&conditions.base);
    (tasks > 0 || has_earlier).then(|| LandedReport {
        review: match conditions.uncommitted {
            // The branch has the uncommitted work as well, and `land` omits it.
            Some(_) => setting.plan_command("land --dry-run"),
            // Everything that `land` would merge, including work of earlier runs.
            None => format!("git diff {base}...{}", argument(&conditions.branch)),
        },
        land: (!conditions.is_current).then(|| setting.plan_command("land")),
        into: None,
        is_gone: false,
        branch: conditions.branch.clone(),
        start,
        tasks,
    })
}

impl CountsReport {
    /// The record of the run's end takes precedence over the sums of its records: it knows the whole plan.
    fn new(run_state: &RunState) -> Self {
        let TaskCounts {
            n_done,
            n_failed,
            n_skipped,
            n_review,
            n_unverified,
            n_unchanged,
            ..
        } = run_state.counts;
        let (done, failed, skipped, left) = match &run_state.ended {
            Some(ended) => (ended.n_done, ended.n_failed, ended.n_skipped, ended.n_left),
            None => (n_done, n_failed, n_skipped, run_state.n_left()),
        };
        // What waits for a review may have changed what verified it.
        let verified = accepted(run_state).filter(|task| task.current_state() == TaskState::Done && task.is_verified());
        CountsReport {
            done,
            failed,
            skipped,
            left,
            review: n_review,
            verified: verified.count() as u64,
            unverified: n_unverified,
            unchanged: n_unchanged,
        }
    }
}

/// Returns the checkout of the last attempt at a task; none if its work has landed.
fn checkout_of(task: &TaskRun) -> Option<String> {
    let last = task.last()?;
    last.checkout.folder.clone().filter(|_| last.landed().is_none())
}

/// Returns the sizes of a run's commits; empty if git cannot answer.
pub fn diffstats(root: &Path, run_state: &RunState) -> BTreeMap<String, Diffstat> {
    let stats = || {
        let conditions = run_state.settings.fixed.as_ref()?;
        let last = run_state.last_landed_commit()?;
        let repository = Repository::around(root).ok().flatten()?;
        let tip = repository.tip(&conditions.branch).ok().flatten();
        repository
            .diffstats(&conditions.start, tip.as_deref().unwrap_or(last))
            .ok()
    };
    stats().unwrap_or_default()
}
