//! Writes a whole new plan as Aimi's tasks.json: v3, and v2 for plans that were v2 before. Changes of single tasks are in `statuses`.

use super::super::draft::{DraftState, DraftTask, Fields, PlanDraft};
use super::super::id_source::IdSource;
use super::super::time::is_iso_date;
use super::super::writer::{
    Composed, DialectWriter, Migration, MigrationOrder, Resets, WriterReport, cut, five_states, member, named, number,
    one_line, report_new_ids, slug, take_notes, take_title_and_body, task_ids, text,
};
use super::fields::KINDS;
use super::statuses::WORDS;
use super::{LINKED_V2_FORM, V2_FORM, answer, is_branch, is_story_id, is_v2, migrate};
use crate::document::NodeRef;
use crate::document::patch::PlainValue;
use crate::plan::lifecycle::TaskOrder;
use crate::plan::{Field, Plan, Slots};

pub(super) struct AimiWriter;

/// The initial values of a planner's plan.
static PLANNED: Resets<'static> = Resets {
    head: &[
        Field::SchemaVersion,
        Field::CreatedAt,
        Field::PlanPath,
        Field::BrainstormPath,
    ],
    task: &[Field::Status, Field::Passes, Field::Skipped],
    answered: &[Field::Status],
    fresh: &["3.0", "2.2", "pending"],
    ..Resets::NONE
};

impl DialectWriter for AimiWriter {
    fn compose(&self, draft: &mut PlanDraft, id_source: &mut IdSource<'_>, report: &mut WriterReport) -> Composed {
        if draft.form.as_deref().is_some_and(is_v2) {
            return compose_v2(draft, report);
        }
        let ids = task_ids(&draft.tasks, is_story_id, |n| format!("US-{n:03}"));
        report_new_ids(&draft.tasks, &ids, "id", report);
        let priorities = priorities_of(draft, report);
        let head = vec![
            member("schemaVersion", text("3.0")),
            member("metadata", metadata(draft, id_source, report)),
            member("userStories", PlainValue::Null),
        ];
        let tasks = draft.tasks.iter_mut().enumerate();
        let tasks = tasks.map(|(ix, task)| {
            let priority = priorities.get(ix).copied().unwrap_or(ix + 1);
            compose_story(task, ix, &ids, priority, report)
        });
        Composed {
            head,
            tasks_key: "userStories",
            tasks: tasks.collect(),
        }
    }

    fn migrate(
        &self,
        plan: &Plan,
        root: NodeRef<'_>,
        order: &MigrationOrder,
        id_source: &IdSource<'_>,
    ) -> Option<Migration> {
        is_v2(plan.form).then(|| migrate::migrate(plan, root, order, id_source))
    }

    fn migrates(&self) -> Option<&'static str> {
        Some("Aimi files of v2.x and prd.json")
    }

    fn tasks_key(&self) -> &'static str {
        "userStories"
    }

    fn structure(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (&[], &["id", "dependsOn"])
    }

    fn has_stages(&self, form: Option<&str>) -> bool {
        form == Some(V2_FORM)
    }

    fn planned(&self) -> &'static Resets<'static> {
        &PLANNED
    }

    fn in_older_form(&self, answer: &mut Vec<(String, PlainValue)>, form: &str) -> bool {
        let is_older = is_v2(form);
        if is_older {
            answer::in_older_form(answer, form);
        }
        is_older
    }
}

fn metadata(draft: &mut PlanDraft, id_source: &IdSource<'_>, report: &mut WriterReport) -> PlainValue {
    let title = take_plan_title(&mut draft.head, report);
    let kind = take_kind(&mut draft.head, &title, report);
    let branch = take_branch(&mut draft.head, &title, kind, report);
    let created_at = take_date(&mut draft.head, id_source, report);
    let plan_path = draft
        .head
        .take_text(Field::PlanPath)
        .or_else(|| draft.head.take_text(Field::SourcePlan));
    let mut members = vec![
        member("title", text(title)),
        member("type", text(kind)),
        member("branchName", text(branch)),
        member("createdAt", text(created_at)),
        member("planPath", plan_path.map_or(PlainValue::Null, text)),
    ];
    let brainstorm = draft.head.take_text(Field::BrainstormPath);
    members.extend(brainstorm.map(|path| member("brainstormPath", text(path))));
    let slots = match (draft.head.take_integer(Field::MaxConcurrency), draft.slots) {
        (Some(slots), _) => slots.max(0),
        (None, Slots::Fixed(slots) | Slots::StageWidth(slots)) => {
            let message = format!("{slots} at once, as the plan had it");
            report.invented(None, "metadata.maxConcurrency", message);
            i64::from(slots)
        }
    };
    members.push(member("maxConcurrency", number(slots)));
    PlainValue::Object(members)
}

/// Takes the plan's title; the dialect has no further description.
fn take_plan_title(head: &mut Fields, report: &mut WriterReport) -> String {
    let fields = [Field::Title, Field::Project, Field::Goal, Field::Description];
    let Some(title) = fields.into_iter().find_map(|field| head.take_text(field)) else {
        report.invented(None, "metadata.title", "the plan has no title");
        return "Untitled plan".to_owned();
    };
    title
}

/// The first words of titles, and the kind of change that they mean.
const KIND_WORDS: [(&str, &str); 8] = [
    ("feat", "feat"),
    ("fix", "bug"),
    ("bug", "bug"),
    ("repair", "bug"),
    ("refactor", "ref"),
    ("ref:", "ref"),
    ("chore", "chore"),
    ("update dependencies", "chore"),
];

fn take_kind(head: &mut Fields, title: &str, report: &mut WriterReport) -> &'static str {
    let own = head
        .text(Field::PlanKind)
        .and_then(|own| KINDS.into_iter().find(|kind| *kind == own));
    if let Some(kind) = own {
        head.drop(Field::PlanKind);
        return kind;
    }
    let lower = title.trim_start().to_lowercase();
    let meant = KIND_WORDS.iter().find(|(word, _)| lower.starts_with(word));
    let kind = meant.map_or("feat", |(_, kind)| kind);
    report.invented(None, "metadata.type", format!("the kind of change is `{kind}`"));
    kind
}

fn take_branch(head: &mut Fields, title: &str, kind: &str, report: &mut WriterReport) -> String {
    if head.text(Field::Branch).is_some_and(is_branch)
        && let Some(branch) = head.take_text(Field::Branch)
    {
        return branch;
    }
    // Titles often begin with the kind, which the branch already has.
    let about = title.split_once(": ").filter(|(before, _)| KINDS.contains(before));
    let name = slug(about.map_or(title, |(_, about)| about), 40);
    let branch = format!("{kind}/{}", if name.is_empty() { "plan" } else { &name });
    report.invented(None, "metadata.branchName", format!("the branch is `{branch}`"));
    branch
}

fn take_date(head: &mut Fields, id_source: &IdSource<'_>, report: &mut WriterReport) -> String {
    for field in [Field::CreatedAt, Field::Date] {
        let Some(date) = head
            .text(field)
            .and_then(|time| time.get(..10))
            .filter(|date| is_iso_date(date))
        else {
            continue;
        };
        let date = date.to_owned();
        if head.text(field).is_some_and(|time| time.len() > 10) {
            report.changed(
                None,
                "metadata.createdAt",
                format!("of the time only the date stays, {date}"),
            );
        }
        head.drop(field);
        return date;
    }
    report.invented(None, "metadata.createdAt", "no date is given: it is today");
    id_source.date().to_owned()
}

/// Returns a number for every task, in the order in which its plan would start them.
fn priorities_of(draft: &PlanDraft, report: &mut WriterReport) -> Vec<usize> {
    let mut order: Vec<usize> = (0..draft.tasks.len()).collect();
    if draft.order == TaskOrder::Stage {
        order.sort_by_key(|&ix| (draft.tasks[ix].stage, draft.tasks[ix].priority));
    } else if draft.order == TaskOrder::Priority {
        order.sort_by_key(|&ix| draft.tasks[ix].priority);
    }
    let mut priorities = vec![0; order.len()];
    for (place, ix) in order.into_iter().enumerate() {
        priorities[ix] = place + 1;
    }
    if !priorities.is_empty() {
        let message = "every story has the priority of its turn";
        report.invented(None, "priority", message);
    }
    priorities
}

const TITLE_CHARS: usize = 200;
const DESCRIPTION_CHARS: usize = 500;
const CRITERION_CHARS: usize = 300;

fn compose_story(
    task: &mut DraftTask,
    task_ix: usize,
    ids: &[(String, bool)],
    priority: usize,
    report: &mut WriterReport,
) -> Vec<(String, PlainValue)> {
    // Notes have no length limit.
    let mut whole: Vec<String> = Vec::new();
    let mut short = |field: &'static str, value: String, most: usize| {
        if value.chars().count() > most {
            let message = format!("it is cut to {most} characters; the notes have all of it");
            report.changed(Some(task_ix), field, message);
            whole.push(value.clone());
        }
        cut(&value, most)
    };
    let said = take_title_and_body(&mut task.fields);
    let is_silent = said.is_none();
    let (title, description) = said.unwrap_or_else(|| ("Untitled story".to_owned(), "Untitled story".to_owned()));
    let title = short("title", title, TITLE_CHARS);
    let description = short("description", description, DESCRIPTION_CHARS);
    let criteria = take_criteria(&mut task.fields);
    let criteria: Vec<PlainValue> = criteria
        .into_iter()
        .map(|criterion| text(short("acceptanceCriteria", criterion, CRITERION_CHARS)))
        .collect();
    if is_silent {
        report.invented(Some(task_ix), "title", "it has no description");
    }
    let criteria = with_typecheck(criteria, task_ix, report);
    let mut notes = take_notes(&mut task.fields, &task.state);
    if let DraftState::Blocked(reason) = &task.state {
        notes = notes.or_else(|| Some(format!("Blocked: {reason}")));
    }
    if !whole.is_empty() {
        notes = Some(notes.into_iter().chain(whole).collect::<Vec<String>>().join("\n\n"));
    }
    let state = five_states(task, task_ix, "status", report);
    vec![
        member("id", text(ids.get(task_ix).map_or("", |(id, _)| id))),
        member("title", text(title)),
        member("description", text(description)),
        member("acceptanceCriteria", PlainValue::Array(criteria)),
        member("priority", number(priority)),
        member("status", text(state.word(&WORDS))),
        member("dependsOn", named(&task.dependencies, ids)),
        member("notes", text(notes.unwrap_or_default())),
    ]
}

/// Takes the criteria of a task, otherwise its done signal.
fn take_criteria(fields: &mut Fields) -> Vec<String> {
    let string = |value| match value {
        PlainValue::String(text) => Some(text),
        _ => None,
    };
    match fields.take_texts(Field::Criteria) {
        Some(criteria) => criteria.into_iter().filter_map(string).collect(),
        None => fields.take_text(Field::DoneSignal).into_iter().collect(),
    }
}

fn with_typecheck(mut criteria: Vec<PlainValue>, task_ix: usize, report: &mut WriterReport) -> Vec<PlainValue> {
    let typecheck = text("Typecheck passes");
    if !criteria.contains(&typecheck) {
        let message = "\"Typecheck passes\" is a criterion of every story";
        report.invented(Some(task_ix), "acceptanceCriteria", message);
        criteria.push(typecheck);
    }
    criteria
}

/// Writes the older form: two booleans, and priorities that are layers.
fn compose_v2(draft: &mut PlanDraft, report: &mut WriterReport) -> Composed {
    let is_linked = draft.form.as_deref() == Some(LINKED_V2_FORM);
    let mut metadata = Vec::new();
    for (key, field) in [
        ("title", Field::Title),
        ("type", Field::PlanKind),
        ("branchName", Field::Branch),
        ("createdAt", Field::CreatedAt),
    ] {
        metadata.extend(draft.head.take_text(field).map(|value| member(key, text(value))));
    }
    if let Some(goal) = draft.head.take_text(Field::Goal) {
        metadata.insert(0, member("title", text(one_line(&goal))));
    }
    let mut head = match is_linked {
        // With a version, the dependencies would have another meaning.
        true => metadata,
        false => vec![
            member("schemaVersion", text("2.2")),
            member("metadata", PlainValue::Object(metadata)),
        ],
    };
    head.push(member("userStories", PlainValue::Null));
    let ids = task_ids(&draft.tasks, |id| !id.trim().is_empty(), |n| format!("US-{n:03}"));
    let tasks = draft.tasks.iter_mut().zip(&ids).enumerate();
    let tasks = tasks.map(|(ix, (task, (id, _)))| {
        if !matches!(task.state, DraftState::Pending | DraftState::Done | DraftState::Skipped) {
            let message = "a story of this version passes, is skipped, or is open".to_owned();
            report.lost(Some(ix), "status", message);
        }
        let (title, description) = take_title_and_body(&mut task.fields).unwrap_or_default();
        let criteria = take_criteria(&mut task.fields).into_iter().map(text).collect();
        let notes = take_notes(&mut task.fields, &task.state).unwrap_or_default();
        let mut story = vec![
            member("id", text(id)),
            member("title", text(title)),
            member("description", text(description)),
            member("acceptanceCriteria", PlainValue::Array(criteria)),
            member("priority", number(ix + 1)),
            member("passes", PlainValue::Bool(task.state == DraftState::Done)),
            member("skipped", PlainValue::Bool(task.state == DraftState::Skipped)),
            member("notes", text(notes)),
        ];
        if is_linked {
            story.push(member("dependsOn", named(&task.dependencies, &ids)));
        }
        story
    });
    Composed {
        head,
        tasks_key: "userStories",
        tasks: tasks.collect(),
    }
}
