//! A caller besides the command line: verbs by their names, with requests and reports in JSON. It has the verbs of the command line, with the same results.

use planwright_verbs::Workspace;
use planwright_verbs::call::{QuietObserver, call, verb_names};
use planwright_verbs::json::{ErrorBody, ErrorReport};
use serde_json::{Value, json};

use crate::run::{Workspace as RunWorkspace, clido};
use crate::sandbox::Sandbox;
use crate::views::{AIMI, CLIDO, OPENCRABS, PACK, RAWKO, workspace};

const PLANS: [&str; 5] = [CLIDO, AIMI, RAWKO, OPENCRABS, PACK];

/// Verbs of the command line that are no verbs of the engine: command lines of other tools, and what a shell needs.
const OF_COMMAND_LINE: [&str; 5] = ["aimi-cli", "clido", "spec-first", "completions", "man"];

/// The variables with which a test passes a call to a separate process, which has the environment of the sandbox.
const VERB: &str = "CALL_VERB";
const REQUEST: &str = "CALL_REQUEST";
const ANSWER: &str = "CALL_ANSWER";

/// The caller, if this process is one; otherwise does nothing.
#[test]
fn part_that_calls_a_verb() {
    let [Ok(verb), Ok(request), Ok(answer)] = [VERB, REQUEST, ANSWER].map(std::env::var) else {
        return;
    };
    let report = call(&Workspace::around(""), &verb, &request, &mut QuietObserver::default());
    let text = report.unwrap_or_else(|failure| {
        let error = ErrorReport::new(ErrorBody::of(&failure));
        serde_json::to_string(&error).expect("strings and numbers")
    });
    std::fs::write(answer, text).expect("the folder is ours");
}

/// Calls a verb in a workspace.
#[track_caller]
fn answer(sandbox: &Sandbox, verb: &str, request: &Value) -> Value {
    let file = sandbox.path().join(".git/answer.json");
    let program = std::env::current_exe().expect("a test is a program");
    let request = request.to_string();
    let variables = [(VERB, verb), (REQUEST, &request), (ANSWER, &file.to_string_lossy())];
    let args = ["json_calls::part_that_calls_a_verb", "--exact"];
    let ran = sandbox.run_program_with(&program, &args, &variables);
    assert_eq!(ran.status, Some(0), "{verb} {request}: {}", ran.text());
    let text = std::fs::read_to_string(&file).expect("an answer");
    std::fs::remove_file(&file).expect("the folder is ours");
    serde_json::from_str(&text).expect("JSON")
}

/// Calls a verb in a workspace in which agents run.
#[track_caller]
fn answer_in(workspace: &RunWorkspace, verb: &str, request: &Value) -> Value {
    let file = workspace.aside("answer.json");
    let program = std::env::current_exe().expect("a test is a program");
    let args = ["json_calls::part_that_calls_a_verb", "--exact"];
    let mut command = workspace.command(&program.to_string_lossy(), &args);
    command.envs([(VERB, verb), (REQUEST, &request.to_string())]);
    let output = command.env(ANSWER, &file).output().expect("a program");
    assert!(output.status.success(), "{verb} {request}: {output:?}");
    let text = std::fs::read_to_string(&file).expect("an answer");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn every_verb_of_the_command_line_can_be_called() {
    let (command, verbs) = (planwright::command(), verb_names());
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = match verb.get_name() {
            "pause" | "resume" | "stop" => "control",
            name => name,
        };
        let is_known = verbs.contains(&name) || OF_COMMAND_LINE.contains(&name);
        assert!(
            is_known || verbs.iter().any(|verb| verb.starts_with(&format!("{name}-"))),
            "{name}"
        );
    }
}

#[test]
fn reports_are_those_of_the_command_line() {
    let sandbox = workspace();
    for plan in PLANS {
        let choice = json!({"plan": {"plan": plan}});
        for verb in ["show", "graph", "history"] {
            let printed = sandbox.run(&[verb, plan, "--json"]).exits(0).json();
            let request = match verb {
                "show" => json!({"plan": {"plan": plan}}),
                _ => choice.clone(),
            };
            assert_eq!(answer(&sandbox, verb, &request), printed, "{verb} {plan}");
        }
        let printed = sandbox.run(&["next", plan, "--json"]).json();
        assert_eq!(answer(&sandbox, "next", &choice), printed, "next {plan}");
    }
    for (verb, args) in [
        ("list", vec!["list", "--json"]),
        ("config", vec!["config", "--json"]),
        ("runs", vec!["runs", "--json"]),
    ] {
        assert_eq!(
            answer(&sandbox, verb, &json!({})),
            sandbox.run(&args).exits(0).json(),
            "{verb}"
        );
    }
    let printed = sandbox.run(&["hash", "docs/plans/photos.md", "--json"]).exits(0).json();
    assert_eq!(
        answer(&sandbox, "hash", &json!({"plan": "docs/plans/photos.md"})),
        printed
    );
}

#[test]
fn a_plan_is_worked_on_by_requests_alone() {
    // The OpenCrabs plan of these tests is an import form, which cannot be worked on.
    for plan in PLANS.into_iter().filter(|plan| *plan != OPENCRABS) {
        let sandbox = workspace();
        let choice = json!({"plan": plan});
        let next = answer(&sandbox, "next", &json!({"plan": choice}));
        let task = next["ready"][0]["task"]["task"]
            .as_str()
            .expect("a ready task")
            .to_owned();
        let tasks = json!([task]);
        let started = answer(&sandbox, "start", &json!({"plan": choice, "tasks": tasks}));
        assert_eq!(started["tasks"][0]["to"], "running", "{plan}: {started}");
        let done = answer(
            &sandbox,
            "done",
            &json!({"transition": {"plan": choice, "tasks": tasks}}),
        );
        assert_eq!(done["tasks"][0]["to"], "done", "{plan}: {done}");
        let undone = answer(&sandbox, "undo", &json!({"plan": choice}));
        assert_eq!(undone["written"], true, "{plan}: {undone}");
        let shown = sandbox.run(&["show", &task, "-p", plan, "--json"]).exits(0).json();
        assert_eq!(shown["task"]["status"], "running", "{plan}: {shown}");
    }
}

#[test]
fn prompts_and_previews_are_those_of_the_command_line() {
    let sandbox = workspace();
    let prompt = |verb: &str, request: Value| {
        let text = answer(&sandbox, verb, &request);
        text.as_str().unwrap_or_else(|| panic!("{verb}: {text}")).to_owned()
    };
    let printed = |args: &[&str]| sandbox.run(args).exits(0).stdout;
    assert_eq!(
        prompt("plan-prompt", json!({"goal": "Log in"})),
        printed(&["plan", "Log in", "--dry-run"])
    );
    assert_eq!(
        prompt("replan-prompt", json!({"plan": {"plan": CLIDO}})),
        printed(&["replan", CLIDO, "--dry-run"])
    );
    let source = "docs/plans/photos.md";
    assert_eq!(
        prompt("tasks-derive-prompt", json!({"plan": source})),
        printed(&["tasks", "derive", source, "--dry-run"])
    );
    assert_eq!(
        prompt("tasks-regenerate-prompt", json!({"plan": {"plan": PACK}})),
        printed(&["tasks", "regenerate", PACK, "--dry-run"])
    );
    let workspace = RunWorkspace::new(("plan.json", &clido(&["a", "b a"])), "says done");
    let printed = workspace.does(&["run", "plan.json", "--dry-run", "--json"]).exits(0);
    let printed: Value = serde_json::from_str(&printed.text).expect("JSON");
    let preview = answer_in(&workspace, "run-preview", &json!({"plan": {"plan": "plan.json"}}));
    assert_eq!(preview, printed);
    assert!(preview["tasks"][0]["prompt"].is_string(), "{preview}");
}

#[test]
fn the_data_of_a_page_and_the_text_of_a_log_are_reports() {
    let workspace = RunWorkspace::new(
        ("plan.json", &clido(&["a", "b a"])),
        "echo working on $task; echo $task > $task.txt; says done",
    )
    .in_git();
    workspace.configure("", "[verify]\nevery = [\"echo verified\"]\n");
    workspace.commit("Configure");
    workspace.runs(&[]).exits(0);
    let page = answer_in(&workspace, "report", &json!({"diff": true}));
    let task = &page["tasks"][0];
    assert_eq!(
        (&page["standing"], &task["state"]),
        (&json!("finished"), &json!("done"))
    );
    assert_eq!(task["attempts"][0]["outcome"], "done", "{page}");
    assert_eq!(task["size"]["files"], 1, "{page}");
    assert!(task["diff"].as_str().expect("a diff").contains("+a"), "{page}");
    let has_line = |lines: &Value, line: &str| lines.as_array().expect("lines").contains(&json!(line));
    assert!(has_line(&task["log"], "working on a"), "{page}");

    let log = answer_in(&workspace, "log", &json!({"task": "a"}));
    let text = log["texts"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("working on a\n"), "{log}");
    assert_eq!(log["cut"], false);
    let checks = answer_in(&workspace, "log", &json!({"task": "a", "part": "checks"}));
    assert_eq!(checks["texts"][0]["text"], "verified\n", "{checks}");
    assert!(checks["texts"][0]["command"].is_array(), "{checks}");
    let missing = answer_in(&workspace, "log", &json!({"task": "c"}));
    assert_eq!(missing["error"]["exit_status"], 1, "{missing}");
}

#[test]
fn a_draft_is_read_again_and_abandoned() {
    let sandbox = workspace();
    let request = json!({"plan": CLIDO, "dialect": "clido"});
    let draft = answer(&sandbox, "draft", &request);
    assert_eq!(draft["valid"], true, "{draft}");
    let next = draft["next"].as_str().expect("a command");
    assert!(next.starts_with("planwright "), "{draft}");
    sandbox.write(CLIDO, crate::plans::CLIDO_BAD);
    let broken = answer(&sandbox, "draft", &request);
    assert_eq!(broken["valid"], false, "{broken}");
    assert!(!broken["diagnostics"].as_array().expect("findings").is_empty());
    let kept = answer(&sandbox, "draft-abandon", &request);
    assert!(sandbox.path().join(kept["kept"].as_str().expect("a path")).exists());
    assert_eq!(answer(&sandbox, "draft", &request), Value::Null);
}

#[test]
fn failures_are_those_of_the_command_line() {
    let sandbox = workspace();
    let failure = answer(
        &sandbox,
        "start",
        &json!({"plan": {"plan": CLIDO}, "tasks": ["nothing"]}),
    );
    let printed = sandbox
        .run(&["start", "nothing", "-p", CLIDO, "--json"])
        .exits(1)
        .json();
    assert_eq!(failure, printed);
    let failure = answer(&sandbox, "show", &json!({"plam": 1}));
    assert_eq!(failure["error"]["exit_status"], 2, "{failure}");
    let failure = answer(&sandbox, "sow", &json!({}));
    let help = failure["error"]["help"].as_str().expect("advice");
    assert!(help.contains("show"), "{failure}");
}
