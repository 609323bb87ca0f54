//! The steps in which an agent is asked for its word: for a plan, for the tasks of a pack, for who is to act next.

use serde_json::Value;

use super::planning_story::{
    GOAL, REASON, SOURCE_PLAN, SOURCE_PLAN_HASH, arbiter, deriver, hinting_plan, long_note, planner,
};
use super::steps::Trial;
use super::story::right_line;
use super::workspace::Workspace;

/// Where the pack is written.
const PACK: &str = "docs/tasks/2026-11-16-001-feat-trial-tasks.md";

impl Trial<'_> {
    /// The agent plans, is told what is wrong with its plan, carries it out, fails, and plans anew until all is done.
    pub(super) fn planning_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-planning", self.cli.name);
        self.server.add(&name, planner(self.cli));
        let workspace = self.workspace("planning", &name, "")?;
        workspace.forget_plan()?;
        let made = workspace.asks(&["plan", GOAL, "--dialect", "clido", "--agent", "tried", "--json"])?;
        anyhow::ensure!(made["effort"]["asked"] == 2, "it was not asked again: {made}");
        let path = made["plan"].as_str().unwrap_or_default();
        workspace.does(&["check", path])?.exits(0)?;
        workspace.does(&["run", "--replan", "1"])?.exits(0)?;
        let states = workspace.states()?;
        anyhow::ensure!(states == "greeting done, after done", "{states}");
        all_made(&workspace, &["greeting", "after"])?;
        workspace.does(&["diff", path])?.exits(0)?;
        Ok("2 answers, failed, replanned, done".to_owned())
    }

    /// The agent derives the tasks of a pack, gets a report of one that serves nothing in the plan, and carries the pack out.
    pub(super) fn derive_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-derive", self.cli.name);
        self.server.add(&name, deriver(self.cli));
        let workspace = self.workspace("derive", &name, "")?;
        let (plan, text) = SOURCE_PLAN;
        workspace.replace_plan(plan, text)?;
        let args = ["tasks", "derive", plan, "--out", PACK, "--agent", "tried", "--json"];
        let made = workspace.asks(&args)?;
        anyhow::ensure!(made["written"] == true && made["draft"] == false, "no pack: {made}");
        anyhow::ensure!(made["effort"]["asked"] == 2, "it was not asked again: {made}");
        anyhow::ensure!(made["effort"]["tokens_out"].is_u64(), "no tokens were counted: {made}");
        let warnings = made["warnings"].as_array().map_or(0, Vec::len);
        anyhow::ensure!(warnings == 0, "there are warnings: {made}");
        workspace.does(&["tasks", "validate", PACK])?.exits(0)?;
        workspace.does(&["tasks", "cards", PACK, "--check"])?.exits(0)?;
        workspace.does(&["check", PACK])?.exits(0)?;
        let pack = workspace.read(PACK)?;
        let hash = format!("source_plan_hash: \"{SOURCE_PLAN_HASH}\"\n");
        anyhow::ensure!(pack.contains(&hash), "the hash is not that of the plan");
        anyhow::ensure!(pack.contains(&long_note()), "the answer did not arrive whole");
        workspace.does(&["run", PACK])?.exits(0)?;
        let states = workspace.states()?;
        anyhow::ensure!(states == "T001 done, T002 done", "{states}");
        all_made(&workspace, &["T001", "T002"])?;
        Ok(format!("2 answers, a pack of {} bytes, done", pack.len()))
    }

    /// The agent says who is to act next, with a reason; where it is at a loss, the step's own hint holds.
    pub(super) fn arbiter_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-arbiter", self.cli.name);
        let workspace = self.with_arbiter("arbiter", &name)?;
        let asked = ["arbiter", "--agent", "tried", "--json"];
        let first = workspace.asks(&asked)?;
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
        workspace.does(&["start", "0"])?.exits(0)?;
        workspace.does(&["done", "0", "--unverified"])?.exits(0)?;
        let second = workspace.asks(&asked)?;
        let why = second["answer"]["fallback"].as_str().unwrap_or_default();
        anyhow::ensure!(
            second["answer"]["agent"] == "other" && why.contains("holds no JSON object"),
            "{second}"
        );
        Ok(format!("tried: {REASON}; then other: {why}"))
    }

    /// The agent chooses who takes the first task of a run, itself against the hint; about the second it is at a loss.
    pub(super) fn choosing_step(&self) -> anyhow::Result<String> {
        let name = format!("{}-choosing", self.cli.name);
        let workspace = self.with_arbiter("choosing", &name)?;
        workspace.does(&["run", "--arbiter", "tried"])?.exits(0)?;
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
        let is_told = |event: &Value| event["reason"].is_null() && event["why"].is_string();
        anyhow::ensure!(losses.iter().all(is_told), "{losses:?}");
        let history = "1. tried - done";
        let saw_it = self.server.requests(&name).iter().any(|request| request.says(history));
        anyhow::ensure!(saw_it, "the model never saw what came of the first task");
        Ok("0 by tried, 1 by other".to_owned())
    }

    /// Returns a workspace with two agents and a plan that hints at the second.
    fn with_arbiter(&self, folder: &str, name: &str) -> anyhow::Result<Workspace<'_>> {
        self.server.add(name, arbiter(self.cli));
        let args = serde_json::to_string(self.cli.args)?;
        let other = format!("\n[agents.other]\npreset = \"{}\"\nargs = {args}\n", self.cli.name);
        let workspace = self.workspace(folder, name, &other)?;
        let (path, plan) = hinting_plan();
        workspace.replace_plan(path, &plan)?;
        Ok(workspace)
    }
}

/// Checks that the files of these tasks are as they should be.
fn all_made(workspace: &Workspace<'_>, tasks: &[&str]) -> anyhow::Result<()> {
    for task in tasks {
        let text = workspace.read(&format!("{task}.txt"))?;
        anyhow::ensure!(text == right_line(task), "{task}.txt says {text:?}");
    }
    Ok(())
}
