//! Agents that cheat: they edit the plan, or call verbs on their own run. None of it counts.

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
