//! Finds the values of JSON in a text, even if they are not strict or not finished.

use super::json_values::{LooseValue, SyntaxProblem, read_value};
use super::value::{OutlineData, OutlineNode};
use crate::document::prose::TakenParts;
use crate::text::Span;

/// How many failed attempts at values are made in an answer.
const MAX_FAILURES: usize = 64;

/// The values of JSON in a text with their spans, and the offsets of unreadable ones.
type FoundJson = (Vec<(LooseValue, Span)>, Vec<(usize, SyntaxProblem)>);

/// Returns the values of JSON in a part of a text. Adjacent objects are the elements of one list.
pub(super) fn json_within(text: &str, part: Span, taken: &[Span]) -> FoundJson {
    let mut found: Vec<(LooseValue, Span)> = Vec::new();
    let mut problems = Vec::new();
    let mut at = part.start as usize;
    let end = part.end as usize;
    let mut taken = TakenParts::new(taken);
    while at < end && problems.len() < MAX_FAILURES {
        let next = taken.next_after(at);
        if let Some(span) = next.filter(|span| span.start as usize <= at) {
            at = span.end as usize;
            continue;
        }
        let stop = next.map_or(end, |span| (span.start as usize).min(end));
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
                // After the end of the readable part, only another value can follow.
                at = problem.at.max(start + 1);
                problems.push((start, problem));
            }
        }
    }
    (found, problems)
}

/// Adds a value, or adds it to the list of the objects right before it.
fn push(found: &mut Vec<(LooseValue, Span)>, value: LooseValue, place: Span, text: &str) {
    let is_object = matches!(value.node.data, OutlineData::Object(_));
    let is_continued = |(_, span): &&mut (LooseValue, Span)| {
        let gap = text.get(span.end as usize..place.start as usize).unwrap_or("x");
        let is_next = gap.chars().all(|c| c.is_whitespace() || c == ',');
        is_object && is_next && text.get(span.range()).is_some_and(|last| last.starts_with('{'))
    };
    let Some((last, span)) = found.last_mut().filter(is_continued) else {
        return found.push((value, place));
    };
    let mut elements = match std::mem::replace(&mut last.node.data, OutlineData::Null) {
        OutlineData::List(elements) => elements,
        data => vec![OutlineNode { span: *span, data }],
    };
    *span = span.to(place);
    // An unfinished element is omitted.
    elements.extend(value.cut.is_none().then_some(value.node));
    last.node = OutlineNode {
        span: *span,
        data: OutlineData::List(elements),
    };
    last.end = value.end;
    last.cut = last.cut.or(value.cut);
    last.repairs.extend(value.repairs);
}

/// Returns whether a bracket or brace starts a value, and not a checkbox, a link or a remark.
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
