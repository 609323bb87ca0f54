//! `planwright run --dry-run`: shows the order, the slots and the prompts of a run.

use std::collections::BTreeMap;

use planwright_run::shell::command_line;
use planwright_verbs::run_plan::preview::{RunPreviewReport, TaskPreviewReport};
use planwright_verbs::text::{cut, one_line, printable, shown_name, some_of};

use super::{Exit, Output, Result};

/// Prints the prediction of a run, with the prompts of all tasks if `prompts` is empty, of the named one, or with none.
pub(super) fn show(
    report: &RunPreviewReport,
    is_json: bool,
    prompts: Option<&str>,
    output: &mut Output,
) -> Result<Exit> {
    if is_json {
        output.json(report)?;
    } else {
        draw(report, output);
        draw_prompts(report, prompts, output);
    }
    Ok(report.exit())
}

/// Prints the verification of the tasks and the protected files, once for all tasks with the same.
fn draw_verification(report: &RunPreviewReport, output: &mut Output) {
    const MOST: usize = 4;
    const MAX_GROUPS: usize = 4;
    let mut groups: Vec<Vec<&TaskPreviewReport>> = Vec::new();
    for task in &report.tasks {
        let is_same =
            |first: &&TaskPreviewReport| first.verified_by == task.verified_by && first.protected == task.protected;
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
            true => "none: a task is done when its agent reports success".to_owned(),
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

fn draw(report: &RunPreviewReport, output: &mut Output) {
    let obstacle = report.obstacle.as_deref();
    let n_tasks: usize = report.rounds.iter().map(Vec::len).sum();
    if let Some(obstacle) = obstacle {
        output.line(&format!("{}\n", printable(obstacle)));
    }
    let condition = if obstacle.is_some() { "if it could start, " } else { "" };
    output.line(&format!(
        "{}: {condition}{n_tasks} of {} tasks would run, up to {} at a time",
        printable(&report.plan),
        report.n_tasks,
        report.slots
    ));
    draw_rounds(report, output);
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
        "checkouts" => "each task in its own checkout",
        _ => "all tasks in this folder",
    };
    fact("isolation", isolation, output);
    if report.isolation == "checkouts"
        && let Some(branch) = &report.branch
    {
        fact("branch", &one_line(branch), output);
    }
    draw_verification(report, output);
    fact("budget", &report.budget, output);
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

/// Prints the order of the tasks: a line for each task of a small plan, a line for each round of a large one.
fn draw_rounds(report: &RunPreviewReport, output: &mut Output) {
    let n_tasks: usize = report.rounds.iter().map(Vec::len).sum();
    let shown = |task: &str, is_alone: bool| {
        let title = report.titles.get(task).map_or("", String::as_str);
        let name = shown_name(task);
        match is_alone {
            true => format!("{name}  {}", cut(&one_line(title), 56)),
            false => name,
        }
    };
    for (round, tasks) in (1..).zip(&report.rounds).take(MAX_ROUNDS) {
        let name = format!("round {round}");
        match n_tasks <= 10 {
            true => {
                for (ix, task) in tasks.iter().enumerate() {
                    fact(if ix == 0 { &name } else { "" }, &shown(task, true), output);
                }
            }
            false => fact(
                &name,
                &some_of(tasks.iter().map(|task| shown(task, false)), MAX_OF_ROUND),
                output,
            ),
        }
    }
    if report.rounds.len() > MAX_ROUNDS {
        let n_more = report.rounds.len() - MAX_ROUNDS;
        let n_tasks: usize = report.rounds.iter().skip(MAX_ROUNDS).map(Vec::len).sum();
        fact("", &format!("and {n_more} more rounds with {n_tasks} tasks"), output);
    }
}

/// Returns the agents with the number of their tasks.
fn agents_words(report: &RunPreviewReport) -> String {
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

/// Prints the prompts: all of them, or that of the named task.
fn draw_prompts(report: &RunPreviewReport, wanted: Option<&str>, output: &mut Output) {
    let Some(wanted) = wanted else {
        output.remark("--prompts adds the prompts of agents, --prompts=TASK that of one task");
        return;
    };
    let is_wanted = |task: &&TaskPreviewReport| {
        wanted.is_empty() || task.task == wanted || task.position.as_deref() == Some(wanted)
    };
    let tasks: Vec<&TaskPreviewReport> = report.tasks.iter().filter(is_wanted).collect();
    if tasks.is_empty() {
        output.remark(&format!("no prompt: `{}` would not run", one_line(wanted)));
    }
    for task in tasks {
        output.line(&format!("\n── prompt for {} ──", shown_name(&task.task)));
        output.line(&printable(&task.prompt));
    }
}
