//! The command lines of the original tools, with their answers.

pub(crate) mod aimi_cli;
mod answer;
pub(crate) mod clido;
pub(crate) mod spec_first;
mod write;

pub(crate) use answer::Answer;
pub(crate) use write::ignores_gates;
