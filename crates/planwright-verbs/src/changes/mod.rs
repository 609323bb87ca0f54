//! Shared by the verbs that change plans: claims, edits of tasks, reports, and the reasons of refusals.

mod claim_terms;
mod old_version;
mod report;
mod revise_failure;
mod task_edit;

pub(crate) use claim_terms::*;
pub(crate) use old_version::refuse_old_version;
pub use report::*;
pub(crate) use revise_failure::*;
pub use task_edit::*;
