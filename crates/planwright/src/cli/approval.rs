//! `planwright submit`, `approve`, `reject`, `cancel`: the state of a plan as a whole, and the review of a task's work.

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_verbs::approval::{ApprovalRequest, refuse_without_reason};
use planwright_verbs::face::{Exit, Result};
use planwright_verbs::plan_transition::PlanTransitionRequest;
use planwright_verbs::{approval, plan_transition};

use super::change::{ChangeOptions, present};
use super::output::Output;
use super::plan_arg::{TargetArgument, TargetOption};
use super::proposals;
use super::run_view::{RunManner, RunView};
use super::text_arg::text_of;

/// Ask for a plan to be approved.
///
/// For OpenCrabs plans: a draft, or one that was rejected and has been corrected, becomes `PendingApproval`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright submit plan.json --by ada")]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    plan: PlanArgs,
}

/// Give a plan up.
///
/// An OpenCrabs plan becomes `Cancelled`, a rawko plan `failed`, with the note among its constraints. What became of its tasks
/// stays.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright cancel plan.json --note \"the gateway does it now\"")]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    plan: PlanArgs,
}

/// Let a plan be worked on, or say that what a task made is good.
///
/// An OpenCrabs plan becomes `Approved`. A task that a run has left for review is done; a run that is under way gets the decision.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright approve plan.json --by ada     a plan
  planwright approve T002                   what a task made
  planwright approve --proposed             what agents and planners propose")]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    judged: JudgedArgs,
}

/// Turn down a plan, or what a task made; needs --note.
///
/// An OpenCrabs plan that has not begun becomes `Rejected`; `submit` asks again once it is corrected. A task that a run has left
/// for review has failed; a run that is under way gets the decision.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright reject plan.json --note \"the load test is missing\"
  planwright reject T002 --note \"no test for the header\"")]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    judged: JudgedArgs,
}

/// What verbs take that are about a plan.
#[derive(clap::Args)]
struct PlanArgs {
    #[command(flatten)]
    plan: TargetArgument,

    #[command(flatten)]
    said: Said,
}

/// What verbs take that are about a plan or a task of it.
#[derive(clap::Args)]
struct JudgedArgs {
    /// The plan, or a task of the only plan or of the one that --plan names.
    #[arg(value_name = "PLAN|TASK", value_parser = NonEmpty::new())]
    what: Option<String>,

    /// What is proposed for the plan: new tasks, or a new version. `planwright proposals` lists it.
    #[arg(long)]
    proposed: bool,

    #[command(flatten)]
    plan: TargetOption,

    #[command(flatten)]
    said: Said,
}

#[derive(clap::Args)]
struct Said {
    /// Why, in your words: kept where the dialect has a place for it, and in the plan's history. @FILE for what a file holds,
    /// - for standard input.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    #[command(flatten)]
    change: ChangeOptions,
}

impl Said {
    fn note(&self) -> Result<Option<String>> {
        let note = self.note.as_deref();
        note.map(|note| text_of("note", note, &mut false)).transpose()
    }
}

impl PlanArgs {
    fn request(&self) -> Result<PlanTransitionRequest> {
        Ok(PlanTransitionRequest {
            note: self.said.note()?,
            plan: self.plan.choice()?,
            change: self.said.change.mode(),
        })
    }
}

impl JudgedArgs {
    fn request(&self) -> Result<ApprovalRequest> {
        Ok(ApprovalRequest {
            what: self.what.clone(),
            plan: self.plan.choice(),
            note: self.said.note()?,
            change: self.said.change.mode(),
        })
    }
}

pub(crate) fn submit(args: &SubmitArgs, output: &mut Output) -> Result<Exit> {
    let report = plan_transition::submit(&output.workspace(), &args.plan.request()?)?;
    present(&report, &args.plan.said.change, output)
}

pub(crate) fn cancel(args: &CancelArgs, output: &mut Output) -> Result<Exit> {
    let report = plan_transition::cancel(&output.workspace(), &args.plan.request()?)?;
    present(&report, &args.plan.said.change, output)
}

pub(crate) fn approve(args: &ApproveArgs, output: &mut Output) -> Result<Exit> {
    let args = &args.judged;
    let (workspace, request) = (output.workspace(), args.request()?);
    if args.proposed {
        let found = request.find_plan(&workspace)?;
        return proposals::approve(&found, &request.change, output);
    }
    let manner = match args.said.change.json || output.is_quiet() {
        true => RunManner::Quiet,
        false => RunManner::Shown { plain: false },
    };
    let mut view = RunView::new(manner, false, None, output);
    let report = approval::approve(&workspace, &request, &mut view)?;
    present(&report, &args.said.change, output)
}

pub(crate) fn reject(args: &RejectArgs, output: &mut Output) -> Result<Exit> {
    let args = &args.judged;
    let (workspace, request) = (output.workspace(), args.request()?);
    if args.proposed {
        let note = request.note.as_deref();
        refuse_without_reason(note)?;
        let found = request.find_plan(&workspace)?;
        return proposals::reject(&found, note, &request.change, output);
    }
    let report = approval::reject(&workspace, &request)?;
    present(&report, &args.said.change, output)
}
