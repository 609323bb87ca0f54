//! `planwright run` of tasks that do nothing, against ninja and make on the same graph, and against bare starts of the same
//! program.

use std::path::Path;
use std::process::{Command, Stdio};

use planwright_testkit::TempFolder;

use super::graph::{PROGRAM, Shape};
use super::process::{Spent, spent};
use super::rivals::{MAKE, NINJA};
use super::spawn_floor::N_SLOTS;
use super::table::{Sample, Table};
use super::{release_binary, scratch};

/// How often each contender runs, after once to warm up.
const RUNS: usize = 5;

/// What a workspace of these benchmarks is configured with.
pub(crate) const SETTINGS: &str = "[agents.nobody]\ncommand = [\"/bin/true\", \"{prompt_file}\"]\nprompt = \"file\"\noutput = \"plain\"\n\n\
                                   [run]\nagent = \"nobody\"\n";

/// Who takes part, in the order of the columns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contender {
    Floor,
    Ninja,
    Make,
    Planwright,
}

/// The figures of one contender in microseconds per task.
#[derive(Clone, Copy)]
struct Figures {
    wall: Sample,
    /// None where the system does not tell.
    own_cpu: Option<Sample>,
}

pub(crate) fn run(n_tasks: usize) -> anyhow::Result<Table> {
    let binary = release_binary()?;
    let mut contenders = vec![Contender::Floor];
    contenders.extend(NINJA.is_installed().then_some(Contender::Ninja));
    contenders.extend(MAKE.is_installed().then_some(Contender::Make));
    contenders.push(Contender::Planwright);
    let mut table = Table::new(
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
    // Nothing is removed before the end: a file system may be slower for a while where many files were.
    let mut kept = Vec::new();
    for shape in Shape::ALL {
        let figures = measure(&binary, shape, n_tasks, &contenders, &mut kept)?;
        add_row(&mut table, shape, &contenders, &figures);
    }
    for (rival, contender) in [(NINJA, Contender::Ninja), (MAKE, Contender::Make)] {
        if !contenders.contains(&contender) {
            table.remark(rival.advice());
        }
    }
    Ok(table)
}

/// Runs all contenders in turn, so that what else the machine does hits them alike.
fn measure(
    binary: &Path,
    shape: Shape,
    n_tasks: usize,
    contenders: &[Contender],
    kept: &mut Vec<TempFolder>,
) -> anyhow::Result<Vec<Figures>> {
    let mut spents: Vec<Vec<Spent>> = vec![Vec::new(); contenders.len()];
    for round in 0..=RUNS {
        for (contender, spents) in contenders.iter().zip(&mut spents) {
            // A folder of its own each time, so that no contender finds what was done before.
            let folder = scratch()?;
            let mut command = match contender {
                Contender::Floor => {
                    let mut command = Command::new(std::env::current_exe()?);
                    command.args(["spawn-floor", &n_tasks.to_string(), PROGRAM]);
                    command
                }
                Contender::Ninja => {
                    folder.write("build.ninja", shape.ninja(n_tasks))?;
                    let mut command = Command::new(NINJA.name);
                    command.args(["--quiet", &format!("-j{N_SLOTS}")]);
                    command
                }
                Contender::Make => {
                    folder.write("Makefile", shape.makefile(n_tasks))?;
                    let mut command = Command::new(MAKE.name);
                    command.args(["--silent", "--no-builtin-rules", &format!("-j{N_SLOTS}")]);
                    command
                }
                Contender::Planwright => {
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
    fn of(spents: &[Spent], n_tasks: usize) -> Self {
        let each = |seconds: f64| seconds * 1e6 / n_tasks as f64;
        let own: Option<Vec<f64>> = spents
            .iter()
            .map(|spent| Some(each(spent.own_cpu?.as_secs_f64())))
            .collect();
        Figures {
            wall: Sample::of(spents.iter().map(|spent| each(spent.wall.as_secs_f64())).collect()),
            own_cpu: own.map(Sample::of),
        }
    }
}

fn add_row(table: &mut Table, shape: Shape, contenders: &[Contender], figures: &[Figures]) {
    let of = |contender: Contender| {
        let place = contenders.iter().position(|one| *one == contender)?;
        figures.get(place).copied()
    };
    let wall = |contender| of(contender).map(|figures| figures.wall);
    let own = |contender| of(contender).and_then(|figures| figures.own_cpu);
    // Of a short run the system may say that it took no time at all.
    let against = |own: Option<Sample>, other: Option<Sample>| {
        other
            .filter(|other| other.median > 0.0)
            .and_then(|other| Some(own?.median / other.median))
    };
    let to_ninja = against(wall(Contender::Planwright), wall(Contender::Ninja));
    let to_floor = against(own(Contender::Planwright), own(Contender::Floor));
    let time = |sample: Option<Sample>| {
        sample.map_or_else(
            || "–".to_owned(),
            |sample| format!("{:.0} ±{:.0} %", sample.median, sample.spread * 100.0),
        )
    };
    let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
    table.row(
        vec![
            shape.name().to_owned(),
            time(wall(Contender::Floor)),
            time(wall(Contender::Ninja)),
            time(wall(Contender::Make)),
            time(wall(Contender::Planwright)),
            ratio(to_ninja),
            time(own(Contender::Floor)),
            time(own(Contender::Ninja)),
            time(own(Contender::Planwright)),
            ratio(to_floor),
        ],
        to_ninja.is_none_or(|ratio| ratio <= 1.0) && to_floor.is_none_or(|ratio| ratio <= 1.3),
    );
}
