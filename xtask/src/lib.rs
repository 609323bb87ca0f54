//! What the chores share: checks for programs that they need in addition to Rust.

pub mod needs;
