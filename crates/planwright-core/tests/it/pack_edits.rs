//! Edits of task packs: contract, waves and cards are updated together, in their layout, and nothing else changes.

use planwright_core::change::tasks::{Edit, NewTask};

use crate::packs::{
    BULLETS, HEADINGS, attempt, check, check_refused, edited, new_task, pack, pack_with_cards_first, set,
};

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
    // The last task of a wave removes it too; a new number is inserted in order.
    check(
        &pack(""),
        &set(3, "wave", "7"),
        &[
            "-    { \"wave\": 3, \"tasks\": [\"T004\"] }",
            "+    { \"wave\": 7, \"tasks\": [\"T004\"] }",
            "-      \"wave\": 3",
            "+      \"wave\": 7",
        ],
        &["wave 3 has no task left, and is removed", "wave 7 is new"],
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
fn removing_a_dependency_keeps_the_waves() {
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
fn a_new_id_replaces_the_old_one_except_in_prose() {
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
fn removing_a_task_removes_its_card_and_its_empty_wave() {
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
    let notes = ["wave 2 has no task left, and is removed"];
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
    assert_eq!(notes, ["wave 3 has no task left, and is removed"]);
    let only = Edit::Remove {
        task_ix: 0,
        detach: false,
    };
    check_refused(
        &pack(BULLETS),
        &only,
        "task `T001` cannot be removed: these depend on it: `T003`",
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
fn a_new_task_keeps_its_position_and_shares_no_wave_with_owners_of_its_files() {
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
