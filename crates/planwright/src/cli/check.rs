//! `planwright check`: reports every finding of every file, in one pass.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use planwright_core::diagnostic::{Diagnostic, Rule, Safety, Severity};
use planwright_core::dialect::{Choice, DIALECTS, Dialect};
use planwright_core::document::rules::TOO_LARGE;
use planwright_core::fix::fix;
use planwright_core::inspect::{Inspection, rules};
use planwright_core::text::SourceText;
use planwright_run::config::{self, Surroundings};
use planwright_run::error_chain::with_causes;
use planwright_run::inspect_file::inspect_file;
use planwright_run::store::rules::UNREADABLE_FILE;
use planwright_run::store::{self, LoadError};
use planwright_run::workspace::{archive_path, plans_below, root_of, slashed, without_excluded};

use super::change::notice_words;
use super::exit::{Exit, Failure};
use super::explain;
use super::fixing::{Fixing, say_fixed, write_all};
use super::output::Output;
use super::plan_arg::{CREATE_PLAN, dialect_named, dialect_names};
use super::replan::file_before;
use crate::render::diff::unified_diff;
use crate::render::github;
use crate::render::json::{CHECK_VERSION, CheckReport, DiagnosticReport, FileReport, Summary};
use crate::render::quantity::count;
use crate::render::sarif::{SarifFile, log};
use crate::render::text::{Teller, findings, plural};

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

    /// Read every file in this dialect, whatever it looks like.
    #[arg(long, value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    /// How to print the findings.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// The same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Apply the fixes that keep the plan's meaning.
    #[arg(long)]
    fix: bool,

    /// With --fix or --diff: also fixes that may change the meaning.
    #[arg(long = "unsafe")]
    unsafe_fixes: bool,

    /// With --fix: write nothing; say what would be fixed.
    #[arg(long)]
    dry_run: bool,

    /// Show what --fix would change, and write nothing.
    #[arg(long)]
    diff: bool,

    /// Treat warnings as errors.
    #[arg(long, value_name = "WHAT")]
    deny: Option<Deny>,

    /// Show every finding, also those that repeat.
    #[arg(long)]
    all: bool,

    /// Explain a finding by its id, with an example of wrong and right.
    #[arg(long, value_name = "ID", conflicts_with_all = ["paths", "fix", "diff"])]
    explain: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
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

/// One file after its check.
struct Checked {
    path: String,
    /// What was found; none where the file could not be read.
    seen: Result<Seen, LoadError>,
    /// Fixes that are to be written.
    fixing: Option<Fixing>,
    /// Why its fixes could not be written, where they could not.
    unwritten: Option<String>,
    /// What its fixes would change, where that was asked for.
    diff: Option<String>,
}

/// What is told of a file that was read. There may be thousands of them: nothing else is kept.
struct Seen {
    /// The text; empty where there is nothing to show of it.
    source: SourceText,
    dialect: Option<&'static str>,
    form: Option<&'static str>,
    n_tasks: Option<usize>,
    diagnostics: Vec<Diagnostic>,
    /// The file of the version before this one.
    before: Option<PathBuf>,
}

impl Seen {
    fn new(inspection: Inspection, path: &Path) -> Self {
        let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
        Seen {
            before: plan.and_then(|plan| file_before(path, plan)),
            dialect: inspection.dialect_name(),
            form: plan.map(|plan| plan.form),
            n_tasks: plan.map(|plan| plan.tasks().len()),
            source: match inspection.diagnostics.as_slice() {
                [] => SourceText::new(""),
                _ => inspection.source,
            },
            diagnostics: inspection.diagnostics,
        }
    }
}

impl Checked {
    /// Returns the text and its findings; for a file that could not be read, the one finding that says why.
    fn findings(&self) -> (SourceText, Vec<Diagnostic>) {
        match &self.seen {
            Ok(seen) => (seen.source.clone(), seen.diagnostics.clone()),
            Err(error) => (SourceText::new(""), vec![finding_of(&UNREADABLE_FILE, error)]),
        }
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let format = if args.json { Format::Json } else { args.format };
    if let Some(id) = &args.explain {
        return match format {
            Format::Text => explain::run(id, output),
            Format::Json => explain::run_json(id, output),
            Format::Sarif | Format::Github => Err(Failure::usage(
                "an explanation is no finding, and has no such format",
                "--explain goes with --format text or --format json",
            )),
        };
    }
    if args.unsafe_fixes && !args.fix && !args.diff {
        return Err(Failure::usage(
            "--unsafe goes with --fix or --diff",
            "add --fix to apply, or --diff to look",
        ));
    }
    if args.dry_run && !args.fix && !args.diff {
        return Err(Failure::usage(
            "--dry-run goes with --fix",
            "add --fix; without it, nothing is written anyway",
        ));
    }
    let forced = args.dialect.as_deref().map(dialect_named).transpose()?;
    let paths = expand(&args.paths)?;
    let mut checked = Vec::with_capacity(paths.len());
    for path in &paths {
        checked.push(check_one(path, forced, args, output));
    }
    write_fixes(&mut checked, output);
    forget_past_plans(&paths, &args.paths, &mut checked);
    let is_text_printed = args.fix && !args.dry_run && paths.iter().any(|path| is_stdin(path));
    // A fixed text or a diff on standard output must stay alone there. JSON has a place for the diff.
    let is_diff_printed = args.diff && format != Format::Json;
    if is_diff_printed {
        for diff in checked.iter().filter_map(|file| file.diff.as_deref()) {
            // A diff for `patch` must be exact; one for a person must not drive the terminal.
            output.write_exact(diff);
        }
    }
    if is_diff_printed || (is_text_printed && !args.diff) {
        report_beside(&checked, args, output);
    } else {
        report(&checked, format, args, output)?;
    }
    Ok(exit_of(&checked, args.deny))
}

/// Leaves out what is found in plans that another version has taken the place of, and in archived ones, as long as they can be read:
/// they stay as they are. A file that was named is checked in full.
fn forget_past_plans(paths: &[PathBuf], named: &[PathBuf], checked: &mut [Checked]) {
    let seen = checked.iter().filter_map(|file| file.seen.as_ref().ok());
    let replaced: HashSet<PathBuf> = seen.filter_map(|seen| seen.before.clone()).collect();
    for (path, file) in paths.iter().zip(checked) {
        let is_archived = archive_path(&slashed(path)).is_none();
        let is_past = (replaced.contains(path) || is_archived) && !named.contains(path);
        if let (true, Ok(seen)) = (is_past, &mut file.seen) {
            seen.diagnostics.retain(|found| found.severity == Severity::Error);
        }
    }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Turns folders into the plans in them.
fn expand(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let here = [PathBuf::from(".")];
    let given = if paths.is_empty() { &here[..] } else { paths };
    let mut files = Vec::new();
    for path in given {
        if is_stdin(path) || !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let found = plans_below(path);
        let root = root_of(&std::fs::canonicalize(path).unwrap_or_else(|_| path.clone()));
        let config = config::load(&root, &Surroundings::of_process()).config;
        let n_found = found.len();
        let found = without_excluded(found, &root, &config.check_exclude);
        if found.is_empty() && given.len() == 1 {
            if n_found > 0 {
                return Err(Failure::problem(
                    format!("`check.exclude` excludes every plan below `{}`", path.display()),
                    "name a plan file to check it, or change `check.exclude` in planwright.toml",
                ));
            }
            return Err(Failure::problem(
                format!("no plans found below `{}`", path.display()),
                CREATE_PLAN,
            ));
        }
        files.extend(found);
    }
    let mut seen = HashSet::new();
    files.retain(|path| seen.insert(path.clone()));
    Ok(files)
}

fn check_one(path: &Path, forced: Option<&'static dyn Dialect>, args: &Args, output: &mut Output) -> Checked {
    let shown = path
        .to_string_lossy()
        .strip_prefix("./")
        .map_or(path.display().to_string(), str::to_owned);
    let loaded = match path {
        path if is_stdin(path) => store::load_stdin(),
        // One that cannot be looked into: the others are looked through.
        path if path.is_dir() => Err(std::fs::read_dir(path)
            .err()
            .map_or(LoadError::Directory { path: path.to_owned() }, |error| {
                LoadError::new(path, error)
            })),
        path => store::load(path),
    };
    let source = match loaded {
        Ok(loaded) => loaded.source,
        Err(error) => {
            return Checked {
                path: shown,
                seen: unread(error),
                fixing: None,
                unwritten: None,
                diff: None,
            };
        }
    };
    let on_disk = (!is_stdin(path)).then_some(path);
    let examined = inspect_file(&source, on_disk, forced);
    let mut checked = Checked {
        path: shown,
        seen: Ok(Seen::new(examined.inspection, path)),
        fixing: None,
        unwritten: None,
        diff: None,
    };
    if args.fix || args.diff {
        let name = on_disk.map(slashed);
        let choice = Choice {
            dialects: DIALECTS,
            forced,
            path: name.as_deref(),
            facts: &examined.facts,
        };
        let safety = if args.unsafe_fixes {
            Safety::Unsafe
        } else {
            Safety::Safe
        };
        let fixed = fix(&source, &choice, safety);
        let is_changed = !fixed.applied.is_empty();
        if args.diff {
            let diff = || unified_diff(&checked.path, source.as_str(), fixed.source.as_str());
            checked.diff = is_changed.then(diff);
        } else if args.dry_run {
            say_fixed(&checked.path, &fixed, "would fix", output);
        } else {
            if on_disk.is_none() {
                output.write_bytes(fixed.source.as_str().as_bytes());
            }
            checked.fixing = Some(Fixing {
                path: path.to_owned(),
                after: is_changed.then(|| inspect_file(&fixed.source, on_disk, forced).inspection),
                old: source,
                fixed,
            });
        }
    }
    checked
}

/// Writes the fixes of all files, and says so.
fn write_fixes(checked: &mut [Checked], output: &mut Output) {
    let fixings: Vec<&Fixing> = checked.iter().filter_map(|file| file.fixing.as_ref()).collect();
    let mut results = write_all(&fixings).into_iter();
    for file in checked {
        let Some(fixing) = file.fixing.take() else {
            continue;
        };
        match results.next().unwrap_or_else(|| Ok(Vec::new())) {
            Ok(notices) => {
                for notice in &notices {
                    output.remark(&format!("note: {}: {}", file.path, notice_words(notice)));
                }
                say_fixed(&file.path, &fixing.fixed, "fixed", output);
                if let Some(after) = fixing.after {
                    file.seen = Ok(Seen::new(after, &fixing.path));
                }
            }
            // The other files are still worth a look.
            Err(error) => {
                output.complain(&error);
                file.unwritten = Some(format!("{error:#}"));
            }
        }
    }
}

fn report(checked: &[Checked], format: Format, args: &Args, output: &mut Output) -> anyhow::Result<()> {
    match format {
        Format::Text => {
            let text = text_report(checked, args, output);
            output.write(&text);
        }
        Format::Json => {
            let report = json_report(checked);
            output.json(&report)?;
        }
        Format::Sarif => {
            let found: Vec<_> = checked.iter().map(Checked::findings).collect();
            let files: Vec<_> = checked
                .iter()
                .zip(&found)
                .map(|(file, (source, diagnostics))| SarifFile {
                    path: &file.path,
                    source,
                    diagnostics,
                })
                .collect();
            output.json(&log(&files, &all_rules()))?;
        }
        Format::Github => {
            for file in checked {
                let (source, diagnostics) = file.findings();
                // The one place where commands for the runner are wanted.
                output.write_bytes(github::annotations(&file.path, &source, &diagnostics).as_bytes());
            }
        }
    }
    Ok(())
}

/// Returns every rule of the documentation, those of files and of conversion included.
pub(super) fn all_rules() -> Vec<&'static Rule> {
    rules()
        .into_iter()
        .chain(planwright_run::store::rules::ALL.iter().copied())
        .chain(planwright_run::config::rules::ALL.iter().copied())
        .chain(planwright_core::convert::rules::ALL.iter().copied())
        .chain(planwright_core::outline::rules::ALL.iter().copied())
        .chain(planwright_core::planning::rules::ALL.iter().copied())
        .chain(planwright_core::dialect::task_pack::drift::ALL.iter().copied())
        .chain(planwright_core::planning::derive::rules::ALL.iter().copied())
        .collect()
}

/// Returns what is known of a file that was not read: one that is too large has a problem of its own, and is judged for
/// it; of any other the environment is to blame.
fn unread(error: LoadError) -> Result<Seen, LoadError> {
    match error {
        LoadError::TooLarge { .. } => Ok(Seen {
            source: SourceText::new(""),
            dialect: None,
            form: None,
            n_tasks: None,
            diagnostics: vec![finding_of(&TOO_LARGE, &error)],
            before: None,
        }),
        error => Err(error),
    }
}

/// Returns the finding that says why a file was not read.
fn finding_of(rule: &'static Rule, error: &LoadError) -> Diagnostic {
    Diagnostic::of_file(rule, with_causes(error)).with_help(error.help())
}

fn text_report(checked: &[Checked], args: &Args, output: &Output) -> String {
    let mut text = String::new();
    for file in checked {
        let (source, diagnostics) = file.findings();
        text.push_str(&findings(
            &file.path,
            &source,
            &diagnostics,
            if args.all { Teller::CheckAll } else { Teller::Check },
            output.paint(),
            output.width(),
        ));
    }
    if !output.is_quiet() {
        text.push_str(&summary_line(checked));
        text.push('\n');
    }
    text
}

/// Reports findings on standard error, for commands whose result is a text.
fn report_beside(checked: &[Checked], args: &Args, output: &mut Output) {
    let text = text_report(checked, args, output);
    output.note(&text);
}

fn summarise(checked: &[Checked]) -> Summary {
    let mut summary = Summary {
        files: checked.len(),
        ..Summary::default()
    };
    for file in checked {
        let Ok(seen) = &file.seen else {
            summary.unreadable += 1;
            summary.errors += 1;
            continue;
        };
        for diagnostic in &seen.diagnostics {
            match diagnostic.severity {
                Severity::Error => summary.errors += 1,
                Severity::Warning => summary.warnings += 1,
                Severity::Note => summary.notes += 1,
            }
        }
    }
    summary
}

fn summary_line(checked: &[Checked]) -> String {
    let summary = summarise(checked);
    let files = count(summary.files as u64, "file");
    let counts = [
        (summary.errors, Severity::Error),
        (summary.warnings, Severity::Warning),
        (summary.notes, Severity::Note),
    ];
    let mut parts: Vec<String> = counts
        .into_iter()
        .filter(|&(n, _)| n > 0)
        .map(|(n, severity)| format!("{n} {}", plural(severity, n)))
        .collect();
    if summary.unreadable > 0 {
        parts.push(format!("{} not readable", summary.unreadable));
    }
    if parts.is_empty() {
        parts.push("no problems".to_owned());
    }
    let fixable = checked
        .iter()
        .flat_map(|file| file.seen.iter().flat_map(|seen| &seen.diagnostics))
        .filter(|diagnostic| diagnostic.fix.as_ref().is_some_and(|fix| fix.safety == Safety::Safe))
        .count();
    let hint = if fixable > 0 {
        format!(" ({fixable} fixable with --fix)")
    } else {
        String::new()
    };
    format!("{files} checked: {}{hint}", parts.join(", "))
}

fn json_report(checked: &[Checked]) -> CheckReport {
    let file = |file: &Checked| {
        let (seen, failure) = match &file.seen {
            Ok(seen) => (Some(seen), None),
            Err(error) => (None, Some(with_causes(error))),
        };
        let (source, diagnostics) = file.findings();
        let index = source.line_index();
        FileReport {
            path: file.path.clone(),
            dialect: seen.and_then(|seen| seen.dialect),
            form: seen.and_then(|seen| seen.form),
            tasks: seen.and_then(|seen| seen.n_tasks),
            failure,
            fix_failure: file.unwritten.clone(),
            diff: file.diff.clone(),
            diagnostics: diagnostics
                .iter()
                .map(|found| DiagnosticReport::new(found, &index))
                .collect(),
        }
    };
    CheckReport {
        schema_version: CHECK_VERSION,
        files: checked.iter().map(file).collect(),
        summary: summarise(checked),
    }
}

fn exit_of(checked: &[Checked], deny: Option<Deny>) -> Exit {
    let worst_allowed = if deny.is_some() {
        Severity::Warning
    } else {
        Severity::Error
    };
    let is_bad = |found: &Diagnostic| found.severity >= worst_allowed;
    let exit = |file: &Checked| match &file.seen {
        _ if file.unwritten.is_some() => Exit::Environment,
        Ok(seen) if seen.diagnostics.iter().any(is_bad) => Exit::Problems,
        Ok(_) => Exit::Success,
        Err(_) => Exit::Environment,
    };
    checked.iter().map(exit).max().unwrap_or(Exit::Success)
}
