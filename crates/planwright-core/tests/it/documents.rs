//! The laws of every document: the table matches the text, and other parsers read the same values.

use planwright_core::document::patch::PlainValue;
use planwright_core::document::{Document, DocumentFormat, NodeKind, NodeRef, Parsed, Style, json, rules, yaml};
use planwright_core::text::SourceText;
use planwright_testkit::judge::{as_serde, with_doubles};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::generate::{self, Dice, check_law, dice};

fn parse_json(text: &str) -> Parsed {
    json::parse(&SourceText::new(text))
}

fn parse_yaml(text: &str) -> Parsed {
    yaml::parse(&SourceText::new(text))
}

/// Checks that spans lie in the text, children in their parents in order, and values behind their keys.
pub(crate) fn check_table(parsed: &Parsed) -> TestCaseResult {
    let document = &parsed.document;
    let text = document.source().as_str();
    for node in document.nodes() {
        prop_assert!(
            text.get(node.span().range()).is_some(),
            "{:?} is not in the text",
            node.span()
        );
        check_children(node)?;
    }
    if let Some(root) = document.root() {
        prop_assert_eq!(root.n_rows(), document.n_nodes(), "one root");
    }
    for finding in &parsed.diagnostics {
        let span = finding.span.expect("findings about a text have a place");
        prop_assert!(text.get(span.range()).is_some(), "{finding:?} is not in the text");
        for edit in finding.fix.iter().flat_map(|fix| &fix.edits) {
            prop_assert!(text.get(edit.span.range()).is_some(), "{finding:?} mends other text");
        }
        for place in &finding.related {
            prop_assert!(text.get(place.span.range()).is_some(), "{finding:?} points elsewhere");
        }
    }
    Ok(())
}

fn check_children(node: NodeRef<'_>) -> TestCaseResult {
    if !matches!(node.kind(), NodeKind::Object | NodeKind::Array) {
        prop_assert_eq!(node.n_rows(), 1);
        return Ok(());
    }
    let mut rows = 1;
    let mut last_end = node.span().start;
    let mut check = |child: NodeRef<'_>| -> TestCaseResult {
        let span = child.span();
        prop_assert!(
            last_end <= span.start && span.end <= node.span().end,
            "{span:?} in {:?}",
            node.span()
        );
        last_end = span.end;
        rows += child.n_rows();
        Ok(())
    };
    for member in node.own_members() {
        prop_assert_eq!(member.key.kind(), NodeKind::Key);
        prop_assert!(member.value.kind() != NodeKind::Key, "a key without a value");
        check(member.key)?;
        check(member.value)?;
    }
    for element in node.elements() {
        prop_assert!(element.kind() != NodeKind::Key, "a key in a list");
        check(element)?;
    }
    prop_assert_eq!(rows, node.n_rows());
    Ok(())
}

/// Checks that only separators, white space and comments are between nodes.
fn check_gaps(document: &Document) -> TestCaseResult {
    let text = document.source().as_str();
    let mut gaps = String::new();
    let mut last_end = 0;
    for node in document.nodes() {
        let span = node.span().range();
        if matches!(node.kind(), NodeKind::Object | NodeKind::Array) {
            continue;
        }
        gaps.push_str(&text[last_end..span.start]);
        // A mark for the node, so that what it separates stays apart.
        gaps.push('\u{1}');
        last_end = span.end;
    }
    gaps.push_str(&text[last_end..]);
    for line in gaps.lines() {
        let content = match document.format() {
            DocumentFormat::Json | DocumentFormat::Own(_) => line,
            DocumentFormat::Yaml => line.split(['#']).next().unwrap_or(line),
        };
        let content = content.strip_prefix("---").unwrap_or(content);
        let is_separator = |c: char| matches!(c, '\u{1}' | ' ' | '\t' | ',' | ':' | '[' | ']' | '{' | '}');
        let is_dash = |c: char| c == '-' && document.format() == DocumentFormat::Yaml;
        prop_assert!(
            content.chars().all(|c| is_separator(c) || is_dash(c)),
            "between nodes: {line:?}"
        );
    }
    Ok(())
}

/// Checks that a node's slice alone has the same value.
fn check_slices(document: &Document) -> TestCaseResult {
    for node in document.nodes() {
        if node.kind() == NodeKind::Key || node.style() == Style::Block || node.slice().is_empty() {
            continue;
        }
        let mut slice = node.slice().to_owned();
        let is_block_scalar = matches!(node.style(), Style::Literal | Style::Folded);
        if is_block_scalar && node.value().ends_with('\n') && !slice.ends_with('\n') {
            // The break of a block scalar's last line is part of its value, but not of its place.
            slice.push('\n');
        }
        let alone = match document.format() {
            DocumentFormat::Json => parse_json(&slice),
            DocumentFormat::Yaml => parse_yaml(&slice),
            DocumentFormat::Own(notation) => notation.parse(&SourceText::new(slice)),
        };
        prop_assert!(
            alone.diagnostics.is_empty(),
            "{:?}: {:?}",
            node.slice(),
            alone.diagnostics
        );
        let root = alone.document.root().expect("a slice that is not empty");
        prop_assert_eq!(PlainValue::of(root), PlainValue::of(node), "{:?}", node.slice());
    }
    Ok(())
}

#[test]
fn json_nodes_and_gaps_tile_the_text() {
    check_law(600, (generate::value(), dice()), |(value, dice)| {
        let text = generate::json(&value, &mut Dice::new(dice));
        let parsed = parse_json(&text);
        prop_assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
        prop_assert_eq!(PlainValue::of(parsed.document.root().expect("a value")), value);
        check_table(&parsed)?;
        check_gaps(&parsed.document)?;
        check_slices(&parsed.document)
    });
}

#[test]
fn json_agrees_with_serde_on_valid_and_broken_texts() {
    let n_broken = std::cell::Cell::new(0);
    check_law(
        20000,
        (generate::value(), dice(), dice()),
        |(value, dice, mutations)| {
            let mut text = generate::json(&value, &mut Dice::new(dice));
            if !mutations.is_empty() {
                text = generate::mutated(&text, &mut Dice::new(mutations));
            }
            let parsed = parse_json(&text);
            check_table(&parsed)?;
            let is_valid = parsed
                .diagnostics
                .iter()
                .all(|finding| finding.rule == &rules::DUPLICATE_KEY);
            match serde_json::from_str::<serde_json::Value>(text.strip_prefix('\u{feff}').unwrap_or(&text)) {
                Ok(theirs) => {
                    prop_assert!(is_valid, "{text:?}: {:?}", parsed.diagnostics);
                    if parsed.diagnostics.is_empty() {
                        let ours = as_serde(&PlainValue::of(parsed.document.root().expect("a value")));
                        prop_assert_eq!(ours, with_doubles(theirs));
                    }
                }
                Err(error) if error.to_string().starts_with("number out of range") => {}
                Err(error) => {
                    n_broken.set(n_broken.get() + 1);
                    prop_assert!(!is_valid, "{text:?} is broken: {error}");
                }
            }
            Ok(())
        },
    );
    assert!(n_broken.get() > 1000, "only {} texts were broken", n_broken.get());
}

fn agrees(ours: &PlainValue, theirs: &yaml_serde::Value) -> bool {
    match (ours, theirs) {
        (PlainValue::Null, yaml_serde::Value::Null) => true,
        (PlainValue::Bool(ours), yaml_serde::Value::Bool(theirs)) => ours == theirs,
        (PlainValue::Number(ours), yaml_serde::Value::Number(theirs)) => ours.parse().ok() == theirs.as_f64(),
        (PlainValue::String(ours), yaml_serde::Value::String(theirs)) => ours == theirs,
        (PlainValue::Array(ours), yaml_serde::Value::Sequence(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| agrees(ours, theirs))
        }
        (PlainValue::Object(ours), yaml_serde::Value::Mapping(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|((key, ours), (their_key, theirs))| {
                    their_key.as_str() == Some(key.as_str()) && agrees(ours, theirs)
                })
        }
        _ => false,
    }
}

#[test]
fn yaml_nodes_and_gaps_tile_the_text() {
    check_law(1500, (generate::value(), dice()), |(value, dice)| {
        let text = generate::yaml(&value, &mut Dice::new(dice));
        let parsed = parse_yaml(&text);
        prop_assert!(parsed.diagnostics.is_empty(), "{text}\n{:?}", parsed.diagnostics);
        prop_assert_eq!(
            PlainValue::of(parsed.document.root().expect("a value")),
            value,
            "{}",
            text
        );
        check_table(&parsed)?;
        check_gaps(&parsed.document)?;
        check_slices(&parsed.document)
    });
}

#[test]
fn yaml_agrees_with_a_second_parser() {
    check_law(1500, (generate::value(), dice()), |(value, dice)| {
        let text = generate::yaml(&value, &mut Dice::new(dice));
        let theirs: yaml_serde::Value = match yaml_serde::from_str(&text) {
            Ok(theirs) => theirs,
            Err(error) => return Err(TestCaseError::fail(format!("{text}\n{error}"))),
        };
        let ours = PlainValue::of(parse_yaml(&text).document.root().expect("a value"));
        prop_assert!(agrees(&ours, &theirs), "{}\n{:?}\n{:?}", text, ours, theirs);
        Ok(())
    });
}

/// Pieces of both notations in any order.
pub(crate) fn soup() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        ": ",
        "\"",
        "'",
        "\\",
        "\n",
        "\n  ",
        " ",
        "-",
        "- ",
        "#",
        " # c",
        "&a ",
        "*a",
        "? ",
        "|",
        "|\n",
        ">-\n  x",
        "!",
        "!!str ",
        "---\n",
        "...\n",
        "\t",
        "\r",
        "\r\n",
        "é",
        "😀",
        "0",
        "a",
        "a: ",
        "\"k\": ",
        "<<: *a",
        "true",
        "null",
        "1e999",
        "\\u12",
        "\\ud800",
        "/",
        "//",
        "/*",
        "=",
        "\u{feff}",
        "\0",
        "%YAML 1.2\n",
        "\u{85}",
        "None",
    ];
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

#[test]
fn arbitrary_text_gives_a_sound_table() {
    let text = prop_oneof![4 => soup(), 1 => "\\PC{0,40}", 1 => any::<String>()];
    check_law(4000, text, |text| {
        check_table(&parse_json(&text))?;
        check_table(&parse_yaml(&text))
    });
}

#[test]
fn mutated_yaml_gives_a_sound_table() {
    check_law(
        20000,
        (generate::value(), dice(), dice()),
        |(value, dice, mutations)| {
            let text = generate::yaml(&value, &mut Dice::new(dice));
            check_table(&parse_yaml(&generate::mutated(&text, &mut Dice::new(mutations))))
        },
    );
}

#[test]
fn deep_nests_finish() {
    const DEPTH: usize = 100_000;
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        for close in ["", "]", "}"] {
            let text = format!("{}{}", open.repeat(DEPTH), close.repeat(DEPTH));
            assert!(!parse_json(&text).diagnostics.is_empty());
        }
    }
    for open in ["[", "{a: ", "- ", "? ", "[{a: ", "- - ? ", ": "] {
        let text = open.repeat(DEPTH);
        assert!(!parse_yaml(&text).diagnostics.is_empty(), "{open}");
    }
    let stairs: String = (0..3000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert!(!parse_yaml(&stairs).diagnostics.is_empty());
}

#[test]
fn findings_of_strings_that_are_skipped_are_not_counted() {
    let (open, close) = ("[".repeat(130), "]".repeat(130));
    for string in ["\u{1}\u{1}", "\t\t\t", "\u{1}\u{1}\u{1}\", x, \"\u{2}\u{2}"] {
        let parsed = parse_json(&format!("{open}\"{string}\"{close}"));
        let found: Vec<_> = parsed.diagnostics.iter().map(|finding| finding.rule.id).collect();
        assert_eq!(found, [rules::TOO_DEEP.id], "{string:?}");
    }
}
