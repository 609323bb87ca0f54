//! The logs of runs: how records are written, and the state that they give. Does not know how a run continues.

mod live;
mod log;
mod place;
mod record;
mod requests;
mod seen;
pub mod state;

pub(crate) use live::holder_of_id;
pub use live::{LiveRun, RunLock, holder, live_runs};
pub use log::{Follower, Resumed, RunLog, header, records};
pub use place::{AttemptPlace, RunPlace, list, runs_folder};
pub use record::{
    AgentChoiceRecord, Approved, AttemptRecord, Begun, CandidateRecord, Conditions, Conflicted, Drifted, Finished,
    HeldWork, IsolationMode, LandingRecord, LogCut, Merged, MovedTask, Outcome, PlanEditRecord, ProcessStartRecord,
    Projected, Receipt, RemarkKind, RemarkRecord, RenamedTask, Replanned, RequestRecord, Resting, RunEndRecord,
    RunEvent, RunRecord, RunStanding, SkippedTask, Spent, StopReason, Stopping, TaskRecord, VerificationContract,
    VerificationRecord, WorkspaceFolder,
};
pub use requests::{ControlRequest, Requests, ask};
pub use seen::{SeenOrUnreadable, SeenRun, of_plan, seen};
