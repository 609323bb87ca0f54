//! What came of each step, for people.

use std::fmt;
use std::time::Duration;

/// One step of one agent.
struct Row {
    agent: String,
    step: String,
    took: Duration,
    /// What it showed, or why it failed.
    came: Result<String, String>,
}

/// All steps so far.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds what came of a step, and says so at once: steps are slow.
    #[expect(clippy::print_stderr, reason = "a chore talks to its user")]
    pub(super) fn add(&mut self, agent: &str, step: &str, took: Duration, came: anyhow::Result<String>) {
        let row = Row {
            agent: agent.to_owned(),
            step: step.to_owned(),
            took,
            came: came.map_err(|error| format!("{error:#}")),
        };
        eprintln!("{row}");
        self.rows.push(row);
    }

    pub(super) fn n_failed(&self) -> usize {
        self.rows.iter().filter(|row| row.came.is_err()).count()
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, text) = match &self.came {
            Ok(text) => ("ok", text),
            Err(text) => ("failed", text),
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

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}
