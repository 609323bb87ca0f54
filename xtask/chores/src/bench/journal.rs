//! Two durable records per task in the log of a run, against appending and syncing the same bytes.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use planwright::run::clock;
use planwright::run::files::DiskFiles;
use planwright::run::journal::JournalHeader;
use planwright::run::runs::{AttemptEndRecord, AttemptRecord, Outcome, RunEvent, RunLog};

use super::scratch;
use super::table::{BenchTable, interleaved};

/// The number of running tasks: as many records are made durable together.
const IN_FLIGHT: [usize; 3] = [1, 2, 32];

/// The limit per record with many running tasks, in microseconds.
const MOST: f64 = 10.0;

pub(crate) fn run(n_tasks: usize) -> anyhow::Result<BenchTable> {
    // Whole groups, so that both sides sync equally often.
    let n_tasks = n_tasks.next_multiple_of(32);
    let mut table = BenchTable::new(
        format!("journal: two durable records for each of {n_tasks} tasks, microseconds per record"),
        &[
            "in flight",
            "bytes",
            "append + fdatasync",
            "planwright",
            "ratio (≤ 1.1)",
            "at 32 in flight (≤ 10)",
        ],
    );
    let n_records = 2 * n_tasks;
    for n_in_flight in IN_FLIGHT {
        let folder = scratch()?;
        let path = folder.path().join("run.journal");
        write_log(&path, n_tasks, n_in_flight)?;
        let text = std::fs::read_to_string(&path)?;
        // The first line names the plan, and is not measured.
        let lines: Vec<&str> = text.split_inclusive('\n').skip(1).collect();
        let groups: Vec<String> = lines.chunks(n_in_flight).map(<[&str]>::concat).collect();
        let floor_path = folder.path().join("floor.journal");
        let mut floor = || append(&floor_path, &groups).expect("the folder is ours");
        let mut log = || write_log(&path, n_tasks, n_in_flight).expect("the folder is ours");
        let samples = interleaved(&mut [&mut floor, &mut log]);
        let each = |milliseconds: f64| milliseconds * 1000.0 / n_records as f64;
        let (floor, own) = (each(samples[0].median), each(samples[1].median));
        let is_grouped = n_in_flight == 32;
        table.row(
            vec![
                n_in_flight.to_string(),
                format!(
                    "{:.0}",
                    lines.iter().map(|line| line.len()).sum::<usize>() as f64 / n_records as f64
                ),
                format!("{floor:.1} ±{:.0} %", samples[0].spread * 100.0),
                format!("{own:.1} ±{:.0} %", samples[1].spread * 100.0),
                format!("{:.2}", own / floor),
                if is_grouped {
                    format!("{own:.1}")
                } else {
                    "–".to_owned()
                },
            ],
            own / floor <= 1.1 && (!is_grouped || own <= MOST),
        );
    }
    Ok(table)
}

/// Writes the log of a run whose tasks start and end in groups, as the engine does: it continues when a group is durable.
fn write_log(path: &Path, n_tasks: usize, n_in_flight: usize) -> anyhow::Result<()> {
    remove(path)?;
    let header = JournalHeader {
        path: "plan.json".to_owned(),
        id: Some("plan-a1b2c3d4".to_owned()),
    };
    let mut log = RunLog::begin(&DiskFiles, path, &header)?;
    for first in (0..n_tasks).step_by(n_in_flight) {
        let group = first..n_tasks.min(first + n_in_flight);
        for task_ix in group.clone() {
            log.add(&clock::now(), &starting(task_ix, task_ix - first))?;
        }
        log.commit()?;
        for task_ix in group {
            log.add(&clock::now(), &finished(task_ix))?;
        }
        log.commit()?;
    }
    Ok(())
}

fn starting(task_ix: usize, slot: usize) -> RunEvent {
    RunEvent::AttemptStarting(AttemptRecord {
        task: format!("t{task_ix}"),
        attempt: 1,
        agent: "noop".to_owned(),
        slot: slot as u32 + 1,
        ..AttemptRecord::default()
    })
}

fn finished(task_ix: usize) -> RunEvent {
    RunEvent::AttemptEnded(AttemptEndRecord {
        task: format!("t{task_ix}"),
        attempt: 1,
        outcome: Outcome::Done,
        exit: Some("exit 0".to_owned()),
        milliseconds: Some(1),
        ..AttemptEndRecord::default()
    })
}

/// Appends groups of lines to a new file, and syncs after each.
fn append(path: &Path, groups: &[String]) -> std::io::Result<()> {
    remove(path)?;
    let mut file = OpenOptions::new().append(true).create_new(true).open(path)?;
    for group in groups {
        file.write_all(group.as_bytes())?;
        file.sync_data()?;
    }
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
