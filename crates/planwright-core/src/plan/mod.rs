//! The model of every dialect: goal, tasks, dependencies as written, each with its place. Knows no format; only states can be
//! changed in it.

pub mod approval;
pub mod hierarchy;
pub mod lifecycle;
pub mod links;
pub mod readiness;
pub mod transition;

use std::borrow::Cow;

use crate::text::{SourceText, Span};
pub use approval::{NO_PLAN_STATUS, PlanMachine, PlanRow, PlanVerb, RunLift, RunRefusal};
pub use hierarchy::{Group, Hierarchy};
pub use lifecycle::{Lifecycle, Slots, TaskOrder, Wording};
pub use links::{LinkProblem, Links};
pub(crate) use readiness::Overview;
pub use readiness::{PlanProgress, Readiness, StartVerdict, Wait};
pub(crate) use transition::TaskFate;
pub use transition::{Machine, State, StateCounts, Verb};

/// A field of a plan or a task, by its meaning. Each dialect has its own names for its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it; the dialect pages define each one")]
#[repr(u8)]
pub enum Field {
    Id,
    Title,
    Goal,
    Description,
    Status,
    Tasks,
    Metadata,
    SchemaVersion,
    Order,
    Section,
    SectionText,
    SessionId,
    CreatedAt,
    UpdatedAt,
    ApprovedAt,
    CreatedBy,
    Context,
    Risks,
    TestStrategy,
    TechnicalStack,
    PlanKind,
    Branch,
    PlanPath,
    BrainstormPath,
    MaxConcurrency,
    Project,
    Date,
    SpecId,
    SourcePlan,
    SourcePlanHash,
    GeneratedBy,
    Mode,
    SourceSections,
    Waves,
    Version,
    PreviousPlan,
    CurrentTask,
    Tags,
    Constraints,
    Memories,
    Position,
    TaskKind,
    Dependencies,
    Complexity,
    Criteria,
    Notes,
    StartedAt,
    CompletedAt,
    History,
    RetryCount,
    MaxRetries,
    Artifacts,
    Reflection,
    Skip,
    Passes,
    Skipped,
    Tools,
    Priority,
    AgentHint,
    ExecutedBy,
    Output,
    Error,
    Files,
    SideEffects,
    Instructions,
    SourceUnit,
    RequirementRefs,
    ContextRefs,
    EntryHint,
    TestFocus,
    DoneSignal,
    StopIf,
    Parallelizable,
    RiskNote,
    ReviewGate,
    ReviewFocus,
    TargetRepo,
    Wave,
}

/// A piece of text in a plan: its span, and its characters. Resolved through [`Plan::str`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    start: u32,
    /// Low 30 bits: the length, or zero for a decoded text. High bits: how to find the characters.
    len: u32,
}

impl Text {
    /// An empty text without a position.
    const NOWHERE: Text = Text { start: 0, len: 0 };
}

/// The text of the only task of a new plan, if a dialect requires a task.
pub const PLACEHOLDER: &str = "Describe the first task";

const BARE: u32 = 0;
const QUOTED: u32 = 1 << 30;
const DECODED: u32 = 2 << 30;
const LEN_MASK: u32 = (1 << 30) - 1;

/// A value in a plan, with its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// Text.
    Text(Text),
    /// A number, as written.
    Number(Span),
    /// The boolean true.
    True(Span),
    /// The boolean false.
    False(Span),
    /// An explicit null.
    Null(Span),
    /// A list of texts or numbers: see [`Plan::items`].
    List(ListId),
    /// Any other value, which the dialect carries unread.
    Opaque(Span),
}

/// A list in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListId(u32);

#[derive(Clone, Copy, Debug)]
struct List {
    span: Span,
    first: u32,
    len: u32,
}

/// An existing field, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldEntry {
    /// Which field.
    pub field: Field,
    /// Its value.
    pub value: FieldValue,
}

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not started.
    Pending,
    /// Being worked on, or interrupted while it was.
    Running,
    /// Finished.
    Done,
    /// Tried without success.
    Failed,
    /// Skipped, by the user or because of a failed dependency.
    Skipped,
    /// Waiting for something outside the plan; carries the reason.
    Blocked(Text),
    /// A word that the dialect does not know, with a diagnostic. Never counts as done or ready.
    Unknown(Text),
}

impl Status {
    /// Returns planwright's own word for it.
    pub fn as_str(self) -> &'static str {
        self.state().map_or("unknown", State::as_str)
    }
}

/// The name of a task for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskName {
    /// By its id.
    Id(Text),
    /// By words of its text, for a task without an id: the same words at any position.
    Words(Text),
    /// By its number, in the dialect's counting.
    Number(u32),
    /// No name, which a diagnostic reports.
    Missing,
}

/// The target of a dependency, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyTarget {
    /// A task's id.
    Id(Text),
    /// An index in the list of tasks.
    Position(u32),
    /// All required tasks of a group.
    Group(u32),
    /// A number without a task.
    NoSuchNumber,
    /// No reference at all: the dialect has reported it.
    Unreadable,
}

/// One dependency as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Its span.
    pub span: Span,
    /// Its target.
    pub target: DependencyTarget,
}

impl Dependency {
    /// Returns a dependency with an unreadable target: it is never satisfied.
    pub fn unreadable(span: Span) -> Self {
        Dependency {
            span,
            target: DependencyTarget::Unreadable,
        }
    }
}

/// One task.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The span of the whole task.
    pub span: Span,
    /// Its name for users.
    pub name: TaskName,
    /// Its status.
    pub status: Status,
    /// The span of its status; the task itself if it has none.
    pub status_span: Span,
    /// The lowest starts first among ready tasks, if the dialect orders by priority.
    pub priority: Priority,
    /// Its stage, if the plan has stages.
    pub stage: u32,
    /// It starts when all tasks of stages before this one are satisfied. Usually its own stage; never a later one.
    pub barrier: u32,
    /// Whether the file marks it to be skipped although it is pending.
    pub held: bool,
    /// Whether it must not run in parallel with others.
    pub alone: bool,
    /// Whether it has failed, and a retry offers it again.
    pub offered: bool,
    entries: Slice,
    dependencies: Slice,
}

/// A priority as written, totally ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Priority(pub f64);

impl Eq for Priority {}

impl PartialOrd for Priority {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Priority {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    first: u32,
    len: u32,
}

impl Slice {
    fn of<T>(self, all: &[T]) -> &[T] {
        let first = self.first as usize;
        all.get(first..first + self.len as usize).unwrap_or(&[])
    }
}

/// A plan as read: complete if the file is valid, otherwise partial.
#[derive(Clone, Debug)]
pub struct Plan {
    source: SourceText,
    values: PlanValues,
    dependencies: Vec<Dependency>,
    tasks: Vec<Task>,
    hierarchy: Option<Box<Hierarchy>>,
    /// The dialect's name.
    pub dialect: &'static str,
    /// The dialect's form: `v3`, `minimal`, `flat`.
    pub form: &'static str,
    /// Policy of the dialect, as data.
    pub lifecycle: &'static Lifecycle,
    /// How many tasks may run in parallel.
    pub slots: Slots,
    /// Whether [`Task::stage`] is used.
    pub has_stages: bool,
    /// The span of the list of tasks; none if the file has no such list.
    pub tasks_span: Option<Span>,
    /// Whether syntax errors make the structure uncertain: missing values may be unread, and existing ones may belong to another task.
    pub is_doubtful: bool,
}

/// The fields of a plan and its tasks, and what their values refer to.
#[derive(Clone, Debug, Default)]
struct PlanValues {
    /// Texts that are not in the source as such, each with its span there.
    decoded: Vec<(Span, Box<str>)>,
    lists: Vec<List>,
    items: Vec<FieldValue>,
    entries: Vec<FieldEntry>,
    /// The entries of the plan itself.
    head: Slice,
}

impl Plan {
    /// Returns the text it was read from.
    pub fn source(&self) -> &SourceText {
        &self.source
    }

    /// Returns the tasks in file order.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Returns the characters of a text.
    #[inline]
    pub fn str(&self, text: Text) -> &str {
        if text.len & !LEN_MASK == DECODED {
            return self
                .values
                .decoded
                .get(text.start as usize)
                .map_or("", |(_, value)| value);
        }
        let start = text.start as usize;
        let end = start + (text.len & LEN_MASK) as usize;
        self.source.as_str().get(start..end).unwrap_or("")
    }

    /// Returns the bytes of a text: faster than its characters, and enough to compare.
    #[inline]
    pub(crate) fn bytes(&self, text: Text) -> &[u8] {
        if text.len & !LEN_MASK == DECODED {
            return self.str(text).as_bytes();
        }
        let start = text.start as usize;
        let end = start + (text.len & LEN_MASK) as usize;
        self.source.as_str().as_bytes().get(start..end).unwrap_or(&[])
    }

    /// Returns the span of a text, with quotes.
    pub fn text_span(&self, text: Text) -> Span {
        match text.len & !LEN_MASK {
            DECODED => self
                .values
                .decoded
                .get(text.start as usize)
                .map_or(Span::default(), |&(span, _)| span),
            mode => {
                let quote = u32::from(mode == QUOTED);
                Span {
                    start: text.start - quote,
                    end: text.start + (text.len & LEN_MASK) + quote,
                }
            }
        }
    }

    /// Returns the span of a value.
    pub fn span(&self, value: FieldValue) -> Span {
        match value {
            FieldValue::Text(text) => self.text_span(text),
            FieldValue::Number(span)
            | FieldValue::True(span)
            | FieldValue::False(span)
            | FieldValue::Null(span)
            | FieldValue::Opaque(span) => span,
            FieldValue::List(list) => self
                .values
                .lists
                .get(list.0 as usize)
                .map_or(Span::default(), |list| list.span),
        }
    }

    /// Returns the items of a list.
    pub fn items(&self, list: ListId) -> &[FieldValue] {
        self.values.lists.get(list.0 as usize).map_or(&[], |list| {
            Slice {
                first: list.first,
                len: list.len,
            }
            .of(&self.values.items)
        })
    }

    /// Returns the fields of the plan itself.
    pub fn head(&self) -> &[FieldEntry] {
        self.values.head.of(&self.values.entries)
    }

    /// Returns the fields of a task.
    pub fn entries(&self, task: &Task) -> &[FieldEntry] {
        task.entries.of(&self.values.entries)
    }

    /// Returns a field of the plan itself.
    pub fn head_value(&self, field: Field) -> Option<FieldValue> {
        find(self.head(), field)
    }

    /// Returns a field of a task.
    pub fn value(&self, task: &Task, field: Field) -> Option<FieldValue> {
        find(self.entries(task), field)
    }

    /// Returns a text field of the plan itself; none if it is missing or not text.
    pub fn head_str(&self, field: Field) -> Option<&str> {
        self.head_value(field).and_then(|value| self.as_str(value))
    }

    /// Returns a text field of a task; none if it is missing or not text.
    pub fn task_str(&self, task: &Task, field: Field) -> Option<&str> {
        self.value(task, field).and_then(|value| self.as_str(value))
    }

    /// Returns the texts of a list field of a task.
    pub fn task_list(&self, task: &Task, field: Field) -> Vec<&str> {
        match self.value(task, field) {
            Some(FieldValue::List(list)) => self.items(list).iter().filter_map(|&item| self.as_str(item)).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the text of a text value.
    pub fn as_str(&self, value: FieldValue) -> Option<&str> {
        match value {
            FieldValue::Text(text) => Some(self.str(text)),
            _ => None,
        }
    }

    /// Returns the number of a number value.
    pub fn as_number(&self, value: FieldValue) -> Option<f64> {
        match value {
            FieldValue::Number(span) => self.source.slice(span).parse().ok(),
            _ => None,
        }
    }

    /// Returns the dependencies of a task as written.
    pub fn dependencies(&self, task: &Task) -> &[Dependency] {
        task.dependencies.of(&self.dependencies)
    }

    /// Returns all dependencies, in the order of their tasks.
    pub fn all_dependencies(&self) -> &[Dependency] {
        &self.dependencies
    }

    /// Returns the index of a task's first dependency in [`Plan::all_dependencies`].
    pub fn first_dependency(&self, task: &Task) -> usize {
        task.dependencies.first as usize
    }

    /// Returns whether a task lets its dependents start: by its status, or because it will be skipped.
    pub fn satisfies(&self, task: &Task) -> bool {
        let will_be_skipped = task.held && task.status == Status::Pending && self.lifecycle.skipped_satisfies;
        self.lifecycle.satisfies(task.status) || will_be_skipped
    }

    /// Returns the name of a task for users: its id, or its number in the dialect's counting.
    pub fn task_name(&self, task_ix: usize) -> Cow<'_, str> {
        match self.tasks.get(task_ix).map(|task| task.name) {
            Some(TaskName::Id(name) | TaskName::Words(name)) => Cow::Borrowed(self.str(name)),
            Some(TaskName::Number(number)) => Cow::Owned(number.to_string()),
            Some(TaskName::Missing) | None => Cow::Owned(format!("#{}", task_ix + 1)),
        }
    }

    /// Returns a task's id, even if its name is a number.
    pub fn task_id(&self, task: &Task) -> Option<Text> {
        match (task.name, self.value(task, Field::Id)) {
            (TaskName::Id(id), _) | (_, Some(FieldValue::Text(id))) => Some(id),
            _ => None,
        }
    }

    /// Returns the span of a task's name; the task itself if it has no name.
    pub fn name_span(&self, task: &Task) -> Span {
        match task.name {
            TaskName::Id(id) => self.text_span(id),
            TaskName::Words(name) => self.text_span(name),
            TaskName::Number(_) | TaskName::Missing => {
                let first = self.source.slice(task.span).chars().next().map_or(0, char::len_utf8);
                Span {
                    start: task.span.start,
                    end: task.span.start + first as u32,
                }
            }
        }
    }

    /// Returns the text that describes a task: its title, otherwise its description.
    pub fn task_title(&self, task: &Task) -> &str {
        [Field::Title, Field::Description, Field::Goal]
            .into_iter()
            .find_map(|field| self.task_str(task, field).filter(|text| !text.trim().is_empty()))
            .unwrap_or("")
    }

    /// Returns the first line of a task's text, like the subject of a git message: descriptions may have several paragraphs.
    pub fn task_subject(&self, task: &Task) -> &str {
        let text = self.task_title(task);
        text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("")
    }

    /// Returns the plan's title, otherwise its goal.
    pub fn title(&self) -> &str {
        [Field::Title, Field::Goal, Field::Project, Field::Description]
            .into_iter()
            .find_map(|field| self.head_str(field).filter(|text| !text.trim().is_empty()))
            .unwrap_or("")
    }

    /// Returns whether the only task has the placeholder text of a new plan, and is pending.
    pub fn is_placeholder_alone(&self) -> bool {
        let is_one = |task: &Task| task.status == Status::Pending && self.task_title(task).trim() == PLACEHOLDER;
        matches!(self.tasks.as_slice(), [only] if is_one(only))
    }

    /// Returns the task that users call `name`: by id, by number, by an id that is not its name, or by its position.
    pub fn find_task(&self, name: &str) -> Option<usize> {
        (0..self.tasks.len())
            .find(|&task_ix| self.task_name(task_ix) == name)
            .or_else(|| {
                self.tasks
                    .iter()
                    .position(|task| self.task_str(task, Field::Id) == Some(name))
            })
            .or_else(|| self.at_position(name))
    }
}

fn find(entries: &[FieldEntry], field: Field) -> Option<FieldValue> {
    entries
        .iter()
        .find(|entry| entry.field == field)
        .map(|entry| entry.value)
}

/// Builds a plan while a dialect reads. Tasks are added in order, the plan's own fields in between or after.
pub struct PlanBuilder {
    plan: Plan,
    head: Vec<FieldEntry>,
}

impl PlanBuilder {
    /// Starts a plan.
    pub fn new(source: &SourceText, dialect: &'static str, form: &'static str, lifecycle: &'static Lifecycle) -> Self {
        PlanBuilder {
            plan: Plan {
                source: source.clone(),
                values: PlanValues::default(),
                dependencies: Vec::new(),
                tasks: Vec::new(),
                hierarchy: None,
                dialect,
                form,
                lifecycle,
                slots: lifecycle.slots,
                has_stages: false,
                tasks_span: None,
                is_doubtful: false,
            },
            head: Vec::new(),
        }
    }

    /// Reserves space for this many tasks with this many fields each.
    pub fn reserve(&mut self, n_tasks: usize, n_fields: usize) {
        self.plan.tasks.reserve(n_tasks);
        self.plan.values.entries.reserve(n_tasks * n_fields);
        self.plan.dependencies.reserve(n_tasks);
    }

    /// Returns a text whose characters are in the file between quotes.
    pub fn quoted_text(&self, inner: Span) -> Text {
        Text {
            start: inner.start,
            len: (inner.len() as u32 & LEN_MASK) | QUOTED,
        }
    }

    /// Returns a text whose characters are in the file unchanged.
    pub fn bare_text(&self, span: Span) -> Text {
        Text {
            start: span.start,
            len: (span.len() as u32 & LEN_MASK) | BARE,
        }
    }

    /// Returns a text whose characters differ from the file's, as with escapes and folded lines.
    pub fn decoded_text(&mut self, span: Span, value: &str) -> Text {
        self.plan.values.decoded.push((span, value.into()));
        Text {
            start: (self.plan.values.decoded.len() - 1) as u32,
            len: DECODED,
        }
    }

    /// Starts a list of scalars; its items are added one by one, with no other list in between.
    pub fn begin_list(&self) -> usize {
        self.plan.values.items.len()
    }

    /// Adds an item to the list that was started last.
    pub fn list_item(&mut self, item: FieldValue) {
        self.plan.values.items.push(item);
    }

    /// Ends a list.
    pub fn end_list(&mut self, span: Span, first: usize) -> ListId {
        self.plan.values.lists.push(List {
            span,
            first: first as u32,
            len: (self.plan.values.items.len() - first) as u32,
        });
        ListId((self.plan.values.lists.len() - 1) as u32)
    }

    /// Returns a list of the given items.
    pub fn list(&mut self, span: Span, items: impl IntoIterator<Item = FieldValue>) -> ListId {
        let first = self.begin_list();
        self.plan.values.items.extend(items);
        self.end_list(span, first)
    }

    /// Records a field of the plan itself.
    pub fn head_entry(&mut self, field: Field, value: FieldValue) {
        self.head.push(FieldEntry { field, value });
    }

    /// Records the groups and positions of the tasks.
    pub fn set_hierarchy(&mut self, hierarchy: Hierarchy) {
        self.plan.hierarchy = Some(Box::new(hierarchy));
    }

    /// Adds a task with its fields and dependencies, and returns its index.
    pub fn task(
        &mut self,
        span: Span,
        entries: impl IntoIterator<Item = FieldEntry>,
        dependencies: impl IntoIterator<Item = Dependency>,
    ) -> usize {
        let (first_entry, first_dependency) = (self.plan.values.entries.len(), self.plan.dependencies.len());
        self.plan.values.entries.extend(entries);
        self.plan.dependencies.extend(dependencies);
        self.plan.tasks.push(Task {
            span,
            name: TaskName::Missing,
            status: Status::Pending,
            status_span: span,
            priority: Priority(0.0),
            stage: 0,
            barrier: 0,
            held: false,
            alone: false,
            offered: false,
            entries: Slice {
                first: first_entry as u32,
                len: (self.plan.values.entries.len() - first_entry) as u32,
            },
            dependencies: Slice {
                first: first_dependency as u32,
                len: (self.plan.dependencies.len() - first_dependency) as u32,
            },
        });
        self.plan.tasks.len() - 1
    }

    /// Returns a task added before, for filling in.
    ///
    /// # Panics
    ///
    /// Never for a place returned by [`PlanBuilder::task`].
    pub fn task_mut(&mut self, task_ix: usize) -> &mut Task {
        &mut self.plan.tasks[task_ix]
    }

    /// Replaces the targets of dependencies after all tasks are known.
    pub fn retarget(&mut self, mut target_of: impl FnMut(&Dependency) -> DependencyTarget) {
        for dependency in &mut self.plan.dependencies {
            dependency.target = target_of(dependency);
        }
    }

    /// Returns the plan so far.
    pub fn plan(&mut self) -> &mut Plan {
        &mut self.plan
    }

    /// Returns the finished plan.
    pub fn finish(mut self) -> Plan {
        self.plan.values.head = Slice {
            first: self.plan.values.entries.len() as u32,
            len: self.head.len() as u32,
        };
        self.plan.values.entries.append(&mut self.head);
        self.plan
    }
}
