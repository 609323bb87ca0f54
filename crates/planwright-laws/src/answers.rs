//! Law for any answer of a planner or an arbiter: a draft is valid, a new version keeps done tasks, a chosen agent was offered.

use planwright_core::arbiter::{Decision, MAX_REASON};
use planwright_core::change::rewrite::rewrite;
use planwright_core::change::{Open, Problem};
use planwright_core::convert::{PlanningRequest, outlined_plan};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{Dialect, find};
use planwright_core::inspect::inspect;
use planwright_core::outline::read;
use planwright_core::plan::{Field, State};
use planwright_core::planning::answer::candidates;
use planwright_core::planning::draft::{Unusable, draft, finding_list};
use planwright_core::planning::replan::new_version;
use planwright_core::text::SourceText;

use crate::findings;
use crate::input::{ByteChoices, NOW, parts, text, with_choice, with_id_source};

pub(crate) fn hold(bytes: &[u8]) {
    let [answer, old, choices] = parts(bytes);
    let (answer, old) = (text(answer), text(old));
    let mut dice = ByteChoices::new(choices);
    check_candidates(&answer);
    check_draft(&answer, dice.dialect());
    check_outline(&answer, dice.dialect());
    check_version(&SourceText::new(old), &answer);
    let offered = ["claude", "codex"];
    if let Ok(decision) = Decision::read(&answer, &offered) {
        assert!(offered.contains(&decision.agent.as_str()));
        assert!(decision.reason.len() <= MAX_REASON + 16 && !decision.reason.contains('\n'));
    }
}

/// Checks that there are few candidates, each from the answer, and none larger.
fn check_candidates(answer: &str) {
    let found = candidates(answer);
    assert!(found.len() <= 64, "{} candidates", found.len());
    for candidate in found {
        let n_bytes = candidate.text.len() + candidate.reasoning.len();
        assert!(
            n_bytes <= 4 * answer.len() + 1_024,
            "{n_bytes} bytes of {}",
            answer.len()
        );
    }
}

fn check_unusable(unusable: &Unusable, n_bytes: usize) {
    findings::check_words(&unusable.findings, n_bytes);
    let finding_list = finding_list(&unusable.text, &unusable.findings);
    assert!(
        finding_list.len() <= 64 * 1024 + 64 * n_bytes,
        "{} bytes are told of {n_bytes}",
        finding_list.len()
    );
}

fn check_draft(answer: &str, dialect: &'static dyn Dialect) {
    let constraints = ["Keep it small.".to_owned()];
    let wish = PlanningRequest {
        goal: "a goal",
        constraints: &constraints,
        ..PlanningRequest::default()
    };
    match with_id_source(|id_source| draft(answer, dialect, &wish, id_source)) {
        Ok(drafted) => {
            let source = SourceText::new(drafted.text.as_str());
            let inspection = with_choice(Some(dialect), |choice| inspect(&source, choice));
            assert_eq!(inspection.count(Severity::Error), 0, "{}", drafted.text);
            let linked = inspection.plan.expect("a draft is a plan");
            assert!(!linked.plan.tasks().is_empty());
            let is_fresh = |state: Option<State>| matches!(state, Some(State::Pending) | None);
            assert!(
                linked.plan.tasks().iter().all(|task| is_fresh(task.status.state())),
                "{}",
                drafted.text
            );
        }
        Err(unusable) => {
            assert!(!unusable.findings.is_empty(), "unusable without a reason");
            check_unusable(&unusable, answer.len());
        }
    }
}

/// Checks that an outline has no cycles, and becomes a plan of a dialect with the same tasks; a refusal has a reason.
fn check_outline(answer: &str, dialect: &'static dyn Dialect) {
    let source = SourceText::new(answer);
    for is_partial in [false, true] {
        let outline = match read(&source, is_partial) {
            Ok(outline) => outline,
            Err(found) => {
                assert!(!found.is_empty(), "refused without a reason");
                findings::check_words(&found, answer.len());
                continue;
            }
        };
        assert!(!outline.tasks.is_empty());
        for (ix, task) in outline.tasks.iter().enumerate() {
            assert!(!task.title.is_empty() && !task.title.contains('\n'), "{task:?}");
            assert!(
                task.dependencies.iter().all(|&on| on < outline.tasks.len() && on != ix),
                "{task:?}"
            );
            assert!(task.place.end as usize <= answer.len(), "{task:?}");
        }
        let wish = PlanningRequest {
            goal: "a goal",
            ..PlanningRequest::default()
        };
        if let Ok(made) = with_id_source(|id_source| outlined_plan(&outline, dialect, &wish, id_source)) {
            let source = SourceText::new(made.text.as_str());
            let inspection = with_choice(Some(dialect), |choice| inspect(&source, choice));
            assert_eq!(inspection.count(Severity::Error), 0, "{}", made.text);
            let linked = inspection.plan.expect("a plan");
            assert_eq!(linked.plan.tasks().len(), outline.tasks.len(), "{}", made.text);
        }
    }
}

fn check_version(old: &SourceText, answer: &str) {
    with_choice(None, |choice| {
        let open = Open::new(old, choice);
        let Some(linked) = open
            .inspection
            .plan
            .as_ref()
            .filter(|_| open.inspection.count(Severity::Error) == 0)
        else {
            return;
        };
        let dialect = find(linked.plan.dialect).expect("a known dialect");
        let version = match with_id_source(|id_source| new_version(&open.inspection, dialect, answer, id_source)) {
            Ok(version) => version,
            Err(unusable) => return check_unusable(&unusable, old.len() + answer.len()),
        };
        let changed = match rewrite(&open, choice, &version.slots, NOW) {
            Ok(changed) => changed,
            Err(problem @ Problem::Mismatch(_)) => panic!("{problem}\n{answer}"),
            Err(_) => return,
        };
        let after = inspect(&changed.source, choice);
        assert_eq!(after.count(Severity::Error), 0, "{}", changed.source.as_str());
        let n_after = after.plan.as_ref().map_or(0, |linked| linked.plan.tasks().len());
        assert_eq!(n_after, version.slots.len());
        // The order of a list can be part of its tasks: numbers and layers follow moved tasks.
        let mut fields = dialect.tables().iter().flat_map(|table| table.fields);
        let by_number = fields.any(|spec| matches!(spec.field, Field::Position | Field::Priority | Field::Wave));
        for task in linked
            .plan
            .tasks()
            .iter()
            .filter(|task| task.status.state() == Some(State::Done))
        {
            let own = old.slice(task.span);
            assert!(
                by_number || changed.source.as_str().contains(own),
                "what is done was changed: {own}"
            );
        }
    });
}
