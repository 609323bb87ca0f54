//! The end of a process's output, without reading the log.

use super::{LINE_BYTES, TAIL_BYTES};

#[derive(Debug, Default)]
pub(super) struct RecentOutput {
    /// Between one and two times [`TAIL_BYTES`], so that not every write has to move them.
    bytes: Vec<u8>,
}

impl RecentOutput {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let bytes = end_of(bytes, TAIL_BYTES);
        if self.bytes.len() + bytes.len() > 2 * TAIL_BYTES {
            let n_surplus = self.bytes.len().saturating_sub(TAIL_BYTES);
            self.bytes.drain(..n_surplus);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the last bytes, at most [`TAIL_BYTES`].
    pub(super) fn tail(&self) -> &[u8] {
        end_of(&self.bytes, TAIL_BYTES)
    }

    /// Returns the last line that is not blank, complete or not. A text before a carriage return is a line too.
    pub(super) fn last_line(&self) -> Option<String> {
        let bytes = self.tail().trim_ascii_end();
        let start = memchr::memrchr2(b'\n', b'\r', bytes).map_or(0, |at| at + 1);
        let line = bytes.get(start..)?.trim_ascii_start();
        let line = line.get(..LINE_BYTES).unwrap_or(line);
        let mut text = String::from_utf8_lossy(line).into_owned();
        // An invalid byte becomes three.
        text.truncate(text.floor_char_boundary(LINE_BYTES));
        (!text.is_empty()).then_some(text)
    }
}

fn end_of(bytes: &[u8], n_bytes: usize) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(n_bytes)..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &[u8], expected: Option<&str>) {
        let mut recent = RecentOutput::default();
        recent.push(output);
        assert_eq!(recent.last_line().as_deref(), expected);
    }

    #[test]
    fn the_last_line_is_not_blank_and_need_not_be_complete() {
        check(b"", None);
        check(b" \n\r\n", None);
        check(b"one\ntwo\n", Some("two"));
        check(b"one\ntwo\n\n  \n", Some("two"));
        check(b"one\ntw", Some("tw"));
        check(b" 10 %\r 20 %\r", Some("20 %"));
        check(b"a\xffb\n", Some("a\u{fffd}b"));
    }

    #[test]
    fn a_line_is_bounded_whatever_it_holds() {
        check("é".repeat(1000).as_bytes(), Some(&"é".repeat(LINE_BYTES / 2)));
        check(&[0xff; 1000], Some(&"\u{fffd}".repeat(LINE_BYTES / 3)));
    }

    #[test]
    fn the_tail_is_the_end_however_it_was_written() {
        let output: Vec<u8> = (0..100_000_u32).map(|number| (number % 251) as u8).collect();
        for size in [1, 7, 1000, TAIL_BYTES, 50_000, 100_000] {
            let mut recent = RecentOutput::default();
            output.chunks(size).for_each(|chunk| recent.push(chunk));
            assert_eq!(recent.tail(), end_of(&output, TAIL_BYTES), "{size}");
            assert!(recent.bytes.len() <= 2 * TAIL_BYTES);
        }
    }
}
