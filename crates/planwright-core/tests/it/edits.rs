//! Edits of the list of tasks: the written text, the follow-ups, the refusals.

use planwright_core::change::tasks::{Edit, NewTask, edit};
use planwright_core::change::{Open, Problem, TaskRequest, transitions};
use planwright_core::diagnostic::Severity;
use planwright_core::dialect::{Choice, DiskFacts};
use planwright_core::edit::VerbRequest;
use planwright_core::inspect::inspect;
use planwright_core::plan::Verb;
use planwright_core::text::SourceText;

const NOW: &str = "2026-11-15T12:00:00.000Z";

fn attempt(text: &str, change: &Edit<'_>) -> Result<String, Problem> {
    let facts = DiskFacts::default();
    let choice = Choice::by_content(&facts);
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
        beside: None,
        replaces: None,
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
fn a_new_task_gets_a_fresh_id() {
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
        "task `0` cannot be removed: these depend on it: `1`, `2`",
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
fn renaming_a_task_updates_references() {
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
fn dependencies_are_added_and_removed() {
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
    assert!(problem.to_string().contains("cycle"), "{problem}");
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
    // OpenCrabs omits an empty field, and continues its numbering.
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
    let problem = attempt(OPENCRABS, &set("complexity", Some("9"))).expect_err("out of range");
    assert!(matches!(problem, Problem::Regressions(_)), "{problem}");
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

#[test]
fn a_plan_is_complete_when_its_last_open_task_is_removed() {
    let last = Edit::Remove {
        task_ix: 2,
        detach: false,
    };
    let rawko = RAWKO.replace("    status: in_progress", "    status: skipped");
    let new = attempt(&rawko, &last).expect("nothing depends on it");
    assert!(
        new.contains("\nstatus: complete\nversion: 1\ncurrentStepIndex: 2 #"),
        "{new}"
    );
    // A removed failed step needs no new plan.
    let failed = RAWKO
        .replace("status: in_progress\nversion", "status: replanning\nversion")
        .replace("status: pending", "status: failed");
    let new = attempt(&failed, &last).expect("nothing depends on it");
    assert!(
        new.contains("\nstatus: in_progress\nversion: 1\ncurrentStepIndex: 1 #"),
        "{new}"
    );
    let opencrabs = OPENCRABS
        .replace("\"status\": \"Draft\"", "\"status\": \"InProgress\"")
        .replacen("\"Pending\"", "\"Completed\"", 1);
    let last = Edit::Remove {
        task_ix: 1,
        detach: false,
    };
    let new = attempt(&opencrabs, &last).expect("nothing depends on it");
    assert!(
        new.contains(
            r#""description": "d", "status": "Completed",
  "tasks""#
        ),
        "{new}"
    );
}

#[test]
fn the_current_step_stays_if_the_order_is_unchanged() {
    // The plan's own tool may point elsewhere: a description does not change that.
    let text = RAWKO.replace("currentStepIndex: 1", "currentStepIndex: 2");
    let set = Edit::Set {
        task_ix: 0,
        key: "description",
        value: Some("first"),
    };
    let new = attempt(&text, &set).expect("set");
    assert!(new.contains("currentStepIndex: 2 #"), "{new}");
}

/// Makes an edit of a plan that has errors, and returns the messages of those it has then.
fn errors_after(text: &str, change: &Edit<'_>) -> Result<Vec<String>, Problem> {
    let facts = DiskFacts::default();
    let choice = Choice::by_content(&facts);
    let changed = edit(&Open::new(&SourceText::new(text), &choice), &choice, change, NOW)?;
    let after = inspect(&changed.source, &choice);
    let errors = after
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error);
    Ok(errors.map(|found| found.message.clone()).collect())
}

#[test]
fn an_existing_error_is_not_new_after_renumbering() {
    let text = RAWKO.replace("      - 1\n", "      - 7\n");
    let remove = Edit::Remove {
        task_ix: 1,
        detach: false,
    };
    for change in [
        Edit::Move { task_ix: 2, to: 0 },
        Edit::Add(new_task("new", 0)),
        Edit::Add(new_task("new", 3)),
        remove,
    ] {
        let errors = errors_after(&text, &change).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(errors.len(), 1, "{errors:?}");
    }
    // An error of the new task is new, even if an old task has the same.
    let text = OPENCRABS.replace(
        r#""task_type": "edit", "status": "Pending", "dep"#,
        r#""task_type": "edit", "complexity": 9, "status": "Pending", "dep"#,
    );
    let fields = [("task_type", "edit"), ("complexity", "9"), ("description", "d")];
    for at in 0..3 {
        let new = NewTask {
            fields: &fields,
            ..new_task("new", at)
        };
        let problem = errors_after(&text, &Edit::Add(new)).expect_err("a fault of its own");
        assert!(
            matches!(&problem, Problem::Regressions(found) if found.len() == 1),
            "{problem}"
        );
    }
}

#[test]
fn an_existing_error_is_not_new_after_renaming() {
    let text = CLIDO.replace(r#"["t1", "t2"]"#, r#"["t1", "t9"]"#);
    let rename = |to| Edit::Rename { task_ix: 2, to };
    let errors = errors_after(&text, &rename("last")).expect("the error is as old as the plan");
    assert_eq!(errors, ["task `last` depends on `t9`, which does not exist"]);
    // Another bad name is a new error.
    let aimi = r#"{"schemaVersion": "3.0", "metadata": {"title": "T", "type": "feat", "branchName": "feat/x",
  "createdAt": "2026-11-15", "planPath": null}, "userStories": [{"id": "US-1", "title": "t",
  "description": "As a user, I want x so that y", "acceptanceCriteria": ["Typecheck passes"], "priority": 1,
  "status": "pending", "dependsOn": [], "notes": ""}]}"#;
    assert_eq!(
        errors_after(
            aimi,
            &Edit::Rename {
                task_ix: 0,
                to: "US-001"
            }
        )
        .map_err(|_| ()),
        Ok(vec![])
    );
    let problem = errors_after(aimi, &Edit::Rename { task_ix: 0, to: "2" }).expect_err("no better");
    assert!(matches!(problem, Problem::Regressions(_)), "{problem}");
}

#[test]
fn overlapping_cycles_can_be_resolved_one_dependency_at_a_time() {
    let text = CLIDO.replace(
        r#""description": "one"}"#,
        r#""description": "one", "depends_on": ["t2", "t3"]}"#,
    );
    let undepend = |task_ix, on| Edit::Undepend { task_ix, on: vec![on] };
    let before = errors_after(&text, &undepend(2, 1)).expect("a circle less");
    assert_eq!(before.len(), 1, "{before:?}");
    let after = errors_after(&text, &undepend(1, 0)).expect("a circle less");
    assert_eq!(after.len(), 1, "{after:?}");
    assert_ne!(before, after, "another circle is the shortest");
}

#[test]
fn reasons_for_being_skipped_follow_names_and_numbers() {
    let failed = CLIDO.replace(r#""one"}"#, r#""one", "status": "failed"}"#).replace(
        r#""two","#,
        r#""two", "notes": "mind t1\nSkipped because t1 failed.", "status": "skipped","#,
    );
    let rename = Edit::Rename {
        task_ix: 0,
        to: "first",
    };
    check(
        &failed,
        &rename,
        &failed
            .replace("\"t1\"", "\"first\"")
            .replace("because t1 failed", "because first failed"),
    );
    let skipped = RAWKO
        .replace("    status: in_progress\n", "    status: skipped\n")
        .replace(
            "    status: pending\n",
            "    status: skipped\n    output: \"Skipped: step 1 was skipped: 1 for all\" # so\n",
        );
    let new = attempt(&skipped, &Edit::Add(new_task("zero", 0))).expect("added");
    assert!(
        new.contains("    output: \"Skipped: step 2 was skipped: 1 for all\" # so\n"),
        "{new}"
    );
}

/// Returns a plan of rawko with these steps.
fn rawko_with(steps: &str) -> String {
    let head = &RAWKO[..RAWKO.find("steps:").expect("steps")];
    format!("{head}steps:\n{steps}")
}

/// Moves a step, and returns the steps.
#[track_caller]
fn moved(steps: &str, task_ix: usize, to: usize) -> String {
    let new = attempt(&rawko_with(steps), &Edit::Move { task_ix, to }).unwrap_or_else(|problem| panic!("{problem}"));
    new[new.find("steps:\n").expect("steps") + 7..].to_owned()
}

#[test]
fn a_step_moves_from_under_a_dash_on_a_line_of_its_own() {
    let steps = "  -\n    index: 0\n    description: one\n    status: pending\n  # then\n  - # careful\n      index: 1\n      description: two\n      status: pending\n  - index: 2\n    description: three\n    status: pending";
    assert_eq!(
        moved(steps, 1, 0),
        "  # then\n  - # careful\n      index: 0\n      description: two\n      status: pending\n  -\n    index: 1\n    description: one\n    status: pending\n  - index: 2\n    description: three\n    status: pending"
    );
    assert_eq!(
        moved(steps, 1, 2),
        "  -\n    index: 0\n    description: one\n    status: pending\n  - index: 1\n    description: three\n    status: pending\n  # then\n  - # careful\n      index: 2\n      description: two\n      status: pending"
    );
}

#[test]
fn an_alias_moves_where_it_finds_the_same_anchor() {
    let steps = "  - index: 0\n    description: &d one\n    status: pending\n  - index: 1\n    description: *d\n    status: pending\n  - index: 2\n    description: &d three\n    status: pending\n";
    assert_eq!(
        moved(steps, 2, 0),
        "  - index: 0\n    description: &d three\n    status: pending\n  - index: 1\n    description: &d one\n    status: pending\n  - index: 2\n    description: *d\n    status: pending\n"
    );
    let text = rawko_with(steps);
    check_refused(
        &text,
        &Edit::Move { task_ix: 1, to: 0 },
        "task `1` cannot be moved there: an alias would stand before what it stands for, in line 14",
    );
    check_refused(
        &text,
        &Edit::Move { task_ix: 1, to: 2 },
        "task `1` cannot be moved there: an alias would stand for something else, in line 14",
    );
}

#[test]
fn comments_on_lines_of_their_own_outlive_the_last_dependency() {
    let list = |lines: &str| RAWKO.replace("      - 0\n      - 1\n", lines);
    let touched = |text: String| text.replace("updatedAt: \"2026-11-15T10:00:00Z\"", &format!("updatedAt: \"{NOW}\""));
    let undepend = Edit::Undepend {
        task_ix: 2,
        on: vec![0],
    };
    let text = list("      # why\n      - 0 # so\n      # and why not\n");
    let expect = text.replace(
        "dependsOn:\n      # why\n      - 0 # so\n",
        "dependsOn: []\n      # why\n",
    );
    check(&text, &undepend, &touched(expect));
    // Between brackets a comment goes with its item as well.
    let text = list("").replace(
        "dependsOn:\n",
        "dependsOn: [\n      # why\n      0, # so\n      # and why not\n    ]\n",
    );
    check(&text, &undepend, &touched(text.replace("      0, # so\n", "")));
    let text = list("").replace(
        "dependsOn:\n",
        "dependsOn: [\n      1,\n      # why\n      0 # so\n    ]\n",
    );
    check(&text, &undepend, &touched(text.replace("      0 # so\n", "")));
    // If nothing else is left, the field is removed with its last item.
    let text = list("      - 0 # so\n");
    check(
        &text,
        &undepend,
        &touched(text.replace("    dependsOn:\n      - 0 # so\n", "")),
    );
}

#[test]
fn renaming_a_task_updates_references_outside_of_dependencies() {
    let text = CLIDO.replace(r#"["t1", "t2"]"#, r#"["t1", "t3", "t1"]"#);
    let rename = |task_ix| Edit::Rename { task_ix, to: "new" };
    let errors = errors_after(&text, &rename(2)).expect("its own fault is no new one");
    assert_eq!(errors, ["task `new` depends on itself"]);
    let text = CLIDO.replace(r#"["t1", "t2"]"#, r#"["t1", "t1"]"#);
    check(&text, &rename(0), &text.replace("\"t1\"", "\"new\""));
}

#[test]
fn an_invalid_task_can_be_removed_and_moved_past() {
    let text = CLIDO.replace("    {\"id\": \"t2\"", "    \"and then\",\n    {\"id\": \"t2\"");
    let remove = Edit::Remove {
        task_ix: 1,
        detach: false,
    };
    let change = |change: &Edit<'_>| {
        let facts = DiskFacts::default();
        let choice = Choice::by_content(&facts);
        let open = Open::new(&SourceText::new(text.as_str()), &choice);
        let changed = edit(&open, &choice, change, NOW).unwrap_or_else(|problem| panic!("{problem}"));
        changed.source.as_str().to_owned()
    };
    assert_eq!(change(&remove), CLIDO);
    let new = change(&Edit::Add(new_task("new", 1)));
    assert!(new.contains("\"new\"},\n    \"and then\",\n"), "{new}");
    let new = change(&Edit::Move { task_ix: 1, to: 0 });
    assert!(new.contains("  \"tasks\": [\n    \"and then\",\n"), "{new}");
}

#[test]
fn a_plan_with_syntax_errors_or_ambiguous_names_is_not_changed() {
    let broken = CLIDO.replace("\"two\",", "\"two\"");
    let problem = errors_after(&broken, &Edit::Move { task_ix: 2, to: 0 }).expect_err("a comma is missing");
    assert_eq!(
        problem.to_string(),
        "the file cannot be changed safely: the text has syntax errors: fix them first"
    );
    // Two tasks of one name: their order decides which one the others mean.
    let twins = CLIDO
        .replace("\"id\": \"t2\"", "\"id\": \"t1\"")
        .replace(r#", "depends_on": ["t1"]"#, "");
    let problem = errors_after(&twins, &Edit::Move { task_ix: 1, to: 0 }).expect_err("it would be another one");
    assert_eq!(
        problem.to_string(),
        "the plan has errors, and it is not certain what this would change"
    );
}

#[test]
fn tasks_skipped_by_a_removed_task_stay_skipped() {
    let clido = r#"{"goal": "g", "tasks": [{"id": "a", "description": "d", "status": "failed"},
  {"id": "b", "description": "d", "depends_on": ["a"], "status": "skipped", "notes": "mine\nSkipped because a failed."}]}"#;
    let remove = Edit::Remove {
        task_ix: 0,
        detach: true,
    };
    let new = attempt(clido, &remove).expect("remove");
    assert!(
        new.contains(r#""notes": "mine\nSkipped because a failed, which was removed since.""#),
        "{new}"
    );
    let rawko = "id: p\ntask: T\nstatus: draft\nversion: 1\ncurrentStepIndex: 1\ncreatedAt: \"2026-01-23T10:00:00Z\"\n\
                 updatedAt: \"2026-01-23T10:35:00Z\"\ncreatedBy: planner\nsteps:\n  - index: 0\n    description: A\n    \
                 status: skipped\n  - index: 1\n    description: B\n    status: pending\n  - index: 2\n    description: C\n    \
                 status: skipped\n    output: 'Skipped: step 0 was skipped: not now'\n    dependsOn: [0, 1]\n";
    let new = attempt(rawko, &remove).expect("remove");
    assert!(
        new.contains("output: 'Skipped with step 0, which was removed since: not now'\n    dependsOn: [0]\n"),
        "{new}"
    );
}

#[test]
fn edits_of_unknown_tasks_are_refused() {
    let edits = [
        Edit::Set {
            task_ix: 3,
            key: "notes",
            value: Some("x"),
        },
        Edit::Remove {
            task_ix: 3,
            detach: true,
        },
        Edit::Move { task_ix: 3, to: 0 },
        Edit::Rename { task_ix: 3, to: "t4" },
        Edit::Depend {
            task_ix: 0,
            on: vec![3],
        },
        Edit::Undepend {
            task_ix: 3,
            on: vec![0],
        },
        Edit::Add(NewTask {
            on: vec![3],
            ..new_task("four", 0)
        }),
    ];
    for change in &edits {
        check_refused(
            CLIDO,
            change,
            "there is no task at place 3: the plan has 3, counted from 0",
        );
    }
    let facts = DiskFacts::default();
    let choice = Choice::by_content(&facts);
    let open = Open::new(&SourceText::new(CLIDO), &choice);
    let start = |task_ix| TaskRequest {
        task_ix,
        request: VerbRequest::new(Verb::Start, NOW),
    };
    let batch = transitions(&open, &choice, &[start(3), start(0), start(usize::MAX)]);
    let made: Vec<bool> = batch.results.iter().map(Result::is_ok).collect();
    assert_eq!(made, [false, true, false]);
    assert!(transitions(&open, &choice, &[start(3)]).results[0].is_err());
}
