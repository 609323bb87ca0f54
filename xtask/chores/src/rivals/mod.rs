//! Compares planwright with other tools for plans and graphs of tasks: the same work on the same graph in one run, with a
//! page of figures and judged answers.
//!
//! Only their installation needs a network. `formats` has the inputs of the tools, `tools` their commands.

mod command;
mod formats;
mod graph;
mod install;
mod judge;
mod measure;
mod page;
mod tools;

use std::path::Path;

use anyhow::Context as _;
use command::Contender;
use measure::{TimedWork, WorkTime};
use page::{Page, Report};
use tools::{TOOLS, Tool};

/// Compares the named tools and prints the page, or compares all of them and writes it.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore prints to its user")]
pub(crate) fn run(names: &[&str]) -> anyhow::Result<()> {
    let scratch = crate::e2e::target_folder()?.join("rivals");
    let mut contenders = Vec::new();
    let mut missing = Vec::new();
    for tool in chosen(names)? {
        match contender(tool, &scratch) {
            Ok(contender) => contenders.push(contender),
            // Without planwright there is nothing to compare with.
            Err(error) if tool.name == OWN => return Err(error),
            Err(error) => missing.push((tool, format!("{error:#}"))),
        }
    }
    let before = load();
    let page = Page {
        date: planwright::run::clock::date_of(std::time::SystemTime::now()),
        reports: compare(contenders)?,
        machine: machine(before),
        missing,
    };
    let text = page.text();
    println!("{text}");
    if names.is_empty() {
        let path = planwright_testkit::repository().join("docs/rivals.md");
        std::fs::write(&path, text)?;
        eprintln!("written to {}", path.display());
    }
    Ok(())
}

const OWN: &str = "planwright";

/// Returns the tools to compare; planwright is always the first.
fn chosen(names: &[&str]) -> anyhow::Result<Vec<&'static Tool>> {
    let is_named = |tool: &Tool, name: &str| tool.name.eq_ignore_ascii_case(name) || tool.wanted.program == name;
    for name in names {
        let known: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        let is_known = TOOLS.iter().any(|tool| is_named(tool, name));
        anyhow::ensure!(is_known, "unknown tool `{name}`. Known tools: {}", known.join(", "));
    }
    let is_wanted =
        |tool: &&Tool| names.is_empty() || tool.name == OWN || names.iter().any(|name| is_named(tool, name));
    Ok(TOOLS.iter().filter(is_wanted).collect())
}

/// Installs a tool and reads its version.
fn contender(tool: &'static Tool, scratch: &Path) -> anyhow::Result<Contender> {
    let home = scratch.join("homes").join(tool.wanted.program);
    std::fs::create_dir_all(&home)?;
    let mut contender = Contender {
        tool,
        program: install::installed(&tool.wanted, scratch)?,
        version: String::new(),
        home,
    };
    let outcome = contender.run(&contender.home, tool.version)?;
    let line = outcome.output.lines().find(|line| !line.trim().is_empty());
    contender.version = line.context("it prints no version")?.trim().to_owned();
    anyhow::ensure!(outcome.is_success(), "it does not start: {}", contender.version);
    Ok(contender)
}

/// Measures all work with every tool.
#[expect(clippy::print_stderr, reason = "a chore prints to its user")]
fn compare(contenders: Vec<Contender>) -> anyhow::Result<Vec<Report>> {
    let mut times: Vec<Vec<WorkTime>> = Vec::new();
    for work in [TimedWork::Check, TimedWork::Next, TimedWork::Change, TimedWork::Run] {
        eprintln!("times: {work:?} …");
        times.push(measure::times(&contenders, work)?);
    }
    let mut times = times.into_iter().map(Vec::into_iter).collect::<Vec<_>>();
    let mut reports = Vec::new();
    for contender in contenders {
        eprintln!("answers: {} …", contender.tool.name);
        let mut take = |place: usize| {
            times
                .get_mut(place)
                .and_then(Iterator::next)
                .unwrap_or(WorkTime::HasNone)
        };
        reports.push(Report {
            times: [take(0), take(1), take(2), take(3)],
            checks: measure::check(&contender)?,
            next: measure::next(&contender)?,
            fidelity: measure::fidelity(&contender)?,
            written: measure::write_at_once(&contender)?,
            contender,
        });
    }
    Ok(reports)
}

/// Returns a description of the machine and its load: figures of a busy machine are worth less.
fn machine(load_before: Option<String>) -> String {
    let n_cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let system = format!(
        "{} {} with {n_cores} cores",
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    match load_before.zip(load()) {
        Some((before, after)) => format!("{system}, whose load was {before} before and {after} after"),
        None => system,
    }
}

/// Returns the load average of the last minute, if the system reports it.
fn load() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(tools: &[&Tool]) -> Vec<&'static str> {
        tools.iter().map(|tool| tool.name).collect()
    }

    #[test]
    fn planwright_is_always_measured() {
        assert_eq!(names_of(&chosen(&["make"]).expect("known")), [OWN, "make"]);
        assert_eq!(names_of(&chosen(&["backlog"]).expect("known")), [OWN, "Backlog.md"]);
        assert_eq!(chosen(&[]).expect("known").len(), TOOLS.len());
        assert!(chosen(&["bake"]).is_err());
    }
}
