//! `planwright completions SHELL`.

use clap_complete::Shell;

use super::exit::Exit;
use super::help::Listed;
use super::output::Output;

/// Print a completion script for a shell.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright completions bash > ~/.local/share/bash-completion/completions/planwright
  planwright completions zsh > ~/.zfunc/_planwright
  planwright completions fish > ~/.config/fish/completions/planwright.fish")]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(Listed::All), "planwright", &mut script);
    output.write_bytes(&script);
    Ok(Exit::Success)
}
