//! The examples run for real: a script edits their files, and cargo builds and tests the result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use planwright_testkit::repository;
use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

/// An example, and the result of a run.
struct Example {
    name: &'static str,
    /// The remaining tasks.
    tasks: &'static [&'static str],
    n_done_before: usize,
}

const CLIDO: Example = Example {
    name: "clido",
    tasks: &["t2", "t3", "t4", "t5"],
    n_done_before: 1,
};

const CHECKLIST: Example = Example {
    name: "checklist",
    tasks: &["T2", "T3", "T4", "T5"],
    n_done_before: 1,
};

const AIMI: Example = Example {
    name: "aimi",
    tasks: &["US-002", "US-003", "US-004"],
    n_done_before: 1,
};

const OPENCRABS: Example = Example {
    name: "opencrabs",
    tasks: &["1", "2", "3", "4"],
    n_done_before: 0,
};

const RAWKO: Example = Example {
    name: "rawko",
    tasks: &["1", "2", "3"],
    n_done_before: 1,
};

const TASK_PACK: Example = Example {
    name: "task-pack",
    tasks: &["T001", "T002", "T003"],
    n_done_before: 0,
};

/// A workspace with a copy of an example.
fn copy_of(example: &Example) -> Sandbox {
    let sandbox = Sandbox::new();
    copy(
        &repository().join("examples").join(example.name),
        &sandbox.path().join(example.name),
    );
    sandbox
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("ours");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            // Leftovers of a run in the example itself.
            true if ["target", ".planwright"].iter().any(|name| from.ends_with(name)) => {}
            true => copy(&from, &to),
            false => drop(std::fs::copy(&from, &to).expect("ours")),
        }
    }
}

/// Returns the events of a kind, from the JSON of a run.
fn events<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let fitting = records.iter().filter(|record| record["kind"] == kind);
    fitting.map(|record| &record["body"]).collect()
}

fn records(ran: &Ran) -> Vec<Value> {
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a record on each line"))
        .collect()
}

#[track_caller]
fn cargo_tests_pass(folder: &Path) {
    let output = Command::new("cargo")
        .args(["test", "--offline", "--quiet"])
        .current_dir(folder)
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!text.contains("running 0 tests"), "{text}");
}

/// Runs an example to its end, and returns the events.
#[track_caller]
fn is_carried_out(example: &Example) -> Vec<Value> {
    let sandbox = copy_of(example);
    let ran = sandbox
        .run(&["run", "--json", "--require-verification", example.name])
        .exits(0);
    let records = records(&ran);
    let n_tasks = example.n_done_before + example.tasks.len();
    let ended = events(&records, "run-ended");
    assert_eq!(ended.len(), 1, "{}", ran.text());
    assert_eq!(ended[0]["standing"], "finished");
    assert_eq!(ended[0]["n_done"], example.tasks.len());
    assert_eq!(ended[0]["n_unverified"], 0);
    let mut passed: Vec<&str> = events(&records, "verified")
        .into_iter()
        .filter(|verified| verified["passed"] == true && verified["unverified"].is_null())
        .map(|verified| {
            assert_ne!(verified["receipts"].as_array().map_or(0, Vec::len), 0, "{verified}");
            verified["task"].as_str().expect("a name")
        })
        .collect();
    passed.sort_unstable();
    assert_eq!(passed, example.tasks, "{}", ran.text());
    all_is_done(&sandbox, example);
    cargo_tests_pass(&sandbox.path().join(example.name));
    let again = sandbox.run(&["run", example.name]).exits(0);
    assert!(
        again
            .text()
            .contains(&format!("nothing to run: {n_tasks} of {n_tasks}")),
        "{}",
        again.text()
    );
    records
}

/// Checks that all tasks of the plan are done.
#[track_caller]
fn all_is_done(sandbox: &Sandbox, example: &Example) {
    let shown = sandbox.run(&["show", "--json", example.name]).exits(0).json();
    let progress = &shown["plan"]["progress"];
    assert_eq!(progress["done"], progress["total"], "{shown}");
    sandbox.run(&["check", "--deny", "warnings", example.name]).exits(0);
}

#[test]
fn a_failure_is_fixed_by_the_next_attempt() {
    let records = is_carried_out(&CLIDO);
    let verified: Vec<(&str, u64, bool)> = events(&records, "verified")
        .into_iter()
        .filter_map(|verified| {
            let (task, attempt) = (verified["task"].as_str()?, verified["attempt"].as_u64()?);
            Some((task, attempt, verified["passed"].as_bool()?))
        })
        .filter(|(task, ..)| *task == "t5")
        .collect();
    assert_eq!(verified, [("t5", 1, false), ("t5", 2, true)]);
}

#[test]
fn a_checklist_is_carried_out() {
    is_carried_out(&CHECKLIST);
}

#[test]
fn stories_are_carried_out() {
    is_carried_out(&AIMI);
}

#[test]
fn an_approved_plan_is_carried_out() {
    is_carried_out(&OPENCRABS);
}

#[test]
fn steps_are_carried_out_by_their_suggested_agents() {
    let records = is_carried_out(&RAWKO);
    let agents: Vec<&str> = events(&records, "starting")
        .into_iter()
        .filter_map(|starting| starting["agent"].as_str())
        .collect();
    assert_eq!(agents, ["developer", "developer", "tester"]);
}

#[test]
fn a_task_pack_is_carried_out_within_its_files() {
    let records = is_carried_out(&TASK_PACK);
    assert_eq!(events(&records, "drifted"), [&Value::Null; 0]);
}

#[test]
fn every_example_is_tried() {
    let entries = std::fs::read_dir(repository().join("examples"))
        .expect("a folder")
        .flatten();
    let mut found: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    found.sort_unstable();
    let mut tried = [CHECKLIST, CLIDO, AIMI, OPENCRABS, RAWKO, TASK_PACK].map(|example| example.name);
    tried.sort_unstable();
    assert_eq!(found, tried);
}

/// Returns the files of a project with their content.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path().is_dir() {
            true => found.extend(files(&entry.path())),
            false => drop(found.insert(entry.path(), std::fs::read(entry.path()).expect("ours"))),
        }
    }
    found
}

#[test]
fn a_task_may_be_done_twice() {
    for example in [CLIDO, AIMI, OPENCRABS, RAWKO, TASK_PACK] {
        let sandbox = copy_of(&example);
        let folder = sandbox.path().join(example.name);
        let work = |task: &str| {
            let status = Command::new("sh")
                .arg("agent.sh")
                .current_dir(&folder)
                .env("PLANWRIGHT_TASK", task)
                .env("PLANWRIGHT_RESULT", sandbox.path().join("result.json"))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .status()
                .expect("sh runs");
            assert!(status.success(), "{} {task}", example.name);
            let result: Value = serde_json::from_str(&sandbox.read("result.json")).expect("a result file");
            for file in result["affected_files"].as_array().expect("files") {
                assert!(folder.join(file.as_str().expect("a path")).is_file(), "{file}");
            }
        };
        example.tasks.iter().for_each(|task| work(task));
        let once = files(&folder);
        example.tasks.iter().for_each(|task| work(task));
        assert_eq!(files(&folder), once, "{}", example.name);
    }
}

#[test]
fn two_at_a_time_each_in_a_worktree_of_its_own() {
    let sandbox = copy_of(&AIMI);
    let folder = sandbox.path().join(AIMI.name);
    let git = |args: &[&str]| {
        let own = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let mut command = Command::new("git");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        let output = command
            .args(own)
            .args(args)
            .current_dir(&folder)
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    git(&["init", "--quiet", "--initial-branch", "feat/rate-limit"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "Begin"]);
    let ran = sandbox
        .run(&["run", "--json", "-j", "2", "--isolation", "worktrees", AIMI.name])
        .exits(0);
    let records = records(&ran);
    assert_eq!(events(&records, "merged").len(), 3, "{}", ran.text());
    all_is_done(&sandbox, &AIMI);
    cargo_tests_pass(&folder);
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1);
    let changed = git(&["status", "--porcelain"]);
    assert_eq!(changed, " M .aimi/tasks/2026-10-06-rate-limit-tasks.json\n");
}

// run --copy-to

const CLIDO_PLAN: &str = ".clido/plans/plan-5f0c2a9e.json";

#[test]
fn a_copy_is_run_and_the_original_stays() {
    let sandbox = copy_of(&CLIDO);
    let before = files(&sandbox.path().join("clido"));
    let ran = sandbox.run(&["run", "--copy-to", "out/first", "clido", "--max-tasks", "1"]);
    assert_eq!(ran.status, Some(1), "{}", ran.text());
    assert!(ran.stderr.contains("copied 9 files to out/first"), "{}", ran.text());
    assert!(
        ran.stderr.contains("the plan and the work are in out/first"),
        "{}",
        ran.text()
    );
    assert!(sandbox.path().join("out/first/src/limit.rs").is_file());
    assert!(sandbox.path().join("out/first/.planwright").is_dir());
    let ran = sandbox.run(&["run", "--copy-to", "out/first", "clido"]).exits(0);
    assert!(ran.stderr.contains("is a copy already"), "{}", ran.text());
    assert!(sandbox.path().join("out/first/tests/load.rs").is_file());
    assert_eq!(files(&sandbox.path().join("clido")), before);
    let shown = sandbox.run(&["show", "--json", "out/first"]).exits(0).json();
    assert_eq!(shown["plan"]["path"], format!("out/first/{CLIDO_PLAN}"));
}

#[test]
fn a_copy_needs_a_place_of_its_own() {
    let sandbox = copy_of(&CLIDO);
    for (folder, status) in [
        ("clido", 1),
        ("full", 1),
        ("clido/agent.sh", 1),
        ("clido/agent.sh/x", 3),
    ] {
        sandbox.write("full/notes.txt", "mine");
        let ran = sandbox.run(&["run", "--copy-to", folder, "clido"]).exits(status);
        ran.is_decent();
        assert!(ran.stdout.is_empty(), "{}", ran.text());
    }
    sandbox.run(&["run", "--dry-run", "--copy-to", "new", "clido"]).exits(2);
    assert!(!sandbox.path().join("new").exists());
    assert_eq!(files(&sandbox.path().join("full")).len(), 1);
}

// A folder as PLAN

#[test]
fn a_folder_means_its_only_plan() {
    let sandbox = copy_of(&CLIDO);
    for folder in ["clido", "./clido/", "clido/src", "clido/src/.."] {
        let shown = sandbox.run(&["show", "--json", folder]).exits(0).json();
        assert_eq!(shown["plan"]["path"], format!("clido/{CLIDO_PLAN}"), "{folder}");
    }
    sandbox.run(&["start", "t2", "-p", "clido"]).exits(0);
    let ran = sandbox.run(&["undo", "clido"]).exits(0);
    assert!(ran.stdout.contains("took back start t2"), "{}", ran.text());
    let aside = sandbox.run(&["delete", "--yes", "clido"]).exits(3);
    assert!(aside.stderr.contains("is a folder"), "{}", aside.text());
    let none = sandbox.run(&["show", "."]).exits(1);
    assert!(none.stderr.contains("`.` has no plans"), "{}", none.text());
    sandbox.write(
        "clido/.clido/plans/plan-6.json",
        sandbox.read(&format!("clido/{CLIDO_PLAN}")),
    );
    let several = sandbox.run(&["show", "clido"]).exits(1);
    assert!(several.stderr.contains("several plans match"), "{}", several.text());
}
