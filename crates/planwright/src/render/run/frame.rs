//! One frame of the live display: a few rows that fit the terminal. Draws nothing itself.

use planwright_run::runs::state::TaskState;
use planwright_verbs::run_history::first_useful_line;
use planwright_verbs::text::{columns, count, fill, fit, money, shown_name, tame, tokens};

use super::lines::{asked_words, done_words, stopping_words};
use super::progress::{Progress, Running};
use super::words::{Moment, elapsed, rough_duration};
use crate::render::terminal::Paint;
use crate::render::wrap::wrapped;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScreenSize {
    /// The width in characters.
    pub(crate) columns: usize,
    /// The height in lines.
    pub(crate) rows: usize,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct FrameRow {
    pub(crate) text: String,
    pub(crate) columns: usize,
}

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// From this width on, agents are shown.
const WITH_AGENT: usize = 56;
/// From this width on, titles are shown.
const WITH_TITLE: usize = 76;

/// Returns the display of a run at a moment, in the order of its rows. The last column and the last line of the terminal stay free: text
/// there scrolls or wraps.
pub(crate) fn frame(progress: &Progress, now: Moment, size: ScreenSize, paint: Paint) -> Vec<FrameRow> {
    let width = size.columns.saturating_sub(1);
    let mut left = most_rows(size.rows);
    if left == 0 || width == 0 {
        return Vec::new();
    }
    let canvas = Canvas {
        progress,
        now,
        width,
        paint,
    };
    let mut rows = vec![canvas.bar()];
    left -= 1;
    let banner = canvas.banner().filter(|_| left > 0);
    left -= usize::from(banner.is_some());
    let mut question = canvas.question();
    question.truncate(left);
    left -= question.len();
    let n_tasks = progress.running().len() + progress.resting().len();
    if left > 2 || (left > 0 && n_tasks < left) {
        rows.push(canvas.figures());
        left -= 1;
    }
    rows.extend(canvas.tasks(left));
    rows.extend(banner);
    rows.extend(question);
    rows
}

/// Leaves a part of a high terminal to earlier events.
fn most_rows(rows: usize) -> usize {
    match rows {
        0..12 => rows.saturating_sub(1),
        rows => (rows * 2 / 3).max(11),
    }
}

#[derive(Clone, Copy)]
struct Canvas<'p> {
    progress: &'p Progress,
    now: Moment,
    width: usize,
    paint: Paint,
}

/// The widths of the parts of a task's row.
#[derive(Clone, Copy)]
struct Widths {
    name: usize,
    title: usize,
    agent: usize,
    elapsed: usize,
}

/// A task's row before it is laid out.
struct FrameLine<'p> {
    mark: &'static str,
    name: String,
    title: &'p str,
    agent: String,
    elapsed: String,
    rest: String,
}

impl Canvas<'_> {
    /// Draws the progress of the run.
    fn bar(self) -> FrameRow {
        let counts = &self.progress.run_state.counts;
        let (n_done, n_failed, n_skipped) = (counts.n_done, counts.n_failed, counts.n_skipped);
        let n_left = self.progress.run_state.n_left();
        let words = [
            Some(done_words(self.progress)),
            (n_failed > 0).then(|| format!("{n_failed} failed")),
            (n_skipped > 0).then(|| format!("{n_skipped} skipped")),
            (counts.n_review > 0).then(|| format!("{} in review", counts.n_review)),
            (n_left > 0).then(|| format!("{n_left} left")),
        ];
        let words = joined(words.into_iter().flatten(), ", ", self.width);
        let mut row = RowBuilder::new(self.width);
        let space = self.width.saturating_sub(columns(&words) + 2).min(32);
        if space >= 8 {
            let n_all = (n_done + n_failed + n_skipped + counts.n_review + n_left).max(1);
            // Only done tasks fill the bar, like the words next to it.
            let done = usize::try_from(u128::from(n_done) * space as u128 / u128::from(n_all)).unwrap_or(space);
            row.add(&"█".repeat(done), |text| self.paint.good(text));
            row.add(&"░".repeat(space - done), |text| self.paint.dim(text));
            row.plain("  ");
        }
        row.add(&words, |text| self.paint.bold(text));
        row.done()
    }

    /// Draws time, verification and cost.
    fn figures(self) -> FrameRow {
        let run_state = &self.progress.run_state;
        let counts = &run_state.counts;
        let began = self.progress.began;
        let remaining = self.progress.remaining(self.now);
        let n_over = counts.n_done + counts.n_review;
        let n_verified = n_over.saturating_sub(counts.n_unverified);
        let proof = match (n_verified, counts.n_unverified) {
            (0, 0) => None,
            (n, 0) => Some(format!("{n} verified")),
            (0, n) => Some(format!("{n} unverified")),
            (n, m) => Some(format!("{n} verified, {m} unverified")),
        };
        let used = run_state.spent.tokens.map(|[n_in, n_out]| n_in.saturating_add(n_out));
        let words = [
            began.map(|began| elapsed(self.now.saturating_sub(began))),
            remaining.map(|remaining| format!("{} left", rough_duration(remaining))),
            proof,
            run_state.spent.cost_usd.map(money),
            used.map(|used| format!("{} tokens", tokens(used))),
        ];
        let mut row = RowBuilder::new(self.width);
        let words = joined(words.into_iter().flatten(), " · ", self.width);
        row.add(&words, |text| self.paint.dim(text));
        row.done()
    }

    /// Draws why nothing new starts, and the user's options at the keyboard.
    fn banner(self) -> Option<FrameRow> {
        let run_state = &self.progress.run_state;
        let n_interrupts = self.progress.n_interrupts;
        let n_running = self.progress.running().len() as u64;
        let running = count(n_running, "task");
        let next = match n_interrupts {
            0 => "Ctrl-C: no new task starts",
            1 => "Ctrl-C again ends them",
            2 => "Ctrl-C again ends them at once",
            _ => "",
        };
        let what = match (&run_state.halt.stopping, &run_state.halt.paused) {
            _ if n_interrupts > 1 => format!("ending {running}"),
            (Some(stopping), _) => format!("stopping, {running} still at work: {}", stopping_words(stopping)),
            (None, _) if n_interrupts == 1 => format!("stopping, {running} still at work"),
            (None, Some(asked)) => asked_words("paused", asked),
            (None, None) => return None,
        };
        // A run that stops for another reason than the keyboard is past the first step.
        let next = match (&run_state.halt.stopping, n_interrupts) {
            (Some(_), 0) => "Ctrl-C twice ends them",
            _ => next,
        };
        let mut row = RowBuilder::new(self.width);
        // A long reason must not hide the options.
        let space = self.width.saturating_sub(columns(next) + 3);
        if next.is_empty() || space < 12 {
            row.add(&what, |text| self.paint.warning(text));
        } else {
            row.add(&fit(&what, space), |text| self.paint.warning(text));
            row.plain(&format!(" · {next}"));
        }
        Some(row.done())
    }

    /// Draws the question to the user, in as many rows as it needs; the answer is typed below.
    fn question(self) -> Vec<FrameRow> {
        let question = self.progress.question.as_deref().unwrap_or_default();
        let rows = wrapped(question, self.width.max(1))
            .into_iter()
            .filter(|text| !text.is_empty());
        let rows = rows.map(|text| {
            let mut row = RowBuilder::new(self.width);
            row.add(&text, |text| self.paint.bold(text));
            row.done()
        });
        rows.collect()
    }

    /// Draws the tasks that agents work on, then those between two attempts; others are counted.
    fn tasks(self, most: usize) -> Vec<FrameRow> {
        let (running, resting) = (self.progress.running(), self.progress.resting());
        let n_all = running.len() + resting.len();
        let n_shown = if n_all > most { most.saturating_sub(1) } else { n_all };
        let at_work = running.map(|running| self.running(running));
        let waiting = resting.map(|(until, task)| self.resting(until, task));
        let lines: Vec<FrameLine<'_>> = at_work.chain(waiting).take(n_shown).collect();
        let widths = self.widths(&lines);
        let mut rows: Vec<FrameRow> = lines.iter().map(|line| self.lay_out(line, widths)).collect();
        if n_shown < n_all && most > 0 {
            let mut row = RowBuilder::new(self.width);
            let text = match n_shown {
                0 => format!("  {} at work", count(n_all as u64, "task")),
                n => format!("  … and {} more", n_all - n),
            };
            row.add(&text, |text| self.paint.dim(text));
            rows.push(row.done());
        }
        rows
    }

    fn running<'p>(self, running: &'p Running) -> FrameLine<'p>
    where
        Self: 'p,
    {
        let run_state = self.progress.run_state.task(&running.task);
        let is_verifying = run_state.is_some_and(|task| task.state == TaskState::Verifying);
        let last = run_state.and_then(|task| task.last());
        let agent = last.map_or_else(String::new, |attempt| match attempt.attempt {
            0 | 1 => tame(&attempt.agent),
            n => format!("{} #{n}", tame(&attempt.agent)),
        });
        let said = tame(&running.line);
        let spinner = (self.now / 100 % SPINNER.len() as u64) as usize;
        FrameLine {
            mark: SPINNER.get(spinner).copied().unwrap_or("·"),
            name: shown_name(&running.task),
            title: self.progress.setting.title(&running.task),
            agent,
            elapsed: elapsed(self.now.saturating_sub(running.since)),
            rest: match (is_verifying, said.is_empty()) {
                (true, true) => "verifying".to_owned(),
                (true, false) => format!("verifying: {said}"),
                (false, _) => said,
            },
        }
    }

    fn resting<'p>(self, until: Moment, task: &'p str) -> FrameLine<'p>
    where
        Self: 'p,
    {
        let run_state = self.progress.run_state.task(task);
        let resting = run_state.and_then(|task| task.resting.as_ref());
        let rest = resting.map(|(resting, _)| {
            let why = resting.why.as_deref().and_then(first_useful_line);
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            let wait = elapsed(until.saturating_sub(self.now));
            format!("attempt {} in {wait}{why}", resting.attempt.saturating_add(1))
        });
        FrameLine {
            mark: "◷",
            name: shown_name(task),
            title: self.progress.setting.title(task),
            agent: run_state
                .and_then(|task| task.last())
                .map_or_else(String::new, |attempt| tame(&attempt.agent)),
            elapsed: String::new(),
            rest: rest.unwrap_or_else(|| "waits for another attempt".to_owned()),
        }
    }

    fn widths(self, lines: &[FrameLine<'_>]) -> Widths {
        let widest = |of: &dyn Fn(&FrameLine<'_>) -> usize| lines.iter().map(of).max().unwrap_or(0);
        let name = widest(&|line| columns(&line.name));
        let agent = widest(&|line| columns(&line.agent));
        let title = widest(&|line| columns(&fit(line.title, self.width)));
        Widths {
            name: name.min(if self.width < WITH_AGENT { 10 } else { 18 }),
            title: if self.width < WITH_TITLE {
                0
            } else {
                title.min(self.width / 4)
            },
            agent: if self.width < WITH_AGENT { 0 } else { agent.min(14) },
            elapsed: widest(&|line| line.elapsed.len()),
        }
    }

    fn lay_out(self, line: &FrameLine<'_>, widths: Widths) -> FrameRow {
        let paint = self.paint;
        let mut row = RowBuilder::new(self.width);
        row.add(line.mark, |text| paint.active(text));
        row.plain(" ");
        row.add(&fill(&line.name, widths.name), |text| paint.bold(text));
        if widths.title > 0 {
            row.plain(&format!("  {}", fill(&tame(line.title), widths.title)));
        }
        if widths.agent > 0 {
            row.plain(&format!("  {}", fill(&line.agent, widths.agent)));
        }
        if widths.elapsed > 0 {
            row.plain(&format!("  {:>width$}", line.elapsed, width = widths.elapsed));
        }
        if !line.rest.is_empty() {
            row.plain("  ");
            row.add(&line.rest, |text| paint.dim(text));
        }
        row.done()
    }
}

/// Joins as many words as fit; the first ones are the most important.
fn joined(words: impl Iterator<Item = String>, between: &str, most: usize) -> String {
    let mut text = String::new();
    for word in words {
        let glue = if text.is_empty() { "" } else { between };
        if columns(&text) + columns(glue) + columns(&word) > most {
            break;
        }
        text.push_str(glue);
        text.push_str(&word);
    }
    text
}

/// A row that grows to the right until it is full.
struct RowBuilder {
    row: FrameRow,
    most: usize,
}

impl RowBuilder {
    fn new(most: usize) -> Self {
        RowBuilder {
            row: FrameRow::default(),
            most,
        }
    }

    fn plain(&mut self, text: &str) {
        self.add(text, str::to_owned);
    }

    fn add(&mut self, text: &str, style: impl Fn(&str) -> String) {
        let left = self.most - self.row.columns;
        let fitted = fit(text, left);
        if !fitted.is_empty() {
            self.row.columns += columns(&fitted).min(left);
            self.row.text.push_str(&style(&fitted));
        }
    }

    fn done(self) -> FrameRow {
        self.row
    }
}
