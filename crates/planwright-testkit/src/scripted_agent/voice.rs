//! The output of agents, event by event, as Claude Code, Codex, opencode and Gemini CLI print it.

use std::io::{self, Write};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::conversation::ModelFailure;
use crate::model_server::Wire;

/// How often opencode retries after an empty answer. The real one never stops.
const MAX_ROUNDS: usize = 200;

/// The duration of such a retry.
const ROUND: Duration = Duration::from_millis(10);

/// Prints the events of one command line.
pub(super) struct EventPrinter<'o> {
    wire: Wire,
    out: &'o mut dyn Write,
    n_tools: u64,
}

impl<'o> EventPrinter<'o> {
    pub(super) fn new(wire: Wire, out: &'o mut dyn Write) -> Self {
        EventPrinter { wire, out, n_tools: 0 }
    }

    fn say(&mut self, events: &[Value]) -> io::Result<()> {
        for event in events {
            writeln!(self.out, "{event}")?;
        }
        self.out.flush()
    }

    pub(super) fn begin(&mut self) -> io::Result<()> {
        let events = match self.wire {
            Wire::Anthropic => vec![json!({"type": "system", "subtype": "init", "session_id": "s-1"})],
            Wire::Responses => vec![
                json!({"type": "thread.started", "thread_id": "s-1"}),
                json!({"type": "turn.started"}),
            ],
            Wire::Chat => Vec::new(),
            Wire::Gemini => vec![json!({"type": "init", "session_id": "s-1", "model": "some-model"})],
        };
        self.say(&events)
    }

    pub(super) fn tool(&mut self, name: &str, input: &Value, result: &str, is_error: bool) -> io::Result<()> {
        self.n_tools += 1;
        let id = format!("call_{}", self.n_tools);
        let about = input["path"].as_str().or(input["command"].as_str()).unwrap_or_default();
        let events = match self.wire {
            Wire::Anthropic => {
                let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
                let result = json!({"type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error});
                vec![
                    json!({"type": "assistant", "session_id": "s-1", "message": {"content": [call]}}),
                    json!({"type": "user", "session_id": "s-1", "message": {"content": [result]}}),
                ]
            }
            Wire::Responses if name == "write" => {
                let changes = json!([{"path": about, "kind": "add"}]);
                let item = json!({"id": id, "type": "file_change", "changes": changes, "status": "completed"});
                vec![json!({"type": "item.completed", "item": item})]
            }
            Wire::Responses => {
                let item = |status: &str| {
                    json!({"id": id, "type": "command_execution", "command": about, "aggregated_output": result,
                        "status": status})
                };
                let status = if is_error { "failed" } else { "completed" };
                vec![
                    json!({"type": "item.started", "item": item("in_progress")}),
                    json!({"type": "item.completed", "item": item(status)}),
                ]
            }
            Wire::Chat => {
                let status = if is_error { "error" } else { "completed" };
                let state = json!({"status": status, "input": input, "output": result});
                let part = json!({"type": "tool", "tool": name, "callID": id, "state": state});
                vec![
                    self.step("step_start", json!({"type": "step-start"})),
                    self.step("tool_use", part),
                    self.step_finish("tool-calls", 1),
                ]
            }
            Wire::Gemini => {
                let status = if is_error { "error" } else { "success" };
                vec![
                    json!({"type": "tool_use", "tool_name": name, "tool_id": id, "parameters": input}),
                    json!({"type": "tool_result", "tool_id": id, "status": status, "output": result}),
                ]
            }
        };
        self.say(&events)
    }

    pub(super) fn done(&mut self, text: &str) -> io::Result<i32> {
        let n_turns = self.n_tools + 1;
        let events = match self.wire {
            Wire::Anthropic => {
                let words = json!({"type": "text", "text": text});
                vec![
                    json!({"type": "assistant", "session_id": "s-1", "message": {"content": [words]}}),
                    json!({
                        "type": "result",
                        "subtype": "success",
                        "is_error": false,
                        "terminal_reason": "completed",
                        "session_id": "s-1",
                        "result": text,
                        "total_cost_usd": 0.01,
                        "permission_denials": [],
                        "usage": {"input_tokens": 11 * n_turns, "output_tokens": 7 * n_turns}
                    }),
                ]
            }
            Wire::Responses => vec![
                json!({"type": "item.completed", "item": {"id": "last", "type": "agent_message", "text": text}}),
                json!({
                    "type": "turn.completed",
                    "usage": {"input_tokens": 11 * n_turns, "output_tokens": 7 * n_turns}
                }),
            ],
            Wire::Chat => vec![
                self.step("step_start", json!({"type": "step-start"})),
                self.step("text", json!({"type": "text", "text": text})),
                self.step_finish("stop", 1),
            ],
            Wire::Gemini => vec![
                json!({"type": "message", "role": "assistant", "content": text, "delta": true}),
                json!({
                    "type": "result",
                    "status": "success",
                    "stats": {"input_tokens": 11 * n_turns, "output_tokens": 7 * n_turns}
                }),
            ],
        };
        self.say(&events)?;
        Ok(0)
    }

    /// Prints a failure in each agent's form, and returns the exit code.
    pub(super) fn failed(&mut self, failure: &ModelFailure) -> io::Result<i32> {
        match self.wire {
            Wire::Anthropic => self.claude_failed(failure),
            Wire::Responses => self.codex_failed(failure),
            Wire::Chat => self.opencode_failed(failure),
            Wire::Gemini => self.gemini_failed(failure),
        }
    }

    fn claude_failed(&mut self, failure: &ModelFailure) -> io::Result<i32> {
        let (status, text) = match failure {
            ModelFailure::Status {
                status: 401, message, ..
            } => (json!(401), format!("Failed to authenticate. API Error: 401 {message}")),
            ModelFailure::Status { status, message, .. } => (
                json!(status),
                format!("API Error: Request rejected ({status}) · {message}"),
            ),
            ModelFailure::Unreachable(why) => (Value::Null, format!("API Error: Connection error. {why}")),
            ModelFailure::Empty => (Value::Null, "API Error: the answer is empty or malformed".to_owned()),
        };
        self.say(&[json!({
            "type": "result",
            "subtype": "success",
            "is_error": true,
            "terminal_reason": "api_error",
            "api_error_status": status,
            "session_id": "s-1",
            "result": text,
            "total_cost_usd": 0,
            "permission_denials": [],
            "usage": {"input_tokens": 0, "output_tokens": 0}
        })])?;
        Ok(1)
    }

    fn codex_failed(&mut self, failure: &ModelFailure) -> io::Result<i32> {
        let text = match failure {
            ModelFailure::Status { status: 429, .. } => {
                "exceeded retry limit, last status: 429 Too Many Requests".to_owned()
            }
            ModelFailure::Status { status, message, .. } => format!("unexpected status {status}: {message}"),
            ModelFailure::Unreachable(why) => format!("stream disconnected before completion: {why}"),
            ModelFailure::Empty => {
                "stream disconnected before completion: stream closed before response.completed".to_owned()
            }
        };
        self.say(&[
            json!({"type": "error", "message": text}),
            json!({"type": "turn.failed", "error": {"message": text}}),
        ])?;
        Ok(1)
    }

    /// Prints endless retries after an empty answer, as opencode does.
    fn opencode_failed(&mut self, failure: &ModelFailure) -> io::Result<i32> {
        let data = match failure {
            ModelFailure::Empty => {
                for _ in 0..MAX_ROUNDS {
                    let events = [
                        self.step("step_start", json!({"type": "step-start"})),
                        self.step_finish("unknown", 0),
                    ];
                    self.say(&events)?;
                    sleep(ROUND);
                }
                return Ok(1);
            }
            ModelFailure::Status {
                status,
                retry_after,
                message,
            } => json!({
                "message": message,
                "statusCode": status,
                "isRetryable": *status == 429,
                "responseHeaders": {"retry-after": retry_after}
            }),
            ModelFailure::Unreachable(why) => {
                json!({"message": format!("Cannot connect to API: {why}"), "isRetryable": true})
            }
        };
        let error = json!({"name": "APIError", "data": data});
        self.say(&[json!({"type": "error", "sessionID": "s-1", "error": error})])?;
        Ok(1)
    }

    /// Prints a failure of Gemini. Its exit code is the HTTP status modulo 256, and 0 for an empty answer.
    fn gemini_failed(&mut self, failure: &ModelFailure) -> io::Result<i32> {
        let stats = json!({"input_tokens": 0, "output_tokens": 0});
        let (text, exit) = match failure {
            ModelFailure::Status {
                status,
                retry_after,
                message,
            } => {
                let wait = retry_after.as_deref();
                let advice = wait.map_or_else(String::new, |wait| format!("\nSuggested retry after {wait}s."));
                (format!("[API Error: {message}{advice}]"), i32::from(*status % 256))
            }
            ModelFailure::Unreachable(why) => (format!("[API Error: {why}]"), 1),
            ModelFailure::Empty => {
                let message = "Model stream ended without a finish reason.";
                self.say(&[
                    json!({"type": "error", "severity": "error", "message": message}),
                    json!({"type": "result", "status": "error", "stats": stats}),
                ])?;
                return Ok(0);
            }
        };
        let error = json!({"type": "unknown", "message": text});
        self.say(&[json!({"type": "result", "status": "error", "error": error, "stats": stats})])?;
        Ok(exit)
    }

    /// Returns an event of opencode.
    fn step(&self, kind: &str, part: Value) -> Value {
        json!({"type": kind, "sessionID": "s-1", "part": part})
    }

    fn step_finish(&self, reason: &str, n_turns: u64) -> Value {
        let tokens = json!({"input": 11 * n_turns, "output": 7 * n_turns});
        self.step(
            "step_finish",
            json!({"type": "step-finish", "reason": reason, "tokens": tokens, "cost": 0}),
        )
    }
}
