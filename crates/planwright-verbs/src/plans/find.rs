//! The plan that a request names: by a path, an id, a title or an unambiguous part of one, or by nothing where there is only one.

use std::path::{Path, PathBuf};

use planwright_core::dialect::{self, DIALECTS, Dialect};
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Field, Status};
use planwright_run::inspect_file::inspect_file;
use planwright_run::revise::{ChangeTarget, take_states};
use planwright_run::store::{self, LoadError};
use planwright_run::workspace::{closed_home, is_pointer, plans_at_home, plans_of_user, root_of, slashed};
use serde::Deserialize;

use super::{OpenedPlan, PlanAccess, TaskReasons, archived, load_failure, open_as, unknown_plan};
use crate::face::{Failure, Result, Workspace, from_here};
use crate::text::{cut, one_line};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanChoice {
    /// A path, the folder of its workspace, its id or title or a part of them; `-` for the input of the face. None: the only plan.
    pub plan: Option<String>,
    /// The dialect to read it in, whatever it looks like.
    pub dialect: Option<String>,
    /// Whether the plans in the home folder are looked at as well.
    pub user: bool,
}

/// A plan file that was found, and the dialect it is to be read in.
#[derive(Clone)]
pub struct FoundPlan {
    pub path: PathBuf,
    /// The dialect, if the request names one.
    pub forced: Option<&'static dyn Dialect>,
}

impl FoundPlan {
    /// Returns what is to be changed; nothing is written in a dry run.
    pub fn target(&self, is_dry: bool) -> ChangeTarget<'_> {
        ChangeTarget {
            path: &self.path,
            forced: self.forced,
            dry: is_dry,
        }
    }

    /// Returns the plan as its file has it; none where that cannot be read.
    pub fn linked(&self) -> Option<LinkedPlan> {
        let loaded = store::load(&self.path).ok()?;
        let read = inspect_file(&loaded.source, Some(&self.path), self.forced);
        read.inspection.plan
    }
}

impl PlanChoice {
    /// Returns the choice of a plan by its name alone.
    pub fn named(plan: &str) -> Self {
        PlanChoice {
            plan: Some(plan.to_owned()),
            ..PlanChoice::default()
        }
    }

    /// Returns the same choice of another plan.
    #[must_use]
    pub fn with_name(&self, plan: &str) -> Self {
        PlanChoice {
            plan: Some(plan.to_owned()),
            ..self.clone()
        }
    }

    fn forced(&self) -> Result<Option<&'static dyn Dialect>> {
        self.dialect.as_deref().map(dialect_named).transpose()
    }

    /// Finds the plan file that is to be changed. `help` is how to name it, where the input was named instead.
    pub fn find(&self, workspace: &Workspace, help: &str) -> Result<FoundPlan> {
        let forced = self.forced()?;
        if self.plan.as_deref() == Some("-") {
            return Err(no_file(help));
        }
        let path = resolve(workspace, self.plan.as_deref(), self.user, Reach::InUse)?;
        let path = pointed_at(&path).unwrap_or(path);
        Ok(FoundPlan {
            path: without_dot(path),
            forced,
        })
    }

    pub fn open(&self, workspace: &Workspace) -> Result<OpenedPlan> {
        let forced = self.forced()?;
        if self.plan.as_deref() == Some("-") {
            let loaded = workspace.load_input().map_err(|error| load_failure(&error))?;
            return Ok(OpenedPlan {
                path: "-".to_owned(),
                inspection: inspect_file(&loaded.source, None, forced).inspection,
                reasons: TaskReasons::default(),
                access: PlanAccess::default(),
            });
        }
        let path = resolve(workspace, self.plan.as_deref(), self.user, Reach::Archived)?;
        let path = pointed_at(&path).unwrap_or(path);
        open_as(&path, forced)
    }
}

/// Returns that a verb needs the file itself, not what is in it.
pub fn no_file(help: &str) -> Failure {
    Failure::usage("standard input is no plan file", help)
}

fn without_dot(path: PathBuf) -> PathBuf {
    let shown = path.to_string_lossy();
    shown.strip_prefix("./").map_or(path.clone(), PathBuf::from)
}

/// Returns the file that a user names to put it aside: that file itself, whatever it points at.
pub fn file_named(workspace: &Workspace, plan: &str, user: bool) -> Result<PathBuf> {
    file_within(workspace, plan, user, Reach::Removed)
}

fn file_within(workspace: &Workspace, plan: &str, user: bool, reach: Reach) -> Result<PathBuf> {
    if plan == "-" {
        return Err(no_file("name the file of the plan, or its id"));
    }
    let path = workspace.path(plan);
    if path.is_dir() {
        // Who puts a plan aside names it.
        return Err(load_failure(&LoadError::Directory { path }));
    }
    resolve(workspace, Some(plan), user, reach).map(without_dot)
}

/// Returns the plan file that a user means, for what is about its runs: the file need not be there any more.
pub fn plan_file(workspace: &Workspace, plan: &str, user: bool) -> Result<PathBuf> {
    let path = file_within(workspace, plan, user, Reach::InUse)?;
    Ok(pointed_at(&path).unwrap_or(path))
}

/// Returns the file that says that a plan is in work.
pub fn pointer_to(plan: &Path) -> Option<PathBuf> {
    let file = std::fs::canonicalize(plan).ok()?;
    let name = slashed(&file);
    let relative = DIALECTS.iter().find_map(|dialect| dialect.pointer()?.file(&name))?;
    let pointer = std::fs::canonicalize(file.parent()?.join(relative)).ok()?;
    let is_this = pointed_at(&pointer).and_then(|pointed| std::fs::canonicalize(pointed).ok()) == Some(file);
    is_this.then_some(pointer)
}

/// Returns a dialect by name, or a usage error that lists them.
pub fn dialect_named(name: &str) -> Result<&'static dyn Dialect> {
    dialect::find(name).ok_or_else(|| {
        let names: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name()).collect();
        Failure::usage(
            format!("there is no dialect `{name}`"),
            format!("known dialects: {}", names.join(", ")),
        )
    })
}

/// Returns the plan that a file names as the one in work, where this is such a file.
fn pointed_at(path: &Path) -> Option<PathBuf> {
    let name = slashed(path);
    let mut pointers = DIALECTS.iter().filter_map(|dialect| dialect.pointer());
    let pointer = pointers.find(|pointer| pointer.neighbours(&name).is_some())?;
    let plan = path.with_file_name(pointer.target(&store::load(path).ok()?.source)?);
    plan.is_file().then_some(plan)
}

/// Returns the plan in work of a workspace, where all its plans are of a dialect that names it.
fn plan_in_work(root: &Path, plans: &[PathBuf]) -> Option<PathBuf> {
    let of_plans = |dialect: &&&'static dyn Dialect| plans.iter().all(|plan| dialect.lives_at(&slashed(plan)));
    let pointer = DIALECTS.iter().find(of_plans)?.pointer()?;
    pointed_at(&root.join(pointer.place()))
}

/// The help where there is no plan.
pub const CREATE_PLAN: &str = "create one: `planwright plan \"GOAL\"`, `planwright new \"TITLE\"` or `planwright import FILE`; or name a plan file";

/// How far a name reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    InUse,
    /// To the plans in use, for verbs that remove them: not by a part of a title.
    Removed,
    /// To the archived ones too, where no other fits.
    Archived,
}

fn resolve(workspace: &Workspace, plan: Option<&str>, user: bool, reach: Reach) -> Result<PathBuf> {
    let here = workspace.folder();
    if let Some(plan) = plan {
        let path = workspace.path(plan);
        if path.is_dir() {
            // What lies above `..` is not what its path says.
            let folder = std::fs::canonicalize(&path).unwrap_or(path);
            let none = format!("the workspace of `{plan}` has no plans");
            return only_plan_of(workspace, &folder, user, &none, Some(plan));
        }
        let looks_like_path = plan.contains(['/', '\\']) || path.extension().is_some();
        let is_there = path.exists() || path.is_symlink();
        // What looks like a path can be the name of a file or a title. It is never an id: an id may hold any path.
        let is_name = || {
            let plans = candidates(here, user);
            let has_file = |plans: &[PathBuf]| plans.iter().any(|path| is_file_name(path, plan));
            has_file(&plans) || has_file(&archived(workspace)) || !with_title(plans, plan).is_empty()
        };
        if is_there || looks_like_path && !is_name() {
            return Ok(path);
        }
    }
    let Some(wanted) = plan else {
        return only_plan_of(workspace, here, user, "no plan found in this workspace", None);
    };
    let plans = candidates(here, user);
    // A whole name comes before a part of one; a plan is never removed by a part of its title.
    let mut fitting = exactly_named(&plans, wanted);
    if fitting.is_empty() {
        fitting = with_title(plans.clone(), wanted);
    }
    if fitting.is_empty() {
        fitting = named(plans.clone(), wanted);
    }
    if fitting.is_empty() && reach != Reach::Removed {
        fitting = with_part_of_title(plans, wanted);
    }
    if fitting.is_empty() && reach == Reach::Archived {
        fitting = named(archived(workspace), wanted);
    }
    if fitting.is_empty() {
        refuse_closed(here)?;
    }
    match fitting.is_empty() {
        true => Err(unknown_plan(workspace, wanted, user)),
        false => only(workspace, fitting, "", "", Some(wanted)),
    }
}

/// Returns the only plan of the workspace that a folder is in, or the one in work.
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
    // Of several plans the one is meant that is not finished.
    let mut open: Vec<PathBuf> = match candidates.len() {
        0 | 1 => Vec::new(),
        _ => candidates.iter().filter(|path| !is_finished(path)).cloned().collect(),
    };
    if let [_] = open.as_slice() {
        return Ok(open.swap_remove(0));
    }
    // A folder that was named stands for its only plan.
    only(workspace, candidates, none, CREATE_PLAN, named)
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

/// Returns a plan with its states, and its title; none where it cannot be read.
pub(super) fn linked_plan(path: &Path) -> Option<(LinkedPlan, String)> {
    let loaded = store::load(path).ok()?;
    let mut inspection = inspect_file(&loaded.source, Some(path), None).inspection;
    take_states(&mut inspection, path).ok()?;
    let linked = inspection.plan?;
    let title = linked.plan.title().to_owned();
    Some((linked, title))
}

/// Returns a plan in one line, for a choice: its path, its title and how far it is.
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

/// Refuses to say that there are no plans where they cannot be looked for.
pub fn refuse_closed(folder: &Path) -> Result<()> {
    match closed_home(&root_of(folder)) {
        None => Ok(()),
        Some((path, error)) => Err(Failure::outside(
            format!("`{}` cannot be looked into: {error}", from_here(&path).display()),
            "check that you may read it: plans are kept there",
        )),
    }
}

/// How well a name is that of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanNaming {
    /// It is a plan's own: its path, the name of its file, its id.
    Whole,
    /// It looks like a path, or is a part of a plan's name.
    Partly,
    /// It is no plan's.
    No,
}

/// Returns how well a name is that of a plan in use.
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

/// Returns the plans with a name; where there are none, those with it as a part of theirs.
pub(super) fn named(candidates: Vec<PathBuf>, wanted: &str) -> Vec<PathBuf> {
    match exactly_named(&candidates, wanted) {
        exact if !exact.is_empty() => exact,
        _ => {
            let has_part = |path: &PathBuf| names_of(path).iter().any(|name| name.contains(wanted));
            candidates.into_iter().filter(has_part).collect()
        }
    }
}

/// Returns the plans with this file name, with or without its ending, or id.
fn exactly_named(candidates: &[PathBuf], wanted: &str) -> Vec<PathBuf> {
    let is_named = |path: &&PathBuf| is_file_name(path, wanted) || names_of(path).iter().any(|name| name == wanted);
    candidates.iter().filter(is_named).cloned().collect()
}

/// Returns whether a text is the whole name of a plan file, without its folder.
pub(crate) fn is_file_name(path: &Path, text: &str) -> bool {
    path.file_name().is_some_and(|name| name == text)
}

/// Returns the plans in use with this title.
pub(crate) fn plans_titled(workspace: &Workspace, title: &str) -> Vec<PathBuf> {
    with_title(candidates(workspace.folder(), false), title)
}

pub(super) fn with_title(mut candidates: Vec<PathBuf>, title: &str) -> Vec<PathBuf> {
    candidates.retain(|path| linked_plan(path).is_some_and(|(_, own)| own.trim() == title.trim()));
    candidates
}

/// Returns the plans whose title contains some words, in upper or lower case.
fn with_part_of_title(mut candidates: Vec<PathBuf>, words: &str) -> Vec<PathBuf> {
    let words = words.to_lowercase();
    candidates.retain(|path| linked_plan(path).is_some_and(|(_, title)| title.to_lowercase().contains(&words)));
    candidates
}

/// Returns the plans of the workspace that a folder is in, paths relative to the current folder where they lie below it.
pub fn candidates(folder: &Path, user: bool) -> Vec<PathBuf> {
    let plans = plans_at_home(&root_of(folder));
    let mut found: Vec<PathBuf> = plans.iter().map(|path| from_here(path)).collect();
    if user && let Some(home) = std::env::home_dir() {
        found.extend(plans_of_user(&home));
    }
    found.retain(|path| !is_pointer(path));
    found
}

/// Returns the only plan. Where there are several, the help is the same command with the first of them in the place of what was
/// typed.
fn only(
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
            // The one that is probably meant: the first that is not finished.
            let open = found.iter().find(|path| !is_finished(path));
            let first = open.unwrap_or(first).to_string_lossy();
            let command = match typed {
                Some(typed) => workspace.with_word(typed, &first),
                None => workspace.with_plan(&first),
            };
            let mut message = "several plans fit:".to_owned();
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

/// Returns what a plan file may be called: its stem, and the plan's id where it has one.
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

/// Returns what a plan is called by its file.
pub fn stem_of(path: &Path) -> String {
    let stem = path.file_stem();
    stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}
