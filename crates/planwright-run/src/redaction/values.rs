//! Secrets by value: variables whose names announce a secret, in the forms in which programs print them.

use std::collections::BTreeSet;

/// The shortest value that counts as a secret: shorter ones occur in many words.
const MIN_BYTES: usize = 8;

/// The shortest value that is also searched as base64: what remains of a shorter one could be any word.
const MIN_BASE64: usize = 12;

/// Parts of the names of variables that hold secrets.
const TELLING: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
];

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecretForm {
    pub(super) bytes: Vec<u8>,
    pub(super) instead: String,
}

impl SecretForm {
    /// Returns the bytes that identify it.
    pub(super) fn anchor(&self) -> &[u8] {
        self.bytes.get(..MIN_BYTES).unwrap_or(&self.bytes)
    }
}

/// Returns the secrets among variables in all their forms, the longest first: a secret that is part of another is searched after it.
pub(super) fn values_of<'v>(variables: impl IntoIterator<Item = (&'v str, &'v str)>) -> Vec<SecretForm> {
    let is_telling = |name: &str| {
        let name = name.to_ascii_uppercase();
        TELLING.iter().any(|part| name.contains(part))
    };
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (name, value) in variables {
        if value.trim().len() < MIN_BYTES || !is_telling(name) {
            continue;
        }
        for bytes in forms(value.trim()) {
            if bytes.len() >= MIN_BYTES && seen.insert(bytes.clone()) {
                let instead = format!("[{name}]");
                found.push(SecretForm { bytes, instead });
            }
        }
    }
    found.sort_by_key(|value| std::cmp::Reverse(value.bytes.len()));
    found
}

/// Returns a value as programs print it: plain, in JSON and in JSON within JSON, in URLs, in HTML, and as base64.
fn forms(value: &str) -> Vec<Vec<u8>> {
    let escaped = json_escaped(value);
    let with_solidus = escaped.replace('/', "\\/");
    let ascii = ascii_escaped(&escaped);
    let texts = [
        value.to_owned(),
        json_escaped(&escaped),
        with_solidus,
        ascii,
        escaped,
        url_encoded(value, "%20", true, ""),
        url_encoded(value, "%20", false, ""),
        url_encoded(value, "+", true, ""),
        // As Python's `quote` and as JavaScript's `encodeURIComponent` and `encodeURI`.
        url_encoded(value, "%20", true, "/"),
        url_encoded(value, "%20", true, "!*'()"),
        url_encoded(value, "%20", true, ";,/?:@&=+$!*'()#"),
        html_escaped(value),
    ];
    let mut forms: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    if value.len() >= MIN_BASE64 {
        for alphabet in [STANDARD, URL_SAFE] {
            forms.extend((0..3).map(|offset| base64_within(value.as_bytes(), offset, alphabet)));
        }
    }
    forms
}

pub(super) fn json_escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(text).to_owned()
}

/// Escapes a text for a JSON string, with escapes for everything that is not ASCII.
fn ascii_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => out.push(c),
            c => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out
}

fn html_escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// Encodes a text for URLs. `kept` are the unchanged characters in addition to letters, digits and `-._~`.
fn url_encoded(text: &str, space: &str, is_upper: bool, kept: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push_str(space),
            b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() || kept.contains(char::from(byte)) => out.push(char::from(byte)),
            byte if is_upper => out.push_str(&format!("%{byte:02X}")),
            byte => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

/// Returns the characters of base64 that depend on a value alone, if it starts `offset` bytes into a group of three.
fn base64_within(value: &[u8], offset: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let bits: Vec<bool> = value
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1))
        .collect();
    // The bits before the first character that has no bit of another byte.
    let n_skipped = (6 - offset * 8 % 6) % 6;
    let own = bits.get(n_skipped..).unwrap_or_default();
    let sextets = own.chunks_exact(6).map(|sextet| {
        let index = sextet.iter().fold(0, |index, &bit| index << 1 | usize::from(bit));
        alphabet.get(index).copied().unwrap_or(b'A')
    });
    sextets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_values_are_recognised_by_variable_names() {
        let found = values_of([
            ("API_KEY", "abcdefgh-key"),
            ("My_Token", "abcdefgh"),
            ("PATH", "/usr/bin:/bin"),
            ("EMPTY_KEY", ""),
            ("SHORT_KEY", "abc"),
            ("BLANK_KEY", "              "),
            ("LINE_SECRET", "  ab cd ef\n"),
        ]);
        let names: BTreeSet<&str> = found.iter().map(|value| value.instead.as_str()).collect();
        assert_eq!(Vec::from_iter(names), ["[API_KEY]", "[LINE_SECRET]", "[My_Token]"]);
        let is_there = |bytes: &str| found.iter().any(|value| value.bytes == bytes.as_bytes());
        assert!(is_there("abcdefgh-key") && is_there("ab cd ef") && is_there("ab%20cd%20ef"));
    }

    #[test]
    fn the_middle_of_base64_is_the_same_wherever_a_value_begins() {
        // `echo -n xxcorrect-horse-batteryyy | base64`, with none, one and two letters before the value.
        for (offset, whole) in [
            "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5eXk=",
            "eGNvcnJlY3QtaG9yc2UtYmF0dGVyeXl5",
            "eHhjb3JyZWN0LWhvcnNlLWJhdHRlcnl5eQ==",
        ]
        .into_iter()
        .enumerate()
        {
            let within = base64_within(b"correct-horse-battery", offset, STANDARD);
            let within = String::from_utf8(within).expect("ASCII");
            assert!(whole.contains(&within) && within.len() >= 26, "{offset}: {within}");
        }
    }
}
