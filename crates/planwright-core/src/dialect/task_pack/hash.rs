//! The canonical hash of a source plan: its body with LF line endings, without frontmatter.
//!
//! ```
//! use planwright_core::dialect::task_pack::hash::plan_hash;
//! use planwright_core::document::markdown::Markdown;
//! use planwright_core::text::SourceText;
//!
//! let hash = |text: &str| plan_hash(&Markdown::parse(&SourceText::new(text))).map(|found| found.hash);
//! assert_eq!(hash("---\nspec_id: a\n---\n# Plan\r\n"), hash("# Plan\n"));
//! assert_eq!(hash("---\nnobody closes this"), None);
//! ```

use memchr::memchr;
use sha2::{Digest as _, Sha256};

use crate::document::markdown::Markdown;

/// The name of this canonicalization, as the original prints it.
pub const CANONICALIZATION: &str = "source-plan-body-v1";

/// The message for a text with an unclosed frontmatter.
pub const UNCLOSED_FRONTMATTER: &str = "Frontmatter starts with --- but has no closing --- line.";

/// The hash of a source plan's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanHash {
    /// `sha256:` and 64 lower-case hexadecimal digits.
    pub hash: String,
    /// Whether a frontmatter was removed.
    pub removed_frontmatter: bool,
    /// The length of the hashed text.
    pub n_body_bytes: usize,
}

/// Hashes the body of a plan; none if its frontmatter is not closed.
pub fn plan_hash(plan: &Markdown) -> Option<PlanHash> {
    let frontmatter = plan.frontmatter();
    if frontmatter.is_some_and(|found| !found.is_closed) {
        return None;
    }
    let mut hasher = Sha256::new();
    let n_body_bytes = hash_with_lf(plan.source().slice(plan.body()), &mut hasher);
    let mut hash = String::from("sha256:");
    for byte in hasher.finalize() {
        for digit in [byte >> 4, byte & 0xf] {
            hash.extend(char::from_digit(u32::from(digit), 16));
        }
    }
    Some(PlanHash {
        hash,
        removed_frontmatter: frontmatter.is_some(),
        n_body_bytes,
    })
}

/// Hashes the text with every CRLF and lone CR as LF; returns the number of bytes.
fn hash_with_lf(text: &str, hasher: &mut Sha256) -> usize {
    let mut rest = text.as_bytes();
    let mut n_bytes = 0;
    while let Some(at) = memchr(b'\r', rest) {
        let (line, after) = rest.split_at(at);
        hasher.update(line);
        hasher.update(b"\n");
        n_bytes += line.len() + 1;
        rest = after.strip_prefix(b"\r\n").unwrap_or(&after[1..]);
    }
    hasher.update(rest);
    n_bytes + rest.len()
}

/// Returns whether a text is `sha256:` and 64 lower-case hexadecimal digits.
pub(super) fn is_plan_hash(text: &str) -> bool {
    let Some(digits) = text.strip_prefix("sha256:") else {
        return false;
    };
    digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::SourceText;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const A_LF: &str = "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7";
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[track_caller]
    fn check(text: impl AsRef<[u8]>, hex: &str, removed_frontmatter: bool, n_body_bytes: usize) {
        let source = SourceText::from_bytes(text.as_ref().to_vec());
        let expect = PlanHash {
            hash: format!("sha256:{hex}"),
            removed_frontmatter,
            n_body_bytes,
        };
        assert_eq!(plan_hash(&Markdown::parse(&source)), Some(expect));
    }

    #[test]
    fn body_is_hashed_with_lf_and_without_frontmatter() {
        check("", EMPTY, false, 0);
        check("abc", ABC, false, 3);
        check("---\nx: 1\n---\nabc", ABC, true, 3);
        check("---\r\nx: 1\r\n---\r\nabc", ABC, true, 3);
        check("---\n---", EMPTY, true, 0);
        check("a\n", A_LF, false, 2);
        check("a\r", A_LF, false, 2);
        check("---\r---\ra\r\n", A_LF, true, 2);
    }

    #[test]
    fn bad_bytes_and_the_byte_order_mark_are_part_of_the_body() {
        let length_of = |bytes: &[u8]| {
            let source = SourceText::from_bytes(bytes.to_vec());
            plan_hash(&Markdown::parse(&source)).map(|found| found.n_body_bytes)
        };
        assert_eq!(length_of(b"\xef\xbb\xbfabc"), Some(6));
        assert_eq!(length_of(b"\xed\xa0\x80"), Some(9));
        assert_eq!(length_of(b"\xe2\x82"), Some(3));
        assert_eq!(length_of(b"\xf0\x9f\x98x"), Some(4));
        assert_eq!(length_of(b"a\r\r\n\n\r"), Some(5));
        assert_eq!(length_of(b"---\nx"), None);
    }

    #[test]
    fn only_lower_case_hashes_are_hashes() {
        assert!(is_plan_hash(&format!("sha256:{EMPTY}")));
        assert!(!is_plan_hash(&format!("sha256:{}", EMPTY.to_uppercase())));
        assert!(!is_plan_hash(&format!("sha256:{EMPTY}0")));
        assert!(!is_plan_hash(&format!(" sha256:{EMPTY}")));
        assert!(!is_plan_hash("sha256:"));
    }
}
