//! `planwright init`: a workspace begins.

use std::path::{Path, PathBuf};

use planwright_run::config::presets::PRESET_NAMES;
use planwright_run::place::{CONFIG_FILE, IGNORE};
use planwright_run::programs::program;
use planwright_run::setup::{self, SetupError};
use planwright_run::workspace::{plans_at_home, root_of};
use serde::Serialize;

use super::catalogue::from_here;
use super::exit::{Exit, Failure};
use super::output::Output;
use crate::render::diff::unified_diff;
use crate::render::terminal::one_line;

/// Make a folder the root of a workspace, with a `planwright.toml`.
///
/// Makes `.planwright` as well, and says which agents and plans are there. A `planwright.toml` that is there already is never
/// overwritten.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  planwright init
  planwright init services/billing")]
pub(crate) struct Args {
    /// The folder, which must be there.
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// Write nothing; say what would be done.
    #[arg(long)]
    dry_run: bool,

    /// Show what would be written as a diff against nothing, and write nothing.
    #[arg(long)]
    diff: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Args {
    fn is_dry(&self) -> bool {
        self.dry_run || self.diff
    }
}

/// What a new configuration file says: comments, with settings that hold once their `#` is removed.
const CONFIG: &str = r##"# planwright.toml: the root of a workspace, and its settings.
#
# This folder is where planwright begins to look for plans (`planwright list`), where paths inside of task packs begin, and
# where `.planwright` lies: the history of the plans, their archive and their trash. Git ignores that folder; this file belongs
# under version control.
#
# Remove the `#` in front of a setting to make it. Your own file, ~/.config/planwright/config.toml, has the same settings; this
# one wins over it. `planwright config` shows what holds and why, docs/configuration.md describes every setting.

# Agents: `planwright agents` lists those that are known and found. A known one needs no table of its own; this changes one:
#[agents.claude]
#args = ["--model", "opus"]

# And this is one of your own. The prompt is on its standard input, unless `{prompt_file}` stands in the command.
#[agents.mine]
#command = ["my-agent", "--task", "{task}", "{prompt_file}"]
#env = ["MY_API_KEY"]

#[run]
#agent = "claude"
#slots = 2
#attempts = 2
#wall_limit = "1h"
#silence_limit = "15m"
#budget = { cost = 20.0 }
#isolation = "auto"

# Another agent for tasks of a type.
#[run.types]
#documentation = "mine"

# A task is done when its agent says so and these succeed. A list of words is a command; a string is a line for the shell.
#[verify]
#every = [["cargo", "test"], "cargo fmt --check"]
#timeout = "10m"

#[[verify.criteria]]
#text = "Typecheck passes"
#run = [["cargo", "check"]]

# When a run ends.
#[notify]
#command = ["notify-send", "planwright", "The run is over."]
"##;

/// The version of `init --json`.
const VERSION: &str = "planwright.init/v1";

#[derive(Serialize)]
struct Report {
    schema_version: &'static str,
    root: String,
    /// The files that were written; empty with `--dry-run` and `--diff`.
    written: Vec<String>,
    agents: Vec<Agent>,
    plans: Vec<String>,
    /// With `--diff`: what would be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// An agent command line on the search path.
#[derive(Serialize)]
struct Agent {
    name: &'static str,
    path: String,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    if !args.folder.is_dir() {
        return Err(Failure::outside(
            format!("`{}` is not a folder", args.folder.display()),
            "name a folder that is there",
        ));
    }
    let outer = root_of(&args.folder);
    begin(args)?;
    let folder = std::path::absolute(&args.folder).unwrap_or_else(|_| args.folder.clone());
    let files = [CONFIG_FILE, ".planwright/.gitignore"].map(|name| shown(&folder.join(name)));
    let agents = PRESET_NAMES.iter().filter_map(|&name| {
        let path = program(name)?.to_string_lossy().into_owned();
        Some(Agent { name, path })
    });
    let report = Report {
        schema_version: VERSION,
        root: shown(&folder),
        written: if args.is_dry() { Vec::new() } else { files.to_vec() },
        agents: agents.collect(),
        plans: plans_at_home(&folder).iter().map(|path| shown(path)).collect(),
        diff: args.diff.then(|| {
            let texts = files.iter().zip([CONFIG, IGNORE]);
            texts.map(|(file, text)| unified_diff(file, "", text)).collect()
        }),
    };
    if args.json {
        output.json(&report)?;
    } else if let Some(diff) = &report.diff {
        output.write_exact(diff);
    } else {
        say(args, &files, &report, output);
    }
    if is_nested(&outer, &folder) {
        output.remark(&format!(
            "this folder is a workspace of its own now, inside of that of {}",
            one_line(&outer.to_string_lossy())
        ));
    }
    Ok(Exit::Success)
}

fn begin(args: &Args) -> anyhow::Result<()> {
    let begun = match args.is_dry() {
        true => match args.folder.join(CONFIG_FILE) {
            path if path.is_symlink() || path.exists() => Err(SetupError::Exists { path }),
            _ => Ok(()),
        },
        false => setup::begin(&args.folder, CONFIG),
    };
    begun.map_err(|error| match &error {
        SetupError::Exists { .. } => Failure::problem(error.to_string(), error.help()),
        SetupError::Io { .. } | SetupError::NotConfirmed { .. } => Failure::environment(&error, error.help()),
    })
}

/// Returns true where there was a workspace around the folder, with a configuration or a history of its own.
fn is_nested(outer: &Path, folder: &Path) -> bool {
    outer != folder
        && [CONFIG_FILE, ".planwright"]
            .iter()
            .any(|name| outer.join(name).exists())
}

fn shown(path: &Path) -> String {
    match from_here(path) {
        path if path.as_os_str().is_empty() => ".".to_owned(),
        path => path.to_string_lossy().into_owned(),
    }
}

fn say(args: &Args, files: &[String], report: &Report, output: &mut Output) {
    let verb = if args.dry_run { "would write" } else { "wrote" };
    for file in files {
        output.line(&format!("{verb} {}", one_line(file)));
    }
    let names: Vec<&str> = report.agents.iter().map(|agent| agent.name).collect();
    output.line(&match names.as_slice() {
        [] => format!("no agents on the PATH; known are {}", PRESET_NAMES.join(", ")),
        names => format!("agents on the PATH: {}", names.join(", ")),
    });
    match report.plans.as_slice() {
        [] => output.line("no plans yet"),
        plans => {
            let n = plans.len();
            output.line(&format!("{n} {}:", if n == 1 { "plan" } else { "plans" }));
            for plan in plans {
                output.line(&format!("  {}", one_line(plan)));
            }
        }
    }
}
