//! Reads OpenCrabs' files as plans.

use super::super::reader::{ObjectFields, PLAIN_VOICE, PlanReader, excerpt, member_cut, requote};
use super::super::rules::{INVALID_FIELD, INVALID_REFERENCE, INVALID_STATUS, PLAN_STATUS, QUOTED_VALUE};
use super::super::words::nearest;
use super::super::{DialectInput, PlanReading};
use super::fields::{
    DEPENDENCIES, GENERATED, ORDER, PLAN, PLAN_ID, PLAN_STATUS_IX, SESSION_ID, STATUS, TASK, TASK_TYPE, TASK_TYPES,
    TASKS, TITLE, UNDOCUMENTED_TYPES,
};
use super::numbers::{self, WrittenNumber};
use super::rules::{EMPTY_DEPENDENCIES, GENERATED_FIELD, UNDOCUMENTED_TYPE};
use super::statuses::LIFECYCLE;
use super::{PROFILE, is_uuid};
use crate::diagnostic::{Diagnostic, Replacement, Severity};
use crate::document::{NodeKind, NodeRef};
use crate::plan::{Dependency, DependencyTarget, PlanBuilder, Status};
use crate::text::{Span, visible};

pub(super) fn read(input: &DialectInput<'_>) -> PlanReading {
    let form = match input.root {
        Some(root) if is_full(root) => "full",
        _ => "minimal",
    };
    let builder = PlanBuilder::new(input.source, PROFILE.name, form, &LIFECYCLE);
    let mut reader = PlanReader::new(builder, &PLAIN_VOICE);
    if let Some(root) = input.root {
        read_root(&mut reader, root, form == "minimal");
    }
    reader.finish()
}

/// Returns whether a document was imported: it has fields that import generates.
fn is_full(root: NodeRef<'_>) -> bool {
    ["id", "session_id", "status", "created_at"]
        .iter()
        .any(|key| root.get(key).is_some())
}

fn read_root<'d>(reader: &mut PlanReader<'d>, root: NodeRef<'d>, is_minimal: bool) {
    let found = reader.head(root, &PLAN, &|| "the plan".to_owned());
    for uuid in [found.get(PLAN_ID), found.get(SESSION_ID)].into_iter().flatten() {
        check_uuid(reader, uuid);
    }
    let Some(tasks) = found.get_kind(TASKS, NodeKind::Array) else {
        return;
    };
    let mut generated = [None; TASK.fields.len()];
    let mut orders = Vec::new();
    for (position, node) in reader.tasks(Some(tasks), 20) {
        let order = read_task(reader, node, position, &mut generated);
        orders.push(order);
    }
    let is_certain = !reader.builder.plan().is_doubtful;
    if is_minimal && is_certain {
        report_generated(reader, &generated);
    }
    numbers::resolve(reader, &orders);
    if let Some(status) = found.get(PLAN_STATUS_IX).filter(|_| is_certain) {
        check_plan_status(reader, status);
    }
}

fn check_uuid<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>) {
    if let Some(text) = node.text()
        && !is_uuid(&text)
    {
        let message = format!("`{}` is not a UUID", excerpt(&text));
        reader.report(
            Diagnostic::new(&INVALID_FIELD, node.span(), message)
                .with_severity(Severity::Warning)
                .with_help("OpenCrabs makes ids as UUIDs: leave the field out and import the plan"),
        );
    }
}

fn read_task<'d>(
    reader: &mut PlanReader<'d>,
    node: NodeRef<'d>,
    position: usize,
    generated: &mut [Option<Span>; TASK.fields.len()],
) -> Option<WrittenNumber> {
    if node.resolved().kind() != NodeKind::Object {
        reader.not_an_object(node, &format!("task {}", position + 1));
        reader.placeholder(node);
        return None;
    }
    let mut found = reader.sort(node, &TASK);
    let title = found.get(TITLE);
    let owner = || task_label(title, position);
    reader.report_misnamed(&mut found, &TASK, &owner);
    for &spec_ix in GENERATED {
        if let Some(value) = found.get(spec_ix) {
            generated[spec_ix].get_or_insert(value.span());
        }
    }
    let entries = reader.record(&found, &TASK, &owner);
    if let Some(kind) = found.get(TASK_TYPE) {
        check_type(reader, kind, &owner);
    }
    let dependencies = read_dependencies(reader, &found, &owner);
    let task_ix = reader.task(node, entries, dependencies);
    if let Some(status) = found.get(STATUS) {
        let value = read_status(reader, status, &owner);
        reader.set_status(task_ix, status, value);
    }
    let order = found.get(ORDER)?;
    let number = order
        .as_integer()
        .and_then(|number| u32::try_from(number).ok())
        .filter(|&number| number > 0)?;
    Some(WrittenNumber {
        number,
        span: order.span(),
    })
}

fn task_label(title: Option<NodeRef<'_>>, position: usize) -> String {
    match title.and_then(NodeRef::text) {
        Some(title) if !title.is_empty() => format!("task {} (`{}`)", position + 1, excerpt(&title)),
        _ => format!("task {}", position + 1),
    }
}

fn check_type<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>, owner: &dyn Fn() -> String) {
    let node = node.resolved();
    let text = node.text().unwrap_or_default();
    let is = |kind: &&str| text.eq_ignore_ascii_case(kind);
    if TASK_TYPES.iter().any(&is) || node.kind() == NodeKind::Invalid {
        return;
    }
    let known = TASK_TYPES.join(", ");
    if UNDOCUMENTED_TYPES.iter().any(is) {
        let message = format!("`{text}` is a task type that OpenCrabs does not document");
        reader.report_with_help(
            &UNDOCUMENTED_TYPE,
            node.span(),
            message,
            format!("documented are {known}"),
        );
        return;
    }
    let shown = if node.kind() == NodeKind::String {
        format!("`{}`", excerpt(&text))
    } else {
        node.describe().to_owned()
    };
    let mut diagnostic = Diagnostic::new(
        &INVALID_FIELD,
        node.span(),
        format!("`task_type` of {} is {shown}, which is no task type", owner()),
    )
    .with_help(format!("use one of {known}"));
    if let Some(kind) = nearest(&text, TASK_TYPES) {
        diagnostic = diagnostic.with_label(format!("did you mean `{kind}`?"));
        if let Some(text) = requote(node, kind) {
            let fix = vec![Replacement::new(node.span(), text)];
            diagnostic = diagnostic.with_unsafe_fix(format!("write `{kind}`"), fix);
        }
    }
    reader.report(diagnostic);
}

fn read_status<'d>(reader: &mut PlanReader<'d>, node: NodeRef<'d>, owner: &dyn Fn() -> String) -> Status {
    let node = node.resolved();
    let help = || {
        let words = LIFECYCLE.words.join(", ");
        format!("use one of {words} or {{\"Blocked\": \"reason\"}}")
    };
    if node.kind() != NodeKind::Object {
        if node.is_text("Blocked") {
            let message = format!("the status `Blocked` of {} gives no reason", owner());
            let help = "write {\"Blocked\": \"the reason\"}";
            reader.report_with_help(&INVALID_STATUS, node.span(), message, help);
            return Status::Blocked(reader.text(node));
        }
        let sentence = |written: &str| (format!("`{written}` is not a status of {}", owner()), help());
        return reader.status(node, &LIFECYCLE.words, owner, Some(&sentence));
    }
    let mut members = node.members();
    match (members.next(), members.next()) {
        (Some(member), None) if member.key.is_text("Blocked") && member.value.resolved().kind() == NodeKind::String => {
            Status::Blocked(reader.text(member.value))
        }
        _ => {
            let message = format!(
                "the status of {} is an object other than {{\"Blocked\": \"reason\"}}",
                owner()
            );
            reader.report_with_help(&INVALID_STATUS, node.span(), message, help());
            Status::Unknown(reader.builder.bare_text(node.span()))
        }
    }
}

fn read_dependencies<'d>(
    reader: &mut PlanReader<'d>,
    found: &ObjectFields<'d>,
    owner: &dyn Fn() -> String,
) -> Vec<Dependency> {
    let list = found.get(DEPENDENCIES);
    if let Some(list) = found.get_kind(DEPENDENCIES, NodeKind::Array)
        && list.elements().next().is_none()
    {
        reader.report(empty_dependencies(found, list));
    }
    reader.dependencies(list, |reader, item| read_dependency(reader, item.resolved(), owner))
}

fn empty_dependencies(found: &ObjectFields<'_>, list: NodeRef<'_>) -> Diagnostic {
    let diagnostic = Diagnostic::new(
        &EMPTY_DEPENDENCIES,
        list.span(),
        "an empty list of dependencies is redundant",
    )
    .with_help("leave the field out");
    let member = found.object().members().find(|member| member.value.row() == list.row());
    match (&member, member_cut(found.object(), member.as_ref())) {
        (Some(member), Some(cut)) => {
            let title = format!("remove the empty list `{}`", visible(&member.key.value()));
            diagnostic.with_safe_fix(title, vec![Replacement::delete(cut)])
        }
        _ => diagnostic,
    }
}

const BY_NUMBER: &str = "name tasks by their 1-based number: [1, 2]";

fn read_dependency<'d>(reader: &mut PlanReader<'d>, item: NodeRef<'d>, owner: &dyn Fn() -> String) -> DependencyTarget {
    match item.kind() {
        // Numbers are resolved after all tasks are read (`numbers`); until then the span identifies the number.
        NodeKind::Number => match item.as_integer() {
            Some(0..) => DependencyTarget::NoSuchNumber,
            _ => {
                let message = format!("`{}` is not a task number", excerpt(item.slice()));
                let help = "task numbers are whole and start at 1";
                reader.report_with_help(&INVALID_REFERENCE, item.span(), message, help);
                DependencyTarget::Unreadable
            }
        },
        NodeKind::String => {
            let text = item.value();
            if is_uuid(&text) {
                return DependencyTarget::Id(reader.text(item));
            }
            if text
                .parse::<u32>()
                .is_ok_and(|number| number > 0 && number.to_string() == text)
            {
                let fix = vec![Replacement::new(item.span(), text.to_string())];
                reader.report(
                    Diagnostic::new(
                        &QUOTED_VALUE,
                        item.span(),
                        format!("the task number {text} stands in quotes"),
                    )
                    .with_help("write it without quotes")
                    .with_safe_fix(format!("write {text} without quotes"), fix),
                );
                return DependencyTarget::NoSuchNumber;
            }
            // An id that is no UUID is an error, but a task may have it.
            let message = format!("`{}` is neither a task number nor a UUID", excerpt(&text));
            reader.report_with_help(&INVALID_REFERENCE, item.span(), message, BY_NUMBER);
            DependencyTarget::Unreadable
        }
        NodeKind::Invalid => DependencyTarget::Unreadable,
        _ => {
            let message = format!("a dependency of {} is {}", owner(), item.describe());
            reader.report_with_help(&INVALID_REFERENCE, item.span(), message, BY_NUMBER);
            DependencyTarget::Unreadable
        }
    }
}

fn report_generated(reader: &mut PlanReader<'_>, generated: &[Option<Span>; TASK.fields.len()]) {
    for (spec, span) in TASK.fields.iter().zip(generated) {
        if let Some(span) = span {
            let message = format!("`{}` is overwritten on import", spec.name);
            reader.report_with_help(&GENERATED_FIELD, *span, message, "leave it out of an import file");
        }
    }
}

fn check_plan_status<'d>(reader: &mut PlanReader<'d>, status: NodeRef<'d>) {
    let mut tasks = reader.builder.plan().tasks().iter();
    let open = tasks.find(|task| !matches!(task.status, Status::Done | Status::Skipped));
    if let Some(span) = open.map(|open| open.status_span)
        && status.is_text("Completed")
    {
        reader.report(
            Diagnostic::new(
                &PLAN_STATUS,
                status.span(),
                "the plan is `Completed`, but not all of its tasks are",
            )
            .with_related(span, "the first that is not done or skipped")
            .with_help("set the plan to `InProgress`, or finish its tasks"),
        );
    }
}
