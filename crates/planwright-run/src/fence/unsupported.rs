//! Systems without Landlock: there is no fence, and nothing runs that was to be fenced.

use super::FencePolicy;

/// What the system has to make fences of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Landlock, in this version of its interface.
    Landlock {
        /// The version.
        abi: u32,
    },
    /// Landlock, and it is switched off.
    Disabled,
    /// No Landlock.
    Missing,
    /// Not Linux.
    OtherSystem,
}

/// Returns what the system has to make fences of.
pub fn support() -> Support {
    Support::OtherSystem
}

/// Refuses: there is no fence here.
pub(super) fn restrict(_policy: &FencePolicy) -> Result<(), String> {
    Err("fences need Landlock, which only Linux has".to_owned())
}
