//! Where tasks work: checkouts or a shared folder, and refusals before an agent starts.

use std::path::Path;

use crate::plans;
use crate::run::{Workspace, clido, rawko};
use crate::run_landing::{BRANCH, conditions, has, isolation, landed, repository};

#[test]
fn plans_whose_ids_differ_by_their_punctuation_have_branches_of_their_own() {
    let plan = clido(&["a"]).replace("plan-a1b2c3d4", "add search");
    let workspace = Workspace::new(("plan.json", &plan), "echo $PLANWRIGHT_PLAN > $task.txt; says done");
    let workspace = workspace.in_git();
    workspace.write("other.json", plan.replace("add search", "add/search"));
    workspace.runs(&[]).exits(0);
    assert_eq!(conditions(&workspace).branch, "planwright/add-search");
    workspace.does(&["run", "other.json"]).exits(0);
    let other = conditions(&workspace).branch;
    assert!(other.starts_with("planwright/add-search-"), "{other}");
    // So has a copy of a plan. The plan that ran first keeps the name.
    workspace.write("copy.json", &plan);
    workspace.does(&["run", "copy.json"]).exits(0);
    let copy = conditions(&workspace).branch;
    assert!(copy.starts_with("planwright/add-search-") && copy != other, "{copy}");
    workspace.write("plan.json", &plan);
    workspace.script("echo again > again.txt; says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(conditions(&workspace).branch, "planwright/add-search");
    // A plan that was moved keeps it as well.
    workspace.git(&["mv", "-f", "plan.json", "moved.json"]);
    workspace.write("moved.json", &plan);
    workspace.does(&["run", "moved.json"]).exits(0);
    assert_eq!(conditions(&workspace).branch, "planwright/add-search");
}

#[test]
fn without_git_a_repository_is_refused_and_a_plain_folder_is_shared() {
    let tools = [
        "sh", "sed", "cat", "echo", "test", "mkdir", "rm", "grep", "sleep", "date", "mv",
    ];
    let without_git = |workspace: &mut Workspace| {
        let folder = workspace.aside("tools");
        std::fs::create_dir_all(&folder).expect("ours");
        for tool in tools {
            let found = ["/bin", "/usr/bin"]
                .iter()
                .map(|at| std::path::Path::new(at).join(tool))
                .find(|at| at.exists());
            if let Some(found) = found {
                std::os::unix::fs::symlink(found, folder.join(tool)).expect("ours");
            }
        }
        workspace.set("PATH", &folder.display().to_string());
    };
    let mut workspace = repository(&["a"], "says done");
    without_git(&mut workspace);
    workspace
        .runs(&[])
        .exits(1)
        .says("this is a git repository, and git is not installed")
        .says("--isolation shared");
    assert_eq!(workspace.noted("began"), [""; 0]);
    let mut plain = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    without_git(&mut plain);
    plain.runs(&[]).exits(0);
}

#[test]
fn two_plans_of_one_repository_do_not_see_each_other() {
    let workspace = repository(&["a"], "[ $task = a ] && awaits go; echo $task > $task.txt; says done");
    workspace.write("other.json", clido(&["z"]).replace("plan-a1b2c3d4", "plan-ffffffff"));
    workspace.commit("Another plan");
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    let came = workspace.does(&["run", "other.json"]).exits(0);
    assert!(!came.text.contains("uncommitted"), "{}", came.text);
    workspace.give("go");
    run.ends().exits(0);
    assert!(has(&workspace, BRANCH, "a.txt") && has(&workspace, "planwright/plan-ffffffff", "z.txt"));
    assert!(!has(&workspace, BRANCH, "z.txt"));
    assert_eq!(workspace.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn two_plans_land_on_one_branch() {
    let workspace = repository(
        &["a", "b a"],
        "[ $task = b ] && awaits go; echo $task > $task.txt; says done",
    );
    workspace.write(
        "other.json",
        clido(&["y", "z y"]).replace("plan-a1b2c3d4", "plan-ffffffff"),
    );
    workspace.configure("branch = \"work/all\"", "[verify]\nevery = [\"true\"]\n");
    workspace.commit("Another plan");
    let run = workspace.begins(&[]);
    workspace.until_log("merged a 1 true");
    workspace.does(&["run", "other.json"]).exits(0);
    workspace.give("go");
    run.ends().exits(0);
    for name in ["a.txt", "b.txt", "y.txt", "z.txt"] {
        assert!(has(&workspace, "work/all", name), "{name}");
    }
}

#[test]
fn without_a_repository_with_a_commit_tasks_share_the_folder() {
    let script = "echo $task > $task.txt; says done";
    let plain = Workspace::new(("plan.json", &clido(&["a", "b"])), script);
    plain.runs(&[]).exits(0).says("running one task at a time").says("-j 4");
    let unborn = Workspace::new(("plan.json", &clido(&["a", "b"])), script);
    unborn.git(&["init", "-q", "-b", "main"]);
    unborn
        .runs(&["-j", "2"])
        .exits(0)
        .says("up to 2 tasks at a time share the folder");
    let ignored = repository(&["a", "b"], script);
    ignored.write(".gitignore", "*\n");
    ignored.git(&["rm", "-r", "-q", "--cached", "."]);
    ignored.git(&["commit", "-q", "-m", "Ignore all"]);
    ignored.runs(&[]).exits(0);
    for workspace in [plain, unborn, ignored] {
        assert_eq!(isolation(&workspace), "shared");
        assert!(workspace.exists("a.txt") && workspace.exists("b.txt"));
    }
    let refused = Workspace::new(("plan.json", &clido(&["a"])), script);
    refused
        .runs(&["--isolation", "checkouts"])
        .exits(1)
        .says("not a git repository")
        .says("--isolation shared");
}

#[test]
fn a_repository_that_cannot_have_checkouts_is_refused_before_an_agent_starts() {
    let workspace = repository(&["a"], "says done");
    let inner = workspace.aside("inner");
    std::fs::create_dir_all(&inner).expect("ours");
    let git = |folder: &Path, args: &[&str]| {
        let done = workspace
            .command("git", args)
            .current_dir(folder)
            .status()
            .expect("git");
        assert!(done.success(), "{args:?}");
    };
    git(&inner, &["init", "-q"]);
    git(
        &inner,
        &[
            "-c",
            "user.name=x",
            "-c",
            "user.email=x",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ],
    );
    std::fs::write(inner.join("x"), "x").expect("ours");
    git(&inner, &["add", "x"]);
    git(
        &inner,
        &["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "x"],
    );
    workspace.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &inner.display().to_string(),
        "sub",
    ]);
    workspace.commit("A submodule");
    workspace
        .runs(&[])
        .exits(1)
        .says("submodules")
        .says("sub")
        .says("--isolation shared");
    assert_eq!(workspace.noted("began"), [""; 0]);
    // Without files, nothing is missing.
    workspace.git(&["submodule", "--quiet", "deinit", "-f", "sub"]);
    workspace.script("echo x > x.txt; says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.git(&["diff", "--name-only", "main", BRANCH]), "x.txt");
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
    workspace.runs(&[]).exits(0);
    assert_eq!(
        workspace.git(&["diff", "--name-only", "main", BRANCH]),
        "sub/a.txt\nsub/b.txt"
    );
}

#[test]
fn in_a_repository_the_touched_files_of_a_task_are_recorded() {
    let plan = rawko(&["Sweep"]);
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
    for isolation in ["shared", "checkouts"] {
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
            .runs(&["-j", "1", "--isolation", isolation, "--strict-files", "--attempts", "1"])
            .exits(1);
        assert!(workspace.states().contains("T001 failed"), "{}", workspace.states());
    }
}

#[test]
fn a_run_that_is_refused_leaves_nothing_and_flags_without_effect_are_named() {
    let workspace = repository(&["a", "b a"], "echo $task > $task.txt; says done");
    workspace.git(&["branch", BRANCH]);
    workspace.git(&["checkout", "-q", BRANCH]);
    workspace.runs(&[]).exits(1).says("is checked out in");
    assert_eq!(workspace.places().len(), 0, "a run that never began");
    workspace.git(&["checkout", "-q", "main"]);
    workspace.script("[ $task = a ] || { touch \"$ASIDE/here\"; awaits go; }; echo $task > $task.txt; says done");
    let run = workspace.begins(&[]);
    workspace.until("the second agent", |workspace| workspace.aside("here").exists());
    run.dies();
    workspace
        .does(&["summary"])
        .says("was interrupted")
        .says("To continue")
        .says("planwright run plan.json");
    workspace.give("go");
    workspace
        .runs(&["--branch", "other", "--isolation", "shared"])
        .exits(0)
        .says("--branch has no effect")
        .says("--isolation has no effect");
    assert!(has(&workspace, BRANCH, "b.txt"));
    let plain = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    plain
        .runs(&["--branch", "other"])
        .exits(0)
        .says("--branch has no effect");
}

#[test]
fn the_checkout_of_a_stopped_task_is_kept_for_the_next_run() {
    let workspace = repository(
        &["a"],
        "test -e half.txt && { echo whole > a.txt; says done; exit; }; echo half > half.txt; touch \"$ASIDE/here\"; awaits never",
    );
    workspace.configure("", "[verify]\nevery = [\"true\"]\n");
    workspace.commit("Configure");
    let run = workspace.begins(&[]);
    workspace.until("the agent", |workspace| workspace.aside("here").exists());
    workspace.does(&["stop", "--now"]).exits(0);
    let came = run.ends();
    assert!(came.text.contains("its files: "), "{}", came.text);
    workspace
        .does(&["worktrees", "--clear"])
        .exits(0)
        .says("`planwright run` continues in it");
    workspace.runs(&[]).exits(0);
    assert_eq!(landed(&workspace, "a.txt"), "whole");
    assert_eq!(landed(&workspace, "half.txt"), "half");
    workspace
        .does(&["worktrees", "--clear"])
        .exits(0)
        .says("emptied 1 checkout of verification");
    workspace.does(&["land"]).exits(0);
}

#[test]
fn a_run_that_cannot_make_checkouts_leaves_no_branch() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "echo x > made; says done").in_git();
    workspace.runs(&[]).exits(0);
    workspace.git(&["branch", "-D", "planwright/plan-a1b2c3d4"]);
    workspace.write("plan.json", clido(&["a"]));
    // A file where the checkouts for verification are to be.
    let homes = std::fs::read_dir(workspace.aside("home/.local/state/planwright")).expect("the folder is ours");
    let pool = homes
        .flatten()
        .next()
        .expect("the checkouts of the workspace")
        .path()
        .join("pool");
    std::fs::remove_dir_all(&pool).expect("ours");
    std::fs::write(&pool, "").expect("ours");
    workspace
        .runs(&[])
        .exits(1)
        .says("checkouts for the tasks cannot be made");
    assert_eq!(workspace.git(&["branch", "--list", "planwright/*"]), "");
    assert_eq!(workspace.places().len(), 1, "no second run began");
}

#[test]
fn deleting_a_plan_names_its_branch_with_work_that_has_not_landed() {
    let workspace = repository(&["a"], "echo x > a.txt; says done");
    workspace.runs(&[]).exits(0);
    let notice =
        format!("the branch `{BRANCH}` has the work of 1 task that has not landed: `git merge {BRANCH}` lands it");
    workspace
        .does(&["delete", "plan.json", "--dry-run"])
        .exits(0)
        .says(&notice);
    workspace.does(&["land"]).exits(0);
    let deleted = workspace.does(&["delete", "plan.json", "--yes"]).exits(0);
    assert!(!deleted.text.contains("has not landed"), "{}", deleted.text);
}

#[test]
fn a_dry_run_refuses_a_folder_in_which_no_checkouts_can_be_made() {
    let mut workspace = repository(&["a"], "says done");
    workspace.runs(&["--dry-run"]).exits(0);
    workspace.write("taken", "");
    for place in [workspace.root().join("taken/below"), workspace.root().join("inside")] {
        workspace.set("PLANWRIGHT_RUN_CHECKOUTS", &place.display().to_string());
        workspace.runs(&["--dry-run"]).exits(1).says("run.checkouts");
    }
    workspace.runs(&["--dry-run", "--isolation", "shared"]).exits(0);
}
