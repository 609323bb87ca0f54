//! Undoes the last change of a plan. Later edits elsewhere in the file stay.

use std::collections::BTreeMap;

use planwright_core::diagnostic::Severity;
use planwright_core::edit::VerbRequest;
use planwright_core::plan::{State, Verb};
use planwright_core::text::SourceText;

use super::batch::NotePlacement;
use super::edit::live_run;
use super::error::ReviseError;
use super::pending_change::PendingChange;
use super::revision::revise;
use super::{ChangeTarget, RevisedPlan, TaskTransition, each_once};
use crate::claims::{Claims, NotHolder, RUN_VERB};
use crate::clock;
use crate::inspect_file::open;
use crate::journal::{ChangeOutcome, History, PastChange, StateChange, TextChange};
use crate::user::owner_here;

/// The caller of an undo.
#[derive(Clone, Copy, Debug, Default)]
pub struct UndoCall<'a> {
    /// The given name of the caller; the user on this machine by default.
    pub by: Option<&'a str>,
    /// Whether the caller takes tasks over from their holders.
    pub takes_over: bool,
    pub note: Option<&'a str>,
}

/// Undoes the last change that was made through planwright.
pub fn undo(target: ChangeTarget<'_>, call: UndoCall<'_>) -> Result<(PastChange, RevisedPlan), ReviseError> {
    let mut undone = None;
    let now = clock::now();
    let mut revised = revise(target, "undo", |pending| {
        pending.compare_states();
        let past = last_that_holds(pending).ok_or(ReviseError::NothingToUndo)?;
        if let Some(live) = live_run(target.path).filter(|_| past.change.verb == RUN_VERB) {
            return Err(ReviseError::UndoDuringRun { pid: live.pid });
        }
        let holders = refuse_undo(&past, &Claims::of(pending.history), &call)?;
        let reopened = match take_back(pending, &past) {
            Ok(()) => left_running(&past),
            // The changes of a run to tasks can be undone without its text.
            Err(_) if past.change.verb == RUN_VERB => moved_by(pending, &past),
            Err(error) => return Err(error),
        };
        // No process works on a task of the run: it becomes pending.
        pending.reset(&reopened, &now)?;
        pending.change.tasks.clone_from(&past.change.tasks);
        let owner = call.takes_over.then(owner_here);
        pending.change.by = call.by.map(str::to_owned).or(owner);
        pending.change.note = call.note.map(str::to_owned);
        pending.change.taken_over_from = (!holders.is_empty()).then(|| holders.join(", "));
        pending.change.undoes = Some(past.seq);
        undone = Some(past);
        Ok(())
    })?;
    let past = undone.ok_or(ReviseError::NothingToUndo)?;
    revised.steps = revised.record.moves.iter().filter_map(transition_of).collect();
    if past.change.verb == RUN_VERB {
        let pending = pending_again(&past);
        if !pending.is_empty() {
            let verb = if pending.len() == 1 { "is" } else { "are" };
            revised.notes.push(format!(
                "a run made that change: {} {verb} pending again. Files and commits stay, and another run works on top of them",
                pending.join(", ")
            ));
        }
    }
    Ok((past, revised))
}

/// Returns the effect of an undo on a task: from its state in the file before, which the text of the undone change does not have.
fn transition_of(moved: &StateChange) -> Option<TaskTransition> {
    let from = moved
        .from
        .as_deref()
        .and_then(State::from_word)
        .unwrap_or(State::Pending);
    let to = State::from_word(&moved.to)?;
    (from != to).then(|| TaskTransition {
        task: moved.task.clone(),
        from,
        to,
        cause: None,
        attempt: None,
    })
}

/// Returns the valid changes of the text after a change, the oldest first.
fn changes_after(past: &PastChange, history: &History) -> Vec<PastChange> {
    let later = history
        .changes()
        .iter()
        .filter(|later| later.seq > past.seq && later.outcome == ChangeOutcome::Landed && later.change.text.is_some());
    later.cloned().collect()
}

/// Returns the last change that can be undone. A run's starts of tasks are undone together with its later changes of them.
fn last_that_holds(pending: &PendingChange<'_>) -> Option<PastChange> {
    let is_over = |past: &PastChange| {
        let change = &past.change;
        let mut moves = change.moves.iter().chain(&change.states).peekable();
        let is_start = moves.peek().is_some() && change.approval.is_none();
        let running = State::Running.as_str();
        change.verb == RUN_VERB
            && is_start
            && moves.all(|moved| moved.to == running && state_of(pending, &moved.task) != Some(State::Running))
    };
    pending.history.undoables().find(|past| !is_over(past))
}

fn state_of(pending: &PendingChange<'_>, task: &str) -> Option<State> {
    let plan = &pending.linked().ok()?.plan;
    let task_ix = plan.find_task(task)?;
    plan.tasks()[task_ix].status.state()
}

/// Gives the plan the text and the states from before a change.
fn take_back(pending: &mut PendingChange<'_>, past: &PastChange) -> Result<(), ReviseError> {
    if let Some(text) = &past.change.text {
        let reverted = reverted(pending, text).ok_or_else(|| ReviseError::EditedSince {
            later: changes_after(past, pending.history),
            change: Box::new(past.clone()),
        })?;
        pending.replace(&reverted);
    }
    // A task may have passed through several states.
    for state in past.change.states.iter().rev() {
        let from = state.from.clone().unwrap_or_else(|| State::Pending.as_str().to_owned());
        pending.record_state(&state.task, State::from_word(&state.to), State::from_word(&from), None);
    }
    pending.take_states();
    pending.change.approval = past.change.approval.map(|approval| !approval);
    if past.change.text.is_none() && past.change.states.is_empty() {
        // Only the journal offers a failed task again.
        pending.change.moves.clone_from(&past.change.moves);
    }
    Ok(())
}

/// Returns the text without a change. If the file was edited elsewhere since, the result must have no new errors.
fn reverted(pending: &PendingChange<'_>, text: &TextChange) -> Option<SourceText> {
    let current = pending.open.source().as_str();
    if let Some(reverted) = text.revert(current) {
        return Some(SourceText::new(reverted));
    }
    let reverted = SourceText::new(text.revert_around_edits(current)?);
    let (open, _) = open(&reverted, Some(pending.target.path), pending.target.forced);
    let n_errors = pending.open.inspection.count(Severity::Error);
    let is_sound = open.inspection.plan.is_some() && open.inspection.count(Severity::Error) <= n_errors;
    is_sound.then_some(reverted)
}

/// Returns the tasks that a change of a run moved, and that have not moved since.
fn moved_by(pending: &PendingChange<'_>, past: &PastChange) -> Vec<String> {
    let ends = ends_of(past);
    let stands = ends
        .iter()
        .filter(|(task, (_, to))| to.is_some() && state_of(pending, task) == *to);
    stands
        .filter(|(_, (_, to))| *to != Some(State::Pending))
        .map(|(task, _)| (*task).clone())
        .collect()
}

/// Returns the tasks that would be running without a process after a change of a run is undone.
fn left_running(past: &PastChange) -> Vec<String> {
    let running = Some(State::Running);
    let ends = ends_of(past);
    let left = ends
        .iter()
        .filter(|(_, (from, to))| past.change.verb == RUN_VERB && *from == running && *to != running);
    left.map(|(task, _)| (*task).clone()).collect()
}

/// Returns the names of the tasks that are pending after a change of a run was taken back.
fn pending_again(past: &PastChange) -> Vec<String> {
    let is_open = |state: &Option<State>| matches!(state, Some(State::Pending | State::Running));
    let ends = ends_of(past).into_iter();
    let moved = ends.filter(|(_, (from, to))| is_open(from) && !is_open(to));
    moved.map(|(task, _)| format!("`{task}`")).collect()
}

/// Returns the first and the last state that a change gave to each task. It may move a task several times.
fn ends_of(past: &PastChange) -> BTreeMap<&String, (Option<State>, Option<State>)> {
    let mut ends: BTreeMap<&String, (Option<State>, Option<State>)> = BTreeMap::new();
    for moved in past.change.moves.iter().chain(&past.change.states) {
        let from = moved.from.as_deref().and_then(State::from_word);
        ends.entry(&moved.task).or_insert((from, None)).1 = State::from_word(&moved.to);
    }
    ends
}

impl PendingChange<'_> {
    /// Makes tasks pending again, from any state.
    fn reset(&mut self, tasks: &[String], now: &str) -> Result<(), ReviseError> {
        let request = VerbRequest {
            force: true,
            cascade: false,
            ..VerbRequest::new(Verb::Reset, now)
        };
        let asked: Vec<_> = tasks.iter().map(|task| (task.as_str(), request)).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let results = self.transitions(&asked, NotePlacement::ByChange)?;
        results.into_iter().collect::<Result<Vec<()>, _>>().map(drop)
    }
}

/// Refuses to undo a claim of another owner. Returns the earlier holders of tasks that are taken over.
fn refuse_undo(past: &PastChange, claims: &Claims, call: &UndoCall<'_>) -> Result<Vec<String>, ReviseError> {
    let owner = call.by.map_or_else(owner_here, str::to_owned);
    let now = clock::now();
    let mut holders = Vec::new();
    for task in &past.change.tasks {
        // The claim may be a later one: a task with an expired claim is claimed again without a change of the file.
        let held = claims.on(task).filter(|claim| claim.number >= past.seq);
        let Some((claim, holder)) = held.and_then(|claim| Some((claim, claim.owner()?))) else {
            continue;
        };
        if holder == owner || claim.is_expired(&now) {
            continue;
        }
        if !call.takes_over {
            return Err(ReviseError::NotTheirs {
                task: task.clone(),
                why: Box::new(NotHolder::Held(claim.clone())),
            });
        }
        holders.push(holder.to_owned());
    }
    Ok(each_once(&holders))
}
