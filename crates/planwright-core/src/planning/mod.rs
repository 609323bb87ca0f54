//! The planner's half: what planners answer, and what becomes of it. Runs no agents and writes no files.

pub mod answer;
pub mod draft;
pub mod replan;
pub mod rules;
