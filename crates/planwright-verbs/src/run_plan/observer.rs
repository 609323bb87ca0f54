//! How a caller takes part in a run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use planwright_core::plan::Links;
use planwright_core::plan::Plan;
use planwright_run::engine::Watcher;

use crate::cancel::CancelToken;
use crate::failure::Failure;
use crate::planning::PlanningObserver;
use crate::plans::FoundPlan;
use crate::proposals::{ApprovedReport, ProposalReport};
use crate::replan::ReplanReport;
use crate::run_history::{RunReport, Setting};

/// Observes a run. An empty implementation shows nothing and answers no question. Receives every event of a run as a [`Watcher`], and the
/// events of replanning.
pub trait RunObserver: Watcher + PlanningObserver {
    /// Is called when a run is about to start. A command has several runs if the plan is replanned.
    fn begins(&mut self, _beginning: &RunBeginning<'_>) {}

    /// Is called after the last event of the run.
    fn is_over(&mut self) {}

    fn ended(&mut self, _report: &RunReport) {}

    /// Receives an error after the run, whose result still counts.
    fn fails(&mut self, _failure: &Failure) {}

    /// The plan was replanned, and its new version runs.
    fn replanned(&mut self, _plan: &FoundPlan, _report: &ReplanReport) {}

    /// Asks whether to add the agents' proposals to the plan, which then runs again.
    fn takes_proposals(&mut self, _proposals: &[ProposalReport]) -> bool {
        false
    }

    /// The agents' proposals were added to the plan.
    fn proposals_taken(&mut self, _report: &ApprovedReport) {}

    /// Returns whether questions can be answered.
    fn may_ask(&self) -> bool {
        false
    }

    /// Asks whether an unapproved plan may run.
    fn is_approved(&mut self, _plan: &Path, _message: &str) -> bool {
        false
    }

    /// Asks what to do with interrupted tasks: `retry`, `fail`, or none to run nothing.
    fn on_interrupted(&mut self, _task: &str) -> Option<&'static str> {
        None
    }
}

/// The facts about a run before it starts.
pub struct RunBeginning<'a> {
    pub root: &'a Path,
    pub setting: Setting,
    pub plan: &'a Plan,
    pub links: &'a Links,
    pub cancel: &'a CancelToken,
    /// Whether the run waits for reviews while it has nothing else to do.
    pub waits_for_review: &'a Arc<AtomicBool>,
}
