//! Asks a planner for the tasks of a pack: its prompt, and the use of its answer.

use std::path::{Path, PathBuf};

use planwright_core::diagnostic::Diagnostic;
use planwright_core::dialect::task_pack::TaskPack;
use planwright_core::planning::derive::{DeriveError, Derived, Order, Previous, check_plan, derive};
use planwright_core::planning::prompt::{Brief, Derivation, Purpose, derive_prompt};
use planwright_core::text::SourceText;
use planwright_run::planner::{self, Effort};
use planwright_run::store;

use super::super::exit::{Exit, Failure};
use super::super::output::Output;
use super::super::plan_arg::load_failure;
use super::super::plan_entries::from_here;
use super::super::planner::{MAX_PROMPT_BYTES, PlannerOptions, Told, configured, failure};
use crate::render::json::DiagnosticReport;
use crate::render::text::{Teller, findings};

/// What a planner of packs is to reach.
const GOAL: &str = "The tasks of a task pack: all that its source plan asks for, and nothing else.";

/// A source plan in its repository.
pub(super) struct Source {
    /// The root of the repository.
    pub(super) root: PathBuf,
    /// The plan's path from there.
    pub(super) path: String,
    /// Its text.
    pub(super) text: SourceText,
}

/// What is to be derived.
pub(super) struct Work<'a> {
    pub(super) source: &'a Source,
    pub(super) date: &'a str,
    pub(super) previous: Option<Previous<'a>>,
    /// The pack's file.
    pub(super) pack: &'a Path,
    /// The command that takes up an answer again, without its file.
    pub(super) retake: &'a str,
}

/// A pack that a planner made.
pub(super) struct Pack {
    pub(super) derived: Derived,
    /// Who planned; none where the answer was given.
    pub(super) agent: Option<String>,
    pub(super) effort: Effort,
}

/// What came of it.
pub(super) enum Planned {
    Pack(Box<Pack>),
    /// The user wanted the end.
    Interrupted(Exit),
}

impl Pack {
    /// Returns how it came to be, with the planner's reasons.
    pub(super) fn words(&self, how: &str) -> String {
        match self.derived.reasoning.as_str() {
            "" => how.to_owned(),
            reasoning => format!("{how}\n\n{reasoning}"),
        }
    }
}

impl Source {
    /// Loads a plan of a repository.
    pub(super) fn load(root: PathBuf, path: String) -> anyhow::Result<Self> {
        let file = from_here(&root.join(&path));
        let text = store::load(&file).map_err(|error| load_failure(&error))?.source;
        if text.damage().is_some() {
            return Err(Failure::problem(
                format!("the source plan `{path}` is not UTF-8"),
                "save it as UTF-8 first",
            ));
        }
        check_plan(&path, &text).map_err(|error| plan_failure(&error))?;
        Ok(Source { root, path, text })
    }

    /// Refuses to go on with a plan that somebody has changed since, the planner perhaps: a pack of it would be stale.
    fn refuse_changed(&self) -> anyhow::Result<()> {
        let newest = store::load(&self.root.join(&self.path)).map_err(|error| load_failure(&error))?;
        if newest.source.as_str() == self.text.as_str() {
            return Ok(());
        }
        Err(Failure::problem(
            format!("the source plan `{}` was changed while its pack was derived", self.path),
            "nothing was written; look at what changed, and try again",
        ))
    }
}

impl Work<'_> {
    /// Returns what the planner is asked.
    pub(super) fn prompt(&self, options: &PlannerOptions, output: &mut Output) -> anyhow::Result<String> {
        let configuration = configured(&self.source.root, output)?;
        let told = options.told(Purpose::Derive, &configuration.config, &self.source.root)?;
        Ok(derive_prompt(&brief(&told), &self.derivation()).text)
    }

    fn derivation(&self) -> Derivation<'_> {
        Derivation {
            path: &self.source.path,
            plan_text: self.source.text.as_str(),
            previous: self.previous.map_or("", |previous| previous.pack.as_str()),
        }
    }

    fn derive(&self, answer: &str) -> Result<Derived, DeriveError> {
        derive(&Order {
            plan_path: &self.source.path,
            plan: &self.source.text,
            answer,
            date: self.date,
            is_directory: &|path| self.source.root.join(path).is_dir(),
            previous: self.previous,
        })
    }

    /// Has a pack made: from an answer that is given, or by asking an agent.
    pub(super) fn plan(&self, options: &PlannerOptions, output: &mut Output) -> anyhow::Result<Planned> {
        let configuration = configured(&self.source.root, output)?;
        let (config, root) = (&configuration.config, &self.source.root);
        let told = options.told(Purpose::Derive, config, root)?;
        if self.source.text.len() > MAX_PROMPT_BYTES {
            output.remark(
                "the plan is too long for one prompt: the prompt asks the planner to read the rest in its file",
            );
        }
        let (came, asked) = options.with_oracle(config, root, output, |oracle| {
            planner::derive(oracle, &brief(&told), &self.derivation(), &|answer| self.derive(answer))
        })?;
        if let Some(exit) = asked.exit {
            return Ok(Planned::Interrupted(exit));
        }
        let (derived, effort) = came.map_err(|error| {
            let taken = |answer: &str| Some(format!("{} {answer}", self.retake));
            failure(error, self.pack, taken, output)
        })?;
        self.source.refuse_changed()?;
        Ok(Planned::Pack(Box::new(Pack {
            derived,
            agent: Some(asked.agent).filter(|_| options.from.is_none()),
            effort,
        })))
    }
}

fn brief(told: &Told) -> Brief<'_> {
    told.brief(&TaskPack, GOAL)
}

fn plan_failure(error: &DeriveError) -> anyhow::Error {
    let help = match error {
        DeriveError::UnclosedPlan => "close it with a line `---`",
        DeriveError::PlanPath(_) => "it is to lie in the repository, under a name without odd characters",
        DeriveError::Answer(_) => "",
    };
    Failure::problem(error.to_string(), help)
}

/// Says what the user should know of a pack.
pub(super) fn tell_warnings(path: &str, warnings: &[Diagnostic], output: &mut Output) {
    let nothing = SourceText::new("");
    let text = findings(
        path,
        &nothing,
        warnings,
        Teller::RunState,
        output.paint_beside(),
        output.width(),
    );
    if !output.is_quiet() {
        output.note(&text);
    }
}

/// Returns what the user should know of a pack, for programs.
pub(super) fn warning_reports(warnings: &[Diagnostic]) -> Vec<DiagnosticReport> {
    let nothing = SourceText::new("");
    let index = nothing.line_index();
    warnings
        .iter()
        .map(|found| DiagnosticReport::new(found, &index))
        .collect()
}
