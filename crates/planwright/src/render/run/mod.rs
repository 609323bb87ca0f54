//! The views of `planwright run`: lines, a live display, a summary. All follow from the run's events; none reads a file or a
//! clock.

mod changes;
mod frame;
mod lines;
mod live;
mod progress;
mod summary;
pub(crate) mod words;

pub(crate) use frame::ScreenSize;
pub(crate) use lines::{JsonLines, PlainLines, Sink};
pub(crate) use live::{LiveDisplay, suits_live};
pub(crate) use summary::summary;

pub(crate) use planwright_run::engine::Watcher;

#[cfg(test)]
mod tests;
