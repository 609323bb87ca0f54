//! Law for any bytes as a journal or a log: whole records are read or refused, readers change nothing, and new records follow the
//! sound ones.

use std::cell::OnceCell;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_core::text::SourceText;
use planwright_run::files::DiskFiles;
use planwright_run::journal::{ChangeOutcome, ChangeRecord};
use planwright_run::layout::PlanPlace;
use planwright_run::runs::state::RunState;
use planwright_run::runs::{LogFollower, RunEvent, RunLog, records};
use planwright_run::store::{self, PlanFile, PreparedChange, Store};
use planwright_testkit::TempFolder;
use twox_hash::XxHash3_128;

use crate::input::{parts, text};

/// A workspace with one plan; its files are rewritten for every input.
struct JournalWorkspace {
    _folder: TempFolder,
    plan: PathBuf,
    journal: PathBuf,
    log: PathBuf,
}

thread_local! {
    static PLACE: OnceCell<JournalWorkspace> = const { OnceCell::new() };
}

impl JournalWorkspace {
    fn new() -> Self {
        let folder = TempFolder::new().expect("a folder");
        folder.write("planwright.toml", "").expect("a file");
        let plan = folder.write("plan.txt", "first\n").expect("a file");
        let journal = PlanPlace::of(&DiskFiles, &plan).expect("a place").journal();
        std::fs::create_dir_all(journal.parent().expect("a folder")).expect("a folder");
        JournalWorkspace {
            plan,
            journal,
            log: folder.path().join("run.journal"),
            _folder: folder,
        }
    }
}

pub(crate) fn hold(bytes: &[u8]) {
    let [journal, plan] = parts(bytes);
    let sealed = sealed(journal);
    PLACE.with(|place| {
        let place = place.get_or_init(JournalWorkspace::new);
        check_journal(place, &sealed, &text(plan));
        check_log(&place.log, &sealed);
    });
}

/// Inserts the right checksum into lines with eight dots in its place, because no fuzzer guesses one.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    const ASKS: &[u8] = b"........ ";
    let mut out = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let whole = line.strip_suffix(b"\n").unwrap_or(line);
        match whole.windows(ASKS.len()).position(|window| window == ASKS) {
            Some(at) => {
                let json = &whole[at + ASKS.len()..];
                out.extend_from_slice(&whole[..at]);
                out.extend_from_slice(format!("{:08x} ", XxHash3_128::oneshot(json) as u32).as_bytes());
                out.extend_from_slice(json);
                out.extend_from_slice(&line[whole.len()..]);
            }
            None => out.extend_from_slice(line),
        }
    }
    out
}

fn check_journal(place: &JournalWorkspace, bytes: &[u8], plan_text: &str) {
    std::fs::write(&place.plan, plan_text).expect("written");
    std::fs::write(&place.journal, bytes).expect("written");
    let plan = PlanFile {
        path: &place.plan,
        id: None,
    };
    let read = store::history(plan);
    assert_eq!(
        std::fs::read(&place.journal).expect("read"),
        bytes,
        "a reader changed it"
    );
    let Ok(history) = read else { return };
    let seqs: Vec<u64> = history.records().map(|record| record.seq).collect();
    assert!(seqs.len() <= bytes.len() / 10, "more records than lines");
    let _ = (history.task_states(), history.undoables().next());
    for past in history.changes() {
        if let Some(change) = &past.change.text {
            let _ = (change.apply(plan_text), change.revert(plan_text));
        }
    }
    let n_sound = bytes.len() - history.n_torn();
    let files = DiskFiles;
    let clock = || "2026-11-05T09:30:00.125Z".to_owned();
    let store = Store {
        files: &files,
        clock: &clock,
        patience: Duration::from_millis(20),
        ..Store::default()
    };
    let updated = store.update::<Infallible>(plan, "add", |source, _| {
        Ok(Some(PreparedChange {
            text: Some(SourceText::new(format!("{}next\n", source.as_str()))),
            change: ChangeRecord {
                verb: "add".to_owned(),
                ..ChangeRecord::default()
            },
        }))
    });
    let now = std::fs::read(&place.journal).unwrap_or_default();
    match updated {
        Ok(updated) => {
            assert!(now.starts_with(&bytes[..n_sound]), "sound records were changed");
            let text = std::fs::read_to_string(&place.plan).expect("read");
            assert_eq!(
                (text.as_str(), text.ends_with("next\n")),
                (updated.source.as_str(), true)
            );
            check_added(plan, &seqs, updated.change);
        }
        Err(_) => {
            assert_eq!(now, bytes, "refused, and changed");
            assert_eq!(std::fs::read_to_string(&place.plan).expect("read"), plan_text);
        }
    }
}

/// Checks that the change is the last one, has landed, and has a new number.
fn check_added(plan: PlanFile<'_>, before: &[u64], change: Option<u64>) {
    let history = store::history(plan).unwrap_or_else(|error| panic!("what was written cannot be read: {error}"));
    assert_eq!(history.n_torn(), 0);
    let last = history.changes().last().cloned().expect("a change");
    assert_eq!((Some(last.seq), last.outcome), (change, ChangeOutcome::Landed));
    let all: Vec<u64> = history.records().map(|record| record.seq).collect();
    assert!(all.starts_with(before), "records were lost: {before:?} {all:?}");
    if before.is_sorted_by(|one, other| one < other) {
        assert!(all.is_sorted_by(|one, other| one < other), "{all:?}");
    }
}

fn check_log(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("written");
    let read = records(&DiskFiles, path);
    let followed = LogFollower::new(path).more();
    assert_eq!(std::fs::read(path).expect("read"), bytes, "a reader changed it");
    if let Ok(read) = &read {
        let run_state = RunState::of(read);
        assert!(run_state.tasks().len() <= read.len());
        if let Ok(followed) = &followed {
            let seqs = |records: &[planwright_run::runs::RunRecord]| {
                records.iter().map(|record| record.seq).collect::<Vec<_>>()
            };
            assert_eq!(seqs(followed), seqs(read), "a follower reads other records");
        }
    }
    let resumed = RunLog::resume(&DiskFiles, path);
    match (read, resumed) {
        (Ok(read), Ok(mut resumed)) => {
            assert_eq!(resumed.records.len(), read.len());
            let event = RunEvent::Remark(Default::default());
            let seq = resumed.log.add("2026-11-16T04:00:00.000Z", &event).expect("added");
            resumed.log.commit().expect("committed");
            let again = records(&DiskFiles, path).expect("what was written can be read");
            let n_new = 1 + usize::from(resumed.n_cut > 0);
            assert_eq!(again.len(), read.len() + n_new);
            assert_eq!(again.last().map(|record| record.seq), Some(seq));
        }
        (Err(_), Ok(_)) => panic!("a log that cannot be read was resumed"),
        (_, Err(_)) => assert_eq!(std::fs::read(path).expect("read"), bytes, "refused, and changed"),
    }
}
