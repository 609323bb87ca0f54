//! `planwright proposals`: lists proposals for a plan; also accepts and rejects them for `approve` and `reject`.

use planwright_verbs::failure::{Exit, Result};
use planwright_verbs::find_plan::FoundPlan;
use planwright_verbs::plain_text::{cut, one_line};
use planwright_verbs::proposals::{
    ApprovedReport, ProposalReport, ProposalsRequest, SettlingMode, SettlingStep, approve_proposals, proposals,
    reject_proposals,
};

use super::output::Output;
use super::plan_arg::TargetArgument;
use crate::render::terminal::addressed;

/// List what agents and planners propose for a plan.
///
/// Agents propose tasks where they find work that the plan lacks, planners new versions.
/// `planwright approve --proposed` takes it into the plan, `planwright reject --proposed` forgets it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright proposals
  planwright proposals plan-a1b2c3d4 --json")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: TargetArgument,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// How proposals are settled.
#[derive(Clone, Copy, Default)]
pub(crate) struct Settling {
    /// Whether nothing is written.
    pub(crate) dry: bool,
    /// Whether the texts are shown.
    pub(crate) diff: bool,
    /// Whether the result is printed as JSON.
    pub(crate) json: bool,
}

impl Settling {
    fn mode(self, by: Option<&str>) -> SettlingMode {
        SettlingMode {
            by: by.map(str::to_owned),
            dry_run: self.dry,
            diff: self.diff,
        }
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = ProposalsRequest {
        plan: args.plan.choice()?,
    };
    let report = proposals(&output.workspace(), &request)?;
    if args.json {
        output.json(&report)?;
        return Ok(Exit::Success);
    }
    if report.proposals.is_empty() {
        output.remark("nothing is proposed");
    }
    list(&report.proposals, output);
    Ok(Exit::Success)
}

/// Prints what is proposed for a plan.
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

/// Takes all that is proposed into the plan, the oldest first; what cannot be taken stays where it is. Returns the plan to go on with,
/// and whether all could be taken.
pub(crate) fn approve(
    found: &FoundPlan,
    by: Option<&str>,
    how: Settling,
    output: &mut Output,
) -> Result<(FoundPlan, bool)> {
    let report = approve_proposals(&output.workspace(), found, &how.mode(by))?;
    let is_all = report.exit() == Exit::Success;
    match how.json {
        true => output.json(&report)?,
        false => draw_approved(&report, how.dry, output),
    }
    Ok((report.plan, is_all))
}

/// Prints what became of proposals.
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
        output.remark("help: `planwright reject --proposed --note WHY` forgets what is left");
    }
}

/// Forgets all that is proposed.
pub(crate) fn reject(
    found: &FoundPlan,
    by: Option<&str>,
    note: Option<&str>,
    how: Settling,
    output: &mut Output,
) -> Result<()> {
    let report = reject_proposals(found, note, &how.mode(by))?;
    if how.json {
        return output.json(&report);
    }
    let word = if how.dry { "would be rejected" } else { "rejected" };
    for proposal in &report.proposals {
        output.line(&format!("{word}: {}", proposal.headline));
    }
    Ok(())
}
