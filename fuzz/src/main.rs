//! The laws of `planwright-laws` for libFuzzer, all in one binary, so that it is built and linked once. `cargo xtask fuzz` builds and
//! runs it.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use planwright_laws::{FuzzTarget, TARGETS};

/// The variable that names the target.
const VARIABLE: &str = "PLANWRIGHT_FUZZ_TARGET";

fn target() -> FuzzTarget {
    let name = std::env::var(VARIABLE).unwrap_or_default();
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found
        .unwrap_or_else(|| panic!("{VARIABLE} names no target: `{name}`"))
        .1
}

fuzz_target!(|bytes: &[u8]| {
    static TARGET: OnceLock<FuzzTarget> = OnceLock::new();
    TARGET.get_or_init(target)(bytes);
});
