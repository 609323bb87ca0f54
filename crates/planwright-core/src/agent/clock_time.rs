//! Times of day in the output of agents, such as `try again at 7:15 PM`. Does not know the current time or the time zone.

use crate::text::clip;

/// A time of day, possibly with its date, by the clock of the program that printed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockTime {
    /// Year, month and day; none for the next such time.
    pub date: Option<(u16, u8, u8)>,
    /// From 0 to 23.
    pub hour: u8,
    /// The minute.
    pub minute: u8,
    /// Whether the same time in the afternoon may be meant.
    pub may_be_later: bool,
}

/// Words before such a time, in lower case.
static BEFORE: &[&str] = &["try again at"];

static MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// How much of a text is searched, in bytes.
const MAX_LOOKED_AT: usize = 8 * 1024;

/// Returns the time of day at which to try again, from an agent's message: `7:15 PM`, `19:15`, `Nov 17th, 2026 7:15 PM`.
pub fn clock_time_in(text: &str) -> Option<ClockTime> {
    let text = clip(text, MAX_LOOKED_AT).to_ascii_lowercase();
    let rest = BEFORE.iter().find_map(|words| Some(text.split_once(words)?.1))?;
    let (date, rest) = date(rest.trim_start());
    let (hour, rest) = number(rest)?;
    let (minute, rest) = number(rest.strip_prefix(':')?)?;
    let half = rest.trim_start().get(..2).unwrap_or("");
    let (hour, may_be_later) = match (half, hour) {
        ("am", 12) => (0, false),
        ("am", 1..=11) | ("pm", 12) => (hour, false),
        ("pm", 1..=11) => (hour + 12, false),
        ("am" | "pm", _) => return None,
        (_, hour) => (hour, (1..=11).contains(&hour)),
    };
    (hour <= 23 && minute <= 59).then_some(ClockTime {
        date,
        hour: u8::try_from(hour).ok()?,
        minute: u8::try_from(minute).ok()?,
        may_be_later,
    })
}

/// Reads `nov 17th, 2026 ` at the start of a text, and returns the rest.
fn date(text: &str) -> (Option<(u16, u8, u8)>, &str) {
    let read = || {
        let month = text.get(..3)?;
        let month = MONTHS.iter().position(|name| *name == month)?;
        let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start();
        let (day, rest) = number(rest)?;
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == ',' || c == ' ');
        let (year, rest) = number(rest)?;
        let is_date = (1..=31).contains(&day) && (1970..=9999).contains(&year);
        let date = (year, u8::try_from(month + 1).ok()?, u8::try_from(day).ok()?);
        is_date.then_some((date, rest.trim_start_matches([',', ' '])))
    };
    match read() {
        Some((date, rest)) => (Some(date), rest),
        None => (None, text),
    }
}

/// Reads a number of a few digits at the start of a text.
fn number(text: &str) -> Option<(u16, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let is_short = (1..=4).contains(&digits.len());
    is_short.then(|| Some((digits.parse().ok()?, rest)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(u8, u8, bool)>) {
        let found = clock_time_in(text);
        assert_eq!(
            found.map(|time| (time.hour, time.minute, time.may_be_later)),
            expected,
            "{text}"
        );
    }

    #[test]
    fn times_of_day_are_found_in_sentences() {
        check(
            "You’ve hit your usage limit. Please try again at 7:15 PM.",
            Some((19, 15, false)),
        );
        check("usage limit … try again at 7:15", Some((7, 15, true)));
        check("Try again at 19:05.", Some((19, 5, false)));
        check("try again at 12:00 AM", Some((0, 0, false)));
        check("try again at 12:30 pm, or buy more", Some((12, 30, false)));
        check("try again at 0:30", Some((0, 30, false)));
        check("try again at 12:30", Some((12, 30, false)));
        for text in [
            "",
            "try again at",
            "try again at noon",
            "try again at 7",
            "try again at 7:60",
            "try again at 24:00",
            "try again at 13:00 PM",
            "try again at 0:00 am",
            "try again at 99999999999:00",
            "try again at :15",
            "try again at 7:",
            "try again in 3s",
            "try again at né:ée",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_date_may_come_first() {
        let time = clock_time_in("You’ve hit your usage limit. Try again at Nov 17th, 2026 7:15 AM.");
        let expected = ClockTime {
            date: Some((2026, 11, 17)),
            hour: 7,
            minute: 15,
            may_be_later: false,
        };
        assert_eq!(time, Some(expected));
        check("try again at Nov 99th, 2026 7:15 AM", None);
        check("try again at November", None);
    }
}
