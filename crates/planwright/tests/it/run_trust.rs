//! Agents that cheat: they edit the plan, call verbs on their own run, or weaken what verifies them. None of it counts.

use planwright_run::runs::{RemarkKind, RunEvent};

use crate::run::{Workspace, aimi, clido};
use crate::run_replans::failing;

/// The binary, for scripts of agents.
const PLANWRIGHT: &str = env!("CARGO_BIN_EXE_planwright");

/// Waits until the plan file has the task as running.
const UNTIL_RUNNING: &str = "while ! grep -q 'running\\|in_progress' \"$PLANWRIGHT_PLAN\"; do sleep 0.02; done";

/// Returns a script that edits the plan of the run with `sed`.
fn edits(command: &str) -> String {
    format!("sed -i '{command}' \"$PLANWRIGHT_PLAN\"")
}

/// Returns a plan with one story that has two criteria.
fn documented() -> String {
    aimi(1, &["1"]).replace("\"Typecheck passes\"", "\"Typecheck passes\", \"Docs are there\"")
}

/// Returns how often statuses of the plan file were set back.
fn n_set_back(workspace: &Workspace) -> usize {
    let records = workspace.records();
    let is_set_back = |event: &RunEvent| match event {
        RunEvent::Remark(remark) => remark.kind == Some(RemarkKind::StatusSetBack),
        _ => false,
    };
    records.iter().filter(|record| is_set_back(&record.event)).count()
}

#[test]
fn a_task_that_its_agent_marks_as_done_in_the_file_is_not_done() {
    let script = format!("{UNTIL_RUNNING}; {}; sleep 0.5; exit 1", edits("s/running/done/"));
    for in_git in [false, true] {
        let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), &script);
        let workspace = if in_git { workspace.in_git() } else { workspace };
        workspace.runs(&[]).exits(1);
        assert_eq!(workspace.states(), "a failed, b skipped");
        assert_eq!(workspace.noted("began"), ["a"]);
        assert_eq!(n_set_back(&workspace), 1, "{}", workspace.remarks());
    }
}

#[test]
fn a_task_that_another_agent_marks_as_done_in_the_file_is_run() {
    let script = format!(
        "[ $task = a ] && {} && sleep 0.5; says done",
        edits("/\"b\"/s/pending/done/")
    );
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a", "c b"])), &script);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["a", "b", "c"]);
    assert_eq!(workspace.ended().n_done, 3);
    assert_eq!(n_set_back(&workspace), 1, "{}", workspace.remarks());
    assert!(
        workspace.remarks().contains("`b` from done to pending"),
        "{}",
        workspace.remarks()
    );
}

#[test]
fn a_task_that_is_marked_at_the_very_end_is_run() {
    // The edit happens at the moment when the agent ends.
    let script = format!("says done; [ $task = a ] && {}", edits("/\"b\"/s/pending/skipped/"));
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), &format!("{script}; exit 0"));
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["a", "b"]);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn every_status_edited_in_the_file_is_reset() {
    for word in ["done", "skipped", "failed", "running"] {
        let edit = edits(&format!("/\"b\"/s/pending/{word}/"));
        let script = format!("[ $task = a ] && {edit} && awaits go; says done");
        let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), &script);
        let run = workspace.begins(&[]);
        workspace.until("it is set back", |workspace| n_set_back(workspace) == 1);
        workspace.until("the file has it", |workspace| {
            workspace.states() == "a running, b pending"
        });
        workspace.give("go");
        run.ends().exits(0);
        assert_eq!(workspace.noted("began"), ["a", "b"], "{word}");
    }
}

#[test]
fn a_task_added_as_done_is_run() {
    let more = "{\"id\": \"z\", \"description\": \"Make z\", \"depends_on\": [], \"complexity\": \"low\", \"status\": \"done\"},";
    let script = format!(
        "[ $task = a ] && {} && sleep 0.5; says done",
        edits(&format!("s/\"tasks\": \\[/\"tasks\": [{}/", more.replace('/', "\\/")))
    );
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), &script);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["a", "z"]);
}

#[test]
fn a_verb_of_a_person_does_not_cover_a_later_edit() {
    // Whether the run sees the verbs separately or together with the edit, the last verb is valid.
    for is_skip_seen in [false, true] {
        let script = "[ $task = a ] && awaits go; says done";
        let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), script);
        let run = workspace.begins(&[]);
        workspace.until_begun(1);
        workspace.until("the plan knows", |workspace| workspace.states().contains("a running"));
        workspace.does(&["skip", "b", "-p", "plan.json"]).exits(0);
        if is_skip_seen {
            workspace.until_log("edited");
        }
        workspace.does(&["reset", "b", "-p", "plan.json"]).exits(0);
        workspace.edit("\"status\": \"pending\"", "\"status\": \"done\"");
        workspace.until("it is set back", |workspace| n_set_back(workspace) == 1);
        workspace.give("go");
        run.ends().exits(0);
        assert_eq!(
            workspace.noted("began"),
            ["a", "b"],
            "{is_skip_seen}\n{}",
            workspace.log().join("\n")
        );
    }
}

#[test]
fn statuses_edited_while_no_run_is_active_are_reset_when_it_continues() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a", "c b", "d"])),
        "[ $task = b ] && awaits go; says done",
    );
    let run = workspace.begins(&["-j", "1"]);
    workspace.until_log("started b");
    workspace.until("the plan knows", |workspace| workspace.states().contains("b running"));
    run.dies();
    // Like an agent that outlived the run: its own task, one that never started, and one that was done.
    let text = workspace.plan();
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line {
            line if line.contains("\"a\", \"desc") => line.replace("\"done\"", "\"pending\""),
            line if line.contains("\"id\": \"b\"") => line.replace("running", "done"),
            line if line.contains("\"id\": \"c\"") => line.replace("pending", "done"),
            line if line.contains("\"id\": \"d\"") => line.replace("pending", "skipped"),
            line => line.to_owned(),
        })
        .collect();
    workspace.write("plan.json", lines.join("\n") + "\n");
    assert_eq!(workspace.states(), "a pending, b done, c done, d skipped");
    workspace.give("go");
    workspace.runs(&["-j", "1"]).exits(0);
    assert_eq!(workspace.states(), "a done, b done, c done, d done");
    assert_eq!(workspace.noted("began"), ["a", "b", "b", "c", "d"]);
    assert!(n_set_back(&workspace) > 0, "{}", workspace.remarks());
}

#[test]
fn a_task_marked_to_skip_while_no_run_is_active_runs_when_it_continues() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b", "c"])),
        "[ $task = a ] && awaits go; says done",
    );
    let run = workspace.begins(&["-j", "1"]);
    workspace.until_log("started a");
    run.dies();
    let mark = |text: String, task: &str| {
        text.replace(
            &format!("{{\"id\": \"{task}\","),
            &format!("{{\"id\": \"{task}\", \"skip\": true,"),
        )
    };
    workspace.write("plan.json", mark(workspace.plan(), "b"));
    assert!(workspace.plan().contains("\"skip\": true"), "{}", workspace.plan());
    workspace.does(&["skip", "c", "-p", "plan.json"]).exits(0);
    workspace.give("go");
    workspace.runs(&["-j", "1"]).says("marks it as one to skip");
    assert_eq!(workspace.noted("began"), ["a", "a", "b"], "{}", workspace.plan());
}

#[test]
fn verbs_of_a_person_hold_when_a_run_continues() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a", "c"])),
        "[ $task = a ] && awaits go; says done",
    );
    let run = workspace.begins(&["-j", "1"]);
    workspace.until_log("started a");
    workspace.until("the plan knows", |workspace| workspace.states().contains("a running"));
    run.dies();
    workspace.does(&["skip", "c", "-p", "plan.json"]).exits(0);
    workspace.give("go");
    workspace.runs(&["-j", "1"]).exits(0);
    assert_eq!(workspace.states(), "a done, b done, c skipped");
    assert_eq!(n_set_back(&workspace), 0, "{}", workspace.remarks());
}

#[test]
fn tasks_done_before_the_first_run_are_done() {
    let plan = clido(&["a", "b a"]).replacen("\"pending\"", "\"done\"", 1);
    let workspace = Workspace::new(("plan.json", &plan), "says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["b"]);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_task_is_judged_by_the_criteria_of_its_start() {
    // The agent removes the criterion that it does not meet, in its own task and for all its attempts.
    let script = format!("{}; sleep 0.5; says done", edits("s/Docs are there/Nothing to see/"));
    let plan = documented();
    let workspace = Workspace::new((".aimi/tasks/2026-01-01-try-tasks.json", &plan), &script);
    workspace.configure(
        "attempts = 2",
        "[[verify.criteria]]\ntext = \"Docs are there\"\nrun = [\"false\"]\n",
    );
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "US-001 failed");
    assert_eq!(workspace.noted("began"), ["US-001", "US-001"]);
    assert!(
        workspace.remarks().contains("verifies it by those of its start"),
        "{}",
        workspace.remarks()
    );
}

#[test]
fn criteria_that_a_person_sets_by_a_verb_hold_for_the_next_attempt() {
    let plan = documented();
    let path = ".aimi/tasks/2026-01-01-try-tasks.json";
    let workspace = Workspace::new((path, &plan), "[ $attempt = 1 ] && awaits go; says done");
    workspace.configure(
        "attempts = 2",
        "[[verify.criteria]]\ntext = \"Docs are there\"\nrun = [\"false\"]\n",
    );
    let run = workspace.begins(&[]);
    workspace.until_begun(1);
    workspace.until("the plan knows", |workspace| workspace.states().contains("running"));
    let criteria = "acceptanceCriteria=[\"Typecheck passes\"]";
    workspace.does(&["set", "US-001", criteria, "-p", path]).exits(0);
    std::thread::sleep(std::time::Duration::from_millis(600));
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(
        workspace.noted("began"),
        ["US-001", "US-001"],
        "the first attempt began before"
    );
}

#[test]
fn a_running_task_that_its_agent_marks_to_skip_is_verified() {
    let script = format!(
        "{}; sleep 0.5; exit 1",
        edits("s/\"Make a\",/\"Make a\", \"skip\": true,/")
    );
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), &script);
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.noted("began"), ["a"]);
    assert_eq!(workspace.ended().n_failed, 1);
}

/// Operations on its own run that an attempt must not be able to do.
const VERBS: &[&str] = &[
    "done b --unverified",
    "skip b",
    "reset a",
    "start b",
    "fail b",
    "set b description=Nothing",
    "add More",
    "remove b",
    "rename b z",
    "undo",
    "approve b",
    "reject b --note no",
    "next --start",
    "replan plan.json",
    "verify b",
    "archive plan.json",
    "delete plan.json --yes",
    "stop plan.json",
    "pause plan.json",
    "run plan.json",
    "land",
    "worktrees --clear",
    "clido plan delete plan-a1b2c3d4",
];

#[test]
fn an_attempt_cannot_change_its_own_run() {
    let calls = VERBS.iter().map(|verb| {
        let needs_plan = ["plan.json", "land", "worktrees", "clido"].iter().all(|word| !verb.contains(word));
        let plan = if needs_plan { " -p plan.json" } else { "" };
        format!("cd \"$HERE\"; {PLANWRIGHT} {verb}{plan} > \"$ASIDE/said\" 2>&1; echo \"$? {verb}: $(tail -n 3 \"$ASIDE/said\" | tr '\\n' ' ')\" >> \"$ASIDE/came\"")
    });
    let calls: Vec<String> = calls.collect();
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "").in_git();
    let script = format!(
        "HERE={}\nif [ $task = a ]; then\n{}\nfi\nsays done",
        workspace.root().display(),
        calls.join("\n")
    );
    workspace.script(&script);
    workspace.runs(&["-j", "1"]).exits(0);
    let came = workspace.noted("came");
    assert_eq!(came.len(), VERBS.len(), "{came:#?}");
    for line in &came {
        assert!(
            line.starts_with("1 ") && line.contains("an attempt cannot") || line.starts_with("1 clido"),
            "{line}"
        );
    }
    assert_eq!(workspace.states(), "a done, b done");
    assert_eq!(workspace.noted("began"), ["a", "b"]);
    assert_eq!(workspace.places().len(), 1, "no other run began");
}

/// Returns a call of a verb in its own namespace; if the system forbids that, a call that fails.
fn in_namespace(flags: &str, plan: &str) -> String {
    format!("env -i PATH=\"$PATH\" unshare {flags} {PLANWRIGHT} skip b {plan}")
}

#[test]
fn an_attempt_cannot_hide_where_it_comes_from() {
    // Neither an empty environment, nor a session of its own, nor a parent that is gone.
    let hidden = [
        format!("env -i PATH=\"$PATH\" {PLANWRIGHT} skip b -p \"$HERE/plan.json\""),
        format!("setsid -w {PLANWRIGHT} skip b -p \"$HERE/plan.json\""),
        format!("env -i PATH=\"$PATH\" setsid -w {PLANWRIGHT} skip b -p \"$HERE/plan.json\""),
        format!("PLANWRIGHT_PLAN=/tmp/other PLANWRIGHT_ATTEMPT=0 {PLANWRIGHT} skip b -p \"$HERE/plan.json\""),
        in_namespace("-pf", "-p \"$HERE/plan.json\""),
        in_namespace("-Upf", "-p \"$HERE/plan.json\""),
        in_namespace("-Urpfm --mount-proc", "-p \"$HERE/plan.json\""),
    ];
    let calls = hidden.map(|call| format!("{call} >> \"$ASIDE/said\" 2>&1; echo $? >> \"$ASIDE/came\""));
    // The shell between is gone before the verb is called.
    let orphan = format!(
        "( env -i PATH=\"$PATH\" setsid sh -c 'sleep 0.3; {PLANWRIGHT} skip b -p '\"$HERE\"'/plan.json; echo $? >> '\"$ASIDE\"'/orphan' >> \"$ASIDE/said\" 2>&1 & )\nawaits orphan"
    );
    for in_git in [false, true] {
        let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "");
        let workspace = if in_git { workspace.in_git() } else { workspace };
        workspace.script(&format!(
            "HERE={}\nif [ $task = a ]; then\n{}\n{orphan}\nfi\nsays done",
            workspace.root().display(),
            calls.join("\n")
        ));
        workspace.runs(&["-j", "1"]).exits(0);
        let (came, said) = (workspace.noted("came"), workspace.noted("said"));
        assert_eq!(came[..4], ["1"; 4], "{said:#?}");
        // A system may not allow some of the namespaces.
        assert!(
            came.len() == 7 && came.iter().all(|status| status != "0"),
            "{came:?} {said:#?}"
        );
        assert_eq!(workspace.noted("orphan"), ["1"], "{:#?}", workspace.noted("said"));
        assert_eq!(workspace.states(), "a done, b done");
    }
}

#[test]
fn an_attempt_may_read_and_work_on_other_plans() {
    let calls = [
        "show plan.json",
        "why a -p plan.json",
        "check plan.json",
        "history plan.json",
        "start x -p ../other/plan.json",
        "done x --unverified -p ../other/plan.json",
        "run ../other/plan.json",
    ];
    let calls =
        calls.map(|call| format!("{PLANWRIGHT} {call} > /dev/null 2>&1; echo \"$? {call}\" >> \"$ASIDE/came\""));
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "");
    let other = workspace.root().join("../other");
    std::fs::create_dir_all(other.join(".planwright")).expect("ours");
    let plan = clido(&["x", "y"]).replace("plan-a1b2c3d4", "plan-99999999");
    std::fs::write(other.join("plan.json"), plan).expect("ours");
    let inner = "[agents.mock]\ncommand = [\"true\"]\n[run]\nagent = \"mock\"\n";
    std::fs::write(other.join("planwright.toml"), inner).expect("ours");
    workspace.script(&format!("{}\nsays done", calls.join("\n")));
    workspace.runs(&[]).exits(0);
    for line in workspace.noted("came") {
        assert!(line.starts_with("0 "), "{line}");
    }
    let text = std::fs::read_to_string(other.join("plan.json")).expect("ours");
    assert_eq!(text.matches("\"done\"").count(), 2, "{text}");
}

#[test]
fn the_copy_of_a_plan_in_the_checkout_of_its_own_task_is_not_run() {
    let script = format!(
        "{PLANWRIGHT} run plan.json > \"$ASIDE/said\" 2>&1; echo $? >> \"$ASIDE/came\"; touch made-$task; says done"
    );
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), &script).in_git();
    workspace.runs(&["-j", "2"]).exits(0);
    assert_eq!(workspace.noted("came"), ["1", "1"]);
    let mut began = workspace.noted("began");
    began.sort();
    assert_eq!(began, ["a", "b"], "{:?}", workspace.noted("said"));
}

#[test]
fn the_command_for_the_end_of_a_run_may_change_the_plan() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "says done");
    let notify = format!("[notify]\ncommand = [\"{PLANWRIGHT}\", \"skip\", \"b\", \"-p\", \"plan.json\"]\n");
    workspace.configure("", &notify);
    workspace.runs(&["--only", "a"]).exits(0);
    assert_eq!(workspace.states(), "a done, b skipped");
}

#[test]
fn an_agent_that_changes_nothing_is_counted_apart() {
    for in_git in [false, true] {
        let workspace = Workspace::new(
            ("plan.json", &clido(&["a", "b"])),
            "[ $task = b ] && echo made > made; says done",
        );
        let workspace = if in_git { workspace.in_git() } else { workspace };
        let came = workspace.runs(&["-j", "1"]).exits(0);
        let came = came.says("no changes").says("1 done without changes: a");
        assert_eq!(workspace.ended().n_unchanged, 1, "{}", came.text);
        workspace.does(&["summary"]).says("1 done without changes: a");
        workspace.does(&["runs", "--json"]).exits(0).says("\"n_unchanged\": 1");
    }
}

#[test]
fn an_agent_that_changes_nothing_fails_on_request() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done").in_git();
    workspace.configure("no_changes = \"fail\"", "");
    workspace.runs(&[]).exits(1).says("changed no file");
    assert_eq!(workspace.states(), "a failed");
    let quiet = Workspace::new(("plan.json", &clido(&["a"])), "says done").in_git();
    quiet.configure("no_changes = \"allow\"", "");
    let came = quiet.runs(&[]).exits(0);
    assert!(!came.text.contains("no changes"), "{}", came.text);
}

/// What verifies the tasks of the tests below: a script of the repository.
const BY_SCRIPT: &str = "[verify]\nevery = [[\"sh\", \"check.sh\"]]\n";

#[test]
fn a_task_that_changes_what_verifies_it_waits_for_a_review() {
    for in_git in [false, true] {
        let workspace = Workspace::new(
            ("plan.json", &clido(&["a", "b a"])),
            "echo 'exit 0' > check.sh; echo x > made-$task; says done",
        );
        workspace.configure("", BY_SCRIPT);
        workspace.write("check.sh", "exit 1\n");
        let workspace = if in_git { workspace.in_git() } else { workspace };
        let came = workspace.runs(&[]).exits(1);
        let came = match in_git {
            true => came.says("it changed or removed files that verify it: `check.sh`"),
            false => came.says("files that verify it were changed or removed while it worked: `check.sh`"),
        };
        assert_eq!(workspace.ended().standing.as_str(), "awaits-review", "{}", came.text);
        assert_eq!(workspace.noted("began"), ["a"], "what depends on it waits");
        // Neither `done` nor `land` bypasses the review.
        workspace
            .does(&["done", "a", "-p", "plan.json", "--unverified"])
            .exits(1)
            .says("--take-over");
        if in_git {
            assert_eq!(landed(&workspace, "check.sh"), "exit 1\n", "it is not on the branch");
        }
        workspace.does(&["approve", "a", "-p", "plan.json"]).exits(0);
        assert!(workspace.states().starts_with("a done"), "{}", workspace.states());
        if in_git {
            workspace.does(&["land"]).exits(0);
        }
    }
}

/// Returns what a file has on the branch of the plan; nothing where it is not there.
fn landed(workspace: &Workspace, path: &str) -> String {
    let of = format!("planwright/plan-a1b2c3d4:{path}");
    let shown = workspace.command("git", &["show", &of]).output().expect("git");
    String::from_utf8(shown.stdout).expect("text")
}

/// Returns a workspace in git whose task `a` empties the script that verifies all tasks, and whose task `b` passes only with that.
fn disarmed(b: &str) -> Workspace {
    let script = format!("[ $task = a ] && echo 'exit 0' > check.sh\n{b}echo x > made-$task; says done");
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), &script);
    workspace.configure("", BY_SCRIPT);
    workspace.write("check.sh", "test -f made-a\n");
    workspace.in_git()
}

#[test]
fn work_that_waits_for_review_does_not_verify_the_work_of_others() {
    let workspace = disarmed("[ $task = b ] && awaits go\n");
    let run = workspace.begins(&["-j", "1", "--attempts", "1"]);
    workspace.until_log("review a");
    workspace.give("go");
    run.ends().exits(1);
    assert_eq!(workspace.states(), "a running, b failed");
    assert_eq!(landed(&workspace, "check.sh"), "test -f made-a\n");
}

#[test]
fn work_that_is_approved_during_the_run_lands() {
    let workspace = disarmed("[ $task = b ] && awaits go\n");
    let run = workspace.begins(&["-j", "2"]);
    workspace.until_log("review a");
    workspace
        .does(&["approve", "a", "-p", "plan.json", "--by", "ada", "--note", "as agreed"])
        .exits(0);
    workspace.until_log("merged a");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.states(), "a done, b done");
    assert_eq!(landed(&workspace, "check.sh"), "exit 0\n");
    let mut began = workspace.noted("began");
    began.sort();
    assert_eq!(began, ["a", "b"], "no agent does it again");
    workspace.does(&["history", "plan.json"]).exits(0).says("by ada");
}

#[test]
fn work_that_is_rejected_is_on_no_branch() {
    let workspace = disarmed("");
    workspace
        .runs(&["--only", "a"])
        .exits(1)
        .says("needs review: `git show");
    workspace
        .does(&["reject", "a", "-p", "plan.json", "--note", "no"])
        .exits(0);
    assert_eq!(workspace.states(), "a failed, b pending");
    assert_eq!(landed(&workspace, "made-a"), "");
    workspace.runs(&["--only", "b", "--attempts", "1"]).exits(1);
    assert_eq!(workspace.states(), "a failed, b failed");
}

#[test]
fn work_that_waits_for_review_is_found_by_later_runs() {
    for is_killed in [false, true] {
        let workspace = disarmed("[ $task = b ] && awaits go\n");
        let run = workspace.begins(&["-j", "1", "--attempts", "1"]);
        workspace.until_log("review a");
        match is_killed {
            true => run.dies(),
            false => {
                workspace.give("go");
                run.ends().exits(1);
            }
        }
        workspace.give("go");
        workspace.runs(&["--attempts", "1"]).exits(1);
        assert_eq!(
            landed(&workspace, "check.sh"),
            "test -f made-a\n",
            "killed: {is_killed}"
        );
        workspace
            .does(&["approve", "a", "-p", "plan.json", "--json"])
            .exits(0)
            .says("\"written\": true");
        assert_eq!(landed(&workspace, "check.sh"), "exit 0\n", "killed: {is_killed}");
        workspace.runs(&["--retry-failed"]).exits(0);
        assert_eq!(workspace.states(), "a done, b done");
        let n_began = workspace.noted("began").iter().filter(|task| *task == "a").count();
        assert_eq!(n_began, 1, "killed: {is_killed}");
    }
}

#[test]
fn approved_work_that_meets_a_conflict_is_left_to_a_run() {
    let workspace = disarmed("[ $task = b ] && printf 'test -f made-b\\n' > check.sh\n");
    workspace.configure("", "[verify]\nevery = [\"true\"]\nprotect = [\"check.sh\"]\n");
    workspace.runs(&["-j", "1"]).exits(1);
    assert_eq!(workspace.states(), "a running, b running");
    workspace.does(&["approve", "a", "-p", "plan.json"]).exits(0);
    workspace
        .does(&["approve", "b", "-p", "plan.json"])
        .exits(1)
        .says("approved, and not landed yet")
        .says("it conflicts with what has landed, in `check.sh`");
    assert_eq!(workspace.states(), "a done, b running");
    assert_eq!(workspace.noted("began").len(), 2, "no agent was started");
    // Its agent resolves it, and the result is reviewed again.
    workspace.script("printf 'both\\n' > check.sh; says done");
    workspace.runs(&[]).exits(1).says("needs review");
    workspace.does(&["approve", "b", "-p", "plan.json"]).exits(0);
    assert_eq!(landed(&workspace, "check.sh"), "both\n");
}

#[test]
fn no_task_starts_in_a_shared_folder_while_its_verification_waits_for_review() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $task = a ] && echo 'exit 0' > check.sh; echo x > made-$task; says done",
    );
    workspace.configure("", BY_SCRIPT);
    workspace.write("check.sh", "test -f made-a\n");
    for _ in 0..2 {
        workspace.runs(&["-j", "1"]).exits(1);
        assert_eq!(workspace.noted("began"), ["a"]);
    }
    workspace.does(&["approve", "a", "-p", "plan.json"]).exits(0);
    workspace.runs(&["-j", "1"]).exits(0);
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_task_with_an_earlier_decision_cannot_be_approved() {
    for decide in [
        &[&["reject", "a", "--note", "no"][..]][..],
        &[&["reject", "a", "--note", "no"], &["retry", "a"]],
        &[&["reset", "a"]],
        &[&["skip", "a"]],
        &[&["fail", "a", "--take-over", "--note", "no"]],
    ] {
        let workspace = disarmed("");
        workspace.runs(&["--only", "a"]).exits(1);
        for words in decide {
            let words: Vec<&str> = words.iter().copied().chain(["-p", "plan.json"]).collect();
            workspace.does(&words).exits(0);
        }
        workspace
            .does(&["approve", "a", "-p", "plan.json"])
            .exits(1)
            .says("does not wait for review");
        assert_eq!(landed(&workspace, "made-a"), "", "{decide:?}");
        let text = workspace.does(&["summary"]).text;
        assert!(!text.contains("approve a") || decide[0][0] != "reject", "{text}");
        // The waiting work is not resumed without a new review.
        workspace.runs(&["--only", "a", "--retry-failed", "--attempts", "1"]);
        assert_eq!(landed(&workspace, "check.sh"), "test -f made-a\n", "{decide:?}");
    }
}

#[test]
fn a_task_that_waits_for_review_keeps_its_name() {
    let workspace = disarmed("");
    workspace.runs(&["--only", "a"]).exits(1);
    for words in [&["rename", "a", "z"][..], &["remove", "a"]] {
        let words: Vec<&str> = words.iter().copied().chain(["-p", "plan.json"]).collect();
        workspace.does(&words).exits(1).says("waits for review");
    }
    workspace.does(&["approve", "a", "-p", "plan.json"]).exits(0);
    workspace.does(&["rename", "a", "z", "-p", "plan.json"]).exits(0);
}

#[test]
fn a_refused_approval_is_not_recorded_and_one_that_has_not_landed_can_be_taken_back() {
    let workspace = disarmed("");
    workspace.runs(&["--only", "a"]).exits(1);
    workspace.write(
        "planwright.toml",
        format!("{}\n[approval]\nrequired = true\n", workspace.read("planwright.toml")),
    );
    workspace.does(&["approve", "a", "-p", "plan.json"]).exits(1);
    workspace.does(&["approve", "plan.json"]).exits(0);
    workspace.runs(&["--only", "a"]).exits(1).says("needs review");
    assert_eq!(landed(&workspace, "made-a"), "", "it was not approved");
    // Its branch is in use: the approval is kept, and can be undone.
    let elsewhere = workspace.aside("elsewhere").display().to_string();
    let added = workspace
        .command(
            "git",
            &[
                "worktree",
                "add",
                "-q",
                "--force",
                &elsewhere,
                "planwright/plan-a1b2c3d4",
            ],
        )
        .status();
    assert!(added.expect("git").success());
    workspace
        .does(&["approve", "a", "-p", "plan.json"])
        .exits(1)
        .says("not landed yet");
    workspace
        .does(&["reject", "a", "-p", "plan.json", "--note", "no"])
        .exits(0);
    assert_eq!(workspace.states(), "a failed, b pending");
    workspace.runs(&["--retry-failed", "--only", "a"]);
    assert_eq!(landed(&workspace, "made-a"), "", "the approval was taken back");
}

#[test]
fn a_task_cannot_change_what_verifies_it_through_attributes_or_links() {
    for (check, script) in [
        // Attributes decide what git writes into a checkout.
        ("check.sh", "printf 'check.sh text eol=crlf\\n' > .gitattributes"),
        // The file that a link leads to.
        ("link.sh", "echo 'exit 0' > check.sh"),
    ] {
        let script = format!("{script}; echo x > made-$task; says done");
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), &script);
        workspace.configure("", &format!("[verify]\nevery = [[\"sh\", \"{check}\"]]\n"));
        workspace.write("check.sh", "true #\n");
        std::os::unix::fs::symlink("check.sh", workspace.root().join("link.sh")).expect("a link");
        let workspace = workspace.in_git();
        workspace
            .runs(&["--attempts", "1"])
            .exits(1)
            .says("files that verify it");
        assert_eq!(workspace.states(), "a running", "{check}");
    }
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        "printf 'all:\\n\\ttrue\\n' > GNUmakefile; echo x > made-$task; says done",
    );
    workspace.configure("", "[verify]\nevery = [\"test -f Makefile # make\"]\n");
    workspace.write("Makefile", "all:\n\tfalse\n");
    let workspace = workspace.in_git();
    workspace.runs(&["--attempts", "1"]).exits(1).says("`GNUmakefile`");
    assert_eq!(workspace.states(), "a running");
}

#[test]
fn a_failed_task_that_changed_what_verifies_others_ends_a_run_in_a_shared_folder() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $task = a ] && echo 'exit 0' > check.sh && exit 1; echo x > made-$task; says done",
    );
    workspace.configure("", BY_SCRIPT);
    workspace.write("check.sh", "test -f made-a\n");
    workspace
        .runs(&["-j", "1", "--attempts", "1"])
        .exits(1)
        .says("restore it, and run again");
    assert_eq!(workspace.states(), "a failed, b pending");
}

#[test]
fn what_verifies_a_task_in_a_shared_folder_is_that_of_its_first_start_also_after_a_kill() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        "echo 'exit 0' > check.sh; touch \"$ASIDE/here\"; awaits go; says done",
    );
    workspace.configure("", BY_SCRIPT);
    workspace.write("check.sh", "test -f made-a\n");
    let run = workspace.begins(&[]);
    workspace.until("the agent", |workspace| workspace.aside("here").exists());
    run.dies();
    workspace.give("go");
    workspace.runs(&[]).exits(1).says("files that verify it were changed");
    assert_eq!(workspace.states(), "a running");
}

#[test]
fn edited_fields_of_a_task_are_named() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a", "c"])), "");
    let plan = workspace.root().join("plan.json");
    let edit = "s/\"Make b\", \"depends_on\": \\[\"a\"\\]/\"Make c\", \"depends_on\": []/; s/\"id\": \"c\", \"description\": \"Make c\"/\"id\": \"c\", \"description\": \"Make b\"/";
    workspace.script(&format!(
        "[ $task = a ] && sed -i '{edit}' {}; [ $task = a ] && awaits go; says done",
        plan.display()
    ));
    let run = workspace.begins(&["-j", "1"]);
    workspace.until_log("edited");
    workspace.give("go");
    let came = run.ends().exits(0);
    came.says("`b` no longer depends on `a`")
        .says("`b` changed")
        .says("`c` changed");
}

#[test]
fn a_task_that_changes_what_verifies_it_fails_on_request() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "rm tests/one.txt; says done");
    let rules = "[verify]\nevery = [\"true\"]\nprotect = [\"tests/**\"]\non_protected = \"fail\"\n";
    workspace.configure("", rules);
    workspace.write("tests/one.txt", "1\n");
    let workspace = workspace.in_git();
    workspace
        .runs(&[])
        .exits(1)
        .says("`tests/one.txt` (verify.on_protected)");
    // Added files do not count.
    workspace.script("echo 2 > tests/two.txt; says done");
    workspace.runs(&["--retry-failed"]).exits(0);
}

#[test]
fn verbs_in_a_checkout_report_the_state_of_the_run() {
    let script = format!(
        "tell() {{ echo \"== $*\"; {PLANWRIGHT} \"$@\"; }}\n\
         {{ for verb in \"show $here\" \"next $here\" \"history $here\" \"why a -p $here\" list logs runs summary events stop \
         \"done a -p $here\" \"skip b -p $here\" \"done a -p $PLANWRIGHT_PLAN\" \"logs -p $PLANWRIGHT_PLAN\"; \
         do tell $verb; done; }} > \"$ASIDE/said\" 2>&1\nsays done"
    )
    .replace("$here", ".clido/plans/plan-a1b2c3d4.json");
    let plan = (".clido/plans/plan-a1b2c3d4.json", clido(&["a", "b a"]));
    let workspace = Workspace::new((plan.0, &plan.1), &script).in_git();
    workspace.runs(&["--only", "a"]).exits(0);
    let said = workspace.noted("said").join("\n");
    let of = |verb: &str| {
        let (_, after) = said
            .split_once(&format!("== {verb}"))
            .unwrap_or_else(|| panic!("{verb} in\n{said}"));
        after.split("\n== ").next().unwrap_or_default().to_owned()
    };
    let path = workspace.root().canonicalize().expect("it is there").join(plan.0);
    let path = path.display();
    for verb in ["show", "next", "history", "why", "list"] {
        let text = of(verb);
        assert!(text.contains("this plan is the copy in its checkout"), "{verb}: {text}");
        assert!(text.contains(&format!("-p {path}`")), "{verb}: {text}");
    }
    for verb in ["logs\n", "runs", "summary", "events"] {
        let text = of(verb);
        assert!(text.contains(&format!("`planwright logs -p {path}`")), "{verb}: {text}");
        assert!(!text.contains("planwright run`"), "{verb}: {text}");
    }
    for verb in ["stop", "done a -p .clido", "skip b", "done a -p /"] {
        let text = of(verb);
        assert!(text.contains("and an attempt cannot"), "{verb}: {text}");
        assert!(
            !text.contains("--take-over") && !text.contains("allowed from here"),
            "{verb}: {text}"
        );
    }
    assert!(of("logs -p").contains("a             running"), "{said}");
}

#[test]
fn a_dry_run_shows_what_verifies_the_tasks_and_what_that_protects() {
    let plan = aimi(1, &["1", "2"]).replacen("\"Typecheck passes\"", "\"Typecheck passes\", \"Docs are there\"", 1);
    let workspace = Workspace::new(("tasks.json", &plan), "says done");
    workspace.write("tests/check.sh", "");
    workspace.configure(
        "",
        "[verify]\nevery = [\"sh tests/check.sh -q\"]\nprotect = [\"ci/**\"]\n\n[[verify.criteria]]\ntext = \"Docs are there\"\nrun = [[\"test\", \"-e\", \"docs\"]]",
    );
    let shown = workspace.runs(&["--dry-run"]).exits(0).text;
    for line in [
        "US-001: `sh tests/check.sh -q`, `test -e docs`",
        "US-002: `sh tests/check.sh -q`\n                no rule verifies “Typecheck passes”",
        "a change to tests/check.sh, ci/** needs a review",
    ] {
        assert!(shown.contains(line), "`{line}` in\n{shown}");
    }
    let report = workspace.runs(&["--dry-run", "--json"]).exits(0).as_json();
    assert_eq!(
        report["tasks"][0]["verified_by"][1],
        serde_json::json!(["test", "-e", "docs"])
    );
    assert_eq!(
        report["tasks"][1]["protected"],
        serde_json::json!(["tests/check.sh", "ci/**"])
    );
    assert_eq!(report["on_protected"], "review");
}

#[test]
fn a_configuration_that_an_agent_rewrites_does_not_count() {
    let weak = "printf '[verify]\\nevery = [\"true\"]\\n[notify]\\ncommand = [\"touch\", \"%s/notified\"]\\n[agents.mock]\\ncommand = [\"true\"]\\n[run]\\nagent = \"mock\"\\n' \"$ASIDE\" > \"$HERE/planwright.toml\"";
    for in_git in [false, true] {
        let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "");
        workspace.script(&format!(
            "HERE={}\n{weak}\n[ $task = b ] && awaits go\nsays done",
            workspace.root().display()
        ));
        workspace.configure("", "[verify]\nevery = [\"false\"]\n");
        let workspace = if in_git { workspace.in_git() } else { workspace };
        let run = workspace.begins(&["-j", "1"]);
        workspace.until_log("started b");
        run.dies();
        workspace.give("go");
        // A resumed run uses the configuration of its start.
        workspace.runs(&["-j", "1"]).exits(1);
        assert!(!workspace.states().contains("done"), "{}", workspace.states());
        assert!(
            !workspace.aside("notified").exists(),
            "the command of the agent was run"
        );
    }
}

#[test]
fn statuses_in_answers_of_planners_do_not_count() {
    let answer = "cat <<'END'\n{\"goal\": \"x\", \"tasks\": [{\"id\": \"t1\", \"description\": \"Read it\"}, {\"id\": \"t7\", \"description\": \"All of it\", \"status\": \"done\"}, {\"id\": \"t3\", \"description\": \"Test it\", \"depends_on\": [\"t7\"], \"status\": \"done\"}]}\nEND";
    let workspace = failing(answer);
    workspace.does(&["run", "plan.json", "--replan", "1"]).exits(0);
    assert_eq!(workspace.read("made"), "t2\nt7\nt3\n", "new tasks are worked on");
}

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

#[test]
fn a_user_outside_the_run_marks_a_task_as_done() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b", "c b"])),
        "[ $task = a ] && awaits go; says done",
    );
    let run = workspace.begins(&["-j", "1"]);
    workspace.until_begun(1);
    workspace.until("the plan knows", |workspace| workspace.states().contains("a running"));
    workspace
        .does(&["done", "b", "-p", "plan.json", "--note", "made by hand"])
        .exits(1);
    workspace
        .does(&[
            "done",
            "b",
            "-p",
            "plan.json",
            "--take-over",
            "--note",
            "made by hand",
            "--by",
            "ada",
        ])
        .exits(0);
    workspace.until_log("edited");
    workspace.give("go");
    run.ends().exits(0);
    assert_eq!(workspace.noted("began"), ["a", "c"]);
    assert_eq!(workspace.states(), "a done, b done, c done");
    workspace.does(&["history", "plan.json"]).exits(0).says("made by hand");
}

#[test]
fn a_run_that_continues_leaves_tasks_alone_that_a_person_took_over() {
    for taken in [
        &[&[
            "start",
            "a",
            "--by",
            "bob",
            "--lease",
            "1h",
            "--take-over",
            "--note",
            "mine",
        ][..]][..],
        &[&["reset", "a"][..], &["start", "a", "--by", "bob"]],
    ] {
        let workspace = Workspace::new(
            ("plan.json", &clido(&["a", "b a", "c"])),
            "[ $task = a ] && sleep 20; says done",
        );
        let going = workspace.begins(&["-j", "1"]);
        workspace.until("the plan has it", |workspace| {
            workspace.states().starts_with("a running")
        });
        going.dies();
        for words in taken {
            workspace.does(&[*words, &["-p", "plan.json"]].concat()).exits(0);
        }
        workspace.script("says done");
        let dry = workspace.runs(&["--dry-run"]).text;
        assert!(dry.contains("bob"), "{dry}");
        let came = workspace.runs(&[]);
        assert!(came.text.contains("is held by bob"), "{}", came.text);
        assert_eq!(workspace.states(), "a running, b pending, c done", "{}", came.text);
        assert_eq!(
            workspace
                .noted("began")
                .iter()
                .filter(|task| task.as_str() == "a")
                .count(),
            1
        );
        let claim = workspace.shown()["tasks"][0]["holder"]["claim"].to_string();
        workspace
            .does(&[
                "done",
                "a",
                "-p",
                "plan.json",
                "--by",
                "bob",
                "--claim",
                &claim,
                "--unverified",
            ])
            .exits(0);
        workspace.runs(&[]).exits(0);
        assert_eq!(workspace.states(), "a done, b done, c done");
    }
}

#[test]
fn a_run_takes_tasks_whose_lease_is_over() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "says done");
    let lease = ["start", "a", "-p", "plan.json", "--by", "bob", "--lease", "1s"];
    workspace.does(&lease).exits(0);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    workspace
        .does(&["show", "plan.json"])
        .exits(0)
        .says("may be claimed again");
    workspace
        .runs(&[])
        .exits(0)
        .says("that lease is over: the run takes it");
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn a_plan_is_neither_deleted_nor_archived_while_a_run_works_on_it() {
    let place = ".clido/plans/plan-a1b2c3d4.json";
    let workspace = Workspace::new(
        (place, &clido(&["a"])),
        "until [ -e $ASIDE/go ]; do sleep 0.05; done; says done",
    );
    let going = workspace.begins(&[]);
    workspace.until_begun(1);
    for verb in [
        &["delete", place, "--yes"][..],
        &["archive", place],
        &["delete", place, "--dry-run"],
        &["clido", "plan", "delete", "plan-a1b2c3d4"],
    ] {
        let came = workspace.does(verb).exits(1);
        assert!(came.text.contains("a run works on"), "{}", came.text);
    }
    workspace.give("go");
    going.ends().exits(0);
    workspace.does(&["delete", place, "--yes"]).exits(0);
}

#[test]
fn code_of_a_task_does_not_rewrite_the_next_command_that_verifies_it() {
    let script = "echo 'echo true > check.sh' > lib.sh; touch bad; says done";
    for isolation in ["checkouts", "shared"] {
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), script);
        workspace.write("main.sh", "test ! -e lib.sh || . ./lib.sh\n");
        workspace.write("check.sh", "test ! -e bad\n");
        workspace.configure(
            &format!("isolation = \"{isolation}\""),
            "[verify]\nevery = [\"sh main.sh\", \"sh check.sh\"]\n",
        );
        let workspace = workspace.in_git();
        let came = workspace.runs(&[]);
        assert!(!workspace.states().contains("done"), "{isolation}: {}", came.text);
        if isolation == "checkouts" {
            came.exits(1)
                .says("restored before the next command: an earlier one changed `check.sh`");
        }
    }
}

#[test]
fn hidden_processes_do_not_change_verified_work() {
    let script = "touch made; env -i setsid sh -c \"(sleep 0.4; touch $PWD/late) >/dev/null 2>&1 </dev/null &\" >/dev/null 2>&1 </dev/null; says done";
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), script);
    workspace.configure("", "[verify]\nevery = [\"sleep 1\"]\n");
    let workspace = workspace.in_git();
    workspace
        .runs(&["--isolation", "shared"])
        .exits(0)
        .says("that its agent left running");
    assert!(!workspace.exists("late"));
}

#[test]
fn pipes_and_processes_of_one_command_do_not_reach_the_next() {
    for evil in [
        "mkfifo .gitignore; mkfifo sub/.gitattributes; rm check.sh; mkfifo check.sh",
        "env -i setsid sh -c 'while :; do echo true > check.sh; done' </dev/null >/dev/null 2>&1 & sleep 0.2",
    ] {
        let script = format!("cat > lib.sh <<'X'\n{evil}\nX\ntouch bad; says done");
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), &script);
        workspace.write("main.sh", "test ! -e lib.sh || . ./lib.sh\n");
        workspace.write("sub/file", "text\n");
        workspace.write("check.sh", "test ! -e bad\n");
        workspace.configure("", "[verify]\nevery = [\"sh main.sh\", \"sh check.sh\"]\n");
        let workspace = workspace.in_git();
        let came = workspace.runs(&["--isolation", "checkouts"]).exits(1);
        assert!(!workspace.states().contains("done"), "{evil}: {}", came.text);
    }
}
