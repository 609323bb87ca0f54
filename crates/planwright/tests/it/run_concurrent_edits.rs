//! Other processes during a run: a second run, hand edits, broken files, requests from another terminal.

use crate::run::{RunningCommand, Workspace, clido, rawko};

/// Begins a run whose task `a` waits for `go`.
fn busy(tasks: &[&str]) -> (Workspace, RunningCommand) {
    let workspace = Workspace::new(
        ("plan.json", &clido(tasks)),
        "[ $task = a ] && awaits go\nsays done made-$task",
    );
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.until("the plan knows", |workspace| workspace.states().contains("a running"));
    (workspace, run)
}

#[test]
fn a_second_run_of_a_plan_is_refused_and_names_the_first() {
    let (workspace, run) = busy(&["a"]);
    let id = workspace.place().id().to_owned();
    let came = workspace.runs(&[]);
    assert_eq!(came.status, Some(3), "{}", came.text);
    came.says(&format!("run {id}")).says(&format!("process {}", run.pid()));
    assert_eq!(workspace.places().len(), 1);
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.noted("began"), ["a"]);
}

#[test]
fn two_plans_of_a_workspace_run_at_the_same_time() {
    let (workspace, run) = busy(&["a"]);
    workspace.write("other.json", clido(&["x"]).replace("plan-a1b2c3d4", "plan-99999999"));
    workspace.does(&["run", "other.json"]).exits(0);
    workspace.give("go");
    run.ends().exits(0);
}

#[test]
fn a_run_that_waited_for_another_reads_its_results() {
    let mut workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done").in_git();
    // The second one reads the plan, and a slow git delays it until the first has ended.
    let folder = workspace.aside("slow");
    std::fs::create_dir_all(&folder).expect("ours");
    let git = folder.join("git");
    let script = format!(
        "#!/bin/sh\ntouch {0}/slow-is-here\nn=0; while [ ! -e {0}/go ] && [ $n -lt 9000 ]; do sleep 0.01; n=$((n + 1)); done\nPATH=${{PATH#*:}} exec git \"$@\"\n",
        workspace.aside("").display()
    );
    std::fs::write(&git, script).expect("ours");
    std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    let path = std::env::var("PATH").unwrap_or_default();
    workspace.set("PATH", &format!("{}:{path}", folder.display()));
    let second = workspace.begins(&["-j", "2"]);
    workspace.until("the second is held up", |workspace| {
        workspace.aside("slow-is-here").exists()
    });
    workspace.set("PATH", &path);
    workspace.runs(&["--isolation", "shared"]).exits(0);
    workspace.give("go");
    second.ends().exits(0);
    assert_eq!(workspace.noted("began"), ["a"], "what is done is not done again");
}

#[test]
fn a_task_that_a_user_finishes_during_the_run_is_done() {
    let (workspace, run) = busy(&["a", "b", "c b"]);
    workspace
        .does(&["start", "b", "-p", "plan.json", "--by", "ada"])
        .exits(0);
    workspace
        .does(&[
            "done",
            "b",
            "-p",
            "plan.json",
            "--unverified",
            "--take-over",
            "--note",
            "made by hand",
        ])
        .exits(0);
    workspace.until_log("edited");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, b done, c done");
    assert_eq!(workspace.noted("began"), ["a", "c"]);
}

#[test]
fn a_task_that_is_taken_over_is_listed_once_with_who_took_it() {
    let (workspace, run) = busy(&["a", "b"]);
    let done = ["done", "a", "-p", "plan.json", "--unverified", "--take-over"];
    let why = ["--by", "ada", "--note", "made by hand"];
    workspace.does(&[&done[..], &why[..]].concat()).exits(0);
    workspace.until_log("edited");
    let ended = run.ends().exits(0).text.clone();
    assert!(!ended.contains("Not finished"), "{ended}");
    let (_, after) = ended.split_once("Taken over").expect("a section");
    assert!(
        after.contains("a  Make a\n    by ada, who marked it as done"),
        "{ended}"
    );
    let report = workspace.does(&["summary", "--json"]).exits(0).as_json();
    assert_eq!(report["stopped"].as_array().map(Vec::len), Some(0), "{report}");
    assert_eq!(report["taken_over"][0]["by"], "ada");
    assert_eq!(report["taken_over"][0]["to"], "done");
    assert_eq!(report["counts"]["done"], 2);
}

#[test]
fn a_task_that_a_user_started_is_not_run() {
    let (workspace, run) = busy(&["a", "b", "c a"]);
    workspace
        .does(&["start", "b", "-p", "plan.json", "--by", "ada"])
        .exits(0);
    workspace.until_log("edited b");
    workspace.give("go");
    run.ends();
    assert_eq!(workspace.noted("began"), ["a", "c"]);
    assert_eq!(workspace.states(), "a done, b running, c done");
}

#[test]
fn a_skipped_task_is_not_run_and_a_reset_one_is() {
    let (workspace, run) = busy(&["a", "b", "c"]);
    workspace.does(&["skip", "b", "-p", "plan.json"]).exits(0);
    workspace.does(&["skip", "c", "-p", "plan.json"]).exits(0);
    workspace.does(&["reset", "c", "-p", "plan.json"]).exits(0);
    workspace.until_log("edited");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, b skipped, c done");
    assert_eq!(workspace.noted("began"), ["a", "c"]);
}

#[test]
fn a_running_task_that_a_user_skips_is_ended() {
    let (workspace, run) = busy(&["a", "b"]);
    workspace
        .does(&["skip", "a", "-p", "plan.json", "--note", "not needed"])
        .exits(0);
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a skipped, b done");
    assert!(
        workspace.log().contains(&"finished a 1 interrupted".to_owned()),
        "{:?}",
        workspace.log()
    );
    workspace.is_quiet();
}

#[test]
fn edited_descriptions_reach_the_agent_and_are_kept() {
    for in_place in [true, false] {
        let (workspace, run) = busy(&["a", "b a"]);
        let edit: fn(&Workspace, &str, &str) = if in_place {
            Workspace::edit_in_place
        } else {
            Workspace::edit
        };
        edit(&workspace, "Make b", "Make b and be quick");
        // As it is before anything else is written to the file.
        std::thread::sleep(std::time::Duration::from_millis(20));
        workspace.give("go");
        run.ends().exits(0);
        let expected = clido(&["a", "b a"])
            .replace("Make b", "Make b and be quick")
            .replace("\"status\": \"pending\"", "\"status\": \"done\"");
        assert_eq!(workspace.plan(), expected);
        assert!(workspace.prompt("b", 1).contains("be quick"));
    }
}

#[test]
fn a_task_that_an_editor_adds_is_run() {
    let (workspace, run) = busy(&["a"]);
    let task = "{\"id\": \"z\", \"description\": \"Make z\", \"depends_on\": [\"a\"], \"complexity\": \"low\", \"status\": \"pending\"}";
    workspace.edit("\"tasks\": [\n", &format!("\"tasks\": [\n    {task},\n"));
    workspace.until_log("edited");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "z done, a done");
}

#[test]
fn a_task_that_an_editor_removes_is_not_run() {
    let (workspace, run) = busy(&["a", "b", "c"]);
    workspace.write(
        "plan.json",
        clido(&["a", "c"]).replacen("\"pending\"", "\"running\"", 1),
    );
    workspace.until_log("edited");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, c done");
    assert_eq!(workspace.noted("began"), ["a", "c"]);
}

#[test]
fn a_running_task_that_an_editor_removes_is_ended() {
    let (workspace, run) = busy(&["a", "b"]);
    workspace.write("plan.json", clido(&["b"]));
    run.ends().exits(0);
    assert_eq!(workspace.states(), "b done");
    workspace.is_quiet();
}

#[test]
fn a_dependency_that_an_editor_adds_counts() {
    let (workspace, run) = busy(&["a", "b", "c"]);
    workspace.edit("\"Make b\", \"depends_on\": []", "\"Make b\", \"depends_on\": [\"c\"]");
    workspace.until_log("edited");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.noted("began"), ["a", "c", "b"]);
}

#[test]
fn a_broken_plan_pauses_the_run_until_it_is_fixed() {
    let (workspace, run) = busy(&["a", "b a"]);
    let good = workspace.plan();
    workspace.write(
        "plan.json",
        good.replace("\"depends_on\": [\"a\"]", "\"depends_on\": [\"nobody\"]"),
    );
    workspace.until_log("paused");
    let log = workspace.log().join("\n");
    assert!(
        log.contains("plan.json:") && log.contains("nobody"),
        "the diagnostic is there: {log}"
    );
    workspace.give("go");
    workspace.until_log("verified a 1 true");
    workspace.write("plan.json", "{\"oops\"");
    workspace.until("the second reason", |workspace| {
        workspace.log().iter().filter(|line| line.starts_with("paused")).count() == 2
    });
    assert_eq!(workspace.noted("began"), ["a"]);
    workspace.write("plan.json", &good);
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_pause_of_the_users_outlasts_a_broken_plan() {
    let (workspace, run) = busy(&["a", "b a"]);
    workspace.ask("pause", None);
    workspace.until_log("paused");
    let good = workspace.plan();
    workspace.write("plan.json", "{");
    workspace.until("the second reason", |workspace| {
        workspace.remarks().contains("the plan has errors now")
    });
    workspace.write("plan.json", &good);
    workspace.until("it is fixed", |workspace| {
        let log = workspace.log();
        log.iter().any(|line| line.contains("can be used again"))
    });
    workspace.give("go");
    workspace.until_log("verified a 1 true");
    workspace.until("the plan knows", |workspace| workspace.states().contains("a done"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(workspace.noted("began"), ["a"], "it is still paused");
    workspace.ask("resume", None);
    run.ends().exits(0);
    assert_eq!(workspace.noted("began"), ["a", "b"]);
}

#[test]
fn a_paused_run_starts_nothing_until_it_is_resumed() {
    let (workspace, run) = busy(&["a", "b a"]);
    workspace.ask("pause", None);
    workspace.until_log("paused so it is");
    workspace.give("go");
    workspace.until("the plan knows", |workspace| workspace.states() == "a done, b pending");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(workspace.noted("began"), ["a"]);
    workspace.ask("resume", None);
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_paused_run_can_be_stopped() {
    let (workspace, run) = busy(&["a", "b a"]);
    workspace.ask("pause", None);
    workspace.until_log("paused");
    workspace.give("go");
    workspace.until("the plan knows", |workspace| workspace.states() == "a done, b pending");
    workspace.ask("stop", None);
    run.ends().exits(1);
    let ended = workspace.ended();
    assert_eq!(ended.standing.as_str(), "stopped");
    assert!(ended.why.expect("a reason").contains("ada"));
}

#[test]
fn a_stopped_run_finishes_its_running_tasks() {
    let (workspace, run) = busy(&["a", "b"]);
    workspace.ask("stop", None);
    workspace.until_log("stopping requested");
    workspace.give("go");
    run.ends().exits(1);
    assert_eq!(workspace.states(), "a done, b pending");
    workspace.runs(&[]).exits(0);
}

#[test]
fn stop_now_ends_running_tasks() {
    let (workspace, run) = busy(&["a", "b"]);
    workspace.ask("kill", None);
    run.ends().exits(1);
    workspace.is_quiet();
    assert_eq!(workspace.states(), "a pending, b pending");
}

#[test]
fn unknown_requests_are_ignored() {
    let (workspace, run) = busy(&["a"]);
    workspace.ask("dance", Some("a"));
    workspace.ask("approve", Some("a"));
    workspace.ask("reject", Some("nobody"));
    std::fs::write(workspace.aside("x"), "").expect("ours");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done");
}

const CELLAR: &str = ".rawko/plans/plan-20260501-cellar.yaml";

/// Begins a run of a rawko plan whose first step waits for `go`.
fn cellar(steps: &[&str]) -> (Workspace, RunningCommand) {
    let workspace = Workspace::new(
        (CELLAR, &rawko(steps)),
        "grep -m1 -o 'Sweep\\|Mop\\|Dry\\|Air' >> \"$ASIDE/said\"; [ $(wc -l < \"$ASIDE/said\") = 1 ] && awaits go\nsays done",
    );
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.until("the plan knows", |workspace| workspace.states().contains("running"));
    (workspace, run)
}

#[test]
fn renumbered_steps_are_recognised_by_their_text() {
    let (workspace, run) = cellar(&["Sweep", "Mop"]);
    let text = workspace.plan();
    // A step is inserted before the running one.
    let (head, rest) = text.split_once("steps:\n").expect("steps");
    let rest = rest
        .replace("index: 1", "index: 2")
        .replace("index: 0", "index: 1")
        .replace("dependsOn: [0]", "dependsOn: [1]")
        .replace("currentStepIndex: 0", "currentStepIndex: 1");
    workspace.write(
        CELLAR,
        format!("{head}steps:\n  - index: 0\n    description: Air\n    status: pending\n{rest}"),
    );
    workspace.until_log("edited");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "0 done, 1 done, 2 done");
    let mut said = workspace.noted("said");
    said.sort();
    assert_eq!(said, ["Air", "Mop", "Sweep"], "each was done once");
}

#[test]
fn indistinguishable_steps_pause_the_run() {
    let (workspace, run) = cellar(&["Sweep", "Mop"]);
    let good = workspace.plan();
    let twin = "  - index: 0\n    description: Sweep\n    status: pending\n";
    let shifted = good
        .replace("dependsOn: [0]", "dependsOn: [1]")
        .replace("index: 1", "index: 2")
        .replace("index: 0", "index: 1");
    workspace.write(CELLAR, shifted.replace("steps:\n", &format!("steps:\n{twin}")));
    workspace.until_log("paused");
    assert!(
        workspace.log().iter().any(|line| line.contains("cannot be identified")),
        "{:?}",
        workspace.log()
    );
    // Exactly as it was.
    workspace.write(CELLAR, &good);
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "0 done, 1 done");
}

#[test]
fn a_running_step_continues_when_its_text_is_edited() {
    let (workspace, run) = cellar(&["Sweep", "Mop"]);
    workspace.edit("description: Sweep", "description: Sweep thoroughly");
    std::thread::sleep(std::time::Duration::from_millis(600));
    workspace.give("go");
    // Either it is recognised as the same, or the run pauses and reports why; the agent is not killed for it.
    run.ends().exits(0);
    assert_eq!(workspace.states(), "0 done, 1 done");
    assert_eq!(workspace.noted("began"), ["0", "1"]);
}

#[test]
fn a_task_marked_to_skip_by_an_edit_is_run() {
    let (workspace, run) = busy(&["a", "b a", "c b"]);
    workspace.edit("\"Make b\",", "\"Make b\", \"skip\": true,");
    workspace.until("a remark", |workspace| {
        workspace.remarks().contains("marks it as one to skip")
    });
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.noted("began"), ["a", "b", "c"]);
}

#[test]
fn a_running_task_that_is_reset_starts_again() {
    let (workspace, run) = busy(&["a", "b a"]);
    workspace.does(&["reset", "a", "-p", "plan.json"]).exits(0);
    workspace.until_begun(2);
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, b done");
    assert_eq!(workspace.noted("began"), ["a", "a", "b"]);
}

#[test]
fn a_running_task_that_a_user_fails_has_failed() {
    let (workspace, run) = busy(&["a", "b a", "c"]);
    workspace
        .does(&["fail", "a", "-p", "plan.json", "--take-over", "--note", "wrong way"])
        .exits(0);
    run.ends().exits(1);
    assert_eq!(workspace.states(), "a failed, b skipped, c done");
    workspace.is_quiet();
}

#[test]
fn a_failed_task_that_is_reset_is_retried_in_the_same_run() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a", "c"])),
        "[ $task$attempt = a1 ] && exit 1\n[ $task = c ] && awaits go\nsays done",
    );
    let run = workspace.begins(&["-j", "2"]);
    workspace.until("a has failed", |workspace| {
        workspace.states().starts_with("a failed, b skipped")
    });
    workspace.does(&["reset", "a", "-p", "plan.json"]).exits(0);
    workspace.until_log("verified b 1 true");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, b done, c done");
}

#[test]
fn saving_an_outdated_text_does_not_undo_the_run() {
    let tasks = ["a", "b a", "c b"];
    let script = "[ $task = b ] && awaits go; [ $task = c ] && awaits on; says done \"made $task\"";
    let workspace = Workspace::new(("plan.json", &clido(&tasks)), script);
    let read = workspace.plan();
    let run = workspace.begins(&[]);
    workspace.until_log("started b");
    workspace.until("a done in the file", |workspace| {
        workspace.states().starts_with("a done")
    });
    // The whole text as before the run, except the intended words.
    workspace.write("plan.json", read.replace("Make c", "Make c with care"));
    workspace.until("a remark", |workspace| workspace.remarks().contains("set back"));
    workspace.until("b under way again", |workspace| {
        workspace.states() == "a done, b running, c pending"
    });
    workspace.give("go");
    workspace.until_log("started c");
    workspace.give("on");
    run.ends().exits(0);
    assert_eq!(workspace.noted("began"), ["a", "b", "c"], "nothing is done twice");
    assert_eq!(workspace.states(), "a done, b done, c done");
    assert!(workspace.prompt("c", 1).contains("with care"));
}

#[test]
fn an_edited_status_does_not_replace_required_verification() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a"])),
        "[ $task = a ] && awaits go; says done",
    );
    workspace.configure("", "[verify]\nevery = [\"true\"]\n");
    let run = workspace.begins(&["--require-verification"]);
    workspace.until_log("started a");
    workspace.until("a under way in the file", |workspace| {
        workspace.states().starts_with("a running")
    });
    let text = workspace.plan();
    let (head, tail) = text.split_once("\"id\": \"b\"").expect("a second task");
    workspace.write(
        "plan.json",
        format!("{head}\"id\": \"b\"{}", tail.replace("pending", "done")),
    );
    workspace.until("a remark", |workspace| workspace.remarks().contains("set back"));
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.noted("began"), ["a", "b"]);
}

#[test]
fn costs_stay_spent_when_a_run_resumes() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $task = b ] && awaits go\nresult '{\"planwright_result\": 1, \"outcome\": \"done\", \"cost\": {\"usd\": 0.75}}'",
    );
    let run = workspace.begins(&["--max-cost", "2"]);
    workspace.until_begun(2);
    run.dies();
    let came = workspace.runs(&["--max-cost", "0.50"]).exits(1);
    came.says("the budget of $0.50 is spent");
    assert_eq!(workspace.noted("began"), ["a", "b"], "nothing begins");
    assert_eq!(workspace.ended().standing.as_str(), "stopped");
    workspace.give("go");
    workspace.runs(&["--max-cost", "2"]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_slot_is_free_when_the_work_on_a_removed_task_has_ended() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $task = a ] && trap 'sleep 0.7; echo ended >> \"$ASIDE/began\"; exit 1' TERM && awaits go\nsays done",
    );
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.until("the plan knows", |workspace| workspace.states().contains("a running"));
    workspace.write("plan.json", clido(&["b"]));
    run.ends().exits(0).says("without `a`");
    assert_eq!(workspace.noted("began"), ["a", "ended", "b"]);
    assert_eq!(workspace.states(), "b done");
}

#[test]
fn pausing_and_resuming_are_answered_while_the_plan_is_broken() {
    let (workspace, run) = busy(&["a", "b a"]);
    let good = workspace.plan();
    workspace.write("plan.json", "{");
    workspace.until_log("paused");
    workspace
        .does(&["resume"])
        .exits(0)
        .says("until the plan file is fixed");
    workspace.does(&["pause", "--by", "ada"]).exits(0).says("is paused");
    workspace.does(&["pause"]).exits(0).says("is paused already");
    workspace.does(&["resume"]).exits(0).says("continues");
    workspace
        .does(&["resume"])
        .exits(0)
        .says("until the plan file is fixed");
    workspace.does(&["pause"]).exits(0).says("is paused");
    workspace.write("plan.json", &good);
    workspace.until("it is fixed", |workspace| {
        workspace.remarks().contains("can be used again")
    });
    workspace.does(&["resume"]).exits(0).says("continues");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn logs_follow_waits_for_a_task_to_start() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a"])),
        "[ $task = a ] && awaits go\necho made $task; says done",
    );
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    let mut reader = workspace.begin(&["logs", "b", "-f"]);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(!reader.is_over());
    workspace.does(&["logs", "nobody", "-f"]).exits(1);
    workspace.give("go");
    run.ends().exits(0);
    reader.ends().exits(0).says("has not started it yet").says("made b");
}

#[test]
fn equal_steps_are_distinguished_by_position_when_steps_are_appended() {
    let steps = rawko(&["Make it", "Make it", "Make it"]);
    let workspace = Workspace::new(("plan.yaml", &steps), "[ $task = 0 ] && awaits go; says done");
    let run = workspace.begins(&[]);
    workspace.until_log("started 0");
    workspace.does(&["add", "Make it", "-p", "plan.yaml"]).exits(0);
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.noted("began"), ["0", "1", "2", "3"]);
    assert!(
        !workspace.remarks().contains("cannot be identified"),
        "{}",
        workspace.remarks()
    );
}

#[test]
fn a_task_added_to_the_plan_starts_once() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $task = a ] && awaits go\n[ $task = b ] && exit 1\nsleep 0.3; says done",
    );
    let run = workspace.begins(&["-j", "4"]);
    workspace.until("b has failed", |workspace| workspace.states().contains("b failed"));
    workspace
        .does(&["add", "Make c", "--id", "c", "-p", "plan.json"])
        .exits(0);
    workspace.until_log("starting c");
    workspace.script("echo again; says done");
    workspace.does(&["reset", "b", "-p", "plan.json"]).exits(0);
    let text = workspace.plan();
    let more = "{\"id\": \"d\", \"description\": \"Make d\", \"depends_on\": [], \"complexity\": \"low\", \"status\": \"pending\"}";
    workspace.write(
        "plan.json",
        text.replace("\"tasks\": [\n", &format!("\"tasks\": [\n    {more},\n")),
    );
    workspace.until_log("starting d");
    workspace.give("go");
    run.ends().exits(0);
    let mut began = workspace.noted("began");
    began.sort();
    assert_eq!(began, ["a", "b", "b", "c", "d"]);
}

#[test]
fn the_end_report_has_the_tasks_as_they_are_by_then() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $task = c ] && exit 1\nawaits go; says done",
    );
    let run = workspace.begins(&["-j", "4", "--attempts", "1"]);
    workspace.until_begun(2);
    workspace.until("b is running", |workspace| workspace.states().contains("b running"));
    let refused = workspace.does(&["remove", "b", "-p", "plan.json"]).exits(1);
    refused.says("a run is working on `b`");
    let text = workspace.plan();
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("\"id\": \"b\"")).collect();
    workspace.write("plan.json", kept.join("\n").replace("},\n  ]", "}\n  ]"));
    let add = ["add", "Measure it", "--id", "c", "-p", "plan.json"];
    workspace.does(&add).exits(0);
    workspace.until("c has failed", |workspace| workspace.states().contains("c failed"));
    workspace.give("go");
    let ended = run.ends().exits(1);
    ended
        .says("another process removed or renamed the task")
        .says("Measure it");
}

#[test]
fn a_task_that_a_run_works_on_keeps_its_name_until_it_ends() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "awaits go; says done");
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    let rename = ["rename", "a", "z", "-p", "plan.json"];
    workspace.until("a is running", |workspace| workspace.states().contains("a running"));
    workspace.does(&rename).exits(1).says("a run is working on `a`");
    workspace.does(&["rename", "b", "y", "-p", "plan.json"]).exits(0);
    workspace.give("go");
    run.ends().exits(0);
    workspace.does(&rename).exits(0);
    assert_eq!(workspace.states(), "z done, y done");
}

#[test]
fn an_undo_reports_the_states_in_the_file_and_names_what_changed_since_a_move() {
    let (workspace, run) = busy(&["a", "b", "c"]);
    let moved = workspace.does(&["move", "a", "--after", "b", "-p", "plan.json", "--json"]);
    let number = moved.exits(0).as_json()["number"].clone();
    workspace.give("go");
    run.ends().exits(0);
    let history = workspace.does(&["history", "plan.json", "--json"]).exits(0).as_json();
    let is_move = |past: &&serde_json::Value| past["verb"] == "move";
    let past = history["changes"].as_array().and_then(|all| all.iter().find(is_move));
    assert_eq!(past.map(|past| past["number"].clone()), Some(number.clone()));
    let mut refused = None;
    for _ in 0..6 {
        let undone = workspace.does(&["undo", "plan.json", "--json", "--quiet"]);
        if undone.status != Some(0) {
            refused = Some(workspace.does(&["undo", "plan.json"]).exits(1).text.clone());
            break;
        }
        let report = undone.as_json();
        for task in report["tasks"].as_array().into_iter().flatten() {
            assert_eq!(
                (&task["from"], &task["to"]),
                (&"done".into(), &"pending".into()),
                "{report}"
            );
        }
    }
    let refused = refused.expect("the move was written around a running task");
    assert!(
        refused.contains(&format!(
            "cannot undo `move` of a (change {number}): its part of the plan changed since: status of a:"
        )),
        "{refused}"
    );
    assert!(refused.contains("`planwright history plan.json`"), "{refused}");
}
