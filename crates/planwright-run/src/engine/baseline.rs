//! The baseline of a run: the commands that verify every task run once on the base, before the first attempt.
//!
//! A command that cannot start, or that fails before any change, is not the failure of a task.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

use super::run_loop::{WorkLocation, fence_of_command, shared_writable};
use super::{PlanSnapshot, RunError, RunRequest, Watcher};
use crate::clock;
use crate::config::{Command, OnBaseline};
use crate::digest::Digest;
use crate::fence::{Fencing, TemporaryFolders};
use crate::files::read_text;
use crate::git::CheckoutSlot;
use crate::journal::Receipt;
use crate::layout::STATE_FOLDER;
use crate::runs::state::failed_commands;
use crate::shell::command_line;
use crate::store::overwrite;
use crate::verify::{self, Check, CheckEnvironment, VerificationLogs, VerificationWatch};
use crate::worker::{StopManner, Workers};

const MAX_KEPT: usize = 200;

/// The exit codes of a shell for a command that cannot be run or was not found.
const NOT_STARTED: &[&str] = &["exit 126", "exit 127"];

#[derive(Default, Serialize, Deserialize)]
struct BaselineCache {
    /// The time of each result, and whether the command passed.
    results: BTreeMap<String, (String, bool)>,
}

/// The folder of the commands, and the tree that they run on.
struct BaselineTarget {
    folder: PathBuf,
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    setup: Vec<Check>,
    commit: Option<String>,
    slot: Option<CheckoutSlot>,
}

pub(super) struct Baseline<'a> {
    pub(super) request: &'a RunRequest<'a>,
    pub(super) snapshot: &'a PlanSnapshot,
    pub(super) workplace: &'a WorkLocation,
    pub(super) fencing: &'a Fencing,
}

impl Baseline<'_> {
    /// Runs the baseline. Returns remarks for the user; the error is why the run does not start.
    pub(super) fn check(
        &self,
        workers: &mut Workers,
        interrupts: &AtomicU32,
        watcher: &mut dyn Watcher,
    ) -> Result<Vec<String>, RunError> {
        let rules = &self.request.config.verify;
        if rules.baseline == OnBaseline::Skip || rules.every.is_empty() {
            return Ok(Vec::new());
        }
        let checks = self.snapshot.place().root.join(STATE_FOLDER).join("checks");
        let known_path = checks.join("baseline.json");
        let mut known = BaselineCache::read(&known_path);
        let tree = tree_of(self.workplace);
        let checks: Vec<Check> = rules.every.iter().map(|command| self.check_of(command)).collect();
        let result = |check: &Check| known.result(tree.as_ref()?, check);
        // A failure may have been one of the machine: its result is used again only if failures are allowed anyway.
        let may_use =
            |check: &&Check| result(check).is_some_and(|passed| passed || rules.baseline == OnBaseline::AllowFailing);
        let (used, open): (Vec<&Check>, Vec<&Check>) = checks.iter().partition(may_use);
        let failed_before = used.into_iter().filter(|check| result(check) == Some(false));
        let failed_before: Vec<String> = failed_before.map(|check| quoted(&check.command.arguments())).collect();
        if open.is_empty() {
            return Ok(failing_remark(&failed_before));
        }
        let base = self.open_base()?;
        let all: Vec<Check> = base.setup.iter().chain(open).cloned().collect();
        let receipts = self.run(&base, &all, workers, &mut BaselineView { watcher, interrupts })?;
        refuse_unstarted(&all, &receipts)?;
        if let Some(tree) = &tree {
            known.add(tree, &all, &receipts);
            // A result that cannot be saved is computed again.
            known.write(&known_path);
        }
        refuse_failed_setup(&receipts[..base.setup.len().min(receipts.len())])?;
        if receipts.iter().all(verify::passed) {
            if let Some(slot) = &base.slot {
                slot.keep_caches().ok();
            }
            return Ok(failing_remark(&failed_before));
        }
        self.judge(&receipts, failed_before, watcher)
    }

    fn run(
        &self,
        base: &BaselineTarget,
        checks: &[Check],
        workers: &mut Workers,
        view: &mut BaselineView<'_>,
    ) -> Result<Vec<Receipt>, RunError> {
        let place = self.snapshot.place();
        let logs = VerificationLogs::create(&place.root, &place.relative, "baseline")
            .map_err(RunError::io("the folder for the output of verification cannot be made"))?;
        let mut temporary = TemporaryFolders::default();
        let writable = match &base.slot {
            Some(slot) => vec![slot.path()],
            None => shared_writable(self.workplace, &place.root),
        };
        let mut fence = fence_of_command(self.fencing, self.workplace, &writable, &base.environment);
        if let Some(fence) = &mut fence {
            let made = temporary.make(0);
            fence.give_temporary(made.map_err(RunError::io("a folder for temporary files cannot be made"))?);
        }
        let config = &self.request.config.run;
        let check_environment =
            CheckEnvironment::of_no_attempt(config, base.folder.clone(), base.environment.clone(), fence);
        verify::run_all(workers, checks, &check_environment, &logs, base.commit.as_deref(), view)
            .map_err(|_| RunError::refused("interrupted before the first attempt", "nothing was changed"))
    }

    /// Decides whether the run starts although commands failed on the base.
    fn judge(
        &self,
        receipts: &[Receipt],
        failed_before: Vec<String>,
        watcher: &mut dyn Watcher,
    ) -> Result<Vec<String>, RunError> {
        let words = failed_commands(receipts);
        let is_allowed = self.request.config.verify.baseline == OnBaseline::AllowFailing;
        if is_allowed || watcher.accepts_failing_baseline(&words) {
            let failed = receipts.iter().filter(|receipt| !verify::passed(receipt));
            let failed = failed.map(|receipt| quoted(&receipt.command));
            let names: Vec<String> = failed_before.into_iter().chain(failed).collect();
            return Ok(failing_remark(&names));
        }
        let earlier = failed_before.iter();
        let earlier: String = earlier
            .map(|command| format!("\n\n{command} failed on this base before"))
            .collect();
        Err(RunError::refused(
            format!(
                "verification fails before any task has changed anything\n\n{}{earlier}",
                words.trim_end()
            ),
            "no agent was started. Correct that first; or begin anyway: verify.baseline = \"allow-failing\" in planwright.toml, \
             or --baseline allow-failing",
        ))
    }

    fn check_of(&self, command: &Command) -> Check {
        Check::of(command, self.request.config.verify.timeout)
    }

    fn open_base(&self) -> Result<BaselineTarget, RunError> {
        let place = self.snapshot.place();
        let WorkLocation::Checkouts(site) = self.workplace else {
            return Ok(BaselineTarget {
                environment: verify::environment(std::env::vars_os(), &place.target, "", &place.root),
                folder: place.root.clone(),
                setup: Vec::new(),
                commit: None,
                slot: None,
            });
        };
        let failed = super::branch_choice::failed;
        let tip = site.tip().map_err(failed)?;
        let slot = site.take_slot().map_err(failed)?;
        let setup = site.prepare(&slot, &tip).map_err(failed)?;
        let folder = site.root_in(&slot.path());
        let variables = site.slot_environment(&slot);
        Ok(BaselineTarget {
            environment: verify::environment(variables, &place.target, "", &folder),
            setup: setup.iter().map(|command| self.check_of(command)).collect(),
            folder,
            commit: Some(tip),
            slot: Some(slot),
        })
    }
}

fn quoted(command: &[String]) -> String {
    format!("`{}`", command_line(command))
}

/// Returns the remark about commands that fail before any change, if there are any.
fn failing_remark(commands: &[String]) -> Vec<String> {
    match commands {
        [] => Vec::new(),
        commands => vec![format!(
            "{} failed on the base already, before any task changed it",
            commands.join(", ")
        )],
    }
}

/// Refuses to start if a command cannot be started.
fn refuse_unstarted(checks: &[Check], receipts: &[Receipt]) -> Result<(), RunError> {
    let is_unstarted = |(check, receipt): &(&Check, &Receipt)| match check.command.plain() {
        Command::Words(_) | Command::Unfenced(_) => receipt.exit == verify::NOT_STARTED,
        Command::Shell(_) => NOT_STARTED.contains(&receipt.exit.as_str()) || receipt.exit == verify::NOT_STARTED,
    };
    let Some((_, receipt)) = checks.iter().zip(receipts).find(is_unstarted) else {
        return Ok(());
    };
    let why = receipt.tail.trim();
    let why = if why.is_empty() { "not found" } else { why };
    Err(RunError::refused(
        format!("could not start `{}`: {why}", command_line(&receipt.command)),
        "no agent was started. Install it, or correct [verify] in planwright.toml",
    ))
}

/// Refuses to start if a command that prepares checkouts failed: it would fail for every task.
fn refuse_failed_setup(receipts: &[Receipt]) -> Result<(), RunError> {
    let failed: Vec<Receipt> = receipts
        .iter()
        .filter(|receipt| !verify::passed(receipt))
        .cloned()
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(RunError::refused(
        format!(
            "setup failed before the first attempt\n\n{}",
            failed_commands(&failed).trim_end()
        ),
        "no agent was started. Correct `run.setup` in planwright.toml; `setup = []` in [run] turns setup off",
    ))
}

/// Returns the tree that tasks start from, if all of it is committed.
fn tree_of(workplace: &WorkLocation) -> Option<String> {
    match workplace {
        WorkLocation::Checkouts(site) => site.repository().tree_of(&site.tip().ok()?).ok(),
        WorkLocation::Shared(_) => None,
    }
}

fn key(tree: &str, check: &Check) -> String {
    let command = Digest::of(&check.command.arguments().join("\0"));
    format!("{tree} {command}")
}

impl BaselineCache {
    fn read(path: &Path) -> Self {
        let text = read_text(path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn result(&self, tree: &str, check: &Check) -> Option<bool> {
        self.results.get(&key(tree, check)).map(|(_, passed)| *passed)
    }

    fn add(&mut self, tree: &str, checks: &[Check], receipts: &[Receipt]) {
        for (check, receipt) in checks.iter().zip(receipts) {
            let result = (clock::now(), verify::passed(receipt));
            self.results.insert(key(tree, check), result);
        }
        while self.results.len() > MAX_KEPT {
            let oldest = self.results.iter().min_by_key(|(_, (time, _))| time.clone());
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            self.results.remove(&oldest);
        }
    }

    fn write(&self, path: &Path) {
        if let Ok(text) = serde_json::to_string(self) {
            overwrite(path, &text).ok();
        }
    }
}

/// Shows the commands of the baseline, and ends them if the user interrupts.
struct BaselineView<'w> {
    watcher: &'w mut dyn Watcher,
    interrupts: &'w AtomicU32,
}

impl VerificationWatch for BaselineView<'_> {
    fn begins(&mut self, check: &Check) {
        self.watcher.baseline(&command_line(&check.command.arguments()));
    }

    fn ends(&mut self, _check: &Check, _receipt: &Receipt) {
        self.watcher.tick();
    }

    fn interruption(&mut self) -> Option<StopManner> {
        self.watcher.tick();
        match self.interrupts.load(Ordering::Relaxed) {
            0 => None,
            1 | 2 => Some(StopManner::Politely),
            _ => Some(StopManner::AtOnce),
        }
    }
}
