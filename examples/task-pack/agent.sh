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

# Adds a line to a file that does not have it yet: a task may be tried more than once.
add_line() {
    case $(cat "$1") in
    *"$2"*) ;;
    *) printf '%s\n' "$2" >>"$1" ;;
    esac
}

count() {
    cat >src/limit.rs <<'END'
//! Counts what clients call, minute by minute.

use std::collections::HashMap;

/// How often a client may call in a minute.
pub const LIMIT: u32 = 100;

/// The calls of the current minute, by API key.
#[derive(Default)]
pub struct Counts {
    minute: u64,
    calls: HashMap<String, u32>,
}

impl Counts {
    /// Counts a call that came at a time, in seconds, and returns how many its client has made in that minute.
    pub fn count(&mut self, api_key: &str, now: u64) -> u32 {
        if self.minute != now / 60 {
            self.minute = now / 60;
            self.calls.clear();
        }
        let n_calls = self.calls.entry(api_key.to_owned()).or_default();
        *n_calls += 1;
        *n_calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_counted_apart() {
        let mut counts = Counts::default();
        assert_eq!([counts.count("ada", 5), counts.count("ada", 6)], [1, 2]);
        assert_eq!(counts.count("bob", 6), 1);
    }

    #[test]
    fn counts_are_forgotten_after_a_minute() {
        let mut counts = Counts::default();
        assert_eq!([counts.count("ada", 59), counts.count("ada", 60)], [1, 1]);
    }
}
END
    add_line src/lib.rs 'pub mod limit;'
    report "Counts::count in src/limit.rs counts the calls of each API key, and forgets them with the minute." src/limit.rs src/lib.rs
}

refuse() {
    cat >src/api/mod.rs <<'END'
//! The router: every request comes through here.

use crate::limit::{Counts, LIMIT};

/// A request, as the server has read it.
pub struct Request<'a> {
    /// Tells clients apart.
    pub api_key: &'a str,
    pub path: &'a str,
}

/// What a client gets.
#[derive(Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// In how many seconds a client that was refused may call again.
    pub retry_after: Option<u64>,
}

/// Answers requests.
#[derive(Default)]
pub struct Api {
    counts: Counts,
}

impl Api {
    /// Answers a request that came at a time, in seconds.
    pub fn answer(&mut self, request: &Request<'_>, now: u64) -> Response {
        let n_calls = self.counts.count(request.api_key, now);
        if n_calls > LIMIT {
            let retry_after = Some(60 - now % 60);
            return Response {
                status: 429,
                retry_after,
            };
        }
        let status = match request.path {
            "/items" => 200,
            _ => 404,
        };
        Response {
            status,
            retry_after: None,
        }
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
    mkdir -p tests
    cat >tests/limit.rs <<'END'
//! What a client gets that calls too often.

use shop_api::api::{Api, Request, Response};
use shop_api::limit::LIMIT;

const REQUEST: Request<'_> = Request {
    api_key: "ada",
    path: "/items",
};

#[test]
fn the_hundredth_call_of_a_minute_is_answered() {
    let mut api = Api::default();
    let answers = (1..=LIMIT).map(|_| api.answer(&REQUEST, 20).status);
    assert_eq!(answers.filter(|status| *status == 200).count(), 100);
}

#[test]
fn the_hundred_and_first_is_told_when_to_come_back() {
    let mut api = Api::default();
    let refused = (0..=LIMIT).map(|_| api.answer(&REQUEST, 20)).last();
    assert_eq!(
        refused,
        Some(Response {
            status: 429,
            retry_after: Some(40)
        })
    );
    assert_eq!(api.answer(&REQUEST, 60).status, 200);
}
END
    report "The router answers 429 with the seconds until the next minute; tests/limit.rs shows it." src/api/mod.rs tests/limit.rs
}

describe() {
    add_line docs/api.md '
## Limits

Each client may make 100 calls a minute. What is over that is answered with 429, and with Retry-After: the seconds until the
next minute begins.'
    report "docs/api.md has a section on limits." docs/api.md
}

echo "I am a script, and my task is $PLANWRIGHT_TASK."
case $PLANWRIGHT_TASK in
T001) count ;;
T002) refuse ;;
T003) describe ;;
*)
    echo "I know nothing about it."
    exit 1
    ;;
esac
