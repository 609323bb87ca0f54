//! A plan and its tasks for the reports of several verbs, and the waits of a task in words.

use planwright_core::diagnostic::Severity;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Field, Plan, Readiness, StartVerdict, State, Status, Wait};
use planwright_core::text::LineIndex;

use super::OpenedPlan;
use crate::json::{PlanOverview, TaskOverview};
use crate::text::{cut, shown_name};

pub(crate) fn plan_overview(opened: &OpenedPlan, linked: &LinkedPlan, readiness: &Readiness<'_>) -> PlanOverview {
    PlanOverview {
        path: opened.path.clone(),
        dialect: linked.plan.dialect,
        form: linked.plan.form,
        title: linked.plan.title().to_owned(),
        order: linked.plan.head_str(Field::Order).map(str::to_owned),
        status: linked.plan.head_str(Field::Status).map(str::to_owned),
        states_in: states_in(&linked.plan),
        progress: readiness.progress().into(),
        errors: opened.inspection.count(Severity::Error),
    }
}

/// Returns a task and why it may or may not start, for JSON.
pub(crate) fn task_overview(
    opened: &OpenedPlan,
    linked: &LinkedPlan,
    readiness: &Readiness<'_>,
    index: &LineIndex<'_>,
    task_ix: usize,
) -> TaskOverview {
    let plan = &linked.plan;
    let task = &plan.tasks()[task_ix];
    let word = match task.status {
        Status::Unknown(word) => plan.str(word).to_owned(),
        status => plan.lifecycle.word(status).to_owned(),
    };
    let waits = match readiness.verdict(task_ix) {
        StartVerdict::Waits(waits) => waits.into_iter().map(|wait| wait_words(plan, wait)).collect(),
        _ => Vec::new(),
    };
    TaskOverview {
        task: plan.task_name(task_ix).into_owned(),
        title: plan.task_subject(task).to_owned(),
        status: task.status.as_str(),
        status_word: word,
        ready: readiness.is_ready(task_ix),
        depends_on: linked
            .links
            .of(task_ix)
            .iter()
            .map(|edge| plan.task_name(edge.to as usize).into_owned())
            .collect(),
        waits_for: waits,
        note: opened.reasons.recorded(plan, task_ix).map(str::to_owned),
        holder: (task.status == Status::Running)
            .then(|| opened.access.holder_report(&plan.task_name(task_ix)))
            .flatten(),
        stage: plan.has_stages.then_some(task.stage),
        line: index.position(task.span.start).line,
        position: plan
            .position(task_ix)
            .filter(|_| plan.task_id(task).is_none())
            .map(str::to_owned),
        group: plan
            .group_of(task_ix)
            .map(|group| plan.str(plan.groups()[group].name).to_owned()),
        is_group: false,
    }
}

/// Returns a group of tasks like a task, for JSON.
pub(crate) fn group_overview(plan: &Plan, index: &LineIndex<'_>, group_ix: usize) -> TaskOverview {
    let group = &plan.groups()[group_ix];
    let state = plan.group_state(group_ix);
    let parent = group.parent.and_then(|parent| plan.groups().get(parent as usize));
    TaskOverview {
        task: plan.str(group.name).to_owned(),
        title: plan.str(group.title).to_owned(),
        status: state.as_str(),
        status_word: plan.lifecycle.word_of(state).to_owned(),
        ready: false,
        depends_on: Vec::new(),
        waits_for: Vec::new(),
        note: None,
        holder: None,
        stage: None,
        line: index.position(group.span.start).line,
        position: None,
        group: parent.map(|parent| plan.str(parent.name).to_owned()),
        is_group: true,
    }
}

/// Returns where the states of a plan's tasks are stored.
pub fn states_in(plan: &Plan) -> &'static str {
    match plan.lifecycle.machine.written {
        [] => "journal",
        written if written.contains(&State::Running) && written.contains(&State::Failed) => "file",
        _ => "both",
    }
}

/// Returns what a task waits for as a noun, for lists and tables. [`Wait::words`] is the sentence.
pub(crate) fn wait_words(plan: &Plan, wait: Wait) -> String {
    let named = |task_ix: usize| {
        let status = plan.tasks()[task_ix].status;
        format!(
            "{} ({})",
            shown_name(&plan.short_name(task_ix)),
            plan.lifecycle.word(status)
        )
    };
    match wait {
        Wait::For { task_ix, .. } => named(task_ix),
        Wait::ForUnknown { span } => {
            let written = plan.source().slice(span).trim_matches(['"', '\'']);
            format!(
                "{} (no such {})",
                cut(&shown_name(written), 40),
                plan.lifecycle.wording.task
            )
        }
        Wait::ForStage { task_ix } => format!("{}: {}", plan.lifecycle.wording.stage, named(task_ix)),
        Wait::Held => plan.lifecycle.wording.held.to_owned(),
    }
}
