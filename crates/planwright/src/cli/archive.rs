//! `planwright archive` and `delete`: moves plans away with their history.

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_verbs::archive::{PlanToRemove, RemovalReport, RemovalRequest, RemovedPlan, archive, delete};
use planwright_verbs::plans::shown_title;
use planwright_verbs::text::{cut, one_line};

use super::answers;
use super::{Exit, Failure, Output, Result};

/// Archive plans: move them to the archive with their history.
///
/// Rawko plans are moved to `.rawko/plans/archive`, as rawko does it; plans of other dialects to `.planwright/archive`, with their path.
/// Nothing is overwritten. `list --archived` shows archived plans.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright archive plan-20260501-cellar
  planwright archive .aimi/tasks/2026-03-03-charts-tasks.json --dry-run")]
pub(crate) struct ArchiveArgs {
    /// The plans: paths, ids or unambiguous parts of ids.
    #[arg(value_name = "PLAN", required = true, value_parser = NonEmpty::new())]
    plans: Vec<String>,

    #[command(flatten)]
    options: RemovalOptions,
}

/// Delete plans: move them to `.planwright/trash` with their history.
///
/// Prints the new path of each plan. Asks first at a terminal; elsewhere --yes is required.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright delete plan-a1b2c3d4
  planwright delete old.json other.json --yes
  planwright delete plan-a1b2c3d4 --dry-run")]
pub(crate) struct DeleteArgs {
    /// The plans: paths, ids or unambiguous parts of ids.
    #[arg(value_name = "PLAN", required = true, value_parser = NonEmpty::new())]
    plans: Vec<String>,

    /// Do not ask.
    #[arg(long, short)]
    yes: bool,

    #[command(flatten)]
    options: RemovalOptions,
}

/// Options of both verbs.
#[derive(clap::Args)]
struct RemovalOptions {
    /// Also look at the OpenCrabs plans in the home folder.
    #[arg(long)]
    user: bool,

    /// Your name, for the plan's history.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    /// Print what would be done, and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Show the moves as git shows them, and write nothing.
    #[arg(long)]
    diff: bool,
}

impl RemovalOptions {
    fn request(&self, plans: &[String]) -> RemovalRequest {
        RemovalRequest {
            plans: plans.to_vec(),
            user: self.user,
            by: self.by.clone(),
            dry_run: self.dry_run,
            diff: self.diff,
        }
    }
}

/// Prints the moved plans; `words` describes the move of one plan.
fn print(report: RemovalReport, words: impl Fn(&RemovedPlan) -> String, output: &mut Output) -> Result<Exit> {
    if output.is_json() {
        let exit = report
            .failure
            .as_ref()
            .map_or(Exit::Success, |failure| output.complain(failure));
        output.json(&report)?;
        return Ok(exit);
    }
    match &report.diff {
        Some(diff) => output.write_exact(diff),
        None => report.plans.iter().for_each(|plan| output.line(&words(plan))),
    }
    report.failure.map_or(Ok(Exit::Success), Err)
}

fn titled(plan: &RemovedPlan) -> String {
    let title = match one_line(&plan.title) {
        title if title.is_empty() => "no title".to_owned(),
        title => cut(&title, 60),
    };
    format!("{} ({title})", one_line(&plan.plan))
}

pub(crate) fn run_archive(args: &ArchiveArgs, output: &mut Output) -> Result<Exit> {
    let request = args.options.request(&args.plans);
    let report = archive(&output.workspace(), &request)?;
    let verb = if request.is_dry() { "would archive" } else { "archived" };
    let words = |plan: &RemovedPlan| format!("{verb} {} as {}", titled(plan), one_line(&plan.to));
    print(report, words, output)
}

pub(crate) fn run_delete(args: &DeleteArgs, output: &mut Output) -> Result<Exit> {
    let request = args.options.request(&args.plans);
    let is_sure = args.yes || request.is_dry();
    if !is_sure && !answers::may_ask() {
        return Err(Failure::usage(
            "there is no terminal to confirm the deletion on",
            "use --yes to delete without asking, or --dry-run to print what would be deleted",
        ));
    }
    let report = delete(&output.workspace(), &request, |plans| is_sure || agreed(plans, output))?;
    let Some(report) = report else {
        output.remark("nothing was deleted");
        return Ok(Exit::Problems);
    };
    let words = |plan: &RemovedPlan| {
        let (plan, to) = (titled(plan), one_line(&plan.to));
        match request.is_dry() {
            false => format!("deleted {plan}; kept as {to}"),
            true => format!("would delete {plan}, and keep it as {to}"),
        }
    };
    print(report, words, output)
}

fn agreed(chosen: &[PlanToRemove], output: &mut Output) -> bool {
    for plan in chosen {
        let title = cut(&shown_title(&plan.entry.title), 60);
        output.note(&format!("{}  {title}\n", one_line(&plan.entry.shown())));
    }
    let what = match chosen.len() {
        1 => "this plan".to_owned(),
        n => format!("these {n} plans"),
    };
    output.note(&format!("Delete {what}? [y/N] "));
    answers::is_yes()
}
