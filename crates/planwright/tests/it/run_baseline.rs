//! Verification before the first attempt and without receipts, and commands that cannot start.

use crate::run::{Workspace, clido};

#[test]
fn a_command_that_cannot_start_is_found_before_an_agent_is_paid() {
    for (every, word) in [
        (
            "[[\"no-such-program\", \"-q\"]]",
            "could not start `no-such-program -q`",
        ),
        ("[\"no-such-program -q\"]", "could not start `no-such-program -q`"),
    ] {
        let mut workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done").in_git();
        workspace.set("PLANWRIGHT_VERIFY_BASELINE", "allow-failing");
        workspace.configure("", &format!("[verify]\nevery = {every}\n"));
        workspace.runs(&[]).exits(1).says(word).says("no agent was started");
        assert!(workspace.noted("began").is_empty());
        assert_eq!(workspace.states(), "a pending");
        assert!(workspace.places().is_empty(), "no run began");
        has_only_main(&workspace);
    }
}

/// Checks that no run left a branch, a worktree or a reference in the repository.
#[track_caller]
fn has_only_main(workspace: &Workspace) {
    let references = workspace.git(&["for-each-ref", "--format=%(refname)"]);
    assert_eq!(references, "refs/heads/main");
    assert_eq!(workspace.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_refused_baseline_leaves_a_branch_as_it_was() {
    let mut workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "touch made-$task; says done").in_git();
    workspace.set("PLANWRIGHT_VERIFY_BASELINE", "check");
    workspace.write("draft.txt", "not committed\n");
    workspace.configure("", "[verify]\nevery = [\"false\"]\n");
    workspace
        .runs(&["--include-uncommitted"])
        .exits(1)
        .says("no agent was started");
    has_only_main(&workspace);
    workspace.configure("", "");
    workspace.runs(&["--only", "a"]).exits(0);
    let branches = workspace.git(&["for-each-ref", "refs/heads"]);
    assert_eq!(branches.lines().count(), 2, "{branches}");
    workspace.configure("", "[verify]\nevery = [\"false\"]\n");
    workspace.runs(&[]).exits(1).says("no agent was started");
    // An earlier run made this one.
    assert_eq!(workspace.git(&["for-each-ref", "refs/heads"]), branches);
}

#[test]
fn verification_that_fails_on_the_base_stops_a_run_without_a_terminal() {
    for in_git in [false, true] {
        let mut workspace = Workspace::new(("plan.json", &clido(&["a"])), "echo x > made; says done");
        workspace.set("PLANWRIGHT_VERIFY_BASELINE", "check");
        workspace.configure("", "[verify]\nevery = [\"echo broken-before; test -e made\"]\n");
        let workspace = if in_git { workspace.in_git() } else { workspace };
        workspace
            .runs(&[])
            .exits(1)
            .says("broken-before")
            .says("no agent was started");
        assert!(workspace.noted("began").is_empty());
        if in_git {
            has_only_main(&workspace);
        }
        workspace
            .runs(&["--baseline", "allow-failing"])
            .exits(0)
            .says("failed on the base already");
        assert_eq!(workspace.states(), "a done");
    }
}

#[test]
fn a_baseline_is_known_by_its_tree_and_its_command() {
    let mut workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "echo x > made-$task; says done").in_git();
    workspace.set("PLANWRIGHT_VERIFY_BASELINE", "check");
    let rules = format!(
        "[verify]\nevery = [\"echo ran >> {}\"]\n",
        workspace.aside("ran").display()
    );
    workspace.configure("", &rules);
    workspace.runs(&["--only", "a"]).exits(0);
    assert_eq!(workspace.noted("ran").len(), 2, "on the base and for the task");
    // The branch has moved: another tree. Then nothing has changed any more.
    workspace.runs(&["--only", "b"]).exits(0);
    let n_ran = workspace.noted("ran").len();
    assert_eq!(n_ran, 4);
    workspace.does(&["reset", "a", "--force", "-p", "plan.json"]).exits(0);
    workspace.script("says done");
    workspace.runs(&["--only", "a"]).exits(0);
    workspace.does(&["reset", "a", "--force", "-p", "plan.json"]).exits(0);
    let before = workspace.noted("ran").len();
    workspace.runs(&["--only", "a"]).exits(0);
    assert_eq!(
        workspace.noted("ran").len(),
        before + 1,
        "the baseline of this tree is known"
    );
}

#[test]
fn tasks_without_a_receipt_are_reopened_if_verification_is_required() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a", "c"])),
        "echo x > made-$task; says done",
    );
    workspace.configure("", "[verify]\nrequired = true\nevery = [\"true\"]\n");
    workspace.runs(&["--only", "c"]).exits(0);
    workspace.edit(
        "\"Make a\", \"depends_on\": [], \"complexity\": \"low\", \"status\": \"pending\"",
        "\"Make a\", \"depends_on\": [], \"complexity\": \"low\", \"status\": \"done\"",
    );
    workspace
        .runs(&[])
        .exits(0)
        .says("no passed verification proves that `a` is done");
    assert_eq!(workspace.noted("began"), ["c", "a", "b"]);
    assert_eq!(workspace.ended().n_unverified, 0);
}
