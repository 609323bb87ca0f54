//! Laws for a coverage-guided fuzzer: one target for each way in which planwright is given what others wrote.
//! A target takes any bytes, and fails where a law does not hold. `cargo xtask fuzz` builds and runs it.
#![no_main]

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

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

/// What tries one input.
type Target = fn(&[u8]);

/// The targets by name. `xtask/src/fuzz.rs` has the same list.
const TARGETS: &[(&str, Target)] = &[
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
];

/// The variable that names the target: one binary holds them all, so that it is built and linked once.
const VARIABLE: &str = "PLANWRIGHT_FUZZ_TARGET";

fn target() -> Target {
    let name = std::env::var(VARIABLE).unwrap_or_default();
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found
        .unwrap_or_else(|| panic!("{VARIABLE} names no target: `{name}`"))
        .1
}

fuzz_target!(|bytes: &[u8]| {
    static TARGET: OnceLock<Target> = OnceLock::new();
    TARGET.get_or_init(target)(bytes);
});
