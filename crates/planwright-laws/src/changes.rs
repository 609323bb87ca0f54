//! Law for any verb on any plan: the new text has the intended meaning and no new errors, and other tasks keep their bytes; or it
//! is refused.

use std::collections::BTreeSet;

use planwright_core::change::tasks::{Edit, NewTask, edit};
use planwright_core::change::{ChangedText, Open, Problem, transition, transition_plan};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::Choice;
use planwright_core::edit::{PlanRequest, VerbRequest};
use planwright_core::inspect::Inspection;
use planwright_core::plan::{PlanVerb, State, Verb};
use planwright_core::text::SourceText;

use crate::input::{ByteChoices, NOW, parts, text, with_choice};

/// How many consecutive changes are made.
const MAX_STEPS: usize = 6;

pub(crate) fn hold(bytes: &[u8]) {
    let [plan, words, choices] = parts(bytes);
    let (plan, words) = (SourceText::new(text(plan)), text(words));
    let mut dice = ByteChoices::new(choices);
    with_choice(None, |choice| {
        let mut open = Open::new(&plan, choice);
        for _ in 0..MAX_STEPS {
            let n_tasks = n_tasks(&open.inspection);
            if dice.is_empty() || n_tasks == 0 {
                break;
            }
            open = match dice.below(4) {
                0 => after_transition(open, choice, dice.below(n_tasks), &mut dice, &words),
                1 | 2 => after_edit(open, choice, &mut dice, &words),
                _ => after_plan_transition(open, choice, &mut dice, &words),
            };
        }
    });
}

fn n_tasks(inspection: &Inspection) -> usize {
    inspection.plan.as_ref().map_or(0, |linked| linked.plan.tasks().len())
}

/// Checks a refusal. Any is fine, except that the new text has another meaning, which is a bug in planwright.
fn made<T>(result: Result<T, Problem>) -> Option<T> {
    match result {
        Ok(made) => Some(made),
        Err(problem @ Problem::Mismatch(_)) => panic!("{problem}"),
        Err(problem) => {
            assert!(!problem.to_string().is_empty());
            None
        }
    }
}

fn after_transition(open: Open, choice: &Choice<'_>, task_ix: usize, dice: &mut ByteChoices<'_>, words: &str) -> Open {
    let files = [words.to_owned()];
    let request = VerbRequest {
        note: dice.flip().then_some(words),
        output: dice.flip().then_some(words),
        files: if dice.flip() { &files } else { &[] },
        by: dice.flip().then_some("somebody"),
        force: dice.flip(),
        cascade: dice.flip(),
        keeps_notes: dice.flip(),
        work: None,
        user: None,
        ..VerbRequest::new(Verb::ALL[dice.below(Verb::ALL.len())], NOW)
    };
    let Some(changed) = made(transition(&open, choice, task_ix, &request)) else {
        return open;
    };
    let moved: BTreeSet<usize> = changed.moves.iter().map(|step| step.task_ix).collect();
    let linked = open.inspection.plan.as_ref().expect("it has tasks");
    for (ix, task) in linked.plan.tasks().iter().enumerate() {
        let own = open.inspection.source.slice(task.span);
        let is_kept = moved.contains(&ix) || changed.source.as_str().contains(own);
        assert!(
            is_kept,
            "task {ix} did not move, but its text changed:\n{}",
            changed.source.as_str()
        );
    }
    let written = linked.plan.lifecycle.machine.written;
    let goals: Vec<(usize, State)> = changed.moves.iter().map(|step| (step.task_ix, step.to)).collect();
    let (next, fresh) = taken(open, changed, choice);
    let tasks = fresh.inspection.plan.as_ref().expect("still a plan").plan.tasks();
    // A task may move several times; the last move counts.
    let last: std::collections::BTreeMap<usize, State> = goals.into_iter().collect();
    for (ix, to) in last {
        if written.contains(&to) {
            assert_eq!(
                tasks[ix].status.state(),
                Some(to),
                "task {ix}\n{}",
                fresh.source().as_str()
            );
        }
    }
    drop(next);
    fresh
}

fn after_plan_transition(open: Open, choice: &Choice<'_>, dice: &mut ByteChoices<'_>, words: &str) -> Open {
    let request = PlanRequest {
        note: dice.flip().then_some(words),
        by: dice.flip().then_some("somebody"),
        ..PlanRequest::new(PlanVerb::ALL[dice.below(PlanVerb::ALL.len())], NOW)
    };
    match made(transition_plan(&open, choice, &request)) {
        Some((changed, _)) => taken(open, changed, choice).1,
        None => open,
    }
}

fn after_edit(open: Open, choice: &Choice<'_>, dice: &mut ByteChoices<'_>, words: &str) -> Open {
    let n_before = n_tasks(&open.inspection);
    let task_ix = dice.below(n_before);
    let other = dice.below(n_before);
    let key = *dice.pick(&[
        &"title",
        &"description",
        &"notes",
        &"status",
        &"id",
        &"complexity",
        &"tools",
        &"goal",
        &"files",
        &"priority",
        &"acceptanceCriteria",
        &"agent",
        &"wave",
        &"stop_if",
        &"order",
        &"dependsOn",
        &"depends_on",
        &"task_type",
    ]);
    let fields = [(key, words)];
    let (change, n_after) = match dice.below(7) {
        0 => {
            let task = NewTask {
                id: dice.flip().then_some(words),
                title: words,
                fields: if dice.flip() { &fields } else { &[] },
                on: if dice.flip() { vec![other] } else { Vec::new() },
                at: dice.below(n_before + 1),
                beside: None,
                replaces: None,
                minted: "6b2f6f6e-6f0e-4f57-9d3c-000000000001",
            };
            (Edit::Add(task), n_before + 1)
        }
        1 => (
            Edit::Remove {
                task_ix,
                detach: dice.flip(),
            },
            n_before - 1,
        ),
        2 => (Edit::Move { task_ix, to: other }, n_before),
        3 => (
            Edit::Depend {
                task_ix,
                on: vec![other],
            },
            n_before,
        ),
        4 => (
            Edit::Undepend {
                task_ix,
                on: vec![other],
            },
            n_before,
        ),
        5 => (Edit::Rename { task_ix, to: words }, n_before),
        _ => {
            let value = dice.flip().then_some(words);
            (Edit::Set { task_ix, key, value }, n_before)
        }
    };
    let Some(changed) = made(edit(&open, choice, &change, NOW)) else {
        return open;
    };
    let (_, fresh) = taken(open, changed, choice);
    assert_eq!(
        n_tasks(&fresh.inspection),
        n_after,
        "{change:?}\n{}",
        fresh.source().as_str()
    );
    fresh
}

/// Takes the new text, and returns it parsed again as well: the meaning is the same, and there are no new errors.
fn taken(open: Open, changed: ChangedText, choice: &Choice<'_>) -> (Open, Open) {
    let old = open.source().as_str().to_owned();
    let n_errors = open.inspection.count(Severity::Error);
    let new = changed.source.as_str().to_owned();
    assert!(
        new.len() <= 4 * old.len() + 64 * 1024,
        "{} bytes became {}",
        old.len(),
        new.len()
    );
    let mut next = open;
    next.take(changed);
    assert_eq!(next.source().as_str(), new);
    let fresh = Open::new(&SourceText::new(new.as_str()), choice);
    let states = |open: &Open| {
        let linked = open.inspection.plan.as_ref().expect("still a plan");
        linked
            .plan
            .tasks()
            .iter()
            .map(|task| task.status.state())
            .collect::<Vec<_>>()
    };
    assert_eq!(states(&next), states(&fresh), "{old}\n---- became\n{new}");
    let n_now = fresh.inspection.count(Severity::Error);
    assert!(
        n_now <= n_errors,
        "{n_errors} errors became {n_now}:\n{old}\n---- became\n{new}"
    );
    (next, fresh)
}
