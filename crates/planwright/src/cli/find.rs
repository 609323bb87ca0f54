//! `planwright find`: prints the path of the plan that an id, a title or a part of a path names.

use std::path::Path;

use serde::Serialize;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::{candidates, refuse_closed};
use super::plan_entries::{self, Entry};
use crate::render::terminal::{cut, one_line, shown_name};

/// Find plans by id, title, part of either, or part of a path.
///
/// A whole id or file name comes before a part of one, that before a part of a path or another case, and that before a part of a title:
/// what fits best is the answer. Archived plans are found where no other fits.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright find a1b2                     the plan with `a1b2` in its id
  cat \"$(planwright find auth)\"            its text, if it is the only one")]
pub(crate) struct Args {
    /// An id, a title, a part of either, or a part of a path.
    #[arg(value_name = "TEXT")]
    text: String,

    /// Also the OpenCrabs plans in the home folder.
    #[arg(long)]
    user: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The version of `find --json`.
const VERSION: &str = "planwright.find/v1";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    text: String,
    /// What fits equally well: one plan where the text is unambiguous.
    plans: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    path: String,
    id: Option<String>,
    dialect: Option<&'static str>,
    title: String,
    archived: bool,
    /// How the text fits: `name`, `part`, `path` or `title`.
    fit: &'static str,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    if args.text.is_empty() {
        let help = "name an id or a part of one; `planwright list` shows all plans";
        return Err(Failure::usage("nothing to find", help));
    }
    let live = candidates(Path::new("."), args.user).into_iter();
    let (mut fit, mut found) = best(live.map(|path| Entry::of(path, false)).collect(), &args.text);
    if found.is_empty() {
        let archived = plan_entries::archived().into_iter();
        (fit, found) = best(archived.map(|path| Entry::of(path, true)).collect(), &args.text);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let exit = if found.len() == 1 {
        Exit::Success
    } else {
        Exit::Problems
    };
    if found.is_empty() {
        refuse_closed(Path::new("."))?;
    }
    if args.json {
        let rows = found.into_iter().map(|entry| Row {
            path: entry.shown(),
            id: entry.id,
            dialect: entry.dialect,
            title: entry.title,
            archived: entry.archived,
            fit,
        });
        output.json(&Report {
            schema_version: VERSION,
            text: args.text.clone(),
            plans: rows.collect(),
        })?;
        return Ok(exit);
    }
    let text = cut(&shown_name(&args.text), 60);
    match found.as_slice() {
        [] => {
            let help = "`planwright list` shows the plans of this workspace";
            return Err(Failure::problem(format!("no plan fits `{text}`"), help));
        }
        // Its path as it is: for `$(…)`.
        [only] => output.write_exact(&format!("{}\n", only.shown())),
        several => {
            for entry in several {
                let title = cut(&entry.shown_title(), 60);
                output.line(&format!("{}  {title}", one_line(&entry.shown())));
            }
            output.remark(&format!(
                "{} plans fit `{text}`; give more of the name, or a path",
                several.len()
            ));
        }
    }
    if found.iter().any(|entry| entry.archived) {
        output.remark("archived");
    }
    Ok(exit)
}

/// Returns those that fit best, and how.
fn best(entries: Vec<Entry>, text: &str) -> (&'static str, Vec<Entry>) {
    let lower = text.to_lowercase();
    let names = |entry: &Entry| entry.id.iter().cloned().chain([entry.stem()]).collect::<Vec<_>>();
    let fit_of = |entry: &Entry| match names(entry) {
        names if names.iter().any(|name| name == text) => Some(0),
        names if names.iter().any(|name| name.contains(text)) => Some(1),
        names if names.iter().any(|name| name.to_lowercase().contains(&lower)) => Some(2),
        _ if entry.shown().to_lowercase().contains(&lower) => Some(2),
        _ if entry.title.to_lowercase().contains(&lower) => Some(3),
        _ => None,
    };
    let fits: Vec<Option<usize>> = entries.iter().map(fit_of).collect();
    let Some(best) = fits.iter().flatten().min().copied() else {
        return ("none", Vec::new());
    };
    let found = entries.into_iter().zip(fits).filter(|(_, fit)| *fit == Some(best));
    let word = ["name", "part", "path", "title"].get(best).copied().unwrap_or("path");
    (word, found.map(|(entry, _)| entry).collect())
}
