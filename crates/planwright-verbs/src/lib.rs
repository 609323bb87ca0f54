//! Every verb of planwright as a function: a request in, a report or a failure out.
//!
//! Requests and reports are plain data. Nothing here knows a command line, a terminal or a browser, and nothing ends the process:
//! faces turn what their users do into requests, and reports into what their users see.

#![expect(
    missing_docs,
    reason = "the fields of requests and reports say by their names what they hold"
)]

pub mod columns;
pub mod failure;
pub mod file_findings;
pub mod plain_text;
pub mod quantity;
pub mod unified_diff;

pub mod json;
pub mod json_values;

pub mod typed_command;
pub mod workspace;

pub mod answer_outline;
pub mod calling_attempt;
pub mod cancel;
pub mod change_report;
pub mod claim_terms;
pub mod config_findings;
pub mod create_plan;
pub mod default_dialect;
pub mod failure_reason;
pub mod fence_denial;
pub mod fence_support;
pub mod find_plan;
pub mod find_run;
mod follow_run;
pub mod names;
pub mod next_step;
pub mod observer;
pub mod open_plan;
pub mod plan_access;
pub mod plan_difference;
pub mod plan_entries;
pub mod plan_or_task;
pub mod plan_overview;
pub mod plan_versions;
pub mod planner;
pub mod prompt_template;
pub mod revise_failure;
pub mod run_report;
pub mod skip_cause;
pub mod sound_config;
pub mod task_edit;
pub mod task_fields;
pub mod task_name;
pub mod trial;
mod unusable_answer;
pub mod verification;
pub mod verification_report;

pub mod agents;
pub mod arbiter;
pub mod archive;
pub mod check;
pub mod config;
pub mod control;
pub mod convert;
pub mod diff;
pub mod doctor;
pub mod done;
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
pub mod new;
pub mod plan;
pub mod post_merge;
pub mod proposals;
pub mod replan;
pub mod report;
pub mod run_plan;
pub mod runs;
pub mod schema;
pub mod show;
pub mod summary;
pub mod tasks;
pub mod transition;
pub mod verify;
pub mod why;
pub mod worktrees;

pub mod add;
pub mod approval;
pub mod edit;
pub mod next;
pub mod plan_transition;
pub mod undo;

pub mod call;

pub use failure::{Exit, Failure, Result};
pub use find_plan::{FoundPlan, PlanChoice};
pub use workspace::Workspace;
