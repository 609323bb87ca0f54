//! A verb from a path to a durable change: read the newest text, let the core make the new one, have the store write it.
//! Decides nothing about plans, and shows nothing.

mod deeds;
mod version;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use planwright_core::change::tasks::{self, Edit};
use planwright_core::change::{self, Changed, Open, Problem};
use planwright_core::dialect::{self, Choice, DIALECTS, Dialect, Facts, Note, Pointing};
use planwright_core::document::patch::Refusal;
use planwright_core::edit::{PlanMove, PlanRequest, Request};
use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_core::plan::{Plan, Readiness, State};
use planwright_core::text::SourceText;

use crate::clock;
use crate::examine::open;
use crate::journal::{Change, History, Notice, PastChange, StateChange, TaskState, Verified, plan_id};
use crate::store::{
    CreateError, LoadError, PlanFile, Prepared, ReplaceError, Store, StoreError, UpdateError, create, history, load,
    replace,
};
use crate::workspace::slashed;
use deeds::Kept;
pub use deeds::{Deed, transitions};
pub use version::{Matter, VersionRequest, Versioned, new_version_of, newest_version};

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
    /// What became of which task.
    pub steps: Vec<Step>,
    /// What became of the plan as a whole, where that was asked for.
    pub plan_step: Option<PlanMove>,
    /// How the tasks were verified before.
    pub verified: Vec<Verified>,
    /// The number of the change in the journal; none where nothing was written.
    pub change: Option<u64>,
    /// Which bytes of the journal came with it.
    pub recorded: Range<u64>,
    /// What was found and put right on the way.
    pub notices: Vec<Notice>,
    /// What else the edits did, and what the user may want to look at, in words.
    pub notes: Vec<String>,
    /// Why the file that points at the plan is not in step with it.
    pub pointer: Option<PointerError>,
}

impl Revised {
    /// Reads the text after as a whole, where that was not needed to change it.
    pub fn catch_up(&mut self, target: Target<'_>) {
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

/// Does a verb to tasks, all of them or none.
pub fn transition(target: Target<'_>, pick: Pick<'_>, request: &Request<'_>) -> Result<Revised, ReviseError> {
    transition_as(target, request.verb.as_str(), None, pick, request, &[])
}

/// Does the same to tasks that were verified before, which is recorded with the change.
pub fn transition_verified(
    target: Target<'_>,
    pick: Pick<'_>,
    request: &Request<'_>,
    verified: &[Verified],
) -> Result<Revised, ReviseError> {
    transition_as(target, request.verb.as_str(), None, pick, request, verified)
}

/// Does a verb to tasks on the word of somebody who did not do them, and calls it in the history by another name.
pub(crate) fn transition_called(
    target: Target<'_>,
    name: &str,
    word_of: Option<&str>,
    pick: Pick<'_>,
    request: &Request<'_>,
) -> Result<Revised, ReviseError> {
    transition_as(target, name, word_of, pick, request, &[])
}

fn transition_as(
    target: Target<'_>,
    name: &str,
    word_of: Option<&str>,
    pick: Pick<'_>,
    request: &Request<'_>,
    verified: &[Verified],
) -> Result<Revised, ReviseError> {
    revise(target, name, |desk| {
        let names = match pick {
            Pick::Named(names) => each_once(names),
            Pick::Next(most) => next_names(desk.linked()?, most),
        };
        if names.is_empty() {
            return Err(ReviseError::NothingReady);
        }
        let asked: Vec<_> = names.iter().map(|name| (name.as_str(), *request)).collect();
        let first_refused = desk
            .transitions(&asked, Kept::ByChange)?
            .into_iter()
            .find_map(Result::err);
        if let Some(refused) = first_refused {
            return Err(match refused {
                ReviseError::NoSuchTask { name, .. } => no_such_task(&desk.linked()?.plan, &name),
                refused => refused,
            });
        }
        desk.change.tasks = names;
        desk.change.by = word_of.or(request.by).map(str::to_owned);
        desk.change.note = request.note.map(str::to_owned);
        desk.change.output = request.output.map(str::to_owned);
        desk.change.files = request.files.to_vec();
        desk.change.verified = verified.to_vec();
        Ok(())
    })
}

/// Does a verb to a whole plan.
pub fn transition_plan(target: Target<'_>, request: &PlanRequest<'_>) -> Result<Revised, ReviseError> {
    revise(target, request.verb.as_str(), |desk| {
        desk.transition_plan(request)?;
        desk.change.by = request.by.map(str::to_owned);
        desk.change.note = request.note.map(str::to_owned);
        Ok(())
    })
}

/// Keeps the file in step that says which plan is being worked on, where the dialect has one. The plan itself is written
/// by then: what goes wrong here is said, and loses nothing.
fn point(target: Target<'_>, revised: &mut Revised, pointing: Pointing, now: &str) -> Option<PointerError> {
    let dialect = dialect::find(revised.after.dialect?)?;
    let absolute = std::fs::canonicalize(target.path).ok()?;
    let relative = dialect.pointer(&slashed(&absolute))?;
    let file = shown_path(absolute.parent()?, relative);
    revised.catch_up(target);
    let plan = &revised.after.plan.as_ref()?.plan;
    let old = match load(&file) {
        Ok(loaded) => Some(loaded.source),
        Err(LoadError::Missing { .. }) => None,
        Err(error) => return Some(PointerError::Load(error)),
    };
    let new = match dialect.point(old.as_ref(), plan, pointing, now) {
        Ok(new) => new?,
        Err(unpointed) => {
            let index = old.as_ref().map(SourceText::line_index);
            let place = unpointed.span.zip(index);
            return Some(PointerError::Unpatchable {
                path: file,
                place: place.map_or_else(String::new, |(span, index)| {
                    let position = index.position(span.start);
                    format!(":{}:{}", position.line, position.column)
                }),
                refusal: unpointed.refusal,
            });
        }
    };
    match old {
        Some(old) => replace(&file, &old, &new).err().map(PointerError::Replace),
        None => create(&file, &new).err().map(PointerError::Create),
    }
}

/// Returns the file at a path relative to a folder that has no links in it: from here, where it lies below.
fn shown_path(folder: &Path, relative: &str) -> PathBuf {
    let mut path = folder.to_owned();
    for part in relative.split('/') {
        match part {
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    let here = std::env::current_dir().and_then(std::fs::canonicalize);
    let short = here
        .ok()
        .and_then(|here| Some(path.strip_prefix(here).ok()?.to_owned()));
    short.unwrap_or(path)
}

/// Why the file that says which plan is being worked on was not kept in step.
#[derive(Debug, thiserror::Error)]
pub enum PointerError {
    /// It cannot be read.
    #[error(transparent)]
    Load(LoadError),
    /// It is not written as it should be.
    #[error("`{}{place}` cannot be kept in step: {refusal}", .path.display())]
    Unpatchable {
        /// The file.
        path: PathBuf,
        /// The line and the column, each after a colon; empty where it is the whole text.
        place: String,
        /// What is in the way.
        refusal: Refusal,
    },
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
        // What was added is known by now, and was not before.
        if desk.change.tasks.is_empty() {
            desk.change.tasks = names.to_vec();
        }
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
            let reverted = text.revert(desk.open.source().as_str());
            let Some(reverted) = reverted else {
                return Err(ReviseError::EditedSince { change: Box::new(past) });
            };
            desk.replace(&SourceText::new(reverted));
        }
        // A task may have gone through several states.
        for state in past.change.states.iter().rev() {
            let from = state.from.clone().unwrap_or_else(|| State::Pending.as_str().to_owned());
            desk.record_state(&state.task, State::from_word(&state.to), State::from_word(&from), None);
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

/// Returns whether the last that was recorded of a task is that somebody began it by hand. What a run did is its own business.
pub(crate) fn was_started_by_hand(path: &Path, plan: &Plan, task: &str) -> bool {
    last_verbs(path, plan)
        .get(task)
        .is_some_and(|verb| matches!(verb.as_str(), "start" | "retry"))
}

/// Returns whether the last that was recorded of a task is that somebody said by a verb that it is done. Who writes so into the
/// file has not proven it.
pub(crate) fn was_done_by_hand(path: &Path, plan: &Plan, task: &str) -> bool {
    last_verbs(path, plan).get(task).is_some_and(|verb| verb == "done")
}

/// Returns for each task the verb of the last change that was about it. A journal that cannot be read says nothing.
pub(crate) fn last_verbs(path: &Path, plan: &Plan) -> HashMap<String, String> {
    let words = last_words(path, plan).into_iter();
    words.map(|(task, (verb, _))| (task, verb)).collect()
}

/// Does the same, and returns when it was.
pub(crate) fn last_words(path: &Path, plan: &Plan) -> HashMap<String, (String, String)> {
    let file = PlanFile {
        path,
        id: plan_id(plan),
    };
    let changes = history(file).map_or_else(|_| Vec::new(), |history| history.changes());
    let mut verbs = HashMap::new();
    for PastChange { change, time, .. } in changes {
        for task in change.tasks {
            verbs.insert(task, (change.verb.clone(), time.clone()));
        }
    }
    verbs
}

/// Gives a plan the states that only the journal holds, and returns all that it knows of them. Where the plan's own file has them all
/// the journal is not read.
pub fn take_states(inspection: &mut Inspection, path: &Path) -> Result<BTreeMap<String, TaskState>, StoreError> {
    let Some(linked) = inspection.plan.as_mut().filter(|linked| !is_all_written(&linked.plan)) else {
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
    Ok(known)
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
    plan_step: Option<PlanMove>,
    notes: Vec<Note>,
    change: Change,
    /// Nothing was done after all, and nothing is to be written.
    is_idle: bool,
}

impl Desk<'_> {
    fn linked(&self) -> Result<&LinkedPlan, ReviseError> {
        self.open
            .inspection
            .plan
            .as_ref()
            .ok_or(ReviseError::Problem(Problem::NoPlan))
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
    fn take(&mut self, changed: Changed) {
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

    fn record_state(&mut self, task: &str, from: Option<State>, to: Option<State>, words: Option<&Request<'_>>) {
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
    target: Target<'_>,
    verb: &str,
    mut prepare: impl FnMut(&mut Desk<'_>) -> Result<(), ReviseError>,
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
    let mut work = |source: &SourceText, history: &History| -> Result<Prepared, ReviseError> {
        let (open, facts) = match read.take() {
            Some((before, opened)) if before.as_str() == source.as_str() => opened,
            _ => open(source, Some(&path), target.forced),
        };
        let mut desk = Desk {
            path: &path,
            forced: target.forced,
            facts,
            open,
            history,
            states: states_of(history),
            steps: Vec::new(),
            plan_step: None,
            notes: Vec::new(),
            change: Change {
                verb: verb.to_owned(),
                ..Change::default()
            },
            is_idle: false,
        };
        desk.take_states();
        prepare(&mut desk)?;
        is_idle = desk.is_idle;
        let text = desk.open.source().clone();
        let verified = desk.change.verified.clone();
        let prepared = Prepared {
            text: Some(text.clone()),
            change: desk.change,
        };
        revised = Some(Revised {
            before: source.clone(),
            is_behind: desk.open.is_behind(),
            notes: desk.notes.iter().filter_map(|note| note.words(&text)).collect(),
            text,
            after: desk.open.inspection,
            steps: desk.steps,
            plan_step: desk.plan_step,
            verified,
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
