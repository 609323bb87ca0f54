#!/bin/sh
# A scripted agent: carries out the plan of this folder by editing real files, without a language model. It gets what every agent
# gets: the prompt on standard input, the name of its task in PLANWRIGHT_TASK, and in PLANWRIGHT_RESULT the file to report in.
set -eu
cat >/dev/null # It knows its tasks by heart.

# Reports that the task is done: what was made, then the files that were touched for it.
report() {
    output=$1
    shift
    files=
    for file in "$@"; do
        files="$files${files:+, }\"$file\""
    done
    printf '{"planwright_result": 1, "outcome": "done", "output": "%s", "affected_files": [%s]}\n' "$output" "$files" \
        >"$PLANWRIGHT_RESULT"
    echo "$output"
}

refuse() {
    cat >src/refuse.rs <<'END'
//! Refuses what is over the limit.

use crate::api::Response;

/// Returns the answer to a call that is over the limit, none to others.
pub fn over_limit(n_calls: u32, limit: u32, now: u64) -> Option<Response> {
    let retry_after = 60 - now % 60;
    (n_calls > limit).then(|| Response {
        status: 429,
        headers: vec![("Retry-After", retry_after.to_string())],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_itself_is_allowed() {
        assert_eq!(over_limit(100, 100, 20), None);
    }

    #[test]
    fn what_is_over_it_is_told_when_to_come_back() {
        let response = over_limit(101, 100, 20).expect("it is over the limit");
        assert_eq!(response.status, 429);
        assert_eq!(response.headers, [("Retry-After", "40".to_owned())]);
    }
}
END
    report "refuse::over_limit answers 429 with Retry-After." src/refuse.rs
}

show_limit() {
    cat >src/headers.rs <<'END'
//! Tells clients their limit.

use crate::api::Response;

/// Adds to an answer how many calls its client has left in this minute.
pub fn add(response: &mut Response, n_calls: u32, limit: u32) {
    let remaining = limit.saturating_sub(n_calls).to_string();
    let header = ("RateLimit-Remaining", remaining);
    response.headers.push(header);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Api, Request};

    #[test]
    fn it_never_falls_below_nothing() {
        let mut response = Response::default();
        add(&mut response, 101, 100);
        assert_eq!(response.headers, [("RateLimit-Remaining", "0".to_owned())]);
    }

    #[test]
    fn every_answer_tells() {
        let (mut api, api_key) = (Api::default(), "ada");
        for path in ["/items", "/secrets"] {
            let request = Request { api_key, path };
            let response = api.answer(&request, 0);
            let (name, _) = &response.headers[0];
            assert_eq!(*name, "RateLimit-Remaining");
        }
    }
}
END
    report "headers::add puts RateLimit-Remaining into every answer." src/headers.rs
}

set_limits() {
    cat >src/limits.rs <<'END'
//! The limits of single clients, from the configuration.

use std::collections::HashMap;

use crate::limit::LIMIT;

/// What clients may call in a minute, where that is not the default.
#[derive(Debug, Default)]
pub struct Limits {
    by_api_key: HashMap<String, u32>,
}

impl Limits {
    /// Reads a configuration: an API key and its limit on each line.
    pub fn read(text: &str) -> Option<Self> {
        let pair = |line: &str| {
            let (api_key, limit) = line.split_once(' ')?;
            Some((api_key.to_owned(), limit.trim().parse().ok()?))
        };
        let by_api_key = text.lines().map(pair).collect::<Option<_>>()?;
        Some(Limits { by_api_key })
    }

    /// Returns how often a client may call in a minute.
    pub fn of(&self, api_key: &str) -> u32 {
        self.by_api_key.get(api_key).copied().unwrap_or(LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Api, Request};

    #[test]
    fn a_limit_in_the_configuration_beats_the_default() {
        let limits = Limits::read("ada 2").expect("it is well-formed");
        assert_eq!([limits.of("ada"), limits.of("bob")], [2, LIMIT]);
        let mut api = Api::with(limits);
        let request = Request {
            api_key: "ada",
            path: "/items",
        };
        let answers: Vec<u16> = (0..3).map(|_| api.answer(&request, 0).status).collect();
        assert_eq!(answers, [200, 200, 429]);
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        assert!(Limits::read("ada many").is_none());
    }
}
END
    cat >src/api.rs <<'END'
//! The router: every request comes through here.

use crate::limit::Counts;
use crate::limits::Limits;
use crate::{headers, refuse};

/// A request, as the server has read it.
pub struct Request<'a> {
    /// Tells clients apart.
    pub api_key: &'a str,
    pub path: &'a str,
}

/// What a client gets.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
}

/// Answers requests.
#[derive(Default)]
pub struct Api {
    counts: Counts,
    limits: Limits,
}

impl Api {
    /// Returns one whose clients have limits of their own.
    pub fn with(limits: Limits) -> Self {
        Api {
            limits,
            ..Api::default()
        }
    }

    /// Answers a request that came at a time, in seconds.
    pub fn answer(&mut self, request: &Request<'_>, now: u64) -> Response {
        let n_calls = self.counts.count(request.api_key, now);
        let limit = self.limits.of(request.api_key);
        let refused = refuse::over_limit(n_calls, limit, now);
        let mut response = refused.unwrap_or_else(|| route(request.path));
        headers::add(&mut response, n_calls, limit);
        response
    }
}

fn route(path: &str) -> Response {
    let status = match path {
        "/items" => 200,
        _ => 404,
    };
    Response {
        status,
        headers: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_answered_and_nothing_else_is() {
        let mut api = Api::default();
        for (path, status) in [("/items", 200), ("/secrets", 404)] {
            let api_key = "ada";
            assert_eq!(api.answer(&Request { api_key, path }, 0).status, status);
        }
    }
}
END
    cat >src/lib.rs <<'END'
//! The API of a small shop.

pub mod api;
pub mod headers;
pub mod limit;
pub mod limits;
pub mod refuse;
END
    report "Limits::read takes limits per API key from the configuration; Api::with uses them." src/limits.rs src/api.rs src/lib.rs
}

echo "I am a script, and my story is $PLANWRIGHT_TASK."
case $PLANWRIGHT_TASK in
US-002) refuse ;;
US-003) show_limit ;;
US-004) set_limits ;;
*)
    echo "I know nothing about it."
    exit 1
    ;;
esac
