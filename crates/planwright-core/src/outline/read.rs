//! Reads an answer: without the additions of tools around it, and in Markdown or JSON where it is written in another markup.

use super::Outline;
use super::candidates::choose;
use super::choice::{cut_off, left_out_between};
use super::cleanup::cleaned;
use super::mapped_text::MappedText;
use super::other_markup::{as_markdown, is_diff_of_items};
use super::parts::Parts;
use super::raw::guess;
use super::resolve::resolve;
use super::rules::NO_TASKS;
use super::structure::texts_within;
use super::words::has_any;
use crate::diagnostic::Diagnostic;
use crate::text::{SourceText, Span};

/// The longest answer that is read, in bytes.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;

/// How many layers of JSON text may wrap an answer.
const MAX_WRAPPINGS: usize = 3;

/// Reads the plan in an answer. If the answer is cut off, `is_partial` accepts the complete tasks.
///
/// On failure returns the errors with their spans.
pub fn read(source: &SourceText, is_partial: bool) -> Result<Outline, Vec<Diagnostic>> {
    read_wrapped(source, is_partial, 0)
}

fn read_wrapped(source: &SourceText, is_partial: bool, n_wrappings: usize) -> Result<Outline, Vec<Diagnostic>> {
    let text = source.as_str();
    if text.len() > MAX_ANSWER_BYTES {
        let n_bytes = text.len();
        let message = format!("the answer has {n_bytes} bytes, and up to {MAX_ANSWER_BYTES} are read");
        return Err(vec![Diagnostic::of_file(&NO_TASKS, message)]);
    }
    if let Some(markdown) = as_markdown(text).filter(|_| n_wrappings < MAX_WRAPPINGS) {
        let inner = SourceText::new(markdown.text.clone());
        let mut outline = read_wrapped(&inner, is_partial, n_wrappings + 1);
        if let Ok(outline) = &mut outline
            && is_diff_of_items(text)
        {
            let message = "the answer is a diff: its new side is read, without the lines that it removes";
            outline.guesses.push(guess(outline.place, message));
        }
        return with_places_before(outline, &markdown, text);
    }
    let Some(cleaned) = cleaned(text) else {
        return read_cleaned(source, is_partial, n_wrappings);
    };
    let outline = read_cleaned(&SourceText::new(cleaned.text.clone()), is_partial, n_wrappings);
    with_places_before(outline, &cleaned, text)
}

fn read_cleaned(source: &SourceText, is_partial: bool, n_wrappings: usize) -> Result<Outline, Vec<Diagnostic>> {
    let text = source.as_str();
    let parts = Parts::of(source);
    if parts.candidates.is_empty() && n_wrappings < MAX_WRAPPINGS {
        for node in parts.values.iter().flat_map(texts_within) {
            let inner = SourceText::new(node.text().unwrap_or(""));
            if let Ok(mut outline) = read_wrapped(&inner, is_partial, n_wrappings + 1) {
                outline.move_places(|_| node.span);
                return Ok(outline);
            }
        }
    }
    let mut chosen = choose(parts, text)?;
    if let Some(error) = chosen.error {
        return Err(vec![error]);
    }
    if let Some(place) = chosen.cut {
        let n_tasks = chosen.plan.tasks.len();
        if !is_partial || n_tasks == 0 {
            let is_between = chosen.plan.tasks.iter().any(|raw| raw.task.place.start >= place.start);
            return Err(vec![match is_between {
                true => left_out_between(place, n_tasks),
                false => cut_off(place, n_tasks),
            }]);
        }
        let message = format!("the answer is cut off here: its {n_tasks} complete tasks are read");
        chosen.plan.guess(place, message);
    }
    let place = chosen.place;
    resolve(chosen.plan, base_in_words(text)).map(|outline| Outline { place, ..outline })
}

/// Returns what was read out of a changed copy of a text with the places in that text.
fn with_places_before(
    mut outline: Result<Outline, Vec<Diagnostic>>,
    copy: &MappedText,
    text: &str,
) -> Result<Outline, Vec<Diagnostic>> {
    let before = |span: Span| copy.span_before(span, text);
    match &mut outline {
        Ok(outline) => outline.move_places(before),
        Err(found) => found.iter_mut().for_each(|found| move_finding(found, before)),
    }
    outline
}

impl Outline {
    fn move_places(&mut self, moved: impl Fn(Span) -> Span) {
        self.place = moved(self.place);
        self.tasks.iter_mut().for_each(|task| task.place = moved(task.place));
        self.guesses.iter_mut().for_each(|guess| move_finding(guess, &moved));
    }
}

fn move_finding(found: &mut Diagnostic, moved: impl Fn(Span) -> Span) {
    found.span = found.span.map(&moved);
    found
        .related
        .iter_mut()
        .for_each(|related| related.span = moved(related.span));
}

/// Returns the first number if the prose states it.
fn base_in_words(text: &str) -> Option<usize> {
    let lower = text.to_lowercase();
    let counts_from = |digit: &str, word: &str| {
        let mut numbers = [digit, word].into_iter();
        let after = ["counting from", "start at", "starting at", "starts at"];
        numbers.any(|n| has_any(&lower, &[&format!("{n}-based"), &format!("{n}-indexed")]))
            || after.iter().any(|words| lower.contains(&format!("{words} {digit}")))
    };
    match (counts_from("0", "zero"), counts_from("1", "one")) {
        (true, false) => Some(0),
        (false, true) => Some(1),
        _ => None,
    }
}
