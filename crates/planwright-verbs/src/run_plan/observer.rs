//! How a face takes part in a run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use planwright_core::plan::Links;
use planwright_core::plan::Plan;
use planwright_run::engine::Watcher;

use crate::face::{CancelToken, Failure};
use crate::planning::PlanningObserver;
use crate::plans::FoundPlan;
use crate::proposals::{ApprovedReport, ProposalReport};
use crate::replan::ReplanReport;
use crate::run_history::{RunReport, Setting};

/// A face, while a plan is run. One that implements nothing shows nothing and answers no question. It hears every event of a run as a [`Watcher`], and what happens while the plan is replanned.
pub trait RunObserver: Watcher + PlanningObserver {
    /// A run is about to begin. A command has several, where the plan is replanned.
    fn begins(&mut self, _beginning: &RunBeginning<'_>) {}

    /// Nothing happens in the run any more.
    fn is_over(&mut self) {}

    fn ended(&mut self, _report: &RunReport) {}

    /// Something went wrong after the run, which still counts.
    fn fails(&mut self, _failure: &Failure) {}

    /// The plan was replanned, and its new version is run.
    fn replanned(&mut self, _plan: &FoundPlan, _report: &ReplanReport) {}

    /// Asks whether what agents have proposed is taken into the plan, which is run again then.
    fn takes_proposals(&mut self, _proposals: &[ProposalReport]) -> bool {
        false
    }

    /// What agents have proposed was taken into the plan.
    fn proposals_taken(&mut self, _report: &ApprovedReport) {}

    /// Returns whether questions can be answered.
    fn may_ask(&self) -> bool {
        false
    }

    /// Asks whether a plan that is not approved may be run.
    fn is_approved(&mut self, _plan: &Path, _message: &str) -> bool {
        false
    }

    /// Asks what becomes of tasks that were interrupted: `retry`, `fail`, or none to run nothing.
    fn on_interrupted(&mut self, _task: &str) -> Option<&'static str> {
        None
    }
}

/// What is known of a run before it begins.
pub struct RunBeginning<'a> {
    pub root: &'a Path,
    pub setting: Setting,
    pub plan: &'a Plan,
    pub links: &'a Links,
    pub cancel: &'a CancelToken,
    /// Whether the run waits for reviews while it has nothing else to do.
    pub waits_for_review: &'a Arc<AtomicBool>,
}
