//! Shared code of the verbs that create plans: input, output path, name, report.

use std::path::{Path, PathBuf};

use planwright_core::convert::Refused;
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect::Dialect;
use planwright_core::dialect::id_source::IdSource;
use planwright_core::text::SourceText;
use planwright_run::clock;
use planwright_run::error_chain::with_causes;
use planwright_run::files::DiskFiles;
use planwright_run::inspect_file::inspect_file;
use planwright_run::layout::root_of;
use planwright_run::revise::point_at_new;
use planwright_run::runs;
use planwright_run::store;
use serde::Serialize;

use super::exit::{Drawn, Evidence, Exit, Failure, fix_first};
use super::outline::OutlineRow;
use super::output::Output;
use super::plan_arg::{candidates, load_failure};
use super::plan_entries::from_here;
use crate::render::diff::unified_diff;
use crate::render::json::DiagnosticReport;
use crate::render::terminal::printable;
use crate::render::text::{Teller, findings};

/// The version of what the report of a new text is printed as in JSON.
const VERSION: &str = "planwright.written/v1";

/// Returns a number that nobody has had before.
pub(super) fn fresh() -> u128 {
    uuid::Uuid::new_v4().as_u128()
}

pub(super) fn loaded(path: &Path) -> anyhow::Result<SourceText> {
    let loaded = if is_stdin(path) {
        store::load_stdin()
    } else {
        store::load(path)
    };
    loaded.map(|loaded| loaded.source).map_err(|error| load_failure(&error))
}

pub(super) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes a plan to a new file. Where the dialect has a file that says which plan is being worked on, it names this one unless
/// another is unfinished.
pub(super) fn create_plan(
    path: &Path,
    text: &str,
    dialect: &'static dyn Dialect,
    output: &mut Output,
) -> anyhow::Result<()> {
    store::create(path, text).map_err(not_created)?;
    if let Some(error) = point_at_new(path, dialect) {
        output.remark(&format!("the plan is written, but {}", printable(&with_causes(&error))));
    }
    Ok(())
}

pub(super) fn not_created(error: store::CreateError) -> anyhow::Error {
    match error {
        store::CreateError::Exists { .. } => Failure::problem(error.to_string(), error.help()),
        store::CreateError::Io { .. } | store::CreateError::NotConfirmed { .. } => {
            Failure::environment(&error, error.help())
        }
    }
}

/// Refuses a path that has something already.
pub(super) fn require_new(path: &Path) -> anyhow::Result<()> {
    match path.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => {
            let path = path.to_owned();
            Err(not_created(store::CreateError::Exists { path }))
        }
    }
}

/// Returns what stands in the way of making a plan.
pub(super) fn evidence(path: &Path, source: &SourceText, findings: Vec<Diagnostic>) -> Evidence {
    Evidence {
        path: path.to_string_lossy().into_owned(),
        source: source.clone(),
        span: None,
        findings,
        drawn: Drawn::Findings,
    }
}

/// Returns a refusal with all that it rests on.
pub(super) fn refusal(path: &Path, source: &SourceText, refused: &Refused) -> anyhow::Error {
    let details: Vec<Diagnostic> = refused.to_diagnostics().into_iter().skip(1).collect();
    let help = match refused {
        Refused::Unsound(_) => &fix_first(path, &details),
        Refused::Invalid { .. } => "nothing was written; what the target asks for is not in this plan",
        Refused::SameDialect(_) => "name another dialect with --to",
        Refused::UpToDate(_) => "there is nothing to do",
        Refused::TooManyEdges(_) => "split the plan first",
        Refused::NoPlan | Refused::NotWritable(_) => "`planwright check` says what the file holds",
    };
    match details.is_empty() {
        true => Failure::problem(refused.to_string(), help),
        false => Failure::shown(refused.to_string(), help, evidence(path, source, details)),
    }
}

/// Shows what is to be known of a plan that is made.
pub(super) fn show_account(path: &Path, source: &SourceText, found: &[Diagnostic], output: &mut Output) {
    let text = findings(
        &path.to_string_lossy(),
        source,
        found,
        Teller::RunState,
        output.paint_beside(),
        output.width(),
    );
    if !output.is_quiet() || found.iter().any(|found| found.severity == Severity::Error) {
        output.note(&text);
    }
}

/// Returns whether a plan of this workspace is called so, or was: its runs and their branch are still there.
pub(super) fn is_taken(id: &str) -> bool {
    let stem = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == id);
    let has_run = || {
        let places = runs::list(&DiskFiles, &root_of(Path::new("."))).unwrap_or_default();
        let mut headers = places.iter().filter_map(|place| runs::header(&place.log()).ok());
        headers.any(|header| header.id.as_deref() == Some(id))
    };
    candidates(Path::new("."), false).iter().any(stem) || has_run()
}

/// Has a function use a source of ids of new ids and the present time.
pub(crate) fn with_id_source<T>(call: impl FnOnce(&mut IdSource<'_>) -> T) -> T {
    let is_taken = |id: &str| is_taken(id);
    let mut fresh = fresh;
    call(&mut IdSource {
        is_taken: &is_taken,
        ..IdSource::new(clock::now(), &mut fresh)
    })
}

/// Has a function use a source of ids for a plan that goes to a file, if its place is known.
pub(super) fn with_id_source_for<T>(
    dialect: &dyn Dialect,
    out: Option<&Path>,
    call: impl FnOnce(&mut IdSource<'_>) -> T,
) -> T {
    with_id_source(|id_source| {
        id_source.name = out.and_then(|out| name_at_home(dialect, out));
        call(id_source)
    })
}

/// Returns what a plan's file is called, if it lies where its tool finds plans by that name.
fn name_at_home(dialect: &dyn Dialect, out: &Path) -> Option<String> {
    let name = out.file_stem()?.to_str()?;
    let home = dialect.new_place(Some(name), "", "");
    std::path::absolute(out).ok()?.ends_with(home).then(|| name.to_owned())
}

/// Returns where a new plan goes that nothing names a file for: where its tool keeps plans, by its id or its title.
pub(super) fn new_path(dialect: &dyn Dialect, id: Option<&str>, date: &str, title: &str) -> PathBuf {
    from_here(&root_of(Path::new(".")).join(dialect.new_place(id, date, &slug(title))))
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

pub(super) fn say_written(out: &Path, is_written: bool, output: &mut Output) {
    let out = out.to_string_lossy();
    match is_written {
        true => output.line(&format!("wrote {}", printable(&out))),
        false => output.remark(&format!("would write {}", printable(&out))),
    }
}

pub(super) fn sniffed(
    shown: &Path,
    source: &SourceText,
    path: Option<&Path>,
    help: &str,
) -> anyhow::Result<&'static dyn Dialect> {
    let inspection = inspect_file(source, path, None).inspection;
    inspection.dialect.ok_or_else(|| {
        Failure::shown(
            "it cannot be told in which dialect this is written",
            help,
            evidence(shown, source, inspection.diagnostics),
        )
    })
}

/// Returns the file in which a dialect's tool keeps the plan of a session.
pub(super) fn session_file(dialect: &dyn Dialect, session: &str) -> anyhow::Result<PathBuf> {
    let id = uuid::Uuid::parse_str(session).map_err(|_| {
        Failure::usage(
            format!("`{}` is not a UUID", printable(session)),
            "sessions are named by UUIDs, as in .opencrabs_plan_<uuid>.json",
        )
    })?;
    let home = std::env::home_dir()
        .ok_or_else(|| Failure::problem("there is no home folder to write to", "name a file with --out"))?;
    let place = dialect.home().and_then(|own| own.session_place(&id.to_string()));
    let place = place.ok_or_else(|| {
        Failure::usage(
            format!("{} plans belong to no session", dialect.name()),
            "leave --session out",
        )
    })?;
    Ok(home.join(place))
}

#[derive(Serialize)]
struct WrittenReport<'a> {
    schema_version: &'static str,
    verb: &'static str,
    dialect: &'static str,
    /// The file that was written, or would be; null for standard output.
    out: Option<String>,
    /// Whether anything was written.
    written: bool,
    /// The copy of the original, or where it would be.
    backup: Option<String>,
    text: Option<&'a str>,
    notes: Vec<DiagnosticReport>,
    /// Where the plan was read out of an answer: what was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<&'a [OutlineRow]>,
    /// With `--diff`: what would change in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// A text that was written, or would be.
pub(super) struct Written<'a> {
    pub(super) verb: &'static str,
    pub(super) dialect: &'static dyn Dialect,
    pub(super) out: Option<&'a Path>,
    pub(super) is_written: bool,
    pub(super) text: &'a str,
    pub(super) notes: &'a [Diagnostic],
    pub(super) backup: Option<&'a Path>,
    /// The tasks of an answer that the text was made of.
    pub(super) tasks: Option<Vec<OutlineRow>>,
}

/// What is shown of a text that is not written.
#[derive(Clone, Copy)]
pub(super) enum Show<'a> {
    /// All of it.
    Text,
    /// How it differs from this one.
    Diff(&'a str),
}

impl Written<'_> {
    pub(super) fn report(
        &self,
        path: &Path,
        source: &SourceText,
        json: bool,
        show: Show<'_>,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let diff = match show {
            Show::Text => None,
            Show::Diff(old) => Some(unified_diff(
                &self.out.unwrap_or(path).to_string_lossy(),
                old,
                self.text,
            )),
        };
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        if json {
            let index = source.line_index();
            output.json(&WrittenReport {
                schema_version: VERSION,
                verb: self.verb,
                dialect: self.dialect.name(),
                out: self.out.map(shown),
                written: self.is_written,
                backup: self.backup.map(shown),
                text: (!self.is_written).then_some(self.text),
                notes: self
                    .notes
                    .iter()
                    .map(|found| DiagnosticReport::new(found, &index))
                    .collect(),
                tasks: self.tasks.as_deref(),
                diff: diff.filter(|_| !self.is_written),
            })?;
            return Ok(Exit::Success);
        }
        show_account(path, source, self.notes, output);
        if !self.is_written {
            let text = diff.as_deref().unwrap_or(self.text);
            output.write_exact(text);
        }
        if let Some(out) = self.out {
            say_written(out, self.is_written, output);
        }
        if let Some(backup) = self.backup {
            let kept = if self.is_written { "is kept" } else { "would be kept" };
            let backup = backup.to_string_lossy();
            output.remark(&format!("the original {kept} as {}", printable(&backup)));
        }
        Ok(Exit::Success)
    }
}
