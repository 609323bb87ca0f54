//! `planwright import`: creates a plan from an import form or a model's answer.

use std::path::PathBuf;

use planwright_run::shell::argument;
use planwright_verbs::import::{ImportRequest, import};

use super::create::present_written;
use super::outline::OutlineView;
use super::plan_arg::dialect_names;
use super::{Exit, Output, Result};

/// Import a plan from a model's answer or another tool's file.
///
/// A plan of a dialect is imported as that dialect's tool does it: OpenCrabs plans get new ids, order, times and states; clido plans get
/// a new `meta` and keep their states. Any other text is read as a model's answer: JSON, YAML, Mermaid, tables and lists, in any prose.
/// Its tasks are shown as a table with every guess; you confirm it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright import answer.md                  shows what is read, and asks
  planwright import answer.md --yes --goal \"Log in with JWT\"
  planwright import plan.json                  writes it where its tool looks
  planwright import plan.json --session 6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0000
  planwright import - --dialect clido --out .clido/plans/p.json < answer.md")]
pub(crate) struct Args {
    /// The file to import, or - for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Write to this file, which must not exist. Default: where the tool of the dialect keeps plans; for OpenCrabs next to the input, with `.plan` before its extension; for - standard output.
    #[arg(long, short, value_name = "PATH", conflicts_with = "session")]
    out: Option<PathBuf>,

    /// The OpenCrabs session of the plan. The plan is written as the file of this session.
    #[arg(long, value_name = "UUID")]
    session: Option<String>,

    /// Read the file in this dialect, without detection; an answer becomes a plan of it. Default for answers: `plan.dialect`, else the dialect of most plans here, else `checklist`.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    /// The goal of the plan, if the answer has none.
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,

    /// Import an answer without asking.
    #[arg(long, short)]
    yes: bool,

    /// Import the complete tasks of an answer that is cut off.
    #[arg(long)]
    partial: bool,

    /// Print the text that would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Show what would be written as a diff, and write nothing.
    #[arg(long)]
    diff: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = ImportRequest {
        file: args.file.clone(),
        out: args.out.clone(),
        session: args.session.clone(),
        dialect: args.dialect.clone(),
        goal: args.goal.clone(),
        yes: args.yes,
        partial: args.partial,
        dry_run: args.dry_run,
        diff: args.diff,
    };
    let workspace = output.workspace();
    let report = import(&workspace, &request, &mut OutlineView::new(output))?;
    let exit = present_written(&report, output)?;
    if let Some(out) = report.out.as_ref().filter(|_| report.is_apart) {
        let path = argument(out);
        output.remark(&format!(
            "note: the plan is not in a folder where plans are found: name its path, as in `planwright show {path}` and `planwright run {path}`; \
             --session ID stores it where OpenCrabs finds it"
        ));
    }
    if output.is_json() || args.dry_run || args.diff {
        return Ok(exit);
    }
    if !report.written {
        output.remark("the plan is printed to standard output; --out PATH writes it to a file");
    } else if let Some(next) = report.next {
        output.command(&format!("next: {next}"));
    }
    Ok(exit)
}
