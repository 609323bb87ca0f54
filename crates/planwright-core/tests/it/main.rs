//! The laws of planwright-core: its shape, its fixtures, and properties on random input.

#![expect(
    clippy::disallowed_methods,
    reason = "the core does no IO, but its tests read fixtures"
)]

mod agent_noise;
mod agents;
mod answers;
mod approvals;
mod arbiter;
mod architecture;
mod batches;
mod carriers;
mod checklist_groups;
mod conformance;
mod conversion_fixtures;
mod conversions;
mod corpus;
mod cycles;
mod derive;
mod documents;
mod edit_laws;
mod edits;
mod embedded_originals;
mod fixtures;
mod fuzz;
mod generate;
mod guides;
mod imports;
mod linear_size;
mod odd_packs;
mod pack_edits;
mod pack_laws;
mod packs;
mod parity;
mod patches;
mod planning;
mod planning_prompts;
mod plans;
mod prompts;
mod rawko_operations;
mod result_files;
mod sample_dialect;
mod schedule;
mod schemas;
mod source;
mod transitions;

use std::path::Path;

use planwright_testkit::TempFolder;
use planwright_testkit::wiring::unwired;

#[test]
fn every_test_file_is_wired_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    assert_eq!(unwired(&folder), [""; 0]);
}

#[test]
fn a_test_file_without_a_mod_line_is_found() {
    let folder = TempFolder::new().expect("a temporary folder");
    folder.write("main.rs", "mod wired;\nmod gone;\n").expect("a file");
    for name in ["wired.rs", "stray.rs", "nested/mod.rs", "data/plan.json"] {
        folder.write(name, "").expect("a file");
    }
    let expected = [
        "`mod gone;` has no file",
        "nested is not wired into main.rs",
        "stray.rs is not wired into main.rs",
    ];
    assert_eq!(unwired(folder.path()), expected);
}
