//! The logs of runs: how records are written, and the state that they give. Does not know how a run continues.

mod live;
mod log;
mod place;
mod record;
mod requests;
pub mod state;

pub(crate) use live::holder_of_id;
pub use live::{Live, LiveRun, holder, live_runs};
pub use log::{Follower, Resumed, RunLog, header, of_plan, records};
pub use place::{AttemptPlace, RunPlace, list, runs_folder};
pub(crate) use record::tokens;
pub use record::{
    Approved, Asked, Attempt, Begun, Candidate, Chosen, Conditions, Conflicted, Contract, Drifted, Edited, Ended,
    Finished, Held, IsolationMode, Landing, LogCut, Merged, MovedTask, OtherEvent, Outcome, Projected, Receipt, Remark,
    RemarkKind, Renamed, Replanned, Resting, RunEvent, RunRecord, RunStanding, Skipped, Spent, Started, StopReason,
    Stopping, TaskName, Verified, WorkspaceFolder,
};
pub use requests::{Ask, Requests, ask};
