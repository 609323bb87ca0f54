//! The verb `check`: every finding about every plan file, in one pass, and the fixes for them.

mod fixing;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use planwright_core::diagnostic::{Diagnostic, Rule, Safety, Severity};
use planwright_core::dialect::{Choice, DIALECTS, Dialect};
use planwright_core::document::rules::TOO_LARGE;
use planwright_core::fix::{Applied, fix};
use planwright_core::inspect::Inspection;
use planwright_core::text::SourceText;
use planwright_run::config::{self, ConfigInputs};
use planwright_run::error_chain::with_causes;
use planwright_run::inspect_file::inspect_file;
use planwright_run::store::rules::UNREADABLE_FILE;
use planwright_run::store::{self, LoadError};
use planwright_run::workspace::{archive_path, plans_below, root_of, slashed, without_excluded};
use serde::{Deserialize, Serialize};

use crate::failure::{Exit, Failure, Result};
use crate::json::DiagnosticReport;
use crate::plans::{CREATE_PLAN, dialect_named, file_before};
use crate::text::unified_diff;
use crate::workspace::{FileFindings, Workspace};

use fixing::{Fixing, write_all};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckRequest {
    /// Files, folders to search, or `-` for the input of the caller. Empty: the folder of the workspace.
    pub paths: Vec<PathBuf>,
    /// The dialect to read every file in, if the user forces one.
    pub dialect: Option<String>,
    /// Apply the fixes that keep the plan's meaning.
    pub fix: bool,
    /// With `fix` or `diff`: also fixes that may change the meaning.
    pub unsafe_fixes: bool,
    /// With `fix`: write nothing.
    pub dry_run: bool,
    /// Report the changes of `fix`, and write nothing.
    pub diff: bool,
    pub deny_warnings: bool,
}

#[derive(Serialize)]
pub struct CheckReport {
    pub schema_version: &'static str,
    pub files: Vec<CheckedFile>,
    pub summary: CheckSummary,
    #[serde(skip)]
    pub fixed_input: Option<String>,
    #[serde(skip)]
    pub exit: Exit,
}

/// The number of findings.
#[derive(Clone, Copy, Default, Serialize)]
pub struct CheckSummary {
    pub files: usize,
    pub errors: usize,
    pub warnings: usize,
    pub notes: usize,
    /// Files that could not be read.
    pub unreadable: usize,
}

#[derive(Serialize)]
pub struct CheckedFile {
    pub path: String,
    pub dialect: Option<&'static str>,
    pub form: Option<&'static str>,
    pub tasks: Option<usize>,
    /// Why the file could not be read, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Why its fixes could not be written, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix_failure: Option<String>,
    /// The changes of its fixes, if a diff was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    pub diagnostics: Vec<DiagnosticReport>,
    /// The same findings with the text; for an unreadable file, the one finding with the reason.
    #[serde(skip)]
    pub findings: FileFindings,
    #[serde(skip)]
    pub fixes: Option<FileFixes>,
}

/// The fixes of a file, and the result of writing them.
pub struct FileFixes {
    pub applied: Vec<Applied>,
    /// How many fixes were rejected because they would do harm.
    pub n_refused: usize,
    /// Whether nothing was written on request.
    pub is_dry: bool,
    pub notices: Vec<String>,
    pub failure: Option<Failure>,
}

/// Checks plan files, and fixes them if requested.
pub fn check(workspace: &Workspace, request: &CheckRequest) -> Result<CheckReport> {
    if request.unsafe_fixes && !request.fix && !request.diff {
        return Err(Failure::usage(
            "--unsafe goes with --fix or --diff",
            "add --fix to apply, or --diff to look",
        ));
    }
    if request.dry_run && !request.fix && !request.diff {
        return Err(Failure::usage(
            "--dry-run goes with --fix",
            "add --fix; without it, nothing is written anyway",
        ));
    }
    let forced = request.dialect.as_deref().map(dialect_named).transpose()?;
    let paths = expand(workspace, &request.paths)?.into_iter();
    let mut checks: Vec<FileCheck> = paths
        .map(|path| FileCheck::new(workspace, path, forced, request))
        .collect();
    let fixings = || checks.iter().filter_map(|file| file.fixing.as_ref());
    let fixed_input = fixings().find(|fixing| is_input(&fixing.path));
    let fixed_input = fixed_input.map(|fixing| fixing.fixed.source.as_str().to_owned());
    write_fixes(&mut checks);
    let named: Vec<PathBuf> = request.paths.iter().map(|path| workspace.path(path)).collect();
    forget_past_plans(&named, &mut checks);
    let files: Vec<CheckedFile> = checks.into_iter().map(FileCheck::report).collect();
    Ok(CheckReport {
        schema_version: "planwright.check/v1",
        summary: summary_of(&files),
        exit: exit_of(&files, request.deny_warnings),
        files,
        fixed_input,
    })
}

fn is_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Replaces folders by their plans.
fn expand(workspace: &Workspace, named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let here = [PathBuf::from(".")];
    let named = if named.is_empty() { &here[..] } else { named };
    let mut files = Vec::new();
    for given in named {
        let path = workspace.path(given);
        match () {
            () if is_input(given) => files.push(given.clone()),
            () if path.is_dir() => {
                let found = plans_in(&path, given).or_else(|failure| match named.len() {
                    1 => Err(failure),
                    _ => Ok(Vec::new()),
                });
                files.extend(found?);
            }
            () => files.push(path),
        }
    }
    let mut seen = HashSet::new();
    files.retain(|path| seen.insert(path.clone()));
    Ok(files)
}

/// Returns the plans below a folder; a failure if there are none.
fn plans_in(folder: &Path, given: &Path) -> Result<Vec<PathBuf>> {
    let found = plans_below(folder);
    let root = root_of(&std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()));
    let config = config::load(&root, &ConfigInputs::of_process()).config;
    let n_found = found.len();
    let found = without_excluded(found, &root, &config.check_exclude);
    match (found.is_empty(), n_found) {
        (false, _) => Ok(found),
        (true, 0) => Err(Failure::problem(
            format!("no plans found below `{}`", given.display()),
            CREATE_PLAN,
        )),
        (true, _) => Err(Failure::problem(
            format!("`check.exclude` excludes every plan below `{}`", given.display()),
            "name a plan file to check it, or change `check.exclude` in planwright.toml",
        )),
    }
}

struct FileCheck {
    path: PathBuf,
    shown: String,
    /// The result; none if the file could not be read.
    seen: Result<SeenFile, LoadError>,
    fixing: Option<Fixing>,
    fixes: Option<FileFixes>,
    diff: Option<String>,
}

/// The reported data of a file. There may be thousands of files: nothing else is kept.
struct SeenFile {
    /// The text; empty if no finding needs it.
    source: SourceText,
    dialect: Option<&'static str>,
    form: Option<&'static str>,
    n_tasks: Option<usize>,
    diagnostics: Vec<Diagnostic>,
    /// The file of the version before this one.
    before: Option<PathBuf>,
}

impl SeenFile {
    fn new(inspection: Inspection, path: &Path) -> Self {
        let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
        SeenFile {
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

    /// Returns the result for an unread file: a file that is too large has a finding of its own; otherwise the environment failed.
    fn unread(error: LoadError) -> Result<Self, LoadError> {
        match error {
            LoadError::TooLarge { .. } => Ok(SeenFile {
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
}

/// Returns the finding with the reason why a file was not read.
fn finding_of(rule: &'static Rule, error: &LoadError) -> Diagnostic {
    Diagnostic::of_file(rule, with_causes(error)).with_help(error.help())
}

fn load(workspace: &Workspace, path: &Path) -> Result<SourceText, LoadError> {
    let loaded = match path {
        path if is_input(path) => workspace.load_input(),
        // An unreadable folder; the others are searched.
        path if path.is_dir() => Err(std::fs::read_dir(path)
            .err()
            .map_or(LoadError::Directory { path: path.to_owned() }, |error| {
                LoadError::new(path, error)
            })),
        path => store::load(path),
    };
    loaded.map(|loaded| loaded.source)
}

impl FileCheck {
    fn new(workspace: &Workspace, path: PathBuf, forced: Option<&'static dyn Dialect>, request: &CheckRequest) -> Self {
        let source = match load(workspace, &path) {
            Ok(source) => source,
            Err(error) => return FileCheck::unfixed(path, SeenFile::unread(error)),
        };
        let on_disk = (!is_input(&path)).then_some(path.as_path());
        let examined = inspect_file(&source, on_disk, forced);
        let name = on_disk.map(slashed);
        let seen = SeenFile::new(examined.inspection, &path);
        let mut check = FileCheck::unfixed(path, Ok(seen));
        if request.fix || request.diff {
            let choice = Choice {
                dialects: DIALECTS,
                forced,
                path: name.as_deref(),
                facts: &examined.facts,
            };
            check.find_fixes(source, &choice, request);
        }
        check
    }

    fn unfixed(path: PathBuf, seen: Result<SeenFile, LoadError>) -> Self {
        let shown = path.to_string_lossy();
        FileCheck {
            shown: shown.strip_prefix("./").unwrap_or(&shown).to_owned(),
            seen,
            fixing: None,
            fixes: None,
            diff: None,
            path,
        }
    }

    fn find_fixes(&mut self, source: SourceText, choice: &Choice<'_>, request: &CheckRequest) {
        let safety = match request.unsafe_fixes {
            true => Safety::Unsafe,
            false => Safety::Safe,
        };
        let fixed = fix(&source, choice, safety);
        let is_changed = !fixed.applied.is_empty();
        if request.diff {
            let diff = || unified_diff(&self.shown, source.as_str(), fixed.source.as_str());
            self.diff = is_changed.then(diff);
            return;
        }
        self.fixes = Some(FileFixes {
            applied: fixed.applied.clone(),
            n_refused: fixed.n_refused,
            is_dry: request.dry_run,
            notices: Vec::new(),
            failure: None,
        });
        if !request.dry_run {
            let on_disk = (!is_input(&self.path)).then_some(self.path.as_path());
            self.fixing = Some(Fixing {
                path: self.path.clone(),
                after: is_changed.then(|| inspect_file(&fixed.source, on_disk, choice.forced).inspection),
                old: source,
                fixed,
            });
        }
    }

    fn report(self) -> CheckedFile {
        let (source, findings, failure, seen) = match self.seen {
            Ok(mut seen) => {
                let findings = std::mem::take(&mut seen.diagnostics);
                (seen.source.clone(), findings, None, Some(seen))
            }
            Err(error) => {
                let finding = finding_of(&UNREADABLE_FILE, &error);
                (SourceText::new(""), vec![finding], Some(with_causes(&error)), None)
            }
        };
        let index = source.line_index();
        let diagnostics = findings.iter().map(|found| DiagnosticReport::new(found, &index));
        let diagnostics = diagnostics.collect();
        let fix_failure = self.fixes.as_ref().and_then(|fixes| fixes.failure.as_ref());
        CheckedFile {
            path: self.shown.clone(),
            dialect: seen.as_ref().and_then(|seen| seen.dialect),
            form: seen.as_ref().and_then(|seen| seen.form),
            tasks: seen.as_ref().and_then(|seen| seen.n_tasks),
            failure,
            fix_failure: fix_failure.map(Failure::to_string),
            diff: self.diff,
            diagnostics,
            findings: FileFindings {
                path: self.shown,
                source,
                findings,
            },
            fixes: self.fixes,
        }
    }
}

/// Writes the fixes of all files. A file that cannot be written does not prevent the others.
fn write_fixes(checks: &mut [FileCheck]) {
    let fixings: Vec<&Fixing> = checks.iter().filter_map(|file| file.fixing.as_ref()).collect();
    let mut results = write_all(&fixings).into_iter();
    for file in checks {
        let (Some(fixing), Some(fixes)) = (file.fixing.take(), &mut file.fixes) else {
            continue;
        };
        match results.next().unwrap_or_else(|| Ok(Vec::new())) {
            Ok(notices) => {
                fixes.notices = notices.iter().map(ToString::to_string).collect();
                if let Some(after) = fixing.after {
                    file.seen = Ok(SeenFile::new(after, &fixing.path));
                }
            }
            Err(failure) => fixes.failure = Some(failure),
        }
    }
}

/// Omits findings in superseded and archived plans, as long as they are readable: they stay unchanged. A named file is checked in full.
fn forget_past_plans(named: &[PathBuf], checks: &mut [FileCheck]) {
    let seen = checks.iter().filter_map(|file| file.seen.as_ref().ok());
    let replaced: HashSet<PathBuf> = seen.filter_map(|seen| seen.before.clone()).collect();
    for file in checks {
        let is_archived = archive_path(&slashed(&file.path)).is_none();
        let is_past = (replaced.contains(&file.path) || is_archived) && !named.contains(&file.path);
        if let (true, Ok(seen)) = (is_past, &mut file.seen) {
            seen.diagnostics.retain(|found| found.severity == Severity::Error);
        }
    }
}

fn summary_of(files: &[CheckedFile]) -> CheckSummary {
    let found = || files.iter().flat_map(|file| &file.findings.findings);
    let count = |severity: Severity| found().filter(|found| found.severity == severity).count();
    CheckSummary {
        files: files.len(),
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        notes: count(Severity::Note),
        unreadable: files.iter().filter(|file| file.failure.is_some()).count(),
    }
}

fn exit_of(files: &[CheckedFile], deny_warnings: bool) -> Exit {
    let worst_allowed = match deny_warnings {
        true => Severity::Warning,
        false => Severity::Error,
    };
    let exit = |file: &CheckedFile| match () {
        () if file.fix_failure.is_some() || file.failure.is_some() => Exit::Environment,
        () if file
            .findings
            .findings
            .iter()
            .any(|found| found.severity >= worst_allowed) =>
        {
            Exit::Problems
        }
        () => Exit::Success,
    };
    files.iter().map(exit).max().unwrap_or(Exit::Success)
}
