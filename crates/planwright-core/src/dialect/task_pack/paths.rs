//! The valid paths of a pack, by the original's rules for their text. Does not access the disk.

use crate::document::markdown::{is_line_end, is_space};

/// Returns whether a path names one file in the repository.
pub(crate) fn is_concrete(path: &str) -> bool {
    let is_glob = |byte: u8| matches!(byte, b'*' | b'?' | b'[' | b']' | b'{' | b'}');
    !path.bytes().any(is_glob) && is_relative(path) && path.split('/').all(is_portable_segment)
}

/// Returns whether a task may list a path or a bounded glob as a side effect.
pub(super) fn is_side_effect_pattern(pattern: &str) -> bool {
    let is_device = |segment: &str| is_device_name(&segment.replace(['*', '?'], "x"));
    !pattern.contains("**")
        && is_relative(pattern)
        && !is_runtime_mirror(pattern)
        && !is_secret(pattern)
        && pattern
            .split('/')
            .all(|segment| is_clean_segment(segment) && !is_device(segment))
}

/// Returns whether a task may target a repository scope: `.` or a concrete path, not a mirror, not secret.
pub(super) fn is_target_scope(scope: &str) -> bool {
    (scope == "." || is_concrete(scope)) && !is_runtime_mirror(scope) && !is_secret(scope)
}

/// Returns whether a path is a generated mirror of an agent host, at the root of the repository only.
pub(super) fn is_runtime_mirror(path: &str) -> bool {
    [".claude", ".codex", ".agents/skills"].iter().any(|mirror| {
        path.strip_prefix(mirror)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn is_relative(path: &str) -> bool {
    // A first segment that begins with two dots is refused even if it is a name: `..foo`.
    let has_ellipsis = || path.as_bytes().windows(3).any(|bytes| bytes == b"...");
    !path.starts_with('/') && !path.starts_with("..") && !path.as_bytes().contains(&b'\\') && !has_ellipsis()
}

fn is_portable_segment(segment: &str) -> bool {
    is_clean_segment(segment) && !is_device_name(segment)
}

fn is_clean_segment(segment: &str) -> bool {
    // Most segments consist of these letters, for which only a dot at the end is invalid.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let is_clean = || {
        !segment.starts_with(is_space)
            && !segment.ends_with(is_space)
            && !segment.contains(|c: char| matches!(c, '<' | '>' | ':' | '"' | '|') || c < ' ')
    };
    !segment.is_empty() && !segment.ends_with('.') && (segment.bytes().all(is_plain) || is_clean())
}

/// Returns whether Windows reserves a name for a device, with or without an extension.
fn is_device_name(segment: &str) -> bool {
    let (stem, extension) = segment.split_once('.').unwrap_or((segment, ""));
    // All of them have three or four letters.
    if !matches!(stem.len(), 3 | 4) || extension.contains(is_line_end) {
        return false;
    }
    let is = |name: &str| stem.eq_ignore_ascii_case(name);
    match stem.as_bytes() {
        [port @ .., b'1'..=b'9'] => [b"com", b"lpt"].iter().any(|name| port.eq_ignore_ascii_case(*name)),
        _ => ["con", "prn", "aux", "nul"].into_iter().any(is),
    }
}

/// Files of the original's own repository that its deny list would hit.
const ALLOWED: [&str; 4] = [
    "src/cli/helpers/secret-deny-patterns.js",
    "src/cli/contracts/security/secret-deny-patterns.json",
    "src/cli/contracts/security/secret-deny-patterns.schema.json",
    "tests/unit/secret-deny-patterns-contracts.test.js",
];

/// Names that look secret and are harmless.
const HARMLESS_NAMES: [&str; 3] = [".env.example", ".env.template", ".env.sample"];

/// Secret file names at any depth, in lower case: literal parts, with any characters between two of them.
const SECRET_NAMES: [&[&str]; 30] = [
    &[".env"],
    &[".env.", ""],
    &["", ".pem"],
    &["", ".key"],
    &["id_rsa", ""],
    &["id_ed25519", ""],
    &["id_dsa", ""],
    &["id_ecdsa", ""],
    &["", ".p12"],
    &["", ".pfx"],
    &["", ".keystore"],
    &["", ".kdbx"],
    &["", ".htpasswd"],
    &[".npmrc"],
    &[".pypirc"],
    &[".netrc"],
    &[".git-credentials"],
    &["google-services.json"],
    &["googleservice-info.plist"],
    &["", "serviceaccount", ".json"],
    &["firebase-adminsdk-", ".json"],
    &["", "token", ""],
    &["", "secret", ""],
    &["", "credentials", ""],
    &["", "password", ""],
    &["", "apikey", ""],
    &["", "api_key", ""],
    &["", ".mobileprovision"],
    &["", ".cer"],
    &["", ".certsigningrequest"],
];

/// Returns whether a path probably holds a secret, ignoring case.
pub(super) fn is_secret(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folder, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    // The original's `.*` in front of a name does not match these.
    let is_plain_folder = !folder.contains(is_line_end);
    let is_named = || SECRET_NAMES.iter().any(|parts| has_parts(name, parts));
    if (is_plain_folder && HARMLESS_NAMES.contains(&name)) || ALLOWED.contains(&path) {
        return false;
    }
    // `.aws/credentials` and the files in `.gcp` are covered by their names.
    (is_plain_folder && is_named()) || lower == ".aws/config" || lower == ".aws/credentials"
}

/// Returns whether a name begins with the first part, ends with the last and has the others between, in order.
fn has_parts(name: &str, parts: &[&str]) -> bool {
    let [first, between @ .., last] = parts else {
        return parts.first() == Some(&name);
    };
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    for part in between {
        match memchr::memmem::find(rest.as_bytes(), part.as_bytes()) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks what a rule accepts and refuses: words, and paths with characters that no word has.
    #[track_caller]
    fn check(rule: fn(&str) -> bool, yes: (&str, &[&str]), no: (&str, &[&str])) {
        for path in yes.0.split(' ').chain(yes.1.iter().copied()) {
            assert!(rule(path), "{path:?} should pass");
        }
        for path in no.0.split(' ').chain(no.1.iter().copied()) {
            assert!(!rule(path), "{path:?} should not pass");
        }
    }

    #[test]
    fn concrete_paths_name_one_portable_file() {
        check(
            is_concrete,
            (
                "a src/a.rs документ/日本.md .github/x.yml a..b a/..b console.rs com0 com10 lpt conin$ a.con xcon ~ \
                 a/~b -x @a #a a;b .claude/x .env",
                &["a b/c d.txt", "a\u{7f}", "a\u{85}", "con.\u{2028}x"],
            ),
            (
                ". .. ./a a/. a/.. ../a a//b /a a/ / ..a ... a...b a* a? a[b a]b a{b a}b a. a./b con CON Con.txt \
                 con.a.b prn aux.rs nul com1 COM9.x lpt5 a/nul/b a<b a>b a:b a|b c:/x",
                &[
                    "",
                    " ",
                    "\u{a0}",
                    "a\\b",
                    " a",
                    "a ",
                    "a/ b",
                    "a /b",
                    "\u{a0}a",
                    "a\u{feff}",
                    "a\u{3000}/b",
                    "a\"b",
                    "a\tb",
                    "a\u{0}",
                    "a\nb",
                ],
            ),
        );
    }

    #[test]
    fn side_effects_may_be_bounded_globs() {
        check(
            is_side_effect_pattern,
            (
                "package-lock.json * *.snap src/*/a.rs a?b a[0-9] {a,b}.rs co* con* .agents/x */.claude .c*/x \
                 x/.codex/y",
                &[],
            ),
            (
                "** **/*.json a/** a***b ../a /a a/ . ./a a//b ... con nul.* a:b a|b .claude .claude/* .codex/x \
                 .agents/skills .agents/skills/* .env *.pem x/*token* a. ..*",
                &["", " a", "a ", "a\\b"],
            ),
        );
    }

    #[test]
    fn target_scopes_are_concrete_and_not_reserved() {
        check(
            is_target_scope,
            (". a packages/b", &[]),
            (".. ./ a/ /a .claude .env a/tokens a* ../s", &[""]),
        );
    }

    #[test]
    fn mirrors_are_at_the_root_and_case_sensitive() {
        check(
            is_runtime_mirror,
            (
                ".claude .claude/x .codex .codex/a/b .agents/skills .agents/skills/x",
                &[],
            ),
            (
                ".agents .agents/x .agents/skillset a/.claude/x .Claude/x .cursor .claudex .qoder/x",
                &[],
            ),
        );
    }

    #[test]
    fn secrets_are_found_by_name() {
        check(
            is_secret,
            (
                ".env a/.env .ENV .env.local .env.example.bak a.pem A/B.PEM .pem x.key id_rsa id_rsa.pub ID_ED25519 \
                 id_dsa_x a/id_ecdsa a.p12 a.pfx a.keystore a.kdbx .htpasswd x.htpasswd .npmrc a/.npmrc .pypirc \
                 .netrc .git-credentials .aws/credentials .aws/config .AWS/Config b/.aws/credentials \
                 .gcp/my-credentials-1.json google-services.json app/GoogleService-Info.plist \
                 myServiceAccountKey.json serviceaccount.json firebase-adminsdk-x.json firebase-adminsdk-.json \
                 src/tokenizer.rs a/SECRETS.md password_reset.rs apikey x_API_KEY.txt a.mobileprovision a.cer \
                 a.certSigningRequest tests/secret-deny-patterns.js SRC/cli/helpers/secret-deny-patterns.js",
                &[],
            ),
            (
                ".env.example a/.ENV.Template .env.sample .environment env x.env a.pem.txt key keys.rs x_id_rsa \
                 secrets/a.txt token/a.rs b/.aws/config .aws/x .gcp/a.json google-services.json5 service-account.json \
                 serviceAccount.yaml api-key.rs a.cert credential.rs pass.rs src/cli/helpers/secret-deny-patterns.js \
                 tests/unit/secret-deny-patterns-contracts.test.js",
                &["\u{17f}ecret", "x\u{2028}/token"],
            ),
        );
    }
}
