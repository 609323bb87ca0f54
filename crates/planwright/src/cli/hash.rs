//! `planwright hash PLAN`: the canonical hash of a Markdown source plan.

use std::path::PathBuf;

use planwright_core::dialect::task_pack::hash::{CANONICALIZATION, plan_hash};
use planwright_core::document::markdown::Markdown;
use planwright_run::store;
use planwright_verbs::failure::{Exit, Failure, Result};
use planwright_verbs::open_plan::load_failure;

use super::output::Output;

/// Print the hash that ties a task pack to its source plan.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright hash docs/plans/2026-10-06-001-feat-rate-limit-plan.md")]
pub(crate) struct Args {
    /// The source plan, a Markdown file; - for standard input.
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let loaded = if args.plan.as_os_str() == "-" {
        store::load_stdin()
    } else {
        store::load(&args.plan)
    };
    let loaded = loaded.map_err(|error| load_failure(&error))?;
    let Some(hash) = plan_hash(&Markdown::parse(&loaded.source)) else {
        return Err(Failure::problem(
            format!("the frontmatter of `{}` is not closed", args.plan.display()),
            "close it with a line `---`",
        ));
    };
    if args.json {
        let report = serde_json::json!({
            "schema_version": "planwright.hash/v1",
            "path": args.plan.to_string_lossy(),
            "hash": hash.hash,
            "canonicalization_version": CANONICALIZATION,
        });
        output.json(&report)?;
    } else {
        output.line(&hash.hash);
    }
    Ok(Exit::Success)
}
