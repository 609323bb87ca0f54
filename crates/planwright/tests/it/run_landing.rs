//! Tasks in their own checkouts: what lands, what is kept, and that nothing of the user's is changed. Tests for docs/landing.md.

use std::collections::BTreeMap;
use std::path::Path;

use planwright_run::runs::{FixedSettings, LandingEndRecord, RunEvent};

use crate::plans;
use crate::run::{Workspace, aimi, clido, rawko};

/// The branch of the plan that most tests have.
const BRANCH: &str = "planwright/plan-a1b2c3d4";

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

fn has(workspace: &Workspace, branch: &str, name: &str) -> bool {
    files(workspace, branch).iter().any(|file| file == name)
}

/// Returns the isolation that the log has.
fn isolation(workspace: &Workspace) -> String {
    let found = workspace.records().into_iter().find_map(|record| match record.event {
        RunEvent::RunStarted(begun) => begun.isolation,
        _ => None,
    });
    found.expect("a beginning").as_str().to_owned()
}

fn conditions(workspace: &Workspace) -> FixedSettings {
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
