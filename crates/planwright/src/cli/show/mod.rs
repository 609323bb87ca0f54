//! `planwright show`: an overview of a plan, or one task in full.

pub(super) mod plan;
mod task;

use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_verbs::show::{ShowReport, ShowRequest, StateFilter, show};

use super::plan_arg::PlanOption;
use super::{Exit, Output, Result};

/// Show a plan: its progress, its tasks, and what is ready and why.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright show
  planwright show plan-5f0c2a9e
  planwright show --state failed,running    only these tasks
  planwright show --all                     every task, also the done ones
  planwright show t2                        one task whole, with its history
  planwright show t2 -p plan-5f0c2a9e
  planwright show - < answer.json           standard input
  planwright show --json | jq .plan.progress")]
pub(crate) struct Args {
    /// The plan: a path, an id or part of one, - for standard input; or a task of the plan. If both fit, the plan is meant.
    #[arg(value_name = "PLAN|TASK", value_parser = NonEmpty::new())]
    what: Option<String>,

    #[command(flatten)]
    plan: PlanOption,

    /// Show every task, including done ones, in the order of the file.
    #[arg(long)]
    all: bool,

    /// Show only tasks in these states, as `failed,running`.
    #[arg(long, value_name = "STATES", value_delimiter = ',', value_enum)]
    state: Vec<StateOption>,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    /// With --json: print at most this many tasks.
    #[arg(long, value_name = "N", requires = "json", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,

    /// With --json: continue an earlier report, by its `next_cursor`.
    #[arg(long, value_name = "CURSOR", requires = "json")]
    cursor: Option<String>,

    /// With --json: print only these members of tasks, as `task,status,depends_on`.
    #[arg(long, value_name = "NAMES", requires = "json", value_delimiter = ',')]
    fields: Vec<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = ShowRequest {
        what: args.what.clone(),
        plan: args.plan.choice(),
        states: args.state.iter().map(|state| state.filter()).collect(),
        all: args.all,
        limit: args.limit,
        cursor: args.cursor.clone(),
        fields: args.fields.clone(),
    };
    let report = show(&output.workspace(), &request)?;
    match &report {
        _ if args.json => output.json(&report)?,
        ShowReport::Task(report) => task::draw(report, output),
        ShowReport::Plan(report) => {
            let page = plan::ShownPage {
                report,
                is_whole: args.all,
                is_filtered: !args.state.is_empty(),
                width: output.width(),
                height: output.height(),
                paint: output.paint(),
            };
            output.write(&plan::draw(&page));
        }
    }
    Ok(Exit::Success)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StateOption {
    /// Pending, and every dependency is done.
    Ready,
    /// Pending, and it waits for another task.
    Waiting,
    /// Ready or waiting.
    Pending,
    Running,
    Done,
    Failed,
    Skipped,
    Blocked,
}

impl StateOption {
    fn filter(self) -> StateFilter {
        match self {
            StateOption::Ready => StateFilter::Ready,
            StateOption::Waiting => StateFilter::Waiting,
            StateOption::Pending => StateFilter::Pending,
            StateOption::Running => StateFilter::Running,
            StateOption::Done => StateFilter::Done,
            StateOption::Failed => StateFilter::Failed,
            StateOption::Skipped => StateFilter::Skipped,
            StateOption::Blocked => StateFilter::Blocked,
        }
    }
}
