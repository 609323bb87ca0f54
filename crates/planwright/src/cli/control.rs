//! `planwright pause`, `resume` and `stop`: sends a request to a run in another process.

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_verbs::control::{ControlRunRequest, RunControl, control};
use planwright_verbs::text::one_line;

use super::text_arg::text_of;
use super::{Exit, Output, Result};

/// Options of all three verbs.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The plan of the run: a path, an id or part of one. Default: the only active run.
    #[arg(value_name = "PLAN", value_parser = NonEmpty::new())]
    plan: Option<String>,

    /// Your name, for the log of the run.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    /// The reason, for the log of the run; @FILE reads it from a file, - from standard input.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    /// Do not wait for the run's answer.
    #[arg(long)]
    no_wait: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Stop a run after its running tasks; no new task starts.
///
/// With --now running attempts are ended too, by SIGTERM first, and count as interrupted. The next `planwright run` retries
/// interrupted tasks.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright stop                         let what runs finish, then end
  planwright stop --now --note \"wrong branch\"
  planwright stop tasks.json")]
pub(crate) struct StopArgs {
    #[command(flatten)]
    control: Args,

    /// End running attempts too.
    #[arg(long)]
    now: bool,
}

pub(crate) fn run_stop(args: &StopArgs, output: &mut Output) -> Result<Exit> {
    let control = if args.now { RunControl::Kill } else { RunControl::Stop };
    run(control, &args.control, output)
}

pub(crate) fn run(what: RunControl, args: &Args, output: &mut Output) -> Result<Exit> {
    let note = args.note.as_deref();
    let request = ControlRunRequest {
        control: what,
        plan: args.plan.clone(),
        by: args.by.clone(),
        note: note.map(|note| text_of("note", note, &mut false)).transpose()?,
        no_wait: args.no_wait,
    };
    let report = control(&output.workspace(), &request)?;
    match args.json {
        true => output.json(&report)?,
        false => output.line(&format!(
            "run {} of {} {}",
            report.run,
            one_line(&report.plan),
            report.words
        )),
    }
    Ok(Exit::Success)
}
