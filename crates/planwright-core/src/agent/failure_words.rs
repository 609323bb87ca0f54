//! Tables of words, statuses and codes that show why an agent cannot work. Knows no format.

use crate::text::clip;

/// What a line of an agent says about its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// A tool was not allowed.
    Denied,
    /// The provider's rate limit is reached, or it is overloaded: waiting helps.
    RateLimited,
    /// The agent cannot work until the user fixes its setup, or the network is back.
    Broken,
    /// A request is tried again.
    Retry,
}

/// Words by kind, in lower case; the first that occurs decides.
static WORDS: &[(FailureKind, &str)] = &[
    (FailureKind::Denied, "patch rejected"),
    (FailureKind::Denied, "rejected permission"),
    (FailureKind::RateLimited, "429 too many requests"),
    (FailureKind::RateLimited, "too many requests"),
    (FailureKind::RateLimited, "api error: 429"),
    (FailureKind::RateLimited, "api error: 529"),
    (FailureKind::RateLimited, "status 429"),
    (FailureKind::RateLimited, "status: 429"),
    (FailureKind::RateLimited, "status code 429"),
    (FailureKind::RateLimited, "status 529"),
    (FailureKind::RateLimited, "rate limit"),
    (FailureKind::RateLimited, "rate_limit"),
    (FailureKind::RateLimited, "ratelimiterror"),
    (FailureKind::RateLimited, "usage limit"),
    (FailureKind::RateLimited, "daily quota"),
    (FailureKind::RateLimited, "quota exceeded"),
    (FailureKind::RateLimited, "exceeded your current quota"),
    (FailureKind::RateLimited, "insufficient_quota"),
    (FailureKind::RateLimited, "resource_exhausted"),
    (FailureKind::RateLimited, "suggested retry after"),
    (FailureKind::RateLimited, "currently experiencing high demand"),
    (FailureKind::RateLimited, "overloaded"),
    (FailureKind::Broken, "not logged in"),
    (FailureKind::Broken, "invalid api key"),
    (FailureKind::Broken, "api error: 401"),
    (FailureKind::Broken, "unexpected status 401"),
    (FailureKind::Broken, "stream disconnected"),
    (FailureKind::Broken, "waiting for network"),
    (FailureKind::Broken, "missing environment variable"),
    (FailureKind::Broken, "input_too_large"),
    (FailureKind::Broken, "cannot connect"),
    (FailureKind::Broken, "connection error"),
    (FailureKind::Broken, "connection refused"),
    (FailureKind::Broken, "unknown option"),
    (FailureKind::Broken, "unknown argument"),
    (FailureKind::Broken, "unexpected argument"),
    (FailureKind::Retry, "retrying in"),
    (FailureKind::Retry, "retrying with"),
    (FailureKind::Retry, "reconnecting"),
    (FailureKind::Retry, "failed. retrying"),
];

/// HTTP statuses that mean: later.
pub(super) static LIMIT_STATUSES: &[i64] = &[429, 529];

/// HTTP statuses with which a provider refuses a request.
pub(super) static ERROR_STATUSES: &[i64] = &[400, 401, 403, 404, 413, 429, 500, 502, 503, 504, 529];

/// Exit codes that stand for a signal: 128 plus the number of HUP, INT, QUIT, KILL, TERM.
pub(super) static INTERRUPTED_CODES: &[i32] = &[129, 130, 131, 137, 143];

/// Words before a time to wait, in lower case.
static WAITS: &[&str] = &["retry after", "retry-after", "try again in", "retrying in", "retry in"];

/// Units of time by what they begin with, in milliseconds; longer words first.
static UNITS: &[(&str, f64)] = &[
    ("ms", 1.0),
    ("milli", 1.0),
    ("s", 1_000.0),
    ("min", 60_000.0),
    ("m", 60_000.0),
    ("h", 3_600_000.0),
    ("d", 86_400_000.0),
];

/// How much of a text is searched, in bytes: errors name their cause at the start.
const MAX_LOOKED_AT: usize = 8 * 1024;

fn lower_case(text: &str) -> String {
    clip(text, MAX_LOOKED_AT).to_ascii_lowercase()
}

/// Returns the meaning of a notice or an error.
pub(super) fn kind_of(text: &str) -> Option<FailureKind> {
    let text = lower_case(text);
    WORDS
        .iter()
        .find(|(_, words)| text.contains(words))
        .map(|&(kind, _)| kind)
}

/// Returns a notice from its telling words on. The words before them are a time, a level, or a location in a program.
pub(super) fn without_prefix(text: &str) -> &str {
    let lower = lower_case(text);
    let at = WORDS.iter().find_map(|(_, words)| lower.find(words));
    // Lower-casing ASCII does not change the length.
    at.and_then(|at| text.get(at..)).unwrap_or(text)
}

/// Returns the HTTP status for an exit code of an agent that exits with the status modulo 256.
pub(super) fn http_status_of(code: i32) -> Option<i64> {
    let code = i64::from(code);
    ERROR_STATUSES.iter().copied().find(|status| status % 256 == code)
}

/// Returns the wait in a text, in seconds, rounded up.
pub(super) fn wait_in(text: &str) -> Option<u64> {
    let text = lower_case(text);
    let rest = WAITS.iter().find_map(|words| Some(text.split_once(words)?.1))?;
    duration(rest.trim_start_matches([' ', ':', '"', '=']))
}

/// Reads `3s`, `1.5 seconds`, `2 minutes`, `1h30m`; a number without a unit is seconds.
fn duration(mut text: &str) -> Option<u64> {
    let mut total = None;
    loop {
        let digits = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, rest) = text.split_at(digits);
        let Ok(number) = number.trim_end_matches('.').parse::<f64>() else {
            break;
        };
        let rest = rest.trim_start_matches(' ');
        let unit = UNITS.iter().find(|(word, _)| rest.starts_with(word));
        let factor = unit.map_or(1_000.0, |(_, factor)| *factor);
        total = Some(total.unwrap_or(0.0) + number * factor);
        text = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        if unit.is_none() {
            break;
        }
    }
    total.map(seconds)
}

/// Returns milliseconds as whole seconds, rounded up.
pub(super) fn seconds(milliseconds: f64) -> u64 {
    // The conversion saturates, so no number can overflow.
    (milliseconds.max(0.0) / 1_000.0).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_wait(text: &str, expected: Option<u64>) {
        assert_eq!(wait_in(text), expected, "{text}");
    }

    #[test]
    fn waits_are_found_in_sentences() {
        check_wait("Suggested retry after 3600s.", Some(3600));
        check_wait("Rate limit reached, please try again in 1.5s", Some(2));
        check_wait("Retrying in 60s (attempt 1/10): [API Error: 429 x]", Some(60));
        check_wait("try again in 2 minutes", Some(120));
        check_wait("Retry-After: 7", Some(7));
        check_wait("try again in 1h2m3s.", Some(3723));
        check_wait("retrying in 250 ms", Some(1));
        check_wait("try again in 3s. It will work", Some(3));
        check_wait("try again at 7:15", None);
        check_wait("try again in a while", None);
        check_wait("", None);
        check_wait(
            "retry after 99999999999999999999999999999999999999999 days",
            Some(u64::MAX),
        );
    }

    #[test]
    fn words_are_found_in_any_case() {
        assert_eq!(kind_of("You’ve hit your USAGE LIMIT"), Some(FailureKind::RateLimited));
        assert_eq!(
            kind_of("patch rejected: writing is blocked by read-only sandbox"),
            Some(FailureKind::Denied)
        );
        assert_eq!(kind_of("unexpected status 401 Unauthorized"), Some(FailureKind::Broken));
        assert_eq!(kind_of("all is well"), None);
    }

    #[test]
    fn a_notice_starts_after_its_log_prefix() {
        let line = "2026-11-16T08:41:55Z ERROR é codex_core::tools: error=Patch rejected: read-only sandbox";
        assert_eq!(without_prefix(line), "Patch rejected: read-only sandbox");
        assert_eq!(without_prefix("all is well"), "all is well");
    }

    #[test]
    fn exit_statuses_are_statuses_of_http_modulo_256() {
        let found: Vec<_> = [145, 173, 244, 17, 1, 53, 0, -1].map(http_status_of).to_vec();
        assert_eq!(
            found,
            [Some(401), Some(429), Some(500), Some(529), None, None, None, None]
        );
    }
}
