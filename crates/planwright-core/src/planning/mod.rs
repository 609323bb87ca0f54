//! Planning: what a planner agent gets to read when a plan is to be made, replaced or put right.
//! Knows what the dialects say of themselves, and neither agents nor files.

mod placeholder;
pub mod prompt;
