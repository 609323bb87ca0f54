//! `planwright man [VERB]`: prints manual pages.

use clap_mangen::Man;
use planwright_verbs::text::one_line;

use super::{Exit, Failure, Output, Result};

/// Print a manual page: of planwright, or of one verb.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright man | man -l -
  planwright man check > /usr/local/share/man/man1/planwright-check.1
  planwright man tasks derive | man -l -")]
pub(crate) struct Args {
    /// The verb, as `run` or `tasks derive`.
    #[arg(value_name = "VERB")]
    verb: Vec<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let mut command = super::command(super::Listed::All);
    command.build();
    let mut found = &command;
    for verb in &args.verb {
        let inner = found.find_subcommand(verb);
        found = inner.ok_or_else(|| {
            Failure::usage(
                format!("there is no verb `{}`", one_line(&args.verb.join(" "))),
                "`planwright --help` lists the verbs",
            )
        })?;
    }
    let name = args
        .verb
        .iter()
        .fold("planwright".to_owned(), |name, verb| format!("{name}-{verb}"));
    let command = found
        .clone()
        .name(name.leak() as &'static str)
        .version(env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::environment(&error, ""))?;
    output.write_bytes(&page);
    Ok(Exit::Success)
}
