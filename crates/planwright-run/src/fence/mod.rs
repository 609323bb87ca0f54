//! Fences processes of agents, verification and setup: files to write; with `strict` also files to read and TCP ports. Landlock
//! enforces it.
//!
//! [`Fencing`] decides once for a run whether there is a fence. [`Fencing::fence`] makes the [`Fence`] of one process from the
//! tables and its own folders. A fenced process starts as a hidden form of planwright, which restricts itself and then executes
//! the program ([`execute`]).

mod command_line;
mod policy;
mod private_home;
mod tables;
mod temporary;

#[cfg(target_os = "linux")]
mod kernel;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported.rs"]
mod kernel;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

pub use command_line::{VERB, execute};
pub use kernel::support;
pub use policy::{FencePolicy, ToolchainEnvironment};
pub use temporary::TemporaryFolders;

use crate::config::{FenceMode, RunConfig};

/// The oldest version of Landlock that can prevent truncation of files.
pub(crate) const OLDEST_ABI: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Landlock with this ABI version.
    Landlock {
        abi: u32,
    },
    /// Landlock is built in, but disabled.
    Disabled,
    Missing,
    OtherSystem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The planwright binary that restricts itself and then executes the program.
    pub program: PathBuf,
    pub policy: FencePolicy,
    /// The only folder for temporary files that it may write to.
    pub temporary: Option<PathBuf>,
    /// The fenced agent, by its preset or program; empty for other commands.
    pub agent: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceLevel {
    /// It may write only to its own folders and to caches.
    Write,
    /// In addition, it may read only what it needs, and connect to few ports.
    Strict,
}

impl FenceLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            FenceLevel::Write => "write",
            FenceLevel::Strict => "strict",
        }
    }
}

#[derive(Clone, Debug)]
pub enum Fencing {
    Active(Box<ActiveFence>),
    /// They are not fenced. The reason is for the user, and empty if the user does not want a fence.
    Inactive(String),
}

#[derive(Clone, Debug)]
pub struct ActiveFence {
    program: PathBuf,
    level: FenceLevel,
    surroundings: ToolchainEnvironment,
    extra_writable: Vec<PathBuf>,
    extra_readable: Vec<PathBuf>,
    extra_ports: Vec<u16>,
}

/// Why a requested fence is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("run.fence = \"{level}\", and {why}")]
pub struct FenceError {
    level: &'static str,
    why: String,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessFolders<'a> {
    pub writable: &'a [PathBuf],
    /// What it must read in addition, as its prompt and the objects that its git borrows.
    pub readable: &'a [PathBuf],
    pub temporary: Option<&'a Path>,
    /// The preset of the agent, or the name of its program; none for other commands.
    pub agent: Option<&'a str>,
    pub environment: &'a [(OsString, OsString)],
}

impl Fencing {
    /// Decides whether processes are fenced. `program` is planwright itself, from [`own_program`]; without it there is no fence.
    pub fn of(config: &RunConfig, program: Option<&Path>) -> Result<Self, FenceError> {
        let (level, is_wanted) = match config.fence.mode {
            FenceMode::Off => return Ok(Fencing::Inactive(String::new())),
            FenceMode::Auto => (FenceLevel::Write, false),
            FenceMode::Write => (FenceLevel::Write, true),
            FenceMode::Strict => (FenceLevel::Strict, true),
        };
        let why = match (obstacle(&support()), program) {
            (None, Some(program)) => {
                let surroundings = ToolchainEnvironment::of_process();
                let expanded = |paths: &[String]| -> Vec<PathBuf> {
                    let paths = paths.iter().filter_map(|path| surroundings.expanded(path));
                    paths.collect()
                };
                return Ok(Fencing::Active(Box::new(ActiveFence {
                    program: program.to_owned(),
                    level,
                    extra_writable: expanded(&config.fence.write),
                    extra_readable: expanded(&config.fence.read),
                    extra_ports: config.fence.ports.clone(),
                    surroundings,
                })));
            }
            (Some(why), _) => why,
            (None, None) => "this program is not planwright, which a fenced process starts as".to_owned(),
        };
        match is_wanted {
            true => Err(FenceError {
                level: level.as_str(),
                why,
            }),
            false => Ok(Fencing::Inactive(why)),
        }
    }

    pub fn level(&self) -> Option<FenceLevel> {
        match self {
            Fencing::Active(active) => Some(active.level),
            Fencing::Inactive(_) => None,
        }
    }

    /// Returns whether the user wants a fence, even if there is none.
    pub fn is_wanted(&self) -> bool {
        !matches!(self, Fencing::Inactive(why) if why.is_empty())
    }

    /// Returns the remark that there is no fence, with the reason.
    pub fn remark(&self) -> Option<String> {
        match self {
            Fencing::Active(_) => None,
            Fencing::Inactive(why) if why.is_empty() => Some("agents are not fenced: run.fence is \"off\"".to_owned()),
            Fencing::Inactive(why) => Some(format!("agents are not fenced: {why}")),
        }
    }

    /// Returns the policy that a process would have if it were fenced. Creates nothing.
    pub fn preview(&self, process: &ProcessFolders<'_>) -> Option<FencePolicy> {
        match self {
            Fencing::Active(active) => Some(active.policy(process, false)),
            Fencing::Inactive(_) => None,
        }
    }

    /// Returns the fence of one process, if processes are fenced. Creates folders that its toolchains and its agent need.
    pub fn fence(&self, process: &ProcessFolders<'_>) -> Option<Fence> {
        let Fencing::Active(active) = self else {
            return None;
        };
        Some(Fence {
            program: active.program.clone(),
            policy: active.policy(process, true),
            temporary: process.temporary.map(Path::to_owned),
            agent: process.agent.unwrap_or_default().to_owned(),
        })
    }
}

impl Fence {
    pub fn give_temporary(&mut self, folder: PathBuf) {
        self.policy.writable.push(folder.clone());
        self.temporary = Some(folder);
    }

    /// Creates the agent's private folder among its temporary files. Returns a variable for its environment.
    pub(crate) fn private_home(
        &self,
        environment: &[(OsString, OsString)],
    ) -> io::Result<Option<(OsString, OsString)>> {
        match &self.temporary {
            Some(temporary) => private_home::make(&self.agent, environment, temporary),
            None => Ok(None),
        }
    }
}

impl FenceError {
    pub fn help(&self) -> &'static str {
        "nothing was started. run.fence = \"auto\" runs without a fence where there can be none, \"off\" always"
    }
}

/// Returns why this system cannot fence processes.
pub fn obstacle(support: &Support) -> Option<String> {
    match support {
        Support::Landlock { abi } if *abi >= OLDEST_ABI => None,
        Support::Landlock { abi } => Some(format!(
            "the kernel has Landlock ABI {abi}, and a fence needs {OLDEST_ABI} (Linux 6.2)"
        )),
        Support::Disabled => Some("the kernel has Landlock, and it is not enabled at boot (lsm=landlock,…)".to_owned()),
        Support::Missing => Some("the kernel has no Landlock (Linux 5.13 or newer has it)".to_owned()),
        Support::OtherSystem => Some("fences need Landlock, which only Linux has".to_owned()),
    }
}

impl Support {
    pub fn words(&self) -> String {
        match (self, obstacle(self)) {
            (_, Some(why)) => format!("none: {why}"),
            (Support::Landlock { abi }, None) => {
                let ports = match *abi >= 4 {
                    true => "TCP ports",
                    false => "no TCP ports (ABI 4 has them)",
                };
                format!("Landlock ABI {abi}: files, {ports}")
            }
            _ => String::new(),
        }
    }
}

/// Returns the program that fenced processes start as: this one.
pub fn own_program() -> Option<PathBuf> {
    // Names the running program even if its file was replaced, as by an upgrade.
    let running = Path::new("/proc/self/exe");
    match running.exists() {
        true => Some(running.to_owned()),
        false => std::env::current_exe().ok(),
    }
}
