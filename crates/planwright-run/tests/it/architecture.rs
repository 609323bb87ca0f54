//! The shape of planwright-run: a module imports only from those before it.

use std::collections::{BTreeMap, BTreeSet};
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
    "agent_process",
    "agent_query",
    "fallback",
    "planner",
    "arbitration",
    "engine",
];

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Returns the source files of a module: a file, a folder or both.
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

/// Files in which the name of a dialect is something else: `clido` an agent or a command line, `checklist` a word of people's headings.
const NAMES_SOMETHING_ELSE: &[&str] = &[
    "planwright-core/src/outline/goal.rs",
    "planwright-core/src/outline/phrases.rs",
    "planwright-core/src/outline/task_keys.rs",
    "planwright-run/src/fence/tables.rs",
    "planwright-run/src/config/presets.rs",
    "planwright/src/cli/help.rs",
    "planwright/src/cli/mod.rs",
    "planwright/src/cli/originals.rs",
    "planwright-verbs/src/plans/open_checklists.rs",
];

/// Code outside of the folder of a dialect that imports from it. ARCHITECTURE.md has the same list (invariant 7).
const KNOWS_A_DIALECT: &[&str] = &[
    // The list of all dialects, and the folders that it lists.
    "planwright-core/src/dialect/mod.rs",
    "planwright-core/src/dialect/registry.rs",
    // Task packs alone are derived from another document.
    "planwright-core/src/planning/derive/",
    // The command lines of the original tools.
    "planwright/src/compat/",
];

#[test]
fn architecture_names_the_code_that_knows_a_dialect() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let rule = page.split("**No dialect by name downstream.**").nth(1);
    let rule = rule.and_then(|rule| rule.split("\n8. ").next()).expect("invariant 7");
    for place in KNOWS_A_DIALECT {
        let (_, below) = place.split_once("/src/").expect("a place in a crate");
        let shown = below.trim_end_matches('/');
        assert!(
            rule.contains(&format!("`{shown}`")),
            "invariant 7 does not name `{shown}`"
        );
    }
    let n_named = rule.matches('`').count() / 2;
    assert_eq!(
        n_named,
        KNOWS_A_DIALECT.len() + NOT_PLACES.len(),
        "invariant 7 names more:{rule}"
    );
    assert!(NOT_PLACES.iter().all(|name| rule.contains(&format!("`{name}`"))));
}

/// Code in the text of invariant 7 that is no exception.
const NOT_PLACES: &[&str] = &["Lifecycle", "Wording"];

/// Returns the dialect of which a line of code names the module.
fn imported_dialect(line: &str) -> Option<&'static str> {
    DIALECTS.iter().map(|dialect| dialect.name()).find(|name| {
        let module = name.replace('-', "_");
        let paths = [format!("dialect::{module}"), format!("{module}::")];
        paths.iter().any(|path| {
            line.match_indices(path.as_str()).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let after = line[at + path.len()..].chars().next();
                let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                !is_word(before) && (path.ends_with(':') || !is_word(after))
            })
        })
    })
}

#[test]
fn the_search_for_imports_of_dialects_finds_examples() {
    assert_eq!(
        imported_dialect("use planwright_core::dialect::aimi::is_branch;"),
        Some("aimi")
    );
    assert_eq!(
        imported_dialect("use crate::dialect::{task_pack::TaskPack, writer};"),
        Some("task-pack")
    );
    assert_eq!(imported_dialect("use crate::dialect::aimi;"), Some("aimi"));
    assert_eq!(imported_dialect("use crate::dialect::registry;"), None);
    assert_eq!(imported_dialect("let aimi = compat::aimi_cli::run();"), None);
}

#[test]
fn no_code_but_its_own_knows_a_dialect_by_name() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["planwright-core", "planwright-run", "planwright-verbs", "planwright"] {
        for path in files_below(&crates.join(name).join("src")) {
            let shown = path.to_string_lossy().replace('\\', "/");
            let is_own = DIALECTS.iter().any(|dialect| {
                let folder = dialect.name().replace('-', "_");
                shown.contains(&format!("/dialect/{folder}/"))
            });
            let knows = KNOWS_A_DIALECT.iter().any(|place| shown.contains(place));
            let names_something_else = NAMES_SOMETHING_ELSE.iter().any(|file| shown.ends_with(file));
            if is_own || knows || !shown.ends_with(".rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let product = text.split("#[cfg(test)]").next().unwrap_or("");
            let code: Vec<&str> = product
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .collect();
            for line in code.iter().filter(|line| !line.contains("compat::")) {
                assert_eq!(imported_dialect(line), None, "{shown}: {}", line.trim());
            }
            if names_something_else {
                continue;
            }
            for (line, dialect) in code
                .iter()
                .flat_map(|line| DIALECTS.iter().map(move |dialect| (line, dialect)))
            {
                let quoted = format!("\"{}\"", dialect.name());
                assert!(!line.contains(&quoted), "{shown}: {}", line.trim());
            }
        }
    }
}

/// Type names that are still defined more than once. Sorted; names may only be removed.
const DUPLICATE_TYPE_NAMES: &[&str] = &[
    // Each verb of the command line has its own.
    "Args",
];

/// The crates of the workspace, by their folders.
const CRATES: [&str; 8] = [
    "crates/planwright-core",
    "crates/planwright-run",
    "crates/planwright-verbs",
    "crates/planwright",
    "crates/planwright-testkit",
    "crates/planwright-laws",
    "xtask",
    "xtask/chores",
];

/// Returns the folder with the sources of a crate.
fn sources_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
        .join("src")
}

/// Returns the product's Rust files of a crate, without test modules and test folders.
fn product_files(name: &str) -> Vec<PathBuf> {
    let folder = sources_of(name);
    let is_product = |path: &PathBuf| {
        let mut below = path.strip_prefix(&folder).expect("a path below the folder").iter();
        let is_test = below.any(|part| part == "tests" || part == "tests.rs");
        !is_test && path.extension().is_some_and(|extension| extension == "rs")
    };
    files_below(&folder).into_iter().filter(is_product).collect()
}

#[test]
fn every_crate_of_the_workspace_is_checked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let crates = std::fs::read_dir(root.join("crates")).expect("a folder");
    let n_crates = crates.filter(|entry| {
        entry
            .as_ref()
            .is_ok_and(|entry| entry.path().join("Cargo.toml").is_file())
    });
    let n_checked = CRATES.iter().filter(|name| name.starts_with("crates/")).count();
    assert_eq!(n_crates.count(), n_checked, "add the new crate to `CRATES`");
}

/// Returns the lines of a text outside of items that are compiled only for tests.
fn product_lines(text: &str) -> Vec<&str> {
    let mut lines = text.lines();
    let mut product = Vec::new();
    while let Some(line) = lines.next() {
        if !line.trim_start().starts_with("#[cfg(test)]") {
            product.push(line);
            continue;
        }
        // rustfmt closes an item at the indentation of its first line.
        let indent = &line[..line.len() - line.trim_start().len()];
        let is_attribute = |line: &&str| line.trim_start().starts_with('#');
        let head = lines.by_ref().find(|line| !is_attribute(line)).unwrap_or_default();
        if head.ends_with('{') {
            let end = |line: &str| line.strip_prefix(indent).is_some_and(|rest| rest.starts_with('}'));
            lines.by_ref().find(|line| end(line));
        }
    }
    product
}

/// The files that open only what no task can replace: system files, and the one place where files are opened.
const OPEN_BY_THEMSELVES: [&str; 4] = ["files/", "process_table.rs", "worker/processes.rs", "faults/"];

/// A task may replace any file by a pipe, and a plain open would wait for its other end.
#[test]
fn no_file_is_read_by_a_call_that_may_wait_for_a_pipe() {
    let source = source_folder();
    for path in files_below(&source) {
        let below = path
            .strip_prefix(&source)
            .expect("a path below")
            .to_string_lossy()
            .into_owned();
        if OPEN_BY_THEMSELVES.iter().any(|own| below.starts_with(own)) || below.ends_with("tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let calls = ["fs::read(", "fs::read_to_string(", "File::open("];
        for line in product_lines(&text) {
            let waits = calls.iter().any(|call| line.contains(call));
            let is_certain = line.contains("/proc/") || line.contains("sync_all()");
            assert!(!waits || is_certain, "{below}: use `files::read_file`: {line}");
        }
    }
}

/// Returns the name of the type whose definition starts on a line. Associated types, which are indented, do not count.
fn defined_type(line: &str) -> Option<&str> {
    let item = line.trim_start();
    let item = match item.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => item,
    };
    let (keyword, rest) = item.split_once(' ')?;
    let is_type = match keyword {
        "struct" | "enum" | "trait" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (is_type && name.starts_with(|c: char| c.is_ascii_uppercase())).then_some(name)
}

#[test]
fn no_type_name_occurs_twice() {
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in CRATES.into_iter().flat_map(product_files) {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        for name in product_lines(&text).into_iter().filter_map(defined_type) {
            places.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    places.retain(|_, paths| paths.len() > 1);
    assert!(
        DUPLICATE_TYPE_NAMES.is_sorted(),
        "sort the list of duplicate type names"
    );
    for (name, paths) in &places {
        let is_known = DUPLICATE_TYPE_NAMES.contains(&name.as_str());
        assert!(is_known, "`{name}` is defined more than once: {paths:#?}");
    }
    for name in DUPLICATE_TYPE_NAMES {
        assert!(
            places.contains_key(*name),
            "`{name}` is defined once: remove it from the list"
        );
    }
}

/// Adds the paths of a tree of imports.
fn expand_import(tree: &str, prefix: &[String], paths: &mut Vec<Vec<String>>) {
    let (head, list) = match tree.split_once('{') {
        Some((head, rest)) => (head, rest.trim_end().strip_suffix('}')),
        None => (tree.split(" as ").next().unwrap_or(tree), None),
    };
    let segments = head.split("::").map(str::trim).filter(|segment| !segment.is_empty());
    let path: Vec<String> = prefix.iter().cloned().chain(segments.map(str::to_owned)).collect();
    let Some(list) = list else {
        paths.push(path);
        return;
    };
    let mut depth = 0;
    let parts = list.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
        expand_import(part, &path, paths);
    }
}

/// Returns the paths that a file imports outside of its tests.
fn imports(text: &str) -> Vec<Vec<String>> {
    let code: Vec<&str> = product_lines(text)
        .into_iter()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let mut paths = Vec::new();
    for statement in code.join("\n").split(';') {
        let start = statement.lines().find_map(|line| {
            let item = line.trim_start();
            let at = item.find("use ")?;
            (at == 0 || item.starts_with("pub")).then(|| &item[at..])
        });
        let tree = start.and_then(|start| statement.split_once(start).map(|(_, rest)| format!("{start}{rest}")));
        if let Some(tree) = tree {
            expand_import(tree.trim_start_matches("use "), &[], &mut paths);
        }
    }
    paths
}

/// Returns the file of an import path that begins with `crate`, `self` or `super`.
fn imported_file(own: &[String], path: &[String], files: &BTreeMap<Vec<String>, String>) -> Option<Vec<String>> {
    let mut module = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" | "super" => own.to_vec(),
        _ => return None,
    };
    for segment in path
        .iter()
        .skip_while(|segment| ["crate", "self"].contains(&segment.as_str()))
    {
        if segment == "super" {
            module.pop();
            continue;
        }
        module.push(segment.clone());
        if !files.contains_key(&module) {
            module.pop();
            break;
        }
    }
    Some(module)
}

#[test]
fn no_import_cycles_between_files() {
    let mut in_circles = BTreeSet::new();
    for name in CRATES {
        let folder = sources_of(name);
        let files: BTreeMap<Vec<String>, String> = product_files(name)
            .into_iter()
            .filter_map(|path| {
                let module = path.strip_prefix(&folder).ok()?.with_extension("");
                let parts = module.iter().map(|part| part.to_string_lossy().into_owned());
                let parts = parts.filter(|part| part != "mod" && part != "lib");
                Some((
                    parts.collect(),
                    std::fs::read_to_string(&path).expect("a readable file"),
                ))
            })
            .collect();
        let edges: BTreeMap<&Vec<String>, BTreeSet<Vec<String>>> = files
            .iter()
            .map(|(own, text)| {
                let targets = imports(text);
                let targets = targets.iter().filter_map(|path| imported_file(own, path, &files));
                (own, targets.filter(|target| target != own).collect())
            })
            .collect();
        for own in files.keys() {
            let mut reached = BTreeSet::new();
            let mut open = vec![own];
            while let Some(next) = open.pop() {
                open.extend(edges[next].iter().filter(|target| reached.insert(*target)));
            }
            if reached.contains(own) {
                in_circles.insert(format!("{name}/{}", own.join("/")));
            }
        }
    }
    assert!(in_circles.is_empty(), "these files import each other: {in_circles:#?}");
}
