//! The holders of tasks: owners, numbers, leases, taking over; and `retry`, which offers failed tasks again.

use serde_json::Value;

use crate::run::{Workspace, clido};
use crate::sandbox::Sandbox;

const PLAN: &str = "plan.json";

fn sandbox() -> Sandbox {
    Sandbox::with(&[(PLAN, &clido(&["a", "b", "c a"]))]).set("USER", "alice")
}

/// Takes the next task for an owner, and returns its name and the number of the claim.
fn next(sandbox: &Sandbox, by: &str) -> (String, String) {
    let report = sandbox
        .run(&["next", PLAN, "--start", "--by", by, "--json"])
        .exits(0)
        .json();
    let task = report["ready"][0]["task"]["task"].as_str().expect("a task").to_owned();
    (task, report["claim"]["number"].to_string())
}

/// Has bob take a task over from ada, and returns the report.
fn take_over(sandbox: &Sandbox, verb: &[&str]) -> Value {
    let options = ["--by", "bob", "--take-over", "--note", "ada is away", "--json"];
    sandbox.run(&[verb, &options].concat()).exits(0).json()
}

#[test]
fn only_the_holder_finishes_a_task() {
    let sandbox = sandbox();
    sandbox.run(&["start", "a", "-p", PLAN]).exits(0);
    for verb in ["done", "fail"] {
        let refused = sandbox.run(&[verb, "a", "-p", PLAN, "--by", "bob"]).exits(1).stderr;
        assert!(refused.contains("`a` is not yours: alice@"), "{refused}");
        assert!(refused.contains("--take-over"), "{refused}");
    }
    sandbox.run(&["done", "a", "-p", PLAN]).exits(0);
}

#[test]
fn a_claim_by_name_is_finished_with_its_number() {
    let sandbox = sandbox();
    let (task, number) = next(&sandbox, "worker-1");
    let refused = sandbox
        .run(&["done", &task, "-p", PLAN, "--by", "worker-1"])
        .exits(1)
        .stderr;
    assert!(refused.contains("--claim"), "{refused}");
    let other = sandbox.run(&["done", &task, "-p", PLAN, "--by", "worker-1", "--claim", "999"]);
    assert!(other.exits(1).stderr.contains("there is no claim 999"));
    sandbox
        .run(&["done", &task, "-p", PLAN, "--by", "worker-1", "--claim", &number])
        .exits(0);
}

#[test]
fn only_the_holder_releases_a_task() {
    let sandbox = sandbox();
    let (task, number) = next(&sandbox, "ada");
    for verb in ["skip", "reset"] {
        for extra in [&[][..], &["--by", "bob"], &["--force"]] {
            let args = [&[verb, &task, "-p", PLAN][..], extra].concat();
            let refused = sandbox.run(&args).exits(1).stderr;
            assert!(refused.contains("`a` is not yours: ada holds it since 20"), "{refused}");
            assert!(refused.contains("--take-over --note"), "{refused}");
        }
        let stale = [verb, &task, "-p", PLAN, "--by", "ada", "--claim", "999"];
        assert!(sandbox.run(&stale).exits(1).stderr.contains("there is no claim 999"));
        let bare = [verb, &task, "-p", PLAN, "--by", "bob", "--take-over"];
        assert!(sandbox.run(&bare).exits(2).stderr.contains("--note"));
    }
    let own = ["reset", &task, "-p", PLAN, "--by", "ada", "--claim", &number];
    sandbox.run(&own).exits(0);
    let (task, _) = next(&sandbox, "ada");
    assert_eq!(
        take_over(&sandbox, &["skip", &task, "-p", PLAN])["taken_over_from"],
        "ada"
    );
    // The user's own claim without a name, and tasks without a claim.
    sandbox.run(&["start", "b", "-p", PLAN]).exits(0);
    sandbox.run(&["reset", "b", "-p", PLAN]).exits(0);
    sandbox.run(&["skip", "b", "-p", PLAN, "--by", "bob"]).exits(0);
}

#[test]
fn a_task_with_an_expired_lease_may_be_reset_by_another_owner() {
    let sandbox = sandbox();
    sandbox
        .run(&["start", "a", "-p", PLAN, "--by", "ada", "--lease", "1s"])
        .exits(0);
    sandbox.run(&["reset", "a", "-p", PLAN, "--by", "bob"]).exits(1);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let report = sandbox.run(&["reset", "a", "-p", PLAN, "--by", "bob", "--json"]);
    assert_eq!(report.exits(0).json()["taken_over_from"], "ada");
}

#[test]
fn only_the_holder_undoes_a_start() {
    let sandbox = sandbox();
    sandbox.run(&["start", "a", "-p", PLAN, "--by", "ada"]).exits(0);
    let refused = sandbox.run(&["undo", PLAN, "--by", "bob"]).exits(1).stderr;
    assert!(refused.contains("`a` is not yours: ada holds it"), "{refused}");
    sandbox.run(&["undo", PLAN, "--by", "bob", "--take-over"]).exits(2);
    assert_eq!(take_over(&sandbox, &["undo", PLAN])["taken_over_from"], "ada");
    sandbox.run(&["start", "a", "-p", PLAN, "--by", "ada"]).exits(0);
    sandbox.run(&["undo", PLAN, "--by", "ada"]).exits(0);
}

#[test]
fn a_task_that_is_running_again_has_its_holder_again() {
    let sandbox = sandbox();
    let (task, number) = next(&sandbox, "ada");
    let done = ["done", &task, "-p", PLAN, "--by", "ada", "--claim", &number];
    sandbox.run(&done).exits(0);
    sandbox.run(&["undo", PLAN]).exits(0);
    let why = sandbox.run(&["why", &task, "-p", PLAN]).exits(0).stdout;
    assert!(
        why.contains("held by ada") && why.contains(&format!("(claim {number})")),
        "{why}"
    );
    sandbox.run(&["done", &task, "-p", PLAN, "--by", "bob"]).exits(1);
    sandbox.run(&done).exits(0);
}

#[test]
fn the_number_of_a_claim_on_another_task_is_named() {
    let sandbox = sandbox();
    let (first, of_first) = next(&sandbox, "worker-1");
    let (second, _) = next(&sandbox, "worker-1");
    let wrong = ["done", &second, "-p", PLAN, "--by", "worker-1", "--claim", &of_first];
    let refused = sandbox.run(&wrong).exits(1).stderr;
    let words = format!("claim {of_first} is on `{first}`, not on `{second}`");
    assert!(refused.contains(&words), "{refused}");
    sandbox
        .run(&["done", &first, "-p", PLAN, "--by", "worker-1", "--claim", &of_first])
        .exits(0);
    let refused = sandbox.run(&wrong).exits(1).stderr;
    assert!(refused.contains(&words), "{refused}");
}

#[test]
fn a_stale_process_does_not_finish_what_was_claimed_again() {
    let sandbox = sandbox();
    let (task, old) = next(&sandbox, "worker-1");
    let free = ["reset", &task, "-p", PLAN, "--take-over", "--note", "it hangs"];
    sandbox.run(&free).exits(0);
    let (again, new) = next(&sandbox, "worker-1");
    assert_eq!(task, again);
    assert_ne!(old, new);
    let stale = ["done", &task, "-p", PLAN, "--by", "worker-1", "--claim", &old];
    assert!(sandbox.run(&stale).exits(1).stderr.contains("is over"));
    let fresh = ["done", &task, "-p", PLAN, "--by", "worker-1", "--claim", &new];
    sandbox.run(&fresh).exits(0);
}

#[test]
fn taking_over_needs_a_reason_and_is_recorded() {
    let sandbox = sandbox();
    sandbox.run(&["start", "a", "-p", PLAN, "--by", "ada"]).exits(0);
    let bare = ["done", "a", "-p", PLAN, "--by", "bob", "--take-over"];
    assert!(sandbox.run(&bare).exits(2).stderr.contains("--note"));
    let report = take_over(&sandbox, &["done", "a", "-p", PLAN]);
    assert_eq!(report["taken_over_from"], "ada");
    let history = sandbox.run(&["history", PLAN]).exits(0).stdout;
    assert!(history.contains("taken over from ada"), "{history}");
}

#[test]
fn confirming_a_task_that_waits_for_others_needs_force() {
    let sandbox = sandbox();
    let confirm = ["done", "c", "-p", PLAN, "--take-over", "--note", "checked by hand"];
    let refused = sandbox.run(&confirm).exits(1).stderr;
    assert!(refused.contains("task `c` is not ready: it waits for `a`"), "{refused}");
    let forced: Vec<&str> = confirm.iter().copied().chain(["--force"]).collect();
    let said = sandbox.run(&forced).exits(0).stdout;
    assert!(said.contains("dependencies"), "{said}");
}

#[test]
fn an_expired_lease_lets_another_owner_claim_the_task() {
    let sandbox = sandbox();
    sandbox.run(&["start", "b", "-p", PLAN]).exits(0);
    sandbox
        .run(&["start", "a", "-p", PLAN, "--by", "ada", "--lease", "1s"])
        .exits(0);
    let early = sandbox.run(&["start", "a", "-p", PLAN, "--by", "bob"]).exits(1).stderr;
    assert!(early.contains("ada holds it"), "{early}");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let offered = sandbox.run(&["next", PLAN, "--json"]).exits(0).json();
    let names = |report: &Value| -> Vec<String> {
        let ready = report["ready"].as_array().expect("tasks").iter();
        ready
            .map(|task| task["task"]["task"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(names(&offered), ["a"]);
    let shown = sandbox.run(&["show", PLAN]).exits(0).stdout;
    assert!(
        shown.contains("held by ada") && shown.contains("its lease ended at"),
        "{shown}"
    );
    let doctor = sandbox.run(&["doctor"]).text();
    assert!(doctor.contains("`a`") && doctor.contains("lease"), "{doctor}");
    let (task, number) = next(&sandbox, "bob");
    assert_eq!(task, "a");
    let late = ["done", "a", "-p", PLAN, "--by", "ada", "--claim", "2"];
    assert!(sandbox.run(&late).exits(1).stderr.contains("bob holds it"));
    let why = sandbox.run(&["why", "a", "-p", PLAN]).exits(0).stdout;
    assert!(why.contains("held by bob"), "{why}");
    sandbox
        .run(&["done", "a", "-p", PLAN, "--by", "bob", "--claim", &number])
        .exits(0);
}

#[test]
fn a_holder_whose_lease_is_over_may_still_finish() {
    let sandbox = sandbox();
    sandbox.run(&["start", "a", "-p", PLAN, "--lease", "1s"]).exits(0);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    sandbox.run(&["done", "a", "-p", PLAN]).exits(0);
}

#[test]
fn times_of_claims_are_shown_to_the_second() {
    let sandbox = sandbox();
    let start = ["start", "a", "-p", PLAN, "--by", "ada", "--lease", "2h"];
    let mut shown = vec![sandbox.run(&start).exits(0).text()];
    for verb in [
        &["show", PLAN][..],
        &["why", "a", "-p", PLAN],
        &["list"],
        &["next", PLAN],
    ] {
        shown.push(sandbox.run(verb).exits(0).text());
    }
    shown.push(sandbox.run(&["done", "a", "-p", PLAN, "--by", "bob"]).exits(1).text());
    let is_millisecond = |word: &str| word.starts_with("20") && word.contains('T') && word.contains('.');
    for text in &shown {
        assert!(!text.split([' ', ',', ';']).any(is_millisecond), "{text}");
    }
    assert!(shown[1].contains(":") && shown[1].contains(" (claim"), "{}", shown[1]);
    assert!(!shown[1].contains("Z (claim"), "{}", shown[1]);
    let json = sandbox.run(&["why", "a", "-p", PLAN, "--json"]).exits(0).json();
    assert!(
        is_millisecond(json["holder"]["since"].as_str().expect("a time")),
        "{json}"
    );
}

#[test]
fn a_lease_is_a_duration() {
    let sandbox = sandbox();
    for typed in ["soon", "0s", "-5m", ""] {
        sandbox.run(&["start", "a", "-p", PLAN, "--lease", typed]).exits(2);
    }
}

#[test]
fn a_failed_task_that_is_retried_is_offered_again() {
    let sandbox = sandbox();
    sandbox.run(&["start", "a", "-p", PLAN]).exits(0);
    sandbox.run(&["fail", "a", "-p", PLAN]).exits(0);
    let retried = sandbox.run(&["retry", "a", "-p", PLAN]).exits(0).stdout;
    assert!(retried.contains("a: failed → pending"), "{retried}");
    assert!(sandbox.run(&["next", PLAN]).exits(0).stdout.contains("Make a"));
    sandbox.run(&["start", "a", "-p", PLAN]).exits(0);
    sandbox.run(&["fail", "a", "-p", PLAN]).exits(0);
    let started = sandbox.run(&["retry", "a", "-p", PLAN, "--start"]).exits(0).stdout;
    assert!(started.contains("a: failed → running"), "{started}");
    sandbox.run(&["done", "a", "-p", PLAN]).exits(0);
}

#[test]
fn an_aimi_story_stays_failed_until_it_starts_again() {
    let path = ".aimi/tasks/2026-01-01-try-tasks.json";
    let sandbox = Sandbox::with(&[(path, &crate::run::aimi(2, &["1", "2 1"]))]);
    sandbox.run(&["start", "US-001", "-p", path]).exits(0);
    sandbox.run(&["fail", "US-001", "-p", path]).exits(0);
    let failed = sandbox.read(path);
    let none = sandbox.run(&["next", path]).exits(1).text();
    assert!(none.contains("no task is ready"), "{none}");
    sandbox.run(&["retry", "US-001", "-p", path]).exits(0);
    assert_eq!(sandbox.read(path), failed, "the file has no other legal pair");
    let offered = sandbox.run(&["next", path]).exits(0).stdout;
    assert!(offered.contains("US-001"), "{offered}");
    // A change that only the history has can be undone as well.
    sandbox.run(&["undo", path]).exits(0);
    assert_eq!(sandbox.read(path), failed);
    sandbox.run(&["next", path]).exits(1);
    sandbox.run(&["retry", "US-001", "-p", path]).exits(0);
    let twice = sandbox.run(&["next", path, "--start"]).exits(0).stdout;
    assert!(twice.contains("US-001"), "{twice}");
    assert!(sandbox.read(path).contains("in_progress"));
    sandbox.run(&["done", "US-001", "-p", path]).exits(0);
}

#[test]
fn a_list_of_plans_names_who_holds_tasks() {
    let path = ".clido/plans/plan-a1b2c3d4.json";
    let sandbox = Sandbox::with(&[(path, &clido(&["a"]))]);
    sandbox
        .run(&["start", "a", "-p", path, "--by", "ada", "--lease", "2h"])
        .exits(0);
    let listed = sandbox.run(&["list"]).exits(0).stdout;
    assert!(
        listed.contains("a: held by ada since") && listed.contains("until"),
        "{listed}"
    );
    let report = sandbox.run(&["list", "--json"]).exits(0).json();
    assert!(
        report["plans"][0]["holders"][0]
            .as_str()
            .expect("words")
            .contains("ada")
    );
}

#[test]
fn a_story_that_is_offered_again_is_run() {
    let path = ".aimi/tasks/2026-01-01-try-tasks.json";
    let workspace = crate::run::Workspace::new((path, &crate::run::aimi(1, &["1", "2 1"])), "says done");
    workspace.does(&["start", "US-001", "-p", path]).exits(0);
    workspace.does(&["fail", "US-001", "-p", path]).exits(0);
    workspace.runs(&[]).exits(1);
    assert!(
        workspace.noted("began").is_empty(),
        "what has failed is not tried again by itself"
    );
    workspace.does(&["retry", "US-001", "-p", path]).exits(0);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["US-001", "US-002"]);
    assert_eq!(workspace.states(), "US-001 done, US-002 done");
}

#[test]
fn a_task_that_another_owner_holds_is_neither_removed_nor_taken_back() {
    let sandbox = sandbox();
    sandbox.run(&["start", "a", "-p", PLAN, "--by", "worker-1"]).exits(0);
    let refused = sandbox.run(&["remove", "a", "-p", PLAN, "--by", "bob"]).exits(1).stderr;
    assert!(refused.contains("worker-1"), "{refused}");
    // The lease of the first claim has expired, and the second does not change the file.
    sandbox
        .run(&["start", "b", "-p", PLAN, "--by", "worker-2", "--lease", "1s"])
        .exits(0);
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    sandbox.run(&["start", "b", "-p", PLAN, "--by", "worker-3"]).exits(0);
    let refused = sandbox.run(&["undo", PLAN, "--by", "bob"]).exits(1).stderr;
    assert!(refused.contains("worker-3"), "{refused}");
}

#[test]
fn a_run_names_the_holder_of_what_it_waits_for() {
    let workspace = Workspace::new((PLAN, &clido(&["a", "b a"])), "says done").in_git();
    workspace.does(&["start", "a", "-p", PLAN, "--by", "ann"]).exits(0);
    let came = workspace
        .runs(&[])
        .exits(1)
        .says("nothing to run: 0 of 2 tasks are done, 1 running, 1 waiting");
    let command = "planwright reset a -p plan.json --take-over --note \"…\"";
    came.says("`a` is held by ann since 20").says(command);
    assert_eq!(workspace.git(&["branch", "--list", "planwright/*"]), "");
    assert!(workspace.places().is_empty(), "no run began");
    let dry = workspace.runs(&["--dry-run"]).exits(1);
    dry.says("0 of 2 tasks would run").says("b (they depend on tasks");
}

#[test]
fn a_run_that_is_stuck_suggests_what_resolves_it() {
    let workspace = Workspace::new((PLAN, &clido(&["a", "b a", "c"])), "says done");
    workspace.does(&["start", "a", "-p", PLAN, "--by", "ann"]).exits(0);
    let came = workspace
        .runs(&[])
        .exits(1)
        .says("got stuck")
        .says("`a` is held by ann since 20");
    came.says("To continue planwright reset a -p plan.json --take-over --note \"…\"");
    assert_eq!(workspace.states(), "a running, b pending, c done");
    let taken = ["reset", "a", "-p", PLAN, "--take-over", "--note", "ann is away"];
    workspace.does(&taken).exits(0);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done, c done");
}

#[test]
fn tasks_that_move_with_another_are_listed_once() {
    let sandbox = sandbox();
    sandbox.run(&["start", "a", "-p", PLAN]).exits(0);
    let failed = sandbox.run(&["fail", "a", "-p", PLAN]).exits(0).stdout;
    assert!(failed.contains("skipped with it: c"), "{failed}");
    let done = ["done", "a", "-p", PLAN, "--take-over", "--note", "done by hand"];
    let done = sandbox.run(&done).exits(0).stdout;
    assert_eq!(done.matches("pending again with it: c").count(), 1, "{done}");
}
