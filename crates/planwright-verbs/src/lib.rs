//! Every verb of planwright as a function: a request in, a report or a failure out.
//!
//! Requests and reports are plain data. Nothing here knows a command line, a terminal or a browser, and nothing ends the process:
//! faces turn what their users do into requests, and reports into what their users see.

#![allow(
    missing_docs,
    reason = "the fields of requests and reports say by their names what they hold"
)]

pub mod failure;
pub mod file_findings;
pub mod plain_text;
pub mod quantity;
pub mod unified_diff;

pub mod json;
pub mod json_values;

pub mod typed_command;
pub mod workspace;

pub mod attempt;
pub mod config_findings;
pub mod default_dialect;
pub mod difference;
pub mod fence_support;
pub mod find_plan;
pub mod find_run;
pub mod next_step;
pub mod open_plan;
pub mod plan_access;
pub mod plan_entries;
pub mod plan_or_task;
pub mod plan_overview;
pub mod plan_versions;
pub mod skip_cause;
pub mod task_fields;
pub mod task_name;
pub mod verification_report;

pub mod agents;
pub mod check;
pub mod config;
pub mod diff;
pub mod explain;
pub mod find;
pub mod graph;
pub mod hash;
pub mod history;
pub mod list;
pub mod schema;
pub mod show;
pub mod why;

pub use failure::{Exit, Failure, Result};
pub use find_plan::{FoundPlan, PlanChoice};
pub use workspace::Workspace;
