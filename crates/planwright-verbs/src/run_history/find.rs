//! The run that a request names: by an id, a prefix of one, `last`, or nothing at all. Also the status of a run.

use std::path::{Path, PathBuf};

use planwright_run::caller;
use planwright_run::files::DiskFiles;
use planwright_run::journal::JournalError;
use planwright_run::layout::PlanPlace;
use planwright_run::revise::note_take_overs;
use planwright_run::runs::state::RunState;
use planwright_run::runs::{self, LiveRun, RunStanding, SeenOrUnreadable, SeenRun};
use planwright_run::workspace::{root_of, slashed};

use super::next_step;
use crate::failure::{Failure, Result};
use crate::plans::{CREATE_PLAN, PlanNaming, candidates, naming, open_file, plan_file, where_runs_are};
use crate::text::one_line;
use crate::workspace::Workspace;

pub struct RunScope<'w> {
    workspace: &'w Workspace,
    root: PathBuf,
    /// The plan's path from the root; none for every plan.
    plan: Option<String>,
    /// The path of the plan that was searched.
    path: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunStatus {
    Running {
        pid: u32,
    },
    Ended(RunStanding),
    /// It has not recorded its end, and no process holds it.
    Interrupted,
}

impl RunStatus {
    /// Determines the status. The caller must look for the run's process before it reads the log: in between the run may have ended.
    pub fn of(live: Option<&LiveRun>, run_state: &RunState) -> Self {
        match (&run_state.ended, live) {
            (Some(ended), _) => RunStatus::Ended(ended.standing.clone()),
            (None, Some(live)) => RunStatus::Running { pid: live.pid },
            (None, None) => RunStatus::Interrupted,
        }
    }

    pub fn word(&self) -> &str {
        match self {
            RunStatus::Running { .. } => "running",
            RunStatus::Ended(standing) => standing.as_str(),
            RunStatus::Interrupted => "interrupted",
        }
    }

    pub fn words(&self) -> String {
        match self {
            RunStatus::Running { pid } => format!("running (process {pid})"),
            RunStatus::Ended(standing) => one_line(standing.as_str()).replace('-', " "),
            RunStatus::Interrupted => "interrupted".to_owned(),
        }
    }
}

impl<'w> RunScope<'w> {
    /// Finds the scope of the runs: a plan, or this workspace.
    pub fn of(workspace: &'w Workspace, plan: Option<&str>) -> Result<Self> {
        // A folder stands for its workspace.
        let folder = match plan {
            None => Some(workspace.folder().to_owned()),
            Some(plan) => Some(workspace.path(plan)).filter(|path| path.is_dir()),
        };
        if let Some(folder) = folder {
            return Ok(RunScope {
                workspace,
                root: workspace_of(&folder),
                plan: None,
                path: None,
            });
        }
        let path = plan_file(workspace, plan.unwrap_or_default(), true)?;
        let (root, plan) = match PlanPlace::of(&DiskFiles, &path) {
            Ok(place) => (place.root, place.relative),
            // The plan may be gone while its runs still exist.
            Err(_) => place_of_gone(&path),
        };
        Ok(RunScope {
            workspace,
            root,
            plan: Some(plan),
            path: Some(path),
        })
    }

    /// Returns why there are no runs, if the reason is another than that none has run: unreadable logs, or no such plan.
    pub(crate) fn require_plan(&self) -> Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        for run in runs::seen(&DiskFiles, &self.root).into_iter().flatten() {
            run.map_err(|(_, error)| unreadable(&error))?;
        }
        open_file(path)?.linked().map(drop)
    }

    /// Returns the runs, the newest first, without those that have no log because they did not start. Unreadable ones are marked.
    pub fn runs(&self) -> Result<impl Iterator<Item = SeenOrUnreadable> + '_> {
        let seen = runs::seen(&DiskFiles, &self.root).map_err(|error| unreadable_runs(&error))?;
        Ok(seen.filter(|run| match (run, &self.plan) {
            (Ok(run), Some(plan)) => run.header.path == *plan,
            (Err(_), Some(_)) => false,
            (_, None) => true,
        }))
    }

    /// Returns the requested run; the newest without a name.
    pub fn run(&self, wanted: Option<&str>) -> Result<SeenRun> {
        let wanted = wanted.filter(|wanted| *wanted != "last");
        let mut fitting = Vec::new();
        let readable = |run: SeenOrUnreadable| run.map_err(|(_, error)| unreadable(&error));
        for run in self.runs()? {
            let id = match &run {
                Ok(run) => run.id(),
                Err((place, _)) => place.id(),
            };
            match wanted {
                None => return readable(run),
                Some(wanted) if id == wanted => return readable(run),
                Some(wanted) if id.starts_with(wanted) => fitting.push(run),
                Some(_) => {}
            }
        }
        match (fitting.len(), wanted) {
            (1, _) => readable(fitting.swap_remove(0)),
            // Verbs about a run also take its plan: then the newest run of that is meant.
            (0, Some(wanted)) if self.path.is_none() && naming(self.workspace, wanted, true) != PlanNaming::No => {
                RunScope::of(self.workspace, Some(wanted))?.run(None)
            }
            (0, Some(wanted)) => self.require_plan().and(Err(Failure::problem(
                format!("there is no run `{}`{}", one_line(wanted), self.words()),
                "`planwright runs` shows the runs",
            ))),
            (0, None) => self.require_plan().and(Err(self.nothing_ran())),
            (_, _) => {
                let ids = fitting.iter().take(20).flatten().map(SeenRun::id);
                let ids: Vec<&str> = ids.collect();
                let command = self
                    .workspace
                    .with_word(wanted.unwrap_or_default(), ids.first().copied().unwrap_or_default());
                Err(Failure::problem(
                    format!("several runs match: {}", ids.join(", ")),
                    format!("name one of them: `{command}`"),
                ))
            }
        }
    }

    pub(crate) fn nothing_ran(&self) -> Failure {
        let plan = match self.has_plan() {
            true => "",
            false => ", and there is no plan to run",
        };
        Failure::problem(
            format!("there are no runs{}{plan}", self.words()),
            self.where_runs_are(),
        )
    }

    /// Returns the help for a first run: create a plan if there is none, otherwise run one.
    pub(crate) fn where_runs_are(&self) -> String {
        match self.has_plan() {
            false => CREATE_PLAN.to_owned(),
            true => where_runs_are(&self.root, "logs"),
        }
    }

    fn has_plan(&self) -> bool {
        let is_copy = caller::plan_of_checkout(&self.root).is_some();
        is_copy || self.path.is_some() || !candidates(&self.root, false).is_empty()
    }

    pub fn workspace(&self) -> &'w Workspace {
        self.workspace
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the scope of the runs, in words that follow others.
    pub fn words(&self) -> String {
        match &self.plan {
            Some(plan) => format!(" of `{}`", one_line(plan)),
            None if self.root == workspace_of(self.workspace.folder()) => " in this workspace".to_owned(),
            None => format!(" in the workspace `{}`", one_line(&self.root.to_string_lossy())),
        }
    }
}

fn workspace_of(folder: &Path) -> PathBuf {
    root_of(&std::fs::canonicalize(folder).unwrap_or_default())
}

/// Returns the root of the workspace of a missing plan, and its path from there.
fn place_of_gone(path: &Path) -> (PathBuf, String) {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // Its folder may be missing as well.
    let mut known = absolute.clone();
    let mut below = PathBuf::new();
    while let (Err(_), Some(name)) = (std::fs::canonicalize(&known), known.file_name().map(PathBuf::from)) {
        below = match below.as_os_str().is_empty() {
            true => name,
            false => name.join(below),
        };
        known.pop();
    }
    let known = std::fs::canonicalize(&known).unwrap_or(known);
    let root = root_of(&known);
    let path = known.join(below);
    let relative = slashed(path.strip_prefix(&root).unwrap_or(&path));
    (root, relative)
}

/// Rebuilds the state of a run from its log, and determines its status.
pub fn judged(run: &SeenRun) -> Result<(RunState, RunStatus)> {
    let live = run.live(&DiskFiles);
    let mut run_state = run.state(&DiskFiles).map_err(|error| unreadable(&error))?;
    let standing = RunStatus::of(live.as_ref(), &run_state);
    if matches!(standing, RunStatus::Interrupted) {
        run_state.mark_interrupted();
    }
    if !matches!(standing, RunStatus::Running { .. }) {
        note_take_overs(&mut run_state, &run.plan().target, run.header.id.as_deref());
    }
    // A decision on its reviews may have changed it.
    let standing = RunStatus::of(live.as_ref(), &run_state);
    if run_state.ended.is_some() {
        let next = match later_run(run) {
            Some(_) => None,
            None => next_step(&run_state, &run.plan().target),
        };
        if let Some(ended) = &mut run_state.ended {
            ended.next = next;
        }
    }
    Ok((run_state, standing))
}

/// Returns the newest run of the same plan, if there is a later one.
pub fn later_run(run: &SeenRun) -> Option<String> {
    let newest = runs::of_plan(&DiskFiles, &run.plan(), run.header.id.as_deref())
        .ok()?
        .next()?;
    (newest.id() != run.id()).then(|| newest.id().to_owned())
}

/// Returns the failure if the runs cannot be listed.
pub(crate) fn unreadable_runs(error: &std::io::Error) -> Failure {
    Failure::outside(
        format!("the runs of this workspace cannot be read: {error}"),
        "check that you may read `.planwright/runs`",
    )
}

pub fn unreadable(error: &JournalError) -> Failure {
    let help = match error {
        JournalError::Corrupt { .. } => {
            "keep the file: `planwright events` shows the records before that place; `planwright run` explains how to continue without it"
        }
        JournalError::Io { .. } => "check that you may read `.planwright/runs`",
        error => error.help(),
    };
    Failure::environment(error, help)
}
