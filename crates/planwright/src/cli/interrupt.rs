//! Ctrl-C and its relatives, for verbs that run programs: what runs is ended before planwright is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use planwright_run::worker::Manner;
use signal_hook::consts::{SIGINT, SIGTERM};

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
