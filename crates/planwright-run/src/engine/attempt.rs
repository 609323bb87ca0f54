//! One attempt at a task: its process, its output, and its progress.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use planwright_core::agent::CombinedVerdict;
use planwright_core::edit::ToolCall;

use super::budget::Reservation;
use super::folder_print::FolderPrint;
pub(super) use crate::agent_output::AgentEndReason;
use crate::agent_output::AgentOutput;
use crate::caller;
use crate::config::Command;
use crate::git::{Snapshot, TaskCheckout};
use crate::runs::{ApprovalRecord, AttemptEndRecord, AttemptPlace, Outcome, Receipt};
use crate::verify::Check;
use crate::worker::{self, Process, ProcessMark};

/// The variable that marks the processes of a plan's runs. Other processes may know the plan too, but not this mark.
const PLAN_MARK: &str = "PLANWRIGHT_MARK";

/// The variable with the process id and start time of the planwright that started a process.
const KEEPER: &str = "PLANWRIGHT_KEEPER";

/// The value of [`KEEPER`] for this process.
static OWN_NAME: LazyLock<String> = LazyLock::new(|| {
    let start_time = worker::own_start_time().unwrap_or_default();
    format!("{} {start_time}", std::process::id())
});

pub(super) struct RunningAttempt {
    /// The index of the task in the plan.
    pub(super) task: u32,
    /// The name of the task when the attempt started: its files are named after it.
    pub(super) name: String,
    pub(super) number: u32,
    pub(super) agent: String,
    /// The agent that it replaces, if any.
    pub(super) instead_of: Option<String>,
    pub(super) resources: AttemptResources,
    pub(super) location: AttemptLocation,
    /// The number of the attempt to resolve conflicts of the task.
    pub(super) resolution: Option<u32>,
    pub(super) work: AttemptWork,
    pub(super) phase: AttemptPhase,
    /// Why the run is ending it; none if it is not.
    pub(super) ending: Option<AgentEndReason>,
    pub(super) moved: Option<planwright_core::plan::State>,
}

/// What an attempt takes from its run until it ends.
pub(super) struct AttemptResources {
    pub(super) slot: u32,
    /// The reserved part of the budget.
    pub(super) reserved: Reservation,
}

/// The files of an attempt, its folder, and the state of that before.
pub(super) struct AttemptLocation {
    /// Its files in the folder of the run.
    pub(super) place: AttemptPlace,
    pub(super) folder: PathBuf,
    pub(super) result: PathBuf,
    pub(super) checkout: Option<TaskCheckout>,
    /// Commands that prepare the checkout before the agent starts.
    pub(super) setup: VecDeque<Command>,
    /// The state of a shared folder before the attempt, by git.
    pub(super) files_before: Option<Snapshot>,
    /// The state of a shared folder before the attempt, without git.
    pub(super) print_before: Option<FolderPrint>,
    /// The files of other tasks that worked in the same folder at the same time.
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
    /// What its agent reported about its own work.
    pub(super) reflection: Option<String>,
    /// The approval, if it waited for a review.
    pub(super) approved: Option<ApprovalRecord>,
}

pub(super) enum AttemptPhase {
    Working(Box<AgentOutput>),
    /// Its checkout is being prepared; the prompt is written after that.
    SettingUp(String),
    /// Its work is being verified in the shared folder.
    Checking(Box<AttemptCheck>),
}

/// What is known of an attempt during verification, after its agent has ended.
pub(super) struct AttemptCheck {
    pub(super) conclusion: CombinedVerdict,
    pub(super) files: Vec<String>,
    pub(super) checks: Vec<Check>,
    pub(super) unverified: Vec<String>,
    pub(super) receipts: Vec<Receipt>,
    pub(super) commit: Option<String>,
}

impl RunningAttempt {
    /// The number of a task that was removed from the plan.
    pub(super) const GONE: u32 = u32::MAX;

    pub(super) fn is_gone(&self) -> bool {
        self.task == RunningAttempt::GONE
    }

    /// Returns the record of its end without a report by an agent.
    pub(super) fn ended(&self, outcome: Outcome, why: &str) -> AttemptEndRecord {
        AttemptEndRecord {
            task: self.name.clone(),
            attempt: self.number,
            outcome,
            why: Some(why.to_owned()),
            ..AttemptEndRecord::default()
        }
    }

    /// Takes the new number of its task. Returns whether to end it, because its task was removed from the plan.
    pub(super) fn renumber(&mut self, new_of: &HashMap<u32, u32>) -> bool {
        self.task = new_of.get(&self.task).copied().unwrap_or(RunningAttempt::GONE);
        if self.is_gone() {
            self.ending.get_or_insert(AgentEndReason::TakenAway);
        }
        self.is_gone()
    }
}

/// Returns the mark of the processes of all runs of a plan, which works even without their logs.
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
    // A task name is untrusted text, and a variable cannot contain a NUL.
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

/// Returns the process id of a live planwright that owns processes of a plan: they are not orphans.
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
