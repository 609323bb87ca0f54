//! The placeholders of planning templates: name, source of the value, where it may be used.

/// The source of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum PlanningValueSource {
    /// The name of the dialect's plans.
    Dialect,
    /// The info string of the code block with the plan.
    Fence,
    /// The rules of a valid plan.
    Guide,
    /// The dialect's JSON Schema.
    Schema,
    Goal,
    Constraints,
    Memories,
    /// The user's files.
    Context,
    /// Agents that a task may suggest.
    Agents,
    /// The text of the old plan.
    Plan,
    FailedTask,
    Error,
    LogTail,
    Discoveries,
    /// The done tasks.
    Done,
    /// The planner's answer.
    Answer,
    /// The findings about the answer.
    Findings,
    /// The path of a pack's source plan.
    Origin,
    OriginText,
    /// The names in the source plan that a pack can refer to.
    Anchors,
}

/// The form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanningForm {
    /// Inside a sentence.
    Inline,
    /// As a separate block.
    Block,
}

/// A name that a planning template may use.
#[derive(Debug)]
pub struct PlanningPlaceholder {
    /// The name between the braces.
    pub name: &'static str,
    /// Its meaning, for documentation.
    pub about: &'static str,
    /// The prompts whose templates may use it.
    pub purposes: &'static [Purpose],
    pub(super) source: PlanningValueSource,
    form: PlanningForm,
}

impl PlanningPlaceholder {
    /// Returns whether its value is inside a sentence; otherwise it is a separate block.
    pub fn is_inline(&self) -> bool {
        self.form == PlanningForm::Inline
    }
}

const EVERYWHERE: &[Purpose] = &Purpose::ALL;
const OVER_A_PLAN: &[Purpose] = &[Purpose::Replan, Purpose::Repair, Purpose::Derive];
const AFTER_A_PLAN: &[Purpose] = &[Purpose::Replan, Purpose::Repair];
const AFTER_AN_ANSWER: &[Purpose] = &[Purpose::Repair, Purpose::Derive];
const FROM_A_SOURCE: &[Purpose] = &[Purpose::Derive];

const fn inline(
    name: &'static str,
    source: PlanningValueSource,
    purposes: &'static [Purpose],
    about: &'static str,
) -> PlanningPlaceholder {
    PlanningPlaceholder {
        name,
        about,
        purposes,
        source,
        form: PlanningForm::Inline,
    }
}

const fn block(
    name: &'static str,
    source: PlanningValueSource,
    purposes: &'static [Purpose],
    about: &'static str,
) -> PlanningPlaceholder {
    PlanningPlaceholder {
        name,
        about,
        purposes,
        source,
        form: PlanningForm::Block,
    }
}

/// All placeholders of planning templates.
pub static PLACEHOLDERS: &[PlanningPlaceholder] = &[
    inline(
        "dialect",
        PlanningValueSource::Dialect,
        EVERYWHERE,
        "what plans of the dialect are called",
    ),
    inline(
        "fence",
        PlanningValueSource::Fence,
        EVERYWHERE,
        "the word that marks the block with the plan: json or yaml",
    ),
    block(
        "guide",
        PlanningValueSource::Guide,
        EVERYWHERE,
        "what a valid plan is: its fields, its rules, an example",
    ),
    block(
        "schema",
        PlanningValueSource::Schema,
        EVERYWHERE,
        "the dialect's JSON Schema",
    ),
    block("goal", PlanningValueSource::Goal, EVERYWHERE, "the goal of the plan"),
    block(
        "constraints",
        PlanningValueSource::Constraints,
        EVERYWHERE,
        "constraints on the work",
    ),
    block(
        "memories",
        PlanningValueSource::Memories,
        EVERYWHERE,
        "lessons of earlier work",
    ),
    block(
        "context",
        PlanningValueSource::Context,
        EVERYWHERE,
        "the files that the user gave, each with its path",
    ),
    block(
        "agents",
        PlanningValueSource::Agents,
        EVERYWHERE,
        "the agents that a task may suggest",
    ),
    block(
        "plan",
        PlanningValueSource::Plan,
        OVER_A_PLAN,
        "the plan that is replaced",
    ),
    inline(
        "failed_task",
        PlanningValueSource::FailedTask,
        AFTER_A_PLAN,
        "the task that failed",
    ),
    block("error", PlanningValueSource::Error, AFTER_A_PLAN, "how it failed"),
    block(
        "log_tail",
        PlanningValueSource::LogTail,
        AFTER_A_PLAN,
        "the end of its log",
    ),
    block(
        "discoveries",
        PlanningValueSource::Discoveries,
        AFTER_A_PLAN,
        "discoveries since the plan was made",
    ),
    block(
        "done",
        PlanningValueSource::Done,
        AFTER_A_PLAN,
        "the done tasks, which must not change",
    ),
    block(
        "answer",
        PlanningValueSource::Answer,
        AFTER_AN_ANSWER,
        "the planner's previous answer",
    ),
    block(
        "findings",
        PlanningValueSource::Findings,
        AFTER_AN_ANSWER,
        "why that answer cannot be used",
    ),
    inline(
        "source_path",
        PlanningValueSource::Origin,
        FROM_A_SOURCE,
        "the path of the source plan, from the root of the repository",
    ),
    block(
        "source_plan",
        PlanningValueSource::OriginText,
        FROM_A_SOURCE,
        "its text",
    ),
    block(
        "anchors",
        PlanningValueSource::Anchors,
        FROM_A_SOURCE,
        "its units and requirements",
    ),
];

/// The purpose of a planning prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To make a plan.
    Plan,
    /// To replace a plan by a new version.
    Replan,
    /// To correct an answer.
    Repair,
    /// To derive a task pack from a source plan, or to correct an answer to that.
    Derive,
}
