//! The commands that verbs print work when they are pasted, in the state in which they are printed.

use crate::plans;
use crate::run::{aimi, clido};
use crate::sandbox::Sandbox;

fn gated() -> Sandbox {
    let config = "[approval]\nrequired = true\n[agents.mock]\ncommand = [\"true\"]\n[run]\nagent = \"mock\"\n";
    Sandbox::with(&[("plan.json", &clido(&["a", "b"])), ("planwright.toml", config)])
}

#[test]
fn no_task_is_called_ready_behind_a_closed_gate() {
    let sandbox = gated();
    for args in [["skip", "a", "-p", "plan.json"], ["reset", "a", "-p", "plan.json"]] {
        let report = sandbox.run(&args).exits(0).stdout;
        assert!(!report.contains("ready:"), "{report}");
        assert!(
            report.contains("no task can be started: the plan is not approved"),
            "{report}"
        );
    }
    let report = sandbox.run(&["skip", "a", "-p", "plan.json", "--json"]).exits(0).json();
    assert_eq!(report["ready"], serde_json::json!([]));
    let refused = sandbox.run(&["submit", "plan.json"]).exits(1).stderr;
    assert!(!refused.contains("may start"), "{refused}");
    let rejected = sandbox.run(&["reject", "plan.json", "--note", "no"]).exits(0).text();
    assert!(!rejected.contains("any more"), "{rejected}");
}

#[test]
fn a_dry_run_begins_with_the_obstacles() {
    let report = gated().run(&["run", "plan.json", "--dry-run"]).exits(1).stdout;
    assert!(
        report.starts_with("nothing would run: the plan is not approved"),
        "{report}"
    );
    assert!(report.contains("if it could start, 2 of 2 tasks would run"), "{report}");
    assert_eq!(report.matches("nothing would run").count(), 1, "{report}");
}

#[test]
fn a_new_task_pack_advises_to_derive_one() {
    let sandbox = Sandbox::new();
    sandbox.run(&["new", "task-pack", "X"]).exits(0);
    for args in [&["start", "T001"][..], &["show"]] {
        let report = sandbox.run(args).text();
        assert!(report.contains("`planwright tasks derive PLAN`"), "{report}");
        assert!(!report.contains("regenerate"), "{report}");
    }
}

#[test]
fn advice_on_errors_names_the_file_or_says_to_edit_it() {
    let plan = clido(&["a"]);
    let sandbox = Sandbox::with(&[("b.txt", "{\"tasks\": [{\"id\": \"a\", \"title\": \"x\"},]}")]);
    let refused = sandbox
        .run(&["convert", "b.txt", "--dialect", "clido", "--to", "rawko"])
        .exits(1)
        .stderr;
    assert_eq!(
        refused.matches("`planwright check --fix b.txt`").count(),
        2,
        "{refused}"
    );
    sandbox.write("plan.json", format!("<<<<<<< HEAD\n{plan}=======\n{plan}>>>>>>> b\n"));
    let refused = sandbox.run(&["run", "plan.json"]).exits(1).stderr;
    assert!(refused.contains("help: edit the file by hand"), "{refused}");
    assert!(!refused.contains("--fix"), "{refused}");
}

#[test]
fn commands_name_the_plan() {
    let sandbox = Sandbox::with(&[("plan.json", &clido(&["a", "b a"])), ("other.json", &clido(&["c"]))]);
    sandbox.run(&["start", "a", "-p", "plan.json"]).exits(0);
    let next = sandbox.run(&["next", "plan.json"]).text();
    assert!(next.contains("`planwright show plan.json`"), "{next}");
}

#[test]
fn an_opencrabs_plan_without_a_session_is_named_by_its_path() {
    let sandbox = Sandbox::with(&[("idea.json", plans::OPENCRABS)]);
    let imported = sandbox.run(&["import", "idea.json", "--dialect", "opencrabs"]).exits(0);
    assert!(
        imported.text().contains("`planwright show idea.plan.json`"),
        "{}",
        imported.text()
    );
    sandbox.run(&["show", "idea.plan.json"]).exits(0);
}

#[test]
fn a_failed_opencrabs_task_shows_the_error_of_its_last_attempt() {
    let sandbox = Sandbox::with(&[("idea.json", plans::OPENCRABS)]);
    sandbox
        .run(&["import", "idea.json", "--dialect", "opencrabs", "--out", "plan.json"])
        .exits(0);
    sandbox.run(&["approve", "plan.json"]).text();
    // It is tried again a few times before it fails.
    for _ in 0..4 {
        sandbox.run(&["start", "1", "-p", "plan.json"]);
        sandbox.run(&["fail", "1", "-p", "plan.json", "--note", "the build is red"]);
    }
    for args in [&["show", "plan.json"][..], &["why", "1", "-p", "plan.json"]] {
        let shown = sandbox.run(args).text();
        assert!(shown.contains("the build is red"), "{shown}");
    }
}

#[test]
fn a_retry_of_an_aimi_story_reports_that_it_is_offered_again() {
    let sandbox = Sandbox::with(&[("plan.json", &aimi(1, &["1"]))]);
    sandbox.run(&["start", "US-001", "-p", "plan.json"]).exits(0);
    sandbox
        .run(&["fail", "US-001", "-p", "plan.json", "--note", "no"])
        .exits(0);
    let retried = sandbox.run(&["retry", "US-001", "-p", "plan.json"]).text();
    assert!(retried.contains("offered again"), "{retried}");
    assert!(retried.contains("ready: US-001"), "{retried}");
}

#[test]
fn a_claim_that_does_not_exist_is_named_with_its_task() {
    let sandbox = Sandbox::with(&[("plan.json", &clido(&["a"]))]);
    sandbox.run(&["start", "a", "-p", "plan.json", "--by", "bob"]).exits(0);
    let done = ["done", "a", "-p", "plan.json", "--by", "bob", "--claim", "99"];
    let refused = sandbox.run(&done).exits(1).stderr;
    assert!(
        refused.contains("there is no claim 99 on `a`: bob holds it"),
        "{refused}"
    );
}

#[test]
fn a_rawko_plan_with_a_failed_step_is_named_in_every_command() {
    let sandbox = Sandbox::with(&[("plan.yaml", plans::RAWKO)]);
    sandbox.write(
        "planwright.toml",
        "[agents.mock]\ncommand = [\"true\"]\n[run]\nagent = \"mock\"\n",
    );
    sandbox.run(&["start", "1", "-p", "plan.yaml"]);
    sandbox
        .run(&["fail", "1", "-p", "plan.yaml", "--note", "no", "--take-over"])
        .exits(0);
    let refused = sandbox.run(&["run", "plan.yaml"]).exits(1).text();
    assert!(refused.contains("`planwright retry STEP -p plan.yaml`"), "{refused}");
}

#[test]
fn commands_after_a_failure_repeat_the_agent_of_the_run() {
    let config = "[agents.dear]\ncommand = [\"true\"]\n[agents.cheap]\ncommand = [\"false\"]\n[run]\nagent = \"dear\"\nattempts = 1\n";
    let sandbox = Sandbox::with(&[("plan.json", &clido(&["a", "b"])), ("planwright.toml", config)]);
    sandbox.run(&["run", "plan.json", "--agent", "cheap"]).exits(1);
    for args in [
        &["why", "a", "-p", "plan.json"][..],
        &["show", "a", "-p", "plan.json"],
        &["next", "plan.json"],
        &["summary"],
    ] {
        let came = sandbox.run(args);
        let report = [came.stdout, came.stderr].concat();
        let commands = report.lines().filter(|line| line.contains("planwright run"));
        let commands: Vec<&str> = commands.collect();
        assert!(!commands.is_empty(), "{args:?}: {report}");
        assert!(
            commands.iter().all(|line| line.contains("--agent cheap")),
            "{args:?}: {report}"
        );
    }
}
