//! What `replan` says, takes and leaves alone beyond the version itself: answers that come from files, versions that have files of
//! their own, and the files around them.

use crate::planning::{FAILED, WORKER, asked, configuration, n_asked, planner};
use crate::run::Workspace;

#[test]
fn an_answer_that_was_mended_is_taken_by_replan() {
    let workspace = planner("echo '{\"goal\": \"x\", \"tasks\": [{\"id\": \"t9\", \"description\": \"All anew\"}]}'");
    workspace.write("plan.json", FAILED);
    let came = workspace.does(&["replan", "plan.json", "--yes"]).exits(1);
    assert!(!came.text.contains("planwright import"), "{}", came.text);
    came.says("planwright replan plan.json --from plan.unusable.txt");
    let answer = workspace.read("plan.unusable.txt");
    let mended = answer.replace("[{", "[{\"id\": \"t1\", \"description\": \"Read it\"}, {");
    workspace.write("plan.unusable.txt", mended);
    workspace
        .does(&["replan", "plan.json", "--from", "plan.unusable.txt", "--yes"])
        .exits(0)
        .says("+ All anew");
}
