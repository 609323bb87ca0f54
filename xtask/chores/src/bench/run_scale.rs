//! `planwright run` of more and more tasks that do nothing: time and memory per task must not grow.

use planwright_testkit::TempFolder;

use super::graph::{PROGRAM, Shape};
use super::process::measured;
use super::run_noop::SETTINGS;
use super::scratch;
use super::spawn_floor::N_SLOTS;
use super::table::{BenchTable, Median};

/// Runs per size. The smallest size comes first and is the warm-up.
const RUNS: usize = 5;

/// Runs of this size take over a minute and vary little: one is enough.
const N_LONG: usize = 100_000;

/// The limit of the ratio between large and small runs, per task.
const MOST: f64 = 1.2;

/// The size of a minimal run, whose time and memory are subtracted from the others.
const N_BASE: usize = 10;

pub(crate) fn run(n_tasks: usize) -> anyhow::Result<BenchTable> {
    let sizes = [n_tasks / 100, n_tasks / 10, n_tasks].map(|n| n.max(N_BASE * 2));
    let mut table = BenchTable::new(
        format!("run-scale: runs of up to {n_tasks} tasks of `{PROGRAM}`, {N_SLOTS} at a time"),
        &[
            "shape",
            "tasks",
            "µs per task",
            "against fewest (≤ 1.2)",
            "KiB per task",
            "against fewest (≤ 1.2)",
        ],
    );
    // Nothing is removed before the end: removing many files slows some file systems down for a while.
    let mut kept = Vec::new();
    for shape in [Shape::Wide, Shape::Layered] {
        let all = [N_BASE, sizes[0], sizes[1], sizes[2]];
        let mut times = vec![Vec::new(); all.len()];
        let mut peaks = vec![Vec::new(); all.len()];
        for round in 0..RUNS {
            for (place, n_tasks) in all.iter().enumerate() {
                if round > 0 && *n_tasks >= N_LONG {
                    continue;
                }
                let folder = scratch()?;
                let (seconds, kib) = measure(&folder, shape, *n_tasks)?;
                times[place].push(seconds);
                peaks[place].push(kib);
                kept.push(folder);
            }
        }
        let times: Vec<Median> = times.into_iter().map(Median::of).collect();
        let peaks: Vec<Median> = peaks.into_iter().map(Median::of).collect();
        let time_each = |place: usize| (times[place].median - times[0].median) * 1e6 / (all[place] - N_BASE) as f64;
        let peak_each = |place: usize| (peaks[place].median - peaks[0].median) / (all[place] - N_BASE) as f64;
        for place in 1..all.len() {
            let time_growth = time_each(place) / time_each(1);
            let peak_growth = peak_each(place) / peak_each(1);
            table.row(
                vec![
                    shape.name().to_owned(),
                    all[place].to_string(),
                    format!("{:.0} ±{:.0} %", time_each(place), times[place].spread * 100.0),
                    format!("{time_growth:.2}"),
                    format!("{:.2} ±{:.0} %", peak_each(place), peaks[place].spread * 100.0),
                    format!("{peak_growth:.2}"),
                ],
                time_growth <= MOST && peak_growth <= MOST,
            );
        }
    }
    table.remark(format!("What a run of {N_BASE} tasks takes is taken off first."));
    Ok(table)
}

/// Runs a graph in a separate process; returns its seconds and its peak memory in KiB.
fn measure(folder: &TempFolder, shape: Shape, n_tasks: usize) -> anyhow::Result<(f64, f64)> {
    folder.write("plan.json", shape.plan(n_tasks))?;
    folder.write("planwright.toml", SETTINGS)?;
    let slots = format!("-j{N_SLOTS}");
    let cost = measured(folder.path(), &["run", "--quiet", &slots, "plan.json"])?;
    Ok((cost.milliseconds / 1000.0, cost.kib))
}
