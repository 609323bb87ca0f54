//! Shared by the verbs that create plans: agents that plan, their answers, and new plan files.

mod answer_outline;
mod create;
mod default_dialect;
mod observer;
mod planner;

pub use answer_outline::*;
pub use create::*;
pub use default_dialect::*;
pub use observer::*;
pub use planner::*;
