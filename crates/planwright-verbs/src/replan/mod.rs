//! The verb `replan`: an agent makes a new version of a plan. Done tasks stay unchanged.

mod case;

use std::path::{Path, PathBuf};

use planwright_core::planning::prompt::{PlanningBrief, Purpose, replan_prompt};
use planwright_run::clock;
use planwright_run::config::Config;
use planwright_run::files::DiskFiles;
use planwright_run::journal::{ChangeRecord, plan_id};
use planwright_run::layout::{PlanPlace, root_of};
use planwright_run::planner::{PlanningCost, PlanningError, WantedVersion};
use planwright_run::proposals::{Proposal, held, hold, settle};
use planwright_run::revise::{self, VersionContent, VersionRequest, WrittenVersion};
use planwright_run::runs::ReplanOrigin;
use planwright_run::store::{PlanFile, Store, keep_version};
use planwright_run::user::user;
use serde::{Deserialize, Serialize};

use crate::changes::{refuse_during_run, revise_failure};
use crate::configuration::sound_config;
use crate::failure::{Exit, Failure, Result};
use crate::planning::{Confirmation, EffortReport, PlannerRequest, PlanningObserver, planning_failure, with_id_source};
use crate::plans::{
    AddedTaskReport, ChangedTaskReport, FoundPlan, PlanChoice, added, changed, difference_lines, refuse_own_plan,
};
use crate::text::diff_of_files;
use crate::workspace::Workspace;
use case::Case;
pub(crate) use case::{MAX_VERSIONS, refuse_again};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReplanRequest {
    pub plan: PlanChoice,
    pub planner: PlannerRequest,
    /// The task that failed; none for the first one.
    pub task: Option<String>,
    /// Its error; none for that of the plan and the last run.
    pub error: Option<String>,
    /// Discoveries since the plan was made.
    pub discoveries: Vec<String>,
    /// Writes the new version without asking.
    pub yes: bool,
    pub by: Option<String>,
    /// Also reports the changes of the text.
    pub diff: bool,
}

#[derive(Serialize)]
pub struct ReplanReport {
    pub schema_version: &'static str,
    pub plan: String,
    /// The file of the new version, if it has its own.
    pub file: Option<String>,
    /// Whether the version was approved and written. Otherwise it is stored as a proposal.
    pub written: bool,
    pub agent: String,
    pub effort: EffortReport,
    pub added: Vec<AddedTaskReport>,
    pub removed: Vec<String>,
    pub changed: Vec<ChangedTaskReport>,
    pub rewired: Vec<String>,
    pub reordered: bool,
    pub reasoning: String,
    pub changes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    #[serde(skip)]
    pub proposed: ProposedVersion,
    #[serde(skip)]
    pub is_changed: bool,
    /// Why the pointer file could not be updated.
    #[serde(skip)]
    pub pointer: Option<String>,
}

/// A new version before it is written.
pub struct ProposedVersion {
    /// The differences in terms of tasks.
    pub lines: Vec<String>,
    pub changes: Option<String>,
    pub reasoning: String,
    /// The task that failed, if it is unchanged in this version.
    pub same_failure: Option<String>,
    /// The changes of the text, if a diff was requested.
    pub diff: Option<String>,
}

/// Observes the verb `replan`.
pub trait ReplanObserver: PlanningObserver {
    /// Shows a new version, and asks whether to write it. If the caller cannot ask, it is stored as a proposal.
    fn confirms_version(&mut self, _proposed: &ProposedVersion) -> Confirmation {
        Confirmation::CannotAsk
    }
}

/// The approval of a new version.
#[derive(Clone, Copy)]
enum VersionApproval<'w> {
    Of(&'w str),
    NotNeeded,
    /// The version is not approved, and is not written.
    None,
}

/// Returns the prompt of the agent. Starts nothing and writes nothing.
pub fn prompt(workspace: &Workspace, request: &ReplanRequest) -> Result<String> {
    let (_, case, config) = opened(workspace, request)?;
    with_brief(workspace, &case, &request.planner, &config, |brief| {
        Ok(replan_prompt(brief, &case.setback()).text)
    })
}

/// Has an agent make a new version of a plan.
pub fn replan(
    workspace: &Workspace,
    request: &ReplanRequest,
    observer: &mut dyn ReplanObserver,
) -> Result<ReplanReport> {
    let (found, case, config) = opened(workspace, request)?;
    if case.has_versions() {
        // The new version may be another file: the run would continue with the old one.
        refuse_during_run(&found, "replan this plan")?;
    }
    let planner = &request.planner;
    let answer = with_brief(workspace, &case, planner, &config, |brief| {
        case.ask(workspace, planner, &config, brief, observer)
    })?;
    if let Some(exit) = answer.cancelled {
        return Err(Failure::interrupted(exit));
    }
    let (wanted, effort) = answer.made.map_err(|error| unusable(workspace, error, &found.path))?;
    let agent = answer.agent.as_str();
    let apply = |approval| apply(workspace, (&found, &case), (&wanted, agent), approval);
    let mut proposed = ProposedVersion::of(&case, &wanted);
    let is_approved = request.yes || {
        if request.diff {
            proposed.diff = Some(diff_of(&found, &case, &apply(VersionApproval::None)?));
        }
        observer.confirms_version(&proposed) == Confirmation::Yes
    };
    let who = request.by.clone().unwrap_or_else(user);
    let versioned = match is_approved {
        true => apply(VersionApproval::Of(&who))?,
        false => apply(VersionApproval::None)?,
    };
    if !is_approved {
        let proposal = Proposal {
            by: agent.to_owned(),
            time: clock::now(),
            answer: Some(wanted.answer.clone()),
            known: case.names(),
            reasoning: wanted.version.reasoning.clone(),
            ..Proposal::default()
        };
        hold(&found.path, &proposal).map_err(|error| Failure::environment(&error, "nothing was written"))?;
    }
    Ok(ReplanReport {
        written: is_approved,
        diff: request.diff.then(|| diff_of(&found, &case, &versioned)),
        ..report(&found, &versioned, proposed, agent, effort)
    })
}

fn opened(workspace: &Workspace, request: &ReplanRequest) -> Result<(FoundPlan, Case, Config)> {
    let found = request.plan.find(workspace, "name its file")?;
    refuse_own_plan(&found, "replan its own plan")?;
    let config = sound_config(workspace, &root_of(&found.path), "nothing is planned by it")?.config;
    let discoveries = request.discoveries.clone();
    let case = Case::of(&found, request.task.as_deref(), request.error.clone(), discoveries)?;
    Ok((found, case, config))
}

fn with_brief<T>(
    workspace: &Workspace,
    case: &Case,
    planner: &PlannerRequest,
    config: &Config,
    call: impl FnOnce(&PlanningBrief<'_>) -> Result<T>,
) -> Result<T> {
    let texts = planner.texts(workspace, Purpose::Replan, config, &root_of(&case.path))?;
    call(&texts.brief(case.dialect, &case.goal))
}

/// The result of replanning after a failed run.
pub enum AfterFailure {
    Nothing,
    Replanned(Box<ReplannedPlan>),
    /// The user cancelled it.
    Cancelled(Exit),
}

/// The plan that the next run uses.
pub struct ReplannedPlan {
    pub plan: PathBuf,
    /// Its origin, for the log of the next run.
    pub how: ReplanOrigin,
    pub effort: PlanningCost,
    pub report: ReplanReport,
}

/// Replans after a failed run, without asking.
pub(crate) fn replan_after_failure(
    workspace: &Workspace,
    found: &FoundPlan,
    config: &Config,
    observer: &mut dyn PlanningObserver,
) -> Result<AfterFailure> {
    let planner = PlannerRequest::default();
    let case = Case::of(found, None, None, Vec::new())?;
    if case.failed.is_none() {
        return Ok(AfterFailure::Nothing);
    }
    let answer = with_brief(workspace, &case, &planner, config, |brief| {
        case.ask(workspace, &planner, config, brief, observer)
    })?;
    if let Some(exit) = answer.cancelled {
        return Ok(AfterFailure::Cancelled(exit));
    }
    let (wanted, effort) = answer.made.map_err(|error| unusable(workspace, error, &found.path))?;
    let versioned = apply(
        workspace,
        (found, &case),
        (&wanted, &answer.agent),
        VersionApproval::NotNeeded,
    )?;
    let place = PlanPlace::of(&DiskFiles, &found.path).ok();
    let proposed = ProposedVersion::of(&case, &wanted);
    Ok(AfterFailure::Replanned(Box::new(ReplannedPlan {
        report: report(found, &versioned, proposed, &answer.agent, effort),
        how: ReplanOrigin {
            run: case.last_run().map(|run| run.id().to_owned()),
            plan: place.map_or_else(String::new, |place| place.relative),
            agent: answer.agent,
        },
        plan: versioned.file.unwrap_or_else(|| found.path.clone()),
        effort,
    })))
}

fn unusable(workspace: &Workspace, error: PlanningError, plan: &Path) -> Failure {
    let taken = |answer: &str| Some(format!("planwright replan {} --from {answer}", plan.display()));
    planning_failure(workspace, error, plan, taken)
}

/// Returns the difference between the texts of a new version and the old one.
fn diff_of(found: &FoundPlan, case: &Case, versioned: &WrittenVersion) -> String {
    let [old, new] =
        [&found.path, versioned.file.as_ref().unwrap_or(&found.path)].map(|path| path.display().to_string());
    let texts = [case.inspection.source.as_str(), versioned.revised.text.as_str()];
    diff_of_files([&old, &new], texts[0], texts[1])
}

impl ProposedVersion {
    fn of(case: &Case, wanted: &WantedVersion) -> Self {
        let difference = &wanted.version.difference;
        let is_same = |failed: &&String| {
            let is_changed = difference.changed.iter().any(|(task, _)| task == *failed);
            let is_gone = difference.removed_names().any(|name| name == *failed);
            !is_gone && !is_changed && !difference.rewired.contains(failed)
        };
        ProposedVersion {
            lines: difference_lines(difference),
            changes: wanted.version.changes.clone(),
            reasoning: wanted.version.reasoning.clone(),
            same_failure: case.failed.as_ref().filter(is_same).cloned(),
            diff: None,
        }
    }
}

fn report(
    found: &FoundPlan,
    versioned: &WrittenVersion,
    proposed: ProposedVersion,
    agent: &str,
    effort: PlanningCost,
) -> ReplanReport {
    let difference = &versioned.difference;
    ReplanReport {
        schema_version: "planwright.replan/v1",
        plan: found.path.display().to_string(),
        file: versioned.file.as_ref().map(|file| file.display().to_string()),
        written: true,
        agent: agent.to_owned(),
        effort: effort.into(),
        added: added(difference),
        removed: difference.removed_names().map(str::to_owned).collect(),
        changed: changed(difference),
        rewired: difference.rewired.clone(),
        reordered: difference.is_reordered,
        reasoning: proposed.reasoning.clone(),
        changes: proposed.changes.clone(),
        diff: None,
        is_changed: versioned.revised.change.is_some(),
        pointer: versioned.revised.pointer.as_ref().map(ToString::to_string),
        proposed,
    }
}

/// Writes the new version, or computes it in a dry run.
fn apply(
    workspace: &Workspace,
    (found, case): (&FoundPlan, &Case),
    (wanted, agent): (&WantedVersion, &str),
    approval: VersionApproval<'_>,
) -> Result<WrittenVersion> {
    let dry = matches!(approval, VersionApproval::None);
    let reasoning = match &wanted.version.changes {
        Some(changes) => format!("{changes}\n\n{}", wanted.version.reasoning),
        None => wanted.version.reasoning.clone(),
    };
    let reasoning = match approval {
        VersionApproval::Of(who) if !reasoning.trim().is_empty() => format!("approved by {who}.\n{reasoning}"),
        VersionApproval::Of(who) => format!("approved by {who}"),
        VersionApproval::NotNeeded | VersionApproval::None => reasoning,
    };
    let now = clock::now();
    let request = VersionRequest {
        matter: VersionContent::Answer(&wanted.answer),
        by: agent,
        reasoning: reasoning.trim(),
        now: &now,
        on: Some(&case.inspection.source),
    };
    let versioned = with_id_source(workspace, |id_source| {
        revise::new_version_of(found.target(dry), &request, id_source)
    });
    let versioned = versioned.map_err(|error| revise_failure(found, &error))?;
    if !dry {
        succeed(&found.path, &versioned, agent, reasoning.trim(), &now)?;
    }
    Ok(versioned)
}

/// Stores the previous version, and passes on the proposals that apply to the new one.
pub(crate) fn succeed(plan: &Path, versioned: &WrittenVersion, by: &str, reasoning: &str, now: &str) -> Result<()> {
    // The system's message matters here; errors about files would claim that those are unchanged.
    let failed = |error: &(dyn std::error::Error + 'static)| {
        let mut chain = std::iter::successors(Some(error), |error| error.source());
        let cause = chain.find(|error| error.is::<std::io::Error>());
        let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
        let message = format!("the new version is written, but its history is incomplete{cause}");
        Failure::environment(
            &std::io::Error::other(message),
            "check that you may write to `.planwright`, and that there is space",
        )
    };
    let proposals = held(plan);
    for (file, proposal) in proposals.as_deref().unwrap_or_default() {
        // Versions that planners proposed were for the previous plan; tasks are for the new one.
        if let (Some(next), None) = (&versioned.file, &proposal.answer) {
            hold(next, proposal).map_err(|error| failed(&error))?;
        }
        if proposal.answer.is_some() || versioned.file.is_some() {
            settle(file).map_err(|error| failed(&error))?;
        }
    }
    note_version(plan, versioned, by, reasoning, now).map_err(|error| failed(&*error))?;
    // Proposals that cannot be read are reported last, after the previous version is saved.
    proposals.map(drop).map_err(|error| failed(&error))
}

/// Stores the text that a new version replaced, or records the origin of a new file.
fn note_version(
    plan: &Path,
    versioned: &WrittenVersion,
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
    let change = ChangeRecord {
        verb: "replan".to_owned(),
        by: Some(by.to_owned()),
        note: Some(reasoning.to_owned()).filter(|note| !note.is_empty()),
        ..ChangeRecord::default()
    };
    Store::default().record_note(PlanFile { path: next, id }, change)?;
    Ok(())
}
