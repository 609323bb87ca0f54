//! `planwright new`: creates a valid plan with a placeholder task.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_core::dialect;
use planwright_run::shell::argument;
use planwright_verbs::new::{NewRequest, new};

use super::create::present_written;
use super::plan_arg::dialect_names;
use super::{Exit, Failure, Output, Result};

/// Create a plan, to be filled with `planwright add`.
///
/// Written where the dialect's own tool keeps plans, unless --out names a file.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright new \"Limit how often a client may call\"
  planwright new \"Log in with JWT\" --dialect rawko --out plan.yaml")]
pub(crate) struct Args {
    /// The title of the plan; a dialect may precede it.
    #[arg(value_name = "TITLE", required = true, num_args = 1..=2, value_parser = NonEmpty::new())]
    title: Vec<String>,

    /// The dialect of the plan. Default: `plan.dialect`, else that of existing plans, else `checklist`.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    /// Write to this file, which must not exist.
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Print the text that would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Show what would be written as a diff, and write nothing.
    #[arg(long)]
    diff: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let (dialect, title) = named_dialect(args)?;
    let request = NewRequest {
        title: title.to_owned(),
        dialect: dialect.map(str::to_owned),
        out: args.out.clone(),
        dry_run: args.dry_run,
        diff: args.diff,
    };
    let report = new(&output.workspace(), &request)?;
    let exit = present_written(&report, output)?;
    if let Some(next) = report.next.filter(|_| !output.is_json()) {
        output.command(&format!("next: {next}"));
    }
    Ok(exit)
}

/// Returns the dialect from the option or before the title, and the title.
fn named_dialect(args: &Args) -> Result<(Option<&str>, &str)> {
    let is_dialect = |word: &str| dialect::find(word).is_some();
    match (args.title.as_slice(), args.dialect.as_deref()) {
        ([title], None) if is_dialect(title) => Err(Failure::usage(
            format!("the title is missing: `{title}` is a dialect"),
            format!("planwright new \"TITLE\" --dialect {title}"),
        )),
        ([title], named) => Ok((named, title)),
        ([named, title], None) if is_dialect(named) => Ok((Some(named), title)),
        (words, _) => Err(Failure::usage(
            "a plan has one title",
            format!("put it in quotes: planwright new {}", argument(&words.join(" "))),
        )),
    }
}
