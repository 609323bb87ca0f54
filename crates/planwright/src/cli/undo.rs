//! `planwright undo`: undoes the last change.

use planwright_verbs::undo::{UndoRequest, undo};

use super::change::{ChangeOptions, present};
use super::claim_args::TakeOverOption;
use super::plan_arg::PlanArgument;
use super::{Exit, Output, Result};

/// Revert the last change that planwright made.
///
/// Repeat it to revert earlier changes. Refuses if the same part of the plan was edited since, and changes nothing then.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright undo
  planwright undo --diff                     look at it first")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgument,

    /// The reason, for the history.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    #[command(flatten)]
    take_over: TakeOverOption,

    #[command(flatten)]
    change: ChangeOptions,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = UndoRequest {
        plan: args.plan.choice()?,
        note: args.note.clone(),
        take_over: args.take_over.take_over,
        change: args.change.mode(),
    };
    present(&undo(&output.workspace(), &request)?, &args.change, output)
}
