//! `planwright schema DIALECT`: prints the JSON Schema of a dialect.

use planwright_core::dialect::DIALECTS;

use super::exit::Exit;
use super::output::Output;
use super::plan_arg::{dialect_named, dialect_names};
use crate::render::json::DialectsReport;

/// Print the JSON Schema of a dialect, or list the dialects.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright schema                     the dialects, and their folders
  planwright schema clido > clido.schema.json")]
pub(crate) struct Args {
    /// The dialect that is meant.
    #[arg(value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    /// Print JSON: the list of the dialects, too. A schema is JSON in any case.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    match &args.dialect {
        Some(name) => output.write(dialect_named(name)?.schema()),
        None if args.json => output.json(&DialectsReport::new(DIALECTS))?,
        None => {
            for dialect in DIALECTS {
                output.line(&format!(
                    "{:10}  {:22}  {}",
                    dialect.name(),
                    dialect.title(),
                    dialect.places().join(", ")
                ));
            }
        }
    }
    Ok(Exit::Success)
}
