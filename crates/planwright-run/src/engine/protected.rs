//! The files that verification commands or `verify.protect` name. A person reviews a task that changes or removes one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use planwright_core::plan::{Field, Plan, Task};

use crate::config::Command;
use crate::digest::Digest;
use crate::files::open_to_read;
use crate::layout::STATE_FOLDER;
use crate::verify::Check;

/// The files of a workspace that are protected from a task.
pub(super) struct Protection {
    /// Words of the commands that may be paths, relative to the root of the workspace.
    named: BTreeSet<String>,
    /// The files among them that the task is expected to change.
    expected: BTreeSet<String>,
    patterns: Gitignore,
    /// Files that a command reads if they exist: a new one can override another.
    read_unnamed: BTreeSet<String>,
}

impl Protection {
    /// Returns the files that a task's verification commands and the configured patterns protect. `folder` is the commands' folder,
    /// relative to the root of the workspace. An invalid pattern protects nothing: `planwright check` of the configuration reports it.
    pub(super) fn of(checks: &[Check], patterns: &[String], folder: &str) -> Self {
        let named: BTreeSet<String> = checks
            .iter()
            .flat_map(|check| paths_in(&check.command, folder))
            .collect();
        let is_unnamed = |path: &&String| READ_UNNAMED.iter().any(|(_, files)| files.contains(&name_of(path)));
        Protection {
            read_unnamed: named.iter().filter(is_unnamed).cloned().collect(),
            named,
            expected: BTreeSet::new(),
            patterns: matcher(
                patterns
                    .iter()
                    .map(|pattern| pattern.trim_start_matches("./").to_owned()),
            ),
        }
    }

    /// Adds the targets of links in the workspace: changing a target changes what verifies.
    pub(super) fn following_links(mut self, root: &Path, patterns: &[String]) -> Self {
        let resolved = |path: &str| -> Option<String> {
            let real = std::fs::canonicalize(root.join(path)).ok()?;
            let below = real.strip_prefix(std::fs::canonicalize(root).ok()?).ok()?;
            below
                .to_str()
                .map(str::to_owned)
                .filter(|below| below != path && !below.is_empty())
        };
        let more: Vec<String> = self.named.iter().filter_map(|path| resolved(path)).collect();
        self.named.extend(more);
        let behind = patterns.iter().filter_map(|pattern| {
            let pattern = pattern.trim_start_matches("./").trim_start_matches('/');
            let (folder, rest) = pattern.split_once('/')?;
            let is_plain = !folder.contains(['*', '?', '[', '!']);
            is_plain
                .then(|| resolved(folder))
                .flatten()
                .map(|real| format!("/{real}/{rest}"))
        });
        let all: Vec<String> = patterns.iter().cloned().chain(behind).collect();
        self.patterns = matcher(all.iter().map(|pattern| pattern.trim_start_matches("./").to_owned()));
        self
    }

    /// Returns the new files that change what verifies: attributes decide what git writes into a checkout, and some programs prefer one
    /// file to another.
    pub(super) fn overriding(&self, paths: &[String]) -> Vec<String> {
        let overrides = |path: &&String| {
            let is_attributes = name_of(path) == ".gitattributes" && !self.is_empty();
            is_attributes || self.read_unnamed.contains(path.as_str())
        };
        paths.iter().filter(overrides).cloned().collect()
    }

    /// Removes the files that the task is expected to change.
    pub(super) fn without(mut self, expected: &[String]) -> Self {
        self.expected = expected.iter().cloned().collect();
        self
    }

    /// Returns the files that commands name and that the task declares as its own: a check of `docs/api.md` does not protect that page from
    /// the task that writes it. A file that is only mentioned, as in "so that tests/check.sh passes", is protected.
    pub(super) fn expected_by(&self, plan: &Plan, task: &Task) -> Vec<String> {
        let files = plan.task_list(task, Field::Files);
        let files = files.iter().map(|path| path.trim_start_matches("./").to_owned());
        files.filter(|path| self.is_named(path)).collect()
    }

    /// Returns the existing files that commands name.
    pub(super) fn named_in(&self, root: &Path) -> Vec<String> {
        let named = self.named.difference(&self.expected);
        named.filter(|path| root.join(path).is_file()).cloned().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.has_patterns()
    }

    fn has_patterns(&self) -> bool {
        !self.patterns.is_empty()
    }

    fn is_named(&self, path: &str) -> bool {
        self.named.contains(path)
    }

    fn covers(&self, path: &str) -> bool {
        let is_named = self.is_named(path) && !self.expected.contains(path);
        is_named || self.patterns.matched_path_or_any_parents(path, false).is_ignore()
    }

    pub(super) fn among(&self, paths: &[String]) -> Vec<String> {
        paths.iter().filter(|path| self.covers(path)).cloned().collect()
    }

    /// Records the protected files of a folder that tasks share.
    pub(super) fn watch(&self, root: &Path) -> WatchedFiles {
        let digest = |path: &str| open_to_read(&root.join(path)).and_then(Digest::of_all).ok();
        let mut digests: BTreeMap<String, Digest> = BTreeMap::new();
        let mut add = |path: &str| digests.extend(digest(path).map(|digest| (path.to_owned(), digest)));
        self.named.difference(&self.expected).for_each(|path| add(path));
        if self.has_patterns() {
            // Includes files that git ignores: a pattern may name them.
            let walk = WalkBuilder::new(root)
                .standard_filters(false)
                .filter_entry(|entry| entry.file_name() != ".git" && entry.file_name() != STATE_FOLDER)
                .build();
            let files = walk.flatten();
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
    pub(super) fn from_record(digests: &BTreeMap<String, Digest>) -> Self {
        WatchedFiles {
            digests: digests.clone(),
        }
    }

    pub(super) fn record(&self) -> &BTreeMap<String, Digest> {
        &self.digests
    }

    pub(super) fn changed(&self, root: &Path) -> Vec<String> {
        let is_changed = |(path, before): &(&String, &Digest)| {
            let now = open_to_read(&root.join(path.as_str())).and_then(Digest::of_all);
            now.ok() != Some(**before)
        };
        let changed = self.digests.iter().filter(is_changed);
        changed.map(|(path, _)| path.clone()).collect()
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn matcher(patterns: impl Iterator<Item = String>) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        builder.add_line(None, &pattern).ok();
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Files that programs read without an option that names them.
const READ_UNNAMED: &[(&str, &[&str])] = &[
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
];

/// Returns the words of a command that may be paths in the workspace, as `tests/check.sh` in `sh tests/check.sh --all` and in `cd tests &&
/// sh check.sh`. A word may be relative to each folder that the command changes to.
fn paths_in(command: &Command, folder: &str) -> Vec<String> {
    let words: Vec<String> = match command.plain() {
        Command::Unfenced(_) => Vec::new(),
        // A word may be a shell line, or a path with spaces.
        Command::Words(words) => words
            .iter()
            .flat_map(|word| std::iter::once(word.clone()).chain(words_of_line(word)))
            .collect(),
        Command::Shell(line) => words_of_line(line),
    };
    let values = words.iter().map(|word| in_folder_of_command(word));
    let words: Vec<&str> = values.map(|word| word.rsplit('=').next().unwrap_or(word)).collect();
    // As in `make -frules.mk`: a short option and its value in one word.
    let joined = words
        .iter()
        .filter(|word| word.starts_with('-') && !word.starts_with("--"));
    let joined: Vec<&str> = joined.filter_map(|word| word.get(2..)).collect();
    let mut folders = vec![below("", folder).unwrap_or_default()];
    for pair in words.windows(2) {
        if matches!(pair[0], "cd" | "pushd" | "-C" | "--directory" | "--prefix" | "--cwd") {
            let entered: Vec<String> = folders.iter().filter_map(|folder| below(folder, pair[1])).collect();
            folders.extend(entered);
            folders.truncate(MAX_FOLDERS);
        }
    }
    let named = words
        .iter()
        .chain(&joined)
        .copied()
        .filter(|word| !word.is_empty() && !word.starts_with('-'));
    let unnamed = READ_UNNAMED.iter().filter(|(program, _)| words.contains(program));
    let unnamed = unnamed.flat_map(|(_, files)| files.iter().copied());
    let all: Vec<&str> = named.chain(unnamed).collect();
    let in_folder = |folder: &String| all.iter().filter_map(|path| below(folder, path)).collect::<Vec<_>>();
    folders.iter().flat_map(in_folder).collect()
}

/// How many changes of folder in a command are followed.
const MAX_FOLDERS: usize = 8;

/// Returns the words of a shell line: as the shell would read them, and the pieces between all shell metacharacters.
fn words_of_line(line: &str) -> Vec<String> {
    let pieces = line.split(|c: char| c.is_whitespace() || "\"'`;|&()<>$".contains(c));
    let pieces = pieces.filter(|word| !word.is_empty()).map(str::to_owned);
    pieces.chain(words_as_read(line)).collect()
}

/// Returns the words as a shell reads them: without quotes and backslashes, and with the values of variables that the line sets.
fn words_as_read(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(own), c) if own == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None | Some('"'), '\\') => word.extend(chars.next()),
            (None, c) if c.is_whitespace() || ";|&()<>`".contains(c) => words.push(std::mem::take(&mut word)),
            (_, c) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    let set: Vec<(String, String)> = words
        .iter()
        .filter_map(|word| word.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for word in &mut words {
        for (name, value) in set.iter().filter(|(name, _)| !name.is_empty()) {
            *word = word
                .replace(&format!("${{{name}}}"), value)
                .replace(&format!("${name}"), value);
        }
        // That is the folder itself.
        *word = word.replace("${PWD}/", "").replace("$PWD/", "");
    }
    words
}

/// Returns a word without the rest of a `$PWD/` that was split.
fn in_folder_of_command(word: &str) -> &str {
    let without = word.strip_prefix("PWD/").or_else(|| word.strip_prefix("{PWD}/"));
    without.unwrap_or(word)
}

/// Normalizes a path from a folder; none if it leads out of the workspace.
fn below(folder: &str, path: &str) -> Option<String> {
    if path.starts_with(['/', '~']) {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/")).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn protection(command: Command, patterns: &[&str]) -> Protection {
        let check = Check::of(&command, Duration::ZERO);
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Protection::of(&[check], &patterns, "")
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
    fn files_are_protected_however_commands_name_them() {
        for (line, path) in [
            ("cd tests && sh check.sh", "tests/check.sh"),
            ("(cd tests; cd unit && ./run)", "tests/unit/run"),
            ("sh tests/../tests/check.sh", "tests/check.sh"),
            ("sh \"$PWD/tests/check.sh\"", "tests/check.sh"),
            ("sh ${PWD}/tests/check.sh", "tests/check.sh"),
            ("CASES=tests/check.sh make -C build test", "build/Makefile"),
            ("make test", "GNUmakefile"),
            ("just test", "justfile"),
            ("sh \"my check.sh\"", "my check.sh"),
            ("sh 'my check.sh'", "my check.sh"),
            ("sh my\\ check.sh", "my check.sh"),
            ("make -frules.mk test", "rules.mk"),
            ("d=tests; sh $d/check.sh", "tests/check.sh"),
            ("d=tests sh \"${d}/check.sh\"", "tests/check.sh"),
        ] {
            let by_shell = protection(Command::Shell(line.to_owned()), &[]);
            assert!(by_shell.covers(path), "{line}");
            let words = ["sh", "-c", line].map(str::to_owned);
            let by_words = protection(Command::Words(words.to_vec()), &[]);
            assert!(by_words.covers(path), "sh -c {line}");
        }
        let escapes = protection(Command::Shell("sh ../other/check.sh".to_owned()), &[]);
        assert!(escapes.is_empty() || !escapes.covers("other/check.sh"));
        let checks = [Check::of(&Command::Shell("sh check.sh".to_owned()), Duration::ZERO)];
        assert!(Protection::of(&checks, &[], "api").covers("api/check.sh"));
    }

    #[test]
    fn files_that_patterns_name_are_protected() {
        let protection = protection(Command::Shell("true".to_owned()), &["tests/**", "*.snap"]);
        let paths = ["tests/a/b.rs", "src/lib.rs", "src/x.snap"].map(str::to_owned);
        assert_eq!(protection.among(&paths), ["tests/a/b.rs", "src/x.snap"]);
    }
}
