//! OpenAI's Chat Completions: chunks with a `finish_reason` in the last of them, or one completion.

use serde_json::{Value, json};

use super::wire::{ModelRequest, ModelTurn, call_id, data_events, model};

pub(super) fn n_results(body: &Value) -> usize {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.filter(|message| message["role"] == "tool").count()
}

pub(super) fn body(request: &ModelRequest, turn: &ModelTurn<'_>) -> String {
    let (message, reason) = match turn {
        ModelTurn::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
        ModelTurn::Tool { name, input } => {
            let call = json!({
                "index": 0,
                "id": call_id(request),
                "type": "function",
                "function": {"name": name, "arguments": input.to_string()}
            });
            (
                json!({"role": "assistant", "content": null, "tool_calls": [call]}),
                "tool_calls",
            )
        }
    };
    let usage = json!({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18});
    if !request.is_streamed {
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        return whole(request, "chat.completion", &choice, usage).to_string();
    }
    let delta = json!({"index": 0, "delta": message, "finish_reason": null});
    let last = json!({"index": 0, "delta": {}, "finish_reason": reason});
    let events = [
        whole(request, "chat.completion.chunk", &delta, Value::Null),
        whole(request, "chat.completion.chunk", &last, usage),
    ];
    data_events(&events) + "data: [DONE]\n\n"
}

fn whole(request: &ModelRequest, object: &str, choice: &Value, usage: Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", request.n_results + 1),
        "object": object,
        "created": 1_794_000_000,
        "model": model(request),
        "choices": [choice],
        "usage": usage
    })
}
