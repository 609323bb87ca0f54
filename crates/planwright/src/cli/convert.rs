//! `planwright convert`: writes a plan in another dialect, and reports what is lost.

use std::path::PathBuf;

use planwright_verbs::convert::{ConvertRequest, convert};

use super::create::{draw_findings, draw_place};
use super::plan_arg::dialect_names;
use super::{Exit, Output, Result};

/// Convert a plan to another dialect, and report what is lost.
///
/// Prints what is lost, invented or changed to standard error.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright convert .clido/plans/p.json --to aimi > tasks.json
  planwright convert tasks.json --to rawko --out .rawko/plans/p.yaml --embed")]
pub(crate) struct Args {
    /// The plan file, or - for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The dialect to write. Default: `plan.dialect`, else that of existing plans, else `checklist`.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    to: Option<String>,

    /// Write to this file, which must not exist. Default: standard output.
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Keep content that the target dialect cannot hold in an extension member, so that converting back restores it.
    #[arg(long)]
    embed: bool,

    /// To a task pack: the Markdown plan it is derived from, from the root of the repository.
    #[arg(long, value_name = "PATH")]
    source_plan: Option<String>,

    /// To an OpenCrabs plan: the session it belongs to.
    #[arg(long, value_name = "UUID")]
    session: Option<String>,

    /// Read the file in this dialect, without detection.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    /// Print what is lost, invented or changed, and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Show what would be written as a diff, and write nothing.
    #[arg(long)]
    diff: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = ConvertRequest {
        file: args.file.clone(),
        to: args.to.clone(),
        out: args.out.clone(),
        embed: args.embed,
        source_plan: args.source_plan.clone(),
        session: args.session.clone(),
        dialect: args.dialect.clone(),
        dry_run: args.dry_run,
        diff: args.diff,
    };
    let report = convert(&output.workspace(), &request)?;
    if output.printed_json(&report)? {
        return Ok(Exit::Success);
    }
    if let Some(text) = report.diff.as_ref().or(report.text.as_ref()) {
        output.write_exact(text);
    }
    if !output.is_quiet() {
        draw_findings(&report.findings, output);
    }
    if let Some(out) = &report.out {
        draw_place(out, report.written, output);
    }
    Ok(Exit::Success)
}
