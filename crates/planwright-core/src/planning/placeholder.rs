//! The placeholders of planning templates: name, source of the value, where it may be used.

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

/// Makes the table of placeholders, one row each: form, name, source of the value, where it may be used, what it stands for.
macro_rules! placeholders {
    ($($form:ident $name:literal = $source:ident, $purposes:ident, $about:literal;)*) => {
        /// All placeholders of planning templates.
        pub static PLACEHOLDERS: &[PlanningPlaceholder] = &[$(
            PlanningPlaceholder {
                name: $name,
                about: $about,
                purposes: $purposes,
                source: PlanningValueSource::$source,
                form: PlanningForm::$form,
            },
        )*];
    };
}

placeholders! {
    Inline "dialect" = Dialect, EVERYWHERE, "what plans of the dialect are called";
    Inline "fence" = Fence, EVERYWHERE, "the word that marks the block with the plan: json, yaml or markdown";
    Block "guide" = Guide, EVERYWHERE, "what a valid plan is: its fields, its rules, an example";
    Block "schema" = Schema, EVERYWHERE, "the dialect's JSON Schema";
    Block "goal" = Goal, EVERYWHERE, "the goal of the plan";
    Block "constraints" = Constraints, EVERYWHERE, "constraints on the work";
    Block "memories" = Memories, EVERYWHERE, "lessons of earlier work";
    Block "context" = Context, EVERYWHERE, "the files that the user gave, each with its path";
    Block "agents" = Agents, EVERYWHERE, "the agents that a task may suggest";
    Block "plan" = Plan, OVER_A_PLAN, "the plan that is replaced";
    Inline "failed_task" = FailedTask, AFTER_A_PLAN, "the task that failed";
    Block "error" = Error, AFTER_A_PLAN, "how it failed";
    Block "log_tail" = LogTail, AFTER_A_PLAN, "the end of its log";
    Block "discoveries" = Discoveries, AFTER_A_PLAN, "discoveries since the plan was made";
    Block "done" = Done, AFTER_A_PLAN, "the done tasks, which must not change";
    Block "answer" = Answer, AFTER_AN_ANSWER, "the planner's previous answer";
    Block "findings" = Findings, AFTER_AN_ANSWER, "why that answer cannot be used";
    Inline "source_path" = Origin, FROM_A_SOURCE, "the path of the source plan, from the root of the repository";
    Block "source_plan" = OriginText, FROM_A_SOURCE, "its text";
    Block "anchors" = Anchors, FROM_A_SOURCE, "its units and requirements";
}

/// What a planning prompt is for.
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
