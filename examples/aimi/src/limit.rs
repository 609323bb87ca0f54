//! Counts what clients call, minute by minute.

use std::collections::HashMap;

/// How often a client may call in a minute.
pub const LIMIT: u32 = 100;

/// The calls of the current minute, by API key.
#[derive(Default)]
pub struct Counts {
    minute: u64,
    calls: HashMap<String, u32>,
}

impl Counts {
    /// Counts a call that came at a time, in seconds, and returns how many its client has made in that minute.
    pub fn count(&mut self, api_key: &str, now: u64) -> u32 {
        if self.minute != now / 60 {
            self.minute = now / 60;
            self.calls.clear();
        }
        let n_calls = self.calls.entry(api_key.to_owned()).or_default();
        *n_calls += 1;
        *n_calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_counted_apart() {
        let mut counts = Counts::default();
        assert_eq!([counts.count("ada", 5), counts.count("ada", 6)], [1, 2]);
        assert_eq!(counts.count("bob", 6), 1);
    }

    #[test]
    fn counts_are_forgotten_after_a_minute() {
        let mut counts = Counts::default();
        assert_eq!([counts.count("ada", 59), counts.count("ada", 60)], [1, 1]);
    }
}
