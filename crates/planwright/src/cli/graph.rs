//! `planwright graph`: prints tasks and dependencies as text, Mermaid or DOT.

use clap::ValueEnum;
use planwright_core::graph::TaskGraph;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::Readiness;
use planwright_verbs::graph::{GraphReport, GraphRequest, graph};
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

    /// How to draw it.
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

/// A plan laid out for drawing.
pub(crate) struct GraphDrawing<'p> {
    pub(crate) linked: &'p LinkedPlan,
    graph: Option<&'p TaskGraph>,
    /// For each task on the critical path, the next task on it, if there is one.
    critical: Vec<Option<Option<u32>>>,
}

impl<'p> GraphDrawing<'p> {
    fn of(report: &'p GraphReport) -> Result<Self> {
        let (linked, graph) = (report.opened.linked()?, report.graph.as_ref());
        let mut critical = vec![None; linked.plan.tasks().len()];
        let path = graph.map_or(&[][..], TaskGraph::critical_path);
        for (at, &ix) in path.iter().enumerate() {
            critical[ix as usize] = Some(path.get(at + 1).copied());
        }
        Ok(GraphDrawing {
            linked,
            graph,
            critical,
        })
    }

    /// Returns true for an edge on the critical path.
    pub(crate) fn is_critical_edge(&self, from: usize, to: usize) -> bool {
        self.critical.get(from) == Some(&Some(Some(to as u32)))
    }

    /// Returns true for a task on the critical path.
    pub(crate) fn is_critical(&self, task_ix: usize) -> bool {
        self.critical.get(task_ix).is_some_and(Option::is_some)
    }

    /// Returns all tasks by stage, if the plan has stages.
    pub(crate) fn stages(&self) -> Vec<Vec<usize>> {
        let plan = &self.linked.plan;
        let mut stages: Vec<Vec<usize>> = Vec::new();
        if plan.has_stages {
            for (ix, task) in plan.tasks().iter().enumerate() {
                let stage = task.stage as usize;
                if stages.len() <= stage {
                    stages.resize(stage + 1, Vec::new());
                }
                stages[stage].push(ix);
            }
        }
        stages
    }

    pub(crate) fn label(&self, task_ix: usize) -> String {
        let plan = &self.linked.plan;
        let title = cut(&one_line(plan.task_subject(&plan.tasks()[task_ix])), 48);
        format!("{}: {title}", shown_name(&plan.task_name(task_ix)))
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = GraphRequest {
        plan: args.plan.choice()?,
    };
    let report = graph(&output.workspace(), &request)?;
    let drawing = GraphDrawing::of(&report)?;
    let format = if args.json { GraphFormat::Json } else { args.format };
    match format {
        GraphFormat::Text => output.write(&draw(&drawing, output.paint(), output.width())),
        GraphFormat::Mermaid => output.write(&mermaid::flowchart(&drawing)),
        GraphFormat::Dot => output.write(&dot::digraph(&drawing)),
        GraphFormat::Json => output.json(&report)?,
    }
    if report.tasks.is_empty() {
        output.remark("there are no tasks to draw; see `planwright check`");
    }
    if report.graph.is_none() {
        output.remark("the tasks depend on each other in a cycle: no levels, no critical path; see `planwright check`");
    }
    Ok(Exit::Success)
}

fn draw(drawing: &GraphDrawing<'_>, paint: Paint, width: usize) -> String {
    let plan = &drawing.linked.plan;
    let readiness = Readiness::new(plan, &drawing.linked.links);
    let level_of = |ix: usize| drawing.graph.map_or(0, |graph| graph.level(ix));
    let mut order: Vec<usize> = (0..plan.tasks().len()).collect();
    order.sort_by_key(|&ix| level_of(ix));
    let names = order.iter().map(|&ix| shown_name(&plan.task_name(ix)).chars().count());
    let widest = names.max().unwrap_or(0).min(16);
    let mut out = String::new();
    let mut last = None;
    for ix in order {
        let level = level_of(ix);
        let shown = match last == Some(level) {
            true => String::new(),
            false => (level + 1).to_string(),
        };
        last = Some(level);
        let task = &plan.tasks()[ix];
        let name = cut(&shown_name(&plan.task_name(ix)), 24);
        let padding = " ".repeat(widest.saturating_sub(name.chars().count()));
        let critical = match drawing.is_critical(ix) {
            true => paint.warning("*"),
            false => " ".to_owned(),
        };
        let arrow = arrow(drawing, ix);
        let room = width.saturating_sub(widest + 14 + arrow.chars().count()).max(16);
        let title = cut(&one_line(plan.task_subject(task)), room);
        let sign = mark(task.status, readiness.is_ready(ix), paint);
        out.push_str(&format!(
            "{shown:>4} {critical}{sign} {name}{padding}  {title}{}\n",
            paint.dim(&arrow)
        ));
    }
    out.push_str(&critical_path(drawing));
    out
}

/// Returns the dependencies of a task, after an arrow.
fn arrow(drawing: &GraphDrawing<'_>, task_ix: usize) -> String {
    const MOST: usize = 8;
    let edges = drawing.linked.links.of(task_ix);
    let names = edges.iter().take(MOST);
    let names: Vec<String> = names
        .map(|edge| shown_name(&drawing.linked.plan.task_name(edge.to as usize)))
        .collect();
    let more = if edges.len() > MOST { ", …" } else { "" };
    match names.is_empty() {
        true => String::new(),
        false => format!("  ← {}{more}", names.join(", ")),
    }
}

fn critical_path(drawing: &GraphDrawing<'_>) -> String {
    const MOST: usize = 20;
    let path = drawing.graph.map_or(&[][..], TaskGraph::critical_path);
    if path.len() < 2 {
        return String::new();
    }
    let names = path.iter().take(MOST);
    let names: Vec<String> = names
        .map(|&ix| shown_name(&drawing.linked.plan.task_name(ix as usize)))
        .collect();
    let more = if path.len() > MOST { " → …" } else { "" };
    let n_tasks = count(path.len() as u64, "task");
    format!("\n* critical path ({n_tasks}): {}{more}\n", names.join(" → "))
}
