//! Tasks by their names for users, and the failures if none or several match.

use planwright_core::check::nearest_name;
use planwright_core::inspect::LinkedPlan;
use planwright_run::revise::ReviseError;

use crate::failure::{Failure, Result};
use crate::text::{cut, one_line, shown_name};

pub fn task_named(linked: &LinkedPlan, name: &str) -> Result<usize> {
    planwright_run::revise::task_named(&linked.plan, name).map_err(|error| match &error {
        ReviseError::SeveralTasks { name, lines } => several_tasks(name, lines),
        ReviseError::NoSuchTask { known, .. } => unknown_task(name, known),
        ReviseError::DoubtfulPlan { name } => unreadable_task(name),
        ReviseError::Problem(problem) => Failure::problem(problem.to_string(), problem.help()),
        _ => unknown_task(name, &[]),
    })
}

pub(crate) fn several_tasks(name: &str, lines: &[usize]) -> Failure {
    let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
    let message = format!(
        "several tasks have the id `{}`, in lines {}",
        one_line(name),
        lines.join(", ")
    );
    Failure::problem(message, "give each task its own id in the file")
}

/// Returns that a task cannot be found because the text of the plan has syntax errors.
pub(crate) fn unreadable_task(name: &str) -> Failure {
    Failure::problem(
        format!(
            "the plan has syntax errors, and no task `{}` can be read in it",
            cut(&shown_name(name), 60)
        ),
        "`planwright check` shows the errors: fix them first",
    )
}

/// Returns the failure for an unknown task: with the probable one, and some existing ones.
pub(crate) fn unknown_task(name: &str, known: &[String]) -> Failure {
    const MOST: usize = 12;
    let shown: Vec<String> = known.iter().take(MOST).map(|name| shown_name(name)).collect();
    let more = if known.len() > MOST { ", …" } else { "" };
    let has = match shown.is_empty() {
        true => "the plan has no tasks, or none that could be read: see `planwright check`".to_owned(),
        false => format!("it has {}{more}", shown.join(", ")),
    };
    let help = match nearest_name(name, known.iter().map(String::as_str)) {
        Some(nearest) => format!("did you mean `{}`? {has}", shown_name(nearest)),
        None => has,
    };
    Failure::problem(
        format!("there is no task `{}` in this plan", cut(&shown_name(name), 60)),
        help,
    )
}
