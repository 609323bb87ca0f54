//! Which status of a task counts when the user, an agent and an earlier run disagree.

use crate::plans;
use crate::run::{Workspace, aimi, clido};

/// An agent that marks its own task as done while it works.
fn forward() -> Workspace {
    let says = format!(
        "{} done $task -p plan.json --unverified > /dev/null 2>&1; sleep 0.3; says done",
        env!("CARGO_BIN_EXE_planwright")
    );
    Workspace::new(("plan.json", &clido(&["a", "b a"])), &says)
}

#[test]
fn a_task_reset_after_a_run_runs_again() {
    let workspace = forward();
    workspace.runs(&[]).exits(0);
    workspace
        .does(&["reset", "--force", "a", "b", "-p", "plan.json"])
        .exits(0);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["a", "b", "a", "b"]);
}

#[test]
fn a_different_plan_at_the_same_path_has_no_history() {
    let workspace = Workspace::new(("tasks.json", &aimi(1, &["1", "2"])), "says done");
    workspace.runs(&[]).exits(0);
    workspace.write("tasks.json", aimi(1, &["1", "2"]).replace("Make", "Bake"));
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["US-001", "US-002", "US-001", "US-002"]);
}

#[test]
fn tasks_finished_by_a_killed_run_run_again_after_a_reset() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a"])),
        "[ $task = b ] && awaits go\nsays done",
    );
    let run = workspace.begins(&[]);
    workspace.until_begun(2);
    run.dies();
    workspace.does(&["reset", "--force", "a", "-p", "plan.json"]).exits(0);
    workspace.give("go");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["a", "b", "a", "b"]);
}

#[test]
fn a_task_that_a_user_starts_after_a_stopped_run_is_not_run() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $task = a ] && awaits go\nsays done",
    );
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.does(&["stop", "--now"]).exits(0);
    run.ends().exits(1);
    workspace
        .does(&["start", "a", "-p", "plan.json", "--by", "ann"])
        .exits(0);
    workspace.runs(&[]).says("is held by ann since");
    assert_eq!(workspace.noted("began"), ["a", "b"]);
    assert_eq!(workspace.states(), "a running, b done");
}

#[test]
fn processes_of_a_killed_run_are_ended_even_if_no_task_is_left() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "awaits go\nsays done");
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    run.dies();
    workspace.does(&["skip", "a", "-p", "plan.json"]).exits(0);
    workspace.runs(&[]).exits(0);
    workspace.is_quiet();
    assert_eq!(workspace.ended().standing.as_str(), "finished");
    workspace.runs(&[]).exits(0).says("nothing to run");
    assert_eq!(workspace.places().len(), 1);
}

#[test]
fn only_selected_tasks_are_retried() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a", "c"])),
        "[ $task = a ] && exit 1\nsays done",
    );
    workspace.runs(&[]).exits(1);
    workspace.does(&["reset", "--force", "c", "-p", "plan.json"]).exits(0);
    workspace.runs(&["--only", "c"]).exits(0);
    assert_eq!(workspace.states(), "a failed, b skipped, c done");
    workspace
        .runs(&["--only", "c"])
        .exits(0)
        .says("1 of 1 tasks that were asked for are done");
    workspace
        .runs(&["--only", "c", "--from", "a"])
        .exits(1)
        .says("select no task together");
    workspace
        .runs(&["--only", "a", "-j", "2"])
        .exits(1)
        .says("planwright run -j 2 --only a plan.json");
}

#[test]
fn several_agents_without_a_default_are_an_error() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    let agent = |name: &str| format!("[agents.{name}]\ncommand = [\"sh\", \"-c\", \"true\"]\n");
    workspace.write("planwright.toml", agent("x") + &agent("y"));
    workspace.runs(&[]).exits(3).says("there are 2 agents").says("(x, y)");
}

#[test]
fn dependents_skipped_by_an_interrupted_task_are_reported() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "awaits go\nsays done");
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.until("the plan knows", |workspace| workspace.states().contains("a running"));
    run.dies();
    let came = workspace.runs(&["--on-interrupted", "fail"]).exits(1);
    came.says("1 skipped").says("b, because a failed");
}

#[test]
fn states_missing_in_the_plan_file_at_the_end_are_reported() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "awaits go\nsays done");
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.until("the plan knows", |workspace| workspace.states().contains("a running"));
    let good = workspace.plan();
    workspace.write("plan.json", "{");
    workspace.until_log("paused");
    workspace.ask("stop", None);
    workspace.give("go");
    run.ends().exits(1).says("the results of a are not in the plan file");
    // The next run continues it, and settles what the file lacks.
    workspace.does(&["summary"]).says("interrupted");
    workspace.write("plan.json", &good);
    workspace.runs(&[]).exits(0).says("the run continues");
    assert_eq!(workspace.noted("began"), ["a", "b"]);
}

#[test]
fn a_live_run_is_not_reported_as_interrupted() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "awaits go\nsays done");
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.does(&["summary"]).exits(0).says("is running");
    workspace.give("go");
    run.ends().exits(0);
}

#[test]
fn worktrees_that_are_in_use_are_not_cleared_away() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "awaits go\necho x > made-$task; says done",
    )
    .in_git();
    let run = workspace.begins(&["-j", "2", "--isolation", "checkouts"]);
    workspace.until_begun(2);
    workspace
        .does(&["worktrees", "--clear"])
        .exits(0)
        .says("in-use")
        .says("is running");
    run.dies();
    workspace
        .does(&["worktrees", "--clear"])
        .exits(0)
        .says("was interrupted");
    workspace.give("go");
    workspace.runs(&["-j", "2"]).exits(0);
    workspace.does(&["land"]).exits(0);
    assert!(workspace.exists("made-a") && workspace.exists("made-b"));
}

#[test]
fn worktrees_of_a_run_whose_log_cannot_be_read_stay() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "awaits go\necho x > made-$task; says done",
    )
    .in_git();
    let run = workspace.begins(&["-j", "2", "--isolation", "checkouts"]);
    workspace.until_begun(2);
    let log = workspace.place().log();
    let text = std::fs::read_to_string(&log).expect("a log");
    for nth in [0, 1] {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[nth] = lines[nth].replace('"', "'");
        std::fs::write(&log, lines.join("\n") + "\n").expect("ours");
        workspace
            .does(&["worktrees", "--clear"])
            .exits(0)
            .says("kept: the log of its run cannot be read");
        workspace.does(&["pause"]).exits(3);
        workspace.does(&["pause", "plan.json"]).exits(3);
        workspace.does(&["summary", "-p", "plan.json"]).exits(3);
    }
    workspace.does(&["runs", "plan.json"]).exits(0).says("damaged");
    std::fs::write(&log, text).expect("ours");
    workspace.give("go");
    run.ends().exits(0);
}

#[test]
fn worktrees_are_listed_while_a_run_merges() {
    let names: Vec<String> = (0..12).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let workspace = Workspace::new(("plan.json", &clido(&names)), "echo x > made-$task; says done").in_git();
    let run = workspace.begins(&["-j", "2", "--isolation", "checkouts"]);
    workspace.until_begun(1);
    for _ in 0..12 {
        workspace.does(&["worktrees"]).exits(0);
    }
    run.ends().exits(0);
}

#[test]
fn worktrees_are_listed_although_their_run_was_removed() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "echo x > made-$task; exit 1").in_git();
    workspace
        .runs(&["-j", "2", "--isolation", "checkouts", "--attempts", "1"])
        .exits(1);
    std::fs::remove_dir_all(workspace.place().folder()).expect("ours");
    workspace
        .does(&["worktrees", "--clear"])
        .exits(0)
        .says("kept: its run is not one of this workspace");
}

#[test]
fn a_run_that_stops_is_neither_paused_nor_resumed() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "awaits go\nsays done");
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.does(&["stop"]).exits(0);
    workspace.does(&["pause"]).exits(0).says("is stopping");
    workspace.does(&["resume"]).exits(1).says("starts no new task");
    workspace.give("go");
    run.ends().exits(1);
}

#[test]
fn temporary_files_of_a_killed_writer_are_no_uncommitted_work() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "echo x > made-$task; says done").in_git();
    workspace.write(".planwright-0123456789abcdef-4711-0123456789abcdef.tmp", "{");
    workspace.runs(&["-j", "2", "--isolation", "checkouts"]).exits(0);
}

#[test]
fn files_of_parallel_tasks_are_attributed_to_them() {
    let workspace = Workspace::new(("docs/tasks/photos.md", ""), "");
    workspace.write("docs/plans/photos.md", plans::SOURCE_PLAN);
    let hash = workspace.does(&["hash", "docs/plans/photos.md"]).exits(0).text;
    let pack = plans::task_pack(hash.trim());
    workspace.write("docs/tasks/photos.md", &pack);
    let files = |task: &str| {
        let (_, rest) = pack.split_once(&format!("\"{task}\"")).expect("the task");
        let (_, rest) = rest.split_once("\"files\": [\"").expect("files");
        rest.split('"').next().unwrap_or_default().to_owned()
    };
    let (slow, quick) = (files("T001"), files("T002"));
    workspace.script(&format!(
        "[ $task = T001 ] && awaits go\n[ $task = T001 ] && f={slow} || f={quick}\n[ $task = T003 ] || {{ mkdir -p \"$(dirname $f)\"; echo $task >> $f; }}\nsays done"
    ));
    let workspace = workspace.in_git();
    let run = workspace.begins(&["-j", "2", "--isolation", "shared", "--strict-files"]);
    workspace.until_log("verified T002");
    workspace.give("go");
    run.ends().exits(0);
}

#[test]
fn a_task_approved_without_a_live_run_is_no_longer_in_review() {
    let workspace = Workspace::new(("docs/tasks/photos.md", ""), "[ $task = T002 ] && awaits go; says done");
    workspace.write("docs/plans/photos.md", plans::SOURCE_PLAN);
    let hash = workspace.does(&["hash", "docs/plans/photos.md"]).exits(0).text;
    let gate = "\"stop_if\": \"it needs a driver\", \"review_gate\": \"required\"";
    let pack = plans::task_pack(hash.trim()).replace("\"stop_if\": \"it needs a driver\"", gate);
    workspace.write("docs/tasks/photos.md", pack);
    let run = workspace.begins(&["-j", "2"]);
    workspace.until_log("review T001");
    run.dies();
    workspace
        .does(&["approve", "T001", "-p", "docs/tasks/photos.md"])
        .exits(0);
    workspace.give("go");
    let came = workspace.runs(&[]).exits(0);
    assert!(!came.text.contains("in review"), "{}", came.text);
}

#[test]
fn a_task_skipped_while_it_waits_to_start_does_not_start() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $task = a ] && trap 'sleep 1.5; exit 1' TERM && awaits go\nsays done",
    );
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.until("the plan knows", |workspace| workspace.states().contains("a running"));
    workspace.write("plan.json", clido(&["b"]));
    workspace.until_log("edited");
    workspace.does(&["skip", "b", "-p", "plan.json"]).exits(0);
    run.ends().exits(0);
    assert_eq!(workspace.noted("began"), ["a"]);
    assert_eq!(workspace.states(), "b skipped");
}

#[test]
fn a_run_and_a_verb_name_a_verification_in_the_same_words() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "says done made-$task\ntouch made-$task",
    );
    workspace.configure("", "[verify]\nevery = [\"test -e made-$PLANWRIGHT_TASK\"]");
    workspace.runs(&["--only", "a"]).exits(0);
    workspace.does(&["start", "b", "-p", "plan.json"]).exits(0);
    workspace
        .does(&["done", "b", "-p", "plan.json"])
        .exits(1)
        .says("`b` is not done: `test -e made-$PLANWRIGHT_TASK` failed");
    workspace.write("made-b", "");
    workspace.does(&["done", "b", "-p", "plan.json"]).exits(0);
    let history = workspace.does(&["history", "plan.json"]).exits(0).text;
    let verified = "(verified by `test -e made-$PLANWRIGHT_TASK`)";
    assert_eq!(history.matches(verified).count(), 2, "{history}");
    let run = history
        .lines()
        .find(|line| line.contains(" run a ") && line.contains(verified));
    assert!(run.is_some(), "{history}");

    workspace
        .does(&["reset", "a", "-p", "plan.json", "--force", "--note", "again"])
        .exits(0);
    workspace.script("rm made-$task; says done");
    let failed = workspace.runs(&["--only", "a"]).exits(1).text;
    assert!(failed.contains("`test -e made-$PLANWRIGHT_TASK`"), "{failed}");
    for verb in [&["logs", "a", "--checks"][..], &["events"], &["summary"]] {
        let shown = workspace.does(verb).text;
        assert!(!shown.contains("sh -c"), "{shown}");
    }
    assert!(!failed.contains("sh -c"), "{failed}");
}
