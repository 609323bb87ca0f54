//! What happened in runs: one log per run, beside the journals of plans. Knows how events are written and what they add up to,
//! not how a run goes on.

mod live;
mod log;
mod place;
mod record;
mod requests;
pub mod state;

pub use live::{Live, LiveRun, holder};
pub use log::{Follower, Resumed, RunLog, header, of_plan, records};
pub use place::{AttemptPlace, RunPlace, list, runs_folder};
pub(crate) use record::tokens;
pub use record::{
    Approved, Asked, Attempt, Begun, Candidate, Chosen, Conditions, Conflicted, Drifted, Edited, Ended, Finished,
    IsolationMode, Landing, LogCut, Merged, OtherEvent, Outcome, Projected, Receipt, Remark, RemarkKind, Renamed,
    Replanned, Resting, RunEvent, RunRecord, RunStanding, Skipped, Spent, Started, StopReason, Stopping, TaskName,
    Verified,
};
pub use requests::{Ask, Requests, ask};
