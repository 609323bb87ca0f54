//! Law for any source plan and any answer: a pack that is valid by the original's rules, or a reason.

use planwright_core::diagnostic::Severity;
use planwright_core::dialect::task_pack::drift::{drift, with_cards_renewed};
use planwright_core::dialect::task_pack::original::{OriginalPack, Validity, validate};
use planwright_core::dialect::{DiskFacts, SourcePlanLookup, find};
use planwright_core::inspect::inspect;
use planwright_core::planning::derive::compare::PackDifference;
use planwright_core::planning::derive::{DerivationRequest, DeriveError, Derived, Previous, derive};
use planwright_core::text::SourceText;

use crate::findings;
use crate::input::{parts, text, with_choice};

pub(crate) fn hold(bytes: &[u8]) {
    let [plan, answer, second] = parts(bytes);
    let (plan, answer, second) = (SourceText::new(text(plan)), text(answer), text(second));
    let Some(first) = derived(&plan, &answer, None) else {
        return;
    };
    let is_touched = |task: &str| task.len().is_multiple_of(2);
    let previous = Previous {
        pack: &first.text,
        is_touched: &is_touched,
    };
    if let Some(next) = derived(&plan, &second, Some(previous)) {
        let difference = PackDifference::between(&first.text, &next.text);
        assert!(difference.n_same <= first.n_tasks.min(next.n_tasks));
    }
}

fn derived(plan: &SourceText, answer: &str, previous: Option<Previous<'_>>) -> Option<Derived> {
    let made = derive(&DerivationRequest {
        plan_path: "docs/plans/2026-05-11-004-feat-photos-plan.md",
        plan,
        answer,
        date: "2026-05-12",
        is_directory: &|path| path == "src",
        previous,
    });
    let n_bytes = plan.len() + answer.len();
    match made {
        Ok(derived) => {
            check_pack(plan, &derived, n_bytes);
            Some(derived)
        }
        Err(DeriveError::Answer(found)) => {
            assert!(!found.is_empty(), "refused without a reason");
            findings::check_words(&found, n_bytes);
            None
        }
        Err(_) => None,
    }
}

/// Checks that the pack passes the original's validator and ours, its cards match its contract, and its size is bounded.
fn check_pack(plan: &SourceText, derived: &Derived, n_bytes: usize) {
    let text = derived.text.as_str();
    let facts = DiskFacts {
        source_plan: SourcePlanLookup::Bytes(plan.as_str().into()),
        ..DiskFacts::default()
    };
    if !derived.is_draft {
        let validity = validate(&OriginalPack::parse(&derived.text), &facts).validity;
        assert!(matches!(validity, Validity::Valid), "{validity:?}\n{text}");
    }
    let inspection = with_choice(find("task-pack"), |choice| inspect(&derived.text, choice));
    assert_eq!(inspection.count(Severity::Error), 0, "{text}");
    let n_tasks = inspection.plan.map_or(0, |linked| linked.plan.tasks().len());
    assert_eq!(n_tasks, derived.n_tasks);
    assert!(
        text.len() <= 16 * n_bytes + 16 * 1024,
        "{n_bytes} bytes became {}",
        text.len()
    );
    let drifted = drift(&derived.text).unwrap_or_else(|| panic!("no contract\n{text}"));
    assert!(drifted.is_empty(), "{drifted:?}\n{text}");
    assert_eq!(
        with_cards_renewed(&derived.text).ok().as_deref(),
        Some(text),
        "changed without need"
    );
    findings::check_words(&derived.warnings, n_bytes);
}
