//! `planwright delete`: moves plans to the trash.

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_verbs::archive::{PlanToRemove, RemovedPlan, delete};
use planwright_verbs::face::{Exit, Failure, Result};
use planwright_verbs::plans::shown_title;
use planwright_verbs::text::{cut, one_line};

use super::super::answers;
use super::super::output::Output;
use super::removal::{RemovalOptions, print, titled};

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

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = args.options.request(&args.plans);
    let is_sure = args.yes || request.is_dry();
    if !is_sure && !answers::may_ask() {
        return Err(Failure::usage(
            "there is no terminal to confirm the deletion on",
            "say --yes to delete without asking, or --dry-run to see what would be deleted",
        ));
    }
    let report = delete(&output.workspace(), &request, |plans| is_sure || agreed(plans, output))?;
    let Some(report) = report else {
        output.remark("nothing was deleted");
        return Ok(Exit::Problems);
    };
    let words = |plan: &RemovedPlan| {
        let (plan, to) = (titled(plan), one_line(&plan.to));
        match request.is_dry() {
            false => format!("deleted {plan}; kept as {to}"),
            true => format!("would delete {plan}, and keep it as {to}"),
        }
    };
    print(report, words, output)
}

fn agreed(chosen: &[PlanToRemove], output: &mut Output) -> bool {
    for plan in chosen {
        let title = cut(&shown_title(&plan.entry.title), 60);
        output.note(&format!("{}  {title}\n", one_line(&plan.entry.shown())));
    }
    let what = match chosen.len() {
        1 => "this plan".to_owned(),
        n => format!("these {n} plans"),
    };
    output.note(&format!("Delete {what}? [y/N] "));
    answers::is_yes()
}
