//! Finds and opens plans and their tasks, and describes them.

mod access;
mod calling_attempt;
mod difference;
mod entries;
mod find;
mod open;
mod open_checklists;
mod overview;
mod plan_names;
mod plan_or_task;
mod skip_cause;
mod task_fields;
mod task_name;
mod task_summary;
mod unknown_plan;

pub use access::*;
pub use calling_attempt::*;
pub use difference::*;
pub use entries::*;
pub use find::*;
pub use open::*;
pub use open_checklists::*;
pub use overview::*;
pub use plan_names::*;
pub use plan_or_task::*;
pub use skip_cause::*;
pub use task_fields::*;
pub use task_name::*;
pub use task_summary::*;
pub(crate) use unknown_plan::*;
