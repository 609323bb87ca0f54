//! `planwright hash PLAN`: the canonical hash of a Markdown source plan.

use planwright_verbs::failure::{Exit, Result};
use planwright_verbs::hash::{HashRequest, hash};

use super::output::Output;

/// Print the hash that ties a task pack to its source plan.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright hash docs/plans/2026-10-06-001-feat-rate-limit-plan.md")]
pub(crate) struct Args {
    /// The source plan, a Markdown file; - for standard input.
    #[arg(value_name = "PLAN")]
    plan: String,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = HashRequest {
        plan: args.plan.clone(),
    };
    let report = hash(&output.workspace(), &request)?;
    match args.json {
        true => output.json(&report)?,
        false => output.line(&report.hash),
    }
    Ok(Exit::Success)
}
