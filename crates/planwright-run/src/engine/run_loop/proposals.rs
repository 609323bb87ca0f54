//! Tasks that agents propose: held for approval, or added to the plan.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};

use planwright_core::dialect::id_source::IdSource;

use super::super::RunError;
use super::super::attempt::RunningAttempt;
use super::super::status_updates::why;
use super::RunLoop;
use crate::clock;
use crate::proposals::{Proposal, hold};
use crate::revise::{ChangeTarget, VersionContent, VersionRequest, new_version_of};
use crate::runs::RemarkKind;

const MAX_PROPOSED: usize = 50;

impl RunLoop<'_> {
    pub(super) fn propose(&mut self, attempt: &RunningAttempt, tasks: &[String]) -> Result<(), RunError> {
        if tasks.is_empty() {
            return Ok(());
        }
        if tasks.len() > MAX_PROPOSED {
            let text = format!(
                "it proposes {} tasks, more than {MAX_PROPOSED}: they are ignored",
                tasks.len()
            );
            return self.remark_kind(Some(attempt.task), RemarkKind::Proposed, text);
        }
        let accepts = self.request.options.flags.accept_proposals;
        let text = match self.grow(attempt, tasks, !accepts) {
            Err(why) => format!("{} cannot be added to the plan: {why}", counted(tasks.len())),
            Ok(()) if accepts => format!("added {} to the plan", counted(tasks.len())),
            Ok(()) => self.hold_proposal(attempt, tasks),
        };
        self.remark_kind(Some(attempt.task), RemarkKind::Proposed, text)
    }

    /// Adds tasks to the plan, or tests whether they could be added. The run then follows the change like any other edit.
    fn grow(&mut self, attempt: &RunningAttempt, tasks: &[String], dry: bool) -> Result<(), String> {
        let now = clock::now();
        let mut fresh = fresh;
        let mut id_source = IdSource::new(now.as_str(), &mut fresh);
        let target = ChangeTarget {
            path: self.snapshot.path(),
            forced: self.snapshot.forced(),
            dry,
        };
        let reasoning = format!("proposed by `{}`", attempt.name);
        let request = VersionRequest {
            matter: VersionContent::More(tasks),
            by: &attempt.agent,
            reasoning: &reasoning,
            now: &now,
            on: None,
        };
        new_version_of(target, &request, &mut id_source)
            .map(drop)
            .map_err(|error| why(&error))
    }

    fn hold_proposal(&self, attempt: &RunningAttempt, tasks: &[String]) -> String {
        let proposal = Proposal {
            by: attempt.agent.clone(),
            time: clock::now(),
            task: Some(attempt.name.clone()),
            tasks: tasks.to_vec(),
            ..Proposal::default()
        };
        match hold(self.snapshot.path(), &proposal) {
            Ok(_) => format!(
                "it proposes {}: `planwright approve --proposed {}` adds it to the plan",
                counted(tasks.len()),
                self.snapshot.path().display()
            ),
            Err(error) => format!("what it proposes could not be kept: {error}"),
        }
    }
}

/// Returns 128 random bits.
fn fresh() -> u128 {
    let half = || u128::from(RandomState::new().build_hasher().finish());
    (half() << 64) | half()
}

fn counted(n_tasks: usize) -> String {
    match n_tasks {
        1 => "a new task".to_owned(),
        n => format!("{n} new tasks"),
    }
}
