//! The checkouts of a run's tasks, and the refs that keep their work alive.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::LandingSite;
use crate::config::Command;
use crate::git::{Candidate, CheckoutSlot, FolderIdentity, GitError, ReplayConflict, SnapshotRequest, TaskCheckout};
use crate::layout::PlanKey;
use crate::preparation::SlotError;
use crate::runs::state::AttemptRun;

impl LandingSite {
    /// Returns the start commit of a task: the tip of the branch. A deleted branch is only an error when work lands.
    fn base(&self) -> Result<String, GitError> {
        match self.tip() {
            Err(GitError::NoBranch(_)) => Ok(self.last_tip.borrow().clone()),
            tip => tip,
        }
    }

    /// Creates a checkout for a task, with all landed work.
    pub(in super::super) fn make(&self, task: &str, attempt: u32) -> Result<TaskCheckout, GitError> {
        let name = format!("{}.{attempt}", PlanKey::of(task));
        let base = self.base()?;
        // The user may rewrite the branch and run `git gc` while the task is at work.
        self.repository.keep(&self.base_name(task), &base)?;
        let checkout = self.places.checkouts.create(&name, &base)?;
        let copied = self
            .places
            .preparation
            .copy_into(&self.place.root, &self.root_in(checkout.path()));
        let copied = copied.map_err(path_error(checkout.path()));
        let mixed: Vec<String> = self
            .places
            .preparation
            .mixed
            .iter()
            .map(|path| self.seen_from_top(path))
            .collect();
        let remembered = copied.and_then(|()| self.places.checkouts.remember_copied(&checkout, &mixed));
        if let Err(error) = remembered {
            self.discard(&checkout);
            return Err(error);
        }
        Ok(checkout)
    }

    /// Removes a checkout in which no agent has worked. Ignores a failure: the earlier error matters.
    pub(in super::super) fn discard(&self, checkout: &TaskCheckout) {
        let _ = self.places.checkouts.remove(checkout);
    }

    /// Records the state of a checkout after the commands that prepare it.
    pub(in super::super) fn remember_prepared(&self, checkout: &TaskCheckout) -> Result<(), GitError> {
        self.places
            .checkouts
            .remember_prepared(checkout, &|path| self.own.contains(path))
    }

    /// Finds the checkout of an earlier attempt, if its folder is still the original one.
    pub(in super::super) fn find(&self, folder: &str, identity: &str, base: &str) -> Result<TaskCheckout, GitError> {
        self.places
            .checkouts
            .find(Path::new(folder), &FolderIdentity::from_record(identity), base)
    }

    pub(in super::super) fn root_in(&self, checkout: &Path) -> PathBuf {
        checkout.join(self.repository.prefix())
    }

    /// Returns the environment of a process in a checkout or slot.
    pub(in super::super) fn environment(
        &self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        checkout: &Path,
    ) -> Vec<(OsString, OsString)> {
        self.places
            .preparation
            .environment(variables, &self.place.root, &self.root_in(checkout))
    }

    /// Takes a snapshot of a checkout in which no process works any more. `named` are the files that must land, from the root of the
    /// workspace; none if the snapshot only saves work.
    pub(in super::super) fn snapshot(
        &self,
        checkout: &TaskCheckout,
        task: &str,
        attempt: u32,
        message: &str,
        named: Option<&[String]>,
    ) -> Result<Candidate, GitError> {
        let reference = self.reference(task, attempt);
        let from_top = |path: &String| self.seen_from_top(path);
        let copied = self.places.preparation.copy.iter();
        let whole = copied.filter(|path| !self.places.preparation.mixed.contains(path));
        let mut copied: Vec<String> = whole.map(from_top).collect();
        copied.extend(self.places.checkouts.copied(checkout));
        let keep_ignored = self.keep_ignored.iter().filter(|_| named.is_some());
        let keep_ignored: Vec<String> = keep_ignored.map(from_top).collect();
        let named: Vec<String> = named.unwrap_or_default().iter().map(from_top).collect();
        let prepared = self.places.checkouts.prepared(checkout);
        let request = SnapshotRequest {
            message,
            reference: &reference,
            is_own: &|path| self.own.contains(path),
            copied: &copied,
            prepared: prepared.as_deref(),
            named: &named,
            keep_ignored: &keep_ignored,
        };
        self.places.checkouts.snapshot(checkout, &request)
    }

    /// Converts a path from the root of the workspace to one from the top of the repository.
    fn seen_from_top(&self, path: &str) -> String {
        format!("{}{}", self.repository.prefix(), path.trim_start_matches("./"))
    }

    fn reference(&self, task: &str, attempt: u32) -> String {
        format!("{}/{attempt}", self.references(task))
    }

    /// Returns the prefix of all refs that keep the work on a task.
    fn references(&self, task: &str) -> String {
        format!("candidates/{}/{}", self.run, PlanKey::of(task))
    }

    /// Creates a checkout with the files of a candidate, for an attempt whose own is gone.
    pub(in super::super) fn make_again(
        &self,
        task: &str,
        attempt: u32,
        candidate: &Candidate,
    ) -> Result<TaskCheckout, GitError> {
        let name = format!("{}.{attempt}", PlanKey::of(task));
        self.places.checkouts.create(&name, &candidate.commit)
    }

    pub(super) fn base_name(&self, task: &str) -> String {
        format!("bases/{}/{}", self.run, PlanKey::of(task))
    }

    pub(super) fn replay_name(&self, task: &str) -> String {
        format!("replays/{}/{}", self.run, PlanKey::of(task))
    }

    /// Puts a conflict into a checkout, which is now based on the tip of the branch.
    pub(in super::super) fn bring_conflict(
        &self,
        checkout: &TaskCheckout,
        candidate: &Candidate,
        tip: &str,
        conflict: &ReplayConflict,
    ) -> Result<TaskCheckout, GitError> {
        let ReplayConflict { tree, stages, .. } = conflict;
        self.places
            .checkouts
            .bring_conflict(checkout, &candidate.tree, tree, tip, stages)
    }

    /// Removes the checkout of a task whose work has landed, and drops the refs of its candidates.
    pub(in super::super) fn clear(&self, checkout: &TaskCheckout, task: &str) -> Result<(), GitError> {
        self.places.checkouts.remove(checkout)?;
        self.let_go(task)
    }

    /// Cleans up tasks whose work had landed when the run was interrupted. `landed` has the last attempt of each.
    pub(in super::super) fn clear_earlier(&self, landed: &[&AttemptRun]) -> Result<(), GitError> {
        let mut kept = Vec::new();
        for kind in ["candidates", "replays", "bases"] {
            kept.extend(self.repository.all_kept(&format!("{kind}/{}", self.run))?);
        }
        for attempt in landed {
            let key = PlanKey::of(&attempt.name).to_string();
            if kept.iter().any(|kept| kept.name.split('/').any(|part| part == key)) {
                self.let_go(&attempt.name)?;
            }
            if let Some([folder, identity, base]) = attempt.checkout.known()
                && let Ok(checkout) = self.find(folder, identity, base)
                && self.places.checkouts.other_work(&checkout).is_empty()
            {
                self.places.checkouts.remove(&checkout)?;
            }
        }
        Ok(())
    }

    /// Drops the refs that keep the candidates of a task alive.
    pub(in super::super) fn let_go(&self, task: &str) -> Result<(), GitError> {
        let names = [self.references(task), self.replay_name(task), self.base_name(task)];
        for name in names {
            for kept in self.repository.all_kept(&name)? {
                self.repository.let_go(&kept.name, &kept.commit)?;
            }
        }
        Ok(())
    }

    pub(in super::super) fn take_slot(&self) -> Result<CheckoutSlot, GitError> {
        self.places.pool.take(self.places.checkouts.frozen())
    }

    /// Checks out a commit in a slot, and copies the files of the workspace. Returns the setup commands that must run first.
    pub(in super::super) fn prepare(&self, slot: &CheckoutSlot, commit: &str) -> Result<&[Command], GitError> {
        let folder = self.root_in(&slot.path());
        let preparation = &self.places.preparation;
        let prepared = preparation.prepare_slot(slot, commit, self.cleaning, &self.place.root, &folder);
        prepared.map_err(|error| match error {
            SlotError::Git(error) => error,
            SlotError::Copy(source) => GitError::Path {
                path: slot.path(),
                source,
            },
        })
    }

    pub(in super::super) fn slot_environment(&self, slot: &CheckoutSlot) -> Vec<(OsString, OsString)> {
        let folder = self.root_in(&slot.path());
        self.places
            .preparation
            .slot_environment(slot, &self.place.root, &folder)
    }
}

fn path_error(path: &Path) -> impl Fn(std::io::Error) -> GitError {
    move |source| GitError::Path {
        path: path.to_owned(),
        source,
    }
}
