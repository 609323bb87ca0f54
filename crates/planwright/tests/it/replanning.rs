//! Further effects of `replan` besides the version itself: answers from files, versions with their own files, and the files around them.

use crate::planning::{FAILED, WORKER, asked, configuration, n_asked, planner};
use crate::run::Workspace;

#[test]
fn replan_accepts_a_corrected_answer() {
    let workspace = planner("echo '{\"goal\": \"x\", \"tasks\": [{\"id\": \"t9\", \"description\": \"All anew\"}]}'");
    workspace.write("plan.json", FAILED);
    let came = workspace.does(&["replan", "plan.json", "--yes"]).exits(1);
    assert!(!came.text.contains("planwright import"), "{}", came.text);
    came.says("planwright replan plan.json --from .planwright/unusable/plan.txt");
    let answer = workspace.read(".planwright/unusable/plan.txt");
    let mended = answer.replace("[{", "[{\"id\": \"t1\", \"description\": \"Read it\"}, {");
    workspace.write(".planwright/unusable/plan.txt", mended);
    workspace
        .does(&[
            "replan",
            "plan.json",
            "--from",
            ".planwright/unusable/plan.txt",
            "--yes",
        ])
        .exits(0)
        .says("+ All anew");
}

/// A rawko plan of which one step is complete and one failed.
const RAWKO: &str = "id: plan-20260123-calls\ntask: Limit calls\nstatus: replanning\nversion: 1\ncurrentStepIndex: 1\ncreatedAt: \"2026-01-23T10:00:00Z\"\nupdatedAt: \"2026-01-23T10:35:00Z\"\ncreatedBy: planner\nsteps:\n  - index: 0\n    description: Read it\n    status: complete\n    output: read\n  - index: 1\n    description: Write it\n    status: failed\n    error: the disk is full\n    dependsOn: [0]\n";

/// Where it lies, and where its second version does.
const FIRST: &str = ".rawko/plans/plan-20260123-calls.yaml";
const SECOND: &str = ".rawko/plans/plan-20260123-calls-v2.yaml";

/// A planner's answer about it.
const SECOND_ANSWER: &str = "steps:\n  - description: Read it\n  - description: Write half of it\n    dependsOn: [0]\n";

/// Returns a workspace with that plan, without a planner, and with an answer in `answer.md`.
fn rawko() -> Workspace {
    let workspace = planner("exit 7");
    workspace.write(FIRST, RAWKO);
    workspace.write("answer.md", SECOND_ANSWER);
    workspace
}

#[test]
fn discoveries_of_a_version_reach_later_planners() {
    let workspace =
        planner("printf 'steps:\\n  - description: Write it again %s\\n' \"$(ls \"$ASIDE\" | grep -c asked)\"");
    workspace.write("agent.sh", "cat > /dev/null; echo x >> made; n=$(wc -l < made); printf '{\"planwright_result\": 1, \"outcome\": \"failed\", \"notes\": \"no\", \"discoveries\": [\"found out in run %s\"]}' \"$n\" > \"$PLANWRIGHT_RESULT\"");
    workspace.write("planwright.toml", configuration(&workspace, WORKER));
    let pending = RAWKO
        .replace("status: replanning", "status: draft")
        .replace("currentStepIndex: 1", "currentStepIndex: 0");
    let (head, _) = pending.split_once("  - index: 0").expect("steps");
    workspace.write(
        FIRST,
        format!("{head}  - index: 0\n    description: Write it\n    status: pending\n"),
    );
    workspace.does(&["run", FIRST, "--replan", "2"]).exits(1);
    assert_eq!(n_asked(&workspace), 2);
    let told = asked(&workspace, 1);
    assert!(
        told.contains("found out in run 1") && told.contains("found out in run 2"),
        "{told}"
    );
}

#[test]
fn a_replanned_version_is_refused_before_a_planner_starts() {
    let workspace = rawko();
    workspace
        .does(&["replan", FIRST, "--from", "answer.md", "--yes"])
        .exits(0);
    workspace
        .does(&["run", FIRST])
        .exits(1)
        .says(&format!("planwright run {SECOND}"));
    let came = workspace.does(&["replan", FIRST, "--yes"]).exits(1);
    assert!(!came.text.contains("--out"), "{}", came.text);
    came.says(&format!("planwright replan {SECOND}"));
    // The newest of any number is named.
    workspace.write("answer.md", SECOND_ANSWER.replace("half", "a third"));
    workspace
        .does(&["replan", SECOND, "--from", "answer.md", "--yes"])
        .exits(0);
    workspace
        .does(&["replan", FIRST, "--yes"])
        .exits(1)
        .says("planwright replan .rawko/plans/plan-20260123-calls-v3.yaml");
    assert_eq!(n_asked(&workspace), 0);
}

#[test]
fn a_version_is_not_proposed_any_more_where_there_is_a_newer_one() {
    let workspace = rawko();
    workspace.does(&["replan", FIRST, "--from", "answer.md"]).exits(1);
    let proposals = workspace.root().join(".planwright/proposals");
    let copy = |from: &std::path::Path, to: &std::path::Path| {
        let status = std::process::Command::new("cp").arg("-a").args([from, to]).status();
        assert!(status.is_ok_and(|status| status.success()));
    };
    copy(&proposals, &workspace.aside("kept"));
    workspace.does(&["approve", "--proposed", FIRST]).exits(0);
    // The state after a kill between the new version and the end of the proposal, before either has a history.
    copy(&workspace.aside("kept").join("."), &proposals);
    std::fs::remove_dir_all(workspace.root().join(".planwright/journal")).expect("the histories");
    workspace.does(&["proposals", FIRST]).exits(0).says("no proposals");
    let second = workspace.read(SECOND);
    workspace
        .does(&["approve", "--proposed", FIRST])
        .exits(0)
        .says("there is a newer version already");
    assert_eq!(workspace.read(SECOND), second);
    workspace.does(&["approve", "--proposed", FIRST]).exits(1);
}

#[test]
fn unreadable_files_are_reported() {
    let workspace = planner("exit 7");
    workspace.write("plan.json", FAILED);
    for (option, verb) in [
        ("--from", &["replan", "plan.json"][..]),
        ("--context", &["replan", "plan.json"]),
        ("--from", &["plan", "x", "--dialect", "clido"]),
        ("--context", &["plan", "x", "--dialect", "clido"]),
    ] {
        let came = workspace.does(&[verb, &[option, "nope"]].concat()).exits(3);
        assert!(!came.text.contains("@@"), "{}", came.text);
        came.says(&format!("the file `nope` cannot be read for {option}"));
    }
    assert_eq!(n_asked(&workspace), 0);
}

#[test]
fn an_answer_from_a_file_may_be_as_long_as_an_agents() {
    let workspace = planner("exit 7");
    let answer = "```json\n{\"goal\": \"x\", \"tasks\": [{\"id\": \"t1\", \"description\": \"Read it\"}]}\n```\n";
    let long = format!("{}\n{answer}", "So it is. ".repeat(300_000));
    assert!(long.len() > 2 << 20 && long.len() < 4 << 20);
    workspace.write("answer.md", &long);
    workspace
        .does(&["plan", "x", "--dialect", "clido", "--from", "answer.md"])
        .exits(0);
    workspace.write("answer.md", format!("{long}{long}"));
    workspace
        .does(&["plan", "x", "--dialect", "clido", "--from", "answer.md"])
        .exits(1)
        .says("4194304 bytes");
}

#[test]
fn versions_and_indexes_in_answers_of_rawko_planners_are_ignored() {
    let workspace = rawko();
    let answer = "id: mine\nstatus: complete\nversion: 9\ncurrentStepIndex: 12\nsteps:\n  - index: 4\n    description: Read it\n    status: pending\n  - index: 4\n    description: Write half of it\n    dependsOn: [0]\n";
    workspace.write("answer.md", answer);
    workspace
        .does(&["replan", FIRST, "--from", "answer.md", "--yes"])
        .exits(0);
    let text = workspace.read(SECOND);
    for part in [
        "version: 2\n",
        "index: 0\n",
        "index: 1\n",
        "currentStepIndex: 1\n",
        "dependsOn:\n      - 0\n",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    workspace.does(&["check", SECOND]).exits(0);
    workspace
        .does(&[
            "plan",
            "x",
            "--dialect",
            "rawko",
            "--from",
            "answer.md",
            "--out",
            "new.yaml",
        ])
        .exits(0);
    assert!(workspace.read("new.yaml").contains("version: 1\n"));
    // Counted from 1, they may have another meaning.
    let steps = |on: &str| format!("steps:\n  - index: 1\n    description: A\n  - index: 2\n    description: B\n{on}");
    for (on, status) in [("", 0), ("    dependsOn: [1]\n", 1)] {
        workspace.write("answer.md", steps(on));
        let out = format!("new{status}.yaml");
        workspace
            .does(&["plan", "x", "--dialect", "rawko", "--from", "answer.md", "--out", &out])
            .exits(status);
    }
}

#[test]
fn notes_on_a_new_plan_name_no_line_of_the_answer_it_was_taken_from() {
    let workspace = planner("exit 7");
    workspace.write(
        "answer.md",
        "Here it is.\n\n```json\n{\"goal\": \"x\",\n \"tasks\": [\n  {\"id\": \"t1\", \"description\": \"Read it\",\n   \"status\": \"done\"}]}\n```\n",
    );
    let came = workspace
        .does(&[
            "plan",
            "x",
            "--dialect",
            "clido",
            "--from",
            "answer.md",
            "--out",
            "p.json",
        ])
        .exits(0)
        .says("note[import-reset]: `status` of the tasks is new");
    assert!(!came.text.contains("p.json:"), "{}", came.text);
}

#[test]
fn the_pointer_moves_to_a_new_version_unless_it_names_another_plan() {
    let pointer = ".rawko/current-task.yaml";
    let other = "task: Something else\nplanId: plan-20260101-other\nstatus: in_progress\n";
    for (before, moves) in [
        (
            Some("task: Limit calls\nplanId: plan-20260123-calls\nstatus: in_progress\n"),
            true,
        ),
        (Some("task: Limit calls\nplanId: \"\"\nstatus: \"\"\n"), true),
        (Some(""), true),
        (None, true),
        (Some(other), false),
    ] {
        let workspace = rawko();
        if let Some(before) = before {
            workspace.write(pointer, before);
        }
        workspace
            .does(&["replan", FIRST, "--from", "answer.md", "--yes"])
            .exits(0);
        let after = workspace.read(pointer);
        assert_eq!(after.contains("plan-20260123-calls-v2"), moves, "{before:?}: {after}");
        assert_eq!(after == other, !moves, "{after}");
    }
}

#[test]
fn a_rawko_plan_that_a_run_is_working_on_is_not_replanned() {
    let workspace = rawko();
    workspace.write("agent.sh", "cat > /dev/null; while [ ! -e go ]; do sleep 0.01; done");
    workspace.write("planwright.toml", configuration(&workspace, WORKER));
    let run = workspace.begin(&["run", "--retry-failed", FIRST]);
    workspace.until_log("started 1");
    workspace
        .does(&["replan", FIRST, "--from", "answer.md", "--yes"])
        .exits(1)
        .says("is working on it")
        .says("planwright stop");
    assert!(!workspace.exists(SECOND));
    workspace.write("go", "");
    run.ends().exits(0);
}
