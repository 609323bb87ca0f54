//! Changes the cards of a pack to match the contract, in their own layout. Refuses if a card already contradicts the contract.

use super::super::CannotFollow;
use super::super::writer::cut;
use super::cards::{Card, CardField, Cards, ListForm, mark_of, plain};
use super::fields::{self, is_list};
use super::pack_contract::ContractRow;
use super::task::{PackTask, line};
use crate::diagnostic::Replacement;
use crate::document::patch::{self, PlainValue};
use crate::text::{SourceText, Span, visible};

/// The length limit of a new card's title.
const TITLE_CHARS: usize = 72;

pub(super) struct CardEditor<'a> {
    pub(super) source: &'a SourceText,
    pub(super) cards: &'a Cards,
    newline: &'static str,
}

/// Returns cards for tasks in the layout of new packs, with every field of the contract.
pub(crate) fn new_cards<'t>(tasks: impl Iterator<Item = &'t PackTask>) -> String {
    let (source, cards) = (SourceText::new(""), Cards::default());
    let editor = CardEditor::new(&source, &cards);
    tasks.map(|task| format!("{}\n", editor.new_card(None, task))).collect()
}

/// Returns a refusal with the help for all of them.
pub(super) fn refuse(span: Span, message: String) -> CannotFollow {
    CannotFollow {
        span,
        message,
        help: "edit that place by hand so that card and contract say the same; `planwright tasks cards PLAN_FILE --check` \
               shows all such places, and `--write` rewrites the cards"
            .to_owned(),
    }
}

/// Returns the message for a task that is mentioned among the cards, but has none.
pub(super) fn stray_message(task: &str) -> String {
    format!("the cards mention `{}` in a form that cannot be read", visible(task))
}

impl<'a> CardEditor<'a> {
    pub(super) fn new(source: &'a SourceText, cards: &'a Cards) -> Self {
        let newline = source.newline().as_str();
        CardEditor { source, cards, newline }
    }

    pub(super) fn apply(&self, edits: &[Replacement]) -> Result<SourceText, CannotFollow> {
        let text = patch::apply(self.source, edits).map_err(|refusal| {
            let span = refusal.span().unwrap_or(self.cards.body);
            refuse(span, format!("the cards cannot be changed: {refusal}"))
        })?;
        Ok(SourceText::new(text))
    }

    /// Returns the only card of a task; none if it has none.
    pub(super) fn card_of(&self, task: &str) -> Result<Option<&Card>, CannotFollow> {
        let mut own = self.cards.of(task);
        match (own.next(), own.next()) {
            (None, _) => match self.cards.stray_mention(task) {
                None => Ok(None),
                Some(span) => Err(refuse(span, stray_message(task))),
            },
            (Some(only), None) => Ok(Some(only)),
            (Some(_), Some(second)) => Err(refuse(second.id, format!("`{}` has two cards", visible(task)))),
        }
    }

    /// Adds the edits that update a card after a change of its task.
    pub(super) fn change(
        &self,
        card: &Card,
        old: &ContractRow,
        new: &ContractRow,
        edits: &mut Vec<Replacement>,
    ) -> Result<(), CannotFollow> {
        if let (Some(old), Some(new)) = (&old.id, &new.id)
            && old != new
        {
            edits.push(Replacement::new(card.id, new.as_str()));
        }
        for name in fields::names() {
            let (old, new) = (old.task.get(name), new.task.get(name));
            if old == new {
                continue;
            }
            let mut own = card.fields.iter().filter(|field| field.name == name);
            let field = own.next();
            if let Some(second) = own.next() {
                let message = format!("the card of `{}` has `{name}` twice", visible(&card.task));
                return Err(refuse(second.name_span, message));
            }
            match field {
                Some(field) => self.change_field(card, field, old, new, edits)?,
                // The first line of a card already names its task.
                None if name == "task_id" => {}
                None => {
                    if let Some(span) = card.stray_field(self.source, name) {
                        let task = visible(&card.task);
                        let message = format!("the card of `{task}` mentions `{name}` in a way that cannot be edited");
                        return Err(refuse(span, message));
                    }
                }
            }
        }
        Ok(())
    }

    fn change_field(
        &self,
        card: &Card,
        field: &CardField,
        old: Option<&PlainValue>,
        new: Option<&PlainValue>,
        edits: &mut Vec<Replacement>,
    ) -> Result<(), CannotFollow> {
        if field.agrees(self.source, new) {
            return Ok(());
        }
        if !field.agrees(self.source, old) {
            let (name, task) = (field.name, visible(&card.task));
            let message = format!("the card of `{task}` and the contract differ in `{name}`");
            return Err(refuse(field.name_span, message));
        }
        edits.push(self.set_field(card, field, new));
        Ok(())
    }

    /// Returns the edit that sets a field of a card to the contract's value.
    pub(super) fn set_field(&self, card: &Card, field: &CardField, new: Option<&PlainValue>) -> Replacement {
        match new {
            None | Some(PlainValue::Null) => Replacement::delete(field.lines),
            Some(value) => {
                let text = self.value_text(Some(card), Some(field), field.name, value);
                match text.strip_prefix(' ') {
                    // The white space around the value on the line stays.
                    Some(text) if field.items.is_empty() && !field.inline.is_empty() => {
                        Replacement::new(field.inline, text)
                    }
                    _ => Replacement::new(Span::new(field.colon_end, field.end), text),
                }
            }
        }
    }

    /// Returns the text after a field's colon.
    fn value_text(&self, card: Option<&Card>, own: Option<&CardField>, name: &str, value: &PlainValue) -> String {
        let PlainValue::Array(items) = value else {
            let text = line(value);
            let mark = own.map_or("", |own| mark_of(self.source.slice(own.inline)));
            return match text.as_str() {
                "" => String::new(),
                text if text.contains(mark) && !mark.is_empty() => format!(" {text}"),
                text => format!(" {mark}{text}{mark}"),
            };
        };
        let items: Vec<String> = items.iter().map(line).collect();
        self.list_text(card, own, name, &items)
    }

    fn list_text(&self, card: Option<&Card>, own: Option<&CardField>, name: &str, items: &[String]) -> String {
        if items.is_empty() {
            return format!(" {}", self.empty_word(name));
        }
        let filled = |field: &&CardField| field.form(self.source) != ListForm::Empty;
        let like = own.filter(filled).or_else(|| self.example(card, name));
        let form = like.map_or(ListForm::Lines, |like| like.form(self.source));
        // Names are written differently from paths: the marks of items depend on their field.
        let mark = like.filter(|like| like.name == name).map_or("", |like| {
            let written = like.written_items(self.source);
            written.first().map_or("", |first| mark_of(first))
        });
        let marked = |item: &String| match item.contains(mark) {
            true if !mark.is_empty() => item.clone(),
            _ => format!("{mark}{item}{mark}"),
        };
        let is_one_line = !items.iter().any(|item| item.contains([',', '，', '、']));
        let inline = like.map_or("", |like| self.source.slice(like.inline));
        match form {
            ListForm::Brackets | ListForm::Commas if is_one_line => {
                let separator = separator_of(inline);
                let joined = items.iter().map(marked).collect::<Vec<_>>().join(separator);
                match form {
                    ListForm::Brackets => format!(" [{joined}]"),
                    _ => format!(" {joined}"),
                }
            }
            _ => self.item_lines(own.or(like), like, items, marked),
        }
    }

    /// Returns a line for each item; existing ones stay unchanged.
    fn item_lines(
        &self,
        own: Option<&CardField>,
        like: Option<&CardField>,
        items: &[String],
        marked: impl Fn(&String) -> String,
    ) -> String {
        let lead = match like.and_then(|like| like.items.first()) {
            Some(item) => self
                .source
                .slice(Span::new(item.line.start as usize, item.content.start as usize))
                .to_owned(),
            None => {
                let line = own.map(|own| self.source.slice(own.prefix));
                let indent = line.map(|line| &line[..line.len() - line.trim_start().len()]);
                let default = if self.cards.has_headings { "" } else { "  " };
                format!("{}  - ", indent.unwrap_or(default))
            }
        };
        let mut text = String::new();
        for item in items {
            let there = own.into_iter().flat_map(|own| &own.items);
            let line = there
                .map(|old| (self.source.slice(old.content), self.source.slice(old.line)))
                .find(|(content, _)| plain(content) == plain(item))
                .map_or_else(|| format!("{lead}{}", marked(item)), |(_, line)| line.to_owned());
            text.push_str(self.newline);
            text.push_str(&line);
        }
        text
    }

    /// Returns the notation of an empty list in these cards.
    fn empty_word(&self, name: &str) -> &str {
        let fields = self.cards.cards.iter().filter_map(|card| card.field(name));
        let is_empty = |field: &&CardField| field.form(self.source) == ListForm::Empty && !field.inline.is_empty();
        let mut found = fields.filter(is_empty).map(|field| self.source.slice(field.inline));
        found.next().unwrap_or("[]")
    }

    /// Returns a list as an example of the notation: of the same field, otherwise of the same card, otherwise any.
    fn example(&self, card: Option<&Card>, name: &str) -> Option<&CardField> {
        let filled = |field: &&CardField| is_list(field.name) && field.form(self.source) != ListForm::Empty;
        let all = || self.cards.cards.iter();
        let near = || card.into_iter().flat_map(|card| self.cards.of(&card.task));
        near()
            .chain(all())
            .filter_map(|card| card.field(name))
            .find(filled)
            .or_else(|| near().chain(all()).flat_map(|card| &card.fields).find(filled))
    }

    /// Adds the edits that remove a card, with the rule or the blank lines after it.
    pub(super) fn remove(&self, card: &Card, edits: &mut Vec<Replacement>) {
        let cards = &self.cards.cards;
        let is_followed = cards.iter().any(|next| next.span.start == card.span.end);
        let before = cards.iter().find(|before| before.span.end == card.span.start);
        let span = match before {
            Some(before) if !is_followed => Span::new(before.content_end, card.content_end),
            _ => card.span,
        };
        edits.push(Replacement::delete(span));
    }

    /// Adds the edits that insert a task's card after that of the previous task, or before that of the next.
    pub(super) fn add<'c>(
        &self,
        rows: &[ContractRow],
        ix: usize,
        card_at: impl Fn(usize) -> Option<&'c Card>,
        edits: &mut Vec<Replacement>,
    ) {
        let after = (0..ix).rev().find_map(&card_at);
        let before = || (ix + 1..rows.len()).find_map(&card_at);
        let Some(template) = after.or_else(before).filter(|_| rows[ix].id.is_some()) else {
            return;
        };
        let card = self.new_card(Some(template), &rows[ix].task);
        let gap = self.gap();
        edits.push(match after {
            Some(after) => Replacement::insert(Span::at(after.content_end).start, format!("{gap}{card}")),
            None => Replacement::insert(template.span.start, format!("{card}{gap}")),
        });
    }

    /// Returns the text between two cards.
    fn gap(&self) -> String {
        let pairs = self.cards.cards.windows(2);
        let gap = pairs
            .filter(|pair| pair[0].span.end == pair[1].span.start)
            .map(|pair| Span::new(pair[0].content_end, pair[1].span.start as usize))
            .next();
        gap.map_or_else(|| self.newline.repeat(2), |gap| self.source.slice(gap).to_owned())
    }

    /// Returns a new card of a task, with another one as a template.
    fn new_card(&self, template: Option<&Card>, task: &PackTask) -> String {
        let mut text = self.new_head(template, task);
        let mut others = template.into_iter().chain(&self.cards.cards);
        let like = others.find(|card| !card.fields.is_empty());
        let first = like.and_then(|card| card.fields.first());
        let (prefix, colon) = match first {
            Some(first) => {
                let colon = Span::new(first.name_span.end as usize, first.colon_end);
                (self.source.slice(first.prefix), self.source.slice(colon))
            }
            None if self.cards.has_headings => ("- ", ":"),
            None => ("  ", ":"),
        };
        // Headings usually have a blank line below them.
        if let Some((card, first)) = like.zip(first) {
            let above = Span::new(card.head.end as usize, first.prefix.start as usize);
            let above = self.source.slice(above);
            if above.trim().is_empty() {
                text.push_str(above.strip_suffix(self.newline).unwrap_or(""));
            }
        }
        let listed = like.into_iter().flat_map(|card| &card.fields).map(|field| field.name);
        let is_other = |name: &&str| *name != "task_id" && like.is_none_or(|card| card.field(name).is_none());
        for name in listed.chain(task.names().filter(is_other)) {
            let value = task.get(name);
            if let Some(value) = value.filter(|value| !matches!(value, PlainValue::Null | PlainValue::Object(_))) {
                let value = self.value_text(like.or(template), None, name, value);
                text.push_str(&format!("{}{prefix}{name}{colon}{value}", self.newline));
            }
        }
        text
    }

    fn new_head(&self, template: Option<&Card>, task: &PackTask) -> String {
        let Some(template) = template else {
            return format!("- {}", task.line("task_id"));
        };
        let (head, own) = (template.head, template.id);
        let id = task.text("task_id");
        let before = self.source.slice(Span::new(head.start as usize, own.start as usize));
        let after = self.source.slice(Span::new(own.end as usize, head.end as usize));
        let n_marks = after.len() - after.trim_start_matches(|c: char| !c.is_alphanumeric()).len();
        if n_marks == after.len() {
            return format!("{before}{id}{after}");
        }
        let mark = match before.contains("**") && !after[..n_marks].contains("**") {
            true => "**",
            false => "",
        };
        let title = cut(&task.line("goal"), TITLE_CHARS);
        format!("{before}{id}{}{title}{mark}", &after[..n_marks])
    }

    /// Adds the edits that reorder the cards by `order`.
    pub(super) fn permute(&self, order: &[usize], edits: &mut Vec<Replacement>) -> Result<(), CannotFollow> {
        let cards = &self.cards.cards;
        let body = |card: &Card| Span::new(card.span.start as usize, card.content_end);
        let moved: Vec<usize> = (0..order.len()).filter(|&place| order[place] != place).collect();
        let (Some(&first), Some(&last)) = (moved.first(), moved.last()) else {
            return Ok(());
        };
        for pair in cards[first..=last].windows(2) {
            if pair[0].span.end != pair[1].span.start {
                let span = Span::new(pair[0].span.end as usize, pair[1].span.start as usize);
                let message = "cannot reorder the cards: other text is between them".to_owned();
                return Err(refuse(Span::at(span.start as usize), message));
            }
        }
        for place in moved {
            let text = self.source.slice(body(&cards[order[place]]));
            edits.push(Replacement::new(body(&cards[place]), text));
        }
        Ok(())
    }
}

/// Returns the separator of the items of a list on one line.
fn separator_of(inline: &str) -> &'static str {
    match inline.find([',', '，', '、']).map(|at| &inline[at..]) {
        Some(rest) if rest.starts_with('、') => "、",
        Some(rest) if rest.starts_with('，') => "，",
        Some(rest) if !rest.starts_with(", ") => ",",
        _ => ", ",
    }
}
