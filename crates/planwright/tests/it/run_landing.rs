//! Tasks in their own checkouts: what lands, what is kept, and that nothing of the user's is changed. Tests for docs/landing.md.

use std::collections::BTreeMap;
use std::path::Path;

use planwright_run::runs::{FixedSettings, LandingEndRecord, RunEvent};

use crate::run::{Workspace, aimi, clido};

/// The branch of the plan that most tests have.
pub(crate) const BRANCH: &str = "planwright/plan-a1b2c3d4";

/// Makes two agents wait until both have started.
const TOGETHER: &str = "echo $task >> \"$ASIDE/here\"; n=0; while [ $(wc -l < \"$ASIDE/here\") -lt 2 ] && [ $n -lt 1000 ]; do sleep 0.01; n=$((n+1)); done;";

/// Returns a repository whose plan has tasks that may run in parallel.
pub(crate) fn repository(tasks: &[&str], script: &str) -> Workspace {
    let workspace = Workspace::new(("plan.json", &clido(tasks)), script);
    workspace.write("shared.txt", "one\ntwo\nthree\n");
    workspace.in_git()
}

/// Returns the files in the last commit of a branch.
pub(crate) fn files(workspace: &Workspace, branch: &str) -> Vec<String> {
    let listed = workspace.git(&["ls-tree", "-r", "--name-only", branch]);
    listed.lines().map(str::to_owned).collect()
}

/// Returns the content of a file on the branch of the plan.
pub(crate) fn landed(workspace: &Workspace, name: &str) -> String {
    workspace.git(&["show", &format!("{BRANCH}:{name}")])
}

pub(crate) fn has(workspace: &Workspace, branch: &str, name: &str) -> bool {
    files(workspace, branch).iter().any(|file| file == name)
}

/// Returns the isolation that the log has.
pub(crate) fn isolation(workspace: &Workspace) -> String {
    let found = workspace.records().into_iter().find_map(|record| match record.event {
        RunEvent::RunStarted(begun) => begun.isolation,
        _ => None,
    });
    found.expect("a beginning").as_str().to_owned()
}

pub(crate) fn conditions(workspace: &Workspace) -> FixedSettings {
    let found = workspace.records().into_iter().find_map(|record| match record.event {
        RunEvent::RunStarted(begun) => begun.conditions,
        _ => None,
    });
    found.expect("a run with checkouts")
}

fn merged(workspace: &Workspace) -> Vec<LandingEndRecord> {
    let merged = workspace.records().into_iter().filter_map(|record| match record.event {
        RunEvent::LandingEnded(merged) => Some(merged),
        _ => None,
    });
    merged.collect()
}

/// Everything of the user's, except what planwright may write: files with their bytes, the index, HEAD, branches, stash, settings.
pub(crate) fn of_the_user(workspace: &Workspace) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let root = workspace.root();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(&root).expect("below").to_string_lossy().into_owned();
            // The plan file is written by way of a temporary file next to it.
            let is_ours = name == "plan.json" || name.starts_with(".planwright") || name == "planwright.toml";
            if is_ours
                || name.starts_with(".git/objects")
                || name.starts_with(".git/refs")
                || name.starts_with(".git/logs")
            {
                continue;
            }
            if [
                ".git/worktrees",
                ".git/packed-refs",
                ".git/info/refs",
                ".git/branches",
                ".git/ORIG_HEAD",
                ".git/planwright.lock",
            ]
            .contains(&name.as_str())
            {
                continue;
            }
            let kind = entry.file_type().expect("a kind");
            if kind.is_symlink() {
                all.insert(
                    name,
                    format!("-> {}", std::fs::read_link(&path).expect("a link").display()),
                );
            } else if kind.is_dir() {
                all.insert(format!("{name}/"), String::new());
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).expect("a file");
                all.insert(
                    name,
                    planwright_run::digest::Digest::of(&String::from_utf8_lossy(&bytes)).to_string(),
                );
            }
        }
    }
    let branches = workspace.git(&[
        "for-each-ref",
        "--format=%(refname) %(objectname)",
        "refs/heads",
        "refs/stash",
        "refs/tags",
    ]);
    let own = branches.lines().filter(|line| !line.contains("refs/heads/planwright"));
    all.insert("branches".to_owned(), own.collect::<Vec<_>>().join("\n"));
    all
}

/// Checks that every receipt names the tree that landed, and that the commit has it.
pub(crate) fn verified_trees_landed(workspace: &Workspace) {
    for record in workspace.records() {
        if let RunEvent::LandingEnded(LandingEndRecord {
            passed: true,
            commit: Some(commit),
            tree: Some(tree),
            ..
        }) = &record.event
        {
            assert_eq!(&workspace.git(&["rev-parse", &format!("{commit}^{{tree}}")]), tree);
        }
    }
    let trees: Vec<Option<String>> = merged(workspace).into_iter().map(|merged| merged.tree).collect();
    for record in workspace.records() {
        if let RunEvent::Verified(verified) = &record.event {
            for receipt in verified.receipts.iter().filter(|_| verified.passed) {
                assert!(trees.contains(&receipt.tree), "{receipt:?}");
            }
        }
    }
}

#[test]
fn work_lands_on_the_branch_of_the_plan_and_nothing_of_the_users_is_touched() {
    let workspace = repository(
        &["a", "b", "c a b"],
        "pwd >> \"$ASIDE/where\"; ls > listing-$task; echo $task > $task.txt; says done",
    );
    workspace.configure("", "[verify]\nevery = [\"test -e shared.txt\"]\n");
    workspace.commit("Configure");
    workspace.write("untracked.txt", "the user's own\n");
    workspace.write("shared.txt", "changed by the user\n");
    let before = of_the_user(&workspace);
    workspace
        .runs(&[])
        .exits(0)
        .says("uncommitted work is left out")
        .says(&format!("git diff {}...{BRANCH}", &conditions(&workspace).base[..10]))
        .says("planwright land plan.json");
    assert_eq!(isolation(&workspace), "checkouts");
    assert_eq!(workspace.states(), "a done, b done, c done");
    assert_eq!(of_the_user(&workspace), before);
    for name in ["a.txt", "b.txt", "c.txt"] {
        assert!(has(&workspace, BRANCH, name), "{name}");
    }
    let listing = landed(&workspace, "listing-c");
    assert!(
        listing.contains("a.txt\n") && listing.contains("b.txt\n"),
        "c begins with what it depends on: {listing}"
    );
    assert_eq!(landed(&workspace, "shared.txt"), "one\ntwo\nthree");
    let root = workspace.root().canonicalize().expect("a folder");
    assert!(
        workspace
            .noted("where")
            .iter()
            .all(|folder| !Path::new(folder).starts_with(&root))
    );
    verified_trees_landed(&workspace);
    // What has landed is cleaned up.
    assert_eq!(workspace.git(&["worktree", "list"]).lines().count(), 1);
    assert!(
        workspace
            .noted("where")
            .iter()
            .all(|folder| !Path::new(folder).exists())
    );
    assert_eq!(workspace.git(&["for-each-ref", "refs/planwright/candidates"]), "");
}

#[test]
fn one_slot_and_a_detached_head_make_no_difference() {
    let workspace = repository(&["a", "b"], "echo $task > $task.txt; says done");
    workspace.git(&["checkout", "-q", "--detach"]);
    workspace.runs(&["-j", "1"]).exits(0);
    assert_eq!(isolation(&workspace), "checkouts");
    assert!(has(&workspace, BRANCH, "a.txt") && has(&workspace, BRANCH, "b.txt"));
    assert!(!workspace.exists("a.txt"));
}

#[test]
fn tasks_run_in_parallel() {
    let workspace = repository(
        &["a", "b"],
        &format!("{TOGETHER} [ $n -lt 1000 ] || exit 1; echo $task > $task.txt; says done"),
    );
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn landed_commits_name_their_task_and_run() {
    let workspace = repository(&["a"], "echo $task > $task.txt; says done");
    workspace.configure("", "[verify]\nevery = [[\"test\", \"-e\", \"a.txt\"]]\n");
    workspace.commit("Configure");
    workspace.runs(&[]).exits(0);
    let message = workspace.git(&["log", "-1", "--format=%B", BRANCH]);
    let run = workspace.place().id().to_owned();
    for line in [
        "a: Make a".to_owned(),
        "Planwright-Task: a".to_owned(),
        "Planwright-Title: Make a".to_owned(),
        "Planwright-Agent: mock".to_owned(),
        format!("Planwright-Run: {run}"),
        "Planwright-Attempt: 1".to_owned(),
    ] {
        assert!(message.lines().any(|found| found == line), "{line}: {message}");
    }
    assert!(
        message.contains("Planwright-Verified: test -e a.txt (exit 0, output "),
        "{message}"
    );
    assert_eq!(workspace.git(&["log", "-1", "--format=%an", BRANCH]), "Test");
    assert_eq!(workspace.git(&["rev-list", "--count", &format!("main..{BRANCH}")]), "1");

    let merging = repository(&["a"], "echo $task > $task.txt; says done");
    merging.configure("landing = \"merge\"", "");
    merging.commit("Configure");
    merging.runs(&[]).exits(0);
    assert_eq!(merging.git(&["log", "-1", "--format=%P", BRANCH]).split(' ').count(), 2);
}

#[test]
fn a_conflict_goes_back_to_its_agent_and_costs_no_attempt() {
    // Three tasks that append to one file.
    let script = format!(
        "{TOGETHER} if grep -q '^<<<<<<<' shared.txt; then echo \"$task\" >> \"$ASIDE/resolved\"; grep -v '^[<=>]' shared.txt > s; mv s shared.txt; \
         else echo $task >> shared.txt; fi; echo \"$task $attempt\" >> \"$ASIDE/tried\"; says done"
    );
    let workspace = repository(&["a", "b", "c"], &script);
    workspace.configure(
        "slots = 3\nattempts = 1",
        "[verify]\non_protected = \"warn\"\nevery = [\"! grep '^<' shared.txt\"]\n",
    );
    workspace.commit("Configure");
    workspace.runs(&[]).exits(0).says("conflict");
    assert_eq!(workspace.states(), "a done, b done, c done");
    let mut lines: Vec<String> = landed(&workspace, "shared.txt")
        .lines()
        .skip(3)
        .map(str::to_owned)
        .collect();
    lines.sort();
    assert_eq!(lines, ["a", "b", "c"]);
    assert!(!workspace.noted("resolved").is_empty());
    verified_trees_landed(&workspace);
    let resolved = &workspace.noted("resolved")[0];
    let prompt = workspace.prompt(resolved, 2);
    for text in [
        "Resolve a conflict",
        "- shared.txt",
        "### What you changed",
        "### What has landed since",
        &format!("+{resolved}"),
    ] {
        assert!(prompt.contains(text), "{text}: {prompt}");
    }
    assert!(workspace.log().iter().any(|line| line.starts_with("conflict")));
}

#[test]
fn a_conflict_that_is_not_resolved_fails_the_task_and_keeps_its_work() {
    let workspace = repository(
        &["a", "b"],
        &format!("{TOGETHER} [ $task = a ] || awaits a-is-in; [ $attempt = 1 ] && echo $task > shared.txt; says done"),
    );
    workspace.configure("resolutions = 1\nattempts = 1", "");
    workspace.commit("Configure");
    let run = workspace.begins(&[]);
    workspace.until_log("merged a 1 true");
    let tip = workspace.git(&["rev-parse", BRANCH]);
    workspace.give("a-is-in");
    run.ends().exits(1);
    assert_eq!(workspace.states(), "a done, b failed");
    assert_eq!(workspace.git(&["rev-parse", BRANCH]), tip, "the branch is as it was");
    let notes = workspace.json()["tasks"][1]["notes"]
        .as_str()
        .expect("notes")
        .to_owned();
    assert!(
        notes.contains("it did not resolve the conflict") && notes.contains("shared.txt"),
        "{notes}"
    );
    // Its work is saved as commits that `git gc` keeps.
    workspace.git(&["gc", "-q", "--prune=now"]);
    let kept = workspace.git(&["for-each-ref", "--format=%(refname)", "refs/planwright/candidates"]);
    assert!(!kept.is_empty());
    let shown = workspace.git(&["show", &format!("{}:shared.txt", kept.lines().next().expect("one"))]);
    assert_eq!(shown, "b");
    workspace.script("[ -e fixed ] || echo \"b again\" > b.txt; says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn conflict_markers_never_land() {
    // The agent never resolves anything, whatever its prompt.
    let workspace = repository(
        &["a", "b"],
        &format!("{TOGETHER} [ $task = a ] || awaits a-is-in; [ $attempt = 1 ] && echo $task > shared.txt; says done"),
    );
    workspace.configure("attempts = 3", "");
    workspace.commit("Configure");
    let run = workspace.begins(&[]);
    workspace.until_log("merged a 1 true");
    workspace.give("a-is-in");
    run.ends().exits(1).says("its work is kept: commit");
    assert_eq!(workspace.states(), "a done, b failed");
    assert_eq!(landed(&workspace, "shared.txt"), "a");
    let mut began = workspace.noted("began");
    began.sort();
    assert_eq!(began, ["a", "b", "b", "b"], "two resolutions, and none more");
    assert!(workspace.prompt("b", 3).contains("Resolve a conflict"));
    assert!(
        !workspace.plan().contains("/tasks/"),
        "no path of this machine is in the plan"
    );
}

#[test]
fn prepared_files_do_not_land_and_are_never_stale() {
    let workspace = repository(
        &["a", "b a"],
        "cat .env >> seen-$task.txt; echo more >> made-too.txt; says done",
    );
    workspace.write(".gitignore", ".env\n");
    let aside = workspace.aside("").display().to_string();
    workspace.configure(
        "setup = [\"echo made > made.txt; echo made > made-too.txt\"]",
        &format!("[verify]\nevery = [\"cat .env >> {aside}/verified\"]\n"),
    );
    workspace.commit("Configure");
    workspace.write(".env", "one\n");
    workspace.runs(&["--only", "a"]).exits(0);
    assert!(!has(&workspace, BRANCH, "made.txt"), "what only run.setup made");
    assert_eq!(
        landed(&workspace, "made-too.txt"),
        "made\nmore",
        "what the agent changed"
    );
    workspace.write(".env", "two\n");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("verified"), ["one", "two"]);
    let tracked = repository(&["a"], "says done");
    tracked.configure("copy = [\"shared.txt\"]", "");
    tracked.commit("Configure");
    tracked.runs(&[]).exits(1).says("git keeps `shared.txt`");
}

#[test]
fn work_that_a_run_does_not_have_is_reported() {
    let workspace = repository(&["a", "b a"], "echo $task > $task.txt; says done");
    workspace.runs(&["--only", "a"]).exits(0);
    workspace.write("fix.txt", "a fix\n");
    workspace.git(&["add", "fix.txt"]);
    workspace.git(&["commit", "-q", "-m", "A fix", "--", "fix.txt"]);
    workspace.runs(&[]).exits(0).says("does not have the newest commits");
    workspace.git(&["branch", "-q", "-D", BRANCH]);
    workspace.write("plan.json", clido(&["a", "b a", "c"]));
    workspace
        .runs(&["--only", "c"])
        .exits(0)
        .says("work of the last run is not part of this one");
    let nothing = repository(&["a"], "says done");
    nothing.runs(&[]).exits(0).says("no changes");
}

#[test]
fn work_that_fails_verification_on_the_branch_does_not_land() {
    // Each is fine for itself, both together are not.
    let workspace = repository(
        &["a", "b"],
        &format!("{TOGETHER} [ $task = a ] || awaits a-is-in; echo $task > only-one-$task; says done"),
    );
    workspace.configure(
        "attempts = 1",
        "[verify]\nevery = [\"test $(ls only-one-* | wc -l) -le 1\"]\n",
    );
    workspace.commit("Configure");
    let run = workspace.begins(&[]);
    workspace.until_log("merged a 1 true");
    let tip = workspace.git(&["rev-parse", BRANCH]);
    workspace.give("a-is-in");
    run.ends().exits(1);
    assert_eq!(workspace.states(), "a done, b failed");
    assert_eq!(workspace.git(&["rev-parse", BRANCH]), tip);
    assert!(workspace.log().contains(&"verified b 1 false".to_owned()));
}

#[test]
fn verification_sees_the_tree_that_lands_and_nothing_else() {
    // The agent leaves ignored products that would make the check pass; the check itself edits files.
    let workspace = repository(
        &["a", "b a"],
        "mkdir -p built; echo yes > built/product; echo $task > $task.txt; says done",
    );
    workspace.write(".gitignore", "built/\n");
    workspace.configure("attempts = 1", "[verify]\nevery = [\"test ! -e built/product && test ! -e edited-$PLANWRIGHT_TASK && echo x > edited-$PLANWRIGHT_TASK && echo changed > shared.txt\"]\n");
    workspace.commit("Configure");
    workspace.runs(&[]).exits(0);
    assert_eq!(landed(&workspace, "shared.txt"), "one\ntwo\nthree");
    assert!(!has(&workspace, BRANCH, "edited-a"));
    verified_trees_landed(&workspace);
}

#[test]
fn caches_of_landed_work_are_kept_and_those_of_failures_are_not() {
    let script =
        "echo $task > $task.txt; [ $task = b ] && [ $attempt = 1 ] && echo bad > bad.txt || rm -f bad.txt; says done";
    let workspace = repository(&["a", "b a", "c b"], script);
    workspace.write(".gitignore", "cache/\n");
    let aside = workspace.aside("").display().to_string();
    workspace.configure(
        "attempts = 2",
        &format!("[verify]\nevery = [\"mkdir -p cache; ls cache | tr '\\\\n' ' ' >> {aside}/caches; echo >> {aside}/caches; touch cache/$PLANWRIGHT_TASK; test ! -e bad.txt\"]\n"),
    );
    workspace.commit("Configure");
    workspace.runs(&[]).exits(0);
    let seen: Vec<String> = workspace
        .noted("caches")
        .iter()
        .map(|line| line.trim().to_owned())
        .collect();
    assert_eq!(seen, ["", "a", "", "b"]);
}

#[test]
fn checkouts_are_prepared_by_copies_and_commands() {
    let workspace = repository(
        &["a"],
        "cat .env prepared > seen.txt; test -e node_modules/x/index.js && says done",
    );
    workspace.write(".gitignore", ".env\nprepared\nnode_modules/\n");
    workspace.configure(
        "setup = [\"echo ready > prepared\"]",
        "[verify]\nevery = [\"test -e prepared && test -e .env && test -e node_modules/x/index.js\"]\n",
    );
    workspace.commit("Configure");
    workspace.write(".env", "KEY=1\n");
    workspace.write("node_modules/x/index.js", "x\n");
    workspace.runs(&[]).exits(0);
    assert_eq!(landed(&workspace, "seen.txt"), "KEY=1\nready");
    assert!(!has(&workspace, BRANCH, ".env"));

    let failing = repository(&["a"], "says done");
    failing.configure("setup = [\"exit 3\"]", "");
    failing.commit("Configure");
    failing
        .runs(&[])
        .exits(3)
        .says("setup failed: `exit 3` of run.setup in the checkout of `a`");
    assert_eq!(failing.noted("began"), [""; 0]);
    failing.configure(
        "setup = [\"echo no compiler; exit 3\"]",
        "[verify]\nevery = [\"true\"]\n",
    );
    failing.commit("Verify");
    failing
        .runs(&[])
        .exits(1)
        .says("setup failed: `echo no compiler; exit 3` of run.setup ended with exit 3: no compiler");
    failing
        .runs(&["--baseline", "check", "--retry-failed"])
        .says("setup failed before the first attempt")
        .says("`echo no compiler; exit 3` failed (exit 3):");
}

#[test]
fn a_plan_that_names_a_branch_lands_there_unless_it_is_checked_out() {
    let plan = aimi(1, &["1"]).replace("\"branchName\": \"main\"", "\"branchName\": \"feat/try\"");
    let workspace = Workspace::new(("tasks.json", &plan), "echo x > x.txt; says done").in_git();
    workspace.runs(&[]).exits(0);
    assert_eq!(conditions(&workspace).branch, "feat/try");
    assert!(has(&workspace, "feat/try", "x.txt"));
    assert_eq!(workspace.git(&["branch", "--show-current"]), "main");

    let there = Workspace::new(("tasks.json", &aimi(1, &["1"])), "echo x > x.txt; says done").in_git();
    there.runs(&[]).exits(0);
    assert_eq!(conditions(&there).branch, "planwright/tasks");
    assert!(!there.exists("x.txt"));
}

#[test]
fn the_checked_out_branch_moves_only_on_request() {
    let workspace = repository(&["a"], "echo $task > $task.txt; says done");
    workspace.runs(&["--branch", "current"]).exits(0);
    assert_eq!(workspace.read("a.txt"), "a\n");
    assert_eq!(workspace.git(&["log", "-1", "--format=%s", "main"]), "a: Make a");
    assert_eq!(workspace.git(&["status", "--porcelain"]), " M plan.json");

    let dirty = repository(&["a"], "echo $task > $task.txt; says done");
    dirty.write("shared.txt", "changed by the user\n");
    let run = dirty.begins(&["--branch", "current"]);
    dirty.until_log("paused");
    assert_eq!(dirty.read("shared.txt"), "changed by the user\n");
    dirty.git(&["checkout", "-q", "--", "shared.txt"]);
    run.ends().exits(0);
    assert_eq!(dirty.read("a.txt"), "a\n");
}

#[test]
fn uncommitted_work_is_included_on_request() {
    let workspace = repository(&["a"], "cat shared.txt draft.txt > seen.txt; says done");
    workspace.write("shared.txt", "changed by the user\n");
    workspace.write("draft.txt", "a draft\n");
    let before = of_the_user(&workspace);
    workspace.runs(&["--include-uncommitted"]).exits(0);
    assert_eq!(of_the_user(&workspace), before);
    assert_eq!(landed(&workspace, "seen.txt"), "changed by the user\na draft");
    workspace.does(&["land"]).exits(1).says("uncommitted work: shared.txt");
    workspace.git(&["stash", "-q", "-u", "--", "shared.txt", "draft.txt"]);
    workspace.does(&["land"]).exits(0);
    assert_eq!(workspace.read("shared.txt"), "one\ntwo\nthree\n");
    assert!(!workspace.exists("draft.txt"));
    assert_eq!(workspace.read("seen.txt"), "changed by the user\na draft\n");
}

#[test]
fn a_conflict_with_uncommitted_work_says_to_commit_it() {
    let workspace = repository(
        &["a"],
        "sed -i.bak 's/mine/mine and more/' shared.txt; rm -f *.bak; says done",
    );
    workspace.write("shared.txt", "one\nmine\nthree\n");
    workspace.runs(&["--include-uncommitted"]).exits(0);
    workspace.git(&["stash", "-q", "--", "shared.txt"]);
    workspace
        .does(&["land"])
        .exits(1)
        .says("both changed shared.txt")
        .says("commit that work on `main`, and land again");
    workspace.git(&["stash", "pop", "-q"]);
    workspace.git(&["commit", "-q", "-m", "Mine", "--", "shared.txt"]);
    workspace.does(&["land"]).exits(0);
    assert_eq!(workspace.read("shared.txt"), "one\nmine and more\nthree\n");
}

#[test]
fn uncommitted_work_never_lands_and_hides_no_other_work() {
    let workspace = repository(&["a"], "echo $task > $task.txt; says done");
    let run = |tasks: &[&str], args: &[&str]| {
        workspace.write("plan.json", clido(tasks));
        workspace.runs(args).exits(0);
    };
    run(&["a"], &[]);
    workspace.write("draft.txt", "a draft\n");
    run(&["b"], &["--include-uncommitted"]);
    run(&["c"], &[]);
    // The draft is not committed, and is no obstacle.
    workspace
        .does(&["land"])
        .exits(0)
        .says("landed 3 tasks")
        .says(": a, b, c");
    for task in ["a", "b", "c"] {
        assert_eq!(workspace.read(&format!("{task}.txt")), format!("{task}\n"));
    }
    assert_eq!(workspace.read("draft.txt"), "a draft\n");
    assert!(!has(&workspace, "main", "draft.txt"));
    // All of it has landed: the branch starts again, without the draft.
    run(&["d"], &[]);
    assert!(!has(&workspace, BRANCH, "draft.txt"));
    workspace
        .does(&["land", "last"])
        .exits(0)
        .says("landed 1 task")
        .says(": d");
}

#[test]
fn the_plan_and_the_configuration_do_not_land() {
    let workspace = repository(
        &["a", "b"],
        "echo '{}' > plan.json; echo '[verify]' >> planwright.toml; echo $task > $task.txt; says done",
    );
    workspace.edit("Make b", "Make b well");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
    assert!(workspace.remarks().contains("plan.json"), "{}", workspace.remarks());
    assert_eq!(workspace.git(&["diff", "--name-only", "main", BRANCH]), "a.txt\nb.txt");
}

#[test]
fn names_of_tasks_and_plans_that_git_would_misread_are_safe() {
    let plan = clido(&["a"])
        .replace("\"id\": \"a\"", "\"id\": \"--force ..@{/~^:?*[\\\\ lock.lock\"")
        .replace("plan-a1b2c3d4", "../..@{-1} --x.lock");
    let workspace = Workspace::new(("plan.json", &plan), "echo x > x.txt; says done").in_git();
    workspace.runs(&[]).exits(0);
    let branch = conditions(&workspace).branch;
    assert!(branch.starts_with("planwright/"), "{branch}");
    assert!(has(&workspace, &branch, "x.txt"));
}
