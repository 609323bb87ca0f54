//! Agents and commands that replace folders of planwright, leave processes behind, or pretend that a conflict is resolved; copies of a
//! workspace; several plans on one branch.

use std::path::{Path, PathBuf};

use planwright_run::runs::RunEvent;

use crate::run::{Workspace, clido};
use crate::run_landing::{files, landed, repository, verified_trees_landed};

const BRANCH: &str = "planwright/plan-a1b2c3d4";

/// Makes verification run a script with the task's name.
fn verified_by(workspace: &Workspace, run: &str, script: &str) {
    let path = workspace.aside("verify.sh");
    std::fs::write(&path, script).expect("ours");
    let rules = format!("[verify]\nevery = [[\"sh\", \"{}\"]]\n", path.display());
    workspace.configure(run, &rules);
    workspace.commit("Configure");
}

fn precious(workspace: &Workspace) -> PathBuf {
    let folder = workspace.aside("precious");
    std::fs::create_dir_all(folder.join("sub")).expect("ours");
    std::fs::write(folder.join("thesis.txt"), "years\n").expect("ours");
    std::fs::write(folder.join("sub/s"), "more\n").expect("ours");
    folder
}

#[test]
fn a_foreign_folder_in_place_of_a_slot_is_never_read() {
    for (trick, is_link) in [
        ("mv \"$d\" \"$d.x\"; ln -s \"$PRECIOUS\" \"$d\"", true),
        ("mv \"$d\" \"$d.x\"; mv \"$PRECIOUS\" \"$d\"", false),
        ("rm -rf \"$d\"; echo file > \"$d\"", true),
        (
            "s=$(dirname \"$d\"); mv \"$s\" \"$s.x\"; ln -s \"$PRECIOUS\" \"$s\"",
            true,
        ),
        (
            "s=$(dirname \"$d\"); rm -rf \"$s/git\"; ln -s \"$PRECIOUS\" \"$s/git\"",
            true,
        ),
    ] {
        let workspace = repository(&["a", "b a"], "echo $task > $task.txt; says done");
        let folder = precious(&workspace);
        let script = format!(
            "PRECIOUS='{}'; d=$PWD; test -e $PLANWRIGHT_TASK.txt || exit 1; [ $PLANWRIGHT_TASK = b ] || {{ cd /; {trick}; }}",
            folder.display()
        );
        verified_by(&workspace, "", &script);
        workspace.runs(&[]).exits(0);
        verified_trees_landed(&workspace);
        assert_eq!(landed(&workspace, "b.txt"), "b", "{trick}");
        let kept = match is_link {
            true => folder,
            // It was moved away under another name.
            false => find(&workspace.aside("home/.local/state/planwright"), "tree.foreign-1").expect("put aside"),
        };
        assert_eq!(
            std::fs::read_to_string(kept.join("thesis.txt")).expect("kept"),
            "years\n",
            "{trick}"
        );
        assert_eq!(std::fs::read_dir(&kept).expect("kept").count(), 2, "{trick}");
        workspace.git(&["fsck", "--connectivity-only"]);
    }
}

/// Returns the folder with a name below another one.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    let found = folders.iter().find(|path| path.ends_with(name)).cloned();
    found.or_else(|| folders.iter().find_map(|folder| find(folder, name)))
}

#[test]
fn nothing_that_a_verification_leaves_running_reaches_the_next_one() {
    let workspace = repository(
        &["a", "b a"],
        "echo $task > $task.txt; [ $task = a ] || echo BROKEN > shared.txt; says done",
    );
    verified_by(
        &workspace,
        "",
        "[ $PLANWRIGHT_TASK = b ] || setsid sh -c 'while sleep 0.02; do echo one > shared.txt; done' > /dev/null 2>&1 &\nsleep 0.3; grep -q \
         '^one' shared.txt",
    );
    workspace.runs(&[]).exits(1);
    assert_eq!(landed(&workspace, "shared.txt"), "one\ntwo\nthree");
    workspace.is_quiet();
}

#[test]
fn nothing_that_an_attempt_leaves_running_reaches_the_next_one() {
    let workspace = repository(
        &["a"],
        "[ $PLANWRIGHT_ATTEMPT != 1 ] || { (setsid sh -c 'while sleep 0.01; do echo garbage > out.txt; done' > /dev/null 2>&1 &); sleep 0.1; \
         exit 1; }; echo right > out.txt; sleep 0.3; says done",
    );
    workspace.configure("attempts = 2", "");
    workspace.commit("Configure");
    workspace.runs(&[]).exits(0);
    assert_eq!(landed(&workspace, "out.txt"), "right");
    workspace.is_quiet();
}

#[test]
fn a_conflict_that_is_not_resolved_never_lands_however_it_is_hidden() {
    for (base, change, resolve) in [
        (
            "",
            "sed -i.b s/two/$task/ shared.txt; rm *.b",
            "mv shared.txt other.txt",
        ),
        (
            "",
            "sed -i.b s/two/$task/ shared.txt; rm *.b",
            "sed -i.b '/^<<<<<<</d' shared.txt; rm *.b",
        ),
        (
            "",
            "sed -i.b s/two/$task/ shared.txt; rm *.b",
            "sed -i.b '/^<<<<<<</d;/^>>>>>>>/d' shared.txt; rm *.b",
        ),
        (
            "*.txt conflict-marker-size=10\n",
            "sed -i.b s/two/$task/ shared.txt; rm *.b",
            "true",
        ),
        ("", "printf \"\\0$task\" > bin", "true"),
        (
            "",
            "[ $task = a ] && { mkdir thing; echo x > thing/x; } || echo x > thing",
            "true",
        ),
        ("", "[ $task = a ] && rm shared.txt || echo more >> shared.txt", "true"),
    ] {
        let script = format!(
            "touch \"$ASIDE/at-$task\"; [ $PLANWRIGHT_ATTEMPT = 1 ] || {{ {resolve}; says done; exit; }}; awaits at-a; awaits at-b; {change}; says done"
        );
        let workspace = repository(&["a", "b"], &script);
        workspace.write(".gitattributes", base);
        workspace.configure("resolutions = 1", "");
        workspace.commit("Attributes");
        let came = workspace.runs(&["-j", "2"]).exits(1);
        assert!(came.text.contains("conflict"), "{resolve}: {}", came.text);
        assert!(came.text.contains("its files: "), "{resolve}: {}", came.text);
        let all = files(&workspace, BRANCH);
        assert!(!all.iter().any(|file| file.contains('~')), "{resolve}: {all:?}");
        let marks = workspace
            .command("git", &["grep", "-E", "^(<<<|===|>>>)", BRANCH])
            .output();
        assert!(marks.expect("git").stdout.is_empty(), "{resolve}");
    }
}

#[test]
fn files_added_to_a_copied_folder_land_and_copied_files_do_not() {
    let workspace = repository(
        &["a", "b a"],
        "test -e config/local.yml || exit 1; echo $task > config/$task.yml; echo changed > config/local.yml; printf '' > .gitignore; says done",
    );
    workspace.write(".gitignore", "config/secret.yml\n");
    workspace.configure(
        "copy = [\"config\"]",
        "[verify]\nevery = [\"test -e config/local.yml && test -e config/secret.yml && test -e config/a.yml\"]\n",
    );
    workspace.commit("Configure");
    workspace.write("config/local.yml", "mine\n");
    workspace.write("config/secret.yml", "mine\n");
    workspace.runs(&[]).exits(0);
    let all = files(&workspace, BRANCH);
    let below: Vec<&String> = all.iter().filter(|file| file.starts_with("config/")).collect();
    assert_eq!(below, ["config/a.yml", "config/b.yml"]);
    assert_eq!(workspace.read("config/local.yml"), "mine\n");
}

#[test]
fn the_next_attempt_does_not_work_in_a_git_directory_that_leads_elsewhere() {
    for trick in [
        "rm -rf .git; echo \"gitdir: $USER_GIT\" > .git",
        "rm -rf .git; ln -s \"$USER_GIT\" .git",
        "git config core.worktree \"$USER_GIT/..\"",
        "echo \"$USER_GIT\" > .git/commondir",
        "rm -rf .git",
    ] {
        let workspace = repository(&["a"], "true");
        let script = format!(
            "USER_GIT='{}'; [ $PLANWRIGHT_ATTEMPT = 1 ] && {{ {trick}; exit 1; }}; echo w > w.txt; git add -A; git commit -q -m mine; says done",
            workspace.root().join(".git").display()
        );
        workspace.script(&script);
        workspace.configure("attempts = 2", "");
        workspace.commit("Configure");
        let before = workspace.git(&["log", "--format=%H", "main"]);
        workspace.runs(&[]).exits(0);
        assert_eq!(workspace.git(&["log", "--format=%H", "main"]), before, "{trick}");
        assert_eq!(workspace.git(&["status", "--porcelain", "--", "w.txt"]), "", "{trick}");
        assert_eq!(landed(&workspace, "w.txt"), "w", "{trick}");
        assert_eq!(
            workspace.git(&["log", "--all", "--grep=^mine$", "--format=%s"]),
            "",
            "{trick}"
        );
    }
}

#[test]
fn a_copied_workspace_does_not_continue_runs_of_the_original() {
    let workspace = repository(
        &["a"],
        "echo \"$PLANWRIGHT_PLAN\" >> part.txt; touch \"$ASIDE/here\"; awaits go; says done",
    );
    let run = workspace.begins(&[]);
    workspace.until("the agent", |workspace| workspace.aside("here").exists());
    let copy = workspace.aside("copy");
    // Files of an active run may vanish while they are copied.
    let is_copied = (0..20).any(|_| {
        std::fs::remove_dir_all(&copy).ok();
        let mut cp = workspace.command("cp", &["-a", ".", &copy.display().to_string()]);
        cp.status().expect("cp").success()
    });
    assert!(is_copied);
    let mut other = workspace.command(env!("CARGO_BIN_EXE_planwright"), &["run", "plan.json"]);
    let other = other
        .current_dir(&copy)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary");
    workspace.until("another agent", |workspace| workspace.noted("began").len() == 2);
    workspace.give("go");
    run.ends().exits(0);
    let other = other.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&other.stdout).into_owned();
    assert!(
        other.status.success() && text.contains("this folder is a copy of"),
        "{text}"
    );
    let made = landed(&workspace, "part.txt");
    assert_eq!(made.lines().count(), 1, "{made}");
    let git = workspace
        .command("git", &["show", &format!("{BRANCH}:part.txt")])
        .current_dir(&copy)
        .output();
    let made = String::from_utf8_lossy(&git.expect("git").stdout).into_owned();
    assert!(made.lines().count() == 1 && made.contains("/copy/"), "{made}");
}

#[test]
fn a_plan_that_is_a_link_out_of_the_workspace_is_refused() {
    let workspace = repository(&["a"], "says done");
    let elsewhere = workspace.aside("plans");
    std::fs::create_dir_all(&elsewhere).expect("ours");
    std::fs::rename(workspace.root().join("plan.json"), elsewhere.join("plan.json")).expect("ours");
    std::os::unix::fs::symlink(elsewhere.join("plan.json"), workspace.root().join("plan.json")).expect("ours");
    workspace.runs(&[]).exits(1).says("which is not in this workspace");
    assert_eq!(workspace.noted("began"), [""; 0]);
}

#[test]
fn plans_that_begin_together_share_a_branch_that_is_held_until_the_last_one_ends() {
    let workspace = repository(
        &["a"],
        "case $PLANWRIGHT_PLAN in *plan.json) awaits go;; esac; echo x > $(basename $PLANWRIGHT_PLAN).txt; says done",
    );
    let plans: Vec<String> = (1..=3).map(|n| format!("other-{n}.json")).collect();
    for plan in &plans {
        workspace.write(plan, clido(&["a"]).replace("plan-a1b2c3d4", plan));
    }
    workspace.commit("Plans");
    let slow = workspace.begins(&["--branch", "shared"]);
    let others: Vec<_> = plans
        .iter()
        .map(|plan| workspace.begin(&["run", plan, "--branch", "shared"]))
        .collect();
    for other in others {
        other.ends().exits(0);
    }
    let held = workspace.git(&["worktree", "list", "--porcelain"]);
    assert!(held.contains("branch refs/heads/shared"), "{held}");
    workspace.give("go");
    slow.ends().exits(0);
    let held = workspace.git(&["worktree", "list", "--porcelain"]);
    assert!(!held.contains("branch refs/heads/shared"), "{held}");
    assert_eq!(
        files(&workspace, "shared")
            .iter()
            .filter(|file| file.ends_with(".json.txt"))
            .count(),
        4
    );
}

#[test]
fn work_that_the_user_removed_from_the_branch_is_named_at_the_end() {
    let workspace = repository(
        &["a", "b a"],
        "[ $task = a ] || awaits go; echo $task > $task.txt; says done",
    );
    let run = workspace.begins(&[]);
    workspace.until_begun(2);
    workspace.git(&["update-ref", &format!("refs/heads/{BRANCH}"), "main"]);
    workspace.give("go");
    run.ends()
        .exits(0)
        .says("`a` landed on `planwright/plan-a1b2c3d4` and is no longer there");
    assert_eq!(
        files(&workspace, BRANCH).iter().filter(|file| *file == "a.txt").count(),
        0
    );
}

#[test]
fn pathspec_like_names_land_and_emptied_checkouts_fail() {
    let workspace = repository(
        &["a"],
        "echo x > ':!odd'; echo x > ':(exclude)*'; echo x > ':colon'; says done",
    );
    workspace.runs(&[]).exits(0);
    let all = files(&workspace, BRANCH);
    for name in [":!odd", ":(exclude)*", ":colon"] {
        assert!(all.iter().any(|file| file == name), "{all:?}");
    }
    let workspace = repository(&["a"], "find . -mindepth 1 -delete; says done");
    workspace.runs(&[]).exits(1).says("removed or replaced");
    assert!(files(&workspace, BRANCH).contains(&"shared.txt".to_owned()));
}

#[test]
fn work_whose_commits_were_pruned_lands_from_its_checkout() {
    let workspace = repository(&["a"], "echo $task > $task.txt; says done");
    verified_by(
        &workspace,
        "",
        "touch \"$(dirname $0)/verifying\"; while [ ! -e \"$(dirname $0)/go\" ]; do sleep 0.02; done",
    );
    let run = workspace.begins(&[]);
    workspace.until("the verification", |workspace| workspace.aside("verifying").exists());
    run.dies();
    let refs = workspace.git(&["for-each-ref", "--format=%(refname)", "refs/planwright"]);
    for name in refs.lines().filter(|name| !name.contains("/base")) {
        workspace.git(&["update-ref", "-d", name]);
    }
    workspace.git(&["reflog", "expire", "--expire=now", "--all"]);
    workspace.git(&["gc", "--quiet", "--prune=now"]);
    workspace.give("go");
    workspace.runs(&[]).exits(0);
    assert_eq!(landed(&workspace, "a.txt"), "a");
    assert_eq!(workspace.noted("began").len(), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn mounts_in_a_checkout_are_kept() {
    let workspace = repository(
        &["a"],
        "echo w > w.txt; mkdir -p build/m; mount --bind \"$ASIDE/precious\" build/m 2>/dev/null && pwd > \"$ASIDE/mounted\"; says done",
    );
    let folder = precious(&workspace);
    workspace.write(".gitignore", "build/\n");
    workspace.commit("Ignore");
    let came = workspace.runs(&[]);
    let Some(checkout) = workspace.noted("mounted").pop() else {
        eprintln!("skipped: this user may not mount");
        return;
    };
    let unmounted = workspace.command("umount", &[&format!("{checkout}/build/m")]).status();
    assert!(unmounted.expect("umount").success());
    let came = came.exits(0);
    assert!(
        came.text.contains("is mounted below it, and is not removed"),
        "{}",
        came.text
    );
    assert_eq!(
        std::fs::read_to_string(folder.join("thesis.txt")).expect("kept"),
        "years\n"
    );
}

#[test]
fn a_run_without_work_restores_an_interrupted_landing_and_a_dry_run_does_not() {
    let workspace = repository(&["a"], "echo $task > $task.txt; echo changed > shared.txt; says done");
    workspace.runs(&[]).exits(0);
    let (from, to) = (
        workspace.git(&["rev-parse", "main"]),
        workspace.git(&["rev-parse", BRANCH]),
    );
    let note = format!("{{\"branch\": \"main\", \"from\": \"{from}\", \"to\": \"{to}\", \"locks\": []}}");
    workspace.write(".git/planwright-move.json", note);
    workspace.write(".git/index.lock", "planwright\n");
    workspace.write("shared.txt", "changed\n");
    workspace.does(&["land", "--dry-run"]).exits(0);
    assert_eq!(workspace.read("shared.txt"), "changed\n");
    workspace
        .runs(&[])
        .exits(0)
        .says("your files were set back to what they were")
        .says("nothing to run");
    assert_eq!(workspace.read("shared.txt"), "one\ntwo\nthree\n");
    workspace.does(&["land"]).exits(0).says("landed 1 task");
}

#[test]
fn cherry_picked_work_is_not_landed_again() {
    let workspace = repository(&["a", "b a"], "echo $task >> shared.txt; says done");
    workspace.runs(&[]).exits(0);
    let first = workspace.git(&["rev-parse", &format!("{BRANCH}~1")]);
    workspace.git(&["-c", "user.name=Other", "cherry-pick", &first]);
    workspace.does(&["land", "--rebase"]).exits(0);
    for mode in ["--rebase", "--merge", "--squash"] {
        workspace
            .does(&["land", mode])
            .exits(0)
            .says("nothing to land: all work of");
    }
    assert_eq!(workspace.read("shared.txt"), "one\ntwo\nthree\na\nb\n");
}

#[test]
fn a_checkout_that_is_kept_executes_nothing_of_its_agent() {
    let script = "git config core.fsmonitor \"$ASIDE/trap.sh\"; git config alias.st '!touch caught'
mkdir -p .git/hooks; ln -s \"$ASIDE/trap.sh\" .git/hooks/post-checkout; ln -s \"$ASIDE/trap.sh\" .git/hooks/pre-commit
rm -f .git/info/exclude; ln -s \"$ASIDE/mine\" .git/info/exclude
echo x > part.txt; exit 1";
    let workspace = repository(&["a"], script);
    std::fs::write(workspace.aside("mine"), "mine\n").expect("room");
    let trap = workspace.aside("trap.sh");
    std::fs::write(&trap, "#!/bin/sh\ntouch \"$(dirname \"$0\")/caught\"\n").expect("room");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&trap, mode).expect("ours");
    workspace.runs(&["--attempts", "1"]).exits(1);
    let records = workspace.records();
    let folder = records.iter().find_map(|record| match &record.event {
        RunEvent::AttemptStarting(attempt) => attempt.folder.clone(),
        _ => None,
    });
    let folder = PathBuf::from(folder.expect("a checkout"));
    for words in [
        &["status"][..],
        &["checkout", "-q", "-b", "mine"],
        &["commit", "-qam", "x"],
    ] {
        let mut git = workspace.command("git", words);
        git.current_dir(&folder).output().expect("git");
    }
    assert!(folder.join("part.txt").is_file());
    assert!(
        !workspace.aside("caught").exists(),
        "nothing of the agent's was executed"
    );
    let mine = std::fs::read_to_string(workspace.aside("mine")).expect("a file");
    assert_eq!(mine, "mine\n", "no link was followed");
}

#[test]
fn a_checkout_turned_into_a_bare_repository_executes_nothing() {
    let script = "rm -rf .git; mkdir -p objects refs; echo 'ref: refs/heads/x' > HEAD
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = touch %s/caught;\\n' \"$ASIDE\" > config
exit 1";
    let workspace = repository(&["a"], script);
    workspace.runs(&["--attempts", "1"]).exits(1);
    let records = workspace.records();
    let folder = records.iter().find_map(|record| match &record.event {
        RunEvent::AttemptStarting(attempt) => attempt.folder.clone(),
        _ => None,
    });
    let mut git = workspace.command("git", &["status"]);
    git.current_dir(folder.expect("a checkout")).output().expect("git");
    assert!(
        !workspace.aside("caught").exists(),
        "nothing of the agent's was executed"
    );
}
