//! Benchmarks: each measures a floor or a rival in the same run, interleaved, and reports ratios.

mod check_100k;
mod check_10k;
mod convert_10k;
mod fence;
mod graph;
mod journal;
mod landing;
mod load;
mod process;
mod rivals;
mod run_noop;
mod run_scale;
mod shapes;
pub(crate) mod spawn_floor;
mod start_up;
mod table;
mod transition_10k;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context as _;
pub(crate) use graph::PROGRAM;
pub(crate) use run_noop::SETTINGS;
use table::BenchTable;
pub(crate) use table::{Median, milliseconds};

/// Runs the named benchmarks, or all of them. With `--tasks N`, benchmarks of runs have that many tasks, for a quick look.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore prints to its user")]
pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        // The in-process benchmarks measure this binary, so it must be an optimised one.
        let status = Command::new(env!("CARGO"))
            .args([
                "run",
                "--quiet",
                "--profile",
                "bench",
                "--package",
                "chores",
                "--",
                "bench",
            ])
            .args(args)
            .status()?;
        anyhow::ensure!(status.success(), "the benchmark failed");
        return Ok(());
    }
    let (names, n_tasks) = names_and_size(args)?;
    type Bench = Box<dyn Fn() -> anyhow::Result<BenchTable>>;
    let sized = |bench: fn(usize) -> anyhow::Result<BenchTable>, usual: usize| -> Bench {
        Box::new(move || bench(n_tasks.unwrap_or(usual)))
    };
    let all: [(&str, Bench); 12] = [
        ("check-100k", Box::new(check_100k::run)),
        ("check-10k", Box::new(check_10k::run)),
        ("start-up", Box::new(start_up::run)),
        ("shapes", Box::new(shapes::run)),
        ("transition-10k", Box::new(transition_10k::run)),
        ("convert-10k", Box::new(convert_10k::run)),
        ("landing", Box::new(landing::run)),
        ("fence", Box::new(fence::run)),
        ("run-noop", sized(run_noop::run, 10_000)),
        ("journal", sized(journal::run, 1_024)),
        ("run-scale", sized(run_scale::run, 100_000)),
        ("load", sized(load::run, 100_000)),
    ];
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|(known, _)| known == *name)) {
        anyhow::bail!("unknown benchmark `{unknown}`");
    }
    let mut missed = Vec::new();
    for (name, bench) in all.iter().filter(|(name, _)| names.is_empty() || names.contains(name)) {
        eprintln!("running {name} …");
        let table = bench()?;
        println!("{table}");
        missed.extend(table.missed().map(|row| format!("{name}: {row}")));
    }
    for row in &missed {
        println!("target missed: {row}");
    }
    Ok(())
}

/// Returns the names of benchmarks, and the value of `--tasks`.
fn names_and_size<'a>(args: &[&'a str]) -> anyhow::Result<(Vec<&'a str>, Option<usize>)> {
    let Some(place) = args.iter().position(|arg| *arg == "--tasks") else {
        return Ok((args.to_vec(), None));
    };
    let number = args.get(place + 1).context("--tasks takes a number")?;
    let n_tasks: usize = number.parse().with_context(|| format!("`{number}` is not a number"))?;
    anyhow::ensure!(n_tasks > 0, "--tasks must be at least 1");
    let names = [args.get(..place), args.get(place + 2..)]
        .into_iter()
        .flatten()
        .flatten();
    Ok((names.copied().collect(), Some(n_tasks)))
}

/// Runs the command line in this process, then prints its peak memory in KiB to standard error.
#[expect(
    clippy::print_stderr,
    reason = "the answer is for the benchmark that started this process"
)]
pub(crate) fn measure(args: &[&str]) -> ExitCode {
    let mut own = vec![OsString::from("planwright")];
    own.extend(args.iter().map(OsString::from));
    let code = planwright::main(own);
    eprintln!("peak {}", peak_kib().unwrap_or(0));
    code
}

/// Returns the peak resident memory of this process, if the system reports it.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the peak memory of a check in MiB, measured in a separate process.
fn peak_of_check(path: &Path) -> anyhow::Result<f64> {
    let out = Command::new(std::env::current_exe()?)
        .args(["measure", "check"])
        .arg(path)
        .output()?;
    Ok(process::reported_peak(&String::from_utf8_lossy(&out.stderr))? / 1024.0)
}

/// Returns a folder for generated inputs, which is removed when dropped.
fn scratch() -> anyhow::Result<planwright_testkit::TempFolder> {
    Ok(planwright_testkit::TempFolder::new()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_option_may_be_in_any_position() {
        let expected = (vec!["journal", "run-noop"], Some(200));
        for args in [
            ["--tasks", "200", "journal", "run-noop"],
            ["journal", "--tasks", "200", "run-noop"],
            ["journal", "run-noop", "--tasks", "200"],
        ] {
            assert_eq!(names_and_size(&args).expect("sound"), expected);
        }
        assert_eq!(names_and_size(&["journal"]).expect("sound"), (vec!["journal"], None));
        for args in [["--tasks"].as_slice(), &["--tasks", "many"], &["--tasks", "0"]] {
            assert!(names_and_size(args).is_err(), "{args:?}");
        }
    }
}
