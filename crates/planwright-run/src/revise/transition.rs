//! Applies a verb to tasks, judged by the table, the gates and the claims.

use planwright_core::convert::is_untouched_placeholder;
use planwright_core::edit::VerbRequest;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Plan, Readiness, RunLift, State, Verb};

use super::batch::NotePlacement;
use super::{ChangeTarget, Pick, ReviseError, Revised, each_once, no_such_task, revise, task_named};
use crate::claims::{Authority, Claim, Claims, NotHolder};
use crate::gate::{Gate, GatePolicy, Gates};
use crate::journal::{Claimed, ManualVerification};
use crate::user::owner_here;

/// Who calls a verb on tasks, and by which rules it is judged in addition to the table.
#[derive(Clone, Debug, Default)]
pub struct VerbCall<'a> {
    /// What the configuration asks of plans and tasks.
    pub policy: GatePolicy,
    /// Who calls it; the user on this machine where that is not given.
    pub owner: Option<&'a str>,
    /// The number of the claim that they hold, where they give it.
    pub claim: Option<u64>,
    /// Whether they take the tasks over from their holders.
    pub takes_over: bool,
    /// When the claim that they make is over, as RFC 3339 in UTC.
    pub until: Option<String>,
    /// How the tasks were verified before.
    pub verified: &'a [ManualVerification],
    /// What the history calls it, where that is not the verb.
    pub name: Option<&'a str>,
    /// Who decided, where that is not who did the work.
    pub decided_by: Option<&'a str>,
}

/// Does a verb to tasks, all of them or none, for the user on this machine.
pub fn transition(target: ChangeTarget<'_>, pick: Pick<'_>, request: &VerbRequest<'_>) -> Result<Revised, ReviseError> {
    let owner = request.by;
    transition_by(
        target,
        pick,
        request,
        &VerbCall {
            owner,
            ..VerbCall::default()
        },
    )
}

/// Does a verb to tasks, all of them or none.
pub fn transition_by(
    target: ChangeTarget<'_>,
    pick: Pick<'_>,
    request: &VerbRequest<'_>,
    call: &VerbCall<'_>,
) -> Result<Revised, ReviseError> {
    let owner = call.owner.map_or_else(owner_here, str::to_owned);
    let request = &VerbRequest {
        user: Some(&owner),
        ..*request
    };
    revise(target, call.name.unwrap_or(request.verb.as_str()), |pending| {
        let claims = Claims::of(pending.history);
        pending.offer_again(&claims);
        let gates = Gates::new(&pending.open.inspection, pending.history, &claims, call.policy);
        let names = match pick {
            Pick::Named(names) => each_once(names),
            Pick::Next(most) => next_names(pending.linked()?, &claims, request.now, most),
        };
        if names.is_empty() {
            return Err(gates.of_plan().map_or(ReviseError::NothingReady, ReviseError::Closed));
        }
        let authority = Authority {
            owner: &owner,
            claim: call.claim,
            // `reset --force` is about what is done.
            takes_over: call.takes_over || (request.force && !gives_up(request.verb)),
        };
        let mut judged = Judged::default();
        for name in &names {
            judged.judge(pending.linked()?, &gates, &claims, &authority, name, request)?;
        }
        let Judged {
            asked, passed, holders, ..
        } = judged;
        let asked: Vec<_> = asked.iter().map(|(name, request)| (name.as_str(), *request)).collect();
        let results = match asked.is_empty() {
            true => Vec::new(),
            false => pending.transitions(&asked, NotePlacement::ByChange)?,
        };
        if let Some(refused) = results.into_iter().find_map(Result::err) {
            return Err(match refused {
                ReviseError::NoSuchTask { name, .. } => no_such_task(&pending.linked()?.plan, &name),
                refused => refused,
            });
        }
        if starts(request) {
            pending.change.claim = Some(Claimed {
                by: owner.clone(),
                is_named: call.owner.is_some(),
                until: call.until.clone(),
            });
        }
        pending.change.passed_gates = passed;
        pending.change.taken_over_from = (!holders.is_empty()).then(|| holders.join(", "));
        pending.change.tasks = names;
        let by = call.decided_by.or(request.by).unwrap_or(&owner);
        pending.change.by = Some(by.to_owned());
        pending.change.note = request.note.map(str::to_owned);
        pending.change.output = request.output.map(str::to_owned);
        pending.change.files = request.files.to_vec();
        pending.change.verified = call.verified.to_vec();
        Ok(())
    })
}

/// Returns whether a verb ends the work of the holder on a task.
fn gives_up(verb: Verb) -> bool {
    matches!(verb, Verb::Reset | Verb::Skip)
}

/// Returns whether a request begins work on a task.
fn starts(request: &VerbRequest<'_>) -> bool {
    request.verb == Verb::Start || (request.verb == Verb::Retry && request.starts)
}

/// What is to be done to tasks after the gates and the claims were asked.
#[derive(Default)]
struct Judged<'r> {
    asked: Vec<(String, VerbRequest<'r>)>,
    /// The gates that were passed by force.
    passed: Vec<String>,
    /// Who held tasks that are taken over.
    holders: Vec<String>,
}

impl<'r> Judged<'r> {
    fn judge(
        &mut self,
        linked: &LinkedPlan,
        gates: &Gates<'_>,
        claims: &Claims,
        authority: &Authority<'_>,
        name: &str,
        request: &VerbRequest<'r>,
    ) -> Result<(), ReviseError> {
        let plan = &linked.plan;
        let task_ix = task_named(plan, name)?;
        let task = plan.task_name(task_ix).into_owned();
        let state = plan.tasks()[task_ix].status.state();
        let claim = claims.on(&task).filter(|_| state == Some(State::Running));
        // A placeholder is no task: it is not skipped or blocked either, which would end some plans.
        let works = starts(request) || request.verb == Verb::Done || is_untouched_placeholder(linked);
        if let Some(closed) = gates.of_plan().filter(|closed| works && closed.lift != RunLift::Retry) {
            return Err(ReviseError::Closed(closed));
        }
        if starts(request) {
            let closed = gates.of_task(task_ix, request.now).into_iter();
            let closed = closed.filter(|closed| closed.gate != Gate::Ownership && closed.lift == RunLift::Nothing);
            for closed in closed {
                match closed.gate {
                    // The table refuses these with their reasons.
                    Gate::Dependencies if !request.force => {}
                    gate if request.force && gate.yields_to_force() => self.pass(gate),
                    _ => return Err(ReviseError::Closed(closed)),
                }
            }
        }
        match (request.verb, state, claim) {
            (Verb::Start, Some(State::Running), claim) => {
                let is_free = claim.is_some_and(|claim| claim.is_expired(request.now)) || authority.takes_over;
                if !is_free {
                    return match claim.filter(|claim| claim.owner() != Some(authority.owner)) {
                        Some(claim) => Err(not_theirs(&task, NotHolder::Held(claim.clone()))),
                        // The table refuses it: they have started it already.
                        None => self.ask(task, *request),
                    };
                }
                // The file has it as running already: only its holder changes.
                self.holders.extend(claim.map(holder_name));
                return Ok(());
            }
            // A person confirms a task that no process has started.
            (Verb::Done, Some(from @ (State::Pending | State::Failed)), _) if authority.takes_over => {
                let verb = if from == State::Failed {
                    Verb::Retry
                } else {
                    Verb::Start
                };
                let begin = VerbRequest {
                    verb,
                    starts: true,
                    output: None,
                    files: &[],
                    ..*request
                };
                let mut closed = gates.of_task(task_ix, request.now).into_iter();
                // Without force the table refuses it with its reasons.
                if request.force && closed.any(|closed| closed.gate == Gate::Dependencies) {
                    self.pass(Gate::Dependencies);
                }
                self.asked.push((task.clone(), begin));
            }
            // A run follows what other processes do to its tasks, and a claim whose lease is over holds no more.
            (Verb::Reset | Verb::Skip, Some(State::Running), Some(claim)) if claim.owner().is_some() => {
                if !claim.is_expired(request.now) {
                    authority.refuse(&task, claims).map_err(|why| not_theirs(&task, why))?;
                }
                if claim.owner() != Some(authority.owner) {
                    self.holders.push(holder_name(claim));
                }
            }
            (Verb::Done | Verb::Fail | Verb::Block, Some(State::Running), Some(claim)) => {
                authority.refuse(&task, claims).map_err(|why| not_theirs(&task, why))?;
                if authority.takes_over && claim.owner() != Some(authority.owner) {
                    self.holders.push(holder_name(claim));
                    if request.force {
                        self.pass(Gate::Ownership);
                    }
                }
            }
            _ => {}
        }
        if request.verb == Verb::Retry && !request.starts && plan.tasks()[task_ix].offered {
            // It is offered again already, and the journal has that.
            return Ok(());
        }
        let is_offered = request.verb == Verb::Start && plan.tasks()[task_ix].offered;
        let verb = if is_offered { Verb::Retry } else { request.verb };
        let starts = request.starts || is_offered;
        self.ask(
            task,
            VerbRequest {
                verb,
                starts,
                ..*request
            },
        )
    }

    fn ask(&mut self, task: String, request: VerbRequest<'r>) -> Result<(), ReviseError> {
        self.asked.push((task, request));
        Ok(())
    }

    fn pass(&mut self, gate: Gate) {
        let name = gate.as_str().to_owned();
        if !self.passed.contains(&name) {
            self.passed.push(name);
        }
    }
}

fn holder_name(claim: &Claim) -> String {
    claim.owner().unwrap_or("a run").to_owned()
}

fn not_theirs(task: &str, why: NotHolder) -> ReviseError {
    ReviseError::NotTheirs {
        task: task.to_owned(),
        why: Box::new(why),
    }
}

/// Returns the tasks to take next: those that may start, then those whose claim is over.
fn next_names(linked: &LinkedPlan, claims: &Claims, now: &str, most: usize) -> Vec<String> {
    let plan = &linked.plan;
    let readiness = Readiness::new(plan, &linked.links);
    let offered = readiness.offered().into_iter();
    let offered = offered.map(|ix| plan.task_name(ix).into_owned());
    offered.chain(expired_names(plan, claims, now)).take(most).collect()
}

/// Returns the running tasks whose claim is over, in the order of the plan.
pub fn expired_names(plan: &Plan, claims: &Claims, now: &str) -> Vec<String> {
    let running = plan.tasks().iter().enumerate();
    let running = running.filter(|(_, task)| task.status.state() == Some(State::Running));
    let names = running.map(|(ix, _)| plan.task_name(ix).into_owned());
    names
        .filter(|name| claims.on(name).is_some_and(|claim| claim.is_expired(now)))
        .collect()
}
