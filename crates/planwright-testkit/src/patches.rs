//! Patches written as JSON, for the fixtures of edits.
//!
//! A file holds a list of operations, applied together: `{"replace": [route], "with": value}`,
//! `{"insert": "key", "into": [route], "value": value, "after": "key"}` (`"after"` left out: last; null: first),
//! `{"remove": "key", "from": [route]}`, `{"rename": "key", "in": [route], "to": "key"}`,
//! `{"insert": index, "into": [route], "value": value}`, `{"remove": index, "from": [route]}`.

use planwright_core::dialect::CarrierKind;
use planwright_core::document::patch::{self, MemberPosition, Patch, PlainValue};
use planwright_core::document::route::Route;
use planwright_core::document::{json, yaml};
use planwright_core::inspect::Inspection;
use planwright_core::text::SourceText;
use serde_json::Value as Json;

/// Returns the text after the patches, or `refused: …`; an error if the patches themselves are invalid.
pub fn apply(source: &SourceText, inspection: &Inspection, patches: &str) -> Result<String, String> {
    let operations: Vec<Json> =
        serde_json::from_str(patches).map_err(|error| format!("its patches are no JSON: {error}"))?;
    let notation = inspection.dialect.and_then(|dialect| dialect.notation());
    let parsed = match inspection.carrier {
        _ if let Some(notation) = notation => notation(source, None).parse(source),
        Some((CarrierKind::Yaml, _)) => yaml::parse(source),
        Some((CarrierKind::Json, span)) if span == source.span() => json::parse(source),
        Some((_, span)) => json::parse_span(source, span),
        None => return Err("it is in no dialect".to_owned()),
    };
    let patches = operations.iter().map(operation).collect::<Result<Vec<_>, _>>()?;
    Ok(match patch::patch(&parsed.document, &patches) {
        Ok(text) => text,
        Err(refusal) => format!("refused: {refusal}\n"),
    })
}

fn operation(json: &Json) -> Result<Patch, String> {
    let route = |key: &str| route(&json[key]);
    let text = |key: &str| json[key].as_str().map(str::to_owned);
    let index = |key: &str| json[key].as_u64().map(|index| index as usize);
    Ok(match json {
        _ if json.get("replace").is_some() => Patch::ReplaceScalar {
            at: route("replace")?,
            value: value(&json["with"]),
        },
        _ if json.get("rename").is_some() => Patch::RenameKey {
            object: route("in")?,
            key: text("rename").unwrap_or_default(),
            to: text("to").unwrap_or_default(),
        },
        _ if let Some(index) = index("insert") => Patch::InsertElement {
            array: route("into")?,
            index,
            value: value(&json["value"]),
            beside: None,
        },
        _ if let Some(key) = text("insert") => Patch::InsertMember {
            object: route("into")?,
            key,
            value: value(&json["value"]),
            place: match json.get("after") {
                Some(Json::String(after)) => MemberPosition::After(after.clone()),
                Some(_) => MemberPosition::First,
                None => MemberPosition::Last,
            },
        },
        _ if let Some(index) = index("remove") => Patch::RemoveElement {
            array: route("from")?,
            index,
        },
        _ if let Some(key) = text("remove") => Patch::RemoveMember {
            object: route("from")?,
            key,
        },
        _ => return Err(format!("this is no patch: {json}")),
    })
}

fn route(json: &Json) -> Result<Route, String> {
    let steps = json.as_array().ok_or_else(|| format!("this is no route: {json}"))?;
    let mut route = Route::root();
    for step in steps {
        route = match (step.as_str(), step.as_u64()) {
            (Some(key), _) => route.key(key),
            (_, Some(index)) => route.index(index as usize),
            _ => return Err(format!("this is no step of a route: {step}")),
        };
    }
    Ok(route)
}

fn value(json: &Json) -> PlainValue {
    match json {
        Json::Null => PlainValue::Null,
        Json::Bool(value) => PlainValue::Bool(*value),
        Json::Number(number) => PlainValue::Number(number.to_string()),
        Json::String(text) => PlainValue::String(text.clone()),
        Json::Array(items) => PlainValue::Array(items.iter().map(value).collect()),
        Json::Object(members) => {
            PlainValue::Object(members.iter().map(|(key, item)| (key.clone(), value(item))).collect())
        }
    }
}
