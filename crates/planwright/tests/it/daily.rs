//! Everyday output: plans on one screen, help, aliases, histories, edits and completions.

use crate::plans;
use crate::sandbox::Sandbox;

const CLIDO: &str = ".clido/plans/plan-a1b2c3d4.json";

/// Returns a clido plan with this many tasks: the first are done, one is failed, some wait, and some are ready.
fn large_plan(n_tasks: usize) -> String {
    let tasks: Vec<String> = (1..=n_tasks)
        .map(|n| {
            let status = match n {
                _ if n <= n_tasks / 2 => "done",
                _ if n == n_tasks - 3 => "failed",
                _ => "pending",
            };
            let depends = match n % 4 {
                0 => String::new(),
                _ => format!("\"t{}\"", n - 1),
            };
            let depends = if n == 1 { String::new() } else { depends };
            format!(
                "{{\"id\": \"t{n}\", \"description\": \"Move the module number {n} of the server to the new layout and keep its tests green\", \
                 \"status\": \"{status}\", \"depends_on\": [{depends}]}}"
            )
        })
        .collect();
    format!("{{\"goal\": \"Move everything\", \"tasks\": [{}]}}", tasks.join(",\n"))
}

fn with_large_plan() -> Sandbox {
    Sandbox::with(&[("plan.json", &large_plan(200))])
}

#[test]
fn two_hundred_tasks_fit_a_screen() {
    for (lines, columns) in [("50", "80"), ("24", "80"), ("50", "120"), ("12", "60")] {
        let sandbox = with_large_plan().set("LINES", lines).set("COLUMNS", columns);
        let shown = sandbox.run(&["show", "plan.json"]).exits(0).stdout.clone();
        let (n_lines, n_columns): (usize, usize) =
            (lines.parse().expect("a number"), columns.parse().expect("a number"));
        assert!(shown.lines().count() < n_lines, "{shown}");
        let widest = shown.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(n_columns), "{shown}");
        assert!(shown.contains("100 done: t1, t2"), "{shown}");
        assert!(shown.ends_with("100/200 done · 1 failed · 99 pending\n"), "{shown}");
        let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
        assert!(place("✗ t197") < place("○"), "{shown}");
        assert!(place("○") < place("waiting"), "{shown}");
        assert!(place("waiting") < place("100 done"), "{shown}");
    }
}

#[test]
fn every_task_is_shown_on_request() {
    let sandbox = with_large_plan().set("LINES", "24").set("COLUMNS", "80");
    let shown = sandbox.run(&["show", "--all", "plan.json"]).exits(0).stdout.clone();
    assert!(shown.contains("✓ t1 ") && shown.contains("✓ t100"), "{shown}");
    assert!(shown.contains("t200"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn tasks_are_chosen_by_state() {
    let sandbox = with_large_plan();
    let tasks = |states: &str| {
        let report = sandbox
            .run(&["show", "--json", "--state", states, "plan.json"])
            .exits(0)
            .json();
        report["tasks"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((tasks("done"), tasks("failed"), tasks("pending")), (100, 1, 99));
    assert_eq!(tasks("ready") + tasks("waiting"), 99);
    assert_eq!(tasks("failed,done"), 101);
    let failed = sandbox
        .run(&["show", "--state", "failed", "plan.json"])
        .exits(0)
        .stdout
        .clone();
    assert!(failed.contains("✗ t197") && !failed.contains("t196"), "{failed}");
    let none = sandbox.run(&["show", "--state", "blocked", "plan.json"]).exits(0);
    assert!(none.stdout.contains("no task is in this state"), "{}", none.text());
    sandbox.run(&["show", "--state", "green", "plan.json"]).exits(2);
    let pages = ["show", "--json", "--state", "done", "--limit", "60", "plan.json"];
    let first = sandbox.run(&pages).exits(0).json();
    let cursor = first["next_cursor"].as_str().expect("there is more").to_owned();
    let rest = sandbox
        .run(&[&pages[..], &["--cursor", &cursor]].concat())
        .exits(0)
        .json();
    assert_eq!(rest["tasks"].as_array().map(Vec::len), Some(40));
    assert!(rest["next_cursor"].is_null());
}

#[test]
fn next_counts_what_else_is_ready() {
    let sandbox = with_large_plan();
    let next = sandbox.run(&["next", "plan.json"]).exits(0);
    assert_eq!(next.stdout.lines().count(), 4, "{}", next.text());
    assert!(
        next.stderr
            .contains("22 more ready: `planwright next --all plan.json` lists them"),
        "{}",
        next.text()
    );
    let all = sandbox.run(&["next", "--all", "plan.json"]).exits(0);
    assert!(!all.stderr.contains("more ready"), "{}", all.text());
    let small = Sandbox::with(&[(CLIDO, plans::CLIDO)]);
    let next = small.run(&["next"]).exits(0);
    assert!(!next.stderr.contains("more ready"), "{}", next.text());
}

#[test]
fn help_begins_with_the_verbs_of_daily_use() {
    let sandbox = Sandbox::with(&[]).set("COLUMNS", "80");
    for words in [&["-h"][..], &["--help"], &["help"]] {
        let help = sandbox.run(words).exits(0).stdout.clone();
        assert!(help.contains("  show  ") && help.contains("help --all"), "{help}");
        assert!(!help.contains("  aimi-cli  ") && !help.contains("  hash  "), "{help}");
        let verbs = help.lines().skip_while(|line| !line.starts_with("Verbs")).skip(1);
        assert_eq!(verbs.take_while(|line| !line.is_empty()).count(), 12, "{help}");
    }
    let all = sandbox.run(&["help", "--all"]).exits(0).stdout.clone();
    let place = |text: &str| all.find(text).unwrap_or_else(|| panic!("{text}: {all}"));
    assert!(place("\n  run  ") < place("\n  hash  "), "{all}");
    assert!(place("\n  hash  ") < place("\n  spec-first"), "{all}");
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
}

#[test]
fn verbs_have_the_names_that_other_tools_use() {
    let sandbox = Sandbox::with(&[(CLIDO, plans::CLIDO)]);
    for (alias, verb) in [
        ("status", "show"),
        ("validate", "check"),
        ("lint", "check"),
        ("ls", "list"),
    ] {
        let (by_alias, by_verb) = (sandbox.run(&[alias]), sandbox.run(&[verb]));
        assert_eq!(
            (&by_alias.stdout, by_alias.status),
            (&by_verb.stdout, by_verb.status),
            "{alias}"
        );
    }
    let (log, logs) = (sandbox.run(&["log"]), sandbox.run(&["logs"]));
    assert_eq!((log.stderr, log.status), (logs.stderr, logs.status));
}

#[test]
fn mistyped_verbs_suggest_the_right_one() {
    let sandbox = Sandbox::with(&[]);
    for (typed, meant) in [
        ("shwo", "'show'"),
        ("execute", "'run'"),
        ("finish", "'done'"),
        ("lnad", "'land'"),
    ] {
        let ran = sandbox.run(&[typed]).exits(2);
        assert!(ran.stderr.contains(meant), "{}", ran.text());
    }
    let ran = sandbox.run(&["frobnicate"]).exits(2);
    assert!(
        ran.stderr.contains("help --all") && !ran.stderr.contains("similar"),
        "{}",
        ran.text()
    );
}

#[test]
fn a_plan_is_named_either_way() {
    let sandbox = Sandbox::with(&[(CLIDO, plans::CLIDO), ("other.json", plans::OPENCRABS)]);
    for verb in ["show", "next", "graph", "history", "check", "runs", "proposals"] {
        let positional = sandbox.run(&[verb, CLIDO]);
        let option = sandbox.run(&[verb, "-p", CLIDO]);
        let both = sandbox.run(&[verb, CLIDO, "--plan", CLIDO]);
        assert_ne!(positional.status, Some(2), "{}", positional.text());
        assert_eq!(positional.text(), option.text(), "{verb}");
        assert_eq!(positional.text(), both.text(), "{verb}");
    }
    let ran = sandbox.run(&["next", CLIDO, "-p", "other.json"]).exits(2);
    assert!(ran.stderr.contains("two plans are named"), "{}", ran.text());
    sandbox.run(&["runs", CLIDO, "-p", "other.json"]).exits(2);
    sandbox.run(&["archive", "-p", CLIDO]).exits(0);
}

/// Returns a workspace whose editor is a script of `sed`.
#[cfg(unix)]
fn edited_by(script: &str) -> Sandbox {
    Sandbox::with(&[(CLIDO, plans::CLIDO)]).set("EDITOR", &format!("sed -i -e '{script}'"))
}

#[cfg(unix)]
#[test]
fn a_task_is_edited_as_a_form() {
    let sandbox = edited_by("s/^description:.*/description: Give it more tests/");
    let before = sandbox.read(CLIDO);
    let ran = sandbox.run(&["edit", "t2"]).exits(0);
    assert!(
        ran.stdout.contains("+") && ran.stdout.ends_with("edited t2\n"),
        "{}",
        ran.text()
    );
    assert_eq!(
        sandbox.read(CLIDO),
        before.replace("Give it tests", "Give it more tests")
    );
    let history = sandbox.run(&["history"]).exits(0);
    assert!(history.stdout.contains("edit t2"), "{}", history.text());
    sandbox.run(&["undo"]).exits(0);
    assert_eq!(sandbox.read(CLIDO), before);
    let dry = sandbox.run(&["edit", "t2", "--diff"]).exits(0);
    assert!(dry.stdout.contains("+++ b/"), "{}", dry.text());
    assert_eq!(sandbox.read(CLIDO), before);
}

#[cfg(unix)]
#[test]
fn a_form_renames_and_rewires_a_task() {
    let sandbox = edited_by("s/^id: t4/id: t9/; s/- t3/- t1/");
    sandbox.run(&["edit", "t4", "-p", CLIDO]).exits(0);
    let task = sandbox
        .run(&["show", "--json", "--fields", "task,depends_on"])
        .exits(0)
        .json();
    let tasks = task["tasks"].as_array().expect("a list");
    let renamed = tasks.iter().find(|task| task["task"] == "t9").expect("it is renamed");
    let mut on: Vec<&str> = renamed["depends_on"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|on| on.as_str())
        .collect();
    on.sort_unstable();
    assert_eq!(on, ["t1", "t2"], "{task}");
}

#[cfg(unix)]
#[test]
fn an_edit_with_errors_is_kept_and_not_written() {
    let sandbox = edited_by("s/\"t1\"/\"t2\"/");
    let before = sandbox.read(CLIDO);
    let ran = sandbox.run(&["edit"]).exits(1);
    assert!(
        ran.stderr.contains(".planwright/unusable/plan-a1b2c3d4.json"),
        "{}",
        ran.text()
    );
    assert_eq!(sandbox.read(CLIDO), before);
    assert!(
        sandbox
            .read(".planwright/unusable/plan-a1b2c3d4.json")
            .contains("\"t2\"")
    );
    // The error is in the saved text, and so is the command that edits it again.
    let kept = ".planwright/unusable/plan-a1b2c3d4.json";
    assert!(!ran.stderr.contains(&format!("--> {CLIDO}")), "{}", ran.text());
    assert!(ran.stderr.contains(&format!("--> {kept}:")), "{}", ran.text());
    let again = format!("planwright edit --from {kept}");
    assert!(ran.stderr.contains(&again), "{}", ran.text());
    // Fields that verbs change are refused in the same way.
    let sandbox = edited_by("s/^status:.*/status: done/");
    let ran = sandbox.run(&["edit", "t2"]).exits(1);
    assert_eq!(sandbox.read(CLIDO), before);
    assert!(
        ran.stderr.contains("--> .planwright/unusable/plan-a1b2c3d4-t2.txt:"),
        "{}",
        ran.text()
    );
    assert!(ran.stderr.contains("status: done"), "{}", ran.text());
    let form = ".planwright/unusable/plan-a1b2c3d4-t2.txt";
    sandbox
        .set(
            "EDITOR",
            "sed -i -e 's/^status:.*/status: pending/; s/Give it tests/Test it/'",
        )
        .run(&["edit", "t2", "--from", form])
        .exits(0);
}

#[cfg(unix)]
#[test]
fn an_edit_does_not_overwrite_what_another_process_wrote() {
    for what in [&["edit"][..], &["edit", "t2"]] {
        let sandbox = Sandbox::with(&[(CLIDO, plans::CLIDO)]);
        let plan = sandbox.path().join(CLIDO);
        let editor = sandbox.write(
            "editor.sh",
            format!(
                "sed -i 's/Give it tests/Tests/' \"$1\"; sed -i 's/Give it tests/Other tests/' '{}'\n",
                plan.display()
            ),
        );
        let sandbox = sandbox.set("VISUAL", &format!("sh '{}'", editor.display()));
        let ran = sandbox.run(what).exits(1);
        assert!(
            ran.stderr.contains("another process changed the plan"),
            "{}",
            ran.text()
        );
        assert!(sandbox.read(CLIDO).contains("Other tests"), "{}", ran.text());
    }
}

#[cfg(unix)]
#[test]
fn an_unchanged_text_writes_nothing() {
    let sandbox = Sandbox::with(&[(CLIDO, plans::CLIDO)]).set("EDITOR", "true");
    for what in [&["edit"][..], &["edit", "t2"], &["edit", "plan-a1b2c3d4"]] {
        let ran = sandbox.run(what).exits(0);
        assert!(ran.stderr.contains("unchanged"), "{}", ran.text());
    }
    let history = sandbox.run(&["history", "--json"]).exits(0).json();
    assert_eq!(history["n_changes"], 0);
    let sandbox = Sandbox::with(&[(CLIDO, plans::CLIDO)]).set("EDITOR", "false");
    sandbox.run(&["edit"]).exits(1);
    let sandbox = Sandbox::with(&[(CLIDO, plans::CLIDO)])
        .set("EDITOR", "")
        .set("VISUAL", "");
    sandbox.run(&["edit"]).exits(2);
    sandbox.set("EDITOR", "true").run(&["edit", "nothing"]).exits(1);
}

#[cfg(unix)]
#[test]
fn a_signal_while_the_editor_is_open_names_the_text_and_the_command_that_continues() {
    let sandbox = Sandbox::with(&[(CLIDO, plans::CLIDO)]);
    let editor = "echo changed >> \"$1\"; kill -TERM $PPID; sleep 1; :";
    let sandbox = sandbox.set("EDITOR", &format!("edit() {{ {editor}; }}; edit"));
    let ran = sandbox.run(&["edit"]).exits(143);
    let (_, kept) = ran.stderr.split_once("the text is in ").expect("a path");
    let kept = kept.lines().next().expect("a path").to_owned();
    assert!(kept.starts_with(".planwright/edits/"), "{}", ran.text());
    assert!(sandbox.read(&kept).ends_with("changed\n"), "{}", ran.text());
    assert!(
        ran.stderr.contains(&format!("`planwright edit --from {kept}`")),
        "{}",
        ran.text()
    );
    // Without an editor, the signal ends the process as always.
    sandbox.set("EDITOR", "true").run(&["edit"]).exits(0);
}

#[test]
fn changes_are_numbered_one_by_one_at_local_times() {
    let sandbox = Sandbox::with(&[(CLIDO, plans::CLIDO)]);
    for text in ["one", "two", "three"] {
        sandbox.run(&["set", "t2", &format!("notes={text}")]).exits(0);
    }
    let undone = sandbox.run(&["undo"]).exits(0);
    assert!(undone.stdout.contains("(change 3)"), "{}", undone.text());
    let numbers = |text: &str| -> Vec<u64> {
        let words = text.lines().filter_map(|line| line.split_whitespace().next());
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let history = sandbox.run(&["history"]).exits(0).stdout.clone();
    assert_eq!(numbers(&history), [4, 3, 2, 1], "{history}");
    assert!(history.contains("(undone by 4)"), "{history}");
    let report = sandbox.run(&["history", "--json"]).exits(0).json();
    let time = report["changes"][0]["time"].as_str().expect("a time").to_owned();
    assert!(time.contains('T') && time.ends_with('Z'), "{time}");
    assert_eq!(report["changes"][0]["number"], 4);
    let in_utc = format!("{} {}", &time[..10], &time[11..19]);
    assert!(history.contains(&in_utc), "{history}");
    let hour: u64 = time[11..13].parse().expect("an hour");
    let abroad = sandbox.set("TZ", "XYZ-5").run(&["history"]).exits(0).stdout.clone();
    assert!(
        abroad.contains(&format!(" {:02}{}", (hour + 5) % 24, &time[13..19])),
        "{abroad}"
    );
}

#[test]
fn check_skips_excluded_paths() {
    let sandbox = Sandbox::with(&[
        (CLIDO, plans::CLIDO),
        ("tests/fixtures/bad.json", plans::CLIDO_BAD),
        ("planwright.toml", "[check]\nexclude = [\"tests/fixtures/\"]\n"),
    ]);
    let ran = sandbox.run(&["check"]).exits(0);
    assert!(!ran.text().contains("bad.json"), "{}", ran.text());
    sandbox.run(&["check", "tests/fixtures/bad.json"]).exits(1);
    let ran = sandbox.run(&["check", "tests"]).exits(1);
    assert!(ran.stderr.contains("check.exclude"), "{}", ran.text());
    sandbox.write("planwright.toml", "[check]\nexclude = [\"*.toml\"]\n");
    sandbox.run(&["check"]).exits(1);
}

#[test]
fn undo_keeps_unrelated_edits() {
    let sandbox = Sandbox::with(&[(CLIDO, plans::CLIDO)]);
    sandbox.run(&["set", "t2", "notes=first"]).exits(0);
    sandbox.run(&["set", "t4", "notes=second"]).exits(0);
    let edited = sandbox
        .read(CLIDO)
        .replace("Split the parser", "Split the whole parser");
    sandbox.write(CLIDO, &edited);
    sandbox.run(&["undo"]).exits(0);
    sandbox.run(&["undo"]).exits(0);
    assert_eq!(
        sandbox.read(CLIDO),
        plans::CLIDO.replace("Split the parser", "Split the whole parser")
    );
}

#[test]
fn undo_names_the_change_whose_part_was_edited() {
    let sandbox = Sandbox::with(&[(CLIDO, plans::CLIDO)]);
    sandbox.run(&["set", "t2", "notes=written by a verb"]).exits(0);
    let edited = sandbox.read(CLIDO).replace("written by a verb", "rewritten by hand");
    sandbox.write(CLIDO, &edited);
    let ran = sandbox.run(&["undo"]).exits(1);
    for words in [
        "cannot undo `set` of t2 (change 1)",
        "an editor or another program edited the file",
        "`planwright edit .clido/plans/plan-a1b2c3d4.json`",
    ] {
        assert!(ran.stderr.contains(words), "{}", ran.text());
    }
    assert_eq!(sandbox.read(CLIDO), edited);
}

const AIMI: &str = ".aimi/tasks/2026-03-03-charts-tasks.json";

/// Returns the completions of the last word.
fn completed(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let ran = sandbox.run(&[&["__complete"], words].concat()).exits(0);
    let lines = ran
        .stdout
        .lines()
        .map(|line| line.split('\t').next().unwrap_or_default().to_owned());
    lines.collect()
}

#[test]
fn plans_tasks_runs_and_agents_are_completed() {
    let sandbox = Sandbox::with(&[
        (CLIDO, plans::CLIDO),
        (AIMI, plans::AIMI),
        ("planwright.toml", "[agents.helper]\ncommand = [\"true\"]\n"),
    ]);
    let all = ["2026-03-03-charts-tasks", "plan-a1b2c3d4", ":files"];
    assert_eq!(completed(&sandbox, &["show", "-p", ""]), all);
    assert_eq!(completed(&sandbox, &["next", "plan"]), ["plan-a1b2c3d4", ":files"]);
    assert_eq!(completed(&sandbox, &["next", "--plan=plan"]), ["--plan=plan-a1b2c3d4"]);
    assert_eq!(
        completed(&sandbox, &["next", "--plan", "=", "plan"]),
        ["plan-a1b2c3d4", ":files"]
    );
    assert_eq!(completed(&sandbox, &["next", ".clido/"]), [CLIDO, ":files"]);
    let tasks = completed(&sandbox, &["done", "-p", "plan-a1b2c3d4", ""]);
    assert_eq!(tasks, ["t1", "t2", "t3", "t4", "t5"]);
    assert_eq!(completed(&sandbox, &["why", "-p", CLIDO, "t2"]), ["t2"]);
    assert!(completed(&sandbox, &["why", "US"]).contains(&"US-001".to_owned()));
    assert_eq!(
        completed(&sandbox, &["done", "t1", "-p", "plan-a1b2c3d4", "t"]),
        ["t1", "t2", "t3", "t4", "t5"]
    );
    assert!(completed(&sandbox, &["run", "--agent", "hel"]).contains(&"helper".to_owned()));
    assert_eq!(completed(&sandbox, &["summ"]), ["summary"]);
    assert_eq!(completed(&sandbox, &["show", "--sta"]), ["--state"]);
    assert_eq!(completed(&sandbox, &["show", "--state", "fa"]), ["failed"]);
    assert_eq!(completed(&sandbox, &["summary", "--empty"]), Vec::<String>::new());
    assert_eq!(
        completed(&sandbox, &["--empty", "tasks"]),
        completed(&sandbox, &["tasks", ""])
    );
    assert_eq!(completed(&sandbox, &["summary", ""]), Vec::<String>::new());
}

/// The script is tried in a real bash, if there is one.
#[cfg(unix)]
#[test]
fn bash_completes_with_the_script() {
    let sandbox = Sandbox::with(&[(CLIDO, plans::CLIDO)]);
    let script = sandbox.run(&["completions", "bash"]).exits(0).stdout.clone();
    sandbox.write("planwright.bash", &script);
    let binary = env!("CARGO_BIN_EXE_planwright");
    for (words, expected) in [
        ("done t", "t1 t2 t3 t4 t5"),
        ("show plan", "plan-a1b2c3d4"),
        ("summ", "summary"),
        ("show --plan = pl", "plan-a1b2c3d4"),
    ] {
        let asked = format!(
            "source ./planwright.bash; COMP_WORDS=({binary} {words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); _planwright; echo \"${{COMPREPLY[*]}}\""
        );
        let ran = std::process::Command::new("bash")
            .args(["-c", &asked])
            .current_dir(sandbox.path())
            .output();
        let Ok(ran) = ran else {
            return;
        };
        assert_eq!(String::from_utf8_lossy(&ran.stdout).trim_end(), expected, "{words}");
    }
}
