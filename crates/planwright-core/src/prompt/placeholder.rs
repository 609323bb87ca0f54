//! The placeholders of templates: name, source of the value, and how it is written.

use crate::plan::Field;

/// Where a value comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// A field of the plan itself.
    Head(Field),
    /// A field of the task.
    Task(Field),
    /// How users name the task.
    TaskName,
    /// What the dialect calls a task.
    TaskWord,
    /// What the task depends on, with outputs.
    Dependencies,
    /// Which attempt it is, from the second on.
    Attempt,
    /// Why the attempt before failed.
    LastFailure,
    /// The commands that will verify the work.
    Verification,
    /// Where the plan lies.
    PlanPath,
    /// Where the result file belongs.
    ResultFile,
}

/// How a value of a plan is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// Within a sentence, between backticks.
    Inline,
    /// As a block of its own.
    Block,
}

/// A name that a template may use.
#[derive(Debug)]
pub struct Placeholder {
    /// The name, as it stands between the braces.
    pub name: &'static str,
    /// What it stands for, for documentation.
    pub about: &'static str,
    pub(super) source: Source,
    pub(super) shape: Shape,
}

impl Placeholder {
    /// Returns whether its value stands within a sentence; otherwise it is a block of its own.
    pub fn is_inline(&self) -> bool {
        matches!(self.shape, Shape::Inline)
    }
}

const fn inline(name: &'static str, source: Source, about: &'static str) -> Placeholder {
    Placeholder {
        name,
        about,
        source,
        shape: Shape::Inline,
    }
}

const fn block(name: &'static str, source: Source, about: &'static str) -> Placeholder {
    Placeholder {
        name,
        about,
        source,
        shape: Shape::Block,
    }
}

/// All placeholders.
pub static PLACEHOLDERS: &[Placeholder] = &[
    inline("task", Source::TaskName, "how the task is named: its id or number"),
    inline(
        "task_word",
        Source::TaskWord,
        "what the dialect calls a task: task, story, step",
    ),
    inline(
        "task_id",
        Source::Task(Field::Id),
        "the task's id, even if it is named by its number",
    ),
    inline("title", Source::Task(Field::Title), "the task's title"),
    block("description", Source::Task(Field::Description), "what is to be done"),
    block("goal", Source::Task(Field::Goal), "the task's goal"),
    block("criteria", Source::Task(Field::Criteria), "the acceptance criteria"),
    block(
        "instructions",
        Source::Task(Field::Instructions),
        "instructions for the agent that does it",
    ),
    block("notes", Source::Task(Field::Notes), "remarks at the task"),
    block("tools", Source::Task(Field::Tools), "the tools it is to be done with"),
    block("files", Source::Task(Field::Files), "the files it may change"),
    block(
        "side_effects",
        Source::Task(Field::SideEffects),
        "files that may change as well",
    ),
    block("context_refs", Source::Task(Field::ContextRefs), "what to read first"),
    block(
        "requirement_refs",
        Source::Task(Field::RequirementRefs),
        "the requirements it serves",
    ),
    block("entry_hint", Source::Task(Field::EntryHint), "where to begin"),
    block("risk", Source::Task(Field::RiskNote), "what may go wrong"),
    block("test_focus", Source::Task(Field::TestFocus), "what the tests must show"),
    block(
        "done_signal",
        Source::Task(Field::DoneSignal),
        "the observable sign that the task is done",
    ),
    block(
        "stop_if",
        Source::Task(Field::StopIf),
        "the condition that ends the whole run",
    ),
    block(
        "review_focus",
        Source::Task(Field::ReviewFocus),
        "what a reviewer will look at",
    ),
    inline(
        "review_gate",
        Source::Task(Field::ReviewGate),
        "whether it needs a review before the next task",
    ),
    inline(
        "source_unit",
        Source::Task(Field::SourceUnit),
        "the part of the source plan it comes from",
    ),
    inline("wave", Source::Task(Field::Wave), "the wave it belongs to"),
    inline(
        "target_repo",
        Source::Task(Field::TargetRepo),
        "the folder it is done in",
    ),
    inline("task_type", Source::Task(Field::TaskKind), "what kind of task it is"),
    inline(
        "complexity",
        Source::Task(Field::Complexity),
        "how hard it is said to be",
    ),
    inline("priority", Source::Task(Field::Priority), "its priority"),
    inline(
        "agent_hint",
        Source::Task(Field::AgentHint),
        "the agent that the plan suggests",
    ),
    block(
        "artifacts",
        Source::Task(Field::Artifacts),
        "what earlier attempts left behind",
    ),
    block(
        "reflection",
        Source::Task(Field::Reflection),
        "what was learnt in earlier attempts",
    ),
    block(
        "last_error",
        Source::Task(Field::Error),
        "the error that the plan file records",
    ),
    inline("plan_title", Source::Head(Field::Title), "the plan's title"),
    block("plan_goal", Source::Head(Field::Goal), "the plan's goal"),
    block(
        "plan_description",
        Source::Head(Field::Description),
        "what the plan says about itself",
    ),
    block(
        "plan_context",
        Source::Head(Field::Context),
        "what to know about the project",
    ),
    block(
        "plan_constraints",
        Source::Head(Field::Constraints),
        "what must hold whatever is done",
    ),
    block("plan_risks", Source::Head(Field::Risks), "the plan's risks"),
    block(
        "plan_stack",
        Source::Head(Field::TechnicalStack),
        "languages, libraries, tools",
    ),
    block(
        "plan_test_strategy",
        Source::Head(Field::TestStrategy),
        "how the plan wants things tested",
    ),
    block(
        "plan_memories",
        Source::Head(Field::Memories),
        "what earlier plans taught",
    ),
    block("plan_tags", Source::Head(Field::Tags), "the plan's tags"),
    inline("plan_kind", Source::Head(Field::PlanKind), "what kind of plan it is"),
    inline("plan_branch", Source::Head(Field::Branch), "the branch it belongs to"),
    inline("plan_project", Source::Head(Field::Project), "the project's name"),
    inline("plan_spec", Source::Head(Field::SpecId), "the id of the specification"),
    inline(
        "plan_source",
        Source::Head(Field::SourcePlan),
        "the plan that this one was derived from",
    ),
    block(
        "plan_sections",
        Source::Head(Field::SourceSections),
        "the parts of that plan it covers",
    ),
    inline(
        "plan_repo",
        Source::Head(Field::TargetRepo),
        "the folder the plan is for",
    ),
    inline(
        "plan_complexity",
        Source::Head(Field::Complexity),
        "how hard the whole is said to be",
    ),
    inline(
        "plan_document",
        Source::Head(Field::PlanPath),
        "the document that the plan was made from",
    ),
    inline(
        "plan_brainstorm",
        Source::Head(Field::BrainstormPath),
        "the notes from before the plan",
    ),
    inline(
        "plan_path",
        Source::PlanPath,
        "the plan file itself, which is not to be touched",
    ),
    block(
        "dependencies",
        Source::Dependencies,
        "the tasks that it depends on, with their results",
    ),
    inline(
        "attempt",
        Source::Attempt,
        "the number of the attempt, from the second on",
    ),
    block(
        "verification",
        Source::Verification,
        "the commands that will verify the work, one to a line",
    ),
    block(
        "last_failure",
        Source::LastFailure,
        "how the attempt before failed: the output of its verification",
    ),
    inline(
        "result_file",
        Source::ResultFile,
        "the file in which the agent reports, where it can",
    ),
];
