//! The time of day, as records carry it, and the time that passes, as limits and waits are measured in it.
//!
//! In tests the clock of this room may run faster than the world (see [`faults`]): then a day is over in seconds. What is measured in
//! it says [`instant`] and [`since`]; what is handed to the system to wait for, or told by it, goes through [`real`] and [`shown`].

use std::process::Stdio;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

use planwright_core::agent::ClockTime;

use crate::faults;
use crate::local_time::{Zone, civil, day_of};
use crate::programs::command;

/// Returns the present time as RFC 3339 in UTC, to the millisecond: `2026-11-05T09:30:00.125Z`.
pub fn now() -> String {
    rfc_3339(since_epoch())
}

/// Returns the time when a duration from now is over, in the same form.
pub fn after(duration: Duration) -> String {
    rfc_3339(since_epoch().saturating_add(duration))
}

/// Returns the time a duration ago, in the same form.
pub fn before(duration: Duration) -> String {
    rfc_3339(since_epoch().saturating_sub(duration))
}

/// Returns the present time in milliseconds since 1970.
pub fn milliseconds() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}

/// Returns the present moment, to measure what passes.
pub fn instant() -> Instant {
    faults::hurried(Instant::now())
}

/// Returns what has passed since a moment that [`instant`] told.
pub fn since(moment: Instant) -> Duration {
    instant().saturating_duration_since(moment)
}

/// Returns how long the system has to wait until so much has passed.
pub fn real(time: Duration) -> Duration {
    match faults::clock_rate() {
        1 => time,
        rate => (time / rate).max(SHORTEST_PAUSE),
    }
}

/// Returns what has passed when the system has measured so much.
pub fn shown(real: Duration) -> Duration {
    real.saturating_mul(faults::clock_rate())
}

/// The shortest pause where the clock is in a hurry: nobody is helped by looking at everything all the time.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

fn since_epoch() -> Duration {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    // A clock set before 1970 is wrong, and not for us to judge.
    let since_epoch = faults::hurried_date(since_epoch.unwrap_or(Duration::ZERO));
    let shift = faults::clock_shift();
    let moved = Duration::from_secs(shift.unsigned_abs());
    if shift < 0 {
        since_epoch.saturating_sub(moved)
    } else {
        since_epoch.saturating_add(moved)
    }
}

fn rfc_3339(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let millis = since_epoch.subsec_millis();
    // By hand: it is written several times per task, and formatting is slow.
    let mut text = String::with_capacity(24);
    for (before, value, n_digits) in [
        ("", year, 4),
        ("-", month, 2),
        ("-", day, 2),
        ("T", hour, 2),
        (":", minute, 2),
        (":", second, 2),
        (".", u64::from(millis), 3),
    ] {
        text.push_str(before);
        let mut unit = 10_u64.pow(n_digits - 1);
        while unit > 0 {
            text.push(char::from(b'0' + (value / unit % 10) as u8));
            unit /= 10;
        }
    }
    text.push('Z');
    text
}

/// Returns a time for people, to the second and by the clock of this machine: `2026-11-05 10:30:00`. Another form than that of
/// [`now`] is returned unchanged.
pub fn to_the_second(time: &str) -> String {
    let seconds = milliseconds_of(time).and_then(|millis| i64::try_from(millis / 1_000).ok());
    let shown = seconds.and_then(|seconds| ZONE.shown(seconds));
    shown.unwrap_or_else(|| time.to_owned())
}

/// The zone of this process.
static ZONE: LazyLock<Zone> = LazyLock::new(Zone::of_process);

/// Returns the milliseconds since 1970 of a time in UTC, as [`now`] writes it. Another form is nothing.
pub fn milliseconds_of(time: &str) -> Option<u64> {
    let (date, clock) = time.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut clock = clock.splitn(3, ':').map(number);
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let is_time = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_time || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let millis = number(format!("{fraction:0<3}").get(..3)?)?;
    let seconds = ((day_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1_000 + millis)
}

/// Returns how many seconds it is until a time of day is over, by the clock of this machine; none where that was before, or where
/// nobody can tell what the clock shows.
pub(crate) fn seconds_until(time: ClockTime) -> Option<u64> {
    let now = i64::try_from(since_epoch().as_secs()).ok()?;
    until(time, now + local_offset()?)
}

/// Returns how many seconds the clock of this machine is ahead of UTC. The system's own `date` knows the zone and its rules.
fn local_offset() -> Option<i64> {
    let asked = command("date")
        .ok()?
        .arg("+%z")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    offset(std::str::from_utf8(&asked.ok()?.stdout).ok()?.trim())
}

/// Reads `+0130`.
fn offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_at_checked(2).filter(|_| digits.len() == 4)?;
    let minutes = number(hours)? * 60 + number(minutes)?;
    Some(sign * 60 * i64::try_from(minutes).ok()?)
}

/// Returns the seconds from a time in seconds since 1970, as the clock shows it, to the end of a minute of it.
fn until(time: ClockTime, now: i64) -> Option<u64> {
    let day = match time.date {
        Some((year, month, day)) => i64::try_from(day_of(year.into(), month.into(), day.into())).ok()?,
        None => now.div_euclid(86_400),
    };
    let end = |hour: i64| (day * 24 + hour) * 3_600 + i64::from(time.minute) * 60 + 60;
    let hour = i64::from(time.hour);
    let later = time.may_be_later.then_some(hour + 12);
    let waits = [Some(hour), later].into_iter().flatten().map(|hour| end(hour) - now);
    waits.filter(|wait| *wait > 0).find_map(|wait| u64::try_from(wait).ok())
}

fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// Returns today's date in UTC: `2026-11-05`.
pub fn today() -> String {
    date(since_epoch())
}

/// Returns the day of a time in UTC.
pub fn date_of(time: SystemTime) -> String {
    date(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO))
}

fn date(since_epoch: Duration) -> String {
    let (year, month, day) = civil(since_epoch.as_secs() / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seconds: u64, expected: &str) {
        assert_eq!(rfc_3339(Duration::from_millis(seconds * 1_000 + 7)), expected);
    }

    #[test]
    fn what_was_written_is_read() {
        for seconds in (0..8_000_000_000).step_by(7_654_321) {
            let time = rfc_3339(Duration::from_millis(seconds * 1_000 + 7));
            assert_eq!(milliseconds_of(&time), Some(seconds * 1_000 + 7), "{time}");
        }
        assert_eq!(milliseconds_of("1970-01-01T00:00:01Z"), Some(1_000));
        assert_eq!(milliseconds_of("1970-01-01T00:00:01.123456Z"), Some(1_123));
        for wrong in [
            "",
            "now",
            "1970-01-01",
            "1969-12-31T00:00:00Z",
            "1970-00-01T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T0é:00:00.éZ",
            "1970-01-01T00:00:00.1éZ",
        ] {
            assert_eq!(milliseconds_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn waits_last_to_the_end_of_the_minute() {
        let at = |hour: u8, minute: u8, may_be_later: bool| ClockTime {
            date: None,
            hour,
            minute,
            may_be_later,
        };
        let now = |hour: i64, minute: i64, second: i64| 20_772 * 86_400 + hour * 3_600 + minute * 60 + second;
        assert_eq!(until(at(19, 15, false), now(18, 0, 0)), Some(76 * 60));
        assert_eq!(until(at(19, 15, false), now(19, 15, 30)), Some(30));
        assert_eq!(until(at(19, 15, false), now(19, 16, 0)), None);
        assert_eq!(until(at(7, 15, true), now(18, 0, 0)), Some(76 * 60));
        assert_eq!(until(at(7, 15, true), now(6, 0, 0)), Some(76 * 60));
        assert_eq!(until(at(7, 15, true), now(20, 0, 0)), None);
        let tomorrow = ClockTime {
            date: Some((2026, 11, 16)),
            ..at(0, 0, false)
        };
        assert_eq!(until(tomorrow, now(23, 59, 0)), Some(120));
    }

    #[test]
    fn offsets_have_a_sign_and_four_digits() {
        let found = ["+0000", "+0130", "-0800", "0100", "+01", "", "UTC", "+é00"].map(offset);
        assert_eq!(
            found,
            [Some(0), Some(5_400), Some(-28_800), None, None, None, None, None]
        );
    }

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(59), (1970, 3, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_772), (2026, 11, 15));
        assert_eq!(date(Duration::from_secs(20_772 * 86_400 + 5)), "2026-11-15");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        check(0, "1970-01-01T00:00:00.007Z");
        check(951_782_399, "2000-02-28T23:59:59.007Z");
        check(951_782_400, "2000-02-29T00:00:00.007Z");
        check(1_709_164_800, "2024-02-29T00:00:00.007Z");
        check(1_735_689_599, "2024-12-31T23:59:59.007Z");
        check(4_107_542_400, "2100-03-01T00:00:00.007Z");
    }
}
