//! The consequences of an edit of tasks for the rest of the file. Knows texts and places; the dialect decides what has to follow.

use crate::document::markdown::Markdown;
use crate::text::{SourceText, Span, listed, visible};

/// How many lines a note names.
const MOST_LINES: usize = 12;

/// An edit of the tasks in a document, made but not yet written.
pub struct TaskListEdit<'a> {
    /// The text as it was.
    pub before: &'a SourceText,
    /// The text with the edit in the document of the tasks.
    pub after: &'a SourceText,
    /// For each task of the new text its place among the old ones; none for a new task.
    pub origin: &'a [Option<usize>],
}

/// An edit with all that had to follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The text.
    pub text: String,
    /// What else happened, and what the user may want to look at.
    pub notes: Vec<Note>,
}

/// Something that the user may want to know about an edit. Lines are looked up when it is shown, for more edits may follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Something happened.
    Happened(String),
    /// A task has another name or is gone; what the text still says of it stays.
    Named(String),
    /// A section of the text tells readers what has changed now, and stays.
    Section(&'static str),
}

impl Note {
    /// Returns it in words, with the lines of a text; none where the text has no such lines.
    pub fn words(&self, source: &SourceText) -> Option<String> {
        match self {
            Note::Happened(words) => Some(words.clone()),
            Note::Named(task) => {
                let numbered = source.as_str().lines().zip(1..);
                let lines: Vec<usize> = numbered
                    .filter(|(line, _)| find_word(line, task).is_some())
                    .map(|(_, number)| number)
                    .collect();
                (!lines.is_empty()).then(|| format!("`{}` is still named in {}", visible(task), line_words(&lines)))
            }
            Note::Section(title) => {
                let section = Markdown::parse(source).section(title)?;
                let line = source.line_index().position(section.heading.start).line;
                Some(format!("`## {title}` (line {line}) is for readers, and stays as it is"))
            }
        }
    }
}

/// Returns where a text has a word that is no part of a longer one.
pub(super) fn find_word(text: &str, word: &str) -> Option<usize> {
    if word.is_empty() {
        return None;
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).map(|(at, _)| at).find(|&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Returns line numbers for people.
fn line_words(lines: &[usize]) -> String {
    let word = if lines.len() == 1 { "line" } else { "lines" };
    format!("{word} {}", listed(lines.iter().map(usize::to_string), MOST_LINES))
}

/// Why the rest of a file cannot follow an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotFollow {
    /// The place, in the text as it was.
    pub span: Span,
    /// What is in the way.
    pub message: String,
    /// What to do.
    pub help: String,
}
