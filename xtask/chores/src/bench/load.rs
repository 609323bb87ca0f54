//! Large plans, many plans, long output and many slots: time and memory per item must not grow with their
//! number.

use anyhow::Context as _;
use planwright::core::dialect::{DIALECTS, Dialect};
use planwright_testkit::generate;

use super::process::{CommandCost, measured};
use super::scratch;
use super::table::{BenchTable, Median};

/// Measurements of each work.
const RUNS: usize = 5;

/// The limit of the ratio between all items and a tenth of them, per item.
const MOST: f64 = 1.2;

/// The output of the agent that writes much: 1 GiB.
const N_BYTES: u64 = 1 << 30;

/// The number of parallel tasks.
const N_SLOTS: usize = 500;

/// The number of tasks in a wave of a pack: each task of the next wave depends on all of them, and dependencies have a limit.
const WAVE_WIDTH: usize = 5;

/// Some work on a number of items.
type LoadWork<'w> = &'w dyn Fn(usize) -> anyhow::Result<CommandCost>;

pub(crate) fn run(n_tasks: usize) -> anyhow::Result<BenchTable> {
    let mut table = BenchTable::new(
        format!("load: up to {n_tasks} tasks, 1,000 plans, 1 GiB of output, {N_SLOTS} slots"),
        &[
            "work",
            "items",
            "ms",
            "µs per item",
            "against a tenth (≤ 1.2)",
            "MiB",
            "KiB per item",
            "against a tenth (≤ 1.2)",
        ],
    );
    for dialect in DIALECTS {
        let own = dialect.name();
        let path = dialect.new_place(Some("plan-a1b2c3d4"), "2026-04-26", "generated");
        let name = path.as_str();
        let check = |n: usize| with_plan(*dialect, name, n, &["check", "--quiet", name]);
        compare(&mut table, &format!("check {own}"), n_tasks, &check)?;
        let start = |n: usize| with_plan(*dialect, name, n, &["next", "--start", "--quiet", name]);
        compare(&mut table, &format!("next --start {own}"), n_tasks, &start)?;
        let other = DIALECTS
            .iter()
            .find(|other| other.name() != own && other.writer().is_some());
        let target = other.context("there is no other dialect")?.name();
        let command = ["convert", name, "--to", target, "--out", "converted.json", "--quiet"];
        let convert = |n: usize| with_plan(*dialect, name, n, &command);
        compare(&mut table, &format!("convert {own} to {target}"), n_tasks, &convert)?;
    }
    compare(&mut table, "list", 1000, &|n| with_plans(n, &["list"]))?;
    compare(&mut table, "check", 1000, &|n| with_plans(n, &["check", "--quiet"]))?;
    compare(&mut table, "find", 1000, &|n| with_plans(n, &["find", "plan-00000000"]))?;
    talk(&mut table)?;
    crowd(&mut table)?;
    table.remark(format!(
        "What the same command takes with a thousandth of the items is taken off first. Medians of {RUNS}."
    ));
    Ok(table)
}

/// Measures some work on a thousandth, a tenth and all of the items.
fn compare(table: &mut BenchTable, what: &str, n_all: usize, work: LoadWork<'_>) -> anyhow::Result<()> {
    let sizes = [(n_all / 1000).max(1), n_all / 10, n_all];
    let mut took = vec![Vec::new(); sizes.len()];
    for _ in 0..RUNS {
        for (place, n) in sizes.iter().enumerate() {
            took[place].push(work(*n).with_context(|| format!("{what} of {n}"))?);
        }
    }
    let sample = |place: usize, of: fn(&CommandCost) -> f64| Median::of(took[place].iter().map(of).collect());
    let times: Vec<Median> = (0..sizes.len())
        .map(|place| sample(place, |took| took.milliseconds))
        .collect();
    let peaks: Vec<Median> = (0..sizes.len()).map(|place| sample(place, |took| took.kib)).collect();
    let each = |samples: &[Median], place: usize| {
        (samples[place].median - samples[0].median).max(0.0) / (sizes[place] - sizes[0]) as f64
    };
    for place in 1..sizes.len() {
        let (time, peak) = (each(&times, place) * 1000.0, each(&peaks, place));
        let growth = |own: f64, tenth: f64| if tenth > 0.0 { own / tenth } else { 1.0 };
        let (slower, larger) = (growth(time, each(&times, 1) * 1000.0), growth(peak, each(&peaks, 1)));
        table.row(
            vec![
                what.to_owned(),
                sizes[place].to_string(),
                format!("{:.0} ±{:.0} %", times[place].median, times[place].spread * 100.0),
                format!("{time:.2}"),
                format!("{slower:.2}"),
                format!("{:.1}", peaks[place].median / 1024.0),
                format!("{peak:.2}"),
                format!("{larger:.2}"),
            ],
            slower <= MOST && larger <= MOST,
        );
    }
    Ok(())
}

fn with_plan(dialect: &dyn Dialect, name: &str, n_tasks: usize, args: &[&str]) -> anyhow::Result<CommandCost> {
    let folder = scratch()?;
    let (text, others) = generate::stored(dialect, n_tasks, WAVE_WIDTH);
    for (name, text) in others {
        folder.write(name, text)?;
    }
    folder.write(name, text)?;
    folder.write("planwright.toml", "")?;
    measured(folder.path(), args)
}

fn with_plans(n_plans: usize, args: &[&str]) -> anyhow::Result<CommandCost> {
    let folder = scratch()?;
    folder.write("planwright.toml", "")?;
    let text = generate::plan("clido", 10);
    for ix in 0..n_plans {
        let id = format!("plan-{ix:08}");
        folder.write(&format!(".clido/plans/{id}.json"), text.replace("plan-a1b2c3d4", &id))?;
    }
    measured(folder.path(), args)
}

/// Runs a task whose agent writes far more than its log keeps.
fn talk(table: &mut BenchTable) -> anyhow::Result<()> {
    let folder = scratch()?;
    folder.write(
        "planwright.toml",
        format!(
            "[agents.talker]\ncommand = [\"sh\", \"-c\", \"yes 'and so on' | head -c {N_BYTES}\"]\n\n[run]\nagent = \"talker\"\n"
        ),
    )?;
    folder.write("plan.json", generate::plan("clido", 1))?;
    let took = measured(folder.path(), &["run", "--quiet", "plan.json"])?;
    let kept = kept_bytes(folder.path())?;
    table.row(
        vec![
            "run, an agent that writes 1 GiB".to_owned(),
            "1".to_owned(),
            format!("{:.0}", took.milliseconds),
            "–".to_owned(),
            "–".to_owned(),
            format!("{:.1}", took.kib / 1024.0),
            "–".to_owned(),
            format!("{:.1} MB kept", kept as f64 / 1e6),
        ],
        // The log of an attempt is capped at 10 MB.
        kept < 12_000_000 && took.kib < 64.0 * 1024.0,
    );
    Ok(())
}

/// Returns the size of planwright's state folder in bytes.
fn kept_bytes(root: &std::path::Path) -> anyhow::Result<u64> {
    let mut n_bytes = 0;
    let mut folders = vec![root.join(".planwright")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => folders.push(entry.path()),
                false => n_bytes += entry.metadata()?.len(),
            }
        }
    }
    Ok(n_bytes)
}

/// Runs tasks that each wait for a second, all in parallel.
fn crowd(table: &mut BenchTable) -> anyhow::Result<()> {
    let folder = scratch()?;
    folder.write(
        "planwright.toml",
        "[agents.sleeper]\ncommand = [\"sleep\", \"1\"]\n\n[run]\nagent = \"sleeper\"\n",
    )?;
    let tasks: Vec<String> = (0..N_SLOTS)
        .map(|ix| format!("{{\"id\": \"t{ix}\", \"description\": \"Wait\", \"status\": \"pending\"}}"))
        .collect();
    folder.write(
        "plan.json",
        format!("{{\"goal\": \"g\", \"tasks\": [{}]}}\n", tasks.join(",\n")),
    )?;
    let slots = N_SLOTS.to_string();
    let took = measured(folder.path(), &["run", "--quiet", "-j", &slots, "plan.json"])?;
    table.row(
        vec![
            format!("run, {N_SLOTS} tasks of a second at once"),
            N_SLOTS.to_string(),
            format!("{:.0}", took.milliseconds),
            "–".to_owned(),
            "–".to_owned(),
            format!("{:.1}", took.kib / 1024.0),
            format!("{:.2}", took.kib / N_SLOTS as f64),
            "–".to_owned(),
        ],
        // In sequence, they would take as many seconds.
        took.milliseconds < N_SLOTS as f64 * 1000.0 / 10.0,
    );
    Ok(())
}
