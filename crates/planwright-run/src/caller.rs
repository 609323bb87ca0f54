//! Finds the attempt of a run that called this process, because an attempt must not change its own run.
//!
//! The environment has the mark of the attempt. On systems that show their processes, the environments of the ancestors have it
//! too, and the run adopts processes that lose their parent. Neither an empty environment nor a new session hides a process.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use planwright_core::text::visible;

use crate::files::DiskFiles;
use crate::layout::PlanPlace;
use crate::lock::pid_namespace;
use crate::runs::{LiveRun, holder, holder_of_id, live_runs};

/// The variables that mark the processes of an attempt.
pub(crate) const RUN: &str = "PLANWRIGHT_RUN";
pub(crate) const PLAN: &str = "PLANWRIGHT_PLAN";
/// The variable with the name of the task, for agents and for the commands that verify it.
pub const TASK: &str = "PLANWRIGHT_TASK";
pub(crate) const ATTEMPT: &str = "PLANWRIGHT_ATTEMPT";
pub(crate) const FOLDER: &str = "PLANWRIGHT_FOLDER";

/// How many runs may be nested in each other. A test suite that runs plans needs two.
const MAX_DEPTH: usize = 2;

/// The help for a command that would change its own run.
pub const HELP: &str = "an attempt may read (`show`, `next`, `why`, `check`, `logs`, with -p \"$PLANWRIGHT_PLAN\" for the plan of \
                        the run), write its result file ($PLANWRIGHT_RESULT), and propose tasks there; a person calls this verb from \
                        outside of the run";

/// An attempt that this process belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallingAttempt {
    run: Option<String>,
    task: Option<String>,
    number: Option<String>,
}

impl fmt::Display for CallingAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.number, &self.task) {
            (Some(number), Some(task)) => write!(f, "attempt {} of `{}`", visible(number), visible(task))?,
            _ => f.write_str("an attempt")?,
        }
        match &self.run {
            Some(run) => write!(f, " in run {}", visible(run)),
            None => Ok(()),
        }
    }
}

/// The mark of an attempt in an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AttemptMark {
    attempt: CallingAttempt,
    plan: PathBuf,
    folder: Option<PathBuf>,
}

impl AttemptMark {
    fn in_environment(value: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let number = value(ATTEMPT)?;
        // The user's command for the end of a run belongs to no attempt.
        if number == "0" {
            return None;
        }
        let text = |value: OsString| value.to_string_lossy().into_owned();
        Some(AttemptMark {
            attempt: CallingAttempt {
                run: value(RUN).map(text),
                task: value(TASK).map(text),
                number: Some(text(number)),
            },
            plan: PathBuf::from(value(PLAN)?),
            folder: value(FOLDER).map(PathBuf::from),
        })
    }

    /// Returns whether the attempt works on a plan: the file itself, or its copy in the attempt's folder.
    fn concerns(&self, plan: &PlanPlace) -> bool {
        if self.plan == plan.target {
            return true;
        }
        let is_below = |folder: &PathBuf| plan.target.starts_with(folder);
        let is_copy = || PlanPlace::of(&DiskFiles, &self.plan).is_ok_and(|own| own.relative == plan.relative);
        self.folder.as_ref().is_some_and(is_below) && is_copy()
    }
}

/// What is known of this process and its ancestors.
#[derive(Debug, Default)]
struct ProcessLineage {
    marks: Vec<AttemptMark>,
    ancestors: Vec<u32>,
}

/// Returns the lineage of this process, read once: a process that loses its parent keeps it.
fn lineage() -> &'static ProcessLineage {
    static LINEAGE: OnceLock<ProcessLineage> = OnceLock::new();
    LINEAGE.get_or_init(|| {
        let own = own_mark();
        let mut lineage = ancestors();
        lineage.marks.splice(0..0, own);
        lineage.marks.dedup();
        lineage
    })
}

#[cfg(unix)]
fn ancestors() -> ProcessLineage {
    use std::os::unix::ffi::OsStrExt as _;

    use crate::process_table::{ancestors, environment_of, value_in};

    let ancestors = ancestors();
    let marks = ancestors.iter().filter_map(|entry| {
        let environment = environment_of(entry);
        AttemptMark::in_environment(|name| {
            let value = value_in(&environment, name.as_bytes())?;
            Some(OsStr::from_bytes(value).to_owned())
        })
    });
    ProcessLineage {
        marks: marks.collect(),
        ancestors: ancestors
            .iter()
            .map(|entry| entry.identity.pid.unsigned_abs())
            .collect(),
    }
}

/// Returns no ancestors: this system has no process table, so only the environment counts.
#[cfg(not(unix))]
fn ancestors() -> ProcessLineage {
    ProcessLineage::default()
}

/// Returns the attempt of a run of this plan that called this process.
pub fn attempt_on(plan: &PlanPlace, id: Option<&str>) -> Option<CallingAttempt> {
    let ProcessLineage { marks, ancestors } = lineage();
    if let Some(mark) = marks.iter().find(|mark| mark.concerns(plan)) {
        return Some(mark.attempt.clone());
    }
    let is_ancestor = |live: &LiveRun| {
        // In another PID namespace, this process cannot be distinguished from an attempt of the run.
        let is_elsewhere = live.namespace.is_some() && live.namespace != pid_namespace();
        is_elsewhere || ancestors.contains(&live.pid)
    };
    let by_path = || holder(&DiskFiles, plan).filter(is_ancestor);
    let by_id = || holder_of_id(&DiskFiles, plan, id?).filter(is_ancestor);
    let live = by_path().or_else(by_id)?;
    Some(CallingAttempt {
        run: live.id,
        ..CallingAttempt::default()
    })
}

/// Returns the attempt of a run in a workspace that called this process, whatever its plan is.
pub fn attempt_in(root: &Path) -> Option<CallingAttempt> {
    let ProcessLineage { marks, ancestors } = lineage();
    let root = &root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let is_here = |mark: &&AttemptMark| {
        let folder = mark.folder.as_ref();
        mark.plan.starts_with(root) || folder.is_some_and(|folder| root.starts_with(folder))
    };
    if let Some(mark) = marks.iter().find(is_here) {
        return Some(mark.attempt.clone());
    }
    let mut live = live_runs(&DiskFiles, root).into_iter();
    let own = live.find(|live| ancestors.contains(&live.pid))?;
    Some(CallingAttempt {
        run: own.id,
        ..CallingAttempt::default()
    })
}

/// An attempt, and the plan of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptPlan {
    pub attempt: CallingAttempt,
    pub plan: PathBuf,
}

/// Returns the run's plan if `path` is its copy in the checkout of the attempt that called this process. The run does not update that copy.
/// Only the environment of this process is read: this is for messages.
pub fn original_of(path: &Path) -> Option<AttemptPlan> {
    let mark = own_mark()?;
    let plan = PlanPlace::of(&DiskFiles, path).ok()?;
    (mark.plan != plan.target && mark.concerns(&plan)).then(|| mark.into())
}

/// Returns the run's plan if a folder is in the checkout of the attempt that called this process. Reads only the environment of this
/// process.
pub fn plan_of_checkout(folder: &Path) -> Option<AttemptPlan> {
    let folder = folder.canonicalize().ok()?;
    let is_checkout = |own: &PathBuf| folder.starts_with(own);
    let mark = own_mark().filter(|mark| mark.folder.as_ref().is_some_and(is_checkout))?;
    let is_shared = mark.folder.as_ref().is_some_and(|own| mark.plan.starts_with(own));
    (!is_shared).then(|| mark.into())
}

fn own_mark() -> Option<AttemptMark> {
    AttemptMark::in_environment(|name| std::env::var_os(name))
}

impl From<AttemptMark> for AttemptPlan {
    fn from(mark: AttemptMark) -> Self {
        AttemptPlan {
            attempt: mark.attempt,
            plan: mark.plan,
        }
    }
}

/// Returns whether runs are nested deeper than any useful case needs.
pub(crate) fn is_nested_too_deep() -> bool {
    let mut plans: Vec<&Path> = lineage().marks.iter().map(|mark| mark.plan.as_path()).collect();
    plans.dedup();
    plans.len() > MAX_DEPTH
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark_of(variables: &[(&str, &str)]) -> Option<AttemptMark> {
        AttemptMark::in_environment(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn an_attempt_is_recognised_by_its_variables() {
        let mark = mark_of(&[(RUN, "r1"), (PLAN, "/w/plan.json"), (TASK, "t\u{1b}"), (ATTEMPT, "2")]);
        let mark = mark.expect("an attempt");
        assert_eq!(mark.attempt.to_string(), "attempt 2 of `t\\u{1b}` in run r1");
        assert_eq!(CallingAttempt::default().to_string(), "an attempt");
    }

    #[test]
    fn the_notify_command_is_not_an_attempt() {
        assert_eq!(mark_of(&[(RUN, "r1"), (PLAN, "/w/plan.json"), (ATTEMPT, "0")]), None);
        assert_eq!(mark_of(&[(RUN, "r1"), (PLAN, "/w/plan.json")]), None);
    }
}
