//! The facts about a plan that failed, and the plans that cannot be replanned.

use std::path::{Path, PathBuf};

use planwright_core::change::Problem;
use planwright_core::change::rewrite::rewrite;
use planwright_core::convert::rules::REFUSED;
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect::{self, Choice, Dialect};
use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_core::plan::{Field, Plan, State};
use planwright_core::planning::prompt::{PlanningBrief, ReplanCause};
use planwright_core::planning::replan::NewVersion;
use planwright_run::clock;
use planwright_run::config::Config;
use planwright_run::files::{DiskFiles, read_end};
use planwright_run::inspect_file::{inspect_file, open};
use planwright_run::journal::plan_id;
use planwright_run::layout::{PlanPlace, root_of};
use planwright_run::planner::{self, PlanningCost, WantedVersion};
use planwright_run::runs::state::verification_failure;
use planwright_run::runs::{self, SeenRun};
use planwright_run::store;

use crate::changes::refuse_old_version;
use crate::failure::{Failure, Result, fix_first};
use crate::planning::{PlannerOutcome, PlannerRequest, PlanningObserver, derived_by, evidence, with_id_source};
use crate::plans::{FoundPlan, file_before, states_of, task_named};
use crate::workspace::Workspace;

/// How many versions a plan may have.
pub(crate) const MAX_VERSIONS: u64 = 3;

/// How many versions of a plan contribute discoveries to the prompt of a planner.
const MAX_TOLD_VERSIONS: usize = 16;

/// How much of a log goes into the prompt of a planner, in bytes.
const LOG_TAIL: u64 = 16 * 1024;

/// A plan to replace, and the reason.
pub(super) struct Case {
    pub(super) path: PathBuf,
    pub(super) dialect: &'static dyn Dialect,
    pub(super) inspection: Inspection,
    pub(super) goal: String,
    pub(super) failed: Option<String>,
    error: String,
    log_tail: String,
    discoveries: Vec<String>,
    done: Vec<String>,
}

impl Case {
    /// Returns whether each version has its own file.
    pub(super) fn has_versions(&self) -> bool {
        let linked = self.inspection.plan.as_ref();
        linked.is_some_and(|linked| {
            linked
                .dialect
                .versions()
                .is_some_and(|versions| versions.lineage(&linked.plan).is_some())
        })
    }

    /// Returns the last run of the old plan.
    pub(super) fn last_run(&self) -> Option<SeenRun> {
        let linked = self.inspection.plan.as_ref()?;
        runs_of(&self.path, &linked.plan).into_iter().next()
    }

    pub(super) fn of(
        found: &FoundPlan,
        task: Option<&str>,
        error: Option<String>,
        discoveries: Vec<String>,
    ) -> Result<Self> {
        let source = store::load(&found.path)?.source;
        let mut inspection = inspect_file(&source, Some(&found.path), found.forced).inspection;
        if inspection.count(Severity::Error) > 0 || inspection.plan.is_none() {
            return Err(Failure::shown(
                "the plan has errors, and cannot be replanned",
                fix_first(&found.path, &inspection.diagnostics),
                evidence(&found.path, &source, inspection.diagnostics),
            ));
        }
        states_of(&mut inspection, &found.path)?;
        let linked = inspection
            .plan
            .as_ref()
            .ok_or_else(|| Failure::problem("there is no plan in the file", ""))?;
        let dialect = linked.dialect;
        refuse_form(dialect, &found.path)?;
        refuse_old_version(found, "replan")?;
        refuse_more(dialect, linked, &found.path)?;
        let failed = match task {
            Some(name) => Some(task_named(linked, name)?),
            None => linked
                .plan
                .tasks()
                .iter()
                .position(|task| task.status.state() == Some(State::Failed)),
        };
        let names = |state: State| {
            let tasks = linked.plan.tasks().iter().enumerate();
            let tasks = tasks.filter(move |(_, task)| task.status.state() == Some(state));
            tasks.map(|(ix, _)| linked.plan.task_name(ix).into_owned()).collect()
        };
        let name = failed.map(|ix| linked.plan.task_name(ix).into_owned());
        let discoveries: Vec<String> = discoveries
            .into_iter()
            .chain(found_out(&found.path, &linked.plan))
            .collect();
        let (why, log_tail) = name
            .as_deref()
            .map(|name| last_failure(&found.path, &linked.plan, name))
            .unwrap_or_default();
        let recorded = failed.and_then(|ix| {
            let task = &linked.plan.tasks()[ix];
            linked
                .plan
                .task_str(task, Field::Error)
                .or_else(|| linked.plan.task_str(task, Field::Notes))
        });
        let error = error
            .or(why)
            .or_else(|| recorded.map(str::to_owned))
            .unwrap_or_default();
        Ok(Case {
            path: found.path.clone(),
            dialect,
            goal: goal_of(linked),
            failed: name,
            error,
            log_tail,
            discoveries,
            done: names(State::Done),
            inspection,
        })
    }

    /// Asks the planner for a new version.
    pub(super) fn ask(
        &self,
        workspace: &Workspace,
        planner: &PlannerRequest,
        config: &Config,
        brief: &PlanningBrief<'_>,
        observer: &mut dyn PlanningObserver,
    ) -> Result<PlannerOutcome<(WantedVersion, PlanningCost)>> {
        let setback = self.setback();
        let try_out = |version: &NewVersion| self.try_out(version);
        planner.ask(workspace, config, &root_of(&self.path), observer, |oracle| {
            with_id_source(workspace, |id_source| {
                planner::replan(oracle, &self.inspection, &try_out, brief, &setback, id_source)
            })
        })
    }

    pub(super) fn names(&self) -> Vec<String> {
        let plan = self.inspection.plan.as_ref().map(|linked| &linked.plan);
        let names = plan.map(|plan| (0..plan.tasks().len()).map(|ix| plan.task_name(ix).into_owned()));
        names.into_iter().flatten().collect()
    }

    /// Returns why a version cannot be written, if so.
    fn try_out(&self, version: &NewVersion) -> Vec<Diagnostic> {
        let (open, facts) = open(&self.inspection.source, Some(&self.path), Some(self.dialect));
        let path = self.path.to_string_lossy().replace('\\', "/");
        let choice = Choice {
            dialects: dialect::DIALECTS,
            forced: Some(self.dialect),
            path: Some(&path),
            facts: &facts,
        };
        match rewrite(&open, &choice, &version.slots, &clock::now()) {
            Ok(_) => Vec::new(),
            Err(Problem::Regressions(findings)) => findings,
            Err(problem) => vec![Diagnostic::of_file(&REFUSED, problem.to_string()).with_help(problem.help())],
        }
    }

    pub(super) fn setback(&self) -> ReplanCause<'_> {
        ReplanCause {
            plan_text: self.inspection.source.as_str(),
            form: self.inspection.plan.as_ref().map_or("", |linked| linked.plan.form),
            failed_task: self.failed.as_deref(),
            error: &self.error,
            log_tail: &self.log_tail,
            discoveries: &self.discoveries,
            done: &self.done,
        }
    }
}

/// Refuses plans in forms that no planner writes.
fn refuse_form(dialect: &dyn Dialect, path: &Path) -> Result<()> {
    let path = path.display();
    if derived_by(dialect).is_some() {
        return Err(Failure::problem(
            "this plan is derived from another document, and cannot be replanned",
            format!("change that document, then: planwright tasks regenerate {path}"),
        ));
    }
    Ok(())
}

/// Refuses to replan a plan that has reached the limit of versions.
fn refuse_more(dialect: &dyn Dialect, linked: &LinkedPlan, path: &Path) -> Result<()> {
    let versions = dialect.versions();
    let Some(lineage) = versions.and_then(|versions| versions.lineage(&linked.plan)) else {
        return Ok(());
    };
    if lineage.version <= MAX_VERSIONS {
        return Ok(());
    }
    let path = path.display();
    let is_over = dialect
        .edits()
        .is_some_and(|edits| edits.refuses_changes(&linked.plan).is_some());
    let help = match is_over {
        true => format!(
            "the plan has failed; make a new one for the rest: `planwright plan GOAL --dialect {}`",
            dialect.name()
        ),
        false => format!(
            "retry failed tasks: `planwright run --retry-failed {path}`; or cancel the plan: `planwright cancel {path}`, and make a new plan"
        ),
    };
    Err(Failure::problem(
        format!("the plan was replanned {MAX_VERSIONS} times, which is the limit"),
        help,
    ))
}

/// Refuses a plan that has reached the limit of replans.
pub(crate) fn refuse_again(found: &FoundPlan) -> Result<()> {
    let source = store::load(&found.path)?.source;
    let linked = inspect_file(&source, Some(&found.path), found.forced).inspection.plan;
    match linked {
        Some(linked) => refuse_more(linked.dialect, &linked, &found.path),
        None => Ok(()),
    }
}

fn goal_of(linked: &LinkedPlan) -> String {
    let plan = &linked.plan;
    let said = [Field::Goal, Field::Title, Field::Description];
    let said = said.into_iter().find_map(|field| plan.head_str(field));
    said.unwrap_or("the plan").to_owned()
}

/// Returns the discoveries of the agents in a plan's last run, and in the versions before it, the oldest first.
fn found_out(path: &Path, plan: &Plan) -> Vec<String> {
    let mut files = vec![path.to_owned()];
    let mut discoveries_of_runs = vec![found_out_in_last_run(path, plan)];
    let mut before = file_before(path, plan);
    while let Some(file) = before.filter(|file| files.len() < MAX_TOLD_VERSIONS && !files.contains(file)) {
        let source = store::load(&file).ok().map(|loaded| loaded.source);
        let linked = source.and_then(|source| inspect_file(&source, Some(&file), None).inspection.plan);
        before = linked.and_then(|linked| {
            discoveries_of_runs.push(found_out_in_last_run(&file, &linked.plan));
            file_before(&file, &linked.plan)
        });
        files.push(file);
    }
    let mut found: Vec<String> = Vec::new();
    for discovery in discoveries_of_runs.into_iter().rev().flatten() {
        if !found.contains(&discovery) {
            found.push(discovery);
        }
    }
    found
}

/// Returns the runs of a plan, the newest first; empty if they are unreadable.
fn runs_of(path: &Path, plan: &Plan) -> Vec<SeenRun> {
    let Ok(place) = PlanPlace::of(&DiskFiles, path) else {
        return Vec::new();
    };
    let own = runs::of_plan(&DiskFiles, &place, plan_id(plan));
    own.into_iter().flatten().collect()
}

fn found_out_in_last_run(path: &Path, plan: &Plan) -> Vec<String> {
    let last = runs_of(path, plan).into_iter().next();
    let state = last.and_then(|last| last.state(&DiskFiles).ok());
    state.map(|state| state.from_agents.discoveries).unwrap_or_default()
}

/// Returns why a task failed in the last run that tried it, and the end of its log.
fn last_failure(path: &Path, plan: &Plan, task: &str) -> (Option<String>, String) {
    for run in runs_of(path, plan) {
        let Ok(run_state) = run.state(&DiskFiles) else {
            continue;
        };
        let Some(tried) = run_state.task(task).filter(|tried| !tried.attempts.is_empty()) else {
            continue;
        };
        // The output of the failed command is the reason, not the failure itself.
        let unverified = tried.last().filter(|last| last.verification.passed == Some(false));
        let why = match unverified {
            Some(last) => Some(verification_failure(&last.verification.receipts)),
            None => tried.why().map(str::to_owned),
        };
        let log = tried
            .last()
            .map(|last| run.place.attempt(&last.name, last.attempt).output());
        let end = log.and_then(|path| read_end(&path, LOG_TAIL).ok());
        let end = end.map_or_else(Vec::new, |(_, bytes)| bytes);
        return (why, String::from_utf8_lossy(&end).into_owned());
    }
    (None, String::new())
}
