//! `import` and `plan --from` with text copied from a chat: shown with every guess, confirmed, or refused with the places.

use std::io::Write as _;
use std::process::{Command, Stdio};

use planwright_core::dialect::DIALECTS;
use planwright_testkit::generate::extension;

use crate::sandbox::Sandbox;

const LIST: &str = "Sure, here is the plan:\n\n1. **Freeze** the schema\n2. Generate types (depends on 1)\n3. Migrate the reader (after step 2)\n";

const UNCHAINED: &str = "- [x] Read the spec\n- [ ] Write the parser\n- [ ] Write the printer\n";

/// Two tasks have the title that a dependency names.
const TWO_TITLES: &str = r#"{"tasks": [
  {"title": "Write tests"},
  {"title": "Write tests"},
  {"title": "Release", "after": ["Write tests"]}
]}
"#;

const CUT: &str = "```json\n{\"tasks\": [\n {\"title\": \"One\"},\n {\"title\": \"Two\"},\n {\"title\": \"Thr";

fn files_of(sandbox: &Sandbox, folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(sandbox.path().join(folder)) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_list_becomes_a_plan_that_can_be_checked_and_run() {
    for dialect in DIALECTS {
        let sandbox = Sandbox::with(&[("answer.md", LIST)]);
        let out = &format!("plan.{}", extension(*dialect));
        let dialect = dialect.name();
        let ran = sandbox
            .run(&[
                "import",
                "answer.md",
                "--yes",
                "--goal",
                "Types",
                "--dialect",
                dialect,
                "--out",
                out,
            ])
            .exits(0);
        // The names are those of the plan: rawko counts from 0.
        let name = if dialect == "rawko" { "0" } else { "1" };
        assert!(ran.stderr.contains(&format!("{name}  Freeze")), "{}", ran.text());
        assert!(ran.stderr.contains("line 5"), "{}", ran.text());
        assert_eq!(ran.stdout, format!("wrote {out}\n"));
        sandbox.run(&["check", out, "--dialect", dialect]).exits(0);
        let shown = sandbox.run(&["show", out, "--json"]).exits(0).json();
        let tasks = shown["tasks"].as_array().expect("tasks");
        assert_eq!(tasks.len(), 3, "{shown}");
        assert_eq!(tasks[1]["depends_on"].as_array().map(Vec::len), Some(1), "{shown}");
        assert_eq!(
            sandbox.read("answer.md"),
            LIST,
            "the file that is imported is left alone"
        );
    }
    let sandbox = Sandbox::with(&[
        ("answer.md", LIST),
        ("planwright.toml", "[agents.idle]\ncommand = [\"true\"]\n"),
    ]);
    sandbox
        .run(&["import", "answer.md", "--yes", "--out", "plan.md"])
        .exits(0);
    let preview = sandbox
        .run(&["run", "plan.md", "--dry-run", "--agent", "idle"])
        .exits(0);
    assert!(preview.stdout.contains("Freeze"), "{}", preview.text());
}

#[test]
fn an_answer_is_imported_after_a_confirmation_alone() {
    let sandbox = Sandbox::with(&[("answer.md", UNCHAINED)]);
    let ran = sandbox.run(&["import", "answer.md", "--out", "plan.md"]).exits(2);
    assert!(
        ran.stderr.contains("planwright import answer.md --out plan.md --yes"),
        "{}",
        ran.text()
    );
    assert!(ran.stderr.contains("guess: no dependency is written"), "{}", ran.text());
    assert!(!sandbox.path().join("plan.md").exists());
    let dry = sandbox
        .run(&["import", "answer.md", "--out", "plan.md", "--dry-run"])
        .exits(0);
    assert!(
        dry.stdout.contains("- [ ] T3: Write the printer (needs T2)"),
        "{}",
        dry.text()
    );
    assert!(!sandbox.path().join("plan.md").exists());
    let report = sandbox
        .run(&["import", "answer.md", "--yes", "--json", "--out", "plan.md"])
        .exits(0)
        .json();
    assert_eq!(report["written"], true, "{report}");
    assert_eq!(report["tasks"][0]["status"], "done", "{report}");
    assert_eq!(report["tasks"][2]["after"][0], 2, "{report}");
    assert_eq!(report["notes"][0]["id"], "answer-guess", "{report}");
    let shown = sandbox.run(&["show", "plan.md", "--json"]).exits(0).json();
    assert_eq!(shown["tasks"][0]["status"], "done", "{shown}");
}

#[test]
fn the_table_has_the_names_that_the_tasks_get_in_the_plan() {
    let sandbox = Sandbox::with(&[("answer.md", UNCHAINED)]);
    let ran = sandbox
        .run(&["import", "answer.md", "--yes", "--out", "plan.md"])
        .exits(0);
    assert!(ran.stderr.contains("\nT2  Write the parser "), "{}", ran.text());
    assert!(ran.stderr.ends_with("next: planwright run plan.md\n"), "{}", ran.text());
    let shown = sandbox.run(&["show", "plan.md", "--json"]).exits(0).json();
    assert_eq!(shown["tasks"][1]["task"], "T2", "{shown}");
    let ran = sandbox
        .run(&["import", "answer.md", "--json", "--dry-run", "--out", "other.md"])
        .exits(0)
        .json();
    assert_eq!(ran["tasks"][1]["name"], "T2", "{ran}");
}

#[test]
fn an_import_of_standard_input_reports_that_no_file_is_written() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run_with(&["import", "-"], LIST).exits(0);
    assert!(ran.stderr.contains("--out PATH writes it to a file"), "{}", ran.text());
}

#[test]
fn guesses_are_broken_between_words() {
    let sandbox = Sandbox::with(&[("answer.md", UNCHAINED)]).set("COLUMNS", "60");
    let ran = sandbox
        .run(&["import", "answer.md", "--yes", "--out", "plan.md"])
        .exits(0);
    let is_narrow = |line: &str| line.chars().count() <= 60 || line.contains("planwright ");
    assert!(ran.stderr.contains("guess: "), "{}", ran.text());
    assert!(ran.stderr.lines().all(is_narrow), "{}", ran.text());
}

#[test]
fn a_refused_answer_names_both_places_and_writes_nothing() {
    let sandbox = Sandbox::with(&[("answer.json", TWO_TITLES)]);
    let ran = sandbox.run(&["import", "answer.json", "--yes"]).exits(1);
    for place in ["answer.json:4:", "answer.json:2:", "answer.json:3:"] {
        assert!(ran.stderr.contains(place), "{}", ran.text());
    }
    assert!(
        ran.stderr.contains("error: the answer is not imported"),
        "{}",
        ran.text()
    );
    assert_eq!(files_of(&sandbox, ".clido/plans"), [""; 0]);
    assert_eq!(
        files_of(&sandbox, ".planwright/unusable"),
        [""; 0],
        "the user has the file"
    );
    assert_eq!(sandbox.read("answer.json"), TWO_TITLES);
}

#[test]
fn a_refused_text_of_standard_input_is_kept() {
    let sandbox = Sandbox::new();
    let ran = sandbox
        .run_with(&["import", "-", "--yes", "--out", "plan.md"], TWO_TITLES)
        .exits(1);
    assert!(ran.stderr.contains(".planwright/unusable/answer.txt"), "{}", ran.text());
    assert_eq!(sandbox.read(".planwright/unusable/answer.txt"), TWO_TITLES);
    assert!(!sandbox.path().join("plan.md").exists());
    // The printed command works as soon as the text is valid.
    sandbox.write(".planwright/unusable/answer.txt", LIST);
    sandbox
        .run(&["import", ".planwright/unusable/answer.txt", "--yes"])
        .exits(0);
    assert!(sandbox.path().join("PLAN.md").exists());
}

#[test]
fn the_complete_tasks_of_a_cut_answer_are_imported_on_request() {
    let sandbox = Sandbox::with(&[("answer.md", CUT)]);
    let ran = sandbox
        .run(&["import", "answer.md", "--yes", "--out", "plan.md"])
        .exits(1);
    assert!(ran.stderr.contains("answer.md:5:"), "{}", ran.text());
    assert!(ran.stderr.contains("--partial"), "{}", ran.text());
    sandbox
        .run(&["import", "answer.md", "--yes", "--partial", "--out", "plan.md"])
        .exits(0);
    let shown = sandbox.run(&["show", "plan.md", "--json"]).exits(0).json();
    assert_eq!(shown["tasks"].as_array().map(Vec::len), Some(2), "{shown}");
}

#[test]
fn goals_come_from_the_command_line_or_the_answer() {
    for (text, goal, expected) in [
        (LIST, Some("Generated types"), "Generated types"),
        ("# Offline mode\n\n- [ ] Write the log\n", None, "Offline mode"),
        ("# Offline mode\n\n- [ ] Write the log\n", Some("Sync"), "Sync"),
        (LIST, None, "Imported plan answer"),
    ] {
        let sandbox = Sandbox::with(&[("answer.md", text)]);
        let mut args = vec!["import", "answer.md", "--yes", "--out", "plan.md"];
        args.extend(goal.into_iter().flat_map(|goal| ["--goal", goal]));
        sandbox.run(&args).exits(0);
        let shown = sandbox.run(&["show", "plan.md", "--json"]).exits(0).json();
        assert_eq!(shown["plan"]["title"], expected, "{shown}");
    }
}

#[test]
fn an_answer_becomes_a_plan_of_the_dialect_that_is_used_here() {
    let sandbox = Sandbox::with(&[("answer.md", LIST)]);
    sandbox.run(&["new", "rawko", "Cellar"]).exits(0);
    let report = sandbox.run(&["import", "answer.md", "--yes", "--json"]).exits(0).json();
    assert_eq!(report["dialect"], "rawko", "{report}");
}

#[test]
fn a_corrected_plan_takes_the_place_of_the_first_one_in_every_form() {
    let answer = "First draft:\n```json\n{\"goal\":\"a\",\"tasks\":[{\"id\":\"t1\",\"description\":\"x\"}]}\n```\n\
                  Wait, here is the corrected plan:\n```json\n{\"goal\":\"a\",\"tasks\":[{\"id\":\"t1\",\"description\":\"x\"},{\"id\":\"t2\",\"description\":\"y\",\"depends_on\":[\"t1\"]}]}\n```\n";
    let sandbox = Sandbox::with(&[("answer.md", answer)]);
    sandbox
        .run(&["import", "answer.md", "--yes", "--out", "plan.md"])
        .exits(0);
    let shown = sandbox.run(&["show", "plan.md", "--json"]).exits(0).json();
    assert_eq!(shown["tasks"].as_array().map(Vec::len), Some(2), "{shown}");
    let options = answer
        .replace("First draft", "Option A")
        .replace("Wait, here is the corrected plan", "Option B");
    sandbox.write("options.md", options);
    let ran = sandbox
        .run(&["import", "options.md", "--yes", "--out", "other.md"])
        .exits(1);
    assert!(ran.stderr.contains("answer-with-two-plans"), "{}", ran.text());
    assert!(!sandbox.path().join("other.md").exists());
}

#[test]
fn a_text_with_marks_of_a_conflict_is_not_read_as_an_answer() {
    let conflict = "<<<<<<< HEAD\n1. Do this\n=======\n1. Do that\n>>>>>>> other\n";
    let sandbox = Sandbox::with(&[("answer.md", conflict)]);
    sandbox
        .run(&["import", "answer.md", "--yes", "--out", "plan.md"])
        .exits(1);
    assert!(!sandbox.path().join("plan.md").exists());
}

#[test]
fn a_plan_is_made_from_an_answer_in_any_form() {
    let sandbox = Sandbox::with(&[("answer.md", LIST)]);
    let args = [
        "plan",
        "Generated types",
        "--dialect",
        "clido",
        "--from",
        "answer.md",
        "--out",
        "plan.md",
    ];
    let ran = sandbox.run(&args).exits(1);
    assert!(ran.stderr.contains("--yes"), "{}", ran.text());
    assert!(!sandbox.path().join("plan.md").exists());
    let with_yes: Vec<&str> = args.into_iter().chain(["--yes"]).collect();
    let ran = sandbox.run(&with_yes).exits(0);
    assert!(ran.stderr.contains("2  Generate types"), "{}", ran.text());
    let shown = sandbox.run(&["show", "plan.md", "--json"]).exits(0).json();
    assert_eq!(shown["plan"]["title"], "Generated types", "{shown}");
    assert_eq!(shown["tasks"].as_array().map(Vec::len), Some(3), "{shown}");
}

/// Imports at a terminal, and types an answer to its question; none if this machine cannot create a terminal.
#[cfg(target_os = "linux")]
#[expect(clippy::print_stderr, reason = "a skipped test must say that it was skipped")]
fn typed(test: &str, sandbox: &Sandbox, typed: &str) -> Option<String> {
    let line = format!("{} import answer.md --out plan.md", env!("CARGO_BIN_EXE_planwright"));
    let child = Command::new("script")
        .args(["-q", "-e", "-c", &line, "/dev/null"])
        .current_dir(sandbox.path())
        .env("SHELL", "/bin/sh")
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("{test}: skipped, `script` makes no terminal on this machine");
        return None;
    };
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(typed.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    drop(input);
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn the_question_at_a_terminal_decides() {
    let test = "the_question_at_a_terminal_decides";
    for (answer, is_written) in [("\n", true), ("y\n", true), ("n\n", false)] {
        let sandbox = Sandbox::with(&[("answer.md", LIST)]);
        let Some(sent) = typed(test, &sandbox, answer) else {
            return;
        };
        assert!(sent.contains("Import these 3 tasks as plan.md? [Y/n]"), "{sent}");
        assert_eq!(
            sandbox.path().join("plan.md").exists(),
            is_written,
            "{answer:?}: {sent}"
        );
    }
}

#[test]
fn a_plan_with_a_title_that_exists_is_noted() {
    let sandbox = Sandbox::with(&[("answer.md", &format!("# Migrate the reader\n\n{LIST}"))]);
    let note = "note: a plan with this title exists already: ";
    let import = |sandbox: &Sandbox| sandbox.run(&["import", "answer.md", "--yes"]).exits(0);
    let first = import(&sandbox);
    assert!(!first.stderr.contains(note), "{}", first.stderr);
    let noted = |ran: crate::sandbox::Ran| {
        let is_noted = ran.stderr.contains(&format!("{note}PLAN"));
        assert!(is_noted, "{}", ran.stderr);
    };
    noted(import(&sandbox));
    noted(sandbox.run(&["new", "Migrate the reader"]).exits(0));
    noted(sandbox.run(&["plan", "Migrate the reader", "--single"]).exits(0));
    // A plan of a dialect, which is imported without a question.
    let text = sandbox.read("PLAN.md");
    let id = "plan migrate-the-reader,";
    assert!(text.contains(id), "{text}");
    sandbox.write("copy.md", text.replace(id, "plan other,"));
    noted(sandbox.run(&["import", "copy.md"]).exits(0));
    let other = sandbox.run(&["new", "Another title"]).exits(0).stderr;
    assert!(!other.contains(note), "{other}");
}

#[test]
fn a_list_that_is_no_list_of_tasks_is_refused_with_the_words_that_say_so() {
    let items = "1. Check the limits\n2. Add the counter\n";
    for (before, said) in [
        ("# Notes\n\n", "because of the heading \"Notes\" above it"),
        (
            "# Risks\n\n## Of the counter\n\n",
            "because of the heading \"Risks\" above it",
        ),
        (
            "I looked at these files:\n\n",
            "because of the sentence \"I looked at these files:\" before it",
        ),
    ] {
        let sandbox = Sandbox::with(&[("answer.md", &format!("{before}{items}"))]);
        let refused = sandbox.run(&["import", "answer.md", "--yes"]).exits(1).stderr;
        assert!(refused.contains(said), "{refused}");
        assert!(refused.contains("this says so"), "{refused}");
        // The command in the help works.
        sandbox.write(
            "answer.md",
            format!(
                "{}Tasks:\n\n{items}",
                before.replace("I looked at these files:\n\n", "")
            ),
        );
        sandbox.run(&["import", "answer.md", "--yes"]).exits(0);
    }
}

#[test]
fn a_missing_file_to_import_suggests_checking_its_path() {
    let sandbox = Sandbox::new();
    let refused = sandbox.run(&["import", "none.md"]).exits(3).stderr;
    assert!(refused.contains("`none.md` does not exist"), "{refused}");
    assert!(refused.contains("help: check the path"), "{refused}");
    assert!(!refused.contains("planwright list"), "{refused}");
}
