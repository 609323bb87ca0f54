//! Journals that are torn, damaged, old or new.

use planwright_run::files::DiskFiles;
use planwright_run::journal::{ChangeOutcome, JournalError, JournalEvent, JournalRepair};
use planwright_run::store::{self, StoreError, UpdateError};

use crate::workspace::{Outcomes, Workspace, add_line, plan_at, store_over};

fn add(workspace: &Workspace, line: &str) -> Outcomes {
    add_line(&store_over(&DiskFiles), plan_at(&workspace.plan), line)
}

/// Returns a workspace with three changes, and its journal.
fn three() -> (Workspace, Vec<u8>) {
    let workspace = Workspace::new();
    for line in ["a", "b", "c"] {
        workspace.add(line);
    }
    let bytes = std::fs::read(workspace.journal()).expect("read");
    (workspace, bytes)
}

#[test]
fn a_journal_cut_at_any_byte_is_cut_to_whole_records_and_reported() {
    let (workspace, bytes) = three();
    let journal = workspace.journal();
    let text = workspace.text();
    for n_bytes in 0..bytes.len() {
        std::fs::write(&journal, &bytes[..n_bytes]).expect("written");
        std::fs::write(&workspace.plan, &text).expect("written");
        let n_whole = bytes[..n_bytes].iter().filter(|&&byte| byte == b'\n').count();
        let shown = workspace.history().records().count();
        assert_eq!(shown, n_whole.saturating_sub(1), "a reader sees whole records");
        assert_eq!(
            std::fs::read(&journal).expect("read").len(),
            n_bytes,
            "a reader cuts nothing"
        );

        let updated = workspace.add("next");
        let is_torn = n_bytes > 0 && bytes[n_bytes - 1] != b'\n';
        let is_reported = updated
            .notices
            .iter()
            .any(|notice| matches!(notice, JournalRepair::TornTail { .. }));
        assert_eq!(is_reported, is_torn, "{n_bytes}");
        let after = std::fs::read(&journal).expect("read");
        let n_kept = bytes[..n_bytes]
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        assert!(after.starts_with(&bytes[..n_kept]), "whole records stay as they are");
        let history = workspace.history();
        let seqs: Vec<u64> = history.records().map(|record| record.seq).collect();
        assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{n_bytes}: {seqs:?}");
        assert!(
            history
                .changes()
                .to_vec()
                .iter()
                .all(|past| past.outcome != ChangeOutcome::Pending)
        );
        assert_eq!(
            history
                .records()
                .any(|record| matches!(record.kind, JournalEvent::Cut(_))),
            is_torn
        );
    }
}

#[test]
fn damage_before_sound_records_is_refused_with_its_place() {
    let (workspace, bytes) = three();
    let journal = workspace.journal();
    let lines: Vec<usize> = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1)
        .collect();
    let mut damaged = bytes.clone();
    damaged[lines[1] + 30] ^= 1;
    std::fs::write(&journal, &damaged).expect("written");
    let before = workspace.text();
    let Err(UpdateError::Store(error)) = add(&workspace, "next") else {
        panic!("it is damaged");
    };
    let StoreError::Journal { journal: cause, .. } = &error else {
        panic!("{error}");
    };
    assert!(
        matches!(cause, JournalError::Corrupt { offset, .. } if *offset == lines[1]),
        "{error}"
    );
    assert!(error.to_string().contains("was not changed"), "{error}");
    assert!(error.help().contains("backup"));
    assert_eq!(workspace.text(), before);
    assert_eq!(std::fs::read(&journal).expect("read"), damaged, "nothing was cut");
    assert!(store::history(plan_at(&workspace.plan)).is_err());
}

#[test]
fn a_newer_journal_is_read_and_never_written() {
    let (workspace, bytes) = three();
    let journal = workspace.journal();
    let newer = String::from_utf8(bytes)
        .expect("text")
        .replacen("planwright-journal 1 ", "planwright-journal 2 ", 1);
    for text in [
        newer.clone(),
        newer[..newer.len() - 5].to_owned(),
        "planwright-journal 17 ???\n".to_owned(),
    ] {
        std::fs::write(&journal, &text).expect("written");
        let Err(UpdateError::Store(error)) = add(&workspace, "next") else {
            panic!("it is newer");
        };
        assert!(error.to_string().contains("this planwright writes 1"), "{error}");
        assert_eq!(std::fs::read_to_string(&journal).expect("read"), text);
    }
    std::fs::write(&journal, &newer).expect("written");
    assert_eq!(workspace.history().changes().to_vec().len(), 3);
    assert_eq!(workspace.history().version(), 2);
}

#[test]
fn a_change_that_cannot_be_settled_is_reported() {
    let (workspace, bytes) = three();
    let journal = workspace.journal();
    // Without its last line it is unknown whether the third change landed, and then another program edits the file.
    let last = bytes[..bytes.len() - 1]
        .iter()
        .rposition(|&byte| byte == b'\n')
        .expect("lines")
        + 1;
    std::fs::write(&journal, &bytes[..last]).expect("written");
    assert_eq!(workspace.outcomes()[2].1, ChangeOutcome::Pending);
    std::fs::write(&workspace.plan, "theirs\n").expect("written");
    let updated = workspace.add("next");
    let outcome = ChangeOutcome::Lost;
    assert_eq!(updated.notices, [JournalRepair::Settled { change: 5, outcome }]);
    let outcomes: Vec<ChangeOutcome> = workspace.outcomes().into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(
        outcomes,
        [
            ChangeOutcome::Landed,
            ChangeOutcome::Landed,
            ChangeOutcome::Lost,
            ChangeOutcome::Landed
        ]
    );
}

/// Written by the first version, with a kind and a field from later ones added. It must be readable forever.
const SAMPLE: &str = include_str!("../samples/journal-v1.journal");

#[test]
fn the_sample_of_version_1_loads_and_is_added_to() {
    let (workspace, _) = three();
    std::fs::write(workspace.journal(), SAMPLE).expect("written");
    std::fs::write(&workspace.plan, "first\na\n").expect("written");
    let history = workspace.history();
    let kinds: Vec<String> = history.records().map(|record| record.kind.name().to_owned()).collect();
    let expected = [
        "change",
        "landed",
        "change",
        "void",
        "change",
        "lost",
        "external",
        "cut",
        "moved",
        "identified",
        "run-started",
        "change",
    ];
    assert_eq!(kinds, expected);
    let changes = history.changes().to_vec();
    let outcomes: Vec<ChangeOutcome> = changes.iter().map(|past| past.outcome).collect();
    assert_eq!(
        outcomes,
        [
            ChangeOutcome::Landed,
            ChangeOutcome::Void,
            ChangeOutcome::Lost,
            ChangeOutcome::Landed
        ]
    );
    let first = &changes[0].change;
    assert_eq!((first.verb.as_str(), first.by.as_deref()), ("done", Some("ana")));
    assert_eq!(
        first
            .text
            .as_ref()
            .and_then(|text| text.revert("first\na\n"))
            .as_deref(),
        Some("first\n")
    );
    assert_eq!(history.task_states()["T1"].state.to, "running");

    workspace.add("next");
    let after = std::fs::read_to_string(workspace.journal()).expect("read");
    assert!(after.starts_with(SAMPLE), "what is not known is kept");
    assert_eq!(workspace.history().records().last().map(|record| record.seq), Some(14));
}
