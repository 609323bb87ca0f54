//! Edits of the list of tasks: what is written, what follows, what is refused.

use planwright_core::change::tasks::{Edit, NewTask, edit};
use planwright_core::change::{Open, Problem};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{Choice, DIALECTS, Facts};
use planwright_core::inspect::inspect;
use planwright_core::text::SourceText;

const NOW: &str = "2026-11-15T12:00:00.000Z";

fn attempt(text: &str, change: &Edit<'_>) -> Result<String, Problem> {
    let facts = Facts::default();
    let choice = Choice {
        dialects: DIALECTS,
        forced: None,
        path: None,
        facts: &facts,
    };
    let changed = edit(&Open::new(&SourceText::new(text), &choice), &choice, change, NOW)?;
    let after = inspect(&changed.source, &choice);
    assert_eq!(after.count(Severity::Error), 0, "an edit adds no error");
    Ok(changed.source.as_str().to_owned())
}

#[track_caller]
fn check(text: &str, change: &Edit<'_>, expect: &str) {
    match attempt(text, change) {
        Ok(new) => assert_eq!(new, expect),
        Err(problem) => panic!("{problem} ({})", problem.help()),
    }
}

#[track_caller]
fn check_refused(text: &str, change: &Edit<'_>, expect: &str) {
    let problem = attempt(text, change).expect_err("it is refused");
    assert_eq!(problem.to_string(), expect);
    assert!(!problem.help().is_empty());
}

fn new_task(title: &str, at: usize) -> NewTask<'_> {
    NewTask {
        id: None,
        title,
        fields: &[],
        on: vec![],
        at,
        minted: "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0009",
    }
}

const CLIDO: &str = r#"{
  "goal": "g",
  "tasks": [
    {"id": "t1", "description": "one"},
    {"id": "t2", "description": "two", "depends_on": ["t1"], "x": [1,  2]},
    {"id": "t3", "description": "three", "depends_on": ["t1", "t2"]}
  ]
}
"#;

const RAWKO: &str = "id: plan-x
task: x
status: in_progress
version: 1
currentStepIndex: 1 # the second
createdAt: \"2026-11-15T10:00:00Z\"
updatedAt: \"2026-11-15T10:00:00Z\"
createdBy: planner
steps:
  # first of all
  - index: 0
    description: one
    status: complete
  - index: 1
    description: two # careful
    status: in_progress
    dependsOn: [0]
  # and then
  - index: 2
    description: three
    status: pending
    dependsOn:
      - 0
      - 1
";

const OPENCRABS: &str = r#"{
  "id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0000", "title": "P", "description": "d", "status": "Draft",
  "tasks": [
    {"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0001", "order": 1, "title": "a", "description": "b", "task_type": "edit", "status": "Pending"},
    {"id": "6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0002", "order": 2, "title": "c", "description": "d", "task_type": "edit", "status": "Pending", "dependencies": [1]}
  ],
  "updated_at": "2026-11-15T10:00:00Z"
}
"#;

#[test]
fn a_task_is_added_with_an_id_of_its_own() {
    let new = NewTask {
        on: vec![0, 2],
        fields: &[("complexity", "high"), ("tools", "Read\nEdit")],
        ..new_task("four", 3)
    };
    let line = r#"    {"id": "t3", "description": "three", "depends_on": ["t1", "t2"]}"#;
    let added = r#"    {"id": "t4", "description": "four", "depends_on": ["t1", "t3"], "complexity": "high", "tools": ["Read", "Edit"]}"#;
    check(
        CLIDO,
        &Edit::Add(new),
        &CLIDO.replace(line, &format!("{line},\n{added}")),
    );
    let new = NewTask {
        id: Some("t2"),
        ..new_task("again", 0)
    };
    check_refused(
        CLIDO,
        &Edit::Add(new),
        "this would break the plan: two tasks have the id `t2`",
    );
}

#[test]
fn numbers_follow_a_step_that_is_added_before_others() {
    let new = NewTask {
        on: vec![0],
        ..new_task("one and a half", 1)
    };
    let expect = RAWKO
        .replace(
            "  - index: 1\n    description: two # careful\n    status: in_progress\n    dependsOn: [0]\n",
            "  - index: 1\n    description: one and a half\n    status: pending\n    dependsOn: [0]\n  - index: 2\n    description: two # careful\n    status: in_progress\n    dependsOn: [0]\n",
        )
        .replace("  - index: 2\n    description: three", "  - index: 3\n    description: three")
        .replace("      - 0\n      - 1\n", "      - 0\n      - 2\n")
        .replace("currentStepIndex: 1", "currentStepIndex: 2")
        .replace("updatedAt: \"2026-11-15T10:00:00Z\"", &format!("updatedAt: \"{NOW}\""));
    check(RAWKO, &Edit::Add(new), &expect);
}

#[test]
fn a_removed_step_leaves_no_gap() {
    check_refused(
        RAWKO,
        &Edit::Remove {
            task_ix: 0,
            detach: false,
        },
        "task `0` cannot go, as others depend on it: `1`, `2`",
    );
    let new = attempt(
        RAWKO,
        &Edit::Remove {
            task_ix: 0,
            detach: true,
        },
    )
    .expect("detached");
    assert!(new.contains("currentStepIndex: 0 # the second"), "{new}");
    assert!(
        new.contains(
            "steps:\n  # first of all\n  - index: 0\n    description: two # careful\n    status: in_progress\n"
        ),
        "{new}"
    );
    assert!(
        new.ends_with(
            "  # and then\n  - index: 1\n    description: three\n    status: pending\n    dependsOn:\n      - 0\n"
        ),
        "{new}"
    );
}

#[test]
fn a_moved_step_takes_its_comments_along() {
    let text = RAWKO.replace("    dependsOn:\n      - 0\n      - 1\n", "");
    let new = attempt(&text, &Edit::Move { task_ix: 2, to: 0 }).expect("it is free");
    let steps = &new[new.find("steps:").expect("steps")..];
    assert_eq!(
        steps,
        "steps:\n  # and then\n  - index: 0\n    description: three\n    status: pending\n  # first of all\n  - index: 1\n    description: one\n    status: complete\n  - index: 2\n    description: two # careful\n    status: in_progress\n    dependsOn: [1]\n"
    );
    assert!(new.contains("currentStepIndex: 2 # the second"));
}

#[test]
fn a_moved_task_keeps_its_text() {
    let lines: Vec<&str> = CLIDO.lines().collect();
    let moved = attempt(CLIDO, &Edit::Move { task_ix: 1, to: 2 }).expect("order is free");
    let new: Vec<&str> = moved.lines().collect();
    assert_eq!(new[4].trim_end_matches(','), lines[5]);
    assert_eq!(new[5], lines[4].trim_end_matches(','));
}

#[test]
fn references_follow_a_new_name() {
    check(
        CLIDO,
        &Edit::Rename {
            task_ix: 0,
            to: "first",
        },
        &CLIDO.replace("\"t1\"", "\"first\""),
    );
    check_refused(
        CLIDO,
        &Edit::Rename { task_ix: 0, to: "t2" },
        "there is a task `t2` already",
    );
    check_refused(
        RAWKO,
        &Edit::Rename { task_ix: 0, to: "x" },
        "tasks of this dialect are named by their place",
    );
}

#[test]
fn dependencies_come_and_go() {
    check(
        CLIDO,
        &Edit::Undepend {
            task_ix: 2,
            on: vec![0],
        },
        &CLIDO.replace(r#"["t1", "t2"]"#, r#"["t2"]"#),
    );
    check_refused(
        CLIDO,
        &Edit::Undepend {
            task_ix: 1,
            on: vec![2],
        },
        "task `t2` does not depend on `t3`",
    );
    let problem = attempt(
        CLIDO,
        &Edit::Depend {
            task_ix: 0,
            on: vec![2],
        },
    )
    .expect_err("a circle");
    assert!(problem.to_string().contains("circle"), "{problem}");
    check_refused(
        CLIDO,
        &Edit::Depend {
            task_ix: 0,
            on: vec![0],
        },
        "task `t1` cannot depend on itself",
    );
    let free = CLIDO.replace(r#", "depends_on": ["t1"], "x""#, r#", "x""#);
    check(
        &free,
        &Edit::Depend {
            task_ix: 1,
            on: vec![0],
        },
        CLIDO,
    );
    // OpenCrabs leaves the field out where there is nothing to say, and goes on counting where it counts.
    let touched = OPENCRABS.replace("2026-11-15T10:00:00Z", NOW);
    let without = touched.replace(r#", "dependencies": [1]"#, "");
    check(
        OPENCRABS,
        &Edit::Undepend {
            task_ix: 1,
            on: vec![0],
        },
        &without,
    );
    let by_id = r#", "dependencies": ["6b2f6f6e-6f0e-4f57-9d3c-0d8f0a7d0001"]"#;
    let with_id = touched.replace(r#""Pending", "dependencies": [1]"#, &format!("\"Pending\"{by_id}"));
    let place = with_id.replace(
        &format!(r#", "status": "Pending"{by_id}"#),
        &format!(r#"{by_id}, "status": "Pending""#),
    );
    check(
        &without,
        &Edit::Depend {
            task_ix: 1,
            on: vec![0],
        },
        &place,
    );
}

#[test]
fn fields_are_set_by_their_type_and_states_are_not() {
    let set = |key, value| Edit::Set { task_ix: 1, key, value };
    check(
        CLIDO,
        &set("complexity", Some("high")),
        &CLIDO.replace(r#"["t1"], "x""#, r#"["t1"], "complexity": "high", "x""#),
    );
    check_refused(
        CLIDO,
        &set("complexity", Some("huge")),
        "`complexity` takes one of low, medium, high, not `huge`",
    );
    check_refused(CLIDO, &set("status", Some("done")), "`status` is not set by hand");
    check_refused(
        CLIDO,
        &set("description", None),
        "`description` cannot be removed: every task must have it",
    );
    check_refused(
        CLIDO,
        &set("colour", Some("red")),
        "a task of this dialect has no field `colour`",
    );
    check_refused(
        OPENCRABS,
        &set("complexity", Some("x")),
        "`complexity` takes a whole number from 1 to 5, not `x`",
    );
    let worse = attempt(OPENCRABS, &set("complexity", Some("9"))).expect_err("out of range");
    assert!(matches!(worse, Problem::Worse(_)), "{worse}");
}

#[test]
fn a_finished_plan_is_open_again_when_a_step_is_added() {
    let text = RAWKO
        .replace("status: in_progress", "status: complete")
        .replace("status: pending", "status: complete")
        .replace("currentStepIndex: 1", "currentStepIndex: 3");
    let new = attempt(&text, &Edit::Add(new_task("four", 3))).expect("added");
    assert!(
        new.starts_with("id: plan-x\ntask: x\nstatus: in_progress\nversion: 1\ncurrentStepIndex: 3 # the second"),
        "{new}"
    );
    assert!(
        new.ends_with("      - 1\n  - index: 3\n    description: four\n    status: pending\n"),
        "{new}"
    );
}
