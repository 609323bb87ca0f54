//! The planner's half: what planners are asked, and what is made of their answers.

pub mod derive;
