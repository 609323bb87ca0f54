//! Tasks in git worktrees of their own: what is merged, what is kept, and what is never lost.

use planwright_run::runs::RunEvent;

use crate::plans;
use crate::run::{Workspace, aimi, clido};

/// Returns a repository whose plan has tasks that may run side by side.
fn repository(tasks: &[&str], script: &str) -> Workspace {
    let workspace = Workspace::new(("plan.json", &clido(tasks)), script);
    workspace.write("shared.txt", "one\ntwo\nthree\n");
    workspace.in_git()
}

/// Returns the files that the last commit of a branch has.
fn files(workspace: &Workspace, branch: &str) -> Vec<String> {
    let listed = workspace.git(&["ls-tree", "-r", "--name-only", branch]);
    listed.lines().map(str::to_owned).collect()
}

/// Returns branches other than the main one.
fn branches(workspace: &Workspace) -> Vec<String> {
    let listed = workspace.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    listed
        .lines()
        .filter(|branch| *branch != "main")
        .map(str::to_owned)
        .collect()
}

/// Returns how many worktrees there are beside the main one.
fn n_trees(workspace: &Workspace) -> usize {
    workspace
        .git(&["worktree", "list", "--porcelain"])
        .matches("worktree ")
        .count()
        - 1
}

/// Returns the isolation that the log speaks of.
fn isolation(workspace: &Workspace) -> String {
    let found = workspace.records().into_iter().find_map(|record| match record.event {
        RunEvent::Begun(begun) => begun.isolation,
        _ => None,
    });
    found.expect("a beginning").to_string()
}

#[test]
fn tasks_work_in_worktrees_and_are_merged() {
    let workspace = repository(
        &["a", "b", "c a b"],
        "pwd >> \"$ASIDE/where\"; ls > listing-$task; echo $task > $task.txt; says done",
    );
    workspace.runs(&[]).exits(0);
    assert_eq!(isolation(&workspace), "worktrees");
    assert_eq!(workspace.states(), "a done, b done, c done");
    for name in ["a.txt", "b.txt", "c.txt"] {
        assert!(workspace.exists(name), "{name}");
    }
    let listing = workspace.read("listing-c");
    assert!(
        listing.contains("a.txt\n") && listing.contains("b.txt\n"),
        "c begins with what it depends on: {listing}"
    );
    let root = workspace.root().canonicalize().expect("a folder");
    assert!(
        workspace
            .noted("where")
            .iter()
            .all(|folder| *folder != root.to_string_lossy())
    );
    assert_eq!(
        (branches(&workspace), n_trees(&workspace)),
        (vec![], 0),
        "what is merged is cleaned up"
    );
    let log = workspace.git(&["log", "--format=%s", "main"]);
    assert!(log.contains("Make a") && log.contains("Make b"), "{log}");
    // The plan file is not part of anybody's work.
    assert_eq!(
        workspace.git(&["show", "main:plan.json"]) + "\n",
        clido(&["a", "b", "c a b"])
    );
    assert!(
        !files(&workspace, "main")
            .iter()
            .any(|path| path.starts_with(".planwright"))
    );
    assert_eq!(workspace.git(&["status", "--porcelain"]), " M plan.json");
}

#[test]
fn tasks_in_worktrees_run_side_by_side() {
    let workspace = repository(
        &["a", "b"],
        "echo $task >> \"$ASIDE/here\"; n=0; while [ $(wc -l < \"$ASIDE/here\") -lt 2 ] && [ $n -lt 1000 ]; do sleep 0.01; n=$((n+1)); done; [ $n -lt 1000 ] || exit 1; echo $task > $task.txt; says done",
    );
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_conflict_fails_the_task_and_keeps_all_there_is() {
    let workspace = repository(
        &["a", "b"],
        "echo $task >> \"$ASIDE/here\"; n=0; while [ $(wc -l < \"$ASIDE/here\") -lt 2 ] && [ $n -lt 1000 ]; do sleep 0.01; n=$((n+1)); done; [ $task = a ] || awaits a-is-in; echo $task > shared.txt; says done",
    );
    let run = workspace.begins(&[]);
    workspace.until_log("merged a 1 true");
    let tip = workspace.git(&["rev-parse", "main"]);
    workspace.give("a-is-in");
    run.ends().exits(1);
    assert_eq!(workspace.states(), "a done, b failed");
    assert_eq!(workspace.git(&["rev-parse", "main"]), tip, "the target is as it was");
    assert_eq!(workspace.read("shared.txt"), "a\n");
    let kept = branches(&workspace);
    assert_eq!((kept.len(), n_trees(&workspace)), (1, 1));
    assert_eq!(workspace.git(&["show", &format!("{}:shared.txt", kept[0])]), "b");
    let notes = workspace.json()["tasks"][1]["notes"]
        .as_str()
        .expect("notes")
        .to_owned();
    assert!(
        notes.contains(&kept[0]) && notes.contains("worktrees/") && notes.contains("shared.txt"),
        "{notes}"
    );
    // It can be tried again, on what is there by now.
    workspace.script("echo $task >> shared.txt; says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.read("shared.txt"), "a\nb\n");
    assert!(branches(&workspace).contains(&kept[0]), "what was kept is still there");
}

#[test]
fn a_merge_whose_verification_fails_leaves_the_target_as_it_was() {
    // Each is fine for itself, both together are not.
    let workspace = repository(
        &["a", "b"],
        "echo $task >> \"$ASIDE/here\"; n=0; while [ $(wc -l < \"$ASIDE/here\") -lt 2 ] && [ $n -lt 1000 ]; do sleep 0.01; n=$((n+1)); done; [ $task = a ] || awaits a-is-in; echo $task > only-one-$task; says done",
    );
    workspace.configure("", "[verify]\nevery = [\"test $(ls only-one-* | wc -l) -le 1\"]\n");
    workspace.commit("Configure");
    let run = workspace.begins(&[]);
    workspace.until_log("merged a 1 true");
    let tip = workspace.git(&["rev-parse", "main"]);
    workspace.give("a-is-in");
    run.ends().exits(1);
    assert_eq!(workspace.states(), "a done, b failed");
    assert_eq!(workspace.git(&["rev-parse", "main"]), tip);
    assert!(workspace.exists("only-one-a") && !workspace.exists("only-one-b"));
    assert_eq!(branches(&workspace).len(), 1);
    let log = workspace.log().join("\n");
    assert!(
        log.contains("verified b 1 true\n")
            && log.contains("verified b 1 false\n")
            && log.contains("merged b 1 false\n"),
        "{log}"
    );
}

#[test]
fn uncommitted_work_in_the_target_is_refused_unless_the_user_says_so() {
    let workspace = repository(
        &["a", "b"],
        "cat shared.txt >> \"$ASIDE/seen\"; echo $task > $task.txt; says done",
    );
    workspace.write("shared.txt", "not committed\n");
    workspace
        .runs(&["--isolation", "worktrees"])
        .exits(1)
        .says("shared.txt")
        .says("--allow-dirty");
    assert_eq!(workspace.noted("began"), [""; 0]);
    workspace.runs(&["--isolation", "worktrees", "--allow-dirty"]).exits(0);
    assert_eq!(
        workspace.read("shared.txt"),
        "not committed\n",
        "what was not committed is untouched"
    );
    assert!(!workspace.noted("seen").contains(&"not committed".to_owned()));
    assert!(workspace.exists("a.txt") && workspace.exists("b.txt"));
}

#[test]
fn uncommitted_work_has_tasks_share_the_folder_one_at_a_time_by_default() {
    let workspace = repository(&["a", "b"], "pwd >> \"$ASIDE/where\"; says done");
    workspace.write("new.txt", "not committed\n");
    workspace.runs(&[]).exits(0);
    assert_eq!(isolation(&workspace), "shared");
    assert!(workspace.remarks().contains("new.txt"), "{}", workspace.remarks());
}

#[test]
fn work_that_would_overwrite_uncommitted_work_is_not_merged_over_it() {
    let workspace = repository(&["a"], "echo mine > shared.txt; echo x > fresh.txt; says done");
    workspace.write("shared.txt", "not committed\n");
    workspace.write("fresh.txt", "not committed either\n");
    workspace.runs(&["--isolation", "worktrees", "--allow-dirty"]).exits(1);
    assert_eq!(workspace.read("shared.txt"), "not committed\n");
    assert_eq!(workspace.read("fresh.txt"), "not committed either\n");
    assert_eq!(workspace.states(), "a failed");
    let kept = branches(&workspace);
    assert_eq!(workspace.git(&["show", &format!("{}:shared.txt", kept[0])]), "mine");
}

#[test]
fn the_plan_file_is_no_dirt_and_a_copy_of_it_is_not_merged() {
    let workspace = repository(&["a", "b"], "echo '{}' > plan.json; echo $task > $task.txt; says done");
    // As after an earlier run, or an edit.
    workspace.edit("Make b", "Make b well");
    workspace.runs(&["--isolation", "worktrees"]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
    assert!(
        workspace.remarks().contains("plan.json"),
        "it is reported: {}",
        workspace.remarks()
    );
    assert!(workspace.plan().contains("Make b well"));
    assert_eq!(workspace.git(&["show", "main:plan.json"]) + "\n", clido(&["a", "b"]));
    assert!(workspace.exists("a.txt") && workspace.exists("b.txt"));
}

#[test]
fn agents_may_commit_by_themselves() {
    let workspace = repository(
        &["a", "b"],
        "echo one > $task-1.txt; git add -A; git commit -q -m \"$task by itself\"; echo two > $task-2.txt; says done",
    );
    workspace.runs(&[]).exits(0);
    for name in ["a-1.txt", "a-2.txt", "b-1.txt", "b-2.txt"] {
        assert!(workspace.exists(name), "{name}");
    }
    let log = workspace.git(&["log", "--format=%s", "main"]);
    assert!(log.contains("a by itself") && log.contains("b by itself"), "{log}");
    assert_eq!((branches(&workspace), n_trees(&workspace)), (vec![], 0));
}

#[test]
fn agents_that_change_nothing_are_done_too() {
    let workspace = repository(&["a", "b"], "says done");
    let tip = workspace.git(&["rev-parse", "main"]);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.git(&["rev-parse", "main"]), tip);
    assert_eq!((branches(&workspace), n_trees(&workspace)), (vec![], 0));
}

#[test]
fn what_a_failed_task_left_uncommitted_is_kept_on_its_branch() {
    let workspace = repository(
        &["a", "b"],
        "echo half > half-$task.txt; [ $task = a ] && exit 1\nsays done",
    );
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "a failed, b done");
    assert!(!workspace.exists("half-a.txt"));
    let kept = branches(&workspace);
    assert_eq!(workspace.git(&["show", &format!("{}:half-a.txt", kept[0])]), "half");
}

#[test]
fn a_further_attempt_goes_on_with_what_the_last_one_left() {
    let workspace = repository(
        &["a", "b"],
        "echo $attempt >> tries-$task.txt; [ $attempt = 1 ] && exit 1\nsays done",
    );
    workspace.configure("attempts = 2", "");
    workspace.commit("Configure");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.read("tries-a.txt"), "1\n2\n");
}

#[test]
fn a_killed_run_loses_no_work_in_worktrees() {
    let workspace = repository(&["a", "b"], "echo draft > draft-$task.txt; awaits go; says done");
    let run = workspace.begins(&[]);
    workspace.until_begun(2);
    let draft = |workspace: &Workspace| {
        let folder = workspace.place().worktrees();
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let has = |path: std::path::PathBuf| path.join("draft-a.txt").exists() || path.join("draft-b.txt").exists();
        entries.filter(|entry| has(entry.path())).count()
    };
    workspace.until("drafts", |workspace| draft(workspace) == 2);
    run.dies();
    workspace.script("echo final > final-$task.txt; says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
    assert!(workspace.exists("final-a.txt") && workspace.exists("final-b.txt"));
    let kept_files = draft(&workspace);
    let kept_branches = branches(&workspace)
        .iter()
        .filter(|branch| files(&workspace, branch).iter().any(|path| path.starts_with("draft-")))
        .count();
    let merged = usize::from(workspace.exists("draft-a.txt")) + usize::from(workspace.exists("draft-b.txt"));
    assert!(
        kept_files + kept_branches + merged >= 2,
        "{kept_files} {kept_branches} {merged}"
    );
    workspace.is_quiet();
}

#[test]
fn an_interrupted_run_keeps_its_worktrees() {
    let workspace = repository(
        &["a", "b"],
        "echo draft > draft-$task.txt; touch \"$ASIDE/wrote-$task\"; awaits go; says done",
    );
    let run = workspace.begins(&[]);
    workspace.until("drafts", |workspace| {
        workspace.aside("wrote-a").exists() && workspace.aside("wrote-b").exists()
    });
    run.signal("TERM");
    run.ends().exits(143);
    assert_eq!(workspace.states(), "a pending, b pending");
    workspace.is_quiet();
    let kept = branches(&workspace);
    assert_eq!(kept.len(), 2, "{kept:?}");
    for branch in &kept {
        assert!(
            files(&workspace, branch).iter().any(|path| path.starts_with("draft-")),
            "{branch}"
        );
    }
    workspace.script("echo final > final-$task.txt; says done");
    workspace.runs(&[]).exits(0);
    assert!(workspace.exists("final-a.txt") && workspace.exists("final-b.txt"));
}

/// Kills a run when git has begun, or has done, a command with certain words, and runs again.
fn killed_at(words: &str, is_after: bool) -> Workspace {
    let mut workspace = repository(&["a"], "echo $task >> $task.txt; says done");
    let folder = workspace.aside("slow");
    std::fs::create_dir_all(&folder).expect("ours");
    let git = folder.join("git");
    let wait = format!(
        "case \" $* \" in *\" {words} \"*) touch {0}/slow-is-here; n=0; while [ ! -e {0}/go ] && [ $n -lt 3000 ]; do sleep 0.01; \
         n=$((n + 1)); done;; esac",
        workspace.aside("").display()
    );
    let real = "(PATH=${PATH#*:}; git \"$@\")\nstatus=$?";
    let script = match is_after {
        true => format!("#!/bin/sh\n{real}\n{wait}\nexit $status\n"),
        false => format!("#!/bin/sh\n{wait}\n{real}\nexit $status\n"),
    };
    std::fs::write(&git, script).expect("ours");
    std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    let path = std::env::var("PATH").unwrap_or_default();
    workspace.set("PATH", &format!("{}:{path}", folder.display()));
    let run = workspace.begins(&["--isolation", "worktrees"]);
    workspace.until(words, |workspace| workspace.aside("slow-is-here").exists());
    run.dies();
    workspace.give("go");
    workspace.runs(&["--isolation", "worktrees"]).exits(0);
    assert_eq!(workspace.states(), "a done", "{words}");
    workspace
}

#[test]
fn a_run_that_is_killed_around_a_merge_does_not_do_the_task_again() {
    for (words, is_after) in [
        ("--ff-only", false),
        ("--ff-only", true),
        ("worktree remove", false),
        ("worktree remove", true),
    ] {
        let workspace = killed_at(words, is_after);
        assert_eq!(workspace.noted("began"), ["a"], "{words}");
        assert_eq!(workspace.read("a.txt"), "a\n", "{words}");
    }
}

#[test]
fn a_run_may_be_killed_while_git_works() {
    for (words, is_after) in [("worktree add", false), ("worktree add", true), ("--ff-only", false)] {
        let workspace = killed_at(words, is_after);
        assert!(workspace.read("a.txt").starts_with("a\n"), "{words}");
        assert_eq!(workspace.git(&["status", "--porcelain"]), " M plan.json", "{words}");
    }
}

#[test]
fn a_task_that_is_removed_from_the_plan_while_it_waits_to_be_merged_is_let_go() {
    // a is merged as it is; b has to be verified again on top of it, which takes its time; c waits behind b.
    let workspace = repository(
        &["a", "b", "c"],
        "echo $task >> \"$ASIDE/here\"; n=0; while [ $(wc -l < \"$ASIDE/here\") -lt 3 ] && [ $n -lt 1000 ]; do sleep 0.01; n=$((n+1)); done; [ $task = a ] || awaits a-is-in; [ $task = c ] && awaits b-is-merging; echo $task > $task.txt; says done",
    );
    let aside = workspace.aside("").display().to_string();
    workspace.configure(
        "",
        &format!(
            "[verify]\nevery = [\"if [ -e a.txt ] && [ -e b.txt ] && [ ! -e c.txt ]; then touch {aside}/merging-b; while [ ! -e {aside}/merge ]; do sleep 0.01; done; fi\"]\n"
        ),
    );
    workspace.commit("Configure");
    let run = workspace.begins(&["-j", "3"]);
    workspace.until_log("merged a 1 true");
    workspace.give("a-is-in");
    workspace.until("b is verified again", |workspace| workspace.aside("merging-b").exists());
    workspace.give("b-is-merging");
    workspace.until_log("verified c 1 true");
    // Now c waits for b. It goes from the plan.
    let text = workspace.plan();
    let lines: Vec<&str> = text
        .split_inclusive('\n')
        .filter(|line| !line.contains("\"id\": \"c\""))
        .collect();
    workspace.write("plan.json", lines.concat().replace("},\n  ]", "}\n  ]"));
    workspace.until_log("edited");
    workspace.give("merge");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, b done");
    assert!(
        workspace.exists("b.txt") && !workspace.exists("c.txt"),
        "what is gone from the plan is not merged"
    );
    let kept = branches(&workspace);
    assert!(
        kept.iter()
            .any(|branch| files(&workspace, branch).contains(&"c.txt".to_owned())),
        "and not lost: {kept:?}"
    );
}

#[test]
fn a_branch_that_others_move_meanwhile_is_merged_with() {
    let workspace = repository(
        &["a", "b"],
        "[ $task = a ] && awaits go; echo $task > $task.txt; says done",
    );
    let run = workspace.begins(&[]);
    workspace.until_log("merged b 1 true");
    workspace.write("theirs.txt", "theirs\n");
    workspace.git(&["add", "theirs.txt"]);
    workspace.git(&["commit", "-q", "-m", "Theirs", "--", "theirs.txt"]);
    workspace.give("go");
    run.ends().exits(0);
    for name in ["a.txt", "b.txt", "theirs.txt"] {
        assert!(workspace.exists(name), "{name}");
        assert!(files(&workspace, "main").contains(&name.to_owned()), "{name}");
    }
}

#[test]
fn without_git_tasks_share_the_folder() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "echo $task > $task.txt; says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(isolation(&workspace), "shared");
    assert!(workspace.exists("a.txt"));
    workspace.runs(&["--isolation", "worktrees", "--only", "a"]);
    let other = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    other
        .runs(&["--isolation", "worktrees"])
        .exits(1)
        .says("no git repository")
        .says("--isolation shared");
}

#[test]
fn a_folder_that_git_ignores_has_tasks_share_it() {
    let workspace = repository(&["a", "b"], "echo $task > $task.txt; says done");
    workspace.write(".gitignore", "*\n");
    workspace.git(&["rm", "-r", "-q", "--cached", "."]);
    workspace.git(&["commit", "-q", "-m", "Ignore all"]);
    workspace.runs(&[]).exits(0);
    assert_eq!(isolation(&workspace), "shared");
    assert!(workspace.exists("a.txt") && workspace.exists("b.txt"));
}

#[test]
fn a_detached_head_has_tasks_share_the_folder() {
    let workspace = repository(&["a", "b"], "echo $task > $task.txt; says done");
    workspace.git(&["checkout", "-q", "--detach"]);
    workspace.runs(&[]).exits(0);
    assert_eq!(isolation(&workspace), "shared");
    assert!(workspace.exists("a.txt"));
    workspace.runs(&["--isolation", "worktrees"]);
}

#[test]
fn a_repository_without_a_commit_has_tasks_share_the_folder() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "echo $task > $task.txt; says done");
    workspace.git(&["init", "-q", "-b", "main"]);
    workspace.runs(&[]).exits(0);
    assert_eq!(isolation(&workspace), "shared");
}

#[test]
fn one_slot_needs_no_worktrees() {
    let workspace = repository(&["a", "b"], "pwd >> \"$ASIDE/where\"; says done");
    workspace.runs(&["-j", "1"]).exits(0);
    assert_eq!(isolation(&workspace), "shared");
    let root = workspace.root().canonicalize().expect("a folder");
    assert_eq!(
        workspace.noted("where"),
        [root.to_string_lossy(), root.to_string_lossy()]
    );
}

#[test]
fn names_of_tasks_that_git_would_misread_make_safe_branches() {
    let plan = clido(&["a"]).replace("\"id\": \"a\"", "\"id\": \"--force ..@{/~^:?*[\\\\ lock.lock\"");
    let workspace = Workspace::new(("plan.json", &plan), "echo x > x.txt; says done").in_git();
    workspace.runs(&["--isolation", "worktrees"]).exits(0);
    assert!(workspace.exists("x.txt"));
}

#[test]
fn a_plan_for_another_branch_is_warned_about_or_switched_to() {
    let plan = aimi(1, &["1"]).replace("\"branchName\": \"main\"", "\"branchName\": \"feat/try\"");
    let workspace = Workspace::new(
        ("tasks.json", &plan),
        "git branch --show-current >> \"$ASIDE/branch\"; exit 1",
    )
    .in_git();
    workspace.runs(&[]).exits(1);
    assert!(workspace.remarks().contains("feat/try"), "{}", workspace.remarks());
    assert_eq!(workspace.noted("branch"), ["main"]);
    workspace.git(&["checkout", "-q", "--", "tasks.json"]);
    workspace.script("git branch --show-current >> \"$ASIDE/branch\"; says done");
    workspace.runs(&["--switch", "--retry-failed"]).exits(0);
    assert_eq!(workspace.noted("branch"), ["main", "feat/try"]);
    assert_eq!(workspace.git(&["branch", "--show-current"]), "feat/try");
}

/// Returns a repository with a task pack that fits its source.
fn pack(script: &str) -> Workspace {
    let workspace = Workspace::new(("docs/tasks/photos.md", ""), script);
    workspace.write("docs/plans/photos.md", plans::SOURCE_PLAN);
    let hash = workspace.does(&["hash", "docs/plans/photos.md"]).exits(0).text;
    workspace.write("docs/tasks/photos.md", plans::task_pack(hash.trim()));
    workspace.in_git()
}

#[test]
fn files_that_the_plan_does_not_name_are_reported() {
    let script = "mkdir -p src; case $task in T001) echo x > src/card.rs; echo x > stray.txt;; T002) echo x > src/copy.rs;; T003) echo x > src/show.rs;; esac; says done";
    for isolation in ["shared", "worktrees"] {
        let workspace = pack(script);
        workspace.runs(&["-j", "1", "--isolation", isolation]).exits(0);
        let drift: Vec<String> = workspace
            .log()
            .into_iter()
            .filter(|line| line.starts_with("drift"))
            .collect();
        assert_eq!(drift, ["drift T001 stray.txt"], "{isolation}");
        let workspace = pack(script);
        workspace
            .runs(&["-j", "1", "--isolation", isolation, "--strict-files"])
            .exits(1);
        assert!(workspace.states().contains("T001 failed"), "{}", workspace.states());
    }
}

#[test]
fn in_a_repository_it_is_seen_which_files_a_task_touched() {
    let plan = crate::run::rawko(&["Sweep"]);
    let workspace = Workspace::new(
        (".rawko/plans/plan-20260501-cellar.yaml", &plan),
        "echo x > floor.txt; says done",
    )
    .in_git();
    workspace.runs(&[]).exits(0);
    let text = workspace.plan();
    assert!(text.contains("floor.txt"), "{text}");
    assert!(!text.contains("current-task.yaml"), "{text}");
}

#[test]
fn a_workspace_below_the_top_of_a_repository_works_too() {
    let workspace = Workspace::new(
        ("sub/plan.json", &clido(&["a", "b"])),
        "echo $task > $task.txt; says done",
    );
    std::fs::rename(
        workspace.root().join("planwright.toml"),
        workspace.root().join("sub/planwright.toml"),
    )
    .expect("ours");
    std::fs::remove_dir_all(workspace.root().join(".planwright")).expect("ours");
    let workspace = workspace.in_git();
    workspace.runs(&["--isolation", "worktrees"]).exits(0);
    assert!(workspace.exists("sub/a.txt") && workspace.exists("sub/b.txt"));
    assert!(!workspace.exists("a.txt"));
}

#[test]
fn a_run_that_git_keeps_from_making_worktrees_is_stopped_by_its_environment() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "says done").in_git();
    workspace.write(".git/worktrees", "somebody's");
    workspace
        .runs(&["-j", "2", "--isolation", "worktrees"])
        .exits(3)
        .says("the worktree of `a` cannot be made")
        .says("2 left");
    std::fs::remove_file(workspace.root().join(".git/worktrees")).expect("ours");
    workspace.runs(&["-j", "2", "--isolation", "worktrees"]).exits(0);
}

#[test]
fn a_repository_without_a_commit_has_no_worktrees() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.git(&["init", "-q", "-b", "main"]);
    workspace.runs(&[]).exits(0);
    let came = workspace.does(&["worktrees", "--json"]).exits(0);
    assert!(came.text.contains("\"worktrees\": []"), "{}", came.text);
}

#[test]
fn a_run_with_worktrees_may_be_killed_after_any_record() {
    for n_records in 1..40 {
        let workspace = repository(&["a", "b"], "echo $task >> $task.txt; says done");
        let mut run = workspace.begins(&[]);
        while !run.is_over() && workspace.records().len() < n_records {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let is_over = run.is_over();
        let proven: Vec<String> = workspace.log();
        if !is_over {
            run.dies();
        }
        let came = workspace.runs(&[]);
        assert_eq!(came.status, Some(0), "killed after {n_records}:\n{}", came.text);
        assert_eq!(workspace.states(), "a done, b done", "killed after {n_records}");
        let began = workspace.noted("began");
        for task in ["a", "b"] {
            assert_eq!(
                workspace.read(&format!("{task}.txt")),
                format!("{task}\n"),
                "killed after {n_records}"
            );
            if proven.contains(&format!("verified {task} 1 true")) {
                assert_eq!(
                    began.iter().filter(|begun| *begun == task).count(),
                    1,
                    "killed after {n_records}:\n{}\n{}",
                    proven.join("\n"),
                    came.text
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
