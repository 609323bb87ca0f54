//! The parts of a task line after its box: id, tags, title, dependencies. Does not know other lines.

use super::ids;
use super::variant::Variant;
use crate::text::{SourceText, Span};

/// The parts of a task line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tags {
    pub(super) id: Option<Span>,
    /// The tag that allows to run it next to its neighbours: `[P]` or `(P)`.
    pub(super) parallel: Option<Span>,
    /// The user story of spec-kit: `US1`.
    pub(super) story: Option<Span>,
    /// The text for people, without the other parts.
    pub(super) title: Span,
    /// The parentheses with the dependencies, and each of them.
    pub(super) needs: Option<(Span, Vec<Span>)>,
}

/// The words that begin a list of dependencies in parentheses; the first is the one that planwright writes in its own files.
pub(super) const NEEDS: &str = "needs";
const DEPENDENCY_WORDS: [&str; 8] = [
    NEEDS,
    "depends on",
    "depends",
    "depends:",
    "needs:",
    "depends on:",
    "requires",
    "after",
];

/// Reads the text after the box.
pub(super) fn read(source: &SourceText, text: Span, variant: Variant) -> Tags {
    let all = source.slice(text);
    let mut at = 0;
    let id = id_len(all, variant).map(|(start, end, after)| {
        at = after;
        span_in(text, start, end)
    });
    let (mut parallel, mut story) = (None, None);
    if variant != Variant::Own {
        while let Some((tag, len)) = tag_at(&all[at..]) {
            let span = span_in(text, at, at + len);
            match tag {
                TagKind::Parallel if parallel.is_none() => parallel = Some(span),
                TagKind::Story if story.is_none() && variant == Variant::SpecKit => {
                    story = Some(span_in(text, at + 1, at + len - 1))
                }
                _ => break,
            }
            let rest = &all[at + len..];
            at = all.len() - rest.trim_start().len();
        }
    }
    let needs = needs_at_end(&all[at..], variant).map(|(start, items)| {
        let items = items
            .into_iter()
            .map(|(start, end)| span_in(text, at + start, at + end));
        (span_in(text, at + start, all.len()), items.collect())
    });
    let end = needs.as_ref().map_or(all.len(), |(span, _): &(Span, Vec<Span>)| {
        (span.start - text.start) as usize
    });
    let title = all[at..end].trim_end();
    Tags {
        id,
        parallel,
        story,
        title: span_in(text, at, at + title.len()),
        needs,
    }
}

fn span_in(text: Span, start: usize, end: usize) -> Span {
    Span::new(text.start as usize + start, text.start as usize + end)
}

/// Returns the start and end of the id, and where the rest begins; none for a text that is only an id.
fn id_len(text: &str, variant: Variant) -> Option<(usize, usize, usize)> {
    let (start, n_id) = match variant {
        Variant::Own => (0, ids::own_id(text)?),
        Variant::SpecKit => (0, ids::spec_kit_id(text)?),
        Variant::OpenSpec | Variant::Kiro => (0, ids::number_id(text)?),
        Variant::Plain => return None,
    };
    let rest = &text[start + n_id..];
    let rest = rest.strip_prefix([':', '.', ')']).unwrap_or(rest).trim_start();
    (!rest.is_empty()).then_some((start, start + n_id, text.len() - rest.len()))
}

enum TagKind {
    Parallel,
    Story,
}

/// Returns the tag at the start of a text, and its length.
fn tag_at(text: &str) -> Option<(TagKind, usize)> {
    for parallel in ["[P]", "(P)"] {
        if text.starts_with(parallel) && (text.len() == 3 || text[3..].starts_with([' ', '\t'])) {
            return Some((TagKind::Parallel, 3));
        }
    }
    let inner = text.strip_prefix("[US")?;
    let n_digits = inner.bytes().take_while(u8::is_ascii_digit).count();
    let len = 3 + n_digits + 1;
    (n_digits > 0 && inner[n_digits..].starts_with(']')).then_some((TagKind::Story, len))
}

/// Returns the start of the dependencies at the end of a text, and the start and end of each.
fn needs_at_end(text: &str, variant: Variant) -> Option<(usize, Vec<(usize, usize)>)> {
    let inner_end = text.strip_suffix(')')?.len();
    let open = text[..inner_end].rfind('(')?;
    // A backslash makes it a part of the title.
    let is_apart = text[..open].is_empty() || text[..open].ends_with([' ', '\t']);
    if !is_apart {
        return None;
    }
    let inner = &text[open + 1..inner_end];
    let word = DEPENDENCY_WORDS.iter().filter(|word| {
        let head = inner.get(..word.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(word)) && inner[word.len()..].starts_with([' ', '\t'])
    });
    let n_word = word.map(|word| word.len()).max()?;
    let mut items = Vec::new();
    let mut at = open + 1 + n_word;
    let separator = if text[at..inner_end].contains(',') {
        ","
    } else {
        " and "
    };
    for part in text[at..inner_end].split(separator) {
        let lead = part.len() - part.trim_start().len();
        let mut item = part.trim();
        let mut start = at + lead;
        if let Some(rest) = item.strip_prefix("and ") {
            start += item.len() - rest.trim_start().len();
            item = rest.trim_start();
        }
        at += part.len() + separator.len();
        if item.is_empty() || (variant != Variant::Own && !looks_like_id(item)) || item.contains(['(', ')']) {
            return None;
        }
        items.push((start, start + item.len()));
    }
    Some((open, items))
}

/// Returns the place of parentheses in a title that begin like dependencies.
pub(super) fn unread_needs(source: &SourceText, title: Span, variant: Variant) -> Option<Span> {
    let text = source.slice(title);
    if !text.contains('(') {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let words: &[&str] = match variant {
        Variant::Own => &["(needs ", "(depends on "],
        _ => &["(needs ", "(depends on t0", "(depends on us-"],
    };
    let found = words.iter().filter_map(|word| lower.find(word)).min()?;
    let is_escaped = text[..found].ends_with('\\');
    let end = text[found..].find(')').map_or(text.len(), |at| found + at + 1);
    let names_one = variant == Variant::Own || text[found..end].bytes().any(|byte| byte.is_ascii_digit());
    (!is_escaped && names_one).then(|| span_in(title, found, end))
}

/// Returns the offset of the parenthesis of dependencies at the end of a text, with the backslashes before it.
fn dependency_like_end(text: &str) -> Option<(usize, usize)> {
    let inner_end = text.strip_suffix(')')?.len();
    let open = text[..inner_end].rfind('(')?;
    let n_slashes = text[..open].bytes().rev().take_while(|byte| *byte == b'\\').count();
    let bare = format!("{}{}", &text[..open - n_slashes], &text[open..]);
    needs_at_end(&bare, Variant::Own).map(|_| (open, n_slashes))
}

/// Returns the offset of the colon of what looks like an id at the start of a text, and the number of backslashes before it.
fn id_like_start(text: &str) -> Option<(usize, usize)> {
    let colon = text.find(':')?;
    let word = text[..colon].trim_end_matches('\\');
    (ids::is_own_id(word) && text[colon + 1..].starts_with([' ', '\t'])).then_some((colon, colon - word.len()))
}

/// Returns a title without the backslashes that keep its ends from being read as an id or as dependencies; none if it has none.
pub(super) fn unescaped_title(title: &str, has_id: bool, variant: Variant) -> Option<String> {
    if variant != Variant::Own {
        return None;
    }
    let mut plain = title.to_owned();
    if let Some((open, _)) = dependency_like_end(&plain).filter(|(_, n_slashes)| *n_slashes > 0) {
        plain.remove(open - 1);
    }
    if let Some((colon, _)) = id_like_start(&plain).filter(|(_, n_slashes)| *n_slashes > 0 && !has_id) {
        plain.remove(colon - 1);
    }
    (plain != title).then_some(plain)
}

/// Returns a title as planwright's own files write it: its ends are not read as an id or as dependencies.
pub(super) fn escaped_title(title: &str, has_id: bool) -> String {
    let mut written = title.to_owned();
    if let Some((open, _)) = dependency_like_end(&written) {
        written.insert(open, '\\');
    }
    if let Some((colon, _)) = id_like_start(&written).filter(|_| !has_id) {
        written.insert(colon, '\\');
    }
    written
}

/// Returns whether a word is a reference and not prose: `T012`, `2.1`, `US-003`.
fn looks_like_id(word: &str) -> bool {
    let n_digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    n_digits > 0 && word.len() <= 24 && word.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the parts of a text: id, tags, title and dependencies.
    #[track_caller]
    fn check(variant: Variant, text: &str, expect: &str) {
        let source = SourceText::new(text);
        let tags = read(&source, source.span(), variant);
        let part = |span: Option<Span>| span.map_or("", |span| source.slice(span));
        let needs = tags.needs.as_ref().map_or(Vec::new(), |(_, needs)| needs.clone());
        let needs: Vec<&str> = needs.iter().map(|span| source.slice(*span)).collect();
        let found = format!(
            "{}|{}|{}|{}|{}",
            part(tags.id),
            part(tags.parallel),
            part(tags.story),
            source.slice(tags.title),
            needs.join("+")
        );
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn planwrights_own_lines_have_an_id_and_dependencies() {
        check(Variant::Own, "T3: Add it (needs T1, T2)", "T3|||Add it|T1+T2");
        check(Variant::Own, "US-001: a: b", "US-001|||a: b|");
        check(Variant::Own, "Note this: it has no id", "|||Note this: it has no id|");
        check(Variant::Own, "T1: Say (needs water)", "T1|||Say|water");
        check(Variant::Own, "T1: Say \\(needs T2)", "T1|||Say \\(needs T2)|");
        check(Variant::Own, "T1: [P] stays", "T1|||[P] stays|");
        for title in [
            "a (needs T1)",
            "a \\(needs T1)",
            "(needs T1)",
            "a (b)",
            "a\\\\ (needs b, c)",
            "b: c",
            "b\\: c (needs a)",
        ] {
            for (lead, has_id) in [("T1: ", true), ("", false)] {
                let source = SourceText::new(format!("{lead}{}", escaped_title(title, has_id)));
                let tags = read(&source, source.span(), Variant::Own);
                let found = source.slice(tags.title);
                let plain = unescaped_title(found, has_id, Variant::Own).unwrap_or_else(|| found.to_owned());
                assert_eq!((plain.as_str(), &tags.needs, tags.id.is_some()), (title, &None, has_id));
            }
        }
    }

    #[test]
    fn other_variants_have_their_own_ids_and_tags() {
        check(
            Variant::SpecKit,
            "T001 [P] [US1] Add a in b",
            "T001|[P]|US1|Add a in b|",
        );
        check(
            Variant::SpecKit,
            "T014 Add a (depends on T012, T013)",
            "T014|||Add a|T012+T013",
        );
        check(
            Variant::SpecKit,
            "T014 Add a (depends on the database)",
            "T014|||Add a (depends on the database)|",
        );
        check(Variant::Kiro, "2. Group", "2|||Group|");
        check(Variant::Kiro, "2.1 (P) Task", "2.1|(P)||Task|");
        check(Variant::OpenSpec, "1.10 Task", "1.10|||Task|");
        check(Variant::OpenSpec, "3 tests fail", "|||3 tests fail|");
        check(Variant::Plain, "T001 a [P]", "|||T001 a [P]|");
        check(Variant::Plain, "[P] a", "|[P]||a|");
    }
}
