//! Law for any text in every dialect: inspection ends, findings are inside the text, and fixes never make it worse.

use planwright_core::arbiter::{self, ArbiterBrief, PastAttempts};
use planwright_core::check::rules::ALL as GRAPH;
use planwright_core::diagnostic::{Diagnostic, Safety, Severity};
use planwright_core::dialect::DIALECTS;
use planwright_core::fix::fix;
use planwright_core::graph::TaskGraph;
use planwright_core::inspect::{Inspection, LinkedPlan, inspect};
use planwright_core::plan::{FieldValue, Readiness, StartVerdict};
use planwright_core::prompt::{Prompt, PromptContext};
use planwright_core::text::SourceText;

use crate::findings::{self, check_span};
use crate::input::with_choice;

/// The size limit of an arbiter's question for any plan.
const MAX_QUESTION: usize = 256 * 1024;

pub(crate) fn hold(bytes: &[u8]) {
    let source = SourceText::from_bytes(bytes.to_vec());
    let inspection = with_choice(None, |choice| inspect(&source, choice));
    check(&inspection);
    assert!(
        inspection.dialect.is_some() || !inspection.diagnostics.is_empty(),
        "no dialect, and no finding"
    );
    for forced in DIALECTS {
        check(&with_choice(Some(*forced), |choice| inspect(&source, choice)));
    }
    check_fixes(&inspection);
}

fn check(inspection: &Inspection) {
    findings::check(&inspection.source, &inspection.diagnostics);
    let index = inspection.source.line_index();
    for span in inspection.diagnostics.iter().filter_map(|found| found.span) {
        let (start, end) = (index.position(span.start), index.position(span.end));
        assert!(start.line > 0 && start.column > 0);
        assert!(
            (start.line, start.column) <= (end.line, end.column),
            "{start:?} {end:?}"
        );
    }
    if let Some(linked) = &inspection.plan {
        check_places(inspection, linked);
        check_answers(inspection, linked);
    }
}

fn check_places(inspection: &Inspection, LinkedPlan { plan, links, .. }: &LinkedPlan) {
    let text = inspection.source.as_str();
    for (task_ix, task) in plan.tasks().iter().enumerate() {
        check_span(text, task.span, "a task");
        check_span(text, task.status_span, "a status");
        check_span(text, plan.name_span(task), "a name");
        for dependency in plan.dependencies(task) {
            check_span(text, dependency.span, "a dependency");
        }
        for entry in plan.entries(task).iter().chain(plan.head()) {
            check_span(text, plan.span(entry.value), "a field");
            if let FieldValue::List(list) = entry.value {
                plan.items(list)
                    .iter()
                    .for_each(|item| check_span(text, plan.span(*item), "an item"));
            }
        }
        for edge in links.of(task_ix) {
            assert!((edge.to as usize) < plan.tasks().len(), "an edge to nobody");
        }
    }
}

/// Asks every question about a plan: what is next, why not, the agent's prompt, the arbiter's question.
fn check_answers(inspection: &Inspection, LinkedPlan { plan, links, .. }: &LinkedPlan) {
    let readiness = Readiness::new(plan, links);
    let n_tasks = plan.tasks().len();
    let ready = readiness.ready();
    for task_ix in 0..n_tasks {
        let is_ready = matches!(readiness.verdict(task_ix), StartVerdict::Ready);
        assert_eq!(is_ready, ready.contains(&task_ix), "task {task_ix}");
        assert_eq!(is_ready, readiness.is_ready(task_ix), "task {task_ix}");
    }
    for task_ix in (0..n_tasks).take(16) {
        assert!(readiness.n_behind(task_ix) < n_tasks.max(1));
        assert!(readiness.unblocked_by(task_ix).len() < n_tasks.max(1));
        let max_bytes = 2_000 + 4_000 * (task_ix % 3);
        let context = PromptContext {
            max_bytes,
            ..PromptContext::default()
        };
        let prompt = Prompt::of(plan, links, task_ix, &context);
        assert!(
            prompt.text.len() <= max_bytes,
            "a prompt of {} bytes",
            prompt.text.len()
        );
    }
    assert!(readiness.offered().len() <= ready.len());
    let progress = readiness.progress();
    assert_eq!(progress.total, n_tasks);
    if let Ok(graph) = TaskGraph::new(plan, links) {
        assert_eq!(graph.order().len(), n_tasks);
        assert!(graph.critical_path().len() <= n_tasks);
    } else {
        assert!(inspection.count(Severity::Error) > 0, "a cycle, and no finding");
    }
    let past = PastAttempts {
        history: &[],
        last_error: None,
    };
    let current = arbiter::current_task(plan, links);
    let question = ArbiterBrief::of_plan(plan, links, current, past).question(&["one", "two"]);
    assert!(question.len() <= MAX_QUESTION, "a question of {} bytes", question.len());
}

/// Fixing: never more errors, nothing to do for a second time, no change without a finding.
fn check_fixes(before: &Inspection) {
    for safety in [Safety::Safe, Safety::Unsafe] {
        let fixed = with_choice(None, |choice| fix(&before.source, choice, safety));
        let (old, new) = (before.source.as_str(), fixed.source.as_str());
        let may_apply = |found: &Diagnostic| {
            let fix = found.fix.as_ref();
            fix.is_some_and(|fix| safety == Safety::Unsafe || fix.safety == Safety::Safe)
        };
        assert!(
            before.diagnostics.iter().any(may_apply) || old == new,
            "{safety:?} fixes out of nothing: {:?}",
            fixed.applied
        );
        assert_eq!(fixed.applied.is_empty(), old == new, "{:?}", fixed.applied);
        assert!(
            before.source.damage().is_none() || old == new,
            "what is no UTF-8 was changed"
        );
        assert!(
            new.len() <= 8 * old.len() + 4096,
            "{} bytes became {}",
            old.len(),
            new.len()
        );
        let after = with_choice(None, |choice| inspect(&fixed.source, choice));
        let (n_before, n_after) = (n_errors_of_form(before), n_errors_of_form(&after));
        assert!(
            n_after <= n_before,
            "{safety:?} fixes: {n_before} errors became {n_after}"
        );
        let again = with_choice(None, |choice| fix(&fixed.source, choice, safety));
        assert_eq!(
            again.source.as_str(),
            new,
            "{safety:?} fixes of the fixed text: {:?}",
            again.applied
        );
    }
}

/// A fix may reveal that a lost dependency is on an unknown task, which is no error of form.
fn n_errors_of_form(inspection: &Inspection) -> usize {
    let errors = inspection
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error);
    errors.filter(|found| !GRAPH.contains(&found.rule)).count()
}
