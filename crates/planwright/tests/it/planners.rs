//! Planners that are rate limited or wrap their answers; the approval of their plans; and how these are compared and reported to programs.

use serde_json::{Value, json};

use crate::planning::{BETTER, FAILED, GOOD, WORKER, asked, configuration, n_asked, plan_file, planner};
use crate::proposals::growing;
use crate::run::Workspace;
use crate::run_replans::failing;
use crate::sandbox::Sandbox;

/// Returns the JSON that a command prints, without its other output.
#[track_caller]
fn json_of(workspace: &Workspace, args: &[&str], status: i32) -> Value {
    let came = workspace.does(args).exits(status);
    let start = came.text.find("{\n").expect("an object");
    let end = came.text.rfind("\n}").expect("its end");
    serde_json::from_str(&came.text[start..end + 2]).expect("JSON")
}

#[test]
fn a_rate_limited_planner_is_waited_for() {
    let limited = "echo 'API error: 429 too many requests, retry after 1 seconds' >&2; exit 1";
    let workspace = planner(&format!(
        "if [ -e \"$ASIDE/asked-1\" ]; then {GOOD}\nelse {limited}; fi"
    ));
    workspace
        .does(&["plan", "Limit calls", "--dialect", "clido"])
        .exits(0)
        .says("rate limited by its provider")
        .says("thinker is asked again in 1s")
        .says("one answer");
    assert_eq!(n_asked(&workspace), 2);
}

#[test]
fn a_limited_or_missing_planner_is_replaced_by_its_fallback() {
    for program in ["sh", "no-such-program"] {
        let workspace = planner("echo '429 too many requests, retry after 3600 seconds' >&2; exit 1");
        workspace.write("second.sh", GOOD);
        let second = "[agents.second]\ncommand = [\"sh\", \"second.sh\"]\n";
        let text = configuration(&workspace, second)
            .replace("set = {", "fallback = \"second\"\nset = {")
            .replacen("\"sh\"", &format!("\"{program}\""), 1);
        workspace.write("planwright.toml", text);
        workspace
            .does(&["plan", "Limit calls", "--dialect", "clido"])
            .exits(0)
            .says("second is asked");
        workspace
            .does(&["history", &plan_file(&workspace)])
            .exits(0)
            .says("by second");
    }
}

#[test]
fn a_run_waits_for_a_rate_limited_planner() {
    let limited = "echo '429 too many requests, retry after 1 seconds' >&2; exit 1";
    let workspace = failing(&format!("if [ ! -e \"$ASIDE/asked-1\" ]; then {limited}; fi\n{BETTER}"));
    workspace
        .does(&["run", "plan.json", "--replan", "2"])
        .exits(0)
        .says("is asked again in 1s");
    assert_eq!(workspace.read("made").lines().count(), 3);
}

#[test]
fn answers_in_the_wrapping_of_other_programs_are_unpacked() {
    let plan = r#"{"goal": "x", "tasks": [{"id": "t1", "description": "Read it"}]}"#;
    for answer in [
        json!({"type": "result", "result": format!("Why\n```json\n{plan}\n```\n")}),
        json!({"response": plan}),
        json!({"message": {"content": [{"type": "text", "text": plan}]}}),
    ] {
        let workspace = planner("exit 7");
        workspace.write("answer.json", answer.to_string());
        workspace
            .does(&["plan", "x", "--dialect", "clido", "--from", "answer.json"])
            .exits(0);
    }
}

#[test]
fn a_user_template_is_used_for_repairs() {
    let workspace = planner(&format!(
        "if [ -e \"$ASIDE/asked-1\" ]; then {GOOD}\nelse echo nothing; fi"
    ));
    workspace.write("repair.md", "OURS {{answer}} {{findings}}");
    let text = configuration(&workspace, "").replace("[plan]\n", "[plan]\nrepair_template = \"repair.md\"\n");
    workspace.write("planwright.toml", text);
    workspace.does(&["plan", "x", "--dialect", "clido"]).exits(0);
    assert!(!asked(&workspace, 0).contains("OURS"));
    assert!(asked(&workspace, 1).starts_with("OURS"), "{}", asked(&workspace, 1));
    workspace.write("repair.md", "{{nothing}}");
    workspace
        .does(&["plan", "x", "--dialect", "clido"])
        .exits(1)
        .says("the template has errors");
}

const CRAB: &str = r#"{"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0001", "title": "P", "description": "d", "status": "PendingApproval",
  "tasks": [{"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0002", "order": 1, "title": "a", "description": "b", "task_type": "Edit",
    "status": "Pending"}]}"#;

/// Returns the last change of a plan by a verb.
#[track_caller]
fn last(workspace: &Workspace, plan: &str, verb: &str) -> Value {
    let history = json_of(workspace, &["history", plan, "--json"], 0);
    let mut changes = history["changes"].as_array().expect("changes").iter();
    let change = changes.find(|change| change["verb"] == verb);
    change.unwrap_or_else(|| panic!("{history}")).clone()
}

#[test]
fn the_user_who_accepts_a_version_is_recorded() {
    let mut workspace = planner(BETTER);
    workspace.set("USER", "ada");
    workspace.write("plan.json", FAILED);
    for (options, who) in [(&[][..], "ada"), (&["--by", "bob"][..], "bob")] {
        let args: Vec<&str> = ["replan", "plan.json", "--yes"]
            .iter()
            .chain(options)
            .copied()
            .collect();
        workspace.does(&args).exits(0);
        let note = last(&workspace, "plan.json", "replan")["note"].clone();
        let expected = format!("approved by {who}.\n");
        assert!(note.as_str().is_some_and(|note| note.starts_with(&expected)), "{note}");
        workspace.does(&["undo", "plan.json"]).exits(0);
    }
    workspace.does(&["replan", "plan.json"]).exits(1);
    workspace
        .does(&["reject", "--proposed", "plan.json", "--note", "no"])
        .exits(0);
    assert_eq!(last(&workspace, "plan.json", "reject")["by"], "ada");
}

#[test]
fn the_user_who_approves_a_plan_is_recorded() {
    for args in [&["approve", "crab.json"][..], &["run", "crab.json", "--yes"][..]] {
        let mut workspace = planner("exit 7");
        workspace.set("LOGNAME", "ada");
        workspace.write("crab.json", CRAB);
        workspace.write("agent.sh", "true");
        workspace.write("planwright.toml", configuration(&workspace, WORKER));
        workspace.does(args).exits(0);
        assert_eq!(last(&workspace, "crab.json", "approve")["by"], "ada", "{args:?}");
    }
}

const OLD: &str = "id: plan-x\ntask: t\nstatus: in_progress\nversion: 1\nsteps:\n  - index: 0\n    description: Write it\n    status: pending\n  - index: 1\n    description: Read it\n    status: complete\n  - index: 2\n    description: Drop it\n    status: pending\n";
const NEW: &str = "id: plan-x-v2\ntask: t\nstatus: in_progress\nversion: 2\npreviousPlanId: plan-x\nsteps:\n  - index: 0\n    description: Read it\n    status: complete\n  - index: 1\n    description: Write it\n    status: failed\n  - index: 2\n    description: Test it\n    status: complete\n";

#[test]
fn tasks_are_compared_by_content_and_not_by_number() {
    let workspace = planner("exit 7");
    let files = [".rawko/plans/plan-x.yaml", ".rawko/plans/plan-x-v2.yaml"];
    workspace.write(files[0], OLD);
    workspace.write(files[1], NEW);
    let report = json_of(&workspace, &["diff", files[0], files[1], "--json", "--text"], 0);
    let moved = json!([{"task": "0", "from": "pending", "to": "failed"}]);
    assert_eq!(report["moved"], moved, "{report}");
    assert_eq!(report["added"], json!([{"task": "2", "title": "Test it"}]), "{report}");
    assert_eq!(report["removed"], json!(["2"]), "{report}");
    let head = format!("--- a/{}\n+++ b/{}\n", files[0], files[1]);
    assert!(
        report["text"].as_str().is_some_and(|text| text.starts_with(&head)),
        "{report}"
    );
}

#[test]
fn one_of_two_plans_may_come_from_standard_input() {
    let sandbox = Sandbox::with(&[(".rawko/plans/plan-x-v2.yaml", NEW)]);
    let file = ".rawko/plans/plan-x-v2.yaml";
    let ran = sandbox.run_with(&["diff", "-", file], OLD).exits(0);
    assert!(ran.stdout.contains("~ 0: pending → failed\n"), "{}", ran.text());
    assert!(ran.stdout.contains("+ Test it\n"), "{}", ran.text());
    let back = sandbox.run_with(&["diff", file, "-"], OLD).exits(0);
    assert!(back.stdout.contains("~ 1: failed → pending\n"), "{}", back.text());
    for args in [&["diff", "-"][..], &["diff", "-", "-"]] {
        let ran = sandbox.run_with(args, OLD).exits(2);
        assert!(ran.stderr.contains("`planwright diff - PLAN`"), "{}", ran.text());
    }
    let ran = sandbox.run_with(&["diff", "-", file], "nothing").exits(1);
    assert!(
        ran.stderr.contains("no plan in what is on standard input"),
        "{}",
        ran.text()
    );
}

#[test]
fn json_of_new_versions_has_the_names_of_tasks() {
    let workspace = planner(BETTER);
    workspace.write("plan.json", FAILED);
    let report = json_of(&workspace, &["replan", "plan.json", "--json"], 1);
    let new = report["added"].clone();
    assert_eq!(new[0]["title"], "Write half of it", "{report}");
    let name = new[0]["task"].as_str().expect("a name");
    let approved = json_of(&workspace, &["approve", "--proposed", "plan.json", "--json"], 0);
    assert_eq!(approved["proposals"][0]["added"], new);
    assert_eq!(approved["written"], true);
    assert!(workspace.read("plan.json").contains(&format!("\"{name}\"")));
    let history = json_of(&workspace, &["history", "plan.json", "--json"], 0);
    assert_eq!(history["texts"][0]["number"], 1, "{history}");
    workspace
        .does(&["history", "plan.json"])
        .exits(0)
        .says("planwright diff plan.json@1 plan.json");
}

#[test]
fn proposals_are_printed_unchanged() {
    let workspace = growing("{\"description\": \"Sweep\", \"depends_on\": [\"t1\"]}");
    workspace.does(&["run", "plan.json"]).exits(1);
    let report = json_of(&workspace, &["proposals", "plan.json", "--json"], 0);
    assert_eq!(report["proposals"][0]["tasks"][0]["description"], "Sweep", "{report}");
    let before = workspace.read("plan.json");
    workspace
        .does(&["approve", "--proposed", "plan.json", "--diff"])
        .exits(0)
        .says("would be taken")
        .says("+++ b/plan.json");
    workspace
        .does(&["reject", "--proposed", "plan.json", "--note", "no", "--dry-run"])
        .exits(0)
        .says("would be rejected");
    assert_eq!(workspace.read("plan.json"), before);
    workspace.write("plan.json", before.replace("\"t1\"", "\"t8\""));
    let refused = json_of(&workspace, &["approve", "--proposed", "plan.json", "--json"], 1);
    assert_eq!(refused["written"], false, "{refused}");
    assert!(refused["proposals"][0]["error"].is_string());
}

#[test]
fn events_of_a_replanned_run_name_the_run_before() {
    let workspace = failing(BETTER);
    workspace.does(&["run", "plan.json", "--replan", "2"]).exits(0);
    let places = workspace.places();
    let [first, second] = places.as_slice() else {
        panic!("{} runs", places.len());
    };
    let told = workspace
        .does(&["events", second.id(), "--json-events", "rawko"])
        .exits(0);
    let replanned = "{\"type\":\"PLAN_REPLANNED\",\"newPlan\":";
    assert!(told.text.starts_with(replanned), "{}", told.text);
    workspace
        .does(&["events", second.id(), "--json"])
        .exits(0)
        .says(&format!("\"replanned\":{{\"run\":\"{}\"", first.id()));
    workspace
        .does(&["events", second.id()])
        .exits(0)
        .says(&format!("replanned by thinker after run {}", first.id()));
    // A follower of the first run continues with the second.
    let followed = workspace
        .does(&["events", first.id(), "-f", "--json-events", "rawko"])
        .exits(0);
    let kinds = followed.text.lines().filter_map(|line| line.split('"').nth(3));
    let kinds: Vec<&str> = kinds.filter(|kind| kind.starts_with("PLAN")).collect();
    assert_eq!(kinds, ["PLAN_CREATED", "PLAN_REPLANNED"], "{}", followed.text);
}

#[test]
fn following_a_run_includes_a_later_replan() {
    let workspace = failing(&format!("while [ ! -e go ]; do sleep 0.05; done\n{BETTER}"));
    let going = workspace.begin(&["run", "plan.json", "--replan", "2"]);
    workspace.until("the planner was asked", |workspace| n_asked(workspace) == 1);
    let follower = workspace.begin(&["events", "-f", "--json-events", "rawko"]);
    workspace.write("go", "");
    going.ends().exits(0);
    let followed = follower.ends().exits(0);
    assert!(followed.text.contains("PLAN_REPLANNED"), "{}", followed.text);
}

#[test]
fn messages_before_and_after_planning_are_accurate() {
    let workspace = planner(GOOD);
    let came = workspace
        .does(&["plan", "x", "--dialect", "clido", "--agent", "nope"])
        .exits(1);
    assert!(!came.text.contains("is asked"), "{}", came.text);
    let report = json_of(&workspace, &["plan", "Limit calls", "--dialect", "clido", "--json"], 0);
    assert_eq!(report["n_tasks"], 2, "{report}");
    workspace
        .does(&["undo", &plan_file(&workspace)])
        .exits(1)
        .says("planwright delete");
}

#[test]
fn long_answers_are_shown_with_their_places() {
    let workspace = planner("exit 7");
    workspace.write("answer.txt", "x".repeat(100_000));
    let came = workspace
        .does(&["plan", "x", "--dialect", "clido", "--from", "answer.txt"])
        .exits(1);
    assert!(came.text.contains(".planwright/unusable/x.txt:1:1"), "{}", came.text);
    assert!(!came.text.contains(":::"), "{}", came.text);
}
