//! Decides from the end of an answer whether it was cut off.

use crate::text::Span;

/// Returns where the end of a text states or shows that it continues elsewhere.
pub(super) fn ends_as_cut(text: &str) -> Option<Span> {
    let body = text.trim_end();
    let line = body.lines().next_back()?;
    let start = body.len() - line.len();
    let is_cut = says_so(line) || is_bracket_open(line) || is_sentence_open(text, line);
    is_cut.then(|| Span::new(start, start + line.len()))
}

/// Returns whether a line states that the answer is longer.
fn says_so(line: &str) -> bool {
    let lower = line.trim().to_lowercase();
    let is_item = lower.starts_with(|c: char| c.is_ascii_digit()) || lower.starts_with(['-', '+', '|', '•']);
    #[rustfmt::skip]
    let words = [
        "continued in the next", "continued in next", "to be continued", "continue in the next", "continue in next",
        "output truncated", "response truncated", "message truncated", "answer truncated", "truncated due to",
        "cut off due to", "max tokens", "max_tokens", "maximum tokens", "token limit", "output limit", "length limit",
        "character limit",
    ];
    ["...", "…", "[truncated]", "(truncated)", "[continued]", "(continued)"].contains(&lower.as_str())
        || !is_item && lower.len() < 200 && words.iter().any(|words| lower.contains(words))
}

/// Returns whether a text ends within brackets: "(depends on 2,".
fn is_bracket_open(line: &str) -> bool {
    let Some(open) = line.rfind('(') else {
        return false;
    };
    let before = line.get(..open).unwrap_or("");
    let is_smiley = before.ends_with([':', ';', '-', '=']);
    let is_code = before.matches('`').count() % 2 == 1 && line.get(open..).is_some_and(|rest| rest.contains('`'));
    let is_open = !line.get(open..).is_some_and(|rest| rest.contains(')'));
    is_open && !is_smiley && !is_code
}

/// Returns whether the last item of a list stops inside a sentence, while all others end one.
fn is_sentence_open(text: &str, line: &str) -> bool {
    let is_item = |line: &str| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < line.len() && rest.starts_with(['.', ')'])
    };
    let ends_sentence = |line: &str| {
        line.trim_end()
            .trim_end_matches(['*', '_', '`', '"', ')'])
            .ends_with(['.', '!', '?', ';', '…', '。'])
    };
    let has_sentence = line.contains(". ") && line.len() > 60;
    if text.ends_with('\n')
        || !is_item(line)
        || !has_sentence
        || line.ends_with([')', ']', '`', '*', ':', '"'])
        || ends_sentence(line)
    {
        return false;
    }
    let items: Vec<&str> = text.lines().filter(|line| is_item(line)).collect();
    let others = items.split_last().map_or(&[][..], |(_, others)| others);
    others.len() > 1 && others.iter().all(|line| ends_sentence(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_answers_are_recognised_by_their_ends() {
        for text in [
            "1. a\n2. b (depends on 1, ",
            "1. a\n2. b\n\n[Response truncated: max tokens reached]\n",
            "1. a\n(continued in next message)",
            "1. a\n...",
            "1. Do it.\n2. Do that.\n3. Build the binaries. They should be built for Linux, macOS and also for Win",
        ] {
            assert!(ends_as_cut(text).is_some(), "{text}");
        }
        for text in [
            "1. a\n2. b (depends on 1)",
            "1. a\n2. Handle the token limit",
            "1. a\n2. Nothing more :(",
            "1. Do it.\n2. Do that.\n3. Ship it",
            "1. Call `f(`",
        ] {
            assert!(ends_as_cut(text).is_none(), "{text}");
        }
    }
}
