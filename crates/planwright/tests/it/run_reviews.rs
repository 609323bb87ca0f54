//! Tasks that need a review before the rest of the run continues.

use crate::plans;
use crate::run::{Workspace, clido};

/// Returns a task pack whose first task must be approved, and whose second wave waits for it.
fn reviewed(script: &str) -> Workspace {
    let workspace = Workspace::new(("docs/tasks/photos.md", ""), script);
    workspace.write("docs/plans/photos.md", plans::SOURCE_PLAN);
    let hash = workspace.does(&["hash", "docs/plans/photos.md"]).exits(0).text;
    let pack = plans::task_pack(hash.trim());
    let gate = "\"stop_if\": \"it needs a driver\", \"review_gate\": \"required\"";
    workspace.write(
        "docs/tasks/photos.md",
        pack.replace("\"stop_if\": \"it needs a driver\"", gate),
    );
    workspace
}

#[test]
fn a_run_without_a_terminal_ends_at_a_review() {
    let workspace = reviewed("says done");
    workspace.runs(&[]).exits(1).says("approve T001");
    assert_eq!(workspace.states(), "T001 running, T002 done, T003 pending");
    let ended = workspace.ended();
    assert_eq!(ended.standing.as_str(), "awaits-review");
    assert!(ended.next.expect("a way on").starts_with("planwright approve T001"));
    // Without an approval the next run gets no further, and repeats nothing.
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.noted("began").len(), 2);
}

#[test]
fn a_verb_ends_the_wait_for_a_review_and_undo_begins_it_again() {
    let plan = "docs/tasks/photos.md";
    for (verb, state) in [("skip", "skipped"), ("reset", "pending")] {
        let workspace = reviewed("says done");
        workspace.runs(&[]).exits(1);
        workspace.does(&["summary"]).exits(0).says("approve T001");
        let refused = workspace.does(&["retry", "T001", "--plan", plan]).exits(1);
        refused
            .says("`T001` waits for review")
            .says("planwright reject T001 -p");
        workspace.does(&[verb, "T001", "--plan", plan]).exits(0);
        assert!(
            workspace.states().starts_with(&format!("T001 {state}")),
            "{}",
            workspace.states()
        );
        let summary = workspace.does(&["summary"]).exits(0);
        assert!(!summary.text.contains("approve"), "{}", summary.text);
        summary.says(&format!("who marked it as {state}"));
        let runs = workspace.does(&["runs"]).exits(0);
        assert!(!runs.text.contains("in review"), "{}", runs.text);
        workspace.does(&["undo", plan]).exits(0);
        workspace.does(&["show", plan]).exits(0).says("waits for review");
        workspace.does(&["summary"]).exits(0).says("approve T001");
        workspace.does(&["approve", "T001", "--plan", plan]).exits(0);
        assert!(workspace.states().starts_with("T001 done"), "{}", workspace.states());
    }
}

#[test]
fn the_next_run_continues_after_an_approval() {
    let workspace = reviewed("says done");
    workspace.runs(&[]).exits(1);
    let next = workspace.ended().next.expect("a way on");
    let args: Vec<&str> = next
        .strip_prefix("planwright ")
        .expect("a command of ours")
        .split(' ')
        .collect();
    workspace.does(&args).exits(0);
    assert!(workspace.states().starts_with("T001 done"), "{}", workspace.states());
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "T001 done, T002 done, T003 done");
    assert_eq!(workspace.noted("began").len(), 3);
}

#[test]
fn an_approval_during_the_run_takes_effect() {
    let workspace = reviewed("[ $task = T002 ] && awaits go; says done");
    let run = workspace.begins(&["-j", "2"]);
    workspace.until_log("review T001");
    workspace
        .does(&["approve", "T001", "-p", "docs/tasks/photos.md", "--by", "ada"])
        .exits(0);
    workspace.until_log("approved T001");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "T001 done, T002 done, T003 done");
    workspace
        .does(&["history", "docs/tasks/photos.md"])
        .exits(0)
        .says("run T001 → done by ada");
}

#[test]
fn a_rejection_during_the_run_fails_the_task() {
    let workspace = reviewed("[ $task = T002 ] && awaits go; says done");
    let run = workspace.begins(&["-j", "2"]);
    workspace.until_log("review T001");
    workspace
        .does(&[
            "reject",
            "T001",
            "-p",
            "docs/tasks/photos.md",
            "--note",
            "too slow",
            "--by",
            "bob",
        ])
        .exits(0);
    workspace.until_log("finished T001 1 failed");
    workspace.give("go");
    run.ends().exits(1);
    workspace
        .does(&["history", "docs/tasks/photos.md"])
        .exits(0)
        .says("run T001 → failed by bob");
    assert_eq!(workspace.states(), "T001 failed, T002 done, T003 pending");
    workspace.script("says done");
    workspace.runs(&["--retry-failed"]).exits(1);
    assert!(
        workspace.prompt("T001", 1).contains("too slow"),
        "the next attempt knows why"
    );
}

#[test]
fn dependents_of_a_task_rejected_during_the_run_are_skipped() {
    let script = "[ $task = a ] && echo '# weaker' >> check.sh; [ $task = c ] && awaits go; says done";
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a", "c"])), script);
    workspace.write("check.sh", "true\n");
    workspace.configure("slots = 2", "[verify]\nevery = [[\"sh\", \"check.sh\"]]");
    let workspace = workspace.in_git();
    let run = workspace.begins(&[]);
    workspace.until_log("review a");
    let reject = [
        "reject",
        "a",
        "-p",
        "plan.json",
        "--note",
        "keep the check",
        "--by",
        "bob",
    ];
    workspace.does(&reject).exits(0);
    workspace.until_log("finished a 1 failed");
    workspace.give("go");
    let came = run.ends().exits(1).says("b skipped because a failed");
    came.says("1 done, 1 failed, 1 skipped");
    assert_eq!(workspace.states(), "a failed, b skipped, c done");
}

#[test]
fn a_run_killed_during_a_review_still_waits_for_it() {
    let workspace = reviewed("[ $task = T002 ] && awaits go; says done");
    let run = workspace.begins(&["-j", "2"]);
    workspace.until_log("review T001");
    run.dies();
    workspace.script("says done");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.ended().standing.as_str(), "awaits-review");
    assert_eq!(
        workspace.noted("began").iter().filter(|task| *task == "T001").count(),
        1
    );
    workspace
        .does(&["approve", "T001", "-p", "docs/tasks/photos.md"])
        .exits(0);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "T001 done, T002 done, T003 done");
}

#[test]
fn a_source_plan_that_changes_during_the_run_pauses_it() {
    let workspace = reviewed("awaits go; says done");
    let run = workspace.begins(&["-j", "1"]);
    workspace.until_begun(1);
    workspace.write("docs/plans/photos.md", format!("{}\n- R2 more\n", plans::SOURCE_PLAN));
    workspace.until_log("paused");
    workspace.give("go");
    workspace.until_log("verified T002 1 true");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(workspace.noted("began"), ["T002"], "nothing new starts");
    workspace.write("docs/plans/photos.md", plans::SOURCE_PLAN);
    run.ends().exits(1);
    assert_eq!(workspace.ended().standing.as_str(), "awaits-review");
}
