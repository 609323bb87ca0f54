//! The rules for a file before its text is read.

use planwright_core::diagnostic::{Rule, Severity};

/// A file cannot be read.
pub static UNREADABLE_FILE: Rule = Rule {
    id: "unreadable-file",
    severity: Severity::Error,
    summary: "The file cannot be read.",
    details: "It does not exist, is a folder, a pipe, a device or a symlink loop, keeps changing, or the system denies access. The message names the reason. Exit status 3: the environment failed, the plan was not checked.",
    wrong: "planwright check tasks.jsno",
    right: "planwright check tasks.json",
};

pub static ALL: &[&Rule] = &[&UNREADABLE_FILE];
