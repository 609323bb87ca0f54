//! Collects the `//!` headers of all source files below `crates`, and creates the page `docs/modules.md` from them.

use std::io;
use std::path::{Path, PathBuf};

use crate::repository;

/// The crates whose tables come first, in this order.
const FIRST: &[&str] = &["planwright-core", "planwright-run", "planwright-verbs", "planwright"];

/// How many lines the first paragraph of a header may have.
const MAX_LINES: usize = 2;

/// A source file and its header.
pub struct SourceFile {
    crate_name: String,
    /// The names of the module, from the root of its crate.
    module: Vec<String>,
    /// The lines of the first paragraph of the header.
    paragraph: Vec<String>,
}

impl SourceFile {
    /// Returns the path of the module, with its crate.
    pub fn name(&self) -> String {
        format!("{}: {}", self.crate_name, self.module.join("/"))
    }

    /// Returns the first sentence of the header.
    pub fn sentence(&self) -> String {
        first_sentence(&self.paragraph.join(" "))
    }

    /// Returns the error of the header, if any.
    pub fn problem(&self) -> Option<&'static str> {
        match self.paragraph.len() {
            0 => Some("does not begin with a `//!` sentence"),
            n_lines if n_lines > MAX_LINES => Some("has more than two lines in the first paragraph of its header"),
            _ if !self.sentence().ends_with('.') => Some("has a header that does not begin with a whole sentence"),
            _ => None,
        }
    }

    fn is_test(&self) -> bool {
        self.module.iter().any(|name| name == "tests")
    }
}

/// Returns the text up to the first full stop that ends a sentence. Full stops in backticks do not count.
fn first_sentence(text: &str) -> String {
    let mut is_code = false;
    for (at, c) in text.char_indices() {
        is_code ^= c == '`';
        if c == '.' && !is_code && text[at + 1..].starts_with(' ') {
            return text[..=at].to_owned();
        }
    }
    text.to_owned()
}

/// Returns every source file below `crates/*/src`, with the modules of a crate in the order of its `lib.rs`.
pub fn source_files() -> io::Result<Vec<SourceFile>> {
    let mut crates = Vec::new();
    for entry in std::fs::read_dir(repository().join("crates"))? {
        let entry = entry?;
        if entry.path().join("src").is_dir() {
            crates.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    let place = |name: &String| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len());
    crates.sort_by_key(|name| (place(name), name.clone()));
    let mut found = Vec::new();
    for name in crates {
        found.extend(files_of(&name)?);
    }
    Ok(found)
}

fn files_of(crate_name: &str) -> io::Result<Vec<SourceFile>> {
    let root = repository().join("crates").join(crate_name).join("src");
    let order = declared_modules(&std::fs::read_to_string(root.join("lib.rs")).unwrap_or_default());
    let mut found = Vec::new();
    for path in rust_files(&root)? {
        found.push(SourceFile {
            crate_name: crate_name.to_owned(),
            module: module_of(path.strip_prefix(&root).unwrap_or(&path)),
            paragraph: first_paragraph(&std::fs::read_to_string(&path)?),
        });
    }
    let place = |file: &SourceFile| order.iter().position(|name| file.module.first() == Some(name));
    found.sort_by_key(|file| (place(file), file.module.clone()));
    Ok(found)
}

/// Returns the modules that a root declares, in order.
fn declared_modules(library: &str) -> Vec<String> {
    let declared = library.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    declared.map(str::to_owned).collect()
}

fn rust_files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = vec![root.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            match entry?.path() {
                path if path.is_dir() => folders.push(path),
                path if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
                _ => {}
            }
        }
    }
    Ok(found)
}

fn module_of(relative: &Path) -> Vec<String> {
    let names = relative.with_extension("");
    let names = names.iter().map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name != "mod").collect()
}

fn first_paragraph(text: &str) -> Vec<String> {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let lines = lines.map(str::trim).take_while(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// Returns the text of `docs/modules.md`: a table for each crate, without test modules.
pub fn modules_page() -> io::Result<String> {
    let mut page = String::from(
        "# Modules\n\n\
         After reading this page you know which module to open. It has the first sentence of every source file's `//!` header, and is\n\
         written by `cargo xtask docs`. In `planwright-core` and `planwright-run` a module imports only from modules above it.\n\
         [Architecture](../ARCHITECTURE.md) explains how the crates fit together.\n",
    );
    let mut last = String::new();
    for file in source_files()?.iter().filter(|file| !file.is_test()) {
        if file.crate_name != last {
            last.clone_from(&file.crate_name);
            page.push_str(&format!("\n## {last}\n\n| Module | Purpose |\n| --- | --- |\n"));
        }
        // Links to items of the code do not work on a page.
        let sentence = file.sentence().replace("[`", "`").replace("`]", "`");
        let sentence = sentence.replace('|', "\\|");
        page.push_str(&format!("| `{}` | {sentence} |\n", file.module.join("/")));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_at_its_full_stop() {
        assert_eq!(first_sentence("Reads v2.x plans. Knows no bytes."), "Reads v2.x plans.");
        assert_eq!(first_sentence("Reads `a. b` as one. More."), "Reads `a. b` as one.");
        assert_eq!(first_sentence("Reads"), "Reads");
    }

    #[test]
    fn the_check_of_headers_can_fail() {
        let file = |text: &str| SourceFile {
            crate_name: "a".to_owned(),
            module: vec!["b".to_owned()],
            paragraph: first_paragraph(text),
        };
        assert_eq!(file("//! Reads plans.\n//!\n//! More\n\nuse a;").problem(), None);
        assert!(file("use a;").problem().is_some());
        assert!(file("//! Reads plans\nuse a;").problem().is_some());
        assert!(file("//! One.\n//! Two.\n//! Three.\n").problem().is_some());
    }
}
