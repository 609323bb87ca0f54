//! Real agents, end to end: their published command lines run plans against a model on loopback.
//!
//! Only their installation needs a network. `model_answers` and `planning_answers` have the model's answers, `clis` the agents.

mod clis;
mod install;
mod model_answers;
mod planning_answers;
mod planning_steps;
mod steps;
mod table;
mod workspace;

use std::path::PathBuf;

use anyhow::Context as _;
use clis::{AGENT_CLIS, AgentCli};
use planwright_testkit::model_server::ModelServer;
use table::TrialTable;

/// Runs the named agents, or all of them, through all steps or those named with `--step`, and prints each result.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore prints to its user")]
pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    let (names, steps) = parse_arguments(args)?;
    let chosen = chosen(&names)?;
    xtask::needs::git()?;
    let scratch = target_folder()?.join("e2e");
    let binary = crate::built::binary(&[])?;
    let server = ModelServer::start()?;
    let mut table = TrialTable::default();
    for cli in chosen {
        eprintln!("── {} {}", cli.name, cli.version);
        let bin = install::installed(cli, &scratch)?;
        let trial = steps::AgentTrial {
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
fn parse_arguments<'a>(args: &[&'a str]) -> anyhow::Result<(Vec<&'a str>, Vec<&'a str>)> {
    let (mut names, mut steps) = (Vec::new(), Vec::new());
    let mut args = args.iter().copied();
    while let Some(arg) = args.next() {
        match arg {
            "--step" => steps.push(args.next().context("--step takes the name of a step")?),
            name => names.push(name),
        }
    }
    Ok((names, steps))
}

fn chosen(names: &[&str]) -> anyhow::Result<Vec<&'static AgentCli>> {
    if names.is_empty() {
        return Ok(AGENT_CLIS.iter().collect());
    }
    let find = |name: &&str| {
        let known: Vec<&str> = AGENT_CLIS.iter().map(|cli| cli.name).collect();
        let found = AGENT_CLIS.iter().find(|cli| cli.name == *name);
        found.with_context(|| format!("unknown agent `{name}`. Known agents: {}", known.join(", ")))
    };
    names.iter().map(find).collect()
}

/// Returns cargo's target folder, in which `e2e` and `rivals` have their own.
pub(crate) fn target_folder() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let target = own
        .ancestors()
        .nth(2)
        .context("this program is not in cargo's target folder")?;
    Ok(target.to_owned())
}
