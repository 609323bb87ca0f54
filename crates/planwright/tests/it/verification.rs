//! Verification by hand, through the real binary: `verify`, and `done` after the commands that verify a task.

use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

const PLAN: &str = ".aimi/tasks/2026-03-03-blue-tasks.json";
const USER: &str = ".home/.config/planwright/config.toml";

const STORIES: &str = r#"{
  "schemaVersion": "3.0",
  "metadata": {"title": "Blue", "type": "feat", "branchName": "blue", "createdAt": "2026-03-03", "planPath": null},
  "userStories": [
    {"id": "US-001", "title": "Add the button", "description": "As a user, I want it", "priority": 1, "status": "in_progress",
     "dependsOn": [], "notes": "", "acceptanceCriteria": ["Typecheck passes", "The button is blue", "`touch by-plan`"]},
    {"id": "US-002", "title": "Move it", "description": "As a user, I want it", "priority": 2, "status": "completed",
     "dependsOn": [], "notes": "", "acceptanceCriteria": ["Typecheck passes"]},
    {"id": "US-003", "title": "Name it", "description": "As a user, I want it", "priority": 3, "status": "in_progress",
     "dependsOn": [], "notes": "", "acceptanceCriteria": ["Looks good"]}
  ]
}
"#;

/// Passes if there is a file `good`, and records that it ran.
const RULES: &str = r#"
[[verify.criteria]]
pattern = "typecheck*"
run = ["echo $PLANWRIGHT_TASK >> ran; echo checking; test -e good || { echo 'src/a.rs:1: no' >&2; exit 3; }"]
"#;

const PACK: &str = include_str!("../../../../examples/task-pack/docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md");
const SOURCE: &str = include_str!("../../../../examples/task-pack/docs/plans/2026-10-06-001-feat-rate-limit-plan.md");

fn sandbox(rules: &str) -> Sandbox {
    Sandbox::with(&[(PLAN, STORIES), ("planwright.toml", rules)])
}

fn exists(sandbox: &Sandbox, name: &str) -> bool {
    sandbox.path().join(name).exists()
}

fn status_of(sandbox: &Sandbox, task: &str) -> String {
    let plan: Value = serde_json::from_str(&sandbox.read(PLAN)).expect("JSON");
    let stories = plan["userStories"].as_array().expect("a list").iter();
    let story = stories.into_iter().find(|story| story["id"] == task);
    story.expect("a story")["status"].as_str().expect("a word").to_owned()
}

#[track_caller]
fn says(ran: &Ran, texts: &[&str]) {
    let all = ran.text();
    for text in texts {
        assert!(all.contains(text), "`{text}` is not in\n{all}");
    }
}

/// Returns the newest entry of the history.
fn newest(sandbox: &Sandbox) -> Value {
    sandbox.run(&["history", PLAN, "--json"]).exits(0).json()["changes"][0].clone()
}

#[test]
fn done_is_refused_until_its_commands_pass() {
    let sandbox = sandbox(RULES);
    let before = sandbox.read(PLAN);
    let ran = sandbox.run(&["done", "US-001"]).exits(1);
    ran.is_decent();
    says(
        &ran,
        &[
            "verifying US-001",
            "`US-001` is not done",
            "failed (exit 3)",
            "src/a.rs:1: no",
            "--unverified --note",
            ".planwright/checks/",
        ],
    );
    assert_eq!(sandbox.read(PLAN), before, "nothing was written");
    let report = sandbox.run(&["done", "US-001", "--json"]).exits(1).json();
    assert_eq!(report["error"]["exit_status"], 1);

    sandbox.write("good", "");
    let ran = sandbox.run(&["done", "US-001"]).exits(0);
    says(
        &ran,
        &[
            "passed  ",
            "US-001: running → done",
            "no rule covers “The button is blue”",
        ],
    );
    assert_eq!(status_of(&sandbox, "US-001"), "completed");
    let change = newest(&sandbox);
    let verified = &change["verified"][0];
    assert_eq!((&change["verb"], &verified["passed"]), (&"done".into(), &true.into()));
    assert_eq!(verified["receipts"][0]["exit"], "exit 0");
    assert_eq!(verified["receipts"][0]["tail"], "checking\n");
    assert_eq!(verified["unverified"][0], "The button is blue");
    let history = sandbox.run(&["history", PLAN]).exits(0);
    says(
        &history,
        &[
            "done US-001  by ",
            "  (verified by `echo $PLANWRIGHT_TASK >> ran; echo chec…`)",
        ],
    );
    assert_eq!(sandbox.read("ran"), "US-001\n".repeat(3));
    // A verified change can be undone like any other.
    sandbox.run(&["undo", PLAN]).exits(0);
    assert_eq!(sandbox.read(PLAN), before);
}

#[test]
fn done_can_skip_verification() {
    let sandbox = sandbox(RULES);
    sandbox
        .run(&["done", "US-001", "--unverified", "--note", "the checker is broken"])
        .exits(0);
    assert!(!exists(&sandbox, "ran"));
    assert_eq!(status_of(&sandbox, "US-001"), "completed");
    let change = newest(&sandbox);
    assert_eq!(change["verified"][0]["waived"], true);
    assert_eq!(change["verified"][0]["passed"], false);
    says(
        &sandbox.run(&["history", PLAN]),
        &["(unverified, as asked)", "the checker is broken"],
    );
    sandbox
        .run(&["done", "US-003", "--unverified", "--require-verification"])
        .exits(2);
    sandbox.run(&["start", "US-003", "--unverified"]).exits(2);
}

#[test]
fn uncovered_criteria_are_named_if_there_are_rules() {
    let ruled = sandbox(RULES);
    let ran = ruled.run(&["done", "US-003", "--require-verification"]).exits(1);
    says(&ran, &["no rule verifies `US-003`", "[verify]"]);
    assert_eq!(status_of(&ruled, "US-003"), "in_progress");
    let ran = ruled.run(&["done", "US-003"]).exits(0);
    says(&ran, &["note: US-003: unverified: no rule covers it"]);
    let verified = newest(&ruled)["verified"][0].clone();
    assert_eq!(
        (&verified["passed"], &verified["receipts"]),
        (&false.into(), &Value::Array(vec![]))
    );
    assert_eq!(verified["unverified"][0], "Looks good");

    let bare = sandbox("");
    bare.run(&["done", "US-001", "--require-verification"]).exits(1);
    let ran = bare.run(&["done", "US-001"]).exits(0);
    assert_eq!(ran.stderr, "");
    assert_eq!(newest(&bare)["verified"][0]["task"], "US-001");
}

#[test]
fn refused_tasks_and_dry_runs_run_no_command() {
    let sandbox = sandbox(RULES);
    sandbox.run(&["done", "US-002"]).exits(1);
    sandbox.run(&["done", "US-001", "US-009"]).exits(1);
    for option in ["--dry-run", "--diff"] {
        let ran = sandbox.run(&["done", "US-001", option]).exits(0);
        says(&ran, &["would verify US-001: echo $PLANWRIGHT_TASK"]);
    }
    assert!(!exists(&sandbox, "ran"));
    // All of several tasks or none.
    sandbox.run(&["done", "US-003", "US-001"]).exits(1);
    assert_eq!(status_of(&sandbox, "US-003"), "in_progress");
}

#[test]
fn verify_runs_again_and_changes_nothing() {
    let sandbox = sandbox(RULES);
    let before = sandbox.read(PLAN);
    let ran = sandbox.run(&["verify", "US-001", "US-003", "US-001"]).exits(1);
    ran.is_decent();
    says(
        &ran,
        &[
            "US-001  Add the button\n  failed  ",
            "(exit 3, ",
            "\n    | checking\n    | src/a.rs:1: no\n",
            "US-003  Name it\n  unverified: no rule covers it\n",
            "2 tasks: 1 failed, 1 unverified",
        ],
    );
    sandbox.write("good", "");
    says(
        &sandbox.run(&["verify", "--all"]).exits(0),
        &["US-002  Move it\n  passed  ", "1 task: 1 passed"],
    );
    let report = sandbox
        .run(&["verify", "US-001", "--by", "ana", "--json"])
        .exits(0)
        .json();
    assert_eq!(report["schema_version"], "planwright.verify/v1");
    assert_eq!((&report["passed"], &report["n_passed"]), (&true.into(), &1.into()));
    let receipt = &report["tasks"][0]["receipts"][0];
    assert_eq!(receipt["command"][0], "sh");
    assert_eq!(receipt["digest"].as_str().map(str::len), Some(32));
    assert_eq!(sandbox.read(PLAN), before);
    let history = sandbox.run(&["history", PLAN]).exits(0);
    says(
        &history,
        &[
            "verify US-001  (1 of 1 command failed)",
            "verify US-002  (verified by `echo $PLANWRIGHT_TASK >> ran; echo chec…`)",
            "verify US-001  by ana  (verified by `echo $PLANWRIGHT_TASK >> ran; echo chec…`)",
        ],
    );
    sandbox.run(&["undo", PLAN]).exits(1);
    sandbox.run(&["verify"]).exits(2);
    sandbox.run(&["verify", "US-001", "--all"]).exits(2);
    says(
        &sandbox.run(&["verify", "US-009"]).exits(1),
        &["there is no task `US-009`"],
    );
    says(
        &sandbox.run(&["verify", "US-001", "-p", "nowhere.json"]).exits(3),
        &["nowhere.json"],
    );
}

#[test]
fn commands_of_a_plan_run_only_if_the_user_allows_them() {
    // By no configuration.
    let project = sandbox("");
    says(
        &project.run(&["verify", "US-001"]).exits(0),
        &["unverified: no rule covers it", "not run: `touch by-plan`"],
    );
    project.run(&["done", "US-001"]).exits(0);
    assert!(!exists(&project, "by-plan"));

    // By the project, which cannot.
    let project = sandbox("[verify]\nallow_plan_commands = true\n");
    for verb in ["verify", "done"] {
        let ran = project.run(&[verb, "US-001"]).exits(1);
        says(&ran, &["[config-user-only]", "the configuration has errors"]);
    }
    assert!(!exists(&project, "by-plan"));
    assert_eq!(status_of(&project, "US-001"), "in_progress");

    // By the user's own file.
    let user = sandbox("");
    user.write(USER, "[verify]\nallow_plan_commands = true\n");
    says(&user.run(&["done", "US-001"]).exits(0), &["passed  touch by-plan"]);
    assert!(exists(&user, "by-plan"));

    // On the command line.
    let flag = sandbox("");
    flag.run(&["verify", "US-001", "--allow-plan-commands"]).exits(0);
    assert!(exists(&flag, "by-plan"));
    assert_eq!(
        newest(&flag)["verified"][0]["receipts"][0]["command"][2],
        "touch by-plan"
    );
}

#[test]
fn hostile_plans_and_outputs_are_shown_escaped() {
    let hostile = STORIES
        .replace("Add the button", "\\u001b[2J\\u202e")
        .replace("The button is blue", "\\u001b]0;owned\\u0007`$(touch owned)`");
    let rules = "[verify]\nevery = [\"printf '\\\\033[2J\\\\007\\\\377 %s\\\\n' \\\"$PLANWRIGHT_TASK\\\"; false\"]\n";
    let sandbox = Sandbox::with(&[(PLAN, &hostile), ("planwright.toml", rules)]);
    for args in [
        &["verify", "US-001"][..],
        &["verify", "US-001", "--json"],
        &["verify", "US-001", "--allow-plan-commands"],
        &["done", "US-001"],
        &["history", PLAN],
        &["history", PLAN, "--json"],
    ] {
        sandbox.run(args).is_decent();
    }
    assert!(!exists(&sandbox, "owned"));
}

#[test]
fn ids_are_used_neither_as_commands_nor_as_paths() {
    let id = "../$(touch owned);`touch owned`\\n'\\\"\\u0000";
    let plan = format!(r#"{{"goal": "g", "tasks": [{{"id": "{id}", "description": "d", "status": "done"}}]}}"#);
    let rules = "[verify]\nevery = [\"printf %s \\\"$PLANWRIGHT_TASK\\\" > seen\"]\n";
    let sandbox = Sandbox::with(&[(".clido/plans/p.json", &plan), ("planwright.toml", rules)]);
    sandbox.run(&["verify", "--all"]).exits(0).is_decent();
    assert_eq!(sandbox.read("seen"), "../$(touch owned);`touch owned`\n'\"\u{fffd}");
    assert!(!exists(&sandbox, "owned"));
}

#[test]
fn task_packs_are_verified_in_their_target_repository() {
    const NAME: &str = "docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md";
    let pack = PACK.replacen("\"test_focus\"", "\"target_repo\": \"child\", \"test_focus\"", 1);
    let sandbox = Sandbox::with(&[
        (NAME, &pack),
        ("docs/plans/2026-10-06-001-feat-rate-limit-plan.md", SOURCE),
        (
            "planwright.toml",
            "[[verify.criteria]]\npattern = \"*unit tests*\"\nrun = [\"pwd > seen\"]\n",
        ),
    ]);
    sandbox.run(&["start", "T001"]).exits(0);
    says(
        &sandbox.run(&["done", "T001"]).exits(1),
        &["there is no folder `child`"],
    );
    sandbox.write("child/file", "");
    sandbox.run(&["done", "T001"]).exits(0);
    let seen = sandbox.read("child/seen");
    assert!(Path::new(seen.trim()).ends_with("child"), "{seen}");
    says(
        &sandbox.run(&["verify", "--all"]).exits(0),
        &["T001  ", "1 task: 1 passed"],
    );
}

#[test]
fn a_broken_configuration_verifies_nothing() {
    let sandbox = sandbox("[verify]\nevry = [\"true\"]\n");
    let ran = sandbox.run(&["done", "US-001"]).exits(1);
    says(&ran, &["[config-unknown-key]", "the configuration has errors"]);
    assert_eq!(status_of(&sandbox, "US-001"), "in_progress");
    // Whether verification may be waived is unknown too.
    sandbox.run(&["done", "US-001", "--unverified"]).exits(1);
}

#[test]
fn a_command_that_takes_too_long_fails() {
    let sandbox = sandbox("[verify]\nevery = [\"sleep 100\"]\ntimeout = \"1s\"\n");
    says(
        &sandbox.run(&["done", "US-001"]).exits(1),
        &["`sleep 100` failed (timeout)"],
    );
}

#[test]
#[cfg(unix)]
fn an_interruption_ends_running_commands_and_changes_nothing() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let sandbox = sandbox("[verify]\nevery = [\"echo $$ > pid; sleep 1000\"]\n");
    let before = sandbox.read(PLAN);
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let _ = std::fs::remove_file(sandbox.path().join("pid"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_planwright"))
            .args(["done", "US-001"])
            .current_dir(sandbox.path())
            .env("HOME", sandbox.path().join(".home"))
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary was built");
        let begun = Instant::now();
        let running = loop {
            let pid = std::fs::read_to_string(sandbox.path().join("pid")).unwrap_or_default();
            if pid.ends_with('\n') {
                break pid.trim().to_owned();
            }
            assert!(begun.elapsed() < Duration::from_secs(240), "it hangs");
            std::thread::sleep(Duration::from_millis(10));
        };
        let kill = |arguments: &[&str]| {
            let ran = Command::new("kill").args(arguments).stderr(Stdio::null()).status();
            ran.expect("kill is everywhere").success()
        };
        assert!(kill(&["-s", signal, &child.id().to_string()]));
        assert_eq!(child.wait().expect("it was started").code(), Some(status));
        assert!(!kill(&["-0", &running]), "the command is over");
    }
    assert_eq!(sandbox.read(PLAN), before);
}
