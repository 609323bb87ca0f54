//! `planwright run --dry-run`: who would run when, and with which prompt.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use planwright_core::plan::Slots;
use planwright_run::agent_output::environment_of;
use planwright_run::config::OnProtected;
use planwright_run::engine::{self, Prepared, Preview, RunError, RunRequest, VerificationPreview};
use planwright_run::fence::{FencePolicy, Ground};
use planwright_run::runs::IsolationMode;
use planwright_run::shell::{argument, command_line};
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

/// Shows what a run would do.
pub(super) fn show(
    request: &RunRequest<'_>,
    prepared: &Prepared,
    obstacle: Option<&str>,
    is_json: bool,
    output: &mut Output,
) -> Result<Exit, RunError> {
    let preview = Preview::of(request, prepared);
    let report = report(request, prepared, &preview)?;
    if is_json {
        // A report of strings and numbers can be written as JSON.
        let _ = output.json(&report);
    } else {
        draw(prepared, &preview, &report, obstacle, output);
    }
    Ok(if preview.left.is_empty() {
        Exit::Success
    } else {
        Exit::Problems
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

/// Shows what the fences of agents would allow, a line for each kind. Every path is in the JSON.
fn draw_fence(report: &FenceReport, plan: &str, where_to: &str, output: &mut Output) {
    output.line(&format!(
        "\nfence: {} (every path: `planwright run {} --dry-run --json`)",
        report.level,
        one_line(&argument(plan))
    ));
    let mut groups: Vec<(&FencePolicy, Vec<String>)> = Vec::new();
    for (agent, policy) in &report.agents {
        match groups.iter_mut().find(|(known, _)| *known == policy) {
            Some((_, agents)) => agents.push(one_line(agent)),
            None => groups.push((policy, vec![one_line(agent)])),
        }
    }
    for (policy, agents) in groups {
        output.line(&format!("  {}", agents.join(", ")));
        output.line(&format!(
            "    writes to  {where_to}, a temporary folder of its own, {}",
            places(&policy.writable)
        ));
        if let Some(readable) = &policy.readable {
            output.line(&format!("    reads      these and {}", places(readable)));
        }
        if let Some(ports) = &policy.tcp_ports {
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            output.line(&format!("    connects   to TCP ports {}", ports.join(" ")));
        }
    }
}

/// Returns paths in few words: those in a folder of the home folder by that folder, devices by their number.
fn places(paths: &[PathBuf]) -> String {
    const MOST: usize = 12;
    let home = std::env::home_dir().unwrap_or_default();
    let home = std::fs::canonicalize(&home).unwrap_or(home);
    let mut shown: Vec<String> = Vec::new();
    let mut n_devices = 0;
    for path in paths {
        let below_home = path.strip_prefix(&home).ok().filter(|_| !home.as_os_str().is_empty());
        let place = match below_home.map(|below| below.components().collect::<Vec<_>>()) {
            _ if path.starts_with("/dev") && path.components().count() > 2 => {
                n_devices += 1;
                continue;
            }
            Some(parts) if parts.len() > 1 => format!("parts of ~/{}", parts[0].as_os_str().to_string_lossy()),
            Some(parts) if parts.len() == 1 => format!("~/{}", parts[0].as_os_str().to_string_lossy()),
            _ => path.to_string_lossy().into_owned(),
        };
        let place = one_line(&place);
        if !shown.contains(&place) {
            shown.push(place);
        }
    }
    let n_more = shown.len().saturating_sub(MOST);
    shown.truncate(MOST);
    if n_more > 0 {
        shown.push(format!("{n_more} more"));
    }
    if n_devices > 0 {
        shown.push(format!("{n_devices} devices"));
    }
    shown.join(", ")
}

/// Shows what verifies the tasks and which files that protects, once for all tasks with the same.
fn draw_verification(report: &Report, output: &mut Output) {
    const MOST: usize = 8;
    let mut groups: Vec<Vec<&TaskReport>> = Vec::new();
    for task in &report.tasks {
        let is_same = |first: &&TaskReport| first.verified_by == task.verified_by && first.protected == task.protected;
        match groups.iter_mut().find(|group| group.first().is_some_and(is_same)) {
            Some(group) => group.push(task),
            None => groups.push(vec![task]),
        }
    }
    if groups.is_empty() {
        return;
    }
    output.line("\nverification");
    let n_groups = groups.len();
    for tasks in groups {
        let Some(TaskReport {
            verified_by: commands,
            protected,
            ..
        }) = tasks.first()
        else {
            continue;
        };
        let names = tasks.iter().map(|task| shown_name(&task.task));
        let who = match n_groups {
            1 => "every task".to_owned(),
            _ => some_of(names, MOST),
        };
        let lines = commands
            .iter()
            .map(|command| format!("`{}`", one_line(&command_line(command))));
        let lines: Vec<String> = lines.collect();
        match lines.is_empty() {
            true => output.line(&format!("  {who}: nothing verifies it")),
            false => output.line(&format!("  {who}: {}", lines.join(", "))),
        }
        let n_unverified: usize = tasks.iter().map(|task| task.unverified.len()).sum();
        if n_unverified > 0 {
            let criteria = if n_unverified == 1 { "criterion" } else { "criteria" };
            let mut texts: Vec<String> = Vec::new();
            for text in tasks.iter().flat_map(|task| &task.unverified) {
                let text = format!("“{}”", cut(&one_line(text), 60));
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            let texts = some_of(texts.iter(), MOST);
            output.line(&format!("    no rule verifies {n_unverified} {criteria}: {texts}"));
        }
        if !protected.is_empty() {
            let becomes = match report.on_protected {
                "review" => "needs a review",
                "fail" => "fails the task",
                _ => "is reported",
            };
            let files = some_of(protected.iter().map(|path| one_line(path)), MOST);
            output.line(&format!("    protected, a change {becomes}: {files}"));
        }
    }
}

fn draw(prepared: &Prepared, preview: &Preview, report: &Report, obstacle: Option<&str>, output: &mut Output) {
    let plan = prepared.snapshot.plan();
    let n_tasks: usize = preview.rounds.iter().map(Vec::len).sum();
    let where_to = match report.isolation {
        "checkouts" => "each in a checkout of its own",
        _ => "all in the same folder",
    };
    if let Some(obstacle) = obstacle {
        output.line(&format!("{}\n", printable(obstacle)));
    }
    let condition = if obstacle.is_some() { "if it could start, " } else { "" };
    output.line(&format!(
        "{}: {condition}{n_tasks} of {} tasks would run, up to {} at a time, {where_to}",
        printable(&report.plan),
        plan.tasks().len(),
        report.slots
    ));
    let path: Vec<String> = report.critical_path.iter().map(|name| shown_name(name)).collect();
    output.line(&format!("critical path: {}", path.join(" → ")));
    let paint = output.paint();
    for (round, tasks) in preview.rounds.iter().enumerate() {
        output.line(&format!("\nround {}", round + 1));
        for &task in tasks {
            let title = plan.tasks().get(task as usize).map_or("", |task| plan.task_title(task));
            let agent = prepared
                .agents
                .get(task as usize)
                .cloned()
                .flatten()
                .unwrap_or_default();
            output.line(&format!(
                "  {}  {}  {}",
                shown_name(prepared.snapshot.name(task)),
                cut(&one_line(title), 60),
                paint.dim(&format!("({})", one_line(&agent)))
            ));
        }
    }
    if !report.left.is_empty() {
        let left: Vec<String> = report.left.iter().map(|name| shown_name(name)).collect();
        output.line(&format!(
            "\nnever: {} (they depend on tasks that are not done and would not run)",
            left.join(", ")
        ));
    }
    draw_verification(report, output);
    if let Some(fence) = &report.fence {
        let where_to = match report.isolation {
            "checkouts" => "its checkout",
            _ => "the folder of the workspace",
        };
        draw_fence(fence, &report.plan, where_to, output);
    }
    for remark in report.remarks.iter().filter(|remark| Some(remark.as_str()) != obstacle) {
        output.line(&format!("\n{}", printable(remark)));
    }
    for task in &report.tasks {
        output.line(&format!("\n── prompt for {} ──", shown_name(&task.task)));
        output.line(&printable(&task.prompt));
    }
}
