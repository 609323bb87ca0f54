//! A run may be killed at any moment, and its log may end anywhere: the next run resumes it.

use std::collections::BTreeMap;

use planwright_run::files::DiskFiles;
use planwright_run::runs::{ProcessStartRecord, RunEvent, RunLog, RunRecord};

use crate::run::{Workspace, aimi, clido, rawko};

/// Kills a run as soon as its log has this many records, runs again, and checks that everything is done once. Returns whether there were
/// that many.
fn survives(plan: (&str, &str), n_records: usize, script: &str) -> bool {
    let workspace = Workspace::new(plan, script);
    let mut run = workspace.begins(&[]);
    let mut is_killed = false;
    while !run.is_over() {
        if workspace.records().len() >= n_records {
            is_killed = true;
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    if is_killed {
        run.dies();
    }
    let before: Vec<String> = done_by_log(&workspace);
    workspace.script("says done");
    let came = workspace.runs(&[]);
    assert_eq!(came.status, Some(0), "killed after {n_records}:\n{}", came.text);
    let states = workspace.states();
    assert!(
        states.split(", ").all(|state| state.ends_with(" done")),
        "killed after {n_records}: {states}"
    );
    let began = workspace.noted("began");
    for task in before {
        let n_begun = began.iter().filter(|begun| **begun == task).count();
        assert_eq!(
            n_begun, 1,
            "killed after {n_records}: `{task}` was done and was run again\n{}",
            came.text
        );
    }
    is_continuous(&workspace);
    workspace.is_quiet();
    is_killed
}

/// Returns the tasks that were done and verified, by the log.
fn done_by_log(workspace: &Workspace) -> Vec<String> {
    let done = workspace.records().into_iter().filter_map(|record| match record.event {
        RunEvent::Verified(event) if event.passed => Some(event.task),
        _ => None,
    });
    done.collect()
}

/// Checks that numbers of records and attempts follow each other.
#[track_caller]
fn is_continuous(workspace: &Workspace) {
    let mut attempts: BTreeMap<String, u32> = BTreeMap::new();
    for (nth, record) in workspace.records().iter().enumerate() {
        assert_eq!(record.seq, nth as u64 + 1, "{}", workspace.log().join("\n"));
        if let RunEvent::AttemptStarting(event) = &record.event {
            let last = attempts.insert(event.task.clone(), event.attempt).unwrap_or(0);
            assert_eq!(event.attempt, last + 1, "{}", workspace.log().join("\n"));
        }
    }
}

#[test]
fn a_clido_run_may_be_killed_after_any_record() {
    let plan = clido(&["a", "b a", "c b"]);
    for n_records in 1..40 {
        if !survives(("plan.json", &plan), n_records, "sleep 0.01; says done") {
            break;
        }
    }
}

#[test]
fn an_aimi_run_may_be_killed_after_any_record() {
    let plan = aimi(1, &["1", "2 1"]);
    for n_records in 1..40 {
        if !survives(("tasks.json", &plan), n_records, "sleep 0.01; says done") {
            break;
        }
    }
}

#[test]
fn a_rawko_run_may_be_killed_after_any_record() {
    let plan = rawko(&["Sweep", "Mop"]);
    for n_records in 1..40 {
        if !survives(
            (".rawko/plans/plan-20260501-cellar.yaml", &plan),
            n_records,
            "sleep 0.01; says done",
        ) {
            break;
        }
    }
}

/// Kills a run while an agent works, whose processes continue.
fn killed_at_work(script: &str) -> Workspace {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), script);
    let run = workspace.begins(&[]);
    workspace.until_log("started a 1");
    workspace.until_begun(1);
    run.dies();
    workspace
}

#[test]
fn processes_of_a_killed_run_are_found_and_ended() {
    let workspace = killed_at_work("setsid sleep 60 & (sleep 60) & awaits go; says done");
    workspace.until("processes go on", |workspace| workspace.left_behind().len() >= 3);
    workspace.script("says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.left_behind(), [0; 0]);
    assert!(
        workspace
            .remarks()
            .contains("processes that an interrupted run had left"),
        "{}",
        workspace.remarks()
    );
    assert_eq!(workspace.places().len(), 1, "the same run goes on");
    assert_eq!(workspace.noted("began"), ["a", "a", "b"]);
}

#[test]
fn a_plan_moved_after_a_kill_resumes() {
    let workspace = killed_at_work("setsid sleep 60 & (sleep 60) & awaits go; says done");
    workspace.until("processes go on", |workspace| workspace.left_behind().len() >= 3);
    let at = |name: &str| workspace.root().join(name);
    std::fs::rename(at("plan.json"), at("kept.json")).expect("ours");
    workspace.script("says done");
    workspace.does(&["run", "kept.json"]).exits(0);
    assert_eq!(workspace.left_behind(), [0; 0]);
    assert_eq!(workspace.places().len(), 1, "the same run goes on");
    assert_eq!(workspace.noted("began"), ["a", "a", "b"]);
}

#[test]
fn a_process_that_got_the_number_of_a_dead_agent_is_left_alone() {
    let workspace = killed_at_work("awaits go");
    let mut innocent = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .expect("a process");
    let log = workspace.place().log();
    let started = workspace.records().into_iter().find_map(|record| match record.event {
        RunEvent::ProcessStarted(started) => Some(started),
        _ => None,
    });
    // As if the agent had ended, and the system had given its number to another process.
    let mut resumed = RunLog::resume(&DiskFiles, &log).expect("a log");
    let reused = RunEvent::ProcessStarted(ProcessStartRecord {
        pid: innocent.id(),
        ..started.expect("an agent was started")
    });
    resumed.log.add("2026-11-16T06:00:00.000Z", &reused).expect("a record");
    resumed.log.commit().expect("ours");
    drop(resumed);
    workspace.script("says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(
        innocent.try_wait().expect("ours"),
        None,
        "it has nothing to do with the run"
    );
    innocent.kill().expect("ours");
    innocent.wait().expect("ours");
    assert_eq!(workspace.states(), "a done, b done");
    workspace.is_quiet();
}

#[test]
fn an_interrupted_task_is_retried_by_default() {
    let workspace = killed_at_work("awaits go");
    workspace.script("says done");
    let came = workspace.runs(&["--on-interrupted", "ask"]).exits(1);
    came.says("--on-interrupted retry").says("--on-interrupted fail");
    assert_eq!(workspace.states(), "a running, b pending");
    workspace.runs(&["--on-interrupted", "fail"]).exits(1);
    assert_eq!(workspace.states(), "a failed, b skipped");
    assert_eq!(workspace.noted("began"), ["a"]);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_run_that_is_refused_for_an_interrupted_task_changes_nothing() {
    let workspace = killed_at_work("awaits go");
    // An edit that the run would set back.
    let plan = workspace.read("plan.json");
    let at = plan.rfind("\"pending\"").expect("`b` is pending");
    let edited = format!("{}\"done\"{}", &plan[..at], &plan[at + 9..]);
    workspace.write("plan.json", &edited);
    let history = workspace.does(&["history", "plan.json"]).exits(0).text;
    workspace
        .runs(&["--on-interrupted", "ask"])
        .exits(1)
        .says("was interrupted");
    assert_eq!(workspace.read("plan.json"), edited);
    assert_eq!(workspace.does(&["history", "plan.json"]).exits(0).text, history);
    workspace.script("says done");
    workspace.runs(&[]).exits(0).says("set back");
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_task_finished_by_the_user_after_a_kill_is_not_run_again() {
    let script = "echo x > $task.txt; [ $task = a ] && awaits go; says done";
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), script).in_git();
    let run = workspace.begins(&[]);
    workspace.until_log("started a 1");
    workspace.until_begun(1);
    run.dies();
    let killed = workspace.does(&["summary"]).exits(0);
    killed
        .says("Not finished a interrupted before it was finished")
        .says("To continue");
    workspace
        .does(&["worktrees"])
        .exits(0)
        .says("in-use")
        .says("was interrupted");
    let done = [
        "done",
        "a",
        "-p",
        "plan.json",
        "--by",
        "ada",
        "--take-over",
        "--note",
        "by hand",
    ];
    workspace.does(&done).exits(0);
    let taken = workspace.does(&["summary"]).exits(0);
    assert!(!taken.text.contains("Not finished"), "{}", taken.text);
    taken.says("by ada, who marked it as done");
    let left = workspace.does(&["worktrees"]).exits(0);
    assert!(!left.text.contains("in-use"), "{}", left.text);
    workspace.give("go");
    let came = workspace
        .runs(&[])
        .exits(0)
        .says("another process moved `a` to done")
        .says("Taken over");
    assert!(!came.text.contains("Not finished"), "{}", came.text);
    assert_eq!(workspace.states(), "a done, b done");
    workspace.does(&["summary"]).exits(0).says("planwright land plan.json");
    workspace.does(&["land"]).exits(0);
    let landed = workspace
        .does(&["summary"])
        .exits(0)
        .says("1 task on planwright/plan-a1b2c3d4, and in main");
    assert!(!landed.text.contains("planwright land"), "{}", landed.text);
}

/// Returns the tasks that the log has as skipped.
fn skipped_by_log(workspace: &Workspace) -> Vec<String> {
    let skipped = workspace.records().into_iter().filter_map(|record| match record.event {
        RunEvent::Skipped(event) => Some(event.task),
        _ => None,
    });
    skipped.collect()
}

#[test]
fn dependents_of_a_retried_interrupted_task_are_not_reported_as_skipped() {
    let workspace = killed_at_work("awaits go");
    workspace.script("says done");
    let came = workspace.runs(&[]).exits(0);
    assert!(!came.text.contains("skipped"), "{}", came.text);
    assert_eq!(skipped_by_log(&workspace), [""; 0]);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn dependents_of_a_retried_late_failure_are_not_reported_as_skipped() {
    let plan = clido(&["a", "b a"]);
    let workspace = Workspace::new(("plan.json", &plan), "exit 1");
    workspace.configure("attempts = 1", "");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "a failed, b skipped");
    // As if the run had been killed after it recorded the failure, and before it wrote that to the plan.
    workspace.write("plan.json", &plan);
    let records = workspace.records();
    let finished = records
        .iter()
        .find(|record| matches!(record.event, RunEvent::AttemptEnded(_)));
    let last = finished.expect("the attempt has ended").seq;
    workspace.keep_records(|record| record.seq <= last && !matches!(record.event, RunEvent::PlanWritten(_)));
    workspace.script("says done");
    workspace.runs(&[]).exits(0).says("the plan file is updated now");
    assert_eq!(skipped_by_log(&workspace), [""; 0]);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn dependents_of_a_failed_interrupted_task_are_reported_as_skipped() {
    let workspace = killed_at_work("awaits go");
    workspace.runs(&["--on-interrupted", "fail"]).exits(1);
    assert_eq!(skipped_by_log(&workspace), ["b"]);
    assert_eq!(workspace.states(), "a failed, b skipped");
}

#[test]
fn attempts_of_a_killed_run_leave_the_remaining_ones() {
    let workspace = Workspace::new(("tasks.json", &aimi(1, &["1"])), "exit 1");
    workspace.configure("attempts = 3", "");
    let text = workspace.read("planwright.toml");
    workspace.write("planwright.toml", text.replace("\"1ms\"", "\"1h\""));
    let run = workspace.begins(&[]);
    workspace.until_log("resting US-001 1");
    run.dies();
    workspace.write("planwright.toml", text);
    workspace.script("says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "US-001 done");
}

#[test]
fn a_torn_log_is_cut_and_the_run_continues() {
    let workspace = killed_at_work("awaits go");
    let log = workspace.place().log();
    let whole = std::fs::read(&log).expect("a log");
    let plan = workspace.plan();
    let journal_folder = workspace.root().join(".planwright/journal");
    let journals: Vec<_> = std::fs::read_dir(&journal_folder)
        .expect("journals")
        .flatten()
        .map(|entry| (entry.path(), std::fs::read(entry.path()).expect("a journal")))
        .collect();
    workspace.script("says done");
    let header = whole.iter().position(|&byte| byte == b'\n').expect("a line") + 1;
    for cut in (header..whole.len()).step_by(37) {
        for place in workspace.places() {
            if place.log() != log {
                std::fs::remove_dir_all(place.folder()).expect("ours");
            }
        }
        std::fs::write(&log, &whole[..cut]).expect("ours");
        workspace.write("plan.json", &plan);
        for (path, bytes) in &journals {
            std::fs::write(path, bytes).expect("ours");
        }
        let came = workspace.runs(&[]);
        assert_eq!(came.status, Some(0), "cut at {cut} of {}:\n{}", whole.len(), came.text);
        assert_eq!(workspace.states(), "a done, b done", "cut at {cut}");
        is_continuous(&workspace);
    }
}

#[test]
fn a_torn_end_is_reported() {
    let workspace = killed_at_work("awaits go");
    let log = workspace.place().log();
    let mut bytes = std::fs::read(&log).expect("a log");
    let sound = bytes.len();
    bytes.extend(b"deadbeef {\"seq\":99,\"ti");
    std::fs::write(&log, bytes).expect("ours");
    workspace.script("says done");
    let came = workspace.runs(&[]).exits(0);
    let cut = workspace.records().into_iter().find_map(|record| match record.event {
        RunEvent::LogCut(cut) => Some(cut),
        _ => None,
    });
    let cut = cut.expect("the log says so");
    assert_eq!((cut.offset, cut.n_bytes), (sound as u64, 22));
    came.says("22 bytes removed");
}

#[test]
fn a_log_damaged_in_the_middle_is_refused_with_help() {
    let workspace = killed_at_work("awaits go");
    let log = workspace.place().log();
    let mut bytes = std::fs::read(&log).expect("a log");
    let second = bytes.iter().position(|&byte| byte == b'\n').expect("a line") + 1;
    bytes[second + 20] ^= 1;
    std::fs::write(&log, &bytes).expect("ours");
    workspace.script("says done");
    let came = workspace.runs(&[]);
    assert!(matches!(came.status, Some(1 | 3)), "{}", came.text);
    let text = came.text.clone();
    came.says(&format!("byte {second}"));
    assert_eq!(std::fs::read(&log).expect("a log"), bytes, "it is left as it is");
    assert_eq!(workspace.noted("began"), ["a"]);
    // The printed command helps.
    let command = text
        .split("mv ")
        .nth(1)
        .expect("a command")
        .lines()
        .next()
        .expect("a line");
    let words: Vec<&str> = command.split_whitespace().collect();
    std::fs::rename(words[0], words[1]).expect("as told");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_log_of_a_newer_version_is_refused_and_left_alone() {
    let workspace = killed_at_work("awaits go");
    let log = workspace.place().log();
    let text = std::fs::read_to_string(&log).expect("a log");
    let (header, rest) = text.split_once('\n').expect("a line");
    let header: Vec<&str> = header.splitn(4, ' ').collect();
    assert_eq!(header[..2], ["planwright-journal", "1"]);
    let newer = format!("{} 2 {} {}\n{rest}", header[0], header[2], header[3]);
    std::fs::write(&log, &newer).expect("ours");
    let plan = workspace.plan();
    workspace.script("says done");
    let came = workspace.runs(&[]);
    assert!(matches!(came.status, Some(1 | 3)), "{}", came.text);
    assert!(came.text.contains("newer"), "{}", came.text);
    assert_eq!(std::fs::read_to_string(&log).expect("a log"), newer);
    assert_eq!(workspace.plan(), plan);
    assert_eq!(workspace.noted("began"), ["a"]);
}

#[test]
fn a_run_killed_repeatedly_finishes() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a", "c b", "d c"])),
        "sleep 0.02; says done",
    );
    for n_records in [2, 5, 7, 9, 11, 14, 17] {
        let mut run = workspace.begins(&[]);
        let target = n_records + workspace.records().len();
        while !run.is_over() && workspace.records().len() < target {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        if !run.is_over() {
            run.dies();
        }
    }
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done, c done, d done");
    is_continuous(&workspace);
    workspace.is_quiet();
}

#[test]
fn the_next_run_writes_missing_states_to_the_plan_file() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a"])),
        "[ $task = b ] && awaits go\nsays done made-$task",
    );
    let run = workspace.begins(&[]);
    workspace.until_log("started b 1");
    run.dies();
    // As if it had been killed before the file was written.
    workspace.write("plan.json", clido(&["a", "b a"]));
    let records = workspace.records();
    let is_start =
        |record: &&RunRecord| matches!(&record.event, RunEvent::AttemptStarting(attempt) if attempt.task == "b");
    let end = records.iter().find(is_start).expect("b has begun").seq;
    assert!(
        records
            .iter()
            .any(|record| record.seq < end && matches!(record.event, RunEvent::Verified(_)))
    );
    workspace.keep_records(|record| record.seq < end && !matches!(record.event, RunEvent::PlanWritten(_)));
    workspace.script("says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
    assert_eq!(
        workspace.noted("began"),
        ["a", "b", "b"],
        "a was done, and is not run again"
    );
    assert!(workspace.prompt("b", 1).contains("made-a"));
}

#[test]
fn doctor_names_a_run_that_was_killed_and_the_command_that_resumes_it() {
    let workspace = killed_at_work("[ $task$attempt = a1 ] && awaits go\nsays done");
    let id = workspace.place().id().to_owned();
    let doctor = workspace.does(&["doctor"]);
    let doctor = doctor.says(&format!(
        "warning[run-interrupted]: run {id} of `plan.json` was interrupted"
    ));
    doctor.says("`planwright run plan.json` resumes it");
    workspace.runs(&[]).exits(0);
    let doctor = workspace.does(&["doctor"]);
    assert!(!doctor.text.contains("run-interrupted"), "{}", doctor.text);
}

#[test]
fn undo_leaves_no_task_running_that_a_dead_run_has_finished() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "awaits go-$task\nsays done");
    let run = workspace.begins(&[]);
    workspace.until("the plan knows", |workspace| {
        workspace.states() == "a running, b pending"
    });
    workspace.give("go-a");
    workspace.until("the next one runs", |workspace| {
        workspace.states() == "a done, b running"
    });
    run.dies();
    workspace.give("go-b");
    // The start of `b` may be a change of its own.
    let mut undone = workspace.does(&["undo", "plan.json"]).exits(0);
    if workspace.states() == "a done, b pending" {
        undone = workspace.does(&["undo", "plan.json"]).exits(0);
    }
    assert_eq!(workspace.states(), "a pending, b pending");
    undone.says("a run made that change: `a` is pending again");
    // The run's start of `a` is undone as well.
    workspace.does(&["undo", "plan.json"]).exits(1).says("nothing to undo");
}

#[test]
fn the_time_of_a_run_that_continues_has_that_before_it_was_killed() {
    let script =
        "[ $task = b ] && [ ! -e $ASIDE/again ] && touch $ASIDE/again && sleep 20; [ $task = a ] && sleep 1; says done";
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), script);
    let going = workspace.begins(&[]);
    workspace.until_begun(2);
    going.dies();
    workspace.runs(&[]).exits(0);
    let took = workspace.ended().milliseconds;
    assert!(took >= 1_000, "{took} ms");
}
