//! The known names for requests, for completions and pickers: plans, tasks, runs and agents. Unreadable files have no names.

use std::path::PathBuf;

use planwright_run::config::{self, ConfigInputs};
use planwright_run::workspace::root_of;

use crate::plans::{PlanChoice, candidates, open_file};
use crate::run_history::RunScope;
use crate::workspace::Workspace;

/// How many plans are searched for tasks if none is named.
const MAX_PLANS: usize = 20;

/// How many runs are listed.
const MAX_RUNS: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownName {
    pub name: String,
    pub about: String,
}

pub fn plan_files(workspace: &Workspace) -> Vec<PathBuf> {
    candidates(workspace.folder(), false)
}

/// Returns the tasks of the named plan; without a name and with several plans, those of every plan.
pub fn tasks(workspace: &Workspace, plan: Option<&str>) -> Vec<KnownName> {
    let choice = PlanChoice {
        plan: plan.map(str::to_owned),
        ..PlanChoice::default()
    };
    let paths = match choice.find(workspace, "") {
        Ok(found) => vec![found.path],
        Err(_) if plan.is_none() => plan_files(workspace),
        Err(_) => Vec::new(),
    };
    let mut names = Vec::new();
    for opened in paths.iter().take(MAX_PLANS).filter_map(|path| open_file(path).ok()) {
        let Some(linked) = &opened.inspection.plan else {
            continue;
        };
        let tasks = linked.plan.tasks().iter().enumerate();
        names.extend(tasks.map(|(ix, task)| KnownName {
            name: linked.plan.task_name(ix).into_owned(),
            about: linked.plan.task_subject(task).to_owned(),
        }));
    }
    names
}

/// Returns the newest runs of the named plan, or of the workspace, with their plans.
pub fn runs(workspace: &Workspace, plan: Option<&str>) -> Vec<KnownName> {
    let Ok(scope) = RunScope::of(workspace, plan) else {
        return Vec::new();
    };
    let runs = scope.runs().into_iter().flatten().flatten();
    let names = runs.map(|run| KnownName {
        name: run.place.id().to_owned(),
        about: run.header.path.clone(),
    });
    names.take(MAX_RUNS).collect()
}

pub fn agents(workspace: &Workspace) -> Vec<String> {
    let config = config::load(&root_of(workspace.folder()), &ConfigInputs::of_process()).config;
    config.agents.into_keys().collect()
}
