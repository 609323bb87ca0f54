//! Every verb on whole plans from every status in every dialect, through the text and back; the fields that are written; and which plans
//! may be run.

use planwright_core::change::{Open, Problem, transition_plan};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{Choice, DiskFacts, find};
use planwright_core::edit::{PlanRefused, PlanRequest};
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::plan::{Field, PlanVerb, RunLift};
use planwright_core::text::SourceText;

use crate::fixtures::{fixtures, with_choice};

const NOW: &str = "2026-11-16T12:00:00.000Z";

const CLIDO: &str = r#"{"goal": "g", "tasks": [{"id": "t1", "description": "d"}]}"#;

const AIMI: &str = r#"{"schemaVersion": "3.0", "metadata": {"title": "T", "type": "feat", "branchName": "feat/x",
  "createdAt": "2026-11-15", "planPath": null}, "userStories": [{"id": "US-001", "title": "t",
  "description": "As a user, I want x so that y", "acceptanceCriteria": ["Typecheck passes"], "priority": 1,
  "status": "pending", "dependsOn": [], "notes": ""}]}"#;

const PACK: &str = include_str!("../../../../examples/task-pack/docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md");

const MINIMAL: &str =
    r#"{"title": "P", "description": "d", "tasks": [{"title": "a", "description": "b", "task_type": "edit"}]}"#;

const CRAB_STATUSES: [&str; 7] = [
    "Draft",
    "PendingApproval",
    "Approved",
    "Rejected",
    "InProgress",
    "Completed",
    "Cancelled",
];

const RAWKO_STATUSES: [&str; 5] = ["draft", "in_progress", "complete", "failed", "replanning"];

/// Returns an OpenCrabs plan with something for its status.
fn crab(status: &str) -> String {
    let task = if status.contains("Completed") {
        "Completed"
    } else {
        "Pending"
    };
    format!(
        r#"{{"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0001",   "title": "P", "description": "d",{status}
  "tasks": [{{"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0002", "order": 1, "title": "a", "description": "b", "task_type": "edit",
    "status": "{task}"}}], "updated_at": "2026-11-15T10:00:00Z", "approved_at": null, "own": 1.50}}"#
    )
}

fn crab_in(status: &str) -> String {
    crab(&format!(" \"status\": \"{status}\","))
}

/// Returns a rawko plan of one step.
fn rawko(status: &str) -> String {
    let (step, current) = match status {
        "complete" => ("complete", 1),
        "replanning" => ("failed", 0),
        _ => ("pending", 0),
    };
    format!(
        "id: plan-x\ntask: x\nstatus: {status} # so far\nversion: 1\ncurrentStepIndex: {current}\n\
         createdAt: \"2026-11-15T10:00:00Z\"\nupdatedAt: \"2026-11-15T10:00:00Z\"\ncreatedBy: planner\n\
         steps:\n  - index: 0\n    description: a\n    status: {step}\n"
    )
}

fn attempt(text: &str, request: &PlanRequest<'_>) -> Result<(String, String), Problem> {
    let facts = DiskFacts::default();
    let choice = Choice::by_content(&facts);
    let open = Open::new(&SourceText::new(text), &choice);
    let (changed, step) = transition_plan(&open, &choice, request)?;
    assert_eq!(
        (step.to, changed.moves.len()),
        (status_of(changed.source.as_str()).as_str(), 0)
    );
    let notes = changed.notes.iter().filter_map(|note| note.words(&changed.source));
    Ok((changed.source.as_str().to_owned(), notes.collect()))
}

fn status_of(text: &str) -> String {
    let inspection = inspect(&SourceText::new(text), &Choice::by_content(&DiskFacts::default()));
    assert_eq!(inspection.count(Severity::Error), 0, "{text}");
    let plan = &inspection.plan.as_ref().expect("a plan").plan;
    plan.head_str(Field::Status).unwrap_or("none").to_owned()
}

/// Returns the result of each verb on a plan: the new status, or a dash.
fn row(text: &str) -> String {
    let cell = |verb| match attempt(text, &PlanRequest::new(verb, NOW)) {
        Ok((new, _)) => status_of(&new),
        Err(Problem::PlanRefused(_)) => "-".to_owned(),
        Err(problem) => panic!("{problem}"),
    };
    PlanVerb::ALL.map(cell).join(" ")
}

#[test]
fn every_verb_from_every_status_does_what_the_table_says() {
    // submit approve reject cancel
    let crabs = [
        "PendingApproval Approved - Cancelled",
        "- Approved Rejected Cancelled",
        "- - Rejected Cancelled",
        "PendingApproval - - Cancelled",
        "- - - Cancelled",
        "- - - -",
        "- - - -",
    ];
    for (status, expected) in CRAB_STATUSES.into_iter().zip(crabs) {
        assert_eq!(row(&crab_in(status)), expected, "{status}");
    }
    assert_eq!(row(&crab("")), crabs[0], "a plan without a status is a draft");
    let rawkos = ["- - - failed", "- - - failed", "- - - -", "- - - -", "- - - failed"];
    for (status, expected) in RAWKO_STATUSES.into_iter().zip(rawkos) {
        assert_eq!(row(&rawko(status)), expected, "{status}");
    }
    for text in [CLIDO, AIMI, PACK] {
        assert_eq!(row(text), "- - - -");
    }
}

#[track_caller]
fn refused(text: &str, verb: PlanVerb) -> String {
    match attempt(text, &PlanRequest::new(verb, NOW)) {
        Err(problem) => format!("{problem}; {}", problem.help()),
        Ok((new, _)) => panic!("{new}"),
    }
}

#[test]
fn a_refusal_names_the_status_and_the_allowed_verbs() {
    for (text, verb, expected) in [
        (
            crab_in("Approved"),
            PlanVerb::Submit,
            "cannot submit this plan: it is `Approved`; allowed from here: `reject` and `cancel`",
        ),
        (
            crab_in("Rejected"),
            PlanVerb::Approve,
            "cannot approve this plan: it is `Rejected`; allowed from here: `submit` and `cancel`",
        ),
        (
            crab_in("InProgress"),
            PlanVerb::Reject,
            "cannot reject this plan: it is `InProgress`; allowed from here: `cancel`",
        ),
        (
            crab_in("Completed"),
            PlanVerb::Cancel,
            "cannot cancel this plan: it is `Completed`; the plan is over; `planwright undo` reverts the last change",
        ),
        (
            rawko("draft"),
            PlanVerb::Approve,
            "cannot approve this plan: rawko plans are not approved before they are worked on; \
             `planwright start` begins the plan as it is, `planwright cancel` gives it up",
        ),
        (
            CLIDO.to_owned(),
            PlanVerb::Cancel,
            "cannot cancel this plan: plans of this dialect have no status of their own; name a task to approve or reject its work: `planwright approve TASK`; `planwright skip` leaves tasks out, `planwright archive` archives the plan; `planwright approve` approves it where `approval.required` is set",
        ),
        (
            rawko("draft").replace("status: draft # so far\n", ""),
            PlanVerb::Cancel,
            "the file does not say what status the plan has; correct the status first: `planwright check` shows how",
        ),
        (
            MINIMAL.to_owned(),
            PlanVerb::Submit,
            "this is an import form, which is not worked on: it has no ids and no states; \
             make it a plan first: `planwright import FILE`",
        ),
    ] {
        assert_eq!(refused(&text, verb), expected);
    }
    assert!(refused(PACK, PlanVerb::Approve).contains("`planwright approve TASK`"));
}

#[test]
fn an_unknown_status_is_refused() {
    for written in ["\"Editing\"", "\"draft\"", "7", "null", "[]"] {
        let text = crab(&format!(" \"status\": {written},"));
        for verb in PlanVerb::ALL {
            let problem = attempt(&text, &PlanRequest::new(verb, NOW)).expect_err("it is refused");
            let is_unknown = matches!(problem, Problem::PlanRefused(PlanRefused::UnknownStatus { .. }));
            assert!(is_unknown, "{written}: {problem}");
        }
    }
}

#[test]
fn an_approval_changes_its_bytes_and_no_others() {
    let text = crab_in("PendingApproval");
    let (new, notes) = attempt(&text, &PlanRequest::new(PlanVerb::Approve, NOW)).expect("it is allowed");
    let expected = text
        .replace("\"PendingApproval\"", "\"Approved\"")
        .replace("\"approved_at\": null", &format!("\"approved_at\": \"{NOW}\""))
        .replace("\"2026-11-15T10:00:00Z\"", &format!("\"{NOW}\""));
    assert_eq!((new.as_str(), notes.as_str()), (expected.as_str(), ""));
    // A revoked approval leaves no time; a cancelled plan keeps it.
    let (rejected, _) = attempt(&new, &PlanRequest::new(PlanVerb::Reject, NOW)).expect("it is allowed");
    let unapproved = expected.replace(&format!("\"approved_at\": \"{NOW}\""), "\"approved_at\": null");
    assert_eq!(rejected, unapproved.replace("\"Approved\"", "\"Rejected\""));
    let (cancelled, _) = attempt(&new, &PlanRequest::new(PlanVerb::Cancel, NOW)).expect("it is allowed");
    assert_eq!(cancelled, expected.replace("\"Approved\"", "\"Cancelled\""));
}

#[test]
fn a_draft_may_be_approved_without_submission_with_a_remark() {
    let (new, notes) = attempt(&crab_in("Draft"), &PlanRequest::new(PlanVerb::Approve, NOW)).expect("it is allowed");
    assert_eq!(
        (status_of(&new).as_str(), notes.as_str()),
        ("Approved", "the plan had not been submitted")
    );
    // A missing field is added next to those it belongs to.
    let text = crab("").replace(", \"approved_at\": null", "");
    let (new, _) = attempt(&text, &PlanRequest::new(PlanVerb::Approve, NOW)).expect("it is allowed");
    assert!(new.contains("\"approved_at\": \"2026"), "{new}");
}

#[test]
fn a_cancelled_rawko_plan_keeps_the_reason() {
    let request = PlanRequest {
        note: Some("no budget: none"),
        ..PlanRequest::new(PlanVerb::Cancel, NOW)
    };
    let text = rawko("in_progress");
    let base = text.replace("status: in_progress #", "status: failed #").replacen(
        "updatedAt: \"2026-11-15T10:00:00Z\"",
        &format!("updatedAt: \"{NOW}\""),
        1,
    );
    let (plain, _) = attempt(&text, &PlanRequest::new(PlanVerb::Cancel, NOW)).expect("it is allowed");
    assert_eq!(plain, base);
    let (added, _) = attempt(&text, &request).expect("it is allowed");
    let metadata = "metadata:\n  constraints:\n    - \"Failed: no budget: none\"\n";
    assert_eq!(added, base.replace("version: 1\n", &format!("version: 1\n{metadata}")));
    for (before, after) in [
        (
            "metadata:\n  tags: [a]\n",
            "metadata:\n  tags: [a]\n  constraints:\n    - \"Failed: no budget: none\"\n",
        ),
        (
            "metadata:\n  constraints:\n    - no downtime # ever\n",
            "metadata:\n  constraints:\n    - no downtime # ever\n    - \"Failed: no budget: none\"\n",
        ),
        (
            "metadata: {constraints: [a]}\n",
            "metadata: {constraints: [a, \"Failed: no budget: none\"]}\n",
        ),
    ] {
        let (new, _) = attempt(&format!("{text}{before}"), &request).expect("it is allowed");
        assert_eq!(new, format!("{base}{after}"));
    }
}

#[test]
fn malformed_constraints_are_left_unchanged() {
    let request = PlanRequest {
        note: Some("why"),
        ..PlanRequest::new(PlanVerb::Cancel, NOW)
    };
    for odd in ["metadata: [a]\n", "metadata:\n  constraints: a\n"] {
        let facts = DiskFacts::default();
        let choice = Choice::by_content(&facts);
        let open = Open::new(&SourceText::new(rawko("draft") + odd), &choice);
        let (changed, _) = transition_plan(&open, &choice, &request).expect("it is allowed");
        assert!(changed.source.as_str().ends_with(odd), "{}", changed.source.as_str());
    }
}

/// Returns the option that allows a refused plan to run; none if it runs.
fn lift(text: &str) -> Option<RunLift> {
    let inspection = inspect(&SourceText::new(text), &Choice::by_content(&DiskFacts::default()));
    let plan = &inspection.plan.as_ref().expect("a plan").plan;
    let refusal = find(plan.dialect)
        .expect("a dialect")
        .refuses_work(plan, &inspection.diagnostics)?;
    assert!(!refusal.message.is_empty() && !refusal.help.is_empty());
    Some(refusal.lift)
}

#[test]
fn each_plan_status_allows_or_blocks_a_run() {
    let (approval, retry, nothing) = (Some(RunLift::Approval), Some(RunLift::Retry), Some(RunLift::Nothing));
    let crabs = [approval, approval, None, nothing, None, None, nothing];
    for (status, expected) in CRAB_STATUSES.into_iter().zip(crabs) {
        assert_eq!(lift(&crab_in(status)), expected, "{status}");
    }
    assert_eq!(lift(&crab("")), approval);
    assert_eq!(lift(&crab_in("Editing")), approval);
    assert_eq!(lift(MINIMAL), nothing);
    let rawkos = [None, None, None, nothing, retry];
    for (status, expected) in RAWKO_STATUSES.into_iter().zip(rawkos) {
        assert_eq!(lift(&rawko(status)), expected, "{status}");
    }
    let mended = rawko("replanning").replace("status: failed", "status: pending");
    assert_eq!(lift(&mended), None, "nothing has failed any more");
    assert_eq!([lift(CLIDO), lift(AIMI), lift(PACK)], [None; 3]);
    let draft = PACK.replace("status: derived", "status: draft");
    assert_eq!(lift(&draft), nothing);
}

/// An approved plan runs: the path from a draft through all verbs ends in a plan that runs.
#[test]
fn an_approved_plan_runs() {
    let mut text = crab_in("Draft");
    for verb in [PlanVerb::Submit, PlanVerb::Reject, PlanVerb::Submit, PlanVerb::Approve] {
        assert!(lift(&text).is_some());
        text = attempt(&text, &PlanRequest::new(verb, NOW)).expect("it is allowed").0;
    }
    assert_eq!(lift(&text), None);
}

/// For any file, a verb on the plan changes no byte of any task, or does nothing.
#[test]
fn no_verb_on_a_plan_touches_a_task() {
    let mut n_changed = 0;
    let kinds = ["accept", "reject", "fix"];
    for fixture in kinds.into_iter().flat_map(fixtures) {
        for verb in PlanVerb::ALL {
            let request = PlanRequest {
                note: Some("because:\n# so"),
                ..PlanRequest::new(verb, NOW)
            };
            let result = with_choice(|choice| {
                let open = Open::new(&fixture.source(), choice);
                let before = task_texts(&open.inspection);
                transition_plan(&open, choice, &request).map(|(changed, _)| (before, changed))
            });
            let Ok((before, changed)) = result else {
                continue;
            };
            n_changed += 1;
            let after = with_choice(|choice| inspect(&changed.source, choice));
            assert_eq!(task_texts(&after), before, "{}", fixture.path.display());
        }
    }
    assert!(n_changed > 20, "{n_changed}");
}

/// Returns the text of each task.
fn task_texts(inspection: &Inspection) -> Vec<String> {
    let plan = inspection.plan.as_ref().map(|linked| &linked.plan);
    let tasks = plan.into_iter().flat_map(|plan| plan.tasks());
    tasks
        .map(|task| inspection.source.slice(task.span).to_owned())
        .collect()
}
