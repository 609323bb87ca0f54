//! The verb `add`: a new task, whose id is made by the dialect's rule.

use std::cell::Cell;

use planwright_core::change::tasks::{Edit, NewTask};
use planwright_core::convert::is_untouched_placeholder;
use planwright_core::inspect::LinkedPlan;
use planwright_run::shell::argument;
use serde::Deserialize;

use crate::changes::{ChangeMode, ChangeReport, ChangeWords, TaskEdit, TaskPlace, tasks_named};
use crate::text::{cut, one_line, shown_name};
use crate::{PlanChoice, Result, Workspace};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddRequest {
    #[serde(default)]
    pub plan: PlanChoice,
    pub title: String,
    /// Other fields by the dialect's own names, with their values.
    #[serde(default)]
    pub fields: Vec<(String, String)>,
    /// The id; none for one by the dialect's rule.
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default)]
    pub on: Vec<String>,
    #[serde(default)]
    pub place: TaskPlace,
    #[serde(default)]
    pub change: ChangeMode,
}

pub fn add(workspace: &Workspace, request: &AddRequest) -> Result<ChangeReport> {
    let fields: Vec<(&str, &str)> = request.fields.iter().map(|(key, value)| (&**key, &**value)).collect();
    let minted = uuid::Uuid::new_v4().to_string();
    let task_edit = TaskEdit {
        verb: "add",
        names: request.id.iter().cloned().collect(),
        plan: &request.plan,
        change: &request.change,
    };
    let place = Cell::new(0);
    let is_first = Cell::new(false);
    let edit_of = |linked: &LinkedPlan, n: usize| {
        if n > 0 {
            return Ok(None);
        }
        // The first task of a new plan replaces its placeholder.
        is_first.set(request.on.is_empty() && is_untouched_placeholder(linked));
        let replaces = is_first.get().then_some(0);
        let at = request.place.index(linked)?;
        let at = replaces.unwrap_or(at);
        place.set(at);
        Ok(Some(Edit::Add(NewTask {
            id: request.id.as_deref(),
            title: &request.title,
            fields: &fields,
            on: tasks_named(linked, &request.on)?,
            at,
            beside: request.place.beside(linked)?,
            replaces,
            minted: &minted,
        })))
    };
    task_edit.run(workspace, edit_of, |linked| {
        remark_place(workspace, request, linked, place.get());
        let name = linked.plan.task_name(place.get()).into_owned();
        let task = linked.plan.tasks().get(place.get());
        let title = task.map_or("", |task| linked.plan.task_subject(task));
        let shown = format!("{}  {}", shown_name(&name), cut(&one_line(title), 60));
        let instead = if is_first.get() {
            " (in place of the placeholder)"
        } else {
            ""
        };
        let words = ChangeWords::new(format!("added {shown}{instead}"), format!("would add {shown}{instead}"));
        (vec![name], words)
    })
}

/// Remarks that a task added after another does not depend on it, unless it does.
fn remark_place(workspace: &Workspace, request: &AddRequest, linked: &LinkedPlan, at: usize) {
    let TaskPlace::After(before) = &request.place else {
        return;
    };
    let before_ix = linked.plan.find_task(before);
    let is_dependent = linked.links.before([at]).iter().any(|&task| Some(task) == before_ix);
    if is_dependent || linked.plan.has_stages {
        return;
    }
    let (name, before) = (linked.plan.task_name(at), argument(before));
    let how = match request.change.is_dry() {
        true => format!("--on {before} adds the dependency"),
        false => format!(
            "`planwright depend {} --on {before}{}` adds the dependency, or --on {before} with `add`",
            argument(&name),
            plan_option(request)
        ),
    };
    workspace.remark(&one_line(&format!(
        "note: {} stands after {before} in the list and does not depend on it; {how}",
        shown_name(&name)
    )));
}

/// Returns the option that names the plan as in the request.
fn plan_option(request: &AddRequest) -> String {
    let plan = request.plan.plan.as_deref();
    plan.map_or_else(String::new, |plan| format!(" -p {}", argument(plan)))
}
