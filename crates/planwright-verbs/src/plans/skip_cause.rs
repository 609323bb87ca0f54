//! Finds why a task is skipped: a change in the journal, a dependency, or the plan file.

use std::path::Path;

use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Field, State, Status};
use planwright_run::claims::RUN_VERB;
use planwright_run::clock::to_the_second;
use planwright_run::journal::{History, PastChange, StateChange, plan_id};
use planwright_run::store::{self, PlanFile};

use crate::text::{one_line, printable, shown_name};

/// Why the tasks of a plan are skipped.
pub struct SkipCauses {
    history: History,
}

impl SkipCauses {
    /// Reads the journal of a plan, if a task of it is skipped.
    pub fn of(linked: &LinkedPlan, path: &Path) -> Self {
        let plan = &linked.plan;
        let id = plan_id(plan);
        let is_needed = plan.tasks().iter().any(|task| task.status == Status::Skipped);
        let history = is_needed.then(|| store::history(PlanFile { path, id }).ok());
        SkipCauses {
            // An unreadable journal explains nothing; the verbs that change the plan report it.
            history: history.flatten().unwrap_or_default(),
        }
    }

    /// Returns why a task is skipped, in words that follow "skipped"; none if it is not.
    pub fn cause(&self, linked: &LinkedPlan, task_ix: usize) -> Option<String> {
        let task = linked.plan.tasks().get(task_ix)?;
        if task.status != Status::Skipped {
            return None;
        }
        let recorded = self
            .history
            .last_move_to(&linked.plan.task_name(task_ix), State::Skipped);
        Some(match recorded {
            Some((past, moved)) => recorded_words(linked, &self.history, task_ix, past, moved),
            None => written_words(linked, task_ix),
        })
    }
}

/// Returns who skipped a task, when, because of which task, and with which note.
fn recorded_words(
    linked: &LinkedPlan,
    history: &History,
    task_ix: usize,
    past: &PastChange,
    moved: &StateChange,
) -> String {
    let change = &past.change;
    if change.verb == RUN_VERB && linked.plan.tasks().get(task_ix).is_some_and(|task| task.held) {
        let at = to_the_second(&past.time);
        return format!(
            ": the plan file marks it as one to skip; recorded by a run at {at} (change {})",
            past.number
        );
    }
    let is_named = change.tasks.contains(&moved.task);
    let cause = (!is_named)
        .then(|| cause_among(linked, history, task_ix, past))
        .flatten();
    let cause = cause.map_or_else(String::new, |(task, state)| {
        format!(" because `{}` {}; recorded", shown_name(&task), past_tense(state))
    });
    let by = match &change.by {
        Some(by) => format!(" by {}", one_line(by)),
        None if change.verb == RUN_VERB => " by a run".to_owned(),
        None => String::new(),
    };
    let note = moved.note.as_ref().or(change.note.as_ref().filter(|_| is_named));
    let note = note.filter(|note| !note.trim().is_empty());
    let note = note.map_or_else(String::new, |note| format!(": {}", one_line(note)));
    format!(
        "{cause}{by} at {} (change {}, `{}`){note}",
        to_the_second(&past.time),
        past.number,
        printable(&change.verb)
    )
}

/// Returns the task whose failure or skip in the same change skipped a task, nearest dependency first.
fn cause_among(linked: &LinkedPlan, history: &History, task_ix: usize, past: &PastChange) -> Option<(String, State)> {
    let state_in_change = |name: &str| {
        let mut moves = past.change.moves.iter().chain(&past.change.states);
        let moved = moves.find(|moved| moved.task == name && past.change.tasks.contains(&moved.task))?;
        State::from_word(&moved.to).filter(|state| matches!(state, State::Failed | State::Skipped))
    };
    let names = linked
        .links
        .before([task_ix])
        .into_iter()
        .map(|ix| linked.plan.task_name(ix).into_owned());
    let names: Vec<String> = names.collect();
    let of_change = names
        .iter()
        .find_map(|name| Some((name.clone(), state_in_change(name)?)));
    // A run may record the failure and its skips in two changes.
    of_change.or_else(|| {
        let failed = |name: &&String| history.last_move_to(name, State::Failed).is_some();
        names.iter().find(failed).map(|name| (name.clone(), State::Failed))
    })
}

/// Returns why a task is skipped if the journal has no reason.
fn written_words(linked: &LinkedPlan, task_ix: usize) -> String {
    let plan = &linked.plan;
    let Some(task) = plan.tasks().get(task_ix) else {
        return String::new();
    };
    let note = plan.task_str(task, Field::Notes).filter(|note| !note.trim().is_empty());
    let note = note.map_or_else(String::new, |note| format!(": {}", one_line(note)));
    let mut dependencies = linked.links.before([task_ix]).into_iter();
    let state = |ix: &usize| plan.tasks().get(*ix).and_then(|task| task.status.state());
    let is_cause = |ix: &usize| matches!(state(ix), Some(State::Failed | State::Skipped));
    match (task.held, dependencies.find(is_cause)) {
        (true, _) => format!(" by the plan file, which has `skip: true`{note}"),
        (false, Some(ix)) => {
            let how = state(&ix).map_or("", past_tense);
            format!(" in the plan file; `{}` {how}{note}", shown_name(&plan.task_name(ix)))
        }
        (false, None) => format!(" in the plan file, by an edit that planwright did not make{note}"),
    }
}

fn past_tense(state: State) -> &'static str {
    match state {
        State::Failed => "failed",
        _ => "was skipped",
    }
}
