//! Handles Ctrl-C and termination for verbs that run programs: the programs end first.

use std::io;
use std::sync::Arc;

use planwright_verbs::face::{CancelToken, Exit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// Has a file that may not grow any more (`ulimit -f`) be an error of the process that writes it, and not its end.
pub(crate) fn outlive_size_limit() {
    flag::register(SIGXFSZ, Arc::default()).ok();
}

/// Returns a token that signals of the user cancel. From now on these signals do not end the process. A user who sends another
/// signal than that of Ctrl-C does not wait for what runs.
pub(crate) fn cancel_token() -> io::Result<CancelToken> {
    let cancel = CancelToken::default();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let token = cancel.clone();
    std::thread::spawn(move || {
        for signal in &mut signals {
            match signal {
                SIGINT => token.cancel(Exit::Interrupted),
                SIGTERM => token.cancel_now(Exit::Terminated),
                _ => token.cancel_now(Exit::Interrupted),
            }
        }
    });
    Ok(cancel)
}
