//! `planwright proposals`: lists proposals for a plan; also accepts and rejects them for `approve` and `reject`.

use std::path::{Path, PathBuf};

use planwright_core::planning::replan::NamedTask;
use planwright_core::text::SourceText;
use planwright_run::clock;
use planwright_run::journal::{Change, History, Outcome, PastChange, plan_id};
use planwright_run::proposals::{Proposal, held, settle};
use planwright_run::revise::{Matter, ReviseError, Target, VersionRequest, Versioned, new_version_of, newest_version};
use planwright_run::store::{self, PlanFile, Prepared, Store};
use planwright_run::user::user;
use serde::Serialize;
use serde_json::Value;

use super::change::{Found, failure};
use super::create::with_id_source;
use super::difference::difference_lines;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::plan_arg::{TargetArgument, open_as};
use super::replan::{refuse_again, succeed};
use super::run::stem_of;
use crate::render::diff::diff_of_files;
use crate::render::terminal::{addressed, cut, one_line, shown_name};

/// List what agents and planners propose for a plan.
///
/// Agents propose tasks where they find work that the plan lacks, planners new versions.
/// `planwright approve --proposed` takes it into the plan, `planwright reject --proposed` forgets it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright proposals
  planwright proposals plan-a1b2c3d4 --json")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: TargetArgument,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    plan: String,
    proposals: Vec<ProposalReport>,
}

#[derive(Serialize)]
struct RejectedReport {
    schema_version: &'static str,
    plan: String,
    written: bool,
    proposals: Vec<ProposalReport>,
}

/// A proposal, for programs.
#[derive(Serialize)]
struct ProposalReport {
    by: String,
    time: String,
    /// The task whose agent proposes it; null for a planner.
    task: Option<String>,
    /// Tasks that are to be added, in the fields that were given.
    tasks: Vec<Value>,
    /// A planner's answer with a whole new version; else null.
    answer: Option<String>,
    reasoning: String,
}

impl ProposalReport {
    fn new(proposal: Proposal) -> Self {
        let task = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
        ProposalReport {
            by: proposal.by,
            time: proposal.time,
            task: proposal.task,
            tasks: proposal.tasks.into_iter().map(task).collect(),
            answer: proposal.answer,
            reasoning: proposal.reasoning,
        }
    }
}

/// How proposals are settled.
#[derive(Clone, Copy, Default)]
pub(crate) struct Settling {
    /// Whether nothing is written.
    pub(crate) dry: bool,
    /// Whether the texts are shown.
    pub(crate) diff: bool,
    /// Whether programs are told.
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let found = args.plan.find()?;
    let opened = open_as(&found.path, found.forced)?;
    let proposals: Vec<Proposal> = open(&found)?.into_iter().map(|(_, proposal)| proposal).collect();
    if proposals.is_empty() {
        opened.linked()?;
    }
    if args.json {
        output.json(&Report {
            schema_version: "planwright.proposals/v1",
            plan: found.path.display().to_string(),
            proposals: proposals.into_iter().map(ProposalReport::new).collect(),
        })?;
        return Ok(Exit::Success);
    }
    if proposals.is_empty() {
        output.remark("nothing is proposed");
    }
    list(&proposals, output);
    Ok(Exit::Success)
}

/// Shows what is proposed for a plan.
pub(crate) fn show(found: &Found, output: &mut Output) -> anyhow::Result<()> {
    let proposals: Vec<Proposal> = open(found)?.into_iter().map(|(_, proposal)| proposal).collect();
    list(&proposals, output);
    Ok(())
}

fn list(proposals: &[Proposal], output: &mut Output) {
    for proposal in proposals {
        output.line(&headline(proposal));
        for task in &proposal.tasks {
            output.line(&format!("  + {}", cut(&one_line(task), 120)));
        }
        if !proposal.reasoning.is_empty() {
            output.write(&addressed(
                &format!("  {}\n", proposal.reasoning.replace('\n', "\n  ")),
                output.audience(),
            ));
        }
    }
}

/// Returns a proposal in words.
fn headline(proposal: &Proposal) -> String {
    let what = match (&proposal.answer, proposal.tasks.len()) {
        (Some(_), _) => "a new version".to_owned(),
        (None, 1) => "a task".to_owned(),
        (None, n) => format!("{n} tasks"),
    };
    let of = proposal
        .task
        .as_deref()
        .map_or_else(String::new, |task| format!(", at {}", shown_name(task)));
    format!("{what} by {}{of}, {}", one_line(&proposal.by), one_line(&proposal.time))
}

/// What became of a proposal, for programs.
#[derive(Serialize)]
struct SettledReport {
    by: String,
    task: Option<String>,
    /// The plan that it came into; null where it did not.
    plan: Option<String>,
    added: Vec<AddedTask>,
    removed: Vec<String>,
    /// How the text changes, with --diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// Why it did not come into the plan.
    error: Option<String>,
}

#[derive(Serialize)]
struct AddedTask {
    task: String,
    title: String,
}

#[derive(Serialize)]
struct SettledReports {
    schema_version: &'static str,
    written: bool,
    proposals: Vec<SettledReport>,
}

/// Takes all that is proposed into the plan, the oldest first; what cannot be taken stays where it is. Returns the plan to go on with,
/// and whether all could be taken.
pub(crate) fn approve(
    found: &Found,
    by: Option<&str>,
    how: Settling,
    output: &mut Output,
) -> anyhow::Result<(Found, bool)> {
    let Settling { dry, diff, json } = how;
    let by = by.map_or_else(user, str::to_owned);
    let opened = open_as(&found.path, found.forced)?;
    let proposals = all(found)?;
    if proposals.is_empty() {
        return opened.linked().and_then(|_| Err(nothing(found)));
    }
    recover(found);
    let settled = Settled::read(found);
    let mut current = found.clone();
    let mut reports = Vec::new();
    for (file, proposal) in proposals {
        if let Some(how) = settled.how(&file, &proposal) {
            // Whoever took it was stopped before it could be forgotten.
            if !dry {
                settle(&file).map_err(|error| Failure::environment(&error, "it is in the plan; remove the file"))?;
            }
            if !json {
                output.line(&format!("{how}: {}", headline(&proposal)));
            }
            continue;
        }
        let taken = take(&current, &proposal, &mark_of(&file), &by, dry);
        let mut report = SettledReport {
            by: proposal.by.clone(),
            task: proposal.task.clone(),
            plan: None,
            added: Vec::new(),
            removed: Vec::new(),
            diff: None,
            error: None,
        };
        match taken {
            Ok(versioned) => {
                report.diff = diff.then(|| diff_of(&current, &versioned));
                if !json {
                    let would = if dry { "would be taken: " } else { "" };
                    output.line(&format!("{would}{}", headline(&proposal)));
                    for line in difference_lines(&versioned.difference) {
                        output.line(&format!("  {line}"));
                    }
                    if let Some(diff) = &report.diff {
                        output.write_exact(diff);
                    }
                }
                let added = versioned.difference.added.iter().cloned();
                report.added = added
                    .map(|NamedTask { task, title }| AddedTask { task, title })
                    .collect();
                report.removed = versioned.difference.removed_names().map(str::to_owned).collect();
                if !dry {
                    settle(&file)
                        .map_err(|error| Failure::environment(&error, "it is in the plan; remove the file"))?;
                }
                if let Some(path) = versioned.file.filter(|_| !dry) {
                    if !json {
                        output.line(&format!("the new version is {}", one_line(&path.display().to_string())));
                    }
                    current.path = path;
                }
                report.plan = Some(current.path.display().to_string());
            }
            Err(error) => {
                if !json {
                    output.line(&format!("not taken: {}", headline(&proposal)));
                    output.complain(&error);
                }
                report.error = Some(error.to_string());
            }
        }
        reports.push(report);
    }
    let is_all = reports.iter().all(|report| report.error.is_none());
    if json {
        output.json(&SettledReports {
            schema_version: "planwright.approved/v1",
            written: !dry && reports.iter().any(|report| report.error.is_none()),
            proposals: reports,
        })?;
    } else if !is_all {
        output.remark("help: `planwright reject --proposed --note WHY` forgets what is left");
    }
    Ok((current, is_all))
}

/// Returns what the history of a plan has of a proposal that came into it.
fn mark_of(file: &Path) -> String {
    format!("proposal {}", stem_of(file))
}

/// Returns what is proposed and waits for a word: not what came into the plan with a taker who was stopped before it was forgotten.
pub(crate) fn open(found: &Found) -> anyhow::Result<Vec<(PathBuf, Proposal)>> {
    let mut proposals = all(found)?;
    if proposals.is_empty() {
        return Ok(proposals);
    }
    let settled = Settled::read(found);
    proposals.retain(|(file, proposal)| settled.how(file, proposal).is_none());
    Ok(proposals)
}

/// Returns what was ever proposed and is still there.
fn all(found: &Found) -> anyhow::Result<Vec<(PathBuf, Proposal)>> {
    held(&found.path).map_err(|error| {
        Failure::outside(
            format!(
                "what is proposed for `{}` cannot be read: {error}",
                found.path.display()
            ),
            "check that you may read `.planwright/proposals`",
        )
    })
}

/// By what proposals are known to be settled, whether their files are still there or not.
struct Settled {
    /// Whether the plan has a newer version in a file of its own. Other versions of it are not asked for any more.
    has_successor: bool,
    /// The notes of the changes that hold, in the plan and in its newest version.
    notes: Vec<String>,
}

impl Settled {
    fn read(found: &Found) -> Self {
        let newest = newest_version(&found.path, found.forced);
        let paths = [Some(found.path.as_path()), newest.as_deref()];
        let histories = paths
            .into_iter()
            .flatten()
            .filter_map(|path| store::history(PlanFile { path, id: None }).ok());
        let notes = histories.flat_map(|history| {
            let holds = |past: &&PastChange| past.undone_by.is_none() && past.outcome == Outcome::Landed;
            let changes = history.changes();
            let notes = changes.iter().filter(holds).filter_map(|past| past.change.note.clone());
            notes.collect::<Vec<_>>()
        });
        Settled {
            notes: notes.collect(),
            has_successor: newest.is_some(),
        }
    }

    /// Returns how a proposal was settled; none where it was not.
    fn how(&self, file: &Path, proposal: &Proposal) -> Option<&'static str> {
        let mark = mark_of(file);
        let is_taken = self.notes.iter().any(|note| note.lines().any(|line| line == mark));
        let is_overtaken = self.has_successor && proposal.answer.is_some();
        let overtaken = is_overtaken.then_some("there is a newer version already");
        is_taken.then_some("taken before").or(overtaken)
    }
}

/// Finds out what came of a change that was interrupted, in the plan or in its newest version, as everybody does who changes them.
fn recover(found: &Found) {
    let newest = newest_version(&found.path, found.forced);
    for path in [Some(found.path.as_path()), newest.as_deref()].into_iter().flatten() {
        let nothing = |_: &SourceText, _: &History| anyhow::Ok(None::<Prepared>);
        // Who cannot write is told so when there is something to write.
        let _ = Store::default().update(PlanFile { path, id: None }, "approve", nothing);
    }
}

/// Takes one proposal into the plan.
fn take(found: &Found, proposal: &Proposal, mark: &str, by: &str, dry: bool) -> anyhow::Result<Versioned> {
    let now = clock::now();
    let matter = match &proposal.answer {
        Some(answer) => Matter::Answer(answer),
        None => Matter::More(&proposal.tasks),
    };
    if proposal.answer.is_some() {
        refuse_again(found)?;
    }
    let reasoning = format!("approved by {by}.\n{}\n{mark}", proposal.reasoning);
    let reasoning = reasoning.replace("\n\n", "\n");
    let request = VersionRequest {
        matter,
        by: &proposal.by,
        reasoning: reasoning.trim(),
        now: &now,
        on: None,
    };
    let target = |dry: bool| Target {
        path: &found.path,
        forced: found.forced,
        dry,
    };
    let failed = |error: ReviseError| failure(found, &error);
    if let Some(task) = names_of(found)
        .into_iter()
        .find(|task| proposal.answer.is_some() && !proposal.known.contains(task))
    {
        return Err(Failure::problem(
            format!(
                "{} came into the plan since the version was made, and is not in it",
                shown_name(&task)
            ),
            "replan again",
        ));
    }
    let tried = with_id_source(|id_source| new_version_of(target(true), &request, id_source)).map_err(failed)?;
    if dry {
        return Ok(tried);
    }
    let versioned = with_id_source(|id_source| new_version_of(target(false), &request, id_source)).map_err(failed)?;
    if proposal.answer.is_some() {
        succeed(&found.path, &versioned, &proposal.by, reasoning.trim(), &now)?;
    }
    Ok(versioned)
}

/// Returns the names of the tasks that a plan has now.
fn names_of(found: &Found) -> Vec<String> {
    let names = found.linked().map(|linked| {
        let tasks = 0..linked.plan.tasks().len();
        tasks.map(|ix| linked.plan.task_name(ix).into_owned()).collect()
    });
    names.unwrap_or_default()
}

/// Forgets all that is proposed.
pub(crate) fn reject(
    found: &Found,
    by: Option<&str>,
    note: Option<&str>,
    how: Settling,
    output: &mut Output,
) -> anyhow::Result<()> {
    let Settling { dry, json, .. } = how;
    let by = by.map_or_else(user, str::to_owned);
    let opened = open_as(&found.path, found.forced)?;
    let proposals = open(found)?;
    if proposals.is_empty() {
        return opened.linked().and_then(|_| Err(nothing(found)));
    }
    let mut reports = Vec::new();
    for (file, proposal) in proposals {
        if !dry {
            settle(&file).map_err(|error| Failure::environment(&error, "check that you may write to `.planwright`"))?;
            let linked = found.linked();
            let change = Change {
                verb: "reject".to_owned(),
                by: Some(by.clone()),
                note: Some(format!("{}: {}", headline(&proposal), note.unwrap_or_default())),
                ..Change::default()
            };
            let file = PlanFile {
                path: &found.path,
                id: linked.as_ref().and_then(|linked| plan_id(&linked.plan)),
            };
            Store::default()
                .record_note(file, change)
                .map_err(|error| Failure::environment(&error, "the proposal is removed even so"))?;
        }
        if !json {
            let word = if dry { "would be rejected" } else { "rejected" };
            output.line(&format!("{word}: {}", headline(&proposal)));
        }
        reports.push(ProposalReport::new(proposal));
    }
    if json {
        output.json(&RejectedReport {
            schema_version: "planwright.rejected/v1",
            plan: found.path.display().to_string(),
            written: !dry,
            proposals: reports,
        })?;
    }
    Ok(())
}

/// Returns how a plan's text changes with a proposal that is not written.
fn diff_of(found: &Found, versioned: &Versioned) -> String {
    let new = versioned.file.as_ref().unwrap_or(&found.path);
    let [old, new] = [&found.path, new].map(|path| path.display().to_string());
    let texts = [versioned.revised.before.as_str(), versioned.revised.text.as_str()];
    diff_of_files([&old, &new], texts[0], texts[1])
}

fn nothing(found: &Found) -> anyhow::Error {
    Failure::problem(
        format!("nothing is proposed for `{}`", found.path.display()),
        "`planwright proposals` lists what is",
    )
}
