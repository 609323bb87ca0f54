//! Every printed command works when it is pasted, in the state in which it is printed: collects the commands in the output of verbs in many
//! situations, and runs each in a copy of the folder.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use planwright_testkit::TempFolder;

use crate::plans;
use crate::run::{Workspace, clido};

/// Returns the command lines in a text: between backticks, on lines of their own, and after `next:` or `help:`.
fn commands_in(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        for (ix, part) in line.split('`').enumerate() {
            let is_quoted = ix % 2 == 1 && part.starts_with("planwright ");
            found.extend(is_quoted.then(|| part.to_owned()));
        }
        let line = line.trim();
        let bare = ["next: ", "help: ", "To continue: ", ""]
            .iter()
            .find_map(|start| line.strip_prefix(start).filter(|rest| rest.starts_with("planwright ")));
        // Text in brackets after a command explains it.
        let bare = bare.map(|rest| rest.split("  (").next().unwrap_or(rest).trim().to_owned());
        found.extend(bare.filter(|rest| !rest.contains('`')));
    }
    found
}

/// Returns a command with its placeholders replaced.
fn filled(command: &str) -> String {
    [
        ("\"GOAL\"", "'Limit calls'"),
        ("\"TITLE\"", "'Limit calls'"),
        ("\"…\"", "'a reason'"),
        ("FILE", "answer.md"),
        ("FOLDER", "."),
        ("RUN", "last"),
        ("AGENT", "mock"),
    ]
    .iter()
    .fold(command.to_owned(), |text, (open, filled)| text.replace(open, filled))
}

/// Pastes a command into a shell in a copy of a folder. Returns why it does not work, if so.
fn pasted(command: &str, folder: &Path) -> Option<String> {
    let copy = TempFolder::new().expect("a folder");
    let here = copy.path().join("w");
    let copied = Command::new("cp").arg("-a").arg(folder).arg(&here).status();
    assert!(copied.is_ok_and(|status| status.success()), "the folder can be copied");
    let binary = Path::new(env!("CARGO_BIN_EXE_planwright"));
    let path = format!(
        "{}:{}",
        binary.parent().unwrap_or(Path::new("/")).display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let ran = Command::new("sh")
        .args(["-c", &filled(command)])
        .current_dir(&here)
        .env("PATH", path)
        .env("HOME", copy.path().join("home"))
        .env("XDG_STATE_HOME", copy.path().join("state"))
        .env("PLANWRIGHT_RUN_FENCE", "off")
        .env("PLANWRIGHT_VERIFY_BASELINE", "skip")
        .env_remove("XDG_CONFIG_HOME")
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    let not_meant = [
        "there is no plan `",
        "there is no plan or task",
        "there is no task",
        "no such",
        "did you mean",
        "is not a plan",
    ];
    // A question that a terminal would ask is no error of the command.
    let is_usage = matches!(ran.status.code(), Some(2 | 127)) && !said.contains("confirm it with --yes");
    let is_wrong = is_usage || not_meant.iter().any(|words| said.contains(words));
    is_wrong.then(|| format!("{command}\n  ended with {}: {said}", ran.status))
}

/// Runs verbs one after another, and pastes every command that each of them prints.
#[track_caller]
fn check(workspace: &Workspace, verbs: &[&[&str]]) {
    let mut known = BTreeSet::new();
    let mut wrong = Vec::new();
    let mut n_pasted = 0;
    for verb in verbs {
        let printed = workspace.does(verb).text;
        for command in commands_in(&printed) {
            // Commands with a placeholder for any task or step name none.
            let is_open = ["TASK", "STEP", "SHELL", "NAME", "PLAN", "COMMIT"]
                .iter()
                .any(|word| command.split_whitespace().any(|own| own.trim_matches('"') == *word));
            if !is_open && known.insert(command.clone()) {
                n_pasted += 1;
                wrong.extend(pasted(&command, &workspace.root()).map(|why| format!("printed by {verb:?}: {why}")));
            }
        }
    }
    assert!(n_pasted > 0, "nothing was printed that could be pasted");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn in_an_empty_folder() {
    let workspace = Workspace::new(("answer.md", "1. Count calls\n2. Refuse calls\n"), "says done");
    let verbs: &[&[&str]] = &[
        &["run"],
        &["show"],
        &["next"],
        &["list"],
        &["check"],
        &["doctor"],
        &["summary"],
        &["land"],
        &["replan"],
        &["init"],
        &["import", "answer.md"],
        &["new", "Count", "words"],
        &["new", "clido"],
    ];
    check(&workspace, verbs);
}

#[test]
fn after_a_run_with_a_failure() {
    let script = "[ $PLANWRIGHT_TASK = b ] && exit 1; echo x > made-$PLANWRIGHT_TASK; says done";
    let workspace = Workspace::new((".clido/plans/p.json", &clido(&["a", "b a", "c b", "d"])), script).in_git();
    let verbs: &[&[&str]] = &[
        &["run", "--attempts", "1"],
        &["summary"],
        &["show"],
        &["next"],
        &["why", "c"],
        &["why", "b"],
        &["doctor"],
        &["runs"],
        &["logs"],
        &["worktrees"],
        &["done", "c"],
        &["start", "c"],
        &["retry", "b"],
        &["land", "--dry-run"],
        &["history"],
        &["undo"],
    ];
    check(&workspace, verbs);
}

#[test]
fn with_tasks_whose_names_begin_with_a_hyphen() {
    let script = "[ $PLANWRIGHT_TASK = -b ] && exit 1; echo x > ./made$PLANWRIGHT_TASK; says done";
    let workspace = Workspace::new(("plan.json", &clido(&["-a", "-b -a", "-c -b", "-d"])), script);
    let verbs: &[&[&str]] = &[
        &["next"],
        &["start", "--by", "ada", "-p", "plan.json", "--", "-d"],
        &["done", "-p", "plan.json", "--", "-d"],
        &["run", "--attempts", "1"],
        &["summary"],
        &["show"],
        &["why", "-p", "plan.json", "--", "-c"],
        &["why", "-p", "plan.json", "--", "-b"],
    ];
    check(&workspace, verbs);
}

#[test]
fn with_reviews_claims_and_drafts() {
    let workspace = Workspace::new(("plan.json", plans::OPENCRABS), "says done");
    let verbs: &[&[&str]] = &[
        &["run", "plan.json"],
        &["start", "1", "-p", "plan.json"],
        &["submit", "plan.json"],
        &["approve", "plan.json"],
        &["show", "plan.json"],
        &["start", "1", "-p", "plan.json"],
        &["start", "1", "-p", "plan.json"],
        &["show", "plan.json"],
        &["doctor"],
    ];
    check(&workspace, verbs);
}

#[test]
fn with_broken_plans() {
    let workspace = Workspace::new((".clido/plans/bad.json", plans::CLIDO_BAD), "says done");
    let verbs: &[&[&str]] = &[
        &["check"],
        &["run"],
        &["start", "t1"],
        &["show"],
        &["doctor"],
        &["convert", ".clido/plans/bad.json", "--to", "aimi"],
        &["replan"],
        &["show", "tt1"],
    ];
    check(&workspace, verbs);
}

#[test]
fn the_collecting_of_commands_can_fail() {
    let text = "help: planwright run x\nsee `planwright show`, and `cargo test`\n  planwright logs b --checks\nnext: planwright plan \"GOAL\"\n";
    let expected = [
        "planwright logs b --checks",
        "planwright plan \"GOAL\"",
        "planwright run x",
        "planwright show",
    ];
    assert_eq!(commands_in(text).into_iter().collect::<Vec<_>>(), expected);
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    assert!(pasted("planwright show nothing-like-it", &workspace.root()).is_some());
    assert!(pasted("planwright shwo", &workspace.root()).is_some());
    assert_eq!(pasted("planwright show plan.json", &workspace.root()), None);
}
