//! Makes a new version of a plan from a planner's list of tasks, as one durable change, or in a new file if the dialect needs
//! one.

use std::path::{Path, PathBuf};

use planwright_core::change::Problem;
use planwright_core::change::rewrite::{TaskOrigin, rewrite, set_head};
use planwright_core::dialect::id_source::IdSource;
use planwright_core::dialect::{Dialect, PointerUpdate, Successor};
use planwright_core::edit::VerbRequest;
use planwright_core::plan::{Plan, State, Verb};
use planwright_core::planning::replan::{NewVersion, PlanDifference, grown, new_version};
use planwright_core::text::SourceText;

use super::batch::NotePlacement;
use super::error::ReviseError;
use super::pending_change::PendingChange;
use super::plan_states::names_in;
use super::pointer::point;
use super::revision::revise;
use super::{ChangeTarget, RevisedPlan};
use crate::clock;
use crate::store::create;

/// Its name in the history.
const VERB: &str = "replan";

/// How many versions are followed to the newest: files that name each other would form an endless loop.
const MAX_SUCCESSORS: usize = 100;

/// A new version that was written, or would be in a dry run.
pub struct WrittenVersion {
    pub revised: RevisedPlan,
    pub difference: PlanDifference,
    /// The file of the new version, if it has its own.
    pub file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug)]
pub enum VersionContent<'r> {
    /// A planner's answer. Failed tasks are reopened.
    Answer(&'r str),
    /// Tasks to add, each a JSON object. The rest of the plan stays unchanged, in the same file.
    More(&'r [String]),
}

#[derive(Clone, Copy, Debug)]
pub struct VersionRequest<'r> {
    pub matter: VersionContent<'r>,
    /// The planner.
    pub by: &'r str,
    /// The reason, in the planner's words.
    pub reasoning: &'r str,
    pub now: &'r str,
    /// The text that it was made for. If the plan has changed since, nothing is written.
    pub on: Option<&'r SourceText>,
}

/// Creates a new version of a plan. Failed tasks are reopened, with the tasks that were skipped because of them.
pub fn new_version_of(
    target: ChangeTarget<'_>,
    request: &VersionRequest<'_>,
    id_source: &mut IdSource<'_>,
) -> Result<WrittenVersion, ReviseError> {
    let mut difference = PlanDifference::default();
    let mut added: Vec<usize> = Vec::new();
    let mut prepare = |pending: &mut PendingChange<'_>| {
        let version = rewrite_as_version(pending, request, id_source)?;
        difference = version.difference;
        let slots = version.slots.iter().enumerate();
        added = slots
            .filter(|(_, slot)| matches!(slot.origin, TaskOrigin::New(_)))
            .map(|(ix, _)| ix)
            .collect();
        Ok(())
    };
    // A version with its own file leaves the earlier file unchanged.
    let own_file = match request.matter {
        VersionContent::Answer(_) => own_file(target)?,
        VersionContent::More(_) => None,
    };
    let dry = target.dry || own_file.is_some();
    let verb = match request.matter {
        VersionContent::Answer(_) => VERB,
        VersionContent::More(_) => "grow",
    };
    let mut revised = revise(ChangeTarget { dry, ..target }, verb, &mut prepare)?;
    if let Some(linked) = &revised.after.plan {
        // The plan's names for them are known only now.
        for (one, &ix) in difference.added.iter_mut().zip(&added) {
            one.task = linked.plan.task_name(ix).into_owned();
        }
    }
    let file = match own_file {
        None => None,
        Some((dialect, path, successor)) => {
            Some(write_apart(target, dialect, &path, &successor, &mut revised, request)?)
        }
    };
    Ok(WrittenVersion {
        revised,
        difference,
        file,
    })
}

/// Gives a plan the text of its new version.
fn rewrite_as_version(
    pending: &mut PendingChange<'_>,
    request: &VersionRequest<'_>,
    id_source: &mut IdSource<'_>,
) -> Result<NewVersion, ReviseError> {
    let dialect = pending.linked()?.dialect;
    if request
        .on
        .is_some_and(|on| on.as_str() != pending.open.source().as_str())
    {
        return Err(Problem::Field {
            message: "the plan was changed while its new version was made".to_owned(),
            help: "nothing was written; replan again".to_owned(),
        }
        .into());
    }
    pending.compare_states();
    if let VersionContent::Answer(_) = request.matter {
        reopen(pending, request)?;
    }
    let version = pending.with_choice(|open, choice| {
        let inspection = &open.whole(choice).inspection;
        match request.matter {
            VersionContent::Answer(answer) => new_version(inspection, dialect, answer, id_source),
            VersionContent::More(tasks) => grown(inspection, dialect, tasks, id_source),
        }
    });
    let version = version.map_err(|unusable| Problem::Regressions(unusable.findings))?;
    pending.rewrite(&version, request.now)?;
    pending.change.by = Some(request.by.to_owned());
    pending.change.note = Some(request.reasoning.to_owned()).filter(|note| !note.is_empty());
    Ok(version)
}

/// Returns the file of the next version, if versions of the plan have their own files.
fn own_file(target: ChangeTarget<'_>) -> Result<Option<(&'static dyn Dialect, PathBuf, Successor)>, ReviseError> {
    let source = crate::store::load(target.path)?.source;
    let inspection = crate::inspect_file::inspect_file(&source, Some(target.path), target.forced).inspection;
    let Some(linked) = &inspection.plan else {
        return Ok(None);
    };
    let dialect = linked.dialect;
    let versions = dialect.versions();
    let Some(successor) = versions.and_then(|versions| versions.successor(&linked.plan, "", "")) else {
        return Ok(None);
    };
    let extension = target
        .path
        .extension()
        .map_or_else(String::new, |extension| format!(".{}", extension.display()));
    let path = target.path.with_file_name(format!("{}{extension}", successor.id));
    Ok(Some((dialect, path, successor)))
}

/// Returns the newest version of a plan whose versions have their own files; none if the plan is the newest.
pub fn newest_version(path: &Path, forced: Option<&'static dyn Dialect>) -> Option<PathBuf> {
    let mut newest: Option<PathBuf> = None;
    for _ in 0..MAX_SUCCESSORS {
        let path = newest.as_deref().unwrap_or(path);
        let target = ChangeTarget {
            path,
            forced,
            dry: true,
        };
        let next = own_file(target).ok().flatten().map(|(_, next, _)| next);
        match next.filter(|next| next != path && next.exists()) {
            Some(next) => newest = Some(next),
            None => break,
        }
    }
    newest
}

/// Writes a version to its own file.
fn write_apart(
    target: ChangeTarget<'_>,
    dialect: &'static dyn Dialect,
    path: &Path,
    successor: &Successor,
    revised: &mut RevisedPlan,
    request: &VersionRequest<'_>,
) -> Result<PathBuf, ReviseError> {
    let (open, _) = crate::inspect_file::open(&revised.text, Some(path), target.forced);
    let plan = |open: &planwright_core::change::Open| -> Option<Successor> {
        let plan: &Plan = &open.inspection.plan.as_ref()?.plan;
        dialect.versions()?.successor(plan, request.by, request.now)
    };
    let own = plan(&open)
        .filter(|own| own.id == successor.id)
        .ok_or(Problem::NoPlan)?;
    let text = set_head(&open, &own.changes)?;
    let (after, _) = crate::inspect_file::open(&text, Some(path), target.forced);
    let errors = after.inspection.diagnostics.iter();
    let errors: Vec<_> = errors
        .filter(|found| found.severity == planwright_core::diagnostic::Severity::Error)
        .cloned()
        .collect();
    if !errors.is_empty() {
        return Err(Problem::Regressions(errors).into());
    }
    if !target.dry {
        create(path, text.as_str()).map_err(ReviseError::Created)?;
    }
    revised.text = text;
    revised.after = after.inspection;
    if !target.dry {
        revised.pointer = point(path, &revised.after, PointerUpdate::Succeeds, &clock::now());
    }
    Ok(path.to_owned())
}

/// Reopens failed tasks, and those that were skipped because of them.
fn reopen(pending: &mut PendingChange<'_>, request: &VersionRequest<'_>) -> Result<(), ReviseError> {
    let names = names_in(&pending.linked()?.plan, State::Failed);
    let reset = VerbRequest {
        by: Some(request.by),
        force: true,
        keeps_notes: true,
        ..VerbRequest::new(Verb::Reset, request.now)
    };
    let asked: Vec<_> = names.iter().map(|name| (name.as_str(), reset)).collect();
    let refused = pending
        .transitions(&asked, NotePlacement::ByChange)?
        .into_iter()
        .find_map(Result::err);
    pending.change.tasks = names;
    refused.map_or(Ok(()), Err)
}

impl PendingChange<'_> {
    fn rewrite(&mut self, version: &NewVersion, now: &str) -> Result<(), ReviseError> {
        let before: Vec<String> = {
            let plan = &self.linked()?.plan;
            (0..plan.tasks().len())
                .map(|task_ix| plan.task_name(task_ix).into_owned())
                .collect()
        };
        self.make(|open, choice| Ok((rewrite(open, choice, &version.slots, now)?, ())))?;
        let removed = version.difference.removed_names();
        for name in removed.filter(|name| before.iter().any(|old| old == name)) {
            self.forget_state(name);
        }
        Ok(())
    }
}
