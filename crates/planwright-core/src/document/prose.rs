//! Finds data in prose: fenced blocks, objects in braces, and lines of YAML. Does not know the meaning of the data.

use super::yaml;
use crate::text::Span;

/// The limit of fences, and of runs of YAML lines.
const MAX_FENCES: usize = 200;
const MAX_YAML_BLOCKS: usize = 64;

#[derive(Debug)]
pub(crate) struct CodeFence<'t> {
    /// The language, as written.
    pub(crate) language: &'t str,
    pub(crate) body: Span,
    pub(crate) whole: Span,
    /// Without a closing line, the block ends with the text.
    pub(crate) is_closed: bool,
    indent: usize,
}

/// A line that opens or closes a block.
struct FenceLine<'t> {
    mark: char,
    n_marks: usize,
    indent: usize,
    info: &'t str,
}

impl<'t> FenceLine<'t> {
    fn of(line: &'t str) -> Option<Self> {
        let body = line.trim_start();
        let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = body.trim_start_matches(mark);
        let n_marks = body.len() - info.len();
        let is_fence = n_marks >= 3 && !(mark == '`' && info.contains('`'));
        is_fence.then(|| FenceLine {
            mark,
            n_marks,
            indent: line.len() - body.len(),
            info: info.trim(),
        })
    }

    /// Returns whether this line closes another one's block. By CommonMark, a line with deeper indentation belongs to the block.
    fn closes(&self, open: &FenceLine<'_>) -> bool {
        let is_same = self.mark == open.mark && self.n_marks >= open.n_marks;
        is_same && self.info.is_empty() && self.indent <= open.indent + 3
    }

    fn is_markdown(&self) -> bool {
        matches!(self.info.to_ascii_lowercase().as_str(), "markdown" | "md")
    }

    fn fence(&self, whole: Span, body: Span, is_closed: bool) -> CodeFence<'t> {
        let is_end = |c: char| c.is_whitespace() || matches!(c, '{' | ',');
        CodeFence {
            language: self.info.split(is_end).next().unwrap_or(""),
            body,
            whole,
            is_closed,
            indent: self.indent,
        }
    }
}

/// Returns the fenced blocks of a text. A block of Markdown may hold others with as many marks, as models write them, if all are closed.
pub(crate) fn fences(text: &str) -> Vec<CodeFence<'_>> {
    let nested = fences_by(text, true);
    match nested.last() {
        Some(last) if !last.is_closed => fences_by(text, false),
        _ => nested,
    }
}

fn fences_by(text: &str, may_nest: bool) -> Vec<CodeFence<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(FenceLine<'_>, usize, usize)> = None;
    let mut n_inner = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let Some(fence) = FenceLine::of(line) else {
            continue;
        };
        match &open {
            None => open = Some((fence, start, end)),
            Some((own, ..)) if may_nest && own.is_markdown() && fence.mark == own.mark && !fence.info.is_empty() => {
                n_inner += 1;
            }
            Some(_) if n_inner > 0 && fence.info.is_empty() => n_inner -= 1,
            Some((own, from, body)) if fence.closes(own) => {
                found.push(own.fence(Span::new(*from, end), Span::new(*body, start), true));
                open = None;
            }
            Some(_) => {}
        }
        if found.len() >= MAX_FENCES {
            return found;
        }
    }
    if let Some((own, from, body)) = open {
        found.push(own.fence(Span::new(from, text.len()), Span::new(body, text.len()), false));
    }
    found
}

impl CodeFence<'_> {
    /// Returns the lines of the block, without the indentation of its opening fence.
    pub(crate) fn lines_of(&self, text: &str) -> String {
        let lines = text.get(self.body.range()).unwrap_or("").split_inclusive('\n');
        let dedented = lines.map(|line| {
            let n_spaces = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            line.get(n_spaces.min(self.indent)..).unwrap_or(line)
        });
        dedented.collect()
    }
}

/// Returns the text before and after a part, with a blank line between.
pub(crate) fn around(text: &str, part: Span) -> String {
    let before = text.get(..part.start as usize).unwrap_or("").trim();
    let after = text.get(part.end as usize..).unwrap_or("").trim();
    format!("{before}\n\n{after}").trim().to_owned()
}

/// Distinguishes brackets from the characters of strings, byte by byte.
#[derive(Debug, Default)]
pub(crate) struct BracketScan {
    in_string: bool,
    is_escaped: bool,
}

impl BracketScan {
    /// Returns a byte if it is a bracket or a brace outside of strings.
    pub(crate) fn bracket(&mut self, byte: u8) -> Option<u8> {
        if std::mem::take(&mut self.is_escaped) {
            return None;
        }
        match byte {
            b'\\' if self.in_string => self.is_escaped = true,
            b'"' => self.in_string = !self.in_string,
            b'{' | b'[' | b'}' | b']' if !self.in_string => return Some(byte),
            _ => {}
        }
        None
    }
}

/// Text in braces. Not all of it is JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BracedText<'t> {
    pub(crate) text: &'t str,
    /// Without its closing brace, it ends with the text around it.
    pub(crate) is_closed: bool,
}

/// Returns the outermost objects in braces, in order. After an unclosed one, the search continues inside it.
pub(crate) fn objects(text: &str) -> impl Iterator<Item = BracedText<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        // Quotes outside of braces are those of a sentence.
        let start = from + memchr::memchr(b'{', text.as_bytes().get(from..)?)?;
        let rest = text.get(start..)?;
        let end = object_end(rest);
        from = start + end.unwrap_or(1);
        Some(BracedText {
            text: rest.get(..end.unwrap_or(rest.len()))?,
            is_closed: end.is_some(),
        })
    })
}

/// Returns the end of the object at the start of a text.
fn object_end(text: &str) -> Option<usize> {
    let (mut scan, mut depth) = (BracketScan::default(), 0_usize);
    for (at, byte) in text.bytes().enumerate() {
        match scan.bracket(byte) {
            Some(b'{') => depth += 1,
            Some(b'}') if depth <= 1 => return Some(at + 1),
            Some(b'}') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Visits a text, and skips parts that are read elsewhere.
pub(crate) struct TakenParts<'p> {
    parts: &'p [Span],
}

impl<'p> TakenParts<'p> {
    /// Takes the parts in ascending order.
    pub(crate) fn new(parts: &'p [Span]) -> Self {
        TakenParts { parts }
    }

    /// Returns the first part that ends after an offset. Offsets must ascend.
    pub(crate) fn next_after(&mut self, at: usize) -> Option<Span> {
        while let Some((_, rest)) = self.parts.split_first().filter(|(first, _)| first.end as usize <= at) {
            self.parts = rest;
        }
        self.parts.first().copied()
    }

    /// Returns whether a line overlaps a part.
    pub(crate) fn overlaps(&mut self, at: usize, line: &str) -> bool {
        self.next_after(at)
            .is_some_and(|part| (part.start as usize) < at + line.len())
    }
}

/// Returns the runs of at least two lines that look like YAML with keys, without those in `taken`.
pub(crate) fn yaml_blocks(text: &str, part: Span, taken: &[Span]) -> Vec<Span> {
    let mut found = Vec::new();
    let mut start: Option<usize> = None;
    let mut at = part.start as usize;
    let mut taken = TakenParts::new(taken);
    let (mut last_end, mut n_lines) = (at, 0);
    let lines = text.get(part.range()).unwrap_or("").split_inclusive('\n');
    for line in lines.chain([""]) {
        let is_taken = taken.overlaps(at, line);
        let bare = line.trim_end();
        let is_key = begins_member(bare.strip_prefix("- ").unwrap_or(bare));
        let goes_on = is_key || line.starts_with([' ', '\t', '-', '#']) || bare.is_empty() && !line.is_empty();
        if start.is_none() || !goes_on || is_taken {
            found.extend(start.filter(|_| n_lines > 1).map(|from| Span::new(from, last_end)));
            start = (is_key && !is_taken).then_some(at);
            n_lines = 0;
        }
        at += line.len();
        if !bare.is_empty() {
            last_end = at;
            n_lines += 1;
        }
    }
    found.truncate(MAX_YAML_BLOCKS);
    found
}

/// Returns whether a line begins with a key of one word, as data does and sentences rarely do.
fn begins_member(line: &str) -> bool {
    const MAX_KEY: usize = 40;
    let is_short = line.find(':').is_some_and(|n_bytes| n_bytes <= MAX_KEY);
    yaml::is_member_line(line) && is_short && !line.contains("**")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_end_with_a_line_of_their_own_marks() {
        for (text, expected) in [
            ("a\n```json\n{}\n```\nb", &[("json", "{}\n", true)][..]),
            ("~~~ {.yaml}\na\n```\n~~~~\n", &[("", "a\n```\n", true)]),
            ("```\n    ```\nx\n```", &[("", "    ```\nx\n", true)]),
            ("  ```py, x\n  a\n    b\n  ```", &[("py", "a\n  b\n", true)]),
            ("```a`\n```\nx", &[("", "x", false)]),
        ] {
            let found = fences(text);
            let found: Vec<_> = found
                .iter()
                .map(|fence| (fence.language, fence.lines_of(text), fence.is_closed))
                .collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|&(language, lines, is_closed)| (language, lines.to_owned(), is_closed))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn objects_end_with_their_own_brace() {
        for (text, expected) in [
            (
                r#"so: {"a": "}"} and {b}"#,
                &[(r#"{"a": "}"}"#, true), ("{b}", true)][..],
            ),
            (r#"it's {"a": "\"}"}"#, &[(r#"{"a": "\"}"}"#, true)]),
            ("{a {b} c", &[("{a {b} c", false), ("{b}", true)]),
            ("none", &[]),
        ] {
            let found: Vec<_> = objects(text).map(|object| (object.text, object.is_closed)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn lines_of_yaml_have_keys() {
        let text = "Note: this\n\ntask: x\nsteps:\n  - a\n\nGood luck!\na: 1\n- b: 2\n";
        let blocks = |taken: &[Span]| -> Vec<&str> {
            let blocks = yaml_blocks(text, Span::new(0, text.len()), taken).into_iter();
            blocks.filter_map(|span| text.get(span.range())).collect()
        };
        let [first, last] = ["task: x\nsteps:\n  - a\n", "a: 1\n- b: 2\n"];
        let whole = "Note: this\n\ntask: x\nsteps:\n  - a\n";
        assert_eq!(blocks(&[]), [whole, last]);
        assert_eq!(blocks(&[Span::new(0, 10)]), [first, last]);
    }
}
