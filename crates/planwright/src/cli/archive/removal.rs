//! What `delete` and `archive` share: their options, and the report of where the plans are now.

use planwright_verbs::archive::{RemovalReport, RemovalRequest, RemovedPlan};
use planwright_verbs::face::{Exit, Result};
use planwright_verbs::text::{cut, one_line};

use super::super::output::Output;

/// Options of both verbs.
#[derive(clap::Args)]
pub(crate) struct RemovalOptions {
    /// Also look at the OpenCrabs plans in the home folder.
    #[arg(long)]
    user: bool,

    /// Who does it, for the plan's history.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    /// Write nothing; say what would be done.
    #[arg(long)]
    dry_run: bool,

    /// Show the moves as git shows them, and write nothing.
    #[arg(long)]
    diff: bool,
}

impl RemovalOptions {
    pub(crate) fn request(&self, plans: &[String]) -> RemovalRequest {
        RemovalRequest {
            plans: plans.to_vec(),
            user: self.user,
            by: self.by.clone(),
            dry_run: self.dry_run,
            diff: self.diff,
        }
    }
}

/// Prints what was moved; `words` describes the move of one plan.
pub(crate) fn print(
    report: RemovalReport,
    words: impl Fn(&RemovedPlan) -> String,
    output: &mut Output,
) -> Result<Exit> {
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

pub(crate) fn titled(plan: &RemovedPlan) -> String {
    let title = match one_line(&plan.title) {
        title if title.is_empty() => "no title".to_owned(),
        title => cut(&title, 60),
    };
    format!("{} ({title})", one_line(&plan.plan))
}
