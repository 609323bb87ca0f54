//! A plan over all its versions: runs, proposals of their agents, and new versions after failures.

use std::time::Instant;

use planwright_core::edit::PlanRequest;
use planwright_core::plan::{PlanVerb, RunLift};
use planwright_run::clock;
use planwright_run::config::Config;
use planwright_run::gate::GatePolicy;
use planwright_run::revise;
use serde::Serialize;

use super::observer::RunObserver;
use super::{ReplanProgress, RunPlanRequest, config_of_run, find_plan, run_once};
use crate::changes::{ChangeMode, revise_failure};
use crate::proposals::{approve_proposals, open_proposals};
use crate::replan::{AfterFailure, MAX_VERSIONS, replan_after_failure};
use crate::{Exit, FoundPlan, Result, Workspace};

#[derive(Debug, Serialize)]
pub struct RunPlanReport {
    pub schema_version: &'static str,
    /// The plan of the last run: another file if a new version has its own.
    pub plan: String,
    pub n_replans: u32,
    pub exit_status: u8,
    #[serde(skip)]
    pub exit: Exit,
}

/// Runs a plan, and its new versions if it is replanned.
pub fn run_plan(
    workspace: &Workspace,
    request: &RunPlanRequest,
    observer: &mut dyn RunObserver,
) -> Result<RunPlanReport> {
    let mut versions = PlanVersions {
        workspace,
        request,
        found: find_plan(workspace, request)?,
        course: ReplanProgress::default(),
        observer,
    };
    let exit = versions.run()?;
    if let Some(folder) = &request.copy_to {
        workspace.remark(&format!("the plan and the work are in {}", folder.display()));
    }
    Ok(RunPlanReport {
        schema_version: "planwright.run/v1",
        plan: versions.found.path.to_string_lossy().into_owned(),
        n_replans: versions.course.n_replans,
        exit_status: exit as u8,
        exit,
    })
}

struct PlanVersions<'r> {
    workspace: &'r Workspace,
    request: &'r RunPlanRequest,
    found: FoundPlan,
    course: ReplanProgress,
    observer: &'r mut dyn RunObserver,
}

enum Proposed {
    Nothing,
    /// It was added to the plan, which must run again.
    Taken,
    /// It waits for an approval.
    Held,
}

impl PlanVersions<'_> {
    fn run(&mut self) -> Result<Exit> {
        let is_asked = self.request.replan.is_some_and(|most| most > 0) && !self.request.selection.retry_failed;
        if is_asked && waits_for_planner(&self.found) {
            let config = config_of_run(self.request, &self.found);
            if let Some(exit) = self.replan(&config)?
                && exit != Exit::Problems
            {
                return Ok(exit);
            }
        }
        loop {
            let config = config_of_run(self.request, &self.found);
            self.course.max_replans = self.max_replans(&config);
            let exit = run_once(
                self.workspace,
                self.request,
                &self.found,
                &mut self.course,
                self.observer,
            )?;
            if !matches!(exit, Exit::Problems | Exit::Success) {
                return Ok(exit);
            }
            match (self.take_proposals()?, exit) {
                (Proposed::Taken, _) => continue,
                (Proposed::Held, Exit::Success) => return Ok(Exit::Problems),
                (Proposed::Nothing, Exit::Success) => return Ok(Exit::Success),
                (Proposed::Held | Proposed::Nothing, _) => {}
            }
            let config = config_of_run(self.request, &self.found);
            let most = self.max_replans(&config);
            if self.course.n_replans >= most {
                if most > 0 {
                    self.give_up(most)?;
                }
                return Ok(exit);
            }
            if let Some(why) = self.course.spent.over_run(&config.run.budgets.run) {
                self.workspace.remark(&format!("{why}: the plan is not replanned"));
                return Ok(exit);
            }
            if let Some(exit) = self.replan(&config)? {
                return Ok(exit);
            }
        }
    }

    fn max_replans(&self, config: &Config) -> u32 {
        self.request
            .replan
            .unwrap_or_else(|| match config.plan.agent.is_some() && has_versions(&self.found) {
                true => u32::try_from(MAX_VERSIONS).unwrap_or(u32::MAX),
                false => 0,
            })
    }

    /// Has a failed plan replanned, to continue with its new version. Otherwise returns the exit of the command.
    fn replan(&mut self, config: &Config) -> Result<Option<Exit>> {
        let began = Instant::now();
        let replanned = match replan_after_failure(self.workspace, &self.found, config, self.observer)? {
            AfterFailure::Nothing => return Ok(Some(Exit::Problems)),
            AfterFailure::Cancelled(exit) => return Ok(Some(exit)),
            AfterFailure::Replanned(replanned) => replanned,
        };
        self.found.path.clone_from(&replanned.plan);
        self.course.replanned = Some(replanned.how);
        self.course.n_replans += 1;
        let (effort, spent) = (replanned.effort, &mut self.course.spent);
        spent.pay(effort.usage.cost_usd, effort.usage.tokens());
        spent.pass(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        self.observer.replanned(&self.found, &replanned.report);
        Ok(None)
    }

    /// Asks the caller about the agents' proposals in this run. A caller that cannot decide leaves them for later.
    fn take_proposals(&mut self) -> Result<Proposed> {
        // The result of the run does not depend on readable proposals.
        let open = open_proposals(&self.found).unwrap_or_else(|error| {
            self.workspace.remark(&format!("warning: {error}"));
            Vec::new()
        });
        if open.is_empty() {
            return Ok(Proposed::Nothing);
        }
        if self.observer.takes_proposals(&open) {
            let mode = ChangeMode {
                by: self.request.flags.by.clone(),
                ..ChangeMode::default()
            };
            let report = approve_proposals(self.workspace, &self.found, &mode)?;
            self.observer.proposals_taken(&report);
            self.found = report.plan;
            return Ok(Proposed::Taken);
        }
        let path = self.found.path.display();
        self.workspace.remark(&format!(
            "there are proposals for the plan: planwright proposals {path} lists them, planwright approve --proposed {path} adds them"
        ));
        Ok(Proposed::Held)
    }

    /// Remarks that a failed plan has reached the limit of replans, and sets the dialect's status for that, if it has one.
    fn give_up(&self, n_replans: u32) -> Result<()> {
        let times = match n_replans {
            1 => "once".to_owned(),
            n => format!("{n} times"),
        };
        let (found, is_counted) = (&self.found, has_versions(&self.found));
        let path = found.path.display();
        self.workspace.remark(&match is_counted {
            false => format!("the plan was replanned {times}, and is not replanned again"),
            true => format!(
                "the plan was replanned {times}, and has failed. To try again what failed: planwright undo {path}, then planwright run \
                 --retry-failed {path}"
            ),
        });
        let now = clock::now();
        let request = PlanRequest {
            verb: PlanVerb::Cancel,
            note: Some("the limit of new versions was reached"),
            by: self.request.flags.by.as_deref(),
            now: &now,
        };
        match is_counted.then(|| revise::transition_plan(found.target(false), &request, GatePolicy::default())) {
            Some(Err(error)) => Err(revise_failure(found, &error)),
            _ => Ok(()),
        }
    }
}

/// Returns whether a plan must be replanned before it can run.
fn waits_for_planner(found: &FoundPlan) -> bool {
    let refusal = || {
        let linked = found.linked()?;
        linked.dialect.refuses_work(&linked.plan, &[])
    };
    refusal().is_some_and(|refusal| refusal.lift == RunLift::Retry)
}

fn has_versions(found: &FoundPlan) -> bool {
    let lineage = || {
        let linked = found.linked()?;
        linked.dialect.versions()?.lineage(&linked.plan)
    };
    lineage().is_some()
}
