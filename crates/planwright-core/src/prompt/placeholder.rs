//! The placeholders of templates: name, source of the value, and its form.

use crate::plan::Field;

/// The source of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum PromptValueSource {
    /// A field of the plan itself.
    Head(Field),
    /// A field of the task.
    Task(Field),
    /// The name of the task for users.
    TaskName,
    /// The dialect's word for a task.
    TaskWord,
    /// The dependencies, with outputs.
    Dependencies,
    /// The number of the attempt, from the second on.
    Attempt,
    /// Why the previous attempt failed.
    LastFailure,
    /// The commands that will verify the work.
    Verification,
    /// The path of the plan.
    PlanPath,
    /// The path of the result file.
    ResultFile,
}

/// The form of a plan's value.
#[derive(Clone, Copy, Debug)]
pub(super) enum PromptForm {
    /// Inside a sentence, between backticks.
    Inline,
    /// As a separate block.
    Block,
}

/// A name that a template may use.
#[derive(Debug)]
pub struct PromptPlaceholder {
    /// The name between the braces.
    pub name: &'static str,
    /// Its meaning, for documentation.
    pub about: &'static str,
    pub(super) source: PromptValueSource,
    pub(super) shape: PromptForm,
}

impl PromptPlaceholder {
    /// Returns whether its value is inside a sentence; otherwise it is a separate block.
    pub fn is_inline(&self) -> bool {
        matches!(self.shape, PromptForm::Inline)
    }
}

const fn inline(name: &'static str, source: PromptValueSource, about: &'static str) -> PromptPlaceholder {
    PromptPlaceholder {
        name,
        about,
        source,
        shape: PromptForm::Inline,
    }
}

const fn block(name: &'static str, source: PromptValueSource, about: &'static str) -> PromptPlaceholder {
    PromptPlaceholder {
        name,
        about,
        source,
        shape: PromptForm::Block,
    }
}

/// All placeholders.
pub static PLACEHOLDERS: &[PromptPlaceholder] = &[
    inline(
        "task",
        PromptValueSource::TaskName,
        "the name of the task: its id or number",
    ),
    inline(
        "task_word",
        PromptValueSource::TaskWord,
        "what the dialect calls a task: task, story, step",
    ),
    inline(
        "task_id",
        PromptValueSource::Task(Field::Id),
        "the task's id, even if it is named by its number",
    ),
    inline("title", PromptValueSource::Task(Field::Title), "the task's title"),
    block("description", PromptValueSource::Task(Field::Description), "what to do"),
    block("goal", PromptValueSource::Task(Field::Goal), "the task's goal"),
    block(
        "criteria",
        PromptValueSource::Task(Field::Criteria),
        "the acceptance criteria",
    ),
    block(
        "instructions",
        PromptValueSource::Task(Field::Instructions),
        "instructions for the agent that does it",
    ),
    block("notes", PromptValueSource::Task(Field::Notes), "the notes of the task"),
    block("tools", PromptValueSource::Task(Field::Tools), "the tools to use"),
    block(
        "files",
        PromptValueSource::Task(Field::Files),
        "the files it may change",
    ),
    block(
        "side_effects",
        PromptValueSource::Task(Field::SideEffects),
        "other files that may change",
    ),
    block(
        "context_refs",
        PromptValueSource::Task(Field::ContextRefs),
        "what to read first",
    ),
    block(
        "requirement_refs",
        PromptValueSource::Task(Field::RequirementRefs),
        "the requirements it serves",
    ),
    block(
        "entry_hint",
        PromptValueSource::Task(Field::EntryHint),
        "where to begin",
    ),
    block("risk", PromptValueSource::Task(Field::RiskNote), "what may go wrong"),
    block(
        "test_focus",
        PromptValueSource::Task(Field::TestFocus),
        "what the tests must show",
    ),
    block(
        "done_signal",
        PromptValueSource::Task(Field::DoneSignal),
        "the observable sign that the task is done",
    ),
    block(
        "stop_if",
        PromptValueSource::Task(Field::StopIf),
        "the condition that ends the whole run",
    ),
    block(
        "review_focus",
        PromptValueSource::Task(Field::ReviewFocus),
        "what a reviewer will look at",
    ),
    inline(
        "review_gate",
        PromptValueSource::Task(Field::ReviewGate),
        "whether it needs a review before the next task",
    ),
    inline(
        "source_unit",
        PromptValueSource::Task(Field::SourceUnit),
        "the part of the source plan it comes from",
    ),
    inline("wave", PromptValueSource::Task(Field::Wave), "the wave it belongs to"),
    inline(
        "target_repo",
        PromptValueSource::Task(Field::TargetRepo),
        "the folder it is done in",
    ),
    inline(
        "task_type",
        PromptValueSource::Task(Field::TaskKind),
        "what kind of task it is",
    ),
    inline(
        "complexity",
        PromptValueSource::Task(Field::Complexity),
        "its complexity",
    ),
    inline("priority", PromptValueSource::Task(Field::Priority), "its priority"),
    inline(
        "agent_hint",
        PromptValueSource::Task(Field::AgentHint),
        "the agent that the plan suggests",
    ),
    block(
        "artifacts",
        PromptValueSource::Task(Field::Artifacts),
        "what earlier attempts left behind",
    ),
    block(
        "reflection",
        PromptValueSource::Task(Field::Reflection),
        "lessons of earlier attempts",
    ),
    block(
        "last_error",
        PromptValueSource::Task(Field::Error),
        "the error that the plan file records",
    ),
    inline("plan_title", PromptValueSource::Head(Field::Title), "the plan's title"),
    block("plan_goal", PromptValueSource::Head(Field::Goal), "the plan's goal"),
    block(
        "plan_description",
        PromptValueSource::Head(Field::Description),
        "the description of the plan",
    ),
    block(
        "plan_context",
        PromptValueSource::Head(Field::Context),
        "what to know about the project",
    ),
    block(
        "plan_constraints",
        PromptValueSource::Head(Field::Constraints),
        "constraints on the work",
    ),
    block("plan_risks", PromptValueSource::Head(Field::Risks), "the plan's risks"),
    block(
        "plan_stack",
        PromptValueSource::Head(Field::TechnicalStack),
        "languages, libraries, tools",
    ),
    block(
        "plan_test_strategy",
        PromptValueSource::Head(Field::TestStrategy),
        "the plan's test strategy",
    ),
    block(
        "plan_memories",
        PromptValueSource::Head(Field::Memories),
        "lessons of earlier plans",
    ),
    block("plan_tags", PromptValueSource::Head(Field::Tags), "the plan's tags"),
    inline(
        "plan_kind",
        PromptValueSource::Head(Field::PlanKind),
        "what kind of plan it is",
    ),
    inline(
        "plan_branch",
        PromptValueSource::Head(Field::Branch),
        "the branch it belongs to",
    ),
    inline(
        "plan_project",
        PromptValueSource::Head(Field::Project),
        "the project's name",
    ),
    inline(
        "plan_spec",
        PromptValueSource::Head(Field::SpecId),
        "the id of the specification",
    ),
    inline(
        "plan_source",
        PromptValueSource::Head(Field::SourcePlan),
        "the plan that this one was derived from",
    ),
    block(
        "plan_sections",
        PromptValueSource::Head(Field::SourceSections),
        "the parts of that plan it covers",
    ),
    inline(
        "plan_repo",
        PromptValueSource::Head(Field::TargetRepo),
        "the folder the plan is for",
    ),
    inline(
        "plan_complexity",
        PromptValueSource::Head(Field::Complexity),
        "the complexity of the whole plan",
    ),
    inline(
        "plan_document",
        PromptValueSource::Head(Field::PlanPath),
        "the document that the plan was made from",
    ),
    inline(
        "plan_brainstorm",
        PromptValueSource::Head(Field::BrainstormPath),
        "the notes from before the plan",
    ),
    inline(
        "plan_path",
        PromptValueSource::PlanPath,
        "the plan file, which the agent must not change",
    ),
    block(
        "dependencies",
        PromptValueSource::Dependencies,
        "the tasks that it depends on, with their results",
    ),
    inline(
        "attempt",
        PromptValueSource::Attempt,
        "the number of the attempt, from the second on",
    ),
    block(
        "verification",
        PromptValueSource::Verification,
        "the commands that will verify the work, one to a line",
    ),
    block(
        "last_failure",
        PromptValueSource::LastFailure,
        "how the previous attempt failed: the output of its verification",
    ),
    inline(
        "result_file",
        PromptValueSource::ResultFile,
        "the file for the agent's report",
    ),
];
