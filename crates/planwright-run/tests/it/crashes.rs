//! The machine stops, or the system returns an error, at every step of an update: the file has the old text or the new one, and the journal
//! shows which.

use planwright_run::files::DiskFiles;
use planwright_run::journal::{ChangeOutcome, JournalRepair, ManualVerification, PastChange};
use planwright_run::store::{self, PlanFile, StoreError, UpdateError};

use crate::faulty::{Fault, FaultyFiles};
use crate::workspace::{Outcomes, Workspace, add_line, plan_at, set_state, store_over};

/// Applies a fault at every step of an update, after some successful ones.
fn at_every_step(n_before: usize, fault: Fault, mut check: impl FnMut(&Workspace, &Outcomes, usize)) {
    for at in 0.. {
        let workspace = Workspace::new();
        for n in 0..n_before {
            workspace.add(&format!("before-{n}"));
        }
        let files = FaultyFiles::new(at, fault);
        let result = add_line(&store_over(&files), plan_at(&workspace.plan), "new");
        check(&workspace, &result, at);
        if !files.has_struck() {
            assert!(result.is_ok());
            assert!(at > 8, "an update has more steps than {at}");
            return;
        }
    }
}

/// Checks what must hold after any fault: old or new text, the next update works, and the journal is right.
fn check_aftermath(workspace: &Workspace, result: &Outcomes, n_before: usize, context: &str) {
    let before: String = (0..n_before).map(|n| format!("before-{n}\n")).collect();
    let (old, new) = (format!("first\n{before}"), format!("first\n{before}new\n"));
    let found = workspace.text();
    assert!(found == old || found == new, "{context}: {found:?}");
    if result.is_ok() {
        assert_eq!(found, new, "{context}: it was acknowledged");
    }
    workspace.add("next");
    assert_eq!(workspace.text(), format!("{found}next\n"), "{context}");
    assert_eq!(workspace.names(), ["plan.txt"], "{context}");

    let outcomes = workspace.outcomes();
    let of = |task: &str| -> Vec<ChangeOutcome> {
        let fitting = outcomes.iter().filter(|(name, _)| name == task);
        fitting.map(|(_, outcome)| *outcome).collect()
    };
    for n in 0..n_before {
        assert_eq!(of(&format!("before-{n}")), [ChangeOutcome::Landed], "{context}");
    }
    assert_eq!(of("next"), [ChangeOutcome::Landed], "{context}");
    match found == new {
        true => assert_eq!(of("new"), [ChangeOutcome::Landed], "{context}"),
        false => assert!(
            of("new").iter().all(|outcome| *outcome == ChangeOutcome::Void),
            "{context}"
        ),
    }
    check_replay(workspace, context);
}

/// Checks that undoing every landed change, from the newest to the oldest, gives the first text.
fn check_replay(workspace: &Workspace, context: &str) {
    let mut text = workspace.text();
    let landed = workspace.history().changes().to_vec().into_iter().rev();
    for past in landed.filter(|past| past.outcome == ChangeOutcome::Landed) {
        let change = past.change.text.expect("every change has a text");
        text = change
            .revert(&text)
            .unwrap_or_else(|| panic!("{context}: change {} does not fit", past.seq));
    }
    assert_eq!(text, "first\n", "{context}");
}

#[test]
fn a_process_that_dies_at_any_step_loses_nothing() {
    for n_before in [0, 1, 3] {
        at_every_step(n_before, Fault::Kill, |workspace, result, at| {
            check_aftermath(
                workspace,
                result,
                n_before,
                &format!("killed at step {at} after {n_before}"),
            );
        });
    }
}

#[test]
fn a_verification_that_is_cut_off_at_any_step_harms_nothing() {
    for fault in [Fault::Kill, Fault::PowerCut, Fault::Tear(20)] {
        for at in 0.. {
            let workspace = Workspace::new();
            workspace.add("before");
            let files = FaultyFiles::new(at, fault);
            let verified = ManualVerification {
                task: "before".to_owned(),
                passed: true,
                ..ManualVerification::default()
            };
            let recorded = store_over(&files).record_verified(plan_at(&workspace.plan), verified);
            let is_there = |past: &PastChange| past.change.verb == "verify";
            let n_there = workspace
                .history()
                .changes()
                .iter()
                .filter(|past| is_there(past))
                .count();
            assert!(recorded.is_err() || n_there == 1, "{at}: it was acknowledged");
            workspace.add("next");
            assert_eq!(workspace.text(), "first\nbefore\nnext\n");
            if !files.has_struck() {
                assert!(recorded.is_ok() && at > 3, "{at}");
                break;
            }
        }
    }
}

#[test]
fn a_power_cut_at_any_step_loses_nothing() {
    for n_before in [0, 1, 3] {
        at_every_step(n_before, Fault::PowerCut, |workspace, result, at| {
            let context = format!("power cut at step {at} after {n_before}");
            check_aftermath(workspace, result, n_before, &context);
            let ignore = std::fs::read_to_string(workspace.path().join(".planwright/.gitignore"));
            assert_eq!(ignore.expect("it is made"), "*\n", "{context}");
        });
    }
}

#[test]
fn a_torn_write_at_any_step_loses_nothing() {
    for n_before in [0, 2] {
        for n_bytes in [0, 1, 8, 9, 20, 63, 64, 65, 150, 300, 600] {
            at_every_step(n_before, Fault::Tear(n_bytes), |workspace, result, at| {
                let context = format!("torn after {n_bytes} bytes from step {at} after {n_before}");
                check_aftermath(workspace, result, n_before, &context);
            });
        }
    }
}

#[test]
fn an_io_error_at_any_step_keeps_the_old_text() {
    const ENOSPC: i32 = 28;
    const EIO: i32 = 5;
    const EROFS: i32 = 30;
    const EACCES: i32 = 13;
    for code in [ENOSPC, EIO, EROFS, EACCES] {
        for fault in [Fault::Refuse(code), Fault::RefuseAll(code)] {
            for n_before in [0, 1] {
                at_every_step(n_before, fault, |workspace, result, at| {
                    let context = format!("{fault:?} at step {at} after {n_before}");
                    check_refusal(workspace, result, n_before, code, &context);
                    check_aftermath(workspace, result, n_before, &context);
                });
            }
        }
    }
}

fn check_refusal(workspace: &Workspace, result: &Outcomes, n_before: usize, code: i32, context: &str) {
    let text = workspace.text();
    let is_old = text.lines().count() == n_before + 1;
    let error = match result {
        Ok(_) => return,
        Err(UpdateError::Store(error)) => error,
        Err(UpdateError::Refused(_)) => unreachable!("nobody refuses"),
    };
    let message = error.to_string();
    if let StoreError::NotConfirmed { .. } = error {
        assert!(!is_old && message.contains("was replaced"), "{context}: {message}");
        return;
    }
    assert!(is_old, "{context}: {message}");
    assert!(message.contains("was not changed"), "{context}: {message}");
    assert!(
        error.help().contains("nothing was written") || code == 5,
        "{context}: {}",
        error.help()
    );
    match code {
        28 => assert!(matches!(error, StoreError::Full { .. }), "{context}: {message}"),
        30 | 13 => assert!(matches!(error, StoreError::ReadOnly { .. }), "{context}: {message}"),
        _ => {}
    }
}

#[test]
fn a_change_without_its_landed_mark_is_recognised() {
    let mut n_unmarked = 0;
    at_every_step(1, Fault::Refuse(28), |workspace, result, _| {
        if let Ok(updated) = result
            && updated.notices == [JournalRepair::NotMarked]
        {
            n_unmarked += 1;
            assert_eq!(workspace.outcomes()[1].1, ChangeOutcome::Pending);
            let next = workspace.add("next");
            let settled = JournalRepair::Settled {
                change: updated.change.expect("a change"),
                outcome: ChangeOutcome::Landed,
            };
            assert_eq!(next.notices, [settled]);
        }
    });
    assert_eq!(n_unmarked, 2, "its write and its sync");
}

#[test]
fn a_state_is_there_or_not_after_a_crash_at_any_step() {
    for fault in [Fault::Kill, Fault::PowerCut, Fault::Tear(50), Fault::Refuse(28)] {
        for at in 0.. {
            let workspace = Workspace::new();
            let plan = plan_at(&workspace.plan);
            set_state(&store_over(&DiskFiles), plan, "T1", "running").expect("an update");
            let files = FaultyFiles::new(at, fault);
            let result = set_state(&store_over(&files), plan, "T1", "done");
            let state = workspace.history().task_states()["T1"].state.clone();
            assert!(state.to == "done" || state.to == "running");
            assert!(
                result.is_err() || state.to == "done",
                "{fault:?} at {at}: it was acknowledged"
            );
            let next = set_state(&store_over(&DiskFiles), plan, "T1", "pending").expect("an update");
            assert_eq!(next.source.as_str(), "first\n");
            let after = workspace.history().task_states()["T1"].state.clone();
            assert_eq!((after.from, after.to), (Some(state.to), "pending".to_owned()));
            if !files.has_struck() {
                break;
            }
        }
    }
}

#[test]
fn a_crash_while_a_moved_plan_takes_its_journal_along_loses_nothing() {
    for fault in [
        Fault::Kill,
        Fault::PowerCut,
        Fault::Tear(70),
        Fault::Refuse(28),
        Fault::RefuseAll(30),
    ] {
        for at in 0.. {
            let workspace = Workspace::new();
            let id = Some("p1");
            let old = PlanFile {
                path: &workspace.write("old.txt", "first\n"),
                id,
            };
            let new = PlanFile {
                path: &workspace.path().join("new.txt"),
                id,
            };
            add_line(&store_over(&DiskFiles), old, "before").expect("an update");
            // Another plan, which does not exist, was at the new path.
            let gone = PlanFile {
                path: &workspace.write("new.txt", "other\n"),
                id: Some("p2"),
            };
            add_line(&store_over(&DiskFiles), gone, "other").expect("an update");
            std::fs::rename(old.path, new.path).expect("moved");
            let files = FaultyFiles::new(at, fault);
            let result = add_line(&store_over(&files), new, "new");
            let context = format!("{fault:?} at step {at}");
            add_line(&store_over(&DiskFiles), new, "next").expect("an update");
            let text = std::fs::read_to_string(new.path).expect("read");
            let is_new = text == "first\nbefore\nnew\nnext\n";
            assert!(is_new || text == "first\nbefore\nnext\n", "{context}: {text:?}");
            assert!(is_new || result.is_err(), "{context}");
            let history = store::history(new).expect("a history");
            let landed = history
                .changes()
                .iter()
                .filter(|past| past.outcome == ChangeOutcome::Landed);
            let tasks: Vec<String> = landed.flat_map(|past| past.change.tasks.clone()).collect();
            let expected = if is_new {
                &["before", "new", "next"][..]
            } else {
                &["before", "next"][..]
            };
            assert_eq!(tasks, expected, "{context}");
            let journals = std::fs::read_dir(workspace.path().join(".planwright/journal")).expect("a folder");
            assert_eq!(journals.count(), 2, "{context}: that of the other plan is kept");
            if !files.has_struck() {
                break;
            }
        }
    }
}
