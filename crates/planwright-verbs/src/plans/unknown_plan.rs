//! The failure for a name that matches no active plan: the plan is archived, the name is that of a task, or a similar name exists.

use std::path::{Path, PathBuf};

use planwright_core::check::nearest_name;
use planwright_run::shell::argument;
use planwright_run::workspace::{path_before_archive, root_of, slashed};

use super::archived;
use super::plan_names::{candidates, linked_plan, named, names_of, only_plan_of, with_title};
use crate::failure::Failure;
use crate::text::{one_line, shown_name};
use crate::workspace::{Workspace, from_here};

/// Returns why a name matches no plan, and the right command.
pub(crate) fn unknown_plan(workspace: &Workspace, wanted: &str, user: bool) -> Failure {
    archived_plan(workspace, wanted)
        .or_else(|| task_of_plan(workspace, wanted, user))
        .unwrap_or_else(|| {
            let listed = "`planwright list` shows the plans of this workspace";
            let help = match nearest_plan(workspace.folder(), wanted, user) {
                Some(nearest) => format!("did you mean `{}`? {listed}", shown_name(&nearest)),
                None => listed.to_owned(),
            };
            Failure::problem(format!("there is no plan `{wanted}`"), help)
        })
}

/// Returns the failure for a name that only matches an archived plan, and how to restore it; none if no archived plan matches, or several
/// do.
pub(crate) fn archived_plan(workspace: &Workspace, wanted: &str) -> Option<Failure> {
    let mut fitting = named(archived(workspace), wanted);
    if fitting.is_empty() {
        fitting = with_title(archived(workspace), wanted);
    }
    let [path] = fitting.as_slice() else {
        return None;
    };
    let message = format!("the plan `{}` is archived: {}", shown_name(wanted), shown(path));
    Some(Failure::problem(message, way_back(workspace, path)))
}

/// Returns the command that restores an archived plan to its old path.
fn way_back(workspace: &Workspace, path: &Path) -> String {
    let root = root_of(workspace.folder());
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let relative = absolute.strip_prefix(&root).map(slashed).unwrap_or_default();
    let Some(old) = path_before_archive(&relative).map(|old| root.join(old)) else {
        return "move the file back to its old place to work on it".to_owned();
    };
    if old.exists() {
        return format!(
            "another plan is at its old path, {}: move that one away first",
            shown(&from_here(&old))
        );
    }
    let folder = old.parent().filter(|folder| !folder.is_dir());
    let folder = folder.map_or_else(String::new, |folder| {
        format!("mkdir -p {} && ", pasted(&from_here(folder)))
    });
    format!(
        "move it back to work on it: `{folder}mv {} {}`",
        pasted(path),
        pasted(&from_here(&old))
    )
}

/// Returns the failure for a name of a task if the verb takes a plan.
fn task_of_plan(workspace: &Workspace, wanted: &str, user: bool) -> Option<Failure> {
    let has_task =
        |path: &PathBuf| linked_plan(path).is_some_and(|(linked, _)| linked.plan.find_task(wanted).is_some());
    let plans: Vec<PathBuf> = candidates(workspace.folder(), user)
        .into_iter()
        .filter(has_task)
        .collect();
    let by_default = only_plan_of(workspace, workspace.folder(), user, "", None).ok();
    let plan = by_default
        .as_ref()
        .filter(|path| plans.contains(path))
        .or(plans.first())?;
    let message = format!(
        "there is no plan `{}`: it is a task of {}",
        shown_name(wanted),
        shown(plan)
    );
    let help = match workspace.is_verb("run") {
        true => {
            let (path, mut words) = (plan.to_string_lossy(), vec!["--only", wanted]);
            if by_default.as_ref() != Some(plan) {
                words.insert(0, &path);
            }
            format!("to run this task alone: `{}`", workspace.with_words(wanted, &words))
        }
        false => "name the plan, not the task; `planwright list` shows the plans of this workspace".to_owned(),
    };
    Some(Failure::problem(message, help))
}

/// Returns the name of an active plan that the user probably meant.
fn nearest_plan(folder: &Path, wanted: &str, user: bool) -> Option<String> {
    let plans = candidates(folder, user);
    let names: Vec<String> = plans.iter().flat_map(|path| names_of(path)).collect();
    nearest_name(wanted, names.iter().map(String::as_str)).map(str::to_owned)
}

fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}

/// Returns a path as an argument of a command that can be pasted.
fn pasted(path: &Path) -> String {
    one_line(&argument(&path.to_string_lossy()))
}
