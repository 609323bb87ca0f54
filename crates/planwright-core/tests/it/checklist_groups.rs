//! Edits of checklists with groups: where a new line goes, what a moved line passes, and the boxes of the groups.

use planwright_core::change::Open;
use planwright_core::change::tasks::{Edit, NewTask, edit};
use planwright_core::dialect::{Choice, DiskFacts};
use planwright_core::text::SourceText;

const NESTED: &str = "\
- [ ] Zero
- [x] A
  - [x] a1
  - [x] a2

## Later

- [ ] B
- [ ] C
  - [x] c1
  - [ ] c2
- [ ] D
";

const NUMBERED: &str = "\
- [x] 1. Setup
  - [x] 1.1 One
    - _Requirements: 1_
  - [x] 1.2 Two

- [ ] 2. Work
  - [ ] 2.1 Three
";

/// Returns the lines that an edit removes and adds, as `-6: - [ ] B` and `+6: - [ ] B`, or its refusal.
fn difference(text: &str, change: &Edit<'_>) -> String {
    let facts = DiskFacts::default();
    let choice = Choice::by_content(&facts);
    let open = Open::new(&SourceText::new(text), &choice);
    let new = match edit(&open, &choice, change, "2026-11-15T12:00:00.000Z") {
        Ok(changed) => changed.source.as_str().to_owned(),
        Err(problem) => return problem.to_string(),
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (text.lines().collect(), new.lines().collect());
    let n_common = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(old, new)| old == new).count();
    let n_before = n_common(&mut old.iter().zip(&new));
    let n_after = n_common(&mut old[n_before..].iter().rev().zip(new[n_before..].iter().rev()));
    let shown = |sign: char, lines: &[&str]| -> Vec<String> {
        let changed = &lines[n_before..lines.len() - n_after];
        changed
            .iter()
            .zip(n_before + 1..)
            .map(|(line, n)| format!("{sign}{n}:{line}"))
            .collect()
    };
    [shown('-', &old), shown('+', &new)].concat().join("\n")
}

fn added(at: usize, beside: Option<usize>) -> Edit<'static> {
    Edit::Add(NewTask {
        id: None,
        title: "New",
        fields: &[],
        on: vec![],
        at,
        beside,
        replaces: None,
        minted: "",
    })
}

#[track_caller]
fn check(text: &str, change: &Edit<'_>, expect: &str) {
    assert_eq!(difference(text, change), expect);
}

/// The tasks of the nested list are Zero, a1, a2, B, c1, c2, D.
#[test]
fn a_new_line_joins_the_group_of_its_neighbour() {
    check(NESTED, &added(7, None), "+13:- [ ] New");
    check(NESTED, &added(0, Some(0)), "+1:- [ ] New");
    check(NESTED, &added(3, Some(3)), "+8:- [ ] New");
    check(NESTED, &added(4, Some(3)), "+9:- [ ] New");
    check(NESTED, &added(4, Some(4)), "+10:  - [ ] New");
    check(NESTED, &added(6, Some(5)), "+12:  - [ ] New");
    check(NESTED, &added(6, Some(6)), "+12:- [ ] New");
    // The last line of a list that ends with a group.
    let ends_with_group = NESTED.strip_suffix("- [ ] D\n").expect("the last line");
    check(ends_with_group, &added(6, None), "+12:- [ ] New");
}

#[test]
fn a_new_line_is_numbered_in_the_group_of_its_neighbour() {
    check(NUMBERED, &added(3, None), "+8:  - [ ] 2.2 New");
    check(NUMBERED, &added(2, Some(2)), "+7:  - [ ] 2.2 New");
    check(
        NUMBERED,
        &added(2, Some(1)),
        "-1:- [x] 1. Setup\n-2:  - [x] 1.1 One\n-3:    - _Requirements: 1_\n-4:  - [x] 1.2 Two\n\
         +1:- [ ] 1. Setup\n+2:  - [x] 1.1 One\n+3:    - _Requirements: 1_\n+4:  - [x] 1.2 Two\n+5:  - [ ] 1.3 New",
    );
}

#[test]
fn the_box_of_a_group_follows_the_lines_that_come_and_go() {
    check(
        NESTED,
        &added(3, Some(2)),
        "-2:- [x] A\n-3:  - [x] a1\n-4:  - [x] a2\n+2:- [ ] A\n+3:  - [x] a1\n+4:  - [x] a2\n+5:  - [ ] New",
    );
    let removed = |task_ix| Edit::Remove { task_ix, detach: false };
    check(
        NESTED,
        &removed(5),
        "-9:- [ ] C\n-10:  - [x] c1\n-11:  - [ ] c2\n+9:- [x] C\n+10:  - [x] c1",
    );
    check(NESTED, &removed(1), "-3:  - [x] a1");
    // The box of a group that was wrong before stays as it is.
    check("- [x] A\n  - [ ] a1\n  - [ ] a2\n", &removed(1), "-3:  - [ ] a2");
}

#[test]
fn a_line_passes_whole_groups() {
    let moved = |task_ix, to| Edit::Move { task_ix, to };
    check(
        "- [ ] Zero\n- [x] A\n  - [x] a1\n\n## Later\n\n- [ ] B\n",
        &moved(0, 1),
        "-1:- [ ] Zero\n-2:- [x] A\n-3:  - [x] a1\n+1:- [x] A\n+2:  - [x] a1\n+3:- [ ] Zero",
    );
    check(
        NESTED,
        &moved(6, 3),
        "-8:- [ ] B\n-9:- [ ] C\n-10:  - [x] c1\n-11:  - [ ] c2\n-12:- [ ] D\n+8:- [ ] D\n+9:- [ ] B\n+10:- [ ] C\n+11:  - [x] c1\n+12:  - [ ] c2",
    );
    check(
        NESTED,
        &moved(3, 5),
        "-8:- [ ] B\n-9:- [ ] C\n-10:  - [x] c1\n-11:  - [ ] c2\n+8:- [ ] C\n+9:  - [x] c1\n+10:  - [ ] c2\n+11:- [ ] B",
    );
    check(
        NESTED,
        &moved(1, 2),
        "-3:  - [x] a1\n-4:  - [x] a2\n+3:  - [x] a2\n+4:  - [x] a1",
    );
    let refusal = "tasks of different groups do not change places";
    check(NESTED, &moved(6, 5), refusal);
    check(NESTED, &moved(1, 4), refusal);
}

#[test]
fn a_line_that_leaves_its_heading_takes_no_other_along() {
    let text = "## A\n\n- [ ] a1\n- [ ] a2\n\nText.\n\n## B\n\n- [ ] b1\n- [ ] b2\n";
    let moved = |task_ix, to| Edit::Move { task_ix, to };
    let changed = "-3:- [ ] a1\n-4:- [ ] a2\n-5:\n-6:Text.\n-7:\n-8:## B\n-9:\n-10:- [ ] b1\n\
                   +3:- [ ] b1\n+4:- [ ] a1\n+5:- [ ] a2\n+6:\n+7:Text.\n+8:\n+9:## B\n+10:";
    check(text, &moved(2, 0), changed);
}
