//! `planwright run` of tasks that do nothing, against ninja and make on the same graph, and against bare starts of the same
//! program.

use std::path::Path;
use std::process::{Command, Stdio};

use planwright_testkit::TempFolder;

use super::graph::{PROGRAM, Shape};
use super::process::{ProcessTime, spent};
use super::rivals::{MAKE, NINJA};
use super::scratch;
use super::spawn_floor::N_SLOTS;
use super::table::{BenchTable, Median};

/// Measured rounds; a round of warm-up comes before them.
const RUNS: usize = 5;

/// The configuration of the workspaces of these benchmarks.
pub(crate) const SETTINGS: &str = "[agents.noop]\ncommand = [\"/bin/true\", \"{prompt_file}\"]\nprompt = \"file\"\noutput = \"plain\"\n\n\
                                   [run]\nagent = \"noop\"\n";

/// The measured runners, in the order of the columns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NoopRunner {
    Floor,
    Ninja,
    Make,
    Planwright,
}

/// The figures of one runner in microseconds per task.
#[derive(Clone, Copy)]
struct Figures {
    wall: Median,
    /// None if the system does not report it.
    own_cpu: Option<Median>,
}

pub(crate) fn run(n_tasks: usize) -> anyhow::Result<BenchTable> {
    let binary = crate::built::shipped()?;
    let mut contenders = vec![NoopRunner::Floor];
    contenders.extend(NINJA.is_installed().then_some(NoopRunner::Ninja));
    contenders.extend(MAKE.is_installed().then_some(NoopRunner::Make));
    contenders.push(NoopRunner::Planwright);
    let mut table = BenchTable::new(
        format!("run-noop: {n_tasks} tasks of `{PROGRAM}`, {N_SLOTS} at a time, microseconds per task"),
        &[
            "shape",
            "bare starts",
            "ninja",
            "make",
            "planwright",
            "against ninja (≤ 1)",
            "own CPU: bare starts",
            "own CPU: ninja",
            "own CPU: planwright",
            "against bare starts (≤ 1.3)",
        ],
    );
    // Nothing is removed before the end: removing many files slows some file systems down for a while.
    let mut kept = Vec::new();
    for shape in Shape::ALL {
        let figures = measure(&binary, shape, n_tasks, &contenders, &mut kept)?;
        add_row(&mut table, shape, &contenders, &figures);
    }
    for (rival, contender) in [(NINJA, NoopRunner::Ninja), (MAKE, NoopRunner::Make)] {
        if !contenders.contains(&contender) {
            table.remark(rival.advice());
        }
    }
    Ok(table)
}

/// Runs all runners in turn, so that other load on the machine affects them equally.
fn measure(
    binary: &Path,
    shape: Shape,
    n_tasks: usize,
    contenders: &[NoopRunner],
    kept: &mut Vec<TempFolder>,
) -> anyhow::Result<Vec<Figures>> {
    let mut spents: Vec<Vec<ProcessTime>> = vec![Vec::new(); contenders.len()];
    for round in 0..=RUNS {
        for (contender, spents) in contenders.iter().zip(&mut spents) {
            // A new folder each time, so that no runner finds earlier results.
            let folder = scratch()?;
            let mut command = match contender {
                NoopRunner::Floor => {
                    let mut command = Command::new(std::env::current_exe()?);
                    command.args(["spawn-floor", &n_tasks.to_string(), PROGRAM]);
                    command
                }
                NoopRunner::Ninja => {
                    folder.write("build.ninja", shape.ninja(n_tasks))?;
                    let mut command = Command::new(NINJA.name);
                    command.args(["--quiet", &format!("-j{N_SLOTS}")]);
                    command
                }
                NoopRunner::Make => {
                    folder.write("Makefile", shape.makefile(n_tasks))?;
                    let mut command = Command::new(MAKE.name);
                    command.args(["--silent", "--no-builtin-rules", &format!("-j{N_SLOTS}")]);
                    command
                }
                NoopRunner::Planwright => {
                    folder.write("plan.json", shape.plan(n_tasks))?;
                    folder.write("planwright.toml", SETTINGS)?;
                    let mut command = Command::new(binary);
                    command.args(["run", "--quiet", &format!("-j{N_SLOTS}"), "plan.json"]);
                    command
                }
            };
            command
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            let spent = spent(&mut command)?;
            if round > 0 {
                spents.push(spent);
            }
            kept.push(folder);
        }
    }
    Ok(spents.into_iter().map(|spents| Figures::of(&spents, n_tasks)).collect())
}

impl Figures {
    fn of(spents: &[ProcessTime], n_tasks: usize) -> Self {
        let each = |seconds: f64| seconds * 1e6 / n_tasks as f64;
        let own: Option<Vec<f64>> = spents
            .iter()
            .map(|spent| Some(each(spent.own_cpu?.as_secs_f64())))
            .collect();
        Figures {
            wall: Median::of(spents.iter().map(|spent| each(spent.wall.as_secs_f64())).collect()),
            own_cpu: own.map(Median::of),
        }
    }
}

fn add_row(table: &mut BenchTable, shape: Shape, contenders: &[NoopRunner], figures: &[Figures]) {
    let of = |contender: NoopRunner| {
        let place = contenders.iter().position(|one| *one == contender)?;
        figures.get(place).copied()
    };
    let wall = |contender| of(contender).map(|figures| figures.wall);
    let own = |contender| of(contender).and_then(|figures| figures.own_cpu);
    // The system may report no CPU time for a short run.
    let against = |own: Option<Median>, other: Option<Median>| {
        other
            .filter(|other| other.median > 0.0)
            .and_then(|other| Some(own?.median / other.median))
    };
    let to_ninja = against(wall(NoopRunner::Planwright), wall(NoopRunner::Ninja));
    let to_floor = against(own(NoopRunner::Planwright), own(NoopRunner::Floor));
    let time = |sample: Option<Median>| {
        sample.map_or_else(
            || "–".to_owned(),
            |sample| format!("{:.0} ±{:.0} %", sample.median, sample.spread * 100.0),
        )
    };
    let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
    table.row(
        vec![
            shape.name().to_owned(),
            time(wall(NoopRunner::Floor)),
            time(wall(NoopRunner::Ninja)),
            time(wall(NoopRunner::Make)),
            time(wall(NoopRunner::Planwright)),
            ratio(to_ninja),
            time(own(NoopRunner::Floor)),
            time(own(NoopRunner::Ninja)),
            time(own(NoopRunner::Planwright)),
            ratio(to_floor),
        ],
        to_ninja.is_none_or(|ratio| ratio <= 1.0) && to_floor.is_none_or(|ratio| ratio <= 1.3),
    );
}
