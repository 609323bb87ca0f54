//! Reads the user's answers to questions. During a run another thread reads the lines, so that the run does not wait for them.

use std::io::{IsTerminal as _, stderr, stdin};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Mutex, OnceLock};

/// The lines typed since the first call of [`glance`].
static LINES: OnceLock<Mutex<Receiver<String>>> = OnceLock::new();

/// The result of a check of the keyboard.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Line(String),
    Nothing,
    /// Standard input has ended.
    End,
}

/// Returns whether a user could answer.
pub(crate) fn may_ask() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Waits for a line; none after the end of the input.
pub(crate) fn line() -> Option<String> {
    if let Some(lines) = LINES.get() {
        return lines.lock().ok()?.recv().ok();
    }
    let mut line = String::new();
    let n_bytes = stdin().read_line(&mut line).ok()?;
    (n_bytes > 0).then(|| line.trim().to_owned())
}

/// Waits for an answer, and returns whether it is yes.
pub(crate) fn is_yes() -> bool {
    line().is_some_and(|line| matches!(line.to_lowercase().as_str(), "y" | "yes"))
}

/// Checks whether a line was typed, without waiting for it.
pub(crate) fn glance() -> Typed {
    let lines = LINES.get_or_init(|| Mutex::new(lines_typed()));
    let Ok(lines) = lines.lock() else {
        return Typed::End;
    };
    match lines.try_recv() {
        Ok(line) => Typed::Line(line),
        Err(TryRecvError::Empty) => Typed::Nothing,
        Err(TryRecvError::Disconnected) => Typed::End,
    }
}

/// Starts a thread that reads lines until the end of the input. It ends with the process.
fn lines_typed() -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in stdin().lines().map_while(Result::ok) {
            if sender.send(line.trim().to_owned()).is_err() {
                return;
            }
        }
    });
    receiver
}
