//! The verb `land`: the choice of the run, dry runs, verification of the result, and what it never overwrites.

use crate::run::{Workspace, clido};
use crate::run_landing::{BRANCH, has, of_the_user, repository};

#[test]
fn a_landed_branch_starts_again_and_an_unlanded_one_continues() {
    let workspace = repository(
        &["a", "b a"],
        "echo $task > $task.txt; [ $task = b ] && [ ! -e \"$ASIDE/go\" ] && exit 1\nsays done",
    );
    workspace.configure("attempts = 1", "");
    workspace.commit("Configure");
    workspace.runs(&[]).exits(1);
    let first = workspace.git(&["rev-parse", BRANCH]);
    workspace.give("go");
    workspace
        .runs(&[])
        .exits(0)
        .says("which has work that is not landed yet");
    assert!(has(&workspace, BRANCH, "a.txt") && has(&workspace, BRANCH, "b.txt"));
    let second = workspace.git(&["rev-parse", BRANCH]);
    assert_eq!(workspace.git(&["rev-parse", &format!("{BRANCH}^")]), first);
    // Squashed into main by hand.
    workspace.git(&["merge", "-q", "--squash", BRANCH]);
    workspace.git(&["commit", "-q", "-m", "Squashed"]);
    workspace.write("plan.json", clido(&["a", "b a"]));
    workspace.script("echo more > more.txt; says done");
    workspace.runs(&[]).exits(0).says("reset to what is checked out");
    let kept = workspace.git(&["for-each-ref", "--format=%(objectname)", "refs/planwright/previous"]);
    assert_eq!(kept, second);
    assert_eq!(
        workspace.git(&["merge-base", BRANCH, "main"]),
        workspace.git(&["rev-parse", "main"])
    );
}

#[test]
fn land_takes_a_run_by_the_beginning_of_its_id_and_a_plan_by_its_option() {
    let workspace = repository(&["a"], "echo $task > $task.txt; says done");
    workspace.runs(&[]).exits(0);
    let run = workspace.place().id().to_owned();
    let beginning = &run[..run.len() - 1];
    workspace.does(&["land", "--dry-run", beginning]).exits(0).says(": a");
    workspace
        .does(&["land", "--dry-run", "-p", "plan.json"])
        .exits(0)
        .says(": a");
    workspace
        .does(&["land", "99999999"])
        .exits(1)
        .says("there is no run `99999999`");
    workspace.write("shared.txt", "edited\n");
    workspace.does(&["land", "--dry-run"]).exits(0).says(": a");
    workspace.git(&["checkout", "-q", "shared.txt"]);
    let tip = workspace.git(&["rev-parse", "--short=10", BRANCH]);
    workspace.git(&["branch", "-q", "-D", BRANCH]);
    let came = workspace.does(&["land"]).exits(1);
    let command = format!("git branch {BRANCH} {tip}");
    let came = came.says(&command);
    assert!(came.text.contains("there is no branch"), "{}", came.text);
    workspace.git(&["branch", BRANCH, &tip]);
    workspace.does(&["land"]).exits(0).says("landed 1 task");
}

#[test]
fn land_has_a_dry_run() {
    let workspace = repository(&["a"], "echo $task > $task.txt; says done");
    workspace.runs(&[]).exits(0);
    let before = of_the_user(&workspace);
    let came = workspace
        .does(&["land", "--dry-run"])
        .exits(0)
        .says("1 task of `planwright/plan-a1b2c3d4` would land in `main`: a");
    let diff = came
        .text
        .lines()
        .find(|line| line.starts_with("git diff "))
        .expect("a command");
    let words: Vec<&str> = diff.split(' ').skip(1).chain(["--name-only"]).collect();
    assert_eq!(workspace.git(&words), "a.txt");
    assert_eq!(of_the_user(&workspace), before);
    let came = workspace.does(&["land", "--dry-run", "--json"]).exits(0);
    assert!(came.text.contains("\"landed\": false"), "{}", came.text);
    workspace.does(&["land"]).exits(0).says("landed 1 task");
}

#[test]
fn land_verifies_the_result_and_moves_the_checked_out_branch() {
    let workspace = repository(&["a", "b a"], "echo $task > $task.txt; says done");
    workspace.configure("", "[verify]\nevery = [\"test ! -e both || test ! -e theirs.txt\"]\n");
    workspace.commit("Configure");
    workspace.runs(&[]).exits(0);
    workspace
        .does(&["land", "plan.json"])
        .exits(0)
        .says("landed 2 tasks of `planwright/plan-a1b2c3d4` into `main`");
    assert_eq!(workspace.read("b.txt"), "b\n");
    assert_eq!(
        workspace.git(&["rev-parse", "main"]),
        workspace.git(&["rev-parse", BRANCH])
    );
    workspace.does(&["land"]).exits(0).says("nothing to land: all work of");

    // The user continued meanwhile: the result is a merge, and the merge is verified.
    workspace.write("plan.json", clido(&["a", "b a"]));
    workspace.script("echo more > both; says done");
    workspace.runs(&[]).exits(0);
    workspace.write("theirs.txt", "theirs\n");
    workspace.git(&["add", "theirs.txt"]);
    workspace.git(&["commit", "-q", "-m", "Theirs", "--", "theirs.txt"]);
    let head = workspace.git(&["rev-parse", "main"]);
    workspace
        .does(&["land"])
        .exits(1)
        .says("failed on the result")
        .says("nothing was changed");
    assert_eq!(workspace.git(&["rev-parse", "main"]), head);
    assert!(!workspace.exists("both"));
    workspace.configure("", "[verify]\nevery = [\"true\"]\n");
    let came = workspace.does(&["land", "--squash", "--json"]).exits(0);
    assert!(came.text.contains("\"landed\": true"), "{}", came.text);
    assert_eq!(workspace.git(&["rev-list", "--count", &format!("{head}..main")]), "1");
    assert!(workspace.exists("both") && workspace.exists("theirs.txt"));
}

#[test]
fn land_overwrites_nothing() {
    let workspace = repository(&["a"], "printf '' > .gitignore; echo theirs > ignored.txt; says done");
    workspace.write(".gitignore", "ignored.txt\n");
    workspace.commit("Ignore");
    workspace.runs(&[]).exits(0);
    workspace.write("ignored.txt", "the user's own\n");
    let before = of_the_user(&workspace);
    workspace
        .does(&["land"])
        .exits(1)
        .says("cannot be checked out")
        .says("nothing was changed");
    assert_eq!(of_the_user(&workspace), before);
    workspace
        .does(&["land", "nowhere.json"])
        .exits(3)
        .says("does not exist");
    let other = repository(&["a"], "says done");
    other.does(&["land"]).exits(1).says("there are no runs");
    other.runs(&["--isolation", "shared"]).exits(0);
    other.does(&["land"]).exits(1).says("has work on a branch of its own");
}

#[test]
fn the_verification_of_a_landing_gets_the_names_of_its_tasks() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "echo $task > made-$task; says done").in_git();
    let noted = workspace.aside("verified");
    let rules = format!(
        "[verify]\nevery = [\"echo own-$PLANWRIGHT_TASK >> {0}; test -e made-$PLANWRIGHT_TASK\", \"sh check.sh {0}\"]",
        noted.display()
    );
    workspace.write(
        "check.sh",
        "test -n \"$PLANWRIGHT_TASK\" && echo \"once-$PLANWRIGHT_TASK\" >> $1\n",
    );
    workspace.configure("", &rules);
    workspace.commit("Verify");
    workspace.runs(&["-j", "1"]).exits(0);
    // The result differs from what the run has verified.
    workspace.write("other.txt", "other\n");
    workspace.commit("Other");
    std::fs::remove_file(&noted).expect("the run was verified");
    workspace.does(&["land"]).exits(0).says("landed 2 tasks");
    assert_eq!(workspace.noted("verified"), ["own-a", "once-a", "own-b"]);
}

#[test]
fn a_task_with_a_line_break_in_its_name_lands_as_the_task_of_the_plan() {
    let workspace = repository(&["a"], "echo x > a.txt; says done");
    let text = workspace.plan().replace("\"id\": \"a\"", "\"id\": \"a\\nb\"");
    workspace.write("plan.json", text);
    workspace.commit("A name of two lines");
    workspace.runs(&[]).exits(0);
    let landed = workspace.does(&["land"]).exits(0);
    assert!(!landed.text.contains("does not have"), "{}", landed.text);
    landed.says("landed 1 task");
}
