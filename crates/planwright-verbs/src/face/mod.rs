//! Shared by every verb and every face: the workspace, failures with their exit codes, and the cancellation of long verbs.

mod cancel;
mod failure;
mod typed_command;
mod workspace;

pub use cancel::*;
pub use failure::*;
pub use typed_command::*;
pub use workspace::*;
