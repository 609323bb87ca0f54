//! `planwright check`: reports every finding of every file, in one pass.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use planwright_core::diagnostic::{Safety, Severity};
use planwright_verbs::check::{CheckReport, CheckRequest, CheckedFile, check};
use planwright_verbs::explain::{ExplainReport, ExplainRequest, all_rules, explain};
use planwright_verbs::text::{count, printable};
use planwright_verbs::{Exit, Failure, FileFindings, Result};

use super::output::Output;
use super::plan_arg::dialect_names;
use crate::render::findings::{FindingsSource, file_findings, plural};
use crate::render::{github, sarif};

/// Check plans: every problem, with its place and its fix.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright check                        every plan below this folder
  planwright check plan.json docs/tasks   a file and a folder
  planwright check - < answer.txt         standard input
  planwright check --fix                  apply safe fixes
  planwright check --explain dependency-cycle")]
pub(crate) struct Args {
    /// Files, folders to search (respecting .gitignore), or - for standard input. Default: this folder.
    #[arg(value_name = "PATHS")]
    paths: Vec<PathBuf>,

    /// Read every file in this dialect, without detection.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    /// How to print the findings.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    format: CheckFormat,

    /// The same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Apply the fixes that keep the plan's meaning.
    #[arg(long)]
    fix: bool,

    /// With --fix or --diff: include fixes that may change the meaning.
    #[arg(long = "unsafe")]
    unsafe_fixes: bool,

    /// With --fix: print what would be fixed, and write nothing.
    #[arg(long)]
    dry_run: bool,

    /// Show what --fix would change, and write nothing.
    #[arg(long)]
    diff: bool,

    /// Treat warnings as errors.
    #[arg(long, value_name = "WHAT")]
    deny: Option<Deny>,

    /// Show every finding, including repeated ones.
    #[arg(long)]
    all: bool,

    /// Explain a finding by its id, with an example of wrong and right.
    #[arg(long, value_name = "ID", conflicts_with_all = ["paths", "fix", "diff"])]
    explain: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    /// For people: excerpts with carets.
    Text,
    /// For programs: documented, versioned JSON.
    Json,
    /// For code scanning: SARIF 2.1.0.
    Sarif,
    /// For GitHub Actions: annotations.
    Github,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Deny {
    /// Warnings fail the check.
    Warnings,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let format = if args.json { CheckFormat::Json } else { args.format };
    if let Some(id) = &args.explain {
        return match format {
            CheckFormat::Text | CheckFormat::Json => run_explain(id, output),
            CheckFormat::Sarif | CheckFormat::Github => Err(Failure::usage(
                "explanations cannot be printed in this format",
                "use --explain with --format text or --format json",
            )),
        };
    }
    let request = CheckRequest {
        paths: args.paths.clone(),
        dialect: args.dialect.clone(),
        fix: args.fix,
        unsafe_fixes: args.unsafe_fixes,
        dry_run: args.dry_run,
        diff: args.diff,
        deny_warnings: args.deny.is_some(),
    };
    let report = check(&output.workspace(), &request)?;
    if let Some(text) = &report.fixed_input {
        output.write_bytes(text.as_bytes());
    }
    for file in &report.files {
        draw_fixes(file, output);
    }
    let is_text_printed = args.fix && !args.dry_run && args.paths.iter().any(|path| path == Path::new("-"));
    // Standard output must contain only the fixed text or the diff. JSON has a field for the diff.
    let is_diff_printed = args.diff && format != CheckFormat::Json;
    if is_diff_printed {
        for diff in report.files.iter().filter_map(|file| file.diff.as_deref()) {
            // A diff for `patch` must be exact; one for a person must not contain control sequences.
            output.write_exact(diff);
        }
    }
    if is_diff_printed || (is_text_printed && !args.diff) {
        let text = text_report(&report, args, output);
        output.note(&text);
    } else {
        draw(&report, format, args, output)?;
    }
    Ok(report.exit)
}

fn run_explain(id: &str, output: &mut Output) -> Result<Exit> {
    let report = explain(&output.workspace(), &ExplainRequest { id: id.to_owned() })?;
    output.show(&report, draw_explanation)?;
    Ok(Exit::Success)
}

fn draw_explanation(report: &ExplainReport, output: &mut Output) {
    let paint = output.paint();
    output.line(&format!("{} ({})", paint.bold(report.id), report.severity));
    output.line("");
    output.line(report.summary);
    output.line(report.details);
    output.line("");
    for (title, example) in [("Wrong:", report.wrong), ("Right:", report.right)] {
        output.line(&paint.bold(title));
        for line in example.lines() {
            output.line(&format!("    {line}"));
        }
        output.line("");
    }
}

/// Prints which fixes were made, or would be, and how many were not.
fn draw_fixes(file: &CheckedFile, output: &mut Output) {
    let (Some(fixes), path) = (&file.fixes, &file.path) else {
        return;
    };
    if let Some(failure) = &fixes.failure {
        output.complain(failure);
        return;
    }
    for notice in &fixes.notices {
        output.remark(&format!("note: {path}: {}", printable(notice)));
    }
    let verb = if fixes.is_dry { "would fix" } else { "fixed" };
    for applied in &fixes.applied {
        let (line, title, rule) = (applied.line, printable(&applied.title), applied.rule);
        output.remark(&format!("{verb} {path}:{line}: {title} ({rule})"));
    }
    let what = match fixes.n_refused {
        0 => return,
        1 => format!("1 fix in {path} not applied: it"),
        n => format!("{n} fixes in {path} not applied: they"),
    };
    output.remark(&format!("{what} would have caused new errors"));
}

fn draw(report: &CheckReport, format: CheckFormat, args: &Args, output: &mut Output) -> Result<()> {
    let findings = report.files.iter().map(|file| &file.findings);
    match format {
        CheckFormat::Text => {
            let text = text_report(report, args, output);
            output.write(&text);
        }
        CheckFormat::Json => output.json(report)?,
        CheckFormat::Sarif => {
            let files: Vec<&FileFindings> = findings.collect();
            output.json(&sarif::log(&files, &all_rules()))?;
        }
        CheckFormat::Github => {
            for file in findings {
                // The only output that must contain commands for the runner.
                output.write_bytes(github::annotations(&file.path, &file.source, &file.findings).as_bytes());
            }
        }
    }
    Ok(())
}

fn text_report(report: &CheckReport, args: &Args, output: &Output) -> String {
    let teller = if args.all {
        FindingsSource::CheckAll
    } else {
        FindingsSource::Check
    };
    let files = report.files.iter();
    let drawn = files.map(|file| file_findings(&file.findings, teller, output.paint(), output.width()));
    let mut text: String = drawn.collect();
    if !output.is_quiet() {
        text.push_str(&summary_line(report));
        text.push('\n');
    }
    text
}

fn summary_line(report: &CheckReport) -> String {
    let summary = &report.summary;
    let counts = [
        (summary.errors, Severity::Error),
        (summary.warnings, Severity::Warning),
        (summary.notes, Severity::Note),
    ];
    let counts = counts.into_iter().filter(|&(n, _)| n > 0);
    let mut parts: Vec<String> = counts
        .map(|(n, severity)| format!("{n} {}", plural(severity, n)))
        .collect();
    if summary.unreadable > 0 {
        parts.push(format!("{} not readable", summary.unreadable));
    }
    if parts.is_empty() {
        parts.push("no problems".to_owned());
    }
    let found = report.files.iter().flat_map(|file| &file.findings.findings);
    let fixes = found.filter_map(|found| found.fix.as_ref());
    let hint = match fixes.filter(|fix| fix.safety == Safety::Safe).count() {
        0 => String::new(),
        n => format!(" ({n} fixable with --fix)"),
    };
    let files = count(summary.files as u64, "file");
    format!("{files} checked: {}{hint}", parts.join(", "))
}
