//! The rules that only rawko's files have.

use crate::diagnostic::rules;

rules! {
    STEP_INDEX = "rawko-step-index", Error,
        "A step's index is not its place in the list.",
        "Steps are counted from 0 in the order of the file, and dependencies name them by that number.",
        "steps:\n  - index: 1\n    description: first\n    status: pending",
        "steps:\n  - index: 0\n    description: first\n    status: pending";
    CURRENT_STEP = "rawko-current-step", Warning,
        "`currentStepIndex` contradicts the statuses of the steps.",
        "While steps are pending it names the one that runs, else the one to run next. When nothing is pending it is the number of steps. Beyond that it is an error.",
        "currentStepIndex: 0, with step 0 complete and step 1 pending",
        "currentStepIndex: 1, with step 0 complete and step 1 pending";
    VERSION_CHAIN = "rawko-version-chain", Error,
        "`version` and `previousPlanId` contradict each other.",
        "The first version has no previous plan; each later one names the plan it replaces.",
        "version: 2   (without previousPlanId)",
        "version: 2\npreviousPlanId: plan-20260123-auth";
    CURRENT_PLAN = "rawko-current-plan", Warning,
        "`current-task.yaml` names a missing plan.",
        "rawko looks for the plan under its id in `plans` next to the file, and so do verbs without a plan argument. If it is missing, the plan was renamed, moved or removed, or the id is misspelt.",
        "planId: plan-20260123-auht   (and .rawko/plans holds plan-20260123-auth.yaml)",
        "planId: plan-20260123-auth";
}
