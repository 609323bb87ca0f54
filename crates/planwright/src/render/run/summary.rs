//! The result of a run in words: what is done, what is not and why, its duration and cost, and the command that continues.

use std::collections::HashMap;
use std::path::Path;

use planwright_run::runs::RunStanding;
use planwright_verbs::run_history::{RunReport, SkippedReport, first_useful_line};
use planwright_verbs::text::{
    columns, count, cut, duration, fit, money, one_line, printable, shown_name, some_of, tokens,
};

use super::changes::change_lines;
use super::lines::{files_words, standing_words};
use crate::render::terminal::Paint;
use crate::render::wrap::{below, hanging};

/// How many tasks of a kind are shown to people; the rest is counted.
const MAX_SHOWN: usize = 20;

/// How many criteria of a task are shown, and how many characters of each.
const MAX_CRITERIA: usize = 4;
const MAX_CRITERION: usize = 60;

/// The longest title that is shown whole.
const MAX_TITLE: usize = 160;

/// How many names are on one line.
const MAX_NAMES: usize = 8;

/// Returns the end of a run in words, in lines with line breaks, wrapped for a width.
pub(crate) fn summary(report: &RunReport, paint: Paint, width: usize) -> String {
    let mut page = SummaryPage {
        text: String::from("\n"),
        paint,
        width,
    };
    page.headline(report);
    page.proof(report);
    page.cost(report);
    page.look_first(report);
    let sections = [
        (paint.error("Failed"), page.failed(report)),
        (paint.warning("Skipped"), page.skipped(report)),
        (paint.warning("Not finished"), page.stopped(report)),
        ("Taken over".to_owned(), page.taken_over(report)),
        (paint.warning("Waiting for review"), page.review(report)),
        (paint.warning("Criteria that no rule verifies"), page.criteria(report)),
        (paint.warning("Drift"), page.drift(report)),
        ("Taken by another agent".to_owned(), page.fallbacks(report)),
        ("Changes".to_owned(), change_lines(&report.changes, paint, width)),
        ("Landed".to_owned(), page.landed(report)),
        ("A later run of this plan".to_owned(), later_run(report)),
    ];
    for (title, items) in sections {
        page.section(&title, &items);
    }
    page.counts(report);
    page.section(&paint.help("To continue"), &page.next(report));
    page.text
}

/// A text under construction. The methods for sections return indented items.
struct SummaryPage {
    text: String,
    paint: Paint,
    width: usize,
}

impl SummaryPage {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn headline(&mut self, report: &RunReport) {
        let took = report
            .milliseconds
            .map_or_else(String::new, |took| format!(" after {}", duration(took)));
        let run = match report.run.as_str() {
            "" => "The run".to_owned(),
            run => format!("Run {}", one_line(run)),
        };
        let standing = match report.standing.as_str() {
            "interrupted" => "was interrupted".to_owned(),
            "running" if report.paused => "is paused".to_owned(),
            "running" => "is running".to_owned(),
            standing => standing_words(&RunStanding::of(standing)),
        };
        let why = report.why.as_deref().and_then(first_useful_line);
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        let headline = format!("{}{why}", self.paint.bold(&format!("{run} {standing}{took}")));
        self.line(&below(&headline, "  ", self.width));
    }

    fn counts(&mut self, report: &RunReport) {
        let counts = &report.counts;
        let n_left = counts.left;
        let words = [
            Some(self.paint.good(&format!("{} done", counts.done))),
            (counts.failed > 0).then(|| self.paint.error(&format!("{} failed", counts.failed))),
            (counts.skipped > 0).then(|| self.paint.warning(&format!("{} skipped", counts.skipped))),
            (counts.review > 0).then(|| self.paint.warning(&format!("{} in review", counts.review))),
            (n_left > 0).then(|| format!("{n_left} left")),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        self.line("");
        self.text_line("", &words.join(", "));
    }

    /// Adds a wrapped line.
    fn text_line(&mut self, start: &str, text: &str) {
        self.line(&hanging(start, text, self.width));
    }

    fn proof(&mut self, report: &RunReport) {
        let counts = &report.counts;
        if counts.verified > 0 {
            self.line(&format!("  {} verified by commands", counts.verified));
        }
        if counts.unverified > 0 {
            let names = some_of(report.unverified.iter().map(|task| shown_name(task)), MAX_NAMES);
            let what = self.paint.warning(&format!("{} unverified", counts.unverified));
            self.text_line(&format!("  {what}: "), &names);
        }
        if counts.unchanged > 0 {
            let names = some_of(report.unchanged.iter().map(|task| shown_name(task)), MAX_NAMES);
            let what = self
                .paint
                .warning(&format!("{} done without changes", counts.unchanged));
            self.text_line(&format!("  {what}: "), &names);
        }
    }

    fn cost(&mut self, report: &RunReport) {
        let cost = report.cost_usd.map(money);
        let used = report
            .tokens
            .as_ref()
            .map(|used| format!("{} tokens in, {} out", tokens(used.input), tokens(used.output)));
        let words: Vec<String> = [cost, used].into_iter().flatten().collect();
        if !words.is_empty() {
            self.text_line("  ", &words.join(", "));
        }
    }

    fn look_first(&mut self, report: &RunReport) {
        if report.look_first.is_empty() {
            return;
        }
        let tasks = report.look_first.iter();
        let tasks = tasks.map(|look| format!("{} ({})", shown_name(&look.task), look.why));
        self.text_line("  look first at ", &some_of(tasks, MAX_NAMES));
    }

    fn section(&mut self, title: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.line(&format!("\n{title}"));
        for item in items.iter().take(MAX_SHOWN) {
            self.line(item);
        }
        if items.len() > MAX_SHOWN {
            self.line(&format!("  … and {} more", items.len() - MAX_SHOWN));
        }
    }

    fn item(&self, text: &str) -> String {
        hanging("  ", text, self.width)
    }

    fn detail(&self, text: &str) -> String {
        format!("\n{}", hanging("    ", text, self.width))
    }

    /// Returns the name and the title of a task, followed by the rest.
    fn named(&self, task: &str, title: Option<&str>, rest: &str) -> String {
        let name = self.paint.bold(&shown_name(task));
        match title.map(one_line).filter(|title| !title.is_empty()) {
            Some(title) => {
                let title = fit(&title, MAX_TITLE);
                hanging(&format!("  {name}  "), &format!("{title}{rest}"), self.width)
            }
            None => format!("  {name}{rest}"),
        }
    }

    fn failed(&self, report: &RunReport) -> Vec<String> {
        let failed = report.failed.iter().map(|failed| {
            let attempts = match failed.attempts {
                0 | 1 => String::new(),
                n => format!(" (attempt {n})"),
            };
            let head = self.named(&failed.task, failed.title.as_deref(), &attempts);
            let (why, log) = (self.detail(&failed.why), printable(&failed.log));
            format!("{head}{why}\n    {log}{}", checkout_words(failed.checkout.as_deref()))
        });
        failed.collect()
    }

    fn skipped(&self, report: &RunReport) -> Vec<String> {
        by_reason(&report.skipped)
            .iter()
            .map(|words| self.item(words))
            .collect()
    }

    fn stopped(&self, report: &RunReport) -> Vec<String> {
        let stopped = report.stopped.iter().map(|stopped| {
            let why = stopped.why.as_deref().unwrap_or("interrupted before it was finished");
            let start = format!("  {}  ", shown_name(&stopped.task));
            let (head, log) = (hanging(&start, &one_line(why), self.width), printable(&stopped.log));
            format!("{head}\n    {log}{}", checkout_words(stopped.checkout.as_deref()))
        });
        stopped.collect()
    }

    fn taken_over(&self, report: &RunReport) -> Vec<String> {
        let taken_over = report.taken_over.iter().map(|taken| {
            let by = taken.by.as_deref().map(one_line);
            let by = by.unwrap_or_else(|| "another process".to_owned());
            let head = self.named(&taken.task, taken.title.as_deref(), "");
            let how = self.detail(&format!("by {by}, who marked it as {}", one_line(&taken.to)));
            format!("{head}{how}")
        });
        taken_over.collect()
    }

    fn review(&self, report: &RunReport) -> Vec<String> {
        let review = report.review.iter().map(|review| {
            let head = self.named(&review.task, review.title.as_deref(), "");
            let files = files_words(&review.protected);
            let why = match review.protected.is_empty() {
                true => String::new(),
                false => self.detail(&format!("it changed files that verify it: {files}")),
            };
            let commands = review.look.iter().chain([&review.approve, &review.reject]);
            let commands = commands.map(|command| format!("\n    {}", printable(command)));
            format!("{head}{why}{}", commands.collect::<String>())
        });
        review.collect()
    }

    fn criteria(&self, report: &RunReport) -> Vec<String> {
        let criteria = report.unverified_criteria.iter().map(|unverified| {
            let texts = unverified.criteria.iter();
            let texts = texts.map(|text| cut(&one_line(text), MAX_CRITERION));
            let start = format!("  {}  ", shown_name(&unverified.task));
            hanging(&start, &some_of(texts, MAX_CRITERIA), self.width)
        });
        criteria.collect()
    }

    fn drift(&self, report: &RunReport) -> Vec<String> {
        let drift = report.drift.iter().map(|drift| {
            let (name, files) = (shown_name(&drift.task), files_words(&drift.files));
            self.item(&format!("{name} changed {files}, which the plan does not name"))
        });
        drift.collect()
    }

    fn fallbacks(&self, report: &RunReport) -> Vec<String> {
        let fallbacks = report.fallbacks.iter().map(|fallback| {
            let (agent, other) = (one_line(&fallback.agent), one_line(&fallback.instead_of));
            let name = shown_name(&fallback.task);
            self.item(&format!("{name} by {agent} instead of {other}"))
        });
        fallbacks.collect()
    }

    fn landed(&self, report: &RunReport) -> Vec<String> {
        let Some(landed) = &report.landed else {
            return Vec::new();
        };
        let into = match (landed.into.as_deref(), landed.is_gone) {
            (Some(into), _) => format!(", and in {}", one_line(into)),
            (None, true) => ", which was deleted; this restores it:".to_owned(),
            (None, false) => String::new(),
        };
        let tasks = match landed.tasks {
            0 => "work of earlier runs".to_owned(),
            n => count(n as u64, "task"),
        };
        let what = self.item(&format!("{tasks} on {}{into}", one_line(&landed.branch)));
        // Merged work is no longer a difference.
        let review = Some(&landed.review).filter(|_| landed.into.is_none());
        let commands = [review, landed.land.as_ref()].into_iter().flatten();
        let commands = commands.map(|command| format!("  {}", one_line(command)));
        std::iter::once(what).chain(commands).collect()
    }

    fn next(&self, report: &RunReport) -> Vec<String> {
        let Some(next) = &report.next else {
            return Vec::new();
        };
        let replan = report.replan.as_ref().map(|replan| {
            let command = format!("  {}", one_line(replan));
            let effect = "(a planner changes what failed)";
            match columns(&command) + 2 + columns(effect) > self.width {
                true => format!("{command}\n    {effect}"),
                false => format!("{command}  {effect}"),
            }
        });
        let next = format!("  {}", one_line(next));
        std::iter::once(next).chain(replan).collect()
    }
}

fn later_run(report: &RunReport) -> Vec<String> {
    let later = report.later_run.iter();
    let commands = later.map(|later| one_line(&format!("planwright summary {later}")));
    commands.map(|command| format!("  {command}")).collect()
}

fn checkout_words(checkout: Option<&str>) -> String {
    checkout.map_or_else(String::new, |path| {
        format!("\n    its files: {}", one_line(&below_home(path)))
    })
}

/// Returns a path with `~` for the home folder, as in shells.
fn below_home(path: &str) -> String {
    let home = std::env::home_dir().filter(|home| home.as_os_str().len() > 1);
    let below = home.and_then(|home| Path::new(path).strip_prefix(home).ok().map(Path::to_owned));
    below.map_or_else(|| path.to_owned(), |below| format!("~/{}", below.display()))
}

/// Groups tasks that were skipped because of the same one.
fn by_reason(skipped: &[SkippedReport]) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for SkippedReport { task, because } in skipped {
        let at = *places.entry(because).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, tasks)) => tasks.push(shown_name(task)),
            None => groups.push((because, vec![shown_name(task)])),
        }
    }
    let words = groups.iter().map(|(because, tasks)| {
        format!(
            "{}, because {} failed",
            some_of(tasks.iter(), MAX_NAMES),
            shown_name(because)
        )
    });
    words.collect()
}
