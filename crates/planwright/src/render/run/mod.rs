//! The views of `planwright run`: lines, a live display, a summary. All follow from the run's events; none reads a file or a
//! clock.

mod changes;
pub(crate) mod columns;
mod denial;
mod frame;
mod lines;
mod live;
mod progress;
pub(crate) mod reason;
mod summary;
pub(crate) mod words;

pub(crate) use denial::denial_words;
pub(crate) use frame::Size;
pub(crate) use lines::{JsonLines, PlainLines, Sink, why_failed};
pub(crate) use live::{LiveDisplay, suits_live};
pub(crate) use progress::Setting;
pub(crate) use summary::{RunReport, log_command, summary};

pub(crate) use planwright_run::engine::Watcher;

#[cfg(test)]
mod tests;
