//! Refused changes as failures: the obstacle, and the next step for the user.

use std::collections::BTreeMap;

use planwright_core::change::Problem;
use planwright_core::diagnostic::Diagnostic;
use planwright_core::edit::VerbRefusal;
use planwright_core::plan::State;
use planwright_core::text::SourceText;
use planwright_run::claims::NotHolder;
use planwright_run::files::DiskFiles;
use planwright_run::gate::held_by;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{PastChange, plan_id};
use planwright_run::layout::PlanPlace;
use planwright_run::review::waiting_tasks;
use planwright_run::revise::ReviseError;
use planwright_run::runs::holder;
use planwright_run::shell::{argument, task_command, with_file, with_plan};
use planwright_run::store::load;

use crate::failure::{Drawn, Evidence, Failure, Result};
use crate::plans::{FoundPlan, review_commands, several_tasks, unknown_task, unreadable_task};
use crate::text::{cut, one_line, printable, shown_name};

/// Converts an error of the run layer to a failure for the user.
pub(crate) fn revise_failure(found: &FoundPlan, error: &ReviseError) -> Failure {
    if let Some(wrong) = wrong_dialect(found, error) {
        return wrong;
    }
    match error {
        ReviseError::NoSuchTask { name, known } => unknown_task(name, known),
        ReviseError::DoubtfulPlan { name } => unreadable_task(name),
        ReviseError::SeveralTasks { name, lines } => several_tasks(name, lines),
        ReviseError::NothingReady => Failure::problem(
            "no task is ready to be started",
            "`planwright show` lists what each task waits for",
        ),
        ReviseError::Closed(closed) => {
            let help = with_plan(&closed.help, &found.path.to_string_lossy());
            Failure::problem(closed.message.clone(), help)
        }
        ReviseError::NotTheirs { task, why } => not_theirs(found, task, why),
        ReviseError::UndoDuringRun { pid } => Failure::problem(
            format!("a run is working on the plan (process {pid}), and the last change is its own"),
            format!(
                "end the run first: `planwright stop {}`",
                argument(&found.path.to_string_lossy())
            ),
        ),
        ReviseError::EditDuringRun { task, pid } => Failure::problem(
            format!("a run is working on `{}` (process {pid})", shown_name(task)),
            format!(
                "wait until its attempt has ended; or end the attempt: `{}`",
                task_command("reset", task, &found.path.to_string_lossy(), "--take-over --note \"…\"")
            ),
        ),
        ReviseError::NothingToUndo => Failure::problem(
            "there is nothing to undo",
            "undo takes back changes that were made through planwright, not the creation of the plan: `planwright delete` \
             removes the plan",
        ),
        ReviseError::ChangedMeanwhile => Failure::problem(
            "another process changed the plan while it was in the editor",
            "compare your text with the plan file, and edit it again",
        ),
        ReviseError::EditedSince { change, later } => edited_since(found, change, later),
        ReviseError::ProblemInText { problem, source } => {
            let evidence = Evidence {
                path: found.path.to_string_lossy().into_owned(),
                source: source.clone(),
                span: problem.span(),
                findings: Vec::new(),
                drawn: Drawn::Place,
            };
            Failure::shown(problem.to_string(), help_of(problem, found), evidence)
        }
        ReviseError::Problem(problem) => problem_failure(found, problem),
        ReviseError::Created(error) => Failure::problem(error.to_string(), error.help()),
        ReviseError::Store(error) => error.into(),
    }
}

/// Returns that a change cannot be undone because of later ones, with the tasks that they changed.
fn edited_since(found: &FoundPlan, change: &PastChange, later: &[PastChange]) -> Failure {
    let path = argument(&found.path.to_string_lossy());
    Failure::problem(
        format!(
            "cannot undo {}: its part of the plan changed since: {}",
            change_words(change),
            later_words(later)
        ),
        format!(
            "nothing was written; `planwright history {path}` lists the changes, `planwright edit {path}` edits the plan"
        ),
    )
}

/// Returns a change with its number, as in "`move` of t1 (change 6)".
fn change_words(change: &PastChange) -> String {
    let tasks = match change.change.tasks.is_empty() {
        true => String::new(),
        false => format!(" of {}", cut(&one_line(&change.change.tasks.join(", ")), 40)),
    };
    format!("`{}`{tasks} (change {})", printable(&change.change.verb), change.number)
}

/// Returns the tasks that changes moved, each from its first state to its last, and the changes that moved none.
fn later_words(later: &[PastChange]) -> String {
    const MOST: usize = 4;
    let mut moved: Vec<(&str, &str, &str)> = Vec::new();
    let mut words = Vec::new();
    for past in later {
        if past.change.moves.is_empty() {
            words.push(change_words(past));
        }
        for change in &past.change.moves {
            let from = change.from.as_deref().unwrap_or("pending");
            match moved.iter_mut().find(|(task, ..)| *task == change.task) {
                Some((.., to)) => *to = &change.to,
                None => moved.push((&change.task, from, &change.to)),
            }
        }
    }
    let states = moved.iter().filter(|(_, from, to)| from != to);
    let states = states.map(|(task, from, to)| format!("status of {}: {from} → {to}", shown_name(task)));
    let words: Vec<String> = states.chain(words).collect();
    match words.len() {
        0 => "an editor or another program edited the file".to_owned(),
        n if n > MOST => format!("{}; and {} more", words[..MOST].join("; "), n - MOST),
        _ => words.join("; "),
    }
}

/// Returns that a change is refused by the plan itself.
fn problem_failure(found: &FoundPlan, problem: &Problem) -> Failure {
    match problem {
        Problem::Regressions(regressions) => {
            let evidence = Evidence {
                path: found.path.to_string_lossy().into_owned(),
                source: SourceText::new(""),
                span: None,
                findings: regressions
                    .iter()
                    .map(|regression| without_place(regression, found))
                    .collect(),
                drawn: Drawn::Nothing,
            };
            Failure::shown(problem.to_string(), help_of(problem, found), evidence)
        }
        Problem::Refused(VerbRefusal::NotAllowed {
            task,
            from: State::Running,
            verb,
            ..
        }) if is_in_review(found, task) => Failure::problem(
            format!(
                "`{}` waits for review: `{}` is not for it",
                shown_name(task),
                verb.as_str()
            ),
            review_commands(task, &found.path.to_string_lossy()),
        ),
        problem => Failure::problem(problem.to_string(), help_of(problem, found)),
    }
}

/// Returns the help for a problem, with the path of the plan in its commands.
fn help_of(problem: &Problem, found: &FoundPlan) -> String {
    with_file(&problem.help(), &found.path.to_string_lossy())
}

/// Returns the failure for a task that another owner holds.
fn not_theirs(found: &FoundPlan, name: &str, why: &NotHolder) -> Failure {
    let task = shown_name(name);
    let take_over = "--take-over --note \"…\" takes it over";
    let reset = task_command("reset", name, &found.path.to_string_lossy(), "--take-over --note \"…\"");
    match why {
        NotHolder::HeldAgainst(claim) => Failure::problem(
            format!("`{task}` is not yours: {}", held_by(claim)),
            format!("take it over first: `{reset}`"),
        ),
        NotHolder::Held(claim) => Failure::problem(format!("`{task}` is not yours: {}", held_by(claim)), take_over),
        NotHolder::OldNumber(claim) => Failure::problem(
            format!("that claim on `{task}` is over: {}", held_by(claim)),
            format!("the task was claimed again since. {take_over}"),
        ),
        NotHolder::OfOtherTask {
            claim,
            number,
            task: other,
        } => Failure::problem(
            format!(
                "claim {number} is on `{}`, not on `{task}`: {}",
                shown_name(other),
                held_by(claim)
            ),
            format!("give the number of the claim on `{task}`. {take_over}"),
        ),
        NotHolder::NoSuchClaim { claim, number } => Failure::problem(
            format!("there is no claim {number} on `{task}`: {}", held_by(claim)),
            format!("give the number that `start` or `next --start` printed. {take_over}"),
        ),
        NotHolder::NoNumber(claim) => Failure::problem(
            format!(
                "`{task}` was claimed with --by, so its claim has a number: {}",
                held_by(claim)
            ),
            "add --claim N with the number that you got from `start` or `next --start`",
        ),
        NotHolder::OfRun(_) if is_in_review(found, name) => Failure::problem(
            format!("`{task}` waits for review"),
            format!(
                "{}; or {take_over}",
                review_commands(name, &found.path.to_string_lossy())
            ),
        ),
        NotHolder::OfRun(claim) if !is_run(found) => Failure::problem(
            format!("`{task}` was left by a run that was interrupted: {}", held_by(claim)),
            format!("`planwright run` continues it; or {take_over}"),
        ),
        NotHolder::OfRun(claim) => Failure::problem(
            format!("`{task}` is being worked on: {}", held_by(claim)),
            format!("wait for the run; or {take_over}"),
        ),
    }
}

fn is_in_review(found: &FoundPlan, task: &str) -> bool {
    in_review(found).contains_key(task)
}

fn in_review(found: &FoundPlan) -> BTreeMap<String, Option<String>> {
    let linked = found.linked();
    let id = linked.as_ref().and_then(|linked| plan_id(&linked.plan));
    waiting_tasks(&found.path, id)
}

/// Refuses to rename or remove a task whose work waits for a review while no run is active: its work would be lost.
pub(crate) fn refuse_in_review(found: &FoundPlan, tasks: &[String], verb: &str) -> Result<()> {
    let waiting = in_review(found);
    match tasks.iter().find(|task| waiting.contains_key(*task)) {
        Some(task) if !is_run(found) => {
            let path = found.path.to_string_lossy();
            Err(Failure::problem(
                format!(
                    "`{}` waits for review, and its work is known by that name",
                    shown_name(task)
                ),
                format!("{}; then {verb} it", review_commands(task, &path)),
            ))
        }
        _ => Ok(()),
    }
}

fn is_run(found: &FoundPlan) -> bool {
    let place = PlanPlace::of(&DiskFiles, &found.path);
    place.is_ok_and(|place| holder(&DiskFiles, &place).is_some())
}

/// Returns a finding about a text that was never written, without its spans.
fn without_place(regression: &Diagnostic, found: &FoundPlan) -> Diagnostic {
    Diagnostic {
        span: None,
        related: Vec::new(),
        fix: None,
        help: with_file(&regression.help, &found.path.to_string_lossy()),
        ..regression.clone()
    }
}

/// Returns the failure for a plan that is not in the dialect that the user forced, if that is the cause.
pub(crate) fn wrong_dialect(found: &FoundPlan, error: &ReviseError) -> Option<Failure> {
    let forced = found.forced?;
    let is_about_plan = matches!(
        error,
        ReviseError::NoSuchTask { .. }
            | ReviseError::DoubtfulPlan { .. }
            | ReviseError::SeveralTasks { .. }
            | ReviseError::NothingReady
            | ReviseError::Problem(_)
            | ReviseError::ProblemInText { .. }
    );
    let source = is_about_plan.then(|| load(&found.path).ok()).flatten()?.source;
    let own = inspect_file(&source, Some(&found.path), None).inspection.dialect?;
    (own != forced).then(|| {
        let message = format!(
            "`{}` is a plan in the dialect `{}`, and cannot be worked on as `{}`",
            found.path.display(),
            own.name(),
            forced.name()
        );
        Failure::problem(message, "leave --dialect out")
    })
}

/// Refuses an operation on a plan with an active run.
pub(crate) fn refuse_during_run(found: &FoundPlan, what: &str) -> Result<()> {
    let place = PlanPlace::of(&DiskFiles, &found.path).ok();
    let Some(live) = place.and_then(|place| holder(&DiskFiles, &place)) else {
        return Ok(());
    };
    let run = live.id.map_or_else(String::new, |id| format!(" {}", printable(&id)));
    Err(Failure::problem(
        format!("cannot {what}: run{run} is working on it (process {})", live.pid),
        format!("end the run first: `planwright stop {}`", found.path.display()),
    ))
}
