//! Runs that are killed or interrupted while git works: the next run continues, and lands nothing twice.

use std::os::unix::fs::PermissionsExt as _;

use planwright_run::runs::RunEvent;

use crate::run::Workspace;
use crate::run_landing::{BRANCH, landed, repository, verified_trees_landed};

/// Kills a run when git has started, or ended, a command with certain words, and runs again.
pub(crate) fn killed_at(words: &str, is_after: bool) -> Workspace {
    let mut workspace = repository(&["a"], "echo $task >> $task.txt; says done");
    workspace.configure("", "[verify]\nevery = [\"true\"]\n");
    workspace.commit("Configure");
    let folder = workspace.aside("slow");
    std::fs::create_dir_all(&folder).expect("ours");
    let git = folder.join("git");
    let wait = format!(
        "case \" $* \" in *\" {words} \"*) touch {0}/slow-is-here; n=0; while [ ! -e {0}/go ] && [ $n -lt 9000 ]; do sleep 0.01; \
         n=$((n + 1)); done;; esac",
        workspace.aside("").display()
    );
    let real = "(PATH=${PATH#*:}; git \"$@\")\nstatus=$?";
    let script = match is_after {
        true => format!("#!/bin/sh\n{real}\n{wait}\nexit $status\n"),
        false => format!("#!/bin/sh\n{wait}\n{real}\nexit $status\n"),
    };
    std::fs::write(&git, script).expect("ours");
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let path = std::env::var("PATH").unwrap_or_default();
    workspace.set("PATH", &format!("{}:{path}", folder.display()));
    let run = workspace.begins(&[]);
    workspace.until(words, |workspace| workspace.aside("slow-is-here").exists());
    run.dies();
    workspace.give("go");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done", "{words}");
    assert_eq!(workspace.git(&["worktree", "list"]).lines().count(), 1, "{words}");
    verified_trees_landed(&workspace);
    workspace
}

#[test]
fn a_run_that_is_killed_while_work_lands_does_not_do_it_again() {
    for (words, is_after) in [
        ("update-ref --no-deref --create-reflog -m", false),
        ("update-ref --no-deref --create-reflog -m", true),
        ("worktree remove", false),
        ("worktree remove", true),
    ] {
        let workspace = killed_at(words, is_after);
        assert_eq!(landed(&workspace, "a.txt"), "a", "{words}");
    }
}

#[test]
fn a_run_that_is_killed_while_git_works_is_continued() {
    for (words, is_after) in [
        ("init --quiet", true),
        ("reset --quiet --hard", false),
        ("worktree add", false),
        ("worktree add", true),
        ("add --all", true),
        ("fetch --quiet", false),
        ("fetch --quiet", true),
        ("read-tree --reset -u", false),
    ] {
        let workspace = killed_at(words, is_after);
        assert!(landed(&workspace, "a.txt").starts_with('a'), "{words}");
    }
}

#[test]
fn a_run_may_be_killed_after_any_record() {
    for n_records in 1..40 {
        let workspace = repository(&["a", "b"], "echo $task >> $task.txt; says done");
        let mut run = workspace.begins(&[]);
        while !run.is_over() && workspace.records().len() < n_records {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let is_over = run.is_over();
        let known: Vec<String> = workspace.log();
        if !is_over {
            run.dies();
        }
        let came = workspace.runs(&[]);
        assert_eq!(came.status, Some(0), "killed after {n_records}:\n{}", came.text);
        assert_eq!(workspace.states(), "a done, b done", "killed after {n_records}");
        let began = workspace.noted("began");
        for task in ["a", "b"] {
            let candidate = workspace.records().iter().any(|record| {
                matches!(&record.event, RunEvent::Candidate(candidate) if candidate.task == task && candidate.attempt == 1)
            });
            let text = landed(&workspace, &format!("{task}.txt"));
            assert!(text == task || !candidate, "killed after {n_records}: {text}");
            if known.contains(&format!("verified {task} 1 true")) {
                assert_eq!(
                    began.iter().filter(|begun| *begun == task).count(),
                    1,
                    "killed after {n_records}:\n{}",
                    known.join("\n")
                );
            }
        }
        assert_eq!(
            workspace.git(&["status", "--porcelain"]),
            " M plan.json",
            "killed after {n_records}"
        );
        if is_over {
            break;
        }
    }
}

#[test]
fn an_interrupted_run_keeps_its_checkouts_for_the_next_attempt() {
    let workspace = repository(
        &["a", "b"],
        "echo draft > draft-$task.txt; touch \"$ASIDE/wrote-$task\"; awaits go; says done",
    );
    let run = workspace.begins(&[]);
    workspace.until("drafts", |workspace| {
        workspace.aside("wrote-a").exists() && workspace.aside("wrote-b").exists()
    });
    run.dies();
    workspace.script("cat draft-$task.txt > final-$task.txt; says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(landed(&workspace, "final-a.txt"), "draft");
    assert_eq!(landed(&workspace, "final-b.txt"), "draft");
    workspace.is_quiet();
}

#[test]
fn a_task_removed_from_the_plan_before_landing_is_dropped() {
    let workspace = repository(
        &["a", "c"],
        "[ $task = c ] && awaits a-is-verified; echo $task > $task.txt; says done",
    );
    let aside = workspace.aside("").display().to_string();
    workspace.configure(
        "",
        &format!(
            "[verify]\nevery = [\"touch {aside}/a-is-verified; while [ ! -e {aside}/land ]; do sleep 0.01; done\"]\n"
        ),
    );
    workspace.commit("Configure");
    let run = workspace.begins(&["-j", "2"]);
    workspace.until("c is a candidate", |workspace| {
        workspace
            .records()
            .iter()
            .any(|record| matches!(&record.event, RunEvent::Candidate(candidate) if candidate.task == "c"))
    });
    let text = workspace.plan();
    let lines: Vec<&str> = text
        .split_inclusive('\n')
        .filter(|line| !line.contains("\"id\": \"c\""))
        .collect();
    workspace.write("plan.json", lines.concat().replace("},\n  ]", "}\n  ]"));
    workspace.until_log("edited");
    workspace.give("land");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done");
    assert_eq!(workspace.git(&["diff", "--name-only", "main", BRANCH]), "a.txt");
    let kept = workspace.git(&["for-each-ref", "--format=%(refname)", "refs/planwright/candidates"]);
    assert!(
        kept.lines()
            .any(|name| workspace.git(&["ls-tree", "--name-only", name]).contains("c.txt")),
        "and not lost: {kept}"
    );
}
