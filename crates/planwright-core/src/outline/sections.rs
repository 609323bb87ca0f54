//! Headings, lists and what is said before them: which lists can be work.

use std::collections::HashMap;

use super::item_text::read_item;
use super::markdown_lines::{Line, LineKind};
use super::names::plain;
use super::phrases::{
    is_asking, is_bold_heading, is_label_of_details, is_option, is_other_heading, is_other_intro, is_phase,
    is_plan_heading, is_plan_sentence, is_revision, is_step_line,
};
use crate::text::Span;

/// A text by its headings and lists.
#[derive(Debug, Default)]
pub(super) struct Scan<'t> {
    pub(super) sections: Vec<Section<'t>>,
    pub(super) items: Vec<ScannedItem<'t>>,
    /// The lines that are neither headings nor tables, items included.
    pub(super) details: Vec<Detail<'t>>,
    /// The lines of each section before its first list.
    pub(super) intros: HashMap<usize, Vec<(&'t str, usize)>>,
    lists: Vec<ListHead<'t>>,
    pub(super) n_sections_with_items: usize,
    /// Whether a list says that it is the plan: then those that do not are something else.
    has_named_plan: bool,
}

#[derive(Debug)]
pub(super) struct Section<'t> {
    level: usize,
    pub(super) title: &'t str,
    pub(super) at: usize,
    pub(super) parent: Option<usize>,
}

impl Section<'_> {
    pub(super) fn span(&self) -> Span {
        Span::new(self.at, self.at + self.title.len())
    }
}

#[derive(Debug)]
pub(super) struct ScannedItem<'t> {
    pub(super) line: Line<'t>,
    pub(super) parent: Option<usize>,
    pub(super) section: Option<usize>,
    pub(super) list: usize,
    /// The lines that continue it.
    pub(super) details: Vec<(&'t str, usize)>,
}

#[derive(Debug)]
pub(super) struct Detail<'t> {
    pub(super) section: Option<usize>,
    pub(super) text: &'t str,
    pub(super) at: usize,
}

#[derive(Debug)]
struct ListHead<'t> {
    section: Option<usize>,
    /// The paragraph before it.
    intro: Option<(&'t str, usize)>,
    is_asking: bool,
    n_items: usize,
    /// How many of its items are one or two words with items below them.
    n_labels: usize,
}

/// The level of a line in bold, which stands for a heading.
const BOLD_LEVEL: usize = 7;

/// Reads lines into headings and lists.
pub(super) fn scan<'t>(lines: &[Line<'t>]) -> Scan<'t> {
    let mut scan = Scan::default();
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut intro: Option<(&'t str, usize)> = None;
    let mut section: Option<usize> = None;
    let mut is_list_open = false;
    let mut was_blank = false;
    for line in lines {
        let kind = match line.kind {
            LineKind::Text if is_bold_heading(line.text) => LineKind::Heading(BOLD_LEVEL),
            LineKind::Text if is_step_line(line.text) => LineKind::Item {
                number: None,
                checkbox: None,
            },
            kind => kind,
        };
        match kind {
            LineKind::Blank | LineKind::TableRow => {}
            LineKind::Heading(level) => {
                let mut parent = section;
                while let Some(own) = parent
                    .and_then(|ix| scan.sections.get(ix))
                    .filter(|own| own.level >= level)
                {
                    parent = own.parent;
                }
                scan.sections.push(Section {
                    level,
                    title: line.text.trim_end(),
                    at: line.at,
                    parent,
                });
                section = Some(scan.sections.len() - 1);
                (is_list_open, intro) = (false, None);
                open.clear();
            }
            LineKind::Item { .. } => {
                if !is_list_open {
                    scan.lists.push(ListHead {
                        section,
                        intro,
                        is_asking: true,
                        n_items: 0,
                        n_labels: 0,
                    });
                    is_list_open = true;
                    open.clear();
                }
                while open.last().is_some_and(|(indent, _)| line.indent <= indent + 1) {
                    open.pop();
                }
                let item = ScannedItem {
                    line: *line,
                    parent: open.last().map(|(_, ix)| *ix),
                    section,
                    list: scan.lists.len() - 1,
                    details: Vec::new(),
                };
                if let Some(list) = scan.lists.last_mut().filter(|_| item.parent.is_none()) {
                    list.is_asking &= item.is_question();
                    list.n_items += 1;
                }
                open.push((line.indent, scan.items.len()));
                scan.items.push(item);
                scan.push_detail(section, line);
            }
            LineKind::Text => {
                let announces = line.indent == 0 && line.text.trim_end().ends_with(':');
                let own = open
                    .last()
                    .filter(|(indent, _)| is_list_open && (!was_blank && !announces || line.indent > *indent));
                match own.and_then(|(_, ix)| scan.items.get_mut(*ix)) {
                    Some(item) => item.details.push((line.text, line.at)),
                    None => {
                        is_list_open = false;
                        intro = Some((line.text, line.at));
                    }
                }
                scan.push_detail(section, line);
            }
        }
        was_blank = kind == LineKind::Blank;
    }
    scan.count_labels();
    let mut with_items: Vec<usize> = scan.items.iter().filter_map(|item| item.section).collect();
    with_items.dedup();
    scan.n_sections_with_items = with_items.len();
    scan.has_named_plan = (0..scan.lists.len()).any(|list| scan.is_named_plan(list));
    scan
}

impl<'t> Scan<'t> {
    fn push_detail(&mut self, section: Option<usize>, line: &Line<'t>) {
        let is_intro = self.items.last().is_none_or(|item| item.section != section);
        if let Some(section) = section.filter(|_| is_intro) {
            self.intros.entry(section).or_default().push((line.text, line.at));
        }
        self.details.push(Detail {
            section,
            text: line.text,
            at: line.at,
        });
    }

    /// Counts the items of each list that are labels of those below them.
    fn count_labels(&mut self) {
        let mut parents: Vec<usize> = self.items.iter().filter_map(|item| item.parent).collect();
        parents.dedup();
        for parent in parents {
            let Some(item) = self.items.get(parent).filter(|item| item.parent.is_none()) else {
                continue;
            };
            let is_label = item.line.text.split_whitespace().count() <= 2;
            if let Some(list) = self.lists.get_mut(item.list).filter(|_| is_label) {
                list.n_labels += 1;
            }
        }
    }

    /// Returns the titles of a section and those around it, the innermost first.
    fn titles(&self, section: Option<usize>) -> impl Iterator<Item = &'t str> {
        let mut next = section;
        std::iter::from_fn(move || {
            let section = self.sections.get(next?)?;
            next = section.parent;
            Some(section.title)
        })
    }

    /// Returns whether the items of a list can be tasks, by what is said before it.
    pub(super) fn is_work_list(&self, list: usize) -> bool {
        let Some(head) = self.lists.get(list) else {
            return false;
        };
        let intro = head.intro.map_or("", |(text, _)| text);
        if head.is_asking && head.n_items > 0 || is_asking(intro) {
            return false;
        }
        if self.is_named_plan(list) {
            return true;
        }
        !self.has_named_plan && !is_other_intro(intro) && !self.titles(head.section).any(is_other_heading)
    }

    /// Returns whether a heading or a sentence says that a list is the plan.
    fn is_named_plan(&self, list: usize) -> bool {
        let Some(head) = self.lists.get(list) else {
            return false;
        };
        let first = self.titles(head.section).next();
        let is_other = first.is_some_and(is_other_heading);
        let is_named_here = head.intro.is_some_and(|(text, _)| is_plan_sentence(text));
        let mut titles = self.titles(head.section);
        !head.is_asking && (is_named_here || !is_other && titles.any(|title| is_plan_heading(title) || is_phase(title)))
    }

    /// Returns whether a list is said to correct the one before it.
    pub(super) fn is_correction(&self, list: usize) -> bool {
        let head = self.lists.get(list).filter(|_| list > 0);
        let section = head
            .and_then(|head| self.sections.get(head.section?))
            .map(|section| section.title);
        let intro = head.and_then(|head| head.intro).map(|(text, _)| text);
        [intro, section].into_iter().flatten().any(is_revision)
    }

    /// Returns the place where a list is called one of several options.
    pub(super) fn option_of(&self, list: usize) -> Option<Span> {
        let head = self.lists.get(list)?;
        let section = head.section.and_then(|ix| self.sections.get(ix));
        let section = section.map(|section| (section.title, section.at));
        let named = [head.intro, section]
            .into_iter()
            .flatten()
            .find(|(text, _)| is_option(text));
        named.map(|(text, at)| Span::new(at, at + text.trim_end().len()))
    }

    /// Returns whether an item below another is a task of its own, and not a remark on it.
    pub(super) fn is_task_below(&self, item: &ScannedItem<'_>, parent: usize) -> bool {
        let Some(above) = self.items.get(parent) else {
            return false;
        };
        let has_id = item.is_ordered() && above.is_ordered();
        let title = plain(above.line.text);
        let is_label = above.line.text.trim_end().trim_end_matches('*').ends_with(':');
        // Where every item of a list is a short label, the items below them are the tasks.
        let are_labels = self
            .lists
            .get(above.list)
            .is_some_and(|list| list.n_labels == list.n_items);
        let is_group = is_label || are_labels && above.parent.is_none() && !above.is_ordered();
        has_id || is_phase(&title) || is_group && !is_label_of_details(&title)
    }

    /// Returns what the text is about: its first heading, where that says more than that this is a plan.
    pub(super) fn goal(&self) -> Option<String> {
        let first = self.sections.iter().find(|section| section.level == 1)?;
        let title = plain(first.title);
        let goal = [
            "Plan:",
            "Plan for",
            "Implementation plan:",
            "Implementation Plan:",
            "Tasks:",
            "Goal:",
        ]
        .iter()
        .find_map(|start| title.strip_prefix(start))
        .unwrap_or(&title)
        .trim();
        let is_bare = [
            "plan",
            "implementation plan",
            "tasks",
            "todo",
            "steps",
            "task list",
            "work plan",
        ]
        .contains(&goal.to_lowercase().as_str());
        (!goal.is_empty() && !is_bare && !is_phase(goal) && self.sections.len() > 1
            || !is_bare && self.n_sections_with_items < 2)
            .then(|| goal.to_owned())
            .filter(|goal| !goal.is_empty() && !is_phase(goal))
    }
}

impl ScannedItem<'_> {
    pub(super) fn is_question(&self) -> bool {
        self.line.text.trim_end().trim_end_matches(['*', '_']).ends_with('?')
    }

    /// Returns whether the item has a number or an id.
    pub(super) fn is_ordered(&self) -> bool {
        let has_number = matches!(self.line.kind, LineKind::Item { number: Some(_), .. });
        has_number || read_item(self.line.text, None, 0).task.id.is_some()
    }

    /// Returns whether the item explains a mark: `[P] = can run in parallel`.
    pub(super) fn is_legend(&self) -> bool {
        let text = self.line.text.trim_start_matches(['`', '*']);
        text.starts_with('[')
            && text.split_once(']').is_some_and(|(_, rest)| {
                let rest = rest.trim_start_matches(['`', '*', ' ']);
                rest.starts_with(['=', ':', '–', '—']) || rest.starts_with("means")
            })
    }
}
