//! The verbs on whole plans and the review of a task, through the real binary.

use planwright_run::files::DiskFiles;
use planwright_run::journal::JournalHeader;
use planwright_run::layout::PlanPlace;
use planwright_run::runs::{RunEvent, RunLock, RunLog, RunPlace, TaskRecord};
use planwright_testkit::lend_run_lock;

use crate::sandbox::Sandbox;

const CRAB: &str = r#"{
  "id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0001",
  "title": "Limit requests",
  "description": "Per client and minute",
  "tasks": [
    {"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0002", "order": 1, "title": "Count them", "description": "In a map", "task_type": "edit"}
  ],
  "status": "Draft",
  "approved_at": null
}
"#;

const CLIDO: &str = r#"{
  "goal": "Limit requests",
  "tasks": [
    {"id": "t1", "description": "Count them", "status": "running"},
    {"id": "t2", "description": "Answer 429", "depends_on": ["t1"]}
  ]
}
"#;

const RAWKO: &str = "id: plan-x\ntask: x\nstatus: in_progress\nversion: 1\ncurrentStepIndex: 0\n\
    createdAt: \"2026-11-15T10:00:00Z\"\nupdatedAt: \"2026-11-15T10:00:00Z\"\ncreatedBy: planner\n\
    steps:\n  - index: 0\n    description: a\n    status: pending\n";

const PLAN: &str = "session/.opencrabs_plan_6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0009.json";

fn crab() -> Sandbox {
    Sandbox::with(&[(PLAN, CRAB)])
}

/// Returns the status that a plan has on disk.
fn status(sandbox: &Sandbox) -> String {
    let plan: serde_json::Value = serde_json::from_str(&sandbox.read(PLAN)).expect("JSON");
    plan["status"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn a_plan_is_submitted_rejected_and_approved() {
    let sandbox = crab();
    sandbox.run(&["submit", "--by", "bob"]).exits(0).is_as_in("submit");
    sandbox.run(&["submit"]).exits(1).is_as_in("submit-twice");
    let ran = sandbox.run(&["reject"]).exits(2);
    assert!(ran.stderr.contains("needs a reason"), "{}", ran.text());
    sandbox.run(&["reject", "--note", "No tests."]).exits(0);
    assert_eq!(status(&sandbox), "Rejected");
    sandbox.run(&["start", "1"]).exits(1);
    sandbox.run(&["submit", PLAN]).exits(0);
    sandbox.run(&["approve", "--by", "ada"]).exits(0).is_as_in("approve");
    assert_eq!(status(&sandbox), "Approved");
    assert!(sandbox.read(PLAN).contains("\"approved_at\": \"20"));
    let history = sandbox.run(&["history", "--json"]).exits(0).json();
    let verbs: Vec<_> = history["changes"].as_array().expect("a list").iter().collect();
    assert_eq!(
        (&verbs[0]["verb"], &verbs[0]["by"], &verbs[2]["verb"], &verbs[2]["note"]),
        (&"approve".into(), &"ada".into(), &"reject".into(), &"No tests.".into())
    );
    sandbox.run(&["undo"]).exits(0);
    assert_eq!(status(&sandbox), "PendingApproval");
    sandbox.run(&["cancel", "--note", "not needed"]).exits(0);
    sandbox.run(&["cancel"]).exits(1).is_as_in("cancel-twice");
    for _ in 0..4 {
        sandbox.run(&["undo"]).exits(0);
    }
    assert_eq!(sandbox.read(PLAN), CRAB, "every byte is as it was");
}

#[test]
fn a_dry_run_of_an_approval_writes_nothing() {
    let sandbox = crab();
    sandbox
        .run(&["approve", "--dry-run"])
        .exits(0)
        .is_as_in("approve-dry-run");
    let diff = sandbox.run(&["submit", "--diff"]).exits(0).stdout;
    assert!(diff.contains("+  \"status\": \"PendingApproval\","), "{diff}");
    let report = sandbox.run(&["approve", "--json", "--dry-run"]).exits(0).json();
    assert_eq!(
        (&report["schema_version"], &report["verb"], &report["written"]),
        (&"planwright.change/v1".into(), &"approve".into(), &false.into())
    );
    assert_eq!(
        report["plan_status"],
        serde_json::json!({"from": "Draft", "to": "Approved"})
    );
    assert_eq!(sandbox.read(PLAN), CRAB);
    assert!(!sandbox.path().join(".planwright").exists());
}

#[test]
fn dialects_without_approval_name_the_alternative() {
    let sandbox = Sandbox::with(&[
        (".clido/plans/p.json", CLIDO),
        (".rawko/plans/plan-x.yaml", RAWKO),
        (
            ".rawko/current-task.yaml",
            "task: x\nplanId: plan-x\nstatus: in_progress\n",
        ),
    ]);
    sandbox.run(&["approve", "p"]).exits(1).is_as_in("approve-clido");
    sandbox.run(&["submit", "plan-x"]).exits(1).is_as_in("submit-rawko");
    sandbox
        .run(&["cancel", "plan-x", "--note", "no budget"])
        .exits(0)
        .is_as_in("cancel-rawko");
    let text = sandbox.read(".rawko/plans/plan-x.yaml");
    assert!(
        text.contains("\nstatus: failed\n") && text.contains("    - \"Failed: no budget\"\n"),
        "{text}"
    );
    assert!(sandbox.read(".rawko/current-task.yaml").contains("status: failed"));
    sandbox.run(&["start", "0", "-p", "plan-x"]).exits(1);
}

/// Leaves a task for review, like a run.
fn leave_for_review(sandbox: &Sandbox, plan: &str, task: &str) -> RunPlace {
    let run = RunPlace::create(&DiskFiles, sandbox.path(), "2026-11-16T05:30:12Z").expect("a run");
    let header = JournalHeader {
        path: plan.to_owned(),
        id: None,
    };
    let mut log = RunLog::begin(&DiskFiles, &run.log(), &header).expect("a log");
    let event = RunEvent::Review(TaskRecord { task: task.to_owned() });
    log.add("2026-11-16T05:30:13Z", &event).expect("added");
    log.commit().expect("durable");
    run
}

#[test]
fn approve_and_reject_decide_tasks_that_wait_for_review() {
    let sandbox = Sandbox::with(&[(".clido/plans/p.json", CLIDO)]);
    sandbox
        .run(&["approve", "t1"])
        .exits(1)
        .is_as_in("approve-nothing-waits");
    leave_for_review(&sandbox, ".clido/plans/p.json", "t1");
    sandbox
        .run(&["approve", "t2"])
        .exits(1)
        .is_as_in("approve-another-waits");
    let report = sandbox
        .run(&["reject", "t1", "--note", "no tests", "--dry-run", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&report["verb"], &report["tasks"][0]["to"]),
        (&"reject".into(), &"failed".into())
    );
    sandbox
        .run(&["approve", "t1", "--by", "ada"])
        .exits(0)
        .is_as_in("approve-task");
    let history = sandbox.run(&["history"]).exits(0).stdout;
    assert!(history.contains("approve t1  by ada"), "{history}");
}

#[test]
fn arguments_are_resolved_to_plans_or_tasks() {
    let named_alike = CLIDO.replace("\"t2\"", "\"p\"");
    let sandbox = Sandbox::with(&[(".clido/plans/p.json", &named_alike)]);
    sandbox.run(&["approve", "p"]).exits(1).is_as_in("approve-two-readings");
    sandbox
        .run(&["approve", "nothing"])
        .exits(1)
        .is_as_in("approve-no-such-name");
    let as_task = sandbox.run(&["approve", "p", "-p", "p"]).exits(1).stderr;
    assert!(as_task.contains("task `p` does not wait for review"), "{as_task}");
    let as_plan = sandbox.run(&["approve", "-p", "p"]).exits(1).stderr;
    assert!(as_plan.contains("cannot approve this plan"), "{as_plan}");
    // A number is a task, even if it is a part of the plan's name; a path is a plan, even if it is missing.
    let sandbox = crab();
    let as_task = sandbox.run(&["approve", "1"]).exits(1).stderr;
    assert!(as_task.contains("task `1` does not wait for review"), "{as_task}");
    sandbox.run(&["approve", "nowhere.json"]).exits(3);
    sandbox.run(&["approve", "6b2f6f6e"]).exits(0);
    assert_eq!(status(&sandbox), "Approved");
}

#[test]
fn a_plan_with_a_live_run_cannot_be_cancelled() {
    let sandbox = crab();
    sandbox.run(&["approve"]).exits(0);
    let run = leave_for_review(&sandbox, PLAN, "1");
    let place = PlanPlace::of(&DiskFiles, &sandbox.path().join(PLAN)).expect("a place");
    let live = RunLock::acquire(&DiskFiles, &place, run.id(), "now").expect("nobody else runs it");
    lend_run_lock(&place.lock()).expect("ours");
    for args in [&["cancel"][..], &["reject", "--note", "no"]] {
        let ran = sandbox.run(args).exits(1);
        assert!(
            ran.stderr.contains("run 20261116-053012 is working on it"),
            "{}",
            ran.text()
        );
    }
    let report = sandbox.run(&["approve", "1", "--dry-run", "--json"]).exits(0).json();
    assert_eq!(
        report["run"],
        serde_json::json!({"id": "20261116-053012", "answer": null})
    );
    sandbox
        .run(&["approve", "1", "--dry-run"])
        .exits(0)
        .is_as_in("approve-live-dry-run");
    drop(live);
    // A process that another test is just starting briefly holds a lock that this one has released.
    let is_cancelled = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        sandbox.run(&["cancel"]).status == Some(0)
    });
    assert!(is_cancelled);
    assert_eq!(status(&sandbox), "Cancelled");
}
