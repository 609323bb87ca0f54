//! OpenAI's Responses: items of output, closed by `response.completed`, which clients require.

use serde_json::{Value, json};

use super::wire::{ModelRequest, ModelTurn, call_id, model, named_events};

pub(super) fn n_results(body: &Value) -> usize {
    let items = body["input"].as_array().into_iter().flatten();
    let is_result = |item: &&Value| item["type"].as_str().is_some_and(|kind| kind.ends_with("_call_output"));
    items.filter(is_result).count()
}

pub(super) fn body(request: &ModelRequest, turn: &ModelTurn<'_>) -> String {
    let item = item(request, turn);
    let whole = json!({
        "id": format!("resp_{}", request.n_results + 1),
        "object": "response",
        "status": "completed",
        "model": model(request),
        "output": [item.clone()],
        "usage": {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    });
    if !request.is_streamed {
        return whole.to_string();
    }
    let mut begun = whole.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    named_events(&[
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": whole}),
    ])
}

/// Returns the item of a turn. A tool with plain text input has its own kind of item.
fn item(request: &ModelRequest, turn: &ModelTurn<'_>) -> Value {
    let id = call_id(request);
    match turn {
        ModelTurn::Text(text) => json!({
            "type": "message",
            "id": format!("msg_{id}"),
            "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}]
        }),
        ModelTurn::Tool {
            name,
            input: Value::String(input),
        } => {
            json!({"type": "custom_tool_call", "id": format!("ctc_{id}"), "call_id": id, "name": name, "input": input})
        }
        ModelTurn::Tool { name, input } => json!({
            "type": "function_call",
            "id": format!("fc_{id}"),
            "call_id": id,
            "name": name,
            "arguments": input.to_string()
        }),
    }
}
