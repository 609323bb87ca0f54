//! The four wire formats, the questions of a request, and parts of answers that formats share.

use serde_json::Value;

/// A wire format of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, which many other providers use too.
    Chat,
    /// Gemini's `generateContent`.
    Gemini,
}

impl Wire {
    /// All formats.
    pub const ALL: [Wire; 4] = [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini];

    /// Returns the format of a path.
    pub(super) fn of(path: &str) -> Option<Wire> {
        let ends = [
            ("/v1/messages", Wire::Anthropic),
            ("/responses", Wire::Responses),
            ("/chat/completions", Wire::Chat),
            (":streamGenerateContent", Wire::Gemini),
            (":generateContent", Wire::Gemini),
        ];
        let found = ends.iter().find(|(end, _)| path.ends_with(end));
        found.map(|&(_, wire)| wire)
    }
}

/// A request to a model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// Its scenario.
    pub scenario: String,
    /// The path after that, without its query.
    pub path: String,
    /// The format.
    pub wire: Wire,
    /// The body.
    pub body: Value,
    /// Whether the model may use tools.
    pub has_tools: bool,
    /// The number of tool results in the request.
    pub n_results: usize,
    /// Whether the answer is streamed.
    pub is_streamed: bool,
}

impl ModelRequest {
    /// Returns whether the request contains these words: in a prompt, or in a tool result.
    pub fn says(&self, words: &str) -> bool {
        self.text_with(words).is_some()
    }

    /// Returns the first text of the request with these words.
    pub fn text_with(&self, words: &str) -> Option<&str> {
        text_with(&self.body, words)
    }

    /// Returns the names of the tools that the model may use.
    pub fn tool_names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for tool in self.body["tools"].as_array().into_iter().flatten() {
            let own = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str());
            let declared = tool["functionDeclarations"].as_array().into_iter().flatten();
            names.extend(own);
            names.extend(declared.filter_map(|function| function["name"].as_str()));
        }
        names
    }
}

/// Searches all texts of a value. The parser bounds their depth.
fn text_with<'v>(value: &'v Value, words: &str) -> Option<&'v str> {
    match value {
        Value::String(text) => text.contains(words).then_some(text),
        Value::Array(values) => values.iter().find_map(|value| text_with(value, words)),
        Value::Object(members) => members.values().find_map(|value| text_with(value, words)),
        _ => None,
    }
}

/// The output of a model in one turn.
pub(super) enum ModelTurn<'a> {
    Text(&'a str),
    Tool { name: &'a str, input: &'a Value },
}

/// Returns the id of a call: the same for the same request, and another one at each step of a conversation.
pub(super) fn call_id(request: &ModelRequest) -> String {
    format!("call_{}", request.n_results + 1)
}

/// Returns the requested model.
pub(super) fn model(request: &ModelRequest) -> &str {
    request.body["model"].as_str().unwrap_or("model")
}

/// Writes events that are data only.
pub(super) fn data_events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Writes events that are named by their `type`.
pub(super) fn named_events(events: &[Value]) -> String {
    let named = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or("message");
        format!("event: {name}\ndata: {event}\n\n")
    });
    named.collect()
}
