//! Paths of a workspace: its root, and the journal and the lock of each plan in `.planwright`.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::dialect::DIALECTS;

use crate::digest::short_name;
use crate::files::Files;

pub use crate::files::STATE_FOLDER;

/// The configuration file of a workspace, at its root.
pub const CONFIG_FILE: &str = "planwright.toml";

/// The text of the `.gitignore` in the state folder: the state of a workspace is not source code.
pub const IGNORE: &str = "*\n";

/// The folder, from the root of a workspace, for archived plans whose dialect has none.
pub(crate) const ARCHIVE: &str = ".planwright/archive";

/// The folder, from the root of a workspace, for deleted plans: a numbered folder for those with the same path.
pub const TRASH: &str = ".planwright/trash";

/// Returns the root of the workspace of a path. That is the nearest folder upward with `planwright.toml`, `.planwright` or `.git`,
/// otherwise the folder above the one in which a dialect keeps its files, otherwise the path's own folder.
pub fn root_of(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = if absolute.is_dir() {
        absolute.as_path()
    } else {
        absolute.parent().unwrap_or(Path::new("."))
    };
    let is_root = |folder: &&Path| {
        [".git", STATE_FOLDER, CONFIG_FILE]
            .iter()
            .any(|name| folder.join(name).exists())
    };
    let marked = folder.ancestors().find(is_root);
    marked.or_else(|| above_home(folder)).unwrap_or(folder).to_owned()
}

/// Returns the folder above one in which a dialect keeps its files, as `docs/tasks`: paths in a plan are relative to it.
fn above_home(folder: &Path) -> Option<&Path> {
    let places = DIALECTS.iter().flat_map(|dialect| dialect.places());
    let homes = places
        .filter_map(|place| place.rsplit_once('/'))
        .map(|(home, _)| Path::new(home));
    let mut fitting = homes.filter(|home| folder.ends_with(home));
    let home = fitting.next()?;
    folder.ancestors().nth(home.components().count())
}

/// A plan file and the paths of its state. Links are resolved: two names of one file have one place.
#[derive(Clone, Debug)]
pub struct PlanPlace {
    pub target: PathBuf,
    pub root: PathBuf,
    /// The file's path from there, with `/` between its parts.
    pub relative: String,
    /// The name of its journal and its lock: readable, and unique to its path.
    pub key: PlanKey,
}

pub(crate) fn journals_of(root: &Path) -> PathBuf {
    root.join(STATE_FOLDER).join("journal")
}

pub(crate) fn locks_of(root: &Path) -> PathBuf {
    root.join(STATE_FOLDER).join("locks")
}

/// The text that represents a plan's path in file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanKey {
    slug: String,
    hash: u64,
}

impl PlanPlace {
    /// Finds the place of the plan at a path; the file must exist.
    pub fn of(files: &dyn Files, path: &Path) -> io::Result<Self> {
        let target = files.canonical(path)?;
        let root = root_of(&target);
        let below = target.strip_prefix(&root).unwrap_or(&target);
        let relative = joined(below);
        let key = PlanKey::of(&relative);
        Ok(PlanPlace {
            target,
            root,
            relative,
            key,
        })
    }

    /// Returns the place of another path below the same root; the file need not exist.
    pub(crate) fn elsewhere(&self, relative: &str) -> PlanPlace {
        PlanPlace::below(&self.root, relative)
    }

    /// Returns the place of a path below a root; the file need not exist.
    pub fn below(root: &Path, relative: &str) -> PlanPlace {
        PlanPlace {
            target: root.join(relative),
            root: root.to_owned(),
            relative: relative.to_owned(),
            key: PlanKey::of(relative),
        }
    }

    /// Returns the path that a plan in the archive or in the trash had before, derived from its own path.
    pub(crate) fn origin(&self) -> Option<&str> {
        origin_of(&self.relative)
    }

    pub fn folder(&self) -> &Path {
        self.target.parent().unwrap_or(Path::new("."))
    }

    pub fn journals(&self) -> PathBuf {
        journals_of(&self.root)
    }

    pub fn journal(&self) -> PathBuf {
        self.journals().join(self.key.journal())
    }

    pub fn lock(&self) -> PathBuf {
        self.lock_of(&self.key)
    }

    pub(crate) fn lock_of(&self, key: &PlanKey) -> PathBuf {
        locks_of(&self.root).join(format!("{key}.lock"))
    }

    pub(crate) fn make_state_folder(&self, files: &dyn Files) -> io::Result<()> {
        make_state_folder(files, &self.root)
    }

    /// Creates the missing folders between the root and the file.
    pub(crate) fn make_folders(&self, files: &dyn Files) -> io::Result<()> {
        let mut parent = self.root.clone();
        let folders = self.relative.rsplit_once('/').map_or("", |(folders, _)| folders);
        for name in folders.split('/').filter(|name| !name.is_empty()) {
            let folder = parent.join(name);
            if files.metadata(&folder).is_err() {
                make_folder(files, &folder, &parent)?;
            }
            parent = folder;
        }
        Ok(())
    }
}

/// Returns the path that a plan in the archive or in the trash had before, both from the root of the workspace.
pub(crate) fn origin_of(relative: &str) -> Option<&str> {
    let below = |folder: &str| relative.strip_prefix(folder)?.strip_prefix('/');
    below(ARCHIVE).or_else(|| below(TRASH)?.split_once('/').map(|(_, path)| path))
}

pub fn make_state_folder(files: &dyn Files, root: &Path) -> io::Result<()> {
    let state = root.join(STATE_FOLDER);
    let inner = [state.join("locks"), state.join("journal")];
    inner.iter().try_for_each(|folder| refuse_links(files, root, folder))?;
    if inner.iter().all(|folder| files.metadata(folder).is_ok()) {
        return Ok(());
    }
    make_folder(files, &state, root)?;
    // Before the inner folders, so that the next call creates it after a crash in between.
    make_ignore_file(files, &state)?;
    inner.iter().try_for_each(|folder| make_folder(files, folder, &state))
}

/// Creates a folder named after the time in a folder of the state, which is created too. `time` is the present as RFC 3339. Returns the
/// name: `20261116-053012`, with a number appended if it is taken.
pub(crate) fn make_dated_folder(files: &dyn Files, root: &Path, parent: &Path, time: &str) -> io::Result<String> {
    const MAX_OF_A_SECOND: u32 = 10_000;
    make_state_folder(files, root)?;
    refuse_links(files, root, parent)?;
    make_folder(files, parent, &root.join(STATE_FOLDER))?;
    let digits: String = time.chars().filter(char::is_ascii_digit).take(14).collect();
    let (day, clock) = digits.split_at(digits.len().min(8));
    for n in 1..MAX_OF_A_SECOND {
        let name = match n {
            1 => format!("{day}-{clock}"),
            n => format!("{day}-{clock}-{n}"),
        };
        match files.create_folder(&parent.join(&name)) {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Refuses a path in the state folder that contains links: a stranger's checkout could have state written anywhere. A dangling link passes,
/// but no folder can be created in its place.
pub(crate) fn refuse_links(files: &dyn Files, root: &Path, path: &Path) -> io::Result<()> {
    let is_link = |path: &&Path| {
        let found = files.link_metadata(path);
        found.is_ok_and(|found| found.file_type().is_symlink()) && files.metadata(path).is_ok()
    };
    let own = path.ancestors().take_while(|folder| *folder != root);
    match own.filter(is_link).last() {
        None => Ok(()),
        Some(link) => {
            let message = format!("`{}` is a link, and is not followed: make it a folder", link.display());
            Err(io::Error::new(io::ErrorKind::NotADirectory, message))
        }
    }
}

fn make_folder(files: &dyn Files, folder: &Path, parent: &Path) -> io::Result<()> {
    match files.create_folder(folder) {
        Ok(()) => files.sync_folder(parent),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => require_folder(files, folder),
        Err(error) => Err(error),
    }
}

/// Refuses a file, or a dangling link, in place of a folder.
fn require_folder(files: &dyn Files, folder: &Path) -> io::Result<()> {
    match what_else(files.metadata(folder)) {
        None => Ok(()),
        Some(what) => {
            let message = format!("`{}` {what}", folder.display());
            Err(io::Error::new(io::ErrorKind::NotADirectory, message))
        }
    }
}

/// Returns what is in place of a folder; none if it is a folder, or cannot be read.
pub(crate) fn not_a_folder(path: &Path) -> Option<&'static str> {
    what_else(std::fs::metadata(path))
}

fn what_else(found: io::Result<Metadata>) -> Option<&'static str> {
    match found {
        Ok(metadata) if metadata.is_dir() => None,
        Ok(_) => Some("is not a folder"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("is a link that leads nowhere"),
        Err(_) => None,
    }
}

/// Creates a `.gitignore` for the state folder. An existing one is kept.
fn make_ignore_file(files: &dyn Files, state: &Path) -> io::Result<()> {
    let path = state.join(".gitignore");
    if files.metadata(&path).is_ok_and(|metadata| metadata.len() > 0) {
        return Ok(());
    }
    let file = files.open_shared(&path)?;
    files.write(&file, IGNORE.as_bytes())?;
    files.sync(&file)
}

impl PlanKey {
    /// Returns the key of a path from the root of a workspace.
    pub fn of(relative: &str) -> Self {
        let name = relative.rsplit('/').next().unwrap_or(relative);
        PlanKey {
            slug: slug(name),
            hash: short_name(relative.as_bytes()),
        }
    }

    pub(crate) fn journal(&self) -> String {
        format!("{self}.{JOURNAL_EXTENSION}")
    }

    /// Returns the part that makes it unique: 16 hexadecimal digits.
    pub(crate) fn hash(&self) -> String {
        format!("{:016x}", self.hash)
    }
}

impl std::fmt::Display for PlanKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{:016x}", self.slug, self.hash)
    }
}

pub(crate) const JOURNAL_EXTENSION: &str = "journal";

/// Returns a safe part of a file name: lower-case letters, digits and single hyphens.
fn slug(name: &str) -> String {
    const MAX_CHARS: usize = 48;
    let mut slug = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= MAX_CHARS {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        "plan".to_owned()
    } else {
        slug.to_owned()
    }
}

/// Returns a relative path with `/` between its parts.
fn joined(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_readable_and_differ_by_path() {
        let (one, other) = (PlanKey::of("a/Tasks 1.json"), PlanKey::of("b/Tasks 1.json"));
        assert_ne!(one, other);
        assert!(one.to_string().starts_with("tasks-1-json-"));
        assert_eq!(one.to_string().len(), "tasks-1-json-".len() + 16);
    }

    #[test]
    fn archived_and_deleted_paths_give_their_origin() {
        for (relative, origin) in [
            (".planwright/archive/.aimi/tasks/a.json", Some(".aimi/tasks/a.json")),
            (".planwright/trash/12/a.json", Some("a.json")),
            (".planwright/trash/12", None),
            (".planwright/archived/a.json", None),
            ("a.json", None),
        ] {
            assert_eq!(origin_of(relative), origin, "{relative}");
        }
    }

    #[test]
    fn names_cannot_escape_the_folder() {
        for name in [
            "..",
            "../../etc/passwd",
            "\u{1b}[31m",
            "-rf",
            "",
            "…",
            &"x".repeat(4000),
        ] {
            let key = PlanKey::of(name).to_string();
            assert!(key.len() < 80, "{key}");
            assert!(
                key.chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
                "{key}"
            );
            assert!(!key.starts_with('-'));
        }
    }
}
