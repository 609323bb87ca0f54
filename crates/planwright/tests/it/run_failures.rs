//! A run with failures: attempts, backoff, cascades, limits, budgets, and agents that lie.

use planwright_run::runs::RunEvent;

use crate::run::{Workspace, aimi, clido};

/// Returns why an attempt failed, by the log.
fn why(workspace: &Workspace, task: &str, attempt: u32) -> String {
    let found = workspace.records().into_iter().find_map(|record| match record.event {
        RunEvent::AttemptEnded(event) if event.task == task && event.attempt == attempt => event.why,
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no reason in\n{}", workspace.log().join("\n")))
}

#[test]
fn a_failed_attempt_is_followed_by_another_that_knows_why() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done; echo $attempt > made");
    workspace.configure(
        "attempts = 3",
        "[verify]\nevery = [\"echo the-test-says-no; test $(cat made) -ge 3\"]\n",
    );
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["a", "a", "a"]);
    // The first one names the command; its output comes later.
    assert!(!workspace.prompt("a", 1).contains("\nthe-test-says-no"));
    assert!(workspace.prompt("a", 2).contains("the-test-says-no"));
    assert!(workspace.prompt("a", 3).contains("the-test-says-no"));
    let log = workspace.log().join("\n");
    assert!(
        log.contains("verified a 1 false\n") && log.contains("verified a 3 true\n"),
        "{log}"
    );
    assert_eq!(workspace.ended().n_unverified, 0);
}

#[test]
fn a_task_that_failed_too_often_has_failed() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "exit 1");
    workspace.configure("attempts = 2", "");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.noted("began"), ["a", "a"]);
    assert_eq!(workspace.states(), "a failed");
}

#[test]
fn attempts_wait_longer_each_time() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "exit 1");
    workspace.configure("attempts = 4", "");
    let text = workspace.read("planwright.toml").replace("\"1ms\"", "\"20ms\"");
    workspace.write("planwright.toml", text);
    workspace.runs(&[]).exits(1);
    let rests: Vec<u64> = workspace
        .records()
        .iter()
        .filter_map(|record| match &record.event {
            RunEvent::Resting(event) => Some(event.milliseconds),
            _ => None,
        })
        .collect();
    assert_eq!(rests, [20, 40, 80]);
}

#[test]
fn in_clido_dependents_of_a_failure_are_skipped_in_the_same_change() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a", "c b", "d"])),
        "[ $task = a ] && exit 1\nsays done",
    );
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "a failed, b skipped, c skipped, d done");
    let plan = workspace.json();
    for task in [1, 2] {
        assert_eq!(plan["tasks"][task]["notes"], "Skipped because a failed.");
    }
    let log = workspace.log().join("\n");
    assert!(
        log.contains("skipped b because a\n") && log.contains("skipped c because a\n"),
        "{log}"
    );
}

#[test]
fn failed_clido_tasks_and_their_skipped_dependents_run_again_in_the_next_run() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b a", "c b"])),
        "[ $task = a ] && exit 1\nsays done",
    );
    workspace.runs(&[]).exits(1);
    workspace.script("says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.states(), "a done, b done, c done");
    assert!(!workspace.plan().contains("Skipped because"), "{}", workspace.plan());
    assert_eq!(workspace.noted("began"), ["a", "a", "b", "c"]);
}

#[test]
fn in_aimi_dependents_of_a_failure_wait_and_the_run_prints_the_next_command() {
    let workspace = Workspace::new(
        ("tasks.json", &aimi(1, &["1", "2 1", "3"])),
        "[ $task = US-001 ] && exit 1\nsays done",
    );
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "US-001 failed, US-002 pending, US-003 done");
    let ended = workspace.ended();
    assert_eq!(
        (ended.standing.as_str(), ended.n_done, ended.n_failed, ended.n_left),
        ("stuck", 1, 1, 1)
    );
    assert!(ended.why.as_deref().unwrap_or_default().contains("US-001"), "{ended:?}");
    // The command is one that works.
    let next = ended.next.expect("a way on");
    let args: Vec<&str> = next
        .strip_prefix("planwright ")
        .expect("a command of ours")
        .split(' ')
        .collect();
    workspace.runs(&[]).exits(1);
    assert_eq!(
        workspace.noted("began").len(),
        2,
        "a failed story is not tried again by itself"
    );
    workspace.script("says done");
    workspace.does(&args).exits(0);
    assert_eq!(workspace.states(), "US-001 done, US-002 done, US-003 done");
}

#[test]
fn dependents_are_skipped_on_request() {
    let workspace = Workspace::new(("tasks.json", &aimi(1, &["1", "2 1", "3 2"])), "exit 1");
    workspace.runs(&["--cascade-skip"]).exits(1);
    assert_eq!(workspace.states(), "US-001 failed, US-002 skipped, US-003 skipped");
    let notes = workspace.json()["userStories"][1]["notes"].clone();
    assert!(notes.as_str().expect("notes").contains("US-001"), "{notes}");
    // A retry also reopens tasks that were skipped because of it.
    workspace.script("says done");
    workspace.runs(&["--retry-failed"]).exits(0);
    assert!(!workspace.states().contains("skipped"), "{}", workspace.states());
}

#[test]
fn fail_fast_ends_the_run_at_the_first_failure() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b", "c"])),
        "[ $task = a ] && exit 1\nsays done",
    );
    workspace.runs(&["--fail-fast"]).exits(1);
    assert_eq!(workspace.states(), "a failed, b pending, c pending");
    assert_eq!(workspace.ended().standing.as_str(), "stopped");
}

#[test]
fn fail_fast_lets_running_tasks_finish() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b", "c"])),
        "[ $task = a ] && exit 1\n[ $task = b ] && awaits go\nsays done",
    );
    let run = workspace.begins(&["--fail-fast", "-j", "2"]);
    workspace.until_log("stopping failure");
    workspace.give("go");
    run.ends().exits(1);
    assert_eq!(workspace.states(), "a failed, b done, c pending");
}

#[test]
fn an_agent_that_exits_with_zero_and_reports_failure_has_failed() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        "result '{\"planwright_result\": 1, \"outcome\": \"failed\", \"notes\": \"the tests do not build\"}'; exit 0",
    );
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "a failed");
    assert!(
        workspace.json()["tasks"][0]["notes"]
            .as_str()
            .expect("notes")
            .contains("the tests do not build")
    );
}

#[test]
fn an_agent_that_exits_with_an_error_has_failed() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "echo broken >&2; exit 3");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "a failed");
    assert!(why(&workspace, "a", 1).contains('3'), "{}", why(&workspace, "a", 1));
}

#[test]
fn a_result_file_that_cannot_be_used_is_a_failure() {
    for file in ["no JSON", r#"{"planwright_result": 1, "outcome": "stopp"}"#, "[]"] {
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), &format!("result '{file}'"));
        workspace.runs(&[]).exits(1);
        assert_eq!(workspace.states(), "a failed", "{file}");
        assert!(why(&workspace, "a", 1).contains("result file"), "{file}");
    }
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "result ''");
    workspace.runs(&[]).exits(0);
}

#[test]
fn an_attempt_that_takes_too_long_is_ended_with_all_its_processes() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        "sleep 50 & setsid sleep 50 & trap '' TERM; while true; do echo still here; sleep 0.1; done",
    );
    workspace.configure("wall_limit = \"1s\"\ngrace = \"100ms\"", "");
    let text = workspace.read("planwright.toml").replace("grace = \"2s\"\n", "");
    workspace.write("planwright.toml", text);
    workspace.runs(&[]).exits(1);
    assert!(
        why(&workspace, "a", 1).contains("wall_limit"),
        "{}",
        why(&workspace, "a", 1)
    );
    workspace.is_quiet();
    assert_eq!(workspace.states(), "a failed");
}

#[test]
fn a_silent_attempt_is_ended() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "echo hello; sleep 50");
    workspace.configure("silence_limit = \"1s\"", "");
    workspace.runs(&[]).exits(1);
    assert!(
        why(&workspace, "a", 1).contains("silence_limit"),
        "{}",
        why(&workspace, "a", 1)
    );
    workspace.is_quiet();
}

#[test]
fn the_run_ends_when_its_budget_is_spent() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b", "c"])),
        "result '{\"planwright_result\": 1, \"outcome\": \"done\", \"cost\": {\"usd\": 0.75}}'",
    );
    workspace.runs(&["--max-cost", "1.5"]).exits(1);
    assert_eq!(workspace.states(), "a done, b done, c pending");
    let ended = workspace.ended();
    assert_eq!((ended.standing.as_str(), ended.cost_usd), ("stopped", Some(1.5)));
    assert!(ended.why.expect("a reason").contains("budget"));
    workspace.runs(&[]).exits(0);
}

#[test]
fn the_run_ends_when_its_tokens_are_spent() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a", "b"])),
        "result '{\"planwright_result\": 1, \"outcome\": \"done\", \"cost\": {\"tokens_in\": 600, \"tokens_out\": 400}}'",
    );
    workspace.runs(&["--max-tokens", "1000"]).exits(1);
    assert_eq!(workspace.states(), "a done, b pending");
    assert_eq!(workspace.ended().tokens, Some([600, 400]));
}

#[test]
fn a_run_without_an_agent_is_an_error_with_help() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.write("planwright.toml", "");
    let came = workspace.runs(&[]);
    assert_eq!(came.status, Some(3), "{}", came.text);
    came.says("no agent is configured").says("planwright.toml");
    assert_eq!(workspace.states(), "a pending");
}

#[test]
fn a_missing_program_is_reported_before_the_run_starts() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.write(
        "planwright.toml",
        "[agents.gone]\ncommand = [\"no-such-program-anywhere\"]\n",
    );
    let came = workspace.runs(&[]);
    assert_eq!(came.status, Some(3), "{}", came.text);
    came.says("no-such-program-anywhere");
    assert_eq!(workspace.states(), "a pending");
    assert_eq!(workspace.places(), []);
}

#[test]
fn an_unknown_agent_or_task_is_reported_before_the_run_starts() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.runs(&["--agent", "mok"]).says("there is no agent `mok`");
    workspace.runs(&["--only", "z"]).exits(1).says("there is no task `z`");
    assert_eq!(workspace.states(), "a pending");
    assert_eq!(workspace.places(), []);
}

#[test]
fn unverified_tasks_are_counted() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "says done");
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.ended().n_unverified, 2);
}

#[test]
fn unverified_tasks_are_refused_on_request() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.runs(&["--require-verification"]).exits(1);
    assert_eq!(workspace.states(), "a pending");
    workspace.configure("", "[verify]\nevery = [\"true\"]\n");
    workspace.runs(&["--require-verification"]).exits(0);
    assert_eq!(workspace.states(), "a done");
}

/// An agent with the output format of claude.
fn claude(script: &str) -> Workspace {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), script);
    workspace.configure_agent("output = \"claude-stream-json\"", "", "");
    workspace
}

const WELL: &str = r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"all good","total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":5}}'"#;

#[test]
fn the_final_event_of_an_agent_decides_the_result() {
    let workspace = claude(WELL);
    workspace.runs(&[]).exits(0);
    let ended = workspace.ended();
    assert_eq!((ended.cost_usd, ended.tokens), (Some(0.5), Some([10, 5])));
}

#[test]
fn an_agent_without_a_final_event_has_not_succeeded() {
    let workspace = claude("echo '{\"type\":\"assistant\",\"message\":{}}'; exit 0");
    workspace.runs(&[]).exits(1);
    assert_eq!(workspace.states(), "a failed");
}

#[test]
fn a_rate_limit_is_waited_for_and_does_not_count() {
    let limited = r#"[ $attempt = 1 ] && echo '{"type":"result","subtype":"success","is_error":true,"result":"API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}}"}' && exit 1"#;
    let workspace = claude(&format!("{limited}\n{WELL}"));
    workspace.runs(&[]).exits(0);
    let log = workspace.log().join("\n");
    assert!(
        log.contains("finished a 1 rate-limited\n") && log.contains("resting a 1\n"),
        "{log}"
    );
    assert_eq!(workspace.states(), "a done");
}

#[test]
fn a_task_that_waits_for_a_rate_limit_stays_running() {
    let limited = r#"echo '{"type":"result","subtype":"success","is_error":true,"result":"API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}}"}'; exit 1"#;
    let workspace = claude(limited);
    let text = workspace.read("planwright.toml").replace("\"1ms\"", "\"1h\"");
    workspace.write("planwright.toml", text);
    let run = workspace.begins(&[]);
    workspace.until_log("resting a 1");
    workspace.until("the plan says so", |workspace| workspace.states() == "a running");
    // A user who ends the run does not wait for the provider.
    run.signal("INT");
    run.ends();
    assert_eq!(workspace.states(), "a pending");
}

#[test]
fn the_command_to_continue_repeats_the_options() {
    let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), "exit 1");
    let asked = [
        "--max-cost",
        "0.5",
        "--max-tokens",
        "9000",
        "--max-attempts",
        "1",
        "--max-duration",
        "1h",
        "--max-tasks",
        "7",
        "--replan",
        "0",
    ];
    workspace.runs(&asked).exits(1);
    let next = workspace.ended().next.expect("a way on");
    for pair in asked.chunks(2) {
        assert!(next.contains(&pair.join(" ")), "{pair:?} in {next}");
    }
    let args: Vec<&str> = next.split(' ').skip(1).collect();
    workspace.script("says done");
    workspace.does(&args).exits(1);
    workspace.does(&args).exits(0);
}
