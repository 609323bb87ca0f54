//! Reads plans written as checklists, numbered lists, bullets below headings, or headings alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::dependency_sentences::statements;
use super::item_text::{read_dependency, read_detail, read_item};
use super::list_reader::{ListKind, ListReader, Lists, elision_after, finish_plan, jump_in};
use super::markdown_lines::MarkdownLine;
use super::names::{one_line, plain};
use super::phrases::{
    begins_with_verb, is_criteria_label, is_dependency_field, is_field, is_label, is_phase, is_step_line, is_version,
};
use super::raw::{RawPlan, Reference};
use super::rules::GUESS;
use super::sections::{OtherLabel, OutlineScan, OutlineSection, ScannedItem, WorkPlaces, scan};
use crate::diagnostic::Diagnostic;
use crate::text::{Span, visible};

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
