//! Anthropic's Messages: blocks of content, in events from `message_start` to `message_stop`, or as one message.

use serde_json::{Value, json};

use super::wire::{ModelRequest, ModelTurn, call_id, model, named_events};

pub(super) fn n_results(body: &Value) -> usize {
    let messages = body["messages"].as_array().into_iter().flatten();
    let blocks = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    blocks.filter(|block| block["type"] == "tool_result").count()
}

pub(super) fn body(request: &ModelRequest, turn: &ModelTurn<'_>) -> String {
    let (block, empty, delta, reason) = match turn {
        ModelTurn::Text(text) => (
            json!({"type": "text", "text": text}),
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": text}),
            "end_turn",
        ),
        ModelTurn::Tool { name, input } => {
            let id = format!("toolu_{}", call_id(request));
            (
                json!({"type": "tool_use", "id": id, "name": name, "input": input}),
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input.to_string()}),
                "tool_use",
            )
        }
    };
    if !request.is_streamed {
        return message(request, json!([block]), json!(reason)).to_string();
    }
    named_events(&[
        json!({"type": "message_start", "message": message(request, json!([]), Value::Null)}),
        json!({"type": "content_block_start", "index": 0, "content_block": empty}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 7}
        }),
        json!({"type": "message_stop"}),
    ])
}

fn message(request: &ModelRequest, content: Value, stop_reason: Value) -> Value {
    json!({
        "id": format!("msg_{}", request.n_results + 1),
        "type": "message",
        "role": "assistant",
        "model": model(request),
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": {"input_tokens": 11, "output_tokens": 7}
    })
}
