//! The fence of each process of a run, and its temporary folder.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::RunError;
use super::super::attempt::RunningAttempt;
use super::super::naming::listed;
use super::super::shared_guard::{RestoredPaths, SharedGuard};
use super::super::state_links::StateLinks;
use super::RunLoop;
use super::checkouts::WorkLocation;
use crate::checkout_home::state_home;
use crate::config::Agent;
use crate::fence::{Fence, Fencing, ProcessFolders, TemporaryFolders};
use crate::files::write_own;
use crate::git::Repository;
use crate::layout::{PlanKey, STATE_FOLDER};
use crate::runs::RemarkKind;
use crate::verify::{self, Check, CheckEnvironment};
use crate::worker::{ProcessSpec, StartError};

/// How long the run keeps restoring the state of the workspace while a task keeps removing it.
const RESTORE_PATIENCE: Duration = Duration::from_secs(10);
const RESTORE_PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Fences {
    fencing: Fencing,
    temporary: TemporaryFolders,
    /// The files that tasks in the shared folder must not change.
    guard: Option<SharedGuard>,
    /// Hard links to the state of the workspace, in case a task removes it.
    links: Option<StateLinks>,
}

impl Fences {
    pub(super) fn new(fencing: Fencing) -> Self {
        Fences {
            fencing,
            temporary: TemporaryFolders::default(),
            guard: None,
            links: None,
        }
    }

    pub(super) fn fencing(&self) -> &Fencing {
        &self.fencing
    }

    /// Returns whether the run restores the state of the workspace if a task removes it.
    pub(super) fn has_guard(&self) -> bool {
        self.guard.is_some()
    }

    /// Gives a process that is about to start its temporary folder.
    fn prepare(&mut self, key: u64, spec: &mut ProcessSpec) -> Result<(), StartError> {
        spec.give_temporary(&mut self.temporary, key)
    }

    pub(super) fn ended(&mut self, key: u64) {
        self.temporary.remove(key);
    }
}

/// Returns the folders with the git objects that a checkout borrows.
fn borrowed_objects(workplace: &WorkLocation) -> Vec<PathBuf> {
    match workplace {
        WorkLocation::Checkouts(site) => site.repository().object_folders(),
        WorkLocation::Shared(Some(repository)) => repository.object_folders(),
        WorkLocation::Shared(None) => Vec::new(),
    }
}

/// Returns what commands in the shared folder may write to: the folder, and its repository.
pub(in super::super) fn shared_writable(workplace: &WorkLocation, root: &Path) -> Vec<PathBuf> {
    let mut writable = vec![root.to_owned()];
    if let WorkLocation::Shared(Some(repository)) = workplace {
        writable.push(repository.common_folder().to_owned());
    }
    writable
}

pub(in super::super) fn fence_of_command(
    fencing: &Fencing,
    workplace: &WorkLocation,
    writable: &[PathBuf],
    environment: &[(OsString, OsString)],
) -> Option<Fence> {
    fencing.level()?;
    fencing.fence(&ProcessFolders {
        writable,
        readable: &borrowed_objects(workplace),
        environment,
        ..ProcessFolders::default()
    })
}

impl RunLoop<'_> {
    pub(super) fn fence_of_agent(
        &self,
        attempt: &RunningAttempt,
        agent: &Agent,
        environment: &[(OsString, OsString)],
    ) -> Option<Fence> {
        self.folders.fences.fencing.level()?;
        let writable = match &attempt.location.checkout {
            Some(checkout) => vec![checkout.path().to_owned()],
            None => shared_writable(&self.folders.workplace, &self.root()),
        };
        let mut readable = borrowed_objects(&self.folders.workplace);
        readable.push(attempt.location.place.prompt());
        self.folders.fences.fencing.fence(&ProcessFolders {
            writable: &writable,
            readable: &readable,
            temporary: None,
            agent: Some(agent.known_as()),
            environment,
        })
    }

    pub(super) fn start_process(
        &mut self,
        key: u64,
        spec: &mut ProcessSpec,
    ) -> Result<crate::worker::SpawnedProcess, StartError> {
        let started = match self.folders.fences.prepare(key, spec) {
            Ok(()) => self.workers.start(key, spec),
            Err(error) => Err(error),
        };
        if started.is_err() {
            self.folders.fences.ended(key);
        }
        started
    }

    /// Starts a command for verification or setup. Returns the key of its process.
    pub(super) fn start_command(
        &mut self,
        check: &Check,
        check_environment: &CheckEnvironment,
        log: PathBuf,
    ) -> Result<u64, StartError> {
        let key = self.attempts.new_key();
        let mut spec = verify::spec(check, check_environment, log);
        self.start_process(key, &mut spec).map(|_| key)
    }

    /// Saves the fence policy of an attempt next to its other files.
    pub(super) fn keep_policy(&self, attempt: &RunningAttempt, fence: Option<&Fence>) -> io::Result<()> {
        let Some(fence) = fence else {
            return Ok(());
        };
        let text = serde_json::to_string_pretty(&fence.policy).map_err(io::Error::other)?;
        write_own(&attempt.location.place.fence(), format!("{text}\n").as_bytes())
    }

    /// Records the protected files before a task in the shared folder starts. While others are active, restores their changes instead.
    pub(super) fn guard_shared(&mut self) -> Result<(), RunError> {
        let WorkLocation::Shared(repository) = &self.folders.workplace else {
            return Ok(());
        };
        if !self.folders.fences.fencing.is_wanted() {
            return Ok(());
        }
        if self.folders.fences.guard.is_some() && !self.attempts.is_empty() {
            return self.restore_shared(None);
        }
        let place = self.snapshot.place();
        let state = place.root.join(STATE_FOLDER);
        if let Some(links) = &self.folders.fences.links
            && links.clear_the_way().unwrap_or(false)
        {
            links.put_all_back().unwrap_or_default();
        }
        match &self.folders.fences.links {
            Some(links) => [place.journals(), self.live.place.folder()]
                .iter()
                .try_for_each(|folder| links.renew(folder))
                .unwrap_or_default(),
            None => self.folders.fences.links = StateLinks::make(&state, self.folders_for_links(repository.as_ref())),
        }
        self.recorder.remember_log()?;
        let guard = SharedGuard::take(self.snapshot.place(), repository.as_ref(), &self.live.place);
        self.folders.fences.guard = Some(guard);
        Ok(())
    }

    /// Returns the folders for hard links to the workspace's state: where no task can write, otherwise in the repository, which `git clean`
    /// skips.
    fn folders_for_links(&self, repository: Option<&Repository>) -> Vec<PathBuf> {
        let place = self.snapshot.place();
        let own = format!("{}-{}", PlanKey::of(&place.root.to_string_lossy()), place.key);
        let home = state_home().filter(|home| !home.starts_with(&place.root));
        let in_repository = repository.map(|repository| repository.common_folder().join("planwright"));
        let folders = home.map(|home| home.join("kept")).into_iter().chain(in_repository);
        folders.map(|folder| folder.join(&own)).collect()
    }

    /// Restores at once what the run needs if a task in the shared folder removed it: its own state, and the plan.
    pub(super) fn keep_state(&mut self) -> Result<(), RunError> {
        if self.folders.fences.guard.is_none() || self.live.place.log().exists() {
            return Ok(());
        }
        self.restore_shared(None)?;
        // What removes the state, as `git clean` does, may have removed a plan that is in no commit. A plan that a person moves or removes
        // is left alone.
        let plan = self.snapshot.place().target.clone();
        if plan.symlink_metadata().is_ok() {
            return Ok(());
        }
        match write_own(&plan, self.snapshot.text().as_str().as_bytes()) {
            Ok(()) => {
                let text = "the plan file was removed while a task was at work, and was written again".to_owned();
                self.remark_kind(None, RemarkKind::GuardedRestored, text)
            }
            // A missing plan is reported when it is read.
            Err(_) => Ok(()),
        }
    }

    /// Restores what tasks in the shared folder must not change. `task` is the one whose process ended.
    pub(super) fn restore_shared(&mut self, task: Option<u32>) -> Result<(), RunError> {
        let Some(guard) = &mut self.folders.fences.guard else {
            return Ok(());
        };
        let since = Instant::now();
        let (restored, is_new_log) = loop {
            let mut restored = guard.restore(self.folders.fences.links.as_ref());
            match self.recorder.restore_log(|log| guard.keep_log(log, &mut restored)) {
                Ok(is_new_log) => break (restored, is_new_log),
                Err(error) if since.elapsed() >= RESTORE_PATIENCE => return Err(error),
                // An active task removed or replaced the folder again during the restore.
                Err(_) => std::thread::sleep(RESTORE_PAUSE),
            }
        };
        self.live.place.restore_attempts_folder();
        if is_new_log && let Some(links) = &self.folders.fences.links {
            // It is another file now. Without a hard link it can still be restored from memory.
            links.renew(&self.live.place.folder()).unwrap_or_default();
        }
        let RestoredPaths {
            paths,
            failed,
            reported,
            kept_in,
        } = restored;
        if !paths.is_empty() {
            let kept = match kept_in.is_dir() {
                true => format!("; the changed content is in `{}`", kept_in.display()),
                false => String::new(),
            };
            let text = format!("restored what tasks must not change: {}{kept}", listed(&paths));
            self.remark_kind(task, RemarkKind::GuardedRestored, text)?;
        }
        for (path, why) in failed {
            let text = format!("`{path}` was changed while a task was at work, and cannot be restored: {why}");
            self.remark_kind(task, RemarkKind::GuardedChanged, text)?;
        }
        if !reported.is_empty() {
            let text = format!(
                "changed while a task was at work, and not restored: {}",
                listed(&reported)
            );
            self.remark_kind(task, RemarkKind::GuardedChanged, text)?;
        }
        Ok(())
    }
}
