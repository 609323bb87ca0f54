//! Markdown as a carrier: frontmatter, level-2 sections, and the JSON fences in them. Follows line rules, not CommonMark (decision 0004),
//! and does not know tasks.

use memchr::{memchr2, memmem};

use crate::text::{SourceText, Span};

/// A Markdown text with the spans of its parts.
#[derive(Clone, Debug)]
pub struct Markdown {
    source: SourceText,
    frontmatter: Option<Frontmatter>,
    headings: Vec<Heading>,
}

/// The text between the `---` on the first line and the next line that is exactly `---`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frontmatter {
    /// Both delimiter lines and everything between, with line endings; the first line if it is not closed.
    pub span: Span,
    /// Whether there is a closing line. Without one there are no entries.
    pub is_closed: bool,
    /// The `key: value` lines in order; a key may occur more than once.
    pub entries: Vec<MetadataLine>,
}

/// One `key: value` line that begins at the first column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataLine {
    /// The line with its line ending.
    pub line: Span,
    /// The line and its indented or list lines.
    pub block: Span,
    /// The key.
    pub key: Span,
    /// The value as written, quotes included.
    pub value: Span,
    /// The value without one leading and one trailing quote.
    pub content: Span,
}

/// A level-2 heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// From the `##` to the end of the title.
    pub span: Span,
    /// The title without the white space around it.
    pub title: Span,
}

/// A level-2 heading and the text up to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkdownSection {
    /// The heading, from `##` to the end of the title.
    pub heading: Span,
    /// The text after the heading, up to the next level-2 heading or the end.
    pub body: Span,
}

/// A fenced block whose info string begins with `json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonFence {
    /// From the first backtick to the last.
    pub span: Span,
    /// The text inside, without the white space around it.
    pub inner: Span,
}

impl Markdown {
    /// Finds the frontmatter and the level-2 headings of a text.
    pub fn parse(source: &SourceText) -> Self {
        Markdown {
            source: source.clone(),
            frontmatter: find_frontmatter(source.as_str()),
            headings: find_headings(source.as_str()),
        }
    }

    /// Returns the text.
    pub fn source(&self) -> &SourceText {
        &self.source
    }

    /// Returns the frontmatter, closed or not; none if the first line is not exactly `---`.
    pub fn frontmatter(&self) -> Option<&Frontmatter> {
        self.frontmatter.as_ref()
    }

    /// Returns the entries of the frontmatter.
    pub fn entries(&self) -> &[MetadataLine] {
        self.frontmatter.as_ref().map_or(&[], |found| &found.entries)
    }

    /// Returns the valid entry of a key: the last one.
    pub fn entry(&self, key: &str) -> Option<&MetadataLine> {
        self.entries()
            .iter()
            .rev()
            .find(|entry| self.source.slice(entry.key) == key)
    }

    /// Returns the unquoted value of a key.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.entry(key).map(|entry| self.source.slice(entry.content))
    }

    /// Returns the items of the `- item` lines below an entry, without their quotes.
    pub fn items(&self, entry: &MetadataLine) -> Vec<Span> {
        let mut at = entry.line.end as usize;
        let below = Span::new(at, entry.block.end as usize);
        let mut items = Vec::new();
        for line in self.source.slice(below).split_inclusive('\n') {
            at += line.len();
            if let Some(item) = line.trim_start().strip_prefix("- ") {
                let item = item.trim_start().trim_start_matches(['"', '\'']);
                let start = at - item.len();
                let len = item.trim_end().trim_end_matches(['"', '\'']).len();
                items.push(Span::new(start, start + len));
            }
        }
        items
    }

    /// Returns the text after the frontmatter; all of it without one, nothing if it is not closed.
    pub fn body(&self) -> Span {
        let end = self.source.len();
        match &self.frontmatter {
            Some(found) if found.is_closed => Span::new(found.span.end as usize, end),
            Some(_) => Span::at(end),
            None => Span::new(0, end),
        }
    }

    /// Returns the level-2 headings in order.
    pub fn headings(&self) -> &[Heading] {
        &self.headings
    }

    /// Returns the first section with exactly this title.
    pub fn section(&self, title: &str) -> Option<MarkdownSection> {
        let ix = self
            .headings
            .iter()
            .position(|heading| self.source.slice(heading.title) == title)?;
        let heading = self.headings[ix].span;
        let end = self
            .headings
            .get(ix + 1)
            .map_or(self.source.len(), |next| next.span.start as usize);
        Some(MarkdownSection {
            heading,
            body: Span::new(heading.end as usize, end),
        })
    }

    /// Returns the JSON fences in a section's body, in order.
    pub fn json_fences(&self, section: &MarkdownSection) -> Vec<JsonFence> {
        find_json_fences(self.source.as_str(), section.body)
    }
}

/// Returns whether a character is white space for JavaScript's `\s` and `trim`: U+FEFF is, U+0085 is not.
pub(crate) fn is_space(c: char) -> bool {
    matches!(
        c,
        '\u{9}'..='\u{d}'
            | ' '
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
            | '\u{feff}'
    )
}

/// Returns whether a character ends a line in a regular expression of JavaScript, as four do.
pub(crate) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Returns the offset after the run of white space at `at`.
fn skip_space(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start_matches(is_space).len()
}

/// Returns the end of the line at `at` without and with its line ending: LF, CRLF or a lone CR.
fn line_ends(text: &str, at: usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let Some(end) = memchr2(b'\n', b'\r', &bytes[at..]).map(|found| at + found) else {
        return (text.len(), text.len());
    };
    let is_crlf = bytes[end] == b'\r' && bytes.get(end + 1) == Some(&b'\n');
    (end, end + 1 + usize::from(is_crlf))
}

/// Returns the markers that a code fence begins or ends with.
pub(crate) fn fence_mark(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|&c| c == '`' || c == '~')?;
    let n_marks = line.len() - line.trim_start_matches(mark).len();
    (n_marks >= 3).then(|| &line[..n_marks])
}

fn find_frontmatter(text: &str) -> Option<Frontmatter> {
    let (end, first) = line_ends(text, 0);
    if &text[..end] != "---" {
        return None;
    }
    let mut entries: Vec<MetadataLine> = Vec::new();
    let mut at = first;
    while at < text.len() {
        let (end, next) = line_ends(text, at);
        let line = &text[at..end];
        if line == "---" {
            return Some(Frontmatter {
                span: Span::new(0, next),
                is_closed: true,
                entries,
            });
        }
        match read_entry(text, at, end, next) {
            Some(entry) => entries.push(entry),
            None if line.starts_with([' ', '\t', '-']) => {
                if let Some(last) = entries.last_mut().filter(|last| last.block.end as usize == at) {
                    last.block = Span::new(last.block.start as usize, next);
                }
            }
            None => {}
        }
        at = next;
    }
    Some(Frontmatter {
        span: Span::new(0, first),
        is_closed: false,
        entries: Vec::new(),
    })
}

/// Returns the length of the longest key at the start of a line.
fn key_len(line: &str) -> usize {
    line.bytes()
        .position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'))
        .unwrap_or(line.len())
}

fn read_entry(text: &str, at: usize, end: usize, next: usize) -> Option<MetadataLine> {
    let line = &text[at..end];
    let colon = key_len(line);
    if colon == 0 || line.as_bytes().get(colon) != Some(&b':') {
        return None;
    }
    let rest = line[colon + 1..].trim_start_matches(is_space);
    // The original's `.` does not match these two, so such a line is no entry.
    if rest.contains(['\u{2028}', '\u{2029}']) {
        return None;
    }
    // An empty value is after one space, where a value would be written.
    let start = if rest.is_empty() {
        (at + colon + 1 + usize::from(line[colon + 1..].starts_with(' '))).min(end)
    } else {
        end - rest.len()
    };
    let value = Span::new(start, start + rest.trim_end_matches(is_space).len());
    Some(MetadataLine {
        line: Span::new(at, next),
        block: Span::new(at, next),
        key: Span::new(at, at + colon),
        value,
        content: unquote(text, value),
    })
}

/// Cuts one leading and one trailing quote of either kind, which need not match.
fn unquote(text: &str, value: Span) -> Span {
    let written = &text[value.range()];
    let leading = written.starts_with(['"', '\'']);
    let rest = &written[usize::from(leading)..];
    let trailing = rest.ends_with(['"', '\'']);
    Span::new(
        value.start as usize + usize::from(leading),
        value.end as usize - usize::from(trailing),
    )
}

fn find_headings(text: &str) -> Vec<Heading> {
    memmem::find_iter(text.as_bytes(), b"##")
        .filter_map(|at| read_heading(text, at))
        .collect()
}

fn read_heading(text: &str, at: usize) -> Option<Heading> {
    let begins_line = text[..at].chars().next_back().is_none_or(is_line_end);
    // The white space after the markers may include line ends, as in the original's rule.
    let start = skip_space(text, at + 2);
    if !begins_line || start == at + 2 {
        return None;
    }
    let rest = &text[start..];
    let line = rest.find(is_line_end).map_or(rest, |end| &rest[..end]);
    let title = Span::new(start, start + line.trim_end_matches(is_space).len());
    Some(Heading {
        span: Span::new(at, title.end as usize),
        title,
    })
}

fn find_json_fences(text: &str, body: Span) -> Vec<JsonFence> {
    let body_text = text.get(body.range()).unwrap_or("");
    let base = body.start as usize;
    let (open, close) = (memmem::Finder::new("```json"), memmem::Finder::new("```"));
    let mut fences = Vec::new();
    let mut at = 0;
    while let Some(found) = open.find(&body_text.as_bytes()[at..]) {
        let first = at + found;
        let start = skip_space(body_text, first + "```json".len());
        let Some(len) = close.find(&body_text.as_bytes()[start..]) else {
            break;
        };
        let inner = body_text[start..start + len].trim_end_matches(is_space);
        at = start + len + "```".len();
        fences.push(JsonFence {
            span: Span::new(base + first, base + at),
            inner: Span::new(base + start, base + start + inner.len()),
        });
    }
    fences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Markdown {
        Markdown::parse(&SourceText::new(text))
    }

    /// Checks the entries of a frontmatter, written `key=value|key=value`; `-` for no frontmatter, `!` for an open one.
    #[track_caller]
    fn check_entries(text: &str, expect: &str) {
        let markdown = parse(text);
        let shown = match markdown.frontmatter() {
            None => "-".to_owned(),
            Some(found) if !found.is_closed => "!".to_owned(),
            Some(found) => {
                let slice = |span| markdown.source().slice(span);
                let pairs: Vec<_> = found
                    .entries
                    .iter()
                    .map(|entry| format!("{}={}", slice(entry.key), slice(entry.content)))
                    .collect();
                pairs.join("|")
            }
        };
        assert_eq!(shown, expect, "{text:?}");
    }

    #[test]
    fn frontmatter_is_read_line_by_line() {
        check_entries("---\na: 1\nb:2\n---\n", "a=1|b=2");
        check_entries("---\r\na: 1\r\n---\r\nbody", "a=1");
        check_entries("---\ra: 1\r---", "a=1");
        check_entries(
            "---\na: \"x\"\nb: 'y'\nc: \"z'\nd: \"\ne: \"\"\n---\n",
            "a=x|b=y|c=z|d=|e=",
        );
        check_entries("---\na: \" x \"\n---\n", "a= x ");
        check_entries("---\na: x # c\n# only a comment\n---\n", "a=x # c");
        check_entries("---\na:\n  - x\n b: 2\n- c: 3\n---\n", "a=");
        check_entries("---\na : 1\n: 2\ná: 3\na.b: 4\nA_-9: 5\n---\n", "A_-9=5");
        check_entries("---\na:\u{a0}\u{feff}x\u{3000}\nb:\u{85}y\n---\n", "a=x|b=\u{85}y");
        check_entries("---\na: x\u{2028}y\nb:\u{2028}y\nc: y\u{2028}\n---\n", "b=y");
        check_entries("---\na: 1\na: 2\n---\n", "a=1|a=2");
        check_entries("---\nurl: http://x:1\n---\n", "url=http://x:1");
    }

    #[test]
    fn frontmatter_needs_exact_delimiters() {
        check_entries("", "-");
        check_entries("\u{feff}---\na: 1\n---\n", "-");
        check_entries("\n---\na: 1\n---\n", "-");
        check_entries("--- \na: 1\n---\n", "-");
        check_entries("----\na: 1\n---\n", "-");
        check_entries("---", "!");
        check_entries("---\n", "!");
        check_entries("---\na: 1\n--- \n...\n", "!");
        check_entries("---\n---", "");
        check_entries("---\n---\n---\n", "");
    }

    #[track_caller]
    fn check_body(text: &str, expect: &str) {
        let markdown = parse(text);
        assert_eq!(markdown.source().slice(markdown.body()), expect);
    }

    #[test]
    fn body_begins_after_the_closing_line() {
        check_body("no\n", "no\n");
        check_body("---\na: 1\n---\n\nbody", "\nbody");
        check_body("---\r\n---\r\nbody\r\n", "body\r\n");
        check_body("---\n---", "");
        check_body("---\nopen", "");
        check_body("\u{feff}---\n---\n", "\u{feff}---\n---\n");
    }

    #[track_caller]
    fn check_section(text: &str, expect: Option<&str>) {
        let markdown = parse(text);
        let body = markdown
            .section("The Title")
            .map(|section| markdown.source().slice(section.body).to_owned());
        assert_eq!(body.as_deref(), expect, "{text:?}");
    }

    #[test]
    fn sections_run_between_level_two_headings() {
        check_section("## The Title\nx\n## Next\ny", Some("\nx\n"));
        check_section("##  The Title \t\nx", Some(" \t\nx"));
        check_section("a\r\n## The Title\r\nx\r\n##\ty", Some("\r\nx\r\n"));
        check_section("## The Title", Some(""));
        check_section("##\n\nThe Title\nx", Some("\nx"));
        check_section(
            "## The Title\n# a\n### b\n##c\n ## d\n##",
            Some("\n# a\n### b\n##c\n ## d\n##"),
        );
        check_section("## The Title\nx\n##\n", Some("\nx\n"));
        check_section("## Other\n## The Title\n1\n## The Title\n2", Some("\n1\n"));
        check_section("x\u{2028}## The Title\u{2029}y", Some("\u{2029}y"));
        check_section("## The Title\u{a0}\u{feff}\nx", Some("\u{a0}\u{feff}\nx"));
        for missing in [
            "# The Title",
            "### The Title",
            " ## The Title",
            "##The Title",
            "## The Title.",
            "## the title",
            "## The  Title",
            "## The Title ##",
            "x\u{b}## The Title",
            "\u{feff}## The Title",
        ] {
            check_section(missing, None);
        }
    }

    #[track_caller]
    fn check_fences(body: &str, expect: &[&str]) {
        let markdown = parse(&format!("## The Title{body}"));
        let section = markdown.section("The Title").expect("the text begins with it");
        let source = markdown.source();
        let fences = markdown.json_fences(&section);
        let inner: Vec<_> = fences.iter().map(|fence| source.slice(fence.inner)).collect();
        assert_eq!(inner, expect, "{body:?}");
        for fence in fences {
            assert!(source.slice(fence.span).starts_with("```json") && source.slice(fence.span).ends_with("```"));
        }
    }

    #[test]
    fn fences_follow_the_expression_and_not_the_lines() {
        check_fences("\n```json\n{}\n```\n", &["{}"]);
        check_fences("\r\n```json\r\n{\r\n}\r\n```\r\n", &["{\r\n}"]);
        check_fences("\n```json {} ```", &["{}"]);
        check_fences("\n```json5\n{}\n```", &["5\n{}"]);
        check_fences("\n```jsonc\n{}\n```", &["c\n{}"]);
        check_fences("\n```json```", &[""]);
        check_fences("\n```json\n\n```", &[""]);
        check_fences("\n````json\n{}\n````", &["{}"]);
        check_fences("\n  ```json\n  {}\n  ```", &["{}"]);
        check_fences("\n> ```json\n> {}\n> ```", &["> {}\n>"]);
        check_fences("\n```json\n{\"a\": \"```\"}\n```", &["{\"a\": \""]);
        check_fences("\n```json\n1\n```\n```json\n2\n```", &["1", "2"]);
        check_fences("\n```json\n1\n\n```json\n2\n```", &["1"]);
        check_fences("\n```yaml\n```json\n1\n```", &["1"]);
        check_fences("\n```json\u{a0}\u{feff}1\u{3000}```", &["1"]);
        for none in [
            "",
            "\n```JSON\n{}\n```",
            "\n~~~json\n{}\n~~~",
            "\n```\n{}\n```",
            "\n``` json\n{}\n```",
            "\n```json\n{}",
            "\n```json\n## x\n```",
        ] {
            check_fences(none, &[]);
        }
    }
}
