//! The placeholders of templates: name, source of the value, and its form.

use crate::plan::Field;

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

/// Makes the table of placeholders, one row each: form, name, source of the value, what it stands for.
macro_rules! placeholders {
    ($($form:ident $name:literal = $source:ident $(($field:ident))?, $about:literal;)*) => {
        /// All placeholders.
        pub static PLACEHOLDERS: &[PromptPlaceholder] = &[$(
            PromptPlaceholder {
                name: $name,
                about: $about,
                source: PromptValueSource::$source $((Field::$field))?,
                shape: PromptForm::$form,
            },
        )*];
    };
}

placeholders! {
    Inline "task" = TaskName, "the name of the task: its id or number";
    Inline "task_word" = TaskWord, "what the dialect calls a task: task, story, step";
    Inline "task_id" = Task(Id), "the task's id, even if it is named by its number";
    Inline "title" = Task(Title), "the task's title";
    Block "description" = Task(Description), "what to do";
    Block "goal" = Task(Goal), "the task's goal";
    Block "criteria" = Task(Criteria), "the acceptance criteria";
    Block "instructions" = Task(Instructions), "instructions for the agent that does it";
    Block "notes" = Task(Notes), "the notes of the task";
    Block "tools" = Task(Tools), "the tools to use";
    Block "files" = Task(Files), "the files it may change";
    Block "side_effects" = Task(SideEffects), "other files that may change";
    Block "context_refs" = Task(ContextRefs), "what to read first";
    Block "requirement_refs" = Task(RequirementRefs), "the requirements it serves";
    Block "entry_hint" = Task(EntryHint), "where to begin";
    Block "risk" = Task(RiskNote), "what may go wrong";
    Block "test_focus" = Task(TestFocus), "what the tests must show";
    Block "done_signal" = Task(DoneSignal), "the observable sign that the task is done";
    Block "stop_if" = Task(StopIf), "the condition that ends the whole run";
    Block "review_focus" = Task(ReviewFocus), "what a reviewer will look at";
    Inline "review_gate" = Task(ReviewGate), "whether it needs a review before the next task";
    Inline "source_unit" = Task(SourceUnit), "the part of the source plan it comes from";
    Inline "wave" = Task(Wave), "the wave it belongs to";
    Inline "section" = Task(Section), "the headings that it stands under";
    Block "section_text" = Task(SectionText), "the text of the groups that it is part of";
    Inline "target_repo" = Task(TargetRepo), "the folder it is done in";
    Inline "task_type" = Task(TaskKind), "what kind of task it is";
    Inline "complexity" = Task(Complexity), "its complexity";
    Inline "priority" = Task(Priority), "its priority";
    Inline "agent_hint" = Task(AgentHint), "the agent that the plan suggests";
    Block "artifacts" = Task(Artifacts), "what earlier attempts left behind";
    Block "reflection" = Task(Reflection), "lessons of earlier attempts";
    Block "last_error" = Task(Error), "the error that the plan file records";
    Inline "plan_title" = Head(Title), "the plan's title";
    Block "plan_goal" = Head(Goal), "the plan's goal";
    Block "plan_description" = Head(Description), "the description of the plan";
    Block "plan_context" = Head(Context), "what to know about the project";
    Block "plan_constraints" = Head(Constraints), "constraints on the work";
    Block "plan_risks" = Head(Risks), "the plan's risks";
    Block "plan_stack" = Head(TechnicalStack), "languages, libraries, tools";
    Block "plan_test_strategy" = Head(TestStrategy), "the plan's test strategy";
    Block "plan_memories" = Head(Memories), "lessons of earlier plans";
    Block "plan_tags" = Head(Tags), "the plan's tags";
    Inline "plan_kind" = Head(PlanKind), "what kind of plan it is";
    Inline "plan_branch" = Head(Branch), "the branch it belongs to";
    Inline "plan_project" = Head(Project), "the project's name";
    Inline "plan_spec" = Head(SpecId), "the id of the specification";
    Inline "plan_source" = Head(SourcePlan), "the plan that this one was derived from";
    Block "plan_sections" = Head(SourceSections), "the parts of that plan it covers";
    Inline "plan_repo" = Head(TargetRepo), "the folder the plan is for";
    Inline "plan_complexity" = Head(Complexity), "the complexity of the whole plan";
    Inline "plan_document" = Head(PlanPath), "the document that the plan was made from";
    Inline "plan_brainstorm" = Head(BrainstormPath), "the notes from before the plan";
    Inline "plan_path" = PlanPath, "the plan file, which the agent must not change";
    Block "dependencies" = Dependencies, "the tasks that it depends on, with their results";
    Inline "attempt" = Attempt, "the number of the attempt, from the second on";
    Block "verification" = Verification, "the commands that will verify the work, one to a line";
    Block "last_failure" = LastFailure, "how the previous attempt failed: the output of its verification";
    Inline "result_file" = ResultFile, "the file for the agent's report";
}
