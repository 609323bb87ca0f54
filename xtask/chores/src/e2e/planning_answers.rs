//! The model's answers to planners and arbiters: plans, tasks of a pack, and the choice of the next agent.

use std::sync::Arc;

use planwright_testkit::model_server::{ModelAnswer, ModelRequest, ModelScenario};
use serde_json::json;

use super::clis::AgentCli;
use super::model_answers::{description, right_line, scenario};

/// The goal of the planning trial, which is in the prompts of planners and tasks.
pub(super) const GOAL: &str = "Make the files of the trial";

/// A planner that first makes an invalid plan, then one whose task `stubborn` always fails, and then one without that task.
pub(super) fn planner(cli: &'static AgentCli) -> ModelScenario {
    let tasks = scenario(cli, Arc::default());
    ModelScenario::by(move |request| match () {
        () if request.says("# Task `") => tasks.answer(request),
        () if !request.says("You are a planner") => ModelAnswer::text("Make files"),
        () if request.says("The task `stubborn` failed") => plan_of(&[("greeting", &[]), ("after", &["greeting"])]),
        // The second prompt has the findings of the first plan.
        () if request.says("unknown-dependency") => plan_of(&[("greeting", &[]), ("stubborn", &["greeting"])]),
        () => plan_of(&[("greeting", &["nobody"])]),
    })
}

/// Returns a planner's answer.
fn plan_of(tasks: &[(&str, &[&str])]) -> ModelAnswer {
    let tasks = tasks
        .iter()
        .map(|(task, on)| json!({"id": task, "description": description(task), "depends_on": on}));
    let plan = json!({"goal": GOAL, "tasks": tasks.collect::<Vec<_>>()});
    ModelAnswer::Text(format!("One file for each task.\n\n```json\n{plan}\n```"))
}

/// The path and the text of a source plan for a task pack.
pub(super) const SOURCE_PLAN: (&str, &str) = (
    "docs/plans/trial.md",
    "---\ntitle: Make the files of the trial\nspec_id: 2026-11-16-001-trial\n---\n\n# Make the files of the trial\n\n\
     ## Requirements\n\n- R1. There is a first file.\n- R2. There is a second file, made after the first.\n",
);

/// The SHA-256 of the text after its frontmatter, computed by another program.
pub(super) const SOURCE_PLAN_HASH: &str = "sha256:5e4908fcc36cf955e1a5a27ccac3481433267c6cdc18178934cc5ac14337c12f";

/// The tasks of the pack, each with its requirement and its dependencies.
const PACK: [(&str, &str, &[&str]); 2] = [("T001", "R1", &[]), ("T002", "R2", &["T001"])];

/// Returns a long text without blanks at its ends, to find a truncated answer.
pub(super) fn long_note() -> String {
    let words: Vec<String> = (1..=4_000).map(|number| format!("note {number}")).collect();
    words.join(", ")
}

/// A planner that first lists files, then derives a task from an unknown requirement, and then from known ones.
/// It also runs the tasks of the pack.
pub(super) fn deriver(cli: &'static AgentCli) -> ModelScenario {
    ModelScenario::by(move |request| match () {
        () if request.says("# Task `") => worker(cli, request, &["T001", "T002"]),
        () if !request.says("Derive the tasks of a pack") => ModelAnswer::text("Derive tasks"),
        () if request.n_results == 0 => (cli.shell)("ls docs/plans"),
        () if request.says("derive-unknown-anchor") => tasks_of("R2"),
        () => tasks_of("R9"),
    })
}

/// Returns a deriving planner's answer, in which the last task serves this requirement.
fn tasks_of(last: &str) -> ModelAnswer {
    let tasks = PACK.map(|(task, serves, on)| {
        let serves = if task == "T002" { last } else { serves };
        json!({
            "task_id": task,
            "requirement_refs": [serves],
            "goal": description(task),
            "dependencies": on,
            "files": [format!("{task}.txt")],
            "test_focus": "the line in it",
            "done_signal": "the file is there",
            "stop_if": "there is a file of this name that is not ours",
            "notes": long_note()
        })
    });
    let answer = json!({"tasks": tasks, "source_sections": ["Requirements"]});
    ModelAnswer::Text(format!("A task for each file.\n\n```json\n{answer:#}\n```\n"))
}

/// The path and the text of a plan whose steps suggest the agent `other`.
pub(super) fn hinting_plan() -> (&'static str, String) {
    let steps = ["0", "1"].map(|step| {
        let on = if step == "0" { "" } else { "    dependsOn: [0]\n" };
        let description = description(step);
        format!(
            "  - index: {step}\n    description: {description}\n    status: pending\n    suggestedAgent: other\n{on}"
        )
    });
    let plan = format!(
        "id: plan-20261116-trial\ntask: {GOAL}\nstatus: draft\nsteps:\n{}currentStepIndex: 0\ncreatedAt: \
         \"2026-11-16T08:00:00Z\"\nupdatedAt: \"2026-11-16T08:00:00Z\"\ncreatedBy: planner\nversion: 1\n",
        steps.concat()
    );
    (".rawko/plans/plan-20261116-trial.yaml", plan)
}

/// The arbiter's reason for its choice, and its answer without a choice.
pub(super) const REASON: &str = "it has seen the place before";
const NO_CHOICE: &str = "Either of them would do, I think. {agent: whoever}";

/// An arbiter that chooses `tried` for the first step, against its hint, and makes no choice for the second. It also runs the steps.
pub(super) fn arbiter(cli: &'static AgentCli) -> ModelScenario {
    let chosen = json!({"agent": "tried", "reason": REASON});
    ModelScenario::by(move |request| match () {
        () if request.says("# Step `") => worker(cli, request, &["0", "1"]),
        () if !request.says("## Available Agents") => ModelAnswer::text("Choose"),
        () if request.says("## Current Step\n\nStep 1: ") => {
            ModelAnswer::Text(format!("Let me see.\n\n```json\n{chosen}\n```"))
        }
        () => ModelAnswer::text(NO_CHOICE),
    })
}

/// Creates the file of the task that a request names.
fn worker(cli: &AgentCli, request: &ModelRequest, tasks: &[&str]) -> ModelAnswer {
    let is_asked =
        |task: &&&str| request.says(&format!("# Task `{task}`")) || request.says(&format!("# Step `{task}`"));
    match tasks.iter().find(is_asked) {
        Some(task) if request.n_results == 0 => (cli.shell)(&format!(
            "printf '{}' > {task}.txt",
            right_line(task).replace('\n', "\\n")
        )),
        Some(task) => ModelAnswer::Text(format!("{task}.txt is made")),
        None => ModelAnswer::text("Nothing is to be done"),
    }
}
