//! The planwright binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    planwright::main(std::env::args_os().collect())
}
