//! The facts about a run besides its events: its name, its plan, the titles of its tasks, and the commands that name them.

use std::collections::HashMap;
use std::path::Path;

use planwright_core::dialect::Dialect;
use planwright_core::inspect::LinkedPlan;
use planwright_core::text::visible;
use planwright_run::inspect_file::inspect_file;
use planwright_run::shell::{shell_word, task_command};
use planwright_run::store;

use crate::planning::derived_by;
use crate::text::{columns, shown_name};

/// The widest column of names.
const MAX_NAME_COLUMNS: usize = 16;

/// The facts about a run besides its events.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    pub run: String,
    /// The plan, as an argument of a command.
    pub plan: String,
    /// The titles of tasks, by their names.
    pub titles: HashMap<String, String>,
    /// Whether the plan is derived from another document, and changed there.
    pub is_derived: bool,
}

impl Setting {
    /// Returns the facts about a run that has not started.
    pub fn of(path: &Path, linked: &LinkedPlan) -> Self {
        let plan = &linked.plan;
        let titles = plan.tasks().iter().enumerate();
        let titles = titles.map(|(ix, task)| (plan.task_name(ix).into_owned(), plan.task_subject(task).to_owned()));
        Setting {
            run: String::new(),
            plan: path.to_string_lossy().into_owned(),
            titles: titles.collect(),
            is_derived: is_derived(linked.dialect),
        }
    }

    /// Returns the facts for the present plan in a file; without titles if it has none.
    pub(crate) fn of_file(path: &Path, forced: Option<&'static dyn Dialect>) -> Self {
        let loaded = store::load(path).ok();
        let inspection = loaded.map(|loaded| inspect_file(&loaded.source, Some(path), forced).inspection);
        let own = inspection.as_ref().and_then(|inspection| inspection.dialect).or(forced);
        match inspection.and_then(|inspection| inspection.plan) {
            Some(linked) => Setting::of(path, &linked),
            None => Setting {
                is_derived: own.is_some_and(is_derived),
                plan: path.to_string_lossy().into_owned(),
                ..Setting::default()
            },
        }
    }

    pub fn title(&self, task: &str) -> &str {
        self.titles.get(task).map_or("", String::as_str)
    }

    /// Returns the width of a column for the names of all tasks.
    pub fn name_columns(&self) -> usize {
        let widest = self.titles.keys().map(|name| columns(&shown_name(name))).max();
        widest.unwrap_or(0).min(MAX_NAME_COLUMNS)
    }

    /// Returns a planwright command for a task of this plan.
    pub fn task_command(&self, verb: &str, task: &str, options: &str) -> String {
        visible(&task_command(verb, task, &self.plan, options)).into_owned()
    }

    /// Returns the command that shows the log of a task's agent.
    pub(crate) fn log_command(&self, task: &str, option: &str) -> String {
        let run = match self.run.as_str() {
            "" => String::new(),
            run => format!("--run {}", argument(run)),
        };
        let options = [run.as_str(), option].join(" ");
        visible(&task_command("logs", task, "", options.trim())).into_owned()
    }

    /// Returns a planwright command for the whole plan.
    pub fn plan_command(&self, verb: &str) -> String {
        match self.plan.as_str() {
            "" => format!("planwright {verb}"),
            plan => format!("planwright {verb} {}", argument(plan)),
        }
    }
}

fn is_derived(dialect: &dyn Dialect) -> bool {
    derived_by(dialect).is_some()
}

/// Returns a text as one word of a command line.
fn argument(text: &str) -> String {
    visible(&shell_word(text)).into_owned()
}
