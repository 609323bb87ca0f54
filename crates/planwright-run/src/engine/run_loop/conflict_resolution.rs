//! Resolves conflicts: a candidate that conflicts with landed work returns to its agent. It keeps all work and costs no attempt.

use std::collections::HashMap;
use std::time::Duration;

use planwright_core::schedule::ScheduleEvent;

use super::super::RunError;
use super::super::attempt::{AgentEndReason, AttemptCheck, RunningAttempt};
use super::super::landing_site::{LandingSite, Replaying};
use super::super::naming::listed;
use super::RunLoop;
use super::checkouts::{short, title_of, words};
use super::landing::LandingError;
use super::results::AttemptFailure;
use crate::git::{Candidate, GitError, TaskCheckout};
use crate::runs::{ConflictRecord, LandingEndRecord, RunEvent};

/// The size limit of each side's diff in the prompt, in bytes.
const MAX_DIFF_BYTES: usize = 24 * 1024;

/// The conflicts that the next attempts of tasks resolve.
#[derive(Default)]
pub(super) struct Conflicts {
    open: HashMap<u32, Conflict>,
}

#[derive(Clone)]
pub(super) struct Conflict {
    /// The number of the next attempt to resolve conflicts of the task.
    pub(super) resolution: u32,
    pub(super) prompt: String,
    /// The agent's id of the session in which it made its side.
    pub(super) session: Option<String>,
}

impl Conflicts {
    pub(super) fn get(&self, task: u32) -> Option<&Conflict> {
        self.open.get(&task)
    }

    pub(super) fn close(&mut self, task: u32) {
        self.open.remove(&task);
    }

    pub(super) fn renumber(&mut self, new_of: &HashMap<u32, u32>) {
        super::renumber(&mut self.open, new_of);
    }
}

impl RunLoop<'_> {
    /// Handles a conflict of the first candidate in the queue with the branch.
    pub(super) fn conflicted(
        &mut self,
        mut attempt: RunningAttempt,
        checking: Box<AttemptCheck>,
        candidate: Candidate,
        tip: &str,
    ) -> Result<(), LandingError> {
        let Some(site) = self.folders.workplace.site() else {
            return Ok(());
        };
        let onto = site.repository().tree_of(tip)?;
        let checkout = attempt.location.checkout_folder();
        let replayed = site.replay(&attempt.name, &candidate, tip, &onto, checkout)?;
        let Replaying::Conflict(conflict) = replayed else {
            // The branch has changed since: the candidate applies now.
            return Ok(self.land(attempt, checking, candidate)?);
        };
        if self.request.options.lands_only {
            let why = format!(
                "it conflicts with what has landed, in {}: `planwright run` gives it back to its agent",
                listed(&conflict.paths)
            );
            self.leave(attempt.task, &why)?;
            attempt.ending = Some(AgentEndReason::TakenAway);
            return Ok(self.interrupted(attempt, None)?);
        }
        let n_before = self.n_resolutions(&attempt);
        let brought = match n_before < self.request.config.run.retry.resolutions {
            true => {
                let checkout = checkout_for_conflict(site, &attempt, &candidate)?;
                Some(site.bring_conflict(&checkout, &candidate, tip, &conflict)?)
            }
            false => None,
        };
        let resolution = brought.as_ref().map(|_| n_before + 1);
        self.record(RunEvent::Conflicted(ConflictRecord {
            task: attempt.name.clone(),
            attempt: attempt.number,
            files: conflict.paths.clone(),
            onto: tip.to_owned(),
            tree: conflict.tree,
            labels: conflict.labels.to_vec(),
            resolution,
        }))?;
        let paths = conflict.paths;
        let (Some(checkout), Some(resolution)) = (brought, resolution) else {
            return Ok(self.not_landed(attempt, &candidate, &paths)?);
        };
        let prompt = self.conflict_prompt(&attempt, &candidate, tip, &paths)?;
        let session = checking.conclusion.session.clone();
        self.landing.conflicts.open.insert(
            attempt.task,
            Conflict {
                resolution,
                prompt,
                session,
            },
        );
        self.folders.checkouts.keep(attempt.task, checkout);
        let why = format!("it conflicts with what has landed, in {}", listed(&paths));
        self.resolve_next(&attempt, &why);
        Ok(())
    }

    /// Returns the number of attempts to resolve conflicts of a task.
    fn n_resolutions(&self, attempt: &RunningAttempt) -> u32 {
        let task = self.state().task_of_attempt(&attempt.name, attempt.number);
        let made = task.into_iter().flat_map(|task| &task.attempts);
        made.filter_map(|attempt| attempt.landing.resolution).max().unwrap_or(0)
    }

    /// Handles a failed attempt to resolve a conflict: the next one gets the same conflict, up to a limit.
    pub(super) fn not_resolved(&mut self, mut attempt: RunningAttempt, why: &AttemptFailure) -> Result<(), RunError> {
        let n_made = self.n_resolutions(&attempt);
        if n_made >= self.request.config.run.retry.resolutions || self.tasks.schedule.stop().is_some() {
            self.landing.conflicts.open.remove(&attempt.task);
            return self.fail(attempt, why, false);
        }
        if let Some(conflict) = self.landing.conflicts.open.get_mut(&attempt.task) {
            conflict.resolution = n_made + 1;
            conflict.session = None;
        }
        self.keep_checkout(&mut attempt)?;
        self.resolve_next(&attempt, &why.text());
        Ok(())
    }

    /// Has the same agent take the task again at once.
    fn resolve_next(&mut self, attempt: &RunningAttempt, why: &str) {
        let task = attempt.task;
        self.attempts.free_slot(attempt);
        self.agents.fallbacks.continue_with(task, &attempt.agent);
        self.waits.rests.plan(task, Duration::ZERO, why.to_owned());
        self.happened(ScheduleEvent::Deferred { task });
    }

    /// Fails a task whose conflict is not returned any more, and keeps its work.
    fn not_landed(&mut self, attempt: RunningAttempt, candidate: &Candidate, paths: &[String]) -> Result<(), RunError> {
        let branch = self.folders.workplace.branch().to_owned();
        let why = format!(
            "it conflicts with what has landed on `{branch}`, in {}; its work is commit {}",
            listed(paths),
            short(&candidate.commit)
        );
        self.record(RunEvent::LandingEnded(LandingEndRecord {
            task: attempt.name.clone(),
            attempt: attempt.number,
            branch,
            passed: false,
            why: Some(why.clone()),
            ..LandingEndRecord::default()
        }))?;
        self.failed(attempt, &AttemptFailure::Other(why), false)
    }

    /// Returns what the agent must know: the purpose and the changes of both sides.
    fn conflict_prompt(
        &self,
        attempt: &RunningAttempt,
        candidate: &Candidate,
        tip: &str,
        paths: &[String],
    ) -> Result<String, GitError> {
        let Some(site) = self.folders.workplace.site() else {
            return Ok(String::new());
        };
        let own = site
            .repository()
            .patch(&candidate.base, &candidate.commit, MAX_DIFF_BYTES)?;
        let theirs = site.repository().patch(&candidate.base, tip, MAX_DIFF_BYTES)?;
        let landed = site.repository().commits_beyond(tip, &candidate.base)?;
        let landed: Vec<String> = landed.iter().map(|(_, subject)| format!("- {subject}")).collect();
        let title = title_of(self.snapshot.plan(), attempt.task);
        // Agents wrote both sides, and prompts are stored.
        let redaction = self.agents.chosen.redaction();
        Ok(format!(
            "## Resolve a conflict\n\n\
             You have finished this task before. Since then other work has landed that changes the same places. Your folder holds \
             both now: it builds on what has landed, and the files below have conflict markers. Edit them so that both purposes are \
             met, and remove the markers. A file that can have no markers (binary, or removed or renamed on one side) is as it has landed: \
             make it what it should be. Remove files whose name ends in `~` and an id. Do not undo the other work. Do not begin the task \
             anew.\n\n\
             Files with conflicts:\n\n{}\n\n\
             What you did is for: {title}\n\n\
             What has landed since is for:\n\n{}\n\n\
             ### What you changed\n\n{}\n\n### What has landed since\n\n{}\n",
            paths
                .iter()
                .map(|path| format!("- {}", redaction.text(path)))
                .collect::<Vec<_>>()
                .join("\n"),
            landed.join("\n"),
            fenced(&redaction.text(&own)),
            fenced(&redaction.text(&theirs)),
        ))
    }

    /// Returns why a candidate does not resolve the last conflict of a task, in words.
    pub(super) fn unresolved(&self, attempt: &RunningAttempt, candidate: Option<&Candidate>) -> Option<String> {
        let task = self.state().task(&attempt.name)?;
        let last = task
            .attempts
            .iter()
            .rev()
            .find_map(|attempt| attempt.landing.conflict.as_ref())?;
        let (site, candidate) = (self.folders.workplace.site()?, candidate?);
        if last.tree.is_empty() {
            // The log is of an earlier version of planwright.
            return None;
        }
        if candidate.tree == last.tree {
            return Some(format!("it did not resolve the conflict in {}", listed(&last.files)));
        }
        let repository = site.repository();
        match repository.unresolved(&candidate.tree, &last.tree, &last.files, &last.labels) {
            Ok(left) if left.is_empty() => None,
            Ok(left) => Some(format!("it left conflict markers in {}", listed(&left))),
            Err(error) => Some(format!(
                "whether it resolved the conflict is unknown: {}",
                words(&error)
            )),
        }
    }
}

/// Returns a text in a code fence that the text cannot close.
fn fenced(text: &str) -> String {
    let mut longest = 2;
    let mut current = 0;
    for c in text.chars() {
        current = if c == '`' { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence}diff\n{}\n{fence}", text.trim_end())
}

/// Returns the checkout in which a conflict is resolved: the attempt's own, or a new one if that is gone.
fn checkout_for_conflict(
    site: &LandingSite,
    attempt: &RunningAttempt,
    candidate: &Candidate,
) -> Result<TaskCheckout, GitError> {
    let own = attempt.location.checkout.as_ref();
    match own.filter(|checkout| checkout.require_identity().is_ok()) {
        Some(own) => Ok(own.clone()),
        None => site.make_again(&attempt.name, attempt.number, candidate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_cannot_end_its_fence() {
        assert_eq!(fenced("+x\n"), "```diff\n+x\n```");
        assert_eq!(fenced("+````\n"), "`````diff\n+````\n`````");
    }
}
