//! Finds the questions in an answer that has no plan.

use super::markdown_lines::{LineKind, lines};
use super::names::{one_line, plain};
use super::read::read;
use super::rules::NO_TASKS;
use crate::document::prose::fences;
use crate::text::{SourceText, Span};

const MAX_QUESTIONS: usize = 5;

/// Returns the questions in an answer without tasks: none if it has tasks, or an unreadable plan.
///
/// ```
/// use planwright_core::outline::questions;
/// use planwright_core::text::SourceText;
///
/// let answer = SourceText::new("Happy to help. Which database do you use?\n");
/// assert_eq!(questions(&answer), ["Which database do you use?"]);
/// ```
pub fn questions(source: &SourceText) -> Vec<String> {
    let has_no_tasks = read(source, false)
        .err()
        .is_some_and(|found| found.iter().all(|found| found.rule.id == NO_TASKS.id));
    if !has_no_tasks {
        return Vec::new();
    }
    let text = source.as_str();
    let code: Vec<Span> = fences(text).iter().map(|fence| fence.whole).collect();
    let lines = lines(text, Span::new(source.bom_len(), text.len()), &code);
    let words = lines.iter().filter(|line| line.kind != LineKind::Blank);
    words
        .flat_map(|line| questions_of(&plain(line.text)))
        .take(MAX_QUESTIONS)
        .collect()
}

/// Returns the sentences of a line that end with a question mark.
fn questions_of(line: &str) -> Vec<String> {
    let line = line.trim_end_matches([')', ' ']);
    let ends = line.char_indices().filter(|(at, c)| {
        let behind = line.get(at + c.len_utf8()..).unwrap_or("");
        matches!(c, '.' | '!' | '?') && (behind.is_empty() || behind.starts_with(' '))
    });
    let mut start = 0;
    let mut found = Vec::new();
    for (at, end) in ends {
        let sentence = line.get(start..=at).unwrap_or("").trim();
        start = at + 1;
        if end == '?' && sentence.contains(' ') {
            found.push(one_line(sentence, 200));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_from_answers_without_tasks() {
        for (answer, asked) in [
            (
                "Before I plan:\n\n1. Which database?\n2. **Do you need SSO?**\n",
                &["Which database?", "Do you need SSO?"][..],
            ),
            (
                "I can do that. Should I keep the old API?",
                &["Should I keep the old API?"],
            ),
            ("{\"tasks\": []}\nWhich service is meant?", &["Which service is meant?"]),
            ("1. Write it\n2. Ship it\n\nShall I begin?", &[]),
            ("```json\n{\"tasks\": [{\"title\" \"Why?\" ]]\n```\nOK?", &[]),
            ("There is nothing to do.", &[]),
        ] {
            assert_eq!(questions(&SourceText::new(answer)), asked, "{answer}");
        }
    }
}
