//! Resolves names to tasks, decides whether numbers start at 0 or 1, and uses the order of a list if nothing is written. Refuses ambiguous
//! names.

use std::collections::{HashMap, HashSet};

use super::bracketed_titles::read_bracketed_titles;
use super::cycles::find_cycle;
use super::index::{Index, NameLookup};
use super::names::shown;
use super::phrases::is_phase;
use super::raw::{RawPlan, RawTask, Reference, guess};
use super::rules::{AMBIGUOUS, CYCLE, REPEATED_ID, UNKNOWN_TASK};
use super::{Outline, OutlineTask};
use crate::diagnostic::{Diagnostic, nearest};
use crate::plan::State;
use crate::text::{Span, visible};

/// The limit of dependencies in an answer, including those of whole groups.
const MAX_EDGES: usize = 200_000;

const MAX_FINDINGS: usize = 40;

/// Resolves the dependencies of a plan. `base` is the first number by its prose: 0 or 1.
pub(super) fn resolve(mut plan: RawPlan, base: Option<usize>) -> Result<Outline, Vec<Diagnostic>> {
    if let Some(refusal) = plan.refusal {
        return Err(vec![refusal]);
    }
    let repeated = repeated_ids(&mut plan);
    if !repeated.is_empty() {
        return Err(repeated);
    }
    read_bracketed_titles(&mut plan);
    let index = Index::new(&plan);
    read_bracketed_ids(&mut plan, &index);
    let mut edges = match base {
        Some(base) => read_edges(&plan, &index, base)?,
        None => by_consistency(&plan, &index)?,
    };
    let mut guesses = std::mem::take(&mut plan.notes);
    guesses.extend(plan.tasks.iter_mut().flat_map(|raw| std::mem::take(&mut raw.notes)));
    guesses.append(&mut edges.guesses);
    let hints = hints_of(&plan, &index);
    if !edges.is_written {
        if let Some(&(place, task_ix)) = hints.first() {
            return Err(vec![perhaps_dependency(&plan, place, task_ix)]);
        }
        let chained = (!plan.is_unordered).then(|| chain(&plan, &mut edges.on));
        guesses.extend(chained.flatten());
    } else {
        let message = "the number in these brackets is not understood as a dependency";
        guesses.extend(hints.iter().map(|&(place, _)| guess(place, message)));
        guesses.extend(order_phases(&plan, &mut edges.on));
    }
    if let Some(cycle) = find_cycle(&edges.on) {
        return Err(vec![cycle_of(&plan, &cycle)]);
    }
    // Each task has its own agent, so each gets the text about its group.
    let most = MAX_ABOUT_GROUP.min(MAX_ABOUT_ALL / plan.tasks.len().max(1));
    let mut tasks = Vec::with_capacity(plan.tasks.len());
    for (task_ix, dependencies) in edges.on.into_iter().enumerate() {
        let (group, about) = (group_name(&plan, task_ix), about_groups(&plan, task_ix, most));
        let Some(raw) = plan.tasks.get_mut(task_ix) else {
            break;
        };
        let mut task = OutlineTask {
            dependencies,
            group,
            ..std::mem::take(&mut raw.task)
        };
        if task.title.is_empty() {
            task.title = "Untitled task".to_owned();
        }
        task.details.extend(about);
        tasks.push(task);
    }
    Ok(Outline {
        goal: plan.goal,
        tasks,
        guesses,
        place: Span::at(0),
    })
}

/// Returns the names of the groups of a task, the outermost first.
fn group_name(plan: &RawPlan, task_ix: usize) -> Option<String> {
    let groups = plan.groups_of(task_ix).into_iter().rev();
    let names = groups.filter_map(|group_ix| Some(plan.groups.get(group_ix)?.name.as_str()));
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    (!names.is_empty()).then(|| names.join(" / "))
}

/// How much of a group's text each of its tasks repeats, in bytes.
const MAX_ABOUT_GROUP: usize = 2_000;

/// How much all tasks together repeat.
const MAX_ABOUT_ALL: usize = 1 << 20;

/// Returns the texts about the groups of a task, the outermost first.
fn about_groups(plan: &RawPlan, task_ix: usize, most: usize) -> Vec<String> {
    let groups = plan.groups_of(task_ix).into_iter().rev();
    let groups = groups.filter_map(|group_ix| plan.groups.get(group_ix));
    let with_words = groups.filter(|group| !group.description.is_empty());
    let about = with_words.map(|group| {
        let words = group.description.as_str();
        let end = words.floor_char_boundary(most);
        let words = words.get(..end).unwrap_or(words);
        format!("About {}: {words}", group.name)
    });
    about.take(4).collect()
}

/// Returns the brackets whose numbers all name earlier tasks, each with the first of these.
fn hints_of(plan: &RawPlan, index: &Index) -> Vec<(Span, usize)> {
    let mut found = Vec::new();
    for (task_ix, raw) in plan.tasks.iter().enumerate() {
        let named = |reference: &Reference| match index.find(reference, task_ix, 1) {
            NameLookup::Tasks(named) => named.tasks.first().copied().filter(|&named| named < task_ix),
            _ => None,
        };
        let named: Option<Vec<usize>> = raw.hints.iter().map(named).collect();
        if let (Some(first), Some(&task)) = (raw.hints.first(), named.as_deref().and_then(<[usize]>::first)) {
            found.push((first.place, task));
        }
    }
    found
}

/// Takes the ids in brackets at the end of titles as dependencies, where they name other tasks: "Ship both (A1, A2)". Numbers are taken
/// where all of these brackets name earlier tasks: otherwise they are sources, sizes or the like.
fn read_bracketed_ids(plan: &mut RawPlan, index: &Index) {
    let is_number = |reference: &Reference| reference.text.bytes().all(|byte| byte.is_ascii_digit());
    let is_named = |task_ix: usize, reference: &Reference| {
        let named = index.find(reference, task_ix, 1).certain_task();
        named.is_some_and(|on| on < task_ix || !is_number(reference) && on != task_ix)
    };
    let tasks = || plan.tasks.iter().enumerate().filter(|(_, raw)| raw.are_ids);
    let named = tasks().filter(|(ix, raw)| raw.hints.iter().all(|reference| is_named(*ix, reference)));
    let named: HashSet<usize> = named.map(|(ix, _)| ix).collect();
    let has_number = |raw: &RawTask| raw.hints.iter().any(is_number);
    let take_numbers = tasks()
        .filter(|(_, raw)| has_number(raw))
        .all(|(ix, _)| named.contains(&ix));
    let mut first = None;
    for (task_ix, raw) in plan.tasks.iter_mut().enumerate().filter(|(_, raw)| raw.are_ids) {
        let is_taken = named.contains(&task_ix) && (take_numbers || !has_number(raw));
        let hints = std::mem::take(&mut raw.hints);
        if !is_taken || raw.dependencies.is_some() {
            continue;
        }
        first = first.or(hints.first().map(|hint| hint.place));
        raw.dependencies = Some(hints);
        let bracket = raw.task.title.trim_end().rfind(['(', '[']).unwrap_or(0);
        let title = raw.task.title.get(..bracket).unwrap_or("").trim_end().to_owned();
        if !title.is_empty() {
            let whole = std::mem::replace(&mut raw.task.title, title);
            if raw.task.description.is_empty() {
                raw.task.description = whole;
            }
        }
    }
    if let Some(place) = first {
        plan.guess(
            place,
            "the ids in brackets at the ends of titles are read as dependencies",
        );
    }
}

fn perhaps_dependency(plan: &RawPlan, place: Span, task_ix: usize) -> Diagnostic {
    let message =
        "the number in these brackets can be a dependency or a remark, and no dependency is written otherwise";
    Diagnostic::new(&AMBIGUOUS, place, message)
        .with_related(plan.place_of(task_ix, place), "the task with this number")
        .with_help("write `(depends on N)`, or remove the number from the brackets")
}

/// The dependencies of all tasks, sorted and each once.
#[derive(Default)]
struct Edges {
    on: Vec<Vec<usize>>,
    guesses: Vec<Diagnostic>,
    /// Whether any dependencies were written.
    is_written: bool,
    /// The span of a number that counts positions, if there is one.
    counts_places: Option<Span>,
    /// How many of these numbers name a later task.
    n_forward: usize,
}

/// Returns the dependencies with numbers from 0 or from 1, whichever gives a plan; refuses if both do.
fn by_consistency(plan: &RawPlan, index: &Index) -> Result<Edges, Vec<Diagnostic>> {
    let from_one = read_edges(plan, index, 1);
    let place = match &from_one {
        Ok(edges) => match edges.counts_places {
            None => return from_one,
            Some(place) => place,
        },
        Err(_) => Span::at(0),
    };
    let from_zero = read_edges(plan, index, 0);
    let is_sound = |edges: &Edges| find_cycle(&edges.on).is_none();
    let (mut edges, base, other) = match (from_zero, from_one) {
        (Err(zero), Err(one)) => return Err(if zero.len() < one.len() { zero } else { one }),
        (Ok(edges), Err(errors)) => match is_sound(&edges) {
            true => (edges, 0, "a 0 would name no task, or the last number would"),
            false => return Err(errors),
        },
        (Err(_), Ok(edges)) => (edges, 1, "counted from 0, one of them would name no task"),
        (Ok(zero), Ok(one)) => match (is_sound(&zero), is_sound(&one)) {
            (true, true) if zero.on == one.on => return Ok(one),
            (true, true) if zero.n_forward == 0 && one.n_forward > 0 => {
                (zero, 0, "counted from 1, a task would depend on a later one")
            }
            (true, true) if one.n_forward == 0 && zero.n_forward > 0 => {
                (one, 1, "counted from 0, a task would depend on a later one")
            }
            (true, true) => return Err(vec![two_readings(plan, &zero, &one, place)]),
            (true, false) => (zero, 0, "counted from 1, a task would depend on itself"),
            (false, _) => (one, 1, "counted from 0, a task would depend on itself"),
        },
    };
    let place = edges.counts_places.unwrap_or(place);
    let other = if base == 0 && edges.counts_places.is_some() && other.starts_with("a 0") {
        "counted from 1, a 0 would name no task"
    } else {
        other
    };
    let message = format!("dependencies by number count from {base}: {other}");
    edges.guesses.push(guess(place, message));
    Ok(edges)
}

/// Returns the finding that the numbers of a plan are ambiguous, with both readings of the first task on which they differ.
fn two_readings(plan: &RawPlan, zero: &Edges, one: &Edges, place: Span) -> Diagnostic {
    let differs = (0..plan.tasks.len())
        .find(|&ix| zero.on.get(ix) != one.on.get(ix))
        .unwrap_or(0);
    let title = |ix: usize| {
        plan.tasks
            .get(ix)
            .map_or_else(String::new, |raw| name_of(&raw.task.title))
    };
    let on = |edges: &Edges| edges.on.get(differs).and_then(|on| on.first()).copied().unwrap_or(0);
    let message = format!(
        "dependencies by number fit a count from 0 and a count from 1: {} depends on {} or on {}",
        title(differs),
        title(on(zero)),
        title(on(one))
    );
    let references = plan.tasks.get(differs).and_then(|raw| raw.dependencies.as_ref());
    let number = references.and_then(|references| references.first());
    Diagnostic::new(&AMBIGUOUS, number.map_or(place, |number| number.place), message)
        .with_related(plan.place_of(on(zero), place), "this task, counted from 0")
        .with_related(plan.place_of(on(one), place), "this task, counted from 1")
        .with_help("give the tasks ids and depend on these, or name the dependencies by title")
}

/// Resolves every dependency of a plan.
fn read_edges(plan: &RawPlan, index: &Index, base: usize) -> Result<Edges, Vec<Diagnostic>> {
    let mut reader = EdgeReader {
        plan,
        index,
        base,
        group: None,
        n_edges: 0,
        errors: Vec::new(),
        edges: Edges {
            on: vec![Vec::new(); plan.tasks.len()],
            ..Edges::default()
        },
    };
    for (task_ix, raw) in plan.tasks.iter().enumerate() {
        reader.add_written(&[task_ix], raw.dependencies.as_deref(), &raw.blocks);
    }
    for (group_ix, group) in plan.groups.iter().enumerate() {
        reader.group = Some(group_ix);
        reader.add_written(index.members_of(group_ix), group.dependencies.as_deref(), &group.blocks);
    }
    reader.group = None;
    for (owner, on) in &plan.edges {
        // The edge belongs to no task.
        if let Some(own) = reader.resolved(owner, plan.tasks.len()) {
            reader.add(&own, std::slice::from_ref(on), false);
        }
    }
    if !reader.errors.is_empty() {
        return Err(reader.errors);
    }
    let mut edges = reader.edges;
    for on in &mut edges.on {
        on.sort_unstable();
        on.dedup();
    }
    // Of several guesses about one place, the first counts.
    edges.guesses.sort_by_key(|guess| guess.span);
    edges.guesses.dedup_by_key(|guess| guess.span);
    Ok(edges)
}

struct EdgeReader<'p> {
    plan: &'p RawPlan,
    index: &'p Index,
    base: usize,
    /// The group whose dependencies are being read.
    group: Option<usize>,
    n_edges: usize,
    errors: Vec<Diagnostic>,
    edges: Edges,
}

impl EdgeReader<'_> {
    /// Adds the dependencies of a task, or of the tasks of a group.
    fn add_written(&mut self, own: &[usize], on: Option<&[Reference]>, blocks: &[Reference]) {
        if let Some(on) = on {
            self.add(own, on, false);
        }
        if !blocks.is_empty() {
            self.add(own, blocks, true);
        }
    }

    fn add(&mut self, own: &[usize], references: &[Reference], is_reverse: bool) {
        self.edges.is_written |= references.is_empty();
        for reference in references {
            let owner = own.first().copied().unwrap_or(0);
            let Some(named) = self.resolved(reference, owner) else {
                continue;
            };
            self.edges.is_written = true;
            let n_edges = own.len().saturating_mul(named.len());
            self.n_edges = self.n_edges.saturating_add(n_edges);
            if self.n_edges > MAX_EDGES {
                let message = format!("the answer has more than {MAX_EDGES} dependencies");
                return self.error(Diagnostic::new(&AMBIGUOUS, reference.place, message).with_help("split the plan"));
            }
            for (&task, &other) in own.iter().flat_map(|task| named.iter().map(move |other| (task, other))) {
                let (from, to) = if is_reverse { (other, task) } else { (task, other) };
                // A group named by one of its own tasks means the others.
                let is_group = own.len() > 1 || named.len() > 1;
                if let Some(on) = self.edges.on.get_mut(from).filter(|_| from != to || !is_group) {
                    on.push(to);
                }
            }
        }
    }

    /// Returns the tasks that a reference names; none if there are none, which is an error for a certain reference.
    fn resolved(&mut self, reference: &Reference, owner: usize) -> Option<Vec<usize>> {
        if self.n_edges > MAX_EDGES {
            return None;
        }
        let found = match self.group {
            Some(group) => self.index.find_for_group(reference, group, self.base),
            None => self.index.find(reference, owner, self.base),
        };
        match found {
            NameLookup::Tasks(named) => {
                if named.by_place {
                    self.edges.counts_places.get_or_insert(reference.place);
                    self.edges.n_forward += usize::from(named.tasks.iter().any(|task| *task > owner));
                }
                self.edges
                    .guesses
                    .extend(named.guess.map(|message| guess(reference.place, message)));
                return Some(named.tasks);
            }
            NameLookup::Group(group_ix) => return Some(self.index.members_of(group_ix).to_vec()),
            NameLookup::Several(first, second) => self.error(self.two_tasks(reference, first, second)),
            NameLookup::None if reference.is_certain => self.error(self.unknown(reference)),
            NameLookup::None => {
                let message = format!("`{}` names no task and is no dependency", shown(&reference.text, 60));
                self.edges.guesses.push(guess(reference.place, message));
            }
        }
        None
    }

    fn error(&mut self, error: Diagnostic) {
        if self.errors.len() < MAX_FINDINGS {
            self.errors.push(error);
        }
    }

    fn two_tasks(&self, reference: &Reference, first: usize, second: usize) -> Diagnostic {
        let message = format!("`{}` can be two tasks", shown(&reference.text, 80));
        Diagnostic::new(&AMBIGUOUS, reference.place, message)
            .with_related(self.plan.place_of(first, reference.place), "this task")
            .with_related(self.plan.place_of(second, reference.place), "or this one")
            .with_help("name the task by an id, or give the tasks different titles")
    }

    fn unknown(&self, reference: &Reference) -> Diagnostic {
        let name = shown(&reference.text, 80);
        let message = format!("a task depends on `{name}`, which is not in the answer");
        let ids = self
            .plan
            .tasks
            .iter()
            .take(200)
            .filter_map(|raw| raw.task.id.as_deref());
        let help = "add the task, or remove the dependency";
        let help = match nearest(&reference.text, ids) {
            Some(near) => format!("{help}; perhaps `{}` is meant", visible(near)),
            None => help.to_owned(),
        };
        Diagnostic::new(&UNKNOWN_TASK, reference.place, message).with_help(help)
    }
}

fn name_of(title: &str) -> String {
    format!("\"{}\"", shown(title, 50))
}

/// Finds ids that two tasks have. Numbers that restart in each group are no ids: they become numbers in their list.
fn repeated_ids(plan: &mut RawPlan) -> Vec<Diagnostic> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut repeated: Vec<(usize, usize)> = Vec::new();
    for (task_ix, raw) in plan.tasks.iter().enumerate() {
        if let Some(id) = &raw.task.id {
            match seen.get(id) {
                Some(&first) => repeated.push((first, task_ix)),
                None => drop(seen.insert(id.clone(), task_ix)),
            }
        }
    }
    let Some(&(_, second)) = repeated.first() else {
        return Vec::new();
    };
    let list_of = |ix: usize| plan.tasks.get(ix).map(|raw| raw.list);
    let is_number = |id: &Option<String>| id.as_deref().is_none_or(|id| id.parse::<u32>().is_ok());
    let are_apart = repeated
        .iter()
        .all(|&(first, second)| list_of(first) != list_of(second));
    if are_apart && plan.tasks.iter().all(|raw| is_number(&raw.task.id)) {
        let place = plan.place_of(second, Span::at(0));
        let message = "the numbers begin again in each group: they are numbers within it, and the tasks get new ids";
        plan.guess(place, message);
        for raw in &mut plan.tasks {
            raw.number = raw.task.id.take();
        }
        return Vec::new();
    }
    let found = repeated.iter().take(MAX_FINDINGS).filter_map(|&(first, second)| {
        let (one, other) = (plan.tasks.get(first)?, plan.tasks.get(second)?);
        let id = shown(one.task.id.as_deref().unwrap_or(""), 60);
        let (name, other_name) = (name_of(&one.task.title), name_of(&other.task.title));
        let message = format!("two tasks have the id `{id}`: {name} and {other_name}");
        let found = Diagnostic::new(&REPEATED_ID, other.task.place, message);
        let found = found.with_related(one.task.place, "the first task with this id");
        Some(found.with_help("give one of them another id"))
    });
    found.collect()
}

fn is_over(state: Option<State>) -> bool {
    matches!(state, Some(State::Done | State::Skipped))
}

/// Makes every task depend on the previous one. Tasks that are marked as parallel depend on the tasks before all of them.
fn chain(plan: &RawPlan, on: &mut [Vec<usize>]) -> Option<Diagnostic> {
    let first = plan.tasks.get(1)?;
    // The predecessors of the next task: finished ones, and others.
    let (mut over, mut open): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut before_parallel: Option<Vec<usize>> = None;
    let mut parallel: Vec<usize> = Vec::new();
    for (task_ix, raw) in plan.tasks.iter().enumerate() {
        let Some(own) = on.get_mut(task_ix) else {
            continue;
        };
        if is_over(raw.task.state) {
            own.extend(&over);
            over = vec![task_ix];
            continue;
        }
        if raw.task.is_parallel {
            let before = if open.is_empty() { &over } else { &open };
            own.extend(before_parallel.get_or_insert_with(|| before.clone()).iter());
            parallel.push(task_ix);
            continue;
        }
        if before_parallel.take().is_some() {
            open = std::mem::take(&mut parallel);
        }
        let before = if open.is_empty() { &over } else { &open };
        own.extend(before);
        // Finished tasks between the two also come before it.
        own.extend(
            over.iter()
                .filter(|&&ix| !open.is_empty() && open.iter().all(|&before| before < ix)),
        );
        own.sort_unstable();
        own.dedup();
        open = vec![task_ix];
    }
    let message = match plan.tasks.iter().any(|raw| raw.task.is_parallel) {
        true => "no dependency is written: each task depends on the one before it, but for those marked as parallel",
        false => "no dependency is written: each task depends on the one before it, in the order of the list",
    };
    Some(guess(first.task.place, message))
}

/// Makes the tasks of a numbered phase depend on those of the previous one, if phases have no written dependencies.
fn order_phases(plan: &RawPlan, on: &mut [Vec<usize>]) -> Option<Diagnostic> {
    let all = plan.groups.iter().enumerate();
    let top = all.filter(|(_, group)| group.parent.is_none()).map(|(ix, _)| ix);
    let top: Vec<usize> = top.collect();
    let groups = || top.iter().filter_map(|&ix| plan.groups.get(ix));
    let is_ordered = top.len() > 1
        && groups().all(|group| is_phase(&group.name) && group.dependencies.is_none() && group.blocks.is_empty());
    if !is_ordered {
        return None;
    }
    let members = plan.members();
    let mut trial = on.to_vec();
    let mut n_edges = 0usize;
    for pair in top.windows(2) {
        let [before, after] = pair else {
            continue;
        };
        let (before, after) = (members.get(*before)?, members.get(*after)?);
        n_edges = n_edges.saturating_add(before.len().saturating_mul(after.len()));
        if n_edges > MAX_EDGES {
            return None;
        }
        for &task in after {
            let Some(own) = trial.get_mut(task) else {
                continue;
            };
            own.extend(before);
            own.sort_unstable();
            own.dedup();
        }
    }
    if find_cycle(&trial).is_some() || trial == on {
        return None;
    }
    on.clone_from_slice(&trial);
    let place = groups().nth(1)?.place;
    let message = "the phases are numbered: every task depends on those of the phase before its own";
    Some(guess(place, message))
}

fn cycle_of(plan: &RawPlan, cycle: &[usize]) -> Diagnostic {
    let tasks: Vec<_> = cycle.iter().filter_map(|&ix| plan.tasks.get(ix)).collect();
    let name = |raw: &&RawTask| match &raw.task.id {
        Some(id) => format!("`{}`", shown(id, 40)),
        None => name_of(&raw.task.title),
    };
    let names: Vec<String> = tasks.iter().take(8).map(name).collect();
    let message = match tasks.len() {
        1 => format!("the task {} depends on itself", names.concat()),
        n => format!("{n} tasks depend on each other in a cycle: {}", names.join(", ")),
    };
    let place = tasks.first().map_or(Span::at(0), |raw| raw.task.place);
    let found = Diagnostic::new(&CYCLE, place, message).with_help("remove one of the dependencies from the text");
    tasks.iter().skip(1).take(7).fold(found, |found, raw| {
        found.with_related(raw.task.place, "a task of the cycle")
    })
}
