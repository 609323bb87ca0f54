//! `planwright schema DIALECT`: the JSON Schema of a dialect, for editors.

use planwright_core::dialect::DIALECTS;

use super::exit::Exit;
use super::output::Output;
use super::plan_arg::dialect_named;
use crate::render::wire::DialectsReport;

/// Print the JSON Schema of a dialect; without one, list the dialects.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The dialect.
    #[arg(value_name = "DIALECT")]
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
