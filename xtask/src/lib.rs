//! What the chores share: the programs that they need beside Rust.

pub mod needs;
