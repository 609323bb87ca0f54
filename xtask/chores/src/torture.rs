//! The crash matrix over the real binary, and the simulation: how many faults, and what they did.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Instant, SystemTime};

use anyhow::Context as _;
use planwright_testkit::TempFolder;
use planwright_testkit::torture::{Harm, Torture, TortureTally, run as torture};

use crate::built;

#[expect(clippy::print_stdout, reason = "a chore talks to its user")]
/// Parses what is asked, builds the binary with crash points, and tries it.
pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    let asked = Asked::parse(args)?;
    let (_kept, binary) = match &asked.binary {
        Some(binary) => (None, std::path::absolute(binary)?),
        None => {
            let (kept, binary) = built::copy(&["--features", "crash-points"])?;
            (Some(kept), binary)
        }
    };
    let folder = TempFolder::in_memory()?;
    let began = Instant::now();
    println!("seed {}", asked.seed);
    let say = |text: &str| println!("{text}");
    let torture_at = Torture {
        binary,
        folder: folder.path().to_owned(),
        seed: asked.seed,
        n_faults: asked.n_faults,
        only: asked.only.clone(),
        n_users: asked.n_users,
        is_quick: false,
        n_workers: asked.n_workers,
        say: &say,
    };
    let tally = torture(&torture_at).map_err(anyhow::Error::msg)?;
    report(&tally, asked.seed);
    if asked.only.is_none() && asked.n_seeds > 0 {
        simulate(asked.n_seeds)?;
    }
    println!("it took {} s", began.elapsed().as_secs());
    anyhow::ensure!(tally.failures.is_empty(), "{} faults did harm", tally.failures.len());
    Ok(())
}

/// Tries the simulation with many seeds.
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

struct Asked {
    n_faults: Option<usize>,
    seed: u64,
    only: Option<String>,
    /// How many runs with a simulated user.
    n_users: usize,
    /// How many seeds of the simulation.
    n_seeds: u64,
    /// How many faults at a time.
    n_workers: usize,
    /// One that is built already.
    binary: Option<PathBuf>,
}

impl Asked {
    fn parse(args: &[&str]) -> anyhow::Result<Self> {
        let mut asked = Asked {
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
                "--faults" => asked.n_faults = Some(value.parse()?),
                "--seed" => asked.seed = value.parse()?,
                "--only" => asked.only = Some((*value).to_owned()),
                "--users" => {
                    asked.n_users = value.parse()?;
                    asked.only.get_or_insert_with(|| "users".to_owned());
                }
                "--seeds" => asked.n_seeds = value.parse()?,
                "--workers" => asked.n_workers = value.parse()?,
                "--binary" => asked.binary = Some(PathBuf::from(value)),
                other => anyhow::bail!("there is no option `{other}`"),
            }
        }
        Ok(asked)
    }
}

#[expect(clippy::print_stdout, reason = "a chore talks to its user")]
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
    println!("not known in the dialect: {}", tally.refused.join(" "));
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
