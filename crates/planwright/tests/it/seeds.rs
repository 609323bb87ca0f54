//! Sentences of the five specifications that planwright once did not follow.

use serde_json::Value;

use crate::planning::{asked, planner};
use crate::plans;
use crate::run::{Workspace, clido};
use crate::sandbox::Sandbox;

const FLAT: &str = r#"{"goal": "Count words", "tasks": [{"id": "t1", "description": "Read the file"}]}"#;

#[test]
fn opencrabs_plans_of_every_profile_are_found_in_the_home_folder() {
    let places = [
        ".home/.opencrabs/profiles/ops/plans/coding-plans/rust-full.json",
        ".home/.opencrabs/profiles/dev/agents/session/.opencrabs_plan_123e4567-e89b-12d3-a456-426614174000.json",
        ".home/.opencrabs/plans/coding-plans/sample-minimal-plan.json",
    ];
    let sandbox = Sandbox::with(&places.map(|place| (place, plans::OPENCRABS)));
    let listed = sandbox.run(&["list", "--user", "--json"]).exits(0).json();
    assert_eq!(listed["plans"].as_array().map(Vec::len), Some(3), "{listed}");
    let found = sandbox.run(&["find", "rust-full", "--user", "--json"]).exits(0).json();
    let path = found["plans"][0]["path"].as_str().expect("a path");
    assert!(
        path.ends_with("profiles/ops/plans/coding-plans/rust-full.json"),
        "{path}"
    );
    sandbox.run(&["show", "rust-full", "--user"]).exits(0);
    let own = sandbox.run(&["list", "--json"]).exits(0).json();
    assert_eq!(own["plans"].as_array().map(Vec::len), Some(0), "{own}");
}

#[test]
fn a_task_to_skip_is_skipped_after_a_finished_run() {
    let plan = clido(&["a", "b a", "c b"]).replace("\"Make b\"", "\"Make b\", \"skip\": true");
    assert!(plan.contains("\"skip\": true"), "{plan}");
    let workspace = Workspace::new(("plan.json", &plan), "says done");
    workspace.runs(&["--only", "a"]).exits(0);
    assert_eq!(workspace.states(), "a done, b pending, c pending");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b skipped, c done");
    workspace.does(&["check", "plan.json"]).exits(0);
    workspace.does(&["reset", "b", "-p", "plan.json"]).exits(0);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done, c done");
}

#[test]
fn tasks_to_skip_are_skipped_where_nothing_else_is_left() {
    let plan = clido(&["a", "b a"]).replace("\"Make b\"", "\"Make b\", \"skip\": true");
    let plan = plan.replacen("\"status\": \"pending\"", "\"status\": \"done\"", 1);
    let workspace = Workspace::new(("plan.json", &plan), "says done");
    workspace.runs(&["--dry-run"]).exits(0);
    assert_eq!(workspace.states(), "a done, b pending");
    let came = workspace.runs(&[]).exits(0);
    came.says("1 of 2 tasks are done, 1 to be skipped").says("skipped: b");
    assert_eq!(workspace.states(), "a done, b skipped");
}

#[test]
fn an_imported_clido_plan_goes_where_clido_keeps_plans() {
    let sandbox = Sandbox::with(&[("ans.json", FLAT)]);
    let said = sandbox.run(&["import", "ans.json"]).exits(0).stdout;
    let path = said.trim().strip_prefix("wrote ").expect("a path").to_owned();
    let plan: Value = serde_json::from_str(&sandbox.read(&path)).expect("JSON");
    let id = plan["meta"]["id"].as_str().expect("an id");
    assert_eq!(path, format!(".clido/plans/{id}.json"));
    assert!(!sandbox.path().join("ans.plan.json").exists());
    let checked = sandbox.run(&["check", &path]).exits(0);
    assert!(!checked.text().contains("file-name-mismatch"), "{}", checked.text());
    sandbox.run(&["clido", "plan", "show", id]).exits(0);
    sandbox.write(
        "named.json",
        FLAT.replace("{\"goal\"", "{\"id\": \"my plan\", \"goal\""),
    );
    let said = sandbox.run(&["import", "named.json", "--dry-run"]).exits(0).text();
    assert!(said.contains("`my plan` cannot be the name of a file"), "{said}");
}

#[test]
fn clido_shows_the_flat_form_too() {
    let sandbox = Sandbox::with(&[(".clido/plans/words.json", FLAT)]);
    let shown = sandbox.run(&["clido", "plan", "show", "words"]).exits(0).stdout;
    assert!(
        shown.starts_with("Plan: words\nGoal: Count words\nCreated: unknown\n"),
        "{shown}"
    );
    // `list` omits it with a remark, as in the original.
    let listed = sandbox.run(&["clido", "plan", "list"]).exits(0).stderr;
    assert!(listed.contains("words is left out"), "{listed}");
}

#[test]
fn a_plan_that_clido_deletes_can_be_restored() {
    let sandbox = Sandbox::with(&[(".clido/plans/p.json", plans::CLIDO)]);
    let said = sandbox.run(&["clido", "plan", "delete", "p"]).exits(0).stdout;
    assert_eq!(said, "Deleted plan 'p'.\n");
    assert!(!sandbox.path().join(".clido/plans/p.json").exists());
    let kept = sandbox.read(".planwright/trash/1/.clido/plans/p.json");
    assert_eq!(kept, plans::CLIDO);
    let gone = sandbox.run(&["clido", "plan", "delete", "other"]).exits(1);
    assert_eq!(gone.stderr, "Error: plan not found: other\n");
}

#[test]
fn notes_name_files_as_the_repository_does() {
    let script = "echo \"error: $PWD/src/lib.rs:3: no; in $PWD.\" >&2; exit 3";
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), script).in_git();
    workspace.runs(&["--isolation", "checkouts"]).exits(1);
    let notes = workspace.json()["tasks"][0]["notes"].to_string();
    assert!(notes.contains("error: src/lib.rs:3: no; in ."), "{notes}");
}

#[test]
fn stories_of_a_prd_wait_for_what_they_depend_on() {
    let story = |id: u32, rest: &str| {
        format!(
            r#"{{"id": "US-00{id}", "title": "T", "priority": 1, "passes": false, "acceptanceCriteria": []{rest}}}"#
        )
    };
    let stories = [
        story(1, ""),
        story(2, r#", "dependsOn": ["US-001"]"#),
        story(3, r#", "dependsOn": ["US-002"]"#),
    ];
    let text = format!(
        r#"{{"name": "App", "branchName": "ralph/app", "userStories": [{}]}}"#,
        stories.join(", ")
    );
    let sandbox = Sandbox::with(&[("prd.json", &text)]);
    let ready = |sandbox: &Sandbox| {
        let report = sandbox.run(&["next", "--all", "--json"]).exits(0).json();
        let ready = report["ready"].as_array().expect("a list").iter();
        let names: Vec<String> = ready.map(|task| task["task"]["task"].to_string()).collect();
        names.join(" ")
    };
    assert_eq!(ready(&sandbox), "\"US-001\"");
    sandbox.run(&["start", "US-002"]).exits(1);
    sandbox.run(&["start", "US-001"]).exits(0);
    sandbox.run(&["done", "US-001", "--unverified"]).exits(0);
    assert_eq!(ready(&sandbox), "\"US-002\"");
    let checked = sandbox.run(&["check", "prd.json"]).exits(0).text();
    assert!(!checked.contains("aimi-field-of-other-version"), "{checked}");
    // The specification of 2.x has no such field.
    sandbox.write("prd.json", text.replacen('{', r#"{"schemaVersion": "2.0", "#, 1));
    let checked = sandbox.run(&["check", "prd.json"]).text();
    assert!(checked.contains("aimi-field-of-other-version"), "{checked}");
}

const RAWKO_PLANS: &str = ".rawko/plans";

fn rawko_sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&["new", "rawko", "Count words"]).exits(0);
    sandbox
}

/// Returns the file of the plan with a word in its name.
fn plan_called(sandbox: &Sandbox, word: &str) -> String {
    let plans = std::fs::read_dir(sandbox.path().join(RAWKO_PLANS)).expect("a folder");
    let mut names = plans
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.find(|name| name.contains(word)).expect("a plan")
}

#[test]
fn a_new_rawko_plan_is_the_current_task_unless_another_is_unfinished() {
    let sandbox = rawko_sandbox();
    let first = sandbox.read(".rawko/current-task.yaml");
    assert!(
        first.contains("task: Count words") && first.contains("status: draft"),
        "{first}"
    );
    sandbox.run(&["new", "rawko", "Count lines"]).exits(0);
    assert_eq!(sandbox.read(".rawko/current-task.yaml"), first);
    sandbox.write(
        ".rawko/current-task.yaml",
        first.replace("status: draft", "status: complete"),
    );
    sandbox.run(&["new", "rawko", "Count bytes"]).exits(0);
    let third = sandbox.read(".rawko/current-task.yaml");
    assert!(third.contains("task: Count bytes"), "{third}");
    sandbox
        .run(&["archive", &format!("{RAWKO_PLANS}/{}", plan_called(&sandbox, "bytes"))])
        .exits(0);
    sandbox.run(&["new", "rawko", "Count pages"]).exits(0);
    let fourth = sandbox.read(".rawko/current-task.yaml");
    assert!(fourth.contains("task: Count pages"), "{fourth}");
    // A plan in another place is not rawko's.
    let other = Sandbox::new();
    other.run(&["new", "rawko", "A", "--out", "a.yaml"]).exits(0);
    assert!(!other.path().join("current-task.yaml").exists());
}

#[test]
fn steps_name_who_executed_them_by_hand() {
    let sandbox = rawko_sandbox().set("USER", "ada");
    let plans = std::fs::read_dir(sandbox.path().join(RAWKO_PLANS)).expect("a folder");
    let plan = plans.flatten().next().expect("a plan").file_name();
    let plan = format!("{RAWKO_PLANS}/{}", plan.to_string_lossy());
    sandbox.run(&["add", "Count them"]).exits(0);
    sandbox.run(&["start", "0"]).exits(0);
    let text = sandbox.read(&plan);
    assert!(
        text.contains("executedBy: ada@") || text.contains("executedBy: \"ada@"),
        "{text}"
    );
    sandbox.run(&["done", "0", "--unverified"]).exits(0);
    assert!(sandbox.read(&plan).contains("ada@"));
}

#[test]
fn a_new_version_keeps_the_task_text_and_check_skips_the_old_version() {
    let workspace = Workspace::new((".rawko/plans/p.yaml", &crate::run::rawko(&["A", "B 0"])), "says done");
    let id = workspace.read(".rawko/plans/p.yaml");
    let id = id.lines().find_map(|line| line.strip_prefix("id: ")).expect("an id");
    let id = id.trim_matches('"').to_owned();
    let path = format!(".rawko/plans/{id}.yaml");
    std::fs::rename(
        workspace.root().join(".rawko/plans/p.yaml"),
        workspace.root().join(&path),
    )
    .expect("a file");
    let pointer = format!("task: my own words\nplanId: {id}\nstatus: in_progress\n");
    workspace.write(".rawko/current-task.yaml", pointer);
    workspace.does(&["start", "0"]).exits(0);
    workspace.does(&["fail", "0", "--note", "no"]).exits(0);
    workspace.does(&["check"]).exits(0).says("never-ready");
    workspace.write(
        "answer.yaml",
        "newPlan:\n  steps:\n    - description: Another way\nreasoning: It was too much at once.\n",
    );
    let came = workspace
        .does(&["replan", &path, "--from", "answer.yaml", "--yes"])
        .exits(0);
    came.says("- 1: B").says("It was too much at once.");
    let current = workspace.read(".rawko/current-task.yaml");
    assert!(current.starts_with("task: my own words\n"), "{current}");
    assert!(!current.contains(&format!("planId: {id}\n")), "{current}");
    let checked = workspace.does(&["check"]).exits(0).text;
    assert!(!checked.contains("never-ready"), "{checked}");
    workspace.does(&["check", &path]).exits(0).says("never-ready");
    workspace.does(&["archive", &path]).exits(0);
    let checked = workspace.does(&["check"]).exits(0).text;
    assert!(!checked.contains("never-ready"), "{checked}");
}

#[test]
fn the_reasoning_of_a_planner_is_shown_and_kept() {
    let answer = "newPlan:\n  steps:\n    - description: Read\nreasoning: One step is enough.\n";
    let sandbox = Sandbox::with(&[("answer.yaml", answer)]);
    let planned = ["plan", "Count words", "--dialect", "rawko", "--from", "answer.yaml"];
    let said = sandbox.run(&planned).exits(0);
    assert!(said.text().contains("One step is enough."), "{}", said.text());
    let path = said.stdout.trim();
    let history = sandbox.run(&["history", path]).exits(0).stdout;
    assert!(history.contains("One step is enough."), "{history}");
}

#[test]
fn files_of_other_tools_are_no_plans() {
    let dagu = "schedule: daily\nsteps:\n  - name: a\n    command: echo a\n  - name: b\n    command: echo b\n    depends: [a]\n";
    let compose = "services:\n  web:\n    image: nginx\n    command: [nginx]\n";
    let pipeline = "trigger: [main]\nsteps:\n  - script: echo a\n    displayName: A\n";
    for text in [dagu, compose, pipeline] {
        let sandbox = Sandbox::with(&[("file.yaml", text)]);
        let shown = sandbox.run(&["show", "file.yaml"]).exits(1);
        assert!(shown.stderr.contains("unknown-dialect"), "{}", shown.text());
        sandbox.run(&["check", "."]).exits(1);
    }
}

#[test]
fn a_name_that_two_tasks_have_is_refused_with_both_places() {
    let plan = clido(&["a", "a", "b a"]);
    let sandbox = Sandbox::with(&[("plan.json", &plan)]);
    let verbs: [&[&str]; 5] = [
        &["rename", "a", "c"],
        &["set", "a", "notes=x"],
        &["start", "a"],
        &["show", "a"],
        &["why", "a"],
    ];
    for verb in verbs {
        let refused = sandbox.run(&[verb, &["-p", "plan.json"]].concat()).exits(1).stderr;
        assert!(
            refused.contains("several tasks have the id `a`, in lines 4, 5"),
            "{refused}"
        );
    }
    assert_eq!(sandbox.read("plan.json"), plan);
}

#[test]
fn a_conflict_of_a_merge_is_one_finding() {
    let plan = clido(&["a", "b a"]).replace(
        "    {\"id\": \"b\"",
        "<<<<<<< HEAD\n=======\n    {\"id\": \"x\"},\n>>>>>>> feature\n    {\"id\": \"b\"",
    );
    let sandbox = Sandbox::with(&[("plan.json", &plan)]);
    let report = sandbox.run(&["check", "plan.json", "--json"]).exits(1).json();
    let found = report["files"][0]["diagnostics"].as_array().expect("a list");
    assert_eq!(found.len(), 1, "{report}");
    assert_eq!(found[0]["id"], "merge-conflict", "{report}");
    for verb in [&["start", "a"][..], &["set", "a", "notes=x"]] {
        sandbox.run(&[verb, &["-p", "plan.json"]].concat()).exits(1);
    }
    assert_eq!(sandbox.read("plan.json"), plan);
}

#[test]
fn comments_are_in_the_account_of_a_conversion_and_come_back_with_the_original() {
    let text = plans::RAWKO.replacen("steps:", "# asked for by the team\nsteps: # in order", 1);
    let sandbox = Sandbox::with(&[("plan.yaml", &text)]);
    let said = sandbox.run(&["convert", "plan.yaml", "--to", "clido"]).exits(0).text();
    assert!(
        said.contains("2 comments, the first \"asked for by the team\""),
        "{said}"
    );
    for dialect in ["clido", "aimi", "opencrabs"] {
        let there = format!("{dialect}.json");
        sandbox
            .run(&["convert", "plan.yaml", "--to", dialect, "--embed", "--out", &there])
            .exits(0);
        let back = sandbox.run(&["convert", &there, "--to", "rawko", "-q"]).exits(0).stdout;
        assert_eq!(back, text, "{dialect}");
    }
}

#[test]
fn one_task_is_shown_whole() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a", "c b"])), "says done");
    workspace.configure("", "[verify]\nevery = [[\"true\"]]\n");
    workspace.runs(&["--only", "a"]).exits(0);
    let came = workspace.does(&["show", "a", "-p", "plan.json"]).exits(0);
    for text in [
        "a  Make a",
        "needed by: b",
        "description: Make a",
        "passed: `true`",
        "a → done",
    ] {
        assert!(came.text.contains(text), "{text}: {}", came.text);
    }
    let report = workspace
        .does(&["show", "b", "-p", "plan.json", "--json"])
        .exits(0)
        .as_json();
    assert_eq!(report["schema_version"], "planwright.task/v1");
    assert_eq!(report["fields"]["depends_on"][0], "a");
    assert_eq!(report["dependents"][0], "c");
    assert_eq!(report["why"]["ready"], true);
    // A name of a plan takes precedence.
    let sandbox = Sandbox::with(&[(".clido/plans/t1.json", plans::CLIDO)]);
    let shown = sandbox.run(&["show", "t1"]).exits(0).stdout;
    assert!(shown.contains("done"), "{shown}");
    let refused = sandbox.run(&["show", "zzz"]).exits(1).stderr;
    assert!(
        refused.contains("there is no plan `zzz`, and `.clido/plans/t1.json` has no such task"),
        "{refused}"
    );
}

#[test]
fn a_long_plan_is_shown_page_by_page() {
    let names: Vec<String> = (1..=25).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sandbox = Sandbox::with(&[("plan.json", &clido(&names))]);
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let mut args = vec![
            "show",
            "plan.json",
            "--json",
            "--limit",
            "10",
            "--fields",
            "task,status",
        ];
        let own: String;
        if let Some(next) = cursor {
            own = next;
            args.extend(["--cursor", own.as_str()]);
        }
        let report = sandbox.run(&args).exits(0).json();
        let tasks = report["tasks"].as_array().expect("a list");
        assert!(
            tasks.len() <= 10
                && tasks
                    .iter()
                    .all(|task| task.as_object().is_some_and(|task| task.len() == 2))
        );
        seen.extend(
            tasks
                .iter()
                .map(|task| task["task"].as_str().expect("a name").to_owned()),
        );
        match report["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, names);
    sandbox
        .run(&["show", "plan.json", "--json", "--cursor", "7:gone"])
        .exits(1);
    let unknown = sandbox
        .run(&["show", "plan.json", "--json", "--fields", "taks"])
        .exits(2)
        .stderr;
    assert!(unknown.contains("depends_on"), "{unknown}");
    let whole = sandbox.run(&["show", "plan.json", "--json"]).exits(0).json();
    assert_eq!(whole["tasks"].as_array().map(Vec::len), Some(25));
}

#[test]
fn tasks_of_a_killed_run_are_interrupted_in_every_view() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a", "c"])), "sleep 20");
    let going = workspace.begins(&["-j", "1"]);
    workspace.until("the plan has it", |workspace| {
        workspace.states().starts_with("a running")
    });
    workspace.does(&["show", "plan.json"]).exits(0).says("1 running");
    going.dies();
    let next = workspace.does(&["next", "-p", "plan.json"]);
    assert!(!next.text.contains("no slot is free"), "{}", next.text);
    workspace.does(&["runs"]).exits(0).says("interrupted");
    workspace.does(&["show", "plan.json"]).exits(0).says("1 interrupted");
    workspace
        .does(&["why", "a", "-p", "plan.json"])
        .exits(0)
        .says("a is interrupted");
    let shown = workspace.does(&["show", "plan.json", "--json"]).exits(0).as_json();
    assert_eq!(shown["tasks"][0]["holder"]["interrupted"], true, "{shown}");
}

/// Returns a plan in an older form: a `prd.json` with dependencies, or v2.2.
fn older_plan(head: &str, links: [&str; 2]) -> String {
    let story = |id: u32, passes: bool, link: &str| {
        format!(r#"{{"id": "US-00{id}", "title": "Story {id}", "priority": {id}, "passes": {passes}{link}}}"#)
    };
    let stories = [story(1, true, links[0]), story(2, false, links[1])];
    format!("{{{head}, \"userStories\": [{}]}}\n", stories.join(", "))
}

fn prd() -> String {
    let head = r#""name": "App", "branchName": "ralph/app""#;
    older_plan(head, [r#", "dependsOn": []"#, r#", "dependsOn": ["US-001"]"#])
}

#[test]
fn a_prd_is_replanned_in_its_own_form() {
    let kept = r#"{"id": "US-001", "title": "Story 1", "priority": 1}, {"id": "US-002", "title": "Story 2", "priority": 2, "dependsOn": ["US-001"]}"#;
    // In the guide's form, in v3's, and with a word that a planner must not set.
    for own in ["", r#", "status": "pending""#, r#", "passes": true"#] {
        let new = format!(r#"{{"id": "US-003", "title": "Story 3", "priority": 3, "dependsOn": ["US-002"]{own}}}"#);
        let answer = format!("echo '{{\"userStories\": [{kept}, {new}]}}'");
        let workspace = planner(&answer);
        workspace.write("prd.json", prd());
        workspace
            .does(&["replan", "prd.json", "--yes"])
            .exits(0)
            .says("+ Story 3");
        let asked = asked(&workspace, 0);
        assert!(
            asked.contains("Do not write `passes`") && !asked.contains("`metadata`"),
            "{asked}"
        );
        let text = workspace.read("prd.json");
        let before = prd();
        let old = before.trim_end().trim_end_matches("]}");
        assert!(text.starts_with(old), "{text}");
        let plan: Value = serde_json::from_str(&text).expect("JSON");
        let added = &plan["userStories"][2];
        assert_eq!(
            (&added["passes"], &added["dependsOn"][0]),
            (&false.into(), &"US-002".into()),
            "{text}"
        );
        assert!(
            added.get("status").is_none() && plan.get("schemaVersion").is_none(),
            "{text}"
        );
        workspace.does(&["check", "prd.json"]).exits(0);
    }
}

/// A plan of v2.x, in which only priorities order the stories.
const LAYERED: &str = r#"{"branchName": "ralph/app", "userStories": [
  {"id": "US-001", "title": "Story 1", "priority": 1, "passes": true},
  {"id": "US-002", "title": "Story 2", "priority": 2, "passes": false},
  {"id": "US-003", "title": "Story 3", "priority": 3, "passes": false}
]}
"#;

#[test]
fn a_plan_that_priorities_order_is_replanned_in_its_own_form() {
    let answer = r#"{"userStories": [{"id": "US-001", "title": "Story 1", "priority": 1},
        {"id": "US-002", "title": "Story 2", "priority": 2}, {"id": "US-003", "title": "Story 3", "priority": 3},
        {"id": "US-004", "title": "Story 4", "priority": 1, "dependsOn": ["US-002"]}]}"#;
    let versioned = LAYERED.replacen('{', r#"{"schemaVersion": "2.2", "#, 1);
    for plan in [LAYERED, &versioned] {
        let workspace = planner("exit 7");
        workspace.write("prd.json", plan);
        workspace.write("answer.md", answer);
        workspace
            .does(&["replan", "prd.json", "--from", "answer.md", "--yes"])
            .exits(0)
            .says("+ Story 4");
        let text = workspace.read("prd.json");
        assert!(text.starts_with(plan.trim_end().trim_end_matches("\n]}")), "{text}");
        let added = &serde_json::from_str::<Value>(&text).expect("JSON")["userStories"][3];
        assert_eq!(added["priority"], 4, "it comes after what it depends on: {text}");
        assert!(added.get("dependsOn").is_none(), "{text}");
        workspace.does(&["check", "prd.json"]).exits(0);
    }
}

#[test]
fn a_proposal_leaves_the_order_of_the_other_stories() {
    let script = "cat > /dev/null; [ $PLANWRIGHT_TASK = US-003 ] && exit 1; printf '{\"planwright_result\": 1, \"outcome\": \"done\", \
        \"proposed_tasks\": [{\"title\": \"Story 4\", \"dependsOn\": [\"US-001\"]}]}' > \"$PLANWRIGHT_RESULT\"";
    let workspace = Workspace::new(("prd.json", LAYERED), script);
    workspace
        .does(&["run", "prd.json", "--accept-proposals", "--attempts", "1"])
        .exits(1);
    let text = workspace.read("prd.json");
    assert!(!text.contains("dependsOn") && text.contains("Story 4"), "{text}");
    // Story 3 failed, and those of higher numbers wait for it.
    let open: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(open["userStories"][3]["passes"], false, "{text}");
}

#[test]
fn clido_tasks_to_skip_are_skipped_when_a_run_gets_stuck() {
    let held =
        |id: &str, status: &str| format!(r#"{{"id": "{id}", "description": "D", "skip": true, "status": "{status}"}}"#);
    let plan = format!(
        r#"{{"goal": "G", "tasks": [{{"id": "t1", "description": "D"}}, {}, {}]}}"#,
        held("t2", "pending"),
        held("t3", "failed")
    );
    let workspace = Workspace::new(("plan.json", &plan), "exit 1");
    workspace.does(&["run", "plan.json", "--attempts", "1"]).exits(1);
    assert_eq!(workspace.states(), "t1 failed, t2 skipped, t3 skipped");
    let done = plan.replacen(r#""description": "D""#, r#""description": "D", "status": "done""#, 1);
    workspace.write("plan.json", &done);
    workspace.does(&["run", "plan.json"]).exits(0);
    assert_eq!(workspace.states(), "t1 done, t2 skipped, t3 skipped");
}

#[test]
fn agents_propose_stories_to_plans_of_older_forms() {
    let v2 = older_plan(r#""schemaVersion": "2.2", "metadata": {"title": "App"}"#, ["", ""]);
    for (path, plan) in [("prd.json", prd()), (".aimi/tasks/2026-01-23-app-tasks.json", v2)] {
        let script = "cat > /dev/null; printf '{\"planwright_result\": 1, \"outcome\": \"done\", \
            \"proposed_tasks\": [{\"title\": \"Story 3\", \"description\": \"D\", \"acceptanceCriteria\": [], \"status\": \"pending\"}]}' > \"$PLANWRIGHT_RESULT\"";
        let workspace = Workspace::new((path, &plan), script);
        workspace.does(&["run", path]).exits(1);
        workspace.does(&["proposals", path]).exits(0).says("Story 3");
        workspace
            .does(&["approve", "--proposed", path])
            .exits(0)
            .says("+ Story 3");
        let text = workspace.read(path);
        let plan: Value = serde_json::from_str(&text).expect("JSON");
        let added = &plan["userStories"][2];
        assert_eq!(
            (&added["passes"], &added["priority"]),
            (&false.into(), &3.into()),
            "{text}"
        );
        assert!(added.get("status").is_none(), "{text}");
        workspace.does(&["check", path]).exits(0);
    }
}

#[test]
fn import_keeps_members_that_belong_to_the_other_form_of_clido() {
    let plan = r#"{"goal": "Outer", "meta": {"id": "p", "goal": "Inner", "created_at": "2026-01-23T10:00:00Z"}, "tasks": [{"id": "t1", "description": "Read it"}]}"#;
    let sandbox = Sandbox::with(&[("answer.json", plan)]);
    sandbox.run(&["import", "answer.json"]).exits(0);
    let stored = sandbox.read(".clido/plans/p.json");
    assert!(
        stored.contains("\"goal\": \"Outer\"") && stored.contains("\"goal\": \"Inner\""),
        "{stored}"
    );
}

#[test]
fn notes_of_failures_have_the_words_of_the_command() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.configure(
        "",
        "[verify]\nevery = [\"echo 'one line'; echo 'error: BAD in parser'; echo; exit 1\"]\n",
    );
    workspace.does(&["run", "plan.json", "--attempts", "1"]).exits(1);
    let notes = workspace.json()["tasks"][0]["notes"].to_string();
    assert!(notes.contains("(exit 1): error: BAD in parser"), "{notes}");
}

#[test]
fn remarks_of_an_agent_reach_the_plan() {
    let script = "cat > /dev/null; printf '{\"planwright_result\": 1, \"outcome\": \"done\", \"notes\": \"mind the gap\"}' > \"$PLANWRIGHT_RESULT\"";
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), script);
    workspace.does(&["run", "plan.json"]).exits(0);
    let notes = workspace.json()["tasks"][0]["notes"].to_string();
    assert!(notes.contains("mind the gap"), "{notes}");
}

#[test]
fn a_lost_second_document_is_reported() {
    let plan = "id: plan-20260123-count\ntask: Count\nstatus: draft\nversion: 1\ncurrentStepIndex: 0\ncreatedAt: \"2026-01-23T10:00:00Z\"\nupdatedAt: \"2026-01-23T10:00:00Z\"\ncreatedBy: planner\nsteps:\n  - index: 0\n    description: Read it\n    status: pending\n---\nsecond: document\n";
    let sandbox = Sandbox::with(&[("plan.yaml", plan)]);
    let converted = sandbox.run(&["convert", "plan.yaml", "--to", "clido", "--embed", "--out", "p.json"]);
    let account = converted.exits(0).text();
    assert!(account.contains("what follows the first YAML document"), "{account}");
    sandbox
        .run(&["set", "t1", "description=Read all of it", "-p", "p.json"])
        .exits(0);
    let back = sandbox.run(&["convert", "p.json", "--to", "rawko", "--out", "back.yaml"]);
    let account = back.exits(0).text();
    assert!(account.contains("what followed the first document"), "{account}");
}

#[test]
fn steps_that_are_a_mapping_are_no_rawko_plan() {
    let sandbox = Sandbox::with(&[("ci.yaml", "steps:\n  one:\n    command: echo 1\n")]);
    let shown = sandbox.run(&["show", "ci.yaml"]);
    assert_ne!(shown.status, Some(0), "{}", shown.text());
    assert!(!shown.text().contains("rawko (plan)"), "{}", shown.text());
}

#[test]
fn a_failure_leaves_tasks_alone_that_the_plan_marks_to_skip() {
    let plan = r#"{"goal": "G", "tasks": [{"id": "a", "description": "A"},
        {"id": "b", "description": "B", "skip": true, "depends_on": ["a"]},
        {"id": "c", "description": "C", "depends_on": ["b"]}]}"#;
    let workspace = Workspace::new(("plan.json", plan), "[ $PLANWRIGHT_TASK = a ] && exit 1; says done");
    let ran = workspace.does(&["run", "plan.json", "--attempts", "1"]).exits(1);
    assert!(!ran.text.contains("was not changed"), "{}", ran.text);
    // A dependent of a task that the user skipped does not wait for that task's dependencies.
    assert_eq!(workspace.states(), "a failed, b skipped, c done");
    let text = workspace.read("plan.json");
    assert!(!text.contains("Skipped because"), "{text}");
    workspace.does(&["retry", "a", "-p", "plan.json"]).exits(0);
    assert_eq!(workspace.states(), "a pending, b skipped, c done");
}
