//! One `planwright done` process on a plan of 10,000 tasks, durable, against reading, syncing and renaming the same bytes.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use planwright::core::change::{Open, transition};
use planwright::core::dialect::{Choice, DIALECTS, Dialect, DiskFacts};
use planwright::core::edit::VerbRequest;
use planwright::core::plan::{State, Verb};
use planwright::core::text::SourceText;
use planwright_testkit::generate;

use super::scratch;
use super::table::{BenchTable, interleaved};

const N_TASKS: usize = 10_000;

pub(crate) fn run() -> anyhow::Result<BenchTable> {
    let binary = crate::built::shipped()?;
    let mut table = BenchTable::new(
        format!("transition-10k: `planwright done` on {N_TASKS} tasks, as a process, durable"),
        &["dialect", "MB", "read + sync + rename", "planwright", "ratio (≤ 5)"],
    );
    for dialect in DIALECTS {
        let Some((task, text)) = with_running_task(*dialect) else {
            continue;
        };
        let folder = scratch()?;
        let path = folder.write(&format!("plan.{}", generate::extension(*dialect)), &text)?;
        let floor_path = folder.write("floor.bin", &text)?;
        // A separate workspace with an existing journal.
        folder.write("planwright.toml", "")?;
        let shown = path.to_string_lossy().into_owned();
        // Every measured call must find the task running: the file is restored outside of the measured time.
        let mut floor = || replace(&floor_path);
        let mut done = || {
            let status = Command::new(&binary)
                .args(["done", &task, "--quiet", "--plan", &shown])
                .stdout(Stdio::null())
                .status();
            assert!(
                status.is_ok_and(|status| status.success()),
                "the transition was refused"
            );
        };
        let mut restore = || {
            std::fs::write(&path, &text).expect("the folder is ours");
        };
        let samples = interleaved(&mut [&mut floor, &mut done, &mut restore]);
        let ratio = samples[1].median / samples[0].median;
        table.row(
            vec![
                dialect.name().to_owned(),
                format!("{:.1}", text.len() as f64 / 1e6),
                format!("{:.1} ms ±{:.0} %", samples[0].median, samples[0].spread * 100.0),
                format!("{:.1} ms ±{:.0} %", samples[1].median, samples[1].spread * 100.0),
                format!("{ratio:.1}"),
            ],
            ratio <= 5.0,
        );
    }
    Ok(table)
}

/// Returns the name of the first task of a plan, and the plan in which it is running; none if its file cannot hold that state.
fn with_running_task(dialect: &'static dyn Dialect) -> Option<(String, String)> {
    let (text, _) = generate::stored(dialect, N_TASKS, generate::WAVE_WIDTH);
    let facts = DiskFacts::default();
    let choice = Choice::by_content(&facts);
    let open = Open::new(&SourceText::new(text), &choice);
    let plan = &open.inspection.plan.as_ref()?.plan;
    if !plan.lifecycle.machine.written.contains(&State::Running) {
        return None;
    }
    let start = VerbRequest::new(Verb::Start, "2026-03-22T10:00:00Z");
    let started = transition(&open, &choice, 0, &start).ok()?;
    Some((plan.task_name(0).into_owned(), started.source.as_str().to_owned()))
}

/// Reads a file and replaces it by the same bytes, durably.
fn replace(path: &Path) {
    let replace = || -> std::io::Result<()> {
        let bytes = std::fs::read(path)?;
        let temporary = path.with_extension("tmp");
        let mut file = File::create(&temporary)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
    };
    replace().expect("the folder is ours");
}
