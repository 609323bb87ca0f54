//! Proposals of agents and planners for a plan: the verb `proposals`, and accepting or rejecting them for `approve` and `reject`.

use std::path::{Path, PathBuf};

use planwright_core::text::SourceText;
use planwright_run::clock;
use planwright_run::journal::{ChangeOutcome, ChangeRecord, History, PastChange, plan_id};
use planwright_run::proposals::{Proposal, held, settle};
use planwright_run::revise::{
    ReviseError, VersionContent, VersionRequest, WrittenVersion, new_version_of, newest_version,
};
use planwright_run::store::{self, PlanFile, PreparedChange, Store};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::changes::{ChangeMode, revise_failure};
use crate::failure::{Exit, Failure, Result};
use crate::planning::with_id_source;
use crate::plans::{AddedTaskReport, FoundPlan, PlanChoice, added, difference_lines, open_as};
use crate::replan::{refuse_again, succeed};
use crate::text::{diff_of_files, one_line, shown_name};
use crate::workspace::Workspace;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProposalsRequest {
    pub plan: PlanChoice,
}

#[derive(Serialize)]
pub struct ProposalsReport {
    pub schema_version: &'static str,
    pub plan: String,
    pub proposals: Vec<ProposalReport>,
}

#[derive(Serialize)]
pub struct ProposalReport {
    pub by: String,
    pub time: String,
    /// The task whose agent made it; null for a planner.
    pub task: Option<String>,
    /// New tasks, in their given fields.
    pub tasks: Vec<Value>,
    /// A planner's answer with a whole new version; otherwise null.
    pub answer: Option<String>,
    pub reasoning: String,
    #[serde(skip)]
    pub headline: String,
    /// The tasks as they were given.
    #[serde(skip)]
    pub task_texts: Vec<String>,
}

impl From<Proposal> for ProposalReport {
    fn from(proposal: Proposal) -> Self {
        let task = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
        ProposalReport {
            headline: headline(&proposal),
            by: proposal.by,
            time: proposal.time,
            task: proposal.task,
            tasks: proposal.tasks.iter().map(task).collect(),
            answer: proposal.answer,
            reasoning: proposal.reasoning,
            task_texts: proposal.tasks,
        }
    }
}

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

/// Lists the proposals for a plan.
pub fn proposals(workspace: &Workspace, request: &ProposalsRequest) -> Result<ProposalsReport> {
    let found = request.plan.find(workspace, "name its file")?;
    let opened = open_as(&found.path, found.forced)?;
    let proposals = open_proposals(&found)?;
    if proposals.is_empty() {
        opened.linked()?;
    }
    Ok(ProposalsReport {
        schema_version: "planwright.proposals/v1",
        plan: found.path.display().to_string(),
        proposals,
    })
}

/// Returns the proposals that wait for a decision, without those that are already in the plan because their file could not be removed.
pub(crate) fn open_proposals(found: &FoundPlan) -> Result<Vec<ProposalReport>> {
    let open = open(found)?.into_iter();
    Ok(open.map(|(_, proposal)| proposal.into()).collect())
}

fn open(found: &FoundPlan) -> Result<Vec<(PathBuf, Proposal)>> {
    let mut proposals = all(found)?;
    if proposals.is_empty() {
        return Ok(proposals);
    }
    let settled = Settled::read(found);
    proposals.retain(|(file, proposal)| settled.how(file, proposal).is_none());
    Ok(proposals)
}

/// Returns every proposal that has a file.
fn all(found: &FoundPlan) -> Result<Vec<(PathBuf, Proposal)>> {
    held(&found.path).map_err(|error| {
        Failure::outside(
            format!("the proposals for `{}` cannot be read: {error}", found.path.display()),
            "check that you may read `.planwright/proposals`",
        )
    })
}

/// The results of the proposals for a plan.
#[derive(Serialize)]
pub struct ApprovedReport {
    pub schema_version: &'static str,
    pub written: bool,
    pub proposals: Vec<SettledReport>,
    /// The plan to continue with.
    #[serde(skip)]
    pub plan: FoundPlan,
    /// The results, in order.
    #[serde(skip)]
    pub steps: Vec<SettlingStep>,
}

impl ApprovedReport {
    pub fn exit(&self) -> Exit {
        Exit::success_if(self.proposals.iter().all(|report| report.error.is_none()))
    }
}

#[derive(Default, Serialize)]
pub struct SettledReport {
    pub by: String,
    pub task: Option<String>,
    /// The plan that has it now; null if none has.
    pub plan: Option<String>,
    pub added: Vec<AddedTaskReport>,
    pub removed: Vec<String>,
    /// The changes of the text, if a diff was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Why it was not added to the plan.
    pub error: Option<String>,
}

/// The result of a proposal, for people.
pub enum SettlingStep {
    /// It was settled before.
    Before {
        how: &'static str,
        headline: String,
    },
    Taken {
        headline: String,
        /// The differences in terms of tasks.
        lines: Vec<String>,
        diff: Option<String>,
        /// The file of the new version.
        file: Option<PathBuf>,
    },
    Refused {
        headline: String,
        failure: Failure,
    },
}

/// Accepts all proposals into the plan, the oldest first; a failed one stays a proposal.
pub fn approve_proposals(workspace: &Workspace, found: &FoundPlan, mode: &ChangeMode) -> Result<ApprovedReport> {
    let opened = open_as(&found.path, found.forced)?;
    let proposals = all(found)?;
    if proposals.is_empty() {
        return opened.linked().and_then(|_| Err(nothing(found)));
    }
    recover(found);
    let settled = Settled::read(found);
    let mut report = ApprovedReport {
        schema_version: "planwright.approved/v1",
        written: false,
        proposals: Vec::new(),
        plan: found.clone(),
        steps: Vec::new(),
    };
    let forget = |file: &Path| match mode.is_dry() {
        true => Ok(()),
        false => settle(file).map_err(|error| Failure::environment(&error, "it is in the plan; remove the file")),
    };
    for (file, proposal) in proposals {
        let headline = headline(&proposal);
        if let Some(how) = settled.how(&file, &proposal) {
            // The process that accepted it ended before it could remove the proposal.
            forget(&file)?;
            report.steps.push(SettlingStep::Before { how, headline });
            continue;
        }
        match take(workspace, &report.plan, &proposal, &mark_of(&file), mode) {
            Ok(versioned) => {
                forget(&file)?;
                report.take(proposal, headline, versioned, mode);
            }
            Err(failure) => report.refuse(proposal, headline, failure),
        }
    }
    let is_any_taken = report.proposals.iter().any(|report| report.error.is_none());
    report.written = !mode.is_dry() && is_any_taken;
    Ok(report)
}

impl ApprovedReport {
    fn take(&mut self, proposal: Proposal, headline: String, versioned: WrittenVersion, mode: &ChangeMode) {
        let difference = &versioned.difference;
        let diff = mode.diff.then(|| diff_of(&self.plan, &versioned));
        let lines = difference_lines(difference);
        let (added, removed) = (
            added(difference),
            difference.removed_names().map(str::to_owned).collect(),
        );
        let file = versioned.file.filter(|_| !mode.is_dry());
        if let Some(path) = &file {
            self.plan.path.clone_from(path);
        }
        self.proposals.push(SettledReport {
            by: proposal.by,
            task: proposal.task,
            plan: Some(self.plan.path.display().to_string()),
            added,
            removed,
            diff: diff.clone(),
            error: None,
        });
        self.steps.push(SettlingStep::Taken {
            headline,
            lines,
            diff,
            file,
        });
    }

    fn refuse(&mut self, proposal: Proposal, headline: String, failure: Failure) {
        self.proposals.push(SettledReport {
            by: proposal.by,
            task: proposal.task,
            error: Some(failure.to_string()),
            ..SettledReport::default()
        });
        self.steps.push(SettlingStep::Refused { headline, failure });
    }
}

/// Returns the mark of an accepted proposal in the history of a plan.
fn mark_of(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default();
    format!("proposal {}", stem.to_string_lossy())
}

/// How settled proposals are recognised, even if their files still exist.
struct Settled {
    /// Whether the plan has a newer version in another file, so that other proposed versions are obsolete.
    has_successor: bool,
    /// The notes of the valid changes, in the plan and in its newest version.
    notes: Vec<String>,
}

impl Settled {
    fn read(found: &FoundPlan) -> Self {
        let newest = newest_version(&found.path, found.forced);
        let paths = [Some(found.path.as_path()), newest.as_deref()];
        let histories = paths
            .into_iter()
            .flatten()
            .filter_map(|path| store::history(PlanFile { path, id: None }).ok());
        let notes = histories.flat_map(|history| {
            let holds = |past: &&PastChange| past.undone_by.is_none() && past.outcome == ChangeOutcome::Landed;
            let changes = history.changes();
            let notes = changes.iter().filter(holds).filter_map(|past| past.change.note.clone());
            notes.collect::<Vec<_>>()
        });
        Settled {
            notes: notes.collect(),
            has_successor: newest.is_some(),
        }
    }

    /// Returns how a proposal was settled; none if it was not.
    fn how(&self, file: &Path, proposal: &Proposal) -> Option<&'static str> {
        let mark = mark_of(file);
        let is_taken = self.notes.iter().any(|note| note.lines().any(|line| line == mark));
        let is_overtaken = self.has_successor && proposal.answer.is_some();
        let overtaken = is_overtaken.then_some("there is a newer version already");
        is_taken.then_some("taken before").or(overtaken)
    }
}

/// Completes an interrupted change in the plan or in its newest version, as every change of them does.
fn recover(found: &FoundPlan) {
    let newest = newest_version(&found.path, found.forced);
    for path in [Some(found.path.as_path()), newest.as_deref()].into_iter().flatten() {
        let nothing = |_: &SourceText, _: &History| Ok::<_, Failure>(None::<PreparedChange>);
        // A write error is reported when there is something to write.
        let _ = Store::default().update(PlanFile { path, id: None }, "approve", nothing);
    }
}

/// Accepts one proposal into the plan.
fn take(
    workspace: &Workspace,
    found: &FoundPlan,
    proposal: &Proposal,
    mark: &str,
    mode: &ChangeMode,
) -> Result<WrittenVersion> {
    let now = clock::now();
    let matter = match &proposal.answer {
        Some(answer) => VersionContent::Answer(answer),
        None => VersionContent::More(&proposal.tasks),
    };
    if proposal.answer.is_some() {
        refuse_again(found)?;
        refuse_newer_tasks(found, proposal)?;
    }
    let reasoning = format!("approved by {}.\n{}\n{mark}", mode.who(), proposal.reasoning);
    let reasoning = reasoning.replace("\n\n", "\n");
    let request = VersionRequest {
        matter,
        by: &proposal.by,
        reasoning: reasoning.trim(),
        now: &now,
        on: None,
    };
    let failed = |error: ReviseError| revise_failure(found, &error);
    let version = |is_dry: bool| {
        with_id_source(workspace, |id_source| {
            new_version_of(found.target(is_dry), &request, id_source)
        })
    };
    let tried = version(true).map_err(failed)?;
    if mode.is_dry() {
        return Ok(tried);
    }
    let versioned = version(false).map_err(failed)?;
    if proposal.answer.is_some() {
        succeed(&found.path, &versioned, &proposal.by, reasoning.trim(), &now)?;
    }
    Ok(versioned)
}

/// Refuses a version that was made before tasks were added to the plan.
fn refuse_newer_tasks(found: &FoundPlan, proposal: &Proposal) -> Result<()> {
    let linked = found.linked();
    let plan = linked.as_ref().map(|linked| &linked.plan);
    let names = plan.map(|plan| (0..plan.tasks().len()).map(|ix| plan.task_name(ix).into_owned()));
    let mut names = names.into_iter().flatten();
    match names.find(|task| !proposal.known.contains(task)) {
        None => Ok(()),
        Some(task) => Err(Failure::problem(
            format!(
                "{} was added to the plan after the version was made, and is not in it",
                shown_name(&task)
            ),
            "replan again",
        )),
    }
}

#[derive(Serialize)]
pub struct RejectedReport {
    pub schema_version: &'static str,
    pub plan: String,
    pub written: bool,
    pub proposals: Vec<ProposalReport>,
}

/// Removes all proposals for a plan. Its history keeps the reason.
pub fn reject_proposals(found: &FoundPlan, note: Option<&str>, mode: &ChangeMode) -> Result<RejectedReport> {
    let opened = open_as(&found.path, found.forced)?;
    let proposals = open(found)?;
    if proposals.is_empty() {
        return opened.linked().and_then(|_| Err(nothing(found)));
    }
    let mut reports = Vec::new();
    for (file, proposal) in proposals {
        if !mode.is_dry() {
            settle(&file).map_err(|error| Failure::environment(&error, "check that you may write to `.planwright`"))?;
            record_rejection(found, &proposal, note, mode)?;
        }
        reports.push(proposal.into());
    }
    Ok(RejectedReport {
        schema_version: "planwright.rejected/v1",
        plan: found.path.display().to_string(),
        written: !mode.is_dry(),
        proposals: reports,
    })
}

fn record_rejection(found: &FoundPlan, proposal: &Proposal, note: Option<&str>, mode: &ChangeMode) -> Result<()> {
    let linked = found.linked();
    let change = ChangeRecord {
        verb: "reject".to_owned(),
        by: Some(mode.who()),
        note: Some(format!("{}: {}", headline(proposal), note.unwrap_or_default())),
        ..ChangeRecord::default()
    };
    let file = PlanFile {
        path: &found.path,
        id: linked.as_ref().and_then(|linked| plan_id(&linked.plan)),
    };
    let recorded = Store::default().record_note(file, change);
    recorded
        .map(drop)
        .map_err(|error| Failure::environment(&error, "the proposal is removed even so"))
}

/// Returns the changes of a plan's text by a proposal.
fn diff_of(found: &FoundPlan, versioned: &WrittenVersion) -> String {
    let new = versioned.file.as_ref().unwrap_or(&found.path);
    let [old, new] = [&found.path, new].map(|path| path.display().to_string());
    let texts = [versioned.revised.before.as_str(), versioned.revised.text.as_str()];
    diff_of_files([&old, &new], texts[0], texts[1])
}

fn nothing(found: &FoundPlan) -> Failure {
    Failure::problem(
        format!("there are no proposals for `{}`", found.path.display()),
        "`planwright proposals` lists all proposals",
    )
}
