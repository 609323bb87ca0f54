//! Cancels a long verb: its processes are ended before the verb returns.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use planwright_run::worker::{StopManner, Waker};

use crate::failure::Exit;

/// Asks an active verb to end. The first time, processes may finish, or are ended politely. The second time, they are killed.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    n_asked: Arc<AtomicU32>,
    /// The exit of the verb after the first request; 0 before it.
    exit: Arc<AtomicU8>,
    waker: Arc<Mutex<Option<Waker>>>,
}

impl CancelToken {
    /// Requests the end. `exit` is the verb's exit, if this is the first request.
    pub fn cancel(&self, exit: Exit) {
        self.cancel_from(0, exit);
    }

    /// Requests the end without waiting for processes: that counts as the second request.
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

    /// Returns the number of requests.
    pub fn n_asked(&self) -> &AtomicU32 {
        &self.n_asked
    }

    /// Has the token wake a verb that waits for processes.
    pub fn wakes(&self, waker: Waker) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
    }

    /// Returns the verb's exit, if its end was requested.
    pub fn exit(&self) -> Option<Exit> {
        match self.exit.load(Ordering::Relaxed) {
            0 => None,
            exit if exit == Exit::Terminated as u8 => Some(Exit::Terminated),
            _ => Some(Exit::Interrupted),
        }
    }

    /// Returns how to end processes: politely after the first request, at once after another one. None if there is no new request since
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
