//! `planwright graph`: prints tasks and dependencies as text, Mermaid or DOT.

use clap::ValueEnum;
use planwright_core::graph::TaskGraph;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::Readiness;

use super::exit::Exit;
use super::output::Output;
use super::plan_arg::PlanArgument;
use super::show::mark;
use crate::render::quantity::count;
use crate::render::terminal::{Paint, cut, json_text, one_line, shown_name};
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
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Print JSON: the same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
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
pub(crate) struct Drawing<'p> {
    /// The plan.
    pub(crate) linked: &'p LinkedPlan,
    /// Its order, where it has one.
    pub(crate) graph: Option<TaskGraph>,
    /// For each task on the critical path, whether and by which task it is followed there.
    critical: Vec<Option<Option<u32>>>,
}

impl<'p> Drawing<'p> {
    fn new(linked: &'p LinkedPlan) -> Self {
        let graph = TaskGraph::new(&linked.plan, &linked.links).ok();
        let mut critical = vec![None; linked.plan.tasks().len()];
        let path = graph.as_ref().map_or(&[][..], |graph| graph.critical_path());
        for (at, &ix) in path.iter().enumerate() {
            critical[ix as usize] = Some(path.get(at + 1).copied());
        }
        Drawing {
            linked,
            graph,
            critical,
        }
    }

    /// Returns true for an edge on the critical path.
    pub(crate) fn is_critical_edge(&self, from: usize, to: usize) -> bool {
        self.critical.get(from) == Some(&Some(Some(to as u32)))
    }

    /// Returns true for a task on the critical path.
    pub(crate) fn is_critical(&self, task_ix: usize) -> bool {
        self.critical.get(task_ix).is_some_and(Option::is_some)
    }

    /// Returns all tasks by stage, where the plan has stages.
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

    /// Returns a short label for a task.
    pub(crate) fn label(&self, task_ix: usize) -> String {
        let plan = &self.linked.plan;
        let title = cut(&one_line(plan.task_subject(&plan.tasks()[task_ix])), 48);
        format!("{}: {title}", shown_name(&plan.task_name(task_ix)))
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let opened = args.plan.open()?;
    let linked = opened.linked()?;
    let drawing = Drawing::new(linked);
    let format = if args.json { Format::Json } else { args.format };
    let text = match format {
        Format::Text => draw(&drawing, output.paint(), output.width()),
        Format::Mermaid => mermaid::flowchart(&drawing),
        Format::Dot => dot::digraph(&drawing),
        Format::Json => json_text(&as_json(&drawing))?,
    };
    output.write(&text);
    if linked.plan.tasks().is_empty() {
        output.remark("there are no tasks to draw; see `planwright check`");
    }
    if drawing.graph.is_none() {
        output
            .remark("the tasks depend on each other in a circle: no levels, no critical path; see `planwright check`");
    }
    Ok(Exit::Success)
}

fn draw(drawing: &Drawing<'_>, paint: Paint, width: usize) -> String {
    let plan = &drawing.linked.plan;
    let readiness = Readiness::new(plan, &drawing.linked.links);
    let order: Vec<usize> = match &drawing.graph {
        Some(graph) => {
            let mut order: Vec<usize> = graph.order().iter().map(|&ix| ix as usize).collect();
            order.sort_by_key(|&ix| (graph.level(ix), ix));
            order
        }
        None => (0..plan.tasks().len()).collect(),
    };
    let widest = (0..plan.tasks().len())
        .map(|ix| shown_name(&plan.task_name(ix)).chars().count())
        .max()
        .unwrap_or(0)
        .min(16);
    let mut out = String::new();
    let mut last = None;
    for ix in order {
        let level = drawing.graph.as_ref().map_or(0, |graph| graph.level(ix));
        let shown = if last == Some(level) {
            String::new()
        } else {
            (level + 1).to_string()
        };
        last = Some(level);
        let task = &plan.tasks()[ix];
        let name = cut(&shown_name(&plan.task_name(ix)), 24);
        let padding = " ".repeat(widest.saturating_sub(name.chars().count()));
        let critical = if drawing.is_critical(ix) {
            paint.warning("*")
        } else {
            " ".to_owned()
        };
        let names: Vec<_> = drawing
            .linked
            .links
            .of(ix)
            .iter()
            .take(8)
            .map(|edge| shown_name(&plan.task_name(edge.to as usize)))
            .collect();
        let more = if drawing.linked.links.of(ix).len() > 8 {
            ", …"
        } else {
            ""
        };
        let arrow = if names.is_empty() {
            String::new()
        } else {
            format!("  ← {}{more}", names.join(", "))
        };
        let room = width.saturating_sub(widest + 14 + arrow.chars().count()).max(16);
        let title = cut(&one_line(plan.task_subject(task)), room);
        let sign = mark(task.status, readiness.is_ready(ix), paint);
        out.push_str(&format!(
            "{shown:>4} {critical}{sign} {name}{padding}  {title}{}\n",
            paint.dim(&arrow)
        ));
    }
    if let Some(graph) = &drawing.graph
        && graph.critical_path().len() > 1
    {
        let path: Vec<_> = graph
            .critical_path()
            .iter()
            .take(20)
            .map(|&ix| shown_name(&plan.task_name(ix as usize)))
            .collect();
        let more = if graph.critical_path().len() > 20 {
            " → …"
        } else {
            ""
        };
        out.push_str(&format!(
            "\n* critical path ({}): {}{more}\n",
            count(graph.critical_path().len() as u64, "task"),
            path.join(" → ")
        ));
    }
    out
}

fn as_json(drawing: &Drawing<'_>) -> serde_json::Value {
    let plan = &drawing.linked.plan;
    let task = |ix: usize| {
        serde_json::json!({
            "task": plan.task_name(ix),
            "title": plan.task_title(&plan.tasks()[ix]),
            "status": plan.tasks()[ix].status.as_str(),
            "level": drawing.graph.as_ref().map(|graph| graph.level(ix)),
            "critical": drawing.is_critical(ix),
            "depends_on": drawing.linked.links.of(ix).iter().map(|edge| plan.task_name(edge.to as usize)).collect::<Vec<_>>(),
        })
    };
    serde_json::json!({
        "schema_version": "planwright.graph/v1",
        "tasks": (0..plan.tasks().len()).map(task).collect::<Vec<_>>(),
        "critical_path": drawing.graph.as_ref().map(|graph| {
            graph.critical_path().iter().map(|&ix| plan.task_name(ix as usize).into_owned()).collect::<Vec<_>>()
        }),
    })
}
