//! Keeps secrets out of what is written down of a process: wherever one stands in its output, its name stands instead, also where
//! the system hands it over in two pieces.

use std::borrow::Cow;
use std::ffi::OsString;

/// The shortest value that is taken for a secret: shorter ones would be found in many words.
const MIN_BYTES: usize = 8;

/// Parts of the names of variables that hold secrets.
const TELLING: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// Something that must not be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    value: Vec<u8>,
    instead: String,
}

/// Returns the secrets in an environment: the variables whose names say so.
pub fn secrets_of(environment: &[(OsString, OsString)]) -> Vec<Secret> {
    let text = environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    secrets(text)
}

fn secrets<'v>(variables: impl IntoIterator<Item = (&'v str, &'v str)>) -> Vec<Secret> {
    let is_telling = |name: &str| {
        let name = name.to_ascii_uppercase();
        TELLING.iter().any(|part| name.contains(part))
    };
    let found = variables
        .into_iter()
        .filter(|(name, value)| value.len() >= MIN_BYTES && is_telling(name));
    let mut found: Vec<Secret> = found
        .map(|(name, value)| Secret {
            value: value.as_bytes().to_vec(),
            instead: format!("[{name}]"),
        })
        .collect();
    // What stands inside of another is looked for after it.
    found.sort_by_key(|secret| std::cmp::Reverse(secret.value.len()));
    found
}

/// Returns a text without secrets.
pub fn without_secrets(text: &str, secrets: &[Secret]) -> String {
    let mut veil = Veil::new(secrets.to_vec());
    let mut covered = veil.cover(text.as_bytes()).into_owned();
    covered.extend(veil.rest());
    String::from_utf8_lossy(&covered).into_owned()
}

/// Covers secrets in bytes that come one after another.
#[derive(Debug)]
pub(super) struct Veil {
    secrets: Vec<Secret>,
    /// The end of what came, which may be the beginning of a secret.
    held: Vec<u8>,
}

impl Veil {
    pub(super) fn new(secrets: Vec<Secret>) -> Self {
        Veil {
            secrets,
            held: Vec::new(),
        }
    }

    /// Returns what may be written down of all that came so far and was not returned yet.
    pub(super) fn cover<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if self.secrets.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut rest: &[u8] = &[std::mem::take(&mut self.held), bytes.to_vec()].concat();
        let mut covered = Vec::with_capacity(rest.len());
        while let Some((at, secret)) = self.first_in(rest) {
            covered.extend_from_slice(&rest[..at]);
            covered.extend_from_slice(secret.instead.as_bytes());
            rest = &rest[at + secret.value.len()..];
        }
        let (sure, held) = rest.split_at(rest.len() - self.longest_beginning(rest));
        covered.extend_from_slice(sure);
        self.held = held.to_vec();
        Cow::Owned(covered)
    }

    /// Returns what was held back, when nothing more comes.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    fn first_in(&self, bytes: &[u8]) -> Option<(usize, &Secret)> {
        let places = self.secrets.iter().filter_map(|secret| {
            let at = memchr::memmem::find(bytes, &secret.value)?;
            Some((at, secret))
        });
        // Of two at one place the longer one, which comes first.
        places.min_by_key(|(at, _)| *at)
    }

    /// Returns how many bytes at the end are the beginning of a secret.
    fn longest_beginning(&self, bytes: &[u8]) -> usize {
        let of = |secret: &Secret| {
            let most = bytes.len().min(secret.value.len() - 1);
            (1..=most)
                .rev()
                .find(|&n| bytes.ends_with(&secret.value[..n]))
                .unwrap_or(0)
        };
        self.secrets.iter().map(of).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Vec<Secret> {
        secrets([
            ("API_KEY", "abcdefgh-key"),
            ("My_Token", "abcdefgh"),
            ("PATH", "/usr/bin:/bin"),
            ("EMPTY_KEY", ""),
            ("SHORT_KEY", "abc"),
        ])
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        let names: Vec<String> = some().into_iter().map(|secret| secret.instead).collect();
        assert_eq!(names, ["[API_KEY]", "[My_Token]"]);
    }

    #[test]
    fn secrets_are_covered_wherever_they_are_cut() {
        let text = "say abcdefgh-key, abcdefgh! and abcdefg, abcdefgh-ke";
        let expected = "say [API_KEY], [My_Token]! and abcdefg, [My_Token]-ke";
        assert_eq!(without_secrets(text, &some()), expected);
        for cut in 0..text.len() {
            let mut veil = Veil::new(some());
            let mut out = veil.cover(&text.as_bytes()[..cut]).into_owned();
            out.extend(veil.cover(&text.as_bytes()[cut..]).into_owned());
            out.extend(veil.rest());
            let out = String::from_utf8(out).expect("text");
            // What was cut off may be the shorter secret already.
            assert!(!out.contains("abcdefgh"), "{cut}: {out}");
        }
        let mut veil = Veil::new(some());
        let mut out = Vec::new();
        for byte in text.bytes() {
            out.extend(veil.cover(&[byte]).into_owned());
        }
        out.extend(veil.rest());
        assert!(!String::from_utf8_lossy(&out).contains("abcdefgh"));
        assert_eq!(without_secrets("nothing here", &some()), "nothing here");
    }
}
