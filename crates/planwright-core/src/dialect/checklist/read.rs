//! Reads checklists as plans: tasks, groups, the order. What is no task line stays text.

use std::collections::HashMap;
use std::rc::Rc;

use super::super::{DialectInput, PlanReading};
use super::PROFILE;
use super::details;
use super::ids;
use super::lines::{BoxItem, Lines, OddBox};
use super::names::ChecklistNames;
use super::rules::{
    BOX, DEPENDENCY, GROUP_NUMBER, GROUP_STATE, MARK, MARKER, NO_TASK_LINE, QUALITY_LIST, SAME_TEXT, UNCLOSED,
};
use super::statuses::{KIRO_LIFECYCLE, LIFECYCLE};
use super::tags;
use super::task_line::{TaggedLine, task_lines};
use super::variant::{Marker, Order, Variant};
use crate::diagnostic::{Diagnostic, Replacement, push_bounded};
use crate::plan::{
    Dependency, DependencyTarget, Field, FieldEntry, FieldValue, Group, Hierarchy, PlanBuilder, Slots, Status,
    TaskName, Text,
};
use crate::text::{SourceText, Span, visible};

/// The number of tasks that may run at once where dependencies or marks say which may.
const PARALLEL_SLOTS: u32 = 4;

pub(super) fn read(input: &DialectInput<'_>) -> PlanReading {
    let source = input.source;
    let lines = Lines::read(source);
    if let Some(finding) = refusal(source, &lines, input.path) {
        return PlanReading {
            diagnostics: vec![finding],
            ..PlanReading::default()
        };
    }
    let variant = Variant::of(source, &lines, input.path);
    let lifecycle = if variant == Variant::Kiro {
        &KIRO_LIFECYCLE
    } else {
        &LIFECYCLE
    };
    let builder = PlanBuilder::new(source, PROFILE.name, variant.form(), lifecycle);
    let mut reader = ChecklistReader {
        source,
        variant,
        found: task_lines(source, &lines, variant).into(),
        lines,
        builder,
        diagnostics: Vec::new(),
        leaf_of: Vec::new(),
        group_of: Vec::new(),
    };
    reader.read(input.facts.order.as_deref());
    PlanReading {
        plan: Some(reader.builder.finish()),
        diagnostics: reader.diagnostics,
        ..PlanReading::default()
    }
}

/// Returns why a text is no plan.
fn refusal(source: &SourceText, lines: &Lines, path: Option<&str>) -> Option<Diagnostic> {
    let title = lines.title().map_or("", |title| source.slice(title)).to_lowercase();
    let is_question = |item: &BoxItem| source.slice(item.text).starts_with("CHK0");
    let is_quality = path.is_some_and(|path| format!("/{path}").contains("/checklists/") && path.contains("specs/"))
        || title.contains("quality checklist")
        || lines.items.first().is_some_and(is_question);
    if is_quality && lines.marker.is_none() {
        let message = "this is a quality checklist, not a plan: its boxes are questions for reviewers";
        return Some(Diagnostic::of_file(&QUALITY_LIST, message).with_help("name the `tasks.md` next to its folder"));
    }
    if !lines.items.is_empty() {
        return None;
    }
    let has_tasks_as_headings = lines.headings.iter().any(|heading| {
        let title = source.slice(heading.title);
        title.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("task "))
    });
    let message = match has_tasks_as_headings {
        true => "the file has no task line: its tasks are headings",
        false => "the file has no task line",
    };
    let help = "a task line is `- [ ] What to do`; `planwright import FILE` reads plans in other forms";
    Some(Diagnostic::of_file(&NO_TASK_LINE, message).with_help(help))
}

struct ChecklistReader<'s> {
    source: &'s SourceText,
    variant: Variant,
    lines: Lines,
    found: Rc<[TaggedLine]>,
    builder: PlanBuilder,
    diagnostics: Vec<Diagnostic>,
    /// For each task line, its index among the tasks, or among the groups.
    leaf_of: Vec<u32>,
    group_of: Vec<u32>,
}

/// What a task has from the lines around it.
struct GroupContext<'r> {
    /// The path of headings of each heading.
    sections: &'r [Option<Text>],
    group_text: Option<Text>,
    group_ids: &'r HashMap<String, u32>,
}

impl ChecklistReader<'_> {
    fn read(&mut self, order: Option<&str>) {
        self.number();
        let names = ChecklistNames::of(self.source, &self.lines, &self.found);
        let order = self.order(order);
        let sections = self.sections();
        let group_texts = self.group_texts();
        let group_ids = self.group_ids();
        let mut positions = Vec::new();
        let mut parents = Vec::new();
        let mut groups = Vec::new();
        let found = Rc::clone(&self.found);
        self.builder.reserve(found.len(), 4);
        for (ix, line) in found.iter().enumerate() {
            let position = self.builder.decoded_text(line.item.line, names.position(ix));
            let parent = line.parent.map(|parent| self.group_of[parent]);
            if line.is_group {
                groups.push(Group {
                    span: line.span(),
                    mark_span: line.item.mark,
                    name: line.tags.id.map_or(position, |id| self.builder.bare_text(id)),
                    title: self.builder.bare_text(line.tags.title),
                    parent,
                    is_ticked: line.is_ticked(self.source),
                    is_optional: line.item.star.is_some(),
                });
                continue;
            }
            let group_text = line.parent.and_then(|parent| group_texts[parent]);
            let context = GroupContext {
                sections: &sections,
                group_text,
                group_ids: &group_ids,
            };
            self.task(line, &names, ix, &context);
            positions.push(position);
            parents.push(parent);
        }
        self.builder.set_hierarchy(Hierarchy::new(groups, parents, positions));
        self.set_order(order);
        self.report_same_texts(&names);
        self.head(order);
        self.report();
    }

    /// Numbers tasks and groups.
    fn number(&mut self) {
        let (mut n_tasks, mut n_groups) = (0, 0);
        for line in self.found.iter() {
            self.leaf_of.push(n_tasks);
            self.group_of.push(n_groups);
            *(if line.is_group { &mut n_groups } else { &mut n_tasks }) += 1;
        }
    }

    /// Returns the path of headings above the tasks of each heading, without the title of the file.
    fn sections(&mut self) -> Vec<Option<Text>> {
        let headings = &self.lines.headings;
        let mut paths: Vec<String> = Vec::with_capacity(headings.len());
        for heading in headings {
            let own = self.source.slice(heading.title);
            let above = heading.parent.map_or("", |parent| paths[parent].as_str());
            paths.push(match (heading.level, above) {
                (1, _) => String::new(),
                (_, "") => own.to_owned(),
                (_, above) if above.len() > 400 => above.to_owned(),
                (_, above) => format!("{above} / {own}"),
            });
        }
        let texts = paths.iter().zip(headings.iter().map(|heading| heading.title));
        let texts: Vec<(Span, String)> = texts.map(|(path, span)| (span, path.clone())).collect();
        let decoded = texts
            .into_iter()
            .map(|(span, path)| (!path.is_empty()).then(|| self.builder.decoded_text(span, &path)));
        decoded.collect()
    }

    /// Returns the text below each task line that is a group, after that of the groups around it.
    fn group_texts(&mut self) -> Vec<Option<Text>> {
        let mut texts: Vec<Option<Text>> = vec![None; self.found.len()];
        for (ix, line) in self.found.iter().enumerate().filter(|(_, line)| line.is_group) {
            let around = line.parent.and_then(|parent| texts[parent]);
            let criteria = line.details.criteria.iter();
            let own = line.details.description.iter().map(|about| about.text.clone());
            let own: Vec<String> = own.chain(criteria.map(|item| format!("- {}", item.text))).collect();
            texts[ix] = match own.is_empty() {
                true => around,
                false => {
                    let before = around.map(|text| self.builder.plan().str(text).to_owned());
                    let whole: Vec<String> = before.into_iter().chain(own).collect();
                    Some(self.builder.decoded_text(line.item.line, &whole.join("\n\n")))
                }
            };
        }
        texts
    }

    fn group_ids(&self) -> HashMap<String, u32> {
        let groups = self.found.iter().zip(&self.group_of).filter(|(line, _)| line.is_group);
        let named = groups.filter_map(|(line, group)| Some((self.source.slice(line.tags.id?).to_owned(), *group)));
        let tasks: Vec<&str> = self
            .found
            .iter()
            .filter(|line| !line.is_group)
            .filter_map(|line| Some(self.source.slice(line.tags.id?)))
            .collect();
        let mut ids: HashMap<String, u32> = named.collect();
        for task in tasks {
            ids.remove(task);
        }
        ids
    }

    fn task(&mut self, line: &TaggedLine, names: &ChecklistNames, ix: usize, context: &GroupContext<'_>) {
        let mut entries = self.entries_of_line(line, context);
        self.add_details(line, &mut entries);
        let dependencies = self.dependencies_of(line, context);
        let is_optional = line.item.star.is_some() || self.is_in_optional_group(line);
        let builder = &mut self.builder;
        let task_ix = builder.task(line.span(), entries, dependencies);
        let name = match line.tags.id {
            Some(id) => TaskName::Id(builder.bare_text(id)),
            None => TaskName::Words(builder.decoded_text(line.tags.title, names.name(ix))),
        };
        let status = match self.source.slice(line.item.mark) {
            "x" | "X" => Status::Done,
            "-" if self.variant == Variant::Kiro => Status::Running,
            _ => Status::Pending,
        };
        let task = builder.task_mut(task_ix);
        task.name = name;
        task.status = status;
        task.status_span = line.item.mark;
        task.held = is_optional;
    }

    /// Returns the fields that a task has from its own line and from the groups around it.
    fn entries_of_line(&mut self, line: &TaggedLine, context: &GroupContext<'_>) -> Vec<FieldEntry> {
        let groups = self.groups_around(line);
        let mut entries = Vec::with_capacity(6);
        let mut add = |field, value| entries.push(FieldEntry { field, value });
        let builder = &mut self.builder;
        add(Field::Status, FieldValue::Text(builder.bare_text(line.item.mark)));
        if let Some(star) = line.item.star {
            add(Field::Skip, FieldValue::True(star));
        }
        if let Some(id) = line.tags.id {
            add(Field::Id, FieldValue::Text(builder.bare_text(id)));
        }
        if let Some(parallel) = line.tags.parallel {
            add(Field::Parallelizable, FieldValue::True(parallel));
        }
        if let Some(story) = line.tags.story {
            add(Field::SourceUnit, FieldValue::Text(builder.bare_text(story)));
        }
        let title = self.source.slice(line.tags.title);
        let title = match tags::unescaped_title(title, line.tags.id.is_some(), self.variant) {
            None => builder.bare_text(line.tags.title),
            Some(plain) => builder.decoded_text(line.tags.title, &plain),
        };
        add(Field::Title, FieldValue::Text(title));
        let section = line.item.heading.and_then(|heading| context.sections[heading]);
        let section = match (section, groups) {
            (section, None) => section,
            (None, Some(groups)) => Some(builder.decoded_text(line.item.line, &groups)),
            (Some(section), Some(groups)) => {
                let path = format!("{} / {groups}", builder.plan().str(section));
                Some(builder.decoded_text(line.item.line, &path))
            }
        };
        if let Some(section) = section {
            add(Field::Section, FieldValue::Text(section));
        }
        if let Some(text) = context.group_text {
            add(Field::SectionText, FieldValue::Text(text));
        }
        entries
    }

    /// Adds the fields that a task has from the lines below it.
    fn add_details(&mut self, line: &TaggedLine, entries: &mut Vec<FieldEntry>) {
        let builder = &mut self.builder;
        let mut add = |field, value| entries.push(FieldEntry { field, value });
        if let Some(description) = &line.details.description {
            let text = builder.decoded_text(description.span, &description.text);
            add(Field::Description, FieldValue::Text(text));
        }
        let criteria = &line.details.criteria;
        if let (Some(first), Some(last)) = (criteria.first(), criteria.last()) {
            let items = criteria.iter();
            let items = items.map(|item| FieldValue::Text(builder.decoded_text(item.span, &item.text)));
            let items: Vec<FieldValue> = items.collect();
            let list = builder.list(first.span.to(last.span), items);
            add(Field::Criteria, FieldValue::List(list));
        }
        if let Some(files) = &line.details.files {
            let items = files.items.iter();
            let items = items.map(|file| FieldValue::Text(builder.bare_text(*file)));
            let items: Vec<FieldValue> = items.collect();
            let ends = files.items.first().zip(files.items.last());
            let span = ends.map_or(Span::default(), |(first, last)| first.to(*last));
            let list = builder.list(span, items);
            add(Field::Files, FieldValue::List(list));
        }
    }

    /// Returns the dependencies of a task and of the groups around it.
    fn dependencies_of(&mut self, line: &TaggedLine, context: &GroupContext<'_>) -> Vec<Dependency> {
        let needs = self.needs_with_groups(line);
        let dependencies = needs.iter().map(|&span| Dependency {
            span,
            target: match context.group_ids.get(self.source.slice(span)) {
                Some(group) => DependencyTarget::Group(*group),
                None => DependencyTarget::Id(self.builder.bare_text(span)),
            },
        });
        dependencies.collect()
    }

    /// Returns the groups around a task, from the inside out.
    fn around<'l>(&'l self, line: &TaggedLine) -> impl Iterator<Item = &'l TaggedLine> {
        let found = &self.found;
        let first = line.parent.and_then(|parent| found.get(parent));
        std::iter::successors(first, move |group| found.get(group.parent?))
    }

    /// Returns the dependencies of a task and of the groups around it.
    fn needs_with_groups(&self, line: &TaggedLine) -> Vec<Span> {
        let inherited = self.around(line).flat_map(TaggedLine::needs);
        line.needs().iter().chain(inherited).copied().collect()
    }

    fn has_needs(&self, line: &TaggedLine) -> bool {
        !line.needs().is_empty() || self.around(line).any(|group| !group.needs().is_empty())
    }

    fn is_in_optional_group(&self, line: &TaggedLine) -> bool {
        self.around(line).any(|group| group.item.star.is_some())
    }

    /// Returns the titles of the groups around a task, from the outside in; none outside of groups.
    fn groups_around(&self, line: &TaggedLine) -> Option<String> {
        let titles = self.around(line).map(|group| self.source.slice(group.tags.title));
        let mut titles: Vec<&str> = titles.collect();
        titles.reverse();
        (!titles.is_empty()).then(|| titles.join(" / "))
    }

    /// Returns the order that holds: that of the marker line, that of the settings, or the variant's.
    fn order(&mut self, setting: Option<&str>) -> Order {
        let marker = Marker::of(self.source, &self.lines);
        let has_marks = self.found.iter().any(|line| line.tags.parallel.is_some());
        for word in marker.iter().flat_map(|marker| &marker.unknown) {
            let message = format!(
                "`{}` means nothing in the marker line",
                visible(self.source.slice(*word))
            );
            let finding = Diagnostic::new(&MARKER, *word, message).with_help(
                "it may say `plan ID`, `explicit dependencies`, `order strict`, `order phases` or `order none`",
            );
            push_bounded(&mut self.diagnostics, || finding);
        }
        let is_marked = marker.as_ref().is_some_and(|marker| marker.is_explicit);
        let is_explicit = is_marked || self.found.iter().any(|line| !line.needs().is_empty());
        let of_marker = marker.and_then(|marker| marker.order);
        let of_setting = setting.and_then(Order::named);
        of_marker
            .or(of_setting)
            .unwrap_or_else(|| Order::usual(self.variant, is_explicit, has_marks))
    }

    /// Gives every task its stage, and the one that it waits for.
    fn set_order(&mut self, order: Order) {
        let leaves: Vec<&TaggedLine> = self.found.iter().filter(|line| !line.is_group).collect();
        let has_marks = leaves.iter().any(|line| line.tags.parallel.is_some());
        let has_needs = leaves.iter().any(|line| !line.needs().is_empty());
        let is_parallel = has_marks || has_needs || order != Order::Strict;
        self.builder.plan().slots = Slots::Fixed(if is_parallel { PARALLEL_SLOTS } else { 1 });
        if order == Order::None {
            return;
        }
        self.builder.plan().has_stages = true;
        // The first task of each phase, and of each group of neighbours.
        let mut phases: HashMap<(Option<usize>, u32), u32> = HashMap::new();
        let mut peers: HashMap<(u32, Option<usize>), u32> = HashMap::new();
        for (stage, line) in (0..).zip(leaves) {
            let phase = *phases.entry(self.phase_of(line)).or_insert(stage);
            let first_peer = *peers.entry((line.item.section, line.parent)).or_insert(stage);
            let barrier = match order {
                Order::None => 0,
                _ if self.has_needs(line) => {
                    if order == Order::Strict {
                        0
                    } else {
                        phase
                    }
                }
                Order::Strict => stage,
                Order::Phases if !has_marks => phase,
                Order::Phases if line.tags.parallel.is_some() => first_peer,
                Order::Phases => stage,
            };
            let task = self.builder.task_mut(stage as usize);
            (task.stage, task.barrier) = (stage, barrier);
        }
    }

    /// Returns what makes a phase: the heading of the second level, or the outermost group; checkpoints divide phases.
    fn phase_of(&self, line: &TaggedLine) -> (Option<usize>, u32) {
        let headings = &self.lines.headings;
        let above = |heading: &usize| headings[*heading].parent;
        let mut around = std::iter::successors(line.item.heading, above);
        let phase = around.find(|heading| headings[*heading].level <= 2);
        let is_under_title = phase.is_none_or(|heading| headings[heading].level == 1);
        let mut outer = line.parent;
        while let Some(parent) = outer.and_then(|outer| self.found[outer].parent) {
            outer = Some(parent);
        }
        match (is_under_title, outer) {
            (true, Some(outer)) => (Some(headings.len() + outer), 0),
            _ => (phase, 0),
        }
    }

    fn head(&mut self, order: Order) {
        if let Some(id) = Marker::of(self.source, &self.lines).and_then(|marker| marker.id) {
            let id = self.builder.bare_text(id);
            self.builder.head_entry(Field::Id, FieldValue::Text(id));
        }
        if let Some(title) = self.lines.title() {
            let title = self.builder.bare_text(title);
            self.builder.head_entry(Field::Title, FieldValue::Text(title));
        }
        let introduction = self
            .lines
            .introduction
            .and_then(|span| details::introduction(self.source, span));
        if let Some(found) = introduction {
            let text = self.builder.decoded_text(found.span, &found.text);
            self.builder.head_entry(Field::Description, FieldValue::Text(text));
        }
        let span = self.lines.marker.unwrap_or(Span::at(self.source.bom_len()));
        let order = self.builder.decoded_text(span, order.as_str());
        self.builder.head_entry(Field::Order, FieldValue::Text(order));
        let (first, last) = (self.found.first(), self.found.last());
        if let (Some(first), Some(last)) = (first, last) {
            self.builder.plan().tasks_span = Some(first.span().to(last.span()));
        }
    }

    /// Reports tasks that cannot be told apart.
    fn report_same_texts(&mut self, names: &ChecklistNames) {
        let mut known: HashMap<&str, Span> = HashMap::new();
        for (ix, line) in self
            .found
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.is_group && line.tags.id.is_none())
        {
            let Some(first) = known.insert(names.name(ix), line.tags.title) else {
                continue;
            };
            let finding = Diagnostic::new(
                &SAME_TEXT,
                line.tags.title,
                "another task has the same text and headings",
            )
            .with_related(first, "it is here")
            .with_help("say in one of them what distinguishes it, or give both an id");
            push_bounded(&mut self.diagnostics, || finding);
        }
    }

    /// Reports what looks like dependencies and is not read.
    fn report_dependency(&mut self, line: &TaggedLine) {
        let Some(span) = tags::unread_needs(self.source, line.tags.title, self.variant) else {
            return;
        };
        let finding = Diagnostic::new(&DEPENDENCY, span, "this looks like dependencies, and is not read")
            .with_help("write them once, at the end of the line, with commas: (needs T1, T2)");
        push_bounded(&mut self.diagnostics, || finding);
    }

    /// Reports what is odd about boxes, groups and numbers.
    fn report(&mut self) {
        for line in Rc::clone(&self.found).iter() {
            self.report_dependency(line);
        }
        for (span, odd) in &self.lines.odd_boxes {
            let (message, help) = match odd {
                OddBox::NoText => (
                    "a box without text is no task",
                    "write what to do after it, or remove the line",
                ),
                OddBox::Unclosed => {
                    let message = "this is never closed: no box below it is read";
                    let finding = Diagnostic::new(&UNCLOSED, *span, message).with_help("close it, or remove it");
                    push_bounded(&mut self.diagnostics, || finding);
                    continue;
                }
                OddBox::Code => (
                    "this is indented code, and no task",
                    "indent the line by less than four spaces if it is a task",
                ),
                OddBox::NoSpace => (
                    "this is no task: a space must stand after the box",
                    "write a space after `]`",
                ),
                OddBox::Brackets => (
                    "this is no box: the brackets must hold one character",
                    "write `[ ]` for an open task",
                ),
            };
            push_bounded(&mut self.diagnostics, || {
                Diagnostic::new(&BOX, *span, message).with_help(help)
            });
        }
        for line in self.found.iter() {
            let mark = self.source.slice(line.item.mark);
            let is_known = matches!(mark, " " | "x" | "X") || (mark == "-" && self.variant == Variant::Kiro);
            if !is_known && !line.is_group {
                let message = format!("`[{}]` counts as not done", visible(mark));
                let help = "`[ ]` is open, `[x]` is done; the mark stays until the task's state changes";
                push_bounded(&mut self.diagnostics, || {
                    Diagnostic::new(&MARK, line.item.mark, message).with_help(help)
                });
            }
            if let Some(finding) = self.wrong_number(line) {
                push_bounded(&mut self.diagnostics, || finding);
            }
        }
        for group_ix in 0..self.builder.plan().groups().len() {
            if let Some(finding) = self.wrong_group(group_ix) {
                push_bounded(&mut self.diagnostics, || finding);
            }
        }
    }

    fn wrong_number(&self, line: &TaggedLine) -> Option<Diagnostic> {
        if !self.variant.is_numbered() {
            return None;
        }
        let id = line.tags.id?;
        let own = self.source.slice(id).split('.').next()?;
        let is_heading_numbered = |heading: usize| {
            let title = self.source.slice(self.lines.headings[heading].title);
            Some(&title[..ids::number_id(title)?])
        };
        let heading = line.item.heading.filter(|_| self.variant == Variant::OpenSpec);
        let parent = line
            .parent
            .and_then(|parent| Some(self.source.slice(self.found[parent].tags.id?)));
        let group = match heading.and_then(is_heading_numbered) {
            Some(number) => number,
            None => parent?.split('.').next()?,
        };
        let group = group.split('.').next()?;
        (own != group).then(|| {
            let message = format!("`{}` stands in group {group}", visible(self.source.slice(id)));
            Diagnostic::new(&GROUP_NUMBER, id, message).with_help("correct the number, or move the line to its group")
        })
    }

    fn wrong_group(&mut self, group_ix: usize) -> Option<Diagnostic> {
        let plan = self.builder.plan();
        let group = *plan.groups().get(group_ix)?;
        let required: Vec<usize> = plan.required_tasks(group_ix).collect();
        let open = required
            .iter()
            .copied()
            .find(|task_ix| plan.tasks()[*task_ix].status != Status::Done);
        let name = visible(plan.str(group.name)).into_owned();
        let (message, mark) = match (group.is_ticked, open) {
            (true, Some(open)) => {
                let open = plan.task_name(open).into_owned();
                (
                    format!("group `{name}` is ticked, but its task `{}` is open", visible(&open)),
                    " ",
                )
            }
            (false, None) if !required.is_empty() => (
                format!("all tasks of group `{name}` are done, and it is not ticked"),
                "x",
            ),
            _ => return None,
        };
        let fix = vec![Replacement::new(group.mark_span, mark.to_owned())];
        let finding = Diagnostic::new(&GROUP_STATE, group.mark_span, message)
            .with_help("its tasks decide: the box of a group is never read")
            .with_safe_fix(
                if mark == " " {
                    "untick the group"
                } else {
                    "tick the group"
                }
                .to_owned(),
                fix,
            );
        Some(finding)
    }
}
