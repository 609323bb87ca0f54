//! Durations, money, tokens and times as words.

pub use planwright_core::text::{count, listed as some_of};
use planwright_run::clock::{local_time, milliseconds_of};

/// Returns a duration in words: `0.4s`, `12s`, `2m 13s`, `1h 04m`.
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0..10 => format!("{}.{}s", seconds, milliseconds % 1_000 / 100),
        _ => elapsed(milliseconds),
    }
}

/// Returns elapsed time in words that change once a second: `12s`, `2m 13s`, `1h 04m`.
pub fn elapsed(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Returns an amount of US dollars: `$0.42`, `$0.004`.
pub fn money(dollars: f64) -> String {
    if dollars > 0.0 && dollars < 0.01 {
        return format!("${dollars:.4}");
    }
    format!("${dollars:.2}")
}

/// Returns a number of tokens: `950`, `12.3k`, `4.1M`.
pub fn tokens(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

/// The text for an unreadable time of day.
pub const UNKNOWN_TIME: &str = "--:--:--";

/// Returns the time of day of a record's time by the clock of this machine: `05:31:02`.
pub fn clock(time: &str) -> String {
    let local = milliseconds_of(time).and_then(local_time);
    let clock = local.as_deref().and_then(|local| local.get(11..19));
    clock.unwrap_or(UNKNOWN_TIME).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_named_in_part() {
        let of = |names: &[&str], most| some_of(names.iter(), most);
        assert_eq!(of(&["a", "b"], 3), "a, b");
        assert_eq!(of(&["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(of(&[], 2), "");
    }

    #[test]
    fn amounts_are_short() {
        let durations = [0, 450, 9_990, 12_000, 133_000, 3_840_000, 360_000_000].map(duration);
        assert_eq!(
            durations,
            ["0.0s", "0.4s", "9.9s", "12s", "2m 13s", "1h 04m", "100h 00m"]
        );
        assert_eq!(
            [0.0, 0.004, 0.42, 12.0].map(money),
            ["$0.00", "$0.0040", "$0.42", "$12.00"]
        );
        assert_eq!([0, 999, 12_345, 4_100_000].map(tokens), ["0", "999", "12.3k", "4.1M"]);
        assert_eq!(clock("2026-11-16T05:31:02.125Z").len(), "05:31:02".len());
        assert_eq!(clock("nö"), UNKNOWN_TIME);
    }
}
