//! Tables of words, statuses and codes that show why an agent cannot work. Knows no format.

/// The meaning of an agent's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// A tool was not allowed.
    Denied,
    /// The provider's rate limit is reached, or it is overloaded: waiting helps.
    RateLimited,
    /// The agent cannot work until the user fixes its setup, or the network is back.
    Broken,
    /// A request is tried again.
    Retry,
}

/// Words by sign, in lower case; the first that occurs decides.
static SIGNS: &[(Sign, &str)] = &[
    (Sign::Denied, "patch rejected"),
    (Sign::Denied, "rejected permission"),
    (Sign::RateLimited, "429 too many requests"),
    (Sign::RateLimited, "too many requests"),
    (Sign::RateLimited, "api error: 429"),
    (Sign::RateLimited, "api error: 529"),
    (Sign::RateLimited, "status 429"),
    (Sign::RateLimited, "status: 429"),
    (Sign::RateLimited, "status code 429"),
    (Sign::RateLimited, "status 529"),
    (Sign::RateLimited, "rate limit"),
    (Sign::RateLimited, "rate_limit"),
    (Sign::RateLimited, "ratelimiterror"),
    (Sign::RateLimited, "usage limit"),
    (Sign::RateLimited, "daily quota"),
    (Sign::RateLimited, "quota exceeded"),
    (Sign::RateLimited, "exceeded your current quota"),
    (Sign::RateLimited, "insufficient_quota"),
    (Sign::RateLimited, "resource_exhausted"),
    (Sign::RateLimited, "suggested retry after"),
    (Sign::RateLimited, "currently experiencing high demand"),
    (Sign::RateLimited, "overloaded"),
    (Sign::Broken, "not logged in"),
    (Sign::Broken, "invalid api key"),
    (Sign::Broken, "api error: 401"),
    (Sign::Broken, "unexpected status 401"),
    (Sign::Broken, "stream disconnected"),
    (Sign::Broken, "waiting for network"),
    (Sign::Broken, "missing environment variable"),
    (Sign::Broken, "input_too_large"),
    (Sign::Broken, "cannot connect"),
    (Sign::Broken, "connection error"),
    (Sign::Broken, "connection refused"),
    (Sign::Broken, "unknown option"),
    (Sign::Broken, "unknown argument"),
    (Sign::Broken, "unexpected argument"),
    (Sign::Retry, "retrying in"),
    (Sign::Retry, "retrying with"),
    (Sign::Retry, "reconnecting"),
    (Sign::Retry, "failed. retrying"),
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
    super::account::clip(text, MAX_LOOKED_AT).to_ascii_lowercase()
}

/// Returns the meaning of a notice or an error.
pub(super) fn of(text: &str) -> Option<Sign> {
    let text = lower_case(text);
    SIGNS
        .iter()
        .find(|(_, words)| text.contains(words))
        .map(|&(sign, _)| sign)
}

/// Returns a notice from its telling words on. The words before them are a time, a level, or a location in a program.
pub(super) fn from_sign(text: &str) -> &str {
    let lower = lower_case(text);
    let at = SIGNS.iter().find_map(|(_, words)| lower.find(words));
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
    fn signs_are_found_in_any_case() {
        assert_eq!(of("You’ve hit your USAGE LIMIT"), Some(Sign::RateLimited));
        assert_eq!(
            of("patch rejected: writing is blocked by read-only sandbox"),
            Some(Sign::Denied)
        );
        assert_eq!(of("unexpected status 401 Unauthorized"), Some(Sign::Broken));
        assert_eq!(of("all is well"), None);
    }

    #[test]
    fn a_notice_starts_after_its_log_prefix() {
        let line = "2026-11-16T08:41:55Z ERROR é codex_core::tools: error=Patch rejected: read-only sandbox";
        assert_eq!(from_sign(line), "Patch rejected: read-only sandbox");
        assert_eq!(from_sign("all is well"), "all is well");
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
