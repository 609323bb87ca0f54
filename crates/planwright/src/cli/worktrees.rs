//! `planwright worktrees`: lists the checkouts that runs left, and removes those without unique work.

use planwright_verbs::text::{count, one_line, shown_name};
use planwright_verbs::worktrees::{WorktreesReport, WorktreesRequest, worktrees};

use super::{Exit, Output, Result};

/// List or remove the checkouts that runs left.
///
/// The checkout of a task is kept if the task failed or was interrupted. Its files, except ignored ones, are also kept as a commit below
/// refs/planwright/. A checkout with unique work is never removed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright worktrees
  planwright worktrees --clear")]
pub(crate) struct Args {
    /// Remove checkouts without unique work, regardless of run.keep, and empty those for verification.
    #[arg(long)]
    clear: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = WorktreesRequest { clear: args.clear };
    let report = worktrees(&output.workspace(), &request)?;
    output.show(&report, draw)?;
    Ok(report.exit())
}

fn draw(report: &WorktreesReport, output: &mut Output) {
    if report.checkouts.is_empty() {
        output.remark("no run has left a checkout");
        return;
    }
    for row in &report.checkouts {
        let why = row
            .why
            .as_deref()
            .map(one_line)
            .map_or_else(String::new, |why| format!(": {why}"));
        output.line(&format!("{}  {}{why}", one_line(&row.path), row.state));
        output.line(&format!("    {} of run {}", shown_name(&row.task), one_line(&row.run)));
    }
    if report.checkouts.iter().any(|row| row.state == "kept") {
        output.remark("help: if you do not need the work of a kept checkout, remove its folder");
    }
    let n_removable = report.checkouts.iter().filter(|row| row.state == "removable").count();
    if n_removable > 0 {
        let what = count(n_removable as u64, "checkout");
        output.remark(&format!("help: {what} can go: `planwright worktrees --clear`"));
    }
}
