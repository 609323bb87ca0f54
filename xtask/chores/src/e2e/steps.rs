//! The steps of every agent, in order: each runs commands of planwright and checks the result.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use planwright_testkit::model_server::{ModelAnswer, ModelScenario, ModelServer};
use serde_json::Value;

use super::clis::AgentCli;
use super::model_answers::{RED, REPORTED, TASKS, right_line, scenario};
use super::table::TrialTable;
use super::workspace::TrialWorkspace;

/// One agent with everything that its steps need.
pub(super) struct AgentTrial<'t> {
    pub(super) cli: &'static AgentCli,
    pub(super) binary: &'t Path,
    /// The folder with its program.
    pub(super) bin: &'t Path,
    pub(super) server: &'t ModelServer,
    /// The folder for its workspaces.
    pub(super) folder: PathBuf,
    /// The steps to run; empty means all.
    pub(super) only: &'t [&'t str],
}

/// The time limit of an agent whose command never ends: long enough to start on a busy machine.
const HANGING: &str = "20s";

type Step<'s> = (&'static str, &'s dyn Fn() -> anyhow::Result<String>);

impl AgentTrial<'_> {
    /// Runs all steps, also after one that failed.
    pub(super) fn run(&self, table: &mut TrialTable) -> anyhow::Result<()> {
        let has_recovered = Arc::new(AtomicBool::new(false));
        let name = format!("{}-main", self.cli.name);
        self.server.add(&name, scenario(self.cli, Arc::clone(&has_recovered)));
        let main = self.workspace("main", &name, "")?;
        let steps: [Step<'_>; 15] = [
            ("plan, run, replan", &|| self.planning_step()),
            ("tasks derive", &|| self.derive_step()),
            ("arbiter", &|| self.arbiter_step()),
            ("run --arbiter", &|| self.choosing_step()),
            ("check", &|| check_step(&main)),
            ("run, verified", &|| run_step(&main)),
            ("failed, then fixed", &|| self.fixed_step(&main, &name)),
            ("fails for good", &|| failing_step(&main)),
            ("run --retry-failed", &|| retry_step(&main, &has_recovered)),
            ("rate limit", &|| self.limit_step("limit", self.cli.limited)),
            ("overload", &|| self.limit_step("overload", overloaded)),
            ("key refused", &|| self.unauthorized_step()),
            ("empty answers", &|| self.empty_step()),
            ("tools denied", &|| self.denied_step()),
            ("hangs", &|| self.hanging_step()),
        ];
        let is_known = |name: &&&str| steps.iter().any(|(step, _)| step == *name);
        if let Some(unknown) = self.only.iter().find(|name| !is_known(name)) {
            let known: Vec<&str> = steps.iter().map(|(step, _)| *step).collect();
            anyhow::bail!("there is no step `{unknown}`: {}", known.join("; "));
        }
        for (step, does) in steps {
            if !self.only.is_empty() && !self.only.contains(&step) {
                continue;
            }
            if let Some((_, why)) = self.cli.cannot.iter().find(|(known, _)| *known == step) {
                table.leave_out(self.cli.name, step, why);
                continue;
            }
            let since = Instant::now();
            let result = does();
            table.add(self.cli.name, step, since.elapsed(), result);
        }
        Ok(())
    }

    pub(super) fn workspace(&self, name: &str, scenario: &str, agent: &str) -> anyhow::Result<TrialWorkspace<'_>> {
        let url = self.server.url(scenario);
        TrialWorkspace::new(self.binary, self.bin, self.cli, &url, self.folder.join(name), agent)
    }

    /// Verification fails after the first attempt; the second one reads the output, and fixes the file.
    fn fixed_step(&self, main: &TrialWorkspace<'_>, scenario: &str) -> anyhow::Result<String> {
        main.run(&["run", "--only", "count"])?.exits(0)?;
        let passed: Vec<bool> = main
            .events("verified", "count")?
            .iter()
            .map(|event| event["passed"] == true)
            .collect();
        anyhow::ensure!(passed == [false, true], "verification passed: {passed:?}");
        let finished = main.events("finished", "count")?;
        let is_known = finished.iter().all(|event| event["output"] == "count.txt is made");
        anyhow::ensure!(is_known, "its output is missing: {finished:?}");
        let saw_it = self.server.requests(scenario).iter().any(|request| request.says(RED));
        anyhow::ensure!(saw_it, "the model never saw the output of verification");
        anyhow::ensure!(main.read("count.txt")? == right_line("count"), "the file is not fixed");
        Ok("red, green".to_owned())
    }

    /// The provider limits the rate for a while: the attempt does not count, and the next one passes.
    fn limit_step(&self, folder: &str, limited: fn() -> ModelAnswer) -> anyhow::Result<String> {
        let is_free = Arc::new(AtomicBool::new(false));
        let answers = scenario(self.cli, Arc::default());
        let name = format!("{}-{folder}", self.cli.name);
        self.server
            .add(&name, limited_until(answers, Arc::clone(&is_free), limited));
        let workspace = self.workspace(folder, &name, "")?;
        let args = ["run", "--only", "greeting", "--attempts", "1", "--json"];
        let result = workspace.run_watched(&args, &mut |line| {
            if line.contains("\"rate-limited\"") {
                is_free.store(true, Ordering::SeqCst);
            }
        })?;
        let finished = workspace.events("finished", "greeting")?;
        let outcomes: Vec<&str> = finished.iter().filter_map(|event| event["outcome"].as_str()).collect();
        anyhow::ensure!(outcomes == ["rate-limited", "done"], "{outcomes:?}: {}", why(&finished));
        result.exits(0)?;
        let rests = workspace.events("resting", "greeting")?;
        let waits = rests.first().map_or(Value::Null, |rest| rest["milliseconds"].clone());
        let n_requests = self.server.requests(&name).len();
        Ok(format!("{n_requests} requests, waited {waits} ms: {}", why(&finished)))
    }

    /// The provider rejects the key.
    fn unauthorized_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-key", self.cli.name);
        self.server
            .add(&name, ModelScenario::script(vec![ModelAnswer::unauthorized()]));
        let workspace = self.workspace("key", &name, "")?;
        workspace
            .run(&["run", "--only", "greeting", "--attempts", "1"])?
            .exits(1)?;
        let finished = workspace.events("finished", "greeting")?;
        let why = why(&finished);
        anyhow::ensure!(why.contains(self.cli.unauthorized), "why: {why}");
        Ok(why)
    }

    /// The provider's answer is empty. Some agents then report success, one never ends.
    fn empty_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-empty", self.cli.name);
        self.server.add(&name, ModelScenario::script(vec![ModelAnswer::Empty]));
        let workspace = self.workspace("empty", &name, "")?;
        workspace
            .run(&["run", "--only", "greeting", "--attempts", "1"])?
            .exits(1)?;
        let finished = workspace.events("finished", "greeting")?;
        anyhow::ensure!(
            finished.iter().all(|event| event["outcome"] == "failed"),
            "{finished:?}"
        );
        Ok(format!(
            "{} requests: {}",
            self.server.requests(&name).len(),
            why(&finished)
        ))
    }

    /// A command of the agent never ends: the run ends it and its descendants.
    fn hanging_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-hanging", self.cli.name);
        let hang = vec![
            (self.cli.shell)("tail -f /dev/null"),
            ModelAnswer::text("It never ended"),
        ];
        self.server.add(&name, ModelScenario::script(hang));
        let workspace = self.workspace("hanging", &name, "")?;
        let args = ["run", "--only", "greeting", "--attempts", "1", "--wall-limit", HANGING];
        workspace.run(&args)?.exits(1)?;
        let why = why(&workspace.events("finished", "greeting")?);
        anyhow::ensure!(why.contains("took longer than"), "why: {why}");
        let left = workspace.left_behind();
        anyhow::ensure!(left.is_empty(), "these processes are still running: {left:?}");
        Ok(why)
    }

    /// The agent may change nothing, and reports success.
    fn denied_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-main", self.cli.name);
        let workspace = self.workspace("denied", &name, self.cli.denied)?;
        workspace
            .run(&["run", "--only", "greeting", "--attempts", "1"])?
            .exits(1)?;
        let finished = workspace.events("finished", "greeting")?;
        let is_red = workspace
            .events("verified", "greeting")?
            .iter()
            .any(|event| event["passed"] == false);
        let why = if is_red {
            "verification failed".to_owned()
        } else {
            why(&finished)
        };
        anyhow::ensure!(why.contains(self.cli.denial), "why: {why}");
        Ok(why)
    }
}

fn check_step(main: &TrialWorkspace<'_>) -> anyhow::Result<String> {
    main.run(&["check"])?.exits(0)?;
    main.run(&["run", "--dry-run"])?.exits(0)?;
    Ok("the plan is sound".to_owned())
}

/// The agent writes a file and runs a command, and verification passes.
fn run_step(main: &TrialWorkspace<'_>) -> anyhow::Result<String> {
    main.run(&["run", "--only", "greeting"])?.exits(0)?;
    for file in ["greeting.txt", "greeting-seen.log"] {
        let text = main.read(file)?;
        anyhow::ensure!(text == right_line("greeting"), "{file} has {text:?}");
    }
    let finished = main.events("finished", "greeting")?;
    let last = finished.last().cloned().unwrap_or_default();
    anyhow::ensure!(last["session"].is_string(), "no session is known: {last}");
    anyhow::ensure!(last["tokens"].is_array(), "no tokens were counted: {last}");
    anyhow::ensure!(last["output"] == REPORTED, "its result file was not read: {last}");
    Ok(format!("tokens {}", last["tokens"]))
}

/// A task fails in all its attempts, and its dependents are skipped.
fn failing_step(main: &TrialWorkspace<'_>) -> anyhow::Result<String> {
    main.run(&["run"])?.exits(1)?;
    let states = main.states()?;
    let expected = "greeting done, count done, stubborn failed, after skipped";
    anyhow::ensure!(states == expected, "{states}");
    let n_attempts = main.events("finished", "stubborn")?.len();
    anyhow::ensure!(n_attempts == 2, "{n_attempts} attempts");
    Ok(states)
}

/// After the model has recovered, the failed tasks run again, and the plan is finished.
fn retry_step(main: &TrialWorkspace<'_>, has_recovered: &AtomicBool) -> anyhow::Result<String> {
    has_recovered.store(true, Ordering::SeqCst);
    main.run(&["run", "--retry-failed"])?.exits(0)?;
    main.run(&["check"])?.exits(0)?;
    for (task, _) in TASKS {
        let text = main.read(&format!("{task}.txt"))?;
        anyhow::ensure!(text == right_line(task), "{task}.txt has {text:?}");
    }
    let states = main.states()?;
    anyhow::ensure!(!states.contains("failed") && !states.contains("skipped"), "{states}");
    Ok(states)
}

/// Returns a scenario in which the provider refuses until `is_free`.
fn limited_until(answers: ModelScenario, is_free: Arc<AtomicBool>, limited: fn() -> ModelAnswer) -> ModelScenario {
    ModelScenario::by(move |request| match is_free.load(Ordering::SeqCst) {
        true => answers.answer(request),
        false => limited(),
    })
}

fn overloaded() -> ModelAnswer {
    ModelAnswer::error(529, "overloaded_error", "overloaded")
}

/// Returns the first reason in events.
fn why(events: &[Value]) -> String {
    let found = events.iter().find_map(|event| event["why"].as_str());
    found
        .unwrap_or("no reason is given")
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}
