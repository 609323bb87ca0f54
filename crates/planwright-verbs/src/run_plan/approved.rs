//! Work that was approved while no run was active: verified on the current branch, and landed.

use planwright_run::config::{self, Configuration, IsolationSetting};
use planwright_run::engine::{self, RunError, RunFlags, RunOptions, TaskSelection};
use planwright_run::fence;
use planwright_run::runs::state::{RunState, TaskRun};
use planwright_run::worker::Workers;
use planwright_run::workspace::root_of;

use super::observer::{RunBeginning, RunObserver};
use super::request::configured;
use super::{order_of, refusal};
use crate::configuration::refuse_unsound;
use crate::run_history::Setting;
use crate::{Failure, FoundPlan, Result, Workspace};

/// The result of approved work.
pub enum Landed {
    /// It is on the branch, as this commit; none where it changes nothing.
    On { branch: String, commit: Option<String> },
    /// It is not, for this reason.
    NotYet(String),
}

/// The inputs for landing the work of a task.
pub struct ApprovedLanding<'f> {
    found: &'f FoundPlan,
    configuration: Configuration,
    options: RunOptions,
}

impl<'f> ApprovedLanding<'f> {
    /// Checks whether the work of a task could land, before it is approved.
    pub fn prepare(
        found: &'f FoundPlan,
        task: &str,
        branch: Option<String>,
        by: &str,
        workspace: &Workspace,
    ) -> Result<Self> {
        let root = root_of(&found.path);
        let mut configuration = configured(&[], &root);
        refuse_unsound(workspace, &configuration, "nothing lands by it")?;
        // Only work in checkouts waits to land.
        configuration.config.run.checkouts.isolation = IsolationSetting::Checkouts;
        let mut options = RunOptions {
            selection: TaskSelection {
                only: vec![task.to_owned()],
                ..TaskSelection::default()
            },
            flags: RunFlags {
                branch,
                by: Some(by.to_owned()),
                ..RunFlags::default()
            },
            lands_only: true,
            config_text: configuration.frozen(),
            fence_program: fence::own_program(),
            ..RunOptions::default()
        };
        let mut prepared = engine::prepare(&order_of(found, &configuration, &options)).map(drop);
        if let Err(RunError::OtherConfig { text }) = &prepared {
            // A run keeps its original settings.
            configuration = config::thaw(text, &[]);
            refuse_unsound(workspace, &configuration, "which the run began with")?;
            options.config_text.clone_from(text);
            configuration.config.run.checkouts.isolation = IsolationSetting::Checkouts;
            prepared = engine::prepare(&order_of(found, &configuration, &options)).map(drop);
        }
        prepared.map_err(|error| refusal(workspace, found, error))?;
        Ok(ApprovedLanding {
            found,
            configuration,
            options,
        })
    }

    /// Lands the approved work of a task. Starts no agent.
    pub fn land(&self, task: &str, observer: &mut dyn RunObserver) -> Result<Landed> {
        let found = self.found;
        let request = order_of(found, &self.configuration, &self.options);
        let prepared = match engine::prepare(&request) {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Landed::NotYet(error.to_string())),
        };
        let mut workers = Workers::sole().map_err(|error| Failure::environment(&error, ""))?;
        let cancel = observer
            .cancel_token()
            .map_err(|error| Failure::environment(&error, ""))?;
        cancel.wakes(workers.waker());
        observer.begins(&RunBeginning {
            root: &root_of(&found.path),
            setting: Setting::of(&found.path, prepared.snapshot.linked()),
            plan: prepared.snapshot.plan(),
            links: prepared.snapshot.links(),
            cancel: &cancel,
            waits_for_review: &self.options.waits_for_review,
        });
        let outcome = engine::run(&request, prepared, &mut workers, cancel.n_asked(), observer);
        observer.is_over();
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return Ok(Landed::NotYet(error.to_string())),
        };
        Ok(match outcome.state.task(task).and_then(TaskRun::landed) {
            Some(landed) => Landed::On {
                branch: landed.branch.clone(),
                commit: landed.commit.clone(),
            },
            None => Landed::NotYet(why_not(task, &outcome.state)),
        })
    }
}

fn why_not(task: &str, state: &RunState) -> String {
    let failure = state.task(task).and_then(|run| run.results.failure.clone());
    let mut remarks = state.remarks.iter().rev();
    let last = remarks.find(|remark| remark.task.as_deref() == Some(task));
    let why = failure.or_else(|| last.map(|remark| remark.text.clone()));
    why.unwrap_or_else(|| "the run ended before".to_owned())
}
