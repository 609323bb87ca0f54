//! Digests that tell whether a text is the one that was seen before. They notice accidents, not attacks: whoever can forge a
//! plan's text may write the file anyway.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use twox_hash::XxHash3_128;

/// The 128-bit XXH3 of a text, written as 32 hexadecimal digits, as `xxh128sum` prints it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(u128);

impl Digest {
    /// Returns the digest of a text.
    pub fn of(text: &str) -> Self {
        Digest::of_bytes(text.as_bytes())
    }

    /// Returns the digest of bytes, which need not be text.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Digest(XxHash3_128::oneshot(bytes))
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

/// Returns 32 bits that tell whether a line was written whole.
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
}
