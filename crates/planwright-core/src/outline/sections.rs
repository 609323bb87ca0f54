//! Decides by headings and the text before lists which lists can be work.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::dependency_sentences::statements;
use super::item_text::read_item;
use super::markdown_lines::{LineKind, MarkdownLine, begins_with_symbol};
use super::names::plain;
use super::phrases::{
    is_afterthought, is_asking, is_bold_heading, is_check, is_criteria_label, is_dependency_field, is_label,
    is_label_of_details, is_numbered_bold, is_option, is_other_heading, is_other_intro, is_outdated, is_phase,
    is_plan_heading, is_plan_sentence, is_revision, is_step_line,
};
use crate::text::Span;

/// The headings and lists of a text.
#[derive(Debug, Default)]
pub(super) struct OutlineScan<'t> {
    pub(super) sections: Vec<OutlineSection<'t>>,
    pub(super) items: Vec<ScannedItem<'t>>,
    /// The lines that are neither headings nor tables, including items.
    pub(super) details: Vec<ItemDetail<'t>>,
    /// The lines of each section before its first list.
    pub(super) intros: HashMap<usize, Vec<(&'t str, usize)>>,
    lists: Vec<ListHead<'t>>,
    pub(super) n_sections_with_items: usize,
    /// Whether a list is announced as the plan: then others are something else.
    has_named_plan: bool,
}

#[derive(Debug)]
pub(super) struct OutlineSection<'t> {
    level: usize,
    pub(super) title: &'t str,
    pub(super) at: usize,
    pub(super) parent: Option<usize>,
}

impl OutlineSection<'_> {
    pub(super) fn span(&self) -> Span {
        Span::new(self.at, self.at + self.title.len())
    }
}

#[derive(Debug)]
pub(super) struct ScannedItem<'t> {
    /// Its index among all items.
    pub(super) ix: usize,
    pub(super) line: MarkdownLine<'t>,
    pub(super) parent: Option<usize>,
    pub(super) section: Option<usize>,
    pub(super) list: usize,
    /// Its further lines.
    pub(super) details: Vec<(&'t str, usize)>,
}

/// A heading or a sentence that announces something else than tasks.
#[derive(Clone, Copy, Debug)]
pub(super) struct OtherLabel {
    pub(super) place: Span,
    pub(super) is_heading: bool,
}

#[derive(Debug)]
pub(super) struct ItemDetail<'t> {
    pub(super) section: Option<usize>,
    /// The item, if this is its first line.
    pub(super) item: Option<usize>,
    pub(super) text: &'t str,
    pub(super) at: usize,
}

#[derive(Debug, Default)]
struct ListHead<'t> {
    section: Option<usize>,
    /// The paragraph before it.
    intro: Option<(&'t str, usize)>,
    is_asking: bool,
    /// Whether all of its items name both ends of a dependency, so that they are no tasks.
    is_links: bool,
    n_items: usize,
    /// How many of its items are one or two words with items below them.
    n_labels: usize,
    /// How many of its items have the number 1: Markdown counts such items by their places.
    n_ones: usize,
    /// Whether any of its items has a number before it.
    has_numbers: bool,
    /// Whether any of them has a number or an id.
    has_ids: bool,
}

/// Where a list stands among the headings.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListPlace {
    section: Option<usize>,
    parent: Option<usize>,
    level: Option<usize>,
}

/// Where the lists that are work stand.
#[derive(Debug, Default)]
pub(super) struct WorkPlaces {
    sections: HashSet<Option<usize>>,
    /// How many of the sections have the same parent and level.
    n_siblings: HashMap<(Option<usize>, Option<usize>), usize>,
}

impl Extend<ListPlace> for WorkPlaces {
    fn extend<T: IntoIterator<Item = ListPlace>>(&mut self, places: T) {
        for place in places {
            if self.sections.insert(place.section) && place.section.is_some() {
                *self.n_siblings.entry((place.parent, place.level)).or_default() += 1;
            }
        }
    }
}

/// The level of a line in bold that is used as a heading.
const BOLD_LEVEL: usize = 7;

/// The level of a line that is a task: "**Step 2: Test it**".
const STEP_LEVEL: usize = 8;

/// The level of a label in bold below a task: "**Acceptance criteria:**".
const LABEL_LEVEL: usize = 9;

fn kind_of<'t>(line: &MarkdownLine<'t>, has_items: bool) -> LineKind<'t> {
    let is_step = is_step_line(line.text);
    match line.kind {
        LineKind::Text if line.indent < 2 && (is_step || is_numbered_bold(line.text)) => LineKind::Heading(STEP_LEVEL),
        LineKind::Text if is_step && has_items => LineKind::BULLET,
        LineKind::Text if is_bold_heading(line.text) => {
            let title = plain(line.text);
            let is_field = is_dependency_field(&title) && title.contains(':');
            match is_criteria_label(&title) {
                _ if is_field => LineKind::Text,
                true => LineKind::Heading(LABEL_LEVEL),
                false => LineKind::Heading(BOLD_LEVEL),
            }
        }
        kind => kind,
    }
}

/// Reads lines into headings and lists.
pub(super) fn scan<'t>(lines: &[MarkdownLine<'t>]) -> OutlineScan<'t> {
    let mut scanner = LineScanner {
        has_quoted_items: lines.iter().any(|line| line.is_quoted && line.is_item()),
        ..LineScanner::default()
    };
    for line in lines {
        scanner.line(line);
    }
    let mut scan = scanner.scan;
    scan.count_labels();
    let mut with_items: Vec<usize> = scan.items.iter().filter_map(|item| item.section).collect();
    with_items.dedup();
    scan.n_sections_with_items = with_items.len();
    scan.has_named_plan = (0..scan.lists.len()).any(|list| scan.is_named_plan(list));
    scan
}

/// The state while lines are scanned.
#[derive(Default)]
struct LineScanner<'t> {
    scan: OutlineScan<'t>,
    section: Option<usize>,
    /// The items to which the next line may belong, each with its indentation.
    open: Vec<(usize, usize)>,
    intro: Option<(&'t str, usize)>,
    is_list_open: bool,
    was_blank: bool,
    /// The last top-level number of the previous list, which a paragraph may interrupt.
    last_number: Option<u64>,
    /// Whether lists are quoted. Where none is, a quoted line is a remark, and announces nothing.
    has_quoted_items: bool,
}

impl<'t> LineScanner<'t> {
    fn line(&mut self, line: &MarkdownLine<'t>) {
        let is_remark = line.is_quoted && line.kind == LineKind::Text && !self.has_quoted_items;
        let kind = match is_remark {
            true => LineKind::Text,
            false => kind_of(line, self.is_list_open),
        };
        match kind {
            LineKind::Blank => {}
            LineKind::TableRow => {
                // A table inside an item belongs to it; others are read as tables.
                let item = self.item_above(line.indent);
                self.add_to_item(item, line);
            }
            LineKind::Heading(level) => self.heading(line, level),
            LineKind::Item { number, .. } => self.item(line, number.and_then(|number| number.parse().ok())),
            LineKind::Text if is_remark && !self.is_list_open => self.scan.push_detail(self.section, line),
            LineKind::Text => {
                let intro = self.intro;
                self.text(line);
                if is_remark {
                    self.intro = intro;
                }
            }
        }
        self.was_blank = kind == LineKind::Blank;
    }

    /// Returns the innermost item with less indentation.
    fn item_above(&self, indent: usize) -> Option<usize> {
        let above = self.open.iter().rev().find(|(own, _)| indent > *own);
        above.map(|(_, ix)| *ix)
    }

    /// Adds a line to an item of the open list. Returns whether there is one.
    fn add_to_item(&mut self, item: Option<usize>, line: &MarkdownLine<'t>) -> bool {
        let item = item.filter(|_| self.is_list_open);
        let item = item.and_then(|ix| self.scan.items.get_mut(ix));
        item.map(|item| item.details.push((line.text, line.at))).is_some()
    }

    fn heading(&mut self, line: &MarkdownLine<'t>, level: usize) {
        let sections = &self.scan.sections;
        let mut parent = self.section;
        while let Some(own) = parent.and_then(|ix| sections.get(ix)).filter(|own| own.level >= level) {
            parent = own.parent;
        }
        self.section = Some(sections.len());
        self.scan.sections.push(OutlineSection {
            level,
            title: line.text.trim_end(),
            at: line.at,
            parent,
        });
        (self.is_list_open, self.intro, self.last_number) = (false, None, None);
        self.open.clear();
    }

    fn item(&mut self, line: &MarkdownLine<'t>, number: Option<u64>) {
        if !self.is_list_open {
            // Consecutive numbers continue the list, even after other lines.
            let is_continued = self.last_number.is_some() && number > self.last_number;
            if !is_continued {
                self.scan.lists.push(ListHead {
                    section: self.section,
                    intro: self.intro,
                    is_asking: true,
                    is_links: true,
                    ..ListHead::default()
                });
            }
            self.is_list_open = true;
            self.open.clear();
        }
        // Bullets right below a number belong to its item, also where they are not indented.
        let is_bullet = line.kind == LineKind::BULLET && !begins_with_symbol(line.text);
        let has_number = |&(indent, ix): &(usize, usize)| {
            let item = self.scan.items.get(ix);
            line.indent >= indent && item.is_some_and(|item| item.number().is_some())
        };
        while let Some(last) = self.open.last().filter(|(indent, _)| line.indent <= indent + 1) {
            if is_bullet && has_number(last) {
                break;
            }
            self.open.pop();
        }
        let item = ScannedItem {
            ix: self.scan.items.len(),
            line: *line,
            parent: self.open.last().map(|(_, ix)| *ix),
            section: self.section,
            list: self.scan.lists.len().saturating_sub(1),
            details: Vec::new(),
        };
        if let Some(list) = self.scan.lists.last_mut().filter(|_| item.parent.is_none()) {
            list.is_asking &= item.is_question();
            list.is_links &= statements(line.text, false).is_link();
            list.n_items += 1;
            list.n_ones += usize::from(number == Some(1));
            list.has_numbers |= item.number().is_some();
            list.has_ids |= item.is_ordered();
            self.last_number = number;
        }
        self.open.push((line.indent, item.ix));
        self.scan.items.push(item);
        self.scan.push_detail(self.section, line);
    }

    fn text(&mut self, line: &MarkdownLine<'t>) {
        let announces =
            line.indent == 0 && (line.text.trim_end().ends_with(':') || statements(line.text, false).is_link());
        // After a blank line the indentation decides which item continues.
        let own = match self.was_blank || announces {
            true => self.item_above(line.indent),
            false => self.open.last().map(|(_, ix)| *ix),
        };
        if !self.add_to_item(own, line) {
            self.is_list_open = false;
            // A label starts another list.
            if is_label(line.text) {
                self.last_number = None;
            }
            self.intro = Some((line.text, line.at));
        }
        self.scan.push_detail(self.section, line);
    }
}

impl<'t> OutlineScan<'t> {
    fn push_detail(&mut self, section: Option<usize>, line: &MarkdownLine<'t>) {
        let is_intro = self.items.last().is_none_or(|item| item.section != section);
        if let Some(section) = section.filter(|_| is_intro) {
            self.intros.entry(section).or_default().push((line.text, line.at));
        }
        let item = self.items.last().filter(|item| item.line.at == line.at);
        self.details.push(ItemDetail {
            section,
            item: item.map(|item| item.ix),
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

    /// Returns some items, in order.
    pub(super) fn items_of(&self, chosen: &BTreeSet<usize>) -> impl Iterator<Item = &ScannedItem<'t>> {
        chosen.iter().filter_map(|&ix| self.items.get(ix))
    }

    /// Returns the item above another one.
    pub(super) fn parent_of(&self, item: &ScannedItem<'_>) -> Option<&ScannedItem<'t>> {
        item.parent.and_then(|ix| self.items.get(ix))
    }

    /// Returns the items above another one, the innermost first.
    pub(super) fn items_above(&self, item: &ScannedItem<'_>) -> impl Iterator<Item = &ScannedItem<'t>> {
        std::iter::successors(self.parent_of(item), |above| self.parent_of(above))
    }

    /// Returns whether an item is a task next to chosen ones: at the top of its list if it `may_be` one, and below a chosen item if it is
    /// no remark on that.
    pub(super) fn is_chosen(
        &self,
        item: &ScannedItem<'_>,
        chosen: &BTreeSet<usize>,
        may_be: impl FnOnce() -> bool,
    ) -> bool {
        match item.parent {
            None => !item.is_legend() && may_be(),
            Some(parent) => chosen.contains(&parent) && self.is_task_below(item, parent),
        }
    }

    /// Returns a section and its parents, the innermost first.
    fn sections_around(&self, section: Option<usize>) -> impl Iterator<Item = &OutlineSection<'t>> {
        let section = section.and_then(|ix| self.sections.get(ix));
        std::iter::successors(section, |section| self.sections.get(section.parent?))
    }

    fn titles(&self, section: Option<usize>) -> impl Iterator<Item = &'t str> {
        self.sections_around(section).map(|section| section.title)
    }

    /// Returns whether the items of a list can be tasks, by the text before it.
    pub(super) fn is_work_list(&self, list: usize) -> bool {
        let Some(head) = self.lists.get(list) else {
            return false;
        };
        let intro = head.intro.map_or("", |(text, _)| text);
        if (head.is_asking || head.is_links) && head.n_items > 0 || is_asking(intro) {
            return false;
        }
        if self.is_named_plan(list) {
            return true;
        }
        !self.has_named_plan && !is_other_intro(intro) && !self.titles(head.section).any(is_other_heading)
    }

    /// Returns whether the items of a list are bullets, some of which begin with ids.
    pub(super) fn has_ids_alone(&self, list: usize) -> bool {
        let head = self.lists.get(list);
        head.is_some_and(|head| head.has_ids && !head.has_numbers)
    }

    /// Returns whether all items of a list have the number 1.
    pub(super) fn has_lazy_numbers(&self, list: usize) -> bool {
        let head = self.lists.get(list);
        head.is_some_and(|head| head.n_ones > 1 && head.n_ones == head.n_items)
    }

    /// Returns whether a list is said to be something else than tasks.
    pub(super) fn is_labelled(&self, list: usize) -> bool {
        self.lists.get(list).is_none_or(|head| head.is_asking || head.is_links)
            || self.other_label(list).is_some()
            || self.is_outdated(list)
    }

    /// Returns whether a heading or a sentence announces advice, or what can follow the plan.
    pub(super) fn is_aside(&self, list: usize) -> bool {
        self.lists.get(list).is_some_and(|head| {
            let mut texts = head
                .intro
                .map(|(text, _)| text)
                .into_iter()
                .chain(self.titles(head.section));
            texts.any(is_afterthought)
        })
    }

    /// Returns where a list stands among the headings.
    pub(super) fn place_of(&self, list: usize) -> Option<ListPlace> {
        let head = self.lists.get(list)?;
        let section = head.section.and_then(|ix| self.sections.get(ix));
        Some(ListPlace {
            section: head.section,
            parent: section.and_then(|section| section.parent),
            level: section.map(|section| section.level),
        })
    }

    /// Returns whether bullets at a place belong to the work at other places: their heading is next to those of the work, and announces
    /// nothing that comes after it or checks it.
    pub(super) fn is_part_of_work(&self, place: ListPlace, work: &WorkPlaces) -> bool {
        let Some(section) = place.section.and_then(|ix| self.sections.get(ix)) else {
            return false;
        };
        let n_next = work.n_siblings.get(&(place.parent, place.level)).copied().unwrap_or(0);
        let is_sibling = n_next > 0 || section.level == BOLD_LEVEL;
        // Where several headings share the work, checks are work as well.
        let may_check = n_next > 1 && !self.has_named_plan;
        let is_apart = !work.sections.contains(&place.section);
        is_apart && is_sibling && !is_afterthought(section.title) && (may_check || !is_check(section.title))
    }

    /// Returns the sentence before a list, or otherwise the heading above it, that announces no tasks.
    pub(super) fn other_label(&self, list: usize) -> Option<OtherLabel> {
        let head = self.lists.get(list)?;
        if let Some((text, at)) = head.intro.filter(|(text, _)| is_asking(text) || is_other_intro(text)) {
            return Some(OtherLabel {
                place: Span::new(at, at + text.trim_end().len()),
                is_heading: false,
            });
        }
        let section = self
            .sections_around(head.section)
            .find(|section| is_other_heading(section.title))?;
        Some(OtherLabel {
            place: section.span(),
            is_heading: true,
        })
    }

    /// Returns whether a heading or a sentence announces a list as the plan.
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

    /// Returns whether an item is a criterion of a task, and no task itself.
    pub(super) fn is_criterion(&self, item: &ScannedItem<'_>) -> bool {
        let intro = self
            .lists
            .get(item.list)
            .and_then(|head| head.intro)
            .map(|(text, _)| text);
        let heading = self.titles(item.section).next();
        let above = self.items_above(item).map(|above| above.line.text);
        above.chain(intro).chain(heading).any(is_criteria_label)
    }

    /// Returns the paragraph before a list and the heading above it, with their offsets.
    fn announcements(&self, list: usize) -> impl Iterator<Item = (&'t str, usize)> {
        let head = self.lists.get(list);
        let section = head.and_then(|head| self.sections.get(head.section?));
        let section = section.map(|section| (section.title, section.at));
        [head.and_then(|head| head.intro), section].into_iter().flatten()
    }

    /// Returns whether a list is announced as outdated.
    pub(super) fn is_outdated(&self, list: usize) -> bool {
        self.announcements(list).any(|(text, _)| is_outdated(text))
    }

    /// Returns whether a list is announced as a correction of the previous one.
    pub(super) fn is_correction(&self, list: usize) -> bool {
        list > 0 && self.announcements(list).any(|(text, _)| is_revision(text))
    }

    /// Returns the span of the text that announces a list as one of several options.
    pub(super) fn option_of(&self, list: usize) -> Option<Span> {
        let (text, at) = self.announcements(list).find(|(text, _)| is_option(text))?;
        Some(Span::new(at, at + text.trim_end().len()))
    }

    /// Returns whether an item below another is a separate task, and not a remark on it.
    pub(super) fn is_task_below(&self, item: &ScannedItem<'_>, parent: usize) -> bool {
        let Some(above) = self.items.get(parent) else {
            return false;
        };
        let has_id = item.is_ordered() && above.is_ordered();
        let title = plain(above.line.text);
        // If every item of a list is a short label, the items below them are the tasks.
        let list = self.lists.get(above.list);
        let are_labels = list.is_some_and(|list| list.n_labels == list.n_items);
        let is_group = is_label(above.line.text) || are_labels && above.parent.is_none() && !above.is_ordered();
        has_id || is_phase(&title) || is_group && !is_label_of_details(&title) && !is_option(item.line.text)
    }
}

impl ScannedItem<'_> {
    pub(super) fn is_question(&self) -> bool {
        self.line.text.trim_end().trim_end_matches(['*', '_']).ends_with('?')
    }

    /// Returns whether the item has a number or an id.
    pub(super) fn is_ordered(&self) -> bool {
        self.number().is_some() || read_item(self.line.text, None, 0).task.id.is_some()
    }

    pub(super) fn is_box(&self) -> bool {
        self.line.checkbox().is_some() || begins_with_symbol(self.line.text)
    }

    pub(super) fn number(&self) -> Option<&str> {
        self.line.number()
    }

    /// Returns whether the item has a star after its box, which marks it as optional.
    pub(super) fn is_starred(&self) -> bool {
        self.is_box() && self.line.text.starts_with("* ")
    }

    pub(super) fn body(&self) -> &str {
        self.line.text.get(usize::from(self.is_starred())..).unwrap_or("")
    }

    pub(super) fn body_at(&self) -> usize {
        self.line.at + usize::from(self.is_starred())
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
