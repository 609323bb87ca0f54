//! `planwright completions SHELL`: prints the completion script of a shell.

use clap_complete::Shell;
use planwright_verbs::face::{Exit, Result};

use super::completion_scripts::{BASH, FISH, POWERSHELL, ZSH};
use super::output::Output;

/// Print a completion script for a shell.
///
/// Verbs, options, plans, tasks, runs and agents are completed; in elvish, verbs and options.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  echo 'source <(planwright completions bash)' >> ~/.bashrc
  planwright completions zsh > ~/.zfunc/_planwright
  planwright completions fish > ~/.config/fish/completions/planwright.fish
  planwright completions powershell >> $PROFILE")]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let script = match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        Shell::PowerShell => POWERSHELL,
        shell => {
            let mut script = Vec::new();
            clap_complete::generate(
                shell,
                &mut super::command(super::Listed::All),
                "planwright",
                &mut script,
            );
            output.write_bytes(&script);
            return Ok(Exit::Success);
        }
    };
    output.write_bytes(script.as_bytes());
    Ok(Exit::Success)
}
