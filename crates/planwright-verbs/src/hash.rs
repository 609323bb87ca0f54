//! The verb `hash`: the canonical hash of a Markdown source plan, which ties a task pack to it.

use planwright_core::document::markdown::Markdown;
use planwright_core::planning::derive::{CANONICALIZATION, plan_hash};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HashRequest {
    /// The path of the source plan; `-` for the input of the caller.
    pub plan: String,
}

#[derive(Debug, Serialize)]
pub struct HashReport {
    pub schema_version: &'static str,
    pub path: String,
    pub hash: String,
    pub canonicalization_version: &'static str,
}

/// Computes the hash of a source plan.
pub fn hash(workspace: &Workspace, request: &HashRequest) -> Result<HashReport> {
    let loaded = workspace.load(&request.plan)?;
    let Some(hash) = plan_hash(&Markdown::parse(&loaded.source)) else {
        return Err(Failure::problem(
            format!("the frontmatter of `{}` is not closed", request.plan),
            "close it with a line `---`",
        ));
    };
    Ok(HashReport {
        schema_version: "planwright.hash/v1",
        path: request.plan.clone(),
        hash: hash.hash,
        canonicalization_version: CANONICALIZATION,
    })
}
