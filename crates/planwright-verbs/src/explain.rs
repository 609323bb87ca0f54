//! The verb `check --explain`: the meaning of a finding, with a wrong and a right example.

use planwright_core::diagnostic::Rule;
use planwright_core::inspect::rules;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    pub id: String,
}

#[derive(Serialize)]
pub struct ExplainReport {
    pub schema_version: &'static str,
    pub id: &'static str,
    /// Its default severity.
    pub severity: &'static str,
    pub summary: &'static str,
    pub details: &'static str,
    pub wrong: &'static str,
    pub right: &'static str,
}

pub fn explain(_: &Workspace, request: &ExplainRequest) -> Result<ExplainReport> {
    let rule = rule_named(&request.id)?;
    Ok(ExplainReport {
        schema_version: "planwright.explain/v1",
        id: rule.id,
        severity: rule.severity.as_str(),
        summary: rule.summary,
        details: rule.details,
        wrong: rule.wrong,
        right: rule.right,
    })
}

/// Returns every documented rule, including those of files and of conversion.
pub fn all_rules() -> Vec<&'static Rule> {
    rules()
        .into_iter()
        .chain(planwright_run::store::rules::ALL.iter().copied())
        .chain(planwright_run::config::rules::ALL.iter().copied())
        .chain(planwright_core::convert::rules::ALL.iter().copied())
        .chain(planwright_core::outline::rules::ALL.iter().copied())
        .chain(planwright_core::planning::rules::ALL.iter().copied())
        .chain(planwright_core::planning::derive::drift::ALL.iter().copied())
        .chain(planwright_core::planning::derive::rules::ALL.iter().copied())
        .collect()
}

/// Returns a rule by id, or a usage error that names the nearest.
fn rule_named(id: &str) -> Result<&'static Rule> {
    let all = all_rules();
    if let Some(rule) = all.iter().find(|rule| rule.id == id) {
        return Ok(rule);
    }
    let nearest = all
        .iter()
        .max_by_key(|rule| likeness(rule.id, id))
        .filter(|rule| likeness(rule.id, id) > (0, 3));
    let help = match nearest {
        Some(rule) => format!("did you mean `{}`?", rule.id),
        None => "docs/diagnostics.md lists them all".to_owned(),
    };
    Err(Failure::usage(format!("there is no finding `{id}`"), help))
}

/// Counts the common words of two ids, and then their common first letters.
fn likeness(a: &str, b: &str) -> (usize, usize) {
    let words = a
        .split('-')
        .filter(|word| b.split('-').any(|other| other == *word))
        .count();
    let letters = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    (words, letters)
}
