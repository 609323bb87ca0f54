//! `planwright tasks cards PACK`: prints the cards of a contract, and compares them with those of the pack.

use planwright_verbs::tasks::cards::{CardsReport, CardsRequest, cards};
use planwright_verbs::text::printable;

use super::super::plan_arg::PlanArgument;
use super::super::{Exit, Output, Result};
use crate::render::findings::{FindingsSource, findings};

/// Print, check or rewrite the task cards of a pack.
///
/// Tools read the contract, so it wins over the cards. A card has drifted if it contradicts the contract, is missing, or belongs to no
/// task. A card may leave fields out.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright tasks cards                     as the contract makes them
  planwright tasks cards --check             where those in the pack differ
  planwright tasks cards --write             rewrite those in the pack")]
pub(super) struct Args {
    #[command(flatten)]
    pack: PlanArgument,

    /// Report differences between cards and contract; exit 1 if there are any.
    #[arg(long, conflicts_with = "write")]
    check: bool,

    /// Rewrite only drifted cards.
    #[arg(long)]
    write: bool,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = CardsRequest {
        plan: args.pack.choice()?,
        write: args.write,
    };
    let report = cards(&output.workspace(), &request)?;
    output.show(&report, |report, output| match () {
        () if args.check => draw_drift(report, output),
        () if args.write => {
            let path = report.findings.path.to_string_lossy();
            match report.change {
                Some(change) => output.line(&format!("wrote {} (change {change})", printable(&path))),
                None => output.remark("nothing to change: the cards match the contract"),
            }
        }
        () => output.write_exact(&report.cards),
    })?;
    Ok(Exit::success_if(!(args.check && report.drifted)))
}

fn draw_drift(report: &CardsReport, output: &mut Output) {
    let found = &report.findings;
    output.write(&findings(
        &found.path.to_string_lossy(),
        &found.source,
        &found.findings,
        FindingsSource::OwnReport,
        output.paint(),
        output.width(),
    ));
    match found.findings.len() {
        0 => output.remark("the cards match the contract"),
        1 => output.remark("the cards have drifted from the contract: 1 place"),
        n => output.remark(&format!("the cards have drifted from the contract: {n} places")),
    }
}
