//! A run as one HTML page: self-contained, without scripts, with all text escaped.

mod details;
mod graph;
mod markup;
mod table;
mod timeline;

use std::collections::{BTreeMap, HashMap};

use planwright_core::graph::TaskGraph;
use planwright_core::inspect::LinkedPlan;
use planwright_core::plan::Field;
use planwright_run::clock::{milliseconds_of, to_the_second};
use planwright_run::git::Diffstat;
use planwright_run::runs::state::{RunState, TaskRun};

use markup::{pill, text, time};
use planwright_verbs::report::FIRST_LINE;
use planwright_verbs::text::{count, duration, money, tokens};

pub(crate) struct Source<'a> {
    pub(crate) run: &'a str,
    /// The plan's path from the root of the workspace.
    pub(crate) path: &'a str,
    /// The plan, if its file exists and is readable.
    pub(crate) linked: Option<&'a LinkedPlan>,
    /// The state from the log.
    pub(crate) run_state: &'a RunState,
    /// The status of the run: one word, and in words.
    pub(crate) standing: (&'a str, &'a str),
    /// The time of the page, as RFC 3339.
    pub(crate) now: &'a str,
    /// The sizes of the run's commits.
    pub(crate) stats: &'a BTreeMap<String, Diffstat>,
    /// The changes of a commit, line by line; none without the option for diffs.
    pub(crate) diff: &'a dyn Fn(&str) -> Option<Vec<String>>,
    /// The end of the log of an attempt, line by line; none without a file.
    pub(crate) log: &'a dyn Fn(&str, u32) -> Option<Vec<String>>,
}

/// Shared by the parts of a page: the tasks in order, by number.
struct ReportPage<'a> {
    source: &'a Source<'a>,
    rows: Vec<ReportRow<'a>>,
    /// The graph of the plan, if there is one.
    graph: Option<TaskGraph>,
    /// The start and the end of the timeline, in milliseconds.
    span: (u64, u64),
}

struct ReportRow<'a> {
    name: String,
    title: &'a str,
    /// Its state in the run; none if it is only in the plan.
    task: Option<&'a TaskRun>,
    /// Its state: a word with a CSS class.
    state: &'a str,
}

pub(crate) fn page(source: &Source<'_>) -> String {
    let page = ReportPage::new(source);
    let mut out = String::with_capacity(64 * 1024);
    out.push_str(FIRST_LINE);
    let title = page.title();
    out.push_str(&format!(
        "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{} · run {}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
        text(&title),
        text(source.run),
        include_str!("style.css")
    ));
    page.header(&mut out);
    timeline::draw(&page, &mut out);
    graph::draw(&page, &mut out);
    table::draw(&page, &mut out);
    page.remarks(&mut out);
    details::draw(&page, &mut out);
    out.push_str(&format!(
        "<footer>Made by planwright {} on {} from the log of run {}.</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        time(source.now, &to_the_second(source.now)),
        text(source.run)
    ));
    out
}

impl<'a> ReportPage<'a> {
    fn new(source: &'a Source<'a>) -> Self {
        let run_state = source.run_state;
        let began = run_state.times.began.as_deref().and_then(milliseconds_of);
        let last = if source.standing.0 == "running" {
            Some(source.now)
        } else {
            run_state.times.last.as_deref()
        };
        let last = last.and_then(milliseconds_of);
        let start = began.or(last).unwrap_or(0);
        ReportPage {
            rows: rows(source),
            graph: source
                .linked
                .and_then(|linked| TaskGraph::new(&linked.plan, &linked.links).ok()),
            span: (start, last.unwrap_or(start).max(start + 1_000)),
            source,
        }
    }

    /// Returns whether a process holds the run.
    fn is_running(&self) -> bool {
        self.source.standing.0 == "running"
    }

    fn title(&self) -> String {
        let title = self.source.linked.map_or("", |linked| linked.plan.title());
        match title.trim() {
            "" => self.source.path.to_owned(),
            title => title.to_owned(),
        }
    }

    fn header(&self, out: &mut String) {
        let Source {
            run_state, standing, ..
        } = self.source;
        out.push_str("<header>\n");
        out.push_str(&format!(
            "<p class=\"over\">Run {} · {}</p>\n<h1>{}</h1>\n",
            text(self.source.run),
            text(self.source.path),
            text(&self.title())
        ));
        if let Some(goal) = self.goal() {
            out.push_str(&format!("<p class=\"goal\">{}</p>\n", text(goal)));
        }
        let class = match standing.0 {
            "finished" if run_state.counts.n_failed == 0 => "done",
            "running" => "running",
            "stuck" => "failed",
            _ => "stopped",
        };
        out.push_str(&format!(
            "<p class=\"when\">{} {}</p>\n",
            pill(class, standing.1),
            self.when()
        ));
        self.numbers(out);
        let why = run_state.ended.as_ref().and_then(|ended| ended.why.as_deref());
        if let Some(why) = why {
            out.push_str(&format!("<p class=\"why\">{}</p>\n", text(why)));
        }
        let next = run_state.ended.as_ref().and_then(|ended| ended.next.as_deref());
        if let Some(next) = next {
            out.push_str(&format!("<p>To continue: <code>{}</code></p>\n", text(next)));
        }
        out.push_str("</header>\n");
    }

    /// Returns the goal of the plan, if it differs from its title.
    fn goal(&self) -> Option<&str> {
        let plan = &self.source.linked?.plan;
        let fields = [Field::Goal, Field::Description];
        let goal = fields.into_iter().find_map(|field| plan.head_str(field))?;
        (goal.trim() != plan.title().trim() && !goal.trim().is_empty()).then_some(goal)
    }

    fn when(&self) -> String {
        let run_state = self.source.run_state;
        let took = duration(self.span.1.saturating_sub(self.span.0));
        let began = run_state.times.began.as_deref();
        let began = began.map_or("-".to_owned(), |began| time(began, &to_the_second(began)));
        let mut words = format!("Began {began}, {took}");
        if let Some(begun) = &run_state.begun {
            words += &format!(", {}", count(begun.slots, "slot"));
            if let Some(by) = &begun.by {
                words += &format!(", by {}", text(by));
            }
        }
        match run_state.times.n_continued {
            0 => {}
            1 => words += ", continued once",
            n => words += &format!(", continued {n} times"),
        }
        if let Some(paused) = &run_state.halt.paused {
            let why = paused.why.as_deref().map(|why| format!(": {}", text(why)));
            words += &format!(". Paused{}", why.unwrap_or_default());
        }
        words
    }

    /// Draws the counts as tiles.
    fn numbers(&self, out: &mut String) {
        let run_state = self.source.run_state;
        let (counts, ended) = (&run_state.counts, run_state.ended.as_ref());
        let n_done = ended.map_or(counts.n_done, |ended| ended.n_done);
        let n_left = ended.map_or_else(|| run_state.n_left(), |ended| ended.n_left);
        let mut tiles = vec![("done", n_done.to_string(), "done")];
        let mut add = |class: &'static str, number: u64, name: &'static str| {
            if number > 0 {
                tiles.push((class, number.to_string(), name));
            }
        };
        add("running", counts.n_running, "running");
        add("review", counts.n_review, "to review");
        add(
            "failed",
            ended.map_or(counts.n_failed, |ended| ended.n_failed),
            "failed",
        );
        add(
            "skipped",
            ended.map_or(counts.n_skipped, |ended| ended.n_skipped),
            "skipped",
        );
        add("waiting", n_left, "left");
        add(
            "unverified",
            ended.map_or(counts.n_unverified, |ended| ended.n_unverified),
            "unverified",
        );
        add("unverified", counts.n_unchanged, "no changes");
        add("plain", run_state.counts.n_attempts, "attempts");
        if let Some(cost) = run_state.spent.cost_usd {
            tiles.push(("plain", money(cost), "cost"));
        }
        if let Some([n_in, n_out]) = run_state.spent.tokens {
            tiles.push((
                "plain",
                format!("{} / {}", tokens(n_in), tokens(n_out)),
                "tokens in / out",
            ));
        }
        out.push_str("<ul class=\"tiles\">\n");
        for (class, number, name) in tiles {
            out.push_str(&format!("<li class=\"{class}\"><b>{number}</b> {name}</li>\n"));
        }
        out.push_str("</ul>\n");
    }

    fn remarks(&self, out: &mut String) {
        let run_state = self.source.run_state;
        if run_state.remarks.is_empty() {
            return;
        }
        const MOST: usize = 500;
        out.push_str("<section>\n<h2>Remarks</h2>\n<ul class=\"remarks\">\n");
        for remark in run_state.remarks.iter().take(MOST) {
            let task = remark.task.as_deref().map(|task| format!("<b>{}</b> ", text(task)));
            out.push_str(&format!(
                "<li>{} {}{}</li>\n",
                time(&remark.time, &to_the_second(&remark.time)),
                task.unwrap_or_default(),
                text(&remark.text)
            ));
        }
        if run_state.remarks.len() > MOST {
            out.push_str(&format!("<li>… and {} more</li>\n", run_state.remarks.len() - MOST));
        }
        out.push_str("</ul>\n</section>\n");
    }

    /// Returns the link to a task's details.
    fn link(&self, row: usize, inner: &str) -> String {
        match self.rows.get(row).and_then(|row| row.task) {
            Some(_) => format!("<a href=\"#task-{}\">{inner}</a>", row + 1),
            None => inner.to_owned(),
        }
    }
}

/// Returns the tasks of the plan in its order, then those that are only in the log.
fn rows<'a>(source: &'a Source<'a>) -> Vec<ReportRow<'a>> {
    let mut rows = Vec::new();
    let mut seen: HashMap<String, ()> = HashMap::new();
    if let Some(linked) = source.linked {
        for (ix, task) in linked.plan.tasks().iter().enumerate() {
            let name = linked.plan.task_name(ix).into_owned();
            let own = source.run_state.task(&name);
            seen.insert(name.clone(), ());
            rows.push(ReportRow {
                state: own.map_or(task.status.as_str(), |own| own.state.name()),
                title: linked.plan.task_subject(task),
                task: own,
                name,
            });
        }
    }
    let others = source
        .run_state
        .tasks()
        .iter()
        .filter(|task| !seen.contains_key(&task.task));
    rows.extend(others.map(|task| ReportRow {
        name: task.task.clone(),
        title: "",
        state: task.state.name(),
        task: Some(task),
    }));
    rows
}
