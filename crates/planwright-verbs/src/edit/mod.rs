//! The verb `edit`: the text of a plan, or of one task as a small form, which the user edits. The new text is checked, and written through
//! the store.

mod editor_file;
mod form_edits;
mod task_form;

use std::path::{Path, PathBuf};

use planwright_core::change::Problem;
use planwright_core::diagnostic::Severity;
use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_core::text::{SourceText, Span};
use planwright_run::clock;
use planwright_run::inspect_file::inspect_file;
use planwright_run::revise::{self, ReviseError, RevisedPlan, task_named};
use planwright_run::store;
use serde::{Deserialize, Serialize};

pub use self::editor_file::{EditForm, EditorFile};
use self::form_edits::{FormEdits, field_changes};
use self::task_form::{FormFields, SpecialFields, form_of, parse};
use crate::changes::{ChangeMode, ChangeReport, ChangeWords, diff_of, refuse_in_review, revise_failure};
use crate::failure::{Drawn, Evidence, Failure, Result};
use crate::plans::{FoundPlan, PlanChoice, plan_before_task};
use crate::text::{one_line, shown_name};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EditFormRequest {
    /// The plan, or a task of the plan. A name of a plan takes precedence.
    pub what: Option<String>,
    pub plan: PlanChoice,
    /// A file with the initial text, as saved by a refused edit.
    pub from: Option<PathBuf>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditRequest {
    #[serde(default)]
    pub plan: PlanChoice,
    /// The task; none for the whole plan.
    #[serde(default)]
    pub task: Option<String>,
    /// The text of [`EditForm`] before the edit: the plan must still have it.
    pub based_on: String,
    pub text: String,
    #[serde(default)]
    pub change: ChangeMode,
}

#[derive(Serialize)]
#[serde(transparent)]
pub struct EditReport {
    pub change: ChangeReport,
    /// The changes of the file.
    #[serde(skip)]
    pub diff: String,
}

/// Why a text is not written.
pub enum EditRefusal {
    /// Another text may be accepted.
    Text(Failure),
    /// No text would be accepted.
    Final(Failure),
}

impl From<EditRefusal> for Failure {
    fn from(refusal: EditRefusal) -> Self {
        match refusal {
            EditRefusal::Text(failure) | EditRefusal::Final(failure) => failure,
        }
    }
}

/// Returns the text of a plan, or the form of a task.
pub fn edit_form(workspace: &Workspace, request: &EditFormRequest) -> Result<EditForm> {
    let (found, task) = plan_before_task(workspace, request.what.as_deref(), &request.plan)?;
    let load = |path: &Path| store::load(path).map_err(Failure::from);
    let source = load(&found.path)?.source;
    let text = match &task {
        None => source.as_str().to_owned(),
        Some(task) => task_form(&found, &source, task)?,
    };
    let first_text = match &request.from {
        None => text.clone(),
        Some(from) => load(&workspace.path(from))?.source.as_str().to_owned(),
    };
    Ok(EditForm {
        found,
        task,
        text,
        first_text,
    })
}

fn task_form(found: &FoundPlan, source: &SourceText, task: &str) -> Result<String> {
    let failed = |error: &ReviseError| revise_failure(found, error);
    let Some(linked) = inspected(found, source).plan else {
        return Err(failed(&ReviseError::Problem(Problem::NoPlan)));
    };
    let task_ix = task_named(&linked.plan, task).map_err(|error| failed(&error))?;
    Ok(form_of(&linked, task_ix, &found.path.to_string_lossy()))
}

fn inspected(found: &FoundPlan, source: &SourceText) -> Inspection {
    inspect_file(source, Some(&found.path), found.forced).inspection
}

/// Checks the text of a plan or of a task's form, and writes it.
pub fn edit(workspace: &Workspace, request: &EditRequest) -> Result<EditReport> {
    let form = EditForm {
        found: request.plan.find(workspace, "name its file with --plan")?,
        task: request.task.clone(),
        text: request.based_on.clone(),
        first_text: String::new(),
    };
    Ok(form.write(workspace, &request.text, &request.change)?)
}

impl EditForm {
    /// Checks a text, and writes it.
    pub fn write(&self, workspace: &Workspace, text: &str, mode: &ChangeMode) -> Result<EditReport, EditRefusal> {
        let (path, by) = (self.found.path.as_path(), mode.by.as_deref());
        let names: Vec<String> = self.task.iter().cloned().collect();
        let tried = self.revise(text, by, true)?;
        let diff = diff_of(path, &tried);
        if tried.before.as_str() == tried.text.as_str() {
            let change = ChangeReport::unchanged(path, "edit", names, "the plan is unchanged: nothing was written");
            return Ok(EditReport { change, diff });
        }
        let revised = match mode.is_dry() {
            true => tried,
            false => self.revise(text, by, false)?,
        };
        let what = match &self.task {
            Some(task) => shown_name(task),
            None => one_line(&path.to_string_lossy()),
        };
        let words = ChangeWords::new(format!("edited {what}"), format!("would edit {what}"));
        let change = ChangeReport::of(workspace, (path, "edit"), &revised, mode, &names, words);
        Ok(EditReport { change, diff })
    }

    fn revise(&self, text: &str, by: Option<&str>, is_dry: bool) -> Result<RevisedPlan, EditRefusal> {
        let revised = match &self.task {
            Some(task) => self.revise_task(task, text, by, is_dry)?,
            None => {
                let (seen, text) = (self.seen(), SourceText::new(text));
                self.refuse_errors(&seen, &text)?;
                revise::edit_text(self.found.target(is_dry), &seen, &text, by)
            }
        };
        revised.map_err(|error| {
            let shown = revise_failure(&self.found, &error);
            match error {
                ReviseError::ChangedMeanwhile | ReviseError::Store(_) => EditRefusal::Final(shown),
                _ => EditRefusal::Text(shown),
            }
        })
    }

    /// Returns the text of the plan that the edit is based on, with its file's encoding errors.
    fn seen(&self) -> SourceText {
        let loaded = store::load(&self.found.path).ok().map(|loaded| loaded.source);
        let same = loaded.filter(|source| source.as_str() == self.text);
        same.unwrap_or_else(|| SourceText::new(&self.text))
    }

    /// Refuses a text of the whole plan with more errors than it had.
    fn refuse_errors(&self, seen: &SourceText, text: &SourceText) -> Result<(), EditRefusal> {
        let (before, after) = (inspected(&self.found, seen), inspected(&self.found, text));
        let n_errors = after.count(Severity::Error);
        if after.plan.is_some() && n_errors <= before.count(Severity::Error) {
            return Ok(());
        }
        let evidence = Evidence {
            path: self.found.path.to_string_lossy().into_owned(),
            source: text.clone(),
            span: None,
            findings: after.diagnostics,
            drawn: Drawn::Findings,
        };
        let message = match n_errors {
            1 => "the edited plan has an error".to_owned(),
            n => format!("the edited plan has {n} errors"),
        };
        let help = "fix the errors above; the plan file was not changed";
        Err(EditRefusal::Text(Failure::shown(message, help, evidence)))
    }

    fn revise_task(
        &self,
        task: &str,
        text: &str,
        by: Option<&str>,
        is_dry: bool,
    ) -> Result<Result<RevisedPlan, ReviseError>, EditRefusal> {
        let (before, after) = (fields_in(&self.text)?, fields_in(text)?);
        let loaded = store::load(&self.found.path).ok();
        let linked = loaded.and_then(|loaded| inspected(&self.found, &loaded.source).plan);
        let special = linked.as_ref().map(SpecialFields::of).unwrap_or_default();
        let edits = FormEdits::between(&before, &after, &special);
        let names = [task.to_owned()];
        if edits.has_other_id {
            refuse_in_review(&self.found, &names, "rename").map_err(EditRefusal::Final)?;
        }
        let path = self.found.path.to_string_lossy();
        let edit_of = |linked: &LinkedPlan, n: usize| {
            if n == 0 && form_of(linked, task_named(&linked.plan, task)?, &path) != self.text {
                return Err(ReviseError::ChangedMeanwhile);
            }
            edits.get(n, linked, task)
        };
        let (target, now) = (self.found.target(is_dry), clock::now());
        Ok(revise::edit(target, "edit", &now, &names, by, edit_of))
    }

    /// Returns a refusal with a span in the file with the edited text: the plan file is unchanged.
    pub fn placed_in(&self, file: &Path, text: &SourceText, mut failure: Failure) -> Failure {
        let path = file.to_string_lossy().into_owned();
        let form_line = self
            .task
            .as_ref()
            .and_then(|_| self.line_of(&failure.message, text.as_str()));
        if let Some(span) = form_line {
            failure.evidence = vec![Evidence {
                path,
                source: text.clone(),
                span: Some(span),
                findings: Vec::new(),
                drawn: Drawn::Place,
            }];
            return failure;
        }
        for evidence in &mut failure.evidence {
            match evidence.source.as_str() == text.as_str() {
                true => evidence.path.clone_from(&path),
                // The failure has no place in the text.
                false => evidence.drawn = Drawn::Nothing,
            }
        }
        failure
    }

    /// Returns the line of a form that a refusal concerns: the unreadable one, otherwise that of the field in the message, otherwise that
    /// of the first changed field.
    fn line_of(&self, message: &str, form: &str) -> Option<Span> {
        let mut starts = vec![0];
        starts.extend(form.match_indices('\n').map(|(at, _)| at + 1));
        let span = |line_ix: usize| {
            let start = *starts.get(line_ix)?;
            let line = form.get(start..)?.lines().next().unwrap_or("");
            Some(Span::new(start, start + line.len()))
        };
        let after = match parse(form) {
            Ok(after) => after,
            Err((line, _)) => return span(line.checked_sub(1)?),
        };
        let changed = field_changes(&parse(&self.text).ok()?, &after);
        let names = || changed.iter().map(|change| change.name.as_str());
        let is_named = |name: &&str| message.contains(&format!("`{name}`"));
        let label = format!("{}:", names().find(is_named).or(names().next())?);
        span(form.lines().position(|line| line.starts_with(&label))?)
    }
}

fn fields_in(form: &str) -> Result<FormFields, EditRefusal> {
    parse(form).map_err(|(line, message)| {
        EditRefusal::Text(Failure::problem(
            format!("line {line} of the form cannot be read: {message}"),
            "a field is `name: value`, as in the form at first",
        ))
    })
}
