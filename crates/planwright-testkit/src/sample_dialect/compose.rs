//! Writes plans as to-do lists.

use planwright_core::dialect::draft::{DraftState, DraftTask, PlanDraft};
use planwright_core::dialect::id_source::IdSource;
use planwright_core::dialect::writer::{
    Composed, DialectWriter, WriterReport, member, named, take_file_id, take_goal, task_ids, text,
};
use planwright_core::document::patch::PlainValue;
use planwright_core::plan::Field;

pub(super) struct TodoWriter;

impl DialectWriter for TodoWriter {
    fn compose(&self, draft: &mut PlanDraft, id_source: &mut IdSource<'_>, _report: &mut WriterReport) -> Composed {
        let ids = task_ids(&draft.tasks, |id| !id.trim().is_empty(), |n| format!("entry-{n}"));
        let id = take_file_id(&mut draft.head);
        let id = id.unwrap_or_else(|| id_source.plan_id("list".to_owned(), |n| format!("list-{n}")));
        let mut head = vec![
            member("id", text(id)),
            member("goal", text(take_goal(&mut draft.head).unwrap_or_default())),
            member("version", PlainValue::Number("1".to_owned())),
        ];
        let branch = draft.head.take_text(Field::Branch);
        head.extend(branch.map(|branch| member("branch", text(branch))));
        head.push(member("todo", PlainValue::Null));
        let tasks = draft.tasks.iter_mut().zip(&ids);
        Composed {
            head,
            tasks_key: self.tasks_key(),
            tasks: tasks.map(|(task, (id, _))| entry(task, id, &ids)).collect(),
        }
    }

    fn tasks_key(&self) -> &'static str {
        "todo"
    }

    fn structure(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (&[], &["name", "after"])
    }
}

fn entry(task: &mut DraftTask, id: &str, ids: &[(String, bool)]) -> Vec<(String, PlainValue)> {
    let what = [Field::Description, Field::Title, Field::Goal];
    let what = what.into_iter().find_map(|field| task.fields.take_text(field));
    vec![
        member("name", text(id)),
        member("what", text(what.unwrap_or_default())),
        member("after", named(&task.dependencies, ids)),
        member("ticked", PlainValue::Bool(task.state == DraftState::Done)),
    ]
}
