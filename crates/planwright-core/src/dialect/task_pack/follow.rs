//! The consequences of an edit of a pack's tasks: waves, cards, and notes for the user. Compares the contract before and after.

use std::collections::{HashMap, HashSet};

use super::super::{CannotFollow, Followed, Note, TaskListEdit};
use super::card_edits::{CardEditor, refuse};
use super::cards::{Card, CardField, Cards};
use super::fields;
use super::js::JsView;
use super::original::parse_fence;
use super::wave_edits::{EditedWave, read_waves};
use crate::diagnostic::Replacement;
use crate::document::markdown::Markdown;
use crate::document::patch::{self, PlainValue};
use crate::document::{Document, NodeKind, NodeRef, Parsed};
use crate::text::{SourceText, Span, visible};

/// One task of a contract.
pub(super) struct ContractRow {
    /// Its id, where that is a text with something in it.
    pub(super) id: Option<String>,
    /// Its place in the list, counting what is no task.
    pub(super) index: usize,
    /// What JavaScript would call its wave.
    pub(super) wave: Option<String>,
    /// Where it stands.
    pub(super) span: Span,
    /// The fields that packs know, in the order of the contract.
    values: Vec<(&'static str, PlainValue)>,
}

impl ContractRow {
    /// Returns the value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&PlainValue> {
        self.values.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// Returns the names of the fields that the task has.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.values.iter().map(|(name, _)| *name)
    }

    /// Returns the texts of a field that is a list.
    pub(super) fn texts(&self, name: &str) -> Vec<&str> {
        let items: &[PlainValue] = match self.get(name) {
            Some(PlainValue::Array(items)) => items,
            _ => &[],
        };
        items
            .iter()
            .filter_map(|item| match item {
                PlainValue::String(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }
}

/// A contract as far as edits go.
pub(super) struct PackContract {
    pub(super) rows: Vec<ContractRow>,
    pub(super) by_id: HashMap<String, usize>,
    /// The waves, or the place that makes no sense.
    pub(super) waves: Result<Vec<EditedWave>, Span>,
    /// Where the waves stand.
    pub(super) waves_span: Span,
}

impl PackContract {
    pub(super) fn read(document: &Document) -> Option<Self> {
        let root = document.root()?;
        let tasks = root.get("tasks").filter(|tasks| tasks.kind() == NodeKind::Array)?;
        let objects = tasks
            .elements()
            .enumerate()
            .filter(|(_, task)| task.kind() == NodeKind::Object);
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
        })
    }

    pub(super) fn ids(&self) -> HashSet<&str> {
        self.by_id.keys().map(String::as_str).collect()
    }

    /// Returns the tasks that one depends on.
    pub(super) fn edges(&self, ix: usize) -> Vec<usize> {
        let names = self.rows[ix].texts("dependencies");
        names.into_iter().filter_map(|id| self.by_id.get(id).copied()).collect()
    }
}

/// Returns what JavaScript makes of a value as text.
pub(super) fn js_name(node: NodeRef<'_>) -> String {
    JsView::of(node).to_js_string().text().into_owned()
}

fn read_row(index: usize, task: NodeRef<'_>) -> ContractRow {
    let mut values: Vec<(&'static str, PlainValue)> = Vec::new();
    for member in task.own_members() {
        if let Some(name) = fields::find(|name| member.key.is_text(name)) {
            values.retain(|(own, _)| *own != name);
            values.push((name, PlainValue::of(member.value)));
        }
    }
    let wave = task.get("wave").filter(|wave| JsView::of(*wave).is_string_or_number());
    let id = task.get("task_id").and_then(NodeRef::text);
    ContractRow {
        id: id.map(|id| id.into_owned()).filter(|id| !id.trim().is_empty()),
        index,
        wave: wave.map(js_name),
        span: task.span(),
        values,
    }
}

/// Makes waves and cards follow an edit.
pub(super) fn follow_up(edited: &TaskListEdit<'_>) -> Result<Followed, CannotFollow> {
    let as_it_is = || Followed {
        text: edited.after.as_str().to_owned(),
        notes: Vec::new(),
    };
    let fence =
        |source: &SourceText| parse_fence(&Markdown::parse(source)).filter(|parsed| !parsed.document.is_broken());
    // A contract that cannot be read any more is refused when the new text is judged.
    let (Some(old_fence), Some(new_fence)) = (fence(edited.before), fence(edited.after)) else {
        return Ok(as_it_is());
    };
    let (Some(old), Some(new)) = (
        PackContract::read(&old_fence.document),
        PackContract::read(&new_fence.document),
    ) else {
        return Ok(as_it_is());
    };
    if new.rows.len() != edited.origin.len() {
        return Ok(as_it_is());
    }
    let step = ContractEdit {
        edited,
        old: &old,
        new: &new,
    };
    step.refuse_doubles()?;
    let mut notes = Vec::new();
    let patches = step.wave_patches(&mut notes)?;
    let contract = patch::patch_parsed(&new_fence.document, &patches).map_err(|refusal| CannotFollow {
        span: old.waves_span,
        message: format!("the waves cannot follow: {refusal}"),
        help: "fix the contract by hand; `planwright check` shows where".to_owned(),
    })?;
    step.follow_cards(&old_fence, &contract, notes)
}

/// An edit under way.
pub(super) struct ContractEdit<'a> {
    pub(super) edited: &'a TaskListEdit<'a>,
    pub(super) old: &'a PackContract,
    /// The contract after the edit, its waves still as they were.
    pub(super) new: &'a PackContract,
}

impl ContractEdit<'_> {
    /// Returns a task as it was; none for a new one.
    pub(super) fn origin_of(&self, new_ix: usize) -> Option<&ContractRow> {
        self.edited.origin[new_ix].and_then(|old_ix| self.old.rows.get(old_ix))
    }

    /// Returns what a task is called now, for people.
    pub(super) fn name_of(&self, new_ix: usize) -> String {
        visible(self.new.rows[new_ix].id.as_deref().unwrap_or("?")).into_owned()
    }

    /// Returns the old tasks that are gone.
    pub(super) fn gone(&self) -> Vec<&ContractRow> {
        let kept: HashSet<usize> = self.edited.origin.iter().flatten().copied().collect();
        let rows = self.old.rows.iter().enumerate();
        rows.filter(|(ix, _)| !kept.contains(ix)).map(|(_, row)| row).collect()
    }

    /// Refuses to touch tasks that share an id: waves and cards know tasks by nothing else.
    fn refuse_doubles(&self) -> Result<(), CannotFollow> {
        let mut named: HashMap<&str, usize> = HashMap::new();
        for id in self.old.rows.iter().filter_map(|row| row.id.as_deref()) {
            *named.entry(id).or_default() += 1;
        }
        let is_touched = |ix: &usize| {
            let old = self.origin_of(*ix);
            old.is_some_and(|old| old.values != self.new.rows[*ix].values)
        };
        let touched = (0..self.new.rows.len()).filter(is_touched);
        let touched = touched.filter_map(|ix| self.origin_of(ix)).chain(self.gone());
        for row in touched {
            if let Some(id) = row
                .id
                .as_deref()
                .filter(|id| named.get(id).is_some_and(|count| *count > 1))
            {
                return Err(CannotFollow {
                    span: row.span,
                    message: format!(
                        "two tasks are called `{}`, and waves and cards know them by nothing else",
                        visible(id)
                    ),
                    help: "give each task an id of its own by hand first".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Makes the cards follow, and puts the new text together.
    fn follow_cards(
        &self,
        old_fence: &Parsed,
        contract: &Parsed,
        mut notes: Vec<Note>,
    ) -> Result<Followed, CannotFollow> {
        let before = self.edited.before;
        let Some(new) = PackContract::read(&contract.document) else {
            return Err(refuse(
                old_fence.document.extent(),
                "the contract came out wrong".to_owned(),
            ));
        };
        let extent = contract.document.extent();
        let fence = contract.document.source().slice(extent);
        let mut edits = vec![Replacement::new(old_fence.document.extent(), fence)];
        let cards = Cards::read(before, &self.old.ids());
        let sheet = CardEditor {
            source: before,
            cards: &cards,
            newline: before.newline().as_str(),
        };
        self.refuse_orphans(&new)?;
        self.change_cards(&sheet, &new, &mut edits)?;
        self.place_cards(&sheet, &new, &mut edits, &mut notes)?;
        let text = patch::apply(before, &edits).map_err(|refusal| {
            let span = refusal.span().unwrap_or(cards.body);
            refuse(span, format!("the cards cannot be changed: {refusal}"))
        })?;
        let text = SourceText::new(text);
        let written = parse_fence(&Markdown::parse(&text));
        if written.is_none_or(|written| written.document.source().slice(written.document.extent()) != fence) {
            let message = "the cards cannot follow without touching the contract".to_owned();
            return Err(refuse(cards.body, message));
        }
        self.verify(&sheet, &new, &text)?;
        notes.extend(self.old_ids().map(|id| Note::Named(id.to_owned())));
        notes.extend(self.sections_behind(&new).into_iter().map(Note::Section));
        Ok(Followed {
            text: text.as_str().to_owned(),
            notes,
        })
    }

    /// Refuses a new id that has a card already, left behind by a task that is gone.
    fn refuse_orphans(&self, new: &PackContract) -> Result<(), CannotFollow> {
        let old = self.old.ids();
        let fresh: HashSet<&str> = new.ids().into_iter().filter(|id| !old.contains(id)).collect();
        if fresh.is_empty() {
            return Ok(());
        }
        let left = Cards::read(self.edited.before, &fresh);
        match left.cards.first() {
            None => Ok(()),
            Some(card) => Err(CannotFollow {
                span: card.id,
                message: format!("there is a card of `{}` already, but no such task", visible(&card.task)),
                help: "take the card out by hand, or choose another id".to_owned(),
            }),
        }
    }

    /// Adds what the cards of tasks need whose fields have changed.
    fn change_cards(
        &self,
        sheet: &CardEditor<'_>,
        new: &PackContract,
        edits: &mut Vec<Replacement>,
    ) -> Result<(), CannotFollow> {
        for (new_ix, row) in new.rows.iter().enumerate() {
            let Some(old) = self.origin_of(new_ix).filter(|old| old.values != row.values) else {
                continue;
            };
            let Some(id) = &old.id else {
                continue;
            };
            if let Some(card) = sheet.card_of(id)? {
                sheet.change(card, old, row, edits)?;
            }
        }
        Ok(())
    }

    /// Adds what puts cards into their places: new ones, those of tasks that are gone, and another order.
    fn place_cards(
        &self,
        sheet: &CardEditor<'_>,
        new: &PackContract,
        edits: &mut Vec<Replacement>,
        notes: &mut Vec<Note>,
    ) -> Result<(), CannotFollow> {
        for id in self.gone().into_iter().filter_map(|row| row.id.as_deref()) {
            if let Some(card) = sheet.card_of(id)? {
                sheet.remove(card, edits);
            }
        }
        let card_at = |new_ix: usize| -> Option<&Card> {
            let id = self.origin_of(new_ix)?.id.as_deref()?;
            sheet.cards.of(id).next()
        };
        let n_rows = new.rows.len();
        for new_ix in (0..n_rows).filter(|&ix| self.edited.origin[ix].is_none()) {
            if sheet.cards.cards.is_empty() {
                self.refuse_unknown_layout(sheet)?;
            }
            let after = (0..new_ix).rev().find_map(card_at);
            let before = (new_ix + 1..n_rows).find_map(card_at);
            sheet.add(&new.rows[new_ix], after, before, edits);
        }
        if n_rows != self.old.rows.len() {
            return Ok(());
        }
        let old_order: Vec<u32> = self.old.rows.iter().filter_map(|row| start_of(sheet, row)).collect();
        let new_order: Vec<u32> = (0..n_rows)
            .filter_map(|ix| start_of(sheet, self.origin_of(ix)?))
            .collect();
        if old_order == new_order {
            return Ok(());
        }
        let places: HashMap<u32, usize> = sheet.cards.cards.iter().map(|card| card.span.start).zip(0..).collect();
        let is_in_order = old_order.is_sorted() && old_order.len() == places.len();
        if !is_in_order {
            let words = "the cards have an order of their own, and keep it".to_owned();
            notes.push(Note::Happened(words));
            return Ok(());
        }
        let order: Vec<usize> = new_order
            .iter()
            .filter_map(|start| places.get(start).copied())
            .collect();
        sheet.permute(&order, edits)
    }

    /// Refuses to add a task to cards of which none could be read.
    fn refuse_unknown_layout(&self, sheet: &CardEditor<'_>) -> Result<(), CannotFollow> {
        for id in self.old.rows.iter().filter_map(|row| row.id.as_deref()) {
            sheet.card_of(id)?;
        }
        Ok(())
    }

    /// Makes sure that what agreed with the contract still does, and that new cards do.
    fn verify(&self, sheet: &CardEditor<'_>, new: &PackContract, text: &SourceText) -> Result<(), CannotFollow> {
        let cards = Cards::read(text, &new.ids());
        for (new_ix, row) in new.rows.iter().enumerate() {
            let old = self.origin_of(new_ix);
            let old_card = old.and_then(|old| sheet.cards.of(old.id.as_deref()?).next());
            let new_card = row.id.as_deref().and_then(|id| cards.of(id).next());
            let wrong = match (old.zip(old_card), new_card) {
                (None, None) => None,
                (None, Some(card)) => {
                    let mut fields = card.fields.iter();
                    let odd = fields.find(|field| !field.agrees(text, row.get(field.name)));
                    odd.map(|odd| (Span::at(sheet.cards.body.start as usize), odd.name))
                }
                (Some((_, card)), None) => Some((card.id, "task_id")),
                (Some((old, old_card)), Some(card)) => {
                    let was_right = |field: &&CardField| field.agrees(sheet.source, old.get(field.name));
                    let is_right = |field: &&CardField| match (card.field(field.name), row.get(field.name)) {
                        (Some(now), value) => now.agrees(text, value),
                        (None, value) => value.is_none_or(|value| *value == PlainValue::Null),
                    };
                    let mut agreed = old_card.fields.iter().filter(was_right);
                    agreed
                        .find(|field| !is_right(field))
                        .map(|field| (field.name_span, field.name))
                }
            };
            if let Some((span, name)) = wrong {
                let message = format!("`{name}` cannot be written on the card so that it reads back");
                return Err(refuse(span, message));
            }
        }
        Ok(())
    }

    /// Returns the ids that mean nothing any more.
    fn old_ids(&self) -> impl Iterator<Item = &str> {
        let renamed = (0..self.new.rows.len()).filter_map(|ix| {
            let old = self.origin_of(ix)?.id.as_deref()?;
            (self.new.rows[ix].id.as_deref() != Some(old)).then_some(old)
        });
        let gone = self.gone().into_iter().filter_map(|row| row.id.as_deref());
        renamed.chain(gone).filter(|id| !self.new.by_id.contains_key(*id))
    }

    /// Returns the sections that tell readers what has changed now. Where a task is renamed, its lines are named instead.
    fn sections_behind(&self, new: &PackContract) -> Vec<&'static str> {
        let mut rows = new.rows.iter().enumerate();
        if rows.any(|(ix, row)| self.origin_of(ix).is_some_and(|old| old.id != row.id)) {
            return Vec::new();
        }
        let differs = |field: &str| {
            let differs =
                |ix: usize, row: &ContractRow| self.origin_of(ix).is_none_or(|old| old.get(field) != row.get(field));
            !self.gone().is_empty() || new.rows.iter().enumerate().any(|(ix, row)| differs(ix, row))
        };
        let sections = [("dependencies", "Task Graph"), ("wave", "Execution Waves")];
        let behind = sections.into_iter().filter(|(field, _)| differs(field));
        behind.map(|(_, title)| title).collect()
    }
}

fn start_of(sheet: &CardEditor<'_>, row: &ContractRow) -> Option<u32> {
    let card = sheet.cards.of(row.id.as_deref()?).next()?;
    Some(card.span.start)
}
