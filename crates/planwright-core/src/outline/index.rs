//! The names of all tasks and groups of an answer, to resolve dependencies.

use std::collections::HashMap;

use super::name_tokens::previous_several;
use super::names::{bare_id, folded, is_none_word, key_words, last_number, plain, shown};
use super::raw::{RawPlan, Reference};
use super::titles::TitleIndex;
use super::words::{after_any, starts_with_any};

/// How many tasks an unknown name is compared with letter by letter.
const MAX_COMPARED: usize = 200;

/// The target of a dependency's name.
#[derive(Debug)]
pub(super) enum NameLookup {
    Tasks(NamedTasks),
    Group(usize),
    /// It is ambiguous between two tasks.
    Several(usize, usize),
    None,
}

/// The tasks that a name means.
#[derive(Debug, Default)]
pub(super) struct NamedTasks {
    pub(super) tasks: Vec<usize>,
    /// The guess, in words.
    pub(super) guess: Option<String>,
    /// Whether it counts the positions of tasks.
    pub(super) by_place: bool,
}

impl NameLookup {
    fn one(task: usize) -> Self {
        NameLookup::many(vec![task])
    }

    fn many(tasks: impl IntoIterator<Item = usize>) -> Self {
        NameLookup::Tasks(NamedTasks {
            tasks: tasks.into_iter().collect(),
            ..NamedTasks::default()
        })
    }

    fn guessed(task: usize, guess: String) -> Self {
        NameLookup::Tasks(NamedTasks {
            tasks: vec![task],
            guess: Some(guess),
            by_place: false,
        })
    }

    /// Returns the only one of some tasks.
    fn only(tasks: &[usize]) -> Self {
        match tasks {
            [] => NameLookup::None,
            [only] => NameLookup::one(*only),
            [first, second, ..] => NameLookup::Several(*first, *second),
        }
    }

    /// Returns the tasks that are named neither by a guess nor by their positions.
    pub(super) fn certain(&self) -> Option<&[usize]> {
        match self {
            NameLookup::Tasks(named) if named.guess.is_none() && !named.by_place => Some(&named.tasks),
            _ => None,
        }
    }

    /// Returns the task that is named neither by a guess nor by its position.
    pub(super) fn certain_task(&self) -> Option<usize> {
        match self.certain()? {
            [only] => Some(*only),
            _ => None,
        }
    }
}

/// A task or a group that is an element of a list.
#[derive(Clone, Copy, Debug)]
enum InList {
    Task(usize),
    Group(usize),
}

/// What a task is called besides its title.
struct IndexedName {
    id: Option<String>,
    number: Option<String>,
    list: usize,
}

impl IndexedName {
    fn id_or_number(&self) -> Option<&String> {
        self.id.as_ref().or(self.number.as_ref())
    }
}

/// Tasks and groups by their names.
#[derive(Default)]
pub(super) struct Index {
    tasks: Vec<IndexedName>,
    titles: TitleIndex,
    ids: HashMap<String, Vec<usize>>,
    bare_ids: HashMap<String, Vec<usize>>,
    /// Numbers within lists.
    numbers: HashMap<String, Vec<usize>>,
    /// Numbers at the end of ids, if they are unique.
    id_numbers: Option<HashMap<u64, usize>>,
    /// Whether a number is the position of a task: no task has a number, and none has an id, or each has a word for one.
    are_numbers_places: bool,
    groups: HashMap<String, Vec<usize>>,
    /// The list in which each group is an element.
    group_lists: Vec<Option<usize>>,
    /// Tasks and groups by their list and their id or number in it.
    in_lists: HashMap<(usize, String), Vec<InList>>,
    /// The tasks of each group.
    members: Vec<Vec<usize>>,
}

/// Who asks for a name: the task or the first task of the group that depends on it, with its list, and the number of the first task.
#[derive(Clone, Copy)]
struct Asker {
    owner: usize,
    list: Option<usize>,
    base: usize,
}

impl Index {
    pub(super) fn new(plan: &RawPlan) -> Self {
        let mut index = Index {
            titles: TitleIndex::new(plan.tasks.iter().map(|raw| raw.task.title.as_str())),
            members: plan.members(),
            ..Index::default()
        };
        let mut by_number = HashMap::new();
        let mut have_numbers = true;
        for (task_ix, raw) in plan.tasks.iter().enumerate() {
            let name = IndexedName {
                id: raw.task.id.clone(),
                number: raw.number.clone(),
                list: raw.list,
            };
            let number = name.id.as_deref().and_then(last_number);
            have_numbers &= number.is_some_and(|number| by_number.insert(number, task_ix).is_none());
            if let Some(id) = &name.id {
                index.ids.entry(id.to_lowercase()).or_default().push(task_ix);
                index.bare_ids.entry(bare_id(id)).or_default().push(task_ix);
            }
            if let Some(own) = name.id_or_number() {
                let key = (name.list, own.to_lowercase());
                index.in_lists.entry(key).or_default().push(InList::Task(task_ix));
            }
            if let Some(number) = &name.number {
                index.numbers.entry(number.clone()).or_default().push(task_ix);
            }
            index.tasks.push(name);
        }
        index.id_numbers = have_numbers.then_some(by_number);
        let is_word = |id: &str| id.len() > 1 && !id.ends_with(|c: char| c.is_ascii_digit());
        let has_word = |name: &IndexedName| name.id.as_deref().is_some_and(is_word);
        let are_words = index.ids.is_empty() || index.tasks.iter().all(has_word);
        index.are_numbers_places = are_words && index.numbers.is_empty();
        index.add_groups(plan);
        index
    }

    fn add_groups(&mut self, plan: &RawPlan) {
        for (group_ix, group) in plan.groups.iter().enumerate() {
            self.group_lists.push(group.list);
            if let Some((list, id)) = group.list.zip(group.id.as_ref()) {
                let key = (list, id.to_lowercase());
                self.in_lists.entry(key).or_default().push(InList::Group(group_ix));
            }
            // "Phase 1: Setup" is called "Phase 1" and "Setup".
            let parts = group.name.split_once([':', '–', '—', '(']);
            let parts = parts.map(|(start, rest)| [folded(start), folded(rest.trim_end_matches(')'))]);
            let id = group.id.as_ref().map(|id| id.to_lowercase());
            for name in [folded(&group.name)]
                .into_iter()
                .chain(parts.into_iter().flatten())
                .chain(id)
            {
                let own = self.groups.entry(name).or_default();
                if own.last() != Some(&group_ix) {
                    own.push(group_ix);
                }
            }
        }
    }

    fn list_of(&self, task: usize) -> Option<usize> {
        self.tasks.get(task).map(|name| name.list)
    }

    pub(super) fn members_of(&self, group: usize) -> &[usize] {
        self.members.get(group).map_or(&[], Vec::as_slice)
    }

    /// Finds the target of a task's reference.
    pub(super) fn find(&self, reference: &Reference, owner: usize, base: usize) -> NameLookup {
        let list = self.list_of(owner);
        self.find_in(reference, Asker { owner, list, base })
    }

    /// Finds the target of a reference that belongs to no task.
    pub(super) fn find_apart(&self, reference: &Reference) -> NameLookup {
        self.find(reference, self.tasks.len(), 1)
    }

    /// Finds the target of a group's reference: a group or a task next to it, if one has this name.
    pub(super) fn find_for_group(&self, reference: &Reference, group: usize, base: usize) -> NameLookup {
        let list = self.group_lists.get(group).copied().flatten();
        let owner = self.members_of(group).first().copied().unwrap_or(0);
        let is_heading = list.is_none();
        // Below headings, a number means a heading rather than a task.
        let name = reference.text.trim().trim_start_matches('#').to_lowercase();
        match self.groups.get(&name).map(Vec::as_slice) {
            Some([other]) if is_heading && *other != group => NameLookup::Group(*other),
            _ => self.find_in(reference, Asker { owner, list, base }),
        }
    }

    fn find_in(&self, reference: &Reference, asker: Asker) -> NameLookup {
        let text = plain(&reference.text);
        let lower = text.to_lowercase();
        // Ids can be relative to the list of the task, as sub-tasks often have them.
        let in_list = asker.list.and_then(|list| self.in_lists.get(&(list, lower.clone())));
        match in_list.map(Vec::as_slice) {
            Some([InList::Task(task)]) => return NameLookup::one(*task),
            Some([InList::Group(group)]) => return NameLookup::Group(*group),
            _ => {}
        }
        if let Some(found) = self.find_in_phase(&lower, asker) {
            return found;
        }
        // "2 (for the user), 3 (for the amounts)": what stands in brackets explains a name.
        let bare = without_remarks(&text);
        let has_several = bare.contains([',', ';', '&', '+']) || bare.contains(" and ");
        let is_known = || self.titles.with_title(&text).is_some() || self.ids.contains_key(&lower);
        let is_explained = bare.len() < text.len() && (has_several || is_none_word(&bare)) && !is_known();
        let text = if is_explained { bare } else { text };
        self.find_all(&text, asker)
    }

    /// Finds a task of "2 of phase 1", whose numbers begin again in each phase.
    fn find_in_phase(&self, lower: &str, asker: Asker) -> Option<NameLookup> {
        let mut words = [" of phase ", " in phase ", " from phase "].into_iter();
        let (name, phase) = words.find_map(|words| lower.split_once(words))?;
        let NameLookup::Group(group) = self.find_text(&format!("phase {phase}"), asker) else {
            return None;
        };
        let is_named = |task: &usize| {
            self.tasks
                .get(*task)
                .and_then(IndexedName::id_or_number)
                .is_some_and(|own| own == name)
        };
        let named = self.members_of(group).iter().copied().filter(is_named);
        Some(NameLookup::only(&named.take(2).collect::<Vec<usize>>()))
    }

    /// Finds a name, or every name of a list.
    fn find_all(&self, text: &str, asker: Asker) -> NameLookup {
        match self.find_text(text, asker) {
            NameLookup::None => self.find_parts(text, asker),
            found => found,
        }
    }

    /// Finds every name of a list such as "1, 2 and 5".
    fn find_parts(&self, text: &str, asker: Asker) -> NameLookup {
        let spaced = text.replace(" and ", ",").replace(" & ", ",");
        let parts = spaced.split([',', '+', ';', '/']).map(str::trim);
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        if parts.len() < 2 {
            return self.find_alike(text, asker.owner);
        }
        let (mut all, mut guesses) = (NamedTasks::default(), Vec::new());
        for part in parts {
            let found = match self.find_text(part.strip_prefix("and ").unwrap_or(part), asker) {
                NameLookup::None => self.find_alike(part, asker.owner),
                found => found,
            };
            match found {
                NameLookup::Tasks(named) => {
                    all.tasks.extend(named.tasks);
                    guesses.extend(named.guess);
                    all.by_place |= named.by_place;
                }
                NameLookup::Group(group) => all.tasks.extend(self.members_of(group)),
                NameLookup::Several(..) => return found,
                NameLookup::None => return self.find_alike(text, asker.owner),
            }
        }
        all.guess = (!guesses.is_empty()).then(|| guesses.join("; "));
        NameLookup::Tasks(all)
    }

    /// Finds one name, by everything but similarity.
    fn find_text(&self, text: &str, asker: Asker) -> NameLookup {
        let lower = text.to_lowercase();
        if let Some(tasks) = self.ids.get(&lower) {
            return NameLookup::only(tasks);
        }
        if is_none_word(text) {
            return NameLookup::many([]);
        }
        if let Some((all, others)) = lower.split_once(" except ") {
            return self.find_except(all, others.strip_prefix("for ").unwrap_or(others), asker);
        }
        if let Some(found) = self.find_phrase(&lower, asker.owner) {
            return found;
        }
        if let Some(tasks) = self.titles.with_title(text) {
            return NameLookup::only(tasks);
        }
        if let Some([group]) = self.groups.get(&folded(text)).map(Vec::as_slice) {
            return NameLookup::Group(*group);
        }
        let bare = lower.trim_start_matches('#').trim();
        let nouns = ["tasks", "task", "steps", "step", "item", "story", "issue", "no.", "t"];
        let stripped = after_any(bare, &nouns).map(|rest| rest.trim_start_matches([' ', '#', '-', '_']));
        let names = || [Some(bare), stripped].into_iter().flatten();
        let by_id = |name: &str| {
            self.ids
                .get(name)
                .filter(|_| name != lower)
                .map(|tasks| NameLookup::only(tasks))
        };
        let by_id_or_number = |name| by_id(name).or_else(|| self.find_number(name, asker));
        if let Some(found) = names().find_map(by_id_or_number) {
            return found;
        }
        if let Some(found) = names().find_map(|name| self.find_range(name, asker)) {
            return found;
        }
        // A cell can repeat the words of its column: "After 3".
        if let Some(rest) = after_any(&lower, &["after ", "depends on ", "needs ", "requires ", "blocked by "]) {
            return self.find_text(rest.trim_start_matches(':').trim(), asker);
        }
        let id = bare_id(text);
        match self.bare_ids.get(&id).filter(|_| !id.is_empty()).map(Vec::as_slice) {
            Some([only]) => self.read_as(*only, text),
            Some(tasks) => NameLookup::only(tasks),
            None => self.find_before_mark(text),
        }
    }

    /// Finds the tasks of "all … except 3".
    fn find_except(&self, all: &str, others: &str, asker: Asker) -> NameLookup {
        let (others, by_place) = match self.find_all(others, asker) {
            NameLookup::Tasks(named) => (named.tasks, named.by_place),
            NameLookup::Group(group) => (self.members_of(group).to_vec(), false),
            found => return found,
        };
        match self.find_phrase(all, asker.owner) {
            Some(NameLookup::Tasks(mut named)) => {
                named.tasks.retain(|task| !others.contains(task));
                NameLookup::Tasks(NamedTasks { by_place, ..named })
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
        let name = after_any(&start, &["Task ", "Step ", "task ", "step "]).unwrap_or(&start);
        let by_id = self.ids.get(&name.to_lowercase()).filter(|tasks| tasks.len() == 1);
        match by_id.or_else(|| self.numbers.get(name)).map(Vec::as_slice) {
            Some([only]) => NameLookup::one(*only),
            _ => NameLookup::None,
        }
    }

    fn find_phrase(&self, lower: &str, owner: usize) -> Option<NameLookup> {
        #[rustfmt::skip]
        const PREVIOUS: &[&str] = &[
            "previous", "the previous step", "the previous task", "the previous one", "previous step",
            "previous task", "previous one", "the preceding step", "the preceding task", "the step before", "the task before",
            "the one before",
        ];
        const ABOVE: &[&str] = &["all previous", "all the previous", "all earlier", "everything"];
        const OTHERS: &[&str] = &["all tasks", "all steps", "all", "all of them"];
        if let Some((n, _)) = previous_several(lower).filter(|(_, n_bytes)| *n_bytes == lower.len()) {
            return Some(match owner.checked_sub(n) {
                Some(first) if owner < self.tasks.len() => NameLookup::many(first..owner),
                _ => NameLookup::None,
            });
        }
        if PREVIOUS.contains(&lower) {
            return Some(owner.checked_sub(1).map_or(NameLookup::None, NameLookup::one));
        }
        if (lower.contains("above") || starts_with_any(lower, ABOVE)) && lower.len() < 30 {
            return Some(NameLookup::many(0..owner));
        }
        // All tasks are those before this one, unless it is the first.
        (lower.starts_with("all other") || OTHERS.contains(&lower)).then(|| match owner {
            0 => NameLookup::many(1..self.tasks.len()),
            owner => NameLookup::many(0..owner),
        })
    }

    /// Finds a number: in the list of its owner, at the end of an id, or as a position.
    fn find_number(&self, name: &str, asker: Asker) -> Option<NameLookup> {
        let is_number = !name.is_empty() && name.chars().all(|c| c.is_ascii_digit() || c == '.');
        if !is_number {
            return None;
        }
        if let Some(tasks) = self.numbers.get(name) {
            let list = self.list_of(asker.owner);
            let own: Vec<usize> = tasks
                .iter()
                .copied()
                .filter(|&task| self.list_of(task) == list)
                .collect();
            return Some(NameLookup::only(if own.is_empty() { tasks } else { &own }));
        }
        if let Some(group) = self.groups.get(name).and_then(|groups| groups.first()) {
            return Some(NameLookup::Group(*group));
        }
        let number: u64 = name.parse().ok()?;
        if let Some(numbers) = &self.id_numbers {
            let own_ids_are_numbers = self.ids.contains_key(&number.to_string());
            let task = *numbers.get(&number).filter(|_| !own_ids_are_numbers)?;
            return Some(self.read_as(task, name));
        }
        let place = usize::try_from(number).ok()?.checked_sub(asker.base)?;
        let id = &self.tasks.get(place).filter(|_| self.are_numbers_places)?.id;
        let guess = id
            .as_ref()
            .map(|id| format!("`{name}` is read as the place of `{}`", shown(id, 40)));
        Some(NameLookup::Tasks(NamedTasks {
            tasks: vec![place],
            guess,
            by_place: true,
        }))
    }

    /// Finds the tasks of a range such as "1-3" and "T001 to T003".
    fn find_range(&self, text: &str, asker: Asker) -> Option<NameLookup> {
        let end = |name: &str| {
            let by_id = self.ids.get(name.trim()).map(|tasks| NameLookup::only(tasks));
            match by_id.or_else(|| self.find_number(name.trim(), asker)) {
                Some(NameLookup::Tasks(named)) => Some((*named.tasks.first()?, named.by_place)),
                _ => None,
            }
        };
        ["..", "–", "—", " to ", " through ", "-"].iter().find_map(|mark| {
            let (from, to) = text.split_once(mark)?;
            let ((from, by_place), (to, _)) = (end(from)?, end(to)?);
            (from < to).then(|| {
                NameLookup::Tasks(NamedTasks {
                    tasks: (from..=to).collect(),
                    guess: None,
                    by_place,
                })
            })
        })
    }

    /// Finds the only title that has the words of a name, or nearly its letters. A task does not name itself.
    fn find_alike(&self, text: &str, owner: usize) -> NameLookup {
        let words = key_words(text);
        if words.is_empty() {
            return NameLookup::None;
        }
        let mut tasks = match self.titles.with_word_set(&words) {
            Some(tasks) => tasks.to_vec(),
            None if words.len() > 1 || text.len() > 3 => self.titles.with_words(&words, usize::MAX),
            None => Vec::new(),
        };
        if tasks.is_empty() && self.tasks.len() <= MAX_COMPARED && (8..=120).contains(&text.len()) {
            tasks = self.titles.near(text, 2);
        }
        tasks.retain(|task| *task != owner);
        match tasks.as_slice() {
            [only] => {
                let guess = format!(
                    "`{}` is read as task {}, whose title has these words",
                    shown(text, 60),
                    only + 1
                );
                NameLookup::guessed(*only, guess)
            }
            tasks => NameLookup::only(tasks),
        }
    }

    /// Returns a task for a text that is nearly its id.
    fn read_as(&self, task: usize, text: &str) -> NameLookup {
        let id = self.tasks.get(task).and_then(|name| name.id.as_deref()).unwrap_or("");
        NameLookup::guessed(task, format!("`{}` is read as `{}`", shown(text, 40), shown(id, 40)))
    }
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
