//! Output to a real terminal: no text of a plan may control it, even if programs get it byte for byte.

use std::process::{Command, Stdio};

use crate::plans;
use crate::sandbox::Sandbox;

/// Control and bidirectional characters.
pub(crate) const EVIL: &str = "\u{9b}31m\u{202e}";

/// Runs a shell line in a terminal of its own, with the binary as `$PLANWRIGHT`, and returns everything sent to the terminal. None if this
/// machine cannot create a terminal, with a note.
#[expect(clippy::print_stderr, reason = "a skipped test must say that it was skipped")]
fn at_a_terminal(test: &str, sandbox: &Sandbox, line: &str) -> Option<String> {
    let script = |line: &str| {
        let mut command = Command::new("script");
        // Linux takes the command as an option, the BSDs as what follows the file.
        if cfg!(target_os = "linux") {
            command.args(["-q", "-e", "-c", line, "/dev/null"]);
        } else {
            command.args(["-q", "/dev/null", "sh", "-c", line]);
        }
        let output = command
            .current_dir(sandbox.path())
            .env("SHELL", "/bin/sh")
            .env("PLANWRIGHT", env!("CARGO_BIN_EXE_planwright"))
            .env("EVIL", format!("\u{1b}[2J{EVIL}"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    match script("test -t 1 && test -t 2 && echo 'a terminal'") {
        Ok(answer) if answer.contains("a terminal") => Some(script(line).expect("it ran before")),
        _ => {
            eprintln!("{test}: skipped, `script` makes no terminal on this machine");
            None
        }
    }
}

/// Returns the control characters, without those of line ends and of `script`'s message at the end of its input.
fn driving(sent: &str) -> Vec<char> {
    let sent = sent.replace("\r\n", "\n").replace("^D\u{8}\u{8}", "");
    let is_evil = |c: &char| (c.is_control() && !matches!(c, '\n' | '\t')) || *c == '\u{202e}';
    sent.chars().filter(is_evil).collect()
}

/// Checks that a command prints a text exactly into a pipe, and harmlessly at a terminal.
pub(crate) fn check_both(test: &str, sandbox: &Sandbox, args: &[&str], exact: &str, harmless: &str) {
    let piped = sandbox.run(args);
    assert!(piped.stdout.contains(exact), "{:?}", piped.text());
    let line = format!("\"$PLANWRIGHT\" {}", args.join(" "));
    if let Some(sent) = at_a_terminal(test, sandbox, &line) {
        assert!(sent.contains(harmless), "{sent:?}");
        assert_eq!(driving(&sent), [], "{sent:?}");
    }
}

#[test]
fn a_diff_does_not_control_the_terminal() {
    let text = format!("{{\"goal\": \"g{EVIL}\",\n\t\"tasks\": [\n{{\"id\": \"t1\", \"description\": \"d\",}}]}}\n");
    let sandbox = Sandbox::with(&[("plan.json", &text)]);
    check_both(
        "a_diff_does_not_control_the_terminal",
        &sandbox,
        &["check", "--diff", "plan.json"],
        &format!("g{EVIL}\",\n \t\"tasks\""),
        "g\\u{9b}31m\\u{202e}",
    );
}

#[test]
fn an_answer_of_the_original_does_not_control_the_terminal() {
    let pack = plans::task_pack("x").replace("Read the card", &format!("Read{EVIL}"));
    let sandbox = Sandbox::with(&[("pack.md", &pack)]);
    check_both(
        "an_answer_of_the_original_does_not_control_the_terminal",
        &sandbox,
        &["spec-first", "tasks", "validate", "--json", "pack.md"],
        &format!("Read{EVIL}"),
        "Read\\u{9b}31m\\u{202e}",
    );
}

#[test]
fn an_error_does_not_control_the_terminal_when_only_results_are_piped() {
    let sandbox = Sandbox::new();
    let line = "\"$PLANWRIGHT\" spec-first tasks \"$EVIL\" > out.txt";
    let test = "an_error_does_not_control_the_terminal_when_only_results_are_piped";
    if let Some(sent) = at_a_terminal(test, &sandbox, line) {
        assert!(sent.contains("Unknown tasks subcommand: \\u{1b}[2J"), "{sent:?}");
        assert_eq!(driving(&sent), [], "{sent:?}");
    }
    let piped = sandbox.run(&["spec-first", "tasks", "\u{1b}[2J"]);
    assert!(piped.stderr.contains("\u{1b}[2J"), "{:?}", piped.text());
}

#[test]
fn deleting_asks_at_a_terminal() {
    let plan = ".clido/plans/plan-a1b2c3d4.json";
    let evil = plans::CLIDO.replace("Split the parser", &format!("Split{EVIL}"));
    for (answer, is_deleted) in [("", false), ("n", false), ("Y", true)] {
        let sandbox = Sandbox::with(&[(plan, &evil)]);
        // A program that answers: the terminal's own input is empty here.
        let line = format!("printf '{answer}\\n' | script -q -e -c '\"$PLANWRIGHT\" delete a1b2' /dev/null");
        if cfg!(not(target_os = "linux")) {
            return;
        }
        if let Some(sent) = at_a_terminal("deleting_asks_at_a_terminal", &sandbox, &line) {
            assert!(sent.contains("Delete this plan? [y/N]"), "{sent:?}");
            assert_eq!(driving(&sent.replace('\r', "")), [], "{sent:?}");
            assert_eq!(!sandbox.path().join(plan).exists(), is_deleted, "{answer}: {sent:?}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_rebuilt_pack_is_written_after_confirmation() {
    let answer = r#"{"tasks": [{"task_id": "T009", "requirement_refs": ["R1"], "goal": "Read", "dependencies": [],
        "files": ["src/a.rs"], "test_focus": "t", "done_signal": "d", "stop_if": "s"}]}"#;
    let pack = "docs/tasks/2026-05-11-001-feat-photos-tasks.md";
    for (said, is_written) in [("", false), ("n", false), ("y", true)] {
        let sandbox = Sandbox::with(&[
            ("docs/plans/photos.md", plans::SOURCE_PLAN),
            (pack, &plans::task_pack("sha256:old")),
            ("answer.json", answer),
        ]);
        let line = format!(
            "printf '{said}\\n' | script -q -e -c '\"$PLANWRIGHT\" tasks regenerate {pack} --from answer.json' /dev/null"
        );
        if let Some(sent) = at_a_terminal("a_rebuilt_pack_is_written_after_confirmation", &sandbox, &line) {
            assert!(sent.contains("Write this pack? [y/N]"), "{sent:?}");
            assert_eq!(sandbox.read(pack).contains("T009"), is_written, "{said}: {sent:?}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_draft_is_edited_until_it_is_valid_or_abandoned() {
    let answer = r#"{"goal": "x", "tasks": [{"id": "t1", "description": "Read"}, {"id": "t2", "description": "Write", "depends_on": ["t1"]}]}"#;
    let spoils = "sed -i 's/\"id\": \"t1\"/\"id\": \"t9\"/' \"$1\"\n";
    let mends_then =
        format!("[ -e spoilt ] && sed -i 's/\"id\": \"t9\"/\"id\": \"t1\"/' \"$1\" || {{ touch spoilt; {spoils} }}\n");
    for (editor, said, says, is_kept) in [
        ("true\n", "", "plan-", true),
        ("exit 1\n", "", "the draft is kept unchanged", true),
        (spoils, "abandon", "abandoned", false),
        (spoils, "keep", "unknown-dependency", true),
        (&mends_then, "edit", "unknown-dependency", true),
    ] {
        let sandbox = Sandbox::with(&[("answer.json", answer), ("ed.sh", editor)]);
        let line = format!(
            "printf '{said}\\n' | EDITOR='sh ed.sh' script -q -e -c '\"$PLANWRIGHT\" plan \"Limit calls\" --dialect clido --from answer.json --out plan.json' /dev/null"
        );
        if let Some(sent) = at_a_terminal("a_draft_is_edited_until_it_is_valid_or_abandoned", &sandbox, &line) {
            assert!(sent.contains(says) || says == "plan-", "{said}: {sent:?}");
            // The next command is the last printed line, and matches the state of the draft.
            let last = sent.trim_end().lines().last().unwrap_or_default().to_owned();
            let next = match (said, is_kept) {
                ("abandon", _) => "planwright import plan.abandoned.txt",
                ("keep", _) => "next: planwright edit plan.json",
                _ if editor == "exit 1\n" => "planwright delete plan.json",
                _ => "next: planwright run plan.json",
            };
            assert!(last.contains(next), "{said}: {sent:?}");
            assert_eq!(sandbox.path().join("plan.json").exists(), is_kept, "{said}: {sent:?}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_new_version_is_written_after_confirmation() {
    let answer = r#"{"goal": "x", "tasks": [{"id": "t9", "description": "Anew"}]}"#;
    let plan = r#"{"meta": {"id": "plan-a1b2c3d4", "goal": "g", "created_at": "2026-03-22T10:00:00Z"}, "tasks": [{"id": "t1", "description": "Old", "status": "failed"}]}"#;
    for (said, is_written) in [("", false), ("n", false), ("y", true)] {
        let sandbox = Sandbox::with(&[("answer.json", answer), ("plan.json", plan)]);
        let line = format!(
            "printf '{said}\\n' | script -q -e -c '\"$PLANWRIGHT\" replan plan.json --from answer.json' /dev/null"
        );
        if let Some(sent) = at_a_terminal("a_new_version_is_written_after_confirmation", &sandbox, &line) {
            assert!(sent.contains("Write this version? [y/N]"), "{sent:?}");
            assert_eq!(
                sandbox.read("plan.json").contains("Anew"),
                is_written,
                "{said}: {sent:?}"
            );
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_unapproved_plan_runs_after_confirmation() {
    let configuration = "[agents.mock]\ncommand = [\"true\"]\n\n[run]\nagent = \"mock\"\n";
    let plan = r#"{"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0001", "title": "P", "description": "d", "status": "Draft",
        "tasks": [{"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0002", "order": 1, "title": "a", "description": "b", "task_type": "Edit",
        "status": "Pending"}]}"#;
    for (said, status) in [("", "Draft"), ("n", "Draft"), ("y", "Completed")] {
        for view in ["--plain", ""] {
            let sandbox = Sandbox::with(&[("planwright.toml", configuration), ("plan.json", plan)]);
            let line = format!(
                "printf '{said}\\n' | script -q -e -c '\"$PLANWRIGHT\" run {view} plan.json' /dev/null; echo \"exit $?\""
            );
            let test = "an_unapproved_plan_runs_after_confirmation";
            if let Some(sent) = at_a_terminal(test, &sandbox, &line) {
                assert!(
                    sent.contains("is not approved. Approve it, and run it? [y/N]"),
                    "{sent:?}"
                );
                assert!(sandbox.read("plan.json").contains(status), "{said}: {sent:?}");
                let exit = if status == "Draft" { "exit 1" } else { "exit 0" };
                assert!(sent.contains(exit), "{said}: {sent:?}");
                assert_eq!(
                    sent.contains("planwright approve plan.json"),
                    status == "Draft",
                    "{sent:?}"
                );
            }
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_at_a_terminal_asks_about_tasks_in_review() {
    let configuration = "[agents.mock]\ncommand = [\"true\"]\n\n[run]\nagent = \"mock\"\n";
    let pack = "docs/tasks/photos.md";
    for (said, says, exit) in [
        ("y\\n", "T003", "exit 0"),
        ("what\\nyes fine\\n", "T003", "exit 0"),
        ("n too slow\\n", "too slow", "exit 1"),
        (
            "n\\ntoo slow\\n",
            "Why is T001 rejected? [REASON, or Enter for none]",
            "exit 1",
        ),
        ("", "planwright approve T001", "exit 1"),
    ] {
        for view in ["--plain", ""] {
            let sandbox = Sandbox::with(&[
                ("planwright.toml", configuration),
                ("docs/plans/photos.md", plans::SOURCE_PLAN),
            ]);
            let hash = sandbox.run(&["hash", "docs/plans/photos.md"]).stdout;
            let gate = "\"stop_if\": \"it needs a driver\", \"review_gate\": \"required\"";
            let text = plans::task_pack(hash.trim()).replacen("\"stop_if\": \"it needs a driver\"", gate, 1);
            sandbox.write(pack, &text);
            let line = format!(
                "printf '{said}' | script -q -e -c '\"$PLANWRIGHT\" run {view} --by ada {pack}' /dev/null; echo \"exit $?\""
            );
            let test = "a_run_at_a_terminal_asks_about_tasks_in_review";
            if let Some(sent) = at_a_terminal(test, &sandbox, &line) {
                assert!(
                    sent.contains("T001 needs review. Is it good? [y / n REASON]"),
                    "{sent:?}"
                );
                assert!(sent.contains(says) && sent.contains(exit), "{said}: {sent:?}");
                assert!(!sent.contains("2 attempts"), "{said}: {sent:?}");
            }
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_failing_editor_cancels() {
    let configuration = "[agents.mock]\ncommand = [\"touch\", \"ran\"]\n\n[run]\nagent = \"mock\"\n";
    let answer = r#"{"goal": "x", "tasks": [{"id": "t1", "description": "Read"}]}"#;
    for (option, editor, exit) in [
        ("--run", "false", 1),
        ("", "false", 1),
        ("", "true", 0),
        ("--run", "true", 0),
    ] {
        let sandbox = Sandbox::with(&[("planwright.toml", configuration), ("answer.json", answer)]);
        let line = format!(
            "EDITOR={editor} script -q -e -c '\"$PLANWRIGHT\" plan \"Limit calls\" --dialect clido --from answer.json --out plan.json {option}' /dev/null; echo \"exit $?\""
        );
        if let Some(sent) = at_a_terminal("a_failing_editor_cancels", &sandbox, &line) {
            assert!(sent.contains(&format!("exit {exit}")), "{option} {editor}: {sent:?}");
            assert!(sandbox.path().join("plan.json").exists(), "{sent:?}");
            let ran = sandbox.path().join("ran").exists();
            assert_eq!(ran, option == "--run" && editor == "true", "{sent:?}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_changes_are_shown_before_the_question() {
    let answer = r#"{"goal": "x", "tasks": [{"id": "t9", "description": "Anew"}]}"#;
    let plan = r#"{"meta": {"id": "plan-a1b2c3d4", "goal": "g", "created_at": "2026-03-22T10:00:00Z"}, "tasks": [{"id": "t1", "description": "Old", "status": "failed"}]}"#;
    let sandbox = Sandbox::with(&[("answer.json", answer), ("plan.json", plan)]);
    let line = "printf 'n\\n' | script -q -e -c '\"$PLANWRIGHT\" replan plan.json --diff --from answer.json' /dev/null";
    if let Some(sent) = at_a_terminal("the_changes_are_shown_before_the_question", &sandbox, line) {
        let (before, after) = sent.split_once("Write this version?").expect("a question");
        assert!(before.contains("+++ b/plan.json"), "{sent:?}");
        assert!(!after.contains("+++ b/plan.json"), "{sent:?}");
    }
}
