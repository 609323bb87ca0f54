//! Splits an answer into its parts: fenced blocks, values within prose, and the prose itself.

use std::collections::BTreeSet;

use super::json_values::{LooseValue, SyntaxProblem, read_value};
use super::value::{OutlineData, OutlineNode};
use crate::document::yaml;
use crate::text::Span;

/// How many places of an answer are tried that turn out to be no value.
const MAX_FAILURES: usize = 64;

/// How many fences are looked at.
const MAX_FENCES: usize = 200;

/// A fenced block.
#[derive(Debug)]
pub(super) struct CodeFence<'t> {
    /// The language, in lower case as models write it.
    pub(super) language: &'t str,
    pub(super) body: Span,
    pub(super) whole: Span,
    pub(super) is_closed: bool,
}

/// Returns the fenced blocks of a text; one that is not closed ends with the text.
pub(super) fn fences(text: &str) -> Vec<CodeFence<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(char, usize, usize, usize, &str)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'));
        let n_marks = mark.map_or(0, |mark| trimmed.chars().take_while(|c| *c == mark).count());
        let info = trimmed.get(n_marks..).unwrap_or("").trim();
        match (open, mark) {
            (None, Some(mark)) if n_marks >= 3 && !(mark == '`' && info.contains('`')) => {
                let language = info
                    .split(|c: char| c.is_whitespace() || matches!(c, '{' | ','))
                    .next()
                    .unwrap_or("");
                open = Some((mark, n_marks, at, at + line.len(), language));
            }
            (Some((own, n_own, start, body, language)), Some(mark))
                if mark == own && n_marks >= n_own && info.is_empty() =>
            {
                found.push(CodeFence {
                    language,
                    body: Span::new(body, at),
                    whole: Span::new(start, at + line.len()),
                    is_closed: true,
                });
                open = None;
            }
            _ => {}
        }
        at += line.len();
        if found.len() >= MAX_FENCES {
            return found;
        }
    }
    if let Some((_, _, start, body, language)) = open {
        found.push(CodeFence {
            language,
            body: Span::new(body, text.len()),
            whole: Span::new(start, text.len()),
            is_closed: false,
        });
    }
    found
}

/// The values of JSON in a text with their places, and the places where one begins that cannot be read.
type FoundJson = (Vec<(LooseValue, Span)>, Vec<(usize, SyntaxProblem)>);

/// Returns the values of JSON in a part of a text. Objects with nothing between them are the elements of one list.
pub(super) fn json_within(text: &str, part: Span, taken: &[Span]) -> FoundJson {
    let mut found: Vec<(LooseValue, Span)> = Vec::new();
    let mut problems = Vec::new();
    let mut at = part.start as usize;
    let end = part.end as usize;
    let mut taken = taken.iter().copied().peekable();
    while at < end && problems.len() < MAX_FAILURES {
        while taken.peek().is_some_and(|span| span.end as usize <= at) {
            taken.next();
        }
        if let Some(span) = taken.peek().filter(|span| span.start as usize <= at) {
            at = span.end as usize;
            continue;
        }
        let stop = taken.peek().map_or(end, |span| (span.start as usize).min(end));
        let rest = text.get(at..stop).unwrap_or("");
        let Some(offset) = rest.find(['{', '[']) else {
            at = stop.max(at + 1);
            continue;
        };
        let start = at + offset;
        if !begins_value(text.get(start..stop).unwrap_or(""), text.get(..start).unwrap_or("")) {
            at = start + 1;
            continue;
        }
        match read_value(text, start, stop) {
            Ok(value) => {
                at = value.end.max(start + 1);
                let place = Span::new(start, value.end);
                push(&mut found, value, place, text);
            }
            Err(problem) => {
                // What follows the place where reading ended is another value at best.
                at = problem.at.max(start + 1);
                problems.push((start, problem));
            }
        }
    }
    (found, problems)
}

/// Adds a value, or makes it an element of the list that the objects right before it form.
fn push(found: &mut Vec<(LooseValue, Span)>, value: LooseValue, place: Span, text: &str) {
    let is_object = matches!(value.node.data, OutlineData::Object(_));
    if let Some((last, span)) = found.last_mut().filter(|_| is_object) {
        let gap = text.get(span.end as usize..place.start as usize).unwrap_or("x");
        let is_next = gap.chars().all(|c| c.is_whitespace() || c == ',');
        let is_line = matches!(last.node.data, OutlineData::Object(_))
            || matches!(&last.node.data, OutlineData::List(_))
                && text
                    .get(span.start as usize..)
                    .is_some_and(|rest| rest.starts_with('{'));
        if is_next && is_line {
            let whole = span.to(place);
            let old = std::mem::replace(&mut last.node.data, OutlineData::Null);
            let mut elements = match old {
                OutlineData::List(elements) => elements,
                data => vec![OutlineNode { span: *span, data }],
            };
            // An element that is not finished is none.
            if value.cut.is_none() {
                elements.push(value.node);
            }
            last.node = OutlineNode {
                span: whole,
                data: OutlineData::List(elements),
            };
            last.end = value.end;
            last.cut = last.cut.or(value.cut);
            let repairs: BTreeSet<&'static str> = value.repairs;
            last.repairs.extend(repairs);
            *span = whole;
            return;
        }
    }
    found.push((value, place));
}

/// Returns whether a bracket or brace begins a value, and not a box, a link or a remark.
fn begins_value(text: &str, before: &str) -> bool {
    let mut chars = text.chars();
    let open = chars.next();
    let next = chars.find(|c| !c.is_whitespace());
    let is_quote = |c: char| matches!(c, '"' | '\'' | '“' | '”' | '„' | '‘' | '’' | '`');
    let is_line_start = before
        .rsplit('\n')
        .next()
        .is_some_and(|line| line.trim_matches([' ', '\t', '=', ':']).is_empty());
    match (open, next) {
        (Some('{'), Some(c)) => is_quote(c) || is_line_start && (c.is_alphabetic() || matches!(c, '/' | '_' | '}')),
        (Some('['), Some('{' | '[')) => true,
        (Some('['), Some(c)) => {
            is_line_start && (is_quote(c) && c != '`' || c == ']' && text.starts_with("[]") && text.trim_end() == "[]")
        }
        _ => false,
    }
}

/// Returns the parts of prose that look like YAML with keys.
pub(super) fn yaml_within(text: &str, part: Span, taken: &[Span]) -> Vec<Span> {
    let mut found = Vec::new();
    let mut start: Option<usize> = None;
    let mut at = part.start as usize;
    let mut taken = taken.iter().copied().peekable();
    let mut last_end = at;
    let mut n_lines = 0;
    let lines = text.get(part.range()).unwrap_or("").split_inclusive('\n');
    for line in lines.chain([""]) {
        while taken.peek().is_some_and(|span| span.end as usize <= at) {
            taken.next();
        }
        let is_taken = taken.peek().is_some_and(|span| (span.start as usize) < at + line.len());
        let bare = line.trim_end();
        let item = bare.strip_prefix("- ").unwrap_or(bare);
        let is_key = yaml::is_member_line(item) && !item.contains("**") && key_is_word(item);
        let goes_on = is_key || line.starts_with([' ', '\t', '-', '#']) || bare.is_empty() && !line.is_empty();
        match start {
            None if is_key && !is_taken => {
                start = Some(at);
                n_lines = 0;
            }
            Some(from) if !goes_on || is_taken => {
                if n_lines > 1 {
                    found.push(Span::new(from, last_end));
                }
                start = (is_key && !is_taken).then_some(at);
                n_lines = 0;
            }
            _ => {}
        }
        at += line.len();
        if !bare.is_empty() {
            last_end = at;
            n_lines += 1;
        }
    }
    found.truncate(MAX_FAILURES);
    found
}

/// Returns whether the key of a line is one word, as in data and rarely in sentences.
fn key_is_word(line: &str) -> bool {
    let key = line.split(':').next().unwrap_or("");
    !key.is_empty() && key.len() <= 40 && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '"'))
}
