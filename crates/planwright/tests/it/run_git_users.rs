//! Users who continue to work in a repository during a run, and their settings of git: nothing is lost, and no unverified work lands.

use std::os::unix::fs::PermissionsExt as _;

use crate::run::{Workspace, clido};
use crate::run_git_agents::run_agent;
use crate::run_landing::{BRANCH, files, landed, of_the_user, repository, verified_trees_landed};

#[test]
fn a_run_keeps_the_branch_and_the_base_that_it_began_with() {
    let workspace = repository(
        &["a", "b a"],
        "echo $task > $task.txt; [ $task = b ] && awaits go; says done",
    );
    let run = workspace.begins(&[]);
    workspace.until_log("started b");
    run.dies();
    workspace.git(&["checkout", "-q", "-b", "feature"]);
    workspace.write("feature.txt", "of the feature\n");
    workspace.git(&["add", "feature.txt"]);
    workspace.git(&["commit", "-q", "-m", "Feature", "--", "feature.txt"]);
    workspace.write("shared.txt", "uncommitted\n");
    workspace.git(&["checkout", "-q", "--detach"]);
    workspace.give("go");
    workspace.runs(&["-j", "1"]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
    let found = files(&workspace, BRANCH);
    assert!(found.contains(&"a.txt".to_owned()) && found.contains(&"b.txt".to_owned()));
    assert!(!found.contains(&"feature.txt".to_owned()));
    assert_eq!(workspace.noted("began"), ["a", "b", "b"], "a was not done again");
    assert_eq!(workspace.read("shared.txt"), "uncommitted\n");
}

#[test]
fn a_run_keeps_the_configuration_that_it_began_with() {
    for (options, status, states) in [
        (&[][..], 1, "a done, b failed"),
        (&["--accept-config"], 0, "a done, b done"),
    ] {
        let workspace = repository(
            &["a", "b a"],
            "echo $task > $task.txt; [ $task = b ] && awaits go; says done",
        );
        workspace.configure("attempts = 1", "[verify]\nevery = [\"test ! -e b.txt\"]\n");
        workspace.commit("Configure");
        let run = workspace.begins(&[]);
        workspace.until_log("started b");
        run.dies();
        // As an agent might, to make its work pass.
        workspace.configure("attempts = 1", "[verify]\nevery = [\"true\"]\n");
        workspace.give("go");
        let came = workspace.runs(options).exits(status);
        assert_eq!(workspace.states(), states);
        assert_eq!(
            came.text.contains("changed since: verify.every"),
            status == 1,
            "{}",
            came.text
        );
    }
}

#[test]
fn a_budget_holds_over_a_signal_and_may_be_raised() {
    let workspace = repository(
        &["a", "b", "c"],
        "echo $task > $task.txt; [ $task = b ] && awaits go; says done",
    );
    workspace.configure("slots = 1\nbudget = { attempts = 2 }", "");
    workspace.commit("Configure");
    let run = workspace.begins(&[]);
    workspace.until_log("started b");
    run.signal("TERM");
    workspace.until_log("stopping");
    workspace.give("go");
    run.ends().exits(143);
    workspace.runs(&[]).exits(1).says("budget");
    assert_eq!(workspace.noted("began").iter().filter(|task| *task == "c").count(), 0);
    workspace.runs(&["--max-attempts", "10"]).exits(0);
}

#[test]
fn a_branch_that_the_user_deletes_or_checks_out_pauses_the_run() {
    let workspace = repository(
        &["a", "b a"],
        "[ $task = b ] && awaits go; echo $task > $task.txt; says done",
    );
    let run = workspace.begins(&[]);
    workspace.until_log("started b");
    let tip = workspace.git(&["rev-parse", BRANCH]);
    workspace.git(&["update-ref", "-d", &format!("refs/heads/{BRANCH}")]);
    workspace.give("go");
    workspace.until_log("paused finished work cannot land");
    workspace.git(&["update-ref", &format!("refs/heads/{BRANCH}"), &tip]);
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, b done");

    let workspace = repository(
        &["a", "b a"],
        "[ $task = b ] && awaits go; echo $task > $task.txt; says done",
    );
    let run = workspace.begins(&[]);
    workspace.until_log("started b");
    let refused = workspace
        .command("git", &["switch", "-q", BRANCH])
        .output()
        .expect("git");
    assert!(!refused.status.success(), "git refuses while a run holds it");
    workspace.git(&["switch", "-q", "--ignore-other-worktrees", BRANCH]);
    let before = of_the_user(&workspace);
    workspace.give("go");
    workspace.until_log("paused finished work cannot land");
    assert_eq!(of_the_user(&workspace), before);
    workspace.git(&["switch", "-q", "main"]);
    run.ends().exits(0);
    assert_eq!(
        files(&workspace, BRANCH)
            .iter()
            .filter(|file| file.ends_with("b.txt"))
            .count(),
        1
    );
}

#[test]
fn commits_that_the_user_removes_from_the_branch_stay_removed() {
    let workspace = repository(
        &["a", "b"],
        "[ $task = b ] && awaits go; echo $task > $task.txt; says done",
    );
    workspace.configure("", "[verify]\nevery = [\"ls\"]\n");
    workspace.commit("Configure");
    let run = workspace.begins(&[]);
    workspace.until_log("merged a 1 true");
    let main = workspace.git(&["rev-parse", "main"]);
    workspace.git(&["update-ref", &format!("refs/heads/{BRANCH}"), &main]);
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.git(&["diff", "--name-only", "main", BRANCH]), "b.txt");
    verified_trees_landed(&workspace);
}

#[test]
fn locks_that_the_user_holds_or_a_power_cut_left_fail_no_task() {
    let workspace = repository(&["a", "b a"], "echo $task > $task.txt; says done");
    for lock in [
        ".git/index.lock",
        ".git/HEAD.lock",
        ".git/config.lock",
        ".git/refs/heads/main.lock",
    ] {
        workspace.write(lock, "");
    }
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");

    // A real obstacle is waited for.
    let workspace = repository(&["a"], "echo $task > $task.txt; awaits go; says done");
    let run = workspace.begins(&[]);
    workspace.until_log("started a");
    let lock = format!(".git/refs/heads/{BRANCH}.lock");
    workspace.write(&lock, "");
    workspace.give("go");
    workspace.until_log("paused finished work cannot land");
    std::fs::remove_file(workspace.root().join(&lock)).expect("ours");
    run.ends().exits(0);
    assert_eq!(landed(&workspace, "a.txt"), "a");
}

#[test]
fn a_user_who_commits_amends_and_cleans_up_meanwhile_disturbs_nothing() {
    let workspace = repository(
        &["a", "b a", "c b"],
        "awaits go-$task; echo $task > $task.txt; says done",
    );
    workspace.configure("", "[verify]\nevery = [\"test -e shared.txt\"]\n");
    workspace.commit("Configure");
    let run = workspace.begins(&[]);
    workspace.until_log("started a");
    workspace.write("theirs.txt", "one\n");
    workspace.git(&["add", "theirs.txt"]);
    workspace.git(&["commit", "-q", "-m", "Theirs", "--", "theirs.txt"]);
    workspace.give("go-a");
    workspace.until_log("started b");
    workspace.git(&["rm", "-q", "theirs.txt"]);
    workspace.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "Nothing"]);
    workspace.git(&["reflog", "expire", "--expire=now", "--all"]);
    workspace.git(&["gc", "-q", "--prune=now"]);
    workspace.give("go-b");
    workspace.until_log("started c");
    // Git refuses a rebase while a tracked file changes, and the plan is one.
    workspace.until("the plan knows of c", |workspace| {
        workspace.states() == "a done, b done, c running"
    });
    workspace.write("shared.txt", "changed\n");
    workspace.git(&["stash", "-q", "--", "shared.txt"]);
    workspace.git(&[
        "-c",
        "rebase.autoStash=true",
        "rebase",
        "-q",
        "--force-rebase",
        "HEAD~1",
    ]);
    workspace.give("go-c");
    run.ends().exits(0);
    assert_eq!(
        workspace.git(&["diff", "--name-only", &format!("{BRANCH}~3"), BRANCH]),
        "a.txt\nb.txt\nc.txt"
    );
    assert!(!workspace.exists("theirs.txt"));
    workspace.git(&["fsck"]);
    verified_trees_landed(&workspace);
}

#[test]
fn hooks_of_the_user_do_not_run() {
    let workspace = repository(&["a"], "echo x > x.txt; says done");
    for name in [
        "reference-transaction",
        "post-checkout",
        "post-commit",
        "pre-commit",
        "post-merge",
        "commit-msg",
    ] {
        let hook = workspace.root().join(".git/hooks").join(name);
        std::fs::create_dir_all(hook.parent().expect("a folder")).expect("ours");
        std::fs::write(
            &hook,
            format!(
                "#!/bin/sh\necho {name} >> {}\nexit 1\n",
                workspace.aside("hooks").display()
            ),
        )
        .expect("ours");
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("ours");
    }
    run_agent(&workspace, 0);
    assert_eq!(workspace.noted("hooks"), [""; 0]);
}

const WAITS: &str = "echo $task > $task.txt; awaits go; says done";

#[test]
fn a_user_who_switches_branches_keeps_finished_work_waiting() {
    let workspace = repository(&["a"], WAITS);
    let run = workspace.begins(&["--branch", "current"]);
    workspace.until_log("started a");
    // The other branch is at the same commit.
    workspace.git(&["switch", "-q", "-c", "other"]);
    workspace.give("go");
    workspace
        .until_log("paused finished work cannot land on `main` yet, and is kept: the branch `main` is not checked out");
    assert!(!workspace.exists("a.txt"));
    let n_announced = workspace
        .log()
        .iter()
        .filter(|line| line.starts_with("landing"))
        .count();
    assert_eq!(n_announced, 1, "it waits, and does not try as fast as it can");
    workspace.git(&["switch", "-q", "main"]);
    run.ends().exits(0);
    assert_eq!(workspace.read("a.txt"), "a\n");
    assert_eq!(workspace.git(&["diff", "--name-only", "other", "main"]), "a.txt");
}

#[test]
fn a_locked_branch_changes_no_file_of_the_user() {
    let workspace = repository(&["a"], WAITS);
    let run = workspace.begins(&["--branch", "current"]);
    workspace.until_log("started a");
    let lock = workspace.root().join(".git/refs/heads/main.lock");
    workspace.write(".git/refs/heads/main.lock", "");
    let before = workspace.git(&["status", "--porcelain"]);
    workspace.give("go");
    workspace.until_log("paused finished work cannot land");
    assert_eq!(workspace.git(&["status", "--porcelain"]), before);
    assert!(!workspace.exists("a.txt"));
    std::fs::remove_file(lock).expect("ours");
    run.ends().exits(0);
    assert_eq!(workspace.read("a.txt"), "a\n");
}

#[test]
fn settings_for_merges_and_templates_of_the_user_do_not_reach_a_run() {
    let mut workspace = repository(&["a"], "echo $task > $task.txt; says done");
    let hooks = workspace.aside("template/hooks");
    std::fs::create_dir_all(&hooks).expect("a folder");
    for name in ["post-checkout", "reference-transaction", "post-index-change"] {
        let hook = hooks.join(name);
        let noted = workspace.aside("hooked");
        std::fs::write(
            &hook,
            format!("#!/bin/sh\necho {name} >> {}\nexit 1\n", noted.display()),
        )
        .expect("a hook");
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("ours");
    }
    let template = workspace.aside("template").display().to_string();
    workspace.set("GIT_TEMPLATE_DIR", &template);
    workspace.git(&["config", "branch.main.mergeOptions", "--no-ff --no-commit"]);
    workspace.configure("", "[verify]\nevery = [\"test -e a.txt\"]\n");
    workspace.commit("Configure");
    workspace.runs(&["--branch", "current"]).exits(0);
    assert_eq!(workspace.read("a.txt"), "a\n");
    assert_eq!(workspace.git(&["log", "-1", "--format=%s %P"]).split(' ').count(), 4);
    assert!(!workspace.aside("hooked").exists());
}

/// Runs a task, and makes the verification of `land` change the workspace.
fn while_it_lands(act: &str) -> Workspace {
    let workspace = repository(&["a"], "echo $task > $task.txt; says done");
    let act = format!(
        "[verify]\nevery = ['test ! -e \"{0}\" || {{ cd \"{1}\"; {act}; }}']\n",
        workspace.aside("landing").display(),
        workspace.root().display()
    );
    workspace.configure("", &act);
    workspace.commit("Configure");
    workspace.runs(&[]).exits(0);
    std::fs::write(workspace.aside("landing"), "").expect("a note");
    workspace
}

#[test]
fn land_moves_no_other_branch_than_the_one_that_it_began_with() {
    let workspace = while_it_lands("git switch -q -c other");
    let before = workspace.git(&["rev-parse", "main"]);
    let came = workspace.does(&["land"]).exits(1);
    let came = came.says("`main` is no longer checked out");
    came.says("`git switch main`, and land again");
    assert_eq!(
        workspace.git(&["rev-parse", "main", "other"]),
        format!("{before}\n{before}")
    );
    assert!(!workspace.exists("a.txt"));
}

#[test]
fn one_process_lands_at_a_time() {
    let inner = format!(
        "{} land > .planwright/inner 2>&1; true",
        env!("CARGO_BIN_EXE_planwright")
    );
    let workspace = while_it_lands(&inner);
    workspace
        .does(&["land"])
        .exits(0)
        .says("landed 1 task of `planwright/plan-a1b2c3d4` into `main`");
    let inner = workspace.read(".planwright/inner");
    assert!(inner.contains("another `planwright land` is at work"), "{inner}");
    assert_eq!(workspace.read("a.txt"), "a\n");
}

#[test]
fn a_repository_that_git_cannot_read_is_not_worked_in_directly() {
    let workspace = repository(&["a"], "echo $task > $task.txt; says done");
    workspace.write(".git/config", "[core\n");
    workspace
        .runs(&[])
        .exits(1)
        .says("the repository cannot be used")
        .says("--isolation shared");
    assert!(!workspace.exists("a.txt"));
    workspace.write(".git/config", "");
    workspace.write(".git/HEAD", "nothing\n");
    workspace.runs(&[]).exits(1).says("git does not accept as a repository");
    assert!(!workspace.exists("a.txt"));
    workspace.runs(&["--isolation", "shared"]).exits(0);
    assert_eq!(workspace.read("a.txt"), "a\n");
}

#[test]
fn two_plans_of_a_workspace_land_on_the_checked_out_branch() {
    let workspace = repository(&["a"], "echo x > $task-$$.txt; awaits go; says done");
    workspace.write("second.json", workspace.plan().replace("a1b2c3d4", "b1b2c3d4"));
    workspace.commit("A second plan");
    let first = workspace.begins(&["--branch", "current"]);
    workspace.until_log("started a");
    let second = workspace.begin(&["run", "second.json", "--branch", "current"]);
    workspace.until("both", |workspace| workspace.noted("began").len() == 2);
    workspace.give("go");
    first.ends().exits(0);
    second.ends().exits(0);
    assert_eq!(
        workspace.git(&["log", "--oneline", "--grep", "Make a"]).lines().count(),
        2
    );
}

#[test]
fn land_names_its_obstacles() {
    let workspace = while_it_lands("echo mine >> shared.txt");
    workspace
        .does(&["land"])
        .exits(1)
        .says("commit, stash or finish that, and land again");
    assert!(workspace.read("shared.txt").ends_with("mine\n"));
    workspace.git(&["checkout", "-q", "--", "shared.txt"]);
    workspace.git(&["switch", "-q", "--ignore-other-worktrees", BRANCH]);
    workspace
        .does(&["land"])
        .exits(1)
        .says(&format!("`{BRANCH}` is checked out itself"));
}

#[test]
fn the_post_merge_hook_runs_on_request_and_can_be_interrupted() {
    let workspace = repository(&["a", "b a"], "echo $task > $task.txt; says done");
    let hook = workspace.root().join(".git/hooks/post-merge");
    std::fs::create_dir_all(hook.parent().expect("a folder")).expect("ours");
    let write_hook = |script: &str| {
        std::fs::write(&hook, format!("#!/bin/sh\n{script}\n")).expect("ours");
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("ours");
    };
    let note = workspace.aside("hook").display().to_string();
    write_hook(&format!("echo \"$1 $(ls a.txt)\" >> {note}"));
    workspace.configure("hooks = true", "");
    workspace.commit("Configure");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("hook"), [""; 0], "no file of the user's has changed");
    workspace.does(&["land"]).exits(0);
    assert_eq!(workspace.noted("hook"), ["0 a.txt"]);
    // One that fails changes nothing.
    write_hook("exit 7");
    workspace.write("plan.json", clido(&["c"]));
    workspace
        .runs(&["--branch", "current"])
        .exits(0)
        .says("the work has landed, and your post-merge hook failed: it ended with status 7");
    // One that takes long is ended by Ctrl-C, and so are the processes that it started.
    write_hook(&format!("echo slow >> {note}; sleep 300 & sleep 300"));
    workspace.write("plan.json", clido(&["d"]));
    workspace.runs(&[]).exits(0);
    let landing = workspace.begin(&["land"]);
    workspace.until("the hook runs", |workspace| workspace.noted("hook").len() == 2);
    landing.signal("INT");
    landing
        .ends()
        .exits(0)
        .says("your post-merge hook failed: it was ended")
        .says("landed 1 task");
}

#[test]
fn commits_of_planwright_are_not_signed_and_ask_for_no_key() {
    let workspace = repository(
        &["a"],
        "echo x > x.txt; git commit -q --allow-empty -m mine || exit 1; says done",
    );
    for setting in ["commit.gpgSign", "tag.gpgSign", "merge.verifySignatures"] {
        workspace.git(&["config", setting, "true"]);
    }
    workspace.git(&["config", "gpg.program", "false"]);
    workspace.runs(&[]).exits(0);
    workspace.write("theirs.txt", "theirs\n");
    workspace.git(&["add", "theirs.txt"]);
    workspace.git(&["commit", "-q", "--no-gpg-sign", "-m", "Theirs", "--", "theirs.txt"]);
    workspace.does(&["land"]).exits(0).says("landed 1 task");
    assert!(workspace.exists("x.txt"));
}

#[test]
fn new_objects_of_lfs_are_in_the_users_store_when_the_branch_moves() {
    if !std::process::Command::new("git")
        .args(["lfs", "version"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        eprintln!("skipped: git-lfs is not installed");
        return;
    }
    let workspace = repository(
        &["a"],
        "head -c 3000 /dev/zero | tr '\\0' n > new.bin; grep -q ooo old.bin || exit 1; says done",
    );
    workspace.git(&["lfs", "install", "--local", "--skip-repo"]);
    workspace.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    workspace.write("old.bin", "o".repeat(2000));
    workspace.configure(
        "",
        "[verify]\nevery = [\"grep -q nnn new.bin && grep -q ooo old.bin\"]\n",
    );
    workspace.commit("Large files");
    workspace.runs(&[]).exits(0);
    let pointer = landed(&workspace, "new.bin");
    assert!(pointer.contains("size 3000"), "{pointer}");
    workspace.git(&["lfs", "fsck", "--objects", BRANCH]);
    workspace.does(&["land"]).exits(0);
    assert_eq!(workspace.read("new.bin"), "n".repeat(3000));
    assert_eq!(
        workspace.git(&["status", "--porcelain", "--", "new.bin", "old.bin"]),
        ""
    );
}

#[test]
fn a_folder_without_committed_files_is_shared_and_doctor_says_so() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    for args in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "First"]] {
        let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
        let mut git = std::process::Command::new("git");
        let ended = git.args(identity).args(args).current_dir(workspace.root()).status();
        assert!(ended.expect("git").success());
    }
    let why = "no file of this folder is committed yet";
    workspace
        .does(&["doctor"])
        .says(&format!("{why}: tasks share this folder"));
    workspace.runs(&[]).exits(0).says(why);
}

#[test]
fn doctor_reports_a_merge_in_a_linked_worktree_and_a_bisection() {
    let workspace = repository(&["a"], "says done");
    let linked = workspace.aside("linked");
    let folder = linked.display().to_string();
    workspace.git(&["worktree", "add", "-q", "-b", "side", &folder]);
    for (place, file) in [(folder.as_str(), "theirs.txt"), (".", "ours.txt")] {
        std::fs::write(workspace.root().join(place).join(file), "x\n").expect("ours");
        workspace.git(&["-C", place, "add", file]);
        workspace.git(&["-C", place, "commit", "-q", "-m", "One", "--", file]);
    }
    workspace.git(&["-C", &folder, "merge", "-q", "--no-commit", "--no-ff", "main"]);
    let mut doctor = workspace.command(env!("CARGO_BIN_EXE_planwright"), &["doctor"]);
    let output = doctor.current_dir(&linked).output().expect("the binary");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("git has an unfinished operation: a merge"), "{text}");
    let quiet = workspace.does(&["doctor"]);
    assert!(!quiet.text.contains("unfinished"), "{}", quiet.text);
    workspace.git(&["bisect", "start"]);
    workspace
        .does(&["doctor"])
        .says("git has an unfinished operation: a bisection");
}
