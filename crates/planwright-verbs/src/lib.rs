//! Every verb of planwright as a function: a request in, a report or a failure out.
//!
//! Requests and reports are plain data. Nothing here knows a command line, a terminal or a browser, and nothing ends the process:
//! faces turn what their users do into requests, and reports into what their users see.

#![allow(
    missing_docs,
    reason = "the fields of requests and reports say by their names what they hold"
)]

pub mod columns;
pub mod failure;
pub mod plain_text;
pub mod quantity;
pub mod unified_diff;

pub mod json;
pub mod json_values;

pub mod typed_command;
pub mod workspace;

pub mod attempt;
pub mod default_dialect;
pub mod failure_reason;
pub mod fence_denial;
pub mod fence_support;
pub mod find_plan;
pub mod find_run;
mod follow_run;
pub mod next_step;
pub mod open_plan;
pub mod plan_access;
pub mod plan_entries;
pub mod run_report;
pub mod skip_cause;
pub mod task_name;
pub mod trial;

pub mod archive;
pub mod control;
pub mod doctor;
pub mod events;
pub mod hash;
pub mod init;
pub mod list;
pub mod logs;
pub mod report;
pub mod runs;
pub mod summary;
pub mod worktrees;

pub use failure::{Exit, Failure, Result};
pub use find_plan::{FoundPlan, PlanChoice};
pub use workspace::Workspace;
