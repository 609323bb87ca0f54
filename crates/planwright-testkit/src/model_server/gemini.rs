//! Gemini's `generateContent`: candidates made of parts, as one event or as one object.

use serde_json::{Value, json};

use super::wire::{ModelRequest, ModelTurn, data_events};

pub(super) fn n_results(body: &Value) -> usize {
    let contents = body["contents"].as_array().into_iter().flatten();
    let parts = contents.flat_map(|content| content["parts"].as_array().into_iter().flatten());
    parts.filter(|part| part["functionResponse"].is_object()).count()
}

pub(super) fn body(request: &ModelRequest, turn: &ModelTurn<'_>) -> String {
    let part = match turn {
        ModelTurn::Text(text) => json!({"text": text}),
        ModelTurn::Tool { name, input } => json!({"functionCall": {"name": name, "args": input}}),
    };
    let answer = json!({
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18},
        "modelVersion": model(request)
    });
    match request.is_streamed {
        true => data_events(&[answer]),
        false => answer.to_string(),
    }
}

/// Returns the model, which is in the path.
fn model(request: &ModelRequest) -> &str {
    let name = request.path.rsplit('/').next().unwrap_or_default();
    name.split(':').next().unwrap_or_default()
}
