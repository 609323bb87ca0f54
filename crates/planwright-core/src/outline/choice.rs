//! Chooses among several parts of an answer: examples, corrections, alternatives, and parts that continue each other.

use std::collections::HashSet;

use super::names::{folded, key_words, one_line, shown};
use super::phrases::{is_example, is_option, is_outdated, is_phase, is_revision, names_plan};
use super::raw::{RawPlan, RawTask, guess};
use super::rules::{CUT_OFF, NO_TASKS, TWO_PLANS};
use super::sections::OtherLabel;
use crate::diagnostic::Diagnostic;
use crate::text::Span;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PartKind {
    Value,
    Graph,
    Table,
    List,
}

/// A part of an answer that can be the plan.
pub(super) struct OutlineCandidate {
    pub(super) kind: PartKind,
    pub(super) place: Span,
    pub(super) plan: RawPlan,
    /// Where it ends if it is incomplete.
    pub(super) cut: Option<Span>,
    /// Why it is unreadable.
    pub(super) error: Option<Diagnostic>,
    pub(super) is_strong: bool,
    /// Whether it is objects alone, with nothing around them.
    pub(super) is_lines: bool,
}

impl OutlineCandidate {
    /// Returns a part without tasks.
    pub(super) fn new(kind: PartKind, place: Span) -> Self {
        OutlineCandidate {
            kind,
            place,
            plan: RawPlan::default(),
            cut: None,
            error: None,
            is_strong: true,
            is_lines: false,
        }
    }

    /// Returns whether nothing is wrong with it.
    fn is_whole(&self) -> bool {
        self.error.is_none() && self.cut.is_none()
    }

    /// Notes that this plan is chosen over another one.
    fn note_version(&mut self, message: &str, other: Span, called: &str) {
        let note = guess(Span::at(self.place.start as usize), message);
        self.plan
            .notes
            .push(note.with_related(Span::at(other.start as usize), called));
    }
}

pub(super) fn cut_off(place: Span, n_tasks: usize) -> Diagnostic {
    let tasks = match n_tasks {
        0 => "before its first task is complete".to_owned(),
        1 => "after 1 complete task".to_owned(),
        n => format!("after {n} complete tasks"),
    };
    let found = Diagnostic::new(&CUT_OFF, place, format!("the answer stops here, {tasks}"));
    match n_tasks {
        0 => found.with_help("ask for the whole answer"),
        _ => found.with_help("ask for the rest, or import the complete tasks with --partial"),
    }
}

/// Returns the finding for an answer that omits tasks in the middle.
pub(super) fn left_out_between(place: Span, n_tasks: usize) -> Diagnostic {
    let message = format!("the answer leaves tasks out here: {n_tasks} tasks are complete");
    Diagnostic::new(&CUT_OFF, place, message).with_help("ask for the rest, or import the complete tasks with --partial")
}

/// The prose before a place.
pub(super) struct Labels<'t> {
    pub(super) text: &'t str,
    pub(super) taken: &'t [Span],
}

impl Labels<'_> {
    /// Returns the last lines before a span, up to the previous part.
    fn before(&self, place: Span) -> String {
        let around = self.taken.iter().copied().find(|span| span.contains(place));
        let place = around.unwrap_or(place);
        let ends = self.taken.iter().map(|span| span.end).filter(|end| *end <= place.start);
        let floor = ends.max().unwrap_or(0) as usize;
        let prose = self.text.get(floor..place.start as usize).unwrap_or("");
        let lines: Vec<&str> = prose.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines.len().saturating_sub(3);
        lines.get(last..).unwrap_or(&[]).join("\n")
    }

    /// Returns whether the line before a part calls it an example, and no plan.
    pub(super) fn is_sample(&self, candidate: &OutlineCandidate) -> bool {
        let line = self.line_before(candidate.place);
        is_example(&line) && !names_plan(&line)
    }

    /// Returns the last line before a span.
    fn line_before(&self, place: Span) -> String {
        self.before(place).lines().next_back().unwrap_or("").to_owned()
    }
}

/// A list of at least two tasks next to a plan of another kind.
pub(super) struct OtherList {
    place: Span,
    titles: Vec<Vec<String>>,
    has_dependencies: bool,
}

/// How many tasks of a list are compared with those of another plan.
const MAX_COMPARED: usize = 100;

impl OtherList {
    /// Returns the list of a candidate whose form leaves no doubt that it is one of tasks.
    pub(super) fn of(candidate: &OutlineCandidate) -> Option<Self> {
        let tasks = &candidate.plan.tasks;
        let mut on = tasks.iter().flat_map(|raw| raw.dependencies.iter().flatten());
        let compared = tasks.iter().take(MAX_COMPARED);
        (candidate.is_strong && tasks.len() > 1).then(|| OtherList {
            place: candidate.place,
            titles: compared.map(|raw| key_words(&raw.task.title)).collect(),
            has_dependencies: on.any(|reference| reference.is_certain),
        })
    }

    /// Returns whether a task of a plan has all words of one of the list, or the other way round.
    pub(super) fn shares_tasks(&self, plan: &RawPlan) -> bool {
        let contains = |one: &[String], other: &[String]| {
            one == other || one.len() > 1 && one.iter().all(|word| other.binary_search(word).is_ok())
        };
        plan.tasks.iter().take(MAX_COMPARED).any(|raw| {
            let own = key_words(&raw.task.title);
            let mut titles = self.titles.iter();
            titles.any(|title| contains(title, &own) || contains(&own, title))
        })
    }
}

/// Refuses a plan next to a list of other work; names the lists that are not read.
pub(super) fn compare_with_lists(
    chosen: &mut OutlineCandidate,
    lists: &[OtherList],
    text: &str,
) -> Result<(), Vec<Diagnostic>> {
    let is_inside = |list: &&OtherList| chosen.place.contains(list.place);
    let others = lists
        .iter()
        .filter(|list| !is_inside(list) && !list.shares_tasks(&chosen.plan));
    let others: Vec<&OtherList> = others.collect();
    let has_boxes = |list: &&&OtherList| {
        let before = text.get(..list.place.start as usize).unwrap_or("");
        before
            .rsplit('\n')
            .next()
            .is_some_and(|line| line.contains(['[', '☐', '⬜']))
    };
    let is_work = |list: &&&OtherList| list.has_dependencies || chosen.kind == PartKind::Table && has_boxes(list);
    if let Some(list) = others.iter().find(is_work) {
        let (first, second) = (chosen.place.min(list.place), chosen.place.max(list.place));
        return Err(vec![two_plans(first, second)]);
    }
    let message = "this list is not read as tasks: the plan is the one that is written as data or as a table";
    for list in others.into_iter().take(MAX_NAMED) {
        chosen.plan.guess(list.place, message);
    }
    Ok(())
}

/// How many lists that are not read are named.
const MAX_NAMED: usize = 10;

fn titles(candidate: &OutlineCandidate) -> HashSet<String> {
    candidate.plan.tasks.iter().map(|raw| folded(&raw.task.title)).collect()
}

/// Chooses one of several parts of the same kind.
pub(super) fn one_of(
    mut candidates: Vec<OutlineCandidate>,
    labels: &Labels<'_>,
) -> Result<OutlineCandidate, Vec<Diagnostic>> {
    let is_sample = |candidate: &OutlineCandidate| is_example(&labels.line_before(candidate.place));
    if !candidates.iter().all(is_sample) {
        candidates.retain(|candidate| !is_sample(candidate));
    }
    if let Some(whole) = joined_lines(&candidates, labels) {
        return Ok(whole);
    }
    // If one part is certain, uncertain ones are something else.
    if candidates.iter().any(|candidate| candidate.is_strong) {
        candidates.retain(|candidate| candidate.is_strong);
    }
    let is_old = |candidate: &OutlineCandidate| is_outdated(&labels.line_before(candidate.place));
    let mut outdated = None;
    if !candidates.iter().all(is_old) {
        let mut old = candidates.extract_if(.., |candidate| is_old(candidate));
        outdated = old.next().map(|old| old.place);
        old.for_each(drop);
    }
    let is_part = |candidate: &OutlineCandidate| {
        is_phase(labels.line_before(candidate.place).trim_start_matches(['#', ' ', '*']))
    };
    if candidates.len() > 1 && candidates.iter().all(is_part) {
        return joined(candidates, labels);
    }
    last_version(candidates, outdated, labels)
}

/// Chooses the last of several versions of a plan, after what continues or repeats the first is added to that; refuses other plans.
fn last_version(
    candidates: Vec<OutlineCandidate>,
    outdated: Option<Span>,
    labels: &Labels<'_>,
) -> Result<OutlineCandidate, Vec<Diagnostic>> {
    let mut candidates = candidates.into_iter();
    let Some(mut chosen) = candidates.next() else {
        return Err(vec![nothing(&EmptyAnswer::default(), "")]);
    };
    let mut superseded = outdated.filter(|old| *old < chosen.place);
    if let Some(old) = outdated.filter(|_| superseded.is_none()) {
        let message = "there is another version of this plan, which the text rejects: this one is read";
        chosen.note_version(message, old, "the other version");
    }
    for later in candidates {
        if chosen.plan.edges.is_empty() && later.is_whole() && are_same(&chosen.plan, &later.plan) {
            continue;
        }
        if continues(&chosen.plan, &later.plan) {
            chosen.cut = chosen.cut.or(later.cut);
            chosen.plan.append(later.plan, "", later.place);
            continue;
        }
        let (own, other) = (titles(&chosen), titles(&later));
        let n_shared = own.intersection(&other).count();
        let is_revised = is_revision(&labels.before(later.place))
            || !own.is_empty() && 2 * n_shared >= own.len() && later.place.start > chosen.place.start;
        let is_alternative = |candidate: &OutlineCandidate| is_option(&labels.line_before(candidate.place));
        if !is_revised || is_alternative(&later) || is_alternative(&chosen) {
            return Err(vec![two_plans(chosen.place, later.place)]);
        }
        superseded = Some(chosen.place);
        chosen = later;
    }
    if let Some(earlier) = superseded {
        let message = "there is an earlier version of this plan: the last one is read";
        chosen.note_version(message, earlier, "the earlier version");
    }
    Ok(chosen)
}

/// Makes one plan of single tasks in separate blocks; none if they are something else.
pub(super) fn single_tasks(candidates: &[OutlineCandidate]) -> Option<OutlineCandidate> {
    let is_single =
        |candidate: &OutlineCandidate| candidate.plan.tasks.len() == 1 && candidate.is_whole() && !candidate.is_strong;
    side_by_side(candidates, is_single, "blocks with one task each")
}

/// Makes one plan of objects in several groups with sentences between them; none where their ids are not different, or the sentences say
/// that they are versions.
fn joined_lines(candidates: &[OutlineCandidate], labels: &Labels<'_>) -> Option<OutlineCandidate> {
    let is_part = |candidate: &OutlineCandidate| {
        let words = labels.line_before(candidate.place);
        let is_version = is_option(&words) || is_revision(&words) || is_outdated(&words);
        candidate.is_lines && candidate.is_whole() && !is_version
    };
    side_by_side(candidates, is_part, "groups of tasks")
}

/// Makes one plan of the tasks of several parts, if these all are such parts, and the tasks have different ids.
fn side_by_side(
    candidates: &[OutlineCandidate],
    is_part: impl Fn(&OutlineCandidate) -> bool,
    called: &str,
) -> Option<OutlineCandidate> {
    let tasks = || candidates.iter().flat_map(|candidate| &candidate.plan.tasks);
    let ids: HashSet<&str> = tasks().filter_map(|raw| raw.task.id.as_deref()).collect();
    let [first, _, ..] = candidates else {
        return None;
    };
    if ids.len() < tasks().count() || !candidates.iter().all(is_part) {
        return None;
    }
    let mut whole = empty_candidate(first);
    whole.is_strong = true;
    whole.plan.tasks.extend(tasks().cloned());
    whole.plan.notes.extend(
        candidates
            .iter()
            .flat_map(|candidate| candidate.plan.notes.iter().cloned()),
    );
    let message = format!("{} {called} are read as one plan", candidates.len());
    whole.plan.guess(Span::at(first.place.start as usize), message);
    Some(whole)
}

/// Returns whether a plan continues another one: it has other tasks, and depends on tasks of that one.
fn continues(plan: &RawPlan, later: &RawPlan) -> bool {
    let ids = |plan: &RawPlan| -> HashSet<String> { plan.tasks.iter().filter_map(|raw| raw.task.id.clone()).collect() };
    let (own, other) = (ids(plan), ids(later));
    let mut named = later.tasks.iter().flat_map(|raw| raw.dependencies.iter().flatten());
    let is_whole = own.len() == plan.tasks.len() && other.len() == later.tasks.len();
    is_whole && own.is_disjoint(&other) && named.any(|reference| own.contains(&reference.text))
}

/// Returns whether two plans have the same tasks in the same order, with the same written dependencies.
fn are_same(one: &RawPlan, other: &RawPlan) -> bool {
    let names = |raw: &RawTask| -> Vec<String> {
        let on = raw.dependencies.iter().flatten();
        on.map(|reference| reference.text.clone()).collect()
    };
    let is_same = |(one, other): (&RawTask, &RawTask)| {
        folded(&one.task.title) == folded(&other.task.title) && names(one) == names(other)
    };
    one.tasks.len() == other.tasks.len() && one.tasks.iter().zip(&other.tasks).all(is_same)
}

/// Makes one plan of several consecutive parts.
pub(super) fn joined(
    mut candidates: Vec<OutlineCandidate>,
    labels: &Labels<'_>,
) -> Result<OutlineCandidate, Vec<Diagnostic>> {
    if candidates.len() == 1
        && let Some(mut only) = candidates.pop()
    {
        // A heading above a single table is no group.
        let has_one_group = only.plan.groups.len() == 1 && only.plan.tasks.iter().all(|raw| raw.group == Some(0));
        if only.kind == PartKind::Table && has_one_group {
            only.plan.groups.clear();
            only.plan.tasks.iter_mut().for_each(|raw| raw.group = None);
        }
        return Ok(only);
    }
    let mut options = candidates
        .iter()
        .filter(|candidate| is_option(&labels.line_before(candidate.place)));
    if let (Some(first), Some(second)) = (options.next(), options.next()) {
        return Err(vec![two_plans(first.place, second.place)]);
    }
    let mut whole: Option<OutlineCandidate> = None;
    for candidate in candidates {
        let name = labels.line_before(candidate.place);
        let name = name.trim_matches(['#', ' ', '*', ':']).to_owned();
        let place = candidate.place;
        let own = whole.get_or_insert_with(|| empty_candidate(&candidate));
        own.cut = own.cut.or(candidate.cut);
        own.error = own.error.take().or(candidate.error);
        own.plan.append(candidate.plan, &one_line(&name, 200), place);
    }
    whole.ok_or_else(|| vec![nothing(&EmptyAnswer::default(), "")])
}

fn empty_candidate(like: &OutlineCandidate) -> OutlineCandidate {
    OutlineCandidate {
        is_strong: like.is_strong,
        is_lines: like.is_lines,
        ..OutlineCandidate::new(like.kind, like.place)
    }
}

/// Takes the dependencies of a graph of the plan's tasks; another graph is unrelated.
pub(super) fn draw_edges(chosen: &mut OutlineCandidate, graph: OutlineCandidate) -> Result<(), Vec<Diagnostic>> {
    let id_of = |raw: &RawTask| raw.task.id.as_ref().map(|id| id.to_lowercase());
    let mut names: HashSet<String> = titles(chosen);
    names.extend(chosen.plan.tasks.iter().filter_map(id_of));
    let name_in_plan = |raw: &RawTask| {
        let id = id_of(raw).filter(|id| names.contains(id));
        id.or_else(|| Some(folded(&raw.task.title)).filter(|title| names.contains(title)))
    };
    let known: Vec<Option<String>> = graph.plan.tasks.iter().map(name_in_plan).collect();
    if chosen.plan.has_dependencies() || known.iter().any(Option::is_none) {
        return Ok(());
    }
    let name_of = |id: &str| {
        let mut tasks = graph.plan.tasks.iter();
        let at = tasks.position(|raw| raw.task.id.as_deref() == Some(id));
        let name = at.and_then(|at| known.get(at).cloned().flatten());
        name.unwrap_or_else(|| id.to_owned())
    };
    for (mut owner, mut on) in graph.plan.edges.clone() {
        owner.text = name_of(&owner.text);
        on.text = name_of(&on.text);
        chosen.plan.edges.push((owner, on));
    }
    let message = "the dependencies are those of this graph, which draws the same tasks";
    chosen.plan.guess(Span::at(graph.place.start as usize), message);
    match graph.cut {
        Some(place) => Err(vec![cut_off(place, chosen.plan.tasks.len())]),
        None => Ok(()),
    }
}

pub(super) fn two_plans(first: Span, second: Span) -> Diagnostic {
    let start = |span: Span| Span::at(span.start as usize);
    let message = "the answer has two different plans, and does not name the final one";
    Diagnostic::new(&TWO_PLANS, start(second), message)
        .with_related(start(first), "the other plan")
        .with_help("delete one of them from the text, and import it again")
}

/// What an answer has in place of a plan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EmptyAnswer {
    /// A list of tasks without a task.
    pub(super) empty: Option<Span>,
    pub(super) questions: Option<Span>,
    /// Plans that are alternatives to each other.
    pub(super) options: Option<(Span, Span)>,
    pub(super) table: Option<Span>,
    pub(super) value: Option<Span>,
    pub(super) list: Option<Span>,
    /// The words that show that the list is something else.
    pub(super) label: Option<OtherLabel>,
}

/// Returns the finding for an answer without tasks, with its content.
pub(super) fn nothing(seen: &EmptyAnswer, text: &str) -> Diagnostic {
    let found = |place: Span, message, help| {
        Diagnostic::new(&NO_TASKS, Span::at(place.start as usize), message).with_help(help)
    };
    if let Some((first, second)) = seen.options {
        return two_plans(first, second);
    }
    if let Some(place) = seen.questions {
        let message = "the answer asks questions, and has no tasks";
        return Diagnostic::new(&NO_TASKS, place, message)
            .with_help("answer the questions, and ask for the plan again");
    }
    if let Some(place) = seen.value {
        let help = "give it a list `tasks` whose elements have a `title`, and import it again";
        return found(place, "this value has no list of tasks", help);
    }
    if let Some(place) = seen.table {
        let help = "call that column `Task`, and import it again";
        return found(place, "this table has no column with the title of a task", help);
    }
    if let Some(place) = seen.list {
        return other_list(Span::at(place.start as usize), seen.label, text);
    }
    let found = Diagnostic::of_file(&NO_TASKS, "no task can be read out of this text");
    found.with_help("write the tasks as a numbered list, a checklist, a table, JSON or YAML")
}

/// Returns the finding for a list without tasks, with the heading or the sentence that shows it.
fn other_list(place: Span, label: Option<OtherLabel>, text: &str) -> Diagnostic {
    let Some(OtherLabel { place: at, is_heading }) = label else {
        return Diagnostic::new(&NO_TASKS, place, "this list is not read as a list of tasks")
            .with_help("write `Tasks:` before it if it is one, and import it again");
    };
    let words = shown(text.get(at.range()).unwrap_or(""), 60);
    let (message, help) = match is_heading {
        true => (
            format!("this list is not read as tasks, because of the heading \"{words}\" above it"),
            "write `Tasks:` right before it, or change the heading, if it is a list of tasks; then import it again",
        ),
        false => (
            format!("this list is not read as tasks, because of the sentence \"{words}\" before it"),
            "write `Tasks:` in place of the sentence if it is a list of tasks, and import it again",
        ),
    };
    let found = Diagnostic::new(&NO_TASKS, place, message);
    found
        .with_related(Span::at(at.start as usize), "this says so")
        .with_help(help)
}

pub(super) fn empty_list(place: Span, text: &str, labels: &Labels<'_>) -> Diagnostic {
    let is_prose = |line: &&str| !line.starts_with(['`', '{', '[', '~']) && line.contains(' ');
    let lines = || text.lines().map(str::trim).filter(is_prose);
    let before = labels.before(place);
    let said = lines().find(|line| line.ends_with(['.', '!'])).unwrap_or(before.trim());
    let found = Diagnostic::new(&NO_TASKS, place, "the list of tasks is empty");
    match said {
        "" => found,
        said => found.with_help(format!("the answer says: {}", shown(said, 200))),
    }
}
