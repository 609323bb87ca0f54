//! The answers of a model as data: one after another, or a function of the request.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::wire::ModelRequest;

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelAnswer {
    /// The model writes a text, and is done.
    Text(String),
    /// The model uses a tool.
    ToolCall {
        /// The tool.
        name: String,
        /// Its input: an object of arguments, or a text for tools with plain text input.
        input: Value,
    },
    /// The provider refuses.
    Error {
        /// The HTTP status.
        status: u16,
        /// Further headers, as `retry-after`.
        headers: Vec<(String, String)>,
        /// The body.
        body: String,
    },
    /// The connection ends without an answer.
    Drop,
    /// An empty answer with status 200.
    Empty,
}

impl ModelAnswer {
    /// Returns an answer in words.
    pub fn text(text: &str) -> Self {
        ModelAnswer::Text(text.to_owned())
    }

    /// Returns the use of a tool.
    pub fn tool(name: &str, input: Value) -> Self {
        ModelAnswer::ToolCall {
            name: name.to_owned(),
            input,
        }
    }

    /// Returns a refusal in words that all four providers' clients understand.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        let error = serde_json::json!({"type": kind, "code": status, "status": kind, "message": message});
        ModelAnswer::Error {
            status,
            headers: Vec::new(),
            body: serde_json::json!({"type": "error", "error": error}).to_string(),
        }
    }

    /// Returns the refusal of a key.
    pub fn unauthorized() -> Self {
        ModelAnswer::error(401, "authentication_error", "invalid api key")
    }

    /// Returns the refusal of a provider that requests a retry after this many seconds.
    pub fn rate_limited(seconds: u64) -> Self {
        let ModelAnswer::Error { status, body, .. } =
            ModelAnswer::error(429, "rate_limit_error", "rate limit exceeded, please slow down")
        else {
            return ModelAnswer::Drop;
        };
        ModelAnswer::Error {
            status,
            headers: vec![("retry-after".to_owned(), seconds.to_string())],
            body,
        }
    }
}

type Respond = dyn Fn(&ModelRequest) -> ModelAnswer + Send + Sync;

/// The answers of one scenario.
pub struct ModelScenario {
    first: Vec<ModelAnswer>,
    n_asked: AtomicUsize,
    respond: Box<Respond>,
}

impl ModelScenario {
    /// Answers by the number of tool results in a request; later requests get the last answer again.
    pub fn script(answers: Vec<ModelAnswer>) -> Self {
        ModelScenario::by(move |request| {
            let due = answers.get(request.n_results).or(answers.last());
            due.cloned().unwrap_or(ModelAnswer::Empty)
        })
    }

    /// Answers with a function of the request.
    pub fn by(respond: impl Fn(&ModelRequest) -> ModelAnswer + Send + Sync + 'static) -> Self {
        ModelScenario {
            first: Vec::new(),
            n_asked: AtomicUsize::new(0),
            respond: Box::new(respond),
        }
    }

    /// Answers the first requests with these, one after another, whatever their content.
    pub fn after(self, first: Vec<ModelAnswer>) -> Self {
        ModelScenario { first, ..self }
    }

    /// Returns the answer to a request. A request without tools, as for a title, gets no tool use.
    pub fn answer(&self, request: &ModelRequest) -> ModelAnswer {
        let n_before = match request.has_tools {
            true => self.n_asked.fetch_add(1, Ordering::SeqCst),
            false => self.n_asked.load(Ordering::SeqCst),
        };
        let answer = self.first.get(n_before).cloned();
        match answer.unwrap_or_else(|| (self.respond)(request)) {
            ModelAnswer::ToolCall { .. } if !request.has_tools => ModelAnswer::text("A title"),
            answer => answer,
        }
    }
}
