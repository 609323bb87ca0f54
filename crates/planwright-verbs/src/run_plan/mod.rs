//! The verb `run`: gives the tasks of a plan to agents, verifies their work, and keeps the plan file up to date.

pub mod approved;
mod copy;
mod end_without_run;
pub mod observer;
pub mod preview;
pub mod request;
pub mod review_answer;
pub mod versions;

use planwright_core::schedule::ScheduleStatus;
use planwright_run::config::{self, Configuration};
use planwright_run::engine::{self, PreparedRun, Preview, Replanning, RunError, RunOptions, RunOutcome, RunRequest};
use planwright_run::runs::{ReplanOrigin, Spent};
use planwright_run::shell::task_command;
use planwright_run::worker::Workers;
use planwright_run::workspace::root_of;

use crate::changes::{refuse_old_version, revise_failure};
use crate::configuration::{refuse_unsound, report_findings};
use crate::failure::{Drawn, Evidence, Exit, Failure, Result, fix_first};
use crate::land::post_merge::after_landing;
use crate::plans::{FoundPlan, unknown_task};
use crate::run_history::{RunReport, Setting, diffstats};
use crate::text::{one_line, shown_name, some_of};
use crate::workspace::Workspace;
use copy::copied;
use end_without_run::end_without_run;
use observer::{RunBeginning, RunObserver};
pub use planwright_run::engine::{RunFlags, TaskSelection};
use preview::{RunPreviewReport, preview_of};
pub use request::RunPlanRequest;
use request::{configured, flags_of, is_wrong_flag, options};
pub use versions::{RunPlanReport, run_plan};

/// Why a run would not start, and the next step.
pub struct RunObstacle {
    pub message: String,
    pub help: String,
}

/// Returns why `planwright run` would fail at once on a plan; none if it would start, or nothing is left to do.
pub fn obstacle(request: &RunPlanRequest, found: &FoundPlan) -> Option<RunObstacle> {
    let root = root_of(&found.path);
    let configuration = configured(&flags_of(request, None), &root);
    let template = configuration.config.run.template.as_ref().map(|path| root.join(path));
    let mut options = match options(request, template, false) {
        Ok(options) => options,
        Err(Failure { message, help, .. }) => return Some(RunObstacle { message, help }),
    };
    options.config_text = configuration.frozen();
    options.flags.accept_config = true;
    let order = order_of(found, &configuration, &options);
    let refused = |error: RunError| RunObstacle {
        message: error.to_string(),
        help: error.help(),
    };
    let prepared = match engine::prepare(&order) {
        Ok(prepared) => prepared,
        Err(error) => return Some(refused(error)),
    };
    if let Err(error) = engine::refuse_branch_in_use(&order, &prepared) {
        return Some(refused(error));
    }
    let left = Preview::of(&order, &prepared).left;
    if prepared.has_work(&order) || prepared.held.is_empty() && left.is_empty() {
        return None;
    }
    let path = found.path.to_string_lossy();
    Some(match (prepared.held.first(), left.first()) {
        (Some(held), _) => RunObstacle {
            message: format!("nothing can run: {}", one_line(&held.words())),
            help: format!("`{}` gives it to the run", one_line(&held.release)),
        },
        (None, task) => {
            let name = task.map_or("", |&task| prepared.snapshot.name(task));
            RunObstacle {
                message: format!("nothing can run: `{}` waits", shown_name(name)),
                help: format!("`{}` shows what for", task_command("why", name, &path, "")),
            }
        }
    })
}

/// The totals of a command over all versions of a plan.
#[derive(Default)]
struct ReplanProgress {
    n_replans: u32,
    /// How often the plan may be replanned.
    max_replans: u32,
    /// The expenses of agents and planners.
    spent: Spent,
    /// How the plan was replanned for the next run.
    replanned: Option<ReplanOrigin>,
}

/// Finds the plan of a run, in the copy of its workspace if one is requested.
fn find_plan(workspace: &Workspace, request: &RunPlanRequest) -> Result<FoundPlan> {
    let found = request.plan.find(workspace, "name its file")?;
    match &request.copy_to {
        Some(folder) => copied(workspace, &found, folder),
        None => Ok(found),
    }
}

/// Reads the configuration of a run, with the settings of its request.
fn config_of_run(request: &RunPlanRequest, found: &FoundPlan) -> config::Config {
    let flags = flags_of(request, request.on_interrupted.as_deref());
    configured(&flags, &root_of(&found.path)).config
}

struct ReadyRun {
    configuration: Configuration,
    options: RunOptions,
    prepared: PreparedRun,
    /// Why a run would not start, in a dry run.
    obstacle: Option<String>,
}

impl ReadyRun {
    fn order<'a>(&'a self, found: &'a FoundPlan) -> RunRequest<'a> {
        order_of(found, &self.configuration, &self.options)
    }
}

pub fn preview(workspace: &Workspace, request: &RunPlanRequest) -> Result<RunPreviewReport> {
    let found = find_plan(workspace, request)?;
    let on_interrupted = request.on_interrupted.as_deref();
    let course = &mut ReplanProgress::default();
    let ready = make_ready(
        workspace,
        request,
        &found,
        on_interrupted,
        course,
        UnapprovedPlan::Preview,
    )?;
    let order = ready.order(&found);
    engine::refuse_unusable_checkouts(&order, &ready.prepared)
        .and_then(|()| engine::refuse_branch_in_use(&order, &ready.prepared))
        .map_err(|error| refusal(workspace, &found, error))?;
    preview_of(&order, &ready.prepared, ready.obstacle.clone()).map_err(|error| refusal(workspace, &found, error))
}

/// What to do about a plan that is not approved.
enum UnapprovedPlan<'o> {
    Asked(&'o mut dyn RunObserver),
    /// Treat it as approved, for a preview.
    Preview,
}

/// Reads the configuration, and checks whether a run could start.
fn make_ready(
    workspace: &Workspace,
    request: &RunPlanRequest,
    found: &FoundPlan,
    on_interrupted: Option<&str>,
    course: &mut ReplanProgress,
    approval: UnapprovedPlan<'_>,
) -> Result<ReadyRun> {
    let root = root_of(&found.path);
    let flags = flags_of(request, on_interrupted);
    let mut configuration = configured(&flags, &root);
    if configuration.sources.iter().any(is_wrong_flag) {
        report_findings(workspace, &configuration);
        return Err(Failure::usage(
            "an option has an invalid value",
            "see above; `planwright run --help`",
        ));
    }
    refuse_unsound(workspace, &configuration, "the run was not started")?;
    refuse_old_version(found, "run")?;
    let may_ask = match &approval {
        UnapprovedPlan::Asked(observer) => observer.may_ask(),
        UnapprovedPlan::Preview => false,
    };
    let template = configuration.config.run.template.as_ref().map(|path| root.join(path));
    let mut options = options(request, template, may_ask)?;
    options.replanning = Replanning {
        takes_over: course.max_replans > 0,
        is_last: course.max_replans > 0 && course.n_replans >= course.max_replans,
        earlier: course.spent.clone(),
        origin: course.replanned.take(),
    };
    options.config_text = configuration.frozen();
    let mut prepared = engine::prepare(&order_of(found, &configuration, &options));
    if let Err(RunError::OtherConfig { text }) = &prepared {
        // A run keeps its original settings; flags of this command override them.
        let mut began = config::thaw(text, &flags);
        // The choice about interrupted tasks is from this command.
        began.config.run.on_interrupted = configuration.config.run.on_interrupted;
        refuse_unsound(workspace, &began, "which the run began with")?;
        options.remarks.extend(changed_settings(&began, &configuration));
        options.config_text.clone_from(text);
        configuration = began;
        prepared = engine::prepare(&order_of(found, &configuration, &options));
    }
    let mut obstacle = None;
    if let Err(RunError::NotApproved { message, help }) = &prepared {
        match approval {
            UnapprovedPlan::Asked(observer) => {
                options.flags.yes = may_ask && observer.is_approved(&found.path, message)
            }
            UnapprovedPlan::Preview => {
                let words = format!("nothing would run: {message}; {help}");
                options.remarks.push(words.clone());
                (options.flags.yes, obstacle) = (true, Some(words));
            }
        }
        if options.flags.yes {
            prepared = engine::prepare(&order_of(found, &configuration, &options));
        }
    }
    Ok(ReadyRun {
        prepared: prepared.map_err(|error| refusal(workspace, found, error))?,
        configuration,
        options,
        obstacle,
    })
}

/// Returns a remark about settings that have changed since the start of a run, which is resumed without them.
fn changed_settings(began: &Configuration, now: &Configuration) -> Option<String> {
    let mut differing = began.differing(now);
    differing.retain(|path| path != "run.on_interrupted");
    let paths = some_of(differing.iter().map(|path| one_line(path)), 5);
    (!differing.is_empty()).then(|| {
        format!(
            "the run continues with its original configuration; changed since: {paths}. Use --accept-config to use the new one"
        )
    })
}

/// Runs a plan once. Returns how the run ended.
fn run_once(
    workspace: &Workspace,
    request: &RunPlanRequest,
    found: &FoundPlan,
    course: &mut ReplanProgress,
    observer: &mut dyn RunObserver,
) -> Result<Exit> {
    let mut on_interrupted = request.on_interrupted.clone();
    loop {
        let ready = make_ready(
            workspace,
            request,
            found,
            on_interrupted.as_deref(),
            course,
            UnapprovedPlan::Asked(observer),
        )?;
        let replanned = ready.options.replanning.origin.clone();
        match run_ready(workspace, request, found, ready, course, observer)? {
            Round::Ended(exit) => return Ok(exit),
            Round::Interrupted(task) => {
                let answer = observer
                    .on_interrupted(&task)
                    .ok_or_else(|| Failure::problem("nothing was run", "settle the task by hand, or run again"))?;
                on_interrupted = Some(answer.to_owned());
                course.replanned = replanned;
            }
        }
    }
}

/// How an attempt to run a plan ended.
enum Round {
    Ended(Exit),
    /// The user must first decide about this interrupted task.
    Interrupted(String),
}

fn run_ready(
    workspace: &Workspace,
    request: &RunPlanRequest,
    found: &FoundPlan,
    ready: ReadyRun,
    course: &mut ReplanProgress,
    observer: &mut dyn RunObserver,
) -> Result<Round> {
    let ReadyRun {
        configuration,
        options,
        prepared,
        ..
    } = ready;
    let root = root_of(&found.path);
    let order = order_of(found, &configuration, &options);
    if let Some(text) = engine::undo_unfinished_move(&root) {
        workspace.remark(&format!("note: {text}"));
    }
    if !prepared.has_work(&order) {
        return Ok(Round::Ended(end_without_run(workspace, request, &order, &prepared)));
    }
    let failed = |error: std::io::Error| Failure::environment(&error, "");
    let mut workers = Workers::sole().map_err(failed)?;
    let cancel = observer.cancel_token().map_err(failed)?;
    cancel.wakes(workers.waker());
    let mut setting = Setting::of(&found.path, prepared.snapshot.linked());
    observer.begins(&RunBeginning {
        root: &root,
        setting: setting.clone(),
        plan: prepared.snapshot.plan(),
        links: prepared.snapshot.links(),
        cancel: &cancel,
        waits_for_review: &options.waits_for_review,
    });
    let outcome = engine::run(&order, prepared, &mut workers, cancel.n_asked(), observer);
    observer.is_over();
    let outcome = match outcome {
        Err(RunError::Interrupted { task }) if observer.may_ask() => return Ok(Round::Interrupted(task)),
        outcome => outcome.map_err(|error| refusal(workspace, found, error))?,
    };
    course.spent.clone_from(&outcome.spent);
    setting.run = outcome.place.id().to_owned();
    // Tasks may have been added, renamed and reworded since the start. Removed ones keep their titles.
    setting
        .titles
        .extend(Setting::of_file(&found.path, found.forced).titles);
    observer.ended(&RunReport::new(&setting, &outcome.state).with_diffstats(&diffstats(&root, &outcome.state)));
    if let Some(error) = &outcome.unwritten {
        observer.fails(&revise_failure(found, error));
    }
    remark_unwritten(workspace, &outcome);
    if configuration.config.run.landing.hooks && has_landed_here(&outcome) {
        let log = outcome.place.folder().join("post-merge.log");
        after_landing(workspace, &mut workers, &root, log, cancel.n_asked());
    }
    if let Some(command) = &configuration.config.notify
        && let Some(why) = engine::notify(&mut workers, command, &found.path, &outcome, cancel.n_asked())
    {
        workspace.remark(&format!("warning: the command of [notify] failed: {}", one_line(&why)));
    }
    Ok(Round::Ended(cancel.exit().unwrap_or_else(|| exit_of(&outcome))))
}

fn remark_unwritten(workspace: &Workspace, outcome: &RunOutcome) {
    let tasks: Vec<String> = outcome.ended.unwritten.iter().map(|task| shown_name(task)).collect();
    if !tasks.is_empty() {
        workspace.remark(&format!(
            "the results of {} are not in the plan file; the run's log has them, and the next run writes them",
            some_of(tasks.iter(), 8)
        ));
    }
}

/// Returns whether work landed on the checked-out branch.
fn has_landed_here(outcome: &RunOutcome) -> bool {
    let state = &outcome.state;
    let is_here = state
        .settings
        .fixed
        .as_ref()
        .is_some_and(|conditions| conditions.is_current);
    is_here
        && state
            .tasks()
            .iter()
            .any(|task| task.attempts.iter().any(|attempt| attempt.landed().is_some()))
}

fn order_of<'a>(found: &'a FoundPlan, configuration: &'a Configuration, options: &'a RunOptions) -> RunRequest<'a> {
    RunRequest {
        path: &found.path,
        forced: found.forced,
        config: &configuration.config,
        options,
    }
}

fn refusal(workspace: &Workspace, found: &FoundPlan, error: RunError) -> Failure {
    let (help, is_environment) = (error.help(), error.is_environment());
    // The engine knows no command line: the user's own command is kept.
    let help = help.replace("planwright run --agent", &workspace.with_option("--agent"));
    match error {
        RunError::Errors(erroneous) => Failure::shown(
            "the plan has errors, and is not run",
            fix_first(&erroneous.path, &erroneous.inspection.diagnostics),
            Evidence {
                path: erroneous.path.display().to_string(),
                source: erroneous.inspection.source.clone(),
                span: None,
                findings: erroneous.inspection.diagnostics,
                drawn: Drawn::Findings,
            },
        ),
        RunError::Revise(error) => revise_failure(found, &error),
        RunError::NoSuchTask { name, known } => unknown_task(&name, &known),
        error if is_environment => Failure::environment(&error, help),
        error => Failure::problem(error.to_string(), help),
    }
}

fn exit_of(outcome: &RunOutcome) -> Exit {
    match outcome.status {
        _ if outcome.unwritten.is_some() || outcome.is_hindered => Exit::Environment,
        ScheduleStatus::Finished => Exit::Success,
        _ => Exit::Problems,
    }
}
