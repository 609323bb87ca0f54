//! Digests that show whether a text changed. They detect accidents, not attacks.

use std::fmt;
use std::io::{self, Read};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use twox_hash::XxHash3_128;

/// The 128-bit XXH3 of a text, written as 32 hexadecimal digits, as `xxh128sum` prints it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(u128);

impl Digest {
    pub fn of(text: &str) -> Self {
        Digest(XxHash3_128::oneshot(text.as_bytes()))
    }

    /// Returns the digest of everything in a reader. The content need not be text, and is never in memory as a whole.
    pub(crate) fn of_all(mut from: impl Read) -> io::Result<Self> {
        let mut hasher = XxHash3_128::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return Ok(Digest(hasher.finish_128())),
                Ok(n_bytes) => hasher.write(buffer.get(..n_bytes).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16)
            .map(Digest)
            .map_err(serde::de::Error::custom)
    }
}

/// Returns 32 bits that show whether a line was written completely.
pub(crate) fn line_check(bytes: &[u8]) -> u32 {
    XxHash3_128::oneshot(bytes) as u32
}

/// Returns 64 bits for a name that stands for longer ones.
pub(crate) fn short_name(bytes: &[u8]) -> u64 {
    XxHash3_128::oneshot(bytes) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_other_programs() {
        // What `xxh128sum` prints for no bytes at all.
        assert_eq!(Digest::of("").to_string(), "99aa06d3014798d86001c324468d497f");
    }

    #[test]
    fn chunked_reading_gives_the_same_digest() {
        for n_bytes in [0, 1, 240, 241, 65_536, 200_001] {
            let text = "x".repeat(n_bytes);
            assert_eq!(Digest::of_all(text.as_bytes()).expect("memory"), Digest::of(&text));
        }
    }
}
