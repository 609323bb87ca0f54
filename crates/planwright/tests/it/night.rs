//! What a night leaves behind: prompts with the real reasons, failures with the command that shows more, and a morning view.

use crate::planning::{asked, configuration, planner};
use crate::run::{Workspace, clido};

#[test]
fn prompts_name_the_commands_that_verify_the_work_and_what_they_printed() {
    let script = "cat > \"$ASIDE/prompt-$(ls \"$ASIDE\" | grep -c prompt)\"; echo ok; says done";
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), script);
    workspace.configure("", "[verify]\nevery = [[\"sh\", \"check.sh\"]]\n");
    workspace.write("check.sh", "echo 'expected 3, got 4'; exit 1");
    workspace.does(&["run", "plan.json", "--attempts", "2"]).exits(1);
    let prompt = |n: u32| std::fs::read_to_string(workspace.aside(&format!("prompt-{n}"))).expect("a prompt");
    assert!(prompt(0).contains("```text\nsh check.sh\n```"), "{}", prompt(0));
    assert!(prompt(1).contains("\nexpected 3, got 4\n"), "{}", prompt(1));
}

#[test]
fn planners_read_what_the_failed_command_printed() {
    let workspace = planner("exit 7");
    workspace.write("plan.json", clido(&["a"]));
    workspace.write(
        "agent.sh",
        "cat > /dev/null; echo ok; printf '{\"planwright_result\": 1, \"outcome\": \"done\"}' > \"$PLANWRIGHT_RESULT\"",
    );
    let rest = "[agents.worker]\ncommand = [\"sh\", \"agent.sh\"]\n[run]\nagent = \"worker\"\n[verify]\nevery = [\"echo 'expected 3, got 4'; exit 1\"]\n";
    workspace.write("planwright.toml", configuration(&workspace, rest));
    workspace.does(&["run", "plan.json", "--attempts", "1"]).exits(1);
    workspace.does(&["replan", "plan.json", "--yes"]).exits(3);
    let prompt = asked(&workspace, 0);
    assert!(prompt.contains("failed (exit 1):\nexpected 3, got 4"), "{prompt}");
}
