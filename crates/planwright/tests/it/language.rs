//! Words that confuse readers stay out of help texts, messages and pages.

use planwright_testkit::repository;

/// Retired words and constructions.
const RETIRED: &[&str] = &[
    "mend",
    "mends",
    "mended",
    "nobody",
    "somebody",
    "whoever",
    "anybody",
    "what came of",
    "is told",
    "says of",
    "speaks of",
    "goes on",
    "gone on",
    "all the same",
    "nevertheless",
    "at the moment",
    "as it came",
    "as they came",
    "came of it",
    "says nowhere",
    "who does it",
    "against nothing",
    "whatever it looks like",
    "in the middle of something",
    "is told of",
];

/// Returns the retired words in a text, each at word boundaries.
pub(crate) fn retired_in(text: &str) -> Vec<&'static str> {
    let lower = text.to_lowercase();
    let is_boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    let has = |word: &&&str| {
        lower.match_indices(**word).any(|(at, _)| {
            let after = lower[at + word.len()..].chars().next();
            is_boundary(lower[..at].chars().next_back()) && is_boundary(after)
        })
    };
    RETIRED.iter().filter(has).copied().collect()
}

/// Returns the prose of a page: without fenced blocks and inline code.
fn prose(page: &str) -> String {
    let mut is_fenced = false;
    let mut out = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        if !is_fenced && !line.starts_with("    ") {
            let plain = line.split('`').step_by(2);
            out.push_str(&plain.collect::<Vec<_>>().join(" "));
            out.push('\n');
        }
    }
    out
}

#[test]
fn pages_have_no_retired_words() {
    let mut folders = vec![repository().join("docs")];
    let roots = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let mut files = roots.map(|name| repository().join(name)).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|ending| ending == "md") => files.push(path),
                false => {}
            }
        }
    }
    let mut found = Vec::new();
    for file in files {
        let text = prose(&std::fs::read_to_string(&file).expect("a page"));
        for line in text.lines() {
            found.extend(
                retired_in(line)
                    .iter()
                    .map(|word| format!("{}: {word}: {line}", file.display())),
            );
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn messages_have_no_retired_words() {
    let mut folders: Vec<_> = ["planwright", "planwright-verbs", "planwright-run", "planwright-core"]
        .iter()
        .map(|name| repository().join("crates").join(name).join("src"))
        .collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let is_source = path.extension().is_some_and(|ending| ending == "rs");
            let is_test = path.ends_with("tests") || path.ends_with("tests.rs");
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if is_source && !is_test {
                let text = std::fs::read_to_string(&path).expect("a source file");
                let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
                // Strings with a space are for people; comments contain none.
                for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
                    for part in line.split('"').skip(1).step_by(2).filter(|part| part.contains(' ')) {
                        found.extend(
                            retired_in(part)
                                .iter()
                                .map(|word| format!("{}: {word}: {part}", path.display())),
                        );
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_search_for_retired_words_finds_an_example() {
    assert_eq!(retired_in("Nobody mends it"), ["mends", "nobody"]);
    assert!(retired_in("recommended, amended").is_empty());
    assert_eq!(prose("a `mend` b\n```\nmend\n```\nc\n"), "a   b\nc\n");
}
