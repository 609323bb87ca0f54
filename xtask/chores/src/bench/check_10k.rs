//! A whole `planwright check` process on 10,000 tasks, in every dialect; YAML against its parser's bare event pass, lists of lines against a
//! bare scan of their lines.

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use planwright::core::dialect::{CarrierKind, Choice, DIALECTS, DiskFacts};
use planwright::core::inspect::inspect;
use planwright::core::text::SourceText;
use planwright_testkit::generate;

use super::table::{BenchTable, Median, interleaved};
use super::{peak_of_check, scratch};

const N_TASKS: usize = 10_000;

/// Child processes per reading of the clock, which ticks every 10 ms.
const BATCH: usize = 20;

pub(crate) fn run() -> anyhow::Result<BenchTable> {
    let binary = crate::built::shipped()?;
    let folder = scratch()?;
    let mut table = BenchTable::new(
        format!("check-10k: `planwright check` on {N_TASKS} tasks, as a process"),
        &[
            "dialect",
            "MB",
            "CPU (≤ 100 ms)",
            "peak (≤ 40 MiB)",
            "against the bare event pass (≤ 1.5)",
            "against a bare line scan (≤ 2)",
        ],
    );
    for dialect in DIALECTS {
        let text = generate::plan(dialect.name(), N_TASKS);
        let path = folder.write(&format!("{}.{}", dialect.name(), generate::extension(*dialect)), &text)?;
        let cpu = cpu_of_check(&binary, &path)?;
        let peak = peak_of_check(&path)?;
        let is_yaml = dialect.carriers().first() == Some(&CarrierKind::Yaml);
        let ratio = is_yaml.then(|| event_pass_ratio(&text));
        let scan = dialect.notation().is_some().then(|| line_scan_ratio(&text));
        let met = match (ratio, scan) {
            (Some(ratio), _) => ratio <= 1.5,
            (None, Some(scan)) => scan <= 2.0,
            (None, None) => cpu.median <= 100.0 && peak <= 40.0,
        };
        table.row(
            vec![
                dialect.name().to_owned(),
                format!("{:.1}", text.len() as f64 / 1e6),
                format!("{:.1} ms ±{:.0} %", cpu.median, cpu.spread * 100.0),
                format!("{peak:.1} MiB"),
                ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}")),
                scan.map_or("–".to_owned(), |scan| format!("{scan:.1}")),
            ],
            met,
        );
    }
    Ok(table)
}

fn cpu_of_check(binary: &Path, path: &Path) -> anyhow::Result<Median> {
    cpu_of(&|| {
        Command::new(binary)
            .arg("check")
            .arg("--quiet")
            .arg(path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
    })
}

/// Returns the CPU milliseconds of one process, from the system's CPU time of finished children.
pub(crate) fn cpu_of(spawn: &dyn Fn() -> std::io::Result<ExitStatus>) -> anyhow::Result<Median> {
    let mut values = Vec::new();
    for _ in 0..5 {
        let before = children_ticks();
        for _ in 0..BATCH {
            spawn()?;
        }
        values.push((children_ticks() - before) as f64 * 10.0 / BATCH as f64);
    }
    Ok(Median::of(values))
}

/// Returns the CPU time of finished children in ticks of 10 ms.
fn children_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name may contain spaces and brackets; the numbers begin after the last bracket.
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map_or(Vec::new(), |(_, rest)| rest.split_whitespace().collect());
    let tick = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    tick(13) + tick(14)
}

fn event_pass_ratio(text: &str) -> f64 {
    ratio_of_check(text, &mut || {
        black_box(granit_parser::Parser::new_from_str(text).filter(Result::is_ok).count());
    })
}

/// The floor counts the lines that look like tasks.
fn line_scan_ratio(text: &str) -> f64 {
    ratio_of_check(text, &mut || {
        let is_task = |line: &&str| line.trim_start().starts_with("- [");
        black_box(text.lines().filter(is_task).count());
    })
}

fn ratio_of_check(text: &str, floor: &mut dyn FnMut()) -> f64 {
    let source = SourceText::new(text);
    let facts = DiskFacts::default();
    let choice = Choice::by_content(&facts);
    let samples = interleaved(&mut [floor, &mut || {
        black_box(inspect(&source, &choice).diagnostics.len());
    }]);
    samples[1].median / samples[0].median
}
