//! The events of a run in the names and payloads of another system, one JSON object per line.

use std::io::Write;

use clap::ValueEnum;
use planwright_core::plan::{Links, Plan};
use planwright_run::engine::Watcher;
use planwright_run::runs::RunRecord;

use super::rawko_events::{RawkoEvents, plan_replanned};
use crate::render::run::Sink;

/// The system whose events are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventForm {
    /// Those of rawko's SPEC-0010: PLAN_CREATED, STEP_STARTED, STEP_COMPLETED, STEP_FAILED, PLAN_REPLANNED.
    Rawko,
}

/// Converts the records of a run to the events of another system.
pub(crate) struct EventConverter(RawkoEvents);

impl EventForm {
    /// Returns a converter for the events of a run of a plan.
    pub(crate) fn converter(self, plan: &Plan, links: &Links, name: &str) -> EventConverter {
        match self {
            EventForm::Rawko => EventConverter(RawkoEvents::new(plan, links, name)),
        }
    }

    /// Returns the line for a new version of a plan.
    pub(crate) fn plan_replanned(self, plan: &Plan, links: &Links, name: &str) -> Option<String> {
        match self {
            EventForm::Rawko => plan_replanned(plan, links, name),
        }
    }
}

impl EventConverter {
    /// Continues with a plan that the client already received, as a replacement of another one, or did not.
    pub(crate) fn knowing_plan(self, is_known: bool) -> Self {
        EventConverter(self.0.knowing_plan(is_known))
    }

    /// Returns the lines for a record, without line breaks.
    pub(crate) fn take(&mut self, record: &RunRecord) -> Vec<String> {
        self.0.take(record)
    }
}

/// A run for clients of another system.
pub(crate) struct EventLines<W: Write> {
    out: Sink<W>,
    events: EventConverter,
}

impl<W: Write> EventLines<W> {
    pub(crate) fn new(out: W, events: EventConverter) -> Self {
        let out = Sink::new(out);
        EventLines { out, events }
    }
}

impl<W: Write> Watcher for EventLines<W> {
    fn event(&mut self, record: &RunRecord) {
        for line in self.events.take(record) {
            self.out.write(&(line + "\n"));
        }
    }
}
