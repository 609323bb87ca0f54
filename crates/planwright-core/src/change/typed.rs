//! Converts what users type for a field to the field's value, and names the fields that have verbs of their own.

use super::Problem;
use crate::dialect::{FieldShape, FieldSpec};
use crate::document::json;
use crate::document::patch::PlainValue;
use crate::plan::Field;
use crate::text::{SourceText, visible};

/// Refuses fields that have verbs of their own.
pub(super) fn refuse_field(spec: &FieldSpec) -> Result<(), Problem> {
    let verb = match spec.field {
        Field::Status | Field::Passes | Field::Skipped | Field::Skip | Field::RetryCount => {
            "`planwright start`, `done`, `fail`, `skip`, `retry` and `reset` change what became of a task"
        }
        Field::StartedAt | Field::CompletedAt | Field::History | Field::ExecutedBy => {
            "it is kept by `planwright start`, `done` and `fail`"
        }
        Field::Id => "`planwright rename` gives a task another id, and its references follow",
        Field::Position => "`planwright move` gives a task another place",
        Field::Dependencies => "`planwright depend` and `undepend` change what a task waits for",
        _ => return Ok(()),
    };
    Err(Problem::field(
        format!("`{}` is not set by hand", spec.name),
        verb.to_owned(),
    ))
}

/// Converts typed text to the value of a field.
pub(super) fn value_of(spec: &FieldSpec, typed: &str) -> Result<PlainValue, Problem> {
    let wrong = || {
        Problem::field(
            format!(
                "`{}` takes {}, not `{}`",
                spec.name,
                spec.shape.describe(),
                visible(typed)
            ),
            "nothing was written; `planwright schema` describes every field".to_owned(),
        )
    };
    let texts = || {
        // A JSON list is parsed; otherwise each line is one text, and each name of a file in one line.
        let listed = json::parse(&SourceText::new(typed));
        match listed.document.root().map(PlainValue::of) {
            Some(list @ PlainValue::Array(_)) if listed.diagnostics.is_empty() => list,
            _ if typed.is_empty() => PlainValue::Array(Vec::new()),
            _ if spec.field == Field::Files && !typed.contains('\n') => PlainValue::Array(
                typed
                    .split(',')
                    .map(|name| PlainValue::String(name.trim().to_owned()))
                    .collect(),
            ),
            _ => PlainValue::Array(typed.lines().map(|line| PlainValue::String(line.to_owned())).collect()),
        }
    };
    Ok(match spec.shape {
        FieldShape::TextOrNull | FieldShape::TimeOrNull | FieldShape::TextListOrNull if typed == "null" => {
            PlainValue::Null
        }
        FieldShape::Integer(..) => {
            typed.parse::<i64>().map_err(|_| wrong())?;
            PlainValue::Number(typed.to_owned())
        }
        FieldShape::Number => {
            typed.parse::<f64>().map_err(|_| wrong())?;
            PlainValue::Number(typed.to_owned())
        }
        FieldShape::Bool => PlainValue::Bool(typed.parse().map_err(|_| wrong())?),
        FieldShape::TextList | FieldShape::TextListOrNull => texts(),
        FieldShape::OneOf(words) if !words.contains(&typed) => return Err(wrong()),
        FieldShape::Object | FieldShape::List | FieldShape::Any => return Err(wrong()),
        _ => PlainValue::String(typed.to_owned()),
    })
}
