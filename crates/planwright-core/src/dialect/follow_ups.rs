//! The consequences of an edit of tasks for the rest of the file. Knows texts and spans; the dialect decides what to update.

use crate::document::markdown::Markdown;
use crate::text::{SourceText, Span, listed, visible};

/// How many lines a note lists.
const MOST_LINES: usize = 12;

/// An edit of the tasks in a document, made but not yet written.
pub struct TaskListEdit<'a> {
    /// The text before the edit.
    pub before: &'a SourceText,
    /// The text with the edit in the document of the tasks.
    pub after: &'a SourceText,
    /// For each task of the new text its old index; none for a new task.
    pub origin: &'a [Option<usize>],
}

/// An edit with all follow-ups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The text.
    pub text: String,
    /// Further effects, and remarks for the user.
    pub notes: Vec<Note>,
}

/// A note about an edit for the user. Lines are looked up when it is shown, because further edits may follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A follow-up that was made.
    Happened(String),
    /// A task was renamed or removed, and the text still mentions its old name.
    Named(String),
    /// A section of the text describes what has changed, and stays unchanged.
    Section(&'static str),
}

impl Note {
    /// Returns it in words, with the lines of a text; none if the text has no such lines.
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
                Some(format!(
                    "`## {title}` (line {line}) is for readers, and does not change"
                ))
            }
        }
    }
}

/// Returns the offset of a word that is no part of a longer one.
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

/// Why the rest of a file cannot be updated after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotFollow {
    /// The place, in the text before the edit.
    pub span: Span,
    /// The obstacle.
    pub message: String,
    /// The next step for the user.
    pub help: String,
}
