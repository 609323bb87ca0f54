//! Everyday output: it fits 80 columns, times are local, and it names the next command.

use planwright_run::runs::RunEvent;
use unicode_width::UnicodeWidthStr as _;

use crate::run::{Workspace, aimi, clido, rawko};
use crate::sandbox::Sandbox;

const PLAN: &str = ".clido/plans/plan-a1b2c3d4.json";

const LONG: &str =
    "Read every measurement of the cellar in the order of its arrival and write 測定値 of each day below the others";

/// Prints what pytest prints for a failed assertion, with more text than a line holds.
const CHECK: &str = r#"[ -f bad.txt ] || exit 0
cat <<END
=================================== FAILURES ===================================
_______________________________ test_error_total _______________________________

    def test_error_total():
>       assert total() == 3
E       AssertionError: the total of attempt $(cat bad.txt) has to be three because each of the three measurements counts once

test_a.py:4: AssertionError
END
exit 1
"#;

/// Returns a workspace after a run in which `bad` failed twice, `good` landed, and `later` was not started.
fn after_a_run() -> Workspace {
    let plan = clido(&["good", "bad", "later bad"])
        .replace("\"Make ", &format!("\"{LONG} "))
        .replace("\"Try\"", &format!("\"{LONG}\""));
    let workspace = Workspace::new((PLAN, &plan), "says done; echo $attempt > $task.txt");
    workspace.write("check.sh", CHECK);
    workspace.configure("attempts = 2", "[verify]\nevery = [\"sh check.sh\"]\n");
    let mut workspace = workspace.in_git();
    workspace.set("TZ", "UTC");
    workspace.runs(&[]).exits(1);
    workspace
}

/// Returns how many attempts the newest run started.
fn n_started(workspace: &Workspace) -> usize {
    let records = workspace.records();
    let started = records
        .iter()
        .filter(|record| matches!(record.event, RunEvent::ProcessStarted(_)));
    started.count()
}

/// Returns the lines of a text that are too wide and could be wrapped: no command to paste, no single word.
fn too_wide(text: &str) -> Vec<&str> {
    const WHOLE: [&str; 6] = [
        "planwright ",
        "git ",
        "next: planwright ",
        "or: planwright ",
        "its files: ",
        "cd ",
    ];
    let is_whole = |line: &str| {
        let line = line.trim();
        !line.contains(' ') || WHOLE.iter().any(|start| line.starts_with(start))
    };
    let wide = text.lines().filter(|line| line.width() > 80);
    wide.filter(|line| !is_whole(line)).collect()
}

#[test]
fn daily_views_fit_80_columns() {
    let mut workspace = after_a_run();
    workspace.set("COLUMNS", "80");
    workspace.does(&["reset", "later", "--note", LONG]).exits(0);
    for words in [
        &["why", "bad"][..],
        &["why", "later"],
        &["why", "good"],
        &["show"],
        &["show", "bad"],
        &["events"],
        &["history"],
        &["summary"],
        &["runs"],
        &["doctor"],
        &["list"],
        &["land", "--dry-run"],
        &["land"],
    ] {
        // Remarks on standard error are only wrapped at a terminal.
        let ran = workspace.command(env!("CARGO_BIN_EXE_planwright"), words).output();
        let text = String::from_utf8(ran.expect("the binary was built").stdout).expect("UTF-8");
        assert!(!text.trim().is_empty(), "{words:?}");
        let wide = too_wide(&text);
        assert!(wide.is_empty(), "{words:?}: {wide:#?} in\n{text}");
    }
    // The texts are there, and only broken.
    workspace
        .does(&["why", "bad"])
        .says("each of the three measurements counts once");
    workspace
        .does(&["summary"])
        .says("each of the three measurements counts once");
    workspace.does(&["list"]).says(LONG);
}

#[test]
fn columns_of_changes_are_aligned() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "longer"])), "says done; echo > $task").in_git();
    workspace.runs(&[]).exits(0);
    let text = workspace.does(&["summary"]).exits(0).text;
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("1 file +")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    let places: Vec<_> = rows.iter().map(|row| (row.find("Make"), row.find("1 file"))).collect();
    assert_eq!(places[0], places[1], "{text}");
}

#[test]
fn why_has_one_reason_for_each_attempt_and_the_next_command() {
    let workspace = after_a_run();
    let text = workspace.does(&["why", "bad"]).exits(0).text;
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} in\n{text}"));
    assert!(
        at("failed after 2 attempts:") < at("attempt 2:") && at("attempt 2:") < at("attempt 1:"),
        "{text}"
    );
    assert!(!text.contains("FAILURES") && !text.contains("def test"), "{text}");
    for number in 1..=2 {
        let cause = format!("E AssertionError: the total of attempt {number} has");
        workspace.does(&["why", "bad"]).says(&cause);
    }
    let commands: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.starts_with("next: "))
        .map(|line| line.trim_start_matches("next:").split_whitespace().collect())
        .collect();
    assert_eq!(commands.len(), 2, "{text}");
    assert!(
        commands[0].starts_with(&["planwright", "logs", "bad"]) && commands[0].contains(&"--checks"),
        "{text}"
    );
    workspace.does(&commands[0][1..]).exits(0).says("AssertionError");
    // It starts again, and fails again.
    workspace.does(&commands[1][1..]).exits(1);
    assert_eq!(n_started(&workspace), 2, "{text}");
}

#[test]
fn why_names_the_log_of_an_agent_that_failed_itself() {
    for (name, plan, task) in [
        ("plan.json", clido(&["a"]), "a"),
        ("tasks.json", aimi(1, &["1"]), "US-001"),
        ("plan.yaml", rawko(&["Sweep"]), "0"),
    ] {
        let workspace = Workspace::new((name, &plan), "echo no way >&2; exit 3");
        workspace.runs(&[]);
        let text = workspace.does(&["why", task, "-p", name]).exits(0).text;
        let next = text.lines().find_map(|line| line.strip_prefix("next: "));
        let next = next.unwrap_or_else(|| panic!("no command in\n{text}"));
        assert!(
            next.starts_with("planwright logs ") && !next.contains("--checks"),
            "{text}"
        );
        let words: Vec<&str> = next.split_whitespace().skip(1).collect();
        workspace.does(&words).exits(0).says("no way");
    }
}

#[test]
fn a_task_that_a_user_failed_keeps_its_note() {
    let workspace = after_a_run();
    workspace.does(&["retry", "bad"]).exits(0);
    workspace.does(&["start", "bad"]).exits(0);
    workspace
        .does(&["fail", "bad", "--note", "the sensor is broken"])
        .exits(0);
    let text = workspace.does(&["why", "bad"]).says("the sensor is broken").text;
    assert!(!text.contains("failed after"), "{text}");
    assert!(text.contains("next: planwright run .clido"), "{text}");
}

#[test]
fn times_are_local_and_those_of_programs_are_not() {
    let mut workspace = after_a_run();
    let first = workspace.records().first().expect("a record").time.clone();
    let hour: u64 = first[11..13].parse().expect("an hour");
    let abroad = format!("{:02}{}", (hour + 5) % 24, &first[13..19]);
    let here = first[11..19].to_owned();
    let in_utc = workspace.does(&["events"]).exits(0).text;
    assert!(
        in_utc.contains(&format!("\n{here}  ")) || in_utc.starts_with(&here),
        "{in_utc}"
    );
    workspace.set("TZ", "XYZ-5");
    let events = workspace.does(&["events"]).exits(0).text;
    assert!(
        events.contains(&format!("\n{abroad}  ")) && !events.contains("UTC"),
        "{events}"
    );
    assert!(
        workspace
            .does(&["runs"])
            .exits(0)
            .text
            .contains(&format!(" {}", &abroad[..5]))
    );
    assert!(workspace.does(&["events", "--json"]).exits(0).text.contains(&first));
    let page = workspace.does(&["report", "--out", "-"]).exits(0).text;
    assert!(page.contains(&format!("<time datetime=\"{first}\">")), "{page}");
    assert!(page.contains(&format!(" {abroad}</time>")), "{page}");
    let again = workspace.runs(&["--retry-failed"]).exits(1).text;
    let last = workspace.records().first().expect("a record").time.clone();
    let hour: u64 = last[11..13].parse().expect("an hour");
    assert!(
        again.contains(&format!("{:02}{}  ", (hour + 5) % 24, &last[13..19])),
        "{again}"
    );
}

#[test]
fn next_ends_with_the_command_to_type() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b", "c a"])), "says done");
    let text = workspace.does(&["next", "plan.json"]).exits(0).text;
    let commands: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once(": planwright "))
        .map(|(_, command)| command)
        .collect();
    assert_eq!(commands, ["run plan.json", "start a -p plan.json"], "{text}");
    workspace.does(&commands[1].split(' ').collect::<Vec<_>>()).exits(0);
    let text = workspace.does(&["next", "plan.json", "--quiet"]).exits(0).text;
    assert!(!text.contains("next:"), "{text}");
    let failed = after_a_run().does(&["next"]).exits(1).text;
    assert!(
        failed.ends_with(&format!("\nnext: planwright run {PLAN}\n")),
        "{failed}"
    );
    workspace.write("bad.json", clido(&["a", "b missing"]));
    let text = workspace.does(&["next", "bad.json"]).text;
    assert!(
        text.contains("planwright check bad.json") && !text.contains("next:"),
        "{text}"
    );
}

#[test]
fn without_runs_the_help_names_the_first_command() {
    let empty = Sandbox::with(&[]);
    let planned = Sandbox::with(&[(".clido/plans/plan-a1b2c3d4.json", crate::plans::CLIDO)]);
    for verb in ["summary", "land", "runs", "events", "logs", "report"] {
        let ran = empty.run(&[verb]);
        assert!(
            ran.stderr.contains("planwright plan \"GOAL\"") && ran.stderr.contains("planwright import FILE"),
            "{verb}: {}",
            ran.text()
        );
        let ran = planned.run(&[verb]);
        assert!(
            ran.stderr.contains("`planwright run` starts one"),
            "{verb}: {}",
            ran.text()
        );
    }
}
