//! Shared plans for the tests of the binary: a valid and a bad one in each dialect.

/// A clido plan half done.
pub(crate) const CLIDO: &str = r#"{
  "meta": {"id": "plan-a1b2c3d4", "goal": "Split the parser", "created_at": "2026-03-22T10:00:00Z"},
  "tasks": [
    {"id": "t1", "description": "Cut out the lexer", "depends_on": [], "complexity": "low", "status": "done"},
    {"id": "t2", "description": "Give it tests", "depends_on": ["t1"], "complexity": "medium", "status": "pending"},
    {"id": "t3", "description": "Move the errors", "depends_on": ["t1"], "complexity": "low", "status": "failed", "notes": "does not build"},
    {"id": "t4", "description": "Write it down", "depends_on": ["t2", "t3"], "complexity": "high", "status": "pending"},
    {"id": "t5", "description": "Tidy up", "depends_on": [], "complexity": "low", "skip": true, "status": "pending"}
  ]
}
"#;

pub(crate) const CLIDO_BAD: &str = r#"{
  "goal": "Split the parser",
  "tasks": [
    {"id": "t1", "description": "Cut out the lexer", "depends_on": ["t3"]},
    {"id": "t2", "description": "Give it tests", "depends_on": ["t1"], "status": "finished"},
    {"id": "t3", "description": "Move the errors", "depends_on": ["t2"], "complexity": "hard"},
    {"id": "t4", "description": "", "depends_on": ["t33"],},
    {"id": "t4", "description": "Write it down", "dependsOn": ["t1"], "skip": "true"}
  ]
}
"#;

pub(crate) const OPENCRABS: &str = r#"{
  "title": "Dark mode",
  "description": "Follow the setting of the system.",
  "tasks": [
    {"title": "Collect the colours", "description": "Every literal in the styles.", "task_type": "research"},
    {"title": "Name them", "description": "As variables, light values first.", "task_type": "edit", "dependencies": [1]},
    {"title": "Add the dark values", "description": "Check the contrast.", "task_type": "edit", "dependencies": [1, 2]}
  ]
}
"#;

pub(crate) const OPENCRABS_BAD: &str = r#"{
  "title": "Dark mode",
  "tasks": [
    {"title": "Collect the colours", "description": "Every literal.", "task_type": "reserch"},
    {"title": "Name them", "description": "As variables.", "task_type": "edit", "dependencies": [3], "complexity": "4"},
    {"title": "Add the dark values", "description": "Check the contrast.", "task_type": "edit", "dependencies": [2, 9]},
    {"title": "Look", "description": "At both.", "task_type": "test", "dependencies": []}
  ]
}
"#;

pub(crate) const AIMI: &str = r#"{
  "schemaVersion": "3.0",
  "metadata": {
    "title": "feat: Draw charts",
    "type": "feat",
    "branchName": "feat/charts",
    "createdAt": "2026-03-03",
    "maxConcurrency": 2
  },
  "userStories": [
    {
      "id": "US-001",
      "title": "Draw the grid",
      "description": "As a reader, I want a grid so that I can compare values.",
      "acceptanceCriteria": ["Typecheck passes"],
      "priority": 1,
      "status": "completed",
      "dependsOn": []
    },
    {
      "id": "US-002",
      "title": "Draw the axes",
      "description": "As a reader, I want axes so that I know the units.",
      "acceptanceCriteria": ["Typecheck passes"],
      "priority": 3,
      "status": "pending",
      "dependsOn": ["US-001"]
    },
    {
      "id": "US-003",
      "title": "Draw the labels",
      "description": "As a reader, I want labels so that I know the names.",
      "acceptanceCriteria": ["Typecheck passes"],
      "priority": 2,
      "status": "pending",
      "dependsOn": ["US-001"]
    }
  ]
}
"#;

pub(crate) const AIMI_BAD: &str = r#"{
  "schemaVersion": "3.0",
  "metadata": {
    "title": "feat: Draw charts",
    "type": "feat",
    "branchName": "feat/charts; rm",
    "createdAt": "2026-03-03",
    "maxConcurrency": -1
  },
  "userStories": [
    {
      "id": "US-1",
      "title": "Draw the grid",
      "description": "As a reader, I want a grid so that I can compare values.",
      "acceptanceCriteria": ["It looks good"],
      "priority": 1,
      "status": "done",
      "dependsOn": ["US-003"]
    },
    {
      "id": "US-002",
      "title": "Draw the axes",
      "description": "As a reader, I want axes so that I know the units.",
      "acceptanceCriteria": ["Typecheck passes"],
      "priority": 1,
      "status": "pending",
      "dependsOn": ["US-002"]
    }
  ]
}
"#;

pub(crate) const RAWKO: &str = r#"id: plan-20260501-cellar
task: Tidy the cellar
status: in_progress
steps:
  - index: 0
    description: Sweep
    status: complete
  - index: 1
    description: Mop
    status: pending
    dependsOn: [0]
  - index: 2
    description: Dry
    status: pending
    dependsOn: [1]
currentStepIndex: 1
createdAt: "2026-05-01T08:00:00Z"
updatedAt: "2026-05-02T08:00:00Z"
createdBy: planner
version: 1
"#;

pub(crate) const RAWKO_BAD: &str = r#"id: plan-20260501-cellar
task: Tidy the cellar
status: complete
steps:
  - index: 0
    description: Sweep
    status: completed
  - index: 2
    description: Mop
    status: pending
    dependsOn: [1]
  - index: 3
    description: Dry
    status: pending
    dependsOn: ["1", 7]
currentStepIndex: 9
createdAt: yesterday
updatedAt: "2026-05-02T08:00:00Z"
createdBy: planner
version: 0
"#;

/// The source of the packs.
pub(crate) const SOURCE_PLAN: &str = "---\ntitle: Photos\nspec_id: photos\n---\n\n# Photos\n\n- R1 read the card\n";

const SOURCE_PLAN_HASH: &str = "sha256:8ba2b7b1b8b5f4ee7a5d6f8f9f4f7e7e4c5f0a8ed61e1a5c8e6a2cbe4b0b8a11";

fn pack(hash: &str, contract: &str) -> String {
    format!(
        "---\ntitle: Import photos\ntype: task-pack\nstatus: derived\ndate: 2026-05-11\nspec_id: photos\n\
         source_plan: docs/plans/photos.md\nsource_plan_hash: {hash}\ngenerated_by: spec-write-tasks\nmode: derived\n---\n\
         \n# Import photos\n\n## Task Pack Contract\n\n```json\n{contract}\n```\n"
    )
}

/// Returns a pack of three tasks in two waves that was derived from the plan with this hash.
pub(crate) fn task_pack(hash: &str) -> String {
    pack(
        hash,
        r#"{
  "schema_version": "task-pack/v1",
  "execution_waves": [{"wave": 1, "tasks": ["T002", "T001"]}, {"wave": 2, "tasks": ["T003"]}],
  "tasks": [
    {"task_id": "T001", "source_unit": "U1", "goal": "Read the card", "dependencies": [], "files": ["src/card.rs"],
     "test_focus": "three photos", "done_signal": "tests pass", "wave": 1, "stop_if": "it needs a driver"},
    {"task_id": "T002", "source_unit": "U1", "goal": "Copy the photos", "dependencies": [], "files": ["src/copy.rs"],
     "test_focus": "three photos", "done_signal": "tests pass", "wave": 1, "stop_if": "the disk is full"},
    {"task_id": "T003", "source_unit": "U2", "goal": "Show them", "dependencies": ["T001"], "files": ["src/show.rs"],
     "test_focus": "one photo", "done_signal": "tests pass", "wave": 2, "stop_if": "it needs a screen"}
  ]
}"#,
    )
}

/// Returns a pack that is stale, and invalid itself.
pub(crate) fn task_pack_bad() -> String {
    pack(
        SOURCE_PLAN_HASH,
        r#"{
  "schema_version": "task-pack/v1",
  "execution_waves": [{"wave": 1, "tasks": ["T001", "T002"]}],
  "tasks": [
    {"task_id": "T001", "source_unit": "U1", "goal": "Read the card", "dependencies": ["T002"], "files": ["src/lib.rs"],
     "test_focus": "three photos", "done_signal": "tests pass", "wave": 1, "stop_if": "it needs a driver"},
    {"task_id": "T002", "source_unit": "U1", "goal": "Copy the photos", "dependencies": [], "files": ["src/lib.rs", "../x"],
     "done_signal": "tests pass", "wave": 1, "stop_if": "the disk is full", "color": "red"}
  ]
}"#,
    )
}
