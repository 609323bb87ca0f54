//! Edits of task packs: contract, waves and cards stay in step, in the layout they have, and nothing else changes.

use planwright_core::change::tasks::{Edit, NewTask, edit};
use planwright_core::change::{Changed, Open, Problem};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{Choice, Facts};
use planwright_core::text::SourceText;

const NOW: &str = "2026-11-15T12:00:00.000Z";

fn attempt(text: &str, change: &Edit<'_>) -> Result<Changed, Problem> {
    let facts = Facts::default();
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

fn text_of(changed: &Changed) -> String {
    changed.source.as_str().to_owned()
}

#[track_caller]
fn edited(text: &str, change: &Edit<'_>) -> (String, Vec<String>) {
    match attempt(text, change) {
        Ok(changed) => {
            let source = &changed.source;
            let notes = changed.notes.iter().filter_map(|note| note.words(source)).collect();
            (text_of(&changed), notes)
        }
        Err(problem) => panic!("{problem} ({})", problem.help()),
    }
}

/// Checks the new text by the lines that differ: those that go with `-`, those that come with `+`.
#[track_caller]
fn check(text: &str, change: &Edit<'_>, expect: &[&str], expect_notes: &[&str]) {
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

/// Returns the lines that go and come, by the longest run of lines that both texts have.
fn difference(old: &str, new: &str) -> Vec<String> {
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

/// Returns a problem in words, after the line and the column that are in the way.
fn with_place(text: &str, problem: &Problem) -> String {
    match problem.span() {
        Some(span) => {
            let place = SourceText::new(text).line_index().position(span.start);
            format!("line {}, column {}: {problem}", place.line, place.column)
        }
        None => problem.to_string(),
    }
}

#[track_caller]
fn check_refused(text: &str, change: &Edit<'_>, expect: &str) {
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
const BULLETS: &str = "## Task Cards

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
const HEADINGS: &str = "## Task Cards

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

fn pack(cards: &str) -> String {
    format!("{HEAD}{CONTRACT}{cards}{TAIL}")
}

/// The pack with its cards before the contract.
fn pack_with_cards_first(cards: &str) -> String {
    format!("{HEAD}{cards}{CONTRACT}{TAIL}")
}

fn new_task(title: &str, at: usize) -> NewTask<'_> {
    NewTask {
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

fn set<'a>(task_ix: usize, key: &'a str, value: &'a str) -> Edit<'a> {
    Edit::Set {
        task_ix,
        key,
        value: Some(value),
    }
}

#[test]
fn a_field_is_set_in_contract_and_card() {
    check(
        &pack(""),
        &set(1, "goal", "Show all"),
        &["-      \"goal\": \"Show photos\",", "+      \"goal\": \"Show all\","],
        &[],
    );
    check(
        &pack(BULLETS),
        &set(1, "goal", "Show all"),
        &[
            "-      \"goal\": \"Show photos\",",
            "+      \"goal\": \"Show all\",",
            "-  goal: Show photos",
            "+  goal: Show all",
        ],
        &[],
    );
    check(
        &pack_with_cards_first(HEADINGS),
        &set(0, "goal", "Read all"),
        &[
            "-- **goal:** Read `photos`",
            "+- **goal:** Read all",
            "-      \"goal\": \"Read photos\",",
            "+      \"goal\": \"Read all\",",
        ],
        &[],
    );
}

#[test]
fn lists_keep_the_form_they_have_on_the_card() {
    let files = set(1, "files", "src/show.rs\nsrc/wall.rs");
    check(
        &pack(BULLETS),
        &files,
        &[
            "-      \"files\": [\"src/show.rs\", \"tests/show.rs\"],",
            "+      \"files\": [\"src/show.rs\", \"src/wall.rs\"],",
            "-    - `tests/show.rs`",
            "+    - `src/wall.rs`",
        ],
        &[],
    );
    check(
        &pack(HEADINGS),
        &set(2, "files", "src/sort.rs\nsrc/date.rs"),
        &[
            "-      \"files\": [\"src/sort.rs\"],",
            "+      \"files\": [\"src/sort.rs\", \"src/date.rs\"],",
            "-- **files:** `src/sort.rs`",
            "+- **files:** `src/sort.rs`, `src/date.rs`",
        ],
        &[],
    );
    check(
        &pack(BULLETS),
        &set(0, "requirement_refs", "[\"R1\", \"R2\", \"R9\"]"),
        &[
            "-      \"requirement_refs\": [\"R1\", \"R2\"],",
            "+      \"requirement_refs\": [\"R1\", \"R2\", \"R9\"],",
            "-  requirement_refs: R1, R2",
            "+  requirement_refs: R1, R2, R9",
        ],
        &[],
    );
}

#[test]
fn fields_get_the_types_that_the_original_wants() {
    let parallel = set(0, "parallelizable", "false");
    check(
        &pack(BULLETS),
        &parallel,
        &[
            "-      \"wave\": 1",
            "+      \"wave\": 1,",
            "+      \"parallelizable\": false",
        ],
        &[],
    );
    check(
        &pack(BULLETS),
        &set(1, "parallelizable", "false"),
        &[
            "-      \"parallelizable\": true",
            "+      \"parallelizable\": false",
            "-  parallelizable: true",
            "+  parallelizable: false",
        ],
        &[],
    );
    let unset = Edit::Set {
        task_ix: 1,
        key: "parallelizable",
        value: None,
    };
    check(
        &pack(BULLETS),
        &unset,
        &[
            "-      \"wave\": 1,",
            "-      \"parallelizable\": true",
            "+      \"wave\": 1",
            "-  parallelizable: true",
        ],
        &[],
    );
    check_refused(
        &pack(""),
        &set(0, "parallelizable", "yes"),
        "`parallelizable` takes true or false, not `yes`",
    );
    check_refused(
        &pack(""),
        &set(0, "review_gate", "always"),
        "this would break the plan: Task 'T001' 'review_gate' must be 'optional' or 'required' when provided.",
    );
    check_refused(
        &pack(""),
        &set(0, "files", ".env"),
        "this would break the plan: Task 'T001' file points at a secret-denied path.",
    );
    check_refused(
        &pack(BULLETS),
        &set(0, "files", "src/show.rs"),
        "this would break the plan: Tasks 'T001' and 'T002' share file 'src/show.rs' in wave '1'.",
    );
    let unset = Edit::Set {
        task_ix: 1,
        key: "source_unit",
        value: None,
    };
    check_refused(
        &pack(""),
        &unset,
        "this would break the plan: Task 'T002' must include source_unit or requirement_refs.",
    );
}

#[test]
fn a_task_is_set_to_another_wave() {
    check(
        &pack(BULLETS),
        &set(1, "wave", "2"),
        &[
            "-    { \"wave\": 1, \"tasks\": [\"T001\", \"T002\"] },",
            "-    { \"wave\": 2, \"tasks\": [\"T003\"] },",
            "+    { \"wave\": 1, \"tasks\": [\"T001\"] },",
            "+    { \"wave\": 2, \"tasks\": [\"T002\", \"T003\"] },",
            "-      \"wave\": 1,",
            "+      \"wave\": 2,",
            "-  wave: 1",
            "+  wave: 2",
        ],
        &[],
    );
    // The last task of a wave takes it along; a number that is new has its place in the order.
    check(
        &pack(""),
        &set(3, "wave", "7"),
        &[
            "-    { \"wave\": 3, \"tasks\": [\"T004\"] }",
            "+    { \"wave\": 7, \"tasks\": [\"T004\"] }",
            "-      \"wave\": 3",
            "+      \"wave\": 7",
        ],
        &["wave 3 has no task left, and goes", "wave 7 is new"],
    );
    check(&pack(BULLETS), &set(1, "wave", "1"), &[], &[]);
    check_refused(
        &pack(BULLETS),
        &set(3, "wave", "2"),
        "this would break the plan: Task 'T004' depends on 'T003' in the same or a later wave.",
    );
    check_refused(
        &pack(""),
        &set(3, "wave", "last"),
        "line 34, column 22: there is no wave `last`, and the waves are numbered",
    );
}

#[test]
fn a_dependency_pushes_tasks_to_later_waves() {
    let depend = Edit::Depend {
        task_ix: 0,
        on: vec![1],
    };
    let notes = [
        "`T001` moves from wave 1 to wave 2",
        "`T003` moves from wave 2 to wave 3",
        "`T004` moves from wave 3 to wave 4",
        "wave 4 is new",
    ];
    let contract = [
        "-    { \"wave\": 1, \"tasks\": [\"T001\", \"T002\"] },",
        "-    { \"wave\": 2, \"tasks\": [\"T003\"] },",
        "-    { \"wave\": 3, \"tasks\": [\"T004\"] }",
        "+    { \"wave\": 1, \"tasks\": [\"T002\"] },",
        "+    { \"wave\": 2, \"tasks\": [\"T001\"] },",
        "+    { \"wave\": 3, \"tasks\": [\"T003\"] },",
        "+    { \"wave\": 4, \"tasks\": [\"T004\"] }",
        "-      \"dependencies\": [],",
        "+      \"dependencies\": [\"T002\"],",
        "-      \"wave\": 1",
        "+      \"wave\": 2",
        "-      \"wave\": 2",
        "+      \"wave\": 3",
        "-      \"wave\": 3",
        "+      \"wave\": 4",
    ];
    check(&pack(""), &depend, &contract, &notes);
    let bullets = [
        "-  dependencies: []",
        "+  dependencies: [T002]",
        "-  wave: 1",
        "+  wave: 2",
        "-  wave: 2",
        "+  wave: 3",
        "-  wave: 3",
        "+  wave: 4",
    ];
    check(
        &pack(BULLETS),
        &depend,
        &[contract.as_slice(), bullets.as_slice()].concat(),
        &notes,
    );
    let headings = [
        "-- **dependencies:** []",
        "+- **dependencies:** T002",
        "-- **wave:** 1",
        "+- **wave:** 2",
        "-- **wave:** 2",
        "+- **wave:** 3",
        "-- **wave:** 3",
        "+- **wave:** 4",
    ];
    check(
        &pack(HEADINGS),
        &depend,
        &[contract.as_slice(), headings.as_slice()].concat(),
        &notes,
    );
    let circle = Edit::Depend {
        task_ix: 0,
        on: vec![3],
    };
    let problem = attempt(&pack(BULLETS), &circle).map(|_| ()).expect_err("a circle");
    assert!(problem.to_string().contains("T001 -> T004"), "{problem}");
}

#[test]
fn waves_stay_where_a_dependency_goes() {
    let undepend = Edit::Undepend {
        task_ix: 3,
        on: vec![2],
    };
    check(
        &pack(BULLETS),
        &undepend,
        &[
            "-      \"dependencies\": [\"T002\", \"T003\"],",
            "+      \"dependencies\": [\"T002\"],",
            "-    - T003",
        ],
        &[],
    );
    check(
        &pack(HEADINGS),
        &undepend,
        &[
            "-      \"dependencies\": [\"T002\", \"T003\"],",
            "+      \"dependencies\": [\"T002\"],",
            "-- **dependencies:** T002, T003",
            "+- **dependencies:** T002",
        ],
        &[],
    );
    // The card of another task shows how an empty list is written.
    let undepend = Edit::Undepend {
        task_ix: 2,
        on: vec![0],
    };
    check(
        &pack(BULLETS),
        &undepend,
        &[
            "-      \"dependencies\": [\"T001\"],",
            "+      \"dependencies\": [],",
            "-  dependencies: [T001]",
            "+  dependencies: []",
        ],
        &[],
    );
}

#[test]
fn a_new_id_is_known_everywhere_but_in_prose() {
    let rename = Edit::Rename { task_ix: 1, to: "show" };
    let contract = [
        "-    { \"wave\": 1, \"tasks\": [\"T001\", \"T002\"] },",
        "+    { \"wave\": 1, \"tasks\": [\"T001\", \"show\"] },",
        "-      \"task_id\": \"T002\",",
        "+      \"task_id\": \"show\",",
        "-      \"dependencies\": [\"T002\", \"T003\"],",
        "+      \"dependencies\": [\"show\", \"T003\"],",
    ];
    check(&pack(""), &rename, &contract, &["`T002` is still named in line 100"]);
    let bullets = [
        "-- T002",
        "-  task_id: T002",
        "+- show",
        "+  task_id: show",
        "-    - T002",
        "+    - show",
    ];
    check(
        &pack(BULLETS),
        &rename,
        &[contract.as_slice(), bullets.as_slice()].concat(),
        &["`T002` is still named in line 140"],
    );
    let headings = [
        "-### T002 — Showing",
        "+### show — Showing",
        "-- **dependencies:** T002, T003",
        "+- **dependencies:** show, T003",
    ];
    check(
        &pack(HEADINGS),
        &rename,
        &[contract.as_slice(), headings.as_slice()].concat(),
        &["`T002` is still named in line 143"],
    );
}

#[test]
fn a_task_goes_with_its_card_and_its_wave() {
    let remove = Edit::Remove {
        task_ix: 2,
        detach: true,
    };
    let task = [
        "-      \"task_id\": \"T003\",",
        "-      \"source_unit\": \"U3\",",
        "-      \"goal\": \"Sort photos\",",
        "-      \"dependencies\": [\"T001\"],",
        "-      \"files\": [\"src/sort.rs\"],",
        "-      \"test_focus\": \"Same dates\",",
        "-      \"done_signal\": \"They are sorted\",",
        "-      \"stop_if\": \"No dates\",",
        "-      \"wave\": 2",
        "-    },",
        "-    {",
    ];
    let wave = ["-    { \"wave\": 2, \"tasks\": [\"T003\"] },"];
    let dependencies = [
        "-      \"dependencies\": [\"T002\", \"T003\"],",
        "+      \"dependencies\": [\"T002\"],",
    ];
    let contract = [wave.as_slice(), task.as_slice(), dependencies.as_slice()].concat();
    let notes = ["wave 2 has no task left, and goes"];
    check(&pack(""), &remove, &contract, &notes);
    let bullets = [
        "-- T003",
        "-  task_id: T003",
        "-  goal: Sort photos",
        "-  dependencies: [T001]",
        "-  files:",
        "-    - `src/sort.rs`",
        "-  wave: 2",
        "-",
        "-    - T003",
    ];
    check(
        &pack(BULLETS),
        &remove,
        &[contract.as_slice(), bullets.as_slice()].concat(),
        &notes,
    );
    // The last card goes with the rule before it: the one behind it ends the section.
    let last = Edit::Remove {
        task_ix: 3,
        detach: false,
    };
    let (new, notes) = edited(&pack(HEADINGS), &last);
    let section = &new[new.find("### T003").expect("it stays")..];
    let expect = "### T003 — Sorting

- **goal:** Sort photos
- **dependencies:** T001
- **files:** `src/sort.rs`
- **wave:** 2

---

## Orientation Evidence";
    assert!(section.starts_with(expect), "{section}");
    assert_eq!(notes, ["wave 3 has no task left, and goes"]);
    let only = Edit::Remove {
        task_ix: 0,
        detach: false,
    };
    check_refused(
        &pack(BULLETS),
        &only,
        "task `T001` cannot go, as others depend on it: `T003`",
    );
}

#[test]
fn a_new_task_has_an_id_a_wave_and_a_card() {
    let new = NewTask {
        on: vec![0],
        ..new_task("Print photos", 4)
    };
    let contract = [
        "-    { \"wave\": 2, \"tasks\": [\"T003\"] },",
        "+    { \"wave\": 2, \"tasks\": [\"T003\", \"T005\"] },",
        "+    },",
        "+    {",
        "+      \"task_id\": \"T005\",",
        "+      \"source_unit\": \"U5\",",
        "+      \"goal\": \"Print photos\",",
        "+      \"dependencies\": [\"T001\"],",
        "+      \"files\": [\"src/print.rs\", \"tests/print.rs\"],",
        "+      \"test_focus\": \"Paper\",",
        "+      \"done_signal\": \"It prints\",",
        "+      \"stop_if\": \"No ink\",",
        "+      \"wave\": 2",
    ];
    let notes = ["`T005` is in wave 2"];
    check(&pack(""), &Edit::Add(new.clone()), &contract, &notes);
    let bullets = [
        "+- T005",
        "+  task_id: T005",
        "+  goal: Print photos",
        "+  dependencies:",
        "+    - T001",
        "+  files:",
        "+    - `src/print.rs`",
        "+    - `tests/print.rs`",
        "+  wave: 2",
        "+  source_unit: U5",
        "+  test_focus: Paper",
        "+  done_signal: It prints",
        "+  stop_if: No ink",
        "+",
    ];
    check(
        &pack(BULLETS),
        &Edit::Add(new.clone()),
        &[contract.as_slice(), bullets.as_slice()].concat(),
        &notes,
    );
    let headings = [
        "+### T005 — Print photos",
        "+",
        "+- **goal:** Print photos",
        "+- **dependencies:** T001",
        "+- **files:** `src/print.rs`, `tests/print.rs`",
        "+- **wave:** 2",
        "+- **source_unit:** U5",
        "+- **test_focus:** Paper",
        "+- **done_signal:** It prints",
        "+- **stop_if:** No ink",
        "+",
        "+---",
        "+",
    ];
    check(
        &pack(HEADINGS),
        &Edit::Add(new),
        &[contract.as_slice(), headings.as_slice()].concat(),
        &notes,
    );
}

#[test]
fn a_new_task_stands_where_it_was_put_and_beside_no_owner_of_its_files() {
    let fields = [
        ("source_unit", "U5"),
        ("files", "src/read.rs"),
        ("test_focus", "Paper"),
        ("done_signal", "It prints"),
        ("stop_if", "No ink"),
    ];
    let new = NewTask {
        fields: &fields,
        ..new_task("Print photos", 1)
    };
    let (text, notes) = edited(&pack(BULLETS), &Edit::Add(new));
    assert_eq!(notes, ["`T005` is in wave 2"]);
    assert!(
        text.contains("{ \"wave\": 2, \"tasks\": [\"T005\", \"T003\"] }"),
        "{text}"
    );
    let card = "  wave: 1

- T005
  task_id: T005
  source_unit: U5
  goal: Print photos
  dependencies: []
  files:
    - `src/read.rs`
  wave: 2
  test_focus: Paper
  done_signal: It prints
  stop_if: No ink

- T002
";
    assert!(text.contains(card), "{text}");
    let fields = [fields.as_slice(), &[("wave", "1")]].concat();
    let new = NewTask {
        fields: &fields,
        ..new_task("Print photos", 0)
    };
    check_refused(
        &pack(BULLETS),
        &Edit::Add(new),
        "this would break the plan: Tasks 'T005' and 'T001' share file 'src/read.rs' in wave '1'.",
    );
    let new = NewTask {
        fields: &fields[..2],
        ..new_task("Print photos", 0)
    };
    check_refused(
        &pack(BULLETS),
        &Edit::Add(new),
        "a task of this dialect needs `test_focus`, `done_signal`, `stop_if`",
    );
}

#[test]
fn a_move_takes_the_card_along() {
    let (text, notes) = edited(&pack(BULLETS), &Edit::Move { task_ix: 3, to: 0 });
    assert!(notes.is_empty(), "{notes:?}");
    let order = |text: &str, mark: &str| {
        let mut ids: Vec<_> = text.match_indices(mark).collect();
        ids.sort_unstable();
        ids.into_iter()
            .map(|(at, _)| text[at + mark.len()..][..4].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(order(&text, "\"task_id\": \""), ["T004", "T001", "T002", "T003"]);
    assert_eq!(order(&text, "\n- "), ["T004", "T001", "T002", "T003"]);
    assert!(
        text.contains("\"tasks\": [\"T001\", \"T002\"]"),
        "waves have an order of their own"
    );
    let (back, _) = edited(&text, &Edit::Move { task_ix: 0, to: 3 });
    assert_eq!(back, pack(BULLETS));
    let (text, _) = edited(&pack(HEADINGS), &Edit::Move { task_ix: 0, to: 1 });
    assert_eq!(order(&text, "### "), ["T002", "T001", "T003", "T004"]);
    let (back, _) = edited(&text, &Edit::Move { task_ix: 0, to: 1 });
    assert_eq!(back, pack(HEADINGS));
}

#[test]
fn a_card_that_says_something_else_is_not_written_over() {
    let drifted = pack(BULLETS).replace("  goal: Show photos", "  goal: Show some photos");
    check_refused(
        &drifted,
        &set(1, "goal", "Show all"),
        "line 104, column 3: the card of `T002` and the contract do not say the same of `goal`",
    );
    // Other fields are free, and so is what the card says already.
    edited(&drifted, &set(1, "files", "src/wall.rs"));
    edited(&drifted, &set(0, "goal", "Read all"));
    check(
        &drifted,
        &set(1, "goal", "Show some photos"),
        &[
            "-      \"goal\": \"Show photos\",",
            "+      \"goal\": \"Show some photos\",",
        ],
        &[],
    );
    let annotated = pack(HEADINGS).replace("  - `src/read.rs`", "  - `src/read.rs` — the reader");
    check_refused(
        &annotated,
        &set(0, "files", "src/all.rs"),
        "line 98, column 5: the card of `T001` and the contract do not say the same of `files`",
    );
}

#[test]
fn cards_that_are_not_understood_are_not_guessed_at() {
    let fenced = pack("## Task Cards\n\n```yaml\nT001:\n  goal: Read photos\n```\n\n");
    check_refused(
        &fenced,
        &set(0, "goal", "Read all"),
        "line 93, column 1: `T001` is named among the cards in a way that is not understood",
    );
    edited(&fenced, &set(1, "goal", "Show all"));
    check_refused(
        &fenced,
        &Edit::Add(new_task("Print photos", 4)),
        "line 93, column 1: `T001` is named among the cards in a way that is not understood",
    );
    let joined = pack("## Task Cards\n\n### T001\n- files: `src/read.rs` — wave: 1\n- dep: none\n\n");
    check_refused(
        &joined,
        &set(0, "wave", "2"),
        "line 93, column 26: the card of `T001` speaks of `wave` in a way that is not understood",
    );
    let depend = Edit::Depend {
        task_ix: 0,
        on: vec![1],
    };
    check_refused(
        &joined,
        &depend,
        "line 94, column 3: the card of `T001` speaks of `dependencies` in a way that is not understood",
    );
    let spelled =
        pack("## Task Cards\n\n### T001\n\n- **Test Focus**: Odd files\n- goal: Read photos\n- goal: Read photos\n\n");
    check_refused(
        &spelled,
        &set(0, "test_focus", "Even files"),
        "line 94, column 5: the card of `T001` speaks of `test_focus` in a way that is not understood",
    );
    check_refused(
        &spelled,
        &set(0, "goal", "Read all"),
        "line 96, column 3: the card of `T001` has `goal` twice",
    );
    let orphan = pack(&format!("{BULLETS}- T005\n  goal: Print photos\n\n"));
    check_refused(
        &orphan,
        &Edit::Add(new_task("Print photos", 4)),
        "line 130, column 3: there is a card of `T005` already, but no such task",
    );
    check_refused(
        &orphan,
        &Edit::Rename { task_ix: 0, to: "T005" },
        "line 130, column 3: there is a card of `T005` already, but no such task",
    );
    let twice = pack("## Task Cards\n\n- T001\n  goal: Read photos\n\n- T001\n  goal: Read photos\n\n");
    check_refused(
        &twice,
        &set(0, "goal", "Read all"),
        "line 95, column 3: `T001` has two cards",
    );
}

#[test]
fn what_is_in_a_fence_is_no_card() {
    let cards = format!("{BULLETS}Like this:\n\n```\n- T001\n  goal: Show photos\n```\n\n");
    let (text, _) = edited(&pack(&cards), &set(0, "goal", "Read all"));
    assert!(
        text.contains("Like this:\n\n```\n- T001\n  goal: Show photos\n```\n"),
        "{text}"
    );
    assert!(text.contains("  goal: Read all\n"), "{text}");
}

#[test]
fn waves_with_names_need_one_for_a_new_wave() {
    let named = |text: String| text.replace("\"wave\": 3", "\"wave\": \"share\"");
    let text = named(pack(""));
    let new = NewTask {
        on: vec![3],
        ..new_task("Print photos", 4)
    };
    check_refused(
        &text,
        &Edit::Add(new.clone()),
        "line 34, column 22: task `T005` would need a wave after `share`, and nothing says what to call it",
    );
    let fields = [new.fields, &[("wave", "print")]].concat();
    let new = NewTask { fields: &fields, ..new };
    let (text, notes) = edited(&text, &Edit::Add(new.clone()));
    assert!(
        text.contains("    { \"wave\": \"print\", \"tasks\": [\"T005\"] }\n"),
        "{text}"
    );
    assert_eq!(notes, ["wave print is new"]);
    let numbered = pack("").replace("\"wave\": 3", "\"wave\": \"step 3\"");
    let new = NewTask {
        fields: &fields[..5],
        ..new
    };
    let (text, notes) = edited(&numbered, &Edit::Add(new));
    assert!(
        text.contains("    { \"wave\": \"step 4\", \"tasks\": [\"T005\"] }\n"),
        "{text}"
    );
    assert_eq!(notes, ["`T005` is in wave step 4", "wave step 4 is new"]);
}

#[test]
fn a_draft_may_leave_open_what_it_may() {
    let draft = pack("")
        .replace("status: derived", "status: draft")
        .replace("mode: derived", "mode: transient")
        .replace(
            "sha256:9ac7e5078de92e2900d4232473a3d7490a7aebf61f576a289fa9d87183984786",
            "pending",
        );
    let new = NewTask {
        fields: &[],
        ..new_task("Print photos", 4)
    };
    let (text, _) = edited(&draft, &Edit::Add(new));
    assert!(text.contains("\"task_id\": \"T005\",\n      \"goal\": \"Print photos\",\n      \"dependencies\": [],\n      \"wave\": 1\n"), "{text}");
}

#[test]
fn text_that_would_end_the_fence_is_written_otherwise() {
    let (text, _) = edited(&pack(BULLETS), &set(0, "goal", "Use ``` here"));
    assert!(
        text.contains(r#""goal": "Use \u0060\u0060\u0060 here""#) && text.contains("goal: Use ``` here"),
        "{text}"
    );
    // On a card it is harmless, and so are characters that mean something elsewhere.
    for goal in [
        "- [] none",
        "a: b # c",
        "`one` \"two\"",
        "x\ny",
        "## no heading",
        "none",
        "[]",
    ] {
        let (text, _) = edited(&pack(BULLETS), &set(0, "goal", goal));
        let (back, _) = edited(&text, &set(0, "goal", "Read photos"));
        assert_eq!(back, pack(BULLETS), "{goal}");
    }
}

#[test]
fn other_fences_are_left_alone() {
    let text = pack(BULLETS)
        .replace(
            "## Task Pack Contract\n",
            "## Task Pack Contract\n\n```text\n- T001\n  goal: Read photos\n```\n",
        )
        .replace("Photos.\n", "Photos.\n\n```json\n{\"goal\": \"Read photos\"}\n```\n");
    check(
        &text,
        &set(0, "goal", "Read all"),
        &[
            "-      \"goal\": \"Read photos\",",
            "+      \"goal\": \"Read all\",",
            "-  goal: Read photos",
            "+  goal: Read all",
        ],
        &[],
    );
}

#[test]
fn drafts_that_were_converted_can_be_edited() {
    let text = include_str!("../../fixtures/convert/clido/to-task-pack.md");
    let (new, _) = edited(text, &set(0, "goal", "Something else"));
    let found = difference(text, &new);
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(found[3], "+  goal: Something else");
    edited(
        text,
        &Edit::Rename {
            task_ix: 0,
            to: "first",
        },
    );
    edited(text, &Edit::Move { task_ix: 0, to: 1 });
    let new = NewTask {
        fields: &[],
        on: vec![0],
        ..new_task("Print photos", 1)
    };
    let (new, _) = edited(text, &Edit::Add(new));
    let card = "\n- T001\n  goal: Print photos\n  dependencies:\n    - t1\n  wave: 2\n- t2\n";
    assert!(new.contains(card), "{new}");
    let remove = Edit::Remove {
        task_ix: 1,
        detach: true,
    };
    let (back, _) = edited(&new, &remove);
    assert_eq!(back, text);
}

/// Makes an edit of a pack that has errors already.
fn attempt_broken(text: &str, change: &Edit<'_>) -> Result<String, String> {
    let facts = Facts::default();
    let choice = Choice::by_content(&facts);
    let open = Open::new(&SourceText::new(text), &choice);
    assert!(open.inspection.count(Severity::Error) > 0);
    match edit(&open, &choice, change, NOW) {
        Ok(changed) => Ok(text_of(&changed)),
        Err(problem) => Err(with_place(text, &problem)),
    }
}

#[test]
fn a_pack_with_errors_is_edited_where_they_are_not_in_the_way() {
    let double = pack("").replace("{ \"wave\": 3,", "{ \"wave\": \"2\",");
    let set_goal = set(0, "goal", "Read all");
    assert!(attempt_broken(&double, &set_goal).is_ok());
    let waves = "the waves cannot follow, as `execution_waves` is not in order";
    assert_eq!(
        attempt_broken(&double, &set(0, "wave", "2")),
        Err(format!("line 37, column 15: {waves}"))
    );
    let same = pack("").replace("\"task_id\": \"T003\"", "\"task_id\": \"T002\"");
    assert!(attempt_broken(&same, &set_goal).is_ok());
    let twice = "two tasks are called `T002`, and waves and cards know them by nothing else";
    assert_eq!(
        attempt_broken(&same, &set(1, "goal", "Show all")),
        Err(format!("line 52, column 5: {twice}"))
    );
    let cut = pack("").replace("\"wave\": 1,\n", "\"wave\": 1\n");
    let problem = attempt_broken(&cut, &set_goal).expect_err("it is no JSON");
    assert!(problem.contains("syntax errors"), "{problem}");
}
