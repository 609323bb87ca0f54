//! `planwright delete`: moves plans to the trash.

use clap::builder::NonEmptyStringValueParser as NonEmpty;

use super::super::answers;
use super::super::exit::{Exit, Failure};
use super::super::output::Output;
use super::removal::{Chosen, Removal, RemovalOptions, choose, move_plans};
use crate::render::terminal::{cut, one_line};

/// Delete plans: move them to `.planwright/trash` with their history.
///
/// The output says where each of them is then. Asks first at a terminal; elsewhere it needs --yes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright delete plan-a1b2c3d4
  planwright delete old.json other.json --yes
  planwright delete plan-a1b2c3d4 --dry-run")]
pub(crate) struct Args {
    /// The plans: paths, ids or unambiguous parts of ids.
    #[arg(value_name = "PLAN", required = true, value_parser = NonEmpty::new())]
    plans: Vec<String>,

    /// Do not ask.
    #[arg(long, short)]
    yes: bool,

    #[command(flatten)]
    options: RemovalOptions,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let is_sure = args.yes || args.options.is_dry();
    if !is_sure && !answers::may_ask() {
        return Err(Failure::usage(
            "there is no terminal to confirm the deletion on",
            "say --yes to delete without asking, or --dry-run to see what would be deleted",
        ));
    }
    let chosen = choose(Removal::Delete, &args.plans, args.options.user)?;
    if !is_sure && !agreed(&chosen, output) {
        output.remark("nothing was deleted");
        return Ok(Exit::Problems);
    }
    move_plans(Removal::Delete, &chosen, &args.options, output)
}

fn agreed(chosen: &[Chosen], output: &mut Output) -> bool {
    for plan in chosen {
        let title = cut(&plan.entry.shown_title(), 60);
        output.note(&format!("{}  {title}\n", one_line(&plan.entry.shown())));
    }
    let what = match chosen.len() {
        1 => "this plan".to_owned(),
        n => format!("these {n} plans"),
    };
    output.note(&format!("Delete {what}? [y/N] "));
    answers::is_yes()
}
