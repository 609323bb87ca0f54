//! Plans that quote other plans in code fences, as agents' output does: every verb reads them, and no fix damages them.

use serde_json::Value;

use crate::plans;
use crate::run::{Workspace, aimi, clido, rawko};
use crate::sandbox::Sandbox;

/// An agent's report: a fence with a plan of another dialect.
const REPORT: &str =
    "Done:\n```json\n{\"goal\": \"g\", \"tasks\": [{\"id\": \"t1\", \"description\": \"d\"}]}\n```\nSee {this}.";

const RAWKO: &str = ".rawko/plans/plan-20260501-cellar.yaml";

/// Every verb that reads a plan reads the one that a run has written, and a fix leaves it alone.
#[track_caller]
fn check_readable(workspace: &Workspace, plan: &str, states: &str) {
    assert_eq!(workspace.states(), states);
    for verb in [
        &["check", plan][..],
        &["show", plan],
        &["graph", plan],
        &["history", plan],
        &["list"],
        &["summary"],
        &["convert", plan, "--to", "task-pack", "--dry-run"],
    ] {
        let came = workspace.does(verb);
        assert_eq!(came.status, Some(0), "{verb:?}: {}", came.text);
    }
    let before = workspace.plan();
    for fix in [&["check", "--fix", plan][..], &["check", "--fix", "--unsafe", plan]] {
        workspace.does(fix).exits(0);
        assert_eq!(workspace.plan(), before, "{fix:?}");
    }
}

#[test]
fn a_run_whose_agent_reports_a_fence_leaves_a_readable_plan() {
    let report = Value::String(REPORT.to_owned());
    let done =
        format!("{{\"planwright_result\": 1, \"outcome\": \"done\", \"output\": {report}, \"notes\": {report}}}");
    for (path, plan, states) in [
        (RAWKO, rawko(&["Sweep", "Mop"]), "0 done, 1 done"),
        ("plan.json", clido(&["a", "b a"]), "a done, b done"),
        ("tasks.json", aimi(1, &["1", "2 1"]), "US-001 done, US-002 done"),
    ] {
        let workspace = Workspace::new((path, &plan), &format!("result '{done}'"));
        workspace.runs(&[]).exits(0);
        check_readable(&workspace, path, states);
    }
}

#[test]
fn a_run_whose_agent_fails_with_a_fence_leaves_a_readable_plan() {
    // The plan has the first line of the error.
    let report = Value::String(REPORT.replace('\n', " "));
    let failed = format!("{{\"planwright_result\": 1, \"outcome\": \"failed\", \"notes\": {report}}}");
    let workspace = Workspace::new((RAWKO, &rawko(&["Sweep", "Mop"])), &format!("result '{failed}'"));
    workspace.runs(&[]).exits(1);
    assert!(workspace.plan().contains("```json"), "{}", workspace.plan());
    check_readable(&workspace, RAWKO, "0 failed, 1 pending");
}

#[test]
fn a_run_whose_agent_prints_a_fence_leaves_a_readable_plan() {
    let workspace = Workspace::new(
        (RAWKO, &rawko(&["Sweep", "Mop"])),
        &format!("cat <<'END'\n{REPORT}\nEND"),
    );
    workspace.runs(&[]).exits(0);
    check_readable(&workspace, RAWKO, "0 done, 1 done");
}

#[test]
fn a_note_with_a_fence_leaves_a_readable_plan() {
    let sandbox = Sandbox::with(&[("plan-20260501-cellar.yaml", &rawko(&["Sweep", "Mop"]))]);
    let plan = "plan-20260501-cellar.yaml";
    sandbox.run(&["start", "-p", plan, "0"]).exits(0);
    sandbox
        .run(&["done", "-p", plan, "0", "--note", REPORT, "--output", REPORT])
        .exits(0);
    let text = sandbox.read(plan);
    assert!(text.contains("```json"), "{text}");
    sandbox.run(&["check", plan]).exits(0);
    sandbox.run(&["check", "--fix", "--unsafe", plan]).exits(0);
    assert_eq!(sandbox.read(plan), text);
    sandbox.run_with(&["check", "-"], &text).exits(0);
    sandbox.run(&["start", "-p", plan, "1"]).exits(0);
}

#[test]
fn fixing_keeps_the_text_around_a_plan() {
    let plan = format!("{}\n", plans::CLIDO.trim_end());
    let answer = format!("Here is the plan.\n\n```json\n{plan}```\n");
    let sandbox = Sandbox::with(&[("answer.txt", &answer), ("answer.md", &answer)]);
    for name in ["answer.txt", "answer.md"] {
        sandbox.run(&["check", "--fix", name]).exits(0);
        assert_eq!(sandbox.read(name), answer);
    }
    sandbox.run(&["check", "--fix", "--unsafe", "answer.txt"]).exits(0);
    assert_eq!(sandbox.read("answer.txt"), plan);
    sandbox.run(&["check", "--fix", "--unsafe", "answer.md"]).exits(0);
    assert_eq!(sandbox.read("answer.md"), answer, "a page of Markdown is not replaced");
}
