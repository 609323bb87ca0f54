//! `planwright run --dry-run`: who would run when, and with which prompt.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use planwright_core::plan::Slots;
use planwright_run::agent_output::environment_of;
use planwright_run::engine::{self, Prepared, Preview, RunError, RunRequest};
use planwright_run::fence::{FencePolicy, Ground};
use planwright_run::runs::IsolationMode;
use serde::Serialize;

use super::exit::Exit;
use super::output::Output;
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
    prompt: String,
}

/// Shows what a run would do.
pub(super) fn show(
    request: &RunRequest<'_>,
    prepared: &Prepared,
    is_json: bool,
    output: &mut Output,
) -> Result<Exit, RunError> {
    let preview = Preview::of(request, prepared);
    let report = report(request, prepared, &preview)?;
    if is_json {
        // A report of strings and numbers can be written as JSON.
        let _ = output.json(&report);
    } else {
        draw(prepared, &preview, &report, output);
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
        tasks.push(TaskReport {
            task: name(task),
            agent: prepared
                .agents
                .get(*task as usize)
                .cloned()
                .flatten()
                .unwrap_or_default(),
            prompt: engine::prompt_of(request, book, *task)?,
        });
    }
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
        rounds: preview
            .rounds
            .iter()
            .map(|round| round.iter().map(name).collect())
            .collect(),
        critical_path: prepared.graph.critical_path().iter().map(name).collect(),
        left: preview.left.iter().map(name).collect(),
        tasks,
        remarks: prepared.remarks.iter().map(|remark| remark.text.clone()).collect(),
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

/// Shows what the fences of agents would allow.
fn draw_fence(report: &FenceReport, where_to: &str, output: &mut Output) {
    output.line(&format!("\nfence: {}", report.level));
    let listed = |paths: &[PathBuf]| {
        let shown = paths.iter().map(|path| one_line(&path.to_string_lossy()));
        shown.collect::<Vec<_>>().join(" ")
    };
    for (agent, policy) in &report.agents {
        let agent = one_line(agent);
        output.line(&format!(
            "  {agent} may write to {where_to}, a temporary folder of its own, {}",
            listed(&policy.writable)
        ));
        if let Some(readable) = &policy.readable {
            output.line(&format!("  {agent} may read these and {}", listed(readable)));
        }
        if let Some(ports) = &policy.tcp_ports {
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            output.line(&format!("  {agent} may connect to TCP ports {}", ports.join(" ")));
        }
    }
}

fn draw(prepared: &Prepared, preview: &Preview, report: &Report, output: &mut Output) {
    let plan = prepared.snapshot.plan();
    let n_tasks: usize = preview.rounds.iter().map(Vec::len).sum();
    let where_to = match report.isolation {
        "checkouts" => "each in a checkout of its own",
        _ => "all in the same folder",
    };
    output.line(&format!(
        "{}: {n_tasks} of {} tasks would run, up to {} at a time, {where_to}",
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
            "\nnever: {} (what they wait for is not done and not to run)",
            left.join(", ")
        ));
    }
    if let Some(fence) = &report.fence {
        let where_to = match report.isolation {
            "checkouts" => "its checkout",
            _ => "the folder of the workspace",
        };
        draw_fence(fence, where_to, output);
    }
    for remark in &report.remarks {
        output.line(&format!("\n{}", printable(remark)));
    }
    for task in &report.tasks {
        output.line(&format!("\n── prompt for {} ──", shown_name(&task.task)));
        output.line(&printable(&task.prompt));
    }
}
