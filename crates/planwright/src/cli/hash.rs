//! `planwright hash PLAN`: the canonical hash of a Markdown source plan.

use planwright_verbs::hash::{HashRequest, hash};

use super::{Exit, Output, Result};

/// Print the hash that ties a task pack to its source plan.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright hash docs/plans/2026-10-06-001-feat-rate-limit-plan.md")]
pub(crate) struct Args {
    /// The source plan, a Markdown file; - for standard input.
    #[arg(value_name = "PLAN")]
    plan: String,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = HashRequest {
        plan: args.plan.clone(),
    };
    let report = hash(&output.workspace(), &request)?;
    output.show(&report, |report, output| output.line(&report.hash))?;
    Ok(Exit::Success)
}
