//! The text of `planwright show` for a plan: tasks that need attention first, done tasks folded, progress at the bottom.

use planwright_verbs::json::ProgressReport;
use planwright_verbs::plans::{ShownState, TaskSummary};
use planwright_verbs::show::ShowPlanReport;
use planwright_verbs::text::{columns, count, cut, one_line, shown_name, some_of};

use crate::cli::task_words::mark;
use crate::render::terminal::Paint;
use crate::render::wrap::{cut_at_word, wrapped};

/// The content and the size of the output.
pub(in crate::cli) struct ShownPage<'r> {
    pub(in crate::cli) report: &'r ShowPlanReport,
    /// Whether every task is shown in the order of the file.
    pub(in crate::cli) is_whole: bool,
    /// Whether the tasks were selected by their states.
    pub(in crate::cli) is_filtered: bool,
    pub(in crate::cli) width: usize,
    pub(in crate::cli) height: usize,
    pub(in crate::cli) paint: Paint,
}

/// Returns the word for a group of tasks.
fn group_word(group: ShownState) -> &'static str {
    match group {
        ShownState::Running => "running",
        ShownState::Failed => "failed",
        ShownState::Unknown => "with an unknown status",
        ShownState::Blocked => "blocked",
        ShownState::Ready => "ready",
        ShownState::Waiting => "waiting",
        ShownState::Skipped => "skipped",
        ShownState::Done => "done",
    }
}

/// How much of each task is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// The whole title, and the whole reason.
    Whole,
    /// A line for the title, and one for the reason.
    Short,
    /// A line for the title; a reason only where the task is running, failed or blocked.
    Title,
}

pub(in crate::cli) fn draw(page: &ShownPage<'_>) -> String {
    let tasks = &page.report.page.tasks;
    let (head, foot) = (head(page), foot(page));
    let widths = tasks.iter().map(|task| columns(&shown_name(&task.name)));
    let drawing = PlanDrawing {
        widest: widths.max().unwrap_or(0).min(16),
        page,
    };
    let body = match page.is_whole || page.is_filtered {
        true => tasks
            .iter()
            .map(|task| drawing.groups_before(task) + &drawing.task(task, Detail::Whole))
            .collect(),
        // One more line is for the shell's prompt.
        false => drawing.bounded(page.height.saturating_sub(n_lines(&head) + n_lines(&foot) + 1)),
    };
    format!("{head}{body}{foot}")
}

fn n_lines(text: &str) -> usize {
    text.matches('\n').count()
}

/// Returns the title, the goal, and the source of the plan.
fn head(page: &ShownPage<'_>) -> String {
    /// A longer goal can be read with `planwright show --json`, or in the file.
    const GOAL_LINES: usize = 3;
    let (plan, paint, width) = (&page.report.plan, page.paint, page.width);
    let mut lines = Vec::new();
    let title = one_line(&plan.title);
    let shown = if title.is_empty() { "(no title)" } else { &title };
    let shown = cut_at_word(shown, width * GOAL_LINES);
    lines.extend(wrapped(&shown, width).iter().map(|line| paint.bold(line)));
    let goal = page.report.page.goal.as_deref().map(one_line);
    if let Some(goal) = goal.filter(|goal| !goal.is_empty() && *goal != title) {
        lines.extend(wrapped(&cut_at_word(&goal, width * GOAL_LINES), width));
    }
    let status = plan.status.as_deref();
    let status = status.map_or(String::new(), |status| format!(" · {}", one_line(status)));
    let order = plan.order.as_ref();
    let order = order.map_or(String::new(), |order| format!(" · order {order}"));
    let origin = format!(
        "{} ({}){status}{order} · {}",
        plan.dialect,
        plan.form,
        one_line(&plan.path)
    );
    lines.extend(wrapped(&origin, width).iter().map(|line| paint.dim(line)));
    if plan.states_in == "journal" {
        let words = "the states of its tasks are kept in .planwright, which git ignores: they stay on this machine";
        lines.extend(wrapped(words, width).iter().map(|line| paint.dim(line)));
    }
    lines.push(String::new());
    joined(lines)
}

/// Returns the ready tasks, the findings, and the progress.
fn foot(page: &ShownPage<'_>) -> String {
    let (plan, shown, paint, width) = (&page.report.plan, &page.report.page, page.paint, page.width);
    let progress = &plan.progress;
    let mut lines = vec![String::new()];
    if shown.tasks.is_empty() && page.is_filtered {
        lines = vec!["no task is in this state".to_owned(), String::new()];
    }
    let names = shown.ready.iter().map(|name| shown_name(name));
    if let Some(words) = &shown.closed {
        lines.extend(wrapped(words, width).iter().map(|line| paint.warning(line)));
    } else if !shown.ready.is_empty() {
        lines.extend(wrapped(&format!("ready: {}", some_of(names, 8)), width));
    } else if progress.pending > 0 && progress.running == 0 {
        let words = "no task is ready: `planwright why TASK` explains why";
        lines.extend(wrapped(words, width).iter().map(|line| paint.warning(line)));
    }
    if plan.errors > 0 {
        let words = format!(
            "the plan has {}: see planwright check {}",
            count(plan.errors as u64, "error"),
            one_line(&plan.path)
        );
        lines.extend(wrapped(&words, width).iter().map(|line| paint.error(line)));
    }
    let counts = counts(progress, shown.n_interrupted);
    let counted = wrapped(&counts, width.saturating_sub(BAR_CELLS + 2));
    let mut counted = counted.iter();
    let first = counted.next().map_or("", String::as_str);
    lines.push(format!("{}  {first}", bar(progress, paint)));
    lines.extend(counted.map(|line| format!("{}{line}", " ".repeat(BAR_CELLS + 2))));
    joined(lines)
}

fn joined(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

struct PlanDrawing<'d> {
    /// The width of the column for names.
    widest: usize,
    page: &'d ShownPage<'d>,
}

impl PlanDrawing<'_> {
    /// Draws the tasks by groups, in as much detail as fits this many lines.
    fn bounded(&self, rows: usize) -> String {
        let groups = ShownState::ALL.map(|group| {
            let tasks = self.page.report.page.tasks.iter();
            (group, tasks.filter(|task| task.state == group).collect::<Vec<_>>())
        });
        let groups: Vec<_> = groups.into_iter().filter(|(_, tasks)| !tasks.is_empty()).collect();
        for detail in [Detail::Whole, Detail::Short, Detail::Title] {
            let drawn: String = groups
                .iter()
                .map(|(group, tasks)| self.group_lines(*group, tasks, detail))
                .collect();
            if n_lines(&drawn) <= rows {
                return drawn;
            }
        }
        self.cut_groups(&groups, rows)
    }

    /// Draws as many tasks of each group as fit; the rest of a group is counted on one line.
    fn cut_groups(&self, groups: &[(ShownState, Vec<&TaskSummary>)], rows: usize) -> String {
        let mut out = String::new();
        for (group_ix, (group, tasks)) in groups.iter().enumerate() {
            // Each further group needs at least one line.
            let n_behind = groups.len() - group_ix - 1;
            let room = rows.saturating_sub(n_lines(&out) + n_behind).max(1);
            let whole = self.group_lines(*group, tasks, Detail::Title);
            if n_lines(&whole) <= room {
                out.push_str(&whole);
                continue;
            }
            let mut drawn = String::new();
            let mut n_drawn = 0;
            for task in tasks {
                let task = self.task(task, Detail::Title);
                if n_lines(&drawn) + n_lines(&task) + 1 > room {
                    break;
                }
                drawn.push_str(&task);
                n_drawn += 1;
            }
            out.push_str(&drawn);
            out.push_str(&self.folded(*group, &tasks[n_drawn..], n_drawn > 0));
        }
        out
    }

    fn group_lines(&self, group: ShownState, tasks: &[&TaskSummary], detail: Detail) -> String {
        let is_over = group == ShownState::Done || (group == ShownState::Skipped && detail == Detail::Title);
        match is_over && tasks.len() > 1 {
            true => self.folded(group, tasks, false),
            false => tasks.iter().map(|task| self.task(task, detail)).collect(),
        }
    }

    /// Returns one line for several tasks of a group.
    fn folded(&self, group: ShownState, tasks: &[&TaskSummary], is_rest: bool) -> String {
        const HINT: &str = " (--all lists them)";
        if tasks.is_empty() {
            return String::new();
        }
        let paint = self.page.paint;
        let more = if is_rest { " more" } else { "" };
        let count = format!("{}{more} {}", tasks.len(), group_word(group));
        let room = self.page.width.saturating_sub(columns(&count) + columns(HINT) + 6);
        let names = tasks.iter().map(|task| cut(&shown_name(&task.name), 24));
        let names: Vec<String> = names.take(MOST_NAMES).collect();
        let named = (1..=names.len()).rev().find_map(|n_named| {
            let others = match tasks.len() - n_named {
                0 => String::new(),
                _ => ", …".to_owned(),
            };
            let words = format!(": {}{others}", names[..n_named].join(", "));
            (columns(&words) <= room).then_some(words)
        });
        let words = format!("{count}{}{HINT}", named.unwrap_or_default());
        format!("  {} {}\n", mark(group, paint), paint.dim(&words))
    }

    /// Returns the lines of the groups that begin before a task.
    fn groups_before(&self, task: &TaskSummary) -> String {
        let lines = task
            .opens
            .iter()
            .filter(|_| !self.page.is_filtered)
            .map(|(name, title)| {
                let words = cut_at_word(
                    &format!("{} {}", shown_name(name), one_line(title)),
                    self.page.width.saturating_sub(2),
                );
                format!("  {}\n", self.page.paint.dim(&words))
            });
        lines.collect()
    }

    fn task(&self, task: &TaskSummary, detail: Detail) -> String {
        /// The line limit of a whole title or reason.
        const LINES: usize = 6;
        let ShownPage { paint, width, .. } = *self.page;
        let name = cut(&shown_name(&task.name), 24);
        let padding = " ".repeat(self.widest.saturating_sub(columns(&name)));
        let room = width.saturating_sub(self.widest + 6).max(20);
        let indent = " ".repeat(self.widest + 6);
        let laid_out = |text: &str| match detail {
            Detail::Whole => wrapped(&cut_at_word(text, room * LINES), room),
            Detail::Short | Detail::Title => vec![cut_at_word(text, room)],
        };
        let painted = |line: &str| match task.state {
            ShownState::Done | ShownState::Skipped => paint.dim(line),
            ShownState::Failed => paint.error(line),
            ShownState::Running => paint.active(line),
            ShownState::Ready => paint.bold(line),
            _ => line.to_owned(),
        };
        let title_room = room.saturating_sub(columns(&name).saturating_sub(self.widest));
        let title = one_line(&task.title);
        let title = match detail {
            Detail::Whole => wrapped(&cut_at_word(&title, title_room * LINES), title_room),
            Detail::Short | Detail::Title => vec![cut_at_word(&title, title_room)],
        };
        let mut out = format!("  {} {name}{padding}  ", mark(task.state, paint));
        out.push_str(
            &title
                .iter()
                .map(|line| painted(line))
                .collect::<Vec<_>>()
                .join(&format!("\n{indent}")),
        );
        out.push('\n');
        let is_urgent = task.state <= ShownState::Blocked;
        if let Some(reason) = task.reason.as_deref().filter(|_| detail != Detail::Title || is_urgent) {
            for line in laid_out(reason) {
                out.push_str(&format!("{indent}{}\n", paint.dim(&line)));
            }
        }
        out
    }
}

/// The limit of names in a folded group.
const MOST_NAMES: usize = 12;

/// The width of a progress bar.
const BAR_CELLS: usize = 20;

/// Returns a progress bar, filled by the done tasks.
pub(crate) fn bar(progress: &ProgressReport, paint: Paint) -> String {
    let full = (progress.done * BAR_CELLS).checked_div(progress.total).unwrap_or(0);
    format!(
        "{}{}",
        paint.good(&"█".repeat(full)),
        paint.dim(&"░".repeat(BAR_CELLS - full))
    )
}

/// Returns the non-zero counts. An interrupted run may have left some of the running tasks.
pub(crate) fn counts(progress: &ProgressReport, n_interrupted: usize) -> String {
    let mut parts = vec![format!("{}/{} done", progress.done, progress.total)];
    let others = [
        (progress.running.saturating_sub(n_interrupted), "running"),
        (n_interrupted, "interrupted"),
        (progress.failed, "failed"),
        (progress.skipped, "skipped"),
        (progress.blocked, "blocked"),
        (progress.pending, "pending"),
    ];
    parts.extend(
        others
            .into_iter()
            .filter(|&(n, _)| n > 0)
            .map(|(n, word)| format!("{n} {word}")),
    );
    parts.join(" · ")
}
