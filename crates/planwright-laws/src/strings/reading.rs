//! Reads a written plan like the next verb, and compares it with the result for a harmless word.

use std::collections::{BTreeMap, BTreeSet};

use planwright_core::diagnostic::{Safety, Severity};
use planwright_core::dialect::{Choice, DiskFacts, find, recognise};
use planwright_core::document::markdown::Markdown;
use planwright_core::document::{NodeKind, NodeRef, Parsed, json, yaml};
use planwright_core::fix::fix;
use planwright_core::inspect::inspect;
use planwright_core::text::SourceText;

/// A text that a verb wrote.
pub(super) struct VerbOutput {
    pub(super) dialect: &'static str,
    /// Its path.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) origin: TextOrigin,
    /// Whether the verb reported a change of the text.
    pub(super) reports_changes: bool,
}

/// The origin of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextOrigin {
    /// An edit of another text.
    Edited,
    /// The values alone. A blank text is then missing, and the title of a plan may be the first line of its goal.
    Composed,
}

/// The scalars of a document by their route.
pub(super) type Scalars = BTreeMap<String, String>;

/// Reads a text by its path, without a path, and with an unknown extension: each gives the same valid plan. Returns its content.
pub(super) fn read_again(written: &VerbOutput) -> Scalars {
    let source = SourceText::from_bytes(written.text.clone().into_bytes());
    let facts = DiskFacts::default();
    let mut n_tasks = None;
    for path in [Some(written.path.as_str()), None, Some("plan.txt")] {
        let choice = Choice {
            path,
            ..Choice::by_content(&facts)
        };
        let inspection = inspect(&source, &choice);
        assert_eq!(
            inspection.dialect_name(),
            Some(written.dialect),
            "{path:?}\n{}",
            written.text
        );
        let errors: Vec<_> = inspection
            .diagnostics
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{path:?}: {errors:?}\n{}", written.text);
        let n_read = inspection.plan.map(|linked| linked.plan.tasks().len());
        assert!(
            n_read.is_some() && n_read == *n_tasks.get_or_insert(n_read),
            "{path:?}\n{}",
            written.text
        );
        assert_eq!(
            recognise(&source, path),
            Some(written.dialect),
            "{path:?}\n{}",
            written.text
        );
    }
    let read = scalars(written.dialect, &source);
    let choice = Choice {
        path: Some(&written.path),
        ..Choice::by_content(&facts)
    };
    let fixed = fix(&source, &choice, Safety::Safe);
    let kept: BTreeSet<String> = scalars(written.dialect, &fixed.source).into_values().collect();
    let lost = read.values().find(|text| !kept.contains(*text));
    assert_eq!(lost, None, "lost by {:?}\n{}", fixed.applied, written.text);
    read
}

/// Checks that a word reads back wherever the harmless one appears.
pub(super) fn compare(harmless: &VerbOutput, word: &VerbOutput, [sentinel, said]: [&str; 2]) {
    let (expected, found) = (read_again(harmless), read_again(word));
    // A blank note is none.
    if said.trim().is_empty() {
        return;
    }
    let has_word = |(place, value): &(&String, &String)| value.contains(sentinel) || place.contains(sentinel);
    for (place, value) in expected.iter().filter(has_word) {
        let place = place.replace(sentinel, said);
        let value = value.replace(sentinel, said);
        let read = found.get(&place);
        let is_first_line = || {
            let first = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
            let read = read.map_or("", |read| read.trim_end_matches('…').trim_end());
            word.origin == TextOrigin::Composed
                && place.ends_with("title")
                && !read.is_empty()
                && first.starts_with(read)
        };
        assert!(
            read == Some(&value) || word.reports_changes || is_first_line(),
            "{place} should be {value:?}, and is {read:?}\n{}",
            word.text
        );
    }
}

fn scalars(dialect: &str, source: &SourceText) -> Scalars {
    let mut found = Scalars::new();
    let own = find(dialect).expect("a known dialect");
    let notation = own.notation().map(|notation| notation(source, None).parse(source));
    let parsed = match own.embedded().and_then(|embedded| embedded.document(source)) {
        _ if let Some(parsed) = notation => parsed,
        Some(parsed) => {
            let markdown = Markdown::parse(source);
            for entry in markdown.entries() {
                let (key, value) = (source.slice(entry.key), source.slice(entry.content));
                found.insert(format!("---{key}"), value.to_owned());
            }
            parsed
        }
        None => document(source),
    };
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    if let Some(root) = parsed.document.root() {
        flatten(root, String::new(), &mut found);
        check_second_opinion(root);
    }
    found
}

fn document(source: &SourceText) -> Parsed {
    match source.as_str().trim_start().starts_with('{') {
        true => json::parse(source),
        false => yaml::parse(source),
    }
}

fn flatten(node: NodeRef<'_>, place: String, found: &mut Scalars) {
    let node = node.resolved();
    match node.kind() {
        NodeKind::Object => {
            for member in node.members() {
                flatten(member.value, format!("{place}/{}", member.key.value()), found);
            }
        }
        NodeKind::Array => {
            for (ix, element) in node.elements().enumerate() {
                flatten(element, format!("{place}/{ix}"), found);
            }
        }
        NodeKind::String => {
            found.insert(place, node.value().into_owned());
        }
        _ => {
            found.insert(place, format!("{:?} {}", node.kind(), node.slice()));
        }
    }
}

/// Compares with another parser of the same JSON.
fn check_second_opinion(root: NodeRef<'_>) {
    if !root.slice().starts_with('{') {
        return;
    }
    let other: serde_json::Value = serde_json::from_str(root.slice())
        .unwrap_or_else(|error| panic!("another parser refuses it: {error}\n{}", root.slice()));
    let mut ours = Scalars::new();
    flatten(root, String::new(), &mut ours);
    for (place, value) in &ours {
        if let Some(serde_json::Value::String(text)) = other.pointer(place) {
            assert_eq!(text, value, "{place}\n{}", root.slice());
        }
    }
}
