//! Writes a whole new plan as rawko-sdk stores it. Changes of single tasks are in `statuses`.

use super::super::draft::{DraftState, DraftTask, Fields, PlanDraft};
use super::super::id_source::IdSource;
use super::super::writer::{
    Composed, DialectWriter, Resets, WriterReport, five_states, member, number, slug, take_file_id, take_goal,
    take_notes, take_time, take_time_or_now, text,
};
use super::rules::{CURRENT_STEP, STEP_INDEX, VERSION_CHAIN};
use super::statuses::LIFECYCLE;
use crate::document::patch::PlainValue;
use crate::document::write;
use crate::plan::Field;
use crate::plan::transition::task_to_look_at;

pub(super) struct RawkoWriter;

/// The initial values of a planner's plan.
static PLANNED: Resets<'static> = Resets {
    head: &[
        Field::Id,
        Field::Goal,
        Field::Status,
        Field::CurrentTask,
        Field::CreatedAt,
        Field::UpdatedAt,
        Field::CreatedBy,
        Field::Version,
        Field::PreviousPlan,
    ],
    task: STEP_RESETS,
    answered: STEP_RESETS,
    lenient: &[Field::Complexity, Field::Tags],
    fresh: &["draft", "pending"],
    // Steps are identified by their positions, which dependencies use.
    overlooked: &[&STEP_INDEX, &CURRENT_STEP, &VERSION_CHAIN],
};

static STEP_RESETS: &[Field] = &[
    Field::Position,
    Field::Status,
    Field::ExecutedBy,
    Field::StartedAt,
    Field::CompletedAt,
    Field::Output,
    Field::Error,
    Field::Files,
];

impl DialectWriter for RawkoWriter {
    fn compose(&self, draft: &mut PlanDraft, id_source: &mut IdSource<'_>, report: &mut WriterReport) -> Composed {
        let states = draft.tasks.iter().enumerate();
        let states: Vec<DraftState> = states
            .map(|(ix, task)| five_states(task, ix, "status", report))
            .collect();
        let mut head = identity(draft, &states, id_source, report);
        head.push(member("steps", PlainValue::Null));
        head.extend(metadata(&mut draft.head));
        let tasks = draft.tasks.iter_mut().zip(&states).enumerate();
        let tasks = tasks.map(|(ix, (task, state))| compose_step(task, ix, state, report));
        Composed {
            head,
            tasks_key: "steps",
            tasks: tasks.collect(),
        }
    }

    fn lay_out(&self, composed: Composed) -> String {
        write::yaml(&composed.into_value())
    }

    fn tasks_key(&self) -> &'static str {
        "steps"
    }

    fn structure(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (&["currentStepIndex"], &["index", "dependsOn"])
    }

    fn planned(&self) -> &'static Resets<'static> {
        &PLANNED
    }
}

fn identity(
    draft: &mut PlanDraft,
    states: &[DraftState],
    id_source: &IdSource<'_>,
    report: &mut WriterReport,
) -> Vec<(String, PlainValue)> {
    let task = take_goal(&mut draft.head).unwrap_or_else(|| {
        report.invented(None, "task", "the plan has no goal");
        "Untitled plan".to_owned()
    });
    let id = take_file_id(&mut draft.head).unwrap_or_else(|| {
        let usual = plan_id(&task, id_source);
        let id = id_source.plan_id(usual.clone(), |n| format!("{usual}-{n}"));
        report.invented(None, "id", format!("the id of the plan is `{id}`"));
        id
    });
    let status = plan_status(&mut draft.head, states);
    let mut time = |key, field| take_time_or_now(&mut draft.head, field, key, id_source, report);
    let times = [time("createdAt", Field::CreatedAt), time("updatedAt", Field::UpdatedAt)];
    let (version, previous) = take_version(&mut draft.head);
    let mut members = vec![
        member("id", text(id)),
        member("task", text(task)),
        member("status", text(status)),
        member("version", number(version)),
        member("currentStepIndex", number(current_step(draft, states))),
    ];
    members.extend(times);
    let created_by = draft.head.take_text(Field::CreatedBy).unwrap_or_else(|| {
        report.invented(None, "createdBy", "it was made by planwright");
        "planwright".to_owned()
    });
    members.push(member("createdBy", text(created_by)));
    members.extend(previous.map(|id| member("previousPlanId", text(id))));
    members
}

/// Returns the id that rawko derives from a task and a date.
fn plan_id(task: &str, id_source: &IdSource<'_>) -> String {
    let day: String = id_source.date().chars().filter(char::is_ascii_digit).collect();
    let name = slug(task, 30);
    format!("plan-{day}-{}", if name.is_empty() { "plan" } else { &name })
}

fn plan_status(head: &mut Fields, states: &[DraftState]) -> &'static str {
    let status = match () {
        () if states.contains(&DraftState::Failed) => "replanning",
        () if !states.is_empty() && states.iter().all(DraftState::is_over) => "complete",
        () if states.iter().any(|state| *state != DraftState::Pending) => "in_progress",
        () => "draft",
    };
    let said_alike = match head.text(Field::Status) {
        Some("Draft" | "draft") => status == "draft",
        Some("InProgress") => status == "in_progress" || status == "replanning",
        Some("Completed") => status == "complete",
        _ => false,
    };
    if said_alike {
        head.drop(Field::Status);
    }
    status
}

/// A later version names the one that it replaces; otherwise it is the first.
fn take_version(head: &mut Fields) -> (i64, Option<String>) {
    let is_later = head.integer(Field::Version).is_some_and(|version| version > 1);
    match head.text(Field::PreviousPlan) {
        Some(_) if is_later => (
            head.take_integer(Field::Version).unwrap_or(1),
            head.take_text(Field::PreviousPlan),
        ),
        _ => (1, None),
    }
}

fn current_step(draft: &PlanDraft, states: &[DraftState]) -> usize {
    let states: Vec<_> = states.iter().map(|state| Some(state.plain())).collect();
    task_to_look_at(&states, |ix| {
        let on = draft.tasks.get(ix).map_or(&[][..], |task| task.dependencies.as_slice());
        on.iter().map(|&place| place as usize)
    })
}

fn metadata(head: &mut Fields) -> Option<(String, PlainValue)> {
    let mut members = Vec::new();
    if head
        .integer(Field::Complexity)
        .is_some_and(|number| (1..=10).contains(&number))
    {
        let complexity = head.take(Field::Complexity);
        members.extend(complexity.map(|complexity| member("complexity", complexity)));
    }
    for (key, field) in [
        ("tags", Field::Tags),
        ("constraints", Field::Constraints),
        ("informedByMemories", Field::Memories),
    ] {
        members.extend(head.take_texts(field).map(|list| member(key, PlainValue::Array(list))));
    }
    (!members.is_empty()).then(|| member("metadata", PlainValue::Object(members)))
}

fn compose_step(
    task: &mut DraftTask,
    step_ix: usize,
    state: &DraftState,
    report: &mut WriterReport,
) -> Vec<(String, PlainValue)> {
    let said = take_text(&mut task.fields);
    let (description, body) = said.unwrap_or_else(|| {
        report.invented(Some(step_ix), "description", "it has no description");
        ("Untitled step".to_owned(), None)
    });
    let notes = task.fields.text(Field::Notes).is_some();
    let notes = notes.then(|| take_notes(&mut task.fields, state)).flatten();
    let fields = &mut task.fields;
    let mut members = vec![
        member("index", number(step_ix)),
        member("description", text(description)),
        member("status", text(state.word(&LIFECYCLE.words))),
    ];
    let mut add = |key: &str, value: Option<PlainValue>| members.extend(value.map(|value| member(key, value)));
    add("suggestedAgent", fields.take_text(Field::AgentHint).map(text));
    add("executedBy", fields.take_text(Field::ExecutedBy).map(text));
    add("startedAt", take_time(fields, Field::StartedAt).map(text));
    add("completedAt", take_time(fields, Field::CompletedAt).map(text));
    let (mut output, mut error) = (fields.take_text(Field::Output), fields.take_text(Field::Error));
    let mut instructions = fields.take_text(Field::Instructions).or(body);
    // The notes of a finished task are its output or its error; before that, they are instructions.
    match state {
        DraftState::Failed => error = error.or(notes),
        DraftState::Done | DraftState::Skipped => output = output.or(notes),
        _ => instructions = joined_notes(instructions, notes),
    }
    if let DraftState::Blocked(reason) = &task.state {
        error = error.or_else(|| Some(format!("Blocked: {reason}")));
    }
    add("output", output.map(text));
    add("error", error.map(text));
    let files = fields
        .take_texts(Field::Files)
        .or_else(|| fields.take_texts(Field::Artifacts));
    add("affectedFiles", files.map(PlainValue::Array));
    let dependencies: Vec<PlainValue> = task.dependencies.iter().map(number).collect();
    add(
        "dependsOn",
        Some(PlainValue::Array(dependencies)).filter(|list| *list != PlainValue::Array(Vec::new())),
    );
    add("instructions", instructions.map(text));
    let criteria = fields
        .take_texts(Field::Criteria)
        .or_else(|| fields.take_text(Field::DoneSignal).map(|signal| vec![text(signal)]));
    add("acceptanceCriteria", criteria.map(PlainValue::Array));
    members
}

/// Takes the title of a step, and its further text.
fn take_text(fields: &mut Fields) -> Option<(String, Option<String>)> {
    let body = [Field::Description, Field::Goal]
        .into_iter()
        .find_map(|field| fields.take_text(field));
    match (fields.take_text(Field::Title), body) {
        (Some(title), body) => Some((title.clone(), body.filter(|body| *body != title))),
        (None, body) => body.map(|body| (body, None)),
    }
}

fn joined_notes(instructions: Option<String>, notes: Option<String>) -> Option<String> {
    match (instructions, notes) {
        (Some(instructions), Some(notes)) => Some(format!("{instructions}\n\nNotes: {notes}")),
        (instructions, notes) => instructions.or(notes),
    }
}
