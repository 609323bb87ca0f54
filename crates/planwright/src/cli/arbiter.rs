//! `planwright arbiter`: what an arbiter is told of a plan, and whom it chooses to act next.

use planwright_verbs::arbiter::{ArbiterRequest, arbiter};
use planwright_verbs::failure::{Exit, Result};
use planwright_verbs::find_plan::PlanChoice;
use planwright_verbs::observer::VerbEnd;
use planwright_verbs::plain_text::one_line;

use super::output::Output;
use super::plan_arg::PlanArgument;
use super::planner::PlanningView;

/// Print the prompt of an arbiter, or ask it which agent acts next.
///
/// With --agent that agent is asked. The text has the shape of rawko's SPEC-0010, for plans of every dialect: the task, the
/// plan's status, the current step, the remaining steps; then what earlier runs did and the last error, where there are any. An
/// answer that cannot be used falls back to the agent that the step itself asks for, then to run.agent of the configuration.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright arbiter                          the context, as text
  planwright arbiter plan-5f0c2a9e --json     the same as data
  planwright arbiter --agent claude           ask: the agent, then the reason
  planwright arbiter --task \"Fix the typo in README.md\" --agent claude")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgument,

    /// What is to be done, where there is no plan.
    #[arg(long, value_name = "TEXT", conflicts_with = "plan")]
    task: Option<String>,

    /// Ask this agent which agent should act next.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = ArbiterRequest {
        plan: match args.task {
            Some(_) => PlanChoice::default(),
            None => args.plan.choice()?,
        },
        task: args.task.clone(),
        agent: args.agent.clone(),
    };
    let workspace = output.workspace();
    let mut view = PlanningView {
        is_silent: args.json,
        output,
    };
    let report = match arbiter(&workspace, &request, &mut view)? {
        VerbEnd::Reported(report) => report,
        VerbEnd::Cancelled(exit) => return Ok(exit),
        VerbEnd::Declined => return Ok(Exit::Problems),
    };
    if args.json {
        output.json(&report)?;
    } else if let Some(answer) = &report.answer {
        output.line(&one_line(&answer.agent));
        if let Some(reason) = &answer.reason {
            output.line(&one_line(reason));
        }
    } else {
        output.write_exact(&report.text);
    }
    Ok(Exit::Success)
}
