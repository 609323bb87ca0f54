//! Shared by the verbs that create plans: the text that they read, the path of a new plan, its id, and the report.

use std::path::{Path, PathBuf};

use planwright_core::convert::ConversionRefusal;
use planwright_core::diagnostic::Diagnostic;
use planwright_core::dialect::id_source::IdSource;
use planwright_core::dialect::{DIALECTS, Dialect};
use planwright_core::plan::Field;
use planwright_core::text::SourceText;
use planwright_run::clock;
use planwright_run::error_chain::with_causes;
use planwright_run::files::DiskFiles;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::is_known_id;
use planwright_run::layout::root_of;
use planwright_run::revise::point_at_new;
use planwright_run::runs;
use planwright_run::store::{self, CreateError};
use serde::Serialize;

use super::OutlineRow;
use crate::failure::{Drawn, Evidence, Failure, Result, fix_first};
use crate::json::DiagnosticReport;
use crate::plans::{candidates, exactly_named, plans_titled};
use crate::text::{one_line, printable, some_of, unified_diff};
use crate::workspace::{Workspace, from_here};

/// A text named by a request: a file, or the input of the caller.
pub struct NamedText {
    /// Its path as shown; `-` for the input.
    pub path: PathBuf,
    pub source: SourceText,
}

impl NamedText {
    pub fn load(workspace: &Workspace, named: &Path) -> Result<Self> {
        let (path, loaded) = match is_input(named) {
            true => (named.to_owned(), workspace.load_input()),
            false => {
                let path = workspace.path(named);
                let loaded = store::load(&path);
                (path, loaded)
            }
        };
        let source = loaded?.source;
        Ok(NamedText { path, source })
    }

    /// Returns the file; none if the text came from the input.
    pub fn file(&self) -> Option<&Path> {
        (!is_input(&self.path)).then_some(self.path.as_path())
    }

    /// Returns findings about the text as the evidence of a failure.
    pub fn evidence(&self, findings: Vec<Diagnostic>) -> Evidence {
        evidence(&self.path, &self.source, findings)
    }

    /// Returns the probable dialect of the text.
    pub fn dialect(&self, help: &str) -> Result<&'static dyn Dialect> {
        let inspection = inspect_file(&self.source, self.file(), None).inspection;
        inspection.dialect.ok_or_else(|| {
            let message = "the dialect of this text cannot be determined";
            Failure::shown(message, help, self.evidence(inspection.diagnostics))
        })
    }

    pub fn refusal(&self, refused: &ConversionRefusal) -> Failure {
        let details: Vec<Diagnostic> = refused.to_diagnostics().into_iter().skip(1).collect();
        let help = match refused {
            ConversionRefusal::Unsound(_) => &fix_first(&self.path, &details),
            ConversionRefusal::Invalid { .. } => "nothing was written; the plan lacks what the target requires",
            ConversionRefusal::SameDialect(_) => "name another dialect with --to",
            ConversionRefusal::UpToDate(_) => "there is nothing to do",
            ConversionRefusal::TooManyEdges(_) => "split the plan first",
            ConversionRefusal::NoPlan | ConversionRefusal::NotWritable(_) => {
                "`planwright check` shows what the file is"
            }
        };
        match details.is_empty() {
            true => Failure::problem(refused.to_string(), help),
            false => Failure::shown(refused.to_string(), help, self.evidence(details)),
        }
    }
}

/// Returns whether a request names the input of the caller.
pub fn is_input(named: &Path) -> bool {
    named == Path::new("-")
}

pub(crate) fn evidence(path: &Path, source: &SourceText, findings: Vec<Diagnostic>) -> Evidence {
    Evidence {
        path: path.to_string_lossy().into_owned(),
        source: source.clone(),
        span: None,
        findings,
        drawn: Drawn::Findings,
    }
}

/// Writes a plan to a new file. If the dialect has a pointer file, it names this plan unless another is unfinished.
pub fn create_plan(workspace: &Workspace, path: &Path, text: &str, dialect: &'static dyn Dialect) -> Result<()> {
    store::create(path, text)?;
    if let Some(error) = point_at_new(path, dialect) {
        workspace.remark(&format!("the plan is written, but {}", printable(&with_causes(&error))));
    }
    Ok(())
}

/// Remarks that plans of this workspace already have the title of a new plan, so that the title alone is ambiguous. The source file of the
/// new plan does not count.
pub(crate) fn remark_same_title(
    workspace: &Workspace,
    text: &str,
    dialect: &'static dyn Dialect,
    origin: Option<&Path>,
) {
    let inspection = inspect_file(&SourceText::new(text), None, Some(dialect)).inspection;
    let title = inspection.plan.as_ref().map_or("", |linked| linked.plan.title());
    if title.trim().is_empty() {
        return;
    }
    let origin = origin.and_then(|origin| origin.canonicalize().ok());
    let is_other = |path: &&PathBuf| origin.is_none() || path.canonicalize().ok() != origin;
    let same = plans_titled(workspace, title);
    let same = same.iter().filter(is_other);
    let shown: Vec<String> = same.map(|path| one_line(&path.to_string_lossy())).collect();
    if !shown.is_empty() {
        workspace.remark(&format!(
            "note: a plan with this title exists already: {}; name one of them by its path or id from now on",
            some_of(shown.iter(), 3)
        ));
    }
}

/// Refuses a path at which a file exists.
pub fn require_new(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => {
            let path = path.to_owned();
            Err(Failure::from(CreateError::Exists { path }))
        }
    }
}

pub(crate) fn fresh_number() -> u128 {
    uuid::Uuid::new_v4().as_u128()
}

/// Returns whether a plan of this workspace has or had this id: its history, or its runs and their branch, still exist.
fn is_taken(workspace: &Workspace, id: &str) -> bool {
    let root = root_of(workspace.folder());
    let has_plan = || !exactly_named(&candidates(workspace.folder(), false), id).is_empty();
    let has_run = || {
        let seen = runs::seen(&DiskFiles, &root).into_iter().flatten();
        seen.flatten().any(|run| run.header.id.as_deref() == Some(id))
    };
    has_plan() || is_known_id(&DiskFiles, &root, id) || has_run()
}

/// Calls a function with a source of new ids and the present time.
pub fn with_id_source<T>(workspace: &Workspace, call: impl FnOnce(&mut IdSource<'_>) -> T) -> T {
    let is_taken = |id: &str| is_taken(workspace, id);
    let mut fresh = fresh_number;
    call(&mut IdSource {
        is_taken: &is_taken,
        ..IdSource::new(clock::now(), &mut fresh)
    })
}

/// Calls a function with a source of ids for a plan in a file, if its path is known.
pub fn with_id_source_for<T>(
    workspace: &Workspace,
    dialect: &dyn Dialect,
    out: Option<&Path>,
    call: impl FnOnce(&mut IdSource<'_>) -> T,
) -> T {
    with_id_source(workspace, |id_source| {
        id_source.name = out.and_then(|out| name_at_home(dialect, out));
        call(id_source)
    })
}

/// Returns the name of a plan's file, if it is where its tool finds plans by name.
fn name_at_home(dialect: &dyn Dialect, out: &Path) -> Option<String> {
    let name = out.file_stem()?.to_str()?;
    let home = dialect.new_place(Some(name), "", "");
    std::path::absolute(out).ok()?.ends_with(home).then(|| name.to_owned())
}

/// Returns the default path of a new plan: where its tool stores plans, by its id or its title.
pub fn new_path(workspace: &Workspace, dialect: &dyn Dialect, id: Option<&str>, date: &str, title: &str) -> PathBuf {
    let root = root_of(workspace.folder());
    let usual = root.join(dialect.new_place(id, date, &slug(title)));
    // Where all plans of a dialect have one name, further ones get their id or title after it.
    let has_one_name = dialect.new_place(Some("a"), date, "a") == dialect.new_place(Some("b"), date, "b");
    match usual
        .file_stem()
        .zip(usual.extension())
        .filter(|_| has_one_name && usual.exists())
    {
        Some((stem, extension)) => {
            let name = format!(
                "{}-{}.{}",
                stem.to_string_lossy(),
                id.map_or_else(|| slug(title), str::to_owned),
                extension.to_string_lossy()
            );
            from_here(&usual.with_file_name(name))
        }
        None => from_here(&usual),
    }
}

/// Returns the default path for a text of which only the dialect is known.
pub fn new_path_of(
    workspace: &Workspace,
    dialect: &'static dyn Dialect,
    text: &str,
    date: &str,
    title: Option<&str>,
) -> PathBuf {
    let inspection = inspect_file(&SourceText::new(text), None, Some(dialect)).inspection;
    let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
    let id = plan.and_then(|plan| plan.head_str(Field::Id));
    let title = title.unwrap_or_else(|| plan.map_or("", |plan| plan.title()));
    new_path(workspace, dialect, id, date, title)
}

/// Returns a title as a part of a file name: lower-case words with hyphens.
fn slug(title: &str) -> String {
    const MAX_LEN: usize = 40;
    let mut slug = String::new();
    for c in title.chars() {
        if slug.len() >= MAX_LEN {
            break;
        }
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    match slug.trim_end_matches('-') {
        "" => "plan".to_owned(),
        slug => slug.to_owned(),
    }
}

/// Returns the file in which a dialect's tool stores the plan of a session.
pub fn session_file(dialect: &dyn Dialect, session: &str) -> Result<PathBuf> {
    let id = uuid::Uuid::parse_str(session).map_err(|_| {
        let mut places = DIALECTS.iter().filter_map(|dialect| dialect.home()?.session_place);
        let example = places.next().map(|place| place("<uuid>")).unwrap_or_default();
        let example = example.rsplit('/').next().unwrap_or_default();
        Failure::usage(
            format!("`{}` is not a UUID", printable(session)),
            format!("sessions are named by UUIDs, as in {example}"),
        )
    })?;
    let home = std::env::home_dir()
        .ok_or_else(|| Failure::problem("there is no home folder to write to", "name a file with --out"))?;
    let place = dialect.home().and_then(|own| own.session_place);
    let place = place.ok_or_else(|| {
        Failure::usage(
            format!("{} plans belong to no session", dialect.name()),
            "leave --session out",
        )
    })?;
    Ok(home.join(place(&id.to_string())))
}

/// Findings about a text, for callers that draw excerpts.
pub struct SourceFindings {
    /// The path of the text as shown.
    pub path: PathBuf,
    pub source: SourceText,
    pub findings: Vec<Diagnostic>,
}

/// A text that was written, or would be in a dry run.
#[derive(Serialize)]
pub struct WrittenReport {
    pub schema_version: &'static str,
    pub verb: &'static str,
    pub dialect: &'static str,
    /// The written or intended file; null if the text is printed.
    pub out: Option<String>,
    pub written: bool,
    /// The copy of the original, or its intended path.
    pub backup: Option<String>,
    /// The text, if it was not written.
    pub text: Option<String>,
    pub notes: Vec<DiagnosticReport>,
    /// For a plan read from an answer, its tasks as they were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<OutlineRow>>,
    /// The changes of the file, if a diff was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The notes, without those that a table of tasks shows.
    #[serde(skip)]
    pub findings: SourceFindings,
    #[serde(skip)]
    pub next: Option<String>,
    /// Whether the plan is outside of the folders in which plans are found by name.
    #[serde(skip)]
    pub is_apart: bool,
}

/// A text to write or to show.
pub(crate) struct CreatedText<'a> {
    pub(crate) verb: &'static str,
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) out: Option<&'a Path>,
    pub(crate) is_written: bool,
    pub(crate) text: &'a str,
    pub(crate) notes: Vec<Diagnostic>,
    /// The text to compare with, if a diff was requested.
    pub(crate) old: Option<&'a str>,
}

impl CreatedText<'_> {
    /// Reports it; `origin` is its source.
    pub(crate) fn report(self, origin: NamedText) -> WrittenReport {
        let name = self.out.unwrap_or(&origin.path).to_string_lossy();
        let old = self.old.filter(|_| !self.is_written);
        let index = origin.source.line_index();
        let notes = self.notes.iter().map(|found| DiagnosticReport::new(found, &index));
        WrittenReport {
            schema_version: "planwright.written/v1",
            verb: self.verb,
            dialect: self.dialect.name(),
            out: self.out.map(|out| out.to_string_lossy().into_owned()),
            written: self.is_written,
            backup: None,
            text: (!self.is_written).then(|| self.text.to_owned()),
            notes: notes.collect(),
            tasks: None,
            diff: old.map(|old| unified_diff(&name, old, self.text)),
            findings: SourceFindings {
                path: origin.path,
                source: origin.source,
                findings: self.notes,
            },
            next: None,
            is_apart: false,
        }
    }
}
