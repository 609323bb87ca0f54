//! `planwright start`, `done`, `fail`, `skip`, `retry`, `block`, `reset`: verbs on tasks, by the table of transitions.

use planwright_core::edit::Request;
use planwright_core::plan::Verb;
use planwright_run::clock;
use planwright_run::gate::GatePolicy;
use planwright_run::journal::Verified;
use planwright_run::revise::{self, Call, Pick, Target, each_once, task_named, transition_by};
use planwright_run::verify::Checks;

use super::attempt::refuse_own_plan;
use super::change::{ChangeOptions, Found, failure, report, step_words};
use super::claim_args::{HolderOptions, LeaseOption, TakeOverOption, config_of, refuse_without_note};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::TargetOption;
use super::plan_entries::from_here;
use super::text_arg::text_of;
use super::verification::{Told, Verdict, Verifier, command_words};
use crate::render::terminal::{one_line, shown_name};

/// What all of these verbs take.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The tasks, as their plan names them: an id, OpenCrabs' 1-based number, rawko's 0-based index.
    #[arg(value_name = "TASK", required = true)]
    tasks: Vec<String>,

    #[command(flatten)]
    plan: TargetOption,

    /// Why, in your words: kept where the dialect has a place for it, and in the plan's history. @FILE for what a file holds,
    /// - for standard input.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    /// What came out of the work. @FILE and - as for --note.
    #[arg(long, value_name = "TEXT")]
    output: Option<String>,

    /// A file that the work touched; may be given several times.
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,

    /// Start what is not ready, finish what another owner holds (both need --note); reset what is done.
    #[arg(long)]
    force: bool,

    /// Skip or reset this task alone, where the dialect would do so to what depends on it as well.
    #[arg(long)]
    no_cascade: bool,

    #[command(flatten)]
    change: ChangeOptions,
}

/// Options of `start`.
#[derive(clap::Args)]
pub(crate) struct StartArgs {
    #[command(flatten)]
    common: Args,

    #[command(flatten)]
    lease: LeaseOption,

    #[command(flatten)]
    take_over: TakeOverOption,
}

/// Options of `retry`.
#[derive(clap::Args)]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    common: Args,

    /// Start the tasks in the same step.
    #[arg(long)]
    start: bool,

    #[command(flatten)]
    lease: LeaseOption,
}

/// Options of `fail`, `skip`, `block` and `reset`.
#[derive(clap::Args)]
pub(crate) struct FinishArgs {
    #[command(flatten)]
    common: Args,

    #[command(flatten)]
    holder: HolderOptions,
}

/// What a verb does beyond the table.
#[derive(Default)]
struct Manner {
    claim: Option<u64>,
    takes_over: bool,
    until: Option<String>,
    starts: bool,
}

/// Mark tasks as done after verifying them.
///
/// Where `[verify]` in the configuration has rules for a task, their commands are run first; if one of them fails, the task stays
/// as it is. The history of the plan keeps the result.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright done t2
  planwright done t2 --note \"counted in a map\" --file src/limit.rs
  planwright done US-002 --unverified --note \"checked by hand\"")]
pub(crate) struct DoneArgs {
    #[command(flatten)]
    common: Args,

    #[command(flatten)]
    holder: HolderOptions,

    /// Verify nothing. The history keeps that, and --note says why. Where verify.required is set, this also needs
    /// verify.allow_unverified in your own configuration file.
    #[arg(long, conflicts_with_all = ["require_verification", "allow_plan_commands"])]
    unverified: bool,

    /// Refuse tasks that no rule of the configuration verifies.
    #[arg(long)]
    require_verification: bool,

    /// Also run criteria that are a command between backticks. They are the plan's words: look at them first.
    #[arg(long)]
    allow_plan_commands: bool,
}

pub(crate) fn start(args: &StartArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let manner = Manner {
        takes_over: args.take_over.take_over,
        until: args.lease.until()?,
        ..Manner::default()
    };
    act(Verb::Start, &args.common, manner, output, |_, _, _, _| Ok(Vec::new()))
}

pub(crate) fn retry(args: &RetryArgs, output: &mut Output) -> anyhow::Result<Exit> {
    if args.lease.is_given() && !args.start {
        return Err(Failure::usage(
            "--lease is for a task that starts",
            "add --start, or leave --lease out",
        ));
    }
    let manner = Manner {
        until: args.lease.until()?,
        starts: args.start,
        ..Manner::default()
    };
    act(Verb::Retry, &args.common, manner, output, |_, _, _, _| Ok(Vec::new()))
}

pub(crate) fn finish(verb: Verb, args: &FinishArgs, output: &mut Output) -> anyhow::Result<Exit> {
    act(verb, &args.common, manner_of(&args.holder), output, |_, _, _, _| {
        Ok(Vec::new())
    })
}

pub(crate) fn done(args: &DoneArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let manner = manner_of(&args.holder);
    act(
        Verb::Done,
        &args.common,
        manner,
        output,
        |found, request, call, output| verify(args, found, request, call, output),
    )
}

fn manner_of(holder: &HolderOptions) -> Manner {
    Manner {
        claim: holder.claim,
        takes_over: holder.take_over.take_over,
        ..Manner::default()
    }
}

/// Verifies tasks that are to be done, and returns what to record of it. Takes no lock: that may take its time.
fn verify(
    args: &DoneArgs,
    found: &Found,
    request: &Request<'_>,
    call: &Call<'_>,
    output: &mut Output,
) -> anyhow::Result<Vec<Verified>> {
    let names = each_once(&args.common.tasks);
    let untold = |waived: bool| {
        let tasks = names.iter().cloned();
        tasks.map(move |task| Verified {
            task,
            waived,
            ..Verified::default()
        })
    };
    let mut verifier = Verifier::open(found, args.allow_plan_commands, output)?;
    let is_required = call.policy.verification_required;
    if args.unverified {
        refuse_waiver(is_required, verifier.allows_waivers(), request.note)?;
        return Ok(untold(true).collect());
    }
    let may_waive = (!is_required || verifier.allows_waivers()) && !args.require_verification;
    let is_required = is_required || args.require_verification;
    if !verifier.has_rules() && !is_required {
        return Ok(untold(false).collect());
    }
    let target = found.target(&args.common.change);
    // What would be refused anyway is not worth the time.
    let would = transition_by(Target { dry: true, ..target }, Pick::Named(&names), request, call);
    let would = would.map_err(|error| failure(found, &error))?;
    let Some(linked) = &would.after.plan else {
        return Ok(Vec::new());
    };
    let mut wanted = Vec::new();
    for name in &names {
        let task_ix = task_named(&linked.plan, name).map_err(|error| failure(found, &error))?;
        let checks = verifier.checks(&linked.plan, task_ix);
        if is_required && !checks.is_covered {
            return Err(Failure::problem(
                format!("no rule covers `{}`, so that nothing verifies it", shown_name(name)),
                "verification is required: add a rule to `[verify]` in `planwright.toml`",
            ));
        }
        wanted.push((name, task_ix, checks));
    }
    if target.dry {
        name_commands(wanted.iter().map(|(name, _, checks)| (*name, checks)), output);
        return Ok(Vec::new());
    }
    let mut verdicts: Vec<(&String, Verdict)> = Vec::new();
    for (name, task_ix, checks) in wanted {
        if checks.is_covered {
            output.remark(&format!("verifying {}", shown_name(name)));
        }
        let verdict = verifier.run(&linked.plan, task_ix, checks, Told::Beside, output)?;
        for gap in verdict.gaps() {
            output.remark(&format!("note: {}: {gap}", shown_name(name)));
        }
        verdicts.push((name, verdict));
    }
    match verdicts
        .iter()
        .find_map(|(name, verdict)| verdict.refusal(name, may_waive))
    {
        Some(refusal) => Err(refusal),
        None => Ok(verdicts.iter().map(|(name, verdict)| verdict.verified(name)).collect()),
    }
}

/// Refuses to waive verification where it is required, unless the user's own settings allow it and there is a reason.
fn refuse_waiver(is_required: bool, is_allowed: bool, note: Option<&str>) -> anyhow::Result<()> {
    if !is_required {
        return Ok(());
    }
    if !is_allowed {
        return Err(Failure::problem(
            "verification is required (verify.required), so --unverified is refused",
            "leave --unverified out; or set verify.allow_unverified = true in your own configuration file, which a project \
             cannot do",
        ));
    }
    refuse_without_note("--unverified", true, note)
}

/// Says what would be run.
fn name_commands<'a>(wanted: impl Iterator<Item = (&'a String, &'a Checks)>, output: &mut Output) {
    for (name, checks) in wanted {
        for check in &checks.checks {
            let words = command_words(&check.command.arguments());
            output.remark(&format!("would verify {}: {words}", shown_name(name)));
        }
    }
}

/// Does a verb to tasks. What `verify` returns is recorded with it.
fn act(
    verb: Verb,
    args: &Args,
    manner: Manner,
    output: &mut Output,
    verify: impl FnOnce(&Found, &Request<'_>, &Call<'_>, &mut Output) -> anyhow::Result<Vec<Verified>>,
) -> anyhow::Result<Exit> {
    let mut stdin_is_taken = false;
    let mut text = |option: &str, typed: &Option<String>| {
        let typed = typed.as_deref();
        typed
            .map(|typed| text_of(option, typed, &mut stdin_is_taken))
            .transpose()
    };
    let (note, outcome) = (text("note", &args.note)?, text("output", &args.output)?);
    if verb == Verb::Block && note.as_deref().is_none_or(|note| note.trim().is_empty()) {
        return Err(Failure::usage(
            "a blocked task needs a reason",
            "name what it waits for: --note \"…\"",
        ));
    }
    refuse_without_note("--take-over", manner.takes_over, note.as_deref())?;
    let overrides = matches!(verb, Verb::Start | Verb::Retry | Verb::Done | Verb::Fail | Verb::Block);
    refuse_without_note("--force", args.force && overrides, note.as_deref())?;
    let found = args.plan.find()?;
    // Before the table and the claims are asked: their advice is for those who may change the plan.
    refuse_own_plan(&found, "change its own run")?;
    if let Some(newest) = revise::newest_version(&found.path, found.forced) {
        output.remark(&format!(
            "note: this version was replanned: the newest is {}",
            one_line(&from_here(&newest).to_string_lossy())
        ));
    }
    let config = config_of(&found, output)?;
    let now = clock::now();
    let request = Request {
        verb,
        note: note.as_deref(),
        output: outcome.as_deref(),
        files: &args.files,
        by: args.change.by.as_deref(),
        user: None,
        now: &now,
        force: args.force,
        cascade: !args.no_cascade,
        keeps_notes: false,
        work: None,
        starts: manner.starts,
    };
    let call = Call {
        policy: GatePolicy::of(&config),
        owner: args.change.by.as_deref(),
        claim: manner.claim,
        takes_over: manner.takes_over,
        until: manner.until,
        ..Call::default()
    };
    let verified = verify(&found, &request, &call, output)?;
    let call = Call {
        verified: &verified,
        ..call
    };
    let target = found.target(&args.change);
    let revised =
        transition_by(target, Pick::Named(&args.tasks), &request, &call).map_err(|error| failure(&found, &error))?;
    let words = step_words(&found.path, &revised);
    report(
        &found.path,
        verb.as_str(),
        &revised,
        &args.change,
        &args.tasks,
        &words,
        output,
    )
}
