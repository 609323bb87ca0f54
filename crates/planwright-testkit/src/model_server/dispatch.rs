//! From an HTTP request to a model's request, and from a scripted answer to its bytes, in the format of the request.

use serde_json::Value;

use super::http::{HttpRequest, Reply};
use super::script::ModelAnswer;
use super::wire::{ModelRequest, ModelTurn, Wire};
use super::{anthropic, chat, gemini, responses};

/// Parses a request; none if it is not for a model.
pub(super) fn request(asked: &HttpRequest) -> Option<ModelRequest> {
    let path = asked.target.split('?').next().unwrap_or_default();
    let (scenario, path) = path.strip_prefix("/s/")?.split_once('/')?;
    let path = format!("/{path}");
    let wire = Wire::of(&path).filter(|_| asked.method == "POST")?;
    let body: Value = serde_json::from_slice(&asked.body).ok()?;
    let has_tools = ["tools", "functions"]
        .iter()
        .any(|key| body[*key].as_array().is_some_and(|tools| !tools.is_empty()));
    Some(ModelRequest {
        scenario: scenario.to_owned(),
        n_results: match wire {
            Wire::Anthropic => anthropic::n_results(&body),
            Wire::Responses => responses::n_results(&body),
            Wire::Chat => chat::n_results(&body),
            Wire::Gemini => gemini::n_results(&body),
        },
        is_streamed: match wire {
            Wire::Gemini => path.ends_with(":streamGenerateContent"),
            _ => body["stream"] == true,
        },
        path,
        wire,
        body,
        has_tools,
    })
}

/// Returns the bytes of an answer; none if the connection is dropped.
pub(super) fn reply(request: &ModelRequest, answer: &ModelAnswer) -> Option<Reply> {
    let turn = match answer {
        ModelAnswer::Drop => return None,
        ModelAnswer::Empty if request.is_streamed => return Some(Reply::events(String::new())),
        ModelAnswer::Empty => return Some(Reply::json(200, "{}".to_owned())),
        ModelAnswer::Error { status, headers, body } => {
            return Some(Reply {
                headers: headers.clone(),
                ..Reply::json(*status, body.clone())
            });
        }
        ModelAnswer::Text(text) => ModelTurn::Text(text),
        ModelAnswer::ToolCall { name, input } => ModelTurn::Tool { name, input },
    };
    let body = match request.wire {
        Wire::Anthropic => anthropic::body(request, &turn),
        Wire::Responses => responses::body(request, &turn),
        Wire::Chat => chat::body(request, &turn),
        Wire::Gemini => gemini::body(request, &turn),
    };
    Some(match request.is_streamed {
        true => Reply::events(body),
        false => Reply::json(200, body),
    })
}
