//! `planwright proposals`: lists proposals for a plan; also accepts and rejects them for `approve` and `reject`.

use planwright_verbs::changes::ChangeMode;
use planwright_verbs::plans::FoundPlan;
use planwright_verbs::proposals::{
    ApprovedReport, ProposalReport, ProposalsRequest, SettlingStep, approve_proposals, proposals, reject_proposals,
};
use planwright_verbs::text::{cut, one_line};

use super::plan_arg::PlanArgument;
use super::{Exit, Output, Result};
use crate::render::terminal::addressed;

/// List the proposals of agents and planners for a plan.
///
/// Agents propose tasks for work that the plan lacks; planners propose new versions.
/// `planwright approve --proposed` adds them to the plan, `planwright reject --proposed` deletes them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright proposals
  planwright proposals plan-a1b2c3d4 --json")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgument,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = ProposalsRequest {
        plan: args.plan.choice()?,
    };
    let report = proposals(&output.workspace(), &request)?;
    if output.printed_json(&report)? {
        return Ok(Exit::Success);
    }
    if report.proposals.is_empty() {
        output.remark("no proposals");
    }
    list(&report.proposals, output);
    Ok(Exit::Success)
}

/// Prints the proposals for a plan.
pub(super) fn list(proposals: &[ProposalReport], output: &mut Output) {
    for proposal in proposals {
        output.line(&proposal.headline);
        for task in &proposal.task_texts {
            output.line(&format!("  + {}", cut(&one_line(task), 120)));
        }
        if !proposal.reasoning.is_empty() {
            output.write(&addressed(
                &format!("  {}\n", proposal.reasoning.replace('\n', "\n  ")),
                output.audience(),
            ));
        }
    }
}

/// Accepts all proposals into the plan, the oldest first; a failed one stays.
pub(crate) fn approve(found: &FoundPlan, mode: &ChangeMode, output: &mut Output) -> Result<Exit> {
    let report = approve_proposals(&output.workspace(), found, mode)?;
    output.show(&report, |report, output| draw_approved(report, mode.is_dry(), output))?;
    Ok(report.exit())
}

/// Prints the results of proposals.
pub(super) fn draw_approved(report: &ApprovedReport, is_dry: bool, output: &mut Output) {
    for step in &report.steps {
        match step {
            SettlingStep::Before { how, headline } => output.line(&format!("{how}: {headline}")),
            SettlingStep::Taken {
                headline,
                lines,
                diff,
                file,
            } => {
                let would = if is_dry { "would be taken: " } else { "" };
                output.line(&format!("{would}{headline}"));
                for line in lines {
                    output.line(&format!("  {line}"));
                }
                if let Some(diff) = diff {
                    output.write_exact(diff);
                }
                if let Some(file) = file {
                    output.line(&format!("the new version is {}", one_line(&file.display().to_string())));
                }
            }
            SettlingStep::Refused { headline, failure } => {
                output.line(&format!("not taken: {headline}"));
                output.complain(failure);
            }
        }
    }
    if report.exit() != Exit::Success {
        output.remark("help: `planwright reject --proposed --note WHY` deletes the remaining proposals");
    }
}

/// Discards all proposals.
pub(crate) fn reject(found: &FoundPlan, note: Option<&str>, mode: &ChangeMode, output: &mut Output) -> Result<Exit> {
    let report = reject_proposals(found, note, mode)?;
    if output.printed_json(&report)? {
        return Ok(Exit::Success);
    }
    let word = if mode.is_dry() { "would be rejected" } else { "rejected" };
    for proposal in &report.proposals {
        output.line(&format!("{word}: {}", proposal.headline));
    }
    Ok(Exit::Success)
}
