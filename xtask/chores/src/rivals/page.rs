//! The page with all results. Runs nothing.

use std::fmt::Write as _;

use super::command::Contender;
use super::install;
use super::judge::CycleNaming;
use super::measure::{
    CheckAnswer, Fidelity, N_RUN, N_TASKS, N_WRITERS, NextAnswer, PATIENCE, ROUNDS, WRITING_ROUNDS, WorkTime,
    WriteTally,
};
use super::tools::{ENVIRONMENT, MARKS, Tool};

/// The results of one installed tool.
pub(super) struct Report {
    pub(super) contender: Contender,
    pub(super) checks: Vec<CheckAnswer>,
    pub(super) next: Option<NextAnswer>,
    pub(super) fidelity: Option<Fidelity>,
    pub(super) written: Option<WriteTally>,
    /// The times of check, next, change and run.
    pub(super) times: [WorkTime; 4],
}

/// The content of the page.
pub(super) struct Page {
    /// The day, as in `2026-03-22`.
    pub(super) date: String,
    pub(super) machine: String,
    pub(super) reports: Vec<Report>,
    /// Tools that could not be installed, and why.
    pub(super) missing: Vec<(&'static Tool, String)>,
}

const NONE: &str = "has none";

impl Page {
    /// Returns the page as Markdown.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "# Rivals\n\n\
             After reading this page you can compare planwright with other tools: their answers and times for the same work on the\n\
             same graph. `cargo xtask rivals` writes this page. It installs every tool in the version named here into `target/rivals`,\n\
             generates the graph in each tool's own format, and judges each answer; nothing here is entered by hand.\n\
             `cargo xtask rivals NAME…` compares some of them and only prints. Written on {} on {}.\n",
            self.date, self.machine
        );
        self.tools(&mut text);
        self.answers(&mut text);
        self.writers(&mut text);
        self.fidelity(&mut text);
        self.times(&mut text);
        self.commands(&mut text);
        text
    }

    fn tools(&self, text: &mut String) {
        text.push_str("\n## The tools\n\n| tool | version | from |\n| --- | --- | --- |\n");
        for report in &self.reports {
            let tool = report.contender.tool;
            row(
                text,
                &[tool.name, &report.contender.version, &install::shown(&tool.wanted)],
            );
        }
        for (tool, reason) in &self.missing {
            row(
                text,
                &[
                    tool.name,
                    &format!("not to be had: {reason}"),
                    &install::shown(&tool.wanted),
                ],
            );
        }
    }

    fn answers(&self, text: &mut String) {
        let _ = write!(
            text,
            "\n## Right and wrong answers\n\n\
             {N_TASKS} tasks in layers of 20, each depending on two of the layer before. Once sound, once with a cycle of five tasks,\n\
             once with a dependency on a missing task. *Right* means: the sound graph is accepted, the defect is reported, and\n\
             the exit status is not 0. A cycle's path counts as named when one line holds its tasks in their\n\
             order.\n\n\
             | tool | command | sound graph | cycle | its path | dangling reference | both ends named |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n"
        );
        for report in &self.reports {
            for check in &report.checks {
                check_row(text, report.contender.tool, check);
            }
        }
        text.push_str(
            "\nThe next task, when the first layer is done: *right* is a task that is not done and whose dependencies all are.\n\n\
             | tool | answer |\n| --- | --- |\n",
        );
        for report in &self.reports {
            let tool = report.contender.tool;
            let answer = report
                .next
                .as_ref()
                .map_or_else(|| NONE.to_owned(), |next| next_cell(tool, next));
            row(text, &[tool.name, &answer]);
        }
    }

    fn writers(&self, text: &mut String) {
        let _ = write!(
            text,
            "\n## {N_WRITERS} writers at once\n\n\
             {N_WRITERS} processes, each changing the status of another task, started together, up to {WRITING_ROUNDS} times, while a \
             reader reads\n\
             the files continuously. *Lost* is a change whose process reported success and that is not in the file at the end. *Broken*\n\
             is a read that found no file, or an incomplete one. All times of this page are wall-clock times.\n\n\
             | tool | writers | refused | lost | unreadable at the end | broken reads | median time of a round |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n"
        );
        for report in &self.reports {
            let name = report.contender.tool.name;
            match &report.written {
                None => row(text, &[name, NONE, "–", "–", "–", "–", "–"]),
                Some(written) => writers_row(text, name, written),
            }
        }
    }

    fn fidelity(&self, text: &mut String) {
        let _ = write!(
            text,
            "\n## What one edit leaves alone\n\n\
             One status is changed in a file that is laid out as the tool lays it out, except for one task: it holds fields that the tool\n\
             does not know, at its start and its end, numbers and letters in unusual spellings, and a comment if the format allows one.\n\
             The table counts the lines that changed in addition to the intended one.\n\n\
             | tool | lines gone | lines new | of them dated | {} |\n| --- | --- | --- | --- |{}\n",
            MARKS.map(|mark| format!("{mark} kept")).join(" | "),
            " --- |".repeat(MARKS.len())
        );
        for report in &self.reports {
            let name = report.contender.tool.name;
            let mut cells = vec![name.to_owned()];
            match &report.fidelity {
                None => cells.push(NONE.to_owned()),
                Some(Fidelity::Refused(said)) => cells.push(format!("not changed: {said}")),
                Some(Fidelity::Kept { other_lines, kept }) => {
                    cells.extend([other_lines.n_gone, other_lines.n_new, other_lines.n_dated].map(|n| n.to_string()));
                    cells.extend(MARKS.map(|mark| mark_cell(kept, mark).to_owned()));
                }
            }
            cells.resize(4 + MARKS.len(), "–".to_owned());
            row(text, &cells);
        }
    }

    fn times(&self, text: &mut String) {
        let _ = write!(
            text,
            "\n## Times\n\n\
             Whole processes, in turn, {ROUNDS} times after a warm-up: the median, half the distance between the quartiles, and how many\n\
             times as long as planwright. A tool that has spent {} s on one kind of work takes no further round of it, and the number\n\
             of rounds is shown. The sound graph is checked with the first command above; the run is of {N_RUN} tasks that are `{}`, two\n\
             at a time.\n\n\
             | tool | check of {N_TASKS} tasks | next task | one status change | run of {N_RUN} tasks |\n\
             | --- | --- | --- | --- | --- |\n",
            PATIENCE.as_secs(),
            crate::bench::PROGRAM
        );
        let own = self.reports.first().map(|report| &report.times);
        for report in &self.reports {
            let mut cells = vec![report.contender.tool.name.to_owned()];
            for (place, time) in report.times.iter().enumerate() {
                cells.push(time_cell(time, own.and_then(|own| own.get(place))));
            }
            row(text, &cells);
        }
    }

    fn commands(&self, text: &mut String) {
        let settings: Vec<String> = ENVIRONMENT
            .iter()
            .map(|(key, value)| format!("`{key}={value}`"))
            .collect();
        let _ = write!(
            text,
            "\n## What was run\n\n\
             Each tool had its own home folder, and in its environment {}.\n\
             The task in these commands is number 7.\n",
            settings.join(", ")
        );
        for report in &self.reports {
            tool_section(text, report.contender.tool);
        }
    }
}

/// Returns whether something was kept. A loss inside unknown fields is counted once.
fn mark_cell(kept: &[(&str, bool)], mark: &str) -> &'static str {
    let of = |mark: &str| kept.iter().find(|(name, _)| *name == mark).map(|(_, is_kept)| *is_kept);
    let stands_in_unknown = MARKS
        .iter()
        .position(|name| *name == mark)
        .is_some_and(|place| (1..=3).contains(&place));
    match of(mark) {
        None => "–",
        Some(false) if stands_in_unknown && of(MARKS[0]) == Some(false) => "gone with them",
        Some(is_kept) => yes_or_no(is_kept),
    }
}

fn check_row(text: &mut String, tool: &Tool, check: &CheckAnswer) {
    let (is_found, named, cycle) = check.cycle;
    let (is_named, is_both, dangling) = check.dangling;
    let path = match named {
        _ if !is_found => "–",
        CycleNaming::Path => "named",
        CycleNaming::Members => "tasks, not their order",
        CycleNaming::Some => "some of its tasks",
        CycleNaming::Nothing => "not named",
    };
    row(
        text,
        &[
            tool.name.to_owned(),
            format!("`{}`", shell(tool, check.command)),
            verdict(
                check.sound.is_success(),
                "accepted",
                "not accepted,",
                &check.sound.shown(),
            ),
            verdict(
                is_found && cycle.is_refusal(),
                "found",
                report_word(is_found),
                &cycle.shown(),
            ),
            path.to_owned(),
            verdict(
                is_named && dangling.is_refusal(),
                "found",
                report_word(is_named),
                &dangling.shown(),
            ),
            if is_named { yes_or_no(is_both) } else { "–" }.to_owned(),
        ],
    );
}

fn report_word(is_found: bool) -> &'static str {
    if is_found { "reported, but" } else { "missed," }
}

fn verdict(is_right: bool, right: &str, wrong: &str, ended: &str) -> String {
    match is_right {
        true => format!("right: {right}, {ended}"),
        false => format!("**wrong**: {wrong} {ended}"),
    }
}

fn next_cell(tool: &Tool, next: &NextAnswer) -> String {
    let named = next.named.map_or_else(|| "no task".to_owned(), tool.spelling);
    let verdict = if next.is_right { "right" } else { "**wrong**" };
    format!("{verdict}: {named}, {}", next.ended.shown())
}

fn writers_row(text: &mut String, name: &str, written: &WriteTally) {
    let marked = |n: usize| match n {
        0 => "0".to_owned(),
        n => format!("**{n}**"),
    };
    let took = crate::bench::Median::of(written.took.clone());
    row(
        text,
        &[
            name.to_owned(),
            written.n_writers.to_string(),
            written.n_refused.to_string(),
            marked(written.n_lost),
            format!("{} of {}", marked(written.n_unreadable), written.n_rounds),
            format!("{} of {}", marked(written.n_broken), written.n_reads),
            milliseconds(took.median),
        ],
    );
}

fn time_cell(time: &WorkTime, own: Option<&WorkTime>) -> String {
    match time {
        WorkTime::HasNone => NONE.to_owned(),
        WorkTime::Failed(reason) => format!("failed: {reason}"),
        WorkTime::Took(sample, n_runs) => {
            let mut cell = format!("{} ±{:.0} %", milliseconds(sample.median), sample.spread * 100.0);
            if let Some(WorkTime::Took(own, _)) = own.filter(|own| !std::ptr::eq(*own, time)) {
                let _ = write!(cell, ", {}", times_as_long(sample.median / own.median));
            }
            if *n_runs < ROUNDS {
                let rounds = if *n_runs == 1 { "round" } else { "rounds" };
                let _ = write!(cell, " ({n_runs} {rounds})");
            }
            cell
        }
    }
}

/// Returns a ratio with its significant digits.
fn times_as_long(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 10.0 => format!("{ratio:.1} ×"),
        ratio => format!("{ratio:.0} ×"),
    }
}

fn milliseconds(time: f64) -> String {
    match time {
        time if time < 100.0 => format!("{time:.1} ms"),
        time if time < 1_000.0 => format!("{time:.0} ms"),
        time => format!("{:.1} s", time / 1_000.0),
    }
}

fn tool_section(text: &mut String, tool: &Tool) {
    let _ = write!(text, "\n**{}.** {}\n\n", tool.name, tool.remark);
    for check in tool.checks {
        let _ = writeln!(text, "    {}", shell(tool, check));
    }
    if let Some(next) = &tool.next {
        let _ = writeln!(text, "    {}", shell(tool, next.command));
    }
    if let Some(change) = &tool.change {
        let command = (change.command)(7);
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let _ = writeln!(text, "    {}", shell(tool, &words));
    }
    if let Some(run) = tool.run {
        let _ = writeln!(text, "    {}", shell(tool, run));
    }
}

/// Returns a command as a user types it.
fn shell(tool: &Tool, args: &[&str]) -> String {
    let quoted = args.iter().map(|arg| match arg.contains(' ') {
        true => format!("'{arg}'"),
        false => (*arg).to_owned(),
    });
    let words: Vec<String> = std::iter::once(tool.wanted.program.to_owned()).chain(quoted).collect();
    words.join(" ")
}

fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "**no**" }
}

/// Adds a row, with `|` escaped in its cells.
fn row<C: AsRef<str>>(text: &mut String, cells: &[C]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Median;

    fn took(median: f64, n_runs: usize) -> WorkTime {
        WorkTime::Took(Median { median, spread: 0.1 }, n_runs)
    }

    #[test]
    fn times_are_compared_with_planwrights() {
        let own = took(2.0, ROUNDS);
        assert_eq!(time_cell(&own, Some(&own)), "2.0 ms ±10 %");
        assert_eq!(time_cell(&took(3.0, ROUNDS), Some(&own)), "3.0 ms ±10 %, 1.5 ×");
        assert_eq!(
            time_cell(&took(4_000.0, 2), Some(&own)),
            "4.0 s ±10 %, 2000 × (2 rounds)"
        );
        assert_eq!(time_cell(&WorkTime::HasNone, Some(&own)), "has none");
        assert_eq!(time_cell(&took(3.0, ROUNDS), Some(&WorkTime::HasNone)), "3.0 ms ±10 %");
    }

    #[test]
    fn losses_through_unknown_fields_are_counted_once() {
        let lost: Vec<(&str, bool)> = MARKS.map(|mark| (mark, false)).to_vec();
        assert_eq!(
            MARKS.map(|mark| mark_cell(&lost, mark)),
            [
                "**no**",
                "gone with them",
                "gone with them",
                "gone with them",
                "**no**",
                "**no**"
            ]
        );
        let respelled = [("unknown fields", true), ("spelling of numbers", false)];
        assert_eq!(mark_cell(&respelled, "spelling of numbers"), "**no**");
        assert_eq!(mark_cell(&respelled, "comments"), "–");
    }

    #[test]
    fn output_of_tools_stays_in_its_table_cell() {
        let mut text = String::new();
        row(&mut text, &["a", "b | c"]);
        assert_eq!(text, "| a | b \\| c |\n");
    }

    #[test]
    fn an_answer_is_right_only_with_its_exit_status() {
        assert_eq!(
            verdict(true, "found", report_word(true), "exit 1"),
            "right: found, exit 1"
        );
        assert_eq!(
            verdict(false, "found", report_word(true), "exit 0"),
            "**wrong**: reported, but exit 0"
        );
        assert_eq!(
            verdict(false, "found", report_word(false), "exit 0"),
            "**wrong**: missed, exit 0"
        );
    }
}
