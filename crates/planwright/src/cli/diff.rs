//! `planwright diff`: compares two plans, or a plan with an earlier text, in terms of tasks.

use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_core::dialect::{self, Dialect};
use planwright_core::inspect::Inspection;
use planwright_core::plan::Plan;
use planwright_core::planning::replan::{Difference, difference, tasks_in_both};
use planwright_core::text::SourceText;
use planwright_run::inspect_file::inspect_file;
use planwright_run::store::{load, load_stdin, versions};
use serde::Serialize;

use super::difference::{AddedReport, ChangedReport, added, changed, difference_lines};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::{found, load_failure, states_of};
use super::plan_entries::from_here;
use super::replan::file_before;
use super::run::stem_of;
use crate::render::diff::diff_of_files;
use crate::render::terminal::{one_line, shown_name};

/// What stands for a plan on standard input.
const INPUT: &str = "-";

/// Show how two plans differ, in terms of tasks.
///
/// Which come, go, change, depend on others, or stand elsewhere. One text that is kept of a plan is compared with the plan as
/// it is. With one plan, it is compared with its version before: the last text that `replan` took the place of, or the plan
/// that its previousPlanId names. `@1` is the oldest text that is kept of it, `@2` the next.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright diff                         the only plan, and its last version
  planwright diff plan-20260123-auth plan-20260123-auth-v2
  planwright diff plan.json@1 plan.json --text
  git show HEAD~5:plan.json | planwright diff - plan.json")]
pub(crate) struct Args {
    /// The plan, or the older of two: a path, an id or part of one; PLAN@N for the Nth text that is kept of it; - for standard input.
    #[arg(value_name = "A", value_parser = NonEmpty::new())]
    first: Option<String>,

    /// The newer of two.
    #[arg(value_name = "B", value_parser = NonEmpty::new())]
    second: Option<String>,

    /// Show how the texts differ as well.
    #[arg(long)]
    text: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: &'static str,
    from: String,
    to: String,
    same: bool,
    added: Vec<AddedReport<'a>>,
    removed: Vec<&'a str>,
    changed: Vec<ChangedReport<'a>>,
    rewired: &'a [String],
    reordered: bool,
    /// Tasks that are in another state.
    moved: Vec<MovedReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Serialize)]
struct MovedReport {
    task: String,
    from: &'static str,
    to: &'static str,
}

/// A plan as it is, or was.
struct Seen {
    name: String,
    inspection: Inspection,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let kept = args.first.as_deref().and_then(kept_text);
    let (old, new) = match (&args.first, &args.second, kept) {
        (Some(first), second, _) if first == INPUT && second.as_ref().is_none_or(|second| second == INPUT) => {
            return Err(Failure::usage(
                "a plan on standard input is compared with one in a file",
                "name that file: `planwright diff - PLAN`, or `planwright diff PLAN -`",
            ));
        }
        (Some(first), Some(second), _) => (seen(first)?, seen(second)?),
        (Some(first), None, Some((plan, _))) => (seen(first)?, seen(plan)?),
        (first, ..) => {
            let new = found(first.as_deref())?.path;
            (seen_file(&before(&new)?)?, seen_file(&new)?)
        }
    };
    let dialect = |seen: &Seen| seen.inspection.plan.as_ref().map(|linked| linked.plan.dialect);
    if dialect(&old) != dialect(&new) {
        return Err(Failure::problem(
            "the two are plans of different dialects",
            "`planwright convert` brings one to the other's",
        ));
    }
    let dialect = dialect(&new).and_then(dialect::find);
    let found = dialect.and_then(|dialect| {
        let found = difference(&old.inspection, &new.inspection, dialect)?;
        Some((found, moved(&old.inspection, &new.inspection, dialect)))
    });
    let (found, moved) =
        found.ok_or_else(|| Failure::problem("the tasks cannot be told apart", "`planwright check` shows both"))?;
    let text = args.text.then(|| {
        let texts = [&old, &new].map(|seen| seen.inspection.source.as_str());
        diff_of_files([&old.name, &new.name], texts[0], texts[1])
    });
    let same = found.is_empty() && moved.is_empty();
    if args.json {
        output.json(&report(&old, &new, &found, moved, text))?;
        return Ok(Exit::Success);
    }
    output.remark(&format!("{} → {}", one_line(&old.name), one_line(&new.name)));
    if same {
        output.remark("no task is different");
    }
    if !found.is_empty() {
        difference_lines(&found).iter().for_each(|line| output.line(line));
    }
    for moved in &moved {
        output.line(&format!("~ {}: {} → {}", shown_name(&moved.task), moved.from, moved.to));
    }
    if let Some(text) = &text {
        output.write_exact(text);
    }
    Ok(Exit::Success)
}

/// Finds a plan by its name, or one of the texts that are kept of it.
fn seen(name: &str) -> anyhow::Result<Seen> {
    if name == INPUT {
        let source = load_stdin().map_err(|error| load_failure(&error))?.source;
        return seen_text(&source, None);
    }
    let Some((plan, number)) = kept_text(name) else {
        return seen_file(&found(Some(name))?.path);
    };
    let path = found(Some(plan))?.path;
    let kept = versions(&path);
    let text = number.checked_sub(1).and_then(|ix| kept.get(ix)).ok_or_else(|| {
        let message = format!(
            "{} texts are kept of `{}`, and no number {number}",
            kept.len(),
            path.display()
        );
        Failure::problem(message, "`planwright replan` keeps the text that it takes the place of")
    })?;
    seen_file(text)
}

/// Returns the plan and the number of a text that is kept of it, where a name means one.
fn kept_text(name: &str) -> Option<(&str, usize)> {
    let (plan, number) = name.rsplit_once('@')?;
    let number = number.parse().ok()?;
    (!Path::new(name).exists()).then_some((plan, number))
}

fn seen_file(path: &Path) -> anyhow::Result<Seen> {
    let source = load(path).map_err(|error| load_failure(&error))?.source;
    seen_text(&source, Some(path))
}

fn seen_text(source: &SourceText, path: Option<&Path>) -> anyhow::Result<Seen> {
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
            "`planwright check` says what is wrong with it",
        ));
    }
    let name = path.map_or(INPUT.to_owned(), |path| from_here(path).display().to_string());
    Ok(Seen { name, inspection })
}

/// Returns what a plan was before.
fn before(path: &Path) -> anyhow::Result<PathBuf> {
    let seen = seen_file(path)?;
    let plan = seen.inspection.plan.as_ref().map(|linked| &linked.plan);
    if let Some(file) = plan.and_then(|plan| file_before(path, plan)) {
        return match file.exists() {
            true => Ok(file),
            false => Err(Failure::problem(
                format!(
                    "the version before, `{}`, is not next to `{}`",
                    stem_of(&file),
                    path.display()
                ),
                "name both plans",
            )),
        };
    }
    versions(path).pop().ok_or_else(|| {
        Failure::problem(
            format!("nothing is known of what `{}` was before", path.display()),
            "name two plans; `planwright history` shows what was changed through planwright",
        )
    })
}

/// Returns the tasks that are in both plans and in another state, by the older one's names.
fn moved(old: &Inspection, new: &Inspection, dialect: &'static dyn Dialect) -> Vec<MovedReport> {
    let pairs = tasks_in_both(old, new, dialect);
    let (Some(old), Some(new)) = (&old.plan, &new.plan) else {
        return Vec::new();
    };
    let state = |plan: &Plan, ix: usize| plan.tasks().get(ix).and_then(|task| task.status.state());
    let moved = pairs.into_iter().filter_map(|(was, is)| {
        let (before, after) = (state(&old.plan, was)?, state(&new.plan, is)?);
        (before != after).then(|| MovedReport {
            task: old.plan.task_name(was).into_owned(),
            from: before.as_str(),
            to: after.as_str(),
        })
    });
    moved.collect()
}

fn report<'a>(
    old: &Seen,
    new: &Seen,
    found: &'a Difference,
    moved: Vec<MovedReport>,
    text: Option<String>,
) -> Report<'a> {
    Report {
        schema_version: "planwright.diff/v1",
        from: old.name.clone(),
        to: new.name.clone(),
        same: found.is_empty() && moved.is_empty(),
        added: added(found),
        removed: found.removed_names().collect(),
        changed: changed(found),
        rewired: &found.rewired,
        reordered: found.is_reordered,
        moved,
        text,
    }
}
