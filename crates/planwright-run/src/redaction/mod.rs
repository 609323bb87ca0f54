//! Removes secrets from text of agents, planners, commands and hooks, by value and by shape. Knows no processes and no files.
//!
//! ```
//! use planwright_run::redaction::Redaction;
//!
//! let redaction = Redaction::of([("DEPLOY_KEY", "correct-horse")]);
//! let text = redaction.text("I used correct-horse and ghp_0123456789abcdefghijABCDEFGHIJ012345.");
//! assert_eq!(text.as_str(), "I used [DEPLOY_KEY] and [redacted: github token].");
//! ```

mod json;
mod shapes;
mod stream;
mod values;

use std::ffi::OsString;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

pub use shapes::shape_names;
pub use stream::RedactionStream;

use shapes::{SHAPES, SecretShape};
use values::{SecretForm, values_of};

/// With more anchors the fastest automaton would take megabytes.
const MAX_DFA_ANCHORS: usize = 500;

/// The secrets that are removed from text. A clone is cheap.
#[derive(Clone)]
pub struct Redaction {
    patterns: Arc<SecretPatterns>,
}

/// Text without secrets. Only a [`Redaction`] makes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactedText(String);

impl RedactedText {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

impl Deref for RedactedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RedactedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redaction")
            .field("n_values", &self.patterns.values.len())
            .finish_non_exhaustive()
    }
}

impl Redaction {
    /// Creates a redaction of the variables whose names indicate secrets, and of all known shapes.
    pub fn of<'v>(variables: impl IntoIterator<Item = (&'v str, &'v str)>) -> Self {
        let patterns = SecretPatterns::new(values_of(variables));
        Redaction {
            patterns: Arc::new(patterns),
        }
    }

    /// Creates a redaction of the variables of an environment.
    pub fn of_environment(environment: &[(OsString, OsString)]) -> Self {
        let text = environment.iter();
        Redaction::of(text.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?))))
    }

    pub fn text(&self, text: &str) -> RedactedText {
        let mut stream = self.stream();
        let mut bytes = stream.push(text.as_bytes()).into_owned();
        bytes.extend(stream.finish());
        RedactedText(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }

    /// Returns JSON, or text with JSON in it, without secrets, even if its strings are escaped. JSON stays JSON.
    pub fn json(&self, text: &str) -> RedactedText {
        match json::redact_strings(self, text) {
            Some(redacted) => self.text(&redacted),
            None => self.text(text),
        }
    }

    pub fn clean(&self, text: &mut String) {
        *text = self.text(text).into_string();
    }

    pub fn clean_all<'t>(&self, texts: impl IntoIterator<Item = &'t mut String>) {
        texts.into_iter().for_each(|text| self.clean(text));
    }

    /// Starts a redacted stream of bytes. The result does not depend on where the stream is cut.
    pub fn stream(&self) -> RedactionStream {
        RedactionStream::new(Arc::clone(&self.patterns))
    }
}

/// What a match of the automaton may start.
#[derive(Clone, Copy, Debug)]
enum AnchorMeaning {
    Value(usize),
    Shape(&'static SecretShape),
}

/// A text that identifies a secret, and what it may start.
#[derive(Debug)]
struct SecretAnchor {
    bytes: Vec<u8>,
    meaning: AnchorMeaning,
}

struct SecretPatterns {
    automaton: AhoCorasick,
    values: Vec<SecretForm>,
    /// The anchors of values before those of shapes, and longer values before shorter ones.
    anchors: Vec<SecretAnchor>,
    /// The anchors that start with a byte.
    by_first: Vec<Vec<usize>>,
    longest_anchor: usize,
}

impl SecretPatterns {
    fn new(values: Vec<SecretForm>) -> Self {
        let of_value = |(ix, value): (usize, &SecretForm)| SecretAnchor {
            bytes: value.anchor().to_vec(),
            meaning: AnchorMeaning::Value(ix),
        };
        let of_shape = |shape: &'static SecretShape| {
            let anchors = shape.anchors.iter();
            anchors.map(move |anchor| SecretAnchor {
                bytes: anchor.as_bytes().to_vec(),
                meaning: AnchorMeaning::Shape(shape),
            })
        };
        let anchors = values.iter().enumerate().map(of_value);
        let anchors: Vec<SecretAnchor> = anchors.chain(SHAPES.iter().flat_map(of_shape)).collect();
        let mut by_first = vec![Vec::new(); 256];
        for (ix, anchor) in anchors.iter().enumerate() {
            if let Some(&first) = anchor.bytes.first() {
                by_first[usize::from(first)].push(ix);
            }
        }
        // The kind whose speed does not depend on the values of an environment.
        let kind = (anchors.len() < MAX_DFA_ANCHORS).then_some(AhoCorasickKind::DFA);
        let automaton = AhoCorasick::builder()
            .kind(kind)
            .match_kind(MatchKind::LeftmostLongest)
            .build(anchors.iter().map(|anchor| &anchor.bytes))
            .expect("an environment has fewer variables than an automaton has states");
        let longest_anchor = anchors.iter().map(|anchor| anchor.bytes.len()).max().unwrap_or(0);
        SecretPatterns {
            automaton,
            values,
            anchors,
            by_first,
            longest_anchor,
        }
    }

    fn candidates(&self, bytes: &[u8]) -> impl Iterator<Item = &SecretAnchor> {
        let first = bytes.first().and_then(|&first| self.by_first.get(usize::from(first)));
        first.into_iter().flatten().filter_map(|&ix| self.anchors.get(ix))
    }
}

#[cfg(test)]
mod tests;
