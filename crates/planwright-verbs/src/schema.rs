//! The verb `schema`: the JSON Schema of a dialect, or the list of the dialects.

use planwright_core::dialect::{DIALECTS, Dialect};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::failure::Result;
use crate::plans::dialect_named;
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SchemaRequest {
    /// The dialect of the schema; none for the list.
    pub dialect: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub enum SchemaReport {
    Dialects(DialectsReport),
    Schema(&'static RawValue),
}

#[derive(Serialize)]
pub struct DialectsReport {
    pub schema_version: &'static str,
    pub dialects: Vec<DialectReport>,
}

#[derive(Serialize)]
pub struct DialectReport {
    pub name: &'static str,
    pub title: &'static str,
    pub places: &'static [&'static str],
}

/// Returns the schema of a dialect, or lists the dialects.
pub fn schema(_: &Workspace, request: &SchemaRequest) -> Result<SchemaReport> {
    if let Some(name) = &request.dialect {
        return Ok(SchemaReport::Schema(serde_json::from_str(
            dialect_named(name)?.schema(),
        )?));
    }
    let dialect = |dialect: &&'static dyn Dialect| DialectReport {
        name: dialect.name(),
        title: dialect.title(),
        places: dialect.places(),
    };
    Ok(SchemaReport::Dialects(DialectsReport {
        schema_version: "planwright.dialects/v1",
        dialects: DIALECTS.iter().map(dialect).collect(),
    }))
}
