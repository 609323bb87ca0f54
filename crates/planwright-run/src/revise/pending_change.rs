//! A change in preparation: the plan so far, and the record for its journal. Reads and writes no file.

use std::collections::BTreeMap;

use planwright_core::change::tasks::{self, Edit};
use planwright_core::change::{ChangedText, Open, Problem};
use planwright_core::dialect::{Choice, DIALECTS, DiskFacts, Note};
use planwright_core::edit::{PlanMove, VerbRequest};
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Plan, State, TaskName};
use planwright_core::text::SourceText;

use super::error::ReviseError;
use super::plan_states::{moved_states, names_in, states_by_name};
use super::{ChangeTarget, RevisedPlan, TaskTransition};
use crate::claims::Claims;
use crate::gate::ClosedGate;
use crate::inspect_file::open;
use crate::journal::{ChangeRecord, History, StateChange};
use crate::workspace::slashed;

/// A change in preparation: the plan so far, and the record.
pub(super) struct PendingChange<'a> {
    pub(super) target: ChangeTarget<'a>,
    pub(super) facts: DiskFacts,
    pub(super) open: Open,
    pub(super) history: &'a History,
    pub(super) states: BTreeMap<String, State>,
    pub(super) steps: Vec<TaskTransition>,
    pub(super) plan_step: Option<PlanMove>,
    pub(super) notes: Vec<Note>,
    /// Its moves are states of the journal that stay the same and must be recorded again.
    pub(super) change: ChangeRecord,
    /// The states before, if they must be compared with those after.
    pub(super) states_before: Option<BTreeMap<String, State>>,
    /// Whether nothing was changed, so that nothing is written.
    pub(super) is_idle: bool,
    /// Whether the caller shows the text after the change, with its spans.
    pub(super) shows_text: bool,
}

impl<'a> PendingChange<'a> {
    pub(super) fn new(
        target: ChangeTarget<'a>,
        verb: &str,
        (open, facts): (Open, DiskFacts),
        history: &'a History,
    ) -> Self {
        let states = history.task_states().into_iter();
        let states = states.filter_map(|(task, known)| Some((task, State::from_word(&known.state.to)?)));
        let mut pending = PendingChange {
            target,
            facts,
            open,
            history,
            states: states.collect(),
            steps: Vec::new(),
            plan_step: None,
            notes: Vec::new(),
            change: ChangeRecord {
                verb: verb.to_owned(),
                ..ChangeRecord::default()
            },
            states_before: None,
            is_idle: false,
            shows_text: false,
        };
        pending.take_states();
        if !history.has_beginning() {
            let linked = pending.open.inspection.plan.as_ref();
            pending.change.found_done =
                Some(linked.map_or_else(Vec::new, |linked| names_in(&linked.plan, State::Done)));
        }
        pending
    }

    /// Returns the text and the record to write.
    pub(super) fn finish(mut self, before: &SourceText) -> DraftedChange {
        let restated = std::mem::take(&mut self.change.moves);
        self.change.moves = self.moves().into_iter().chain(restated).collect();
        let text = self.open.source().clone();
        let points = self
            .open
            .inspection
            .dialect
            .is_some_and(|dialect| dialect.pointer().is_some());
        let open = match points || self.shows_text {
            true => choose(self.target, &self.facts, |choice| self.open.into_whole(choice)),
            false => self.open,
        };
        DraftedChange {
            is_idle: self.is_idle,
            revised: RevisedPlan {
                before: before.clone(),
                notes: self.notes.iter().filter_map(|note| note.words(&text)).collect(),
                text,
                after: open.inspection,
                steps: self.steps,
                plan_step: self.plan_step,
                record: self.change,
                change: None,
                number: Some(self.history.next_number()),
                recorded: 0..0,
                notices: Vec::new(),
                pointer: None,
            },
        }
    }

    /// Refuses a text with a syntax error: its tasks may be misread.
    pub(super) fn refuse_broken(&self) -> Result<(), ReviseError> {
        let path = self.target.path.to_string_lossy();
        match ClosedGate::for_syntax(&self.open.inspection, &path) {
            Some(closed) => Err(ReviseError::Closed(closed)),
            None => Ok(()),
        }
    }

    pub(super) fn linked(&self) -> Result<&LinkedPlan, ReviseError> {
        self.open
            .inspection
            .plan
            .as_ref()
            .ok_or(ReviseError::Problem(Problem::NoPlan))
    }

    /// Remembers the states of the tasks, because the change does more than move tasks.
    pub(super) fn compare_states(&mut self) {
        self.states_before = self.linked().ok().map(|linked| states_by_name(&linked.plan));
    }

    /// Returns the states that the change gives to tasks.
    pub(super) fn moves(&self) -> Vec<StateChange> {
        let Some(before) = &self.states_before else {
            let steps = self.steps.iter().map(|step| StateChange {
                task: step.task.clone(),
                from: Some(step.from.as_str().to_owned()),
                to: step.to.as_str().to_owned(),
                ..StateChange::default()
            });
            return steps.collect();
        };
        let after = self.linked().map(|linked| states_by_name(&linked.plan));
        moved_states(before, after.unwrap_or_default())
    }

    pub(super) fn offer_again(&mut self, claims: &Claims) {
        if let Some(linked) = &mut self.open.inspection.plan {
            linked.plan.offer_again(|name| claims.is_offered(name));
        }
    }

    pub(super) fn take_states(&mut self) {
        if let Some(linked) = &mut self.open.inspection.plan
            && !self.states.is_empty()
        {
            linked.plan.take_states(|name| self.states.get(name).copied());
        }
    }

    pub(super) fn replace(&mut self, source: &SourceText) {
        (self.open, self.facts) = open(source, Some(self.target.path), self.target.forced);
        self.take_states();
    }

    pub(super) fn with_choice<T>(&self, call: impl FnOnce(&Open, &Choice<'_>) -> T) -> T {
        choose(self.target, &self.facts, |choice| call(&self.open, choice))
    }

    /// Applies a change to the plan so far. The states of the journal stay valid.
    pub(super) fn make<T>(
        &mut self,
        change: impl FnOnce(&Open, &Choice<'_>) -> Result<(ChangedText, T), Problem>,
    ) -> Result<T, ReviseError> {
        let changed = self.with_choice(change);
        let (changed, result) = changed.map_err(|problem| located(problem, self.open.source()))?;
        for note in &changed.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        self.open.take(changed);
        self.take_states();
        Ok(result)
    }

    pub(super) fn record_state(
        &mut self,
        task: &str,
        from: Option<State>,
        to: Option<State>,
        words: Option<&VerbRequest<'_>>,
    ) {
        let Some(to) = to else {
            return;
        };
        self.states.insert(task.to_owned(), to);
        self.change.states.push(StateChange {
            task: task.to_owned(),
            from: from.map(|from| from.as_str().to_owned()),
            to: to.as_str().to_owned(),
            note: words.and_then(|words| words.note).map(str::to_owned),
            output: words.and_then(|words| words.output).map(str::to_owned),
        });
    }

    /// Records that the journal's state of a task no longer applies, and returns it: a reused id is another task's.
    pub(super) fn forget_state(&mut self, task: &str) -> Option<State> {
        let state = self.states.get(task).copied();
        if state.is_some() {
            self.record_state(task, state, Some(State::Pending), None);
        }
        state
    }

    pub(super) fn edit(&mut self, edit: &Edit<'_>, now: &str) -> Result<(), ReviseError> {
        let plan = &self.linked()?.plan;
        let names_before = worded_names(plan);
        let old_name = match edit {
            Edit::Rename { task_ix, .. } | Edit::Remove { task_ix, .. } if *task_ix < plan.tasks().len() => {
                Some(plan.task_name(*task_ix).into_owned())
            }
            _ => None,
        };
        self.make(|open, choice| Ok((tasks::edit(open, choice, edit, now)?, ())))?;
        let state = old_name.and_then(|old| self.forget_state(&old));
        if let Edit::Rename { to, .. } = edit
            && state.is_some()
        {
            self.record_state(to, None, state, None);
            self.take_states();
        }
        if !matches!(edit, Edit::Rename { .. }) {
            self.keep_states_of_renamed(&names_before, edit)?;
        }
        if let Edit::Add(new) = edit {
            let plan = &self.linked()?.plan;
            let added = plan
                .task_name(new.at.min(plan.tasks().len().saturating_sub(1)))
                .into_owned();
            self.change.tasks.push(added);
        }
        Ok(())
    }
}

impl PendingChange<'_> {
    /// Gives tasks that are named by their words the states that they had under their old names.
    fn keep_states_of_renamed(&mut self, before: &[String], edit: &Edit<'_>) -> Result<(), ReviseError> {
        let after = worded_names(&self.linked()?.plan);
        let moved = before.iter().enumerate().filter_map(|(ix, old)| {
            let new = after.get(edit.new_index(ix)?)?;
            let state = self.states.get(old).copied().filter(|_| new != old)?;
            Some((old.clone(), new.clone(), state))
        });
        let moved: Vec<(String, String, State)> = moved.collect();
        if let Some((old, new, _)) = moved.iter().find(|(_, _, state)| *state == State::Running) {
            return Err(ReviseError::Problem(Problem::Field {
                message: format!("task `{old}` is running, and would be called `{new}`"),
                help: "tasks without an id are called by their text: finish it or reset it first".to_owned(),
            }));
        }
        for (old, _, _) in &moved {
            self.forget_state(old);
        }
        for (_, new, state) in &moved {
            self.record_state(new, None, Some(*state), None);
        }
        if !moved.is_empty() {
            self.take_states();
        }
        Ok(())
    }
}

/// Returns the names of all tasks, if some are named by their words.
fn worded_names(plan: &Plan) -> Vec<String> {
    let has_words = plan.tasks().iter().any(|task| matches!(task.name, TaskName::Words(_)));
    let names = (0..plan.tasks().len()).filter(|_| has_words);
    names.map(|ix| plan.task_name(ix).into_owned()).collect()
}

/// Calls a function with the choice of the file's dialect.
fn choose<T>(target: ChangeTarget<'_>, facts: &DiskFacts, call: impl FnOnce(&Choice<'_>) -> T) -> T {
    call(&Choice {
        dialects: DIALECTS,
        forced: target.forced,
        path: Some(&slashed(target.path)),
        facts,
    })
}

/// Adds the text to a refusal that has a span in it.
pub(super) fn located(problem: Problem, source: &SourceText) -> ReviseError {
    match problem {
        problem @ (Problem::Unpatchable(_) | Problem::Place { .. }) => ReviseError::ProblemInText {
            problem,
            source: source.clone(),
        },
        problem => ReviseError::Problem(problem),
    }
}

pub(super) struct DraftedChange {
    pub(super) revised: RevisedPlan,
    pub(super) is_idle: bool,
}
