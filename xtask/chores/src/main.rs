//! The chores that need planwright itself. `cargo xtask` lists and starts them.

mod bench;
mod built;
mod contend;
mod docs;
mod e2e;
mod fuzz;
#[cfg(test)]
mod licences;
mod picture;
mod rivals;
mod torture;

use std::process::ExitCode;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore prints to its user")]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args.as_slice() {
        ["bench", rest @ ..] => bench::run(rest),
        ["e2e", rest @ ..] => e2e::run(rest),
        ["contend", rest @ ..] => contend::run(rest),
        ["rivals", rest @ ..] => rivals::run(rest),
        ["torture", rest @ ..] => torture::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["dist"] => built::shipped().map(|path| println!("{}", path.display())),
        ["picture"] => picture::draw(),
        ["docs"] => docs::write(),
        // Runs the command line in this process and prints its peak memory.
        ["measure", rest @ ..] => return bench::measure(rest),
        // The floor of the benchmarks of runs, in a separate process.
        ["spawn-floor", rest @ ..] => bench::spawn_floor::run(rest),
        other => Err(anyhow::anyhow!(
            "unknown chore `{}`. `cargo xtask` lists them",
            other.join(" ")
        )),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
