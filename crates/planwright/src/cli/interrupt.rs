//! Handles Ctrl-C and termination for verbs that run programs: the programs end first.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

use planwright_run::worker::{Manner, Waker};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use super::exit::Exit;

/// Has a file that may not grow any more (`ulimit -f`) be an error of whoever writes it, and not the end of the process.
pub(crate) fn outlive_size_limit() {
    flag::register(SIGXFSZ, Arc::default()).ok();
}

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

/// How often the user asked for the end, and how first.
pub(crate) struct Count {
    n_asked: Arc<AtomicU32>,
    first: Arc<AtomicI32>,
}

impl Count {
    /// Counts from now on how often the user asked for the end, and wakes who waits for processes. Who ends a process by another
    /// signal than Ctrl-C's does not wait for what runs: that counts as the second time.
    pub(crate) fn begin(waker: Waker) -> std::io::Result<Self> {
        let count = Count {
            n_asked: Arc::default(),
            first: Arc::default(),
        };
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let (n_asked, first) = (Arc::clone(&count.n_asked), Arc::clone(&count.first));
        std::thread::spawn(move || {
            for signal in &mut signals {
                let _ = first.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
                let least = u32::from(signal != SIGINT);
                let before = n_asked.load(Ordering::Relaxed).max(least);
                n_asked.store(before.saturating_add(1), Ordering::Relaxed);
                waker.wake();
            }
        });
        Ok(count)
    }

    /// Returns how often the user asked so far.
    pub(crate) fn n_asked(&self) -> &AtomicU32 {
        &self.n_asked
    }

    /// Returns how the command ends, where the user asked for it.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match self.first.load(Ordering::Relaxed) {
            0 => None,
            SIGTERM => Some(Exit::Terminated),
            _ => Some(Exit::Interrupted),
        }
    }
}
