//! The timeline in a report: a row for each task or slot, and a bar for each attempt.

use std::fmt::Write as _;

use planwright_run::clock::milliseconds_of;
use planwright_run::runs::Outcome;
use planwright_run::runs::state::AttemptRun;
use planwright_verbs::text::{cut, duration};

use super::ReportPage;
use super::markup::{attribute, class_of, text};

/// Up to this number of tasks, each has a row.
const MAX_TASKS: usize = 60;
/// Above this number of slots, there is no timeline.
const MAX_SLOTS: u32 = 128;
const WIDTH: f64 = 1000.0;
/// The width for the names of tasks, which are cut.
const LEFT: f64 = 150.0;
const ROW: f64 = 24.0;
const TOP: f64 = 8.0;

/// A bar, in the picture's own units.
struct Bar {
    row: usize,
    from: f64,
    to: f64,
    tail: f64,
    class: &'static str,
    title: String,
    task: usize,
}

pub(super) fn draw(page: &ReportPage<'_>, out: &mut String) {
    let tried = page
        .rows
        .iter()
        .filter(|row| row.task.is_some_and(|task| !task.attempts.is_empty()));
    let n_tried = tried.count();
    if n_tried == 0 {
        return;
    }
    out.push_str("<section>\n<h2>Timeline</h2>\n");
    let by_task = n_tried <= MAX_TASKS;
    match if by_task { by_tasks(page) } else { by_slots(page) } {
        Some((labels, bars)) => picture(page, &labels, &bars, out),
        None => out.push_str("<p class=\"note\">There are too many tasks and slots to draw.</p>\n"),
    }
    out.push_str("</section>\n");
}

type Rows = (Vec<(String, Option<usize>)>, Vec<Bar>);

fn by_tasks(page: &ReportPage<'_>) -> Option<Rows> {
    let (mut labels, mut bars) = (Vec::new(), Vec::new());
    for (ix, row) in page.rows.iter().enumerate() {
        let Some(task) = row.task.filter(|task| !task.attempts.is_empty()) else {
            continue;
        };
        let at = labels.len();
        labels.push((cut(&row.name, 18), Some(ix)));
        bars.extend(task.attempts.iter().filter_map(|attempt| bar(page, at, ix, attempt)));
    }
    Some((labels, bars))
}

fn by_slots(page: &ReportPage<'_>) -> Option<Rows> {
    let mut bars = Vec::new();
    let mut n_slots = 0;
    for (ix, row) in page.rows.iter().enumerate() {
        for attempt in row.task.iter().flat_map(|task| &task.attempts) {
            n_slots = n_slots.max(attempt.process.slot);
            let at = (attempt.process.slot as usize).saturating_sub(1);
            bars.extend(bar(page, at, ix, attempt));
        }
    }
    if n_slots == 0 || n_slots > MAX_SLOTS {
        return None;
    }
    let labels = (1..=n_slots).map(|slot| (format!("slot {slot}"), None));
    Some((labels.collect(), merged(bars)))
}

/// Merges adjacent bars that look the same, so that the page of a long run stays small.
fn merged(mut bars: Vec<Bar>) -> Vec<Bar> {
    const LEAST: f64 = 0.6;
    bars.sort_by(|a, b| a.row.cmp(&b.row).then(a.from.total_cmp(&b.from)));
    let mut out: Vec<Bar> = Vec::new();
    for bar in bars {
        match out.last_mut() {
            Some(last) if last.row == bar.row && bar.to - last.from < LEAST * 4.0 && bar.from - last.to < LEAST => {
                last.to = last.to.max(bar.to);
                last.tail = last.to;
                if bar.class == "failed" {
                    (last.class, last.task, last.title) = (bar.class, bar.task, bar.title);
                }
            }
            _ => out.push(bar),
        }
    }
    out
}

fn bar(page: &ReportPage<'_>, row: usize, task: usize, attempt: &AttemptRun) -> Option<Bar> {
    let (start, end) = page.span;
    let scale = (WIDTH - LEFT - 10.0) / (end - start) as f64;
    let x = |time: u64| LEFT + time.clamp(start, end).saturating_sub(start) as f64 * scale;
    let started = milliseconds_of(&attempt.times.started)?;
    let (from, to, tail) = stretch(attempt, started, end);
    let outcome = outcome_of(page, attempt);
    let agent = match attempt.agent.as_str() {
        "" => String::new(),
        agent => format!(" by {agent}"),
    };
    let title = format!(
        "{}, attempt {}{agent}: {outcome} after {}",
        page.rows.get(task).map_or("", |row| row.name.as_str()),
        attempt.attempt,
        duration(tail.saturating_sub(from))
    );
    Some(Bar {
        row,
        from: x(from),
        to: x(to).max(x(from) + 1.5),
        tail: x(tail),
        class: class_of(outcome),
        title,
        task,
    })
}

/// Returns the result of an attempt; an unfinished one in an ended run was interrupted.
pub(super) fn outcome_of<'a>(page: &ReportPage<'_>, attempt: &'a AttemptRun) -> &'a str {
    let open = if page.is_running() { "running" } else { "interrupted" };
    attempt.outcome.as_ref().map_or(open, Outcome::as_str)
}

/// Returns when an attempt started, when all of it ended, and when its verification started.
fn stretch(attempt: &AttemptRun, started: u64, now: u64) -> (u64, u64, u64) {
    let Some(ended) = attempt.times.ended.as_deref().and_then(milliseconds_of) else {
        let now = if attempt.outcome.is_none() { now } else { started };
        return (started, now.max(started), now.max(started));
    };
    match attempt.verification.at.as_deref().and_then(milliseconds_of) {
        Some(verified) if verified > ended => (started, verified, ended),
        Some(verified) => {
            let took = attempt.verification.receipts.iter().map(|receipt| receipt.milliseconds);
            let took = took.fold(0, u64::saturating_add);
            (started, ended, verified.saturating_sub(took).max(started))
        }
        None => (started, ended, ended),
    }
}

fn picture(page: &ReportPage<'_>, labels: &[(String, Option<usize>)], bars: &[Bar], out: &mut String) {
    let height = TOP + ROW * labels.len() as f64 + 28.0;
    let _ = writeln!(
        out,
        "<div class=\"wide\"><svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"Timeline of the attempts\">"
    );
    axis(page, height, out);
    for (at, (label, row)) in labels.iter().enumerate() {
        let y = TOP + ROW * at as f64;
        let inner = format!(
            "<text class=\"label\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 10.0,
            y + 16.0,
            text(label)
        );
        let linked = row.map_or(inner.clone(), |row| page.link(row, &inner));
        let _ = writeln!(
            out,
            "<line class=\"rule\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>{linked}"
        );
    }
    for bar in bars {
        let y = TOP + ROW * bar.row as f64 + 5.0;
        let rect = |class: &str, from: f64, to: f64| {
            let width = (to - from).max(1.0);
            format!(
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"14\" rx=\"2\"/>"
            )
        };
        let mut inner = format!("<g><title>{}</title>", attribute(&bar.title));
        inner += &rect(bar.class, bar.from, bar.tail.max(bar.from + 1.0));
        if bar.to - bar.tail > 0.5 {
            inner += &rect(&format!("{} tail", bar.class), bar.tail, bar.to);
        }
        inner += "</g>";
        let _ = writeln!(out, "{}", page.link(bar.task, &inner));
    }
    out.push_str("</svg></div>\n");
    const LEGEND: [(&str, &str); 5] = [
        ("done", "done"),
        ("failed", "failed"),
        ("stopped", "stopped or interrupted"),
        ("running", "running"),
        ("done tail", "verification (lighter)"),
    ];
    let signs = LEGEND.map(|(class, words)| format!("<span><i class=\"{class}\"></i>{words}</span> "));
    let _ = writeln!(
        out,
        "<p class=\"legend\">{}Times count from the beginning of the run.</p>",
        signs.concat()
    );
}

fn axis(page: &ReportPage<'_>, height: f64, out: &mut String) {
    let (start, end) = page.span;
    let length = end - start;
    let step = step_of(length);
    let scale = (WIDTH - LEFT - 10.0) / length as f64;
    let mut at = 0;
    while at <= length {
        let x = LEFT + at as f64 * scale;
        let bottom = height - 22.0;
        let _ = writeln!(
            out,
            "<line class=\"tick\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\"/><text class=\"time\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            height - 6.0,
            tick(at)
        );
        at += step;
    }
}

/// Returns the distance between two marks of the axis: a round one, for at most ten marks.
fn step_of(length: u64) -> u64 {
    const SECONDS: [u64; 20] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800,
        604_800,
    ];
    let fitting = SECONDS
        .iter()
        .map(|seconds| seconds * 1_000)
        .find(|step| length / step < 10);
    fitting.unwrap_or(length / 8 + 1)
}

fn tick(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes, rest) {
        (0, 0, s) => format!("{s}s"),
        (0, m, 0) => format!("{m}m"),
        (0, m, s) => format!("{m}m {s:02}s"),
        (h, 0, _) => format!("{h}h"),
        (h, m, _) => format!("{h}h {m:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_has_few_round_marks() {
        for length in [1, 999, 1_000, 45_000, 3_600_000, 86_400_000, 1 << 40, u64::MAX / 2] {
            let step = step_of(length);
            assert!(length / step <= 10, "{length}");
        }
        assert_eq!(
            [0, 15_000, 90_000, 300_000, 5_400_000].map(tick),
            ["0s", "15s", "1m 30s", "5m", "1h 30m"]
        );
    }
}
