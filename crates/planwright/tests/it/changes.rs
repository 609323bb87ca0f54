//! The verbs that change a plan, through the real binary: what they write, what they refuse, and many of them at once.

use serde_json::Value;

use crate::sandbox::Sandbox;

const CLIDO: &str = r#"{
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

fn clido() -> Sandbox {
    Sandbox::with(&[(".clido/plans/p.json", CLIDO)])
}

const PLAN: &str = ".clido/plans/p.json";

#[test]
fn a_task_goes_its_way() {
    let sandbox = clido();
    sandbox
        .run(&["start", "t1", "--by", "claude"])
        .exits(0)
        .is_as_in("start");
    sandbox
        .run(&["done", "t1", "--note", "counted"])
        .exits(0)
        .is_as_in("done");
    sandbox.run(&["start", "t2"]).exits(0);
    sandbox
        .run(&["fail", "t2", "--note", "no router"])
        .exits(0)
        .is_as_in("fail-with-dependents");
    sandbox.run(&["retry", "t2"]).exits(0).is_as_in("retry-with-dependents");
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
            "\"depends_on\": [\"t2\"], \"notes\": \"\", \"status\": \"pending\"",
        );
    assert_eq!(sandbox.read(PLAN), expect);
}

#[test]
fn what_is_refused_changes_nothing_and_says_what_is_allowed() {
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
    sandbox.run(&["start", "t2", "--force"]).exits(0);
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
fn edits_are_made_and_taken_back() {
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
    assert!(ran.stderr.contains("edited since"), "{}", ran.text());
    assert_eq!(sandbox.read(PLAN), by_hand);
    sandbox.run(&["done", "t1"]).exits(0);
    assert_eq!(sandbox.read(PLAN), by_hand.replace("running", "done"));
    let history = sandbox.run(&["history", "--json"]).exits(0).json();
    assert_eq!(history["n_external"], 1);
}

#[test]
fn the_state_of_a_pack_is_kept_beside_it() {
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
    sandbox.run(&["done", "T001", "--note", "counts"]).exits(0);
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
    sandbox.run(&["fail", "US-001", "--note", "no disk"]).exits(0);
    let failed = text.replacen("\"passes\": false}", "\"passes\": false, \"notes\": \"no disk\"}", 1);
    assert_eq!(sandbox.read(file), failed);
    sandbox.run(&["retry", "US-001"]).exits(0);
    sandbox.run(&["done", "US-001"]).exits(0);
    assert_eq!(
        sandbox.read(file),
        failed.replacen("\"passes\": false", "\"passes\": true", 1)
    );
    sandbox.run(&["skip", "US-002"]).exits(0);
    assert!(sandbox.read(file).contains("\"passes\": false, \"skipped\": true"));
}

#[test]
fn what_only_the_journal_knows_of_v2_stories_follows_edits_and_migration() {
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
fn current_task_follows_what_is_taken_back() {
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

/// A plan of many independent stories, with a slot for each.
fn wide(n_stories: usize) -> String {
    let stories: Vec<String> = (1..=n_stories)
        .map(|n| {
            format!(
                r#"    {{"id": "US-{n:03}", "title": "s", "description": "As a user, I want {n}", "acceptanceCriteria": ["Typecheck passes"], "priority": {n}, "status": "pending", "dependsOn": [], "notes": ""}}"#
            )
        })
        .collect();
    format!(
        "{{\n  \"schemaVersion\": \"3.0\",\n  \"metadata\": {{\"title\": \"T\", \"type\": \"feat\", \"branchName\": \"feat/x\", \"createdAt\": \"2026-11-15\", \"maxConcurrency\": {n_stories}}},\n  \"userStories\": [\n{}\n  ]\n}}\n",
        stories.join(",\n")
    )
}

#[test]
fn sixteen_at_once_lose_nothing() {
    const N: usize = 16;
    let file = ".aimi/tasks/x-tasks.json";
    let sandbox = Sandbox::with(&[(file, &wide(N))]);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        // A reader that takes no lock sees a whole plan at every instant.
        let reader = scope.spawn(|| {
            let mut n_reads = 0;
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let text = sandbox.read(file);
                let plan: Value = serde_json::from_str(&text).expect("whole at every instant");
                assert_eq!(plan["userStories"].as_array().map(Vec::len), Some(N));
                n_reads += 1;
            }
            n_reads
        });
        let writers: Vec<_> = (1..=N)
            .map(|n| {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    let story = format!("US-{n:03}");
                    sandbox.run(&["start", &story]).exits(0);
                    sandbox.run(&["done", &story, "--note", &format!("by {n}")]).exits(0);
                })
            })
            .collect();
        for writer in writers {
            writer.join().expect("a writer");
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(reader.join().expect("the reader") > 0);
    });
    let text = sandbox.read(file);
    for n in 1..=N {
        let notes = format!("\"status\": \"completed\", \"dependsOn\": [], \"notes\": \"by {n}\"");
        assert!(text.contains(&notes), "{text}");
    }
    let history = sandbox.run(&["history", "--json", "--limit", "99"]).exits(0).json();
    assert_eq!(history["n_changes"], 2 * N);
}

#[test]
fn nobody_gets_a_task_that_somebody_has() {
    const N: usize = 12;
    let sandbox = Sandbox::with(&[(".aimi/tasks/x-tasks.json", &wide(N))]);
    let mut taken: Vec<String> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..N)
            .map(|_| {
                scope.spawn(|| {
                    let next = sandbox.run(&["next", "--start", "--json"]).exits(0).json();
                    next["ready"][0]["task"]["task"].as_str().expect("a name").to_owned()
                })
            })
            .collect();
        callers
            .into_iter()
            .map(|caller| caller.join().expect("a caller"))
            .collect()
    });
    taken.sort();
    let all: Vec<String> = (1..=N).map(|n| format!("US-{n:03}")).collect();
    assert_eq!(taken, all);
    sandbox.run(&["next", "--start"]).exits(1);
}
