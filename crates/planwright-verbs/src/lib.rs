//! Every verb of planwright as a function: a request in, a report or a failure out.
//!
//! Requests and reports are plain data. Nothing here knows a command line, a terminal or a browser, and nothing ends the process:
//! callers turn what their users do into requests, and reports into what their users see.
//!
//! The modules of the first two groups are shared by verbs. Each verb is a file or a folder of its own, named after it.

#![expect(
    missing_docs,
    reason = "the fields of requests and reports say by their names what they hold"
)]

mod cancel;
mod failure;
mod typed_command;
mod workspace;

pub mod json;
pub mod text;

pub mod changes;
pub mod configuration;
pub mod planning;
pub mod plans;
pub mod run_history;
pub mod verification;

pub mod add;
pub mod adopt;
pub mod agents;
pub mod approval;
pub mod arbiter;
pub mod archive;
pub mod check;
pub mod config;
pub mod control;
pub mod convert;
pub mod depend;
pub mod diff;
pub mod doctor;
pub mod done;
pub mod draft;
pub mod edit;
pub mod events;
pub mod explain;
pub mod find;
pub mod graph;
pub mod hash;
pub mod history;
pub mod import;
pub mod init;
pub mod land;
pub mod list;
pub mod logs;
pub mod migrate;
pub mod move_task;
pub mod new;
pub mod next;
pub mod plan;
pub mod plan_transition;
pub mod proposals;
pub mod remove;
pub mod rename;
pub mod replan;
pub mod report;
pub mod run_plan;
pub mod runs;
pub mod schema;
pub mod set;
pub mod show;
pub mod summary;
pub mod tasks;
pub mod transition;
pub mod undo;
pub mod verify;
pub mod why;
pub mod worktrees;

pub mod call;
pub mod names;

pub use cancel::CancelToken;
pub use failure::{Drawn, Evidence, Exit, Failure, Result};
pub use plans::{FoundPlan, PlanChoice};
pub use typed_command::TypedCommand;
pub use workspace::{FileFindings, Input, Workspace};
