//! `planwright clido plan …` answers as the original does.

use crate::sandbox::{Ran, Sandbox};

const SAVED: &str = r#"{
  "meta": {"id": "plan-1", "goal": "Refactor the auth module so that it uses tokens everywhere at last", "created_at": "2026-03-01T00:00:00Z"},
  "tasks": [
    {"id": "t1", "description": "Read", "depends_on": [], "complexity": "low", "status": "done"},
    {"id": "t2", "description": "Write", "depends_on": ["t1"], "complexity": "medium", "status": "running", "notes": "slowly"},
    {"id": "t3", "description": "Test", "depends_on": ["t1", "t2"], "complexity": "high", "status": "failed", "skip": true},
    {"id": "t4", "description": "Tell", "status": "skipped"},
    {"id": "t5", "description": "Rest", "status": "waiting", "complexity": "huge", "depends_on": null}
  ]
}"#;

const SMALL: &str = r#"{"meta": {"id": "early", "goal": "Small", "created_at": "2026-01-01"}, "tasks": [{"id": "a", "description": "d"}]}"#;

fn sandbox() -> Sandbox {
    Sandbox::with(&[(".clido/plans/plan-1.json", SAVED), (".clido/plans/early.json", SMALL)])
}

fn plan(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let ran = sandbox.run(&[&["clido", "plan"], args].concat());
    ran.is_orderly();
    ran
}

#[test]
fn plans_are_listed_newest_first() {
    let sandbox = sandbox();
    sandbox.write(".clido/plans/notes.txt", "no plan");
    let ran = plan(&sandbox, &["list"]).exits(0);
    assert_eq!(
        ran.stdout,
        "ID                    Tasks     Done      Failed    Goal\n\
         plan-1                5         1         1         Refactor the auth module so that it uses tokens everywhere …\n\
         early                 1         0         0         Small\n"
    );
    assert_eq!(ran.stderr, "");
}

#[test]
fn goals_are_cut_by_characters() {
    for (goal, expect) in [
        ("é".repeat(60), "é".repeat(60)),
        ("é".repeat(61), format!("{}…", "é".repeat(59))),
    ] {
        let text = SMALL.replace("Small", &goal);
        let sandbox = Sandbox::with(&[(".clido/plans/early.json", &text)]);
        let stdout = plan(&sandbox, &["list"]).exits(0).stdout;
        assert!(stdout.ends_with(&format!("  {expect}\n")), "{stdout}");
    }
}

#[test]
fn an_empty_list_of_plans_is_no_error() {
    let nothing = "No saved plans. Use --plan with a prompt to generate and save one.\n";
    assert_eq!(plan(&Sandbox::new(), &["list"]).exits(0).stdout, nothing);
    let sandbox = Sandbox::with(&[
        (".clido/plans/flat.json", r#"{"goal": "g", "tasks": []}"#),
        (".clido/plans/bad.json", "{"),
    ]);
    let ran = plan(&sandbox, &["list"]).exits(0);
    assert_eq!(ran.stdout, nothing);
    assert_eq!(ran.stderr.lines().count(), 2, "{}", ran.text());
    assert!(
        ran.stderr
            .contains("Warning: flat is left out: JSON error: missing field `meta`\n"),
        "{}",
        ran.text()
    );
}

#[test]
fn a_plan_is_shown_with_its_statuses_as_they_are() {
    let ran = plan(&sandbox(), &["show", "plan-1"]).exits(0);
    assert_eq!(
        ran.stdout,
        "Plan: plan-1\n\
         Goal: Refactor the auth module so that it uses tokens everywhere at last\n\
         Created: 2026-03-01T00:00:00Z\n\
         \n\
         Progress: 1/5 done  1 failed  1 skipped  0 pending\n\
         \n\
         \u{20} ✓ t1  [low]    Read\n\
         \u{20} ↻ t2  [med]    Write  → needs t1\n\
         \u{20}      note: slowly\n\
         \u{20} ✗ t3  [high]   Test  (skip)  → needs t1, t2\n\
         \u{20} ⊘ t4  [low]    Tell\n\
         \u{20} ? t5  [?]      Rest\n"
    );
    let small = plan(&sandbox(), &["show", "early"]).exits(0).stdout;
    assert!(
        small.ends_with("Progress: 0/1 done  0 failed  0 skipped  1 pending\n\n  ○ a  [low]    d\n"),
        "{small}"
    );
}

#[test]
fn a_plan_is_deleted_once() {
    let sandbox = sandbox();
    assert_eq!(
        plan(&sandbox, &["delete", "early"]).exits(0).stdout,
        "Deleted plan 'early'.\n"
    );
    let ran = plan(&sandbox, &["delete", "early"]).exits(1);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("", "Error: plan not found: early\n")
    );
    assert_eq!(
        plan(&sandbox, &["show", "early"]).exits(1).stderr,
        "Error: plan not found: early\n"
    );
    assert!(sandbox.path().join(".clido/plans/plan-1.json").exists());
}

#[test]
fn ids_do_not_lead_out_of_the_folder() {
    let sandbox = sandbox();
    sandbox.write(".clido/secret.json", SMALL);
    sandbox.write(".clido/plans/inner/x.json", SMALL);
    let absolute = sandbox.path().join(".clido/secret");
    let absolute = absolute.to_str().expect("a Unicode path");
    for id in ["../secret", "..", ".", "", "inner/x", "..\\secret", absolute, "C:x"] {
        for command in ["show", "delete"] {
            let ran = plan(&sandbox, &[command, id]).exits(1);
            assert_eq!(ran.stderr, format!("Error: invalid plan id: {id}\n"));
        }
    }
    assert!(sandbox.path().join(".clido/secret.json").exists());
    assert!(sandbox.path().join(".clido/plans/inner/x.json").exists());
}

#[test]
fn unreadable_plans_are_reported_with_the_reason() {
    for (text, words) in [
        ("", "Error: JSON error: "),
        ("[1]", "Error: JSON error: missing field `meta`"),
        (
            r#"{"meta": {"id": "x", "goal": 1, "created_at": ""}, "tasks": []}"#,
            "field `meta.goal` is missing or no string",
        ),
        (
            r#"{"meta": {"id": "x", "goal": "g", "created_at": ""}}"#,
            "field `tasks` is missing or no list",
        ),
        (
            r#"{"meta": {"id": "x", "goal": "g", "created_at": ""}, "tasks": [{"id": "t"}]}"#,
            "field `tasks[0].description`",
        ),
    ] {
        let sandbox = Sandbox::with(&[(".clido/plans/x.json", text)]);
        let ran = plan(&sandbox, &["show", "x"]).exits(1);
        assert!(ran.stderr.contains(words), "`{words}` is not in\n{}", ran.text());
        plan(&sandbox, &["delete", "x"]).exits(0);
    }
}

#[test]
fn another_folder_can_be_named() {
    let sandbox = Sandbox::with(&[("w/.clido/plans/early.json", SMALL)]);
    for args in [&["-C", "w"][..], &["--workdir", "w"], &["--workdir=w"]] {
        let ran = sandbox
            .run(&[&["clido"], args, &["plan", "show", "early"]].concat())
            .exits(0);
        assert!(ran.stdout.starts_with("Plan: early\n"));
    }
    let sandbox = sandbox.set("CLIDO_WORKDIR", "w");
    plan(&sandbox, &["show", "early"]).exits(0);
}

#[test]
fn saved_plans_are_run_by_their_ids() {
    let sandbox = sandbox();
    sandbox.write("planwright.toml", "[agents.quiet]\ncommand = [\"true\"]\n");
    let before = sandbox
        .run(&["clido", "plan", "run", "early", "--plan-dry-run"])
        .exits(0);
    assert!(before.stdout.contains("round 1"), "{}", before.text());
    // Options may precede the id, and their values are no ids.
    let rounds = sandbox
        .run(&[
            "clido",
            "plan",
            "run",
            "-j",
            "2",
            "--color",
            "never",
            "early",
            "--dry-run",
        ])
        .exits(0);
    assert!(rounds.stdout.contains("round 1"), "{}", rounds.text());
    sandbox.run(&["clido", "plan", "run", "early"]).exits(0);
    let after = sandbox.run(&["clido", "plan", "show", "early"]).exits(0);
    assert!(after.stdout.contains("1/1 done"), "{}", after.text());
    for args in [&["clido", "plan", "run"][..], &["clido", "plan", "run", "../early"]] {
        sandbox.run(args).exits(2);
    }
}

#[test]
fn unsupported_clido_commands_are_refused() {
    let sandbox = sandbox();
    for (args, what) in [
        (&["clido", "plan", "dance"][..], "plan dance"),
        (&["clido", "sessions", "list"], "sessions"),
        (&["clido", "--planner", "x"], "--planner"),
    ] {
        let ran = sandbox.run(args).exits(2);
        let message = format!("Error: `clido {what}` is not part of planwright's clido command line\n\nUsage: clido ");
        assert!(ran.stderr.starts_with(&message), "{}", ran.text());
    }
    for args in [
        &["clido", "plan"][..],
        &["clido", "plan", "show"],
        &["clido", "plan", "list", "x"],
        &["clido", "-C"],
    ] {
        sandbox.run(args).exits(2);
    }
    for args in [
        &["clido"][..],
        &["clido", "--help"],
        &["clido", "plan", "--help"],
        &["clido", "plan", "show", "-h"],
    ] {
        assert!(sandbox.run(args).exits(0).stdout.starts_with("Usage: clido "));
    }
}
