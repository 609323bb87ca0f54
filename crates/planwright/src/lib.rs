//! planwright: one engine for the plans that AI coding agents work from.
//!
//! This crate is the command line and a façade for programs. It has views only: [`core`] decides what a plan means, and [`run`]
//! does the IO.
//!
//! ```
//! use planwright::core::dialect::{Choice, DIALECTS, DiskFacts};
//! use planwright::core::inspect::inspect;
//! use planwright::core::text::SourceText;
//!
//! let text = SourceText::new(r#"{"goal": "Try it", "tasks": [{"id": "t1", "description": "Read", "depends_on": ["t2"]}]}"#);
//! let facts = DiskFacts::default();
//! let found = inspect(&text, &Choice { dialects: DIALECTS, forced: None, path: None, facts: &facts });
//! assert_eq!(found.dialect_name(), Some("clido"));
//! assert_eq!(found.diagnostics[0].rule.id, "unknown-dependency");
//! ```

pub use planwright_core as core;
pub use planwright_run as run;

mod cli;
mod compat;
mod render;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command line and returns its exit code.
pub fn main(args: Vec<OsString>) -> ExitCode {
    cli::main(args)
}

/// Returns the definition of the command line, for man pages and documentation.
pub fn command() -> clap::Command {
    cli::command(cli::Listed::All)
}
