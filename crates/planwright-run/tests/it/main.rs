//! The promises of the store and the journal: nothing lost, nothing incomplete, even after faults. Also those of workers: no process stays;
//! and of git: nothing is forced.
//!
//! The file system that fails on purpose only works on Unix, and so do the tests.

#![cfg(unix)]

mod agent_queries;
mod architecture;
mod archive_and_trash;
mod batches;
mod concurrency;
mod config;
mod config_page;
mod crashes;
mod duplicates;
mod faulty;
mod git;
mod git_checkouts;
mod git_landing;
mod journal;
mod journal_ownership;
mod preparation;
mod replays;
mod reviews;
mod runs;
#[cfg(target_os = "linux")]
mod simulation;
mod states;
mod updates;
mod verify;
mod worker;
#[cfg(target_os = "linux")]
mod worker_trees;
mod workspace;

use std::path::Path;

use planwright_testkit::wiring::unwired;

#[test]
fn every_test_file_is_wired_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    assert_eq!(unwired(&folder), [""; 0]);
}
