//! A checkout for each task, with its own git directory: the agent's git commands affect nothing else.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::GitError;
use super::answers::{line_of, parts, require_id, text_of};
use super::command::GitLocation;
use super::own_git_dir::{
    FrozenSettings, make_folder, path_error, remove_folder, remove_locks, set_refs, tags_of, write,
};
use super::repository::Repository;
use super::special_files::remove_special_files;
use crate::files::{read_file, read_text};

/// The bare git directory of a run that takes snapshots.
const SNAPSHOTS: &str = "snapshots.git";

/// The folder of a run with the checkouts of tasks.
const TASKS: &str = "tasks";

/// The branch that is checked out for a task, in its own git directory.
const TASK_BRANCH: &str = "task";

const MAX_NAMES: u32 = 1000;

/// How many refs of an agent's git directory are read.
const MAX_REFS: usize = 1000;

/// The checkouts of one run, in a folder outside of the user's repository.
#[derive(Debug)]
pub struct Checkouts {
    pub(super) repository: Repository,
    folder: PathBuf,
    frozen: FrozenSettings,
    pub(super) snapshots: PathBuf,
    tags: OnceLock<Vec<u8>>,
    /// The submodules, as paths from the top. A run does not add any.
    pub(super) submodules: OnceLock<Vec<Vec<u8>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCheckout {
    folder: PathBuf,
    identity: FolderIdentity,
    base: String,
}

/// Distinguishes a folder from another one that replaced it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderIdentity(String);

impl FolderIdentity {
    /// Returns the identity of a folder; none for a link or a missing folder.
    pub fn of(folder: &Path) -> Option<Self> {
        let metadata = folder.symlink_metadata().ok().filter(Metadata::is_dir)?;
        Some(FolderIdentity(identity_of(&metadata)))
    }

    pub fn from_record(text: &str) -> Self {
        FolderIdentity(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns a text that distinguishes a file or folder from another one that replaced it. The system soon reuses inode numbers, so the birth
/// time is a part of it.
pub(super) fn identity_of(metadata: &Metadata) -> String {
    let born = metadata.created().ok();
    let born = born.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let born = born.map_or_else(String::new, |time| format!(":{}", time.as_nanos()));
    format!("{}{born}", inode(metadata))
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt as _;
    format!("{}:{}", metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> String {
    String::new()
}

impl TaskCheckout {
    pub fn path(&self) -> &Path {
        &self.folder
    }

    pub fn identity(&self) -> &FolderIdentity {
        &self.identity
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns the variables for processes that work in it: a git that does not find its `.git` must find no other one.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let above = self.folder.parent().unwrap_or(&self.folder);
        vec![("GIT_CEILING_DIRECTORIES".into(), above.into())]
    }

    /// Checks that the folder is the original one.
    pub(crate) fn require_identity(&self) -> Result<(), GitError> {
        match FolderIdentity::of(&self.folder) {
            Some(found) if found == self.identity => Ok(()),
            _ => Err(GitError::LostCheckout(self.folder.clone())),
        }
    }
}

impl Checkouts {
    /// Opens the folder of a run, which stores the settings of the user's repository from its creation.
    pub fn open(repository: &Repository, folder: &Path) -> Result<Self, GitError> {
        make_folder(&folder.join(TASKS))?;
        let folder = super::repository::canonical(folder)?;
        let frozen = FrozenSettings::freeze(repository, &folder)?;
        let snapshots = folder.join(SNAPSHOTS);
        // An unfinished one is created again: it holds nothing that is needed.
        if !snapshots.join("objects/info/alternates").exists() || !snapshots.join("HEAD").exists() {
            remove_folder(&snapshots).map_err(path_error(&snapshots))?;
            frozen.init_bare(&snapshots)?;
        }
        remove_locks(&snapshots);
        Ok(Checkouts {
            repository: repository.clone(),
            folder,
            frozen,
            snapshots,
            tags: OnceLock::new(),
            submodules: OnceLock::new(),
        })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Replaces paths in the checkouts of tasks by those in the repository: the folder is removed when the work has landed, and differs on
    /// every machine.
    pub(crate) fn without_folders(&self, text: &str) -> String {
        let Some(prefix) = self.folder.join(TASKS).to_str().map(|tasks| format!("{tasks}/")) else {
            return text.to_owned();
        };
        let mut parts = text.split(&prefix);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let is_end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
            let rest = part.find(is_end).map_or("", |at| &part[at..]);
            match rest.strip_prefix('/') {
                Some(path) if path.starts_with(|c: char| !c.is_whitespace()) => out.push_str(path),
                _ => {
                    out.push('.');
                    out.push_str(rest);
                }
            }
        }
        out
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns the settings for every git directory of the run.
    pub fn frozen(&self) -> &FrozenSettings {
        &self.frozen
    }

    /// Creates a checkout of a commit. `name` consists of letters, digits, `-`, `_` and `.`.
    pub fn create(&self, name: &str, base: &str) -> Result<TaskCheckout, GitError> {
        require_id(base)?;
        let folder = self.free_folder(name)?;
        if let Err(error) = self.fill(&folder, base) {
            // No agent has worked in it. If the removal fails, the earlier error matters.
            let _ = remove_folder(&folder);
            return Err(error);
        }
        let lost = || GitError::LostCheckout(folder.clone());
        let identity = FolderIdentity::of(&folder).ok_or_else(lost)?;
        Ok(TaskCheckout {
            identity,
            base: base.to_owned(),
            folder,
        })
    }

    fn fill(&self, folder: &Path, base: &str) -> Result<(), GitError> {
        let git_dir = self.frozen.init_work_tree(folder)?;
        set_refs(&git_dir, TASK_BRANCH, base, self.tags()?)?;
        let place = GitLocation::with_git_dir(folder, &git_dir);
        let words = ["reset", "--quiet", "--hard", "--no-recurse-submodules"];
        place.git(&words).run()
    }

    /// Prepares a checkout for another attempt. A killed git of the last one may have left locks. If its git directory is missing, or
    /// points elsewhere, it gets a new one: the next agent would commit to another repository.
    pub(crate) fn reopen(&self, checkout: &TaskCheckout) -> Result<(), GitError> {
        checkout.require_identity()?;
        remove_special_files(&checkout.folder);
        let git_dir = checkout.folder.join(".git");
        if is_own_git_dir(&git_dir) {
            remove_locks(&git_dir);
            return Ok(());
        }
        self.put_git_aside(checkout)?;
        let git_dir = self.frozen.init_work_tree(&checkout.folder)?;
        set_refs(&git_dir, TASK_BRANCH, &checkout.base, self.tags()?)?;
        let place = GitLocation::with_git_dir(&checkout.folder, &git_dir);
        place.git(&["read-tree", &checkout.base]).run()
    }

    /// Removes settings and hooks from a kept checkout: a person who uses git in it would execute them.
    pub(crate) fn disarm(&self, checkout: &TaskCheckout) -> Result<(), GitError> {
        checkout.require_identity()?;
        let git_dir = checkout.folder.join(".git");
        match is_own_git_dir(&git_dir) {
            true => self.frozen.disarm(&git_dir),
            // Without one, git would treat the folder itself as a repository if it looks like one.
            false => self.reopen(checkout),
        }
    }

    /// Moves the present git directory of a checkout next to it.
    fn put_git_aside(&self, checkout: &TaskCheckout) -> Result<(), GitError> {
        let git_dir = checkout.path().join(".git");
        if git_dir.symlink_metadata().is_ok() {
            let kept = self.free_name(&self.folder.join(TASKS), &format!("{}.git", name_of(checkout.path())))?;
            fs::rename(&git_dir, &kept).map_err(path_error(&kept))?;
        }
        Ok(())
    }

    /// Records which files below some paths were copied into a new checkout: files that an agent adds there are its own work.
    pub(crate) fn remember_copied(&self, checkout: &TaskCheckout, paths: &[String]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let place = GitLocation::with_git_dir(&checkout.folder, &checkout.folder.join(".git"));
        let call = place.git(&["ls-files", "--others", "-z", "--"]);
        let files = paths.iter().fold(call, |call, path| call.arg(path)).output()?;
        write(&self.copied_file(checkout), &files)
    }

    /// Returns the files that were copied into a checkout one by one.
    pub fn copied(&self, checkout: &TaskCheckout) -> Vec<String> {
        let files = read_file(self.copied_file(checkout)).unwrap_or_default();
        parts(&files).map(text_of).collect()
    }

    fn copied_file(&self, checkout: &TaskCheckout) -> PathBuf {
        self.folder.join(format!("{}.copied", name_of(&checkout.folder)))
    }

    /// Finds a checkout that was created before, if its folder is still the original one.
    pub fn find(&self, folder: &Path, identity: &FolderIdentity, base: &str) -> Result<TaskCheckout, GitError> {
        require_id(base)?;
        let checkout = TaskCheckout {
            folder: folder.to_owned(),
            identity: identity.clone(),
            base: base.to_owned(),
        };
        checkout.require_identity()?;
        Ok(checkout)
    }

    pub fn remove(&self, checkout: &TaskCheckout) -> Result<(), GitError> {
        match FolderIdentity::of(&checkout.folder) {
            Some(found) if found == checkout.identity => {
                self.remove_kept_git(checkout)?;
                remove_folder(&checkout.folder).map_err(path_error(&checkout.folder))
            }
            // A folder that replaced it is not ours.
            _ => Ok(()),
        }
    }

    /// Records the tree of a prepared checkout: files made by the preparation are not an agent's work.
    pub(crate) fn remember_prepared(
        &self,
        checkout: &TaskCheckout,
        is_own: &dyn Fn(&str) -> bool,
    ) -> Result<(), GitError> {
        let tree = self.tree_of(checkout, is_own, &[])?;
        write(&self.prepared_file(checkout), tree.as_bytes())
    }

    /// Returns the tree of the prepared checkout, if commands prepared it.
    pub fn prepared(&self, checkout: &TaskCheckout) -> Option<String> {
        let tree = read_text(self.prepared_file(checkout)).ok()?;
        require_id(&tree).is_ok().then_some(tree)
    }

    fn prepared_file(&self, checkout: &TaskCheckout) -> PathBuf {
        self.folder.join(format!("{}.prepared", name_of(&checkout.folder)))
    }

    /// Removes the git directories that a checkout had before conflicts were put into it.
    fn remove_kept_git(&self, checkout: &TaskCheckout) -> Result<(), GitError> {
        let beginning = format!("{}.git", name_of(&checkout.folder));
        let tasks = self.folder.join(TASKS);
        for entry in fs::read_dir(&tasks).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let rest = name.to_string_lossy().strip_prefix(&beginning).map(str::to_owned);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')) {
                remove_folder(&entry.path()).map_err(path_error(&entry.path()))?;
            }
        }
        Ok(())
    }

    /// Removes the checkouts that are not in `known`: a run was killed while it created them, and no agent ever worked there.
    pub(crate) fn remove_unknown(&self, known: &[&Path]) {
        let names: Vec<String> = known.iter().map(|folder| name_of(folder)).collect();
        let is_known = |name: &str| {
            let mut rests = names.iter().filter_map(|known| name.strip_prefix(known.as_str()));
            rests.any(|rest| rest.is_empty() || rest.starts_with(".git"))
        };
        for entry in fs::read_dir(self.folder.join(TASKS)).into_iter().flatten().flatten() {
            if !is_known(&entry.file_name().to_string_lossy()) {
                // A remaining one is harmless.
                let _ = remove_folder(&entry.path());
            }
        }
    }

    /// Removes the folder of the run if it holds no checkout any more. Returns whether it was removed.
    pub(crate) fn remove_if_empty(&self) -> Result<bool, GitError> {
        let mut left = fs::read_dir(self.folder.join(TASKS)).into_iter().flatten();
        if left.next().is_some() {
            return Ok(false);
        }
        remove_folder(&self.folder).map_err(path_error(&self.folder))?;
        Ok(true)
    }

    /// Puts a merge with conflicts into a checkout. Its files become those of `tree`, and its base becomes `tip`. Its new git directory has
    /// `stages` (as `git update-index --index-info` reads them) as unmerged files. The agent's earlier git directory is kept next to the
    /// checkouts.
    pub fn bring_conflict(
        &self,
        checkout: &TaskCheckout,
        from_tree: &str,
        tree: &str,
        tip: &str,
        stages: &[u8],
    ) -> Result<TaskCheckout, GitError> {
        [from_tree, tree, tip].into_iter().try_for_each(require_id)?;
        checkout.require_identity()?;
        let index = self.folder.join(format!("index.{}", std::process::id()));
        let place = GitLocation::with_git_dir(checkout.path(), &self.snapshots).with_index(&index);
        let laid_out = place
            .git(&["read-tree", from_tree])
            .run()
            .and_then(|()| place.git(&["read-tree", "--reset", "-u", tree]).run());
        let _ = fs::remove_file(&index);
        laid_out?;
        self.put_git_aside(checkout)?;
        let git_dir = self.frozen.init_work_tree(checkout.path())?;
        set_refs(&git_dir, TASK_BRANCH, tip, self.tags()?)?;
        let place = GitLocation::with_git_dir(checkout.path(), &git_dir);
        place.git(&["read-tree", tip]).run()?;
        if !stages.is_empty() {
            let call = place.git(&["update-index", "-z", "--index-info"]);
            call.input(stages.to_vec()).run()?;
        }
        Ok(TaskCheckout {
            base: tip.to_owned(),
            ..checkout.clone()
        })
    }

    /// Returns the refs in a checkout's own git directory whose commits are not part of its checked-out commit: a stash, other branches.
    /// Reads the refs as text, since that git directory is the agent's.
    pub fn other_work(&self, checkout: &TaskCheckout) -> Vec<String> {
        let git_dir = checkout.path().join(".git");
        let refs = refs_as_text(&git_dir);
        let head = head_as_text(&git_dir, &refs);
        let is_other = |(name, tip): (&String, &String)| {
            let is_checked_out = head.as_ref() == Some(tip) || tip == checkout.base();
            let is_work = name.starts_with("refs/heads/") || name == "refs/stash";
            is_work && !is_checked_out && self.has_more(&git_dir, tip, head.as_deref(), checkout.base())
        };
        refs.iter()
            .filter(|entry| is_other(*entry))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Returns whether a commit of an agent has history that neither another one nor the base has; true if git cannot decide.
    fn has_more(&self, git_dir: &Path, tip: &str, head: Option<&str>, base: &str) -> bool {
        let place = GitLocation::with_git_dir(&self.folder, &self.snapshots);
        let call = place.git(&["rev-list", "--max-count=1", tip, "--not", base]);
        let call = head.into_iter().fold(call, |call, head| call.arg(head));
        let objects = git_dir.join("objects");
        match call.variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects).output() {
            Ok(output) => !line_of(&output).is_empty(),
            Err(_) => true,
        }
    }

    fn tags(&self) -> Result<&[u8], GitError> {
        if let Some(tags) = self.tags.get() {
            return Ok(tags);
        }
        let tags = tags_of(&self.repository)?;
        Ok(self.tags.get_or_init(|| tags))
    }

    fn free_folder(&self, name: &str) -> Result<PathBuf, GitError> {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_name = name.chars().all(is_safe) && name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !is_name || name.len() > 128 {
            return Err(GitError::BadName {
                name: name.to_owned(),
                what: "a checkout",
            });
        }
        self.free_name(&self.folder.join(TASKS), name)
    }

    /// Returns a free path in a folder: a killed run may have left one that it never used.
    fn free_name(&self, folder: &Path, name: &str) -> Result<PathBuf, GitError> {
        let names = std::iter::once(name.to_owned()).chain((2..=MAX_NAMES).map(|nth| format!("{name}-{nth}")));
        let mut paths = names.map(|name| folder.join(name));
        let free = paths.find(|path| path.symlink_metadata().is_err());
        free.ok_or_else(|| GitError::Exists(folder.join(name)))
    }
}

/// Returns whether git would use a git directory as is: a folder that points nowhere else.
fn is_own_git_dir(git_dir: &Path) -> bool {
    let is_folder = git_dir.symlink_metadata().is_ok_and(|found| found.is_dir());
    let config = read_text(git_dir.join("config")).unwrap_or_default();
    let is_work_tree = |line: &str| {
        let rest = line
            .trim()
            .to_ascii_lowercase()
            .strip_prefix("worktree")
            .map(str::to_owned);
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let leads_elsewhere = config.lines().any(is_work_tree) || git_dir.join("commondir").exists();
    is_folder && git_dir.join("HEAD").is_file() && !leads_elsewhere
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the refs of a git directory, read as plain files.
fn refs_as_text(git_dir: &Path) -> BTreeMap<String, String> {
    let mut refs = BTreeMap::new();
    let packed = read_text(git_dir.join("packed-refs")).unwrap_or_default();
    let lines = packed.lines().filter_map(|line| line.split_once(' '));
    refs.extend(
        lines
            .take(MAX_REFS)
            .map(|(tip, name)| (name.to_owned(), tip.to_owned())),
    );
    let mut folders = vec![("refs".to_owned(), git_dir.join("refs"))];
    while let Some((name, folder)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push((name, entry.path())),
                Ok(kind) if kind.is_file() && refs.len() < MAX_REFS => {
                    let tip = read_text(entry.path()).unwrap_or_default();
                    refs.insert(name, tip.trim().to_owned());
                }
                _ => {}
            }
        }
    }
    refs.retain(|_, tip| require_id(tip).is_ok());
    refs
}

fn head_as_text(git_dir: &Path, refs: &BTreeMap<String, String>) -> Option<String> {
    let head = read_text(git_dir.join("HEAD")).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref: ") {
        Some(name) => refs.get(name).cloned(),
        None => require_id(head).is_ok().then(|| head.to_owned()),
    }
}
