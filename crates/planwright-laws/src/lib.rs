//! Laws of planwright for any input, one target per kind of input from outside. A target takes any bytes and panics if a law
//! fails.
//!
//! The tests try them with the seeds in `fuzz/corpus`; `cargo xtask fuzz` searches for more inputs with a coverage-guided fuzzer.
//! Not shipped.

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

/// A function that tries one input.
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
