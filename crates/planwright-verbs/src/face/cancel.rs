//! How a face ends a long verb: what runs is ended before the verb returns.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use planwright_run::worker::{StopManner, Waker};

use super::Exit;

/// Asks a verb that is at work to end. Once: what runs may finish, or is ended politely. Again: at once.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    n_asked: Arc<AtomicU32>,
    /// How the verb ends because of the first time; 0 while there was none.
    exit: Arc<AtomicU8>,
    waker: Arc<Mutex<Option<Waker>>>,
}

impl CancelToken {
    /// Asks for the end. `exit` is how the verb ends because of it, if this is the first time.
    pub fn cancel(&self, exit: Exit) {
        self.cancel_from(0, exit);
    }

    /// Asks for the end without waiting for what runs: that counts as the second time.
    pub fn cancel_now(&self, exit: Exit) {
        self.cancel_from(1, exit);
    }

    fn cancel_from(&self, least: u32, exit: Exit) {
        let _ = self
            .exit
            .compare_exchange(0, exit as u8, Ordering::Relaxed, Ordering::Relaxed);
        let before = self.n_asked.load(Ordering::Relaxed).max(least);
        self.n_asked.store(before.saturating_add(1), Ordering::Relaxed);
        if let Some(waker) = &*self.waker.lock().unwrap_or_else(PoisonError::into_inner) {
            waker.wake();
        }
    }

    /// Returns how often the end was asked for.
    pub fn n_asked(&self) -> &AtomicU32 {
        &self.n_asked
    }

    /// Has the token wake a verb that waits for processes.
    pub fn wakes(&self, waker: Waker) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
    }

    /// Returns how the verb ends, where its end was asked for.
    pub fn exit(&self) -> Option<Exit> {
        match self.exit.load(Ordering::Relaxed) {
            0 => None,
            exit if exit == Exit::Terminated as u8 => Some(Exit::Terminated),
            _ => Some(Exit::Interrupted),
        }
    }

    /// Returns how to end what runs: politely after the first time, at once after another one. None where nothing is new since
    /// `n_handled`.
    pub(crate) fn manner(&self, n_handled: &mut u32) -> Option<StopManner> {
        let n_asked = self.n_asked.load(Ordering::Relaxed);
        let is_first = *n_handled == 0;
        let is_new = n_asked > *n_handled;
        *n_handled = n_asked;
        is_new.then_some(if is_first {
            StopManner::Politely
        } else {
            StopManner::AtOnce
        })
    }
}
