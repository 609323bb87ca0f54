//! The output of agents, line by line, and planwright's verdict: successes, and every known failure.

use planwright_core::agent::{AgentEvent, AgentExit, AgentOutcome, AgentVerdict, EventFormat, Listener, Usage};

use EventFormat::{Aider, Claude, Codex, Gemini, Opencode, Plain, Qwen};

fn listen(format: EventFormat, output: &str, exit: AgentExit) -> (Vec<AgentEvent>, AgentVerdict) {
    let mut listener = Listener::new(format);
    let heard = output.lines().flat_map(|line| listener.line(line)).collect();
    (heard, listener.finish(exit))
}

/// Checks the outcome of an attempt: the first word is the outcome; the rest, if any, is part of its reason.
#[track_caller]
pub(crate) fn check(format: EventFormat, output: &str, exit: AgentExit, expected: &str) -> AgentVerdict {
    let (_, verdict) = listen(format, output, exit);
    let told = match &verdict.outcome {
        AgentOutcome::Done => "done".to_owned(),
        AgentOutcome::Interrupted => "interrupted".to_owned(),
        AgentOutcome::Failed { why } => format!("failed {why}"),
        AgentOutcome::Broken { why } => format!("broken {why}"),
        AgentOutcome::RateLimited { wait: Some(wait), why } => format!("limited {wait} {why}"),
        AgentOutcome::RateLimited { wait: None, why } => format!("limited {why}"),
    };
    let (word, rest) = expected.split_once(' ').unwrap_or((expected, ""));
    assert!(
        told.starts_with(word) && told.contains(rest),
        "expected `{expected}`, found `{told}`"
    );
    verdict
}

pub(crate) const OK: AgentExit = AgentExit::Code(0);
const ONE: AgentExit = AgentExit::Code(1);

const CLAUDE_WORK: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","tools":["Write"]}
{"type":"assistant","session_id":"s-1","message":{"content":[{"type":"text","text":"I will write it.\nNow."},{"type":"tool_use","name":"Write","input":{"file_path":"a.txt","content":"x"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","content":"ok"}]}}
"#;

pub(crate) fn claude(result: &str) -> String {
    format!("{CLAUDE_WORK}{{\"type\":\"result\",\"session_id\":\"s-1\",{result}}}\n")
}

#[test]
fn claude_is_done_when_its_result_reports_success() {
    let output = claude(
        r#""subtype":"success","is_error":false,"terminal_reason":"completed","result":"Wrote a.txt.","total_cost_usd":0.25,"permission_denials":[],"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":42}"#,
    );
    let verdict = check(Claude, &output, OK, "done");
    let expected = AgentVerdict {
        outcome: AgentOutcome::Done,
        final_message: "Wrote a.txt.".to_owned(),
        session: Some("s-1".to_owned()),
        usage: Usage {
            cost_usd: Some(0.25),
            tokens_in: Some(3210),
            tokens_out: Some(42),
        },
        denials: Vec::new(),
    };
    assert_eq!(verdict, expected);
    let (heard, _) = listen(Claude, &output, OK);
    let tool = AgentEvent::Tool {
        name: "Write".to_owned(),
        about: "a.txt".to_owned(),
    };
    assert_eq!(
        heard,
        [
            AgentEvent::Session("s-1".to_owned()),
            AgentEvent::Text("Now.".to_owned()),
            tool
        ]
    );
}

#[test]
fn claude_fails_in_these_ways() {
    let api_error = |status: &str, text: &str| {
        claude(&format!(
            r#""subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":{status},"result":"{text}""#
        ))
    };
    check(
        Claude,
        &api_error("429", "API Error: too fast"),
        ONE,
        "limited too fast",
    );
    check(Claude, &api_error("529", "API Error: Overloaded"), ONE, "limited");
    check(Claude, &api_error("401", "API Error: 401"), ONE, "broken 401");
    check(Claude, &api_error("403", ""), ONE, "broken status 403");
    check(Claude, &api_error("400", "bad request"), ONE, "broken bad request");
    check(
        Claude,
        &api_error("null", "Connection error."),
        ONE,
        "broken Connection error.",
    );
    check(
        Claude,
        &api_error("null", "You have hit your usage limit; try again in 2h"),
        ONE,
        "limited 7200",
    );
    check(
        Claude,
        &claude(r#""is_error":true,"result":"Not logged in""#),
        ONE,
        "broken Not logged in",
    );
    let turns = r#""subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns""#;
    check(Claude, &claude(turns), ONE, "failed limit of turns");
    check(
        Claude,
        &claude(r#""subtype":"error_max_budget_usd","is_error":true"#),
        ONE,
        "failed budget",
    );
    check(
        Claude,
        &claude(r#""subtype":"success","result":"?""#),
        OK,
        "broken does not say",
    );
    check(
        Claude,
        &claude(r#""is_error":false"#),
        ONE,
        "broken ended with exit status 1",
    );
    check(Claude, "", ONE, "broken it ended without a result (exit status 1)");
    check(
        Claude,
        "error: unknown option '--bogus'\n",
        ONE,
        "broken unknown option",
    );
    check(Claude, "root may not skip permissions\n", ONE, "broken root may not");
    let cut = claude(r#""is_error":false,"result":"done""#);
    check(Claude, &cut[..cut.len() - 9], OK, "broken it ended without a result");
}

#[test]
fn denied_tools_are_no_success() {
    let output = claude(
        r#""subtype":"success","is_error":false,"result":"I was not allowed.","permission_denials":[{"tool_name":"Write","tool_use_id":"1"},{"tool_name":"Bash"}]"#,
    );
    let verdict = check(Claude, &output, OK, "failed denied to it: Write, Bash");
    assert_eq!(verdict.denials, ["Write", "Bash"]);
    assert_eq!(verdict.final_message, "I was not allowed.");
}

#[test]
fn interrupts_are_not_failures_of_the_task() {
    let aborted = claude(r#""subtype":"success","is_error":true,"terminal_reason":"aborted_tools""#);
    check(Claude, &aborted, OK, "interrupted");
    check(Claude, CLAUDE_WORK, AgentExit::Stopped, "interrupted");
    check(Claude, CLAUDE_WORK, AgentExit::Code(143), "interrupted");
    check(Claude, CLAUDE_WORK, OK, "broken");
    check(
        Codex,
        "{\"type\":\"turn.started\"}",
        AgentExit::Signal(15),
        "interrupted",
    );
    check(
        Gemini,
        "{\"type\":\"init\",\"session_id\":\"g\"}",
        AgentExit::Stopped,
        "interrupted",
    );
    check(
        Opencode,
        "{\"type\":\"step_start\"}",
        AgentExit::Signal(2),
        "interrupted",
    );
    check(Qwen, "", AgentExit::Signal(2), "interrupted");
    check(Aider, "working\n\n^C again to exit\n", OK, "interrupted");
    check(Aider, "working\n", AgentExit::Signal(15), "interrupted");
    check(Plain, "working\n", AgentExit::Stopped, "interrupted");
    check(Plain, "working\n", AgentExit::Code(130), "interrupted");
}

#[test]
fn a_final_event_counts_even_if_the_process_was_stopped() {
    check(Claude, &claude(r#""is_error":false"#), AgentExit::Stopped, "done");
    check(Codex, "{\"type\":\"turn.completed\"}", AgentExit::Signal(15), "done");
}

#[test]
fn retries_because_of_a_limit_are_reported_at_once() {
    let notice = r#"{"type":"system","subtype":"api_retry","error":"rate_limit","error_status":429,"attempt":1,"retry_delay_ms":1500,"session_id":"s"}"#;
    let (heard, verdict) = listen(Claude, notice, AgentExit::Stopped);
    assert!(
        matches!(&heard[1], AgentEvent::RateLimited { wait: Some(2), .. }),
        "{heard:?}"
    );
    assert!(matches!(
        verdict.outcome,
        AgentOutcome::RateLimited { wait: Some(2), .. }
    ));
    let other = r#"{"type":"system","subtype":"api_retry","error":"server_error","attempt":1}"#;
    let (heard, verdict) = listen(Claude, other, AgentExit::Stopped);
    assert_eq!(
        heard,
        [AgentEvent::Retrying {
            why: "server_error".to_owned()
        }]
    );
    assert_eq!(verdict.outcome, AgentOutcome::Interrupted);
    // After the agent continues, the limit has ended.
    check(
        Claude,
        &format!("{notice}\n{CLAUDE_WORK}"),
        AgentExit::Stopped,
        "interrupted",
    );
    check(
        Claude,
        &format!("{notice}\n{}", claude(r#""is_error":false"#)),
        OK,
        "done",
    );
}

#[test]
fn arrays_of_events_are_read_too() {
    let events = claude(r#""is_error":false,"result":"All [done], {ok} \"]\".""#);
    let lines: Vec<&str> = events.lines().collect();
    let one_line = format!("[{}]", lines.join(","));
    let line_each = format!("[\n{}\n]", lines.join(",\n"));
    let values: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let laid_out = serde_json::to_string_pretty(&values).unwrap();
    for output in [&one_line, &line_each, &laid_out] {
        for format in [Claude, Qwen] {
            let verdict = check(format, output, OK, "done");
            assert_eq!(verdict.final_message, "All [done], {ok} \"]\".", "{output}");
            assert_eq!(verdict.session.as_deref(), Some("s-1"));
        }
    }
    // A cut output still has its session, but no success.
    let verdict = check(Claude, &one_line[..one_line.len() - 20], OK, "broken");
    assert_eq!(verdict.session.as_deref(), Some("s-1"));
}

#[test]
fn an_object_that_is_never_closed_hides_no_event() {
    let output = format!("{{\n  \"cut\": [\n{}", claude(r#""is_error":false"#));
    check(Claude, &output, OK, "done");
}

pub(crate) const CODEX_WORK: &str = r#"{"type":"thread.started","thread_id":"t-9"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"1","type":"command_execution","command":"cargo test","status":"in_progress"}}
{"type":"item.completed","item":{"id":"2","type":"file_change","changes":[{"path":"src/a.rs","kind":"add"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"3","type":"error","message":"a mere warning"}}
{"type":"item.completed","item":{"id":"4","type":"agent_message","text":"Added a.rs."}}
"#;

#[test]
fn codex_is_done_when_its_turn_completes() {
    let output = format!(
        "Reading additional input from stdin...\n{CODEX_WORK}{}",
        r#"{"type":"turn.completed","usage":{"input_tokens":500,"cached_input_tokens":400,"output_tokens":60}}"#
    );
    let verdict = check(Codex, &output, OK, "done");
    assert_eq!(verdict.final_message, "Added a.rs.");
    assert_eq!(verdict.session.as_deref(), Some("t-9"));
    assert_eq!(
        (
            verdict.usage.tokens_in,
            verdict.usage.tokens_out,
            verdict.usage.cost_usd
        ),
        (Some(500), Some(60), None)
    );
    let (heard, _) = listen(Codex, &output, OK);
    assert!(heard.contains(&AgentEvent::Tool {
        name: "command_execution".to_owned(),
        about: "cargo test".to_owned()
    }));
    let notice = "2026-11-16T08:41:55.948854Z ERROR codex_core::tools::router: error=patch rejected: read-only sandbox";
    let verdict = check(Codex, &format!("{output}\n{notice}\n"), OK, "failed denied to it");
    assert_eq!(verdict.denials, ["patch rejected: read-only sandbox"]);
}

#[test]
fn codex_fails_in_these_ways() {
    let failed = |text: &str| {
        let notice = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
        let error = serde_json::json!({"type": "turn.failed", "error": {"message": text}});
        format!("{CODEX_WORK}{notice}\n{error}\n")
    };
    check(
        Codex,
        &failed("exceeded retry limit, last status: 429 Too Many Requests"),
        ONE,
        "limited",
    );
    check(
        Codex,
        &failed("Rate limit exceeded. Please try again in 3s."),
        ONE,
        "limited 3 ",
    );
    check(
        Codex,
        &failed("You’ve hit your usage limit. Please try again at 7:15 PM."),
        ONE,
        "limited usage limit",
    );
    check(
        Codex,
        &failed("We're currently experiencing high demand"),
        ONE,
        "limited",
    );
    check(
        Codex,
        &failed("unexpected status 529 <unknown status code>: busy, url: http://127.0.0.1:1/v1/responses"),
        ONE,
        "limited status 529",
    );
    check(Codex, &failed("unexpected status 401 Unauthorized"), ONE, "broken 401");
    check(
        Codex,
        &failed("stream disconnected before completion"),
        ONE,
        "broken stream disconnected",
    );
    check(
        Codex,
        &failed("Missing environment variable: `KEY`"),
        ONE,
        "broken Missing environment",
    );
    check(Codex, &failed(""), ONE, "broken without saying which");
    let offline = format!(
        "{CODEX_WORK}{}",
        r#"{"type":"error","message":"Reconnecting... waiting for network"}"#
    );
    check(Codex, &offline, ONE, "broken waiting for network");
    check(Codex, &offline, AgentExit::Stopped, "interrupted");
    check(
        Codex,
        "error: unexpected argument '--bogus' found\n",
        AgentExit::Code(2),
        "broken unexpected argument",
    );
    check(
        Codex,
        "Error: input_too_large: more than 1048576 characters\n",
        ONE,
        "broken input_too_large",
    );
    let (heard, _) = listen(Codex, &failed("x"), ONE);
    assert!(heard.contains(&AgentEvent::Retrying {
        why: "Reconnecting... 1/5".to_owned()
    }));
}

pub(crate) const GEMINI_WORK: &str = r#"{"type":"init","session_id":"g-1","model":"m"}
{"type":"message","role":"user","content":"do it"}
{"type":"message","role":"assistant","content":"Let me look.","delta":true}
{"type":"tool_use","tool_name":"write_file","tool_id":"1","parameters":{"file_path":"b.txt","content":"x"}}
{"type":"tool_result","tool_id":"1","status":"success"}
{"type":"message","role":"assistant","content":"Wrote ","delta":true}
{"type":"message","role":"assistant","content":"b.txt.","delta":true}
"#;

#[test]
fn gemini_is_done_when_its_status_is_success() {
    let result = r#"{"type":"result","status":"success","stats":{"input_tokens":7,"output_tokens":8}}"#;
    let verdict = check(Gemini, &format!("{GEMINI_WORK}{result}"), OK, "done");
    assert_eq!(verdict.final_message, "Wrote b.txt.");
    assert_eq!(verdict.session.as_deref(), Some("g-1"));
    assert_eq!((verdict.usage.tokens_in, verdict.usage.tokens_out), (Some(7), Some(8)));
    let (heard, _) = listen(Gemini, GEMINI_WORK, OK);
    assert_eq!(heard.last(), Some(&AgentEvent::Text("Wrote b.txt.".to_owned())));
    check(Gemini, &format!("{GEMINI_WORK}{result}"), ONE, "broken");
}

#[test]
fn gemini_fails_in_these_ways() {
    let error = |text: &str| {
        let result =
            serde_json::json!({"type": "result", "status": "error", "error": {"type": "Error", "message": text}});
        format!("{GEMINI_WORK}{result}\n")
    };
    let attempts = "Attempt 1 failed with status 429. Retrying with backoff...\n";
    check(
        Gemini,
        &format!("{attempts}{GEMINI_WORK}"),
        AgentExit::Code(173),
        "limited 429",
    );
    check(
        Gemini,
        &error("Suggested retry after 3600s."),
        AgentExit::Code(173),
        "limited 3600",
    );
    check(
        Gemini,
        &error("You have exhausted your daily quota"),
        AgentExit::Code(173),
        "limited daily quota",
    );
    check(Gemini, &error("bad key"), AgentExit::Code(145), "broken bad key");
    check(Gemini, &error("internal"), AgentExit::Code(244), "broken internal");
    check(Gemini, "", AgentExit::Code(244), "broken status 500");
    check(
        Gemini,
        "Please set an auth method\n",
        AgentExit::Code(41),
        "broken not logged in: Please set",
    );
    check(
        Gemini,
        "FatalTurnLimitedError: enough\n",
        AgentExit::Code(53),
        "failed limit of turns",
    );
    check(Gemini, &error("empty answer"), OK, "broken empty answer");
    // The error may be in a separate event.
    let apart = r#"{"type":"error","severity":"error","message":"Model stream ended without a finish reason."}
{"type":"result","status":"error","stats":{}}"#;
    check(
        Gemini,
        &format!("{GEMINI_WORK}{apart}"),
        OK,
        "broken without a finish reason",
    );
    check(Gemini, &error("error inside a stream"), OK, "broken");
    check(Gemini, &error("not JSON"), ONE, "broken not JSON");
    check(Gemini, GEMINI_WORK, OK, "broken it ended without a result");
    check(Gemini, attempts, AgentExit::Stopped, "limited 429");
}

pub(crate) fn opencode_step(reason: &str, tokens: u64) -> String {
    format!(
        "{{\"type\":\"step_finish\",\"sessionID\":\"o-1\",\"part\":{{\"reason\":\"{reason}\",\"cost\":0.5,\"tokens\":{{\"input\":{tokens},\"output\":{tokens}}}}}}}\n"
    )
}

pub(crate) const OPENCODE_WORK: &str = r#"{"type":"step_start","sessionID":"o-1","part":{}}
{"type":"tool_use","sessionID":"o-1","part":{"tool":"write","state":{"status":"completed","input":{"filePath":"c.txt"}}}}
{"type":"text","sessionID":"o-1","part":{"text":"Wrote c.txt."}}
"#;

#[test]
fn opencode_is_done_when_its_last_step_stops() {
    let output = format!(
        "{OPENCODE_WORK}{}{OPENCODE_WORK}{}",
        opencode_step("tool-calls", 5),
        opencode_step("stop", 6)
    );
    let verdict = check(Opencode, &output, OK, "done");
    assert_eq!(verdict.final_message, "Wrote c.txt.");
    assert_eq!(verdict.session.as_deref(), Some("o-1"));
    assert_eq!(
        (verdict.usage.tokens_in, verdict.usage.tokens_out),
        (Some(11), Some(11))
    );
    assert_eq!(verdict.usage.cost_usd, Some(1.0));
    check(
        Opencode,
        &format!("{OPENCODE_WORK}{}", opencode_step("tool-calls", 5)),
        OK,
        "broken it ended without a result",
    );
    check(
        Opencode,
        &format!("{output}{OPENCODE_WORK}"),
        OK,
        "broken it ended without a result",
    );
}

#[test]
fn opencode_fails_in_these_ways() {
    let error =
        |error: &str| format!("{OPENCODE_WORK}{{\"type\":\"error\",\"sessionID\":\"o-1\",\"error\":{error}}}\n");
    let limit = r#"{"name":"APIError","data":{"statusCode":429,"isRetryable":true,"responseHeaders":{"retry-after":"2"},"message":"slow down"}}"#;
    check(Opencode, &error(limit), ONE, "limited 2 slow down");
    let inside = r#"{"name":"UnknownError","data":{"message":"Rate limit reached"}}"#;
    check(Opencode, &error(inside), ONE, "limited Rate limit");
    check(
        Opencode,
        &error(r#"{"name":"APIError","data":{"statusCode":401,"message":"no key"}}"#),
        ONE,
        "broken no key",
    );
    check(
        Opencode,
        &error(r#"{"name":"APIError","data":{"statusCode":500}}"#),
        ONE,
        "broken APIError",
    );
    let offline = r#"{"name":"UnknownError","data":{"message":"Cannot connect to API"}}"#;
    check(Opencode, &error(offline), ONE, "broken Cannot connect");
    check(
        Opencode,
        &error(r#"{"name":"MessageAbortedError","data":{}}"#),
        ONE,
        "interrupted",
    );
    check(Opencode, &opencode_step("length", 5), OK, "failed cut");
    check(Opencode, &opencode_step("unknown", 0), OK, "broken makes sense");
    let rejected = r#"{"type":"tool_use","part":{"tool":"bash","state":{"status":"error","error":"The user rejected permission to use it."}}}"#;
    check(
        Opencode,
        &format!("{rejected}\n{}", opencode_step("stop", 1)),
        OK,
        "failed bash",
    );
    // It stops then without another event.
    let colours = "\u{1b}[93m\u{1b}[1m! \u{1b}[0mpermission requested: bash (make); auto-rejecting";
    let given_up = format!("{colours}\n{rejected}\n{}", opencode_step("tool-calls", 1));
    check(Opencode, &given_up, OK, "failed tools were denied to it: bash");
    check(Opencode, &given_up, AgentExit::Stopped, "interrupted");
}

#[test]
fn reasons_have_no_colours() {
    let output = "\u{1b}[93m\u{1b}[1m! \u{1b}[0mno such \u{1b}[4mmodel\u{1b}[\n";
    let verdict = check(Opencode, output, ONE, "broken ! no such model");
    assert!(matches!(verdict.outcome, AgentOutcome::Broken { why } if !why.contains('\u{1b}')));
}

#[test]
fn empty_steps_of_opencode_are_detected() {
    let output = format!("{OPENCODE_WORK}{}", opencode_step("unknown", 0)).repeat(6);
    let (heard, verdict) = listen(Opencode, &output, AgentExit::Stopped);
    assert_eq!(heard.iter().filter(|heard| **heard == AgentEvent::Looping).count(), 1);
    assert!(matches!(verdict.outcome, AgentOutcome::Broken { why } if why.contains("in a loop")));
    check(Opencode, &format!("{output}{}", opencode_step("stop", 3)), OK, "done");
}

#[test]
fn qwen_has_its_own_signs() {
    let result = r#""subtype":"success","is_error":false,"result":"Done it.","usage":{"input_tokens":90,"cache_read_input_tokens":80,"output_tokens":9}"#;
    let verdict = check(Qwen, &claude(result), OK, "done");
    assert_eq!(
        (
            verdict.usage.tokens_in,
            verdict.usage.tokens_out,
            verdict.usage.cost_usd
        ),
        (Some(90), Some(9), None)
    );
    assert_eq!(verdict.final_message, "Done it.");
    let error = |text: &str| {
        claude(&format!(
            r#""subtype":"error_during_execution","is_error":true,"error":{{"message":"{text}"}}"#
        ))
    };
    check(Qwen, &error("[API Error: 401 wrong key]"), ONE, "broken 401");
    check(Qwen, &error("[API Error: 500 oops]"), ONE, "broken 500");
    check(
        Qwen,
        &error("[API Error: Connection error.]"),
        ONE,
        "broken Connection error",
    );
    check(Qwen, &error("[API Error: 429 quota]"), ONE, "limited 429");
    check(Qwen, CLAUDE_WORK, AgentExit::Code(53), "failed limit of turns");
    check(Qwen, CLAUDE_WORK, AgentExit::Code(55), "failed tool calls or of time");
    check(
        Qwen,
        "estimate 502k tokens > hard limit 177k\n",
        ONE,
        "broken hard limit",
    );
    let long = r#"{"type":"system","subtype":"retry","delayMs":60000,"attempt":1}"#;
    check(Qwen, long, AgentExit::Stopped, "limited 60 ");
    let nested =
        r#"{"type":"system","subtype":"retry","data":{"reason":"retry","attempt":1,"maxRetries":10,"delayMs":60000}}"#;
    check(Qwen, nested, AgentExit::Stopped, "limited 60 ");
    let short = r#"{"type":"system","subtype":"retry","delayMs":900,"attempt":1}"#;
    check(Qwen, short, AgentExit::Stopped, "interrupted");
    let stderr = "Retrying in 60s (attempt 1/10): [API Error: 429 too fast]\n";
    check(Qwen, stderr, AgentExit::Stopped, "limited 60 ");
}

pub(crate) const AIDER_WORK: &str = "Aider v0.86\nhello.py\nTokens: 2.1k sent, 89 received. Cost: $0.01 message, $0.01 session.\n\
                          Applied edit to hello.py\nCommit 1a2b3c4 feat: Add hello\n\
                          Tokens: 1,000 sent, 11 received. Cost: $0.02 message, $0.03 session.\n";

#[test]
fn aider_is_done_when_it_applied_an_edit() {
    let verdict = check(Aider, AIDER_WORK, OK, "done");
    assert_eq!(
        (verdict.usage.tokens_in, verdict.usage.tokens_out),
        (Some(3100), Some(100))
    );
    assert_eq!(verdict.usage.cost_usd, Some(0.03));
    assert!(verdict.final_message.contains("Applied edit to hello.py"));
    check(
        Aider,
        "I would not change anything.\nTokens: 1k sent, 5 received.\n",
        OK,
        "failed no edit",
    );
    check(Aider, "", OK, "failed no edit");
    check(Aider, "Commit the change yourself.\n", OK, "failed no edit");
    check(Aider, "Commit 1a2b3c4 fix: It\n", OK, "done");
    check(
        Aider,
        "usage: aider\naider: error: unrecognized arguments\n",
        AgentExit::Code(2),
        "broken error",
    );
}

#[test]
fn failures_of_aider_are_found_despite_exit_status_zero() {
    let limit = "litellm.RateLimitError: RateLimitError: too fast\nRetrying in 2.0 seconds...\n";
    check(Aider, limit, OK, "limited RateLimitError");
    check(Aider, &format!("{limit}{AIDER_WORK}"), OK, "done");
    check(Aider, &format!("{AIDER_WORK}{limit}"), OK, "limited");
    check(Aider, limit, AgentExit::Stopped, "limited");
    for error in [
        "BadRequestError: 401",
        "InternalServerError: 500",
        "APIConnectionError: refused",
    ] {
        check(Aider, &format!("litellm.{error}\n"), OK, &format!("broken {error}"));
    }
    check(Aider, "see litellm.ai for help\n", OK, "failed no edit");
}

#[test]
fn plain_commands_are_judged_by_their_exit_status() {
    let verdict = check(Plain, "step 1\nstep 2\n", OK, "done");
    assert_eq!(verdict.final_message, "step 1\nstep 2");
    check(
        Plain,
        "it is too hard\n",
        AgentExit::Code(3),
        "failed exit status 3: it is too hard",
    );
    check(Plain, "sh: nope: not found\n", AgentExit::Code(127), "broken not found");
    check(Plain, "HTTP 429 Too Many Requests, retry after 5s\n", ONE, "limited 5 ");
    check(Plain, "HTTP 429 Too Many Requests\n", OK, "done");
    check(
        Plain,
        "test rate_limit ... FAILED\n1 of 9 tests failed\n",
        ONE,
        "failed exit status 1",
    );
}

#[test]
fn format_names_round_trip() {
    for format in EventFormat::ALL {
        assert_eq!(EventFormat::named(format.as_str()), Some(*format));
    }
    assert_eq!(EventFormat::named("Claude"), None);
}

/// How each agent distinguishes a provider's rate limit, a failed task, and a broken setup.
#[test]
fn limits_failures_and_broken_agents_are_distinguished() {
    let result = |words: &str| format!("{{\"type\":\"result\",{words}}}\n");
    let api = |status: &str, text: &str| {
        result(&format!(
            r#""subtype":"success","is_error":true,"api_error_status":{status},"result":"{text}""#
        ))
    };
    let turn = |text: &str| format!("{{\"type\":\"turn.failed\",\"error\":{{\"message\":\"{text}\"}}}}\n");
    let status =
        |text: &str| format!("{{\"type\":\"result\",\"status\":\"error\",\"error\":{{\"message\":\"{text}\"}}}}\n");
    let error =
        |data: &str| format!("{{\"type\":\"error\",\"error\":{{\"name\":\"APIError\",\"data\":{{{data}}}}}}}\n");
    let qwen = |text: &str| result(&format!(r#""is_error":true,"error":{{"message":"{text}"}}"#));
    let retry = r#"{"type":"system","subtype":"retry","delayMs":60000,"message":"later"}"#;
    let code = AgentExit::Code;
    let cases = [
        (Claude, api("429", "API Error: Rate limited"), ONE, "limited"),
        (Claude, api("529", "API Error: Overloaded"), ONE, "limited"),
        (Claude, api("429", "retry after 3600 seconds"), ONE, "limited 3600 "),
        (Claude, api("401", "API Error: 401"), ONE, "broken"),
        (Claude, api("403", "API Error: 403"), ONE, "broken"),
        (Claude, api("400", "API Error: 400"), ONE, "broken"),
        (Claude, api("null", "API Error: socket hang up"), ONE, "broken"),
        (Claude, api("null", "Not logged in"), ONE, "broken"),
        (Claude, String::new(), OK, "broken"),
        (
            Claude,
            result(r#""subtype":"error_max_turns","is_error":true"#),
            ONE,
            "failed",
        ),
        (
            Claude,
            result(r#""subtype":"error_max_budget_usd","is_error":true"#),
            ONE,
            "failed",
        ),
        (
            Claude,
            result(r#""is_error":false,"permission_denials":["Write"]"#),
            OK,
            "failed",
        ),
        (Codex, turn("last status: 429 Too Many Requests"), ONE, "limited"),
        (Codex, turn("rate limit exceeded, try again in 3s"), ONE, "limited 3 "),
        (
            Codex,
            turn("You’ve hit your usage limit … try again at 7:15"),
            ONE,
            "limited",
        ),
        (Codex, turn("We're currently experiencing high demand"), ONE, "limited"),
        (Codex, turn("unexpected status 401 Unauthorized"), ONE, "broken"),
        (Codex, turn("stream disconnected before completion"), ONE, "broken"),
        (Codex, turn("Missing environment variable: `KEY`"), ONE, "broken"),
        (Codex, "error: unexpected argument\n".to_owned(), code(2), "broken"),
        (Gemini, status("Suggested retry after 60s."), code(173), "limited 60 "),
        (
            Gemini,
            "Attempt 1 failed with status 429\n".to_owned(),
            code(173),
            "limited",
        ),
        (Gemini, status("exhausted your daily quota"), code(173), "limited"),
        (Gemini, status("bad key"), code(145), "broken"),
        (Gemini, "no auth\n".to_owned(), code(41), "broken"),
        (Gemini, status("oops"), code(244), "broken"),
        (Gemini, status("empty stream"), OK, "broken"),
        (Gemini, "enough turns\n".to_owned(), code(53), "failed"),
        (
            Opencode,
            error(r#""statusCode":429,"responseHeaders":{"retry-after":"7"}"#),
            ONE,
            "limited 7 ",
        ),
        (Opencode, error(r#""message":"Rate limit reached""#), ONE, "limited"),
        (Opencode, error(r#""statusCode":401,"message":"no key""#), ONE, "broken"),
        (Opencode, error(r#""statusCode":503,"message":"down""#), ONE, "broken"),
        (Opencode, error(r#""message":"Cannot connect to API""#), ONE, "broken"),
        (Qwen, retry.to_owned(), AgentExit::Stopped, "limited 60 "),
        (
            Qwen,
            "Retrying in 60s (attempt 1/10): [API Error: 429 x]\n".to_owned(),
            AgentExit::Stopped,
            "limited 60 ",
        ),
        (Qwen, qwen("[API Error: 429 x]"), ONE, "limited"),
        (Qwen, qwen("[API Error: 401 x]"), ONE, "broken"),
        (Qwen, qwen("[API Error: 503 x]"), ONE, "broken"),
        (Qwen, qwen("[API Error: Connection error.]"), ONE, "broken"),
        (Qwen, String::new(), code(53), "failed"),
        (Qwen, String::new(), code(55), "failed"),
        (Aider, "litellm.RateLimitError: slow down\n".to_owned(), OK, "limited"),
        (Aider, "litellm.BadRequestError: no key\n".to_owned(), OK, "broken"),
        (Aider, "litellm.InternalServerError: oops\n".to_owned(), OK, "broken"),
        (Aider, "I would not change anything.\n".to_owned(), OK, "failed"),
    ];
    for (format, output, exit, expected) in cases {
        check(format, &output, exit, expected);
    }
}
