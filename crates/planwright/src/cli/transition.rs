//! `planwright start`, `done`, `fail`, `skip`, `retry`, `block`, `reset`: verbs on tasks, by the table of transitions.

use planwright_core::plan::Verb;
use planwright_verbs::done;
use planwright_verbs::done::DoneRequest;
use planwright_verbs::transition::{TransitionRequest, transition};

use super::change::{ChangeOptions, present};
use super::claim_args::{HolderOptions, LeaseOption, TakeOverOption};
use super::plan_arg::PlanOption;
use super::text_arg::text_of;
use super::verification_view::{VerificationStream, VerificationView};
use super::{Exit, Output, Result};

/// What all of these verbs take.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The tasks, as their plan names them: an id, OpenCrabs' 1-based number, rawko's 0-based index.
    #[arg(value_name = "TASK", required = true)]
    tasks: Vec<String>,

    #[command(flatten)]
    plan: PlanOption,

    /// The reason, for the plan's history and, where the dialect has a field for it, the plan. @FILE reads it from a file, - from
    /// standard input.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    /// The result of the work. @FILE and - are read as for --note.
    #[arg(long, value_name = "TEXT")]
    output: Option<String>,

    /// A file that the work changed; may be given several times.
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,

    /// Start what is not ready, finish what another owner holds (both need --note); reset what is done.
    #[arg(long)]
    force: bool,

    /// Skip or reset this task alone, where the dialect would do so to what depends on it as well.
    #[arg(long)]
    no_cascade: bool,

    #[command(flatten)]
    change: ChangeOptions,
}

/// Options of `start`.
#[derive(clap::Args)]
pub(crate) struct StartArgs {
    #[command(flatten)]
    common: Args,

    #[command(flatten)]
    lease: LeaseOption,

    #[command(flatten)]
    take_over: TakeOverOption,
}

/// Options of `retry`.
#[derive(clap::Args)]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    common: Args,

    /// Start the tasks in the same step.
    #[arg(long)]
    start: bool,

    #[command(flatten)]
    lease: LeaseOption,
}

/// Options of `fail`, `skip`, `block` and `reset`.
#[derive(clap::Args)]
pub(crate) struct FinishArgs {
    #[command(flatten)]
    common: Args,

    #[command(flatten)]
    holder: HolderOptions,
}

/// Mark tasks as done after verifying them.
///
/// If `[verify]` in the configuration has rules for a task, their commands run first; if one fails, the task does not change.
/// The history of the plan keeps the result.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright done t2
  planwright done t2 --note \"counted in a map\" --file src/limit.rs
  planwright done US-002 --unverified --note \"checked by hand\"")]
pub(crate) struct DoneArgs {
    #[command(flatten)]
    common: Args,

    #[command(flatten)]
    holder: HolderOptions,

    /// Verify nothing; needs --note. The history records it. If verify.required is set, this also needs
    /// verify.allow_unverified in your own configuration file.
    #[arg(long, conflicts_with_all = ["require_verification", "allow_plan_commands"])]
    unverified: bool,

    /// Refuse tasks that no rule of the configuration verifies.
    #[arg(long)]
    require_verification: bool,

    /// Also run criteria that are a command between backticks. They come from the plan: read them first.
    #[arg(long)]
    allow_plan_commands: bool,
}

impl Args {
    fn request(&self) -> Result<TransitionRequest> {
        let mut stdin_is_taken = false;
        let mut text = |option: &str, typed: &Option<String>| {
            let typed = typed.as_deref();
            typed
                .map(|typed| text_of(option, typed, &mut stdin_is_taken))
                .transpose()
        };
        Ok(TransitionRequest {
            plan: self.plan.choice(),
            tasks: self.tasks.clone(),
            note: text("note", &self.note)?,
            output: text("output", &self.output)?,
            files: self.files.clone(),
            force: self.force,
            no_cascade: self.no_cascade,
            change: self.change.mode(),
            ..TransitionRequest::default()
        })
    }

    fn request_of_holder(&self, holder: &HolderOptions) -> Result<TransitionRequest> {
        Ok(TransitionRequest {
            claim: holder.claim,
            take_over: holder.take_over.take_over,
            ..self.request()?
        })
    }

    fn run(&self, verb: Verb, request: &TransitionRequest, output: &mut Output) -> Result<Exit> {
        let report = transition(&output.workspace(), verb, request)?;
        present(&report, &self.change, output)
    }
}

pub(crate) fn start(args: &StartArgs, output: &mut Output) -> Result<Exit> {
    let request = TransitionRequest {
        take_over: args.take_over.take_over,
        lease: args.lease.lease.clone(),
        ..args.common.request()?
    };
    args.common.run(Verb::Start, &request, output)
}

pub(crate) fn retry(args: &RetryArgs, output: &mut Output) -> Result<Exit> {
    let request = TransitionRequest {
        lease: args.lease.lease.clone(),
        start: args.start,
        ..args.common.request()?
    };
    args.common.run(Verb::Retry, &request, output)
}

pub(crate) fn finish(verb: Verb, args: &FinishArgs, output: &mut Output) -> Result<Exit> {
    let request = args.common.request_of_holder(&args.holder)?;
    args.common.run(verb, &request, output)
}

pub(crate) fn done(args: &DoneArgs, output: &mut Output) -> Result<Exit> {
    let request = DoneRequest {
        transition: args.common.request_of_holder(&args.holder)?,
        unverified: args.unverified,
        require_verification: args.require_verification,
        allow_plan_commands: args.allow_plan_commands,
    };
    let workspace = output.workspace();
    let mut view = VerificationView {
        stream: VerificationStream::Remarks,
        output,
    };
    let report = done::done(&workspace, &request, &mut view)?;
    present(&report, &args.common.change, output)
}
