//! The edits of one task line: its box, its text, the lines below it.

use super::super::details::{self, DetailText};
use super::super::ids;
use super::super::lines::{bullet_len, line_start};
use super::super::tags::{self, NEEDS};
use super::super::task_line::TaggedLine;
use super::super::variant::Variant;
use crate::diagnostic::Replacement;
use crate::document::patch::{CollectionChange, PatchRefusal, PlainValue};
use crate::text::{SourceText, Span};

/// The edits of a file, and its conventions.
pub(super) struct LineEdits<'s> {
    pub(super) source: &'s SourceText,
    pub(super) variant: Variant,
    pub(super) newline: &'static str,
    pub(super) edits: Vec<Replacement>,
}

fn no_form(reason: &'static str, span: Span) -> PatchRefusal {
    PatchRefusal::NoForm { reason, span }
}

/// Returns the text of a value.
pub(super) fn text_of(value: &PlainValue, span: Span) -> Result<&str, PatchRefusal> {
    match value {
        PlainValue::String(text) => Ok(text),
        _ => Err(no_form("only text can stand here", span)),
    }
}

/// Returns the texts of a list.
pub(super) fn texts_of(value: &PlainValue, span: Span) -> Result<Vec<String>, PatchRefusal> {
    match value {
        PlainValue::Array(items) => items.iter().map(|item| Ok(text_of(item, span)?.to_owned())).collect(),
        _ => Err(no_form("only a list of texts can stand here", span)),
    }
}

impl<'s> LineEdits<'s> {
    pub(super) fn of(source: &'s SourceText, variant: Variant) -> Self {
        LineEdits {
            source,
            variant,
            newline: source.newline().as_str(),
            edits: Vec::new(),
        }
    }
}

impl LineEdits<'_> {
    pub(super) fn replace(&mut self, span: Span, text: impl Into<String>) {
        self.edits.push(Replacement::new(span, text));
    }

    /// Replaces a text that is a member of a task line itself.
    pub(super) fn set_scalar(&mut self, line: &TaggedLine, key: &str, value: &PlainValue) -> Result<(), PatchRefusal> {
        let text = text_of(value, line.item.line)?;
        match (key, line.tags.id) {
            ("status", _) => match text {
                " " | "x" | "X" | "-" => self.replace(line.item.mark, text),
                _ => return Err(no_form("a box holds a space or an x", line.item.mark)),
            },
            ("id", Some(id)) => {
                self.refuse_id(text, id)?;
                self.replace(id, text);
            }
            ("title", _) => {
                let title = self.title(text, line.tags.id.is_some(), line.tags.title)?;
                self.replace(line.tags.title, title);
            }
            ("description", _) => {
                let about = line.details.description.as_ref();
                let about = about.ok_or_else(|| no_form("there is no description", line.item.line))?;
                if line.details.is_description_split {
                    return Err(no_form(
                        "other lines stand between those of the description",
                        about.lines,
                    ));
                }
                let lines = self.description(text, line)?;
                self.replace(about.lines, lines.join(self.newline));
            }
            _ => return Err(no_form("this part of a task line is edited by hand", line.item.line)),
        }
        Ok(())
    }

    fn refuse_id(&self, id: &str, span: Span) -> Result<(), PatchRefusal> {
        let len = match self.variant {
            Variant::Own => ids::is_own_id(id).then_some(id.len()),
            Variant::SpecKit => ids::spec_kit_id(id),
            Variant::OpenSpec | Variant::Kiro => ids::number_id(&format!("{id}.  ")).or_else(|| ids::number_id(id)),
            Variant::Plain => None,
        };
        match len == Some(id.len()) {
            true => Ok(()),
            false => Err(no_form(
                "the ids of this file have another form; `planwright set TASK title=…` changes a title",
                span,
            )),
        }
    }

    /// Returns the text of a title in the file.
    pub(super) fn title(&self, title: &str, has_id: bool, span: Span) -> Result<String, PatchRefusal> {
        if !details::is_line(title) {
            return Err(no_form("a title is one line, without white space around it", span));
        }
        Ok(match self.variant {
            Variant::Own => tags::escaped_title(title, has_id),
            _ => title.to_owned(),
        })
    }

    /// Returns the indentation of the lines below a task.
    pub(super) fn inner_indent(&self, line: &TaggedLine) -> String {
        let text = self.source.as_str();
        let start = line.item.line.start as usize;
        let outer = &text[line_start(text, start)..start];
        let outer = outer.trim_start_matches('\u{feff}');
        let bullet = bullet_len(self.source.slice(line.item.line)).unwrap_or(2).clamp(2, 4);
        format!("{outer}{}", " ".repeat(bullet))
    }

    fn description(&self, text: &str, line: &TaggedLine) -> Result<Vec<String>, PatchRefusal> {
        if !details::is_description(text) {
            return Err(no_form(
                "a description cannot begin or end with white space, or hold control characters",
                line.item.line,
            ));
        }
        let indent = self.inner_indent(line);
        Ok(indented(&indent, details::description_lines(text)))
    }

    /// Inserts lines after an offset, which is the end of a line.
    pub(super) fn insert_lines(&mut self, after: u32, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{}{line}", self.newline)).collect();
        self.replace(Span::at(after as usize), text);
    }

    /// Removes whole lines with the line break before them.
    pub(super) fn remove_lines(&mut self, lines: Span) {
        let before = self.end_of_line_before(lines.start as usize);
        self.replace(Span::new(before, lines.end as usize), "");
    }

    /// Returns the end of the line before an offset, without its line break.
    pub(super) fn end_of_line_before(&self, at: usize) -> usize {
        let text = &self.source.as_str()[..at];
        let text = text.strip_suffix('\n').unwrap_or(text);
        text.strip_suffix('\r').unwrap_or(text).len()
    }

    /// Adds a member to a task line.
    pub(super) fn add_member(&mut self, line: &TaggedLine, key: &str, value: &PlainValue) -> Result<(), PatchRefusal> {
        let end = line.item.line;
        match (key, self.variant) {
            ("id", Variant::Own) => {
                let id = text_of(value, end)?;
                self.refuse_id(id, end)?;
                self.replace(Span::at(line.item.text.start as usize), format!("{id}: "));
            }
            ("id", _) => {
                return Err(no_form(
                    "tasks of this file are named by their text: it has no ids",
                    end,
                ));
            }
            ("needs", _) => self.add_needs(line, &texts_of(value, end)?)?,
            ("description", _) => {
                let lines = self.description(text_of(value, end)?, line)?;
                self.insert_lines(end.end, &lines);
            }
            ("criteria", Variant::Own) => self.add_criteria(line, &texts_of(value, end)?)?,
            ("criteria", _) => {
                return Err(no_form(
                    "tasks of this file have no lines of their own for criteria: set the description",
                    end,
                ));
            }
            ("files", _) => self.add_files(line, &texts_of(value, end)?)?,
            ("parallel", Variant::SpecKit | Variant::Kiro | Variant::Plain) if *value == PlainValue::Bool(true) => {
                let tag = if self.variant == Variant::Kiro { "(P) " } else { "[P] " };
                self.replace(Span::at(line.tags.story.unwrap_or(line.tags.title).start as usize), tag);
            }
            _ => return Err(no_form("this part of a task line is edited by hand", end)),
        }
        Ok(())
    }

    fn add_needs(&mut self, line: &TaggedLine, needs: &[String]) -> Result<(), PatchRefusal> {
        let list = self.needs(needs, line)?;
        match self.variant {
            Variant::Kiro => {
                let indent = self.inner_indent(line);
                self.insert_lines(line.span().end, &[format!("{indent}- {list}")]);
            }
            _ => self.replace(Span::at(line.item.text.end as usize), format!(" {list}")),
        }
        Ok(())
    }

    /// Returns dependencies as the variant writes them.
    pub(super) fn needs(&self, needs: &[String], line: &TaggedLine) -> Result<String, PatchRefusal> {
        let list = needs.join(", ");
        let is_item = |item: &String| details::is_line(item) && !item.contains([',', '(', ')']);
        if !needs.iter().all(is_item) {
            return Err(no_form("a dependency is the id of a task", line.item.line));
        }
        match self.variant {
            Variant::Own => Ok(format!("({NEEDS} {list})")),
            Variant::SpecKit => Ok(format!("(depends on {list})")),
            Variant::Kiro => Ok(format!("_Depends: {list}_")),
            Variant::OpenSpec | Variant::Plain => Err(no_form(
                "this form has no dependencies: the order of the lines decides; `planwright import` makes a plan with ids and dependencies of it",
                line.item.line,
            )),
        }
    }

    fn criterion(&self, text: &str, line: &TaggedLine) -> Result<String, PatchRefusal> {
        match details::is_line(text) {
            true => Ok(details::criterion_text(text)),
            false => Err(no_form(
                "a criterion is one line, without white space around it",
                line.item.line,
            )),
        }
    }

    fn add_criteria(&mut self, line: &TaggedLine, criteria: &[String]) -> Result<(), PatchRefusal> {
        if criteria.is_empty() {
            return Err(no_form(
                "an empty list cannot be written: remove the field",
                line.item.line,
            ));
        }
        let indent = self.inner_indent(line);
        let lines = criteria
            .iter()
            .map(|text| Ok(format!("{indent}- {}", self.criterion(text, line)?)));
        let lines: Vec<String> = lines.collect::<Result<_, PatchRefusal>>()?;
        let after = line
            .details
            .description
            .as_ref()
            .filter(|_| !line.details.is_description_split);
        self.insert_lines(after.map_or(line.item.line.end, |about| about.lines.end), &lines);
        Ok(())
    }

    /// Returns the line of files, without indentation.
    fn files(&self, files: &[String], line: &TaggedLine) -> Result<String, PatchRefusal> {
        match !files.is_empty() && files.iter().all(|file| details::is_file(file)) {
            true => Ok(format!("- files: {}", files.join(", "))),
            false => Err(no_form(
                "the names of files stand in one line, with commas between them",
                line.item.line,
            )),
        }
    }

    fn add_files(&mut self, line: &TaggedLine, files: &[String]) -> Result<(), PatchRefusal> {
        let text = format!("{}{}", self.inner_indent(line), self.files(files, line)?);
        self.insert_lines(line.span().end, &[text]);
        Ok(())
    }

    /// Removes a member of a task line.
    pub(super) fn remove_member(&mut self, line: &TaggedLine, key: &str) -> Result<(), PatchRefusal> {
        match key {
            "needs" => self.remove_needs(line),
            "description" if !line.details.is_description_split => {
                if let Some(about) = &line.details.description {
                    self.remove_lines(about.lines);
                }
            }
            "criteria" => line
                .details
                .criteria
                .iter()
                .for_each(|criterion| self.remove_lines(criterion.lines)),
            "files" => {
                if let Some(files) = &line.details.files {
                    self.remove_lines(files.lines);
                }
            }
            "parallel" => {
                if let Some(tag) = line.tags.parallel {
                    let rest = &self.source.as_str()[tag.end as usize..];
                    let n_space = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                    self.replace(Span::new(tag.start as usize, tag.end as usize + n_space), "");
                }
            }
            _ => return Err(no_form("this part of a task line is edited by hand", line.item.line)),
        }
        Ok(())
    }

    fn remove_needs(&mut self, line: &TaggedLine) {
        if let Some((clause, _)) = &line.tags.needs {
            self.replace(Span::new(line.tags.title.end as usize, clause.end as usize), "");
        } else if let Some(depends) = &line.details.depends {
            self.remove_lines(depends.lines);
        }
    }

    /// Changes the list of dependencies.
    pub(super) fn change_needs(&mut self, line: &TaggedLine, needs: &[String]) -> Result<(), PatchRefusal> {
        if needs.is_empty() {
            self.remove_needs(line);
            return Ok(());
        }
        let items = line.needs();
        let (Some(first), Some(last)) = (items.first(), items.last()) else {
            return self.add_needs(line, needs);
        };
        self.needs(needs, line)?;
        let old: Vec<&str> = items.iter().map(|item| self.source.slice(*item)).collect();
        match () {
            () if old.len() == needs.len() => {
                let pairs = items.iter().zip(old.iter().zip(needs));
                for (item, (_, new)) in pairs.filter(|(_, (old, new))| old != new) {
                    self.replace(*item, new.as_str());
                }
            }
            () if needs.iter().zip(&old).all(|(new, old)| new == old) && needs.len() > old.len() => {
                let added = &needs[old.len()..];
                self.replace(Span::at(last.end as usize), format!(", {}", added.join(", ")));
            }
            () => self.replace(first.to(*last), needs.join(", ")),
        }
        Ok(())
    }

    /// Changes the line of files.
    pub(super) fn change_files(&mut self, line: &TaggedLine, files: &[String]) -> Result<(), PatchRefusal> {
        let Some(list) = &line.details.files else {
            return self.add_files(line, files);
        };
        if files.is_empty() {
            self.remove_lines(list.lines);
            return Ok(());
        }
        self.files(files, line)?;
        let old: Vec<&str> = list.items.iter().map(|item| self.source.slice(*item)).collect();
        if old.len() == files.len() {
            let changed = list
                .items
                .iter()
                .zip(old)
                .zip(files)
                .filter(|((_, old), new)| old != new);
            for ((item, _), new) in changed {
                self.replace(*item, new.as_str());
            }
            return Ok(());
        }
        let (Some(first), Some(last)) = (list.items.first(), list.items.last()) else {
            return Ok(());
        };
        let bytes = self.source.as_str().as_bytes();
        let is_quoted = |at: usize| bytes.get(at) == Some(&b'`');
        let (starts_quoted, ends_quoted) = (is_quoted(first.start as usize - 1), is_quoted(last.end as usize));
        let quote = if starts_quoted { "`" } else { "" };
        let written: Vec<String> = files.iter().map(|file| format!("{quote}{file}{quote}")).collect();
        let start = first.start as usize - usize::from(starts_quoted);
        let end = last.end as usize + usize::from(ends_quoted);
        self.replace(Span::new(start, end), written.join(", "));
        Ok(())
    }

    /// Adds, removes and replaces criteria.
    pub(super) fn change_criteria(
        &mut self,
        line: &TaggedLine,
        change: Option<&CollectionChange<'_>>,
        new_texts: &[(usize, &PlainValue)],
    ) -> Result<(), PatchRefusal> {
        let criteria: &[DetailText] = &line.details.criteria;
        for (place, value) in new_texts {
            if let Some(criterion) = criteria.get(*place) {
                let text = self.criterion(text_of(value, criterion.span)?, line)?;
                self.replace(criterion.span, text);
            }
        }
        let Some(change) = change else {
            return Ok(());
        };
        for place in &change.removed {
            if let Some(criterion) = criteria.get(*place) {
                self.remove_lines(criterion.lines);
            }
        }
        let text = self.source.as_str();
        let indent = criteria.first().map(|first| {
            let start = first.lines.start as usize;
            let line = &text[start..first.lines.end as usize];
            line[..line.len() - line.trim_start().len()].to_owned()
        });
        let indent = indent.unwrap_or_else(|| self.inner_indent(line));
        for (slot, new) in &change.inserted {
            let after = match slot.checked_sub(1).and_then(|before| criteria.get(before)) {
                Some(before) => before.lines.end as usize,
                None => criteria.first().map_or(line.item.line.end as usize, |first| {
                    self.end_of_line_before(first.lines.start as usize)
                }),
            };
            for child in new {
                let text = self.criterion(text_of(child.value, line.item.line)?, line)?;
                self.insert_lines(after as u32, &[format!("{indent}- {text}")]);
            }
        }
        Ok(())
    }
}

/// Indents the lines that are not empty.
pub(super) fn indented(indent: &str, lines: Vec<String>) -> Vec<String> {
    let indented = lines.into_iter().map(|line| match line.is_empty() {
        true => line,
        false => format!("{indent}{line}"),
    });
    indented.collect()
}
