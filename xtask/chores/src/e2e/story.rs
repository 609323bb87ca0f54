//! What the model says: it makes the file of a task, at first wrongly where the plan is to see a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use planwright_testkit::model_server::{ModelAnswer, ModelRequest, ModelScenario};

use super::clis::Cli;

/// What the verification of the workspaces prints when a file is not as it should be.
pub(super) const RED: &str = "verification-found";

/// What is reported in a result file, and the words that planwright is to know from there.
const REPORT: &str = "{\"planwright_result\": 1, \"outcome\": \"done\", \"output\": \"the greeting is reported\"}\n";
pub(super) const REPORTED: &str = "the greeting is reported";

/// The tasks of the plan, each with what it depends on.
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

/// Returns the file of a task when it is done.
pub(super) fn right_line(task: &str) -> String {
    format!("made {task}\n")
}

/// Returns the whole story. `stubborn` fails until the model has learnt something.
pub(super) fn scenario(cli: &'static Cli, has_learnt: Arc<AtomicBool>) -> ModelScenario {
    ModelScenario::by(move |request| {
        // The description will not do: a prompt has those of the tasks before it, too.
        let told = |task: &&(&str, _)| request.says(&format!("# Task `{}`", task.0));
        let Some((task, _)) = TASKS.iter().find(told) else {
            return ModelAnswer::text("Nothing is to be done");
        };
        let turns = turns(cli, task, request, has_learnt.load(Ordering::SeqCst));
        let due = turns.get(request.n_results).cloned();
        due.unwrap_or_else(|| ModelAnswer::Text(format!("{task}.txt is made")))
    })
}

/// Returns the tools that are used for a task, one after another.
fn turns(cli: &Cli, task: &str, request: &ModelRequest, has_learnt: bool) -> Vec<ModelAnswer> {
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
        // The second attempt reads in its prompt what verification said of the first.
        "count" if request.says(RED) => (cli.rewrite)(folder, &file, &right),
        "count" => (cli.write)(folder, &file, "one, three\n"),
        "stubborn" if !has_learnt => vec![(cli.shell)(&format!("echo no > {file}"))],
        _ => vec![(cli.shell)(&format!("printf 'made {task}\\n' > {file}"))],
    }
}

/// Returns the folder to work in, and the place of the result file there, as the prompt says.
fn places(request: &ModelRequest) -> Option<(&str, &str)> {
    let opening = "write the file `";
    let (_, rest) = request.text_with(opening)?.split_once(opening)?;
    let path = rest.split('`').next()?;
    let (folder, _) = path.rsplit_once("/.planwright/")?;
    Some((folder, path.strip_prefix(folder)?.trim_start_matches('/')))
}
