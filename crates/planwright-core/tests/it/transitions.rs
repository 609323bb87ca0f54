//! Every cell of the table in every dialect, through the text and back; and what each dialect stores.

use planwright_core::change::{ChangedText, Open, Problem, transition};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{Choice, DIALECTS, DiskFacts};
use planwright_core::edit::{VerbRefusal, VerbRequest};
use planwright_core::inspect::{Inspection, inspect};
use planwright_core::plan::{State, Verb};
use planwright_core::text::SourceText;

const NOW: &str = "2026-11-15T12:00:00.000Z";

/// Returns a plan of one task in a state, and its dependent; none if the dialect's files cannot hold the state.
fn one_task(dialect: &str, state: State) -> Option<String> {
    let word = |words: [&'static str; 5]| {
        let place = State::ALL.iter().position(|own| *own == state)?;
        words.get(place).copied()
    };
    Some(match dialect {
        "opencrabs" => {
            let status = match word(["Pending", "InProgress", "Completed", "Failed", "Skipped"]) {
                Some(word) => format!("\"{word}\""),
                None => "{\"Blocked\": \"no key\"}".to_owned(),
            };
            format!(
                r#"{{"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0001", "title": "P", "description": "d", "status": "InProgress",
  "tasks": [{{"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0002", "order": 1, "title": "a", "description": "b", "task_type": "edit",
    "status": {status}}}]}}"#
            )
        }
        "clido" => {
            let status = word(["pending", "running", "done", "failed", "skipped"])?;
            format!(r#"{{"goal": "g", "tasks": [{{"id": "t1", "description": "d", "status": "{status}"}}]}}"#)
        }
        "aimi" => {
            let status = word(["pending", "in_progress", "completed", "failed", "skipped"])?;
            format!(
                r#"{{"schemaVersion": "3.0", "metadata": {{"title": "T", "type": "feat", "branchName": "feat/x",
  "createdAt": "2026-11-15", "planPath": null}}, "userStories": [{{"id": "US-001", "title": "t",
  "description": "As a user, I want x so that y", "acceptanceCriteria": ["Typecheck passes"], "priority": 1,
  "status": "{status}", "dependsOn": [], "notes": ""}}]}}"#
            )
        }
        "rawko" => {
            let status = word(["pending", "in_progress", "complete", "failed", "skipped"])?;
            let (plan, current) = match state {
                State::Done | State::Skipped => ("complete", 1),
                State::Failed => ("replanning", 0),
                _ => ("in_progress", 0),
            };
            format!(
                "id: plan-x\ntask: x\nstatus: {plan}\nversion: 1\ncurrentStepIndex: {current}\n\
                 createdAt: \"2026-11-15T10:00:00Z\"\nupdatedAt: \"2026-11-15T10:00:00Z\"\ncreatedBy: planner\n\
                 steps:\n  - index: 0\n    description: a\n    status: {status} # here\n"
            )
        }
        "checklist" => {
            let mark = match state {
                State::Pending => " ",
                State::Done => "x",
                _ => return None,
            };
            format!("<!-- planwright: explicit dependencies -->\n\n- [{mark}] T1: a\n")
        }
        // The file of a pack holds no states.
        "task-pack" => return None,
        other => panic!("no plan for {other}"),
    })
}

fn look(text: &str) -> Inspection {
    inspect(&SourceText::new(text), &choice(&DiskFacts::default()))
}

fn choice(facts: &DiskFacts) -> Choice<'_> {
    Choice::by_content(facts)
}

fn attempt(text: &str, task_ix: usize, request: &VerbRequest<'_>) -> Result<ChangedText, Problem> {
    transition(
        &Open::new(&SourceText::new(text), &choice(&DiskFacts::default())),
        &choice(&DiskFacts::default()),
        task_ix,
        request,
    )
}

fn state_of(inspection: &Inspection, task_ix: usize) -> Option<State> {
    let linked = inspection.plan.as_ref().expect("the text holds a plan");
    linked.plan.tasks()[task_ix].status.state()
}

#[test]
fn every_verb_from_every_state_in_every_dialect_does_what_the_table_says() {
    let mut n_cells = 0;
    for dialect in DIALECTS.iter().map(|dialect| dialect.name()) {
        for from in State::ALL {
            let Some(text) = one_task(dialect, from) else {
                continue;
            };
            let before = look(&text);
            assert_eq!(before.dialect_name(), Some(dialect));
            assert_eq!(state_of(&before, 0), Some(from), "{text}");
            let machine = &before.plan.as_ref().expect("a plan").plan.lifecycle.machine;
            for (verb, force) in Verb::ALL.into_iter().flat_map(|verb| [(verb, false), (verb, true)]) {
                n_cells += 1;
                let request = VerbRequest {
                    force,
                    ..VerbRequest::new(verb, NOW)
                };
                let result = attempt(&text, 0, &request);
                let what = format!("{dialect}: {} from {}", verb.as_str(), from.as_str());
                match (machine.outcome(from, verb, force), result) {
                    (Some(to), Ok(changed)) => {
                        // The first failures of an OpenCrabs task are not the last ones.
                        let is_retried = dialect == "opencrabs" && verb == Verb::Fail;
                        // A state that the file cannot hold is in the journal alone.
                        let is_elsewhere = !machine.is_written(to);
                        let to = if is_retried || is_elsewhere { State::Pending } else { to };
                        let after = look(changed.source.as_str());
                        assert_eq!(state_of(&after, 0), Some(to), "{what}");
                        assert_eq!(after.count(Severity::Error), 0, "{what}");
                    }
                    (None, Err(Problem::Refused(refused))) => {
                        let help = refused.help();
                        for allowed in machine.allowed(from) {
                            assert!(help.contains(&format!("`{}`", allowed.as_str())), "{what}: {help}");
                        }
                    }
                    (expected, result) => {
                        panic!(
                            "{what}: expected {expected:?}, got {:?}",
                            result.map(|changed| changed.moves)
                        )
                    }
                }
            }
        }
    }
    assert_eq!(n_cells, (6 + 5 + 5 + 5 + 2) * 7 * 2);
}

/// Applies verbs one after another, and returns the text.
fn after(text: &str, steps: &[(usize, Verb, Option<&str>)]) -> String {
    let mut text = text.to_owned();
    for (task_ix, verb, note) in steps {
        let request = VerbRequest {
            note: *note,
            starts: true,
            ..VerbRequest::new(*verb, NOW)
        };
        let changed = attempt(&text, *task_ix, &request).unwrap_or_else(|problem| panic!("{verb:?}: {problem}"));
        text = changed.source.as_str().to_owned();
    }
    text
}

const CHAIN: &str = r#"{
  "goal": "g",
  "tasks": [
    {"id": "a", "description": "d"},
    {"id": "b", "description": "d", "depends_on": ["a"], "notes": "mind the gap"},
    {"id": "c", "description": "d", "depends_on": ["b"]},
    {"id": "x", "description": "d"},
    {"id": "y", "description": "d", "depends_on": ["x", "b"]},
    {"id": "z", "description": "d", "skip": true}
  ]
}
"#;

fn states(text: &str) -> String {
    let inspection = look(text);
    let n_tasks = inspection.plan.as_ref().map_or(0, |linked| linked.plan.tasks().len());
    (0..n_tasks)
        .map(|ix| state_of(&inspection, ix).map_or("?", |state| &state.as_str()[..1]))
        .collect()
}

#[test]
fn a_failed_clido_task_skips_its_dependents_and_a_retry_restores_exactly_them() {
    let failed = after(CHAIN, &[(0, Verb::Start, None), (0, Verb::Fail, Some("no such file"))]);
    assert_eq!(states(&failed), "fsspsp");
    assert!(
        failed.contains(r#""notes": "mind the gap\nSkipped because a failed.""#),
        "{failed}"
    );
    assert!(
        failed.contains(r#"{"id": "x", "description": "d"}"#),
        "what is not concerned stays as it is"
    );
    // A second cause for the same task: removing one leaves it skipped.
    let both = after(&failed, &[(3, Verb::Start, None), (3, Verb::Fail, None)]);
    assert_eq!(states(&both), "fssfsp");
    let one = after(&both, &[(0, Verb::Retry, None)]);
    assert_eq!(states(&one), "rppfsp");
    assert!(one.contains(r#""notes": "mind the gap""#), "{one}");
    let none = after(&one, &[(3, Verb::Reset, None)]);
    assert_eq!(states(&none), "rppppp");
    // A task that the user skipped stays skipped, and a task that only waits for it does not wait for the failed one.
    let steps = [(1, Verb::Skip, None), (0, Verb::Start, None), (0, Verb::Fail, None)];
    let skipped = after(CHAIN, &steps);
    assert_eq!(states(&skipped), "fspppp");
    assert_eq!(states(&after(&skipped, &[(0, Verb::Reset, None)])), "pspppp");
}

#[test]
fn start_requires_readiness_and_force_overrides_it() {
    let problem = attempt(CHAIN, 4, &VerbRequest::new(Verb::Start, NOW))
        .err()
        .expect("it is not ready");
    assert_eq!(
        problem.to_string(),
        "task `y` is not ready: it waits for `x`, which is pending, it waits for `b`, which is pending"
    );
    assert!(matches!(problem, Problem::Refused(VerbRefusal::NotReady { .. })));
    let held = attempt(CHAIN, 5, &VerbRequest::new(Verb::Start, NOW))
        .err()
        .expect("it is held");
    assert_eq!(
        held.to_string(),
        "task `z` is not ready: it waits for the removal of `skip: true` from the file"
    );
    let request = VerbRequest {
        force: true,
        ..VerbRequest::new(Verb::Start, NOW)
    };
    let changed = attempt(CHAIN, 5, &request).expect("force");
    let started = changed.source.as_str();
    assert!(started.contains(r#""skip": false, "status": "running""#), "{started}");
}

#[test]
fn only_the_spans_of_the_change_differ() {
    let text = CHAIN.replace('\n', "\r\n");
    let changed = attempt(&text, 0, &VerbRequest::new(Verb::Start, NOW)).expect("it is ready");
    let new = changed.source.as_str();
    assert_eq!(
        new,
        text.replace(
            r#"{"id": "a", "description": "d"}"#,
            r#"{"id": "a", "description": "d", "status": "running"}"#
        )
    );
}

const STORED: &str = r#"{
  "id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0000",
  "title": "P",
  "description": "d",
  "tasks": [
    {
      "id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0001",
      "order": 1,
      "title": "a",
      "description": "b",
      "task_type": "Edit",
      "status": "Pending",
      "notes": null,
      "completed_at": null,
      "execution_history": [],
      "retry_count": 0,
      "max_retries": 2,
      "artifacts": ["old.rs"]
    }
  ],
  "status": "Approved",
  "updated_at": "2026-11-15T10:00:00Z"
}
"#;

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("the text is JSON")
}

#[test]
fn opencrabs_keeps_attempts_retries_notes_and_the_plans_own_status() {
    let started = after(STORED, &[(0, Verb::Start, None)]);
    let plan = json(&started);
    assert_eq!(
        (&plan["status"], &plan["updated_at"]),
        (&"InProgress".into(), &NOW.into())
    );
    let attempt = serde_json::json!({
        "started_at": NOW, "ended_at": null, "tools_called": [], "output": null, "error": null, "success": false
    });
    assert_eq!(plan["tasks"][0]["execution_history"], serde_json::json!([attempt]));
    // The first of two allowed failures: back to pending, and counted.
    let failed = after(&started, &[(0, Verb::Fail, Some("no key"))]);
    let task = &json(&failed)["tasks"][0];
    assert_eq!(
        (&task["status"], &task["retry_count"], &task["notes"]),
        (&"Pending".into(), &1.into(), &"no key".into())
    );
    let ended = &task["execution_history"][0];
    assert_eq!(
        (&ended["ended_at"], &ended["error"], &ended["success"]),
        (&NOW.into(), &"no key".into(), &false.into())
    );
    let last = after(&failed, &[(0, Verb::Start, None), (0, Verb::Fail, None)]);
    let task = &json(&last)["tasks"][0];
    assert_eq!((&task["status"], &task["retry_count"]), (&"Failed".into(), &2.into()));
    assert_eq!(task["execution_history"].as_array().map(Vec::len), Some(2));
    // Tried again at once, and finished.
    let request = VerbRequest {
        output: Some("done it"),
        files: &["old.rs".to_owned(), "new.rs".to_owned()],
        ..VerbRequest::new(Verb::Done, NOW)
    };
    let retried = after(&last, &[(0, Verb::Retry, None)]);
    let done = attempt_text(&retried, 0, &request);
    let plan = json(&done);
    let task = &plan["tasks"][0];
    assert_eq!(
        (&task["status"], &task["completed_at"], &task["notes"]),
        (&"Completed".into(), &NOW.into(), &"done it".into())
    );
    assert_eq!(task["artifacts"], serde_json::json!(["old.rs", "new.rs"]));
    assert_eq!(
        (
            &task["execution_history"][2]["output"],
            &task["execution_history"][2]["success"]
        ),
        (&"done it".into(), &true.into())
    );
    assert_eq!(plan["status"], "Completed");
    // Reopened: nothing of its end is left.
    let request = VerbRequest {
        force: true,
        ..VerbRequest::new(Verb::Reset, NOW)
    };
    let plan = json(&attempt_text(&done, 0, &request));
    let task = &plan["tasks"][0];
    assert_eq!(
        (&task["status"], &task["completed_at"], &task["retry_count"]),
        (&"Pending".into(), &serde_json::Value::Null, &0.into())
    );
    assert_eq!(plan["status"], "InProgress");
}

#[test]
fn output_and_note_are_both_kept() {
    let both = |verb| VerbRequest {
        starts: true,
        output: Some("built"),
        note: Some("at last"),
        ..VerbRequest::new(verb, NOW)
    };
    let started = after(STORED, &[(0, Verb::Start, None)]);
    let task = &json(&attempt_text(&started, 0, &both(Verb::Done)))["tasks"][0];
    assert_eq!(task["notes"], "built\nat last");
    assert_eq!(task["execution_history"][0]["output"], "built");
    let task = &json(&attempt_text(&started, 0, &both(Verb::Fail)))["tasks"][0];
    assert_eq!(task["notes"], "built\nat last");
    let attempt = &task["execution_history"][0];
    assert_eq!(
        (&attempt["output"], &attempt["error"]),
        (&"built".into(), &"at last".into())
    );
    let task = &json(&attempt_text(&started, 0, &both(Verb::Block)))["tasks"][0];
    assert_eq!(
        (&task["notes"], &task["status"]["Blocked"]),
        (&"built".into(), &"at last".into())
    );
    // A failed attempt records that without a note, too.
    let task = &json(&after(&started, &[(0, Verb::Fail, None)]))["tasks"][0];
    assert_eq!(task["execution_history"][0]["error"], "Task failed.");
    let aimi = one_task("aimi", State::Running).expect("a plan");
    let story = &json(&attempt_text(&aimi, 0, &both(Verb::Done)))["userStories"][0];
    assert_eq!(story["notes"], "built\nat last");
    let rawko = one_task("rawko", State::Running).expect("a plan");
    let done = attempt_text(&rawko, 0, &both(Verb::Done));
    assert!(done.contains("    output: |-\n      built\n      at last\n"), "{done}");
    let failed = attempt_text(&rawko, 0, &both(Verb::Fail));
    assert!(failed.contains("    output: built\n    error: at last\n"), "{failed}");
}

fn attempt_text(text: &str, task_ix: usize, request: &VerbRequest<'_>) -> String {
    let changed = attempt(text, task_ix, request).unwrap_or_else(|problem| panic!("{problem}"));
    changed.source.as_str().to_owned()
}

#[test]
fn opencrabs_blocks_with_a_reason_in_its_own_form() {
    let blocked = after(STORED, &[(0, Verb::Block, Some("no key"))]);
    assert_eq!(
        json(&blocked)["tasks"][0]["status"],
        serde_json::json!({"Blocked": "no key"})
    );
    assert_eq!(
        after(&blocked, &[(0, Verb::Reset, None)]),
        STORED.replace("2026-11-15T10:00:00Z", NOW),
        "what is unblocked looks as it did"
    );
}

const STEPS: &str = "id: plan-x
task: x
status: draft
version: 1
currentStepIndex: 0
createdAt: \"2026-11-15T10:00:00Z\"
updatedAt: \"2026-11-15T10:00:00Z\"
createdBy: planner
steps:
  - index: 0
    description: one
    status: pending # soon
    suggestedAgent: developer
  - index: 1
    description: two
    status: pending
    dependsOn: [0]
  - index: 2
    description: three
    status: pending
    dependsOn: [1]
";

#[test]
fn rawko_keeps_times_authors_results_and_the_current_step() {
    let touched = STEPS.replace("updatedAt: \"2026-11-15T10:00:00Z\"", &format!("updatedAt: \"{NOW}\""));
    let started = after(STEPS, &[(0, Verb::Start, None)]);
    let expect = touched.replace("status: draft", "status: in_progress").replace(
        "status: pending # soon\n    suggestedAgent: developer\n",
        &format!("status: in_progress # soon\n    suggestedAgent: developer\n    executedBy: developer\n    startedAt: \"{NOW}\"\n"),
    );
    assert_eq!(started, expect);
    // A failure leads to replanning; retrying undoes its effects.
    let failed = after(&started, &[(0, Verb::Fail, Some("it: broke"))]);
    assert!(
        failed.contains("status: replanning\nversion: 1\ncurrentStepIndex: 0\n"),
        "{failed}"
    );
    assert!(
        failed.contains(&format!("    completedAt: \"{NOW}\"\n    error: \"it: broke\"\n")),
        "{failed}"
    );
    assert_eq!(after(&failed, &[(0, Verb::Retry, None)]), started);
    // Completing a step does not complete the plan while steps are pending.
    let request = VerbRequest {
        output: Some("ok"),
        files: &["a.rs".to_owned()],
        by: Some("codex"),
        ..VerbRequest::new(Verb::Done, NOW)
    };
    let done = attempt_text(&started, 0, &request);
    assert!(
        done.contains("status: in_progress\nversion: 1\ncurrentStepIndex: 1\n"),
        "{done}"
    );
    assert!(done.contains("    executedBy: codex\n"), "{done}");
    assert!(done.contains("    output: ok\n    affectedFiles:\n"), "{done}");
    // Skipping also skips dependents, and a plan with only complete or skipped steps is complete.
    let skipped = after(&done, &[(1, Verb::Skip, Some("not needed"))]);
    assert_eq!(states(&skipped), "dss");
    assert!(
        skipped.contains("status: complete\nversion: 1\ncurrentStepIndex: 3\n"),
        "{skipped}"
    );
    assert!(skipped.contains("    output: \"Skipped: not needed\"\n"), "{skipped}");
    assert!(
        skipped.contains("    output: \"Skipped: step 1 was skipped: not needed\"\n"),
        "{skipped}"
    );
    let alone = VerbRequest {
        cascade: false,
        ..VerbRequest::new(Verb::Skip, NOW)
    };
    assert_eq!(states(&attempt_text(&done, 1, &alone)), "dsp");
    // A reset leaves no trace of the attempt.
    assert_eq!(
        after(&started, &[(0, Verb::Reset, None)]),
        touched.replace("status: draft", "status: in_progress")
    );
}

/// Applies a transition, and returns whether the whole text was read again.
fn is_read_whole(text: &str, task_ix: usize, request: &VerbRequest<'_>) -> bool {
    let facts = DiskFacts::default();
    let mut open = Open::new(&SourceText::new(text), &choice(&facts));
    let changed = transition(&open, &choice(&facts), task_ix, request).expect("it is allowed");
    let expected = look(changed.source.as_str());
    open.take(changed);
    let states = |inspection: &Inspection| {
        let linked = inspection.plan.as_ref().expect("a plan");
        linked
            .plan
            .tasks()
            .iter()
            .map(|task| task.status.state())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        states(&open.inspection),
        states(&expected),
        "the states are the new ones"
    );
    assert_eq!(open.source().as_str(), expected.source.as_str());
    open.inspection.source.as_str() == open.source().as_str()
}

#[test]
fn a_transition_in_a_large_plan_reads_its_part_again() {
    let start = VerbRequest::new(Verb::Start, NOW);
    for dialect in ["clido", "aimi", "rawko"] {
        let text = planwright_testkit::generate::plan(dialect, 20);
        assert!(!is_read_whole(&text, 0, &start), "{dialect}");
    }
    // Uncertain cases are read again: YAML that is not tidy, a plan with an error elsewhere, most of the tasks.
    let rawko = planwright_testkit::generate::plan("rawko", 20);
    assert!(is_read_whole(
        &rawko.replacen("\"Change module 5", "&x \"Change module 5", 1),
        0,
        &start
    ));
    let clido = planwright_testkit::generate::plan("clido", 20);
    assert!(is_read_whole(
        &clido.replacen("\"complexity\"", "\"id\": \"t19\", \"complexity\"", 1),
        5,
        &VerbRequest { force: true, ..start }
    ));
    assert!(is_read_whole(
        &planwright_testkit::generate::plan("clido", 1),
        0,
        &start
    ));
}

#[test]
fn undoing_a_failure_restores_the_notes_exactly() {
    let text = r#"{"goal": "g", "tasks": [{"id": "a", "description": "d", "status": "pending"},
  {"id": "b", "description": "d", "depends_on": ["a"], "status": "pending"},
  {"id": "c", "description": "d", "depends_on": ["b"], "notes": "", "status": "pending"},
  {"id": "e", "description": "d", "depends_on": ["c"], "notes": "one\ntwo \n\n", "status": "pending"}]}"#;
    let back = after(
        text,
        &[(0, Verb::Start, None), (0, Verb::Fail, None), (0, Verb::Reset, None)],
    );
    assert_eq!(back, text);
}

#[test]
fn a_failed_dependency_of_a_failed_task_is_a_reason_too() {
    let text = r#"{"goal": "g", "tasks": [{"id": "a", "description": "d", "status": "running"},
  {"id": "b", "description": "d", "depends_on": ["a"], "status": "running"},
  {"id": "c", "description": "d", "depends_on": ["b"]}]}"#;
    for steps in [[1, 0], [0, 1]] {
        let failed = after(text, &steps.map(|ix| (ix, Verb::Fail, None)));
        assert_eq!(states(&failed), "ffs");
        let request = VerbRequest {
            force: true,
            starts: true,
            ..VerbRequest::new(Verb::Retry, NOW)
        };
        let retried = attempt_text(&failed, 1, &request);
        assert_eq!(states(&retried), "frs", "`a` is still a reason");
        assert_eq!(states(&after(&retried, &[(0, Verb::Retry, None)])), "rrp");
    }
}

#[test]
fn resetting_a_skipped_task_removes_its_reason() {
    let failed = after(CHAIN, &[(0, Verb::Start, None), (0, Verb::Fail, None)]);
    let again = after(&failed, &[(1, Verb::Reset, None), (1, Verb::Skip, None)]);
    assert_eq!(states(&again), "fsspsp");
    // The user's own skip is not an effect of the failure.
    assert_eq!(states(&after(&again, &[(0, Verb::Reset, None)])), "pspppp");
}

const ALONG: &str = "id: plan-x
task: x
status: in_progress
version: 1
currentStepIndex: 0
createdAt: \"2026-11-15T10:00:00Z\"
updatedAt: \"2026-11-15T12:00:00.000Z\"
createdBy: planner
steps:
  - index: 0
    description: a
    status: pending # one
  - index: 1
    description: b
    status: pending
  - index: 2
    description: c
    status: pending
    dependsOn: [0, 1]
  - index: 3
    description: d
    status: pending # four
    dependsOn: [2]
  - index: 4
    description: e
    status: pending
    dependsOn: [1]
";

#[test]
fn resetting_a_rawko_step_restores_the_steps_it_skipped() {
    for note in [None, Some("not now")] {
        let skipped = after(ALONG, &[(0, Verb::Skip, note)]);
        assert_eq!(states(&skipped), "spssp");
        assert_eq!(after(&skipped, &[(0, Verb::Reset, None)]), ALONG);
    }
    // A task that waits for another skipped step stays skipped until that one is restored.
    let both = after(ALONG, &[(0, Verb::Skip, None), (1, Verb::Skip, None)]);
    assert_eq!(states(&both), "sssss");
    let one = after(&both, &[(0, Verb::Reset, None)]);
    assert_eq!(states(&one), "pssss");
    assert_eq!(after(&one, &[(1, Verb::Reset, None)]), ALONG);
    // A task that was skipped by its own name is not part of it.
    let own = after(
        ALONG,
        &[(3, Verb::Skip, None), (0, Verb::Skip, None), (0, Verb::Reset, None)],
    );
    assert_eq!(states(&own), "pppsp");
    let alone = VerbRequest {
        cascade: false,
        ..VerbRequest::new(Verb::Reset, NOW)
    };
    assert_eq!(states(&attempt_text(&both, 1, &alone)), "spsss");
}

#[test]
fn only_retry_and_reset_restore_skipped_dependents() {
    let left = r#"{"goal": "g", "tasks": [{"id": "t1", "description": "a"},
  {"id": "t2", "description": "b", "depends_on": ["t1"], "status": "skipped", "notes": "Skipped because t1 failed."}]}"#;
    assert_eq!(states(&after(left, &[(0, Verb::Start, None)])), "rs");
    let failed = after(left, &[(0, Verb::Start, None), (0, Verb::Fail, None)]);
    assert_eq!(states(&after(&failed, &[(0, Verb::Retry, None)])), "rp");
}

#[test]
fn an_empty_output_or_note_adds_nothing() {
    let rawko = one_task("rawko", State::Running).expect("a plan");
    for (output, note) in [(Some(""), Some("n")), (Some("n"), Some(""))] {
        let request = VerbRequest {
            output,
            note,
            ..VerbRequest::new(Verb::Done, NOW)
        };
        let done = attempt_text(&rawko, 0, &request);
        assert!(
            done.contains("output: n\n") || done.contains("output: \"n\"\n"),
            "{done}"
        );
    }
}

#[test]
fn the_last_step_of_a_plan_without_a_current_one_can_move() {
    let text = "id: p\ntask: T\nstatus: draft\nversion: 1\ncreatedAt: \"2026-01-23T10:00:00Z\"\n\
                updatedAt: \"2026-01-23T10:35:00Z\"\ncreatedBy: planner\nsteps:\n  - index: 0\n    description: A\n    \
                status: pending\n";
    let started = after(text, &[(0, Verb::Start, None)]);
    assert!(
        started.ends_with(&format!("    startedAt: \"{NOW}\"\ncurrentStepIndex: 0\n")),
        "{started}"
    );
}
