//! `planwright undo`: undoes the last change.

use planwright_verbs::undo::{UndoRequest, undo};

use super::change::{ChangeOptions, present};
use super::claim_args::TakeOverOption;
use super::plan_arg::PlanArgument;
use super::{Exit, Output, Result};

/// Take back the last change that was made through planwright.
///
/// Once more takes back the one before. A plan that was edited by something else since then stays as it is.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright undo
  planwright undo --diff                     look at it first")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgument,

    /// Why, for the history.
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
