//! Times as people read them: in the zone of this machine, by the zone files of the system (RFC 9636). Where there are none, in UTC.

use std::path::Path;

/// A time zone: how far its clocks are ahead of UTC, and since when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Zone {
    /// From when on which offset holds, in seconds; the earliest first.
    changes: Vec<(i64, i64)>,
    /// The offset before the first change.
    first: i64,
    /// What holds after the last change.
    rule: Option<Rule>,
    /// Whether the zone is known at all.
    is_known: bool,
}

/// The offsets of a zone from year to year.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    standard: i64,
    /// The offset in summer, its first and its last moment, by the clock that holds then.
    summer: Option<(i64, Moment, Moment)>,
}

/// A moment of every year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    day: Day,
    /// Seconds after midnight.
    time: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Day {
    /// `J1` to `J365`, without leap days.
    Julian(i64),
    /// `0` to `365`, with leap days.
    Zero(i64),
    /// `M3.5.0`: the last Sunday of March.
    Month { month: i64, week: i64, weekday: i64 },
}

impl Zone {
    /// Returns the zone of this process: what TZ names, else that of the machine.
    pub(crate) fn of_process() -> Self {
        let named = std::env::var("TZ").ok().filter(|name| !name.is_empty());
        let zone = match named.as_deref().map(|name| name.strip_prefix(':').unwrap_or(name)) {
            None => Zone::of_file(Path::new("/etc/localtime")),
            Some("UTC" | "UTC0" | "Etc/UTC") => Some(Zone::utc()),
            Some(name) if name.starts_with('/') => Zone::of_file(Path::new(name)),
            Some(name) if name.contains("..") => None,
            Some(name) => {
                let file = Path::new("/usr/share/zoneinfo").join(name);
                Zone::of_file(&file).or_else(|| Zone::of_rule(name))
            }
        };
        zone.unwrap_or_default()
    }

    fn utc() -> Self {
        Zone {
            is_known: true,
            ..Zone::default()
        }
    }

    fn of_file(file: &Path) -> Option<Self> {
        Zone::read(&std::fs::read(file).ok()?)
    }

    fn of_rule(text: &str) -> Option<Self> {
        let rule = Rule::read(text)?;
        Some(Zone {
            rule: Some(rule),
            is_known: true,
            ..Zone::default()
        })
    }

    /// Reads a zone file of version 2 or later.
    fn read(bytes: &[u8]) -> Option<Self> {
        let first = Header::read(bytes)?;
        let second = bytes.get(HEADER + first.size(4)..)?;
        let header = Header::read(second)?;
        let data = second.get(HEADER..)?;
        let times = data.get(..header.n_times * 8)?;
        let kinds = data.get(header.n_times * 8..header.n_times * 9)?;
        let types = data.get(header.n_times * 9..header.n_times * 9 + header.n_types * 6)?;
        let offset = |kind: usize| {
            let bytes = types.get(kind * 6..kind * 6 + 4)?;
            Some(i64::from(i32::from_be_bytes(bytes.try_into().ok()?)))
        };
        let mut changes = Vec::with_capacity(header.n_times);
        for (time, kind) in times.chunks_exact(8).zip(kinds) {
            changes.push((i64::from_be_bytes(time.try_into().ok()?), offset(usize::from(*kind))?));
        }
        let footer = data.get(header.size(8)..).unwrap_or_default();
        let footer = std::str::from_utf8(footer).ok()?.trim_matches('\n');
        Some(Zone {
            first: offset(0)?,
            changes,
            rule: Rule::read(footer),
            is_known: true,
        })
    }

    /// Returns how many seconds the clocks are ahead of UTC at a time in seconds since 1970.
    fn offset_at(&self, time: i64) -> i64 {
        let n_before = self.changes.partition_point(|(since, _)| *since <= time);
        match (&self.rule, n_before) {
            (Some(rule), n) if n == self.changes.len() => rule.offset_at(time),
            (_, 0) => self.first,
            (_, n) => self.changes.get(n - 1).map_or(self.first, |(_, offset)| *offset),
        }
    }

    /// Returns a time in seconds since 1970 for people: `2026-11-05 10:30:00`. Where the zone is not known, it is in UTC and says so.
    pub(crate) fn shown(&self, seconds: i64) -> Option<String> {
        let local = u64::try_from(seconds + self.offset_at(seconds)).ok()?;
        let (year, month, day) = civil(local / 86_400);
        let (hour, minute, second) = (local / 3_600 % 24, local / 60 % 60, local % 60);
        let zone = if self.is_known { "" } else { " UTC" };
        Some(format!(
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{zone}"
        ))
    }
}

/// The length of the header of a zone file.
const HEADER: usize = 44;

/// What the header counts.
struct Header {
    n_utc: usize,
    n_standard: usize,
    n_leaps: usize,
    n_times: usize,
    n_types: usize,
    n_chars: usize,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.starts_with(b"TZif").then_some(())?;
        let count = |nth: usize| {
            let bytes = bytes.get(20 + nth * 4..24 + nth * 4)?;
            let n = u32::from_be_bytes(bytes.try_into().ok()?);
            // More than any zone has would only make a damaged file expensive.
            usize::try_from(n).ok().filter(|n| *n <= 10_000)
        };
        Some(Header {
            n_utc: count(0)?,
            n_standard: count(1)?,
            n_leaps: count(2)?,
            n_times: count(3)?,
            n_types: count(4)?,
            n_chars: count(5)?,
        })
    }

    /// Returns how long the data is, with times of so many bytes.
    fn size(&self, width: usize) -> usize {
        let times = self.n_times * (width + 1) + self.n_leaps * (width + 4);
        times + self.n_types * 6 + self.n_chars + self.n_standard + self.n_utc
    }
}

impl Rule {
    /// Reads a rule of POSIX: `CET-1CEST,M3.5.0,M10.5.0/3`.
    fn read(text: &str) -> Option<Self> {
        let rest = without_name(text)?;
        let (standard, rest) = offset(rest)?;
        let standard = -standard;
        if rest.is_empty() {
            return Some(Rule { standard, summer: None });
        }
        let rest = without_name(rest)?;
        let (summer, rest) = match rest.strip_prefix(',') {
            Some(_) => (standard + 3_600, rest),
            None => {
                let (summer, rest) = offset(rest)?;
                (-summer, rest)
            }
        };
        let (start, end) = rest.strip_prefix(',')?.split_once(',')?;
        let summer = Some((summer, Moment::read(start)?, Moment::read(end)?));
        Some(Rule { standard, summer })
    }

    fn offset_at(&self, time: i64) -> i64 {
        let Some((summer, start, end)) = self.summer else {
            return self.standard;
        };
        let Ok(day) = u64::try_from((time + self.standard).div_euclid(86_400)) else {
            return self.standard;
        };
        let year = civil(day).0;
        let (start, end) = (start.in_year(year) - self.standard, end.in_year(year) - summer);
        let is_summer = match start < end {
            true => (start..end).contains(&time),
            // In the south the summer has the new year in it.
            false => !(end..start).contains(&time),
        };
        if is_summer { summer } else { self.standard }
    }
}

impl Moment {
    /// Reads `M3.5.0/3`.
    fn read(text: &str) -> Option<Self> {
        let (day, time) = text.split_once('/').unwrap_or((text, "2"));
        let (time, rest) = offset(time)?;
        rest.is_empty().then_some(())?;
        let day = match (day.strip_prefix('M'), day.strip_prefix('J')) {
            (Some(parts), _) => {
                let mut parts = parts.splitn(3, '.').map(|part| part.parse::<i64>().ok());
                let (month, week, weekday) = (parts.next()??, parts.next()??, parts.next()??);
                let fits = (1..=12).contains(&month) && (1..=5).contains(&week) && (0..=6).contains(&weekday);
                fits.then_some(Day::Month { month, week, weekday })?
            }
            (_, Some(day)) => Day::Julian(day.parse().ok()?),
            _ => Day::Zero(day.parse().ok()?),
        };
        Some(Moment { day, time })
    }

    /// Returns it in seconds since 1970, by the clock.
    fn in_year(self, year: u64) -> i64 {
        let first = |month: i64| i64::try_from(day_of(year, month.unsigned_abs(), 1)).unwrap_or(0);
        let is_leap = first(3) - first(2) == 29;
        let day = match self.day {
            Day::Zero(day) => first(1) + day,
            Day::Julian(day) => first(1) + day - 1 + i64::from(is_leap && day > 59),
            Day::Month { month, week, weekday } => {
                let begin = first(month);
                // 1970-01-01 was a Thursday.
                let ahead = (weekday - (begin + 4)).rem_euclid(7);
                let next = if month == 12 { begin + 31 } else { first(month + 1) };
                let day = begin + ahead + (week - 1) * 7;
                if day < next { day } else { day - 7 }
            }
        };
        day * 86_400 + self.time
    }
}

/// Leaves out the name of a zone: letters, or anything between angle brackets.
fn without_name(text: &str) -> Option<&str> {
    if let Some(quoted) = text.strip_prefix('<') {
        return quoted.split_once('>').map(|(_, rest)| rest);
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    (text.len() - rest.len() >= 3).then_some(rest)
}

/// Reads `-1`, `5:30` or `+02:00:00` at the beginning of a text, in seconds, and returns the rest.
fn offset(text: &str) -> Option<(i64, &str)> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("-", digits) => (-1, digits),
        ("+", digits) => (1, digits),
        _ => (1, text),
    };
    let end = digits
        .find(|c: char| !c.is_ascii_digit() && c != ':')
        .unwrap_or(digits.len());
    let (number, rest) = digits.split_at(end);
    let mut seconds = 0;
    for (part, unit) in number.splitn(3, ':').zip([3_600, 60, 1]) {
        seconds += part.parse::<i64>().ok().filter(|part| *part <= 200)? * unit;
    }
    Some((sign * seconds, rest))
}

/// Returns the day of a date from 1970 on, counted from 1970-01-01: [`civil`] the other way round.
pub(crate) fn day_of(year: u64, month: u64, day: u64) -> u64 {
    let (year, month_from_march) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * IN_ERA + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - TO_EPOCH
}

/// Days from 0000-03-01 to 1970-01-01.
const TO_EPOCH: u64 = 719_468;
/// Days in 400 years.
const IN_ERA: u64 = 146_097;

/// Returns year, month and day of a day counted from 1970-01-01. Counts years from March, so that the leap day comes last.
pub(crate) fn civil(day: u64) -> (u64, u64, u64) {
    let shifted = day + TO_EPOCH;
    let (era, day_of_era) = (shifted / IN_ERA, shifted % IN_ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `2026-03-29T01:00:00Z`.
    fn seconds(time: &str) -> i64 {
        let number = |range: std::ops::Range<usize>| time[range].parse::<u64>().expect("a number");
        let day = day_of(number(0..4), number(5..7), number(8..10));
        let seconds = ((day * 24 + number(11..13)) * 60 + number(14..16)) * 60 + number(17..19);
        i64::try_from(seconds).expect("a time")
    }

    #[test]
    fn rules_know_summer_and_winter() {
        for (rule, time, shown) in [
            (
                "CET-1CEST,M3.5.0,M10.5.0/3",
                "2026-03-29T00:59:59Z",
                "2026-03-29 01:59:59",
            ),
            (
                "CET-1CEST,M3.5.0,M10.5.0/3",
                "2026-03-29T01:00:00Z",
                "2026-03-29 03:00:00",
            ),
            (
                "CET-1CEST,M3.5.0,M10.5.0/3",
                "2026-10-25T00:59:59Z",
                "2026-10-25 02:59:59",
            ),
            (
                "CET-1CEST,M3.5.0,M10.5.0/3",
                "2026-10-25T01:00:00Z",
                "2026-10-25 02:00:00",
            ),
            ("EST5EDT,M3.2.0,M11.1.0", "2026-07-01T12:00:00Z", "2026-07-01 08:00:00"),
            (
                "NZST-12NZDT,M9.5.0,M4.1.0/3",
                "2026-01-01T00:00:00Z",
                "2026-01-01 13:00:00",
            ),
            ("<+0530>-5:30", "2026-12-31T20:00:00Z", "2027-01-01 01:30:00"),
            ("UTC0", "2026-02-28T23:00:00Z", "2026-02-28 23:00:00"),
        ] {
            let zone = Zone::of_rule(rule).expect(rule);
            assert_eq!(zone.shown(seconds(time)).as_deref(), Some(shown), "{rule}");
        }
        for wrong in ["", "x", "CET", "CET-1CEST", "CET-1CEST,M13.1.1,M1.1.1", "../x"] {
            assert_eq!(Zone::of_rule(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_unknown_zone_is_utc_by_name() {
        let shown = Zone::default().shown(seconds("2026-11-05T09:30:00Z"));
        assert_eq!(shown.as_deref(), Some("2026-11-05 09:30:00 UTC"));
    }

    #[test]
    fn zone_files_are_read() {
        // One change at the time 100, from one hour to two, and no rule.
        let header = |n_times: u32| {
            let mut bytes = b"TZif2".to_vec();
            bytes.extend([0; 15]);
            for n in [0, 0, 0, n_times, 2, 4] {
                bytes.extend(n.to_be_bytes());
            }
            bytes
        };
        let types = || {
            let mut bytes = Vec::new();
            for hours in [1_i32, 2] {
                bytes.extend((hours * 3_600).to_be_bytes());
                bytes.extend([0, 0]);
            }
            bytes.extend(*b"ABC\0");
            bytes
        };
        let mut file = header(0);
        file.extend(types());
        file.extend(header(1));
        file.extend(100_i64.to_be_bytes());
        file.push(1);
        file.extend(types());
        file.extend(*b"\n\n");
        let zone = Zone::read(&file).expect("a zone");
        assert_eq!((zone.offset_at(99), zone.offset_at(100)), (3_600, 7_200));
        assert_eq!(Zone::read(&file[..60]), None);
        assert_eq!(Zone::read(b"TZif"), None);
    }
}
