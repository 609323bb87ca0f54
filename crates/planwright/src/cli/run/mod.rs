//! `planwright run`: gives the tasks of a plan to agents, verifies their work, and updates the plan file.

mod args;

use planwright_verbs::run_plan::{preview, run_plan};

use super::dry_run;
use super::run_view::RunView;
use super::{Exit, Output, Result};
pub(crate) use args::Args;

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = args.request()?;
    let workspace = output.workspace();
    if args.dry_run {
        let report = preview(&workspace, &request)?;
        return dry_run::show(&report, args.json, args.prompts.as_deref(), output);
    }
    let manner = args.manner(output.is_quiet());
    let mut view = RunView::new(manner, args.may_ask(), args.by.as_deref(), output);
    run_plan(&workspace, &request, &mut view).map(|report| report.exit)
}
