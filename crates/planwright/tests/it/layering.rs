//! The command line only turns arguments into requests and reports into text: it accesses no plan, no journal, no repository and no process
//! itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What the command line may use of the crate with IO: values, and words for people.
const VALUES: [&str; 5] = ["clock", "config::units", "engine::Watcher", "runs", "shell"];

/// What single files use in addition, each with its reason.
const EXCEPTIONS: [(&str, &str); 2] = [
    // A fenced process restricts itself before anything else, and becomes the program.
    ("mod.rs", "fence"),
    // The editor belongs to the user at the terminal.
    ("editor.rs", "programs"),
];

#[test]
fn no_file_of_the_command_line_uses_the_store_the_journal_git_or_processes() {
    let mut found = Vec::new();
    for (name, text) in command_line_files() {
        for used in text.split("planwright_run::").skip(1) {
            let is_value = VALUES.iter().any(|value| used.starts_with(value));
            let is_known = EXCEPTIONS
                .iter()
                .any(|(file, module)| name == *file && used.starts_with(module));
            if !is_value && !is_known {
                found.push(format!("{name}: {}", used.lines().next().unwrap_or_default()));
            }
        }
    }
    assert!(found.is_empty(), "belongs into planwright-verbs:\n{}", found.join("\n"));
}

/// What files of the command line may use of the crate that decides about plans.
const CORE_VALUES: [(&str, &str); 9] = [
    // Findings are drawn with their places by the text that they are about.
    ("check.rs", "diagnostic::{Safety, Severity}"),
    ("create.rs", "diagnostic::Severity"),
    ("planner.rs", "diagnostic::Diagnostic"),
    ("edit.rs", "text::SourceText"),
    // Words and limits of the arguments.
    ("mod.rs", "plan::Verb "),
    ("transition.rs", "plan::Verb;"),
    ("planner.rs", "planning::answer::MAX_ANSWER_BYTES"),
    ("suggestions.rs", "check::nearest_name"),
    ("outline.rs", "outline::"),
];

/// Files that pass a whole plan on to a drawing: rawko's events and the page of a run lay tasks out by their links.
const PASS_PLANS: [&str; 3] = ["events.rs", "report.rs", "run_view.rs"];

#[test]
fn no_file_of_the_command_line_decides_about_a_plan() {
    let mut found = Vec::new();
    for (name, text) in command_line_files() {
        for used in text.split("planwright_core::").skip(1) {
            // Arguments that are names of dialects are checked by the registry.
            let is_value = used.starts_with("dialect")
                || CORE_VALUES
                    .iter()
                    .any(|(file, value)| name == *file && used.starts_with(value));
            if !is_value {
                found.push(format!("{name}: {}", used.lines().next().unwrap_or_default()));
            }
        }
        let walks = [".links", ".linked()", ".inspection", ".tasks()[", "Readiness"];
        let walks = walks.iter().filter(|walk| text.contains(**walk));
        found.extend(
            walks
                .filter(|_| !PASS_PLANS.contains(&name.as_str()))
                .map(|walk| format!("{name}: {walk}")),
        );
    }
    assert!(found.is_empty(), "decided in planwright-verbs:\n{}", found.join("\n"));
}

/// Files of the binary that access files or start processes themselves, each with its reason.
const ACCESS: [(&str, &str); 6] = [
    // `@FILE` and `--from FILE` are arguments, which are read before a verb is called.
    ("cli/text_arg.rs", "std::fs::File"),
    // The original tools have their own files with their own rules, and unreadable ones are part of their answers.
    ("compat/aimi_cli/state.rs", "std::fs"),
    ("compat/aimi_cli/tasks.rs", "std::fs"),
    ("compat/clido.rs", "std::fs"),
    ("compat/spec_first.rs", "std::fs"),
    ("compat/write.rs", "std::fs"),
];

#[test]
fn no_file_of_the_binary_accesses_files_or_starts_processes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for path in rust_files(&folder) {
        let name = path.strip_prefix(&folder).expect("a file below").to_string_lossy();
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for forbidden in ["std::fs", "process::Command", "Command::new", "OpenOptions"] {
            let is_known = |(file, start): &(&str, &str)| *file == name && start.starts_with(forbidden);
            if code.contains(forbidden) && !ACCESS.iter().any(is_known) {
                found.push(format!("{name}: {forbidden}"));
            }
        }
    }
    assert!(found.is_empty(), "belongs into planwright-verbs:\n{}", found.join("\n"));
}

#[test]
fn folders_of_the_binary_and_of_the_verbs_are_in_no_circle() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let verbs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../planwright-verbs/src");
    for folder in [source, verbs] {
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for path in rust_files(&folder) {
            let own = path.strip_prefix(&folder).expect("a file below");
            let own = own.iter().next().expect("a name").to_string_lossy().replace(".rs", "");
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default().lines();
            let code = code.filter(|line| !line.trim_start().starts_with("//"));
            let code = code.collect::<Vec<_>>().join("\n");
            let named = code.split("crate::").skip(1).map(|rest| {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                rest[..end.unwrap_or(rest.len())].to_owned()
            });
            let named = named.filter(|name| *name != own && !name.is_empty());
            uses.entry(own.clone()).or_default().extend(named);
        }
        for own in uses.keys().filter(|own| !["lib", "main"].contains(&own.as_str())) {
            let (mut reached, mut open) = (BTreeSet::new(), vec![own]);
            while let Some(next) = open.pop() {
                let named = uses.get(next).into_iter().flatten();
                open.extend(named.filter(|target| reached.insert(*target)));
            }
            assert!(
                !reached.contains(own),
                "{}: `{own}` imports itself through others",
                folder.display()
            );
        }
    }
}

#[test]
fn no_verb_knows_a_command_line_or_a_terminal() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../planwright-verbs/src");
    for path in rust_files(&folder) {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        for forbidden in [
            "clap::",
            "process::exit",
            "is_terminal",
            "println!",
            "io::stdout",
            "io::stdin",
            "\\u{1b}[",
        ] {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            assert!(!code.contains(forbidden), "{}: {forbidden}", path.display());
        }
    }
}

/// Returns the names and the texts of the files of the command line.
fn command_line_files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli");
    let named = |path: PathBuf| {
        let name = path.strip_prefix(&folder).expect("a file below");
        let text = std::fs::read_to_string(&path).expect("a readable file");
        (name.to_string_lossy().into_owned(), text)
    };
    rust_files(&folder).into_iter().map(named).collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
