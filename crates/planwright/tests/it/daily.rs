//! What users see every day: plans on one screen, help, aliases, histories, edits and completions.

use crate::plans;
use crate::sandbox::Sandbox;

const CLIDO: &str = ".clido/plans/plan-a1b2c3d4.json";

/// Returns a clido plan with this many tasks: the first are done, one is failed, some wait, and some are ready.
fn large_plan(n_tasks: usize) -> String {
    let tasks: Vec<String> = (1..=n_tasks)
        .map(|n| {
            let status = match n {
                _ if n <= n_tasks / 2 => "done",
                _ if n == n_tasks - 3 => "failed",
                _ => "pending",
            };
            let depends = match n % 4 {
                0 => String::new(),
                _ => format!("\"t{}\"", n - 1),
            };
            let depends = if n == 1 { String::new() } else { depends };
            format!(
                "{{\"id\": \"t{n}\", \"description\": \"Move the module number {n} of the server to the new layout and keep its tests green\", \
                 \"status\": \"{status}\", \"depends_on\": [{depends}]}}"
            )
        })
        .collect();
    format!("{{\"goal\": \"Move everything\", \"tasks\": [{}]}}", tasks.join(",\n"))
}

fn with_large_plan() -> Sandbox {
    Sandbox::with(&[("plan.json", &large_plan(200))])
}

#[test]
fn two_hundred_tasks_fit_a_screen() {
    for (lines, columns) in [("50", "80"), ("24", "80"), ("50", "120"), ("12", "60")] {
        let sandbox = with_large_plan().set("LINES", lines).set("COLUMNS", columns);
        let shown = sandbox.run(&["show", "plan.json"]).exits(0).stdout.clone();
        let (n_lines, n_columns): (usize, usize) =
            (lines.parse().expect("a number"), columns.parse().expect("a number"));
        assert!(shown.lines().count() < n_lines, "{shown}");
        let widest = shown.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(n_columns), "{shown}");
        assert!(shown.contains("100 done: t1, t2"), "{shown}");
        assert!(shown.ends_with("100/200 done · 1 failed · 99 pending\n"), "{shown}");
        let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
        assert!(place("✗ t197") < place("○"), "{shown}");
        assert!(place("○") < place("waiting"), "{shown}");
        assert!(place("waiting") < place("100 done"), "{shown}");
    }
}

#[test]
fn every_task_is_shown_on_request() {
    let sandbox = with_large_plan().set("LINES", "24").set("COLUMNS", "80");
    let shown = sandbox.run(&["show", "--all", "plan.json"]).exits(0).stdout.clone();
    assert!(shown.contains("✓ t1 ") && shown.contains("✓ t100"), "{shown}");
    assert!(shown.contains("t200"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn tasks_are_chosen_by_state() {
    let sandbox = with_large_plan();
    let tasks = |states: &str| {
        let report = sandbox
            .run(&["show", "--json", "--state", states, "plan.json"])
            .exits(0)
            .json();
        report["tasks"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((tasks("done"), tasks("failed"), tasks("pending")), (100, 1, 99));
    assert_eq!(tasks("ready") + tasks("waiting"), 99);
    assert_eq!(tasks("failed,done"), 101);
    let failed = sandbox
        .run(&["show", "--state", "failed", "plan.json"])
        .exits(0)
        .stdout
        .clone();
    assert!(failed.contains("✗ t197") && !failed.contains("t196"), "{failed}");
    let none = sandbox.run(&["show", "--state", "blocked", "plan.json"]).exits(0);
    assert!(none.stdout.contains("no task is in this state"), "{}", none.text());
    sandbox.run(&["show", "--state", "green", "plan.json"]).exits(2);
    let pages = ["show", "--json", "--state", "done", "--limit", "60", "plan.json"];
    let first = sandbox.run(&pages).exits(0).json();
    let cursor = first["next_cursor"].as_str().expect("there is more").to_owned();
    let rest = sandbox
        .run(&[&pages[..], &["--cursor", &cursor]].concat())
        .exits(0)
        .json();
    assert_eq!(rest["tasks"].as_array().map(Vec::len), Some(40));
    assert!(rest["next_cursor"].is_null());
}

#[test]
fn next_counts_what_else_is_ready() {
    let sandbox = with_large_plan();
    let next = sandbox.run(&["next", "plan.json"]).exits(0);
    assert_eq!(next.stdout.lines().count(), 4, "{}", next.text());
    assert!(
        next.stderr
            .contains("22 more ready: `planwright next --all plan.json` lists them"),
        "{}",
        next.text()
    );
    let all = sandbox.run(&["next", "--all", "plan.json"]).exits(0);
    assert!(all.stderr.is_empty(), "{}", all.text());
    let small = Sandbox::with(&[(CLIDO, plans::CLIDO)]);
    let next = small.run(&["next"]).exits(0);
    assert!(!next.stderr.contains("more ready"), "{}", next.text());
}
