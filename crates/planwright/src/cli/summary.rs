//! `planwright summary`: prints the result of a run again.

use std::collections::BTreeMap;
use std::path::Path;

use clap::builder::NonEmptyStringValueParser as NonEmpty;
use planwright_run::git::{Diffstat, Repository};
use planwright_run::inspect_file::inspect_file;
use planwright_run::runs::state::RunState;
use planwright_run::store;

use super::exit::Exit;
use super::next_step::next_step;
use super::output::Output;
use super::plan_entries::from_here;
use super::run::setting_of;
use super::run_arg::{Scope, SeenRun, Standing};
use crate::render::run::{RunReport, Setting, summary};

/// Show the result of a run: done, failed, and what to do next.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright summary                 the newest run
  planwright summary 20261116-0531
  planwright summary --json")]
pub(crate) struct Args {
    /// The run: its id, the beginning of it, or `last`. Default: the newest.
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// Only runs of this plan: a path, an id or part of one.
    #[arg(long, short, value_name = "PLAN", value_parser = NonEmpty::new())]
    plan: Option<String>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let scope = Scope::of(args.plan.as_deref())?;
    let seen = scope.run(args.run.as_deref())?;
    let (run_state, standing) = seen.run_state()?;
    let path = from_here(&seen.plan().target);
    let loaded = store::load(&path).ok();
    let inspection = loaded.map(|loaded| inspect_file(&loaded.source, Some(&path), None).inspection);
    let mut setting = match inspection.as_ref().and_then(|inspection| inspection.plan.as_ref()) {
        Some(linked) => setting_of(&path, &linked.plan),
        None => Setting {
            plan: path.to_string_lossy().into_owned(),
            ..Setting::default()
        },
    };
    seen.place.id().clone_into(&mut setting.run);
    let next = match (&standing, seen.later()) {
        (Standing::Interrupted, None) => next_step(&run_state, &seen.plan().target),
        _ => run_state.ended.as_ref().and_then(|ended| ended.next.clone()),
    };
    let report = RunReport::new(&setting, &run_state)
        .standing(standing.word())
        .continued(next, seen.later());
    let report = report.with_diffstats(&diffstats(&seen.plan().root, &run_state));
    let report = match (landed_into(&seen, &run_state), lost_commit(&seen, &run_state)) {
        (Some(branch), _) => report.landed_into(branch),
        (None, Some(commit)) => report.without_branch(&commit),
        (None, None) => report,
    };
    if args.json {
        output.json(&report)?;
    } else {
        output.write(&summary(&report, output.paint(), output.width()));
    }
    Ok(Exit::Success)
}

/// Returns the checked-out branch if it has all the work of a run's branch. Where git cannot tell, it does not.
fn landed_into(seen: &SeenRun, run_state: &RunState) -> Option<String> {
    let conditions = run_state
        .conditions
        .as_ref()
        .filter(|conditions| !conditions.is_current)?;
    let repository = Repository::around(&seen.plan().root).ok()??;
    let (branch, head) = (repository.branch().ok()??, repository.head().ok()??);
    // The branch may be gone after its work has landed.
    let tip = repository
        .tip(&conditions.branch)
        .ok()?
        .or_else(|| last_commit(run_state))?;
    let has_it = branch != conditions.branch && repository.has_landed(&tip, &head).ok()?;
    has_it.then_some(branch)
}

/// Returns the last commit of a run whose branch does not exist any more.
fn lost_commit(seen: &SeenRun, run_state: &RunState) -> Option<String> {
    let conditions = run_state.conditions.as_ref()?;
    let repository = Repository::around(&seen.plan().root).ok()??;
    let is_gone = repository.tip(&conditions.branch).ok()?.is_none();
    last_commit(run_state).filter(|_| is_gone)
}

/// Returns the commit that landed last.
fn last_commit(run_state: &RunState) -> Option<String> {
    let attempts = run_state.tasks().iter().flat_map(|task| &task.attempts);
    let landed = attempts.filter_map(|attempt| {
        let merged = attempt.merged.as_ref().filter(|merged| merged.passed)?;
        Some((attempt.verified_at.as_deref(), merged.commit.as_ref()?))
    });
    landed.max().map(|(_, commit)| commit.clone())
}

/// Returns how much the commits of a run change; nothing where git cannot tell.
pub(super) fn diffstats(root: &Path, run_state: &RunState) -> BTreeMap<String, Diffstat> {
    let stats = || {
        let conditions = run_state.conditions.as_ref()?;
        let last = last_commit(run_state)?;
        let repository = Repository::around(root).ok().flatten()?;
        let tip = repository.tip(&conditions.branch).ok().flatten();
        repository
            .diffstats(&conditions.start, tip.as_ref().unwrap_or(&last))
            .ok()
    };
    stats().unwrap_or_default()
}
