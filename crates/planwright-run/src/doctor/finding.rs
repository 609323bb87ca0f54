//! The findings about a workspace, each with severity, place and fix. Reads nothing.

use std::path::{Path, PathBuf};

use planwright_core::diagnostic::Severity;

use crate::config::no_agent;
use crate::error_chain::with_causes;
use crate::journal::{self, JournalError};
use crate::layout::STATE_FOLDER;
use crate::shell::argument;
use crate::store::LoadError;

#[derive(Debug, thiserror::Error)]
pub enum DoctorFinding {
    #[error("`{}` cannot be written to: {why}", .folder.display())]
    NotWritable { folder: PathBuf, why: String },
    #[error("`{}` {what}, and planwright keeps what it knows of the plans in a folder of that name", .path.display())]
    NotAFolder { path: PathBuf, what: &'static str },
    #[error("`{STATE_FOLDER}` is not ignored by git")]
    NotIgnored,
    #[error("git tracks files of `{STATE_FOLDER}`: every clone takes that history for its own")]
    Tracked,
    #[error("files in `{}` cannot be locked: {why}", .folder.display())]
    NoLocks { folder: PathBuf, why: String },
    #[error("{}", with_causes(.error))]
    Journal { error: JournalError },
    #[error("the end of the journal `{}` was never finished ({})", .journal.display(), journal::counted_bytes(*.n_bytes))]
    TornJournal { journal: PathBuf, n_bytes: u64 },
    #[error("the journal `{}` is of `{plan}`, which is gone", .journal.display())]
    OrphanJournal { journal: PathBuf, plan: String },
    #[error("`{}` was left by a planwright that was stopped", .path.display())]
    StaleTemporary { path: PathBuf },
    #[error("{}", with_causes(.error))]
    PlanUnreadable { path: PathBuf, error: LoadError },
    #[error("`{}` has {}", .path.display(), counted(*.n_errors))]
    PlanErrors { path: PathBuf, n_errors: usize },
    #[error("`{}`: {what}", .path.display())]
    PointsNowhere { path: PathBuf, what: String },
    #[error("`{}`: {} held and abandoned: {}", .path.display(), counted_tasks(.claims.len()), .claims.join("; "))]
    AbandonedClaims { path: PathBuf, claims: Vec<String> },
    #[error("run {run} of `{}` was interrupted and is not finished: {}", .path.display(), left_words(*.n_left))]
    InterruptedRun { path: PathBuf, run: String, n_left: u64 },
    #[error("`{program}`, which runs `{command}` to verify tasks, is {}", not_found_words(.program))]
    MissingProgram { program: String, command: String },
    #[error("`{program}`, the program of the agent `{agent}`, is {}", not_found_words(.program))]
    MissingAgent { agent: String, program: String },
    #[error("no agent is configured: `planwright run` would not know which one to start")]
    NoAgent,
    #[error("nothing verifies tasks: one is done when its agent says so")]
    NoVerification,
    #[error("`planwright run` would be refused: {message}")]
    CannotRun { message: String, help: String },
    #[error("there is no plan in this workspace")]
    NoPlan,
    #[error("`{command}` {ended}, before any task has changed anything")]
    VerificationFails { command: String, ended: String },
    #[error("only {} are free where checkouts are made", megabytes(*.n_bytes))]
    LittleSpace { n_bytes: u64 },
    #[error("git is in the middle of something: {what}")]
    UnfinishedGit { what: String },
    #[error("this is a git repository, and `git` is not on the PATH")]
    NoGit,
}

fn megabytes(n_bytes: u64) -> String {
    format!("{} MB", n_bytes / 1_000_000)
}

fn left_words(n_left: u64) -> String {
    match n_left {
        1 => "1 task is left".to_owned(),
        n => format!("{n} tasks are left"),
    }
}

fn not_found_words(program: &str) -> &'static str {
    match program.contains('/') {
        true => "not a program in this workspace",
        false => "not found on PATH",
    }
}

fn counted_tasks(n_tasks: usize) -> String {
    match n_tasks {
        1 => "1 task is".to_owned(),
        n => format!("{n} tasks are"),
    }
}

fn counted(n_errors: usize) -> String {
    match n_errors {
        1 => "1 error".to_owned(),
        n => format!("{n} errors"),
    }
}

impl DoctorFinding {
    pub fn id(&self) -> &'static str {
        match self {
            DoctorFinding::NotWritable { .. } => "state-not-writable",
            DoctorFinding::NotAFolder { .. } => "state-not-a-folder",
            DoctorFinding::NotIgnored => "state-not-ignored",
            DoctorFinding::Tracked => "state-tracked",
            DoctorFinding::NoLocks { .. } => "no-locks",
            DoctorFinding::Journal { error } => match error {
                JournalError::Newer { .. } => "journal-newer",
                JournalError::Corrupt { .. } => "journal-corrupt",
                JournalError::InUse { .. } | JournalError::Io { .. } => "journal-unreadable",
            },
            DoctorFinding::TornJournal { .. } => "journal-torn",
            DoctorFinding::OrphanJournal { .. } => "journal-orphan",
            DoctorFinding::StaleTemporary { .. } => "stale-temporary",
            DoctorFinding::PlanUnreadable { .. } => "plan-unreadable",
            DoctorFinding::PlanErrors { .. } => "plan-errors",
            DoctorFinding::PointsNowhere { .. } => "points-nowhere",
            DoctorFinding::AbandonedClaims { .. } => "claims-abandoned",
            DoctorFinding::InterruptedRun { .. } => "run-interrupted",
            DoctorFinding::MissingProgram { .. } => "verify-program-missing",
            DoctorFinding::MissingAgent { .. } => "agent-program-missing",
            DoctorFinding::NoGit => "no-git",
            DoctorFinding::NoAgent => "no-agent",
            DoctorFinding::NoVerification => "no-verification",
            DoctorFinding::CannotRun { .. } => "cannot-run",
            DoctorFinding::NoPlan => "no-plan",
            DoctorFinding::VerificationFails { .. } => "verification-fails",
            DoctorFinding::LittleSpace { .. } => "little-space",
            DoctorFinding::UnfinishedGit { .. } => "git-unfinished",
        }
    }

    /// Returns its severity: an error if something does not work until it is fixed.
    pub fn severity(&self) -> Severity {
        match self {
            DoctorFinding::NotIgnored
            | DoctorFinding::Tracked
            | DoctorFinding::TornJournal { .. }
            | DoctorFinding::OrphanJournal { .. }
            | DoctorFinding::StaleTemporary { .. }
            | DoctorFinding::PointsNowhere { .. }
            | DoctorFinding::AbandonedClaims { .. }
            | DoctorFinding::InterruptedRun { .. }
            | DoctorFinding::NoVerification
            | DoctorFinding::LittleSpace { .. }
            | DoctorFinding::UnfinishedGit { .. }
            | DoctorFinding::NoGit => Severity::Warning,
            // A task may create it.
            DoctorFinding::MissingProgram { program, .. } if program.contains('/') => Severity::Warning,
            _ => Severity::Error,
        }
    }

    pub fn path(&self) -> Option<&Path> {
        match self {
            DoctorFinding::NotWritable { folder, .. } | DoctorFinding::NoLocks { folder, .. } => Some(folder),
            DoctorFinding::NotAFolder { path, .. } => Some(path),
            DoctorFinding::NotIgnored | DoctorFinding::Tracked => Some(Path::new(STATE_FOLDER)),
            DoctorFinding::Journal { error } => match error {
                JournalError::Newer { path, .. }
                | JournalError::Corrupt { path, .. }
                | JournalError::Io { path, .. } => Some(path),
                JournalError::InUse { .. } => None,
            },
            DoctorFinding::TornJournal { journal, .. } | DoctorFinding::OrphanJournal { journal, .. } => Some(journal),
            DoctorFinding::StaleTemporary { path }
            | DoctorFinding::PlanUnreadable { path, .. }
            | DoctorFinding::PlanErrors { path, .. }
            | DoctorFinding::AbandonedClaims { path, .. }
            | DoctorFinding::InterruptedRun { path, .. }
            | DoctorFinding::PointsNowhere { path, .. } => Some(path),
            _ => None,
        }
    }

    pub fn help(&self) -> String {
        match self {
            DoctorFinding::NotAFolder { .. } => {
                "move it away: plans can be read, but not changed, until then".to_owned()
            }
            DoctorFinding::NotWritable { .. } => {
                "let yourself write there: plans can be read, but not changed, until then".to_owned()
            }
            DoctorFinding::NotIgnored => format!("write a line with `*` to `{STATE_FOLDER}/.gitignore`"),
            DoctorFinding::Tracked => format!(
                "in a repository of yours: `git rm -r --cached {STATE_FOLDER}`, and commit; in a stranger's, remove the folder: what \
                 it says of the tasks is the stranger's word"
            ),
            DoctorFinding::NoLocks { .. } => {
                "keep the workspace on a file system that has locks: until then nothing can be changed safely"
                    .to_owned()
            }
            DoctorFinding::Journal { error } => error.help().to_owned(),
            DoctorFinding::TornJournal { .. } => {
                "nothing is lost: it was never acknowledged, and the next change of that plan cuts it off".to_owned()
            }
            DoctorFinding::OrphanJournal { journal, .. } => format!(
                "put the plan back to go on with its history, or remove the history: `rm {}`",
                journal.display()
            ),
            DoctorFinding::StaleTemporary { path } => format!("remove it: `rm {}`", path.display()),
            DoctorFinding::PlanUnreadable { error, .. } => error.help().to_owned(),
            DoctorFinding::PlanErrors { path, .. } => format!("see `planwright check {}`", path.display()),
            DoctorFinding::PointsNowhere { path, .. } => format!(
                "point it at a plan that is there (`planwright check {}` may know which), or remove it",
                path.display()
            ),
            DoctorFinding::AbandonedClaims { path, .. } => format!(
                "`planwright next --start {0}` claims a task whose lease is over; `planwright reset TASK -p {0} --take-over --note \"…\"` \
                 frees one",
                path.display()
            ),
            DoctorFinding::InterruptedRun { path, run, .. } => format!(
                "`planwright run {}` resumes it; `planwright summary {run}` shows how far it got",
                argument(&path.to_string_lossy())
            ),
            DoctorFinding::MissingAgent { agent, .. } => format!(
                "install it, correct the command in [agents.{agent}], or choose another agent: `planwright agents` lists them"
            ),
            DoctorFinding::MissingProgram { .. } => {
                "install it, or correct the command in [verify] of planwright.toml".to_owned()
            }
            DoctorFinding::NoGit => "install git, or put it on the PATH".to_owned(),
            DoctorFinding::NoAgent => no_agent::help("planwright run", "run"),
            DoctorFinding::NoVerification => {
                "name the command that tests your work in planwright.toml: `[verify]`, `every = [[\"make\", \"test\"]]`; `planwright init --print` prints what it finds"
                    .to_owned()
            }
            DoctorFinding::CannotRun { help, .. } => help.clone(),
            DoctorFinding::NoPlan => {
                "create one: `planwright plan \"GOAL\"`, `planwright new \"TITLE\"` or `planwright import FILE`"
                    .to_owned()
            }
            DoctorFinding::VerificationFails { .. } => {
                "correct that first: a run refuses to begin; or correct the command in [verify] of planwright.toml"
                    .to_owned()
            }
            DoctorFinding::LittleSpace { .. } => {
                "free some: `planwright worktrees` lists checkouts that can be removed".to_owned()
            }
            DoctorFinding::UnfinishedGit { .. } => "finish it, or end it with git's own --abort".to_owned(),
        }
    }
}

impl DoctorFinding {
    /// Makes paths relative to the root of the workspace, which the caller knows.
    pub(super) fn shorten(&mut self, root: &Path) {
        let path = match self {
            DoctorFinding::NotWritable { folder, .. } | DoctorFinding::NoLocks { folder, .. } => folder,
            DoctorFinding::Journal { error } => match error {
                JournalError::Newer { path, .. }
                | JournalError::Corrupt { path, .. }
                | JournalError::Io { path, .. } => path,
                JournalError::InUse { .. } => return,
            },
            DoctorFinding::TornJournal { journal, .. } | DoctorFinding::OrphanJournal { journal, .. } => journal,
            DoctorFinding::NotAFolder { path, .. }
            | DoctorFinding::AbandonedClaims { path, .. }
            | DoctorFinding::InterruptedRun { path, .. }
            | DoctorFinding::StaleTemporary { path }
            | DoctorFinding::PlanErrors { path, .. }
            | DoctorFinding::PointsNowhere { path, .. } => path,
            DoctorFinding::PlanUnreadable { path, error } => {
                error.shorten(root);
                path
            }
            _ => return,
        };
        if let Ok(short) = path.strip_prefix(root) {
            *path = match short.as_os_str().is_empty() {
                true => PathBuf::from("."),
                false => short.to_owned(),
            };
        }
    }
}
