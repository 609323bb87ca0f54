//! The steps in which an agent answers questions: for a plan, for the tasks of a pack, for the choice of the next agent.

use serde_json::Value;

use super::model_answers::right_line;
use super::planning_answers::{
    GOAL, REASON, SOURCE_PLAN, SOURCE_PLAN_HASH, arbiter, deriver, hinting_plan, long_note, planner,
};
use super::steps::AgentTrial;
use super::workspace::TrialWorkspace;

/// The path of the pack.
const PACK: &str = "docs/tasks/2026-11-16-001-feat-trial-tasks.md";

impl AgentTrial<'_> {
    /// The agent makes a plan, gets its findings, runs it, fails, and replans until all tasks are done.
    pub(super) fn planning_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-planning", self.cli.name);
        self.server.add(&name, planner(self.cli));
        let workspace = self.workspace("planning", &name, "")?;
        workspace.forget_plan()?;
        let made = workspace.run_json(&["plan", GOAL, "--dialect", "clido", "--agent", "tried", "--json"])?;
        anyhow::ensure!(made["effort"]["asked"] == 2, "the planner was not asked again: {made}");
        let path = made["plan"].as_str().unwrap_or_default();
        workspace.run(&["check", path])?.exits(0)?;
        workspace.run(&["run", "--replan", "1"])?.exits(0)?;
        let states = workspace.states()?;
        anyhow::ensure!(states == "greeting done, after done", "{states}");
        all_made(&workspace, &["greeting", "after"])?;
        workspace.run(&["diff", path])?.exits(0)?;
        Ok("2 answers, failed, replanned, done".to_owned())
    }

    /// The agent derives the tasks of a pack, gets a finding for one without a known requirement, and runs the pack.
    pub(super) fn derive_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-derive", self.cli.name);
        self.server.add(&name, deriver(self.cli));
        let workspace = self.workspace("derive", &name, "")?;
        let (plan, text) = SOURCE_PLAN;
        workspace.replace_plan(plan, text)?;
        let args = ["tasks", "derive", plan, "--out", PACK, "--agent", "tried", "--json"];
        let made = workspace.run_json(&args)?;
        anyhow::ensure!(made["written"] == true && made["draft"] == false, "no pack: {made}");
        anyhow::ensure!(made["effort"]["asked"] == 2, "the planner was not asked again: {made}");
        anyhow::ensure!(made["effort"]["tokens_out"].is_u64(), "no tokens were counted: {made}");
        let warnings = made["warnings"].as_array().map_or(0, Vec::len);
        anyhow::ensure!(warnings == 0, "there are warnings: {made}");
        workspace.run(&["tasks", "validate", PACK])?.exits(0)?;
        workspace.run(&["tasks", "cards", PACK, "--check"])?.exits(0)?;
        workspace.run(&["check", PACK])?.exits(0)?;
        let pack = workspace.read(PACK)?;
        let hash = format!("source_plan_hash: \"{SOURCE_PLAN_HASH}\"\n");
        anyhow::ensure!(pack.contains(&hash), "the hash differs from the plan's");
        anyhow::ensure!(pack.contains(&long_note()), "the answer was truncated");
        workspace.run(&["run", PACK])?.exits(0)?;
        let states = workspace.states()?;
        anyhow::ensure!(states == "T001 done, T002 done", "{states}");
        all_made(&workspace, &["T001", "T002"])?;
        Ok(format!("2 answers, a pack of {} bytes, done", pack.len()))
    }

    /// The arbiter chooses the next agent, with a reason. Without a choice, the step's own hint applies.
    pub(super) fn arbiter_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-arbiter", self.cli.name);
        let workspace = self.with_arbiter("arbiter", &name)?;
        let asked = ["arbiter", "--agent", "tried", "--json"];
        let first = workspace.run_json(&asked)?;
        anyhow::ensure!(
            first["answer"]["agent"] == "tried" && first["answer"]["reason"] == REASON,
            "{first}"
        );
        anyhow::ensure!(first["answer"]["fallback"].is_null(), "{first}");
        anyhow::ensure!(
            first["answer"]["tokens_out"].is_u64(),
            "no tokens were counted: {first}"
        );
        let hinted = "Suggested agent: other";
        let saw_it = self.server.requests(&name).iter().any(|request| request.says(hinted));
        anyhow::ensure!(saw_it, "the model never saw the hint");
        workspace.run(&["start", "0"])?.exits(0)?;
        workspace.run(&["done", "0", "--unverified"])?.exits(0)?;
        let second = workspace.run_json(&asked)?;
        let why = second["answer"]["fallback"].as_str().unwrap_or_default();
        anyhow::ensure!(
            second["answer"]["agent"] == "other" && why.contains("holds no JSON object"),
            "{second}"
        );
        Ok(format!("tried: {REASON}; then other: {why}"))
    }

    /// The arbiter chooses the agent of the first task of a run, against its hint. It makes no choice for the second.
    pub(super) fn choosing_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-choosing", self.cli.name);
        let workspace = self.with_arbiter("choosing", &name)?;
        workspace.run(&["run", "--arbiter", "tried"])?.exits(0)?;
        let states = workspace.states()?;
        anyhow::ensure!(states == "0 done, 1 done", "{states}");
        all_made(&workspace, &["0", "1"])?;
        for (task, agent) in [("0", "tried"), ("1", "other")] {
            for kind in ["chosen", "starting"] {
                let events = workspace.events(kind, task)?;
                let is_theirs = events.len() == 1 && events.iter().all(|event| event["agent"] == agent);
                anyhow::ensure!(is_theirs, "{kind} {task}: {events:?}");
            }
        }
        let reasons = workspace.events("chosen", "0")?;
        anyhow::ensure!(reasons.iter().all(|event| event["reason"] == REASON), "{reasons:?}");
        let losses = workspace.events("chosen", "1")?;
        let is_explained = |event: &Value| event["reason"].is_null() && event["why"].is_string();
        anyhow::ensure!(losses.iter().all(is_explained), "{losses:?}");
        let history = "1. tried - done";
        let saw_it = self.server.requests(&name).iter().any(|request| request.says(history));
        anyhow::ensure!(saw_it, "the model never saw the result of the first task");
        Ok("0 by tried, 1 by other".to_owned())
    }

    /// Returns a workspace with two agents and a plan that hints at the second.
    fn with_arbiter(&self, folder: &str, name: &str) -> anyhow::Result<TrialWorkspace<'_>> {
        self.server.add(name, arbiter(self.cli));
        let args = serde_json::to_string(self.cli.args)?;
        let other = format!("\n[agents.other]\npreset = \"{}\"\nargs = {args}\n", self.cli.name);
        let workspace = self.workspace(folder, name, &other)?;
        let (path, plan) = hinting_plan();
        workspace.replace_plan(path, &plan)?;
        Ok(workspace)
    }
}

/// Checks that these tasks have the expected files.
fn all_made(workspace: &TrialWorkspace<'_>, tasks: &[&str]) -> anyhow::Result<()> {
    for task in tasks {
        let text = workspace.read(&format!("{task}.txt"))?;
        anyhow::ensure!(text == right_line(task), "{task}.txt has {text:?}");
    }
    Ok(())
}
