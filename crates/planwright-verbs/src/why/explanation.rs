//! What the text of `why` says beyond its JSON: how the task stands, the chain of what it waits for, and what finishing it brings.

use std::collections::HashSet;
use std::path::Path;

use planwright_core::edit::skipped_for_failures_of;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Plan, Readiness, StartVerdict, Status, Wait};
use planwright_run::runs::state::RunState;
use planwright_run::shell::task_command;

use crate::plans::{OpenedPlan, ShownState, failure_words, wait_words};
use crate::run_history::{Setting, after_failure, denial_words, log_command, why_failed};
use crate::text::one_line;

/// Why a task is in its state, to be put into words.
pub struct Explanation {
    /// The first line of the task's title.
    pub title: String,
    pub state: ShownState,
    pub headline: WhyHeadline,
    pub failures: Option<FailedAttempts>,
    /// Why it may not be worked on although nothing is left that it waits for.
    pub obstacle: Option<String>,
    /// What it waits for, each followed by what that waits for. At most `MAX_WAITS`.
    pub waits: Vec<WaitStep>,
    pub outlook: Outlook,
    /// The commands that help, the best first.
    pub commands: Vec<String>,
}

/// What there is to say first.
pub enum WhyHeadline {
    Ready,
    /// It waits for nothing, and `obstacle` says why it may not be worked on.
    Closed,
    /// `waits_for` has the reasons.
    Waits,
    Blocked {
        reason: String,
    },
    UnknownStatus {
        word: String,
    },
    /// Marked as done, where a proof is required and missing.
    Unproven,
    /// That it failed and why, in words.
    Failed {
        words: String,
    },
    /// Left running by a run that was interrupted.
    Interrupted {
        reason: Option<String>,
    },
    Skipped {
        word: &'static str,
        /// Words that follow it.
        cause: String,
    },
    /// Any other state, by the dialect's word.
    Other {
        word: &'static str,
        reason: Option<String>,
    },
}

/// The failed attempts of a task, as the run that failed it recorded them.
pub struct FailedAttempts {
    /// The number and the reason of each, the newest first.
    pub attempts: Vec<(u32, String)>,
    /// That the fence may be why the last one failed.
    pub denial: Option<String>,
}

/// Something that a task waits for, directly or through others.
pub struct WaitStep {
    /// How many tasks are between, and one.
    pub depth: usize,
    pub words: String,
    /// The first line of the title of the task that is waited for.
    pub title: Option<String>,
    pub repeat: WaitRepeat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitRepeat {
    /// What it waits for follows.
    First,
    /// What it waits for is above.
    Again,
    /// It is the task that was asked about.
    Cycle,
}

/// What would follow if the task was done.
pub enum Outlook {
    /// No task depends on it.
    NoDependent,
    /// All tasks that depend on it are over.
    NoOpenTask,
    /// These tasks were skipped because it failed.
    SkippedForIt(Vec<String>),
    /// These tasks wait until it is proven.
    ForProof(Vec<String>),
    /// `n_behind` tasks wait for it, and `unblocks` would be ready.
    Open,
}

/// Each line names a task that can be asked about on its own, so longer chains are cut.
const MAX_WAITS: usize = 600;

/// The run that marked a task as failed.
pub(super) struct FailedRun {
    pub(super) id: String,
    pub(super) state: RunState,
}

/// A task that is explained, and everything that is known of it.
pub(super) struct Explained<'e> {
    pub(super) opened: &'e OpenedPlan,
    pub(super) linked: &'e LinkedPlan,
    pub(super) readiness: &'e Readiness<'e>,
    pub(super) task_ix: usize,
    /// Why it is skipped, in words that follow "skipped".
    pub(super) skip_cause: Option<String>,
    pub(super) failed_run: Option<FailedRun>,
}

impl Explained<'_> {
    pub(super) fn explanation(self, n_behind: usize) -> Explanation {
        let (plan, task_ix) = (&self.linked.plan, self.task_ix);
        let mut commands = Vec::new();
        let failures = self.failures(&mut commands);
        commands.extend(self.next_step());
        Explanation {
            title: plan.task_subject(&plan.tasks()[task_ix]).to_owned(),
            state: ShownState::of(plan, self.readiness, task_ix),
            failures,
            obstacle: self.opened.access.obstacle(task_ix),
            waits: self.waits(),
            outlook: self.outlook(n_behind),
            commands,
            headline: self.headline(),
        }
    }

    fn headline(self) -> WhyHeadline {
        let (plan, task_ix, access) = (&self.linked.plan, self.task_ix, &self.opened.access);
        let status = match self.readiness.verdict(task_ix) {
            StartVerdict::Ready if access.obstacle(task_ix).is_some() => return WhyHeadline::Closed,
            StartVerdict::Ready => return WhyHeadline::Ready,
            StartVerdict::Waits(_) => return WhyHeadline::Waits,
            StartVerdict::NotPending(status) => status,
        };
        let word = plan.lifecycle.word(status);
        let recorded = || self.opened.reasons.recorded(plan, task_ix).map(one_line);
        match status {
            Status::Blocked(reason) => WhyHeadline::Blocked {
                reason: plan.str(reason).to_owned(),
            },
            Status::Unknown(word) => WhyHeadline::UnknownStatus {
                word: plan.str(word).to_owned(),
            },
            Status::Skipped => WhyHeadline::Skipped {
                word,
                cause: self.skip_cause.unwrap_or_default(),
            },
            Status::Done if access.missing_proof(task_ix).is_some() => WhyHeadline::Unproven,
            Status::Failed => WhyHeadline::Failed {
                words: failure_words(self.opened.reasons.of_failure(plan, task_ix)),
            },
            Status::Running => {
                let name = plan.task_name(task_ix);
                let reason = access.holder_words(&name).or_else(recorded);
                match access.is_interrupted(&name) {
                    true => WhyHeadline::Interrupted { reason },
                    false => WhyHeadline::Other { word, reason },
                }
            }
            _ => WhyHeadline::Other {
                word,
                reason: recorded(),
            },
        }
    }

    /// Returns how a run failed the task, and adds the command that shows what the last attempt printed.
    fn failures(&self, commands: &mut Vec<String>) -> Option<FailedAttempts> {
        let run = self.failed_run.as_ref()?;
        let task = run.state.task(&self.linked.plan.task_name(self.task_ix))?;
        let mut setting = Setting::of(Path::new(&self.opened.path), self.linked);
        setting.run = run.id.clone();
        commands.push(log_command(&setting, task));
        let attempts = task.attempts.iter().rev();
        Some(FailedAttempts {
            attempts: attempts.map(|attempt| (attempt.attempt, why_failed(attempt))).collect(),
            denial: task.last().and_then(denial_words),
        })
    }

    /// Returns the command that continues after a failure, or that explains the failure for which the task is skipped.
    fn next_step(&self) -> Option<String> {
        let (plan, path) = (&self.linked.plan, &self.opened.path);
        if plan.tasks()[self.task_ix].status == Status::Failed {
            return Some(after_failure(plan, Path::new(path)));
        }
        let cause = *skipped_for_failures_of(plan, self.task_ix).first()?;
        Some(task_command("why", cause, path, ""))
    }

    /// Follows what the task waits for down to the root.
    fn waits(&self) -> Vec<WaitStep> {
        let plan = &self.linked.plan;
        let mut seen = HashSet::from([self.task_ix]);
        let mut steps = Vec::new();
        let mut stack: Vec<(usize, Wait)> = self.waits_of(self.task_ix).map(|wait| (1, wait)).collect();
        while let Some((depth, wait)) = stack.pop() {
            if steps.len() == MAX_WAITS {
                break;
            }
            let target = match wait {
                Wait::For { task_ix, .. } | Wait::ForStage { task_ix } => Some(task_ix),
                Wait::ForUnknown { .. } | Wait::Held => None,
            };
            let repeat = match target {
                Some(ix) if ix == self.task_ix => WaitRepeat::Cycle,
                Some(ix) if !seen.insert(ix) => WaitRepeat::Again,
                _ => WaitRepeat::First,
            };
            steps.push(WaitStep {
                depth,
                words: wait_words(plan, wait),
                title: target.map(|ix| plan.task_subject(&plan.tasks()[ix]).to_owned()),
                repeat,
            });
            if let Some(target) = target.filter(|_| repeat == WaitRepeat::First) {
                stack.extend(self.waits_of(target).map(|wait| (depth + 1, wait)));
            }
        }
        steps
    }

    /// Returns what a task waits for, the last reason first.
    fn waits_of(&self, task_ix: usize) -> impl Iterator<Item = Wait> + use<> {
        let waits = match self.readiness.verdict(task_ix) {
            StartVerdict::Waits(waits) => waits,
            _ => Vec::new(),
        };
        waits.into_iter().rev()
    }

    fn outlook(&self, n_behind: usize) -> Outlook {
        let (plan, links, task_ix) = (&self.linked.plan, &self.linked.links, self.task_ix);
        if self.opened.access.missing_proof(task_ix).is_some() {
            let depends = |ix: usize| links.of(ix).iter().any(|edge| edge.to as usize == task_ix);
            let waiting = names(plan, |ix| depends(ix) && plan.tasks()[ix].status == Status::Pending);
            return match waiting.is_empty() {
                true => Outlook::NoDependent,
                false => Outlook::ForProof(waiting),
            };
        }
        if n_behind > 0 {
            return Outlook::Open;
        }
        if links.reversed().of(task_ix).is_empty() {
            return Outlook::NoDependent;
        }
        let own = plan.task_name(task_ix);
        let skipped = names(plan, |ix| skipped_for_failures_of(plan, ix).contains(&&*own));
        match skipped.is_empty() {
            true => Outlook::NoOpenTask,
            false => Outlook::SkippedForIt(skipped),
        }
    }
}

/// Returns the names of the tasks that fit.
fn names(plan: &Plan, fits: impl Fn(usize) -> bool) -> Vec<String> {
    let fitting = (0..plan.tasks().len()).filter(|&ix| fits(ix));
    fitting.map(|ix| plan.task_name(ix).into_owned()).collect()
}
