//! The plan as the run last read it. The run reads it again if another process changes it, and matches tasks that were
//! renumbered.

use std::collections::HashMap;
use std::fs::Metadata;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use planwright_core::diagnostic::Severity;
use planwright_core::dialect::Dialect;
use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_core::plan::{Field, Links, Plan, State, TaskName};
use planwright_core::text::SourceText;

use super::RunError;
use super::error::PlanWithErrors;
use crate::files::DiskFiles;
use crate::inspect_file::inspect_file;
use crate::journal::plan_id;
use crate::layout::PlanPlace;
use crate::proofs::Proofs;
use crate::revise::{ReviseError, take_states};
use crate::store::{LoadError, PlanFile, Store, holds, load};

pub struct PlanSnapshot {
    path: PathBuf,
    forced: Option<&'static dyn Dialect>,
    place: PlanPlace,
    /// The file that the plan was derived from, if it names one.
    origin: Option<PathBuf>,
    /// The text of the file, as far as known.
    text: SourceText,
    linked: LinkedPlan,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    keys: Vec<String>,
    seen: SnapshotStamps,
}

/// Stamps that cheaply show whether another process has changed the plan or its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SnapshotStamps {
    plan: Option<FileStamp>,
    journal: Option<FileStamp>,
    /// The stamp of the file that the plan was derived from, if any.
    origin: Option<FileStamp>,
    /// Whether to read the plan again whatever its stamp. A missing file has no stamp either.
    is_plan_stale: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp {
    n_bytes: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl PlanSnapshot {
    /// Reads a plan that can be run: one without errors.
    pub fn open(path: &Path, forced: Option<&'static dyn Dialect>) -> Result<Self, RunError> {
        let place = PlanPlace::of(&DiskFiles, path).map_err(|source| LoadError::new(path, source))?;
        // Taken before the plan is read, so that a change in between is noticed later.
        let mut seen = SnapshotStamps::of(&place, None);
        let source = load(path)?.source;
        let mut inspection = inspect_file(&source, Some(path), forced).inspection;
        if inspection.count(Severity::Error) > 0 || inspection.plan.is_none() {
            let path = path.to_owned();
            return Err(RunError::Errors(Box::new(PlanWithErrors { path, inspection })));
        }
        take_states(&mut inspection, path).map_err(|error| RunError::Damaged {
            message: error.to_string(),
            help: error.help().to_owned(),
        })?;
        let text = inspection.source.clone();
        let origin = inspection
            .plan
            .as_ref()
            .and_then(|linked| origin_of(&linked.plan, &place));
        seen.origin = SnapshotStamps::of(&place, origin.as_deref()).origin;
        match inspection.plan {
            Some(linked) => Ok(PlanSnapshot::of(path, forced, place, text, linked, seen)),
            None => Err(RunError::refused("there is no plan in the file", "")),
        }
    }

    fn of(
        path: &Path,
        forced: Option<&'static dyn Dialect>,
        place: PlanPlace,
        text: SourceText,
        linked: LinkedPlan,
        seen: SnapshotStamps,
    ) -> Self {
        let plan = &linked.plan;
        let origin = origin_of(plan, &place);
        let names: Vec<String> = (0..plan.tasks().len())
            .map(|ix| plan.task_name(ix).into_owned())
            .collect();
        let numbered = names.iter().enumerate();
        let numbers = numbered.map(|(ix, name)| (name.clone(), ix as u32)).collect();
        PlanSnapshot {
            path: path.to_owned(),
            forced,
            place,
            origin,
            text,
            numbers,
            names,
            keys: (0..plan.tasks().len()).map(|ix| key(plan, ix)).collect(),
            linked,
            seen,
        }
    }

    /// Checks that the plan is writable, if its states are stored in it.
    pub(super) fn try_out(&self) -> Result<(), RunError> {
        if self.plan().lifecycle.machine.written.is_empty() {
            return Ok(());
        }
        let tried = Store::default().try_out(self.file(), &self.text);
        tried.map_err(|error| ReviseError::Store(error).into())
    }

    pub(super) fn file(&self) -> PlanFile<'_> {
        PlanFile {
            path: &self.path,
            id: plan_id(self.plan()),
        }
    }

    pub(super) fn tasks(&self) -> Range<u32> {
        0..self.plan().tasks().len() as u32
    }

    /// Returns the tasks that are marked as done without a proof.
    pub(super) fn unproven(&self, proofs: &Proofs) -> Vec<u32> {
        let is_unproven = |task: &u32| self.state(*task) == State::Done && !proofs.has(self.name(*task));
        self.tasks().filter(is_unproven).collect()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the dialect that the user chose, if any.
    pub fn forced(&self) -> Option<&'static dyn Dialect> {
        self.forced
    }

    pub fn place(&self) -> &PlanPlace {
        &self.place
    }

    /// Returns the plan with its edges as last read. It does not have the later states of tasks.
    pub fn linked(&self) -> &LinkedPlan {
        &self.linked
    }

    pub fn plan(&self) -> &Plan {
        &self.linked.plan
    }

    /// Returns the text of the file, as far as known.
    pub(super) fn text(&self) -> &SourceText {
        &self.text
    }

    pub fn links(&self) -> &Links {
        &self.linked.links
    }

    pub fn name(&self, task: u32) -> &str {
        self.names.get(task as usize).map_or("", String::as_str)
    }

    pub fn named(&self, name: &str) -> Result<u32, RunError> {
        let found = self.numbers.get(name).copied();
        let found = found.or_else(|| self.plan().find_task(name).map(|ix| ix as u32));
        found.ok_or_else(|| RunError::NoSuchTask {
            name: name.to_owned(),
            known: self.names.clone(),
        })
    }

    pub(super) fn state(&self, task: u32) -> State {
        let task = self.plan().tasks().get(task as usize);
        // A task with an unknown status is never ready, and satisfies no dependency.
        task.and_then(|task| task.status.state()).unwrap_or(State::Blocked)
    }

    /// Records what this run wrote over which text, so that its own write is not a change. If another process changed the file between the
    /// last read and the write, or right after it, the next check reads it again.
    pub(super) fn wrote(&mut self, before: &SourceText, text: &SourceText, recorded: &Range<u64>) {
        let was_known = before.as_str() == self.text.as_str();
        let n_known = self.seen.journal.as_ref().map_or(0, |journal| journal.n_bytes);
        let mut seen = SnapshotStamps::of(&self.place, None);
        seen.origin = self.seen.origin.take();
        // Another process may have replaced the file since, even by a text of the same length.
        let is_there = holds(&DiskFiles, &self.place.target, text).unwrap_or(false);
        seen.is_plan_stale |= !was_known || !is_there;
        // The same applies to records of other processes.
        let n_recorded = seen.journal.as_ref().map_or(0, |journal| journal.n_bytes);
        if *recorded != (n_known..n_recorded) {
            seen.journal = None;
        }
        self.seen = seen;
        // Otherwise the text that was read stays, so that the next check finds the difference even if nothing was written.
        if was_known {
            self.text = text.clone();
        }
    }

    /// Returns whether another process may have changed the plan since. Cheap; errs only by returning true.
    pub(super) fn may_have_changed(&self) -> bool {
        SnapshotStamps::of(&self.place, self.origin.as_deref()) != self.seen
    }

    /// Reads the plan again if it may have changed; none if its content is the same.
    pub(super) fn reread(&mut self) -> Result<Option<PlanSnapshot>, UnreadablePlan> {
        if !self.may_have_changed() {
            return Ok(None);
        }
        let seen = SnapshotStamps::of(&self.place, self.origin.as_deref());
        let unreadable = |why: String| UnreadablePlan {
            why,
            seen: Box::new(seen.clone()),
        };
        let leads_elsewhere = PlanPlace::of(&DiskFiles, &self.path).is_ok_and(|now| now.target != self.place.target);
        if leads_elsewhere {
            return Err(unreadable(
                "the plan file was replaced by a link to another file".to_owned(),
            ));
        }
        let source = load(&self.path).map_err(|error| unreadable(error.to_string()))?.source;
        let is_same = source.as_str() == self.text.as_str();
        let rest_is_same = seen.journal == self.seen.journal && seen.origin == self.seen.origin;
        if is_same && rest_is_same {
            self.seen = seen;
            return Ok(None);
        }
        let mut inspection = inspect_file(&source, Some(&self.path), self.forced).inspection;
        if let Some(why) = first_error(&inspection, &self.path) {
            return Err(unreadable(why));
        }
        take_states(&mut inspection, &self.path).map_err(|error| unreadable(error.to_string()))?;
        let Some(linked) = inspection.plan else {
            return Err(unreadable("there is no plan in it any more".to_owned()));
        };
        Ok(Some(PlanSnapshot::of(
            &self.path,
            self.forced,
            self.place.clone(),
            source,
            linked,
            seen,
        )))
    }

    /// Ignores an unusable text until it changes.
    pub(super) fn overlook(&mut self, unreadable: &UnreadablePlan) {
        self.seen = SnapshotStamps::clone(&unreadable.seen);
        // The next text differs from this one in any case.
        self.text = SourceText::new(String::new());
    }

    /// Returns whether the file still has the text that was read, as far as a cheap check can decide.
    pub(super) fn is_as_known(&self) -> bool {
        !self.text.as_str().is_empty() && !self.may_have_changed()
    }

    /// Finds each of these tasks in another snapshot. Fails if a task that matters to the other is ambiguous.
    pub(super) fn matched(
        &self,
        old: &PlanSnapshot,
        matters: impl Fn(u32) -> bool,
    ) -> Result<Vec<Option<u32>>, String> {
        // Appended tasks do not move others, even if they look alike.
        if self.keys.starts_with(&old.keys) {
            let n_known = old.keys.len() as u32;
            let tasks = 0..self.keys.len() as u32;
            return Ok(tasks.map(|task| (task < n_known).then_some(task)).collect());
        }
        let known = unique(&old.keys);
        let own = unique(&self.keys);
        let found = |key: &String| own.get(key.as_str()).and_then(|_| known.get(key.as_str()).copied());
        let matched: Vec<Option<u32>> = self.keys.iter().map(found).collect();
        let is_in_place = |(task, found): (usize, &Option<u32>)| found.is_none_or(|old| old == task as u32);
        if self.keys.len() == old.keys.len() && matched.iter().enumerate().all(is_in_place) {
            let is_numbered = |snapshot: &PlanSnapshot, task: usize| snapshot.keys[task].starts_with(BY_WORDS);
            // Nothing was moved: a task known only by its position and words is the same task even with other words.
            let same = |(task, found): (usize, &Option<u32>)| {
                found.or((is_numbered(self, task) && is_numbered(old, task)).then_some(task as u32))
            };
            let matched: Vec<Option<u32>> = matched.iter().enumerate().map(same).collect();
            if matched.iter().all(Option::is_some) {
                return Ok(matched);
            }
        }
        for (task, key) in old.keys.iter().enumerate().filter(|(task, _)| matters(*task as u32)) {
            // A missing task was removed; but two that look alike are ambiguous.
            let is_ambiguous =
                self.keys.iter().filter(|own| *own == key).count() > 1 || !known.contains_key(key.as_str());
            if is_ambiguous {
                return Err(format!(
                    "the task that was `{}` cannot be identified",
                    old.name(task as u32)
                ));
            }
        }
        Ok(matched)
    }
}

#[derive(Debug)]
pub(super) struct UnreadablePlan {
    pub(super) why: String,
    seen: Box<SnapshotStamps>,
}

impl SnapshotStamps {
    fn of(place: &PlanPlace, origin: Option<&Path>) -> Self {
        let stamp = |path: &Path| std::fs::metadata(path).ok().map(|metadata| FileStamp::of(&metadata));
        SnapshotStamps {
            plan: stamp(&place.target),
            journal: stamp(&place.journal()),
            origin: origin.and_then(stamp),
            is_plan_stale: false,
        }
    }
}

impl FileStamp {
    fn of(metadata: &Metadata) -> Self {
        FileStamp {
            n_bytes: metadata.len(),
            modified: metadata.modified().ok(),
            inode: inode(metadata),
        }
    }
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.ino()
}

#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> u64 {
    0
}

fn origin_of(plan: &Plan, place: &PlanPlace) -> Option<PathBuf> {
    plan.head_str(Field::SourcePlan).map(|path| place.root.join(path))
}

/// The prefix of the keys of tasks that are known by their position and words.
const BY_WORDS: &str = "title ";

/// Returns the key of a task that does not depend on its number: its id, otherwise its words.
fn key(plan: &Plan, task_ix: usize) -> String {
    let task = &plan.tasks()[task_ix];
    match task.name {
        TaskName::Id(id) => format!("id {}", plan.str(id)),
        // With other words it is another task.
        TaskName::Words(name) => format!("words {}", plan.str(name)),
        TaskName::Number(_) | TaskName::Missing => match plan.task_str(task, Field::Id) {
            Some(id) => format!("id {id}"),
            None => {
                let about = plan.task_str(task, Field::Description).unwrap_or_default();
                format!("{BY_WORDS}{}\n{about}", plan.task_title(task))
            }
        },
    }
}

/// Returns the keys that occur once, with their indexes.
fn unique(keys: &[String]) -> HashMap<&str, u32> {
    let mut places: HashMap<&str, Option<u32>> = HashMap::with_capacity(keys.len());
    for (place, key) in keys.iter().enumerate() {
        let entry = places.entry(key.as_str());
        entry.and_modify(|place| *place = None).or_insert(Some(place as u32));
    }
    places
        .into_iter()
        .filter_map(|(key, place)| Some((key, place?)))
        .collect()
}

fn first_error(inspection: &Inspection, path: &Path) -> Option<String> {
    let mut errors = inspection
        .diagnostics
        .iter()
        .filter(|found| found.severity >= Severity::Error);
    let first = errors.next()?;
    let index = inspection.source.line_index();
    let place = first.span.map_or_else(String::new, |span| {
        let at = index.position(span.start);
        format!(":{}:{}", at.line, at.column)
    });
    let more = match errors.count() {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    Some(format!("{}{place}: {}{more}", path.display(), first.message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revise::{BatchRequest, ChangeTarget, transitions};
    use planwright_core::edit::VerbRequest;
    use planwright_core::plan::Verb;

    fn moved(path: &Path, task: &str, verb: Verb) -> crate::revise::RevisedPlan {
        let target = ChangeTarget {
            path,
            forced: None,
            dry: false,
        };
        let update = BatchRequest {
            task: task.to_owned(),
            request: VerbRequest {
                force: true,
                ..VerbRequest::new(verb, "2026-11-16T08:00:00Z")
            },
            decided_by: None,
            verified: None,
        };
        let (revised, results) = transitions(target, verb.as_str(), &[update]).expect("it is written");
        assert!(results.iter().all(Result::is_ok));
        revised
    }

    /// The states of a pack are only in the journal: its text does not show other processes' changes.
    #[test]
    fn changes_recorded_by_other_processes_before_a_write_are_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/task-pack");
        for file in [
            "docs/plans/2026-10-06-001-feat-rate-limit-plan.md",
            "docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md",
        ] {
            let to = folder.path().join(file);
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("ours");
            std::fs::copy(example.join(file), to).expect("the example is there");
        }
        std::fs::create_dir(folder.path().join(".planwright")).expect("ours");
        let path = folder.path().join("docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md");
        let mut snapshot = PlanSnapshot::open(&path, None).expect("it can be run");
        let own = moved(&path, "T001", Verb::Start);
        snapshot.wrote(&own.before, &own.text, &own.recorded);
        assert!(!snapshot.may_have_changed(), "no other process has written it");

        moved(&path, "T002", Verb::Start);
        let own = moved(&path, "T003", Verb::Start);
        snapshot.wrote(&own.before, &own.text, &own.recorded);
        let mut snapshot = snapshot
            .reread()
            .expect("it can be read")
            .expect("another process has written it");
        assert_eq!(snapshot.state(1), State::Running);
        assert!(!snapshot.may_have_changed());

        let own = moved(&path, "T003", Verb::Done);
        moved(&path, "T002", Verb::Done);
        snapshot.wrote(&own.before, &own.text, &own.recorded);
        let snapshot = snapshot
            .reread()
            .expect("it can be read")
            .expect("another process has written it");
        assert_eq!(snapshot.state(1), State::Done);
    }
}
