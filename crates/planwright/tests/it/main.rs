//! Runs of the real binary.

mod action;
#[cfg(unix)]
mod advice;
mod aimi_cli;
mod aimi_cli_files;
mod approvals;
#[cfg(target_os = "linux")]
mod arbiter;
#[cfg(target_os = "linux")]
mod attacks;
mod bad_input;
mod blocked_changes;
mod changes;
mod check;
#[cfg(target_os = "linux")]
mod claims;
mod clido;
mod contention;
mod conversions;
mod daily;
mod doctor;
mod documentation;
mod examples;
mod exits;
mod first_commands;
#[cfg(target_os = "linux")]
mod first_run;
mod gates;
#[cfg(target_os = "linux")]
mod hostile_text;
mod import_answers;
mod json_calls;
#[cfg(target_os = "linux")]
mod land;
#[cfg(target_os = "linux")]
mod language;
mod layering;
#[cfg(target_os = "linux")]
mod model;
#[cfg(target_os = "linux")]
mod planners;
mod planning;
mod plans;
#[cfg(target_os = "linux")]
mod printed_commands;
mod proposals;
#[cfg(target_os = "linux")]
mod quoted_plans;
#[cfg(target_os = "linux")]
mod reading;
mod refusals;
#[cfg(target_os = "linux")]
mod replanning;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod run_baseline;
#[cfg(target_os = "linux")]
mod run_checklists;
#[cfg(target_os = "linux")]
mod run_concurrent_edits;
#[cfg(target_os = "linux")]
mod run_crash;
#[cfg(target_os = "linux")]
mod run_day;
#[cfg(target_os = "linux")]
mod run_decisions;
mod run_dialects;
#[cfg(target_os = "linux")]
mod run_failures;
#[cfg(target_os = "linux")]
mod run_fence;
#[cfg(target_os = "linux")]
mod run_git_agents;
#[cfg(target_os = "linux")]
mod run_git_kills;
#[cfg(target_os = "linux")]
mod run_git_locks;
#[cfg(target_os = "linux")]
mod run_git_tricks;
#[cfg(target_os = "linux")]
mod run_git_users;
#[cfg(target_os = "linux")]
mod run_hostile_conditions;
#[cfg(target_os = "linux")]
mod run_isolation;
#[cfg(target_os = "linux")]
mod run_landing;
#[cfg(target_os = "linux")]
mod run_limits;
#[cfg(target_os = "linux")]
mod run_protected_files;
#[cfg(target_os = "linux")]
mod run_replans;
mod run_reports;
#[cfg(target_os = "linux")]
mod run_reviews;
#[cfg(target_os = "linux")]
mod run_schedule;
#[cfg(target_os = "linux")]
mod run_signals;
#[cfg(target_os = "linux")]
mod run_status_sources;
#[cfg(target_os = "linux")]
mod run_takeovers;
#[cfg(target_os = "linux")]
mod run_trust;
mod runs;
mod sandbox;
#[cfg(target_os = "linux")]
mod secrets;
mod seeds;
mod settings;
#[cfg(target_os = "linux")]
mod shells;
mod space;
mod spec_first;
#[cfg(target_os = "linux")]
mod task_packs;
#[cfg(unix)]
mod terminal;
#[cfg(all(target_os = "linux", debug_assertions))]
mod torture;
mod transcripts;
mod usage;
mod verification;
mod views;

use std::path::Path;

use planwright_testkit::wiring::unwired;

#[test]
fn every_test_file_is_wired_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    assert_eq!(unwired(&folder), [""; 0]);
}

#[test]
fn every_snapshot_is_used() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let list = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("a readable folder").flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| path.is_file())
            .collect::<Vec<_>>()
    };
    let sources: String = list(&folder)
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("a readable file"))
        .collect();
    for path in list(&folder.join("snapshots")) {
        let stem = path.file_stem().expect("a file name").to_string_lossy();
        assert!(
            sources.contains(&format!("\"{stem}\"")),
            "{} is used nowhere",
            path.display()
        );
    }
}
