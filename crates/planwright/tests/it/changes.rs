//! The verbs that change a plan, through the real binary: the written text, and the refusals.

use serde_json::Value;

use crate::sandbox::Sandbox;

pub(crate) const CLIDO: &str = r#"{
  "goal": "Limit requests",
  "tasks": [
    {"id": "t1", "description": "Count them"},
    {"id": "t2", "description": "Answer 429", "depends_on": ["t1"]},
    {"id": "t3", "description": "Describe it", "depends_on": ["t2"]}
  ]
}
"#;

const PACK: &str = include_str!("../../../../examples/task-pack/docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md");
const SOURCE: &str = include_str!("../../../../examples/task-pack/docs/plans/2026-10-06-001-feat-rate-limit-plan.md");

pub(crate) fn clido() -> Sandbox {
    Sandbox::with(&[(".clido/plans/p.json", CLIDO)])
}

fn pack() -> Sandbox {
    Sandbox::with(&[
        ("docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md", PACK),
        ("docs/plans/2026-10-06-001-feat-rate-limit-plan.md", SOURCE),
        ("planwright.toml", ""),
    ])
}

pub(crate) const PLAN: &str = ".clido/plans/p.json";

#[test]
fn a_task_goes_from_pending_to_done() {
    let sandbox = clido();
    sandbox
        .run(&["start", "t1", "--by", "claude"])
        .exits(0)
        .is_as_in("start");
    sandbox
        .run(&["done", "t1", "--by", "claude", "--claim", "1", "--note", "counted"])
        .exits(0)
        .is_as_in("done");
    sandbox.run(&["start", "t2"]).exits(0);
    sandbox
        .run(&["fail", "t2", "--note", "no router"])
        .exits(0)
        .is_as_in("fail-with-dependents");
    sandbox.run(&["retry", "t2"]).exits(0).is_as_in("retry-with-dependents");
    sandbox.run(&["start", "t2"]).exits(0);
    let expect = CLIDO
        .replace(
            "\"Count them\"",
            "\"Count them\", \"notes\": \"counted\", \"status\": \"done\"",
        )
        .replace(
            "\"depends_on\": [\"t1\"]",
            "\"depends_on\": [\"t1\"], \"notes\": \"no router\", \"status\": \"running\"",
        )
        .replace(
            "\"depends_on\": [\"t2\"]",
            "\"depends_on\": [\"t2\"], \"status\": \"pending\"",
        );
    assert_eq!(sandbox.read(PLAN), expect);
}

#[test]
fn a_refused_verb_changes_nothing_and_names_the_allowed_ones() {
    let sandbox = clido();
    sandbox.run(&["start", "t2"]).exits(1).is_as_in("start-not-ready");
    sandbox.run(&["done", "t1"]).exits(1).is_as_in("done-not-started");
    sandbox
        .run(&["block", "t1", "--note", "key"])
        .exits(1)
        .is_as_in("block-not-here");
    sandbox.run(&["block", "t1"]).exits(2);
    sandbox.run(&["start", "t9"]).exits(1).is_as_in("start-no-such-task");
    // All of several tasks or none.
    sandbox.run(&["start", "t1", "t2"]).exits(1);
    sandbox
        .run(&["set", "t1", "status=done"])
        .exits(1)
        .is_as_in("set-status");
    sandbox
        .run(&["depend", "t1", "--on", "t3"])
        .exits(1)
        .is_as_in("depend-circle");
    assert_eq!(sandbox.read(PLAN), CLIDO);
    sandbox.run(&["start", "t2", "--force"]).exits(2);
    sandbox
        .run(&["start", "t2", "--force", "--note", "t1 is not needed"])
        .exits(0);
}

#[test]
fn nothing_is_written_in_a_dry_run() {
    let sandbox = clido();
    sandbox
        .run(&["start", "t1", "--dry-run"])
        .exits(0)
        .is_as_in("start-dry-run");
    sandbox.run(&["start", "t1", "--diff"]).exits(0).is_as_in("start-diff");
    let report = sandbox.run(&["add", "More", "--dry-run", "--json"]).exits(0).json();
    assert_eq!(
        (&report["written"], &report["change"]),
        (&Value::Bool(false), &Value::Null)
    );
    assert_eq!(sandbox.read(PLAN), CLIDO);
    assert!(!sandbox.path().join(".planwright").exists());
}

#[test]
fn a_failure_names_the_attempt() {
    // For a large plan, only the changed part is read again.
    for n_tasks in [1, 40] {
        let task = |n: usize| {
            format!(
                r#"{{"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d{n:04}", "order": {n}, "title": "a", "description": "b",
    "task_type": "edit", "status": "Pending", "retry_count": 0, "max_retries": 2}}"#
            )
        };
        let tasks: Vec<String> = (1..=n_tasks).map(task).collect();
        let plan = format!(
            r#"{{"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0000", "title": "P", "description": "d", "status": "InProgress",
  "tasks": [{}]}}"#,
            tasks.join(", ")
        );
        let sandbox = Sandbox::with(&[("p.json", &plan)]);
        for outcome in ["pending (attempt 1 of 2)", "failed (attempt 2 of 2)"] {
            sandbox.run(&["start", "1", "-p", "p.json"]).exits(0);
            let ran = sandbox.run(&["fail", "1", "-p", "p.json"]).exits(0);
            assert!(
                ran.stdout.starts_with(&format!("1: running → {outcome}  a\n")),
                "{}",
                ran.stdout
            );
        }
        let ran = sandbox.run(&["reset", "1", "-p", "p.json"]).exits(0);
        assert!(ran.stdout.starts_with("1: failed → pending  a\n"), "{}", ran.stdout);
    }
}

#[test]
fn dependent_tasks_can_be_removed_together_in_any_order() {
    for names in [["t1", "t2", "t3"], ["t3", "t1", "t2"], ["t2", "t3", "t1"]] {
        let sandbox = clido();
        sandbox.run(&["add", "Something else"]).exits(0);
        // A remaining task keeps its dependencies, whatever is removed with the other.
        sandbox.run(&["depend", "t4", "--on", "t3"]).exits(0);
        let line = sandbox.run(&["remove", names[0], names[1], names[2]]).exits(1);
        assert!(line.stderr.contains("these depend on it: `t4`"), "{}", line.stderr);
        sandbox.run(&["undepend", "t4", "--on", "t3"]).exits(0);
        sandbox.run(&["remove", names[0], names[1], names[2]]).exits(0);
        let text = sandbox.read(PLAN);
        assert_eq!(text.matches("\"id\":").count(), 1, "{text}");
    }
}

#[test]
fn edits_are_made_and_undone() {
    let sandbox = clido();
    sandbox
        .run(&["add", "Measure it", "complexity=low", "--on", "t2", "--after", "t2"])
        .exits(0);
    sandbox.run(&["rename", "t1", "count"]).exits(0);
    sandbox.run(&["undepend", "t3", "--on", "t2"]).exits(0);
    sandbox.run(&["move", "t3", "--first"]).exits(0);
    sandbox.run(&["remove", "t2", "--detach"]).exits(0);
    let text = sandbox.read(PLAN);
    let ids: Vec<&str> = text
        .split("\"id\": \"")
        .skip(1)
        .filter_map(|part| part.split('"').next())
        .collect();
    assert_eq!(ids, ["t3", "count", "t4"]);
    let history = sandbox.run(&["history", "--json"]).exits(0).json();
    let verbs: Vec<&str> = history["changes"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|past| past["verb"].as_str())
        .collect();
    assert_eq!(verbs, ["remove", "move", "undepend", "rename", "add"]);
    for _ in 0..5 {
        sandbox.run(&["undo"]).exits(0);
    }
    assert_eq!(sandbox.read(PLAN), CLIDO);
    sandbox.run(&["undo"]).exits(1).is_as_in("undo-nothing");
}

#[test]
fn an_edit_by_hand_is_seen_and_not_undone() {
    let sandbox = clido();
    sandbox.run(&["start", "t1"]).exits(0);
    let by_hand = sandbox.read(PLAN).replace("Count them", "Count them all");
    sandbox.write(PLAN, &by_hand);
    let ran = sandbox.run(&["undo"]).exits(1);
    assert!(
        ran.stderr.contains("an editor or another program edited the file"),
        "{}",
        ran.text()
    );
    assert_eq!(sandbox.read(PLAN), by_hand);
    sandbox.run(&["done", "t1"]).exits(0);
    assert_eq!(sandbox.read(PLAN), by_hand.replace("running", "done"));
    let history = sandbox.run(&["history", "--json"]).exits(0).json();
    assert_eq!(history["n_external"], 1);
}

#[test]
fn the_state_of_a_pack_is_kept_in_the_journal() {
    let name = "docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md";
    let plan = "docs/plans/2026-10-06-001-feat-rate-limit-plan.md";
    let sandbox = Sandbox::with(&[(name, PACK), (plan, SOURCE), ("planwright.toml", "")]);
    sandbox.run(&["start", "T002"]).exits(1);
    let next = sandbox
        .run(&["next", "--start", "--by", "codex", "--json"])
        .exits(0)
        .json();
    assert_eq!(next["ready"][0]["task"]["task"], "T001", "{next}");
    sandbox.run(&["next", "--start"]).exits(1);
    let claim = next["claim"]["number"].to_string();
    sandbox
        .run(&["done", "T001", "--by", "codex", "--claim", &claim, "--note", "counts"])
        .exits(0);
    let show = sandbox.run(&["show", "--json"]).exits(0).json();
    assert_eq!(show["plan"]["progress"]["done"], 1, "{show}");
    sandbox.run(&["why", "T002"]).exits(0);
    sandbox.run(&["undo"]).exits(0);
    let show = sandbox.run(&["show", "--json"]).exits(0).json();
    assert_eq!(show["plan"]["progress"]["running"], 1);
    assert_eq!(sandbox.read(name), PACK, "no transition touches the pack itself");
}

#[test]
fn a_pack_is_edited_with_its_waves_and_cards() {
    let name = "docs/tasks/2026-10-06-001-feat-rate-limit-tasks.md";
    let plan = "docs/plans/2026-10-06-001-feat-rate-limit-plan.md";
    let sandbox = Sandbox::with(&[(name, PACK), (plan, SOURCE), ("planwright.toml", "")]);
    sandbox.run(&["add", "More"]).exits(1).is_as_in("add-to-pack");
    sandbox
        .run(&[
            "set",
            "T001",
            "goal=Count calls",
            "files=src/limit.rs\nsrc/count.rs",
            "--diff",
        ])
        .exits(0)
        .is_as_in("set-in-pack-diff");
    assert_eq!(sandbox.read(name), PACK, "a diff writes nothing");
    sandbox
        .run(&["depend", "T003", "--on", "T002"])
        .exits(1)
        .is_as_in("depend-in-pack-nameless");
    sandbox.run(&["set", "T003", "wave=tell"]).exits(0);
    sandbox.run(&["depend", "T003", "--on", "T002"]).exits(0);
    assert!(
        sandbox
            .read(name)
            .contains("{ \"wave\": \"tell\", \"tasks\": [\"T003\"] }")
    );
    assert!(
        sandbox
            .read(name)
            .contains("  dependencies: T001, T002\n  files: `docs/api.md`\n  wave: tell\n")
    );
    sandbox.run(&["start", "T001"]).exits(0);
    let renamed = sandbox.run(&["rename", "T001", "count", "--json"]).exits(0).json();
    assert_eq!(renamed["notes"][0], "`T001` is still named in lines 27, 33");
    let show = sandbox.run(&["show", "--json"]).exits(0).json();
    assert_eq!(show["plan"]["progress"]["running"], 1, "the state follows: {show}");
    sandbox.run(&["check"]).exits(0);
    sandbox.run(&["remove", "T003"]).exits(0).is_as_in("remove-from-pack");
    for _ in 0..5 {
        sandbox.run(&["undo"]).exits(0);
    }
    assert_eq!(sandbox.read(name), PACK);
    let history = sandbox.run(&["history", "--json"]).exits(0).json();
    assert_eq!(history["changes"].as_array().map(Vec::len), Some(10), "{history}");
    let drifted = PACK.replace("  goal: Describe the limit", "  goal: Describe it");
    sandbox.write(name, &drifted);
    sandbox
        .run(&["set", "T003", "goal=Tell it"])
        .exits(1)
        .is_as_in("set-in-pack-drifted");
    assert_eq!(sandbox.read(name), drifted);
}

#[test]
fn v2_files_keep_two_booleans_and_the_journal_the_rest() {
    let text = r#"{"schemaVersion": "2.2", "metadata": {"title": "T", "branchName": "feat/x"},
  "userStories": [
    {"id": "US-001", "title": "a", "priority": 1, "passes": false},
    {"id": "US-002", "title": "b", "priority": 2, "passes": false}
  ]}
"#;
    let sandbox = Sandbox::with(&[(".aimi/tasks/x-tasks.json", text)]);
    let file = ".aimi/tasks/x-tasks.json";
    sandbox.run(&["start", "US-001"]).exits(0);
    assert_eq!(sandbox.read(file), text);
    let show = sandbox.run(&["show", "--json"]).exits(0).json();
    assert_eq!(show["plan"]["progress"]["running"], 1, "{show}");
    let history = sandbox.run(&["history", "--json"]).exits(0).json();
    let moves = serde_json::json!([{"task": "US-001", "from": "pending", "to": "running"}]);
    assert_eq!(
        history["changes"][0]["moves"], moves,
        "once, although the journal has it twice"
    );
    sandbox.run(&["fail", "US-001", "--note", "no disk"]).exits(0);
    let failed = text.replacen("\"passes\": false}", "\"passes\": false, \"notes\": \"no disk\"}", 1);
    assert_eq!(sandbox.read(file), failed);
    sandbox.run(&["retry", "US-001", "--start"]).exits(0);
    sandbox.run(&["done", "US-001"]).exits(0);
    assert_eq!(
        sandbox.read(file),
        failed.replacen("\"passes\": false", "\"passes\": true", 1)
    );
    sandbox.run(&["skip", "US-002"]).exits(0);
    assert!(sandbox.read(file).contains("\"passes\": false, \"skipped\": true"));
}

#[test]
fn journal_states_of_v2_stories_follow_edits_and_migration() {
    let story = |n: usize| {
        format!(
            r#"{{"id": "US-00{n}", "title": "s{n}", "description": "As a user, I want {n} so that x", "acceptanceCriteria": ["Typecheck passes"], "priority": {n}, "passes": false, "notes": ""}}"#
        )
    };
    let text = format!(
        "{{\"schemaVersion\": \"2.2\", \"metadata\": {{\"title\": \"feat: T\", \"type\": \"feat\", \"branchName\": \"feat/x\", \"createdAt\": \"2026-11-15\", \"planPath\": null}},\n\"userStories\": [{}, {}]}}\n",
        story(1),
        story(2)
    );
    let file = ".aimi/tasks/x-tasks.json";
    let sandbox = Sandbox::with(&[(file, &text)]);
    sandbox.run(&["start", "US-001"]).exits(0);
    sandbox.run(&["set", "US-002", "notes=later"]).exits(0);
    sandbox.run(&["rename", "US-001", "US-007"]).exits(0);
    let show = sandbox.run(&["show", "--json"]).exits(0).json();
    assert_eq!(show["plan"]["progress"]["running"], 1, "{show}");
    let ran = sandbox.run(&["depend", "US-002", "--on", "US-007"]).exits(1);
    assert!(ran.stderr.contains("by priority"), "{}", ran.text());
    sandbox.run(&["migrate", file]).exits(0);
    let plan: Value = serde_json::from_str(&sandbox.read(file)).expect("JSON");
    assert_eq!(plan["userStories"][0]["status"], "in_progress", "{plan}");
}

#[test]
fn undo_restores_the_current_task_pointer() {
    let plan = "id: p1\ntask: T\nstatus: draft\nversion: 1\ncurrentStepIndex: 0\ncreatedAt: \"2026-11-15T10:00:00Z\"\nupdatedAt: \"2026-11-15T10:00:00Z\"\ncreatedBy: planner\nsteps:\n  - index: 0\n    description: a\n    status: pending\n";
    let pointer = "task: T\nplanId: p1\nstatus: draft\n";
    let sandbox = Sandbox::with(&[(".rawko/plans/p1.yaml", plan), (".rawko/current-task.yaml", pointer)]);
    sandbox.run(&["start", "0"]).exits(0);
    assert_eq!(
        sandbox.read(".rawko/current-task.yaml"),
        pointer.replace("draft", "in_progress")
    );
    sandbox.run(&["undo"]).exits(0);
    assert_eq!(sandbox.read(".rawko/current-task.yaml"), pointer);
    assert_eq!(sandbox.read(".rawko/plans/p1.yaml"), plan);
}

#[test]
fn notes_come_from_files_and_from_standard_input() {
    let sandbox = clido();
    sandbox.write("why.txt", "line one\nline two\n");
    sandbox.run(&["start", "t1"]).exits(0);
    sandbox.run(&["fail", "t1", "--note", "@why.txt"]).exits(0);
    let note = |sandbox: &Sandbox| sandbox.run(&["history", "--json"]).exits(0).json()["changes"][0]["note"].clone();
    assert_eq!(note(&sandbox), "line one\nline two");
    sandbox
        .run_with(&["retry", "t1", "--start", "--note", "-"], "from a pipe\r\n")
        .exits(0);
    assert_eq!(note(&sandbox), "from a pipe");
    sandbox.run(&["done", "t1", "--note", "@@home"]).exits(0);
    assert_eq!(note(&sandbox), "@home");
    let text = sandbox.read(PLAN);
    for (status, args, input) in [
        (2, &["start", "t2", "--note", "-", "--output", "-"][..], "x".to_owned()),
        (3, &["start", "t2", "--note", "@gone.txt"], String::new()),
        (3, &["start", "t2", "--note", "@."], String::new()),
        (1, &["start", "t2", "--output", "-"], "x".repeat(1024 * 1024 + 1)),
        (2, &["block", "t2", "--note", "-"], " \n".to_owned()),
    ] {
        let ran = sandbox.run_with(args, input).exits(status);
        assert!(ran.stderr.contains("help: "), "{}", ran.text());
    }
    sandbox.write("latin.txt", b"caf\xe9");
    sandbox.run(&["start", "t2", "--note", "@latin.txt"]).exits(1);
    assert_eq!(sandbox.read(PLAN), text);
}

#[test]
fn the_failure_reason_of_a_pack_task_is_shown() {
    let sandbox = pack();
    sandbox.run(&["start", "T001"]).exits(0);
    sandbox
        .run(&["fail", "T001", "--note", "the store has no counter"])
        .exits(0);
    sandbox
        .run(&["skip", "T002", "--note", "the gateway does it", "--force"])
        .exits(0);
    let shown = sandbox.run(&["show"]).exits(0).stdout;
    assert!(shown.contains("failed: the store has no counter"), "{shown}");
    assert!(shown.contains("skipped: the gateway does it"), "{shown}");
    let why = sandbox.run(&["why", "T001"]).exits(0).stdout;
    assert!(why.contains("T001 failed: the store has no counter"), "{why}");
    let report = sandbox.run(&["show", "--json"]).exits(0).json();
    assert_eq!(report["tasks"][0]["note"], "the store has no counter");
    let report = sandbox.run(&["why", "T001", "--json"]).exits(0).json();
    assert_eq!(report["note"], "the store has no counter");
}

#[test]
fn a_diff_of_states_in_the_history_reports_that_no_file_changes() {
    let sandbox = pack();
    let ran = sandbox.run(&["start", "T001", "--diff"]).exits(0);
    assert_eq!(ran.stdout, "");
    assert!(
        ran.stderr.contains("dry run: T001: pending → running"),
        "{}",
        ran.text()
    );
    assert!(ran.stderr.contains("the plan file does not change"), "{}", ran.text());
    assert!(!sandbox.path().join(".planwright").exists());
    let sandbox = clido();
    let ran = sandbox.run(&["set", "t1", "description=Count them", "--diff"]).exits(0);
    assert_eq!(ran.text(), "── standard error\nnothing to change\n── exit status 0\n");
}

#[test]
fn next_start_has_a_dry_run() {
    let sandbox = clido();
    let ran = sandbox.run(&["next", "--start", "--dry-run"]).exits(0);
    assert_eq!(ran.stdout, "t1  Count them\n");
    assert!(ran.stderr.contains("nothing was written"), "{}", ran.text());
    for flags in [&["--diff"][..], &["--dry-run", "--diff"]] {
        let asked: Vec<&str> = ["next", "--start"].iter().chain(flags).copied().collect();
        let ran = sandbox.run(&asked).exits(0);
        assert!(ran.stdout.starts_with("--- a/"), "{}", ran.text());
        let json: Vec<&str> = asked.iter().copied().chain(["--json"]).collect();
        let report = sandbox.run(&json).exits(0).json();
        assert_eq!(report["started"], Value::Bool(false));
        assert_eq!(report["ready"][0]["task"]["task"], "t1");
        assert!(report["diff"].as_str().is_some_and(|diff| diff.starts_with("--- a/")));
    }
    sandbox.run(&["next", "--dry-run"]).exits(2);
    assert_eq!(sandbox.read(PLAN), CLIDO);
    assert!(!sandbox.path().join(".planwright").exists());
    let report = sandbox.run(&["next", "--start", "--json"]).exits(0).json();
    assert_eq!(report["started"], Value::Bool(true));
}

#[test]
fn every_writing_verb_has_dry_run_and_diff() {
    let sandbox = clido();
    sandbox.write("flat.json", CLIDO);
    sandbox.run(&["start", "t1"]).exits(0);
    let before = sandbox.read(PLAN);
    let journals = || {
        let folder = sandbox.path().join(".planwright/journal");
        let journal = std::fs::read_dir(folder).expect("journals").flatten().next();
        std::fs::read(journal.expect("a journal").path()).expect("a journal")
    };
    let journal = journals();
    for verb in [
        &["done", "t1"][..],
        &["fail", "t1"],
        &["reset", "t1"],
        &["skip", "t1"],
        &["add", "More"],
        &["set", "t1", "complexity=low"],
        &["remove", "t3"],
        &["move", "t3", "--first"],
        &["rename", "t3", "x"],
        &["depend", "t3", "--on", "t1"],
        &["undepend", "t3", "--on", "t2"],
        &["undo"],
        &["new", "rawko", "A"],
        &["import", "flat.json"],
        &["convert", "flat.json", "--to", "aimi", "--out", "a.json"],
        &["archive", PLAN],
        &["delete", PLAN],
        &["init", "."],
    ] {
        for flags in [&["--dry-run"][..], &["--diff"], &["--dry-run", "--diff"]] {
            let args: Vec<&str> = verb.iter().chain(flags).copied().collect();
            let ran = sandbox.run(&args).exits(0);
            let is_diff = ran.stdout.starts_with("--- a/") || ran.stdout.starts_with("diff --git a/");
            assert_eq!(is_diff, flags.contains(&"--diff"), "{args:?}: {}", ran.text());
            let json: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
            let report = sandbox.run(&json).exits(0).json();
            assert_eq!(report["diff"].is_string(), flags.contains(&"--diff"), "{args:?}");
        }
    }
    assert_eq!(sandbox.read(PLAN), before);
    assert_eq!(journals(), journal);
    let names = std::fs::read_dir(sandbox.path()).expect("a folder").count();
    assert_eq!(names, 4, ".git, .clido, .planwright and the flat plan");
}

#[test]
fn the_moves_of_a_dry_run_are_those_that_git_would_make() {
    let sandbox = clido();
    let ran = sandbox.run(&["archive", PLAN, "--diff"]).exits(0);
    let expected = "diff --git a/.clido/plans/p.json b/.planwright/archive/.clido/plans/p.json\n\
                    similarity index 100%\n\
                    rename from .clido/plans/p.json\n\
                    rename to .planwright/archive/.clido/plans/p.json\n";
    assert_eq!(ran.stdout, expected);
}

#[test]
fn a_draft_of_a_pack_can_be_filled_in() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["new", "task-pack", "Rotate the keys", "--out", "draft.md"])
        .exits(0);
    sandbox
        .run(&["set", "T001", "files=src/keys.rs", "-p", "draft.md"])
        .exits(0);
    let fields = [
        "files=src/old.rs",
        "test_focus=both",
        "done_signal=green",
        "stop_if=red",
    ];
    let add = [
        &["add", "Remove the old keys", "--on", "T001", "-p", "draft.md"][..],
        &fields,
    ]
    .concat();
    sandbox.run(&add).exits(0);
    // Text that would close the fence of the contract is escaped.
    sandbox
        .run(&["set", "T002", "goal=no ``` more", "-p", "draft.md"])
        .exits(0);
    assert!(
        sandbox
            .read("draft.md")
            .contains(r#""goal": "no \u0060\u0060\u0060 more""#)
    );
    let shown = sandbox.run(&["show", "draft.md", "--json"]).exits(0).json();
    assert_eq!(shown["tasks"][1]["title"], "no ``` more");
    sandbox.run(&["check", "draft.md"]).exits(0);
}

#[test]
fn a_task_named_twice_is_changed_once() {
    let sandbox = clido();
    let ran = sandbox.run(&["start", "t1", "t1"]).exits(0);
    assert_eq!(ran.stdout.matches("t1: pending → running").count(), 1, "{}", ran.text());
    let ran = sandbox.run(&["remove", "t3", "t3", "--detach"]).exits(0);
    assert!(ran.stdout.starts_with("removed t3\n"), "{}", ran.text());
}

#[test]
fn one_more_reason_for_being_skipped_is_no_move() {
    let text = r#"{"goal": "g", "tasks": [{"id": "a", "description": "d", "status": "running"},
  {"id": "b", "description": "d", "status": "running"}, {"id": "c", "description": "d", "depends_on": ["a", "b"]}]}"#;
    let sandbox = Sandbox::with(&[("planwright.toml", ""), ("p.json", text)]);
    let moved = |args: &[&str]| {
        let report = sandbox
            .run(&[args, &["--json", "-p", "p.json"]].concat())
            .exits(0)
            .json();
        let tasks = report["tasks"].as_array().expect("a list").iter();
        tasks
            .map(|task| task["task"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(moved(&["fail", "a"]), ["a", "c"]);
    assert_eq!(moved(&["fail", "b"]), ["b"]);
    assert_eq!(moved(&["reset", "a"]), ["a"]);
    assert_eq!(moved(&["reset", "b"]), ["b", "c"]);
}

#[test]
fn the_history_names_what_was_added() {
    let sandbox = clido();
    sandbox.run(&["add", "Write it down"]).exits(0);
    let report = sandbox.run(&["history", "--json"]).exits(0).json();
    assert_eq!(report["changes"][0]["tasks"], serde_json::json!(["t4"]), "{report}");
}

#[test]
fn a_task_that_is_placed_after_another_is_said_not_to_depend_on_it() {
    let sandbox = Sandbox::with(&[(".clido/plans/p.json", crate::plans::CLIDO)]);
    let added = sandbox.run(&["add", "Review it", "--after", "t1"]).exits(0);
    assert!(added.stdout.starts_with("added t6  Review it"), "{}", added.stdout);
    let note = "note: t6 stands after t1 in the list and does not depend on it; `planwright depend t6 --on t1` adds the dependency";
    assert!(added.stderr.contains(note), "{}", added.stderr);
    let command = note.split('`').nth(1).expect("a command").split(' ').skip(1);
    sandbox.run(&command.collect::<Vec<_>>()).exits(0);
    // If it does, no remark is needed.
    for options in [
        &["--after", "t1", "--on", "t1"][..],
        &["--after", "t2", "--depends-on", "t2"],
        &[],
    ] {
        let added = sandbox.run(&[&["add", "Review it"], options].concat()).exits(0);
        assert_eq!(added.stderr, "");
    }
    let help = sandbox.run(&["add", "--help"]).exits(0).stdout;
    assert!(help.contains("--depends-on"), "{help}");
}

#[test]
fn dependencies_are_named_with_and_without_the_option() {
    let sandbox = Sandbox::with(&[(".clido/plans/p.json", crate::plans::CLIDO)]);
    let changed = |args: &[&str]| sandbox.run(args).exits(0).stdout;
    assert_eq!(changed(&["depend", "t5", "t2"]), "t5 depends on t2\n");
    assert_eq!(changed(&["depend", "t5", "t1", "--on", "t3"]), "t5 depends on t1, t3\n");
    assert_eq!(
        changed(&["undepend", "t5", "t1", "t2"]),
        "t5 no longer depends on t1, t2\n"
    );
    assert_eq!(
        changed(&["undepend", "t5", "--on", "t3"]),
        "t5 no longer depends on t3\n"
    );
    let refused = sandbox.run(&["depend", "t5"]).exits(2).stderr;
    assert!(refused.contains("OTHER"), "{refused}");
}

#[test]
fn a_dialect_without_titles_names_the_field_that_has_them() {
    let sandbox = Sandbox::with(&[(".clido/plans/p.json", crate::plans::CLIDO)]);
    let refused = sandbox.run(&["set", "t1", "title=Foo"]).exits(1).stderr;
    assert!(
        refused.contains("the title of a task is its `description` here; its fields are id, description"),
        "{refused}"
    );
    let refused = sandbox.run(&["set", "t1", "colour=red"]).exits(1).stderr;
    assert!(refused.contains("help: its fields are id, description"), "{refused}");
}
