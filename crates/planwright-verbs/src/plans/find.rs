//! The plan that a request names: by a path, an id, a title or an unambiguous part of one, or by nothing if there is only one.

use std::path::{Path, PathBuf};

use planwright_core::dialect::{self, DIALECTS, Dialect};
use planwright_core::inspect::LinkedPlan;
use planwright_run::inspect_file::inspect_file;
use planwright_run::revise::ChangeTarget;
use planwright_run::store::{self, LoadError};
use planwright_run::workspace::slashed;
use serde::Deserialize;

use super::plan_names::{
    candidates, exactly_named, is_file_name, named, only, only_plan_of, pointed_at, refuse_closed,
    with_part_of_file_name, with_part_of_title, with_title,
};
use super::{OpenedPlan, PlanAccess, TaskReasons, archived, open_as, unknown_plan};
use crate::failure::{Failure, Result};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanChoice {
    /// A path, the folder of its workspace, its id or title or a part of them; `-` for the input of the caller. None: the only plan.
    pub plan: Option<String>,
    /// The dialect to read it in, if the user forces one.
    pub dialect: Option<String>,
    /// Whether the plans in the home folder are searched as well.
    pub user: bool,
}

/// A plan file that was found, and the dialect to read it in.
#[derive(Clone)]
pub struct FoundPlan {
    pub path: PathBuf,
    /// The dialect, if the request names one.
    pub forced: Option<&'static dyn Dialect>,
}

impl FoundPlan {
    /// Returns the target of a change; a dry run writes nothing.
    pub fn target(&self, is_dry: bool) -> ChangeTarget<'_> {
        ChangeTarget {
            path: &self.path,
            forced: self.forced,
            dry: is_dry,
        }
    }

    /// Returns the plan in its file; none if it is unreadable.
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

    /// Finds the plan file to change. `help` shows how to name it, if the input was named instead.
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
            let loaded = workspace.load_input()?;
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

/// Returns the failure for a verb that needs a file, and not only its content.
pub fn no_file(help: &str) -> Failure {
    Failure::usage("standard input is not a plan file", help)
}

fn without_dot(path: PathBuf) -> PathBuf {
    let shown = path.to_string_lossy();
    shown.strip_prefix("./").map_or(path.clone(), PathBuf::from)
}

/// Returns the file that a user names to archive or delete it: that file itself, even if it is a pointer.
pub(crate) fn file_named(workspace: &Workspace, plan: &str, user: bool) -> Result<PathBuf> {
    file_within(workspace, plan, user, Reach::Removed)
}

fn file_within(workspace: &Workspace, plan: &str, user: bool, reach: Reach) -> Result<PathBuf> {
    if plan == "-" {
        return Err(no_file("name the file of the plan, or its id"));
    }
    let path = workspace.path(plan);
    if path.is_dir() {
        // A plan to archive or delete must be named.
        return Err(Failure::from(LoadError::Directory { path }));
    }
    resolve(workspace, Some(plan), user, reach).map(without_dot)
}

/// Returns the plan file of a name, for verbs about its runs: the file need not exist any more.
pub fn plan_file(workspace: &Workspace, plan: &str, user: bool) -> Result<PathBuf> {
    let path = file_within(workspace, plan, user, Reach::InUse)?;
    Ok(pointed_at(&path).unwrap_or(path))
}

/// Returns the pointer file that names a plan as the active one.
pub(crate) fn pointer_to(plan: &Path) -> Option<PathBuf> {
    let file = std::fs::canonicalize(plan).ok()?;
    let name = slashed(&file);
    let relative = DIALECTS.iter().find_map(|dialect| dialect.pointer()?.file(&name))?;
    let pointer = std::fs::canonicalize(file.parent()?.join(relative)).ok()?;
    let is_this = pointed_at(&pointer).and_then(|pointed| std::fs::canonicalize(pointed).ok()) == Some(file);
    is_this.then_some(pointer)
}

/// Returns a dialect by name, or a usage error that lists them.
pub(crate) fn dialect_named(name: &str) -> Result<&'static dyn Dialect> {
    dialect::find(name).ok_or_else(|| {
        let names: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name()).collect();
        Failure::usage(
            format!("there is no dialect `{name}`"),
            format!("known dialects: {}", names.join(", ")),
        )
    })
}

/// The plans that a name may match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    InUse,
    /// Active plans, for verbs that remove them: not by a part of a title.
    Removed,
    /// Also archived ones, if no other matches.
    Archived,
}

fn resolve(workspace: &Workspace, plan: Option<&str>, user: bool, reach: Reach) -> Result<PathBuf> {
    let here = workspace.folder();
    if let Some(plan) = plan {
        let path = workspace.path(plan);
        if path.is_dir() {
            // After `..`, the path's own text does not show its parent.
            let folder = std::fs::canonicalize(&path).unwrap_or(path);
            let none = format!("the workspace of `{plan}` has no plans");
            return only_plan_of(workspace, &folder, user, &none, Some(plan));
        }
        let looks_like_path = plan.contains(['/', '\\']) || path.extension().is_some();
        let is_there = path.exists() || path.is_symlink();
        // A text that looks like a path may be the name of a file or a title. It is never an id: an id may contain any path.
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
    // A whole name takes precedence over a part of one; a plan is never removed by a part of its title.
    let mut fitting = exactly_named(&plans, wanted);
    if fitting.is_empty() {
        fitting = with_title(plans.clone(), wanted);
    }
    if fitting.is_empty() {
        // An id may have been made of the title.
        fitting = match reach {
            Reach::Removed => with_part_of_file_name(plans.clone(), wanted),
            _ => named(plans.clone(), wanted),
        };
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
