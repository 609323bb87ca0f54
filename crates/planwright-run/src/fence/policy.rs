//! Decides the permissions of a process from the tables and its folders. Reads the disk; starts nothing.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::{Serialize, Serializer};

use super::tables::{AGENTS, CACHES, DEVICES, HomePath, PORTS, SYSTEM, TOOLCHAINS};
use super::{ActiveFence, FenceLevel, ProcessFolders};
use crate::programs::program_in;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FencePolicy {
    #[serde(serialize_with = "word_of")]
    pub level: FenceLevel,
    /// The files and folders that it may write to, with everything below them.
    #[serde(serialize_with = "texts_of")]
    pub writable: Vec<PathBuf>,
    /// Those that it may read in addition; none if it may read everything.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_texts_of")]
    pub readable: Option<Vec<PathBuf>>,
    /// The TCP ports that it may connect to; none if they are not limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_ports: Option<Vec<u16>>,
}

fn word_of<S: Serializer>(level: &FenceLevel, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(level.as_str())
}

fn texts_of<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

fn optional_texts_of<S: Serializer>(paths: &Option<Vec<PathBuf>>, serializer: S) -> Result<S::Ok, S::Error> {
    texts_of(paths.as_deref().unwrap_or_default(), serializer)
}

/// The environment that decides where toolchains and agents keep their files.
#[derive(Clone, Debug, Default)]
pub struct ToolchainEnvironment {
    pub home: Option<PathBuf>,
    pub variables: Vec<(OsString, OsString)>,
}

impl ToolchainEnvironment {
    pub fn of_process() -> Self {
        let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let surroundings = ToolchainEnvironment { home: None, variables };
        ToolchainEnvironment {
            home: surroundings.folder_in("HOME"),
            ..surroundings
        }
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.variables.iter().rfind(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_os_str())
            .filter(|value| !value.is_empty())
    }

    fn folder_in(&self, name: &str) -> Option<PathBuf> {
        let folder = self.variable(name).map(PathBuf::from);
        folder.filter(|folder| folder.is_absolute() && folder.parent().is_some())
    }

    /// Expands a configured path: absolute, or below the home folder if it begins with `~/`.
    pub(super) fn expanded(&self, path: &str) -> Option<PathBuf> {
        match path.strip_prefix("~/") {
            Some(below) => Some(self.home.as_ref()?.join(below)),
            None => Some(PathBuf::from(path)).filter(|path| path.is_absolute()),
        }
    }

    /// Returns a path below the home folder, or below its XDG folder.
    fn below_home(&self, path: &str) -> Option<PathBuf> {
        const XDG: &[(&str, &str)] = &[
            (".cache", "XDG_CACHE_HOME"),
            (".config", "XDG_CONFIG_HOME"),
            (".local/share", "XDG_DATA_HOME"),
            (".local/state", "XDG_STATE_HOME"),
        ];
        for (usual, variable) in XDG {
            if let (Ok(below), Some(folder)) = (Path::new(path).strip_prefix(usual), self.folder_in(variable)) {
                return Some(folder.join(below));
            }
        }
        Some(self.home.as_ref()?.join(path))
    }

    fn paths(&self, row: &HomePath) -> Vec<PathBuf> {
        let named = self.folder_in(row.variable);
        let folder = match (named, row.folder) {
            (Some(folder), _) => Some(folder),
            // Without the variable the folder is unknown, unless it is in the home folder.
            (None, "") if row.below.is_empty() => None,
            (None, folder) => self.below_home(folder),
        };
        match folder {
            Some(folder) if row.below.is_empty() => vec![folder],
            Some(folder) => row.below.iter().map(|name| folder.join(name)).collect(),
            None => Vec::new(),
        }
    }

    fn has_program(&self, names: &[&str]) -> bool {
        let path = self.variable("PATH").unwrap_or_default();
        names.iter().any(|name| program_in(path, OsStr::new(name)).is_some())
    }
}

/// Paths of rules, none below another. A fenced process can replace what it may write to by a link, so a rule for a path below that could
/// be redirected.
#[derive(Default)]
struct PathSet {
    taken: Vec<PathBuf>,
    /// The real paths of existing folders above the collected paths: most paths share a few.
    parents: HashMap<PathBuf, PathBuf>,
}

impl PathSet {
    fn covers(&self, path: &Path) -> bool {
        self.taken.iter().any(|taken| path.starts_with(taken))
    }

    /// Adds an existing path.
    fn take(&mut self, path: &Path) {
        if self.covers(path) {
            return;
        }
        let Some(real) = self.real_path(path) else {
            return;
        };
        // A rule for the root of all files would be no limit.
        if !self.covers(&real) && real.parent().is_some() {
            self.taken.retain(|taken| !taken.starts_with(&real));
            self.taken.push(real);
        }
    }

    /// Returns an existing path without links. A set lives as long as one collection, so no process has time to replace a folder.
    fn real_path(&mut self, path: &Path) -> Option<PathBuf> {
        let (Some(parent), Some(Component::Normal(name)), true) =
            (path.parent(), path.components().next_back(), path.is_absolute())
        else {
            return fs::canonicalize(path).ok();
        };
        let real_parent = match self.parents.get(parent) {
            Some(known) => known,
            None => {
                let real = fs::canonicalize(parent).ok()?;
                self.parents.entry(parent.to_owned()).or_insert(real)
            }
        };
        let real = real_parent.join(name);
        match real.symlink_metadata().ok()?.is_symlink() {
            true => fs::canonicalize(real).ok(),
            false => Some(real),
        }
    }
}

impl ActiveFence {
    /// Returns the policy of a process. Creates folders that programs need if `makes` is set.
    pub(super) fn policy(&self, process: &ProcessFolders<'_>, makes: bool) -> FencePolicy {
        let mut writable = PathSet::default();
        // Its own folders come first: they cover what the tables name below them.
        let own = process.writable.iter().map(PathBuf::as_path).chain(process.temporary);
        own.for_each(|path| writable.take(path));
        self.extra_writable.iter().for_each(|path| writable.take(path));
        let agent = process.agent.into_iter().flat_map(agent_rows);
        let state = agent.flat_map(|agent| agent.state);
        for row in CACHES.iter().chain(state) {
            if makes {
                self.make_missing(row, &writable);
            }
            let paths = self.surroundings.paths(row);
            paths.iter().for_each(|path| writable.take(path));
        }
        let agent = process.agent.into_iter().flat_map(agent_rows);
        for row in agent.flat_map(|agent| agent.settings).filter(|_| makes) {
            self.make_missing(row, &writable);
        }
        DEVICES.iter().for_each(|device| writable.take(Path::new(device)));
        let is_strict = self.level == FenceLevel::Strict;
        FencePolicy {
            level: self.level,
            readable: is_strict.then(|| self.readable(process, &writable)),
            tcp_ports: is_strict.then(|| self.ports(process)),
            writable: writable.taken,
        }
    }

    /// Creates the missing paths of a row, if their program is installed and fails without them.
    fn make_missing(&self, row: &HomePath, writable: &PathSet) {
        let paths = self.surroundings.paths(row);
        let is_missing = |path: &PathBuf| !writable.covers(path) && fs::symlink_metadata(path).is_err();
        if !row.makers.is_empty() && paths.iter().any(is_missing) && self.surroundings.has_program(row.makers) {
            for path in paths.iter().filter(|path| is_missing(path)) {
                // What cannot be created is not allowed, and its toolchain reports that.
                let _ = match (row.are_files, path.parent()) {
                    (true, Some(folder)) => {
                        fs::create_dir_all(folder).and_then(|()| fs::File::create_new(path).map(drop))
                    }
                    _ => fs::create_dir_all(path),
                };
            }
        }
    }

    fn readable(&self, process: &ProcessFolders<'_>, writable: &PathSet) -> Vec<PathBuf> {
        let mut readable = PathSet::default();
        SYSTEM.iter().for_each(|path| readable.take(Path::new(path)));
        process.readable.iter().for_each(|path| readable.take(path));
        self.extra_readable.iter().for_each(|path| readable.take(path));
        let agent = process.agent.into_iter().flat_map(agent_rows);
        let rows = TOOLCHAINS.iter().chain(agent.flat_map(|agent| agent.settings));
        for row in rows {
            let paths = self.surroundings.paths(row);
            let is_home = |path: &&PathBuf| Some(*path) != self.surroundings.home.as_ref();
            paths.iter().filter(is_home).for_each(|path| readable.take(path));
        }
        for folder in self.program_folders(process) {
            readable.take(&folder);
        }
        // A writable path is also readable.
        readable.taken.retain(|path| !writable.covers(path));
        readable.taken
    }

    /// Returns the folders of `PATH`, and the installations around those in which toolchains are installed.
    fn program_folders(&self, process: &ProcessFolders<'_>) -> BTreeSet<PathBuf> {
        let home = self.surroundings.home.as_deref();
        let path = process.environment.iter().rfind(|(name, _)| name == "PATH");
        let path = path.map_or_else(
            || self.surroundings.variable("PATH").unwrap_or_default(),
            |(_, path)| path,
        );
        let mut folders = BTreeSet::new();
        for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
            // A `PATH` that names the home folder does not open it.
            if Some(folder.as_path()) == home || folder.parent().is_none() {
                continue;
            }
            folders.extend(installation_around(&folder, home));
            folders.insert(folder);
        }
        if let Some(program) = process.agent.and_then(|name| program_in(path, OsStr::new(name)))
            && let Ok(real) = fs::canonicalize(program)
        {
            let package = real
                .ancestors()
                .filter(|folder| folder.ends_with("node_modules"))
                .last();
            let around = package.or_else(|| real.parent());
            folders.extend(around.filter(|folder| Some(*folder) != home).map(Path::to_owned));
        }
        // Programs next to a home folder, as in `/data/bin` and `/data/me`, do not open it.
        let real_home = home.and_then(|home| fs::canonicalize(home).ok());
        let holds_home = |folder: &PathBuf| {
            let homes = home.into_iter().chain(real_home.as_deref());
            homes.into_iter().any(|home| home.starts_with(folder))
        };
        folders.retain(|folder| !holds_home(folder));
        folders
    }

    /// Returns the ports that a process may connect to: the usual ones, the configured ones, and those of addresses in its environment, as
    /// of its model or a proxy.
    fn ports(&self, process: &ProcessFolders<'_>) -> Vec<u16> {
        let mut ports: BTreeSet<u16> = PORTS.iter().chain(&self.extra_ports).copied().collect();
        let values = process.environment.iter().filter(|(name, _)| is_address(name));
        ports.extend(values.filter_map(|(_, value)| port_of(value.to_str()?)));
        ports.into_iter().collect()
    }
}

fn agent_rows(name: &str) -> impl Iterator<Item = &'static super::tables::AgentRows> {
    AGENTS.iter().filter(move |agent| agent.name == name)
}

/// Returns the folder of a toolchain's installation from its folder of programs.
fn installation_around(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if folder.ends_with(".bin") {
        // The programs of packages are links to files next to them.
        return folder.parent().map(Path::to_owned);
    }
    let above = folder.parent().filter(|_| folder.ends_with("bin"))?;
    let below_home = home.and_then(|home| above.strip_prefix(home).ok());
    match below_home {
        // `~/bin`, `~/.local/bin`, `~/.cargo/bin` are next to the user's other files.
        Some(below) if below.components().count() < 2 => None,
        _ => above.parent().map(|_| above.to_owned()),
    }
}

fn is_address(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let endings = ["_URL", "_PROXY", "_ENDPOINT", "_HOST", "_API_BASE", "_BASE"];
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Returns the port of an address, as `http://127.0.0.1:8080/v1` or `proxy:3128`.
fn port_of(address: &str) -> Option<u16> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next()?;
    let (_, port) = host.rsplit_once(':')?;
    port.parse().ok().filter(|port| *port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fence(home: &Path, level: FenceLevel) -> ActiveFence {
        ActiveFence {
            program: PathBuf::from("/planwright"),
            level,
            surroundings: ToolchainEnvironment {
                home: Some(home.to_owned()),
                variables: vec![("PATH".into(), "/nowhere".into())],
            },
            extra_writable: Vec::new(),
            extra_readable: Vec::new(),
            extra_ports: vec![5432],
        }
    }

    fn made(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(&path).expect("the folder is ours");
        path.canonicalize().expect("it is there")
    }

    #[test]
    fn caches_are_writable_and_their_siblings_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = made(folder.path(), "home");
        let (registry, checkout) = (made(&home, ".cargo/registry"), made(folder.path(), "checkout"));
        let projects = made(&home, ".claude/projects");
        let process = ProcessFolders {
            writable: std::slice::from_ref(&checkout),
            agent: Some("claude"),
            ..ProcessFolders::default()
        };
        let policy = fence(&home, FenceLevel::Write).policy(&process, true);
        for path in [&registry, &checkout, &projects] {
            assert!(policy.writable.contains(path), "{policy:?}");
        }
        let cargo_home = made(&home, ".cargo");
        assert!(
            !policy.writable.iter().any(|path| cargo_home.starts_with(path)),
            "{policy:?}"
        );
        assert_eq!((policy.readable, policy.tcp_ports), (None, None));
        assert!(
            !home.join(".npm").exists(),
            "no toolchain is installed that would need it"
        );
        let other = ProcessFolders { agent: None, ..process };
        assert!(
            !fence(&home, FenceLevel::Write)
                .policy(&other, true)
                .writable
                .contains(&projects)
        );
    }

    #[test]
    #[cfg(unix)]
    fn a_link_in_a_writable_folder_opens_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let (home, checkout) = (made(folder.path(), "home"), made(folder.path(), "checkout"));
        // As left by an agent with caches in its own folder.
        std::os::unix::fs::symlink(&home, checkout.join("registry")).expect("ours");
        let mut active = fence(&home, FenceLevel::Write);
        let own = ("CARGO_HOME".into(), checkout.clone().into_os_string());
        active.surroundings.variables.push(own);
        let process = ProcessFolders {
            writable: std::slice::from_ref(&checkout),
            ..ProcessFolders::default()
        };
        let policy = active.policy(&process, true);
        assert!(!policy.writable.contains(&home), "{policy:?}");
        assert!(policy.writable.contains(&checkout), "{policy:?}");
    }

    #[test]
    fn a_strict_fence_opens_neither_the_home_folder_nor_every_port() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = made(folder.path(), "home");
        let (ssh, bin) = (made(&home, ".ssh"), made(&home, "bin"));
        let tools = made(&home, ".tools/node/bin");
        let path = std::env::join_paths([&home, &bin, &tools]).expect("a path");
        let environment = [
            ("PATH".into(), path),
            ("ANTHROPIC_BASE_URL".into(), "http://127.0.0.1:8081/v1".into()),
        ];
        let process = ProcessFolders {
            environment: &environment,
            ..ProcessFolders::default()
        };
        let policy = fence(&home, FenceLevel::Strict).policy(&process, true);
        let readable = policy.readable.expect("a limit");
        assert!(!readable.iter().any(|path| ssh.starts_with(path)), "{readable:?}");
        assert!(
            readable.contains(&bin) && readable.contains(&made(&home, ".tools/node")),
            "{readable:?}"
        );
        assert_eq!(policy.tcp_ports.expect("a limit"), [22, 53, 80, 443, 5432, 8081, 9418]);
    }

    #[test]
    fn ports_are_found_in_addresses() {
        for (address, expected) in [
            ("http://127.0.0.1:8080/v1", Some(8080)),
            ("proxy:3128", Some(3128)),
            ("postgres://me:word@db:5432/x", Some(5432)),
            ("https://api.example.org/v1", None),
            ("http://[::1]:99", Some(99)),
            ("", None),
            ("x:0", None),
            ("x:99999", None),
        ] {
            assert_eq!(port_of(address), expected, "{address}");
        }
    }
}
