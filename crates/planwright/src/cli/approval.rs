//! `planwright submit`, `approve`, `reject`, `cancel`: the state of a whole plan, and the review of a task's work.

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_verbs::Workspace;
use planwright_verbs::approval;
use planwright_verbs::approval::{ApprovalRequest, refuse_without_reason};
use planwright_verbs::changes::ChangeReport;
use planwright_verbs::plan_transition::PlanTransitionRequest;

use super::change::{ChangeOptions, present};
use super::plan_arg::{PlanArgument, PlanOption};
use super::proposals;
use super::run_view::{RunManner, RunView};
use super::text_arg::text_of;
use super::{Exit, Output, Result};

/// What verbs take that are about a plan.
#[derive(clap::Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    plan: PlanArgument,

    #[command(flatten)]
    said: Said,
}

/// What verbs take that are about a plan or a task of it.
#[derive(clap::Args)]
pub(crate) struct JudgedArgs {
    /// The plan, or a task of the only plan or of the one that --plan names.
    #[arg(value_name = "PLAN|TASK", value_parser = NonEmpty::new())]
    what: Option<String>,

    /// The proposals for the plan: new tasks, or a new version. `planwright proposals` lists them.
    #[arg(long)]
    proposed: bool,

    #[command(flatten)]
    plan: PlanOption,

    #[command(flatten)]
    said: Said,
}

#[derive(clap::Args)]
struct Said {
    /// The reason, for the plan's history and, where the dialect has a field for it, the plan. @FILE reads it from a file, - from
    /// standard input.
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

/// `submit` or `cancel`.
type ChangePlanVerb = fn(&Workspace, &PlanTransitionRequest) -> Result<ChangeReport>;

pub(crate) fn change_plan(verb: ChangePlanVerb, args: &PlanArgs, output: &mut Output) -> Result<Exit> {
    let report = verb(&output.workspace(), &args.request()?)?;
    present(&report, &args.said.change, output)
}

pub(crate) fn approve(args: &JudgedArgs, output: &mut Output) -> Result<Exit> {
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

pub(crate) fn reject(args: &JudgedArgs, output: &mut Output) -> Result<Exit> {
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
