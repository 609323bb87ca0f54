//! The shape of planwright-core: imports point down the list of layers, and nothing touches the world.

use std::path::{Path, PathBuf};

use planwright_core::dialect::DIALECTS;

use crate::source::{Mention, Token, mentions, tokens, without_tests};

/// The layers in reading order: a module imports only from those before it and from itself.
const LAYERS: &[&str] = &[
    "text",
    "diagnostic",
    "document",
    "plan",
    "edit",
    "dialect",
    "check",
    "graph",
    "schedule",
    "agent",
    "prompt",
    "arbiter",
    "inspect",
    "outline",
    "convert",
    "fix",
    "change",
    "planning",
];

/// Imports that point down and are forbidden.
const FORBIDDEN: &[(&str, &str)] = &[
    ("plan", "document"),
    ("check", "document"),
    ("check", "dialect"),
    ("graph", "document"),
    ("graph", "dialect"),
    ("agent", "plan"),
    ("agent", "dialect"),
    ("prompt", "document"),
    ("prompt", "dialect"),
    ("arbiter", "dialect"),
    ("outline", "dialect"),
];

/// Returns whether a word is the module of a dialect. Dialects do not know each other.
fn is_dialect(name: &str) -> bool {
    DIALECTS.iter().any(|dialect| dialect.name().replace('-', "_") == name)
}

/// Parts of the standard library that touch the world.
const WORLD: &[&str] = &["fs", "io", "net", "process", "env", "thread", "time", "os"];

/// Words that mean a clock, a thread, the environment or output, wherever they stand.
const WORLDLY_WORDS: &[&str] = &["async", "await", "tokio", "smol", "rayon", "chrono", "rand", "libc"];

/// Macros that print or read the environment.
const WORLDLY_MACROS: &[&str] = &[
    "println",
    "eprintln",
    "print",
    "eprint",
    "dbg",
    "env",
    "option_env",
    "thread_local",
];

/// The dependencies of planwright-core. A new name here needs a reason in its `Cargo.toml`.
const DEPENDENCIES: &[&str] = &["granit-parser", "memchr", "sha2", "strsim"];

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A source file and the module it is.
struct Source {
    path: PathBuf,
    module: Vec<String>,
    text: String,
}

/// Returns every source file of the crate.
fn sources() -> Vec<Source> {
    let root = crate_folder().join("src");
    let mut folders = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a readable folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(Source {
                    module: module_of(path.strip_prefix(&root).expect("it lies below")),
                    text: std::fs::read_to_string(&path).expect("a readable file"),
                    path,
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 40, "the crate has more files than {}", found.len());
    found
}

fn module_of(relative: &Path) -> Vec<String> {
    let names = relative.with_extension("");
    let names = names.iter().map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name != "mod" && name != "lib").collect()
}

/// Returns the errors in the imports of one file.
fn import_slips(module: &[String], text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let own = module.first().map_or("", String::as_str);
    let mut slips = Vec::new();
    for mention in mentions(&tokens, &["crate", "super", "self"]) {
        let target = resolve(module, &mention);
        if let Some(what) = judge(own, module, &target) {
            slips.push(format!("line {}: {} {what}", mention.line, mention.segments.join("::")));
        }
    }
    if own == "check" {
        slips.extend(dialect_words(&tokens));
    }
    slips
}

/// Returns the path from the root of the crate.
fn resolve(module: &[String], mention: &Mention) -> Vec<String> {
    let mut at: Vec<String> = module.iter().chain(&mention.inside).cloned().collect();
    for segment in &mention.segments {
        match segment.as_str() {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            "self" => {}
            name => at.push(name.to_owned()),
        }
    }
    at
}

/// Returns the error of a module of layer `own` that names `target`.
fn judge(own: &str, module: &[String], target: &[String]) -> Option<String> {
    let layer = target.first()?.as_str();
    let place = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    let (Some(own_place), Some(place)) = (place(own), place(layer)) else {
        return Some("is in no layer".to_owned());
    };
    if place > own_place {
        return Some(format!("points up: `{layer}` comes after `{own}`"));
    }
    if FORBIDDEN.contains(&(own, layer)) {
        return Some(format!("is not for `{own}` to know"));
    }
    let dialect = |path: &[String]| path.get(1).filter(|name| is_dialect(name)).cloned();
    match (dialect(module), dialect(target)) {
        (Some(one), Some(other)) if own == "dialect" && layer == "dialect" && one != other => {
            Some(format!("makes the dialect `{one}` know `{other}`"))
        }
        // The registry names all of them; shared code uses the trait.
        (None, Some(other))
            if module.get(1).is_some_and(|name| name != "registry") && own == "dialect" && layer == "dialect" =>
        {
            Some(format!("makes what all dialects share know `{other}`"))
        }
        _ => None,
    }
}

/// Returns words with which a rule would ask for the dialect of a plan.
fn dialect_words(tokens: &[Token]) -> Vec<String> {
    let is_dialect = |token: &&Token| {
        let word = token.text.to_lowercase();
        word.contains("dialect")
            || word == "form"
            || DIALECTS.iter().any(|dialect| word == dialect.name().replace('-', ""))
    };
    let found = tokens.iter().filter(is_dialect);
    found
        .map(|token| format!("line {}: a rule asks for the dialect: `{}`", token.line, token.text))
        .collect()
}

/// Returns how one file touches the world, outside its tests.
fn world_slips(text: &str) -> Vec<String> {
    let (code, _) = without_tests(&tokens(text));
    let mut slips = Vec::new();
    for mention in mentions(&code, &["std", "core", "alloc"]) {
        let second = mention.segments.get(1).map_or("", String::as_str);
        let third = mention.segments.get(2).map_or("", String::as_str);
        if WORLD.contains(&second) || second == "*" || (second == "sync" && third != "Arc") {
            slips.push(format!("line {}: {}", mention.line, mention.segments.join("::")));
        }
    }
    for (at, token) in code.iter().enumerate() {
        let is_macro = code.get(at + 1).is_some_and(|next| next.is("!"));
        let is_bad = WORLDLY_WORDS.contains(&token.text.as_str())
            || (is_macro && WORLDLY_MACROS.contains(&token.text.as_str()))
            || (token.is("static") && code.get(at + 1).is_some_and(|next| next.is("mut")));
        if is_bad {
            slips.push(format!("line {}: {}", token.line, token.text));
        }
    }
    slips
}

/// Returns the dependencies in a manifest that the list does not allow.
fn dependency_slips(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut slips = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
            let is_known = matches!(line, "[dependencies]" | "[dev-dependencies]");
            if line.contains("dependencies") && !is_known && !line.contains("dev-dependencies") {
                slips.push(format!("{line}: dependencies stand in [dependencies] alone"));
            }
            continue;
        }
        if section == "[dependencies]" && !line.is_empty() && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or("");
            if !DEPENDENCIES.contains(&name) {
                slips.push(format!("`{name}` is not on the list"));
            }
        }
    }
    slips
}

#[test]
fn layers_are_in_the_order_of_the_crate() {
    let library = std::fs::read_to_string(crate_folder().join("src/lib.rs")).expect("a readable file");
    let modules = library.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    assert_eq!(modules.collect::<Vec<_>>(), LAYERS);
}

#[test]
fn imports_point_down() {
    let mut slips = Vec::new();
    for source in sources().iter().filter(|source| !source.module.is_empty()) {
        let found = import_slips(&source.module, &source.text);
        slips.extend(found.iter().map(|slip| format!("{}: {slip}", source.path.display())));
    }
    assert!(slips.is_empty(), "{}", slips.join("\n"));
}

/// The module with the only state of the core: a list of dialects that tests may add one to (decision 0017).
const REGISTRY: [&str; 2] = ["dialect", "registry"];

#[test]
fn core_has_no_io() {
    let sources = sources();
    let mut test_modules: Vec<Vec<String>> = Vec::new();
    for source in &sources {
        for name in without_tests(&tokens(&source.text)).1 {
            test_modules.push(source.module.iter().cloned().chain([name]).collect());
        }
    }
    let mut slips = Vec::new();
    for source in &sources {
        if !test_modules.iter().any(|tests| source.module.starts_with(tests)) {
            let mut found = world_slips(&source.text);
            if source.module == REGISTRY {
                found.retain(|slip| !slip.ends_with("std::sync::OnceLock"));
            }
            slips.extend(found.iter().map(|slip| format!("{}: {slip}", source.path.display())));
        }
    }
    assert!(slips.is_empty(), "{}", slips.join("\n"));
}

#[test]
fn dependencies_are_on_the_allowed_list() {
    let manifest = std::fs::read_to_string(crate_folder().join("Cargo.toml")).expect("a readable file");
    assert_eq!(dependency_slips(&manifest), [""; 0]);
    for name in DEPENDENCIES {
        assert!(manifest.contains(&format!("\n{name} ")), "`{name}` is no longer used");
    }
}

#[track_caller]
fn check_import(module: &str, text: &str, expected: Option<&str>) {
    let module: Vec<String> = module.split('/').map(str::to_owned).collect();
    let slips = import_slips(&module, text);
    match expected {
        None => assert_eq!(slips, [""; 0]),
        Some(expected) => assert!(
            slips.len() == 1 && slips[0].contains(expected),
            "expected one slip with `{expected}`, found {slips:?}"
        ),
    }
}

#[test]
fn the_check_of_imports_can_fail() {
    check_import("plan", "use crate::text::Span;", None);
    check_import("plan", "use crate::dialect::Facts;", Some("points up"));
    check_import("plan/links", "use super::super::check;", Some("points up"));
    check_import("plan/links", "use super::{Plan, lifecycle::Order};", None);
    check_import(
        "text",
        "use crate::{\n    text::Span,\n    fix::fix};",
        Some("points up"),
    );
    check_import("text", "fn f() { crate::inspect::rules(); }", Some("points up"));
    check_import(
        "text",
        "mod tests { fn f() { super::super::plan::f(); } }",
        Some("points up"),
    );
    check_import("text", "mod tests { use super::*; }", None);
    check_import("plan", "use crate::document::Kind;", Some("is not for `plan`"));
    check_import(
        "dialect/aimi/read_v2",
        "use super::super::clido::Clido;",
        Some("know `clido`"),
    );
    check_import(
        "dialect/clido",
        "use super::{reader::Table, rawko::Rawko};",
        Some("know `rawko`"),
    );
    check_import(
        "dialect/aimi/read_v2",
        "use super::Story; use super::super::reader::Table;",
        None,
    );
    check_import(
        "dialect/open",
        "fn f() { super::task_pack::original::SECTION; }",
        Some("share know `task_pack`"),
    );
    check_import("dialect", "static ALL: &[&dyn Dialect] = &[&self::clido::Clido];", None);
    check_import("graph", "use crate::nowhere::Thing;", Some("is in no layer"));
    check_import(
        "check/cycle",
        "fn f(p: &Plan) { p.dialect == x; }",
        Some("asks for the dialect"),
    );
    check_import("check/cycle", "// no matter which dialect\nlet x = \"dialect\";", None);
}

#[track_caller]
fn check_world(text: &str, expected: &[&str]) {
    let slips = world_slips(text);
    let found: Vec<&str> = slips.iter().filter_map(|slip| Some(slip.split_once(": ")?.1)).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_check_of_purity_can_fail() {
    check_world("use std::fs;", &["std::fs"]);
    check_world("use std::{borrow::Cow, io::Write as _};", &["std::io::Write"]);
    check_world("let now = std::time::Instant::now();", &["std::time::Instant::now"]);
    check_world("use std::sync::{Arc, Mutex};", &["std::sync::Mutex"]);
    check_world(
        "use std::sync::atomic::AtomicUsize;",
        &["std::sync::atomic::AtomicUsize"],
    );
    check_world("use std::*;", &["std::*"]);
    check_world("async fn f() { g().await }", &["async", "await"]);
    check_world("println!(); eprintln!();", &["println", "eprintln"]);
    check_world("static mut N: u32 = 0;", &["static"]);
    check_world("let home = env!(\"HOME\");", &["env"]);
    check_world("use std::collections::HashMap; use std::sync::Arc; let print = 1;", &[]);
    check_world("#[cfg(test)]\nmod tests { use std::fs; }\n// std::fs", &[]);
    check_world("#[cfg(not(test))]\nuse std::fs;", &["std::fs"]);
}

#[test]
fn the_check_of_dependencies_can_fail() {
    assert_eq!(dependency_slips("[dependencies]\n# why\nsha2 = \"1\"\n"), [""; 0]);
    assert_eq!(dependency_slips("[dependencies]\ntokio = \"1\"\n").len(), 1);
    assert_eq!(dependency_slips("[dependencies]\nrand.workspace = true\n").len(), 1);
    assert_eq!(dependency_slips("[dependencies.tokio]\nversion = \"1\"\n").len(), 1);
    assert_eq!(
        dependency_slips("[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n").len(),
        1
    );
    assert_eq!(dependency_slips("[build-dependencies]\ncc = \"1\"\n").len(), 1);
    assert_eq!(dependency_slips("[dev-dependencies]\nproptest = \"1\"\n"), [""; 0]);
}
