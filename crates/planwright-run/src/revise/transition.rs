//! Applies a verb to tasks, judged by the table, the gates and the claims.

use planwright_core::change::Problem;
use planwright_core::convert::is_untouched_placeholder;
use planwright_core::edit::{VerbRefusal, VerbRequest};
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Plan, Readiness, RunLift, State, Verb};

use super::batch::NotePlacement;
use super::error::ReviseError;
use super::pending_change::PendingChange;
use super::plan_states::names_in;
use super::revision::{Revision, revise};
use super::{ChangeTarget, RevisedPlan, TaskSelector, lasting_names, no_such_task, task_named};
use crate::claims::{Claim, ClaimAuthority, Claims, NotHolder};
use crate::gate::{ClosedGate, Gate, GatePolicy, Gates};
use crate::journal::{ChangeRecord, ClaimRecord, ManualVerification};
use crate::user::owner_here;

/// The caller of a verb on tasks, and the rules that apply in addition to the table.
#[derive(Clone, Debug, Default)]
pub struct VerbCall<'a> {
    /// The configured requirements for plans and tasks.
    pub policy: GatePolicy,
    /// The caller; the user on this machine by default.
    pub owner: Option<&'a str>,
    /// The number of the caller's claim, if given.
    pub claim: Option<u64>,
    /// Whether the caller takes the tasks over from their holders.
    pub takes_over: bool,
    /// When the new claim expires, as RFC 3339 in UTC.
    pub until: Option<String>,
    /// How the tasks were verified before.
    pub verified: &'a [ManualVerification],
    /// Its name in the history, if that is not the verb.
    pub name: Option<&'a str>,
    /// The user or process that decided, if another one did the work.
    pub decided_by: Option<&'a str>,
}

/// Applies a verb to tasks, all of them or none, for the user on this machine.
pub fn transition(
    target: ChangeTarget<'_>,
    pick: TaskSelector<'_>,
    request: &VerbRequest<'_>,
) -> Result<RevisedPlan, ReviseError> {
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

/// Applies a verb to tasks, all of them or none.
pub fn transition_by(
    target: ChangeTarget<'_>,
    pick: TaskSelector<'_>,
    request: &VerbRequest<'_>,
    call: &VerbCall<'_>,
) -> Result<RevisedPlan, ReviseError> {
    revise(target, name_of(request, call), |pending| {
        pending.call_verb(pick, request, call)
    })
}

/// Computes the effect of a verb on tasks without a lock. [`PreviewedChange::make`] writes it later.
pub fn preview_change<'a>(
    target: ChangeTarget<'a>,
    pick: TaskSelector<'_>,
    request: &VerbRequest<'_>,
    call: &VerbCall<'_>,
) -> Result<PreviewedChange<'a>, ReviseError> {
    let mut revision = Revision::open(target, name_of(request, call))?;
    revision.preview_change(|pending| pending.call_verb(pick, request, call))?;
    Ok(PreviewedChange(revision))
}

/// The effect of a verb on tasks.
pub struct PreviewedChange<'a>(Revision<'a>);

impl PreviewedChange<'_> {
    pub fn plan(&self) -> Option<&LinkedPlan> {
        let (draft, _) = self.0.draft.as_ref()?;
        draft.revised.after.plan.as_ref()
    }

    /// Makes the change, with the verification of the tasks. Prepares it again only if the plan or its journal has changed.
    pub fn make(
        mut self,
        pick: TaskSelector<'_>,
        request: &VerbRequest<'_>,
        call: &VerbCall<'_>,
    ) -> Result<RevisedPlan, ReviseError> {
        if let Some((draft, _)) = &mut self.0.draft {
            draft.revised.record.verified = call.verified.to_vec();
        }
        self.0.make(|pending| pending.call_verb(pick, request, call))
    }
}

fn name_of<'c>(request: &VerbRequest<'_>, call: &VerbCall<'c>) -> &'c str {
    call.name.unwrap_or(request.verb.as_str())
}

impl TaskSelector<'_> {
    fn names(self, linked: &LinkedPlan, claims: &Claims, now: &str) -> Vec<String> {
        match self {
            TaskSelector::Named(names) => lasting_names(&linked.plan, names),
            TaskSelector::Next(most) => next_names(linked, claims, now, most),
        }
    }
}

impl PendingChange<'_> {
    fn call_verb(
        &mut self,
        pick: TaskSelector<'_>,
        request: &VerbRequest<'_>,
        call: &VerbCall<'_>,
    ) -> Result<(), ReviseError> {
        self.refuse_broken()?;
        let owner = call.owner.map_or_else(owner_here, str::to_owned);
        let request = &VerbRequest {
            user: Some(&owner),
            ..*request
        };
        let claims = Claims::of(self.history);
        self.offer_again(&claims);
        let gates = Gates::new(&self.open.inspection, self.history, &claims, call.policy);
        let names = pick.names(self.linked()?, &claims, request.now);
        if names.is_empty() {
            return Err(gates.of_plan().map_or(ReviseError::NothingReady, ReviseError::Closed));
        }
        let mut judge = VerbJudge {
            linked: self.linked()?,
            gates,
            claims: &claims,
            authority: ClaimAuthority {
                owner: &owner,
                claim: call.claim,
                // `reset --force` concerns done tasks.
                takes_over: call.takes_over || (request.force && !gives_up(request.verb)),
            },
            request,
            asked: Vec::new(),
            passed: Vec::new(),
            holders: Vec::new(),
        };
        names.iter().try_for_each(|name| judge.task(name))?;
        let VerbJudge {
            asked, passed, holders, ..
        } = judge;
        self.move_all(&asked)?;
        let retries = request.verb == Verb::Retry && !request.starts;
        if let Some(linked) = &mut self.open.inspection.plan {
            linked
                .plan
                .offer_again(|name| match names.iter().any(|asked| asked == name) {
                    true => retries,
                    false => claims.is_offered(name),
                });
        }
        self.shows_text = matches!(pick, TaskSelector::Next(_));
        let by = call.decided_by.or(request.by).unwrap_or(&owner);
        let claim = starts(request).then(|| ClaimRecord {
            by: owner.clone(),
            is_named: call.owner.is_some(),
            until: call.until.clone(),
        });
        self.change = ChangeRecord {
            claim,
            passed_gates: passed,
            taken_over_from: (!holders.is_empty()).then(|| holders.join(", ")),
            tasks: names,
            by: Some(by.to_owned()),
            note: request.note.map(str::to_owned),
            output: request.output.map(str::to_owned),
            files: request.files.to_vec(),
            verified: call.verified.to_vec(),
            ..std::mem::take(&mut self.change)
        };
        Ok(())
    }

    /// Moves tasks. The first refusal is the error.
    fn move_all(&mut self, asked: &[(String, VerbRequest<'_>)]) -> Result<(), ReviseError> {
        if asked.is_empty() {
            return Ok(());
        }
        let asked: Vec<_> = asked.iter().map(|(name, request)| (name.as_str(), *request)).collect();
        let results = self.transitions(&asked, NotePlacement::ByChange)?;
        match results.into_iter().find_map(Result::err) {
            None => Ok(()),
            Some(ReviseError::NoSuchTask { name, .. }) => Err(no_such_task(&self.linked()?.plan, &name)),
            Some(ReviseError::Problem(Problem::Refused(refusal @ VerbRefusal::NotReady { .. })))
                if asked.iter().all(|(_, request)| request.verb == Verb::Done) =>
            {
                Err(ReviseError::Closed(unfinished_dependencies(&refusal)))
            }
            Some(refused) => Err(refused),
        }
    }
}

/// Returns why a task cannot be finished. `done` starts it first, and has no option to start it in spite of its dependencies.
fn unfinished_dependencies(refusal: &VerbRefusal) -> ClosedGate {
    ClosedGate {
        gate: Gate::Dependencies,
        message: format!("cannot finish: {refusal}"),
        help: "finish those first; `planwright why TASK` shows the way; --force with --take-over finishes it anyway"
            .to_owned(),
        lift: RunLift::Nothing,
    }
}

/// Returns whether a verb ends the work of the holder on a task.
fn gives_up(verb: Verb) -> bool {
    matches!(verb, Verb::Reset | Verb::Skip)
}

/// Returns whether a request starts work on a task.
fn starts(request: &VerbRequest<'_>) -> bool {
    request.verb == Verb::Start || (request.verb == Verb::Retry && request.starts)
}

/// Checks the gates and the claims for a verb on tasks, before the table.
struct VerbJudge<'a, 'r> {
    linked: &'a LinkedPlan,
    gates: Gates<'a>,
    claims: &'a Claims,
    authority: ClaimAuthority<'a>,
    request: &'a VerbRequest<'r>,
    /// The requests for tasks.
    asked: Vec<(String, VerbRequest<'r>)>,
    /// The gates that were passed by force.
    passed: Vec<String>,
    /// The earlier holders of tasks that are taken over.
    holders: Vec<String>,
}

impl VerbJudge<'_, '_> {
    fn task(&mut self, name: &str) -> Result<(), ReviseError> {
        let (plan, request) = (&self.linked.plan, self.request);
        let task_ix = task_named(plan, name)?;
        let task = plan.task_name(task_ix).into_owned();
        self.ask_gates(task_ix)?;
        if !self.ask_holder(task_ix, &task)? {
            return Ok(());
        }
        let is_offered = plan.tasks()[task_ix].offered;
        if request.verb == Verb::Retry && !request.starts && is_offered {
            // The journal already offers it again.
            return Ok(());
        }
        let is_begun_again = request.verb == Verb::Start && is_offered;
        let request = VerbRequest {
            verb: if is_begun_again { Verb::Retry } else { request.verb },
            starts: request.starts || is_begun_again,
            ..*request
        };
        self.asked.push((task, request));
        Ok(())
    }

    /// Refuses work if a gate is closed, unless force overrides it.
    fn ask_gates(&mut self, task_ix: usize) -> Result<(), ReviseError> {
        let request = self.request;
        // A placeholder is no task: it is not skipped or blocked either, which would end some plans.
        let works = starts(request) || request.verb == Verb::Done || is_untouched_placeholder(self.linked);
        let closed = self.gates.of_plan().filter(|closed| closed.lift != RunLift::Retry);
        if let Some(closed) = closed.filter(|_| works) {
            return Err(ReviseError::Closed(closed));
        }
        if !starts(request) {
            return Ok(());
        }
        let closed = self.gates.of_task(task_ix, request.now).into_iter();
        let closed = closed.filter(|closed| closed.gate != Gate::Ownership && closed.lift == RunLift::Nothing);
        for closed in closed {
            match closed.gate {
                // The table refuses these with its reasons.
                Gate::Dependencies if !request.force => {}
                gate if request.force && gate.yields_to_force() => self.pass(gate),
                _ => return Err(ReviseError::Closed(closed)),
            }
        }
        Ok(())
    }

    /// Refuses a task that another owner holds. Returns whether to check the table: not if only the holder changes.
    fn ask_holder(&mut self, task_ix: usize, task: &str) -> Result<bool, ReviseError> {
        let request = self.request;
        let state = self.linked.plan.tasks()[task_ix].status.state();
        let claim = self.claims.on(task).filter(|_| state == Some(State::Running));
        let is_own = claim.is_some_and(|claim| claim.owner() == Some(self.authority.owner));
        let refuse = || {
            let refused = self.authority.refuse(task, self.claims);
            refused.map_err(|why| not_theirs(task, why))
        };
        match (request.verb, state, claim) {
            (Verb::Start, Some(State::Running), claim) => return self.take_over(task, claim, is_own),
            // A person confirms a task that no process has started.
            (Verb::Done, Some(from @ (State::Pending | State::Failed)), _) if self.authority.takes_over => {
                self.start_first(task_ix, task, from);
            }
            // A run follows other processes' changes to its tasks, and an expired claim no longer counts.
            (Verb::Reset | Verb::Skip, Some(State::Running), Some(claim)) if claim.owner().is_some() => {
                if !claim.is_expired(request.now) {
                    refuse()?;
                }
                if !is_own {
                    self.holders.push(holder_name(claim));
                }
            }
            (Verb::Done | Verb::Fail | Verb::Block, Some(State::Running), Some(claim)) => {
                refuse()?;
                if self.authority.takes_over && !is_own {
                    self.holders.push(holder_name(claim));
                    if request.force {
                        self.pass(Gate::Ownership);
                    }
                }
            }
            _ => {}
        }
        Ok(true)
    }

    /// Decides about the start of a running task. Returns whether to check the table: not if only the holder changes.
    fn take_over(&mut self, task: &str, claim: Option<&Claim>, is_own: bool) -> Result<bool, ReviseError> {
        let is_expired = claim.is_some_and(|claim| claim.is_expired(self.request.now));
        let is_free = is_expired || self.authority.takes_over;
        match claim {
            Some(claim) if !is_free && !is_own => Err(not_theirs(task, NotHolder::Held(claim.clone()))),
            // The table refuses it: the caller has started it already.
            _ if !is_free => Ok(true),
            claim => {
                self.holders.extend(claim.map(holder_name));
                Ok(false)
            }
        }
    }

    /// Adds the start of a task before the requested verb.
    fn start_first(&mut self, task_ix: usize, task: &str, from: State) {
        let request = self.request;
        let begin = VerbRequest {
            verb: match from {
                State::Failed => Verb::Retry,
                _ => Verb::Start,
            },
            starts: true,
            output: None,
            files: &[],
            ..*request
        };
        let mut closed = self.gates.of_task(task_ix, request.now).into_iter();
        // Without force the table refuses it with its reasons.
        if request.force && closed.any(|closed| closed.gate == Gate::Dependencies) {
            self.pass(Gate::Dependencies);
        }
        self.asked.push((task.to_owned(), begin));
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

/// Returns the tasks to take next: those that may start, then those with an expired claim.
fn next_names(linked: &LinkedPlan, claims: &Claims, now: &str, most: usize) -> Vec<String> {
    let plan = &linked.plan;
    let readiness = Readiness::new(plan, &linked.links);
    let offered = readiness.offered().into_iter();
    let offered = offered.map(|ix| plan.task_name(ix).into_owned());
    offered.chain(expired_names(plan, claims, now)).take(most).collect()
}

/// Returns the running tasks with an expired claim, in the order of the plan.
pub fn expired_names(plan: &Plan, claims: &Claims, now: &str) -> Vec<String> {
    let mut names = names_in(plan, State::Running);
    names.retain(|name| claims.on(name).is_some_and(|claim| claim.is_expired(now)));
    names
}
