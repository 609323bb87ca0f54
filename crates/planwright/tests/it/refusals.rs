//! Refusals: for people with the place, for programs as JSON, and never with another verb's options.

use serde_json::Value;

use crate::sandbox::Sandbox;

const CLIDO: &str = r#"{
  "goal": "Limit requests",
  "tasks": [
    {"id": "t1", "description": "Count them", "notes": "", "notes": "twice"},
    {"id": "t2", "description": "Answer 429", "depends_on": ["t1"]}
  ]
}
"#;

const PLAN: &str = ".clido/plans/p.json";

const BROKEN: &str =
    r#"{"title": "A", "description": "B", "tasks": [{"title": "T", "description": "D", "task_type": "nonsense"}]}"#;

const V2: &str = r#"{"schemaVersion": "2.2", "metadata": {"title": "feat: A", "type": "feat", "branchName": "feat/a",
"createdAt": "2026-01-20", "planPath": "p.md"}, "userStories": [{"id": "US-001", "title": "T",
"description": "As a user, I want a thing so that it is there.", "acceptanceCriteria": ["Typecheck passes"], "priority": 1,
"passes": false, "notes": ""}]}"#;

fn sandbox() -> Sandbox {
    Sandbox::with(&[
        (PLAN, CLIDO),
        ("broken.json", BROKEN),
        ("empty.json", "{}"),
        ("taken.json", "{}"),
        ("v3.json", V2),
    ])
}

#[test]
fn refusals_are_json_with_the_json_option() {
    let sandbox = sandbox();
    sandbox.run(&["migrate", "v3.json", "--no-backup"]).exits(0);
    for (status, args) in [
        (1, &["start", "t2", "--json"][..]),
        (1, &["start", "t9", "--json"]),
        (1, &["set", "t1", "status=done", "--json"]),
        (1, &["depend", "t1", "--on", "t2", "--json"]),
        (2, &["move", "t1", "--json"]),
        (1, &["undo", "--json"]),
        (2, &["undo", "-", "--json"]),
        (2, &["block", "t1", "--json"]),
        (1, &["convert", PLAN, "--to", "clido", "--json"]),
        (1, &["convert", "broken.json", "--to", "clido", "--json"]),
        (1, &["import", "broken.json", "--json"]),
        (1, &["migrate", "v3.json", "--json"]),
        (1, &["new", "clido", "X", "--out", "taken.json", "--json"]),
        (2, &["new", "nonsense", "X", "--json"]),
        (3, &["delete", "gone.json", "--yes", "--json"]),
        (3, &["show", "gone.json", "--json"]),
        (1, &["show", "empty.json", "--json"]),
        (1, &["why", "t9", "--json"]),
        (3, &["init", "gone", "--json"]),
        (2, &["start", "--json"]),
        (1, &["check", "--json", ".git"]),
        (3, &["graph", "gone.json", "--format", "json"]),
    ] {
        let ran = sandbox.run(args).exits(status);
        let report = ran.json();
        assert_eq!(report["schema_version"], "planwright.error/v1", "{args:?}");
        let error = &report["error"];
        assert_eq!(error["exit_status"], status, "{args:?}");
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
        assert!(error["help"].as_str().is_some_and(|help| !help.is_empty()), "{args:?}");
        // People who look at a log still find the words.
        assert!(ran.stderr.contains("error"), "{}", ran.text());
    }
}

#[test]
fn a_refusal_that_rests_on_findings_has_them_in_json() {
    let sandbox = sandbox();
    let report = sandbox.run(&["import", "broken.json", "--json"]).exits(1).json();
    assert_eq!(report["error"]["path"], "broken.json");
    let found = &report["error"]["diagnostics"][0];
    assert_eq!(found["severity"], "error");
    assert_eq!(found["range"]["start"]["line"], 1);
}

#[test]
fn a_file_that_cannot_be_changed_safely_is_shown_at_the_place() {
    let sandbox = sandbox();
    sandbox.run(&["done", "t1", "--note", "counted", "--dry-run"]).exits(1);
    sandbox
        .run(&["set", "t1", "notes=other"])
        .exits(1)
        .is_as_in("set-unpatchable");
    let error = sandbox.run(&["set", "t1", "notes=other", "--json"]).exits(1).json();
    assert_eq!(error["error"]["path"], PLAN);
    assert_eq!(error["error"]["range"]["start"]["line"], 4);
    assert_eq!(sandbox.read(PLAN), CLIDO);
}

#[test]
fn a_plan_in_another_dialect_than_the_option_is_named() {
    let sandbox = sandbox();
    for args in [
        &["start", "t1", "--dialect", "aimi"][..],
        &["add", "More", "--dialect", "opencrabs"],
        &["next", "--start", "--dialect", "rawko"],
    ] {
        let ran = sandbox.run(args).exits(1);
        assert!(
            ran.stderr.contains("is a plan in the dialect `clido`"),
            "{}",
            ran.text()
        );
        assert!(ran.stderr.contains("leave --dialect out"), "{}", ran.text());
    }
    assert_eq!(sandbox.read(PLAN), CLIDO);
}

#[test]
fn no_verb_offers_the_options_of_another() {
    let sandbox = sandbox();
    let quoted = BROKEN.replace("\"nonsense\"", "\"edit\", \"complexity\": \"3\"");
    sandbox.write("quoted.json", &quoted);
    let many: Vec<String> = (1..9)
        .map(|n| format!(r#"{{"title": "T{n}", "description": "D", "task_type": "edit", "dependencies": [99]}}"#))
        .collect();
    sandbox.write(
        "many.json",
        format!(
            r#"{{"title": "A", "description": "B", "tasks": [{}]}}"#,
            many.join(", ")
        ),
    );
    let ran = sandbox.run(&["import", "many.json"]).exits(1);
    assert!(
        ran.stderr.contains("(`planwright check --all` shows them)"),
        "{}",
        ran.text()
    );
    assert!(!ran.stderr.contains("(--all"), "{}", ran.text());
    let text = format!("{}{}", ran.stderr, sandbox.run(&["import", "quoted.json"]).stderr);
    assert!(!text.contains(" with --fix"), "{text}");
    let ran = sandbox.run(&["check", "many.json"]).exits(1);
    assert!(ran.stdout.contains("(--all shows them)"), "{}", ran.text());
    let help = sandbox.run(&["start", "--help"]).exits(0).stdout;
    assert!(!help.contains("standard input. Default"), "{help}");
    let help = sandbox.run(&["why", "--help"]).exits(0).stdout;
    assert!(help.contains("standard input. Default"), "{help}");
    let ran = sandbox.run(&["undo", "-"]).exits(2);
    assert!(!ran.stderr.contains("--plan"), "{}", ran.text());
}

#[test]
fn the_account_of_a_conversion_is_listed_in_json_alone() {
    let sandbox = Sandbox::new();
    let tasks: Vec<String> = (1..9)
        .map(|n| format!(r#"{{"id": "t{n}", "description": "D", "tools": ["Edit"]}}"#))
        .collect();
    sandbox.write("p.json", format!(r#"{{"goal": "G", "tasks": [{}]}}"#, tasks.join(", ")));
    let ran = sandbox
        .run(&["convert", "p.json", "--to", "aimi", "--dry-run"])
        .exits(0);
    assert!(ran.stderr.contains("(--json lists them)"), "{}", ran.text());
    assert!(!ran.stderr.contains("--all"), "{}", ran.text());
}

#[test]
fn dry_runs_are_worded_in_the_conditional() {
    let sandbox = Sandbox::with(&[(PLAN, &CLIDO.replace(", \"notes\": \"\", \"notes\": \"twice\"", ""))]);
    sandbox.run(&["start", "t1"]).exits(0);
    let would = |args: &[&str]| sandbox.run(args).exits(0).stdout;
    assert_eq!(would(&["undo", "--dry-run"]), "would take back start t1 (change 1)\n");
    assert_eq!(would(&["add", "More", "--dry-run"]), "would add t3  More\n");
    assert_eq!(would(&["remove", "t2", "--dry-run"]), "would remove t2\n");
    assert_eq!(
        would(&["undepend", "t2", "--on", "t1", "--dry-run"]),
        "t2 would no longer depend on t1\n"
    );
    assert_eq!(would(&["rename", "t2", "x", "--dry-run"]), "would rename t2 to x\n");
    assert_eq!(would(&["set", "t2", "notes=x", "--dry-run"]), "would set notes of t2\n");
    assert_eq!(would(&["set", "t2", "description=Answer 429", "--diff"]), "");
    let ran = sandbox.run(&["convert", PLAN, "--to", "clido"]).exits(1);
    assert!(
        ran.stderr.contains("the plan is in the dialect `clido` already"),
        "{}",
        ran.text()
    );
}

#[test]
fn dry_runs_name_the_file_to_be_written() {
    let sandbox = Sandbox::with(&[("v2.json", V2)]);
    sandbox.write(
        "flat.json",
        r#"{"goal": "G", "tasks": [{"id": "t1", "description": "D"}]}"#,
    );
    for (args, out) in [
        (&["new", "rawko", "A", "--out", "a.yaml"][..], "a.yaml"),
        (&["import", "flat.json", "--out", "flat.plan.json"], "flat.plan.json"),
        (&["migrate", "v2.json"], "v2.json"),
        (
            &["convert", "flat.json", "--to", "aimi", "--out", "tasks.json"],
            "tasks.json",
        ),
    ] {
        for flags in [&["--dry-run"][..], &["--diff"], &["--dry-run", "--diff"]] {
            let asked: Vec<&str> = args.iter().chain(flags).copied().collect();
            let json: Vec<&str> = asked.iter().copied().chain(["--json"]).collect();
            let report = sandbox.run(&json).exits(0).json();
            assert_eq!(report["out"], out, "{asked:?}");
            assert_eq!(report["written"], Value::Bool(false), "{asked:?}");
            let ran = sandbox.run(&asked).exits(0);
            assert!(ran.stderr.contains(&format!("would write {out}")), "{}", ran.text());
            if flags.contains(&"--diff") {
                assert!(ran.stdout.starts_with("--- a/"), "{}", ran.text());
                assert!(report["diff"].as_str().is_some_and(|diff| diff.starts_with("--- a/")));
            }
        }
    }
    let ran = sandbox.run(&["migrate", "v2.json", "--dry-run"]).exits(0);
    assert!(ran.stdout.starts_with("--- a/v2.json"), "{}", ran.text());
    assert!(ran.stderr.contains("would be kept as v2.json.bak"), "{}", ran.text());
    let names = |sandbox: &Sandbox| std::fs::read_dir(sandbox.path()).expect("a folder").count();
    assert_eq!(names(&sandbox), 3, "nothing was written: the two files and .git");
    // A dry run refuses what the verb would refuse.
    for flag in ["--dry-run", "--diff"] {
        sandbox.run(&["new", "clido", "A", "--out", "v2.json", flag]).exits(1);
    }
}

#[test]
fn errors_that_an_edit_would_cause_are_in_json() {
    let sandbox = Sandbox::with(&[(PLAN, &CLIDO.replace(", \"notes\": \"\", \"notes\": \"twice\"", ""))]);
    let report = sandbox.run(&["depend", "t1", "--on", "t2", "--json"]).exits(1).json();
    let found = &report["error"]["diagnostics"][0];
    assert_eq!(found["id"], "dependency-cycle");
    assert_eq!(
        found["range"],
        Value::Null,
        "the text with that place was never written"
    );
}

/// A plan without errors.
const SOUND: &str = r#"{"goal": "Limit requests", "tasks": [{"id": "t1", "description": "Count them"},
{"id": "t2", "description": "Answer 429", "depends_on": ["t1"]}]}
"#;

#[test]
fn every_verb_reports_an_unknown_task_in_the_same_words() {
    let sandbox = Sandbox::with(&[(PLAN, SOUND), ("answer.md", SOUND)]);
    for args in [
        &["why", "T1"][..],
        &["start", "T1"],
        &["done", "T1"],
        &["block", "T1", "--note", "x"],
        &["verify", "T1"],
        &["set", "T1", "notes=x"],
        &["remove", "T1"],
        &["move", "t2", "--before", "T1"],
        &["depend", "t2", "--on", "T1"],
        &["add", "More", "--on", "T1"],
        &["run", "--only", "T1"],
        &["run", "--dry-run", "--until", "T1"],
        &["replan", "--task", "T1", "--from", "answer.md"],
        &["approve", "T1", "-p", PLAN],
    ] {
        let ran = sandbox.run(args).exits(1);
        assert_eq!(
            ran.stderr, "error: there is no task `T1` in this plan\nhelp: did you mean `t1`? it has t1, t2\n",
            "{args:?}"
        );
    }
    // A neighbouring number is no typing error.
    let ran = sandbox.run(&["start", "t3"]).exits(1);
    assert!(ran.stderr.ends_with("help: it has t1, t2\n"), "{}", ran.text());
}

#[test]
fn a_misspelt_plan_name_gets_a_suggestion() {
    let sandbox = Sandbox::with(&[(".clido/plans/limits.json", SOUND)]);
    for name in ["Limits", "limist"] {
        let ran = sandbox.run(&["show", name]).exits(1);
        assert_eq!(
            ran.stderr,
            format!(
                "error: there is no plan `{name}`, and `.clido/plans/limits.json` has no such task\nhelp: did you mean `limits`? `planwright list` shows the plans of this \
                 workspace\n"
            )
        );
    }
    let ran = sandbox.run(&["show", "other"]).exits(1);
    assert!(!ran.stderr.contains("did you mean"), "{}", ran.text());
}

#[test]
fn every_verb_reports_a_missing_plan_in_the_same_words() {
    let sandbox = Sandbox::with(&[("answer.md", SOUND)]);
    for args in [
        &["show", "gone.json"][..],
        &["next", "gone.json"],
        &["why", "t1", "-p", "gone.json"],
        &["start", "t1", "-p", "gone.json"],
        &["verify", "t1", "-p", "gone.json"],
        &["add", "More", "-p", "gone.json"],
        &["submit", "gone.json"],
        &["approve", "t1", "-p", "gone.json"],
        &["arbiter", "gone.json"],
        &["delete", "gone.json", "--yes"],
        &["history", "gone.json"],
        &["diff", "gone.json"],
        &["proposals", "gone.json"],
        &["replan", "gone.json", "--from", "answer.md"],
        &["convert", "gone.json", "--to", "aimi"],
        &["migrate", "gone.json"],
        &["hash", "gone.json"],
        &["tasks", "derive", "gone.json", "--from", "answer.md"],
        &["tasks", "cards", "gone.json"],
        &["run", "gone.json"],
    ] {
        let ran = sandbox.run(args).exits(3);
        assert_eq!(
            ran.stderr,
            "error: `gone.json` does not exist\nhelp: check the path; `planwright list` shows the plans of this workspace\n",
            "{args:?}"
        );
    }
}

#[test]
fn a_plan_without_a_name_is_not_the_only_plan() {
    let sandbox = Sandbox::with(&[(PLAN, SOUND)]);
    for args in [
        &["delete", "", "--yes"][..],
        &["archive", ""],
        &["show", ""],
        &["start", "t1", "-p", ""],
        &["next", "--start", "--plan", ""],
        &["approve", ""],
        &["runs", ""],
        &["stop", ""],
        &["diff", ""],
        &["new", "clido", ""],
        &["add", ""],
    ] {
        let ran = sandbox.run(args).exits(2);
        assert!(ran.stderr.contains("a value is required"), "{}", ran.text());
    }
    assert_eq!(sandbox.read(PLAN), SOUND);
}

#[test]
fn a_plan_on_standard_input_is_changed_by_no_verb() {
    let sandbox = Sandbox::new();
    for args in [
        &["start", "t1", "-p", "-"][..],
        &["submit", "-"],
        &["approve", "-"],
        &["reject", "-", "--note", "x"],
        &["undo", "-"],
        &["migrate", "-"],
        &["run", "-"],
    ] {
        let ran = sandbox.run_with(args, SOUND).exits(2);
        let message = "error: standard input is not a plan file\n";
        assert!(ran.stderr.starts_with(message), "{}", ran.text());
    }
}

#[test]
fn every_verb_reports_a_missing_agent_in_the_same_words() {
    let sandbox = Sandbox::with(&[(PLAN, SOUND), ("plan.md", "# A plan\n")]);
    for args in [
        &["run"][..],
        &["plan", "Do it", "--dialect", "clido"],
        &["replan"],
        &["tasks", "derive", "plan.md"],
    ] {
        let ran = sandbox.run(args).exits(3);
        assert!(ran.stderr.contains("error: no agent is configured"), "{}", ran.text());
        assert!(
            ran.stderr
                .contains("help: none is installed. One of these installs one:"),
            "{}",
            ran.text()
        );
    }
}

#[test]
fn every_verb_reports_a_file_without_a_task_pack_in_the_same_words() {
    let sandbox = Sandbox::with(&[(PLAN, SOUND), ("answer.md", SOUND)]);
    for args in [
        &["tasks", "cards"][..],
        &["tasks", "regenerate", "--from", "answer.md", "--yes"],
    ] {
        let ran = sandbox.run(args).exits(1);
        assert!(
            ran.stderr.starts_with(&format!("error: `{PLAN}` is not a task pack\n")),
            "{}",
            ran.text()
        );
    }
}

#[test]
fn a_wrong_command_line_is_json_of_the_form_that_was_asked_for() {
    let sandbox = sandbox();
    for args in [
        &["run", "--json", "--no-such"][..],
        &["events", "--json", "--no-such"],
        &["run", "--slots", "x", "--json"],
    ] {
        let ran = sandbox.run(args).exits(2);
        assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.text());
        assert_eq!(ran.json()["error"]["exit_status"], 2);
    }
    for args in [
        &["graph", "--format", "json", "--no-such"][..],
        &["check", "--format=json", "--no-such"],
        &["show", "--json", "--no-such"],
    ] {
        let ran = sandbox.run(args).exits(2);
        assert_eq!(ran.json()["schema_version"], "planwright.error/v1", "{}", ran.text());
    }
    assert_eq!(
        sandbox.run(&["graph", "--format", "dot", "--no-such"]).exits(2).stdout,
        ""
    );
}

#[test]
fn a_plan_is_named_by_its_file_without_the_folder() {
    let sandbox = Sandbox::with(&[(".clido/plans/plan-0a1b2c3d.json", SOUND)]);
    for verb in ["show", "graph", "history", "next"] {
        sandbox.run(&[verb, "plan-0a1b2c3d.json"]).exits(0);
    }
    sandbox.run(&["start", "t1", "-p", "plan-0a1b2c3d.json"]).exits(0);
    sandbox.run(&["undo", "plan-0a1b2c3d.json"]).exits(0);
    let found = sandbox.run(&["find", "plan-0a1b2c3d.json", "--json"]).exits(0).json();
    assert_eq!(found["plans"][0]["fit"], "name");
    // A part of the name with the ending is no name.
    sandbox.run(&["undo", "0a1b2c3d.json"]).exits(3);
    // An existing file takes precedence.
    sandbox.write("plan-0a1b2c3d.json", SOUND.replace("Limit requests", "Another plan"));
    let shown = sandbox.run(&["show", "plan-0a1b2c3d.json"]).exits(0).stdout;
    assert!(shown.contains("Another plan"), "{shown}");
    std::fs::remove_file(sandbox.path().join("plan-0a1b2c3d.json")).expect("it is there");
    sandbox.run(&["archive", "plan-0a1b2c3d.json"]).exits(0);
}

#[test]
fn several_plans_with_one_file_name_are_listed() {
    let sandbox = Sandbox::with(&[
        (".clido/plans/2026-03-03-a-tasks.json", SOUND),
        (".aimi/tasks/2026-03-03-a-tasks.json", crate::plans::AIMI),
    ]);
    let refused = sandbox.run(&["undo", "2026-03-03-a-tasks.json"]).exits(1).stderr;
    assert!(refused.contains("several plans match:"), "{refused}");
    assert!(
        refused.contains("planwright undo .aimi/tasks/2026-03-03-a-tasks.json"),
        "{refused}"
    );
}

#[test]
fn the_name_of_a_task_in_place_of_a_plan_is_explained() {
    let sandbox = Sandbox::with(&[(".clido/plans/first.json", SOUND)]);
    let refused = sandbox.run(&["run", "t1", "-j", "2"]).exits(1).stderr;
    assert!(
        refused.contains("there is no plan `t1`: it is a task of .clido/plans/first.json"),
        "{refused}"
    );
    assert!(refused.contains("`planwright run --only t1 -j 2`"), "{refused}");
    let refused = sandbox.run(&["run", "-p", "t1"]).exits(1).stderr;
    assert!(refused.contains("`planwright run --only t1`"), "{refused}");
    let refused = sandbox.run(&["undo", "t1"]).exits(1).stderr;
    assert!(refused.contains("name the plan, not the task"), "{refused}");
    // Of several plans, the help names the one with the task.
    sandbox.write(".clido/plans/second.json", SOUND.replace("t1", "x1"));
    let refused = sandbox.run(&["run", "x1"]).exits(1).stderr;
    assert!(
        refused.contains("`planwright run .clido/plans/second.json --only x1`"),
        "{refused}"
    );
}

#[test]
fn an_archived_plan_is_reported_with_the_way_back() {
    let rawko = (".rawko/plans/plan-b.yaml", crate::plans::RAWKO);
    for (path, text) in [(".clido/plans/plan-0a1b2c3d.json", SOUND), rawko] {
        let sandbox = Sandbox::with(&[(path, text)]);
        let file = path.rsplit('/').next().expect("a name");
        let stem = file.split('.').next().expect("a name");
        let report = sandbox.run(&["archive", file, "--json"]).exits(0).json();
        let archived = report["plans"][0]["to"].as_str().expect("a path").to_owned();
        for name in [file, stem] {
            for verb in [
                &["undo", name][..],
                &["run", name],
                &["reset", "t1", "-p", name],
                &["archive", name],
            ] {
                let refused = sandbox.run(verb).exits(1).stderr;
                assert!(
                    refused.contains(&format!("the plan `{name}` is archived: {archived}")),
                    "{verb:?}: {refused}"
                );
                assert!(
                    refused.contains(&format!("`mv {archived} {path}`")),
                    "{verb:?}: {refused}"
                );
            }
            sandbox.run(&["show", name]).exits(0);
        }
        let refused = sandbox.run(&["approve", stem]).exits(1).stderr;
        assert!(refused.contains("is archived"), "{refused}");
        // The folder of plans may be gone.
        let folder = path.rsplit_once('/').expect("a folder").0;
        if std::fs::remove_dir(sandbox.path().join(folder)).is_ok() {
            let refused = sandbox.run(&["undo", file]).exits(1).stderr;
            let command = format!("`mkdir -p {folder} && mv {archived} {path}`");
            assert!(refused.contains(&command), "{refused}");
        }
    }
}
