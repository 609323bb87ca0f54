//! Shared by the verbs that change a plan: their options, and the output of their reports.

use clap::builder::NonEmptyStringValueParser;
use planwright_verbs::changes::{ChangeMode, ChangeReport};

use super::{Exit, Output, Result};

/// Options of every verb that changes a plan.
#[derive(clap::Args)]
pub(crate) struct ChangeOptions {
    /// Your name, for the plan and its history.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) by: Option<String>,

    /// Print what would be done, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Show what would change in the file as a diff, and write nothing.
    #[arg(long)]
    pub(crate) diff: bool,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl ChangeOptions {
    pub(crate) fn mode(&self) -> ChangeMode {
        ChangeMode {
            by: self.by.clone(),
            dry_run: self.dry_run,
            diff: self.diff,
        }
    }
}

pub(crate) fn present(report: &ChangeReport, options: &ChangeOptions, output: &mut Output) -> Result<Exit> {
    if options.json {
        output.json(report)?;
        return Ok(report.exit);
    }
    match &report.diff {
        Some(diff) => present_diff(diff, &report.lines, report.is_something, output),
        None => report.lines.iter().for_each(|line| output.line(line)),
    }
    Ok(report.exit)
}

/// Prints the diff of a change; if it is empty, the words about the change.
pub(crate) fn present_diff(diff: &str, would: &[String], is_something: bool, output: &mut Output) {
    output.write_exact(diff);
    if !diff.is_empty() {
        return;
    }
    for line in would {
        output.remark(line);
    }
    if is_something {
        output.remark("the plan file does not change; the change is kept in `.planwright`");
    }
}
