//! Ctrl-C once, twice and three times, and SIGTERM: nothing new starts, no process is left, and the next run resumes.

use crate::run::{RunningCommand, Workspace, aimi, clido, rawko};

/// Begins a run whose first task waits for `go`, with processes in sessions of their own.
fn busy(plan: (&str, &str)) -> (Workspace, RunningCommand) {
    let workspace = Workspace::new(plan, "setsid sleep 60 & sleep 60 & awaits go; kill $!; says done made");
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.until("the plan knows", |workspace| workspace.states().contains("running"));
    (workspace, run)
}

#[test]
fn the_first_interrupt_starts_nothing_new_and_waits_for_running_tasks() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "awaits go; says done made");
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    run.signal("INT");
    workspace.until_log("stopping signal");
    workspace.give("go");
    let came = run.ends();
    assert_eq!(workspace.states(), "a done, b pending");
    assert_eq!(workspace.noted("began"), ["a"]);
    assert_eq!(came.status, Some(130), "{}", came.text);
    assert_eq!(workspace.ended().standing.as_str(), "stopped");
    workspace.is_quiet();
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn the_second_interrupt_sends_sigterm() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a"])),
        "trap 'echo polite >> \"$ASIDE/said\"; exit 9' TERM; setsid sleep 60 & sleep 60 & while true; do sleep 0.02; done",
    );
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.until_log("started a 1");
    run.signal("INT");
    workspace.until_log("stopping signal");
    run.signal("INT");
    let came = run.ends();
    assert_eq!(came.status, Some(130), "{}", came.text);
    assert_eq!(workspace.noted("said"), ["polite"]);
    workspace.is_quiet();
    // By default it is tried again, and its dependents are not skipped.
    assert_eq!(workspace.states(), "a pending, b pending");
    assert!(
        workspace.log().contains(&"finished a 1 interrupted".to_owned()),
        "{:?}",
        workspace.log()
    );
    workspace.script("says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn the_third_interrupt_sends_sigkill() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        "trap '' TERM INT; setsid sh -c \"trap '' TERM; sleep 60\" & while true; do sleep 0.02; done",
    );
    let text = workspace
        .read("planwright.toml")
        .replace("grace = \"2s\"", "grace = \"10m\"");
    workspace.write("planwright.toml", text);
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.until_log("started a 1");
    run.signal("INT");
    workspace.until_log("stopping signal");
    run.signal("INT");
    std::thread::sleep(std::time::Duration::from_millis(50));
    run.signal("INT");
    let came = run.ends();
    assert_eq!(came.status, Some(130), "{}", came.text);
    workspace.is_quiet();
    assert_eq!(workspace.states(), "a pending");
}

#[test]
fn sigterm_ends_running_tasks_and_is_reported() {
    let (workspace, run) = busy(("plan.json", &clido(&["a", "b a"])));
    run.signal("TERM");
    let came = run.ends();
    assert_eq!(came.status, Some(143), "{}", came.text);
    workspace.is_quiet();
    assert_eq!(workspace.states(), "a pending, b pending");
    workspace.script("says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn an_interrupted_aimi_story_is_pending_again() {
    let (workspace, run) = busy(("tasks.json", &aimi(1, &["1", "2 1"])));
    run.signal("TERM");
    run.ends();
    assert_eq!(workspace.states(), "US-001 pending, US-002 pending");
    workspace.script("says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "US-001 done, US-002 done");
}

#[test]
fn an_interrupted_rawko_step_causes_no_replan() {
    let (workspace, run) = busy((".rawko/plans/plan-20260501-cellar.yaml", &rawko(&["Sweep", "Mop"])));
    run.signal("TERM");
    run.ends();
    assert_eq!(workspace.states(), "0 pending, 1 pending");
    assert!(
        workspace.plan().contains("\nstatus: in_progress\n"),
        "{}",
        workspace.plan()
    );
    workspace.script("says done");
    workspace.runs(&[]).exits(0);
    assert!(
        workspace.plan().contains("\nstatus: complete\n"),
        "{}",
        workspace.plan()
    );
}

#[test]
fn an_interrupted_task_stays_failed_on_request() {
    let workspace = Workspace::new(("tasks.json", &aimi(1, &["1"])), "awaits go");
    let run = workspace.begins(&["--on-interrupted", "fail"]);
    workspace.until_log("started US-001 1");
    run.signal("TERM");
    run.ends();
    assert_eq!(workspace.states(), "US-001 failed");
}

#[test]
fn an_interrupt_ends_the_wait_between_two_attempts() {
    for (policy, after) in [("retry", "US-001 pending"), ("fail", "US-001 failed")] {
        let workspace = Workspace::new(("tasks.json", &aimi(1, &["1"])), "echo the-compiler-is-gone; exit 1");
        workspace.configure("attempts = 3", "");
        let text = workspace.read("planwright.toml").replace("\"1ms\"", "\"1h\"");
        workspace.write("planwright.toml", text);
        let run = workspace.begins(&["--on-interrupted", policy]);
        workspace.until_log("resting US-001 1");
        run.signal("INT");
        run.ends().exits(130);
        assert_eq!(workspace.states(), after);
        if policy == "retry" {
            workspace.script("says done");
            workspace.runs(&[]).exits(0);
            assert_eq!(workspace.states(), "US-001 done");
            assert!(
                workspace.prompt("US-001", 1).contains("the-compiler-is-gone"),
                "it knows why"
            );
        }
    }
}

#[test]
fn an_interrupt_ends_verification() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.configure(
        "",
        &format!(
            "[verify]\nevery = [\"touch {}; sleep 60\"]\n",
            workspace.aside("checking").display()
        ),
    );
    let run = workspace.begins(&[]);
    workspace.until("it is verified", |workspace| workspace.aside("checking").exists());
    run.signal("TERM");
    run.ends();
    workspace.is_quiet();
    assert_eq!(workspace.states(), "a pending");
}

#[test]
fn an_interruption_leaves_the_notes_of_a_plan_alone() {
    let notes = "Use HS256, and no other.";
    let story = aimi(1, &["1"]).replace("\"notes\": \"\"", &format!("\"notes\": \"{notes}\""));
    let task = clido(&["a"]).replace("\"Make a\",", &format!("\"Make a\", \"notes\": \"{notes}\","));
    for plan in [("tasks.json", &story), ("plan.json", &task)] {
        let (workspace, run) = busy((plan.0, plan.1));
        run.signal("TERM");
        run.ends();
        assert!(workspace.plan().contains(notes), "{}", workspace.plan());
        workspace.script("says done");
        workspace.runs(&[]).exits(0);
        assert!(workspace.plan().contains(notes), "{}", workspace.plan());
    }
}
