//! Shared by `verify`, `done` and `land`: the rules of the workspace, and running their commands.

mod observer;
mod report;
mod series;
mod trial;

use std::path::PathBuf;

use planwright_core::plan::Plan;
use planwright_run::config::Config;
use planwright_run::fence::{ProcessFolders, TemporaryFolders};
use planwright_run::git::{Repository, commit_at};
use planwright_run::journal::{ManualVerification, Receipt};
use planwright_run::layout::PlanPlace;
use planwright_run::shell::command_line;
use planwright_run::verify::{self, CheckEnvironment, TaskChecks, VerificationLogs, passed};

pub use self::observer::*;
pub use self::report::*;
pub use self::series::*;
pub use self::trial::*;
use crate::configuration::{place_of, sound_config};
use crate::failure::{Failure, Result};
use crate::plans::FoundPlan;
use crate::text::{count, cut, one_line, printable, shown_name, without_sequences};
use crate::workspace::{Workspace, from_here};

/// How many lines of the end of a failed command's output are shown.
const MAX_TAIL_LINES: usize = 20;

/// How much of a command, a criterion or a line of output is shown.
const MAX_SHOWN_CHARS: usize = 160;

/// Verifies tasks of one plan.
pub struct Verifier {
    config: Config,
    allow_plan_commands: bool,
    place: PlanPlace,
    temporary: TemporaryFolders,
    /// Set after the first command was run.
    running: Option<Series>,
}

/// The result of verifying a task.
pub struct VerificationVerdict {
    /// The commands to run, and the criteria without a rule.
    pub checks: TaskChecks,
    /// The receipts, in the order of the checks.
    pub receipts: Vec<Receipt>,
    logs: Option<VerificationLogs>,
}

impl Verifier {
    /// Reads the rules for a plan. If the configuration has errors, no rule is used.
    pub fn open(workspace: &Workspace, found: &FoundPlan, allow_plan_commands: bool) -> Result<Self> {
        let place = place_of(found)?;
        let config = sound_config(workspace, &place.root, "so the commands that verify a task are unknown")?.config;
        Ok(Verifier {
            allow_plan_commands: allow_plan_commands || config.verify.allow_plan_commands,
            config,
            place,
            temporary: TemporaryFolders::default(),
            running: None,
        })
    }

    /// Returns whether a person may waive a required verification.
    pub(crate) fn allows_waivers(&self) -> bool {
        self.config.verify.allow_unverified
    }

    /// Returns whether there is a rule that could verify a task.
    pub fn has_rules(&self) -> bool {
        self.config.verify.has_rules() || self.allow_plan_commands
    }

    pub fn checks(&self, plan: &Plan, task_ix: usize) -> TaskChecks {
        TaskChecks::of(&self.config.verify, plan, task_ix, self.allow_plan_commands)
    }

    pub fn run(
        &mut self,
        plan: &Plan,
        task_ix: usize,
        checks: TaskChecks,
        observer: &mut dyn VerificationObserver,
    ) -> Result<VerificationVerdict> {
        if checks.checks.is_empty() {
            return Ok(VerificationVerdict {
                checks,
                receipts: Vec::new(),
                logs: None,
            });
        }
        let name = plan.task_name(task_ix);
        let help = "check that you may write to `.planwright` and that there is space";
        let logs = VerificationLogs::create(&self.place.root, &self.place.relative, &name)
            .map_err(|error| Failure::environment(&error, help))?;
        let scene = self.scene(plan, task_ix)?;
        let commit = commit_at(&scene.folder);
        let series = match &mut self.running {
            Some(running) => running,
            none => none.insert(Series::begin(observer)?),
        };
        let receipts = series.run(&checks.checks, &scene, &logs, commit.as_deref(), None, observer)?;
        Ok(VerificationVerdict {
            checks,
            receipts,
            logs: Some(logs),
        })
    }

    fn scene(&mut self, plan: &Plan, task_ix: usize) -> Result<CheckEnvironment> {
        let name = plan.task_name(task_ix);
        let folder = verify::folder(&self.place.root, plan, task_ix).map_err(|error| {
            let message = format!("`{}` cannot be verified: {error}", shown_name(&name));
            Failure::problem(message, "correct the plan, or make the folder")
        })?;
        let environment = verify::environment(std::env::vars_os(), &self.place.target, &name, &folder);
        let repository = Repository::around(&self.place.root).ok().flatten();
        let common = repository
            .as_ref()
            .map(|repository| repository.common_folder().to_owned());
        let writable: Vec<PathBuf> = [self.place.root.clone()].into_iter().chain(common).collect();
        let objects = repository.map_or_else(Vec::new, |repository| repository.object_folders());
        let ground = ProcessFolders {
            writable: &writable,
            readable: &objects,
            environment: &environment,
            ..ProcessFolders::default()
        };
        let fence = fence_of(&self.config, &ground, &mut self.temporary)?;
        Ok(CheckEnvironment::of_no_attempt(
            &self.config.run,
            folder,
            environment,
            fence,
        ))
    }
}

impl VerificationVerdict {
    pub fn verified(&self, task: &str) -> ManualVerification {
        ManualVerification {
            task: task.to_owned(),
            passed: verify::all_passed(&self.receipts),
            waived: false,
            receipts: self.receipts.clone(),
            unverified: self.checks.unverified.clone(),
            by: None,
        }
    }

    /// Returns the commands that failed, numbered from 1.
    fn failures(&self) -> impl Iterator<Item = (usize, &Receipt)> {
        (1..).zip(&self.receipts).filter(|(_, receipt)| !passed(receipt))
    }

    /// Returns the failure for a task that is not proven, with the first command that failed. `may_waive` is whether `--unverified` would
    /// be accepted.
    pub fn refusal(&self, task: &str, may_waive: bool) -> Option<Failure> {
        let (number, receipt) = self.failures().next()?;
        let mut message = format!(
            "`{}` is not done: `{}` failed ({})",
            shown_name(task),
            command_words(&receipt.command),
            receipt.exit
        );
        for line in tail_lines(&receipt.tail) {
            message.push_str(&format!("\n  {line}"));
        }
        let n_others = self.failures().count() - 1;
        if n_others > 0 {
            message.push_str(&format!("\n{} failed too", count(n_others as u64, "other command")));
        }
        let log = self.logs.as_ref().map(|logs| shown_path(logs.log(number)));
        let log = log.map_or_else(String::new, |log| format!("; all of the output is in {log}"));
        let waive = match may_waive {
            true => ", or skip verification with `--unverified --note \"why\"`",
            false => "; verification is required here",
        };
        let help = format!("nothing was written; fix it and call `done` again{waive}{log}");
        Some(Failure::problem(message, help))
    }

    /// Returns the criteria without a rule, in words; empty if there are none.
    pub fn gaps(&self) -> Vec<String> {
        let checks = &self.checks;
        let mut lines = Vec::new();
        if !checks.is_covered {
            lines.push("unverified: no rule covers it".to_owned());
        } else {
            let texts = checks.unverified.iter();
            lines.extend(texts.map(|text| format!("unverified: no rule covers “{}”", cut(&one_line(text), 80))));
        }
        if let Some(first) = checks.held_back.first() {
            let others = match checks.held_back.len() - 1 {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            lines.push(format!(
                "not run: `{}`{others}, a command of the plan; --allow-plan-commands runs it",
                cut(&one_line(first), 80)
            ));
        }
        lines
    }
}

fn shown_path(path: PathBuf) -> String {
    one_line(&from_here(&path).to_string_lossy())
}

/// Returns a command as a user would write it.
pub fn command_words(command: &[String]) -> String {
    cut(&one_line(&command_line(command)), MAX_SHOWN_CHARS)
}

/// Returns the last non-blank lines of an output, as a terminal would finally show them.
pub fn tail_lines(tail: &str) -> Vec<String> {
    let lines = tail.lines().map(|line| {
        // A progress bar overwrites its earlier text.
        let last = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
        let tabs = without_sequences(last).replace('\t', "    ");
        cut(&printable(&tabs), MAX_SHOWN_CHARS).trim_end().to_owned()
    });
    let lines: Vec<String> = lines.collect();
    let n_said = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
    let first = n_said.saturating_sub(MAX_TAIL_LINES);
    let shown = lines.get(first..n_said).unwrap_or_default();
    shown.iter().skip_while(|line| line.is_empty()).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_they_would_be_written() {
        let words = |words: &[&str]| command_words(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&["cargo", "test", "--lib"]), "cargo test --lib");
        assert_eq!(words(&["sh", "-c", "a && b"]), "a && b");
        assert_eq!(words(&["grep", "a b", "", "it's"]), "grep 'a b' '' 'it'\\''s'");
        assert_eq!(words(&["x", "\u{1b}[2J"]), "x '\\u{1b}[2J'");
    }

    #[test]
    fn ends_of_outputs_are_shown_as_they_would_look() {
        let tail = "\n\u{1b}[31merror\u{1b}[0m:\tbad\n10%\r50%\r100%\r\n\u{7}\u{202e}\u{1b}[\n\n";
        assert_eq!(tail_lines(tail), ["error:    bad", "100%", "\\u{7}\\u{202e}"]);
        let many: String = (0..50).map(|n| format!("{n}\n")).collect();
        let lines = tail_lines(&many);
        assert_eq!((lines.len(), lines[0].as_str()), (MAX_TAIL_LINES, "30"));
        assert_eq!(tail_lines(""), [""; 0]);
    }
}
