//! The crash matrix of the real binary, and the simulation: runs them and prints the faults and their effects.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Instant, SystemTime};

use anyhow::Context as _;
use planwright_testkit::TempFolder;
use planwright_testkit::torture::{Harm, Torture, TortureTally, run as torture};

use crate::built;

#[expect(clippy::print_stdout, reason = "a chore prints to its user")]
/// Builds the binary with crash points, and runs the crash matrix.
pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    let arguments = TortureArguments::parse(args)?;
    let (_kept, binary) = match &arguments.binary {
        Some(binary) => (None, std::path::absolute(binary)?),
        None => {
            let (kept, binary) = built::copy(&["--features", "crash-points"])?;
            (Some(kept), binary)
        }
    };
    let folder = TempFolder::in_memory()?;
    let began = Instant::now();
    println!("seed {}", arguments.seed);
    let say = |text: &str| println!("{text}");
    let torture_at = Torture {
        binary,
        folder: folder.path().to_owned(),
        seed: arguments.seed,
        n_faults: arguments.n_faults,
        only: arguments.only.clone(),
        n_users: arguments.n_users,
        is_quick: false,
        n_workers: arguments.n_workers,
        say: &say,
    };
    let tally = torture(&torture_at).map_err(anyhow::Error::msg)?;
    report(&tally, arguments.seed);
    if arguments.only.is_none() && arguments.n_seeds > 0 {
        simulate(arguments.n_seeds)?;
    }
    println!("took {} s", began.elapsed().as_secs());
    anyhow::ensure!(tally.failures.is_empty(), "{} faults did harm", tally.failures.len());
    Ok(())
}

/// Runs the simulation with many seeds.
fn simulate(n_seeds: u64) -> anyhow::Result<()> {
    let status = Command::new(env!("CARGO"))
        .args([
            "test",
            "--package",
            "planwright-run",
            "--test",
            "it",
            "simulation",
            "--",
            "--nocapture",
        ])
        .env("SIMULATION_SEEDS", n_seeds.to_string())
        .status()?;
    anyhow::ensure!(status.success(), "the simulation failed");
    Ok(())
}

struct TortureArguments {
    n_faults: Option<usize>,
    seed: u64,
    only: Option<String>,
    /// The number of runs with a simulated user.
    n_users: usize,
    /// The number of seeds of the simulation.
    n_seeds: u64,
    /// The number of faults tried in parallel.
    n_workers: usize,
    /// An existing binary, instead of building one.
    binary: Option<PathBuf>,
}

impl TortureArguments {
    fn parse(args: &[&str]) -> anyhow::Result<Self> {
        let mut arguments = TortureArguments {
            n_faults: None,
            seed: SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(1, |since| since.as_secs()),
            only: None,
            n_users: 0,
            n_seeds: 20_000,
            n_workers: std::thread::available_parallelism().map_or(2, usize::from),
            binary: None,
        };
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let value = words.next().with_context(|| format!("`{word}` needs a value"))?;
            match *word {
                "--faults" => arguments.n_faults = Some(value.parse()?),
                "--seed" => arguments.seed = value.parse()?,
                "--only" => arguments.only = Some((*value).to_owned()),
                "--users" => {
                    arguments.n_users = value.parse()?;
                    arguments.only.get_or_insert_with(|| "users".to_owned());
                }
                "--seeds" => arguments.n_seeds = value.parse()?,
                "--workers" => arguments.n_workers = value.parse()?,
                "--binary" => arguments.binary = Some(PathBuf::from(value)),
                other => anyhow::bail!("unknown option `{other}`"),
            }
        }
        Ok(arguments)
    }
}

#[expect(clippy::print_stdout, reason = "a chore prints to its user")]
fn report(tally: &TortureTally, seed: u64) {
    let mut groups: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for ((group, fault), n_faults) in &tally.n_faults {
        *groups.entry(group).or_default().entry(fault).or_default() += n_faults;
    }
    for (group, faults) in &groups {
        let words: Vec<String> = faults.iter().map(|(fault, n)| format!("{fault} {n}")).collect();
        println!("{group}: {} ({})", faults.values().sum::<usize>(), words.join(", "));
    }
    println!(
        "{} faults in {} scenarios; {} not reached; seed {seed}",
        tally.total(),
        tally.n_scenarios,
        tally.n_missed
    );
    println!("refused by the dialect: {}", tally.refused.join(" "));
    for harm in Harm::ALL {
        let n_failures = tally.failures.iter().filter(|failure| failure.harm == harm).count();
        println!("{}: {n_failures}", harm.words());
    }
    for failure in &tally.failures {
        println!(
            "{}: cargo xtask torture --seed {seed} --only {}",
            failure.harm.words(),
            failure.case
        );
    }
}
