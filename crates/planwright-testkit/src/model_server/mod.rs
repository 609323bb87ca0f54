//! A model on loopback that answers agents by a script, in the formats of their providers, and records requests. Knows no agent
//! and no plan.
//!
//! One server serves many scenarios, by the path: the scenario `NAME` answers `BASE/s/NAME/v1/messages`. A script keeps no state:
//! the number of tool results in a request selects the answer, so that repeated requests get the same answer.

mod anthropic;
mod chat;
mod dispatch;
mod gemini;
mod http;
mod responses;
mod script;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use http::{HttpRequest, Reply};
pub use script::{ModelAnswer, ModelScenario};
pub use wire::{ModelRequest, Wire};

/// The limit of parallel connections; further ones are refused.
const MAX_CONNECTIONS: usize = 64;

/// The most requests that are remembered.
const MAX_REQUESTS: usize = 10_000;

/// A server that stops when it is dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

/// The shared state of a server's threads.
#[derive(Default)]
struct Shared {
    scenarios: Mutex<BTreeMap<String, Arc<ModelScenario>>>,
    requests: Mutex<Vec<ModelRequest>>,
    is_over: AtomicBool,
    n_connections: AtomicUsize,
}

impl ModelServer {
    /// Starts a server without scenarios on a free port.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let accepting = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || accept(&listener, &shared))
        };
        Ok(ModelServer {
            address,
            shared,
            accepting: Some(accepting),
        })
    }

    /// Adds a scenario, and replaces an earlier one of that name.
    pub fn add(&self, name: &str, scenario: ModelScenario) {
        lock(&self.shared.scenarios).insert(name.to_owned(), Arc::new(scenario));
    }

    /// Returns the address of a scenario, which agents use as that of their provider.
    pub fn url(&self, scenario: &str) -> String {
        format!("http://{}/s/{scenario}", self.address)
    }

    /// Returns the requests of a scenario so far.
    pub fn requests(&self, scenario: &str) -> Vec<ModelRequest> {
        let requests = lock(&self.shared.requests);
        let of_scenario = requests.iter().filter(|request| request.scenario == scenario);
        of_scenario.cloned().collect()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // The accepting thread notices the end when it gets a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if shared.n_connections.fetch_add(1, Ordering::SeqCst) >= MAX_CONNECTIONS {
            shared.n_connections.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            serve(stream, &shared);
            shared.n_connections.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

/// Answers the one request of a connection.
fn serve(mut stream: TcpStream, shared: &Shared) {
    let reply = match http::read(&mut stream) {
        Ok(asked) => shared.reply(&asked),
        Err(refusal) => Some(refusal),
    };
    // The client may be gone now.
    if let Some(reply) = reply {
        let _ = http::write(&mut stream, &reply);
    }
    http::close(&stream);
}

impl Shared {
    /// Returns the answer to a request; none if the connection is dropped.
    fn reply(&self, asked: &HttpRequest) -> Option<Reply> {
        let Some(request) = dispatch::request(asked) else {
            return Some(Reply::error(404, "there is nothing here"));
        };
        let scenario = lock(&self.scenarios).get(&request.scenario).cloned();
        let answer = scenario.map(|scenario| scenario.answer(&request));
        let reply = match &answer {
            Some(answer) => dispatch::reply(&request, answer),
            None => Some(Reply::error(404, "there is no such scenario")),
        };
        let mut requests = lock(&self.requests);
        if requests.len() < MAX_REQUESTS {
            requests.push(request);
        }
        reply
    }
}
