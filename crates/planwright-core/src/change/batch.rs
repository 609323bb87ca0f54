//! Applies many transitions as one change, with the result of making them one after another, in time linear in the text.
//!
//! The requests are first applied to the states alone. Then the first moves of all tasks are written as one patch and proven,
//! then all second moves, and so on. A request that depends on a text that is not written yet waits until all earlier requests
//! are written. If a batch cannot be written, half of it is tried.

use std::collections::HashMap;

use super::{Changed, Open, Problem, Reading, Work, changeable, refuse_missing, transition, write};
use crate::diagnostic::Replacement;
use crate::dialect::{self, Choice, Course, Deed, Edits, Located, Recording};
use crate::document::patch::{self, Refusal};
use crate::edit::moves::retries;
use crate::edit::{Halt, Move, Request, WorkingPlan};
use crate::inspect::LinkedPlan;
use crate::plan::{Fate, Plan, State, Verb};
use crate::text::SourceText;

/// One transition that somebody asks for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The task.
    pub task_ix: usize,
    /// What to do to it.
    pub request: Request<'a>,
}

/// What came of many requests.
pub struct Batch {
    /// All that was done, as one change. The text of several requests was read as a whole, where it is another one at all.
    pub changed: Changed,
    /// What came of each request, in their order.
    pub results: Vec<Result<Made, Unmade>>,
}

/// Why a request was refused.
#[derive(Debug)]
pub struct Unmade {
    /// What is in the way.
    pub problem: Problem,
    /// The text that it is in the way in: what the requests before had made of it.
    pub source: SourceText,
}

/// What one request has brought about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The moves, that of the task itself first.
    pub moves: Vec<Move>,
    /// Which attempt failed, and how many there may be, where the dialect counts them.
    pub attempt: Option<(u64, u64)>,
}

/// Does verbs to tasks, one after another: each finds the plan as those before have left it, and those that are refused change
/// nothing. States that the file cannot hold count for what comes after them, and come out in the moves alone.
pub fn transitions(open: &Open, choice: &Choice<'_>, asked: &[Asked<'_>]) -> Batch {
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
fn alone(open: &Open, choice: &Choice<'_>, asked: &Asked<'_>) -> Batch {
    match transition(open, choice, asked.task_ix, &asked.request) {
        Ok(changed) => {
            let plan = open.inspection.plan.as_ref().map(|linked| &linked.plan);
            let attempt = plan.and_then(|plan| attempt(plan, asked, |ix| retries(plan, ix)));
            let made = Made {
                moves: changed.moves.clone(),
                attempt,
            };
            Batch {
                changed,
                results: vec![Ok(made)],
            }
        }
        Err(problem) => Batch {
            changed: Changed::none(&open.inspection),
            results: vec![Err(Unmade {
                problem,
                source: open.source().clone(),
            })],
        },
    }
}

fn attempt(plan: &Plan, asked: &Asked<'_>, retries: impl FnOnce(usize) -> (u64, u64)) -> Option<(u64, u64)> {
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
    newest: Option<Written>,
    moves: Vec<Move>,
    results: Vec<Result<Made, Unmade>>,
}

/// A text that was written and read.
struct Written {
    open: Open,
    /// Where it differs from the one before all requests; none where that is not known.
    edits: Option<Vec<Replacement>>,
}

impl Batching<'_> {
    /// Does what is asked for, as far as it can be told without writing in between; at least the first. Returns how many to try
    /// instead where they cannot be written together.
    fn play(&mut self, asked: &[Asked<'_>]) -> Option<usize> {
        let open = self.newest.as_ref().map_or(self.first, |written| &written.open);
        let source = open.inspection.source.clone();
        let unmade = |problem| Unmade {
            problem,
            source: source.clone(),
        };
        let ground = match Ground::of(open, self.choice) {
            Ok(ground) => ground,
            Err(problem) => {
                self.results.push(Err(unmade(problem)));
                return None;
            }
        };
        let mut played = ground.play(asked);
        let written = match ground.write(&played) {
            Ok(written) => written,
            Err(problem) => match played.accepted.as_slice() {
                &[] => None,
                &[only] => {
                    played.results.truncate(only);
                    played.results.push(Err(problem));
                    played.deeds.clear();
                    None
                }
                several => return Some(several[several.len() / 2]),
            },
        };
        self.moves.extend(played.deeds.iter().map(|(deed, _)| deed.step));
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
            Some(Written { open, edits }) => {
                let difference = || patch::difference(&old.source, &open.inspection.source);
                let edits = edits.unwrap_or_else(|| difference().into_iter().collect());
                Changed::whole(open, edits)
            }
            None => {
                let tasks = old.plan.as_ref().map_or(&[][..], |linked| linked.plan.tasks());
                let unwritten = |step: &Move| Some((step.task_ix, Fate::unwritten(tasks.get(step.task_ix)?)));
                Changed {
                    reading: Reading::Part(self.moves.iter().filter_map(unwritten).collect()),
                    ..Changed::none(old)
                }
            }
        };
        Batch {
            changed: Changed {
                moves: self.moves,
                ..changed
            },
            results: self.results,
        }
    }
}

/// A text that requests are played through on.
struct Ground<'a> {
    open: &'a Open,
    choice: &'a Choice<'a>,
    linked: &'a LinkedPlan,
    edits: &'static dyn Edits,
    /// What keeps any change from being written.
    obstacle: Option<Obstacle>,
}

#[derive(Clone)]
enum Obstacle {
    NoPlan,
    Unpatchable(Refusal),
}

impl From<Obstacle> for Problem {
    fn from(obstacle: Obstacle) -> Self {
        match obstacle {
            Obstacle::NoPlan => Problem::NoPlan,
            Obstacle::Unpatchable(refusal) => Problem::Unpatchable(refusal),
        }
    }
}

/// What requests do, before it is written.
#[derive(Default)]
struct Played<'r> {
    results: Vec<Result<Made, Problem>>,
    /// The places of the results that are none of refusals.
    accepted: Vec<usize>,
    /// Each move with how often its task has moved before.
    deeds: Vec<(Deed<'r>, usize)>,
}

impl<'a> Ground<'a> {
    fn of(open: &'a Open, choice: &'a Choice<'a>) -> Result<Self, Problem> {
        let (linked, edits) = changeable(&open.inspection)?;
        let mut ground = Ground {
            open,
            choice,
            linked,
            edits,
            obstacle: None,
        };
        ground.obstacle = ground.find_obstacle();
        Ok(ground)
    }

    fn holds_states(&self) -> bool {
        !self.linked.plan.lifecycle.machine.written.is_empty()
    }

    fn find_obstacle(&self) -> Option<Obstacle> {
        if !self.holds_states() {
            return None;
        }
        match located(self.open) {
            None => Some(Obstacle::NoPlan),
            Some(located) => patch::lower(located.document, &[]).err().map(Obstacle::Unpatchable),
        }
    }

    /// Plays requests through until one asks for what is not known.
    fn play<'r>(&self, asked: &'r [Asked<'r>]) -> Played<'r> {
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
                    let deed = |step: &Move| (Deed { step: *step, request }, working.n_moves(step.task_ix));
                    played.deeds.extend(moves.iter().map(deed));
                    played.accepted.push(played.results.len());
                    working.take(&moves, request);
                    Ok(Made { moves, attempt })
                }
            };
            played.results.push(result);
        }
        played
    }

    /// Writes what was played; none where the text stays as it is.
    fn write(&self, played: &Played<'_>) -> Result<Option<Written>, Problem> {
        let deeds: Vec<Deed<'_>> = played.deeds.iter().map(|(deed, _)| *deed).collect();
        let Some(course) = Course::new(&self.linked.plan, &self.linked.links, &deeds) else {
            return Ok(None);
        };
        let written = if self.holds_states() {
            self.write_rounds(&played.deeds, &course)?
        } else if has_shared_names(self.open) {
            let open = Open::new(&self.open.inspection.source, self.choice);
            Some(Written { open, edits: None })
        } else {
            None
        };
        Ok(written.map(|mut written| {
            self.keep_states(&deeds, &mut written.open);
            written
        }))
    }

    /// Writes the first moves of all tasks, then the second ones, and with the last ones what the plan itself has to say.
    fn write_rounds(&self, deeds: &[(Deed<'_>, usize)], course: &Course<'_>) -> Result<Option<Written>, Problem> {
        let n_rounds = deeds.iter().map(|(_, round)| round + 1).max().unwrap_or(0);
        let mut rounds: Vec<Vec<Deed<'_>>> = vec![Vec::new(); n_rounds];
        for (deed, round) in deeds {
            rounds[*round].push(*deed);
        }
        let mut newest: Option<Written> = None;
        for (round, deeds) in rounds.iter().enumerate() {
            let open = newest.as_ref().map_or(self.open, |written| &written.open);
            let is_last = round + 1 == n_rounds;
            let changed = self.write_round(open, deeds, is_last.then_some(course))?;
            let edits = newest.is_none().then_some(changed.edits);
            if let Reading::Whole(open) = changed.reading {
                newest = Some(Written { open: *open, edits });
            }
        }
        Ok(newest)
    }

    fn write_round(&self, open: &Open, deeds: &[Deed<'_>], course: Option<&Course<'_>>) -> Result<Changed, Problem> {
        let located = located(open).ok_or(Problem::NoPlan)?;
        let written: Vec<Deed<'_>> = deeds.iter().filter(|deed| deed.step.is_written()).copied().collect();
        let mut changes = self.edits.record(&Recording {
            located: &located,
            deeds: &written,
        });
        changes.extend(course.into_iter().flat_map(|course| self.edits.record_course(course)));
        write(&Work {
            open,
            choice: self.choice,
            dialect: self.linked.dialect,
            patches: dialect::lower(self.linked.dialect, &located, &changes)?,
            located,
            moves: deeds.iter().map(|deed| deed.step).collect(),
        })
    }

    /// Gives the tasks of the new text the states that it cannot hold.
    fn keep_states(&self, deeds: &[Deed<'_>], new: &mut Open) {
        let plan = &self.linked.plan;
        let machine = &plan.lifecycle.machine;
        let before = plan.tasks().iter().enumerate();
        let before = before.filter_map(|(task_ix, task)| Some((task_ix, task.status.state()?)));
        let after = deeds.iter().map(|deed| (deed.step.task_ix, deed.step.to));
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
fn located(open: &Open) -> Option<Located<'_>> {
    let LinkedPlan { plan, links, .. } = open.inspection.plan.as_ref()?;
    Located::new(plan, links, &open.document.as_ref()?.document)
}
