//! The names of all tasks and groups of an answer, to resolve dependencies.

use std::collections::HashMap;

use super::name_tokens::previous_several;
use super::names::{bare_id, folded, is_none_word, key_words, last_number, one_line, plain};
use super::raw::{RawPlan, Reference};
use crate::text::visible;

/// How many tasks an unknown name is compared with letter by letter.
const MAX_COMPARED: usize = 200;

/// The target of a dependency's name.
#[derive(Debug)]
pub(super) enum NameLookup {
    Tasks {
        tasks: Vec<usize>,
        /// The guess, in words.
        guess: Option<String>,
        /// Whether it counts the positions of tasks.
        by_place: bool,
    },
    Group(usize),
    /// It is ambiguous between two tasks.
    Several(usize, usize),
    None,
}

impl NameLookup {
    fn one(task: usize) -> Self {
        NameLookup::many(vec![task])
    }

    fn many(tasks: Vec<usize>) -> Self {
        NameLookup::Tasks {
            tasks,
            guess: None,
            by_place: false,
        }
    }
}

/// A task or a group that is an element of a list.
#[derive(Clone, Copy, Debug)]
enum InList {
    Task(usize),
    Group(usize),
}

/// Tasks and groups by their names.
#[derive(Default)]
pub(super) struct Index {
    n_tasks: usize,
    ids: HashMap<String, Vec<usize>>,
    bare_ids: HashMap<String, Vec<usize>>,
    /// Numbers within lists.
    numbers: HashMap<String, Vec<usize>>,
    /// Numbers at the end of ids, if they are unique.
    id_numbers: Option<HashMap<u64, usize>>,
    titles: HashMap<String, Vec<usize>>,
    words: HashMap<String, Vec<usize>>,
    word_sets: HashMap<Vec<String>, Vec<usize>>,
    groups: HashMap<String, Vec<usize>>,
    /// Tasks and groups by their list and their id or number in it.
    in_lists: HashMap<(usize, String), Vec<InList>>,
    /// The tasks of each group.
    pub(super) members: Vec<Vec<usize>>,
    has_ids: bool,
    /// Whether every task has an id, and none of these ends with a digit: then a number is a place.
    have_words_for_ids: bool,
}

impl Index {
    pub(super) fn new(plan: &RawPlan) -> Self {
        let mut index = Index {
            n_tasks: plan.tasks.len(),
            members: plan.members(),
            has_ids: plan.tasks.iter().any(|raw| raw.task.id.is_some()),
            have_words_for_ids: plan.tasks.iter().all(|raw| raw.task.id.as_deref().is_some_and(is_word)),
            ..Index::default()
        };
        let mut by_number = HashMap::new();
        let mut have_numbers = true;
        for (task_ix, raw) in plan.tasks.iter().enumerate() {
            if let Some(id) = &raw.task.id {
                index.ids.entry(id.to_lowercase()).or_default().push(task_ix);
                index.bare_ids.entry(bare_id(id)).or_default().push(task_ix);
                let number = last_number(id);
                have_numbers &= number.is_some_and(|number| by_number.insert(number, task_ix).is_none());
            }
            have_numbers &= raw.task.id.is_some();
            if let Some(name) = raw.task.id.as_ref().or(raw.number.as_ref()) {
                let key = (raw.list, name.to_lowercase());
                index.in_lists.entry(key).or_default().push(InList::Task(task_ix));
            }
            if let Some(number) = &raw.number {
                index.numbers.entry(number.clone()).or_default().push(task_ix);
            }
            index.titles.entry(folded(&raw.task.title)).or_default().push(task_ix);
            let words = key_words(&raw.task.title);
            for word in &words {
                index.words.entry(word.clone()).or_default().push(task_ix);
            }
            index.word_sets.entry(words).or_default().push(task_ix);
        }
        index.id_numbers = have_numbers.then_some(by_number);
        for (group_ix, group) in plan.groups.iter().enumerate() {
            let mut add = |name: String| {
                let own = index.groups.entry(name).or_default();
                if own.last() != Some(&group_ix) {
                    own.push(group_ix);
                }
            };
            add(folded(&group.name));
            if let Some((list, id)) = group.list.zip(group.id.as_ref()) {
                let key = (list, id.to_lowercase());
                index.in_lists.entry(key).or_default().push(InList::Group(group_ix));
            }
            // "Phase 1: Setup" is called "Phase 1" and "Setup".
            if let Some((start, rest)) = group.name.split_once([':', '–', '—', '(']) {
                add(folded(start));
                add(folded(rest.trim_end_matches(')')));
            }
            if let Some(id) = &group.id {
                add(id.to_lowercase());
            }
        }
        index
    }

    /// Finds the target of a task's reference.
    pub(super) fn find(&self, plan: &RawPlan, reference: &Reference, owner: usize, base: usize) -> NameLookup {
        let list = plan.tasks.get(owner).map(|raw| raw.list);
        self.find_in(plan, reference, list, owner, base)
    }

    /// Finds the target of a group's reference: a group or a task next to it, if one has this name.
    pub(super) fn find_for_group(
        &self,
        plan: &RawPlan,
        reference: &Reference,
        group: usize,
        base: usize,
    ) -> NameLookup {
        let list = plan.groups.get(group).and_then(|group| group.list);
        let owner = self
            .members
            .get(group)
            .and_then(|own| own.first().copied())
            .unwrap_or(0);
        let is_heading = list.is_none();
        // Below headings, a number means a heading rather than a task.
        let name = reference.text.trim().trim_start_matches('#').to_lowercase();
        let own = self.groups.get(&name).filter(|groups| groups.len() == 1 && is_heading);
        match own.and_then(|groups| groups.first()) {
            Some(&other) if other != group => NameLookup::Group(other),
            _ => self.find_in(plan, reference, list, owner, base),
        }
    }

    fn find_in(
        &self,
        plan: &RawPlan,
        reference: &Reference,
        list: Option<usize>,
        owner: usize,
        base: usize,
    ) -> NameLookup {
        let text = plain(&reference.text);
        // Ids can be relative to the list of the task, as sub-tasks often have them.
        if let Some([only]) = list.and_then(|list| self.in_lists.get(&(list, text.to_lowercase())).map(Vec::as_slice)) {
            return match only {
                InList::Task(task) => NameLookup::one(*task),
                InList::Group(group) => NameLookup::Group(*group),
            };
        }
        // "2 of phase 1": the numbers begin again in each phase.
        let lower = text.to_lowercase();
        let in_phase = [" of phase ", " in phase ", " from phase "]
            .iter()
            .find_map(|words| lower.split_once(words));
        if let Some((name, phase)) = in_phase
            && let NameLookup::Group(group) = self.find_text(plan, &format!("phase {phase}"), owner, base)
        {
            let is_named = |&&task: &&usize| {
                let raw = plan.tasks.get(task);
                raw.is_some_and(|raw| {
                    raw.task
                        .id
                        .as_ref()
                        .or(raw.number.as_ref())
                        .is_some_and(|own| own == name)
                })
            };
            let members = self.members.get(group).into_iter().flatten();
            return several(&members.filter(is_named).copied().take(2).collect::<Vec<usize>>());
        }
        // "2 (for the user), 3 (for the amounts)": what stands in brackets explains a name.
        let bare = without_remarks(&text);
        let has_several = bare.contains([',', ';', '&', '+']) || bare.contains(" and ");
        let is_known = || self.titles.contains_key(&folded(&text)) || self.ids.contains_key(&text.to_lowercase());
        let text = match bare.len() < text.len() && (has_several || is_none_word(&bare)) && !is_known() {
            true => bare,
            false => text,
        };
        match self.find_text(plan, &text, owner, base) {
            NameLookup::None => self.find_parts(plan, &text, owner, base),
            found => found,
        }
    }

    /// Finds every name of a list such as "1, 2 and 5".
    fn find_parts(&self, plan: &RawPlan, text: &str, owner: usize, base: usize) -> NameLookup {
        let spaced = text
            .replace(" and ", ",")
            .replace(" & ", ",")
            .replace(['+', ';', '/'], ",");
        let parts: Vec<&str> = spaced
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect();
        let (mut all, mut guesses, mut is_by_place) = (Vec::new(), Vec::new(), false);
        if parts.len() < 2 {
            return self.find_alike(text, owner);
        }
        for part in parts {
            match self.find_text(plan, part.strip_prefix("and ").unwrap_or(part), owner, base) {
                NameLookup::Tasks { tasks, guess, by_place } => {
                    all.extend(tasks);
                    guesses.extend(guess);
                    is_by_place |= by_place;
                }
                NameLookup::Group(group) => all.extend(self.members.get(group).into_iter().flatten()),
                NameLookup::None => match self.find_alike(part, owner) {
                    NameLookup::Tasks { tasks, guess, .. } => {
                        all.extend(tasks);
                        guesses.extend(guess);
                    }
                    other => {
                        return if matches!(other, NameLookup::Several(..)) {
                            other
                        } else {
                            self.find_alike(text, owner)
                        };
                    }
                },
                found => return found,
            }
        }
        NameLookup::Tasks {
            tasks: all,
            guess: (!guesses.is_empty()).then(|| guesses.join("; ")),
            by_place: is_by_place,
        }
    }

    /// Finds one name, by everything but similarity.
    fn find_text(&self, plan: &RawPlan, text: &str, owner: usize, base: usize) -> NameLookup {
        let lower = text.to_lowercase();
        if let Some(tasks) = self.ids.get(&lower) {
            return several(tasks);
        }
        if is_none_word(text) {
            return NameLookup::many(Vec::new());
        }
        if let Some((all, others)) = lower.split_once(" except ") {
            let others = others.strip_prefix("for ").unwrap_or(others);
            return self.find_except(plan, (all, others), owner, base);
        }
        if let Some(found) = self.find_phrase(&lower, owner) {
            return found;
        }
        if let Some(tasks) = self.titles.get(&folded(text)) {
            return several(tasks);
        }
        if let Some(group) = self
            .groups
            .get(&folded(text))
            .filter(|groups| groups.len() == 1)
            .and_then(|groups| groups.first())
        {
            return NameLookup::Group(*group);
        }
        let bare = lower.trim_start_matches('#').trim();
        let noun = ["tasks", "task", "steps", "step", "item", "story", "issue", "no.", "t"];
        let stripped = noun
            .iter()
            .find_map(|noun| bare.strip_prefix(noun))
            .map(|rest| rest.trim_start_matches([' ', '#', '-', '_']));
        for name in [Some(bare), stripped].into_iter().flatten() {
            if name != lower
                && let Some(tasks) = self.ids.get(name)
            {
                return several(tasks);
            }
            if let Some(found) = self.find_number(plan, name, owner, base) {
                return found;
            }
        }
        for name in [Some(bare), stripped].into_iter().flatten() {
            if let Some(found) = self.find_range(plan, name, owner, base) {
                return found;
            }
        }
        // A cell can repeat the words of its column: "After 3".
        let words = ["after ", "depends on ", "needs ", "requires ", "blocked by "];
        if let Some(rest) = words.iter().find_map(|words| lower.strip_prefix(words)) {
            return self.find_text(plan, rest.trim_start_matches(':').trim(), owner, base);
        }
        if let Some(tasks) = self.bare_ids.get(&bare_id(text)).filter(|_| !bare_id(text).is_empty()) {
            return match tasks.as_slice() {
                [only] => guessed(*only, plan, text),
                tasks => several(tasks),
            };
        }
        self.find_before_mark(text)
    }

    /// Finds the tasks of "all … except 3".
    fn find_except(&self, plan: &RawPlan, (all, others): (&str, &str), owner: usize, base: usize) -> NameLookup {
        let others = match self.find_text(plan, others, owner, base) {
            NameLookup::None => self.find_parts(plan, others, owner, base),
            found => found,
        };
        let (others, by_place) = match others {
            NameLookup::Tasks { tasks, by_place, .. } => (tasks, by_place),
            NameLookup::Group(group) => (self.members.get(group).cloned().unwrap_or_default(), false),
            found => return found,
        };
        match self.find_phrase(all, owner) {
            Some(NameLookup::Tasks { mut tasks, guess, .. }) => {
                tasks.retain(|task| !others.contains(task));
                NameLookup::Tasks { tasks, guess, by_place }
            }
            _ => NameLookup::None,
        }
    }

    /// Finds an id with text after it: "T1: Create the table", "T1 (schema)".
    fn find_before_mark(&self, text: &str) -> NameLookup {
        let Some(at) = text.find([':', '(', '–', '—']).or_else(|| text.find(" - ")) else {
            return NameLookup::None;
        };
        let start = plain(text.get(..at).unwrap_or(""));
        let noun = ["Task ", "Step ", "task ", "step "]
            .iter()
            .find_map(|noun| start.strip_prefix(noun))
            .unwrap_or(&start);
        match self.ids.get(&noun.to_lowercase()).map(Vec::as_slice) {
            Some([only]) => NameLookup::one(*only),
            _ => match self.numbers.get(noun).map(Vec::as_slice) {
                Some([only]) => NameLookup::one(*only),
                _ => NameLookup::None,
            },
        }
    }

    fn find_phrase(&self, lower: &str, owner: usize) -> Option<NameLookup> {
        #[rustfmt::skip]
        let is_previous = [
            "previous", "the previous step", "the previous task", "the previous one", "previous step",
            "previous task", "previous one", "the preceding step", "the preceding task", "the step before", "the task before",
            "the one before",
        ];
        if let Some((n, _)) = previous_several(lower).filter(|(_, n_bytes)| *n_bytes == lower.len()) {
            return Some(match owner.checked_sub(n) {
                Some(first) if owner < self.n_tasks => NameLookup::many((first..owner).collect()),
                _ => NameLookup::None,
            });
        }
        let is_all = ["all", "everything", "all of them"];
        let is_above = lower.contains("above")
            || lower.starts_with("all previous")
            || lower.starts_with("all the previous")
            || lower.starts_with("all earlier")
            || lower.starts_with("everything");
        let is_others =
            lower.starts_with("all other") || lower == "all tasks" || lower == "all steps" || is_all.contains(&lower);
        if is_previous.contains(&lower) {
            return Some(owner.checked_sub(1).map_or(NameLookup::None, NameLookup::one));
        }
        if is_above && lower.len() < 30 {
            return Some(NameLookup::many((0..owner).collect()));
        }
        // All tasks are those before this one, unless it is the first.
        is_others.then(|| match owner {
            0 => NameLookup::many((1..self.n_tasks).collect()),
            owner => NameLookup::many((0..owner).collect()),
        })
    }

    /// Finds a number: in the list of its owner, at the end of an id, or as a position.
    fn find_number(&self, plan: &RawPlan, name: &str, owner: usize, base: usize) -> Option<NameLookup> {
        let is_number = !name.is_empty() && name.chars().all(|c| c.is_ascii_digit() || c == '.');
        if !is_number {
            return None;
        }
        if let Some(tasks) = self.numbers.get(name) {
            let list = plan.tasks.get(owner).map(|raw| raw.list);
            let own: Vec<usize> = tasks
                .iter()
                .copied()
                .filter(|&task| plan.tasks.get(task).map(|raw| raw.list) == list)
                .collect();
            return Some(if own.is_empty() { several(tasks) } else { several(&own) });
        }
        if let Some(group) = self.groups.get(name).and_then(|groups| groups.first()) {
            return Some(NameLookup::Group(*group));
        }
        let number: u64 = name.parse().ok()?;
        if let Some(numbers) = &self.id_numbers {
            let own_ids_are_numbers = self.ids.contains_key(&number.to_string());
            let task = *numbers.get(&number).filter(|_| !own_ids_are_numbers)?;
            return Some(guessed(task, plan, name));
        }
        if self.has_ids && !self.have_words_for_ids || !self.numbers.is_empty() {
            return None;
        }
        let place = usize::try_from(number).ok()?.checked_sub(base)?;
        let id = plan.tasks.get(place)?.task.id.as_deref();
        let guess = id.map(|id| format!("`{name}` is read as the place of `{}`", visible(&one_line(id, 40))));
        Some(NameLookup::Tasks {
            tasks: vec![place],
            guess,
            by_place: true,
        })
    }

    /// Finds the tasks of a range such as "1-3" and "T001 to T003".
    fn find_range(&self, plan: &RawPlan, text: &str, owner: usize, base: usize) -> Option<NameLookup> {
        let marks = ["..", "–", "—", " to ", " through ", "-"];
        marks.iter().find_map(|mark| {
            let (from, to) = text.split_once(mark)?;
            let end = |name: &str| {
                let name = name.trim();
                match self
                    .ids
                    .get(name)
                    .map(|tasks| several(tasks))
                    .or_else(|| self.find_number(plan, name, owner, base))
                {
                    Some(NameLookup::Tasks { tasks, by_place, .. }) => Some((*tasks.first()?, by_place)),
                    _ => None,
                }
            };
            let ((from, by_place), (to, _)) = (end(from)?, end(to)?);
            (from < to).then(|| NameLookup::Tasks {
                tasks: (from..=to).collect(),
                guess: None,
                by_place,
            })
        })
    }

    /// Finds the only title that has the words of a name, or nearly its letters.
    fn find_alike(&self, text: &str, owner: usize) -> NameLookup {
        let words = key_words(text);
        if words.is_empty() {
            return NameLookup::None;
        }
        if let Some(tasks) = self.word_sets.get(&words) {
            return alike(tasks, text, owner);
        }
        let mut shared: Option<Vec<usize>> = None;
        for word in &words {
            let with: &[usize] = self.words.get(word).map_or(&[], Vec::as_slice);
            shared = Some(match shared {
                None => with.to_vec(),
                Some(shared) => shared
                    .into_iter()
                    .filter(|task| with.binary_search(task).is_ok())
                    .collect(),
            });
        }
        let shared = shared.unwrap_or_default();
        if !shared.is_empty() && (words.len() > 1 || text.len() > 3) {
            return alike(&shared, text, owner);
        }
        if self.n_tasks > MAX_COMPARED || text.len() < 8 || text.len() > 120 {
            return NameLookup::None;
        }
        let near: Vec<usize> = {
            let own = folded(text);
            let mut near: Vec<(usize, usize)> = self
                .titles
                .iter()
                .flat_map(|(title, tasks)| {
                    let distance = strsim::damerau_levenshtein(&own, title);
                    tasks.iter().map(move |task| (distance, *task))
                })
                .filter(|(distance, _)| *distance <= 2)
                .collect();
            near.sort_unstable();
            near.into_iter().map(|(_, task)| task).collect()
        };
        alike(&near, text, owner)
    }
}

fn is_word(id: &str) -> bool {
    id.len() > 1 && !id.ends_with(|c: char| c.is_ascii_digit())
}

/// Returns a text without what stands in round brackets.
fn without_remarks(text: &str) -> String {
    let (mut out, mut depth) = (String::with_capacity(text.len()), 0usize);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out.trim().to_owned()
}

fn several(tasks: &[usize]) -> NameLookup {
    match tasks {
        [] => NameLookup::None,
        [only] => NameLookup::one(*only),
        [first, second, ..] => NameLookup::Several(*first, *second),
    }
}

/// Returns the only similar task for a name; a task does not name itself.
fn alike(tasks: &[usize], text: &str, owner: usize) -> NameLookup {
    let others: Vec<usize> = tasks.iter().copied().filter(|&task| task != owner).collect();
    match others.as_slice() {
        [only] => NameLookup::Tasks {
            tasks: vec![*only],
            guess: Some(format!(
                "`{}` is read as task {}, whose title has these words",
                visible(&one_line(text, 60)),
                only + 1
            )),
            by_place: false,
        },
        tasks => several(tasks),
    }
}

fn guessed(task: usize, plan: &RawPlan, text: &str) -> NameLookup {
    let id = plan
        .tasks
        .get(task)
        .and_then(|raw| raw.task.id.as_deref())
        .unwrap_or("");
    NameLookup::Tasks {
        tasks: vec![task],
        guess: Some(format!(
            "`{}` is read as `{}`",
            visible(&one_line(text, 40)),
            visible(&one_line(id, 40))
        )),
        by_place: false,
    }
}
