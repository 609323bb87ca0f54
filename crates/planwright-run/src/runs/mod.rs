//! The logs of runs: the form of records, and the state rebuilt from them. Does not know how a run continues.

mod layout;
mod live;
mod log;
mod record;
mod requests;
mod seen;
pub mod state;

pub use layout::{AttemptPlace, RunPlace, list};
pub(crate) use live::holder_of_id;
pub use live::{LiveRun, RunLock, holder, live_runs};
pub use log::{LogFollower, ResumedLog, RunLog, header, records};
pub use record::{
    AgentChoiceRecord, ApprovalRecord, AttemptEndRecord, AttemptRecord, CandidateRecord, ConflictRecord, DriftRecord,
    FixedSettings, IsolationMode, LandingEndRecord, LandingStartRecord, LogCutRecord, MovedTask, Outcome,
    PlanEditRecord, PlanWriteRecord, ProcessStartRecord, Receipt, RemarkKind, RemarkRecord, RenamedTask, ReplanOrigin,
    RequestRecord, RetryWaitRecord, RunEndRecord, RunEvent, RunRecord, RunStanding, RunStartRecord, SkippedTask, Spent,
    StopReason, StopRecord, TaskRecord, UnlandedWorkRecord, VerificationContract, VerificationRecord, WorkspaceFolder,
};
pub use requests::{ControlRequest, RequestReader, ask};
pub use seen::{SeenOrUnreadable, SeenRun, of_plan, seen};
