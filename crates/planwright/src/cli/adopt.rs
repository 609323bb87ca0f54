//! `planwright adopt`: has the workspace find a checklist as a plan.

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_verbs::adopt::{AdoptRequest, adopt};

use super::change::{ChangeOptions, present};
use super::{Exit, Output, Result};

/// Adopt a Markdown checklist as a plan of this workspace.
///
/// Adds a marker line to the file, so that planwright finds it without being told, in every clone. Files of spec-kit, OpenSpec and
/// Kiro are found without it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright adopt TODO.md
  planwright adopt TODO.md --order phases   headings one after another
  planwright adopt TODO.md --diff           look at it first")]
pub(crate) struct Args {
    /// The checklist.
    #[arg(value_name = "FILE", value_parser = NonEmpty::new())]
    file: String,

    /// The order of tasks without dependencies: each after all lines above it, headings one after another, or any.
    #[arg(long, value_name = "ORDER", value_parser = ["strict", "phases", "none"])]
    order: Option<String>,

    #[command(flatten)]
    change: ChangeOptions,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = AdoptRequest {
        file: args.file.clone(),
        order: args.order.clone(),
        change: args.change.mode(),
    };
    present(&adopt(&output.workspace(), &request)?, &args.change, output)
}
