//! A whole `planwright convert` process on 10,000 tasks, from each dialect to each other, against `planwright check` of its
//! input and of its output: a conversion reads and checks both.

use std::path::Path;
use std::process::{Command, Stdio};

use planwright::core::dialect::DIALECTS;
use planwright_testkit::generate;

use super::check_10k::cpu_of;
use super::scratch;
use super::table::BenchTable;

const N_TASKS: usize = 10_000;

pub(crate) fn run() -> anyhow::Result<BenchTable> {
    let binary = crate::built::shipped()?;
    let folder = scratch()?;
    let mut table = BenchTable::new(
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
    folder.write("planwright.toml", "")?;
    for dialect in DIALECTS {
        let from = dialect.name();
        let (text, others) = generate::stored(*dialect, N_TASKS, generate::WAVE_WIDTH);
        for (name, text) in others {
            folder.write(name, text)?;
        }
        let path = folder.write(&format!("{from}.{}", generate::extension(*dialect)), text)?;
        let check = cpu(&binary, &["check", "--quiet"], &path)?;
        for target in DIALECTS.iter().filter(|target| **target != *dialect) {
            let to = target.name();
            let result = folder
                .path()
                .join(format!("{from}-to-{to}.{}", generate::extension(*target)));
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
