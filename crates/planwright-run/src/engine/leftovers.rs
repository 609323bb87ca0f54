//! Checkouts that earlier runs left: finds the ones with unique work, and removes the others.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::own_files::OwnFiles;
use crate::checkout_home::CheckoutHome;
use crate::config::{KeepLimits, RunConfig};
use crate::files::DiskFiles;
use crate::git::{Checkouts, FolderIdentity, GitError, Pool, Repository, TargetBranch, TaskCheckout};
use crate::layout::{PlanKey, PlanPlace};
use crate::preparation::Preparation;
use crate::revise::note_take_overs;
use crate::runs::state::{AttemptRun, RunState, TaskState};
use crate::runs::{self, RunPlace, SeenRun};

/// How many entries of a folder are counted for its size.
const MAX_ENTRIES: usize = 200_000;

#[derive(Debug)]
pub struct Leftover {
    pub run: String,
    pub task: String,
    pub path: PathBuf,
    /// Its size; a lower bound if it is very large.
    pub n_bytes: u64,
    pub age: Duration,
    pub state: LeftoverState,
    checkout: Option<TaskCheckout>,
}

/// Whether a checkout can be removed without loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftoverState {
    /// Its run is active or can be resumed.
    InUse(String),
    /// Everything in it exists elsewhere.
    Removable,
    /// It has unique work, or that cannot be decided.
    Kept(String),
}

struct LeftoverCheckout {
    run: String,
    whose: CheckoutOwner,
    task: String,
    path: PathBuf,
    n_bytes: u64,
    age: Duration,
    /// Whether the next run of the plan would continue in it.
    continues: bool,
}

enum CheckoutOwner {
    /// In use, because its run has not ended, for this reason.
    InUse(String),
    Ended(Box<(PlanPlace, AttemptRun)>),
    Unknown(String),
}

pub struct Leftovers {
    repository: Repository,
    home: CheckoutHome,
    preparation: Preparation,
    root: PathBuf,
}

impl Leftovers {
    /// Opens them; none without a repository with checkouts.
    pub fn open(root: &Path, config: &RunConfig) -> Result<Option<Self>, GitError> {
        let Some(repository) = Repository::around(root)? else {
            return Ok(None);
        };
        let Ok(home) = CheckoutHome::of(config.checkouts.folder.as_deref(), &repository) else {
            return Ok(None);
        };
        if !home.folder().is_dir() {
            return Ok(None);
        }
        let preparation = Preparation::of(config, &repository, root).unwrap_or_default();
        Ok(Some(Leftovers {
            repository,
            home,
            preparation,
            root: root.to_owned(),
        }))
    }

    /// Returns all existing checkouts, the oldest run first. A checkout in which the next run would continue is in use.
    pub fn list(&self) -> io::Result<Vec<Leftover>> {
        let listed = |found: &LeftoverCheckout| {
            let mut leftover = self.judged(found);
            if found.continues && leftover.state == LeftoverState::Removable {
                leftover.state =
                    LeftoverState::InUse("the task was stopped; `planwright run` continues in it".to_owned());
            }
            leftover
        };
        Ok(self.found()?.iter().map(listed).collect())
    }

    fn found(&self) -> io::Result<Vec<LeftoverCheckout>> {
        let known = runs::list(&DiskFiles, &self.root)?;
        let folders = fs::read_dir(self.home.runs()).into_iter().flatten().flatten();
        let mut ids: Vec<String> = folders
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        ids.sort();
        let run_of = |id: &String| known.iter().find(|run| run.id() == id);
        Ok(ids.iter().flat_map(|id| self.of_run(id, run_of(id))).collect())
    }

    fn of_run(&self, id: &str, run: Option<&RunPlace>) -> Vec<LeftoverCheckout> {
        let Some(run) = run else {
            return self.unknown(id, "its run is not one of this workspace, or was removed");
        };
        let seen = SeenRun::of(run.clone()).map_err(|(_, error)| error);
        let (seen, mut state) = match seen.and_then(|seen| Ok((seen.state(&DiskFiles)?, seen))) {
            Ok((state, seen)) => (seen, state),
            Err(error) => return self.unknown(id, &format!("the log of its run cannot be read: {error}")),
        };
        let (place, header) = (seen.plan(), &seen.header);
        let in_use = why_in_use(&seen, &state);
        if in_use.as_ref().is_none_or(InUse::is_interrupted) {
            state.mark_interrupted();
            note_take_overs(&mut state, &place.target, header.id.as_deref());
        }
        let mut of_plan = runs::of_plan(&DiskFiles, &place, header.id.as_deref())
            .into_iter()
            .flatten();
        let is_newest = of_plan.next().is_some_and(|newest| newest.id() == id);
        let attempts = by_folder(&state).into_iter().filter_map(|attempt| {
            let path = PathBuf::from(attempt.checkout.folder.as_ref()?);
            let (n_bytes, age) = path.is_dir().then(|| size_and_age(&path))?;
            let task = state.task(&attempt.name);
            let is_stopped = task.is_some_and(|task| matches!(task.state, TaskState::Stopped | TaskState::Interrupted));
            let is_taken_over = task.is_some_and(|task| task.taken_over.is_some());
            // No run resumes a task that a person has finished.
            let in_use = in_use
                .as_ref()
                .filter(|in_use| !(in_use.is_interrupted() && is_taken_over));
            Some(LeftoverCheckout {
                continues: is_newest && is_stopped && !is_taken_over,
                run: id.to_owned(),
                whose: match in_use {
                    Some(in_use) => CheckoutOwner::InUse(in_use.words(id)),
                    None => CheckoutOwner::Ended(Box::new((place.clone(), attempt.clone()))),
                },
                task: attempt.name.clone(),
                path,
                n_bytes,
                age,
            })
        });
        attempts.collect()
    }

    fn unknown(&self, id: &str, why: &str) -> Vec<LeftoverCheckout> {
        let entries = fs::read_dir(self.home.run(id).join("tasks"))
            .into_iter()
            .flatten()
            .flatten();
        let found = entries.map(|entry| {
            let (n_bytes, age) = size_and_age(&entry.path());
            LeftoverCheckout {
                run: id.to_owned(),
                continues: false,
                whose: CheckoutOwner::Unknown(why.to_owned()),
                task: entry.file_name().to_string_lossy().into_owned(),
                path: entry.path(),
                n_bytes,
                age,
            }
        });
        found.collect()
    }

    fn judged(&self, found: &LeftoverCheckout) -> Leftover {
        let (state, checkout) = match &found.whose {
            CheckoutOwner::InUse(why) => (LeftoverState::InUse(why.clone()), None),
            CheckoutOwner::Unknown(why) => (LeftoverState::Kept(why.clone()), None),
            CheckoutOwner::Ended(ended) => self.judge(&found.run, &ended.0, &ended.1),
        };
        Leftover {
            run: found.run.clone(),
            task: found.task.clone(),
            path: found.path.clone(),
            n_bytes: found.n_bytes,
            age: found.age,
            state,
            checkout,
        }
    }

    /// Decides whether a checkout has unique work.
    fn judge(&self, run: &str, place: &PlanPlace, attempt: &AttemptRun) -> (LeftoverState, Option<TaskCheckout>) {
        let kept = |why: &str| (LeftoverState::Kept(why.to_owned()), None);
        let Some([folder, identity, base]) = attempt.checkout.known() else {
            return kept("its log does not say what it was made of");
        };
        let found = Checkouts::open(&self.repository, &self.home.run(run)).and_then(|checkouts| {
            let checkout = checkouts.find(Path::new(folder), &FolderIdentity::from_record(identity), base)?;
            Ok((checkouts, checkout))
        });
        let (checkouts, checkout) = match found {
            Ok(found) => found,
            Err(error) => return kept(&error.to_string()),
        };
        let other = checkouts.other_work(&checkout);
        if let Some(first) = other.first() {
            return kept(&format!("it has commits that are nowhere else, in {first}"));
        }
        let own = OwnFiles::of(place, &self.repository);
        let copied: Vec<String> = self.preparation.copy.clone();
        match checkouts.tree_of(&checkout, &|path| own.contains(path), &copied) {
            Ok(tree) if self.has_tree(run, attempt, base, &tree) => match self.left_out(attempt, &checkout, &tree) {
                Some(path) => kept(&format!(
                    "it holds `{path}`, which git ignores and which is nowhere else"
                )),
                None => (LeftoverState::Removable, Some(checkout)),
            },
            Ok(_) => kept("it holds work that is nowhere else"),
            Err(error) => kept(&error.to_string()),
        }
    }

    /// Returns a file that an agent named, that exists, and that is in no commit.
    fn left_out(&self, attempt: &AttemptRun, checkout: &TaskCheckout, tree: &str) -> Option<String> {
        let files = attempt.report.files.iter();
        let from_top = files.map(|path| format!("{}{path}", self.repository.prefix()));
        let mut there = from_top.filter(|path| checkout.path().join(path).is_file());
        there.find(|path| !self.repository.has_path(tree, path).unwrap_or(false))
    }

    /// Returns whether a tree exists elsewhere: it is unchanged, a saved candidate, or landed.
    fn has_tree(&self, run: &str, attempt: &AttemptRun, base: &str, tree: &str) -> bool {
        let is_it = |commit: &str| self.repository.tree_of(commit).is_ok_and(|found| found == tree);
        let name = format!("candidates/{run}/{}", PlanKey::of(&attempt.name));
        let kept = self.repository.all_kept(&name).unwrap_or_default();
        let ended = attempt.landing.ended.as_ref();
        let landed = ended.and_then(|ended| ended.tree.as_deref());
        is_it(base) || landed == Some(tree) || kept.iter().any(|kept| is_it(&kept.commit))
    }

    /// Removes a checkout that is removable. Returns whether it was removed.
    pub fn remove(&self, leftover: &Leftover) -> Result<bool, GitError> {
        let (LeftoverState::Removable, Some(checkout)) = (&leftover.state, &leftover.checkout) else {
            return Ok(false);
        };
        let checkouts = Checkouts::open(&self.repository, &self.home.run(&leftover.run))?;
        checkouts.remove(checkout)?;
        checkouts.remove_if_empty()?;
        Ok(true)
    }

    /// Empties the checkouts for verification that no process uses. Returns their number.
    pub fn clear_pool(&self) -> Result<usize, GitError> {
        match self.home.pool().is_dir() {
            true => Pool::open(&self.home.pool())?.clear(),
            false => Ok(0),
        }
    }

    /// Releases branches that no run of the workspace holds any more. A killed run leaves the worktree that held its branch; if it is
    /// resumed, it takes the branch again.
    pub fn release_branches(&self) -> Result<Vec<String>, GitError> {
        let runs = runs::seen(&DiskFiles, &self.root).into_iter().flatten().flatten();
        let live: Vec<String> = runs.filter_map(|run| live_branch(&run)).collect();
        let mut released = Vec::new();
        for branch in self.repository.held_branches(&self.home.holders())? {
            if !live.contains(&branch) {
                TargetBranch::again(&self.repository, &branch, &self.home.holder(&branch))?.release()?;
                released.push(branch);
            }
        }
        Ok(released)
    }

    /// Removes leftovers of the newest runs of a plan that were killed before they started any agent. The caller has the lock of the plan,
    /// and `own` is its run.
    pub(super) fn remove_unbegun(&self, plan: &PlanPlace, id: Option<&str>, own: &str) {
        let is_unbegun = |run: &SeenRun| run.state(&DiskFiles).is_ok_and(|state| state.begun.is_none());
        let newest = runs::of_plan(&DiskFiles, plan, id).into_iter().flatten();
        for run in newest.filter(|run| run.id() != own).take_while(is_unbegun) {
            self.repository.remove_locks_of(run.id());
            for name in ["base", "uncommitted"].map(|kind| format!("{kind}/{}", run.id())) {
                if let Ok(Some(commit)) = self.repository.kept(&name) {
                    // A ref or a folder that stays is harmless.
                    let _ = self.repository.let_go(&name, &commit);
                }
            }
            let _ = fs::remove_dir_all(self.home.run(run.id()));
        }
    }

    /// Removes removable checkouts beyond the limits, the oldest first. Returns how many were removed.
    pub fn tidy(&self, keep: &KeepLimits) -> usize {
        let (mut n_kept, mut n_bytes, mut n_removed) = (0, 0_u64, 0);
        let mut found = self.found().unwrap_or_default();
        found.sort_by_key(|found| found.age);
        for found in &found {
            let n_then = n_bytes.saturating_add(found.n_bytes);
            if found.age <= keep.age && n_kept < keep.count && n_then <= keep.bytes {
                (n_kept, n_bytes) = (n_kept + 1, n_then);
                continue;
            }
            // Searching for unique work is slow, so it is done only for checkouts over the limit.
            n_removed += usize::from(self.remove(&self.judged(found)).unwrap_or(false));
        }
        n_removed
    }
}

/// Returns whether another active run of a workspace lands on a branch.
pub(super) fn lands_on(root: &Path, branch: &str, own: &str) -> bool {
    let runs = runs::seen(&DiskFiles, root).into_iter().flatten().flatten();
    let mut others = runs.filter(|run| run.id() != own);
    others.any(|run| live_branch(&run).as_deref() == Some(branch))
}

fn live_branch(run: &SeenRun) -> Option<String> {
    run.live(&DiskFiles)?;
    Some(run.state(&DiskFiles).ok()?.settings.fixed?.branch)
}

/// Why the checkouts of a run are in use.
enum InUse {
    Live {
        pid: u32,
    },
    /// It was interrupted, and the next run of its plan resumes it.
    Interrupted,
}

impl InUse {
    fn is_interrupted(&self) -> bool {
        matches!(self, InUse::Interrupted)
    }

    fn words(&self, run: &str) -> String {
        match self {
            InUse::Live { pid } => format!("run {run} is running (process {pid})"),
            InUse::Interrupted => format!("run {run} was interrupted; `planwright run` continues it"),
        }
    }
}

/// Returns why the checkouts of a run are in use, if they are.
fn why_in_use(run: &SeenRun, state: &RunState) -> Option<InUse> {
    let live = run.live(&DiskFiles);
    match (live, &state.ended) {
        (Some(live), None) => Some(InUse::Live { pid: live.pid }),
        (None, None) => Some(InUse::Interrupted),
        (_, Some(_)) => None,
    }
}

/// Returns the attempts with their own folder, the last one of each folder.
fn by_folder(state: &RunState) -> Vec<&AttemptRun> {
    let mut found: Vec<&AttemptRun> = Vec::new();
    let attempts = state.tasks().iter().flat_map(|task| &task.attempts);
    for attempt in attempts.filter(|attempt| attempt.checkout.folder.is_some()) {
        match found
            .iter_mut()
            .find(|known| known.checkout.folder == attempt.checkout.folder)
        {
            Some(known) => *known = attempt,
            None => found.push(attempt),
        }
    }
    found
}

/// Returns the size of a folder, and the time since its last change.
fn size_and_age(folder: &Path) -> (u64, Duration) {
    let (mut n_bytes, mut n_entries) = (0_u64, 0);
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            n_entries += 1;
            n_bytes = n_bytes.saturating_add(metadata.len());
            newest = metadata.modified().map_or(newest, |time| time.max(newest));
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
        if n_entries > MAX_ENTRIES {
            break;
        }
    }
    (n_bytes, newest.elapsed().unwrap_or_default())
}
