//! The plan operations of SPEC-0010 in our terms, one table for each: starting, completing and failing a step, the next step, progress and
//! completion. If the specification's own functions have a defect, the row has the intended result.

use planwright_core::arbiter::current_task;
use planwright_core::change::{Open, Problem, transition};
use planwright_core::dialect::{Choice, DiskFacts};
use planwright_core::edit::VerbRequest;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Field, FieldValue, Plan, Readiness, StateCounts, Verb};
use planwright_core::text::SourceText;

use crate::fixtures::inspect_text;

const BEFORE: &str = "2026-11-16T08:00:00Z";
const NOW: &str = "2026-11-16T09:30:00.000Z";

/// Returns a plan of steps that are written as `status` or `status<0,1`, with dependencies.
fn written(status: &str, current: usize, steps: &str) -> String {
    let mut text = format!(
        "id: plan-20261116-x\ntask: x\nstatus: {status}\nversion: 1\ncurrentStepIndex: {current}\n\
         createdAt: \"{BEFORE}\"\nupdatedAt: \"{BEFORE}\"\ncreatedBy: planner\nsteps:\n"
    );
    for (ix, step) in steps.split(' ').enumerate() {
        let (status, depends) = step.split_once('<').unwrap_or((step, ""));
        text +=
            &format!("  - index: {ix}\n    description: step {ix}\n    status: {status}\n    suggestedAgent: dev\n");
        if !depends.is_empty() {
            text += &format!("    dependsOn: [{depends}]\n");
        }
    }
    text
}

fn look(text: &str) -> LinkedPlan {
    inspect_text(text).plan.expect("a plan")
}

fn attempted(text: &str, step: usize, request: &VerbRequest<'_>) -> Result<String, Problem> {
    let facts = DiskFacts::default();
    let choice = Choice::by_content(&facts);
    let open = Open::new(&SourceText::new(text), &choice);
    transition(&open, &choice, step, request).map(|changed| changed.source.as_str().to_owned())
}

#[track_caller]
fn done(text: &str, step: usize, request: &VerbRequest<'_>) -> LinkedPlan {
    match attempted(text, step, request) {
        Ok(text) => look(&text),
        Err(problem) => panic!("{problem}\n{text}"),
    }
}

/// Returns `status current: statuses of the steps`.
fn standing(plan: &Plan) -> String {
    let current = plan
        .head_value(Field::CurrentTask)
        .and_then(|value| plan.as_number(value));
    let steps = plan.tasks().iter().map(|step| plan.lifecycle.word(step.status));
    format!(
        "{} {}: {}",
        plan.head_str(Field::Status).expect("a status"),
        current.expect("a number"),
        steps.collect::<Vec<_>>().join(" ")
    )
}

fn field(plan: &Plan, step: usize, field: Field) -> Option<&str> {
    plan.task_str(&plan.tasks()[step], field)
}

#[test]
fn starting_a_step() {
    for (status, current, steps, step, expected) in [
        ("draft", 0, "pending pending", 0, "in_progress 0: in_progress pending"),
        ("draft", 0, "pending pending", 1, "in_progress 1: pending in_progress"),
        (
            "in_progress",
            1,
            "complete pending<0",
            1,
            "in_progress 1: complete in_progress",
        ),
        // Two may run in parallel; the lowest is the current one.
        (
            "in_progress",
            0,
            "in_progress pending",
            1,
            "in_progress 0: in_progress in_progress",
        ),
    ] {
        let text = written(status, current, steps);
        let linked = done(&text, step, &VerbRequest::new(Verb::Start, NOW));
        let plan = &linked.plan;
        assert_eq!(standing(plan), expected, "{steps}");
        assert_eq!(plan.head_str(Field::UpdatedAt), Some(NOW));
        for ix in 0..plan.tasks().len() {
            let started = field(plan, ix, Field::StartedAt);
            assert_eq!(started, (ix == step).then_some(NOW), "{steps}: {ix}");
        }
        assert_eq!(field(plan, step, Field::ExecutedBy), Some("dev"));
    }
}

#[test]
fn a_step_that_cannot_start_is_refused() {
    // The specification's function starts any step.
    for (status, steps, step) in [
        ("in_progress", "pending pending<0", 1),
        ("in_progress", "skipped pending<0", 1),
        ("in_progress", "in_progress", 0),
        ("complete", "complete", 0),
        ("replanning", "failed", 0),
    ] {
        let text = written(status, 0, steps);
        assert!(
            attempted(&text, step, &VerbRequest::new(Verb::Start, NOW)).is_err(),
            "{status}: {steps}"
        );
    }
}

#[test]
fn completing_a_step() {
    for (current, steps, step, expected) in [
        ("0", "in_progress", 0, "complete 1: complete"),
        ("0", "in_progress pending", 0, "in_progress 1: complete pending"),
        // The specification's function reads the old plan, finds nothing ready in a chain, and calls the plan complete.
        ("0", "in_progress pending<0", 0, "in_progress 1: complete pending"),
        (
            "0",
            "in_progress pending<0 pending<1",
            0,
            "in_progress 1: complete pending pending",
        ),
        // It never searches before the completed step.
        ("1", "pending in_progress", 1, "in_progress 0: pending complete"),
        (
            "2",
            "pending<2 complete in_progress",
            2,
            "in_progress 0: pending complete complete",
        ),
        // A step that is not ready yet is skipped; it is the current one if nothing is ready.
        (
            "0",
            "in_progress pending<2 pending",
            0,
            "in_progress 2: complete pending pending",
        ),
        (
            "1",
            "skipped in_progress pending<0",
            1,
            "in_progress 2: skipped complete pending",
        ),
        // Another one still runs.
        ("0", "in_progress in_progress", 0, "in_progress 1: complete in_progress"),
        // Skipped steps have ended too.
        ("1", "skipped in_progress", 1, "complete 2: skipped complete"),
        // A failed one has not: the plan waits to be replanned.
        ("0", "in_progress failed", 0, "in_progress 1: complete failed"),
    ] {
        let text = written("in_progress", current.parse().expect("a number"), steps);
        let files = ["src/a.rs".to_owned(), "src/b.rs".to_owned()];
        let request = VerbRequest {
            output: Some("made it"),
            files: &files,
            ..VerbRequest::new(Verb::Done, NOW)
        };
        let linked = done(&text, step, &request);
        let plan = &linked.plan;
        assert_eq!(standing(plan), expected, "{steps}");
        assert_eq!(plan.head_str(Field::UpdatedAt), Some(NOW));
        assert_eq!(field(plan, step, Field::CompletedAt), Some(NOW));
        assert_eq!(field(plan, step, Field::Output), Some("made it"));
        assert_eq!(
            plan.task_list(&plan.tasks()[step], Field::Files),
            ["src/a.rs", "src/b.rs"]
        );
    }
}

#[test]
fn completing_without_touched_files_writes_none() {
    let linked = done(
        &written("in_progress", 0, "in_progress"),
        0,
        &VerbRequest::new(Verb::Done, NOW),
    );
    let step = &linked.plan.tasks()[0];
    assert!(!matches!(
        linked.plan.value(step, Field::Files),
        Some(FieldValue::List(_))
    ));
}

#[test]
fn failing_a_step() {
    for (current, steps, step, expected) in [
        (0, "in_progress pending<0", 0, "replanning 0: failed pending"),
        (0, "in_progress pending", 0, "replanning 0: failed pending"),
        (1, "complete in_progress", 1, "replanning 1: complete failed"),
        (0, "in_progress in_progress", 1, "replanning 0: in_progress failed"),
    ] {
        let text = written("in_progress", current, steps);
        let request = VerbRequest {
            note: Some("exit status 1"),
            ..VerbRequest::new(Verb::Fail, NOW)
        };
        let linked = done(&text, step, &request);
        let plan = &linked.plan;
        assert_eq!(standing(plan), expected, "{steps}");
        assert_eq!(plan.head_str(Field::UpdatedAt), Some(NOW));
        assert_eq!(field(plan, step, Field::Error), Some("exit status 1"));
        // The specification has no time for it; its implementation has.
        assert_eq!(field(plan, step, Field::CompletedAt), Some(NOW));
    }
}

#[test]
fn skipping_a_step_skips_its_dependents() {
    for (steps, step, expected) in [
        ("pending pending", 0, "in_progress 1: skipped pending"),
        ("pending pending<0", 0, "complete 2: skipped skipped"),
        ("complete pending", 1, "complete 2: complete skipped"),
    ] {
        let linked = done(
            &written("in_progress", 0, steps),
            step,
            &VerbRequest::new(Verb::Skip, NOW),
        );
        assert_eq!(standing(&linked.plan), expected, "{steps}");
    }
}

#[test]
fn the_next_pending_step() {
    for (steps, expected) in [
        ("pending pending", Some(0)),
        ("complete pending", Some(1)),
        ("complete pending<0", Some(1)),
        ("complete pending<2 pending", Some(2)),
        ("pending<1 complete", Some(0)),
        ("pending<1 pending<0", None),
        ("skipped pending<0", None),
        ("failed pending<0", None),
        ("in_progress pending<0", None),
        // A step that does not exist is never complete; the specification's function throws.
        ("pending<7 pending", Some(1)),
        ("pending<7", None),
        ("complete complete", None),
        ("complete skipped failed", None),
    ] {
        let linked = look(&written("in_progress", 0, steps));
        let ready = Readiness::new(&linked.plan, &linked.links).ready();
        assert_eq!(ready.first().copied(), expected, "{steps}");
    }
}

#[test]
fn progress_counts_complete_steps_and_completion_skipped_ones_too() {
    for (steps, n_done, is_over) in [
        ("pending", 0, false),
        ("complete", 1, true),
        ("complete pending", 1, false),
        ("complete skipped", 1, true),
        ("skipped skipped", 0, true),
        ("complete failed", 1, false),
        ("complete in_progress", 1, false),
        ("complete complete skipped pending", 2, false),
    ] {
        let linked = look(&written("in_progress", 0, steps));
        let progress = Readiness::new(&linked.plan, &linked.links).progress();
        assert_eq!(
            (progress.done, progress.total),
            (n_done, steps.split(' ').count()),
            "{steps}"
        );
        let states = linked.plan.tasks().iter().map(|step| step.status.state());
        assert_eq!(StateCounts::of_states(states).is_over(), is_over, "{steps}");
        let is_left = current_task(&linked.plan, &linked.links).is_some();
        assert_eq!(is_left, !is_over, "{steps}");
    }
}
