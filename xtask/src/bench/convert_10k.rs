//! A whole `planwright convert` process on 10,000 tasks, each dialect to each other, against `planwright check` of the
//! same file.

use std::path::Path;
use std::process::{Command, Stdio};

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
        &["from", "to", "check", "convert", "ratio (≤ 3)"],
    );
    for (from, extension) in DIALECTS {
        let path = folder.write(&format!("{from}.{extension}"), generate::plan(from, N_TASKS))?;
        for (to, _) in DIALECTS.into_iter().filter(|(to, _)| *to != from) {
            let spawn = |args: &[&str], path: &Path| {
                Command::new(&binary)
                    .args(args)
                    .arg(path)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()
            };
            let converts = spawn(&["convert", "--quiet", "--to", to], &path)?.success();
            let check = cpu_of(&|| spawn(&["check", "--quiet"], &path))?;
            let convert = cpu_of(&|| spawn(&["convert", "--quiet", "--to", to], &path))?;
            let ratio = convert.median / check.median;
            table.row(
                vec![
                    from.to_owned(),
                    to.to_owned(),
                    format!("{:.1} ms", check.median),
                    match converts {
                        true => format!("{:.1} ms ±{:.0} %", convert.median, convert.spread * 100.0),
                        false => "refused".to_owned(),
                    },
                    format!("{ratio:.1}"),
                ],
                ratio <= 3.0 && converts,
            );
        }
    }
    Ok(table)
}
