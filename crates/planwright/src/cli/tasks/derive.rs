//! `planwright tasks derive PLAN`: makes an executable task pack from a source plan.

use std::path::{Path, PathBuf};

use planwright_core::planning::derive::SourcePlan;
use planwright_run::clock;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{Change, plan_id};
use planwright_run::store::{PlanFile, Store};
use planwright_run::workspace::{root_of, slashed};
use serde::Serialize;

use super::super::create::create_plan;
use super::super::exit::{Exit, Failure};
use super::super::output::Output;
use super::super::plan_arg::no_file;
use super::super::plan_entries::from_here;
use super::super::planner::{EffortReport, PlannerOptions, effort_words};
use super::planner::{Pack, Planned, Source, Work, tell_warnings, warning_reports};
use crate::render::json::DiagnosticReport;
use crate::render::terminal::printable;

/// Have a planner derive a task pack from a source plan.
///
/// The planner gives tasks only. Identity, hash, waves, sections and cards are made by planwright, and `tasks validate` has the
/// last word: what it refuses goes back to the planner, twice at most. A plan without `spec_id` gives a draft.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright tasks derive docs/plans/2026-05-11-004-feat-photos-plan.md
  planwright tasks derive plan.md --agent claude --out pack.md
  planwright tasks derive plan.md --dry-run           what would be asked
  planwright tasks derive plan.md --from answer.md    take that answer")]
pub(super) struct Args {
    /// The source plan, a Markdown file.
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    #[command(flatten)]
    planner: PlannerOptions,

    /// Print what the planner would be asked; ask nobody and write nothing.
    #[arg(long, conflicts_with = "from")]
    dry_run: bool,

    /// Write to this file, which must be new. Default: docs/tasks/DATE-NNN-TYPE-NAME-tasks.md.
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The version of `tasks derive --json`.
const VERSION: &str = "planwright.derive/v1";

#[derive(Serialize)]
struct Report<'a> {
    schema_version: &'static str,
    source_plan: &'a str,
    /// The pack.
    out: String,
    written: bool,
    /// Whether it is a draft, because the plan has no `spec_id`.
    draft: bool,
    n_tasks: usize,
    warnings: Vec<DiagnosticReport>,
    /// Who planned; null where the answer was given.
    agent: Option<&'a str>,
    effort: EffortReport,
    reasoning: &'a str,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let source = source_at(&args.plan)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => source.root.join(default_name(&source)),
    };
    let date = date_of(&out);
    let work = Work {
        source: &source,
        date: &date,
        previous: None,
        pack: &out,
        retake: &format!("planwright tasks derive {} --from", args.plan.display()),
    };
    if args.dry_run {
        let prompt = work.prompt(&args.planner, output)?;
        output.write_exact(&prompt);
        return Ok(Exit::Success);
    }
    refuse_existing(&out)?;
    let pack = match work.plan(&args.planner, output)? {
        Planned::Pack(pack) => pack,
        Planned::Interrupted(exit) => return Ok(exit),
    };
    create_plan(
        &out,
        pack.derived.text.as_str(),
        &planwright_core::dialect::task_pack::TaskPack,
        output,
    )?;
    note(&source, &out, &pack, output);
    report(args, &source, &out, &pack, output)
}

/// Writes down how the pack came to be.
fn note(source: &Source, out: &Path, pack: &Pack, output: &mut Output) {
    let inspection = inspect_file(&pack.derived.text, Some(out), None).inspection;
    let id = inspection.plan.as_ref().and_then(|linked| plan_id(&linked.plan));
    let change = Change {
        verb: "derive".to_owned(),
        by: pack.agent.clone(),
        note: Some(pack.words(&format!("derived from {}", source.path))),
        ..Change::default()
    };
    if let Err(error) = Store::default().record_note(PlanFile { path: out, id }, change) {
        output.remark(&format!(
            "warning: how the pack came to be could not be written down: {error}"
        ));
    }
}

fn report(args: &Args, source: &Source, out: &Path, pack: &Pack, output: &mut Output) -> anyhow::Result<Exit> {
    let shown = shown(out);
    let derived = &pack.derived;
    if args.json {
        output.json(&Report {
            schema_version: VERSION,
            source_plan: &source.path,
            out: shown,
            written: true,
            draft: derived.is_draft,
            n_tasks: derived.n_tasks,
            warnings: warning_reports(&derived.warnings),
            agent: pack.agent.as_deref(),
            effort: EffortReport::new(pack.effort),
            reasoning: &derived.reasoning,
        })?;
        return Ok(Exit::Success);
    }
    tell_warnings(&shown, &derived.warnings, output);
    if pack.agent.is_some() {
        output.remark(&format!("planned with {}", effort_words(pack.effort)));
    }
    let kind = if derived.is_draft { ", a draft" } else { "" };
    let tasks = if derived.n_tasks == 1 { "task" } else { "tasks" };
    output.line(&format!(
        "wrote {}: {} {tasks}{kind}",
        printable(&shown),
        derived.n_tasks
    ));
    Ok(Exit::Success)
}

/// Returns a path as it is shown: from here, where it lies below.
pub(super) fn shown(path: &Path) -> String {
    from_here(path).to_string_lossy().into_owned()
}

/// Finds the repository of a plan, and the plan in it.
fn source_at(plan: &Path) -> anyhow::Result<Source> {
    if plan == Path::new("-") {
        return Err(no_file("name the file of the source plan, which the pack refers to"));
    }
    let absolute = std::path::absolute(plan).unwrap_or_else(|_| plan.to_owned());
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    let mut root = root_of(plan);
    // Without a mark of a repository plans lie in docs/plans, beside docs/tasks.
    if root == folder && folder.ends_with("docs/plans") {
        root = folder.ancestors().nth(2).unwrap_or(folder).to_owned();
    }
    let relative = absolute.strip_prefix(&root).map(slashed).map_err(|_| {
        Failure::problem(
            format!("`{}` does not lie in the repository {}", plan.display(), root.display()),
            "name it by a path without `..` and links",
        )
    })?;
    Source::load(root, relative)
}

fn refuse_existing(out: &Path) -> anyhow::Result<()> {
    if out.symlink_metadata().is_err() {
        return Ok(());
    }
    let shown = shown(out);
    Err(Failure::problem(
        format!("`{shown}` is there already, and is left alone"),
        format!("rebuild it with `planwright tasks regenerate {shown}`, or name another file with --out"),
    ))
}

/// Returns the date that a pack's file is named by, else today's.
pub(super) fn date_of(out: &Path) -> String {
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned());
    let date = name.as_deref().and_then(leading_date).map(str::to_owned);
    date.unwrap_or_else(|| clock::now().chars().take(10).collect())
}

fn leading_date(name: &str) -> Option<&str> {
    let date = name.get(..10)?;
    let is_digit = |ix: &usize| date.as_bytes().get(*ix).is_some_and(u8::is_ascii_digit);
    let is_hyphen = |ix: &usize| date.as_bytes().get(*ix) == Some(&b'-');
    let is_date = [0, 1, 2, 3, 5, 6, 8, 9].iter().all(is_digit) && [4, 7].iter().all(is_hyphen);
    is_date.then_some(date)
}

/// Returns where the pack of a plan goes: `docs/tasks/DATE-NNN-TYPE-NAME-tasks.md`, by today's date.
fn default_name(source: &Source) -> String {
    let today: String = clock::now().chars().take(10).collect();
    let name = source.path.rsplit('/').next().unwrap_or(&source.path);
    let stem = name.strip_suffix(".md").unwrap_or(name);
    let stem = stem.strip_suffix("-plan").unwrap_or(stem);
    let rest = match leading_date(stem) {
        Some(date) => stem.get(date.len()..).unwrap_or("").trim_start_matches('-').to_owned(),
        None => {
            let kind = SourcePlan::read(&source.text).kind.unwrap_or_default();
            let is_plain = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase());
            format!("001-{}-{stem}", if is_plain && kind != "plan" { &kind } else { "feat" })
        }
    };
    format!("docs/tasks/{today}-{rest}-tasks.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_in_front_of_a_name_is_that_of_the_pack() {
        assert_eq!(
            date_of(Path::new("docs/tasks/2026-05-11-004-feat-x-tasks.md")),
            "2026-05-11"
        );
        for other in ["tasks.md", "2026-5-11-tasks.md", "", "é26-05-11-x"] {
            assert_eq!(date_of(Path::new(other)).len(), 10);
            assert_ne!(date_of(Path::new(other)), "2026-05-11");
        }
    }
}
