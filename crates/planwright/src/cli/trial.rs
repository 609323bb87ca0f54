//! Runs the commands that `init` and `doctor` try, so that Ctrl-C ends them.

use planwright_run::config::Config;
use planwright_run::fence::{Fence, Ground, TemporaryFolders};
use planwright_run::git::Slot;
use planwright_run::runs::Receipt;
use planwright_run::verify::{Check, Logs, Scene};
use planwright_verbs::failure::Result;
use planwright_verbs::trial::TrialRunner;

use super::output::Output;
use super::verification::{Series, Told, fence_of};

/// Runs commands in series; the terminal shows which one runs.
pub(crate) struct SeriesRunner<'o> {
    series: Option<Series>,
    pub(crate) output: &'o mut Output,
}

impl<'o> SeriesRunner<'o> {
    pub(crate) fn new(output: &'o mut Output) -> Self {
        SeriesRunner { series: None, output }
    }
}

impl TrialRunner for SeriesRunner<'_> {
    fn begin(&mut self) -> Result<()> {
        self.series = Some(Series::begin()?);
        Ok(())
    }

    fn fence(
        &mut self,
        config: &Config,
        ground: &Ground<'_>,
        temporary: &mut TemporaryFolders,
    ) -> Result<Option<Fence>> {
        fence_of(config, ground, temporary)
    }

    fn run(&mut self, checks: &[Check], scene: &Scene, logs: &Logs, commit: &str, slot: &Slot) -> Result<Vec<Receipt>> {
        let series = match &mut self.series {
            Some(series) => series,
            none => none.insert(Series::begin()?),
        };
        series.run(
            checks,
            scene,
            logs,
            Some(commit),
            Some(slot),
            Told::Nowhere,
            self.output,
        )
    }
}
