//! Differences between the cards of a pack and its contract, and the text without them. The contract wins.

use std::collections::HashSet;

use super::super::CannotFollow;
use super::super::write::{cut, one_line};
use super::card_edits::{CardEditor, refuse};
use super::cards::{CARDS_SECTION, Card, Cards, is_name_part, scalar};
use super::follow::{ContractRow, PackContract};
use super::original::{CONTRACT_SECTION, parse_fence};
use super::sections;
use crate::diagnostic::{Diagnostic, Replacement, push_bounded, rules};
use crate::document::Parsed;
use crate::document::markdown::Markdown;
use crate::document::patch::{self, PlainValue};
use crate::text::{SourceText, Span, visible};

rules! {
    CARD_DRIFT = "task-pack-card-drift", Error,
        "A task card contradicts the contract.",
        "Programs read the contract, and it wins; people read the cards. `planwright tasks cards PACK --check` reports this, and `--write` rewrites the cards that have drifted.",
        "goal: Read the card, while the contract says \"Read two cards\"",
        "goal: Read two cards";
}

/// How long a value is shown in a finding.
const SHOWN_CHARS: usize = 60;

/// Returns the cards that the contract of a pack makes, and nothing else; none where there is no contract to read.
pub fn cards(source: &SourceText) -> Option<String> {
    let fence = fence_of(source)?;
    PackContract::read(&fence.document)?;
    let tasks = fence.document.root()?.get("tasks")?;
    let tasks: Vec<PlainValue> = tasks.elements().map(PlainValue::of).collect();
    Some(sections::cards(&tasks))
}

/// Returns where cards and contract differ, in the order of the text; none where there is no contract to read.
pub fn drift(source: &SourceText) -> Option<Vec<Diagnostic>> {
    let fence = fence_of(source)?;
    let contract = PackContract::read(&fence.document)?;
    let table = CardComparison::new(source, &contract);
    let mut found = Vec::new();
    for slip in table.slips() {
        push_bounded(&mut found, || slip.diagnostic(&table));
    }
    crate::diagnostic::sort(&mut found);
    Some(found)
}

/// Returns the text in which the cards follow the contract, and nothing else is changed.
pub fn with_cards_renewed(source: &SourceText) -> Result<String, CannotFollow> {
    let unread = || refuse(Span::default(), "there is no contract that can be read".to_owned());
    let fence = fence_of(source).ok_or_else(unread)?;
    let contract = PackContract::read(&fence.document).ok_or_else(unread)?;
    let table = CardComparison::new(source, &contract);
    let edits = table.edits(&fence)?;
    let text = patch::apply(source, &edits).map_err(|refusal| {
        let span = refusal.span().unwrap_or(table.cards.body);
        refuse(span, format!("the cards cannot be changed: {refusal}"))
    })?;
    let mended = SourceText::new(text);
    let slice = |fence: &Parsed| fence.document.source().slice(fence.document.extent()).to_owned();
    let is_kept = fence_of(&mended).is_some_and(|after| slice(&after) == slice(&fence));
    match drift(&mended) {
        Some(left) if left.is_empty() && is_kept => Ok(mended.as_str().to_owned()),
        _ => Err(refuse(
            table.cards.body,
            "the cards cannot be rewritten so that they read back as the contract".to_owned(),
        )),
    }
}

fn fence_of(source: &SourceText) -> Option<Parsed> {
    parse_fence(&Markdown::parse(source)).filter(|parsed| !parsed.document.is_broken())
}

/// The cards of a pack beside its contract.
struct CardComparison<'a> {
    source: &'a SourceText,
    contract: &'a PackContract,
    cards: Cards,
    /// Cards of tasks that the contract does not have.
    orphans: Vec<Card>,
}

enum CardDifference<'t> {
    /// A task without a card.
    Missing(&'t ContractRow, &'t str),
    /// A second card of a task.
    Second(&'t Card),
    /// A card of no task.
    Orphan(&'t Card),
    /// A field that says something else, by its place on the card; a second line of a field where the flag is set.
    Field(&'t Card, usize, bool),
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

    fn row_of(&self, task: &str) -> Option<&ContractRow> {
        self.contract.rows.get(*self.contract.by_id.get(task)?)
    }

    fn slips(&self) -> Vec<CardDifference<'_>> {
        let mut slips: Vec<CardDifference<'_>> = self.orphans.iter().map(CardDifference::Orphan).collect();
        let mut seen = HashSet::new();
        for row in &self.contract.rows {
            let Some(id) = row.id.as_deref().filter(|id| seen.insert(*id)) else {
                continue;
            };
            let mut own = self.cards.of(id);
            match own.next() {
                None => slips.push(CardDifference::Missing(row, id)),
                Some(card) => slips.extend(self.slips_of(card, row)),
            }
            slips.extend(own.map(CardDifference::Second));
        }
        slips
    }

    fn slips_of<'t>(&'t self, card: &'t Card, row: &'t ContractRow) -> impl Iterator<Item = CardDifference<'t>> {
        let mut seen = HashSet::new();
        let fields = card.fields.iter().enumerate();
        fields.filter_map(move |(ix, field)| {
            let is_second = !seen.insert(field.name);
            let differs = !field.agrees(self.source, row.get(field.name));
            (is_second || differs).then_some(CardDifference::Field(card, ix, is_second))
        })
    }

    /// Returns what makes the cards follow.
    fn edits(&self, fence: &Parsed) -> Result<Vec<Replacement>, CannotFollow> {
        let newline = self.source.newline().as_str();
        let sheet = CardEditor {
            source: self.source,
            cards: &self.cards,
            newline,
        };
        if self.cards.cards.is_empty() && self.orphans.is_empty() {
            return self.all_cards(fence).map(|edit| vec![edit]);
        }
        let mut edits = Vec::new();
        for slip in self.slips() {
            match slip {
                CardDifference::Missing(row, id) => {
                    sheet.card_of(id)?;
                    let card_at = |ix: usize| {
                        let id = self.contract.rows.get(ix)?.id.as_deref()?;
                        self.cards.of(id).next()
                    };
                    let at = self.contract.by_id.get(id).copied().unwrap_or(0);
                    let after = (0..at).rev().find_map(card_at);
                    let before = (at + 1..self.contract.rows.len()).find_map(card_at);
                    sheet.add(row, after, before, &mut edits);
                }
                CardDifference::Second(card) | CardDifference::Orphan(card) => sheet.remove(card, &mut edits),
                CardDifference::Field(card, ix, is_second) => {
                    if let Some(field) = card.fields.get(ix) {
                        let value = self.row_of(&card.task).and_then(|row| row.get(field.name));
                        edits.push(sheet.set_field(card, field, value.filter(|_| !is_second)));
                    }
                }
            }
        }
        Ok(joined_insertions(edits))
    }

    /// Returns what gives all tasks a card where there is none.
    fn all_cards(&self, fence: &Parsed) -> Result<Replacement, CannotFollow> {
        let root = fence.document.root();
        let tasks = root.and_then(|root| root.get("tasks"));
        let tasks: Vec<PlainValue> = tasks
            .into_iter()
            .flat_map(|tasks| tasks.elements())
            .map(PlainValue::of)
            .collect();
        let newline = self.source.newline().as_str();
        let cards = sections::cards(&tasks).replace('\n', newline);
        let markdown = Markdown::parse(self.source);
        let (at, heading) = match (markdown.section(CARDS_SECTION), markdown.section(CONTRACT_SECTION)) {
            (Some(section), _) => (section.body, String::new()),
            (None, Some(section)) => (section.body, format!("## {CARDS_SECTION}{newline}{newline}")),
            (None, None) => return Err(refuse(Span::default(), "there is no contract".to_owned())),
        };
        for row in &self.contract.rows {
            if let Some(span) = row.id.as_deref().and_then(|id| self.cards.stray_mention(id)) {
                let message = "the tasks are named among the cards in a way that is not understood".to_owned();
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

/// Returns insertions at one place as one, in their order.
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
    fn diagnostic(&self, table: &CardComparison<'_>) -> Diagnostic {
        let drift = |span: Span, message: String| {
            let help = "`planwright tasks cards PACK --write` rewrites what has drifted";
            Diagnostic::new(&CARD_DRIFT, span, message).with_help(help)
        };
        match self {
            CardDifference::Missing(row, id) => match table.cards.stray_mention(id) {
                Some(span) => drift(
                    span,
                    format!(
                        "`{}` is named among the cards in a way that is not understood",
                        visible(id)
                    ),
                )
                .with_help("edit that place by hand"),
                None => drift(row.span, format!("there is no card of `{}`", visible(id))),
            },
            CardDifference::Second(card) => drift(card.id, format!("`{}` has two cards", visible(&card.task))),
            CardDifference::Orphan(card) => {
                let task = visible(&card.task);
                drift(
                    card.id,
                    format!("there is a card of `{task}`, and no such task in the contract"),
                )
            }
            CardDifference::Field(card, ix, is_second) => {
                let task = visible(&card.task);
                let Some(field) = card.fields.get(*ix) else {
                    return drift(card.id, format!("the card of `{task}` has drifted"));
                };
                let name = field.name;
                if *is_second {
                    return drift(field.name_span, format!("the card of `{task}` has `{name}` twice"));
                }
                let value = table.row_of(&card.task).and_then(|row| row.get(name));
                let says = match value.and_then(shown) {
                    Some(value) => format!("the contract says `{}`", visible(&value)),
                    None => "the contract says nothing of it".to_owned(),
                };
                drift(
                    field.name_span,
                    format!("the card of `{task}` says something else of `{name}`: {says}"),
                )
            }
        }
    }
}

/// Returns a value for people; none for one that says nothing.
fn shown(value: &PlainValue) -> Option<String> {
    let text = match value {
        PlainValue::Array(items) if items.is_empty() => "[]".to_owned(),
        PlainValue::Array(items) => items.iter().filter_map(scalar).collect::<Vec<_>>().join(", "),
        value => scalar(value)?,
    };
    Some(cut(&one_line(&text), SHOWN_CHARS))
}

/// Returns the words of a section that look like the ids of a contract and are none of them.
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
