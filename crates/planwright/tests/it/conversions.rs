//! `convert`, `import`, `migrate` and `new` through the real binary.

use planwright_core::dialect::DIALECTS;
use serde_json::Value;

use crate::sandbox::Sandbox;

const CLIDO: &str = r#"{
  "goal": "Limit requests",
  "tasks": [
    {"id": "t1", "description": "Count them", "complexity": "high", "tools": ["Read"], "status": "done"},
    {"id": "t2", "description": "Answer 429", "depends_on": ["t1"], "status": "running"}
  ]
}
"#;

const MINIMAL: &str = r#"{
  "title": "Add login",
  "description": "Login and logout",
  "tasks": [
    {"title": "Read", "description": "Look at the code", "task_type": "research"},
    {"title": "Write", "description": "POST /login", "task_type": "Create", "dependencies": [1]}
  ]
}
"#;

const V2: &str = r#"{"schemaVersion": "2.2", "metadata": {"title": "feat: T", "type": "feat", "branchName": "feat/x", "createdAt": "2026-11-15", "planPath": null},
  "userStories": [
    {"id": "US-001", "title": "a", "description": "As a user, I want a so that b", "acceptanceCriteria": ["Typecheck passes"], "priority": 1, "passes": true, "notes": "", "mine": 1},
    {"id": "US-002", "title": "b", "description": "As a user, I want b so that c", "acceptanceCriteria": ["Typecheck passes"], "priority": 2, "passes": false, "notes": ""}
  ]}
"#;

#[test]
fn a_plan_is_converted_with_an_account() {
    let sandbox = Sandbox::with(&[("plan.json", CLIDO)]);
    let ran = sandbox.run(&["convert", "plan.json", "--to", "aimi"]).exits(0);
    let plan: Value = serde_json::from_str(&ran.stdout).expect("the text alone is on standard output");
    assert_eq!(plan["userStories"][0]["status"], "completed");
    assert!(ran.stderr.contains("tools"), "{}", ran.text());
    let report = sandbox
        .run(&["convert", "plan.json", "--to", "aimi", "--json"])
        .exits(0)
        .json();
    let is_lost = |loss: &Value| loss["kind"] == "lost" && loss["field"] == "tools" && loss["task"] == "t1";
    assert!(
        report["losses"].as_array().expect("a list").iter().any(is_lost),
        "{report}"
    );
    sandbox.run(&["convert", "plan.json", "--to", "clido"]).exits(1);
    sandbox.run(&["convert", "plan.json", "--to", "nobody"]).exits(2);
}

#[test]
fn every_dialect_is_written_where_asked_and_reads_back() {
    for (target, name) in [
        ("opencrabs", "out.json"),
        ("aimi", "out.json"),
        ("rawko", "out.yaml"),
        ("task-pack", "out.md"),
    ] {
        let sandbox = Sandbox::with(&[("plan.json", CLIDO)]);
        sandbox
            .run(&["convert", "plan.json", "--to", target, "--out", name, "--quiet"])
            .exits(0);
        sandbox.run(&["check", name]).exits(0);
        let show = sandbox.run(&["show", name, "--json"]).exits(0).json();
        assert_eq!(show["plan"]["dialect"], target);
        // A file that is there is never overwritten.
        let before = sandbox.read(name);
        sandbox
            .run(&["convert", "plan.json", "--to", target, "--out", name])
            .exits(1);
        assert_eq!(sandbox.read(name), before);
    }
}

const STORIES: &str = r#"{"schemaVersion": "3.0", "metadata": {"title": "T", "type": "feat", "branchName": "feat/x",
  "createdAt": "2026-11-15", "planPath": "docs/plans/p.md"}, "userStories": [{"id": "US-001", "title": "t",
  "description": "As a user, I want x so that y", "acceptanceCriteria": ["Typecheck passes"], "priority": 1,
  "status": "pending", "dependsOn": [], "notes": ""}]}"#;

#[test]
fn a_task_pack_names_a_plan_that_is_there() {
    let sandbox = Sandbox::with(&[("t.json", STORIES), (".git/HEAD", "")]);
    let pack = "docs/tasks/2026-11-15-001-feat-x-tasks.md";
    let convert = ["convert", "t.json", "--to", "task-pack", "-q", "--out", pack];
    let named = [&convert[..], &["--source-plan", "docs/plans/p.md"]].concat();
    let refused = sandbox.run(&named).exits(1);
    assert!(
        refused.stderr.contains("source_plan file does not exist"),
        "{}",
        refused.stderr
    );
    sandbox.run(&convert).exits(0);
    sandbox.run(&["check", "docs"]).exits(0);
    assert!(!sandbox.read(pack).contains("source_plan:"));
    sandbox.write("docs/plans/p.md", "---\nspec_id: 2026-11-15-001-x\n---\n\n# X\n");
    for args in [&convert[..], &named] {
        std::fs::remove_file(sandbox.path().join(pack)).expect("it was written");
        sandbox.run(args).exits(0);
        sandbox.run(&["check", "docs"]).exits(0);
        assert!(
            sandbox
                .read(pack)
                .contains("spec_id: \"2026-11-15-001-x\"\nsource_plan: \"docs/plans/p.md\"\n")
        );
    }
}

#[test]
fn embedded_originals_come_back() {
    let sandbox = Sandbox::with(&[("plan.json", CLIDO)]);
    for args in [
        [
            "convert",
            "plan.json",
            "--to",
            "rawko",
            "--out",
            "there.yaml",
            "--embed",
        ],
        [
            "convert",
            "there.yaml",
            "--to",
            "clido",
            "--out",
            "back.json",
            "--embed",
        ],
    ] {
        sandbox.run(&args).exits(0);
    }
    let back: Value = serde_json::from_str(&sandbox.read("back.json")).expect("JSON");
    assert_eq!(back["tasks"][0]["tools"], serde_json::json!(["Read"]));
    assert_eq!(back["tasks"][0]["complexity"], "high");
    assert_eq!(back["tasks"][1]["id"], "t2");
}

#[test]
fn an_import_form_becomes_a_plan() {
    let sandbox = Sandbox::with(&[("login.json", MINIMAL), ("bad.json", &MINIMAL.replace("[1]", "[7]"))]);
    sandbox
        .run(&["start", "1", "-p", "login.json"])
        .exits(1)
        .is_as_in("start-import-form");
    sandbox.run(&["import", "login.json"]).exits(0).is_as_in("import");
    let plan: Value = serde_json::from_str(&sandbox.read("login.plan.json")).expect("JSON");
    assert_eq!(plan["status"], "Draft");
    assert_eq!(plan["tasks"][1]["dependencies"][0], plan["tasks"][0]["id"]);
    sandbox.run(&["approve", "login.plan.json"]).exits(0);
    sandbox.run(&["start", "1", "-p", "login.plan.json"]).exits(0);
    sandbox
        .run(&["done", "1", "-p", "login.plan.json", "--output", "read"])
        .exits(0);
    let plan: Value = serde_json::from_str(&sandbox.read("login.plan.json")).expect("JSON");
    let task = &plan["tasks"][0];
    assert_eq!((&task["status"], &task["notes"]), (&"Completed".into(), &"read".into()));
    assert_eq!(task["execution_history"][0]["success"], true);
    assert_eq!(task["completed_at"], plan["updated_at"]);
    assert_eq!(plan["status"], "InProgress");
    let ran = sandbox.run(&["import", "bad.json"]).exits(1);
    assert!(ran.stderr.contains("bad.json:6"), "{}", ran.text());
    assert!(!sandbox.path().join("bad.plan.json").exists());
    sandbox.run(&["import", "login.json", "--session", "nobody"]).exits(2);
}

#[test]
fn a_session_gets_its_own_file() {
    let sandbox = Sandbox::with(&[("login.json", MINIMAL)]);
    let home = sandbox.path().to_string_lossy().into_owned();
    let sandbox = sandbox.set("HOME", &home);
    let id = "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0000";
    sandbox.run(&["import", "login.json", "--session", id]).exits(0);
    let text = sandbox.read(&format!(".opencrabs/agents/session/.opencrabs_plan_{id}.json"));
    let plan: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(plan["session_id"], id);
}

#[test]
fn an_old_file_is_migrated_in_place_with_a_copy_kept() {
    let sandbox = Sandbox::with(&[("x-tasks.json", V2)]);
    sandbox.run(&["migrate", "x-tasks.json", "--diff"]).exits(0);
    assert_eq!(sandbox.read("x-tasks.json"), V2);
    sandbox
        .run(&["migrate", "x-tasks.json", "--max-concurrency", "2"])
        .exits(0);
    assert_eq!(sandbox.read("x-tasks.json.bak"), V2);
    let plan: Value = serde_json::from_str(&sandbox.read("x-tasks.json")).expect("JSON");
    assert_eq!(
        (&plan["schemaVersion"], &plan["metadata"]["maxConcurrency"]),
        (&"3.0".into(), &2.into())
    );
    assert_eq!(plan["userStories"][0]["mine"], 1, "what nobody knows is kept");
    assert_eq!(plan["userStories"][1]["dependsOn"], serde_json::json!(["US-001"]));
    sandbox.run(&["check", "x-tasks.json"]).exits(0);
    sandbox.run(&["migrate", "x-tasks.json"]).exits(1);
    sandbox.run(&["undo", "x-tasks.json"]).exits(0);
    assert_eq!(sandbox.read("x-tasks.json"), V2);
}

#[test]
fn new_plans_are_valid_and_in_the_place_of_their_dialect() {
    let sandbox = Sandbox::with(&[("planwright.toml", "")]);
    for dialect in DIALECTS.iter().map(|dialect| dialect.name()) {
        let written = sandbox
            .run(&["new", dialect, "Log in: fast!", "--json"])
            .exits(0)
            .json();
        let out = written["out"].as_str().expect("a path");
        let ran = sandbox.run(&["check", out, "--json"]).exits(0).json();
        assert_eq!(ran["files"][0]["dialect"], dialect);
        sandbox.run(&["new", dialect, "Log in: fast!", "--out", out]).exits(1);
    }
}

#[test]
fn a_new_plan_is_found_by_verbs_without_a_plan_argument() {
    for dialect in DIALECTS.iter().map(|dialect| dialect.name()) {
        let sandbox = Sandbox::new();
        let out = sandbox
            .run(&["new", dialect, "Rotate the keys", "--json"])
            .exits(0)
            .json()["out"]
            .clone();
        let shown = sandbox.run(&["show", "--json"]).exits(0).json();
        assert_eq!(shown["plan"]["path"], out, "{dialect}");
        sandbox.run(&["check"]).exits(0);
    }
}

#[cfg(unix)]
#[test]
fn the_backup_of_a_private_plan_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::with(&[("prd.json", V2)]);
    let mode = |name: &str| {
        std::fs::metadata(sandbox.path().join(name))
            .expect("a file")
            .permissions()
            .mode()
            & 0o777
    };
    std::fs::set_permissions(sandbox.path().join("prd.json"), std::fs::Permissions::from_mode(0o600)).expect("mode");
    sandbox.run(&["migrate", "prd.json"]).exits(0);
    assert_eq!((mode("prd.json"), mode("prd.json.bak")), (0o600, 0o600));
}

#[test]
fn a_title_that_a_new_plan_cannot_hold_is_reported() {
    let sandbox = Sandbox::new();
    let written = sandbox
        .run(&["new", "task-pack", "Say \"hi\"", "--json"])
        .exits(0)
        .json();
    assert_eq!(written["notes"][0]["id"], "conversion-change", "{written}");
    let out = written["out"].as_str().expect("a path");
    assert!(sandbox.read(out).contains("title: \"Say 'hi'\""));
}

#[test]
fn plans_in_the_folder_of_their_tool_are_named_after_their_files() {
    let steps = "task: Limit requests\nsteps:\n- description: Count them\n";
    let sandbox = Sandbox::with(&[
        ("clido.answer", CLIDO),
        ("rawko.answer", steps),
        ("minimal.json", MINIMAL),
    ]);
    let makes: [&[&str]; 4] = [
        &["new", "DIALECT", "Limit requests"],
        &[
            "plan",
            "Limit requests",
            "--dialect",
            "DIALECT",
            "--from",
            "DIALECT.answer",
        ],
        &["convert", "minimal.json", "--to", "DIALECT"],
        &["import", "DIALECT.answer", "--dialect", "DIALECT"],
    ];
    for (dialect, home) in [("clido", ".clido/plans/NAME.json"), ("rawko", ".rawko/plans/NAME.yaml")] {
        // A rawko plan without an id is no plan yet that could be imported.
        for words in makes.iter().filter(|words| words[0] != "import" || dialect == "clido") {
            let words: Vec<String> = words.iter().map(|word| word.replace("DIALECT", dialect)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let verb = words[0];
            for (out, id) in [
                (home.replace("NAME", verb), Some(verb)),
                (
                    format!("./{}", home.replace("NAME", &format!("my-{verb}"))),
                    Some(&*format!("my-{verb}")),
                ),
                (home.replace("NAME", &format!("{verb} 2")), None),
                (home.replace("NAME", &format!("deeper/{verb}")), None),
                (format!("{verb}-{dialect}.json"), None),
            ] {
                sandbox.run(&[&words[..], &["--out", &out]].concat()).exits(0);
                let text = std::fs::read_to_string(sandbox.path().join(&out)).expect("a plan");
                let is_called =
                    |id: &str| text.contains(&format!("\"id\": \"{id}\"")) || text.starts_with(&format!("id: {id}\n"));
                assert!(id.is_none_or(is_called), "{out}: {text}");
                let found = sandbox.run(&["check", &out, "--json"]).exits(0).text();
                assert_eq!(found.contains("file-name-mismatch"), id.is_none(), "{out}: {found}");
            }
        }
    }
}
