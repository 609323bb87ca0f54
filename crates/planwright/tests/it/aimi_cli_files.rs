//! The file that `planwright aimi-cli …` works on: how it is found and remembered, and the handling of odd, damaged, linked and protected
//! files.

use std::fs;
#[cfg(unix)]
use std::path::Path;
#[cfg(unix)]
use std::process::Command;

use serde_json::Value;

use crate::aimi_cli::{FILE, V2, Workspace, diamond, v3};
use crate::sandbox::Sandbox;

#[test]
fn every_command_reports_a_missing_tasks_file() {
    let sandbox = Sandbox::with(&[(".aimi/tasks/notes.json", "{}"), (".aimi/tasks/.x-tasks.json", "{}")]);
    for command in [
        "find-tasks",
        "init-session",
        "status",
        "metadata",
        "list-ready",
        "next-story",
        "count-pending",
        "get-branch",
        "detect-schema",
        "validate",
        "validate-deps",
        "validate-stories",
        "reset-orphaned",
    ] {
        let ran = sandbox.run(&["aimi-cli", command]).exits(1);
        assert_eq!(
            (ran.stdout.as_str(), ran.stderr.as_str()),
            ("", "No tasks file found in .aimi/tasks/\n")
        );
    }
    for command in [
        "mark-in-progress",
        "mark-complete",
        "mark-failed",
        "mark-skipped",
        "cascade-skip",
    ] {
        let ran = sandbox.run(&["aimi-cli", command, "US-001"]).exits(1);
        assert_eq!(ran.stderr, "No tasks file found in .aimi/tasks/\n");
    }
    assert_eq!(sandbox.run(&["aimi-cli", "current-story"]).exits(0).stdout, "null\n");
    let nowhere = Sandbox::new();
    nowhere.run(&["aimi-cli", "status"]).exits(1);
    assert_eq!(
        nowhere.run(&["aimi-cli", "clear-state"]).exits(0).stdout,
        "State cleared.\n"
    );
    let state = nowhere.run(&["aimi-cli", "get-state"]).exits(0).stdout;
    assert_eq!(
        state,
        "{\n  \"tasks\": null,\n  \"branch\": null,\n  \"story\": null,\n  \"last\": null\n}\n"
    );
    assert!(!nowhere.path().join(".aimi").exists());
}

#[test]
fn the_newest_file_is_found_unless_the_state_points_elsewhere() {
    let workspace = diamond();
    let other = ".aimi/tasks/2020-01-01-old-tasks.json";
    workspace.0.write(other, v3("").replace("feat/x", "old"));
    workspace.age(other, 100);
    assert_eq!(workspace.ask(&["get-branch"]), "feat/x\n");
    workspace.age(FILE, 200);
    assert_eq!(workspace.ask(&["get-branch"]), "old\n");
    workspace.0.write(".aimi/current-tasks", format!("{FILE}\n"));
    assert_eq!(workspace.ask(&["get-branch"]), "feat/x\n");
    workspace.refuses(
        &["mark-complete", "US-777"],
        &format!("Story US-777 not found in {FILE}\n"),
    );
    assert_eq!(workspace.json(&["init-session"])["branch"], "old");
    assert_eq!(workspace.ask(&["count-pending"]), "0\n", "the session has moved");
}

#[test]
fn a_pointer_to_a_file_that_is_gone_is_set_right_in_v3() {
    let workspace = diamond();
    let absolute = format!("{}/{FILE}", workspace.root());
    workspace.0.write(".aimi/current-tasks", "/gone/x-tasks.json\n");
    let ran = workspace.run(&["count-pending"]).exits(0);
    assert_eq!(
        ran.stderr,
        format!(
            "Warning: state file pointed to /gone/x-tasks.json which no longer exists. Using {absolute} instead.\n"
        )
    );
    assert_eq!(ran.stdout, "4\n");
    assert_eq!(workspace.state("current-tasks"), Some(format!("{absolute}\n")));
    assert_eq!(workspace.run(&["count-pending"]).stderr, "");
    let older = Workspace::new(V2);
    older.0.write(".aimi/current-tasks", "gone");
    assert_eq!(older.run(&["count-pending"]).exits(0).stderr, "");
    assert_eq!(older.state("current-tasks").as_deref(), Some("gone"));
}

#[test]
fn a_pointer_out_of_the_folder_is_not_followed() {
    let (workspace, other) = (diamond(), diamond());
    let outside = format!("{}/{FILE}", other.root());
    workspace.0.write(".aimi/current-tasks", &outside);
    workspace.refuses(&["mark-complete", "US-001"], "current-tasks points out of this folder");
    assert_eq!(other.story("US-001")["status"], "pending");
    workspace.ask(&["init-session"]);
    workspace.ask(&["mark-complete", "US-001"]);
}

#[test]
fn a_branch_that_git_might_misread_is_refused_after_the_tasks_are_remembered() {
    for branch in ["a;rm", "$(x)", "feat/v1.2", "/x", "_x", "feat x", "", "é"] {
        let workspace = Workspace::new(&v3("").replace("feat/x", branch));
        workspace.refuses(&["init-session"], &format!("Error: Invalid branch name: {branch}\n"));
        assert!(workspace.state("current-tasks").is_some());
        assert_eq!(workspace.state("current-branch"), None);
        assert_eq!(workspace.ask(&["get-branch"]), format!("{branch}\n"));
    }
    for (written, expect) in [("\"a/\"", "a/"), ("null", "null"), ("7", "7")] {
        let workspace = Workspace::new(&v3("").replace("\"feat/x\"", written));
        assert_eq!(workspace.json(&["init-session"])["branch"], expect);
    }
}

#[test]
fn a_file_with_errors_elsewhere_is_served() {
    let text = v3(
        r#"{"id": "US-001", "status": "pending", "dependsOn": ["US-002"]}, {"id": "US-002", "status": "done", "dependsOn": ["US-001", "US-777"]},
           {"id": "US-003", "status": "pending", "priority": "high"}, {"id": "US-005"}, {"id": "US-005", "dependsOn": 7}, {"id": null}"#,
    );
    let workspace = Workspace::new(&text);
    for args in [
        &["status"][..],
        &["metadata"],
        &["list-ready"],
        &["next-story"],
        &["count-pending"],
        &["init-session"],
        &["get-branch"],
        &["validate-stories"],
        &["mark-in-progress", "US-003"],
        &["mark-complete", "US-003"],
        &["mark-complete", "US-001"],
        &["reset-orphaned"],
        &["cascade-skip", "US-001"],
    ] {
        workspace.ask(args);
    }
    assert_eq!(workspace.story("US-003")["status"], "completed");
    for command in ["mark-complete", "mark-in-progress", "cascade-skip"] {
        workspace.refuses(&[command, "US-005"], "Error: Several stories have the id US-005 in ");
    }
    assert_eq!(workspace.run(&["validate"]).exits(1).stderr, "");
}

#[test]
fn a_file_that_is_no_tasks_file_is_refused_with_a_reason() {
    for (text, words) in [
        ("", "Error: Invalid tasks.json - "),
        ("nonsense", "Error: Invalid tasks.json - line 1, column 1: "),
        (
            "{\"schemaVersion\": \"3.0\", \"userStories\": [],}",
            "Error: Invalid tasks.json - line 1, column ",
        ),
        (
            "[]",
            "Error: Invalid tasks.json - userStories is missing or invalid.\nFix: ",
        ),
        ("{\"schemaVersion\": \"3.0\"}", "userStories is missing or invalid."),
        (
            "{\"schemaVersion\": \"3.0\", \"userStories\": [{}, 1]}",
            "userStories[1] is missing or invalid.",
        ),
        (
            "{\"userStories\": [{\"status\": \"pending\"}]}",
            "schemaVersion is missing or invalid.\nFix: ",
        ),
        (
            "{\"schemaVersion\": \"4.0\", \"userStories\": []}",
            "Error: Unknown schema version: 4.0\nFix: ",
        ),
        (
            "{\"schemaVersion\": 3.0, \"userStories\": []}",
            "Error: Unknown schema version: 3\nFix: ",
        ),
        (
            "{\"schemaVersion\": \"é\", \"userStories\": []}",
            "Error: Unknown schema version: é\nFix: ",
        ),
    ] {
        let workspace = Workspace::new(text);
        for args in [
            &["status"][..],
            &["metadata"],
            &["list-ready"],
            &["next-story"],
            &["count-pending"],
            &["init-session"],
            &["get-branch"],
            &["detect-schema"],
            &["validate-deps"],
            &["validate-stories"],
            &["mark-complete", "US-001"],
            &["cascade-skip", "US-001"],
            &["reset-orphaned"],
        ] {
            workspace.refuses(args, words);
        }
        assert_eq!(workspace.ask(&["find-tasks"]), format!("{}/{FILE}\n", workspace.root()));
        workspace.run(&["validate"]).exits(1);
    }
}

#[test]
fn metadata_of_another_kind_names_no_branch() {
    let workspace = Workspace::new("{\"schemaVersion\": \"3.1\", \"metadata\": \"m\", \"userStories\": []}");
    for command in ["metadata", "get-branch", "init-session"] {
        workspace.refuses(&[command], "metadata is missing or invalid.");
    }
    assert_eq!(workspace.json(&["status"])["title"], Value::Null);
}

#[test]
fn bytes_that_are_not_utf8_are_read_and_never_written() {
    let workspace = diamond();
    let text = workspace.0.read(FILE).replace("T0", "\u{1}");
    let bytes: Vec<u8> = text.bytes().map(|byte| if byte == 1 { 0xff } else { byte }).collect();
    workspace.0.write(FILE, &bytes);
    assert_eq!(workspace.json(&["status"])["userStories"][0]["title"], "\u{fffd}");
    let ran = workspace.run(&["mark-complete", "US-001"]).exits(1);
    assert!(ran.stderr.contains("cannot be changed safely"), "{}", ran.text());
    assert_eq!(fs::read(workspace.0.path().join(FILE)).expect("read"), bytes);
}

#[test]
fn the_state_may_name_files_that_no_longer_exist() {
    let workspace = diamond();
    workspace.0.write(".aimi/current-story", "US-777\n\n");
    assert_eq!(workspace.ask(&["current-story"]), "", "as the original");
    workspace.0.write(".aimi/current-branch", "from/state\n");
    assert_eq!(workspace.ask(&["get-branch"]), "from/state\n");
    fs::create_dir(workspace.0.path().join(".aimi/last-result")).expect("the folder is ours");
    assert_eq!(workspace.json(&["get-state"])["last"], Value::Null);
    let ran = workspace.run(&["mark-complete", "US-001"]).exits(1);
    assert!(
        ran.stderr.contains("the state in .aimi/ cannot be written"),
        "{}",
        ran.text()
    );
}

#[test]
fn clearing_forgets_the_session_and_keeps_the_tasks() {
    let workspace = diamond();
    workspace.ask(&["init-session"]);
    workspace.ask(&["next-story"]);
    workspace.ask(&["mark-skipped", "US-004"]);
    for name in [".aimi/.state.lock", ".aimi/x.lock", ".aimi/cli-path", ".aimi/notes.md"] {
        workspace.0.write(name, "");
    }
    assert_eq!(workspace.ask(&["clear-state"]), "State cleared.\n");
    let mut left: Vec<_> = fs::read_dir(workspace.0.path().join(".aimi"))
        .expect("list")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["notes.md", "tasks"]);
}

#[cfg(unix)]
#[test]
fn a_link_with_the_name_of_the_original_is_the_original() {
    let workspace = diamond();
    let root = workspace.root();
    for name in ["aimi-cli.sh", "aimi-cli"] {
        let link = workspace.0.path().join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_planwright"), &link).expect("link");
        let ran = |program: &Path, path: &str| {
            let mut command = Command::new(program);
            command.arg("init-session").current_dir(workspace.0.path());
            command.env("PATH", path).output().expect("it runs")
        };
        let output = ran(&link, "");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let path = workspace.state("cli-path").expect("it is remembered");
        assert!(path.ends_with(&format!("/{name}\n")), "{path}");
        fs::remove_file(workspace.0.path().join(".aimi/cli-path")).expect("remove");
        let by_search = Command::new("sh")
            .args(["-c", &format!("PATH={root}:$PATH; {name} init-session")])
            .current_dir(workspace.0.path())
            .output()
            .expect("sh runs");
        assert!(by_search.status.success());
        assert_eq!(workspace.state("cli-path"), Some(format!("{root}/{name}\n")));
    }
    fs::remove_file(workspace.0.path().join(".aimi/cli-path")).expect("remove");
    workspace.ask(&["init-session"]);
    assert_eq!(
        workspace.state("cli-path"),
        None,
        "planwright itself is not this command line"
    );
}

#[cfg(unix)]
#[test]
fn links_and_modes_survive() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = diamond();
    let (link, real) = (workspace.0.path().join(FILE), workspace.0.path().join("real.json"));
    fs::rename(&link, &real).expect("move");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("mode");
    std::os::unix::fs::symlink(&real, &link).expect("link");
    workspace.ask(&["mark-complete", "US-001"]);
    assert!(fs::symlink_metadata(&link).expect("link").is_symlink());
    assert_eq!(fs::metadata(&real).expect("file").permissions().mode() & 0o777, 0o640);
    fs::hard_link(&real, workspace.0.path().join("other.json")).expect("hard link");
    let ran = workspace.run(&["mark-complete", "US-002"]).exits(1);
    assert!(ran.stderr.starts_with("Error: mark-complete was not done: ") && ran.stderr.contains("hard links"));
}

#[test]
fn a_long_chain_is_skipped_whole() {
    let story = |ix: usize| {
        let needs = if ix == 0 {
            String::new()
        } else {
            format!("\"US-{:03}\"", ix - 1)
        };
        format!(
            "{{\"id\": \"US-{ix:03}\", \"status\": \"pending\", \"priority\": {ix}, \"dependsOn\": [{needs}], \"notes\": \"\"}}"
        )
    };
    let stories: Vec<_> = (0..5_000).map(story).collect();
    let workspace = Workspace::new(&v3(&stories.join(",")));
    assert_eq!(
        workspace.ask(&["validate-deps"]),
        "{\n  \"valid\": true,\n  \"errors\": []\n}\n"
    );
    assert_eq!(workspace.json(&["next-story"])["id"], "US-000");
    assert_eq!(workspace.json(&["cascade-skip", "US-000"])["count"], 4_999);
}

#[test]
fn a_place_that_cannot_be_changed_safely_is_named() {
    let text = include_str!("../../../../examples/aimi/.aimi/tasks/2026-10-06-rate-limit-tasks.json");
    let twice = text.replacen(
        "\"status\": \"pending\",",
        "\"status\": \"pending\", \"status\": \"pending\",",
        1,
    );
    let sandbox = Sandbox::with(&[(".aimi/tasks/2026-01-01-a-tasks.json", &twice)]);
    let line = twice
        .lines()
        .position(|line| line.matches("status").count() == 2)
        .expect("it is there")
        + 1;
    let ran = sandbox.run(&["aimi-cli", "mark-in-progress", "US-002"]).exits(1);
    assert!(
        ran.stderr
            .contains(&format!("a-tasks.json:{line}:7 cannot be changed safely")),
        "{}",
        ran.text()
    );
}

#[cfg(unix)]
#[test]
fn a_write_protected_file_is_replaced_as_by_the_original() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::v3(&[("US-001", "pending", &[])]);
    let path = workspace.0.path().join(FILE);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).expect("mode");
    workspace.0.run(&["aimi-cli", "mark-in-progress", "US-001"]).exits(0);
    assert!(workspace.0.read(FILE).contains("in_progress"));
    let mode = std::fs::metadata(&path).expect("metadata").permissions().mode();
    assert_eq!(mode & 0o777, 0o444, "its mode stays");
    // Planwright's own verbs respect the protection.
    workspace.0.run(&["done", "US-001", "-p", FILE]).exits(3);
}
