//! Tasks that a person or a tool holds and a run leaves alone, with the command that gives them to the run.

use planwright_core::plan::State;
use planwright_core::text::visible;

use super::PlanSnapshot;
use super::recovery::{Recovered, UnownedTask};
use crate::claims::{Claim, ClaimHolder, Claims};
use crate::clock::{self, to_the_second};
use crate::shell::task_command;
use crate::store::history;
use crate::user::owner_here;

#[derive(Clone, Debug)]
pub struct HeldTask {
    pub task: u32,
    pub name: String,
    pub release: String,
    claim: Option<Claim>,
}

impl HeldTask {
    pub(super) fn of(snapshot: &PlanSnapshot, task: u32) -> Self {
        Self::with(snapshot, task, &claims_of(snapshot))
    }

    /// Returns the tasks of a plan that are running and that no run started.
    pub(super) fn all(snapshot: &PlanSnapshot, recovered: &Recovered) -> Vec<Self> {
        let running = snapshot.tasks().filter(|&task| snapshot.state(task) == State::Running);
        let running: Vec<u32> = running.collect();
        if running.is_empty() {
            return Vec::new();
        }
        let claims = claims_of(snapshot);
        let is_held = |task: &u32| UnownedTask::of(snapshot, recovered, &claims, *task) == UnownedTask::StartedByHand;
        let held = running.into_iter().filter(is_held);
        held.map(|task| Self::with(snapshot, task, &claims)).collect()
    }

    pub(super) fn with(snapshot: &PlanSnapshot, task: u32, claims: &Claims) -> Self {
        let name = snapshot.name(task);
        let claim = claims.on(name).cloned();
        let plan = snapshot.path().to_string_lossy();
        let take_over = match claim.as_ref().is_some_and(is_of_another) {
            true => "--take-over --note \"…\"",
            false => "",
        };
        HeldTask {
            task,
            release: task_command("reset", name, &plan, take_over),
            name: name.to_owned(),
            claim,
        }
    }

    pub fn words(&self) -> String {
        let name = visible(&self.name);
        let Some((claim, owner)) = self.claim.as_ref().and_then(|claim| Some((claim, claim.owner()?))) else {
            return format!("`{name}` was started by hand");
        };
        let until = claim.until().map(to_the_second);
        let until = until.map_or_else(String::new, |until| format!(" until {until}"));
        format!(
            "`{name}` is held by {} since {}{until} (claim {})",
            visible(owner),
            to_the_second(&claim.since),
            claim.number
        )
    }
}

/// Returns the claims on the tasks of a plan. A journal that cannot be read gives none.
pub(super) fn claims_of(snapshot: &PlanSnapshot) -> Claims {
    Claims::of(&history(snapshot.file()).unwrap_or_default())
}

/// Returns whether a claim would refuse `reset` by this user.
fn is_of_another(claim: &Claim) -> bool {
    match &claim.holder {
        ClaimHolder::Owner(claimed) => {
            !claim.is_expired(&clock::now()) && (claimed.is_named || claimed.by != owner_here())
        }
        ClaimHolder::Run => true,
    }
}
