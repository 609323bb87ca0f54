//! Finds the places in a planner's answer where a plan may be. The dialect decides whether a candidate is a plan.
//!
//! ```
//! use planwright_core::planning::answer::candidates;
//!
//! let answer = "Perhaps:\n~~~\n{\"tasks\": []}\n~~~\nThis is better:\n~~~\n{\"tasks\": [1]}\n~~~\n";
//! let found = candidates(answer);
//! assert_eq!(found[0].text.trim(), "{\"tasks\": [1]}");
//! assert!(found[0].reasoning.ends_with("This is better:"));
//! ```

use crate::convert::owned;
use crate::document::{DocumentFormat, NodeKind, NodeRef, json, write, yaml};
use crate::text::SourceText;

/// The longest answer that is looked at, in bytes.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;

/// How many places of an answer are looked at.
const MAX_CANDIDATES: usize = 24;

/// The keys under which a plan stands beside its reasons.
const PLAN_KEYS: [&str; 2] = ["newPlan", "plan"];

/// The keys under which programs that ask models put the whole answer.
const WRAPPING_KEYS: [&str; 6] = ["result", "response", "output", "text", "content", "message"];

/// How many wrappings around an answer are taken off, and how deep it may stand in one.
const MAX_WRAPPINGS: usize = 3;
const MAX_DEPTH: usize = 5;

/// A part of an answer that may be a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerCandidate {
    /// The part.
    pub text: String,
    /// What is said around it.
    pub reasoning: String,
    /// What the planner says that it changed, where it says so apart.
    pub changes: Option<String>,
}

/// Returns the parts of an answer that may be a plan, the likeliest first: of several the last, because planners think aloud.
pub fn candidates(answer: &str) -> Vec<AnswerCandidate> {
    let mut found = Vec::new();
    look_through(answer, MAX_WRAPPINGS, &mut found);
    found.truncate(MAX_CANDIDATES);
    found
}

fn look_through(answer: &str, n_wrappings: usize, found: &mut Vec<AnswerCandidate>) {
    let fences = fences(answer);
    let whole = answer.trim();
    // A fence inside of a text that is data as a whole belongs to one of its strings.
    if !fences.is_empty() && is_sound_yaml(whole) {
        add(found, whole, "", n_wrappings);
    }
    for (body, around) in fences.iter().rev() {
        add(found, body, around, n_wrappings);
    }
    if begins_as_data(whole) {
        add(found, whole, "", n_wrappings);
    }
    for object in objects(answer).into_iter().rev() {
        add(found, object, &answer.replacen(object, "", 1), n_wrappings);
    }
    if let Some(lines) = yaml_lines(answer) {
        add(found, lines, &answer.replacen(lines, "", 1), n_wrappings);
    }
    if found.is_empty() && !whole.is_empty() {
        add(found, whole, "", 0);
    }
}

fn add(found: &mut Vec<AnswerCandidate>, text: &str, around: &str, n_wrappings: usize) {
    let is_known = |known: &AnswerCandidate| known.text.trim() == text.trim();
    if text.trim().is_empty() || found.len() >= MAX_CANDIDATES || found.iter().any(is_known) {
        return;
    }
    if let (Some(inner), Some(n_left)) = (wrapped(text), n_wrappings.checked_sub(1)) {
        look_through(&inner, n_left, found);
    }
    let own = AnswerCandidate {
        text: text.to_owned(),
        reasoning: around.trim().to_owned(),
        changes: None,
    };
    // What stands inside is likelier than what stands around it.
    found.extend(enclosed(text, around));
    found.push(own);
}

/// Returns the plan inside an object that gives its reasons as well.
fn enclosed(text: &str, around: &str) -> Option<AnswerCandidate> {
    let source = SourceText::new(text);
    let parsed = match text.trim_start().starts_with('{') {
        true => json::parse(&source),
        false if begins_as_data(text.trim_start()) => yaml::parse(&source),
        false => return None,
    };
    let root = parsed.document.root()?;
    let plan = PLAN_KEYS.iter().find_map(|key| root.get(key))?.resolved();
    let said = |key: &str| {
        let value = root.get(key)?;
        Some(words(value)).filter(|words| !words.trim().is_empty())
    };
    let text = match plan.kind() {
        NodeKind::String => plan.value().into_owned(),
        NodeKind::Object => match parsed.document.format() {
            DocumentFormat::Json => plan.slice().to_owned(),
            DocumentFormat::Yaml => write::yaml(&owned(plan, &mut 0)),
        },
        _ => return None,
    };
    Some(AnswerCandidate {
        text,
        reasoning: said("reasoning").unwrap_or_else(|| around.trim().to_owned()),
        changes: said("changes"),
    })
}

/// Returns the answer that a program has put into an object of its own, where something may stand in it that is a plan.
fn wrapped(text: &str) -> Option<String> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let parsed = json::parse(&SourceText::new(text));
    let inner = unwrapped(parsed.document.root()?, MAX_DEPTH)?;
    let has_data = inner.contains('{') || !fences(&inner).is_empty() || yaml_lines(&inner).is_some();
    has_data.then_some(inner)
}

/// Returns the text in a value: its own, that of the last element, or that under one of the keys of a wrapping.
fn unwrapped(value: NodeRef<'_>, depth: usize) -> Option<String> {
    let value = value.resolved();
    match value.kind() {
        NodeKind::String => Some(value.value().into_owned()),
        _ if depth == 0 => None,
        NodeKind::Array => unwrapped(value.elements().last()?, depth - 1),
        NodeKind::Object => {
            let mut values = WRAPPING_KEYS.iter().filter_map(|key| value.get(key));
            values.find_map(|value| unwrapped(value, depth - 1))
        }
        _ => None,
    }
}

/// Returns a text, or a list of texts one to a line.
fn words(value: NodeRef<'_>) -> String {
    let value = value.resolved();
    match value.kind() {
        NodeKind::String => value.value().into_owned(),
        NodeKind::Array => {
            let lines = value.elements().map(|element| format!("- {}\n", element.value()));
            lines.collect::<String>().trim_end().to_owned()
        }
        _ => String::new(),
    }
}

/// Returns whether a text begins as JSON, as YAML or as Markdown with frontmatter does.
fn begins_as_data(text: &str) -> bool {
    let first = text.lines().next().unwrap_or("");
    text.starts_with(['{', '[']) || first.trim_end() == "---" || yaml::is_member_line(first)
}

/// Returns whether a text is YAML from its first line to its last, with keys at the root.
fn is_sound_yaml(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    if !lines.next().is_some_and(yaml::is_member_line) {
        return false;
    }
    let parsed = yaml::parse(&SourceText::new(text));
    let is_object = parsed
        .document
        .root()
        .is_some_and(|root| root.kind() == NodeKind::Object);
    is_object && parsed.diagnostics.is_empty()
}

/// Returns the fenced blocks of a text, each with all that stands around it. One that nobody closed goes on to the end.
fn fences(answer: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = answer.split_inclusive('\n');
    let mut at = 0;
    while let Some(line) = lines.next() {
        let opening = at;
        at += line.len();
        let Some((mark, n_marks, indent)) = fence_of(line) else {
            continue;
        };
        let mut body = String::new();
        for line in lines.by_ref() {
            at += line.len();
            // A mark that is indented further, as CommonMark has it, belongs to a text inside of the block.
            let is_own = |(own, n, deep): (char, usize, usize)| own == mark && n >= n_marks && deep <= indent + 3;
            let closes = fence_of(line).is_some_and(is_own) && line.trim().chars().all(|c| c == mark);
            if closes {
                break;
            }
            let n_spaces = line.bytes().take_while(|byte| *byte == b' ').count();
            body.push_str(line.get(n_spaces.min(indent)..).unwrap_or(line));
        }
        let before = answer.get(..opening).unwrap_or("");
        let after = answer.get(at..).unwrap_or("");
        let around = format!("{}\n\n{}", before.trim(), after.trim());
        found.push((body, around.trim().to_owned()));
        if found.len() >= MAX_CANDIDATES {
            break;
        }
    }
    found
}

/// Returns the mark of a fence, how often it stands there, and how far it is indented.
fn fence_of(line: &str) -> Option<(char, usize, usize)> {
    let body = line.trim_start_matches(' ');
    let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let n_marks = body.chars().take_while(|c| *c == mark).count();
    let rest = body.get(n_marks..)?;
    let is_fence = n_marks >= 3 && !(mark == '`' && rest.contains('`'));
    is_fence.then(|| (mark, n_marks, line.len() - body.len()))
}

/// Returns the outermost objects in braces; one that does not end goes on to the end of the text.
fn objects(answer: &str) -> Vec<&str> {
    let bytes = answer.as_bytes();
    let mut found = Vec::new();
    let (mut depth, mut start) = (0usize, 0usize);
    let (mut in_string, mut is_escaped) = (false, false);
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            // Quotes outside of braces are those of a sentence.
            b'"' if depth > 0 => in_string = !in_string,
            _ if in_string => {}
            b'{' => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            b'}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    found.extend(answer.get(start..=at));
                }
            }
            _ => {}
        }
        if found.len() >= MAX_CANDIDATES {
            return found;
        }
    }
    if depth > 0 {
        found.extend(answer.get(start..));
    }
    found
}

/// Returns the lines from the first that is a key of YAML, up to the first that can be no YAML.
fn yaml_lines(answer: &str) -> Option<&str> {
    let mut at = 0;
    let mut start = None;
    let mut end = answer.len();
    for line in answer.split_inclusive('\n') {
        let belongs = yaml::is_member_line(line) || line.starts_with([' ', '\t', '-', '#']) || line.trim().is_empty();
        match start {
            None if yaml::is_member_line(line) => start = Some(at),
            Some(_) if !belongs => {
                end = at;
                break;
            }
            _ => {}
        }
        at += line.len();
    }
    let lines = answer.get(start?..end)?;
    (lines.lines().count() > 1).then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(answer: &str) -> (String, String) {
        let found = candidates(answer).into_iter().next().expect("a candidate");
        (found.text.trim().to_owned(), found.reasoning)
    }

    #[test]
    fn plans_are_found_anywhere_in_an_answer() {
        for (answer, text, reasoning) in [
            ("{\"a\": 1}", "{\"a\": 1}", ""),
            ("Why.\n```json\n{\"a\": 1}\n```\nEnd.", "{\"a\": 1}", "Why.\n\nEnd."),
            ("Why {that}.\n~~~\na: 1\nb: 2\n~~~", "a: 1\nb: 2", "Why {that}."),
            (
                "First:\n```\n{\"a\": 1}\n```\nBetter:\n```\n{\"a\": 2}\n```",
                "{\"a\": 2}",
                "First:\n```\n{\"a\": 1}\n```\nBetter:",
            ),
            ("````md\n# A\n```json\n{}\n```\n````", "# A\n```json\n{}\n```", ""),
            ("- so\n  ```yaml\n  a:\n    b: 1\n  ```\n", "a:\n  b: 1", "- so"),
            ("Cut off:\n```json\n{\"a\": [1,", "{\"a\": [1,", "Cut off:"),
            ("It is {\"a\": \"}\"} I think", "{\"a\": \"}\"}", "It is  I think"),
            (
                "Here you are.\n\ntask: x\nsteps:\n  - a\n\nGood luck!",
                "task: x\nsteps:\n  - a",
                "Here you are.\n\nGood luck!",
            ),
            ("{\"plan\": {\"a\": 1}, \"reasoning\": \"so\"}", "{\"a\": 1}", "so"),
            (
                "{\"newPlan\": \"a: 1\", \"reasoning\": [\"x\", \"y\"]}",
                "a: 1",
                "- x\n- y",
            ),
            ("plan:\n  a: 1\nreasoning: so\n", "a: 1", "so"),
            (
                "task: x\nsteps:\n  - say: |\n      ```json\n      {\"a\": 1}\n      ```\nend: 1\n",
                "task: x\nsteps:\n  - say: |\n      ```json\n      {\"a\": 1}\n      ```\nend: 1",
                "",
            ),
            (
                "So:\n```yaml\ntask: x\nsay: |\n    ```\n    {\"a\": 1}\n    ```\nend: 1\n```\n",
                "task: x\nsay: |\n    ```\n    {\"a\": 1}\n    ```\nend: 1",
                "So:",
            ),
            ("no plan at all", "no plan at all", ""),
            (
                r#"{"type":"result","result":"Why.\n```json\n{\"a\": 1}\n```\n"}"#,
                "{\"a\": 1}",
                "Why.",
            ),
            (r#"{"response":"{\"a\": 1}"}"#, "{\"a\": 1}", ""),
            (
                "{\"output\":\"{\\\"text\\\": \\\"a: 1\\\\nb: 2\\\"}\"}",
                "a: 1\nb: 2",
                "",
            ),
            (
                r#"{"message":{"content":[{"type":"text","text":"Here {\"plan\": {\"a\": 1}, \"reasoning\": \"so\"}"}]}}"#,
                "{\"a\": 1}",
                "so",
            ),
            (
                "{\"a\": 1, \"text\": \"of the plan\"}",
                "{\"a\": 1, \"text\": \"of the plan\"}",
                "",
            ),
        ] {
            assert_eq!(first(answer), (text.to_owned(), reasoning.to_owned()), "{answer}");
        }
    }

    #[test]
    fn there_are_few_candidates_however_long_an_answer_is() {
        for piece in [
            "{",
            "{}",
            "```\nx\n",
            "a:\n",
            "{\"plan\":{}}",
            "~~~",
            "\"{\\\"",
            "{\"text\":",
        ] {
            let answer = piece.repeat(20_000);
            assert!(candidates(&answer).len() <= MAX_CANDIDATES, "{piece}");
        }
        assert!(candidates(" \n").is_empty());
    }
}
