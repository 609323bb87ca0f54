//! `planwright check --explain ID`: explains a finding, with a wrong and a right example.

use planwright_core::diagnostic::Rule;

use super::check::all_rules;
use super::exit::{Exit, Failure};
use super::output::Output;
use crate::render::json::ExplainReport;

pub(crate) fn run(id: &str, output: &mut Output) -> anyhow::Result<Exit> {
    let rule = rule_named(id)?;
    let paint = output.paint();
    output.line(&format!("{} ({})", paint.bold(rule.id), rule.severity.as_str()));
    output.line("");
    output.line(rule.summary);
    output.line(rule.details);
    output.line("");
    for (title, example) in [("Wrong:", rule.wrong), ("Right:", rule.right)] {
        output.line(&paint.bold(title));
        for line in example.lines() {
            output.line(&format!("    {line}"));
        }
        output.line("");
    }
    Ok(Exit::Success)
}

/// Explains a finding to programs.
pub(crate) fn run_json(id: &str, output: &mut Output) -> anyhow::Result<Exit> {
    output.json(&ExplainReport::new(rule_named(id)?))?;
    Ok(Exit::Success)
}

/// Returns a rule by id, or a usage error that names the nearest.
fn rule_named(id: &str) -> anyhow::Result<&'static Rule> {
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
    Err(Failure::usage(format!("there is no finding called `{id}`"), help))
}

/// Counts the words that two ids share, and then the letters at their beginning.
fn likeness(a: &str, b: &str) -> (usize, usize) {
    let words = a
        .split('-')
        .filter(|word| b.split('-').any(|other| other == *word))
        .count();
    let letters = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    (words, letters)
}
