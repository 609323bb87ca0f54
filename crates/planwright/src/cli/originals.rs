//! The command lines of the original tools: `spec-first`, `aimi-cli` and `clido`, by the first word or by a link to the binary.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory as _;

use super::output::{ColorChoice, Form};
use super::{Cli, Exit, Output};
use crate::compat;

/// The arguments of an original's command line, which are its own to parse.
#[derive(clap::Args)]
pub(super) struct OriginalArgs {
    /// What the original takes.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, num_args = 0..)]
    pub(super) args: Vec<OsString>,
}

/// Returns the planwright command for `clido plan run <id>`.
pub(super) fn clido_run(args: &[OsString]) -> Option<Vec<OsString>> {
    let (own, rest) = args.split_first()?;
    let is_clido = Path::new(own).file_stem()? == "clido";
    match rest.split_first() {
        _ if is_clido => compat::clido::as_run(rest, takes_value),
        Some((verb, behind)) if verb == "clido" => compat::clido::as_run(behind, takes_value),
        _ => None,
    }
}

/// Returns whether an argument is an option of `planwright run` whose value is the next argument.
fn takes_value(word: &str) -> bool {
    let cli = Cli::command();
    let run = cli.find_subcommand("run");
    let mut options = run.into_iter().chain([&cli]).flat_map(clap::Command::get_opts);
    options.any(|option| {
        let long = option.get_long().map(|long| format!("--{long}"));
        let short = option.get_short().map(|short| format!("-{short}"));
        option.get_action().takes_values() && [long, short].contains(&Some(word.to_owned()))
    })
}

/// Runs an original's command line: named by the first argument, or by a link to the binary.
pub(super) fn original_exit(args: &[OsString]) -> Option<ExitCode> {
    let (own, rest) = args.split_first()?;
    let (verb, behind) = rest
        .split_first()
        .map_or((None, rest), |(verb, behind)| (verb.to_str(), behind));
    let answer = match (Path::new(own).file_stem()?.to_str(), verb) {
        (Some("spec-first"), _) => compat::spec_first::run(rest),
        (Some("aimi-cli"), _) => compat::aimi_cli::run(rest, Some(own)),
        (_, Some("spec-first")) => compat::spec_first::run(behind),
        (_, Some("aimi-cli")) => compat::aimi_cli::run(behind, None),
        (_, Some("clido")) => compat::clido::run(behind),
        _ => return None,
    };
    let mut output = Output::new(ColorChoice::Never, false, Form::Text);
    let exit = say(&answer, &mut output);
    Some(ExitCode::from(output.finish(exit) as u8))
}

/// Prints the original's output, byte for byte for programs; at a terminal, without control sequences in a plan's text.
pub(super) fn say(answer: &compat::Answer, output: &mut Output) -> Exit {
    output.write_exact(&answer.stdout);
    output.note_exact(&answer.stderr);
    Exit::of(answer.status)
}
