//! The output of a run for the next morning: prompts with the real reasons, failures with the command that shows more, reports.

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

/// Returns a workspace in git in which `a` is verified and lands, and `b` fails.
fn half_failed() -> Workspace {
    let script = "echo one > made-$PLANWRIGHT_TASK; echo two >> made-$PLANWRIGHT_TASK; says done";
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a", "c b"])), script);
    workspace.write("check.sh", "test ! -e made-b || { echo 'expected 3, got 4'; exit 1; }");
    workspace.configure("", "[verify]\nevery = [[\"sh\", \"check.sh\"]]\n");
    let workspace = workspace.in_git();
    workspace.runs(&["--attempts", "1"]).exits(1);
    workspace
}

#[test]
fn the_summary_shows_each_tasks_changes_and_the_first_one_to_review() {
    let workspace = half_failed();
    let summary = workspace.does(&["summary"]).exits(0);
    let summary = summary
        .says("look first at b (failed)")
        .says("expected 3, got 4")
        .says("1 file +2 −0, ")
        .says("verified by 1 command")
        .says("planwright replan plan.json");
    // The command that shows the reason works as it is printed.
    let command = summary
        .text
        .lines()
        .find(|line| line.contains("planwright logs b"))
        .expect("a command");
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    assert!(words.contains(&"--checks"), "{command}");
    workspace.does(&words).exits(0).says("expected 3, got 4");
    let report = workspace.does(&["summary", "--json"]).exits(0).as_json();
    assert_eq!(report["changes"][0]["added"], 2, "{report}");
    assert_eq!(report["look_first"][0]["why"], "failed", "{report}");
}

#[test]
fn the_report_of_a_run_has_diffs_and_the_plan_as_it_was() {
    let workspace = half_failed();
    let page = |workspace: &Workspace, args: &[&str]| {
        let command = [&["report", "--out", "-"], args].concat();
        workspace.does(&command).exits(0).text
    };
    let plain = page(&workspace, &[]);
    assert!(
        plain.contains("1 file +2 −0") && !plain.contains("class=\"diff\""),
        "{plain}"
    );
    let with_diff = page(&workspace, &["--diff"]);
    assert!(with_diff.contains("<span class=\"added\">+two</span>"), "{with_diff}");
    workspace
        .does(&["set", "c", "description=Another thing", "-p", "plan.json"])
        .exits(0);
    let later = page(&workspace, &[]);
    assert!(
        later.contains("Make c") && !later.contains("Another thing"),
        "the plan as it was"
    );
}
