//! Task lines that come and go: a new one copies bullet, indentation, numbering and mark of its neighbours.

use super::super::details;
use super::super::lines::{bullet_len, line_start};
use super::super::task_line::TaggedLine;
use super::super::variant::Variant;
use super::element::{LineEdits, indented, text_of, texts_of};
use crate::document::patch::{CollectionChange, PatchRefusal, PlainValue};
use crate::text::Span;

/// The remaining lines around the place of a new one.
#[derive(Clone, Copy)]
pub(super) struct NewPlace {
    pub(super) before: Option<usize>,
    pub(super) next: Option<usize>,
}

impl LineEdits<'_> {
    /// Adds and removes task lines.
    pub(super) fn change_tasks(
        &mut self,
        found: &[TaggedLine],
        change: &CollectionChange<'_>,
    ) -> Result<(), PatchRefusal> {
        let new: Vec<&PlainValue> = change.inserted.values().flatten().map(|child| child.value).collect();
        if let ([new], [only]) = (new.as_slice(), found)
            && change.removed.contains(&0)
        {
            let start = line_start(self.source.as_str(), only.item.line.start as usize).max(self.source.bom_len());
            let text = self.task_text(only, new, 0)?;
            self.replace(Span::new(start, only.span().end as usize), text);
            return Ok(());
        }
        for &place in &change.removed {
            let Some(line) = found.get(place) else {
                continue;
            };
            let siblings = found
                .iter()
                .enumerate()
                .filter(|(_, other)| other.parent == line.parent);
            let has_sibling = siblings.into_iter().any(|(ix, _)| !change.removed.contains(&ix));
            if line.parent.is_some() && !has_sibling {
                return Err(PatchRefusal::NoForm {
                    reason: "it is the only task of its group, which would become a task: remove the group by hand",
                    span: line.item.line,
                });
            }
            self.remove_task(line);
        }
        for (&slot, children) in &change.inserted {
            let is_kept = |ix: &usize| !change.removed.contains(ix);
            let place = NewPlace {
                before: (0..slot).rev().find(is_kept),
                next: (slot..found.len()).find(is_kept),
            };
            for (n_before, child) in children.iter().enumerate() {
                let model_ix = self.model_of(found, place, child.beside)?;
                self.insert_task(found, place, model_ix, child.value, n_before + 1)?;
            }
        }
        Ok(())
    }

    /// Returns the line whose level and form a new one gets.
    fn model_of(&self, found: &[TaggedLine], place: NewPlace, beside: Option<usize>) -> Result<usize, PatchRefusal> {
        let NewPlace { before, next } = place;
        let outermost = |ix: usize| std::iter::successors(Some(ix), |ix| found[*ix].parent).last();
        let model = match (beside, next) {
            (Some(_), _) => beside,
            // At the end, it belongs to no group, unless numbers say so.
            (None, None) if !self.variant.is_numbered() => before.and_then(outermost),
            _ => before.filter(|before| next.is_none_or(|next| found[next].parent != Some(*before))),
        };
        let missing = PatchRefusal::NoForm {
            reason: "there is no task line to copy the form from",
            span: self.source.span(),
        };
        model.or(next).filter(|ix| *ix < found.len()).ok_or(missing)
    }

    pub(super) fn remove_task(&mut self, line: &TaggedLine) {
        let text = self.source.as_str();
        let span = line.span();
        let start = line_start(text, span.start as usize).max(self.source.bom_len());
        let rest = &text[span.end as usize..];
        let next = rest.split_once('\n').map(|(_, next)| next);
        let is_followed_by_blank =
            next.is_none_or(|next| next.lines().next().is_none_or(|line| line.trim().is_empty()));
        if start == self.source.bom_len() {
            let end = rest.find('\n').map_or(text.len(), |at| span.end as usize + at + 1);
            self.replace(Span::new(start, end), "");
            return;
        }
        let mut before = self.end_of_line_before(start);
        if is_followed_by_blank {
            // One of two blank lines goes with the task between them.
            while before > self.source.bom_len() && text[..before].ends_with('\n') {
                before = self.end_of_line_before(before);
            }
        }
        self.replace(Span::new(before, span.end as usize), "");
    }

    fn insert_task(
        &mut self,
        found: &[TaggedLine],
        place: NewPlace,
        model_ix: usize,
        value: &PlainValue,
        n_after: usize,
    ) -> Result<(), PatchRefusal> {
        let text = self.source.as_str();
        let model = &found[model_ix];
        let before = place.before.map(|ix| &found[ix]);
        let new = self.task_text(model, value, n_after)?;
        let gap = if is_loose(text, found, place) { self.newline } else { "" };
        match before.filter(|_| place.next != Some(model_ix)) {
            Some(before) => {
                let at = Span::at(before.span().end as usize);
                self.replace(at, format!("{}{gap}{new}", self.newline));
            }
            None => {
                let at = line_start(text, model.item.line.start as usize).max(self.source.bom_len());
                self.replace(Span::at(at), format!("{new}{}{gap}", self.newline));
            }
        }
        Ok(())
    }

    /// Returns the lines of a new task.
    fn task_text(&self, model: &TaggedLine, value: &PlainValue, n_after: usize) -> Result<String, PatchRefusal> {
        let place = model.item.line;
        let member = |key: &str| member(value, key);
        let text = self.source.as_str();
        let start = place.start as usize;
        let outer = text[line_start(text, start)..start].trim_start_matches('\u{feff}');
        let content = self.source.slice(place);
        let bullet = next_bullet(&content[..bullet_len(content).unwrap_or(0)], n_after);
        let status = member("status").map_or(Ok(" "), |status| text_of(status, place))?;
        let star = if member("optional") == Some(&PlainValue::Bool(true)) {
            "*"
        } else {
            ""
        };
        let mut line = format!("{outer}{bullet}[{status}]{star} ");
        if let Some(id) = member("id") {
            line += text_of(id, place)?;
            line += self.id_separator(model);
        }
        if member("parallel") == Some(&PlainValue::Bool(true)) {
            line += if self.variant == Variant::Kiro { "(P) " } else { "[P] " };
        }
        if let Some(story) = member("story") {
            line = format!("{line}[{}] ", text_of(story, place)?);
        }
        let title = member("title").map_or(Ok(""), |title| text_of(title, place))?;
        line += &self.title(title, member("id").is_some(), place)?;
        let mut below = Vec::new();
        let inner = format!("{outer}{}", " ".repeat(bullet.len().clamp(2, 4)));
        if let Some(needs) = member("needs") {
            let needs = texts_of(needs, place)?;
            match (needs.is_empty(), self.variant) {
                (true, _) => {}
                (false, Variant::Kiro) => below.push(format!("- {}", self.needs(&needs, model)?)),
                (false, _) => line = format!("{line} {}", self.needs(&needs, model)?),
            }
        }
        let mut lines = vec![line];
        if let Some(about) = member("description") {
            let about = text_of(about, place)?;
            if !details::is_description(about) {
                return Err(PatchRefusal::NoForm {
                    reason: "a description cannot begin or end with white space, or hold control characters",
                    span: place,
                });
            }
            lines.extend(indented(&inner, details::description_lines(about)));
        }
        for criterion in member("criteria").map_or(Ok(Vec::new()), |list| texts_of(list, place))? {
            if self.variant != Variant::Own || !details::is_line(&criterion) {
                return Err(PatchRefusal::NoForm {
                    reason: "a criterion is one line of a file that planwright wrote",
                    span: place,
                });
            }
            below.push(format!("- {}", details::criterion_text(&criterion)));
        }
        let files = member("files").map_or(Ok(Vec::new()), |list| texts_of(list, place))?;
        if !files.iter().all(|file| details::is_file(file)) {
            return Err(PatchRefusal::NoForm {
                reason: "the names of files stand in one line, with commas between them",
                span: place,
            });
        }
        if !files.is_empty() {
            below.push(format!("- files: {}", files.join(", ")));
        }
        lines.extend(indented(&inner, below));
        Ok(lines.join(self.newline))
    }

    /// Returns what stands between the id and the text of a task line.
    fn id_separator(&self, model: &TaggedLine) -> &str {
        let Some(id) = model.tags.id else {
            return if self.variant == Variant::Own { ": " } else { " " };
        };
        let rest = &self.source.as_str()[id.end as usize..model.item.text.end as usize];
        let n_bytes = rest
            .find(|c: char| !matches!(c, ':' | '.' | ')' | ' ' | '\t'))
            .unwrap_or(rest.len());
        match &rest[..n_bytes] {
            "" => " ",
            separator => separator,
        }
    }
}

/// Returns a member of a new task.
fn member<'v>(value: &'v PlainValue, key: &str) -> Option<&'v PlainValue> {
    match value {
        PlainValue::Object(members) => members.iter().find(|(own, _)| own == key).map(|(_, value)| value),
        _ => None,
    }
}

/// Returns the bullet of a new line: the same, or the next number.
fn next_bullet(bullet: &str, n_after: usize) -> String {
    let n_digits = bullet.bytes().take_while(u8::is_ascii_digit).count();
    match bullet[..n_digits].parse::<usize>() {
        Ok(number) => format!("{}{}", number.saturating_add(n_after), &bullet[n_digits..]),
        Err(_) if bullet.is_empty() => "- ".to_owned(),
        Err(_) if bullet.ends_with([' ', '\t']) => bullet.to_owned(),
        Err(_) => format!("{bullet} "),
    }
}

/// Returns whether blank lines stand between the lines of the group around a place.
pub(super) fn is_loose(text: &str, found: &[TaggedLine], place: NewPlace) -> bool {
    let has_blank = |one: usize, other: usize| {
        let (one, other) = (&found[one], &found[other]);
        let between = text
            .get(one.span().end as usize..other.item.line.start as usize)
            .unwrap_or("");
        one.item.section == other.item.section && between.matches('\n').count() > 1
    };
    let is_peer = |one: usize, other: usize| {
        found[one].item.section == found[other].item.section && found[one].parent == found[other].parent
    };
    match (place.before, place.next) {
        (Some(before), Some(next)) if is_peer(before, next) => has_blank(before, next),
        (Some(before), next) if next.is_none_or(|next| found[next].parent != Some(before)) => {
            before.checked_sub(1).is_some_and(|above| has_blank(above, before))
        }
        (_, Some(next)) => next + 1 < found.len() && has_blank(next, next + 1),
        (_, None) => false,
    }
}
