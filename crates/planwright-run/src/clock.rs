//! The time of day for records, and elapsed time for limits and waits.
//!
//! In tests this clock may run faster than real time (see [`faults`]): then a day takes seconds. Code that measures in it uses
//! [`instant`] and [`since`]. Durations for the system go through [`real`], and durations from the system through [`shown`].

use std::time::{Duration, Instant, SystemTime};

use jiff::civil::Date;
use jiff::fmt::temporal::DateTimePrinter;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _, Zoned};
use planwright_core::agent::ClockTime;

use crate::faults;

/// Returns the present time as RFC 3339 in UTC, to the millisecond: `2026-11-05T09:30:00.125Z`.
pub fn now() -> String {
    rfc_3339(since_epoch())
}

/// Returns the time after a duration from now, in the same form.
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

/// Returns the present time of the system, to compare with the times of files. It never runs faster.
pub(crate) fn of_files() -> SystemTime {
    SystemTime::now()
}

/// Returns the present as an instant, for measuring.
pub fn instant() -> Instant {
    faults::fast(Instant::now())
}

pub fn since(moment: Instant) -> Duration {
    instant().saturating_duration_since(moment)
}

/// Returns how long the system must wait for this much time to pass.
pub fn real(time: Duration) -> Duration {
    match faults::clock_rate() {
        1 => time,
        rate => (time / rate).max(SHORTEST_PAUSE),
    }
}

/// Returns how much time has passed for this much time of the system.
pub fn shown(real: Duration) -> Duration {
    real.saturating_mul(faults::clock_rate())
}

/// The shortest pause where the clock runs faster: a shorter one would only keep the processor busy.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

fn since_epoch() -> Duration {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    // A clock before 1970 is wrong; this code does not fix it.
    let since_epoch = faults::fast_date(since_epoch.unwrap_or(Duration::ZERO));
    let shift = faults::clock_shift();
    let moved = Duration::from_secs(shift.unsigned_abs());
    if shift < 0 {
        since_epoch.saturating_sub(moved)
    } else {
        since_epoch.saturating_add(moved)
    }
}

/// Returns a time since 1970, at most the end of the year 9999.
fn timestamp(since_epoch: Duration) -> Timestamp {
    let milliseconds = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::MAX)
}

fn rfc_3339(since_epoch: Duration) -> String {
    const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
    PRINTER.timestamp_to_string(&timestamp(since_epoch))
}

/// Returns a time for people, to the second, in local time: `2026-11-05 10:30:00`. Text that is not RFC 3339 is returned unchanged.
pub fn to_the_second(time: &str) -> String {
    let shown = milliseconds_of(time).and_then(local_time);
    shown.unwrap_or_else(|| time.to_owned())
}

/// Returns a time in milliseconds since 1970 as local time: `2026-11-05 10:30:00`.
pub fn local_time(milliseconds: u64) -> Option<String> {
    let time = Timestamp::from_millisecond(i64::try_from(milliseconds).ok()?).ok()?;
    let local = time.to_zoned(TimeZone::system());
    Some(local.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// Returns the milliseconds since 1970 of an RFC 3339 time; none for another form, and for times before 1970.
pub fn milliseconds_of(time: &str) -> Option<u64> {
    let time: Timestamp = time.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}

/// Returns the seconds until the end of a minute of the local clock; none if it has passed.
pub(crate) fn seconds_until(time: ClockTime) -> Option<u64> {
    until(time, &timestamp(since_epoch()).to_zoned(TimeZone::system()))
}

/// Returns the seconds from now to the end of a minute of the clock.
fn until(time: ClockTime, now: &Zoned) -> Option<u64> {
    let day = match time.date {
        Some((year, month, day)) => {
            let year = i16::try_from(year).ok()?;
            Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?
        }
        None => now.date(),
    };
    let hour = i64::from(time.hour);
    let later = time.may_be_later.then_some(hour + 12);
    let wait = |hour: i64| {
        let minute = day.at(0, 0, 0, 0).checked_add(hour.hours().minutes(time.minute)).ok()?;
        let end = minute
            .to_zoned(now.time_zone().clone())
            .ok()?
            .checked_add(1.minute())
            .ok()?;
        u64::try_from(end.timestamp().as_second() - now.timestamp().as_second()).ok()
    };
    let mut waits = [Some(hour), later].into_iter().flatten().filter_map(wait);
    waits.find(|wait| *wait > 0)
}

/// Returns today's date in UTC: `2026-11-05`.
pub fn today() -> String {
    date(since_epoch())
}

pub fn date_of(time: SystemTime) -> String {
    date(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO))
}

fn date(since_epoch: Duration) -> String {
    timestamp(since_epoch).strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seconds: u64, expected: &str) {
        assert_eq!(rfc_3339(Duration::from_millis(seconds * 1_000 + 7)), expected);
    }

    #[test]
    fn written_times_are_read_back() {
        for seconds in (0..8_000_000_000).step_by(7_654_321) {
            let time = rfc_3339(Duration::from_millis(seconds * 1_000 + 7));
            assert_eq!(milliseconds_of(&time), Some(seconds * 1_000 + 7), "{time}");
        }
        assert_eq!(milliseconds_of("1970-01-01T00:00:01Z"), Some(1_000));
        assert_eq!(milliseconds_of("1970-01-01T00:00:01.123456Z"), Some(1_123));
        assert_eq!(milliseconds_of("1970-01-01T02:00:01+02:00"), Some(1_000));
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
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
        let day = Date::constant(2026, 11, 15);
        let now =
            |hour: i8, minute: i8, second: i8| day.at(hour, minute, second, 0).to_zoned(zone.clone()).expect("a time");
        assert_eq!(until(at(19, 15, false), &now(18, 0, 0)), Some(76 * 60));
        assert_eq!(until(at(19, 15, false), &now(19, 15, 30)), Some(30));
        assert_eq!(until(at(19, 15, false), &now(19, 16, 0)), None);
        assert_eq!(until(at(7, 15, true), &now(18, 0, 0)), Some(76 * 60));
        assert_eq!(until(at(7, 15, true), &now(6, 0, 0)), Some(76 * 60));
        assert_eq!(until(at(7, 15, true), &now(20, 0, 0)), None);
        let tomorrow = ClockTime {
            date: Some((2026, 11, 16)),
            ..at(0, 0, false)
        };
        assert_eq!(until(tomorrow, &now(23, 59, 0)), Some(120));
        // A day of 25 hours.
        let autumn = Date::constant(2026, 10, 25)
            .at(1, 0, 0, 0)
            .to_zoned(zone)
            .expect("a time");
        assert_eq!(until(at(4, 0, false), &autumn), Some(4 * 3_600 + 60));
    }

    #[test]
    fn days_become_dates() {
        assert_eq!(date(Duration::from_secs(20_772 * 86_400 + 5)), "2026-11-15");
    }

    #[test]
    fn dates_follow_the_calendar() {
        check(0, "1970-01-01T00:00:00.007Z");
        check(951_782_399, "2000-02-28T23:59:59.007Z");
        check(951_782_400, "2000-02-29T00:00:00.007Z");
        check(1_709_164_800, "2024-02-29T00:00:00.007Z");
        check(1_735_689_599, "2024-12-31T23:59:59.007Z");
        check(4_107_542_400, "2100-03-01T00:00:00.007Z");
    }
}
