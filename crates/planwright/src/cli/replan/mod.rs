//! `planwright replan`: makes a new version of a plan; done tasks stay.

mod case;

use std::path::{Path, PathBuf};

use planwright_core::planning::prompt::{Purpose, replan_prompt};
use planwright_run::clock;
use planwright_run::config::Config;
use planwright_run::files::DiskFiles;
use planwright_run::journal::{Change, plan_id};
use planwright_run::layout::{PlanPlace, root_of};
use planwright_run::planner::{Effort, PlanningError, Wanted};
use planwright_run::proposals::{Proposal, held, hold, settle};
use planwright_run::revise::{self, Matter, Target, VersionRequest, Versioned};
use planwright_run::runs::Replanned;
use planwright_run::store::{PlanFile, Store, keep_version};
use planwright_run::user::user;
use serde::Serialize;

use super::answers;
use super::attempt::refuse_own_plan;
use super::change::{Found, failure as revise_failure, refuse_during_run};
use super::create::with_id_source;
use super::difference::{AddedReport, ChangedReport, added, changed, difference_lines};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::TargetArgument;
use super::planner::{EffortReport, PlannerOptions, configured, effort_words, failure};
use super::text_arg::text_of;
use crate::render::diff::diff_of_files;
use crate::render::terminal::{addressed, one_line, shown_name};
use case::Case;
pub(crate) use case::{MAX_VERSIONS, file_before, refuse_again};

/// Have an agent make a new version of a plan.
///
/// For what failed, for what was found out, for what must hold from now on. Tasks that are done stay as they were, tasks that
/// stay keep their ids, what failed is open again. The new version is shown in terms of tasks before it is written: you are
/// asked at a terminal, and say --yes elsewhere. Where a dialect keeps each version in a file of its own, the old one stays as
/// it is; elsewhere the old text is kept in .planwright/versions, and `planwright undo` takes the change back.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright replan
  planwright replan plan-a1b2c3d4 --discovery \"the API has no paging\" --yes
  planwright replan --task t3 --error \"the test needs a database\" --dry-run")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: TargetArgument,

    #[command(flatten)]
    planner: PlannerOptions,

    /// The task that failed. Default: the first that has.
    #[arg(long, value_name = "TASK", help_heading = "What the planner gets")]
    task: Option<String>,

    /// How it failed. Default: what the plan and the last run say. @FILE is read.
    #[arg(long, value_name = "TEXT", help_heading = "What the planner gets")]
    error: Option<String>,

    /// What was found out since the plan was made; may be given several times. @FILE is read.
    #[arg(long, value_name = "TEXT", help_heading = "What the planner gets")]
    discovery: Vec<String>,

    /// Write the new version without asking.
    #[arg(long, short)]
    yes: bool,

    /// Who does it, for the plan's history.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    /// Print what the agent would be told. Starts nothing and writes nothing.
    #[arg(long)]
    dry_run: bool,

    /// Show how the text changes as well.
    #[arg(long)]
    diff: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: &'static str,
    plan: String,
    /// The file of the new version, where it has one of its own.
    file: Option<String>,
    /// Whether anything was written.
    written: bool,
    agent: &'a str,
    effort: EffortReport,
    added: Vec<AddedReport<'a>>,
    removed: Vec<&'a str>,
    changed: Vec<ChangedReport<'a>>,
    rewired: &'a [String],
    reordered: bool,
    reasoning: &'a str,
    changes: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// Who said that a new version is to be written.
#[derive(Clone, Copy)]
enum Word<'w> {
    /// This one.
    Of(&'w str),
    /// Nobody has to.
    NotNeeded,
    /// Nobody did, and it is not.
    None,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let found = args.plan.find()?;
    refuse_own_plan(&found, "replan its own plan")?;
    let root = root_of(&found.path);
    let configuration = configured(&root, output)?;
    let mut is_taken = false;
    let mut discoveries = Vec::new();
    for typed in &args.discovery {
        discoveries.push(text_of("discovery", typed, &mut is_taken)?);
    }
    let error = args
        .error
        .as_deref()
        .map(|typed| text_of("error", typed, &mut is_taken))
        .transpose()?;
    let case = Case::of(&found, args.task.as_deref(), error, discoveries)?;
    if case.has_versions() && !args.dry_run {
        // The new version is a file of its own: the run would go on with the old one.
        refuse_during_run(&found, "replan this plan")?;
    }
    let told = args.planner.told(Purpose::Replan, &configuration.config, &root)?;
    let brief = told.brief(case.dialect, &case.goal);
    if args.dry_run {
        output.write_exact(&replan_prompt(&brief, &case.setback()).text);
        return Ok(Exit::Success);
    }
    let (came, asked) = case.ask(&args.planner, &configuration.config, &brief, output)?;
    if let Some(exit) = asked.exit {
        return Ok(exit);
    }
    let (wanted, effort) = came.map_err(|error| unusable(error, &found.path, output))?;
    let is_asked = !args.yes && !args.json && answers::may_ask();
    if is_asked {
        show(&case, &wanted, output);
        if args.diff {
            let tried = apply(&found, &case, &wanted, &asked.agent, Word::None)?;
            output.write_exact(&diff_of(&found, &case, &tried));
        }
    }
    let is_applied = args.yes
        || (is_asked && {
            output.note("Write this version? [y/N] ");
            answers::is_yes()
        });
    let who = args.by.clone().unwrap_or_else(user);
    let word = if is_applied { Word::Of(&who) } else { Word::None };
    let versioned = apply(&found, &case, &wanted, &asked.agent, word)?;
    if !is_applied {
        let proposal = Proposal {
            by: asked.agent.clone(),
            time: clock::now(),
            answer: Some(wanted.answer.clone()),
            known: case.names(),
            reasoning: wanted.version.reasoning.clone(),
            ..Proposal::default()
        };
        hold(&found.path, &proposal).map_err(|error| Failure::environment(&error, "nothing was written"))?;
    }
    let diff = (args.diff && !is_asked).then(|| diff_of(&found, &case, &versioned));
    if args.json {
        output.json(&report(
            &found,
            &versioned,
            &wanted,
            &asked.agent,
            effort,
            is_applied,
            diff,
        ))?;
    } else {
        if !is_asked {
            show(&case, &wanted, output);
        }
        if let Some(diff) = &diff {
            output.write_exact(diff);
        }
        output.remark(&format!("planned with {}", effort_words(effort)));
        tell(&found, &versioned, is_applied, output);
    }
    Ok(if is_applied { Exit::Success } else { Exit::Problems })
}

/// Returns why there is no new version of a plan, as an error.
fn unusable(error: PlanningError, plan: &Path, output: &mut Output) -> anyhow::Error {
    let taken = |answer: &str| Some(format!("planwright replan {} --from {answer}", plan.display()));
    failure(error, plan, taken, output)
}

/// Returns how the text of a new version differs from that before.
fn diff_of(found: &Found, case: &Case, versioned: &Versioned) -> String {
    let [old, new] =
        [&found.path, versioned.file.as_ref().unwrap_or(&found.path)].map(|path| path.display().to_string());
    let texts = [case.inspection.source.as_str(), versioned.revised.text.as_str()];
    diff_of_files([&old, &new], texts[0], texts[1])
}

/// What follows from replanning after a failed run.
pub(crate) enum After {
    /// There was nothing to replan.
    Nothing,
    /// The run goes on with this plan; how it came to be, and what that took.
    GoesOn(PathBuf, Replanned, Effort),
    /// The user wanted the end.
    Ends(Exit),
}

/// Replans after a failed run, without asking.
pub(crate) fn replan_after_failure(
    found: &Found,
    config: &Config,
    is_silent: bool,
    output: &mut Output,
) -> anyhow::Result<After> {
    let options = PlannerOptions::default();
    let root = root_of(&found.path);
    let case = Case::of(found, None, None, Vec::new())?;
    if case.failed.is_none() {
        return Ok(After::Nothing);
    }
    let told = options.told(Purpose::Replan, config, &root)?;
    let brief = told.brief(case.dialect, &case.goal);
    let (came, asked) = case.ask(&options, config, &brief, output)?;
    if let Some(exit) = asked.exit {
        return Ok(After::Ends(exit));
    }
    let (wanted, effort) = came.map_err(|error| unusable(error, &found.path, output))?;
    let versioned = apply(found, &case, &wanted, &asked.agent, Word::NotNeeded)?;
    if !is_silent {
        show(&case, &wanted, output);
        output.remark(&format!("replanned with {}", effort_words(effort)));
        tell(found, &versioned, true, output);
    }
    output.flush();
    let place = PlanPlace::of(&DiskFiles, &found.path).ok();
    let replanned = Replanned {
        run: case.last_run().map(|run| run.id().to_owned()),
        plan: place.map_or_else(String::new, |place| place.relative),
        agent: asked.agent,
    };
    Ok(After::GoesOn(
        versioned.file.unwrap_or_else(|| found.path.clone()),
        replanned,
        effort,
    ))
}

/// Writes the new version, or only finds out what it would be.
fn apply(found: &Found, case: &Case, wanted: &Wanted, agent: &str, word: Word<'_>) -> anyhow::Result<Versioned> {
    let dry = matches!(word, Word::None);
    let target = Target {
        path: &found.path,
        forced: found.forced,
        dry,
    };
    let reasoning = match &wanted.version.changes {
        Some(changes) => format!("{changes}\n\n{}", wanted.version.reasoning),
        None => wanted.version.reasoning.clone(),
    };
    let reasoning = match word {
        Word::Of(who) if !reasoning.trim().is_empty() => format!("approved by {who}.\n{reasoning}"),
        Word::Of(who) => format!("approved by {who}"),
        Word::NotNeeded | Word::None => reasoning,
    };
    let now = clock::now();
    let request = VersionRequest {
        matter: Matter::Answer(&wanted.answer),
        by: agent,
        reasoning: reasoning.trim(),
        now: &now,
        on: Some(&case.inspection.source),
    };
    let versioned = with_id_source(|id_source| revise::new_version_of(target, &request, id_source));
    let versioned = versioned.map_err(|error| revise_failure(found, &error))?;
    if !dry {
        succeed(&found.path, &versioned, agent, reasoning.trim(), &now)?;
    }
    Ok(versioned)
}

/// Keeps what belongs to the version before, and gives the new one what was meant for it.
pub(crate) fn succeed(plan: &Path, versioned: &Versioned, by: &str, reasoning: &str, now: &str) -> anyhow::Result<()> {
    // The errors of files say that these are as they were, which is not the point here: what the system said is.
    let failed = |error: &(dyn std::error::Error + 'static)| {
        let mut chain = std::iter::successors(Some(error), |error| error.source());
        let cause = chain.find(|error| error.is::<std::io::Error>());
        let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
        let message = format!("the new version is written, but not all of its history{cause}");
        Failure::environment(
            &std::io::Error::other(message),
            "check that you may write to `.planwright`, and that there is room",
        )
    };
    let proposals = held(plan);
    for (file, proposal) in proposals.as_deref().unwrap_or_default() {
        // What planners proposed before was for a plan that is no more; tasks are for the one that there is.
        if let (Some(next), None) = (&versioned.file, &proposal.answer) {
            hold(next, proposal).map_err(|error| failed(&error))?;
        }
        if proposal.answer.is_some() || versioned.file.is_some() {
            settle(file).map_err(|error| failed(&error))?;
        }
    }
    note_version(plan, versioned, by, reasoning, now).map_err(|error| failed(&*error))?;
    // Whoever cannot be told of is told of last: what there was before is kept by then.
    proposals.map(drop).map_err(|error| failed(&error))
}

/// Keeps what a new version took the place of, or writes down where a new file comes from.
fn note_version(
    plan: &Path,
    versioned: &Versioned,
    by: &str,
    reasoning: &str,
    now: &str,
) -> Result<(), Box<dyn std::error::Error + 'static>> {
    let Some(next) = &versioned.file else {
        if versioned.revised.change.is_some() {
            keep_version(plan, &versioned.revised.before, now)?;
        }
        return Ok(());
    };
    let id = versioned
        .revised
        .after
        .plan
        .as_ref()
        .and_then(|linked| plan_id(&linked.plan));
    let change = Change {
        verb: "replan".to_owned(),
        by: Some(by.to_owned()),
        note: Some(reasoning.to_owned()).filter(|note| !note.is_empty()),
        ..Change::default()
    };
    Store::default().record_note(PlanFile { path: next, id }, change)?;
    Ok(())
}

/// Shows what is different, in terms of tasks.
fn show(case: &Case, wanted: &Wanted, output: &mut Output) {
    for line in difference_lines(&wanted.version.difference) {
        output.line(&line);
    }
    if let Some(changes) = &wanted.version.changes {
        output.note(&format!("\n{}\n", addressed(changes, output.audience_beside())));
    }
    if !wanted.version.reasoning.is_empty() {
        output.note(&format!(
            "\n{}\n",
            addressed(&wanted.version.reasoning, output.audience_beside())
        ));
    }
    let difference = &wanted.version.difference;
    if let Some(failed) = &case.failed {
        let is_gone = difference.removed_names().any(|name| name == failed);
        let is_changed =
            difference.changed.iter().any(|(task, _)| task == failed) || difference.rewired.contains(failed);
        if !is_gone && !is_changed {
            output.remark(&format!(
                "{} failed, and is the same in this version",
                shown_name(failed)
            ));
        }
    }
}

fn tell(found: &Found, versioned: &Versioned, is_applied: bool, output: &mut Output) {
    let path = found.path.display();
    match (is_applied, &versioned.file) {
        (true, None) if versioned.revised.change.is_none() => {
            output.remark("no task is different, and nothing was written")
        }
        (true, Some(file)) => output.line(&format!("the new version is {}", one_line(&file.display().to_string()))),
        (true, None) => output.line(&format!(
            "wrote {}; `planwright undo {}` takes it back",
            one_line(&path.to_string()),
            one_line(&path.to_string())
        )),
        (false, _) => {
            output.remark("nothing was written");
            output.remark(&format!(
                "help: planwright approve --proposed {path} writes this version, planwright reject --proposed {path} --note WHY forgets it"
            ));
        }
    }
    if let Some(pointer) = &versioned.revised.pointer {
        output.remark(&format!("warning: {pointer}"));
    }
}

fn report<'a>(
    found: &Found,
    versioned: &'a Versioned,
    wanted: &'a Wanted,
    agent: &'a str,
    effort: Effort,
    is_applied: bool,
    diff: Option<String>,
) -> Report<'a> {
    let difference = &versioned.difference;
    Report {
        schema_version: "planwright.replan/v1",
        plan: found.path.display().to_string(),
        file: versioned.file.as_ref().map(|file| file.display().to_string()),
        written: is_applied,
        agent,
        effort: EffortReport::new(effort),
        added: added(difference),
        removed: difference.removed_names().collect(),
        changed: changed(difference),
        rewired: &difference.rewired,
        reordered: difference.is_reordered,
        reasoning: &wanted.version.reasoning,
        changes: wanted.version.changes.as_deref(),
        diff,
    }
}
