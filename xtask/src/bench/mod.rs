//! Benchmarks: each measures a floor or a rival in the same run, interleaved, and reports ratios.

mod check_100k;
mod check_10k;
mod convert_10k;
mod shapes;
mod start_up;
mod table;
mod transition_10k;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use table::Table;

/// Runs the named benchmarks, or all of them.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to its user")]
pub(crate) fn run(names: &[&str]) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        // The in-process benchmarks measure this very binary, so it must be an optimised one.
        let status = Command::new(env!("CARGO"))
            .args([
                "run",
                "--quiet",
                "--profile",
                "bench",
                "--package",
                "xtask",
                "--",
                "bench",
            ])
            .args(names)
            .status()?;
        anyhow::ensure!(status.success(), "the benchmark failed");
        return Ok(());
    }
    type Bench = fn() -> anyhow::Result<Table>;
    let all: [(&str, Bench); 6] = [
        ("check-100k", check_100k::run),
        ("check-10k", check_10k::run),
        ("start-up", start_up::run),
        ("shapes", shapes::run),
        ("transition-10k", transition_10k::run),
        ("convert-10k", convert_10k::run),
    ];
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|(known, _)| known == *name)) {
        anyhow::bail!("there is no benchmark `{unknown}`");
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

/// Returns the peak resident memory of this process, where the system says.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the peak memory of a check in MiB, measured in a process of its own.
fn peak_of_check(path: &Path) -> anyhow::Result<f64> {
    let out = Command::new(std::env::current_exe()?)
        .args(["measure", "check"])
        .arg(path)
        .output()?;
    let text = String::from_utf8_lossy(&out.stderr);
    let line = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("peak "))
        .context("no peak was reported")?;
    Ok(line.parse::<f64>()? / 1024.0)
}

/// Builds the shipped binary and returns its path.
fn release_binary() -> anyhow::Result<PathBuf> {
    let out = Command::new(env!("CARGO"))
        .args(["build", "--release", "--package", "planwright", "--message-format=json"])
        .stderr(std::process::Stdio::inherit())
        .output()?;
    anyhow::ensure!(out.status.success(), "the release build failed");
    let text = String::from_utf8_lossy(&out.stdout);
    let executable = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|message| {
            let is_ours = message["target"]["name"] == "planwright";
            message["executable"].as_str().filter(|_| is_ours).map(PathBuf::from)
        });
    executable.context("cargo named no executable")
}

/// Returns a folder for generated inputs that lives as long as the benchmark.
fn scratch() -> anyhow::Result<planwright_testkit::TempFolder> {
    Ok(planwright_testkit::TempFolder::new()?)
}
