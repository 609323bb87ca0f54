//! Prevents CI runners from reading text for people as commands, such as `::` in GitHub Actions and `##vso[` in Azure Pipelines.
//!
//! It checks whole lines when they are written, so that no renderer needs to know about it. It also sees text that was wrapped or joined.

use std::borrow::Cow;
use std::io::{self, Write};

/// Tracks the lines of a stream, and inserts a backslash into text that would be a command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineGuard {
    start: LineStart,
    prefix: Prefix,
}

/// The start of a line, as far as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineStart {
    /// Empty, or only characters that a runner may skip.
    #[default]
    Blank,
    /// In a colour: the escape character, or the sequence after it.
    Escape,
    Colour,
    Colon,
    /// Text that begins no command.
    Ink,
}

/// How much of `##[` or `##vso[` was written last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Prefix {
    #[default]
    None,
    Hash,
    Hashes,
    V,
    Vs,
    Vso,
}

impl LineGuard {
    /// Returns bytes that are safe to write next.
    pub(crate) fn guarded<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let mut out = Vec::new();
        let mut n_taken = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            // Three colons begin no command, and mark locations in findings.
            let is_third_next = byte == b':' && bytes.get(at + 1) == Some(&b':');
            if self.completes_command(byte) && !is_third_next {
                out.extend_from_slice(bytes.get(n_taken..at).unwrap_or_default());
                out.push(b'\\');
                n_taken = at;
            }
        }
        if out.is_empty() {
            return Cow::Borrowed(bytes);
        }
        out.extend_from_slice(bytes.get(n_taken..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Records bytes that are written unchanged.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.completes_command(byte);
        }
    }

    /// Takes the next byte; returns whether it would complete a command.
    fn completes_command(&mut self, byte: u8) -> bool {
        let is_second_colon = self.start == LineStart::Colon && byte == b':';
        let is_bracket = byte == b'[' && matches!(self.prefix, Prefix::Hashes | Prefix::Vso);
        self.start = match (self.start, byte) {
            (_, b'\n' | b'\r') => LineStart::Blank,
            (LineStart::Blank, b':') => LineStart::Colon,
            (LineStart::Blank, 0x1b) => LineStart::Escape,
            // Many characters beyond ASCII are spaces.
            (LineStart::Blank, b' ' | b'\t' | 0x0b | 0x0c | 0x80..) => LineStart::Blank,
            (LineStart::Escape, b'[') => LineStart::Colour,
            (LineStart::Colour, 0x40..=0x7e) => LineStart::Blank,
            (LineStart::Colour, _) => LineStart::Colour,
            _ => LineStart::Ink,
        };
        self.prefix = match (self.prefix, byte) {
            (Prefix::Hash | Prefix::Hashes, b'#') => Prefix::Hashes,
            (_, b'#') => Prefix::Hash,
            (Prefix::Hashes, b'v') => Prefix::V,
            (Prefix::V, b's') => Prefix::Vs,
            (Prefix::Vs, b'o') => Prefix::Vso,
            _ => Prefix::None,
        };
        is_second_colon || is_bracket
    }
}

/// A stream for people whose lines are never commands.
#[derive(Debug)]
pub(crate) struct GuardedWriter<W> {
    inner: W,
    guard: LineGuard,
}

impl<W> GuardedWriter<W> {
    pub(crate) fn new(inner: W) -> Self {
        GuardedWriter {
            inner,
            guard: LineGuard::default(),
        }
    }
}

impl<W: Write> Write for GuardedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let guarded = self.guard.guarded(bytes);
        self.inner.write_all(&guarded)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        for cut in 0..=text.len() {
            let mut guard = LineGuard::default();
            let mut out = guard.guarded(&text.as_bytes()[..cut]).into_owned();
            out.extend(guard.guarded(&text.as_bytes()[cut..]).into_owned());
            assert_eq!(String::from_utf8_lossy(&out), expected, "cut at {cut}");
        }
        let mut written = Vec::new();
        let mut writer = GuardedWriter::new(&mut written);
        text.bytes()
            .try_for_each(|byte| writer.write_all(&[byte]))
            .expect("memory");
        assert_eq!(String::from_utf8_lossy(&written), expected);
    }

    #[test]
    fn lines_that_would_be_commands_are_none() {
        check("::error::x", ":\\:error::x");
        check("a\n \t::set-output name=a::b\n", "a\n \t:\\:set-output name=a::b\n");
        check("a\r::debug::x", "a\r:\\:debug::x");
        check("\u{a0}\u{3000}::error::x", "\u{a0}\u{3000}:\\:error::x");
        check("\u{1b}[1m::error::x\u{1b}[0m", "\u{1b}[1m:\\:error::x\u{1b}[0m");
        check("##[error]x", "##\\[error]x");
        check("a ###[group] ##vso[x]", "a ###\\[group] ##vso\\[x]");
    }

    #[test]
    fn three_colons_are_no_command() {
        for text in ["  ::: plan.json:6:4\n", ":::error::x", "::::"] {
            assert_eq!(LineGuard::default().guarded(text.as_bytes()), text.as_bytes());
        }
    }

    #[test]
    fn other_lines_stay() {
        for text in [
            "std::fs::read",
            "  std::fs",
            "error: a::b",
            ": :",
            "# [x] ## [y] #[z]",
            "## Title\n\n- a",
            "é std::x",
            "",
        ] {
            check(text, text);
        }
    }
}
