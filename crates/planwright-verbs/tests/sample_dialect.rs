//! The sample dialect goes through every verb: a new dialect is one folder and one line of the registry.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use planwright_core::dialect::DIALECTS;
use planwright_testkit::TempFolder;
use planwright_testkit::sample_dialect::Todo;
use planwright_verbs::Workspace;
use planwright_verbs::call::{QuietObserver, call, verb_names};
use planwright_verbs::json::{ErrorBody, ErrorReport};
use serde_json::{Value, json};

/// The variable that tells the test that it runs in its own workspace and process.
const INSIDE: &str = "SAMPLE_DIALECT_INSIDE";

const PLAN: &str = ".todo/lists/breakfast.json";
const SECOND: &str = ".todo/lists/breakfast-v2.json";

const LIST: &str = r#"{
  "id": "breakfast",
  "goal": "Have breakfast",
  "version": 1,
  "branch": "feat/breakfast",
  "touched": "2026-03-22T10:00:00Z",
  "todo": [
    {"name": "bread", "what": "Bake bread", "ticked": false},
    {"name": "butter", "what": "Buy butter", "ticked": false},
    {"name": "toast", "what": "Toast bread", "after": ["bread"], "ticked": false},
    {"name": "table", "what": "Lay the table", "after": ["toast", "butter"], "ticked": false}
  ]
}
"#;

const ANSWER: &str = r#"So:
```json
{"goal": "Have breakfast", "todo": [
  {"name": "butter", "what": "Buy butter"}, {"name": "rolls", "what": "Buy rolls", "after": ["butter"]}
]}
```
"#;

const CONFIG: &str = r#"[agents.mock]
command = ["sh", "-c", "echo done"]

[run]
agent = "mock"
isolation = "shared"
fence = "off"
"#;

/// Verbs without an effect here: lists are not approved, not derived from a document, have one form and no field for why an entry is
/// blocked, and are found without a mark in the file; no run is active, nothing waits for a branch or for a second opinion, and there is no repository.
const REFUSING: [&str; 15] = [
    "adopt",
    "approve",
    "arbiter",
    "block",
    "cancel",
    "control",
    "land",
    "migrate",
    "reject",
    "submit",
    "tasks-cards",
    "tasks-derive",
    "tasks-regenerate",
    "tasks-regenerate-prompt",
    "worktrees",
];

#[test]
fn the_sample_dialect_goes_through_every_verb() {
    if std::env::var_os(INSIDE).is_none() {
        return run_inside_a_workspace();
    }
    DIALECTS.add(&Todo);
    let mut verbs = VerbLog::default();
    make_plans(&mut verbs);
    read_plan(&mut verbs);
    edit_plan(&mut verbs);
    move_tasks(&mut verbs);
    run_plan(&mut verbs);
    put_away(&mut verbs);
    let missing: Vec<_> = verb_names()
        .into_iter()
        .filter(|verb| !verbs.called.contains(*verb))
        .collect();
    assert!(missing.is_empty(), "no list went through {missing:?}");
}

/// Runs this test in a process that has the folder as its home, without the user's settings.
fn run_inside_a_workspace() {
    let folder = TempFolder::new().expect("a folder");
    for (path, text) in [
        (PLAN, LIST),
        ("planwright.toml", CONFIG),
        ("answer.md", ANSWER),
        ("idea.json", r#"{"goal": "Tea", "todo": [{"name": "water"}]}"#),
        ("source.md", "---\nspec_id: source\n---\n\n# Source\n"),
        (".git/empty", ""),
        ("other/empty", ""),
    ] {
        folder.write(path, text).expect("the folder is ours");
    }
    let ran = Command::new(std::env::current_exe().expect("a test is a program"))
        .args(["the_sample_dialect_goes_through_every_verb", "--exact", "--nocapture"])
        .env(INSIDE, "yes")
        .env("HOME", folder.path())
        .env_remove("XDG_CONFIG_HOME")
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    let said = [ran.stdout, ran.stderr].concat();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// The verbs that were called.
#[derive(Default)]
struct VerbLog {
    called: BTreeSet<&'static str>,
}

impl VerbLog {
    /// Calls a verb, which must report something unless it may refuse, and returns its report.
    #[track_caller]
    fn call(&mut self, verb: &'static str, request: &Value) -> Value {
        self.called.insert(verb);
        let report = call(
            &Workspace::around(""),
            verb,
            &request.to_string(),
            &mut QuietObserver::default(),
        );
        let text = report.unwrap_or_else(|failure| {
            let error = ErrorReport::new(ErrorBody::of(&failure));
            serde_json::to_string(&error).expect("strings and numbers")
        });
        let report: Value = serde_json::from_str(&text).expect("JSON");
        let message = report["error"]["message"].as_str();
        let is_expected = REFUSING.contains(&verb) && !message.is_some_and(|message| message.contains("request"));
        assert!(message.is_none() || is_expected, "{verb} {request}: {report:#}");
        report
    }
}

fn choice() -> Value {
    json!({"plan": PLAN})
}

fn text_of(path: &str) -> String {
    std::fs::read_to_string(path).expect(path)
}

fn make_plans(verbs: &mut VerbLog) {
    verbs.call("init", &json!({"folder": "other", "no_run": true}));
    verbs.call(
        "new",
        &json!({"title": "Supper", "dialect": "todo", "out": "supper.json"}),
    );
    verbs.call(
        "import",
        &json!({"file": "idea.json", "dialect": "todo", "out": "tea.json", "yes": true}),
    );
    let planner = json!({"answer": ANSWER});
    let request = json!({"goal": "Brunch", "dialect": "todo", "planner": planner, "out": "brunch.json", "yes": true});
    verbs.call("plan", &request);
    assert!(text_of("brunch.json").contains("rolls"));
    let prompt = verbs.call("plan-prompt", &json!({"goal": "Brunch", "dialect": "todo"}));
    assert!(
        prompt.as_str().is_some_and(|prompt| prompt.contains("Brunch")),
        "{prompt}"
    );
    let draft = verbs.call("draft", &json!({"plan": "brunch.json", "dialect": "todo"}));
    assert_eq!(draft["valid"], true, "{draft}");
    verbs.call("draft-abandon", &json!({"plan": "supper.json", "dialect": "todo"}));
    for dialect in DIALECTS.iter().filter(|dialect| dialect.name() != "todo") {
        let out = format!("{}.out", dialect.name());
        verbs.call("convert", &json!({"file": PLAN, "to": dialect.name(), "out": out}));
        let back = format!("{}.json", dialect.name());
        let request = json!({"file": out, "dialect": dialect.name(), "to": "todo", "out": back});
        verbs.call("convert", &request);
        assert!(text_of(&back).contains("\"todo\""));
    }
    verbs.call("migrate", &json!({"file": PLAN}));
    verbs.call("tasks-derive", &json!({"plan": "source.md"}));
    verbs.call("tasks-derive-prompt", &json!({"plan": "source.md"}));
}

fn read_plan(verbs: &mut VerbLog) {
    let checked = verbs.call("check", &json!({"paths": [PLAN]}));
    assert_eq!(checked["files"][0]["dialect"], "todo");
    let schema = verbs.call("schema", &json!({}));
    assert!(schema.to_string().contains("to-do list"), "{schema}");
    for verb in [
        "show",
        "graph",
        "history",
        "next",
        "proposals",
        "tasks-cards",
        "tasks-regenerate",
        "tasks-regenerate-prompt",
    ] {
        verbs.call(verb, &json!({"plan": choice()}));
    }
    let why = verbs.call("why", &json!({"task": "toast", "plan": choice()}));
    assert!(why.to_string().contains("bread"), "{why}");
    let listed = verbs.call("list", &json!({}));
    assert!(listed.to_string().contains(PLAN), "{listed}");
    for (verb, request) in [
        ("agents", json!({})),
        ("config", json!({})),
        ("doctor", json!({})),
        ("worktrees", json!({})),
        ("explain", json!({"id": "unknown-dependency"})),
        ("find", json!({"text": "bread"})),
        ("hash", json!({"plan": "source.md"})),
        ("diff", json!({"first": PLAN, "second": "brunch.json"})),
        ("control", json!({"control": "stop", "plan": PLAN})),
        ("land", json!({"plan": PLAN})),
        ("adopt", json!({"file": PLAN})),
        ("arbiter", json!({"plan": choice(), "task": "bread"})),
        ("submit", json!({"plan": choice()})),
        ("reject", json!({"plan": choice(), "note": "no"})),
        ("approve", json!({"plan": choice()})),
        ("cancel", json!({"plan": choice(), "note": "no"})),
    ] {
        verbs.call(verb, &request);
    }
}

fn edit_plan(verbs: &mut VerbLog) {
    let of = |task: &str| json!({"plan": choice(), "task": task});
    verbs.call("add", &json!({"plan": choice(), "title": "Make tea", "on": ["butter"]}));
    let with = |mut request: Value, key: &str, value: Value| {
        request[key] = value;
        request
    };
    verbs.call("rename", &with(of("entry-1"), "to", json!("tea")));
    verbs.call("set", &with(of("tea"), "fields", json!([["note", "green"]])));
    verbs.call("depend", &with(of("tea"), "on", json!(["bread"])));
    verbs.call("undepend", &with(of("tea"), "on", json!(["butter"])));
    verbs.call("move", &with(of("tea"), "place", json!("first")));
    let form = verbs.call("edit-form", &json!({"plan": choice(), "what": "tea"}));
    let text = form["text"].as_str().expect("a form").replace("green", "black");
    let edit = json!({"plan": choice(), "task": "tea", "based_on": form["text"], "text": text});
    verbs.call("edit", &edit);
    let list = text_of(PLAN);
    assert!(
        list.contains("black") && list.contains(r#""after": ["bread"]"#),
        "{list}"
    );
    verbs.call("remove", &json!({"plan": choice(), "tasks": ["tea"]}));
    assert!(!text_of(PLAN).contains("tea"));
}

fn move_tasks(verbs: &mut VerbLog) {
    let bread = |note: &str| json!({"plan": choice(), "tasks": ["bread"], "note": note});
    let moves = [
        ("start", "running"),
        ("fail", "failed"),
        ("retry", "pending"),
        ("skip", "skipped"),
        ("reset", "pending"),
        ("start", "running"),
    ];
    for (verb, state) in moves {
        let moved = verbs.call(verb, &bread("because"));
        assert_eq!(moved["tasks"][0]["to"], state, "{verb}: {moved:#}");
    }
    verbs.call("block", &bread("no flour"));
    verbs.call("done", &json!({"transition": bread("baked")}));
    assert!(text_of(PLAN).contains(r#""ticked": true"#));
    verbs.call("verify", &json!({"plan": choice(), "tasks": ["bread"]}));
    verbs.call("undo", &json!({"plan": choice()}));
    assert!(!text_of(PLAN).contains(r#""ticked": true"#));
    let now = text_of(".todo/now.json");
    assert!(now.contains("\"breakfast\""), "{now}");
    verbs.call("fail", &bread("burnt"));
    let planner = json!({"answer": ANSWER});
    verbs.call("replan-prompt", &json!({"plan": choice()}));
    verbs.call("replan", &json!({"plan": choice(), "planner": planner, "yes": true}));
    assert!(text_of(SECOND).contains("\"replaces\": \"breakfast\""));
    let now = text_of(".todo/now.json");
    assert!(now.contains("\"breakfast-v2\""), "{now}");
}

fn run_plan(verbs: &mut VerbLog) {
    let preview = verbs.call("run-preview", &json!({"plan": {"plan": SECOND}}));
    let task = preview["tasks"][0]["task"].as_str().expect("a task").to_owned();
    let ran = verbs.call("run", &json!({"plan": {"plan": SECOND}}));
    let list = text_of(SECOND);
    assert!(!list.contains(r#""ticked": false"#), "{ran:#}\n{list}");
    for verb in ["runs", "summary", "events", "logs", "report"] {
        verbs.call(verb, &json!({"plan": SECOND}));
    }
    verbs.call("log", &json!({"task": task, "plan": SECOND}));
}

fn put_away(verbs: &mut VerbLog) {
    verbs.call("archive", &json!({"plans": [SECOND]}));
    assert!(Path::new(".todo/lists/old/breakfast-v2.json").exists());
    verbs.call("delete", &json!({"plans": [PLAN]}));
    assert!(!Path::new(PLAN).exists());
}
