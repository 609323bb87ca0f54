//! Writes a whole new plan as clido saves it. Changes of single tasks are in `statuses`.

use super::super::draft::{DraftState, DraftTask, PlanDraft};
use super::super::id_source::IdSource;
use super::super::writer::{
    Composed, DialectWriter, Import, Resets, WriterReport, complexity_of, joined, member, named, report_joined,
    report_new_ids, take_created, take_file_id, take_goal, take_notes, task_ids, text,
};
use super::statuses::LIFECYCLE;
use crate::document::patch::PlainValue;
use crate::plan::Field;
use crate::text::visible;

pub(super) struct ClidoWriter;

static RESETS: Resets<'static> = Resets {
    answered: &[Field::Status],
    fresh: &["pending"],
    ..Resets::NONE
};

/// The initial values of a planner's plan.
static PLANNED: Resets<'static> = Resets {
    head: &[Field::Id, Field::CreatedAt],
    task: &[Field::Status, Field::Skip],
    fresh: &["pending", "false"],
    ..RESETS
};

impl DialectWriter for ClidoWriter {
    fn compose(&self, draft: &mut PlanDraft, id_source: &mut IdSource<'_>, report: &mut WriterReport) -> Composed {
        let ids = task_ids(&draft.tasks, |id| !id.trim().is_empty(), |n| format!("t{n}"));
        report_new_ids(&draft.tasks, &ids, "id", report);
        report_joined(draft, "description", report);
        let head = match draft.form.as_deref() {
            Some("flat") => flat(draft),
            _ => vec![
                member("meta", meta(draft, id_source, report)),
                member("tasks", PlainValue::Null),
            ],
        };
        let tasks = draft.tasks.iter_mut().enumerate();
        Composed {
            head,
            tasks_key: "tasks",
            tasks: tasks.map(|(ix, task)| compose_task(task, ix, &ids, report)).collect(),
        }
    }

    fn structure(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (&[], &["id", "depends_on"])
    }

    fn import(&self) -> Import {
        Import::Anew(&RESETS)
    }

    fn planned(&self) -> &'static Resets<'static> {
        &PLANNED
    }
}

fn meta(draft: &mut PlanDraft, id_source: &IdSource<'_>, report: &mut WriterReport) -> PlainValue {
    let goal = take_goal(&mut draft.head).unwrap_or_else(|| {
        report.invented(None, "meta.goal", "the plan has no goal");
        "Untitled plan".to_owned()
    });
    let given = |draft: &PlanDraft, field| {
        draft
            .head
            .text(field)
            .map(str::to_owned)
            .filter(|text| !text.is_empty())
    };
    let old = given(draft, Field::Id);
    let id = take_file_id(&mut draft.head).unwrap_or_else(|| {
        let id = id_source.plan_id(plan_id(&goal, 1), |n| plan_id(&goal, n));
        match old {
            Some(old) => report.changed(
                None,
                "meta.id",
                format!(
                    "`{}` cannot be the name of a file: the id of the plan is `{id}`",
                    visible(&old)
                ),
            ),
            None => report.invented(None, "meta.id", format!("the id of the plan is `{id}`")),
        }
        id
    });
    let old = given(draft, Field::CreatedAt);
    let created_at = take_created(&mut draft.head).unwrap_or_else(|| {
        match old {
            Some(old) => report.changed(
                None,
                "meta.created_at",
                format!("`{}` is no time: it was made now", visible(&old)),
            ),
            None => report.invented(None, "meta.created_at", "no time is given: it is now"),
        }
        id_source.now.clone()
    });
    PlainValue::Object(vec![
        member("id", text(id)),
        member("goal", text(goal)),
        member("created_at", text(created_at)),
    ])
}

/// The form that planners return; only for plans that were of this form before.
fn flat(draft: &mut PlanDraft) -> Vec<(String, PlainValue)> {
    let goal = take_goal(&mut draft.head).unwrap_or_default();
    let mut head = vec![member("goal", text(goal))];
    for (key, field) in [("id", Field::Id), ("created_at", Field::CreatedAt)] {
        head.extend(draft.head.take_text(field).map(|value| member(key, text(value))));
    }
    head.push(member("tasks", PlainValue::Null));
    head
}

fn compose_task(
    task: &mut DraftTask,
    task_ix: usize,
    ids: &[(String, bool)],
    report: &mut WriterReport,
) -> Vec<(String, PlainValue)> {
    let fields = &mut task.fields;
    let title = fields.take_text(Field::Title);
    let body = fields
        .take_text(Field::Description)
        .or_else(|| fields.take_text(Field::Goal));
    let description = joined(title, body).unwrap_or_else(|| {
        report.invented(Some(task_ix), "description", "it has no description");
        "Untitled task".to_owned()
    });
    let mut notes = take_notes(fields, &task.state);
    if let DraftState::Blocked(reason) = &task.state {
        let message = format!("it was blocked ({reason}) and is pending again");
        report.changed(Some(task_ix), "status", message);
        notes = notes.or_else(|| Some(format!("Blocked: {reason}")));
    }
    let complexity = fields.get(Field::Complexity).and_then(complexity_of);
    let tools = fields
        .take_texts(Field::Tools)
        .map_or(PlainValue::Null, PlainValue::Array);
    if complexity.is_some() {
        fields.drop(Field::Complexity);
    }
    let word = word_of(complexity, task_ix, report);
    vec![
        member("id", text(ids.get(task_ix).map_or("", |(id, _)| id))),
        member("description", text(description)),
        member("depends_on", named(&task.dependencies, ids)),
        member("complexity", text(word)),
        member("skip", PlainValue::Bool(task.held)),
        member("notes", text(notes.unwrap_or_default())),
        member("status", text(task.state.word(&LIFECYCLE.words))),
        member("tools", tools),
    ]
}

fn word_of(complexity: Option<i64>, task_ix: usize, report: &mut WriterReport) -> &'static str {
    let word = match complexity {
        None | Some(..=2) => "low",
        Some(3) => "medium",
        Some(4..) => "high",
    };
    if let Some(number @ (1 | 5)) = complexity {
        report.changed(Some(task_ix), "complexity", format!("complexity {number} is `{word}`"));
    }
    word
}

/// Returns the id that clido derives from a goal; after the first try, a different one.
pub(super) fn plan_id(goal: &str, tries: u32) -> String {
    let hash = goal
        .bytes()
        .fold(0u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("plan-{:08x}", (hash as u32).wrapping_add(tries - 1))
}

#[cfg(test)]
mod tests {
    use super::plan_id;

    #[test]
    fn plan_ids_equal_those_of_the_original_tool() {
        assert_eq!(plan_id("", 1), "plan-00000000");
        assert_eq!(plan_id("do the thing", 1), "plan-983cbf2a");
        assert_eq!(plan_id("Refactor auth module to use JWT", 1), "plan-f9861423");
        assert_eq!(plan_id("roundtrip test", 1), "plan-cf87bddf");
        assert_ne!(plan_id("", 2), plan_id("", 1));
    }
}
