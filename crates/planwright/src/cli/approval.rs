//! `planwright submit`, `approve`, `reject`, `cancel`: verbs on a whole plan, and the review of a task.

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_core::edit::PlanRequest;
use planwright_core::plan::PlanVerb;
use planwright_run::clock;
use planwright_run::gate::GatePolicy;
use planwright_run::review::{PATIENCE, Review, ReviewError, Reviewed, Verdict, review};
use planwright_run::revise::{Target, transition_plan};
use planwright_run::store;

use super::change::{
    ChangeOptions, Found, Told, Words, failure, plan_words, refuse_during_run, report, report_told, report_words,
    step_words,
};
use super::claim_args::config_of;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::{Naming, TargetArgument, TargetOption, load_failure, naming};
use super::proposals::{self, Settling};
use super::run::{ApprovedLanding, Landed};
use super::text_arg::text_of;
use crate::render::terminal::{cut, one_line, shown_name};

/// Ask for a plan to be approved.
///
/// For OpenCrabs plans: a draft, or one that was rejected and has been corrected, becomes `PendingApproval`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright submit plan.json --by ada")]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    plan: PlanArgs,
}

/// Give a plan up.
///
/// An OpenCrabs plan becomes `Cancelled`, a rawko plan `failed`, with the note among its constraints. What became of its tasks
/// stays.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright cancel plan.json --note \"the gateway does it now\"")]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    plan: PlanArgs,
}

/// Let a plan be worked on, or say that what a task made is good.
///
/// An OpenCrabs plan becomes `Approved`. A task that a run has left for review is done; a run that is under way gets the decision.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright approve plan.json --by ada     a plan
  planwright approve T002                   what a task made
  planwright approve --proposed             what agents and planners propose")]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    judged: JudgedArgs,
}

/// Turn down a plan, or what a task made; needs --note.
///
/// An OpenCrabs plan that has not begun becomes `Rejected`; `submit` asks again once it is corrected. A task that a run has left
/// for review has failed; a run that is under way gets the decision.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright reject plan.json --note \"the load test is missing\"
  planwright reject T002 --note \"no test for the header\"")]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    judged: JudgedArgs,
}

/// What verbs take that are about a plan.
#[derive(clap::Args)]
struct PlanArgs {
    #[command(flatten)]
    plan: TargetArgument,

    #[command(flatten)]
    said: Said,
}

/// What verbs take that are about a plan or a task of it.
#[derive(clap::Args)]
struct JudgedArgs {
    /// The plan, or a task of the only plan or of the one that --plan names.
    #[arg(value_name = "PLAN|TASK", value_parser = NonEmpty::new())]
    what: Option<String>,

    /// What is proposed for the plan: new tasks, or a new version. `planwright proposals` lists it.
    #[arg(long)]
    proposed: bool,

    #[command(flatten)]
    plan: TargetOption,

    #[command(flatten)]
    said: Said,
}

#[derive(clap::Args)]
struct Said {
    /// Why, in your words: kept where the dialect has a place for it, and in the plan's history. @FILE for what a file holds,
    /// - for standard input.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    #[command(flatten)]
    change: ChangeOptions,
}

impl Said {
    fn note(&self) -> anyhow::Result<Option<String>> {
        let note = self.note.as_deref();
        note.map(|note| text_of("note", note, &mut false)).transpose()
    }
}

pub(crate) fn submit(args: &SubmitArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let said = &args.plan.said;
    let note = said.note()?;
    change_plan(
        &args.plan.plan.find()?,
        PlanVerb::Submit,
        note.as_deref(),
        &said.change,
        output,
    )
}

pub(crate) fn cancel(args: &CancelArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let said = &args.plan.said;
    let note = said.note()?;
    change_plan(
        &args.plan.plan.find()?,
        PlanVerb::Cancel,
        note.as_deref(),
        &said.change,
        output,
    )
}

pub(crate) fn approve(args: &ApproveArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let note = args.judged.said.note()?;
    judge(&args.judged, Verdict::Approve, note.as_deref(), output)
}

pub(crate) fn reject(args: &RejectArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let note = args.judged.said.note()?;
    if note.as_deref().is_none_or(|note| note.trim().is_empty()) {
        return Err(Failure::usage(
            "a rejection needs a reason",
            "name what is to be corrected: --note \"…\"",
        ));
    }
    judge(&args.judged, Verdict::Reject, note.as_deref(), output)
}

fn judge(args: &JudgedArgs, verdict: Verdict, note: Option<&str>, output: &mut Output) -> anyhow::Result<Exit> {
    let change = &args.said.change;
    if args.proposed {
        let found = match args.what.as_deref() {
            Some(what) => args.plan.find_named(what)?,
            None => args.plan.find()?,
        };
        let how = Settling {
            dry: change.dry_run || change.diff,
            diff: change.diff,
            json: change.json,
        };
        return match verdict {
            Verdict::Approve => {
                let (_, is_all) = proposals::approve(&found, Some(&change.who()), how, output)?;
                Ok(if is_all { Exit::Success } else { Exit::Problems })
            }
            Verdict::Reject => {
                proposals::reject(&found, Some(&change.who()), note, how, output)?;
                Ok(Exit::Success)
            }
        };
    }
    match meant(args, verdict)? {
        Meant::Plan(found) => {
            let verb = match verdict {
                Verdict::Approve => PlanVerb::Approve,
                Verdict::Reject => PlanVerb::Reject,
            };
            change_plan(&found, verb, note, change, output)
        }
        Meant::Task(found, task) => review_task(&found, &task, verdict, note, change, output),
    }
}

/// What a user means by one name.
enum Meant {
    Plan(Found),
    Task(Found, String),
}

/// Distinguishes a plan from a task. A name that is wholly a plan's and a task's as well is neither.
fn meant(args: &JudgedArgs, verdict: Verdict) -> anyhow::Result<Meant> {
    let Some(what) = args.what.as_deref() else {
        return args.plan.find().map(Meant::Plan);
    };
    if what == "-" {
        return args.plan.find_named(what).map(Meant::Plan);
    }
    if let Some(plan) = args.plan.plan.as_deref() {
        let found = args.plan.find()?;
        return Ok(match plan == what && !has_task(&found, what) {
            true => Meant::Plan(found),
            false => Meant::Task(found, what.to_owned()),
        });
    }
    let only = args.plan.find().ok().filter(|found| has_task(found, what));
    match (naming(what, args.plan.reading.user), only) {
        (Naming::Whole, Some(found)) => Err(two_readings(what, &found, verdict)),
        (_, Some(found)) => Ok(Meant::Task(found, what.to_owned())),
        (Naming::Whole | Naming::Partly, None) => args.plan.find_named(what).map(Meant::Plan),
        (Naming::No, None) => Err(Failure::problem(
            format!("no plan and no task is called `{}`", cut(&shown_name(what), 60)),
            "`planwright list` shows the plans of this workspace; a task of one of several plans needs it: -p PLAN",
        )),
    }
}

fn has_task(found: &Found, name: &str) -> bool {
    found
        .linked()
        .is_some_and(|linked| linked.plan.find_task(name).is_some())
}

fn two_readings(what: &str, found: &Found, verdict: Verdict) -> anyhow::Error {
    let (verb, name, path) = (verdict.as_str(), shown_name(what), found.path.display());
    Failure::problem(
        format!("`{name}` is the name of a plan, and that of a task of `{path}`"),
        format!("`planwright {verb} -p {name}` means the plan, `planwright {verb} {name} -p {path}` the task"),
    )
}

fn change_plan(
    found: &Found,
    verb: PlanVerb,
    note: Option<&str>,
    change: &ChangeOptions,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    if matches!(verb, PlanVerb::Reject | PlanVerb::Cancel) {
        // A run does not go on with a plan that was turned down or given up, and must be over before.
        refuse_during_run(found, &format!("{} this plan", verb.as_str()))?;
    }
    let now = clock::now();
    let who = change.who();
    let request = PlanRequest {
        note,
        by: Some(&who),
        ..PlanRequest::new(verb, &now)
    };
    let policy = GatePolicy::of(&config_of(found, output)?);
    let revised = transition_plan(found.target(change), &request, policy).map_err(|error| failure(found, &error))?;
    let words = match plan_words(&revised) {
        words if verb == PlanVerb::Approve && !words.is_something() => Words::unchanged("the plan is approved already"),
        words => words,
    };
    report(&found.path, verb.as_str(), &revised, change, &[], &words, output)
}

/// Says what somebody thinks of what a task made: to the run that is going on, else to the plan.
fn review_task(
    found: &Found,
    task: &str,
    verdict: Verdict,
    note: Option<&str>,
    change: &ChangeOptions,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    store::load(&found.path).map_err(|error| load_failure(&error))?;
    let who = change.who();
    let word = Review {
        task,
        verdict,
        by: Some(&who),
        note,
        patience: PATIENCE,
    };
    let asked = |target| review(target, &word).map_err(|error| review_failure(found, &error));
    // What cannot land for a reason that is known before is not approved.
    let dry = Target {
        dry: true,
        ..found.target(change)
    };
    let mut landing = None;
    if let (Verdict::Approve, Reviewed::ToLand { task, branch, .. }) = (verdict, asked(dry)?) {
        landing = Some(ApprovedLanding::prepare(found, &task, branch, &who, output)?);
    }
    let reviewed = asked(found.target(change))?;
    match reviewed {
        Reviewed::Run { run, task, answer } => {
            let told = Told { id: run, answer };
            report_told(&found.path, verdict.as_str(), &task, &told, change, output)
        }
        Reviewed::ToLand { task, commit, .. } => match landing.filter(|_| !change.dry_run && !change.diff) {
            Some(landing) => {
                let landed = landing.land(&task, !change.json, output)?;
                report_landed(found, &task, &landed, change, output)
            }
            None => {
                let words = format!("would be approved, and land as commit {} has it", short(&commit));
                report_words(&found.path, "approve", (&task, words), false, change, output)?;
                Ok(Exit::Success)
            }
        },
        Reviewed::Plan {
            task, revised, commit, ..
        } => {
            match commit {
                _ if verdict == Verdict::Approve => {}
                Some(commit) => output.remark(&format!(
                    "note: its work stays as commit {}, on no branch",
                    short(&commit)
                )),
                None => {
                    output.remark("note: what the task changed is still in the folder; look at it before you run again")
                }
            }
            let words = step_words(&found.path, &revised);
            report(&found.path, verdict.as_str(), &revised, change, &[task], &words, output)
        }
    }
}

/// Says what became of the approved work of a task.
fn report_landed(
    found: &Found,
    task: &str,
    landed: &Landed,
    change: &ChangeOptions,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let (words, exit) = match landed {
        Landed::On { branch, commit } => {
            let commit = commit.as_deref().map(|commit| format!(" as {}", short(commit)));
            let words = format!(
                "approved, and landed on {}{}",
                one_line(branch),
                commit.unwrap_or_default()
            );
            (words, Exit::Success)
        }
        Landed::NotYet(why) => {
            let why = one_line(why);
            let words = format!(
                "approved, and not landed yet: {why}; `planwright run` lands it, and `planwright reject` takes the approval back"
            );
            (words, Exit::Problems)
        }
    };
    let is_written = exit == Exit::Success;
    report_words(&found.path, "approve", (task, words), is_written, change, output)?;
    Ok(exit)
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

fn review_failure(found: &Found, error: &ReviewError) -> anyhow::Error {
    match error {
        ReviewError::NothingWaits { task, waiting } => {
            let names: Vec<String> = waiting.iter().take(8).map(|name| shown_name(name)).collect();
            let help = match names.len() {
                0 => "no task of this plan does; `planwright done` and `fail` say what became of one".to_owned(),
                _ => format!("these wait: {}", names.join(", ")),
            };
            Failure::problem(format!("task `{}` does not wait for review", shown_name(task)), help)
        }
        ReviewError::Revise(error) => failure(found, error),
        ReviewError::Log(error) => Failure::environment(error, error.help()),
        ReviewError::NoAnswer { .. } => Failure::environment(
            error,
            "it was told, and may still do as it was: `planwright show` says what became of the task",
        ),
        ReviewError::Locked(_) => Failure::environment(error, "a run of the plan has just begun: approve again"),
        ReviewError::Io { .. } => Failure::environment(error, "check that you may write to `.planwright`"),
    }
}
