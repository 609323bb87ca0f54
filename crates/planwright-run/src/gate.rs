//! Decides whether a task may be worked on, and if not, why, for every verb, run and view.

use planwright_core::convert::is_untouched_placeholder;
use planwright_core::diagnostic::Diagnostic;
use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_core::plan::{PlanVerb, Readiness, RunLift, RunRefusal, State};
use planwright_core::text::visible;

use crate::claims::{Claim, Claims};
use crate::clock::to_the_second;
use crate::config::Config;
use crate::journal::History;
use crate::proofs::Proofs;
use crate::shell::argument;

/// What keeps a task from being worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The text has a syntax error, so that the tasks may be misread.
    Syntax,
    /// The plan is not approved.
    Approval,
    /// The plan is a draft, or no longer matches its source.
    Source,
    /// The task has unfinished dependencies.
    Dependencies,
    /// A dependency is marked as done without a proof.
    Proof,
    /// It is held by another owner.
    Ownership,
}

impl Gate {
    /// Returns its name for histories and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Gate::Syntax => "syntax",
            Gate::Approval => "approval",
            Gate::Source => "source",
            Gate::Dependencies => "dependencies",
            Gate::Proof => "proof",
            Gate::Ownership => "ownership",
        }
    }

    /// Returns whether `--force --note` overrides it.
    pub(crate) fn yields_to_force(self) -> bool {
        matches!(self, Gate::Dependencies | Gate::Ownership)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedGate {
    pub gate: Gate,
    pub message: String,
    /// The next step for the user.
    pub help: String,
    /// The option of a run that opens it.
    pub lift: RunLift,
}

impl ClosedGate {
    /// Returns the gate of a plan whose text has a syntax error.
    pub fn for_syntax(inspection: &Inspection, path: &str) -> Option<Self> {
        let found = inspection.syntax_error()?;
        let line = found
            .span
            .map(|span| inspection.source.line_index().position(span.start).line);
        let place = line.map_or_else(String::new, |line| format!(" in line {line}"));
        let path = visible(&argument(path)).into_owned();
        let fix = match found.fix {
            Some(_) => format!("; `planwright check --fix {path}` fixes it if that is safe"),
            None => String::new(),
        };
        Some(ClosedGate {
            gate: Gate::Syntax,
            message: format!("syntax error{place}: {}", found.message),
            help: format!("correct it first: `planwright check {path}` shows it{fix}"),
            lift: RunLift::Nothing,
        })
    }
}

/// The configured requirements for plans and tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatePolicy {
    /// Whether a plan must be approved before its tasks are worked on.
    pub approval_required: bool,
    /// Whether a task is done only after a passed verification.
    pub verification_required: bool,
}

impl GatePolicy {
    pub fn of(config: &Config) -> Self {
        GatePolicy {
            approval_required: config.approval_required,
            verification_required: config.verify.required,
        }
    }
}

/// The inputs of all gates of a plan.
pub struct Gates<'a> {
    linked: Option<&'a LinkedPlan>,
    findings: &'a [Diagnostic],
    policy: GatePolicy,
    claims: &'a Claims,
    proofs: Proofs,
    is_approved: bool,
}

impl<'a> Gates<'a> {
    /// Creates the gates from a plan, with the states that only the journal holds, and its journal.
    pub fn new(inspection: &'a Inspection, history: &History, claims: &'a Claims, policy: GatePolicy) -> Self {
        Gates {
            findings: &inspection.diagnostics,
            linked: inspection.plan.as_ref(),
            ..Gates::of(None, history, claims, policy)
        }
    }

    /// Creates the gates of a plan without errors.
    pub fn of(linked: Option<&'a LinkedPlan>, history: &History, claims: &'a Claims, policy: GatePolicy) -> Self {
        Gates {
            linked,
            findings: &[],
            claims,
            proofs: match policy.verification_required {
                true => Proofs::of(history),
                false => Proofs::default(),
            },
            is_approved: !policy.approval_required || history.is_approved(),
            policy,
        }
    }

    /// Returns whether a done task is proven, if a proof is required.
    pub(crate) fn is_proven(&self, task: &str) -> bool {
        !self.policy.verification_required || self.proofs.has(task)
    }

    /// Returns the closed gate of the whole plan, if any.
    pub fn of_plan(&self) -> Option<ClosedGate> {
        let LinkedPlan { dialect, plan, .. } = self.linked?;
        let refusal = dialect.refuses_work(plan, self.findings);
        // An approval does not make a task of a placeholder.
        let is_lasting = refusal
            .as_ref()
            .is_some_and(|refusal| refusal.lift != RunLift::Approval);
        if !is_lasting && self.linked.is_some_and(is_untouched_placeholder) {
            let message = format!(
                "`{}` is the placeholder of a new plan, and not a task",
                visible(&plan.task_name(0))
            );
            let needed = dialect.edits().and_then(|edits| edits.needed());
            let needed = needed.map_or_else(String::new, |needed| format!(" {needed}"));
            let help = format!("`planwright add \"TITLE\"{needed}` replaces it");
            return Some(closed_by(Gate::Source, message, &help));
        }
        if let Some(RunRefusal { lift, message, help }) = refusal {
            return Some(ClosedGate {
                gate: match lift {
                    RunLift::Approval => Gate::Approval,
                    RunLift::Retry | RunLift::Nothing => Gate::Source,
                },
                message: message.to_owned(),
                help: help.to_owned(),
                lift,
            });
        }
        let has_own = dialect.plan_machine().has(PlanVerb::Approve);
        (!self.is_approved && !has_own).then(|| ClosedGate {
            gate: Gate::Approval,
            message: "the plan is not approved, and `[approval] required` asks for that".to_owned(),
            help: "a person approves it: `planwright approve`".to_owned(),
            lift: RunLift::Approval,
        })
    }

    /// Returns the closed gate of a task that is marked as done without a proof, which blocks its dependents.
    pub fn unproven(&self, task_ix: usize) -> Option<ClosedGate> {
        let plan = &self.linked?.plan;
        let name = plan.task_name(task_ix);
        let is_done = plan.tasks().get(task_ix)?.status.state() == Some(State::Done);
        if !is_done || self.is_proven(&name) {
            return None;
        }
        let message = format!(
            "`{}` is marked as done, and no passed verification proves it",
            visible(&name)
        );
        let task = argument(&name);
        let help =
            format!("`planwright verify {task}` proves it, and `planwright reset {task} --force` opens it again");
        Some(closed_by(Gate::Proof, message, &help))
    }

    /// Returns the closed gates of a task, those of the whole plan first. A finished task has none.
    pub fn of_task(&self, task_ix: usize, now: &str) -> Vec<ClosedGate> {
        let mut closed: Vec<ClosedGate> = self.of_plan().into_iter().collect();
        let Some(linked) = self.linked else {
            return closed;
        };
        let (plan, links) = (&linked.plan, &linked.links);
        let waits = Readiness::new(plan, links).waits(task_ix).into_iter();
        closed.extend(waits.map(|wait| {
            closed_by(
                Gate::Dependencies,
                wait.words(plan),
                "finish those first; `planwright why TASK` shows the way",
            )
        }));
        let dependencies = links.of(task_ix).iter().map(|edge| edge.to as usize);
        closed.extend(dependencies.filter_map(|ix| self.unproven(ix)));
        if let Some(claim) = self
            .claims
            .on(&plan.task_name(task_ix))
            .filter(|claim| !claim.is_expired(now))
        {
            let help = "`--take-over --note` takes it from them";
            closed.push(closed_by(Gate::Ownership, held_by(claim), help));
        }
        closed
    }
}

fn closed_by(gate: Gate, message: String, help: &str) -> ClosedGate {
    ClosedGate {
        gate,
        message,
        help: help.to_owned(),
        lift: RunLift::Nothing,
    }
}

/// Returns who holds a task, since when and until when, in words.
pub fn held_by(claim: &Claim) -> String {
    let until = claim
        .until()
        .map_or_else(String::new, |until| format!(", until {}", to_the_second(until)));
    let since = to_the_second(&claim.since);
    match claim.owner() {
        Some(owner) => format!(
            "{} holds it since {since}{until} (claim {})",
            visible(owner),
            claim.number
        ),
        None => format!("a run holds it since {since}"),
    }
}
