//! Locks left by a killed git, a branch that is deleted and commits that are pruned while tasks start: the run fixes its own locks, names
//! those of the user, and continues.

use std::path::{Path, PathBuf};

use planwright_run::runs::RunEvent;

use crate::run::Workspace;
use crate::run_git_kills::killed_at;
use crate::run_landing::{landed, repository, verified_trees_landed};

const BRANCH: &str = "planwright/plan-a1b2c3d4";

/// Makes the clock of runs faster: waits for locks are long.
fn hurries(workspace: &mut Workspace) {
    workspace.set("PLANWRIGHT_CLOCK", "20@1700000000");
}

/// Returns the folders that match a path below the state folder, in which `*` is any name.
fn state(workspace: &Workspace, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![workspace.aside("home/.local/state/planwright")];
    for part in pattern.split('/') {
        let below = |folder: PathBuf| -> Vec<PathBuf> {
            match part {
                "*" => std::fs::read_dir(&folder)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .map(|entry| entry.path())
                    .collect(),
                part => vec![folder.join(part)],
            }
        };
        found = found.into_iter().flat_map(below).filter(|path| path.is_dir()).collect();
    }
    found
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[test]
fn locks_in_planwrights_own_git_directories_are_removed() {
    let mut workspace = repository(
        &["a"],
        "touch \"$ASIDE/here\"; awaits go; git add -A && git commit -q --allow-empty -m x || exit 1; echo $task > $task.txt; says done",
    );
    hurries(&mut workspace);
    workspace.configure("attempts = 1", "[verify]\nevery = [\"test -e a.txt\"]\n");
    workspace.commit("Configure");
    let run = workspace.begins(&[]);
    workspace.until("the agent", |workspace| workspace.aside("here").exists());
    run.dies();
    let checkouts = state(&workspace, "*/runs/*/tasks/*/.git");
    let snapshots = state(&workspace, "*/runs/*/snapshots.git");
    assert_eq!((checkouts.len(), snapshots.len()), (1, 1));
    for git_dir in checkouts.iter().chain(&snapshots) {
        for name in ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock"] {
            std::fs::write(git_dir.join(name), "").expect("ours");
        }
    }
    std::fs::write(checkouts[0].join("refs/heads/task.lock"), "").expect("ours");
    let run = name_of(&state(&workspace, "*/runs/*")[0]);
    let key = name_of(checkouts[0].parent().expect("a checkout"));
    let key = key.rsplit_once('.').expect("an attempt").0.to_owned();
    for lock in [
        format!("candidates/{run}/{key}/1"),
        format!("candidates/{run}/{key}/2"),
        format!("replays/{run}/{key}"),
    ] {
        workspace.write(&format!(".git/refs/planwright/{lock}.lock"), "");
        let own = snapshots[0].join(format!("refs/candidates/{lock}.lock"));
        std::fs::create_dir_all(own.parent().expect("a folder")).expect("ours");
        std::fs::write(own, "").expect("ours");
    }
    workspace.give("go");
    workspace.runs(&[]).exits(0);
    assert_eq!(landed(&workspace, "a.txt"), "a");
    verified_trees_landed(&workspace);
}

#[test]
fn a_git_lock_of_the_user_is_named_once() {
    let mut workspace = repository(&["a"], "echo $task > $task.txt; awaits go; says done");
    hurries(&mut workspace);
    let run = workspace.begins(&[]);
    workspace.until_log("started a");
    let lock = format!(".git/refs/heads/{BRANCH}.lock");
    workspace.write(&lock, "");
    workspace.give("go");
    workspace.until_log("paused finished work cannot land");
    // Several tries later.
    std::thread::sleep(std::time::Duration::from_millis(900));
    std::fs::remove_file(workspace.root().join(&lock)).expect("ours");
    run.ends().exits(0).says(&format!(
        "{BRANCH}.lock` exists; remove it if no git command is running"
    ));
    let count = |is_it: fn(&RunEvent) -> bool| {
        let records = workspace.records();
        records.iter().filter(|record| is_it(&record.event)).count()
    };
    assert_eq!(count(|event| matches!(event, RunEvent::Paused(_))), 1);
    assert_eq!(count(|event| matches!(event, RunEvent::Resumed(_))), 1);
    assert_eq!(count(|event| matches!(event, RunEvent::LandingStarted(_))), 1);
    assert_eq!(landed(&workspace, "a.txt"), "a");
}

#[test]
fn a_task_starts_while_the_branch_is_deleted() {
    let workspace = repository(
        &["a"],
        "[ $attempt = 1 ] && { awaits go; cd /; rm -rf \"$PLANWRIGHT_FOLDER\"; exit 1; }\necho $task > $task.txt; says done",
    );
    workspace.configure("attempts = 2", "");
    workspace.commit("Configure");
    let run = workspace.begins(&[]);
    workspace.until_log("started a");
    let tip = workspace.git(&["rev-parse", BRANCH]);
    workspace.git(&["update-ref", "-d", &format!("refs/heads/{BRANCH}")]);
    workspace.give("go");
    workspace.until_log("paused finished work cannot land");
    workspace.git(&["update-ref", &format!("refs/heads/{BRANCH}"), &tip]);
    run.ends().exits(0);
    assert_eq!(landed(&workspace, "a.txt"), "a");
}

#[test]
fn a_base_that_the_user_removes_and_prunes_is_kept_for_its_task() {
    let workspace = repository(
        &["a", "b a"],
        "[ $task = b ] && awaits go; echo $task > $task.txt; says done",
    );
    workspace.configure("attempts = 1", "");
    workspace.commit("Configure");
    let run = workspace.begins(&[]);
    workspace.until_log("started b");
    let main = workspace.git(&["rev-parse", "main"]);
    workspace.git(&["update-ref", &format!("refs/heads/{BRANCH}"), &main]);
    workspace.git(&["reflog", "expire", "--expire=now", "--all"]);
    workspace.git(&["gc", "-q", "--prune=now"]);
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.git(&["diff", "--name-only", "main", BRANCH]), "b.txt");
    assert_eq!(workspace.git(&["for-each-ref", "refs/planwright"]), "");
}

#[test]
fn a_checkout_whose_making_was_interrupted_is_removed() {
    let workspace = killed_at("reset --quiet --hard", false);
    assert!(state(&workspace, "*/runs/*").is_empty());
    assert_eq!(workspace.git(&["for-each-ref", "refs/planwright"]), "");
}

#[test]
fn a_run_that_was_killed_before_it_began_leaves_nothing() {
    let workspace = killed_at("worktree add", false);
    assert!(state(&workspace, "*/runs/*").is_empty());
    assert_eq!(workspace.git(&["for-each-ref", "refs/planwright"]), "");
}

#[test]
fn a_worktree_that_holds_the_branch_and_was_half_made_is_made_again() {
    let workspace = repository(
        &["a"],
        "touch \"$ASIDE/here\"; awaits go; echo $task > $task.txt; says done",
    );
    let run = workspace.begins(&[]);
    workspace.until("the agent", |workspace| workspace.aside("here").exists());
    run.dies();
    let holders = state(&workspace, "*/branches/*");
    assert_eq!(holders.len(), 1);
    std::fs::write(holders[0].join(".git"), "").expect("ours");
    for admin in std::fs::read_dir(workspace.root().join(".git/worktrees")).expect("a folder") {
        std::fs::write(admin.expect("an entry").path().join("locked"), "initializing").expect("ours");
    }
    workspace.give("go");
    workspace.runs(&[]).exits(0);
    assert_eq!(landed(&workspace, "a.txt"), "a");
    assert_eq!(workspace.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn work_that_landed_right_before_a_crash_is_reported_as_landed() {
    const SCRIPT: &str = "echo $task > $task.txt; says done";
    let mut workspace = repository(&["a"], SCRIPT);
    let log = workspace.aside("steps").display().to_string();
    workspace.set("PLANWRIGHT_FAULT_LOG", &log);
    workspace.runs(&[]).exits(0);
    let n_steps = workspace.noted("steps").len();
    for step in n_steps.saturating_sub(100)..n_steps {
        let mut workspace = repository(&["a"], SCRIPT);
        workspace.set("PLANWRIGHT_FAULT", &format!("kill@{step}"));
        workspace.runs(&[]);
        workspace.set("PLANWRIGHT_FAULT", "none@0");
        let is_on_branch = workspace.git(&["log", "--format=%s", BRANCH]).contains("a: ");
        let is_recorded = workspace.log().iter().any(|line| line.starts_with("merged"));
        if is_on_branch && !is_recorded {
            workspace.runs(&[]).exits(0).says(&format!("1 task on {BRANCH}"));
            verified_trees_landed(&workspace);
            return;
        }
    }
    panic!("no step lies between the branch and the log");
}

#[test]
fn tasks_wait_while_git_lacks_resources() {
    for complaint in [
        "fatal: cannot create thread: Resource temporarily unavailable",
        "fatal: unable to access: Too many open files",
        "fatal: Unable to create '/x/.git/HEAD.lock': File exists.",
    ] {
        let mut workspace = repository(&["a"], "echo $task > $task.txt; says done");
        hurries(&mut workspace);
        let real = workspace.command("sh", &["-c", "command -v git"]).output().expect("sh");
        let real = String::from_utf8_lossy(&real.stdout).trim().to_owned();
        let tools = workspace.aside("tools");
        std::fs::create_dir_all(&tools).expect("ours");
        // Git fills a new checkout with this command, and fails until the shortage ends.
        let script = format!(
            "#!/bin/sh\ncase \" $* \" in *' reset --quiet --hard '*) if [ ! -e {end} ]; then echo x >> {tries}; echo \"{complaint}\" >&2; exit \
             128; fi;; esac\nexec {real} \"$@\"\n",
            end = workspace.aside("end").display(),
            tries = workspace.aside("tries").display(),
        );
        std::fs::write(tools.join("git"), script).expect("ours");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(tools.join("git"), mode).expect("ours");
        let path = std::env::var("PATH").expect("a path");
        workspace.set("PATH", &format!("{}:{path}", tools.display()));
        let run = workspace.begins(&[]);
        workspace.until("git was tried twice", |workspace| workspace.noted("tries").len() >= 2);
        workspace.give("end");
        run.ends().exits(0);
        assert_eq!(landed(&workspace, "a.txt"), "a");
        assert_eq!(workspace.noted("began").len(), 1, "{complaint}");
    }
}
