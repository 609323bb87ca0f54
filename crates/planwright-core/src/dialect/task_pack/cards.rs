//! Reads the section of task cards, in both layouts: headings and bullets. Reports only certain errors.

use std::collections::{HashMap, HashSet};

use super::super::follow_ups::find_word;
use super::super::writer::one_line;
use super::fields::{self, is_list};
use super::task::scalar;
use crate::document::markdown::{Markdown, fence_mark};
use crate::document::patch::PlainValue;
use crate::text::{SourceText, Span};

/// The title of the section with the cards.
pub(super) const CARDS_SECTION: &str = "Task Cards";

/// Notations for an empty list or a missing value.
const NOTHING: [&str; 9] = ["", "[]", "none", "None", "null", "n/a", "N/A", "-", "—"];

#[derive(Default)]
pub(super) struct Cards {
    /// The text after the section's heading; empty without such a section.
    pub(super) body: Span,
    /// The cards, in text order.
    pub(super) cards: Vec<Card>,
    /// Whether cards begin with a heading; otherwise with a bullet.
    pub(super) has_headings: bool,
    by_task: HashMap<String, Vec<usize>>,
    /// Words outside of all cards, each with its first span.
    strays: HashMap<String, Span>,
}

/// The section's text about one task.
#[derive(Clone, Debug)]
pub(super) struct Card {
    pub(super) task: String,
    /// The span of the task's id in its first line.
    pub(super) id: Span,
    /// Its first line, without the line ending.
    pub(super) head: Span,
    /// All of it, with the blank lines and the rule after it.
    pub(super) span: Span,
    /// The end of its last line that is not blank.
    pub(super) content_end: usize,
    /// Its fields, in text order.
    pub(super) fields: Vec<CardField>,
}

#[derive(Clone, Debug)]
pub(super) struct CardField {
    pub(super) name: &'static str,
    pub(super) name_span: Span,
    /// From the start of its line to its name.
    pub(super) prefix: Span,
    /// The end of the colon and its decoration.
    pub(super) colon_end: usize,
    /// The rest of the line; for a text, with its further lines.
    pub(super) inline: Span,
    /// The items on their own lines.
    pub(super) items: Vec<CardItem>,
    /// Its lines, with the last line ending.
    pub(super) lines: Span,
    /// The end of its last line, without the line ending.
    pub(super) end: usize,
    /// Whether items have further lines, which no list of texts has.
    is_odd: bool,
}

/// One item of a list with a line for each.
#[derive(Clone, Copy, Debug)]
pub(super) struct CardItem {
    /// Its line, without the line ending.
    pub(super) line: Span,
    pub(super) content: Span,
}

/// The notation of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListForm {
    /// A word for an empty list, or nothing.
    Empty,
    /// `[a, b]`.
    Brackets,
    /// `a, b`.
    Commas,
    /// A line for each.
    Lines,
}

/// One line of the section.
#[derive(Clone, Copy)]
struct CardLine<'t> {
    start: usize,
    /// Without the line ending.
    end: usize,
    /// With it.
    next: usize,
    text: &'t str,
    is_fenced: bool,
}

impl CardLine<'_> {
    fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Returns whether it is a horizontal rule.
    fn is_rule(&self) -> bool {
        let text = self.text.trim();
        let is_of = |mark: char| text.chars().all(|c| c == mark || c == ' ') && text.matches(mark).count() >= 3;
        !self.is_fenced && !text.is_empty() && (is_of('-') || is_of('*') || is_of('_'))
    }

    fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start_matches([' ', '\t']).len()
    }

    /// Returns the level of a heading.
    fn level(&self) -> Option<usize> {
        let n_marks = self.text.len() - self.text.trim_start_matches('#').len();
        let is_heading = (1..=6).contains(&n_marks) && self.text[n_marks..].starts_with([' ', '\t']);
        (is_heading && !self.is_fenced).then_some(n_marks)
    }
}

impl Cards {
    /// Reads the cards of the tasks with these ids.
    pub(super) fn read(source: &SourceText, ids: &HashSet<&str>) -> Self {
        let section = Markdown::parse(source).section(CARDS_SECTION);
        let body = section.map_or_else(Span::default, |section| section.body);
        let lines = lines_of(source.as_str(), body);
        let headings = heads(&lines, ids, true);
        let has_headings = !headings.is_empty();
        let heads = if has_headings {
            headings
        } else {
            heads(&lines, ids, false)
        };
        let cards: Vec<Card> = heads
            .iter()
            .enumerate()
            .map(|(ix, head)| read_card(source, &lines, head, heads.get(ix + 1), has_headings))
            .collect();
        let mut by_task: HashMap<String, Vec<usize>> = HashMap::new();
        for (ix, card) in cards.iter().enumerate() {
            by_task.entry(card.task.clone()).or_default().push(ix);
        }
        Cards {
            strays: strays(source, body, &cards),
            body,
            cards,
            has_headings,
            by_task,
        }
    }

    /// Returns the cards of a task: one, or none, or too many.
    pub(super) fn of<'c>(&'c self, task: &str) -> impl Iterator<Item = &'c Card> + use<'c> {
        let own: &[usize] = self.by_task.get(task).map_or(&[], Vec::as_slice);
        own.iter().map(|&ix| &self.cards[ix])
    }

    /// Returns where the section names a task outside of all cards.
    pub(super) fn stray_mention(&self, task: &str) -> Option<Span> {
        self.strays.get(task).copied()
    }
}

/// Returns the words between the cards, and also the texts between white space, for ids that are no words.
fn strays(source: &SourceText, body: Span, cards: &[Card]) -> HashMap<String, Span> {
    let mut found = HashMap::new();
    let mut from = body.start as usize;
    let all = cards.iter().map(|card| card.span).chain([Span::at(body.end as usize)]);
    for card in all {
        let gap = source.slice(Span::new(from, card.start as usize));
        for is_part in [is_name_part as fn(char) -> bool, |c: char| !c.is_whitespace()] {
            for (at, word) in words(gap, is_part) {
                let span = Span::new(from + at, from + at + word.len());
                found.entry(word.to_owned()).or_insert(span);
            }
        }
        from = from.max(card.end as usize);
    }
    found
}

impl Card {
    pub(super) fn field(&self, name: &str) -> Option<&CardField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns where the card mentions a field without a line for it, in any spelling.
    pub(super) fn stray_field(&self, source: &SourceText, name: &str) -> Option<Span> {
        let text = source.slice(self.span).to_ascii_lowercase();
        let others: &[&str] = match name {
            "dependencies" => &["dep", "deps", "depends_on"],
            _ => &[],
        };
        let spellings = others
            .iter()
            .chain([&name])
            .flat_map(|name| [(*name).to_owned(), name.replace('_', " "), name.replace('_', "-")]);
        let found = spellings
            .filter_map(|name| find_label(&text, &name))
            .min_by_key(|found| found.start)?;
        let start = self.span.start as usize;
        Some(Span::new(start + found.start, start + found.end))
    }
}

/// Returns the span of a word that is followed by a colon or a bar.
fn find_label(text: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let mut from = 0;
    while let Some(at) = find_word(&text[from..], name) {
        let end = from + at + name.len();
        let rest = text[end..].trim_start_matches(['*', '`', ' ']);
        if rest.starts_with([':', '：', '|']) {
            return Some(end - name.len()..end);
        }
        from = end;
    }
    None
}

impl CardField {
    /// Returns the notation of a list.
    pub(super) fn form(&self, source: &SourceText) -> ListForm {
        let inline = source.slice(self.inline);
        match () {
            () if !self.items.is_empty() => ListForm::Lines,
            () if NOTHING.contains(&inline) => ListForm::Empty,
            () if inline.starts_with('[') && inline.ends_with(']') => ListForm::Brackets,
            () => ListForm::Commas,
        }
    }

    /// Returns the items of a list as they are written.
    pub(super) fn written_items<'t>(&self, source: &'t SourceText) -> Vec<&'t str> {
        let inline = source.slice(self.inline);
        match self.form(source) {
            ListForm::Empty => Vec::new(),
            ListForm::Lines => self.items.iter().map(|item| source.slice(item.content)).collect(),
            ListForm::Brackets => split(&inline[1..inline.len() - 1]),
            ListForm::Commas => split(inline),
        }
    }

    /// Returns whether the field has the contract's value.
    pub(super) fn agrees(&self, source: &SourceText, value: Option<&PlainValue>) -> bool {
        let inline = source.slice(self.inline);
        let is_mixed = self.is_odd || (!self.items.is_empty() && !inline.is_empty());
        if is_list(self.name) {
            let written = self.written_items(source);
            return !is_mixed
                && match value {
                    None | Some(PlainValue::Null) => written.is_empty(),
                    Some(PlainValue::Array(items)) => {
                        let same = |(written, item): (&&str, &PlainValue)| matches!(item, PlainValue::String(item) if [written, bare(written)].iter().any(|written| plain(written) == plain(item)));
                        written.len() == items.len() && written.iter().zip(items).all(same)
                    }
                    Some(_) => false,
                };
        }
        if !self.items.is_empty() {
            return false;
        }
        match value.and_then(scalar) {
            None => NOTHING.contains(&inline),
            Some(text) => plain(inline) == plain(&text) || plain(bare(inline)) == plain(&text),
        }
    }
}

/// Returns a text in the form for comparison: on one line, without backticks.
pub(super) fn plain(text: &str) -> String {
    one_line(&text.replace('`', ""))
}

/// Returns the mark around a whole text, a backtick or a quote; empty for none.
pub(super) fn mark_of(text: &str) -> &'static str {
    ["`", "\"", "'"]
        .into_iter()
        .find(|mark| {
            let inner = text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
            inner.is_some_and(|inner| !inner.is_empty() && !inner.contains(mark))
        })
        .unwrap_or("")
}

/// Returns a text without the mark around it.
fn bare(text: &str) -> &str {
    let n_mark = mark_of(text).len();
    &text[n_mark..text.len() - n_mark]
}

/// Returns the parts of a list on one line.
fn split(text: &str) -> Vec<&str> {
    text.split([',', '，', '、'])
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .collect()
}

/// Returns true for a character that may be part of a longer name.
pub(super) fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// Returns the runs of characters that are part of a word, each with its place.
fn words(text: &str, is_part: fn(char) -> bool) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let pieces = text.split_inclusive(move |c: char| !is_part(c)).map(move |piece| {
        at += piece.len();
        (at - piece.len(), piece.trim_end_matches(|c: char| !is_part(c)))
    });
    pieces.filter(|(_, word)| !word.is_empty())
}

fn lines_of(text: &str, body: Span) -> Vec<CardLine<'_>> {
    let mut next = body.start as usize;
    let mut fence: Option<&str> = None;
    let lines = text[body.range()].split_inclusive('\n').map(|line| {
        let start = next;
        next += line.len();
        let text = line.trim_end_matches(['\n', '\r']);
        let mark = fence_mark(text);
        let is_fenced = fence.is_some() || mark.is_some();
        fence = match (fence, mark) {
            (None, mark) => mark,
            (Some(open), Some(mark)) if mark.starts_with(open) && text.trim() == mark => None,
            (open, _) => open,
        };
        CardLine {
            start,
            end: start + text.len(),
            next,
            text,
            is_fenced,
        }
    });
    lines.collect()
}

/// The first line of a card.
struct CardHeading {
    line_ix: usize,
    id: Span,
    level: usize,
}

fn heads(lines: &[CardLine<'_>], ids: &HashSet<&str>, as_headings: bool) -> Vec<CardHeading> {
    let mut found = Vec::new();
    for (line_ix, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_fenced) {
        let level = line.level();
        let start = match (as_headings, level) {
            (true, Some(level)) if level > 2 => level,
            (false, None) if bullet(line.text).is_some_and(|_| line.indent() == 0) => 1,
            _ => continue,
        };
        let title = line.text[start..].trim_start();
        let at = line.end - title.len();
        let id = if as_headings {
            id_in(title, ids).map(|(id, _)| id)
        } else {
            id_of_bullet(title, ids)
        };
        if let Some(id) = id {
            found.push(CardHeading {
                line_ix,
                id: Span::new(at + id.start, at + id.end),
                level: level.unwrap_or(0),
            });
        }
    }
    found
}

/// Returns what follows the bullet of a line.
fn bullet(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches([' ', '\t']).strip_prefix(['-', '*', '+'])?;
    rest.starts_with([' ', '\t']).then(|| rest.trim_start())
}

/// Returns the id at the start of a title, and the rest.
fn id_in<'t>(title: &'t str, ids: &HashSet<&str>) -> Option<(std::ops::Range<usize>, &'t str)> {
    let marks = |text: &str| text.len() - text.trim_start_matches(['*', '`', '[', ' ']).len();
    let mut start = marks(title);
    for word in ["Task ", "task "] {
        if title[start..].starts_with(word) {
            start += word.len();
            start += marks(&title[start..]);
        }
    }
    let token = &title[start..];
    let ends = |c: char| c.is_whitespace() || ":：—–(（*`]|,;".contains(c);
    let token = &token[..token.find(ends).unwrap_or(token.len())];
    let token = [token, token.trim_end_matches(['.', '-'])]
        .into_iter()
        .find(|token| ids.contains(token))?;
    let end = start + token.len();
    Some((start..end, &title[end..]))
}

/// Returns the id of a bullet that has a task's id and at most a title.
fn id_of_bullet(title: &str, ids: &HashSet<&str>) -> Option<std::ops::Range<usize>> {
    if let Some((_, _, value)) = field_name(title).filter(|(name, ..)| *name == "task_id") {
        let (id, rest) = id_in(&title[value..], ids)?;
        return rest
            .trim_matches(['*', '`', ' '])
            .is_empty()
            .then(|| value + id.start..value + id.end);
    }
    let (id, rest) = id_in(title, ids)?;
    let rest = rest.trim_start_matches(['*', '`', ']', ' ']);
    let has_title = rest.is_empty() || rest.starts_with([':', '：', '—', '–', '-', '(', '（', '|']);
    has_title.then_some(id)
}

/// Returns the field at the start of a text, and the offsets of its name and its value.
fn field_name(text: &str) -> Option<(&'static str, usize, usize)> {
    let start = text.len() - text.trim_start_matches(['*', '`', '_']).len();
    let rest = &text[start..];
    let end = rest
        .find(|c: char| !(c.is_ascii_lowercase() || c == '_'))
        .unwrap_or(rest.len());
    let name = fields::find(|name| name == &rest[..end])?;
    let after = &rest[end..];
    let colon = after.trim_start_matches(['*', '`']);
    let after_colon = colon.strip_prefix(':').or_else(|| colon.strip_prefix('：'))?;
    let value = if start > 0 {
        after_colon.trim_start_matches('*')
    } else {
        after_colon
    };
    Some((name, start, text.len() - value.len()))
}

fn read_card(
    source: &SourceText,
    lines: &[CardLine<'_>],
    head: &CardHeading,
    next: Option<&CardHeading>,
    has_headings: bool,
) -> Card {
    let first = head.line_ix + 1;
    let limit = next.map_or(lines.len(), |next| next.line_ix);
    let ends = |line: &CardLine<'_>| {
        if has_headings {
            line.level().is_some_and(|level| level <= head.level)
        } else {
            !line.is_blank() && !line.is_rule() && line.indent() == 0
        }
    };
    let inner = &lines[first..limit];
    let inner = &inner[..inner.iter().position(ends).unwrap_or(inner.len())];
    let has_content = |line: &&CardLine<'_>| !line.is_blank() && !line.is_rule();
    let n_content = inner.iter().rposition(|line| has_content(&line)).map_or(0, |ix| ix + 1);
    let (content, head_line) = (&inner[..n_content], lines[head.line_ix]);
    Card {
        task: source.slice(head.id).to_owned(),
        id: head.id,
        head: Span::new(head_line.start, head_line.end),
        span: Span::new(head_line.start, inner.last().map_or(head_line.next, |line| line.next)),
        content_end: content.last().map_or(head_line.end, |line| line.end),
        fields: read_fields(content, has_headings),
    }
}

fn read_fields(lines: &[CardLine<'_>], has_headings: bool) -> Vec<CardField> {
    let mut fields: Vec<CardField> = Vec::new();
    let mut own: Option<(usize, bool)> = None;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        let (indent, has_bullet) = (line.indent(), bullet(line.text).is_some());
        let text = bullet(line.text).unwrap_or(line.text.trim_start());
        let begins = line.end - text.len();
        let is_allowed = !line.is_fenced && (has_headings || indent > 0);
        let found = field_name(text).filter(|_| is_allowed && own.is_none_or(|own| own == (indent, has_bullet)));
        let Some((name, start, value)) = found else {
            continue;
        };
        own = Some((indent, has_bullet));
        let n_more = lines[at..]
            .iter()
            .take_while(|line| belongs(line, indent, has_bullet))
            .count();
        let more = &lines[at..at + n_more];
        at += n_more;
        let colon_end = begins + value;
        let name_start = begins + start;
        let last = more.last().unwrap_or(line);
        let items: Vec<CardItem> = more.iter().filter_map(item_of).collect();
        let is_odd = !items.is_empty() && items.len() < more.len();
        let typed = text[value..].trim();
        let inline_start = if typed.is_empty() {
            colon_end
        } else {
            line.end - text[value..].trim_start().len()
        };
        // A text may continue in lines with deeper indentation.
        let inline_end = if items.is_empty() && !more.is_empty() {
            last.start + last.text.trim_end().len()
        } else {
            inline_start + typed.len()
        };
        fields.push(CardField {
            name,
            name_span: Span::new(name_start, name_start + name.len()),
            prefix: Span::new(line.start, name_start),
            colon_end,
            inline: Span::new(inline_start, inline_end),
            items,
            lines: Span::new(line.start, last.next),
            end: last.end,
            is_odd,
        });
    }
    fields
}

/// Returns whether a line continues the field before it.
fn belongs(line: &CardLine<'_>, indent: usize, has_bullet: bool) -> bool {
    let is_item = bullet(line.text).is_some();
    let is_deeper = line.indent() > indent || (line.indent() == indent && is_item && !has_bullet);
    !line.is_blank() && is_deeper
}

fn item_of(line: &CardLine<'_>) -> Option<CardItem> {
    let content = bullet(line.text).filter(|_| !line.is_fenced)?.trim_end();
    let start = line.start + (line.text.trim_end().len() - content.len());
    Some(CardItem {
        line: Span::new(line.start, line.end),
        content: Span::new(start, start + content.len()),
    })
}
