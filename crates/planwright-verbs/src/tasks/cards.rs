//! The verb `tasks cards`: the cards that follow from the contract, and whether those of the pack agree with them.

use planwright_core::planning::derive::drift;
use planwright_core::text::SourceText;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{ChangeRecord, History, plan_id};
use planwright_run::store::{self, PlanFile, PreparedChange, Store};
use serde::{Deserialize, Serialize};

use super::{is_pack, no_pack};
use crate::failure::{Drawn, Evidence, Failure, Result};
use crate::json::DiagnosticReport;
use crate::planning::SourceFindings;
use crate::plans::{FoundPlan, PlanChoice};
use crate::workspace::{Workspace, from_here};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CardsRequest {
    pub plan: PlanChoice,
    /// Rewrites the cards that differ, and nothing else.
    pub write: bool,
}

#[derive(Serialize)]
pub struct CardsReport {
    pub schema_version: &'static str,
    pub plan: String,
    /// Whether cards and contract differ, or did before the cards were rewritten.
    pub drifted: bool,
    /// Whether the cards were rewritten.
    pub written: bool,
    /// The number of the change in the pack's history; null if nothing was written.
    pub change: Option<u64>,
    pub diagnostics: Vec<DiagnosticReport>,
    /// The cards that follow from the contract.
    pub cards: String,
    /// The differences, with the text for excerpts.
    #[serde(skip)]
    pub findings: SourceFindings,
}

/// Compares the cards of a pack with its contract.
pub fn cards(workspace: &Workspace, request: &CardsRequest) -> Result<CardsReport> {
    let found = request.plan.find(workspace, "name its file")?;
    let source = store::load(&found.path)?.source;
    let dialect = inspect_file(&source, Some(&found.path), found.forced)
        .inspection
        .dialect;
    if !dialect.is_some_and(is_pack) {
        return Err(no_pack(&found.path));
    }
    let (Some(cards), Some(drifted)) = (drift::cards(&source), drift::drift(&source)) else {
        return Err(Failure::problem(
            format!("`{}` has no contract that can be read", found.path.display()),
            "`planwright check` shows its errors",
        ));
    };
    let change = match request.write && !drifted.is_empty() {
        true => write(&found, &source)?,
        false => None,
    };
    let index = source.line_index();
    let diagnostics = drifted.iter().map(|found| DiagnosticReport::new(found, &index));
    Ok(CardsReport {
        schema_version: "planwright.cards/v1",
        plan: found.path.to_string_lossy().into_owned(),
        drifted: !drifted.is_empty(),
        written: change.is_some(),
        change,
        diagnostics: diagnostics.collect(),
        cards,
        findings: SourceFindings {
            path: from_here(&found.path),
            source,
            findings: drifted,
        },
    })
}

fn write(found: &FoundPlan, source: &SourceText) -> Result<Option<u64>> {
    let inspection = inspect_file(source, Some(&found.path), found.forced).inspection;
    let id = inspection.plan.as_ref().and_then(|linked| plan_id(&linked.plan));
    let prepare = |newest: &SourceText, _: &History| {
        let text = drift::with_cards_renewed(newest).map_err(|refused| {
            let evidence = Evidence {
                path: found.path.to_string_lossy().into_owned(),
                source: newest.clone(),
                span: Some(refused.span),
                findings: Vec::new(),
                drawn: Drawn::Place,
            };
            Failure::shown(
                refused.message,
                "edit that place by hand; nothing was written",
                evidence,
            )
        })?;
        Ok(Some(PreparedChange {
            text: Some(SourceText::new(text)),
            change: ChangeRecord {
                verb: "cards".to_owned(),
                ..ChangeRecord::default()
            },
        }))
    };
    let file = PlanFile { path: &found.path, id };
    let updated = Store::default().update(file, "cards", prepare)?;
    Ok(updated.change)
}
