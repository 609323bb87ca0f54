//! Ctrl-C and its relatives, for verbs that run programs: what runs is ended before planwright is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use planwright_run::worker::{Manner, Waker};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::exit::Exit;

/// The signals that came since somebody began to listen.
pub(crate) struct Interrupt {
    /// The signal that came last and nobody has asked for; 0 for none.
    latest: Arc<AtomicUsize>,
    /// How the command ends because of the first one.
    exit: Option<Exit>,
}

impl Interrupt {
    /// Begins to listen. From now on these signals do not end the process.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let latest = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM] {
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&latest), number)?;
        }
        Ok(Interrupt { latest, exit: None })
    }

    /// Returns how to end what runs: politely after the first signal, at once after another one. None while there is no new one.
    pub(crate) fn manner(&mut self) -> Option<Manner> {
        let exit = match self.latest.swap(0, Ordering::SeqCst) {
            0 => return None,
            signal if usize::try_from(SIGTERM) == Ok(signal) => Exit::Terminated,
            _ => Exit::Interrupted,
        };
        let is_first = self.exit.is_none();
        self.exit.get_or_insert(exit);
        Some(if is_first { Manner::Politely } else { Manner::AtOnce })
    }

    /// Returns how the command ends, where a signal came.
    pub(crate) fn exit(&mut self) -> Option<Exit> {
        self.manner();
        self.exit
    }
}

/// Counts from now on how often the user asked for the end, and wakes who waits for processes. Who ends a process by another
/// signal than Ctrl-C's does not wait for what runs: that counts as the second time.
pub(crate) fn count(waker: Waker) -> std::io::Result<Arc<AtomicU32>> {
    let count = Arc::new(AtomicU32::new(0));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let heard = Arc::clone(&count);
    std::thread::spawn(move || {
        for signal in &mut signals {
            let least = u32::from(signal != SIGINT);
            let before = heard.load(Ordering::Relaxed).max(least);
            heard.store(before.saturating_add(1), Ordering::Relaxed);
            waker.wake();
        }
    });
    Ok(count)
}
