//! `planwright check --explain ID`: explains a finding, with a wrong and a right example.

use planwright_verbs::explain::{ExplainReport, ExplainRequest, explain};
use planwright_verbs::face::{Exit, Result};

use super::output::Output;

pub(crate) fn run(id: &str, output: &mut Output) -> Result<Exit> {
    let report = explained(id, output)?;
    let paint = output.paint();
    output.line(&format!("{} ({})", paint.bold(report.id), report.severity));
    output.line("");
    output.line(report.summary);
    output.line(report.details);
    output.line("");
    for (title, example) in [("Wrong:", report.wrong), ("Right:", report.right)] {
        output.line(&paint.bold(title));
        for line in example.lines() {
            output.line(&format!("    {line}"));
        }
        output.line("");
    }
    Ok(Exit::Success)
}

pub(crate) fn run_json(id: &str, output: &mut Output) -> Result<Exit> {
    output.json(&explained(id, output)?)?;
    Ok(Exit::Success)
}

fn explained(id: &str, output: &Output) -> Result<ExplainReport> {
    explain(&output.workspace(), &ExplainRequest { id: id.to_owned() })
}
