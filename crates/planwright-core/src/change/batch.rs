//! Applies many transitions as one change, with the result of making them one after another, in time linear in the text.
//!
//! The requests are first applied to the states alone. Then the first moves of all tasks are written as one patch and proven,
//! then all second moves, and so on. A request that depends on a text that is not written yet waits until all earlier requests
//! are written. If a batch cannot be written, half of it is tried.

use std::collections::HashMap;

use super::{
    ChangedText, Open, PendingTransitions, Problem, ProofReading, changeable, refuse_missing, transition, write,
};
use crate::diagnostic::Replacement;
use crate::dialect::{self, Choice, Edits, LocatedPlan, RecordedMove, RequestHistory};
use crate::document::patch::{self, PatchRefusal};
use crate::edit::moves::retries;
use crate::edit::{Halt, Move, VerbRequest, WorkingPlan};
use crate::inspect::LinkedPlan;
use crate::plan::{Plan, State, TaskFate, Verb};
use crate::text::SourceText;

/// One transition that somebody asks for.
#[derive(Clone, Copy, Debug)]
pub struct TaskRequest<'a> {
    /// The task.
    pub task_ix: usize,
    /// What to do to it.
    pub request: VerbRequest<'a>,
}

/// What came of many requests.
pub struct Batch {
    /// All that was done, as one change. The text of several requests was read as a whole, where it is another one at all.
    pub changed: ChangedText,
    /// What came of each request, in their order.
    pub results: Vec<Result<RequestResult, RefusedRequest>>,
}

/// Why a request was refused.
#[derive(Debug)]
pub struct RefusedRequest {
    /// What is in the way.
    pub problem: Problem,
    /// The text that it is in the way in: what the requests before had made of it.
    pub source: SourceText,
}

/// What one request has brought about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestResult {
    /// The moves, that of the task itself first.
    pub moves: Vec<Move>,
    /// Which attempt failed, and how many there may be, where the dialect counts them.
    pub attempt: Option<(u64, u64)>,
}

/// Does verbs to tasks, one after another: each finds the plan as those before have left it, and those that are refused change
/// nothing. States that the file cannot hold count for what comes after them, and come out in the moves alone.
pub fn transitions(open: &Open, choice: &Choice<'_>, asked: &[TaskRequest<'_>]) -> Batch {
    if let [only] = asked {
        return alone(open, choice, only);
    }
    let mut batching = Batching {
        first: open,
        choice,
        newest: None,
        moves: Vec::new(),
        results: Vec::with_capacity(asked.len()),
    };
    let most = if has_shared_names(open) { 1 } else { usize::MAX };
    let mut limit = most;
    while let Some(rest) = asked.get(batching.results.len()..).filter(|rest| !rest.is_empty()) {
        limit = match batching.play(rest.get(..limit).unwrap_or(rest)) {
            None => limit.saturating_mul(2).min(most),
            Some(fewer) => fewer.max(1),
        };
    }
    batching.finish()
}

/// Does one verb: its proof needs only a part of the text.
fn alone(open: &Open, choice: &Choice<'_>, asked: &TaskRequest<'_>) -> Batch {
    match transition(open, choice, asked.task_ix, &asked.request) {
        Ok(changed) => {
            let plan = open.inspection.plan.as_ref().map(|linked| &linked.plan);
            let attempt = plan.and_then(|plan| attempt(plan, asked, |ix| retries(plan, ix)));
            let made = RequestResult {
                moves: changed.moves.clone(),
                attempt,
            };
            Batch {
                changed,
                results: vec![Ok(made)],
            }
        }
        Err(problem) => Batch {
            changed: ChangedText::none(&open.inspection),
            results: vec![Err(RefusedRequest {
                problem,
                source: open.source().clone(),
            })],
        },
    }
}

fn attempt(plan: &Plan, asked: &TaskRequest<'_>, retries: impl FnOnce(usize) -> (u64, u64)) -> Option<(u64, u64)> {
    let counts = asked.request.verb == Verb::Fail && plan.lifecycle.machine.counts_retries;
    counts.then(|| retries(asked.task_ix))
}

/// Returns true where a state that the file cannot hold would be that of several tasks, because it is kept by their name.
fn has_shared_names(open: &Open) -> bool {
    open.inspection.plan.as_ref().is_some_and(|linked| {
        let machine = &linked.plan.lifecycle.machine;
        let is_kept = |state: State| !machine.is_written(state) && state != State::Blocked;
        State::ALL.into_iter().any(is_kept) && !linked.links.duplicate_ids().is_empty()
    })
}

/// Requests on their way to a new text.
struct Batching<'a> {
    /// The text before all of them.
    first: &'a Open,
    choice: &'a Choice<'a>,
    /// The text as it is by now, where it was read again.
    newest: Option<WrittenText>,
    moves: Vec<Move>,
    results: Vec<Result<RequestResult, RefusedRequest>>,
}

/// A text that was written and read.
struct WrittenText {
    open: Open,
    /// Where it differs from the one before all requests; none where that is not known.
    edits: Option<Vec<Replacement>>,
}

impl Batching<'_> {
    /// Does what is asked for, as far as it can be told without writing in between; at least the first. Returns how many to try
    /// instead where they cannot be written together.
    fn play(&mut self, asked: &[TaskRequest<'_>]) -> Option<usize> {
        let open = self.newest.as_ref().map_or(self.first, |written| &written.open);
        let source = open.inspection.source.clone();
        let unmade = |problem| RefusedRequest {
            problem,
            source: source.clone(),
        };
        let base = match BatchBase::of(open, self.choice) {
            Ok(base) => base,
            Err(problem) => {
                self.results.push(Err(unmade(problem)));
                return None;
            }
        };
        let mut played = base.play(asked);
        let written = match base.write(&played) {
            Ok(written) => written,
            Err(problem) => match played.accepted.as_slice() {
                &[] => None,
                &[only] => {
                    played.results.truncate(only);
                    played.results.push(Err(problem));
                    played.recorded_moves.clear();
                    None
                }
                several => return Some(several[several.len() / 2]),
            },
        };
        self.moves
            .extend(played.recorded_moves.iter().map(|(recorded, _)| recorded.step));
        let results = played.results.into_iter();
        self.results.extend(results.map(|result| result.map_err(unmade)));
        if let Some(mut written) = written {
            if self.newest.is_some() {
                written.edits = None;
            }
            self.newest = Some(written);
        }
        None
    }

    fn finish(self) -> Batch {
        let old = &self.first.inspection;
        let changed = match self.newest {
            Some(WrittenText { open, edits }) => {
                let difference = || patch::difference(&old.source, &open.inspection.source);
                let edits = edits.unwrap_or_else(|| difference().into_iter().collect());
                ChangedText::whole(open, edits)
            }
            None => {
                let tasks = old.plan.as_ref().map_or(&[][..], |linked| linked.plan.tasks());
                let unwritten = |step: &Move| Some((step.task_ix, TaskFate::unwritten(tasks.get(step.task_ix)?)));
                ChangedText {
                    reading: ProofReading::Part(self.moves.iter().filter_map(unwritten).collect()),
                    ..ChangedText::none(old)
                }
            }
        };
        Batch {
            changed: ChangedText {
                moves: self.moves,
                ..changed
            },
            results: self.results,
        }
    }
}

/// A text that requests are played through on.
struct BatchBase<'a> {
    open: &'a Open,
    choice: &'a Choice<'a>,
    linked: &'a LinkedPlan,
    edits: &'static dyn Edits,
    /// What keeps any change from being written.
    obstacle: Option<BatchObstacle>,
}

#[derive(Clone)]
enum BatchObstacle {
    NoPlan,
    Unpatchable(PatchRefusal),
}

impl From<BatchObstacle> for Problem {
    fn from(obstacle: BatchObstacle) -> Self {
        match obstacle {
            BatchObstacle::NoPlan => Problem::NoPlan,
            BatchObstacle::Unpatchable(refusal) => Problem::Unpatchable(refusal),
        }
    }
}

/// What requests do, before it is written.
#[derive(Default)]
struct Played<'r> {
    results: Vec<Result<RequestResult, Problem>>,
    /// The places of the results that are none of refusals.
    accepted: Vec<usize>,
    /// Each move with how often its task has moved before.
    recorded_moves: Vec<(RecordedMove<'r>, usize)>,
}

impl<'a> BatchBase<'a> {
    fn of(open: &'a Open, choice: &'a Choice<'a>) -> Result<Self, Problem> {
        let (linked, edits) = changeable(&open.inspection)?;
        let mut base = BatchBase {
            open,
            choice,
            linked,
            edits,
            obstacle: None,
        };
        base.obstacle = base.find_obstacle();
        Ok(base)
    }

    fn holds_states(&self) -> bool {
        !self.linked.plan.lifecycle.machine.written.is_empty()
    }

    fn find_obstacle(&self) -> Option<BatchObstacle> {
        if !self.holds_states() {
            return None;
        }
        match located(self.open) {
            None => Some(BatchObstacle::NoPlan),
            Some(located) => patch::lower(located.document, &[])
                .err()
                .map(BatchObstacle::Unpatchable),
        }
    }

    /// Plays requests through until one asks for what is not known.
    fn play<'r>(&self, asked: &'r [TaskRequest<'r>]) -> Played<'r> {
        let LinkedPlan { plan, links, .. } = self.linked;
        let mut working = WorkingPlan::new(plan, links);
        let mut played = Played::default();
        for own in asked {
            let request = &own.request;
            let moves = match refuse_missing(plan, [own.task_ix]) {
                Ok(()) => working.moves(own.task_ix, request),
                Err(problem) => {
                    played.results.push(Err(problem));
                    continue;
                }
            };
            let result = match (moves, &self.obstacle) {
                (Err(Halt::Unread), _) => break,
                (Err(Halt::Refused(refused)), _) => Err(Problem::Refused(refused)),
                (Ok(_), Some(obstacle)) => Err(obstacle.clone().into()),
                (Ok(moves), None) => {
                    let attempt = attempt(plan, own, |ix| working.retries(ix));
                    let recorded = |step: &Move| (RecordedMove { step: *step, request }, working.n_moves(step.task_ix));
                    played.recorded_moves.extend(moves.iter().map(recorded));
                    played.accepted.push(played.results.len());
                    working.take(&moves, request);
                    Ok(RequestResult { moves, attempt })
                }
            };
            played.results.push(result);
        }
        played
    }

    /// Writes what was played; none where the text stays as it is.
    fn write(&self, played: &Played<'_>) -> Result<Option<WrittenText>, Problem> {
        let recorded_moves: Vec<RecordedMove<'_>> =
            played.recorded_moves.iter().map(|(recorded, _)| *recorded).collect();
        let Some(history) = RequestHistory::new(&self.linked.plan, &self.linked.links, &recorded_moves) else {
            return Ok(None);
        };
        let written = if self.holds_states() {
            self.write_rounds(&played.recorded_moves, &history)?
        } else if has_shared_names(self.open) {
            let open = Open::new(&self.open.inspection.source, self.choice);
            Some(WrittenText { open, edits: None })
        } else {
            None
        };
        Ok(written.map(|mut written| {
            self.keep_states(&recorded_moves, &mut written.open);
            written
        }))
    }

    /// Writes the first moves of all tasks, then the second ones, and with the last ones what the plan itself has to say.
    fn write_rounds(
        &self,
        recorded_moves: &[(RecordedMove<'_>, usize)],
        history: &RequestHistory<'_>,
    ) -> Result<Option<WrittenText>, Problem> {
        let n_rounds = recorded_moves.iter().map(|(_, round)| round + 1).max().unwrap_or(0);
        let mut rounds: Vec<Vec<RecordedMove<'_>>> = vec![Vec::new(); n_rounds];
        for (recorded, round) in recorded_moves {
            rounds[*round].push(*recorded);
        }
        let mut newest: Option<WrittenText> = None;
        for (round, recorded_moves) in rounds.iter().enumerate() {
            let open = newest.as_ref().map_or(self.open, |written| &written.open);
            let is_last = round + 1 == n_rounds;
            let changed = self.write_round(open, recorded_moves, is_last.then_some(history))?;
            let edits = newest.is_none().then_some(changed.edits);
            if let ProofReading::Whole(open) = changed.reading {
                newest = Some(WrittenText { open: *open, edits });
            }
        }
        Ok(newest)
    }

    fn write_round(
        &self,
        open: &Open,
        recorded_moves: &[RecordedMove<'_>],
        history: Option<&RequestHistory<'_>>,
    ) -> Result<ChangedText, Problem> {
        let located = located(open).ok_or(Problem::NoPlan)?;
        let mut changes = Vec::new();
        for recorded in recorded_moves.iter().filter(|recorded| recorded.step.is_written()) {
            self.edits.record(&located, recorded, &mut changes);
        }
        changes.extend(
            history
                .into_iter()
                .flat_map(|history| self.edits.record_course(history)),
        );
        write(&PendingTransitions {
            open,
            choice: self.choice,
            dialect: self.linked.dialect,
            patches: dialect::lower(self.linked.dialect, &located, &changes)?,
            located,
            moves: recorded_moves.iter().map(|recorded| recorded.step).collect(),
        })
    }

    /// Gives the tasks of the new text the states that it cannot hold.
    fn keep_states(&self, recorded_moves: &[RecordedMove<'_>], new: &mut Open) {
        let plan = &self.linked.plan;
        let machine = &plan.lifecycle.machine;
        let before = plan.tasks().iter().enumerate();
        let before = before.filter_map(|(task_ix, task)| Some((task_ix, task.status.state()?)));
        let after = recorded_moves
            .iter()
            .map(|recorded| (recorded.step.task_ix, recorded.step.to));
        let mut states: HashMap<_, _> = before
            .filter(|(_, state)| !machine.is_written(*state))
            .map(|(task_ix, state)| (plan.task_name(task_ix), state))
            .collect();
        if states.is_empty() && after.clone().all(|(_, state)| machine.is_written(state)) {
            return;
        }
        states.extend(after.map(|(task_ix, state)| (plan.task_name(task_ix), state)));
        if let Some(linked) = &mut new.inspection.plan {
            linked.plan.take_states(|name| states.get(name).copied());
        }
    }
}

/// Finds the parts of a text's plan in its document.
fn located(open: &Open) -> Option<LocatedPlan<'_>> {
    let LinkedPlan { plan, links, .. } = open.inspection.plan.as_ref()?;
    LocatedPlan::new(plan, links, &open.document.as_ref()?.document)
}
