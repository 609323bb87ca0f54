//! Rewrites answers in other markup as Markdown or JSON: lists of HTML, escaped marks, diffs, JSON in a string.

use std::borrow::Cow;

use super::mapped_text::MappedText;
use super::words::starts_with_any;

/// Returns an answer in Markdown or JSON where it is written in another markup; none where it is not.
pub(super) fn as_markdown(text: &str) -> Option<MappedText> {
    let body = text.trim();
    let is_data = body.starts_with(['{', '[', '"']);
    if is_data && is_escaped_json(body) {
        return Some(without_escapes(text));
    }
    if body.matches("&quot;").take(4).count() == 4 {
        return Some(MappedText::replaced(text, |rest, _| entity_at(rest)).0);
    }
    if is_data {
        return None;
    }
    if text.matches("<li").take(2).count() == 2 && !text.lines().any(is_markdown_item) {
        return Some(from_html(text));
    }
    if text.lines().filter(|line| is_escaped_item(line)).take(2).count() == 2 {
        return Some(MappedText::replaced(text, |rest, _| escaped_mark_at(rest)).0);
    }
    is_diff_of_items(text).then(|| new_side(text))
}

/// Returns whether the items of a text are those of a diff: a diff of code belongs to a task.
pub(super) fn is_diff_of_items(text: &str) -> bool {
    let (mut n_items, mut is_diff) = (0, false);
    for line in text.lines() {
        match line.trim_start().strip_prefix("```") {
            Some(language) => is_diff = !is_diff && language.trim_end() == "diff",
            None if is_diff => {
                let body = line.get(1..).filter(|_| line.starts_with(['+', ' '])).unwrap_or("");
                n_items += usize::from(is_markdown_item(body));
            }
            None if is_markdown_item(line) => return false,
            None => {}
        }
    }
    n_items > 1
}

/// Returns whether the first quotation mark of a value has a backslash before it.
fn is_escaped_json(body: &str) -> bool {
    let inner = body.strip_prefix('"').unwrap_or(body);
    let is_open = |c: char| matches!(c, '{' | '[') || c.is_whitespace();
    let rest = inner.trim_start_matches(is_open);
    let rest = rest.strip_prefix("\\n").unwrap_or(rest).trim_start_matches(is_open);
    inner.starts_with(['{', '[']) && rest.starts_with("\\\"")
}

/// Returns a value without the backslashes before its marks, and without quotes around it.
fn without_escapes(text: &str) -> MappedText {
    let start = text.len() - text.trim_start().len();
    let last = text.trim_end().len().saturating_sub(1);
    let is_quoted = text.trim().starts_with('"');
    let part_at = |rest: &str, at: usize| {
        if is_quoted && rest.starts_with('"') && (at == start || at == last) {
            return Some((1, Cow::Borrowed("")));
        }
        let with = match rest.strip_prefix('\\')?.chars().next()? {
            'n' | 'r' => "\n",
            't' => " ",
            '"' => "\"",
            '\\' => "\\",
            '/' => "/",
            _ => return None,
        };
        Some((2, Cow::Borrowed(with)))
    };
    MappedText::replaced(text, part_at).0
}

/// Reads an entity of HTML.
fn entity_at(text: &str) -> Option<(usize, Cow<'static, str>)> {
    let head = text.get(..text.floor_char_boundary("&quot;".len()))?;
    let name = head.strip_prefix('&')?.split_once(';')?.0;
    let with = match name {
        "quot" => "\"",
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "#39" | "#x27" | "apos" => "'",
        _ => return None,
    };
    Some((name.len() + 2, Cow::Borrowed(with)))
}

/// Returns a text with characters in place of the entities of HTML.
pub(super) fn without_entities(text: &str) -> String {
    MappedText::replaced(text, |rest, _| entity_at(rest)).0.text
}

fn is_markdown_item(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ") || line.starts_with("* ") || rest.len() < line.len() && rest.starts_with(". ")
}

/// Returns whether a line is an item whose mark is escaped: `1\. Add the flag`.
fn is_escaped_item(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = rest.len() < line.len() && starts_with_any(rest, &["\\. ", "\\) "]);
    is_number || starts_with_any(line, &["\\- ", "\\* ", "\\+ "])
}

fn escaped_mark_at(text: &str) -> Option<(usize, Cow<'_, str>)> {
    let mark = text.strip_prefix('\\')?.get(..1)?;
    ".)(-*+_#[]!>`|~".contains(mark).then_some((2, Cow::Borrowed(mark)))
}

/// Returns the new side of the diffs in a text.
fn new_side(text: &str) -> MappedText {
    let mut out = MappedText::default();
    let (mut at, mut is_diff) = (0, false);
    for line in text.split_inclusive('\n') {
        let start = line.len() - line.trim_start().len();
        let is_fence = line.trim_start().starts_with("```");
        if is_fence {
            let language = line.trim_start_matches([' ', '`']);
            is_diff = !is_diff && language.trim_end() == "diff";
        }
        match line.chars().next() {
            _ if is_fence && is_diff => {
                out.copy(line.get(..start + 3).unwrap_or(""), at);
                out.replace("md\n", at + start + 3);
            }
            _ if is_fence || !is_diff => out.copy(line, at),
            Some('-' | '@') => {}
            Some('+') if line.starts_with("+++ ") => {}
            Some('+' | ' ') => out.copy(line.get(1..).unwrap_or(""), at + 1),
            _ => out.copy(line, at),
        }
        at += line.len();
    }
    out
}

/// Returns the lists and headings of HTML in Markdown.
fn from_html(text: &str) -> MappedText {
    let mut marks: Vec<&str> = Vec::new();
    let part_at = |rest: &str, _: usize| {
        if rest.starts_with("```html") {
            return Some(("```html".len(), Cow::Borrowed("```md")));
        }
        if let Some(entity) = entity_at(rest) {
            return Some(entity);
        }
        let body = rest.strip_prefix('<')?;
        let end = body.get(..body.floor_char_boundary(MAX_TAG))?.find('>')?;
        let tag = body.get(..end)?.to_ascii_lowercase();
        let name = tag.split(|c: char| c.is_whitespace()).next().unwrap_or("");
        let with = match name.trim_end_matches('/') {
            "ol" | "ul" => {
                marks.push(if name == "ol" { "1. " } else { "- " });
                ""
            }
            "/ol" | "/ul" => {
                marks.pop();
                "\n"
            }
            "li" => {
                let n_indent = 3 * marks.len().clamp(1, MAX_INDENT).saturating_sub(1);
                let item = format!("\n{}{}", " ".repeat(n_indent), marks.last().unwrap_or(&"- "));
                return Some((end + 2, Cow::Owned(item)));
            }
            "strong" | "b" | "/strong" | "/b" => "**",
            "code" | "/code" => "`",
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => "\n## ",
            "/h1" | "/h2" | "/h3" | "/h4" | "/h5" | "/h6" | "p" | "/p" | "div" | "/div" => "\n",
            "input" if tag.contains("checkbox") && tag.contains("checked") => "[x] ",
            "input" if tag.contains("checkbox") => "[ ] ",
            "em" | "i" | "/em" | "/i" | "/li" | "span" | "/span" | "html" | "/html" | "body" | "/body" | "br" => "",
            _ => return None,
        };
        Some((end + 2, Cow::Borrowed(with)))
    };
    MappedText::replaced(text, part_at).0
}

/// How long a tag is, in bytes.
const MAX_TAG: usize = 200;

/// How deep lists are indented.
const MAX_INDENT: usize = 16;

#[cfg(test)]
mod tests {
    use super::as_markdown;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = as_markdown(text).map(|mapped| mapped.text);
        assert_eq!(found.as_deref(), Some(expected), "{text:?}");
    }

    #[test]
    fn other_markup_is_rewritten() {
        check(r#""{\"a\": \"b\\n\"}""#, r#"{"a": "b\n"}"#);
        check(r#"{\"a\": 1}"#, r#"{"a": 1}"#);
        check("{&quot;a&quot;: &quot;b &amp; c&quot;}", "{\"a\": \"b & c\"}");
        check("1\\. \\*\\*Add\\*\\*\n2\\. Use\n", "1. **Add**\n2. Use\n");
        check(
            "<ol><li><b>Add</b> it</li><li>Use<ul><li>twice</li></ul></li></ol>",
            "\n1. **Add** it\n1. Use\n   - twice\n\n",
        );
        check(
            "```diff\n - [ ] a\n-- [ ] b\n+- [ ] c\n```\n",
            "```md\n- [ ] a\n- [ ] c\n```\n",
        );
    }

    #[test]
    fn markdown_and_json_stay() {
        for text in [
            "1. Add `<li>` and `<li>`",
            "{\"a\": \"\\\"b\\\"\"}",
            "1. Match `\\.`\n",
            "\"Quoted\" words",
            "1. Change it\n```diff\n-a\n+b\n```\n",
            "```diff\n-a\n+b\n```\n",
        ] {
            assert!(as_markdown(text).is_none(), "{text}");
        }
    }
}
