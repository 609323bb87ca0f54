//! Logs of runs: written in one write, torn, damaged, followed, old and new.

use std::path::{Path, PathBuf};

use planwright_run::files::{DiskFiles, Files};
use planwright_run::journal::{JournalError, JournalHeader, UnknownRecord};
use planwright_run::runs::{
    AttemptEndRecord, AttemptRecord, LogFollower, Outcome, RunEvent, RunLog, RunPlace, RunRecord, RunStartRecord, list,
    records,
};

use crate::faulty::{Fault, FaultyFiles};

const TIME: &str = "2026-11-16T04:00:00.000Z";

fn header() -> JournalHeader {
    JournalHeader {
        path: "tasks.json".to_owned(),
        id: Some("run-1".to_owned()),
    }
}

fn starting(task: &str) -> RunEvent {
    RunEvent::AttemptStarting(AttemptRecord {
        task: task.to_owned(),
        attempt: 1,
        agent: "mock".to_owned(),
        ..AttemptRecord::default()
    })
}

fn finished(task: &str) -> RunEvent {
    RunEvent::AttemptEnded(AttemptEndRecord {
        task: task.to_owned(),
        attempt: 1,
        outcome: Outcome::of("done"),
        cost_usd: Some(0.25),
        tokens: Some([10, 20]),
        ..AttemptEndRecord::default()
    })
}

fn log_in(folder: &Path) -> PathBuf {
    folder.join("run-1.journal")
}

/// Writes a log of a start and two tasks, in two commits.
fn write(files: &dyn Files, path: &Path) -> Result<(), JournalError> {
    let mut log = RunLog::begin(files, path, &header())?;
    log.add(
        TIME,
        &RunEvent::RunStarted(Box::new(RunStartRecord {
            pid: 7,
            slots: 2,
            n_tasks: 2,
            ..RunStartRecord::default()
        })),
    )?;
    log.add(TIME, &starting("a"))?;
    log.add(TIME, &starting("b"))?;
    log.commit()?;
    log.add(TIME, &finished("a"))?;
    log.add(TIME, &finished("b"))?;
    log.commit()
}

fn names(records: &[RunRecord]) -> Vec<&str> {
    records.iter().map(|record| record.event.name()).collect()
}

const ALL: [&str; 5] = ["run-begun", "starting", "starting", "finished", "finished"];

#[test]
fn committed_records_are_read_back() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = log_in(folder.path());
    write(&DiskFiles, &path).expect("written");
    let found = records(&DiskFiles, &path).expect("read");
    assert_eq!(names(&found), ALL);
    assert!(found.iter().map(|record| record.seq).eq(1..=5));
    let RunEvent::AttemptEnded(last) = &found[4].event else {
        panic!("{found:?}");
    };
    assert_eq!(
        (last.task.as_str(), last.cost_usd, last.tokens),
        ("b", Some(0.25), Some([10, 20]))
    );
    // There is one log per run.
    assert!(RunLog::begin(&DiskFiles, &path, &header()).is_err());
}

#[test]
fn the_first_log_of_a_workspace_survives_a_power_cut() {
    for at in 0.. {
        let folder = tempfile::tempdir().expect("temp folder");
        let files = FaultyFiles::new(at, Fault::PowerCut);
        let written =
            RunPlace::create(&files, folder.path(), TIME).is_ok_and(|place| write(&files, &place.log()).is_ok());
        if written {
            // The power fails at the next step.
            assert!(files.create_folder(&folder.path().join("later")).is_err());
            let runs = list(&DiskFiles, folder.path()).expect("readable");
            let found = records(&DiskFiles, &runs.first().expect("the run is there").log()).expect("read");
            assert_eq!(names(&found), ALL);
            return;
        }
    }
}

#[test]
fn a_log_cut_at_any_byte_continues_after_its_last_whole_record() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = log_in(folder.path());
    write(&DiskFiles, &path).expect("written");
    let bytes = std::fs::read(&path).expect("read");
    let first_line = bytes.iter().position(|&byte| byte == b'\n').expect("a line") + 1;
    for n_bytes in 0..=bytes.len() {
        std::fs::write(&path, &bytes[..n_bytes]).expect("written");
        if n_bytes < first_line {
            assert!(RunLog::resume(&DiskFiles, &path).is_err(), "{n_bytes}: it never began");
            continue;
        }
        let mut resumed = RunLog::resume(&DiskFiles, &path).expect("it goes on");
        let n_whole = bytes[..n_bytes].iter().filter(|&&byte| byte == b'\n').count() - 1;
        assert_eq!(names(&resumed.records), ALL[..n_whole]);
        let is_torn = bytes[n_bytes - 1] != b'\n';
        assert_eq!(resumed.n_cut > 0, is_torn);
        resumed.log.add(TIME, &starting("c")).expect("added");
        resumed.log.commit().expect("durable");
        let found = records(&DiskFiles, &path).expect("read");
        let cut: &[&str] = if is_torn { &["cut"] } else { &[] };
        assert_eq!(names(&found), [&ALL[..n_whole], cut, &["starting"]].concat());
        assert!(found.iter().map(|record| record.seq).eq(1..=found.len() as u64));
    }
}

#[test]
fn damage_before_the_end_is_refused_with_its_place() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = log_in(folder.path());
    write(&DiskFiles, &path).expect("written");
    let bytes = std::fs::read(&path).expect("read");
    let third = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .nth(2)
        .expect("lines")
        .0
        + 1;
    let mut damaged = bytes.clone();
    damaged[third + 30] ^= 1;
    std::fs::write(&path, &damaged).expect("written");
    match records(&DiskFiles, &path) {
        Err(JournalError::Corrupt { offset, .. }) => assert_eq!(offset, third),
        found => panic!("{found:?}"),
    }
    assert!(RunLog::resume(&DiskFiles, &path).is_err());
    assert_eq!(std::fs::read(&path).expect("read"), damaged, "nothing is guessed away");
}

#[test]
fn a_crash_at_any_step_loses_nothing_that_was_committed() {
    for fault in [
        Fault::Kill,
        Fault::PowerCut,
        Fault::Tear(0),
        Fault::Tear(9),
        Fault::Tear(200),
        Fault::Refuse(28),
    ] {
        for step in 0.. {
            let folder = tempfile::tempdir().expect("temp folder");
            let path = log_in(folder.path());
            let files = FaultyFiles::new(step, fault);
            let mut n_committed = 0;
            let result = (|| {
                let mut log = RunLog::begin(&files, &path, &header())?;
                for task in ["a", "b", "c"] {
                    log.add(TIME, &starting(task))?;
                    log.add(TIME, &finished(task))?;
                    match log.commit() {
                        Ok(()) => n_committed += 2,
                        // A disk that is briefly full: the next commit writes the waiting records too.
                        Err(_) if matches!(fault, Fault::Refuse(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
                log.commit()
            })();
            if !files.has_struck() {
                result.expect("nothing went wrong");
                break;
            }
            let Ok(found) = records(&DiskFiles, &path) else {
                assert_eq!(n_committed, 0, "{fault:?} at {step}");
                continue;
            };
            assert!(
                found.len() >= n_committed,
                "{fault:?} at {step}: {} of {n_committed}",
                found.len()
            );
            assert!(found.iter().map(|record| record.seq).eq(1..=found.len() as u64));
        }
    }
}

#[test]
fn one_commit_writes_all_pending_records() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = log_in(folder.path());
    let mut log = RunLog::begin(&DiskFiles, &path, &header()).expect("begun");
    for n in 0..100 {
        log.add(TIME, &starting(&n.to_string())).expect("added");
    }
    assert!(log.has_waiting());
    assert_eq!(
        records(&DiskFiles, &path).expect("read").len(),
        0,
        "what waits is nobody's yet"
    );
    log.commit().expect("durable");
    assert!(!log.has_waiting());
    assert_eq!(records(&DiskFiles, &path).expect("read").len(), 100);
}

#[test]
fn a_follower_sees_every_record_once_and_no_half_line() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (path, grown) = (log_in(folder.path()), folder.path().join("grown"));
    write(&DiskFiles, &path).expect("written");
    let bytes = std::fs::read(&path).expect("read");
    let mut follower = LogFollower::new(&grown);
    let mut seen = Vec::new();
    for n_bytes in 0..=bytes.len() {
        std::fs::write(&grown, &bytes[..n_bytes]).expect("written");
        seen.extend(follower.more().expect("read"));
    }
    assert_eq!(names(&seen), ALL);
}

#[test]
fn logs_of_other_versions_are_read_as_far_as_they_are_understood() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = log_in(folder.path());
    write(&DiskFiles, &path).expect("written");
    // What a later version adds is kept as it is.
    let later = UnknownRecord {
        kind: "teleported".to_owned(),
        body: serde_json::value::RawValue::from_string(r#"{"to":"mars"}"#.to_owned()).expect("JSON"),
    };
    let mut log = RunLog::resume(&DiskFiles, &path).expect("it goes on").log;
    log.add(TIME, &RunEvent::Other(later)).expect("added");
    log.commit().expect("durable");
    let found = records(&DiskFiles, &path).expect("read");
    assert_eq!(found[5].event.name(), "teleported");
    let RunEvent::Other(kept) = &found[5].event else {
        panic!("{:?}", found[5]);
    };
    assert_eq!(kept.body.get(), r#"{"to":"mars"}"#);
    let mut resumed = RunLog::resume(&DiskFiles, &path).expect("it goes on");
    assert_eq!(resumed.log.add(TIME, &starting("c")).expect("added"), 7);
}

/// A log as the first version wrote it, with every kind of event. It is never rewritten.
const OLD_LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/run-v1.journal");

#[test]
fn a_log_of_the_first_version_is_read() {
    let path = Path::new(OLD_LOG);
    assert_eq!(
        planwright_run::runs::header(path).expect("a header").path,
        ".aimi/tasks/tasks.json"
    );
    let records = records(&DiskFiles, path).expect("a log that can be read");
    let kinds: Vec<&str> = records.iter().map(|record| record.event.name()).collect();
    assert_eq!(
        kinds,
        [
            "run-begun",
            "remark",
            "starting",
            "started",
            "projected",
            "finished",
            "verified",
            "resting",
            "starting",
            "started",
            "finished",
            "verified",
            "drift",
            "merged",
            "review",
            "paused",
            "resumed",
            "approved",
            "edited",
            "skipped",
            "cut",
            "stopping",
            "run-ended"
        ]
    );
    let run_state = planwright_run::runs::state::RunState::of(&records);
    assert_eq!((run_state.counts.n_attempts, run_state.spent.cost_usd), (2, Some(0.75)));
    let ended = run_state.ended.expect("an end");
    assert_eq!(
        (ended.standing.as_str(), ended.n_done, ended.n_skipped),
        ("stopped", 1, 1)
    );
    let RunEvent::Verified(verified) = &records[6].event else {
        panic!("a verification");
    };
    assert_eq!(
        (verified.passed, verified.receipts[0].exit.as_str()),
        (false, "exit 101")
    );
}
