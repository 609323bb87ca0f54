//! Reads dependencies written apart from the tasks, in a section or in sentences. Never replaces an unclear section by an invented order.

use std::collections::HashSet;

use super::dependency_sentences::{Link, SentenceName, arrows_lead_to_dependencies, statements};
use super::index::{Index, NameLookup};
use super::markdown_lines::{LineKind, MarkdownLine};
use super::names::plain;
use super::phrases::{is_bold_heading, says_independent};
use super::raw::{RawPlan, Reference, not_understood};
use super::rules::AMBIGUOUS;
use super::words::{has_any, starts_with_any};
use crate::diagnostic::Diagnostic;
use crate::text::{Span, visible};

/// The longest text that is compared with titles.
const MAX_TITLE: usize = 120;

/// The content of a part of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TextPart {
    Prose,
    Dependencies,
    /// An order in which the tasks can be done: dependencies only if no others are written.
    Order,
    /// A repetition of dependencies, such as the critical path.
    Other,
}

/// Adds the dependencies that the lines of an answer state apart from its tasks.
///
/// Refused where a section of dependencies names tasks and is not understood, and nothing else is written.
pub(super) fn add_links(plan: &mut RawPlan, lines: &[MarkdownLine<'_>], text: &str) -> Result<(), Vec<Diagnostic>> {
    let index = Index::new(plan);
    let tasks = plan.tasks.iter().map(|raw| raw.task.place.start);
    let places: HashSet<u32> = tasks.chain(plan.groups.iter().map(|group| group.place.start)).collect();
    let mut reader = LinkReader {
        plan,
        index: &index,
        links: Vec::new(),
        ordered: Vec::new(),
        parallel: HashSet::new(),
        doubts: Vec::new(),
        independent: None,
    };
    reader.read(lines, &places);
    let LinkReader {
        mut links,
        ordered,
        parallel,
        doubts,
        independent,
        ..
    } = reader;
    let has_others = plan.has_dependencies();
    if links.is_empty() && !has_others {
        links = ordered;
    }
    let is_alone = links.is_empty() && !has_others;
    add_edges(plan, &links, arrows_lead_to_dependencies(text));
    let unclear = doubts.iter().find(|(_, n_tasks)| *n_tasks > 0);
    if let Some((place, _)) = unclear.filter(|_| is_alone) {
        let message = "this line names dependencies, and is not understood";
        let found = Diagnostic::new(&AMBIGUOUS, *place, message);
        return Err(vec![found.with_help("write it as `T2 depends on T1`, or remove it")]);
    }
    for (place, _) in doubts.iter().take(20) {
        plan.guess(*place, not_understood(text.get(place.range()).unwrap_or("")));
    }
    if let Some(place) = independent.filter(|_| is_alone) {
        let message = "the text says that the tasks are independent: none depends on another";
        plan.guess(place, message);
        plan.is_unordered = true;
    }
    for task in parallel.into_iter().filter(|_| is_alone) {
        if let Some(raw) = plan.tasks.get_mut(task) {
            raw.task.is_parallel = true;
        }
    }
    Ok(())
}

/// Adds the dependencies of sentences such as "Note: task 3 also depends on task 1" to a plan that has its own. Each is named as a guess.
pub(super) fn add_said_links(plan: &mut RawPlan, lines: &[MarkdownLine<'_>]) {
    let index = Index::new(plan);
    let has_ids = plan.tasks.iter().all(|raw| raw.task.id.is_some());
    let mut own: HashSet<(usize, usize)> = HashSet::new();
    for (task_ix, raw) in plan.tasks.iter().enumerate() {
        let tasks = raw.dependencies.iter().flatten();
        own.extend(tasks.filter_map(|name| Some((task_ix, index.find_apart(name).certain_task()?))));
    }
    let mut added = Vec::new();
    for line in lines.iter().filter(|line| line.kind == LineKind::Text && has_ids) {
        if !has_any(&line.text.to_ascii_lowercase(), &["depends on", "depend on"]) {
            continue;
        }
        let said = statements(line.text, false);
        for link in said.links.iter().filter(|link| !link.is_arrow) {
            let names = link
                .after
                .iter()
                .flat_map(|after| link.before.iter().map(move |before| (after, before)));
            for (after, before) in names {
                let (after, before) = (reference(after, line.at), reference(before, line.at));
                let task = |name| index.find_apart(name).certain_task();
                let ends = task(&after).zip(task(&before));
                if ends.is_some_and(|(owner, on)| owner != on && !own.contains(&(owner, on))) {
                    added.push((after, before));
                }
            }
        }
    }
    for (owner, on) in added {
        let message = format!(
            "`{}` depends on `{}`, as the text adds",
            visible(&owner.text),
            visible(&on.text)
        );
        plan.guess(owner.place, message);
        plan.link(&[owner], &[on]);
    }
}

/// Adds links to the edges of a plan. `is_said` is whether the text says that arrows point to dependencies.
fn add_edges(plan: &mut RawPlan, links: &[Resolved], is_said: bool) {
    let arrows: Vec<&Resolved> = links.iter().filter(|link| link.is_arrow).collect();
    let leads_back = |link: &&Resolved| {
        let first = |tasks: &[usize]| tasks.first().copied();
        first(&link.before_tasks) > first(&link.after_tasks)
    };
    let is_reversed = is_said || !arrows.is_empty() && arrows.iter().all(leads_back);
    if let Some(link) = arrows.first() {
        plan.guess_arrows(link.place, is_reversed);
    }
    for link in links {
        match link.is_arrow && is_reversed {
            true => plan.link(&link.before, &link.after),
            false => plan.link(&link.after, &link.before),
        }
    }
}

/// A link whose names are tasks of the plan.
struct Resolved {
    after: Vec<Reference>,
    before: Vec<Reference>,
    after_tasks: Vec<usize>,
    before_tasks: Vec<usize>,
    is_arrow: bool,
    place: Span,
}

struct LinkReader<'p> {
    plan: &'p RawPlan,
    index: &'p Index,
    links: Vec<Resolved>,
    ordered: Vec<Resolved>,
    parallel: HashSet<usize>,
    /// Lines in an unknown form; those with a number above 0 certainly name tasks.
    doubts: Vec<(Span, usize)>,
    /// Where the text says that no task depends on another.
    independent: Option<Span>,
}

impl LinkReader<'_> {
    fn read(&mut self, lines: &[MarkdownLine<'_>], places: &HashSet<u32>) {
        let mut part = TextPart::Prose;
        // The level of the heading that started the part; none for a sentence.
        let mut level: Option<usize> = None;
        let (mut was_blank, mut has_lines) = (false, false);
        for line in lines {
            let is_task = places.contains(&u32::try_from(line.at).unwrap_or(u32::MAX));
            let heading = match line.kind {
                LineKind::Heading(own) => Some(own),
                LineKind::Text if is_bold_heading(line.text) => Some(7),
                _ => None,
            };
            match (line.kind, heading) {
                (LineKind::Blank, _) => {}
                (_, Some(own)) => {
                    let begun = if is_task { TextPart::Prose } else { part_of(line.text) };
                    let is_below = level.is_some_and(|level| own > level) && part != TextPart::Prose && !is_task;
                    if !is_below || begun != TextPart::Prose {
                        (part, level) = (begun, Some(own));
                    }
                    has_lines = false;
                }
                (LineKind::TableRow, _) => {}
                _ if is_task => {
                    // A list of tasks ends a part that a sentence started.
                    if level.is_none() {
                        part = TextPart::Prose;
                    }
                }
                (kind, _) => {
                    if kind == LineKind::Text && level.is_none() && was_blank && has_lines {
                        part = TextPart::Prose;
                    }
                    let (own, text, at) = match label_of(line.text) {
                        Some((own, n_bytes)) if line.indent < 2 => {
                            let rest = line.text.get(n_bytes..).unwrap_or("");
                            if rest.trim_matches(['*', ' ', '_']).is_empty() {
                                (part, level, has_lines) = (own, None, false);
                                was_blank = false;
                                continue;
                            }
                            (own, rest, line.at + n_bytes)
                        }
                        _ => (part, line.text, line.at),
                    };
                    has_lines = true;
                    self.line(text, at, own, line.indent);
                }
            }
            was_blank = line.kind == LineKind::Blank;
        }
    }

    fn line(&mut self, text: &str, at: usize, part: TextPart, indent: usize) {
        if part == TextPart::Other || part == TextPart::Prose && indent > 1 {
            return;
        }
        if says_independent(text) {
            self.independent
                .get_or_insert(Span::new(at, at + text.trim_end().len()));
        }
        let is_section = part != TextPart::Prose;
        let said = statements(text, is_section);
        for link in &said.links {
            match self.resolved(link, at, is_section) {
                Some(resolved) if part == TextPart::Order => self.ordered.push(resolved),
                Some(resolved) => self.links.push(resolved),
                None if part == TextPart::Dependencies => {
                    let n_tasks = self.n_tasks(&link.after, at) + self.n_tasks(&link.before, at);
                    self.doubts.push((Span::new(at, at + text.trim_end().len()), n_tasks));
                }
                None => {}
            }
        }
        for name in &said.parallel {
            if let Some(tasks) = self.tasks(name, at) {
                self.parallel.extend(tasks);
            }
        }
        for doubt in said.doubts.iter().filter(|_| part == TextPart::Dependencies) {
            let span = Span::new(at + doubt.start, at + doubt.end);
            let n_tasks = words_with_digits(text.get(doubt.clone()).unwrap_or("")).saturating_sub(1);
            self.doubts.push((span, n_tasks));
        }
    }

    /// Returns how many ids of tasks there are among some names.
    fn n_tasks(&self, names: &[SentenceName], at: usize) -> usize {
        let is_task = |name: &&SentenceName| name.is_id && !name.text.contains(' ') && self.tasks(name, at).is_some();
        names.iter().filter(is_task).count()
    }

    /// Returns the tasks that a name means without a guess.
    fn tasks(&self, name: &SentenceName, at: usize) -> Option<Vec<usize>> {
        if !name.is_id && name.text.len() > MAX_TITLE {
            return None;
        }
        // The sentence belongs to no task.
        let found = self.index.find_apart(&reference(name, at));
        if let Some(tasks) = found.certain().filter(|tasks| !tasks.is_empty()) {
            return Some(tasks.to_vec());
        }
        match found {
            NameLookup::Tasks(named) if name.is_id => Some(named.tasks).filter(|_| named.by_place),
            // Words of only one title: the guess is noted when the plan is resolved.
            NameLookup::Tasks(named) => Some(named.tasks).filter(|tasks| tasks.len() == 1),
            NameLookup::Group(group) => Some(self.index.members_of(group).to_vec()),
            _ => None,
        }
    }

    /// Returns a link if all of its names are tasks. In a section of dependencies, an unknown id stays, and is refused later.
    fn resolved(&self, link: &Link, at: usize, is_section: bool) -> Option<Resolved> {
        let side = |names: &[SentenceName], others: &[SentenceName]| -> Option<(Vec<Reference>, Vec<usize>)> {
            let (mut found, mut found_tasks) = (Vec::new(), Vec::new());
            for name in names {
                match self.tasks(name, at) {
                    _ if is_everything(&name.text) => {
                        let others = others.iter().filter_map(|name| self.tasks(name, at));
                        let others: HashSet<usize> = others.flatten().collect();
                        let tasks = self.plan.tasks.iter().enumerate();
                        for (task_ix, raw) in tasks.filter(|(ix, _)| !others.contains(ix)) {
                            let name_of_task = raw.task.id.as_ref().unwrap_or(&raw.task.title);
                            found.push(Reference::certain(name_of_task, reference(name, at).place));
                            found_tasks.push(task_ix);
                        }
                        continue;
                    }
                    Some(tasks) => found_tasks.extend(tasks),
                    None if is_section && name.is_id => {}
                    None => return None,
                }
                found.push(reference(name, at));
            }
            Some((found, found_tasks))
        };
        let ((after, after_tasks), (before, before_tasks)) =
            (side(&link.after, &link.before)?, side(&link.before, &link.after)?);
        let place = after.first()?.place;
        // If none of the names is a task, they are names of something else.
        (!after_tasks.is_empty() || !before_tasks.is_empty()).then_some(Resolved {
            after,
            before,
            after_tasks,
            before_tasks,
            is_arrow: link.is_arrow,
            place,
        })
    }
}

fn is_everything(name: &str) -> bool {
    matches!(
        name.to_lowercase().as_str(),
        "everything" | "everything else" | "all others" | "all other tasks" | "all tasks" | "all other steps"
    )
}

fn reference(name: &SentenceName, at: usize) -> Reference {
    Reference::certain(&name.text, Span::new(at + name.range.start, at + name.range.end))
}

fn words_with_digits(text: &str) -> usize {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.contains(|c: char| c.is_ascii_digit())).count()
}

/// Returns the kind of part that a heading announces.
fn part_of(title: &str) -> TextPart {
    let lower = plain(title).to_lowercase();
    let bare = lower.trim_start_matches(|c: char| !c.is_alphabetic());
    #[rustfmt::skip]
    const PARTS: [(TextPart, &[&str]); 3] = [
        (TextPart::Dependencies, &["dependenc", "task dependenc", "blocking", "ordering constraint"]),
        (TextPart::Order, &["execution order", "order", "suggested order", "recommended order", "implementation order"]),
        (TextPart::Other, &["critical path", "example", "parallel example"]),
    ];
    let part = PARTS.iter().find(|(_, starts)| starts_with_any(bare, starts));
    part.map_or(TextPart::Prose, |(part, _)| *part)
}

/// Returns the kind of part that a label such as "**Dependencies:**" at the start of a line announces, and its length.
fn label_of(text: &str) -> Option<(TextPart, usize)> {
    let colon = text.find(':').filter(|at| *at <= 40)?;
    let part = part_of(text.get(..colon)?);
    let rest = text.get(colon + 1..)?;
    let n_marks = rest.len() - rest.trim_start_matches('*').len();
    (part != TextPart::Prose).then_some((part, colon + 1 + n_marks))
}
