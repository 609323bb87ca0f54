//! A run in each dialect, whose file records it in its own words.

use crate::plans;
use crate::run::{Workspace, aimi, clido, rawko};

#[test]
fn clido_tasks_run_in_order_and_are_done() {
    let workspace = Workspace::new(("plan.json", &clido(&["b a", "a", "c a b"])), "says done made-$task");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "b done, a done, c done");
    assert_eq!(workspace.noted("began"), ["a", "b", "c"]);
    let expected = clido(&["b a", "a", "c a b"]).replace("\"status\": \"pending\"", "\"status\": \"done\"");
    assert_eq!(workspace.plan(), expected, "nothing else has changed");
    assert!(
        workspace.prompt("c", 1).contains("made-a"),
        "what a made is in the prompt of c"
    );
}

#[test]
fn a_plan_that_is_done_has_nothing_to_run() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.runs(&[]).exits(0);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["a"]);
}

#[test]
fn done_and_skipped_clido_tasks_are_not_run() {
    let plan = clido(&["a", "b a", "c b", "d"])
        .replacen("\"status\": \"pending\"", "\"status\": \"done\"", 1)
        .replace("Make b\",", "Make b\", \"skip\": true,")
        .replace("\"id\": \"d\", \"description\": \"Make d\", \"depends_on\": [], \"complexity\": \"low\", \"status\": \"pending\"", "\"id\": \"d\", \"description\": \"Make d\", \"depends_on\": [], \"complexity\": \"low\", \"status\": \"skipped\"");
    let workspace = Workspace::new(("plan.json", &plan), "says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["c"]);
    // `skip: true` keeps a pending task from running, and its status stays unchanged.
    assert!(
        workspace.states().ends_with("c done, d skipped"),
        "{}",
        workspace.states()
    );
}

#[test]
fn aimi_stories_become_completed_and_keep_their_notes() {
    let plan = aimi(1, &["1", "2 1"]);
    let workspace = Workspace::new(("tasks.json", &plan), "says done made");
    workspace.runs(&[]).exits(0);
    assert_eq!(
        workspace.plan(),
        plan.replace("\"status\": \"pending\"", "\"status\": \"completed\"")
    );
}

#[test]
fn a_failed_aimi_story_has_the_reason_in_its_notes() {
    let workspace = Workspace::new(
        ("tasks.json", &aimi(1, &["1", "2 1"])),
        "result '{\"planwright_result\": 1, \"outcome\": \"failed\", \"notes\": \"no compiler\"}'",
    );
    workspace.runs(&[]).exits(1);
    let plan = workspace.json();
    assert_eq!(plan["userStories"][0]["status"], "failed");
    assert!(
        plan["userStories"][0]["notes"]
            .as_str()
            .expect("notes")
            .contains("no compiler"),
        "{plan}"
    );
    assert_eq!(plan["userStories"][1]["status"], "pending", "dependents wait");
}

const AIMI_2: &str = r#"{
  "schemaVersion": "2.2",
  "metadata": {"title": "feat: Try", "type": "feat", "branchName": "main", "createdAt": "2026-03-03", "planPath": null},
  "userStories": [
    {"id": "US-001", "title": "One", "description": "As a user, I want one so that it is there.", "acceptanceCriteria": ["Typecheck passes"], "priority": 1, "passes": false, "notes": ""},
    {"id": "US-002", "title": "Two", "description": "As a user, I want two so that it is there.", "acceptanceCriteria": ["Typecheck passes"], "priority": 2, "passes": false, "notes": ""},
    {"id": "US-003", "title": "Three", "description": "As a user, I want three so that it is there.", "acceptanceCriteria": ["Typecheck passes"], "priority": 3, "passes": false, "notes": ""}
  ]
}
"#;

#[test]
fn old_aimi_files_run_one_after_another_in_their_own_form() {
    let workspace = Workspace::new(
        ("tasks.json", AIMI_2),
        "echo $task-begins >> \"$ASIDE/order\"; says done; echo $task-ends >> \"$ASIDE/order\"",
    );
    workspace.runs(&[]).exits(0);
    assert_eq!(
        workspace.noted("order").join(" "),
        "US-001-begins US-001-ends US-002-begins US-002-ends US-003-begins US-003-ends"
    );
    assert_eq!(
        workspace.plan(),
        AIMI_2.replace("\"passes\": false", "\"passes\": true")
    );
}

#[test]
fn an_old_aimi_story_that_fails_has_the_reason_in_its_notes_and_the_rest_waits() {
    let workspace = Workspace::new(
        ("tasks.json", AIMI_2),
        "[ $task = US-001 ] && says done && exit 0\nresult '{\"planwright_result\": 1, \"outcome\": \"failed\", \"notes\": \"no compiler\"}'",
    );
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "US-001 done, US-002 failed, US-003 pending");
    let plan = workspace.json();
    assert_eq!(plan["userStories"][1]["passes"], false);
    assert!(
        plan["userStories"][1]["notes"]
            .as_str()
            .expect("notes")
            .contains("no compiler"),
        "{plan}"
    );
    workspace.script("says done");
    workspace.runs(&["--retry-failed"]).exits(0);
    assert_eq!(workspace.states(), "US-001 done, US-002 done, US-003 done");
}

const CRAB: &str = r#"{
  "id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0001",
  "session_id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0009",
  "title": "Limit requests",
  "description": "Per client and minute",
  "tasks": [
    {"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0002", "order": 1, "title": "Count them", "description": "In a map", "task_type": "edit", "status": "Pending", "execution_history": [], "retry_count": 0, "max_retries": 2, "artifacts": []},
    {"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0003", "order": 2, "title": "Answer 429", "description": "With a header", "task_type": "edit", "dependencies": ["6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0002"], "status": "Pending", "execution_history": [], "retry_count": 0, "max_retries": 3, "artifacts": []}
  ],
  "status": "Approved",
  "approved_at": "2026-11-15T10:00:00Z"
}
"#;

#[test]
fn opencrabs_plans_keep_their_history_artifacts_and_status() {
    let workspace = Workspace::new(
        ("plan.json", CRAB),
        "result '{\"planwright_result\": 1, \"outcome\": \"done\", \"output\": \"counted\", \"affected_files\": [\"src/map.rs\"]}'",
    );
    workspace.runs(&[]).exits(0);
    let plan = workspace.json();
    assert_eq!(plan["status"], "Completed");
    for task in plan["tasks"].as_array().expect("tasks") {
        assert_eq!(task["status"], "Completed");
        assert!(task["completed_at"].is_string(), "{task}");
        assert_eq!(task["artifacts"], serde_json::json!(["src/map.rs"]));
        assert_eq!(task["retry_count"], 0);
        let history = task["execution_history"].as_array().expect("a list");
        assert_eq!(history.len(), 1);
        assert_eq!(
            (&history[0]["success"], &history[0]["output"]),
            (&true.into(), &"counted".into())
        );
        assert!(
            history[0]["started_at"].is_string() && history[0]["ended_at"].is_string(),
            "{task}"
        );
        assert!(task["notes"].as_str().expect("notes").contains("counted"), "{task}");
    }
}

#[test]
fn opencrabs_plans_keep_the_reports_of_agents() {
    let told = "result '{\"planwright_result\": 1, \"outcome\": \"done\", \"reflection\": \"too long\", \"tools_called\": [\"Edit\"]}'";
    let workspace = Workspace::new(("plan.json", CRAB), told);
    workspace.runs(&[]).exits(0);
    let task = workspace.json()["tasks"][0].clone();
    assert_eq!(task["reflection"], "too long");
    let called = &task["execution_history"][0]["tools_called"];
    assert_eq!(called[0]["tool_name"], "Edit", "{called}");
    let failed = told.replace("done", "failed");
    let workspace = Workspace::new(("plan.json", CRAB), &failed);
    workspace.runs(&[]).exits(1);
    let task = workspace.json()["tasks"][0].clone();
    assert_eq!(task["reflection"], "too long", "{task}");
    assert_eq!(
        task["execution_history"][0]["tools_called"][0]["tool_name"], "Edit",
        "{task}"
    );
    // An agent whose output consists of events names its tools there.
    let events = "echo '{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"}}]}}'; \
                  echo '{\"type\":\"result\",\"is_error\":false,\"result\":\"All is there.\"}'; \
                  result '{\"planwright_result\": 1, \"outcome\": \"done\", \"output\": \"counted\"}'";
    let workspace = Workspace::new(("plan.json", CRAB), events);
    workspace.configure_agent("output = \"claude-stream-json\"", "", "");
    workspace.runs(&[]).exits(0);
    let task = workspace.json()["tasks"][0].clone();
    assert_eq!(task["reflection"], "All is there.", "{task}");
    let called = &task["execution_history"][0]["tools_called"][0];
    assert_eq!(
        (&called["tool_name"], &called["input"]),
        (&"Bash".into(), &"ls".into()),
        "{task}"
    );
    assert_eq!(called["success"], true);
    let failed = events.replace(
        "echo '{\"type\":\"result\"",
        "echo '{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"is_error\":true}]}}'; echo '{\"type\":\"result\"",
    );
    let failed = failed.replace("\"type\":\"tool_use\"", "\"type\":\"tool_use\",\"id\":\"1\"");
    let workspace = Workspace::new(("plan.json", CRAB), &failed);
    workspace.configure_agent("output = \"claude-stream-json\"", "", "");
    workspace.runs(&[]).exits(0);
    let task = workspace.json()["tasks"][0].clone();
    assert_eq!(
        task["execution_history"][0]["tools_called"][0]["success"], false,
        "{task}"
    );
    assert!(
        called["timestamp"].as_str().is_some_and(|at| at.ends_with('Z')),
        "{called}"
    );
}

#[test]
fn opencrabs_counts_attempts_and_gives_up_at_the_most() {
    let workspace = Workspace::new(
        ("plan.json", CRAB),
        "result \"{\\\"planwright_result\\\": 1, \\\"outcome\\\": \\\"failed\\\", \\\"notes\\\": \\\"try $attempt\\\"}\"",
    );
    // Even if a user allows more attempts, the plan calls the task failed then.
    workspace.runs(&["--attempts", "5"]).exits(1);
    assert_eq!(
        workspace.noted("began"),
        ["1", "1"],
        "max_retries is the number of attempts in all"
    );
    let plan = workspace.json();
    let task = &plan["tasks"][0];
    assert_eq!((&task["status"], &task["retry_count"]), (&"Failed".into(), &2.into()));
    let history = task["execution_history"].as_array().expect("a list");
    assert_eq!(history.len(), 2, "{task}");
    assert_eq!(
        (&history[0]["success"], &history[1]["success"]),
        (&false.into(), &false.into())
    );
    assert!(history[0]["error"].as_str().expect("why").contains("try 1"), "{task}");
    assert!(history[1]["error"].as_str().expect("why").contains("try 2"), "{task}");
    assert_eq!(plan["tasks"][1]["status"], "Pending", "dependents stay pending");
    assert_eq!(plan["status"], "InProgress");
}

#[test]
fn opencrabs_plans_continue_after_a_failed_attempt() {
    let workspace = Workspace::new(("plan.json", CRAB), "[ $task$attempt = 11 ] && exit 7\nsays done");
    workspace.configure("# attempts: as the plan has it", "");
    workspace.runs(&[]).exits(0);
    let plan = workspace.json();
    let task = &plan["tasks"][0];
    assert_eq!(
        (&task["status"], &task["retry_count"]),
        (&"Completed".into(), &1.into()),
        "{task}"
    );
    assert_eq!(task["execution_history"].as_array().expect("a list").len(), 2);
    assert_eq!(plan["status"], "Completed");
}

#[test]
fn opencrabs_plans_run_when_they_are_approved() {
    for status in ["Draft", "PendingApproval"] {
        let plan = CRAB.replace("\"Approved\"", &format!("\"{status}\""));
        let workspace = Workspace::new(("plan.json", &plan), "says done");
        workspace.runs(&[]).exits(1).says("approve");
        assert_eq!(workspace.plan(), plan);
        assert_eq!(workspace.noted("began"), [""; 0]);
        workspace.does(&["approve", "plan.json"]).exits(0);
        workspace.runs(&[]).exits(0);
        assert_eq!(workspace.json()["status"], "Completed");
    }
}

#[test]
fn opencrabs_drafts_run_if_the_user_confirms() {
    let plan = CRAB.replace("\"Approved\"", "\"Draft\"");
    let workspace = Workspace::new(("plan.json", &plan), "says done");
    workspace.runs(&["--yes"]).exits(0);
    assert_eq!(workspace.json()["status"], "Completed");
}

#[test]
fn rejected_and_minimal_opencrabs_plans_do_not_run() {
    let rejected = CRAB.replace("\"Approved\"", "\"Rejected\"");
    let workspace = Workspace::new(("plan.json", &rejected), "says done");
    workspace.runs(&["--yes"]).exits(1);
    assert_eq!(workspace.plan(), rejected);
    let workspace = Workspace::new(("plan.json", plans::OPENCRABS), "says done");
    workspace.runs(&["--yes"]).exits(1).says("import");
    assert_eq!(workspace.noted("began"), [""; 0]);
}

/// Returns a workspace with a task pack that fits its source.
fn pack(change: impl Fn(String) -> String, script: &str) -> Workspace {
    let workspace = Workspace::new(("docs/tasks/photos.md", ""), script);
    workspace.write("docs/plans/photos.md", plans::SOURCE_PLAN);
    let hash = workspace.does(&["hash", "docs/plans/photos.md"]).exits(0).text;
    workspace.write("docs/tasks/photos.md", change(plans::task_pack(hash.trim())));
    workspace
}

#[test]
fn task_packs_run_wave_by_wave_in_the_listed_order_and_stay_as_they_are() {
    let workspace = pack(|pack| pack, "says done");
    let before = workspace.plan();
    workspace.runs(&["-j", "1"]).exits(0);
    assert_eq!(workspace.noted("began"), ["T002", "T001", "T003"]);
    assert_eq!(workspace.states(), "T001 done, T002 done, T003 done");
    assert_eq!(workspace.plan(), before, "a pack holds no state");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began").len(), 3, "what is done is not run again");
}

#[test]
fn a_failed_task_of_a_pack_stops_the_run_at_the_end_of_its_wave() {
    // T003 only waits for T001, but its wave comes after that of T002.
    let workspace = pack(|pack| pack, "[ $task = T002 ] && exit 1\nsays done");
    workspace.runs(&["-j", "1"]).exits(1);
    assert_eq!(workspace.states(), "T001 done, T002 failed, T003 pending");
    workspace.script("says done");
    workspace.runs(&["--retry-failed"]).exits(0);
    assert_eq!(workspace.states(), "T001 done, T002 done, T003 done");
}

#[test]
fn a_stale_pack_is_refused_with_the_way_to_rebuild_it() {
    let workspace = pack(|pack| pack, "says done");
    workspace.write("docs/plans/photos.md", format!("{}\n- R2 more\n", plans::SOURCE_PLAN));
    workspace.runs(&[]).exits(1).says("planwright tasks regenerate");
    assert_eq!(workspace.noted("began"), [""; 0]);
}

#[test]
fn a_stop_condition_of_a_pack_ends_the_run_and_is_quoted() {
    let workspace = pack(
        |pack| pack,
        "[ $task = T002 ] && result '{\"planwright_result\": 1, \"outcome\": \"stop\", \"stop_condition\": \"the disk is full\"}' && exit 0\nsays done",
    );
    workspace.runs(&["-j", "1"]).exits(1);
    let ended = workspace.ended();
    assert_eq!(ended.standing.as_str(), "stopped");
    assert!(ended.why.expect("a reason").contains("the disk is full"));
    assert_eq!(workspace.noted("began"), ["T002"], "no other task starts");
    let log = workspace.log().join("\n");
    assert!(
        log.contains("finished T002 1 stopped\n") && log.contains("stopping condition\n"),
        "{log}"
    );
}

#[test]
fn rawko_steps_keep_their_output_files_and_times() {
    let plan = rawko(&["Sweep", "Mop"]);
    let workspace = Workspace::new(
        (".rawko/plans/plan-20260501-cellar.yaml", &plan),
        "result '{\"planwright_result\": 1, \"outcome\": \"done\", \"output\": \"clean\", \"affected_files\": [\"cellar/floor\"]}'",
    );
    workspace.runs(&[]).exits(0);
    let text = workspace.plan();
    assert_eq!(text.matches("status: complete\n").count(), 3, "{text}");
    assert!(text.contains("currentStepIndex: 2\n"), "{text}");
    for (part, count) in [
        ("    output: clean\n", 2),
        ("cellar/floor", 2),
        ("    startedAt: ", 2),
        ("    completedAt: ", 2),
        ("    executedBy: mock\n", 2),
        ("    error: ", 0),
    ] {
        assert_eq!(text.matches(part).count(), count, "{part} in\n{text}");
    }
    let current = workspace.read(".rawko/current-task.yaml");
    assert!(current.contains("planId: plan-20260501-cellar"), "{current}");
    assert!(current.contains("status: complete"), "{current}");
}

#[test]
fn a_failed_rawko_step_puts_the_plan_into_replanning() {
    let workspace = Workspace::new(
        (
            ".rawko/plans/plan-20260501-cellar.yaml",
            &rawko(&["Sweep", "Mop", "Dry"]),
        ),
        "[ $task = 1 ] && result '{\"planwright_result\": 1, \"outcome\": \"failed\", \"notes\": \"no water\"}' && exit 0\nsays done",
    );
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "0 done, 1 failed, 2 pending");
    let text = workspace.plan();
    assert!(
        text.contains("\nstatus: replanning\n") && text.contains("no water"),
        "{text}"
    );
    assert!(text.contains("currentStepIndex: 1\n"), "{text}");
    assert!(
        workspace
            .read(".rawko/current-task.yaml")
            .contains("status: replanning")
    );
    // Retrying it is one way to continue.
    workspace.script("says done");
    workspace.runs(&["--retry-failed"]).exits(0);
    assert!(
        workspace.plan().contains("\nstatus: complete\n"),
        "{}",
        workspace.plan()
    );
}

#[test]
fn a_failed_rawko_step_reports_that_the_plan_needs_a_replan() {
    let workspace = Workspace::new((".rawko/plans/plan-20260501-cellar.yaml", &rawko(&["Sweep"])), "exit 1");
    workspace.runs(&[]).exits(1);
    let ended = workspace.ended();
    assert!(ended.why.expect("a reason").contains("`replanning`"));
    assert_eq!(
        ended.next.as_deref(),
        Some("planwright replan .rawko/plans/plan-20260501-cellar.yaml")
    );
}

#[test]
fn rawko_steps_go_to_the_agent_that_they_suggest() {
    let plan = rawko(&["Sweep", "Mop"]).replace("description: Mop\n", "description: Mop\n    suggestedAgent: tester\n");
    let workspace = Workspace::new((".rawko/plans/plan-20260501-cellar.yaml", &plan), "says done");
    let other = workspace.aside("other.sh");
    std::fs::write(&other, "echo done by the tester").expect("the folder is ours");
    workspace.configure(
        "",
        &format!("[agents.tester]\ncommand = [\"sh\", \"{}\"]\n", other.display()),
    );
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["0"]);
    assert!(workspace.plan().contains("executedBy: tester"), "{}", workspace.plan());
    assert!(workspace.plan().contains("done by the tester"), "{}", workspace.plan());
}

#[test]
fn plans_with_errors_are_not_run() {
    let workspace = Workspace::new(("plan.json", plans::CLIDO_BAD), "says done");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.noted("began"), [""; 0]);
    assert_eq!(workspace.plan(), plans::CLIDO_BAD);
    assert_eq!(workspace.places(), []);
}

#[test]
fn criteria_that_no_rule_verifies_are_named() {
    let plan = aimi(2, &["1"]).replace("\"Typecheck passes\"", "\"Typecheck passes\", \"The button is blue\"");
    let workspace = Workspace::new(("tasks.json", &plan), "says done");
    let rules = "[verify]\nevery = [[\"true\"]]\n[[verify.criteria]]\ntext = \"Typecheck passes\"\nrun = [[\"true\"]]";
    workspace.configure("", rules);
    let words = "no rule verifies “The button is blue”";
    workspace.runs(&["--dry-run"]).exits(0).says(words);
    let words = "Criteria that no rule verifies US-001 The button is blue";
    workspace.runs(&[]).exits(0).says(words);
    let report = workspace.does(&["summary", "--json"]).exits(0).as_json();
    assert_eq!(report["unverified_criteria"][0]["criteria"][0], "The button is blue");
}
