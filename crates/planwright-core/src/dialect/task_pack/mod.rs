//! spec-first task packs: Markdown with frontmatter and one JSON contract.
//! Answers as the original validator does, code by code; does no IO.

pub mod contract;
pub mod hash;
pub mod js;
pub mod number;
pub mod original;
pub mod paths;
mod waves;
