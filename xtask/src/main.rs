//! planwright's own chores. `cargo xtask` lists them.
//!
//! This program builds in a second, so that `cargo xtask test` starts quickly. It starts `chores` for everything that needs planwright.

mod test;

use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask test [FILTER]    everything CI runs: formatting, lints, licences, tests, documentation; installs git if it is missing
cargo xtask bench [NAME…]    benchmarks against floors and rivals: check-100k, check-10k, start-up, shapes, transition-10k,
                             convert-10k, landing, run-noop, journal, run-scale, load; --tasks N makes the last four smaller or larger
cargo xtask e2e [AGENT…]     real agents against a model on loopback: claude, codex, gemini, opencode, qwen; installs them with npm
                             into target/e2e, the one step that needs a network; --step NAME runs one of the steps
cargo xtask contend          sixteen writers, four runs and two editors in one workspace for three minutes; --seconds N, --seed N
cargo xtask rivals [NAME…]   the same work by other tools: task-master, backlog, taskgraph, openspec, dagu, ninja, make; installs
                             them into target/rivals, and writes docs/rivals.md if none is named
cargo xtask torture          faults at every step of the real binary: kills, torn writes, full disks, edits by other processes;
                             --faults N for a part of them, --only NAME, --seed S, --binary FILE; and the simulation, --seeds N (0: not)
cargo xtask fuzz [TARGET…]   arbitrary bytes as documents, plans, edits, answers, journals, output of agents, settings: a coverage-guided fuzzer
                             tests the laws of fuzz/ for a minute each; --seconds N; needs a C++ compiler
cargo xtask dist             build the binary that is shipped, with the `dist` profile, and print its path; takes minutes
cargo xtask picture          draw a real run for the README, as docs/first-run.svg
cargo xtask docs             write the generated pages of docs/";

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore prints to its user")]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args.as_slice() {
        ["test", rest @ ..] => test::run(rest),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        others => return start_chore(others),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Builds and runs `chores`, and returns its exit status.
#[expect(clippy::print_stderr, reason = "a chore prints to its user")]
fn start_chore(args: &[&str]) -> ExitCode {
    let chores = ["run", "--quiet", "--package", "chores", "--"];
    match Command::new(env!("CARGO")).args(chores).args(args).status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("error: could not start cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
