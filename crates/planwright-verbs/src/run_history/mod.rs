//! Finds runs, follows them, and describes their results: why tasks failed, and the next command.

mod failure_reason;
mod find;
mod follow;
mod next_step;
mod report;

pub use failure_reason::*;
pub use find::*;
pub(crate) use follow::*;
pub use next_step::*;
pub use report::*;
