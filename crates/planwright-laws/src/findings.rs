//! Law for all findings: they are inside the text, can be printed, and are of bounded length.

use planwright_core::diagnostic::Diagnostic;
use planwright_core::text::{SourceText, Span};

/// The length limit of one finding's words, without its quotations.
const MAX_WORDS: usize = 8 * 1024;

/// Checks findings about a text.
pub(crate) fn check(source: &SourceText, findings: &[Diagnostic]) {
    let text = source.as_str();
    assert!(findings.len() <= 100 + 4 * text.len(), "{} findings", findings.len());
    for found in findings {
        let id = found.rule.id;
        let related = found.related.iter().map(|place| place.span);
        for span in found.span.into_iter().chain(related) {
            check_span(text, span, id);
        }
        let mut edits: Vec<Span> = found
            .fix
            .iter()
            .flat_map(|fix| &fix.edits)
            .map(|edit| edit.span)
            .collect();
        edits.iter().for_each(|span| check_span(text, *span, id));
        edits.sort();
        assert!(
            edits.windows(2).all(|pair| pair[0].end <= pair[1].start),
            "the edits of {id} overlap: {edits:?}"
        );
    }
    check_words(findings, text.len());
}

/// Checks the words of findings that need no spans.
pub(crate) fn check_words(findings: &[Diagnostic], n_bytes: usize) {
    for found in findings {
        let id = found.rule.id;
        assert!(!found.message.trim().is_empty(), "{id} says nothing");
        assert!(
            !found.message.contains('\u{1b}'),
            "{id} is not fit to print: {:?}",
            found.message
        );
        let n_words = found.message.len() + found.label.len() + found.help.len();
        assert!(
            n_words <= MAX_WORDS + 16 * n_bytes,
            "{id} says {n_words} bytes about {n_bytes}"
        );
    }
}

pub(crate) fn check_span(text: &str, span: Span, what: &str) {
    assert!(
        text.get(span.range()).is_some(),
        "{what}: {span:?} is not in a text of {} bytes",
        text.len()
    );
}
