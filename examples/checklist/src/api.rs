//! The router: every request comes through here.

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
}

/// Answers requests.
#[derive(Default)]
pub struct Api {}

impl Api {
    /// Answers a request that came at a time, in seconds.
    pub fn answer(&mut self, request: &Request<'_>, _now: u64) -> Response {
        let status = match request.path {
            "/items" => 200,
            _ => 404,
        };
        Response { status }
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
