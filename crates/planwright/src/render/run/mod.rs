//! What `planwright run` shows: lines as things happen, a live display at a terminal, a summary at the end. All of it follows
//! from the run's events; nothing here reads a file or a clock of its own.

mod changes;
mod frame;
mod lines;
mod live;
mod progress;
mod summary;
pub(crate) mod words;

pub(crate) use frame::Size;
pub(crate) use lines::{JsonLines, PlainLines, Sink};
pub(crate) use live::{LiveDisplay, suits_live};
pub(crate) use summary::summary;

pub(crate) use planwright_run::engine::Watcher;

#[cfg(test)]
mod tests;
