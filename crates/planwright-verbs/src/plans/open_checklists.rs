//! Finds lists with open tasks in a workspace that are no plans: `adopt` and `import` make plans of them.

use std::path::Path;

use planwright_run::files::{open_to_read, read_bounded};
use planwright_run::shell::argument;
use planwright_run::workspace::plans_at_home;
use serde::Serialize;

use crate::text::{count, one_line};

/// How much of a file is read.
const MAX_BYTES: usize = 1 << 20;

/// A file with open tasks.
#[derive(Serialize)]
pub struct OpenChecklist {
    /// Its name in the root of the workspace.
    pub file: String,
    pub n_open: usize,
}

impl OpenChecklist {
    /// Returns its number of open tasks, and the command that makes it a plan.
    pub fn words(&self) -> String {
        let tasks = count(self.n_open as u64, "open task");
        format!(
            "{} with {tasks}: `planwright adopt {}` makes it a plan",
            one_line(&self.file),
            argument(&self.file)
        )
    }
}

/// Returns the lists in the root of a workspace that are no plans, by name.
pub(crate) fn open_checklists(root: &Path) -> Vec<OpenChecklist> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let plans = plans_at_home(root);
    let mut found: Vec<OpenChecklist> = names
        .filter(|name| is_list(name) && !plans.contains(&root.join(name)))
        .filter_map(|file| {
            let n_open = n_open(&root.join(&file));
            (n_open > 0).then_some(OpenChecklist { file, n_open })
        })
        .collect();
    found.sort_by(|a, b| a.file.cmp(&b.file));
    found
}

fn is_list(name: &str) -> bool {
    let lower = name.to_lowercase();
    let stem = lower.strip_suffix(".md").or_else(|| lower.strip_suffix(".markdown"));
    stem.is_some_and(|stem| {
        [
            "todo",
            "todos",
            "plan",
            "tasks",
            "task",
            "backlog",
            "roadmap",
            "checklist",
        ]
        .contains(&stem)
    })
}

fn n_open(path: &Path) -> usize {
    let bytes = open_to_read(path)
        .and_then(|file| read_bounded(file, MAX_BYTES))
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let is_open = |line: &&str| {
        let line = line.trim_start();
        ["- [ ] ", "* [ ] ", "+ [ ] "].iter().any(|mark| line.starts_with(mark))
    };
    text.lines().filter(is_open).count()
}
