//! The consequences of an edit of a pack's tasks: waves, cards, and notes for the user. Compares the contract before and after.

use std::collections::{HashMap, HashSet};

use super::super::{CannotFollow, Followed, Note, TaskListEdit};
use super::card_edits::{CardEditor, refuse};
use super::cards::{Card, CardField, Cards};
use super::pack_contract::{ContractEdit, ContractRow, PackContract};
use crate::diagnostic::Replacement;
use crate::document::patch::{self, PlainValue};
use crate::text::{SourceText, Span, visible};

/// Updates waves and cards after an edit.
pub(super) fn follow_up(edited: &TaskListEdit<'_>) -> Result<Followed, CannotFollow> {
    let contracts = PackContract::parse(edited.before).zip(PackContract::parse(edited.after));
    let Some((old, new)) = contracts.filter(|(_, new)| new.rows.len() == edited.origin.len()) else {
        // A contract that has become unreadable is refused when the new text is checked.
        return Ok(Followed {
            text: edited.after.as_str().to_owned(),
            notes: Vec::new(),
        });
    };
    let step = ContractEdit {
        edited,
        old: &old,
        new: &new,
    };
    step.refuse_doubles()?;
    let mut notes = Vec::new();
    let patches = step.wave_patches(&mut notes)?;
    let contract = patch::patch_parsed(&new.fence.document, &patches).map_err(|refusal| CannotFollow {
        span: old.waves_span,
        message: format!("cannot update the waves: {refusal}"),
        help: "fix the contract by hand; `planwright check` shows where".to_owned(),
    })?;
    let wrong = || {
        refuse(
            old.fence.document.extent(),
            "the new contract cannot be read".to_owned(),
        )
    };
    step.follow_cards(&PackContract::of(contract).ok_or_else(wrong)?, notes)
}

impl ContractEdit<'_> {
    /// Refuses to edit tasks that share an id: waves and cards identify tasks only by it.
    fn refuse_doubles(&self) -> Result<(), CannotFollow> {
        let mut named: HashMap<&str, usize> = HashMap::new();
        for id in self.old.rows.iter().filter_map(|row| row.id.as_deref()) {
            *named.entry(id).or_default() += 1;
        }
        let is_touched = |ix: &usize| {
            let old = self.origin_of(*ix);
            old.is_some_and(|old| old.task != self.new.rows[*ix].task)
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
                        "two tasks have the id `{}`, by which waves and cards name them",
                        visible(id)
                    ),
                    help: "give each task an id of its own by hand first".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Updates the cards, and builds the new text.
    fn follow_cards(&self, new: &PackContract, mut notes: Vec<Note>) -> Result<Followed, CannotFollow> {
        let before = self.edited.before;
        let mut edits = vec![Replacement::new(self.old.fence.document.extent(), new.text())];
        let cards = Cards::read(before, &self.old.ids());
        let editor = CardEditor::new(before, &cards);
        self.refuse_orphans(new)?;
        self.change_cards(&editor, new, &mut edits)?;
        self.place_cards(&editor, new, &mut edits, &mut notes)?;
        let text = editor.apply(&edits)?;
        if PackContract::parse(&text).is_none_or(|written| written.text() != new.text()) {
            let message = "cannot update the cards without changing the contract".to_owned();
            return Err(refuse(cards.body, message));
        }
        self.verify(&editor, new, &text)?;
        notes.extend(self.old_ids().map(|id| Note::Named(id.to_owned())));
        notes.extend(self.sections_behind(new).into_iter().map(Note::Section));
        Ok(Followed {
            text: text.as_str().to_owned(),
            notes,
        })
    }

    /// Refuses a new id that already has a card, left by a removed task.
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
                message: format!("a card of `{}` already exists, but no such task", visible(&card.task)),
                help: "remove the card by hand, or choose another id".to_owned(),
            }),
        }
    }

    /// Adds the edits of cards whose tasks have changed fields.
    fn change_cards(
        &self,
        editor: &CardEditor<'_>,
        new: &PackContract,
        edits: &mut Vec<Replacement>,
    ) -> Result<(), CannotFollow> {
        for (new_ix, row) in new.rows.iter().enumerate() {
            let Some(old) = self.origin_of(new_ix).filter(|old| old.task != row.task) else {
                continue;
            };
            let Some(id) = &old.id else {
                continue;
            };
            if let Some(card) = editor.card_of(id)? {
                editor.change(card, old, row, edits)?;
            }
        }
        Ok(())
    }

    /// Adds the edits that insert new cards, remove cards of removed tasks, and reorder cards.
    fn place_cards(
        &self,
        editor: &CardEditor<'_>,
        new: &PackContract,
        edits: &mut Vec<Replacement>,
        notes: &mut Vec<Note>,
    ) -> Result<(), CannotFollow> {
        for id in self.gone().into_iter().filter_map(|row| row.id.as_deref()) {
            if let Some(card) = editor.card_of(id)? {
                editor.remove(card, edits);
            }
        }
        let card_at = |new_ix: usize| -> Option<&Card> {
            let id = self.origin_of(new_ix)?.id.as_deref()?;
            editor.cards.of(id).next()
        };
        let n_rows = new.rows.len();
        for new_ix in (0..n_rows).filter(|&ix| self.edited.origin[ix].is_none()) {
            if editor.cards.cards.is_empty() {
                self.refuse_unknown_layout(editor)?;
            }
            editor.add(&new.rows, new_ix, card_at, edits);
        }
        if n_rows != self.old.rows.len() {
            return Ok(());
        }
        let old_order: Vec<u32> = self.old.rows.iter().filter_map(|row| start_of(editor, row)).collect();
        let new_order: Vec<u32> = (0..n_rows)
            .filter_map(|ix| start_of(editor, self.origin_of(ix)?))
            .collect();
        if old_order == new_order {
            return Ok(());
        }
        let places: HashMap<u32, usize> = editor.cards.cards.iter().map(|card| card.span.start).zip(0..).collect();
        let is_in_order = old_order.is_sorted() && old_order.len() == places.len();
        if !is_in_order {
            let words = "the cards keep their order, which differs from that of the tasks".to_owned();
            notes.push(Note::Happened(words));
            return Ok(());
        }
        let order: Vec<usize> = new_order
            .iter()
            .filter_map(|start| places.get(start).copied())
            .collect();
        editor.permute(&order, edits)
    }

    /// Refuses to add a task if no card could be read.
    fn refuse_unknown_layout(&self, editor: &CardEditor<'_>) -> Result<(), CannotFollow> {
        for id in self.old.rows.iter().filter_map(|row| row.id.as_deref()) {
            editor.card_of(id)?;
        }
        Ok(())
    }

    /// Checks that cards that matched the contract still do, and that new cards do.
    fn verify(&self, editor: &CardEditor<'_>, new: &PackContract, text: &SourceText) -> Result<(), CannotFollow> {
        let cards = Cards::read(text, &new.ids());
        for (new_ix, row) in new.rows.iter().enumerate() {
            let old = self.origin_of(new_ix);
            let old_card = old.and_then(|old| editor.cards.of(old.id.as_deref()?).next());
            let new_card = row.id.as_deref().and_then(|id| cards.of(id).next());
            let wrong = match (old.zip(old_card), new_card) {
                (None, None) => None,
                (None, Some(card)) => {
                    let mut fields = card.fields.iter();
                    let odd = fields.find(|field| !field.agrees(text, row.task.get(field.name)));
                    odd.map(|odd| (Span::at(editor.cards.body.start as usize), odd.name))
                }
                (Some((_, card)), None) => Some((card.id, "task_id")),
                (Some((old, old_card)), Some(card)) => {
                    let was_right = |field: &&CardField| field.agrees(editor.source, old.task.get(field.name));
                    let is_right = |field: &&CardField| match (card.field(field.name), row.task.get(field.name)) {
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

    /// Returns the ids that have no task any more.
    fn old_ids(&self) -> impl Iterator<Item = &str> {
        let renamed = (0..self.new.rows.len()).filter_map(|ix| {
            let old = self.origin_of(ix)?.id.as_deref()?;
            (self.new.rows[ix].id.as_deref() != Some(old)).then_some(old)
        });
        let gone = self.gone().into_iter().filter_map(|row| row.id.as_deref());
        renamed.chain(gone).filter(|id| !self.new.by_id.contains_key(*id))
    }

    /// Returns the sections that describe what has changed. For a renamed task, its lines are named instead.
    fn sections_behind(&self, new: &PackContract) -> Vec<&'static str> {
        let mut rows = new.rows.iter().enumerate();
        if rows.any(|(ix, row)| self.origin_of(ix).is_some_and(|old| old.id != row.id)) {
            return Vec::new();
        }
        let differs = |field: &str| {
            let differs = |ix: usize, row: &ContractRow| {
                self.origin_of(ix)
                    .is_none_or(|old| old.task.get(field) != row.task.get(field))
            };
            !self.gone().is_empty() || new.rows.iter().enumerate().any(|(ix, row)| differs(ix, row))
        };
        let sections = [("dependencies", "Task Graph"), ("wave", "Execution Waves")];
        let behind = sections.into_iter().filter(|(field, _)| differs(field));
        behind.map(|(_, title)| title).collect()
    }
}

fn start_of(editor: &CardEditor<'_>, row: &ContractRow) -> Option<u32> {
    let card = editor.cards.of(row.id.as_deref()?).next()?;
    Some(card.span.start)
}
