//! The rules for plans in a model's answer.

use crate::diagnostic::rules;

rules! {
    GUESS = "answer-guess", Note,
        "A part of the answer can be read in more than one way, and one of them was chosen.",
        "The finding names the choice. Check it before you confirm the import; if it is wrong, edit the text and import it again.",
        "1. Write the parser, 2. Use the parser: no dependency is written",
        "2. Use the parser (depends on 1)";
    IN_DESCRIPTION = "answer-in-description", Note,
        "The dialect has no field for a part of a task: it is written into the description.",
        "No detail of a task is lost. Remove the part from the text if the agent does not need it.",
        "\"estimate\": \"2h\", in a task of the answer",
        "a task without it";
    NO_TASKS = "answer-without-tasks", Error,
        "No task can be read out of the answer.",
        "A plan is read from JSON, JSON lines, YAML, Mermaid graphs, tables, CSV, checklists, numbered lists, lists of HTML, and headings with lists. Questions to the user and empty lists are no plan.",
        "{\"tasks\": []}",
        "{\"tasks\": [\"Write the parser\"]}";
    CUT_OFF = "answer-cut-off", Error,
        "The answer stops before its plan is complete.",
        "What follows is unknown. Ask for the rest, or import the complete tasks alone with `--partial`.",
        "{\"tasks\": [{\"title\": \"Write the par",
        "{\"tasks\": [{\"title\": \"Write the parser\"}]}";
    UNREADABLE = "answer-syntax", Error,
        "The plan in the answer cannot be read beyond this place.",
        "Comments, trailing commas, single quotes, typographic quotes and unquoted keys are accepted. This is none of them.",
        "{\"tasks\": [{\"title\" \"Write\" ]]",
        "{\"tasks\": [{\"title\": \"Write\"}]}";
    AMBIGUOUS = "answer-ambiguous", Error,
        "The answer can be read in two ways that give different plans.",
        "Both places are named. Edit the text so that one reading is left, or import one part of it.",
        "two tasks named \"Write tests\", and a task that depends on \"Write tests\"",
        "two tasks with different names";
    TWO_PLANS = "answer-with-two-plans", Error,
        "The answer has two different plans, and it is unclear which one to import.",
        "A plan that the text calls corrected, revised or final takes the place of an earlier one, as does one that repeats most of its tasks. Alternatives are for you to choose: delete the one that you do not want.",
        "Option A: {\"tasks\": …} Option B: {\"tasks\": …}",
        "Option A: {\"tasks\": …}";
    UNKNOWN_TASK = "answer-unknown-task", Error,
        "A dependency of the answer names no task in it.",
        "No dependency is dropped: add the task, or remove the dependency from the text.",
        "{\"id\": 3, \"depends_on\": [7]}, among three tasks",
        "{\"id\": 3, \"depends_on\": [2]}";
    REPEATED_ID = "answer-repeated-id", Error,
        "Two tasks of the answer have the same id.",
        "What depends on that id is then ambiguous. Give one of them another id.",
        "{\"id\": \"a\", …}, {\"id\": \"a\", …}",
        "{\"id\": \"a\", …}, {\"id\": \"b\", …}";
    CYCLE = "answer-cycle", Error,
        "Tasks of the answer depend on each other in a cycle.",
        "None of them could ever start. Remove one of the dependencies from the text.",
        "a depends on b, b depends on a",
        "a depends on b";
}
