//! `planwright schema DIALECT`: prints the JSON Schema of a dialect.

use planwright_verbs::schema::{SchemaReport, SchemaRequest, schema};

use super::plan_arg::dialect_names;
use super::{Exit, Output, Result};

/// Print the JSON Schema of a dialect, or list the dialects.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright schema                     the dialects, and their folders
  planwright schema clido > clido.schema.json")]
pub(crate) struct Args {
    /// The dialect. Default: list the dialects.
    #[arg(value_name = "DIALECT", value_parser = dialect_names())]
    dialect: Option<String>,

    /// Print the list of dialects as JSON. A schema is always JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let request = SchemaRequest {
        dialect: args.dialect.clone(),
    };
    let report = schema(&output.workspace(), &request)?;
    match &report {
        SchemaReport::Schema(schema) => output.line(schema.get()),
        SchemaReport::Dialects(_) if args.json => output.json(&report)?,
        SchemaReport::Dialects(report) => {
            for dialect in &report.dialects {
                let places = dialect.places.join(", ");
                output.line(&format!("{:10}  {:22}  {places}", dialect.name, dialect.title));
            }
        }
    }
    Ok(Exit::Success)
}
