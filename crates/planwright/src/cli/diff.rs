//! `planwright diff`: compares two plans, or a plan with an earlier text, in terms of tasks.

use clap::builder::NonEmptyStringValueParser as NonEmpty;

use super::{Exit, Output, Result};
use planwright_verbs::diff::{DiffRequest, diff};
use planwright_verbs::plans::difference_lines;
use planwright_verbs::text::{one_line, shown_name};

/// Show how two plans differ, in terms of tasks.
///
/// Lists added, removed, changed and moved tasks, and changed dependencies. PLAN@N is the Nth kept text of a plan: @1 is the oldest.
/// One plan alone is compared with its previous version: the last text that `replan` replaced, or the plan that its previousPlanId
/// names. PLAN@N alone is compared with the current plan.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright diff                         the only plan, and its last version
  planwright diff plan-20260123-auth plan-20260123-auth-v2
  planwright diff plan.json@1 plan.json --text
  git show HEAD~5:plan.json | planwright diff - plan.json")]
pub(crate) struct Args {
    /// The plan, or the older of two: a path, an id or part of one; PLAN@N for its Nth kept text; - for standard input.
    #[arg(value_name = "A", value_parser = NonEmpty::new())]
    first: Option<String>,

    /// The newer of two.
    #[arg(value_name = "B", value_parser = NonEmpty::new())]
    second: Option<String>,

    /// Also show the difference as text.
    #[arg(long)]
    text: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = DiffRequest {
        first: args.first.clone(),
        second: args.second.clone(),
        text: args.text,
    };
    let report = diff(&output.workspace(), &request)?;
    if output.printed_json(&report)? {
        return Ok(Exit::Success);
    }
    output.remark(&format!("{} → {}", one_line(&report.from), one_line(&report.to)));
    if report.same {
        output.remark("no task is different");
    }
    if !report.difference.is_empty() {
        let lines = difference_lines(&report.difference);
        lines.iter().for_each(|line| output.line(line));
    }
    for moved in &report.moved {
        output.line(&format!("~ {}: {} → {}", shown_name(&moved.task), moved.from, moved.to));
    }
    if let Some(text) = &report.text {
        output.write_exact(text);
    }
    Ok(Exit::Success)
}
