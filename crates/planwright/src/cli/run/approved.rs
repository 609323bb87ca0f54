//! Work that was approved while no run was active: verified on the current branch, and landed.

use planwright_run::config::{self, Configuration, Isolation};
use planwright_run::engine::{self, Options, RunError};
use planwright_run::fence;
use planwright_run::runs::state::RunState;
use planwright_run::worker::Workers;
use planwright_run::workspace::root_of;

use super::super::change::Found;
use super::super::config::refuse_unsound;
use super::super::exit::Failure;
use super::super::interrupt;
use super::super::output::Output;
use super::super::run_view::{Manner, Told};
use super::args::configured;
use super::{order_of, refusal, setting_of};

/// What became of approved work.
pub(crate) enum Landed {
    /// It is on the branch, as this commit; none where it changes nothing.
    On { branch: String, commit: Option<String> },
    /// It is not, for this reason.
    NotYet(String),
}

/// What it takes to land the work of a task.
pub(crate) struct ApprovedLanding<'f> {
    found: &'f Found,
    configuration: Configuration,
    options: Options,
}

impl<'f> ApprovedLanding<'f> {
    /// Looks whether the work of a task could land, before it is approved.
    pub(crate) fn prepare(
        found: &'f Found,
        task: &str,
        branch: Option<String>,
        by: &str,
        output: &mut Output,
    ) -> anyhow::Result<Self> {
        let root = root_of(&found.path);
        let mut configuration = configured(&[], &root);
        refuse_unsound(&configuration, "nothing lands by it", output)?;
        // Only work in checkouts waits to land.
        configuration.config.run.isolation = Isolation::Checkouts;
        let mut options = Options {
            only: vec![task.to_owned()],
            lands_only: true,
            branch,
            by: Some(by.to_owned()),
            config_text: configuration.frozen(),
            fence_program: fence::own_program(),
            ..Options::default()
        };
        let mut prepared = engine::prepare(&order_of(found, &configuration, &options)).map(drop);
        if let Err(RunError::OtherConfig { text }) = &prepared {
            // A run keeps the conditions that it began with.
            configuration = config::thaw(text, &[]);
            refuse_unsound(&configuration, "which the run began with", output)?;
            options.config_text.clone_from(text);
            configuration.config.run.isolation = Isolation::Checkouts;
            prepared = engine::prepare(&order_of(found, &configuration, &options)).map(drop);
        }
        prepared.map_err(|error| refusal(found, error))?;
        Ok(ApprovedLanding {
            found,
            configuration,
            options,
        })
    }

    /// Lands the work of a task that was approved. No agent is started.
    pub(crate) fn land(&self, task: &str, is_shown: bool, output: &mut Output) -> anyhow::Result<Landed> {
        let found = self.found;
        let request = order_of(found, &self.configuration, &self.options);
        let prepared = match engine::prepare(&request) {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Landed::NotYet(error.to_string())),
        };
        let mut workers = Workers::sole().map_err(|error| Failure::environment(&error, ""))?;
        let interrupts = interrupt::Count::begin(workers.waker()).map_err(|error| Failure::environment(&error, ""))?;
        let manner = match is_shown && !output.is_quiet() {
            true => Manner::Shown { plain: false },
            false => Manner::Quiet,
        };
        let setting = setting_of(&found.path, prepared.snapshot.plan());
        let mut told = Told::new(manner, setting, interrupts.n_asked(), output);
        let outcome = engine::run(&request, prepared, &mut workers, interrupts.n_asked(), &mut told);
        told.finish();
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return Ok(Landed::NotYet(error.to_string())),
        };
        let run = outcome.state.task(task).and_then(|run| run.last());
        let merged = run.and_then(|last| last.merged.as_ref());
        Ok(match merged.filter(|merged| merged.passed) {
            Some(merged) => Landed::On {
                branch: merged.branch.clone(),
                commit: merged.commit.clone(),
            },
            None => Landed::NotYet(why_not(task, &outcome.state)),
        })
    }
}

fn why_not(task: &str, state: &RunState) -> String {
    let failure = state.task(task).and_then(|run| run.failure.clone());
    let mut remarks = state.remarks.iter().rev();
    let last = remarks.find(|remark| remark.task.as_deref() == Some(task));
    let why = failure.or_else(|| last.map(|remark| remark.text.clone()));
    why.unwrap_or_else(|| "the run ended before".to_owned())
}
