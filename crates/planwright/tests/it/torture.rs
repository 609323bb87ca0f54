//! A part of the crash matrix, by a fixed seed. `cargo xtask torture` tries all of it.

use planwright_testkit::TempFolder;
use planwright_testkit::torture::{Torture, run};

use crate::sandbox::{Ran, Sandbox};

#[test]
fn faults_at_steps_of_all_kinds_lose_nothing() {
    let folder = TempFolder::in_memory().expect("a temporary folder");
    let tally = run(&Torture {
        binary: env!("CARGO_BIN_EXE_planwright").into(),
        folder: folder.path().to_owned(),
        seed: 6,
        n_faults: Some(240),
        only: None,
        n_users: 0,
        is_quick: true,
        n_workers: 2,
        say: &|_| {},
    });
    let tally = tally.expect("the folder is ours");
    assert!(tally.failures.is_empty(), "{:#?}", tally.failures);
    assert!(tally.total() > 200, "only {} faults struck", tally.total());
}

/// Tries a few faults of one scenario, by a fixed seed.
fn tries(only: &str, n_faults: Option<usize>, n_users: usize) {
    let folder = TempFolder::in_memory().expect("a temporary folder");
    let tally = run(&Torture {
        binary: env!("CARGO_BIN_EXE_planwright").into(),
        folder: folder.path().to_owned(),
        seed: 6,
        n_faults,
        only: Some(only.to_owned()),
        n_users,
        is_quick: false,
        n_workers: 1,
        say: &|_| {},
    });
    let tally = tally.expect("the folder is ours");
    assert!(tally.failures.is_empty(), "{:#?}", tally.failures);
    assert!(tally.total() > 0, "no fault struck");
}

#[test]
fn killing_git_and_stale_locks_lose_nothing() {
    tries("landing-merge", Some(6), 0);
}

#[test]
fn using_git_during_a_run_loses_nothing() {
    tries("users", None, 3);
}

/// Runs a command with a fault at each of its steps, each time in a new workspace.
fn at_every_step(kind: &str, args: &[&str], mut check: impl FnMut(&Sandbox, &Ran, u32)) {
    for step in 0..100 {
        let sandbox = Sandbox::new()
            .set("PLANWRIGHT_FAULT", &format!("{kind}@{step}"))
            .set("PLANWRIGHT_FAULT_LOG", "steps.log");
        let ran = sandbox.run(args);
        if !sandbox.read("steps.log").contains('!') {
            assert!(step > 3, "there are more steps than {step}");
            return;
        }
        check(&sandbox, &ran, step);
    }
}

#[test]
fn an_existing_file_is_not_reported_as_unwritten() {
    let mut n_unconfirmed = 0;
    at_every_step(
        "io",
        &["new", "clido", "Log in", "--out", "new.json"],
        |sandbox, ran, step| {
            let is_there = sandbox.path().join("new.json").exists();
            assert_eq!(
                ran.stderr.contains("nothing was written"),
                !is_there,
                "{step}: {}",
                ran.text()
            );
            n_unconfirmed += u32::from(is_there);
            if is_there && ran.status != Some(0) {
                assert!(ran.stderr.contains("could not confirm"), "{step}: {}", ran.text());
            }
        },
    );
    assert!(n_unconfirmed > 0, "the folder is synced at last");
}

#[test]
fn a_new_plan_never_has_two_names() {
    use std::os::unix::fs::MetadataExt as _;
    at_every_step(
        "kill",
        &["new", "clido", "Log in", "--out", "new.json"],
        |sandbox, _, step| {
            if let Ok(metadata) = sandbox.path().join("new.json").metadata() {
                assert_eq!(metadata.nlink(), 1, "killed at {step}");
            }
        },
    );
}
