//! The format of a journal: a first line with the format, then one line per record with a checksum and JSON.
//!
//! ```text
//! planwright-journal 1 5f0c2a11 {"path":"tasks.json","id":null}
//! 9d2e77b0 {"seq":1,"time":"2026-11-05T09:30:00.125Z","kind":"landed","body":{"change":0}}
//! ```
//!
//! JSON has no line breaks inside, so a line is a record and people can read, search and count them. Knows no kind of record.

use std::ops::Range;

use memchr::{memchr, memmem};
use serde::{Deserialize, Serialize};

use crate::digest::line_check;

/// The version that this planwright writes, and the newest it adds to.
pub const VERSION: u32 = 1;

const MAGIC: &str = "planwright-journal ";

/// The number of digits of a checksum.
const N_DIGITS: usize = 8;

/// The plan that a journal belongs to, from its first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// The plan's path from the root of the workspace.
    pub path: String,
    /// The plan's id, if it has one.
    pub id: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct JournalScan {
    /// The version of its format.
    pub version: u32,
    /// Its first line; none if that is incomplete.
    pub header: Option<JournalHeader>,
    /// The range of the JSON of each record.
    pub records: Vec<Range<usize>>,
    /// The length of the sound part in bytes. What follows was never acknowledged.
    pub n_sound: usize,
}

/// A journal that is damaged before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalDamage {
    /// The first byte of the damaged line.
    pub offset: usize,
    /// The kind of damage.
    pub what: &'static str,
}

impl JournalScan {
    const NOTHING: JournalScan = JournalScan {
        version: VERSION,
        header: None,
        records: Vec::new(),
        n_sound: 0,
    };
}

impl JournalDamage {
    fn at_start(what: &'static str) -> Self {
        JournalDamage { offset: 0, what }
    }
}

/// Returns a line with its checksum.
pub(crate) fn record_line(json: &str) -> String {
    format!("{:08x} {json}\n", line_check(json.as_bytes()))
}

/// Appends a line: a checksum, and the JSON that `write` adds. Appends nothing on failure.
pub(crate) fn add_record<E>(lines: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
    let start = lines.len();
    lines.extend_from_slice(&[b'0'; N_DIGITS]);
    lines.push(b' ');
    if let Err(error) = write(lines) {
        lines.truncate(start);
        return Err(error);
    }
    let check = line_check(lines.get(start + N_DIGITS + 1..).unwrap_or_default());
    let digits = (0..N_DIGITS).rev().map(|place| (check >> (4 * place)) & 0xf);
    for (byte, digit) in lines.iter_mut().skip(start).zip(digits) {
        *byte = char::from_digit(digit, 16).map_or(b'0', |digit| digit as u8);
    }
    lines.push(b'\n');
    Ok(())
}

pub(crate) fn header_line(header: &JournalHeader) -> serde_json::Result<String> {
    let json = serde_json::to_string(header)?;
    Ok(format!("{MAGIC}{VERSION} {}", record_line(&json)))
}

/// Parses a journal. Incomplete lines are omitted at the end, and are damage before it.
pub(crate) fn scan(bytes: &[u8]) -> Result<JournalScan, JournalDamage> {
    let mut lines = JournalLines { bytes, at: 0 };
    let first = lines.next().unwrap_or(0..bytes.len());
    let Some((version, header)) = read_header(bytes, first.clone()) else {
        return match lines.any(|line| sound(bytes, &line).is_some()) {
            false if is_begun(bytes) => Ok(JournalScan::NOTHING),
            false => Err(JournalDamage::at_start("it does not begin as a journal does")),
            true => Err(JournalDamage::at_start(
                "its first line is damaged, and sound records follow",
            )),
        };
    };
    let mut scan = JournalScan {
        version,
        header: Some(header),
        records: Vec::new(),
        n_sound: first.end + 1,
    };
    let mut bad = None;
    let mut last = 0;
    for line in lines {
        let json = sound(bytes, &line);
        match (json, bad) {
            (Some(json), None) => {
                let number = bytes.get(json.clone()).and_then(number_of);
                if number.is_some_and(|number| last + 1 != number) {
                    let offset = line.start;
                    return Err(JournalDamage {
                        offset,
                        what: OUT_OF_ORDER,
                    });
                }
                last = number.unwrap_or(last + 1);
                scan.records.push(json);
                scan.n_sound = line.end + 1;
            }
            (None, _) if !ends_soundly(bytes, &line) => bad = bad.or(Some(line.start)),
            (_, bad) => {
                let offset = bad.unwrap_or(line.start);
                let what = "its checksum is wrong, and sound records follow";
                return Err(JournalDamage { offset, what });
            }
        }
    }
    Ok(scan)
}

/// The damage of a record whose number is not the next one: records were removed, repeated or exchanged.
const OUT_OF_ORDER: &str = "the number of this record does not follow that of the one before";

/// Returns the number of a record, its first field.
fn number_of(json: &[u8]) -> Option<u64> {
    let rest = json.strip_prefix(b"{\"seq\":")?;
    let n_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    str::from_utf8(rest.get(..n_digits)?).ok()?.parse().ok()
}

/// Returns the version that the first line names, even if the line is damaged.
pub(crate) fn version_of(bytes: &[u8]) -> Option<u32> {
    let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
    let digits = rest.get(..memchr(b' ', rest)?)?;
    let is_plain = digits.iter().all(u8::is_ascii_digit) && !digits.starts_with(b"0");
    str::from_utf8(digits).ok().filter(|_| is_plain)?.parse().ok()
}

/// Returns whether this may be the rest of a journal whose first line was never finished.
fn is_begun(bytes: &[u8]) -> bool {
    let mut pairs = bytes.iter().zip(MAGIC.as_bytes());
    pairs.all(|(byte, expected)| byte == expected || *byte == 0)
}

fn read_header(bytes: &[u8], line: Range<usize>) -> Option<(u32, JournalHeader)> {
    // A line without its break is incomplete.
    bytes.get(line.end)?;
    let text = bytes.get(line)?;
    let version = version_of(text)?;
    let rest = text.get(MAGIC.len() + version.to_string().len() + 1..)?;
    let json = checked(rest)?;
    Some((version, serde_json::from_slice(rest.get(json)?).ok()?))
}

/// Returns the JSON of a line without its break, if the line is complete.
pub(crate) fn json_of(line: &[u8]) -> Option<&[u8]> {
    line.get(checked(line)?)
}

/// Returns the range of the JSON of a line, if the line is complete.
fn sound(bytes: &[u8], line: &Range<usize>) -> Option<Range<usize>> {
    let json = checked(bytes.get(line.clone())?)?;
    Some(line.start + json.start..line.start + json.end)
}

/// Returns whether a broken line has a sound record at its end, because the line break before that was lost.
fn ends_soundly(bytes: &[u8], line: &Range<usize>) -> bool {
    let text = bytes.get(line.clone()).unwrap_or_default();
    let mut spaces = memmem::find_iter(text, b" {");
    spaces.any(|space| {
        let record = space.checked_sub(N_DIGITS).and_then(|start| text.get(start..));
        record.is_some_and(|record| checked(record).is_some())
    })
}

fn checked(line: &[u8]) -> Option<Range<usize>> {
    let json = line.get(N_DIGITS + 1..)?;
    let digits = str::from_utf8(line.get(..N_DIGITS)?).ok()?;
    let check = u32::from_str_radix(digits, 16).ok()?;
    (line.get(N_DIGITS) == Some(&b' ') && line_check(json) == check).then_some(N_DIGITS + 1..line.len())
}

/// The lines that end in a line break, without it.
struct JournalLines<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Iterator for JournalLines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let length = memchr(b'\n', self.bytes.get(start..)?)?;
        self.at = start + length + 1;
        Some(start..start + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> (String, Vec<usize>) {
        let header = JournalHeader {
            path: "docs/plan.json".to_owned(),
            id: Some("p\n1".to_owned()),
        };
        let mut text = header_line(&header).expect("a header");
        let mut ends = vec![text.len()];
        for n in 0..3 {
            text += &record_line(&format!("{{\"n\":{n}}}"));
            ends.push(text.len());
        }
        (text, ends)
    }

    #[test]
    fn a_record_is_one_line_and_a_refused_one_leaves_nothing() {
        let mut lines = b"before\n".to_vec();
        for json in ["{}", "{\"seq\":1}", "{\"text\":\"\u{fc}ber\"}"] {
            let before = lines.clone();
            let refused = add_record(&mut lines, |out| {
                out.extend_from_slice(b"half");
                Err("refused")
            });
            assert_eq!((refused, &lines), (Err("refused"), &before));
            let added: Result<(), &str> = add_record(&mut lines, |out| {
                out.extend_from_slice(json.as_bytes());
                Ok(())
            });
            assert_eq!(added, Ok(()));
            assert_eq!(lines, [before, record_line(json).into_bytes()].concat());
        }
    }

    #[test]
    fn every_torn_end_is_left_out() {
        let (text, ends) = journal();
        for n_bytes in 0..=text.len() {
            let scan = scan(&text.as_bytes()[..n_bytes]).expect("a torn end is no damage");
            let n_whole = ends.iter().filter(|&&end| end <= n_bytes).count();
            assert_eq!(scan.records.len(), n_whole.saturating_sub(1), "{n_bytes}");
            assert_eq!(scan.n_sound, if n_whole == 0 { 0 } else { ends[n_whole - 1] });
            assert_eq!(scan.header.is_some(), n_whole > 0);
        }
    }

    #[test]
    fn an_end_of_zeros_is_torn() {
        let (text, ends) = journal();
        for end in ends {
            let mut bytes = text.as_bytes()[..end].to_vec();
            bytes.extend([0; 600]);
            assert_eq!(scan(&bytes).expect("torn").n_sound, end);
        }
        assert_eq!(scan(&[0; 70]).expect("torn").n_sound, 0);
    }

    #[test]
    fn any_changed_byte_before_the_last_record_is_damage() {
        let (text, ends) = journal();
        for at in 0..ends[2] {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            if version_of(&bytes).is_some_and(|version| version != VERSION) {
                continue;
            }
            let line = ends.iter().rev().find(|&&end| end <= at).copied().unwrap_or(0);
            match scan(&bytes) {
                Err(damage) => assert!(damage.offset <= at && damage.offset >= line.min(at), "{at}: {damage:?}"),
                Ok(scan) => panic!("byte {at} went unnoticed: {scan:?}"),
            }
        }
    }

    #[test]
    fn a_foreign_file_is_not_torn() {
        assert!(scan(b"hello\nworld\n").is_err());
        assert!(scan(b"hello").is_err());
    }

    #[test]
    fn records_that_were_removed_repeated_or_exchanged_are_damage() {
        let header = header_line(&JournalHeader {
            path: "p".to_owned(),
            id: None,
        })
        .expect("a header");
        let record = |number: u64| record_line(&format!("{{\"seq\":{number},\"time\":\"\"}}"));
        let scanned = |numbers: &[u64]| {
            let text = header.clone() + &numbers.iter().map(|number| record(*number)).collect::<String>();
            scan(text.as_bytes()).map(|scan| scan.records.len())
        };
        assert_eq!(scanned(&[1, 2, 3]).ok(), Some(3));
        for numbers in [&[2, 3][..], &[1, 3], &[1, 2, 2, 3], &[1, 3, 2], &[1, 2, u64::MAX]] {
            assert_eq!(scanned(numbers).expect_err("damage").what, OUT_OF_ORDER, "{numbers:?}");
        }
    }
}
