//! Planning: prompts for planners, their answers, and the resulting plans. Runs no agents and writes no files.

pub mod answer;
pub mod derive;
pub mod draft;
mod placeholder;
pub mod prompt;
pub mod replan;
pub mod rules;
