//! `planwright archive`: moves finished plans to an archive.

pub(crate) mod delete;
mod removal;

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_verbs::archive::{RemovedPlan, archive};
use planwright_verbs::face::{Exit, Result};
use planwright_verbs::text::one_line;

use self::removal::{RemovalOptions, print, titled};
use super::output::Output;

/// Archive plans: move them out of the way with their history.
///
/// A rawko plan goes to `.rawko/plans/archive`, where its own tool puts it; others to `.planwright/archive`, under the path that
/// they had. Nothing is overwritten. `list --archived` shows them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright archive plan-20260501-cellar
  planwright archive .aimi/tasks/2026-03-03-charts-tasks.json --dry-run")]
pub(crate) struct Args {
    /// The plans: paths, ids or unambiguous parts of ids.
    #[arg(value_name = "PLAN", required = true, value_parser = NonEmpty::new())]
    plans: Vec<String>,

    #[command(flatten)]
    options: RemovalOptions,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = args.options.request(&args.plans);
    let report = archive(&output.workspace(), &request)?;
    let verb = if request.is_dry() { "would archive" } else { "archived" };
    let words = |plan: &RemovedPlan| format!("{verb} {} as {}", titled(plan), one_line(&plan.to));
    print(report, words, output)
}
