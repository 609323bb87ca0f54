//! One command over all versions of a plan: runs, proposals, and new versions after failures.

use std::time::Instant;

use planwright_core::edit::PlanRequest;
use planwright_core::plan::{PlanVerb, RunLift};
use planwright_run::clock;
use planwright_run::config::Config;
use planwright_run::gate::GatePolicy;
use planwright_run::revise::{self, Target};
use planwright_run::runs::{Replanned, Spent};
use planwright_run::workspace::root_of;

use super::super::answers;
use super::super::change::{Found, failure};
use super::super::exit::Exit;
use super::super::output::Output;
use super::super::proposals::{self, Settling};
use super::super::replan::{After, MAX_VERSIONS, replan_after_failure};
use super::args::{Args, configured, flags_of};
use super::{carry_out, stem_of};
use crate::render::rawko_events::plan_replanned;

/// What a command has come to over all versions of a plan.
#[derive(Default)]
pub(super) struct Course {
    pub(super) n_replans: u32,
    /// Whether programs that follow rawko's events have heard of the plan.
    pub(super) is_told: bool,
    /// What was spent, by agents and by planners.
    pub(super) spent: Spent,
    /// That the plan was replanned for the next run.
    pub(super) replanned: Option<Replanned>,
}

impl Course {
    /// Has a failed plan replanned, and goes on with its new version; returns how the command ends otherwise.
    fn replan(
        &mut self,
        args: &Args,
        found: &mut Found,
        config: &Config,
        output: &mut Output,
    ) -> anyhow::Result<Option<Exit>> {
        let began = Instant::now();
        let (next, effort) = match replan_after_failure(found, config, args.is_for_programs(), output)? {
            After::GoesOn(next, how, effort) => {
                self.replanned = Some(how);
                (next, effort)
            }
            After::Ends(exit) => return Ok(Some(exit)),
            After::Nothing => return Ok(Some(Exit::Problems)),
        };
        found.path = next;
        self.n_replans += 1;
        self.spent.pay(effort.cost_usd, effort.tokens());
        self.spent
            .pass(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        if self.is_told {
            tell_replanned(found, output);
        }
        Ok(None)
    }
}

/// Runs a plan, and its new versions where it is to be replanned.
pub(super) fn carry_on(args: &Args, mut found: Found, output: &mut Output) -> anyhow::Result<Exit> {
    let mut course = Course::default();
    let is_first = args.replan.is_some_and(|most| most > 0) && !args.retry_failed && !args.dry_run;
    if is_first && waits_for_planner(&found) {
        let config = configured(&flags_of(args, args.on_interrupted), &root_of(&found.path)).config;
        if let Some(exit) = course.replan(args, &mut found, &config, output)?
            && exit != Exit::Problems
        {
            return Ok(exit);
        }
    }
    loop {
        let exit = carry_out(args, &found, args.on_interrupted, &mut course, output)?;
        if args.dry_run || !matches!(exit, Exit::Problems | Exit::Success) {
            return Ok(exit);
        }
        let is_held = match heed_proposals(args, &found, output)? {
            Some(Heeded::Taken(next)) => {
                found = next;
                continue;
            }
            Some(Heeded::Held) => true,
            None => false,
        };
        if exit == Exit::Success {
            return Ok(if is_held { Exit::Problems } else { exit });
        }
        let config = configured(&flags_of(args, args.on_interrupted), &root_of(&found.path)).config;
        let most = args.replan.unwrap_or_else(|| usual_replans(&config, &found));
        if course.n_replans >= most {
            if most > 0 {
                give_up(&found, args.by.as_deref(), most, output)?;
            }
            return Ok(exit);
        }
        if let Some(why) = course.spent.over_run(&config.run.budget) {
            output.remark(&format!("{why}: the plan is not replanned"));
            return Ok(exit);
        }
        if let Some(exit) = course.replan(args, &mut found, &config, output)? {
            return Ok(exit);
        }
    }
}

/// What became of what agents have proposed.
enum Heeded {
    /// It is in the plan, which is to be run on.
    Taken(Found),
    /// It waits for somebody's word.
    Held,
}

/// Asks what becomes of what agents have proposed in this run; elsewhere than at a terminal it waits. None where there is nothing.
fn heed_proposals(args: &Args, found: &Found, output: &mut Output) -> anyhow::Result<Option<Heeded>> {
    // What has come of the run does not depend on whether anybody can look.
    let n_held = proposals::open(found).map_or_else(
        |error| {
            output.remark(&format!("warning: {error}"));
            0
        },
        |held| held.len(),
    );
    if n_held == 0 {
        return Ok(None);
    }
    let path = found.path.display();
    if args.may_ask() {
        proposals::show(found, output)?;
        output
            .note("Agents propose tasks for this plan (`planwright proposals`). Take them into it, and go on? [y/N] ");
        if answers::is_yes() {
            let (next, _) = proposals::approve(found, args.by.as_deref(), Settling::default(), output)?;
            return Ok(Some(Heeded::Taken(next)));
        }
    }
    output.remark(&format!(
        "something is proposed for the plan: planwright proposals {path} lists it, planwright approve --proposed {path} takes it"
    ));
    Ok(Some(Heeded::Held))
}

/// Tells programs that follow a run in rawko's events of the new version.
fn tell_replanned(found: &Found, output: &mut Output) {
    let event = found
        .linked()
        .and_then(|linked| plan_replanned(&linked.plan, &linked.links, &stem_of(&found.path)));
    if let Some(event) = event {
        output.line(&event);
        output.flush();
    }
}

/// Returns whether a plan is not run before somebody has replanned it.
fn waits_for_planner(found: &Found) -> bool {
    let refusal = || {
        let linked = found.linked()?;
        linked.dialect.refuses_work(&linked.plan, &[])
    };
    refusal().is_some_and(|refusal| refusal.lift == RunLift::Retry)
}

/// Returns how often a plan is replanned where nobody says.
pub(super) fn usual_replans(config: &Config, found: &Found) -> u32 {
    match config.plan.agent.is_some() && has_versions(found) {
        true => u32::try_from(MAX_VERSIONS).unwrap_or(u32::MAX),
        false => 0,
    }
}

/// Returns whether a plan's versions are counted.
fn has_versions(found: &Found) -> bool {
    let lineage = || {
        let linked = found.linked()?;
        linked.dialect.versions()?.lineage(&linked.plan)
    };
    lineage().is_some()
}

/// Says that a plan has failed that was replanned as often as it may be; where the dialect has a status for that, it gets it.
fn give_up(found: &Found, by: Option<&str>, n_replans: u32, output: &mut Output) -> anyhow::Result<()> {
    let times = if n_replans == 1 {
        "once".to_owned()
    } else {
        format!("{n_replans} times")
    };
    let is_counted = has_versions(found);
    let path = found.path.display();
    output.remark(&match is_counted {
        false => format!("the plan was replanned {times}, and is not replanned again"),
        true => format!(
            "the plan was replanned {times}, and has failed. To try again what failed: planwright undo {path}, then planwright run \
             --retry-failed {path}"
        ),
    });
    let now = clock::now();
    let target = Target {
        path: &found.path,
        forced: found.forced,
        dry: false,
    };
    let request = PlanRequest {
        verb: PlanVerb::Cancel,
        note: Some("it was replanned as often as it may be"),
        by,
        now: &now,
    };
    match is_counted.then(|| revise::transition_plan(target, &request, GatePolicy::default())) {
        Some(Err(error)) => Err(failure(found, &error)),
        _ => Ok(()),
    }
}
