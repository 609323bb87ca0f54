//! The command line only turns arguments into requests and reports into text: it accesses no plan, no journal, no repository and no process
//! itself.

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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli");
    let mut found = Vec::new();
    for path in rust_files(&folder) {
        let name = path
            .strip_prefix(&folder)
            .expect("a file below")
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path).expect("a readable file");
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
