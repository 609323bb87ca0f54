//! Agents that use git freely in their checkouts: nothing is lost, and no unverified work lands.

use std::path::Path;

use crate::run::{Workspace, clido};
use crate::run_landing::{BRANCH, files, landed, of_the_user, repository, verified_trees_landed};

/// Runs one task with an agent, and checks that nothing of the user's was changed.
pub(crate) fn run_agent(workspace: &Workspace, status: i32) -> String {
    let before = of_the_user(workspace);
    let came = workspace.runs(&["--attempts", "1"]).exits(status);
    assert_eq!(of_the_user(workspace), before, "{}", came.text);
    verified_trees_landed(workspace);
    came.text
}

#[test]
fn a_link_in_the_place_of_an_ignored_folder_takes_nothing_away() {
    let workspace = repository(
        &["a"],
        "rm -rf node_modules data; ln -s /nowhere/node_modules node_modules; echo x > data; echo x > a.txt; says done",
    );
    workspace.write(".gitignore", "node_modules/\ndata/\n");
    workspace.commit("Ignore");
    workspace.write("node_modules/x/index.js", "the user's own\n");
    workspace.write("data/precious", "the user's own\n");
    run_agent(&workspace, 0);
    assert_eq!(workspace.git(&["diff", "--name-only", "main", BRANCH]), "a.txt");
    workspace.does(&["land"]).exits(0);
    assert_eq!(workspace.read("node_modules/x/index.js"), "the user's own\n");
    assert_eq!(workspace.read("data/precious"), "the user's own\n");
}

#[test]
fn edits_that_the_agents_git_does_not_see_land() {
    let script = "git update-index --assume-unchanged shared.txt; echo mine > shared.txt; git update-index --skip-worktree .gitignore; \
                  echo '# mine' > .gitignore; git config core.fileMode false; echo x > run.sh; chmod +x run.sh; says done";
    let workspace = repository(&["a"], script);
    workspace.configure(
        "",
        "[verify]\non_protected = \"warn\"\nevery = [\"grep mine shared.txt && grep mine .gitignore && test -x run.sh\"]\n",
    );
    workspace.commit("Configure");
    run_agent(&workspace, 0);
    assert_eq!(landed(&workspace, "shared.txt"), "mine");
    assert!(workspace.git(&["ls-tree", BRANCH, "run.sh"]).starts_with("100755"));
}

#[test]
fn changes_that_the_agent_reverted_do_not_land() {
    let script = "echo x > x.txt; git add -A; git commit -qm x; git reset -q --hard HEAD~1; echo y > y.txt; says done";
    let workspace = repository(&["a"], script);
    workspace.configure("", "[verify]\nevery = [\"test -e y.txt && test ! -e x.txt\"]\n");
    workspace.commit("Configure");
    run_agent(&workspace, 0);
    assert_eq!(workspace.git(&["diff", "--name-only", "main", BRANCH]), "y.txt");
}

#[test]
fn an_ignored_product_that_the_verification_needs_fails_it() {
    let workspace = repository(&["a"], "mkdir -p src/lib; echo x > src/lib/x.py; says done");
    workspace.write(".gitignore", "lib/\n");
    workspace.configure("keep_ignored = [\"src/**/*.py\"]", "");
    workspace.commit("Ignore");
    let text = run_agent(&workspace, 1);
    assert!(
        text.contains("`src/lib/x.py` has to land and git ignores it, by `lib/` in .gitignore:1"),
        "{text}"
    );
    // Its checkout holds the only copy.
    workspace
        .does(&["worktrees", "--clear"])
        .exits(0)
        .says("kept: it holds `src/lib/x.py`");
    workspace.configure("", "[verify]\nevery = [\"test -e src/lib/x.py\"]\n");
    workspace.commit("Verify");
    run_agent(&workspace, 1);
}

#[test]
fn rules_that_one_agent_adds_to_its_git_directory_hide_no_file_of_another() {
    let workspace = repository(
        &["a", "b a"],
        "echo '*.txt' >> .git/info/exclude; git config core.excludesFile /dev/null; echo $task > $task.txt; says done",
    );
    run_agent(&workspace, 0);
    assert_eq!(workspace.git(&["diff", "--name-only", "main", BRANCH]), "a.txt\nb.txt");
}

#[test]
fn an_agent_cannot_reach_the_repository_through_git() {
    let script = "git push origin --delete main; git push -f origin HEAD:main; git branch -D main; git stash list; git worktree list; \
                  git config --local alias.x y; git gc --prune=now -q; git update-ref -d refs/heads/main; git remote -v; echo x > x.txt; says done";
    let workspace = repository(&["a"], script);
    workspace.git(&["branch", "precious"]);
    workspace.write("draft.txt", "stashed\n");
    workspace.git(&["stash", "-q", "-u"]);
    run_agent(&workspace, 0);
    assert_eq!(workspace.git(&["stash", "list"]).lines().count(), 1);
}

#[test]
fn a_repository_that_an_agent_makes_inside_fails_the_attempt() {
    for script in [
        "mkdir new; cd new; git init -q; echo x > x; git add x; git -c user.name=x -c user.email=x commit -qm x; cd ..; says done",
        "cd src; git init -q; cd ..; echo x > src/new.txt; says done",
    ] {
        let workspace = repository(&["a"], script);
        workspace.write("src/a.c", "a\n");
        workspace.commit("Sources");
        let text = run_agent(&workspace, 1);
        assert!(text.contains("a git repository inside the checkout"), "{text}");
    }
}

#[test]
fn a_checkout_that_is_removed_is_a_lost_attempt_and_never_an_empty_tree() {
    for script in [
        "cd ..; rm -rf \"$PLANWRIGHT_FOLDER\"; exit 0",
        "cd ..; mv \"$PLANWRIGHT_FOLDER\" elsewhere; mkdir \"$PLANWRIGHT_FOLDER\"; exit 0",
    ] {
        let workspace = repository(&["a"], script);
        let text = run_agent(&workspace, 1);
        assert!(text.contains("is not the checkout of the task"), "{text}");
        assert_eq!(
            workspace.git(&["rev-parse", BRANCH]),
            workspace.git(&["rev-parse", "main"])
        );
    }
    // Between two attempts.
    let workspace = repository(
        &["a"],
        "[ $attempt = 1 ] && { cd /; rm -rf \"$PLANWRIGHT_FOLDER\"; exit 1; }; echo $attempt > a.txt; says done",
    );
    workspace.configure("attempts = 2", "");
    workspace.commit("Configure");
    workspace.runs(&[]).exits(0);
    assert_eq!(landed(&workspace, "a.txt"), "2");
    assert_eq!(landed(&workspace, "shared.txt"), "one\ntwo\nthree");
}

#[test]
fn commits_in_a_stash_or_on_another_branch_keep_the_checkout() {
    let script = "echo s > shared.txt; git stash -q; git checkout -q -b side; echo x > side.txt; git add -A; git commit -qm side; \
                  git checkout -q task; echo x > x.txt; pwd > \"$ASIDE/where\"; says done";
    let workspace = repository(&["a"], script);
    let text = run_agent(&workspace, 0);
    assert!(
        text.contains("refs/heads/side") && text.contains("refs/stash"),
        "{text}"
    );
    assert!(Path::new(&workspace.noted("where")[0]).join(".git").exists());
    workspace
        .does(&["worktrees", "--clear"])
        .exits(0)
        .says("kept: it has commits that are nowhere else");
    assert!(Path::new(&workspace.noted("where")[0]).exists());
}

#[test]
fn checkouts_that_hold_nothing_unique_are_removed() {
    let workspace = repository(
        &["a", "b"],
        "echo half > half-$task.txt; pwd >> \"$ASIDE/where\"; [ $task = a ] && exit 1\nsays done",
    );
    workspace.configure("attempts = 1", "");
    workspace.commit("Configure");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "a failed, b done");
    let kept: Vec<String> = workspace
        .noted("where")
        .into_iter()
        .filter(|folder| Path::new(folder).exists())
        .collect();
    assert_eq!(kept.len(), 1);
    let kept_refs = workspace.git(&["for-each-ref", "--format=%(refname)", "refs/planwright/candidates"]);
    let candidate = kept_refs
        .lines()
        .find(|name| !name.ends_with("/base"))
        .expect("a candidate");
    assert_eq!(workspace.git(&["show", &format!("{candidate}:half-a.txt")]), "half");
    workspace
        .does(&["worktrees"])
        .exits(0)
        .says("removable")
        .says("a of run");
    std::fs::write(Path::new(&kept[0]).join("later.txt"), "made by hand\n").expect("ours");
    workspace
        .does(&["worktrees", "--clear"])
        .exits(0)
        .says("kept: it holds work that is nowhere else");
    assert!(Path::new(&kept[0]).exists());
    std::fs::remove_file(Path::new(&kept[0]).join("later.txt")).expect("ours");
    workspace.does(&["worktrees", "--clear"]).exits(0).says("removed");
    assert!(!Path::new(&kept[0]).exists());
    workspace
        .does(&["worktrees"])
        .exits(0)
        .says("no run has left a checkout");
    assert_eq!(workspace.git(&["show", &format!("{candidate}:half-a.txt")]), "half");
}

#[test]
fn a_further_attempt_continues_with_what_the_last_one_left() {
    let workspace = repository(
        &["a", "b"],
        "echo $attempt >> tries-$task.txt; [ $attempt = 1 ] && exit 1\nsays done",
    );
    workspace.configure("attempts = 2", "");
    workspace.commit("Configure");
    workspace.runs(&[]).exits(0);
    assert_eq!(landed(&workspace, "tries-a.txt"), "1\n2");
}

#[test]
fn an_outer_repository_reaches_no_process_of_a_run() {
    let mut workspace = repository(&["a"], "env | grep '^GIT_' > git-agent.txt; echo x > x.txt; says done");
    let aside = workspace.aside("").display().to_string();
    workspace.configure("", &format!("[verify]\nevery = [\"env | grep '^GIT_' | grep -v -e CEILING -e NOSYSTEM > {aside}/git-check; git add -A; git commit -qm forged; git rev-parse --show-toplevel >> {aside}/top\"]\n"));
    workspace.commit("Configure");
    let root = workspace.root();
    workspace.set("GIT_DIR", &root.join(".git").display().to_string());
    workspace.set("GIT_WORK_TREE", &root.display().to_string());
    workspace.set("GIT_INDEX_FILE", &root.join(".git/index").display().to_string());
    run_agent(&workspace, 0);
    assert_eq!(workspace.noted("git-check"), [""; 0]);
    assert!(workspace.noted("top").iter().all(|top| Path::new(top) != root));
}

#[test]
fn a_link_that_leads_out_of_the_checkout_is_only_a_link() {
    let workspace = repository(&["a"], "ln -s \"$ASIDE/outside\" link; says done");
    std::fs::write(workspace.aside("outside"), "outside\n").expect("ours");
    run_agent(&workspace, 0);
    let target = workspace.git(&["show", &format!("{BRANCH}:link")]);
    assert!(target.ends_with("/outside"), "{target}");
}

#[test]
fn a_plan_that_is_not_in_git_is_run_as_well() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        "test ! -e plan.json && echo x > x.txt; says done",
    );
    workspace.write(".gitignore", "plan.json\n");
    let workspace = workspace.in_git();
    workspace.write(".git/info/exclude", "plan.json\n");
    workspace.git(&["rm", "-q", "--cached", "--ignore-unmatch", "plan.json"]);
    workspace.git(&["commit", "-q", "--allow-empty", "-m", "Without the plan"]);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done");
    assert!(files(&workspace, BRANCH).contains(&"x.txt".to_owned()));
}
