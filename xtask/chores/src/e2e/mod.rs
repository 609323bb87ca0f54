//! Real agents, end to end: their command lines, as they are published, work through plans against a model on loopback.
//!
//! Only their installation needs a network. What the model says is in `story` and `planning_story`, how each agent is driven in `clis`.

mod clis;
mod install;
mod planning_steps;
mod planning_story;
mod steps;
mod story;
mod table;
mod workspace;

use std::path::PathBuf;

use anyhow::Context as _;
use clis::{CLIS, Cli};
use planwright_testkit::model_server::ModelServer;
use table::Table;

/// Runs the named agents, or all of them, through all steps or those named with `--step`, and prints what came of each.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to its user")]
pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    let (names, steps) = sorted(args)?;
    let chosen = chosen(&names)?;
    xtask::needs::git()?;
    let scratch = target_folder()?.join("e2e");
    let binary = crate::built::binary(&[])?;
    let server = ModelServer::start()?;
    let mut table = Table::default();
    for cli in chosen {
        eprintln!("── {} {}", cli.name, cli.version);
        let bin = install::installed(cli, &scratch)?;
        let trial = steps::Trial {
            cli,
            binary: &binary,
            bin: &bin,
            server: &server,
            folder: scratch.join("work").join(cli.name),
            only: &steps,
        };
        trial.run(&mut table)?;
    }
    println!("{table}");
    anyhow::ensure!(table.n_failed() == 0, "{} failed", table.n_failed());
    Ok(())
}

/// Returns the agents and the steps that the arguments name.
fn sorted<'a>(args: &[&'a str]) -> anyhow::Result<(Vec<&'a str>, Vec<&'a str>)> {
    let (mut names, mut steps) = (Vec::new(), Vec::new());
    let mut args = args.iter().copied();
    while let Some(arg) = args.next() {
        match arg {
            "--step" => steps.push(args.next().context("name a step after --step")?),
            name => names.push(name),
        }
    }
    Ok((names, steps))
}

fn chosen(names: &[&str]) -> anyhow::Result<Vec<&'static Cli>> {
    if names.is_empty() {
        return Ok(CLIS.iter().collect());
    }
    let find = |name: &&str| {
        let known: Vec<&str> = CLIS.iter().map(|cli| cli.name).collect();
        let found = CLIS.iter().find(|cli| cli.name == *name);
        found.with_context(|| format!("there is no agent `{name}` here: {}", known.join(", ")))
    };
    names.iter().map(find).collect()
}

/// Returns cargo's folder, which has one in it for everything that is installed and made here.
pub(crate) fn target_folder() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let target = own
        .ancestors()
        .nth(2)
        .context("this program lies in no folder of cargo's")?;
    Ok(target.to_owned())
}
