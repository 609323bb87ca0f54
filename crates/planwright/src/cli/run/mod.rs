//! `planwright run`: gives the tasks of a plan to agents, verifies what they make, and keeps the plan file up to date.

mod args;
mod course;

use planwright_verbs::failure::{Exit, Result};
use planwright_verbs::run_plan::{find_plan, preview};

use super::dry_run;
use super::output::Output;
pub(crate) use args::{Args, EventForm};
use course::run_versions;

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = args.request()?;
    let workspace = output.workspace();
    if args.dry_run {
        let report = preview(&workspace, &request)?;
        return dry_run::show(&report, args.json, args.prompts.as_deref(), output);
    }
    let found = find_plan(&workspace, &request)?;
    let exit = run_versions(args, &request, found, output)?;
    if let Some(folder) = &args.copy_to {
        output.remark(&format!("what was made is in {}", folder.display()));
    }
    Ok(exit)
}
