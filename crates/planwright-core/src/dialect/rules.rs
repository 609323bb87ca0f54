//! The rules of all dialects: fields, recognition of dialects, habits of language models.

use crate::diagnostic::rules;

rules! {
    EMPTY_FILE = "empty-file", Error,
        "The file is empty.",
        "There is no plan in it. An interrupted write looks like this: restore it from version control.",
        "(0 bytes)",
        "{\"goal\": \"…\", \"tasks\": [ … ]}";
    MERGE_CONFLICT = "merge-conflict", Error,
        "A merge left a conflict in the file.",
        "git wrote both sides into the file, between marker lines. planwright reads nothing else of the file until you choose one side.",
        "<<<<<<< HEAD … ======= … >>>>>>> feature",
        "one of both sides, without the marks";
    UNKNOWN_DIALECT = "unknown-dialect", Error,
        "The file is in none of the dialects planwright knows.",
        "planwright recognises a plan by the keys of its root and of its tasks. Name the dialect with --dialect to see which errors the file has in it.",
        "{\"name\": \"my plan\", \"items\": []}",
        "{\"goal\": \"my plan\", \"tasks\": []}   (clido)";
    AMBIGUOUS_DIALECT = "ambiguous-dialect", Error,
        "The file could be in more than one dialect.",
        "Its content fits several dialects equally well, and its path does not decide. Name one with --dialect.",
        "{\"tasks\": []}",
        "planwright check --dialect clido plan.json";
    WRAPPED_PLAN = "wrapped-plan", Error,
        "The plan is wrapped in another object.",
        "Language models often answer with {\"plan\": { … }}. The tools that own these files look for the plan at the root.",
        "{\"plan\": {\"goal\": \"…\", \"tasks\": []}}",
        "{\"goal\": \"…\", \"tasks\": []}";
    PLAN_IN_PROSE = "plan-in-prose", Error,
        "The plan is inside other text or a code fence.",
        "A text that is a plan as a whole is read as a whole, even if it quotes another plan: in the format that the file's extension names, else in any other. The fix is safe if it removes only white space and the lines of the fence. Only `--fix --unsafe` removes text around the plan. If that text is a document, such as a page of Markdown, there is no fix. clido accepts such text as an import form, and then this is a note; a stored plan is the JSON alone.",
        "Here is your plan:\n```json\n{ … }\n```",
        "{ … }";
    MISSING_FIELD = "missing-field", Error,
        "A required field is missing.",
        "The dialect's page lists the fields and which of them are required.",
        "{\"id\": \"t1\"}",
        "{\"id\": \"t1\", \"description\": \"Read the module\"}";
    INVALID_FIELD = "invalid-field", Error,
        "A field has a value of the wrong type or outside its range.",
        "The dialect's page lists each field's type.",
        "\"complexity\": \"hard\"",
        "\"complexity\": \"high\"";
    BLANK_FIELD = "blank-field", Warning,
        "A text that an agent needs is blank.",
        "An agent that gets this task has no description of the work.",
        "\"description\": \"\"",
        "\"description\": \"Read the module\"";
    QUOTED_VALUE = "quoted-value", Error,
        "A number or boolean is in quotes.",
        "Language models often quote numbers. The tools that own these files need the value itself.",
        "\"priority\": \"1\"",
        "\"priority\": 1";
    MISNAMED_FIELD = "misnamed-field", Warning,
        "A field has the name that another dialect uses for it.",
        "The dialect ignores unknown names, so the field is lost silently: a dependency under the wrong name has no effect. An error for dependencies and for required fields.",
        "{\"id\": \"t2\", \"dependsOn\": [\"t1\"]}   (clido)",
        "{\"id\": \"t2\", \"depends_on\": [\"t1\"]}";
    INVALID_STATUS = "invalid-status", Error,
        "A status is not one of the dialect's words.",
        "Each dialect has its own words: done, completed or complete. A task with an unknown status never counts as done or ready.",
        "\"status\": \"finished\"",
        "\"status\": \"done\"";
    INVALID_REFERENCE = "invalid-reference", Error,
        "A dependency is not written as a reference.",
        "Dependencies name tasks as the dialect does: by id, by 1-based index or UUID, by 0-based index.",
        "\"dependencies\": [true]",
        "\"dependencies\": [1]";
    INDEX_BASE = "index-base", Error,
        "Dependencies seem to count from the wrong number.",
        "OpenCrabs counts tasks from 1, rawko counts steps from 0. One index out of range by one usually means that all of them are shifted.",
        "\"dependencies\": [0]   (OpenCrabs)",
        "\"dependencies\": [1]";
    INVALID_TIMESTAMP = "invalid-timestamp", Warning,
        "A time is not written as ISO 8601.",
        "Tools sort plans by these fields.",
        "\"created_at\": \"yesterday\"",
        "\"created_at\": \"2026-03-22T10:00:00Z\"";
    FILE_NAME = "file-name-mismatch", Note,
        "The file's name does not match its content.",
        "The tools that own these files find plans by name. A copied or renamed file keeps its old id inside.",
        "plan-a1b2c3d4.json holds the plan plan-00000000",
        "plan-a1b2c3d4.json holds the plan plan-a1b2c3d4";
    PLAN_STATUS = "plan-status-mismatch", Warning,
        "The plan's status contradicts its tasks.",
        "Tools do not continue a plan that is marked as complete, even if tasks are pending.",
        "status: complete, with a pending step",
        "status: in_progress, with a pending step";
    TOO_MANY_ALIASES = "too-many-aliases", Error,
        "The YAML repeats parts of itself too often.",
        "With aliases, a small file can expand to a huge one. planwright reads up to a million values through them, and up to 32 MiB more text than the file has.",
        "steps: [*a, *a, *a, … ]",
        "steps: [ … ]";
}
