//! Verifies the result of `land` in a separate checkout.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::plans::open_file;
use crate::text::one_line;
use crate::verification::{Series, VerificationObserver, fence_of};
use crate::workspace::Workspace;
use planwright_run::caller;
use planwright_run::checkout_home::CheckoutHome;
use planwright_run::config;
use planwright_run::fence::{ProcessFolders, TemporaryFolders};
use planwright_run::git::CheckoutSlot;
use planwright_run::journal::Receipt;
use planwright_run::preparation::{Preparation, SlotError};
use planwright_run::shell::command_line;
use planwright_run::verify::{self, Check, CheckEnvironment, TaskChecks, VerificationLogs};
use planwright_run::worker;

use super::{Landing, outside};

impl Landing {
    /// Verifies a commit in a separate checkout. Returns the receipts.
    pub(super) fn verify(
        &self,
        workspace: &Workspace,
        home: &CheckoutHome,
        commit: &str,
        with_output: bool,
        observer: &mut dyn VerificationObserver,
    ) -> Result<(Vec<Receipt>, Option<CheckoutSlot>)> {
        let checks = self.checks();
        if checks.is_empty() {
            workspace.remark("note: the result is not verified: no rule of [verify] in planwright.toml covers it");
            return Ok((Vec::new(), None));
        }
        let place = self.place();
        let preparation = Preparation::of(&self.config.run, &self.repository, &place.root)?;
        let slot = home
            .take_slot(&self.repository, &home.folder().join("land"))
            .map_err(outside)?;
        let root = slot.path().join(self.repository.prefix());
        let setup = preparation.prepare_slot(&slot, commit, self.config.verify.clean, &place.root, &root);
        let setup = setup.map_err(|error| match error {
            SlotError::Git(error) => outside(error),
            SlotError::Copy(error) => Failure::environment(&error, "check that there is space"),
        })?;
        let setup = setup.iter().map(|command| self.setup_check(command));
        let first = checks.first().map_or_else(String::new, |(task, _)| task.clone());
        let all = setup.map(|check| (first.clone(), check)).chain(checks);
        let all: Vec<(String, Check)> = all.collect();
        let mut receipts = Vec::new();
        for of_task in all.chunk_by(|one, other| one.0 == other.0) {
            let ran = self.run_checks(of_task, &preparation, (&slot, &root), commit, observer)?;
            let is_over = !verify::all_passed(&ran);
            receipts.extend(ran);
            if is_over {
                break;
            }
        }
        match receipts.iter().find(|receipt| !verify::passed(receipt)) {
            None => Ok((receipts, Some(slot))),
            Some(failed) => {
                let command = one_line(&command_line(&failed.command));
                let mut message = format!("`{command}` failed on the result ({})", failed.exit);
                if with_output {
                    message.push_str(&format!("\n{}", one_line(&failed.tail)));
                }
                let help = format!(
                    "nothing was changed; the result is in {}: fix the branch `{}`, or add a task to the plan, and land again",
                    slot.path().display(),
                    self.into
                );
                Err(Failure::problem(message, help))
            }
        }
    }

    fn run_checks(
        &self,
        checks: &[(String, Check)],
        preparation: &Preparation,
        (slot, root): (&CheckoutSlot, &Path),
        commit: &str,
        observer: &mut dyn VerificationObserver,
    ) -> Result<Vec<Receipt>> {
        let place = self.place();
        let task = checks.first().map_or("", |(task, _)| task.as_str());
        let checks: Vec<Check> = checks.iter().map(|(_, check)| check.clone()).collect();
        let variables = preparation.slot_environment(slot, &place.root, root);
        let environment = verify::environment(variables, &place.target, task, root);
        let mut temporary = TemporaryFolders::default();
        let ground = ProcessFolders {
            writable: &[slot.path()],
            readable: &self.repository.object_folders(),
            environment: &environment,
            ..ProcessFolders::default()
        };
        let fence = fence_of(&self.config, &ground, &mut temporary)?;
        let scene = CheckEnvironment::of_no_attempt(&self.config.run, root.to_owned(), environment, fence);
        let logs = VerificationLogs::create(&place.root, &place.relative, task)
            .map_err(|error| Failure::environment(&error, "check that you may write to `.planwright`"))?;
        let receipts = Series::begin(observer)?.run(&checks, &scene, &logs, Some(commit), Some(slot), observer);
        // The next commit that is verified here must be alone.
        worker::end(&scene.mark, &worker::orphans(&scene.mark, &[]), scene.grace);
        receipts
    }

    fn setup_check(&self, command: &config::Command) -> Check {
        Check::of(command, self.config.verify.timeout)
    }

    /// Returns the commands that verify the result, each with its task: those of every task whose work is included. A command runs once, or
    /// once for each task if it names `PLANWRIGHT_TASK`.
    fn checks(&self) -> Vec<(String, Check)> {
        let rules = &self.config.verify;
        let mut found: Vec<(String, Check)> = Vec::new();
        let opened = open_file(&self.place().target).ok();
        let linked = opened.as_ref().and_then(|opened| opened.linked().ok());
        let of_tasks = linked.iter().flat_map(|linked| {
            let tasks = self.tasks.iter();
            let tasks = tasks.filter_map(|task| Some((task, linked.plan.find_task(task)?)));
            tasks.flat_map(|(task, ix)| {
                let checks = TaskChecks::of(rules, &linked.plan, ix, rules.allow_plan_commands).checks;
                checks.into_iter().map(move |check| (task.clone(), check))
            })
        });
        // A missing plan has no tasks, but the commands that verify every task are known.
        let task = self.tasks.first().cloned().unwrap_or_default();
        let every = rules.every.iter();
        let every = every.map(|command| (task.clone(), self.setup_check(command)));
        for (task, check) in of_tasks.chain(every) {
            let is_of_task = names_task(&check);
            let is_same = |(known_task, known): &(String, Check)| {
                known.command == check.command && (!is_of_task || *known_task == task)
            };
            if !found.iter().any(is_same) {
                found.push((task, check));
            }
        }
        found
    }
}

/// Returns whether a command differs for each task.
fn names_task(check: &Check) -> bool {
    let words = check.command.arguments();
    words.iter().any(|word| word.contains(caller::TASK))
}
