//! Stale locks of a killed git: in the user's repository and in planwright's own git directories.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::super::Wrong;
use super::super::broken;
use super::super::chance::Chance;
use super::super::place::WorkerFolder;
use super::super::runs::BRANCH;

/// The largest number of locks that are left at once.
const MAX_LOCKS: usize = 3;

/// The locks that any git directory may have.
const USUAL: [&str; 5] = [
    "index.lock",
    "HEAD.lock",
    "packed-refs.lock",
    "config.lock",
    "shallow.lock",
];

/// Returns the possible stale locks of the user's repository.
pub(super) fn of_user(place: &WorkerFolder) -> Vec<PathBuf> {
    let git_dir = place.root().join(".git");
    let mut locks: Vec<PathBuf> = USUAL.iter().map(|name| git_dir.join(name)).collect();
    let refs = ["refs/heads/main.lock".to_owned(), format!("refs/heads/{BRANCH}.lock")];
    locks.extend(refs.iter().map(|name| git_dir.join(name)));
    for (run, folder) in runs(place) {
        let own = git_dir.join("refs/planwright");
        locks.push(own.join(format!("base/{run}.lock")));
        for key in keys(&folder) {
            locks.push(own.join(format!("candidates/{run}/{key}/1.lock")));
            locks.push(own.join(format!("candidates/{run}/{key}/2.lock")));
            locks.push(own.join(format!("replays/{run}/{key}.lock")));
        }
    }
    for holder in entries(&git_dir.join("worktrees")) {
        locks.extend(["HEAD.lock", "index.lock"].map(|name| holder.join(name)));
    }
    locks
}

/// Returns the possible stale locks of planwright's own git directories.
pub(super) fn of_planwright(place: &WorkerFolder) -> Vec<PathBuf> {
    let mut locks = Vec::new();
    let mut of = |git_dir: &Path| locks.extend(USUAL.iter().map(|name| git_dir.join(name)));
    for slot in homes(place).iter().flat_map(|home| entries(&home.join("pool"))) {
        [slot.join("git"), slot.join("tree/.git")]
            .iter()
            .filter(|git_dir| git_dir.is_dir())
            .for_each(|git_dir| of(git_dir));
    }
    for (_, folder) in runs(place) {
        let snapshots = folder.join("snapshots.git");
        if snapshots.is_dir() {
            of(&snapshots);
        }
        let tasks = entries(&folder.join("tasks"));
        tasks
            .iter()
            .map(|task| task.join(".git"))
            .filter(|git_dir| git_dir.is_dir())
            .for_each(|git_dir| of(&git_dir));
    }
    for (run, folder) in runs(place) {
        let snapshots = folder.join("snapshots.git");
        for key in keys(&folder).iter().filter(|_| snapshots.is_dir()) {
            for attempt in 1..=2 {
                locks.push(snapshots.join(format!("refs/candidates/candidates/{run}/{key}/{attempt}.lock")));
            }
        }
        for task in entries(&folder.join("tasks")) {
            let heads = task.join(".git/refs/heads");
            if heads.is_dir() {
                locks.push(heads.join("task.lock"));
            }
        }
    }
    locks
}

/// Creates some of the possible locks. Returns their paths.
pub(super) fn plant(mut possible: Vec<PathBuf>, chance: &mut Chance) -> Result<Vec<String>, Wrong> {
    chance.shuffle(&mut possible);
    let n_locks = 1 + chance.below(MAX_LOCKS);
    possible.truncate(n_locks);
    let mut planted = Vec::new();
    for lock in possible {
        std::fs::create_dir_all(lock.parent().unwrap_or(&lock)).map_err(broken)?;
        std::fs::write(&lock, "").map_err(broken)?;
        planted.push(lock.display().to_string());
    }
    Ok(planted)
}

/// The locks in the user's repository that no process holds, with their identities.
pub(super) struct Stale(Vec<(PathBuf, Option<(u64, SystemTime)>)>);

impl Stale {
    /// Finds them while no git is active.
    pub(super) fn of(place: &WorkerFolder) -> Self {
        let all = all_below(&place.root().join(".git")).into_iter();
        Stale(all.map(|lock| (lock.clone(), identity(&lock))).collect())
    }

    /// Removes those that a text names. Returns their number.
    pub(super) fn remove_named(&self, place: &WorkerFolder, text: &str) -> usize {
        if !text.contains(".lock") {
            return 0;
        }
        let git_dir = place.root().join(".git");
        let is_named = |(lock, known): &&(PathBuf, Option<(u64, SystemTime)>)| {
            let below = lock.strip_prefix(&git_dir).unwrap_or(lock).display().to_string();
            text.contains(&below) && identity(lock) == *known
        };
        let named = self.0.iter().filter(is_named);
        named.filter(|(lock, _)| std::fs::remove_file(lock).is_ok()).count()
    }
}

fn identity(lock: &Path) -> Option<(u64, SystemTime)> {
    let found = lock.symlink_metadata().ok()?;
    Some((std::os::unix::fs::MetadataExt::ino(&found), found.modified().ok()?))
}

/// The lock files between processes of planwright. They stay, and block no process: the system releases a lock when its process ends.
const OF_PROCESSES: [&str; 2] = ["planwright.lock", "land.lock"];

/// Returns all locks of the user's repository and of planwright's own git directories.
pub(super) fn all(place: &WorkerFolder) -> Vec<String> {
    let mut all = all_below(&place.root().join(".git"));
    all.extend(homes(place).iter().flat_map(|home| all_below(home)));
    all.retain(|lock| !OF_PROCESSES.iter().any(|name| lock.ends_with(name)));
    // A restored workspace has other folders than the original ones: those are moved away with their content.
    all.retain(|lock| !lock.to_string_lossy().contains("/tree.foreign-"));
    all.iter().map(|lock| lock.display().to_string()).collect()
}

fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !path.ends_with(".git/objects") => folders.push(path),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "lock") => found.push(path),
                _ => {}
            }
        }
    }
    found
}

/// Returns the folders of repositories in the user's state folder.
fn homes(place: &WorkerFolder) -> Vec<PathBuf> {
    entries(&place.aside("home/.local/state/planwright"))
}

/// Returns the runs with a folder there, with their ids.
fn runs(place: &WorkerFolder) -> Vec<(String, PathBuf)> {
    let folders = homes(place).into_iter().flat_map(|home| entries(&home.join("runs")));
    folders
        .map(|folder| {
            let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (id, folder)
        })
        .collect()
}

/// Returns the existing checkouts of tasks.
pub(super) fn checkouts(place: &WorkerFolder) -> Vec<String> {
    let folders = runs(place).into_iter().flat_map(|(_, run)| entries(&run.join("tasks")));
    folders.map(|folder| folder.display().to_string()).collect()
}

/// Returns the names of the tasks with a checkout in a run, in the form of refs.
fn keys(run: &Path) -> Vec<String> {
    let tasks = entries(&run.join("tasks"));
    let name = |task: &PathBuf| {
        let name = task.file_name()?.to_str()?;
        Some(name.rsplit_once('.')?.0.to_owned())
    };
    tasks.iter().filter_map(name).collect()
}

/// Returns the folders in a folder, in a fixed order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = found.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}
