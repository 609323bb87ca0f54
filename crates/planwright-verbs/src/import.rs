//! The verb `import`: creates a stored plan from a file of another tool, or from a model's answer.

use std::path::{Path, PathBuf};

use planwright_core::convert::{self, ConversionOptions, Imported, PlanningRequest};
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect::{DIALECTS, Dialect};
use planwright_core::document;
use planwright_core::outline::rules::{GUESS, IN_DESCRIPTION, TWO_PLANS};
use planwright_core::outline::{self, Outline};
use planwright_core::text::{SourceText, Span};
use planwright_run::inspect_file::inspect_file;
use planwright_run::layout::root_of;
use planwright_run::store::LoadError;
use serde::Deserialize;

use crate::configuration::sound_config;
use crate::failure::{Failure, Result, fix_first};
use crate::planning::{
    Confirmation, CreatedText, NamedText, OutlineObserver, OutlineReading, WrittenReport, create_plan, declined,
    dialect_or_default, is_input, new_path_of, other_notes, refused_answer, remark_same_title, require_new,
    session_file, task_names, with_id_source_for,
};
use crate::plans::{dialect_named, stem_of};
use crate::run_history::first_step;
use crate::text::one_line;
use crate::workspace::Workspace;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportRequest {
    /// The file to import; `-` for the input of the caller.
    pub file: PathBuf,
    /// The new file; none for the default of the dialect.
    pub out: Option<PathBuf>,
    /// The OpenCrabs session of the plan.
    pub session: Option<String>,
    /// The dialect to read the file in, and of the plan from an answer.
    pub dialect: Option<String>,
    /// The goal of the plan, if the answer has none.
    pub goal: Option<String>,
    /// Imports an answer without a question.
    #[serde(default)]
    pub yes: bool,
    /// Imports the complete tasks of an answer that is cut off.
    #[serde(default)]
    pub partial: bool,
    #[serde(default)]
    pub dry_run: bool,
    #[serde(default)]
    pub diff: bool,
}

/// No larger files are imported: a tool of one of the dialects refuses them too.
const MAX_IMPORT: usize = 10 * 1024 * 1024;

/// Imports a plan. The user confirms a plan that was read from an answer.
pub fn import(
    workspace: &Workspace,
    request: &ImportRequest,
    observer: &mut dyn OutlineObserver,
) -> Result<WrittenReport> {
    let import = Importer {
        workspace,
        request,
        text: importable(workspace, &request.file)?,
    };
    let refused = |found| refused_answer(workspace, &import.text, found);
    let outline = match import.exact() {
        Ok(exact) if import.says_more_than_lines(exact.dialect) => {
            match outline::read(&import.text.source, request.partial) {
                Ok(outline) => outline,
                Err(_) => return import.write_exact(&exact),
            }
        }
        Ok(exact) => match other_plan(&import.text.source, exact.part, request.partial) {
            None => return import.write_exact(&exact),
            Some(outline) => outline.map_err(refused)?,
        },
        Err(not_exact) if not_exact.has_conflict => return Err(not_exact.failure),
        Err(not_exact) => match outline::read(&import.text.source, request.partial) {
            Ok(outline) if not_exact.is_complete && has_other_fields(&outline) => return Err(not_exact.failure),
            Ok(outline) => outline,
            Err(found) if not_exact.n_errors.is_some_and(|n_errors| n_errors <= found.len()) => {
                return Err(not_exact.failure);
            }
            Err(found) => return Err(refused(found)),
        },
    };
    import.write_outline(outline, observer)
}

fn importable(workspace: &Workspace, file: &Path) -> Result<NamedText> {
    let path = workspace.path(file);
    if !is_input(file) && path.is_symlink() {
        return Err(Failure::problem(
            format!("`{}` is a symbolic link, and those are not imported", path.display()),
            "name the file that it leads to",
        ));
    }
    if !is_input(file) && !path.exists() {
        return Err(Failure {
            help: "check the path of the file; `-` reads standard input".to_owned(),
            ..Failure::from(LoadError::Missing { path })
        });
    }
    let text = NamedText::load(workspace, file)?;
    let n_bytes = text.source.len();
    if n_bytes > MAX_IMPORT {
        return Err(Failure::problem(
            format!("the file has {n_bytes} bytes, and up to {MAX_IMPORT} are imported"),
            "split the plan",
        ));
    }
    Ok(text)
}

struct Importer<'a> {
    workspace: &'a Workspace,
    request: &'a ImportRequest,
    text: NamedText,
}

/// A text that is a plan of a dialect.
struct Exact {
    dialect: &'static dyn Dialect,
    imported: Imported,
    date: String,
    /// The span of the plan in the text, if it is not the whole text.
    part: Option<Span>,
}

/// Why a text cannot be imported as a plan of a dialect.
struct NotExact {
    failure: Failure,
    /// The number of its errors as a plan of the dialect, if it has tasks. The reading with fewer errors is chosen.
    n_errors: Option<usize>,
    /// Whether it has all fields of the dialect, so that its errors are in their values.
    is_complete: bool,
    /// Whether it has git's conflict markers, of which a person must choose one side.
    has_conflict: bool,
}

impl Importer<'_> {
    /// Imports the text as a plan of its own dialect.
    fn exact(&self) -> Result<Exact, NotExact> {
        let source = &self.text.source;
        let dialect = match self.request.dialect.as_deref() {
            Some(name) => dialect_named(name),
            None => self
                .text
                .dialect("say so with --dialect; `planwright schema` lists them"),
        };
        let dialect = dialect.map_err(|failure| NotExact {
            failure,
            n_errors: None,
            is_complete: false,
            has_conflict: has_conflict(source),
        })?;
        let options = ConversionOptions {
            session: self.request.session.clone(),
            ..ConversionOptions::default()
        };
        let (date, imported) = with_id_source_for(self.workspace, dialect, self.out().as_deref(), |id_source| {
            let imported = convert::import(source, dialect, &options, id_source);
            (id_source.date().to_owned(), imported)
        });
        let imported = imported.map_err(|found| self.not_exact(dialect, found))?;
        let carrier = inspect_file(source, None, Some(dialect)).inspection.carrier;
        let part = carrier.map(|(_, part)| part).filter(|part| *part != source.span());
        Ok(Exact {
            dialect,
            imported,
            date,
            part,
        })
    }

    /// Returns whether the text may be a model's answer that only happens to be a plan of its dialect.
    fn says_more_than_lines(&self, dialect: &'static dyn Dialect) -> bool {
        let inspection = inspect_file(&self.text.source, self.text.file(), Some(dialect)).inspection;
        let plan = inspection.plan.map(|linked| linked.plan);
        self.request.dialect.is_none() && plan.is_some_and(|plan| dialect.is_free_form(&plan))
    }

    fn not_exact(&self, dialect: &'static dyn Dialect, found: Vec<Diagnostic>) -> NotExact {
        let n_errors = found.iter().filter(|found| found.severity == Severity::Error).count();
        let message = match n_errors {
            1 => "the plan is not imported: one of its problems prevents it".to_owned(),
            n => format!("the plan is not imported: {n} of its problems prevent it"),
        };
        let inspection = inspect_file(&self.text.source, None, Some(dialect)).inspection;
        let has_tasks = inspection.plan.is_some_and(|linked| !linked.plan.tasks().is_empty());
        let is_syntax = |found: &Diagnostic| document::rules::ALL.iter().any(|rule| rule.id == found.rule.id);
        let is_complete = !found.iter().any(|found| found.missing.is_some() || is_syntax(found));
        let help = fix_first(&self.text.path, &found);
        NotExact {
            failure: Failure::shown(message, help, self.text.evidence(found)),
            n_errors: has_tasks.then_some(n_errors),
            is_complete: has_tasks && is_complete,
            has_conflict: has_conflict(&self.text.source),
        }
    }

    fn write_exact(self, exact: &Exact) -> Result<WrittenReport> {
        let Exact { dialect, imported, .. } = exact;
        if self.request.goal.is_some() {
            self.workspace
                .remark("note: --goal is not used: the file is a plan, and keeps its own goal");
        }
        let out = self.place(*dialect, &imported.text, &exact.date)?;
        let is_written = self.is_to_write(out.as_deref());
        if let Some(out) = out.as_deref() {
            require_new(out)?;
        }
        remark_same_title(self.workspace, &imported.text, *dialect, self.text.file());
        if let Some(out) = out.as_deref().filter(|_| is_written) {
            create_plan(self.workspace, out, &imported.text, *dialect)?;
        }
        let is_by_default = self.request.out.is_none() && self.request.session.is_none();
        Ok(WrittenReport {
            is_apart: is_written && is_by_default && has_sessions(*dialect),
            ..self.report(*dialect, imported, out.as_deref(), is_written)
        })
    }

    /// Writes a plan that was read from an answer, after its confirmation.
    fn write_outline(self, mut outline: Outline, observer: &mut dyn OutlineObserver) -> Result<WrittenReport> {
        let dialect = self.target()?;
        let goal = self.goal_of(&mut outline);
        let wish = PlanningRequest {
            goal: &goal,
            session: self.request.session.as_deref(),
            ..PlanningRequest::default()
        };
        let (date, imported) = with_id_source_for(self.workspace, dialect, self.out().as_deref(), |id_source| {
            let imported = convert::outlined_plan(&outline, dialect, &wish, id_source);
            (id_source.date().to_owned(), imported)
        });
        let imported = imported.map_err(|refused| self.text.refusal(&refused))?;
        let out = self.place(dialect, &imported.text, &date)?;
        let is_written = self.is_to_write(out.as_deref());
        if let Some(out) = out.as_deref() {
            require_new(out)?;
        }
        let reading = OutlineReading {
            outline: &outline,
            source: &self.text.source,
            names: &task_names(&imported.text, dialect),
        };
        observer.shows_outline(&reading);
        remark_same_title(self.workspace, &imported.text, dialect, self.text.file());
        if let Some(out) = out.as_deref().filter(|_| is_written) {
            if !self.request.yes && !self.is_confirmed(&reading, out, observer)? {
                return Err(declined(self.workspace));
            }
            create_plan(self.workspace, out, &imported.text, dialect)?;
        }
        let tasks = reading.rows();
        let mut report = self.report(dialect, &imported, out.as_deref(), is_written);
        report.tasks = Some(tasks);
        report.findings.findings = other_notes(&imported.notes);
        Ok(report)
    }

    fn is_confirmed(
        &self,
        reading: &OutlineReading<'_>,
        out: &Path,
        observer: &mut dyn OutlineObserver,
    ) -> Result<bool> {
        match observer.confirms_outline(reading, Some(out)) {
            Confirmation::Yes => Ok(true),
            Confirmation::No => Ok(false),
            Confirmation::CannotAsk => {
                let guesses = match reading.outline.guesses.len() {
                    0 => "no guess".to_owned(),
                    1 => "1 guess".to_owned(),
                    n => format!("{n} guesses"),
                };
                Err(Failure::usage(
                    format!(
                        "the plan was extracted from an answer with {guesses}, and there is no terminal to confirm it on"
                    ),
                    format!("confirm it with --yes: {}", self.workspace.with_option("--yes")),
                ))
            }
        }
    }

    fn report(
        self,
        dialect: &'static dyn Dialect,
        imported: &Imported,
        out: Option<&Path>,
        is_written: bool,
    ) -> WrittenReport {
        let next = out.filter(|_| is_written).and_then(|out| {
            let inspection = inspect_file(&SourceText::new(imported.text.as_str()), None, Some(dialect)).inspection;
            inspection.plan.as_ref().map(|linked| first_step(linked, out))
        });
        let written = CreatedText {
            verb: "import",
            dialect,
            out,
            is_written,
            text: &imported.text,
            notes: imported.notes.clone(),
            old: self.request.diff.then_some(""),
        };
        WrittenReport {
            next,
            ..written.report(self.text)
        }
    }

    fn out(&self) -> Option<PathBuf> {
        self.request.out.as_ref().map(|out| self.workspace.path(out))
    }

    fn is_to_write(&self, out: Option<&Path>) -> bool {
        out.is_some() && !self.request.dry_run && !self.request.diff
    }

    /// Returns the file of the plan; none if it is printed.
    fn place(&self, dialect: &'static dyn Dialect, text: &str, date: &str) -> Result<Option<PathBuf>> {
        match (self.out(), &self.request.session) {
            (Some(out), _) => Ok(Some(out)),
            (None, Some(session)) => session_file(dialect, session).map(Some),
            (None, None) => Ok(self
                .text
                .file()
                .map(|path| self.default_path(path, dialect, text, date))),
        }
    }

    /// Returns the path for the plan of an imported file: where its tool stores plans. OpenCrabs stores them by session. Without one, the
    /// plan goes next to the file, and `plan.json` becomes `plan.plan.json`.
    fn default_path(&self, path: &Path, dialect: &'static dyn Dialect, text: &str, date: &str) -> PathBuf {
        match has_sessions(dialect) {
            true => path.with_file_name(format!("{}.plan.json", stem_of(path))),
            false => new_path_of(self.workspace, dialect, text, date, None),
        }
    }

    /// Returns the dialect of a plan from an answer.
    fn target(&self) -> Result<&'static dyn Dialect> {
        let has_sessions = |dialect: &&&'static dyn Dialect| has_sessions(**dialect);
        if self.request.dialect.is_none()
            && self.request.session.is_some()
            && let Some(dialect) = DIALECTS.iter().find(has_sessions)
        {
            return Ok(*dialect);
        }
        let root = root_of(self.workspace.folder());
        let config = sound_config(self.workspace, &root, "nothing is planned by it")?.config;
        dialect_or_default(
            self.request.dialect.as_deref(),
            &config,
            &root,
            self.request.out.as_deref(),
        )
    }

    /// Returns the goal of the plan. If neither the request nor the answer has one, it is a guess.
    fn goal_of(&self, outline: &mut Outline) -> String {
        if let Some(goal) = self.request.goal.as_ref().or(outline.goal.as_ref()) {
            return goal.clone();
        }
        let name = self.text.file().map(stem_of).unwrap_or_default();
        let goal = format!("Imported plan {name}").trim_end().to_owned();
        let message = format!(
            "the answer has no goal: the title of the plan is \"{}\"; --goal TEXT sets it",
            one_line(&goal)
        );
        outline.guesses.push(Diagnostic::of_file(&GUESS, message));
        goal
    }
}

/// Reads an answer as an outline if the dialect's plan in it is not the intended one, or not the only one.
fn other_plan(source: &SourceText, part: Option<Span>, is_partial: bool) -> Option<Result<Outline, Vec<Diagnostic>>> {
    let part = part?;
    match outline::read(source, is_partial) {
        Ok(outline) if !outline.place.contains(part) && outline.place.start > part.end => Some(Ok(outline)),
        Err(found) if found.iter().any(|found| found.rule.id == TWO_PLANS.id) => Some(Err(found)),
        _ => None,
    }
}

fn has_conflict(source: &SourceText) -> bool {
    let begins = |mark: &str| source.as_str().lines().any(|line| line.starts_with(mark));
    begins("<<<<<<< ") && begins(">>>>>>> ")
}

/// Returns whether an outline has fields of the text in descriptions, which a plan of the dialect has as fields.
fn has_other_fields(outline: &Outline) -> bool {
    outline.guesses.iter().any(|guess| guess.rule.id == IN_DESCRIPTION.id)
}

/// Returns whether the own tool of a dialect stores a plan for each session.
fn has_sessions(dialect: &dyn Dialect) -> bool {
    dialect.home().is_some_and(|home| home.session_place.is_some())
}
