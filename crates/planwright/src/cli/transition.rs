//! `planwright start`, `done`, `fail`, `skip`, `retry`, `block`, `reset`: what becomes of tasks, by one table.

use planwright_core::edit::Request;
use planwright_core::plan::Verb;
use planwright_run::clock;
use planwright_run::revise::{Pick, transition};

use super::change::{ChangeOptions, failure, report, step_words};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::TargetOption;
use super::text_arg::text_of;

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

    /// Start what is not ready; reopen what is done.
    #[arg(long)]
    force: bool,

    /// Skip or reset this task alone, where the dialect would do so to what depends on it as well.
    #[arg(long)]
    no_cascade: bool,

    #[command(flatten)]
    change: ChangeOptions,
}

pub(crate) fn run(verb: Verb, args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
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
    };
    let target = found.target(&args.change);
    let revised = transition(target, Pick::Named(&args.tasks), &request).map_err(|error| failure(&found, &error))?;
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
