//! The git half of a run with checkouts: checkouts, candidates, replays, the branch. Knows no schedule, no log and no process.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::branch_choice::{begin_error, branch_name, failed, missing_work, start_words};
use super::leftovers::lands_on;
use super::own_files::OwnFiles;
use super::{PlanSnapshot, RunError, RunRequest};
use crate::checkout_home::CheckoutHome;
use crate::config::{Cleaning, LandingStyle};
use crate::git::{
    BranchStart, Candidate, CheckoutSlot, Checkouts, FolderIdentity, GitError, Pool, PreparedSlot, Replay,
    ReplayConflict, Repository, SnapshotRequest, TargetBranch, TaskCheckout, message_of_uncommitted, subject,
    with_trailers,
};
use crate::layout::{PlanKey, PlanPlace};
use crate::preparation::Preparation;
use crate::runs::state::{AttemptRun, RunState};
use crate::runs::{Conditions, Receipt};
use crate::shell::command_line;

pub(super) struct LandingSite {
    repository: Repository,
    places: Places,
    target: TargetBranch,
    own: OwnFiles,
    conditions: Conditions,
    /// Whether this run created the branch.
    has_made_branch: bool,
    /// The last seen tip of the branch: tasks start there while the branch is deleted.
    last_tip: RefCell<String>,
    style: LandingStyle,
    cleaning: Cleaning,
    keep_ignored: Vec<String>,
    place: PlanPlace,
    run: String,
}

/// A candidate on top of a commit, as it would land.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replayed {
    pub(super) onto: String,
    /// A commit with the tree that would land. It is on no branch; the commit that lands has the receipts in addition.
    pub(super) commit: String,
    pub(super) tree: String,
}

pub(super) enum Replaying {
    Clean(Replayed),
    Conflict(ReplayConflict),
}

pub(super) struct CommitAttribution<'a> {
    pub(super) task: &'a str,
    pub(super) title: &'a str,
    pub(super) agent: &'a str,
    pub(super) attempt: u32,
    pub(super) receipts: &'a [Receipt],
}

impl LandingSite {
    /// Starts a run: finds or creates its branch, and fixes the settings that hold until its end. Returns remarks for the user.
    pub(super) fn begin(
        request: &RunRequest<'_>,
        snapshot: &PlanSnapshot,
        run: &str,
    ) -> Result<(Self, Vec<String>), RunError> {
        let repository = repository_around(snapshot)?;
        let head = repository.head().map_err(failed)?;
        let head = head.ok_or_else(|| RunError::refused("there is no commit any more", ""))?;
        let home = home_of(request, &repository)?;
        // Before the branch exists, so that a failure here leaves none behind.
        let places = Places::open(request, snapshot, &repository, &home, run)?;
        let (target, start, found) = choose_target(request, snapshot, &repository, &home, &head).inspect_err(|_| {
            // An empty folder that stays is harmless.
            let _ = places.checkouts.remove_if_empty();
        })?;
        let mut remarks = vec![start_words(target.name(), &found)];
        if found == BranchStart::Continued && !repository.is_ancestor(&head, &start).unwrap_or(true) {
            remarks.push(format!(
                "`{}` does not have the newest commits of what is checked out, so that tasks do not see them; `planwright land` first \
                 brings both together",
                target.name()
            ));
        }
        remarks.extend(missing_work(snapshot, &repository, &start));
        let conditions = Conditions {
            branch: target.name().to_owned(),
            is_current: found == BranchStart::Current,
            base: head,
            start: start.clone(),
            uncommitted: None,
        };
        let mut site = Self::of(request, snapshot, repository, target, conditions, run, places);
        site.has_made_branch = found == BranchStart::Created;
        let secured = site.secure(request, &start);
        if secured.is_err() && site.has_made_branch {
            // The run does not start: the next run would continue a branch that stays.
            let _ = site.target.remove_at(&start);
        }
        remarks.extend(secured?);
        Ok((site, remarks))
    }

    /// Keeps the start of the branch alive, takes uncommitted work along if requested, and holds the branch.
    fn secure(&mut self, request: &RunRequest<'_>, start: &str) -> Result<Vec<String>, RunError> {
        let base = format!("base/{}", self.run);
        self.repository.keep(&base, start).map_err(failed)?;
        let mut remarks = self.places.preparation.remarks.clone();
        if request.options.asked.include_uncommitted {
            remarks.extend(self.take_uncommitted()?);
        }
        self.target.hold().map_err(failed)?;
        Ok(remarks)
    }

    /// Resumes a run with its original settings, whatever branch is checked out now. `state` is rebuilt from its log.
    pub(super) fn resume(
        request: &RunRequest<'_>,
        snapshot: &PlanSnapshot,
        run: &str,
        conditions: &Conditions,
        state: &RunState,
    ) -> Result<Self, RunError> {
        let repository = repository_around(snapshot)?;
        let target = match conditions.is_current {
            true => TargetBranch::current_as(&repository, &conditions.branch),
            false => {
                let holder = home_of(request, &repository)?.holder(&conditions.branch);
                TargetBranch::again(&repository, &conditions.branch, &holder)
            }
        };
        let target = target.map_err(failed)?;
        let home = home_of(request, &repository)?;
        let places = Places::open(request, snapshot, &repository, &home, run)?;
        let site = Self::of(request, snapshot, repository, target, conditions.clone(), run, places);
        let attempts = state.tasks().iter().flat_map(|task| &task.attempts);
        let known: Vec<&Path> = attempts
            .filter_map(|attempt| attempt.checkout.folder.as_deref().map(Path::new))
            .collect();
        site.places.checkouts.remove_unknown(&known);
        site.repository.remove_locks_of(run);
        site.target.hold().map_err(failed)?;
        Ok(site)
    }

    fn of(
        request: &RunRequest<'_>,
        snapshot: &PlanSnapshot,
        repository: Repository,
        target: TargetBranch,
        conditions: Conditions,
        run: &str,
        places: Places,
    ) -> Self {
        let config = &request.config.run;
        LandingSite {
            own: OwnFiles::of(snapshot.place(), &repository),
            style: config.landing.style,
            cleaning: request.config.verify.clean,
            keep_ignored: config.landing.keep_ignored.clone(),
            place: snapshot.place().clone(),
            run: run.to_owned(),
            last_tip: RefCell::new(conditions.start.clone()),
            repository,
            places,
            target,
            conditions,
            has_made_branch: false,
        }
    }

    /// Commits the user's uncommitted work below all work of the run.
    fn take_uncommitted(&mut self) -> Result<Option<String>, RunError> {
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

    pub(super) fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    pub(super) fn branch(&self) -> &str {
        self.target.name()
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(super) fn checkouts(&self) -> &Checkouts {
        &self.places.checkouts
    }

    pub(super) fn preparation(&self) -> &Preparation {
        &self.places.preparation
    }

    pub(super) fn tip(&self) -> Result<String, GitError> {
        let tip = self.target.tip()?;
        if let Some(tip) = &tip {
            self.last_tip.borrow_mut().clone_from(tip);
        }
        tip.ok_or_else(|| GitError::NoBranch(self.target.name().to_owned()))
    }

    /// Returns the start commit of a task: the tip of the branch. A deleted branch is only an error when work lands.
    fn base(&self) -> Result<String, GitError> {
        match self.tip() {
            Err(GitError::NoBranch(_)) => Ok(self.last_tip.borrow().clone()),
            tip => tip,
        }
    }

    /// Creates a checkout for a task, with all landed work.
    pub(super) fn make(&self, task: &str, attempt: u32) -> Result<TaskCheckout, GitError> {
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
    pub(super) fn discard(&self, checkout: &TaskCheckout) {
        let _ = self.places.checkouts.remove(checkout);
    }

    /// Records the state of a checkout after the commands that prepare it.
    pub(super) fn remember_prepared(&self, checkout: &TaskCheckout) -> Result<(), GitError> {
        self.places
            .checkouts
            .remember_prepared(checkout, &|path| self.own.contains(path))
    }

    /// Finds the checkout of an earlier attempt, if its folder is still the original one.
    pub(super) fn find(&self, folder: &str, identity: &str, base: &str) -> Result<TaskCheckout, GitError> {
        self.places
            .checkouts
            .find(Path::new(folder), &FolderIdentity::from_record(identity), base)
    }

    pub(super) fn root_in(&self, checkout: &Path) -> PathBuf {
        checkout.join(self.repository.prefix())
    }

    /// Returns the environment of a process in a checkout or slot.
    pub(super) fn environment(
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
    pub(super) fn snapshot(
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
    pub(super) fn make_again(&self, task: &str, attempt: u32, candidate: &Candidate) -> Result<TaskCheckout, GitError> {
        let name = format!("{}.{attempt}", PlanKey::of(task));
        self.places.checkouts.create(&name, &candidate.commit)
    }

    /// Converts paths from the top of the repository to paths from the workspace.
    pub(super) fn below(&self, paths: &[String]) -> Vec<String> {
        super::drift::below(paths.to_vec(), self.repository.prefix())
    }

    /// Replays a candidate on the tree of the commit `below`, and keeps the result alive.
    pub(super) fn replay(
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

    fn base_name(&self, task: &str) -> String {
        format!("bases/{}/{}", self.run, PlanKey::of(task))
    }

    fn replay_name(&self, task: &str) -> String {
        format!("replays/{}/{}", self.run, PlanKey::of(task))
    }

    /// Puts a conflict into a checkout, which is now based on the tip of the branch.
    pub(super) fn bring_conflict(
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

    /// Makes the commit that lands: the verified tree on the tip of the branch.
    pub(super) fn final_commit(
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
    pub(super) fn advance(&self, from: &str, to: &str, task: &str) -> Result<(), GitError> {
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

    /// Removes the checkout of a task whose work has landed, and drops the refs of its candidates.
    pub(super) fn clear(&self, checkout: &TaskCheckout, task: &str) -> Result<(), GitError> {
        self.places.checkouts.remove(checkout)?;
        self.let_go(task)
    }

    /// Cleans up tasks whose work had landed when the run was interrupted. `landed` has the last attempt of each.
    pub(super) fn clear_earlier(&self, landed: &[&AttemptRun]) -> Result<(), GitError> {
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
    pub(super) fn let_go(&self, task: &str) -> Result<(), GitError> {
        let names = [self.references(task), self.replay_name(task), self.base_name(task)];
        for name in names {
            for kept in self.repository.all_kept(&name)? {
                self.repository.let_go(&kept.name, &kept.commit)?;
            }
        }
        Ok(())
    }

    pub(super) fn take_slot(&self) -> Result<CheckoutSlot, GitError> {
        self.places.pool.take(self.places.checkouts.frozen())
    }

    pub(super) fn prepare(&self, slot: &CheckoutSlot, commit: &str) -> Result<PreparedSlot, GitError> {
        let root = self.root_in(&slot.path());
        let tree = slot.path();
        let failed = path_error(&tree);
        let (own, record) = (&self.place.root, slot.record_of_copies());
        slot.require_own()?;
        self.places
            .preparation
            .remove_outdated(own, &root, &record)
            .map_err(&failed)?;
        let prepared = slot.prepare(commit, self.cleaning)?;
        self.places
            .preparation
            .copy_again(own, &root, &record)
            .map_err(&failed)?;
        Ok(prepared)
    }

    /// Returns the tasks whose commits are no longer on the branch.
    pub(super) fn not_on_branch<'t>(&self, landed: &[(&'t str, &str)]) -> Result<Vec<&'t str>, GitError> {
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

    /// Removes everything made for a run that does not start, including a branch that this run created: the next run would continue it.
    pub(super) fn abandon(&self) -> Result<(), GitError> {
        self.close()?;
        if self.has_made_branch && !lands_on(&self.place.root, self.target.name(), &self.run) {
            self.target.remove_at(&self.conditions.start)?;
        }
        let uncommitted = format!("uncommitted/{}", self.run);
        match self.repository.kept(&uncommitted)? {
            Some(commit) => self.repository.let_go(&uncommitted, &commit),
            None => Ok(()),
        }
    }

    /// Releases the branch unless another run lands on it, and drops the refs of the base if no checkout is left.
    pub(super) fn close(&self) -> Result<(), GitError> {
        if !lands_on(&self.place.root, self.target.name(), &self.run) {
            self.target.release()?;
        }
        self.places.pool.remove_stale_locks();
        let base = format!("base/{}", self.run);
        if self.places.checkouts.remove_if_empty()?
            && let Some(commit) = self.repository.kept(&base)?
        {
            self.repository.let_go(&base, &commit)?;
        }
        Ok(())
    }
}

/// The folders in which the tasks of a run work and are verified, apart from their branch.
struct Places {
    preparation: Preparation,
    checkouts: Checkouts,
    pool: Pool,
}

impl Places {
    fn open(
        request: &RunRequest<'_>,
        snapshot: &PlanSnapshot,
        repository: &Repository,
        home: &CheckoutHome,
        run: &str,
    ) -> Result<Self, RunError> {
        let preparation = Preparation::of(&request.config.run, repository, &snapshot.place().root)
            .map_err(|error| RunError::refused(error.to_string(), error.help()))?;
        Ok(Places {
            preparation,
            pool: Pool::open(&home.pool()).map_err(failed)?,
            checkouts: Checkouts::open(repository, &home.run(run)).map_err(failed)?,
        })
    }
}

/// Returns the branch of a run with its start commit, and creates the branch if it does not exist.
fn choose_target(
    request: &RunRequest<'_>,
    snapshot: &PlanSnapshot,
    repository: &Repository,
    home: &CheckoutHome,
    head: &str,
) -> Result<(TargetBranch, String, BranchStart), RunError> {
    match branch_name(request, snapshot, repository, home)? {
        None => {
            let target = TargetBranch::current(repository).map_err(failed)?;
            Ok((target, head.to_owned(), BranchStart::Current))
        }
        Some(name) => {
            TargetBranch::begin(repository, &name, head, &home.holder(&name)).map_err(|error| begin_error(&name, error))
        }
    }
}

fn path_error(path: &Path) -> impl Fn(std::io::Error) -> GitError {
    move |source| GitError::Path {
        path: path.to_owned(),
        source,
    }
}

fn home_of(request: &RunRequest<'_>, repository: &Repository) -> Result<CheckoutHome, RunError> {
    let found = CheckoutHome::of(request.config.run.checkouts.folder.as_deref(), repository);
    found.map_err(|error| {
        RunError::refused(
            error.to_string(),
            "name another folder: run.checkouts in your own configuration",
        )
    })
}

fn repository_around(snapshot: &PlanSnapshot) -> Result<Repository, RunError> {
    let found = Repository::around(&snapshot.place().root).map_err(failed)?;
    found.ok_or_else(|| {
        RunError::refused(
            "the run began in a git repository, which no longer exists",
            "restore the repository; or start a new run in the shared folder: --isolation shared",
        )
    })
}
