//! The effect of a change on a plan, made or intended: as data for programs, and in words.

use std::path::Path;

use planwright_core::plan::{Readiness, State};
use planwright_run::clock::to_the_second;
use planwright_run::error_chain::with_causes;
use planwright_run::journal::JournalRepair;
use planwright_run::revise::{RevisedPlan, TaskTransition};
use planwright_run::shell::argument;
use planwright_run::user::user;
use serde::{Deserialize, Serialize};

use crate::failure::Exit;
use crate::json::ClaimReport;
use crate::plans::PlanAccess;
use crate::text::{cut, one_line, printable, shown_name, some_of, unified_diff};
use crate::verification::VerifiedReport;
use crate::workspace::Workspace;

/// How many names of tasks stand in a line.
const MOST_NAMES: usize = 8;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeMode {
    /// The author, for the plan and its history.
    pub by: Option<String>,
    pub dry_run: bool,
    /// Whether to write nothing, and to report the change of the file.
    pub diff: bool,
}

impl ChangeMode {
    pub fn is_dry(&self) -> bool {
        self.dry_run || self.diff
    }

    /// Returns the author of the change: the user, unless the request names another.
    pub fn who(&self) -> String {
        self.by.clone().unwrap_or_else(user)
    }
}

#[derive(Default, Serialize)]
pub struct ChangeReport {
    pub schema_version: &'static str,
    pub plan: String,
    pub verb: String,
    pub written: bool,
    /// The number of the record in the journal, which claims use; null if nothing was written.
    pub change: Option<u64>,
    /// The number of the change in the plan's history; null if nothing was written.
    pub number: Option<u64>,
    /// The tasks that the verb names; for `add` the new one.
    pub names: Vec<String>,
    pub tasks: Vec<TaskMoveReport>,
    /// The transition of the whole plan, if requested, in the dialect's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<PlanMoveReport>,
    /// The active run that received the request, if any: then the run changes the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunAnswer>,
    /// The new claim on the tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimReport>,
    /// The earlier holder of tasks that were taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_over_from: Option<String>,
    /// The closed gates that force overrode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passed_gates: Vec<String>,
    /// Tasks that may start now.
    pub ready: Vec<String>,
    pub notices: Vec<String>,
    /// For `done`: how the tasks were verified.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verified: Vec<VerifiedReport>,
    /// The changes of the file, if a diff was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Further effects of the edits, and remarks.
    pub notes: Vec<String>,
    /// For `undo`: the change that was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone: Option<UndoneReport>,
    /// What was done, or would be done, as lines.
    #[serde(skip)]
    pub lines: Vec<String>,
    /// Whether the change has an effect.
    #[serde(skip)]
    pub is_something: bool,
    #[serde(skip)]
    pub exit: Exit,
}

/// A change that was taken back, as `history` lists it.
#[derive(Serialize)]
pub struct UndoneReport {
    pub number: u64,
    pub verb: String,
    pub tasks: Vec<String>,
    pub by: Option<String>,
    pub time: String,
}

#[derive(Serialize)]
pub struct TaskMoveReport {
    pub task: String,
    pub from: &'static str,
    pub to: &'static str,
    /// The task whose move caused it.
    pub cause: Option<String>,
}

#[derive(Serialize)]
pub struct PlanMoveReport {
    pub from: String,
    pub to: &'static str,
}

#[derive(Serialize)]
pub struct RunAnswer {
    pub id: String,
    /// The run's answer; null in a dry run, which sends no request.
    pub answer: Option<String>,
}

impl ChangeReport {
    /// Reports a change, and prints its remarks for the user.
    pub fn of(
        workspace: &Workspace,
        (path, verb): (&Path, &str),
        revised: &RevisedPlan,
        mode: &ChangeMode,
        names: &[String],
        words: ChangeWords,
    ) -> Self {
        remark_notices(workspace, revised);
        let steps = revised.steps.iter().map(|step| TaskMoveReport {
            task: step.task.clone(),
            from: step.from.as_str(),
            to: step.to.as_str(),
            cause: step.cause.clone(),
        });
        ChangeReport {
            written: revised.change.is_some(),
            change: revised.change,
            number: revised.number,
            names: names.to_vec(),
            tasks: steps.collect(),
            plan_status: revised.plan_step.as_ref().map(|step| PlanMoveReport {
                from: step.from.clone(),
                to: step.to,
            }),
            claim: claim_report(revised),
            taken_over_from: revised.record.taken_over_from.clone(),
            passed_gates: revised.record.passed_gates.clone(),
            ready: ready_names(revised, &PlanAccess::of(&revised.after, path)),
            notices: notices_of(revised),
            verified: revised.record.verified.iter().map(VerifiedReport::from).collect(),
            notes: revised.notes.clone(),
            diff: mode.diff.then(|| diff_of(path, revised)),
            is_something: words.is_something,
            lines: if mode.is_dry() { words.would } else { words.done },
            ..ChangeReport::unwritten(path, verb)
        }
    }

    /// Reports the answer of a run to the request, or the intended request.
    pub fn of_run(path: &Path, verb: &str, task: &str, run: RunAnswer) -> Self {
        let (name, id) = (shown_name(task), printable(&run.id));
        let line = match &run.answer {
            Some(answer) => format!("{name}: {} in run {id}", one_line(answer)),
            None => format!("would ask run {id} to {verb} {name}"),
        };
        ChangeReport {
            names: vec![task.to_owned()],
            lines: vec![line],
            run: Some(run),
            ..ChangeReport::unwritten(path, verb)
        }
    }

    /// Reports the outcome of a task whose state a run wrote into the plan.
    pub fn of_task(path: &Path, verb: &str, task: &str, words: String, is_written: bool) -> Self {
        ChangeReport {
            written: is_written,
            names: vec![task.to_owned()],
            lines: vec![format!("{}: {words}", shown_name(task))],
            notes: vec![words],
            ..ChangeReport::unwritten(path, verb)
        }
    }

    /// Reports that nothing has changed.
    pub(crate) fn unchanged(path: &Path, verb: &str, names: Vec<String>, why: &str) -> Self {
        ChangeReport {
            names,
            lines: vec![why.to_owned()],
            is_something: false,
            ..ChangeReport::unwritten(path, verb)
        }
    }

    fn unwritten(path: &Path, verb: &str) -> Self {
        ChangeReport {
            schema_version: "planwright.change/v1",
            plan: path.to_string_lossy().into_owned(),
            verb: verb.to_owned(),
            is_something: true,
            ..ChangeReport::default()
        }
    }
}

/// Prints the further notices of a change for the user.
pub(crate) fn remark_notices(workspace: &Workspace, revised: &RevisedPlan) {
    let n_notes = revised.notices.len();
    for (n, notice) in notices_of(revised).into_iter().enumerate() {
        let label = if n < n_notes { "note" } else { "warning" };
        workspace.remark(&format!("{label}: {notice}"));
    }
    for note in &revised.notes {
        workspace.remark(&format!("note: {}", printable(note)));
    }
}

/// The words about a change, as lines.
#[derive(Clone)]
pub struct ChangeWords {
    pub done: Vec<String>,
    pub would: Vec<String>,
    /// Whether the change has an effect.
    pub is_something: bool,
}

impl ChangeWords {
    pub fn nothing() -> Self {
        ChangeWords::unchanged("nothing to change")
    }

    /// Returns why nothing has changed, in both forms.
    pub fn unchanged(why: &str) -> Self {
        ChangeWords {
            is_something: false,
            ..ChangeWords::new(why, why)
        }
    }

    /// Returns a line in both forms.
    pub fn new(done: impl Into<String>, would: impl Into<String>) -> Self {
        ChangeWords {
            done: vec![done.into()],
            would: vec![would.into()],
            is_something: true,
        }
    }
}

/// Returns the tasks that may start now; none if a gate of the plan is closed.
fn ready_names(revised: &RevisedPlan, access: &PlanAccess) -> Vec<String> {
    let plan = revised.after.plan.as_ref().filter(|_| access.gate.is_none());
    plan.map_or_else(Vec::new, |linked| {
        let readiness = Readiness::new(&linked.plan, &linked.links);
        let offered = readiness.offered().into_iter();
        let offered = offered.filter(|&ix| access.is_offered(ix));
        offered.map(|ix| linked.plan.task_name(ix).into_owned()).collect()
    })
}

pub(crate) fn step_words(path: &Path, revised: &RevisedPlan) -> ChangeWords {
    let done = step_lines(path, revised);
    let would = done.iter().map(|line| format!("dry run: {line}")).collect();
    ChangeWords {
        done,
        would,
        is_something: true,
    }
}

pub(crate) fn plan_words(revised: &RevisedPlan) -> ChangeWords {
    let title = revised.after.plan.as_ref().map_or("", |linked| linked.plan.title());
    let line = revised.plan_step.as_ref().map(|step| {
        let line = format!(
            "plan: {} → {}  {}",
            printable(&step.from),
            step.to,
            cut(&one_line(title), 60)
        );
        line.trim_end().to_owned()
    });
    let approval = revised.record.approval.map(|is_approved| match is_approved {
        true => "the plan is approved: its tasks can be started".to_owned(),
        false => "the plan is not approved: none of its tasks can be started".to_owned(),
    });
    match line.or(approval) {
        Some(line) => ChangeWords::new(line.clone(), format!("dry run: {line}")),
        None => ChangeWords::nothing(),
    }
}

/// Returns a line for each task that moved; tasks that moved because of another one share a line.
fn step_lines(path: &Path, revised: &RevisedPlan) -> Vec<String> {
    let Some(linked) = &revised.after.plan else {
        return Vec::new();
    };
    let plan = &linked.plan;
    let mut lines = Vec::new();
    let roots = revised
        .steps
        .iter()
        .enumerate()
        .filter(|(_, step)| step.cause.is_none());
    for (at, step) in roots {
        let title = plan
            .find_task(&step.task)
            .map(|ix| cut(&one_line(plan.task_subject(&plan.tasks()[ix])), 60))
            .filter(|title| !title.is_empty())
            .map_or_else(String::new, |title| format!("  {title}"));
        lines.push(format!(
            "{}: {} → {}{}{title}",
            shown_name(&step.task),
            step.from.as_str(),
            step.to.as_str(),
            attempt_words(step)
        ));
        if (step.from, step.to) == (State::Failed, State::Failed) && step.attempt.is_none() {
            lines.push("  it stays failed in the file, and is offered again".to_owned());
        }
        for (to, word) in [(State::Skipped, "skipped"), (State::Pending, "pending again")] {
            let others: Vec<_> = caused_by(&revised.steps, at)
                .filter(|other| other.to == to)
                .map(|other| shown_name(&other.task))
                .collect();
            if !others.is_empty() {
                lines.push(format!("  {word} with it: {}", some_of(others.iter(), MOST_NAMES)));
            }
        }
    }
    lines.extend(claim_lines(revised));
    if revised.steps.iter().any(|step| step.to != State::Running) {
        let access = PlanAccess::of(&revised.after, path);
        let ready = ready_names(revised, &access);
        let ready: Vec<String> = ready.iter().map(|name| shown_name(name)).collect();
        match (&access.gate, ready.is_empty()) {
            (Some(_), _) => lines.push(access.gate_words()),
            (None, false) => lines.push(format!("ready: {}", some_of(ready.iter(), MOST_NAMES))),
            (None, true) => {}
        }
    }
    lines
}

/// Returns the moves that the move at an index caused. A task can move twice in one change: those after its second move belong to that.
fn caused_by(steps: &[TaskTransition], at: usize) -> impl Iterator<Item = &TaskTransition> {
    let name = steps.get(at).map(|step| step.task.as_str());
    let later = steps.iter().skip(at + 1);
    later
        .take_while(move |step| step.cause.is_some() || Some(step.task.as_str()) != name)
        .filter(move |step| step.cause.is_some() && step.cause.as_deref() == name)
}

/// Returns the new claim on the tasks, if requested, and what was overridden.
pub fn claim_lines(revised: &RevisedPlan) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(claim) = revised
        .record
        .claim
        .as_ref()
        .filter(|claim| claim.is_named || claim.until.is_some())
    {
        let until = claim
            .until
            .as_ref()
            .map_or_else(String::new, |until| format!(" until {}", to_the_second(until)));
        let number = revised
            .change
            .map_or_else(String::new, |number| format!("claim {number}: "));
        let finish = match revised.change.filter(|_| claim.is_named) {
            Some(number) => format!(
                "; finish it with --by {} --claim {number}",
                argument(&one_line(&claim.by))
            ),
            None => String::new(),
        };
        lines.push(format!("{number}held by {}{until}{finish}", one_line(&claim.by)));
    }
    lines.extend(
        revised
            .record
            .taken_over_from
            .as_ref()
            .map(|from| format!("taken over from {}", one_line(from))),
    );
    if !revised.record.passed_gates.is_empty() {
        lines.push(format!(
            "overridden with --force: {}",
            revised.record.passed_gates.join(", ")
        ));
    }
    lines
}

/// Returns the number of the failed attempt, if the dialect counts them.
fn attempt_words(step: &TaskTransition) -> String {
    match step.attempt {
        Some((n_failed, most)) => format!(" (attempt {n_failed} of {most})"),
        None => String::new(),
    }
}

pub(crate) fn notice_words(notice: &JournalRepair) -> String {
    printable(&notice.to_string()).into_owned()
}

/// Returns a change of the file as a diff.
pub fn diff_of(path: &Path, revised: &RevisedPlan) -> String {
    let shown = path.to_string_lossy();
    unified_diff(&shown, revised.before.as_str(), revised.text.as_str())
}

/// Returns the further notices of a change for the user.
fn notices_of(revised: &RevisedPlan) -> Vec<String> {
    let mut notices: Vec<String> = revised.notices.iter().map(notice_words).collect();
    if let Some(error) = &revised.pointer {
        let why = printable(&with_causes(error)).into_owned();
        notices.push(format!("the plan is written, but {why}"));
    }
    notices
}

/// Returns the claim that a verb made, for JSON.
pub(crate) fn claim_report(revised: &RevisedPlan) -> Option<ClaimReport> {
    let claim = revised.record.claim.as_ref()?;
    Some(ClaimReport {
        number: revised.change,
        by: claim.by.clone(),
        until: claim.until.clone(),
    })
}
