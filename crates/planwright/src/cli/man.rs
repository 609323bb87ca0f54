//! `planwright man [VERB]`: manual pages.

use clap_mangen::Man;

use super::exit::{Exit, Failure};
use super::output::Output;

/// Print a manual page: of planwright, or of one verb.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright man | man -l -
  planwright man check > /usr/local/share/man/man1/planwright-check.1")]
pub(crate) struct Args {
    /// The verb.
    #[arg(value_name = "VERB")]
    verb: Option<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let mut command = super::command();
    command.build();
    let command = match &args.verb {
        None => command,
        Some(verb) => {
            let found = command.find_subcommand(verb).cloned();
            let found =
                found.ok_or_else(|| Failure::usage(format!("there is no verb `{verb}`"), "see planwright --help"))?;
            found.name(format!("planwright-{verb}").leak() as &'static str)
        }
    };
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    output.write(&String::from_utf8_lossy(&page));
    Ok(Exit::Success)
}
