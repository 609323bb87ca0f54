//! The one table of transitions: state and verb to new state, with each dialect's machine as data. Does not know the caller or
//! the time.

use super::{Plan, Status, Task, Text};

/// What a user or an agent does to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Starts work on it.
    Start,
    /// Marks it as finished.
    Done,
    /// Marks it as failed.
    Fail,
    /// Skips it.
    Skip,
    /// Tries it again at once.
    Retry,
    /// Blocks it on something outside the plan.
    Block,
    /// Makes it pending, as if it had never started.
    Reset,
}

impl Verb {
    /// All verbs, in the order of the table.
    pub const ALL: [Verb; 7] = [
        Verb::Start,
        Verb::Done,
        Verb::Fail,
        Verb::Skip,
        Verb::Retry,
        Verb::Block,
        Verb::Reset,
    ];

    /// Returns its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Start => "start",
            Verb::Done => "done",
            Verb::Fail => "fail",
            Verb::Skip => "skip",
            Verb::Retry => "retry",
            Verb::Block => "block",
            Verb::Reset => "reset",
        }
    }
}

/// A status without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Not started.
    Pending,
    /// Being worked on, or interrupted while it was.
    Running,
    /// Finished.
    Done,
    /// Tried without success.
    Failed,
    /// Skipped.
    Skipped,
    /// Waiting for something outside the plan.
    Blocked,
}

impl State {
    /// All states, in the order of the table.
    pub const ALL: [State; 6] = [
        State::Pending,
        State::Running,
        State::Done,
        State::Failed,
        State::Skipped,
        State::Blocked,
    ];

    /// Returns planwright's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Running => "running",
            State::Done => "done",
            State::Failed => "failed",
            State::Skipped => "skipped",
            State::Blocked => "blocked",
        }
    }

    /// Returns the state of a word in a journal.
    pub fn from_word(word: &str) -> Option<Self> {
        State::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

impl Status {
    /// Returns the state; none for a word that the dialect does not know.
    pub fn state(self) -> Option<State> {
        Some(match self {
            Status::Pending => State::Pending,
            Status::Running => State::Running,
            Status::Done => State::Done,
            Status::Failed => State::Failed,
            Status::Skipped => State::Skipped,
            Status::Blocked(_) => State::Blocked,
            Status::Unknown(_) => return None,
        })
    }
}

/// The transitions of a dialect's tasks, as data.
#[derive(Debug)]
pub struct Machine {
    /// The states that its files can hold. The others are only in planwright's journal.
    pub written: &'static [State],
    /// Whether a task may be blocked.
    pub can_block: bool,
    /// Whether a task that was started or has failed may be skipped without a reset.
    pub skips_attempted: bool,
    /// Whether failures are counted, and only the last allowed one ends the task.
    pub counts_retries: bool,
    /// Whether skipping a task skips all its dependents.
    pub skip_cascades: bool,
    /// Whether a failed task that is offered again stays failed in the file: the journal stores the retry until the task starts.
    pub retry_stays_failed: bool,
}

impl Machine {
    /// The machine of most dialects: five states, and only what every dialect allows.
    pub const PLAIN: Machine = Machine {
        written: &[
            State::Pending,
            State::Running,
            State::Done,
            State::Failed,
            State::Skipped,
        ],
        can_block: false,
        skips_attempted: true,
        counts_retries: false,
        skip_cascades: false,
        retry_stays_failed: false,
    };

    /// Returns the state after a verb; none if it is not allowed. `force` reopens finished tasks.
    pub fn outcome(&self, from: State, verb: Verb, force: bool) -> Option<State> {
        match (from, verb) {
            (State::Pending, Verb::Start) => Some(State::Running),
            (State::Failed, Verb::Retry) if self.retry_stays_failed => Some(State::Failed),
            (State::Failed, Verb::Retry) => Some(State::Pending),
            (State::Running, Verb::Done) => Some(State::Done),
            (State::Running, Verb::Fail) => Some(State::Failed),
            (State::Pending | State::Blocked, Verb::Skip) => Some(State::Skipped),
            (State::Running | State::Failed, Verb::Skip) => self.skips_attempted.then_some(State::Skipped),
            (State::Pending | State::Running | State::Failed, Verb::Block) => self.can_block.then_some(State::Blocked),
            (State::Running | State::Failed | State::Skipped | State::Blocked, Verb::Reset) => Some(State::Pending),
            (State::Done, Verb::Reset) => force.then_some(State::Pending),
            _ => None,
        }
    }

    /// Returns the verbs that are allowed from a state without force.
    pub fn allowed(&self, from: State) -> impl Iterator<Item = Verb> {
        Verb::ALL
            .into_iter()
            .filter(move |&verb| self.outcome(from, verb, false).is_some())
    }

    /// Returns whether the dialect's files can hold a state.
    pub fn is_written(&self, state: State) -> bool {
        self.written.contains(&state)
    }
}

/// The state of a task, as far as known without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskFate {
    status: Status,
    held: bool,
}

impl TaskFate {
    /// Returns the fate of a task; none if a word of the text is part of it.
    pub(crate) fn of(task: &Task) -> Option<Self> {
        let has_words = matches!(task.status, Status::Blocked(_) | Status::Unknown(_));
        (!has_words).then_some(TaskFate {
            status: task.status,
            held: task.held,
        })
    }

    /// Returns the fate of a task whose text has no status.
    pub(crate) fn unwritten(task: &Task) -> Self {
        TaskFate {
            status: Status::Pending,
            held: task.held,
        }
    }
}

/// The number of a plan's tasks in each state.
#[derive(Clone, Copy, Debug)]
pub struct StateCounts {
    n_tasks: usize,
    n_in: [usize; State::ALL.len()],
}

impl StateCounts {
    /// Counts the tasks of a plan.
    pub fn of(plan: &Plan) -> Self {
        StateCounts::of_states(plan.tasks().iter().map(|task| task.status.state()))
    }

    /// Counts states; none is an unknown status.
    pub fn of_states(states: impl Iterator<Item = Option<State>>) -> Self {
        let mut tally = StateCounts {
            n_tasks: 0,
            n_in: [0; State::ALL.len()],
        };
        for state in states {
            tally.n_tasks += 1;
            if let Some(state) = state {
                tally.n_in[state as usize] += 1;
            }
        }
        tally
    }

    /// Updates the counts after a task's move between states.
    pub fn take(&mut self, from: State, to: State) {
        let n_from = &mut self.n_in[from as usize];
        *n_from = n_from.saturating_sub(1);
        self.n_in[to as usize] += 1;
    }

    /// Returns whether any task is in a state.
    pub fn has(&self, state: State) -> bool {
        self.n_in[state as usize] > 0
    }

    /// Returns whether there are tasks, and all of them are done or skipped.
    pub fn is_over(&self) -> bool {
        self.n_tasks > 0 && self.n_in[State::Done as usize] + self.n_in[State::Skipped as usize] == self.n_tasks
    }
}

/// Returns the index of the current task: the first running one, otherwise the first failed one, otherwise the first whose dependencies are
/// all done, otherwise the first pending one. The number of tasks if none is left. `on` returns the indexes of a task's dependencies.
pub(crate) fn task_to_look_at<I>(states: &[Option<State>], on: impl Fn(usize) -> I) -> usize
where
    I: Iterator<Item = usize>,
{
    let find = |wanted| states.iter().position(|state| *state == Some(wanted));
    let is_done = |ix: usize| states.get(ix) == Some(&Some(State::Done));
    let is_ready = |(ix, state): (usize, &Option<State>)| *state == Some(State::Pending) && on(ix).all(is_done);
    find(State::Running)
        .or_else(|| find(State::Failed))
        .or_else(|| states.iter().enumerate().position(is_ready))
        .or_else(|| find(State::Pending))
        .unwrap_or(states.len())
}

impl Plan {
    /// Sets the state of a task after a move whose text is not written yet.
    pub(crate) fn take_state(&mut self, task_ix: usize, state: State) {
        if let Some(task) = self.tasks.get_mut(task_ix) {
            task.offered = false;
            task.status = match state {
                State::Pending => Status::Pending,
                State::Running => Status::Running,
                State::Done => Status::Done,
                State::Failed => Status::Failed,
                State::Skipped => Status::Skipped,
                State::Blocked => Status::Blocked(Text::NOWHERE),
            };
        }
    }

    /// Sets the fate of a task from a newer text.
    pub(crate) fn take_fate(&mut self, task_ix: usize, fate: TaskFate) {
        if let Some(task) = self.tasks.get_mut(task_ix) {
            task.status = fate.status;
            task.held = fate.held;
        }
    }

    /// Copies the states that the files cannot hold from an older reading of the same tasks.
    pub(crate) fn take_unwritten(&mut self, older: &Plan) {
        for (task_ix, task) in older.tasks().iter().enumerate() {
            let state = task.status.state().filter(|state| *state != State::Blocked);
            if let Some(state) = state.filter(|&state| !self.lifecycle.machine.is_written(state)) {
                self.take_state(task_ix, state);
            }
        }
    }

    /// Offers failed tasks again: their files keep them as failed until they start.
    pub fn offer_again(&mut self, is_offered: impl Fn(&str) -> bool) {
        for task_ix in 0..self.tasks.len() {
            let is_failed = self.tasks[task_ix].status == Status::Failed;
            self.tasks[task_ix].offered = is_failed && is_offered(&self.task_name(task_ix));
        }
    }

    /// Sets the states that the dialect's files cannot hold from the journal, by the task's name. The file's own status takes precedence.
    pub fn take_states(&mut self, state_of: impl Fn(&str) -> Option<State>) {
        let machine = &self.lifecycle.machine;
        for task_ix in 0..self.tasks.len() {
            if self.tasks[task_ix].status != Status::Pending {
                continue;
            }
            let state = state_of(&self.task_name(task_ix)).filter(|&state| !machine.is_written(state));
            self.tasks[task_ix].status = match state {
                Some(State::Running) => Status::Running,
                Some(State::Done) => Status::Done,
                Some(State::Failed) => Status::Failed,
                Some(State::Skipped) => Status::Skipped,
                // A reason is text of the file, and only dialects with a status have one.
                Some(State::Pending | State::Blocked) | None => continue,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOSE: Machine = Machine {
        written: &State::ALL,
        can_block: true,
        ..Machine::PLAIN
    };

    /// Returns the table: a letter for the result of each verb, a dot for a refusal.
    fn table(machine: &Machine, force: bool) -> String {
        let row = |from: State| {
            let cell = |verb: Verb| match machine.outcome(from, verb, force) {
                Some(to) => &to.as_str()[..1],
                None => ".",
            };
            format!("{:8}{}\n", from.as_str(), Verb::ALL.map(cell).join(" "))
        };
        State::ALL.map(row).concat()
    }

    #[test]
    fn every_cell_of_the_table_is_as_designed() {
        // Columns: start done fail skip retry block reset.
        let expect = "pending r . . s . b .\nrunning . d f s . b p\ndone    . . . . . . .\n\
                      failed  . . . s p b p\nskipped . . . . . . p\nblocked . . . s . . p\n";
        assert_eq!(table(&LOOSE, false), expect);
        assert_eq!(
            table(&LOOSE, true),
            expect.replace("done    . . . . . . .", "done    . . . . . . p")
        );
        let strict = Machine {
            can_block: false,
            skips_attempted: false,
            retry_stays_failed: true,
            ..LOOSE
        };
        let expect = "pending r . . s . . .\nrunning . d f . . . p\ndone    . . . . . . .\n\
                      failed  . . . . f . p\nskipped . . . . . . p\nblocked . . . s . . p\n";
        assert_eq!(table(&strict, false), expect);
    }

    #[test]
    fn a_refusal_can_name_what_is_allowed() {
        let names = |from| LOOSE.allowed(from).map(Verb::as_str).collect::<Vec<_>>();
        assert_eq!(names(State::Running), ["done", "fail", "skip", "block", "reset"]);
        assert!(names(State::Done).is_empty());
    }
}
