//! Laws that hold whatever planwright is given: one target for each way in which it gets what others wrote. A target takes any bytes,
//! and panics where a law does not hold.
//!
//! The tests try them with the seeds in `fuzz/corpus`; `cargo xtask fuzz` has a coverage-guided fuzzer look for more. Nothing here is
//! shipped.

mod agents;
mod answers;
mod changes;
mod config;
mod conversions;
mod derive;
mod dialects;
mod documents;
mod findings;
mod input;
mod journal;
mod patches;
mod prompts;
mod results;
mod strings;

/// What tries one input.
pub type FuzzTarget = fn(&[u8]);

/// The targets by name; each has a folder of seeds.
pub const TARGETS: &[(&str, FuzzTarget)] = &[
    ("documents", documents::hold),
    ("patches", patches::hold),
    ("dialects", dialects::hold),
    ("changes", changes::hold),
    ("conversions", conversions::hold),
    ("answers", answers::hold),
    ("derive", derive::hold),
    ("journal", journal::hold),
    ("results", results::hold),
    ("agents", agents::hold),
    ("config", config::hold),
    ("prompts", prompts::hold),
    ("strings", strings::hold),
];
