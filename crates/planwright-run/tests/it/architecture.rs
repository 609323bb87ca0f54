//! The shape of planwright-run: a module imports only from those before it.

use std::path::{Path, PathBuf};

use planwright_core::dialect::DIALECTS;

/// The modules in reading order.
const LAYERS: &[&str] = &[
    "error_chain",
    "faults",
    "files",
    "programs",
    "shell",
    "failure_line",
    "clock",
    "process_table",
    "digest",
    "redaction",
    "layout",
    "lock",
    "journal",
    "runs",
    "caller",
    "store",
    "workspace",
    "inspect_file",
    "user",
    "config",
    "claims",
    "proofs",
    "gate",
    "revise",
    "review",
    "proposals",
    "copy_workspace",
    "fence",
    "worker",
    "git",
    "checkout_home",
    "preparation",
    "doctor",
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

/// Files that name `clido` as an agent or a command line, and not as a dialect.
const NAMES_AN_AGENT: &[&str] = &[
    "planwright-run/src/fence/tables.rs",
    "planwright-run/src/config/presets.rs",
    "planwright/src/cli/help.rs",
    "planwright/src/cli/mod.rs",
];

#[test]
fn no_code_but_its_own_knows_a_dialect_by_name() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["planwright-core", "planwright-run", "planwright"] {
        for path in files_below(&crates.join(name).join("src")) {
            let shown = path.to_string_lossy().replace('\\', "/");
            let is_own = DIALECTS.iter().any(|dialect| {
                let folder = dialect.name().replace('-', "_");
                shown.contains(&format!("/dialect/{folder}/"))
            });
            let is_exempt = shown.contains("/compat/") || NAMES_AN_AGENT.iter().any(|file| shown.ends_with(file));
            if is_own || is_exempt || !shown.ends_with(".rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let product = text.split("#[cfg(test)]").next().unwrap_or("");
            let code = product.lines().filter(|line| !line.trim_start().starts_with("//"));
            for (line, dialect) in code.flat_map(|line| DIALECTS.iter().map(move |dialect| (line, dialect))) {
                let quoted = format!("\"{}\"", dialect.name());
                assert!(!line.contains(&quoted), "{shown}: {}", line.trim());
            }
        }
    }
}
