//! From a candidate to a commit on the branch of a run: replays, commits, moves of the branch.

use std::path::Path;

use super::super::RunError;
use super::super::branch_choice::failed;
use super::super::drift;
use super::super::own_files::OwnFiles;
use super::LandingSite;
use crate::config::LandingStyle;
use crate::git::{
    Candidate, FolderIdentity, GitError, Replay, ReplayConflict, SnapshotRequest, message_of_uncommitted, subject,
    with_trailers,
};
use crate::runs::Receipt;
use crate::shell::command_line;

/// A candidate on top of a commit, as it would land.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Replayed {
    pub(in super::super) onto: String,
    /// A commit with the tree that would land. It is on no branch; the commit that lands has the receipts in addition.
    pub(in super::super) commit: String,
    pub(in super::super) tree: String,
}

pub(in super::super) enum Replaying {
    Clean(Replayed),
    Conflict(ReplayConflict),
}

pub(in super::super) struct CommitAttribution<'a> {
    pub(in super::super) task: &'a str,
    pub(in super::super) title: &'a str,
    pub(in super::super) agent: &'a str,
    pub(in super::super) attempt: u32,
    pub(in super::super) receipts: &'a [Receipt],
}

impl LandingSite {
    /// Commits the user's uncommitted work below all work of the run.
    pub(super) fn take_uncommitted(&mut self) -> Result<Option<String>, RunError> {
        let top = self.repository.toplevel().to_owned();
        let lost = || failed(GitError::LostCheckout(top.clone()));
        let identity = FolderIdentity::of(&top).ok_or_else(lost)?;
        let checkout = self
            .places
            .checkouts
            .find(&top, &identity, &self.conditions.base)
            .map_err(failed)?;
        let reference = format!("uncommitted/{}", self.run);
        let message = message_of_uncommitted(&self.run);
        let own = self.own.clone();
        let request = SnapshotRequest {
            message: &message,
            reference: &reference,
            is_own: &|path| own.contains(path),
            copied: &[],
            prepared: None,
            named: &[],
            keep_ignored: &[],
        };
        let taken = self.places.checkouts.snapshot(&checkout, &request).map_err(failed)?;
        if taken.is_empty() {
            return Ok(None);
        }
        let base = self.repository.tree_of(&self.conditions.base).map_err(failed)?;
        let start = self.repository.tree_of(&self.conditions.start).map_err(failed)?;
        let replayed = self
            .repository
            .replay(&base, &taken.tree, &start, &self.place.root)
            .map_err(failed)?;
        let Replay::Clean { tree } = replayed else {
            return Err(RunError::refused(
                format!(
                    "the uncommitted work conflicts with what is on `{}` already",
                    self.target.name()
                ),
                "commit it, or land the branch first: `planwright land`",
            ));
        };
        let start = self.conditions.start.clone();
        let commit = self
            .repository
            .commit_tree(&tree, &[&start], &message)
            .map_err(failed)?;
        self.target
            .advance(&start, &commit, "planwright: uncommitted work")
            .map_err(failed)?;
        self.conditions.start.clone_from(&commit);
        self.conditions.uncommitted = Some(commit);
        Ok(Some(
            "uncommitted work is included; `planwright land` leaves it out".to_owned(),
        ))
    }

    /// Converts paths from the top of the repository to paths from the workspace.
    pub(in super::super) fn below(&self, paths: &[String]) -> Vec<String> {
        drift::below(paths.to_vec(), self.repository.prefix())
    }

    /// Replays a candidate on the tree of the commit `below`, and keeps the result alive.
    pub(in super::super) fn replay(
        &self,
        task: &str,
        candidate: &Candidate,
        below: &str,
        onto: &str,
        attributes: Option<&Path>,
    ) -> Result<Replaying, GitError> {
        let base = self.repository.tree_of(&candidate.base)?;
        let attributes = attributes.unwrap_or(&self.place.root);
        match self.repository.replay(&base, &candidate.tree, onto, attributes)? {
            Replay::Clean { tree } => {
                let commit = match tree == onto {
                    true => below.to_owned(),
                    false => self
                        .repository
                        .commit_tree(&tree, &[below], "A candidate that is being verified")?,
                };
                // From here on, `git gc` cannot remove it.
                self.repository.keep(&self.replay_name(task), &commit)?;
                self.repository.require_whole(&commit, below)?;
                Ok(Replaying::Clean(Replayed {
                    onto: onto.to_owned(),
                    commit,
                    tree,
                }))
            }
            Replay::Conflict(conflict) => Ok(Replaying::Conflict(conflict)),
        }
    }

    /// Makes the commit that lands: the verified tree on the tip of the branch.
    pub(in super::super) fn final_commit(
        &self,
        tip: &str,
        replayed: &Replayed,
        candidate: &Candidate,
        credit: &CommitAttribution<'_>,
    ) -> Result<String, GitError> {
        let title = match subject(credit.title) {
            title if title.is_empty() => subject(credit.task),
            title => format!("{}: {title}", subject(credit.task)),
        };
        let mut trailers = vec![
            ("Planwright-Task", credit.task.to_owned()),
            ("Planwright-Title", credit.title.to_owned()),
            ("Planwright-Agent", credit.agent.to_owned()),
            ("Planwright-Run", self.run.clone()),
            ("Planwright-Attempt", credit.attempt.to_string()),
        ];
        for receipt in credit.receipts {
            let words = format!(
                "{} ({}, output {})",
                command_line(&receipt.command),
                receipt.exit,
                receipt.digest
            );
            trailers.push(("Planwright-Verified", words));
        }
        let message = with_trailers(&title, &trailers);
        let mut parents = vec![tip];
        if self.style == LandingStyle::Merge && candidate.commit != candidate.base {
            parents.push(&candidate.commit);
        }
        self.repository.commit_tree(&replayed.tree, &parents, &message)
    }

    /// Moves the branch forward atomically.
    pub(in super::super) fn advance(&self, from: &str, to: &str, task: &str) -> Result<(), GitError> {
        let why = format!("planwright: land {}", subject(task));
        if self.conditions.is_current {
            // Another plan of the workspace may have started a run in the meantime.
            let own = OwnFiles::of(&self.place, &self.repository);
            return self.target.advance_checkout(from, to, &why, &|path| own.contains(path));
        }
        // Another run that ended may have removed the worktree that holds it.
        self.target.require_unused()?;
        self.target.hold()?;
        self.target.advance(from, to, &why)
    }

    /// Returns the tasks whose commits are no longer on the branch.
    pub(in super::super) fn not_on_branch<'t>(&self, landed: &[(&'t str, &str)]) -> Result<Vec<&'t str>, GitError> {
        if landed.is_empty() {
            return Ok(Vec::new());
        }
        let there = match self.target.tip()? {
            Some(tip) => self.repository.ids_beyond(&tip, &self.conditions.base)?,
            None => Vec::new(),
        };
        let is_gone = |(_, commit): &&(&str, &str)| !there.iter().any(|id| id == commit);
        Ok(landed.iter().filter(is_gone).map(|(task, _)| *task).collect())
    }
}
