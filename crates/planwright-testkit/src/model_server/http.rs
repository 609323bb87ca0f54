//! The part of HTTP/1.1 that a model on loopback needs: one request per connection, bounded in size and time.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// The longest body of a request, in bytes.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// How long a read or a write may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many bytes are read and discarded when a connection is closed, and how long that may take.
const MAX_DRAINED: u64 = 1024 * 1024;
const DRAINING: Duration = Duration::from_secs(1);

/// A parsed request.
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) target: String,
    pub(crate) body: Vec<u8>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(status: u16, body: String) -> Self {
        Reply {
            status,
            content_type: "application/json",
            headers: Vec::new(),
            body,
        }
    }

    pub(crate) fn events(body: String) -> Self {
        Reply {
            content_type: "text/event-stream",
            ..Reply::json(200, body)
        }
    }

    pub(crate) fn error(status: u16, message: &str) -> Self {
        Reply::json(
            status,
            serde_json::json!({"error": {"type": "error", "message": message}}).to_string(),
        )
    }
}

/// Reads a request, or returns its refusal.
pub(crate) fn read(stream: &mut TcpStream) -> Result<HttpRequest, Reply> {
    let broken = |_| Reply::error(408, "the request did not come whole");
    stream.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(broken)?;
    let (head, rest) = read_head(stream)?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim())
    });
    let length: usize = match length.map(str::parse) {
        None if method == "POST" => return Err(Reply::error(411, "say how long the body is")),
        None => 0,
        Some(Ok(length)) if length <= MAX_BODY => length,
        Some(_) => return Err(Reply::error(413, "the body is too long")),
    };
    let mut body = rest;
    let missing = u64::try_from(length.saturating_sub(body.len())).unwrap_or(u64::MAX);
    stream.take(missing).read_to_end(&mut body).map_err(broken)?;
    if body.len() != length {
        return Err(Reply::error(400, "the body is not as long as its head says"));
    }
    Ok(HttpRequest {
        method: method.to_owned(),
        target: target.to_owned(),
        body,
    })
}

/// Reads up to the empty line, and also returns the bytes after it.
fn read_head(stream: &mut TcpStream) -> Result<(String, Vec<u8>), Reply> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 8 * 1024]);
    loop {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let rest = bytes.split_off(end + 4);
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), rest));
        }
        if bytes.len() > MAX_HEAD {
            return Err(Reply::error(431, "the head is too long"));
        }
        match stream.read(&mut buffer) {
            Ok(n_read) if n_read > 0 => bytes.extend_from_slice(buffer.get(..n_read).unwrap_or_default()),
            _ => return Err(Reply::error(400, "the head did not come whole")),
        }
    }
}

/// Writes an answer; the end of the connection is the end of its body.
pub(crate) fn write(stream: &mut TcpStream, reply: &Reply) -> io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n",
        reply.status,
        words_of(reply.status),
        reply.content_type,
        reply.body.len()
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(reply.body.as_bytes())?;
    stream.flush()
}

/// Closes a connection without losing data in transit.
pub(crate) fn close(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    // A socket that is closed with unread bytes resets the connection, and with it an unread answer.
    let _ = stream.set_read_timeout(Some(DRAINING));
    let _ = io::copy(&mut stream.take(MAX_DRAINED), &mut io::sink());
}

fn words_of(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Status",
    }
}
