//! A plan to convert, with its document: its draft, its original objects, and the members that no table knows.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use crate::dialect::ALIAS_FUEL;
use crate::dialect::draft::{DraftState, DraftTask, Fields, PlanDraft};
use crate::dialect::{CarrierKind, Dialect};
use crate::document::markdown::Markdown;
use crate::document::patch::PlainValue;
use crate::document::rules::YAML_UNSUPPORTED;
use crate::document::write::json_number;
use crate::document::{DocumentFormat, Member, NodeKind, NodeRef, Parsed, json, yaml};
use crate::edit::Owner;
use crate::inspect::{Inspection, LinkedPlan};
use crate::plan::{self, Field, FieldEntry, Status, Task};
use crate::text::{SourceText, Span};

/// The member that carries what a dialect cannot hold.
pub const EXTENSION: &str = "x-planwright";

/// This many bytes of text count as one value read through aliases.
const BYTES_PER_VALUE: usize = 32;

/// Returns an inspected plan as a draft; none without a plan or a matching document.
pub(crate) fn draft_of(inspection: &Inspection) -> Option<PlanDraft> {
    ConversionSource::new(inspection).map(|source| source.draft())
}

/// Returns the tasks of an inspected plan as written.
pub(crate) fn tasks_of(inspection: &Inspection) -> Option<Vec<Vec<(String, PlainValue)>>> {
    ConversionSource::new(inspection).map(|source| source.original_tasks())
}

/// Returns the text of an inspected plan with more tasks at its end, each a JSON object. None if the tasks are no objects, or are inside
/// other text.
pub(crate) fn with_more_tasks(inspection: &Inspection, more: &[String]) -> Option<String> {
    let source = ConversionSource::new(inspection).filter(|source| !source.is_embedded())?;
    let mut tasks: Vec<PlainValue> = source.original_tasks().into_iter().map(PlainValue::Object).collect();
    for text in more {
        let parsed = json::parse(&SourceText::new(text.as_str()));
        let root = parsed.document.root().filter(|root| root.kind() == NodeKind::Object)?;
        tasks.push(owned(root, &mut 0));
    }
    let key = source
        .root()
        .members()
        .find(|member| Some(member.value.span()) == source.linked.plan.tasks_span)?;
    let key = key.key.value().into_owned();
    let head = source.original_head().into_iter();
    let members = head.map(|(own, value)| match own == key {
        true => (own, PlainValue::Array(tasks.clone())),
        false => (own, value),
    });
    Some(crate::document::write::json(&PlainValue::Object(members.collect())))
}

/// Returns the rows of the tasks among the elements of a list, which may have others.
fn rows_of_tasks(plan: &plan::Plan, list: NodeRef<'_>) -> Vec<usize> {
    let elements = list.elements();
    if plan.groups().is_empty() {
        return elements.map(|task| task.resolved().row()).collect();
    }
    let spans: HashSet<Span> = plan.tasks().iter().map(|task| task.span).collect();
    let tasks = elements.filter(|element| spans.contains(&element.span()));
    tasks.map(NodeRef::row).collect()
}

/// A plan and its document.
pub(super) struct ConversionSource<'i> {
    pub(super) linked: &'i LinkedPlan,
    pub(super) carrier: CarrierKind,
    parsed: Parsed,
    /// The rows of the tasks' objects.
    task_rows: Vec<usize>,
}

impl<'i> ConversionSource<'i> {
    /// Parses the document of an inspected plan again; none without a plan or a matching document.
    pub(super) fn new(inspection: &'i Inspection) -> Option<Self> {
        ConversionSource::of(inspection, None)
    }

    /// Like `new`, with the document if the caller has kept it.
    pub(super) fn of(inspection: &'i Inspection, parsed: Option<Parsed>) -> Option<Self> {
        let linked = inspection.plan.as_ref()?;
        let plan = &linked.plan;
        let (carrier, span) = inspection.carrier?;
        let parse = || match carrier {
            CarrierKind::Yaml => Some(yaml::parse(&inspection.source)),
            // Only a whole text may begin with a byte order mark.
            CarrierKind::Json if span == inspection.source.span() => Some(json::parse(&inspection.source)),
            CarrierKind::Json => Some(json::parse_span(&inspection.source, span)),
            CarrierKind::Markdown => match linked.dialect.notation() {
                Some(notation) => Some(notation(&inspection.source, None).parse(&inspection.source)),
                None => linked.dialect.embedded()?.document(&inspection.source),
            },
        };
        let parsed = parsed.or_else(parse)?;
        let task_rows = {
            let root = parsed.document.root()?;
            let is_list = |member: &Member<'_>| Some(member.value.span()) == plan.tasks_span;
            let list = root.members().find(is_list)?.value;
            rows_of_tasks(plan, list)
        };
        let source = ConversionSource {
            linked,
            carrier,
            parsed,
            task_rows,
        };
        (source.task_rows.len() == plan.tasks().len()).then_some(source)
    }

    /// Returns whether the document is only a part of the dialect's file.
    fn is_embedded(&self) -> bool {
        let is_part = self.parsed.document.extent() != self.linked.plan.source().span();
        is_part && self.linked.dialect.embedded().is_some()
    }

    /// Returns the outermost object.
    pub(super) fn root(&self) -> NodeRef<'_> {
        self.parsed.document.at(0)
    }

    pub(super) fn task_node(&self, task_ix: usize) -> NodeRef<'_> {
        self.parsed.document.at(self.task_rows[task_ix])
    }

    /// Returns the plan as a draft, without fields that follow from its tasks.
    pub(super) fn draft(&self) -> PlanDraft {
        let opaque = self.opaque_rows();
        let reader = ValueReader {
            source: self,
            opaque,
            fuel: Cell::new(ALIAS_FUEL),
        };
        let tasks = self.linked.plan.tasks().iter().enumerate();
        PlanDraft {
            form: None,
            head: reader.fields(self.linked.plan.head(), true),
            tasks: tasks.map(|(ix, task)| reader.task(ix, task)).collect(),
            slots: self.linked.plan.slots,
            order: self.linked.plan.lifecycle.order,
            has_stages: self.linked.plan.has_stages,
        }
    }

    /// Finds the rows of values that the plan carries unread.
    fn opaque_rows(&self) -> HashMap<Span, usize> {
        let has_opaque = |entries: &[FieldEntry]| {
            let is_opaque = |entry: &FieldEntry| matches!(entry.value, plan::FieldValue::Opaque(_));
            entries.iter().any(|entry| is_opaque(entry) && is_carried(entry.field))
        };
        let mut tasks = self.linked.plan.tasks().iter();
        if !has_opaque(self.linked.plan.head()) && !tasks.any(|task| has_opaque(self.linked.plan.entries(task))) {
            return HashMap::new();
        }
        let nodes = self.parsed.document.nodes();
        let collections = nodes.filter(|node| matches!(node.kind(), NodeKind::Object | NodeKind::Array));
        collections.map(|node| (node.span(), node.row())).collect()
    }

    /// Returns the plan without its tasks as written: the members of its object, with a null in place of the tasks. For an embedded
    /// document, the file's frontmatter and these members as its contract.
    pub(super) fn original_head(&self) -> Vec<(String, PlainValue)> {
        let tasks_span = self.linked.plan.tasks_span;
        let mut fuel = ALIAS_FUEL;
        let mut head: Vec<(String, PlainValue)> = Vec::new();
        for member in self.root().members() {
            let value = match Some(member.value.span()) == tasks_span {
                true => PlainValue::Null,
                false => owned(member.value, &mut fuel),
            };
            head.push((member.key.value().into_owned(), value));
        }
        match self.is_embedded() {
            true => vec![
                ("frontmatter".to_owned(), PlainValue::Object(self.frontmatter())),
                ("contract".to_owned(), PlainValue::Object(head)),
            ],
            false => head,
        }
    }

    /// Returns how many lines of the text are no part of its document, such as headings and remarks between task lines.
    pub(super) fn n_other_lines(&self) -> usize {
        if self.linked.dialect.notation().is_none() {
            return 0;
        }
        let source = self.linked.plan.source();
        let (lists, texts): (Vec<_>, Vec<_>) = self
            .root()
            .members()
            .map(|member| member.value)
            .partition(|value| value.kind() == NodeKind::Array);
        let parts = lists.into_iter().flat_map(NodeRef::elements).chain(texts);
        let mut spans: Vec<Span> = parts.map(NodeRef::span).collect();
        spans.sort_unstable();
        let mut at = 0;
        let other = source.as_str().split_inclusive('\n').filter(|line| {
            let span = Span::new(at, at + line.trim_end().len());
            at += line.len();
            let is_marker = line.trim_start().starts_with("<!--");
            let before = spans.partition_point(|part| part.start < span.end);
            let is_part = before > 0 && span.start < spans[before - 1].end;
            !line.trim().is_empty() && !is_marker && !is_part
        });
        other.count()
    }

    fn frontmatter(&self) -> Vec<(String, PlainValue)> {
        let markdown = Markdown::parse(self.linked.plan.source());
        let source = self.linked.plan.source();
        let entries = markdown.entries().iter().map(|entry| {
            let text = |span: Span| PlainValue::String(source.slice(span).to_owned());
            let items = markdown.items(entry);
            let value = match items.is_empty() {
                true => text(entry.content),
                false => PlainValue::Array(items.into_iter().map(text).collect()),
            };
            (source.slice(entry.key).to_owned(), value)
        });
        entries.collect()
    }

    /// Returns the text before and after the document, if it is embedded in a file.
    pub(super) fn prose(&self) -> Option<[&str; 2]> {
        if !self.is_embedded() {
            return None;
        }
        let (text, span) = (self.linked.plan.source().as_str(), self.root().span());
        Some([text.get(..span.start as usize)?, text.get(span.end as usize..)?])
    }

    pub(super) fn original_tasks(&self) -> Vec<Vec<(String, PlainValue)>> {
        let mut fuel = ALIAS_FUEL;
        let tasks = self.task_rows.iter().map(|&row| {
            let members = self.parsed.document.at(row).members();
            members
                .map(|member| (member.key.value().into_owned(), owned(member.value, &mut fuel)))
                .collect()
        });
        tasks.collect()
    }

    /// Returns the members that a dialect's tables do not know: of the plan, then of each task.
    pub(super) fn unknown<'s>(&'s self, dialect: &dyn Dialect) -> Vec<(Option<usize>, Member<'s>)> {
        let known_to = |owner: Owner| -> HashSet<&str> {
            let own = dialect.table_of(&self.linked.plan, owner);
            let tables = own.as_slice();
            let tables = if tables.is_empty() { dialect.tables() } else { tables };
            let specs = tables.iter().flat_map(|table| table.fields);
            specs.map(|spec| spec.name).chain([EXTENSION]).collect()
        };
        let of_plan = known_to(Owner::Plan);
        let of_tasks = known_to(Owner::Task(0));
        let tasks = (0..self.task_rows.len()).map(|ix| (Some(ix), self.task_node(ix)));
        let mut unknown = Vec::new();
        // The previous object has its keys at these positions: files repeat themselves.
        let mut guesses: Vec<&str> = Vec::new();
        for (task_ix, object) in [(None, self.root())].into_iter().chain(tasks) {
            let known = if task_ix.is_none() { &of_plan } else { &of_tasks };
            if task_ix == Some(0) {
                guesses.clear();
            }
            for (position, member) in object.members().enumerate() {
                if guesses.get(position).is_some_and(|guess| member.key.is_text(guess)) {
                    continue;
                }
                match known.get(&*member.key.value()) {
                    Some(name) if position < guesses.len() => guesses[position] = name,
                    Some(name) if position == guesses.len() => guesses.push(name),
                    Some(_) => {}
                    None => unknown.push((task_ix, member)),
                }
            }
        }
        unknown
    }
}

impl ConversionSource<'_> {
    /// Returns the start of a second YAML document.
    pub(super) fn second_document(&self) -> Option<Span> {
        second_document(&self.parsed)
    }
}

/// Returns the start of a second YAML document.
pub(super) fn second_document(parsed: &Parsed) -> Option<Span> {
    let found = parsed.diagnostics.iter();
    let mut unread =
        found.filter(|found| found.rule == &YAML_UNSUPPORTED && found.message.starts_with("a second document"));
    unread.next().and_then(|found| found.span)
}

/// Returns the value of a node with aliases resolved, as long as there is fuel.
pub(crate) fn owned(node: NodeRef<'_>, fuel: &mut usize) -> PlainValue {
    if node.kind() == NodeKind::Alias {
        let target = node.resolved();
        let cost = target.n_rows() + target.span().len() / BYTES_PER_VALUE;
        match fuel.checked_sub(cost) {
            Some(rest) => *fuel = rest,
            None => return PlainValue::Null,
        }
    }
    let node = node.resolved();
    match node.kind() {
        NodeKind::Object => {
            let members = node.members();
            PlainValue::Object(
                members
                    .map(|member| (member.key.value().into_owned(), owned(member.value, fuel)))
                    .collect(),
            )
        }
        NodeKind::Array => PlainValue::Array(node.elements().map(|element| owned(element, fuel)).collect()),
        NodeKind::Number => PlainValue::Number(number_of(node.slice(), node.document().format())),
        _ => PlainValue::of(node),
    }
}

/// Returns a number in the notation that JSON and YAML share.
fn number_of(written: &str, format: DocumentFormat) -> String {
    match format {
        DocumentFormat::Json | DocumentFormat::Own(_) => written.to_owned(),
        DocumentFormat::Yaml => json_number(written).trim_matches('"').to_owned(),
    }
}

/// Returns false for fields that follow from the tasks, or that a draft holds elsewhere.
fn is_carried(field: Field) -> bool {
    !matches!(
        field,
        Field::Tasks
            | Field::Metadata
            | Field::SchemaVersion
            | Field::Waves
            | Field::Dependencies
            | Field::Position
            | Field::Wave
            | Field::Priority
            | Field::Skip
            | Field::Passes
            | Field::Skipped
            | Field::CurrentTask
            | Field::GeneratedBy
            | Field::Mode
    )
}

struct ValueReader<'s, 'i> {
    source: &'s ConversionSource<'i>,
    opaque: HashMap<Span, usize>,
    /// How much may still be read through aliases.
    fuel: Cell<usize>,
}

impl ValueReader<'_, '_> {
    fn task(&self, task_ix: usize, task: &Task) -> DraftTask {
        let plan = &self.source.linked.plan;
        let edges = self.source.linked.links.of(task_ix).iter();
        DraftTask {
            id: plan.task_id(task).map(|id| plan.str(id).to_owned()),
            state: match task.status {
                Status::Pending | Status::Unknown(_) => DraftState::Pending,
                Status::Running => DraftState::Running,
                Status::Done => DraftState::Done,
                Status::Failed => DraftState::Failed,
                Status::Skipped => DraftState::Skipped,
                Status::Blocked(reason) => DraftState::Blocked(plan.str(reason).to_owned()),
            },
            held: task.held,
            priority: task.priority,
            stage: task.stage,
            barrier: task.barrier,
            dependencies: edges.map(|edge| edge.to).collect(),
            fields: self.fields(plan.entries(task), false),
        }
    }

    fn fields(&self, entries: &[FieldEntry], of_plan: bool) -> Fields {
        let mut fields = Fields::default();
        for entry in entries {
            let is_own = is_carried(entry.field) && (of_plan || !matches!(entry.field, Field::Id | Field::Status));
            if is_own {
                let span = self.source.linked.plan.span(entry.value);
                fields.push(entry.field, self.value(entry.value), Some(span));
            }
        }
        fields
    }

    fn value(&self, value: plan::FieldValue) -> PlainValue {
        let plan = &self.source.linked.plan;
        let document = &self.source.parsed.document;
        match value {
            plan::FieldValue::Text(text) => PlainValue::String(plan.str(text).to_owned()),
            plan::FieldValue::Number(span) => {
                PlainValue::Number(number_of(plan.source().slice(span), document.format()))
            }
            plan::FieldValue::True(_) => PlainValue::Bool(true),
            plan::FieldValue::False(_) => PlainValue::Bool(false),
            plan::FieldValue::Null(_) => PlainValue::Null,
            plan::FieldValue::List(list) => {
                let items = plan.items(list).iter();
                PlainValue::Array(items.map(|&item| self.value(item)).collect())
            }
            plan::FieldValue::Opaque(span) => {
                let row = self.opaque.get(&span);
                let mut fuel = self.fuel.get();
                let value = row.map_or(PlainValue::Null, |&row| owned(document.at(row), &mut fuel));
                self.fuel.set(fuel);
                value
            }
        }
    }
}
