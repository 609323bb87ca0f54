//! The order of tasks: slots, files, priorities, and the user's selection.

use std::collections::BTreeSet;

use planwright_run::runs::{RunEvent, RunRecord};

use crate::plans;
use crate::run::{Workspace, aimi, clido};

/// Returns which tasks ran together at some time, by the log.
fn crowds(records: &[RunRecord]) -> Vec<BTreeSet<String>> {
    let mut running = BTreeSet::new();
    let mut crowds = Vec::new();
    for record in records {
        match &record.event {
            RunEvent::AttemptStarting(event) => {
                running.insert(event.task.clone());
                crowds.push(running.clone());
            }
            RunEvent::Verified(event) => drop(running.remove(&event.task)),
            RunEvent::AttemptEnded(event) if event.outcome.as_str() != "done" => drop(running.remove(&event.task)),
            _ => {}
        }
    }
    crowds
}

fn most(records: &[RunRecord]) -> usize {
    crowds(records).iter().map(BTreeSet::len).max().unwrap_or(0)
}

#[test]
fn slots_are_used_and_never_exceeded() {
    let names: Vec<String> = (0..12).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let workspace = Workspace::new(
        ("plan.json", &clido(&names)),
        "mkdir -p \"$ASIDE/busy\"; mkdir \"$ASIDE/busy/$task\"; ls \"$ASIDE/busy\" | wc -l >> \"$ASIDE/crowd\"; sleep 0.03; rmdir \"$ASIDE/busy/$task\"; says done",
    );
    workspace.runs(&["-j", "3"]).exits(0);
    assert_eq!(most(&workspace.records()), 3);
    let seen = workspace.noted("crowd");
    assert!(
        seen.iter().all(|n| n.trim().parse::<u32>().expect("a number") <= 3),
        "{seen:?}"
    );
    let slots = workspace.records().into_iter().filter_map(|record| match record.event {
        RunEvent::AttemptStarting(event) => Some(event.slot),
        _ => None,
    });
    assert_eq!(slots.collect::<BTreeSet<_>>(), BTreeSet::from([1, 2, 3]));
}

#[test]
fn without_declared_files_a_shared_folder_has_one_task_at_a_time() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b", "c"])), "says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(most(&workspace.records()), 1);
    assert!(workspace.remarks().contains("-j 4"), "{}", workspace.remarks());
}

#[test]
fn aimi_stories_run_by_priority_and_as_many_as_the_plan_says() {
    let workspace = Workspace::new(("tasks.json", &aimi(2, &["3", "1", "2", "4"])), "sleep 0.02; says done");
    workspace.configure("", "");
    workspace.runs(&["-j", "1"]).exits(0);
    assert_eq!(workspace.noted("began"), ["US-001", "US-002", "US-003", "US-004"]);
}

fn pack(contract: impl Fn(String) -> String, script: &str) -> Workspace {
    let workspace = Workspace::new(("docs/tasks/photos.md", ""), script);
    workspace.write("docs/plans/photos.md", plans::SOURCE_PLAN);
    let hash = workspace.does(&["hash", "docs/plans/photos.md"]).exits(0).text;
    workspace.write("docs/tasks/photos.md", contract(plans::task_pack(hash.trim())));
    workspace
}

#[test]
fn tasks_of_a_wave_run_together_where_their_files_allow() {
    let workspace = pack(
        |pack| pack,
        "echo $task >> \"$ASIDE/here\"; [ $task = T003 ] || awaits both; says done",
    );
    let run = workspace.begins(&["-j", "4"]);
    workspace.until("both run", |workspace| workspace.noted("here").len() == 2);
    workspace.give("both");
    run.ends().exits(0);
    let crowds = crowds(&workspace.records());
    assert!(
        crowds.contains(&BTreeSet::from(["T001".to_owned(), "T002".to_owned()])),
        "{crowds:?}"
    );
    assert!(
        crowds.iter().all(|crowd| !crowd.contains("T003") || crowd.len() == 1),
        "{crowds:?}"
    );
}

#[test]
fn two_tasks_never_own_one_file() {
    let workspace = pack(
        |pack| pack.replace("src/copy.rs", "./src/card.rs"),
        "sleep 0.05; says done",
    );
    let came = workspace.runs(&["-j", "4"]);
    if came.status == Some(0) {
        assert_eq!(most(&workspace.records()), 1, "{}", workspace.log().join("\n"));
    } else {
        // The check of the pack may find an error, and then no task begins.
        assert_eq!(workspace.noted("began"), [""; 0], "{}", came.text);
    }
}

#[test]
fn exclusive_tasks_run_alone() {
    let workspace = pack(
        |pack| {
            pack.replace(
                "\"files\": [\"src/copy.rs\"],",
                "\"files\": [\"src/copy.rs\"], \"parallelizable\": false,",
            )
        },
        "sleep 0.05; says done",
    );
    workspace.runs(&["-j", "4"]).exits(0);
    assert_eq!(most(&workspace.records()), 1, "{}", workspace.log().join("\n"));
}

/// Runs a diamond-shaped plan with a further task, and returns the started tasks.
fn picked(args: &[&str], status: i32) -> String {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a", "c a", "d b c", "e"])), "says done");
    workspace.runs(args).exits(status);
    workspace.noted("began").join(" ")
}

#[test]
fn the_user_picks_tasks() {
    assert_eq!(picked(&["--only", "e"], 0), "e");
    assert_eq!(picked(&["--only", "a", "--only", "e"], 0), "a e");
    assert_eq!(picked(&["--until", "b"], 0), "a b");
    assert_eq!(picked(&["--from", "a"], 0), "a b c d");
    assert_eq!(picked(&["--from", "a", "--until", "c"], 0), "a c");
    // Its dependencies are outside the selection: nothing can be done.
    assert_eq!(picked(&["--only", "d"], 1), "");
    assert_eq!(picked(&["--from", "b"], 1), "");
}

#[test]
fn the_user_limits_how_many_tasks_begin() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a", "c a"])), "says done");
    workspace.runs(&["--max-tasks", "2"]).exits(1);
    assert_eq!(workspace.states(), "a done, b done, c pending");
    assert_eq!(workspace.ended().standing.as_str(), "stopped");
    assert!(workspace.ended().why.expect("a reason").contains("--max-tasks"));
    workspace.runs(&["--max-tasks", "2"]).exits(0);
    assert_eq!(workspace.states(), "a done, b done, c done");
}

#[test]
fn a_task_that_is_tried_again_counts_once() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $attempt = 1 ] && exit 1\nsays done",
    );
    workspace.configure("attempts = 2", "");
    workspace.runs(&["--max-tasks", "1"]).exits(1);
    assert_eq!(workspace.states(), "a done, b pending");
}

#[test]
fn hundreds_of_tasks_are_each_run_once() {
    let names: Vec<String> = (0..300).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let workspace = Workspace::new(("plan.json", &clido(&names)), "");
    workspace.runs(&["-j", "8"]).exits(0);
    assert_eq!(workspace.ended().n_done, 300);
    assert_eq!(workspace.plan().matches("\"status\": \"done\"").count(), 300);
    assert_eq!(workspace.noted("began").iter().collect::<BTreeSet<_>>().len(), 300);
    assert_eq!(workspace.noted("began").len(), 300);
}
