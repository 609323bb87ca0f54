//! A dialect's policy and wording as data: what satisfies a dependency, the order, the slots. Later stages never ask for the dialect.

use super::{Machine, State, Status};

/// The order of tasks among those that are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskOrder {
    /// In the order of the file.
    File,
    /// Lower priority first, then the order of the file.
    Priority,
    /// Earlier stage first, then the order of the file.
    Stage,
}

/// How many tasks may run in parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slots {
    /// This many.
    Fixed(u32),
    /// As many as the current stage has tasks, at most this many.
    StageWidth(u32),
}

/// The effect of a task's failure on its dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// They stay pending until the task is retried.
    DependentsWait,
    /// They become skipped, with a note that names the failed task.
    DependentsSkipped,
    /// The plan goes to replanning.
    Replan,
}

/// A dialect's own sentences for findings that every dialect shares.
#[derive(Debug)]
pub struct Wording {
    /// The dialect's word for a task.
    pub task: &'static str,
    /// A task that depends on itself: headline and help.
    pub self_dependency: fn(task: &str) -> (String, String),
    /// A dependency on a task that does not exist: headline and help.
    pub unknown_dependency: fn(task: &str, dependency: &str) -> (String, String),
    /// A cycle, given as `a -> b -> a`: headline and help.
    pub cycle: fn(path: &str) -> (String, String),
    /// Two tasks with one id: headline and help.
    pub duplicate_id: fn(id: &str) -> (String, String),
    /// A plan without tasks: headline and help.
    pub empty: fn() -> (String, String),
    /// The help after an agent has reported that a stop condition was met.
    pub after_stop: &'static str,
    /// The help after a task has finally failed, if that is not simply to retry; otherwise empty.
    pub after_failure: &'static str,
    /// What a task waits for if stages before it are not finished.
    pub stage: &'static str,
    /// What a task waits for that the file marks to be skipped.
    pub held: &'static str,
}

/// The sentences of dialects without their own.
pub static PLAIN_WORDING: Wording = Wording {
    task: "task",
    self_dependency: |task| {
        (
            format!("task `{task}` depends on itself"),
            "remove the dependency: a task that waits for itself never starts".to_owned(),
        )
    },
    unknown_dependency: |task, dependency| {
        (
            format!("task `{task}` depends on `{dependency}`, which does not exist"),
            format!("remove the dependency, or add a task `{dependency}`"),
        )
    },
    cycle: |path| {
        (
            format!("the tasks depend on each other in a cycle: {path}"),
            "remove one of these dependencies: none of the tasks can ever start".to_owned(),
        )
    },
    duplicate_id: |id| {
        (
            format!("two tasks have the id `{id}`"),
            "give each task an id of its own".to_owned(),
        )
    },
    empty: || {
        (
            "the plan has no tasks".to_owned(),
            "add at least one task, or delete the file".to_owned(),
        )
    },
    after_stop: "check the condition, update the plan if needed, and run it again",
    after_failure: "",
    stage: "an earlier stage",
    held: "the removal of `skip: true` from the file",
};

/// A dialect's policy.
#[derive(Debug)]
pub struct Lifecycle {
    /// Whether a skipped task satisfies its dependents.
    pub skipped_satisfies: bool,
    /// The effect of a failure.
    pub on_failure: OnFailure,
    /// The order among ready tasks.
    pub order: TaskOrder,
    /// How many tasks run in parallel by default.
    pub slots: Slots,
    /// Whether a plan may have no tasks.
    pub may_be_empty: bool,
    /// The dialect's words for pending, running, done, failed and skipped; empty if it has none.
    pub words: [&'static str; 5],
    /// The transitions of its tasks.
    pub machine: Machine,
    /// The dialect's own sentences.
    pub wording: &'static Wording,
}

impl Lifecycle {
    /// Returns whether a dependency with this status lets its dependents start.
    pub fn satisfies(&self, status: Status) -> bool {
        match status {
            Status::Done => true,
            Status::Skipped => self.skipped_satisfies,
            _ => false,
        }
    }

    /// Returns the dialect's own word for a status; planwright's if it has none.
    pub fn word(&self, status: Status) -> &'static str {
        match status.state() {
            Some(state) => self.word_of(state),
            None => status.as_str(),
        }
    }

    /// Returns the dialect's own word for a state; planwright's if it has none.
    pub fn word_of(&self, state: State) -> &'static str {
        let word = match state {
            State::Pending => self.words[0],
            State::Running => self.words[1],
            State::Done => self.words[2],
            State::Failed => self.words[3],
            State::Skipped => self.words[4],
            State::Blocked => "",
        };
        if word.is_empty() { state.as_str() } else { word }
    }
}
