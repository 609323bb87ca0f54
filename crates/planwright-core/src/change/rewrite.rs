//! Makes many edits of the list of tasks as one change. Only the last text is checked, because the texts in between may be
//! invalid.

use std::collections::{BTreeSet, HashMap};

use super::proposal::{EditedList, edges_of};
use super::tasks::{Editor, edited, prove_list};
use super::{ChangedText, Open, Problem, changeable, refuse_missing};
use crate::dialect::{Choice, lower};
use crate::document::NodeKind;
use crate::document::patch::{Patch, PlainValue};
use crate::edit::{FieldEdit, Owner};
use crate::plan::Field;
use crate::text::SourceText;

/// A task of the intended list.
#[derive(Clone, Debug, PartialEq)]
pub struct RewrittenTask {
    /// Its origin.
    pub origin: TaskOrigin,
    /// Its dependencies, as indexes in the intended list.
    pub on: Vec<usize>,
}

/// The origin of a task of the new list.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskOrigin {
    /// It exists at this index; these fields get other values.
    Kept {
        /// Its index.
        task_ix: usize,
        /// The changed fields.
        fields: Vec<(Field, PlainValue)>,
    },
    /// It is new, with these members, by the dialect's own names.
    New(Vec<(String, PlainValue)>),
}

impl RewrittenTask {
    fn kept(&self) -> Option<usize> {
        match self.origin {
            TaskOrigin::Kept { task_ix, .. } => Some(task_ix),
            TaskOrigin::New(_) => None,
        }
    }
}

/// Rewrites the list of tasks. Existing tasks keep their bytes, except changed fields.
pub fn rewrite(open: &Open, choice: &Choice<'_>, slots: &[RewrittenTask], now: &str) -> Result<ChangedText, Problem> {
    let open = open.whole(choice);
    let (linked, _) = changeable(&open.inspection)?;
    refuse_missing(&linked.plan, slots.iter().filter_map(RewrittenTask::kept))?;
    let origin: Vec<Option<usize>> = slots.iter().map(RewrittenTask::kept).collect();
    let (first, placed) = match sorted(open, choice, slots, now)? {
        Some((open, slots)) => (with_kept(&open, &slots, now)?, slots),
        None => (with_kept(open, slots, now)?, slots.to_vec()),
    };
    // New tasks are added after the changes are complete.
    let settled = Open::new(&SourceText::new(first), choice);
    let text = with_tasks(&settled, &in_places(&placed), now)?;
    let next = Open::new(&SourceText::new(text), choice);
    let text = with_edges(&next, slots, now)?;
    prove_list(open, choice, text, EditedList::new(origin, wanted(slots)))
}

/// Changes the plan's own fields. The caller judges the new text: a plan with another name is another plan.
pub fn set_head(open: &Open, changes: &[FieldEdit]) -> Result<SourceText, Problem> {
    let text = edited(open, |editor| {
        editor.apply(&lower(editor.linked.dialect, editor.located, changes)?)
    })?;
    Ok(SourceText::new(text))
}

fn wanted(slots: &[RewrittenTask]) -> BTreeSet<(usize, usize)> {
    let slots = slots.iter().enumerate();
    slots
        .flat_map(|(place, slot)| slot.on.iter().map(move |&on| (place, on)))
        .collect()
}

/// Sorts the existing tasks into their new order, if it differs: removed ones come last.
fn sorted(
    open: &Open,
    choice: &Choice<'_>,
    slots: &[RewrittenTask],
    now: &str,
) -> Result<Option<(Open, Vec<RewrittenTask>)>, Problem> {
    let kept: Vec<usize> = slots.iter().filter_map(RewrittenTask::kept).collect();
    if kept.is_sorted() {
        return Ok(None);
    }
    let text = edited(open, |editor| {
        let is_kept: BTreeSet<usize> = kept.iter().copied().collect();
        let gone = (0..editor.plan().tasks().len()).filter(|task_ix| !is_kept.contains(task_ix));
        let order: Vec<usize> = kept.iter().copied().chain(gone).collect();
        let mut expected = EditedList::unchanged(editor.linked);
        let text = editor.permuted(&order, &mut expected)?;
        editor.follow_up(text, &expected, now)
    })?;
    let mut n_kept = 0;
    let moved = slots.iter().map(|slot| match &slot.origin {
        TaskOrigin::New(_) => slot.clone(),
        TaskOrigin::Kept { fields, .. } => {
            n_kept += 1;
            RewrittenTask {
                origin: TaskOrigin::Kept {
                    task_ix: n_kept - 1,
                    fields: fields.clone(),
                },
                on: slot.on.clone(),
            }
        }
    });
    let moved = moved.collect();
    Ok(Some((Open::new(&SourceText::new(text), choice), moved)))
}

/// Removes and changes tasks.
fn with_kept(open: &Open, slots: &[RewrittenTask], now: &str) -> Result<String, Problem> {
    let kept: Vec<RewrittenTask> = slots.iter().filter(|slot| slot.kept().is_some()).cloned().collect();
    with_tasks(open, &kept, now)
}

/// Returns the list with all existing tasks unchanged and in their order.
fn in_places(slots: &[RewrittenTask]) -> Vec<RewrittenTask> {
    let mut n_kept = 0;
    let placed = slots.iter().map(|slot| match slot.origin {
        TaskOrigin::New(_) => slot.clone(),
        TaskOrigin::Kept { .. } => {
            n_kept += 1;
            let origin = TaskOrigin::Kept {
                task_ix: n_kept - 1,
                fields: Vec::new(),
            };
            RewrittenTask {
                origin,
                on: slot.on.clone(),
            }
        }
    });
    placed.collect()
}

/// Removes, adds and changes tasks; new ones have no dependencies yet.
fn with_tasks(open: &Open, slots: &[RewrittenTask], now: &str) -> Result<String, Problem> {
    edited(open, |editor| {
        let n_tasks = editor.plan().tasks().len();
        let kept = slots
            .iter()
            .enumerate()
            .filter_map(|(new, slot)| Some((slot.kept()?, new)));
        let new_of: HashMap<usize, usize> = kept.collect();
        let is_gone = |task_ix: usize| !new_of.contains_key(&task_ix);
        let mut patches = Vec::new();
        let array = editor.located.tasks_route();
        for task_ix in 0..n_tasks {
            match is_gone(task_ix) {
                true => patches.push(Patch::RemoveElement {
                    array: array.clone(),
                    index: editor.element_index(task_ix),
                }),
                false => patches.extend(editor.without_references(task_ix, is_gone)),
            }
        }
        let mut next = 0;
        for (new, slot) in slots.iter().enumerate() {
            match &slot.origin {
                TaskOrigin::Kept { task_ix, fields } => {
                    next = task_ix + 1;
                    let set = |(field, value): &(Field, PlainValue)| {
                        FieldEdit::set(Owner::Task(*task_ix), *field, value.clone())
                    };
                    let changes: Vec<FieldEdit> = fields.iter().map(set).collect();
                    patches.extend(lower(editor.linked.dialect, editor.located, &changes)?);
                }
                TaskOrigin::New(members) => patches.push(Patch::InsertElement {
                    array: array.clone(),
                    index: editor.element_index(next),
                    value: PlainValue::Object(editor.independent(members, new)),
                    beside: next.checked_sub(1).map(|task_ix| editor.element_index(task_ix)),
                }),
            }
        }
        let place = |&(from, to): &(usize, usize)| Some((*new_of.get(&from)?, *new_of.get(&to)?));
        let edges = edges_of(editor.linked).iter().filter_map(place).collect();
        let expected = EditedList::new(slots.iter().map(RewrittenTask::kept).collect(), edges);
        editor.follow_up(editor.apply(&patches)?, &expected, now)
    })
}

/// Sets the dependencies of the tasks.
fn with_edges(open: &Open, slots: &[RewrittenTask], now: &str) -> Result<String, Problem> {
    edited(open, |editor| {
        let mut patches = Vec::new();
        for (task_ix, slot) in slots.iter().enumerate().take(editor.plan().tasks().len()) {
            let has: BTreeSet<usize> = editor
                .linked
                .links
                .of(task_ix)
                .iter()
                .map(|edge| edge.to as usize)
                .collect();
            let wanted: BTreeSet<usize> = slot.on.iter().copied().collect();
            let come: Vec<usize> = slot.on.iter().copied().filter(|on| !has.contains(on)).collect();
            let goes = |on: usize| has.contains(&on) && !wanted.contains(&on);
            if !come.is_empty() {
                editor.refuse_dependencies()?;
            }
            patches.extend(editor.rewired(task_ix, &come, goes)?);
        }
        let expected = EditedList {
            edges: wanted(slots),
            ..EditedList::unchanged(editor.linked)
        };
        editor.follow_up(editor.apply(&patches)?, &expected, now)
    })
}

impl Editor<'_> {
    /// Returns the members of a new task without its dependencies, for its position.
    fn independent(&self, members: &[(String, PlainValue)], place: usize) -> Vec<(String, PlainValue)> {
        let dependencies = self.key_of(Field::Dependencies);
        let position = self.key_of(Field::Position);
        let base = self.edits.numbering(self.plan()).unwrap_or(0);
        let omits = self.edits.omits_empty_dependencies();
        let member = |(key, value): &(String, PlainValue)| match Some(key.as_str()) {
            own if own == dependencies && omits => None,
            own if own == dependencies => Some((key.clone(), PlainValue::Array(Vec::new()))),
            own if own == position => Some((key.clone(), PlainValue::Number((place + base).to_string()))),
            _ => Some((key.clone(), value.clone())),
        };
        members.iter().filter_map(member).collect()
    }

    /// Returns the patches that remove references from a task's list and add others.
    fn rewired(&self, task_ix: usize, come: &[usize], goes: impl Fn(usize) -> bool) -> Result<Vec<Patch>, Problem> {
        if come.is_empty() {
            return Ok(self.without_references(task_ix, goes));
        }
        let owner = Owner::Task(task_ix);
        let values = come.iter().map(|&on| self.reference(on));
        let has_list = self.list_of(task_ix).is_some_and(|list| list.kind() == NodeKind::Array);
        if !has_list {
            let list = PlainValue::Array(values.collect());
            let change = FieldEdit::set(owner, Field::Dependencies, list);
            return Ok(lower(self.linked.dialect, self.located, &[change])?);
        }
        let array = self.dependencies_route(task_ix);
        let removal = |index| Patch::RemoveElement {
            array: array.clone(),
            index,
        };
        let mut patches: Vec<Patch> = self.references(task_ix, goes).into_iter().map(removal).collect();
        let changes: Vec<FieldEdit> = values
            .map(|value| FieldEdit::push(owner, Field::Dependencies, value))
            .collect();
        patches.extend(lower(self.linked.dialect, self.located, &changes)?);
        Ok(patches)
    }
}
