//! Plans of a workspace by file name, id and title, and the only or active one of them.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use planwright_core::dialect::{DIALECTS, Dialect};
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Field, Status};
use planwright_run::inspect_file::inspect_file;
use planwright_run::revise::take_states;
use planwright_run::store;
use planwright_run::workspace::{closed_home, is_pointer, plans_at_home, plans_of_user, root_of, slashed};

use super::open_checklists::open_checklists;
use crate::failure::{Failure, Result};
use crate::text::{cut, one_line};
use crate::workspace::{Workspace, from_here};

/// Returns the plan that a pointer file names; none for other files.
pub(super) fn pointed_at(path: &Path) -> Option<PathBuf> {
    let name = slashed(path);
    let mut pointers = DIALECTS.iter().filter_map(|dialect| dialect.pointer());
    let pointer = pointers.find(|pointer| pointer.neighbours(&name).is_some())?;
    let plan = path.with_file_name(pointer.target(&store::load(path).ok()?.source)?);
    plan.is_file().then_some(plan)
}

/// Returns the active plan of a workspace, if all its plans are of a dialect with a pointer file.
fn plan_in_work(root: &Path, plans: &[PathBuf]) -> Option<PathBuf> {
    let of_plans = |dialect: &&&'static dyn Dialect| plans.iter().all(|plan| dialect.lives_at(&slashed(plan)));
    let pointer = DIALECTS.iter().find(of_plans)?.pointer()?;
    pointed_at(&root.join(pointer.place()))
}

/// The help if there is no plan.
pub const CREATE_PLAN: &str = "create one: `planwright plan \"GOAL\"`, `planwright new \"TITLE\"` or `planwright import FILE`; or name a plan file";

/// Returns the only plan of a folder's workspace, or the active one.
pub(super) fn only_plan_of(
    workspace: &Workspace,
    folder: &Path,
    user: bool,
    none: &str,
    named: Option<&str>,
) -> Result<PathBuf> {
    let candidates = candidates(folder, user);
    if candidates.len() > 1
        && let Some(current) = plan_in_work(&root_of(folder), &candidates)
    {
        return Ok(from_here(&current));
    }
    if candidates.is_empty() {
        refuse_closed(folder)?;
    }
    // With several plans, the only unfinished one is meant.
    let mut open: Vec<PathBuf> = match candidates.len() {
        0 | 1 => Vec::new(),
        _ => candidates.iter().filter(|path| !is_finished(path)).cloned().collect(),
    };
    if let [_] = open.as_slice() {
        return Ok(open.swap_remove(0));
    }
    let lists = match candidates.is_empty() {
        true => open_checklists(&root_of(folder)),
        false => Vec::new(),
    };
    let help = match lists.first() {
        Some(list) => format!("{}; or {CREATE_PLAN}", list.words()),
        None => CREATE_PLAN.to_owned(),
    };
    // A named folder stands for its only plan.
    only(workspace, candidates, none, &help, named)
}

/// Returns whether all tasks of a plan are done or skipped.
fn is_finished(path: &Path) -> bool {
    let Some((linked, _)) = linked_plan(path) else {
        return false;
    };
    let tasks = linked.plan.tasks();
    let is_over = |status: Status| matches!(status, Status::Done | Status::Skipped);
    !tasks.is_empty() && tasks.iter().all(|task| is_over(task.status))
}

/// Returns a plan with its states, and its title; none if it is unreadable.
pub(crate) fn linked_plan(path: &Path) -> Option<(LinkedPlan, String)> {
    let loaded = store::load(path).ok()?;
    let mut inspection = inspect_file(&loaded.source, Some(path), None).inspection;
    take_states(&mut inspection, path).ok()?;
    let linked = inspection.plan?;
    let title = linked.plan.title().to_owned();
    Some((linked, title))
}

/// Returns a plan in one line, for a choice: its path, its title and its progress.
fn choice_line(path: &Path) -> String {
    let shown = one_line(&path.display().to_string());
    let Some((linked, title)) = linked_plan(path) else {
        return shown;
    };
    let tasks = linked.plan.tasks();
    let n_done = tasks.iter().filter(|task| task.status == Status::Done).count();
    format!(
        "{shown}  {} ({n_done}/{} done)",
        cut(&one_line(&title), 50),
        tasks.len()
    )
}

/// Refuses to report that there are no plans if their folder is unreadable.
pub(crate) fn refuse_closed(folder: &Path) -> Result<()> {
    match closed_home(&root_of(folder)) {
        None => Ok(()),
        Some((path, error)) => Err(Failure::outside(
            format!("`{}` cannot be read: {error}", from_here(&path).display()),
            "check that you may read it: plans are kept there",
        )),
    }
}

/// How well a name matches a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanNaming {
    /// It is a plan's own name: its path, the name of its file, its id.
    Whole,
    /// It looks like a path, or is a part of a plan's name.
    Partly,
    /// It matches no plan.
    No,
}

/// Returns how well a name matches an active plan.
pub fn naming(workspace: &Workspace, name: &str, user: bool) -> PlanNaming {
    let path = workspace.path(name);
    if path.is_file() {
        return PlanNaming::Whole;
    }
    let plans = candidates(workspace.folder(), user);
    let is_file = || plans.iter().any(|path| is_file_name(path, name));
    let names: Vec<String> = plans.iter().flat_map(|path| names_of(path)).collect();
    let looks_like_path = name.contains(['/', '\\']) || path.extension().is_some() || path.is_dir();
    match () {
        () if is_file() || names.iter().any(|own| own == name) => PlanNaming::Whole,
        () if looks_like_path || names.iter().any(|own| own.contains(name)) => PlanNaming::Partly,
        () => PlanNaming::No,
    }
}

/// Returns the plans with a name; if there are none, those whose names contain it.
pub(super) fn named(candidates: Vec<PathBuf>, wanted: &str) -> Vec<PathBuf> {
    match exactly_named(&candidates, wanted) {
        exact if !exact.is_empty() => exact,
        _ => {
            let has_part = |path: &PathBuf| names_of(path).iter().any(|name| name.contains(wanted));
            candidates.into_iter().filter(has_part).collect()
        }
    }
}

/// Returns the plans with a part of a name in that of their file.
pub(super) fn with_part_of_file_name(mut candidates: Vec<PathBuf>, part: &str) -> Vec<PathBuf> {
    candidates.retain(|path| stem_of(path).contains(part));
    candidates
}

/// Returns the plans with this file name, with or without its extension, or id.
pub(crate) fn exactly_named(candidates: &[PathBuf], wanted: &str) -> Vec<PathBuf> {
    let is_named = |path: &&PathBuf| is_file_name(path, wanted) || names_of(path).iter().any(|name| name == wanted);
    candidates.iter().filter(is_named).cloned().collect()
}

/// Returns whether a text is the whole name of a plan file, without its folder.
pub(crate) fn is_file_name(path: &Path, text: &str) -> bool {
    path.file_name().is_some_and(|name| name == text)
}

/// Returns the active plans with this title.
pub(crate) fn plans_titled(workspace: &Workspace, title: &str) -> Vec<PathBuf> {
    with_title(candidates(workspace.folder(), false), title)
}

pub(super) fn with_title(mut candidates: Vec<PathBuf>, title: &str) -> Vec<PathBuf> {
    candidates.retain(|path| linked_plan(path).is_some_and(|(_, own)| own.trim() == title.trim()));
    candidates
}

/// Returns the plans whose title contains some words, ignoring case.
pub(super) fn with_part_of_title(mut candidates: Vec<PathBuf>, words: &str) -> Vec<PathBuf> {
    let words = words.to_lowercase();
    candidates.retain(|path| linked_plan(path).is_some_and(|(_, title)| title.to_lowercase().contains(&words)));
    candidates
}

/// Returns the plans of a folder's workspace, with paths relative to the current folder if they are below it.
pub fn candidates(folder: &Path, user: bool) -> Vec<PathBuf> {
    let plans = plans_at_home(&root_of(folder));
    let mut found: Vec<PathBuf> = plans.iter().map(|path| from_here(path)).collect();
    if user && let Some(home) = std::env::home_dir() {
        found.extend(plans_of_user(&home));
    }
    found.retain(|path| !is_pointer(path));
    found
}

/// Returns the only plan. If there are several, the help is the user's command with the first of them.
pub(super) fn only(
    workspace: &Workspace,
    mut found: Vec<PathBuf>,
    none: &str,
    help: &str,
    typed: Option<&str>,
) -> Result<PathBuf> {
    match found.as_slice() {
        [_] => Ok(found.swap_remove(0)),
        [] => Err(Failure::problem(none, help)),
        [first, ..] => {
            // The one that is probably meant: the unfinished one that changed last.
            let open = found.iter().rev().filter(|path| !is_finished(path));
            let likely = open
                .max_by_key(|path| changed_at(path))
                .unwrap_or(first)
                .to_string_lossy();
            let command = match typed {
                Some(typed) => workspace.with_word(typed, &likely),
                None => workspace.with_plan(&likely),
            };
            let mut message = "several plans match:".to_owned();
            for path in found.iter().take(20) {
                message.push_str(&format!("\n  {}", choice_line(path)));
            }
            if found.len() > 20 {
                message.push_str(&format!("\n  … and {} more", found.len() - 20));
            }
            Err(Failure::problem(message, format!("name one of them: `{command}`")))
        }
    }
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|data| data.modified()).ok()
}

/// Returns the names of a plan file: its stem, and the plan's id if it has one.
pub(super) fn names_of(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .into_iter()
        .collect();
    if let Ok(loaded) = store::load(path)
        && let Some(linked) = inspect_file(&loaded.source, Some(path), None).inspection.plan
    {
        names.extend(linked.plan.head_str(Field::Id).map(str::to_owned));
    }
    names
}

/// Returns the name of a plan by its file.
pub fn stem_of(path: &Path) -> String {
    let stem = path.file_stem();
    stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}
