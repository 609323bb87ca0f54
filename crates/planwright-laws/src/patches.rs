//! Law for any patch of any JSON or YAML: the new text has the intended meaning and no other line changes, or the patch is
//! refused.

use planwright_core::document::patch::{self, Patch, PlainValue};
use planwright_core::document::{Document, DocumentFormat, Parsed, json, yaml};
use planwright_core::text::SourceText;
use planwright_testkit::judge::some_patch;

use crate::documents::check_table;
use crate::input::{ByteChoices, parts, text};

pub(crate) fn hold(bytes: &[u8]) {
    let [document, new, choices] = parts(bytes);
    let (source, new) = (SourceText::new(text(document)), text(new));
    let new = json::parse(&SourceText::new(new))
        .document
        .root()
        .map_or(PlainValue::Null, PlainValue::of);
    for parse in [json::parse, yaml::parse] {
        let mut dice = ByteChoices::new(choices);
        let mut document = parse(&source).document;
        for _ in 0..4 {
            let Some(patch) = some_patch(&document, &new, |n| dice.below(n)) else {
                break;
            };
            match tried(&document, &patch, parse) {
                Some(next) => document = next.document,
                None => break,
            }
        }
    }
}

/// Applies a patch, and checks the result; none if it is refused.
fn tried(document: &Document, patch: &Patch, parse: fn(&SourceText) -> Parsed) -> Option<Parsed> {
    let mut expected = PlainValue::of(document.root()?);
    let predicted = patch.apply_to(&mut expected);
    let patched = patch::patch(document, std::slice::from_ref(patch)).ok()?;
    assert_eq!(predicted, Ok(()), "{patch:?}");
    let parsed = parse(&SourceText::new(patched.as_str()));
    check_table(&parsed);
    let value = parsed.document.root().map(PlainValue::of);
    let before = document.source().as_str();
    assert_eq!(value, Some(expected), "{patch:?}\n{before}\n---- became\n{patched}");
    check_outside(document, patch, &patched);
    Some(parsed)
}

/// Checks that lines far from the patched part are unchanged.
fn check_outside(document: &Document, patch: &Patch, patched: &str) {
    let text = document.source().as_str();
    let node = patch.route().find(document).expect("the patch was made for it");
    let span = node.span().range();
    let (start, end) = match patch {
        Patch::ReplaceScalar { .. } if document.format() == DocumentFormat::Json => (span.start, span.end),
        _ => {
            let end = text[span.end..].find('\n').map_or(text.len(), |end| span.end + end);
            (line_above(text, span.start), end)
        }
    };
    assert!(
        patched.starts_with(&text[..start]),
        "{patch:?}: changed before {start}\n{text}\n----\n{patched}"
    );
    let after = text[end..].trim_start_matches(['\r', '\n']);
    assert!(
        patched.ends_with(after),
        "{patch:?}: changed after {end}\n{text}\n----\n{patched}"
    );
}

/// Returns the start of the last line before an offset that is neither blank nor a comment.
fn line_above(text: &str, at: usize) -> usize {
    let mut start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    while start > 0 {
        let line_start = text[..start - 1].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[line_start..start].trim();
        start = line_start;
        if !line.is_empty() && !line.starts_with('#') {
            break;
        }
    }
    start
}
