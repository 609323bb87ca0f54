//! `planwright find`: prints the path of the plan that an id, a title or a part of a path names.

use planwright_verbs::find::{FindReport, FindRequest, find};
use planwright_verbs::plans::shown_title;
use planwright_verbs::text::{cut, one_line, shown_name};

use super::{Exit, Failure, Output, Result};

/// Find plans by id, title, part of either, or part of a path.
///
/// Prints the best match only. A whole id or file name is the best, then part of one, then part of a path or another case, then part of
/// a title. Archived plans are searched last.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright find a1b2                     the plan with `a1b2` in its id
  cat \"$(planwright find auth)\"            its text, if it is the only one")]
pub(crate) struct Args {
    /// An id, a title, a part of either, or a part of a path.
    #[arg(value_name = "TEXT")]
    text: String,

    /// Also search the OpenCrabs plans in the home folder.
    #[arg(long)]
    user: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = FindRequest {
        text: args.text.clone(),
        user: args.user,
    };
    let report = find(&output.workspace(), &request)?;
    if !output.printed_json(&report)? {
        draw(&report, output)?;
    }
    Ok(report.exit())
}

fn draw(report: &FindReport, output: &mut Output) -> Result<()> {
    let text = cut(&shown_name(&report.text), 60);
    match report.plans.as_slice() {
        [] => {
            let help = "`planwright list` shows the plans of this workspace";
            return Err(Failure::problem(format!("no plan matches `{text}`"), help));
        }
        // The exact path: for `$(…)`.
        [only] => output.write_exact(&format!("{}\n", only.path)),
        several => {
            for plan in several {
                let title = cut(&shown_title(&plan.title), 60);
                output.line(&format!("{}  {title}", one_line(&plan.path)));
            }
            output.remark(&format!(
                "{} plans match `{text}`; give more of the name, or a path",
                several.len()
            ));
        }
    }
    if report.plans.iter().any(|plan| plan.archived) {
        output.remark("archived");
    }
    Ok(())
}
