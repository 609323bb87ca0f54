//! Runs git: no shell, prompt, editor or outer environment; bounded in output and time; waits for locks. Knows no git command.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::GitError;
use super::answers::line_of;
use super::complaint::{Complaint, first_useful_line, is_about_a_lock, lock_reason, shortened};
use crate::clock;
use crate::faults;
use crate::programs::command;

pub(super) const MAX_OUTPUT: usize = 64 * 1024 * 1024;

/// The time limit of a command: large worktrees take a while, and so do the user's hooks.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);

/// How long to wait before each new try when one of git's locks is held.
pub(super) const LOCK_PAUSES: [Duration; 6] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1600),
];

/// Variables that an outer git, as one that runs us in a hook, sets for its commands, and that would change the meaning of ours.
const DROPPED: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INDEX_VERSION",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_MERGE_VERBOSITY",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
    "LANGUAGE",
];

/// Variables for every command. Reading takes no locks that could block the user's own git.
const SET: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("GIT_PAGER", "cat"),
    ("GIT_OPTIONAL_LOCKS", "0"),
];

/// Returns whether a variable would point a git that inherits it to another repository, index or configuration.
pub(crate) fn is_repository_variable(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_configuration = name.starts_with("GIT_CONFIG_KEY_") || name.starts_with("GIT_CONFIG_VALUE_");
    is_configuration
        || name == "GIT_CONFIG_COUNT"
        || DROPPED.iter().any(|dropped| *dropped == name && name != "LANGUAGE")
}

/// Settings for every command. The file system monitor would leave a process behind for each worktree. Hooks are for commands of people,
/// and some of them ask questions: our commands run none, not even those that a template puts into a new repository.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.editor=true",
    "core.fsmonitor=false",
    "color.ui=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgsign=false",
    "advice.addEmbeddedRepo=false",
];

#[derive(Clone, Debug)]
pub(super) struct GitLocation {
    pub(super) folder: PathBuf,
    /// The git directory, for a worktree of ours. Git then does not search for it: a worktree without its `.git` would count as a folder of
    /// an enclosing repository, and the commit would go there.
    pub(super) git_dir: Option<PathBuf>,
    /// The index to use instead of the repository's own.
    pub(super) index: Option<PathBuf>,
}

/// A git command under construction.
pub(super) struct GitCall<'p> {
    place: &'p GitLocation,
    settings: Vec<OsString>,
    words: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    input: Vec<u8>,
    held: Option<File>,
    are_paths_literal: bool,
}

pub(super) struct GitOutput {
    pub(super) code: Option<i32>,
    pub(super) output: Vec<u8>,
    pub(super) was_cut: bool,
    pub(super) complaint: String,
    command: String,
}

impl GitLocation {
    /// Returns the location of a folder in which git finds the repository.
    pub(super) fn at(folder: &Path) -> Self {
        GitLocation {
            folder: folder.to_owned(),
            git_dir: None,
            index: None,
        }
    }

    /// Returns the location of a work tree with a fixed git directory, so that git searches for none.
    pub(super) fn with_git_dir(folder: &Path, git_dir: &Path) -> Self {
        GitLocation {
            folder: folder.to_owned(),
            git_dir: Some(git_dir.to_owned()),
            index: None,
        }
    }

    pub(super) fn with_index(mut self, index: &Path) -> Self {
        self.index = Some(index.to_owned());
        self
    }

    pub(super) fn git<'p>(&'p self, words: &[&str]) -> GitCall<'p> {
        GitCall {
            place: self,
            settings: SETTINGS.iter().map(OsString::from).collect(),
            words: words.iter().map(OsString::from).collect(),
            variables: Vec::new(),
            input: Vec::new(),
            held: None,
            are_paths_literal: true,
        }
    }
}

impl GitCall<'_> {
    pub(super) fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.words.push(word.as_ref().to_owned());
        self
    }

    pub(super) fn setting(mut self, setting: impl Into<OsString>) -> Self {
        self.settings.push(setting.into());
        self
    }

    pub(super) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    pub(super) fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = bytes;
        self
    }

    /// Has the command hold a file open as its input while it runs.
    pub(super) fn holding(mut self, file: File) -> Self {
        self.held = Some(file);
        self
    }

    /// For commands without literal paths. They need absolute paths, in which nothing is special.
    pub(super) fn with_common_paths(mut self) -> Self {
        self.are_paths_literal = false;
        self
    }

    /// Runs it, and requires success and a complete output.
    pub(super) fn output(self) -> Result<Vec<u8>, GitError> {
        let answer = self.answer()?;
        match answer.code {
            Some(0) if answer.was_cut => Err(GitError::TooMuch {
                command: answer.command,
            }),
            Some(0) => Ok(answer.output),
            _ => Err(answer.failure()),
        }
    }

    /// Runs it, and requires success without a warning: after a warning the output is incomplete.
    pub(super) fn output_without_warnings(self) -> Result<Vec<u8>, GitError> {
        let answer = self.answer()?;
        let warning = answer.complaint.lines().find_map(|line| line.strip_prefix("warning: "));
        match (answer.code, warning) {
            (Some(0), Some(warning)) => Err(GitError::Warned {
                warning: shortened(warning, 400),
                command: answer.command,
            }),
            (Some(0), None) => Ok(answer.output),
            _ => Err(answer.failure()),
        }
    }

    /// Runs it, and requires success.
    pub(super) fn run(self) -> Result<(), GitError> {
        let answer = self.answer()?;
        match answer.code {
            Some(0) => Ok(()),
            _ => Err(answer.failure()),
        }
    }

    /// Runs a query that git answers by success or by the exit code 1.
    pub(super) fn yes_or_no(self) -> Result<bool, GitError> {
        let answer = self.answer()?;
        match answer.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(answer.failure()),
        }
    }

    /// Runs a query for a line; git exits with code 1 if there is none.
    pub(super) fn line(self) -> Result<Option<String>, GitError> {
        let answer = self.answer()?;
        match answer.code {
            Some(0) => Ok(Some(line_of(&answer.output))),
            Some(1) => Ok(None),
            _ => Err(answer.failure()),
        }
    }

    /// Runs it, and retries for a while if it fails because of a lock.
    pub(super) fn answer(self) -> Result<GitOutput, GitError> {
        for pause in LOCK_PAUSES {
            let answer = self.once()?;
            if answer.code == Some(0) || !is_about_a_lock(&answer.complaint) {
                return Ok(answer);
            }
            thread::sleep(clock::real(pause));
        }
        let answer = self.once()?;
        if answer.code == Some(0) || !is_about_a_lock(&answer.complaint) {
            return Ok(answer);
        }
        Err(GitError::Locked {
            reason: lock_reason(&answer.complaint),
            command: answer.command,
        })
    }

    fn once(&self) -> Result<GitOutput, GitError> {
        faults::step("git").map_err(|source| self.not_started(source))?;
        let mut child = self.start()?;
        faults::started(&child);
        let answer = self.listen(&mut child);
        faults::point("git is over");
        if answer.is_err() {
            end(&mut child);
        }
        answer
    }

    /// Starts it; the caller writes to it and reads from it. Its input must be set, at least in part.
    pub(super) fn open(&self) -> Result<Child, GitError> {
        faults::step("git").map_err(|source| self.not_started(source))?;
        self.start()
    }

    fn listen(&self, child: &mut Child) -> Result<GitOutput, GitError> {
        let refused = |source| GitError::Start {
            command: self.description(),
            source,
        };
        let (sender, receiver) = mpsc::channel();
        if let Some(mut pipe) = child.stdin.take() {
            let bytes = self.input.clone();
            // Git may end before it has read everything; its exit code decides what that means.
            spawn(move || drop(pipe.write_all(&bytes))).map_err(refused)?;
        }
        if let Some(pipe) = child.stdout.take() {
            spawn(move || drop(sender.send(read(pipe, MAX_OUTPUT)))).map_err(refused)?;
        }
        let complaint = Complaint::listen(child.stderr.take()).map_err(refused)?;
        // Git gives its hooks another standard output, so the end of this one is the end of git.
        let received = receiver.recv_timeout(PATIENCE);
        let (output, was_cut) = received.map_err(|_| GitError::TimedOut {
            command: self.description(),
            after: PATIENCE,
        })?;
        let status = child.wait().map_err(refused)?;
        Ok(GitOutput {
            code: status.code(),
            output,
            was_cut,
            complaint: complaint.text(),
            command: self.description(),
        })
    }

    fn start(&self) -> Result<Child, GitError> {
        let mut command = command("git").map_err(|source| self.not_started(source))?;
        for setting in &self.settings {
            command.arg("-c").arg(setting);
        }
        command.args(&self.words).current_dir(&self.place.folder);
        for name in DROPPED {
            command.env_remove(name);
        }
        let is_trace = |name: &OsString| name.as_encoded_bytes().starts_with(b"GIT_TRACE");
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_trace(name)) {
            command.env_remove(name);
        }
        command.envs(SET.iter().copied());
        command.env("GIT_LITERAL_PATHSPECS", if self.are_paths_literal { "1" } else { "0" });
        if let Some(git_dir) = &self.place.git_dir {
            command.env("GIT_DIR", git_dir);
            command.env("GIT_WORK_TREE", &self.place.folder);
        }
        if let Some(index) = &self.place.index {
            command.env("GIT_INDEX_FILE", index);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(match &self.held {
            Some(file) => Stdio::from(file.try_clone().map_err(|source| self.not_started(source))?),
            None if self.input.is_empty() => Stdio::null(),
            None => Stdio::piped(),
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A Ctrl-C at the terminal is for planwright: git must not be interrupted in the middle of a change.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map_err(|source| self.not_started(source))
    }

    fn not_started(&self, source: io::Error) -> GitError {
        let is_missing = matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        if is_missing && !self.place.folder.is_dir() {
            GitError::NoFolder(self.place.folder.clone())
        } else if source.kind() == io::ErrorKind::NotFound {
            GitError::NoProgram
        } else {
            GitError::Start {
                command: self.description(),
                source,
            }
        }
    }

    pub(super) fn description(&self) -> String {
        let words = self.words.iter().map(|word| word.to_string_lossy());
        let words: Vec<String> = words.map(|word| word.escape_debug().to_string()).collect();
        let words = format!("git {}", words.join(" "));
        shortened(&words, 400)
    }
}

impl GitOutput {
    pub(super) fn failure(self) -> GitError {
        let mut reason = first_useful_line(&self.complaint);
        if reason.is_empty() {
            reason = first_useful_line(&String::from_utf8_lossy(&self.output));
        }
        if reason.is_empty() {
            reason = match self.code {
                Some(code) => format!("exit status {code}"),
                None => "it was ended by a signal".to_owned(),
            };
        }
        GitError::Failed {
            command: self.command,
            reason,
        }
    }
}

pub(super) fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().spawn(work).map(drop)
}

/// Reads to the end, and keeps the beginning. Git is never killed for a long output: it may be writing something else.
fn read(pipe: impl Read, limit: usize) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let mut rest = pipe.take(limit as u64);
    drop(rest.read_to_end(&mut kept));
    let n_more = io::copy(&mut rest.into_inner(), &mut io::sink());
    (kept, n_more.is_ok_and(|n| n > 0))
}

pub(super) fn end(child: &mut Child) {
    #[cfg(unix)]
    let _ = rustix::process::kill_process_group(rustix::process::Pid::from_child(child), rustix::process::Signal::KILL);
    let _ = child.kill();
    let _ = child.wait();
}
