//! `planwright tasks …`: task packs from source plans, and the cards of packs.

mod cards;
mod derive;
mod regenerate;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Subcommand;
use planwright_verbs::planning::SourceFindings;

use super::{Exit, Output, Result, hash, say};
use crate::compat;
use crate::render::findings::{FindingsSource, findings};

/// Derive task packs from source plans, rebuild them, fix cards.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright tasks derive docs/plans/2026-05-11-004-feat-photos-plan.md
  planwright tasks regenerate docs/tasks/2026-05-11-004-feat-photos-tasks.md
  planwright tasks cards docs/tasks/2026-05-11-feat-photos-tasks.md --check")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: TasksVerb,
}

#[derive(Subcommand)]
enum TasksVerb {
    Derive(derive::Args),
    Regenerate(regenerate::Args),
    Validate(ValidateArgs),
    Hash(hash::Args),
    Cards(cards::Args),
}

/// Check a pack, as `spec-first tasks validate` does.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright tasks validate docs/tasks/2026-05-11-004-feat-photos-tasks.md")]
struct ValidateArgs {
    /// The task pack.
    #[arg(value_name = "PACK")]
    pack: PathBuf,

    /// The root of the repository. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    match &args.verb {
        TasksVerb::Derive(args) => derive::run(args, output),
        TasksVerb::Regenerate(args) => regenerate::run(args, output),
        TasksVerb::Validate(args) => Ok(validate(args, output)),
        TasksVerb::Hash(args) => hash::run(args, output),
        TasksVerb::Cards(args) => cards::run(args, output),
    }
}

/// Draws the warnings about a pack.
fn draw_warnings(found: &SourceFindings, output: &mut Output) {
    let text = findings(
        &found.path.to_string_lossy(),
        &found.source,
        &found.findings,
        FindingsSource::OwnReport,
        output.stderr_paint(),
        output.width(),
    );
    if !output.is_quiet() {
        output.note(&text);
    }
}

fn validate(args: &ValidateArgs, output: &mut Output) -> Exit {
    let mut original: Vec<OsString> = ["tasks", "validate"].map(OsString::from).to_vec();
    original.extend(args.json.then(|| "--json".into()));
    if let Some(repo) = &args.repo {
        let mut option = OsString::from("--repo=");
        option.push(repo);
        original.push(option);
    }
    // A name that begins with a hyphen would be an option of the original.
    let is_odd = args.pack.as_os_str().as_encoded_bytes().starts_with(b"-");
    original.push(match is_odd {
        true => PathBuf::from(".").join(&args.pack).into_os_string(),
        false => args.pack.clone().into_os_string(),
    });
    say(&compat::spec_first::run(&original), output)
}
