//! Finds checklists in a repository that `import` can read.

use std::path::Path;

use planwright_run::files::{open_to_read, read_bounded};
use serde::Serialize;

/// How much of a file is read.
const MAX_BYTES: usize = 1 << 20;

/// A file with open tasks.
#[derive(Serialize)]
pub struct OpenChecklist {
    /// Its name in the root of the workspace.
    pub file: String,
    pub n_open: usize,
}

/// Returns the checklists in the root of a workspace, by name.
pub(super) fn find(root: &Path) -> Vec<OpenChecklist> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<OpenChecklist> = names
        .filter(|name| is_list(name))
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
