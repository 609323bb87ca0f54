//! The first ten minutes: what a newcomer types, without an option, in a repository that has no plan.

use serde_json::Value;

use crate::run::{Workspace, clido};
use crate::sandbox::Sandbox;

#[test]
fn new_plans_have_the_dialect_of_the_others() {
    let sandbox = Sandbox::new();
    let made = |sandbox: &Sandbox, title: &str| {
        let report = sandbox.run(&["new", title, "--json"]).exits(0).json();
        report["dialect"].as_str().expect("a dialect").to_owned()
    };
    assert_eq!(made(&sandbox, "Count words"), "clido");
    sandbox.run(&["new", "rawko", "Count lines"]).exits(0);
    sandbox.run(&["new", "Count bytes", "--dialect", "rawko"]).exits(0);
    assert_eq!(made(&sandbox, "Count all"), "rawko", "two of three plans are");
    sandbox.write("planwright.toml", "[plan]\ndialect = \"aimi\"\n");
    assert_eq!(made(&sandbox, "Count more"), "aimi");
    // The title is missing, or has no quotes.
    let refused = sandbox.run(&["new", "rawko"]).exits(2).stderr;
    assert!(
        refused.contains("planwright new \"TITLE\" --dialect rawko"),
        "{refused}"
    );
    let refused = sandbox.run(&["new", "Count", "words"]).exits(2).stderr;
    assert!(refused.contains("planwright new 'Count words'"), "{refused}");
}

#[test]
fn plans_are_converted_to_the_usual_dialect() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["new", "Count words", "--dialect", "rawko", "--out", "p.yaml"])
        .exits(0);
    let converted = sandbox.run(&["convert", "p.yaml"]).exits(0).stdout;
    assert!(converted.contains("\"meta\""), "{converted}");
    sandbox.write("planwright.toml", "[plan]\ndialect = \"rawko\"\n");
    let refused = sandbox.run(&["convert", "p.yaml"]).exits(2).stderr;
    assert!(refused.contains("`p.yaml` is a rawko plan already"), "{refused}");
}

#[test]
fn the_placeholder_of_a_new_plan_is_replaced_and_never_run() {
    for dialect in ["clido", "rawko", "aimi", "opencrabs"] {
        let workspace = Workspace::new(("unused.txt", ""), "says done");
        let plan = format!("plan.{}", if dialect == "rawko" { "yaml" } else { "json" });
        let plan = plan.as_str();
        workspace
            .does(&["new", "Count words", "--dialect", dialect, "--out", plan])
            .exits(0);
        let shown = workspace.does(&["show", plan, "--json"]).exits(0).as_json();
        let titles = |shown: &Value| -> Vec<String> {
            let tasks = shown["tasks"].as_array().expect("tasks").iter();
            tasks.map(|task| task["title"].to_string()).collect()
        };
        if titles(&shown).len() == 1 {
            workspace.does(&["check", plan]).exits(0).says("placeholder-task");
            workspace
                .does(&["run", plan, "--yes"])
                .exits(1)
                .says("planwright add \"TITLE\" -p plan.");
        }
        let fields: &[&str] = if dialect == "opencrabs" {
            &["task_type=edit"]
        } else {
            &[]
        };
        let added = |title: &str| {
            let command = [&["add", title], fields, &["-p", plan]].concat();
            workspace.does(&command).exits(0)
        };
        added("Read the file");
        let shown = workspace.does(&["show", plan, "--json"]).exits(0).as_json();
        assert_eq!(titles(&shown), ["\"Read the file\""], "{dialect}");
        let checked = workspace.does(&["check", plan]).exits(0);
        assert!(!checked.text.contains("placeholder-task"), "{}", checked.text);
        // Only the first task takes its place.
        added("Count the words");
        let shown = workspace.does(&["show", plan, "--json"]).exits(0).as_json();
        assert_eq!(titles(&shown).len(), 2, "{dialect}");
        workspace.does(&["undo", plan]).exits(0);
        workspace.does(&["undo", plan]).exits(0);
    }
}

#[test]
fn a_missing_plan_is_explained_with_every_way_to_make_one() {
    let sandbox = Sandbox::new();
    for verb in [
        &["run"][..],
        &["show"],
        &["next"],
        &["check"],
        &["add", "x"],
        &["why", "t1"],
    ] {
        let refused = sandbox.run(verb).text();
        for way in [
            "planwright plan \"GOAL\"",
            "planwright new \"TITLE\"",
            "planwright import FILE",
        ] {
            assert!(refused.contains(way), "{verb:?}: {refused}");
        }
    }
}

#[test]
fn of_several_plans_the_unfinished_one_is_meant() {
    let done = clido(&["a"]).replace("\"pending\"", "\"done\"");
    let workspace = Workspace::new((".clido/plans/first.json", &done), "says done");
    workspace.does(&["show"]).exits(0).says("1/1 done");
    workspace.write(
        ".clido/plans/second.json",
        clido(&["b", "c b"]).replace("a1b2c3d4", "b2c3d4e5"),
    );
    workspace.does(&["show"]).exits(0).says("0/2 done");
    workspace.does(&["run"]).exits(0).says("2 done");
    // Where none or several are open, each is listed with its title and how far it is.
    let listed = workspace.does(&["show"]).exits(1);
    listed.says("second.json").says("(2/2 done)");
    workspace.write(".clido/plans/third.json", clido(&["d"]).replace("a1b2c3d4", "c3d4e5f6"));
    workspace.write(
        ".clido/plans/fourth.json",
        clido(&["e"]).replace("a1b2c3d4", "d4e5f6a7"),
    );
    let listed = workspace.does(&["run"]).exits(1);
    listed
        .says("(0/1 done)")
        .says("planwright run .clido/plans/fourth.json");
}
