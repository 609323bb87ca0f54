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
        "git wrote both sides into the file, between marks that begin a line. Nothing else of the file is read until one side is chosen. planwright does not choose.",
        "<<<<<<< HEAD … ======= … >>>>>>> feature",
        "one of both sides, without the marks";
    UNKNOWN_DIALECT = "unknown-dialect", Error,
        "The file is in none of the dialects planwright knows.",
        "A plan is recognised by its content: the keys of its root and of its tasks. Name the dialect with --dialect to see what keeps the file from being one.",
        "{\"name\": \"my plan\", \"items\": []}",
        "{\"goal\": \"my plan\", \"tasks\": []}   (clido)";
    AMBIGUOUS_DIALECT = "ambiguous-dialect", Error,
        "The file could be in more than one dialect.",
        "Its content fits several dialects equally well, and its path does not decide. Name one with --dialect.",
        "{\"tasks\": []}",
        "planwright check --dialect clido plan.json";
    WRAPPED_PLAN = "wrapped-plan", Error,
        "The plan is wrapped in another object.",
        "Language models like to answer with {\"plan\": { … }}. The tools that own these files look for the plan at the root.",
        "{\"plan\": {\"goal\": \"…\", \"tasks\": []}}",
        "{\"goal\": \"…\", \"tasks\": []}";
    PLAN_IN_PROSE = "plan-in-prose", Error,
        "The plan stands inside other text or a code fence.",
        "A text that is a plan as a whole is read whole, whatever it quotes: in the carrier that the file's extension names, else in any other. The fix is safe where it removes only white space and the lines of the fence. Text around the plan is removed by `--fix --unsafe` alone, and where that text is a document of its own, such as a page of Markdown, there is no fix. clido accepts such text as an import form, and then this is a note; a stored plan is the JSON alone.",
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
        "A text that should say something is blank.",
        "An agent that gets this task has no description of the work.",
        "\"description\": \"\"",
        "\"description\": \"Read the module\"";
    QUOTED_VALUE = "quoted-value", Error,
        "A number or boolean stands in quotes.",
        "Language models often quote numbers. The tools that own these files want the value itself.",
        "\"priority\": \"1\"",
        "\"priority\": 1";
    MISNAMED_FIELD = "misnamed-field", Warning,
        "A field has the name that another dialect uses for it.",
        "The dialect ignores names it does not know, so the field is lost silently: a dependency under the wrong name is no dependency. An error for dependencies and where the field is required.",
        "{\"id\": \"t2\", \"dependsOn\": [\"t1\"]}   (clido)",
        "{\"id\": \"t2\", \"depends_on\": [\"t1\"]}";
    INVALID_STATUS = "invalid-status", Error,
        "A status is not one of the dialect's words.",
        "Each dialect has its own words: what one calls done, another calls completed or complete. A task with an unknown status never counts as done or ready.",
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
        "The file's name does not fit its content.",
        "The tools that own these files find plans by name. A copied or renamed file keeps its old id inside.",
        "plan-a1b2c3d4.json holds the plan plan-00000000",
        "plan-a1b2c3d4.json holds the plan plan-a1b2c3d4";
    PLAN_STATUS = "plan-status-mismatch", Warning,
        "The plan's status does not fit its tasks.",
        "A plan that says it is complete while tasks are pending will not be picked up again.",
        "status: complete, with a pending step",
        "status: in_progress, with a pending step";
    TOO_MANY_ALIASES = "too-many-aliases", Error,
        "The YAML repeats parts of itself too often.",
        "Aliases let a small file stand for a huge one. planwright reads up to a million values through them, and up to 32 MiB more of text than there is in the file.",
        "steps: [*a, *a, *a, … ]",
        "steps: [ … ]";
}
