//! Protects settings, hooks and configuration that tasks in a shared folder must not change: compared after each attempt, and
//! restored.

use std::collections::BTreeMap;
use std::fs::{self, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::state_links::StateLinks;
use crate::files::{RealFolder, read_file};
use crate::git::{FolderIdentity, Repository};
use crate::layout::{PlanPlace, STATE_FOLDER};
use crate::runs::RunPlace;
use crate::store::new_temporary_name;

const CONFIGURATION: &str = "planwright.toml";

const LOG: &str = "run.journal";

/// The files of a repository that decide what git executes and where it looks.
const OF_REPOSITORY: &[&str] = &["config", "config.worktree", "hooks", "info"];

/// The largest file that is remembered, the number of files, and their total size in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
const MAX_FILES: usize = 1_000;
const MAX_BYTES: u64 = 16 * 1024 * 1024;

const MAX_DEPTH: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathContent {
    File {
        bytes: Vec<u8>,
        permissions: Permissions,
    },
    Link(PathBuf),
    Folder,
    /// A file that is too large to remember, or an entry that is neither file, link nor folder.
    Other(String),
}

#[derive(Debug)]
pub(super) struct SharedGuard {
    roots: Vec<PathBuf>,
    before: BTreeMap<PathBuf, PathContent>,
    /// The repository's folder, which must stay the same one.
    repository: Option<(PathBuf, Option<FolderIdentity>)>,
    workspace: PathBuf,
    /// The logs of other plans and runs, with stamps that show changes: other processes may add to them.
    logs: BTreeMap<PathBuf, String>,
    /// This plan's own journal and this run's own folder.
    own: [PathBuf; 2],
    /// The content of the journal, which only grows.
    journal: Vec<u8>,
    kept_in: PathBuf,
}

#[derive(Debug, Default)]
pub(super) struct RestoredPaths {
    /// The paths, relative to the root of the workspace if they are in it.
    pub(super) paths: Vec<String>,
    pub(super) failed: Vec<(String, String)>,
    pub(super) reported: Vec<String>,
    pub(super) kept_in: PathBuf,
}

impl SharedGuard {
    pub(super) fn take(plan: &PlanPlace, repository: Option<&Repository>, run: &RunPlace) -> Self {
        let workspace = plan.root.as_path();
        let state = workspace.join(STATE_FOLDER);
        let mut roots = vec![workspace.join(CONFIGURATION), state.join(".gitignore")];
        let common = repository.map(Repository::common_folder);
        roots.extend(
            common
                .iter()
                .flat_map(|common| OF_REPOSITORY.iter().map(|name| common.join(name))),
        );
        let pointer = repository.map(|repository| repository.toplevel().join(".git"));
        // In a worktree, `.git` is a file with the path of the repository.
        roots.extend(pointer.filter(|pointer| !pointer.is_dir()));
        SharedGuard {
            before: entries_of(&roots),
            roots,
            repository: common.map(|common| (common.to_owned(), FolderIdentity::of(common))),
            workspace: workspace.to_owned(),
            kept_in: run.folder().join("replaced"),
            logs: BTreeMap::new(),
            journal: read_file(plan.journal()).unwrap_or_default(),
            own: [plan.journal(), run.folder()],
        }
        .with_logs()
    }

    fn with_logs(self) -> Self {
        SharedGuard {
            logs: self.logs_now(),
            ..self
        }
    }

    fn logs_now(&self) -> BTreeMap<PathBuf, String> {
        let state = self.workspace.join(STATE_FOLDER);
        let below = |folder: PathBuf| {
            fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
        };
        let runs = below(state.join("runs")).map(|run| (run.join(LOG), run));
        let journals = below(state.join("journal")).map(|journal| (journal.clone(), journal));
        let others = journals.chain(runs).filter(|(_, own)| !self.own.contains(own));
        let stamped = others.take(MAX_FILES).filter_map(|(log, _)| {
            let found = fs::symlink_metadata(&log).ok()?;
            Some((log, stamp(&found)))
        });
        stamped.collect()
    }

    /// Compares the files with the remembered ones, and restores those that differ.
    pub(super) fn restore(&mut self, links: Option<&StateLinks>) -> RestoredPaths {
        let mut restored = RestoredPaths::default();
        if let Some(links) = links {
            self.restore_state(links, &mut restored);
        }
        self.restore_journal(&mut restored);
        let logs = self.logs_now();
        let is_other = |path: &&PathBuf| logs.get(*path) != self.logs.get(*path);
        let changed = self.logs.keys().filter(is_other);
        restored.reported = changed.map(|path| self.shown(path)).collect();
        self.logs = logs;
        if let Some((folder, identity)) = &self.repository
            && FolderIdentity::of(folder) != *identity
        {
            let why = "another folder has taken its place".to_owned();
            restored.failed.push((self.shown(folder), why));
            return restored;
        }
        let now = entries_of(&self.roots);
        if now == self.before {
            return restored;
        }
        if restored.kept_in.as_os_str().is_empty() {
            restored.kept_in = self.free_folder();
        }
        // Folders before their content; new entries are removed in reverse order.
        for path in now.keys().rev().filter(|path| !self.before.contains_key(*path)) {
            let done = self.put_aside(path, &restored.kept_in);
            self.note(path, done, &mut restored);
        }
        for (path, before) in self
            .before
            .iter()
            .filter(|(path, before)| now.get(*path) != Some(before))
        {
            let done = match now.get(path) {
                Some(PathContent::Folder) if *before == PathContent::Folder => Ok(()),
                Some(_) => self.keep(path, &restored.kept_in).and_then(|()| put_back(path, before)),
                None => put_back(path, before),
            };
            self.note(path, done, &mut restored);
        }
        restored
    }

    /// Restores the state of the workspace if a task removed it: the log of this run, and with it everything else.
    fn restore_state(&self, links: &StateLinks, restored: &mut RestoredPaths) {
        let [journal, run] = &self.own;
        let log = run.join(LOG);
        let state = self.workspace.join(STATE_FOLDER);
        let is_cleared = links.clear_the_way().unwrap_or_else(|error| {
            self.note(&state, Err(error), restored);
            false
        });
        let is_gone = is_cleared || links.has_lost(&log);
        // A rewritten journal has its old content; the log of this run is the file that this process writes to.
        let journals = self.logs.keys().chain([journal]).filter(|path| !path.exists());
        let lost: Vec<PathBuf> = journals.cloned().chain([log]).collect();
        for path in lost.iter().filter(|path| links.has_lost(path)) {
            let folder = self.free_folder();
            let done = links.put_back(path, |path| self.put_aside(path, &folder));
            if fs::symlink_metadata(&folder).is_ok() {
                restored.kept_in = folder;
            }
            self.note(path, done, restored);
        }
        if is_gone {
            let put_back = links.put_all_back().or_else(|error| match links.clear_the_way() {
                // A task put something there after the path was cleared.
                Ok(true) => links.put_all_back(),
                _ => Err(error),
            });
            match put_back {
                Ok(0) if !is_cleared => {}
                done => self.note(&state, done.map(drop), restored),
            }
        }
    }

    /// Restores this plan's journal if its earlier content was changed.
    fn restore_journal(&mut self, restored: &mut RestoredPaths) {
        let path = self.own[0].clone();
        let now = read_file(&path).unwrap_or_default();
        if now.starts_with(&self.journal) {
            self.journal = now;
            return;
        }
        let folder = self.free_folder();
        let kept = match fs::symlink_metadata(&path) {
            Ok(found) => self.keep(&path, &folder).map(|()| found.permissions()),
            Err(error) => Err(error),
        };
        let permissions = kept.or_else(|_| fs::metadata(&self.workspace).map(|found| found.permissions()));
        let done = permissions.and_then(|permissions| {
            let bytes = self.journal.clone();
            put_back(&path, &PathContent::File { bytes, permissions })
        });
        restored.kept_in = folder;
        self.note(&path, done, restored);
    }

    /// Saves a task's version of this run's log, which its writer restores.
    pub(super) fn keep_log(&self, log: &Path, restored: &mut RestoredPaths) {
        let folder = self.free_folder();
        // A missing log leaves nothing to save.
        if self.keep(log, &folder).is_ok() {
            restored.kept_in = folder;
        }
        self.note(log, Ok(()), restored);
    }

    fn note(&self, path: &Path, done: io::Result<()>, restored: &mut RestoredPaths) {
        match done {
            Ok(()) => restored.paths.push(self.shown(path)),
            Err(error) => restored.failed.push((self.shown(path), error.to_string())),
        }
    }

    fn shown(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.workspace).unwrap_or(path);
        below.to_string_lossy().into_owned()
    }

    /// Returns a folder that does not exist yet, for the entries that differ now.
    fn free_folder(&self) -> PathBuf {
        let mut all = (1..).map(|number: u32| self.kept_in.join(number.to_string()));
        all.find(|folder| fs::symlink_metadata(folder).is_err())
            .unwrap_or_else(|| self.kept_in.clone())
    }

    /// Copies the present content before it is replaced.
    fn keep(&self, path: &Path, folder: &Path) -> io::Result<()> {
        let target = self.target(path, folder)?;
        let found = fs::symlink_metadata(path)?;
        match () {
            () if found.is_file() => fs::copy(path, target).map(drop),
            () => fs::rename(path, target),
        }
    }

    /// Moves a new entry away.
    fn put_aside(&self, path: &Path, folder: &Path) -> io::Result<()> {
        let found = fs::symlink_metadata(path)?;
        if found.is_dir() {
            // Its content is already moved.
            return fs::remove_dir(path);
        }
        let target = self.target(path, folder)?;
        fs::rename(path, &target).or_else(|_| {
            // It is on another file system. An entry that is no file, such as a pipe, has no content to keep.
            if found.is_file() {
                fs::copy(path, &target)?;
            }
            fs::remove_file(path)
        })
    }

    fn target(&self, path: &Path, folder: &Path) -> io::Result<PathBuf> {
        let name: Vec<String> = path
            .iter()
            .skip(1)
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        let above = self.workspace.iter().skip(1).count();
        let name = match path.starts_with(&self.workspace) {
            true => name.get(above..).unwrap_or_default().join("+"),
            false => name.join("+"),
        };
        for made in [self.kept_in.as_path(), folder] {
            if fs::symlink_metadata(made).is_ok_and(|found| !found.is_dir()) {
                // A link in place of the folder is not followed.
                fs::remove_file(made)?;
            }
        }
        RealFolder::make_resolved(folder)?;
        Ok(folder.join(name.trim_start_matches('.')))
    }
}

/// Restores the earlier content; a file is renamed into place.
fn put_back(path: &Path, before: &PathContent) -> io::Result<()> {
    let is_in_the_way = |found: &Metadata| found.is_dir() && *before != PathContent::Folder;
    if fs::symlink_metadata(path).is_ok_and(|found| is_in_the_way(&found)) {
        fs::remove_dir(path)?;
    }
    let above = RealFolder::make_resolved(path.parent().unwrap_or(path))?;
    match before {
        PathContent::File { bytes, permissions } => {
            let temporary = path.with_file_name(new_temporary_name());
            let mut file = above.create_new(&temporary)?;
            file.write_all(bytes)?;
            file.set_permissions(permissions.clone())?;
            file.sync_data()?;
            above.rename(&temporary, path)
        }
        PathContent::Link(target) => {
            if fs::symlink_metadata(path).is_ok() {
                fs::remove_file(path)?;
            }
            link(target, path)
        }
        PathContent::Folder => {
            if fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir()) {
                fs::remove_file(path)?;
            }
            RealFolder::make_resolved(path).map(drop)
        }
        PathContent::Other(_) => Err(io::Error::other("it is too large to be remembered")),
    }
}

#[cfg(unix)]
fn link(target: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(not(unix))]
fn link(_target: &Path, _at: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Reads the entries at some paths, and below them if they are folders. Follows no links.
fn entries_of(roots: &[PathBuf]) -> BTreeMap<PathBuf, PathContent> {
    let mut entries = BTreeMap::new();
    let mut n_bytes = 0;
    let mut rest: Vec<(PathBuf, usize)> = roots.iter().map(|root| (root.clone(), 0)).collect();
    while let Some((path, depth)) = rest.pop() {
        let Ok(found) = fs::symlink_metadata(&path) else {
            continue;
        };
        if entries.len() >= MAX_FILES {
            break;
        }
        if found.is_dir() && depth < MAX_DEPTH {
            let below = fs::read_dir(&path).into_iter().flatten().flatten();
            let mut below: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
            below.sort();
            rest.extend(below.into_iter().map(|path| (path, depth + 1)));
        }
        let entry = entry_of(&path, &found, MAX_BYTES - n_bytes);
        if let PathContent::File { bytes, .. } = &entry {
            n_bytes = (n_bytes + bytes.len() as u64).min(MAX_BYTES);
        }
        entries.insert(path, entry);
    }
    entries
}

/// Returns a stamp that shows whether a file has changed, without reading it.
fn stamp(found: &Metadata) -> String {
    format!("{} {:?}", found.len(), found.modified().ok())
}

fn entry_of(path: &Path, found: &Metadata, most: u64) -> PathContent {
    let other = || PathContent::Other(stamp(found));
    match () {
        () if found.is_dir() => PathContent::Folder,
        () if found.is_symlink() => fs::read_link(path).map_or_else(|_| other(), PathContent::Link),
        () if found.is_file() && found.len() <= MAX_FILE_BYTES.min(most) => {
            let mut bytes = Vec::new();
            let read =
                crate::files::open_to_read(path).and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut bytes));
            match read {
                Ok(_) => PathContent::File {
                    bytes,
                    permissions: found.permissions(),
                },
                Err(_) => other(),
            }
        }
        () => other(),
    }
}
