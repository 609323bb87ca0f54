//! What happened in runs: one log per run, beside the journals of plans. Knows how events are written, not what they mean.

mod log;
mod wire;

pub use log::{Follower, Resumed, RunLog, records};
pub use wire::{
    Approved, Asked, Attempt, Begun, Ended, Finished, LogCut, OtherEvent, Projected, Receipt, RunEvent, RunRecord,
    Skipped, Started, Stopping, TaskName, Verified,
};
