//! The lines of a Markdown checklist: task lines with their details, headings, the marker line. Does not know plans.

use memchr::{memchr, memmem};

use crate::document::markdown::fence_mark;
use crate::text::{SourceText, Span};

/// Deeper nesting counts as this deep.
pub(super) const MAX_DEPTH: usize = 32;

/// Lines with this indentation are code where no list is open.
const CODE_INDENT: usize = 4;

/// The marks of boxes whose meaning is known. Other characters may be labels, as in `- [P] can run in parallel`.
const KNOWN_MARKS: [char; 8] = [' ', 'x', 'X', '-', '~', '/', '>', '!'];

/// The beginning of the line that says how planwright reads the file.
const MARKER: &str = "<!-- planwright";

/// A task line and the lines below it that belong to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoxItem {
    /// The line from its first character to its last, without indentation.
    pub(super) line: Span,
    /// The column of its bullet.
    pub(super) indent: usize,
    /// The character between the brackets.
    pub(super) mark: Span,
    /// The star of an optional task, right after the brackets.
    pub(super) star: Option<Span>,
    /// The text after the box, without white space around it.
    pub(super) text: Span,
    /// Its details: whole lines, without blank lines at the end and without the last line break. Empty at the end of the line if it has none.
    pub(super) details: Span,
    /// The index of the nearest heading above it.
    pub(super) heading: Option<usize>,
    /// The number of headings and checkpoints above it: tasks with the same number stand together.
    pub(super) section: u32,
    /// Whether other text stands between it and the task before it.
    is_apart: bool,
}

/// A heading.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadingLine {
    /// Its level, from 1.
    pub(super) level: usize,
    /// Its text.
    pub(super) title: Span,
    /// The nearest heading above it with a lower level.
    pub(super) parent: Option<usize>,
}

/// The lines of a text that matter for a plan.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) items: Vec<BoxItem>,
    pub(super) headings: Vec<HeadingLine>,
    /// The words of the marker line.
    pub(super) marker: Option<Span>,
    /// The text between the title and the first heading or task, without blank lines around it.
    pub(super) introduction: Option<Span>,
    /// Boxes that are not read, and why.
    pub(super) odd_boxes: Vec<(Span, OddBox)>,
}

/// Why a box is no task, or is read as not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OddBox {
    /// There is no text after it.
    NoText,
    /// The brackets hold nothing or more than one character.
    Brackets,
    /// No space stands after the brackets.
    NoSpace,
    /// It stands in indented code.
    Code,
    /// No box at all: the beginning of a code fence or a comment that is never closed.
    Unclosed,
}

impl Lines {
    /// Reads the lines of a text.
    pub(super) fn read(source: &SourceText) -> Self {
        Lines::read_until(source, |_| false)
    }

    /// Reads a text as far as needed to know whether it has a task and what its marker line says.
    pub(super) fn glance(source: &SourceText) -> Self {
        let may_be_marked = memmem::find(source.as_str().as_bytes(), MARKER.as_bytes()).is_some();
        Lines::read_until(source, |lines| {
            !lines.items.is_empty() && (lines.marker.is_some() || !may_be_marked)
        })
    }

    fn read_until(source: &SourceText, is_enough: impl Fn(&Lines) -> bool) -> Self {
        let text = source.as_str();
        let mut scanner = Scanner {
            text,
            lines: Lines::default(),
            fence: None,
            html_end: None,
            is_in_list: false,
            is_after_blank: true,
            block_start: Span::at(0),
            block_indent: None,
            is_apart: true,
            open: false,
            section: 0,
            introduction: None,
        };
        let mut at = source.bom_len();
        if text[at..].starts_with("---") {
            at = end_of_frontmatter(text, at).unwrap_or(at);
        }
        while at < text.len() && !is_enough(&scanner.lines) {
            let end = memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |n_bytes| at + n_bytes);
            scanner.line(at, end);
            at = end + 1;
        }
        scanner.finish()
    }

    /// Returns the title of the text: its first heading of the first level.
    pub(super) fn title(&self) -> Option<Span> {
        let title = self.headings.iter().find(|heading| heading.level == 1)?;
        Some(title.title)
    }
}

/// Returns the offset after the frontmatter; none if it is not closed.
fn end_of_frontmatter(text: &str, start: usize) -> Option<usize> {
    let mut lines = text[start..].split_inclusive('\n');
    let mut at = start + lines.next().filter(|line| line.trim_end() == "---")?.len();
    for line in lines {
        at += line.len();
        if line.trim_end() == "---" {
            return Some(at);
        }
    }
    None
}

struct Scanner<'t> {
    text: &'t str,
    lines: Lines,
    /// The character and the number of marks of the open code fence.
    fence: Option<(u8, usize)>,
    /// What ends the open comment or block of HTML, in lower case.
    html_end: Option<&'static str>,
    /// Whether a list is open, in which deep indentation is no code.
    is_in_list: bool,
    is_after_blank: bool,
    /// Where the open fence or comment begins, and the column of the task line that holds the fence.
    block_start: Span,
    block_indent: Option<usize>,
    /// Whether other text stands after the last task.
    is_apart: bool,
    /// Whether the details of the last task may continue.
    open: bool,
    section: u32,
    /// The introduction so far.
    introduction: Option<Span>,
}

impl Scanner<'_> {
    /// Reads one line; `end` is the offset of its line break.
    fn line(&mut self, start: usize, end: usize) {
        let bytes = &self.text.as_bytes()[start..end];
        let n_indent = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let content = self.text[start + n_indent..end].trim_end();
        let span = Span::new(start + n_indent, start + n_indent + content.len());
        if content.is_empty() {
            self.is_after_blank = true;
            return;
        }
        let is_after_blank = std::mem::take(&mut self.is_after_blank);
        let column = column_of(&bytes[..n_indent]);
        // A fence in the details of a task ends with them.
        if self.fence.is_some()
            && self.block_indent.is_some_and(|indent| column <= indent)
            && fence_mark(content).is_none()
        {
            self.fence = None;
        }
        if self.fence.is_some() || self.html_end.is_some() {
            self.in_block(content, span);
            return;
        }
        let is_bullet = bullet_len(content).is_some();
        if is_after_blank && column < 2 && !is_bullet {
            self.is_in_list = false;
        }
        if is_bullet && column >= CODE_INDENT && !self.is_in_list {
            self.indented_code(content, span);
            return;
        }
        self.is_in_list |= is_bullet;
        match content.as_bytes()[0] {
            b'`' | b'~' => {
                let is_inline = |mark: &&str| mark.starts_with('`') && content[mark.len()..].contains('`');
                if let Some(mark) = fence_mark(content).filter(|mark| !is_inline(mark)) {
                    let item = self.lines.items.last().filter(|item| self.open && column > item.indent);
                    self.block_indent = item.map(|item| item.indent);
                    self.block_start = span;
                    self.fence = Some((mark.as_bytes()[0], mark.len()));
                }
            }
            b'<' if content.starts_with("<!--") => {
                self.comment(content, span);
                if content.starts_with(MARKER) {
                    return;
                }
            }
            b'<' => self.raw_html(content, span),
            b'#' if self.heading(content, span) => return,
            b'-' | b'*' | b'+' | b'0'..=b'9' => {
                if self.item(content, span, column) {
                    return;
                }
                if is_checkpoint(content) {
                    self.section += 1;
                }
            }
            _ => {}
        }
        self.other(span, column);
    }

    /// Reads a line inside a code fence or a comment.
    fn in_block(&mut self, content: &str, span: Span) {
        if let Some((mark, n_marks)) = self.fence {
            let closes = fence_mark(content).is_some_and(|found| {
                found.as_bytes()[0] == mark && found.len() >= n_marks && content.len() == found.len()
            });
            if closes {
                self.fence = None;
            }
        } else if self.html_end.is_some_and(|end| ends_html(content, end)) {
            self.html_end = None;
        }
        self.other(span, usize::MAX);
    }

    fn comment(&mut self, content: &str, span: Span) {
        let end = memmem::find(content.as_bytes(), b"-->");
        self.html_end = end.is_none().then_some("-->");
        self.block_start = span;
        if let (Some(end), None) = (end, self.lines.marker)
            && let Some(words) = content[..end].strip_prefix(MARKER)
            && (words.is_empty() || words.starts_with([':', ' ']))
        {
            let inner = words.trim_start_matches(':').trim();
            let at = span.start as usize + MARKER.len() + words.find(inner).unwrap_or(0);
            self.lines.marker = Some(Span::new(at, at + inner.len()));
        }
    }

    /// Reads the first line of a block in which nothing is Markdown.
    fn raw_html(&mut self, content: &str, span: Span) {
        const BLOCKS: [(&str, &str); 4] = [
            ("<pre", "</pre>"),
            ("<script", "</script>"),
            ("<style", "</style>"),
            ("<textarea", "</textarea>"),
        ];
        let begins = |tag: &str| {
            let (head, rest) = (content.get(..tag.len()), content.get(tag.len()..));
            head.is_some_and(|head| head.eq_ignore_ascii_case(tag))
                && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '>']))
        };
        let block = BLOCKS.iter().find(|(tag, _)| begins(tag));
        self.html_end = block.map(|(_, end)| *end).filter(|end| !ends_html(content, end));
        self.block_start = span;
    }

    /// Reads a line of indented code.
    fn indented_code(&mut self, content: &str, span: Span) {
        let n_items = self.lines.items.len();
        if self.item(content, span, CODE_INDENT) {
            self.lines
                .odd_boxes
                .push((self.lines.items[n_items].mark, OddBox::Code));
            self.lines.items.truncate(n_items);
        }
        self.other(span, 0);
    }

    /// Reads a heading; false for other lines.
    fn heading(&mut self, content: &str, span: Span) -> bool {
        let level = content.bytes().take_while(|byte| *byte == b'#').count();
        let rest = &content[level..];
        if level > 6 || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
            return false;
        }
        let title = rest.trim().trim_end_matches('#').trim_end();
        let at = span.start as usize + level + (rest.len() - rest.trim_start().len());
        let mut parent = self.lines.headings.len().checked_sub(1);
        while let Some(above) = parent.filter(|above| self.lines.headings[*above].level >= level) {
            parent = self.lines.headings[above].parent;
        }
        let title = Span::new(at, at + title.len());
        self.lines.headings.push(HeadingLine { level, title, parent });
        self.section += 1;
        self.open = false;
        self.is_apart = true;
        true
    }

    /// Reads a task line; false for other lines.
    fn item(&mut self, content: &str, span: Span, indent: usize) -> bool {
        let Some(after_bullet) = bullet_len(content) else {
            return false;
        };
        let rest = &content[after_bullet..];
        let Some(inner) = rest.strip_prefix('[') else {
            return false;
        };
        let Some(close) = inner.char_indices().take(8).find(|(_, c)| *c == ']').map(|(at, _)| at) else {
            return false;
        };
        let (within, mut after) = (&inner[..close], &inner[close + 1..]);
        let mark_at = span.start as usize + after_bullet + 1;
        let mut star = None;
        if let Some(rest) = after
            .strip_prefix('*')
            .filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        {
            star = Some(Span::new(mark_at + close + 1, mark_at + close + 2));
            after = rest;
        }
        if !(after.is_empty() || after.starts_with([' ', '\t'])) {
            if matches!(within, " " | "x" | "X") && after.starts_with(char::is_alphanumeric) {
                self.lines
                    .odd_boxes
                    .push((Span::new(mark_at - 1, mark_at + close + 1), OddBox::NoSpace));
            }
            return false;
        }
        let mut chars = within.chars();
        let (Some(mark), None) = (chars.next(), chars.next()) else {
            let is_box = within.trim().is_empty() || matches!(within.trim(), "x" | "X");
            if is_box {
                self.lines
                    .odd_boxes
                    .push((Span::new(mark_at - 1, mark_at + close + 1), OddBox::Brackets));
            }
            return false;
        };
        if mark.is_control() {
            return false;
        }
        let text = after.trim();
        if text.is_empty() {
            if KNOWN_MARKS.contains(&mark) {
                self.lines
                    .odd_boxes
                    .push((Span::new(mark_at - 1, mark_at + close + 1), OddBox::NoText));
            }
            return false;
        }
        let end = span.end as usize;
        self.lines.items.push(BoxItem {
            line: span,
            indent,
            mark: Span::new(mark_at, mark_at + mark.len_utf8()),
            star,
            text: Span::new(end - after.trim_start().len(), end),
            details: Span::at(end),
            heading: self.lines.headings.len().checked_sub(1),
            section: self.section,
            is_apart: self.is_apart,
        });
        self.open = true;
        self.is_apart = false;
        true
    }

    /// Reads a line that is neither a heading nor a task.
    fn other(&mut self, span: Span, indent: usize) {
        match self
            .lines
            .items
            .last_mut()
            .filter(|item| self.open && indent > item.indent)
        {
            Some(item) => {
                let is_first = item.details.is_empty();
                let start = if is_first {
                    line_start(self.text, span.start as usize)
                } else {
                    item.details.start as usize
                };
                item.details = Span::new(start, span.end as usize);
            }
            None => {
                self.open = false;
                self.is_apart = true;
                if self.lines.items.is_empty() && self.lines.headings.len() < 2 {
                    self.introduction = Some(self.introduction.map_or(span, |first| first.to(span)));
                }
            }
        }
    }

    fn finish(mut self) -> Lines {
        if self.fence.is_some() || self.html_end.is_some() {
            self.lines.odd_boxes.push((self.block_start, OddBox::Unclosed));
        }
        let is_known = |item: &BoxItem| {
            let mark = self.text[item.mark.range()].chars().next();
            mark.is_some_and(|mark| KNOWN_MARKS.contains(&mark) || mark == '?')
        };
        let items = &self.lines.items;
        if !items.iter().all(is_known) {
            let is_neighbour = |item: &BoxItem, other: Option<&BoxItem>, is_apart: bool| {
                !is_apart && other.is_some_and(|other| other.indent == item.indent && is_known(other))
            };
            let is_box = |(ix, item): (usize, &BoxItem)| {
                let before = ix.checked_sub(1).and_then(|ix| items.get(ix));
                let next = items.get(ix + 1);
                let is_label = &self.text[item.mark.range()] == "P";
                is_known(item)
                    || (!is_label && is_neighbour(item, before, item.is_apart))
                    || (!is_label && is_neighbour(item, next, next.is_none_or(|next| next.is_apart)))
            };
            self.lines.items = items
                .iter()
                .enumerate()
                .filter(|found| is_box(*found))
                .map(|(_, item)| *item)
                .collect();
        }
        self.lines.introduction = self.introduction;
        self.lines
    }
}

/// Returns the start of the line of an offset.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |newline| newline + 1)
}

/// Returns the column after some white space; a tab ends at the next multiple of four.
fn column_of(white_space: &[u8]) -> usize {
    white_space.iter().fold(0, |column, byte| match byte {
        b'\t' => (column / 4 + 1) * 4,
        _ => column + 1,
    })
}

/// Returns the length of a bullet with the white space after it.
pub(super) fn bullet_len(content: &str) -> Option<usize> {
    let bytes = content.as_bytes();
    let n_bullet = match bytes.first()? {
        b'-' | b'*' | b'+' => 1,
        b'0'..=b'9' => {
            let n_digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let is_bullet = n_digits < 10 && matches!(bytes.get(n_digits), Some(b'.' | b')'));
            is_bullet.then_some(n_digits + 1)?
        }
        _ => return None,
    };
    let n_space = bytes[n_bullet..]
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    // Some tools write no space here, and count the task.
    let is_tight = n_space == 0 && bytes.get(n_bullet) == Some(&b'[') && n_bullet == 1;
    (n_space > 0 || is_tight).then_some(n_bullet + n_space)
}

/// Returns whether a line ends a comment or a block of HTML; `end` is in lower case.
fn ends_html(content: &str, end: &str) -> bool {
    let mut windows = content.as_bytes().windows(end.len());
    windows.any(|window| window.eq_ignore_ascii_case(end.as_bytes()))
}

/// Returns whether a line asks people to stop here: the tasks below wait for those above.
fn is_checkpoint(content: &str) -> bool {
    let words = content.trim_start_matches(['*', '_']);
    content.starts_with("**")
        && words
            .get(.."checkpoint".len())
            .is_some_and(|word| word.eq_ignore_ascii_case("checkpoint"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which lines are tasks: their marks and texts.
    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let source = SourceText::new(text);
        let lines = Lines::read(&source);
        let found = lines.items.iter().map(|item| {
            let star = if item.star.is_some() { "*" } else { "" };
            format!("{}{star}{}", source.slice(item.mark), source.slice(item.text))
        });
        assert_eq!(found.collect::<Vec<_>>(), expect, "{text}");
    }

    #[test]
    fn boxes_with_text_are_tasks() {
        check(
            "- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d\n12) [-] e\n",
            &[" a", "xb", "Xc", " d", "-e"],
        );
        check("- [ ]* a\n- [x]*\n-[ ] b\n\t- [ ]\tc\r\n", &[" *a", " b", " c"]);
    }

    #[test]
    fn what_only_looks_like_a_box_is_text() {
        check(
            "- [ ](a) b\n- [x]: c\n- [x](url)\n- [] d\n- [ x ] e\n- [ ]\n> - [ ] f\n",
            &[],
        );
        check("```\n- [ ] a\n```\n~~~md\n- [ ] b\n```\n~~~\n- [ ] c\n", &[" c"]);
        check("<!-- - [ ] a -->\n<!--\n- [ ] b\n-->\n- [ ] c\n", &[" c"]);
        check("---\ntitle: - [ ] a\n---\n- [ ] b\n", &[" b"]);
    }

    #[test]
    fn one_character_labels_are_no_tasks_unless_a_box_is_next_to_them() {
        check("- [ ] a\n\nLegend:\n- [P] can run in parallel\n- [M] memory\n", &[" a"]);
        check("- [ ] a\n- [o] b\n- [P] c\n", &[" a", "ob"]);
        check("- [o] a\n- [x] b\n", &["oa", "xb"]);
    }

    #[test]
    fn details_are_deeper_lines() {
        let source =
            SourceText::new("- [ ] a\n  - one\n\n  two\n\n- [ ] b\ntext\n  - [ ] c\n    ```\n    x\n    ```\n");
        let lines = Lines::read(&source);
        let details: Vec<&str> = lines.items.iter().map(|item| source.slice(item.details)).collect();
        assert_eq!(details, ["  - one\n\n  two", "", "    ```\n    x\n    ```"]);
    }

    #[test]
    fn headings_and_checkpoints_begin_sections() {
        let source = SourceText::new(
            "# T\nintro\n\nmore\n## A\n- [ ] a\n**Checkpoint**: stop\n- [ ] b\n### B\n- [ ] c\n## C #\n- [ ] d\n",
        );
        let lines = Lines::read(&source);
        let sections: Vec<u32> = lines.items.iter().map(|item| item.section).collect();
        assert_eq!(sections, [2, 3, 4, 5]);
        assert_eq!(lines.title().map(|title| source.slice(title)), Some("T"));
        assert_eq!(lines.introduction.map(|span| source.slice(span)), Some("intro\n\nmore"));
        let parents: Vec<Option<usize>> = lines.headings.iter().map(|heading| heading.parent).collect();
        assert_eq!(parents, [None, Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn boxes_in_code_and_raw_html_are_no_tasks() {
        let texts = |text: &str| {
            let source = SourceText::new(text);
            let lines = Lines::read(&source);
            let texts: Vec<String> = lines
                .items
                .iter()
                .map(|item| source.slice(item.text).to_owned())
                .collect();
            (
                texts.join(" "),
                lines.odd_boxes.iter().map(|(_, odd)| *odd).collect::<Vec<_>>(),
            )
        };
        let check = |text: &str, expect: &str, odd: &[OddBox]| {
            assert_eq!(texts(text), (expect.to_owned(), odd.to_vec()), "{text}");
        };
        check("<pre>\n- [ ] a\n</PRE>\n- [ ] b\n", "b", &[]);
        check("<pre>x</pre>\n- [ ] b\n", "b", &[]);
        check("<prefix>\n- [ ] b\n", "b", &[]);
        check("- [ ] b\n<script src='x'>\n- [ ] a\n", "b", &[OddBox::Unclosed]);
        check("As in\n\n    - [ ] a\n\n- [ ] b\n", "b", &[OddBox::Code]);
        check("- [ ] a\n\nAs in\n\n\t- [x] b\n- [ ] c\n", "a c", &[OddBox::Code]);
        check("- Group\n    - [ ] a\n\n    - [ ] b\n", "a b", &[]);
        check("1. Group\n\n   Text\n\n    - [ ] a\n", "a", &[]);
    }

    #[test]
    fn the_marker_line_has_words() {
        let words = |text: &str| {
            let source = SourceText::new(text);
            Lines::read(&source).marker.map(|span| source.slice(span).to_owned())
        };
        assert_eq!(
            words("<!-- planwright: explicit dependencies -->\n").as_deref(),
            Some("explicit dependencies")
        );
        assert_eq!(words("# a\n<!-- planwright -->\n").as_deref(), Some(""));
        assert_eq!(words("<!-- planwrights -->\n"), None);
    }
}
