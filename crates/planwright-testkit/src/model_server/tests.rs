//! Tests of the server from a client's side.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use super::*;
use crate::loopback::{Answered, post};

/// A request in each format: its path, its content, and the request after a tool was used.
fn asks() -> Vec<(Wire, &'static str, Value, Value)> {
    let tools = json!([{"name": "write"}]);
    vec![
        (
            Wire::Anthropic,
            "/v1/messages?beta=true",
            json!({"model": "m", "stream": true, "tools": tools, "messages": [{"role": "user", "content": "Make it"}]}),
            json!({"model": "m", "stream": true, "tools": tools, "messages": [{"role": "user", "content": "Make it"},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "made"}]}]}),
        ),
        (
            Wire::Responses,
            "/v1/responses",
            json!({"model": "m", "stream": true, "tools": tools, "input": [{"type": "message", "content": "Make it"}]}),
            json!({"model": "m", "stream": true, "tools": tools, "input": [{"type": "message", "content": "Make it"},
                {"type": "custom_tool_call_output", "call_id": "x", "output": "made"}]}),
        ),
        (
            Wire::Chat,
            "/v1/chat/completions",
            json!({"model": "m", "stream": true, "tools": tools, "messages": [{"role": "user", "content": "Make it"}]}),
            json!({"model": "m", "stream": true, "tools": tools, "messages": [{"role": "user", "content": "Make it"},
                {"role": "tool", "tool_call_id": "x", "content": "made"}]}),
        ),
        (
            Wire::Gemini,
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            json!({"tools": tools, "contents": [{"role": "user", "parts": [{"text": "Make it"}]}]}),
            json!({"tools": tools, "contents": [{"role": "user", "parts": [{"text": "Make it"}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "write", "response": {"output": "made"}}}]}]}),
        ),
    ]
}

fn two_turns() -> ModelScenario {
    ModelScenario::script(vec![
        ModelAnswer::tool("write", json!({"path": "a.txt"})),
        ModelAnswer::text("All is made"),
    ])
}

#[track_caller]
fn ask(server: &ModelServer, path: &str, body: &Value) -> Answered {
    post(&(server.url("it") + path), &body.to_string()).expect("an answer")
}

#[test]
fn every_format_has_tool_calls_and_then_text() {
    let server = ModelServer::start().expect("a free port");
    server.add("it", two_turns());
    for (wire, path, first, second) in asks() {
        let tool = ask(&server, path, &first);
        assert_eq!(tool.header("content-type"), Some("text/event-stream"), "{wire:?}");
        assert!(
            tool.body.contains("write") && tool.body.contains("a.txt"),
            "{wire:?} {}",
            tool.body
        );
        let text = ask(&server, path, &second);
        assert!(
            text.body.contains("All is made") && !text.body.contains("a.txt"),
            "{wire:?} {}",
            text.body
        );
    }
    let requests = server.requests("it");
    let steps: Vec<(Wire, usize)> = requests.iter().map(|ask| (ask.wire, ask.n_results)).collect();
    let expected: Vec<(Wire, usize)> = Wire::ALL.iter().flat_map(|wire| [(*wire, 0), (*wire, 1)]).collect();
    assert_eq!(steps, expected);
    let second = requests.get(1).expect("there were eight");
    assert!(second.says("Make it") && second.says("made") && !second.says("broken"));
    assert_eq!(second.tool_names(), ["write"]);
}

#[test]
fn every_format_but_geminis_has_whole_answers_too() {
    let server = ModelServer::start().expect("a free port");
    server.add("it", two_turns());
    for (wire, path, mut first, _) in asks() {
        first["stream"] = json!(false);
        let path = path.replace(":stream", ":").replace("?alt=sse", "");
        let answered = ask(&server, &path.replace(":Gen", ":gen"), &first);
        let whole: Value = serde_json::from_str(&answered.body).expect("one object");
        assert!(whole.to_string().contains("a.txt"), "{wire:?} {whole}");
    }
}

#[test]
fn the_final_events_that_clients_require_are_sent() {
    let server = ModelServer::start().expect("a free port");
    server.add("it", ModelScenario::script(vec![ModelAnswer::text("ok")]));
    let closings = [
        "\"type\":\"message_stop\"",
        "\"type\":\"response.completed\"",
        "\"finish_reason\":\"stop\"",
        "\"finishReason\":\"STOP\"",
    ];
    for ((wire, path, first, _), closing) in asks().into_iter().zip(closings) {
        let body = ask(&server, path, &first).body;
        assert!(body.contains(closing), "{wire:?} {body}");
    }
}

#[test]
fn a_request_without_tools_gets_text() {
    let server = ModelServer::start().expect("a free port");
    server.add("it", two_turns());
    let title = ask(
        &server,
        "/v1/chat/completions",
        &json!({"messages": [], "stream": true}),
    );
    assert!(title.body.contains("A title"), "{}", title.body);
}

#[test]
fn errors_come_with_their_headers_and_first_answers_only_once() {
    let server = ModelServer::start().expect("a free port");
    server.add(
        "it",
        two_turns().after(vec![ModelAnswer::rate_limited(7), ModelAnswer::Empty]),
    );
    let (_, path, first, _) = asks().remove(0);
    let limited = ask(&server, path, &first);
    assert_eq!((limited.status, limited.header("retry-after")), (429, Some("7")));
    assert!(limited.body.contains("rate_limit_error"), "{}", limited.body);
    let empty = ask(&server, path, &first);
    assert_eq!((empty.status, empty.body.as_str()), (200, ""));
    assert!(ask(&server, path, &first).body.contains("a.txt"));
}

#[test]
fn a_connection_can_be_dropped() {
    let server = ModelServer::start().expect("a free port");
    server.add("it", ModelScenario::script(vec![ModelAnswer::Drop]));
    let (_, path, first, _) = asks().remove(0);
    assert!(post(&(server.url("it") + path), &first.to_string()).is_err());
}

#[test]
fn a_function_may_compute_the_answer_from_the_request() {
    let server = ModelServer::start().expect("a free port");
    let respond = |request: &ModelRequest| match request.says("it is broken") {
        true => ModelAnswer::text("mended"),
        false => ModelAnswer::text("a plan"),
    };
    server.add("it", ModelScenario::by(respond));
    let ask_with = |words: &str| {
        let body = json!({"tools": [{"name": "x"}], "messages": [{"role": "user", "content": words}]});
        ask(&server, "/v1/messages", &body).body
    };
    assert!(ask_with("Make a plan").contains("a plan"));
    assert!(ask_with("Repair it: it is broken").contains("mended"));
}

#[test]
fn other_requests_are_refused() {
    let server = ModelServer::start().expect("a free port");
    server.add("it", two_turns());
    let (_, path, first, _) = asks().remove(0);
    let elsewhere = server.url("nobody") + path;
    for url in [&elsewhere, &(server.url("it") + "/v1/models")] {
        let status = post(url, &first.to_string()).map(|answered| answered.status);
        assert_eq!(status.expect("an answer"), 404, "{url}");
    }
    let status = post(&(server.url("it") + path), "no JSON").map(|answered| answered.status);
    assert_eq!(status.expect("an answer"), 404);
}

/// Sends bytes, and returns the first line of the answer.
fn first_line(server: &ModelServer, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).expect("it listens");
    stream.write_all(bytes).expect("it reads");
    stream.shutdown(std::net::Shutdown::Write).expect("it is open");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn requests_are_bounded() {
    let server = ModelServer::start().expect("a free port");
    for (request, status) in [
        ("POST /s/it/v1/messages HTTP/1.1\r\n\r\n", "411"),
        ("POST / HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n", "413"),
        ("POST / HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n", "413"),
        ("POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nabc", "400"),
        ("POST / HTT", "400"),
        ("", "400"),
        ("GET /api/hello HTTP/1.1\r\n\r\n", "404"),
    ] {
        let line = first_line(&server, request.as_bytes());
        assert_eq!(line.split(' ').nth(1), Some(status), "{request:?}");
    }
    let endless = "x".repeat(70_000);
    assert_eq!(first_line(&server, endless.as_bytes()).split(' ').nth(1), Some("431"));
}

#[test]
fn a_server_that_is_dropped_listens_no_more() {
    let server = ModelServer::start().expect("a free port");
    let address = server.address;
    assert!(address.ip().is_loopback());
    drop(server);
    assert!(TcpStream::connect(address).is_err());
}
