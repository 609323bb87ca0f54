//! The first ten minutes: a newcomer's commands, without options, in a repository without a plan.

use planwright_core::dialect::{DIALECTS, Dialect};
use planwright_testkit::generate::extension;
use serde_json::Value;

use crate::run::{Workspace, aimi, clido};
use crate::sandbox::Sandbox;

#[test]
fn new_plans_have_the_dialect_of_the_others() {
    let sandbox = Sandbox::new();
    let made = |sandbox: &Sandbox, title: &str| {
        let report = sandbox.run(&["new", title, "--json"]).exits(0).json();
        report["dialect"].as_str().expect("a dialect").to_owned()
    };
    assert_eq!(made(&sandbox, "Count words"), "checklist");
    sandbox.run(&["new", "rawko", "Count lines"]).exits(0);
    sandbox.run(&["new", "Count bytes", "--dialect", "rawko"]).exits(0);
    assert_eq!(made(&sandbox, "Count all"), "rawko", "two of three plans are");
    sandbox.write("planwright.toml", "[plan]\ndialect = \"aimi\"\n");
    assert_eq!(made(&sandbox, "Count more"), "aimi");
    // The title is missing, or has no quotes.
    let refused = sandbox.run(&["new", "rawko"]).exits(2).stderr;
    assert!(
        refused.contains("planwright new \"TITLE\" --dialect rawko"),
        "{refused}"
    );
    let refused = sandbox.run(&["new", "Count", "words"]).exits(2).stderr;
    assert!(refused.contains("planwright new 'Count words'"), "{refused}");
}

#[test]
fn plans_are_converted_to_the_usual_dialect() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["new", "Count words", "--dialect", "rawko", "--out", "p.yaml"])
        .exits(0);
    let converted = sandbox.run(&["convert", "p.yaml"]).exits(0).stdout;
    assert!(converted.contains("\n<!-- planwright: plan "), "{converted}");
    sandbox.write("planwright.toml", "[plan]\ndialect = \"rawko\"\n");
    let refused = sandbox.run(&["convert", "p.yaml"]).exits(2).stderr;
    assert!(refused.contains("`p.yaml` is a rawko plan already"), "{refused}");
}

/// Returns the dialects whose plans planners and users write, and that are not derived from another document.
fn planned_dialects() -> impl Iterator<Item = &'static dyn Dialect> {
    let is_derived = |dialect: &&dyn Dialect| dialect.planning().is_some_and(|own| own.derived_by.is_some());
    DIALECTS.iter().copied().filter(move |dialect| !is_derived(dialect))
}

#[test]
fn the_placeholder_of_a_new_plan_is_replaced_and_never_run() {
    for dialect in planned_dialects() {
        let workspace = Workspace::new(("unused.txt", ""), "says done");
        let plan = format!("plan.{}", extension(dialect));
        let dialect = dialect.name();
        let plan = plan.as_str();
        workspace
            .does(&["new", "Count words", "--dialect", dialect, "--out", plan])
            .exits(0);
        let shown = workspace.does(&["show", plan, "--json"]).exits(0).as_json();
        let titles = |shown: &Value| -> Vec<String> {
            let tasks = shown["tasks"].as_array().expect("tasks").iter();
            tasks.map(|task| task["title"].to_string()).collect()
        };
        if titles(&shown).len() == 1 {
            workspace.does(&["check", plan]).exits(0).says("placeholder-task");
            workspace
                .does(&["run", plan, "--yes"])
                .exits(1)
                .says("planwright add \"TITLE\"");
        }
        let fields: &[&str] = if dialect == "opencrabs" {
            &["task_type=edit"]
        } else {
            &[]
        };
        let added = |title: &str| {
            let command = [&["add", title], fields, &["-p", plan]].concat();
            workspace.does(&command).exits(0)
        };
        added("Read the file");
        let shown = workspace.does(&["show", plan, "--json"]).exits(0).as_json();
        assert_eq!(titles(&shown), ["\"Read the file\""], "{dialect}");
        let checked = workspace.does(&["check", plan]).exits(0);
        assert!(!checked.text.contains("placeholder-task"), "{}", checked.text);
        // Only the first task replaces it.
        added("Count the words");
        let shown = workspace.does(&["show", plan, "--json"]).exits(0).as_json();
        assert_eq!(titles(&shown).len(), 2, "{dialect}");
        workspace.does(&["undo", plan]).exits(0);
        workspace.does(&["undo", plan]).exits(0);
    }
}

#[test]
fn a_missing_plan_is_explained_with_every_way_to_make_one() {
    let sandbox = Sandbox::new();
    for verb in [
        &["run"][..],
        &["show"],
        &["next"],
        &["check"],
        &["add", "x"],
        &["why", "t1"],
    ] {
        let refused = sandbox.run(verb).text();
        for way in [
            "planwright plan \"GOAL\"",
            "planwright new \"TITLE\"",
            "planwright import FILE",
        ] {
            assert!(refused.contains(way), "{verb:?}: {refused}");
        }
    }
}

#[test]
fn of_several_plans_the_unfinished_one_is_meant() {
    let done = clido(&["a"]).replace("\"pending\"", "\"done\"");
    let workspace = Workspace::new((".clido/plans/first.json", &done), "says done");
    workspace.does(&["show"]).exits(0).says("1/1 done");
    workspace.write(
        ".clido/plans/second.json",
        clido(&["b", "c b"]).replace("a1b2c3d4", "b2c3d4e5"),
    );
    workspace.does(&["show"]).exits(0).says("0/2 done");
    workspace.does(&["run"]).exits(0).says("2 done");
    // If none or several are open, each is listed with its title and its progress.
    let listed = workspace.does(&["show"]).exits(1);
    listed.says("second.json").says("(2/2 done)");
    workspace.write(".clido/plans/third.json", clido(&["d"]).replace("a1b2c3d4", "c3d4e5f6"));
    workspace.write(
        ".clido/plans/fourth.json",
        clido(&["e"]).replace("a1b2c3d4", "d4e5f6a7"),
    );
    let listed = workspace.does(&["run"]).exits(1);
    listed
        .says("(0/1 done)")
        .says("planwright run .clido/plans/fourth.json");
}

#[test]
fn plans_are_found_by_their_titles() {
    let sandbox = Sandbox::new();
    sandbox.run(&["new", "Limit how often a client may call"]).exits(0);
    sandbox.run(&["new", "Count words"]).exits(0);
    let shown = sandbox.run(&["show", "-p", "limit how"]).exits(0).stdout;
    assert!(shown.contains("Limit how often a client may call"), "{shown}");
    sandbox.run(&["add", "Measure it", "-p", "count"]).exits(0);
    let shown = sandbox.run(&["show", "words"]).exits(0).stdout;
    assert!(shown.contains("Measure it"), "{shown}");
    let refused = sandbox.run(&["show", "-p", "o"]).exits(1).text();
    assert!(
        refused.contains("several plans match") && refused.contains("Count words"),
        "{refused}"
    );
    sandbox.run(&["show", "-p", "no such title"]).exits(1);
}

#[test]
fn new_tasks_are_named_and_numbered_like_the_others() {
    let sandbox = Sandbox::new();
    let answer = "1. Add a bucket\n2. Wire it\n   Call it in `handle`, and nowhere else.\n";
    sandbox.write("answer.md", answer);
    sandbox.run(&["import", "answer.md", "--yes"]).exits(0);
    let added = sandbox.run(&["add", "Measure it"]).exits(0).stdout;
    assert_eq!(added, "added T3  Measure it\n");
    // For a description with several paragraphs, lists show the first line.
    let shown = sandbox.run(&["show"]).exits(0).stdout;
    assert!(shown.contains("Wire it\n") && !shown.contains("Call it in"), "{shown}");
    let task = sandbox.run(&["show", "T2"]).exits(0).stdout;
    assert!(task.contains("Call it in `handle`, and nowhere else."), "{task}");
}

#[test]
fn a_dry_run_has_the_tasks_that_a_retry_reopens() {
    let fails = "[ $task = a ] || [ $task = US-001 ] && exit 1\nsays done";
    let clido = clido(&["a", "b a", "c b", "d"]);
    let workspace = Workspace::new(("plan.json", &clido), fails);
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "a failed, b skipped, c skipped, d done");
    let dry = workspace.runs(&["--dry-run", "--json"]).exits(0).as_json();
    assert_eq!(dry["rounds"], serde_json::json!([["a"], ["b"], ["c"]]), "{dry}");
    let tasks = dry["tasks"].as_array().expect("tasks");
    assert!(tasks.iter().all(|task| task["agent"] != ""), "{dry}");
    workspace.script("says done");
    workspace.runs(&[]).exits(0).says("3 done");
    // In dialects that leave failed tasks alone, the same holds for --retry-failed.
    let workspace = Workspace::new(("plan.json", &aimi(2, &["1", "2 1", "3"])), fails);
    workspace.runs(&["--cascade-skip"]).exits(1);
    let rounds = |flags: &[&str]| {
        let dry = workspace.runs(&[&["--dry-run", "--json"], flags].concat());
        dry.as_json()["rounds"].to_string()
    };
    assert_eq!(rounds(&[]), "[]");
    assert_eq!(rounds(&["--retry-failed"]), "[[\"US-001\"],[\"US-002\"]]");
}

#[test]
fn verification_is_found_in_the_folders_of_a_repository() {
    let sandbox = Sandbox::new();
    sandbox.write("api/package.json", "\u{feff}{\"scripts\": {\"test\": \"node --test\"}}");
    sandbox.write("web page/Makefile", "check:\n\ttrue\ntest:\n\ttrue\n");
    sandbox.write("node_modules/x/package.json", "{\"scripts\": {\"test\": \"false\"}}");
    let printed = sandbox.run(&["init", "--no-run", "--print"]).exits(0).stdout;
    assert!(printed.contains("cd api && npm test"), "{printed}");
    assert!(!printed.contains("node_modules"), "{printed}");
    // Commands for the root itself come first.
    sandbox.write("go.mod", "module x\n");
    let printed = sandbox.run(&["init", "--no-run", "--print"]).exits(0).stdout;
    assert!(
        printed.contains("go test ./...") || !printed.contains("cd api"),
        "{printed}"
    );
}

#[test]
fn only_an_untouched_placeholder_is_replaced() {
    for (dialect, name, field) in [
        ("aimi", "US-001", "notes=Two days of notes"),
        ("opencrabs", "1", "description=The real work, at length"),
        ("rawko", "0", "instructions=Mind the old clients"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.run(&["new", "P", "--dialect", dialect]).exits(0);
        let kind: &[&str] = if dialect == "opencrabs" {
            &["task_type=edit"]
        } else {
            &[]
        };
        let add = |words: &[&str]| sandbox.run(&[&["add"], words, kind].concat()).exits(0).stdout;
        let added = add(&["Real", "--dry-run"]);
        assert!(added.contains("in place of the placeholder"), "{dialect}: {added}");
        // Neither a user nor a run can mark it as done.
        for verb in ["start", "skip"] {
            let refused = sandbox.run(&[verb, name]).exits(1).text();
            assert!(refused.contains("placeholder"), "{dialect}: {refused}");
        }
        let offered = sandbox.run(&["next"]).text();
        assert!(!offered.contains("planwright run"), "{dialect}: {offered}");
        sandbox.run(&["set", name, field]).exits(0);
        let added = add(&["Second"]);
        assert!(!added.contains("placeholder"), "{dialect}: {added}");
        let shown = sandbox.run(&["show", "--json"]).exits(0).json();
        assert_eq!(shown["tasks"].as_array().map(Vec::len), Some(2), "{dialect}: {shown}");
    }
    // A user's task with the same words is a task.
    let plan = clido(&["a", "b a"]).replace("Make a", "Describe the first task");
    let workspace = Workspace::new(("plan.json", &plan), "says done");
    workspace.runs(&[]).exits(0).says("2 done");
}

#[test]
fn the_answer_of_a_planner_finishes_no_task() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "boxes.md",
        "Here is the plan:\n- [x] Write the tests\n- [-] Fix the bug\n",
    );
    sandbox
        .run(&["plan", "Fix the bug", "--from", "boxes.md", "--yes"])
        .exits(0);
    let shown = sandbox.run(&["show"]).exits(0).stdout;
    assert!(shown.contains("0/2 done · 2 pending"), "{shown}");
    let held =
        r#"{"goal": "G", "tasks": [{"id": "t1", "description": "A"}, {"id": "t2", "description": "B", "skip": true}]}"#;
    sandbox.write("held.json", held);
    sandbox
        .run(&[
            "plan",
            "Other",
            "--from",
            "held.json",
            "--out",
            "held.plan.json",
            "--dialect",
            "clido",
        ])
        .exits(0);
    let plan = sandbox.read("held.plan.json");
    assert!(!plan.contains("\"skip\": true"), "{plan}");
    // A sound plan of another dialect is converted, without a question.
    let converted = sandbox
        .run(&["plan", "Other", "--from", "held.json", "--out", "held.md"])
        .exits(0);
    let note = "the answer is a plan of the dialect `clido`, and was converted to `checklist`";
    assert!(converted.stderr.contains(note), "{}", converted.text());
    assert!(sandbox.read("held.md").ends_with("\n- [ ] t1: A\n- [ ] t2: B\n"));
}

#[test]
fn a_new_plan_does_not_get_a_file_with_the_extension_of_another_dialect() {
    let sandbox = Sandbox::new();
    sandbox.write("list.md", "1. Add a bucket\n2. Wire it\n");
    for verb in [
        &["new", "P"][..],
        &["plan", "P", "--single"],
        &["import", "list.md", "--yes"],
    ] {
        let refused = sandbox.run(&[verb, &["--out", "plan.json"]].concat()).exits(2);
        let help = "choose the dialect with --dialect: opencrabs, clido, aimi, rawko; or name another file";
        assert!(refused.stderr.contains(help), "{}", refused.text());
        assert!(!sandbox.path().join("plan.json").exists());
    }
}

#[test]
fn a_new_plan_in_the_place_of_a_deleted_one_has_a_history_and_a_branch_of_its_own() {
    let workspace = Workspace::new(("unused.txt", ""), "says done").in_git();
    workspace.does(&["new", "Limit calls"]);
    workspace.does(&["add", "Count them"]);
    workspace.does(&["start", "T1"]);
    std::fs::remove_file(workspace.root().join("PLAN.md")).expect("it is there");
    workspace.does(&["new", "Limit calls"]);
    workspace.does(&["add", "Count others"]);
    let plan = workspace.read("PLAN.md");
    assert!(
        plan.contains("<!-- planwright: plan limit-calls-2, explicit dependencies -->"),
        "{plan}"
    );
    let shown = workspace.does(&["show"]).text;
    assert!(
        shown.contains("ready: T1"),
        "the task of the old plan was running: {shown}"
    );
    let history = workspace.does(&["history"]).text;
    assert!(!history.contains("Count them"), "{history}");
    let preview = workspace.does(&["run", "--dry-run"]).text;
    assert!(preview.contains("planwright/limit-calls-2"), "{preview}");
}

#[test]
fn a_plan_is_removed_by_its_whole_title_alone() {
    let sandbox = Sandbox::new();
    for title in ["Refactor storage", "Login", "Login page", "Release v1.2"] {
        sandbox.run(&["new", title, "--dialect", "clido"]).exits(0);
    }
    let refused = sandbox.run(&["delete", "--yes", "storage"]).exits(1).text();
    assert!(refused.contains("there is no plan `storage`"), "{refused}");
    // A whole title takes precedence over parts of others, and may look like a path.
    let shown = sandbox.run(&["show", "-p", "Login"]).exits(0).stdout;
    assert!(shown.starts_with("Login\n"), "{shown}");
    sandbox.run(&["show", "-p", "Release v1.2"]).exits(0);
    sandbox.run(&["delete", "--yes", "Login"]).exits(0);
    let listed = sandbox.run(&["list"]).exits(0).stdout;
    assert!(
        listed.contains("Login page") && listed.contains("Refactor storage"),
        "{listed}"
    );
}

#[test]
fn doctor_is_ready_only_if_a_run_would_begin() {
    const PLAN: &str = ".clido/plans/plan-a1b2c3d4.json";
    let workspace = || Workspace::new((PLAN, &clido(&["a"])), "says done").in_git();
    let agrees = |workspace: &Workspace, is_ready: bool, words: &str| {
        let status = i32::from(!is_ready);
        workspace.does(&["doctor"]).exits(status).says(words);
        workspace.does(&["run", "--dry-run"]).exits(status);
        workspace.does(&["run"]).exits(status);
    };
    let ready = workspace();
    agrees(&ready, true, "ready");
    let unapproved = workspace();
    unapproved.configure("", "[approval]\nrequired = true");
    agrees(&unapproved, false, "cannot-run");
    let checked_out = workspace();
    checked_out.git(&["switch", "-q", "-c", "planwright/plan-a1b2c3d4"]);
    agrees(&checked_out, false, "is checked out in");
    let waiting = workspace();
    waiting.does(&["start", "a", "--by", "bob"]).exits(0);
    waiting.does(&["doctor"]).exits(1).says("nothing can run");
    let placeholder = Workspace::new(("unused.txt", ""), "says done").in_git();
    placeholder.does(&["new", "P", "--dialect", "aimi"]).exits(0);
    placeholder.does(&["doctor"]).exits(1).says("placeholder");
}

#[test]
fn a_run_of_selected_tasks_succeeds_only_if_they_are_done() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "exit 1");
    workspace.runs(&[]).exits(1);
    workspace.runs(&["--only", "b"]).exits(1).says("1 skipped");
}

#[test]
fn land_names_work_of_other_plans_and_of_tasks_that_are_not_done() {
    let workspace = Workspace::new(
        (".clido/plans/plan-a1b2c3d4.json", &clido(&["a"])),
        "echo x > $task; says done",
    );
    workspace.write(
        ".clido/plans/plan-b2c3d4e5.json",
        clido(&["b"]).replace("plan-a1b2c3d4", "plan-b2c3d4e5"),
    );
    let workspace = workspace.in_git();
    for plan in ["plan-a1b2c3d4", "plan-b2c3d4e5"] {
        workspace.does(&["run", "-p", plan]).exits(0);
    }
    let landed = workspace.does(&["land"]).exits(0);
    landed
        .says("landed 1 task")
        .says("planwright land -p .clido/plans/plan-a1b2c3d4.json");
    workspace.does(&["undo", "-p", "plan-a1b2c3d4"]).exits(0);
    let landed = workspace
        .does(&["land", "-p", ".clido/plans/plan-a1b2c3d4.json"])
        .exits(0);
    landed.says("does not have a as done any more");
    // Landed work stays landed without its branch.
    workspace.git(&["branch", "-D", "planwright/plan-b2c3d4e5"]);
    let summary = workspace.does(&["summary", "-p", "plan-b2c3d4e5"]).exits(0);
    let summary = summary.says("and in main");
    assert!(!summary.text.contains("planwright land"), "{}", summary.text);
    // A run whose tasks all failed has nothing to land, and does not count as landed.
    workspace.script("exit 1");
    workspace.does(&["run", "-p", "plan-a1b2c3d4"]).exits(1);
    workspace.commit("States");
    workspace
        .does(&["land", "-p", "plan-a1b2c3d4"])
        .exits(0)
        .says("has no verified work");
}

#[test]
fn a_plan_with_the_title_of_a_deleted_one_has_a_branch_of_its_own() {
    let workspace = Workspace::new(("unused.txt", ""), "echo x > $task; says done").in_git();
    let run = || {
        workspace.does(&["new", "Fix bugs"]).exits(0);
        workspace.does(&["add", "A task"]).exits(0);
        workspace.does(&["run"]).exits(0);
        workspace.git(&["for-each-ref", "--format=%(refname)", "refs/heads/planwright"])
    };
    let first = run();
    workspace.does(&["delete", "--yes", "Fix bugs"]).exits(0);
    let both = run();
    assert!(both.lines().count() == 2 && both.contains(first.trim()), "{both}");
}

#[test]
fn lines_that_a_task_takes_from_tests_are_reported() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "[ $task = a ] && echo pass > tests/a.py || echo more >> tests/b.py; says done",
    );
    workspace.write("tests/a.py", "assert one\nassert two\n");
    workspace.write("tests/b.py", "assert three\n");
    let workspace = workspace.in_git();
    workspace.configure("", "[verify]\nevery = [\"true\"]");
    workspace.commit("Verify");
    let ran = workspace.runs(&[]).exits(0);
    let ran = ran.says("look first at a (removed lines of tests)");
    assert!(!ran.text.contains("b (removed"), "{}", ran.text);
}

#[test]
fn questions_of_an_agent_are_shown() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        "echo 'Should I use Redis or memory?'; says done",
    )
    .in_git();
    let ran = workspace.runs(&[]);
    ran.says("no changes");
    // No other process can undo changes of a running plan.
    workspace.script("sleep 4");
    workspace
        .does(&["reset", "a", "--force", "--note", "again", "-p", "plan.json"])
        .exits(0);
    let run = workspace.begin(&["run", "plan.json"]);
    workspace.until("a task runs", |workspace| workspace.states() == "a running");
    workspace
        .does(&["undo", "--by", "mallory", "plan.json"])
        .exits(1)
        .says("a run is working on the plan");
    run.signal("INT");
    run.ends();
}

#[test]
fn an_edited_text_is_kept_when_the_plan_is_gone_and_when_the_editor_crashes() {
    for (script, status) in [("rm PLAN.md", 0), ("true", 139)] {
        let sandbox = Sandbox::new();
        sandbox.write(
            "ed.sh",
            format!("{script}\nsed -i 's/^title: .*/title: MY LONG WORK/' \"$1\"\nexit {status}\n"),
        );
        let sandbox = sandbox.set("EDITOR", "sh ed.sh");
        sandbox.run(&["new", "P"]).exits(0);
        sandbox.run(&["add", "A"]).exits(0);
        let edited = sandbox.run(&["edit", "T1"]).text();
        assert!(edited.contains("the text is kept as .planwright/unusable/"), "{edited}");
        let kept = std::fs::read_dir(sandbox.path().join(".planwright/unusable")).expect("a folder");
        let texts = kept
            .flatten()
            .map(|file| std::fs::read_to_string(file.path()).expect("a text"));
        assert!(texts.into_iter().any(|text| text.contains("MY LONG WORK")), "{edited}");
    }
}

#[test]
fn lines_that_init_prints_for_an_existing_file_can_be_pasted() {
    let sandbox = Sandbox::new();
    sandbox.write("Makefile", "test:\n\techo tested\n");
    sandbox.write("planwright.toml", "[verify]\nprotect = [\"tests/**\"]\n");
    let advice = sandbox.run(&["init", "--no-run"]).exits(0).stdout;
    assert!(advice.contains("add below [verify] in planwright.toml"), "{advice}");
    let setting = advice
        .lines()
        .find(|line| line.starts_with("every = "))
        .expect("a setting");
    sandbox.write(
        "planwright.toml",
        format!("[verify]\nprotect = [\"tests/**\"]\n{setting}\n"),
    );
    sandbox.run(&["config"]).exits(0);
    sandbox.write("planwright.toml", "[run]\nslots = 2\n");
    let advice = sandbox.run(&["init", "--no-run"]).exits(0).stdout;
    let table = advice.find("[verify]").expect("a table");
    let end = advice[table..].find("\nnext:").map_or(advice.len(), |at| table + at);
    sandbox.write("planwright.toml", format!("[run]\nslots = 2\n{}", &advice[table..end]));
    sandbox.run(&["config"]).exits(0);
}

#[test]
fn a_dependency_is_added_by_the_name_that_people_try() {
    let sandbox = Sandbox::new();
    sandbox.run(&["new", "P"]).exits(0);
    sandbox.run(&["add", "A"]).exits(0);
    sandbox.run(&["add", "B", "--depends-on", "T1"]).exits(0);
    let shown = sandbox.run(&["show"]).exits(0).stdout;
    assert!(shown.contains("waits for T1"), "{shown}");
}

#[test]
fn why_leads_from_a_skipped_task_to_the_failure_and_back() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "exit 1");
    workspace.runs(&[]).exits(1);
    workspace
        .does(&["why", "a", "-p", "plan.json"])
        .exits(0)
        .says("skipped because of it: b");
    workspace
        .does(&["why", "b", "-p", "plan.json"])
        .exits(0)
        .says("next: planwright why a -p plan.json");
}

#[test]
fn commands_that_new_prints_can_be_pasted_in_every_dialect() {
    for dialect in planned_dialects() {
        let sandbox = Sandbox::new();
        let made = sandbox.run(&["new", "P", "--dialect", dialect.name()]).exits(0).stderr;
        let command = made.lines().find_map(|line| line.strip_prefix("next: planwright "));
        let words = command.expect("a command").replace("\"TITLE\"", "TITLE");
        let words: Vec<&str> = words.split(' ').collect();
        sandbox.run(&words).exits(0);
    }
}

#[test]
fn branches_that_cannot_be_used_are_refused_before_a_run() {
    let workspace = Workspace::new((".clido/plans/plan-a1b2c3d4.json", &clido(&["a"])), "says done").in_git();
    workspace.git(&["branch", "feature"]);
    for flags in [&["--dry-run"][..], &[]] {
        let args = [&["run", "--branch", "feature/x"], flags].concat();
        workspace.does(&args).exits(1);
    }
    workspace.git(&["switch", "-q", "--detach"]);
    workspace
        .does(&["run", "--branch", "current", "--dry-run"])
        .exits(1)
        .says("cannot land: HEAD is detached");
}

#[test]
fn doctor_names_checkouts_that_cannot_be_made_and_setup_that_fails() {
    let plan = (".clido/plans/plan-a1b2c3d4.json", clido(&["a"]));
    let mut workspace = Workspace::new((plan.0, &plan.1), "says done").in_git();
    workspace.configure("", "[verify]\nevery = [\"true\"]\n");
    workspace.commit("A command that verifies");
    workspace.does(&["doctor"]).exits(0);
    // Not a folder, and a folder in the repository itself.
    workspace.write("taken", "");
    for place in [workspace.root().join("taken/below"), workspace.root().join("inside")] {
        workspace.set("PLANWRIGHT_RUN_CHECKOUTS", &place.display().to_string());
        workspace.does(&["doctor"]).exits(1).says("run.checkouts");
        workspace.does(&["doctor", "--run"]).exits(1).says("run.checkouts");
    }
    workspace.set(
        "PLANWRIGHT_RUN_CHECKOUTS",
        &workspace.aside("checkouts").display().to_string(),
    );
    workspace.does(&["doctor"]).exits(0);
    workspace.configure("setup = [\"exit 3\"]", "[verify]\nevery = [\"true\"]\n");
    workspace.commit("A setup that fails");
    let came = workspace.does(&["doctor", "--run"]).exits(1);
    came.says("`exit 3` of run.setup fails");
}

#[test]
fn a_run_that_lands_nothing_names_the_work_of_earlier_runs() {
    const PLAN: &str = ".clido/plans/plan-a1b2c3d4.json";
    let workspace = Workspace::new(
        (PLAN, &clido(&["a", "b"])),
        "[ $task = b ] && exit 1; echo x > a.txt; says done",
    );
    let workspace = workspace.in_git();
    workspace
        .does(&["run"])
        .exits(1)
        .says("1 task on planwright/plan-a1b2c3d4");
    let came = workspace.does(&["run", "--retry-failed"]).exits(1);
    came.says("work of earlier runs on planwright/plan-a1b2c3d4")
        .says("planwright land .clido/plans/plan-a1b2c3d4.json");
}

#[test]
fn land_names_the_task_that_waits_for_review() {
    const PLAN: &str = ".clido/plans/plan-a1b2c3d4.json";
    let workspace = Workspace::new((PLAN, &clido(&["a"])), "echo 'exit 0' > check.sh; says done");
    workspace.configure("", "[verify]\nevery = [\"sh check.sh\"]\n");
    workspace.write("check.sh", "true\n");
    let workspace = workspace.in_git();
    let came = workspace.does(&["run"]).exits(1);
    came.says("passed 1 command, in review");
    let landed = workspace.does(&["land"]).exits(0);
    landed.says("a waits for review: `planwright approve a -p .clido/plans/plan-a1b2c3d4.json`");
}
