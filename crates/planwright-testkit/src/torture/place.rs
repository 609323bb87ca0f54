//! A folder for the binary: a workspace, and the notes of agents next to it. It is restored before every fault.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::broken;
use super::{Harm, Wrong};

/// The time after which a running process counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// The folder of one worker.
pub(super) struct WorkerFolder {
    binary: PathBuf,
    base: PathBuf,
}

/// The result of a command.
#[derive(Clone, Debug)]
pub(super) struct CommandResult {
    /// None if it was killed.
    pub(super) status: Option<i32>,
    pub(super) text: String,
    pub(super) took: Duration,
}

impl WorkerFolder {
    pub(super) fn new(binary: &Path, base: PathBuf) -> io::Result<Self> {
        std::fs::create_dir_all(&base)?;
        Ok(WorkerFolder {
            binary: binary.to_owned(),
            base: base.canonicalize()?,
        })
    }

    /// Returns the workspace.
    pub(super) fn root(&self) -> PathBuf {
        self.base.join("live/ws")
    }

    /// Returns a path next to the workspace.
    pub(super) fn aside(&self, name: &str) -> PathBuf {
        self.base.join("live/aside").join(name)
    }

    fn output(&self) -> PathBuf {
        self.base.join("output")
    }

    /// Returns the file for the log of steps.
    pub(super) fn step_log(&self) -> PathBuf {
        self.base.join("steps")
    }

    /// Creates an empty workspace.
    pub(super) fn clear(&self) -> io::Result<()> {
        remove(&self.base.join("live"))?;
        std::fs::create_dir_all(self.root())?;
        std::fs::create_dir_all(self.aside(""))
    }

    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
        std::fs::write(path, text)
    }

    /// Saves the present state, to be restored.
    pub(super) fn keep(&self) -> io::Result<()> {
        remove(&self.base.join("kept"))?;
        copy(&self.base.join("live"), &self.base.join("kept"))
    }

    /// Restores the saved state.
    pub(super) fn put_back(&self) -> io::Result<()> {
        remove(&self.base.join("live"))?;
        copy(&self.base.join("kept"), &self.base.join("live"))
    }

    /// Starts a command of the binary.
    pub(super) fn begin(&self, args: &[String], variables: &[(&str, String)]) -> io::Result<RunningCommand> {
        self.begin_into(args, variables, self.output())
    }

    /// Starts a command while others run.
    pub(super) fn begin_aside(&self, args: &[String]) -> io::Result<RunningCommand> {
        self.begin_into(args, &[], self.base.join("output-aside"))
    }

    fn begin_into(&self, args: &[String], variables: &[(&str, String)], path: PathBuf) -> io::Result<RunningCommand> {
        let output = std::fs::File::create(&path)?;
        let child = self
            .command(&self.binary, args)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        Ok(RunningCommand {
            child,
            since: Instant::now(),
            output: path,
        })
    }

    /// Runs a command of the binary.
    pub(super) fn does(&self, args: &[String], variables: &[(&str, String)]) -> io::Result<CommandResult> {
        self.begin(args, variables)?.ends()
    }

    /// Returns a command in the workspace, without relevant parts of this process's environment.
    pub(super) fn command(&self, program: &Path, args: &[String]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.aside("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // The verification of the tasks can only pass after one has run.
            .env("PLANWRIGHT_VERIFY_BASELINE", "skip")
            // Agents write notes next to the workspace.
            .env("PLANWRIGHT_RUN_FENCE", "off")
            .stdin(Stdio::null());
        command
    }

    /// Runs a git command, which must succeed.
    pub(super) fn git(&self, args: &[&str]) -> Result<String, String> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let output = self
            .command(Path::new("git"), &args)
            .output()
            .map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()),
            false => Err(format!("git {args:?}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Makes the workspace a git repository, with everything in its first commit.
    pub(super) fn begin_repository(&self) -> Result<(), Wrong> {
        let git = |args: &[&str]| self.git(args).map_err(|what| (Harm::Stuck, what));
        git(&["init", "-q", "-b", "main", "--template="])?;
        git(&["config", "user.name", "Test"])?;
        git(&["config", "user.email", "test@example.org"])?;
        self.write(".gitignore", ".planwright\nmine.txt\n").map_err(broken)?;
        git(&["add", "-A"])?;
        git(&["commit", "-q", "-m", "Begin"]).map(drop)
    }

    /// Returns the logged steps, and clears the log.
    pub(super) fn take_steps(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.step_log()).unwrap_or_default();
        let _ = std::fs::remove_file(self.step_log());
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the user's files by name, and the proposals for plans, without other files of planwright or git.
    pub(super) fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        collect(&self.root(), "", &mut files);
        let proposals = ".planwright/proposals";
        collect(&self.root().join(proposals), &format!("{proposals}/"), &mut files);
        files
    }

    /// Returns the names of the temporary files that the plan's next writer should have removed. Those of writers without a lock may belong
    /// to a running writer, and stay for an hour.
    pub(super) fn litter(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.root()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder && name != ".git" {
                    folders.push(entry.path());
                } else if is_litter(&name) && !name.contains("-0000000000000000-") {
                    found.push(name);
                }
            }
        }
        found
    }

    /// Returns the processes that work in this folder.
    pub(super) fn processes(&self) -> Vec<u32> {
        let own = self.base.join("live");
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_here = |pid: &u32| {
            let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            folder.starts_with(&own) && is_alive(*pid)
        };
        pids.filter(is_here).collect()
    }
}

/// Kills a process that works in one of our folders.
pub(super) fn kill(pid: u32) {
    let _ = Command::new("kill")
        .args(["-KILL".to_owned(), pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// Returns whether a process runs, and is not merely unreaped.
fn is_alive(pid: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = text.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Returns whether a file would have replaced another when its writer died.
fn is_litter(name: &str) -> bool {
    name.starts_with(".planwright-") && name.ends_with(".tmp")
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == ".planwright" || name == ".git" || is_litter(&name) {
            continue;
        }
        let path = format!("{prefix}{name}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), &format!("{path}/"), files);
        } else {
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Removes a folder, including what a dying process still writes into it.
fn remove(folder: &Path) -> io::Result<()> {
    for _ in 0..50 {
        match std::fs::remove_dir_all(folder) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    std::fs::remove_dir_all(folder)
}

/// A running command.
pub(super) struct RunningCommand {
    child: Child,
    since: Instant,
    output: PathBuf,
}

impl RunningCommand {
    /// Returns whether it has ended.
    pub(super) fn is_over(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Returns its output so far.
    pub(super) fn text(&self) -> String {
        let bytes = std::fs::read(&self.output).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the time since its start.
    pub(super) fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// Waits until it ends. A hanging one is killed, and is an error.
    pub(super) fn ends(self) -> io::Result<CommandResult> {
        match self.ends_within(PATIENCE)? {
            CommandResult {
                status: None,
                text,
                took,
            } if took >= PATIENCE => Err(io::Error::new(io::ErrorKind::TimedOut, format!("it hangs:\n{text}"))),
            came => Ok(came),
        }
    }

    /// Waits until it ends, and kills it after a time limit.
    pub(super) fn ends_within(mut self, patience: Duration) -> io::Result<CommandResult> {
        let mut pause = Duration::from_micros(500);
        loop {
            let is_late = self.since.elapsed() > patience;
            if is_late {
                self.child.kill()?;
            }
            let status = if is_late {
                Some(self.child.wait()?)
            } else {
                self.child.try_wait()?
            };
            if let Some(status) = status {
                let bytes = std::fs::read(&self.output).unwrap_or_default();
                return Ok(CommandResult {
                    status: status.code(),
                    text: String::from_utf8_lossy(&bytes).into_owned(),
                    took: self.since.elapsed(),
                });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(4));
        }
    }

    /// Kills it after a while, unless it has ended, and returns whether it was killed.
    pub(super) fn kill_after(mut self, moment: Duration) -> io::Result<bool> {
        std::thread::sleep(moment.saturating_sub(self.since.elapsed()));
        let is_over = self.child.try_wait()?.is_some();
        self.child.kill()?;
        self.child.wait()?;
        Ok(!is_over)
    }
}
