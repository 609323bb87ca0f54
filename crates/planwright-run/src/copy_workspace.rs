//! Copies a workspace to another folder, so that a plan runs without touching the original. Never writes into a folder with other
//! content.

use std::collections::VecDeque;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::faults;
use crate::files::{DiskFiles, Files as _};
use crate::layout::{CONFIG_FILE, PlanPlace, STATE_FOLDER};
use crate::store::{is_temporary, new_temporary_name, stale_temporaries};

pub const MAX_FILES: usize = 10_000;

pub const MAX_BYTES: u64 = 200_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceCopy {
    pub plan: PathBuf,
    /// How many files were copied; none if the copy already existed.
    pub n_copied: Option<usize>,
    /// The links that lead out of the workspace, and entries that are neither file, folder nor link.
    pub left_out: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum WorkspaceCopyError {
    #[error("`{}` is the workspace itself, not a place for a copy of it", .0.display())]
    Itself(PathBuf),
    #[error("`{}` is not empty, and is no copy of this workspace", .0.display())]
    Occupied(PathBuf),
    #[error("`{}` is not a folder", .0.display())]
    NotAFolder(PathBuf),
    #[error("the workspace `{}` has more than {MAX_FILES} files, too many to copy", .0.display())]
    TooMany(PathBuf),
    #[error("the workspace `{}` has more than {} MB, too much to copy", .0.display(), MAX_BYTES / 1_000_000)]
    TooLarge(PathBuf),
    #[error("`{}` cannot be copied", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl WorkspaceCopyError {
    pub fn help(&self) -> &'static str {
        match self {
            WorkspaceCopyError::Itself(_) | WorkspaceCopyError::NotAFolder(_) => "name a folder that does not exist",
            WorkspaceCopyError::Occupied(_) => "name a folder that does not exist, or remove this one",
            WorkspaceCopyError::TooMany(_) | WorkspaceCopyError::TooLarge(_) => {
                "copy the files you need, and run the plan there"
            }
            WorkspaceCopyError::Io { .. } => "",
        }
    }

    /// Returns whether the machine failed, not its user.
    pub fn is_environment(&self) -> bool {
        matches!(self, WorkspaceCopyError::Io { .. })
    }

    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| WorkspaceCopyError::Io { path, source }
    }
}

/// Copies the workspace of a plan to a folder, except `.git`, `.planwright` and cargo's build output. Leaves a folder that already holds
/// such a copy unchanged. A copy is made next to its folder, and is renamed into place when it is complete.
pub fn duplicate(plan: &PlanPlace, folder: &Path) -> Result<WorkspaceCopy, WorkspaceCopyError> {
    let copy = WorkspaceCopy {
        plan: folder.join(&plan.relative),
        n_copied: None,
        left_out: Vec::new(),
    };
    if let ExistingTarget::Copy = state_of(plan, folder)? {
        return Ok(copy);
    }
    let inventory = WorkspaceEntries::of(&plan.root, fs::canonicalize(folder).ok().as_deref())?;
    let n_copied = match inventory.make(plan, folder) {
        Ok(n_copied) => n_copied,
        // Another process may have made the copy in the meantime.
        Err(error) => {
            return match state_of(plan, folder) {
                Ok(ExistingTarget::Copy) => Ok(copy),
                _ => Err(error),
            };
        }
    };
    Ok(WorkspaceCopy {
        n_copied: Some(n_copied),
        left_out: inventory.left_out,
        ..copy
    })
}

enum ExistingTarget {
    Nothing,
    Copy,
}

fn state_of(plan: &PlanPlace, folder: &Path) -> Result<ExistingTarget, WorkspaceCopyError> {
    let own = match fs::canonicalize(folder) {
        Ok(own) => own,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ExistingTarget::Nothing),
        Err(source) => {
            let path = folder.to_owned();
            return Err(WorkspaceCopyError::Io { path, source });
        }
    };
    if own == plan.root {
        return Err(WorkspaceCopyError::Itself(folder.to_owned()));
    }
    if !own.is_dir() {
        return Err(WorkspaceCopyError::NotAFolder(folder.to_owned()));
    }
    if own.join(&plan.relative).is_file() && own.join(CONFIG_FILE).is_file() {
        return Ok(ExistingTarget::Copy);
    }
    let mut entries = fs::read_dir(&own).map_err(WorkspaceCopyError::io(folder))?;
    match entries.next() {
        None => Ok(ExistingTarget::Nothing),
        Some(_) => Err(WorkspaceCopyError::Occupied(folder.to_owned())),
    }
}

/// The entries of a workspace to copy: paths from its root, each folder before its content.
#[derive(Default)]
struct WorkspaceEntries {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    links: Vec<(PathBuf, PathBuf)>,
    left_out: Vec<PathBuf>,
    n_bytes: u64,
}

impl WorkspaceEntries {
    /// Lists a workspace. `except` is the path of the copy itself.
    fn of(root: &Path, except: Option<&Path>) -> Result<Self, WorkspaceCopyError> {
        let mut inventory = WorkspaceEntries::default();
        let mut queue = VecDeque::from([PathBuf::new()]);
        while let Some(folder) = queue.pop_front() {
            let here = root.join(&folder);
            let entries = fs::read_dir(&here).map_err(WorkspaceCopyError::io(&here))?;
            for entry in entries {
                let entry = entry.map_err(WorkspaceCopyError::io(&here))?;
                let relative = folder.join(entry.file_name());
                let path = root.join(&relative);
                let metadata = fs::symlink_metadata(&path).map_err(WorkspaceCopyError::io(&path))?;
                if Some(path.as_path()) == except || is_passed_over(&path, &relative, &metadata) {
                    continue;
                }
                if metadata.is_dir() {
                    queue.push_back(relative.clone());
                }
                inventory.take(root, relative, &metadata)?;
            }
        }
        Ok(inventory)
    }

    fn take(&mut self, root: &Path, relative: PathBuf, metadata: &Metadata) -> Result<(), WorkspaceCopyError> {
        let path = root.join(&relative);
        if metadata.is_dir() {
            self.folders.push(relative);
        } else if metadata.is_file() {
            self.n_bytes = self.n_bytes.saturating_add(metadata.len());
            self.files.push(relative);
        } else if metadata.is_symlink() {
            let target = fs::read_link(&path).map_err(WorkspaceCopyError::io(&path))?;
            match stays_inside(root, &relative, &target) {
                true => self.links.push((relative, target)),
                false => self.left_out.push(relative),
            }
        } else {
            self.left_out.push(relative);
        }
        let n_entries = self.folders.len() + self.files.len() + self.links.len() + self.left_out.len();
        match () {
            () if n_entries > MAX_FILES => Err(WorkspaceCopyError::TooMany(root.to_owned())),
            () if self.n_bytes > MAX_BYTES => Err(WorkspaceCopyError::TooLarge(root.to_owned())),
            () => Ok(()),
        }
    }

    /// Makes the copy under a temporary name, renames it, and returns its number of files.
    fn make(&self, plan: &PlanPlace, folder: &Path) -> Result<usize, WorkspaceCopyError> {
        // The existing folder is empty, and may be the target of a link.
        let own = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let above = match own.parent() {
            Some(above) if !above.as_os_str().is_empty() => above,
            _ => Path::new("."),
        };
        fs::create_dir_all(above).map_err(WorkspaceCopyError::io(above))?;
        let temporary = above.join(new_temporary_name());
        let made = DiskFiles.create_folder(&temporary);
        made.map_err(WorkspaceCopyError::io(&temporary))?;
        remove_abandoned(above, &temporary);
        if let Ok(metadata) = fs::metadata(&own) {
            fs::set_permissions(&temporary, metadata.permissions()).ok();
        }
        let copied = self.copy(plan, &temporary).and_then(|n_copied| {
            // Only Unix renames a folder over an empty one.
            fs::remove_dir(&own).ok();
            let named = DiskFiles.rename(&temporary, &own);
            named.map(|()| n_copied).map_err(WorkspaceCopyError::io(&own))
        });
        if copied.is_err() {
            fs::remove_dir_all(&temporary).ok();
        }
        copied
    }

    /// Copies everything to an empty folder, and returns the number of files.
    fn copy(&self, plan: &PlanPlace, to: &Path) -> Result<usize, WorkspaceCopyError> {
        for folder in &self.folders {
            let folder = to.join(folder);
            fs::create_dir_all(&folder).map_err(WorkspaceCopyError::io(&folder))?;
        }
        let relative = Path::new(&plan.relative);
        let others = self.files.iter().map(PathBuf::as_path).filter(|file| *file != relative);
        for file in others {
            copy_file(&plan.root.join(file), &to.join(file))?;
        }
        // The plan may be in a folder that is not copied.
        let own = to.join(relative);
        if let Some(folder) = own.parent() {
            fs::create_dir_all(folder).map_err(WorkspaceCopyError::io(folder))?;
        }
        copy_file(&plan.target, &own)?;
        for (link, target) in &self.links {
            make_link(target, &to.join(link))?;
        }
        let configuration = to.join(CONFIG_FILE);
        if !configuration.is_file() {
            // It may be a link to nowhere.
            fs::remove_file(&configuration).ok();
            // Without it, the copy would belong to a workspace around it.
            let text = "# The root of a workspace: a copy that `planwright run --copy-to` made.\n";
            write(&configuration, text)?;
        }
        Ok(self.files.len())
    }
}

fn copy_file(from: &Path, to: &Path) -> Result<(), WorkspaceCopyError> {
    let copied = faults::step("copy file").and_then(|()| fs::copy(from, to));
    copied.map(drop).map_err(WorkspaceCopyError::io(from))
}

fn write(path: &Path, text: &str) -> Result<(), WorkspaceCopyError> {
    let written = faults::step("write file").and_then(|()| fs::write(path, text));
    written.map_err(WorkspaceCopyError::io(path))
}

/// Removes copies that were interrupted: those with our temporary name that were not changed for an hour. The file system's clock decides,
/// as the times of our own copy show it.
fn remove_abandoned(folder: &Path, own: &Path) {
    let Ok(now) = fs::metadata(own).and_then(|metadata| metadata.modified()) else {
        return;
    };
    let stale = stale_temporaries(&DiskFiles, folder, now).into_iter();
    for path in stale.filter(|path| path.is_dir()) {
        fs::remove_dir_all(path).ok();
    }
}

/// Returns whether an entry is not the project's own: git's data, planwright's state, build output.
fn is_passed_over(path: &Path, relative: &Path, metadata: &Metadata) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    match name {
        ".git" | STATE_FOLDER => true,
        name if is_temporary(name) => true,
        // Elsewhere, a folder of the project may have this name by chance.
        "target" if metadata.is_dir() => relative.components().count() == 1 || path.join("CACHEDIR.TAG").is_file(),
        _ => false,
    }
}

/// Returns whether a link points into the same workspace, and still will in a copy of it.
fn stays_inside(root: &Path, link: &Path, target: &Path) -> bool {
    let mut depth = link.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    // On its way it may pass through other links.
    fs::canonicalize(root.join(link)).map_or(true, |real| real.starts_with(root))
}

#[cfg(unix)]
fn make_link(target: &Path, link: &Path) -> Result<(), WorkspaceCopyError> {
    std::os::unix::fs::symlink(target, link).map_err(WorkspaceCopyError::io(link))
}

#[cfg(not(unix))]
fn make_link(_target: &Path, link: &Path) -> Result<(), WorkspaceCopyError> {
    let source = io::Error::new(io::ErrorKind::Unsupported, "links cannot be made on this system");
    Err(WorkspaceCopyError::io(link)(source))
}
