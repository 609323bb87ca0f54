//! Applies many transitions as one change, with the result of making them one after another, in time linear in the text.
//!
//! The requests are first applied to the states alone. Then the first moves of all tasks are written as one patch and proven,
//! then all second moves, and so on. A request that depends on a text that is not written yet waits until all earlier requests
//! are written. If a batch cannot be written, half of it is tried.

use std::collections::HashMap;

use super::proposal::{Expected, ProposedChange, ProposedText};
use super::{ChangedText, Open, Problem, ProofReading, changeable, refuse_missing};
use crate::dialect::{self, Choice, Edits, RecordedMove, RequestHistory};
use crate::document::patch::{self, PatchRefusal};
use crate::edit::{Move, StopEditing, VerbRequest, WorkingPlan};
use crate::inspect::LinkedPlan;
use crate::plan::{State, TaskFate, Verb};
use crate::text::SourceText;

/// A request for one transition of a task.
#[derive(Clone, Copy, Debug)]
pub struct TaskRequest<'a> {
    /// Its index in the plan.
    pub task_ix: usize,
    /// The verb and its options.
    pub request: VerbRequest<'a>,
}

/// The result of many requests.
pub struct Batch {
    /// All changes as one. After several requests, the new text was read as a whole, if it differs.
    pub changed: ChangedText,
    /// The result of each request, in order.
    pub results: Vec<Result<RequestResult, RefusedRequest>>,
}

/// Why a request was refused.
#[derive(Debug)]
pub struct RefusedRequest {
    /// The obstacle.
    pub problem: Problem,
    /// The text with the obstacle: the result of the earlier requests.
    pub source: SourceText,
}

/// The result of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestResult {
    /// The moves, that of the task itself first.
    pub moves: Vec<Move>,
    /// The number of the failed attempt and the limit, if the dialect counts them.
    pub attempt: Option<(u64, u64)>,
}

/// Applies verbs to tasks, one after another. Each sees the plan after the earlier ones, and a refused one changes nothing. States that the
/// file cannot hold apply to later requests, and are only in the returned moves.
pub fn transitions(open: &Open, choice: &Choice<'_>, asked: &[TaskRequest<'_>]) -> Batch {
    let open = open.whole(choice);
    let mut batching = Batching {
        first: open,
        choice,
        is_alone: asked.len() == 1,
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

/// Returns whether several tasks would share a state that the file cannot hold, because it is stored by name.
fn has_shared_names(open: &Open) -> bool {
    open.inspection.plan.as_ref().is_some_and(|linked| {
        let machine = &linked.plan.lifecycle.machine;
        let is_kept = |state: State| !machine.is_written(state) && state != State::Blocked;
        State::ALL.into_iter().any(is_kept) && !linked.links.duplicate_ids().is_empty()
    })
}

struct Batching<'a> {
    /// The text before all of them.
    first: &'a Open,
    choice: &'a Choice<'a>,
    /// Whether there is only one request: the proof of its text needs only a part of it.
    is_alone: bool,
    /// The change so far, if there is one.
    newest: Option<ChangedText>,
    moves: Vec<Move>,
    results: Vec<Result<RequestResult, RefusedRequest>>,
}

impl Batching<'_> {
    /// Applies as many requests as possible without a write in between; at least the first. Returns how many to try instead if they cannot
    /// be written together.
    fn play(&mut self, asked: &[TaskRequest<'_>]) -> Option<usize> {
        let open = match &self.newest {
            Some(ChangedText {
                reading: ProofReading::Whole(open),
                ..
            }) => open,
            _ => self.first,
        };
        let source = open.inspection.source.clone();
        let unmade = |problem| RefusedRequest {
            problem,
            source: source.clone(),
        };
        let base = match BatchBase::of(open, self.choice, self.is_alone) {
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
        if written.is_some() {
            self.newest = written;
        }
        None
    }

    fn finish(self) -> Batch {
        let old = &self.first.inspection;
        let changed = self.newest.unwrap_or_else(|| {
            let tasks = old.plan.as_ref().map_or(&[][..], |linked| linked.plan.tasks());
            let unwritten = |step: &Move| Some((step.task_ix, TaskFate::unwritten(tasks.get(step.task_ix)?)));
            let fates = self.moves.iter().filter_map(unwritten).collect();
            ChangedText::new(old.source.clone(), ProofReading::Part(fates))
        });
        Batch {
            changed: ChangedText {
                moves: self.moves,
                ..changed
            },
            results: self.results,
        }
    }
}

/// The text to which requests are applied.
struct BatchBase<'a> {
    open: &'a Open,
    choice: &'a Choice<'a>,
    is_alone: bool,
    linked: &'a LinkedPlan,
    edits: &'static dyn Edits,
    /// Whether a change can be written, and if not, why the document refuses patches; none without a list of tasks.
    writable: Result<(), Option<PatchRefusal>>,
}

/// The effects of requests, before they are written.
#[derive(Default)]
struct AppliedRequest<'r> {
    results: Vec<Result<RequestResult, Problem>>,
    /// The indexes of the accepted results.
    accepted: Vec<usize>,
    /// Each move, and how often its task has moved before.
    recorded_moves: Vec<(RecordedMove<'r>, usize)>,
}

impl<'a> BatchBase<'a> {
    fn of(open: &'a Open, choice: &'a Choice<'a>, is_alone: bool) -> Result<Self, Problem> {
        let (linked, edits) = changeable(&open.inspection)?;
        let mut base = BatchBase {
            open,
            choice,
            is_alone,
            linked,
            edits,
            writable: Ok(()),
        };
        if base.holds_states() {
            let located = open.located().ok_or(None);
            base.writable = located.and_then(|located| {
                let patched = patch::lower(located.document, &[]);
                patched.map(drop).map_err(Some)
            });
        }
        Ok(base)
    }

    fn holds_states(&self) -> bool {
        !self.linked.plan.lifecycle.machine.written.is_empty()
    }

    /// Applies requests until one depends on a text that is not written yet.
    fn play<'r>(&self, asked: &'r [TaskRequest<'r>]) -> AppliedRequest<'r> {
        let LinkedPlan { plan, links, .. } = self.linked;
        let mut working = WorkingPlan::new(plan, links);
        let mut played = AppliedRequest::default();
        for own in asked {
            let request = &own.request;
            let moves = match refuse_missing(plan, [own.task_ix]) {
                Ok(()) => working.moves(own.task_ix, request),
                Err(problem) => {
                    played.results.push(Err(problem));
                    continue;
                }
            };
            let result = match (moves, &self.writable) {
                (Err(StopEditing::Unread), _) => break,
                (Err(StopEditing::Refused(refused)), _) => Err(Problem::Refused(refused)),
                (Ok(_), Err(refusal)) => Err(refusal.clone().map_or(Problem::NoPlan, Problem::Unpatchable)),
                (Ok(moves), Ok(())) => {
                    let counts = request.verb == Verb::Fail && plan.lifecycle.machine.counts_retries;
                    let attempt = counts.then(|| working.retries(own.task_ix));
                    let recorded = |step: &Move| (RecordedMove { step: *step, request }, working.n_moves(step.task_ix));
                    played.recorded_moves.extend(moves.iter().map(recorded));
                    played.accepted.push(played.results.len());
                    if !self.is_alone {
                        working.take(&moves, request);
                    }
                    Ok(RequestResult { moves, attempt })
                }
            };
            played.results.push(result);
        }
        played
    }

    /// Writes the applied requests; none if the text does not change.
    fn write(&self, played: &AppliedRequest<'_>) -> Result<Option<ChangedText>, Problem> {
        let recorded = played.recorded_moves.iter();
        let recorded_moves: Vec<RecordedMove<'_>> = recorded.map(|(recorded, _)| *recorded).collect();
        if recorded_moves.is_empty() {
            return Ok(None);
        }
        let mut written = if self.holds_states() {
            self.write_rounds(&played.recorded_moves, &recorded_moves)?
        } else if has_shared_names(self.open) && !self.is_alone {
            Some(ChangedText::whole(Open::new(&self.open.inspection.source, self.choice)))
        } else {
            None
        };
        if let Some(ProofReading::Whole(open)) = written.as_mut().map(|written| &mut written.reading)
            && !self.is_alone
        {
            self.keep_states(&recorded_moves, open);
        }
        Ok(written)
    }

    /// Writes the first moves of all tasks, then the second ones, and with the last ones the changes of the plan itself.
    fn write_rounds(
        &self,
        by_round: &[(RecordedMove<'_>, usize)],
        recorded_moves: &[RecordedMove<'_>],
    ) -> Result<Option<ChangedText>, Problem> {
        let n_rounds = by_round.iter().map(|(_, round)| round + 1).max().unwrap_or(0);
        let mut rounds: Vec<Vec<RecordedMove<'_>>> = vec![Vec::new(); n_rounds];
        for (recorded, round) in by_round {
            rounds[*round].push(*recorded);
        }
        let written: Vec<RecordedMove<'_>> = written_only(recorded_moves);
        let history = RequestHistory::new(&self.linked.plan, &self.linked.links, &written);
        let mut newest: Option<ChangedText> = None;
        for (round, recorded_moves) in rounds.iter().enumerate() {
            let open = match newest.as_ref().map(|newest| &newest.reading) {
                Some(ProofReading::Whole(open)) => open,
                _ => self.open,
            };
            let is_last = round + 1 == n_rounds;
            let proposal = self.proposal(open, recorded_moves, history.as_ref().filter(|_| is_last))?;
            let proven = match self.is_alone {
                true => proposal.prove()?,
                false => proposal.prove_whole()?,
            };
            newest = Some(proven);
        }
        Ok(newest)
    }

    fn proposal<'p>(
        &'p self,
        open: &'p Open,
        recorded_moves: &[RecordedMove<'_>],
        history: Option<&RequestHistory<'_>>,
    ) -> Result<ProposedChange<'p>, Problem> {
        let located = open.located().ok_or(Problem::NoPlan)?;
        let mut changes = Vec::new();
        for recorded in recorded_moves.iter().filter(|recorded| recorded.step.is_written()) {
            self.edits.record(&located, recorded, &mut changes);
        }
        changes.extend(
            history
                .into_iter()
                .flat_map(|history| self.edits.record_course(history)),
        );
        let patches = dialect::lower(self.linked.dialect, &located, &changes)?;
        Ok(ProposedChange {
            open,
            choice: self.choice,
            content: ProposedText::Patches(located, patches),
            expected: Expected::Moves(recorded_moves.iter().map(|recorded| recorded.step).collect()),
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

/// Returns the moves that the file must have.
fn written_only<'r>(recorded_moves: &[RecordedMove<'r>]) -> Vec<RecordedMove<'r>> {
    let written = recorded_moves.iter().filter(|recorded| recorded.step.is_written());
    written.copied().collect()
}
