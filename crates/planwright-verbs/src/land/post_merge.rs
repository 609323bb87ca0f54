//! Runs the user's `post-merge` hook after `land` and after a run on the checked-out branch, if `run.hooks` is set.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;

use planwright_run::clock;
use planwright_run::engine;
use planwright_run::git::Repository;
use planwright_run::worker::{ProcessMark, Workers};

use crate::text::one_line;
use crate::workspace::Workspace;

/// Runs the hook, and reports its failure. The work has already landed.
pub(crate) fn after_landing(
    workspace: &Workspace,
    workers: &mut Workers,
    root: &Path,
    log: PathBuf,
    n_asked: &AtomicU32,
) {
    let mark = ProcessMark::new([("PLANWRIGHT_HOOK", format!("{}-{}", std::process::id(), clock::now()))]);
    let shown = one_line(&log.display().to_string());
    let ran = match Repository::around(root) {
        Ok(Some(repository)) => engine::run_hook(workers, &repository, log, mark, n_asked),
        Ok(None) => Ok(None),
        Err(error) => Err(error),
    };
    let why = ran.unwrap_or_else(|error| Some(error.to_string()));
    if let Some(why) = why {
        workspace.remark(&format!(
            "warning: the work has landed, and your post-merge hook failed: {}; its output is in {shown}",
            one_line(&why)
        ));
    }
}
