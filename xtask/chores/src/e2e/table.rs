//! What came of each step, for people.

use std::fmt;
use std::time::Duration;

/// One step of one agent.
struct Row {
    agent: String,
    step: String,
    took: Duration,
    came: Came,
}

/// What came of a step.
enum Came {
    /// It showed this.
    Well(String),
    /// It failed, for this reason.
    Badly(String),
    /// It was not tried, for this reason.
    Cannot(&'static str),
}

/// All steps so far.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds what came of a step.
    pub(super) fn add(&mut self, agent: &str, step: &str, took: Duration, came: anyhow::Result<String>) {
        let came = match came {
            Ok(text) => Came::Well(text),
            Err(error) => Came::Badly(format!("{error:#}")),
        };
        self.push(agent, step, took, came);
    }

    /// Adds a step that cannot go well.
    pub(super) fn leave_out(&mut self, agent: &str, step: &str, why: &'static str) {
        self.push(agent, step, Duration::ZERO, Came::Cannot(why));
    }

    /// Says at once what came of a step: they are slow.
    #[expect(clippy::print_stderr, reason = "a chore talks to its user")]
    fn push(&mut self, agent: &str, step: &str, took: Duration, came: Came) {
        let row = Row {
            agent: agent.to_owned(),
            step: step.to_owned(),
            took,
            came,
        };
        eprintln!("{row}");
        self.rows.push(row);
    }

    pub(super) fn n_failed(&self) -> usize {
        let failed = self.rows.iter().filter(|row| matches!(row.came, Came::Badly(_)));
        failed.count()
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, text) = match &self.came {
            Came::Well(text) => ("ok", text.as_str()),
            Came::Badly(text) => ("failed", text.as_str()),
            Came::Cannot(text) => ("–", *text),
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
