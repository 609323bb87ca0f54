//! The files that decide whether work passes: those that verification commands name, and those that `verify.protect` names. A task
//! that changes or removes one is judged by a person.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use planwright_core::plan::{Field, Plan, Task};

use crate::config::Command;
use crate::digest::Digest;
use crate::files::open_to_read;
use crate::place::STATE_FOLDER;
use crate::verify::Check;

/// Which files of a workspace are protected from a task.
pub(super) struct Protection {
    /// Words of the commands that may be paths, from the root of the workspace.
    named: BTreeSet<String>,
    patterns: Gitignore,
    has_patterns: bool,
}

impl Protection {
    /// Returns what the commands that verify a task and the patterns of the configuration protect. A pattern that is none
    /// protects nothing: `planwright check` of the configuration reports it.
    pub(super) fn of(checks: &[Check], patterns: &[String]) -> Self {
        let mut builder = GitignoreBuilder::new("");
        for pattern in patterns {
            builder.add_line(None, pattern.trim_start_matches("./")).ok();
        }
        Protection {
            named: checks.iter().flat_map(|check| paths_in(&check.command)).collect(),
            patterns: builder.build().unwrap_or_else(|_| Gitignore::empty()),
            has_patterns: !patterns.is_empty(),
        }
    }

    /// Leaves out files that the task is to change.
    pub(super) fn without(mut self, expected: &[String]) -> Self {
        self.named.retain(|path| !expected.contains(path));
        self
    }

    /// Returns the files that commands name and that the task declares as its own: a check of `docs/api.md` does not protect that
    /// page from the task that is to write it. A file that is only mentioned, as in "so that tests/check.sh passes", is protected.
    pub(super) fn expected_by(&self, plan: &Plan, task: &Task) -> Vec<String> {
        let files = plan.task_list(task, Field::Files);
        let files: Vec<&str> = files.iter().map(|path| path.trim_start_matches("./")).collect();
        self.named
            .iter()
            .filter(|path| files.contains(&path.as_str()))
            .cloned()
            .collect()
    }

    /// Returns the files that commands name and that are there.
    pub(super) fn named_in(&self, root: &Path) -> Vec<String> {
        let named = self.named.iter();
        named.filter(|path| root.join(path).is_file()).cloned().collect()
    }

    /// Returns whether nothing is protected.
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.has_patterns
    }

    fn covers(&self, path: &str) -> bool {
        let is_named = self.named.contains(path);
        is_named || self.patterns.matched_path_or_any_parents(path, false).is_ignore()
    }

    /// Returns the protected files among some.
    pub(super) fn among(&self, paths: &[String]) -> Vec<String> {
        paths.iter().filter(|path| self.covers(path)).cloned().collect()
    }

    /// Looks at the protected files of a folder that tasks share.
    pub(super) fn watch(&self, root: &Path) -> WatchedFiles {
        let digest = |path: &str| open_to_read(&root.join(path)).and_then(Digest::of_all).ok();
        let mut digests: BTreeMap<String, Digest> = BTreeMap::new();
        let mut add = |path: &str| digests.extend(digest(path).map(|digest| (path.to_owned(), digest)));
        self.named.iter().for_each(|path| add(path));
        if self.has_patterns {
            let files = WalkBuilder::new(root).hidden(false).build().flatten();
            for entry in files.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
                let below = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
                if let Some(path) = below.filter(|path| !path.starts_with(STATE_FOLDER) && self.covers(path)) {
                    add(path);
                }
            }
        }
        WatchedFiles { digests }
    }
}

/// The protected files of a shared folder before an attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct WatchedFiles {
    digests: BTreeMap<String, Digest>,
}

impl WatchedFiles {
    /// Returns the files that were changed or removed since.
    pub(super) fn changed(&self, root: &Path) -> Vec<String> {
        let is_changed = |(path, before): &(&String, &Digest)| {
            let now = open_to_read(&root.join(path.as_str())).and_then(Digest::of_all);
            now.ok() != Some(**before)
        };
        let changed = self.digests.iter().filter(is_changed);
        changed.map(|(path, _)| path.clone()).collect()
    }
}

/// Returns the words of a command that may be paths below the workspace, as `tests/check.sh` in `sh tests/check.sh --all`.
fn paths_in(command: &Command) -> Vec<String> {
    let words: Vec<&str> = match command.plain() {
        Command::Unfenced(_) => Vec::new(),
        Command::Words(words) => words.iter().map(String::as_str).collect(),
        Command::Shell(line) => line
            .split(|c: char| c.is_whitespace() || "\"'`;|&()<>=$".contains(c))
            .collect(),
    };
    let values = words.iter().map(|word| word.rsplit('=').next().unwrap_or(word));
    let below = values.map(|word| word.trim_start_matches("./").to_owned());
    below
        .filter(|word| !word.is_empty() && !word.starts_with(['-', '/']) && !word.split('/').any(|part| part == ".."))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn protection(command: Command, patterns: &[&str]) -> Protection {
        let check = Check {
            command,
            timeout: Duration::ZERO,
            covers: Vec::new(),
            from_plan: false,
        };
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Protection::of(&[check], &patterns)
    }

    #[test]
    fn files_that_commands_name_are_protected() {
        let words = ["python3", "tests/check.py", "--config=ci/rules.toml"].map(str::to_owned);
        let by_words = protection(Command::Words(words.to_vec()), &[]);
        let line = "cd . && ./verify.sh \"data/cases.json\" > /dev/null";
        let by_line = protection(Command::Shell(line.to_owned()), &[]);
        for (protection, path, expected) in [
            (&by_words, "tests/check.py", true),
            (&by_words, "ci/rules.toml", true),
            (&by_words, "tests/other.py", false),
            (&by_line, "verify.sh", true),
            (&by_line, "data/cases.json", true),
            (&by_line, "src/lib.rs", false),
        ] {
            assert_eq!(protection.covers(path), expected, "{path}");
        }
    }

    #[test]
    fn files_that_patterns_name_are_protected() {
        let protection = protection(Command::Shell("true".to_owned()), &["tests/**", "*.snap"]);
        let paths = ["tests/a/b.rs", "src/lib.rs", "src/x.snap"].map(str::to_owned);
        assert_eq!(protection.among(&paths), ["tests/a/b.rs", "src/x.snap"]);
    }
}
