//! Runs under hostile conditions: odd names, agents that linger, plans that vanish, many writers, kills at any time.

use std::time::{Duration, Instant};

use planwright_run::runs::RunEvent;
use serde_json::Value;

use crate::run::{Workspace, aimi, clido, rawko};

#[test]
fn names_of_tasks_cannot_escape() {
    let long = "x".repeat(300);
    let names = [
        "../../x",
        "a\\nb",
        "a\\u0000b",
        "/etc/passwd",
        "-rf",
        "$(touch pwned)",
        "a b",
        "é☃",
        long.as_str(),
    ];
    let mut plan = clido(&["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"]);
    for (nth, name) in names.iter().enumerate() {
        plan = plan.replace(&format!("\"id\": \"t{nth}\""), &format!("\"id\": \"{name}\""));
    }
    let workspace = Workspace::new(("plan.json", &plan), "says done");
    workspace.runs(&["-j", "3"]).exits(0);
    assert_eq!(workspace.ended().n_done, 9);
    let mut entries: Vec<String> = std::fs::read_dir(workspace.root())
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    entries.sort();
    assert_eq!(entries, [".planwright", "plan.json", "planwright.toml"]);
}

#[test]
fn background_processes_of_an_agent_do_not_delay_the_run() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "sleep 1000 & says done");
    let since = Instant::now();
    workspace.runs(&[]).exits(0);
    assert!(since.elapsed() < Duration::from_secs(300), "{:?}", since.elapsed());
    assert_eq!(workspace.states(), "a done, b done");
    assert!(
        workspace.remarks().contains("that its agent left running"),
        "{}",
        workspace.remarks()
    );
}

#[test]
fn an_agent_that_is_killed_has_failed() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done; kill -9 $$");
    workspace.configure("attempts = 2", "");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "a failed");
    assert_eq!(workspace.noted("began"), ["a", "a"]);
}

#[test]
fn an_agent_sees_what_is_allowed_and_no_more() {
    let mut workspace = Workspace::new(("plan.json", &clido(&["a"])), "env > \"$ASIDE/environment\"; says done");
    workspace.set("MY_SECRET", "hidden");
    workspace.set("MY_KEY", "shown");
    workspace.configure_agent("env = [\"MY_KEY\"]", "", "");
    workspace.runs(&[]).exits(0);
    let environment = workspace.noted("environment").join("\n");
    assert!(
        environment.contains("MY_KEY=shown") && !environment.contains("MY_SECRET"),
        "{environment}"
    );
    let root = workspace.root().canonicalize().expect("a folder");
    for (name, value) in [
        ("PLANWRIGHT_TASK", "a".to_owned()),
        ("PLANWRIGHT_ATTEMPT", "1".to_owned()),
        ("PLANWRIGHT_RUN", workspace.place().id().to_owned()),
        ("PLANWRIGHT_PLAN", root.join("plan.json").to_string_lossy().into_owned()),
    ] {
        assert!(
            environment.lines().any(|line| *line == format!("{name}={value}")),
            "{name} in {environment}"
        );
    }
    assert!(environment.contains("PLANWRIGHT_RESULT=/"), "{environment}");
}

#[test]
fn a_verification_that_hangs_fails_the_attempt() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.configure("", "[verify]\nevery = [\"setsid sleep 50\"]\ntimeout = \"1s\"\n");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "a failed");
    workspace.is_quiet();
}

#[test]
fn a_verification_that_cannot_be_started_fails_the_attempt() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.configure("", "[verify]\nevery = [[\"no-such-program-anywhere\"]]\n");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "a failed");
}

#[test]
fn a_plan_that_vanishes_pauses_the_run_until_it_is_back() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a"])),
        "[ $task = a ] && awaits go\nsays done",
    );
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.until("the plan knows", |workspace| workspace.states().contains("a running"));
    let text = workspace.plan();
    std::fs::remove_file(workspace.root().join("plan.json")).expect("ours");
    workspace.until_log("paused");
    workspace.give("go");
    workspace.write("plan.json", text);
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn the_events_on_standard_output_are_those_of_the_log() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a"])),
        "[ $task = b ] && awaits go\nsays done",
    );
    let run = workspace.begins(&["--json"]);
    workspace.until_log("started b 1");
    run.dies();
    let log = workspace.place().log();
    let n_before = workspace.records().len() as u64;
    let mut bytes = std::fs::read(&log).expect("a log");
    bytes.extend(b"torn");
    std::fs::write(&log, bytes).expect("ours");
    workspace.give("go");
    let came = workspace.runs(&["--json"]).exits(0);
    let lines: Vec<Value> = came
        .text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}")))
        .collect();
    let seen: Vec<u64> = lines
        .iter()
        .map(|line| line["seq"].as_u64().expect("a number"))
        .collect();
    let written: Vec<u64> = workspace
        .records()
        .iter()
        .map(|record| record.seq)
        .filter(|seq| *seq > n_before)
        .collect();
    assert_eq!(seen, written);
    for (line, record) in lines.iter().zip(workspace.records().iter().skip(n_before as usize)) {
        let json: Value = serde_json::from_str(&record.to_json().expect("JSON")).expect("JSON");
        assert_eq!(line["kind"], record.event.name());
        assert_eq!(line["body"], json["body"]);
    }
}

#[test]
fn the_notify_command_runs_at_the_end() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.configure(
        "",
        &format!("[notify]\ncommand = \"touch {}\"\n", workspace.aside("told").display()),
    );
    workspace.runs(&[]).exits(0);
    assert!(workspace.aside("told").exists());
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.configure("", "[notify]\ncommand = \"exit 7\"\n");
    workspace.runs(&[]).exits(0);
}

#[test]
fn a_run_killed_at_any_time_finishes_after_resuming() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a", "c b", "d c"])),
        "echo $task >> made; says done",
    );
    for milliseconds in 1..30 {
        let run = workspace.begins(&[]);
        std::thread::sleep(Duration::from_millis(milliseconds));
        run.dies();
    }
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done, c done, d done");
    workspace.is_quiet();
    // A done task is never started again.
    let mut done = std::collections::BTreeSet::new();
    for place in workspace.places() {
        for record in planwright_run::runs::records(&planwright_run::files::DiskFiles, &place.log()).unwrap_or_default()
        {
            match record.event {
                RunEvent::AttemptStarting(event) => assert!(!done.contains(&event.task), "{}", event.task),
                RunEvent::Verified(event) if event.passed => drop(done.insert(event.task)),
                _ => {}
            }
        }
    }
}

#[test]
fn many_writers_lose_nothing() {
    let names: Vec<String> = (0..40).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let script = "case $task in t[23]?) awaits go;; esac; sleep 0.05; says done";
    let workspace = Workspace::new(("plan.json", &clido(&names)), script);
    let run = workspace.begins(&["-j", "3"]);
    workspace.until_begun(1);
    // Others skip tasks from the end, and edit words, while the run works from the beginning.
    for n in (36..40).rev() {
        workspace.does(&["skip", &format!("t{n}"), "-p", "plan.json"]).exits(0);
        let number = n - 10;
        let words = format!("Make t{number} carefully");
        workspace
            .does(&[
                "set",
                &format!("t{number}"),
                &format!("description={words}"),
                "-p",
                "plan.json",
            ])
            .exits(0);
    }
    workspace.give("go");
    run.ends().exits(0);
    let shown = workspace.states();
    for n in 0..40 {
        let state = if n < 36 { "done" } else { "skipped" };
        assert!(
            format!("{shown},").contains(&format!("t{n} {state},")),
            "t{n} in {shown}"
        );
    }
    for n in 26..30 {
        assert!(
            workspace.plan().contains(&format!("Make t{n} carefully")),
            "{}",
            workspace.plan()
        );
    }
    assert_eq!(workspace.noted("began").len(), 36);
}

#[test]
fn steps_run_in_parallel_on_request() {
    let plan = rawko(&["Sweep", "Mop"]).replace("    dependsOn: [0]\n", "");
    let workspace = Workspace::new(
        (".rawko/plans/plan-20260501-cellar.yaml", &plan),
        "echo $task >> \"$ASIDE/here\"; n=0; while [ $(wc -l < \"$ASIDE/here\") -lt 2 ] && [ $n -lt 1000 ]; do sleep 0.01; \
         n=$((n + 1)); done; [ $n -lt 1000 ] || exit 1; says done",
    );
    workspace.runs(&["-j", "2"]).exits(0);
    assert_eq!(workspace.states(), "0 done, 1 done");
    assert!(
        workspace.plan().contains("\nstatus: complete\n"),
        "{}",
        workspace.plan()
    );
}

#[test]
fn a_budget_spent_by_the_last_task_does_not_fail_the_run() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        "result '{\"planwright_result\": 1, \"outcome\": \"done\", \"cost\": {\"usd\": 5}}'",
    );
    workspace.runs(&["--max-cost", "1"]).exits(0);
    assert_eq!(workspace.ended().standing.as_str(), "finished");
}

#[test]
fn costs_before_a_kill_count() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a", "c b", "d c"])),
        "[ $task$attempt = b1 ] && awaits go\nresult '{\"planwright_result\": 1, \"outcome\": \"done\", \"cost\": {\"usd\": 1}}'",
    );
    let run = workspace.begins(&["--max-cost", "2"]);
    workspace.until_log("started b 1");
    run.dies();
    workspace.runs(&["--max-cost", "2"]).exits(1);
    assert_eq!(workspace.states(), "a done, b done, c pending, d pending");
    assert_eq!(workspace.ended().cost_usd, Some(2.0));
}

#[test]
fn control_characters_in_output_leave_a_valid_plan() {
    let plan = rawko(&["Sweep"]);
    let workspace = Workspace::new(
        (".rawko/plans/plan-20260501-cellar.yaml", &plan),
        "printf '\\033[31m: - {\\n\\ttabs\\001'; exit 0",
    );
    workspace.runs(&[]).exits(0);
    workspace
        .does(&["check", ".rawko/plans/plan-20260501-cellar.yaml"])
        .exits(0);
    assert_eq!(workspace.states(), "0 done");
}

#[test]
fn an_agent_that_marks_its_own_task_as_done_does_not_get_around_verification() {
    for attempts in [1, 2] {
        let workspace = Workspace::new(
            ("tasks.json", &aimi(1, &["1", "2 1"])),
            "n=0; while ! grep -q in_progress tasks.json && [ $n -lt 500 ]; do sleep 0.01; n=$((n + 1)); done; sed -i \
             's/in_progress/completed/' tasks.json; sleep 0.4; says done",
        );
        workspace.configure(&format!("attempts = {attempts}"), "[verify]\nevery = [\"false\"]\n");
        workspace.runs(&[]).exits(1);
        assert_eq!(workspace.states(), "US-001 failed, US-002 pending");
        assert_eq!(workspace.noted("began").len(), attempts);
    }
}

#[test]
fn a_task_marked_as_done_by_its_agent_is_done_if_verification_passes() {
    let workspace = Workspace::new(
        ("tasks.json", &aimi(1, &["1", "2 1"])),
        "n=0; while ! grep -q in_progress tasks.json && [ $n -lt 500 ]; do sleep 0.01; n=$((n + 1)); done; sed -i \
         's/in_progress/completed/' tasks.json; sleep 0.4; says done",
    );
    workspace.configure("", "[verify]\nevery = [\"true\"]\n");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "US-001 done, US-002 done");
}

#[test]
fn an_unwritable_run_log_ends_the_run_and_its_processes() {
    let names: Vec<String> = (0..60).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let workspace = Workspace::new(("plan.json", &clido(&names)), "[ $task = t0 ] && sleep 60\nsays done");
    // The size of files is limited; the signal for that must not end the process.
    let script = format!(
        "ulimit -f 24; exec {} run plan.json -j 3",
        env!("CARGO_BIN_EXE_planwright")
    );
    let begun = std::time::Instant::now();
    let output = workspace
        .command("sh", &["-c", &script])
        .output()
        .expect("there is a shell");
    assert_eq!(output.status.code(), Some(3));
    // A full disk is waited for, a limit is not.
    assert!(begun.elapsed().as_secs() < 40, "{:?}", begun.elapsed());
    workspace.is_quiet();
    let began = workspace.noted("began").len();
    assert!((2..60).contains(&began), "{began}");
    workspace.script("says done");
    workspace.runs(&["-j", "3"]).exits(0);
    assert_eq!(workspace.plan().matches("\"status\": \"done\"").count(), 60);
}

#[test]
fn a_run_continues_when_its_output_is_closed() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a", "c b"])), "sleep 0.05; says done");
    let script = format!("{} run plan.json | head -n 1", env!("CARGO_BIN_EXE_planwright"));
    workspace
        .command("sh", &["-c", &script])
        .output()
        .expect("there is a shell");
    workspace.until("it gets through", |workspace| {
        workspace.log().contains(&"run-ended finished".to_owned())
    });
    assert_eq!(workspace.states(), "a done, b done, c done");
}

#[test]
fn a_plan_by_another_path_is_the_same_plan() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "awaits go; says done");
    std::os::unix::fs::symlink("plan.json", workspace.root().join("link.json")).expect("ours");
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    let came = workspace.does(&["run", "link.json"]);
    assert_eq!(came.status, Some(3), "{}", came.text);
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.noted("began"), ["a"]);
}

#[test]
fn an_agent_that_talks_without_end_leaves_a_plan_that_can_be_read() {
    let workspace = Workspace::new(
        (".rawko/plans/plan-20260501-cellar.yaml", &rawko(&["Sweep", "Mop"])),
        "i=0; while [ $i -lt 20000 ]; do echo \"line $i: - {x: 'y'} \\\"z\\\" # tab\t\"; i=$((i + 1)); done",
    );
    workspace.runs(&[]).exits(0);
    assert!(workspace.plan().len() < 20_000, "{}", workspace.plan().len());
    assert_eq!(workspace.states(), "0 done, 1 done");
    assert!(workspace.prompt("1", 1).len() < 200_000);
}

/// Returns whether a process exists whose id is in a file outside of the workspace.
fn is_there(workspace: &Workspace, name: &str) -> bool {
    let pid = workspace.noted(name).join("");
    assert!(pid.parse::<u32>().is_ok(), "{name}: {pid:?}");
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|line| !line.contains(") Z "))
}

/// Ends it.
fn ends(workspace: &Workspace, name: &str) {
    let pid = workspace.noted(name).join("");
    workspace
        .command("kill", &["-9", &pid])
        .status()
        .expect("there is a kill");
}

#[test]
#[cfg(target_os = "linux")]
fn agents_that_hide_are_ended_with_the_run() {
    let daemon = "sh -c 'echo $$ > \"$0/pid\"; exec sleep 60' \"$ASIDE\" >/dev/null 2>&1 </dev/null";
    for hides in [
        "setsid -f env -i",
        "env -u PLANWRIGHT_RUN setsid -f",
        "setsid -f sh -c 'setsid -f env -i \"$@\"' x",
        "setsid -f sh -c 'setsid -f sh -c \"setsid -f \\\"\\$@\\\"\" x \"$@\"' x",
        "setsid sh -c '(env -i setsid \"$@\" &) &' x",
    ] {
        let script = format!("{hides} {daemon}; awaits pid; says done");
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), &script);
        workspace.runs(&[]).exits(0);
        assert!(!is_there(&workspace, "pid"), "{hides}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn older_processes_and_those_of_git_are_not_ended_with_the_agents() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut workspace = Workspace::new(("plan.json", &clido(&["a"])), "echo it > it; says done").in_git();
    // Like git's housekeeping: a process that git leaves behind.
    let folder = workspace.aside("wrapped");
    std::fs::create_dir_all(&folder).expect("ours");
    let git = folder.join("git");
    let script = format!(
        "#!/bin/sh\n[ -e \"{0}\" ] || {{ setsid -f sh -c 'echo $$ > \"{0}\"; exec sleep 60' >/dev/null 2>&1 </dev/null; \
         while [ ! -s \"{0}\" ]; do sleep 0.01; done; }}\nPATH=${{PATH#*:}} exec git \"$@\"\n",
        workspace.aside("of-git").display()
    );
    std::fs::write(&git, script).expect("ours");
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let path = std::env::var("PATH").unwrap_or_default();
    workspace.set("PATH", &format!("{}:{path}", folder.display()));
    let earlier = format!(
        "sleep 60 >/dev/null 2>&1 & echo $! > '{}'; exec '{}' run plan.json",
        workspace.aside("earlier").display(),
        env!("CARGO_BIN_EXE_planwright")
    );
    let ran = workspace.command("sh", &["-c", &earlier]).output().expect("a shell");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    for name in ["earlier", "of-git"] {
        assert!(is_there(&workspace, name), "{name}");
        ends(&workspace, name);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_whose_state_was_removed_keeps_its_agents() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "awaits go; says done");
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.until("the plan knows", |workspace| workspace.states().contains("a running"));
    std::fs::remove_dir_all(workspace.root().join(".planwright")).expect("ours");
    let second = workspace.runs(&[]).exits(1);
    second.says(&format!("being run by process {}", run.pid()));
    assert!(!workspace.left_behind().is_empty(), "its agent works on");
    workspace.give("go");
    run.ends();
    assert_eq!(workspace.noted("began")[0], "a");
    workspace.is_quiet();
}
