//! The model's answers to tasks: it creates the file of a task, first with a wrong line if the plan needs a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use planwright_testkit::model_server::{ModelAnswer, ModelRequest, ModelScenario};

use super::clis::AgentCli;

/// What verification prints about a wrong file.
pub(super) const RED: &str = "verification-found";

/// The content of a result file, and the output that planwright must read from it.
const REPORT: &str = "{\"planwright_result\": 1, \"outcome\": \"done\", \"output\": \"the greeting is reported\"}\n";
pub(super) const REPORTED: &str = "the greeting is reported";

/// The tasks of the plan, each with its dependencies.
pub(super) const TASKS: &[(&str, &[&str])] = &[
    ("greeting", &[]),
    ("count", &["greeting"]),
    ("stubborn", &[]),
    ("after", &["stubborn"]),
];

/// Returns the description of a task.
pub(super) fn description(task: &str) -> String {
    format!("Make the file {task}.txt with the right line in it")
}

/// Returns the content of a task's file when the task is done.
pub(super) fn right_line(task: &str) -> String {
    format!("made {task}\n")
}

/// Returns the answers to all tasks. `stubborn` fails until `has_recovered`.
pub(super) fn scenario(cli: &'static AgentCli, has_recovered: Arc<AtomicBool>) -> ModelScenario {
    ModelScenario::by(move |request| {
        // A prompt also has the descriptions of dependencies, so that only its heading names the task.
        let is_asked = |task: &&(&str, _)| request.says(&format!("# Task `{}`", task.0));
        let Some((task, _)) = TASKS.iter().find(is_asked) else {
            return ModelAnswer::text("Nothing is to be done");
        };
        let turns = turns(cli, task, request, has_recovered.load(Ordering::SeqCst));
        let due = turns.get(request.n_results).cloned();
        due.unwrap_or_else(|| ModelAnswer::Text(format!("{task}.txt is made")))
    })
}

/// Returns the tool calls for a task, in order.
fn turns(cli: &AgentCli, task: &str, request: &ModelRequest, has_recovered: bool) -> Vec<ModelAnswer> {
    let Some((folder, result)) = places(request) else {
        return vec![ModelAnswer::text("The prompt does not say where to report")];
    };
    let file = format!("{task}.txt");
    let right = right_line(task);
    match task {
        "greeting" => [
            (cli.write)(folder, &file, &right),
            vec![(cli.shell)(&format!("cat {file} > {task}-seen.log"))],
            (cli.write)(folder, result, REPORT),
        ]
        .concat(),
        // The second prompt has the output of the first verification.
        "count" if request.says(RED) => (cli.rewrite)(folder, &file, &right),
        "count" => (cli.write)(folder, &file, "one, three\n"),
        "stubborn" if !has_recovered => vec![(cli.shell)(&format!("echo no > {file}"))],
        _ => vec![(cli.shell)(&format!("printf 'made {task}\\n' > {file}"))],
    }
}

/// Returns the working folder, and the path of the result file in it, as the prompt has them.
fn places(request: &ModelRequest) -> Option<(&str, &str)> {
    let opening = "write the file `";
    let (_, rest) = request.text_with(opening)?.split_once(opening)?;
    let path = rest.split('`').next()?;
    let (folder, _) = path.rsplit_once("/.planwright/")?;
    Some((folder, path.strip_prefix(folder)?.trim_start_matches('/')))
}
