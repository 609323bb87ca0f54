//! `planwright land`: merges the work of a plan into the checked-out branch, after another verification.

use clap::Args as ClapArgs;
use planwright_verbs::land::{LandMode, LandPlanRequest, land};

use super::verification_view::VerificationView;
use super::{Exit, Output, Result};
use crate::render::wrap::below;

/// Merge the branch of a plan into the branch that is checked out.
///
/// The result is built and verified in a separate checkout first. Then the branch moves forward, and your files with it. Refuses to
/// change anything if there is uncommitted work other than plan files and `planwright.toml`, or if an ignored or untracked file would
/// be overwritten.
#[derive(ClapArgs)]
#[command(after_help = "\
Examples:
  planwright land
  planwright land --dry-run
  planwright land --squash
  planwright land .clido/plans/export.json --rebase
  planwright land 20261116-053012")]
pub(crate) struct Args {
    /// A run: its id, the beginning of its id, or `last`; or a plan, for its newest run with a branch. Default: the newest of the workspace.
    #[arg(value_name = "RUN|PLAN", conflicts_with = "plan")]
    what: Option<String>,

    /// The plan, for its newest run with a branch.
    #[arg(short, long, value_name = "PLAN")]
    plan: Option<String>,

    #[command(flatten)]
    mode: Mode,

    /// Print what would land. Nothing is changed or verified.
    #[arg(long)]
    dry_run: bool,
}

#[derive(ClapArgs)]
#[group(multiple = false)]
struct Mode {
    /// Make a merge commit, even if a fast-forward is possible.
    #[arg(long)]
    merge: bool,

    /// Make one commit with all changes.
    #[arg(long)]
    squash: bool,

    /// Rebase the commits onto the branch that is checked out.
    #[arg(long)]
    rebase: bool,
}

impl Mode {
    fn mode(&self) -> LandMode {
        match self {
            Mode { merge: true, .. } => LandMode::Merge,
            Mode { squash: true, .. } => LandMode::Squash,
            Mode { rebase: true, .. } => LandMode::Rebase,
            _ => LandMode::Auto,
        }
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = LandPlanRequest {
        what: args.what.clone(),
        plan: args.plan.clone(),
        mode: args.mode.mode(),
        dry_run: args.dry_run,
        with_output: output.is_json(),
    };
    let workspace = output.workspace();
    let report = land(&workspace, &request, &mut VerificationView::of_results(output))?;
    if output.printed_json(&report)? {
        return Ok(Exit::Success);
    }
    output.line(&below(&report.words, "  ", output.width()));
    if let Some(command) = &report.diff_command {
        output.line(command);
    }
    for line in &report.not_landed {
        output.remark(line);
    }
    Ok(Exit::Success)
}
