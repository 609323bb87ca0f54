//! The git half of a run with checkouts: checkouts, candidates, replays, the branch. Knows no schedule, no log and no process.

mod branch;
mod task_checkouts;

use std::cell::RefCell;
use std::path::Path;

use super::branch_choice::{begin_error, branch_name, failed, missing_work, start_words};
use super::leftovers::lands_on;
use super::own_files::OwnFiles;
use super::{PlanSnapshot, RunError, RunRequest};
use crate::checkout_home::CheckoutHome;
use crate::config::{Cleaning, LandingStyle};
use crate::git::{BranchStart, Checkouts, GitError, Pool, Repository, TargetBranch};
use crate::layout::PlanPlace;
use crate::preparation::Preparation;
use crate::runs::FixedSettings;
use crate::runs::state::RunState;
pub(super) use branch::{CommitAttribution, Replayed, Replaying};

pub(super) struct LandingSite {
    repository: Repository,
    places: CheckoutFolders,
    target: TargetBranch,
    own: OwnFiles,
    conditions: FixedSettings,
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
        let places = CheckoutFolders::open(request, snapshot, &repository, &home, run)?;
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
        let conditions = FixedSettings {
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
        if request.options.flags.include_uncommitted {
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
        conditions: &FixedSettings,
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
        let places = CheckoutFolders::open(request, snapshot, &repository, &home, run)?;
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
        conditions: FixedSettings,
        run: &str,
        places: CheckoutFolders,
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

    pub(super) fn conditions(&self) -> &FixedSettings {
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
struct CheckoutFolders {
    preparation: Preparation,
    checkouts: Checkouts,
    pool: Pool,
}

impl CheckoutFolders {
    fn open(
        request: &RunRequest<'_>,
        snapshot: &PlanSnapshot,
        repository: &Repository,
        home: &CheckoutHome,
        run: &str,
    ) -> Result<Self, RunError> {
        let preparation = Preparation::of(&request.config.run, repository, &snapshot.place().root)
            .map_err(|error| RunError::refused(error.to_string(), error.help()))?;
        Ok(CheckoutFolders {
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
