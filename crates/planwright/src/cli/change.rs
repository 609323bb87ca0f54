//! Shared code of the verbs that change a plan: options, reports, refusals.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use planwright_core::change::Problem;
use planwright_core::diagnostic::Diagnostic;
use planwright_core::dialect::Dialect;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Readiness, State};
use planwright_core::text::SourceText;
use planwright_run::claims::NotTheirs;
use planwright_run::clock::to_the_second;
use planwright_run::error_chain::with_causes;
use planwright_run::files::DiskFiles;
use planwright_run::gate::held_by;
use planwright_run::inspect_file::inspect_file;
use planwright_run::journal::{Notice, plan_id};
use planwright_run::layout::PlanPlace;
use planwright_run::review::waiting_tasks;
use planwright_run::revise::{ReviseError, Revised, Step, Target};
use planwright_run::runs::holder;
use planwright_run::shell::{argument, with_pack, with_plan};
use planwright_run::store::{LoadError, load};
use planwright_run::user::user;
use serde::Serialize;

use super::exit::{Drawn, Evidence, Exit, Failure};
use super::output::Output;
use super::plan_arg::{load_failure, several_tasks, unknown_task};
use super::standing::PlanStanding;
use super::verification::VerifiedReport;
use crate::render::diff::unified_diff;
use crate::render::json::ClaimReport;
use crate::render::terminal::{cut, one_line, printable, shown_name};

/// Options of every verb that changes a plan.
#[derive(clap::Args)]
pub(crate) struct ChangeOptions {
    /// Who does it, for the plan and its history.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) by: Option<String>,

    /// Write nothing; say what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Show what would change in the file as a diff, and write nothing.
    #[arg(long)]
    pub(crate) diff: bool,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl ChangeOptions {
    /// Returns who does it, where somebody must have: the user, unless told otherwise.
    pub(crate) fn who(&self) -> String {
        self.by.clone().unwrap_or_else(user)
    }
}

/// A plan file that was found, and the dialect it is to be read in.
#[derive(Clone)]
pub(crate) struct Found {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// The dialect, if the user said so.
    pub(crate) forced: Option<&'static dyn Dialect>,
}

impl Found {
    pub(crate) fn target<'a>(&'a self, options: &ChangeOptions) -> Target<'a> {
        Target {
            path: &self.path,
            forced: self.forced,
            dry: options.dry_run || options.diff,
        }
    }

    /// Returns the plan as its file has it; none where that cannot be read.
    pub(crate) fn linked(&self) -> Option<LinkedPlan> {
        let loaded = load(&self.path).ok()?;
        inspect_file(&loaded.source, Some(&self.path), self.forced)
            .inspection
            .plan
    }
}

/// The version of what changing verbs print as JSON.
const VERSION: &str = "planwright.change/v1";

/// One change, as JSON.
#[derive(Serialize)]
struct ChangeReport<'a> {
    schema_version: &'static str,
    plan: String,
    verb: &'a str,
    /// Whether anything was written.
    written: bool,
    /// The number of the change in the plan's history; null where nothing was written.
    change: Option<u64>,
    /// The tasks that the verb names; for `add` the new one.
    names: Vec<String>,
    /// What became of which task.
    tasks: Vec<TaskReport>,
    /// What became of the plan as a whole, where that was asked for, in the dialect's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_status: Option<PlanReport>,
    /// The run that was told, where one is going on: then it is the run that changes the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a Told>,
    /// Who holds the tasks from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimReport>,
    /// Who held tasks that were taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken_over_from: Option<String>,
    /// The gates that were closed and passed by force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passed_gates: Vec<String>,
    /// Tasks that may start now.
    ready: Vec<String>,
    notices: Vec<String>,
    /// For `done`: how the tasks were verified.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verified: Vec<VerifiedReport>,
    /// With `--diff`: what would change in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// What else the edits did, and what to look at.
    notes: Vec<String>,
}

impl<'a> ChangeReport<'a> {
    /// Returns that nothing was written.
    fn of(path: &Path, verb: &'a str, task: &str) -> Self {
        ChangeReport {
            schema_version: VERSION,
            plan: path.to_string_lossy().into_owned(),
            verb,
            written: false,
            change: None,
            names: vec![task.to_owned()],
            tasks: Vec::new(),
            plan_status: None,
            run: None,
            claim: None,
            taken_over_from: None,
            passed_gates: Vec::new(),
            ready: Vec::new(),
            notices: Vec::new(),
            verified: Vec::new(),
            notes: Vec::new(),
            diff: None,
        }
    }
}

/// Returns the claim that a verb made, for JSON.
pub(crate) fn claim_report(revised: &Revised) -> Option<ClaimReport> {
    let claim = revised.claim.as_ref()?;
    Some(ClaimReport {
        number: revised.change,
        by: claim.by.clone(),
        until: claim.until.clone(),
    })
}

#[derive(Serialize)]
struct PlanReport {
    from: String,
    to: &'static str,
}

/// A run that was told what to do.
#[derive(Serialize)]
pub(crate) struct Told {
    /// The run.
    pub(crate) id: String,
    /// What it answers; null in a dry run, which tells nobody.
    pub(crate) answer: Option<String>,
}

#[derive(Serialize)]
struct TaskReport {
    task: String,
    from: &'static str,
    to: &'static str,
    /// The task whose move brought this about.
    cause: Option<String>,
}

/// What is said of a change, by the line.
pub(crate) struct Words {
    /// What was done.
    pub(crate) done: Vec<String>,
    /// What would be done.
    pub(crate) would: Vec<String>,
    /// Whether there is anything to do.
    is_something: bool,
}

impl Words {
    /// Returns that there is nothing to do.
    pub(crate) fn nothing() -> Self {
        Words::unchanged("nothing to change")
    }

    /// Returns why nothing changes, in both forms.
    pub(crate) fn unchanged(why: &str) -> Self {
        Words {
            is_something: false,
            ..Words::new(why, why)
        }
    }

    /// Returns whether something changes.
    pub(crate) fn is_something(&self) -> bool {
        self.is_something
    }

    /// Returns a line in both forms.
    pub(crate) fn new(done: impl Into<String>, would: impl Into<String>) -> Self {
        Words {
            done: vec![done.into()],
            would: vec![would.into()],
            is_something: true,
        }
    }
}

/// Returns what the user should know of a change beyond what it did.
fn notices_of(revised: &Revised) -> Vec<String> {
    let mut notices: Vec<String> = revised.notices.iter().map(notice_words).collect();
    if let Some(error) = &revised.pointer {
        let why = printable(&with_causes(error)).into_owned();
        notices.push(format!("the plan is written, but {why}"));
    }
    notices
}

/// Says what the user should know of a change beyond what it did.
pub(crate) fn remark_notices(revised: &Revised, output: &mut Output) {
    let n_notes = revised.notices.len();
    for (n, notice) in notices_of(revised).into_iter().enumerate() {
        let label = if n < n_notes { "note" } else { "warning" };
        output.remark(&format!("{label}: {notice}"));
    }
    for note in &revised.notes {
        output.remark(&format!("note: {}", printable(note)));
    }
}

/// Returns what a change does to the file, as a diff.
pub(crate) fn diff_of(path: &Path, revised: &Revised) -> String {
    let shown = path.to_string_lossy();
    unified_diff(&shown, revised.before.as_str(), revised.text.as_str())
}

/// Shows what a change would do to the file; where that is nothing, what it would do instead.
pub(crate) fn show_diff(path: &Path, revised: &Revised, words: &Words, output: &mut Output) {
    let diff = diff_of(path, revised);
    output.write_exact(&diff);
    if diff.is_empty() {
        for line in &words.would {
            output.remark(line);
        }
    }
    if diff.is_empty() && words.is_something {
        output.remark("the file itself does not change: the history in `.planwright` holds this");
    }
}

/// Says what was done, or would be.
pub(crate) fn report(
    path: &Path,
    verb: &str,
    revised: &Revised,
    options: &ChangeOptions,
    names: &[String],
    words: &Words,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    remark_notices(revised, output);
    let shown = path.to_string_lossy().into_owned();
    if options.json {
        let steps = revised.steps.iter().map(|step| TaskReport {
            task: step.task.clone(),
            from: step.from.as_str(),
            to: step.to.as_str(),
            cause: step.cause.clone(),
        });
        output.json(&ChangeReport {
            schema_version: VERSION,
            plan: shown,
            verb,
            written: revised.change.is_some(),
            change: revised.change,
            names: names.to_vec(),
            tasks: steps.collect(),
            plan_status: revised.plan_step.as_ref().map(|step| PlanReport {
                from: step.from.clone(),
                to: step.to,
            }),
            run: None,
            claim: claim_report(revised),
            taken_over_from: revised.taken_over_from.clone(),
            passed_gates: revised.passed_gates.clone(),
            ready: ready_names(revised, &PlanStanding::of(&revised.after, path)),
            notices: notices_of(revised),
            verified: revised.verified.iter().map(VerifiedReport::from).collect(),
            notes: revised.notes.clone(),
            diff: options.diff.then(|| diff_of(path, revised)),
        })?;
        return Ok(Exit::Success);
    }
    if options.diff {
        show_diff(path, revised, words, output);
        return Ok(Exit::Success);
    }
    let lines = if options.dry_run { &words.would } else { &words.done };
    for line in lines {
        output.line(line);
    }
    Ok(Exit::Success)
}

/// Says what a run was told, or would be.
pub(crate) fn report_told(
    path: &Path,
    verb: &str,
    task: &str,
    told: &Told,
    options: &ChangeOptions,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    if options.json {
        output.json(&ChangeReport {
            run: Some(told),
            ..ChangeReport::of(path, verb, task)
        })?;
        return Ok(Exit::Success);
    }
    let (task, run) = (shown_name(task), printable(&told.id));
    match &told.answer {
        Some(answer) => output.line(&format!("{task}: {} in run {run}", one_line(answer))),
        None => output.line(&format!("would tell run {run} to {verb} {task}")),
    }
    Ok(Exit::Success)
}

/// Says what became of a task whose state a run wrote into the plan.
pub(crate) fn report_words(
    path: &Path,
    verb: &str,
    (task, words): (&str, String),
    is_written: bool,
    options: &ChangeOptions,
    output: &mut Output,
) -> anyhow::Result<()> {
    if !options.json {
        output.line(&format!("{}: {words}", shown_name(task)));
        return Ok(());
    }
    output.json(&ChangeReport {
        written: is_written,
        notes: vec![words],
        ..ChangeReport::of(path, verb, task)
    })
}

/// Returns the tasks that may start now; none where a gate of the plan is closed.
fn ready_names(revised: &Revised, standing: &PlanStanding) -> Vec<String> {
    let plan = revised.after.plan.as_ref().filter(|_| standing.gate.is_none());
    plan.map_or_else(Vec::new, |linked| {
        let readiness = Readiness::new(&linked.plan, &linked.links);
        let offered = readiness.offered().into_iter();
        let offered = offered.filter(|&ix| standing.is_offered(ix));
        offered.map(|ix| linked.plan.task_name(ix).into_owned()).collect()
    })
}

/// Returns what became of tasks in words.
pub(crate) fn step_words(path: &Path, revised: &Revised) -> Words {
    let done = step_lines(path, revised);
    let would = done.iter().map(|line| format!("dry run: {line}")).collect();
    Words {
        done,
        would,
        is_something: true,
    }
}

/// Returns what became of a plan as a whole in words.
pub(crate) fn plan_words(revised: &Revised) -> Words {
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
    let approval = revised.approval.map(|is_approved| match is_approved {
        true => "the plan is approved: its tasks may be worked on".to_owned(),
        false => "the plan is not approved: none of its tasks may be worked on".to_owned(),
    });
    match line.or(approval) {
        Some(line) => Words::new(line.clone(), format!("dry run: {line}")),
        None => Words::nothing(),
    }
}

/// Returns a line for each task that moved, those that moved because of another one together.
fn step_lines(path: &Path, revised: &Revised) -> Vec<String> {
    let Some(linked) = &revised.after.plan else {
        return Vec::new();
    };
    let plan = &linked.plan;
    let mut lines = Vec::new();
    for step in revised.steps.iter().filter(|step| step.cause.is_none()) {
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
            let others: Vec<_> = revised
                .steps
                .iter()
                .filter(|other| other.cause.as_deref() == Some(step.task.as_str()) && other.to == to)
                .map(|other| shown_name(&other.task))
                .collect();
            if !others.is_empty() {
                lines.push(format!("  {word} with it: {}", listed(&others)));
            }
        }
    }
    lines.extend(claim_lines(revised));
    if revised.steps.iter().any(|step| step.to != State::Running) {
        let standing = PlanStanding::of(&revised.after, path);
        let ready = ready_names(revised, &standing);
        let ready: Vec<String> = ready.iter().map(|name| shown_name(name)).collect();
        match (&standing.gate, ready.is_empty()) {
            (Some(_), _) => lines.push(standing.gate_words()),
            (None, false) => lines.push(format!("ready: {}", listed(&ready))),
            (None, true) => {}
        }
    }
    lines
}

/// Returns who holds the tasks from now on, where that was asked for, and what was overridden.
pub(crate) fn claim_lines(revised: &Revised) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(claim) = revised
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
            .taken_over_from
            .as_ref()
            .map(|from| format!("taken over from {}", one_line(from))),
    );
    if !revised.passed_gates.is_empty() {
        lines.push(format!("overridden with --force: {}", revised.passed_gates.join(", ")));
    }
    lines
}

/// Returns which of its attempts a task has failed, where the dialect counts them.
fn attempt_words(step: &Step) -> String {
    match step.attempt {
        Some((n_failed, most)) => format!(" (attempt {n_failed} of {most})"),
        None => String::new(),
    }
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 8;
    let shown = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        n if n > MOST => format!("{shown} and {} more", n - MOST),
        _ => shown,
    }
}

pub(crate) fn notice_words(notice: &Notice) -> String {
    printable(&notice.to_string()).into_owned()
}

/// Returns an error of the run layer as the user sees it.
pub(crate) fn failure(found: &Found, error: &ReviseError) -> anyhow::Error {
    if let Some(wrong) = wrong_dialect(found, error) {
        return wrong;
    }
    match error {
        ReviseError::NoSuchTask { name, known } => unknown_task(name, known),
        ReviseError::SeveralTasks { name, lines } => several_tasks(name, lines),
        ReviseError::NothingReady => Failure::problem(
            "no task is ready to be started",
            "`planwright show` says what each one waits for",
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
        ReviseError::NothingToUndo => Failure::problem(
            "there is nothing to undo",
            "undo takes back changes that were made through planwright, not the creation of the plan: `planwright delete` \
             removes the plan",
        ),
        ReviseError::ChangedMeanwhile => Failure::problem(
            "another process changed the plan while it was in the editor",
            "compare your text with the plan file, and edit it again",
        ),
        ReviseError::EditedSince { change, missing } => {
            let what = format!("`{}` (change {})", printable(&change.change.verb), change.number);
            let lost = missing.as_ref().map_or_else(
                || "the places that it changed were edited".to_owned(),
                |missing| format!("the file does not have `{}` any more", cut(&one_line(missing), 60)),
            );
            Failure::problem(
                format!("the plan has been edited since {what}, and taking that back would lose the edit: {lost}"),
                "nothing was written; change the plan with `planwright edit`, or take it from version control",
            )
        }
        ReviseError::InTheWay { problem, source } => {
            let evidence = Evidence {
                path: found.path.to_string_lossy().into_owned(),
                source: source.clone(),
                span: problem.span(),
                findings: Vec::new(),
                drawn: Drawn::Place,
            };
            Failure::shown(problem.to_string(), help_of(problem, found), evidence)
        }
        ReviseError::Problem(problem @ Problem::Worse(worse)) => {
            let evidence = Evidence {
                path: found.path.to_string_lossy().into_owned(),
                source: SourceText::new(""),
                span: None,
                findings: worse.iter().map(|worse| without_place(worse, found)).collect(),
                drawn: Drawn::Nothing,
            };
            Failure::shown(problem.to_string(), help_of(problem, found), evidence)
        }
        ReviseError::Problem(problem) => Failure::problem(problem.to_string(), help_of(problem, found)),
        ReviseError::Created(error) => Failure::problem(error.to_string(), error.help()),
        ReviseError::Store(error) => match error {
            planwright_run::store::StoreError::Load(error @ LoadError::TooLarge { .. }) => load_failure(error),
            error => Failure::environment(error, error.help()),
        },
    }
}

/// Returns what to do about a problem, with the path of the plan in its commands.
fn help_of(problem: &Problem, found: &Found) -> String {
    with_pack(&problem.help(), &found.path.to_string_lossy())
}

/// Returns that a task is held by another owner.
fn not_theirs(found: &Found, name: &str, why: &NotTheirs) -> anyhow::Error {
    let task = shown_name(name);
    let take_over = "--take-over --note \"…\" takes it over";
    let of_task = |verb: &str| {
        let path = found.path.to_string_lossy();
        format!("planwright {verb} {} -p {}", argument(name), argument(&path))
    };
    match why {
        NotTheirs::HeldAgainst(claim) => Failure::problem(
            format!("`{task}` is not yours: {}", held_by(claim)),
            format!("take it over first: `{} --take-over --note \"…\"`", of_task("reset")),
        ),
        NotTheirs::Held(claim) => Failure::problem(format!("`{task}` is not yours: {}", held_by(claim)), take_over),
        NotTheirs::OldNumber(claim) => Failure::problem(
            format!("that claim on `{task}` is over: {}", held_by(claim)),
            format!("the task was claimed again since. {take_over}"),
        ),
        NotTheirs::OfOtherTask {
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
        NotTheirs::NoSuchClaim { claim, number } => Failure::problem(
            format!("there is no claim {number} on `{task}`: {}", held_by(claim)),
            format!("give the number that `start` or `next --start` printed. {take_over}"),
        ),
        NotTheirs::NoNumber(claim) => Failure::problem(
            format!(
                "`{task}` was claimed with --by, so its claim has a number: {}",
                held_by(claim)
            ),
            "add --claim N with the number that you got from `start` or `next --start`",
        ),
        NotTheirs::OfRun(_) if is_in_review(found, name) => Failure::problem(
            format!("`{task}` waits for review"),
            format!("`{}`, or reject; or {take_over}", of_task("approve")),
        ),
        NotTheirs::OfRun(claim) if !is_run(found) => Failure::problem(
            format!("`{task}` was left by a run that was interrupted: {}", held_by(claim)),
            format!("`planwright run` continues it; or {take_over}"),
        ),
        NotTheirs::OfRun(claim) => Failure::problem(
            format!("`{task}` is being worked on: {}", held_by(claim)),
            format!("wait for the run; or {take_over}"),
        ),
    }
}

fn is_in_review(found: &Found, task: &str) -> bool {
    in_review(found).contains_key(task)
}

fn in_review(found: &Found) -> BTreeMap<String, Option<String>> {
    let linked = found.linked();
    let id = linked.as_ref().and_then(|linked| plan_id(&linked.plan));
    waiting_tasks(&found.path, id)
}

/// Refuses to rename or remove a task whose work waits for a review, while no run follows that: its work would not be found again.
pub(crate) fn refuse_in_review(found: &Found, tasks: &[String], verb: &str) -> anyhow::Result<()> {
    let waiting = in_review(found);
    match tasks.iter().find(|task| waiting.contains_key(*task)) {
        Some(task) if !is_run(found) => {
            let path = found.path.to_string_lossy();
            Err(Failure::problem(
                format!(
                    "`{}` waits for review, and its work is known by that name",
                    shown_name(task)
                ),
                format!(
                    "`planwright approve {0} -p {1}`, or reject; then {verb} it",
                    argument(task),
                    argument(&path)
                ),
            ))
        }
        _ => Ok(()),
    }
}

/// Returns whether a run works on a plan at this moment.
fn is_run(found: &Found) -> bool {
    let place = PlanPlace::of(&DiskFiles, &found.path);
    place.is_ok_and(|place| holder(&DiskFiles, &place).is_some())
}

/// Returns a finding about a text that was never written, whose places are nobody's.
fn without_place(worse: &Diagnostic, found: &Found) -> Diagnostic {
    Diagnostic {
        span: None,
        related: Vec::new(),
        fix: None,
        help: with_pack(&worse.help, &found.path.to_string_lossy()),
        ..worse.clone()
    }
}

/// Returns that a plan is in another dialect than the user said, where nothing fits for that reason.
pub(crate) fn wrong_dialect(found: &Found, error: &ReviseError) -> Option<anyhow::Error> {
    let forced = found.forced?;
    let is_about_plan = matches!(
        error,
        ReviseError::NoSuchTask { .. }
            | ReviseError::SeveralTasks { .. }
            | ReviseError::NothingReady
            | ReviseError::Problem(_)
            | ReviseError::InTheWay { .. }
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

/// Refuses to do something to a plan that a run is working on.
pub(crate) fn refuse_during_run(found: &Found, what: &str) -> anyhow::Result<()> {
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
