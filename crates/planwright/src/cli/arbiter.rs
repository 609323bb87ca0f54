//! `planwright arbiter`: the question to an arbiter about a plan, and the agent that it chooses to act next.

use planwright_verbs::arbiter::{ArbiterRequest, arbiter};
use planwright_verbs::text::one_line;

use super::interrupt;
use super::plan_arg::PlanArgument;
use super::{Exit, Output, Result};

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

    /// The task in words, if there is no plan.
    #[arg(long, value_name = "TEXT", conflicts_with = "plan")]
    task: Option<String>,

    /// Ask this agent which agent should act next.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = ArbiterRequest {
        plan: args.plan.choice()?,
        task: args.task.clone(),
        agent: args.agent.clone(),
    };
    let report = arbiter(&output.workspace(), &request, &mut interrupt::cancel_token)?;
    output.show(&report, |report, output| match &report.answer {
        Some(answer) => {
            output.line(&one_line(&answer.agent));
            answer.reason.iter().for_each(|reason| output.line(&one_line(reason)));
        }
        None => output.write_exact(&report.prompt),
    })?;
    Ok(Exit::Success)
}
