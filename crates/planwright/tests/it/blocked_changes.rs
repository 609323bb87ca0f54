//! Changes of plans with obstacles: other writers, limits and protections of files, and unexpected files in the workspace.

use serde_json::Value;

use crate::changes::{CLIDO, PLAN, clido};
use crate::sandbox::Sandbox;

/// A plan of many independent stories, with a slot for each.
fn wide(n_stories: usize) -> String {
    let stories: Vec<String> = (1..=n_stories)
        .map(|n| {
            format!(
                r#"    {{"id": "US-{n:03}", "title": "s", "description": "As a user, I want {n}", "acceptanceCriteria": ["Typecheck passes"], "priority": {n}, "status": "pending", "dependsOn": [], "notes": ""}}"#
            )
        })
        .collect();
    format!(
        "{{\n  \"schemaVersion\": \"3.0\",\n  \"metadata\": {{\"title\": \"T\", \"type\": \"feat\", \"branchName\": \"feat/x\", \"createdAt\": \"2026-11-15\", \"maxConcurrency\": {n_stories}}},\n  \"userStories\": [\n{}\n  ]\n}}\n",
        stories.join(",\n")
    )
}

#[test]
fn sixteen_at_once_lose_nothing() {
    const N: usize = 16;
    let file = ".aimi/tasks/x-tasks.json";
    let sandbox = Sandbox::with(&[(file, &wide(N))]);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        // A reader without a lock always sees a whole plan.
        let reader = scope.spawn(|| {
            let mut n_reads = 0;
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let text = sandbox.read(file);
                let plan: Value = serde_json::from_str(&text).expect("whole at every instant");
                assert_eq!(plan["userStories"].as_array().map(Vec::len), Some(N));
                n_reads += 1;
            }
            n_reads
        });
        let writers: Vec<_> = (1..=N)
            .map(|n| {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    let story = format!("US-{n:03}");
                    sandbox.run(&["start", &story]).exits(0);
                    sandbox.run(&["done", &story, "--note", &format!("by {n}")]).exits(0);
                })
            })
            .collect();
        for writer in writers {
            writer.join().expect("a writer");
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(reader.join().expect("the reader") > 0);
    });
    let text = sandbox.read(file);
    for n in 1..=N {
        let notes = format!("\"status\": \"completed\", \"dependsOn\": [], \"notes\": \"by {n}\"");
        assert!(text.contains(&notes), "{text}");
    }
    let history = sandbox.run(&["history", "--json", "--limit", "99"]).exits(0).json();
    assert_eq!(history["n_changes"], 2 * N);
}

#[test]
fn concurrent_callers_of_next_start_get_different_tasks() {
    const N: usize = 12;
    let sandbox = Sandbox::with(&[(".aimi/tasks/x-tasks.json", &wide(N))]);
    let mut taken: Vec<String> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..N)
            .map(|_| {
                scope.spawn(|| {
                    let next = sandbox.run(&["next", "--start", "--json"]).exits(0).json();
                    next["ready"][0]["task"]["task"].as_str().expect("a name").to_owned()
                })
            })
            .collect();
        callers
            .into_iter()
            .map(|caller| caller.join().expect("a caller"))
            .collect()
    });
    taken.sort();
    let all: Vec<String> = (1..=N).map(|n| format!("US-{n:03}")).collect();
    assert_eq!(taken, all);
    sandbox.run(&["next", "--start"]).exits(1);
}

#[cfg(unix)]
#[test]
fn a_file_size_limit_is_an_error_and_keeps_the_old_text() {
    let sandbox = Sandbox::new();
    let long = CLIDO.replace("Count them", &"x".repeat(5_000));
    sandbox.write(PLAN, &long);
    let limited = |args: &[&str]| {
        std::process::Command::new("sh")
            .args([
                "-c",
                "ulimit -f 4; exec \"$0\" \"$@\"",
                env!("CARGO_BIN_EXE_planwright"),
            ])
            .args(args)
            .current_dir(sandbox.path())
            .output()
            .expect("a shell")
    };
    for args in [
        &["start", "t1"][..],
        &["check", "--fix", "quoted.json"],
        &["convert", PLAN, "--to", "rawko", "--out", "a.json"],
    ] {
        sandbox.write("quoted.json", long.replace("}\n  ]", "},\n  ]"));
        let ran = limited(args);
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(3), "{args:?}: {stderr}");
        assert!(stderr.contains("ulimit -f"), "{stderr}");
    }
    assert_eq!(sandbox.read(PLAN), long);
    assert!(!sandbox.path().join("a.json").exists());
    let plans = std::fs::read_dir(sandbox.path().join(".clido/plans")).expect("a folder");
    assert_eq!(plans.count(), 1, "no litter");
    sandbox.run(&["start", "t1"]).exits(0);
}

#[cfg(unix)]
#[test]
fn a_file_or_link_in_place_of_the_state_folder_is_named() {
    for is_link in [false, true] {
        let sandbox = clido();
        let state = sandbox.path().join(".planwright");
        match is_link {
            false => std::fs::write(&state, "mine").expect("a file"),
            true => std::os::unix::fs::symlink("nowhere", &state).expect("a link"),
        }
        let what = if is_link {
            "is a link that leads nowhere"
        } else {
            "is not a folder"
        };
        for args in [&["start", "t1"][..], &["init"], &["archive", PLAN]] {
            let ran = sandbox.run(args).exits(3);
            assert!(ran.stderr.contains(what), "{}", ran.text());
            assert!(
                ran.stderr.contains(".planwright") && ran.stderr.contains("move the existing"),
                "{}",
                ran.text()
            );
        }
        sandbox.run(&["show"]).exits(0);
        assert_eq!(sandbox.read(PLAN), CLIDO);
    }
}

#[test]
fn a_write_protected_plan_is_left_alone() {
    let sandbox = clido();
    let path = sandbox.path().join(PLAN);
    let mut permissions = std::fs::metadata(&path).expect("a file").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).expect("a mode");
    for args in [&["start", "t1"][..], &["add", "More"], &["set", "t1", "notes=x"]] {
        let ran = sandbox.run(args).exits(3);
        assert!(ran.stderr.contains("write-protected"), "{}", ran.text());
        assert!(ran.stderr.contains("chmod u+w"), "{}", ran.text());
    }
    assert_eq!(sandbox.read(PLAN), CLIDO);
}

#[test]
fn a_pointer_that_cannot_be_updated_is_reported_with_its_path() {
    let plan = include_str!("../../../../examples/rawko/.rawko/plans/plan-20261006-rate-limit.yaml");
    for (pointer, place) in [
        ("task: [\nplanId: x\n", ".rawko/current-task.yaml:"),
        ("- a list\n", ".rawko/current-task.yaml:1:1"),
        ("planId: &a x\ntask: y\nstatus: *a\n", ".rawko/current-task.yaml:"),
    ] {
        let sandbox = Sandbox::with(&[
            (".rawko/plans/plan-20261006-rate-limit.yaml", plan),
            (".rawko/current-task.yaml", pointer),
        ]);
        let args = ["start", "1", "-p", ".rawko/plans/plan-20261006-rate-limit.yaml"];
        let ran = sandbox.run(&args).exits(0);
        assert!(
            ran.stderr.contains("warning: the plan is written, but"),
            "{}",
            ran.text()
        );
        assert!(ran.stderr.contains(place), "{}", ran.text());
        assert_eq!(sandbox.read(".rawko/current-task.yaml"), pointer);
        sandbox.run(&["undo", args[3]]).exits(0);
        let json: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let report = sandbox.run(&json).exits(0).json();
        let notices = report["notices"].as_array().expect("a list");
        assert!(
            notices
                .iter()
                .any(|notice| notice.as_str().is_some_and(|notice| notice.contains(place))),
            "{report}"
        );
    }
    let sandbox = Sandbox::with(&[
        (".rawko/plans/plan-20261006-rate-limit.yaml", plan),
        (".rawko/current-task.yaml", "\n"),
    ]);
    sandbox.run(&["start", "1"]).exits(0);
    assert!(
        sandbox
            .read(".rawko/current-task.yaml")
            .contains("planId: plan-20261006-rate-limit")
    );
}

#[test]
fn a_torn_journal_is_mentioned_by_its_history() {
    let sandbox = clido();
    sandbox.run(&["start", "t1"]).exits(0);
    let folder = sandbox.path().join(".planwright/journal");
    let journal = std::fs::read_dir(folder)
        .expect("journals")
        .flatten()
        .next()
        .expect("a journal")
        .path();
    let mut bytes = std::fs::read(&journal).expect("a journal");
    bytes.extend_from_slice(b"{\"half a rec");
    std::fs::write(&journal, &bytes).expect("a journal");
    let ran = sandbox.run(&["history"]).exits(0);
    assert!(
        ran.stderr
            .contains("the last record of the journal is incomplete (12 bytes)"),
        "{}",
        ran.text()
    );
    let report = sandbox.run(&["history", "--json"]).exits(0).json();
    assert_eq!(report["n_torn"], 12);
    sandbox.run(&["done", "t1"]).exits(0);
    let report = sandbox.run(&["history", "--json"]).exits(0).json();
    assert_eq!(
        (&report["n_torn"], &report["n_changes"]),
        (&Value::from(0), &Value::from(2))
    );
}
