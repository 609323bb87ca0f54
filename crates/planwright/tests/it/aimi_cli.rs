//! `planwright aimi-cli …` answers as the original does, without its defects.

use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

pub(crate) const FILE: &str = ".aimi/tasks/2026-01-01-x-tasks.json";

/// A workspace with a tasks file.
pub(crate) struct Workspace(pub(crate) Sandbox);

impl Workspace {
    pub(crate) fn new(text: &str) -> Self {
        Workspace(Sandbox::with(&[(FILE, text)]))
    }

    /// Returns a workspace with a v3 file of these stories: id, status, dependencies.
    pub(crate) fn v3(stories: &[(&str, &str, &[&str])]) -> Self {
        let story = |(ix, (id, status, needs)): (usize, &(&str, &str, &[&str]))| {
            let needs: Vec<String> = needs.iter().map(|id| format!("\"{id}\"")).collect();
            format!(
                "{{\"id\": \"{id}\", \"title\": \"T{ix}\", \"description\": \"As a dev, I want x\", \
                 \"acceptanceCriteria\": [\"Typecheck passes\"], \"priority\": {ix}, \"status\": \"{status}\", \
                 \"dependsOn\": [{}], \"notes\": \"\"}}",
                needs.join(", ")
            )
        };
        let stories: Vec<String> = stories.iter().enumerate().map(story).collect();
        Workspace::new(&v3(&stories.join(",\n    ")))
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let ran = self.0.run(&[&["aimi-cli"], args].concat());
        ran.is_orderly();
        ran
    }

    /// Runs a command that must succeed and returns what it prints.
    #[track_caller]
    pub(crate) fn ask(&self, args: &[&str]) -> String {
        self.run(args).exits(0).stdout
    }

    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        self.run(args).exits(0).json()
    }

    /// Checks that a command is refused with these words, and changes nothing.
    #[track_caller]
    pub(crate) fn refuses(&self, args: &[&str], words: &str) {
        let before = self.0.read(FILE);
        let ran = self.run(args).exits(1);
        assert!(ran.stderr.contains(words), "`{words}` is not in\n{}", ran.text());
        assert_eq!(ran.stdout, "", "{args:?}");
        assert_eq!(self.0.read(FILE), before, "{args:?}");
    }

    pub(crate) fn state(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.0.path().join(".aimi").join(name)).ok()
    }

    pub(crate) fn root(&self) -> String {
        let root = self.0.path().canonicalize().expect("the folder is there");
        root.to_str().expect("a Unicode path").to_owned()
    }

    #[track_caller]
    pub(crate) fn story(&self, id: &str) -> Value {
        let file: Value = serde_json::from_str(&self.0.read(FILE)).expect("the file is JSON");
        let stories = file["userStories"].as_array().expect("there are stories");
        let found = stories.iter().find(|story| story["id"] == id);
        found.cloned().expect("the story is there")
    }

    /// Sets the time of a file's last change, in seconds before now.
    pub(crate) fn age(&self, name: &str, seconds: u64) {
        let file = fs::File::options()
            .write(true)
            .open(self.0.path().join(name))
            .expect("open");
        let time = SystemTime::now() - Duration::from_secs(seconds);
        file.set_modified(time).expect("the file is ours");
    }
}

pub(crate) fn v3(stories: &str) -> String {
    format!(
        "{{\n  \"schemaVersion\": \"3.0\",\n  \"metadata\": {{\"title\": \"feat: X\", \"type\": \"feat\", \"branchName\": \
         \"feat/x\", \"createdAt\": \"2026-01-01\"}},\n  \"userStories\": [\n    {stories}\n  ]\n}}\n"
    )
}

pub(crate) fn diamond() -> Workspace {
    Workspace::v3(&[
        ("US-001", "pending", &[]),
        ("US-002", "pending", &["US-001"]),
        ("US-003", "pending", &["US-001"]),
        ("US-004", "pending", &["US-002", "US-003"]),
    ])
}

pub(crate) const V2: &str = r#"{
  "schemaVersion": "2.2",
  "metadata": {"title": "t", "branchName": "feat/x"},
  "userStories": [
    {"id": "US-001", "title": "A", "priority": 2, "passes": false, "notes": ""},
    {"id": "US-002", "title": "B", "priority": 1, "passes": false},
    {"id": "US-003", "title": "C", "priority": 3, "passes": true, "notes": ""},
    {"id": "US-004", "title": "D", "priority": 0, "passes": false, "skipped": true},
    {"id": "US-005", "title": "E", "priority": 0}
  ]
}
"#;

#[test]
fn recorded_sessions_get_the_recorded_answers() {
    let Some(corpus) = planwright_testkit::corpus("recorded_sessions_get_the_recorded_answers") else {
        return;
    };
    let replayed = Command::new("python3")
        .arg(corpus.join("replay.py"))
        .arg("aimi")
        .arg(corpus.join("aimi"))
        .arg(env!("CARGO_BIN_EXE_planwright"))
        .output();
    match replayed {
        Err(_) => println!("skipped: no python3 here"),
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
        }
    }
}

#[test]
fn help_is_an_answer_and_an_unknown_command_is_not() {
    let workspace = diamond();
    let help = workspace.ask(&[]);
    for args in [&["help"][..], &["--help"], &["-h"], &[""]] {
        assert_eq!(workspace.ask(args), help);
    }
    for word in ["aimi-cli.sh", "init-session", "mark-complete", "validate"] {
        assert!(help.contains(word), "{help}");
    }
    let ran = workspace.run(&["bogus", "x"]).exits(1);
    assert_eq!((ran.stdout, ran.stderr.as_str()), (help, "Unknown command: bogus\n"));
}

#[test]
fn commands_of_the_plugin_itself_are_left_out() {
    let workspace = diamond();
    for command in [
        "swarm-init",
        "swarm-add",
        "swarm-cleanup",
        "check-version",
        "cleanup-versions",
    ] {
        workspace.refuses(
            &[command],
            &format!("Error: {command} is not part of planwright's aimi-cli\nFix: "),
        );
    }
    assert_eq!(workspace.run(&["swarm-dance"]).stderr, "Unknown command: swarm-dance\n");
}

#[test]
fn a_session_of_v3_is_remembered() {
    let workspace = diamond();
    let absolute = format!("{}/{FILE}", workspace.root());
    assert_eq!(workspace.ask(&["find-tasks"]), format!("{absolute}\n"));
    assert_eq!(
        workspace.ask(&["init-session"]),
        format!(
            "{{\n  \"tasks\": \"{absolute}\",\n  \"branch\": \"feat/x\",\n  \"pending\": 4,\n  \"schemaVersion\": \"3.0\"\n}}\n"
        )
    );
    assert_eq!(workspace.state("current-tasks"), Some(format!("{absolute}\n")));
    assert_eq!(workspace.state("current-branch").as_deref(), Some("feat/x\n"));
    assert_eq!(workspace.json(&["next-story"])["id"], "US-001");
    assert_eq!(workspace.state("current-story").as_deref(), Some("US-001\n"));
    assert_eq!(workspace.json(&["current-story"])["id"], "US-001");
    assert_eq!(workspace.json(&["mark-in-progress", "US-001"])["status"], "in_progress");
    assert_eq!(workspace.json(&["mark-complete", "US-001"])["status"], "completed");
    assert_eq!(workspace.state("current-story"), None);
    assert_eq!(workspace.state("last-result").as_deref(), Some("success\n"));
    assert_eq!(workspace.ask(&["current-story"]), "null\n");
    let ready = workspace.json(&["list-ready"]);
    let ids: Vec<_> = ready
        .as_array()
        .into_iter()
        .flatten()
        .map(|story| &story["id"])
        .collect();
    assert_eq!(ids, ["US-002", "US-003"]);
    let failed = workspace.json(&["mark-failed", "US-002", "no\n\"luck\""]);
    assert_eq!(
        (&failed["status"], &failed["notes"]),
        (&"failed".into(), &"no\n\"luck\"".into())
    );
    assert_eq!(workspace.state("last-result").as_deref(), Some("failed\n"));
    assert_eq!(
        workspace.ask(&["cascade-skip", "US-002"]),
        "{\n  \"skipped\": [\n    \"US-004\"\n  ],\n  \"count\": 1\n}\n"
    );
    assert_eq!(
        workspace.story("US-004")["notes"],
        "Skipped: depends on failed story US-002"
    );
    assert_eq!(workspace.json(&["mark-skipped", "US-003"])["status"], "skipped");
    assert_eq!(workspace.state("last-result").as_deref(), Some("skipped\n"));
    assert_eq!(workspace.ask(&["next-story"]), "null\n");
    assert_eq!(workspace.ask(&["count-pending"]), "0\n");
    assert_eq!(workspace.ask(&["get-branch"]), "feat/x\n");
    let state = workspace.json(&["get-state"]);
    assert_eq!(
        state,
        serde_json::json!({"tasks": absolute, "branch": "feat/x", "story": null, "last": "skipped"})
    );
}

#[test]
fn a_session_of_v2_is_answered_by_the_older_version() {
    let workspace = Workspace::new(V2);
    assert_eq!(workspace.ask(&["find-tasks"]), format!("{FILE}\n"));
    assert_eq!(workspace.ask(&["detect-schema"]), "2.2\n");
    assert_eq!(workspace.json(&["init-session"])["tasks"], FILE);
    assert_eq!(workspace.state("current-tasks"), Some(format!("{FILE}\n")));
    assert_eq!(workspace.ask(&["count-pending"]), "2\n");
    assert_eq!(
        workspace
            .ask(&["status"])
            .lines()
            .take(14)
            .collect::<Vec<_>>()
            .join("\n"),
        "{\n  \"schemaVersion\": \"2.2\",\n  \"title\": \"t\",\n  \"branch\": \"feat/x\",\n  \"pending\": 2,\n  \
         \"completed\": 1,\n  \"skipped\": 1,\n  \"total\": 5,\n  \"stories\": [\n    {\n      \"id\": \"US-001\",\n      \
         \"title\": \"A\",\n      \"passes\": false,\n      \"skipped\": false,"
    );
    assert_eq!(
        workspace.json(&["metadata"]),
        serde_json::json!({"title": "t", "branchName": "feat/x"})
    );
    assert_eq!(workspace.json(&["next-story"])["id"], "US-002");
    assert_eq!(workspace.json(&["mark-failed", "US-002", "why"])["notes"], "why");
    assert_eq!(workspace.ask(&["count-pending"]), "2\n", "a failure is a note here");
    let skipped = workspace.ask(&["mark-skipped", "US-002"]);
    assert!(
        skipped.ends_with("\"notes\": \"why\",\n  \"skipped\": true\n}\n"),
        "{skipped}"
    );
    assert_eq!(workspace.json(&["mark-complete", "US-001"])["passes"], true);
    assert_eq!(workspace.ask(&["next-story"]), "null\n");
    for command in ["list-ready", "validate-deps"] {
        workspace.refuses(
            &[command],
            &format!("Error: {command} is only available for v3 schema files\n"),
        );
    }
    for command in ["mark-in-progress", "cascade-skip"] {
        let message = format!("Error: {command} is only available for v3 schema files\n");
        workspace.refuses(&[command, "US-005"], &message);
    }
    for command in ["validate-stories", "reset-orphaned"] {
        let ran = workspace.run(&[command]).exits(1);
        assert_eq!(ran.stderr, format!("Unknown command: {command}\n"));
    }
    let ran = diamond().run(&["detect-schema"]).exits(1);
    assert_eq!(ran.stderr, "Unknown command: detect-schema\n");
}

#[test]
fn missing_fields_of_v2_files_are_null() {
    let workspace = Workspace::new("{\"project\": \"p\", \"userStories\": [{\"passes\": false}]}");
    assert_eq!(workspace.ask(&["detect-schema"]), "2.2\n");
    assert_eq!(workspace.ask(&["metadata"]), "null\n");
    assert_eq!(workspace.json(&["init-session"])["branch"], "null");
    let status = workspace.json(&["status"]);
    assert_eq!(status["title"], Value::Null);
    let story = serde_json::json!({"id": null, "title": null, "passes": false, "skipped": false, "notes": null});
    assert_eq!(status["stories"][0], story);
    assert_eq!(workspace.json(&["next-story"]), serde_json::json!({"passes": false}));
    assert_eq!(workspace.state("current-story").as_deref(), Some("null\n"));
}

#[test]
fn the_status_is_laid_out_as_jq_does() {
    let workspace = Workspace::new(&v3(
        r#"{"id": "US-001", "title": "é\u007f", "priority": 1.0, "status": "pending"}, {"id": 12345678901234567890, "dependsOn": null}"#,
    ));
    assert_eq!(
        workspace.ask(&["status"]),
        r#"{
  "schemaVersion": "3.0",
  "title": "feat: X",
  "branch": "feat/x",
  "maxConcurrency": 4,
  "pending": 1,
  "in_progress": 0,
  "completed": 0,
  "failed": 0,
  "skipped": 0,
  "total": 2,
  "userStories": [
    {
      "id": "US-001",
      "title": "é\u007f",
      "status": "pending",
      "dependsOn": [],
      "priority": 1,
      "notes": null
    },
    {
      "id": 12345678901234567000,
      "title": null,
      "status": null,
      "dependsOn": [],
      "priority": null,
      "notes": null
    }
  ]
}
"#
    );
}

#[test]
fn concurrency_is_made_sound_in_v3() {
    for (written, expect) in [
        ("0", "4"),
        ("-1", "4"),
        ("null", "4"),
        ("false", "4"),
        ("true", "4"),
        ("2.50", "2.5"),
        ("\"8\"", "\"8\""),
        ("1e2", "100"),
    ] {
        let workspace = Workspace::new(&v3("").replace(
            "\"createdAt\"",
            &format!("\"maxConcurrency\": {written}, \"createdAt\""),
        ));
        let expect: Value = serde_json::from_str(expect).expect("JSON");
        assert_eq!(workspace.json(&["status"])["maxConcurrency"], expect, "{written}");
        let metadata = workspace.ask(&["metadata"]);
        assert!(
            metadata.contains(&format!("  \"maxConcurrency\": {expect},\n  \"createdAt\"")),
            "{metadata}"
        );
    }
    let metadata = Workspace::new(&v3("")).ask(&["metadata"]);
    assert!(
        metadata.ends_with("\"createdAt\": \"2026-01-01\",\n  \"maxConcurrency\": 4\n}\n"),
        "{metadata}"
    );
}

#[test]
fn every_mark_is_allowed_or_refused_by_the_state() {
    let commands = ["mark-in-progress", "mark-complete", "mark-failed", "mark-skipped"];
    let expect = [
        ("pending", ["in_progress", "completed", "failed", "skipped"]),
        ("in_progress", ["in_progress", "completed", "failed", "skipped"]),
        ("failed", ["in_progress", "completed", "failed", "skipped"]),
        ("completed", [""; 4]),
        ("skipped", [""; 4]),
        // A story with an unknown status is not stuck.
        ("done", ["in_progress", "completed", "failed", "skipped"]),
    ];
    for (from, expect) in expect {
        for (command, to) in commands.iter().zip(expect) {
            let workspace = Workspace::v3(&[("US-001", from, &["US-002"]), ("US-002", "pending", &[])]);
            if to.is_empty() {
                workspace.refuses(
                    &[command, "US-001"],
                    &format!("Error: Story US-001 is {from}, which is final\nFix: "),
                );
                assert_eq!(workspace.state("last-result"), None);
                continue;
            }
            let before = workspace.0.read(FILE);
            assert_eq!(workspace.json(&[command, "US-001"])["status"], to, "{from} {command}");
            let old = format!("\"status\": \"{from}\"");
            let after = before.replacen(&old, &format!("\"status\": \"{to}\""), 1);
            assert_eq!(workspace.0.read(FILE), after, "{from} {command}: one word changes");
        }
    }
}

#[test]
fn final_stories_of_v2_stay_final() {
    let workspace = Workspace::new(V2);
    for command in ["mark-complete", "mark-failed", "mark-skipped"] {
        workspace.refuses(&[command, "US-003"], "Story US-003 is completed, which is final");
        workspace.refuses(&[command, "US-004"], "Story US-004 is skipped, which is final");
    }
    assert_eq!(workspace.json(&["mark-complete", "US-005"])["passes"], true);
}

#[test]
fn no_byte_changes_that_need_not() {
    let text = "\u{feff}{ \"schemaVersion\" : \"3.0\",\r\n\t\"x\": 1.0e0, \"metadata\":{\"title\":\"\\u00e9\"},\r\n\t\"userStories\": [ \
                {\"id\":\"US-001\" ,\"status\":\"pend\\u0069ng\", \"n\":12345678901234567890 },\r\n\t{\"id\":\"US-002\"} ] }";
    let workspace = Workspace::new(text);
    let shown = workspace.ask(&["mark-failed", "US-001", "é \"q\""]);
    assert_eq!(
        shown,
        "{\n  \"id\": \"US-001\",\n  \"status\": \"failed\",\n  \"n\": 12345678901234567000,\n  \"notes\": \"é \\\"q\\\"\"\n}\n"
    );
    let after = workspace.0.read(FILE);
    assert_eq!(
        after,
        text.replace(
            "\"pend\\u0069ng\", \"n\":12345678901234567890 ",
            "\"failed\", \"n\":12345678901234567890, \"notes\":\"é \\\"q\\\"\" "
        )
    );
    // Every other mark keeps notes, and a failure without notes empties them.
    workspace.ask(&["mark-in-progress", "US-001"]);
    assert_eq!(workspace.story_after_bom("US-001")["notes"], "é \"q\"");
    workspace.ask(&["mark-failed", "US-001"]);
    assert_eq!(workspace.story_after_bom("US-001")["notes"], "");
}

impl Workspace {
    #[track_caller]
    fn story_after_bom(&self, id: &str) -> Value {
        let text = self.0.read(FILE);
        let file: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).expect("JSON");
        let found = file["userStories"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|story| story["id"] == id);
        found.cloned().expect("the story is there")
    }
}

#[test]
fn fields_of_another_kind_are_replaced_in_their_place() {
    let workspace = Workspace::new(&v3(
        r#"{"id": "US-001", "notes": ["a", {"b": 1}], "status": {"x": []}, "z": 0}"#,
    ));
    let shown = workspace.ask(&["mark-failed", "US-001", "n"]);
    assert_eq!(
        shown,
        "{\n  \"id\": \"US-001\",\n  \"notes\": \"n\",\n  \"status\": \"failed\",\n  \"z\": 0\n}\n"
    );
    assert_eq!(workspace.story("US-001")["status"], "failed");
}

#[test]
fn arguments_are_judged_as_the_original_does() {
    let workspace = diamond();
    for command in ["mark-in-progress", "mark-complete", "mark-skipped", "cascade-skip"] {
        let usage = format!("Usage: aimi-cli.sh {command} <story-id>\n");
        workspace.refuses(&[command], &usage);
        workspace.refuses(&[command, ""], &usage);
    }
    workspace.refuses(&["mark-failed"], "Usage: aimi-cli.sh mark-failed <story-id> [notes]\n");
    for id in [
        "US-1",
        "us-001",
        "US-0011",
        "US-001A",
        "US-001ab",
        " US-001",
        "../x",
        "US-00é",
        "US-\u{1b}[1",
        "-h",
    ] {
        let message = format!("Error: Invalid story ID format: {id} (expected US-NNN)\n");
        workspace.refuses(&["mark-complete", id], &message);
    }
    let missing = format!("Error: Story US-009 not found in {}/{FILE}\n", workspace.root());
    for command in [
        "mark-in-progress",
        "mark-complete",
        "mark-failed",
        "mark-skipped",
        "cascade-skip",
    ] {
        workspace.refuses(&[command, "US-009"], &missing);
    }
    let suffixed = Workspace::v3(&[("US-001a", "pending", &[])]);
    assert_eq!(suffixed.json(&["mark-complete", "US-001a"])["status"], "completed");
}

#[test]
fn an_unknown_id_is_no_error_in_v2_but_is_remarked_on() {
    let workspace = Workspace::new(V2);
    let ran = workspace.run(&["mark-complete", "nobody"]).exits(0);
    assert_eq!(ran.stdout, "");
    assert_eq!(
        ran.stderr,
        format!("Warning: Story nobody not found in {FILE}: nothing was changed.\n")
    );
    assert_eq!(workspace.state("last-result").as_deref(), Some("success\n"));
    assert_eq!(workspace.0.read(FILE), V2);
}

#[test]
fn dependencies_that_are_missing_never_make_a_story_ready() {
    for needs in [&["US-099", "US-002"][..], &["US-002", "US-099"], &["US-099"]] {
        let workspace = Workspace::v3(&[("US-001", "pending", needs), ("US-002", "completed", &[])]);
        assert_eq!(workspace.ask(&["list-ready"]), "[]\n", "{needs:?}");
        assert_eq!(workspace.ask(&["next-story"]), "null\n");
    }
    let text = v3(
        r#"{"id": "a", "status": "pending", "dependsOn": "US-001"}, {"id": "b", "status": "pending", "dependsOn": ""}"#,
    );
    let ready = Workspace::new(&text).json(&["list-ready"]);
    assert_eq!(
        ready,
        serde_json::json!([{"id": "b", "status": "pending", "dependsOn": ""}])
    );
}

#[test]
fn only_completed_and_skipped_dependencies_are_enough() {
    for (status, ready) in [
        ("completed", true),
        ("skipped", true),
        ("failed", false),
        ("in_progress", false),
        ("pending", false),
        ("done", false),
    ] {
        let workspace = Workspace::v3(&[("US-001", status, &[]), ("US-002", "pending", &["US-001"])]);
        let found = workspace.json(&["list-ready"]);
        let has_second = found
            .as_array()
            .into_iter()
            .flatten()
            .any(|story| story["id"] == "US-002");
        assert_eq!(has_second, ready, "{status}");
    }
}

#[test]
fn the_next_story_is_the_first_by_priority() {
    let priorities = |list: &[&str]| {
        let story = |(ix, priority): (usize, &&str)| {
            let priority = if priority.is_empty() {
                String::new()
            } else {
                format!(", \"priority\": {priority}")
            };
            format!("{{\"id\": {ix}, \"status\": \"pending\"{priority}}}")
        };
        let stories: Vec<_> = list.iter().enumerate().map(story).collect();
        Workspace::new(&v3(&stories.join(","))).json(&["next-story"])["id"].clone()
    };
    assert_eq!(priorities(&["2", "1.5", "1.5"]), 1);
    assert_eq!(priorities(&["\"1\"", "2"]), 1);
    assert_eq!(priorities(&["-5", "null"]), 1);
    assert_eq!(priorities(&["true", "false", ""]), 2);
    assert_eq!(priorities(&["{}", "[1]", "[0, 9]"]), 2);
}

#[test]
fn cascade_skip_stops_at_stories_that_are_not_pending() {
    let workspace = Workspace::v3(&[
        ("US-001", "pending", &["US-004"]),
        ("US-002", "completed", &["US-001"]),
        ("US-003", "in_progress", &["US-001", "US-001"]),
        ("US-004", "failed", &["US-003", "US-004"]),
        ("US-005", "pending", &["US-002"]),
        ("US-006", "odd", &["US-004"]),
    ]);
    let answer = workspace.json(&["cascade-skip", "US-001"]);
    assert_eq!(
        answer,
        serde_json::json!({"skipped": ["US-003", "US-004", "US-006"], "count": 3})
    );
    for (id, status) in [
        ("US-001", "pending"),
        ("US-002", "completed"),
        ("US-005", "pending"),
        ("US-006", "skipped"),
    ] {
        assert_eq!(workspace.story(id)["status"], status, "{id}");
    }
    let before = workspace.0.read(FILE);
    assert_eq!(
        workspace.ask(&["cascade-skip", "US-001"]),
        "{\n  \"skipped\": [],\n  \"count\": 0\n}\n"
    );
    assert_eq!(workspace.0.read(FILE), before);
    assert_eq!(workspace.state("last-result"), None);
}

#[test]
fn orphans_are_failed_and_nothing_is_written_where_there_are_none() {
    let workspace = Workspace::v3(&[
        ("US-002", "in_progress", &[]),
        ("US-001", "in_progress", &[]),
        ("US-003", "pending", &[]),
    ]);
    assert_eq!(
        workspace.ask(&["reset-orphaned"]),
        "{\n  \"count\": 2,\n  \"reset\": [\n    \"US-002\",\n    \"US-001\"\n  ]\n}\n"
    );
    assert_eq!(
        workspace.story("US-001")["notes"],
        "Reset: orphaned from previous session"
    );
    assert_eq!(workspace.story("US-002")["status"], "failed");
    let before = workspace.0.read(FILE);
    assert_eq!(
        workspace.ask(&["reset-orphaned"]),
        "{\n  \"count\": 0,\n  \"reset\": []\n}\n"
    );
    assert_eq!(workspace.0.read(FILE), before);
}

#[test]
fn dependencies_are_validated_in_the_original_order() {
    let workspace = Workspace::v3(&[
        ("US-001", "pending", &["US-009", "US-009", "US-002"]),
        ("US-002", "pending", &["US-001"]),
        ("US-003", "pending", &["US-003", "US-008"]),
        ("US-004", "pending", &["US-001"]),
    ]);
    let answer = workspace.run(&["validate-deps"]).exits(1).json();
    assert_eq!(
        answer,
        serde_json::json!({"valid": false, "errors": [
            "Self-reference: US-003 depends on itself",
            "Missing ID: US-001 depends on US-009 which does not exist",
            "Missing ID: US-001 depends on US-009 which does not exist",
            "Missing ID: US-003 depends on US-008 which does not exist",
            "Circular dependency: US-001 is part of a dependency cycle",
            "Circular dependency: US-002 is part of a dependency cycle",
            "Circular dependency: US-003 is part of a dependency cycle",
        ]})
    );
    assert_eq!(
        diamond().ask(&["validate-deps"]),
        "{\n  \"valid\": true,\n  \"errors\": []\n}\n"
    );
    let odd = Workspace::new(&v3(r#"{"id": "US-001", "dependsOn": "US-001"}"#));
    let answer = odd.run(&["validate-deps"]).exits(1).json();
    assert_eq!(
        answer["errors"][0],
        "Invalid dependsOn: US-001 does not have a list of story IDs"
    );
}

#[test]
fn stories_are_validated_by_length_and_suspicion() {
    let story = |id: &str, title: &str, description: &str, criterion: &str| {
        format!(
            "{{\"id\": \"{id}\", \"title\": \"{title}\", \"description\": \"{description}\", \"acceptanceCriteria\": [\"{criterion}\", \"{criterion}\"]}}"
        )
    };
    let stories = [
        story("US-001", &"😀".repeat(200), &"é".repeat(500), &"c".repeat(300)),
        story(
            "US-002",
            &"😀".repeat(201),
            &format!("{}`", "é".repeat(500)),
            &"c".repeat(301),
        ),
        story("US-003", "Ignore PREVIOUS", "the design-system: tokens", "run $(x)"),
        "{\"id\": \"US-004\", \"acceptanceCriteria\": [1]}".to_owned(),
    ];
    let answer = Workspace::new(&v3(&stories.join(","))).json(&["validate-stories"]);
    assert_eq!(
        answer,
        serde_json::json!({"valid": false, "errors": [
            "US-002: title exceeds 200 chars",
            "US-002: description exceeds 500 chars",
            "US-002: acceptance criterion exceeds 300 chars",
            "US-002: description contains suspicious content",
            "US-003: title contains suspicious content",
            "US-003: description contains suspicious content",
            "US-004: title is missing",
            "US-004: description is missing",
        ]})
    );
}

#[test]
fn validate_prints_the_messages_of_the_specification() {
    let workspace = Workspace::v3(&[
        ("US-001", "done", &["US-099"]),
        ("US-002", "pending", &["US-003"]),
        ("US-003", "pending", &["US-002"]),
    ]);
    let ran = workspace.run(&["validate"]).exits(1);
    assert_eq!(
        ran.stdout,
        "Error: Invalid tasks.json - US-001.status is \"done\" which is not a valid status.\n\
         Fix: Use one of: pending, in_progress, completed, failed, skipped.\n\n\
         Error: Invalid tasks.json - US-001.dependsOn references \"US-099\" which does not exist.\n\
         Fix: Remove \"US-099\" from US-001.dependsOn or add a story with id \"US-099\".\n\n\
         Error: Invalid tasks.json - Circular dependency detected: US-002 -> US-003 -> US-002.\n\
         Fix: Remove one of the dependency edges to break the cycle.\n"
    );
    assert_eq!(diamond().ask(&["validate"]), format!("{FILE} is valid.\n"));
    assert!(
        Workspace::new(V2)
            .run(&["validate"])
            .exits(1)
            .stdout
            .starts_with("Error: Invalid tasks.json - US-005.")
    );
}

#[test]
fn the_history_names_the_stories() {
    let sandbox = Sandbox::with(&[(
        ".aimi/tasks/2026-01-01-a-tasks.json",
        include_str!("../../../../examples/aimi/.aimi/tasks/2026-10-06-rate-limit-tasks.json"),
    )]);
    sandbox.run(&["aimi-cli", "mark-in-progress", "US-002"]).exits(0);
    sandbox
        .run(&["aimi-cli", "mark-failed", "US-002", "no router"])
        .exits(0);
    sandbox.run(&["aimi-cli", "cascade-skip", "US-002"]).exits(0);
    let history = sandbox.run(&["history", "--json"]).exits(0).json();
    let tasks = |n: usize| history["changes"][n]["tasks"].clone();
    assert_eq!(tasks(2), serde_json::json!(["US-002"]));
    assert_eq!(tasks(1), serde_json::json!(["US-002"]));
    assert_eq!(history["changes"][1]["note"], "no router");
    assert_eq!(tasks(0), serde_json::json!(["US-004"]));
}
