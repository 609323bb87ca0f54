//! The results of all steps, as a table for users.

use std::fmt;
use std::time::Duration;

/// One step of one agent.
struct TrialRow {
    agent: String,
    step: String,
    took: Duration,
    result: StepResult,
}

enum StepResult {
    /// What it showed.
    Passed(String),
    /// The error.
    Failed(String),
    /// Why it was not run.
    LeftOut(&'static str),
}

#[derive(Default)]
pub(super) struct TrialTable {
    rows: Vec<TrialRow>,
}

impl TrialTable {
    /// Adds the result of a step.
    pub(super) fn add(&mut self, agent: &str, step: &str, took: Duration, result: anyhow::Result<String>) {
        let result = match result {
            Ok(text) => StepResult::Passed(text),
            Err(error) => StepResult::Failed(format!("{error:#}")),
        };
        self.push(agent, step, took, result);
    }

    /// Adds a step that cannot pass.
    pub(super) fn leave_out(&mut self, agent: &str, step: &str, why: &'static str) {
        self.push(agent, step, Duration::ZERO, StepResult::LeftOut(why));
    }

    /// Adds a row and prints it immediately: steps are slow.
    #[expect(clippy::print_stderr, reason = "a chore prints to its user")]
    fn push(&mut self, agent: &str, step: &str, took: Duration, result: StepResult) {
        let row = TrialRow {
            agent: agent.to_owned(),
            step: step.to_owned(),
            took,
            result,
        };
        eprintln!("{row}");
        self.rows.push(row);
    }

    pub(super) fn n_failed(&self) -> usize {
        let failed = self
            .rows
            .iter()
            .filter(|row| matches!(row.result, StepResult::Failed(_)));
        failed.count()
    }
}

impl fmt::Display for TrialRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, text) = match &self.result {
            StepResult::Passed(text) => ("ok", text.as_str()),
            StepResult::Failed(text) => ("failed", text.as_str()),
            StepResult::LeftOut(text) => ("–", *text),
        };
        write!(
            f,
            "{:<9} {:<18} {word:<6} {:>6.1} s  {text}",
            self.agent,
            self.step,
            self.took.as_secs_f64()
        )
    }
}

impl fmt::Display for TrialTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}
