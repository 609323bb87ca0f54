//! A task pack to edit, in all layouts of packs, and the checks of its edits.

use planwright_core::change::tasks::{Edit, NewTask, edit};
use planwright_core::change::{ChangedText, Open, Problem};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{Choice, DiskFacts};
use planwright_core::text::SourceText;

pub(crate) const NOW: &str = "2026-11-15T12:00:00.000Z";

pub(crate) fn attempt(text: &str, change: &Edit<'_>) -> Result<ChangedText, Problem> {
    let facts = DiskFacts::default();
    let choice = Choice::by_content(&facts);
    let open = Open::new(&SourceText::new(text), &choice);
    assert_eq!(
        open.inspection.count(Severity::Error),
        0,
        "{:?}",
        open.inspection.diagnostics
    );
    edit(&open, &choice, change, NOW)
}

pub(crate) fn text_of(changed: &ChangedText) -> String {
    changed.source.as_str().to_owned()
}

#[track_caller]
pub(crate) fn edited(text: &str, change: &Edit<'_>) -> (String, Vec<String>) {
    match attempt(text, change) {
        Ok(changed) => {
            let source = &changed.source;
            let notes = changed.notes.iter().filter_map(|note| note.words(source)).collect();
            (text_of(&changed), notes)
        }
        Err(problem) => panic!("{problem} ({})", problem.help()),
    }
}

/// Checks the new text by the lines that differ: removed ones with `-`, added ones with `+`.
#[track_caller]
pub(crate) fn check(text: &str, change: &Edit<'_>, expect: &[&str], expect_notes: &[&str]) {
    for newline in ["\n", "\r\n"] {
        let text = text.replace('\n', newline);
        let (new, notes) = edited(&text, change);
        assert_eq!(
            new.matches("\r\n").count(),
            if newline == "\n" { 0 } else { new.matches('\n').count() }
        );
        let found = difference(&text, &new);
        assert_eq!(found, expect);
        assert_eq!(notes, expect_notes);
    }
}

/// Returns the removed and added lines, by the longest run of lines in both texts.
pub(crate) fn difference(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let mut lengths = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            lengths[a][b] = if old[a] == new[b] {
                lengths[a + 1][b + 1] + 1
            } else {
                lengths[a + 1][b].max(lengths[a][b + 1])
            };
        }
    }
    let (mut a, mut b, mut found) = (0, 0, Vec::new());
    while a < old.len() || b < new.len() {
        if a < old.len() && b < new.len() && old[a] == new[b] {
            (a, b) = (a + 1, b + 1);
        } else if b == new.len() || (a < old.len() && lengths[a + 1][b] >= lengths[a][b + 1]) {
            found.push(format!("-{}", old[a]));
            a += 1;
        } else {
            found.push(format!("+{}", new[b]));
            b += 1;
        }
    }
    found
}

/// Returns a problem in words, after the line and the column of the obstacle.
pub(crate) fn with_place(text: &str, problem: &Problem) -> String {
    match problem.span() {
        Some(span) => {
            let place = SourceText::new(text).line_index().position(span.start);
            format!("line {}, column {}: {problem}", place.line, place.column)
        }
        None => problem.to_string(),
    }
}

#[track_caller]
pub(crate) fn check_refused(text: &str, change: &Edit<'_>, expect: &str) {
    let problem = attempt(text, change)
        .map(|changed| text_of(&changed))
        .expect_err("it is refused");
    assert_eq!(with_place(text, &problem), expect);
    assert!(!problem.help().is_empty());
}

const HEAD: &str = "---
title: Photos
type: task-pack
status: derived
date: 2026-05-11
spec_id: 2026-05-11-001-photos
source_plan: docs/plans/2026-05-11-001-feat-photos-plan.md
source_plan_hash: sha256:9ac7e5078de92e2900d4232473a3d7490a7aebf61f576a289fa9d87183984786
generated_by: spec-write-tasks
mode: derived
---

# Photos

## Overview

Photos.

## Source Summary

The plan.

## Traceability Matrix

| Source | Task(s) |
| --- | --- |
| U1 | T001 |

";

const CONTRACT: &str = r#"## Task Pack Contract

```json
{
  "schema_version": "task-pack/v1",
  "execution_waves": [
    { "wave": 1, "tasks": ["T001", "T002"] },
    { "wave": 2, "tasks": ["T003"] },
    { "wave": 3, "tasks": ["T004"] }
  ],
  "tasks": [
    {
      "task_id": "T001",
      "source_unit": "U1",
      "requirement_refs": ["R1", "R2"],
      "goal": "Read photos",
      "dependencies": [],
      "files": ["src/read.rs"],
      "test_focus": "Odd files",
      "done_signal": "It reads",
      "stop_if": "No photos",
      "wave": 1
    },
    {
      "task_id": "T002",
      "source_unit": "U2",
      "goal": "Show photos",
      "dependencies": [],
      "files": ["src/show.rs", "tests/show.rs"],
      "test_focus": "Large ones",
      "done_signal": "It shows",
      "stop_if": "No screen",
      "wave": 1,
      "parallelizable": true
    },
    {
      "task_id": "T003",
      "source_unit": "U3",
      "goal": "Sort photos",
      "dependencies": ["T001"],
      "files": ["src/sort.rs"],
      "test_focus": "Same dates",
      "done_signal": "They are sorted",
      "stop_if": "No dates",
      "wave": 2
    },
    {
      "task_id": "T004",
      "source_unit": "U4",
      "goal": "Share photos",
      "dependencies": ["T002", "T003"],
      "files": ["src/show.rs"],
      "test_focus": "No network",
      "done_signal": "They are shared",
      "stop_if": "No server",
      "wave": 3
    }
  ]
}
```

"#;

const TAIL: &str = "## Orientation Evidence

None.

## Validation Notes

None.

## Regeneration Rules

T002 is the one that changes most.
";

/// Cards as bullets with indented fields.
pub(crate) const BULLETS: &str = "## Task Cards

- T001
  task_id: T001
  source_unit: U1
  requirement_refs: R1, R2
  goal: Read photos
  dependencies: []
  files:
    - `src/read.rs`
  wave: 1

- T002
  task_id: T002
  goal: Show photos
  dependencies: none
  files:
    - `src/show.rs`
    - `tests/show.rs`
  parallelizable: true
  wave: 1

- T003
  task_id: T003
  goal: Sort photos
  dependencies: [T001]
  files:
    - `src/sort.rs`
  wave: 2

- T004
  task_id: T004
  goal: Share photos
  dependencies:
    - T002
    - T003
  files:
    - `src/show.rs`
  wave: 3

";

/// Cards as headings with bullets.
pub(crate) const HEADINGS: &str = "## Task Cards

### T001 — Reading

- **source_unit:** U1
- **requirement_refs:** R1, R2
- **goal:** Read `photos`
- **dependencies:** []
- **files:**
  - `src/read.rs`
- **wave:** 1

---

### T002 — Showing

- **goal:** Show photos
- **dependencies:** []
- **files:**
  - `src/show.rs`
  - `tests/show.rs`
- **wave:** 1

---

### T003 — Sorting

- **goal:** Sort photos
- **dependencies:** T001
- **files:** `src/sort.rs`
- **wave:** 2

---

### T004 — Sharing

- **goal:** Share photos
- **dependencies:** T002, T003
- **files:** `src/show.rs`
- **wave:** 3

---

";

pub(crate) fn pack(cards: &str) -> String {
    format!("{HEAD}{CONTRACT}{cards}{TAIL}")
}

/// The pack with its cards before the contract.
pub(crate) fn pack_with_cards_first(cards: &str) -> String {
    format!("{HEAD}{cards}{CONTRACT}{TAIL}")
}

pub(crate) fn new_task(title: &str, at: usize) -> NewTask<'_> {
    NewTask {
        beside: None,
        replaces: None,

        id: None,
        title,
        fields: &[
            ("source_unit", "U5"),
            ("files", "src/print.rs\ntests/print.rs"),
            ("test_focus", "Paper"),
            ("done_signal", "It prints"),
            ("stop_if", "No ink"),
        ],
        on: vec![],
        at,
        minted: "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0009",
    }
}

pub(crate) fn set<'a>(task_ix: usize, key: &'a str, value: &'a str) -> Edit<'a> {
    Edit::Set {
        task_ix,
        key,
        value: Some(value),
    }
}
