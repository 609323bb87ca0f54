//! The JSON output of agents as text for people: messages, tools, errors, result. Other lines stay unchanged.

use planwright_verbs::text::{columns, count, cut, one_line};
use serde_json::Value;

use super::terminal::harmless_line;
use super::wrap::wrapped_lines;

/// Reads the output of an agent line by line.
#[derive(Default)]
pub(crate) struct AgentLog {
    pieces: String,
    /// The last text of the agent, which its result often repeats.
    last: String,
}

enum Event {
    Text(String),
    Piece(String),
    Tool(String, String),
    Error(String),
    /// The agent's status, and its final message.
    Result(String, String),
    /// A line in an unknown form, unchanged.
    Other(String),
    /// An event without output.
    Silent,
}

/// Keys of a tool's input that name its subject.
const ABOUT: [&str; 9] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "absolute_path",
    "path",
    "pattern",
    "query",
    "url",
];

impl AgentLog {
    /// Returns a line for people, as text without a final line break. None if nothing of it is shown.
    pub(crate) fn line(&mut self, line: &str, width: usize) -> Option<String> {
        let events = events_of(line.trim());
        let Some(events) = events else {
            let before = self.end(width);
            return joined(before, Some(as_written(line)));
        };
        let mut shown = None;
        for event in events {
            if let Event::Piece(piece) = &event {
                self.pieces.push_str(piece);
                continue;
            }
            let before = self.end(width);
            shown = joined(shown, before);
            match &event {
                Event::Text(text) => self.last.clone_from(text),
                Event::Result(_, reported) if reported.trim() != self.last.trim() => {
                    shown = joined(shown, drawn(&Event::Text(reported.clone()), width));
                }
                _ => {}
            }
            shown = joined(shown, drawn(&event, width));
        }
        shown
    }

    /// Returns the remaining text.
    pub(crate) fn end(&mut self, width: usize) -> Option<String> {
        let text = std::mem::take(&mut self.pieces);
        if !text.trim().is_empty() {
            self.last.clone_from(&text);
        }
        drawn(&Event::Text(text), width)
    }
}

fn joined(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}\n{second}")),
        (first, second) => first.or(second),
    }
}

fn drawn(event: &Event, width: usize) -> Option<String> {
    let line = |label: &str, words: &str| Some(wrapped_lines(&format!("{label}: {}", one_line(words)), width));
    match event {
        Event::Text(text) if text.trim().is_empty() => None,
        // Indented, so that no text looks like the line of a tool or of a result.
        Event::Text(text) => {
            let text = wrapped_lines(&as_written(text.trim()), width.saturating_sub(2));
            let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
            Some(lines.join("\n"))
        }
        Event::Other(text) => Some(as_written(text)),
        Event::Tool(name, about) => {
            let line = format!("tool: {} {}", one_line(name), one_line(about));
            let line = line.trim_end();
            // The cut counts characters: wide ones take two columns.
            let most = if columns(line) > line.chars().count() {
                width / 2
            } else {
                width
            };
            Some(cut(line, most))
        }
        Event::Error(words) => line("error", words),
        Event::Result(words, _) => line("result", words),
        Event::Piece(_) | Event::Silent => None,
    }
}

/// Returns the events of a line; none if it is no event of a known format.
fn events_of(line: &str) -> Option<Vec<Event>> {
    if !line.starts_with('{') {
        return None;
    }
    let event: Value = serde_json::from_str(line).ok()?;
    let kind = event.get("type")?.as_str()?;
    match kind {
        // Claude Code and Qwen Code.
        "assistant" => Some(blocks(&event)?.iter().map(assistant_block).collect()),
        "user" => Some(blocks(&event)?.iter().map(answer_block).collect()),
        "system" if matches!(text(&event, "subtype"), "" | "init") => Some(vec![Event::Silent]),
        "stream_event" | "rate_limit_event" => Some(vec![Event::Silent]),
        "result" => Some(vec![result(&event)]),
        // Codex.
        "thread.started" | "turn.started" | "item.started" | "item.updated" => Some(vec![Event::Silent]),
        "item.completed" => Some(vec![codex_item(event.get("item")?)]),
        "turn.completed" => Some(vec![Event::Result("the turn is complete".to_owned(), String::new())]),
        "turn.failed" => Some(vec![Event::Error(message_of(&event))]),
        // Gemini CLI.
        "init" if event.get("session_id").is_some() => Some(vec![Event::Silent]),
        "message" => Some(vec![gemini_message(&event)]),
        "tool_use" => Some(vec![tool_use(&event)]),
        "tool_result" => Some(vec![match text(&event, "status") {
            "error" => Event::Error(message_of(&event)),
            _ => Event::Silent,
        }]),
        // opencode.
        "text" => Some(vec![Event::Text(text(event.get("part")?, "text").to_owned())]),
        "step_start" | "step_finish" => Some(vec![Event::Silent]),
        "error" => Some(vec![Event::Error(message_of(&event))]),
        _ => None,
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a text without terminal control sequences. Text before a carriage return becomes a line of its own.
fn as_written(text: &str) -> String {
    let lines = text.split(['\n', '\r']).map(harmless_line);
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the blocks of a message; a plain text is one block. None without content.
fn blocks(event: &Value) -> Option<Vec<Value>> {
    match event.get("message")?.get("content")? {
        Value::Array(blocks) => Some(blocks.clone()),
        Value::String(text) => Some(vec![serde_json::json!({"type": "text", "text": text})]),
        _ => None,
    }
}

fn assistant_block(block: &Value) -> Event {
    match text(block, "type") {
        "text" => Event::Text(text(block, "text").to_owned()),
        "tool_use" => Event::Tool(text(block, "name").to_owned(), about(block.get("input"))),
        "thinking" | "redacted_thinking" => Event::Silent,
        _ => Event::Other(block.to_string()),
    }
}

/// Returns the error of a tool, if its result is one.
fn answer_block(block: &Value) -> Event {
    if block.get("is_error").and_then(Value::as_bool) != Some(true) {
        return Event::Silent;
    }
    Event::Error(match block.get("content") {
        Some(Value::Array(parts)) => parts
            .iter()
            .map(|part| text(part, "text"))
            .collect::<Vec<_>>()
            .join(" "),
        Some(Value::String(words)) => words.clone(),
        _ => "a tool failed".to_owned(),
    })
}

fn result(event: &Value) -> Event {
    let is_error = event.get("is_error").and_then(Value::as_bool) == Some(true)
        || !matches!(text(event, "status"), "" | "success");
    if is_error {
        let errors = event.get("errors").and_then(Value::as_array).into_iter().flatten();
        let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
        let words = match (text(event, "result"), errors.as_slice()) {
            ("", []) => message_of(event),
            ("", _) => errors.join("; "),
            (words, _) => words.to_owned(),
        };
        return Event::Error(match text(event, "subtype") {
            "" | "success" => words,
            kind => format!("{kind}: {words}"),
        });
    }
    let mut words = "success".to_owned();
    if let Some(turns) = event.get("num_turns").and_then(Value::as_u64) {
        words.push_str(&format!(", {}", count(turns, "turn")));
    }
    if let Some(cost) = event.get("total_cost_usd").and_then(Value::as_f64) {
        words.push_str(&format!(", ${cost:.2}"));
    }
    Event::Result(words, text(event, "result").to_owned())
}

fn codex_item(item: &Value) -> Event {
    match text(item, "type") {
        "agent_message" => Event::Text(text(item, "text").to_owned()),
        "reasoning" | "todo_list" => Event::Silent,
        "error" => Event::Error(message_of(item)),
        "file_change" => {
            let changes = item.get("changes").and_then(Value::as_array);
            let paths = changes.into_iter().flatten().map(|change| text(change, "path"));
            Event::Tool("file_change".to_owned(), paths.collect::<Vec<_>>().join(", "))
        }
        kind => {
            let exit = item.get("exit_code").and_then(Value::as_i64).filter(|code| *code != 0);
            let exit = exit.map_or_else(String::new, |code| format!(" (exit {code})"));
            Event::Tool(kind.to_owned(), format!("{}{exit}", about(Some(item))))
        }
    }
}

fn gemini_message(event: &Value) -> Event {
    let words = text(event, "content").to_owned();
    match text(event, "role") {
        "assistant" if event.get("delta").and_then(Value::as_bool) == Some(true) => Event::Piece(words),
        "assistant" => Event::Text(words),
        _ => Event::Silent,
    }
}

/// Parses the use of a tool in the output of Gemini CLI, or of opencode.
fn tool_use(event: &Value) -> Event {
    let Some(part) = event.get("part") else {
        return Event::Tool(text(event, "tool_name").to_owned(), about(event.get("parameters")));
    };
    let state = part.get("state");
    match state.map_or("", |state| text(state, "error")) {
        "" => Event::Tool(
            text(part, "tool").to_owned(),
            about(state.and_then(|state| state.get("input"))),
        ),
        error => Event::Error(format!("{}: {error}", text(part, "tool"))),
    }
}

/// Returns the subject of a tool's use.
fn about(input: Option<&Value>) -> String {
    let Some(input) = input else {
        return String::new();
    };
    let known = ABOUT.iter().map(|key| text(input, key)).find(|words| !words.is_empty());
    match known {
        Some(words) => words.to_owned(),
        None if input.as_object().is_some_and(serde_json::Map::is_empty) => String::new(),
        None => input.to_string(),
    }
}

fn message_of(event: &Value) -> String {
    let error = event.get("error");
    let data = error.and_then(|error| error.get("data"));
    let places = [data, error, Some(event)].into_iter().flatten();
    let mut found = places.flat_map(|place| ["message", "output", "name", "type"].map(|key| text(place, key)));
    found.find(|words| !words.is_empty()).unwrap_or("an error").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[&str], width: usize) -> Vec<String> {
        let mut log = AgentLog::default();
        let mut shown: Vec<String> = lines.iter().filter_map(|line| log.line(line, width)).collect();
        shown.extend(log.end(width));
        shown.join("\n").lines().map(str::to_owned).collect()
    }

    #[test]
    fn events_of_claude_are_shown_as_text() {
        let lines = [
            r#"{"type":"system","subtype":"init","session_id":"s"}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I will write it now."},{"type":"tool_use","name":"Bash","input":{"command":"cargo test --workspace"}}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":"exit 1\nno tests"}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"fine"}]}}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"num_turns":3,"total_cost_usd":0.25,"result":"Done."}"#,
            "not JSON\u{1b}[31m",
        ];
        assert_eq!(
            shown(&lines, 18),
            [
                "  I will write it",
                "  now.",
                "tool: Bash cargo…",
                "error: exit 1 no",
                "tests",
                "  Done.",
                "result: success, 3",
                "turns, $0.25",
                "not JSON"
            ]
        );
    }

    #[test]
    fn events_of_codex_are_shown_as_text() {
        let lines = [
            r#"{"type":"thread.started","thread_id":"t"}"#,
            r#"{"type":"item.started","item":{"type":"command_execution","command":"ls"}}"#,
            r#"{"type":"item.completed","item":{"type":"command_execution","command":"ls","exit_code":2}}"#,
            r#"{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"a.rs"},{"path":"b.rs"}]}}"#,
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}"#,
            r#"{"type":"turn.failed","error":{"message":"no quota"}}"#,
        ];
        let expected = [
            "tool: command_execution ls (exit 2)",
            "tool: file_change a.rs, b.rs",
            "  Done.",
            "error: no quota",
        ];
        assert_eq!(shown(&lines, 80), expected);
    }

    #[test]
    fn pieces_of_a_text_are_put_together() {
        let lines = [
            r#"{"type":"init","session_id":"s"}"#,
            r#"{"type":"message","role":"user","content":"Do it"}"#,
            r#"{"type":"message","role":"assistant","content":"I will ","delta":true}"#,
            r#"{"type":"message","role":"assistant","content":"write.","delta":true}"#,
            r#"{"type":"tool_use","tool_name":"write_file","parameters":{"file_path":"a.txt","content":"x"}}"#,
            r#"{"type":"tool_result","status":"success","output":"ok"}"#,
            r#"{"type":"result","status":"error","error":{"type":"FatalTurnLimitedError","message":"too many turns"}}"#,
            r#"{"level":"info"}"#,
        ];
        let expected = [
            "  I will write.",
            "tool: write_file a.txt",
            "error: too many turns",
            r#"{"level":"info"}"#,
        ];
        assert_eq!(shown(&lines, 80), expected);
    }

    #[test]
    fn nothing_that_an_agent_reports_is_hidden_or_forged() {
        let lines = [
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I deleted the tests\r all good"}]}}"#,
            r#"{"type":"assistant","message":{"content":"I could not do it"}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"result: success, $9.99"}]}}"#,
            r#"{"type":"system","subtype":"api_error","error":"SYSERR"}"#,
            r#"{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["too long"]}"#,
            "deleted\r ok",
        ];
        let expected = [
            "  I deleted the tests",
            "   all good",
            "  I could not do it",
            "  result: success, $9.99",
            r#"{"type":"system","subtype":"api_error","error":"SYSERR"}"#,
            "error: error_max_turns: too long",
            "deleted",
            " ok",
        ];
        assert_eq!(shown(&lines, 80), expected);
    }
}
