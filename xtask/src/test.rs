//! Everything CI runs, the fastest checks first.

use std::process::Command;

use xtask::needs;

/// Runs all checks; a filter runs only the tests whose names contain it.
#[expect(clippy::print_stdout, reason = "a chore prints to its user")]
pub(crate) fn run(filter: &[&str]) -> anyhow::Result<()> {
    needs::git()?;
    needs::toolchains();
    needs::shells();
    if !filter.is_empty() {
        return cargo(
            &[&["test", "--workspace", "--"], filter].concat(),
            &[(TEST_THREADS, &test_threads())],
        );
    }
    println!("── formatting");
    cargo(&["fmt", "--all", "--check"], &[])?;
    println!("── lints");
    cargo(
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    )?;
    println!("── documentation");
    cargo(
        &[
            "doc",
            "--workspace",
            "--no-deps",
            "--locked",
            "--document-private-items",
            "--quiet",
        ],
        &[("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links")],
    )?;
    println!("── tests");
    // A failure in one crate does not skip the tests of the others.
    cargo(
        &["test", "--workspace", "--locked", "--no-fail-fast"],
        &[(TEST_THREADS, &test_threads())],
    )
}

/// The environment variable for the number of parallel tests.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// Returns the number of parallel tests: more than cores, since most tests wait for processes.
fn test_threads() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::env::var(TEST_THREADS).unwrap_or_else(|_| (4 * cores).min(64).to_string())
}

fn cargo(args: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<()> {
    let status = Command::new(env!("CARGO"))
        .args(args)
        .envs(environment.iter().copied())
        .status()?;
    anyhow::ensure!(status.success(), "`cargo {}` failed", args.join(" "));
    Ok(())
}
