//! The router: every request comes through here.

use crate::limit::{Counts, LIMIT};
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
}

impl Api {
    /// Answers a request that came at a time, in seconds.
    pub fn answer(&mut self, request: &Request<'_>, now: u64) -> Response {
        let n_calls = self.counts.count(request.api_key, now);
        let refused = refuse::over_limit(n_calls, LIMIT, now);
        let mut response = refused.unwrap_or_else(|| route(request.path));
        headers::add(&mut response, n_calls, LIMIT);
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
