//! The verbs that only read: `show`, `next`, `why`, `graph`, `list`, `schema`, `hash`, and how they find their plan.

use planwright::core::dialect::DIALECTS;
use serde_json::Value;

use crate::plans;
use crate::run::clido;
use crate::sandbox::Sandbox;

/// Returns a workspace with a valid plan of each dialect in its tool's folder.
pub(crate) fn workspace() -> Sandbox {
    let sandbox = Sandbox::with(&[
        (".clido/plans/plan-a1b2c3d4.json", plans::CLIDO),
        (".aimi/tasks/2026-03-03-charts-tasks.json", plans::AIMI),
        (".rawko/plans/plan-20260501-cellar.yaml", plans::RAWKO),
        ("docs/plans/photos.md", plans::SOURCE_PLAN),
        ("dark-mode.json", plans::OPENCRABS),
    ]);
    let hash = sandbox.run(&["hash", "docs/plans/photos.md"]).exits(0).stdout;
    sandbox.write(PACK, plans::task_pack(hash.trim_end()));
    sandbox
}

pub(crate) const CLIDO: &str = ".clido/plans/plan-a1b2c3d4.json";
pub(crate) const AIMI: &str = ".aimi/tasks/2026-03-03-charts-tasks.json";
pub(crate) const RAWKO: &str = ".rawko/plans/plan-20260501-cellar.yaml";
pub(crate) const OPENCRABS: &str = "dark-mode.json";
pub(crate) const PACK: &str = "docs/tasks/2026-05-11-001-feat-photos-tasks.md";

#[test]
fn the_plans_of_these_tests_are_sound() {
    let sandbox = workspace();
    for plan in [CLIDO, AIMI, RAWKO, OPENCRABS, PACK] {
        sandbox.run(&["check", "--deny", "warnings", plan]).exits(0);
    }
}

#[test]
fn show() {
    let sandbox = workspace();
    for (plan, snapshot) in [
        (CLIDO, "show-clido"),
        (AIMI, "show-aimi"),
        (RAWKO, "show-rawko"),
        (OPENCRABS, "show-opencrabs"),
        (PACK, "show-task-pack"),
    ] {
        sandbox.run(&["show", plan]).exits(0).is_decent().is_as_in(snapshot);
    }
    sandbox.run(&["show", "--json", CLIDO]).exits(0).is_as_in("show-json");
}

#[test]
fn show_of_a_plan_with_errors_shows_what_can_be_read() {
    let sandbox = Sandbox::with(&[("bad.json", plans::CLIDO_BAD)]);
    sandbox.run(&["show", "bad.json"]).exits(0).is_as_in("show-errors");
}

#[test]
fn next() {
    let sandbox = workspace();
    for (plan, snapshot) in [
        (CLIDO, "next-clido"),
        (AIMI, "next-aimi"),
        (RAWKO, "next-rawko"),
        (OPENCRABS, "next-opencrabs"),
        (PACK, "next-task-pack"),
    ] {
        sandbox.run(&["next", plan]).exits(0).is_decent().is_as_in(snapshot);
    }
    sandbox.run(&["next", "--json", AIMI]).exits(0).is_as_in("next-json");
}

fn ready(report: &Value) -> Vec<&str> {
    let ready = report["ready"].as_array().expect("a list");
    ready
        .iter()
        .filter_map(|entry| entry["task"]["task"].as_str())
        .collect()
}

#[test]
fn next_goes_by_priority_and_by_wave() {
    let sandbox = workspace();
    let stories = sandbox.run(&["next", "--json", AIMI]).exits(0).json();
    assert_eq!(ready(&stories), ["US-003", "US-002"]);
    let tasks = sandbox.run(&["next", "--json", PACK]).exits(0).json();
    assert_eq!(ready(&tasks), ["T002", "T001"]);
}

#[test]
fn next_is_bounded_by_the_free_slots() {
    let tasks: Vec<String> = (0..6)
        .map(|ix| format!("{{\"id\": \"t{ix}\", \"description\": \"x\"}}"))
        .collect();
    let text = format!("{{\"goal\": \"g\", \"tasks\": [{}]}}", tasks.join(", "));
    let sandbox = Sandbox::with(&[("plan.json", &text)]);
    let report = sandbox.run(&["next", "--json", "plan.json"]).exits(0).json();
    assert_eq!((ready(&report).len(), &report["n_ready"]), (4, &Value::from(6)));
    let all = sandbox.run(&["next", "--all", "--json", "plan.json"]).exits(0).json();
    assert_eq!(ready(&all).len(), 6);
    let lines = sandbox.run(&["next", "--all", "plan.json"]).exits(0).stdout;
    assert_eq!(lines.lines().count(), 6);
}

#[test]
fn next_explains_why_no_task_is_ready() {
    let sandbox = Sandbox::with(&[
        (
            "done.json",
            &plans::OPENCRABS.replace("\"tasks\": [", "\"tasks\": [],\n  \"x\": ["),
        ),
        (
            "stuck.json",
            &plans::CLIDO.replace("\"status\": \"pending\"", "\"status\": \"pending\", \"skip\": true"),
        ),
    ]);
    let ran = sandbox.run(&["next", "stuck.json"]).exits(1);
    assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{}", ran.text());
    let report = sandbox.run(&["next", "--json", "stuck.json"]).exits(1).json();
    assert_eq!(ready(&report), [""; 0]);
    sandbox.run(&["next", "done.json"]).exits(1);
}

#[test]
fn why() {
    let sandbox = workspace();
    for (task, plan, snapshot) in [
        ("t4", CLIDO, "why-clido"),
        ("t5", CLIDO, "why-held"),
        ("t2", CLIDO, "why-ready"),
        ("2", RAWKO, "why-rawko"),
        ("3", OPENCRABS, "why-opencrabs"),
        ("T003", PACK, "why-task-pack"),
    ] {
        sandbox
            .run(&["why", task, "-p", plan])
            .exits(0)
            .is_decent()
            .is_as_in(snapshot);
    }
    sandbox
        .run(&["why", "--json", "t4", "-p", CLIDO])
        .exits(0)
        .is_as_in("why-json");
}

#[test]
fn why_follows_the_chain_to_its_root() {
    let sandbox = Sandbox::with(&[("bad.json", plans::CLIDO_BAD)]);
    let ran = sandbox.run(&["why", "t2", "-p", "bad.json"]).exits(0);
    ran.is_decent();
    let cycle = plans::CLIDO_BAD.replace("\"status\": \"finished\"", "\"status\": \"pending\"");
    sandbox.write("cycle.json", cycle);
    sandbox
        .run(&["why", "t2", "-p", "cycle.json"])
        .exits(0)
        .is_as_in("why-cycle");
    let refused = sandbox
        .run(&["why", "t4", "-p", "cycle.json"])
        .exits(1)
        .is_decent()
        .stderr
        .clone();
    assert!(refused.contains("several tasks have the id `t4`"), "{refused}");
}

#[test]
fn why_names_what_skipped_a_task() {
    let held = clido(&["a", "b a", "c b", "d", "e", "f"]).replace("\"id\": \"e\"", "\"skip\": true, \"id\": \"e\"");
    let sandbox = Sandbox::with(&[("plan.json", &held)]);
    let why = |task: &str| sandbox.run(&["why", task, "-p", "plan.json"]).exits(0).stdout;
    let skip = [
        "skip",
        "d",
        "-p",
        "plan.json",
        "--by",
        "ada",
        "--note",
        "not before May",
    ];
    sandbox.run(&skip).exits(0);
    let by_hand = why("d");
    assert!(by_hand.contains("d is skipped by ada at 20"), "{by_hand}");
    assert!(by_hand.contains("`skip`): not before May"), "{by_hand}");
    sandbox.run(&["start", "a", "-p", "plan.json"]).exits(0);
    sandbox.run(&["fail", "a", "-p", "plan.json"]).exits(0);
    for task in ["b", "c"] {
        let with_it = why(task);
        assert!(
            with_it.contains("is skipped because `a` failed; recorded by "),
            "{with_it}"
        );
    }
    let edited = sandbox.read("plan.json");
    let (before, after) = edited.rsplit_once("pending").expect("f is pending");
    let edited = format!("{before}skipped{after}");
    let (before, after) = edited.rsplit_once("pending").expect("e is pending");
    sandbox.write("plan.json", format!("{before}skipped{after}"));
    assert!(
        why("e").contains("by the plan file, which has `skip: true`"),
        "{}",
        why("e")
    );
    assert!(why("f").contains("in the plan file, by an edit"), "{}", why("f"));
    let json = sandbox.run(&["why", "d", "-p", "plan.json", "--json"]).exits(0).json();
    let cause = json["skip_cause"].as_str().expect("a cause");
    assert!(cause.starts_with("by ada at"), "{cause}");
}

#[test]
fn why_of_an_unknown_task() {
    let sandbox = workspace();
    sandbox
        .run(&["why", "t9", "-p", CLIDO])
        .exits(1)
        .is_as_in("why-unknown");
    sandbox.run(&["why"]).exits(2);
}

#[test]
fn graph() {
    let sandbox = workspace();
    for (plan, format, snapshot) in [
        (CLIDO, "text", "graph-text"),
        (CLIDO, "mermaid", "graph-mermaid"),
        (CLIDO, "dot", "graph-dot"),
        (CLIDO, "json", "graph-json"),
        (PACK, "text", "graph-stages-text"),
        (PACK, "mermaid", "graph-stages-mermaid"),
        (PACK, "dot", "graph-stages-dot"),
    ] {
        let ran = sandbox.run(&["graph", "--format", format, plan]).exits(0);
        ran.is_decent().is_as_in(snapshot);
    }
    let (json, format) = (
        sandbox.run(&["graph", "--json", RAWKO]).exits(0).json(),
        sandbox.run(&["graph", "--format", "json", RAWKO]).exits(0).json(),
    );
    assert_eq!(json, format);
}

#[test]
fn the_graph_of_a_plan_with_a_cycle_is_drawn() {
    let sandbox = Sandbox::with(&[("bad.json", plans::CLIDO_BAD)]);
    for format in ["text", "mermaid", "dot", "json"] {
        let ran = sandbox.run(&["graph", "--format", format, "bad.json"]).exits(0);
        assert!(ran.is_decent().stdout.contains("Cut out the lexer"), "{}", ran.text());
    }
}

#[test]
fn labels_cannot_break_a_drawing() {
    let text = plans::CLIDO.replace("Write it down", "a\\\"]; rm --> t0[\\\"x\\n# <b> `y` \\\\");
    let sandbox = Sandbox::with(&[("plan.json", &text)]);
    let flowchart = sandbox
        .run(&["graph", "--format", "mermaid", "plan.json"])
        .exits(0)
        .stdout;
    for line in flowchart.lines().filter(|line| line.trim_start().starts_with("t3[")) {
        assert_eq!(line.matches('"').count(), 2, "{line}");
        assert_eq!(line.matches([']', '[']).count(), 2, "{line}");
    }
    let digraph = sandbox.run(&["graph", "--format", "dot", "plan.json"]).exits(0).stdout;
    let line = digraph
        .lines()
        .find(|line| line.trim_start().starts_with("t3 [label="))
        .expect("the task");
    let unescaped = line.replace("\\\\", "").replace("\\\"", "");
    assert_eq!(unescaped.matches('"').count() % 2, 0, "{line}");
}

#[test]
fn list() {
    let sandbox = workspace();
    sandbox.run(&["list"]).exits(0).is_decent().is_as_in("list");
    let report = sandbox.run(&["list", "--json"]).exits(0).json();
    let plans = report["plans"].as_array().expect("a list");
    let paths: Vec<_> = plans.iter().filter_map(|plan| plan["path"].as_str()).collect();
    assert_eq!(paths, [PACK, RAWKO, CLIDO, AIMI], "newest first");
    let empty = Sandbox::new().run(&["list"]).exits(0);
    assert!(empty.stdout.is_empty() && !empty.stderr.is_empty(), "{}", empty.text());
    let none = Sandbox::new().run(&["list", "--json"]).exits(0).json();
    assert_eq!(none["plans"].as_array().map(Vec::len), Some(0));
}

#[test]
fn list_searches_the_home_folder_on_request() {
    let name = ".home/.opencrabs/agents/session/.opencrabs_plan_123e4567-e89b-12d3-a456-426614174000.json";
    let sandbox = Sandbox::with(&[(name, plans::OPENCRABS)]);
    let own = sandbox.run(&["list", "--json"]).exits(0).json();
    assert_eq!(own["plans"].as_array().map(Vec::len), Some(0));
    let user = sandbox.run(&["list", "--json", "--user"]).exits(0).json();
    assert_eq!(user["plans"].as_array().map(Vec::len), Some(1), "{user}");
}

#[test]
fn list_shows_plans_that_cannot_be_read() {
    let sandbox = Sandbox::with(&[(".clido/plans/broken.json", "{"), (CLIDO, plans::CLIDO)]);
    let report = sandbox.run(&["list", "--json"]).exits(0).json();
    assert_eq!(report["plans"].as_array().map(Vec::len), Some(2), "{report}");
}

#[test]
fn schema() {
    let sandbox = Sandbox::new();
    sandbox.run(&["schema"]).exits(0).is_as_in("schema");
    for dialect in DIALECTS {
        let ran = sandbox.run(&["schema", dialect.name()]).exits(0);
        assert_eq!(ran.stdout, dialect.schema());
        ran.json();
    }
    let list = sandbox.run(&["schema", "--json"]).exits(0);
    list.is_as_in("schema-json");
    let names: Vec<_> = DIALECTS.iter().map(|dialect| Value::from(dialect.name())).collect();
    let listed = list.json()["dialects"].as_array().expect("a list").clone();
    assert_eq!(
        listed.iter().map(|dialect| dialect["name"].clone()).collect::<Vec<_>>(),
        names
    );
    let one = sandbox.run(&["schema", "--json", "clido"]).exits(0);
    assert_eq!(one.stdout, sandbox.run(&["schema", "clido"]).stdout);
    let unknown = sandbox.run(&["schema", "klido"]).exits(2);
    assert!(unknown.stderr.contains("clido"), "{}", unknown.text());
}

#[test]
fn hash() {
    let sandbox = workspace();
    let hash = sandbox.run(&["hash", "docs/plans/photos.md"]).exits(0).stdout;
    assert!(hash.starts_with("sha256:") && hash.len() == 72, "{hash}");
    let original = sandbox
        .run(&["spec-first", "tasks", "hash", "docs/plans/photos.md"])
        .exits(0)
        .stdout;
    assert_eq!(hash, original);
    assert_eq!(
        sandbox.run_with(&["hash", "-"], plans::SOURCE_PLAN).exits(0).stdout,
        hash
    );
    let crlf = plans::SOURCE_PLAN.replace('\n', "\r\n");
    assert_eq!(sandbox.run_with(&["hash", "-"], crlf).exits(0).stdout, hash);
    let report = sandbox.run(&["hash", "--json", "docs/plans/photos.md"]).exits(0).json();
    assert_eq!(report["hash"], hash.trim_end());
    sandbox.run_with(&["hash", "-"], "---\ntitle: x\n").exits(1);
    sandbox.run(&["hash", "gone.md"]).exits(3);
}

fn shown_path(sandbox: &Sandbox, args: &[&str]) -> String {
    let args: Vec<&str> = ["show", "--json"].iter().chain(args).copied().collect();
    let report = sandbox.run(&args).exits(0).json();
    report["plan"]["path"].as_str().expect("a path").to_owned()
}

#[test]
fn a_plan_is_found_by_id_and_by_part_of_it() {
    let sandbox = workspace();
    assert_eq!(shown_path(&sandbox, &["plan-a1b2c3d4"]), CLIDO);
    assert_eq!(shown_path(&sandbox, &["a1b2"]), CLIDO);
    assert_eq!(shown_path(&sandbox, &["charts"]), AIMI);
    assert_eq!(shown_path(&sandbox, &["cellar"]), RAWKO);
    assert_eq!(shown_path(&sandbox, &["./dark-mode.json"]), OPENCRABS);
    sandbox
        .run(&["show", "plan-00000000"])
        .exits(1)
        .is_as_in("plan-unknown");
    let report = sandbox
        .run_with(&["show", "--json", "-"], plans::OPENCRABS)
        .exits(0)
        .json();
    assert_eq!(report["plan"]["dialect"], "opencrabs");
}

#[test]
fn several_plans_are_listed() {
    let sandbox = workspace();
    // The help names the plan that changed last.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    let plan = std::fs::File::options().append(true).open(sandbox.path().join(RAWKO));
    plan.and_then(|plan| plan.set_modified(later)).expect("a plan");
    sandbox.run(&["show", "plan-"]).exits(1).is_as_in("plan-several");
    sandbox.run(&["show"]).exits(1).is_as_in("plan-which");
}

#[test]
fn the_only_plan_needs_no_name() {
    let sandbox = Sandbox::with(&[(CLIDO, plans::CLIDO)]);
    assert_eq!(shown_path(&sandbox, &[]), CLIDO);
    for args in [&["next"][..], &["graph"], &["why", "t4"]] {
        sandbox.run(args).exits(0);
    }
    Sandbox::new().run(&["show"]).exits(1).is_as_in("plan-none");
}

#[test]
fn the_plan_that_rawko_works_on_goes_first() {
    let pointer = "task: Tidy the cellar\nplanId: plan-20260501-cellar\nstatus: in_progress\n";
    let sandbox = Sandbox::with(&[
        (RAWKO, plans::RAWKO),
        (
            ".rawko/plans/plan-20260502-attic.yaml",
            &plans::RAWKO.replace("cellar", "attic"),
        ),
        (".git/HEAD", ""),
    ]);
    sandbox.run(&["show"]).exits(1);
    sandbox.write(".rawko/current-task.yaml", pointer);
    assert!(shown_path(&sandbox, &[]).ends_with(RAWKO));
    assert!(shown_path(&sandbox, &[".rawko/current-task.yaml"]).ends_with(RAWKO));
    // Next to plans of other tools it is one of several.
    let mixed = workspace();
    mixed.write(".rawko/current-task.yaml", pointer);
    mixed.run(&["show"]).exits(1);
}

#[test]
fn a_file_that_is_no_plan_is_reported() {
    let sandbox = Sandbox::with(&[("package.json", "{\"name\": \"x\"}")]);
    for args in [
        &["show", "package.json"][..],
        &["next", "package.json"],
        &["why", "t1", "-p", "package.json"],
    ] {
        let ran = sandbox.run(args).exits(1);
        assert!(ran.is_decent().stderr.contains("package.json"), "{}", ran.text());
    }
    sandbox.run(&["show", "package.json"]).is_as_in("show-no-plan");
}

#[test]
fn next_prints_numbers_with_the_digits_of_the_file() {
    let history = r#""dependencies": [], "execution_history": [
        {"took": 123456789012345678901234567890, "cost": 1e400,	"ratio": 0.10, "took": [-0, 1E+2, {}]}]"#;
    let plan = plans::OPENCRABS.replace(
        "\"task_type\": \"research\"",
        &format!("\"task_type\": \"research\", {history}"),
    );
    let pack = plans::task_pack("x").replace(
        "\"wave\": 1, \"stop_if\": \"the disk is full\"",
        "\"wave\": 1, \"stop_if\": \"x\", \"notes\": 98765432109876543210.50, \"risk_note\": [1e999, 2]",
    );
    let steps = plans::RAWKO.replace("index: 1", "index: 0x01");
    let sandbox = Sandbox::with(&[("plan.json", &plan), (PACK, &pack), (RAWKO, &steps)]);
    for (path, digits) in [
        ("plan.json", &["\"cost\": 1e400", "\"ratio\": 0.10", "-0,", "1E+2"][..]),
        (PACK, &["\"notes\": 98765432109876543210.50", "1e999,"]),
        (RAWKO, &["\"index\": 1,"]),
    ] {
        let ran = sandbox.run(&["next", "--json", path]).exits(0);
        for digits in digits {
            assert!(
                ran.is_decent().stdout.contains(digits),
                "`{digits}` is not in\n{}",
                ran.text()
            );
        }
        serde_json::from_str::<serde::de::IgnoredAny>(&ran.stdout).expect("it is JSON");
    }
}

#[test]
fn misleading_names_are_quoted() {
    let text = r#"{"goal": "g", "tasks": [
        {"id": "", "description": "Blank"},
        {"id": " t1 ", "description": "Padded"},
        {"id": "t1", "description": "Plain", "depends_on": ["", " t1 ", "t2 "]}]}"#;
    let sandbox = Sandbox::with(&[("plan.json", text)]);
    for (args, shown) in [
        (
            &["show", "plan.json"][..],
            &[
                "○ \"\"      Blank",
                "○ \" t1 \"  Padded",
                "waits for \"t2 \" (no such task), \"\" (pending), \" t1 \" (pending)",
                "ready: \"\", \" t1 \"",
            ][..],
        ),
        (&["next", "plan.json"], &["\"\"      Blank\n\" t1 \"  Padded\n"]),
        (
            &["why", "t1", "-p", "plan.json"],
            &["waits for \"\" (pending)", "waits for \" t1 \" (pending)"],
        ),
        (&["why", " t1 ", "-p", "plan.json"], &["○ \" t1 \" is ready"]),
        (&["why", "t2", "-p", "plan.json"], &["it has \"\", \" t1 \", t1"]),
        (&["why", "t1 ", "-p", "plan.json"], &["there is no task `\"t1 \"`"]),
        (&["graph", "plan.json"], &["○ \" t1 \"  Padded", "← \"\", \" t1 \""]),
        (
            &["graph", "--format", "dot", "plan.json"],
            &["label=\"\\\" t1 \\\": Padded\""],
        ),
        (
            &["graph", "--format", "mermaid", "plan.json"],
            &["[\"#34; t1 #34;: Padded\"]"],
        ),
    ] {
        let ran = sandbox.run(args);
        for shown in shown {
            assert!(
                ran.is_decent().text().contains(shown),
                "`{shown}` is not in\n{}",
                ran.text()
            );
        }
    }
    // Programs get the name itself.
    let report = sandbox.run(&["why", "--json", "t1", "-p", "plan.json"]).exits(0).json();
    assert_eq!(report["waits_for"][2]["task"], " t1 ");
}

#[test]
fn show_explains_skipped_failed_and_expired_tasks() {
    let plan = crate::run::clido(&["t1", "t2 t1", "t3", "t4"]);
    let sandbox = Sandbox::with(&[("plan.json", &plan)]).set("USER", "alice");
    let verb = |args: &[&str]| sandbox.run(&[args, &["-p", "plan.json"]].concat()).exits(0);
    verb(&["start", "t1"]);
    verb(&["fail", "t1", "--note", "no disk", "--by", "Ann Dev", "--take-over"]);
    verb(&["skip", "t3", "--note", "not needed"]);
    verb(&["start", "t4", "--by", "ada", "--lease", "1s"]);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let shown = sandbox.run(&["show", "plan.json"]).exits(0).stdout;
    assert!(shown.contains("░░░░░░░░░░░░░░░░░░░░  0/4 done"), "{shown}");
    assert!(shown.contains("skipped because `t1` failed"), "{shown}");
    assert!(
        shown.contains("skipped by alice@") || shown.contains("skipped: "),
        "{shown}"
    );
    assert!(
        shown.contains("its lease ended at") && shown.contains("(claim "),
        "{shown}"
    );
    let why = verb(&["why", "t2"]).stdout;
    assert!(
        why.contains("is skipped because `t1` failed; recorded by Ann Dev at 20"),
        "{why}"
    );
    let why = verb(&["why", "t1"]).stdout;
    assert!(why.contains("✗ t1 failed: no disk"), "{why}");
    let history = sandbox.run(&["history", "plan.json"]).exits(0).stdout;
    assert!(history.contains("skip t3  by alice@"), "{history}");
}
