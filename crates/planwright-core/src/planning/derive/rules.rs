//! The rules for a planner's answer to `tasks derive`.

use crate::diagnostic::rules;

rules! {
    ANSWER = "derive-answer", Error,
        "The planner's answer holds no tasks that can be read.",
        "An answer has one block of JSON with a list `tasks`, or a whole contract. Nothing is written; the planner gets the finding, and is asked again.",
        "I have split the plan into three tasks.",
        "```json\n{\"tasks\": [{\"task_id\": \"T001\", …}]}\n```";
    TASK_ID = "derive-task-id", Error,
        "A task has an id that the pack cannot carry.",
        "Waves, dependencies and cards use the id. It has letters, digits, `-`, `_` and `.`, and begins and ends with a letter or a digit.",
        "\"task_id\": \"Task one: the reader\"",
        "\"task_id\": \"T001\"";
    UNKNOWN_ANCHOR = "derive-unknown-anchor", Error,
        "A task refers to something that the source plan does not have.",
        "`source_unit`, `requirement_refs` and `source_sections` name places of the plan. A task that serves none of them is not derived from it.",
        "\"source_unit\": \"U9\", of a plan with U1 to U4",
        "\"source_unit\": \"U4\"";
    UNKNOWN_FIELD = "derive-unknown-field", Warning,
        "The planner gave a field that task packs do not have.",
        "It is left out of the pack.",
        "{\"task_id\": \"T001\", \"owner\": \"me\", …}",
        "{\"task_id\": \"T001\", \"handoff_owner\": \"me\", …}";
    UNCOVERED = "derive-uncovered", Warning,
        "No task serves a unit or a requirement of the source plan.",
        "The pack lists it in its Traceability Matrix. A planner that leaves one out on purpose gives the reason in `uncovered`: `non-goal`, `already satisfied` or `deferred`.",
        "R3 of the plan is in no task's requirement_refs",
        "\"uncovered\": [{\"ref\": \"R3\", \"why\": \"deferred\"}]";
    NOT_EXECUTABLE = "derive-draft", Warning,
        "The pack is a draft, because its source plan has no `spec_id`.",
        "Without it a pack cannot be traced to its requirements. Add `spec_id` to the frontmatter of the plan and derive the pack again.",
        "---\ntitle: Import photos\n---",
        "---\ntitle: Import photos\nspec_id: 2026-05-11-004-photo-import\n---";
}
