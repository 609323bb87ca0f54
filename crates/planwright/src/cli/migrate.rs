//! `planwright migrate`: updates a file of an older form to the newest one, in place.

use std::path::PathBuf;

use planwright_verbs::migrate::{MigrateRequest, migrate};

use super::create::present_written;
use super::{Exit, Output, Result};

/// Bring an Aimi v2.x file or a prd.json to v3, in place.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright migrate prd.json --diff         look at it first
  planwright migrate .aimi/tasks/2026-01-20-photos-tasks.json --no-backup")]
pub(crate) struct Args {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The number of stories that may run in parallel.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_concurrency: Option<u32>,

    /// Keep no copy of the original.
    #[arg(long)]
    no_backup: bool,

    /// Show what would change and which files would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Show what would change in the file as a diff, and write nothing.
    #[arg(long)]
    diff: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = MigrateRequest {
        file: args.file.clone(),
        max_concurrency: args.max_concurrency,
        no_backup: args.no_backup,
        dry_run: args.dry_run || args.diff,
    };
    let report = migrate(&output.workspace(), &request)?;
    present_written(&report, output)
}
