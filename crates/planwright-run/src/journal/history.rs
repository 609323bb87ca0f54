//! A journal that was read: its records, and the changes and states that follow from them. Changes nothing.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use memchr::memmem;
use planwright_core::plan::State;

use super::frame::{JournalHeader, JournalScan, VERSION};
use super::hunks;
use super::records::{
    ChangeRecord, JournalEvent, JournalRecord, ManualVerification, PlanMoveRecord, StateChange, TextChange,
};
use crate::digest::Digest;

/// The records of a plan, oldest first. They are parsed on demand.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(super) bytes: Vec<u8>,
    pub(super) records: Vec<Range<usize>>,
    pub(super) header: Option<JournalHeader>,
    pub(super) version: u32,
    /// The number of unfinished bytes at the end.
    pub(super) n_torn: usize,
    /// The changes, computed on first use.
    changes: OnceCell<Vec<PastChange>>,
}

/// A change with its record and its outcome.
#[derive(Clone, Debug)]
pub struct PastChange {
    /// The number of its record in the journal. Other records are counted, too.
    pub seq: u64,
    /// Its number among the changes of the plan, counted from 1, as users see it; 0 for the record that a run first read the plan.
    pub number: u64,
    pub time: String,
    pub change: ChangeRecord,
    pub outcome: ChangeOutcome,
    /// The change that undid it.
    pub undone_by: Option<u64>,
    /// The number of that change as users see it.
    pub undone_by_number: Option<u64>,
    /// The path that it moved the plan file to, from the root of the workspace. Such a change changes nothing else.
    pub moved_to: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// It is valid.
    Landed,
    /// It never happened.
    Void,
    /// When planwright next read the file, it held neither the text before the change nor the one after it.
    Lost,
    /// It is in progress, or was when the process or the machine stopped.
    Pending,
}

/// The state of a task that is stored only in the journal.
#[derive(Clone, Debug)]
pub struct JournalTaskState {
    /// The last change of its state.
    pub state: StateChange,
    /// The number of the change that brought it.
    pub seq: u64,
    pub time: String,
    pub by: Option<String>,
    pub note: Option<String>,
    pub output: Option<String>,
}

impl History {
    pub(super) fn new(bytes: Vec<u8>, scan: JournalScan) -> Self {
        History {
            bytes,
            records: scan.records,
            header: scan.header,
            version: scan.version,
            n_torn: 0,
            changes: OnceCell::new(),
        }
    }

    /// Appends new records.
    pub(super) fn extend(&mut self, lines: &str, records: Vec<Range<usize>>, beginning: &JournalHeader) {
        self.changes.take();
        self.bytes.extend(lines.as_bytes());
        self.records.extend(records);
        self.header.get_or_insert_with(|| beginning.clone());
    }

    /// Returns the size of an incomplete record at the end of the journal. It is in progress, or was when the process or the machine
    /// stopped. The next writer cuts it.
    pub fn n_torn(&self) -> usize {
        self.n_torn
    }

    pub fn version(&self) -> u32 {
        self.version.max(VERSION)
    }

    /// Returns the records, oldest first, without those that this version cannot read.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = JournalRecord> {
        self.json().filter_map(|json| JournalRecord::from_json(json).ok())
    }

    /// Returns the JSON of each record.
    pub(super) fn json(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.records.iter().filter_map(|range| self.bytes.get(range.clone()))
    }

    /// Returns the changes, oldest first, with their outcomes. They include verifications, with the verb `verify`.
    pub fn changes(&self) -> &[PastChange] {
        self.changes.get_or_init(|| self.read_changes())
    }

    fn read_changes(&self) -> Vec<PastChange> {
        let mut changes: Vec<PastChange> = Vec::new();
        let mut places: HashMap<u64, usize> = HashMap::new();
        // The last started move, until it is complete or another record follows.
        let mut leaving: Option<u64> = None;
        for JournalRecord { seq, time, kind } in self.records() {
            // A move that another record follows did not happen: its process was killed before.
            if matches!(kind, JournalEvent::Change(_) | JournalEvent::Leaving(_))
                && let Some(left) = leaving.take().and_then(|seq| changes.get_mut(*places.get(&seq)?))
                && left.outcome == ChangeOutcome::Pending
            {
                left.outcome = ChangeOutcome::Void;
            }
            let (settled, outcome) = match kind {
                JournalEvent::Change(change) => {
                    places.insert(seq, changes.len());
                    let outcome = match change.text {
                        Some(_) => ChangeOutcome::Pending,
                        None => ChangeOutcome::Landed,
                    };
                    changes.push(PastChange::new(seq, time, *change, outcome));
                    continue;
                }
                JournalEvent::Leaving(own_move) => {
                    places.insert(seq, changes.len());
                    changes.push(PastChange::of_own_move(seq, time, own_move));
                    leaving = Some(seq);
                    continue;
                }
                JournalEvent::Verified(verified) => {
                    changes.push(PastChange::of_verification(seq, time, *verified));
                    continue;
                }
                JournalEvent::Moved(moved) => {
                    let begun = leaving.take().and_then(|seq| changes.get_mut(*places.get(&seq)?));
                    if let Some(begun) = begun.filter(|begun| begun.moved_to.as_ref() == Some(&moved.to)) {
                        begun.outcome = ChangeOutcome::Landed;
                    }
                    continue;
                }
                JournalEvent::Landed(settled) => (settled.change, ChangeOutcome::Landed),
                JournalEvent::Void(settled) => (settled.change, ChangeOutcome::Void),
                JournalEvent::Lost(lost) => (lost.change, ChangeOutcome::Lost),
                _ => continue,
            };
            if let Some(change) = places.get(&settled).and_then(|&ix| changes.get_mut(ix)) {
                change.outcome = outcome;
            }
        }
        mark_undone(&mut changes, &places);
        changes
    }

    /// Returns the valid changes that can be undone, the last first: not undone, and no undo, move of the file or verification.
    pub fn undoables(&self) -> impl Iterator<Item = PastChange> + '_ {
        let does_something = |change: &ChangeRecord| {
            let is_written = change.text.is_some() || !change.states.is_empty();
            is_written || !change.moves.is_empty() || change.approval.is_some()
        };
        let is_open = move |change: &&PastChange| {
            change.outcome == ChangeOutcome::Landed
                && change.undone_by.is_none()
                && change.change.undoes.is_none()
                && change.moved_to.is_none()
                && does_something(&change.change)
        };
        self.changes().iter().rev().filter(is_open).cloned()
    }

    /// Returns the last valid change that gave a task a state, with that move.
    pub fn last_move_to(&self, task: &str, state: State) -> Option<(&PastChange, &StateChange)> {
        let holds = |past: &&PastChange| past.outcome != ChangeOutcome::Void && past.undone_by.is_none();
        self.changes().iter().rev().filter(holds).find_map(|past| {
            let mut moves = past.change.moves.iter().chain(&past.change.states);
            let is_it = |moved: &&StateChange| moved.task == task && State::from_word(&moved.to) == Some(state);
            moves.find(is_it).map(|moved| (past, moved))
        })
    }

    /// Returns the states of tasks that only the journal holds, by the dialect's own names. States of another plan that was at this path
    /// before do not count.
    pub fn task_states(&self) -> BTreeMap<String, JournalTaskState> {
        self.states_after(None)
    }

    /// Returns the same for the present text of the plan: a change that a kill left open counts if it is in the text.
    pub fn task_states_in(&self, text: &str) -> BTreeMap<String, JournalTaskState> {
        let open = self.pending().filter(|(_, change)| change.after == Digest::of(text));
        self.states_after(open.map(|(seq, _)| seq))
    }

    /// `open` is an open change that is in the file.
    fn states_after(&self, open: Option<u64>) -> BTreeMap<String, JournalTaskState> {
        let since = self.records().rev().find_map(|record| match record.kind {
            JournalEvent::Identified(identified) if identified.from.is_some() => Some(record.seq),
            _ => None,
        });
        let mut states = BTreeMap::new();
        for past in self.changes() {
            let is_landed = past.outcome == ChangeOutcome::Landed || Some(past.seq) == open;
            if !is_landed || past.seq < since.unwrap_or(0) {
                continue;
            }
            for state in &past.change.states {
                let note = state.note.clone().or_else(|| past.change.note.clone());
                let output = state.output.clone().or_else(|| past.change.output.clone());
                states.insert(
                    state.task.clone(),
                    JournalTaskState {
                        state: state.clone(),
                        seq: past.seq,
                        time: past.time.clone(),
                        by: past.change.by.clone(),
                        note,
                        output,
                    },
                );
            }
        }
        states
    }

    /// Returns whether the plan as a whole is approved. A new version needs a new approval.
    pub fn is_approved(&self) -> bool {
        let mut is_approved = false;
        for past in self.changes() {
            if past.outcome == ChangeOutcome::Void {
                continue;
            }
            match past.change.approval {
                Some(approval) => is_approved = approval,
                None if matches!(past.change.verb.as_str(), "replan" | "regenerate") => is_approved = false,
                None => {}
            }
        }
        is_approved
    }

    /// Returns whether it records which tasks were done when planwright first read the plan.
    pub(crate) fn has_beginning(&self) -> bool {
        memmem::find(&self.bytes, b"\"found_done\":[").is_some()
    }

    /// Returns the last recorded path and id of its plan.
    pub(super) fn owner(&self) -> Option<JournalHeader> {
        let mut owner = self.header.clone()?;
        // Quotes inside strings are escaped, so these bytes only occur as keys and values.
        let kinds = ["\"kind\":\"moved\"", "\"kind\":\"identified\""].map(memmem::Finder::new);
        let is_about_owner = |text: &[u8]| kinds.iter().any(|kind| kind.find(text).is_some());
        if !is_about_owner(&self.bytes) {
            return Some(owner);
        }
        for json in self.json().filter(|json| is_about_owner(json)) {
            match JournalRecord::from_json(json).map(|record| record.kind) {
                Ok(JournalEvent::Moved(moved)) => owner.path = moved.to,
                Ok(JournalEvent::Identified(identified)) => owner.id = identified.to,
                _ => {}
            }
        }
        Some(owner)
    }

    /// Returns the last finished or unfinished move of the plan by planwright itself.
    pub(super) fn last_own_move(&self) -> Option<PlanMoveRecord> {
        self.records().rev().find_map(|record| match record.kind {
            JournalEvent::Leaving(leaving) => Some(leaving),
            _ => None,
        })
    }

    /// Returns the change that may or may not have reached the file. There is at most one: a writer settles it before it writes another.
    pub(super) fn pending(&self) -> Option<(u64, TextChange)> {
        for record in self.records().rev() {
            match record.kind {
                JournalEvent::Change(change) => return Some((record.seq, change.text?)),
                JournalEvent::Landed(_) | JournalEvent::Void(_) | JournalEvent::Lost(_) => return None,
                _ => {}
            }
        }
        None
    }

    /// Returns the digest of the file when planwright last wrote or read it.
    pub(crate) fn last_seen(&self) -> Option<Digest> {
        let mut records = self.records().rev();
        while let Some(record) = records.next() {
            let (settled, is_landed) = match record.kind {
                JournalEvent::External(external) => return Some(external.after),
                JournalEvent::Lost(lost) => return Some(lost.found),
                JournalEvent::Landed(settled) => (settled.change, true),
                JournalEvent::Void(settled) => (settled.change, false),
                _ => continue,
            };
            // A move that did not happen left the text unchanged.
            if let JournalEvent::Change(change) = records.find(|record| record.seq == settled)?.kind {
                return change.text.map(|text| if is_landed { text.after } else { text.before });
            }
        }
        None
    }

    /// Returns the number of the next change, as users see it.
    pub(crate) fn next_number(&self) -> u64 {
        let numbers = self.changes().iter().map(|past| past.number);
        numbers.max().unwrap_or(0) + 1
    }

    pub(crate) fn next_seq(&self) -> u64 {
        self.records().next_back().map_or(1, |record| record.seq + 1)
    }
}

/// An undo counts if it is itself valid.
fn mark_undone(changes: &mut [PastChange], places: &HashMap<u64, usize>) {
    let counted = changes.iter_mut().filter(|past| !past.change.is_beginning());
    counted.zip(1..).for_each(|(past, number)| past.number = number);
    let undoings: Vec<(u64, u64, u64)> = changes
        .iter()
        .filter(|change| change.outcome == ChangeOutcome::Landed)
        .filter_map(|change| Some((change.change.undoes?, change.seq, change.number)))
        .collect();
    for (undone, by, number) in undoings {
        if let Some(change) = places.get(&undone).and_then(|&ix| changes.get_mut(ix)) {
            change.undone_by = Some(by);
            change.undone_by_number = Some(number);
        }
    }
}

impl PastChange {
    fn new(seq: u64, time: String, change: ChangeRecord, outcome: ChangeOutcome) -> Self {
        PastChange {
            seq,
            number: 0,
            time,
            change,
            outcome,
            undone_by: None,
            undone_by_number: None,
            moved_to: None,
        }
    }

    /// It changed nothing, and so it is valid.
    fn of_verification(seq: u64, time: String, verified: ManualVerification) -> Self {
        let change = ChangeRecord {
            verb: "verify".to_owned(),
            tasks: vec![verified.task.clone()],
            by: verified.by.clone(),
            verified: vec![verified],
            ..ChangeRecord::default()
        };
        PastChange::new(seq, time, change, ChangeOutcome::Landed)
    }

    /// Whether the plan has moved is unknown until the move is recorded.
    fn of_own_move(seq: u64, time: String, own_move: PlanMoveRecord) -> Self {
        let PlanMoveRecord { verb, to, by, .. } = own_move;
        let change = ChangeRecord {
            verb,
            by,
            ..ChangeRecord::default()
        };
        PastChange {
            moved_to: Some(to),
            ..PastChange::new(seq, time, change, ChangeOutcome::Pending)
        }
    }
}

impl TextChange {
    pub fn between(before: &str, after: &str) -> Self {
        let hunks = hunks::hunks(before, after);
        TextChange {
            before: Digest::of(before),
            after: Digest::of(after),
            around: hunks::surroundings(after, &hunks),
            hunks,
        }
    }

    /// Returns the text without the change, if only other places of it were edited since; none if the places of the change were edited, or
    /// are ambiguous.
    pub(crate) fn revert_around_edits(&self, text: &str) -> Option<String> {
        hunks::revert_around(text, &self.hunks, &self.around)
    }

    /// Returns the text before the change; none if `text` is not the result of the change.
    pub fn revert(&self, text: &str) -> Option<String> {
        (Digest::of(text) == self.after).then_some(())?;
        hunks::revert(text, &self.hunks)
    }

    /// Returns the text after the change; none if `text` is not what it started from.
    pub fn apply(&self, text: &str) -> Option<String> {
        (Digest::of(text) == self.before).then_some(())?;
        hunks::apply(text, &self.hunks)
    }
}
