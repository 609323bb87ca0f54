//! The placeholders of planning templates: name, source of the value, where it may be used.

use super::prompt::Purpose;

/// Where a value comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// What plans of the dialect are called.
    Dialect,
    /// The word that marks the block with the plan.
    Fence,
    /// What a valid plan is.
    Guide,
    /// The dialect's JSON Schema.
    Schema,
    Goal,
    Constraints,
    Memories,
    /// Files that the user gave.
    Context,
    /// Agents that a task may suggest.
    Agents,
    /// The text of the plan that is replaced.
    Plan,
    FailedTask,
    Error,
    LogTail,
    Discoveries,
    /// The tasks that are done.
    Done,
    /// What the planner answered.
    Answer,
    /// What is wrong with that.
    Findings,
    /// Where the source plan of a pack lies.
    Origin,
    /// Its text.
    OriginText,
    /// What a pack can refer to in it.
    Anchors,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Within a sentence.
    Inline,
    /// As a block of its own.
    Block,
}

/// A name that a planning template may use.
#[derive(Debug)]
pub struct Placeholder {
    /// The name, as it stands between the braces.
    pub name: &'static str,
    /// What it stands for, for documentation.
    pub about: &'static str,
    /// The prompts whose templates may use it.
    pub purposes: &'static [Purpose],
    pub(super) source: Source,
    form: Form,
}

impl Placeholder {
    /// Returns whether its value stands within a sentence; otherwise it is a block of its own.
    pub fn is_inline(&self) -> bool {
        self.form == Form::Inline
    }
}

const EVERYWHERE: &[Purpose] = &Purpose::ALL;
const OVER_A_PLAN: &[Purpose] = &[Purpose::Replan, Purpose::Repair, Purpose::Derive];
const AFTER_A_PLAN: &[Purpose] = &[Purpose::Replan, Purpose::Repair];
const AFTER_AN_ANSWER: &[Purpose] = &[Purpose::Repair, Purpose::Derive];
const FROM_A_SOURCE: &[Purpose] = &[Purpose::Derive];

const fn inline(name: &'static str, source: Source, purposes: &'static [Purpose], about: &'static str) -> Placeholder {
    Placeholder {
        name,
        about,
        purposes,
        source,
        form: Form::Inline,
    }
}

const fn block(name: &'static str, source: Source, purposes: &'static [Purpose], about: &'static str) -> Placeholder {
    Placeholder {
        name,
        about,
        purposes,
        source,
        form: Form::Block,
    }
}

/// All placeholders of planning templates.
pub static PLACEHOLDERS: &[Placeholder] = &[
    inline(
        "dialect",
        Source::Dialect,
        EVERYWHERE,
        "what plans of the dialect are called",
    ),
    inline(
        "fence",
        Source::Fence,
        EVERYWHERE,
        "the word that marks the block with the plan: json or yaml",
    ),
    block(
        "guide",
        Source::Guide,
        EVERYWHERE,
        "what a valid plan is: its fields, its rules, an example",
    ),
    block("schema", Source::Schema, EVERYWHERE, "the dialect's JSON Schema"),
    block("goal", Source::Goal, EVERYWHERE, "what the plan is to achieve"),
    block(
        "constraints",
        Source::Constraints,
        EVERYWHERE,
        "what must hold whatever is done",
    ),
    block("memories", Source::Memories, EVERYWHERE, "what earlier work taught"),
    block(
        "context",
        Source::Context,
        EVERYWHERE,
        "the files that the user gave, each with its path",
    ),
    block(
        "agents",
        Source::Agents,
        EVERYWHERE,
        "the agents that a task may suggest",
    ),
    block("plan", Source::Plan, OVER_A_PLAN, "the plan that is replaced"),
    inline("failed_task", Source::FailedTask, AFTER_A_PLAN, "the task that failed"),
    block("error", Source::Error, AFTER_A_PLAN, "how it failed"),
    block("log_tail", Source::LogTail, AFTER_A_PLAN, "the end of its log"),
    block(
        "discoveries",
        Source::Discoveries,
        AFTER_A_PLAN,
        "what was found out in the meantime",
    ),
    block(
        "done",
        Source::Done,
        AFTER_A_PLAN,
        "the tasks that are done, and stay as they are",
    ),
    block(
        "answer",
        Source::Answer,
        AFTER_AN_ANSWER,
        "what the planner answered before",
    ),
    block("findings", Source::Findings, AFTER_AN_ANSWER, "why that cannot be used"),
    inline(
        "source_path",
        Source::Origin,
        FROM_A_SOURCE,
        "where the source plan lies, from the root of the repository",
    ),
    block("source_plan", Source::OriginText, FROM_A_SOURCE, "its text"),
    block(
        "anchors",
        Source::Anchors,
        FROM_A_SOURCE,
        "the units and requirements that were found in it",
    ),
];
