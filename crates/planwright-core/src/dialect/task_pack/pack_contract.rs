//! The contract of a pack for edits and cards: its tasks, its waves, and the effects of an edit.

use std::collections::{HashMap, HashSet};

use super::super::TaskListEdit;
use super::js::JsView;
use super::original::parse_fence;
use super::task::PackTask;
use crate::document::markdown::Markdown;
use crate::document::patch::PlainValue;
use crate::document::{NodeKind, NodeRef, Parsed};
use crate::text::{SourceText, Span, visible};

/// One task of a contract.
pub(super) struct ContractRow {
    /// Its id, if that is a non-empty text.
    pub(super) id: Option<String>,
    /// Its index in the list, including invalid entries.
    pub(super) index: usize,
    /// Its wave as JavaScript's text.
    pub(super) wave: Option<String>,
    pub(super) span: Span,
    /// Its fields.
    pub(super) task: PackTask,
}

/// One entry of `execution_waves`.
#[derive(Clone)]
pub(super) struct ContractWave {
    /// Its name as JavaScript's text.
    pub(super) name: String,
    /// Its name as written.
    pub(super) value: PlainValue,
    /// Its index in the list; none for a new wave.
    pub(super) index: Option<usize>,
    /// The tasks it lists.
    pub(super) members: Vec<Option<String>>,
}

/// A valid contract.
pub(super) struct PackContract {
    /// Its document, with spans of the file.
    pub(super) fence: Parsed,
    /// The tasks that are objects.
    pub(super) rows: Vec<ContractRow>,
    /// The first task with each id.
    pub(super) by_id: HashMap<String, usize>,
    /// The waves, or the span of the first error in them.
    pub(super) waves: Result<Vec<ContractWave>, Span>,
    pub(super) waves_span: Span,
}

impl PackContract {
    /// Reads the contract of a pack; none without a valid one.
    pub(super) fn parse(source: &SourceText) -> Option<Self> {
        PackContract::of(parse_fence(&Markdown::parse(source))?)
    }

    /// Reads the contract in a fence.
    pub(super) fn of(fence: Parsed) -> Option<Self> {
        let root = fence.document.root().filter(|_| !fence.document.is_broken())?;
        let tasks = root.get("tasks").filter(|tasks| tasks.kind() == NodeKind::Array)?;
        let objects = tasks.elements().enumerate();
        let objects = objects.filter(|(_, task)| task.kind() == NodeKind::Object);
        let rows: Vec<ContractRow> = objects.map(|(index, task)| read_row(index, task)).collect();
        let mut by_id = HashMap::new();
        for (ix, row) in rows.iter().enumerate() {
            if let Some(id) = &row.id {
                by_id.entry(id.clone()).or_insert(ix);
            }
        }
        Some(PackContract {
            rows,
            by_id,
            waves: read_waves(root),
            waves_span: root.get("execution_waves").unwrap_or(root).span(),
            fence,
        })
    }

    pub(super) fn text(&self) -> &str {
        let document = &self.fence.document;
        document.source().slice(document.extent())
    }

    pub(super) fn ids(&self) -> HashSet<&str> {
        self.by_id.keys().map(String::as_str).collect()
    }

    /// Returns the dependencies of a task.
    pub(super) fn edges(&self, ix: usize) -> Vec<usize> {
        let names = self.rows[ix].task.texts("dependencies");
        names.filter_map(|id| self.by_id.get(id).copied()).collect()
    }
}

/// Returns a string or a number as JavaScript's text.
fn js_name(node: NodeRef<'_>) -> Option<String> {
    let view = JsView::of(node);
    view.is_string_or_number()
        .then(|| view.to_js_string().text().into_owned())
}

fn read_row(index: usize, task: NodeRef<'_>) -> ContractRow {
    let id = task.get("task_id").and_then(NodeRef::text);
    ContractRow {
        id: id.map(|id| id.into_owned()).filter(|id| !id.trim().is_empty()),
        index,
        wave: task.get("wave").and_then(js_name),
        span: task.span(),
        task: PackTask::of(task),
    }
}

fn read_waves(root: NodeRef<'_>) -> Result<Vec<ContractWave>, Span> {
    let list = root
        .get("execution_waves")
        .filter(|list| list.kind() == NodeKind::Array);
    let mut waves: Vec<ContractWave> = Vec::new();
    let mut names = HashSet::new();
    for (index, wave) in list.ok_or(root.span())?.elements().enumerate() {
        let id = wave.get("wave").and_then(|id| Some((id, js_name(id)?)));
        let tasks = wave.get("tasks").filter(|tasks| tasks.kind() == NodeKind::Array);
        let (Some((id, name)), Some(tasks)) = (id, tasks) else {
            return Err(wave.span());
        };
        if name.is_empty() || !names.insert(name.clone()) {
            return Err(id.span());
        }
        let member = |task: NodeRef<'_>| task.text().map(|id| id.into_owned());
        waves.push(ContractWave {
            name,
            value: PlainValue::of(id),
            index: Some(index),
            members: tasks.elements().map(member).collect(),
        });
    }
    Ok(waves)
}

/// An edit of the tasks, with the contract before and after it.
pub(super) struct ContractEdit<'a> {
    pub(super) edited: &'a TaskListEdit<'a>,
    pub(super) old: &'a PackContract,
    /// The contract after the edit, with its old waves.
    pub(super) new: &'a PackContract,
}

impl ContractEdit<'_> {
    /// Returns the old version of a task; none for a new one.
    pub(super) fn origin_of(&self, new_ix: usize) -> Option<&ContractRow> {
        self.edited.origin[new_ix].and_then(|old_ix| self.old.rows.get(old_ix))
    }

    /// Returns the present name of a task, for people.
    pub(super) fn name_of(&self, new_ix: usize) -> String {
        visible(self.new.rows[new_ix].id.as_deref().unwrap_or("?")).into_owned()
    }

    /// Returns the removed tasks.
    pub(super) fn gone(&self) -> Vec<&ContractRow> {
        let kept: HashSet<usize> = self.edited.origin.iter().flatten().copied().collect();
        let rows = self.old.rows.iter().enumerate();
        rows.filter(|(ix, _)| !kept.contains(ix)).map(|(_, row)| row).collect()
    }
}
