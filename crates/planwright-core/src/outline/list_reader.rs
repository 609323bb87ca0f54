//! Reads the chosen items of lists as tasks, with their groups, numbers and details.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::dependency_sentences::statements;
use super::item_text::{push_line, read_detail, read_item};
use super::names::{plain, shown};
use super::phrases::{is_dependency_field, is_left_out, is_phase};
use super::raw::{RawGroup, RawPlan, RawTask, Reference, guess};
use super::references::mentions;
use super::sections::{OutlineScan, ScannedItem};
use super::task_keys::state_of;
use super::words::has_any;
use crate::plan::State;
use crate::text::{Span, visible};

/// The kind of the lists in a text.
pub(super) enum Lists {
    Plan {
        plan: Box<RawPlan>,
        place: Span,
        /// Where items show that others are omitted.
        cut: Option<Span>,
        /// Whether checkboxes, numbers or headings mark the tasks.
        is_strong: bool,
    },
    /// Lists that are alternatives to each other.
    Alternatives(Span, Span),
    /// Questions to the user.
    Questions(Span),
    Nothing,
}

/// Which lists of a text are the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ListKind {
    Checklist,
    Headings,
    Numbered,
    Bullets,
}

/// Reads items one after another.
pub(super) struct ListReader<'s, 't> {
    scan: &'s OutlineScan<'t>,
    kind: ListKind,
    chosen: BTreeSet<usize>,
    pub(super) plan: RawPlan,
    /// The group of a section and of an item that contains others.
    section_groups: HashMap<usize, usize>,
    item_groups: HashMap<usize, usize>,
    /// The tasks by their items.
    tasks: HashMap<usize, usize>,
    /// How many items of a list in which all have the number 1 are read.
    n_items: HashMap<usize, usize>,
    cut: Option<Span>,
}

impl<'s, 't> ListReader<'s, 't> {
    pub(super) fn new(scan: &'s OutlineScan<'t>, kind: ListKind, chosen: BTreeSet<usize>) -> Self {
        ListReader {
            scan,
            kind,
            chosen,
            plan: RawPlan::default(),
            section_groups: HashMap::new(),
            item_groups: HashMap::new(),
            tasks: HashMap::new(),
            n_items: HashMap::new(),
            cut: None,
        }
    }

    pub(super) fn read(&mut self) {
        let parents: BTreeSet<usize> = self
            .scan
            .items_of(&self.chosen)
            .filter_map(|item| item.parent)
            .collect();
        for item in &self.scan.items {
            if !self.chosen.contains(&item.ix) {
                self.detail_of(item);
                continue;
            }
            let mut raw = read_item(item.body(), None, item.body_at());
            let is_link = statements(item.body(), false).is_link();
            if is_link && item.line.checkbox().is_none() && raw.task.id.is_none() {
                continue;
            }
            let group = self.group_of(item);
            raw.list = item.list;
            raw.task.is_optional |= item.is_starred();
            item.read_state(&mut raw);
            self.number(item, &mut raw);
            if is_left_out(item.body()) {
                self.cut.get_or_insert(item.line.span());
                continue;
            }
            for (text, at) in &item.details {
                read_detail(text, *at, &mut raw);
            }
            if parents.contains(&item.ix) {
                self.group(item, raw, group);
                continue;
            }
            if raw.task.title.is_empty() {
                continue;
            }
            raw.group = group;
            self.tasks.insert(item.ix, self.plan.tasks.len());
            self.plan.tasks.push(raw);
        }
    }

    /// Adds an item with tasks below it as a group.
    fn group(&mut self, item: &ScannedItem<'_>, raw: RawTask, parent: Option<usize>) {
        self.plan.notes.extend(raw.notes);
        if item.is_box() {
            self.plan.guess_group(item.line.span(), &raw.task.title);
        }
        // The dependencies of a group are written in its name.
        let is_name = raw.dependencies.is_some() && item.details.is_empty();
        let own = raw.task.description.as_str();
        let own = own
            .strip_prefix(raw.task.title.as_str())
            .filter(|_| !is_name)
            .unwrap_or(own);
        let description = match is_name {
            true => String::new(),
            false => own.trim_start_matches([':', '-', '–', '—', '.', ' ', '\n']).to_owned(),
        };
        let group = self.plan.add_group(RawGroup {
            name: raw.task.title,
            id: raw.task.id.or(raw.number),
            list: Some(item.list),
            parent,
            dependencies: raw.dependencies,
            blocks: raw.blocks,
            description,
            place: item.line.span(),
        });
        self.item_groups.insert(item.ix, group);
    }

    /// Sets the number of a task's item, with those of the items around it.
    fn number(&mut self, item: &ScannedItem<'_>, raw: &mut RawTask) {
        if item.parent.is_none() && self.scan.has_lazy_numbers(item.list) {
            let place = self.n_items.entry(item.list).or_default();
            *place += 1;
            raw.number = Some(place.to_string());
            return;
        }
        if raw.task.id.is_some() || raw.number.is_some() {
            return;
        }
        let Some(number) = item.number() else {
            return;
        };
        let parent = item.parent.and_then(|parent| self.item_groups.get(&parent));
        let parent = parent.and_then(|&group| self.plan.groups.get(group)?.id.clone());
        raw.number = Some(match parent {
            Some(parent) if !number.contains('.') => format!("{parent}.{number}"),
            _ => number.to_owned(),
        });
    }

    /// Returns the numbers of the items at the top of the chosen lists, in order.
    fn numbers(&self) -> Vec<(u64, Span)> {
        let lists: BTreeSet<usize> = self.scan.items_of(&self.chosen).map(|item| item.list).collect();
        let items = self.scan.items.iter();
        let top = items.filter(|item| item.parent.is_none() && lists.contains(&item.list));
        top.filter_map(|item| {
            let id = read_item(item.body(), None, 0).task.id;
            let number = id.or_else(|| item.number().map(str::to_owned))?;
            Some((number.parse().ok()?, item.line.span()))
        })
        .collect()
    }

    /// Adds an item that is no task to the task above it.
    fn detail_of(&mut self, item: &ScannedItem<'_>) {
        let lines = || {
            [(item.body(), item.body_at())]
                .into_iter()
                .chain(item.details.iter().copied())
        };
        for above in self.scan.items_above(item) {
            let task = self.tasks.get(&above.ix);
            if let Some(raw) = task.and_then(|&task| self.plan.tasks.get_mut(task)) {
                if item.is_box() {
                    let words: Vec<String> = lines().map(|(text, _)| plain(text)).collect();
                    return raw.task.criteria.push(words.join(" "));
                }
                return lines().for_each(|(text, at)| read_detail(text, at, raw));
            }
            let group = self.item_groups.get(&above.ix);
            if let Some(group) = group.and_then(|&group| self.plan.groups.get_mut(group)) {
                let words = lines().filter(|(text, _)| !is_dependency_field(text));
                return words.for_each(|(text, _)| push_line(text, &mut group.description));
            }
        }
    }

    /// Returns the group of an item: the item above it, or its section if there are several.
    fn group_of(&mut self, item: &ScannedItem<'_>) -> Option<usize> {
        if let Some(group) = item.parent.and_then(|parent| self.item_groups.get(&parent)) {
            return Some(*group);
        }
        let section_ix = item.section?;
        if self.scan.n_sections_with_items < 2 {
            return None;
        }
        if let Some(group) = self.section_groups.get(&section_ix) {
            return Some(*group);
        }
        let section = self.scan.sections.get(section_ix)?;
        let mut dependencies: Option<Vec<Reference>> = None;
        let texts = self.scan.intros.get(&section_ix).into_iter().flatten().copied();
        for (text, at) in [(section.title, section.at)].into_iter().chain(texts) {
            let said = mentions(text);
            for mention in said.found.iter().filter(|mention| !mention.is_reverse) {
                let place = Span::new(at + mention.range.start, at + mention.range.end);
                dependencies.get_or_insert_default().push(mention.reference(place));
            }
        }
        let id = read_item(section.title, None, 0).task.id;
        let group = self.plan.add_group(RawGroup {
            name: plain(section.title),
            id: id.filter(|_| !is_phase(section.title)),
            dependencies,
            place: section.span(),
            ..RawGroup::default()
        });
        self.section_groups.insert(section_ix, group);
        Some(group)
    }

    pub(super) fn finish(self) -> Lists {
        let place = self.plan.tasks.first().map_or(Span::at(0), |task| task.task.place);
        let is_asking = self.kind != ListKind::Checklist && self.plan.tasks.is_empty();
        if is_asking && let Some(item) = self.scan.items.iter().find(|item| item.is_question()) {
            return Lists::Questions(item.line.span());
        }
        let cut = self
            .cut
            .or_else(|| elision_after(self.scan, place.start))
            .or_else(|| jump_in(self.scan, &self.numbers()));
        finish_plan(self.plan, place, cut, self.kind != ListKind::Bullets)
    }
}

/// Decides which numbers are ids: those that occur once.
pub(super) fn finish_plan(mut plan: RawPlan, place: Span, cut: Option<Span>, is_strong: bool) -> Lists {
    if plan.tasks.is_empty() {
        return Lists::Nothing;
    }
    let is_number = |id: &str| id.chars().all(|c| c.is_ascii_digit() || c == '.');
    let mut seen: HashMap<String, usize> = HashMap::new();
    for raw in &mut plan.tasks {
        if let Some(id) = raw.task.id.as_ref().filter(|id| is_number(id)) {
            raw.number = Some(id.clone());
        }
        if let Some(number) = &raw.number {
            *seen.entry(number.clone()).or_default() += 1;
        }
    }
    let is_unique = seen.values().all(|n| *n == 1);
    for raw in &mut plan.tasks {
        match raw.number.take_if(|_| is_unique) {
            Some(number) => raw.task.id = raw.task.id.take().or(Some(number)),
            None if raw.number.is_some() => raw.task.id = raw.task.id.take().filter(|id| !is_number(id)),
            None => {}
        }
    }
    labels_to_ids(&mut plan);
    group_by_numbers(&mut plan);
    Lists::Plan {
        plan: Box::new(plan),
        place,
        cut,
        is_strong,
    }
}

/// Makes ids of the letters in brackets that all tasks begin with, each with another: `[A] Create it`.
fn labels_to_ids(plan: &mut RawPlan) {
    let letter_of = |raw: &RawTask| {
        let label = raw.task.details.first()?.strip_prefix("Label: ")?;
        let is_letter =
            raw.task.id.is_none() && label.len() == 1 && label.bytes().all(|byte| byte.is_ascii_uppercase());
        is_letter.then(|| label.to_owned())
    };
    let letters: BTreeSet<String> = plan.tasks.iter().filter_map(letter_of).collect();
    if letters.len() < plan.tasks.len() {
        return;
    }
    for raw in &mut plan.tasks {
        raw.task.id = letter_of(raw);
        raw.task.details.remove(0);
    }
}

/// Makes groups of tasks whose numbers begin those of later ones: 2 of 2.1 and 2.2.
fn group_by_numbers(plan: &mut RawPlan) {
    let mut seen: HashSet<String> = HashSet::new();
    for raw in &mut plan.tasks {
        let Some(id) = raw.task.id.clone() else {
            continue;
        };
        let is_number = id.chars().all(|c| c.is_ascii_digit() || c == '.');
        let above = id
            .rsplit_once('.')
            .filter(|(above, _)| is_number && seen.contains(*above));
        let above = above.map(|(above, _)| Reference::certain(above, raw.task.place));
        raw.parent = raw.parent.take().or(above);
        seen.insert(id);
    }
    plan.group_by_parents();
}

/// Returns the first line after an offset that stands for omitted tasks.
pub(super) fn elision_after(scan: &OutlineScan<'_>, start: u32) -> Option<Span> {
    let span = |text: &str, at: usize| Span::new(at, at + text.trim_end().len());
    let mut after = scan.details.iter().filter(|detail| detail.at >= start as usize);
    after
        .find(|detail| is_left_out(detail.text))
        .map(|detail| span(detail.text, detail.at))
}

/// Returns the first number that is more than one above the previous one. Numbers in equal steps, as 10, 20, 30, omit none.
pub(super) fn jump_in(scan: &OutlineScan<'_>, numbers: &[(u64, Span)]) -> Option<Span> {
    let pairs = || numbers.iter().zip(numbers.iter().skip(1));
    let steps: Vec<Option<u64>> = pairs()
        .map(|((before, _), (after, _))| after.checked_sub(*before))
        .collect();
    let is_even = steps.len() >= 2 && steps.iter().all(|step| step.is_some() && steps.first() == Some(step));
    let is_jump = |((before, _), (after, _)): &(&(u64, Span), &(u64, Span))| *after > before.saturating_add(1);
    let (_, (number, place)) = pairs().find(is_jump).filter(|_| !is_even)?;
    // A sentence before the number may explain it: "Task 4 was split off later", "I have left out step 3".
    let start = place.start as usize;
    let mut before = scan
        .details
        .iter()
        .filter(|detail| detail.at < start && detail.item.is_none());
    let is_explained = before.any(|detail| {
        let lower = detail.text.to_lowercase();
        let mut names = [*number, number.saturating_sub(1)].into_iter();
        names.any(|name| has_any(&lower, &[&format!("task {name} "), &format!("step {name} ")]))
    });
    (!is_explained).then_some(*place)
}

impl ScannedItem<'_> {
    /// Sets the state of a task from its checkbox, and notes guesses.
    pub(super) fn read_state(&self, raw: &mut RawTask) {
        let state = match self.line.checkbox() {
            None => return,
            Some("") => None,
            Some("x" | "X" | "✓" | "✔") => Some(State::Done),
            Some("~" | "/" | ">") => Some(State::Running),
            Some("-") => Some(State::Skipped),
            Some(mark) => match state_of(mark).filter(|_| mark.chars().count() > 1 || !mark.is_ascii()) {
                Some(state) => Some(state),
                None => {
                    let (mark, title) = (visible(mark), shown(&raw.task.title, 60));
                    let message = format!("the mark `{mark}` of `{title}` is unknown: it counts as pending");
                    raw.notes.push(guess(self.line.span(), message));
                    None
                }
            },
        };
        if state.is_none() && raw.task.state == Some(State::Done) {
            let title = shown(&raw.task.title, 60);
            let message = format!("the box of `{title}` is not checked: the task counts as pending, not as done");
            raw.notes.push(guess(self.line.span(), message));
            raw.task.state = Some(State::Pending);
        }
        raw.task.state = raw.task.state.or(state);
    }
}
