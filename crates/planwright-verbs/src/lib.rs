//! Every verb of planwright as a function: a request in, a report or a failure out.
//!
//! Requests and reports are plain data. Nothing here knows a command line, a terminal or a browser, and nothing ends the process:
//! faces turn what their users do into requests, and reports into what their users see.

#![allow(
    missing_docs,
    reason = "the fields of requests and reports say by their names what they hold"
)]

pub mod failure;
pub mod plain_text;
pub mod quantity;
pub mod unified_diff;

pub mod json;
pub mod json_values;

pub mod typed_command;
pub mod workspace;

pub mod answer_outline;
pub mod attempt;
pub mod cancel;
pub mod change_report;
pub mod claim_terms;
pub mod copy_plan;
pub mod create_plan;
pub mod default_dialect;
pub mod find_plan;
pub mod find_run;
pub mod next_step;
pub mod observer;
pub mod open_plan;
pub mod plan_access;
pub mod plan_difference;
pub mod plan_entries;
pub mod planner;
pub mod revise_failure;
pub mod skip_cause;
pub mod sound_config;
pub mod task_name;
mod unusable_answer;
pub mod verification;
pub mod verified_report;

pub mod arbiter;
pub mod convert;
pub mod done;
pub mod hash;
pub mod import;
pub mod list;
pub mod migrate;
pub mod new;
pub mod plan;
pub mod proposals;
pub mod replan;
pub mod tasks;
pub mod transition;
pub mod verify;

pub use failure::{Exit, Failure, Result};
pub use find_plan::{FoundPlan, PlanChoice};
pub use workspace::Workspace;
