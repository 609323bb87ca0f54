//! Writes a whole new plan as OpenCrabs stores it for a session, or in the minimal form if it was minimal before. Changes of single
//! tasks are in `statuses`.

use super::super::draft::{DraftState, DraftTask, Fields, PlanDraft};
use super::super::id_source::IdSource;
use super::super::writer::{
    Composed, DialectWriter, Import, Resets, WriterReport, complexity_of, cut, member, number, one_line,
    report_new_ids, take_notes, take_time, take_time_or_now, take_title_and_body, task_ids, text,
};
use super::fields::{TASK_TYPES, UNDOCUMENTED_TYPES};
use super::is_uuid;
use super::statuses::LIFECYCLE;
use crate::document::patch::PlainValue;
use crate::plan::Field;

pub(super) struct OpenCrabsWriter;

/// The fields that import resets. Other fields of a task, and `max_retries`, keep their given values.
static TASK_RESETS: &[Field] = &[
    Field::Id,
    Field::Position,
    Field::Status,
    Field::Notes,
    Field::CompletedAt,
    Field::History,
    Field::RetryCount,
    Field::Artifacts,
    Field::Reflection,
];

static RESETS: Resets<'static> = Resets {
    head: &[
        Field::Id,
        Field::SessionId,
        Field::Status,
        Field::CreatedAt,
        Field::UpdatedAt,
        Field::ApprovedAt,
    ],
    task: TASK_RESETS,
    answered: TASK_RESETS,
    lenient: &[
        Field::Context,
        Field::Risks,
        Field::TechnicalStack,
        Field::TestStrategy,
        Field::MaxRetries,
    ],
    fresh: &["Draft", "Pending"],
    overlooked: &[],
};

impl DialectWriter for OpenCrabsWriter {
    fn compose(&self, draft: &mut PlanDraft, id_source: &mut IdSource<'_>, report: &mut WriterReport) -> Composed {
        let is_minimal = draft.form.as_deref() == Some("minimal");
        let ids = match is_minimal {
            true => Vec::new(),
            false => {
                let ids = task_ids(&draft.tasks, is_uuid, |_| id_source.uuid());
                report_new_ids(&draft.tasks, &ids, "id", report);
                ids
            }
        };
        let (title, description) = take_title_and_body(&mut draft.head).unwrap_or_else(|| {
            report.invented(None, "title", "the plan has no goal");
            ("Untitled plan".to_owned(), "Untitled plan".to_owned())
        });
        let mut head = vec![
            member("title", text(title)),
            member("description", text(description)),
            member("tasks", PlainValue::Null),
        ];
        if !is_minimal {
            let identity = identity(&mut draft.head, id_source, report);
            head.splice(0..0, identity);
            head.extend(surroundings(&mut draft.head));
            head.extend(plan_state(draft, id_source, report));
        }
        let open = |task: &DraftTask| task.state == DraftState::Pending;
        for (ix, _) in draft
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| is_minimal && !open(task))
        {
            let message = "plans to import have no statuses".to_owned();
            report.lost(Some(ix), "status", message);
        }
        let tasks = draft.tasks.iter_mut().enumerate();
        Composed {
            head,
            tasks_key: "tasks",
            tasks: tasks.map(|(ix, task)| compose_task(task, ix, &ids, report)).collect(),
        }
    }

    fn structure(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (&[], &["id", "order", "dependencies"])
    }

    fn import(&self) -> Import {
        Import::Anew(&RESETS)
    }
}

fn identity(head: &mut Fields, id_source: &mut IdSource<'_>, report: &mut WriterReport) -> [(String, PlainValue); 2] {
    let mut take = |key: &'static str, field: Field, what: &str| {
        let own = head.text(field).is_some_and(is_uuid);
        let id = match own.then(|| head.take_text(field)).flatten() {
            Some(id) => id,
            None => {
                report.invented(None, key, format!("the {what} has a new id"));
                id_source.uuid()
            }
        };
        member(key, text(id))
    };
    [
        take("id", Field::Id, "plan"),
        take("session_id", Field::SessionId, "session"),
    ]
}

fn surroundings(head: &mut Fields) -> [(String, PlainValue); 4] {
    let list = |head: &mut Fields, field| PlainValue::Array(head.take_texts(field).unwrap_or_default());
    [
        member("context", text(head.take_text(Field::Context).unwrap_or_default())),
        member("risks", list(head, Field::Risks)),
        member(
            "test_strategy",
            text(head.take_text(Field::TestStrategy).unwrap_or_default()),
        ),
        member("technical_stack", list(head, Field::TechnicalStack)),
    ]
}

fn plan_state(draft: &mut PlanDraft, id_source: &IdSource<'_>, report: &mut WriterReport) -> [(String, PlainValue); 4] {
    let status = plan_status(draft);
    let mut time = |key, field| take_time_or_now(&mut draft.head, field, key, id_source, report);
    let (created_at, updated_at) = (
        time("created_at", Field::CreatedAt),
        time("updated_at", Field::UpdatedAt),
    );
    let approved_at = take_time(&mut draft.head, Field::ApprovedAt);
    [
        member("status", text(status)),
        created_at,
        updated_at,
        member("approved_at", approved_at.map_or(PlainValue::Null, text)),
    ]
}

/// Returns the plan's status, from its tasks.
fn plan_status(draft: &mut PlanDraft) -> &'static str {
    let states = || draft.tasks.iter().map(|task| &task.state);
    let status = match () {
        () if !draft.tasks.is_empty() && states().all(DraftState::is_over) => "Completed",
        () if states().any(|state| *state != DraftState::Pending) => "InProgress",
        () => "Draft",
    };
    let said_alike = match draft.head.text(Field::Status) {
        Some("draft") => status == "Draft",
        Some("in_progress") => status == "InProgress",
        Some("complete") => status == "Completed",
        _ => false,
    };
    if said_alike {
        draft.head.drop(Field::Status);
    }
    status
}

fn compose_task(
    task: &mut DraftTask,
    task_ix: usize,
    ids: &[(String, bool)],
    report: &mut WriterReport,
) -> Vec<(String, PlainValue)> {
    let fields = &mut task.fields;
    let (title, description) = take_title_and_body(fields).unwrap_or_else(|| {
        report.invented(Some(task_ix), "title", "it has no description");
        ("Untitled task".to_owned(), "Untitled task".to_owned())
    });
    let kind = take_kind(fields, &title, task_ix, report);
    let complexity = fields.get(Field::Complexity).and_then(complexity_of);
    if complexity.is_some() {
        fields.drop(Field::Complexity);
    }
    let criteria = fields
        .take_texts(Field::Criteria)
        .or_else(|| fields.take_text(Field::DoneSignal).map(|signal| vec![text(signal)]));
    let mut members = Vec::with_capacity(16);
    if let Some((id, _)) = ids.get(task_ix) {
        members.push(member("id", text(id.as_str())));
        members.push(member("order", number(task_ix + 1)));
    }
    members.push(member("title", text(title)));
    members.push(member("description", text(description)));
    members.push(member("task_type", text(kind)));
    // The field is omitted without dependencies, as OpenCrabs requires.
    if !task.dependencies.is_empty() {
        members.push(member("dependencies", references(&task.dependencies, ids)));
    }
    if !ids.is_empty() || complexity.is_some() {
        members.push(member("complexity", number(complexity.unwrap_or(3))));
    }
    if !ids.is_empty() || criteria.is_some() {
        members.push(member(
            "acceptance_criteria",
            PlainValue::Array(criteria.unwrap_or_default()),
        ));
    }
    if !ids.is_empty() {
        members.extend(task_state(task, task_ix, report));
    }
    members
}

/// Returns dependencies by id; by number from 1 if tasks have no ids.
fn references(dependencies: &[u32], ids: &[(String, bool)]) -> PlainValue {
    let reference = |&place: &u32| match ids.get(place as usize) {
        Some((id, _)) => text(id.as_str()),
        None => number(place + 1),
    };
    PlainValue::Array(dependencies.iter().map(reference).collect())
}

fn task_state(task: &mut DraftTask, task_ix: usize, report: &mut WriterReport) -> [(String, PlainValue); 8] {
    let status = match &task.state {
        DraftState::Blocked(reason) => PlainValue::Object(vec![member("Blocked", text(reason.as_str()))]),
        DraftState::Pending if task.held => {
            report.changed(Some(task_ix), "status", "the mark to skip it is now its status");
            text(LIFECYCLE.words[4])
        }
        state => text(state.word(&LIFECYCLE.words)),
    };
    let notes = take_notes(&mut task.fields, &task.state);
    let fields = &mut task.fields;
    let or_null = |value: Option<String>| value.map_or(PlainValue::Null, text);
    let history = match fields.get(Field::History) {
        Some(PlainValue::Array(_)) => fields.take(Field::History),
        _ => None,
    };
    // The files that a finished task touched are its artifacts.
    let artifacts = fields.take_texts(Field::Artifacts).or_else(|| match task.state {
        DraftState::Done => fields.take_texts(Field::Files),
        _ => None,
    });
    [
        member("status", status),
        member("notes", or_null(notes)),
        member("completed_at", or_null(take_time(fields, Field::CompletedAt))),
        member("execution_history", history.unwrap_or(PlainValue::Array(Vec::new()))),
        member(
            "retry_count",
            number(fields.take_integer(Field::RetryCount).unwrap_or(0)),
        ),
        member(
            "max_retries",
            number(fields.take_integer(Field::MaxRetries).unwrap_or(3)),
        ),
        member("artifacts", PlainValue::Array(artifacts.unwrap_or_default())),
        member("reflection", or_null(fields.take_text(Field::Reflection))),
    ]
}

/// The first verbs of tasks, and the task type that they mean.
const VERBS: [(&str, &str); 24] = [
    ("research", "research"),
    ("read", "research"),
    ("investigate", "research"),
    ("analyze", "research"),
    ("analyse", "research"),
    ("explore", "research"),
    ("identify", "research"),
    ("review", "research"),
    ("create", "create"),
    ("add", "create"),
    ("implement", "create"),
    ("write", "create"),
    ("build", "create"),
    ("delete", "delete"),
    ("remove", "delete"),
    ("drop", "delete"),
    ("test", "test"),
    ("verify", "test"),
    ("document", "documentation"),
    ("describe", "documentation"),
    ("configure", "configuration"),
    ("install", "configuration"),
    ("set", "configuration"),
    ("setup", "configuration"),
];

fn take_kind(fields: &mut Fields, title: &str, task_ix: usize, report: &mut WriterReport) -> String {
    let is_known = |kind: &str| {
        let mut known = TASK_TYPES.iter().chain(UNDOCUMENTED_TYPES);
        known.any(|own| own.eq_ignore_ascii_case(kind))
    };
    if fields.text(Field::TaskKind).is_some_and(is_known)
        && let Some(kind) = fields.take_text(Field::TaskKind)
    {
        return kind;
    }
    let verb = title
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty());
    let meant = VERBS
        .iter()
        .find(|(own, _)| verb.is_some_and(|verb| verb.eq_ignore_ascii_case(own)));
    let kind = meant.map_or("edit", |(_, kind)| kind);
    let message = format!("`{kind}`, by the look of `{}`", cut(&one_line(title), 40));
    report.invented(Some(task_ix), "task_type", message);
    kind.to_owned()
}
