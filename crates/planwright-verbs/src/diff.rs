//! The verb `diff`: the differences between two plans, in terms of tasks. Compares two files, or a plan and an earlier version.

use std::path::{Path, PathBuf};

use planwright_core::dialect::{self, Dialect};
use planwright_core::inspect::Inspection;
use planwright_core::plan::Plan;
use planwright_core::planning::replan::{PlanDifference, difference, tasks_in_both};
use planwright_core::text::SourceText;
use planwright_run::inspect_file::inspect_file;
use planwright_run::store;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::plans::{AddedTaskReport, ChangedTaskReport, FoundPlan, PlanChoice, added, changed, file_before, states_of};
use crate::text::diff_of_files;
use crate::workspace::{Workspace, from_here};

/// The name for a plan on standard input.
const INPUT: &str = "-";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiffRequest {
    /// The plan, or the older of two: a name, PLAN@N for its Nth stored version, `-` for the input of the caller.
    pub first: Option<String>,
    /// The newer of two.
    pub second: Option<String>,
    pub text: bool,
}

#[derive(Serialize)]
pub struct DiffReport {
    pub schema_version: &'static str,
    pub from: String,
    pub to: String,
    pub same: bool,
    pub added: Vec<AddedTaskReport>,
    pub removed: Vec<String>,
    pub changed: Vec<ChangedTaskReport>,
    pub rewired: Vec<String>,
    pub reordered: bool,
    pub moved: Vec<StateDifference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip)]
    pub difference: PlanDifference,
}

#[derive(Serialize)]
pub struct StateDifference {
    pub task: String,
    pub from: &'static str,
    pub to: &'static str,
}

struct ComparedPlan {
    name: String,
    inspection: Inspection,
}

/// Compares two plans.
pub fn diff(workspace: &Workspace, request: &DiffRequest) -> Result<DiffReport> {
    let (old, new) = compared(workspace, request)?;
    let dialect = |plan: &ComparedPlan| plan.inspection.plan.as_ref().map(|linked| linked.plan.dialect);
    if dialect(&old) != dialect(&new) {
        return Err(Failure::problem(
            "the two are plans of different dialects",
            "convert one to the dialect of the other with `planwright convert`",
        ));
    }
    let dialect = dialect(&new).and_then(dialect::find);
    let found = dialect.and_then(|dialect| {
        let found = difference(&old.inspection, &new.inspection, dialect)?;
        Some((found, moved(&old.inspection, &new.inspection, dialect)))
    });
    let (difference, moved) =
        found.ok_or_else(|| Failure::problem("the tasks cannot be distinguished", "`planwright check` shows both"))?;
    let text = request.text.then(|| {
        let [was, is] = [&old, &new].map(|plan| plan.inspection.source.as_str());
        diff_of_files([&old.name, &new.name], was, is)
    });
    Ok(DiffReport {
        schema_version: "planwright.diff/v1",
        from: old.name,
        to: new.name,
        same: difference.is_empty() && moved.is_empty(),
        added: added(&difference),
        removed: difference.removed_names().map(str::to_owned).collect(),
        changed: changed(&difference),
        rewired: difference.rewired.clone(),
        reordered: difference.is_reordered,
        moved,
        text,
        difference,
    })
}

/// Returns the older and the newer plan that a request names.
fn compared(workspace: &Workspace, request: &DiffRequest) -> Result<(ComparedPlan, ComparedPlan)> {
    let (first, second) = (request.first.as_deref(), request.second.as_deref());
    let kept = first.and_then(|first| kept_text(workspace, first));
    match (first, second, kept) {
        (Some(INPUT), None | Some(INPUT), _) => Err(Failure::usage(
            "a plan on standard input is compared with one in a file",
            "name that file: `planwright diff - PLAN`, or `planwright diff PLAN -`",
        )),
        (Some(first), Some(second), _) => Ok((read(workspace, first)?, read(workspace, second)?)),
        (Some(first), None, Some((plan, _))) => Ok((read(workspace, first)?, read(workspace, plan)?)),
        (first, ..) => {
            let new = found(workspace, first)?.path;
            Ok((read_file(&before(&new)?)?, read_file(&new)?))
        }
    }
}

fn found(workspace: &Workspace, plan: Option<&str>) -> Result<FoundPlan> {
    let choice = PlanChoice {
        plan: plan.map(str::to_owned),
        ..PlanChoice::default()
    };
    choice.find(workspace, "name its file")
}

/// Finds a plan by its name, or one of its stored versions.
fn read(workspace: &Workspace, name: &str) -> Result<ComparedPlan> {
    if name == INPUT {
        let source = workspace.load_input()?.source;
        return read_text(&source, None);
    }
    let Some((plan, number)) = kept_text(workspace, name) else {
        return read_file(&found(workspace, Some(name))?.path);
    };
    let path = found(workspace, Some(plan))?.path;
    let kept = store::versions(&path);
    let text = number.checked_sub(1).and_then(|ix| kept.get(ix)).ok_or_else(|| {
        let message = format!(
            "{} texts are kept of `{}`, and no number {number}",
            kept.len(),
            path.display()
        );
        Failure::problem(message, "`planwright replan` keeps the text that it replaces")
    })?;
    read_file(text)
}

/// Returns the plan and the number of a stored version, if the name is one.
fn kept_text<'n>(workspace: &Workspace, name: &'n str) -> Option<(&'n str, usize)> {
    let (plan, number) = name.rsplit_once('@')?;
    let number = number.parse().ok()?;
    (!workspace.path(name).exists()).then_some((plan, number))
}

fn read_file(path: &Path) -> Result<ComparedPlan> {
    let source = store::load(path)?.source;
    read_text(&source, Some(path))
}

fn read_text(source: &SourceText, path: Option<&Path>) -> Result<ComparedPlan> {
    let mut inspection = inspect_file(source, path, None).inspection;
    if let Some(path) = path {
        states_of(&mut inspection, path)?;
    }
    if inspection.plan.is_none() {
        let place = path.map_or("what is on standard input".to_owned(), |path| {
            format!("`{}`", path.display())
        });
        return Err(Failure::problem(
            format!("there is no plan in {place}"),
            "`planwright check` shows its errors",
        ));
    }
    let name = path.map_or(INPUT.to_owned(), |path| from_here(path).display().to_string());
    Ok(ComparedPlan { name, inspection })
}

/// Returns the previous version of a plan.
fn before(path: &Path) -> Result<PathBuf> {
    let read = read_file(path)?;
    let plan = read.inspection.plan.as_ref().map(|linked| &linked.plan);
    if let Some(file) = plan.and_then(|plan| file_before(path, plan)) {
        return match file.exists() {
            true => Ok(file),
            false => Err(Failure::problem(
                format!(
                    "the version before, `{}`, is not next to `{}`",
                    file.file_stem().unwrap_or_default().to_string_lossy(),
                    path.display()
                ),
                "name both plans",
            )),
        };
    }
    store::versions(path).pop().ok_or_else(|| {
        Failure::problem(
            format!("there is no earlier version of `{}`", path.display()),
            "name two plans; `planwright history` lists the changes that planwright made",
        )
    })
}

/// Returns the tasks whose state differs between the plans, by the older one's names.
fn moved(old: &Inspection, new: &Inspection, dialect: &'static dyn Dialect) -> Vec<StateDifference> {
    let pairs = tasks_in_both(old, new, dialect);
    let (Some(old), Some(new)) = (&old.plan, &new.plan) else {
        return Vec::new();
    };
    let state = |plan: &Plan, ix: usize| plan.tasks().get(ix).and_then(|task| task.status.state());
    let moved = pairs.into_iter().filter_map(|(was, is)| {
        let (before, after) = (state(&old.plan, was)?, state(&new.plan, is)?);
        (before != after).then(|| StateDifference {
            task: old.plan.task_name(was).into_owned(),
            from: before.as_str(),
            to: after.as_str(),
        })
    });
    moved.collect()
}
