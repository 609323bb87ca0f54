//! `planwright graph`: prints tasks and dependencies as text, Mermaid or DOT.

use clap::ValueEnum;
use planwright_verbs::graph::{GraphReport, GraphRequest, GraphTask, graph};
use planwright_verbs::text::{count, cut, one_line, shown_name};

use super::plan_arg::PlanArgument;
use super::task_words::mark;
use super::{Exit, Output, Result};
use crate::render::terminal::Paint;
use crate::render::{dot, mermaid};

/// Draw a plan's graph, with the critical path marked.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright graph
  planwright graph --format mermaid >> README.md
  planwright graph --format dot | dot -Tsvg > plan.svg")]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgument,

    /// The form of the graph.
    #[arg(long, value_enum, default_value_t = GraphFormat::Text)]
    format: GraphFormat,

    /// Print JSON: the same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// Levels, one task a line.
    Text,
    /// For Markdown pages: GitHub draws it.
    Mermaid,
    /// For Graphviz.
    Dot,
    /// For programs.
    Json,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = GraphRequest {
        plan: args.plan.choice()?,
    };
    let report = graph(&output.workspace(), &request)?;
    let format = if args.json { GraphFormat::Json } else { args.format };
    match format {
        GraphFormat::Text => output.write(&draw(&report, output.paint(), output.width())),
        GraphFormat::Mermaid => output.write(&mermaid::flowchart(&report)),
        GraphFormat::Dot => output.write(&dot::digraph(&report)),
        GraphFormat::Json => output.json(&report)?,
    }
    if report.tasks.is_empty() {
        output.remark("there are no tasks to draw; see `planwright check`");
    }
    if report.critical_path.is_none() {
        output.remark("the tasks depend on each other in a cycle: no levels, no critical path; see `planwright check`");
    }
    Ok(Exit::Success)
}

fn draw(report: &GraphReport, paint: Paint, width: usize) -> String {
    let mut order: Vec<&GraphTask> = report.tasks.iter().collect();
    order.sort_by_key(|task| task.level);
    let names = order.iter().map(|task| shown_name(&task.task).chars().count());
    let widest = names.max().unwrap_or(0).min(16);
    let mut out = String::new();
    let mut last = None;
    for task in order {
        let level = task.level.unwrap_or(0);
        let shown = match last == Some(level) {
            true => String::new(),
            false => (level + 1).to_string(),
        };
        last = Some(level);
        let name = cut(&shown_name(&task.task), 24);
        let padding = " ".repeat(widest.saturating_sub(name.chars().count()));
        let critical = match task.critical {
            true => paint.warning("*"),
            false => " ".to_owned(),
        };
        let arrow = arrow(task);
        let room = width.saturating_sub(widest + 14 + arrow.chars().count()).max(16);
        let title = cut(&one_line(&task.subject), room);
        let sign = mark(task.state, paint);
        out.push_str(&format!(
            "{shown:>4} {critical}{sign} {name}{padding}  {title}{}\n",
            paint.dim(&arrow)
        ));
    }
    out.push_str(&critical_path(report));
    out
}

/// Returns the dependencies of a task, after an arrow.
fn arrow(task: &GraphTask) -> String {
    const MOST: usize = 8;
    match task.depends_on.is_empty() {
        true => String::new(),
        false => format!("  ← {}", first_names(&task.depends_on, MOST, ", ")),
    }
}

fn critical_path(report: &GraphReport) -> String {
    const MOST: usize = 20;
    match report.critical_path.as_deref() {
        None | Some([] | [_]) => String::new(),
        Some(path) => format!(
            "\n* critical path ({}): {}\n",
            count(path.len() as u64, "task"),
            first_names(path, MOST, " → ")
        ),
    }
}

/// Returns the first few of several names, and that there are more.
fn first_names(all: &[String], most: usize, between: &str) -> String {
    let mut names: Vec<String> = all.iter().take(most).map(|name| shown_name(name)).collect();
    if all.len() > most {
        names.push("…".to_owned());
    }
    names.join(between)
}
