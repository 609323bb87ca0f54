//! Ended runs, and later decisions about their tasks: by reviews, verbs and later runs.

use crate::run::{Workspace, clido};

/// Returns a workspace in which `a` changes what verifies it, so that it waits for review; `b` and `c` depend on it.
fn waiting() -> Workspace {
    let script = "[ $task = a ] && echo '# weaker' >> check.sh; says done";
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a", "c b", "d"])), script);
    workspace.write("check.sh", "true\n");
    workspace.configure("", "[verify]\nevery = [[\"sh\", \"check.sh\"]]");
    let workspace = workspace.in_git();
    workspace
        .runs(&[])
        .exits(1)
        .says("1 done, 1 in review, 2 left")
        .says("approve a");
    workspace
}

fn counts(workspace: &Workspace) -> serde_json::Value {
    let text = workspace.does(&["summary", "--json"]).exits(0).text;
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    report["counts"].clone()
}

fn rows(workspace: &Workspace) -> Vec<serde_json::Value> {
    let text = workspace.does(&["runs", "--json"]).exits(0).text;
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    report["runs"].as_array().expect("runs").clone()
}

#[test]
fn tasks_in_review_are_counted_apart_from_those_that_are_left() {
    let workspace = waiting();
    workspace.does(&["events"]).exits(0).says("1 done, 1 in review, 2 left");
    let row = &rows(&workspace)[0];
    assert_eq!(
        (&row["n_done"], &row["n_review"], &row["n_left"]),
        (&1.into(), &1.into(), &2.into())
    );
    workspace
        .does(&["runs"])
        .exits(0)
        .says("2 1 in review, 1 done without changes");
    assert_eq!(counts(&workspace)["left"], 2);
}

#[test]
fn a_rejection_after_the_run_counts_in_its_summary() {
    let workspace = waiting();
    workspace
        .does(&["reject", "a", "-p", "plan.json", "--note", "no"])
        .exits(0);
    let summary = workspace.does(&["summary"]).exits(0);
    let summary = summary.says("got stuck").says("`a` was rejected");
    let summary = summary.says("1 done, 1 failed, 2 skipped");
    summary.says("To continue");
    let row = &rows(&workspace)[0];
    assert_eq!(
        (&row["n_failed"], &row["n_skipped"], &row["n_left"]),
        (&1.into(), &2.into(), &0.into())
    );
    assert_eq!(counts(&workspace)["failed"], 1);
}

#[test]
fn an_approval_after_the_run_counts_in_its_summary() {
    let workspace = waiting();
    let first = rows(&workspace)[0]["run"].as_str().expect("an id").to_owned();
    workspace.does(&["approve", "a", "-p", "plan.json"]).exits(0);
    workspace.runs(&[]).exits(0);
    let summary = workspace.does(&["summary", &first]).exits(0);
    let summary = summary.says("ended after").says("`a` was approved");
    let summary = summary.says("2 done, 2 left").says("A later run of this plan");
    assert!(!summary.text.contains("To continue"), "{}", summary.text);
    assert!(!workspace.does(&["runs"]).exits(0).text.contains("stuck"));
}

#[test]
fn tasks_that_a_person_took_over_count_as_what_they_became() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "awaits go; says done");
    workspace.configure("slots = 2", "[verify]\nevery = [\"true\"]");
    let run = workspace.begins(&[]);
    workspace.until_begun(2);
    run.dies();
    let take_over = |verb: &str, task: &str| {
        let args = [verb, task, "-p", "plan.json", "--take-over", "--note", "by hand"];
        workspace.does(&args).exits(0);
    };
    take_over("done", "a");
    workspace.does(&["doctor"]).says("1 task is left");
    take_over("skip", "b");
    let summary = workspace.does(&["summary"]).exits(0).says("1 done, 1 skipped");
    let summary = summary.says("1 verified by commands");
    assert!(!summary.text.contains("To continue"), "{}", summary.text);
    let row = &rows(&workspace)[0];
    assert_eq!(
        (&row["n_done"], &row["n_skipped"], &row["n_left"]),
        (&1.into(), &1.into(), &0.into())
    );
}

#[test]
fn a_paused_run_is_paused_in_its_summary() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "echo x > $task; [ $task = b ] && awaits go; says done",
    );
    let workspace = workspace.in_git();
    let run = workspace.begins(&["-j", "1"]);
    workspace.until_log("starting b 1");
    let summary = workspace.does(&["summary"]).exits(0).says("is running");
    assert!(!summary.text.contains("planwright land"), "{}", summary.text);
    workspace.ask("pause", None);
    workspace.until_log("paused");
    workspace.does(&["summary"]).exits(0).says("is paused");
    workspace.ask("resume", None);
    workspace.give("go");
    run.ends().exits(0).says("planwright land");
}

#[test]
fn a_task_that_a_person_took_over_and_verified_counts_as_verified() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $task = a ] && awaits go\nsays done",
    );
    workspace.configure("", "[verify]\nevery = [\"true\"]\n");
    let run = workspace.begins(&["-j", "2"]);
    workspace.until("a is running", |workspace| workspace.states().contains("a running"));
    let take_over = ["done", "a", "-p", "plan.json", "--take-over", "--note", "mine"];
    workspace.does(&take_over).exits(0);
    workspace.until_log("edited");
    workspace.give("go");
    let came = run.ends().exits(0).says("2 verified by commands");
    assert!(!came.text.contains("unverified"), "{}", came.text);
}
