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
use std::path::{Path, PathBuf};

use planwright_core::change::tasks::{self, Edit};
use planwright_core::change::{self, ChangedText, Open, Problem};
use planwright_core::dialect::{Choice, DIALECTS, Dialect, DiskFacts, Note, Pointing};
use planwright_core::edit::{PlanMove, PlanRequest, VerbRequest};
use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_core::plan::{Plan, PlanVerb, State};
use planwright_core::text::SourceText;

use crate::claims::{Claims, NotHolder};
use crate::clock;
use crate::gate::{Closed, GatePolicy};
use crate::inspect_file::open;
use crate::journal::{
    ChangeRecord, Claimed, History, JournalRepair, JournalTaskState, ManualVerification, PastChange, StateChange,
    plan_id,
};
use crate::store::{CreateError, LoadError, PlanFile, PreparedChange, Store, StoreError, UpdateError, history, load};
use crate::user::owner_here;
use crate::workspace::slashed;
pub use batch::{BatchRequest, transitions};
pub use called_verbs::note_take_overs;
pub(crate) use called_verbs::{CalledVerbs, LastVerb, last_verbs, last_verbs_of, next_record, was_started_by_hand};
use pointer::point;
pub use pointer::{PointerError, point_at_new};
pub use transition::{VerbCall, expired_names, transition, transition_by};
pub use undo::{UndoCall, undo};
pub use version::{VersionContent, VersionRequest, Versioned, new_version_of, newest_version};

/// A plan file that is to be changed.
#[derive(Clone, Copy)]
pub struct ChangeTarget<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// The dialect to read it in, whatever it looks like.
    pub forced: Option<&'static dyn Dialect>,
    /// Whether to stop before anything is written.
    pub dry: bool,
}

/// Which tasks a verb is about.
#[derive(Clone, Copy, Debug)]
pub enum Pick<'a> {
    /// Those with these names.
    Named(&'a [String]),
    /// The next ready ones, at most this many.
    Next(usize),
}

/// What became of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskTransition {
    /// Its name.
    pub task: String,
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
    /// The task whose move brought this about.
    pub cause: Option<String>,
    /// Which attempt failed, and how many there may be, where the dialect counts them.
    pub attempt: Option<(u64, u64)>,
}

/// A change that was made, or would be.
pub struct Revised {
    /// The text before.
    pub before: SourceText,
    /// The text after.
    pub text: SourceText,
    /// The plan after, with the states that only the journal holds. See `is_behind`.
    pub after: Inspection,
    /// True where `after` is what was read of the text before, with the states of the text after: names, titles and
    /// dependencies are the same in both.
    pub is_behind: bool,
    /// The tasks that were asked for.
    pub names: Vec<String>,
    /// What became of which task.
    pub steps: Vec<TaskTransition>,
    /// What became of the plan as a whole, where that was asked for.
    pub plan_step: Option<PlanMove>,
    /// How the tasks were verified before.
    pub verified: Vec<ManualVerification>,
    /// Who holds the tasks from now on.
    pub claim: Option<Claimed>,
    /// Whether the plan as a whole may be worked on from now on, where only the journal has that.
    pub approval: Option<bool>,
    /// Who held tasks that were taken over.
    pub taken_over_from: Option<String>,
    /// The gates that were closed and passed by force.
    pub passed_gates: Vec<String>,
    /// The number of the change in the journal; none where nothing was written.
    pub change: Option<u64>,
    /// Which bytes of the journal came with it.
    pub recorded: Range<u64>,
    /// What was found and put right on the way.
    pub notices: Vec<JournalRepair>,
    /// What else the edits did, and what the user may want to look at, in words.
    pub notes: Vec<String>,
    /// Why the file that points at the plan is not in step with it.
    pub pointer: Option<PointerError>,
}

impl Revised {
    /// Reads the text after as a whole, where that was not needed to change it.
    pub fn catch_up(&mut self, target: ChangeTarget<'_>) {
        if !std::mem::take(&mut self.is_behind) {
            return;
        }
        let behind = std::mem::replace(
            &mut self.after,
            open(&self.text, Some(target.path), target.forced).0.inspection,
        );
        if let (Some(behind), Some(linked)) = (&behind.plan, &mut self.after.plan) {
            let plan = &behind.plan;
            let states = plan.tasks().iter().enumerate();
            let states: BTreeMap<_, _> = states
                .filter_map(|(ix, task)| Some((plan.task_name(ix), task.status.state()?)))
                .collect();
            linked.plan.take_states(|name| states.get(name).copied());
        }
    }
}

/// Why nothing was changed.
#[derive(Debug)]
pub enum ReviseError {
    /// The plan has no such task.
    NoSuchTask {
        /// The name.
        name: String,
        /// Names it has.
        known: Vec<String>,
    },
    /// Several tasks have the name.
    SeveralTasks {
        /// The name.
        name: String,
        /// The lines that they begin in.
        lines: Vec<usize>,
    },
    /// No task is ready.
    NothingReady,
    /// There is nothing to take back.
    NothingToUndo,
    /// The last change is that of a run which works on the plan.
    UndoDuringRun {
        /// The process of the run.
        pid: u32,
    },
    /// What is to be taken back has been edited since.
    EditedSince {
        /// The change.
        change: Box<PastChange>,
        /// A text that the change wrote, and that the file does not have any more.
        missing: Option<String>,
    },
    /// The file is not what it was when an editor was opened on it.
    ChangedMeanwhile,
    /// A gate is closed.
    Closed(Closed),
    /// The task is held by another owner.
    NotTheirs {
        /// The task.
        task: String,
        /// Why it is not theirs who called.
        why: Box<NotHolder>,
    },
    /// The core would not.
    Problem(Problem),
    /// A place of this text stands in the way: the plan's, or what edits before had made of it.
    InTheWay {
        /// What is in the way.
        problem: Problem,
        /// The text.
        source: SourceText,
    },
    /// The store could not.
    Store(StoreError),
    /// A file of its own could not be made.
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

/// Does a verb to a whole plan. Where the configuration asks for approval and the file has no place for it, the journal has it.
pub fn transition_plan(
    target: ChangeTarget<'_>,
    request: &PlanRequest<'_>,
    policy: GatePolicy,
) -> Result<Revised, ReviseError> {
    revise(target, request.verb.as_str(), |pending| {
        let dialect = pending.linked()?.dialect;
        let has_place = dialect.plan_machine().has(PlanVerb::Approve);
        match request.verb {
            PlanVerb::Approve if policy.approval_required && !has_place && pending.history.is_approved() => {
                pending.is_idle = true;
            }
            PlanVerb::Approve | PlanVerb::Reject if policy.approval_required && !has_place => {
                pending.change.approval = Some(request.verb == PlanVerb::Approve);
            }
            _ => pending.transition_plan(request)?,
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

/// Returns the tasks that are done.
pub(crate) fn done_names(plan: &Plan) -> Vec<String> {
    let done = plan.tasks().iter().enumerate();
    let done = done.filter(|(_, task)| task.status.state() == Some(State::Done));
    done.map(|(ix, _)| plan.task_name(ix).into_owned()).collect()
}

/// Returns the states that tasks got from one text of a plan to the next.
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

/// Edits the list of tasks. `edit_of` is asked for one edit after another, each for the plan as it is by then, until it
/// has no more: tasks are named by their place, which edits change.
pub fn edit<'e>(
    target: ChangeTarget<'_>,
    verb: &str,
    now: &str,
    names: &[String],
    by: Option<&str>,
    mut edit_of: impl FnMut(&LinkedPlan, usize) -> Result<Option<Edit<'e>>, ReviseError>,
) -> Result<Revised, ReviseError> {
    revise(target, verb, |pending| {
        pending.compare_states();
        if verb == "remove" {
            refuse_held(&Claims::of(pending.history), names, by)?;
        }
        let mut n_edits = 0;
        while let Some(edit) = edit_of(pending.linked()?, n_edits)? {
            pending.edit(&edit, now)?;
            n_edits += 1;
        }
        // What was added is known by now, and was not before.
        if pending.change.tasks.is_empty() {
            pending.change.tasks = names.to_vec();
        }
        pending.change.by = by.map(str::to_owned);
        Ok(())
    })
}

/// Gives a plan the text that its user made of the text `seen`. Where the file has another text by now, nothing is written.
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
    ReviseError::NoSuchTask {
        name: name.to_owned(),
        known: (0..plan.tasks().len())
            .map(|ix| plan.task_name(ix).into_owned())
            .collect(),
    }
}

/// Gives a plan the states that only the journal holds, and returns all that it knows of them. Where the plan's own file has them all
/// the journal is not read.
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

fn states_of(history: &History) -> BTreeMap<String, State> {
    let states = history.task_states().into_iter();
    states
        .filter_map(|(task, known)| Some((task, State::from_word(&known.state.to)?)))
        .collect()
}

/// Returns names in their order, each once.
pub fn each_once<'n>(names: impl IntoIterator<Item = &'n String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|name| seen.insert(*name)).cloned().collect()
}

/// Where a change is prepared: the plan as it is so far, and what is to be recorded.
struct PendingChange<'a> {
    path: &'a Path,
    forced: Option<&'static dyn Dialect>,
    facts: DiskFacts,
    open: Open,
    history: &'a History,
    states: BTreeMap<String, State>,
    steps: Vec<TaskTransition>,
    plan_step: Option<PlanMove>,
    notes: Vec<Note>,
    change: ChangeRecord,
    /// The states before, where those after are to be compared with them.
    states_before: Option<BTreeMap<String, State>>,
    /// States that tasks have as before, and that only the journal has to record again.
    restated: Vec<StateChange>,
    /// Nothing was done after all, and nothing is to be written.
    is_idle: bool,
}

impl PendingChange<'_> {
    fn linked(&self) -> Result<&LinkedPlan, ReviseError> {
        self.open
            .inspection
            .plan
            .as_ref()
            .ok_or(ReviseError::Problem(Problem::NoPlan))
    }

    /// Remembers the states of the tasks: the change does more than to move tasks.
    fn compare_states(&mut self) {
        self.states_before = self.linked().ok().map(|linked| states_by_name(&linked.plan));
    }

    /// Returns the states that the change gives to tasks.
    fn moves(&mut self) -> Vec<StateChange> {
        let Some(before) = self.states_before.take() else {
            let steps = self.steps.iter().map(|step| StateChange {
                task: step.task.clone(),
                from: Some(step.from.as_str().to_owned()),
                to: step.to.as_str().to_owned(),
                ..StateChange::default()
            });
            return steps.collect();
        };
        self.catch_up();
        let after = self
            .linked()
            .map_or_else(|_| BTreeMap::new(), |linked| states_by_name(&linked.plan));
        moved_states(&before, after)
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
        (self.open, self.facts) = open(source, Some(self.path), self.forced);
        self.take_states();
    }

    /// Reads the text again where an earlier change did not.
    fn catch_up(&mut self) {
        if self.open.is_behind() {
            self.replace(&self.open.source().clone());
        }
    }

    /// Goes over to a changed text; the states of the journal still hold.
    fn take(&mut self, changed: ChangedText) {
        self.open.take(changed);
        self.take_states();
    }

    fn with_choice<T>(&self, call: impl FnOnce(&Open, &Choice<'_>) -> T) -> T {
        let name = slashed(self.path);
        let choice = Choice {
            dialects: DIALECTS,
            forced: self.forced,
            path: Some(&name),
            facts: &self.facts,
        };
        call(&self.open, &choice)
    }

    fn transition_plan(&mut self, request: &PlanRequest<'_>) -> Result<(), ReviseError> {
        self.catch_up();
        let changed = self.with_choice(|open, choice| change::transition_plan(open, choice, request));
        let (changed, step) = changed.map_err(|problem| located(problem, self.open.source()))?;
        self.notes.extend(changed.notes.iter().cloned());
        self.plan_step = Some(step);
        self.take(changed);
        Ok(())
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

    fn edit(&mut self, edit: &Edit<'_>, now: &str) -> Result<(), ReviseError> {
        self.catch_up();
        let changed = self.with_choice(|open, choice| tasks::edit(open, choice, edit, now));
        let changed = changed.map_err(|problem| located(problem, self.open.source()))?;
        let old_name = |ix: usize| self.linked().map(|linked| linked.plan.task_name(ix).into_owned());
        match edit {
            Edit::Rename { task_ix, to } => {
                let old = old_name(*task_ix)?;
                if let Some(state) = self.states.get(&old).copied() {
                    self.record_state(&old, Some(state), Some(State::Pending), None);
                    self.record_state(to, None, Some(state), None);
                }
            }
            // An id that is used again is another task's.
            Edit::Remove { task_ix, .. } => {
                let old = old_name(*task_ix)?;
                if let Some(state) = self.states.get(&old).copied() {
                    self.record_state(&old, Some(state), Some(State::Pending), None);
                }
            }
            _ => {}
        }
        for note in &changed.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        self.take(changed);
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

/// Keeps the text that the place of a refusal is in.
fn located(problem: Problem, source: &SourceText) -> ReviseError {
    match problem {
        problem @ (Problem::Unpatchable(_) | Problem::Place { .. }) => ReviseError::InTheWay {
            problem,
            source: source.clone(),
        },
        problem => ReviseError::Problem(problem),
    }
}

/// Prepares a change on the newest text and has it written.
fn revise(
    target: ChangeTarget<'_>,
    verb: &str,
    mut prepare: impl FnMut(&mut PendingChange<'_>) -> Result<(), ReviseError>,
) -> Result<Revised, ReviseError> {
    let path: PathBuf = target.path.to_owned();
    let source = load(&path)?.source;
    let first = open(&source, Some(&path), target.forced);
    let id = first
        .0
        .inspection
        .plan
        .as_ref()
        .and_then(|linked| plan_id(&linked.plan))
        .map(str::to_owned);
    let file = PlanFile {
        path: &path,
        id: id.as_deref(),
    };
    // What was read before the lock was taken is mostly still what is there.
    let mut read = Some((source.clone(), first));
    let mut revised = None;
    let mut is_idle = false;
    let mut work = |source: &SourceText, history: &History| -> Result<PreparedChange, ReviseError> {
        let (open, facts) = match read.take() {
            Some((before, opened)) if before.as_str() == source.as_str() => opened,
            _ => open(source, Some(&path), target.forced),
        };
        let mut pending = PendingChange {
            path: &path,
            forced: target.forced,
            facts,
            open,
            history,
            states: states_of(history),
            steps: Vec::new(),
            plan_step: None,
            notes: Vec::new(),
            change: ChangeRecord {
                verb: verb.to_owned(),
                ..ChangeRecord::default()
            },
            states_before: None,
            restated: Vec::new(),
            is_idle: false,
        };
        pending.take_states();
        let done_before = match history.has_beginning() {
            true => Vec::new(),
            false => pending
                .linked()
                .map_or_else(|_| Vec::new(), |linked| done_names(&linked.plan)),
        };
        prepare(&mut pending)?;
        is_idle = pending.is_idle;
        pending.change.moves = pending.moves();
        pending.change.moves.append(&mut pending.restated);
        if !history.has_beginning() {
            pending.change.found_done = Some(done_before);
        }
        let text = pending.open.source().clone();
        let verified = pending.change.verified.clone();
        let claim = pending.change.claim.clone();
        let names = pending.change.tasks.clone();
        let taken_over_from = pending.change.taken_over_from.clone();
        let approval = pending.change.approval;
        let passed_gates = pending.change.passed_gates.clone();
        let prepared = PreparedChange {
            text: Some(text.clone()),
            change: pending.change,
        };
        revised = Some(Revised {
            before: source.clone(),
            is_behind: pending.open.is_behind(),
            notes: pending.notes.iter().filter_map(|note| note.words(&text)).collect(),
            text,
            after: pending.open.inspection,
            names,
            steps: pending.steps,
            plan_step: pending.plan_step,
            verified,
            claim,
            approval,
            taken_over_from,
            passed_gates,
            change: None,
            recorded: 0..0,
            notices: Vec::new(),
            pointer: None,
        });
        Ok(prepared)
    };
    let (change, recorded, notices) = if target.dry {
        let history = history(file).map_err(ReviseError::Store)?;
        let source = load(&path)?.source;
        work(&source, &history)?;
        (None, 0..0, Vec::new())
    } else {
        let updated = Store::default().update_known(file, verb, Some(&source), |source, history| {
            work(source, history).map(Some)
        })?;
        (updated.change, updated.recorded, updated.notices)
    };
    let mut revised = revised.ok_or(ReviseError::Problem(Problem::NoPlan))?;
    if !target.dry && !is_idle {
        let begins = revised.steps.iter().any(|step| step.to == State::Running);
        let pointing = if begins { Pointing::Begins } else { Pointing::Stays };
        revised.pointer = point(target, &mut revised, pointing, &clock::now());
    }
    Ok(Revised {
        change,
        recorded,
        notices,
        ..revised
    })
}
