//! One attempt at a task: its process, its output, and its progress.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use planwright_core::agent::Conclusion;
use planwright_core::edit::ToolCall;

use super::budget::Reservation;
use super::folder_print::FolderPrint;
pub(super) use crate::agent_output::AgentEndReason;
use crate::agent_output::AgentOutput;
use crate::caller;
use crate::config::Command;
use crate::git::{Snapshot, TaskCheckout};
use crate::runs::{Approved, AttemptPlace, Finished, Outcome, Receipt};
use crate::verify::Check;
use crate::worker::{self, Process, ProcessMark};

/// The variable that tells the processes of runs from those that only hear of a plan.
const PLAN_MARK: &str = "PLANWRIGHT_MARK";

/// What a process knows of the planwright that started it: its number, and when it was started.
const KEEPER: &str = "PLANWRIGHT_KEEPER";

/// The same of this process.
static OWN_NAME: LazyLock<String> = LazyLock::new(|| {
    let start_time = worker::own_start_time().unwrap_or_default();
    format!("{} {start_time}", std::process::id())
});

pub(super) struct RunningAttempt {
    /// The task, by its place in the plan.
    pub(super) task: u32,
    /// Its name when the attempt began: its files are called by it.
    pub(super) name: String,
    pub(super) number: u32,
    pub(super) agent: String,
    /// The agent that was to do it, where that is another.
    pub(super) instead_of: Option<String>,
    /// What is set aside of the run's budget until it has ended.
    pub(super) reserved: Reservation,
    pub(super) slot: u32,
    pub(super) place: AttemptPlace,
    pub(super) location: AttemptLocation,
    /// Which attempt to resolve conflicts of the task it is.
    pub(super) resolution: Option<u32>,
    pub(super) work: AttemptWork,
    pub(super) stage: AttemptPhase,
    /// Why it is being ended by the run; none while it is not.
    pub(super) ending: Option<AgentEndReason>,
    pub(super) moved: Option<planwright_core::plan::State>,
}

/// Where an attempt works, and what was there before.
pub(super) struct AttemptLocation {
    pub(super) folder: PathBuf,
    pub(super) result: PathBuf,
    pub(super) checkout: Option<TaskCheckout>,
    /// Commands that prepare the checkout before the agent begins.
    pub(super) setup: VecDeque<Command>,
    /// What the folder was like before, where it has none of its own.
    pub(super) files_before: Option<Snapshot>,
    /// The same where there is no git.
    pub(super) print_before: Option<FolderPrint>,
    /// The files of other tasks that have worked in the same folder meanwhile.
    pub(super) of_others: BTreeSet<String>,
}

impl AttemptLocation {
    pub(super) fn checkout_folder(&self) -> Option<&Path> {
        self.checkout.as_ref().map(TaskCheckout::path)
    }
}

#[derive(Default)]
pub(super) struct AttemptWork {
    pub(super) is_unchanged: bool,
    /// The files that verify it and that it changed or removed.
    pub(super) protected: Vec<String>,
    pub(super) tools: Vec<ToolCall>,
    /// What its agent thinks of its work.
    pub(super) reflection: Option<String>,
    /// The approval, where it waited for a review before.
    pub(super) approved: Option<Approved>,
}

pub(super) enum AttemptPhase {
    Working(Box<AgentOutput>),
    /// Its checkout is being prepared; the prompt waits for that.
    SettingUp(String),
    /// What it made is being verified, in the folder that all share.
    Checking(Box<Checking>),
}

/// What is known of an attempt whose agent is through, while it is verified.
pub(super) struct Checking {
    pub(super) conclusion: Conclusion,
    pub(super) files: Vec<String>,
    pub(super) checks: Vec<Check>,
    pub(super) unverified: Vec<String>,
    pub(super) receipts: Vec<Receipt>,
    pub(super) commit: Option<String>,
}

impl RunningAttempt {
    /// The number of a task that is gone from the plan.
    pub(super) const GONE: u32 = u32::MAX;

    pub(super) fn is_gone(&self) -> bool {
        self.task == RunningAttempt::GONE
    }

    /// Returns the record of its end, where no agent reported anything.
    pub(super) fn ended(&self, outcome: Outcome, why: &str) -> Finished {
        Finished {
            task: self.name.clone(),
            attempt: self.number,
            outcome,
            why: Some(why.to_owned()),
            ..Finished::default()
        }
    }

    /// Takes the new number of its task. Returns whether it is to be ended: its task is gone from the plan.
    pub(super) fn renumber(&mut self, new_of: &HashMap<u32, u32>) -> bool {
        self.task = new_of.get(&self.task).copied().unwrap_or(RunningAttempt::GONE);
        if self.is_gone() {
            self.ending.get_or_insert(AgentEndReason::TakenAway);
        }
        self.is_gone()
    }
}

/// Returns what the processes of all runs of a plan are known by, whatever became of their logs.
pub(super) fn mark_of_plan(plan: &Path) -> ProcessMark {
    ProcessMark::new([(PLAN_MARK, plan.as_os_str().to_owned())])
}

pub(super) fn mark_of_run(run: &str, plan: &Path) -> ProcessMark {
    ProcessMark::new([
        (caller::RUN, OsString::from(run)),
        (caller::PLAN, plan.as_os_str().to_owned()),
    ])
}

pub(super) fn mark_of_attempt(run: &str, plan: &Path, task: &str, attempt: u32) -> ProcessMark {
    // A name of a plan is strangers' text: no variable can hold a zero.
    let task = task.replace('\0', "\u{fffd}");
    ProcessMark::new([
        (caller::RUN, OsString::from(run)),
        (caller::PLAN, plan.as_os_str().to_owned()),
        (caller::TASK, task.into()),
        (caller::ATTEMPT, attempt.to_string().into()),
        (PLAN_MARK, plan.as_os_str().to_owned()),
        (KEEPER, OsString::from(OWN_NAME.as_str())),
    ])
}

/// Returns the number of the planwright that owns processes of a plan, where it lives: they are no orphans.
pub(super) fn keeper_of_plan(plan: &Path) -> Option<u32> {
    let keepers = worker::values_of(&mark_of_plan(plan), KEEPER).into_iter();
    let keepers = keepers.filter_map(|keeper| {
        let (pid, start_time) = keeper.split_once(' ')?;
        Some(Process {
            pid: pid.parse().ok()?,
            start_time: start_time.to_owned(),
            command: String::new(),
        })
    });
    let mut others = keepers.filter(|keeper| keeper.pid != std::process::id() && worker::is_alive(keeper));
    others.next().map(|keeper| keeper.pid)
}
