//! The summary of a run: result, reasons, expenses, and the command to continue.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use planwright_run::git::Diffstat;
use planwright_run::runs::RunStanding;
use planwright_run::runs::state::{Counts, RunState, TaskRun, TaskState};
use planwright_run::shell::argument;
use serde::Serialize;

use super::changes::{ChangeReport, change_lines, changes, look_first};
use super::columns::columns;
use super::lines::{files_words, standing_words, why_of};
use super::progress::Setting;
use super::reason::first_useful_line;
use crate::render::quantity::{count, duration, money, some_of, tokens};
use crate::render::terminal::{Paint, cut, one_line, printable, shown_name};
use crate::render::wrap::{below, hanging};

/// The version of a run's report.
const VERSION: &str = "planwright.run/v1";

/// How many tasks of a kind are shown to people; the rest is counted.
const MAX_SHOWN: usize = 20;

/// How many criteria of a task are shown, and how many characters of each.
const MAX_CRITERIA: usize = 4;
const MAX_CRITERION: usize = 60;

/// The longest title that is shown whole.
const MAX_TITLE: usize = 160;

/// How many names stand on one line.
const MAX_NAMES: usize = 8;

/// What came of a run. All of it is for programs; `planwright run --json` ends with it.
#[derive(Debug, Serialize)]
pub(crate) struct RunReport {
    schema_version: &'static str,
    run: String,
    plan: String,
    /// How it ended: `finished`, `stuck`, `stopped`, `paused`, `awaits-review`, `reviewed`; `running` or `interrupted` before it has ended.
    standing: String,
    /// Why it ended, in words.
    why: Option<String>,
    counts: CountsReport,
    milliseconds: Option<u64>,
    cost_usd: Option<f64>,
    tokens: Option<TokensReport>,
    failed: Vec<FailedReport>,
    skipped: Vec<SkippedReport>,
    review: Vec<ReviewReport>,
    /// Tasks that are done, or wait for review, and that nothing has verified.
    unverified: Vec<String>,
    /// Criteria of the same tasks that no rule verifies.
    unverified_criteria: Vec<CriteriaReport>,
    /// Tasks that are done or wait for review although no file was changed.
    unchanged: Vec<String>,
    /// Tasks that were ended or interrupted.
    stopped: Vec<StoppedReport>,
    /// Tasks that another process took over while the run worked on them.
    taken_over: Vec<TakenOverReport>,
    drift: Vec<DriftReport>,
    /// Tasks whose last attempt was another agent's than it was to be.
    fallbacks: Vec<FallbackReport>,
    /// What the accepted tasks changed.
    changes: Vec<ChangeReport>,
    /// The tasks to look at first, with the reason.
    look_first: Vec<LookReport>,
    /// What the user should know besides.
    remarks: Vec<RemarkReport>,
    /// Where work has landed; none where it has not, or tasks share the folder.
    landed: Option<LandedReport>,
    /// The command that goes on.
    next: Option<String>,
    /// The command that has a planner change the plan, where a task failed.
    replan: Option<String>,
    /// Whether the run is paused now.
    paused: bool,
    /// The newest run of the plan, where that is a later one.
    later_run: Option<String>,
}

/// A task that deserves a look before the others.
#[derive(Debug, Serialize)]
struct LookReport {
    task: String,
    why: &'static str,
}

/// Where the work of a run has landed.
#[derive(Debug, Serialize)]
struct LandedReport {
    branch: String,
    /// The commit that the branch began at.
    start: String,
    /// How many tasks.
    tasks: usize,
    /// The command that shows it.
    review: String,
    /// The command that brings it into the branch that is checked out; none where it is there.
    land: Option<String>,
    /// The checked-out branch, where `land` has brought all of it there.
    #[serde(skip_serializing_if = "Option::is_none")]
    into: Option<String>,
    /// Whether the branch does not exist any more.
    #[serde(skip)]
    is_gone: bool,
}

/// How many tasks are where.
#[derive(Debug, Serialize)]
struct CountsReport {
    done: u64,
    failed: u64,
    skipped: u64,
    left: u64,
    review: u64,
    verified: u64,
    unverified: u64,
    /// Done or waiting for review, and no file was changed.
    unchanged: u64,
}

/// How many tokens went in and came out.
#[derive(Debug, Serialize)]
struct TokensReport {
    input: u64,
    output: u64,
}

/// A task that failed.
#[derive(Debug, Serialize)]
struct FailedReport {
    task: String,
    title: Option<String>,
    attempts: usize,
    /// The first useful line of why.
    why: String,
    /// The command that shows its log.
    log: String,
    /// The checkout that its last attempt worked in.
    checkout: Option<String>,
}

/// A task that was left out.
#[derive(Debug, Serialize)]
struct SkippedReport {
    task: String,
    /// The task that failed.
    because: String,
}

/// A task that somebody must look at.
#[derive(Debug, Serialize)]
struct ReviewReport {
    task: String,
    title: Option<String>,
    /// The command that approves it.
    approve: String,
    /// The command that rejects it.
    reject: String,
    /// The command that shows what waits to land.
    #[serde(skip_serializing_if = "Option::is_none")]
    look: Option<String>,
    /// The files that verify it and that it changed or removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    protected: Vec<String>,
}

/// The criteria of a task that no rule verifies.
#[derive(Debug, Serialize)]
struct CriteriaReport {
    task: String,
    criteria: Vec<String>,
}

/// A task that did not come to its end.
#[derive(Debug, Serialize)]
struct StoppedReport {
    task: String,
    why: Option<String>,
    log: String,
    /// The checkout that its last attempt worked in.
    checkout: Option<String>,
}

/// A task that another process took over while the run worked on it.
#[derive(Debug, Serialize)]
struct TakenOverReport {
    task: String,
    title: Option<String>,
    /// Who, where the history has it.
    by: Option<String>,
    /// The state that they gave it.
    to: String,
}

/// A task that touched files which its plan does not name.
#[derive(Debug, Serialize)]
struct DriftReport {
    task: String,
    files: Vec<String>,
}

/// A task that another agent took than was to.
#[derive(Debug, Serialize)]
struct FallbackReport {
    task: String,
    agent: String,
    instead_of: String,
}

/// Something that the user should know.
#[derive(Debug, Serialize)]
struct RemarkReport {
    task: Option<String>,
    text: String,
}

impl RunReport {
    /// Returns the same of a run that has not ended; `standing` is the word for how it stands.
    pub(crate) fn standing(self, standing: &str) -> Self {
        let is_running = standing == "running";
        RunReport {
            standing: standing.to_owned(),
            next: self.next.filter(|_| !is_running),
            // `land` waits for the end of the run.
            landed: self.landed.map(|landed| LandedReport {
                land: landed.land.filter(|_| !is_running),
                ..landed
            }),
            ..self
        }
    }

    /// Returns the same with the command that continues by the plan as it is now, and with the later run of the plan.
    pub(crate) fn continued(self, next: Option<String>, later_run: Option<String>) -> Self {
        RunReport {
            next,
            later_run,
            ..self
        }
    }

    /// Returns the same with how much each commit changes.
    pub(crate) fn with_diffstats(mut self, stats: &BTreeMap<String, Diffstat>) -> Self {
        self.changes.iter_mut().for_each(|change| change.take(stats));
        let weakening = self.changes.iter().filter(|change| change.weakens_tests());
        let is_known = |task: &str| self.look_first.iter().any(|look| look.task == task);
        let new: Vec<LookReport> = weakening
            .filter(|change| !is_known(&change.task))
            .map(|change| LookReport {
                task: change.task.clone(),
                why: "removed lines of tests",
            })
            .collect();
        self.look_first.extend(new);
        self
    }

    /// Returns the same of a run whose work is part of the checked-out branch.
    pub(crate) fn landed_into(self, branch: String) -> Self {
        let landed = self.landed.map(|landed| LandedReport {
            land: None,
            into: Some(branch),
            ..landed
        });
        RunReport { landed, ..self }
    }

    /// Returns the same of a run whose branch is gone, with the command that brings it back.
    pub(crate) fn without_branch(self, last_commit: &str) -> Self {
        let landed = self.landed.map(|landed| LandedReport {
            land: None,
            review: format!("git branch {} {last_commit}", argument(&landed.branch)),
            is_gone: true,
            ..landed
        });
        RunReport { landed, ..self }
    }

    /// Returns what a state says of a run.
    pub(crate) fn new(setting: &Setting, run_state: &RunState) -> Self {
        let ended = run_state.ended.as_ref();
        let of = |is_one: &dyn Fn(&TaskState) -> bool| -> Vec<&TaskRun> {
            run_state
                .tasks()
                .iter()
                .filter(|task| is_one(&task.standing()))
                .collect()
        };
        let title = |task: &str| setting.titles.get(task).cloned();
        let failed = of(&|state| *state == TaskState::Failed)
            .into_iter()
            .filter(|task| task.state == TaskState::Failed)
            .map(|task| FailedReport {
                task: task.task.clone(),
                title: title(&task.task),
                attempts: task.attempts.len(),
                why: why_of(task),
                log: log_command(setting, task),
                checkout: checkout_of(task),
            });
        let review = of(&|state| *state == TaskState::Review).into_iter().map(|task| {
            let held = task.held.as_deref();
            let kept = task.last().and_then(|last| last.candidate.as_ref());
            let candidate = held.map(|held| &held.candidate).or(kept);
            let commit = held.map(|held| held.candidate.commit.chars().take(10).collect::<String>());
            ReviewReport {
                task: task.task.clone(),
                title: title(&task.task),
                approve: setting.task_command("approve", &task.task),
                reject: format!("{} --note \"…\"", setting.task_command("reject", &task.task)),
                look: commit.map(|commit| format!("git show {commit}")),
                protected: candidate.map_or_else(Vec::new, |candidate| candidate.protected.clone()),
            }
        });
        let is_stopped = |task: &&TaskRun| matches!(task.state, TaskState::Stopped | TaskState::Interrupted);
        let stopped = run_state.tasks().iter().filter(is_stopped);
        let (taken_over, stopped): (Vec<&TaskRun>, Vec<&TaskRun>) = stopped.partition(|task| task.taken_over.is_some());
        let taken_over = taken_over.into_iter().filter_map(|task| {
            let moved = task.taken_over.as_ref()?;
            Some(TakenOverReport {
                task: task.task.clone(),
                title: title(&task.task),
                by: moved.by.clone(),
                to: moved.to.clone(),
            })
        });
        let stopped = stopped.into_iter().map(|task| StoppedReport {
            task: task.task.clone(),
            why: task.why().and_then(first_useful_line),
            log: setting.log_command(&task.task),
            checkout: checkout_of(task),
        });
        let is_over = |state: &TaskState| matches!(state, TaskState::Done | TaskState::Review);
        let unverified = of(&is_over).into_iter().filter(|task| !task.is_verified());
        let unverified_criteria = of(&is_over).into_iter().filter_map(|task| {
            let criteria = task.last().map(|last| last.unverified.clone())?;
            (!criteria.is_empty()).then(|| CriteriaReport {
                task: task.task.clone(),
                criteria,
            })
        });
        let unchanged = of(&is_over).into_iter().filter(|task| task.is_unchanged());
        let skipped = run_state.tasks().iter().filter_map(|task| match &task.state {
            TaskState::Skipped { because } => Some(SkippedReport {
                task: task.task.clone(),
                because: because.clone(),
            }),
            _ => None,
        });
        let drift = run_state.tasks().iter().filter(|task| !task.drift.is_empty());
        let fallbacks = run_state.tasks().iter().filter_map(|task| {
            let last = task.last()?;
            Some(FallbackReport {
                task: task.task.clone(),
                agent: last.agent.clone(),
                instead_of: last.instead_of.clone()?,
            })
        });
        let used = ended.and_then(|ended| ended.tokens).or(run_state.totals.tokens);
        RunReport {
            schema_version: VERSION,
            run: setting.run.clone(),
            plan: setting.plan.clone(),
            standing: ended.map_or("interrupted", |ended| ended.standing.as_str()).to_owned(),
            why: ended.and_then(|ended| ended.why.clone()),
            counts: CountsReport::new(run_state),
            milliseconds: ended.map(|ended| ended.milliseconds),
            cost_usd: ended.and_then(|ended| ended.cost_usd).or(run_state.totals.cost_usd),
            tokens: used.map(|[input, output]| TokensReport { input, output }),
            failed: failed.collect(),
            skipped: skipped.collect(),
            review: review.collect(),
            unverified: unverified.map(|task| task.task.clone()).collect(),
            unverified_criteria: unverified_criteria.collect(),
            unchanged: unchanged.map(|task| task.task.clone()).collect(),
            stopped: stopped.collect(),
            taken_over: taken_over.collect(),
            drift: drift
                .map(|task| DriftReport {
                    task: task.task.clone(),
                    files: task.drift.clone(),
                })
                .collect(),
            fallbacks: fallbacks.collect(),
            remarks: run_state
                .remarks
                .iter()
                .map(|noted| RemarkReport {
                    task: noted.task.clone(),
                    text: noted.text.clone(),
                })
                .collect(),
            landed: landed(setting, run_state),
            next: match ended {
                Some(ended) => ended.next.clone(),
                None => Some(setting.plan_command("run")),
            },
            changes: changes(setting, run_state),
            // A task pack is derived from its source plan, and changed there.
            replan: (ended.is_some() && !setting.plan.ends_with(".md"))
                .then(|| setting.plan_command("replan"))
                .filter(|_| run_state.tasks().iter().any(|task| task.state == TaskState::Failed)),
            look_first: look_first(run_state)
                .into_iter()
                .map(|(task, why)| LookReport { task, why })
                .collect(),
            paused: run_state.paused.is_some(),
            later_run: None,
        }
    }
}

/// Returns the command that shows why a task failed: what verified it where that failed, else what its agent printed.
pub(crate) fn log_command(setting: &Setting, task: &TaskRun) -> String {
    let command = setting.log_command(&task.task);
    match task.last().and_then(|last| last.verified) {
        Some(false) => format!("{command} --checks"),
        _ => command,
    }
}

fn landed(setting: &Setting, account: &RunState) -> Option<LandedReport> {
    let conditions = account.conditions.as_ref()?;
    let has_landed = |task: &&TaskRun| {
        let merged = task.last().and_then(|last| last.merged.as_ref());
        merged.is_some_and(|merged| merged.passed && merged.commit.is_some())
    };
    let tasks = account.tasks().iter().filter(has_landed).count();
    let start = conditions.start.get(..10).unwrap_or(&conditions.start).to_owned();
    let base = conditions.base.get(..10).unwrap_or(&conditions.base);
    (tasks > 0).then(|| LandedReport {
        review: match conditions.uncommitted {
            // The branch has that work as well, and `land` leaves it out.
            Some(_) => setting.plan_command("land --dry-run"),
            // All that `land` would bring, also of earlier runs.
            None => format!("git diff {base}...{}", argument(&conditions.branch)),
        },
        land: (!conditions.is_current).then(|| setting.plan_command("land")),
        into: None,
        is_gone: false,
        branch: conditions.branch.clone(),
        start,
        tasks,
    })
}

impl CountsReport {
    /// What the end of the run says counts more than what its records add up to: it knows the whole plan.
    fn new(run_state: &RunState) -> Self {
        let Counts {
            n_done,
            n_failed,
            n_skipped,
            n_review,
            n_unverified,
            n_unchanged,
            ..
        } = run_state.counts;
        let (done, failed, skipped, left) = match &run_state.ended {
            Some(ended) => (ended.n_done, ended.n_failed, ended.n_skipped, ended.n_left),
            None => (n_done, n_failed, n_skipped, run_state.n_left()),
        };
        CountsReport {
            done,
            failed,
            skipped,
            left,
            review: n_review,
            verified: (n_done + n_review).saturating_sub(n_unverified),
            unverified: n_unverified,
            unchanged: n_unchanged,
        }
    }
}

/// Returns a run's end in words, in lines with their ends, broken between words for a width.
pub(crate) fn summary(report: &RunReport, paint: Paint, width: usize) -> String {
    let mut page = Page {
        text: String::from("\n"),
        paint,
        width,
    };
    let item = |text: &str| hanging("  ", text, width);
    let detail = |text: &str| format!("\n{}", hanging("    ", text, width));
    page.headline(report);
    page.proof(report);
    page.cost(report);
    page.look_first(report);
    let failed = report.failed.iter().map(|failed| {
        let attempts = match failed.attempts {
            0 | 1 => String::new(),
            n => format!(" (attempt {n})"),
        };
        let head = named(&failed.task, failed.title.as_deref(), &attempts, paint, width);
        let checkout = checkout_words(failed.checkout.as_deref());
        format!(
            "{head}{}\n    {}{checkout}",
            detail(&failed.why),
            printable(&failed.log)
        )
    });
    page.section(&paint.error("Failed"), failed);
    let because = by_reason(&report.skipped);
    page.section(&paint.warning("Skipped"), because.iter().map(|words| item(words)));
    let stopped = report.stopped.iter().map(|stopped| {
        let why = stopped.why.as_deref().unwrap_or("interrupted before it was finished");
        format!(
            "{}\n    {}{}",
            hanging(&format!("  {}  ", shown_name(&stopped.task)), &one_line(why), width),
            printable(&stopped.log),
            checkout_words(stopped.checkout.as_deref())
        )
    });
    page.section(&paint.warning("Not finished"), stopped);
    let taken_over = report.taken_over.iter().map(|taken| {
        let by = taken
            .by
            .as_deref()
            .map_or_else(|| "another process".to_owned(), one_line);
        let head = named(&taken.task, taken.title.as_deref(), "", paint, width);
        let how = detail(&format!("by {by}, who marked it as {}", one_line(&taken.to)));
        format!("{head}{how}")
    });
    page.section("Taken over", taken_over);
    let review = report.review.iter().map(|review| {
        let head = named(&review.task, review.title.as_deref(), "", paint, width);
        let why = match review.protected.is_empty() {
            true => String::new(),
            false => detail(&format!(
                "it changed files that verify it: {}",
                files_words(&review.protected)
            )),
        };
        let commands = review.look.iter().chain([&review.approve, &review.reject]);
        let commands: String = commands
            .map(|command| format!("\n    {}", printable(command)))
            .collect();
        format!("{head}{why}{commands}")
    });
    page.section(&paint.warning("Waiting for review"), review);
    let criteria = report.unverified_criteria.iter().map(|unverified| {
        let texts = unverified
            .criteria
            .iter()
            .map(|text| cut(&one_line(text), MAX_CRITERION));
        let start = format!("  {}  ", shown_name(&unverified.task));
        hanging(&start, &some_of(texts, MAX_CRITERIA), width)
    });
    page.section(&paint.warning("Criteria that no rule verifies"), criteria);
    let drift = report.drift.iter().map(|drift| {
        let files = files_words(&drift.files);
        item(&format!(
            "{} touched {files}, which the plan does not name",
            shown_name(&drift.task)
        ))
    });
    page.section(&paint.warning("Drift"), drift);
    let fallbacks = report.fallbacks.iter().map(|fallback| {
        item(&format!(
            "{} by {} in the place of {}",
            shown_name(&fallback.task),
            one_line(&fallback.agent),
            one_line(&fallback.instead_of)
        ))
    });
    page.section("Taken by others", fallbacks);
    page.section("Changes", change_lines(&report.changes, paint, width).into_iter());
    if let Some(landed) = &report.landed {
        let into = landed.into.as_deref();
        let into = match (into, landed.is_gone) {
            (Some(into), _) => format!(", and in {}", one_line(into)),
            (None, true) => ", which is gone; this brings it back:".to_owned(),
            (None, false) => String::new(),
        };
        let what = format!(
            "{} on {}{into}",
            count(landed.tasks as u64, "task"),
            one_line(&landed.branch)
        );
        // What has landed is no difference any more.
        let commands = [
            Some(&landed.review).filter(|_| landed.into.is_none()),
            landed.land.as_ref(),
        ];
        let commands = commands.into_iter().flatten();
        let lines: Vec<String> = std::iter::once(item(&what))
            .chain(commands.map(|command| format!("  {}", one_line(command))))
            .collect();
        page.section("Landed", lines.into_iter());
    }
    if let Some(later) = &report.later_run {
        let command = format!("planwright summary {later}");
        page.section(
            "A later run of this plan",
            std::iter::once(format!("  {}", one_line(&command))),
        );
    }
    if let Some(next) = &report.next {
        let replan = report.replan.as_ref();
        let replan = replan.map(|replan| {
            let command = format!("  {}", one_line(replan));
            let effect = "(a planner changes what failed)";
            match columns(&command) + 2 + columns(effect) > width {
                true => format!("{command}\n    {effect}"),
                false => format!("{command}  {effect}"),
            }
        });
        let lines: Vec<String> = std::iter::once(format!("  {}", one_line(next))).chain(replan).collect();
        page.section(&paint.help("To continue"), lines.into_iter());
    }
    page.text
}

/// A text that grows.
struct Page {
    text: String,
    paint: Paint,
    width: usize,
}

impl Page {
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
        self.text_line("  ", &words.join(", "));
    }

    /// Adds a line that is broken between words.
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

    /// Adds a title, and below it items that are indented already.
    fn section(&mut self, title: &str, items: impl ExactSizeIterator<Item = String>) {
        let n_items = items.len();
        if n_items == 0 {
            return;
        }
        self.line(&format!("\n{title}"));
        for item in items.take(MAX_SHOWN) {
            self.line(&item);
        }
        if n_items > MAX_SHOWN {
            self.line(&format!("  … and {} more", n_items - MAX_SHOWN));
        }
    }
}

/// Returns the checkout that the last attempt at a task worked in; none where its work has landed.
fn checkout_of(task: &TaskRun) -> Option<String> {
    let last = task.last()?;
    last.folder
        .clone()
        .filter(|_| last.merged.as_ref().is_none_or(|merged| !merged.passed))
}

fn checkout_words(checkout: Option<&str>) -> String {
    checkout.map_or_else(String::new, |path| {
        format!("\n    its files: {}", one_line(&below_home(path)))
    })
}

/// Returns a path with `~` for the home folder, as shells read it.
fn below_home(path: &str) -> String {
    let home = std::env::home_dir().filter(|home| home.as_os_str().len() > 1);
    let below = home.and_then(|home| Path::new(path).strip_prefix(home).ok().map(Path::to_owned));
    below.map_or_else(|| path.to_owned(), |below| format!("~/{}", below.display()))
}

/// Returns the name and the title of a task, with what follows them.
fn named(task: &str, title: Option<&str>, rest: &str, paint: Paint, width: usize) -> String {
    let name = paint.bold(&shown_name(task));
    match title.map(one_line).filter(|title| !title.is_empty()) {
        Some(title) => {
            let title = super::columns::fit(&title, MAX_TITLE);
            hanging(&format!("  {name}  "), &format!("{title}{rest}"), width)
        }
        None => format!("  {name}{rest}"),
    }
}

/// Gathers tasks that were skipped because of the same one.
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
