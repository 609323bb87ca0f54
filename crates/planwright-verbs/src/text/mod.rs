//! Text for people: cut, fitted to columns, without control characters; quantities and differences in words.

mod columns;
mod plain_text;
mod quantity;
mod unified_diff;

pub use columns::*;
pub use plain_text::*;
pub use quantity::*;
pub(crate) use unified_diff::*;
