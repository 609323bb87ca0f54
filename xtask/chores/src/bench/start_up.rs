//! The start-up time of planwright, against `true`, and against ninja if it is installed.

use std::path::Path;
use std::process::{Command, Stdio};

use planwright_testkit::generate;

use super::scratch;
use super::table::{BenchTable, interleaved};

/// Processes per measurement: one is too short.
const BATCH: usize = 50;

pub(crate) fn run() -> anyhow::Result<BenchTable> {
    let binary = crate::built::shipped()?;
    let folder = scratch()?;
    let plan = folder.write("five.json", generate::plan("clido", 5))?;
    let spawn = |program: &Path, args: &[&str]| {
        for _ in 0..BATCH {
            let _ = Command::new(program)
                .args(args)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
    };
    let plan = plan.to_string_lossy().into_owned();
    let has_ninja = Command::new("ninja").arg("--version").output().is_ok();
    let mut floor = || spawn(Path::new("true"), &[]);
    let mut version = || spawn(&binary, &["--version"]);
    let mut check = || spawn(&binary, &["check", "--quiet", &plan]);
    let mut ninja = || spawn(Path::new("ninja"), &["--version"]);
    let mut contenders: Vec<&mut dyn FnMut()> = vec![&mut floor, &mut version, &mut check];
    if has_ninja {
        contenders.push(&mut ninja);
    }
    let samples = interleaved(&mut contenders);
    let mut table = BenchTable::new(
        "start-up: milliseconds per process",
        &["command", "median", "over `true` (≤ 3 ms)", "against `true`"],
    );
    let names = [
        "true",
        "planwright --version",
        "planwright check (5 tasks)",
        "ninja --version",
    ];
    let base = samples[0].median / BATCH as f64;
    for (name, sample) in names.iter().zip(&samples) {
        let each = sample.median / BATCH as f64;
        table.row(
            vec![
                format!("`{name}`"),
                format!("{each:.2} ms ±{:.0} %", sample.spread * 100.0),
                format!("{:.2} ms", each - base),
                format!("{:.1}", each / base),
            ],
            each - base <= 3.0,
        );
    }
    Ok(table)
}
