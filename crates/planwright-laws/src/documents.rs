//! Law for any text as JSON, YAML and Markdown: tables match their texts, other parsers agree, and written text reads back.

use planwright_core::document::markdown::Markdown;
use planwright_core::document::patch::PlainValue;
use planwright_core::document::{Document, DocumentFormat, NodeKind, NodeRef, Parsed, json, rules, write, yaml};
use planwright_core::text::SourceText;
use planwright_testkit::judge::{as_serde, with_doubles};

use crate::findings::{self, check_span};

pub(crate) fn hold(bytes: &[u8]) {
    let source = SourceText::from_bytes(bytes.to_vec());
    let (as_json, as_yaml) = (json::parse(&source), yaml::parse(&source));
    check_table(&as_json);
    check_table(&as_yaml);
    agrees_with_serde(&as_json);
    if as_json.diagnostics.is_empty() {
        check_slices(&as_json.document);
        check_again(&as_json.document, write::json, json::parse);
    }
    if as_yaml.diagnostics.is_empty() && as_yaml.document.n_aliases() == 0 {
        check_again(&as_yaml.document, write::yaml, yaml::parse);
    }
    check_markdown(&source);
}

/// Checks that spans are inside the text, children inside their parents and in order, and rows not more than bytes allow.
pub(crate) fn check_table(parsed: &Parsed) {
    let document = &parsed.document;
    let text = document.source().as_str();
    for node in document.nodes() {
        check_span(text, node.span(), "a node");
        check_children(node);
    }
    if let Some(root) = document.root() {
        assert_eq!(root.n_rows(), document.n_nodes(), "one root");
    }
    assert!(document.n_nodes() <= 2 * text.len() + 2, "{} rows", document.n_nodes());
    findings::check(document.source(), &parsed.diagnostics);
}

fn check_children(node: NodeRef<'_>) {
    if !matches!(node.kind(), NodeKind::Object | NodeKind::Array) {
        assert_eq!(node.n_rows(), 1);
        return;
    }
    let mut rows = 1;
    let mut last_end = node.span().start;
    let mut check = |child: NodeRef<'_>| {
        let span = child.span();
        assert!(
            last_end <= span.start && span.end <= node.span().end,
            "{span:?} in {:?}",
            node.span()
        );
        last_end = span.end;
        rows += child.n_rows();
    };
    for member in node.own_members() {
        assert_eq!(member.key.kind(), NodeKind::Key);
        assert_ne!(member.value.kind(), NodeKind::Key, "a key without a value");
        check(member.key);
        check(member.value);
    }
    for element in node.elements() {
        assert_ne!(element.kind(), NodeKind::Key, "a key in a list");
        check(element);
    }
    assert_eq!(rows, node.n_rows());
}

/// Checks that a node's slice alone has the same value.
fn check_slices(document: &Document) {
    // Every slice is parsed again: deeply nested ones would be parsed very often.
    for node in document.nodes().filter(|node| node.kind() != NodeKind::Key).take(64) {
        let alone = json::parse(&SourceText::new(node.slice()));
        let root = alone.document.root().expect("a slice of a value is a value");
        assert!(alone.diagnostics.is_empty(), "{:?}", node.slice());
        assert_eq!(PlainValue::of(root), PlainValue::of(node), "{:?}", node.slice());
    }
}

fn agrees_with_serde(parsed: &Parsed) {
    if parsed.document.source().damage().is_some() {
        return;
    }
    let text = parsed.document.source().as_str();
    let is_duplicate = |rule| rule == &rules::DUPLICATE_KEY;
    let is_valid = parsed.diagnostics.iter().all(|found| is_duplicate(found.rule));
    match serde_json::from_str::<serde_json::Value>(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        Ok(theirs) => {
            assert!(is_valid, "{:?}", parsed.diagnostics);
            if let (true, Some(root)) = (parsed.diagnostics.is_empty(), parsed.document.root()) {
                assert_eq!(as_serde(&PlainValue::of(root)), with_doubles(theirs));
            }
        }
        Err(error) => {
            let told = error.to_string();
            let is_beyond_it = told.starts_with("number out of range") || told.starts_with("recursion limit");
            assert!(!is_valid || is_beyond_it, "broken: {error}");
        }
    }
}

/// Checks that a newly written text is parsed as the same value, and is not much longer.
fn check_again(document: &Document, write: fn(&PlainValue) -> String, parse: fn(&SourceText) -> Parsed) {
    let Some(root) = document.root() else { return };
    let value = PlainValue::of(root);
    let text = write(&value);
    let deepest = 2 * planwright_core::document::MAX_DEPTH;
    assert!(
        text.len() <= (8 + deepest) * (document.source().len() + 8),
        "{} bytes became {}",
        document.source().len(),
        text.len()
    );
    let again = parse(&SourceText::new(text.as_str()));
    assert!(again.diagnostics.is_empty(), "{text:?}: {:?}", again.diagnostics);
    let again = again.document.root().map(PlainValue::of);
    assert_eq!(again.as_ref(), Some(&value), "{text:?}");
    if document.format() == DocumentFormat::Json {
        assert_eq!(again.map(|value| write(&value)), Some(text), "written twice");
    }
}

fn check_markdown(source: &SourceText) {
    let text = source.as_str();
    let markdown = Markdown::parse(source);
    check_span(text, markdown.body(), "the body");
    for entry in markdown.entries() {
        for span in [entry.line, entry.block, entry.key, entry.value, entry.content] {
            check_span(text, span, "an entry");
        }
        assert!(entry.block.contains(entry.line) && entry.line.contains(entry.key));
    }
    for heading in markdown.headings().iter().take(32) {
        check_span(text, heading.span, "a heading");
        check_span(text, heading.title, "a title");
        let Some(section) = markdown.section(source.slice(heading.title)) else {
            continue;
        };
        check_span(text, section.body, "a section");
        for fence in markdown.json_fences(&section) {
            assert!(section.body.contains(fence.span) && fence.span.contains(fence.inner));
            check_span(text, fence.inner, "a fence");
            check_table(&json::parse_span(source, fence.inner));
        }
    }
}
