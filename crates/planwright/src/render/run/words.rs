//! Words of the views of a run: times of day, elapsed time, estimates, lists.

use planwright_run::clock::local_time;
use planwright_verbs::text::UNKNOWN_TIME;
pub(crate) use planwright_verbs::text::{clock as clock_of, elapsed};

/// A moment: milliseconds since 1970 in UTC.
pub(crate) type Moment = u64;

/// Returns the time of day of a moment in local time.
pub(crate) fn clock_at(moment: Moment) -> String {
    let local = local_time(moment);
    let clock = local.as_deref().and_then(|local| local.get(11..19));
    clock.unwrap_or(UNKNOWN_TIME).to_owned()
}

/// Returns an estimated duration in rounded words: `about 12 min`.
pub(crate) fn rough_duration(milliseconds: u64) -> String {
    let minutes = milliseconds.div_ceil(60_000);
    match minutes {
        0..=1 => match milliseconds.div_ceil(1_000) {
            0..=5 => "a few seconds".to_owned(),
            seconds @ 6..=50 => format!("about {} s", seconds.div_ceil(10) * 10),
            _ => "about a minute".to_owned(),
        },
        2..90 => format!("about {minutes} min"),
        // Single minutes do not matter for so long a time.
        90..600 => format!("about {}h {:02}m", minutes / 60, minutes % 60 / 10 * 10),
        _ => format!("about {}h", minutes.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_are_those_of_records() {
        let now = planwright_run::clock::now();
        let moment = planwright_run::clock::milliseconds_of(&now).expect("our own time");
        assert_eq!(clock_of(&now), clock_at(moment));
        // Zones differ by minutes, not by seconds.
        assert!(clock_of("2026-11-16T05:31:02.100Z").ends_with(":02"));
        assert_eq!(clock_of("\u{1b}é"), "--:--:--");
    }

    #[test]
    fn time_passes_in_seconds() {
        for (seconds, words) in [
            (0, "0s"),
            (12, "12s"),
            (59, "59s"),
            (60, "1m 00s"),
            (133, "2m 13s"),
            (3_599, "59m 59s"),
            (3_840, "1h 04m"),
            (360_000, "100h 00m"),
        ] {
            assert_eq!(elapsed(seconds * 1_000 + 999), words);
        }
    }

    #[test]
    fn estimates_are_rounded() {
        for (seconds, words) in [
            (0, "a few seconds"),
            (4, "a few seconds"),
            (12, "about 20 s"),
            (55, "about a minute"),
            (61, "about 2 min"),
            (700, "about 12 min"),
            (5_399, "about 1h 30m"),
            (9_000, "about 2h 30m"),
            (40_000, "about 12h"),
        ] {
            assert_eq!(rough_duration(seconds * 1_000), words);
        }
    }
}
