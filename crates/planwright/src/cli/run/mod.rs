//! `planwright run`: gives the tasks of a plan to agents, verifies their work, and updates the plan file.

mod approved;
mod args;
mod course;

use std::path::Path;

use planwright_core::edit::Request;
use planwright_core::plan::{Plan, State, Status, Verb};
use planwright_core::schedule::{Job, Standing};
use planwright_run::clock;
use planwright_run::config::{self, Configuration};
use planwright_run::engine::{self, HeldTask, Options, Prepared, Preview, RunError, RunOutcome, RunRequest};
use planwright_run::revise::{self, Pick, Target, transition};
use planwright_run::runs::state::AttemptRun;
use planwright_run::shell::argument;
use planwright_run::worker::Workers;
use planwright_run::workspace::root_of;

use super::answers;
use super::change::{Found, failure};
use super::config::{complain, refuse_unsound};
use super::copy_to::copied;
use super::dry_run::{self, How};
use super::exit::{Drawn, Evidence, Exit, Failure, fix_first};
use super::hooks;
use super::interrupt;
use super::output::Output;
use super::plan_arg::unknown_task;
use super::plan_entries::from_here;
use super::run_view::{Manner, Told};
use super::summary::diffstats;
use super::typed_command;
use crate::render::quantity::some_of;
use crate::render::rawko_events::RawkoEvents;
use crate::render::run::{RunReport, Setting, summary};
use crate::render::terminal::{one_line, shown_name};
pub(crate) use approved::{ApprovedLanding, Landed};
pub(crate) use args::{Args, EventForm};
use args::{Interrupted, configured, flags_of, is_wrong_flag, options};
use course::{Course, carry_on, usual_replans};

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let named = args.plan.find()?;
    let found = match &args.copy_to {
        Some(folder) => copied(&named, folder, output)?,
        None => named,
    };
    let exit = carry_on(args, found, output)?;
    if let Some(folder) = args.copy_to.as_ref().filter(|_| !args.dry_run) {
        output.remark(&format!("what was made is in {}", folder.display()));
    }
    Ok(exit)
}

/// Why a run would not begin, and what to do.
pub(crate) struct Obstacle {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// Returns why `planwright run` would fail at once on a plan; none where it would begin, and where there is nothing left to do.
pub(crate) fn obstacle(args: &Args, found: &Found) -> Option<Obstacle> {
    let root = root_of(&found.path);
    let configuration = configured(&flags_of(args, None), &root);
    let template = configuration.config.run.template.as_ref().map(|path| root.join(path));
    let mut options = match options(args, template) {
        Ok(options) => options,
        Err(error) => {
            let help = error
                .downcast_ref::<Failure>()
                .map_or("", |failure| failure.help.as_str());
            return Some(Obstacle {
                message: format!("{error:#}"),
                help: help.to_owned(),
            });
        }
    };
    options.config_text = configuration.frozen();
    options.accept_config = true;
    let request = order_of(found, &configuration, &options);
    let refused = |error: RunError| Obstacle {
        message: error.to_string(),
        help: error.help(),
    };
    let prepared = match engine::prepare(&request) {
        Ok(prepared) => prepared,
        Err(error) => return Some(refused(error)),
    };
    if let Err(error) = engine::refuse_branch_in_use(&request, &prepared) {
        return Some(refused(error));
    }
    let left = Preview::of(&request, &prepared).left;
    if prepared.has_work(&request) || prepared.held.is_empty() && left.is_empty() {
        return None;
    }
    let plan = argument(&found.path.to_string_lossy());
    Some(match (prepared.held.first(), left.first()) {
        (Some(held), _) => Obstacle {
            message: format!("nothing can run: {}", one_line(&held.words())),
            help: format!("`{}` gives it to the run", one_line(&held.release)),
        },
        (None, task) => {
            let name = task.map_or("", |&task| prepared.snapshot.name(task));
            Obstacle {
                message: format!("nothing can run: `{}` waits", shown_name(name)),
                help: format!("`planwright why {} -p {plan}` shows what for", argument(name)),
            }
        }
    })
}

/// Runs a plan that was found, once.
fn carry_out(
    args: &Args,
    found: &Found,
    on_interrupted: Option<Interrupted>,
    course: &mut Course,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let root = root_of(&found.path);
    let flags = flags_of(args, on_interrupted);
    let mut configuration = configured(&flags, &root);
    if configuration.sources.iter().any(is_wrong_flag) {
        complain(&configuration, output);
        return Err(Failure::usage(
            "a flag has a value that it cannot have",
            "see above, and `planwright run --help`",
        ));
    }
    refuse_unsound(&configuration, "nothing is run by it", output)?;
    if let Some(newest) = revise::newest_version(&found.path, found.forced) {
        let newest = from_here(&newest);
        return Err(Failure::problem(
            format!(
                "`{}` was replanned: its newest version is `{}`",
                found.path.display(),
                newest.display()
            ),
            format!("planwright run {}", argument(&newest.to_string_lossy())),
        ));
    }
    let mut options = options(
        args,
        configuration.config.run.template.as_ref().map(|path| root.join(path)),
    )?;
    options.earlier.clone_from(&course.spent);
    let most = args
        .replan
        .unwrap_or_else(|| usual_replans(&configuration.config, found));
    options.replans = most > 0;
    options.is_last = most > 0 && course.n_replans >= most;
    options.replanned = course.replanned.take();
    options.config_text = configuration.frozen();
    let mut prepared = engine::prepare(&order_of(found, &configuration, &options));
    if let Err(RunError::OtherConfig { text }) = &prepared {
        // A run keeps the conditions that it began with; flags that are typed now hold over it.
        let mut began = config::thaw(text, &flags);
        // What is to become of interrupted tasks is only asked now.
        began.config.run.on_interrupted = configuration.config.run.on_interrupted;
        refuse_unsound(&began, "which the run began with", output)?;
        let mut differing = began.differing(&configuration);
        differing.retain(|path| path != "run.on_interrupted");
        if !differing.is_empty() {
            let paths = some_of(differing.iter().map(|path| one_line(path)), 5);
            options.remarks.push(format!(
                "the run continues with the configuration that it began with; since then changed: {paths}. --accept-config takes the new one"
            ));
        }
        options.config_text.clone_from(text);
        configuration = began;
        prepared = engine::prepare(&order_of(found, &configuration, &options));
    }
    if let Err(RunError::NotApproved { message, .. }) = &prepared
        && args.may_ask()
        && !args.dry_run
        && is_approved(found, message, output)
    {
        options.yes = true;
        prepared = engine::prepare(&order_of(found, &configuration, &options));
    }
    let mut obstacle = None;
    if let Err(RunError::NotApproved { message, help }) = &prepared
        && args.dry_run
    {
        let words = format!("nothing would run: {message}; {help}");
        options.remarks.push(words.clone());
        (options.yes, obstacle) = (true, Some(words));
        prepared = engine::prepare(&order_of(found, &configuration, &options));
    }
    let request = order_of(found, &configuration, &options);
    let prepared = prepared.map_err(|error| refusal(found, error))?;
    if args.dry_run {
        engine::refuse_branch_in_use(&request, &prepared).map_err(|error| refusal(found, error))?;
        let how = How {
            is_json: args.json,
            prompts: args.prompts.as_deref(),
        };
        let shown = dry_run::show(&request, &prepared, obstacle.as_deref(), how, output)
            .map_err(|error| refusal(found, error))?;
        return Ok(if obstacle.is_some() { Exit::Problems } else { shown });
    }
    if let Some(text) = engine::undo_unfinished_move(&root) {
        output.remark(&format!("note: {text}"));
    }
    if !prepared.has_work(&request) {
        return Ok(nothing_to_do(args, &request, &prepared, output));
    }
    let mut workers = Workers::sole().map_err(|error| Failure::environment(&error, ""))?;
    let interrupts = interrupt::Count::begin(workers.waker()).map_err(|error| Failure::environment(&error, ""))?;
    let mut setting = setting_of(&found.path, prepared.snapshot.plan());
    let rawko = args.json_events.map(|EventForm::Rawko| {
        let book = &prepared.snapshot;
        RawkoEvents::new(book.plan(), book.links(), &stem_of(&found.path)).knowing_plan(course.is_told)
    });
    course.is_told = rawko.is_some();
    let manner = match (rawko, args.json) {
        (Some(events), _) => Manner::Rawko(Box::new(events)),
        (None, true) => Manner::Json,
        (None, false) if output.is_quiet() => Manner::Quiet,
        (None, false) => Manner::Shown { plain: args.plain },
    };
    let mut told = Told::new(manner, setting.clone(), interrupts.n_asked(), output);
    if args.may_ask() {
        told.ask_for_reviews(&root, args.by.as_deref(), &options.waits_for_review);
    }
    let outcome = engine::run(&request, prepared, &mut workers, interrupts.n_asked(), &mut told);
    told.finish();
    let outcome = match outcome {
        Err(RunError::Interrupted { task }) if args.may_ask() => {
            let answer = ask(&task, output)?;
            course.replanned = options.replanned;
            return carry_out(args, found, Some(answer), course, output);
        }
        outcome => outcome.map_err(|error| refusal(found, error))?,
    };
    course.spent.clone_from(&outcome.spent);
    course.replanned = None;
    setting.run.clone_from(&told.run);
    if !args.is_for_programs() && !output.is_quiet() {
        let report = RunReport::new(&setting, &outcome.state).with_diffstats(&diffstats(&root, &outcome.state));
        output.write(&summary(&report, output.paint(), output.width()));
        output.flush();
    }
    if let Some(error) = &outcome.unwritten {
        output.complain(&failure(found, error));
    }
    if !outcome.ended.unwritten.is_empty() {
        let tasks: Vec<String> = outcome.ended.unwritten.iter().map(|task| shown_name(task)).collect();
        output.remark(&format!(
            "the plan file does not know what became of {}; the run's log does, and the next run writes it into the plan",
            some_of(tasks.iter(), 8)
        ));
    }
    let has_landed = |attempt: &AttemptRun| attempt.merged.as_ref().is_some_and(|merged| merged.passed);
    let is_here = outcome
        .state
        .conditions
        .as_ref()
        .is_some_and(|conditions| conditions.is_current);
    if configuration.config.run.hooks
        && is_here
        && outcome
            .state
            .tasks()
            .iter()
            .any(|task| task.attempts.iter().any(has_landed))
    {
        let log = outcome.place.folder().join("post-merge.log");
        hooks::after_landing(&mut workers, &root, log, interrupts.n_asked(), output);
    }
    if let Some(command) = &configuration.config.notify
        && let Some(why) = engine::notify(&mut workers, command, &found.path, &outcome, interrupts.n_asked())
    {
        output.remark(&format!("warning: the command of [notify] failed: {}", one_line(&why)));
    }
    Ok(interrupts.exit().unwrap_or_else(|| exit_of(&outcome)))
}

fn order_of<'a>(found: &'a Found, configuration: &'a Configuration, options: &'a Options) -> RunRequest<'a> {
    RunRequest {
        path: &found.path,
        forced: found.forced,
        config: &configuration.config,
        options,
    }
}

/// Asks whether a plan that is not approved may be run.
fn is_approved(found: &Found, message: &str, output: &mut Output) -> bool {
    let path = one_line(&found.path.display().to_string());
    output.note(&format!("{path}: {message}. Approve it, and run it? [y/N] "));
    answers::is_yes()
}

/// Asks what becomes of tasks that were interrupted.
fn ask(task: &str, output: &mut Output) -> anyhow::Result<Interrupted> {
    loop {
        let task = shown_name(task);
        output.note(&format!(
            "{task} was interrupted. Try it again, or have it failed? [retry/fail/quit] "
        ));
        match answers::line().as_deref() {
            Some("r" | "retry") => return Ok(Interrupted::Retry),
            Some("f" | "fail") => return Ok(Interrupted::Fail),
            Some("q" | "quit") | None => {}
            Some(_) => continue,
        }
        return Err(Failure::problem(
            "nothing was run",
            "settle the task by hand, or run again",
        ));
    }
}

/// Returns what a view has to know of a plan.
pub(super) fn setting_of(path: &Path, plan: &Plan) -> Setting {
    let titles = plan.tasks().iter().enumerate();
    let titles = titles.map(|(ix, task)| (plan.task_name(ix).into_owned(), plan.task_subject(task).to_owned()));
    Setting {
        run: String::new(),
        plan: path.to_string_lossy().into_owned(),
        titles: titles.collect(),
    }
}

/// Returns what a plan is called by its file.
pub(super) fn stem_of(path: &Path) -> String {
    path.file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// Says how a plan stands of which there is nothing to run.
fn nothing_to_do(args: &Args, request: &RunRequest<'_>, prepared: &Prepared, output: &mut Output) -> Exit {
    let wanted: Vec<&Job> = prepared.jobs.iter().filter(|job| job.is_wanted).collect();
    let is_wanted = |task: u32| prepared.jobs.get(task as usize).is_some_and(|job| job.is_wanted);
    let count = |state: State| wanted.iter().filter(|job| job.state == state).count();
    let (n_done, n_failed) = (count(State::Done), count(State::Failed));
    let is_part = !(args.only.is_empty() && args.from.is_empty() && args.until.is_empty());
    if wanted.is_empty() && is_part {
        output.remark(
            "nothing to run: --only, --from and --until select no task together that is not marked to be skipped",
        );
        return Exit::Problems;
    }
    let of_them = if is_part { " that were asked for" } else { "" };
    let left = Preview::of(request, prepared).left;
    let held: Vec<&HeldTask> = prepared.held.iter().filter(|held| is_wanted(held.task)).collect();
    let marked = if is_part {
        Vec::new()
    } else {
        marked_to_skip(prepared.snapshot.plan())
    };
    let n_tasks = wanted.len() + marked.len();
    let mut words = format!("nothing to run: {n_done} of {n_tasks} tasks{of_them} are done");
    for (state, n) in [
        ("running", held.len()),
        ("waiting", left.len()),
        ("failed", n_failed),
        ("skipped", count(State::Skipped)),
        ("blocked", count(State::Blocked)),
        ("to be skipped", marked.len()),
    ] {
        if n > 0 {
            words.push_str(&format!(", {n} {state}"));
        }
    }
    output.remark(&words);
    for held in &prepared.held {
        output.remark(&one_line(&held.words()));
        output.remark(&format!("help: `{}` gives it to the run", one_line(&held.release)));
    }
    if let (Some(&task), true) = (left.first(), prepared.held.is_empty()) {
        let name = prepared.snapshot.name(task);
        let plan = argument(&prepared.snapshot.path().to_string_lossy());
        output.remark(&format!(
            "help: `planwright why {} -p {}` shows what it waits for",
            one_line(&argument(name)),
            one_line(&plan)
        ));
    }
    if n_failed > 0 {
        output.remark("help: --retry-failed tries again what failed");
    }
    let is_selected_undone = is_part && n_done < wanted.len();
    if n_failed > 0 || !held.is_empty() || !left.is_empty() || is_selected_undone {
        return Exit::Problems;
    }
    if !marked.is_empty() {
        // Everything else is over: the plan is as after a run.
        let now = clock::now();
        let target = Target {
            path: prepared.snapshot.path(),
            forced: None,
            dry: false,
        };
        match transition(target, Pick::Named(&marked), &Request::new(Verb::Skip, &now)) {
            Ok(_) => output.remark(&format!(
                "skipped: {}",
                some_of(marked.iter().map(|name| shown_name(name)), 12)
            )),
            Err(_) => output.remark("they could not be marked as skipped: the plan cannot be written"),
        }
    }
    Exit::Success
}

/// Returns the open tasks that the plan file marks as ones to skip.
fn marked_to_skip(plan: &Plan) -> Vec<String> {
    let tasks = plan.tasks().iter().enumerate();
    let marked = tasks.filter(|(_, task)| task.held && matches!(task.status, Status::Pending | Status::Failed));
    marked.map(|(ix, _)| plan.task_name(ix).into_owned()).collect()
}

fn refusal(found: &Found, error: RunError) -> anyhow::Error {
    let (help, is_environment) = (error.help(), error.is_environment());
    // The engine knows no command line: what was typed stays.
    let help = help.replace("planwright run --agent", &typed_command::with_option("--agent"));
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
        RunError::Revise(error) => failure(found, &error),
        RunError::NoSuchTask { name, known } => unknown_task(&name, &known),
        error if is_environment => Failure::environment(&error, help),
        error => Failure::problem(error.to_string(), help),
    }
}

fn exit_of(outcome: &RunOutcome) -> Exit {
    match outcome.standing {
        _ if outcome.unwritten.is_some() || outcome.is_hindered => Exit::Environment,
        Standing::Finished => Exit::Success,
        _ => Exit::Problems,
    }
}
