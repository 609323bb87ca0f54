//! Systems without Landlock: a fence is an error, and the program does not start.

use super::{FencePolicy, Support};

pub fn support() -> Support {
    Support::OtherSystem
}

/// Refuses: this system has no fence.
pub(super) fn restrict(_policy: &FencePolicy) -> Result<(), String> {
    Err("fences need Landlock, which only Linux has".to_owned())
}
