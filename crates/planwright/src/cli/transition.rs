//! `planwright start`, `done`, `fail`, `skip`, `retry`, `block`, `reset`: what becomes of tasks, by one table.

use planwright_core::edit::Request;
use planwright_core::plan::Verb;
use planwright_run::clock;
use planwright_run::journal::Verified;
use planwright_run::revise::{Pick, Target, each_once, task_named, transition, transition_verified};
use planwright_run::verify::Checks;

use super::change::{ChangeOptions, Found, failure, report, step_words};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::TargetOption;
use super::text_arg::text_of;
use super::verification::{Told, Verdict, Verifier, command_words};
use crate::render::terminal::shown_name;

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

    /// Start what is not ready; reset what is done.
    #[arg(long)]
    force: bool,

    /// Skip or reset this task alone, where the dialect would do so to what depends on it as well.
    #[arg(long)]
    no_cascade: bool,

    #[command(flatten)]
    change: ChangeOptions,
}

/// Say that tasks are finished, once their verification passes.
///
/// Where `[verify]` in the configuration has rules for a task, their commands are run first; if one of them fails, the task stays
/// as it is. What came of it is kept in the plan's history.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright done t2
  planwright done t2 --note \"counted in a map\" --file src/limit.rs
  planwright done US-002 --unverified --note \"checked by hand\"")]
pub(crate) struct DoneArgs {
    #[command(flatten)]
    common: Args,

    /// Verify nothing, and keep in the history that nothing was; say why with --note.
    #[arg(long, conflicts_with_all = ["require_verification", "allow_plan_commands"])]
    unverified: bool,

    /// Refuse tasks that no rule of the configuration verifies.
    #[arg(long)]
    require_verification: bool,

    /// Also run criteria that are a command between backticks. They are the plan's words: look at them first.
    #[arg(long)]
    allow_plan_commands: bool,
}

pub(crate) fn run(verb: Verb, args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    act(verb, args, output, |_, _, _| Ok(Vec::new()))
}

pub(crate) fn done(args: &DoneArgs, output: &mut Output) -> anyhow::Result<Exit> {
    act(Verb::Done, &args.common, output, |found, request, output| {
        verify(args, found, request, output)
    })
}

/// Verifies tasks that are to be done, and returns what to record of it. Takes no lock: that may take its time.
fn verify(args: &DoneArgs, found: &Found, request: &Request<'_>, output: &mut Output) -> anyhow::Result<Vec<Verified>> {
    let names = each_once(&args.common.tasks);
    let untold = |waived: bool| {
        let tasks = names.iter().cloned();
        tasks.map(move |task| Verified {
            task,
            waived,
            ..Verified::default()
        })
    };
    if args.unverified {
        return Ok(untold(true).collect());
    }
    let mut verifier = Verifier::open(found, args.allow_plan_commands, output)?;
    if !verifier.has_rules() && !args.require_verification {
        return Ok(untold(false).collect());
    }
    let target = found.target(&args.common.change);
    // What would be refused anyway is not worth the time.
    let would = transition(Target { dry: true, ..target }, Pick::Named(&names), request);
    let would = would.map_err(|error| failure(found, &error))?;
    let Some(linked) = &would.after.plan else {
        return Ok(Vec::new());
    };
    let mut wanted = Vec::new();
    for name in &names {
        let task_ix = task_named(&linked.plan, name).map_err(|error| failure(found, &error))?;
        let checks = verifier.checks(&linked.plan, task_ix);
        if args.require_verification && !checks.is_covered {
            return Err(Failure::problem(
                format!("no rule covers `{}`, so that nothing verifies it", shown_name(name)),
                "add one to `[verify]` in `planwright.toml`, or leave --require-verification out",
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
    match verdicts.iter().find_map(|(name, verdict)| verdict.refusal(name)) {
        Some(refusal) => Err(refusal),
        None => Ok(verdicts.iter().map(|(name, verdict)| verdict.verified(name)).collect()),
    }
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
    output: &mut Output,
    verify: impl FnOnce(&Found, &Request<'_>, &mut Output) -> anyhow::Result<Vec<Verified>>,
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
            "say what it waits for: --note \"…\"",
        ));
    }
    let found = args.plan.find()?;
    let now = clock::now();
    let request = Request {
        verb,
        note: note.as_deref(),
        output: outcome.as_deref(),
        files: &args.files,
        by: args.change.by.as_deref(),
        now: &now,
        force: args.force,
        cascade: !args.no_cascade,
        keeps_notes: false,
    };
    let verified = verify(&found, &request, output)?;
    let target = found.target(&args.change);
    let revised = transition_verified(target, Pick::Named(&args.tasks), &request, &verified)
        .map_err(|error| failure(&found, &error))?;
    let words = step_words(&revised);
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
