//! `planwright run --dry-run`: shows the order, the slots and the prompts of a run.

use std::collections::{BTreeMap, BTreeSet};

use planwright_core::plan::Slots;
use planwright_run::agent_output::environment_of;
use planwright_run::config::OnProtected;
use planwright_run::config::units::duration_text;
use planwright_run::engine::{self, Prepared, Preview, RunError, RunRequest, VerificationPreview};
use planwright_run::fence::{FencePolicy, Ground};
use planwright_run::runs::IsolationMode;
use planwright_run::shell::command_line;
use serde::Serialize;

use super::exit::Exit;
use super::output::Output;
use crate::render::quantity::some_of;
use crate::render::terminal::{cut, one_line, printable, shown_name};

/// The version of `run --dry-run --json`.
const VERSION: &str = "planwright.dry-run/v1";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    plan: String,
    slots: u32,
    isolation: &'static str,
    /// What the fences of agents would allow; null where they would not be fenced.
    fence: Option<FenceReport>,
    /// What becomes of a task that changes protected files: `review`, `fail` or `warn`.
    on_protected: &'static str,
    /// The tasks that would run side by side, one round after another.
    rounds: Vec<Vec<String>>,
    critical_path: Vec<String>,
    /// Tasks that are to run and never could.
    left: Vec<String>,
    tasks: Vec<TaskReport>,
    remarks: Vec<String>,
}

#[derive(Serialize)]
struct FenceReport {
    level: &'static str,
    /// For each agent of the run, without its checkout and its folder for temporary files.
    agents: BTreeMap<String, FencePolicy>,
}

#[derive(Serialize)]
struct TaskReport {
    task: String,
    agent: String,
    /// The commands that would verify it, word by word.
    verified_by: Vec<Vec<String>>,
    /// Criteria that no rule covers.
    unverified: Vec<String>,
    /// The files and patterns of files that verify it: what becomes of a change to them is `on_protected`.
    protected: Vec<String>,
    prompt: String,
}

/// What of it is shown, and how.
#[derive(Clone, Copy)]
pub(super) struct How<'a> {
    pub(super) is_json: bool,
    /// The task whose prompt is shown, empty for all of them; none for no prompt.
    pub(super) prompts: Option<&'a str>,
}

/// Shows what a run would do.
pub(super) fn show(
    request: &RunRequest<'_>,
    prepared: &Prepared,
    obstacle: Option<&str>,
    how: How<'_>,
    output: &mut Output,
) -> Result<Exit, RunError> {
    let preview = Preview::of(request, prepared);
    let report = report(request, prepared, &preview)?;
    if how.is_json {
        // A report of strings and numbers can be written as JSON.
        let _ = output.json(&report);
    } else {
        draw(request, prepared, &preview, &report, obstacle, output);
        draw_prompts(&report, how.prompts, output);
    }
    let is_held = preview.rounds.is_empty() && !prepared.held.is_empty();
    Ok(match preview.left.is_empty() && !is_held {
        true => Exit::Success,
        false => Exit::Problems,
    })
}

fn report(request: &RunRequest<'_>, prepared: &Prepared, preview: &Preview) -> Result<Report, RunError> {
    let book = &prepared.snapshot;
    let name = |task: &u32| book.name(*task).to_owned();
    let mut tasks = Vec::new();
    for task in preview.rounds.iter().flatten() {
        let VerificationPreview {
            commands,
            unverified,
            protected,
        } = engine::verification_of(request, book, *task);
        tasks.push(TaskReport {
            task: name(task),
            verified_by: commands,
            unverified,
            protected,
            agent: prepared
                .agents
                .get(*task as usize)
                .cloned()
                .flatten()
                .unwrap_or_default(),
            prompt: engine::prompt_of(request, book, *task)?,
        });
    }
    let held = prepared.held.iter().map(|held| {
        let words = held.words();
        format!(
            "{words}: a run would leave it alone. `{}` gives it to the run",
            held.release
        )
    });
    let slots = match prepared.policy.slots {
        Slots::Fixed(slots) | Slots::StageWidth(slots) => slots,
    };
    Ok(Report {
        schema_version: VERSION,
        plan: book.path().to_string_lossy().into_owned(),
        slots,
        isolation: match prepared.isolation.mode {
            IsolationMode::Checkouts => "checkouts",
            _ => "shared",
        },
        fence: fence_of(request, prepared),
        on_protected: match request.config.verify.on_protected {
            OnProtected::Review => "review",
            OnProtected::Fail => "fail",
            OnProtected::Warn => "warn",
        },
        rounds: preview
            .rounds
            .iter()
            .map(|round| round.iter().map(name).collect())
            .collect(),
        critical_path: prepared.graph.critical_path().iter().map(name).collect(),
        left: preview.left.iter().map(name).collect(),
        tasks,
        remarks: held
            .chain(prepared.remarks.iter().map(|remark| remark.text.clone()))
            .collect(),
    })
}

/// Returns what the fences of agents would allow, as far as that is known before there are checkouts.
fn fence_of(request: &RunRequest<'_>, prepared: &Prepared) -> Option<FenceReport> {
    let level = prepared.fencing.level()?.as_str();
    let shared = match prepared.isolation.mode {
        IsolationMode::Checkouts => Vec::new(),
        _ => vec![prepared.snapshot.place().root.clone()],
    };
    let names: BTreeSet<&String> = prepared.agents.iter().flatten().collect();
    let policies = names.into_iter().filter_map(|name| {
        let agent = request.config.agents.get(name)?;
        let policy = prepared.fencing.preview(&Ground {
            writable: &shared,
            agent: Some(agent.known_as()),
            environment: &environment_of(agent),
            ..Ground::default()
        })?;
        Some((name.clone(), policy))
    });
    Some(FenceReport {
        level,
        agents: policies.collect(),
    })
}

/// Shows what verifies the tasks and which files that protects, once for all tasks with the same.
fn draw_verification(report: &Report, output: &mut Output) {
    const MOST: usize = 4;
    const MAX_GROUPS: usize = 4;
    let mut groups: Vec<Vec<&TaskReport>> = Vec::new();
    for task in &report.tasks {
        let is_same = |first: &&TaskReport| first.verified_by == task.verified_by && first.protected == task.protected;
        match groups.iter_mut().find(|group| group.first().is_some_and(is_same)) {
            Some(group) => group.push(task),
            None => groups.push(vec![task]),
        }
    }
    let n_groups = groups.len();
    let mut title = "verification";
    for tasks in groups.iter().take(MAX_GROUPS) {
        let Some(first) = tasks.first() else {
            continue;
        };
        let who = match n_groups {
            1 => String::new(),
            _ => format!("{}: ", some_of(tasks.iter().map(|task| shown_name(&task.task)), MOST)),
        };
        let commands = first.verified_by.iter();
        let commands: Vec<String> = commands
            .map(|command| format!("`{}`", one_line(&command_line(command))))
            .collect();
        let what = match commands.is_empty() {
            true => "nothing: a task is done when its agent says so".to_owned(),
            false => commands.join(", "),
        };
        fact(std::mem::take(&mut title), &format!("{who}{what}"), output);
        let mut texts: Vec<String> = Vec::new();
        for text in tasks.iter().flat_map(|task| &task.unverified) {
            let text = format!("“{}”", cut(&one_line(text), 40));
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        if !texts.is_empty() {
            fact("", &format!("no rule verifies {}", some_of(texts.iter(), MOST)), output);
        }
        if !first.protected.is_empty() {
            let becomes = match report.on_protected {
                "review" => "needs a review",
                "fail" => "fails the task",
                _ => "is reported",
            };
            let files = some_of(first.protected.iter().map(|path| one_line(path)), MOST);
            fact("", &format!("a change to {files} {becomes}"), output);
        }
    }
    if n_groups > MAX_GROUPS {
        fact(
            "",
            &format!("and {} more; --json lists them", n_groups - MAX_GROUPS),
            output,
        );
    }
}

/// How many rounds, and how many tasks of a round, are listed.
const MAX_ROUNDS: usize = 8;
const MAX_OF_ROUND: usize = 6;

fn draw(
    request: &RunRequest<'_>,
    prepared: &Prepared,
    preview: &Preview,
    report: &Report,
    obstacle: Option<&str>,
    output: &mut Output,
) {
    let plan = prepared.snapshot.plan();
    let n_tasks: usize = preview.rounds.iter().map(Vec::len).sum();
    if let Some(obstacle) = obstacle {
        output.line(&format!("{}\n", printable(obstacle)));
    }
    let condition = if obstacle.is_some() { "if it could start, " } else { "" };
    output.line(&format!(
        "{}: {condition}{n_tasks} of {} tasks would run, up to {} at a time",
        printable(&report.plan),
        plan.tasks().len(),
        report.slots
    ));
    draw_rounds(prepared, preview, output);
    if !report.left.is_empty() {
        let left = some_of(report.left.iter().map(|name| shown_name(name)), MAX_OF_ROUND);
        fact(
            "never",
            &format!("{left} (they depend on tasks that are not done and would not run)"),
            output,
        );
    }
    let would_run = |name: &&String| report.tasks.iter().any(|task| task.task == **name);
    let path = report.critical_path.iter().filter(would_run);
    let path: Vec<String> = path.map(|name| shown_name(name)).collect();
    if path.len() > 1 {
        fact("longest", &cut(&path.join(" → "), 100), output);
    }
    if !report.tasks.is_empty() {
        fact("agents", &agents_words(report), output);
    }
    let isolation = match report.isolation {
        "checkouts" => "each task in a checkout of its own",
        _ => "all tasks in this folder",
    };
    fact("isolation", isolation, output);
    if report.isolation == "checkouts"
        && let Some(branch) = engine::branch_preview(request, &prepared.snapshot)
    {
        fact("branch", &one_line(&branch), output);
    }
    draw_verification(report, output);
    fact("budget", &budget_words(request), output);
    let fence = match &report.fence {
        Some(fence) => format!("{} (--json lists every path)", fence.level),
        None => "none: agents can write wherever you can".to_owned(),
    };
    fact("fence", &fence, output);
    for remark in report.remarks.iter().filter(|remark| Some(remark.as_str()) != obstacle) {
        fact("note", &printable(remark), output);
    }
}

fn fact(name: &str, words: &str, output: &mut Output) {
    output.line(&format!("  {name:<12}  {words}"));
}

/// Shows who would run when: a line for each task of a small plan, a line for each round of a large one.
fn draw_rounds(prepared: &Prepared, preview: &Preview, output: &mut Output) {
    let plan = prepared.snapshot.plan();
    let n_tasks: usize = preview.rounds.iter().map(Vec::len).sum();
    let shown = |task: u32, is_alone: bool| {
        let title = plan
            .tasks()
            .get(task as usize)
            .map_or("", |task| plan.task_subject(task));
        let name = shown_name(prepared.snapshot.name(task));
        match is_alone {
            true => format!("{name}  {}", cut(&one_line(title), 56)),
            false => name,
        }
    };
    for (round, tasks) in (1..).zip(&preview.rounds).take(MAX_ROUNDS) {
        let name = format!("round {round}");
        match n_tasks <= 10 {
            true => {
                for (ix, &task) in tasks.iter().enumerate() {
                    fact(if ix == 0 { &name } else { "" }, &shown(task, true), output);
                }
            }
            false => fact(
                &name,
                &some_of(tasks.iter().map(|&task| shown(task, false)), MAX_OF_ROUND),
                output,
            ),
        }
    }
    if preview.rounds.len() > MAX_ROUNDS {
        let n_more = preview.rounds.len() - MAX_ROUNDS;
        let n_tasks: usize = preview.rounds.iter().skip(MAX_ROUNDS).map(Vec::len).sum();
        fact("", &format!("and {n_more} more rounds with {n_tasks} tasks"), output);
    }
}

/// Returns the agents with how many tasks each takes.
fn agents_words(report: &Report) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for task in &report.tasks {
        *counts.entry(task.agent.as_str()).or_default() += 1;
    }
    let words = counts.iter().map(|(agent, n)| match counts.len() {
        1 => one_line(agent),
        _ => format!("{} ({n})", one_line(agent)),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns what a run may spend.
fn budget_words(request: &RunRequest<'_>) -> String {
    let budget = &request.config.run.budget;
    let mut words = Vec::new();
    words.extend(budget.cost.map(|cost| format!("${cost}")));
    words.extend(budget.tokens.map(|tokens| format!("{tokens} tokens")));
    words.extend(budget.attempts.map(|attempts| format!("{attempts} attempts")));
    words.extend(budget.duration.map(duration_text));
    if words.is_empty() {
        words.push("none".to_owned());
    }
    format!(
        "{}; {} per attempt",
        words.join(", "),
        duration_text(request.config.run.wall_limit)
    )
}

/// Prints the prompts: all of them, or that of the task that is named.
fn draw_prompts(report: &Report, wanted: Option<&str>, output: &mut Output) {
    let Some(wanted) = wanted else {
        output.remark("--prompts adds what agents are told, --prompts=TASK that of one task");
        return;
    };
    let is_wanted = |task: &&TaskReport| wanted.is_empty() || task.task == wanted;
    let tasks: Vec<&TaskReport> = report.tasks.iter().filter(is_wanted).collect();
    if tasks.is_empty() {
        output.remark(&format!("no prompt: `{}` would not run", one_line(wanted)));
    }
    for task in tasks {
        output.line(&format!("\n── prompt for {} ──", shown_name(&task.task)));
        output.line(&printable(&task.prompt));
    }
}
