//! A whole `planwright convert` process on 10,000 tasks, each dialect to each other, against `planwright check` of what it
//! reads and of what it makes: both are read and checked by a conversion, too.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use planwright_testkit::TempFolder;
use planwright_testkit::generate;

use super::check_10k::cpu_of;
use super::table::Table;
use super::{release_binary, scratch};

const N_TASKS: usize = 10_000;
const DIALECTS: [(&str, &str); 5] = [
    ("opencrabs", "json"),
    ("clido", "json"),
    ("aimi", "json"),
    ("task-pack", "md"),
    ("rawko", "yaml"),
];

pub(crate) fn run() -> anyhow::Result<Table> {
    let binary = release_binary()?;
    let folder = scratch()?;
    let mut table = Table::new(
        format!("convert-10k: `planwright convert` on {N_TASKS} tasks, as a process, in CPU time"),
        &[
            "from",
            "to",
            "check of the plan",
            "check of the result",
            "convert",
            "against the plan's check",
            "against both (≤ 3)",
        ],
    );
    for (from, extension) in DIALECTS {
        let path = plan(&binary, &folder, from, extension)?;
        let check = cpu(&binary, &["check", "--quiet"], &path)?;
        for (to, extension) in DIALECTS.into_iter().filter(|(to, _)| *to != from) {
            let result = folder.path().join(format!("{from}-to-{to}.{extension}"));
            let out = result.to_string_lossy().into_owned();
            let arguments = ["convert", "--quiet", "--to", to];
            let converts = spawn(&binary, &[&arguments[..], &["--out", &out]].concat(), &path)?;
            anyhow::ensure!(converts, "{from} is not converted to {to}");
            let check_result = cpu(&binary, &["check", "--quiet"], &result)?;
            let convert = cpu(&binary, &arguments, &path)?;
            let ratio = convert / (check + check_result);
            table.row(
                vec![
                    from.to_owned(),
                    to.to_owned(),
                    format!("{check:.1} ms"),
                    format!("{check_result:.1} ms"),
                    format!("{convert:.1} ms"),
                    format!("{:.1}", convert / check),
                    format!("{ratio:.1}"),
                ],
                ratio <= 3.0,
            );
        }
    }
    Ok(table)
}

/// Writes a plan, and for a task pack the plan that it is derived from.
fn plan(binary: &Path, folder: &TempFolder, dialect: &str, extension: &str) -> anyhow::Result<PathBuf> {
    let mut text = generate::plan(dialect, N_TASKS);
    if dialect == "task-pack" {
        folder.write("planwright.toml", "")?;
        let source = "---\nspec_id: 2026-04-26-001-generated\n---\n\n# A generated plan\n";
        let source = folder.write("docs/plans/p.md", source)?;
        let hash = Command::new(binary).arg("hash").arg(source).output()?;
        let hash = String::from_utf8(hash.stdout).context("a hash is made of letters and digits")?;
        let hash = hash.split_whitespace().next().context("a hash is printed")?;
        text = text.replace(&format!("sha256:{}", "0".repeat(64)), hash);
    }
    Ok(folder.write(&format!("{dialect}.{extension}"), text)?)
}

fn cpu(binary: &Path, arguments: &[&str], path: &Path) -> anyhow::Result<f64> {
    let sample = cpu_of(&|| command(binary, arguments, path).status())?;
    Ok(sample.median)
}

fn spawn(binary: &Path, arguments: &[&str], path: &Path) -> anyhow::Result<bool> {
    Ok(command(binary, arguments, path).status()?.success())
}

fn command(binary: &Path, arguments: &[&str], path: &Path) -> Command {
    let mut command = Command::new(binary);
    command.args(arguments).arg(path);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}
