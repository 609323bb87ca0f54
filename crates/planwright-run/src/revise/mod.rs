//! Takes a verb from a path to a durable change: newest text, new text by the core, write by the store. Decides nothing about
//! plans.

mod batch;
mod called_verbs;
mod pointer;
mod transition;
mod undo;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use planwright_core::change::tasks::{self, Edit};
use planwright_core::change::{self, ChangedText, Open, Problem};
use planwright_core::dialect::{Choice, DIALECTS, Dialect, DiskFacts, Note, PointerUpdate};
use planwright_core::edit::{PlanMove, PlanRequest, VerbRequest};
use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_core::plan::{Plan, PlanVerb, State};
use planwright_core::text::SourceText;

use crate::claims::{Claims, NotHolder};
use crate::clock;
use crate::files::DiskFiles;
use crate::gate::{Closed, GatePolicy};
use crate::inspect_file::open;
use crate::journal::{ChangeRecord, History, JournalRepair, JournalTaskState, PastChange, StateChange, plan_id};
use crate::layout::PlanPlace;
use crate::runs::{self, LiveRun};
use crate::store::{CreateError, LoadError, PlanFile, PreparedChange, Store, StoreError, UpdateError, history, load};
use crate::user::owner_here;
use crate::workspace::slashed;
pub use batch::{BatchRequest, transitions};
pub use called_verbs::note_take_overs;
pub(crate) use called_verbs::{CalledVerbs, LastVerb, last_verbs, last_verbs_of, next_record, was_started_by_hand};
use pointer::point;
pub use pointer::{PointerError, point_at_new};
pub use transition::{PreviewedChange, VerbCall, expired_names, preview_change, transition, transition_by};
pub use undo::{UndoCall, undo};
pub use version::{VersionContent, VersionRequest, Versioned, new_version_of, newest_version};

/// A plan file to change.
#[derive(Clone, Copy)]
pub struct ChangeTarget<'a> {
    pub path: &'a Path,
    /// The dialect to read it in, if the user forces one.
    pub forced: Option<&'static dyn Dialect>,
    /// Whether to stop before anything is written.
    pub dry: bool,
}

/// The tasks of a verb.
#[derive(Clone, Copy, Debug)]
pub enum TaskSelector<'a> {
    /// Those with these names.
    Named(&'a [String]),
    /// The next ready ones, at most this many.
    Next(usize),
}

/// A state transition of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskTransition {
    pub task: String,
    pub from: State,
    pub to: State,
    /// The task whose move caused it.
    pub cause: Option<String>,
    /// The number of the failed attempt and the limit, if the dialect counts them.
    pub attempt: Option<(u64, u64)>,
}

/// A change that was made, or would be in a dry run.
pub struct Revised {
    pub before: SourceText,
    pub text: SourceText,
    /// The plan after the change, with the states that only the journal holds. Its spans refer to [`Inspection::source`], which may be the
    /// text before: then names, titles and dependencies are the same in both.
    pub after: Inspection,
    /// The transitions of tasks.
    pub steps: Vec<TaskTransition>,
    /// The transition of the whole plan, if requested.
    pub plan_step: Option<PlanMove>,
    /// Its record in the journal.
    pub record: ChangeRecord,
    /// The number of the record in the journal; none if nothing was written.
    pub change: Option<u64>,
    /// The number of the change in the plan's history; none if nothing was written.
    pub number: Option<u64>,
    /// The bytes of the journal that were added.
    pub recorded: Range<u64>,
    /// Repairs and discoveries while the journal was opened.
    pub notices: Vec<JournalRepair>,
    /// Further effects of the edits, and remarks for the user, in words.
    pub notes: Vec<String>,
    /// Why the pointer file was not updated.
    pub pointer: Option<PointerError>,
}

/// Why nothing was changed.
#[derive(Debug)]
pub enum ReviseError {
    /// The plan has no such task.
    NoSuchTask {
        name: String,
        /// The names of the plan's tasks; empty in a batch.
        known: Vec<String>,
    },
    /// No task has the name, and the text has syntax errors, so that the task may be in a part that cannot be read.
    DoubtfulPlan { name: String },
    /// The name is ambiguous.
    SeveralTasks {
        name: String,
        /// The lines in which the tasks begin.
        lines: Vec<usize>,
    },
    /// No task is ready.
    NothingReady,
    /// There is no change to undo.
    NothingToUndo,
    /// The last change belongs to an active run of the plan.
    UndoDuringRun { pid: u32 },
    /// A run works on the task, and knows its attempt by the name of the task.
    EditDuringRun {
        task: String,
        /// The process of the run.
        pid: u32,
    },
    /// The change to undo has been edited since.
    EditedSince {
        change: Box<PastChange>,
        /// The later changes that planwright made to the text, the oldest first.
        later: Vec<PastChange>,
    },
    /// The file has changed since the editor was opened.
    ChangedMeanwhile,
    /// A gate is closed.
    Closed(Closed),
    /// The task is held by another owner.
    NotTheirs {
        task: String,
        /// Why the caller is not the holder.
        why: Box<NotHolder>,
    },
    /// The core refused the change.
    Problem(Problem),
    /// A place in this text prevents the change. The text is the plan's, or the result of earlier edits.
    InTheWay { problem: Problem, source: SourceText },
    /// The store returned an error.
    Store(StoreError),
    /// A new file could not be created.
    Created(CreateError),
}

impl From<UpdateError<ReviseError>> for ReviseError {
    fn from(error: UpdateError<ReviseError>) -> Self {
        match error {
            UpdateError::Refused(refused) => refused,
            UpdateError::Store(error) => ReviseError::Store(error),
        }
    }
}

impl From<Problem> for ReviseError {
    fn from(problem: Problem) -> Self {
        ReviseError::Problem(problem)
    }
}

impl From<LoadError> for ReviseError {
    fn from(error: LoadError) -> Self {
        ReviseError::Store(error.into())
    }
}

/// Applies a verb to a whole plan. If the configuration requires an approval that the file cannot store, the journal stores it.
pub fn transition_plan(
    target: ChangeTarget<'_>,
    request: &PlanRequest<'_>,
    policy: GatePolicy,
) -> Result<Revised, ReviseError> {
    revise(target, request.verb.as_str(), |pending| {
        pending.refuse_broken()?;
        let dialect = pending.linked()?.dialect;
        let has_place = dialect.plan_machine().has(PlanVerb::Approve);
        match request.verb {
            PlanVerb::Approve if policy.approval_required && !has_place && pending.history.is_approved() => {
                pending.is_idle = true;
            }
            PlanVerb::Approve | PlanVerb::Reject if policy.approval_required && !has_place => {
                pending.change.approval = Some(request.verb == PlanVerb::Approve);
            }
            _ => {
                let step = pending.make(|open, choice| change::transition_plan(open, choice, request))?;
                pending.plan_step = Some(step);
            }
        }
        pending.change.by = request.by.map(str::to_owned);
        pending.change.note = request.note.map(str::to_owned);
        Ok(())
    })
}

/// Returns the states of a plan's tasks by their names.
fn states_by_name(plan: &Plan) -> BTreeMap<String, State> {
    let tasks = plan.tasks().iter().enumerate();
    let named = tasks.filter_map(|(ix, task)| Some((plan.task_name(ix).into_owned(), task.status.state()?)));
    named.collect()
}

/// Returns the tasks in a state, in the order of the plan.
pub(crate) fn names_in(plan: &Plan, state: State) -> Vec<String> {
    let tasks = plan.tasks().iter().enumerate();
    let found = tasks.filter(|(_, task)| task.status.state() == Some(state));
    found.map(|(ix, _)| plan.task_name(ix).into_owned()).collect()
}

/// Returns the state changes from one text of a plan to the next.
pub fn moves_between(path: &Path, before: &SourceText, after: &SourceText) -> Vec<StateChange> {
    let states = |text: &SourceText| {
        let linked = open(text, Some(path), None).0.inspection.plan;
        linked.map_or_else(BTreeMap::new, |linked| states_by_name(&linked.plan))
    };
    moved_states(&states(before), states(after))
}

fn moved_states(before: &BTreeMap<String, State>, after: BTreeMap<String, State>) -> Vec<StateChange> {
    let moved = after.into_iter().filter_map(|(task, to)| {
        let from = before.get(&task).copied();
        (from.unwrap_or(State::Pending) != to).then(|| StateChange {
            task,
            from: from.map(|from| from.as_str().to_owned()),
            to: to.as_str().to_owned(),
            ..StateChange::default()
        })
    });
    moved.collect()
}

/// Edits the list of tasks. Calls `edit_of` for one edit after another, each with the plan after the earlier ones, until it returns none:
/// tasks are named by their index, which edits change.
pub fn edit<'e>(
    target: ChangeTarget<'_>,
    verb: &str,
    now: &str,
    names: &[String],
    by: Option<&str>,
    mut edit_of: impl FnMut(&LinkedPlan, usize) -> Result<Option<Edit<'e>>, ReviseError>,
) -> Result<Revised, ReviseError> {
    revise(target, verb, |pending| {
        pending.refuse_broken()?;
        pending.compare_states();
        match (verb, names) {
            ("remove", _) => {
                refuse_held(&Claims::of(pending.history), names, by)?;
                names.iter().try_for_each(|task| refuse_in_run(pending, task))?;
            }
            ("rename", [task, ..]) => refuse_in_run(pending, task)?,
            _ => {}
        }
        let mut n_edits = 0;
        while let Some(edit) = edit_of(pending.linked()?, n_edits)? {
            pending.edit(&edit, now)?;
            n_edits += 1;
        }
        // The names of added tasks are known only now.
        if pending.change.tasks.is_empty() {
            pending.change.tasks = names.to_vec();
        }
        pending.change.by = by.map(str::to_owned);
        Ok(())
    })
}

/// Gives a plan the text that its user made of the text `seen`. Writes nothing if the file has changed since.
pub fn edit_text(
    target: ChangeTarget<'_>,
    seen: &SourceText,
    text: &SourceText,
    by: Option<&str>,
) -> Result<Revised, ReviseError> {
    revise(target, "edit", |pending| {
        pending.compare_states();
        if pending.open.source().as_str() != seen.as_str() {
            return Err(ReviseError::ChangedMeanwhile);
        }
        pending.replace(text);
        pending.change.by = by.map(str::to_owned);
        Ok(())
    })
}

/// Refuses to remove tasks that another owner holds.
fn refuse_held(claims: &Claims, tasks: &[String], by: Option<&str>) -> Result<(), ReviseError> {
    let owner = by.map_or_else(owner_here, str::to_owned);
    let now = clock::now();
    for task in tasks {
        let held = claims.on(task).filter(|claim| !claim.is_expired(&now));
        if let Some(claim) = held.filter(|claim| claim.owner().is_some_and(|holder| holder != owner)) {
            return Err(ReviseError::NotTheirs {
                task: task.clone(),
                why: Box::new(NotHolder::HeldAgainst(claim.clone())),
            });
        }
    }
    Ok(())
}

/// Refuses to rename or remove a task that a run works on now.
fn refuse_in_run(pending: &PendingChange<'_>, task: &str) -> Result<(), ReviseError> {
    let claims = Claims::of(pending.history);
    let is_of_run = claims.on(task).is_some_and(|claim| claim.owner().is_none());
    match live_run(pending.target.path).filter(|_| is_of_run) {
        Some(live) => Err(ReviseError::EditDuringRun {
            task: task.to_owned(),
            pid: live.pid,
        }),
        None => Ok(()),
    }
}

/// Returns the run that works on a plan now.
fn live_run(plan: &Path) -> Option<LiveRun> {
    let place = PlanPlace::of(&DiskFiles, plan).ok()?;
    runs::holder(&DiskFiles, &place)
}

/// Returns the task with a name.
pub fn task_named(plan: &Plan, name: &str) -> Result<usize, ReviseError> {
    let tasks = 0..plan.tasks().len();
    let same: Vec<usize> = tasks.filter(|&ix| plan.task_name(ix) == name).collect();
    if same.len() > 1 {
        let index = plan.source().line_index();
        let line = |&ix: &usize| index.position(plan.tasks()[ix].span.start).line;
        return Err(ReviseError::SeveralTasks {
            name: name.to_owned(),
            lines: same.iter().map(line).collect(),
        });
    }
    plan.find_task(name).ok_or_else(|| no_such_task(plan, name))
}

fn no_such_task(plan: &Plan, name: &str) -> ReviseError {
    if plan.is_doubtful {
        let name = name.to_owned();
        return ReviseError::DoubtfulPlan { name };
    }
    ReviseError::NoSuchTask {
        name: name.to_owned(),
        known: (0..plan.tasks().len())
            .map(|ix| plan.task_name(ix).into_owned())
            .collect(),
    }
}

/// Gives a plan the states that only the journal holds, and returns all of them. Does not read the journal if the plan's own file has all
/// states.
pub fn take_states(inspection: &mut Inspection, path: &Path) -> Result<BTreeMap<String, JournalTaskState>, StoreError> {
    let needs_journal = |linked: &&mut LinkedPlan| !is_all_written(&linked.plan) || may_be_offered(&linked.plan);
    let Some(linked) = inspection.plan.as_mut().filter(needs_journal) else {
        return Ok(BTreeMap::new());
    };
    let id = plan_id(&linked.plan).map(str::to_owned);
    let history = history(PlanFile {
        path,
        id: id.as_deref(),
    })?;
    let known = history.task_states();
    let state_of = |name: &str| known.get(name).and_then(|known| State::from_word(&known.state.to));
    linked.plan.take_states(state_of);
    if may_be_offered(&linked.plan) {
        let claims = Claims::of(&history);
        linked.plan.offer_again(|name| claims.is_offered(name));
    }
    Ok(known)
}

/// Returns whether the journal may offer a failed task again.
fn may_be_offered(plan: &Plan) -> bool {
    let is_failed = || {
        plan.tasks()
            .iter()
            .any(|task| task.status.state() == Some(State::Failed))
    };
    plan.lifecycle.machine.retry_stays_failed && is_failed()
}

fn is_all_written(plan: &Plan) -> bool {
    let machine = &plan.lifecycle.machine;
    State::ALL
        .into_iter()
        .all(|state| machine.is_written(state) || (state == State::Blocked && !machine.can_block))
}

/// Returns names in their order, without duplicates.
pub fn each_once<'n>(names: impl IntoIterator<Item = &'n String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|name| seen.insert(*name)).cloned().collect()
}

/// A change in preparation: the plan so far, and the record.
struct PendingChange<'a> {
    target: ChangeTarget<'a>,
    facts: DiskFacts,
    open: Open,
    history: &'a History,
    states: BTreeMap<String, State>,
    steps: Vec<TaskTransition>,
    plan_step: Option<PlanMove>,
    notes: Vec<Note>,
    /// Its moves are states of the journal that stay the same and must be recorded again.
    change: ChangeRecord,
    /// The states before, if they must be compared with those after.
    states_before: Option<BTreeMap<String, State>>,
    /// Whether nothing was changed, so that nothing is written.
    is_idle: bool,
    /// Whether the caller shows the text after the change, with its spans.
    shows_text: bool,
}

impl<'a> PendingChange<'a> {
    fn new(target: ChangeTarget<'a>, verb: &str, (open, facts): (Open, DiskFacts), history: &'a History) -> Self {
        let states = history.task_states().into_iter();
        let states = states.filter_map(|(task, known)| Some((task, State::from_word(&known.state.to)?)));
        let mut pending = PendingChange {
            target,
            facts,
            open,
            history,
            states: states.collect(),
            steps: Vec::new(),
            plan_step: None,
            notes: Vec::new(),
            change: ChangeRecord {
                verb: verb.to_owned(),
                ..ChangeRecord::default()
            },
            states_before: None,
            is_idle: false,
            shows_text: false,
        };
        pending.take_states();
        if !history.has_beginning() {
            let linked = pending.open.inspection.plan.as_ref();
            pending.change.found_done =
                Some(linked.map_or_else(Vec::new, |linked| names_in(&linked.plan, State::Done)));
        }
        pending
    }

    /// Returns the text and the record to write.
    fn finish(mut self, before: &SourceText) -> Draft {
        let restated = std::mem::take(&mut self.change.moves);
        self.change.moves = self.moves().into_iter().chain(restated).collect();
        let text = self.open.source().clone();
        let points = self
            .open
            .inspection
            .dialect
            .is_some_and(|dialect| dialect.pointer().is_some());
        let open = match points || self.shows_text {
            true => choose(self.target, &self.facts, |choice| self.open.into_whole(choice)),
            false => self.open,
        };
        Draft {
            is_idle: self.is_idle,
            revised: Revised {
                before: before.clone(),
                notes: self.notes.iter().filter_map(|note| note.words(&text)).collect(),
                text,
                after: open.inspection,
                steps: self.steps,
                plan_step: self.plan_step,
                record: self.change,
                change: None,
                number: Some(self.history.next_number()),
                recorded: 0..0,
                notices: Vec::new(),
                pointer: None,
            },
        }
    }

    /// Refuses a text with a syntax error: its tasks may be misread.
    fn refuse_broken(&self) -> Result<(), ReviseError> {
        let path = self.target.path.to_string_lossy();
        match Closed::for_syntax(&self.open.inspection, &path) {
            Some(closed) => Err(ReviseError::Closed(closed)),
            None => Ok(()),
        }
    }

    fn linked(&self) -> Result<&LinkedPlan, ReviseError> {
        self.open
            .inspection
            .plan
            .as_ref()
            .ok_or(ReviseError::Problem(Problem::NoPlan))
    }

    /// Remembers the states of the tasks, because the change does more than move tasks.
    fn compare_states(&mut self) {
        self.states_before = self.linked().ok().map(|linked| states_by_name(&linked.plan));
    }

    /// Returns the states that the change gives to tasks.
    fn moves(&self) -> Vec<StateChange> {
        let Some(before) = &self.states_before else {
            let steps = self.steps.iter().map(|step| StateChange {
                task: step.task.clone(),
                from: Some(step.from.as_str().to_owned()),
                to: step.to.as_str().to_owned(),
                ..StateChange::default()
            });
            return steps.collect();
        };
        let after = self.linked().map(|linked| states_by_name(&linked.plan));
        moved_states(before, after.unwrap_or_default())
    }

    fn offer_again(&mut self, claims: &Claims) {
        if let Some(linked) = &mut self.open.inspection.plan {
            linked.plan.offer_again(|name| claims.is_offered(name));
        }
    }

    fn take_states(&mut self) {
        if let Some(linked) = &mut self.open.inspection.plan
            && !self.states.is_empty()
        {
            linked.plan.take_states(|name| self.states.get(name).copied());
        }
    }

    fn replace(&mut self, source: &SourceText) {
        (self.open, self.facts) = open(source, Some(self.target.path), self.target.forced);
        self.take_states();
    }

    fn with_choice<T>(&self, call: impl FnOnce(&Open, &Choice<'_>) -> T) -> T {
        choose(self.target, &self.facts, |choice| call(&self.open, choice))
    }

    /// Applies a change to the plan so far. The states of the journal stay valid.
    fn make<T>(
        &mut self,
        change: impl FnOnce(&Open, &Choice<'_>) -> Result<(ChangedText, T), Problem>,
    ) -> Result<T, ReviseError> {
        let changed = self.with_choice(change);
        let (changed, result) = changed.map_err(|problem| located(problem, self.open.source()))?;
        for note in &changed.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        self.open.take(changed);
        self.take_states();
        Ok(result)
    }

    fn record_state(&mut self, task: &str, from: Option<State>, to: Option<State>, words: Option<&VerbRequest<'_>>) {
        let Some(to) = to else {
            return;
        };
        self.states.insert(task.to_owned(), to);
        self.change.states.push(StateChange {
            task: task.to_owned(),
            from: from.map(|from| from.as_str().to_owned()),
            to: to.as_str().to_owned(),
            note: words.and_then(|words| words.note).map(str::to_owned),
            output: words.and_then(|words| words.output).map(str::to_owned),
        });
    }

    /// Records that the journal's state of a task no longer applies, and returns it: a reused id is another task's.
    fn forget_state(&mut self, task: &str) -> Option<State> {
        let state = self.states.get(task).copied();
        if state.is_some() {
            self.record_state(task, state, Some(State::Pending), None);
        }
        state
    }

    fn edit(&mut self, edit: &Edit<'_>, now: &str) -> Result<(), ReviseError> {
        let plan = &self.linked()?.plan;
        let old_name = match edit {
            Edit::Rename { task_ix, .. } | Edit::Remove { task_ix, .. } if *task_ix < plan.tasks().len() => {
                Some(plan.task_name(*task_ix).into_owned())
            }
            _ => None,
        };
        self.make(|open, choice| Ok((tasks::edit(open, choice, edit, now)?, ())))?;
        let state = old_name.and_then(|old| self.forget_state(&old));
        if let Edit::Rename { to, .. } = edit
            && state.is_some()
        {
            self.record_state(to, None, state, None);
            self.take_states();
        }
        if let Edit::Add(new) = edit {
            let plan = &self.linked()?.plan;
            let added = plan
                .task_name(new.at.min(plan.tasks().len().saturating_sub(1)))
                .into_owned();
            self.change.tasks.push(added);
        }
        Ok(())
    }
}

/// Calls a function with the choice of the file's dialect.
fn choose<T>(target: ChangeTarget<'_>, facts: &DiskFacts, call: impl FnOnce(&Choice<'_>) -> T) -> T {
    call(&Choice {
        dialects: DIALECTS,
        forced: target.forced,
        path: Some(&slashed(target.path)),
        facts,
    })
}

/// Adds the text to a refusal that has a span in it.
fn located(problem: Problem, source: &SourceText) -> ReviseError {
    match problem {
        problem @ (Problem::Unpatchable(_) | Problem::Place { .. }) => ReviseError::InTheWay {
            problem,
            source: source.clone(),
        },
        problem => ReviseError::Problem(problem),
    }
}

/// Prepares a change on the newest text and writes it.
fn revise(
    target: ChangeTarget<'_>,
    verb: &str,
    prepare: impl FnMut(&mut PendingChange<'_>) -> Result<(), ReviseError>,
) -> Result<Revised, ReviseError> {
    Revision::open(target, verb)?.make(prepare)
}

/// A prepared change.
struct Draft {
    revised: Revised,
    is_idle: bool,
}

/// A change of one plan, from the first read to the store.
struct Revision<'a> {
    target: ChangeTarget<'a>,
    verb: String,
    /// The text that was read before the lock was taken. Usually the file still has it then.
    source: SourceText,
    opened: Option<(Open, DiskFacts)>,
    id: Option<String>,
    /// The change prepared for that text, and the number of the journal's next record then.
    draft: Option<(Draft, u64)>,
}

impl<'a> Revision<'a> {
    /// Reads the plan.
    fn open(target: ChangeTarget<'a>, verb: &str) -> Result<Self, ReviseError> {
        let source = load(target.path)?.source;
        let opened = open(&source, Some(target.path), target.forced);
        let linked = opened.0.inspection.plan.as_ref();
        Ok(Revision {
            id: linked.and_then(|linked| plan_id(&linked.plan)).map(str::to_owned),
            target,
            verb: verb.to_owned(),
            source,
            opened: Some(opened),
            draft: None,
        })
    }

    /// Prepares the change without a lock. [`Revision::make`] uses it, unless the plan or its journal has changed.
    fn preview_change(
        &mut self,
        prepare: impl FnMut(&mut PendingChange<'_>) -> Result<(), ReviseError>,
    ) -> Result<(), ReviseError> {
        let file = PlanFile {
            path: self.target.path,
            id: self.id.as_deref(),
        };
        let history = history(file).map_err(ReviseError::Store)?;
        let draft = self.prepare(&self.source.clone(), &history, prepare)?;
        self.draft = Some((draft, history.next_seq()));
        Ok(())
    }

    fn prepare(
        &mut self,
        source: &SourceText,
        history: &History,
        mut prepare: impl FnMut(&mut PendingChange<'_>) -> Result<(), ReviseError>,
    ) -> Result<Draft, ReviseError> {
        let is_first = self.source.as_str() == source.as_str();
        match self.draft.take() {
            Some((draft, next_seq)) if is_first && next_seq == history.next_seq() => return Ok(draft),
            _ => {}
        }
        let opened = match self.opened.take() {
            Some(opened) if is_first => opened,
            _ => open(source, Some(self.target.path), self.target.forced),
        };
        let mut pending = PendingChange::new(self.target, &self.verb, opened, history);
        prepare(&mut pending)?;
        Ok(pending.finish(source))
    }

    /// Prepares the change on the newest text, and writes it if there is one.
    fn make(
        mut self,
        mut prepare: impl FnMut(&mut PendingChange<'_>) -> Result<(), ReviseError>,
    ) -> Result<Revised, ReviseError> {
        let target = self.target;
        if target.dry {
            if self.draft.is_none() {
                self.preview_change(prepare)?;
            }
            let (draft, _) = self.draft.ok_or(Problem::NoPlan)?;
            return Ok(Revised {
                number: None,
                ..draft.revised
            });
        }
        let (id, verb, source) = (self.id.clone(), self.verb.clone(), self.source.clone());
        let file = PlanFile {
            path: target.path,
            id: id.as_deref(),
        };
        let mut draft = None;
        let updated = Store::default().update_known(file, &verb, Some(&source), |source, history| {
            let made = draft.insert(self.prepare(source, history, &mut prepare)?);
            Ok::<_, ReviseError>(Some(PreparedChange {
                text: Some(made.revised.text.clone()),
                change: made.revised.record.clone(),
            }))
        })?;
        let Draft { mut revised, is_idle } = draft.ok_or(Problem::NoPlan)?;
        if !is_idle {
            let begins = revised.steps.iter().any(|step| step.to == State::Running);
            let pointing = if begins {
                PointerUpdate::Begins
            } else {
                PointerUpdate::Stays
            };
            revised.pointer = point(target.path, &revised.after, pointing, &clock::now());
        }
        Ok(Revised {
            change: updated.change,
            number: updated.change.and(revised.number),
            recorded: updated.recorded,
            notices: updated.notices,
            ..revised
        })
    }
}
