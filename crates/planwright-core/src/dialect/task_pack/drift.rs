//! Differences between the cards of a pack and its contract, and the text without them. The contract wins.

use std::collections::HashSet;

use super::super::CannotFollow;
use super::super::writer::{cut, one_line};
use super::card_edits::{CardEditor, new_cards, refuse, stray_message};
use super::cards::{CARDS_SECTION, Card, CardField, Cards, is_name_part};
use super::original::CONTRACT_SECTION;
use super::pack_contract::{ContractRow, PackContract};
use super::task::scalar;
use crate::diagnostic::{Diagnostic, Replacement, push_bounded, rules};
use crate::document::markdown::Markdown;
use crate::document::patch::PlainValue;
use crate::text::{SourceText, Span, visible};

rules! {
    CARD_DRIFT = "task-pack-card-drift", Error,
        "A task card contradicts the contract.",
        "Programs read the contract, and it wins; people read the cards. `planwright tasks cards PLAN_FILE --check` reports this, and `--write` rewrites the cards that have drifted.",
        "goal: Read the card, while the contract says \"Read two cards\"",
        "goal: Read two cards";
}

/// The length limit of a value in a finding.
const SHOWN_CHARS: usize = 60;

/// Returns only the cards that follow from the contract of a pack; none without a valid contract.
pub fn cards(source: &SourceText) -> Option<String> {
    PackContract::parse(source).map(|contract| new_cards(contract.rows.iter().map(|row| &row.task)))
}

/// Returns the differences between cards and contract, in text order; none without a valid contract.
pub fn drift(source: &SourceText) -> Option<Vec<Diagnostic>> {
    let contract = PackContract::parse(source)?;
    let comparison = CardComparison::new(source, &contract);
    let mut found = Vec::new();
    for difference in comparison.differences() {
        push_bounded(&mut found, || difference.diagnostic(&comparison));
    }
    crate::diagnostic::sort(&mut found);
    Some(found)
}

/// Returns the text with cards that match the contract, otherwise unchanged.
pub fn with_cards_renewed(source: &SourceText) -> Result<String, CannotFollow> {
    let unread = || refuse(Span::default(), "there is no contract that can be read".to_owned());
    let contract = PackContract::parse(source).ok_or_else(unread)?;
    let comparison = CardComparison::new(source, &contract);
    let editor = CardEditor::new(source, &comparison.cards);
    let renewed = editor.apply(&comparison.edits(&editor)?)?;
    let is_kept = PackContract::parse(&renewed).is_some_and(|after| after.text() == contract.text());
    match drift(&renewed) {
        Some(left) if left.is_empty() && is_kept => Ok(renewed.as_str().to_owned()),
        _ => Err(refuse(
            comparison.cards.body,
            "the cards cannot be rewritten so that they read back as the contract".to_owned(),
        )),
    }
}

/// The cards of a pack next to its contract.
struct CardComparison<'a> {
    source: &'a SourceText,
    contract: &'a PackContract,
    cards: Cards,
    /// Cards of tasks that the contract lacks.
    orphans: Vec<Card>,
}

enum CardDifference<'t> {
    /// A task without a card.
    Missing(&'t ContractRow, &'t str),
    /// A second card of a task.
    Second(&'t Card),
    /// A card of no task.
    Orphan(&'t Card),
    /// A field with another value; with the flag, a second line of a field.
    Field(&'t Card, &'t CardField, bool),
}

impl<'a> CardComparison<'a> {
    fn new(source: &'a SourceText, contract: &'a PackContract) -> Self {
        let ids = contract.ids();
        let cards = Cards::read(source, &ids);
        let strangers = strangers(source.slice(cards.body), &ids);
        let others = Cards::read(source, &strangers.into_iter().collect());
        let is_own_kind = others.has_headings == cards.has_headings;
        CardComparison {
            source,
            contract,
            orphans: if is_own_kind { others.cards } else { Vec::new() },
            cards,
        }
    }

    /// Returns the contract's value of a field of a card.
    fn value_of(&self, card: &Card, field: &CardField) -> Option<&PlainValue> {
        let row = self.contract.rows.get(*self.contract.by_id.get(&card.task)?)?;
        row.task.get(field.name)
    }

    fn differences(&self) -> Vec<CardDifference<'_>> {
        let mut found: Vec<CardDifference<'_>> = self.orphans.iter().map(CardDifference::Orphan).collect();
        let mut seen = HashSet::new();
        for row in &self.contract.rows {
            let Some(id) = row.id.as_deref().filter(|id| seen.insert(*id)) else {
                continue;
            };
            let mut own = self.cards.of(id);
            match own.next() {
                None => found.push(CardDifference::Missing(row, id)),
                Some(card) => found.extend(self.differences_of(card, row)),
            }
            found.extend(own.map(CardDifference::Second));
        }
        found
    }

    fn differences_of<'t>(&'t self, card: &'t Card, row: &'t ContractRow) -> impl Iterator<Item = CardDifference<'t>> {
        let mut seen = HashSet::new();
        card.fields.iter().filter_map(move |field| {
            let is_second = !seen.insert(field.name);
            let differs = !field.agrees(self.source, row.task.get(field.name));
            (is_second || differs).then_some(CardDifference::Field(card, field, is_second))
        })
    }

    /// Returns the edits that update the cards.
    fn edits(&self, editor: &CardEditor<'_>) -> Result<Vec<Replacement>, CannotFollow> {
        if self.cards.cards.is_empty() && self.orphans.is_empty() {
            return self.all_cards().map(|edit| vec![edit]);
        }
        let rows = &self.contract.rows;
        let card_at = |ix: usize| self.cards.of(rows.get(ix)?.id.as_deref()?).next();
        let mut edits = Vec::new();
        for difference in self.differences() {
            match difference {
                CardDifference::Missing(_, id) => {
                    editor.card_of(id)?;
                    let at = self.contract.by_id.get(id).copied().unwrap_or(0);
                    editor.add(rows, at, card_at, &mut edits);
                }
                CardDifference::Second(card) | CardDifference::Orphan(card) => editor.remove(card, &mut edits),
                CardDifference::Field(card, field, is_second) => {
                    let value = self.value_of(card, field).filter(|_| !is_second);
                    edits.push(editor.set_field(card, field, value));
                }
            }
        }
        Ok(joined_insertions(edits))
    }

    /// Returns the edit that adds all cards if there are none.
    fn all_cards(&self) -> Result<Replacement, CannotFollow> {
        let newline = self.source.newline().as_str();
        let cards = new_cards(self.contract.rows.iter().map(|row| &row.task)).replace('\n', newline);
        let markdown = Markdown::parse(self.source);
        let (at, heading) = match (markdown.section(CARDS_SECTION), markdown.section(CONTRACT_SECTION)) {
            (Some(section), _) => (section.body, String::new()),
            (None, Some(section)) => (section.body, format!("## {CARDS_SECTION}{newline}{newline}")),
            (None, None) => return Err(refuse(Span::default(), "there is no contract".to_owned())),
        };
        for row in &self.contract.rows {
            if let Some(span) = row.id.as_deref().and_then(|id| self.cards.stray_mention(id)) {
                let message = "the cards mention the tasks in a form that cannot be read".to_owned();
                return Err(refuse(span, message));
            }
        }
        let body = self.source.slice(at).trim_end();
        let end = at.start as usize + body.len();
        let is_last = at.end as usize == self.source.len();
        let tail = if is_last { "" } else { newline };
        let text = format!("{newline}{newline}{heading}{cards}{tail}");
        Ok(Replacement::new(Span::new(end, at.end as usize), text))
    }
}

/// Joins insertions at one offset, in order.
fn joined_insertions(edits: Vec<Replacement>) -> Vec<Replacement> {
    let mut joined: Vec<Replacement> = Vec::new();
    for edit in edits {
        let same = joined
            .iter_mut()
            .find(|other| edit.span.is_empty() && other.span == edit.span);
        match same {
            Some(other) => other.text.push_str(&edit.text),
            None => joined.push(edit),
        }
    }
    joined
}

impl CardDifference<'_> {
    fn diagnostic(&self, comparison: &CardComparison<'_>) -> Diagnostic {
        let stray = match self {
            CardDifference::Missing(_, id) => comparison.cards.stray_mention(id).zip(Some(id)),
            _ => None,
        };
        if let Some((span, id)) = stray {
            return Diagnostic::new(&CARD_DRIFT, span, stray_message(id)).with_help("edit that place by hand");
        }
        let (span, message) = match self {
            CardDifference::Missing(row, id) => (row.span, format!("there is no card of `{}`", visible(id))),
            CardDifference::Second(card) => (card.id, format!("`{}` has two cards", visible(&card.task))),
            CardDifference::Orphan(card) => {
                let task = visible(&card.task);
                (
                    card.id,
                    format!("there is a card of `{task}`, and no such task in the contract"),
                )
            }
            CardDifference::Field(card, field, is_second) => {
                let (task, name) = (visible(&card.task), field.name);
                let message = match comparison.value_of(card, field).and_then(shown) {
                    _ if *is_second => format!("the card of `{task}` has `{name}` twice"),
                    Some(value) => {
                        let value = visible(&value);
                        format!("the card of `{task}` differs in `{name}`: the contract has `{value}`")
                    }
                    None => {
                        format!("the card of `{task}` differs in `{name}`: the contract does not have it")
                    }
                };
                (field.name_span, message)
            }
        };
        Diagnostic::new(&CARD_DRIFT, span, message)
            .with_help("`planwright tasks cards PLAN_FILE --write` rewrites what has drifted")
    }
}

/// Returns a value for people; none for an empty one.
fn shown(value: &PlainValue) -> Option<String> {
    let text = match value {
        PlainValue::Array(items) if items.is_empty() => "[]".to_owned(),
        PlainValue::Array(items) => items.iter().filter_map(scalar).collect::<Vec<_>>().join(", "),
        value => scalar(value)?,
    };
    Some(cut(&one_line(&text), SHOWN_CHARS))
}

/// Returns the words of a section that look like ids of a contract and are unknown.
fn strangers<'t>(text: &'t str, ids: &HashSet<&str>) -> Vec<&'t str> {
    let shape = |id: &str| -> Option<String> {
        let stem = id.trim_end_matches(|c: char| c.is_ascii_digit());
        (stem.len() < id.len() && !stem.is_empty()).then(|| stem.to_owned())
    };
    let stems: HashSet<String> = ids.iter().filter_map(|id| shape(id)).collect();
    let words = text
        .split(|c: char| !is_name_part(c))
        .filter(|word| !ids.contains(word));
    words
        .filter(|word| shape(word).is_some_and(|stem| stems.contains(&stem)))
        .collect()
}
