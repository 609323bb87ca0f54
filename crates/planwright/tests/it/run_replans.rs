//! Runs whose plan is replanned after failures: how often, within which budgets, and who is notified.

use crate::planning::{BETTER, FAILED, WORKER, configuration, n_asked, planner};
use crate::run::Workspace;

/// Returns a workspace whose agent fails at `t2` for ever, and whose planner answers with a script.
pub(crate) fn failing(script: &str) -> Workspace {
    let workspace = planner(script);
    workspace.write(
        "plan.json",
        FAILED
            .replace("failed\"", "pending\"")
            .replace("skipped\"", "pending\"")
            .replace("skipped because t2 failed", ""),
    );
    workspace.write("agent.sh", "cat > /dev/null; echo $PLANWRIGHT_TASK >> made; [ $PLANWRIGHT_TASK = t2 ] && exit 1; printf '{\"planwright_result\": 1, \"outcome\": \"done\"}' > \"$PLANWRIGHT_RESULT\"");
    workspace.write("planwright.toml", configuration(&workspace, WORKER));
    workspace
}

#[test]
fn a_run_replans_failed_tasks_and_continues() {
    let workspace = failing(BETTER);
    workspace
        .does(&["run", "plan.json", "--replan", "2"])
        .exits(0)
        .says("+ Write half of it");
    assert_eq!(workspace.read("made"), "t2\nt4\nt3\n");
    assert_eq!(n_asked(&workspace), 1);
}

#[test]
fn replans_that_change_nothing_count_and_are_reported() {
    let same = "cat <<'END'\n{\"goal\": \"x\", \"tasks\": [{\"id\": \"t1\", \"description\": \"Read it\"}, {\"id\": \"t2\", \"description\": \"Write it\", \"depends_on\": [\"t1\"]}, {\"id\": \"t3\", \"description\": \"Test it\", \"depends_on\": [\"t2\"]}]}\nEND";
    let workspace = failing(same);
    let came = workspace.does(&["run", "plan.json", "--replan", "2"]).exits(1);
    came.says("t2 failed, and does not change in this version")
        .says("was replanned 2 times");
    assert_eq!(workspace.read("made"), "t2\nt2\nt2\n");
    assert_eq!(n_asked(&workspace), 2);
}

#[test]
fn budgets_hold_over_all_versions_of_a_plan() {
    let same = "cat <<'END'\n{\"goal\": \"x\", \"tasks\": [{\"id\": \"t1\", \"description\": \"Read it\"}, {\"id\": \"t2\", \"description\": \"Write it\", \"depends_on\": [\"t1\"]}, {\"id\": \"t3\", \"description\": \"Test it\", \"depends_on\": [\"t2\"]}]}\nEND";
    for (most, made) in [("1", "t2\n"), ("2", "t2\nt2\n")] {
        let workspace = failing(same);
        workspace
            .does(&["run", "plan.json", "--replan", "4", "--max-attempts", most])
            .exits(1)
            .says("is spent (run.budget.attempts): the plan is not replanned");
        assert_eq!(workspace.read("made"), made);
    }
}

#[test]
fn rawko_events_report_new_versions() {
    let workspace = failing(BETTER);
    let came = workspace
        .does(&["run", "plan.json", "--replan", "2", "--json-events", "rawko"])
        .exits(0);
    let kinds: Vec<String> = came
        .text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|event| event["type"].as_str().map(str::to_owned))
        .collect();
    let expected = [
        "PLAN_CREATED",
        "STEP_STARTED",
        "STEP_FAILED",
        "PLAN_REPLANNED",
        "STEP_STARTED",
        "STEP_COMPLETED",
        "STEP_STARTED",
        "STEP_COMPLETED",
    ];
    assert_eq!(kinds, expected, "{}", came.text);
}

#[test]
fn rawko_plans_are_replanned_by_default_where_there_is_a_planner_and_fail_in_the_end() {
    let workspace =
        planner("printf 'steps:\\n  - description: Write it again %s\\n' \"$(ls \"$ASIDE\" | grep -c asked)\"");
    workspace.write("agent.sh", "cat > /dev/null; echo $PLANWRIGHT_PLAN >> made; exit 1");
    workspace.write("planwright.toml", configuration(&workspace, WORKER));
    workspace.write(
        ".rawko/plans/plan-20260123-calls.yaml",
        "id: plan-20260123-calls\ntask: Limit calls\nstatus: draft\nversion: 1\ncurrentStepIndex: 0\ncreatedAt: \"2026-01-23T10:00:00Z\"\nupdatedAt: \"2026-01-23T10:35:00Z\"\ncreatedBy: planner\nsteps:\n  - index: 0\n    description: Write it\n    status: pending\n",
    );
    workspace.does(&["run"]).exits(1).says("was replanned 3 times");
    assert_eq!(n_asked(&workspace), 3);
    assert_eq!(workspace.read("made").lines().count(), 4);
    let last = workspace.read(".rawko/plans/plan-20260123-calls-v4.yaml");
    assert!(
        last.contains("status: failed\n") && last.contains("version: 4\n"),
        "{last}"
    );
    workspace
        .does(&["replan", "plan-20260123-calls-v4", "--yes"])
        .exits(1)
        .says("replanned 3 times");
    workspace
        .does(&["run", "plan-20260123-calls", "--replan", "1"])
        .exits(1);
    // The printed command works.
    let last = ".rawko/plans/plan-20260123-calls-v4.yaml";
    workspace.write("agent.sh", "cat > /dev/null");
    workspace.does(&["undo", last]).exits(0);
    workspace.does(&["run", "--retry-failed", last]).exits(0);
}
