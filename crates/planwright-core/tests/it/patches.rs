//! The laws of every patch: it makes its change and no other, or it is refused.

use std::cell::Cell;

use planwright_core::document::patch::{self, Patch, PatchRefusal, PlainValue};
use planwright_core::document::route::Route;
use planwright_core::document::{Document, NodeKind, NodeRef, json, yaml};
use planwright_core::text::SourceText;
use planwright_testkit::judge::some_patch;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::documents::{check_table, soup};
use crate::generate::{self, Dice, check_law, dice};

/// The comments of a YAML document on lines of their own.
fn own_line_comments(text: &str) -> Vec<&str> {
    text.lines()
        .map(|line| line.trim_matches([' ', '\r']))
        .filter(|line| *line == "# a: comment")
        .collect()
}

/// Checks that the bytes outside of the patched part are the same.
fn check_outside(document: &Document, patch: &Patch, patched: &str) -> TestCaseResult {
    let text = document.source().as_str();
    let (route, is_scalar) = match patch {
        Patch::ReplaceScalar { at, .. } => (at, true),
        Patch::InsertMember { object, .. } | Patch::RemoveMember { object, .. } | Patch::RenameKey { object, .. } => {
            (object, false)
        }
        Patch::InsertElement { array, .. } | Patch::RemoveElement { array, .. } => (array, false),
    };
    let node = route.find(document).expect("the patch was made for it");
    let span = node.span().range();
    let (start, end) = if is_scalar {
        (span.start, span.end)
    } else {
        // A collection that becomes empty, or begins to have children, changes the line of its key too.
        let lines_before = text[..span.start]
            .trim_end()
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let line_after = text[span.end..]
            .find('\n')
            .map_or(text.len(), |newline| span.end + newline + 1);
        (lines_before.min(comments_before(text, span.start)), line_after)
    };
    prop_assert!(patched.starts_with(&text[..start]), "changed before {start}");
    let after = text[end..].trim_start_matches(['\r', '\n']);
    prop_assert!(patched.ends_with(after), "changed after {end}");
    Ok(())
}

/// Returns the beginning of the line above the comments and blank lines before an offset.
fn comments_before(text: &str, at: usize) -> usize {
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

/// Counts of the results of patches.
#[derive(Default)]
struct Tally {
    n_made: Cell<usize>,
    n_refused: Cell<usize>,
}

impl Tally {
    fn count(cell: &Cell<usize>) {
        cell.set(cell.get() + 1);
    }

    #[track_caller]
    fn check_most_made(&self) {
        let (made, refused) = (self.n_made.get(), self.n_refused.get());
        assert!(made > 99 * refused, "{made} patches were made and {refused} refused");
    }
}

fn check_patch(document: &Document, patch: &Patch, tally: &Tally) -> TestCaseResult {
    let text = document.source().as_str();
    let root = document.root().expect("a document with nodes");
    let mut expect = PlainValue::of(root);
    let predicted = patch.apply_to(&mut expect);
    match patch::patch(document, std::slice::from_ref(patch)) {
        Ok(patched) => {
            Tally::count(&tally.n_made);
            prop_assert_eq!(predicted, Ok(()), "{:?}", patch);
            let source = SourceText::new(patched.as_str());
            let parsed = match document.format() {
                planwright_core::document::DocumentFormat::Json => json::parse(&source),
                planwright_core::document::DocumentFormat::Yaml => yaml::parse(&source),
                planwright_core::document::DocumentFormat::Own(notation) => notation.parse(&source),
            };
            check_table(&parsed)?;
            let value = PlainValue::of(parsed.document.root().expect("still has a root"));
            prop_assert_eq!(value, expect, "{:?}\n{}\n---- became\n{}", patch, text, patched);
            check_outside(document, patch, &patched)?;
            let is_removal = matches!(patch, Patch::RemoveMember { .. } | Patch::RemoveElement { .. });
            if !is_removal && !matches!(patch, Patch::ReplaceScalar { .. }) {
                prop_assert_eq!(own_line_comments(text).len(), own_line_comments(&patched).len());
            }
            Ok(())
        }
        Err(PatchRefusal::KeyExists { .. }) => {
            prop_assert!(predicted.is_err());
            Ok(())
        }
        Err(refusal) => {
            Tally::count(&tally.n_refused);
            let is_expected = matches!(refusal, PatchRefusal::Unwritable { .. } | PatchRefusal::Mismatch(_));
            let lowered = patch::lower(document, std::slice::from_ref(patch))
                .and_then(|edits| patch::apply(document.source(), &edits));
            prop_assert!(is_expected, "{refusal:?} for {patch:?} in\n{text}\n{lowered:?}");
            Ok(())
        }
    }
}

#[test]
fn json_patches_change_their_target_and_nothing_else() {
    let tally = Tally::default();
    let cases = (generate::collection(), generate::value(), dice(), dice());
    check_law(2000, cases, |(value, new, layout, choices)| {
        let text = generate::json(&value, &mut Dice::new(layout));
        let document = json::parse(&SourceText::new(text)).document;
        let mut choices = Dice::new(choices);
        match some_patch(&document, &new, |n| choices.roll(n)) {
            Some(patch) => check_patch(&document, &patch, &tally),
            None => Ok(()),
        }
    });
    assert_eq!(tally.n_refused.get(), 0);
    assert!(tally.n_made.get() > 1000);
}

#[test]
fn yaml_patches_change_their_target_and_nothing_else() {
    let tally = Tally::default();
    let cases = (generate::collection(), generate::value(), dice(), dice());
    check_law(2500, cases, |(value, new, layout, choices)| {
        let mut text = generate::yaml(&value, &mut Dice::new(layout));
        let mut choices = Dice::new(choices);
        if choices.one_in(4) {
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
        }
        let parsed = yaml::parse(&SourceText::new(text));
        if !parsed.diagnostics.is_empty() {
            return Err(TestCaseError::reject("a text cut in the middle of a block scalar"));
        }
        match some_patch(&parsed.document, &new, |n| choices.roll(n)) {
            Some(patch) => check_patch(&parsed.document, &patch, &tally),
            None => Ok(()),
        }
    });
    tally.check_most_made();
}

#[test]
fn no_patches_change_nothing() {
    check_law(300, (generate::value(), dice()), |(value, layout)| {
        let text = generate::yaml(&value, &mut Dice::new(layout.clone()));
        let document = yaml::parse(&SourceText::new(text.as_str())).document;
        prop_assert_eq!(patch::patch(&document, &[]), Ok(text));
        let text = generate::json(&value, &mut Dice::new(layout));
        let document = json::parse(&SourceText::new(text.as_str())).document;
        prop_assert_eq!(patch::patch(&document, &[]), Ok(text));
        Ok(())
    });
}

#[test]
fn scalars_replaced_together_or_one_by_one_give_the_same_text() {
    let cases = (
        generate::collection(),
        prop::collection::vec(generate::value(), 1..5),
        dice(),
    );
    check_law(500, cases, |(value, new, layout)| {
        let text = generate::yaml(&value, &mut Dice::new(layout));
        let document = yaml::parse(&SourceText::new(text.as_str())).document;
        let is_scalar = |node: &NodeRef<'_>| !matches!(node.kind(), NodeKind::Object | NodeKind::Array | NodeKind::Key);
        let patches: Vec<Patch> = document
            .nodes()
            .filter(is_scalar)
            .zip(&new)
            .map(|(node, new)| Patch::ReplaceScalar {
                at: Route::of(node),
                value: if new.is_scalar() { new.clone() } else { PlainValue::Null },
            })
            .collect();
        let together = patch::patch(&document, &patches);
        let one_by_one = patches.iter().try_fold(text, |text, patch| {
            patch::patch(
                &yaml::parse(&SourceText::new(text)).document,
                std::slice::from_ref(patch),
            )
        });
        match (together, one_by_one) {
            (Ok(together), Ok(one_by_one)) => {
                let value = |text: String| yaml::parse(&SourceText::new(text)).document.root().map(PlainValue::of);
                prop_assert_eq!(value(together), value(one_by_one));
            }
            (Err(PatchRefusal::Mismatch(_)), _) | (_, Err(PatchRefusal::Mismatch(_))) => {}
            (together, one_by_one) => {
                return Err(TestCaseError::fail(format!("{together:?} and {one_by_one:?}")));
            }
        }
        Ok(())
    });
}

#[test]
fn patches_of_arbitrary_text_never_panic() {
    let n_made = Cell::new(0);
    check_law(4000, (soup(), generate::value(), dice()), |(text, new, choices)| {
        for document in [
            json::parse(&SourceText::new(text.as_str())).document,
            yaml::parse(&SourceText::new(text.as_str())).document,
        ] {
            let mut choices = Dice::new(choices.clone());
            let Some(patch) = some_patch(&document, &new, |n| choices.roll(n)) else {
                continue;
            };
            if patch::patch(&document, &[patch]).is_ok() {
                Tally::count(&n_made);
            }
        }
        Ok(())
    });
    assert!(n_made.get() > 100, "only {} texts could be patched", n_made.get());
}

#[test]
fn many_patches_take_linear_time() {
    let task = |n: usize| format!("  {{\"id\": \"t{n}\", \"status\": \"pending\"}}");
    let tasks: Vec<String> = (0..20_000).map(task).collect();
    let text = format!("{{\"tasks\": [\n{}\n]}}\n", tasks.join(",\n"));
    let document = json::parse(&SourceText::new(text.as_str())).document;
    let patches: Vec<Patch> = (0..20_000)
        .map(|n| Patch::ReplaceScalar {
            at: Route::root().key("tasks").index(n).key("status"),
            value: PlainValue::String("done".to_owned()),
        })
        .collect();
    let patched = patch::patch(&document, &patches);
    assert_eq!(patched, Ok(text.replace("pending", "done")));
}
