//! The verb `report`: the data of a run for a page, and the page as a file.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_run::clock;
use planwright_run::files::{DiskFiles, open_to_read, read_end};
use planwright_run::git::{Diffstat, Repository};
use planwright_run::inspect_file::inspect_file;
use planwright_run::revise::take_states;
use planwright_run::runs::SeenRun;
use planwright_run::runs::state::{RunState, TaskRun};
use planwright_run::store;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::run_history::{RunScope, RunStatus, diffstats, judged};
use crate::text::cut;
use crate::workspace::{Workspace, from_here};

/// The first lines of a page. A file that begins differently is not overwritten.
pub const FIRST_LINE: &str = "<!doctype html>\n<!-- planwright report 1 -->\n";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReportRequest {
    /// The id of the run, a prefix of it, or `last`. None: the newest.
    pub run: Option<String>,
    /// Only runs of this plan: a path, an id or part of one.
    pub plan: Option<String>,
    /// Where to write the page. None: `report.html` in the folder of the run.
    pub out: Option<PathBuf>,
    /// Whether the page includes the changes of each task, as a diff.
    pub diff: bool,
}

#[derive(Serialize)]
pub struct PageReport {
    pub schema_version: &'static str,
    pub run: String,
    pub plan: String,
    pub path: String,
    pub n_bytes: usize,
}

/// A run with the data of its page.
pub struct ReportedRun {
    run: SeenRun,
    inspection: Option<Inspection>,
    repository: Option<Repository>,
    pub run_state: RunState,
    pub standing: RunStatus,
    /// The time of the page, as RFC 3339.
    pub now: String,
    /// The sizes of the run's commits.
    pub stats: BTreeMap<String, Diffstat>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageDataRequest {
    /// The id of the run, a prefix of it, or `last`. None: the newest.
    pub run: Option<String>,
    /// Only runs of this plan: a path, an id or part of one.
    pub plan: Option<String>,
    /// Whether to include the changes of each task, as a diff.
    pub diff: bool,
}

/// The data of a page about a run, for callers that draw their own.
#[derive(Serialize)]
pub struct PageDataReport {
    pub schema_version: &'static str,
    pub run: String,
    pub plan: String,
    pub title: Option<String>,
    pub standing: String,
    /// The time of this report, as RFC 3339.
    pub time: String,
    pub tasks: Vec<PageTask>,
}

#[derive(Serialize)]
pub struct PageTask {
    pub task: String,
    pub state: &'static str,
    pub attempts: Vec<PageAttempt>,
    /// The commit of its landed work.
    pub commit: Option<String>,
    pub size: Option<PageSize>,
    /// The changes of the commit, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The last lines that its last attempt printed.
    pub log: Option<Vec<String>>,
}

#[derive(Serialize)]
pub struct PageAttempt {
    pub attempt: u32,
    pub agent: String,
    pub started: String,
    pub ended: Option<String>,
    pub outcome: Option<String>,
    pub why: Option<String>,
    pub files: Vec<String>,
}

#[derive(Serialize)]
pub struct PageSize {
    pub files: u64,
    pub added: u64,
    pub removed: u64,
}

/// Returns the data of a page about a run. Writes nothing.
pub(crate) fn page_data(workspace: &Workspace, request: &PageDataRequest) -> Result<PageDataReport> {
    let reported = reported_run(
        workspace,
        &ReportRequest {
            run: request.run.clone(),
            plan: request.plan.clone(),
            out: None,
            diff: request.diff,
        },
    )?;
    let tasks = reported.run_state.tasks().iter();
    let title = reported.linked().map(|linked| linked.plan.title().to_owned());
    Ok(PageDataReport {
        schema_version: "planwright.report-data/v1",
        run: reported.id().to_owned(),
        plan: reported.path().to_owned(),
        title: title.filter(|title| !title.is_empty()),
        standing: reported.standing.word().to_owned(),
        time: reported.now.clone(),
        tasks: tasks.map(|task| reported.page_task(task)).collect(),
    })
}

/// Collects the data of a page about a run.
pub fn reported_run(workspace: &Workspace, request: &ReportRequest) -> Result<ReportedRun> {
    let run = RunScope::of(workspace, request.plan.as_deref())?.run(request.run.as_deref())?;
    let (run_state, standing) = judged(&run)?;
    let root = run.plan().root;
    let repository = request.diff.then(|| Repository::around(&root).ok().flatten());
    Ok(ReportedRun {
        inspection: plan_of(&run),
        repository: repository.flatten(),
        stats: diffstats(&root, &run_state),
        now: clock::now(),
        run_state,
        standing,
        run,
    })
}

/// Writes a page about a run, drawn by a caller.
pub fn report(
    workspace: &Workspace,
    request: &ReportRequest,
    draw: impl FnOnce(&ReportedRun) -> String,
) -> Result<PageReport> {
    let reported = reported_run(workspace, request)?;
    let html = draw(&reported);
    let run = &reported.run;
    let path = match &request.out {
        Some(out) => workspace.path(out),
        None => {
            let path = run.place.folder().join("report.html");
            let checked = run.place.refuse_links(&DiskFiles);
            checked.map_err(|error| not_written(&path, &error))?;
            path
        }
    };
    write(&path, &html)?;
    Ok(PageReport {
        schema_version: "planwright.report/v1",
        run: run.place.id().to_owned(),
        plan: run.header.path.clone(),
        path: from_here(&path).to_string_lossy().into_owned(),
        n_bytes: html.len(),
    })
}

impl ReportedRun {
    pub fn id(&self) -> &str {
        self.run.place.id()
    }

    /// Returns the plan's path from the root of the workspace.
    pub fn path(&self) -> &str {
        &self.run.header.path
    }

    /// Returns the plan, if its file exists and is readable.
    pub fn linked(&self) -> Option<&LinkedPlan> {
        self.inspection.as_ref()?.plan.as_ref()
    }

    /// Returns the changes of a commit; none without the option for diffs.
    pub fn diff(&self, commit: &str) -> Option<String> {
        let bytes = self.repository.as_ref()?.diff_of(commit).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn page_task(&self, task: &TaskRun) -> PageTask {
        let commit = task.landed().and_then(|landed| landed.commit.clone());
        let attempts = task.attempts.iter().map(|attempt| PageAttempt {
            attempt: attempt.attempt,
            agent: attempt.agent.clone(),
            started: attempt.times.started.clone(),
            ended: attempt.times.ended.clone(),
            outcome: attempt.outcome.as_ref().map(ToString::to_string),
            why: attempt.why.clone(),
            files: attempt.report.files.clone(),
        });
        let stat = commit.as_ref().and_then(|commit| self.stats.get(commit));
        PageTask {
            task: task.task.clone(),
            state: task.state.name(),
            attempts: attempts.collect(),
            size: stat.map(|stat| PageSize {
                files: stat.files,
                added: stat.added,
                removed: stat.removed,
            }),
            diff: commit.as_deref().and_then(|commit| self.diff(commit)),
            log: task.last().and_then(|last| self.log(&last.name, last.attempt)),
            commit,
        }
    }

    /// Returns the last lines that an attempt printed; none without a log.
    pub fn log(&self, task: &str, attempt: u32) -> Option<Vec<String>> {
        last_lines(&self.run.place.attempt(task, attempt).output())
    }
}

/// Reads the plan as it was at the end of the run, otherwise the present one.
fn plan_of(run: &SeenRun) -> Option<Inspection> {
    let path = run.plan().target;
    let kept = store::load(&run.place.plan_at_end()).ok();
    let loaded = kept.or_else(|| store::load(&path).ok())?;
    let mut inspection = inspect_file(&loaded.source, Some(&path), None).inspection;
    // Without them, done tasks would be shown as pending.
    take_states(&mut inspection, &path).ok()?;
    Some(inspection)
}

/// Writes the page. Overwrites no other file.
fn write(path: &Path, html: &str) -> Result<()> {
    // A link may have come with the repository, and point anywhere.
    if path.is_symlink() {
        return Err(Failure::outside(
            format!(
                "`{}` cannot be written: it is a link, and is not followed",
                path.display()
            ),
            "choose another place with --out",
        ));
    }
    let is_free = match begins_as_report(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        begins => begins,
    };
    match is_free {
        Ok(false) => Err(Failure::problem(
            format!("`{}` exists already, and is not a report", path.display()),
            "choose another place with --out",
        )),
        Ok(true) => store::overwrite(path, html).map_err(|error| not_written(path, &error)),
        Err(error) => Err(not_written(path, &error)),
    }
}

fn not_written(path: &Path, error: &io::Error) -> Failure {
    Failure::outside(
        format!("`{}` cannot be written: {error}", path.display()),
        "choose another place with --out",
    )
}

fn begins_as_report(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    open_to_read(path)?
        .take(FIRST_LINE.len() as u64)
        .read_to_end(&mut beginning)?;
    Ok(beginning.is_empty() || beginning == FIRST_LINE.as_bytes())
}

/// Returns the last lines of a log, with long ones cut.
fn last_lines(path: &Path) -> Option<Vec<String>> {
    const MAX_BYTES: u64 = 256 * 1024;
    const MAX_LINES: usize = 200;
    const MAX_LINE: usize = 2_000;
    let (start, bytes) = read_end(path, MAX_BYTES).ok()?;
    let words = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = words.split('\n').collect();
    // The first line may be incomplete, and the last one is empty if the log ends with a line break.
    let n_last = lines.len() - usize::from(lines.last().is_some_and(|line| line.is_empty()));
    let first = n_last.saturating_sub(MAX_LINES).max(usize::from(start > 0));
    let kept = lines.get(first..n_last).unwrap_or_default();
    Some(kept.iter().map(|line| cut(line, MAX_LINE)).collect())
}
