//! Writes a task pack as a draft. Never writes a pack that could count as an executable one.

use std::collections::HashSet;

use super::super::draft::{DraftTask, Fields, PlanDraft};
use super::super::id_source::IdSource;
use super::super::time::is_iso_date;
use super::super::writer::{
    Composed, DialectWriter, WriterReport, cut, joined, member, named, number, one_line, report_joined, report_new_ids,
    take_goal, task_ids, text,
};
use super::contract::SCHEMA_VERSION;
use super::paths::{is_concrete, is_runtime_mirror, is_secret, is_side_effect_pattern, is_target_scope};
use super::waves::{self, wave_list};
use super::{fields, sections};
use crate::document::patch::PlainValue;
use crate::plan::Field;

pub(super) struct TaskPackWriter;

impl DialectWriter for TaskPackWriter {
    fn compose(&self, draft: &mut PlanDraft, id_source: &mut IdSource<'_>, report: &mut WriterReport) -> Composed {
        let ids = task_ids(&draft.tasks, |id| !id.trim().is_empty(), |n| format!("T{n:03}"));
        report_new_ids(&draft.tasks, &ids, "task_id", report);
        report_joined(draft, "goal", report);
        forget_states(draft, report);
        let files = take_files(draft, report);
        let waves = waves_of(draft, &files, report);
        let frontmatter = frontmatter(&mut draft.head, id_source, report);
        let contract = vec![
            member("schema_version", text(SCHEMA_VERSION)),
            member(
                "execution_waves",
                wave_list(&waves, ids.iter().map(|(id, _)| id.as_str())),
            ),
            member("tasks", PlainValue::Null),
        ];
        let tasks = draft.tasks.iter_mut().zip(&files).zip(&waves).enumerate();
        let tasks = tasks.map(|(ix, ((task, files), wave))| compose_task(task, ix, &ids, files, *wave, report));
        Composed {
            head: vec![
                member("frontmatter", PlainValue::Object(frontmatter)),
                member("contract", PlainValue::Object(contract)),
            ],
            tasks_key: "tasks",
            tasks: tasks.collect(),
        }
    }

    fn lay_out(&self, composed: Composed) -> String {
        sections::lay_out(composed)
    }

    fn structure(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (&["execution_waves"], &["task_id", "dependencies", "wave"])
    }

    fn has_stages(&self, _form: Option<&str>) -> bool {
        true
    }

    /// Marks a pack that differs from the derived one as a draft.
    fn mark_edited(&self, composed: &mut Composed) {
        let frontmatter = composed.head.iter_mut().find_map(|(key, value)| match value {
            PlainValue::Object(members) if key == "frontmatter" => Some(members),
            _ => None,
        });
        let Some(members) = frontmatter else {
            return;
        };
        for (key, draft) in [
            ("status", "draft"),
            ("source_plan_hash", "pending"),
            ("mode", "transient"),
        ] {
            match members.iter_mut().find(|(own, _)| own == key) {
                Some((_, value)) => *value = text(draft),
                None => members.push(member(key, text(draft))),
            }
        }
    }
}

/// Reports which statuses are lost, because a pack stores none.
fn forget_states(draft: &PlanDraft, report: &mut WriterReport) {
    for (task_ix, task) in draft.tasks.iter().enumerate() {
        if task.state != super::super::draft::DraftState::Pending {
            let message = format!("its status was {}, and a task pack holds none", task.state.as_str());
            report.lost(Some(task_ix), "status", message);
        } else if task.held {
            report.lost(
                Some(task_ix),
                "skip",
                "it was marked to be skipped, and is an ordinary task now",
            );
        }
    }
}

fn frontmatter(head: &mut Fields, id_source: &IdSource<'_>, report: &mut WriterReport) -> Vec<(String, PlainValue)> {
    let title = take_goal(head).unwrap_or_else(|| {
        report.invented(None, "title", "the plan has no goal");
        "Untitled plan".to_owned()
    });
    let line = frontmatter_line(&title);
    if line != title {
        report.changed(None, "title", "a line of frontmatter cannot hold all of its characters");
    }
    let day = |head: &Fields, field: Field| {
        let date = head.text(field)?.get(..10)?;
        is_iso_date(date).then(|| date.to_owned())
    };
    let date = day(head, Field::Date).or_else(|| day(head, Field::CreatedAt));
    for field in [Field::Date, Field::CreatedAt] {
        if day(head, field).is_some() {
            head.drop(field);
        }
    }
    let date = date.unwrap_or_else(|| {
        report.invented(None, "date", "no date is given: it is today");
        id_source.date().to_owned()
    });
    let mut members = vec![
        member("title", text(line)),
        member("type", text("task-pack")),
        member("status", text("draft")),
        member("date", text(date)),
    ];
    let spec_id = head.take_text(Field::SpecId).map(|id| frontmatter_line(&id));
    members.extend(spec_id.map(|id| member("spec_id", text(id))));
    members.extend(take_source_plan(head).map(|path| member("source_plan", text(path))));
    members.push(member("source_plan_hash", text("pending")));
    members.push(member("generated_by", text("spec-write-tasks")));
    members.push(member("mode", text("transient")));
    if let Some(sections) = head.take_texts(Field::SourceSections) {
        members.push(member("source_sections", PlainValue::Array(sections)));
    }
    if head.text(Field::TargetRepo).is_some_and(is_target_scope) {
        let scope = head.take_text(Field::TargetRepo);
        members.extend(scope.map(|scope| member("target_repo", text(scope))));
    }
    members
}

/// Takes the Markdown plan that the tasks come from, if the caller found one: a pack that names a missing file has an error.
fn take_source_plan(head: &mut Fields) -> Option<String> {
    let is_source = |path: &str| is_concrete(path) && frontmatter_line(path) == path;
    head.text(Field::SourcePlan).filter(|path| is_source(path))?;
    head.take_text(Field::SourcePlan)
}

/// Returns a text that the frontmatter's line rule and YAML read alike: on one line, with one kind of quotes.
pub(crate) fn frontmatter_line(value: &str) -> String {
    let plain: String = one_line(value)
        .chars()
        .map(|c| if c == '"' || c == '\\' { '\'' } else { c })
        .filter(|c| !c.is_control())
        .collect();
    plain.trim().to_owned()
}

/// Takes the valid files of every task.
fn take_files(draft: &mut PlanDraft, report: &mut WriterReport) -> Vec<Vec<String>> {
    let tasks = draft.tasks.iter_mut().enumerate();
    let files = tasks.map(|(task_ix, task)| {
        let mut kept: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        for file in task.fields.take_texts(Field::Files).unwrap_or_default() {
            let PlainValue::String(file) = file else {
                continue;
            };
            if is_concrete(&file) && !is_runtime_mirror(&file) && !is_secret(&file) {
                if seen.insert(file.clone()) {
                    kept.push(file);
                }
            } else {
                let message = format!("a pack may not name `{}`", cut(&one_line(&file), 80));
                report.lost(Some(task_ix), "files", message);
            }
        }
        kept
    });
    files.collect()
}

/// Returns the wave of every task, from 1. With stages, it is the stage. Otherwise it is after those of all dependencies, and of every
/// earlier task with a file in common.
fn waves_of(draft: &PlanDraft, files: &[Vec<String>], report: &mut WriterReport) -> Vec<usize> {
    if draft.has_stages {
        return stage_waves(draft);
    }
    let on = |task: &DraftTask| task.dependencies.iter().map(|&place| place as usize).collect();
    let on: Vec<Vec<usize>> = draft.tasks.iter().map(on).collect();
    let fresh = waves::fresh(&on, files);
    let waves: Vec<usize> = fresh.positions.iter().map(|at| at.map_or(0, |at| at + 1)).collect();
    let n_waves = waves.iter().max().copied().unwrap_or(0);
    if n_waves > 0 {
        let why = if fresh.has_shared_files {
            "dependencies and shared files"
        } else {
            "dependencies"
        };
        report.invented(None, "execution_waves", format!("{n_waves} in number, by {why}"));
    }
    waves
}

/// Numbers the stages that have tasks.
fn stage_waves(draft: &PlanDraft) -> Vec<usize> {
    let mut stages: Vec<u32> = draft.tasks.iter().map(|task| task.stage).collect();
    stages.sort_unstable();
    stages.dedup();
    let wave = |task: &DraftTask| stages.partition_point(|&stage| stage < task.stage) + 1;
    draft.tasks.iter().map(wave).collect()
}

fn compose_task(
    task: &mut DraftTask,
    task_ix: usize,
    ids: &[(String, bool)],
    files: &[String],
    wave: usize,
    report: &mut WriterReport,
) -> Vec<(String, PlainValue)> {
    let values = &mut task.fields;
    let title = values.take_text(Field::Title);
    let body = values.take_text(Field::Goal);
    let body = body.or_else(|| values.take_text(Field::Description));
    let goal = joined(title, body).unwrap_or_else(|| {
        report.invented(Some(task_ix), "goal", "it has no description");
        "Untitled task".to_owned()
    });
    let files: Vec<PlainValue> = files.iter().map(|file| text(file.as_str())).collect();
    let mut members = Vec::new();
    for spec in fields::as_written() {
        let value = match spec.field {
            Field::Id => Some(text(ids.get(task_ix).map_or("", |(id, _)| id))),
            Field::Goal => Some(text(goal.as_str())),
            Field::Dependencies => Some(named(&task.dependencies, ids)),
            Field::Files => Some(PlainValue::Array(files.clone())),
            Field::SideEffects => take_side_effects(values).map(PlainValue::Array),
            Field::DoneSignal => take_done_signal(values, task_ix, report).map(text),
            Field::Wave => Some(number(wave)),
            Field::Parallelizable => {
                let value = values.take(Field::Parallelizable);
                value.filter(|value| matches!(value, PlainValue::Bool(_)))
            }
            Field::Notes => {
                let notes = values.take_text(Field::Notes);
                notes.or_else(|| values.take_text(Field::Instructions)).map(text)
            }
            Field::TargetRepo if !values.text(Field::TargetRepo).is_some_and(is_target_scope) => None,
            field if fields::is_list(spec.name) => values.take_texts(field).map(PlainValue::Array),
            field => values.take_text(field).map(text),
        };
        members.extend(value.map(|value| member(spec.name, value)));
    }
    members
}

fn take_side_effects(fields: &mut Fields) -> Option<Vec<PlainValue>> {
    let is_allowed =
        |value: &PlainValue| matches!(value, PlainValue::String(pattern) if is_side_effect_pattern(pattern));
    match fields.get(Field::SideEffects) {
        Some(PlainValue::Array(items)) if items.iter().all(is_allowed) => fields.take_texts(Field::SideEffects),
        _ => None,
    }
}

/// Takes the done signal of a task; a list of criteria becomes one sentence.
fn take_done_signal(fields: &mut Fields, task_ix: usize, report: &mut WriterReport) -> Option<String> {
    if let Some(signal) = fields.take_text(Field::DoneSignal) {
        return Some(signal);
    }
    let criteria = fields.take_texts(Field::Criteria)?;
    if criteria.len() > 1 {
        let message = format!("{} criteria are one text", criteria.len());
        report.changed(Some(task_ix), "done_signal", message);
    }
    let criteria = criteria.iter().filter_map(|criterion| match criterion {
        PlainValue::String(text) => Some(text.trim()),
        _ => None,
    });
    let signal = criteria.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ");
    (!signal.is_empty()).then_some(signal)
}
