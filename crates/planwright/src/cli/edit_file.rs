//! `planwright edit`: opens a plan, or one task as a form, in the user's editor; checks, shows and writes the result.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_core::change::tasks::Edit;
use planwright_core::diagnostic::Severity;
use planwright_core::inspect::LinkedPlan;
use planwright_core::text::{SourceText, Span};
use planwright_run::clock;
use planwright_run::inspect_file::inspect_file;
use planwright_run::layout::STATE_FOLDER;
use planwright_run::revise::{ReviseError, Revised, edit, edit_text, task_named};
use planwright_run::store::{self, CreateError};
use planwright_run::workspace::root_of;

use super::answers;
use super::change::{ChangeOptions, Found, Words, diff_of, failure, refuse_in_review, report};
use super::editor::{editor, open_in};
use super::exit::{Drawn, Evidence, Exit, Failure};
use super::output::Output;
use super::plan_arg::{Naming, TargetOption, load_failure, naming};
use super::plan_entries::from_here;
use super::task_form::{FormFields, FormValue, SpecialFields, form_of, parse};
use super::typed_command::with_value;
use crate::render::terminal::{one_line, shown_name};

/// Edit a plan, or one task as a form, in your editor.
///
/// The editor is that of VISUAL or EDITOR. The text is checked when the editor is closed; where it is sound, the diff is shown and
/// the plan is written. `planwright undo` takes it back.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright edit                           the only plan of this workspace
  planwright edit t2                        one task of it, as a form
  planwright edit t2 -p plan-5f0c2a9e
  planwright edit t2 --from .planwright/unusable/plan-5f0c2a9e-t2.txt
  EDITOR='code --wait' planwright edit plan-5f0c2a9e --diff")]
pub(crate) struct Args {
    /// The plan: a path, an id or part of one; or a task of the plan. A word that names a plan means the plan.
    #[arg(value_name = "PLAN|TASK", value_parser = NonEmpty::new())]
    what: Option<String>,

    /// Begin with this text, as a refused edit kept it.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    #[command(flatten)]
    plan: TargetOption,

    #[command(flatten)]
    change: ChangeOptions,
}

/// What is edited.
struct Draft<'a> {
    found: &'a Found,
    /// The plan's text when the editor was opened.
    seen: SourceText,
    /// The task; none for the whole plan.
    task: Option<&'a str>,
    /// The text of the plan, or the form of the task.
    text: String,
    change: &'a ChangeOptions,
    /// Whether the file of the editor stays: nothing else has its text.
    is_left: Cell<bool>,
}

/// Why a text is not written.
enum Refusal {
    /// Another text may do.
    Text(anyhow::Error),
    /// No text would.
    Final(anyhow::Error),
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let (found, task) = meant(args)?;
    let Some(editor) = editor() else {
        return Err(Failure::usage(
            "no editor is set",
            "set VISUAL or EDITOR to the command of one, as `export EDITOR=nano`",
        ));
    };
    let seen = store::load(&found.path).map_err(|error| load_failure(&error))?.source;
    let text = match &task {
        None => seen.as_str().to_owned(),
        Some(task) => form(&found, &seen, task)?,
    };
    let draft = Draft {
        found: &found,
        seen,
        task: task.as_deref(),
        text,
        change: &args.change,
        is_left: Cell::new(false),
    };
    let begun = match &args.from {
        None => draft.text.clone(),
        Some(from) => {
            let loaded = store::load(from).map_err(|error| load_failure(&error))?;
            loaded.source.as_str().to_owned()
        }
    };
    let file = draft.create(&begun)?;
    let result = draft.edit_until_written(&editor, &file, output);
    if !draft.is_left.get() {
        // A file that cannot be removed is planwright's own, and empty of consequence.
        let _ = std::fs::remove_file(&file);
    }
    result
}

/// Distinguishes a plan from a task of one: a word that names a plan means the plan.
fn meant(args: &Args) -> anyhow::Result<(Found, Option<String>)> {
    let Some(what) = args.what.as_deref() else {
        return Ok((args.plan.find()?, None));
    };
    let has_task = |found: &Found| {
        let linked = found.linked();
        linked.is_some_and(|linked| linked.plan.find_task(what).is_some())
    };
    if let Some(plan) = args.plan.plan.as_deref() {
        let found = args.plan.find()?;
        let task = (plan != what || has_task(&found)).then(|| what.to_owned());
        return Ok((found, task));
    }
    match naming(what, args.plan.reading.user) {
        Naming::Whole => return Ok((args.plan.find_named(what)?, None)),
        Naming::Partly | Naming::No => {}
    }
    match args.plan.find() {
        Ok(found) if has_task(&found) => Ok((found, Some(what.to_owned()))),
        only => {
            let named = args.plan.find_named(what);
            // The only plan has no such task: that says more than that no plan has such a name.
            match (named, only) {
                (Err(_), Ok(found)) => Ok((found, Some(what.to_owned()))),
                (named, _) => named.map(|found| (found, None)),
            }
        }
    }
}

/// Returns the form of a task.
fn form(found: &Found, source: &SourceText, task: &str) -> anyhow::Result<String> {
    let inspection = inspect_file(source, Some(&found.path), found.forced).inspection;
    let Some(linked) = &inspection.plan else {
        return Err(failure(
            found,
            &ReviseError::Problem(planwright_core::change::Problem::NoPlan),
        ));
    };
    let task_ix = task_named(&linked.plan, task).map_err(|error| failure(found, &error))?;
    Ok(form_of(linked, task_ix, &found.path.to_string_lossy()))
}

impl Draft<'_> {
    /// Creates the file that the editor opens, with the ending that the editor knows the plan by.
    fn create(&self, text: &str) -> anyhow::Result<PathBuf> {
        let ending = match self.task {
            None => self
                .found
                .path
                .extension()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            Some(_) => "form.txt".to_owned(),
        };
        let name = format!("{}-{}", self.name(), std::process::id());
        self.keep("edits", &name, &ending, text, &self.found.path)
    }

    /// Creates a file with a text in a folder of the workspace's state. It is readable for those who may read the plan.
    fn keep(&self, folder: &str, name: &str, ending: &str, text: &str, like: &Path) -> anyhow::Result<PathBuf> {
        let folder = from_here(&root_of(&self.found.path).join(STATE_FOLDER).join(folder));
        for nth in 1..1000 {
            let number = if nth == 1 { String::new() } else { format!("-{nth}") };
            let path = folder.join(format!("{name}{number}.{ending}"));
            match store::create_like(&path, text, like) {
                Err(CreateError::Exists { .. }) => {}
                Err(error) => return Err(Failure::environment(&error, error.help())),
                Ok(()) => return Ok(path),
            }
        }
        Err(Failure::outside(
            format!("`{}` has a thousand files of this name", folder.display()),
            "remove those that are not needed any more",
        ))
    }

    fn name(&self) -> String {
        let stem = self.found.path.file_stem().unwrap_or_default().to_string_lossy();
        match self.task {
            None => stem.into_owned(),
            Some(task) => {
                let task = task.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "_");
                format!("{stem}-{task}")
            }
        }
    }

    /// Opens the editor until the text can be written, or the user gives up.
    fn edit_until_written(&self, editor: &str, file: &Path, output: &mut Output) -> anyhow::Result<Exit> {
        loop {
            output.flush();
            let status = open_in(editor, file)?;
            let text = store::load(file).map_err(|error| load_failure(&error))?.source;
            if text.damage().is_some() {
                self.is_left.set(true);
                return Err(Failure::problem(
                    "the edited text is not UTF-8: nothing was written",
                    format!("the text is in {}", one_line(&file.display().to_string())),
                ));
            }
            if !status.success() {
                // The user's way to give up, as vim's `:cq`; or an editor that crashed.
                output.remark(&format!("the editor ended with {status}: nothing was written"));
                if text.as_str() != self.text {
                    self.keep_edited(file, text.as_str(), output)?;
                }
                return Ok(Exit::Problems);
            }
            if text.as_str() == self.text {
                output.remark("the text is unchanged: nothing was written");
                return Ok(Exit::Success);
            }
            let refusal = match self.write(text.as_str(), output) {
                Ok(exit) => return Ok(exit),
                Err(refusal) => refusal,
            };
            let mut is_reported = false;
            let refusal = match refusal {
                Refusal::Text(error) => Refusal::Text(self.pointed_at(error, file, &text)),
                refusal => refusal,
            };
            if let Refusal::Text(error) = &refusal
                && answers::may_ask()
                && !self.change.json
            {
                is_reported = true;
                output.complain(error);
                output.note("Edit it again? [Y/n] ");
                let answer = answers::line().map(|line| line.to_lowercase());
                if matches!(answer.as_deref(), Some("" | "y" | "yes")) {
                    continue;
                }
            }
            let kept = self.keep_edited(file, text.as_str(), output)?;
            let next = format!(
                "edit that text again: `{}`",
                with_value("--from", &kept.to_string_lossy())
            );
            return match refusal {
                _ if is_reported => {
                    output.command(&next);
                    Ok(Exit::Problems)
                }
                Refusal::Text(error) => Err(with_help(self.pointed_at(error, &kept, &text), &next)),
                Refusal::Final(error) => Err(error),
            };
        }
    }

    /// Keeps a text that is not written. Where no copy can be made, the file of the editor stays.
    fn keep_edited(&self, file: &Path, text: &str, output: &mut Output) -> anyhow::Result<PathBuf> {
        let ending = file.extension().unwrap_or_default().to_string_lossy();
        // The plan may be gone by now; the file of the editor was made like it.
        let kept = self.keep("unusable", &self.name(), &ending, text, file);
        self.is_left.set(kept.is_err());
        let place = kept.as_deref().unwrap_or(file);
        output.remark(&format!(
            "nothing was written; the text is kept as {}",
            one_line(&place.display().to_string())
        ));
        kept
    }

    /// Returns an error with its place in the edited text: the plan file is as it was.
    fn pointed_at(&self, error: anyhow::Error, file: &Path, text: &SourceText) -> anyhow::Error {
        let mut failure = match error.downcast::<Failure>() {
            Ok(failure) => failure,
            Err(error) => return error,
        };
        let form_line = self
            .task
            .is_some()
            .then(|| self.line_of(&failure.message, text.as_str()));
        match (&mut failure.evidence, form_line.flatten()) {
            (_, Some(span)) => {
                failure.evidence = Some(Box::new(Evidence {
                    path: file.to_string_lossy().into_owned(),
                    source: text.clone(),
                    span: Some(span),
                    findings: Vec::new(),
                    drawn: Drawn::Place,
                }));
            }
            (Some(evidence), None) if evidence.source.as_str() == text.as_str() => {
                evidence.path = file.to_string_lossy().into_owned();
            }
            // It has no place in the text.
            (Some(evidence), None) => evidence.drawn = Drawn::Nothing,
            (None, None) => {}
        }
        failure.into()
    }

    /// Returns the line of a form that an error is about: the one that it counts, or that of the field that it names, or that of the first
    /// field with another value.
    fn line_of(&self, message: &str, form: &str) -> Option<Span> {
        let mut starts = vec![0];
        starts.extend(form.match_indices('\n').map(|(at, _)| at + 1));
        let span = |line_ix: usize| {
            let start = *starts.get(line_ix)?;
            let line = form.get(start..)?.lines().next().unwrap_or("");
            Some(Span::new(start, start + line.len()))
        };
        if let Err((line, _)) = parse(form) {
            return span(line.checked_sub(1)?);
        }
        let (before, after) = (parse(&self.text).ok()?, parse(form).ok()?);
        let changed: Vec<String> = changes(&before, &after).into_iter().map(|change| change.name).collect();
        let is_named = |name: &&String| message.contains(&format!("`{name}`"));
        let name = changed.iter().find(is_named).or(changed.first())?;
        let label = format!("{name}:");
        span(form.lines().position(|line| line.starts_with(&label))?)
    }

    /// Checks a text, shows what it changes, and writes it.
    fn write(&self, text: &str, output: &mut Output) -> Result<Exit, Refusal> {
        let tried = self.revise(text, true)?;
        if tried.before.as_str() == tried.text.as_str() {
            output.remark("the plan is unchanged: nothing was written");
            return Ok(Exit::Success);
        }
        let is_dry = self.change.dry_run || self.change.diff;
        if !self.change.json && !self.change.diff {
            output.write_exact(&diff_of(&self.found.path, &tried));
        }
        let revised = if is_dry { tried } else { self.revise(text, false)? };
        let what = match self.task {
            Some(task) => shown_name(task),
            None => one_line(&self.found.path.to_string_lossy()),
        };
        let words = Words::new(format!("edited {what}"), format!("would edit {what}"));
        let names: Vec<String> = self.task.iter().map(|&task| task.to_owned()).collect();
        report(&self.found.path, "edit", &revised, self.change, &names, &words, output).map_err(Refusal::Final)
    }

    fn revise(&self, text: &str, is_dry: bool) -> Result<Revised, Refusal> {
        let mut target = self.found.target(self.change);
        target.dry = is_dry;
        let revised = match self.task {
            Some(task) => return self.revise_task(task, text, is_dry),
            None => {
                self.refuse_errors(text)?;
                let by = self.change.by.as_deref();
                edit_text(target, &self.seen, &SourceText::new(text), by)
            }
        };
        revised.map_err(|error| self.refusal(&error))
    }

    fn refusal(&self, error: &ReviseError) -> Refusal {
        let shown = failure(self.found, error);
        match error {
            ReviseError::ChangedMeanwhile | ReviseError::Store(_) => Refusal::Final(shown),
            _ => Refusal::Text(shown),
        }
    }

    /// Refuses a text of the whole plan with more errors than it had.
    fn refuse_errors(&self, text: &str) -> Result<(), Refusal> {
        let source = SourceText::new(text);
        let inspected =
            |source: &SourceText| inspect_file(source, Some(&self.found.path), self.found.forced).inspection;
        let (before, after) = (inspected(&self.seen), inspected(&source));
        let n_errors = after.count(Severity::Error);
        if after.plan.is_some() && n_errors <= before.count(Severity::Error) {
            return Ok(());
        }
        let evidence = Evidence {
            path: self.found.path.to_string_lossy().into_owned(),
            source,
            span: None,
            findings: after.diagnostics,
            drawn: Drawn::Findings,
        };
        let message = match n_errors {
            1 => "the edited plan has an error".to_owned(),
            n => format!("the edited plan has {n} errors"),
        };
        let help = "fix what is reported above: the plan file is as it was";
        Err(Refusal::Text(Failure::shown(message, help, evidence)))
    }

    fn revise_task(&self, task: &str, text: &str, is_dry: bool) -> Result<Revised, Refusal> {
        let read = |form: &str| {
            parse(form).map_err(|(line, message)| {
                let message = format!("line {line} of the form cannot be read: {message}");
                Refusal::Text(Failure::problem(
                    message,
                    "a field is `name: value`, as in the form at first",
                ))
            })
        };
        let (before, after) = (read(&self.text)?, read(text)?);
        let changes = changes(&before, &after);
        let inspection = inspect_file(&self.seen, Some(&self.found.path), self.found.forced).inspection;
        let special = inspection.plan.as_ref().map(SpecialFields::of);
        let is_id = |name: &str| special.as_ref().is_some_and(|special| special.id == Some(name));
        let is_dependency = |name: &str| {
            special
                .as_ref()
                .is_some_and(|special| special.dependencies == Some(name))
        };
        let new_id = changes
            .iter()
            .find(|change| is_id(&change.name))
            .map(|change| &change.typed);
        if new_id.is_some() {
            refuse_in_review(self.found, &[task.to_owned()], "rename").map_err(Refusal::Final)?;
        }
        let dependencies = changes.iter().find(|change| is_dependency(&change.name));
        let (depends, undepends) = dependencies.map_or_else(Default::default, |_| rewired(&before, &after, &special));
        let fields: Vec<&FieldChange> = changes
            .iter()
            .filter(|change| !is_id(&change.name) && !is_dependency(&change.name))
            .collect();
        let places = |linked: &LinkedPlan, names: &[String]| -> Result<Vec<usize>, ReviseError> {
            names.iter().map(|name| task_named(&linked.plan, name)).collect()
        };
        let path = self.found.path.to_string_lossy();
        let edit_of = |linked: &LinkedPlan, n: usize| {
            if n == 0 {
                let task_ix = task_named(&linked.plan, task)?;
                if form_of(linked, task_ix, &path) != self.text {
                    return Err(ReviseError::ChangedMeanwhile);
                }
            }
            // The id changes last: until then the task has its old name.
            let is_renamed = n > fields.len() + usize::from(!depends.is_empty()) + usize::from(!undepends.is_empty());
            if is_renamed {
                return Ok(None);
            }
            let task_ix = task_named(&linked.plan, task)?;
            if let Some(change) = fields.get(n) {
                let value = change.typed.as_deref();
                return Ok(Some(Edit::Set {
                    task_ix,
                    key: &change.name,
                    value,
                }));
            }
            let mut rest = Vec::new();
            if !undepends.is_empty() {
                rest.push(Edit::Undepend {
                    task_ix,
                    on: places(linked, &undepends)?,
                });
            }
            if !depends.is_empty() {
                rest.push(Edit::Depend {
                    task_ix,
                    on: places(linked, &depends)?,
                });
            }
            if let Some(to) = new_id.and_then(|id| id.as_deref()) {
                rest.push(Edit::Rename { task_ix, to });
            }
            let nth = n - fields.len();
            Ok((nth < rest.len()).then(|| rest.swap_remove(nth)))
        };
        let mut target = self.found.target(self.change);
        target.dry = is_dry;
        let (now, names) = (clock::now(), [task.to_owned()]);
        let revised = edit(target, "edit", &now, &names, self.change.by.as_deref(), edit_of);
        revised.map_err(|error| self.refusal(&error))
    }
}

/// Returns an error with advice in addition to its own.
fn with_help(error: anyhow::Error, help: &str) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(mut failure) => {
            failure.help = match failure.help.is_empty() {
                true => help.to_owned(),
                false => format!("{}; {help}", failure.help),
            };
            failure.into()
        }
        Err(error) => error,
    }
}

/// A field that got another value, or none.
struct FieldChange {
    name: String,
    /// The value as `planwright set` takes it.
    typed: Option<String>,
}

fn value_in<'f>(fields: &'f FormFields, name: &str) -> Option<&'f FormValue> {
    fields.iter().find(|(own, _)| own == name).map(|(_, value)| value)
}

fn changes(before: &FormFields, after: &FormFields) -> Vec<FieldChange> {
    let removed = before.iter().filter(|(name, _)| value_in(after, name).is_none());
    let removed = removed.map(|(name, _)| FieldChange {
        name: name.clone(),
        typed: None,
    });
    let changed = after
        .iter()
        .filter(|(name, value)| value_in(before, name) != Some(value));
    let changed = changed.map(|(name, value)| {
        // A text whose line has nothing after the colon is empty, not a list.
        let is_text = matches!(value_in(before, name), Some(FormValue::Text(_)));
        let typed = match value {
            FormValue::List(items) if items.is_empty() && is_text => String::new(),
            value => value.typed(),
        };
        FieldChange {
            name: name.clone(),
            typed: Some(typed),
        }
    });
    changed.chain(removed).collect()
}

/// Returns the tasks that a task depends on from now on, and those that it does not depend on any more.
fn rewired(before: &FormFields, after: &FormFields, special: &Option<SpecialFields>) -> (Vec<String>, Vec<String>) {
    let name = special
        .as_ref()
        .and_then(|special| special.dependencies)
        .unwrap_or_default();
    let names = |fields: &FormFields| match value_in(fields, name) {
        Some(FormValue::List(names)) => names.clone(),
        Some(FormValue::Text(only)) if !only.is_empty() => vec![only.clone()],
        _ => Vec::new(),
    };
    let (before, after) = (names(before), names(after));
    let missing = |from: &[String], other: &[String]| {
        let missing = from.iter().filter(|name| !other.contains(name));
        missing.cloned().collect::<Vec<_>>()
    };
    (missing(&after, &before), missing(&before, &after))
}
