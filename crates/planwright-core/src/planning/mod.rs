//! The planner's half: what planners get to read, what they answer, and what becomes of it. Knows what the dialects say of
//! themselves; runs no agents and writes no files.

pub mod answer;
pub mod derive;
pub mod draft;
mod placeholder;
pub mod prompt;
pub mod replan;
pub mod rules;
