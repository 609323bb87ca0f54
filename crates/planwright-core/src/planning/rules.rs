//! The rules for a planner's new version of a plan.

use crate::diagnostic::rules;

rules! {
    CHANGES_DONE = "replan-changes-done", Error,
        "A new version of a plan drops or changes a task that is done.",
        "The new version must have done tasks with the same id and the same text. The planner is asked again.",
        "a plan whose task `t1` is done, and a new version without `t1`",
        "the same new version with `t1` as it was";
    UNCLEAR_TASK = "replan-unclear-task", Error,
        "A task of the new version matches several tasks of the plan.",
        "planwright matches tasks by their ids, or by their text if they have none. Two equal texts are ambiguous.",
        "two steps called `Run the tests`, of which one is done",
        "two steps with words of their own";
}
