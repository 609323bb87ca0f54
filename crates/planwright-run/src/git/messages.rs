//! Messages of commits: subjects in one line, and trailers.

/// How long a message of a commit may be, in characters.
const MAX_MESSAGE_CHARS: usize = 16 * 1024;

const MAX_SUBJECT_CHARS: usize = 100;
const MAX_TRAILER_CHARS: usize = 300;

/// Returns a message that git accepts: not empty, limited in length, and without NULs.
pub(super) fn commit_message(text: &str) -> String {
    let message: String = text.chars().filter(|c| *c != '\0').take(MAX_MESSAGE_CHARS).collect();
    if message.trim().is_empty() {
        "Work of a task".to_owned()
    } else {
        message
    }
}

/// Returns a text as one line without control characters, cut to the length of a subject.
pub fn subject(text: &str) -> String {
    one_line(text, MAX_SUBJECT_CHARS)
}

fn one_line(text: &str, max_chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line
        .chars()
        .filter(|c| !c.is_control() && !is_direction(*c))
        .take(max_chars)
        .collect();
    line
}

/// Returns whether a character changes the direction of the text around it, so that a reader sees another text.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the value of a trailer for a text, as [`with_trailers`] writes it.
pub fn trailer_value(text: &str) -> String {
    one_line(text, MAX_TRAILER_CHARS)
}

/// Returns a message with a subject and trailers; trailers without a value are left out.
pub fn with_trailers(text: &str, trailers: &[(&str, String)]) -> String {
    let mut message = subject(text);
    message.push_str("\n\n");
    for (name, value) in trailers {
        let value = trailer_value(value);
        if !value.is_empty() {
            message.push_str(&format!("{name}: {value}\n"));
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_never_empty_or_endless() {
        assert_eq!(commit_message(" \n\0"), "Work of a task");
        assert_eq!(commit_message("a\0b"), "ab");
        assert_eq!(commit_message(&"ä".repeat(100_000)).chars().count(), MAX_MESSAGE_CHARS);
    }

    #[test]
    fn a_value_of_a_plan_stays_in_its_trailer() {
        let message = with_trailers(
            "t1: a\nb\u{1b}[31m",
            &[
                ("Planwright-Task", "x\n\nSigned-off-by: y".to_owned()),
                ("Empty", String::new()),
            ],
        );
        assert_eq!(message, "t1: a b[31m\n\nPlanwright-Task: x Signed-off-by: y\n");
    }
}
