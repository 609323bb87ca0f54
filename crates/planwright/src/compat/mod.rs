//! The command lines of the original tools, with their answers, and their events of a run.

pub(crate) mod aimi_cli;
mod answer;
pub(crate) mod clido;
mod event_form;
mod rawko_events;
pub(crate) mod spec_first;
mod write;

pub(crate) use answer::Answer;
pub(crate) use event_form::{EventConverter, EventForm, EventLines};
pub(crate) use write::ignores_gates;
