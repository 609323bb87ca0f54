//! Prepares a new checkout: copies files that git does not track, and runs setup commands. Does not know plans.

mod slot;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::config::{Command, RunConfig};
use crate::faults;
use crate::files::{read_text, symlink};
use crate::git::{GitError, Repository, is_repository_variable};
use crate::programs::program;

pub use slot::SlotError;

/// Files with settings of a developer's machine, which projects do not commit.
const SETTINGS_FILES: &[&str] = &[
    ".env",
    ".env.local",
    ".env.development",
    ".env.development.local",
    ".env.test",
    ".env.test.local",
];

/// The usual folders of virtual environments in Python projects.
const VIRTUAL_ENVIRONMENTS: &[&str] = &[".venv", "venv"];

const MARK_OF_VIRTUAL_ENVIRONMENT: &str = "pyvenv.cfg";

/// Variables that would have several checkouts build into one folder.
const SHARED_BUILDS: &[&str] = &["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"];

/// Variables that hold lists of folders.
const SEARCH_PATHS: &[&str] = &[
    "PATH",
    "PYTHONPATH",
    "NODE_PATH",
    "GOPATH",
    "CLASSPATH",
    "LD_LIBRARY_PATH",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preparation {
    /// Files and folders to copy, from the root of the workspace.
    pub copy: Vec<String>,
    /// The copied folders that git does not ignore: files that the agent adds there may land.
    pub mixed: Vec<String>,
    /// Commands to run in the root of the workspace, one after another.
    pub setup: Vec<Command>,
    /// Whether the configuration has the commands: then they also run in checkouts that were set up before.
    pub is_setup_configured: bool,
    /// The virtual environment that the commands may create, relative to the root of the workspace.
    pub virtual_environment: &'static str,
    pub remarks: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum PreparationError {
    #[error("run.copy: `{0}` is not a path inside of the workspace")]
    Outside(String),
    #[error("run.copy: git keeps `{0}`, so that every checkout has it already")]
    Tracked(String),
    #[error("run.copy: `{0}` is a virtual environment of Python, which works in its own place alone")]
    VirtualEnvironment(String),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl PreparationError {
    pub fn help(&self) -> &'static str {
        match self {
            PreparationError::Outside(_) => "name files and folders below the workspace, as \".env\"",
            PreparationError::Tracked(_) => "leave it out: what is copied never lands",
            PreparationError::VirtualEnvironment(_) => {
                "leave it out, and have it made again: run.setup = [[\"python3\", \"-m\", \"venv\", \".venv\"], …]"
            }
            PreparationError::Git(_) => "",
        }
    }
}

impl Default for Preparation {
    fn default() -> Self {
        Preparation {
            copy: Vec::new(),
            mixed: Vec::new(),
            setup: Vec::new(),
            is_setup_configured: false,
            virtual_environment: VIRTUAL_ENVIRONMENTS[0],
            remarks: Vec::new(),
        }
    }
}

impl Preparation {
    /// Returns how to prepare checkouts: as configured, otherwise as the project needs it.
    pub fn of(config: &RunConfig, repository: &Repository, root: &Path) -> Result<Self, PreparationError> {
        let mut prepared = Preparation::default();
        match &config.checkouts.copy {
            Some(paths) => prepared.take_paths(paths, repository, root)?,
            None => prepared.copy = usual_copies(repository, root)?,
        }
        match &config.checkouts.setup {
            Some(commands) => {
                prepared.setup.clone_from(commands);
                prepared.is_setup_configured = true;
            }
            None => prepared.set_up_python(root),
        }
        Ok(prepared)
    }

    fn take_paths(&mut self, paths: &[String], repository: &Repository, root: &Path) -> Result<(), PreparationError> {
        for path in paths {
            let parts: Vec<Component<'_>> = Path::new(path).components().collect();
            let is_below = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
            if parts.is_empty() || !parts.iter().all(is_below) || parts.contains(&Component::Normal(OsStr::new(".git")))
            {
                return Err(PreparationError::Outside(path.clone()));
            }
            let from = root.join(path);
            if repository.has_tracked(&from)? {
                return Err(PreparationError::Tracked(path.clone()));
            }
            if from.join(MARK_OF_VIRTUAL_ENVIRONMENT).exists() {
                return Err(PreparationError::VirtualEnvironment(path.clone()));
            }
            let is_ignored = repository.is_ignored(&from)?;
            match from.symlink_metadata() {
                Ok(_) => {
                    let path = path.trim_start_matches("./").trim_end_matches('/').to_owned();
                    self.mixed.extend((!is_ignored).then(|| path.clone()));
                    self.copy.push(path);
                }
                Err(_) => self
                    .remarks
                    .push(format!("run.copy: there is no `{path}` in the workspace")),
            }
        }
        Ok(())
    }

    /// Plans a new virtual environment if the workspace has one.
    fn set_up_python(&mut self, root: &Path) {
        let is_one = |name: &&&str| root.join(name).join(MARK_OF_VIRTUAL_ENVIRONMENT).exists();
        let Some(name) = VIRTUAL_ENVIRONMENTS.iter().find(is_one) else {
            return;
        };
        self.virtual_environment = name;
        let words = |words: &[&str]| Command::Words(words.iter().map(|word| (*word).to_owned()).collect());
        if root.join("uv.lock").exists() && program("uv").is_some() {
            self.setup.push(words(&["uv", "sync", "--quiet"]));
            return;
        }
        let python = base_python(&root.join(name).join(MARK_OF_VIRTUAL_ENVIRONMENT));
        self.setup.push(words(&[&python, "-m", "venv", name]));
        let own = format!("{name}/bin/python");
        let install = [
            own.as_str(),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        let requirements = [
            "requirements.txt",
            "requirements-dev.txt",
            "dev-requirements.txt",
            "requirements-test.txt",
        ];
        for file in requirements.iter().filter(|file| root.join(file).exists()) {
            self.setup.push(words(&[install.as_slice(), &["-r", file]].concat()));
        }
        if ["pyproject.toml", "setup.py"]
            .iter()
            .any(|file| root.join(file).exists())
        {
            self.setup.push(words(&[install.as_slice(), &["-e", "."]].concat()));
        }
    }

    /// Copies the files and folders that the checkout does not have.
    pub fn copy_into(&self, root: &Path, checkout: &Path) -> io::Result<()> {
        for path in &self.copy {
            let (from, to) = (root.join(path), checkout.join(path));
            let is_there = to.symlink_metadata().is_ok() && !self.mixed.contains(path);
            if is_there || from.symlink_metadata().is_err() {
                continue;
            }
            faults::step("copy into checkout")?;
            fs::create_dir_all(to.parent().unwrap_or(checkout))?;
            copy(&from, &to, root, checkout)?;
        }
        Ok(())
    }

    /// Removes outdated copies from a checkout that was used before: those that are no longer copied, or have changed. `record` is the file
    /// that lists the copies. Files that git tracks there are checked out afterwards.
    fn remove_outdated(&self, root: &Path, checkout: &Path, record: &Path) -> io::Result<()> {
        let before: Vec<(String, String)> = read_text(record)
            .unwrap_or_default()
            .lines()
            .filter_map(stamped)
            .collect();
        let now = self.stamps(root);
        for (path, _) in before.iter().filter(|copied| !now.contains(copied)) {
            remove(&checkout.join(path))?;
        }
        Ok(())
    }

    /// Copies the missing files into a checkout that was used before, and records that.
    fn copy_again(&self, root: &Path, checkout: &Path, record: &Path) -> io::Result<()> {
        self.copy_into(root, checkout)?;
        let stamps = self.stamps(root);
        let lines: Vec<String> = stamps.iter().map(|(path, stamp)| format!("{stamp} {path}\n")).collect();
        fs::write(record, lines.concat())
    }

    fn stamps(&self, root: &Path) -> Vec<(String, String)> {
        let stamped = |path: &String| (path.clone(), stamp(&root.join(path)));
        self.copy.iter().map(stamped).collect()
    }

    /// Returns the environment for a process in a checkout: nothing in it points back to the workspace.
    pub fn environment(
        &self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        root: &Path,
        checkout: &Path,
    ) -> Vec<(OsString, OsString)> {
        let mut all = Vec::new();
        for (name, value) in variables {
            let is_named = |names: &[&str]| names.iter().any(|known| name == *known);
            if is_repository_variable(&name) || is_named(SHARED_BUILDS) || name == "VIRTUAL_ENV" {
                continue;
            }
            let value = match is_named(SEARCH_PATHS) {
                true => moved_list(&value, root, checkout),
                false => value,
            };
            all.push((name, value));
        }
        let own = checkout.join(self.virtual_environment);
        if own.join("bin").is_dir() {
            let path = all.iter_mut().find(|(name, _)| name == "PATH");
            if let Some((_, path)) = path {
                let mut longer = own.join("bin").into_os_string();
                longer.push(":");
                longer.push(&path);
                *path = longer;
            }
            all.push(("VIRTUAL_ENV".into(), own.into()));
        }
        all
    }
}

/// Replaces folders in the workspace by those in the checkout in a list of folders.
fn moved_list(list: &OsStr, root: &Path, checkout: &Path) -> OsString {
    let moved = std::env::split_paths(list).map(|folder| match folder.strip_prefix(root) {
        Ok(below) => checkout.join(below),
        Err(_) => folder,
    });
    std::env::join_paths(moved).unwrap_or_else(|_| list.to_owned())
}

/// Returns the Python that created a virtual environment.
fn base_python(mark: &Path) -> String {
    let text = read_text(mark).unwrap_or_default();
    let home = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "home").then(|| PathBuf::from(value.trim()).join("python3"))
    });
    match home.filter(|python| python.exists()) {
        Some(python) => python.to_string_lossy().into_owned(),
        None => "python3".to_owned(),
    }
}

/// Returns what projects usually keep uncommitted next to their sources: settings of the machine, and installed packages.
fn usual_copies(repository: &Repository, root: &Path) -> Result<Vec<String>, GitError> {
    let ignored = repository.ignored_below(root)?;
    let is_usual = |path: &&String| {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
        let is_packages = name == "node_modules" && path.ends_with('/') && !path.contains("node_modules/node_modules");
        let is_of_packages = path.contains("node_modules/");
        (SETTINGS_FILES.contains(&name) && !path.ends_with('/') && !is_of_packages) || is_packages
    };
    let usual = ignored.iter().filter(is_usual);
    Ok(usual.map(|path| path.trim_end_matches('/').to_owned()).collect())
}

fn stamped(line: &str) -> Option<(String, String)> {
    let (stamp, path) = line.split_once(' ')?;
    Some((path.to_owned(), stamp.to_owned()))
}

/// Returns a stamp that shows whether a file or folder has changed: its number of entries, size and time.
fn stamp(path: &Path) -> String {
    let (mut n_entries, mut n_bytes, mut newest) = (0_u64, 0_u64, 0);
    let mut rest = vec![path.to_owned()];
    while let Some(path) = rest.pop() {
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        n_entries += 1;
        n_bytes = n_bytes.wrapping_add(found.len());
        let changed = found
            .modified()
            .ok()
            .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        newest = changed.map_or(newest, |time| time.as_nanos().max(newest));
        if found.is_dir() {
            rest.extend(
                fs::read_dir(&path)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .map(|entry| entry.path()),
            );
        }
    }
    format!("{n_entries}-{n_bytes}-{newest}")
}

fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

/// Copies a file, a link or a folder with its content and permissions.
fn copy(from: &Path, to: &Path, root: &Path, checkout: &Path) -> io::Result<()> {
    // The target of a link is copied: otherwise a task would write to the user's own files.
    let led = from.canonicalize().ok().filter(|led| !root.starts_with(led));
    let from = led.as_deref().unwrap_or(from);
    let mut rest = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = rest.pop() {
        let found = from.symlink_metadata()?;
        let there = to.symlink_metadata();
        if there.as_ref().is_ok_and(|there| !(there.is_dir() && found.is_dir())) {
            // Files from git take precedence.
            continue;
        }
        if found.is_symlink() {
            let target = fs::read_link(&from)?;
            let moved = target.strip_prefix(root).map(|below| checkout.join(below));
            symlink(&moved.unwrap_or(target), &to)?;
        } else if found.is_dir() {
            if there.is_err() {
                fs::create_dir(&to)?;
            }
            for entry in fs::read_dir(&from)? {
                let entry = entry?;
                rest.push((entry.path(), to.join(entry.file_name())));
            }
        } else if found.is_file() {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_checkout_do_not_name_the_workspace() {
        let variables = [
            ("PATH", "/usr/bin:/w/node_modules/.bin:/w/.venv/bin"),
            ("VIRTUAL_ENV", "/w/.venv"),
            ("GIT_DIR", "/w/.git"),
            ("GIT_INDEX_FILE", "/w/.git/index"),
            ("CARGO_TARGET_DIR", "/w/target"),
            ("HOME", "/h"),
        ];
        let variables = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let prepared = Preparation::default();
        let found = prepared.environment(variables, Path::new("/w"), Path::new("/c"));
        let expected = [("PATH", "/usr/bin:/c/node_modules/.bin:/c/.venv/bin"), ("HOME", "/h")];
        assert_eq!(
            found,
            expected.map(|(name, value)| (OsString::from(name), OsString::from(value)))
        );
    }
}
