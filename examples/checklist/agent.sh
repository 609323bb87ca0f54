#!/bin/sh
# A scripted agent: carries out the plan of this folder by editing real files, without a language model. It gets what every agent
# gets: the prompt on standard input, the name of its task in PLANWRIGHT_TASK, and in PLANWRIGHT_RESULT the file to report in.
set -eu
prompt=$(cat)

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
    cat >src/api.rs <<'END'
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

    #[test]
    fn the_hundredth_call_of_a_minute_is_answered() {
        let mut api = Api::default();
        let request = Request {
            api_key: "ada",
            path: "/items",
        };
        let answers = (1..=LIMIT).map(|_| api.answer(&request, 20).status);
        assert_eq!(answers.filter(|status| *status == 200).count(), 100);
    }

    #[test]
    fn the_next_one_is_told_when_to_come_back() {
        let mut api = Api::default();
        let request = Request {
            api_key: "ada",
            path: "/items",
        };
        let refused = (0..=LIMIT).map(|_| api.answer(&request, 20)).last();
        assert_eq!(
            refused,
            Some(Response {
                status: 429,
                retry_after: Some(40)
            })
        );
        assert_eq!(api.answer(&request, 60).status, 200);
    }
}
END
    report "The router answers 429 with the seconds until the next minute once a client has made its 100 calls." src/api.rs
}

describe() {
    add_line docs/api.md '
## Limits

Each client may make 100 calls a minute. What is over that is answered with 429, and with Retry-After: the seconds until the
next minute begins.'
    report "docs/api.md has a section on limits." docs/api.md
}

# The first attempt makes a mistake, as it happens: the fifty clients share a key. The test finds that out, and the prompt of the
# next attempt tells what the test said.
load_test() {
    case $prompt in
    *one_client_is_limited_and_all_others_are_served*)
        echo "The test refused a client that was not busy: each needs a key of its own."
        api_key='&format!("client {client}")'
        ;;
    *) api_key='"client"' ;;
    esac
    mkdir -p tests
    cat >tests/load.rs <<END
//! One busy client must not slow down the others.

use shop_api::api::{Api, Request};

#[test]
fn one_client_is_limited_and_all_others_are_served() {
    let mut api = Api::default();
    let mut call = |api_key: &str, now| {
        let path = "/items";
        api.answer(&Request { api_key, path }, now).status
    };
    let mut n_served = 0;
    for now in 0..60 {
        n_served += (0..1_000).filter(|_| call("busy", now) == 200).count();
        for client in 0..50 {
            let status = call($api_key, now);
            assert_eq!(status, 200, "client {client}, who is not busy");
        }
    }
    assert_eq!(n_served, 100);
}
END
    report "tests/load.rs: of 60,000 calls of one client 100 are served, and all of fifty others." tests/load.rs
}

echo "I am a script, and my task is $PLANWRIGHT_TASK."
case $PLANWRIGHT_TASK in
T1) report "Requests enter in Api::answer of src/api.rs; an API key tells clients apart." ;;
T2) count ;;
T3) refuse ;;
T4) describe ;;
T5) load_test ;;
*)
    echo "I know nothing about it."
    exit 1
    ;;
esac
