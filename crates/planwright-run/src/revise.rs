//! A verb from a path to a durable change: read the newest text, let the core make the new one, have the store write it.
//! Decides nothing about plans, and shows nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use planwright_core::change::tasks::{self, Edit};
use planwright_core::change::{self, Open, Problem};
use planwright_core::dialect::{self, Choice, DIALECTS, Dialect, Facts, Note};
use planwright_core::edit::Request;
use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_core::plan::{Plan, Readiness, State};
use planwright_core::text::SourceText;

use crate::clock;
use crate::examine::open;
use crate::journal::{Change, History, Notice, PastChange, StateChange, plan_id};
use crate::store::{
    CreateError, LoadError, PlanFile, Prepared, ReplaceError, Store, StoreError, UpdateError, create, history, load,
    replace,
};
use crate::workspace::slashed;

/// A plan file that is to be changed.
#[derive(Clone, Copy)]
pub struct Target<'a> {
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
pub struct Step {
    /// Its name.
    pub task: String,
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
    /// The task whose move brought this about.
    pub cause: Option<String>,
}

/// A change that was made, or would be.
pub struct Revised {
    /// The text before.
    pub before: SourceText,
    /// The plan after, with the states that only the journal holds.
    pub after: Inspection,
    /// What became of which task.
    pub steps: Vec<Step>,
    /// The number of the change in the journal; none where nothing was written.
    pub change: Option<u64>,
    /// What was found and put right on the way.
    pub notices: Vec<Notice>,
    /// What else the edits did, and what the user may want to look at, in words.
    pub notes: Vec<String>,
    /// Why the file that points at the plan is not in step with it.
    pub pointer: Option<PointerError>,
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
    /// No task is ready.
    NothingReady,
    /// There is nothing to take back.
    NothingToUndo,
    /// What is to be taken back has been edited since.
    EditedSince {
        /// The change.
        change: Box<PastChange>,
    },
    /// The core would not.
    Problem(Problem),
    /// The store could not.
    Store(StoreError),
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

/// Does a verb to tasks, all of them or none.
pub fn transition(target: Target<'_>, pick: Pick<'_>, request: &Request<'_>) -> Result<Revised, ReviseError> {
    revise(target, request.verb.as_str(), |desk| {
        let names = match pick {
            Pick::Named(names) => names.to_vec(),
            Pick::Next(most) => next_names(desk.linked()?, most),
        };
        if names.is_empty() {
            return Err(ReviseError::NothingReady);
        }
        for name in &names {
            desk.transition(name, request)?;
        }
        desk.change.tasks = names;
        desk.change.by = request.by.map(str::to_owned);
        desk.change.note = request.note.map(str::to_owned);
        desk.change.output = request.output.map(str::to_owned);
        desk.change.files = request.files.to_vec();
        Ok(())
    })
}

/// Keeps the file in step that says which plan is being worked on, where the dialect has one. The plan itself is written
/// by then: what goes wrong here is said, and loses nothing.
fn point(path: &Path, after: &Inspection, begins: bool, now: &str) -> Option<PointerError> {
    let plan = &after.plan.as_ref()?.plan;
    let dialect = dialect::find(plan.dialect)?;
    let absolute = std::fs::canonicalize(path).ok()?;
    let relative = dialect.pointer(&slashed(&absolute))?;
    let file = absolute.parent()?.join(relative);
    let old = match load(&file) {
        Ok(loaded) => Some(loaded.source),
        Err(LoadError::Missing { .. }) => None,
        Err(error) => return Some(PointerError::Load(error)),
    };
    let new = dialect.point(old.as_ref(), plan, begins, now)?;
    match old {
        Some(old) => replace(&file, &old, &new).err().map(PointerError::Replace),
        None => create(&file, &new).err().map(PointerError::Create),
    }
}

/// Why the file that says which plan is being worked on was not kept in step.
#[derive(Debug, thiserror::Error)]
pub enum PointerError {
    /// It cannot be read.
    #[error(transparent)]
    Load(LoadError),
    /// It cannot be replaced.
    #[error(transparent)]
    Replace(ReplaceError),
    /// It cannot be made.
    #[error(transparent)]
    Create(CreateError),
}

/// Edits the list of tasks. `edit_of` is asked for one edit after another, each for the plan as it is by then, until it
/// has no more: tasks are named by their place, which edits change.
pub fn edit<'e>(
    target: Target<'_>,
    verb: &str,
    now: &str,
    names: &[String],
    by: Option<&str>,
    mut edit_of: impl FnMut(&LinkedPlan, usize) -> Result<Option<Edit<'e>>, ReviseError>,
) -> Result<Revised, ReviseError> {
    revise(target, verb, |desk| {
        let mut n_edits = 0;
        while let Some(edit) = edit_of(desk.linked()?, n_edits)? {
            desk.edit(&edit, now)?;
            n_edits += 1;
        }
        desk.change.tasks = names.to_vec();
        desk.change.by = by.map(str::to_owned);
        Ok(())
    })
}

/// Takes back the last change that was made through planwright.
pub fn undo(target: Target<'_>, by: Option<&str>) -> Result<(PastChange, Revised), ReviseError> {
    let mut undone = None;
    let revised = revise(target, "undo", |desk| {
        let past = desk.history.undoable().ok_or(ReviseError::NothingToUndo)?;
        if let Some(text) = &past.change.text {
            let reverted = text.revert(desk.open.inspection.source.as_str());
            let Some(reverted) = reverted else {
                return Err(ReviseError::EditedSince { change: Box::new(past) });
            };
            desk.replace(&SourceText::new(reverted));
        }
        for state in &past.change.states {
            let from = state.from.clone().unwrap_or_else(|| State::Pending.as_str().to_owned());
            desk.record_state(&state.task, State::from_word(&state.to), State::from_word(&from));
        }
        desk.change.tasks.clone_from(&past.change.tasks);
        desk.change.by = by.map(str::to_owned);
        desk.change.undoes = Some(past.seq);
        undone = Some(past);
        Ok(())
    })?;
    undone.map(|past| (past, revised)).ok_or(ReviseError::NothingToUndo)
}

/// Returns the task with a name.
pub fn task_named(plan: &Plan, name: &str) -> Result<usize, ReviseError> {
    plan.find_task(name).ok_or_else(|| ReviseError::NoSuchTask {
        name: name.to_owned(),
        known: (0..plan.tasks().len())
            .map(|ix| plan.task_name(ix).into_owned())
            .collect(),
    })
}

/// Gives a plan the states that only the journal holds. A journal that cannot be read says nothing: who writes is told.
pub fn take_states(inspection: &mut Inspection, path: &Path) {
    let Some(linked) = &mut inspection.plan else {
        return;
    };
    if is_all_written(&linked.plan) {
        return;
    }
    let id = plan_id(&linked.plan).map(str::to_owned);
    if let Ok(history) = history(PlanFile {
        path,
        id: id.as_deref(),
    }) {
        let states = states_of(&history);
        linked.plan.take_states(|name| states.get(name).copied());
    }
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

fn next_names(linked: &LinkedPlan, most: usize) -> Vec<String> {
    let readiness = Readiness::new(&linked.plan, &linked.links);
    let offered = readiness.offered().into_iter().take(most);
    offered.map(|ix| linked.plan.task_name(ix).into_owned()).collect()
}

/// Where a change is prepared: the plan as it is so far, and what is to be recorded.
struct Desk<'a> {
    path: &'a Path,
    forced: Option<&'static dyn Dialect>,
    facts: Facts,
    open: Open,
    history: &'a History,
    states: BTreeMap<String, State>,
    steps: Vec<Step>,
    notes: Vec<Note>,
    change: Change,
}

impl Desk<'_> {
    fn linked(&self) -> Result<&LinkedPlan, ReviseError> {
        self.open
            .inspection
            .plan
            .as_ref()
            .ok_or(ReviseError::Problem(Problem::NoPlan))
    }

    /// Takes a new text; the states of the journal still hold.
    fn take(&mut self, open: Open) {
        self.open = open;
        self.take_states();
    }

    fn take_states(&mut self) {
        if let Some(linked) = &mut self.open.inspection.plan {
            linked.plan.take_states(|name| self.states.get(name).copied());
        }
    }

    fn replace(&mut self, source: &SourceText) {
        let (open, facts) = open(source, self.path, self.forced);
        self.facts = facts;
        self.take(open);
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

    fn transition(&mut self, name: &str, request: &Request<'_>) -> Result<(), ReviseError> {
        let linked = self.linked()?;
        let task_ix = task_named(&linked.plan, name)?;
        let is_all_written = is_all_written(&linked.plan);
        let changed = self.with_choice(|open, choice| change::transition(open, choice, task_ix, request))?;
        let plan = &self.linked()?.plan;
        let name_of = |ix: usize| plan.task_name(ix).into_owned();
        let steps: Vec<Step> = changed
            .moves
            .iter()
            .map(|step| Step {
                task: name_of(step.task_ix),
                from: step.from,
                to: step.to,
                cause: step.cause.map(name_of),
            })
            .collect();
        for step in &steps {
            if !is_all_written {
                self.record_state(&step.task, Some(step.from), Some(step.to));
            }
        }
        self.steps.extend(steps);
        self.take(changed.open);
        Ok(())
    }

    fn record_state(&mut self, task: &str, from: Option<State>, to: Option<State>) {
        let Some(to) = to else {
            return;
        };
        self.states.insert(task.to_owned(), to);
        self.change.states.push(StateChange {
            task: task.to_owned(),
            from: from.map(|from| from.as_str().to_owned()),
            to: to.as_str().to_owned(),
            note: None,
        });
    }

    fn edit(&mut self, edit: &Edit<'_>, now: &str) -> Result<(), ReviseError> {
        let changed = self.with_choice(|open, choice| tasks::edit(open, choice, edit, now))?;
        let old_name = |ix: usize| self.linked().map(|linked| linked.plan.task_name(ix).into_owned());
        match edit {
            Edit::Rename { task_ix, to } => {
                let old = old_name(*task_ix)?;
                if let Some(state) = self.states.get(&old).copied() {
                    self.record_state(&old, Some(state), Some(State::Pending));
                    self.record_state(to, None, Some(state));
                }
            }
            // An id that is used again is another task's.
            Edit::Remove { task_ix, .. } => {
                let old = old_name(*task_ix)?;
                if let Some(state) = self.states.get(&old).copied() {
                    self.record_state(&old, Some(state), Some(State::Pending));
                }
            }
            _ => {}
        }
        for note in changed.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.take(changed.open);
        Ok(())
    }
}

/// Prepares a change on the newest text and has it written.
fn revise(
    target: Target<'_>,
    verb: &str,
    mut prepare: impl FnMut(&mut Desk<'_>) -> Result<(), ReviseError>,
) -> Result<Revised, ReviseError> {
    let path: PathBuf = target.path.to_owned();
    let source = load(&path)?.source;
    let first = open(&source, &path, target.forced);
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
    let mut read = Some((source, first));
    let mut revised = None;
    let mut work = |source: &SourceText, history: &History| -> Result<Prepared, ReviseError> {
        let (open, facts) = match read.take() {
            Some((before, opened)) if before.as_str() == source.as_str() => opened,
            _ => open(source, &path, target.forced),
        };
        let mut desk = Desk {
            path: &path,
            forced: target.forced,
            facts,
            open,
            history,
            states: states_of(history),
            steps: Vec::new(),
            notes: Vec::new(),
            change: Change {
                verb: verb.to_owned(),
                ..Change::default()
            },
        };
        desk.take_states();
        prepare(&mut desk)?;
        let prepared = Prepared {
            text: Some(desk.open.inspection.source.as_str().to_owned()),
            change: desk.change,
        };
        let after = desk.open.inspection;
        revised = Some(Revised {
            before: source.clone(),
            notes: desk.notes.iter().filter_map(|note| note.words(&after.source)).collect(),
            after,
            steps: desk.steps,
            change: None,
            notices: Vec::new(),
            pointer: None,
        });
        Ok(prepared)
    };
    let (change, notices) = if target.dry {
        let history = history(file).map_err(ReviseError::Store)?;
        let source = load(&path)?.source;
        work(&source, &history)?;
        (None, Vec::new())
    } else {
        let updated = Store::default().update(file, verb, |source, history| work(source, history).map(Some))?;
        (updated.change, updated.notices)
    };
    let mut revised = revised.ok_or(ReviseError::Problem(Problem::NoPlan))?;
    if !target.dry {
        let begins = revised.steps.iter().any(|step| step.to == State::Running);
        revised.pointer = point(&path, &revised.after, begins, &clock::now());
    }
    Ok(Revised {
        change,
        notices,
        ..revised
    })
}
