//! The arbiter: its brief, the effects of its answers, and runs in which it chooses; and runs reported in rawko's events.

use planwright_run::runs::RunEvent;
use serde_json::{Value, json};

use crate::run::{CommandResult, Workspace, clido, rawko};

/// Two more agents: `judge`, which runs its script, and `other`, which works like `mock`.
fn with_judge(workspace: &Workspace, run: &str, script: &str) {
    let path = workspace.aside("judge.sh");
    let awaits =
        "awaits() { n=0; while [ ! -e \"$ASIDE/$1\" ] && [ $n -lt 9000 ]; do sleep 0.01; n=$((n + 1)); done; }";
    std::fs::write(&path, format!("{awaits}\n{script}\n")).expect("the folder is ours");
    let set = format!("ASIDE = \"{}\"", workspace.aside("").display());
    let rest = format!(
        "[agents.judge]\ncommand = [\"sh\", \"{}\"]\n[agents.judge.set]\n{set}\n\n[agents.other]\ncommand = [\"sh\", \
         \"{}\"]\n[agents.other.set]\n{set}\n",
        path.display(),
        workspace.aside("agent.sh").display()
    );
    workspace.configure(run, &rest);
}

/// Returns the first prompt of an agent.
fn question(workspace: &Workspace) -> String {
    let folder = workspace.root().join(".planwright/inquiries");
    let mut folders: Vec<_> = std::fs::read_dir(folder)
        .expect("there was a question")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    folders.sort();
    let first = folders.first().expect("there was a question");
    std::fs::read_to_string(first.join("prompt.md")).expect("a prompt")
}

const SAYS_OTHER: &str = r#"echo 'Well, I think:
```json
{"agent": "other", "reason": "it is idle"}
```'"#;

/// Returns the agents of the last run's attempts, as `a other, b mock`.
fn takers(workspace: &Workspace) -> String {
    let records = workspace.records();
    let takers = records.iter().filter_map(|record| match &record.event {
        RunEvent::AttemptStarting(event) => Some(format!("{} {}", event.task, event.agent)),
        _ => None,
    });
    takers.collect::<Vec<_>>().join(", ")
}

fn lines(came: &CommandResult) -> Vec<&str> {
    came.text.lines().collect()
}

#[test]
fn the_context_of_a_plan_is_printed_as_text_and_as_data() {
    let workspace = Workspace::new(("plan.yaml", &rawko(&["Look", "Sweep"])), "");
    let came = workspace.does(&["arbiter", "plan.yaml"]).exits(0);
    assert_eq!(
        came.text,
        "## Current Task\n\nTidy the cellar\n\n## Plan Status\n\nStatus: draft\nProgress: 0/2 steps\n\n## Current Step\n\n\
         Step 1: Look\nSuggested agent: any\n\n## Remaining Steps\n\n- Step 1: Look\n- Step 2: Sweep\n"
    );
    let came = workspace.does(&["arbiter", "plan.yaml", "--json"]).exits(0);
    let report: Value = serde_json::from_str(&came.text).expect("JSON");
    assert_eq!(report["schema_version"], "planwright.arbiter/v1");
    assert_eq!(report["task"], "Tidy the cellar");
    assert_eq!(
        report["plan"]["current"],
        json!({"index": 0, "name": "0", "label": "1", "description": "Look", "suggested_agent": null,
               "acceptance_criteria": null})
    );
    assert_eq!(report["plan"]["remaining"][1]["label"], "2");
    assert_eq!((&report["answer"], &report["last_error"]), (&Value::Null, &Value::Null));
    let came = workspace.does(&["arbiter", "--task", "Fix the typo"]).exits(0);
    assert_eq!(came.text, "## Current Task\n\nFix the typo\n\n");
    workspace.does(&["arbiter", "plan.yaml", "--task", "x"]).exits(2);
    workspace.does(&["arbiter", "--task", " "]).exits(2);
}

#[test]
fn the_brief_has_attempts_of_earlier_runs() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a"])),
        "if [ $task = a ]; then says done 'made a'; else echo no luck; exit 1; fi",
    );
    workspace.runs(&[]).exits(1);
    let came = workspace.does(&["arbiter", "plan.json"]).exits(0);
    let (_, history) = came.text.split_once("## Execution History\n\n").expect("a history");
    let history: Vec<&str> = history.lines().collect();
    assert!(history[0].starts_with("1. mock - done ("), "{history:?}");
    assert_eq!(history[1..3], ["   Step: a", "   Output: made a"]);
    assert!(
        history[3].starts_with("2. mock - failed (")
            && history[3].contains("[Error: it ended with exit status 1: no luck]"),
        "{history:?}"
    );
    assert!(
        came.text
            .ends_with("\n\n## Last Error\n\nit ended with exit status 1: no luck\n"),
        "{}",
        came.text
    );
}

#[test]
fn an_agent_is_asked_and_its_answer_printed() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "");
    with_judge(&workspace, "", SAYS_OTHER);
    let came = workspace.does(&["arbiter", "plan.json", "--agent", "judge"]).exits(0);
    assert_eq!(lines(&came), ["other", "it is idle"]);
    let asked = question(&workspace);
    assert!(
        asked.starts_with("## Current Task\n\nTry\n\n## Plan Status\n"),
        "{asked}"
    );
    let (_, agents) = asked.split_once("## Available Agents\n\n").expect("agents");
    for agent in ["judge", "mock", "other"] {
        assert!(agents.contains(&format!("- {agent}\n")), "{agents}");
    }
    let came = workspace
        .does(&["arbiter", "--task", "Fix it", "--agent", "judge", "--json"])
        .exits(0);
    let report: Value = serde_json::from_str(&came.text).expect("JSON");
    assert_eq!(report["answer"]["agent"], "other");
    assert_eq!(report["answer"]["reason"], "it is idle");
    assert_eq!(report["answer"]["fallback"], Value::Null);
}

#[test]
fn an_unusable_answer_falls_back_with_a_remark() {
    let plan = rawko(&["Look"]).replace("status: pending\n", "status: pending\n    suggestedAgent: other\n");
    let workspace = Workspace::new(("plan.yaml", &plan), "");
    for (script, why) in [
        ("echo I do not know", "holds no JSON object"),
        (
            "echo '{\"agent\": \"root\", \"reason\": \"x\"}'",
            "`root`, which was not offered",
        ),
        ("echo '{\"agent\": \"mock\"}'", "gives no `reason`"),
        (
            "echo '{\"agent\": \"mock\", \"reason\": \"x\"} {\"agent\": \"judge\", \"reason\": \"x\"}'",
            "decides for several agents",
        ),
        // An answer that repeats the question decides nothing.
        ("cat", "was not offered"),
        ("exit 1", "gave no answer"),
        (
            "echo 'error: 429 too many requests'; exit 1",
            "rate limited by its provider",
        ),
    ] {
        with_judge(&workspace, "", script);
        let came = workspace.does(&["arbiter", "plan.yaml", "--agent", "judge"]).exits(0);
        assert!(lines(&came).contains(&"other"), "{script}: {}", came.text);
        came.says("warning: ")
            .says(why)
            .says("the step itself asks for `other`");
    }
    // The plan suggests an agent that does not exist: the default agent replaces it.
    workspace.edit("suggestedAgent: other", "suggestedAgent: nobody");
    with_judge(&workspace, "", "echo hm");
    let came = workspace
        .does(&["arbiter", "plan.yaml", "--agent", "judge", "--json"])
        .exits(0);
    let json = came.text.split_once("\n{").map_or(came.text.as_str(), |(_, json)| json);
    assert!(
        json.contains("\"agent\": \"mock\"") && json.contains("\"fallback\": \"the arbiter"),
        "{json}"
    );
    // Without a default agent either, there is no answer.
    let config = workspace.read("planwright.toml").replace("agent = \"mock\"\n", "");
    workspace.write("planwright.toml", config);
    workspace
        .does(&["arbiter", "plan.yaml", "--agent", "judge"])
        .exits(1)
        .says("no answer that can be used");
}

#[test]
fn agents_that_cannot_be_asked_have_distinct_errors() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.configure("", "[agents.missing]\ncommand = [\"no-such-program-at-all\"]\n");
    let ask = |agent: &str| workspace.does(&["arbiter", "plan.json", "--agent", agent]);
    ask("nobody").exits(1).says("there is no agent `nobody`");
    ask("missing")
        .exits(3)
        .says("needs the program `no-such-program-at-all`");
    for args in [["--arbiter", "nobody"], ["--arbiter", "missing"]] {
        let came = workspace.runs(&args);
        assert_ne!(came.status, Some(0), "{}", came.text);
        assert_eq!(workspace.noted("began"), [""; 0]);
    }
    workspace.runs(&["--arbiter", "mock", "--agent", "mock"]).exits(2);
    workspace.runs(&[]).exits(0);
    ask("mock").exits(1).says("nothing is left to do");
}

#[test]
fn the_arbiter_of_a_run_chooses_for_each_task() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a", "c b"])), "says done");
    let script = r#"
current=$(sed -n '/^## Current Step/,/^## Remaining/p')
case "$current" in
  *'Step a:'*) echo '{"agent": "other", "reason": "a is easy"}';;
  *'Step b:'*) echo 'b is hard';;
  *'Step c:'*) echo '{"agent": "other", "reason": "c as well"}';;
esac
"#;
    with_judge(&workspace, "", script);
    workspace.runs(&["--arbiter", "judge"]).exits(0);
    assert_eq!(takers(&workspace), "a other, b mock, c other");
    let log = workspace.log();
    let at = |text: &str| {
        log.iter()
            .position(|line| line.starts_with(text))
            .unwrap_or_else(|| panic!("{text} in {log:?}"))
    };
    assert!(at("remark the arbiter `judge` is asked who takes it") < at("chosen a other"));
    assert!(at("chosen a other") < at("starting a 1"));
    assert!(at("chosen b mock") < at("starting b 1"));
    let chosen = |task: &str| {
        let records = workspace.records();
        let found = records.into_iter().find_map(|record| match record.event {
            RunEvent::AgentChosen(chosen) if chosen.task == task => Some(chosen),
            _ => None,
        });
        found.expect("the arbiter was asked")
    };
    assert_eq!(chosen("a").reason.as_deref(), Some("a is easy"));
    let why = chosen("b").why.expect("a reason");
    assert!(
        why.starts_with("the arbiter `judge` gave no answer that can be used"),
        "{why}"
    );
    assert_eq!(workspace.states(), "a done, b done, c done");
    workspace.is_quiet();
}

#[test]
fn a_task_that_failed_is_asked_about_again() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        "[ $attempt = 2 ] && says done || { echo oops; exit 1; }",
    );
    let script = r###"
if grep -q '^## Last Error'; then echo '{"agent": "other", "reason": "mock failed"}';
else echo '{"agent": "mock", "reason": "the first"}'; fi
"###;
    with_judge(&workspace, "attempts = 2", script);
    workspace.runs(&["--arbiter", "judge"]).exits(0);
    assert_eq!(takers(&workspace), "a mock, a other");
}

#[test]
fn nothing_waits_for_the_arbiter_but_its_task_and_a_stop_ends_it() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "says done");
    let script = r#"
case "$PLANWRIGHT_TASK" in
  a) echo > "$ASIDE/asked"; awaits never;;
  *) echo '{"agent": "other", "reason": "it is idle"}';;
esac
"#;
    with_judge(&workspace, "slots = 2", script);
    let going = workspace.begins(&["--arbiter", "judge"]);
    workspace.until("a is asked about", |workspace| workspace.aside("asked").exists());
    workspace.until_log("verified b 1 true");
    going.signal("INT");
    let came = going.ends();
    assert_eq!(came.status, Some(130), "{}", came.text);
    assert_eq!(workspace.states(), "a pending, b done");
    assert_eq!(takers(&workspace), "b other");
    workspace.is_quiet();
}

#[test]
fn an_arbiter_that_outlives_its_run_is_ended_by_the_next_one() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    with_judge(&workspace, "", "echo > \"$ASIDE/asked\"; awaits never");
    let going = workspace.begins(&["--arbiter", "judge"]);
    workspace.until("a is asked about", |workspace| workspace.aside("asked").exists());
    going.dies();
    assert!(!workspace.left_behind().is_empty());
    workspace.runs(&[]).exits(0);
    workspace.is_quiet();
    assert_eq!(workspace.states(), "a done");
}

#[test]
fn a_task_that_is_removed_while_the_arbiter_thinks_does_not_begin() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b a"])), "says done");
    let script = r#"echo > "$ASIDE/asked"; awaits go; echo '{"agent": "other", "reason": "it is idle"}'"#;
    with_judge(&workspace, "", script);
    let going = workspace.begins(&["--arbiter", "judge"]);
    workspace.until("a is asked about", |workspace| workspace.aside("asked").exists());
    let text = clido(&["b"]);
    workspace.write("plan.json", text);
    workspace.until_log("edited");
    workspace.give("go");
    going.ends().exits(0);
    assert_eq!(takers(&workspace), "b other");
    workspace.is_quiet();
}

#[test]
fn a_run_that_is_paused_while_the_arbiter_thinks_begins_nothing() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    let script = r#"echo > "$ASIDE/asked"; awaits go; echo '{"agent": "other", "reason": "it is idle"}'"#;
    with_judge(&workspace, "", script);
    let going = workspace.begins(&["--arbiter", "judge"]);
    workspace.until("a is asked about", |workspace| workspace.aside("asked").exists());
    workspace.ask("pause", None);
    workspace.until_log("paused");
    workspace.give("go");
    workspace.until_log("chosen a other");
    assert_eq!(takers(&workspace), "");
    workspace.ask("resume", None);
    going.ends().exits(0);
    assert_eq!(takers(&workspace), "a other");
}

#[test]
fn costs_of_an_arbiter_count_against_the_budget() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    let answer = r#"{\"agent\": \"other\", \"reason\": \"it is idle\"}"#;
    let script = format!(
        r#"printf '%s\n' '{{"type":"result","subtype":"success","is_error":false,"result":"{answer}","total_cost_usd":2.5}}'"#
    );
    with_judge(&workspace, "", &script);
    let config = workspace.read("planwright.toml");
    let config = config.replace("[agents.judge]\n", "[agents.judge]\noutput = \"claude-stream-json\"\n");
    workspace.write("planwright.toml", config);
    workspace.runs(&["--arbiter", "judge", "--max-cost", "1"]).exits(1);
    assert_eq!(workspace.states(), "a pending");
    assert_eq!(workspace.ended().cost_usd, Some(2.5));
    workspace.runs(&["--arbiter", "judge", "--max-cost", "5"]).exits(0);
    assert_eq!(takers(&workspace), "a other");
    assert_eq!(workspace.ended().cost_usd, Some(2.5));
}

/// Returns each event as `TYPE stepIndex`.
fn types(came: &CommandResult) -> Vec<String> {
    let events = came.text.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        assert!(line.starts_with("{\"type\":\""), "{line}");
        let kind = event["type"].as_str().expect("a type").to_owned();
        match event.get("stepIndex") {
            Some(index) => format!("{kind} {index}"),
            None => kind,
        }
    });
    events.collect()
}

#[test]
fn a_run_prints_the_events_of_rawko() {
    let plans = [
        ("plan.yaml", rawko(&["Look", "Sweep", "Paint"])),
        ("plan.json", clido(&["a", "b a", "c b"])),
    ];
    for (name, text) in plans {
        let workspace = Workspace::new(
            (name, &text),
            "case $task in 1|b) echo no luck; exit 1;; *) says done 'made it';; esac",
        );
        let came = workspace.runs(&["--json-events", "rawko"]).exits(1);
        let expected = [
            "PLAN_CREATED",
            "STEP_STARTED 0",
            "STEP_COMPLETED 0",
            "STEP_STARTED 1",
            "STEP_FAILED 1",
        ];
        assert_eq!(types(&came), expected, "{}", came.text);
        let events: Vec<Value> = came
            .text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(events[0]["plan"]["steps"][2]["dependsOn"], json!([1]));
        assert_eq!(events[2]["output"], "made it");
        assert_eq!(events[4]["error"], "it ended with exit status 1: no luck");
        let again = workspace.does(&["events", "--json-events", "rawko"]).exits(0);
        assert_eq!(types(&again), expected);
        assert_eq!(lines(&again)[1..], lines(&came)[1..]);
    }
}

#[test]
fn unknown_event_formats_are_refused() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.runs(&["--json-events", "xstate"]).exits(2);
    workspace.runs(&["--json-events", "rawko", "--json"]).exits(2);
    assert_eq!(workspace.noted("began"), [""; 0]);
}
