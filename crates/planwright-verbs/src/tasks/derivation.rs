//! Planning a task pack: the planner's input, and the pack from its answer.

use std::path::{Path, PathBuf};

use planwright_core::diagnostic::Diagnostic;
use planwright_core::planning::derive::{
    DERIVED, DerivationRequest, DeriveError, Derived, Previous, check_plan, derive,
};
use planwright_core::planning::prompt::{Derivation, Purpose, derive_prompt};
use planwright_core::text::SourceText;
use planwright_run::planner::{self, PlanningCost};
use planwright_run::store;

use crate::configuration::sound_config;
use crate::failure::{Failure, Result};
use crate::json::DiagnosticReport;
use crate::planning::{MAX_PROMPT_BYTES, PlannerRequest, PlanningObserver, SourceFindings, planning_failure};
use crate::workspace::{Workspace, from_here};

/// The goal for a planner of packs.
const GOAL: &str = "The tasks of a task pack: all that its source plan asks for, and nothing else.";

/// The consequence of errors in the configuration.
const NOT_PLANNED: &str = "nothing is planned by it";

/// A source plan in its repository.
pub(super) struct PackSource {
    pub(super) root: PathBuf,
    /// The plan's path from there.
    pub(super) path: String,
    pub(super) text: SourceText,
}

pub(super) struct PackWork<'a> {
    pub(super) source: &'a PackSource,
    pub(super) date: &'a str,
    pub(super) previous: Option<Previous<'a>>,
    pub(super) pack: &'a Path,
    /// The command that accepts an answer again, without its file.
    pub(super) retake: &'a str,
}

pub(super) struct DerivedPack {
    pub(super) derived: Derived,
    /// The planner; none if the answer was given.
    pub(super) agent: Option<String>,
    pub(super) effort: PlanningCost,
}

impl DerivedPack {
    /// Returns the origin of the pack, with the planner's reasons.
    pub(super) fn words(&self, how: &str) -> String {
        match self.derived.reasoning.as_str() {
            "" => how.to_owned(),
            reasoning => format!("{how}\n\n{reasoning}"),
        }
    }
}

impl PackSource {
    pub(super) fn load(root: PathBuf, path: String) -> Result<Self> {
        let file = from_here(&root.join(&path));
        let text = store::load(&file)?.source;
        if text.damage().is_some() {
            return Err(Failure::problem(
                format!("the source plan `{path}` is not UTF-8"),
                "save it as UTF-8 first",
            ));
        }
        check_plan(&path, &text).map_err(|error| plan_failure(&error))?;
        Ok(PackSource { root, path, text })
    }

    /// Refuses a plan that has changed since, perhaps by the planner: its pack would be stale.
    fn refuse_changed(&self) -> Result<()> {
        let newest = store::load(&self.root.join(&self.path))?;
        if newest.source.as_str() == self.text.as_str() {
            return Ok(());
        }
        Err(Failure::problem(
            format!("the source plan `{}` was changed while its pack was derived", self.path),
            "nothing was written; check the changes, and try again",
        ))
    }
}

impl PackWork<'_> {
    pub(super) fn prompt(&self, workspace: &Workspace, planner: &PlannerRequest) -> Result<String> {
        let root = &self.source.root;
        let config = sound_config(workspace, root, NOT_PLANNED)?.config;
        let texts = planner.texts(workspace, Purpose::Derive, &config, root)?;
        Ok(derive_prompt(&texts.brief(DERIVED, GOAL), &self.derivation()).text)
    }

    fn derivation(&self) -> Derivation<'_> {
        Derivation {
            path: &self.source.path,
            plan_text: self.source.text.as_str(),
            previous: self.previous.map_or("", |previous| previous.pack.as_str()),
        }
    }

    fn derive(&self, answer: &str) -> Result<Derived, DeriveError> {
        derive(&DerivationRequest {
            plan_path: &self.source.path,
            plan: &self.source.text,
            answer,
            date: self.date,
            is_directory: &|path| self.source.root.join(path).is_dir(),
            previous: self.previous,
        })
    }

    /// Creates a pack from a given answer, or by asking an agent.
    pub(super) fn plan(
        &self,
        workspace: &Workspace,
        planner: &PlannerRequest,
        observer: &mut dyn PlanningObserver,
    ) -> Result<DerivedPack> {
        let root = &self.source.root;
        let config = sound_config(workspace, root, NOT_PLANNED)?.config;
        let texts = planner.texts(workspace, Purpose::Derive, &config, root)?;
        if self.source.text.len() > MAX_PROMPT_BYTES {
            workspace.remark(
                "the plan is too long for one prompt: the prompt asks the planner to read the rest in its file",
            );
        }
        let answer = planner.ask(workspace, &config, root, observer, |oracle| {
            let brief = texts.brief(DERIVED, GOAL);
            planner::derive(oracle, &brief, &self.derivation(), &|answer| self.derive(answer))
        })?;
        if let Some(exit) = answer.cancelled {
            return Err(Failure::interrupted(exit));
        }
        let (derived, effort) = answer.made.map_err(|error| {
            let taken = |answer: &str| Some(format!("{} {answer}", self.retake));
            planning_failure(workspace, error, self.pack, taken)
        })?;
        self.source.refuse_changed()?;
        Ok(DerivedPack {
            derived,
            agent: Some(answer.agent).filter(|_| planner.answer.is_none()),
            effort,
        })
    }
}

fn plan_failure(error: &DeriveError) -> Failure {
    let help = match error {
        DeriveError::UnclosedPlan => "close it with a line `---`",
        DeriveError::PlanPath(_) => "move it into the repository, and give it a name without special characters",
        DeriveError::Answer(_) => "",
    };
    Failure::problem(error.to_string(), help)
}

/// Returns the warnings about a pack for the user, without its text.
pub(super) fn warning_findings(pack: &Path, warnings: Vec<Diagnostic>) -> SourceFindings {
    SourceFindings {
        path: from_here(pack),
        source: SourceText::new(""),
        findings: warnings,
    }
}

pub(super) fn warning_reports(warnings: &[Diagnostic]) -> Vec<DiagnosticReport> {
    let nothing = SourceText::new("");
    let index = nothing.line_index();
    let warnings = warnings.iter();
    warnings.map(|found| DiagnosticReport::new(found, &index)).collect()
}
