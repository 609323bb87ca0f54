//! The documentation as a whole: valid links, and every option documented.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use planwright_testkit::{module_headers, repository};

/// Returns the pages of the repository, by their paths.
fn pages() -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![repository().join("docs")];
    let mut files: Vec<PathBuf> = ["README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"]
        .map(|name| repository().join(format!("{name}.md")))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.extension().is_some_and(|extension| extension == "md") => files.push(path),
                _ => {}
            }
        }
    }
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a page");
        found.insert(path, text);
    }
    found
}

/// Returns the lines of a page that are neither code nor output.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Returns the targets of a page's links.
fn links(text: &str) -> Vec<&str> {
    let ends = prose(text).flat_map(|line| line.split("](").skip(1));
    ends.filter_map(|rest| rest.split(')').next()).collect()
}

/// Returns the anchors of a page, from its headings.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            let kept = words.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn every_link_has_a_target() {
    let pages = pages();
    let mut n_links = 0;
    for (path, text) in &pages {
        for link in links(text).into_iter().filter(|link| !link.contains("://")) {
            n_links += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                file => path.parent().unwrap_or(Path::new("")).join(file),
            };
            let target = target.canonicalize();
            let target = target.unwrap_or_else(|_| panic!("{}: {link} is not there", path.display()));
            let text = pages
                .iter()
                .find(|(page, _)| page.canonicalize().is_ok_and(|page| page == target));
            if let Some((_, text)) = text.filter(|_| !anchor.is_empty()) {
                let is_there = anchors(text).iter().any(|own| own == anchor);
                assert!(is_there, "{}: {link} has no such heading", path.display());
            }
        }
    }
    assert!(n_links > 200, "{n_links} links");
}

#[test]
fn every_verb_and_option_is_described() {
    let pages = pages();
    let pages = pages
        .iter()
        .filter(|(path, _)| path.starts_with(repository().join("docs")));
    let text: String = pages.map(|(_, text)| text.as_str()).collect();
    let command = planwright::command();
    let tasks = command.find_subcommand("tasks").expect("it is there");
    let of_tasks = tasks.get_subcommands().map(|verb| (verb, "tasks "));
    for (verb, group) in command.get_subcommands().map(|verb| (verb, "")).chain(of_tasks) {
        let name = format!("{group}{}", verb.get_name());
        let is_there = text.contains(&format!("planwright {name}")) || text.contains(&format!("`{name}`"));
        assert!(is_there, "{name} is nowhere described");
        for option in verb.get_arguments().filter(|option| !option.is_hide_set()) {
            let Some(long) = option.get_long() else { continue };
            assert!(
                text.contains(&format!("--{long}")),
                "{name} --{long} is nowhere described"
            );
        }
    }
}

#[test]
fn tests_named_on_the_trust_page_exist() {
    let page = std::fs::read_to_string(repository().join("docs/trust.md")).expect("the page");
    let folder = repository().join("crates/planwright/tests/it");
    let named = page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|code| code.split_once("::"));
    let named: Vec<(&str, &str)> = named.collect();
    assert!(named.len() > 15, "{named:?}");
    for (module, name) in named {
        let tests = std::fs::read_to_string(folder.join(format!("{module}.rs"))).unwrap_or_default();
        assert!(tests.contains(&format!("fn {name}(")), "{module}::{name}");
    }
}

#[test]
fn the_readme_is_short_and_has_its_picture() {
    let text = std::fs::read_to_string(repository().join("README.md")).expect("the page is there");
    let n_words = text.split_whitespace().count();
    assert!(n_words < 700, "{n_words} words");
    // `-h` lists the verbs of daily use only.
    assert!(text.contains("`planwright help --all` lists all"), "{text}");
    assert!(text.contains("(docs/first-run.svg)") && repository().join("docs/first-run.svg").is_file());
}

/// Returns every source file of the workspace, relative to the repository.
fn source_files() -> Vec<String> {
    let mut folders = vec![repository().join("crates"), repository().join("xtask")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(repository()).expect("it lies below");
                found.push(relative.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found
}

/// Returns the paths of source files and modules on a page, in prose and in diagrams.
fn named_sources(page: &str) -> Vec<&str> {
    let words = page.split(|c: char| c.is_whitespace() || "`|,;:()".contains(c));
    let is_path = |word: &&str| {
        let is_plain = word.chars().all(|c| c.is_ascii_lowercase() || "_/.-".contains(c));
        is_plain && (word.ends_with(".rs") || word.contains('/')) && !word.starts_with('.')
    };
    words.filter(is_path).collect()
}

#[test]
fn the_page_of_the_architecture_is_short_and_names_files_that_exist() {
    let page = std::fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("the page");
    let n_words = page.split_whitespace().count();
    assert!(n_words < 2500, "{n_words} words");
    let files = source_files();
    let is_module = |name: &str| {
        let name = name.trim_end_matches('/');
        let ends = [name.to_owned(), format!("{name}.rs")];
        let is_file = |file: &String| ends.iter().any(|end| format!("/{file}").ends_with(&format!("/{end}")));
        files
            .iter()
            .any(|file| is_file(file) || format!("/{file}").contains(&format!("/{name}/")))
    };
    let begins_as_module = |name: &&&str| {
        let first = name.split('/').next().unwrap_or_default();
        name.ends_with(".rs") || files.iter().any(|file| file.contains(&format!("/src/{first}/")))
    };
    let named = named_sources(&page);
    let named: Vec<&&str> = named.iter().filter(begins_as_module).collect();
    assert!(named.len() > 60, "{named:?}");
    let gone: Vec<_> = named.iter().filter(|name| !is_module(name)).collect();
    assert!(gone.is_empty(), "no such files: {gone:?}");
}

#[test]
fn every_source_file_begins_with_a_sentence() {
    let files = module_headers::source_files().expect("readable files");
    assert!(files.len() > 500, "{} files", files.len());
    let problems = files
        .iter()
        .filter_map(|file| Some(format!("{} {}", file.name(), file.problem()?)));
    let problems: Vec<String> = problems.collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_page_of_modules_is_current() {
    let page = std::fs::read_to_string(repository().join("docs/modules.md")).unwrap_or_default();
    let expected = module_headers::modules_page().expect("readable files");
    assert!(
        page == expected,
        "docs/modules.md is out of date: run `cargo xtask docs`"
    );
}
