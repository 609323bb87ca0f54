//! `planwright check --explain ID`: what a finding means, with an example of wrong and right.

use planwright_core::diagnostic::Rule;
use planwright_core::inspect::rules;

use super::exit::{Exit, Failure};
use super::output::Output;

pub(crate) fn run(id: &str, output: &mut Output) -> anyhow::Result<Exit> {
    let mut all: Vec<&'static Rule> = rules();
    all.extend(planwright_run::store::rules::ALL);
    let Some(rule) = all.iter().find(|rule| rule.id == id) else {
        let nearest = all
            .iter()
            .max_by_key(|rule| likeness(rule.id, id))
            .filter(|rule| likeness(rule.id, id) > (0, 3));
        let help = match nearest {
            Some(rule) => format!("did you mean `{}`?", rule.id),
            None => "docs/diagnostics.md lists them all".to_owned(),
        };
        return Err(Failure::usage(format!("there is no finding called `{id}`"), help));
    };
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

/// Counts the words that two ids share, and then the letters at their beginning.
fn likeness(a: &str, b: &str) -> (usize, usize) {
    let words = a
        .split('-')
        .filter(|word| b.split('-').any(|other| other == *word))
        .count();
    let letters = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    (words, letters)
}
