//! What the model says when an agent is asked and not set to work: plans, tasks of a pack, and who is to act next.

use std::sync::Arc;

use planwright_testkit::model_server::{ModelAnswer, ModelRequest, ModelScenario};
use serde_json::json;

use super::clis::Cli;
use super::story::{description, right_line, scenario};

/// What the planning trial is for; the prompts of planners and tasks say it.
pub(super) const GOAL: &str = "Make the files of the trial";

/// A planner that first makes a plan that cannot be used, then one whose task `stubborn` fails for good, and then one without it.
pub(super) fn planner(cli: &'static Cli) -> ModelScenario {
    let tasks = scenario(cli, Arc::default());
    ModelScenario::by(move |request| match () {
        () if request.says("# Task `") => tasks.answer(request),
        () if !request.says("You are a planner") => ModelAnswer::text("Make files"),
        () if request.says("The task `stubborn` failed") => plan_of(&[("greeting", &[]), ("after", &["greeting"])]),
        // What was wrong with the first try is told with it.
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

/// A source plan for a task pack: where it lies, and its text.
pub(super) const SOURCE_PLAN: (&str, &str) = (
    "docs/plans/trial.md",
    "---\ntitle: Make the files of the trial\nspec_id: 2026-11-16-001-trial\n---\n\n# Make the files of the trial\n\n\
     ## Requirements\n\n- R1. There is a first file.\n- R2. There is a second file, made after the first.\n",
);

/// The SHA-256 of what follows its frontmatter, by a program of others.
pub(super) const SOURCE_PLAN_HASH: &str = "sha256:5e4908fcc36cf955e1a5a27ccac3481433267c6cdc18178934cc5ac14337c12f";

/// The tasks of the pack, each with the requirement that it serves and what it depends on.
const PACK: [(&str, &str, &[&str]); 2] = [("T001", "R1", &[]), ("T002", "R2", &["T001"])];

/// A long text without blanks at its ends: that of an answer arrives whole, or it is not there.
pub(super) fn long_note() -> String {
    let words: Vec<String> = (1..=4_000).map(|number| format!("note {number}")).collect();
    words.join(", ")
}

/// A planner that looks around, first derives a task from a requirement that does not exist, and then from those that there are.
/// It carries out the pack, too.
pub(super) fn deriver(cli: &'static Cli) -> ModelScenario {
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

/// A plan whose steps ask for the agent `other`: where it lies, and its text.
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

/// Why the arbiter chooses as it does, and what it says where it does not.
pub(super) const REASON: &str = "it has seen the place before";
const AT_A_LOSS: &str = "Either of them would do, I think. {agent: whoever}";

/// An arbiter that chooses `tried` for the first step, against its hint, and is at a loss about the second. It takes the steps, too.
pub(super) fn arbiter(cli: &'static Cli) -> ModelScenario {
    let chosen = json!({"agent": "tried", "reason": REASON});
    ModelScenario::by(move |request| match () {
        () if request.says("# Step `") => worker(cli, request, &["0", "1"]),
        () if !request.says("## Available Agents") => ModelAnswer::text("Choose"),
        () if request.says("## Current Step\n\nStep 1: ") => {
            ModelAnswer::Text(format!("Let me see.\n\n```json\n{chosen}\n```"))
        }
        () => ModelAnswer::text(AT_A_LOSS),
    })
}

/// Makes the file of whichever of these tasks a request is about.
fn worker(cli: &Cli, request: &ModelRequest, tasks: &[&str]) -> ModelAnswer {
    let is_told = |task: &&&str| request.says(&format!("# Task `{task}`")) || request.says(&format!("# Step `{task}`"));
    match tasks.iter().find(is_told) {
        Some(task) if request.n_results == 0 => (cli.shell)(&format!(
            "printf '{}' > {task}.txt",
            right_line(task).replace('\n', "\\n")
        )),
        Some(task) => ModelAnswer::Text(format!("{task}.txt is made")),
        None => ModelAnswer::text("Nothing is to be done"),
    }
}
