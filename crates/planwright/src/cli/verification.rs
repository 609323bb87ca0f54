//! Shared code of `verify` and `done`: the rules of the workspace, running the commands, and the report.

use std::io::Write as _;
use std::path::PathBuf;

use planwright_core::plan::Plan;
use planwright_run::clock;
use planwright_run::config::{self, Surroundings};
use planwright_run::fence::{self, Fence, Fencing, Ground, TemporaryFolders};
use planwright_run::files::DiskFiles;
use planwright_run::git::{Repository, Slot, commit_at};
use planwright_run::journal::{Receipt, Verified};
use planwright_run::layout::PlanPlace;
use planwright_run::redaction::Redaction;
use planwright_run::shell::command_line;
use planwright_run::store::LoadError;
use planwright_run::verify::{self, Check, Checks, Logs, Scene, Watch, passed};
use planwright_run::worker::{Manner, Mark, Workers};
use serde::Serialize;

use super::change::Found;
use super::config::refuse_unsound;
use super::exit::{Exit, Failure};
use super::interrupt::Interrupt;
use super::output::Output;
use super::plan_arg::load_failure;
use super::plan_entries::from_here;
use crate::render::quantity::duration;
use crate::render::terminal::{Audience, Paint, cut, one_line, printable, shown_name, without_sequences};

/// How many lines of the end of a failed command's output are shown.
const MAX_TAIL_LINES: usize = 20;

/// How much of a command, a criterion or a line of output is shown.
const MAX_SHOWN_CHARS: usize = 160;

/// Verifies tasks of one plan.
pub(crate) struct Verifier {
    config: config::Config,
    allow_plan_commands: bool,
    place: PlanPlace,
    temporary: TemporaryFolders,
    /// There once something is run.
    running: Option<Series>,
}

/// Commands that are run one after another.
pub(crate) struct Series {
    workers: Workers,
    interrupt: Interrupt,
}

/// What came of verifying a task.
pub(crate) struct Verdict {
    /// What was to be run, and what no rule covers.
    pub(crate) checks: Checks,
    /// What was run, in the order of the checks.
    pub(crate) receipts: Vec<Receipt>,
    /// Where the outputs are.
    logs: Option<Logs>,
}

/// Where it is said how commands go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// With the results.
    Results,
    /// Beside them.
    Beside,
    /// Nowhere but at a terminal: the results are for programs.
    Nowhere,
}

impl Verifier {
    /// Reads the rules for a plan. What is wrong with the configuration is shown, and no rule is trusted then.
    pub(crate) fn open(found: &Found, allow_plan_commands: bool, output: &mut Output) -> anyhow::Result<Self> {
        let place = PlanPlace::of(&DiskFiles, &found.path)
            .map_err(|source| load_failure(&LoadError::new(&found.path, source)))?;
        let configuration = config::load(&place.root, &Surroundings::of_process());
        refuse_unsound(&configuration, "so that what verifies a task is unknown", output)?;
        let config = configuration.config;
        Ok(Verifier {
            allow_plan_commands: allow_plan_commands || config.verify.allow_plan_commands,
            config,
            place,
            temporary: TemporaryFolders::default(),
            running: None,
        })
    }

    /// Returns whether a person may waive verification where it is required.
    pub(crate) fn allows_waivers(&self) -> bool {
        self.config.verify.allow_unverified
    }

    /// Returns whether there is anything that could verify a task.
    pub(crate) fn has_rules(&self) -> bool {
        self.config.verify.has_rules() || self.allow_plan_commands
    }

    /// Returns what verifies a task.
    pub(crate) fn checks(&self, plan: &Plan, task_ix: usize) -> Checks {
        Checks::of(&self.config.verify, plan, task_ix, self.allow_plan_commands)
    }

    /// Runs what verifies a task.
    pub(crate) fn run(
        &mut self,
        plan: &Plan,
        task_ix: usize,
        checks: Checks,
        told: Told,
        output: &mut Output,
    ) -> anyhow::Result<Verdict> {
        if checks.checks.is_empty() {
            return Ok(Verdict {
                checks,
                receipts: Vec::new(),
                logs: None,
            });
        }
        let name = plan.task_name(task_ix);
        let help = "check that you may write to `.planwright` and that there is space";
        let logs = Logs::create(&self.place.root, &self.place.relative, &name)
            .map_err(|error| Failure::environment(&error, help))?;
        let scene = self.scene(plan, task_ix)?;
        let commit = commit_at(&scene.folder);
        let series = match &mut self.running {
            Some(running) => running,
            none => none.insert(Series::begin()?),
        };
        let receipts = series.run(&checks.checks, &scene, &logs, commit.as_deref(), None, told, output)?;
        Ok(Verdict {
            checks,
            receipts,
            logs: Some(logs),
        })
    }

    fn scene(&mut self, plan: &Plan, task_ix: usize) -> anyhow::Result<Scene> {
        let name = plan.task_name(task_ix);
        let folder = verify::folder(&self.place.root, plan, task_ix).map_err(|error| {
            let message = format!("`{}` cannot be verified: {error}", shown_name(&name));
            Failure::problem(message, "correct the plan, or make the folder")
        })?;
        let mark = format!("{}-{}", std::process::id(), clock::now());
        let environment = verify::environment(std::env::vars_os(), &self.place.target, &name, &folder);
        let repository = Repository::around(&self.place.root).ok().flatten();
        let common = repository
            .as_ref()
            .map(|repository| repository.common_folder().to_owned());
        let writable: Vec<PathBuf> = [self.place.root.clone()].into_iter().chain(common).collect();
        let objects = repository.map_or_else(Vec::new, |repository| repository.object_folders());
        let ground = Ground {
            writable: &writable,
            readable: &objects,
            environment: &environment,
            ..Ground::default()
        };
        let fence = fence_of(&self.config, &ground, &mut self.temporary)?;
        Ok(Scene {
            folder,
            redaction: Redaction::of_environment(&environment),
            environment,
            mark: Mark::new([("PLANWRIGHT_CHECK", mark)]),
            max_log_bytes: self.config.run.log_cap,
            grace: self.config.run.grace,
            fence,
        })
    }
}

/// Returns the fence around commands that a person has run, which is that of a run.
pub(crate) fn fence_of(
    config: &config::Config,
    ground: &Ground<'_>,
    temporary: &mut TemporaryFolders,
) -> anyhow::Result<Option<Fence>> {
    let fencing = Fencing::of(&config.run, fence::own_program().as_deref())
        .map_err(|error| Failure::problem(error.to_string(), error.help()))?;
    let mut fence = fencing.fence(ground);
    if let Some(fence) = &mut fence {
        let help = "check that you may write to the folder for temporary files and that there is space";
        temporary.remove(0);
        let folder = temporary.make(0).map_err(|error| Failure::environment(&error, help))?;
        fence.give_temporary(folder);
    }
    Ok(fence)
}

impl Series {
    pub(crate) fn begin() -> anyhow::Result<Self> {
        let help = "no command can be run for verification here";
        let workers = Workers::new().map_err(|error| Failure::environment(&error, help))?;
        let interrupt = Interrupt::listen().map_err(|error| Failure::environment(&error, help))?;
        Ok(Series { workers, interrupt })
    }

    /// Runs all commands. Returns their receipts. In a slot, the files of its commit are restored before each command.
    #[expect(clippy::too_many_arguments, reason = "two calls, and all of them are their own")]
    pub(crate) fn run(
        &mut self,
        checks: &[Check],
        scene: &Scene,
        logs: &Logs,
        commit: Option<&str>,
        slot: Option<&Slot>,
        told: Told,
        output: &mut Output,
    ) -> anyhow::Result<Vec<Receipt>> {
        let mut teller = Teller {
            slot,
            told,
            output,
            interrupt: &mut self.interrupt,
        };
        let ran = verify::run_all(&mut self.workers, checks, scene, logs, commit, &mut teller);
        match (ran, self.interrupt.exit()) {
            (Ok(receipts), None) => Ok(receipts),
            (_, exit) => Err(Failure {
                exit: exit.unwrap_or(Exit::Interrupted),
                message: "the verification was interrupted".to_owned(),
                help: "what ran was ended, and nothing was changed".to_owned(),
                evidence: None,
            }
            .into()),
        }
    }
}

impl Verdict {
    /// Returns what is to be recorded.
    pub(crate) fn verified(&self, task: &str) -> Verified {
        Verified {
            task: task.to_owned(),
            passed: verify::all_passed(&self.receipts),
            waived: false,
            receipts: self.receipts.clone(),
            unverified: self.checks.unverified.clone(),
            by: None,
        }
    }

    /// Returns the commands that failed, counted from 1.
    fn failures(&self) -> impl Iterator<Item = (usize, &Receipt)> {
        (1..).zip(&self.receipts).filter(|(_, receipt)| !passed(receipt))
    }

    /// Returns that a task cannot be said to be done, with the first command that failed.
    /// `may_waive` is whether `--unverified` would be accepted.
    pub(crate) fn refusal(&self, task: &str, may_waive: bool) -> Option<anyhow::Error> {
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
            let plural = if n_others == 1 { "" } else { "s" };
            message.push_str(&format!("\n{n_others} other command{plural} failed too"));
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

    /// Returns what no rule covers, in words; nothing where everything is covered.
    pub(crate) fn gaps(&self) -> Vec<String> {
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
                "not run: `{}`{others}, written inside the plan; --allow-plan-commands runs it",
                cut(&one_line(first), 80)
            ));
        }
        lines
    }
}

fn shown_path(path: PathBuf) -> String {
    one_line(&from_here(&path).to_string_lossy())
}

/// Says how commands go, and passes on that somebody does not want to wait.
struct Teller<'a> {
    told: Told,
    output: &'a mut Output,
    interrupt: &'a mut Interrupt,
    /// The checkout in which commands run, where it is one for verification.
    slot: Option<&'a Slot>,
}

impl Watch for Teller<'_> {
    fn begins(&mut self, check: &Check) {
        if let Some(Ok(changed)) = self.slot.map(Slot::restore_tracked)
            && !changed.is_empty()
        {
            let files = one_line(&changed.join(", "));
            self.output
                .remark(&format!("restored before the next command: {files}"));
        }
        // Only who sits there wonders what goes on.
        if self.output.audience_beside() == Audience::Person {
            let words = command_words(&check.command.arguments());
            self.output.remark(&format!("  running {words}"));
        }
    }

    fn ends(&mut self, _check: &Check, receipt: &Receipt) {
        match self.told {
            Told::Results => {
                let paint = self.output.paint();
                for line in receipt_lines(receipt, paint) {
                    self.output.line(&line);
                }
                self.output.flush();
            }
            Told::Beside => {
                let line = receipt_line(receipt, self.output.paint_beside());
                self.output.remark(&line);
            }
            Told::Nowhere => {}
        }
        // Whoever is not there any more need not hear it.
        let _ = std::io::stderr().flush();
    }

    fn interruption(&mut self) -> Option<Manner> {
        self.interrupt.manner()
    }
}

/// Returns what came of a command, and the end of its output where it failed.
fn receipt_lines(receipt: &Receipt, paint: Paint) -> Vec<String> {
    let mut lines = vec![receipt_line(receipt, paint)];
    if !passed(receipt) {
        let tail = tail_lines(&receipt.tail).into_iter();
        lines.extend(tail.map(|line| format!("    {} {line}", paint.dim("|"))));
    }
    lines
}

fn receipt_line(receipt: &Receipt, paint: Paint) -> String {
    let time = duration(receipt.milliseconds);
    let words = command_words(&receipt.command);
    match passed(receipt) {
        true => format!("  {}  {words}  ({time})", paint.good("passed")),
        false => format!("  {}  {words}  ({}, {time})", paint.error("failed"), receipt.exit),
    }
}

/// Returns a command as its user would write it.
pub(crate) fn command_words(command: &[String]) -> String {
    cut(&one_line(&command_line(command)), MAX_SHOWN_CHARS)
}

/// Returns the last lines of an output that say something, as they would stand there at the end.
fn tail_lines(tail: &str) -> Vec<String> {
    let lines = tail.lines().map(|line| {
        // What a progress bar wrote over is gone.
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

/// How a task was verified, as JSON.
#[derive(Serialize)]
pub(crate) struct VerifiedReport {
    task: String,
    /// Whether commands were run, and all of them succeeded.
    passed: bool,
    /// Whether somebody wanted no verification.
    waived: bool,
    receipts: Vec<ReceiptReport>,
    /// Criteria that no rule covers.
    unverified: Vec<String>,
}

#[derive(Serialize)]
struct ReceiptReport {
    command: Vec<String>,
    passed: bool,
    exit: String,
    milliseconds: u64,
    digest: String,
    tail: String,
    commit: Option<String>,
}

impl From<&Verified> for VerifiedReport {
    fn from(verified: &Verified) -> Self {
        let receipts = verified.receipts.iter().map(|receipt| ReceiptReport {
            command: receipt.command.clone(),
            passed: passed(receipt),
            exit: receipt.exit.clone(),
            milliseconds: receipt.milliseconds,
            digest: receipt.digest.clone(),
            tail: receipt.tail.clone(),
            commit: receipt.commit.clone(),
        });
        VerifiedReport {
            task: verified.task.clone(),
            passed: verified.passed,
            waived: verified.waived,
            receipts: receipts.collect(),
            unverified: verified.unverified.clone(),
        }
    }
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
