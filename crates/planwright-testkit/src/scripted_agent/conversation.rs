//! The messages between an agent and a model, in each of the wire formats.

use serde_json::{Value, json};

use crate::loopback::{Answered, post};
use crate::model_server::Wire;

/// An answer of a model.
pub(super) enum ModelReply {
    Text(String),
    Tool { name: String, input: Value },
}

/// Why a model gave no answer.
pub(super) enum ModelFailure {
    /// Its provider refused.
    Status {
        status: u16,
        retry_after: Option<String>,
        message: String,
    },
    /// There was no connection, or it was lost.
    Unreachable(String),
    /// Its answer was empty.
    Empty,
}

/// A tool that was used.
struct Use {
    name: String,
    input: Value,
    result: String,
}

/// A conversation so far. The server keeps no state, so every request contains all of it.
pub(super) struct Conversation<'c> {
    wire: Wire,
    url: &'c str,
    prompt: &'c str,
    uses: Vec<Use>,
}

impl<'c> Conversation<'c> {
    pub(super) fn new(wire: Wire, url: &'c str, prompt: &'c str) -> Self {
        Conversation {
            wire,
            url,
            prompt,
            uses: Vec::new(),
        }
    }

    /// Adds a tool that was used.
    pub(super) fn add(&mut self, name: String, input: Value, result: String) {
        self.uses.push(Use { name, input, result });
    }

    /// Asks the model what to do next.
    pub(super) fn ask(&self) -> Result<ModelReply, ModelFailure> {
        let path = match self.wire {
            Wire::Anthropic => "/v1/messages",
            Wire::Responses => "/v1/responses",
            Wire::Chat => "/v1/chat/completions",
            Wire::Gemini => "/v1beta/models/some-model:streamGenerateContent?alt=sse",
        };
        let answered = post(&format!("{}{path}", self.url), &self.request().to_string());
        let answered = answered.map_err(|error| ModelFailure::Unreachable(error.to_string()))?;
        if answered.status != 200 {
            return Err(refusal(&answered));
        }
        let events: Vec<Value> = answered
            .body
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
            .collect();
        said(self.wire, &events).ok_or(ModelFailure::Empty)
    }

    fn request(&self) -> Value {
        let names = ["write", "shell"];
        match self.wire {
            Wire::Anthropic => {
                let mut messages = vec![json!({"role": "user", "content": self.prompt})];
                messages.extend(self.exchange(|id, used| {
                    let call = json!({"type": "tool_use", "id": id, "name": used.name, "input": used.input});
                    let result = json!({"type": "tool_result", "tool_use_id": id, "content": used.result});
                    [
                        json!({"role": "assistant", "content": [call]}),
                        json!({"role": "user", "content": [result]}),
                    ]
                }));
                let tools = names.map(|name| json!({"name": name, "input_schema": {"type": "object"}}));
                json!({"model": "some-model", "max_tokens": 100, "stream": true, "tools": tools, "messages": messages})
            }
            Wire::Responses => {
                let mut input = vec![json!({"type": "message", "role": "user", "content": self.prompt})];
                input.extend(self.exchange(|id, used| {
                    [
                        json!({"type": "function_call", "call_id": id, "name": used.name, "arguments": used.input.to_string()}),
                        json!({"type": "function_call_output", "call_id": id, "output": used.result}),
                    ]
                }));
                let tools = names.map(|name| json!({"type": "function", "name": name}));
                json!({"model": "some-model", "stream": true, "tools": tools, "input": input})
            }
            Wire::Chat => {
                let mut messages = vec![json!({"role": "user", "content": self.prompt})];
                messages.extend(self.exchange(|id, used| {
                    let function = json!({"name": used.name, "arguments": used.input.to_string()});
                    let call = json!({"id": id, "type": "function", "function": function});
                    [
                        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
                        json!({"role": "tool", "tool_call_id": id, "content": used.result}),
                    ]
                }));
                let tools = names.map(|name| json!({"type": "function", "function": {"name": name}}));
                json!({"model": "some-model", "stream": true, "tools": tools, "messages": messages})
            }
            Wire::Gemini => {
                let mut contents = vec![json!({"role": "user", "parts": [{"text": self.prompt}]})];
                contents.extend(self.exchange(|_, used| {
                    let call = json!({"functionCall": {"name": used.name, "args": used.input}});
                    let output = json!({"output": used.result});
                    let result = json!({"functionResponse": {"name": used.name, "response": output}});
                    [
                        json!({"role": "model", "parts": [call]}),
                        json!({"role": "user", "parts": [result]}),
                    ]
                }));
                let functions = names.map(|name| json!({"name": name}));
                json!({"tools": [{"functionDeclarations": functions}], "contents": contents})
            }
        }
    }

    /// Returns two messages for each tool that was used.
    fn exchange(&self, message: impl Fn(String, &Use) -> [Value; 2]) -> Vec<Value> {
        let numbered = self.uses.iter().enumerate();
        numbered
            .flat_map(|(index, used)| message(format!("call_{}", index + 1), used))
            .collect()
    }
}

fn refusal(answered: &Answered) -> ModelFailure {
    let body: Value = serde_json::from_str(&answered.body).unwrap_or_default();
    ModelFailure::Status {
        status: answered.status,
        retry_after: answered.header("retry-after").map(str::to_owned),
        message: body["error"]["message"].as_str().unwrap_or("no reason").to_owned(),
    }
}

/// Parses the events of an answer; none without the format's final event.
fn said(wire: Wire, events: &[Value]) -> Option<ModelReply> {
    let of_type = |kind: &str| events.iter().find(|event| event["type"] == kind);
    match wire {
        Wire::Anthropic => {
            of_type("message_stop")?;
            let block = &of_type("content_block_start")?["content_block"];
            let delta = &of_type("content_block_delta")?["delta"];
            match block["name"].as_str() {
                Some(name) => tool(name, delta["partial_json"].as_str()?),
                None => text(&delta["text"]),
            }
        }
        Wire::Responses => {
            of_type("response.completed")?;
            let item = &of_type("response.output_item.done")?["item"];
            match item["name"].as_str() {
                Some(name) => tool(name, item["arguments"].as_str()?),
                None => text(&item["content"][0]["text"]),
            }
        }
        Wire::Chat => {
            let choices = || events.iter().map(|event| &event["choices"][0]);
            choices().find(|choice| choice["finish_reason"].is_string())?;
            let delta = &choices().next()?["delta"];
            let function = &delta["tool_calls"][0]["function"];
            match function["name"].as_str() {
                Some(name) => tool(name, function["arguments"].as_str()?),
                None => text(&delta["content"]),
            }
        }
        Wire::Gemini => {
            let part = &events.first()?["candidates"][0]["content"]["parts"][0];
            match part["functionCall"]["name"].as_str() {
                Some(name) => Some(ModelReply::Tool {
                    name: name.to_owned(),
                    input: part["functionCall"]["args"].clone(),
                }),
                None => text(&part["text"]),
            }
        }
    }
}

fn text(value: &Value) -> Option<ModelReply> {
    Some(ModelReply::Text(value.as_str()?.to_owned()))
}

fn tool(name: &str, input: &str) -> Option<ModelReply> {
    Some(ModelReply::Tool {
        name: name.to_owned(),
        input: serde_json::from_str(input).ok()?,
    })
}
