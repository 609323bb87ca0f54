//! The graph in a report: tasks by level, with an arrow for each dependency.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use planwright_core::graph::TaskGraph;
use planwright_core::inspect::LinkedPlan;
use planwright_verbs::text::{count, cut, one_line};

use super::ReportPage;
use super::markup::{attribute, class_of, text};

/// Above this number of tasks, boxes are small.
const MAX_LARGE: usize = 60;
/// Above this number of tasks, levels are counted, and not drawn.
const MAX_DRAWN: usize = 500;
/// Above this number, arrows would hide the boxes.
const MAX_EDGES: usize = 3_000;
/// The limit of counted levels.
const MAX_LEVELS: usize = 200;

struct BoxSize {
    width: f64,
    height: f64,
    across: f64,
    down: f64,
    /// How many letters fit into a box.
    letters: usize,
    has_title: bool,
}

impl BoxSize {
    /// Returns the size of boxes with which all levels are visible at once, if that is still readable.
    fn of(n_tasks: usize, n_levels: usize) -> Self {
        const PAGE: f64 = 1056.0;
        let is_large = n_tasks <= MAX_LARGE;
        let (least, most) = if is_large { (148.0, 236.0) } else { (118.0, 150.0) };
        let unit = (PAGE / n_levels.max(1) as f64).clamp(least, most);
        let width = (unit * 0.77).floor();
        BoxSize {
            width,
            across: unit - width,
            height: if is_large { 44.0 } else { 20.0 },
            down: if is_large { 14.0 } else { 6.0 },
            letters: ((width - 18.0) / 6.6) as usize,
            has_title: is_large,
        }
    }
}

pub(super) fn draw(page: &ReportPage<'_>, out: &mut String) {
    let Some(linked) = page.source.linked else {
        return;
    };
    let n_tasks = linked.plan.tasks().len();
    if n_tasks < 2 {
        return;
    }
    out.push_str("<section>\n<h2>Graph</h2>\n");
    match &page.graph {
        None => out.push_str("<p class=\"note\">The tasks depend on each other in a cycle: there are no levels.</p>\n"),
        Some(graph) if n_tasks > MAX_DRAWN => by_level(page, graph, n_tasks, out),
        Some(graph) => boxes(page, linked, graph, out),
    }
    out.push_str("</section>\n");
}

fn boxes(page: &ReportPage<'_>, linked: &LinkedPlan, graph: &TaskGraph, out: &mut String) {
    let n_tasks = linked.plan.tasks().len();
    let layout = GraphLayout::of(linked, graph);
    let size = BoxSize::of(n_tasks, layout.n_levels);
    let width = 8.0 + layout.n_levels as f64 * (size.width + size.across) - size.across;
    let height = 8.0 + layout.n_rows as f64 * (size.height + size.down) - size.down;
    let _ = writeln!(
        out,
        "<div class=\"wide\"><svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"Graph of the tasks\">"
    );
    let critical: HashSet<(u32, u32)> = graph
        .critical_path()
        .windows(2)
        .filter_map(|pair| Some((*pair.first()?, *pair.last()?)))
        .collect();
    let edges = (0..n_tasks).flat_map(|ix| linked.links.of(ix).iter().map(move |edge| (edge.to as usize, ix)));
    let n_edges: usize = (0..n_tasks).map(|ix| linked.links.of(ix).len()).sum();
    for (from, to) in edges.take(MAX_EDGES) {
        let is_critical = critical.contains(&(from as u32, to as u32));
        let class = if is_critical { "edge critical" } else { "edge" };
        let _ = writeln!(out, "<path class=\"{class}\" d=\"{}\"/>", layout.way(from, to, &size));
    }
    for ix in 0..n_tasks {
        let (level, row) = layout.place(ix);
        let inner = one_box(page, ix, (size.x(level), size.y(row)), &size);
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

fn one_box(page: &ReportPage<'_>, ix: usize, (x, y): (f64, f64), size: &BoxSize) -> String {
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

/// Returns a symbol for a state, for readers who cannot distinguish the colours.
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

/// The positions of boxes: each level is a column. An arrow over several levels reserves a row in those between, which all arrows from one
/// task share.
struct GraphLayout {
    n_levels: usize,
    n_rows: usize,
    /// The level and the row of each task.
    places: Vec<(usize, usize)>,
    /// The row in which the arrows from a task cross a level, by task and level.
    crossings: HashMap<(usize, usize), usize>,
}

/// The content of a row in a level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Task(usize),
    ArrowsFrom(usize),
}

impl GraphLayout {
    fn of(linked: &LinkedPlan, graph: &TaskGraph) -> Self {
        let levels = items(linked, graph);
        let mut layout = GraphLayout {
            n_levels: levels.len(),
            n_rows: levels.iter().map(Vec::len).max().unwrap_or(0),
            places: vec![(0, 0); linked.plan.tasks().len()],
            crossings: HashMap::new(),
        };
        for (level, mut items) in levels.into_iter().enumerate() {
            items.sort_by(|&a, &b| {
                let (wish_a, wish_b) = (layout.wish(linked, level, a), layout.wish(linked, level, b));
                wish_a.total_cmp(&wish_b).then(a.cmp(&b))
            });
            for (row, item) in items.into_iter().enumerate() {
                match item {
                    Item::Task(ix) => layout.places[ix] = (level, row),
                    Item::ArrowsFrom(ix) => drop(layout.crossings.insert((ix, level), row)),
                }
            }
        }
        layout
    }

    /// Returns the best row of an item: next to its predecessors, so that few arrows cross.
    fn wish(&self, linked: &LinkedPlan, level: usize, item: Item) -> f64 {
        let before = level.saturating_sub(1);
        match item {
            Item::ArrowsFrom(ix) => self.row(ix, before) as f64,
            Item::Task(ix) => {
                let edges = linked.links.of(ix);
                let sum: usize = edges.iter().map(|edge| self.row(edge.to as usize, before)).sum();
                // Tasks without dependencies are in the order of the plan.
                if edges.is_empty() {
                    0.0
                } else {
                    sum as f64 / edges.len() as f64
                }
            }
        }
    }

    /// Returns the row of the arrows from a task in a level.
    fn row(&self, ix: usize, level: usize) -> usize {
        let crossing = self.crossings.get(&(ix, level)).copied();
        crossing.unwrap_or_else(|| self.place(ix).1)
    }

    fn place(&self, ix: usize) -> (usize, usize) {
        self.places.get(ix).copied().unwrap_or_default()
    }

    /// Returns the path of an arrow, in SVG's notation.
    fn way(&self, from: usize, to: usize, size: &BoxSize) -> String {
        let ((first, row), (last, end)) = (self.place(from), self.place(to));
        let middle = |row: usize| size.y(row) + size.height / 2.0;
        let (mut x, mut y) = (size.x(first) + size.width, middle(row));
        let mut way = format!("M{x:.0} {y:.0}");
        let mut bend = |way: &mut String, next_x: f64, next_y: f64, on: f64| {
            let half = (next_x - x) / 2.0;
            let _ = write!(
                way,
                "C{:.0} {y:.0} {:.0} {next_y:.0} {next_x:.0} {next_y:.0}",
                x + half,
                next_x - half
            );
            (x, y) = (on, next_y);
            if on > next_x {
                let _ = write!(way, "H{on:.0}");
            }
        };
        for level in first + 1..last {
            if let Some(row) = self.crossings.get(&(from, level)) {
                bend(&mut way, size.x(level), middle(*row), size.x(level) + size.width);
            }
        }
        bend(&mut way, size.x(last), middle(end), size.x(last));
        way
    }
}

impl BoxSize {
    fn x(&self, level: usize) -> f64 {
        4.0 + level as f64 * (self.width + self.across)
    }

    fn y(&self, row: usize) -> f64 {
        4.0 + row as f64 * (self.height + self.down)
    }
}

/// Returns the items of each level. Arrows over several levels get no rows if those would exceed the tasks.
fn items(linked: &LinkedPlan, graph: &TaskGraph) -> Vec<Vec<Item>> {
    let n_tasks = linked.plan.tasks().len();
    let mut levels: Vec<Vec<Item>> = Vec::new();
    // The last level that the arrows of each task reach.
    let mut reach: Vec<usize> = (0..n_tasks).map(|ix| graph.level(ix)).collect();
    for ix in 0..n_tasks {
        let level = graph.level(ix);
        if levels.len() <= level {
            levels.resize(level + 1, Vec::new());
        }
        levels[level].push(Item::Task(ix));
        for edge in linked.links.of(ix) {
            let far = &mut reach[edge.to as usize];
            *far = (*far).max(level);
        }
    }
    let crossed = |ix: usize| graph.level(ix) + 1..reach[ix].max(graph.level(ix) + 1);
    let n_crossed: usize = (0..n_tasks).map(|ix| crossed(ix).len()).sum();
    if n_crossed <= n_tasks {
        for ix in 0..n_tasks {
            crossed(ix).for_each(|level| levels[level].push(Item::ArrowsFrom(ix)));
        }
    }
    levels
}

/// Draws the number of tasks of each level by state.
fn by_level(page: &ReportPage<'_>, graph: &TaskGraph, n_tasks: usize, out: &mut String) {
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
