//! Durations and sizes as people write them: a number and a unit.

use std::time::Duration;

/// The longest duration, a year: a longer one is a typing error.
const MAX_SECONDS: u64 = 366 * 24 * 3600;

const TIMES: &[(&str, u64)] = &[
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Reads a duration such as `90s`, `15m`, `2h` or `1h30m`.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut milliseconds: u64 = 0;
    let mut smallest = u64::MAX;
    while !rest.is_empty() {
        let (number, unit, behind) = part(rest)?;
        let &(_, length) = TIMES.iter().find(|(name, _)| *name == unit)?;
        // `30m1h` and `1m1m` are typing errors.
        if length >= smallest {
            return None;
        }
        smallest = length;
        milliseconds = milliseconds.checked_add(number.checked_mul(length)?)?;
        rest = behind.trim_start();
    }
    (smallest < u64::MAX && milliseconds <= MAX_SECONDS * 1_000).then(|| Duration::from_millis(milliseconds))
}

/// Reads a size such as `10MB` or `512KiB`.
pub fn size(text: &str) -> Option<u64> {
    let (number, unit, behind) = part(text.trim())?;
    let (_, length) = SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    behind.is_empty().then(|| number.checked_mul(*length))?
}

/// Splits a text into its leading number, the unit after it, and the rest.
fn part(text: &str) -> Option<(u64, &str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, rest) = text.split_at(digits);
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, behind) = rest.split_at(end);
    Some((number.parse().ok()?, unit, behind))
}

pub fn duration_text(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for &(unit, length) in TIMES.iter().rev() {
        if rest >= length {
            text.push_str(&format!("{}{unit}", rest / length));
            rest %= length;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Writes a size in the largest unit that keeps it exact.
pub fn size_text(n_bytes: u64) -> String {
    let fits = |(_, length): &&(&str, u64)| n_bytes > 0 && n_bytes.is_multiple_of(*length);
    let unit = SIZES.iter().filter(fits).max_by_key(|(_, length)| *length);
    let (name, length) = unit.copied().unwrap_or(("B", 1));
    format!("{}{name}", n_bytes / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, milliseconds) in [
            ("90s", Some(90_000)),
            ("15m", Some(900_000)),
            ("2h", Some(7_200_000)),
            ("1h30m", Some(5_400_000)),
            ("1h 30m", Some(5_400_000)),
            ("250ms", Some(250)),
            ("0s", Some(0)),
            ("1d", Some(86_400_000)),
            ("", None),
            ("90", None),
            ("s", None),
            ("-5s", None),
            ("1.5h", None),
            ("30m1h", None),
            ("1m1m", None),
            ("5 fortnights", None),
            ("99999999999999999999s", None),
            ("9999999999999999d", None),
            ("400d", None),
        ] {
            assert_eq!(duration(text), milliseconds.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, n_bytes) in [
            ("10MB", Some(10_000_000)),
            ("10mb", Some(10_000_000)),
            ("1 MiB", Some(1_048_576)),
            ("512KiB", Some(524_288)),
            ("7B", Some(7)),
            ("10", None),
            ("MB", None),
            ("10MB5", None),
            ("99999999999999GB", None),
        ] {
            assert_eq!(size(text), n_bytes, "{text}");
        }
    }

    #[test]
    fn written_durations_and_sizes_read_back() {
        for milliseconds in [0, 1, 999, 1_000, 61_000, 5_400_000, 90_061_001] {
            let length = Duration::from_millis(milliseconds);
            assert_eq!(duration(&duration_text(length)), Some(length));
        }
        for n_bytes in [0, 1, 999, 1_000, 1_024, 10_000_000, 1 << 30] {
            assert_eq!(size(&size_text(n_bytes)), Some(n_bytes));
        }
        assert_eq!(duration_text(Duration::from_secs(5_400)), "1h30m");
        assert_eq!(size_text(10_000_000), "10MB");
    }
}
