//! Proposals wait for approval: new versions by planners, and tasks by active agents. The discoveries of these agents reach the next
//! planner.

use crate::planning::{BETTER, FAILED, WORKER, configuration, n_asked, planner};
use crate::run::Workspace;
use crate::run_replans::failing;

#[test]
fn a_new_version_waits_for_approval() {
    let workspace = planner(BETTER);
    workspace.write("plan.json", FAILED);
    workspace
        .does(&["replan", "plan.json"])
        .exits(1)
        .says("approve --proposed plan.json");
    workspace
        .does(&["proposals", "plan.json"])
        .exits(0)
        .says("a new version by thinker")
        .says("too much at once");
    workspace
        .does(&["reject", "--proposed", "plan.json", "--note", "no"])
        .exits(0)
        .says("rejected");
    workspace
        .does(&["proposals", "plan.json"])
        .exits(0)
        .says("no proposals");
    workspace
        .does(&["approve", "--proposed", "plan.json"])
        .exits(1)
        .says("no proposals");
    workspace.does(&["replan", "plan.json"]).exits(1);
    workspace
        .does(&["approve", "--proposed", "plan.json", "--by", "ada"])
        .exits(0)
        .says("+ Write half of it");
    assert!(workspace.read("plan.json").contains("Write half of it"));
    workspace
        .does(&["history", "plan.json"])
        .exits(0)
        .says("approved by ada");
    assert_eq!(n_asked(&workspace), 2);
}

#[test]
fn proposals_do_not_prevent_a_replan() {
    let workspace = failing(BETTER);
    let fails = "cat > /dev/null; echo $PLANWRIGHT_TASK >> made\n\
        [ $PLANWRIGHT_TASK = t2 ] && printf '{\"planwright_result\": 1, \"outcome\": \"failed\", \"proposed_tasks\": [{\"description\": \"Tell somebody\"}]}' > \"$PLANWRIGHT_RESULT\" && exit 0\n\
        printf '{\"planwright_result\": 1, \"outcome\": \"done\"}' > \"$PLANWRIGHT_RESULT\"";
    workspace.write("agent.sh", fails);
    workspace
        .does(&["run", "plan.json", "--replan", "1", "--attempts", "2"])
        .exits(1);
    assert_eq!(n_asked(&workspace), 1);
    assert_eq!(workspace.read("made"), "t2\nt2\nt4\nt3\n");
    // Both attempts proposed the same.
    let listed = workspace.does(&["proposals", "plan.json"]).exits(0);
    assert_eq!(listed.text.matches("Tell somebody").count(), 1, "{}", listed.text);
}

/// Returns a workspace whose agent proposes a task at `t1`.
pub(crate) fn growing(proposal: &str) -> Workspace {
    let workspace = planner("exit 7");
    let pending = FAILED
        .replace("done\"", "pending\"")
        .replace("failed\"", "pending\"")
        .replace("skipped\"", "pending\"");
    workspace.write("plan.json", pending);
    workspace.write(
        "agent.sh",
        format!(
            "cat > /dev/null; echo $PLANWRIGHT_TASK >> made\nmore=; [ $PLANWRIGHT_TASK = t1 ] && more=', \"proposed_tasks\": [{proposal}]'\nprintf '{{\"planwright_result\": 1, \"outcome\": \"done\"%s}}' \"$more\" > \"$PLANWRIGHT_RESULT\"\n"
        ),
    );
    workspace.write("planwright.toml", configuration(&workspace, WORKER));
    workspace
}

#[test]
fn proposed_tasks_are_held() {
    let workspace = growing("{\"description\": \"Sweep\", \"depends_on\": [\"t1\"]}");
    let before = workspace.read("plan.json").lines().count();
    workspace
        .does(&["run", "plan.json"])
        .exits(1)
        .says("it proposes a new task")
        .says("approve --proposed plan.json");
    assert_eq!(workspace.read("made"), "t1\nt2\nt3\n");
    assert_eq!(workspace.read("plan.json").lines().count(), before);
    workspace
        .does(&["proposals", "plan.json"])
        .exits(0)
        .says("at t1")
        .says("Sweep");
    let proposals = workspace.root().join(".planwright/proposals");
    let kept = workspace.aside("kept");
    let copied = |from: &std::path::Path, to: &std::path::Path| {
        let status = std::process::Command::new("cp").arg("-a").args([from, to]).status();
        assert!(status.is_ok_and(|status| status.success()));
    };
    copied(&proposals, &kept);
    workspace
        .does(&["approve", "--proposed", "plan.json"])
        .exits(0)
        .says("+ Sweep");
    // If `approve` is stopped before it removes the proposal, the next one does not take it twice.
    copied(&kept.join("."), &proposals);
    let grown = workspace.read("plan.json");
    workspace
        .does(&["approve", "--proposed", "plan.json"])
        .exits(0)
        .says("taken before");
    assert_eq!(workspace.read("plan.json"), grown);
    workspace
        .does(&["proposals", "plan.json"])
        .exits(0)
        .says("no proposals");
    workspace.does(&["run", "plan.json"]).exits(0).says("1 done");
    assert_eq!(workspace.read("made").lines().count(), 4);
    workspace.does(&["check", "plan.json"]).exits(0);
}

#[test]
fn proposed_tasks_run_if_the_user_allows_it() {
    let workspace = growing("{\"description\": \"Sweep\", \"depends_on\": [\"t1\"]}");
    workspace
        .does(&["run", "plan.json", "--accept-proposals"])
        .exits(0)
        .says("added a new task to the plan")
        .says("4 done");
    assert_eq!(workspace.read("made").lines().count(), 4);
}

#[test]
fn invalid_proposals_are_refused_and_change_nothing() {
    for (proposal, says) in [
        ("{\"description\": \"Sweep\", \"depends_on\": [\"nobody\"]}", "nobody"),
        (
            "{\"id\": \"x\", \"description\": \"Sweep\", \"depends_on\": [\"x\"]}",
            "cannot be added to the plan",
        ),
        (
            "{\"id\": \"t2\", \"description\": \"Sweep\"}",
            "cannot be added to the plan",
        ),
        ("{\"no\": \"task\"}", "cannot be added to the plan"),
    ] {
        let held = growing(proposal);
        held.does(&["run", "plan.json"])
            .exits(0)
            .says("cannot be added to the plan");
        let workspace = growing(proposal);
        workspace
            .does(&["run", "plan.json", "--accept-proposals"])
            .exits(0)
            .says(says);
        assert_eq!(workspace.read("made"), "t1\nt2\nt3\n", "{proposal}");
        workspace.does(&["check", "plan.json"]).exits(0);
    }
}

#[test]
fn discoveries_of_agents_reach_the_planner() {
    let workspace = failing(BETTER);
    workspace.write(
        "agent.sh",
        "cat > /dev/null; printf '{\"planwright_result\": 1, \"outcome\": \"failed\", \"notes\": \"no\", \"discoveries\": [\"the API has no paging\"]}' > \"$PLANWRIGHT_RESULT\"",
    );
    workspace.does(&["run", "plan.json"]).exits(1);
    workspace
        .does(&["replan", "plan.json", "--dry-run"])
        .exits(0)
        .says("the API has no paging");
}
