//! `cargo xtask fuzz`: runs the laws of `fuzz/` under a coverage-guided fuzzer, one target after another, and prints a table.
//!
//! libFuzzer is part of the crate `libfuzzer-sys`. It needs compiler flags that the stable compiler accepts (decision 0013).

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context as _;
use planwright_laws::TARGETS;
use planwright_testkit::TempFolder;

use xtask::needs;

/// How long each target runs by default.
const USUAL_SECONDS: u64 = 60;

/// Counts the edges that an input covers, and reports compared values to the fuzzer.
const FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    // As cargo-fuzz does: some crates disable code that would stop a fuzzer.
    "--cfg fuzzing",
    "-Ccodegen-units=1",
];

/// The bounds of one input: bytes, seconds, and memory of the process.
const BOUNDS: &[&str] = &["-max_len=4096", "-timeout=10", "-rss_limit_mb=2048"];

struct FuzzResult {
    target: &'static str,
    n_executions: u64,
    /// The number of edges reached by the seeds alone, and at the end.
    coverage: [u64; 2],
    seconds: u64,
    /// Inputs that broke a law or a bound.
    findings: Vec<PathBuf>,
    log: PathBuf,
}

/// Fuzzes the named targets, or all, for `--seconds N` each.
#[expect(clippy::print_stdout, reason = "a chore prints to its user")]
pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    let (targets, seconds) = parse_arguments(args)?;
    needs::cpp_compiler()?;
    let folder = folder();
    let binary = build(&folder)?;
    let mut all = Vec::new();
    for target in targets {
        println!("── {target}");
        all.push(fuzz_target(&binary, &folder, target, seconds)?);
    }
    println!("\n{}", table(&all));
    let n_findings: usize = all.iter().map(|result| result.findings.len()).sum();
    for result in all.iter().filter(|result| !result.findings.is_empty()) {
        for finding in &result.findings {
            println!(
                "{}: {}\n  output in {}",
                result.target,
                finding.display(),
                result.log.display()
            );
        }
    }
    anyhow::ensure!(n_findings == 0, "{n_findings} inputs broke a law");
    Ok(())
}

fn parse_arguments(args: &[&str]) -> anyhow::Result<(Vec<&'static str>, u64)> {
    let mut targets = Vec::new();
    let mut seconds = USUAL_SECONDS;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if *arg == "--seconds" {
            let word = rest.next().context("--seconds takes a number")?;
            seconds = word.parse().with_context(|| format!("`{word}` is not a number"))?;
            continue;
        }
        let known = all_targets().find(|target| target == arg);
        let all = || all_targets().collect::<Vec<_>>().join(", ");
        targets.push(known.with_context(|| format!("unknown target `{arg}`. Known targets: {}", all()))?);
    }
    if targets.is_empty() {
        targets = all_targets().collect();
    }
    Ok((targets, seconds))
}

fn all_targets() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|(name, _)| *name)
}

/// Returns the folder for everything that this chore writes: the build, new inputs, logs, findings.
fn folder() -> PathBuf {
    let usual = || planwright_testkit::repository().join("target");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(usual, PathBuf::from);
    std::path::absolute(target.join("fuzz")).unwrap_or(target)
}

/// Builds the targets, which are one binary, and returns its path.
fn build(folder: &Path) -> anyhow::Result<PathBuf> {
    let host = host()?;
    let root = planwright_testkit::repository();
    // Use the versions of the workspace; cargo adds the missing ones.
    std::fs::copy(root.join("Cargo.lock"), root.join("fuzz/Cargo.lock"))?;
    let status = Command::new(env!("CARGO"))
        .current_dir(root.join("fuzz"))
        // If a target is named, cargo builds build scripts and macros without the flags.
        .args(["build", "--release", "--target", &host])
        .env("CARGO_TARGET_DIR", folder)
        .env("RUSTFLAGS", FLAGS.join(" "))
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()?;
    anyhow::ensure!(status.success(), "the build failed");
    Ok(folder.join(host).join("release/planwright-fuzz"))
}

fn host() -> anyhow::Result<String> {
    let out = Command::new("rustc")
        .arg("-vV")
        .output()
        .context("rustc could not be started")?;
    let text = String::from_utf8_lossy(&out.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc prints no host")?.to_owned())
}

/// Fuzzes one target, committed seeds first. New inputs stay outside the repository.
fn fuzz_target(binary: &Path, folder: &Path, target: &'static str, seconds: u64) -> anyhow::Result<FuzzResult> {
    let repository = planwright_testkit::repository();
    let seeds = repository.join("fuzz/corpus").join(target);
    let (corpus, findings) = (folder.join("corpus").join(target), folder.join("findings").join(target));
    let log = folder.join("logs").join(format!("{target}.log"));
    for folder in [&corpus, &findings, &folder.join("logs")] {
        std::fs::create_dir_all(folder).with_context(|| format!("{} could not be created", folder.display()))?;
    }
    // The fuzzer exits without cleaning up, so that temporary files of the targets remain.
    let temporary = TempFolder::in_memory()?;
    let before = names(&findings);
    let begun = Instant::now();
    let mut child = Command::new(binary)
        .env("PLANWRIGHT_FUZZ_TARGET", target)
        .env("TMPDIR", temporary.path())
        .args(BOUNDS)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", findings.display()))
        .arg(format!("-dict={}", repository.join("fuzz/pieces.dict").display()))
        .args([&corpus, &seeds])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} does not start", binary.display()))?;
    let mut result = FuzzResult {
        target,
        n_executions: 0,
        coverage: [0; 2],
        seconds: 0,
        findings: Vec::new(),
        log: log.clone(),
    };
    let mut kept = std::fs::File::create(&log)?;
    for line in BufReader::new(child.stderr.take().context("it has a standard error")?).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        writeln!(kept, "{line}")?;
        result.read_line(&line);
    }
    let status = child.wait()?;
    result.seconds = begun.elapsed().as_secs();
    result.findings = names(&findings)
        .into_iter()
        .filter(|name| !before.contains(name))
        .collect();
    let is_explained = status.success() || !result.findings.is_empty();
    anyhow::ensure!(is_explained, "{target} ended with {status}: see {}", log.display());
    Ok(result)
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

impl FuzzResult {
    /// Parses a line of the fuzzer's output: `#1024 NEW cov: 310 ft: 500 …`.
    fn read_line(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix('#') else { return };
        let mut words = rest.split_ascii_whitespace();
        if let Some(n_executions) = words.next().and_then(|word| word.parse().ok()) {
            self.n_executions = n_executions;
        }
        let event = words.next();
        if let Some(found) = words
            .skip_while(|word| *word != "cov:")
            .nth(1)
            .and_then(|word| word.parse().ok())
        {
            self.coverage[1] = found;
            if event == Some("INITED") {
                self.coverage[0] = found;
            }
        }
    }
}

fn table(all: &[FuzzResult]) -> String {
    let mut out = String::from(
        "| Target | Executions | Edges at start | Edges at end | Seconds | Findings |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for result in all {
        let [start, end] = result.coverage;
        out.push_str(&format!(
            "| {} | {} | {start} | {end} | {} | {} |\n",
            result.target,
            result.n_executions,
            result.seconds,
            result.findings.len()
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_the_fuzzer_is_parsed() {
        let mut result = FuzzResult {
            target: "documents",
            n_executions: 0,
            coverage: [0; 2],
            seconds: 0,
            findings: Vec::new(),
            log: PathBuf::new(),
        };
        for line in [
            "INFO: Seed: 12",
            "#31\tINITED cov: 1200 ft: 3400 corp: 30/12Kb exec/s: 0 rss: 60Mb",
            "#900\tNEW    cov: 1300 ft: 3500 corp: 31/12Kb lim: 4096 exec/s: 0 rss: 61Mb L: 9/99 MS: 1 CMP-",
            "#5000\tDONE   cov: 1400 ft: 3600 corp: 32/12Kb lim: 4096 exec/s: 50 rss: 61Mb",
        ] {
            result.read_line(line);
        }
        assert_eq!((result.n_executions, result.coverage), (5000, [1200, 1400]));
    }

    #[test]
    fn targets_and_seconds_are_understood() {
        assert_eq!(parse_arguments(&[]).expect("all").0.len(), TARGETS.len());
        let named = parse_arguments(&["config", "--seconds", "5", "agents"]).expect("two");
        assert_eq!(named, (vec!["config", "agents"], 5));
        for wrong in [&["--seconds"][..], &["--seconds", "x"], &["unknown"]] {
            assert!(parse_arguments(wrong).is_err(), "{wrong:?}");
        }
    }
}
