//! The text of `planwright show` for a plan: tasks that need attention first, done tasks folded, progress at the bottom.

use planwright_core::diagnostic::Severity;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::{Field, PlanProgress, Readiness, Status};
use planwright_verbs::face::Result;
use planwright_verbs::plans::{OpenedPlan, states_in};
use planwright_verbs::show::ShowPlanReport;
use planwright_verbs::text::{columns, cut, one_line, shown_name, some_of};

use super::task_words::{explain, mark};
use crate::render::findings::plural;
use crate::render::terminal::Paint;
use crate::render::wrap::{cut_at_word, wrapped};

/// The content and the size of the output.
pub(super) struct ShownPage<'r> {
    pub(super) report: &'r ShowPlanReport,
    /// Whether every task is shown in the order of the file.
    pub(super) is_whole: bool,
    /// Whether the tasks were selected by their states.
    pub(super) is_filtered: bool,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) paint: Paint,
}

/// The groups of tasks, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Running,
    Failed,
    Unknown,
    Blocked,
    Ready,
    Waiting,
    Skipped,
    Done,
}

impl Group {
    const ALL: [Group; 8] = [
        Group::Running,
        Group::Failed,
        Group::Unknown,
        Group::Blocked,
        Group::Ready,
        Group::Waiting,
        Group::Skipped,
        Group::Done,
    ];

    fn of(status: Status, is_ready: bool) -> Self {
        match status {
            Status::Running => Group::Running,
            Status::Failed => Group::Failed,
            Status::Unknown(_) => Group::Unknown,
            Status::Blocked(_) => Group::Blocked,
            Status::Pending if is_ready => Group::Ready,
            Status::Pending => Group::Waiting,
            Status::Skipped => Group::Skipped,
            Status::Done => Group::Done,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Group::Running => "running",
            Group::Failed => "failed",
            Group::Unknown => "with an unknown status",
            Group::Blocked => "blocked",
            Group::Ready => "ready",
            Group::Waiting => "waiting",
            Group::Skipped => "skipped",
            Group::Done => "done",
        }
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

pub(super) fn draw(page: &ShownPage<'_>) -> Result<String> {
    let report = page.report;
    let (opened, linked) = (&report.opened, report.opened.linked()?);
    let readiness = Readiness::new(&linked.plan, &linked.links);
    let head = head(opened, linked, page);
    let foot = foot(opened, linked, &readiness, page);
    let drawing = PlanDrawing {
        opened,
        linked,
        readiness: &readiness,
        widest: report
            .places
            .iter()
            .map(|&ix| columns(&shown_name(&linked.plan.task_name(ix))))
            .max()
            .unwrap_or(0)
            .min(16),
        page,
    };
    let body = match page.is_whole || page.is_filtered {
        true => report
            .places
            .iter()
            .map(|&ix| drawing.task(ix, Detail::Whole))
            .collect(),
        // One more line is for the shell's prompt.
        false => drawing.bounded(page.height.saturating_sub(n_lines(&head) + n_lines(&foot) + 1)),
    };
    Ok(format!("{head}{body}{foot}"))
}

fn n_lines(text: &str) -> usize {
    text.matches('\n').count()
}

/// Returns the title, the goal, and the source of the plan.
fn head(opened: &OpenedPlan, linked: &LinkedPlan, page: &ShownPage<'_>) -> String {
    /// A longer goal can be read with `planwright show --json`, or in the file.
    const GOAL_LINES: usize = 3;
    let (plan, paint, width) = (&linked.plan, page.paint, page.width);
    let mut lines = Vec::new();
    let title = one_line(plan.title());
    let shown = if title.is_empty() { "(no title)" } else { &title };
    let shown = cut_at_word(shown, width * GOAL_LINES);
    lines.extend(wrapped(&shown, width).iter().map(|line| paint.bold(line)));
    let goal = [Field::Goal, Field::Description]
        .into_iter()
        .find_map(|field| plan.head_str(field))
        .map(one_line);
    if let Some(goal) = goal.filter(|goal| !goal.is_empty() && *goal != title) {
        lines.extend(wrapped(&cut_at_word(&goal, width * GOAL_LINES), width));
    }
    let status = plan
        .head_str(Field::Status)
        .map_or(String::new(), |status| format!(" · {}", one_line(status)));
    let origin = format!("{} ({}){status} · {}", plan.dialect, plan.form, one_line(&opened.path));
    lines.extend(wrapped(&origin, width).iter().map(|line| paint.dim(line)));
    if states_in(plan) == "journal" {
        let words = "the states of its tasks are kept in .planwright, which git ignores: they stay on this machine";
        lines.extend(wrapped(words, width).iter().map(|line| paint.dim(line)));
    }
    lines.push(String::new());
    joined(lines)
}

/// Returns the ready tasks, the findings, and the progress.
fn foot(opened: &OpenedPlan, linked: &LinkedPlan, readiness: &Readiness<'_>, page: &ShownPage<'_>) -> String {
    let (plan, paint, width) = (&linked.plan, page.paint, page.width);
    let progress = readiness.progress();
    let mut lines = vec![String::new()];
    if page.report.places.is_empty() && page.is_filtered {
        lines = vec!["no task is in this state".to_owned(), String::new()];
    }
    let mut ready = readiness.ready();
    ready.retain(|ix| !opened.access.unproven.contains_key(ix));
    let is_offered_again =
        |ix: &usize| plan.tasks()[*ix].status == Status::Running && opened.access.is_lease_over(&plan.task_name(*ix));
    ready.extend((0..plan.tasks().len()).filter(is_offered_again));
    let names = ready.iter().map(|&ix| shown_name(&plan.task_name(ix)));
    if opened.access.gate.is_some() {
        let words = opened.access.gate_words();
        lines.extend(wrapped(&words, width).iter().map(|line| paint.warning(line)));
    } else if !ready.is_empty() {
        lines.extend(wrapped(&format!("ready: {}", some_of(names, 8)), width));
    } else if progress.pending > 0 && progress.running == 0 {
        let words = "nothing is ready: `planwright why TASK` says why";
        lines.extend(wrapped(words, width).iter().map(|line| paint.warning(line)));
    }
    let n_errors = opened.inspection.count(Severity::Error);
    if n_errors > 0 {
        let words = format!(
            "the plan has {}: see planwright check {}",
            plural_errors(n_errors),
            one_line(&opened.path)
        );
        lines.extend(wrapped(&words, width).iter().map(|line| paint.error(line)));
    }
    let counts = counts(progress, opened.access.n_interrupted(plan));
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
    opened: &'d OpenedPlan,
    linked: &'d LinkedPlan,
    readiness: &'d Readiness<'d>,
    /// The width of the column for names.
    widest: usize,
    page: &'d ShownPage<'d>,
}

impl PlanDrawing<'_> {
    /// Draws the tasks by groups, in as much detail as fits this many lines.
    fn bounded(&self, rows: usize) -> String {
        let groups = Group::ALL.map(|group| {
            let tasks = self.page.report.places.iter().copied();
            (group, tasks.filter(|&ix| self.group(ix) == group).collect::<Vec<_>>())
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
    fn cut_groups(&self, groups: &[(Group, Vec<usize>)], rows: usize) -> String {
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
            for &ix in tasks {
                let task = self.task(ix, Detail::Title);
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

    fn group(&self, ix: usize) -> Group {
        Group::of(self.linked.plan.tasks()[ix].status, self.readiness.is_ready(ix))
    }

    fn group_lines(&self, group: Group, tasks: &[usize], detail: Detail) -> String {
        let is_over = group == Group::Done || (group == Group::Skipped && detail == Detail::Title);
        match is_over && tasks.len() > 1 {
            true => self.folded(group, tasks, false),
            false => tasks.iter().map(|&ix| self.task(ix, detail)).collect(),
        }
    }

    /// Returns one line for several tasks of a group.
    fn folded(&self, group: Group, tasks: &[usize], is_rest: bool) -> String {
        const HINT: &str = " (--all lists them)";
        let Some(&first) = tasks.first() else {
            return String::new();
        };
        let paint = self.page.paint;
        let status = self.linked.plan.tasks()[first].status;
        let more = if is_rest { " more" } else { "" };
        let count = format!("{}{more} {}", tasks.len(), group.word());
        let room = self.page.width.saturating_sub(columns(&count) + columns(HINT) + 6);
        let names = tasks
            .iter()
            .map(|&ix| cut(&shown_name(&self.linked.plan.task_name(ix)), 24));
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
        format!(
            "  {} {}\n",
            mark(status, group == Group::Ready, paint),
            paint.dim(&words)
        )
    }

    fn task(&self, task_ix: usize, detail: Detail) -> String {
        /// The line limit of a whole title or reason.
        const LINES: usize = 6;
        let ShownPage { paint, width, .. } = *self.page;
        let plan = &self.linked.plan;
        let task = &plan.tasks()[task_ix];
        let name = cut(&shown_name(&plan.task_name(task_ix)), 24);
        let padding = " ".repeat(self.widest.saturating_sub(columns(&name)));
        let ready = self.readiness.is_ready(task_ix);
        let room = width.saturating_sub(self.widest + 6).max(20);
        let indent = " ".repeat(self.widest + 6);
        let laid_out = |text: &str| match detail {
            Detail::Whole => wrapped(&cut_at_word(text, room * LINES), room),
            Detail::Short | Detail::Title => vec![cut_at_word(text, room)],
        };
        let painted = |line: &str| match task.status {
            Status::Done | Status::Skipped => paint.dim(line),
            Status::Failed => paint.error(line),
            Status::Running => paint.active(line),
            _ if ready => paint.bold(line),
            _ => line.to_owned(),
        };
        let title_room = room.saturating_sub(columns(&name).saturating_sub(self.widest));
        let title = one_line(plan.task_subject(task));
        let title = match detail {
            Detail::Whole => wrapped(&cut_at_word(&title, title_room * LINES), title_room),
            Detail::Short | Detail::Title => vec![cut_at_word(&title, title_room)],
        };
        let mut out = format!("  {} {name}{padding}  ", mark(task.status, ready, paint));
        out.push_str(
            &title
                .iter()
                .map(|line| painted(line))
                .collect::<Vec<_>>()
                .join(&format!("\n{indent}")),
        );
        out.push('\n');
        let is_urgent = matches!(
            self.group(task_ix),
            Group::Running | Group::Failed | Group::Unknown | Group::Blocked
        );
        if let Some(reason) = self.reason(task_ix).filter(|_| detail != Detail::Title || is_urgent) {
            for line in laid_out(&reason) {
                out.push_str(&format!("{indent}{}\n", paint.dim(&line)));
            }
        }
        out
    }

    /// Returns the holder of a task, or why it does not proceed.
    fn reason(&self, task_ix: usize) -> Option<String> {
        let plan = &self.linked.plan;
        let (status, standing) = (plan.tasks()[task_ix].status, &self.opened.access);
        let holder = || standing.holder_words(&plan.task_name(task_ix));
        if let Some(holder) = (status == Status::Running).then(holder).flatten() {
            return Some(holder);
        }
        let unproven = standing.unproven.get(&task_ix);
        if let Some(closed) = unproven.filter(|_| status == Status::Pending) {
            return Some(closed.message.clone());
        }
        let why = explain(plan, &self.opened.reasons, self.readiness, task_ix);
        let cause = || self.page.report.skip_causes.cause(self.linked, task_ix);
        match why.is_empty() {
            false => Some(why),
            true => cause().map(|cause| format!("skipped{cause}")),
        }
    }
}

/// The limit of names in a folded group.
const MOST_NAMES: usize = 12;

pub(crate) fn plural_errors(n: usize) -> String {
    format!("{n} {}", plural(Severity::Error, n))
}

/// The width of a progress bar.
const BAR_CELLS: usize = 20;

/// Returns a progress bar, filled by the done tasks.
pub(crate) fn bar(progress: PlanProgress, paint: Paint) -> String {
    let full = (progress.done * BAR_CELLS).checked_div(progress.total).unwrap_or(0);
    format!(
        "{}{}",
        paint.good(&"█".repeat(full)),
        paint.dim(&"░".repeat(BAR_CELLS - full))
    )
}

/// Returns the non-zero counts. An interrupted run may have left some of the running tasks.
pub(crate) fn counts(progress: PlanProgress, n_interrupted: usize) -> String {
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
