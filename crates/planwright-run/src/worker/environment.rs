//! The environment variables of a process: allowed ones and given ones. Reads no environment.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// The variables that programs need: paths, language, terminal, proxies and certificates. They hold no secrets, except possibly in a
/// proxy's address.
pub(crate) const DEFAULT_ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// Returns the variables whose names match a pattern, and the extra ones, which win. Sorted by name, each name once.
///
/// In a pattern `*` matches any characters or none. Letter case matters.
pub(crate) fn allowed_environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    allow: &[impl AsRef<str>],
    extra: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let is_allowed = |name: &OsString| {
        let name = name.as_encoded_bytes();
        allow.iter().any(|pattern| matches(pattern.as_ref().as_bytes(), name))
    };
    let mut allowed: BTreeMap<_, _> = variables.into_iter().filter(|(name, _)| is_allowed(name)).collect();
    allowed.extend(extra);
    allowed.into_iter().collect()
}

/// Returns whether a name matches a pattern: every part between stars matches at its first occurrence, the last one at the end.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut parts = pattern.split(|byte| *byte == b'*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match memchr::memmem::find(rest, part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("PATH", "PATH", true),
            ("PATH", "PATHS", false),
            ("PATH", "path", false),
            ("LC_*", "LC_ALL", true),
            ("LC_*", "LC_", true),
            ("LC_*", "XLC_ALL", false),
            ("*_KEY", "API_KEY", true),
            ("*_KEY", "API_KEYS", false),
            ("A*B*C", "AxBxC", true),
            ("A*B*C", "ABC", true),
            ("A*B*C", "ACB", false),
            ("A*A", "A", false),
            ("*", "anything", true),
            ("", "", true),
            ("", "A", false),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn only_allowed_variables_are_passed_and_extra_ones_override() {
        let pair = |(name, value): (&str, &str)| (OsString::from(name), OsString::from(value));
        let variables = [
            ("TOKEN", "secret"),
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("HOME", "/home/me"),
        ]
        .map(pair);
        let extra = [("HOME", "/elsewhere"), ("PLANWRIGHT_TASK", "t1")].map(pair);
        let expected = [
            ("HOME", "/elsewhere"),
            ("LC_ALL", "C"),
            ("PATH", "/bin"),
            ("PLANWRIGHT_TASK", "t1"),
        ]
        .map(pair);
        assert_eq!(allowed_environment(variables, DEFAULT_ALLOWED, extra), expected);
    }

    #[test]
    #[cfg(unix)]
    fn names_and_values_need_not_be_text() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = (
            OsString::from_vec(b"X\xff".to_vec()),
            OsString::from_vec(b"\xfe".to_vec()),
        );
        assert_eq!(allowed_environment([odd.clone()], &["Y*"], []), []);
        assert_eq!(allowed_environment([odd.clone()], &["X*"], []).first(), Some(&odd));
    }
}
