//! The rules that only Aimi's files have.

use crate::diagnostic::rules;

rules! {
    UNKNOWN_VERSION = "aimi-unknown-version", Error,
        "The schema version is unknown.",
        "\"3.0\" is v3, other \"3.x\" are read as v3 with a warning, \"2.x\" and a prd.json without a version are v2. Anything else is refused: guessing would change what the plan means.",
        "\"schemaVersion\": \"4.0\"",
        "\"schemaVersion\": \"3.0\"";
    NEWER_VERSION = "aimi-newer-version", Warning,
        "The schema version is a 3.x newer than 3.0.",
        "It is read as v3. Fields that a newer version added are kept but not understood.",
        "\"schemaVersion\": \"3.1\"",
        "\"schemaVersion\": \"3.0\"";
    MISSING_TYPECHECK = "aimi-missing-typecheck", Error,
        "A story's acceptance criteria lack \"Typecheck passes\".",
        "The specification requires exactly this sentence among the criteria of every story.",
        "\"acceptanceCriteria\": [\"Button is shown\"]",
        "\"acceptanceCriteria\": [\"Button is shown\", \"Typecheck passes\"]";
    DUPLICATE_PRIORITY = "aimi-duplicate-priority", Error,
        "Two stories have the same priority.",
        "Priority decides between stories that are ready at once, so each needs its own.",
        "\"priority\": 2 … \"priority\": 2",
        "\"priority\": 2 … \"priority\": 3";
    ZERO_CONCURRENCY = "aimi-zero-concurrency", Warning,
        "`maxConcurrency` is 0, which means the default of 4.",
        "The specification allows it in one place and forbids it in another. Leave the field out, or give a number.",
        "\"maxConcurrency\": 0",
        "\"maxConcurrency\": 4";
    STORY_PHRASING = "aimi-story-phrasing", Note,
        "A description is not phrased as a user story.",
        "\"As a [user], I want [feature] so that [benefit]\" is the specification's advice. Nothing depends on it.",
        "\"description\": \"Add a button\"",
        "\"description\": \"As a user, I want a button so that I can save\"";
    SUSPICIOUS_TEXT = "aimi-suspicious-text", Note,
        "A title or description has something that `aimi-cli validate-stories` calls suspicious.",
        "It looks for \"ignore previous\", \"system:\", \"instructions\", \"$(\" and backticks, in any case of letters. Agents get these texts: what reads as an order or as a command may be taken for one. Harmless texts are found too, so this is a note.",
        "\"title\": \"Run `make`\"",
        "\"title\": \"Run make\"";
    OTHER_VERSIONS_FIELD = "aimi-field-of-other-version", Warning,
        "A field belongs to the other schema version.",
        "v3 has `status` and `dependsOn`; v2.x has `passes` and `skipped`. The other version's field has no effect. An error if the version's own field is missing.",
        "\"passes\": true   (in a 3.0 file)",
        "\"status\": \"completed\"";
}
