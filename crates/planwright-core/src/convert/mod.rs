//! Converts plans to other dialects through a draft, and reports every loss; also import, migration and new plans. Writes no
//! files.
//!
//! ```
//! use planwright_core::convert::{ConversionOptions, LossKind, convert};
//! use planwright_core::dialect::id_source::IdSource;
//! use planwright_core::dialect::{Choice, DiskFacts, find};
//! use planwright_core::inspect::inspect;
//! use planwright_core::text::SourceText;
//!
//! let text = SourceText::new(
//!     r#"{"goal": "Try it", "tasks": [{"id": "t1", "description": "Read", "tools": ["grep"]}]}"#,
//! );
//! let facts = DiskFacts::default();
//! let clido = inspect(&text, &Choice::by_content(&facts));
//!
//! // Where times and ids come from: the same source of ids makes the same plan.
//! let mut next = 0;
//! let mut fresh = || {
//!     next += 1;
//!     next
//! };
//! let mut id_source = IdSource::new("2026-03-22T10:00:00Z", &mut fresh);
//! let rawko = find("rawko").expect("a known dialect");
//! let converted = convert(&clido, rawko, &ConversionOptions::default(), &mut id_source).expect("the plan has no errors");
//! assert!(converted.text.contains("description: Read\n"));
//! let lost: Vec<_> = converted.losses.iter().filter(|loss| loss.kind == LossKind::Lost).collect();
//! assert_eq!(lost[0].field, "tools");
//! ```

mod adopt;
mod behaviour;
mod embed;
mod fresh;
mod import;
mod migrate;
mod outlined;
pub mod rules;
mod source;

use std::borrow::Cow;
use std::fmt;

use crate::diagnostic::{Diagnostic, Severity};
use crate::dialect::draft::{Fields, PlanDraft, is_void};
use crate::dialect::id_source::IdSource;
use crate::dialect::writer::{WriterRemark, WriterReport};
use crate::dialect::{CarrierKind, Dialect, DialectWriter, name_of};
use crate::document::patch::PlainValue;
use crate::document::{Parsed, yaml};
use crate::inspect::{Inspection, inspect_as};
use crate::plan::{Field, FieldEntry, Plan};
use crate::text::{SourceText, Span, visible};

pub use crate::dialect::writer::{LossKind, MAX_EDGES, MigrationOrder};
pub use adopt::PlanningRequest;
pub(crate) use adopt::adopt;
pub use fresh::{is_untouched_placeholder, new_plan, single_plan};
pub use import::{Imported, import};
pub use migrate::{Migrated, migrate};
pub use outlined::outlined_plan;
use source::ConversionSource;
pub use source::EXTENSION;
pub(crate) use source::{draft_of, owned, tasks_of, with_more_tasks};

/// The user's options for a conversion.
#[derive(Clone, Debug, Default)]
pub struct ConversionOptions {
    /// Whether fields that the target cannot hold are embedded in an extension member.
    pub embed: Embed,
    /// The Markdown plan that a task pack is derived from, and its `spec_id`.
    pub source_plan: Option<SourcePlanRef>,
    /// The session that an OpenCrabs plan belongs to.
    pub session: Option<String>,
}

/// Whether originals are embedded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Embed {
    /// Fields that the target cannot hold are lost.
    #[default]
    Nothing,
    /// Every task, and the plan itself, carries its original, in [`EXTENSION`].
    Originals,
}

/// The Markdown plan that a task pack is derived from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourcePlanRef {
    /// Its path from the root of the repository.
    pub path: String,
    /// Its `spec_id`, if it has one.
    pub spec_id: Option<String>,
}

/// A converted plan.
pub struct Converted {
    /// The text.
    pub text: String,
    /// What is lost, invented or changed: first of the plan, then of its tasks.
    pub losses: Vec<Loss>,
    /// The inspection of the new text, without errors.
    pub inspection: Inspection,
}

/// A loss, an invented value or a change of behaviour caused by a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The kind of the loss.
    pub kind: LossKind,
    /// The index of its task in the source plan; none for the plan itself.
    pub task: Option<usize>,
    /// The field: by the source's name if it is lost, otherwise by the target's.
    pub field: Cow<'static, str>,
    /// What happened, in words.
    pub message: Cow<'static, str>,
    /// Its span in the source, if it has one.
    pub span: Option<Span>,
    /// Whether the new text still carries it, in [`EXTENSION`].
    pub is_carried: bool,
}

impl Loss {
    fn of_plan(kind: LossKind, field: impl Into<Cow<'static, str>>, message: impl Into<Cow<'static, str>>) -> Self {
        Loss {
            kind,
            task: None,
            field: field.into(),
            message: message.into(),
            span: None,
            is_carried: false,
        }
    }

    fn of_task(
        kind: LossKind,
        plan: &Plan,
        task_ix: usize,
        field: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        let task = plan.tasks().get(task_ix);
        Loss {
            task: Some(task_ix),
            span: task.map(|task| plan.name_span(task)),
            ..Loss::of_plan(kind, field, message)
        }
    }

    /// Returns it as a finding in the text of the source plan.
    pub fn to_diagnostic(&self, plan: &Plan) -> Diagnostic {
        let rule = match self.kind {
            LossKind::Lost => &rules::LOST,
            LossKind::Invented => &rules::INVENTED,
            LossKind::Changed => &rules::CHANGED,
        };
        let owner = match self.task {
            Some(task_ix) => format!(" of `{}`", visible(&plan.task_name(task_ix))),
            None => String::new(),
        };
        let message = format!("`{}`{owner}: {}", self.field, visible(&self.message));
        let diagnostic = Diagnostic {
            span: self.span,
            ..Diagnostic::of_file(rule, message)
        };
        match self.is_carried {
            true => diagnostic
                .with_severity(Severity::Note)
                .with_help(format!("the new plan carries it in `{EXTENSION}`")),
            false => diagnostic,
        }
    }
}

/// Why a plan is not converted.
#[derive(Clone, Debug, PartialEq)]
pub enum ConversionRefusal {
    /// The text has no plan.
    NoPlan,
    /// The plan is in this dialect already.
    SameDialect(&'static str),
    /// Plans of this dialect cannot be written.
    NotWritable(&'static str),
    /// The plan has errors: its meaning is uncertain.
    Unsound(Vec<Diagnostic>),
    /// The plan is already in the newest form of its dialect.
    UpToDate(&'static str),
    /// Stages would become more dependencies than [`MAX_EDGES`].
    TooManyEdges(usize),
    /// The new text would have errors in its dialect.
    Invalid {
        /// The text.
        text: String,
        /// Its errors.
        diagnostics: Vec<Diagnostic>,
    },
}

impl fmt::Display for ConversionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConversionRefusal::NoPlan => write!(f, "there is no plan in this text"),
            ConversionRefusal::SameDialect(dialect) => write!(f, "the plan is in the dialect `{dialect}` already"),
            ConversionRefusal::NotWritable(dialect) => write!(f, "plans of the dialect `{dialect}` cannot be written"),
            ConversionRefusal::Unsound(found) => write!(f, "the plan has {}", n_errors(found)),
            ConversionRefusal::UpToDate(dialect) => write!(f, "the plan is in the newest form of `{dialect}` already"),
            ConversionRefusal::TooManyEdges(n_edges) => write!(
                f,
                "its stages would become {n_edges} dependencies, more than {MAX_EDGES}"
            ),
            ConversionRefusal::Invalid { diagnostics, .. } => {
                write!(f, "the result would have {}", n_errors(diagnostics))
            }
        }
    }
}

impl std::error::Error for ConversionRefusal {}

fn n_errors(found: &[Diagnostic]) -> String {
    match found {
        [only] => format!("an error: {}", only.message),
        [first, rest @ ..] => format!("{} errors, the first of them: {}", rest.len() + 1, first.message),
        [] => "errors".to_owned(),
    }
}

impl ConversionRefusal {
    /// Returns it as findings: its own, and the errors of a plan with errors. Findings about the result have no span in the source.
    pub fn to_diagnostics(&self) -> Vec<Diagnostic> {
        let mut found = vec![Diagnostic::of_file(&rules::REFUSED, self.to_string())];
        match self {
            ConversionRefusal::Unsound(errors) => found.extend(errors.iter().cloned()),
            ConversionRefusal::Invalid { diagnostics, .. } => {
                found.extend(diagnostics.iter().cloned().map(Diagnostic::without_places));
            }
            _ => {}
        }
        found
    }
}

/// Converts an inspected plan to another dialect.
///
/// The new text passes [`inspect`](crate::inspect::inspect) without errors, or the conversion is refused.
pub fn convert(
    inspection: &Inspection,
    target: &'static dyn Dialect,
    options: &ConversionOptions,
    id_source: &mut IdSource<'_>,
) -> Result<Converted, ConversionRefusal> {
    convert_parsed(inspection, None, target, options, id_source)
}

/// Like `convert`, with the document that the plan was parsed from, if the caller has it.
pub fn convert_parsed(
    inspection: &Inspection,
    parsed: Option<Parsed>,
    target: &'static dyn Dialect,
    options: &ConversionOptions,
    id_source: &mut IdSource<'_>,
) -> Result<Converted, ConversionRefusal> {
    let writer = target.writer().ok_or(ConversionRefusal::NotWritable(target.name()))?;
    let Some(linked) = inspection.plan.as_ref() else {
        return Err(match errors_of(inspection) {
            errors if errors.is_empty() => ConversionRefusal::NoPlan,
            errors => ConversionRefusal::Unsound(errors),
        });
    };
    if linked.plan.dialect == target.name() {
        return Err(ConversionRefusal::SameDialect(target.name()));
    }
    let elsewhere = errors_elsewhere(inspection, linked.dialect)?;
    let source = ConversionSource::of(inspection, parsed).ok_or(ConversionRefusal::NoPlan)?;
    let conversion = Conversion {
        source: &source,
        target,
        writer,
        options,
    };
    let mut converted = match embed::restore(&conversion, id_source) {
        Some(converted) => converted,
        None => conversion.afresh(id_source)?,
    };
    let elsewhere = elsewhere.iter().map(|error| conversion.left_behind(error));
    converted.losses.extend(elsewhere);
    converted.losses.sort_by_key(|loss| (loss.task, loss.kind));
    Ok(converted)
}

/// Returns the errors of a plan that are not in its own text, but in the files on disk that it names; refuses the plan if it has others.
fn errors_elsewhere(
    inspection: &Inspection,
    dialect: &'static dyn Dialect,
) -> Result<Vec<Diagnostic>, ConversionRefusal> {
    let errors = errors_of(inspection);
    if errors.is_empty() {
        return Ok(errors);
    }
    let alone = inspect_as(&inspection.source, dialect);
    match alone.plan.is_some() && errors_of(&alone).is_empty() {
        true => Ok(errors),
        false => Err(ConversionRefusal::Unsound(errors)),
    }
}

fn errors_of(inspection: &Inspection) -> Vec<Diagnostic> {
    let found = inspection.diagnostics.iter();
    found
        .filter(|found| found.severity == Severity::Error)
        .cloned()
        .collect()
}

struct Conversion<'c, 'i> {
    source: &'c ConversionSource<'i>,
    target: &'static dyn Dialect,
    writer: &'static dyn DialectWriter,
    options: &'c ConversionOptions,
}

impl Conversion<'_, '_> {
    /// Returns the draft of the source in the form that the target needs.
    fn draft(&self, form: Option<String>) -> Result<PlanDraft, ConversionRefusal> {
        let mut draft = self.source.draft();
        draft.form = form;
        if let Some(session) = &self.options.session {
            draft.head.set_text(Field::SessionId, session.as_str());
        }
        if let Some(plan) = &self.options.source_plan {
            if draft.head.text(Field::PlanPath) == Some(plan.path.as_str()) {
                draft.head.drop(Field::PlanPath);
            }
            draft.head.set_text(Field::SourcePlan, plan.path.as_str());
            if let Some(spec_id) = &plan.spec_id {
                draft.head.set_text(Field::SpecId, spec_id.as_str());
            }
        }
        if draft.has_stages && !self.writer.has_stages(draft.form.as_deref()) {
            stages_to_dependencies(&mut draft)?;
        }
        Ok(draft)
    }

    fn carries_originals(&self) -> bool {
        self.options.embed == Embed::Originals && self.writer.carries_originals()
    }

    fn afresh(&self, id_source: &mut IdSource<'_>) -> Result<Converted, ConversionRefusal> {
        let mut draft = self.draft(None)?;
        let mut report = WriterReport::default();
        let mut composed = self.writer.compose(&mut draft, id_source, &mut report);
        if self.carries_originals() {
            embed::carry(self.source, &mut composed);
        }
        let mut losses = self.leftovers(&draft);
        losses.extend(self.prose());
        losses.extend(self.comments());
        losses.extend(self.other_documents());
        losses.extend(self.carried_from_elsewhere());
        losses.extend(report.remarks.into_iter().map(|remark| self.loss(remark)));
        self.finish(self.writer.lay_out(composed), losses)
    }

    /// Inspects the new text, and adds the changes of behaviour.
    fn finish(&self, text: String, mut losses: Vec<Loss>) -> Result<Converted, ConversionRefusal> {
        let inspection = inspect_as(&SourceText::new(text), self.target);
        let errors = errors_of(&inspection);
        let Some(linked) = inspection.plan.as_ref().filter(|_| errors.is_empty()) else {
            return Err(ConversionRefusal::Invalid {
                text: inspection.source.as_str().to_owned(),
                diagnostics: errors,
            });
        };
        losses.extend(behaviour::changes(self.source.linked, linked));
        losses.sort_by_key(|loss| (loss.task, loss.kind));
        Ok(Converted {
            text: inspection.source.as_str().to_owned(),
            losses,
            inspection,
        })
    }

    fn loss(&self, remark: WriterRemark) -> Loss {
        let is_carried = remark.kind == LossKind::Lost && self.carries_originals();
        let loss = match remark.task {
            Some(task_ix) => Loss::of_task(
                remark.kind,
                &self.source.linked.plan,
                task_ix,
                remark.field,
                remark.message,
            ),
            None => Loss::of_plan(remark.kind, remark.field, remark.message),
        };
        Loss { is_carried, ..loss }
    }

    /// Returns the fields that the writer did not use, and the members that no table knows.
    fn leftovers(&self, draft: &PlanDraft) -> Vec<Loss> {
        let own = self.source.linked.dialect;
        let mut losses = self.left_in(&draft.head, None, own);
        for (task_ix, task) in draft.tasks.iter().enumerate() {
            losses.extend(self.left_in(&task.fields, Some(task_ix), own));
        }
        for (task_ix, member) in self.source.unknown(own) {
            let key = member.key.value().into_owned();
            let message = format!(
                "its dialect has no such field: {}",
                summary(&source::owned(member.value, &mut 1000))
            );
            losses.push(Loss {
                span: Some(member.key.span()),
                ..self.lost(task_ix, key, message)
            });
        }
        losses
    }

    /// An error in a file that the plan names does not prevent the conversion, but the new plan omits the file.
    fn left_behind(&self, error: &Diagnostic) -> Loss {
        let plan = &self.source.linked.plan;
        let own = self.source.linked.dialect;
        let is_there = |span: Span| move |entry: &&FieldEntry| plan.span(entry.value).contains(span);
        let entry = error.span.and_then(|span| plan.head().iter().find(is_there(span)));
        let name = entry.and_then(|entry| name_of(own, entry.field));
        let what = error.message.trim_end_matches('.');
        let message = format!("{what}; the tasks are taken as they are");
        Loss {
            span: error.span,
            ..Loss::of_plan(LossKind::Changed, name.unwrap_or(error.rule.id), message)
        }
    }

    /// Reports that the text around an embedded document has no place in other carriers.
    fn prose(&self) -> Option<Loss> {
        let n_other_lines = self.source.n_other_lines();
        if n_other_lines > 0 {
            let message = match n_other_lines {
                1 => "one line that is no task, such as a heading or a remark".to_owned(),
                n => format!("{n} lines that are no tasks, such as headings and remarks"),
            };
            return Some(self.lost(None, "text", message));
        }
        let [before, after] = self.source.prose()?;
        let n_lines = before.lines().count() + after.lines().count();
        Some(self.lost(None, "text", format!("{n_lines} lines of Markdown around the contract")))
    }

    /// Reports that comments are lost, because the text is written again.
    fn comments(&self) -> Option<Loss> {
        if self.source.carrier != CarrierKind::Yaml {
            return None;
        }
        let source = self.source.linked.plan.source();
        let comments = yaml::comments(source);
        let first = *comments.first()?;
        let text = source.slice(first).trim_start_matches('#').trim();
        let message = match comments.len() {
            1 => format!("the comment {}", summary(&PlainValue::String(text.to_owned()))),
            n => format!(
                "{n} comments, the first {}",
                summary(&PlainValue::String(text.to_owned()))
            ),
        };
        Some(Loss {
            span: Some(first),
            ..self.lost(None, "comments", message)
        })
    }

    /// Reports that further YAML documents of the file are lost; the plan is the first.
    fn other_documents(&self) -> Option<Loss> {
        let span = self.source.second_document()?;
        Some(Loss {
            span: Some(span),
            ..self.lost(None, "documents", "what follows the first YAML document".to_owned())
        })
    }

    /// Reports that an embedded original in a third dialect is useless in this one.
    fn carried_from_elsewhere(&self) -> Option<Loss> {
        let record = self.source.root().get(EXTENSION)?;
        let from = record.get("from").map_or_else(|| "another".into(), |from| from.value());
        let message = format!("what the plan carries of a plan in the dialect `{from}`");
        Some(Loss {
            span: Some(record.span()),
            ..self.lost(None, EXTENSION, message)
        })
    }

    fn left_in(&self, fields: &Fields, task_ix: Option<usize>, own: &dyn Dialect) -> Vec<Loss> {
        let left = fields.iter().filter(|given| !is_void(given.field, &given.value));
        let lost = left.map(|given| {
            let name = name_of(own, given.field);
            let name = name.map_or_else(|| Cow::Owned(format!("{:?}", given.field)), Cow::Borrowed);
            let loss = self.lost(task_ix, name, summary(&given.value));
            Loss {
                span: given.span.or(loss.span),
                ..loss
            }
        });
        lost.collect()
    }

    fn lost(&self, task_ix: Option<usize>, field: impl Into<Cow<'static, str>>, message: String) -> Loss {
        let loss = match task_ix {
            Some(task_ix) => Loss::of_task(LossKind::Lost, &self.source.linked.plan, task_ix, field, message),
            None => Loss::of_plan(LossKind::Lost, field, message),
        };
        Loss {
            is_carried: self.carries_originals(),
            ..loss
        }
    }
}

/// Returns a value in a few words.
fn summary(value: &PlainValue) -> String {
    const MOST: usize = 60;
    let short = |text: &str| {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(MOST) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    };
    match value {
        PlainValue::Null => "null".to_owned(),
        PlainValue::Bool(value) => value.to_string(),
        PlainValue::Number(number) => number.clone(),
        PlainValue::String(text) | PlainValue::Alias(text) => format!("\"{}\"", short(text)),
        PlainValue::Array(items) => match items.as_slice() {
            [PlainValue::String(only)] => format!("\"{}\"", short(only)),
            [_] => "one item".to_owned(),
            items => format!("{} items", items.len()),
        },
        PlainValue::Object(members) => format!("an object with {} members", members.len()),
    }
}

/// Makes every task depend on the tasks of the stages that it waits for, without those that they wait for themselves.
fn stages_to_dependencies(draft: &mut PlanDraft) -> Result<(), ConversionRefusal> {
    let mut by_stage: Vec<usize> = (0..draft.tasks.len()).collect();
    by_stage.sort_by_key(|&ix| draft.tasks[ix].stage);
    let stages: Vec<u32> = by_stage.iter().map(|&ix| draft.tasks[ix].stage).collect();
    // For each number of tasks in the order of stages, the latest barrier among them: whatever is before it comes first anyway.
    let barriers = by_stage.iter().scan(0, |latest, &ix| {
        *latest = draft.tasks[ix].barrier.max(*latest);
        Some(*latest)
    });
    let barriers: Vec<u32> = barriers.collect();
    let waits = draft.tasks.iter().map(|task| {
        let end = stages.partition_point(|&stage| stage < task.barrier);
        let latest = end.checked_sub(1).map_or(0, |last| barriers[last]);
        stages.partition_point(|&stage| stage < latest)..end
    });
    let waits: Vec<std::ops::Range<usize>> = waits.collect();
    let n_edges = waits
        .iter()
        .map(|range| range.len())
        .fold(0usize, usize::saturating_add);
    if n_edges > MAX_EDGES {
        return Err(ConversionRefusal::TooManyEdges(n_edges));
    }
    for (task, range) in draft.tasks.iter_mut().zip(waits) {
        let own = &mut task.dependencies;
        let known: std::collections::HashSet<u32> = own.iter().copied().collect();
        own.extend(
            by_stage[range]
                .iter()
                .map(|&ix| ix as u32)
                .filter(|place| !known.contains(place)),
        );
    }
    draft.has_stages = false;
    Ok(())
}
