//! The holders of a plan's tasks and the gates, for the verbs that show plans.

use std::collections::BTreeMap;
use std::path::Path;

use planwright_core::inspect::Inspection;
use planwright_core::plan::{Plan, RunLift, Status};
use planwright_run::claims::Claims;
use planwright_run::clock::{self, to_the_second};
use planwright_run::config::{self, ConfigInputs};
use planwright_run::files::DiskFiles;
use planwright_run::gate::{ClosedGate, Gate, GatePolicy, Gates};
use planwright_run::journal::plan_id;
use planwright_run::layout::PlanPlace;
use planwright_run::review::waiting_tasks;
use planwright_run::runs::holder;
use planwright_run::shell::{argument, task_command, with_plan};
use planwright_run::store::{self, PlanFile};
use planwright_run::workspace::root_of;

use crate::json::{ClosedReport, HolderReport};
use crate::text::{one_line, shown_name};

/// The holders of a plan's tasks, and its gates.
#[derive(Default)]
pub struct PlanAccess {
    pub claims: Claims,
    /// The closed gate of the whole plan, if any.
    pub gate: Option<ClosedGate>,
    /// The tasks that may not start because a dependency lacks a proof, with the gate.
    pub unproven: BTreeMap<usize, ClosedGate>,
    /// The tasks that are marked as done without a proof, if one is required.
    unproven_done: BTreeMap<usize, ClosedGate>,
    /// The tasks that wait for a review, with the commit that lands after the approval.
    pub reviews: BTreeMap<String, Option<String>>,
    /// Whether a run of the plan is active.
    is_run: bool,
    /// The plan's name for commands.
    shown: String,
}

impl PlanAccess {
    /// Reads the journal and the configuration of the plan's workspace. Ignores errors: the verbs that change something report them.
    pub fn of(inspection: &Inspection, path: &Path) -> Self {
        let Some(plan) = inspection.plan.as_ref().map(|linked| &linked.plan) else {
            return PlanAccess::default();
        };
        let config = config::load(&root_of(path), &ConfigInputs::of_process()).config;
        let policy = GatePolicy::of(&config);
        let is_running = || plan.tasks().iter().any(|task| task.status == Status::Running);
        let file = PlanFile {
            path,
            id: plan_id(plan),
        };
        let needs_journal = policy != GatePolicy::default() || is_running();
        let history = needs_journal
            .then(|| store::history(file).ok())
            .flatten()
            .unwrap_or_default();
        let claims = Claims::of(&history);
        let gates = Gates::new(inspection, &history, &claims, policy);
        let shown = path.to_string_lossy();
        let shown = shown.strip_prefix("./").unwrap_or(&shown);
        let gate = gates.of_plan().map(|closed| ClosedGate {
            help: with_plan(&closed.help, shown),
            ..closed
        });
        let gate = ClosedGate::for_syntax(inspection, shown).or(gate);
        let now = clock::now();
        let unproven = (0..plan.tasks().len()).filter(|_| policy.verification_required);
        let unproven = unproven.filter_map(|ix| {
            let mut closed = gates.of_task(ix, &now).into_iter();
            Some((ix, closed.find(|closed| closed.gate == Gate::Proof)?))
        });
        let unproven_done = (0..plan.tasks().len()).filter_map(|ix| Some((ix, gates.unproven(ix)?)));
        let is_held_by_run = (0..plan.tasks().len()).any(|ix| {
            let claim = claims.on(&plan.task_name(ix));
            claim.is_some_and(|claim| claim.owner().is_none())
        });
        let place = PlanPlace::of(&DiskFiles, path).ok().filter(|_| is_held_by_run);
        PlanAccess {
            reviews: match is_held_by_run {
                true => waiting_tasks(path, plan_id(plan)),
                false => BTreeMap::new(),
            },
            is_run: place.is_some_and(|place| holder(&DiskFiles, &place).is_some()),
            shown: shown.to_owned(),
            unproven: unproven.collect(),
            unproven_done: unproven_done.collect(),
            gate: gate.filter(|closed| closed.lift != RunLift::Retry),
            claims,
        }
    }

    /// Returns why no task may be worked on, and the next step.
    pub(crate) fn gate_words(&self) -> String {
        match &self.gate {
            Some(closed) => format!("no task can be started: {}; {}", closed.message, closed.help),
            None => String::new(),
        }
    }

    /// Returns why a task may not be worked on although it waits for no other task.
    pub fn obstacle(&self, task_ix: usize) -> Option<String> {
        let closed = self.gate.as_ref().or_else(|| self.unproven.get(&task_ix))?;
        Some(format!("{}; {}", closed.message, closed.help))
    }

    /// Returns the missing proof of a task that is marked as done.
    pub fn missing_proof(&self, task_ix: usize) -> Option<&ClosedGate> {
        self.unproven_done.get(&task_ix)
    }

    pub fn awaits_approval(&self) -> bool {
        self.gate.as_ref().is_some_and(|closed| closed.gate == Gate::Approval)
    }

    /// Returns whether a task that waits for nothing is offered: the plan is approved, and its dependencies are proven.
    pub fn is_offered(&self, task_ix: usize) -> bool {
        !self.awaits_approval() && !self.unproven.contains_key(&task_ix)
    }

    /// Returns the closed gate, for JSON.
    pub(crate) fn closed_report(&self) -> Option<ClosedReport> {
        self.gate.as_ref().map(|closed| ClosedReport {
            gate: closed.gate.as_str(),
            message: closed.message.clone(),
            help: closed.help.clone(),
        })
    }

    /// Returns the holder of a task, for JSON.
    pub(crate) fn holder_report(&self, task: &str) -> Option<HolderReport> {
        let claim = self.claims.on(task)?;
        Some(HolderReport {
            claim: claim.number,
            by: claim.owner().map(str::to_owned),
            since: claim.since.clone(),
            until: claim.until().map(str::to_owned),
            expired: claim.is_expired(&clock::now()),
            interrupted: self.is_interrupted(task),
        })
    }

    /// Returns the holders of the plan's running tasks, in words.
    pub fn holders(&self, plan: &Plan) -> Vec<String> {
        let running = (0..plan.tasks().len()).filter(|ix| plan.tasks()[*ix].status == Status::Running);
        let words = running.filter_map(|ix| {
            let name = plan.task_name(ix);
            Some(format!("{}: {}", shown_name(&name), self.holder_words(&name)?))
        });
        words.collect()
    }

    /// Returns whether an interrupted run left a task.
    pub fn is_interrupted(&self, task: &str) -> bool {
        let claim = self.claims.on(task);
        let is_of_run = claim.is_some_and(|claim| claim.owner().is_none());
        is_of_run && !self.is_run && !self.reviews.contains_key(task)
    }

    /// Returns whether a task may be claimed again because its lease has expired.
    pub(crate) fn is_lease_over(&self, task: &str) -> bool {
        let claim = self.claims.on(task);
        claim.is_some_and(|claim| claim.is_expired(&clock::now()))
    }

    /// Returns how many running tasks of a plan interrupted runs left.
    pub fn n_interrupted(&self, plan: &Plan) -> usize {
        let running = (0..plan.tasks().len()).filter(|ix| plan.tasks()[*ix].status == Status::Running);
        running.filter(|ix| self.is_interrupted(&plan.task_name(*ix))).count()
    }

    /// Returns the holder of a task, in words; none if unknown.
    pub(crate) fn holder_words(&self, task: &str) -> Option<String> {
        let claim = self.claims.on(task)?;
        let since = to_the_second(&claim.since);
        if claim.owner().is_none() && self.reviews.contains_key(task) {
            return Some(format!("waits for review: {}", review_commands(task, &self.shown)));
        }
        if self.is_interrupted(task) {
            return Some(format!(
                "left by an interrupted run since {since}; `planwright run {}` continues it",
                argument(&self.shown)
            ));
        }
        let words = match claim.owner() {
            Some(owner) => format!("held by {} since {since}", one_line(owner)),
            None => format!("held by a run since {since}"),
        };
        let until = match claim.until().map(to_the_second) {
            Some(until) if claim.is_expired(&clock::now()) => {
                format!("; its lease ended at {until}, and it may be claimed again")
            }
            Some(until) => format!(" until {until}"),
            None => String::new(),
        };
        Some(format!("{words}{until} (claim {})", claim.number))
    }
}

/// Returns the commands that approve or reject a task that waits for review.
pub(crate) fn review_commands(task: &str, path: &str) -> String {
    let approve = task_command("approve", task, path, "");
    let reject = task_command("reject", task, path, "--note \"…\"");
    format!("`{approve}` or `{reject}`")
}
