//! The pure half of planwright: text in, values out.
//!
//! Modules are in reading order, and a module imports only from those above it. Nothing here does IO,
//! reads a clock or the environment, or starts a thread; a bad plan is never an error but a partial plan
//! and a list of findings.

pub mod diagnostic;
pub mod dialect;
pub mod document;
pub mod text;
