//! The original tools' own command lines, answered as they answer.

pub(crate) mod spec_first;
