//! The findings about a workspace, each with severity, place and fix. Reads nothing.

use std::path::{Path, PathBuf};

use planwright_core::diagnostic::Severity;
use planwright_core::text::count;

use crate::config::no_agent;
use crate::error_chain::with_causes;
use crate::journal::JournalError;
use crate::layout::STATE_FOLDER;
use crate::shell::argument;
use crate::store::LoadError;

#[derive(Debug)]
pub struct DoctorFinding {
    pub id: &'static str,
    /// An error where something does not work until it is fixed.
    pub severity: Severity,
    /// From the root of the workspace, where it lies there.
    pub path: Option<PathBuf>,
    pub message: String,
    pub help: String,
}

fn error(id: &'static str, message: impl Into<String>, help: impl Into<String>) -> DoctorFinding {
    DoctorFinding {
        id,
        severity: Severity::Error,
        path: None,
        message: message.into(),
        help: help.into(),
    }
}

fn warning(id: &'static str, message: impl Into<String>, help: impl Into<String>) -> DoctorFinding {
    DoctorFinding {
        severity: Severity::Warning,
        ..error(id, message, help)
    }
}

impl DoctorFinding {
    fn at(self, path: &Path) -> Self {
        let path = Some(path.to_owned());
        DoctorFinding { path, ..self }
    }

    pub(super) fn not_writable(folder: &Path, why: &str) -> Self {
        let message = format!("`{}` cannot be written to: {why}", folder.display());
        let help = "make it writable: until then plans can be read, but not changed";
        error("state-not-writable", message, help).at(folder)
    }

    pub(super) fn not_a_folder(path: &Path, what: &str) -> Self {
        let message = format!(
            "`{}` {what}, and planwright stores its state in a folder of that name",
            path.display()
        );
        let help = "move it away: plans can be read, but not changed, until then";
        error("state-not-a-folder", message, help).at(path)
    }

    pub(super) fn not_ignored() -> Self {
        let message = format!("`{STATE_FOLDER}` is not ignored by git");
        let help = format!("write a line with `*` to `{STATE_FOLDER}/.gitignore`");
        warning("state-not-ignored", message, help).at(Path::new(STATE_FOLDER))
    }

    pub(super) fn tracked() -> Self {
        let message = format!("git tracks files of `{STATE_FOLDER}`: every clone takes that history for its own");
        let help = format!(
            "in a repository of yours: `git rm -r --cached {STATE_FOLDER}`, and commit; in another person's, remove the folder: \
             its states of the tasks are not yours"
        );
        warning("state-tracked", message, help).at(Path::new(STATE_FOLDER))
    }

    pub(super) fn no_locks(folder: &Path, why: &str) -> Self {
        let message = format!("files in `{}` cannot be locked: {why}", folder.display());
        let help = "keep the workspace on a file system that has locks: until then nothing can be changed safely";
        error("no-locks", message, help).at(folder)
    }

    pub(super) fn journal(root: &Path, mut journal: JournalError) -> Self {
        let id = match journal {
            JournalError::Newer { .. } => "journal-newer",
            JournalError::Corrupt { .. } => "journal-corrupt",
            JournalError::InUse { .. } | JournalError::Io { .. } => "journal-unreadable",
        };
        let mut place = None;
        if let JournalError::Newer { path, .. } | JournalError::Corrupt { path, .. } | JournalError::Io { path, .. } =
            &mut journal
        {
            *path = short(root, path);
            place = Some(path.clone());
        }
        DoctorFinding {
            path: place,
            ..error(id, with_causes(&journal), journal.help())
        }
    }

    pub(super) fn torn_journal(path: &Path, n_bytes: u64) -> Self {
        let torn = count(n_bytes, "byte");
        let message = format!(
            "the last record of the journal `{}` is incomplete ({torn})",
            path.display()
        );
        let help = "no change is lost: the record was never confirmed, and the next change of the plan removes it";
        warning("journal-torn", message, help).at(path)
    }

    pub(super) fn orphan_journal(path: &Path, plan: &str) -> Self {
        let path_words = path.display();
        let message = format!("the journal `{path_words}` is of `{plan}`, which does not exist");
        let help = format!("restore the plan to continue its history, or remove the history: `rm {path_words}`");
        warning("journal-orphan", message, help).at(path)
    }

    pub(super) fn stale_temporary(path: &Path) -> Self {
        let message = format!("`{}` was left by a planwright that was stopped", path.display());
        warning(
            "stale-temporary",
            message,
            format!("remove it: `rm {}`", path.display()),
        )
        .at(path)
    }

    pub(super) fn plan_unreadable(root: &Path, path: &Path, mut load: LoadError) -> Self {
        load.shorten(root);
        error("plan-unreadable", with_causes(&load), load.help()).at(path)
    }

    pub(super) fn plan_errors(path: &Path, n_errors: usize) -> Self {
        let message = format!("`{}` has {}", path.display(), count(n_errors, "error"));
        let help = format!("see `planwright check {}`", path.display());
        error("plan-errors", message, help).at(path)
    }

    pub(super) fn points_nowhere(path: &Path, what: &str) -> Self {
        let help = format!(
            "name an existing plan in it (see `planwright check {}`), or remove it",
            path.display()
        );
        warning("points-nowhere", format!("`{}`: {what}", path.display()), help).at(path)
    }

    pub(super) fn abandoned_claims(path: &Path, claims: &[String]) -> Self {
        let is = if claims.len() == 1 { "is" } else { "are" };
        let tasks = count(claims.len(), "task");
        let claims = claims.join("; ");
        let message = format!("`{}`: {tasks} {is} held and abandoned: {claims}", path.display());
        let help = format!(
            "`planwright next --start {0}` claims a task whose lease is over; `planwright reset TASK -p {0} --take-over --note \"…\"` \
             frees one",
            path.display()
        );
        warning("claims-abandoned", message, help).at(path)
    }

    pub(super) fn interrupted_run(path: &Path, run: &str, n_left: u64) -> Self {
        let is = if n_left == 1 { "is" } else { "are" };
        let tasks = count(n_left, "task");
        let message = format!(
            "run {run} of `{}` was interrupted and is not finished: {tasks} {is} left",
            path.display()
        );
        let help = format!(
            "`planwright run {}` resumes it; `planwright summary {run}` shows how far it got",
            argument(&path.to_string_lossy())
        );
        warning("run-interrupted", message, help).at(path)
    }

    pub(super) fn missing_program(program: &str, command: &str) -> Self {
        let where_words = not_found_words(program);
        let message = format!("`{program}`, which runs `{command}` to verify tasks, is {where_words}");
        let help = "install it, or correct the command in [verify] of planwright.toml";
        // A task may make it.
        let severity = if program.contains('/') { warning } else { error };
        severity("verify-program-missing", message, help)
    }

    pub(super) fn missing_agent(agent: &str, program: &str) -> Self {
        let where_words = not_found_words(program);
        let message = format!("`{program}`, the program of the agent `{agent}`, is {where_words}");
        let help = format!(
            "install it, correct the command in [agents.{agent}], or choose another agent: `planwright agents` lists them"
        );
        error("agent-program-missing", message, help)
    }

    pub(super) fn no_agent() -> Self {
        let message = "no agent is configured: `planwright run` needs one";
        error("no-agent", message, no_agent::help("planwright run", "run"))
    }

    pub(super) fn no_verification() -> Self {
        let message = "no command verifies tasks: a task is done when its agent reports success";
        let help = "name the command that tests your work in planwright.toml: `[verify]`, `every = [[\"make\", \"test\"]]`; \
                    `planwright init --print` prints what it finds";
        warning("no-verification", message, help)
    }

    pub fn cannot_run(message: &str, help: String) -> Self {
        error(
            "cannot-run",
            format!("`planwright run` would be refused: {message}"),
            help,
        )
    }

    pub(super) fn no_plan() -> Self {
        let help = "create one: `planwright plan \"GOAL\"`, `planwright new \"TITLE\"` or `planwright import FILE`";
        error("no-plan", "there is no plan in this workspace", help)
    }

    pub fn verification_fails(command: &str, ended: &str) -> Self {
        let message = format!("`{command}` {ended}, before any task has changed anything");
        let help = "correct that first: a run refuses to begin; or correct the command in [verify] of planwright.toml";
        error("verification-fails", message, help)
    }

    pub fn little_space(n_bytes: u64) -> Self {
        let message = format!("only {} MB are free where checkouts are made", n_bytes / 1_000_000);
        let help = "free some: `planwright worktrees` lists checkouts that can be removed";
        warning("little-space", message, help)
    }

    pub fn unfinished_git(what: &str) -> Self {
        let message = format!("git has an unfinished operation: {what}");
        warning("git-unfinished", message, "finish it, or abort it with git")
    }

    pub(super) fn no_git() -> Self {
        let message = "this is a git repository, and `git` is not on the PATH";
        warning("no-git", message, "install git, or put it on the PATH")
    }
}

fn not_found_words(program: &str) -> &'static str {
    match program.contains('/') {
        true => "not a program in this workspace",
        false => "not found on PATH",
    }
}

/// Names a file from the root of the workspace.
pub(super) fn short(root: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix(root) {
        Ok(short) if short.as_os_str().is_empty() => PathBuf::from("."),
        Ok(short) => short.to_owned(),
        Err(_) => path.to_owned(),
    }
}
