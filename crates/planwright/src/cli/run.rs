//! `planwright run`: gives the tasks of a plan to agents, verifies what they make, and keeps the plan file up to date.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::ValueEnum;
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect;
use planwright_core::edit::PlanRequest;
use planwright_core::plan::{Plan, PlanVerb, RunLift, State};
use planwright_core::schedule::{Job, Standing};
use planwright_run::clock;
use planwright_run::config::{self, Config, Configuration, Flag, Source, SourceKind, Surroundings};
use planwright_run::engine::{self, Options, Order, Outcome, Prepared, RunError};
use planwright_run::examine::examine;
use planwright_run::files::{DiskFiles, open_to_read};
use planwright_run::proposals::held;
use planwright_run::revise::{self, Target};
use planwright_run::runs::account::Account;
use planwright_run::runs::{self, Replanned, Spent};
use planwright_run::store;
use planwright_run::worker::Workers;
use planwright_run::workspace::root_of;

use super::answers;
use super::change::{Found, failure};
use super::config::complain;
use super::copy_to::copied;
use super::dry_run;
use super::exit::{Drawn, Evidence, Exit, Failure};
use super::interrupt;
use super::output::Output;
use super::plan_arg::{TargetArgument, unknown_task};
use super::planner::{read_template, unreadable_template};
use super::proposals::{self, Settling};
use super::replan::{After, MAX_VERSIONS, replan_after_failure};
use super::told::{Manner, Told};
use crate::render::rawko_events::{RawkoEvents, plan_replanned};
use crate::render::run::{RunReport, Setting, some_of, summary};
use crate::render::terminal::{one_line, shown_name};

/// Run a plan: have agents do its tasks, and verify what they make.
///
/// The plan file is kept up to date. A task is done when its agent reports success and its verification passes. What happens is
/// written to a log before anybody hears of it, so that a run that was killed goes on where it was: run the same command again.
/// Ctrl-C starts nothing new and waits for what runs; a second one ends that politely, a third at once.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright run                                   or go on with a run
  planwright run --agent claude -j 2 plan-5f0c2a9e
  planwright run --dry-run                         what would be run, and told
  planwright run --only US-003 --retry-failed
  planwright run --replan 3 --max-cost 20 --max-duration 8h")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: TargetArgument,

    /// The agent for all tasks; else each task's own hint, then run.types, then run.agent of the configuration.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Ask this agent which agent takes each task, before it begins; else, and where it has no answer, as without.
    #[arg(long, value_name = "NAME", conflicts_with = "agent")]
    arbiter: Option<String>,

    /// How many tasks may run side by side; else as the configuration or the plan has it.
    #[arg(long, short = 'j', value_name = "N")]
    slots: Option<u32>,

    /// How often a task is tried in all; else as the configuration or the plan has it.
    #[arg(long, value_name = "N")]
    attempts: Option<u32>,

    /// Only this task; may be given several times.
    #[arg(long, value_name = "TASK", help_heading = "Which tasks")]
    only: Vec<String>,

    /// Only this task and what depends on it.
    #[arg(long, value_name = "TASK", help_heading = "Which tasks")]
    from: Vec<String>,

    /// Only this task and what it depends on.
    #[arg(long, value_name = "TASK", help_heading = "Which tasks")]
    until: Vec<String>,

    /// Begin this many tasks at most.
    #[arg(long, value_name = "N", help_heading = "Which tasks")]
    max_tasks: Option<u32>,

    /// Try tasks again that failed before.
    #[arg(long, help_heading = "Which tasks")]
    retry_failed: bool,

    /// End the run with the first failure; else everything that does not depend on it goes on.
    #[arg(long, help_heading = "When something fails")]
    fail_fast: bool,

    /// Go on with everything that does not depend on a failure, which is the default.
    #[arg(long, conflicts_with = "fail_fast", help_heading = "When something fails")]
    keep_going: bool,

    /// Skip what depends on a failed task, where the dialect would have it wait.
    #[arg(long, help_heading = "When something fails")]
    cascade_skip: bool,

    /// What becomes of tasks that were running when a run was interrupted.
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "When something fails")]
    on_interrupted: Option<Interrupted>,

    /// Have the planner make a new version of the plan when tasks have failed, and go on with it, this many times at most. Default: 3
    /// for rawko plans where plan.agent is configured, else not at all.
    #[arg(long, value_name = "N", help_heading = "When something fails")]
    replan: Option<u32>,

    /// Refuse tasks that no rule of the configuration verifies.
    #[arg(long, help_heading = "Trust")]
    require_verification: bool,

    /// Take tasks that agents propose into the plan at once, and run them; else they are held for `planwright approve --proposed`.
    #[arg(long, help_heading = "Trust")]
    accept_proposals: bool,

    /// Fail a task that touches files that its plan does not name.
    #[arg(long, help_heading = "Trust")]
    strict_files: bool,

    /// Also run criteria that are a command between backticks. They are the plan's words: look at them first.
    #[arg(long, help_heading = "Trust")]
    allow_plan_commands: bool,

    /// Run a plan that nobody has approved, where the dialect wants that.
    #[arg(long, help_heading = "Trust")]
    yes: bool,

    /// How tasks are kept apart: each in a git worktree of its own, or all in the same folder.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Where")]
    isolation: Option<Isolation>,

    /// Go to the branch that the plan names, and make it where there is none.
    #[arg(long, help_heading = "Where")]
    switch: bool,

    /// Run it in a copy of its workspace, which is made in this folder first; goes on there where it was made before.
    #[arg(long, value_name = "FOLDER", conflicts_with = "dry_run", help_heading = "Where")]
    copy_to: Option<PathBuf>,

    /// Begin although there is uncommitted work in the repository.
    #[arg(long, help_heading = "Where")]
    allow_dirty: bool,

    /// How long an attempt may take, as 45m.
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    wall_limit: Option<String>,

    /// How long an attempt may say nothing, as 10m.
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    silence_limit: Option<String>,

    /// What the run may cost, in US dollars, as far as agents tell.
    #[arg(long, value_name = "DOLLARS", help_heading = "Limits")]
    max_cost: Option<String>,

    /// How many tokens the run may use, as far as agents tell.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_tokens: Option<String>,

    /// How many attempts the run may make in all, those that count.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_attempts: Option<String>,

    /// How long the run may go on beginning tasks, as 8h.
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    max_duration: Option<String>,

    /// Who runs it, for the plan and its history.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    /// A file with a template for prompts, in place of the dialect's own.
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,

    /// Show what would be run: rounds, slots, critical path, and every prompt. Starts nothing and writes nothing.
    #[arg(long, visible_alias = "plan-dry-run")]
    dry_run: bool,

    /// A line for each event, also at a terminal.
    #[arg(long)]
    plain: bool,

    /// Print one JSON object per event, as the run's log has them.
    #[arg(long)]
    json: bool,

    /// Print one JSON object per event, in another system's names and payloads.
    #[arg(long, value_enum, value_name = "SYSTEM", conflicts_with_all = ["json", "plain", "dry_run"])]
    json_events: Option<EventForm>,
}

/// Whose events a run is told in.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum EventForm {
    /// Those of rawko's SPEC-0010: PLAN_CREATED, STEP_STARTED, STEP_COMPLETED, STEP_FAILED, PLAN_REPLANNED.
    Rawko,
}

impl Args {
    /// Returns whether nothing but events is to stand on standard output.
    fn is_for_programs(&self) -> bool {
        self.json || self.json_events.is_some()
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Interrupted {
    /// They are tried again.
    Retry,
    /// They have failed.
    Fail,
    /// You are asked; where nobody can answer, nothing is run.
    Ask,
}

#[derive(Clone, Copy, ValueEnum)]
enum Isolation {
    /// By worktrees where several tasks may run and the repository is clean.
    Auto,
    /// By a git worktree for each.
    Worktrees,
    /// By nothing: they share the folder.
    Shared,
}

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

/// What a command has come to over all versions of a plan.
#[derive(Default)]
struct Course {
    n_replans: u32,
    /// Whether programs that follow rawko's events have heard of the plan.
    is_told: bool,
    /// What was spent, by agents and by planners.
    spent: Spent,
    /// That the plan was replanned for the next run.
    replanned: Option<Replanned>,
}

impl Course {
    /// Has a failed plan replanned, and goes on with its new version; returns how the command ends otherwise.
    fn replan(
        &mut self,
        args: &Args,
        found: &mut Found,
        config: &Config,
        output: &mut Output,
    ) -> anyhow::Result<Option<Exit>> {
        let began = Instant::now();
        let (next, effort) = match replan_after_failure(found, config, args.is_for_programs(), output)? {
            After::GoesOn(next, how, effort) => {
                self.replanned = Some(how);
                (next, effort)
            }
            After::Ends(exit) => return Ok(Some(exit)),
            After::Nothing => return Ok(Some(Exit::Problems)),
        };
        found.path = next;
        self.n_replans += 1;
        self.spent.pay(effort.cost_usd, effort.tokens());
        self.spent
            .pass(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        if self.is_told {
            tell_replanned(found, output);
        }
        Ok(None)
    }
}

/// Runs a plan, and its new versions where it is to be replanned.
fn carry_on(args: &Args, mut found: Found, output: &mut Output) -> anyhow::Result<Exit> {
    let mut course = Course::default();
    let is_first = args.replan.is_some_and(|most| most > 0) && !args.retry_failed && !args.dry_run;
    if is_first && waits_for_planner(&found) {
        let config = configured(args, args.on_interrupted, &root_of(&found.path)).config;
        if let Some(exit) = course.replan(args, &mut found, &config, output)?
            && exit != Exit::Problems
        {
            return Ok(exit);
        }
    }
    loop {
        let exit = carry_out(args, &found, args.on_interrupted, &mut course, output)?;
        if args.dry_run || !matches!(exit, Exit::Problems | Exit::Success) {
            return Ok(exit);
        }
        let is_held = match heed_proposals(args, &found, output)? {
            Some(Heeded::Taken(next)) => {
                found = next;
                continue;
            }
            Some(Heeded::Held) => true,
            None => false,
        };
        if exit == Exit::Success {
            return Ok(if is_held { Exit::Problems } else { exit });
        }
        let config = configured(args, args.on_interrupted, &root_of(&found.path)).config;
        let most = args.replan.unwrap_or_else(|| usual_replans(&config, &found));
        if course.n_replans >= most {
            if most > 0 {
                give_up(&found, args.by.as_deref(), most, output)?;
            }
            return Ok(exit);
        }
        if let Some(why) = course.spent.over_run(&config.run.budget) {
            output.remark(&format!("{why}: the plan is not replanned"));
            return Ok(exit);
        }
        if let Some(exit) = course.replan(args, &mut found, &config, output)? {
            return Ok(exit);
        }
    }
}

/// What became of what agents have proposed.
enum Heeded {
    /// It is in the plan, which is to be run on.
    Taken(Found),
    /// It waits for somebody's word.
    Held,
}

/// Asks what becomes of what agents have proposed in this run; elsewhere than at a terminal it waits. None where there is nothing.
fn heed_proposals(args: &Args, found: &Found, output: &mut Output) -> anyhow::Result<Option<Heeded>> {
    let n_held = held(&found.path).len();
    if n_held == 0 {
        return Ok(None);
    }
    let path = found.path.display();
    if may_ask(args) {
        proposals::show(found, output);
        output
            .note("Agents propose tasks for this plan (`planwright proposals`). Take them into it, and go on? [y/N] ");
        if answers::is_yes() {
            let (next, _) = proposals::approve(found, args.by.as_deref(), Settling::default(), output)?;
            return Ok(Some(Heeded::Taken(next)));
        }
    }
    output.remark(&format!(
        "something is proposed for the plan: planwright proposals {path} lists it, planwright approve --proposed {path} takes it"
    ));
    Ok(Some(Heeded::Held))
}

/// Tells programs that follow a run in rawko's events of the new version.
fn tell_replanned(found: &Found, output: &mut Output) {
    let loaded = store::load(&found.path).ok();
    let linked = loaded.and_then(|loaded| examine(&loaded.source, Some(&found.path), found.forced).inspection.plan);
    let event = linked.and_then(|linked| plan_replanned(&linked.plan, &linked.links, &stem_of(&found.path)));
    if let Some(event) = event {
        output.line(&event);
        output.flush();
    }
}

/// Returns whether a plan is not run before somebody has replanned it.
fn waits_for_planner(found: &Found) -> bool {
    let refusal = || {
        let loaded = store::load(&found.path).ok()?;
        let linked = examine(&loaded.source, Some(&found.path), found.forced)
            .inspection
            .plan?;
        dialect::find(linked.plan.dialect)?.refuses_runs(&linked.plan)
    };
    refusal().is_some_and(|refusal| refusal.lift == RunLift::Retry)
}

/// Returns how often a plan is replanned where nobody says.
fn usual_replans(config: &Config, found: &Found) -> u32 {
    match config.plan.agent.is_some() && has_versions(found) {
        true => u32::try_from(MAX_VERSIONS).unwrap_or(u32::MAX),
        false => 0,
    }
}

/// Returns whether a plan's versions are counted.
fn has_versions(found: &Found) -> bool {
    let lineage = || {
        let loaded = store::load(&found.path).ok()?;
        let linked = examine(&loaded.source, Some(&found.path), found.forced)
            .inspection
            .plan?;
        dialect::find(linked.plan.dialect)?.lineage(&linked.plan)
    };
    lineage().is_some()
}

/// Says that a plan has failed that was replanned as often as it may be; where the dialect has a status for that, it gets it.
fn give_up(found: &Found, by: Option<&str>, n_replans: u32, output: &mut Output) -> anyhow::Result<()> {
    let times = if n_replans == 1 {
        "once".to_owned()
    } else {
        format!("{n_replans} times")
    };
    let is_counted = has_versions(found);
    let path = found.path.display();
    output.remark(&match is_counted {
        false => format!("the plan was replanned {times}, and is not replanned again"),
        true => format!(
            "the plan was replanned {times}, and has failed. To try again what failed: planwright undo {path}, then planwright run \
             --retry-failed {path}"
        ),
    });
    let now = clock::now();
    let target = Target {
        path: &found.path,
        forced: found.forced,
        dry: false,
    };
    let request = PlanRequest {
        verb: PlanVerb::Cancel,
        note: Some("it was replanned as often as it may be"),
        by,
        now: &now,
    };
    match is_counted.then(|| revise::transition_plan(target, &request)) {
        Some(Err(error)) => Err(failure(found, &error)),
        _ => Ok(()),
    }
}

/// Runs a plan that was found. `is_told` says whether programs that follow in rawko's events know of a plan.
fn carry_out(
    args: &Args,
    found: &Found,
    on_interrupted: Option<Interrupted>,
    course: &mut Course,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let root = root_of(&found.path);
    let configuration = configured(args, on_interrupted, &root);
    if configuration.has_errors() {
        complain(&configuration, output);
        if configuration.sources.iter().any(is_wrong_flag) {
            return Err(Failure::usage(
                "a flag has a value that it cannot have",
                "see above, and `planwright run --help`",
            ));
        }
        return Err(Failure::problem(
            "the configuration has errors, and nothing is run by it",
            "mend them; `planwright config` shows what holds",
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
    options.is_last = most > 0 && course.n_replans >= most;
    options.replanned = course.replanned.take();
    let mut prepared = engine::prepare(&order_of(found, &configuration, &options));
    if let Err(RunError::NotApproved { message, .. }) = &prepared
        && may_ask(args)
        && !args.dry_run
        && is_approved(found, message, output)
    {
        options.yes = true;
        prepared = engine::prepare(&order_of(found, &configuration, &options));
    }
    let order = order_of(found, &configuration, &options);
    let prepared = prepared.map_err(|error| refusal(found, error))?;
    if args.dry_run {
        return dry_run::show(&order, &prepared, args.json, output).map_err(|error| refusal(found, error));
    }
    if !prepared.has_work(&order) {
        return Ok(nothing_to_do(args, &prepared, output));
    }
    let mut workers = Workers::new().map_err(|error| Failure::environment(&error, ""))?;
    let interrupts = interrupt::Count::begin(workers.waker()).map_err(|error| Failure::environment(&error, ""))?;
    let mut setting = setting_of(&found.path, prepared.book.plan());
    let rawko = args.json_events.map(|EventForm::Rawko| {
        let book = &prepared.book;
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
    if may_ask(args) {
        told.ask_for_reviews(&root, args.by.as_deref(), &options.waits_for_review);
    }
    let outcome = engine::run(&order, prepared, &mut workers, interrupts.n_asked(), &mut told);
    told.finish();
    let outcome = match outcome {
        Err(RunError::Interrupted { task }) if may_ask(args) => {
            let answer = ask(&task, output)?;
            course.replanned = options.replanned;
            return carry_out(args, found, Some(answer), course, output);
        }
        outcome => outcome.map_err(|error| refusal(found, error))?,
    };
    course.spent.clone_from(&outcome.spent);
    course.replanned = None;
    setting.run.clone_from(&told.run);
    if !args.is_for_programs() {
        // A run that was interrupted began before this process did.
        let records = runs::records(&DiskFiles, &outcome.place.log());
        let account = records.map_or(told.account, |records| Account::of(&records));
        output.write(&summary(&RunReport::new(&setting, &account), output.paint()));
        output.flush();
    }
    if let Some(error) = &outcome.unwritten {
        output.complain(&failure(found, error));
    }
    if !outcome.ended.unwritten.is_empty() {
        let tasks: Vec<String> = outcome.ended.unwritten.iter().map(|task| shown_name(task)).collect();
        output.remark(&format!(
            "the plan file does not know what became of {}; the run's log does, and the next run writes it into the plan",
            some_of(&tasks, 8)
        ));
    }
    if let Some(command) = &configuration.config.notify
        && let Some(why) = engine::notify(&mut workers, command, &found.path, &outcome)
    {
        output.remark(&format!("warning: the command of [notify] failed: {}", one_line(&why)));
    }
    Ok(interrupts.exit().unwrap_or_else(|| exit_of(&outcome)))
}

/// Returns whether somebody is there who could answer.
fn may_ask(args: &Args) -> bool {
    !args.is_for_programs() && answers::may_ask()
}

fn order_of<'a>(found: &'a Found, configuration: &'a Configuration, options: &'a Options) -> Order<'a> {
    Order {
        path: &found.path,
        forced: found.forced,
        config: &configuration.config,
        options,
    }
}

/// Asks whether a plan may be run that nobody has approved.
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
    let titles = titles.map(|(ix, task)| (plan.task_name(ix).into_owned(), plan.task_title(task).to_owned()));
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
fn nothing_to_do(args: &Args, prepared: &Prepared, output: &mut Output) -> Exit {
    let wanted: Vec<&Job> = prepared.jobs.iter().filter(|job| job.is_wanted).collect();
    let count = |state: State| wanted.iter().filter(|job| job.state == state).count();
    let (n_done, n_failed) = (count(State::Done), count(State::Failed));
    let is_part = !(args.only.is_empty() && args.from.is_empty() && args.until.is_empty());
    if wanted.is_empty() && is_part {
        output.remark("nothing to run: no task is both in --only, in --from and in --until as far as they are given");
        return Exit::Problems;
    }
    let of_them = if is_part { " that were asked for" } else { "" };
    let mut words = format!("nothing to run: {n_done} of {} tasks{of_them} are done", wanted.len());
    for (state, n) in [
        ("failed", n_failed),
        ("skipped", count(State::Skipped)),
        ("blocked", count(State::Blocked)),
    ] {
        if n > 0 {
            words.push_str(&format!(", {n} {state}"));
        }
    }
    output.remark(&words);
    if n_failed > 0 {
        output.remark("help: --retry-failed tries again what failed");
        return Exit::Problems;
    }
    Exit::Success
}

fn is_wrong_flag(source: &Source) -> bool {
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    matches!(source.kind, SourceKind::Flag(_)) && source.findings.iter().any(is_error)
}

/// Reads the configuration, with the flags that are settings.
fn configured(args: &Args, on_interrupted: Option<Interrupted>, root: &Path) -> Configuration {
    let mut surroundings = Surroundings::of_process();
    let mut set = |name: &str, key: &'static str, value: Option<String>| {
        surroundings.flags.extend(value.map(|value| Flag {
            name: name.to_owned(),
            key,
            value,
        }));
    };
    let word = |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
    set("--slots", "run.slots", args.slots.map(|n| n.to_string()));
    set("--attempts", "run.attempts", args.attempts.map(|n| n.to_string()));
    set("--wall-limit", "run.wall_limit", args.wall_limit.clone());
    set("--silence-limit", "run.silence_limit", args.silence_limit.clone());
    set("--max-cost", "run.budget.cost", args.max_cost.clone());
    set("--max-tokens", "run.budget.tokens", args.max_tokens.clone());
    set("--max-attempts", "run.budget.attempts", args.max_attempts.clone());
    set("--max-duration", "run.budget.duration", args.max_duration.clone());
    let isolation = args.isolation.and_then(|isolation| isolation.to_possible_value());
    set("--isolation", "run.isolation", word(isolation));
    let on_interrupted = on_interrupted.and_then(|what| what.to_possible_value());
    set("--on-interrupted", "run.on_interrupted", word(on_interrupted));
    config::load(root, &surroundings)
}

/// Returns what is wanted of this run; `template` is the configuration's.
fn options(args: &Args, template: Option<PathBuf>) -> anyhow::Result<Options> {
    // Whoever types the name of a pipe means it; that of the configuration is a file.
    let typed = args.template.as_ref().map(|path| (path, File::open(path)));
    let set = || template.as_ref().map(|path| (path, open_to_read(path)));
    let template = typed.or_else(set).map(|(path, file)| {
        let read = file.and_then(read_template).map(|text| (path.to_owned(), text));
        read.map_err(|error| unreadable_template(path, &error))
    });
    Ok(Options {
        agent: args.agent.clone(),
        arbiter: args.arbiter.clone(),
        only: args.only.clone(),
        from: args.from.clone(),
        until: args.until.clone(),
        max_tasks: args.max_tasks,
        fail_fast: args.fail_fast && !args.keep_going,
        retry_failed: args.retry_failed,
        cascade_skip: args.cascade_skip,
        require_verification: args.require_verification,
        strict_files: args.strict_files,
        accept_proposals: args.accept_proposals,
        switch_branch: args.switch,
        allow_dirty: args.allow_dirty,
        allow_plan_commands: args.allow_plan_commands,
        yes: args.yes,
        by: args.by.clone(),
        waits_for_review: Arc::new(AtomicBool::new(may_ask(args))),
        earlier: Spent::default(),
        is_last: false,
        replanned: None,
        again: repeated(args),
        template: template.transpose()?,
    })
}

/// Returns the words that a command has to have again which goes on with this run: who works, where, on what, and how strictly.
fn repeated(args: &Args) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), value]);
        }
    };
    let word = |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
    option("--agent", args.agent.clone());
    option("--arbiter", args.arbiter.clone());
    option("-j", args.slots.map(|n| n.to_string()));
    option("--attempts", args.attempts.map(|n| n.to_string()));
    for (name, tasks) in [("--only", &args.only), ("--from", &args.from), ("--until", &args.until)] {
        for task in tasks {
            option(name, Some(task.clone()));
        }
    }
    option("--max-tasks", args.max_tasks.map(|n| n.to_string()));
    let what = args.on_interrupted.and_then(|what| what.to_possible_value());
    option("--on-interrupted", word(what));
    option(
        "--isolation",
        word(args.isolation.and_then(|how| how.to_possible_value())),
    );
    option("--wall-limit", args.wall_limit.clone());
    option("--silence-limit", args.silence_limit.clone());
    option("--max-cost", args.max_cost.clone());
    option("--max-tokens", args.max_tokens.clone());
    option("--max-attempts", args.max_attempts.clone());
    option("--max-duration", args.max_duration.clone());
    option("--replan", args.replan.map(|n| n.to_string()));
    option("--by", args.by.clone());
    option(
        "--template",
        args.template.as_ref().map(|path| path.display().to_string()),
    );
    for (name, is_set) in [
        ("--cascade-skip", args.cascade_skip),
        ("--fail-fast", args.fail_fast),
        ("--require-verification", args.require_verification),
        ("--strict-files", args.strict_files),
        ("--accept-proposals", args.accept_proposals),
        ("--allow-plan-commands", args.allow_plan_commands),
        ("--allow-dirty", args.allow_dirty),
    ] {
        words.extend(is_set.then(|| name.to_owned()));
    }
    words
}

fn refusal(found: &Found, error: RunError) -> anyhow::Error {
    let (help, is_environment) = (error.help(), error.is_environment());
    match error {
        RunError::Errors(erroneous) => Failure::shown(
            "the plan has errors, and is not run",
            help,
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

fn exit_of(outcome: &Outcome) -> Exit {
    match outcome.standing {
        _ if outcome.unwritten.is_some() => Exit::Environment,
        Standing::Finished => Exit::Success,
        _ => Exit::Problems,
    }
}
