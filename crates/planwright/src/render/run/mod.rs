//! What `planwright run` shows: lines as things happen, a live display at a terminal, a summary at the end. All of it follows
//! from the run's events; nothing here reads a file or a clock of its own.

pub(crate) mod columns;
mod frame;
mod lines;
mod live;
mod progress;
pub(crate) mod reason;
mod summary;
pub(crate) mod words;

pub(crate) use frame::Size;
pub(crate) use lines::{JsonLines, PlainLines, json_line};
pub(crate) use live::{LiveDisplay, suits_live};
pub(crate) use progress::Setting;
pub(crate) use summary::{RunReport, summary};

use planwright_run::runs::RunRecord;

/// Somebody who is told what goes on in a run.
pub(crate) trait Watcher {
    /// Takes note of something that happened; it is durable.
    fn event(&mut self, record: &RunRecord);

    /// Takes note of what a task's process wrote last: a stranger's text.
    fn line(&mut self, task: &str, line: &str);

    /// Called a few times per second, also when nothing happens.
    fn tick(&mut self);
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
