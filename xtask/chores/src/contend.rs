//! `cargo xtask contend`: sixteen writers, four runs, two editors and readers in one workspace for minutes, then their report.

use std::time::Duration;

use anyhow::Context as _;
use planwright_testkit::contention::{Contest, N_WRITERS};

/// Runs the contest for `--seconds N` with the random seed `--seed N`.
#[expect(clippy::print_stdout, reason = "a chore prints to its user")]
pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    let number = |name: &str, usual: u64| match args.iter().position(|arg| *arg == name) {
        None => anyhow::Ok(usual),
        Some(place) => {
            let word = args.get(place + 1).with_context(|| format!("{name} takes a number"))?;
            word.parse().with_context(|| format!("`{word}` is not a number"))
        }
    };
    let (seconds, seed) = (number("--seconds", 180)?, number("--seed", 1)?);
    let (_kept, binary) = crate::built::copy(&["--release"])?;
    println!("{N_WRITERS} writers, 4 runs, 2 editors and 2 readers in one workspace for {seconds} s, seed {seed}\n");
    let account = Contest {
        binary: &binary,
        duration: Duration::from_secs(seconds),
        seed,
    }
    .run()?;
    println!("{account}");
    anyhow::ensure!(account.is_clean(), "seed {seed}: something was lost, see above");
    Ok(())
}
