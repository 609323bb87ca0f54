//! Reads plans written as checklists, numbered lists, bullets below headings, or headings alone.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::dependency_sentences::statements;
use super::item_text::{read_dependency, read_detail, read_item};
use super::markdown_lines::{LineKind, MarkdownLine, begins_with_symbol};
use super::names::{one_line, plain};
use super::phrases::{
    begins_with_verb, is_criteria_label, is_dependency_field, is_field, is_label, is_left_out, is_phase, is_step_line,
    is_version,
};
use super::raw::{RawGroup, RawPlan, RawTask, Reference};
use super::references::mentions;
use super::rules::GUESS;
use super::sections::{OtherLabel, OutlineScan, OutlineSection, ScannedItem, WorkPlaces, scan};
use super::task_keys::state_of;
use crate::diagnostic::Diagnostic;
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

/// Reads the lists of a text.
pub(super) fn plan_of(lines: &[MarkdownLine<'_>]) -> Lists {
    let scan = scan(lines);
    let Some(kind) = kind_of(&scan) else {
        let questions = scan.items.iter().find(|item| item.is_question());
        return questions.map_or(Lists::Nothing, |item| Lists::Questions(item.line.span()));
    };
    if kind == ListKind::Headings {
        return of_headings(&scan);
    }
    let mut chosen = chosen_items(&scan, kind);
    let mut others = add_other_lists(&scan, &mut chosen);
    others.extend(add_without_boxes(&scan, kind, &mut chosen));
    // A corrected list replaces those before it.
    let corrected = chosen
        .iter()
        .copied()
        .rfind(|&ix| scan.items.get(ix).is_some_and(|item| scan.is_correction(item.list)));
    let mut superseded: Option<Span> = None;
    if let Some(list) = corrected.and_then(|ix| scan.items.get(ix)).map(|item| item.list) {
        superseded = first_place(&scan, &chosen);
        chosen.retain(|&ix| scan.items.get(ix).is_some_and(|item| item.list >= list));
    }
    let is_outdated = |ix: &usize| scan.items.get(*ix).is_some_and(|item| scan.is_outdated(item.list));
    if !chosen.iter().all(is_outdated) && chosen.iter().any(is_outdated) {
        let outdated: Vec<usize> = chosen.iter().copied().filter(is_outdated).collect();
        superseded = superseded.or_else(|| first_place(&scan, &outdated));
        chosen.retain(|ix| !is_outdated(ix));
    }
    // The rest may be the whole list.
    superseded = superseded.filter(|place| first_place(&scan, &chosen) != Some(*place));
    let mut lists: Vec<usize> = chosen.iter().filter_map(|&ix| Some(scan.items.get(ix)?.list)).collect();
    lists.dedup();
    let options: Vec<Span> = lists.iter().filter_map(|&list| scan.option_of(list)).collect();
    if let [first, second, ..] = options.as_slice() {
        return Lists::Alternatives(*first, *second);
    }
    let mut reader = ListReader::new(&scan, kind, chosen);
    reader.read();
    reader.plan.notes.extend(others);
    if let (Some(other), Some(own)) = (superseded, reader.plan.tasks.first().map(|raw| raw.task.place)) {
        let message = "there is another version of this plan, which the text replaces or rejects: this one is read";
        let note =
            Diagnostic::new(&GUESS, Span::at(own.start as usize), message).with_related(other, "the other version");
        reader.plan.notes.push(note);
    }
    reader.finish()
}

/// Returns the label by which an item's list is something else than tasks.
pub(super) fn other_label(lines: &[MarkdownLine<'_>], item: &MarkdownLine<'_>) -> Option<OtherLabel> {
    let scan = scan(lines);
    let item = scan.items.iter().find(|own| own.line.at == item.at)?;
    scan.other_label(item.list)
}

fn first_place(scan: &OutlineScan<'_>, items: &[usize]) -> Option<Span> {
    let first = items.first().and_then(|&ix| scan.items.get(ix))?;
    Some(Span::at(first.line.at))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ListKind {
    Checklist,
    Headings,
    Numbered,
    Bullets,
}

/// Returns which of the text's lists are the plan.
fn kind_of(scan: &OutlineScan<'_>) -> Option<ListKind> {
    let has = |wanted: &dyn Fn(&ScannedItem<'_>) -> bool| scan.items.iter().any(wanted);
    let n_headings = heading_tasks(scan).len();
    let is_open = |item: &ScannedItem<'_>| item.parent.is_none() && scan.is_work_list(item.list);
    let has_numbered = || has(&|item| is_open(item) && item.is_ordered() && !item.is_box());
    // Checkboxes about how tasks are done are no tasks.
    let is_work_box = |item: &ScannedItem<'_>| item.is_box() && !scan.is_criterion(item);
    if has(&is_work_box) && !(has_numbered() && are_criteria_of_numbered(scan))
        || has(&|item| item.is_box()) && n_headings < 2 && !has_numbered()
    {
        return Some(ListKind::Checklist);
    }
    if n_headings >= 2 {
        return Some(ListKind::Headings);
    }
    if has_numbered() {
        return Some(ListKind::Numbered);
    }
    if has(&is_open) {
        return Some(ListKind::Bullets);
    }
    let is_step = |ix: &usize| {
        scan.sections
            .get(*ix)
            .is_some_and(|section| is_step_line(section.title))
    };
    heading_tasks(scan).iter().any(is_step).then_some(ListKind::Headings)
}

/// Returns whether the checkboxes of a text are remarks on the items of a numbered list: some of these have checkboxes below them, and some
/// have none.
fn are_criteria_of_numbered(scan: &OutlineScan<'_>) -> bool {
    let mut with_boxes = BTreeSet::new();
    for item in scan
        .items
        .iter()
        .filter(|item| item.is_box() && !scan.is_criterion(item))
    {
        let above = item.parent.and_then(|parent| Some((parent, scan.items.get(parent)?)));
        match above {
            Some((parent, above)) if above.number().is_some() && !above.is_box() && !item.is_ordered() => {
                with_boxes.insert(parent);
            }
            _ => return false,
        }
    }
    let is_top =
        |item: &&ScannedItem<'_>| item.parent.is_none() && item.number().is_some() && scan.is_work_list(item.list);
    with_boxes.len() < scan.items.iter().filter(is_top).count()
}

/// Returns the sections that are tasks themselves: "Task 3: …", or numbered ones without lists.
fn heading_tasks(scan: &OutlineScan<'_>) -> Vec<usize> {
    let is_named = |section: &OutlineSection<'_>| {
        let title = plain(section.title);
        let lower = title.to_lowercase();
        let noun = ["task ", "step ", "story ", "ticket ", "issue "]
            .iter()
            .find_map(|noun| lower.strip_prefix(noun));
        let has_number = noun.is_some_and(|rest| {
            rest.trim_start_matches(['#', ' '])
                .starts_with(|c: char| c.is_ascii_digit())
        });
        let id = read_item(section.title, None, 0).task.id;
        has_number
            || is_step_line(section.title)
            || id.is_some_and(|id| id.len() > 1 && id.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    let is_numbered = |section: &OutlineSection<'_>| {
        read_item(section.title, None, 0).task.id.is_some() && !is_phase(section.title) && !is_version(section.title)
    };
    let named: Vec<usize> = (0..scan.sections.len())
        .filter(|&ix| scan.sections.get(ix).is_some_and(is_named))
        .collect();
    if named.len() >= 2 {
        return named;
    }
    let numbered: Vec<usize> = (0..scan.sections.len())
        .filter(|&ix| scan.sections.get(ix).is_some_and(is_numbered))
        .collect();
    let below: Vec<&ScannedItem<'_>> = {
        let is_below = |item: &&ScannedItem<'_>| {
            item.section
                .is_some_and(|section| numbered.binary_search(&section).is_ok())
        };
        scan.items.iter().filter(is_below).collect()
    };
    if below.is_empty() || are_fields(scan, &below) {
        numbered
    } else {
        Vec::new()
    }
}

/// Returns whether the items below numbered headings describe these, so that the headings are the tasks.
fn are_fields(scan: &OutlineScan<'_>, below: &[&ScannedItem<'_>]) -> bool {
    let is_task = |item: &&&ScannedItem<'_>| item.is_box() && !scan.is_criterion(item) || item.number().is_some();
    if below.iter().any(|item| is_task(&item)) {
        return false;
    }
    let fields = || below.iter().filter(|item| is_field(item.line.text));
    let sections: BTreeSet<Option<usize>> = below.iter().map(|item| item.section).collect();
    let with_fields: BTreeSet<Option<usize>> = fields().map(|item| item.section).collect();
    sections == with_fields || fields().any(|item| is_dependency_field(item.line.text))
}

/// Reads headings as tasks, and everything below them as their details.
fn of_headings(scan: &OutlineScan<'_>) -> Lists {
    let own = heading_tasks(scan);
    let mut plan = RawPlan::default();
    let mut tasks: HashMap<usize, usize> = HashMap::new();
    for &section_ix in &own {
        let Some(section) = scan.sections.get(section_ix) else {
            continue;
        };
        tasks.insert(section_ix, plan.tasks.len());
        plan.tasks.push(read_item(section.title, None, section.at));
    }
    // "1. Data layer" with "1.1 Define the models" below it is a group.
    let above = |section_ix: usize| scan.sections.get(section_ix).and_then(|section| section.parent);
    for (task_ix, &section_ix) in own.iter().enumerate() {
        let mut around = std::iter::successors(above(section_ix), |&ix| above(ix));
        let parent = around
            .find_map(|ix| tasks.get(&ix))
            .and_then(|&parent| plan.tasks.get(parent));
        let parent = parent.and_then(|raw| Some(Reference::certain(raw.task.id.as_deref()?, raw.task.place)));
        if let Some(raw) = plan.tasks.get_mut(task_ix) {
            raw.parent = parent;
        }
    }
    // Sections below a task belong to it.
    let task_of = |section: Option<usize>| {
        let mut at = section;
        while let Some(section_ix) = at {
            if let Some(&task_ix) = tasks.get(&section_ix) {
                return Some(task_ix);
            }
            at = scan.sections.get(section_ix).and_then(|section| section.parent);
        }
        None
    };
    // Below a label without names, as in "**Dependencies:**", the items are the names.
    let (mut label, mut label_section) = (None, None);
    for detail in &scan.details {
        let Some(task) = task_of(detail.section).and_then(|task_ix| plan.tasks.get_mut(task_ix)) else {
            continue;
        };
        let is_label = is_dependency_field(detail.text) && is_label(detail.text);
        if is_label || label_section != detail.section {
            let section = detail.section.and_then(|ix| scan.sections.get(ix));
            let is_below =
                section.is_some_and(|section| is_dependency_field(section.title) && !section.title.contains(": "));
            label = (is_label || is_below).then_some(detail.at);
            label_section = detail.section;
        }
        if is_label || is_criteria_label(detail.text) && plain(detail.text).split_whitespace().count() < 4 {
            continue;
        }
        let criterion = detail
            .item
            .and_then(|ix| scan.items.get(ix))
            .filter(|item| scan.is_criterion(item));
        // A sentence that names both ends of a dependency is read separately.
        match criterion {
            Some(item) => task.task.criteria.push(plain(item.line.text)),
            None if statements(detail.text, false).is_link() => {}
            None if label.is_some() && detail.item.is_some() => read_dependency(detail.text, detail.at, task),
            None => read_detail(detail.text, detail.at, task),
        }
    }
    let place = plan.tasks.first().map_or(Span::at(0), |task| task.task.place);
    let numbers: Vec<(u64, Span)> = plan
        .tasks
        .iter()
        .filter_map(|raw| Some((raw.task.id.as_ref()?.parse().ok()?, raw.task.place)))
        .collect();
    let cut = elision_after(scan, place.start).or_else(|| jump_in(scan, &numbers));
    finish_plan(plan, place, cut, true)
}

/// Returns the items that are tasks or contain tasks, in order.
fn chosen_items(scan: &OutlineScan<'_>, kind: ListKind) -> Vec<usize> {
    let all = 0..scan.items.len();
    let list_is_open = |ix: &usize| scan.items.get(*ix).is_some_and(|item| scan.is_work_list(item.list));
    match kind {
        ListKind::Checklist => {
            let is_box = |ix: &usize| scan.items.get(*ix).is_some_and(|item| item.is_box());
            let boxes: Vec<usize> = all.clone().filter(is_box).collect();
            let open: Vec<usize> = boxes.iter().copied().filter(list_is_open).collect();
            let mut chosen: BTreeSet<usize> = if open.is_empty() { boxes } else { open }.into_iter().collect();
            // An item that contains checkboxes is a group, with or without its own.
            let mut parents: Vec<usize> = chosen.iter().filter_map(|&ix| scan.items.get(ix)?.parent).collect();
            while let Some(parent) = parents.pop() {
                if chosen.insert(parent) {
                    parents.extend(scan.items.get(parent).and_then(|item| item.parent));
                }
            }
            chosen.into_iter().collect()
        }
        _ => {
            let mut chosen = Vec::new();
            for ix in all.filter(list_is_open) {
                let Some(item) = scan.items.get(ix) else {
                    continue;
                };
                let is_chosen = match item.parent {
                    None => {
                        (kind == ListKind::Bullets || item.is_ordered() || scan.has_ids_alone(item.list))
                            && !item.is_legend()
                    }
                    Some(parent) => chosen.binary_search(&parent).is_ok() && scan.is_task_below(item, parent),
                };
                if is_chosen {
                    chosen.push(ix);
                }
            }
            chosen
        }
    }
}

/// How many lists that are not read are named.
const MAX_NAMED: usize = 10;

/// Adds the lists of another kind that are work as well, and returns what was guessed about these and about those that are left out.
fn add_other_lists(scan: &OutlineScan<'_>, chosen: &mut Vec<usize>) -> Vec<Diagnostic> {
    let list_of = |&ix: &usize| Some(scan.items.get(ix)?.list);
    let own: BTreeSet<usize> = chosen.iter().filter_map(list_of).collect();
    let mut places = WorkPlaces::default();
    places.extend(own.iter().filter_map(|&list| scan.place_of(list)));
    let mut firsts: BTreeMap<usize, Vec<&ScannedItem<'_>>> = BTreeMap::new();
    for item in &scan.items {
        let is_open = (!scan.is_labelled(item.list) || item.is_box()) && !item.is_legend();
        if item.parent.is_none() && is_open && !own.contains(&item.list) {
            firsts.entry(item.list).or_default().push(item);
        }
    }
    let is_strong = |items: &[&ScannedItem<'_>]| items.iter().all(|item| item.is_box() || item.is_ordered());
    let are_verbs = |items: &[&ScannedItem<'_>]| {
        let mut titles = items.iter().map(|item| read_item(item.body(), None, 0).task.title);
        titles.all(|title| begins_with_verb(&title))
    };
    // Where the tasks have ids, a list without ids speaks of them.
    let have_ids = chosen.iter().filter_map(|&ix| scan.items.get(ix)).all(|item| {
        let id = read_item(item.body(), None, 0).task.id;
        id.is_some_and(|id| id.starts_with(|c: char| c.is_ascii_alphabetic()))
    });
    let is_taken_as_strong = |list: usize, items: &[&ScannedItem<'_>]| {
        is_strong(items) && !have_ids && scan.is_work_list(list) && !scan.is_aside(list)
    };
    let strong = firsts.iter().filter(|(list, items)| is_taken_as_strong(**list, items));
    places.extend(strong.filter_map(|(&list, _)| scan.place_of(list)));
    let (mut notes, mut added) = (Vec::new(), BTreeSet::new());
    for (list, items) in firsts {
        let Some(first) = items.first() else {
            continue;
        };
        let is_criterion = items.iter().all(|item| scan.is_criterion(item));
        let is_apart = || {
            scan.place_of(list)
                .is_some_and(|place| scan.is_part_of_work(place, &places))
        };
        let is_taken = !is_criterion
            && (is_taken_as_strong(list, &items)
                || !is_strong(&items) && !have_ids && is_apart() && !scan.is_aside(list) && are_verbs(&items));
        if is_taken {
            added.insert(list);
        }
        let place = first.line.span();
        let title = visible(&one_line(&plain(first.line.text), 60)).into_owned();
        let message = match is_taken {
            true => format!("the list that begins with \"{title}\" is read as tasks as well"),
            false => format!("the list that begins with \"{title}\" is not read as tasks"),
        };
        if notes.len() < MAX_NAMED {
            notes.push(Diagnostic::new(&GUESS, place, message));
        }
    }
    let mut all: BTreeSet<usize> = std::mem::take(chosen).into_iter().collect();
    for (ix, item) in scan.items.iter().enumerate() {
        let is_task = match item.parent {
            None => !item.is_legend(),
            Some(parent) => all.contains(&parent) && scan.is_task_below(item, parent),
        };
        if is_task && added.contains(&item.list) {
            all.insert(ix);
        }
    }
    chosen.extend(all);
    notes
}

/// Adds the items without a box to a checklist in which most have one. Returns what was guessed about these and about those of other
/// lists.
fn add_without_boxes(scan: &OutlineScan<'_>, kind: ListKind, chosen: &mut Vec<usize>) -> Vec<Diagnostic> {
    let mut counts: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let top = || {
        scan.items
            .iter()
            .enumerate()
            .filter(|(_, item)| item.parent.is_none() && !item.is_legend())
    };
    for (_, item) in top() {
        let (n_boxes, n_others) = counts.entry(item.list).or_default();
        *(if item.is_box() { n_boxes } else { n_others }) += 1;
    }
    let (mut notes, mut added) = (Vec::new(), Vec::new());
    for (ix, item) in top().filter(|(_, item)| kind == ListKind::Checklist && !item.is_box()) {
        let (n_boxes, n_others) = counts.get(&item.list).copied().unwrap_or_default();
        if n_boxes == 0 || chosen.binary_search(&ix).is_ok() {
            continue;
        }
        let title = visible(&one_line(&plain(item.line.text), 60)).into_owned();
        let is_taken = n_boxes >= n_others && !scan.is_labelled(item.list);
        let message = match is_taken {
            true => format!("`{title}` has no box: it is read as a task as well"),
            false => format!("`{title}` has no box: it is not read as a task"),
        };
        if is_taken {
            added.push(ix);
        }
        if notes.len() < MAX_NAMED {
            notes.push(Diagnostic::new(&GUESS, item.line.span(), message));
        }
    }
    chosen.extend(added);
    chosen.sort_unstable();
    notes
}

struct ListReader<'s, 't> {
    scan: &'s OutlineScan<'t>,
    kind: ListKind,
    chosen: Vec<usize>,
    plan: RawPlan,
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
    fn new(scan: &'s OutlineScan<'t>, kind: ListKind, chosen: Vec<usize>) -> Self {
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

    fn read(&mut self) {
        let parents = self.chosen.iter().filter_map(|&ix| self.scan.items.get(ix)?.parent);
        let parents: BTreeSet<usize> = parents.collect();
        for (ix, item) in self.scan.items.iter().enumerate() {
            if self.chosen.binary_search(&ix).is_err() {
                self.detail_of(item);
                continue;
            }
            if statements(item.body(), false).is_link()
                && item.mark().is_none()
                && read_item(item.body(), None, 0).task.id.is_none()
            {
                continue;
            }
            let group = self.group_of(item);
            let mut raw = read_item(item.body(), None, item.body_at());
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
            if parents.contains(&ix) {
                self.group(ix, item, raw, group);
                continue;
            }
            if raw.task.title.is_empty() {
                continue;
            }
            raw.group = group;
            self.tasks.insert(ix, self.plan.tasks.len());
            self.plan.tasks.push(raw);
        }
    }

    /// Adds an item with tasks below it as a group.
    fn group(&mut self, ix: usize, item: &ScannedItem<'_>, mut raw: RawTask, parent: Option<usize>) {
        self.plan.notes.append(&mut raw.notes);
        if item.is_box() {
            let message = format!(
                "`{}` is a group of its sub-tasks, and no task of its own",
                visible(&one_line(&raw.task.title, 60))
            );
            self.plan.guess(item.line.span(), message);
        }
        // The dependencies of a group are written in its name.
        let is_name = raw.dependencies.is_some() && item.details.is_empty();
        let own = std::mem::take(&mut raw.task.description);
        let own = own
            .strip_prefix(raw.task.title.as_str())
            .map(str::to_owned)
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
        self.item_groups.insert(ix, group);
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
        let lists: BTreeSet<usize> = self
            .chosen
            .iter()
            .filter_map(|&ix| self.scan.items.get(ix).map(|item| item.list))
            .collect();
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
        let mut parent = item.parent;
        while let Some(ix) = parent {
            if let Some(raw) = self.tasks.get(&ix).and_then(|&task| self.plan.tasks.get_mut(task)) {
                if item.is_box() {
                    let lines = [plain(item.body())].into_iter();
                    let lines = lines.chain(item.details.iter().map(|(text, _)| plain(text)));
                    raw.task.criteria.push(lines.collect::<Vec<String>>().join(" "));
                    return;
                }
                read_detail(item.body(), item.body_at(), raw);
                for (text, at) in &item.details {
                    read_detail(text, *at, raw);
                }
                return;
            }
            if let Some(group) = self
                .item_groups
                .get(&ix)
                .and_then(|&group| self.plan.groups.get_mut(group))
            {
                let lines = [item.body()]
                    .into_iter()
                    .chain(item.details.iter().map(|(text, _)| *text));
                for line in lines.filter(|line| !is_dependency_field(line)) {
                    if !group.description.is_empty() {
                        group.description.push('\n');
                    }
                    group.description.push_str(line.trim());
                }
                return;
            }
            parent = self.scan.items.get(ix).and_then(|item| item.parent);
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

    fn finish(self) -> Lists {
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
fn finish_plan(mut plan: RawPlan, place: Span, cut: Option<Span>, is_strong: bool) -> Lists {
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
            .map(|(above, _)| above)
            .filter(|above| is_number && seen.contains(*above));
        let above = above.map(|above| Reference::certain(above, raw.task.place));
        raw.parent = raw.parent.take().or(above);
        seen.insert(id);
    }
    plan.group_by_parents();
}

/// Returns the first line after an offset that stands for omitted tasks.
fn elision_after(scan: &OutlineScan<'_>, start: u32) -> Option<Span> {
    let span = |text: &str, at: usize| Span::new(at, at + text.trim_end().len());
    scan.details
        .iter()
        .filter(|detail| detail.at >= start as usize && is_left_out(detail.text))
        .map(|detail| span(detail.text, detail.at))
        .next()
}

/// Returns the first number that is more than one above the previous one. Numbers in equal steps, as 10, 20, 30, omit none.
fn jump_in(scan: &OutlineScan<'_>, numbers: &[(u64, Span)]) -> Option<Span> {
    let steps: Vec<u64> = numbers
        .windows(2)
        .filter_map(|pair| match pair {
            [(before, _), (after, _)] => after.checked_sub(*before),
            _ => None,
        })
        .collect();
    let is_even =
        steps.len() >= 2 && steps.len() + 1 == numbers.len() && steps.windows(2).all(|pair| pair[0] == pair[1]);
    let is_jump =
        |pair: &&[(u64, Span)]| matches!(pair, [(before, _), (after, _)] if *after > before.saturating_add(1));
    let found = numbers.windows(2).find(is_jump).filter(|_| !is_even)?;
    let (number, place) = found.last()?;
    // A sentence before the number may explain it: "Task 4 was split off later", "I have left out step 3".
    let start = place.start as usize;
    let mut before = scan
        .details
        .iter()
        .filter(|detail| detail.at < start && detail.item.is_none());
    let is_explained = before.any(|detail| {
        let lower = detail.text.to_lowercase();
        let names = [*number, number.saturating_sub(1)];
        ["task", "step"]
            .iter()
            .any(|noun| names.iter().any(|name| lower.contains(&format!("{noun} {name} "))))
    });
    (!is_explained).then_some(*place)
}

impl ScannedItem<'_> {
    fn is_box(&self) -> bool {
        matches!(self.line.kind, LineKind::Item { checkbox: Some(_), .. }) || begins_with_symbol(self.line.text)
    }

    fn number(&self) -> Option<&str> {
        match self.line.kind {
            LineKind::Item { number, .. } => number,
            _ => None,
        }
    }

    /// Returns whether the item has a star after its box, which marks it as optional.
    fn is_starred(&self) -> bool {
        self.is_box() && self.line.text.starts_with("* ")
    }

    fn body(&self) -> &str {
        self.line
            .text
            .get(if self.is_starred() { 1 } else { 0 }..)
            .unwrap_or("")
    }

    fn body_at(&self) -> usize {
        self.line.at + usize::from(self.is_starred())
    }

    /// Returns the mark in the item's checkbox.
    fn mark(&self) -> Option<&str> {
        match self.line.kind {
            LineKind::Item { checkbox, .. } => checkbox,
            _ => None,
        }
    }

    /// Sets the state of a task from its checkbox, and notes guesses.
    fn read_state(&self, raw: &mut RawTask) {
        let state = match self.mark() {
            None => return,
            Some("") => None,
            Some("x" | "X" | "✓" | "✔") => Some(State::Done),
            Some("~" | "/" | ">") => Some(State::Running),
            Some("-") => Some(State::Skipped),
            Some(mark) => match state_of(mark).filter(|_| mark.chars().count() > 1 || !mark.is_ascii()) {
                Some(state) => Some(state),
                None => {
                    let message = format!(
                        "the mark `{}` of `{}` is unknown: it counts as pending",
                        visible(mark),
                        visible(&one_line(&raw.task.title, 60))
                    );
                    raw.notes.push(Diagnostic::new(&GUESS, self.line.span(), message));
                    None
                }
            },
        };
        if state.is_none() && raw.task.state == Some(State::Done) {
            let message = format!(
                "the box of `{}` is not checked: the task counts as pending, not as done",
                visible(&one_line(&raw.task.title, 60))
            );
            raw.notes.push(Diagnostic::new(&GUESS, self.line.span(), message));
            raw.task.state = Some(State::Pending);
        }
        raw.task.state = raw.task.state.or(state);
    }
}
