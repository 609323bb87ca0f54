//! Users who work on a task, a lease or the plan of an active run.

use crate::run::{Workspace, clido};

#[test]
fn a_user_outside_the_run_marks_a_task_as_done() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b", "c b"])),
        "[ $task = a ] && awaits go; says done",
    );
    let run = workspace.begins(&["-j", "1"]);
    workspace.until_begun(1);
    workspace.until("the plan knows", |workspace| workspace.states().contains("a running"));
    workspace
        .does(&["done", "b", "-p", "plan.json", "--note", "made by hand"])
        .exits(1);
    workspace
        .does(&[
            "done",
            "b",
            "-p",
            "plan.json",
            "--take-over",
            "--note",
            "made by hand",
            "--by",
            "ada",
        ])
        .exits(0);
    workspace.until_log("edited");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.noted("began"), ["a", "c"]);
    assert_eq!(workspace.states(), "a done, b done, c done");
    workspace.does(&["history", "plan.json"]).exits(0).says("made by hand");
}

#[test]
fn a_run_that_continues_leaves_tasks_alone_that_a_person_took_over() {
    for taken in [
        &[&[
            "start",
            "a",
            "--by",
            "bob",
            "--lease",
            "1h",
            "--take-over",
            "--note",
            "mine",
        ][..]][..],
        &[&["reset", "a"][..], &["start", "a", "--by", "bob"]],
    ] {
        let workspace = Workspace::new(
            ("plan.json", &clido(&["a", "b a", "c"])),
            "[ $task = a ] && sleep 20; says done",
        );
        let going = workspace.begins(&["-j", "1"]);
        workspace.until("the plan has it", |workspace| {
            workspace.states().starts_with("a running")
        });
        going.dies();
        for words in taken {
            workspace.does(&[*words, &["-p", "plan.json"]].concat()).exits(0);
        }
        workspace.script("says done");
        let dry = workspace.runs(&["--dry-run"]).text;
        assert!(dry.contains("bob"), "{dry}");
        let came = workspace.runs(&[]);
        assert!(came.text.contains("is held by bob"), "{}", came.text);
        assert_eq!(workspace.states(), "a running, b pending, c done", "{}", came.text);
        assert_eq!(
            workspace
                .noted("began")
                .iter()
                .filter(|task| task.as_str() == "a")
                .count(),
            1
        );
        let claim = workspace.shown()["tasks"][0]["holder"]["claim"].to_string();
        workspace
            .does(&[
                "done",
                "a",
                "-p",
                "plan.json",
                "--by",
                "bob",
                "--claim",
                &claim,
                "--unverified",
            ])
            .exits(0);
        workspace.runs(&[]).exits(0);
        assert_eq!(workspace.states(), "a done, b done, c done");
    }
}

#[test]
fn a_run_takes_tasks_whose_lease_is_over() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "says done");
    let lease = ["start", "a", "-p", "plan.json", "--by", "bob", "--lease", "1s"];
    workspace.does(&lease).exits(0);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    workspace
        .does(&["show", "plan.json"])
        .exits(0)
        .says("may be claimed again");
    workspace
        .runs(&[])
        .exits(0)
        .says("that lease is over: the run takes it");
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_plan_is_neither_deleted_nor_archived_while_a_run_works_on_it() {
    let place = ".clido/plans/plan-a1b2c3d4.json";
    let workspace = Workspace::new(
        (place, &clido(&["a"])),
        "until [ -e $ASIDE/go ]; do sleep 0.05; done; says done",
    );
    let going = workspace.begins(&[]);
    workspace.until_begun(1);
    for verb in [
        &["delete", place, "--yes"][..],
        &["archive", place],
        &["delete", place, "--dry-run"],
        &["clido", "plan", "delete", "plan-a1b2c3d4"],
    ] {
        let came = workspace.does(verb).exits(1);
        assert!(came.text.contains("a run works on"), "{}", came.text);
    }
    workspace.give("go");
    going.ends().exits(0);
    workspace.does(&["delete", place, "--yes"]).exits(0);
}
