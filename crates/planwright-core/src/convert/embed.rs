//! Embeds the original of a converted plan in an extension member, and restores it on the way back.
//!
//! On the way back, an original member is used if the carrier still has what was written. To find out, the written value and the
//! current value are put into the target's fields and compared: the original stays if both are equal, and is replaced if they
//! differ.

use super::source::{ConversionSource, EXTENSION, owned, second_document};
use super::{Conversion, Converted, Embed, Loss, LossKind};
use crate::dialect::draft::PlanDraft;
use crate::dialect::id_source::IdSource;
use crate::dialect::writer::{Composed, WriterRemark, WriterReport};
use crate::dialect::{CarrierKind, Dialect};
use crate::document::patch::PlainValue;
use crate::document::{NodeRef, yaml};
use crate::inspect::inspect_as;
use crate::text::SourceText;

/// The version of the extension member.
const VERSION: &str = "1";

type EmbeddedMembers = Vec<(String, PlainValue)>;

/// Adds the originals of a plan and of its tasks to the written members.
pub(super) fn carry(source: &ConversionSource<'_>, composed: &mut Composed) {
    // If a plan already carries an original, that one is kept: it is the older one.
    let mut carries = false;
    composed.change_holder(|holder| carries = get(holder, EXTENSION).is_some());
    if carries {
        return;
    }
    let written = composed.head.clone();
    let text = |text: &str| PlainValue::String(text.to_owned());
    let mut record = vec![
        ("version".to_owned(), PlainValue::Number(VERSION.to_owned())),
        ("from".to_owned(), text(source.linked.plan.dialect)),
        ("form".to_owned(), text(source.linked.plan.form)),
        ("original".to_owned(), PlainValue::Object(source.original_head())),
        ("written".to_owned(), PlainValue::Object(written)),
    ];
    let own = source.linked.plan.source().as_str();
    if laid_out(source).is_none_or(|laid_out| laid_out != own) {
        record.push(("text".to_owned(), text(own)));
    }
    composed.change_holder(|holder| holder.push((EXTENSION.to_owned(), PlainValue::Object(record))));
    for (place, (task, original)) in composed.tasks.iter_mut().zip(source.original_tasks()).enumerate() {
        let record = vec![
            ("place".to_owned(), PlainValue::Number(place.to_string())),
            ("original".to_owned(), PlainValue::Object(original)),
            ("written".to_owned(), PlainValue::Object(task.clone())),
        ];
        task.push((EXTENSION.to_owned(), PlainValue::Object(record)));
    }
}

/// Returns the text that the originals alone restore.
fn laid_out(source: &ConversionSource<'_>) -> Option<String> {
    let writer = source.linked.dialect.writer()?;
    Some(writer.lay_out(Composed {
        head: source.original_head(),
        tasks_key: writer.tasks_key(),
        tasks: source.original_tasks(),
    }))
}

/// The original that a plan carries.
struct Carried {
    form: String,
    original: EmbeddedMembers,
    written: EmbeddedMembers,
    text: Option<String>,
    /// For each task of the carrier, its original; none for tasks that were added later.
    tasks: Vec<Option<CarriedTask>>,
}

struct CarriedTask {
    place: usize,
    original: EmbeddedMembers,
    written: EmbeddedMembers,
}

impl Carried {
    /// Reads the original in the target's dialect that a plan carries.
    fn read(source: &ConversionSource<'_>, target: &dyn Dialect) -> Option<Self> {
        let record = source.root().get(EXTENSION)?;
        let is = |key: &str, text: &str| record.get(key).is_some_and(|value| value.value() == text);
        if !is("version", VERSION) || !is("from", target.name()) {
            return None;
        }
        let tasks = (0..source.linked.plan.tasks().len()).map(|ix| CarriedTask::read(source.task_node(ix)));
        Some(Carried {
            form: record.get("form")?.value().into_owned(),
            original: members_of(record.get("original")?)?,
            written: members_of(record.get("written")?)?,
            text: record.get("text").map(|text| text.value().into_owned()),
            tasks: tasks.collect(),
        })
    }

    /// Returns whether the carrier still has its original tasks, in order.
    fn has_all_in_order(&self) -> bool {
        let in_place = |(ix, task): (usize, &Option<CarriedTask>)| task.as_ref().is_some_and(|task| task.place == ix);
        self.tasks.iter().enumerate().all(in_place)
    }
}

impl CarriedTask {
    fn read(task: NodeRef<'_>) -> Option<Self> {
        let record = task.get(EXTENSION)?;
        Some(CarriedTask {
            place: usize::try_from(record.get("place")?.as_integer()?).ok()?,
            original: members_of(record.get("original")?)?,
            written: members_of(record.get("written")?)?,
        })
    }
}

fn members_of(node: NodeRef<'_>) -> Option<EmbeddedMembers> {
    match owned(node, &mut 0) {
        PlainValue::Object(members) => Some(members),
        _ => None,
    }
}

/// Converts a plan back to its original dialect; none if it carries no usable original.
pub(super) fn restore(conversion: &Conversion<'_, '_>, id_source: &mut IdSource<'_>) -> Option<Converted> {
    let carried = Carried::read(conversion.source, conversion.target)?;
    let form = Some(carried.form.clone());
    let mut now = conversion.draft(form).ok()?;
    let mut then = draft_as_written(conversion, &carried, &now)?;
    name_as_before(conversion, &carried, &mut now, &mut then)?;
    let are_edges_same = has_same_edges(&then, &now);
    let is_intact = carried.has_all_in_order() && are_edges_same;
    let (before, left_then, report_then) = compose_plainly(conversion, then);
    let (after, left_now, report_now) = compose_plainly(conversion, now.clone());
    let mut report = WriterReport::default();
    let fresh = conversion.writer.compose(&mut now, id_source, &mut report);
    let is_edited = !is_intact || before != after;
    let mut merged = merge(conversion, &carried, [&before, &after, &fresh], is_intact);
    if is_edited {
        conversion.writer.mark_edited(&mut merged);
    }
    let mut losses = losses_of(conversion, &carried, left_now, &left_then, report);
    // Changes since then that this form cannot hold.
    let is_news = |remark: &WriterRemark| remark.kind == LossKind::Lost && !report_then.remarks.contains(remark);
    let news = report_now.remarks.into_iter().filter(is_news);
    let news: Vec<Loss> = news.map(|remark| conversion.loss(remark)).collect();
    losses.extend(
        news.into_iter()
            .filter(|news| !losses.contains(news))
            .collect::<Vec<_>>(),
    );
    if !are_edges_same && conversion.writer.has_stages(Some(&carried.form)) {
        let message = "they were changed in between, and this form orders by priority alone".to_owned();
        losses.push(conversion.lost(None, "dependencies", message));
    }
    if conversion.options.embed == Embed::Originals {
        carry(conversion.source, &mut merged);
    }
    let is_plain = !is_edited && conversion.options.embed == Embed::Nothing;
    let original = carried
        .text
        .as_ref()
        .filter(|text| is_plain && is_original(text, conversion, &carried));
    let text = match original {
        Some(text) => text.clone(),
        None => {
            losses.extend(lost_comments(conversion, &carried));
            losses.extend(lost_documents(conversion, &carried));
            conversion.writer.lay_out(merged)
        }
    };
    conversion.finish(text, losses).ok()
}

/// Returns the loss of the original's comments, if it had any.
fn lost_comments(conversion: &Conversion<'_, '_>, carried: &Carried) -> Option<Loss> {
    let is_yaml = conversion.target.carriers().first() == Some(&CarrierKind::Yaml);
    let text = carried.text.as_ref().filter(|_| is_yaml)?;
    let n_comments = yaml::comments(&SourceText::new(text.as_str())).len();
    (n_comments > 0).then(|| {
        let message = format!("{n_comments} of the original: the plan was edited since, and is laid out afresh");
        conversion.lost(None, "comments", message)
    })
}

/// Returns the loss of documents after the original, if there were any.
fn lost_documents(conversion: &Conversion<'_, '_>, carried: &Carried) -> Option<Loss> {
    let is_yaml = conversion.target.carriers().first() == Some(&CarrierKind::Yaml);
    let text = carried.text.as_ref().filter(|_| is_yaml)?;
    second_document(&yaml::parse(&SourceText::new(text.as_str())))?;
    let message = "what followed the first document of the original: the plan was edited since, and is laid out afresh";
    Some(conversion.lost(None, "documents", message.to_owned()))
}

/// Returns whether a text equals the one of its embedded originals.
fn is_original(text: &str, conversion: &Conversion<'_, '_>, carried: &Carried) -> bool {
    let inspection = inspect_as(&SourceText::new(text), conversion.target);
    let Some(source) = ConversionSource::new(&inspection) else {
        return false;
    };
    let tasks = carried.tasks.iter().flatten().map(|task| &task.original);
    let same = |one: &EmbeddedMembers, other: &EmbeddedMembers| plain_members(one) == plain_members(other);
    let found = source.original_tasks();
    let pairs = found.iter().zip(tasks.clone());
    same(&source.original_head(), &carried.original)
        && found.len() == tasks.count()
        && pairs.into_iter().all(|(one, other)| same(one, other))
}

/// Replaces values that JSON numbers cannot hold, such as `.inf`, by the carrying text.
fn plain_members(members: &EmbeddedMembers) -> EmbeddedMembers {
    members
        .iter()
        .map(|(key, value)| (key.clone(), plain_value(value)))
        .collect()
}

fn plain_value(value: &PlainValue) -> PlainValue {
    match value {
        PlainValue::Number(number)
            if !number.starts_with(|c: char| c == '-' || c.is_ascii_digit()) || number.contains("inf") =>
        {
            PlainValue::String(number.clone())
        }
        PlainValue::Array(items) => PlainValue::Array(items.iter().map(plain_value).collect()),
        PlainValue::Object(members) => PlainValue::Object(plain_members(members)),
        value => value.clone(),
    }
}

/// Reads the carrier as it was written: the originals of tasks, and new tasks unchanged.
fn draft_as_written(conversion: &Conversion<'_, '_>, carried: &Carried, now: &PlanDraft) -> Option<PlanDraft> {
    let dialect = conversion.source.linked.dialect;
    let writer = dialect.writer()?;
    let currently = conversion.source.original_tasks();
    let tasks = carried.tasks.iter().zip(currently);
    let composed = Composed {
        head: carried.written.clone(),
        tasks_key: writer.tasks_key(),
        tasks: tasks
            .map(|(carried, current)| carried.as_ref().map_or(current, |task| task.written.clone()))
            .collect(),
    };
    let inspection = inspect_as(&SourceText::new(writer.lay_out(composed)), dialect);
    let source = ConversionSource::new(&inspection)?;
    let as_written = Conversion {
        source: &source,
        ..*conversion
    };
    let mut draft = as_written.draft(Some(carried.form.clone())).ok()?;
    // A later task was not written then, and has no differences.
    for ((then, now), carried) in draft.tasks.iter_mut().zip(&now.tasks).zip(&carried.tasks) {
        if carried.is_none() {
            *then = now.clone();
        }
    }
    (draft.tasks.len() == now.tasks.len()).then_some(draft)
}

/// Gives tasks their original ids, unless the carrier has changed them.
fn name_as_before(
    conversion: &Conversion<'_, '_>,
    carried: &Carried,
    now: &mut PlanDraft,
    then: &mut PlanDraft,
) -> Option<()> {
    let originals = carried.tasks.iter().flatten();
    let composed = Composed {
        head: carried.original.clone(),
        tasks_key: conversion.writer.tasks_key(),
        tasks: originals.map(|task| task.original.clone()).collect(),
    };
    let inspection = inspect_as(&SourceText::new(conversion.writer.lay_out(composed)), conversion.target);
    let plan = &inspection.plan.as_ref()?.plan;
    let mut ids = plan
        .tasks()
        .iter()
        .map(|task| plan.task_id(task).map(|id| plan.str(id).to_owned()));
    for ((now, then), carried) in now.tasks.iter_mut().zip(&mut then.tasks).zip(&carried.tasks) {
        if carried.is_none() {
            continue;
        }
        let original = ids.next()?;
        if now.id == then.id {
            now.id.clone_from(&original);
        }
        then.id = original;
    }
    Some(())
}

fn has_same_edges(then: &PlanDraft, now: &PlanDraft) -> bool {
    let mut pairs = then.tasks.iter().zip(&now.tasks);
    pairs.all(|(then, now)| then.dependencies == now.dependencies && then.stage == now.stage)
}

/// Composes with a constant source of ids, so that ids cause no differences. Returns the rest of the draft, too.
fn compose_plainly(conversion: &Conversion<'_, '_>, mut draft: PlanDraft) -> (Composed, PlanDraft, WriterReport) {
    let mut counter = 0u128;
    let mut fresh = || {
        counter += 1;
        counter
    };
    let mut id_source = IdSource::new("2000-01-01T00:00:00Z", &mut fresh);
    let mut report = WriterReport::default();
    let composed = conversion.writer.compose(&mut draft, &mut id_source, &mut report);
    (composed, draft, report)
}

fn merge(conversion: &Conversion<'_, '_>, carried: &Carried, three: [&Composed; 3], is_intact: bool) -> Composed {
    let (of_plan, of_task) = conversion.writer.structure();
    let [.., fresh] = three;
    let tasks = carried.tasks.iter().enumerate().map(|(ix, carried)| {
        let parts = three.map(|composed| composed.tasks.get(ix).map_or(&[][..], Vec::as_slice));
        match carried {
            Some(task) => merge_members(&task.original, parts, &|key| !is_intact && of_task.contains(&key)),
            None => parts[2].to_vec(),
        }
    });
    let heads = three.map(|composed| composed.head.as_slice());
    Composed {
        tasks: tasks.collect(),
        head: merge_members(&carried.original, heads, &|key| !is_intact && of_plan.contains(&key)),
        tasks_key: fresh.tasks_key,
    }
}

/// Merges an original with the members of the carrier: those as written, those now, and the latter with real names and times.
fn merge_members(
    original: &[(String, PlainValue)],
    three: [&[(String, PlainValue)]; 3],
    is_forced: &dyn Fn(&str) -> bool,
) -> EmbeddedMembers {
    let [before, after, fresh] = three;
    let mut merged = Vec::with_capacity(original.len());
    for (key, value) in original {
        let (old, new) = (get(before, key), get(after, key));
        let value = match (value, old, new, get(fresh, key)) {
            (
                PlainValue::Object(value),
                Some(PlainValue::Object(old)),
                Some(PlainValue::Object(new)),
                Some(PlainValue::Object(fresh)),
            ) if !is_forced(key) => Some(PlainValue::Object(merge_members(value, [old, new, fresh], is_forced))),
            (value, ..) if old == new && !is_forced(key) => Some(value.clone()),
            (.., fresh) => fresh.cloned(),
        };
        merged.extend(value.map(|value| (key.clone(), value)));
    }
    for (key, value) in fresh {
        let is_new = get(original, key).is_none();
        if is_new && (is_forced(key) || get(before, key) != get(after, key)) {
            merged.push((key.clone(), value.clone()));
        }
    }
    merged
}

fn get<'m>(members: &'m [(String, PlainValue)], key: &str) -> Option<&'m PlainValue> {
    members.iter().find(|(own, _)| own == key).map(|(_, value)| value)
}

/// Returns what is lost or invented in addition to the originals: additions to the carrier, and new tasks.
fn losses_of(
    conversion: &Conversion<'_, '_>,
    carried: &Carried,
    mut gained: PlanDraft,
    then: &PlanDraft,
    report: WriterReport,
) -> Vec<Loss> {
    let is_new = |task: Option<usize>| task.is_some_and(|ix| carried.tasks.get(ix).is_some_and(Option::is_none));
    let remarks = report.remarks.into_iter().filter(|remark| is_new(remark.task));
    for ((now, then), carried) in gained.tasks.iter_mut().zip(&then.tasks).zip(&carried.tasks) {
        if carried.is_some() {
            now.fields
                .retain(|given| then.fields.get(given.field) != Some(&given.value));
        }
    }
    gained
        .head
        .retain(|given| then.head.get(given.field) != Some(&given.value));
    let mut losses = conversion.leftovers(&gained);
    losses.extend(remarks.map(|remark| conversion.loss(remark)));
    losses
}
