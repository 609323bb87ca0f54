//! `planwright replan`: a plan that failed becomes a new version of itself; what is done stays as it was.

use std::io::{self, IsTerminal as _, Read as _, Seek as _, SeekFrom, stderr, stdin};
use std::path::{Path, PathBuf};

use planwright_core::change::Problem;
use planwright_core::change::rewrite::rewrite;
use planwright_core::convert::rules::REFUSED;
use planwright_core::diagnostic::{Diagnostic, Severity};
use planwright_core::dialect::{self, CarrierKind, Choice, Dialect};
use planwright_core::edit::Owner;
use planwright_core::inspect::{Inspection, LinkedPlan};
use planwright_core::plan::{Field, Plan, State};
use planwright_core::planning::prompt::{Brief, Purpose, Setback, replan_prompt};
use planwright_core::planning::replan::{Added, Difference, NewVersion};
use planwright_run::clock;
use planwright_run::config::Config;
use planwright_run::examine::{examine, open};
use planwright_run::files::{DiskFiles, open_to_read};
use planwright_run::journal::{Change, plan_id};
use planwright_run::place::{PlanPlace, root_of};
use planwright_run::planner::{self, Effort, PlanningError, Wanted};
use planwright_run::proposals::{Proposal, held, hold, settle};
use planwright_run::revise::{self, Matter, Target, VersionRequest, Versioned, take_states};
use planwright_run::runs::account::Account;
use planwright_run::runs::{self, Replanned, RunEvent, RunPlace};
use planwright_run::setup::user;
use planwright_run::store::{self, PlanFile, Store, keep_version};
use serde::Serialize;

use super::catalogue::from_here;
use super::change::{Found, failure as revise_failure, refuse_during_run};
use super::exit::{Drawn, Evidence, Exit, Failure, MEND_FIRST};
use super::output::Output;
use super::plan_arg::{TargetArgument, load_failure, task_named};
use super::planner::{Asked, EffortReport, PlannerOptions, configured, effort_words, failure, with_mint};
use super::text_arg::text_of;
use crate::render::diff::diff_of_files;
use crate::render::terminal::{addressed, one_line, shown_name};

/// How often a plan whose versions are counted is replanned.
pub(crate) const MAX_VERSIONS: u64 = 3;

/// Of how many versions of a plan a planner is told what was found out.
const MAX_TOLD_VERSIONS: usize = 16;

/// How much of a log a planner gets to read, in bytes.
const LOG_TAIL: u64 = 16 * 1024;

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
    #[arg(long, value_name = "TASK", help_heading = "What the planner is told")]
    task: Option<String>,

    /// How it failed. Default: what the plan and the last run say. @FILE is read.
    #[arg(long, value_name = "TEXT", help_heading = "What the planner is told")]
    error: Option<String>,

    /// What was found out since the plan was made; may be given several times. @FILE is read.
    #[arg(long, value_name = "TEXT", help_heading = "What the planner is told")]
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
    removed: &'a [String],
    changed: Vec<ChangedReport<'a>>,
    rewired: &'a [String],
    reordered: bool,
    reasoning: &'a str,
    changes: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// A task that comes, for programs.
#[derive(Serialize)]
pub(crate) struct AddedReport<'a> {
    task: &'a str,
    title: &'a str,
}

/// A task that changes, for programs.
#[derive(Serialize)]
pub(crate) struct ChangedReport<'a> {
    task: &'a str,
    fields: &'a [&'static str],
}

/// Returns the tasks that come.
pub(crate) fn added(difference: &Difference) -> Vec<AddedReport<'_>> {
    let added = difference.added.iter();
    added.map(|Added { task, title }| AddedReport { task, title }).collect()
}

/// Returns the tasks that change.
pub(crate) fn changed(difference: &Difference) -> Vec<ChangedReport<'_>> {
    let changed = difference.changed.iter();
    changed.map(|(task, fields)| ChangedReport { task, fields }).collect()
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

/// What a planner made of it, and what that took.
type Planned = Result<(Wanted, Effort), PlanningError>;

/// A plan that is to be replaced, and why.
struct Case {
    path: PathBuf,
    dialect: &'static dyn Dialect,
    inspection: Inspection,
    goal: String,
    failed: Option<String>,
    error: String,
    log_tail: String,
    discoveries: Vec<String>,
    done: Vec<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let found = args.plan.find()?;
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
        output.write(&addressed(
            &replan_prompt(&brief, &case.setback()).text,
            output.audience(),
        ));
        return Ok(Exit::Success);
    }
    let (came, asked) = case.ask(&args.planner, &configuration.config, &brief, output)?;
    if let Some(exit) = asked.exit {
        return Ok(exit);
    }
    let (wanted, effort) = came.map_err(|error| unusable(error, &found.path, output))?;
    let is_asked = !args.yes && !args.json && may_ask();
    if is_asked {
        show(&case, &wanted, output);
        if args.diff {
            let tried = apply(&found, &case, &wanted, &asked.agent, Word::None)?;
            output.write(&addressed(&diff_of(&found, &case, &tried), output.audience()));
        }
    }
    let is_applied = args.yes
        || (is_asked && {
            output.note("Write this version? [y/N] ");
            let mut answer = String::new();
            stdin().read_line(&mut answer)?;
            matches!(answer.trim(), "y" | "Y" | "yes")
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
            output.write(&addressed(diff, output.audience()));
        }
        output.remark(&format!("planned with {}", effort_words(effort)));
        tell(&found, &versioned, is_applied, output);
    }
    Ok(if is_applied { Exit::Success } else { Exit::Problems })
}

/// Returns why there is no new version of a plan, as an error.
fn unusable(error: PlanningError, plan: &Path, output: &mut Output) -> anyhow::Error {
    let taken = |answer: &str| format!("planwright replan {} --from {answer}", plan.display());
    failure(error, plan, taken, output)
}

/// Returns how the text of a new version differs from that before.
fn diff_of(found: &Found, case: &Case, versioned: &Versioned) -> String {
    let [old, new] =
        [&found.path, versioned.file.as_ref().unwrap_or(&found.path)].map(|path| path.display().to_string());
    let texts = [case.inspection.source.as_str(), versioned.revised.text.as_str()];
    diff_of_files([&old, &new], texts[0], texts[1])
}

fn may_ask() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
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
        run: place.as_ref().and_then(last_run).map(|run| run.id().to_owned()),
        plan: place.map_or_else(String::new, |place| place.relative),
        agent: asked.agent,
    };
    Ok(After::GoesOn(
        versioned.file.unwrap_or_else(|| found.path.clone()),
        replanned,
        effort,
    ))
}

impl Case {
    /// Returns whether each version has a file of its own.
    fn has_versions(&self) -> bool {
        let linked = self.inspection.plan.as_ref();
        linked.is_some_and(|linked| self.dialect.lineage(&linked.plan).is_some())
    }

    fn of(found: &Found, task: Option<&str>, error: Option<String>, discoveries: Vec<String>) -> anyhow::Result<Self> {
        let source = store::load(&found.path).map_err(|error| load_failure(&error))?.source;
        let mut inspection = examine(&source, Some(&found.path), found.forced).inspection;
        if inspection.count(Severity::Error) > 0 || inspection.plan.is_none() {
            return Err(Failure::shown(
                "the plan has errors, and cannot be replanned",
                MEND_FIRST,
                Evidence {
                    path: found.path.display().to_string(),
                    source,
                    span: None,
                    findings: inspection.diagnostics,
                    drawn: Drawn::Findings,
                },
            ));
        }
        take_states(&mut inspection, &found.path);
        let linked = inspection
            .plan
            .as_ref()
            .ok_or_else(|| Failure::problem("there is no plan in the file", ""))?;
        let dialect =
            dialect::find(linked.plan.dialect).ok_or_else(|| Failure::problem("nobody knows its dialect", ""))?;
        refuse_form(dialect, linked, &found.path)?;
        refuse_replaced(found)?;
        refuse_more(dialect, linked, &found.path)?;
        let failed = match task {
            Some(name) => Some(task_named(linked, name)?),
            None => linked
                .plan
                .tasks()
                .iter()
                .position(|task| task.status.state() == Some(State::Failed)),
        };
        let names = |state: State| {
            let tasks = linked.plan.tasks().iter().enumerate();
            let tasks = tasks.filter(move |(_, task)| task.status.state() == Some(state));
            tasks.map(|(ix, _)| linked.plan.task_name(ix).into_owned()).collect()
        };
        let name = failed.map(|ix| linked.plan.task_name(ix).into_owned());
        let discoveries: Vec<String> = discoveries
            .into_iter()
            .chain(found_out(&found.path, &linked.plan))
            .collect();
        let (why, log_tail) = name
            .as_deref()
            .map(|name| last_failure(&found.path, name))
            .unwrap_or_default();
        let recorded = failed.and_then(|ix| {
            let task = &linked.plan.tasks()[ix];
            linked
                .plan
                .task_str(task, Field::Error)
                .or_else(|| linked.plan.task_str(task, Field::Notes))
        });
        let error = error
            .or(why)
            .or_else(|| recorded.map(str::to_owned))
            .unwrap_or_default();
        Ok(Case {
            path: found.path.clone(),
            dialect,
            goal: goal_of(linked),
            failed: name,
            error,
            log_tail,
            discoveries,
            done: names(State::Done),
            inspection,
        })
    }

    /// Asks whoever plans for a new version.
    fn ask(
        &self,
        options: &PlannerOptions,
        config: &Config,
        brief: &Brief<'_>,
        output: &mut Output,
    ) -> anyhow::Result<(Planned, Asked)> {
        let setback = self.setback();
        let try_out = |version: &NewVersion| self.try_out(version);
        options.with_oracle(config, &root_of(&self.path), output, |oracle| {
            with_mint(|mint| planner::replan(oracle, &self.inspection, &try_out, brief, &setback, mint))
        })
    }

    /// Returns the names of all tasks.
    fn names(&self) -> Vec<String> {
        let plan = self.inspection.plan.as_ref().map(|linked| &linked.plan);
        let names = plan.map(|plan| (0..plan.tasks().len()).map(|ix| plan.task_name(ix).into_owned()));
        names.into_iter().flatten().collect()
    }

    /// Returns why a version cannot be written, where that is so.
    fn try_out(&self, version: &NewVersion) -> Vec<Diagnostic> {
        let (open, facts) = open(&self.inspection.source, Some(&self.path), Some(self.dialect));
        let path = self.path.to_string_lossy().replace('\\', "/");
        let choice = Choice {
            dialects: dialect::DIALECTS,
            forced: Some(self.dialect),
            path: Some(&path),
            facts: &facts,
        };
        match rewrite(&open, &choice, &version.slots, &clock::now()) {
            Ok(_) => Vec::new(),
            Err(Problem::Worse(findings)) => findings,
            Err(problem) => vec![Diagnostic::of_file(&REFUSED, problem.to_string()).with_help(problem.help())],
        }
    }

    fn setback(&self) -> Setback<'_> {
        Setback {
            plan_text: self.inspection.source.as_str(),
            failed_task: self.failed.as_deref(),
            error: &self.error,
            log_tail: &self.log_tail,
            discoveries: &self.discoveries,
            done: &self.done,
        }
    }
}

/// Refuses plans of forms that no planner writes.
fn refuse_form(dialect: &dyn Dialect, linked: &LinkedPlan, path: &Path) -> anyhow::Result<()> {
    let path = path.display();
    if dialect.carriers().first() == Some(&CarrierKind::Markdown) {
        return Err(Failure::problem(
            "this plan is derived from a Markdown plan, and is not replanned by itself",
            format!("change that plan, then: planwright tasks regenerate {path}"),
        ));
    }
    let table = dialect.table_of(&linked.plan, Owner::Task(0));
    let has_edges = table.is_none_or(|table| table.fields.iter().any(|spec| spec.field == Field::Dependencies));
    match has_edges {
        true => Ok(()),
        false => Err(Failure::problem(
            "tasks of this form have no dependencies, and no planner writes it",
            format!("bring it to the newest form first: planwright migrate {path}"),
        )),
    }
}

/// Refuses a version that another one has taken the place of.
fn refuse_replaced(found: &Found) -> anyhow::Result<()> {
    let Some(newest) = revise::newest_version(&found.path, found.forced) else {
        return Ok(());
    };
    let newest = from_here(&newest);
    Err(Failure::problem(
        format!(
            "`{}` was replanned before: its newest version is `{}`",
            found.path.display(),
            newest.display()
        ),
        format!("planwright replan {}", newest.display()),
    ))
}

/// Refuses to replan a plan whose versions are counted once too often.
fn refuse_more(dialect: &dyn Dialect, linked: &LinkedPlan, path: &Path) -> anyhow::Result<()> {
    let Some(lineage) = dialect.lineage(&linked.plan) else {
        return Ok(());
    };
    if lineage.version <= MAX_VERSIONS {
        return Ok(());
    }
    let path = path.display();
    let is_over = dialect.refuses_changes(&linked.plan).is_some();
    let help = match is_over {
        true => format!(
            "it has failed; plan anew what is left: `planwright plan GOAL --dialect {}`",
            dialect.name()
        ),
        false => format!(
            "try again what failed: `planwright run --retry-failed {path}`; or give it up: `planwright cancel {path}`, and plan anew"
        ),
    };
    Err(Failure::problem(
        format!("the plan was replanned {MAX_VERSIONS} times, which is as often as may be"),
        help,
    ))
}

/// Refuses a plan that was replanned as often as it may be.
pub(crate) fn refuse_again(found: &Found) -> anyhow::Result<()> {
    let source = store::load(&found.path).map_err(|error| load_failure(&error))?.source;
    let linked = examine(&source, Some(&found.path), found.forced).inspection.plan;
    let dialect = linked.as_ref().and_then(|linked| dialect::find(linked.plan.dialect));
    match (linked, dialect) {
        (Some(linked), Some(dialect)) => refuse_more(dialect, &linked, &found.path),
        _ => Ok(()),
    }
}

fn goal_of(linked: &LinkedPlan) -> String {
    let plan = &linked.plan;
    let said = [Field::Goal, Field::Title, Field::Description];
    let said = said.into_iter().find_map(|field| plan.head_str(field));
    said.unwrap_or("what the plan says").to_owned()
}

/// Returns what the agents of the last run of a plan found out, and those of the versions before it, the oldest first.
fn found_out(path: &Path, plan: &Plan) -> Vec<String> {
    let mut versions = vec![path.to_owned()];
    let mut before = file_before(path, plan);
    while let Some(file) = before.filter(|file| versions.len() < MAX_TOLD_VERSIONS && !versions.contains(file)) {
        let source = store::load(&file).ok().map(|loaded| loaded.source);
        let linked = source.and_then(|source| examine(&source, Some(&file), None).inspection.plan);
        before = linked.and_then(|linked| file_before(&file, &linked.plan));
        versions.push(file);
    }
    let mut found: Vec<String> = Vec::new();
    for discovery in versions.iter().rev().flat_map(|version| found_out_in_last_run(version)) {
        if !found.contains(&discovery) {
            found.push(discovery);
        }
    }
    found
}

/// Returns the file of the version before a plan, where the plan names one: it lies beside it, and is called by its id.
pub(crate) fn file_before(path: &Path, plan: &Plan) -> Option<PathBuf> {
    let previous = plan.head_str(Field::PreviousPlan)?;
    let extension = path
        .extension()
        .map_or_else(String::new, |extension| format!(".{}", extension.display()));
    let is_name = !previous.trim().is_empty() && !previous.contains(['/', '\\']);
    is_name.then(|| path.with_file_name(format!("{previous}{extension}")))
}

/// Returns what the agents of the last run of a plan file found out.
fn found_out_in_last_run(plan: &Path) -> Vec<String> {
    let Ok(place) = PlanPlace::of(&DiskFiles, plan) else {
        return Vec::new();
    };
    let Some(last) = last_run(&place) else {
        return Vec::new();
    };
    let records = runs::records(&DiskFiles, &last.log()).unwrap_or_default();
    let found = records.into_iter().filter_map(|record| match record.event {
        RunEvent::Finished(finished) => Some(finished.discoveries),
        _ => None,
    });
    found.flatten().collect()
}

/// Returns the last run of a plan.
fn last_run(place: &PlanPlace) -> Option<RunPlace> {
    let runs = runs::list(&DiskFiles, &place.root).unwrap_or_default();
    let is_own = |run: &RunPlace| runs::header(&run.log()).is_ok_and(|header| header.path == place.relative);
    runs.into_iter().rev().find(is_own)
}

/// Returns why a task failed in the last run that tried it, and the end of its log.
fn last_failure(plan: &Path, task: &str) -> (Option<String>, String) {
    let Ok(place) = PlanPlace::of(&DiskFiles, plan) else {
        return (None, String::new());
    };
    let runs: Vec<RunPlace> = runs::list(&DiskFiles, &place.root).unwrap_or_default();
    for run in runs.into_iter().rev() {
        let is_own = runs::header(&run.log()).is_ok_and(|header| header.path == place.relative);
        let Ok(records) = runs::records(&DiskFiles, &run.log()) else {
            continue;
        };
        let account = Account::of(&records);
        let Some(tried) = account.task(task).filter(|tried| is_own && !tried.attempts.is_empty()) else {
            continue;
        };
        let why = tried.why().map(str::to_owned);
        let log = tried.last().map(|last| run.attempt(task, last.attempt).output());
        let end = log.and_then(|path| end_of(&path).ok()).unwrap_or_default();
        return (why, String::from_utf8_lossy(&end).into_owned());
    }
    (None, String::new())
}

/// Returns the end of a log, however long it is.
fn end_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_to_read(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL)))?;
    let mut bytes = Vec::new();
    file.take(LOG_TAIL).read_to_end(&mut bytes)?;
    Ok(bytes)
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
        Word::Of(who) => format!("approved by {who}\n{reasoning}"),
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
    let versioned = with_mint(|mint| revise::new_version_of(target, &request, mint));
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
    for (file, proposal) in held(plan) {
        // What planners proposed before was for a plan that is no more; tasks are for the one that there is.
        if let (Some(next), None) = (&versioned.file, &proposal.answer) {
            hold(next, &proposal).map_err(|error| failed(&error))?;
        }
        if proposal.answer.is_some() || versioned.file.is_some() {
            settle(&file).map_err(|error| failed(&error))?;
        }
    }
    let Some(next) = &versioned.file else {
        if versioned.revised.change.is_some() {
            keep_version(plan, &versioned.revised.before, now).map_err(|error| failed(&error))?;
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
    let noted = Store::default().record_note(PlanFile { path: next, id }, change);
    noted.map_err(|error| failed(&error))
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
        let is_gone = difference.removed.contains(failed);
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

/// Returns a difference in lines.
pub(crate) fn difference_lines(difference: &Difference) -> Vec<String> {
    if difference.is_empty() {
        return vec!["no task is different".to_owned()];
    }
    let mut lines = Vec::new();
    lines.extend(difference.removed.iter().map(|task| format!("- {}", shown_name(task))));
    lines.extend(difference.added.iter().map(|new| format!("+ {}", one_line(&new.title))));
    lines.extend(
        difference
            .changed
            .iter()
            .map(|(task, fields)| format!("~ {}: {}", shown_name(task), fields.join(", "))),
    );
    lines.extend(
        difference
            .rewired
            .iter()
            .map(|task| format!("~ {}: depends on others", shown_name(task))),
    );
    lines.extend(difference.is_reordered.then(|| "~ the order of the tasks".to_owned()));
    lines
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
        removed: &difference.removed,
        changed: changed(difference),
        rewired: &difference.rewired,
        reordered: difference.is_reordered,
        reasoning: &wanted.version.reasoning,
        changes: wanted.version.changes.as_deref(),
        diff,
    }
}
