//! Edits of the list of tasks: add, set, remove, move, rename, depend, undepend. Updates references and numbers, and proves the
//! new text.
//!
//! ```
//! use planwright_core::change::Open;
//! use planwright_core::change::tasks::{Edit, edit};
//! use planwright_core::dialect::{Choice, DiskFacts};
//! use planwright_core::text::SourceText;
//!
//! let text = SourceText::new(
//!     r#"{"goal": "Try it", "tasks": [
//!         {"id": "t1", "description": "Read"},
//!         {"id": "t2", "description": "Write", "depends_on": ["t1"]}
//!     ]}"#,
//! );
//! let facts = DiskFacts::default();
//! let choice = Choice::by_content(&facts);
//! let open = Open::new(&text, &choice);
//! let now = "2026-03-22T10:00:00Z";
//!
//! let rename = Edit::Rename { task_ix: 0, to: "read" };
//! let changed = edit(&open, &choice, &rename, now).ok().expect("no other task has this id");
//! assert_eq!(changed.source.as_str(), text.as_str().replace("\"t1\"", "\"read\""));
//!
//! let circle = Edit::Depend { task_ix: 0, on: vec![1] };
//! let refused = edit(&open, &choice, &circle, now).err().expect("it would be a circle");
//! assert!(refused.to_string().contains("t1 -> t2 -> t1"));
//! ```

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

use super::proposal::{EditedList, Expected, ProposedChange, ProposedText};
pub use super::task_edits::{Edit, NewTask};
use super::typed::{refuse_field, value_of};
use super::{ChangedText, Open, Problem, changeable, refuse_missing};
use crate::dialect::{
    Choice, Edits, FieldSpec, FieldTable, Followed, GroupChange, LocatedPlan, Need, TaskListEdit, lower,
};
use crate::document::patch::{self, Patch, PatchRefusal, PlainValue};
use crate::document::{DocumentFormat, NodeKind, NodeRef};
use crate::edit::reasons::{along_gone_line, along_parts, causes, with_gone_cause, with_renamed_cause};
use crate::edit::{FieldAction, FieldEdit, Owner};
use crate::inspect::LinkedPlan;
use crate::plan::lifecycle::OnFailure;
use crate::plan::{DependencyTarget, Field, Plan, State};
use crate::text::{SourceText, Span, visible};

/// Makes an edit of an inspected text. `now` is the time, for dialects that store when a plan was changed.
pub fn edit(open: &Open, choice: &Choice<'_>, edit: &Edit<'_>, now: &str) -> Result<ChangedText, Problem> {
    let open = open.whole(choice);
    let inspection = &open.inspection;
    let (linked, _) = changeable(inspection)?;
    refuse_missing(&linked.plan, edit.places())?;
    let mut list = EditedList::unchanged(linked);
    let text = edited(open, |editor| {
        let text = match edit {
            Edit::Set { task_ix, key, value } => editor.set(*task_ix, key, *value)?,
            Edit::Rename { task_ix, to } => editor.rename(*task_ix, to, &mut list)?,
            Edit::Depend { task_ix, on } => editor.depend(*task_ix, on, &mut list)?,
            Edit::Undepend { task_ix, on } => editor.undepend(*task_ix, on, &mut list)?,
            Edit::Add(new) => editor.add(new, &mut list)?,
            Edit::Adopt { order } => editor.adopt(*order)?,
            Edit::Remove { task_ix, detach } => editor.remove(*task_ix, *detach, &mut list)?,
            Edit::Move { task_ix, to } => editor.shift(*task_ix, *to, &mut list)?,
        };
        let is_same = text == inspection.source.as_str();
        (!is_same).then(|| editor.follow_up(text, &list, now)).transpose()
    })?;
    match text {
        Some(text) => prove_list(open, choice, text, list),
        None => Ok(ChangedText::none(inspection)),
    }
}

/// Edits the document of a plan.
pub(super) fn edited<T>(open: &Open, edit: impl FnOnce(&Editor<'_>) -> Result<T, Problem>) -> Result<T, Problem> {
    let (linked, edits) = changeable(&open.inspection)?;
    let embedded = match open.document {
        Some(_) => None,
        None => linked
            .dialect
            .embedded()
            .and_then(|embedded| embedded.document(&open.inspection.source)),
    };
    let parsed = open.document.as_ref().or(embedded.as_ref()).ok_or(Problem::NoPlan)?;
    let located = LocatedPlan::new(&linked.plan, &linked.links, &parsed.document).ok_or(Problem::NoPlan)?;
    edit(&Editor::new(linked, edits, &located)?)
}

/// Has the dialect update the rest of the file for an edited list of tasks, and proves the text.
pub(super) fn prove_list(
    open: &Open,
    choice: &Choice<'_>,
    text: String,
    list: EditedList,
) -> Result<ChangedText, Problem> {
    let inspection = &open.inspection;
    let (linked, _) = changeable(inspection)?;
    let after = SourceText::new(text);
    let followed = linked.dialect.embedded().map(|embedded| {
        embedded.follow(&TaskListEdit {
            before: &inspection.source,
            after: &after,
            origin: &list.origin,
        })
    });
    let followed = followed.transpose().map_err(|refused| Problem::Place {
        span: refused.span,
        message: refused.message,
        help: refused.help,
    })?;
    let Followed { text, notes } = followed.flatten().unwrap_or_else(|| Followed {
        text: after.as_str().to_owned(),
        notes: Vec::new(),
    });
    if text == inspection.source.as_str() {
        return Ok(ChangedText::none(inspection));
    }
    let proposal = ProposedChange {
        open,
        choice,
        content: ProposedText::Text(text),
        expected: Expected::List(list),
    };
    Ok(ChangedText {
        notes,
        ..proposal.prove_whole()?
    })
}

pub(super) struct Editor<'a> {
    pub(super) linked: &'a LinkedPlan,
    pub(super) edits: &'static dyn Edits,
    pub(super) located: &'a LocatedPlan<'a>,
    table: &'static FieldTable,
    /// The indexes of the tasks by their names in references; see [`Plan::find_task`].
    places: OnceCell<HashMap<Cow<'a, str>, usize>>,
}

impl<'a> Editor<'a> {
    pub(super) fn new(
        linked: &'a LinkedPlan,
        edits: &'static dyn Edits,
        located: &'a LocatedPlan<'a>,
    ) -> Result<Self, Problem> {
        Ok(Editor {
            linked,
            edits,
            located,
            table: linked
                .dialect
                .table_of(&linked.plan, Owner::Task(0))
                .ok_or(Problem::NoPlan)?,
            places: OnceCell::new(),
        })
    }

    /// Returns the index of the task that a reference names.
    fn place_of(&self, name: &str) -> Option<usize> {
        let places = self.places.get_or_init(|| {
            let plan = &self.linked.plan;
            let tasks = plan.tasks().iter().enumerate();
            let ids = tasks.filter_map(|(task_ix, task)| Some((Cow::from(plan.task_str(task, Field::Id)?), task_ix)));
            let names = (0..plan.tasks().len()).map(|task_ix| (plan.task_name(task_ix), task_ix));
            let mut places = HashMap::new();
            for (name, task_ix) in names.chain(ids) {
                places.entry(name).or_insert(task_ix);
            }
            places
        });
        places.get(name).copied()
    }
}

/// Returns whether a field holds the title of a task if the dialect has no field for titles alone.
fn holds_title(spec: &FieldSpec) -> bool {
    matches!(spec.field, Field::Description | Field::Goal) && spec.need == Need::Required
}

impl Editor<'_> {
    pub(super) fn plan(&self) -> &Plan {
        &self.linked.plan
    }

    fn name(&self, task_ix: usize) -> String {
        visible(&self.plan().task_name(task_ix)).into_owned()
    }

    fn spec(&self, key: &str) -> Result<&'static FieldSpec, Problem> {
        let found = self.table.fields.iter().find(|spec| spec.name == key);
        found.ok_or_else(|| {
            let known: Vec<_> = self.table.fields.iter().map(|spec| spec.name).collect();
            let title = self.title_key().filter(|_| matches!(key, "title" | "name" | "subject"));
            let title = title.map_or_else(String::new, |own| format!("the title of a task is its `{own}` here; "));
            Problem::field(
                format!("a task of this dialect has no field `{}`", visible(key)),
                format!("{title}its fields are {}", known.join(", ")),
            )
        })
    }

    /// Returns the field for the title of a new task.
    fn title_key(&self) -> Option<&'static str> {
        let is_title = |spec: &&FieldSpec| spec.field == Field::Title || holds_title(spec);
        self.table.fields.iter().find(is_title).map(|spec| spec.name)
    }

    pub(super) fn key_of(&self, field: Field) -> Option<&'static str> {
        let spec = self.table.fields.iter().find(|spec| spec.field == field);
        spec.map(|spec| spec.name)
    }

    pub(super) fn apply(&self, patches: &[Patch]) -> Result<String, Problem> {
        Ok(patch::patch(self.located.document, patches)?)
    }

    fn change(&self, changes: &[FieldEdit]) -> Result<String, Problem> {
        self.apply(&lower(self.linked.dialect, self.located, changes)?)
    }

    fn set(&self, task_ix: usize, key: &str, value: Option<&str>) -> Result<String, Problem> {
        let spec = self.spec(key)?;
        refuse_field(spec)?;
        let owner = Owner::Task(task_ix);
        let change = match value {
            Some(typed) => FieldEdit::set(owner, spec.field, value_of(spec, typed)?),
            None if spec.need == Need::Required => {
                return Err(Problem::field(
                    format!("`{key}` cannot be removed: every task must have it"),
                    format!("give it another value: {key}=…"),
                ));
            }
            None => FieldEdit::remove(owner, spec.field),
        };
        self.change(&[change])
    }

    fn rename(&self, task_ix: usize, to: &str, expected: &mut EditedList) -> Result<String, Problem> {
        expected.renamed = Some(task_ix);
        if self.edits.numbering(self.plan()).is_some() {
            return Err(Problem::field(
                "tasks of this dialect are named by their place".to_owned(),
                "`planwright move` gives a task another place".to_owned(),
            ));
        }
        if self.plan().find_task(to).is_some_and(|other| other != task_ix) {
            return Err(Problem::field(
                format!("there is a task `{}` already", visible(to)),
                "choose another id".to_owned(),
            ));
        }
        let mut patches = lower(
            self.linked.dialect,
            self.located,
            &[FieldEdit::text(Owner::Task(task_ix), Field::Id, to)],
        )?;
        let renamed = PlainValue::String(to.to_owned());
        for other in 0..self.plan().tasks().len() {
            let places = self.references(other, |target| target == task_ix);
            patches.extend(
                places
                    .into_iter()
                    .map(|place| self.at_reference(other, place, renamed.clone())),
            );
        }
        patches.extend(lower(
            self.linked.dialect,
            self.located,
            &self.renamed_causes(task_ix, to),
        )?);
        self.apply(&patches)
    }

    /// Updates the name of a task in notes that name its failure as a reason.
    fn renamed_causes(&self, task_ix: usize, to: &str) -> Vec<FieldEdit> {
        let plan = self.plan();
        let old = plan.task_name(task_ix);
        let skipped = (0..plan.tasks().len()).filter(|&other| {
            plan.lifecycle.on_failure == OnFailure::DependentsSkipped && causes(plan, other).contains(&&*old)
        });
        let change = |other: usize| {
            let notes = plan.task_str(&plan.tasks()[other], Field::Notes)?;
            let notes = with_renamed_cause(notes, &old, to);
            Some(FieldEdit::text(Owner::Task(other), Field::Notes, notes))
        };
        skipped.filter_map(change).collect()
    }

    /// Returns the indexes of references to certain tasks in a task's list of dependencies. Includes repeated ones and the task itself,
    /// which are no edges.
    pub(super) fn references(&self, task_ix: usize, is_meant: impl Fn(usize) -> bool) -> Vec<usize> {
        let plan = self.plan();
        let names = |target: DependencyTarget| match target {
            DependencyTarget::Position(position) => Some(position as usize),
            DependencyTarget::Id(id) => self.place_of(plan.str(id)),
            DependencyTarget::NoSuchNumber | DependencyTarget::Unreadable | DependencyTarget::Group(_) => None,
        };
        let dependencies = plan.dependencies(&plan.tasks()[task_ix]).iter().enumerate();
        let meant = dependencies.filter(|(_, dependency)| names(dependency.target).is_some_and(&is_meant));
        meant.map(|(place, _)| place).collect()
    }

    fn at_reference(&self, task_ix: usize, place: usize, value: PlainValue) -> Patch {
        Patch::ReplaceScalar {
            at: self.dependencies_route(task_ix).index(place),
            value,
        }
    }

    pub(super) fn dependencies_route(&self, task_ix: usize) -> crate::document::route::Route {
        let key = self.key_of(Field::Dependencies).unwrap_or("");
        self.located.route(Owner::Task(task_ix)).unwrap_or_default().key(key)
    }

    /// Refuses dependencies if the plan has no place for them.
    pub(super) fn refuse_dependencies(&self) -> Result<(), Problem> {
        match self.key_of(Field::Dependencies) {
            Some(_) => Ok(()),
            None => Err(Problem::field(
                "tasks of this form have no dependencies: they run by priority, lower first".to_owned(),
                "`planwright set TASK priority=N` orders them, `planwright migrate` brings dependencies".to_owned(),
            )),
        }
    }

    fn depend(&self, task_ix: usize, on: &[usize], expected: &mut EditedList) -> Result<String, Problem> {
        self.refuse_dependencies()?;
        let changes: Vec<FieldEdit> = on
            .iter()
            .filter(|&&other| expected.edges.insert((task_ix, other)))
            .map(|&other| {
                let reference = self.reference(other);
                FieldEdit::push(Owner::Task(task_ix), Field::Dependencies, reference)
            })
            .collect();
        if on.contains(&task_ix) {
            let name = self.name(task_ix);
            return Err(Problem::field(
                format!("task `{name}` cannot depend on itself"),
                "name another task".to_owned(),
            ));
        }
        self.push_all(&changes)
    }

    /// Makes several additions to one list; a missing list is created with all of them.
    fn push_all(&self, changes: &[FieldEdit]) -> Result<String, Problem> {
        let [first, ..] = changes else {
            return Ok(self.located.document.source().as_str().to_owned());
        };
        let Owner::Task(task_ix) = first.owner else {
            return self.change(changes);
        };
        let has_list = self.list_of(task_ix).is_some_and(|list| list.kind() == NodeKind::Array);
        if has_list {
            return self.change(changes);
        }
        let values = changes.iter().filter_map(|change| match &change.action {
            FieldAction::Push(value) => Some(value.clone()),
            _ => None,
        });
        let list = PlainValue::Array(values.collect());
        self.change(&[FieldEdit::set(first.owner, first.field, list)])
    }

    pub(super) fn list_of(&self, task_ix: usize) -> Option<NodeRef<'_>> {
        let key = self.key_of(Field::Dependencies)?;
        self.located.task(task_ix)?.get(key)
    }

    /// Returns the form of a reference to a task in this plan.
    pub(super) fn reference(&self, task_ix: usize) -> PlainValue {
        self.edits.reference(self.plan(), task_ix)
    }

    fn undepend(&self, task_ix: usize, on: &[usize], expected: &mut EditedList) -> Result<String, Problem> {
        self.refuse_dependencies()?;
        for &other in on {
            let is_by_group = self.references(task_ix, |target| target == other).is_empty();
            if expected.edges.contains(&(task_ix, other)) && is_by_group {
                let (name, other) = (self.name(task_ix), self.name(other));
                return Err(Problem::field(
                    format!("task `{name}` depends on `{other}` as a part of its group"),
                    "edit the reference to the group in the file".to_owned(),
                ));
            }
            if !expected.edges.remove(&(task_ix, other)) {
                let (name, other) = (self.name(task_ix), self.name(other));
                return Err(Problem::field(
                    format!("task `{name}` does not depend on `{other}`"),
                    "`planwright why TASK` shows what it waits for".to_owned(),
                ));
            }
        }
        let patches = self.without_references(task_ix, |target| on.contains(&target));
        self.apply(&patches)
    }

    /// Returns the patches that remove references from a task's list.
    pub(super) fn without_references(&self, task_ix: usize, goes: impl Fn(usize) -> bool) -> Vec<Patch> {
        let plan = self.plan();
        let task = &plan.tasks()[task_ix];
        let places = self.references(task_ix, goes);
        let is_all = places.len() == plan.dependencies(task).len();
        let is_required = self
            .table
            .fields
            .iter()
            .any(|spec| spec.field == Field::Dependencies && spec.need == Need::Required);
        let is_omitted = !is_required && self.edits.omits_empty_dependencies() && !self.has_remarks(task_ix);
        if is_all && !places.is_empty() && is_omitted {
            let key = self.key_of(Field::Dependencies).unwrap_or("").to_owned();
            let object = self.located.route(Owner::Task(task_ix)).unwrap_or_default();
            return vec![Patch::RemoveMember { object, key }];
        }
        let array = self.dependencies_route(task_ix);
        let removal = |index| Patch::RemoveElement {
            array: array.clone(),
            index,
        };
        places.into_iter().map(removal).collect()
    }

    /// Returns whether a task's list of dependencies has comments on their own lines.
    fn has_remarks(&self, task_ix: usize) -> bool {
        let Some(list) = self
            .list_of(task_ix)
            .filter(|list| list.document().format() == DocumentFormat::Yaml)
        else {
            return false;
        };
        // Lines above the first item of a block list are not part of its span.
        let document = list.document();
        let start = list
            .row()
            .checked_sub(1)
            .map_or(list.span().start, |row| document.at(row).span().end);
        let text = document
            .source()
            .slice(Span::new(start as usize, list.span().end as usize));
        text.lines().skip(1).any(|line| line.trim_start().starts_with('#'))
    }

    fn adopt(&self, order: Option<&str>) -> Result<String, Problem> {
        let adopted = self.edits.adopted(self.plan(), order).ok_or_else(|| {
            Problem::field(
                format!(
                    "plans of the dialect `{}` are found without being adopted",
                    self.linked.dialect.name()
                ),
                "`planwright list` shows them".to_owned(),
            )
        })?;
        adopted.map_err(|refused| Problem::field(refused.message, refused.help))
    }

    fn add(&self, new: &NewTask<'_>, expected: &mut EditedList) -> Result<String, Problem> {
        if !new.on.is_empty() {
            self.refuse_dependencies()?;
        }
        let n_tasks = self.plan().tasks().len();
        let at = new.replaces.unwrap_or(new.at).min(n_tasks);
        let members = self.members_of(new)?;
        let mut patches = Vec::new();
        if let Some(gone) = new.replaces {
            self.leave_out(gone, expected);
            patches.push(Patch::RemoveElement {
                array: self.located.tasks_route().clone(),
                index: self.element_index(gone),
            });
        }
        let moved = |ix: usize| if ix >= at { ix + 1 } else { ix };
        expected.origin.insert(at, None);
        expected.edges = expected
            .edges
            .iter()
            .map(|&(from, to)| (moved(from), moved(to)))
            .chain(new.on.iter().map(|&on| (at, moved(on))))
            .collect();
        let is_held = |(key, value): &(String, PlainValue)| {
            Some(key.as_str()) == self.key_of(Field::Skip) && *value == PlainValue::Bool(true)
        };
        if !members.iter().any(is_held) {
            let beside = new.beside;
            patches.extend(self.regrouped(GroupChange::Joined { beside })?);
        }
        let beside = new.beside.map(|task_ix| self.element_index(task_ix));
        patches.push(Patch::InsertElement {
            array: self.located.tasks_route().clone(),
            index: match beside {
                // The element after a task may be a group, which the next task is in.
                Some(beside) if at > 0 && new.beside == Some(at - 1) => beside + 1,
                _ => self.element_index(at),
            },
            value: PlainValue::Object(members),
            beside,
        });
        self.apply(&patches)
    }

    fn regrouped(&self, change: GroupChange) -> Result<Vec<Patch>, Problem> {
        let changes = self.edits.regrouped(self.plan(), change);
        Ok(lower(self.linked.dialect, self.located, &changes)?)
    }

    /// Takes a task out of the expected list.
    fn leave_out(&self, task_ix: usize, expected: &mut EditedList) {
        let moved = |ix: usize| if ix > task_ix { ix - 1 } else { ix };
        expected.origin.remove(task_ix);
        let edges = expected.edges.iter().copied();
        let rest = edges.filter(|&(from, to)| from != task_ix && to != task_ix);
        expected.edges = rest.map(|(from, to)| (moved(from), moved(to))).collect();
    }

    /// Returns the index among the elements of the list for an index among the tasks.
    pub(super) fn element_index(&self, at: usize) -> usize {
        let Some(task) = self.plan().tasks().get(at) else {
            return self.located.n_elements();
        };
        // An element that is no object, or an alias, is not found by its rows.
        let position = || self.located.tasks.elements().position(|own| own.span() == task.span);
        let place = self.located.place(at).or_else(position);
        place.unwrap_or_else(|| self.located.n_elements())
    }

    /// Returns the members of a new task, in the order of the dialect's documentation.
    fn members_of(&self, new: &NewTask<'_>) -> Result<Vec<(String, PlainValue)>, Problem> {
        let mut given = Vec::with_capacity(new.fields.len());
        for (key, typed) in new.fields {
            let spec = self.spec(key)?;
            refuse_field(spec)?;
            given.push((spec.name, value_of(spec, typed)?));
        }
        let mut members = Vec::new();
        let mut missing = Vec::new();
        for spec in self.table.fields {
            let typed = given
                .iter()
                .find(|(key, _)| *key == spec.name)
                .map(|(_, value)| value.clone());
            match typed.or_else(|| self.default_of(spec, new)) {
                Some(value) => members.push((spec.name.to_owned(), value)),
                None if spec.need == Need::Required => missing.push(spec),
                None => {}
            }
        }
        if let [first, ..] = missing.as_slice() {
            let names: Vec<_> = missing.iter().map(|spec| format!("`{}`", spec.name)).collect();
            return Err(Problem::field(
                format!("a task of this dialect needs {}", names.join(", ")),
                format!("add {}=…, {}", first.name, first.shape.describe()),
            ));
        }
        Ok(members)
    }

    fn default_of(&self, spec: &FieldSpec, new: &NewTask<'_>) -> Option<PlainValue> {
        let plan = self.plan();
        let is_required = spec.need == Need::Required;
        // An optional field is added to a new task if all others have it.
        let is_usual = is_required || plan.tasks().iter().all(|task| plan.value(task, spec.field).is_some());
        match spec.field {
            Field::Id => match new
                .id
                .or_else(|| plan.task_str(plan.tasks().get(new.replaces?)?, Field::Id))
            {
                Some(id) => Some(PlainValue::String(id.to_owned())),
                None => self
                    .edits
                    .fresh_id(plan, new.minted, new.beside)
                    .map(PlainValue::String),
            },
            Field::Title => Some(PlainValue::String(new.title.to_owned())),
            _ if holds_title(spec) => Some(PlainValue::String(new.title.to_owned())),
            Field::Position if is_usual => {
                let base = self.edits.numbering(plan).unwrap_or(0);
                let at = new.replaces.unwrap_or(new.at).min(plan.tasks().len());
                Some(PlainValue::Number((at + base).to_string()))
            }
            Field::Status if is_usual => {
                let word = || PlainValue::String(plan.lifecycle.word_of(State::Pending).to_owned());
                Some(self.edits.default_of(Field::Status).unwrap_or_else(word))
            }
            Field::Dependencies if is_required || !new.on.is_empty() => {
                Some(PlainValue::Array(new.on.iter().map(|&on| self.reference(on)).collect()))
            }
            Field::Priority if is_required => {
                let highest = plan.tasks().iter().map(|task| task.priority).max();
                Some(PlainValue::Number(format!(
                    "{}",
                    highest.map_or(0.0, |highest| highest.0).floor() + 1.0
                )))
            }
            Field::Passes if is_required => Some(PlainValue::Bool(false)),
            field => self.edits.default_of(field).filter(|_| is_required),
        }
    }

    fn remove(&self, task_ix: usize, detach: bool, expected: &mut EditedList) -> Result<String, Problem> {
        let dependents: Vec<usize> = expected
            .edges
            .iter()
            .filter(|&&(_, to)| to == task_ix)
            .map(|&(from, _)| from)
            .collect();
        if !dependents.is_empty() && !detach {
            let names: Vec<_> = dependents
                .iter()
                .take(5)
                .map(|&ix| format!("`{}`", self.name(ix)))
                .collect();
            let more = if dependents.len() > 5 { " and more" } else { "" };
            return Err(Problem::field(
                format!(
                    "task `{}` cannot be removed: these depend on it: {}{more}",
                    self.name(task_ix),
                    names.join(", ")
                ),
                "--detach takes it out of their dependencies; `planwright undepend` does so one by one".to_owned(),
            ));
        }
        self.leave_out(task_ix, expected);
        let mut patches: Vec<Patch> = dependents
            .iter()
            .flat_map(|&dependent| self.without_references(dependent, |target| target == task_ix))
            .collect();
        patches.extend(lower(self.linked.dialect, self.located, &self.gone_causes(task_ix))?);
        patches.extend(self.regrouped(GroupChange::Left { task_ix })?);
        patches.push(Patch::RemoveElement {
            array: self.located.tasks_route().clone(),
            index: self.element_index(task_ix),
        });
        self.apply(&patches)
    }

    /// A task that was skipped because of a removed one stays skipped, and a later task with the same name does not bring it back.
    fn gone_causes(&self, task_ix: usize) -> Vec<FieldEdit> {
        let plan = self.plan();
        let gone = plan.task_name(task_ix);
        let others = (0..plan.tasks().len()).filter(|&other| other != task_ix);
        let changes = others.filter_map(|other| {
            let text = |field| plan.task_str(&plan.tasks()[other], field);
            let is_caused =
                plan.lifecycle.on_failure == OnFailure::DependentsSkipped && causes(plan, other).contains(&&*gone);
            let (field, said) = if is_caused {
                (Field::Notes, with_gone_cause(text(Field::Notes)?, &gone))
            } else {
                plan.lifecycle.machine.skip_cascades.then_some(())?;
                let (before, name, after) = along_parts(plan, text(Field::Output)?)?;
                (name == gone).then(|| (Field::Output, along_gone_line(before, name, after)))?
            };
            Some(FieldEdit::text(Owner::Task(other), field, said))
        });
        changes.collect()
    }

    /// Moves a task: the text between the elements stays, and the elements are exchanged.
    fn shift(&self, task_ix: usize, to: usize, expected: &mut EditedList) -> Result<String, Problem> {
        let n_tasks = self.plan().tasks().len();
        let to = to.min(n_tasks.saturating_sub(1));
        let mut order: Vec<usize> = (0..n_tasks).collect();
        order.remove(task_ix);
        order.insert(to, task_ix);
        self.permuted(&order, expected).map_err(|problem| match problem {
            Problem::Unpatchable(PatchRefusal::Unwritable { reason, span }) => {
                let source = self.located.document.source();
                let line = source.line_index().position(span.start).line;
                Problem::field(
                    format!(
                        "task `{}` cannot be moved there: {reason}, in line {line}",
                        self.name(task_ix)
                    ),
                    "write out what the alias stands for, then move it".to_owned(),
                )
            }
            problem => problem,
        })
    }

    pub(super) fn permuted(&self, order: &[usize], expected: &mut EditedList) -> Result<String, Problem> {
        let mut place_of = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place_of[old] = new;
        }
        expected.origin = order.iter().copied().map(Some).collect();
        expected.edges = expected
            .edges
            .iter()
            .map(|&(from, to)| (place_of[from], place_of[to]))
            .collect();
        let spans: Vec<Span> = self.plan().tasks().iter().map(|task| task.span).collect();
        Ok(patch::permute(self.located.document, &spans, order)?)
    }
}
