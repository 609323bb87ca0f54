//! Reads plans written as checklists, numbered lists, bullets below headings, or headings alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::dependency_sentences::statements;
use super::item_text::{read_dependency, read_detail, read_item};
use super::list_reader::{ListKind, ListReader, Lists, elision_after, finish_plan, jump_in};
use super::markdown_lines::MarkdownLine;
use super::names::{plain, shown};
use super::phrases::{
    begins_with_verb, is_criteria_label, is_dependency_field, is_field, is_label, is_phase, is_step_line, is_version,
};
use super::raw::{RawPlan, Reference, guess};
use super::sections::{OtherLabel, OutlineScan, OutlineSection, ScannedItem, WorkPlaces, scan};
use super::words::after_any;
use crate::diagnostic::Diagnostic;
use crate::text::Span;

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
    let mut notes = add_other_lists(&scan, &mut chosen);
    if kind == ListKind::Checklist {
        notes.extend(add_without_boxes(&scan, &mut chosen));
    }
    let superseded = remove_superseded(&scan, &mut chosen);
    let lists: BTreeSet<usize> = scan.items_of(&chosen).map(|item| item.list).collect();
    let mut options = lists.into_iter().filter_map(|list| scan.option_of(list));
    if let (Some(first), Some(second)) = (options.next(), options.next()) {
        return Lists::Alternatives(first, second);
    }
    let mut reader = ListReader::new(&scan, kind, chosen);
    reader.read();
    reader.plan.notes.extend(notes);
    if let (Some(other), Some(own)) = (superseded, reader.plan.tasks.first()) {
        let message = "there is another version of this plan, which the text replaces or rejects: this one is read";
        let note = guess(Span::at(own.task.place.start as usize), message);
        reader.plan.notes.push(note.with_related(other, "the other version"));
    }
    reader.finish()
}

/// Returns the label by which an item's list is something else than tasks.
pub(super) fn other_label(lines: &[MarkdownLine<'_>], item: &MarkdownLine<'_>) -> Option<OtherLabel> {
    let scan = scan(lines);
    let item = scan.items.iter().find(|own| own.line.at == item.at)?;
    scan.other_label(item.list)
}

/// Removes the items of the lists before a corrected one, and of outdated lists next to others. Returns where the first of these begins.
fn remove_superseded(scan: &OutlineScan<'_>, chosen: &mut BTreeSet<usize>) -> Option<Span> {
    let first_place = |items: &BTreeSet<usize>| scan.items_of(items).next().map(|item| Span::at(item.line.at));
    let mut superseded = None;
    if let Some(corrected) = scan
        .items_of(chosen)
        .filter(|item| scan.is_correction(item.list))
        .last()
    {
        superseded = first_place(chosen);
        chosen.retain(|&ix| scan.items.get(ix).is_some_and(|item| item.list >= corrected.list));
    }
    let outdated = scan.items_of(chosen).filter(|item| scan.is_outdated(item.list));
    let outdated: BTreeSet<usize> = outdated.map(|item| item.ix).collect();
    if outdated.len() < chosen.len() {
        superseded = superseded.or_else(|| first_place(&outdated));
        chosen.retain(|ix| !outdated.contains(ix));
    }
    // The rest may be the whole list.
    superseded.filter(|place| first_place(chosen) != Some(*place))
}

/// Returns which of the text's lists are the plan.
fn kind_of(scan: &OutlineScan<'_>) -> Option<ListKind> {
    let has = |wanted: &dyn Fn(&ScannedItem<'_>) -> bool| scan.items.iter().any(wanted);
    let headings = heading_tasks(scan);
    let is_open = |item: &ScannedItem<'_>| item.parent.is_none() && scan.is_work_list(item.list);
    let has_numbered = || has(&|item| is_open(item) && item.is_ordered() && !item.is_box());
    // Checkboxes about how tasks are done are no tasks.
    let is_work_box = |item: &ScannedItem<'_>| item.is_box() && !scan.is_criterion(item);
    if has(&is_work_box) && !(has_numbered() && are_criteria_of_numbered(scan))
        || has(&|item| item.is_box()) && headings.len() < 2 && !has_numbered()
    {
        return Some(ListKind::Checklist);
    }
    if headings.len() >= 2 {
        return Some(ListKind::Headings);
    }
    if has_numbered() {
        return Some(ListKind::Numbered);
    }
    if has(&is_open) {
        return Some(ListKind::Bullets);
    }
    let mut headings = headings.iter().filter_map(|&ix| scan.sections.get(ix));
    headings
        .any(|section| is_step_line(section.title))
        .then_some(ListKind::Headings)
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
        let above = scan
            .parent_of(item)
            .filter(|above| above.number().is_some() && !above.is_box());
        let Some(above) = above.filter(|_| !item.is_ordered()) else {
            return false;
        };
        with_boxes.insert(above.ix);
    }
    let is_top =
        |item: &&ScannedItem<'_>| item.parent.is_none() && item.number().is_some() && scan.is_work_list(item.list);
    with_boxes.len() < scan.items.iter().filter(is_top).count()
}

/// Returns the sections that are tasks themselves: "Task 3: …", or numbered ones without lists.
fn heading_tasks(scan: &OutlineScan<'_>) -> Vec<usize> {
    let sections_where = |is_task: &dyn Fn(&OutlineSection<'_>) -> bool| -> Vec<usize> {
        let sections = scan.sections.iter().enumerate();
        sections
            .filter(|(_, section)| is_task(section))
            .map(|(ix, _)| ix)
            .collect()
    };
    let id_of = |section: &OutlineSection<'_>| read_item(section.title, None, 0).task.id;
    let named = sections_where(&|section| {
        let lower = plain(section.title).to_lowercase();
        let number = after_any(&lower, &["task ", "step ", "story ", "ticket ", "issue "]).unwrap_or("");
        number
            .trim_start_matches(['#', ' '])
            .starts_with(|c: char| c.is_ascii_digit())
            || is_step_line(section.title)
            || id_of(section).is_some_and(|id| id.len() > 1 && id.starts_with(|c: char| c.is_ascii_uppercase()))
    });
    if named.len() >= 2 {
        return named;
    }
    let numbered =
        sections_where(&|section| id_of(section).is_some() && !is_phase(section.title) && !is_version(section.title));
    let is_below = |item: &&ScannedItem<'_>| item.section.is_some_and(|own| numbered.binary_search(&own).is_ok());
    let below: Vec<&ScannedItem<'_>> = scan.items.iter().filter(is_below).collect();
    match below.is_empty() || are_fields(scan, &below) {
        true => numbered,
        false => Vec::new(),
    }
}

/// Returns whether the items below numbered headings describe these, so that the headings are the tasks.
fn are_fields(scan: &OutlineScan<'_>, below: &[&ScannedItem<'_>]) -> bool {
    let is_task = |item: &&ScannedItem<'_>| item.is_box() && !scan.is_criterion(item) || item.number().is_some();
    if below.iter().any(is_task) {
        return false;
    }
    let fields = || below.iter().filter(|item| is_field(item.line.text));
    let sections: BTreeSet<Option<usize>> = below.iter().map(|item| item.section).collect();
    let with_fields: BTreeSet<Option<usize>> = fields().map(|item| item.section).collect();
    sections == with_fields || fields().any(|item| is_dependency_field(item.line.text))
}

/// Reads headings as tasks, and everything below them as their details.
fn of_headings(scan: &OutlineScan<'_>) -> Lists {
    let mut plan = RawPlan::default();
    let mut tasks: HashMap<usize, usize> = HashMap::new();
    let above = |section_ix: usize| scan.sections.get(section_ix).and_then(|section| section.parent);
    for section_ix in heading_tasks(scan) {
        let Some(section) = scan.sections.get(section_ix) else {
            continue;
        };
        tasks.insert(section_ix, plan.tasks.len());
        let mut raw = read_item(section.title, None, section.at);
        // "1. Data layer" with "1.1 Define the models" below it is a group.
        let mut around = std::iter::successors(above(section_ix), |&ix| above(ix));
        let parent = around.find_map(|ix| plan.tasks.get(*tasks.get(&ix)?));
        raw.parent = parent.and_then(|raw| Some(Reference::certain(raw.task.id.as_deref()?, raw.task.place)));
        plan.tasks.push(raw);
    }
    add_details(scan, &tasks, &mut plan);
    let place = plan.tasks.first().map_or(Span::at(0), |task| task.task.place);
    let numbers = plan.tasks.iter();
    let numbers = numbers.filter_map(|raw| Some((raw.task.id.as_ref()?.parse().ok()?, raw.task.place)));
    let numbers: Vec<(u64, Span)> = numbers.collect();
    let cut = elision_after(scan, place.start).or_else(|| jump_in(scan, &numbers));
    finish_plan(plan, place, cut, true)
}

/// Adds what stands below headings to their tasks; `tasks` has these by their sections.
fn add_details(scan: &OutlineScan<'_>, tasks: &HashMap<usize, usize>, plan: &mut RawPlan) {
    // Below a label without names, as in "**Dependencies:**", the items are the names.
    let (mut has_label, mut label_section) = (false, None);
    for detail in &scan.details {
        // Sections below a task belong to it.
        let above = |&ix: &usize| scan.sections.get(ix).and_then(|section| section.parent);
        let mut around = std::iter::successors(detail.section, above);
        let task_ix = around.find_map(|ix| tasks.get(&ix));
        let Some(task) = task_ix.and_then(|&task_ix| plan.tasks.get_mut(task_ix)) else {
            continue;
        };
        let is_label = is_dependency_field(detail.text) && is_label(detail.text);
        if is_label || label_section != detail.section {
            let title = detail
                .section
                .and_then(|ix| scan.sections.get(ix))
                .map_or("", |section| section.title);
            has_label = is_label || is_dependency_field(title) && !title.contains(": ");
            label_section = detail.section;
        }
        if is_label || is_criteria_label(detail.text) && plain(detail.text).split_whitespace().count() < 4 {
            continue;
        }
        let item = detail.item.and_then(|ix| scan.items.get(ix));
        // A sentence that names both ends of a dependency is read separately.
        match item.filter(|item| scan.is_criterion(item)) {
            Some(item) => task.task.criteria.push(plain(item.line.text)),
            None if statements(detail.text, false).is_link() => {}
            None if has_label && detail.item.is_some() => read_dependency(detail.text, detail.at, task),
            None => read_detail(detail.text, detail.at, task),
        }
    }
}

/// Returns the items that are tasks or contain tasks.
fn chosen_items(scan: &OutlineScan<'_>, kind: ListKind) -> BTreeSet<usize> {
    let is_open = |item: &&ScannedItem<'_>| scan.is_work_list(item.list);
    let mut chosen = BTreeSet::new();
    if kind != ListKind::Checklist {
        for item in scan.items.iter().filter(is_open) {
            let is_task = || kind == ListKind::Bullets || item.is_ordered() || scan.has_ids_alone(item.list);
            if scan.is_chosen(item, &chosen, is_task) {
                chosen.insert(item.ix);
            }
        }
        return chosen;
    }
    let boxes = || scan.items.iter().filter(|item| item.is_box());
    chosen.extend(boxes().filter(is_open).map(|item| item.ix));
    if chosen.is_empty() {
        chosen.extend(boxes().map(|item| item.ix));
    }
    // An item that contains checkboxes is a group, with or without its own.
    let mut parents: Vec<usize> = scan.items_of(&chosen).filter_map(|item| item.parent).collect();
    while let Some(parent) = parents.pop() {
        if chosen.insert(parent) {
            parents.extend(scan.items.get(parent).and_then(|item| item.parent));
        }
    }
    chosen
}

/// How many lists that are not read are named.
const MAX_NAMED: usize = 10;

/// Adds the lists of another kind that are work as well, and returns what was guessed about these and about those that are left out.
fn add_other_lists(scan: &OutlineScan<'_>, chosen: &mut BTreeSet<usize>) -> Vec<Diagnostic> {
    let own: BTreeSet<usize> = scan.items_of(chosen).map(|item| item.list).collect();
    let mut places = WorkPlaces::default();
    places.extend(own.iter().filter_map(|&list| scan.place_of(list)));
    let mut firsts: BTreeMap<usize, Vec<&ScannedItem<'_>>> = BTreeMap::new();
    for item in &scan.items {
        let is_open = (!scan.is_labelled(item.list) || item.is_box()) && !item.is_legend();
        if item.parent.is_none() && is_open && !own.contains(&item.list) {
            firsts.entry(item.list).or_default().push(item);
        }
    }
    let task_of = |item: &ScannedItem<'_>| read_item(item.body(), None, 0).task;
    let are_marked = |items: &[&ScannedItem<'_>]| items.iter().all(|item| item.is_box() || item.is_ordered());
    let are_verbs = |items: &[&ScannedItem<'_>]| items.iter().all(|item| begins_with_verb(&task_of(item).title));
    // Where the tasks have ids, a list without ids refers to them.
    let has_id = |id: Option<String>| id.is_some_and(|id| id.starts_with(|c: char| c.is_ascii_alphabetic()));
    let have_ids = scan.items_of(chosen).all(|item| has_id(task_of(item).id));
    let is_strong = |list: usize, items: &[&ScannedItem<'_>]| {
        are_marked(items) && !have_ids && scan.is_work_list(list) && !scan.is_aside(list)
    };
    let strong = firsts.iter().filter(|(list, items)| is_strong(**list, items));
    places.extend(strong.filter_map(|(&list, _)| scan.place_of(list)));
    let (mut notes, mut added) = (Vec::new(), BTreeSet::new());
    for (list, items) in firsts {
        let Some(first) = items.first() else {
            continue;
        };
        let is_apart = || {
            scan.place_of(list)
                .is_some_and(|place| scan.is_part_of_work(place, &places))
        };
        let is_weak = || !are_marked(&items) && !have_ids && is_apart() && !scan.is_aside(list) && are_verbs(&items);
        let is_criterion = items.iter().all(|item| scan.is_criterion(item));
        let is_taken = !is_criterion && (is_strong(list, &items) || is_weak());
        let title = shown(&plain(first.line.text), 60);
        let message = match is_taken {
            true => format!("the list that begins with \"{title}\" is read as tasks as well"),
            false => format!("the list that begins with \"{title}\" is not read as tasks"),
        };
        added.extend(is_taken.then_some(list));
        notes.push(guess(first.line.span(), message));
    }
    for item in scan.items.iter().filter(|item| added.contains(&item.list)) {
        if scan.is_chosen(item, chosen, || true) {
            chosen.insert(item.ix);
        }
    }
    notes.truncate(MAX_NAMED);
    notes
}

/// Adds the items without a box to a checklist in which most have one. Returns what was guessed about these and about those of other
/// lists.
fn add_without_boxes(scan: &OutlineScan<'_>, chosen: &mut BTreeSet<usize>) -> Vec<Diagnostic> {
    let top = || {
        scan.items
            .iter()
            .filter(|item| item.parent.is_none() && !item.is_legend())
    };
    let mut counts: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for item in top() {
        let (n_boxes, n_others) = counts.entry(item.list).or_default();
        *(if item.is_box() { n_boxes } else { n_others }) += 1;
    }
    let mut notes = Vec::new();
    for item in top().filter(|item| !item.is_box()) {
        let (n_boxes, n_others) = counts.get(&item.list).copied().unwrap_or_default();
        if n_boxes == 0 || chosen.contains(&item.ix) {
            continue;
        }
        let title = shown(&plain(item.line.text), 60);
        let is_taken = n_boxes >= n_others && !scan.is_labelled(item.list);
        let message = match is_taken {
            true => format!("`{title}` has no box: it is read as a task as well"),
            false => format!("`{title}` has no box: it is not read as a task"),
        };
        chosen.extend(is_taken.then_some(item.ix));
        notes.push(guess(item.line.span(), message));
    }
    notes.truncate(MAX_NAMED);
    notes
}
