//! Reads rawko's files as plans.

use super::super::reader::{ObjectFields, PLAIN_VOICE, PlanReader, excerpt};
use super::super::rules::{INDEX_BASE, INVALID_REFERENCE, PLAN_STATUS, QUOTED_VALUE};
use super::super::{DialectInput, PlanReading};
use super::fields::{
    CURRENT, DEPENDS_ON, META, METADATA, PLAN, PLAN_ID, PLAN_STATUS_IX, PREVIOUS, STATUS, STEP, STEPS, VERSION,
};
use super::rules::{CURRENT_STEP, STEP_INDEX, VERSION_CHAIN};
use super::statuses::LIFECYCLE;
use super::{PROFILE, current_task};
use crate::diagnostic::{Diagnostic, Replacement};
use crate::document::{NodeKind, NodeRef};
use crate::plan::{Dependency, DependencyTarget, PlanBuilder, Status, TaskName};
use crate::text::Span;

pub(super) fn read(input: &DialectInput<'_>) -> PlanReading {
    let builder = PlanBuilder::new(input.source, PROFILE.name, "plan", &LIFECYCLE);
    let mut reader = PlanReader::new(builder, &PLAIN_VOICE);
    if let Some(root) = input.root.filter(|_| current_task::is_current_task(input)) {
        return current_task::read(reader, root, input);
    }
    if let Some(root) = input.root {
        read_root(&mut reader, root);
    }
    reader.finish()
}

fn read_root<'d>(reader: &mut PlanReader<'d>, root: NodeRef<'d>) {
    let found = reader.head(root, &PLAN, &|| "the plan".to_owned());
    if let Some(metadata) = found.get_kind(METADATA, NodeKind::Object) {
        let inner = reader.sort(metadata, &META);
        reader.record_head(&inner, &META, &|| "`metadata`".to_owned());
    }
    if let Some(steps) = found.get_kind(STEPS, NodeKind::Array) {
        for (position, step) in reader.tasks(Some(steps), 14) {
            read_step(reader, step, position);
        }
        check_own_indices(reader, steps);
        resolve_indices(reader, steps);
    }
    // These would search for values in a part that was not read.
    if !reader.builder.plan().is_doubtful {
        check_version(reader, &found);
        check_current(reader, &found);
        check_status(reader, &found);
    }
}

fn read_step<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>, position: usize) {
    if node.resolved().kind() != NodeKind::Object {
        reader.not_an_object(node, &format!("step {position}"));
        let step_ix = reader.placeholder(node);
        reader.builder.task_mut(step_ix).name = TaskName::Number(position as u32);
        return;
    }
    let mut found = reader.sort(node, &STEP);
    let owner = || format!("step {position}");
    reader.report_misnamed(&mut found, &STEP, &owner);
    let entries = reader.record(&found, &STEP, &owner);
    let dependencies = reader.dependencies(found.get(DEPENDS_ON), |reader, item| {
        read_dependency(reader, item.resolved(), item.span(), &owner)
    });
    let step_ix = reader.task(node, entries, dependencies);
    reader.builder.task_mut(step_ix).name = TaskName::Number(position as u32);
    if let Some(status) = found.get(STATUS) {
        let value = reader.status(status, &LIFECYCLE.words, &owner, None);
        reader.set_status(step_ix, status, value);
    }
}

fn read_dependency<'d>(
    reader: &mut PlanReader<'d>,
    node: NodeRef<'d>,
    written: Span,
    owner: &dyn Fn() -> String,
) -> DependencyTarget {
    match node.kind() {
        NodeKind::Number if node.as_integer().is_some_and(|number| number >= 0) => {
            let position = node.as_integer().and_then(|number| u32::try_from(number).ok());
            position.map_or(DependencyTarget::NoSuchNumber, DependencyTarget::Position)
        }
        NodeKind::String if node.value().parse::<u32>().is_ok() => {
            let bare = node.value().trim().to_owned();
            let fix = vec![Replacement::new(node.span(), bare.clone())];
            let message = format!("the step index {bare} stands in quotes");
            reader.report(
                Diagnostic::new(&QUOTED_VALUE, node.span(), message)
                    .with_help("write it without quotes")
                    .with_safe_fix(format!("write {bare} without quotes"), fix),
            );
            bare.parse()
                .map_or(DependencyTarget::NoSuchNumber, DependencyTarget::Position)
        }
        NodeKind::Invalid => DependencyTarget::Unreadable,
        _ => {
            let shown = excerpt(node.slice());
            let message = format!("a dependency of {} is `{shown}`, not a step index", owner());
            let help = "name steps by their index, counted from 0";
            reader.report_with_help(&INVALID_REFERENCE, written, message, help);
            DependencyTarget::Unreadable
        }
    }
}

/// Marks indexes out of range, and reports it if all of them seem to count from 1.
fn resolve_indices<'d>(reader: &mut PlanReader<'d>, steps: NodeRef<'d>) {
    let plan = reader.builder.plan();
    let n_steps = plan.tasks().len() as u32;
    let mut numbers: Vec<(u32, u32, Span)> = Vec::new();
    for (step_ix, step) in plan.tasks().iter().enumerate() {
        for dependency in plan.dependencies(step) {
            if let DependencyTarget::Position(number) = dependency.target {
                numbers.push((step_ix as u32, number, dependency.span));
            }
        }
    }
    let own: Vec<(u32, Span)> = steps.elements().filter_map(own_index).collect();
    let all_shifted = !numbers.is_empty()
        && own.len() == n_steps as usize
        && own
            .iter()
            .enumerate()
            .all(|(position, &(index, _))| index as usize == position + 1);
    // Counted from 1, every dependency would be an earlier step; counted from 0, some are invalid.
    let fits_from_one = numbers
        .iter()
        .all(|&(step, number, _)| number >= 1 && number - 1 < step);
    let senseless = numbers
        .iter()
        .find(|&&(step, number, _)| number == n_steps || number == step);
    let shifted = own.iter().filter(|_| all_shifted).map(|&(index, span)| (index, span));
    let mut edits: Vec<Replacement> = shifted
        .chain(numbers.iter().map(|&(_, number, span)| (number, span)))
        .filter(|&(number, _)| number > 0)
        .map(|(number, span)| Replacement::new(span, (number - 1).to_string()))
        .collect();
    edits.sort_by_key(|edit| edit.span);
    edits.dedup_by_key(|edit| edit.span);
    if all_shifted {
        let message = "the steps are counted from 1: rawko counts from 0";
        reader.report(
            Diagnostic::new(&INDEX_BASE, own[0].1, message)
                .with_help("take one from every index and from every dependency")
                .with_unsafe_fix("take one from every index and dependency", edits),
        );
        reader.builder.retarget(|dependency| match dependency.target {
            DependencyTarget::Position(number @ 1..) if number <= n_steps => DependencyTarget::Position(number - 1),
            DependencyTarget::Position(_) => DependencyTarget::NoSuchNumber,
            target => target,
        });
    } else if let Some(&(_, number, span)) = senseless.filter(|_| fits_from_one) {
        let message = if number == n_steps {
            format!("there is no step {number}: steps are counted from 0")
        } else {
            format!("step {number} would wait for itself: steps are counted from 0")
        };
        reader.report(
            Diagnostic::new(&INDEX_BASE, span, message)
                .with_help("if all dependencies here count from 1, take one from each")
                .with_unsafe_fix("take one from every dependency", edits),
        );
        // None of them has a known meaning, so none may let a step start.
        reader.builder.retarget(|dependency| match dependency.target {
            DependencyTarget::Position(_) => DependencyTarget::Unreadable,
            target => target,
        });
    }
    reader.builder.retarget(|dependency| match dependency.target {
        DependencyTarget::Position(position) if position >= n_steps => DependencyTarget::NoSuchNumber,
        target => target,
    });
}

/// Returns the index in a step's own field, with its span.
fn own_index(step: NodeRef<'_>) -> Option<(u32, Span)> {
    let index = step.get("index")?;
    Some((u32::try_from(index.as_integer()?).ok()?, index.resolved().span()))
}

/// Reports indexes that differ from the positions of their steps, unless all are shifted alike and dependencies seem to be as well.
fn check_own_indices<'d>(reader: &mut PlanReader<'d>, steps: NodeRef<'d>) {
    let own: Vec<Option<(u32, Span)>> = steps.elements().map(own_index).collect();
    let is_shifted = |(position, index): (usize, &Option<(u32, Span)>)| {
        index.is_some_and(|(index, _)| index as usize == position + 1)
    };
    let plan = reader.builder.plan();
    let is_counted = |dependency: &Dependency| matches!(dependency.target, DependencyTarget::Position(_));
    let mut steps = plan.tasks().iter();
    let has_counted = steps.any(|step| plan.dependencies(step).iter().any(is_counted));
    if has_counted && own.iter().enumerate().all(is_shifted) {
        return;
    }
    for (position, index) in own.iter().enumerate() {
        let Some((index, span)) = index.filter(|&(index, _)| index as usize != position) else {
            continue;
        };
        let fix = vec![Replacement::new(span, position.to_string())];
        let message = format!("the step at place {position} has the index {index}");
        reader.report(
            Diagnostic::new(&STEP_INDEX, span, message)
                .with_help(format!("write {position}, and check the dependencies on both steps"))
                .with_unsafe_fix(format!("write {position}"), fix),
        );
    }
}

fn check_version<'d>(reader: &mut PlanReader<'d>, found: &ObjectFields<'d>) {
    let Some(version) = found.get(VERSION) else {
        return;
    };
    let previous = found.get(PREVIOUS);
    match (version.as_integer(), previous) {
        (Some(number), None) if number > 1 => {
            let message = format!("version {number} does not say which plan it replaces");
            reader.report_with_help(&VERSION_CHAIN, version.span(), message, "add `previousPlanId`");
        }
        (Some(1), Some(previous)) => {
            let message = "the first version of a plan has no previous one";
            reader.report(
                Diagnostic::new(&VERSION_CHAIN, previous.span(), message)
                    .with_related(version.span(), "version 1")
                    .with_help("remove `previousPlanId`, or raise `version`"),
            );
        }
        (_, Some(previous)) if found.get(PLAN_ID).is_some_and(|id| previous.is_text(&id.value())) => {
            let message = "the plan names itself as its previous version";
            reader.report_with_help(&VERSION_CHAIN, previous.span(), message, "name the plan it replaces");
        }
        _ => {}
    }
}

fn check_current<'d>(reader: &mut PlanReader<'d>, found: &ObjectFields<'d>) {
    let Some((node, current)) = found.get(CURRENT).and_then(|node| Some((node, node.as_integer()?))) else {
        return;
    };
    let steps = reader.builder.plan().tasks();
    let n_steps = steps.len() as i64;
    if found.get(STEPS).is_none() || current < 0 {
        return;
    }
    let is_open = |status: Status| matches!(status, Status::Pending | Status::Running);
    let open = steps.iter().position(|step| is_open(step.status));
    let running = steps.iter().position(|step| step.status == Status::Running);
    let (message, severity) = match open {
        _ if current > n_steps => (format!("there is no step {current}: the plan has {n_steps}"), true),
        Some(open) if current == n_steps => (
            format!("`currentStepIndex` is past the last step, but step {open} is not done"),
            false,
        ),
        Some(open)
            if steps
                .get(current as usize)
                .is_some_and(|step| matches!(step.status, Status::Done | Status::Skipped)) =>
        {
            let next = running.unwrap_or(open);
            (
                format!("`currentStepIndex` names step {current}, which is finished; step {next} is not"),
                false,
            )
        }
        _ => return,
    };
    let diagnostic = Diagnostic::new(&CURRENT_STEP, node.span(), message)
        .with_help("set it to the step that runs or comes next; to the number of steps when nothing is pending");
    reader.report(if severity {
        diagnostic.with_severity(crate::diagnostic::Severity::Error)
    } else {
        diagnostic
    });
}

fn check_status<'d>(reader: &mut PlanReader<'d>, found: &ObjectFields<'d>) {
    let Some(status) = found.get(PLAN_STATUS_IX) else {
        return;
    };
    let steps = reader.builder.plan().tasks();
    let unfinished = steps
        .iter()
        .position(|step| !matches!(step.status, Status::Done | Status::Skipped));
    let begun = steps.iter().position(|step| step.status != Status::Pending);
    let (message, other) = match (unfinished, begun) {
        (Some(at), _) if status.is_text("complete") => (format!("the plan is `complete`, but step {at} is not"), at),
        (_, Some(at)) if status.is_text("draft") && steps[at].status == Status::Running => {
            (format!("the plan is a `draft`, but step {at} is running"), at)
        }
        _ => return,
    };
    let span = steps[other].status_span;
    reader.report(
        Diagnostic::new(&PLAN_STATUS, status.span(), message)
            .with_related(span, "its status is here")
            .with_help("set the plan to `in_progress`, or finish its steps"),
    );
}
