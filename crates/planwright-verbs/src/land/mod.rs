//! The verb `land`: merges the work of a plan into the checked-out branch, after another verification.

mod notes;
pub(crate) mod post_merge;
mod verification;

use std::time::Duration;

use self::post_merge::after_landing;
use crate::configuration::sound_config;
use crate::failure::{Failure, Result};
use crate::plans::{open_file, refuse_in_attempt, review_commands};
use crate::run_history::{RunScope, RunStatus, judged};
use crate::text::{count, one_line, short_commit, shown_name, some_of};
use crate::verification::VerificationObserver;
use crate::workspace::Workspace;
use planwright_core::plan::State;
use planwright_run::checkout_home::CheckoutHome;
use planwright_run::clock;
use planwright_run::config::Config;
use planwright_run::engine::OwnFiles;
use planwright_run::error_chain::with_causes;
use planwright_run::files::DiskFiles;
pub use planwright_run::git::LandMode;
use planwright_run::git::{GitError, LandRequest, LandingCommit, Repository, TargetBranch, trailer_value};
use planwright_run::journal::Receipt;
use planwright_run::layout::PlanPlace;
use planwright_run::lock::{self, LockError, LockHolder, PlanLock};
use planwright_run::runs::state::{RunState, TaskRun, TaskState};
use planwright_run::runs::{FixedSettings, SeenRun};
use planwright_run::shell::argument;
use planwright_run::verify;
use planwright_run::worker::Workers;
use planwright_run::workspace::root_of;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LandPlanRequest {
    /// A run by its id, a prefix of one or `last`; or a plan, for its newest run with a branch. None: the newest of the workspace.
    pub what: Option<String>,
    /// The plan, for its newest run with a branch.
    pub plan: Option<String>,
    pub mode: LandMode,
    /// Reports what would land, and changes nothing. Verifies nothing.
    pub dry_run: bool,
    /// Whether the failure of a command includes the end of its output.
    pub with_output: bool,
}

#[derive(Default, Serialize)]
pub struct LandPlanReport {
    pub schema_version: &'static str,
    pub run: String,
    pub plan: String,
    pub branch: String,
    /// The branch that is checked out.
    pub into: String,
    /// The commit of the branch now.
    pub commit: String,
    /// Whether anything was merged.
    pub landed: bool,
    /// The tasks whose work is included.
    pub tasks: Vec<String>,
    pub receipts: Vec<LandedReceipt>,
    #[serde(skip)]
    pub words: String,
    /// In a dry run: the command that shows the changes.
    #[serde(skip)]
    pub diff_command: Option<String>,
    /// Work of other plans that has not landed, in words.
    #[serde(skip)]
    pub not_landed: Vec<String>,
}

#[derive(Serialize)]
pub struct LandedReceipt {
    pub command: Vec<String>,
    pub passed: bool,
    pub exit: String,
    pub milliseconds: u64,
}

struct Landing {
    run: SeenRun,
    conditions: FixedSettings,
    repository: Repository,
    own: OwnFiles,
    config: Config,
    into: String,
    head: String,
    tip: String,
    /// The tasks whose work is on the branch and not in the checked-out commit.
    tasks: Vec<String>,
    state: RunState,
}

/// Merges the work of a plan into the checked-out branch.
pub fn land(
    workspace: &Workspace,
    request: &LandPlanRequest,
    observer: &mut dyn VerificationObserver,
) -> Result<LandPlanReport> {
    refuse_in_attempt(&root_of(workspace.folder()), "land the work of its own run")?;
    let landing = Landing::find(workspace, request)?;
    if landing.conditions.branch == landing.into {
        return Err(landing.is_checked_out_itself());
    }
    landing.refuse_unreviewed()?;
    if !request.dry_run {
        landing.refuse()?;
    }
    let home = landing.home()?;
    let _only = take_lock(&home)?;
    let commit = match landing.build(request.mode)? {
        LandingCommit::Nothing => {
            return Ok(LandPlanReport {
                words: landing.nothing_words(),
                not_landed: landing.other_plans(workspace, &landing.head),
                ..landing.report(landing.head.clone())
            });
        }
        LandingCommit::Conflict(files) => return Err(landing.conflict(&files)),
        LandingCommit::Ready(commit) => commit,
    };
    landing.note_undone(workspace);
    match request.dry_run {
        true => landing.preview(workspace, commit),
        false => landing.carry_out(workspace, &home, commit, request.with_output, observer),
    }
}

impl Landing {
    /// Finds the requested run, and the checked-out branch.
    fn find(workspace: &Workspace, request: &LandPlanRequest) -> Result<Self> {
        let (run, state, conditions) = match &request.plan {
            Some(plan) => newest_run(&RunScope::of(workspace, Some(plan))?)?,
            None => run_of(workspace, request.what.as_deref().filter(|what| *what != "last"))?,
        };
        let place = run.plan();
        let repository = Repository::around(&place.root).map_err(outside)?;
        let repository =
            repository.ok_or_else(|| Failure::problem("not a git repository", "land in the repository of the run"))?;
        let undone = match request.dry_run {
            true => Ok(None),
            false => repository.undo_unfinished_move(),
        };
        let undone = undone.map_err(|error| {
            Failure::problem(
                format!(
                    "planwright was ended while work landed here, and the files cannot be set back: {}",
                    with_causes(&error)
                ),
                "fix that, and land again; `git status` shows the files",
            )
        })?;
        if let Some(undone) = undone {
            workspace.remark(&format!("note: {}", undone.words()));
        }
        let branch = repository.branch().map_err(outside)?;
        let into = branch.ok_or_else(|| Failure::problem("no branch is checked out", "check out the target branch"))?;
        let head = repository.head().map_err(outside)?;
        let head = head.ok_or_else(|| {
            Failure::problem(
                format!("`{into}` has no commit yet"),
                "check out the target branch with `git switch`",
            )
        })?;
        let tip = repository.tip(&conditions.branch).map_err(outside)?;
        let tip = tip.ok_or_else(|| gone(&conditions.branch, &state))?;
        let configuration = sound_config(workspace, &place.root, "so nothing can be verified")?;
        Ok(Landing {
            own: OwnFiles::of(&place, &repository),
            tasks: named(repository.tasks_beyond(&tip, &head).map_err(outside)?, &state),
            config: configuration.config,
            state,
            run,
            conditions,
            repository,
            into,
            head,
            tip,
        })
    }

    fn home(&self) -> Result<CheckoutHome> {
        CheckoutHome::of(self.config.run.checkouts.folder.as_deref(), &self.repository)
            .map_err(|error| Failure::environment(&error, "name another folder: run.checkouts"))
    }

    fn place(&self) -> PlanPlace {
        self.run.plan()
    }

    fn is_checked_out_itself(&self) -> Failure {
        Failure::problem(
            format!("`{}` is checked out itself", self.into),
            "check out the target branch with `git switch`, and land again",
        )
    }

    /// Refuses if something could be lost, before anything is built.
    fn refuse(&self) -> Result<()> {
        match self.repository.require_idle(&|path| self.own.contains(path)) {
            Ok(()) => Ok(()),
            Err(GitError::NotClean { paths, .. }) => Err(Failure::problem(
                format!(
                    "there is uncommitted work: {}",
                    some_of(paths.iter().map(|path| one_line(path)), 5)
                ),
                "commit or stash it, and land again; nothing was changed",
            )),
            Err(error @ GitError::Busy { .. }) => Err(Failure::problem(
                error.to_string(),
                "finish or abort that, and land again",
            )),
            Err(error) => Err(outside(error)),
        }
    }

    /// Refuses to land work that waits for a review, or that a review rejected: earlier versions of planwright put it on the branch before
    /// the review.
    fn refuse_unreviewed(&self) -> Result<()> {
        let opened = open_file(&self.place().target).ok();
        let plan = opened
            .as_ref()
            .and_then(|opened| opened.linked().ok())
            .map(|linked| &linked.plan);
        let state_of =
            |task: &TaskRun| plan.and_then(|plan| plan.tasks().get(plan.find_task(&task.task)?)?.status.state());
        let has_landed = |task: &&TaskRun| task.landed().is_some() && self.tasks.contains(&task.task);
        let tasks = || self.state.tasks().iter().filter(has_landed);
        let is_waiting = |task: &&TaskRun| task.state == TaskState::Review && state_of(task) == Some(State::Running);
        let is_rejected = |task: &&TaskRun| {
            let was_reviewed = task.state == TaskState::Review || task.state == TaskState::Failed;
            was_reviewed && state_of(task) == Some(State::Failed)
        };
        let branch = one_line(&self.conditions.branch);
        if let Some(task) = tasks().find(is_waiting) {
            let name = shown_name(&task.task);
            return Err(Failure::problem(
                format!("`{name}` waits for review, and its work is on `{branch}`"),
                review_commands(&task.task, &self.run.header.path),
            ));
        }
        match tasks().find(is_rejected) {
            Some(task) => Err(Failure::problem(
                format!(
                    "`{}` was rejected, and its work is on `{branch}`",
                    shown_name(&task.task)
                ),
                format!("revert its commit on `{branch}` with `git revert`, and land again"),
            )),
            None => Ok(()),
        }
    }

    fn build(&self, mode: LandMode) -> Result<LandingCommit> {
        let tasks = &self.tasks;
        let subject = format!("Land {} ({})", self.run.header.path, count(tasks.len() as u64, "task"));
        let lines: Vec<String> = tasks
            .iter()
            .map(|task| format!("Planwright-Task: {}", one_line(task)))
            .collect();
        let message = format!(
            "{subject}\n\nPlanwright-Run: {}\n{}\n",
            self.run.place.id(),
            lines.join("\n")
        );
        let request = LandRequest {
            head: &self.head,
            tip: &self.tip,
            mode,
            message: &message,
        };
        self.repository.build_landing(&request).map_err(outside)
    }

    fn preview(&self, workspace: &Workspace, commit: String) -> Result<LandPlanReport> {
        let in_the_way = self.repository.files_in_the_way(&self.head, &commit).map_err(outside)?;
        if !in_the_way.is_empty() {
            let files = some_of(in_the_way.iter().map(|file| one_line(file)), 5);
            workspace.remark(&format!(
                "note: landing would overwrite files that are not committed: {files}"
            ));
        }
        Ok(LandPlanReport {
            words: format!(
                "{} would land in `{}`{}",
                self.amount()?,
                one_line(&self.into),
                self.names()
            ),
            diff_command: Some(format!(
                "git diff {} {}",
                short_commit(&self.head),
                short_commit(&commit)
            )),
            ..self.report(commit)
        })
    }

    /// Verifies a commit, and moves the branch to it.
    fn carry_out(
        &self,
        workspace: &Workspace,
        home: &CheckoutHome,
        commit: String,
        with_output: bool,
        observer: &mut dyn VerificationObserver,
    ) -> Result<LandPlanReport> {
        // `git gc` cannot remove it during verification.
        let name = format!("landing/{}", self.run.place.id());
        self.repository.keep(&name, &commit).map_err(outside)?;
        let verified = self.verify(workspace, home, &commit, with_output, observer);
        let moved = verified.and_then(|verified| self.advance(&commit).map(|()| verified));
        // Even if the cleanup fails, the work has landed, or is unchanged.
        self.repository.let_go(&name, &commit).ok();
        let (receipts, slot) = moved?;
        if let Some(slot) = slot {
            slot.keep_caches().ok();
        }
        if self.config.run.landing.hooks {
            self.run_hook(workspace, observer)?;
        }
        Ok(LandPlanReport {
            landed: true,
            receipts: receipts.iter().map(landed_receipt).collect(),
            words: format!(
                "landed {} into `{}`, which is at {} now{}",
                self.amount()?,
                one_line(&self.into),
                short_commit(&commit),
                self.names()
            ),
            not_landed: self.other_plans(workspace, &commit),
            ..self.report(commit)
        })
    }

    fn report(&self, commit: String) -> LandPlanReport {
        LandPlanReport {
            schema_version: "planwright.land/v1",
            run: self.run.place.id().to_owned(),
            plan: self.run.header.path.clone(),
            branch: self.conditions.branch.clone(),
            into: self.into.clone(),
            commit,
            tasks: self.tasks.clone(),
            ..LandPlanReport::default()
        }
    }

    /// Returns the amount of work: tasks, or commits if only the user has committed to the branch.
    fn amount(&self) -> Result<String> {
        let amount = match self.tasks.len() {
            0 => {
                let commits = self.repository.commits_beyond(&self.tip, &self.head).map_err(outside)?;
                count(commits.len() as u64, "commit")
            }
            n => count(n as u64, "task"),
        };
        Ok(format!("{amount} of `{}`", one_line(&self.conditions.branch)))
    }

    /// Returns the names of the included tasks, for users.
    fn names(&self) -> String {
        match self.tasks.is_empty() {
            true => String::new(),
            false => format!(": {}", some_of(self.tasks.iter().map(|task| shown_name(task)), 8)),
        }
    }

    fn conflict(&self, files: &[String]) -> Failure {
        let files = some_of(files.iter().map(|file| one_line(file)), 5);
        let branch = argument(&self.conditions.branch);
        let help = match self.conditions.uncommitted {
            // The snapshot of it does not land, so the files may lack what the tasks built on.
            Some(_) => format!(
                "nothing was changed; the tasks built on your uncommitted work, which the run took along: commit that work on `{}`, and \
                 land again",
                self.into
            ),
            None => format!("nothing was changed; merge by hand: git merge {branch}"),
        };
        Failure::problem(
            format!("`{}` and `{}` both changed {files}", self.conditions.branch, self.into),
            help,
        )
    }

    /// Runs the user's hook for files that have changed.
    fn run_hook(&self, workspace: &Workspace, observer: &mut dyn VerificationObserver) -> Result<()> {
        let failed = |error| Failure::environment(&error, "the work has landed; no command can be run here");
        let mut workers = Workers::new().map_err(failed)?;
        let cancel = observer.cancel_token().map_err(failed)?;
        cancel.wakes(workers.waker());
        let log = self.run.place.folder().join("post-merge.log");
        after_landing(workspace, &mut workers, &self.place().root, log, cancel.n_asked());
        Ok(())
    }

    /// Moves the checked-out branch forward, with its files.
    fn advance(&self, commit: &str) -> Result<()> {
        let target = TargetBranch::current_as(&self.repository, &self.into).map_err(outside)?;
        let why = format!("planwright: land {}", self.conditions.branch);
        match target.advance_checkout(&self.head, commit, &why, &|path| self.own.contains(path)) {
            Ok(()) => Ok(()),
            Err(GitError::Moved { .. }) => Err(Failure::problem(
                format!("`{}` moved while the result was verified", self.into),
                "nothing was changed; land again",
            )),
            Err(GitError::NotCheckedOut { .. }) => Err(Failure::problem(
                format!("`{}` is no longer checked out", self.into),
                format!(
                    "nothing was changed; `git switch {}`, and land again",
                    argument(&self.into)
                ),
            )),
            Err(error @ GitError::WouldOverwrite { .. }) => Err(Failure::problem(
                format!("the result cannot be checked out: {error}"),
                "move those files away, and land again",
            )),
            Err(error @ (GitError::NotClean { .. } | GitError::Busy { .. })) => Err(Failure::problem(
                format!("the result cannot be checked out: {error}"),
                "nothing was changed; commit, stash or finish that, and land again",
            )),
            Err(error @ GitError::NotSetBack { .. }) => Err(Failure::problem(
                format!("the result cannot be checked out: {error}"),
                "see `git status`; `planwright land` tries again to restore the files",
            )),
            Err(error @ (GitError::Failed { .. } | GitError::Locked { .. })) => Err(Failure::problem(
                format!("the result cannot be checked out: {error}"),
                "see `git status`, and land again",
            )),
            Err(error) => Err(outside(error)),
        }
    }
}

/// Ensures that one process lands at a time.
fn take_lock(home: &CheckoutHome) -> Result<PlanLock> {
    let me = LockHolder::new("land".to_owned(), clock::now());
    let made = std::fs::create_dir_all(home.folder());
    made.map_err(|error| Failure::environment(&error, "name another folder: run.checkouts"))?;
    lock::acquire(&DiskFiles, &home.folder().join("land.lock"), &me, Duration::ZERO).map_err(|error| match error {
        LockError::Held { .. } => Failure::problem(
            "another `planwright land` is at work in this repository",
            "wait for it to end, and land again; nothing was changed",
        ),
        error @ LockError::Io { .. } => Failure::environment(&error, "check that you may write there"),
    })
}

/// Returns the names of tasks as their plan has them: a trailer of a commit has them in one line.
fn named(tasks: Vec<String>, state: &RunState) -> Vec<String> {
    let name_of = |trailer: String| {
        let mut known = state.tasks().iter();
        let own = known.find(|task| trailer_value(&task.task) == trailer);
        own.map_or(trailer, |task| task.task.clone())
    };
    tasks.into_iter().map(name_of).collect()
}

/// Returns the error for a missing branch, with the command that restores it.
fn gone(branch: &str, state: &RunState) -> Failure {
    let help = match state.last_landed_commit() {
        Some(commit) => format!(
            "if you deleted it after it had landed, nothing is left to do; else bring it back: git branch {} {}",
            argument(branch),
            short_commit(commit)
        ),
        None => "no work has landed on it: `planwright run` creates it again".to_owned(),
    };
    Failure::problem(format!("there is no branch `{branch}` any more"), help)
}

/// Returns the requested run: by its id or a prefix of one, otherwise the newest one of a plan or of the workspace.
fn run_of(workspace: &Workspace, what: Option<&str>) -> Result<(SeenRun, RunState, FixedSettings)> {
    let is_id = |what: &&str| what.len() >= 8 && what.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let Some(id) = what.filter(is_id) else {
        return newest_run(&RunScope::of(workspace, what)?);
    };
    let run = RunScope::of(workspace, None)?.run(Some(id))?;
    let (state, _) = judged(&run)?;
    match state.settings.fixed.clone() {
        Some(conditions) => Ok((run, state, conditions)),
        None => Err(Failure::problem(
            "the tasks of that run shared the folder: there is nothing to land",
            "their changes are in the folder already",
        )),
    }
}

/// Returns the newest run with its own branch.
fn newest_run(scope: &RunScope) -> Result<(SeenRun, RunState, FixedSettings)> {
    let mut has_run = false;
    for run in scope.runs()?.flatten() {
        let Ok((state, standing)) = judged(&run) else {
            continue;
        };
        has_run = true;
        if let Some(conditions) = state.settings.fixed.clone().filter(|conditions| !conditions.is_current) {
            if let RunStatus::Running { pid } = standing {
                return Err(Failure::problem(
                    format!("the run continues (process {pid})"),
                    "land when it has ended; or `planwright stop`",
                ));
            }
            return Ok((run, state, conditions));
        }
    }
    match has_run {
        true => Err(Failure::problem(
            format!("no run{} has work on a branch of its own", scope.words()),
            "changes in the shared folder are there already",
        )),
        false => scope.require_plan().and(Err(scope.nothing_ran())),
    }
}

fn landed_receipt(receipt: &Receipt) -> LandedReceipt {
    LandedReceipt {
        command: receipt.command.clone(),
        passed: verify::passed(receipt),
        exit: receipt.exit.clone(),
        milliseconds: receipt.milliseconds,
    }
}

fn outside(error: GitError) -> Failure {
    Failure::environment(&error, "nothing was changed")
}
