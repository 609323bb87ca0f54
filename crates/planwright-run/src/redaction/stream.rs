//! Removes secrets from a stream of bytes. The result does not depend on how the stream is cut.

use std::borrow::Cow;
use std::sync::Arc;

use super::shapes::{Secret, SecretEnd, SecretShape, Window, WindowTooShort};
use super::{AnchorMeaning, SecretPatterns};

/// How many bytes before a window its rules see.
const MAX_CONTEXT: usize = 8;

/// Removes secrets from bytes that come one after another.
pub struct RedactionStream {
    patterns: Arc<SecretPatterns>,
    /// The end of the input, which may become a secret.
    held: Vec<u8>,
    /// The last bytes before the held ones.
    context: Vec<u8>,
    /// The rest of the last secret, which may follow.
    rest: SecretEnd,
}

impl std::fmt::Debug for RedactionStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedactionStream")
            .field("n_held", &self.held.len())
            .finish_non_exhaustive()
    }
}

impl RedactionStream {
    pub(super) fn new(patterns: Arc<SecretPatterns>) -> Self {
        RedactionStream {
            patterns,
            held: Vec::new(),
            context: Vec::new(),
            rest: SecretEnd::Nothing,
        }
    }

    /// Takes bytes, and returns the bytes that are known to be free of secrets and were not returned yet.
    pub fn push<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if self.held.is_empty() && self.rest == SecretEnd::Nothing && self.patterns.automaton.find(bytes).is_none() {
            let n_held = self.n_begun(bytes, 0);
            let (sure, held) = bytes.split_at(bytes.len() - n_held);
            self.remember(sure);
            self.held.extend_from_slice(held);
            return Cow::Borrowed(sure);
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        Cow::Owned(self.take(&all, false))
    }

    /// Returns the held bytes at the end of the input.
    pub fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        self.take(&held, true)
    }

    /// Returns the decided bytes, and holds the others.
    fn take(&mut self, bytes: &[u8], is_last: bool) -> Vec<u8> {
        let patterns = Arc::clone(&self.patterns);
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = self.skip_rest(bytes, 0);
        // Where the search continues: no secret starts before it.
        let mut from = at;
        loop {
            let found = patterns.automaton.find(bytes.get(from..).unwrap_or_default());
            let Some(start) = found.map(|found| from + found.start()) else {
                break;
            };
            match self.secret_at(&patterns, bytes, start, is_last) {
                Err(WindowTooShort) => {
                    out.extend_from_slice(bytes.get(at..start).unwrap_or_default());
                    self.hold(bytes, start);
                    return out;
                }
                Ok(None) => from = start + 1,
                Ok(Some((secret, instead))) => {
                    out.extend_from_slice(bytes.get(at..secret.start).unwrap_or_default());
                    out.extend_from_slice(instead.as_bytes());
                    self.rest = secret.rest;
                    at = self.skip_rest(bytes, secret.end);
                    from = at;
                }
            }
        }
        let n_begun = if is_last { 0 } else { self.n_begun(bytes, from) };
        let end = bytes.len() - n_begun;
        out.extend_from_slice(bytes.get(at..end).unwrap_or_default());
        self.hold(bytes, end);
        out
    }

    /// Holds the bytes from `end` on, and keeps those before it as context.
    fn hold(&mut self, bytes: &[u8], end: usize) {
        self.remember(bytes.get(..end).unwrap_or_default());
        self.held = bytes.get(end..).unwrap_or_default().to_vec();
    }

    fn remember(&mut self, bytes: &[u8]) {
        let n_new = bytes.len().min(MAX_CONTEXT);
        let n_old = self.context.len().min(MAX_CONTEXT - n_new);
        self.context.drain(..self.context.len() - n_old);
        self.context.extend_from_slice(&bytes[bytes.len() - n_new..]);
    }

    /// Returns where the bytes of the last secret end.
    fn skip_rest(&mut self, bytes: &[u8], from: usize) -> usize {
        let rest = bytes.get(from..).unwrap_or_default();
        let n_own = match &mut self.rest {
            SecretEnd::Nothing => return from,
            SecretEnd::Run(chars) => rest.iter().take_while(|&&byte| chars.has(byte)).count(),
            SecretEnd::PrivateKey(lines) => rest.iter().take_while(|&&byte| lines.takes(byte)).count(),
        };
        if n_own < rest.len() {
            self.rest = SecretEnd::Nothing;
        }
        from + n_own
    }

    /// Returns how many bytes at the end may start an anchor.
    fn n_begun(&self, bytes: &[u8], from: usize) -> usize {
        let most = (bytes.len() - from).min(self.patterns.longest_anchor.saturating_sub(1));
        let begins = |n: &usize| {
            let end = &bytes[bytes.len() - n..];
            self.patterns
                .candidates(end)
                .any(|anchor| anchor.bytes.len() > *n && anchor.bytes.starts_with(end))
        };
        (1..=most).rev().find(begins).unwrap_or(0)
    }

    /// Returns the secret that an anchor at an offset starts, and its replacement.
    fn secret_at(
        &self,
        patterns: &SecretPatterns,
        bytes: &[u8],
        at: usize,
        is_last: bool,
    ) -> Result<Option<(Secret, String)>, WindowTooShort> {
        let n_before = at.min(MAX_CONTEXT);
        let mut before = Vec::with_capacity(2 * MAX_CONTEXT);
        if n_before < MAX_CONTEXT {
            before.extend_from_slice(&self.context);
        }
        before.extend_from_slice(&bytes[at - n_before..at]);
        let window = Window {
            before: &before,
            bytes: bytes.get(at..).unwrap_or_default(),
            is_last,
        };
        for anchor in patterns.candidates(window.bytes) {
            if !is_prefix(&window, &anchor.bytes)? {
                continue;
            }
            let found = match anchor.meaning {
                AnchorMeaning::Value(ix) => patterns.value_in(&window, 0, ix)?,
                AnchorMeaning::Shape(shape) => patterns.shape_in(&window, shape, anchor.bytes.len())?,
            };
            if let Some((secret, instead)) = found {
                let secret = Secret {
                    start: at + secret.start,
                    end: at + secret.end,
                    ..secret
                };
                return Ok(Some((secret, instead)));
            }
        }
        Ok(None)
    }
}

fn is_prefix(window: &Window<'_>, prefix: &[u8]) -> Result<bool, WindowTooShort> {
    let n_common = window.bytes.iter().zip(prefix).take_while(|(a, b)| a == b).count();
    match n_common < prefix.len() && n_common == window.bytes.len() && !window.is_last {
        true => Err(WindowTooShort),
        false => Ok(n_common == prefix.len()),
    }
}

impl SecretPatterns {
    fn value_in(
        &self,
        window: &Window<'_>,
        start: usize,
        ix: usize,
    ) -> Result<Option<(Secret, String)>, WindowTooShort> {
        let Some(value) = self.values.get(ix) else {
            return Ok(None);
        };
        let inner = Window {
            before: &[],
            bytes: window.bytes.get(start..).unwrap_or_default(),
            is_last: window.is_last,
        };
        let found = is_prefix(&inner, &value.bytes)?;
        Ok(found.then(|| {
            let secret = Secret {
                start,
                end: start + value.bytes.len(),
                rest: SecretEnd::Nothing,
            };
            (secret, value.instead.clone())
        }))
    }

    /// Returns the secret of a shape. A known value is named after its variable.
    fn shape_in(
        &self,
        window: &Window<'_>,
        shape: &'static SecretShape,
        n_anchor: usize,
    ) -> Result<Option<(Secret, String)>, WindowTooShort> {
        let Some(secret) = shape.find(window, n_anchor)? else {
            return Ok(None);
        };
        for ix in 0..self.values.len() {
            if let Some((known, instead)) = self.value_in(window, secret.start, ix)? {
                let rest = match secret.rest {
                    SecretEnd::PrivateKey(_) if known.end > secret.end => SecretEnd::Nothing,
                    rest => rest,
                };
                let end = known.end.max(secret.end);
                return Ok(Some((Secret { end, rest, ..secret }, instead)));
            }
        }
        Ok(Some((secret, format!("[redacted: {}]", shape.name))))
    }
}
