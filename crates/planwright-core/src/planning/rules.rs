//! The rules for a planner's new version of a plan.

use crate::diagnostic::rules;

rules! {
    CHANGES_DONE = "replan-changes-done", Error,
        "A new version of a plan drops or changes a task that is done.",
        "What is done stays as it was: the new version must hold it with the same id and the same words. The planner is asked again.",
        "a plan whose task `t1` is done, and a new version without `t1`",
        "the same new version with `t1` as it was";
    UNCLEAR_TASK = "replan-unclear-task", Error,
        "It cannot be told which task of the plan a task of its new version is.",
        "Tasks are known by their ids, and where they have none by their words. Two that look alike could be either.",
        "two steps called `Run the tests`, of which one is done",
        "two steps with words of their own";
}
