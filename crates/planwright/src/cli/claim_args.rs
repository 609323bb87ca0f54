//! Options for claims: owner, lease, take-over; and the configuration that a change of a task needs.

use planwright_run::clock;
use planwright_run::config::{self, Config, Surroundings, units};
use planwright_run::files::DiskFiles;
use planwright_run::layout::PlanPlace;
use planwright_run::store::LoadError;

use super::change::Found;
use super::config::refuse_unsound;
use super::exit::Failure;
use super::output::Output;
use super::plan_arg::load_failure;

/// Options of verbs that begin work on a task.
#[derive(clap::Args)]
pub(crate) struct LeaseOption {
    /// How long the claim on the task lasts, as 30m or 2h; then `next` offers it again.
    #[arg(long, value_name = "DURATION")]
    lease: Option<String>,
}

impl LeaseOption {
    /// Returns when the claim is over, as RFC 3339 in UTC.
    pub(crate) fn until(&self) -> anyhow::Result<Option<String>> {
        let Some(typed) = &self.lease else {
            return Ok(None);
        };
        match units::duration(typed).filter(|lease| !lease.is_zero()) {
            Some(lease) => Ok(Some(clock::after(lease))),
            None => Err(Failure::usage(
                format!("`{typed}` is no duration"),
                "write it as --lease 30m, 2h or 1h30m",
            )),
        }
    }

    /// Returns whether a lease was given.
    pub(crate) fn is_given(&self) -> bool {
        self.lease.is_some()
    }
}

/// The option to take a task from its holder.
#[derive(clap::Args)]
pub(crate) struct TakeOverOption {
    /// Take the task over from its holder, a run included; needs --note.
    #[arg(long)]
    pub(crate) take_over: bool,
}

/// Options of verbs that finish a task.
#[derive(clap::Args)]
pub(crate) struct HolderOptions {
    /// The number of the claim on the task, as `start` and `next --start` print it; needed for claims made with --by.
    #[arg(long, value_name = "N")]
    pub(crate) claim: Option<u64>,

    #[command(flatten)]
    pub(crate) take_over: TakeOverOption,
}

/// Refuses to override something without a reason for the history.
pub(crate) fn refuse_without_note(option: &str, is_given: bool, note: Option<&str>) -> anyhow::Result<()> {
    if !is_given || note.is_some_and(|note| !note.trim().is_empty()) {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{option} needs a reason, which the history keeps"),
        format!("give it: {option} --note \"…\""),
    ))
}

/// Reads the configuration of a plan's workspace. Where it has errors they are shown, and nothing is changed by it.
pub(crate) fn config_of(found: &Found, output: &mut Output) -> anyhow::Result<Config> {
    let place =
        PlanPlace::of(&DiskFiles, &found.path).map_err(|source| load_failure(&LoadError::new(&found.path, source)))?;
    let configuration = config::load(&place.root, &Surroundings::of_process());
    refuse_unsound(
        &configuration,
        "so what a plan needs before work on it is unknown",
        output,
    )?;
    Ok(configuration.config)
}
