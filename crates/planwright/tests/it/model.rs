//! Runs with an agent that asks a model, over each of the wire formats: the small agent of the testkit, which is this test binary, and a
//! model on loopback. `cargo xtask e2e` does the same with the real agents.

use std::io::Read as _;

use planwright_testkit::model_server::{ModelAnswer, ModelRequest, ModelScenario, ModelServer, Wire};
use planwright_testkit::scripted_agent;
use serde_json::json;

use crate::run::{Workspace, clido};

/// Each wire format with the output format of its agent.
const WIRES: [(Wire, &str); 4] = [
    (Wire::Anthropic, "claude-stream-json"),
    (Wire::Responses, "codex-json"),
    (Wire::Chat, "opencode-json"),
    (Wire::Gemini, "gemini-stream-json"),
];

/// The agent, if a run starts this binary as one; otherwise does nothing.
#[test]
#[expect(clippy::exit, reason = "an agent's exit status is its own")]
fn the_scripted_agent() {
    let (Ok(url), Ok(output)) = (std::env::var("SCRIPTED_URL"), std::env::var("SCRIPTED_OUTPUT")) else {
        return;
    };
    let (wire, _) = WIRES
        .into_iter()
        .find(|(_, known)| *known == output)
        .expect("a known output");
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).expect("a prompt");
    let folder = std::env::current_dir().expect("a folder");
    let status = scripted_agent::run(wire, &url, &prompt, &folder, &mut std::io::stdout());
    std::process::exit(status.unwrap_or(3));
}

/// Returns a workspace whose agent asks a scenario, with `attempts` and a verification.
fn workspace(tasks: &[&str], url: &str, output: &str, attempts: u32) -> Workspace {
    let workspace = Workspace::new(("plan.json", &clido(tasks)), "");
    let binary = std::env::current_exe().expect("this binary");
    workspace.write(
        "planwright.toml",
        format!(
            "[agents.scripted]\ncommand = [\"{}\", \"--exact\", \"model::the_scripted_agent\", \"--nocapture\"]\nprompt = \
             \"stdin\"\noutput = \"{output}\"\n\n[agents.scripted.set]\nSCRIPTED_URL = \"{url}\"\nSCRIPTED_OUTPUT = \
             \"{output}\"\n\n[run]\nagent = \"scripted\"\nattempts = {attempts}\nbackoff = \"1ms\"\ngrace = \
             \"2s\"\n\n[verify]\nevery = ['echo \"found $(cat \"$PLANWRIGHT_TASK.txt\")\"; grep -q right \
             \"$PLANWRIGHT_TASK.txt\"']\n",
            binary.display()
        ),
    );
    workspace
}

fn write(path: &str, content: &str) -> ModelAnswer {
    ModelAnswer::tool("write", json!({"path": path, "content": content}))
}

/// A model that writes a file, checks it, and reports that.
fn diligent() -> ModelScenario {
    ModelScenario::script(vec![
        write("a.txt", "right\n"),
        ModelAnswer::tool("shell", json!({"command": "cat a.txt > seen"})),
        ModelAnswer::text("I made a.txt"),
    ])
}

/// Returns the end of the first attempt from the log: `outcome: why`.
fn first_end(workspace: &Workspace) -> String {
    use planwright_run::runs::RunEvent;
    let found = workspace.records().into_iter().find_map(|record| match record.event {
        RunEvent::AttemptEnded(event) => Some(format!("{}: {}", event.outcome, event.why.unwrap_or_default())),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no end in\n{}", workspace.log().join("\n")))
}

fn count(workspace: &Workspace, start: &str) -> usize {
    workspace.log().iter().filter(|line| line.starts_with(start)).count()
}

#[test]
fn a_model_edits_files_through_every_wire_format() {
    let server = ModelServer::start().expect("a free port");
    server.add("diligent", diligent());
    for (wire, output) in WIRES {
        let workspace = workspace(&["a"], &server.url("diligent"), output, 1);
        workspace.runs(&[]).exits(0);
        assert_eq!(workspace.states(), "a done", "{wire:?}");
        assert_eq!(
            workspace.read("a.txt") + &workspace.read("seen"),
            "right\nright\n",
            "{wire:?}"
        );
        let log = workspace.log().join("\n");
        assert!(log.contains("verified a 1 true\n"), "{wire:?} {log}");
        assert_eq!(workspace.ended().tokens, Some([33, 21]), "{wire:?}");
        let asked = server.requests("diligent");
        let own: Vec<&ModelRequest> = asked.iter().filter(|request| request.wire == wire).collect();
        assert_eq!(own.len(), 3, "{wire:?}");
        assert!(own[0].says("# Task `a`") && own[2].says("written"), "{wire:?}");
    }
}

#[test]
fn a_model_reads_why_its_first_attempt_failed_and_fixes_it() {
    let server = ModelServer::start().expect("a free port");
    server.add(
        "careless",
        ModelScenario::by(|request| match (request.n_results, request.says("found wrong")) {
            (0, false) => write("a.txt", "wrong\n"),
            (0, true) => write("a.txt", "right\n"),
            _ => ModelAnswer::text("It is there"),
        }),
    );
    for (wire, output) in WIRES {
        let workspace = workspace(&["a"], &server.url("careless"), output, 2);
        workspace.runs(&[]).exits(0);
        let log = workspace.log().join("\n");
        assert!(
            log.contains("verified a 1 false\n") && log.contains("verified a 2 true\n"),
            "{wire:?} {log}"
        );
    }
}

#[test]
fn a_providers_limit_spends_no_attempt() {
    let server = ModelServer::start().expect("a free port");
    for (wire, output) in WIRES {
        let name = format!("limited-{output}");
        server.add(&name, diligent().after(vec![ModelAnswer::rate_limited(1)]));
        let workspace = workspace(&["a"], &server.url(&name), output, 1);
        workspace.runs(&[]).exits(0);
        let end = first_end(&workspace);
        assert!(end.starts_with("rate-limited: "), "{wire:?} {end}");
        assert_eq!(workspace.states(), "a done", "{wire:?}");
        assert_eq!(count(&workspace, "resting a"), 1, "{wire:?}");
    }
}

#[test]
fn a_refused_key_is_reported_as_an_error_of_the_agent() {
    let server = ModelServer::start().expect("a free port");
    server.add("locked", ModelScenario::script(vec![ModelAnswer::unauthorized()]));
    for (wire, output) in WIRES {
        let workspace = workspace(&["a"], &server.url("locked"), output, 1);
        workspace.runs(&[]).exits(1);
        let end = first_end(&workspace);
        assert!(
            end.starts_with("failed: ") && end.contains("invalid api key"),
            "{wire:?} {end}"
        );
        assert_eq!(workspace.states(), "a failed", "{wire:?}");
    }
}

#[test]
fn an_answer_with_nothing_in_it_is_no_success_and_a_loop_over_it_is_ended() {
    let server = ModelServer::start().expect("a free port");
    server.add("empty", ModelScenario::script(vec![ModelAnswer::Empty]));
    for (wire, output) in WIRES {
        let workspace = workspace(&["a"], &server.url("empty"), output, 1);
        workspace.runs(&[]).exits(1);
        let end = first_end(&workspace);
        let says = match wire {
            Wire::Anthropic => "empty",
            Wire::Responses => "response.completed",
            Wire::Chat => "in a loop",
            Wire::Gemini => "without a finish reason",
        };
        assert!(end.starts_with("failed: ") && end.contains(says), "{wire:?} {end}");
    }
}

#[test]
fn a_connection_that_breaks_off_is_no_success() {
    let server = ModelServer::start().expect("a free port");
    server.add(
        "broken",
        ModelScenario::script(vec![write("a.txt", "right\n"), ModelAnswer::Drop]),
    );
    for (wire, output) in WIRES {
        let workspace = workspace(&["a"], &server.url("broken"), output, 1);
        workspace.runs(&[]).exits(1);
        // The work exists, but the agent did not report that it is done.
        assert_eq!(workspace.read("a.txt"), "right\n", "{wire:?}");
        assert_eq!(workspace.states(), "a failed", "{wire:?}");
    }
}
