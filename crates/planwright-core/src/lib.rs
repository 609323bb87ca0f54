//! The pure half of planwright: text in, values out.
//!
//! Modules stand in reading order, and a module imports only from those above it. Nothing here does IO,
//! reads a clock or the environment, or starts a thread; a bad plan is never an error but a partial plan
//! and a list of findings.

pub mod text;

pub mod diagnostic;

pub mod document;

pub mod plan;

pub mod edit;

pub mod dialect;

pub mod check;

pub mod graph;

pub mod schedule;

pub mod agent;

pub mod prompt;

pub mod arbiter;

pub mod inspect;

pub mod convert;

pub mod fix;

pub mod change;

pub mod planning;
