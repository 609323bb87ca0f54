//! The steps that every agent goes through, one after another: each does something with planwright and checks what came of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use planwright_testkit::model_server::{ModelAnswer, ModelScenario, ModelServer};
use serde_json::Value;

use super::clis::Cli;
use super::story::{RED, REPORTED, TASKS, right_line, scenario};
use super::table::Table;
use super::workspace::Workspace;

/// One agent with all that it needs.
pub(super) struct Trial<'t> {
    pub(super) cli: &'static Cli,
    pub(super) binary: &'t Path,
    /// The folder with its program.
    pub(super) bin: &'t Path,
    pub(super) server: &'t ModelServer,
    /// The folder for its workspaces.
    pub(super) folder: PathBuf,
    /// The steps to go through; all where none is named.
    pub(super) only: &'t [&'t str],
}

/// How long an agent may take whose command never ends: long enough for it to begin, also on a busy machine.
const HANGING: &str = "20s";

type Step<'s> = (&'static str, &'s dyn Fn() -> anyhow::Result<String>);

impl Trial<'_> {
    /// Goes through all steps. One that fails does not keep the others from being tried.
    pub(super) fn run(&self, table: &mut Table) -> anyhow::Result<()> {
        let has_learnt = Arc::new(AtomicBool::new(false));
        let name = format!("{}-story", self.cli.name);
        self.server.add(&name, scenario(self.cli, Arc::clone(&has_learnt)));
        let main = self.workspace("story", &name, "")?;
        let steps: [Step<'_>; 15] = [
            ("plan, run, replan", &|| self.planning_step()),
            ("tasks derive", &|| self.derive_step()),
            ("arbiter", &|| self.arbiter_step()),
            ("run --arbiter", &|| self.choosing_step()),
            ("check", &|| check_step(&main)),
            ("run, verified", &|| run_step(&main)),
            ("failed, then fixed", &|| self.fixed_step(&main, &name)),
            ("fails for good", &|| failing_step(&main)),
            ("run --retry-failed", &|| retry_step(&main, &has_learnt)),
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
            let came = does();
            table.add(self.cli.name, step, since.elapsed(), came);
        }
        Ok(())
    }

    pub(super) fn workspace(&self, name: &str, scenario: &str, agent: &str) -> anyhow::Result<Workspace<'_>> {
        let url = self.server.url(scenario);
        Workspace::new(self.binary, self.bin, self.cli, &url, self.folder.join(name), agent)
    }

    /// Verification is red after the first attempt; the second one reads why, and fixes it.
    fn fixed_step(&self, main: &Workspace<'_>, scenario: &str) -> anyhow::Result<String> {
        main.does(&["run", "--only", "count"])?.exits(0)?;
        let passed: Vec<bool> = main
            .events("verified", "count")?
            .iter()
            .map(|event| event["passed"] == true)
            .collect();
        anyhow::ensure!(passed == [false, true], "verification passed: {passed:?}");
        let finished = main.events("finished", "count")?;
        let is_known = finished.iter().all(|event| event["output"] == "count.txt is made");
        anyhow::ensure!(is_known, "its last words are not known: {finished:?}");
        let saw_it = self.server.requests(scenario).iter().any(|request| request.says(RED));
        anyhow::ensure!(saw_it, "the model never saw what verification said");
        anyhow::ensure!(main.read("count.txt")? == right_line("count"), "the file is not fixed");
        Ok("red, green".to_owned())
    }

    /// The provider has had enough for a while: the attempt is not spent, and the next one goes well.
    fn limit_step(&self, folder: &str, limited: fn() -> ModelAnswer) -> anyhow::Result<String> {
        let is_free = Arc::new(AtomicBool::new(false));
        let story = scenario(self.cli, Arc::default());
        let name = format!("{}-{folder}", self.cli.name);
        self.server.add(&name, held_up(story, Arc::clone(&is_free), limited));
        let workspace = self.workspace(folder, &name, "")?;
        let args = ["run", "--only", "greeting", "--attempts", "1", "--json"];
        let came = workspace.does_watched(&args, &mut |line| {
            if line.contains("\"rate-limited\"") {
                is_free.store(true, Ordering::SeqCst);
            }
        })?;
        let finished = workspace.events("finished", "greeting")?;
        let outcomes: Vec<&str> = finished.iter().filter_map(|event| event["outcome"].as_str()).collect();
        anyhow::ensure!(outcomes == ["rate-limited", "done"], "{outcomes:?}: {}", why(&finished));
        came.exits(0)?;
        let rests = workspace.events("resting", "greeting")?;
        let waits = rests.first().map_or(Value::Null, |rest| rest["milliseconds"].clone());
        let n_requests = self.server.requests(&name).len();
        Ok(format!("{n_requests} requests, waited {waits} ms: {}", why(&finished)))
    }

    /// The provider does not accept the key.
    fn unauthorized_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-key", self.cli.name);
        self.server
            .add(&name, ModelScenario::script(vec![ModelAnswer::unauthorized()]));
        let workspace = self.workspace("key", &name, "")?;
        workspace
            .does(&["run", "--only", "greeting", "--attempts", "1"])?
            .exits(1)?;
        let finished = workspace.events("finished", "greeting")?;
        let why = why(&finished);
        anyhow::ensure!(why.contains(self.cli.unauthorized), "why: {why}");
        Ok(why)
    }

    /// The provider answers, and says nothing. Some agents end well by their own account, one goes on for ever.
    fn empty_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-empty", self.cli.name);
        self.server.add(&name, ModelScenario::script(vec![ModelAnswer::Empty]));
        let workspace = self.workspace("empty", &name, "")?;
        workspace
            .does(&["run", "--only", "greeting", "--attempts", "1"])?
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

    /// A command of the agent's never ends: the run ends it and all that it started.
    fn hanging_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-hanging", self.cli.name);
        let hang = vec![
            (self.cli.shell)("tail -f /dev/null"),
            ModelAnswer::text("It never ended"),
        ];
        self.server.add(&name, ModelScenario::script(hang));
        let workspace = self.workspace("hanging", &name, "")?;
        let args = ["run", "--only", "greeting", "--attempts", "1", "--wall-limit", HANGING];
        workspace.does(&args)?.exits(1)?;
        let why = why(&workspace.events("finished", "greeting")?);
        anyhow::ensure!(why.contains("took longer than"), "why: {why}");
        let left = workspace.left_behind();
        anyhow::ensure!(left.is_empty(), "these processes are left: {left:?}");
        Ok(why)
    }

    /// The agent may change nothing, and ends as if all were well.
    fn denied_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-story", self.cli.name);
        let workspace = self.workspace("denied", &name, self.cli.denied)?;
        workspace
            .does(&["run", "--only", "greeting", "--attempts", "1"])?
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

fn check_step(main: &Workspace<'_>) -> anyhow::Result<String> {
    main.does(&["check"])?.exits(0)?;
    main.does(&["run", "--dry-run"])?.exits(0)?;
    Ok("the plan is sound".to_owned())
}

/// The agent writes a file and runs a command, and that is verified.
fn run_step(main: &Workspace<'_>) -> anyhow::Result<String> {
    main.does(&["run", "--only", "greeting"])?.exits(0)?;
    for file in ["greeting.txt", "greeting-seen.log"] {
        let text = main.read(file)?;
        anyhow::ensure!(text == right_line("greeting"), "{file} says {text:?}");
    }
    let finished = main.events("finished", "greeting")?;
    let last = finished.last().cloned().unwrap_or_default();
    anyhow::ensure!(last["session"].is_string(), "no session is known: {last}");
    anyhow::ensure!(last["tokens"].is_array(), "no tokens were counted: {last}");
    anyhow::ensure!(last["output"] == REPORTED, "its result file was not read: {last}");
    Ok(format!("tokens {}", last["tokens"]))
}

/// A task fails in all its attempts, and what depends on it is skipped.
fn failing_step(main: &Workspace<'_>) -> anyhow::Result<String> {
    main.does(&["run"])?.exits(1)?;
    let states = main.states()?;
    let expected = "greeting done, count done, stubborn failed, after skipped";
    anyhow::ensure!(states == expected, "{states}");
    let n_attempts = main.events("finished", "stubborn")?.len();
    anyhow::ensure!(n_attempts == 2, "{n_attempts} attempts");
    Ok(states)
}

/// The same again, after the model has learnt something, and the plan is finished.
fn retry_step(main: &Workspace<'_>, has_learnt: &AtomicBool) -> anyhow::Result<String> {
    has_learnt.store(true, Ordering::SeqCst);
    main.does(&["run", "--retry-failed"])?.exits(0)?;
    main.does(&["check"])?.exits(0)?;
    for (task, _) in TASKS {
        let text = main.read(&format!("{task}.txt"))?;
        anyhow::ensure!(text == right_line(task), "{task}.txt says {text:?}");
    }
    let states = main.states()?;
    anyhow::ensure!(!states.contains("failed") && !states.contains("skipped"), "{states}");
    Ok(states)
}

/// Returns a scenario in which the provider refuses until it is free.
fn held_up(story: ModelScenario, is_free: Arc<AtomicBool>, limited: fn() -> ModelAnswer) -> ModelScenario {
    ModelScenario::by(move |request| match is_free.load(Ordering::SeqCst) {
        true => story.answer(request),
        false => limited(),
    })
}

fn overloaded() -> ModelAnswer {
    ModelAnswer::error(529, "overloaded_error", "overloaded")
}

/// Returns the first reason among events.
fn why(events: &[Value]) -> String {
    let found = events.iter().find_map(|event| event["why"].as_str());
    found
        .unwrap_or("no reason is given")
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}
