//! The terms on which a task is claimed or finished: leases, and reasons for the history.

use planwright_run::clock;
use planwright_run::config::units;

use crate::failure::{Failure, Result};

/// Returns when a claim with a lease expires, as RFC 3339 in UTC.
pub(crate) fn lease_end(lease: Option<&str>) -> Result<Option<String>> {
    let Some(lease) = lease else {
        return Ok(None);
    };
    match units::duration(lease).filter(|lease| !lease.is_zero()) {
        Some(lease) => Ok(Some(clock::after(lease))),
        None => Err(Failure::usage(
            format!("`{lease}` is no duration"),
            "write it as --lease 30m, 2h or 1h30m",
        )),
    }
}

/// Refuses an override without a reason for the history.
pub(crate) fn refuse_without_note(option: &str, is_given: bool, note: Option<&str>) -> Result<()> {
    if !is_given || note.is_some_and(|note| !note.trim().is_empty()) {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{option} needs a reason, which the history keeps"),
        format!("give it: {option} --note \"…\""),
    ))
}
