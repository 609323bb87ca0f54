//! Imports a text by a person or a language model as a plan that its tool stores.

use std::collections::HashSet;

use super::source::{ConversionSource, owned};
use super::{ConversionOptions, LossKind, errors_of, rules, stages_to_dependencies};
use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::dialect::aliases::meaning;
use crate::dialect::draft::{DraftState, PlanDraft};
use crate::dialect::id_source::IdSource;
use crate::dialect::rules::{INVALID_FIELD, INVALID_STATUS, INVALID_TIMESTAMP, QUOTED_VALUE};
use crate::dialect::writer::{Composed, Import, Resets, WriterReport};
use crate::dialect::{CarrierKind, Dialect, DialectWriter, name_of};
use crate::document::patch::PlainValue;
use crate::document::{NodeKind, NodeRef};
use crate::inspect::{Inspection, inspect_as};
use crate::plan::Field;
use crate::text::{SourceText, Span, visible};

/// A plan as its tool stores it.
pub struct Imported {
    /// The text.
    pub text: String,
    /// Notes for the user: findings in the imported text, none of them an error.
    pub notes: Vec<Diagnostic>,
}

/// Imports a text as a plan of a dialect.
///
/// Refuses it with all errors at once: those of the text, or those of the stored plan.
pub fn import(
    source: &SourceText,
    dialect: &'static dyn Dialect,
    options: &ConversionOptions,
    id_source: &mut IdSource<'_>,
) -> Result<Imported, Vec<Diagnostic>> {
    let inspection = inspect_as(source, dialect);
    match dialect.writer().map(|writer| (writer, writer.import())) {
        Some((writer, Import::Anew(resets))) => {
            let is_answer = inspection
                .carrier
                .is_some_and(|(_, span)| span != inspection.source.span());
            let task = if is_answer { resets.answered } else { resets.task };
            let order = Rewriting {
                resets: &Resets { task, ..*resets },
                forgives: None,
                adjust: &|draft| {
                    if let Some(session) = &options.session {
                        draft.head.set_text(Field::SessionId, session.as_str());
                    }
                },
            };
            anew(&inspection, dialect, writer, &order, id_source)
        }
        _ => as_is(&inspection, dialect),
    }
}

/// Extracts the plan from the surrounding text.
fn as_is(inspection: &Inspection, dialect: &'static dyn Dialect) -> Result<Imported, Vec<Diagnostic>> {
    let inner = match inspection.carrier {
        Some((CarrierKind::Json, span)) => inspection.source.slice(span),
        _ => inspection.source.as_str(),
    };
    let is_whole = inner.len() == inspection.source.len();
    let text = if is_whole {
        inner.to_owned()
    } else {
        format!("{inner}\n")
    };
    let stored = inspect_as(&SourceText::new(text.as_str()), dialect);
    let errors = errors_of(&stored);
    match stored.plan {
        Some(_) if errors.is_empty() => Ok(Imported {
            text,
            notes: inspection
                .diagnostics
                .iter()
                .filter(|found| found.severity < Severity::Error)
                .cloned()
                .collect(),
        }),
        _ => Err(errors_of(inspection)),
    }
}

/// How a plan is rewritten.
pub(super) struct Rewriting<'a> {
    /// The fields that it resets.
    pub(super) resets: &'a Resets<'a>,
    /// The fields that may be missing because they are reset.
    pub(super) forgives: Option<&'a Resets<'a>>,
    /// Further changes of the draft.
    pub(super) adjust: &'a dyn Fn(&mut PlanDraft),
}

/// Rewrites the plan in the form that is stored.
pub(super) fn anew(
    inspection: &Inspection,
    dialect: &'static dyn Dialect,
    writer: &'static dyn DialectWriter,
    order: &Rewriting<'_>,
    id_source: &mut IdSource<'_>,
) -> Result<Imported, Vec<Diagnostic>> {
    let resets = order.resets;
    let Some(source) = ConversionSource::new(inspection) else {
        return Err(errors_of(inspection));
    };
    let given = GivenFields::find(&source, dialect, resets);
    let (mut errors, mut notes) = given.judge(&inspection.diagnostics);
    if let Some(forgiven) = order.forgives {
        errors.retain(|error| !is_missing_one(error, dialect, forgiven));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    notes.extend(given.reset_notes(&notes));
    let mut draft = source.draft();
    if draft.has_stages && !writer.has_stages(None) {
        stages_to_dependencies(&mut draft).map_err(|refused| refused.to_diagnostics())?;
    }
    begin_again(&mut draft, resets);
    describe_unknown(&source, dialect, &mut draft);
    (order.adjust)(&mut draft);
    let mut report = WriterReport::default();
    let mut composed = writer.compose(&mut draft, id_source, &mut report);
    notes.extend(changes(&report));
    keep_unknown(&source, dialect, &mut composed);
    let text = writer.lay_out(composed);
    let stored = inspect_as(&SourceText::new(text.as_str()), dialect);
    // Spans in a text that the user does not have are useless.
    let errors = errors_of(&stored).into_iter().map(Diagnostic::without_places);
    let errors: Vec<Diagnostic> = errors.collect();
    match errors.is_empty() {
        true => Ok(Imported { text, notes }),
        false => Err(errors),
    }
}

/// Adds fields that a dialect does not have to the description, where agents read them: titles, files and criteria.
fn describe_unknown(source: &ConversionSource<'_>, dialect: &dyn Dialect, draft: &mut PlanDraft) {
    for (task_ix, member) in source.unknown(dialect) {
        let key = member.key.value();
        let Some(fields) = task_ix
            .and_then(|ix| draft.tasks.get_mut(ix))
            .map(|task| &mut task.fields)
        else {
            continue;
        };
        let field = meaning(&key).filter(|field| matches!(field, Field::Title | Field::Files | Field::Criteria));
        let text = words_of(&owned(member.value, &mut 1000));
        let (Some(field), Some(text)) = (field.filter(|field| name_of(dialect, *field).is_none()), text) else {
            continue;
        };
        let old = fields.text(Field::Description).unwrap_or_default().to_owned();
        let new = match field {
            _ if old.contains(&text) => continue,
            Field::Title if old.is_empty() => text,
            Field::Title => format!("{text}\n\n{old}"),
            Field::Files => format!("{old}\n\nFiles: {text}"),
            _ => format!("{old}\n\nAcceptance: {text}"),
        };
        fields.set_text(Field::Description, new.trim_start());
    }
}

/// Returns a text, or several in one line.
fn words_of(value: &PlainValue) -> Option<String> {
    match value {
        PlainValue::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        PlainValue::Array(items) => {
            let words: Vec<String> = items.iter().filter_map(words_of).collect();
            (!words.is_empty()).then(|| words.join("; "))
        }
        _ => None,
    }
}

/// Returns whether a finding reports a missing field that is reset anyway.
pub(super) fn is_missing_one(error: &Diagnostic, dialect: &dyn Dialect, resets: &Resets<'_>) -> bool {
    let mut anew = resets.head.iter().chain(resets.task);
    let is_it = |missing: &str| anew.any(|&field| name_of(dialect, field) == Some(missing));
    error.missing.is_some_and(is_it)
}

/// Resets what a plan was before the import.
fn begin_again(draft: &mut PlanDraft, resets: &Resets<'_>) {
    draft.head.retain(|given| !resets.head.contains(&given.field));
    for task in &mut draft.tasks {
        task.fields.retain(|given| !resets.task.contains(&given.field));
        if resets.task.contains(&Field::Id) {
            task.id = None;
        }
        if resets.task.contains(&Field::Status) {
            task.state = DraftState::Pending;
        }
    }
}

/// Adds members that the dialect does not know: its tool ignores them, and others may not.
fn keep_unknown(source: &ConversionSource<'_>, dialect: &dyn Dialect, composed: &mut Composed) {
    let mut head = Vec::new();
    for (task_ix, member) in source.unknown(dialect) {
        let pair = (member.key.value().into_owned(), owned(member.value, &mut 0));
        match task_ix.map(|task_ix| composed.tasks.get_mut(task_ix)) {
            Some(Some(task)) => task.push(pair),
            Some(None) => {}
            None => head.push(pair),
        }
    }
    composed.change_holder(|holder| holder.extend(head));
}

/// The fields of a text that import resets or checks.
struct GivenFields {
    fields: Vec<GivenField>,
    /// The values of a new plan.
    fresh: Vec<&'static str>,
    /// Rules whose findings about reset fields are ignored.
    overlooked: Vec<&'static Rule>,
}

struct GivenField {
    /// The value.
    span: Span,
    name: &'static str,
    value: PlainValue,
    /// Reset in any case; otherwise kept if valid.
    is_reset: bool,
    /// The number of its task, from 1; 0 for the plan.
    place: usize,
}

impl GivenFields {
    fn find(source: &ConversionSource<'_>, dialect: &dyn Dialect, resets: &Resets<'_>) -> Self {
        let mut fields = Vec::new();
        let mut look = |object: NodeRef<'_>, wanted: &[Field], is_reset: bool, place: usize| {
            for name in wanted.iter().filter_map(|&field| name_of(dialect, field)) {
                let Some(node) = object.get(name) else {
                    continue;
                };
                fields.push(GivenField {
                    span: node.span(),
                    name,
                    value: owned(node, &mut 0),
                    is_reset,
                    place,
                });
            }
        };
        look(source.root(), resets.head, true, 0);
        look(source.root(), resets.lenient, false, 0);
        for task_ix in 0..source.linked.plan.tasks().len() {
            let task = source.task_node(task_ix);
            if task.kind() == NodeKind::Object {
                look(task, resets.task, true, task_ix + 1);
                look(task, resets.lenient, false, task_ix + 1);
            }
        }
        fields.sort_by_key(|field| field.span);
        GivenFields {
            fields,
            fresh: resets.fresh.to_vec(),
            overlooked: resets.overlooked.to_vec(),
        }
    }

    /// Returns the field that contains a span.
    fn at(&self, span: Span) -> Option<&GivenField> {
        let ix = self.fields.partition_point(|field| field.span.start <= span.start);
        let field = self.fields.get(ix.checked_sub(1)?)?;
        field.span.contains(span).then_some(field)
    }

    /// Sorts findings into errors and notes: an invalid value that is reset is no obstacle.
    fn judge(&self, found: &[Diagnostic]) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        let of_values = [&INVALID_FIELD, &INVALID_STATUS, &QUOTED_VALUE, &INVALID_TIMESTAMP];
        let (mut errors, mut notes) = (Vec::new(), Vec::new());
        for finding in found {
            let field = finding.span.and_then(|span| self.at(span));
            if field.is_some_and(|field| field.is_reset) && self.overlooked.contains(&finding.rule) {
                continue;
            }
            match field.filter(|_| of_values.contains(&finding.rule)) {
                Some(field) if field.is_reset => {}
                Some(field) => {
                    let message = format!("`{}` has its default: the value is not of its type", field.name);
                    notes
                        .push(Diagnostic::new(&rules::IMPORT_DEFAULT, field.span, message).with_help(&finding.message));
                }
                None if finding.severity == Severity::Error => errors.push(finding.clone()),
                // Advice about reset fields of the plan does not apply to the new plan.
                None if field.is_some_and(|field| field.is_reset && field.place == 0) => {}
                None => notes.push(finding.clone()),
            }
        }
        (errors, notes)
    }

    /// Returns a note for each reset field with another value, once for all tasks.
    fn reset_notes(&self, known: &[Diagnostic]) -> Vec<Diagnostic> {
        let known: HashSet<Option<Span>> = known.iter().map(|note| note.span).collect();
        let says = |field: &&GivenField| field.is_reset && !self.is_fresh(field);
        let mut notes: Vec<Diagnostic> = Vec::new();
        let mut named: HashSet<(&str, bool)> = HashSet::new();
        for field in self.fields.iter().filter(says) {
            if !named.insert((field.name, field.place > 0)) || known.contains(&Some(field.span)) {
                continue;
            }
            let of = if field.place > 0 { "the tasks" } else { "the plan" };
            let message = format!("`{}` of {of} gets a new value", field.name);
            notes.push(Diagnostic::new(&rules::IMPORT_RESET, field.span, message));
        }
        notes
    }

    /// Returns whether a field has the value of a new plan.
    fn is_fresh(&self, field: &GivenField) -> bool {
        match &field.value {
            PlainValue::Null => true,
            PlainValue::Array(items) => items.is_empty(),
            PlainValue::String(text) => text.is_empty() || self.fresh.contains(&text.as_str()),
            PlainValue::Bool(is_set) => !is_set,
            PlainValue::Number(number) => number == "0" || *number == field.place.to_string(),
            _ => false,
        }
    }
}

/// Returns what a writer changed of its input; other invented values are expected in a new plan.
pub(super) fn changes(report: &WriterReport) -> Vec<Diagnostic> {
    let changed = report.remarks.iter().filter(|remark| remark.kind != LossKind::Invented);
    let notes = changed.map(|remark| {
        let message = format!("`{}`: {}", remark.field, visible(&remark.message));
        Diagnostic::of_file(&rules::CHANGED, message)
    });
    notes.collect()
}
