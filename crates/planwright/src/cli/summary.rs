//! `planwright summary`: the result of a run.

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_verbs::summary::{SummaryRequest, summary};

use super::{Exit, Output, Result};
use crate::render;

/// Show the result of a run: done, failed, and what to do next.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright summary                 the newest run
  planwright summary 20261116-0531
  planwright summary --json")]
pub(crate) struct Args {
    /// The run: its id, the beginning of its id, or `last`. Default: the newest.
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// Only runs of this plan: a path, an id or part of one.
    #[arg(long, short, value_name = "PLAN", value_parser = NonEmpty::new())]
    plan: Option<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = SummaryRequest {
        run: args.run.clone(),
        plan: args.plan.clone(),
    };
    let report = summary(&output.workspace(), &request)?;
    output.show(&report, |report, output| {
        let text = render::run::summary(report, output.paint(), output.width());
        output.write(text.trim_start_matches('\n'));
    })?;
    Ok(Exit::Success)
}
