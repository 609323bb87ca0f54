//! Handles Ctrl-C and termination for verbs that run programs: the programs end first.

use std::io;
use std::sync::Arc;

use planwright_verbs::{CancelToken, Exit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// Makes writing beyond the file size limit (`ulimit -f`) an error, instead of a signal that ends the process.
pub(crate) fn outlive_size_limit() {
    flag::register(SIGXFSZ, Arc::default()).ok();
}

/// Returns a token that the user's signals cancel. From now on these signals do not end the process. After a signal other than Ctrl-C,
/// running processes are not awaited.
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
