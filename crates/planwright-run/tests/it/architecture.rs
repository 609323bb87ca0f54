//! The shape of planwright-run: a module imports only from those before it.

use std::path::{Path, PathBuf};

/// The modules in reading order.
const LAYERS: &[&str] = &[
    "causes",
    "faults",
    "files",
    "programs",
    "shell",
    "local_time",
    "clock",
    "process_table",
    "digest",
    "redaction",
    "place",
    "lock",
    "journal",
    "runs",
    "caller",
    "store",
    "workspace",
    "examine",
    "user",
    "config",
    "claims",
    "proofs",
    "gate",
    "revise",
    "review",
    "proposals",
    "duplicate",
    "fence",
    "worker",
    "git",
    "checkout_home",
    "preparation",
    "health",
    "verify",
    "setup",
    "agent_output",
    "agent_query",
    "fallback",
    "planner",
    "arbitration",
    "engine",
];

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Returns the source files of a module, be it a file, a folder or both.
fn sources(module: &str) -> Vec<PathBuf> {
    let file = source_folder().join(format!("{module}.rs"));
    let folder = source_folder().join(module);
    let below = folder.is_dir().then(|| files_below(&folder));
    let all: Vec<PathBuf> = file
        .is_file()
        .then_some(file)
        .into_iter()
        .chain(below.into_iter().flatten())
        .collect();
    assert!(!all.is_empty(), "there is no module `{module}`");
    all
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a file or a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path),
            false => vec![path],
        })
        .collect()
}

/// Returns the modules that a text names as `crate::…`.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split("crate::").skip(1).map(|rest| {
        rest.split(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
            .unwrap_or("")
    })
}

#[test]
fn layers_are_in_the_order_of_the_crate() {
    let library = std::fs::read_to_string(source_folder().join("lib.rs")).expect("a readable file");
    let modules = library
        .lines()
        .filter_map(|line| {
            line.strip_prefix("pub mod ")
                .or_else(|| line.strip_prefix("pub(crate) mod "))
        })
        .filter_map(|name| name.strip_suffix(';'));
    assert_eq!(modules.collect::<Vec<_>>(), LAYERS);
}

#[test]
fn imports_point_down() {
    for (place, module) in LAYERS.iter().enumerate() {
        for path in sources(module) {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            for name in named(&text) {
                let target = LAYERS.iter().position(|layer| *layer == name);
                assert!(
                    target.is_some_and(|target| target <= place),
                    "{}: `crate::{name}` does not point down",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn the_store_and_the_journal_touch_files_through_their_seam_alone() {
    for path in sources("journal").into_iter().chain(sources("store")) {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let product = text.split("#[cfg(test)]").next().unwrap_or("");
        for word in [
            "fs::read",
            "fs::write",
            "fs::rename",
            "fs::remove",
            "File::open",
            "fs::metadata",
            "OpenOptions",
        ] {
            assert!(!product.contains(word), "{}: {word}", path.display());
        }
    }
}
