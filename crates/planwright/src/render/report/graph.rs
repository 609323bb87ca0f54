//! The plan's tasks by level, each after what it depends on, with an arrow for each dependency.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use planwright_core::graph::TaskGraph;
use planwright_core::inspect::LinkedPlan;

use super::Page;
use super::markup::{attribute, class_of, text};
use crate::render::quantity::count;
use crate::render::terminal::{cut, one_line};

/// More tasks than this have small boxes.
const MAX_LARGE: usize = 60;
/// More tasks than this are counted by level, not drawn.
const MAX_DRAWN: usize = 500;
/// More arrows than this would hide the boxes.
const MAX_EDGES: usize = 3_000;
/// So many levels are counted.
const MAX_LEVELS: usize = 200;

/// How large boxes are.
struct Size {
    width: f64,
    height: f64,
    across: f64,
    down: f64,
    /// How many letters fit.
    letters: usize,
    has_title: bool,
}

const LARGE: Size = Size {
    width: 184.0,
    height: 44.0,
    across: 52.0,
    down: 14.0,
    letters: 26,
    has_title: true,
};

const SMALL: Size = Size {
    width: 92.0,
    height: 20.0,
    across: 40.0,
    down: 6.0,
    letters: 12,
    has_title: false,
};

pub(super) fn draw(page: &Page<'_>, out: &mut String) {
    let Some(linked) = page.source.linked else {
        return;
    };
    let n_tasks = linked.plan.tasks().len();
    if n_tasks < 2 {
        return;
    }
    out.push_str("<section>\n<h2>Graph</h2>\n");
    match &page.graph {
        None => {
            out.push_str("<p class=\"note\">The tasks depend on each other in a circle: there are no levels.</p>\n")
        }
        Some(graph) if n_tasks > MAX_DRAWN => by_level(page, graph, n_tasks, out),
        Some(graph) => boxes(page, linked, graph, out),
    }
    out.push_str("</section>\n");
}

fn boxes(page: &Page<'_>, linked: &LinkedPlan, graph: &TaskGraph, out: &mut String) {
    let n_tasks = linked.plan.tasks().len();
    let size = if n_tasks > MAX_LARGE { SMALL } else { LARGE };
    let places = places(linked, graph);
    let n_levels = places.iter().map(|place| place.0 + 1).max().unwrap_or(0);
    let n_rows = places.iter().map(|place| place.1 + 1).max().unwrap_or(0);
    let width = 4.0 + n_levels as f64 * (size.width + size.across) - size.across + 4.0;
    let height = 4.0 + n_rows as f64 * (size.height + size.down) - size.down + 4.0;
    let at = |ix: usize| {
        let (level, row) = places.get(ix).copied().unwrap_or_default();
        let x = 4.0 + level as f64 * (size.width + size.across);
        (x, 4.0 + row as f64 * (size.height + size.down))
    };
    let _ = writeln!(
        out,
        "<div class=\"wide\"><svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"Graph of the tasks\">"
    );
    let critical: HashSet<(u32, u32)> = graph
        .critical_path()
        .windows(2)
        .map(|pair| (pair[0], pair[1]))
        .collect();
    let edges = (0..n_tasks).flat_map(|ix| linked.links.of(ix).iter().map(move |edge| (edge.to as usize, ix)));
    let n_edges: usize = (0..n_tasks).map(|ix| linked.links.of(ix).len()).sum();
    for (from, to) in edges.take(MAX_EDGES) {
        let class = if critical.contains(&(from as u32, to as u32)) {
            "edge critical"
        } else {
            "edge"
        };
        let _ = writeln!(
            out,
            "<path class=\"{class}\" d=\"{}\"/>",
            curve(&size, at(from), at(to))
        );
    }
    for ix in 0..n_tasks {
        let inner = one_box(page, ix, at(ix), &size);
        let _ = writeln!(out, "{}", page.link(ix, &inner));
    }
    out.push_str("</svg></div>\n");
    let mut legend = "Left to right: each task after what it depends on.".to_owned();
    if critical.len() > 1 {
        legend += " Bold: the longest chain.";
    }
    if n_edges > MAX_EDGES {
        legend += &format!(" {} dependencies are not drawn.", n_edges - MAX_EDGES);
    }
    let _ = writeln!(out, "<p class=\"legend\">{legend}</p>");
}

fn curve(size: &Size, from: (f64, f64), to: (f64, f64)) -> String {
    let (x1, y1) = (from.0 + size.width, from.1 + size.height / 2.0);
    let (x2, y2) = (to.0, to.1 + size.height / 2.0);
    let bend = ((x2 - x1) / 2.0).max(size.across / 2.0).min(90.0);
    format!(
        "M{x1:.0} {y1:.0}C{:.0} {y1:.0} {:.0} {y2:.0} {x2:.0} {y2:.0}",
        x1 + bend,
        x2 - bend
    )
}

fn one_box(page: &Page<'_>, ix: usize, (x, y): (f64, f64), size: &Size) -> String {
    let Some(row) = page.rows.get(ix) else {
        return String::new();
    };
    let title = one_line(row.title);
    let name = cut(&row.name, size.letters);
    let mut inner = format!(
        "<g class=\"box {}\"><title>{}: {} ({})</title><rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{}\" height=\"{}\" rx=\"5\"/>",
        class_of(row.state),
        attribute(&row.name),
        attribute(&cut(&title, 300)),
        attribute(row.state),
        size.width,
        size.height
    );
    let line = |class: &str, down: f64, words: &str| {
        format!(
            "<text class=\"{class}\" x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            x + 9.0,
            y + down,
            text(words)
        )
    };
    if size.has_title {
        inner += &line("name", 18.0, &format!("{} {name}", mark(row.state)));
        inner += &line("title", 34.0, &cut(&title, size.letters));
    } else {
        inner += &line("name", 14.0, &name);
    }
    inner + "</g>"
}

/// Returns a sign for a state, for those who cannot tell the colours apart.
fn mark(state: &str) -> &'static str {
    match class_of(state) {
        "done" => "✓",
        "failed" => "✗",
        "running" => "▶",
        "review" => "◎",
        "skipped" => "–",
        "stopped" => "◼",
        _ => "○",
    }
}

/// Returns the level of each task and its place there: near what it depends on, so that few arrows cross.
fn places(linked: &LinkedPlan, graph: &TaskGraph) -> Vec<(usize, usize)> {
    let n_tasks = linked.plan.tasks().len();
    let mut by_level: Vec<Vec<usize>> = Vec::new();
    for ix in 0..n_tasks {
        let level = graph.level(ix);
        if by_level.len() <= level {
            by_level.resize(level + 1, Vec::new());
        }
        by_level[level].push(ix);
    }
    let mut places = vec![(0, 0); n_tasks];
    for (level, tasks) in by_level.iter_mut().enumerate() {
        let wish = |ix: usize| -> f64 {
            let edges = linked.links.of(ix);
            let sum: usize = edges.iter().map(|edge| places[edge.to as usize].1).sum();
            if edges.is_empty() {
                ix as f64 / 1e6
            } else {
                sum as f64 / edges.len() as f64
            }
        };
        tasks.sort_by(|&a, &b| wish(a).total_cmp(&wish(b)).then(a.cmp(&b)));
        for (row, &ix) in tasks.iter().enumerate() {
            places[ix] = (level, row);
        }
    }
    places
}

/// Draws how many tasks of each level stand where.
fn by_level(page: &Page<'_>, graph: &TaskGraph, n_tasks: usize, out: &mut String) {
    const STATES: [&str; 7] = ["done", "running", "review", "failed", "stopped", "skipped", "waiting"];
    let mut levels: Vec<HashMap<&str, u64>> = Vec::new();
    for (ix, row) in page.rows.iter().enumerate().take(n_tasks) {
        let level = graph.level(ix);
        if levels.len() <= level {
            levels.resize(level + 1, HashMap::new());
        }
        *levels[level].entry(class_of(row.state)).or_default() += 1;
    }
    let most = levels
        .iter()
        .map(|level| level.values().sum::<u64>())
        .max()
        .unwrap_or(1)
        .max(1);
    let shown = levels.len().min(MAX_LEVELS);
    let height = 8.0 + shown as f64 * 18.0;
    let _ = writeln!(
        out,
        "<div class=\"wide\"><svg viewBox=\"0 0 1000 {height}\" width=\"1000\" height=\"{height}\" role=\"img\" aria-label=\"Tasks by level\">"
    );
    for (at, level) in levels.iter().enumerate().take(shown) {
        let y = 4.0 + at as f64 * 18.0;
        let n_level: u64 = level.values().sum();
        let _ = writeln!(
            out,
            "<text class=\"label\" x=\"76\" y=\"{:.0}\" text-anchor=\"end\">level {}</text>",
            y + 12.0,
            at + 1
        );
        let mut x = 86.0;
        for state in STATES {
            let number = level.get(state).copied().unwrap_or(0);
            let width = number as f64 / most as f64 * 840.0;
            if number > 0 {
                let _ = writeln!(
                    out,
                    "<rect class=\"{state}\" x=\"{x:.1}\" y=\"{y:.0}\" width=\"{:.1}\" height=\"14\"><title>{number} {state}</title></rect>",
                    width.max(1.0)
                );
            }
            x += width;
        }
        let _ = writeln!(
            out,
            "<text class=\"time\" x=\"{:.0}\" y=\"{:.0}\">{n_level}</text>",
            x + 6.0,
            y + 12.0
        );
    }
    out.push_str("</svg></div>\n");
    let more = match levels.len() - shown {
        0 => String::new(),
        n => format!(" {} more.", count(n as u64, "level")),
    };
    let _ = writeln!(
        out,
        "<p class=\"legend\">{n_tasks} tasks, counted by level: each level comes after the one before.{more}</p>"
    );
}
